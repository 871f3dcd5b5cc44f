"""Densities and intervals of marginals for drawing, and how a notebook shows them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.words import estimate, place_names, signed_value

if TYPE_CHECKING:
    from bayesperf.posteriors.marginal import Kind, Marginal

# Half the relative width of the axis around a point mass.
_POINT_MASS_MARGIN = 0.02
# The region of practical equivalence is drawn in full up to this many times as far out as the rest.
_FARTHEST_ROPE = 4


class Curves(NamedTuple):
    """Densities of m quantities, each on its own grid (m, points), with means, intervals, names and observed scores.

    On a logarithmic scale (ratios without an upper bound) the curve is the density of the logarithm. The observed score
    is NaN if there is none.
    """

    x: Array
    density: Array
    mean: Array
    interval: Array
    names: list[str]
    logarithmic: bool
    observed: Array

    def take(self, rows: Sequence[int] | Codes) -> Curves:
        """Return some of the quantities, by position."""
        return Curves(
            x=self.x[rows],
            density=self.density[rows],
            mean=self.mean[rows],
            interval=self.interval[rows],
            names=[self.names[row] for row in rows],
            logarithmic=self.logarithmic,
            observed=self.observed[rows],
        )


def curves(marginal: Marginal, ci_prob: float, ci_kind: Kind, points: int = 161) -> Curves:
    """Return the density curves of a marginal, with its leading dims flattened.

    Each grid runs from the 0.05 % to the 99.95 % quantile, or up to a bound that the density reaches.
    """
    logarithmic = _is_ratio(marginal)
    ends = _finite_ends(marginal)
    # A point mass, whose quantiles are all the same.
    point = np.ptp(ends, axis=-1) <= 1e-12 * np.abs(ends[:, 0])
    ends[point] += _POINT_MASS_MARGIN * np.maximum(np.abs(ends[point]), 1) * [-1, 1]
    unit = np.linspace(0, 1, points)
    # Just inside the ends, where the density may be infinite.
    unit[[0, -1]] = 1e-3 / points, 1 - 1e-3 / points
    ratio = ends[:, 1:] / ends[:, :1] if logarithmic else None
    x = _linear_grid(ends, marginal.bounds, unit) if ratio is None else ends[:, :1] * ratio**unit
    each = [marginal.distribution.take(slice(i, i + 1)) for i in range(len(x))]
    density = np.stack([d.pdf(row[None, :])[0] for d, row in zip(each, x, strict=True)]) * (x if logarithmic else 1)
    # A spike at a bound, possibly infinite, would flatten the rest of the curve.
    density = np.minimum(density, 1.3 * np.sort(density, axis=-1)[:, -4:-3])
    # A point mass is drawn as a spike in the middle.
    density[point] = np.arange(points) == points // 2
    interval = marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)
    names, mean, observed = (
        place_names(marginal.leading),
        marginal.mean().values.ravel(),
        marginal.observed.values.ravel(),
    )
    return Curves(x, density, mean, interval, names, logarithmic, observed)


def intervals(marginal: Marginal, ci_prob: float, ci_kind: Kind) -> Curves:
    """Return means and intervals without densities: curves that span the interval."""
    interval = marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)
    drawn = without_density(
        marginal.mean().values.ravel(), interval, place_names(marginal.leading), _is_ratio(marginal)
    )
    return drawn._replace(observed=marginal.observed.values.ravel())


def without_density(mean: Array, interval: Array, names: Sequence[str] = (), logarithmic: bool = False) -> Curves:
    """Return means (m,) and intervals (m, 2) as curves that span the intervals."""
    return Curves(
        interval, np.ones_like(interval), mean, interval, list(names), logarithmic, np.full(len(mean), np.nan)
    )


def reach(drawn: Curves, rope: float) -> tuple[float, float]:
    """Return the limits of an axis of differences: they include all curves, zero and, unless far out, the ROPE."""
    finite = drawn.x[np.isfinite(drawn.x)]
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    furthest = max(-low, high)
    edge = min(rope, _FARTHEST_ROPE * furthest) if furthest else rope or 1.0
    margin = 0.04 * (max(high, edge) - min(low, -edge))
    return min(low, -edge) - margin, max(high, edge) + margin


def _finite_ends(marginal: Marginal) -> Array:
    """Return the ends of each curve, (m, 2): its outermost quantiles, or the outermost finite ones."""
    ends = marginal.ppf([0.0005, 0.9995]).values.reshape(-1, 2)
    if not np.isinf(ends).any():
        return ends
    quantiles = marginal.ppf(np.linspace(0.0005, 0.9995, 201)).values.reshape(len(ends), -1)
    finite = np.isfinite(quantiles)
    lowest = np.where(finite, quantiles, np.inf).min(-1, keepdims=True)
    highest = np.where(finite, quantiles, -np.inf).max(-1, keepdims=True)
    return np.asarray(np.clip(ends, lowest, highest))


def _is_ratio(marginal: Marginal) -> bool:
    """Whether a metric is a ratio without an upper bound, which a logarithmic scale shows best."""
    return marginal.method == "quadrature" and marginal.bounds[0] >= 0 and bool(np.isinf(marginal.bounds[1]))


def _linear_grid(ends: Array, bounds: tuple[float, float], unit: Array) -> Array:
    """Return evenly spaced grids (m, points) between the ends, or up to a bound that is near one of them."""
    span = ends[:, 1] - ends[:, 0]
    low, high = (np.where(np.isfinite(bound), bound, end) for bound, end in zip(bounds, ends.T, strict=True))
    start = np.where(ends[:, 0] - low < 0.05 * span, low, ends[:, 0])
    stop = np.where(high - ends[:, 1] < 0.05 * span, high, ends[:, 1])
    return np.asarray(start[:, None] + (stop - start)[:, None] * unit)


# ── In a notebook: figures in a sentence, and a small density for each place ──

# Beyond these places the rest is only counted.
MOST_PLACES = 12
# Size of a density in pixels, the height of what is written beneath it, and points of its curve.
_WIDTH, _HEIGHT, _WRITTEN, _POINTS = 260, 44, 14, 81
_CI_PROB = 0.95


def marginal_html(first: Marginal, title: str, sentence: str, more: int) -> str:
    """Return a sentence and a density for each of a marginal's first places, on one scale; `more` counts the others."""
    drawn = curves(first, _CI_PROB, "hdi", points=_POINTS)
    head = f"<p><b>{escape(title)}</b>{f'<br/>{escape(sentence)}' if sentence else ''}</p>"
    pictures = [_density(drawn, i) for i in range(len(drawn.names))]
    if not first.dims:
        return f"<div>{head}{pictures[0]}</div>"
    figures = [
        estimate(mean, low, high, _CI_PROB, "hdi") for mean, (low, high) in zip(drawn.mean, drawn.interval, strict=True)
    ]
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{figure}</td><td>{picture}</td></tr>"
        for name, figure, picture in zip(drawn.names, figures, pictures, strict=True)
    )
    rest = f"<p>… and {more:,} more</p>" if more else ""
    return f"<div>{head}<table><tbody>{rows}</tbody></table>{rest}</div>"


