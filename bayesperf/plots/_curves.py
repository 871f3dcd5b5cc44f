"""What is drawn, as arrays: shared by the Matplotlib figures and the report's inline graphics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.marginals import Kind, Marginal

Array = NDArray[np.float64]

# Okabe & Ito's palette, told apart by colour-blind readers.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9")


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
        # Some draws are infinite: the curve ends at the greatest finite quantile.
        finer = marginal.ppf(np.linspace(0.0005, 0.9995, 201)).values.reshape(len(ends), -1)
        ends = np.minimum(ends, np.where(np.isfinite(finer), finer, -np.inf).max(-1, keepdims=True))
    ratio = ends[:, 1:] / ends[:, :1] if logarithmic else None
    x = _linear_grid(ends, marginal.bounds, unit) if ratio is None else ends[:, :1] * ratio**unit
    each = [marginal._distribution.take(slice(i, i + 1)) for i in range(len(x))]
    density = np.stack([d.pdf(row[None, :])[0] for d, row in zip(each, x, strict=True)]) * (x if logarithmic else 1)
    # A spike at a bound, which may be infinite, would flatten the rest of the curve.
    density = np.minimum(density, 1.3 * np.sort(density, axis=-1)[:, -4:-3])
    interval = marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)
    return Curves(x, density, marginal.mean().values.ravel(), interval, names(marginal), logarithmic)


def intervals(marginal: Marginal, ci_prob: float, ci_kind: Kind) -> Curves:
    """Return means and intervals alone: curves that span the interval."""
    interval = marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)
    logarithmic = _is_ratio(marginal)
    return Curves(
        interval, np.ones_like(interval), marginal.mean().values.ravel(), interval, names(marginal), logarithmic
    )


def _is_ratio(marginal: Marginal) -> bool:
    """Whether a metric is a ratio without an upper bound, which a logarithmic scale shows best."""
    return marginal.method == "quadrature" and bool(np.isinf(marginal.bounds[1]))


def _linear_grid(ends: Array, bounds: tuple[float, float], unit: Array) -> Array:
    span = ends[:, 1] - ends[:, 0]
    low, high = (np.where(np.isfinite(bound), bound, end) for bound, end in zip(bounds, ends.T, strict=True))
    start = np.where(ends[:, 0] - low < 0.05 * span, low, ends[:, 0])
    stop = np.where(high - ends[:, 1] < 0.05 * span, high, ends[:, 1])
    return np.asarray(start[:, None] + (stop - start)[:, None] * unit)


def names(marginal: Marginal) -> list[str]:
    """Return the coordinates of each quantity, joined."""
    leading: Any = marginal.mean()
    if not leading.dims:
        return [""]
    coords = [[str(value) for value in leading[dim].values.tolist()] for dim in leading.dims]
    grid = np.meshgrid(*[np.arange(len(c)) for c in coords], indexing="ij")
    return [", ".join(c[i] for c, i in zip(coords, at, strict=True)) for at in zip(*map(np.ravel, grid), strict=True)]
