"""Would it hold up in reruns? Of questions that were asked several times: pass@k, pass^k, and what is worth more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from bayesperf import plan
from bayesperf.comparison.comparing import compare
from bayesperf.core.words import enumerated, plural, printable
from bayesperf.plan.settling import questions_to_settle
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Sentence
from bayesperf.reports.comparison_tables import MOST_IN_PAIRS
from bayesperf.reports.sections import COMPARISON, REPORT, SUMMARY, Section
from bayesperf.reports.verdicts import ASSURANCE, CONFIDENCE, about_so_many

if TYPE_CHECKING:
    from bayesperf.groups.cluster_weights import ClusterWeights

NAME = ("attempts_in_words",)


def blocks(analysis: Analysis) -> list[Block]:
    """Return sentences on attempts at the same questions; none if there are no questions, or one was asked once."""
    if (source := analysis.attempts) is None:
        return []
    if (fewest := source.fewest_attempts) < 2 or not source.units:
        return []
    said = [*_of_k(analysis, source, fewest), *_differences(analysis, source)]
    planned = plan.attempts(source.cm, random_seed=analysis.settings.seed)  # type: ignore[arg-type]
    return [Sentence(text, name=NAME) for text in (*said, planned.in_words())]


def _of_k(analysis: Analysis, source: ClusterWeights, k: int) -> Iterator[str]:
    """Yield what is asked; how probably one of k attempts passes, all, or most; and which system is better in that."""
    from bayesperf.groups.attempts import Rule

    settings = analysis.settings
    yield (
        f"Pass@{k} says how often at least one of {k} attempts at a new {source.dim} passes, and pass^{k} how often "
        "all do."
    )
    one, every = (source.credit_of_k(Rule(k, enough)) for enough in (1, k))
    for found in (one, every, *([] if analysis.voted is None else [analysis.voted])):
        yield found.in_words(ci_prob=settings.ci_prob)
        if analysis.comparisons and found is not one:
            yield compare(found, dim=str(settings.system), rope=settings.rope).in_words(ci_prob=settings.ci_prob)


def _differences(analysis: Analysis, source: ClusterWeights) -> Iterator[str]:
    """Yield how many more questions would say which of two systems has the higher pass rate; last of which it is."""
    compared = [each.comparison for each in analysis.comparisons if each.comparison.metric == "accuracy"]
    if not compared or len(compared[0].names) > MOST_IN_PAIRS or compared[0].difference.dims != ("pair",):
        return
    difference, known = compared[0].difference, []
    for place, pair in enumerate(combinations(compared[0].names, 2)):
        of_pair = difference.isel(pair=place)
        more = questions_to_settle(of_pair.mean().item(), of_pair.sd().item(), source.units, CONFIDENCE, ASSURANCE)
        both = " and ".join(printable(str(name)) for name in pair)
        if more == 0:
            known.append(both)
            continue
        yield (
            f"It is not settled which of {both} has the higher pass rate (P < {CONFIDENCE:g}). To settle it: "
            f"{about_so_many(more)} more {plural(source.dim)} (enough with probability {ASSURANCE:g})."
        )
    if known:
        which = enumerated([f"of {both}" for both in known])
        which = f"which {which} has the higher pass rate"
        yield f"These {plural(source.dim)} show {which}, with probability {CONFIDENCE:g}."


SECTION = Section(35, "attempts", "Would it hold up in reruns?", blocks, (REPORT, SUMMARY, COMPARISON))
