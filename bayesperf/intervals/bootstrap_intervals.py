"""The bootstrap of any metric, by resampling counts.

Resampling n examples with replacement means drawing counts from a multinomial with the observed proportions, so no
label is touched, and 10⁸ examples take as long as a hundred.

For "bca" the bias z₀ is the normal quantile of the proportion of resamples below the observed value; ties count half
(as in SciPy), and the proportion stays half a resample away from 0 and 1. The acceleration is the jackknife's, with one
value for each cell. With strata it is Σ_s Σ U³/n_s³ / 6(Σ_s Σ U²/n_s²)^(3/2), where U are the centred values of a
stratum times n_s − 1, each with the other strata whole. Efron & Tibshirani (1993), An Introduction to the Bootstrap,
ch. 13–14.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts, blocks
from bayesperf.core.errors import InputError, warn
from bayesperf.core.random_streams import streams
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.intervals.limits import ADVICE, limits_over, warn_of_no_width
from bayesperf.intervals.statistic import Statistic, strata
from bayesperf.metrics.metric import Metric

# To draw more cells than this takes so long that a progress bar is shown.
_LONG = 2**27
# Values of a metric that differ by less are the same, summed in another order.
_ROUNDING = 1e-12


@checked
def bootstrap(
    cm: ConfusionMatrix,
    metric: str | Metric,
    confidence: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 9999,
    random_seed: Any = None,
    *,
    contrast: str | None = None,
    design: str = "joint",
    cluster: str | None = None,
    progressbar: bool = True,
) -> xr.DataArray:
    """Return bootstrap confidence intervals of any metric.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts, with any leading dims.
    metric : str or Metric
        A built-in metric, with or without an average, or a registered one.
    confidence : float
        Nominal coverage, between 0 and 1.
    method : {"percentile", "basic", "bca"}
        "percentile": quantiles of the resamples. "basic": those quantiles reflected at the observed value, clipped to
        the metric's bounds. "bca": bias-corrected and accelerated.
    n_resamples, random_seed
        Number of resamples of each matrix, and their seed, by default a new one. Each matrix has its own random stream.
    contrast : {None, "difference"}
        None for the metric of each matrix; "difference" for the first system minus the second, on the same examples.
    design : {"joint", "by_actual"}
        What a resample keeps: the number of examples, or the number of each actual class (the stratified bootstrap).
    cluster : str, optional
        A leading dim of groups of examples that belong together, such as patients. Whole groups are resampled, and the
        metric is computed from their sum; the result lacks the dim. Ten groups are too few.
    progressbar : bool
        Whether to show a progress bar; only on a terminal, and for long computations.

    Returns
    -------
    xarray.DataArray
        Limits over the leading dims (and ``label`` for ``_per_class``) and ``ci_bound``, with the coordinate
        ``standard_error``. ``attrs`` has the seed and, as ``undefined``, the largest proportion of omitted resamples.

    Raises
    ------
    ValueError
        If the metric is undefined (0/0) in the counts; if `cluster` has one group, or is used with "by_actual".

    Warns
    -----
    UserWarning
        If some resamples are omitted because the metric is undefined in them; if an interval has no width, because all
        resamples have the same value; for "bca", if the metric is undefined without some examples, which the
        acceleration then lacks.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13–14; formulas in the module.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=70, fn=30, fp=20, tn=80)
    >>> bp.intervals.bootstrap(cm, "f1", method="bca", random_seed=1).values.round(2)
    array([0.66, 0.8 ])
    """
    from rich.progress import track

    tail = (1 - checks.probability("confidence", confidence)) / 2
    checks.one_of("method", method, ("percentile", "basic", "bca"))
    n_resamples = checks.count("n_resamples", n_resamples, least=2)
    seed = checks.new_seed(random_seed)
    statistic, matrices = _resampled_units(Statistic.of(cm, metric, contrast), design, cluster)
    observed = statistic.defined()
    rngs = streams(seed, "bootstrap", statistic.of_matrices, [units.content for units in matrices])
    work = list(zip(matrices, observed.reshape(len(matrices), -1), rngs, strict=True))
    shown = progressbar and len(matrices) * n_resamples * matrices[0].number.size > _LONG and sys.stderr.isatty()
    intervals = []
    for units, observed_values, rng in track(work, "Resampling", transient=True, disable=not shown):
        values = units.resample(statistic, n_resamples, rng)
        acceleration = units.acceleration(statistic) if method == "bca" else None
        intervals.append(limits_of(statistic.metric.name, observed_values, values, method, tail, acceleration))
    limits = np.clip(np.stack([each.limits for each in intervals]), *statistic.bounds).reshape(*observed.shape, 2)
    warn_of_resamples(statistic.metric.name, intervals, limits)
    facts = {"confidence": confidence, "method": method, "n_resamples": n_resamples, "design": design,
             "random_seed": seed, "undefined": max(each.undefined for each in intervals)}  # fmt: skip
    errors = np.stack([each.standard_error for each in intervals]).reshape(observed.shape)
    return limits_over(limits, statistic.leading, statistic.metric.name, errors, **facts)


def _resampled_units(statistic: Statistic, design: str, cluster: str | None) -> tuple[Statistic, list[Units]]:
    """Return the statistic (of sums over groups if groups are resampled), and the resampled units of each matrix."""
    counts, axes = statistic.counts, len(statistic.cell_dims)
    shape = counts.shape[-axes:]
    if cluster is None:
        cells = strata(design, counts.values, axes)
        return statistic, [Units(number, shape) for number in cells.reshape(-1, *cells.shape[-2:])]
    checks.leading_dim("cluster", cluster, counts.dims[:-axes])
    if design != "joint":
        raise InputError("cluster", "whole groups are resampled, so the classes' totals cannot be fixed by design too.")
    if counts.sizes[cluster] < 2:
        raise InputError("cluster", f"{cluster!r} has one group, and there is nothing to resample.")
    groups = counts.transpose(..., cluster, *statistic.cell_dims).values
    groups = groups.reshape(-1, counts.sizes[cluster], int(np.prod(shape)))
    number = np.ones((1, counts.sizes[cluster]), np.int64)
    pooled = replace(statistic, counts=counts.sum(cluster))
    return pooled, [Units(number, shape, of_matrix) for of_matrix in groups]


class MatrixLimits(NamedTuple):
    """Limits (values, 2) and standard errors (values,) of one matrix.

    It also has the proportion of omitted resamples, and whether the jackknife is complete.
    """

    limits: Array
    standard_error: Array
    undefined: float
    complete: bool = True


def limits_of(
    name: str, observed: Array, values: Array, method: str, tail: float, acceleration: Acceleration | None = None
) -> MatrixLimits:
    """Return the limits of one matrix's value, or of its values per class, from resampled values (n, …)."""
    values = values.reshape(len(values), -1)
    missing = np.isnan(values)
    if missing.all(0).any():
        raise InputError(
            "metric",
            f"{name!r} is undefined (0/0) in all {len(values)} resamples: too few examples for a bootstrap.",
            "Ask the posterior: bayesperf.posterior(cm).",
        )
    limits, errors = [], []
    for i, value in enumerate(observed):
        resampled = values[~missing[:, i], i]
        levels = np.array([tail, 1 - tail])
        if acceleration is not None:
            levels = bca_levels(resampled, value, acceleration.value[i], tail)
        quantiles = np.quantile(resampled, levels, method="linear" if np.isfinite(resampled).all() else "nearest")
        limits.append(2 * value - quantiles[::-1] if method == "basic" else quantiles)
        errors.append(_spread(resampled))
    complete = acceleration is None or acceleration.complete
    return MatrixLimits(np.array(limits), np.array(errors), float(missing.mean(0).max()), complete)


