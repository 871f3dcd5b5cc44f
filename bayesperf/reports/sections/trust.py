"""Can the figures be trusted? What is known of the data, the prior and the Monte Carlo error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesperf.core.words import enumerated, percentage, plural, printable, sentence, short_interval_name
from bayesperf.data.axis_names import FOLD
from bayesperf.files.option_table import ROW
from bayesperf.posteriors.sentences import caveats_of
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Folded, Heading, Record, Sentence, rows_table
from bayesperf.reports.drawing import place_of
from bayesperf.reports.sections import REPORT, Section

# Classes with fewer examples get a remark, this many of them by name.
_FEW_EXAMPLES, _MOST_NAMED = 10, 5
# From this fraction of the interval's width on, the text says that a figure depends on the prior.
_SENSITIVE = 0.25


def blocks(analysis: Analysis) -> list[Block]:
    """Return remarks on the data, a table of other priors, how figures were computed, and what an interval means."""
    probability, found = percentage(analysis.settings.ci_prob), [*analysis.warnings, *cautions(analysis)]
    scope = analysis.pooled.scope
    about = "The interval is about the system; the" if scope.kind == "system" else "The"
    means = (
        f"With probability {probability}, given the prior and these examples, {scope.of()} lies in its "
        f"highest-density interval. {about} score on another test set varies more."
    )
    computed = [
        *map(Sentence, _computed(analysis)),
        Sentence(f"Seed of Monte Carlo figures: {analysis.settings.seed}."),
    ]
    return [
        *([Heading("To mind")] if found else []),
        *map(Sentence, found),
        *map(Sentence, _independence(analysis)),
        Folded("The prior", [Sentence(sentence(analysis.prior_text)), *_other_priors(analysis)]),
        Folded("The computation", computed),
        Folded("What an interval means", [Sentence(means)]),
    ]


def cautions(analysis: Analysis) -> list[str]:
    """Return what there is to mind beside the warnings, the gravest first."""
    return [text for text in (_tiny_classes(analysis), *_few_trials(analysis), _prior_decides(analysis)) if text]


def _few_trials(analysis: Analysis) -> list[str]:
    """Return sentences on the first metric and those required, where the prior or the draws count for much."""
    asked = dict.fromkeys([analysis.headline[0], *(requirement.metric for requirement in analysis.requirements)])
    return [
        f"{sentence(analysis.metric(name).title).removesuffix('.')}: {text[:1].lower()}{text[1:]}"
        for name in asked
        for text in caveats_of(analysis.marginals[name], analysis.settings.ci_prob, "hdi")
    ]


def _tiny_classes(analysis: Analysis) -> str:
    """Return a sentence on classes of which few examples are at hand, counted over all systems' shares."""
    if analysis.counts.graded:
        return ""
    counts = analysis.pooled_counts.counts
    smallest = counts.sum("predicted").min([dim for dim in counts.dims if dim not in ("actual", "predicted")])
    tiny = [
        f"{printable(str(label))} ({int(n)})"
        for label, n in zip(analysis.counts.labels, smallest.values, strict=True)
        if n < _FEW_EXAMPLES
    ]
    if not tiny:
        return ""
    these = "this class" if len(tiny) == 1 else "these classes"
    return f"Few examples of {enumerated(tiny, _MOST_NAMED)}: figures for {these} are uncertain."


def _independence(analysis: Analysis) -> list[str]:
    """Return what is supposed of the rows, and what of the systems and the folds."""
    settings = analysis.settings
    complete = analysis.of_file and not (settings.drop_missing or settings.verified_only or settings.judge)
    if settings.cluster:
        drawn = "Clusters are treated as independent draws from one population."
    elif analysis.alike_in:
        drawn = (
            f"{sentence(plural(analysis.alike_in))[:-1]} are treated as independent draws from one population. "
            f"Examples of one {analysis.alike_in} may be alike."
        )
    elif analysis.pooled.scope.kind == "long_run":
        drawn = "Neighbouring examples may be alike; each depends on the one before it and on no other."
    elif analysis.pooled.scope.kind == "own":
        drawn = "The model says how examples depend on each other."
    else:
        drawn = (
            "Examples are treated as independent draws from one population. Rows that come in groups (patients, "
            "documents, neighbouring pixels, frames of a video) carry less information than their number suggests; "
            "these columns do not show whether they come in groups."
        )
    said = [
        *analysis.notes,
        *(["No value is missing in the columns that are used."] if complete else []),
        drawn,
    ]
    if FOLD in analysis.counts.dims:
        said.append(
            "All folds are counted together. The figures are for models trained like these; they do not show how much "
            "the result would vary with another training set, because the folds' models were trained on nearly the "
            "same data."
        )
    if not analysis.repeats and settings.id not in (None, ROW):
        said.append(f"No system has two rows with the same {printable(settings.id)}.")
    return said


