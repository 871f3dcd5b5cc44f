"""Do we have enough data? How many more examples would settle each open requirement."""

from __future__ import annotations

from bayesperf import metrics
from bayesperf.core.words import plural
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Note, Sentence
from bayesperf.reports.comparison_tables import open_comparison
from bayesperf.reports.sections import REPORT, Section
from bayesperf.reports.verdicts import ASSURANCE, CONFIDENCE, OPEN

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
            f"{ASSURANCE:g}. For a metric that is no proportion, such as F1, the number is a rough estimate. No number "
            f"of examples is enough if the metric equals the required value exactly.{_in_new_groups(analysis)}"
        ),
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
    from bayesperf.plan.anytime import anytime_in_words
    from bayesperf.plan.monitoring import monitor

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
