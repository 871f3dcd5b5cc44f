"""Comparisons of systems with each other and with trivial classifiers, as the tables of a report show them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import metrics
from bayesperf.comparison.comparing import compare
from bayesperf.comparison.contrasts_in_words import comparison_in_words, luck_in_words
from bayesperf.comparison.result import Comparison
from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, listed, plural, printable
from bayesperf.data.counted import Counted
from bayesperf.files.option_table import ROW, Settings
from bayesperf.metrics.metric import Metric
from bayesperf.plan.settling import questions_to_settle
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.sources.stored_draws import StoredDraws
from bayesperf.reports.blocks import Note
from bayesperf.reports.verdicts import ASSURANCE, CONFIDENCE, about_so_many

if TYPE_CHECKING:
    from bayesperf.reports.analysis import Analysis

# Trivial classifiers, which any system should beat.
RULES = ("chance", "majority")
# Columns of the table of each system's standing, and their headings.
STANDING = {
    "prob_best": "P(best)",
    "expected_rank": "expected rank",
    "beats_chance": "P(beats chance)",
    "beats_majority": "P(beats majority)",
}
# Up to this many systems are compared pair by pair; of more, those are shown that are not worse than the best with this
# probability.
MOST_IN_PAIRS = 8
CLEARLY = 0.95
# Of more systems not every pair has a row, not even in the data of a report.
_MOST_IN_TABLE = 50
ABOUT_STANDING = (
    "Chance predicts classes at random, each as often as it occurs. Majority always predicts the most frequent class, "
    "so its specificity or recall may be 1, which no system beats, or 0, which nearly every system beats. A dash (—) "
    "means that the metric is undefined (0/0). The Monte Carlo standard error of a probability is at most "
    f"{0.5 / DRAWS**0.5:.1g}."
)


@dataclass(frozen=True)
class MetricComparison:
    """The comparison of several systems by one metric."""

    # The comparison of all pairs of systems.
    comparison: Comparison
    # The probability that each system is better than each trivial rule, by rule; those for which the metric is
    # undefined are left out.
    beaten: Mapping[str, xr.DataArray]

    @property
    def metric(self) -> Metric:
        """The metric."""
        return metrics.get(self.comparison.metric)

    @property
    def luck(self) -> str:
        """How much luck the best of several systems owes, in words."""
        return luck_in_words(self.comparison)

    def in_words(self, ci_prob: float) -> str:
        """Return which system is better, and by how much."""
        return comparison_in_words(self.comparison, ci_prob, "hdi", of_luck=False)

    @cached_property
    def contenders(self) -> list[Any]:
        """Of many systems the best and those not clearly worse, by expected rank; empty if all are to be shown.

        All are shown of few systems, of systems in several places, and where neither direction of the metric is better.
        """
        comparison = self.comparison
        if len(comparison.names) <= MOST_IN_PAIRS or comparison.quantity.greater_is_better is None:
            return []
        order = comparison.rank_order
        if order.ndim > 1:
            return []
        best, *others = order.values.tolist()
        beaten = comparison.prob_better_of(best)
        return [comparison.names[i] for i in (best, *(other for other in others if beaten[other] < CLEARLY))]

    def differences(self, settings: Settings) -> pd.DataFrame:
        """Return the summary of all pairs of systems; of very many systems only of the pairs that are shown."""
        comparison, best = self.comparison, self.contenders
        if settings.all or len(comparison.names) <= _MOST_IN_TABLE or not best:
            return comparison.summary(settings.ci_prob)
        pairs = combinations(comparison.names, 2)
        if comparison.baseline is not None:
            shown = [b == comparison.baseline for _, b in pairs]
        else:
            shown = [best[0] in pair and all(name in best for name in pair) for pair in pairs]
        return comparison.summary_of_pairs(np.flatnonzero(shown), settings.ci_prob)

    @cached_property
    def standing(self) -> list[dict[Any, Any]]:
        """A row for each system: its dims, and the columns of `STANDING`; no rows if neither direction is better."""
        if self.comparison.quantity.greater_is_better is None:
            return []
        system = self.comparison.dim
        columns = {"prob_best": self.comparison.prob_best, "expected_rank": self.comparison.expected_rank}
        columns |= {
            f"beats_{rule}": self.beaten.get(rule, xr.full_like(columns["prob_best"], np.nan)) for rule in RULES
        }
        order = [*(dim for dim in columns["prob_best"].dims if dim != system), system]
        table = xr.Dataset(columns).to_dataframe(dim_order=order).reset_index()
        return [{"metric": self.comparison.metric, **row} for row in table.to_dict("records")]


def named_baseline(wanted: str | None, names: Sequence[Any]) -> Any:
    """Return the system of a name, as its dim holds it; None if none is wanted.

    Raises
    ------
    ValueError
        If there is no such system, or there is one at most.
    """
    if wanted is None:
        return None
    if len(names) < 2:
        raise InputError(
            "baseline",
            "it is one of several systems.",
            "Name the column that tells them apart, as --system model, or a column of each, as --predicted new "
            "--predicted old.",
        )
    found = [name for name in names if str(name) == wanted]
    if not found:
        raise InputError("baseline", f"no system is called {wanted!r}; they are {listed(names, 12)}.")
    return found[0]


def compare_systems(
    pooled: Posterior, paired: Counted | Posterior | None, names: Sequence[str], **options: Any
) -> list[MetricComparison]:
    """Compare systems by each metric, with options of `bayesperf.compare`.

    `paired` are counts of the same systems matched example by example, if they are, or their joint posterior.
    """
    of_rules = draw_cells_once(pooled)
    return [_compare_by(name, pooled, paired, of_rules, options) for name in _shown(names)]


def draw_cells_once(pooled: Posterior) -> Posterior | None:
    """Return a posterior of draws of the cells, made once for all metrics and rules; None if it refuses draws."""
    if not pooled.source.by_matrix:
        return pooled
    try:
        return replace(pooled, source=StoredDraws(pooled.cells_by_chain(DRAWS, 1), independent_draws=True))
    except ValueError:
        return None


def _shown(names: Sequence[str]) -> Iterable[str]:
    """Return metrics, with a bar on a terminal of how many are done."""
    if not sys.stderr.isatty():
        return names
    from rich.console import Console
    from rich.progress import track

    return track(names, "Comparing", console=Console(stderr=True), transient=True)


def compare_areas(marginals: Sequence[Marginal], **options: Any) -> dict[str, MetricComparison]:
    """Compare systems by each metric of scores; which rule would be trivial depends on the metric, and none is."""
    # One caption is for all of them, areas and others.
    of_all = [replace(each, quantity=replace(each.quantity, words="metric")) for each in marginals]
    return {each.name: MetricComparison(compare(each, **options), {}) for each in of_all}


def _compare_by(
    name: str,
    pooled: Posterior,
    paired: Counted | Posterior | None,
    of_rules: Posterior | None,
    options: dict[str, Any],
) -> MetricComparison:
    # The text beside the table says whether systems are treated as independent.
    whole = {"a": pooled, "independent": True} if paired is None else {"a": paired}
    comparison = compare(**whole, metric=name, **options)
    beaten = {}
    for rule in RULES if of_rules is not None and comparison.quantity.greater_is_better is not None else ():
        try:
            beaten[rule] = compare(of_rules, rule, name).prob_better
        except ValueError:
            # The systems' own comparison succeeded, so it is the rule's metric that is undefined (0/0).
            continue
    return MetricComparison(comparison, beaten)


# ── In words ──


def about_contenders(contenders: Sequence[Any], systems: int) -> str:
    """Return which of many systems are shown."""
    others, rest = len(contenders) - 1, systems - len(contenders)
    not_worse = {0: "all others are", 1: "1 other is not"}.get(others, f"{others:,} others are not")
    return (
        f"{contenders[0]} has the best expected rank of {systems:,} systems; {not_worse} clearly worse (probability "
        f"{'of at least' if not others else 'below'} {CLEARLY}); {rest:,} {'are' if rest != 1 else 'is'} not shown."
    )


def monte_carlo(analysis: Analysis, summary: pd.DataFrame) -> str:
    """Return a sentence on the Monte Carlo errors of a summary; empty if nothing was drawn."""
    drawn = summary[summary["method"] == "draws"]
    if drawn.empty:
        return ""
    names = ", ".join(analysis.metric(name).title for name in drawn["metric"].unique())
    return f" The Monte Carlo standard error of the mean is at most {drawn['mcse'].max():.1g} ({names})."


INDEPENDENT = (
    "Independent: systems are assumed to be tested on different examples. If they were tested on the same examples, "
    "the true uncertainty is smaller."
)
PAIRING_ADVICE = "To compare them example by example, name the column that identifies the examples, as --id example."


def about_pairing(analysis: Analysis) -> str:
    """Return whether systems are compared example by example, or else how they could be."""
    example, cluster = analysis.settings.id, None if analysis.settings.judge else analysis.settings.cluster
    if analysis.is_paired and example == ROW:
        return "Paired: every row is an example, and the systems are compared on each."
    if analysis.is_paired and example is not None:
        return f"Paired: rows with the same value of {example!r} are one example, and the systems are compared on each."
    if analysis.is_paired:
        return "Paired: the systems are compared on the same examples."
    if analysis.attempts is not None:
        shared = plural(str(cluster))
        return f"By {cluster}: the systems are compared on the {shared} that they share, not attempt by attempt."
    if cluster is not None:
        return f"By cluster: the systems are compared on the clusters by {cluster!r} that they share, not row by row."
    return INDEPENDENT


def pairing_advice(analysis: Analysis) -> list[Note]:
    """Return how systems are compared example by example, if they are not."""
    if analysis.is_paired or analysis.settings.cluster is not None or analysis.settings.id is not None:
        return []
    return [Note(PAIRING_ADVICE, "advice")]


def open_comparison(analysis: Analysis) -> list[str]:
    """Return how many more examples would show which of the best two systems is better, if these do not show it.

    The posterior of the difference is taken for normal. Nothing is said of examples that belong together.
    """
    found = [each.comparison for each in analysis.headline_comparison]
    if not found or found[0].quantity.greater_is_better is None or found[0].difference.dims != ("pair",):
        return []
    if analysis.alike_in or analysis.settings.judge is not None or len(found[0].names) > MOST_IN_PAIRS:
        return []
    comparison, systems = found[0], len(found[0].names)
    best = sorted(comparison.rank_order.values.tolist()[:2])
    difference = comparison.difference.isel(pair=list(combinations(range(systems), 2)).index(tuple(best)))
    greater = float(comparison.prob_greater.values[tuple(best)])
    examples = int(analysis.pooled_counts.counts.sum()) // systems
    mean, sd = difference.mean().item(), difference.sd().item()
    more = questions_to_settle(mean, sd, examples, CONFIDENCE, ASSURANCE)
    if more == 0 or max(greater, 1 - greater) >= CONFIDENCE:
        return []
    both = enumerated([printable(str(comparison.names[i])) for i in best])
    each = "" if analysis.is_paired else " for each system"
    return [
        f"On {comparison.title}, it is not settled which of {both} is better (P < {CONFIDENCE:g}). To settle it: "
        f"{about_so_many(more)} more examples{each} (enough with probability {ASSURANCE:g})."
    ]
