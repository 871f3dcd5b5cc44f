"""The delta method: intervals of any metric from its gradient at the observed proportions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, blocks, complex_step
from bayesperf.core.errors import InputError
from bayesperf.core.words import at_place
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.intervals.limits import ADVICE, limits_over, normal_quantile, warn_of_no_width
from bayesperf.intervals.proportions import wilson
from bayesperf.intervals.statistic import Statistic, strata
from bayesperf.metrics.arguments import ARGUMENTS, BINARY_ARGUMENTS, GivenSums, OneVsRest
from bayesperf.metrics.metric import Metric

# How many complex cells are held at once.
_AT_ONCE = 2**20
# The step of complex differences, and the step of the real ones that check them.
_STEP, _REAL_STEP = 1e-20, 1e-6
# A standard error that is smaller than this, relative to the metric, is a rounding error of 0.
_ROUNDING = 1e-14


class Transformation(NamedTuple):
    """The transformation to a scale on which the estimate of a metric is treated as normal."""

    # The transformation of [0, 1] or [0, ∞), its derivative, and its inverse.
    forward: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    # The values of the metric that count as 0 and 1.
    ends: tuple[float, float] = (0.0, 1.0)

    def limits(self, values: Array, half: Array) -> Array:
        """Return limits (…, 2) around values, given half the width of the interval on the metric's own scale."""
        low, high = self.ends
        with np.errstate(all="ignore"):
            x = (values - low) / (high - low)
            reach = np.stack([-half, half], -1) * (self.slope(x) / (high - low))[..., None]
            limits = low + (high - low) * self.inverse(self.forward(x)[..., None] + reach)
        # At a bound the slope is infinite, and the interval has no width.
        return np.where(half[..., None] > 0, limits, values[..., None])


TRANSFORMATIONS = {
    None: Transformation(np.positive, np.ones_like, np.positive),
    "logit": Transformation(logit, lambda x: 1 / (x * (1 - x)), expit),
    "log": Transformation(np.log, np.reciprocal, np.exp),
}


@checked
def delta(
    cm: ConfusionMatrix,
    metric: str | Metric,
    confidence: float = 0.95,
    transform: str | None = None,
    *,
    contrast: str | None = None,
    design: str = "joint",
) -> xr.DataArray:
    """Return confidence intervals of any metric by the delta method.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts, with any leading dims.
    metric : str or Metric
        A built-in metric, with or without an average, or a registered one. Your own function must accept complex
        numbers: it must not use ``abs`` or comparisons.
    confidence : float
        Nominal coverage, between 0 and 1.
    transform : {None, "logit", "log"}
        The scale on which the metric is treated as normal. None is its own scale, and limits are clipped to the
        metric's bounds. "logit" is for metrics bounded on both sides ([−1, 1] is mapped to [0, 1]), and "log" for
        ratios bounded by 0; their limits are inside the bounds.
    contrast : {None, "difference"}
        What the interval describes. None: the metric of each matrix. "difference": the first system minus the second,
        tested on the same examples.
    design : {"joint", "by_actual"}
        How the test set was sampled: a fixed number of examples, or a fixed number of each class. With "by_actual" the
        metric describes a population with the test set's class proportions. (Metrics that do not depend on these, such
        as recall, have the same interval in both designs.)

    Returns
    -------
    xarray.DataArray
        Over the leading dims (and ``label`` for ``_per_class``), with last dim ``ci_bound`` = lower, upper. The
        coordinate ``standard_error`` refers to the metric on its own scale.

    Raises
    ------
    ValueError
        If the metric is undefined (0/0) for some matrix; if `transform` does not fit the metric.

    Warns
    -----
    UserWarning
        If an interval has no width, such as for a rate of 0 or 1.

    Notes
    -----
    With p the observed proportions of n examples and g the gradient of the metric there, the variance is (Σ p g² − (Σ p
    g)²)/n; for "by_actual", it is the sum over classes i of (Σ_j p_ij g_ij² − (Σ_j p_ij g_ij)²/p_i·)/n. The gradient
    uses the complex step, Im f(p + ih)/h with h = 1e-20 (Squire & Trapp 1998, SIAM Review 40), which is exact to the
    last digits. For macro averages of F1 this is Takahashi et al. (2022), Applied Intelligence 52.

    Near the bounds of a metric, and with few examples, these intervals cover less often than stated.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=7, fn=3, fp=2, tn=8)
    >>> bp.intervals.delta(cm, "f1").values.round(3)
    array([0.514, 0.959])
    >>> bp.intervals.delta(cm, "mcc", transform="logit").values.round(3)
    array([0.048, 0.785])
    >>> round(bp.intervals.delta(cm, "f1")["standard_error"].item(), 4)
    0.1135
    """
    z = normal_quantile(confidence)
    statistic = Statistic.of(cm, metric, contrast)
    transformation = _transformation(statistic, transform)
    values = statistic.defined()
    error = standard_error(statistic, values, design)
    limits = transformation.limits(values, z * error)
    missing = np.flatnonzero(~np.isfinite(limits).all(-1))
    if len(missing):
        raise InputError(
            "transform",
            f"{transform!r}: metric {statistic.metric.name!r} is {values.flat[missing[0]]:g}"
            f"{at_place(statistic.leading, missing[0])}, not inside its bounds {statistic.bounds}.",
            "Take transform=None.",
        )
    limits = np.clip(limits, *statistic.bounds)
    warn_of_no_width(limits, f"metric {statistic.metric.name!r}", ADVICE)
    facts = {"confidence": confidence, "method": "delta", "transform": str(transform), "design": design}
    return limits_over(limits, statistic.leading, statistic.metric.name, error, **facts)


