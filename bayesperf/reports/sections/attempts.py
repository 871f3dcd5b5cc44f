"""Would it hold up in reruns? Of questions that were asked several times: pass@k, pass^k, and what is worth more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bayesperf.comparison.comparing import compare
from bayesperf.core.words import printable, sentence
from bayesperf.groups.cluster_weights import ClusterWeights
from bayesperf.plan.reruns import attempts, questions_to_settle
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Sentence
from bayesperf.reports.comparison_tables import MOST_IN_PAIRS
from bayesperf.reports.sections import COMPARISON, REPORT, SUMMARY, Section
from bayesperf.reports.verdicts import ASSURANCE, CONFIDENCE, about_so_many

NAME = ("attempts_in_words",)


def blocks(analysis: Analysis) -> list[Block]:
    """Return sentences on attempts at the same questions; none if there are no questions, or one was asked once."""
    source = analysis.pooled.source
    if not isinstance(source, ClusterWeights) or not source.cm.graded or len(source.cm.labels) > 2:
        return []
    counts = source.clusters.table.toarray().reshape(source.clusters.size, -1, 2).sum(-1)
    fewest = int(counts[counts > 0].min())
    if fewest < 2 or not (counts > 0).any(0).all():
        return []
    said = [*_of_k(analysis, source, fewest), *_differences(analysis, source)]
    plan = attempts(source.cm, random_seed=analysis.settings.seed)  # type: ignore[arg-type]
    return [Sentence(text, name=NAME) for text in (*said, plan.in_words())]


def _of_k(analysis: Analysis, source: ClusterWeights, k: int) -> Iterator[str]:
    """Yield how probably one of k attempts passes, and all of them; and which system is better in that."""
    prob = analysis.settings.ci_prob
    for every in (False, True):
        found = source.probability_of_k(k, every)
        yield found.in_words(ci_prob=prob)
    if analysis.comparisons:
        yield compare(found, dim=str(analysis.settings.system), rope=analysis.settings.rope).in_words(ci_prob=prob)


def _differences(analysis: Analysis, source: ClusterWeights) -> Iterator[str]:
    """Yield how many more questions would say which of two systems has the higher pass rate."""
    compared = [each.comparison for each in analysis.comparisons if each.comparison.metric == "accuracy"]
    if not compared or len(compared[0].names) > MOST_IN_PAIRS or compared[0].difference.dims != ("pair",):
        return
    difference = compared[0].difference
    for place, pair in enumerate(combinations(compared[0].names, 2)):
        of_pair = difference.isel(pair=place)
        more = questions_to_settle(of_pair.mean().item(), of_pair.sd().item(), source.units, CONFIDENCE, ASSURANCE)
        a, b = (printable(str(name)) for name in pair)
        better = f"which of {a} and {b} has the higher pass rate"
        yield sentence(
            f"these {source.dim}s show {better}, with probability {CONFIDENCE:g}"
            if more == 0
            else f"to show {better}, with probability {CONFIDENCE:g}, takes {about_so_many(more)} more {source.dim}s, "
            f"with probability {ASSURANCE:g}"
        )


SECTION = Section(35, "attempts", "Would it hold up in reruns?", blocks, (REPORT, SUMMARY, COMPARISON))