def _density(drawn: Curves, i: int) -> str:
    """Return a density as SVG, with its interval shaded, its mean marked and the ends of the axis labelled."""
    low, high = (float(end) for end in (drawn.x.min(), drawn.x.max()))

    def across(x: Array) -> Array:
        start, stop = np.log([low, high]) if drawn.logarithmic else (low, high)
        at = np.log(x) if drawn.logarithmic else x
        return np.asarray(_WIDTH * np.clip((at - start) / (stop - start), 0, 1))

    lower, upper = np.clip(drawn.interval[i], drawn.x[i, 0], drawn.x[i, -1])
    grid = np.unique(np.concatenate([drawn.x[i], [lower, upper]]))
    density = np.interp(grid, drawn.x[i], drawn.density[i])
    x, y = across(grid), _HEIGHT - (_HEIGHT - 4) * density / density.max()
    inside = (grid >= lower) & (grid <= upper)
    area = f"M{x[inside][0]:.1f},{_HEIGHT} L{path_points(x[inside], y[inside])} L{x[inside][-1]:.1f},{_HEIGHT} Z"
    mean = f'<path d="M{across(drawn.mean[i]):.1f},4 V{_HEIGHT}" stroke-dasharray="3 2"/>'
    written = "".join(
        f'<text x="{at}" y="{_HEIGHT + _WRITTEN - 3}" text-anchor="{anchor}" font-size="10" fill="currentColor" '
        f'stroke="none">{_end(end, high - low)}</text>'
        for at, anchor, end in ((0, "start", low), (_WIDTH, "end", high))
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT + _WRITTEN}" viewBox="0 0 {_WIDTH} {_HEIGHT + _WRITTEN}" role="img" '
        f'aria-label="density" fill="none" stroke="currentColor"><path d="M0,{_HEIGHT} H{_WIDTH}" opacity=".4"/>'
        f'<path d="{area}" fill="currentColor" fill-opacity=".25" stroke="none"/><path d="M{path_points(x, y)}"/>'
        f"{mean if np.isfinite(drawn.mean[i]) else ''}{written}</svg>"
    )


def _end(value: float, span: float) -> str:
    """Return the label of an end of an axis; thousands as a whole number."""
    return f"{value:,.0f}" if abs(value) >= 1000 else signed_value(value, span)


def path_points(x: Array, y: Array) -> str:
    """Return the points of an SVG path, without the command before the first one."""
    return " L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
