"""The report's pictures as inline SVG, which holds numbers and fixed words but no text of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from bayesperf.core.words import format_value
from bayesperf.plots.style import SERIES
from bayesperf.posteriors.densities import Curves

WIDTH, HEIGHT, FLAT, TALL = 320, 46, 18, 164
# Number of steps between the ends of a heat map's colours.
_SHADES = 40
# Number of points of a curve that can be told apart at this size.
_MOST_POINTS = 500


class Scale:
    """A horizontal scale from values to pixels: linear, or logarithmic for ratios without an upper bound."""

    def __init__(self, drawn: Curves):
        self.logarithmic = drawn.logarithmic
        low, high = self._of(drawn.x.min()), self._of(drawn.x.max())
        margin = 0.02 * (high - low) or 0.5
        self.low, self.high = low - margin, high + margin

    def _of(self, value: Any) -> Any:
        return np.log10(np.maximum(value, 1e-12)) if self.logarithmic else value

    def __call__(self, value: Any) -> NDArray[np.float64]:
        """Return the horizontal positions of values."""
        position = (self._of(np.asarray(value)) - self.low) / (self.high - self.low)
        return np.asarray(WIDTH * np.clip(position, 0, 1))

    def ticks(self) -> list[float]:
        """Return three to six round values."""
        if self.logarithmic:
            return [10.0**k for k in range(int(np.ceil(self.low)), int(np.floor(self.high)) + 1)][
                :: max(1, int((self.high - self.low) / 5))
            ]
        return round_values(self.low, self.high)


def round_values(low: float, high: float) -> list[float]:
    """Return three to eight round values from low to high."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min((1, 2, 5, 10), key=lambda factor: abs(factor * power - rough))
    return [round(k * step, 12) for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def frame(height: int, label: str, *parts: str) -> Markup:
    """Return a picture of the full width, with a description for screen readers."""
    body = "".join(parts)
    return Markup(f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{body}</svg>')


def minus(value: float) -> str:
    """Write a number briefly, with a proper minus sign."""
    return f"{value:g}".replace("-", "−")


def path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return the points of a path, without the command before the first."""
    return " L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def density(drawn: Curves, i: int, scale: Scale) -> Markup:
    """Return a density with its interval shaded and its mean marked."""
    colour = SERIES[i % len(SERIES)]
    low, high = drawn.interval[i]
    grid = np.unique(np.concatenate([drawn.x[i], np.clip([low, high], drawn.x[i].min(), drawn.x[i].max())]))
    heights = np.interp(grid, drawn.x[i], drawn.density[i])
    x, y = scale(grid), HEIGHT - 1 - (HEIGHT - 6) * heights / drawn.density[i].max()
    inside = (grid >= low) & (grid <= high)
    area = f"M{x[inside][0]:.1f},{HEIGHT - 1} L{path(x[inside], y[inside])} L{x[inside][-1]:.1f},{HEIGHT - 1} Z"
    at = float(scale(drawn.mean[i]))
    mean = f'<path d="M{at:.1f},4 V{HEIGHT - 1}" stroke="{colour}" stroke-dasharray="3 2"/>'
    return frame(
        HEIGHT,
        f"density, interval {format_value(low)} to {format_value(high)}",
        f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT - 0.5}" y2="{HEIGHT - 0.5}" stroke="#bbb"/>',
        f'<path d="{area}" fill="{colour}" fill-opacity=".28"/>',
        f'<path d="M{path(x, y)}" fill="none" stroke="{colour}" stroke-width="1.6"/>',
        mean if np.isfinite(drawn.mean[i]) else "",
    )


def strip(drawn: Curves, i: int, scale: Scale, *beneath: str) -> Markup:
    """Return an interval as a line and its mean as a dot, over the parts that lie beneath."""
    low, high = scale(drawn.interval[i])
    middle = FLAT / 2
    return frame(
        FLAT,
        f"interval {format_value(drawn.interval[i, 0])} to {format_value(drawn.interval[i, 1])}",
        *beneath,
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="{SERIES[0]}" stroke-width="2"/>',
        f'<circle cx="{scale(drawn.mean[i]):.1f}" cy="{middle}" r="3.5" fill="{SERIES[0]}"/>',
    )


def equivalence(rope: float, scale: Scale) -> str:
    """Return the region of practical equivalence and the line of zero, to lie beneath a difference."""
    low, zero, high = scale([-rope, 0, rope])
    return (
        f'<rect x="{low:.1f}" y="0" width="{high - low:.1f}" height="{FLAT}" fill="#666" fill-opacity=".18"/>'
        f'<line x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{FLAT}" stroke="#1a1a1a" stroke-width=".8"/>'
    )


def heat_map(values: NDArray[np.float64], colours: tuple[str, ...], label: str) -> Markup:
    """Return a square of cells (n, n), coloured from 0 to 1, its rows and columns numbered.

    Neighbours of one colour in a row are merged into one rectangle: most cells of a large square are close to 0 or 1.
    """
    count, left = len(values), 20
    side = WIDTH - left - 8
    cell = side / count
    stops = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]
    shades = np.round(values * _SHADES) / _SHADES
    mixed = np.stack(
        [np.interp(shades, np.linspace(0, 1, len(stops)), channel) for channel in zip(*stops, strict=True)]
    )
    parts = ['<g shape-rendering="crispEdges">']
    for i, row in enumerate(shades):
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], count], strict=True):
            fill = "".join(f"{round(channel[i, start]):02x}" for channel in mixed)
            parts.append(
                f'<rect x="{left + start * cell:.1f}" y="{1 + i * cell:.1f}" width="{(stop - start) * cell:.1f}" '
                f'height="{cell:.1f}" fill="#{fill}"/>'
            )
    parts.append(f'</g><rect x="{left}" y="1" width="{side}" height="{side}" fill="none" stroke="#bbb"/>')
    for i in range(count):
        if i == 0 or (i + 1) % (5 if count > 20 else 2) == 0:
            at = (i + 0.5) * cell
            for place in (f'x="{left - 4}" y="{at + 5:.1f}" text-anchor="end"',
                          f'x="{left + at:.1f}" y="{side + 13}" text-anchor="middle"'):  # fmt: skip
                parts.append(f'<text {place} font-size="10" fill="#444">{i + 1}</text>')
    return frame(side + 17, label, *parts)


def axis(scale: Scale) -> Markup:
    """Return the axis beneath a block's pictures."""
    marks = []
    free = 0.0
    for tick in scale.ticks():
        at, room = float(scale(tick)), 3.5 * len(f"{tick:g}")
        if at - room < free or at + room > WIDTH:
            continue
        free = at + room + 6
        marks.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="4" stroke="#666"/>'
            f'<text x="{at:.1f}" y="15" text-anchor="middle" font-size="11" fill="#444">{minus(tick)}</text>'
        )
    return frame(18, "scale", *marks)


def bands(
    x: NDArray[np.float64], centre: NDArray[np.float64], interval: NDArray[np.float64], mark: float = np.nan
) -> Markup:
    """Return lines (m, n) over a common x with bands (m, n, 2), on an axis from 0 to 1; a value of x may be marked."""
    left, bottom = 26, TALL - 34
    at = left + (WIDTH - left - 8) * (x - x[0]) / (x[-1] - x[0])
    parts = [
        f'<path d="M{left},{y:.1f} H{WIDTH - 8}" stroke="#ddd"/>'
        f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end" font-size="11" fill="#444">{tick:g}</text>'
        for tick in (0, 0.5, 1)
        for y in [bottom - (bottom - 8) * tick]
    ]
    for i, colour in zip(range(len(centre)), SERIES, strict=False):
        line, low, high = (bottom - (bottom - 8) * y for y in (centre[i], interval[i, :, 0], interval[i, :, 1]))
        outline = path(np.concatenate([at, at[::-1]]), np.concatenate([high, low[::-1]]))
        parts.append(f'<path d="M{outline} Z" fill="{colour}" fill-opacity=".2"/>')
        parts.append(f'<path d="M{path(at, line)}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    if x[0] <= mark <= x[-1]:
        place = left + (WIDTH - left - 8) * (mark - x[0]) / (x[-1] - x[0])
        parts.append(f'<path d="M{place:.1f},8 V{bottom}" stroke="#1a1a1a" stroke-dasharray="3 2"/>')
    for k, anchor in ((0, "start"), (len(x) // 2, "middle"), (-1, "end")):
        place = f'x="{at[k]:.1f}" y="{bottom + 16}" text-anchor="{anchor}"'
        parts.append(f'<text {place} font-size="11" fill="#444">{minus(float(f"{x[k]:.3g}"))}</text>')
    parts.append(
        f'<text x="{at.mean():.1f}" y="{TALL - 4}" text-anchor="middle" font-size="11" fill="#444">threshold</text>'
    )
    return frame(TALL, "metrics over the threshold, with their bands", *parts)


class Line(NamedTuple):
    """A curve x, y (n,) and its band (k, 2) along values (k,) of the first axis."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    along: NDArray[np.float64]
    band: NDArray[np.float64]


def plane(
    lines: Sequence[Line],
    axes: tuple[str, str],
    label: str,
    *,
    top: float = 1.0,
    height: int = WIDTH,
    beneath: Sequence[tuple[Sequence[float], Sequence[float]]] = (),
    spans: Sequence[tuple[float, float]] = (),
) -> Markup:
    """Return curves with bands on named axes, the first from 0 to 1, the second from 0 to `top`.

    Beneath them are dotted lines and shaded spans of the first axis.
    """
    left, right, ceiling, floor = 34, WIDTH - 10, 20, height - 34

    def across(x: Any) -> NDArray[np.float64]:
        return left + (right - left) * np.asarray(x, float)

    def up(y: Any) -> NDArray[np.float64]:
        return floor - (floor - ceiling) * np.clip(np.asarray(y, float) / top, 0, 1)

    parts = [
        f'<rect x="{start:.1f}" y="{ceiling}" width="{stop - start:.1f}" height="{floor - ceiling}" fill="#666" '
        'fill-opacity=".15"/>'
        for start, stop in across(np.reshape(spans, (-1, 2)))
    ]
    text = 'font-size="11" fill="#444"'
    for tick in round_values(0, top):
        y = float(up(tick))
        parts.append(f'<path d="M{left},{y:.1f} H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end" {text}>{tick:g}</text>')
    for tick in round_values(0, 1):
        x = float(across(tick))
        parts.append(f'<path d="M{x:.1f},{ceiling} V{floor}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{floor + 14}" text-anchor="middle" {text}>{tick:g}</text>')
    parts.append(f'<text x="2" y="11" {text}>{axes[1]}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{height - 5}" text-anchor="middle" {text}>{axes[0]}</text>')
    for of_x, of_y in beneath:
        parts.append(f'<path d="M{path(across(of_x), up(of_y))}" fill="none" stroke="#666" stroke-dasharray="1 3"/>')
    for line, colour in zip(lines, SERIES, strict=False):
        low, high = up(line.band.T)
        at = across(line.along)
        outline = path(np.concatenate([at, at[::-1]]), np.concatenate([high, low[::-1]]))
        parts.append(f'<path d="M{outline} Z" fill="{colour}" fill-opacity=".18"/>')
    for line, colour in zip(lines, SERIES, strict=False):
        points = path(*_thinned(across(line.x), up(line.y)))
        parts.append(f'<path d="M{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    return frame(height, label, *parts)


def steps(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners of a step function: values y (n, …) between n + 1 edges x."""
    return np.repeat(x, 2)[1:-1], np.repeat(y, 2, axis=0)


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return as many points of a curve as can be told apart, evenly spaced along it."""
    length = np.concatenate([[0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    if len(x) <= _MOST_POINTS or not length[-1]:
        return x, y
    kept = np.unique(np.searchsorted(length, np.linspace(0, length[-1], _MOST_POINTS)))
    return x[kept], y[kept]
