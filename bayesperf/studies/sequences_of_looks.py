"""How often intervals cover if one system is tested batch after batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.studies.running import interval_outcomes, monte_carlo_means, run, with_random_state

DISTRIBUTIONS = ("posterior", "predictive")
KINDS: tuple[Kind, ...] = ("hdi", "eti")
# Points along each axis of the population's features.
_GRID = 150


def sequential(
    steps: Sequence[int] = (1, 2, 5, 10, 20, 50, 100, 150, 200, 300),
    ci_prob: ArrayLike = (0.1, 0.9),
    *,
    batch: int = 100,
    metric: str | Metric = "mcc",
    estimator: Any = None,
    prior: str | priors.Prior | None = None,
    draws: int = 1000,
    simulations: int = 200,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return how often intervals contain a system's true metric as batches of examples arrive (Caelen 2017, Alg. 4).

    Each simulation trains a classifier on 1,000 examples and tests it on one batch after another; the posterior after a
    batch is the prior of the next. Each step has two intervals. The *posterior* of the system's metric has one that
    narrows; the *predictive* distribution of the metric on one more batch has one that does not.

    Parameters
    ----------
    steps : sequence of int (s,)
        Numbers of batches after which intervals are computed.
    ci_prob : array-like (p,)
        Probabilities of the intervals.
    batch : int
        Examples in a batch.
    metric : str or Metric
        Any metric of a matrix of two classes.
    estimator : scikit-learn classifier, optional
        By default a random forest with default settings. It is trained on two features and labels 0 and 1.
    prior : str or Prior, optional
        The prior before the first batch; by default Jeffreys'.
    draws : int
        Number of draws behind each interval.
    simulations : int
        Number of classifiers, each with its batches.
    random_seed, n_jobs, progressbar, folder
        As in every study: see `bayesperf.studies`.

    Returns
    -------
    xarray.Dataset
        ``coverage`` of the system's true metric, how often it lies below and above the interval (``lower_miss``,
        ``upper_miss``), and mean ``width`` over (distribution, kind, prob, step), distribution "posterior" or
        "predictive", kind "hdi" or "eti", each with its Monte Carlo standard error (``coverage_mcse``, …); the
        ``intervals`` themselves, also over ``simulation`` and ``ci_bound``, and the ``true`` metric of each
        simulation's classifier. The settings are in ``attrs``.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.

    Notes
    -----
    Labels follow eq. 9: positive if sin(x² + y²) + cos(x²) + cos(y²) + ε > ½, with x and y uniform on (0, 3) and
    ε ~ Normal(0, 1). The features of the test batches lie on a fine grid, so that the classifier's true cells are a sum
    over it and the batches are drawn from them.

    Taken literally, Algorithm 4 uses the predictive interval: its matrices have the size of a batch, whatever the
    number observed. Such an interval describes the next batch: the truth lies ever closer to its centre, and so inside
    it ever more often, whatever its probability. It does not reproduce the right panel of the source's Fig. 5; the
    reason is unknown.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from bayesperf import studies
    >>> study = studies.sequential([1, 100], 0.1, estimator=DecisionTreeClassifier(max_depth=5), simulations=20)
    >>> late = study["coverage"].sel(kind="eti", prob=0.1, step=100)
    >>> bool(late.sel(distribution="predictive") > late.sel(distribution="posterior") + 0.3)
    True
    """
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier

    classifier = clone(RandomForestClassifier() if estimator is None else estimator)
    resolved_metric = single_valued(metric, [0, 1], 1)
    after_batches = [checks.count("steps", step) for step in np.atleast_1d(steps).tolist()]
    levels = [checks.probability("ci_prob", level) for level in checks.vector("ci_prob", ci_prob).tolist()]
    resolved_prior, empty = priors.resolve(prior, 2), ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0)
    settings = {"steps": after_batches, "prob": levels, "batch": checks.count("batch", batch),
                "metric": resolved_metric.name, "estimator": repr(classifier), "prior": resolved_prior.describe(empty),
                "draws": checks.count("draws", draws, least=2),
                "simulations": checks.count("simulations", simulations),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Any]:
        cells = _true_cells(with_random_state(clone(classifier), rng), rng)
        totals = rng.multinomial(batch, cells.ravel(), max(after_batches)).cumsum(0)[np.array(after_batches) - 1]
        cm = ConfusionMatrix.from_table(totals.reshape(-1, 2, 2), dims={"step": after_batches})
        after = posterior(cm, resolved_prior, draws=draws, random_seed=rng)
        marginals = after[resolved_metric], after.predict(batch, draws=draws)[resolved_metric]
        intervals = [[[m.interval(level, kind).values for level in levels] for kind in KINDS] for m in marginals]
        return {"intervals": intervals, "true": resolved_metric.evaluate(cells, 1)}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    true, (lower, upper) = results["true"][:, None, None, None, None], np.moveaxis(results["intervals"], -1, 0)
    coords = {"distribution": list(DISTRIBUTIONS), "kind": list(KINDS), "prob": levels, "step": after_batches}
    means = monte_carlo_means(interval_outcomes(lower, upper, true))
    variables = {
        **{name: (tuple(coords), values) for name, values in means.items()},
        "intervals": (("simulation", *coords, "ci_bound"), results["intervals"]),
        "true": ("simulation", results["true"]),
    }
    return xr.Dataset(variables, {**coords, "ci_bound": ["lower", "upper"]}, settings)


def _signal(features: Array) -> Array:
    """Return the noise-free score behind a label, minus its threshold (eq. 9)."""
    squares = features**2
    return np.asarray(np.sin(squares.sum(-1)) + np.cos(squares).sum(-1) - 0.5)


def _true_cells(estimator: Any, rng: np.random.Generator) -> Array:
    """Train a classifier; return the probability of each cell (2, 2), summed exactly over a grid of features."""
    features = rng.uniform(0, 3, (1000, 2))
    estimator.fit(features, (_signal(features) + rng.normal(size=1000) > 0).astype(int))
    axis = 3 * (np.arange(_GRID) + 0.5) / _GRID
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    positive, called = special.ndtr(_signal(grid)), estimator.predict(grid).astype(bool)
    cells = [[(actual * (called == predicted)).mean() for predicted in (False, True)]
             for actual in (1 - positive, positive)]  # fmt: skip
    return np.array(cells)