def _spread(resampled: Array) -> float:
    """Return the standard deviation of resampled values: inf if some are infinite, 0 if there is only one."""
    if not np.isfinite(resampled).all():
        return np.inf
    return float(resampled.std(ddof=1)) if len(resampled) > 1 else 0.0


def bca_levels(resampled: Array, value: float, a: float, tail: float) -> Array:
    """Return the quantile levels of the limits."""
    # Values that differ in the last digits only are ties, summed in another order.
    near = _ROUNDING * max(1, abs(value))
    below = ((resampled < value - near).mean() + (resampled <= value + near).mean()) / 2
    least = 0.5 / len(resampled)
    bias = ndtri(np.clip(below, least, 1 - least))
    z = bias + ndtri(np.array([tail, 1 - tail]))
    with np.errstate(divide="ignore"):
        return np.asarray(ndtr(bias + z / np.maximum(1 - a * z, 0)))


def warn_of_resamples(name: str, intervals: list[MatrixLimits], limits: Array) -> None:
    """Warn about resamples that make intervals less reliable than they seem."""
    undefined = np.array([each.undefined for each in intervals])
    if undefined.any():
        several = f" at worst, and in some of {(undefined > 0).sum()} matrices" if len(intervals) > 1 else ""
        warn(
            UserWarning,
            "BP704",
            f"metric {name!r} is undefined (0/0) in {100 * undefined.max():.2f} % of the resamples{several}. They are "
            "left out: the interval is of test sets in which it is defined.",
        )
    if not all(each.complete for each in intervals):
        warn(
            UserWarning,
            "BP705",
            f"method='bca': metric {name!r} is undefined or infinite without some one example, and the acceleration is "
            "that of the others. Take method='percentile', or bayesperf.posterior(cm).",
        )
    if np.isinf(limits).any():
        warn(
            UserWarning,
            "BP706",
            f"metric {name!r} is infinite in so many resamples that the limit is. Take bayesperf.intervals.delta("
            "..., transform='log'), or bayesperf.posterior(cm).",
        )
    warn_of_no_width(limits, f"metric {name!r}: all resamples are alike", ADVICE)


