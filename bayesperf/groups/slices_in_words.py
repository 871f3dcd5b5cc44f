"""Slices in sentences: the worst slice, the largest gap of each dim, and the dim whose levels differ most.

Each probability stands beside its value without the data, so that what only the prior says is not taken for a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.core.words import chance, estimate, place_names, sentence
from bayesperf.metrics.registry import get, in_field_words
from bayesperf.posteriors.sentences import estimate_in_words

if TYPE_CHECKING:
    from bayesperf.groups.sliced_metrics import Slices
    from bayesperf.metrics.metric import Metric
    from bayesperf.posteriors.marginal import Kind, Marginal

# The data show a gap if its odds are these many times those before the data, and speak against it if they are as much
# lower; they point to a worst slice if its odds are so many times those by chance: it is chosen among several.
SHOWN, POINTED = 3, 10
# The rate that a metric depends on, if it depends on one.
_RATES_OF = {"recall": ("recall",), "fnr": ("recall",), "specificity": ("specificity",), "fpr": ("specificity",)}


def slices_in_words(found: Slices, metric: str | Metric, above: float, ci_prob: float, ci_kind: Kind) -> list[str]:
    """Return the sentences of `Slices.sentences`."""
    parts = [_worst(found, metric, ci_prob, ci_kind)]
    parts += [_gap(found, dim, metric, above, ci_prob, ci_kind) for dim in found.dims]
    if found.spread.sizes["effect"] > 1:
        parts += _most(found, found[metric].name)
    return [*map(sentence, parts)]


def odds_ratio(probability: float, reference: float, draws: int) -> float:
    """Return the odds of an event over its odds in a reference; a probability of 1 is known to one draw only."""
    probability = min(probability, 1 - 1 / draws)
    against = (1 - probability) * reference
    return probability * (1 - reference) / against if against > 0 else 1.0


def _worst(found: Slices, metric: str | Metric, ci_prob: float, ci_kind: Kind) -> str:
    """Return which slice is the worst, if the data point to one."""
    marginal = found[metric]
    seen = int((~np.isnan(marginal.observed)).sum())
    if not seen:
        return f"{marginal.quantity.title} was observed in none of {marginal.observed.size} slices"
    worst = found.prob_worst(metric)
    at = np.unravel_index(int(worst.values.argmax()), worst.shape)
    place = {str(dim): int(position) for dim, position in zip(worst.dims, at, strict=True)}
    probability = worst.isel(place).item()
    beside = f"with probability {chance(probability)} ({chance(1 / seen)} by chance)"
    if seen > 1 and odds_ratio(probability, 1 / seen, _draws(found)) < POINTED:
        return f"of {seen} slices, the data do not point to a worst one: the most probable is so {beside}"
    where = ", ".join(f"{dim} {worst[dim].values[position]}" for dim, position in place.items())
    estimated = estimate_in_words(marginal.isel(**place), ci_prob, ci_kind)
    if seen == 1:
        return f"only {where} has examples for {marginal.quantity.title}, and its {estimated}"
    return f"of {seen} slices, the most probable to be the worst is {where}: it is so {beside}, and its {estimated}"


def _gap(found: Slices, dim: str, metric: str | Metric, above: float, ci_prob: float, ci_kind: Kind) -> str:
    """Return what the data say of the largest gap between the levels of a dim."""
    gap, before = (found.largest_gap(dim, metric, before_data=prior) for prior in (False, True))
    now, then = (each.prob_above(above).item() for each in (gap, before))
    name = gap.quantity.metric_title
    others = " at the same mix of the other dims" if len(found.dims) > 1 else ""
    ratio = odds_ratio(now, then, _draws(found))
    beside = f"is {chance(now)}, and was {chance(then)} before the data"
    if ratio >= SHOWN:
        low, high = gap.interval(ci_prob, ci_kind).values.tolist()
        largest = estimate(gap.mean().item(), low, high, ci_prob, ci_kind)
        return (
            f"{name} differs by up to {largest} between levels of {dim}{others}: the probability of more than "
            f"{above:g} {beside}"
        )
    if now < 0.5 and ratio <= 1 / SHOWN:
        return (
            f"{name} probably differs by no more than {above:g} between levels of {dim}{others}: the probability "
            f"of more {beside}"
        )
    return (
        f"the data do not show that {name} differs by more than {above:g} between levels of {dim}{others}: the "
        f"probability {beside}"
    )


def _most(found: Slices, metric: str) -> list[str]:
    """Return a sentence for each rate behind a metric, on the dim or interaction whose levels differ most."""
    table = found.which_dim()
    table = table[table["rate"].isin(_RATES_OF.get(metric, tuple(table["rate"])))]
    titles = {rate: in_field_words(get(rate), found.graded).title for rate in table["rate"]}
    most = table.loc[table.groupby("rate", sort=False)["prob_largest"].idxmax()]
    return [
        f"{titles[row['rate']]} varies most by {row['effect'].replace(':', ' × ')} with probability "
        f"{chance(row['prob_largest'])}, which was {chance(row['prior_largest'])} before the data"
        for row in most.to_dict("records")
    ]


def _draws(found: Slices) -> int:
    return int(found.rates.sizes["chain"] * found.rates.sizes["draw"])


# ── Rows to be drawn, by figures and by the report ──

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
