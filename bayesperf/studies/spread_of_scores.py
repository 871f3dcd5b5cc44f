"""How far the posterior, its predictive distribution and the bootstrap spread, as a test set grows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.studies.running import monte_carlo_means, run


def predictive_spread(
    cm: ConfusionMatrix,
    metric: str | Metric = "mcc",
    scale: ArrayLike = (1, 2, 5, 10, 20, 50, 100, 200, 500),
    *,
    prior: str | priors.Prior | None = "haldane",
    draws: int = 100_000,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return how far a metric's distributions spread when the same matrix is observed on ever more examples.

    At each scale λ the counts are multiplied by λ. "posterior" describes the metric of the cell probabilities θ,
    "predictive" the metric of a new matrix with the same number of examples, and "bootstrap" the metric of that number
    of examples drawn from the observed ones.

    Parameters
    ----------
    cm : ConfusionMatrix
        A single matrix.
    metric : str or Metric
        Any metric with a single value.
    scale : array-like of int (k,)
        Factors by which the counts are multiplied.
    prior : str or Prior
        Prior of the posterior; with none ("haldane"), its centre is the same as the bootstrap's.
    draws : int
        Number of draws of each distribution.
    random_seed, n_jobs, progressbar, folder
        As in every study: see `bayesperf.studies`.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``sd`` and interquartile range ``iqr`` of the draws in which the metric is defined, and the proportion
        of draws in which it is ``undefined``, over (distribution, scale), the means with their Monte Carlo standard
        errors ``mean_mcse`` and ``undefined_mcse``; ``variance_ratio`` and ``iqr_ratio``, predictive to bootstrap, and
        ``iqr_difference`` over scale. The settings are in ``attrs``.

    Raises
    ------
    ValueError
        If there are leading dims, or the metric has a value for each class or is not defined for this matrix.

    Notes
    -----
    With no prior, θ scatters about the observed proportions nearly as a bootstrap sample does, and a new matrix
    scatters once more about θ. The predictive variance is therefore about twice the bootstrap's at every size: for
    accuracy exactly 2N/(N + 1) times. In Caelen (2017, Fig. 3) the two interquartile ranges approach each other
    "relatively" as N grows. Their difference does shrink, but their ratio stays √2. Nor is the predictive distribution
    always wider: a prior that moves θ to where a metric varies less can make it narrower.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30)
    >>> study = bp.studies.predictive_spread(cm, scale=[1, 100])
    >>> study["iqr_ratio"].round(1).values
    array([1.4, 1.4])
    """
    if not isinstance(cm, ConfusionMatrix) or cm.dims:
        raise InputError("cm", "must be one ConfusionMatrix, without leading dims.")
    positive = cm.positive
    resolved_metric = single_valued(metric, cm.labels, positive)
    scales = [checks.count("scale", factor) for factor in np.atleast_1d(scale).tolist()]
    resolved_prior = priors.resolve(prior, len(cm.labels))
    settings = {"counts": cm.counts.values.ravel().tolist(), "metric": resolved_metric.name, "scale": scales,
                "prior": resolved_prior.describe(cm), "draws": checks.count("draws", draws, least=2),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(index: int, rng: np.random.Generator) -> Mapping[str, Array]:
        larger = ConfusionMatrix(cm.counts * scales[index], cm.pos_label)
        values = resolved_metric.evaluate(cell_draws(larger, resolved_prior, draws, rng), positive)
        undefined = np.isnan(values)
        means = monte_carlo_means({"mean": values.T}, ~undefined.T) | monte_carlo_means({"undefined": undefined.T})
        low, high = np.nanquantile(values, [0.25, 0.75], axis=1)
        return {**means, "sd": np.nanstd(values, axis=1, ddof=1), "iqr": high - low}

    results = run(simulate, len(scales), settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    dims = ("distribution", "scale")
    study = xr.Dataset(
        {name: (dims, values.T) for name, values in results.items()},
        {"distribution": list(DISTRIBUTIONS), "scale": scales, "n": ("scale", np.array(scales) * int(cm.total))},
        settings,
    )
    predictive, bootstrap = (study.sel(distribution=name, drop=True) for name in ("predictive", "bootstrap"))
    return study.assign(
        variance_ratio=(predictive["sd"] / bootstrap["sd"]) ** 2,
        iqr_ratio=predictive["iqr"] / bootstrap["iqr"],
        iqr_difference=predictive["iqr"] - bootstrap["iqr"],
    )


# ── Draws of the cells of a confusion matrix: of a new test set's, of the system's own, and of the bootstrap's ──

DISTRIBUTIONS = ("predictive", "posterior", "bootstrap")


def cell_draws(cm: ConfusionMatrix, prior: priors.Prior, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of cells from each of `DISTRIBUTIONS`, (3, draws, K, K)."""
    counts, total = cm.counts.values.ravel(), int(cm.total)
    theta = posterior(cm, prior).joint_draws(draws, random_seed=rng).values
    flat = theta.reshape(draws, -1)
    predictive = rng.multinomial(total, flat / flat.sum(-1, keepdims=True))
    bootstrap = rng.multinomial(total, counts / total, draws)
    return np.stack([predictive.reshape(theta.shape), theta, bootstrap.reshape(theta.shape)])
