"""The report's pictures as inline SVG; their colours are classes of the style sheet, which knows light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from bayesperf.core.words import format_value
from bayesperf.posteriors.densities import Curves, path_points

WIDTH, HEIGHT, FLAT, TALL = 320, 46, 18, 164
# Number of steps between the ends of a heat map's colours, and up to how many cells a side have room for their values.
_SHADES, _MOST_WRITTEN = 40, 25
# Up to this many rows of a heat map are named, each name with at most this many characters; further rows are numbered.
_MOST_NAMED, _NAME = 40, 16
# Number of points of a curve that can be told apart at this size.
_MOST_POINTS = 500
# Number of colours of series that the style sheet has.
COLOURS = 6
# The class of what belongs to no system, as a difference of two.
NEUTRAL = "d"


class Scale:
    """A horizontal scale from values to pixels: linear, or logarithmic for ratios without an upper bound."""

    def __init__(self, drawn: Curves, also: Sequence[float] = ()):
        self.logarithmic = drawn.logarithmic
        low, high = self._of(min([drawn.x.min(), *also])), self._of(max([drawn.x.max(), *also]))
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


def frame(height: float, label: str, *parts: str, width: int = WIDTH) -> Markup:
    """Return a picture of the full width, with a name for screen readers, which is escaped."""
    body = "".join(parts)
    return Markup(f'<svg viewBox="0 0 {width} {height:g}" role="img" aria-label="{escape(label)}">{body}</svg>')


def colour(i: int) -> str:
    """Return the class of the i-th colour of a series."""
    return f"s{i % COLOURS}"


def text(x: float, y: float, words: str, anchor: str = "middle", size: float = 11) -> str:
    """Return words, which are escaped, at a place."""
    return f'<text class="t" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}">{escape(words)}</text>'


def minus(value: float) -> str:
    """Write a number briefly, with a proper minus sign."""
    return f"{value:g}".replace("-", "−")


def density(drawn: Curves, i: int, scale: Scale, title: str, tint: str, *beneath: str) -> Markup:
    """Return a density with its interval shaded, its mean and the observed score marked, over what lies beneath."""
    low, high = drawn.interval[i]
    grid = np.unique(np.concatenate([drawn.x[i], np.clip([low, high], drawn.x[i].min(), drawn.x[i].max())]))
    heights = np.interp(grid, drawn.x[i], drawn.density[i])
    # Draws that are all the same have no density.
    x, y = scale(grid), HEIGHT - 1 - (HEIGHT - 6) * heights / (drawn.density[i].max() or 1)
    inside = (grid >= low) & (grid <= high)
    area = f"M{x[inside][0]:.1f},{HEIGHT - 1} L{path_points(x[inside], y[inside])} L{x[inside][-1]:.1f},{HEIGHT - 1} Z"
    at, seen = float(scale(drawn.mean[i])), float(scale(drawn.observed[i]))
    mean = f'<path class="m {tint}" d="M{at:.1f},4 V{HEIGHT - 1}"/>'
    observed = f'<circle class="o {tint}" cx="{seen:.1f}" cy="{HEIGHT - 4}" r="3"/>'
    return frame(
        HEIGHT,
        f"{_named(title, drawn.names[i])}: density, interval {format_value(low)} to {format_value(high)}",
        *beneath,
        f'<path class="g" d="M0,{HEIGHT - 0.5} H{WIDTH}"/>',
        f'<path class="a {tint}" d="{area}"/>',
        f'<path class="l {tint}" d="M{path_points(x, y)}"/>',
        mean if np.isfinite(drawn.mean[i]) else "",
        observed if np.isfinite(drawn.observed[i]) else "",
    )


def strip(drawn: Curves, i: int, scale: Scale, title: str, tint: str, *beneath: str) -> Markup:
    """Return an interval as a line and its mean as a dot, over the parts that lie beneath."""
    low, high = scale(drawn.interval[i])
    middle = FLAT / 2
    return frame(
        FLAT,
        f"{_named(title, drawn.names[i] if drawn.names else '')}: interval {format_value(drawn.interval[i, 0])} to "
        f"{format_value(drawn.interval[i, 1])}",
        *beneath,
        f'<path class="l {tint}" d="M{low:.1f},{middle} H{high:.1f}"/>',
        f'<circle class="f {tint}" cx="{scale(drawn.mean[i]):.1f}" cy="{middle}" r="3.5"/>',
    )


def ring(value: float, scale: Scale) -> str:
    """Return the mark of what was observed, in the row of a strip; nothing if nothing was."""
    if not np.isfinite(value):
        return ""
    return f'<circle class="o {NEUTRAL}" cx="{float(scale(value)):.1f}" cy="{FLAT / 2}" r="4.5"/>'


def overlay(
    drawn: Curves, scale: Scale, label: str, colours: Sequence[str], bounds: Sequence[tuple[float, bool]]
) -> Markup:
    """Return densities over each other, each with its interval shaded, and an axis; bounds to meet lie beneath."""
    floor, width = TALL - 20, 2 * WIDTH
    parts = [bound(value, at_least, scale, floor) for value, at_least in bounds]
    parts = [f'<g transform="scale(2 1)">{"".join(parts)}</g>', f'<path class="g" d="M0,{floor} H{width}"/>']
    for i, (grid, heights, (low, high)) in enumerate(zip(drawn.x, drawn.density, drawn.interval, strict=True)):
        x, y = 2 * scale(grid), floor - (floor - 8) * heights / drawn.density.max()
        inside = (grid >= low) & (grid <= high)
        if inside.any():
            outline = f"M{x[inside][0]:.1f},{floor} L{path_points(x[inside], y[inside])} L{x[inside][-1]:.1f},{floor} Z"
            parts.append(f'<path class="b {colours[i]}" d="{outline}"/>')
        parts.append(f'<path class="l {colours[i]}" d="M{path_points(x, y)}"/>')
    # Narrow screens write them twice as large.
    ticks = [text(at, TALL - 5, minus(tick)) for at, tick in _fitting(scale, width, 7)]
    return frame(TALL, label, *parts, *ticks, width=width)


def _named(title: str, name: str) -> str:
    return f"{title} of {name}" if name else title


def bound(value: float, at_least: bool, scale: Scale, height: int = HEIGHT) -> str:
    """Return a bound and the side of it where a requirement is met, to lie beneath a density."""
    at = float(scale(value))
    start, stop = (at, WIDTH) if at_least else (0, at)
    return (
        f'<rect class="met" x="{start:.1f}" y="0" width="{stop - start:.1f}" height="{height}"/>'
        f'<path class="z" d="M{at:.1f},0 V{height}"/>'
    )


def equivalence(rope: float, scale: Scale) -> str:
    """Return the region of practical equivalence and the line of zero, to lie beneath a difference."""
    low, zero, high = scale([-rope, 0, rope])
    return (
        f'<rect class="rope" x="{low:.1f}" y="0" width="{high - low:.1f}" height="{FLAT}"/>'
        f'<path class="z" d="M{zero:.1f},0 V{FLAT}"/>'
    )


def heat_map(
    values: NDArray[np.float64],
    label: str,
    *,
    diverging: bool = False,
    names: Sequence[str] = (),
    written: NDArray[np.int64] | None = None,
) -> Markup:
    """Return a square of cells (n, n), coloured from 0 to 1, its rows and columns named, if they are few, or numbered.

    Neighbours of one colour in a row are merged into one rectangle: most cells of a large square are close to 0 or 1.
    Without colour are values of 0 or, if they are `diverging`, of 0.5. `label` is its name for screen readers, and
    `written` are counts to be written into the cells, if there is room.
    """
    count, width = len(values), WIDTH if written is None else 2 * WIDTH
    named = bool(names) and count <= _MOST_NAMED
    left = 20 if not named else 6 * max(len(_short(name)) for name in names) + 12
    side = width - left - 8
    cell = side / count
    strengths = np.abs(2 * values - 1) if diverging else values
    classes = np.where(diverging & (values < 0.5), "lo", "hi")
    cells = "".join(_cells(strengths, classes))
    parts = [f'<g shape-rendering="crispEdges" transform="translate({left} 1) scale({cell:.5g})">{cells}</g>']
    parts.append(f'<rect class="frame" x="{left}" y="1" width="{side:.1f}" height="{side:.1f}"/>')
    if written is not None and count <= _MOST_WRITTEN:
        parts += [
            f'<text class="n{" on" if strengths[i, j] > 0.6 else ""}" x="{left + (j + 0.5) * cell:.1f}" '
            f'y="{5 + (i + 0.5) * cell:.1f}" font-size="{min(12, 0.42 * cell):.3g}">{written[i, j]}</text>'
            for i, j in np.argwhere(written > 0)
        ]
    ends = _ends(names, left, side, cell) if named else _numbers(count, left, side, cell)
    return frame(round(side + (left if named else 17)), label, *parts, *ends, width=width)


def _cells(strengths: NDArray[np.float64], classes: NDArray[np.str_]) -> Iterator[str]:
    """Yield the cells of a heat map, a path for each shade, in units of a cell; what is without colour is left out."""
    shades = np.round(strengths * _SHADES).astype(int)
    runs: dict[tuple[str, int], list[str]] = {}
    for i, (row, kinds) in enumerate(zip(shades, classes, strict=True)):
        starts = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (kinds != np.roll(kinds, 1)))
        for start, stop in zip(starts, [*starts[1:], len(row)], strict=True):
            if row[start]:
                run = f"M{start} {i}h{stop - start}v1h{start - stop}z"
                runs.setdefault((str(kinds[start]), int(row[start])), []).append(run)
    for (kind, shade), paths in runs.items():
        yield f'<path class="{kind}" fill-opacity="{shade / _SHADES:g}" d="{"".join(paths)}"/>'


def _numbers(count: int, left: float, side: float, cell: float) -> Iterator[str]:
    """Yield numbers of rows and columns, not all if there are many."""
    for i in range(count):
        if i == 0 or (i + 1) % (5 if count > 20 else 2) == 0:
            at = (i + 0.5) * cell
            yield text(left - 4, at + 5, str(i + 1), "end", 10)
            yield text(left + at, side + 13, str(i + 1), size=10)


def _ends(names: Sequence[str], left: float, side: float, cell: float) -> Iterator[str]:
    """Yield names of rows, and of columns from below."""
    size = min(11, max(7, 0.8 * cell))
    for i, name in enumerate(map(_short, names)):
        at = (i + 0.5) * cell
        yield text(left - 5, at + 1 + size / 3, name, "end", size)
        yield (
            f'<text class="t" transform="translate({left + at + size / 3:.1f},{side + 6:.1f}) rotate(-90)" '
            f'text-anchor="end" font-size="{size:g}">{escape(name)}</text>'
        )


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def axis(scale: Scale) -> Markup:
    """Return the axis beneath a block's pictures, which a screen reader passes over: the figures stand in the rows."""
    marks = [f'<path class="z" d="M{at:.1f},0 V4"/>{text(at, 15, minus(tick))}' for at, tick in _fitting(scale, WIDTH)]
    return Markup(f'<svg viewBox="0 0 {WIDTH} 18" aria-hidden="true">{"".join(marks)}</svg>')


