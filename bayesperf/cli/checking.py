"""The command ``bayesperf check``: a gate that ends with 0 if requirements are shown met, 1 if missed, 3 if neither."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesperf.cli.options import existing, takes_files
from bayesperf.cli.planning import evidence_in_words, number_in_words
from bayesperf.cli.running_commands import analysed, print_blocks_as, say_warnings
from bayesperf.core.errors import InputError
from bayesperf.files.option_table import Settings

if TYPE_CHECKING:
    import xarray as xr

    from bayesperf.posteriors.marginal import Marginal
    from bayesperf.posteriors.requirement import Requirement
    from bayesperf.reports.analysis import Analysis
    from bayesperf.reports.verdicts import Verdict

_CODES = {"met": 0, "missed": 1, "open": 3}
# The column that tells the files apart from those that they are held against.
_VERSION, _NEW, _OLD = "version", "new", "old"


@takes_files(required=True)
def check(files: list[Path], settings: Settings) -> int:
    """Say whether requirements are shown met (exit code 0), shown missed (1) or neither (3): a gate for a release.

    Several files are parts of one data set.
    """
    _refuse_what_is_not_there(settings)
    from bayesperf.posteriors.requirement import Requirement, with_direction
    from bayesperf.reports.verdicts import by_probability, overall

    compared = [with_direction(name, "--metric").name for name in settings.metrics or ("accuracy",)]
    required = tuple(Requirement.parse(text).metric for text in settings.require)
    parts, in_file = replace(settings, parts=True), settings.baseline is not None
    asked = tuple(dict.fromkeys([*required, *compared])) if in_file else required or tuple(compared)
    analysis = analysed(files, replace(parts, id=settings.id if in_file else None, metrics=asked), in_file)
    say_warnings(analysis.warnings)
    versions = None
    if settings.against is not None:
        versions = _versions(
            files, settings.against, replace(parts, metrics=tuple(compared)), analysis.settings.scores_alone
        )
        say_warnings([text for text in versions.warnings if text not in analysis.warnings])
    pairs = _pairs(analysis if in_file else versions)
    if settings.state is None:
        rule, verdicts = by_probability(settings.confidence), _requirement_verdicts(analysis)
        verdicts += [_no_worse(of_pair, name, *pair) for name in compared for of_pair, *pair in pairs]
    else:
        rule, verdicts = _in_repeated_runs(analysis, settings.confidence, files, settings.state, pairs, compared)
    _print(verdicts, rule, analysis, settings.format)
    return _CODES[overall(verdicts)]


# ── What is asked ──


def _refuse_what_is_not_there(settings: Settings) -> None:
    if not settings.require and settings.against is None and settings.baseline is None:
        raise InputError("--require", "say what must be met, as --require 'recall>=0.8'.")
    several = len(settings.systems) > 1 or settings.system_column is not None or settings.by
    for option, path in {"--against": settings.against, "--state": settings.state}.items():
        if path is not None and several and settings.baseline is None:
            advice = " Or name the one that the others are held against, by --baseline." * (option == "--state")
            raise InputError(option, "it checks one system.", f"Check each by a command of its own.{advice}")


# ── What is shown ──


def _requirement_verdicts(analysis: Analysis) -> list[Verdict]:
    """Return the verdict on each requirement and system from its posterior probability, with the observed score."""
    from bayesperf.reports.verdicts import verdicts_of

    settings, examples = analysis.settings, " examples" if analysis.attempts is None else ""
    examples = examples if settings.judge is None else " verified examples"
    return [
        each._replace(
            observed=_observed_in_words(analysis, place, requirement),
            more=f"{each.more} more{examples}" if each.more else "",
        )
        for each, (requirement, (place, _)) in zip(
            verdicts_of(analysis, settings.confidence), product(analysis.requirements, analysis.systems), strict=True
        )
    ]


def _observed_in_words(analysis: Analysis, place: tuple[int, ...], requirement: Requirement) -> str:
    """Return the observed score of a system, in words."""
    from bayesperf import metrics

    if metrics.get(requirement.metric).needs != "scores":
        return evidence_in_words(analysis.counts_at(place), requirement)
    observed = analysis.marginals[requirement.metric].observed.values[place]
    return f"{observed:.3f} in {int(analysis.counts_at(place).total):,} rows"


def _in_repeated_runs(
    analysis: Analysis,
    confidence: float,
    files: Sequence[Path],
    state: Path,
    pairs: Sequence[tuple[Analysis, Any, Any]],
    compared: Sequence[str],
) -> tuple[str, list[Verdict]]:
    """Add a run to a state, and return the verdict of all runs on each requirement, by a confidence sequence.

    With pairs of systems, also on the difference of each in each of the compared metrics.
    """
    from bayesperf.files.run_state import counts_of_runs, with_run, write
    from bayesperf.reports.verdicts import by_sequence

    # Files may name their systems in other orders from run to run.
    order = {str(dim): sorted(analysis.counts.counts[dim].values.tolist()) for dim in analysis.counts.dims}
    counts = analysis.counts.sel(**order) if order else analysis.counts
    held = with_run(state, counts, files)
    runs, found = counts_of_runs(held, counts), []
    for requirement in analysis.requirements:
        for place in [{dim: name} for dim, names in order.items() for name in names] or [{}]:
            of_one = runs.sel(**place) if place else runs
            found.append(_met_in_runs(analysis, requirement, of_one, ", ".join(map(str, place.values())), confidence))
    found += [_no_worse_in_runs(*pair, name, held, state, confidence) for name in compared for pair in pairs]
    write(state, held)
    return by_sequence(confidence, len(held["runs"])), found


def _met_in_runs(analysis: Analysis, requirement: Requirement, runs: Any, system: str, confidence: float) -> Verdict:
    """Return the verdict of all runs of a system on a requirement."""
    from bayesperf import metrics
    from bayesperf.files.run_state import RUN
    from bayesperf.plan.monitoring import monitor
    from bayesperf.reports.verdicts import OPEN, Verdict

    options: dict[str, Any] = {"dim": RUN, "prior": analysis.settings.prior, "ci_prob": confidence}
    is_of_scores = metrics.get(requirement.metric).needs == "scores"
    seen = None if is_of_scores else monitor(runs, requirement.bound, requirement.metric, **options)
    if seen is None or "anytime_verdict" not in seen.dataset:
        raise InputError(
            "--state",
            f"{requirement.metric} is not a proportion of independent examples, so nothing holds at all looks.",
            "Require recall, precision, accuracy or another share; or check without --state.",
        )
    last = seen.dataset.isel({RUN: -1})
    said = last["anytime_verdict"].item()
    limits = (
        "runs contradict each other" if said == "contradicted"
        else f"from {last['anytime_lower'].item():.3f} to {last['anytime_upper'].item():.3f}"
    )  # fmt: skip
    observed = f"{evidence_in_words(runs.sum(RUN), requirement)}: {limits}"
    return Verdict(str(requirement), system, observed, None, said if said in ("met", "missed") else OPEN)


def _no_worse_in_runs(
    analysis: Analysis, new: Any, old: Any, metric: str, held: dict[str, Any], state: Path, confidence: float
) -> Verdict:
    """Return whether all runs show a system to be no worse than another; its figures are added to this run."""
    import numpy as np

    from bayesperf import metrics
    from bayesperf.data.counted import Counted
    from bayesperf.files.run_state import differences_of_runs
    from bayesperf.intervals.confidence_sequences import difference_sequence, paired_sequence
    from bayesperf.plan.monitoring import counts_of_difference
    from bayesperf.reports.verdicts import OPEN, Verdict

    wanted, margin, system = metrics.get(metric), analysis.settings.no_worse_by or 0.0, str(analysis.settings.system)
    counts = analysis.paired if isinstance(analysis.paired, Counted) else analysis.pooled_counts
    numbers = counts_of_difference(counts.sel(**{system: [new, old]}), wanted, system)
    if numbers is None:
        raise InputError(
            "--state",
            f"{metric} of two {'versions' if system == _VERSION else 'systems'} is not a proportion of independent "
            "examples.",
            "Compare recall, specificity or accuracy; or check without --state.",
        )
    name = metric if system == _VERSION else f"{metric} of {new} and {old}"
    runs = np.cumsum(differences_of_runs(held, name, numbers, state), axis=0).T
    limits = (paired_sequence if len(numbers) == 3 else difference_sequence)(*runs, confidence=confidence)
    low, high = float(limits[:, 0].max()), float(limits[:, 1].min())
    worst, best = (low, high) if wanted.better > 0 else (-high, -low)
    verdict = "met" if worst >= -margin else "missed" if best < -margin else OPEN
    limits_in_words = f"difference from {low:.3f} to {high:.3f}".replace("-", "−")
    said = limits_in_words if low <= high else "runs contradict each other"
    return Verdict(*_claim(analysis, metric, new, old), said, None, verdict if low <= high else OPEN)


def _versions(files: list[Path], against: Path, settings: Settings, scores_alone: bool) -> Analysis:
    """Return the analysis of new and old files, each a system; paired if a column identifies examples."""
    import numpy as np
    import pandas as pd

    from bayesperf.files.reading import Predictions, read
    from bayesperf.files.roles import with_outcomes, with_roles
    from bayesperf.reports.analysing import analyse

    settings = with_outcomes(with_roles(replace(settings, require=()), len(files)))
    settings = replace(settings, scores_alone=scores_alone)
    new, old = read(files, settings), read(existing([against]), settings)
    for column in (settings.actual, settings.predicted):
        kinds = [pd.api.types.is_numeric_dtype(each.frame[column]) for each in (new, old) if column in each.frame]
        if len(set(kinds)) > 1:
            raise InputError(
                f"--against {against}", f"column {column!r} holds numbers in one file and text in the other.",
                "Write its labels the same way in both.",
            )  # fmt: skip
    frame = pd.concat([new.frame.assign(**{_VERSION: _NEW}), old.frame.assign(**{_VERSION: _OLD})], ignore_index=True)
    rows = None
    if any(each.rows is not None for each in (new, old)):
        rows = np.concatenate([new.sizes, old.sizes])
    return analyse(Predictions(frame, rows), replace(settings, by=(_VERSION,), baseline=_OLD))


def _pairs(analysis: Analysis | None) -> list[tuple[Analysis, Any, Any]]:
    """Return each system of an analysis and the baseline, which it must not be worse than; none without an analysis."""
    if analysis is None:
        return []
    system, old = str(analysis.settings.system), analysis.baseline
    if len(analysis.pooled.dims) > 1:
        raise InputError(
            "--by", "with --baseline, systems are compared by all of their rows.", "Check each group by itself."
        )
    return [(analysis, new, old) for new in analysis.counts.counts[system].values.tolist() if new != old]


def _claim(analysis: Analysis, metric: str, new: Any, old: Any) -> tuple[str, str]:
    """Return in words that a system is no worse than another, and its name, if it has one."""
    no_worse_by, is_version = analysis.settings.no_worse_by or 0.0, analysis.settings.system == _VERSION
    beyond = f" by more than {no_worse_by:g}" if no_worse_by else ""
    than = "" if is_version and beyond else f" than {'before' if is_version else old}"
    return f"{analysis.metric(metric).title} not worse{than}{beyond}", "" if is_version else str(new)


def _no_worse(analysis: Analysis, metric: str, new: Any, old: Any) -> Verdict:
    """Return whether a system is shown to be no worse than another by more than a margin."""
    from bayesperf import metrics
    from bayesperf.reports.verdicts import OPEN, Verdict, verdict_of

    wanted, settings, system = metrics.get(metric), analysis.settings, str(analysis.settings.system)
    no_worse_by, is_version = settings.no_worse_by or 0.0, system == _VERSION
    (compared,) = (each for each in analysis.comparisons if each.comparison.metric == wanted.name)
    difference = compared.comparison.difference.sel(pair=f"{new} − {old}")
    no_worse = difference.prob_meets(-difference.quantity.better * no_worse_by)
    verdict = verdict_of(no_worse.item(), settings.confidence)
    seen, before = _observed(analysis, wanted.name).sel({system: [new, old]}).values.tolist()
    if math.isnan(seen) or math.isnan(before):
        raise InputError(
            f"--against {settings.against}" if is_version else f"--baseline {old}",
            f"one of both {'versions' if is_version else 'systems'} has no row that counts for "
            f"{analysis.metric(metric).title}.",
            "Write its labels the same way in both.",
        )
    observed = f"{seen:.3f}, {'before' if is_version else 'baseline'} {before:.3f} ({_the_same(analysis)})"
    more = _more_to_compare(analysis, difference, new, old) if verdict == OPEN else ""
    return Verdict(*_claim(analysis, metric, new, old), observed, no_worse.item(), verdict, more)


def _observed(analysis: Analysis, metric: str) -> xr.DataArray:
    """Return the observed scores of the systems; of the verified examples, if only some are."""
    from bayesperf.metrics.point_values import score

    if analysis.settings.judge is not None:
        return score(analysis.pooled_counts, metric)
    return analysis.marginals[metric].observed


def _the_same(analysis: Analysis) -> str:
    """Return in words whether two systems have the same examples, or clusters of them."""
    from bayesperf.core.words import plural

    settings, source = analysis.settings, analysis.pooled.source
    if settings.judge is not None:
        return "verified examples"
    if settings.cluster is not None and not analysis.is_paired:
        shared = bool((source.in_common == source.units).all())  # type: ignore[attr-defined]
        return f"{'the same' if shared else 'other'} {plural(settings.cluster)}"
    return f"{'the same' if analysis.is_paired else 'other'} examples"


def _more_to_compare(analysis: Analysis, difference: Marginal, new: Any, old: Any) -> str:
    """Return how many more examples, or clusters, would settle a comparison; nothing if that cannot be planned."""
    no_worse_by, settings = analysis.settings.no_worse_by or 0.0, analysis.settings
    if settings.judge is not None:
        return ""
    if settings.cluster is None:
        return _more_examples(analysis, difference.name, new, old)
    from bayesperf.core.words import plural
    from bayesperf.plan.settling import questions_to_settle
    from bayesperf.reports.verdicts import ASSURANCE, about_so_many

    ahead = difference.quantity.better * difference.mean().item() + no_worse_by
    units = int(analysis.pooled.source.units)
    more = questions_to_settle(ahead, difference.sd().item(), units, settings.confidence, ASSURANCE)
    return f"{about_so_many(more)} more {plural(settings.cluster)}"


def _more_examples(analysis: Analysis, metric: str, new: Any, old: Any) -> str:
    """Return how many more independent examples would settle a comparison; nothing if that cannot be planned."""
    from bayesperf.data.counted import Counted
    from bayesperf.plan.plan_result import UnreachableError
    from bayesperf.plan.sample_sizes import comparison
    from bayesperf.reports.verdicts import ASSURANCE

    settings, system = analysis.settings, str(analysis.settings.system)
    no_worse_by = settings.no_worse_by or 0.0
    a: Any = analysis.pooled_counts.sel(**{system: new})
    b: Any = analysis.pooled_counts.sel(**{system: old})
    if isinstance(analysis.paired, Counted):
        a, b = analysis.paired.sel(**{system: [new, old]}), None
    options: dict[str, Any] = {
        "confidence": settings.confidence, "assurance": ASSURANCE, "prior": settings.prior
    }  # fmt: skip
    try:
        return number_in_words(comparison(a, b, metric, margin=-no_worse_by, **options))
    except (InputError, UnreachableError):
        return ""


def _print(verdicts: list[Verdict], rule: str, analysis: Analysis, format_: str) -> None:
    """Print verdicts in a format."""
    from bayesperf.reports.data_in_words import what_was_read
    from bayesperf.reports.verdicts import as_blocks, in_one_sentence, overall

    read = what_was_read(analysis)
    blocks = as_blocks(verdicts, rule, read, "label" if analysis.of_labels else "system")
    facts = {"verdict": overall(verdicts), "in_words": in_one_sentence(verdicts, rule), "read": read}
    print_blocks_as(format_, facts, blocks)
