"""Rows of slices to be drawn, by Matplotlib figures and by the report: the levels of each dim, and the worst slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.core.words import place_names
from bayesperf.groups.sliced_metrics import Slices
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.marginal import Kind, Marginal

# If a dim has more levels, this many of the worst are drawn.
_MOST_LEVELS = 20


class Rows(NamedTuple):
    """Rows below a heading: names, numbers of examples (NaN if the metric is no share), and figures of each."""

    heading: str
    names: list[str]
    trials: Array
    observed: Array
    means: Array
    intervals: Array


def rows_of_slices(found: Slices, metric: str | Metric, worst: int, ci_prob: float, ci_kind: Kind) -> list[Rows]:
    """Return the rows of the levels of each dim and, of several dims, of the worst slices.

    Levels have their own observed mix of the other dims, so that observed and estimated figures describe the same mix.
    """
    interval = ci_prob, ci_kind
    rows = [_rows(f"each {dim}", found.levels(dim, metric, mix="own"), _MOST_LEVELS, *interval) for dim in found.dims]
    return rows if len(rows) == 1 else [*rows, _rows("slices", found[metric], worst, *interval)]


def _rows(what: str, marginal: Marginal, most: int, ci_prob: float, ci_kind: Kind) -> Rows:
    """Return the rows of all places, or of the worst few."""
    means, observed = marginal.mean().values.ravel(), marginal.observed
    chosen, heading = np.arange(len(means)), what
    if len(means) > most:
        order = np.argsort(marginal.quantity.better * means, kind="stable")
        chosen, heading = order[:most], f"{what}: the {most} worst of {len(means)}"
    places = place_names(marginal.leading)
    trials = observed["trials"].values.ravel() if "trials" in observed.coords else np.full(len(means), np.nan)
    return Rows(
        heading,
        [places[i] for i in chosen],
        trials[chosen],
        observed.values.ravel()[chosen],
        means[chosen],
        marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)[chosen],
    )
