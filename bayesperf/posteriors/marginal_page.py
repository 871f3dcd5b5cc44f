"""How a notebook shows a marginal: its figures in a sentence, and a small density for each place."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.core.words import estimate, signed_value
from bayesperf.posteriors.densities import Curves, curves

if TYPE_CHECKING:
    from bayesperf.posteriors.marginal import Marginal

# Of more places the rest is counted.
MOST_PLACES = 12
# Size of a density in pixels, the height of what is written beneath it, and points of its curve.
_WIDTH, _HEIGHT, _WRITTEN, _POINTS = 260, 44, 14, 81
_CI_PROB = 0.95


def marginal_html(first: Marginal, title: str, sentence: str, more: int) -> str:
    """Return a sentence on a marginal and a density for each of its first places, on a common scale.

    Parameters
    ----------
    first : Marginal
        The first places.
    title, sentence : str
        What stands above; not yet escaped.
    more : int
        How many places are left out.
    """
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
    """Return a density as SVG: its interval shaded, its mean marked, the ends of the axis written."""
    low, high = (float(end) for end in (drawn.x.min(), drawn.x.max()))

    def across(x: Array) -> Array:
        start, stop, at = np.log([low, high, 1]) if drawn.logarithmic else (low, high, 0)
        at = np.log(x) if drawn.logarithmic else x
        return np.asarray(_WIDTH * np.clip((at - start) / (stop - start), 0, 1))

    lower, upper = np.clip(drawn.interval[i], drawn.x[i, 0], drawn.x[i, -1])
    grid = np.unique(np.concatenate([drawn.x[i], [lower, upper]]))
    density = np.interp(grid, drawn.x[i], drawn.density[i])
    x, y = across(grid), _HEIGHT - (_HEIGHT - 4) * density / density.max()
    inside = (grid >= lower) & (grid <= upper)
    area = f"M{x[inside][0]:.1f},{_HEIGHT} L{_points(x[inside], y[inside])} L{x[inside][-1]:.1f},{_HEIGHT} Z"
    mean = f'<path d="M{across(drawn.mean[i]):.1f},4 V{_HEIGHT}" stroke-dasharray="3 2"/>'
    written = "".join(
        f'<text x="{at}" y="{_HEIGHT + _WRITTEN - 3}" text-anchor="{anchor}" font-size="10" fill="currentColor" '
        f'stroke="none">{_end(end, high - low)}</text>'
        for at, anchor, end in ((0, "start", low), (_WIDTH, "end", high))
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT + _WRITTEN}" viewBox="0 0 {_WIDTH} {_HEIGHT + _WRITTEN}" role="img" '
        f'aria-label="density" fill="none" stroke="currentColor"><path d="M0,{_HEIGHT} H{_WIDTH}" opacity=".4"/>'
        f'<path d="{area}" fill="currentColor" fill-opacity=".25" stroke="none"/><path d="M{_points(x, y)}"/>'
        f"{mean if np.isfinite(drawn.mean[i]) else ''}{written}</svg>"
    )


def _end(value: float, span: float) -> str:
    """Return an end of an axis; one of thousands as a whole number."""
    return f"{value:,.0f}" if abs(value) >= 1000 else signed_value(value, span)


def _points(x: Array, y: Array) -> str:
    return " L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
