"""How often an interval from one test set holds what the same classifier scores on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf import prior as priors
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.counts.cross_validation import held_out_predictions
from bayesperf.counts.label_encoding import encode, positive_label
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.studies.methods import mean
from bayesperf.studies.predictive_spread import DISTRIBUTIONS, cells_of_each
from bayesperf.studies.run import run


def repeated_splits(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    metrics: Sequence[str | Metric] = ("accuracy", "fowlkes_mallows", "f1"),
    prob: ArrayLike = (0.9, 0.95, 0.99),
    *,
    prior: str | priors.Prior | None = None,
    pos_label: Any = None,
    draws: int = 1000,
    simulations: int = 200,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return how often intervals from one test set hold the score on a second one (Caelen 2017, Alg. 3).

    Each simulation deals the examples into three parts alike, stratified by class: a classifier is trained on the
    first, intervals are computed from its confusion matrix on the second, and it is scored on the third.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Cloned for every split.
    X, y : array-like
        Features and labels of one data set.
    metrics : sequence of str or Metric
        Each with one value a matrix.
    prob : array-like (p,)
        Probabilities of the intervals.
    prior : str or Prior, optional
        Of the posterior; as in `bayesperf.posterior`.
    pos_label : label, optional
        The positive class of a binary problem; inferred for {0, 1}, {-1, 1} and {False, True}.
    draws : int
        Behind each interval.
    simulations : int
        How many splits.
    random_seed, n_jobs, progressbar, folder
        As in every study: the figures depend on the seed only; with `folder` an interrupted study goes on where it
        stopped.

    Returns
    -------
    xarray.Dataset
        ``coverage`` of the score on the third part and mean ``width`` of highest-density intervals over (distribution,
        metric, prob), with the standard error ``coverage_mcse`` of so many splits of these data; the mean ``score`` and
        the share ``undefined`` of scores (which the others leave out) over metric. The settings are in ``attrs``.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
    ValueError
        If a class has fewer than three examples, or a metric has no one value.

    Notes
    -----
    Three distributions answer two questions. "predictive" is of the score on a new test set of the same size: its
    intervals should hold the second score with frequency `prob`. "posterior" is of the classifier's own metric and
    "bootstrap" of the score on resampled examples: neither allows for the luck of the second test set, which doubles
    the variance, so that an interval of 90 % holds about 2Φ(1.645/√2) − 1 = 76 % of its scores. That is no fault of
    theirs, but it is another question.

    Near a bound few scores are possible and none of this is exact.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from bayesperf import studies
    >>> X, y = load_iris(return_X_y=True)
    >>> study = studies.repeated_splits(GaussianNB(), X, y == 1, ["accuracy"], 0.9, simulations=20)
    >>> width = study["width"].sel(metric="accuracy", prob=0.9)
    >>> bool(width.sel(distribution="predictive") > 1.2 * width.sel(distribution="posterior"))
    True
    """
    import joblib

    classes = encode(y, "y").labels
    smallest = min((np.asarray(y) == label).sum() for label in classes)
    if smallest < 3:
        raise ValueError(f"y: a class has {smallest} examples, and each of three parts needs one.")
    place = positive_label(classes.tolist(), pos_label)
    at = None if place is None else classes.tolist().index(place)
    found = [single_valued(metric, classes.tolist(), at) for metric in metrics]
    levels = [checks.probability("prob", level) for level in checks.vector("prob", prob).tolist()]
    resolved = priors.resolve(prior, len(classes))
    empty = ConfusionMatrix.from_table(np.zeros((len(classes), len(classes))), labels=classes, pos_label=place)
    settings = {"estimator": repr(estimator), "n": len(np.asarray(y)), "data_hash": joblib.hash([X, y]),
                "metrics": [metric.name for metric in found], "prob": levels, "prior": resolved.describe(empty),
                "pos_label": str(place), "draws": checks.count("draws", draws, least=2),
                "simulations": checks.count("simulations", simulations),
                "random_seed": checks.seed(random_seed), "ci_kind": "hdi"}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Any]:
        first, second = _two_tests(estimator, X, y, {"labels": classes, "pos_label": place}, rng)
        cells = cells_of_each(first, resolved, draws, rng)
        intervals = [_shortest(metric, metric.evaluate(cells, at), levels) for metric in found]
        return {"scores": [metric.evaluate(second.counts.values, at) for metric in found],
                "intervals": np.moveaxis(np.array(intervals), 2, 0)}  # fmt: skip

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    scores, (lower, upper) = results["scores"], np.moveaxis(results["intervals"], -1, 0)
    of_metric = scores[:, None, :, None]
    known = np.isfinite(of_metric) & np.isfinite(upper)
    rate = mean((lower <= of_metric) & (of_metric <= upper), known)
    coords = {"distribution": list(DISTRIBUTIONS), "metric": settings["metrics"], "prob": levels}
    dims = tuple(coords)
    variables = {
        "coverage": (dims, rate),
        "coverage_mcse": (dims, np.sqrt(rate * (1 - rate) / np.maximum(known.sum(0), 1))),
        "width": (dims, mean(upper - lower, known)),
        "score": ("metric", mean(scores, np.isfinite(scores))),
        "undefined": ("metric", np.isnan(scores).mean(0)),
    }
    return xr.Dataset(variables, coords, settings)


def _two_tests(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    labels: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[ConfusionMatrix, ConfusionMatrix]:
    """Train on a third of the examples; return the confusion matrices on either of the others."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    deal = StratifiedKFold(3, shuffle=True, random_state=int(rng.integers(2**31)))
    train, *tests = (part for _, part in deal.split(np.zeros(len(y)), y))
    held = held_out_predictions(with_seed(clone(estimator), rng), X, y, [(train, np.concatenate(tests))], None, None)
    cuts = slice(None, len(tests[0])), slice(len(tests[0]), None)
    first, second = (ConfusionMatrix.from_predictions(held.y_true[cut], held.y_pred[cut], **labels) for cut in cuts)
    return first, second


def _shortest(metric: Metric, values: Array, levels: Sequence[float]) -> list[Array]:
    """Return the highest-density intervals of draws (distribution, draw), (level, distribution, 2)."""
    defined = np.isfinite(values).any(-1, keepdims=True)
    draws = Draws(np.where(defined, values, 0)[:, None], metric.bounds)
    return [np.where(defined, draws.hdi(level), np.nan) for level in levels]


def with_seed(estimator: Any, rng: np.random.Generator) -> Any:
    """Set every random state of a scikit-learn estimator, its parts' too."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names})
