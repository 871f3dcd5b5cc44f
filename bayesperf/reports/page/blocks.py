"""Blocks: tables of one quantity, a row for each system, all drawn on one scale; and the places along leading dims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from bayesperf import metrics
from bayesperf.core.arrays import Array
from bayesperf.core.words import place_names
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.densities import Curves, curves, intervals
from bayesperf.posteriors.marginal import Marginal
from bayesperf.reports import svg
from bayesperf.reports.comparison_tables import better_direction

# Of more quantities than these intervals are drawn, without densities.
MOST_DENSITIES = 20
# What draws a row: the curves, its position, the scale, what the quantity is called, and what lies beneath.
type Picture = Callable[..., Markup]


def about(metric: Metric) -> dict[str, str]:
    """Return a metric's title, what it is, and which direction is better."""
    return {"title": metric.title, "about": metric.description, "better": better_direction(metric)}


def metric_block(name: str, marginal: Marginal, ci_prob: float) -> dict[str, Any]:
    """Return a metric's rows, one for each system."""
    many = marginal.leading.size > MOST_DENSITIES
    drawn = (intervals if many else curves)(marginal, ci_prob, "hdi")
    metric = metrics.get(name)
    picture: Picture = svg.strip if many else svg.density
    return {**about(metric), **block_rows(drawn, drawn.observed, metric.title, picture)}


def block_rows(
    drawn: Curves, observed: Array, title: str, picture: Picture, beneath: Iterable[str] = (), scale: Any = None
) -> dict[str, Any]:
    """Return rows with their figures and pictures on one scale, and its axis."""
    scale = scale or svg.Scale(drawn)
    figures = zip(drawn.names, observed, drawn.mean, drawn.interval, strict=True)
    rows = [
        {
            "name": name,
            "observed": seen,
            "mean": mean,
            "interval": interval,
            "picture": picture(drawn, i, scale, title, *beneath),
        }
        for i, (name, seen, mean, interval) in enumerate(figures)
    ]
    return {"groups": [("", rows)], "counted": True, "axis": svg.axis(scale)}


def place_of(leading: xr.DataArray) -> list[tuple[tuple[int, ...], str]]:
    """Return the position and the name of every place along leading dims."""
    return list(zip(np.ndindex(leading.shape), place_names(leading), strict=True))
