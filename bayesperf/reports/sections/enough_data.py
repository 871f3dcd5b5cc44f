"""Do we have enough data? How many more examples would settle each open requirement."""

from __future__ import annotations

from itertools import combinations

from bayesperf import metrics
from bayesperf.core.words import enumerated, plural, printable
from bayesperf.plan.anytime import anytime_in_words
from bayesperf.plan.monitoring import monitor
from bayesperf.plan.reruns import questions_to_settle
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Note, Sentence
from bayesperf.reports.comparison_tables import MOST_IN_PAIRS
from bayesperf.reports.sections import REPORT, Section
from bayesperf.reports.verdicts import ASSURANCE, CONFIDENCE, OPEN, about_so_many

# The dim of batches that come one after another, after each of which somebody may look.
STEP = "step"
_BATCHES = (
    "The batches (step) come one after another. If you stop after the first batch with a clear answer, you err more "
    "often than the probability at one look says; a confidence sequence allows for that."
)


def blocks(analysis: Analysis) -> list[Block]:
    """Return how many requirements are open, and how wide the interval is."""
    examples, of = int(analysis.pooled_counts.counts.sum()) // max(len(analysis.systems), 1), "example"
    if analysis.attempts is not None:
        examples, of = analysis.attempts.units, analysis.attempts.dim
    what = f"{'verified ' if analysis.settings.judge else ''}{of}{'s' * (examples != 1)}"
    looks = looks_in_words(analysis)
    return [
        *_open_requirements(analysis),
        *map(Sentence, open_comparison(analysis)),
        Sentence(
            f"With {examples:,} {what}, {width_in_words(analysis)}. To halve it, about four times as many "
            f"{plural(analysis.alike_in or of)} are needed."
        ),
        *([Sentence(_BATCHES)] if looks else []),
        *map(Sentence, looks),
    ]


def _open_requirements(analysis: Analysis) -> list[Block]:
    """Return how many requirements are open, and what the numbers of examples beside them mean."""
    if not analysis.requirements:
        return []
    rows = sum(each.verdict == OPEN for each in analysis.verdicts)
    if not rows:
        return [Sentence(f"Every requirement is settled: shown met or shown missed, with probability {CONFIDENCE:g}.")]
    return [
        Sentence(f"{rows} of {len(analysis.verdicts)} verdicts {'is' if rows == 1 else 'are'} open."),
        Note(
            "With the further examples that a verdict names, the requirement is shown met or missed with probability "
            f"{ASSURANCE:g}. The number is a rough estimate if the metric is not a proportion, such as F1. No number "
            f"of examples is enough if the metric equals the required value exactly.{_in_new_groups(analysis)}"
        ),
    ]


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


def _in_new_groups(analysis: Analysis) -> str:
    """Return where further examples have to come from, if those of one group may be alike."""
    dim = analysis.alike_in
    return f" The further examples come from new {plural(dim)}, each as large as these on average." if dim else ""


def looks_in_words(analysis: Analysis) -> list[str]:
    """Return a sentence on each requirement that holds however often you look, of examples that come in batches."""
    settings = analysis.settings
    if STEP not in analysis.pooled_counts.dims or settings.cluster or settings.judge:
        return []
    found = [
        monitor(analysis.pooled_counts, each.bound, each.metric, prior=settings.prior, ci_prob=CONFIDENCE)
        for each in analysis.requirements
        if metrics.get(each.metric).needs != "scores"
    ]
    return [anytime_in_words(each.dataset) for each in found]


def width_in_words(analysis: Analysis) -> str:
    """Return a sentence on the width of the interval of the headline metric."""
    name, prob = analysis.headline[0], analysis.settings.ci_prob
    interval = analysis.marginals[name].hdi(prob).values.reshape(-1, 2)
    widest = float((interval[:, 1] - interval[:, 0]).max())
    which = "widest interval" if len(interval) > 1 else "interval"
    return f"the {which} of {analysis.metric(name).title} is {widest:.2g} wide"


SECTION = Section(100, "enough_data", "Do we have enough data?", blocks, (REPORT,))
