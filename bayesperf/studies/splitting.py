"""How often an interval from one test set contains the same classifier's score on another.

Three distributions answer two questions. "predictive" describes the score on a new test set of the same size: its
intervals should contain the second score with frequency `ci_prob`. "posterior" describes the classifier's own metric,
and "bootstrap" the score on resampled examples. These answer another question: neither allows for the luck of the
second test set, which doubles the variance, so a 90 % interval contains about 2Φ(1.645/√2) − 1 = 76 % of the second
scores.

Near the bounds of a metric few scores are possible, and none of this is exact. Intervals are closed. If both tests have
the same size, their scores and the limits of "predictive" and "bootstrap" are among the same few values, and scores
often equal a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import INTERVAL_KINDS
from bayesperf.data.cross_validation import held_out_predictions
from bayesperf.data.label_encoding import encode, positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind
from bayesperf.studies.running import interval_outcomes, monte_carlo_means, run, with_random_state
from bayesperf.studies.spread_of_scores import DISTRIBUTIONS, cell_draws

# Pseudo-counts that are none in effect, but leave no distribution improper.
_NEARLY_NONE = 1e-9


def repeated_splits(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    metrics: Sequence[str | Metric] = ("accuracy", "fowlkes_mallows", "f1"),
    ci_prob: ArrayLike = (0.9, 0.95, 0.99),
    *,
    prior: str | priors.Prior | None = None,
    ci_kind: Kind = "hdi",
    pos_label: Any = None,
    draws: int = 1000,
    keep_draws: int = 0,
    simulations: int = 200,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return how often intervals from one test set contain the score on a second one (Caelen 2017, Alg. 3).

    Each simulation splits the examples into three equal parts, stratified by class: it trains a classifier on the
    first, computes intervals from its confusion matrix on the second, and scores it on the third.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Cloned for every split.
    X, y : array-like
        Features and labels of one data set.
    metrics : sequence of str or Metric
        Metrics with a single value.
    ci_prob : array-like (p,)
        Probabilities of the intervals.
    prior : str or Prior, optional
        As in `bayesperf.posterior`. With no prior ("haldane", as in the source) an empty cell is empty in all draws.
    ci_kind : {"hdi", "eti"}
        Kind of the intervals.
    pos_label : label, optional
        The positive class of two; inferred for {0, 1}, {-1, 1} and {False, True}.
    draws, simulations : int
        Number of draws behind each interval, and of splits.
    keep_draws : int
        Number of draws to return for each split. `bayesperf.plots.split_scores` plots their distribution, pooled over
        splits, beside the distribution of the scores (Caelen 2017, Fig. 4).
    random_seed, n_jobs, progressbar, folder
        As in every study: see `bayesperf.studies`.

    Returns
    -------
    xarray.Dataset
        Over (distribution: predictive, posterior, bootstrap; metric; prob): ``coverage`` of the score on the third
        part, how often it lies below and above the intervals (``lower_miss``, ``upper_miss``), and their mean
        ``width``. Over metric: the mean ``score`` and the proportion of ``undefined`` scores, which the other figures
        omit. Each has its Monte Carlo standard error (``coverage_mcse``, …) over splits of these data. Also
        ``intervals`` (simulation, distribution, metric, prob, ci_bound), ``scores`` (simulation, metric) on the third
        part, ``counts`` of both parts (simulation, part, actual, predicted) and, with `keep_draws`, ``draws``
        (simulation, distribution, metric, draw). Settings are in ``attrs``.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
    ValueError
        If a class has fewer than three examples, a metric has several values, `keep_draws` exceeds `draws`, or the
        prior is a prior of rates.

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

    classes = _classes_of_three_parts(y)
    pos_label = positive_label(classes.tolist(), pos_label)
    position = None if pos_label is None else classes.tolist().index(pos_label)
    resolved_metrics = [single_valued(metric, classes.tolist(), position) for metric in metrics]
    if checks.count("keep_draws", keep_draws, least=0) > draws:
        raise InputError("keep_draws", f"must not exceed draws; they are {keep_draws} and {draws}.")
    levels = [checks.probability("ci_prob", level) for level in checks.vector("ci_prob", ci_prob).tolist()]
    resolved_prior = priors.resolve_dirichlet(prior, len(classes), "studies of splits", shared=True)
    empty = ConfusionMatrix.from_table(np.zeros((len(classes), len(classes))), labels=classes, pos_label=pos_label)
    settings = {"estimator": repr(estimator), "n": len(np.asarray(y)), "data_hash": joblib.hash([X, y]),
                "metrics": [metric.name for metric in resolved_metrics], "prob": levels,
                "prior": resolved_prior.describe(empty), "pos_label": str(pos_label),
                "draws": checks.count("draws", draws, least=2),
                "keep_draws": keep_draws,
                "simulations": checks.count("simulations", simulations),
                "random_seed": checks.seed(random_seed),
                "ci_kind": checks.one_of("ci_kind", ci_kind, tuple(INTERVAL_KINDS))}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Any]:
        first, second = _two_tests(estimator, X, y, {"labels": classes, "pos_label": pos_label}, rng)
        cells = cell_draws(first, _limit(resolved_prior, first), draws, rng)
        values = [metric.evaluate(cells, position) for metric in resolved_metrics]
        intervals = [
            _intervals(*of_metric, levels, ci_kind) for of_metric in zip(resolved_metrics, values, strict=True)
        ]
        kept = {"draws": np.stack(values, 1)[..., :keep_draws]} if keep_draws else {}
        return {"scores": [metric.evaluate(second.counts.values, position) for metric in resolved_metrics],
                "intervals": np.moveaxis(np.array(intervals), 2, 0),
                "counts": np.stack([first.counts.values, second.counts.values]), **kept}  # fmt: skip

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    return _summary(results, classes.tolist(), settings)


def _classes_of_three_parts(y: Any) -> NDArray[Any]:
    """Return the labels of the classes; each must have an example for every part."""
    classes = encode(y, "y").labels
    smallest = min((np.asarray(y) == label).sum() for label in classes)
    if smallest < 3:
        raise InputError("y", f"a class has {smallest} examples, and each of three parts needs one.")
    return classes


def _limit(prior: priors.Prior, cm: ConfusionMatrix) -> priors.Prior:
    """Return a prior under which cells with neither examples nor pseudo-counts stay empty in all draws."""
    if prior.shared_by_classes:
        return prior
    alpha = cm.counts.copy(data=prior.concentration(cm))
    return priors.dirichlet(alpha.clip(_NEARLY_NONE)) if (cm.counts + alpha == 0).any() else prior


def _summary(results: Mapping[str, Array], labels: list[Any], settings: Mapping[str, Any]) -> xr.Dataset:
    """Return how often the scores are inside the intervals, with scores, intervals and the counts of every split."""
    scores = results["scores"]
    lower, upper = np.moveaxis(results["intervals"], -1, 0)
    of_metric = scores[:, None, :, None]
    outcomes = interval_outcomes(lower, upper, of_metric)
    means = {
        **monte_carlo_means(outcomes, np.isfinite(of_metric) & np.isfinite(upper)),
        **monte_carlo_means({"score": scores}, np.isfinite(scores)),
        **monte_carlo_means({"undefined": np.isnan(scores)}),
    }
    coords = {"distribution": list(DISTRIBUTIONS), "metric": settings["metrics"], "prob": settings["prob"]}
    variables = {name: (tuple(coords) if values.ndim == 3 else ("metric",), values) for name, values in means.items()}
    variables |= {
        "scores": (("simulation", "metric"), scores),
        "intervals": (("simulation", *coords, "ci_bound"), results["intervals"]),
        "counts": (("simulation", "part", "actual", "predicted"), results["counts"]),
    }
    coords |= {"simulation": np.arange(len(scores)), "ci_bound": ["lower", "upper"], "part": ["second", "third"],
               "actual": labels, "predicted": labels}  # fmt: skip
    if "draws" in results:
        variables["draws"] = (("simulation", "distribution", "metric", "draw"), results["draws"])
    return xr.Dataset(variables, coords, dict(settings))


def _two_tests(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    labels: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[ConfusionMatrix, ConfusionMatrix]:
    """Train a classifier on a third of the examples; return its confusion matrices on each of the other two."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(3, shuffle=True, random_state=int(rng.integers(2**31)))
    train, *tests = (part for _, part in splitter.split(np.zeros(len(y)), y))
    held = held_out_predictions(
        with_random_state(clone(estimator), rng), X, y, [(train, np.concatenate(tests))], None, None
    )
    cuts = slice(None, len(tests[0])), slice(len(tests[0]), None)
    y_pred = np.asarray(held.y_pred)
    first, second = (ConfusionMatrix.from_predictions(held.y_true[cut], y_pred[cut], **labels) for cut in cuts)
    return first, second


def _intervals(metric: Metric, values: Array, levels: Sequence[float], kind: Kind) -> list[Array]:
    """Return the intervals (level, distribution, 2) of draws (distribution, draw)."""
    defined = np.isfinite(values).any(-1, keepdims=True)
    draws = Draws(np.where(defined, values, 0)[:, None], metric.bounds)
    interval = {"hdi": draws.hdi, "eti": draws.eti}[kind]
    return [np.where(defined, interval(level), np.nan) for level in levels]