# ── The prior ──


@dataclass(frozen=True)
class OtherPriors:
    """The headline under other priors: records, in words, and by which share of its interval's width a mean moves."""

    records: list[Record]
    in_words: str
    moves: float


def _prior_decides(analysis: Analysis) -> str:
    """Return a sentence if the headline depends on the prior."""
    table = other_priors(analysis)
    return f"{table.in_words}: these figures depend on it." if table and table.moves >= _SENSITIVE else ""


def other_priors(analysis: Analysis) -> OtherPriors | None:
    """Return means and intervals of the headline under other priors; None where they would take too long."""
    under = analysis.under_other_priors
    if not under:
        return None
    prob, own = analysis.settings.ci_prob, analysis.first_of_foremost
    intervals = own.hdi(prob).values
    widths = intervals[..., 1] - intervals[..., 0]
    means = [marginal.mean().values for marginal in (own, *under.values())]
    if not np.isfinite(means).all():
        return None
    moved = np.abs(np.stack(means) - means[0]).max(axis=0)
    shares = np.divide(moved, widths, out=np.zeros(widths.shape), where=widths > 0)
    places = place_of(own.leading)
    most, name = places[int(shares.argmax())]
    share = float(shares[most])
    records: list[Record] = []
    for prior, marginal in under.items():
        ends = marginal.hdi(prob).values
        figures = ((f"{i}", marginal.mean().values[at], *ends[at]) for i, (at, _) in enumerate(places))
        row = {key + end: float(value) for key, *values in figures for end, value in zip(_ENDS, values, strict=True)}
        records.append({"prior": prior} | row)
    said = (
        f"Under the other priors tried, the mean of {analysis.metric(analysis.headline[0]).title} moves by at most "
        f"{percentage(round(share, 2))} of its interval's width (by {moved[most]:.2g}{f', for {name}' if name else ''})"
    )
    return OtherPriors(records, said, share)


_ENDS = ("", "_lower", "_upper")


def _other_priors(analysis: Analysis) -> list[Block]:
    table = other_priors(analysis)
    if table is None:
        return []
    interval = short_interval_name(analysis.settings.ci_prob, "hdi")
    names = [name or f"mean ({interval})" for _, name in place_of(analysis.first_of_foremost.leading)]
    columns = [Column("prior", ("prior",))]
    columns += [Column(name, tuple(f"{i}{end}" for end in _ENDS), "estimate") for i, name in enumerate(names)]
    return [Sentence(f"{table.in_words}."), rows_table("Other priors", columns, table.records)]


# ── Computation ──


def _computed(analysis: Analysis) -> list[str]:
    """Return how each figure was computed, and the greatest Monte Carlo error."""
    ways: dict[str, list[str]] = {}
    for name in analysis.metric_names:
        marginal = analysis.marginals[name]
        error = float(np.nanmax(marginal.mcse().values))
        how = {
            "draws": f"by Monte Carlo, with a Monte Carlo error of the mean of at most {error:.1g}",
            "quadrature": "by numerical integration",
        }.get(marginal.method, "in closed form")
        ways.setdefault(how, []).append(analysis.metric(name).title)
    compared = [
        f"{error:.1g} for {each.comparison.title}"
        for each in analysis.comparisons
        if (error := float(np.nanmax(each.comparison.difference.mcse().values)))
    ]
    said = [sentence(f"{how}: {enumerated(names)}") for how, names in ways.items()]
    if compared:
        said.append(f"The Monte Carlo standard error of a mean difference is at most {enumerated(compared)}.")
    return said


SECTION = Section(110, "trust", "Can the figures be trusted?", blocks, (REPORT,))
