"""Can the figures be trusted? What is known of the data, the prior and the Monte Carlo error."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesperf import metrics
from bayesperf.core.words import LOOKS_BETTER, enumerated, format_value, percentage, printable, sentence
from bayesperf.files.settings import FOLD, ROW
from bayesperf.posteriors.sentences import caveats_of
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page.blocks import place_of
from bayesperf.reports.ways_in import SHELL

# Classes of fewer examples are remarked on, so many of them by name.
_FEW_EXAMPLES, _MOST_NAMED = 10, 5
# From this share of the interval's width on a figure is said to depend on the prior.
_SENSITIVE = 0.25


def facts(analysis: Analysis) -> dict[str, Any]:
    """Return remarks on the data, the table of other priors, and how figures were computed."""
    return {
        "cautions": cautions(analysis),
        "independence": _independence(analysis),
        "prior": sentence(analysis.pooled.prior_text),
        "sensitivity": _sensitivity(analysis),
        "computed": _computed(analysis),
        "seed": analysis.settings.seed,
    }


def cautions(analysis: Analysis) -> list[str]:
    """Return what there is to mind, the gravest first."""
    found = (
        *analysis.warnings,
        _tiny_classes(analysis),
        *_few_trials(analysis),
        _prior_decides(analysis),
        _chosen(analysis),
    )
    return [text for text in found if text]


def _few_trials(analysis: Analysis) -> list[str]:
    """Return sentences on the first metric and those required, where the prior or the draws count for much."""
    asked = dict.fromkeys([analysis.metric_names[0], *(requirement.metric for requirement in analysis.requirements)])
    return [
        f"{sentence(metrics.get(name).title).removesuffix('.')}: {text[:1].lower()}{text[1:]}"
        for name in asked
        for text in caveats_of(analysis.marginals[name], analysis.settings.ci_prob, "hdi")
    ]


def _tiny_classes(analysis: Analysis) -> str:
    """Return a sentence on classes of which few examples are at hand, counted over all systems' shares."""
    counts = analysis.pooled_counts.counts
    smallest = counts.sum("predicted").min([dim for dim in counts.dims if dim not in ("actual", "predicted")])
    tiny = [
        f"{printable(str(label))} ({int(n)})"
        for label, n in zip(analysis.counts.labels, smallest.values, strict=True)
        if n < _FEW_EXAMPLES
    ]
    if not tiny:
        return ""
    rest = len(tiny) - _MOST_NAMED
    named = enumerated(tiny if rest <= 0 else [*tiny[:_MOST_NAMED], f"{rest} more"])
    return (
        f"Few examples of {named}: what is said of {'this class' if len(tiny) == 1 else 'these classes'} is uncertain."
    )


def _chosen(analysis: Analysis) -> str:
    return LOOKS_BETTER if len(analysis.systems) > 2 and analysis.comparisons else ""


def _independence(analysis: Analysis) -> list[str]:
    """Return what is supposed of the rows, and what of the systems and the folds."""
    complete = analysis.way_in is SHELL and not analysis.settings.drop_missing
    said = [
        *analysis.notes,
        *(["No value is missing in the columns that are used."] if complete else []),
        "Rows are taken to be independent draws of one population. Those that come in groups (patients, documents, "
        "neighbouring pixels, frames of a video) say less than their number; nothing in these columns tells whether "
        "they do.",
    ]
    if FOLD in analysis.counts.dims:
        said.append(
            "Folds are pooled: each model was trained on nearly the same data, so that their differences are not how "
            "much the figure would vary with another training set."
        )
    if not analysis.repeats and analysis.settings.id not in (None, ROW):
        said.append(f"No row repeats an example of the same system, by {printable(analysis.settings.id)}.")
    return said


# ── The prior ──


def about_priors(analysis: Analysis) -> str:
    """Return a sentence on what the first metric would be under other priors; empty if that was not computed."""
    table = _sensitivity(analysis)
    return f"{table['said']}." if table else ""


def _prior_decides(analysis: Analysis) -> str:
    """Return a sentence if the first metric depends on the prior."""
    table = _sensitivity(analysis)
    if not table or table["moves"] < _SENSITIVE:
        return ""
    return f"{table['said']}: these figures depend on it."


def _sensitivity(analysis: Analysis) -> dict[str, Any]:
    """Return means and intervals of the first metric under other priors; nothing where they would take too long."""
    under = analysis.under_other_priors
    if not under:
        return {}
    name, prob = analysis.metric_names[0], analysis.settings.ci_prob
    title, own = metrics.get(name).title, analysis.first_of_foremost
    intervals = own.hdi(prob).values
    width = float((intervals[..., 1] - intervals[..., 0]).max())
    means = [marginal.mean().values for marginal in (own, *under.values())]
    if not np.isfinite(means).all():
        return {}
    moved = float(np.abs(np.stack(means) - means[0]).max())
    share = moved / width if width else 0.0
    places = place_of(own.leading)
    rows = [
        (prior, [_figure(marginal.mean().values[at], *marginal.hdi(prob).values[at]) for at, _ in places])
        for prior, marginal in under.items()
    ]
    said = (
        f"Under other priors the mean of {title} moves by at most {moved:.2g}, "
        f"{percentage(round(share, 2))} of the interval's width"
    )
    return {"columns": [name for _, name in places], "rows": rows, "said": said, "moves": share}


def _figure(mean: float, lower: float, upper: float) -> str:
    width = upper - lower
    return f"{format_value(mean, width)} ({format_value(lower, width)}–{format_value(upper, width)})"


# ── Computation ──


def _computed(analysis: Analysis) -> list[str]:
    """Return how each figure was computed, and the greatest Monte Carlo error."""
    ways: dict[str, list[str]] = {}
    for name in analysis.metric_names:
        marginal = analysis.marginals[name]
        error = float(np.nanmax(marginal.mcse().values))
        how = {
            "draws": f"by Monte Carlo, standard error of the mean at most {error:.1g}",
            "quadrature": "by numerical integration",
        }.get(marginal.method, "in closed form")
        ways.setdefault(how, []).append(metrics.get(name).title)
    compared = [
        f"{metrics.get(each.comparison.metric).title} {error:.1g}"
        for each in analysis.comparisons
        if (error := float(np.nanmax(each.comparison.difference.mcse().values)))
    ]
    said = [sentence(f"{how}: {enumerated(names)}") for how, names in ways.items()]
    if compared:
        said.append(
            sentence(f"of differences, by Monte Carlo, standard error of the mean at most: {enumerated(compared)}")
        )
    return said