@checked
def wilson_f1(cm: ConfusionMatrix, confidence: float = 0.95) -> xr.DataArray:
    """Return confidence intervals of binary F1 from Wilson's interval of the Jaccard index.

    It covers best among the closed forms. Among the examples that are positive or called positive, the Jaccard index J
    is a rate, and F1 = 2J/(1 + J).

    Parameters
    ----------
    cm : ConfusionMatrix
        A binary matrix, with any leading dims; for more classes, ``cm.one_vs_rest()``.
    confidence : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    xarray.DataArray
        Over the leading dims, with last dim ``ci_bound`` = lower, upper; [0, 1] if nothing is positive or called
        positive.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.intervals.wilson_f1(bp.ConfusionMatrix.from_counts(tp=7, fn=3, fp=2, tn=8)).values.round(3)
    array([0.484, 0.893])
    """
    z = normal_quantile(confidence)
    statistic = Statistic.of(cm, "f1")
    assert statistic.positive is not None
    tp, fn, fp = (ARGUMENTS[name](cm.counts.values, statistic.positive) for name in ("tp", "fn", "fp"))
    tried = tp + fn + fp
    jaccard = wilson(tp.astype(float), np.maximum(tried, 1).astype(float), confidence, z)
    limits = np.stack([np.where(tried > 0, 2 * j / (1 + j), end) for j, end in zip(jaccard, (0, 1), strict=True)], -1)
    return limits_over(limits, statistic.leading, "f1", confidence=confidence, method="wilson")


def _transformation(statistic: Statistic, transform: str | None) -> Transformation:
    """Return the transformation with a name; it must fit the metric's bounds."""
    if transform not in TRANSFORMATIONS:
        raise InputError("transform", f"must be one of {', '.join(map(repr, TRANSFORMATIONS))}; it is {transform!r}.")
    low, high = statistic.bounds
    if (transform == "logit" and not np.isfinite([low, high]).all()) or (transform == "log" and low != 0):
        wanted = "two finite bounds" if transform == "logit" else "values from 0"
        raise InputError(
            "transform",
            f"{transform!r} is for {wanted}; metric {statistic.metric.name!r}{', a difference,' * statistic.paired} "
            f"has bounds {statistic.bounds}.",
        )
    transformation = TRANSFORMATIONS[transform]
    return transformation._replace(ends=(low, high)) if transform == "logit" else transformation


def standard_error(statistic: Statistic, values: Array, design: str) -> Array:
    """Return the standard errors of a statistic's values."""
    counts = statistic.counts.values
    axes = len(statistic.cell_dims)
    total = counts.sum(tuple(range(-axes, 0)), keepdims=True)
    gradient = _gradient(statistic, counts / total)
    # The axes of strata and of their cells come first, as the axes of cells do in the gradient.
    shares = np.moveaxis(strata(design, counts / total, axes), (-2, -1), (0, 1))
    gradient = gradient.reshape(*shares.shape[:2], *values.shape)
    total = total.reshape(shares.shape[2:])
    if values.ndim > total.ndim:
        shares, total = shares[..., None], total[..., None]
    weights = shares.sum(1, keepdims=True)
    mean = (shares * gradient).sum(1, keepdims=True) / np.where(weights > 0, weights, 1)
    error = np.sqrt((shares * (gradient - mean) ** 2).sum((0, 1)) / total)
    return np.where(error <= _ROUNDING * np.maximum(1, np.abs(values)), 0, error)


def _gradient(statistic: Statistic, shares: Array) -> Array:
    """Return the gradient at proportions, with the axes of cells first; for a difference by the chain rule."""
    if not statistic.paired:
        return gradient_of(statistic.metric, statistic.positive, shares)
    of_a, of_b = (gradient_of(statistic.metric, statistic.positive, shares.sum(axis)) for axis in (-1, -2))
    return np.asarray(of_a[:, :, None] - of_b[:, None, :])


def gradient_of(metric: Metric, positive: int | None, shares: Array) -> Array:
    """Return the gradient (K, K, …) of a metric at proportions (…, K, K).

    Empty cells have no weight; their derivative may be 0.
    """
    averaged = metric.average in ("macro", "weighted") and BINARY_ARGUMENTS.issuperset(metric.arguments)
    if averaged:
        gradient = _of_average(metric, shares)
    elif metric.average is None and not metric.needs_cells:
        gradient = _of_class_sums(metric, shares)
    else:
        gradient = _by_cell(metric, positive, shares)
    _check(metric, positive, shares, gradient)
    return gradient


