"""What is drawn beside the rows of a table, on one scale, and the places that rows are of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import batched
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from bayesperf.core.arrays import Array
from bayesperf.core.words import place_names
from bayesperf.metrics.metric import Metric
from bayesperf.plots.style import SERIES
from bayesperf.posteriors.densities import curves, intervals, reach, without_density
from bayesperf.posteriors.marginal import Marginal
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Column, Figure, Record
from bayesperf.reports.scores import ScoredSystem

type Drawn = tuple[Sequence[Markup], Markup]
# Of more rows than these intervals are drawn, without densities.
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


def records_of(marginal: Marginal, ci_prob: float) -> list[Record]:
    """Return a record for each place of a marginal: its coordinates, what was observed, the mean and the interval."""
    leading = marginal.leading
    drawn = intervals(marginal, ci_prob, "hdi")
    return [
        {
            **{str(dim): leading[dim].values[k] for dim, k in zip(leading.dims, at, strict=True)},
            "observed": float(drawn.observed[i]),
            "mean": float(drawn.mean[i]),
            "ci_lower": float(drawn.interval[i, 0]),
            "ci_upper": float(drawn.interval[i, 1]),
        }
        for i, at in enumerate(np.ndindex(leading.shape))
    ]


def densities(analysis: Analysis, marginal: Marginal, title: str) -> Callable[[], Drawn]:
    """Return a function that draws the density of each place, over the bounds that it is to meet."""
    return partial(_densities, analysis, marginal, title)


def _densities(analysis: Analysis, marginal: Marginal, title: str) -> Drawn:
    many, ci_prob = marginal.leading.size > _MOST_DENSITIES, analysis.settings.ci_prob
    drawn = (intervals if many else curves)(marginal, ci_prob, "hdi")
    bounds = [each for each in analysis.requirements if each.metric == marginal.name]
    scale, height = svg.Scale(drawn, [each.bound for each in bounds]), svg.FLAT if many else svg.HEIGHT
    beneath = [svg.bound(each.bound, each.at_least, scale, height) for each in bounds]
    picture = svg.strip if many else svg.density
    colours = analysis.colours(marginal.leading)
    return [picture(drawn, i, scale, title, colours[i], *beneath) for i in range(len(drawn.names))], svg.axis(scale)


def strips(
    records: Sequence[Record],
    names: Sequence[str],
    title: str,
    *,
    keys: tuple[str, str, str] = ("mean", "ci_lower", "ci_upper"),
    colours: Sequence[str] | None = None,
    rope: float | None = None,
    marked: str = "",
) -> Callable[[], Drawn]:
    """Return a function that draws an interval and its centre for each record; what `marked` names as a ring.

    Differences, which have a region of practical equivalence, belong to no system and have a colour of their own.
    """
    return partial(_strips, records, names, title, keys, colours, rope, marked)


def _strips(
    records: Sequence[Record],
    names: Sequence[str],
    title: str,
    keys: tuple[str, str, str],
    colours: Sequence[str] | None,
    rope: float | None,
    marked: str,
) -> Drawn:
    means, *ends = (np.array([record[key] for record in records], float) for key in keys)
    drawn = without_density(means, np.stack(ends, -1), list(names))
    rings: Array = np.array([record[marked] for record in records] if marked else [], float)
    if rope is None:
        scale = svg.Scale(drawn, [*means[np.isfinite(means)], *rings[np.isfinite(rings)]])
    else:
        scale = svg.Scale(drawn._replace(x=np.array([reach(drawn, rope)])))
    beneath = [] if rope is None else [svg.equivalence(rope, scale)]
    colours = colours or [svg.NEUTRAL if rope is not None else svg.colour(0)] * len(records)
    over = [svg.ring(value, scale) for value in rings] or [""] * len(records)
    return [svg.strip(drawn, i, scale, title, colours[i], *beneath, over[i]) for i in range(len(records))], svg.axis(
        scale
    )


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
        for some in batched(systems, len(SERIES), strict=False)
    ]
    return [
        Figure(
            partial(draw, analysis, some),
            place,
            legend=[(each.names[0], analysis.colour_of(each.names)) for each in some if each.names],
            reading=reading if i == 0 else "",
        )
        for i, (place, some) in enumerate(shared)
    ]
