"""What is drawn, as arrays: shared by the Matplotlib figures and the report's inline graphics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.posteriors.marginal import Kind, Marginal

# Okabe & Ito's palette, told apart by colour-blind readers.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9")
# Of probabilities around one half, and of others: colours of a heat map from 0 to 1.
DIVERGING, SEQUENTIAL = (ORANGE, "#ffffff", BLUE), ("#ffffff", BLUE)
# Half of what is drawn around a point mass, and how far out the region of practical equivalence is drawn in full.
_POINT, _FAR = 0.02, 4


class Curves(NamedTuple):
    """Densities of m quantities on grids (m, points) of their own, their means and intervals, and their names.

    On a logarithmic scale (ratios without an upper bound) the density is that of the logarithm.
    """

    x: Array
    density: Array
    mean: Array
    interval: Array
    names: list[str]
    logarithmic: bool


def curves(marginal: Marginal, ci_prob: float, ci_kind: Kind, points: int = 161) -> Curves:
    """Return the curves of a marginal, its leading dims flattened.

    The grid of each reaches from its 0.05 % to its 99.95 % quantile, or to a bound that the density reaches.
    """
    logarithmic = _is_ratio(marginal)
    unit = np.linspace(0, 1, points)
    # A hair inside the ends, where the density may be infinite.
    unit[[0, -1]] = 1e-3 / points, 1 - 1e-3 / points
    ends = marginal.ppf([0.0005, 0.9995]).values.reshape(-1, 2)
    if np.isinf(ends).any():
        # Some draws are infinite: the curve ends at the outermost finite quantiles.
        finer = marginal.ppf(np.linspace(0.0005, 0.9995, 201)).values.reshape(len(ends), -1)
        finite = np.isfinite(finer)
        ends = np.clip(
            ends, np.where(finite, finer, np.inf).min(-1, keepdims=True),
            np.where(finite, finer, -np.inf).max(-1, keepdims=True),
        )  # fmt: skip
    point = np.ptp(ends, axis=-1) <= 1e-12 * np.abs(ends[:, 0])
    ends[point] += _POINT * np.maximum(np.abs(ends[point]), 1) * [-1, 1]
    ratio = ends[:, 1:] / ends[:, :1] if logarithmic else None
    x = _linear_grid(ends, marginal.bounds, unit) if ratio is None else ends[:, :1] * ratio**unit
    each = [marginal.distribution.take(slice(i, i + 1)) for i in range(len(x))]
    density = np.stack([d.pdf(row[None, :])[0] for d, row in zip(each, x, strict=True)]) * (x if logarithmic else 1)
    # A spike at a bound, which may be infinite, would flatten the rest of the curve.
    density = np.minimum(density, 1.3 * np.sort(density, axis=-1)[:, -4:-3])
    # All of a point mass is in the middle.
    density[point] = np.arange(points) == points // 2
    interval = marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)
    return Curves(x, density, marginal.mean().values.ravel(), interval, names(marginal.leading), logarithmic)


def intervals(marginal: Marginal, ci_prob: float, ci_kind: Kind) -> Curves:
    """Return means and intervals alone: curves that span the interval."""
    interval = marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)
    logarithmic = _is_ratio(marginal)
    return Curves(
        interval,
        np.ones_like(interval),
        marginal.mean().values.ravel(),
        interval,
        names(marginal.leading),
        logarithmic,
    )


def reach(drawn: Curves, rope: float) -> tuple[float, float]:
    """Return the ends of an axis of differences: what is drawn, zero and, unless they are far out, the rope's edges."""
    finite = drawn.x[np.isfinite(drawn.x)]
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    furthest = max(-low, high)
    edge = min(rope, _FAR * furthest) if furthest else rope or 1.0
    margin = 0.04 * (max(high, edge) - min(low, -edge))
    return min(low, -edge) - margin, max(high, edge) + margin


def _is_ratio(marginal: Marginal) -> bool:
    """Whether a metric is a ratio without an upper bound, which a logarithmic scale shows best."""
    return marginal.method == "quadrature" and marginal.bounds[0] >= 0 and bool(np.isinf(marginal.bounds[1]))


def _linear_grid(ends: Array, bounds: tuple[float, float], unit: Array) -> Array:
    span = ends[:, 1] - ends[:, 0]
    low, high = (np.where(np.isfinite(bound), bound, end) for bound, end in zip(bounds, ends.T, strict=True))
    start = np.where(ends[:, 0] - low < 0.05 * span, low, ends[:, 0])
    stop = np.where(high - ends[:, 1] < 0.05 * span, high, ends[:, 1])
    return np.asarray(start[:, None] + (stop - start)[:, None] * unit)


def names(leading: xr.DataArray) -> list[str]:
    """Return the coordinates of each quantity over leading dims, joined."""
    if not leading.dims:
        return [""]
    coords = [[str(value) for value in leading[dim].values.tolist()] for dim in leading.dims]
    grid = np.meshgrid(*[np.arange(len(c)) for c in coords], indexing="ij")
    return [", ".join(c[i] for c, i in zip(coords, at, strict=True)) for at in zip(*map(np.ravel, grid), strict=True)]