# ── What is resampled, as counts: examples, examples of each class, or whole groups of examples ──

# How many cells are held at once.
_AT_ONCE = 2**22


class Acceleration(NamedTuple):
    """The acceleration of "bca", (values,), and whether the metric is defined without any one unit."""

    value: Array
    complete: bool


@dataclass(frozen=True)
class Units:
    """The units that are resampled for one matrix: examples, or groups of them."""

    # Units of each kind; resamples keep their sum over a stratum, (strata, kinds).
    number: Counts
    # Shape of the cells.
    shape: tuple[int, ...]
    # What a unit of each kind adds to the cells, for a single stratum; by default each kind has a cell of its own,
    # (kinds, cells).
    groups: Counts | None = None

    @property
    def content(self) -> Counts:
        """The counts that distinguish these units from those of other matrices."""
        return self.number if self.groups is None else self.groups

    def resample(self, statistic: Callable[[Counts], Array], n: int, rng: np.random.Generator) -> Array:
        """Return values of a function of cells (n, …) in n resamples, (n,) or (n, K)."""
        parts = blocks(n, self.number.size, _AT_ONCE)
        return np.concatenate([statistic(self._draw(part.stop - part.start, rng)) for part in parts])

    def _draw(self, n: int, rng: np.random.Generator) -> Counts:
        """Return the cells of n resamples."""
        sizes = self.number.sum(-1)
        proportions = self.number / np.maximum(sizes, 1)[:, None]
        units = rng.multinomial(sizes, proportions, (n, len(sizes)))
        cells = units if self.groups is None else units[:, 0] @ self.groups
        return cells.reshape(n, *self.shape)

    def acceleration(self, statistic: Statistic) -> Acceleration:
        """Return the acceleration by the jackknife, over the units without which the statistic is defined."""
        skew, spread, complete = np.float64(0), np.float64(0), True
        for stratum, number in enumerate(self.number):
            if number.sum() < 2:
                continue
            kinds = np.flatnonzero(number)
            parts = blocks(len(kinds), int(np.prod(self.shape)), _AT_ONCE)
            values = np.concatenate([statistic(self._cells_without_units(stratum, kinds[part])) for part in parts])
            defined = np.isfinite(values)
            complete &= bool(defined.all())
            weights = defined * number[kinds].reshape(-1, *np.ones_like(values.shape[1:]))
            values, n = np.where(defined, values, 0), np.maximum(weights.sum(0), 1)
            centred = (n - 1) / n * ((weights * values).sum(0) / n - values)
            skew = skew + (weights * centred**3).sum(0)
            spread = spread + (weights * centred**2).sum(0)
        value = np.where(spread > 0, skew / np.where(spread > 0, 6 * spread**1.5, 1), 0)
        return Acceleration(np.atleast_1d(value), complete)

    def _cells_without_units(self, stratum: int, kinds: NDArray[np.intp]) -> Array:
        """Return the cells without one unit of each of some kinds, with the rest of its stratum weighted up."""
        if self.groups is not None:
            return np.asarray((self.groups.sum(0) - self.groups[kinds]).reshape(-1, *self.shape))
        cells = np.tile(self.number.astype(float), (len(kinds), 1, 1))
        total = self.number[stratum].sum()
        cells[np.arange(len(kinds)), stratum, kinds] -= 1
        cells[:, stratum] *= total / (total - 1)
        return cells.reshape(-1, *self.shape)