def _fitting(scale: Scale, width: int, half_letter: float = 3.5) -> Iterator[tuple[float, float]]:
    """Yield the positions and values of the ticks whose labels are neither cut off nor over each other."""
    free = 0.0
    for tick in scale.ticks():
        at, room = float(scale(tick)) * width / WIDTH, half_letter * len(f"{tick:g}")
        if at - room >= free and at + room <= width:
            free = at + room + 6
            yield at, tick


def bands(
    x: NDArray[np.float64],
    centre: NDArray[np.float64],
    interval: NDArray[np.float64],
    label: str,
    colours: Sequence[str],
    mark: float = np.nan,
) -> Markup:
    """Return lines (m, n) over a common x with bands (m, n, 2), on an axis from 0 to 1; a value of x may be marked."""
    left, bottom = 26, TALL - 34
    at = left + (WIDTH - left - 8) * (x - x[0]) / (x[-1] - x[0])
    parts = [
        f'<path class="g" d="M{left},{y:.1f} H{WIDTH - 8}"/>{text(left - 4, y + 4, f"{tick:g}", "end")}'
        for tick in (0, 0.5, 1)
        for y in [bottom - (bottom - 8) * tick]
    ]
    for i in range(len(centre)):
        line, low, high = (bottom - (bottom - 8) * y for y in (centre[i], interval[i, :, 0], interval[i, :, 1]))
        outline = path_points(np.concatenate([at, at[::-1]]), np.concatenate([high, low[::-1]]))
        parts.append(
            f'<path class="b {colours[i]}" d="M{outline} Z"/>'
            f'<path class="l {colours[i]}" d="M{path_points(at, line)}"/>'
        )
    if x[0] <= mark <= x[-1]:
        place = left + (WIDTH - left - 8) * (mark - x[0]) / (x[-1] - x[0])
        parts.append(f'<path class="z dash" d="M{place:.1f},8 V{bottom}"/>')
    for k, anchor in ((0, "start"), (len(x) // 2, "middle"), (-1, "end")):
        parts.append(text(at[k], bottom + 16, minus(float(f"{x[k]:.3g}")), anchor))
    return frame(TALL, label, *parts, text(float(at.mean()), TALL - 4, "threshold"))


class Line(NamedTuple):
    """A curve x, y (n,), its band (k, 2) along values (k,) of the first axis, and its colour."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    along: NDArray[np.float64]
    band: NDArray[np.float64]
    colour: str


def plane(
    lines: Sequence[Line],
    axes: tuple[str, str],
    label: str,
    *,
    top: float = 1.0,
    bottom: float = 0.0,
    height: int = WIDTH,
    beneath: Sequence[tuple[Sequence[float], Sequence[float]]] = (),
    spans: Sequence[tuple[float, float]] = (),
) -> Markup:
    """Return curves with bands on named axes, the first from 0 to 1, the second from `bottom` to `top`.

    Beneath them are dotted lines and shaded spans of the first axis.
    """
    heights = {tick: minus(tick) for tick in round_values(bottom, top)}
    left = max(34.0, 8 + 6.5 * max(map(len, heights.values())))
    right, ceiling, floor = WIDTH - 10, 20, height - 34

    def across(x: Any) -> NDArray[np.float64]:
        return left + (right - left) * np.asarray(x, float)

    def up(y: Any) -> NDArray[np.float64]:
        return floor - (floor - ceiling) * np.clip((np.asarray(y, float) - bottom) / (top - bottom), 0, 1)

    parts = [
        f'<rect class="rope" x="{start:.1f}" y="{ceiling}" width="{stop - start:.1f}" height="{floor - ceiling}"/>'
        for start, stop in across(np.reshape(spans, (-1, 2)))
    ]
    for tick, written in heights.items():
        y = float(up(tick))
        parts.append(f'<path class="g" d="M{left:g},{y:.1f} H{right}"/>{text(left - 4, y + 4, written, "end")}')
    for tick in round_values(0, 1):
        x = float(across(tick))
        parts.append(f'<path class="g" d="M{x:.1f},{ceiling} V{floor}"/>{text(x, floor + 14, f"{tick:g}")}')
    parts += [text(2, 11, axes[1], "start"), text((left + right) / 2, height - 5, axes[0])]
    for of_x, of_y in beneath:
        parts.append(f'<path class="guess" d="M{path_points(across(of_x), up(of_y))}"/>')
    for line in lines:
        low, high = up(line.band.T)
        at = across(line.along)
        outline = path_points(np.concatenate([at, at[::-1]]), np.concatenate([high, low[::-1]]))
        parts.append(f'<path class="b {line.colour}" d="M{outline} Z"/>')
    for line in lines:
        points = path_points(*_thinned(across(line.x), up(line.y)))
        parts.append(f'<path class="l {line.colour}" d="M{points}"/>')
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