def _of_average(metric: Metric, shares: Array) -> Array:
    """Return the gradient of an average over classes by the chain rule, from K derivatives by each argument.

    A cell adds to tp of its class, or to fn of its row and fp of its column, and to tn of all other classes.
    """
    classes, parts = shares.shape[-1], OneVsRest(shares)
    arguments = {name: parts[name] for name in ("tp", "fn", "fp", "tn")}

    def terms(weighted: bool, by: str, step: Array) -> Array:
        moved = arguments | {by: step}
        weight = moved["tp"] + moved["fn"] if metric.average == "weighted" else np.ones_like(step)
        value = metric.function(**{name: moved[name] for name in metric.arguments}) if weighted else 1.0
        return np.asarray(weight * value)

    with np.errstate(all="ignore"):
        above, below = (terms(weighted, "tp", parts["tp"]) for weighted in (True, False))
        value, total = above.sum(-1, keepdims=True) / below.sum(-1, keepdims=True), below.sum(-1, keepdims=True)
        of = {}
        for name, at in arguments.items():
            slopes = (complex_step(partial(terms, weighted, name), at, 1.0, _STEP) for weighted in (True, False))
            slope, of_weight = slopes
            # Nothing has the derivative by what is empty, which may be infinite.
            of[name] = np.where(at > 0, (slope - value * of_weight) / total, 0)
    others = of["tn"].sum(-1)[..., None, None] - of["tn"][..., None] - of["tn"][..., None, :]
    gradient = others + of["fn"][..., None] + of["fp"][..., None, :]
    diagonal = np.arange(classes)
    gradient[..., diagonal, diagonal] = of["tn"].sum(-1, keepdims=True) - of["tn"] + of["tp"]
    return np.moveaxis(gradient, (-2, -1), (0, 1))


def _of_class_sums(metric: Metric, shares: Array) -> Array:
    """Return the gradient of a metric of class sums by the chain rule: 3K derivatives, not K²."""
    *leading, classes, _ = shares.shape
    parts = OneVsRest(shares)
    sums = {name: np.broadcast_to(parts[name], (classes, *leading, classes)) for name in ("tp", "fn", "fp")}
    each = np.eye(classes).reshape(classes, *np.ones_like(leading), classes)

    def value(by: str, step: Array) -> Array:
        return np.asarray(metric.of_class_sums(GivenSums(**(sums | {by: step}))))

    of = {}
    for name, at in sums.items():
        slope = complex_step(partial(value, name), at, each, _STEP)
        # Nothing has the derivative by what is empty, which may be infinite.
        of[name] = np.where(np.moveaxis(parts[name], -1, 0) > 0, slope, 0)
    gradient = of["fn"][:, None] + of["fp"]
    diagonal = np.arange(classes)
    gradient[diagonal, diagonal] = of["tp"]
    return np.asarray(gradient)


def _by_cell(metric: Metric, positive: int | None, shares: Array) -> Array:
    """Return the gradient of any metric, by a step of each cell."""
    *leading, _, classes = shares.shape
    filled = np.flatnonzero(shares.reshape(-1, classes**2).any(0))
    directions = np.zeros((len(filled), *np.ones_like(leading), classes**2))
    directions[np.arange(len(filled)), ..., filled] = 1
    directions = directions.reshape(*directions.shape[:-1], classes, classes)
    evaluate = partial(metric.evaluate, positive=positive)
    parts = blocks(len(filled), shares.size, _AT_ONCE)
    derivatives = np.concatenate([complex_step(evaluate, shares, directions[part], _STEP) for part in parts])
    gradient = np.zeros((classes**2, *derivatives.shape[1:]))
    gradient[filled] = derivatives
    return gradient.reshape(classes, classes, *derivatives.shape[1:])


def _check(metric: Metric, positive: int | None, shares: Array, gradient: Array) -> None:
    """Refuse a gradient that disagrees with real differences in some direction, as with ``abs``."""
    classes = shares.shape[-1]
    direction = shares * np.cos(np.arange(1, classes**2 + 1)).reshape(classes, classes)
    ahead, behind = (metric.evaluate(shares + step * direction, positive) for step in (_REAL_STEP, -_REAL_STEP))
    direction = np.moveaxis(direction, (-2, -1), (0, 1))
    terms = gradient * direction.reshape(direction.shape + (1,) * (gradient.ndim - direction.ndim))
    error = np.abs((ahead - behind) / (2 * _REAL_STEP) - terms.sum((0, 1)))
    if (error > 1e-5 * (np.abs(terms).sum((0, 1)) + np.abs(ahead))).any():
        raise InputError(
            "metric",
            f"{metric.name!r}: its function has no gradient by complex numbers.",
            "Write it without abs and comparisons, or take bayesperf.intervals.bootstrap.",
        )
