"""What is drawn beside the rows of a table, on one scale, and the places that rows are of."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from itertools import batched
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from markupsafe import Markup, escape

from bayesperf.core.arrays import Array
from bayesperf.core.words import place_names
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.densities import curves, intervals, reach, without_density
from bayesperf.posteriors.marginal import Marginal
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Column, Figure, Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from bayesperf.reports.scores import ScoredSystem

type Drawn = tuple[Sequence[Markup], Markup]
# With more rows than these, intervals are drawn without densities.
_MOST_DENSITIES = 20
_BETTER = {True: "more is better", False: "less is better", None: ""}


def about(metric: Metric) -> str:
    """Return what a metric is, and which direction is better."""
    better = _BETTER[metric.greater_is_better]
    return f"{metric.description} ({better})" if better else metric.description


def place_of(leading: xr.DataArray) -> list[tuple[tuple[int, ...], str]]:
    """Return the position and the name of every place along leading dims."""
    return list(zip(np.ndindex(leading.shape), place_names(leading), strict=True))


def names_of(dims: Sequence[Any]) -> list[Column]:
    """Return a column for each dim."""
    return [Column(str(dim), (str(dim),)) for dim in dims]


def colours_of(analysis: Analysis, leading: xr.DataArray) -> list[str]:
    """Return the colour of each place: the colour of its system, which is the same throughout a report."""
    system = analysis.settings.system
    if system not in leading.dims:
        return [svg.colour(i) for i in range(leading.size)]
    along = leading[system].broadcast_like(leading).transpose(*leading.dims)
    return [colour_of(analysis, [name]) for name in along.values.ravel().tolist()]


def colour_of(analysis: Analysis, names: Sequence[Any]) -> str:
    """Return the colour of a system, by its name and its places."""
    system = analysis.settings.system
    order = [] if system is None else list(map(str, analysis.pooled_counts.counts[system].values.tolist()))
    return svg.colour(order.index(str(names[0])) if names and str(names[0]) in order else 0)


def densities(analysis: Analysis, marginal: Marginal, title: str) -> Callable[[], Drawn]:
    """Return a function that draws the density of each place, over the bounds that it is to meet."""

    def draw() -> Drawn:
        many, ci_prob = marginal.leading.size > _MOST_DENSITIES, analysis.settings.ci_prob
        drawn = (intervals if many else curves)(marginal, ci_prob, "hdi")
        bounds = [each for each in analysis.requirements if each.metric == marginal.name]
        scale, height = svg.Scale(drawn, [each.bound for each in bounds]), svg.FLAT if many else svg.HEIGHT
        beneath = [svg.bound(each.bound, each.at_least, scale, height) for each in bounds]
        picture, colours = svg.strip if many else svg.density, colours_of(analysis, marginal.leading)
        return [picture(drawn, i, scale, title, colours[i], *beneath) for i in range(len(drawn.names))], svg.axis(scale)

    return draw


def strips(
    records: Sequence[Record],
    names: Sequence[str],
    title: str,
    *,
    keys: tuple[str, str, str] = ("mean", "ci_lower", "ci_upper"),
    colours: Sequence[str] = (),
    rope: float | None = None,
    marked: str = "",
) -> Callable[[], Drawn]:
    """Return a function that draws an interval and its centre for each record; what `marked` names as a ring.

    Differences, which have a region of practical equivalence, belong to no system and have a colour of their own.
    """

    def draw() -> Drawn:
        means, *ends = (np.array([record[key] for record in records], float) for key in keys)
        drawn = without_density(means, np.stack(ends, -1), list(names))
        rings: Array = np.array([record[marked] for record in records] if marked else [], float)
        within = drawn if rope is None else drawn._replace(x=np.array([reach(drawn, rope)]))
        seen = np.concatenate([means, rings]) if rope is None else np.array([])
        scale = svg.Scale(within, seen[np.isfinite(seen)].tolist())
        beneath = "" if rope is None else svg.equivalence(rope, scale)
        tints = colours or [svg.colour(0) if rope is None else svg.NEUTRAL] * len(records)
        over = [svg.ring(value, scale) for value in rings] or [""] * len(records)
        pictures = [svg.strip(drawn, i, scale, title, tints[i], beneath, over[i]) for i in range(len(records))]
        return pictures, svg.axis(scale)

    return draw


def shared_figures(
    analysis: Analysis,
    draw: Callable[[Analysis, Sequence[ScoredSystem]], list[tuple[str, Markup]]],
    reading: str,
) -> list[Figure]:
    """Return a figure for each place, of the systems there; of no more systems than there are colours."""
    assert analysis.scores is not None
    shared = [
        (place, some)
        for place, systems in analysis.scores.places.items()
        for some in batched(systems, svg.COLOURS, strict=False)
    ]
    return [
        Figure(
            partial(draw, analysis, some),
            place,
            legend=[(each.names[0], colour_of(analysis, each.names)) for each in some if each.names],
            reading=reading if i == 0 else "",
        )
        for i, (place, some) in enumerate(shared)
    ]


def picture(drawing: Drawing, label: str) -> Markup:
    """Return a figure of Matplotlib as an image that is part of the page."""
    from matplotlib import rc_context

    file = BytesIO()
    # The same figure is the same text on every day.
    with rc_context({"svg.hashsalt": "bayesperf"}):
        drawing.savefig(file, format="svg", metadata={"Date": None})
    width, height = (round(96 * inches) for inches in drawing.get_size_inches())
    source = f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
    return Markup(f'<img src="{source}" width="{width}" height="{height}" alt="{escape(label)}">')
