"""How far the posterior, its predictive distribution and the bootstrap spread, as a test set grows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf import prior as priors
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.studies.run import run

DISTRIBUTIONS = ("predictive", "posterior", "bootstrap")


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
    """Return how far a metric's distributions spread when the same matrix is seen on ever more examples.

    At each scale λ the counts are λ times those given. "posterior" is the metric of the cell probabilities θ,
    "predictive" that of a new matrix of as many examples, "bootstrap" that of as many examples drawn from those seen.

    Parameters
    ----------
    cm : ConfusionMatrix
        One matrix.
    metric : str or Metric
        One with a single value.
    scale : array-like of int (k,)
        By how much the counts are multiplied.
    prior : str or Prior
        Of the posterior; with none ("haldane") its centre is the bootstrap's.
    draws : int
        Of each distribution.
    random_seed, n_jobs, progressbar, folder
        As in every study: the figures depend on the seed only; with `folder` an interrupted study goes on where it
        stopped.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``sd``, interquartile range ``iqr`` and share ``undefined`` of the draws over (distribution, scale),
        of which the others describe the rest; ``variance_ratio`` and ``iqr_ratio``, predictive to bootstrap, and
        ``iqr_difference`` over scale. The settings are in ``attrs``.

    Raises
    ------
    ValueError
        If there are leading dims, or the metric has a value a class or cannot be had.

    Notes
    -----
    With no prior, θ scatters about the observed shares about as a bootstrap sample does, and a new matrix scatters once
    more about θ. So the predictive variance is about twice the bootstrap's at every size: of accuracy 2N/(N + 1) times,
    exactly. Caelen (2017, Fig. 3) has the two interquartile ranges approach each other "relatively" as N grows. Their
    difference does shrink, their ratio stays √2. Nor is the predictive distribution always the wider: a prior that
    moves θ to where a metric varies less can make it the narrower.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30)
    >>> study = bp.studies.predictive_spread(cm, scale=[1, 100])
    >>> study["iqr_ratio"].round(1).values
    array([1.4, 1.4])
    """
    if not isinstance(cm, ConfusionMatrix) or cm.dims:
        raise ValueError("cm must be one ConfusionMatrix, without leading dims.")
    positive = None if cm.pos_label is None else cm.labels.index(cm.pos_label)
    found = single_valued(metric, cm.labels, positive)
    scales = [checks.count("scale", factor) for factor in np.atleast_1d(scale).tolist()]
    resolved = priors.resolve(prior, len(cm.labels))
    settings = {"counts": cm.counts.values.ravel().tolist(), "metric": found.name, "scale": scales,
                "prior": resolved.describe(cm), "draws": checks.count("draws", draws, least=2),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(index: int, rng: np.random.Generator) -> Mapping[str, Array]:
        larger = ConfusionMatrix(cm.counts * scales[index], cm.pos_label)
        values = found.evaluate(cells_of_each(larger, resolved, draws, rng), positive)
        low, high = np.nanquantile(values, [0.25, 0.75], axis=1)
        return {"mean": np.nanmean(values, 1), "sd": np.nanstd(values, axis=1, ddof=1), "iqr": high - low,
                "undefined": np.isnan(values).mean(1)}  # fmt: skip

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


def cells_of_each(cm: ConfusionMatrix, prior: priors.Prior, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of cells by each of `DISTRIBUTIONS`, (3, draws, K, K)."""
    counts, total = cm.counts.values.ravel(), int(cm.total)
    theta = posterior(cm, prior).draws(draws, random_seed=rng).values
    flat = theta.reshape(draws, -1)
    predictive = rng.multinomial(total, flat / flat.sum(-1, keepdims=True))
    bootstrap = rng.multinomial(total, counts / total, draws)
    return np.stack([predictive.reshape(theta.shape), theta, bootstrap.reshape(theta.shape)])
