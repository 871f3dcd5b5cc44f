"""The command ``bayesperf plan``: how many examples are needed to show that a requirement is met."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesperf.cli.options import takes_files
from bayesperf.cli.running_commands import analysed, say_warnings
from bayesperf.core.errors import InputError
from bayesperf.files.option_table import Settings

if TYPE_CHECKING:
    from rich.table import Table

    from bayesperf.data.counted import Counted
    from bayesperf.plan.plan_result import Plan
    from bayesperf.posteriors.requirement import Requirement
    from bayesperf.reports.analysis import Analysis

# Numbers of examples in the table of assurances, as multiples of the answer.
_MULTIPLES = (0.125, 0.25, 0.5, 1, 2, 4)


class Goal(NamedTuple):
    """What is to be shown: with which probability, how surely, whether either answer will do, and after which looks."""

    requirement: Requirement
    confidence: float
    assurance: float
    question: str
    look_every: int | None


class Planned(NamedTuple):
    """A plan, if there is one; else what would settle the question."""

    seen: str
    prob_met: float
    plan: Plan | None
    settling: Plan | None


@takes_files()
def plan(files: list[Path], settings: Settings) -> None:
    """Print how many new examples will show that a requirement is met, or settle whether it is.

    What is known so far are two counts, or the predictions of FILES, of each system by itself. That no number of
    examples is enough is an answer, and ends with code 0 like any other.
    """
    from bayesperf.posteriors.requirement import Requirement

    if not settings.require:
        raise InputError("--require", "say what is required, as --require 'recall>=0.7'.")
    if files and settings.evidence is not None:
        raise InputError("--evidence", "the files are the evidence.", "Remove --evidence or the files.")
    goals = [
        Goal(requirement, settings.confidence, settings.assurance, settings.question, settings.look_every)
        for requirement in (Requirement.parse(text, settings.of_outcomes) for text in settings.require)
    ]
    _refuse_scores(goals)
    if files:
        analysis = analysed(
            files, replace(settings, require=(), metrics=tuple(goal.requirement.metric for goal in goals))
        )
        say_warnings(analysis.warnings)
        _say_of_each(goals, analysis, settings)
        return
    counts, documents = _parse_evidence(settings.evidence or "0/0"), []
    for goal in goals:
        answer = answered(goal, counts, f"{counts[0]} of {counts[1]}", settings.prior, settings.prevalence)
        if settings.json:
            documents.append(_document(goal, answer, counts))
        else:
            _print(goal, answer)
    if settings.json:
        print(json.dumps(documents if len(documents) > 1 else documents[0], indent=2, allow_nan=False))


def _refuse_scores(goals: Sequence[Goal]) -> None:
    from bayesperf import metrics

    for goal in goals:
        if metrics.get(goal.requirement.metric).needs == "scores":
            raise InputError(
                f"--require {goal.requirement.metric}",
                "it is a metric of scores, and plans are of predicted labels.",
                "Ask check, which says how many more examples may settle it.",
            )


def _say_of_each(goals: Sequence[Goal], analysis: Analysis, settings: Settings) -> None:
    """Print what was read, and the answer for each system and requirement."""
    from bayesperf.reports.data_in_words import what_was_read

    documents = []
    if not settings.json:
        _print_lines([what_was_read(analysis)])
    for (place, names), goal in product(analysis.systems, goals):
        matrix = analysis.counts_at(place)
        seen = evidence_in_words(matrix, goal.requirement)
        answer = answered(goal, matrix, seen, settings.prior, settings.prevalence)
        if settings.json:
            documents.append({"system": names, **_document(goal, answer, matrix.counts.values.tolist())})
        else:
            _print(goal, answer, ", ".join(names))
    if settings.json:
        document = {"read": what_was_read(analysis), "warnings": list(analysis.warnings), "systems": documents}
        print(json.dumps(document, indent=2, allow_nan=False))


def evidence_in_words(matrix: Counted, requirement: Requirement) -> str:
    """Return the evidence of a matrix in words: the observed score, as a share of its trials if it is one."""
    from bayesperf.posteriors.posterior_of_counts import posterior

    observed = posterior(matrix)[requirement.metric].observed
    if "trials" in observed.coords:
        trials = int(observed["trials"])
        return f"{round(float(observed) * trials) if trials else 0:,} of {trials:,}"
    return f"{float(observed):.3f} in {int(matrix.total):,} rows"


def answered(
    goal: Goal, evidence: Counted | tuple[int, int], seen: str, prior: str | None, prevalence: float | None
) -> Planned:
    """Return the plan from some evidence, and the probability by it that the requirement is met."""
    from bayesperf.plan.evidence import metric_evidence
    from bayesperf.plan.plan_result import UnreachableError
    from bayesperf.plan.sample_sizes import sample_size

    requirement = goal.requirement
    posterior = metric_evidence(evidence, prior, requirement.metric).post
    prob_met = requirement.met(posterior[requirement.metric]).item()
    options: dict[str, Any] = {
        "prior": prior, "evidence": evidence, "prevalence": prevalence, "question": goal.question,
        "look_every": goal.look_every,
    }  # fmt: skip
    try:
        found = sample_size(requirement.bound, goal.confidence, goal.assurance, requirement.metric, **options)
    except UnreachableError as error:
        return Planned(seen, prob_met, None, error.settles)
    return Planned(seen, prob_met, found, found)


def _document(goal: Goal, answer: Planned, evidence: Any) -> dict[str, Any]:
    """Return an answer as JSON values."""
    requirement = goal.requirement
    return {
        "requirement": str(requirement), "metric": requirement.metric, "bound": requirement.bound, "evidence": evidence,
        "confidence": goal.confidence, "assurance": goal.assurance, "question": goal.question,
        "look_every": goal.look_every, "probability_met": answer.prob_met, **_json_values(answer.plan),
        "settles": None if answer.plan else _json_values(answer.settling),
    }  # fmt: skip


def _print(goal: Goal, answer: Planned, system: str = "") -> None:
    """Print an answer, and what fewer and more examples do."""
    from rich.console import Console

    if system:
        print()
        _print_lines([system], "bold")
    _print_lines(_sentences(goal, answer))
    if (settling := answer.settling) is not None and settling.n:
        Console().print("", _table(settling), sep="\n")
        about = f"Probability, from {settling.basis}, that so many show {settling.claim}."
        _print_lines([f"{about} Counts are whole, so it rises unevenly."])


def _print_lines(texts: Sequence[str], style: str = "") -> None:
    from rich.console import Console

    from bayesperf.reports.render.terminal import wrapped

    console = Console()
    for text in texts:
        console.print(wrapped(text, console, style))


def _parse_evidence(text: str) -> tuple[int, int]:
    """Return the successes and trials written as ``4/5``."""
    match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
    if not match:
        raise InputError(f"--evidence {text}", "give successes and trials of the metric, as 4/5.")
    return int(match[1]), int(match[2])


def _json_values(plan: Plan | None) -> dict[str, Any]:
    """Return the answer of a plan, and its curve, as JSON values; nulls if there is no plan."""
    if plan is None:
        return {"n": None, "counts": None, "examples": None, "reached": None, "looks": None, "curve": None}
    curve = plan.curve()
    return {
        "n": plan.n,
        "counts": plan.counts,
        "examples": None if plan.share is None else plan.examples,
        "reached": plan.reached,
        "looks": None if plan.looks is None else plan.looks._asdict(),
        "curve": {"n": curve["n"].values.tolist(), "assurance": curve.values.tolist()},
    }


def _sentences(goal: Goal, answer: Planned) -> list[str]:
    """Return the answer in words; if the requirement cannot be shown to be met, also what would settle it."""
    from bayesperf.core.words import percentage, probability_value

    requirement, confidence, assurance, question, look_every = goal
    meets, settles = f"P ≥ {confidence:g}", f"P ≥ {confidence:g} or ≤ {1 - confidence:g}"
    if look_every is not None:
        meets = settles = f"with {percentage(confidence)} confidence however often you look"
    goals = {"meet": f"show that it is met ({meets})", "settle": f"settle whether it is met ({settles})"}

    prob_met = probability_value(answer.prob_met)
    now = f"Required: {requirement}. So far {answer.seen}: it is met with probability {prob_met}."
    if answer.plan is not None:
        asked = f"To {goals[question]} with assurance {assurance:g}: {number_in_words(answer.plan)}."
        if look_every is None and answer.plan.n and answer.prob_met >= confidence:
            shown = f"It is shown already ({meets}), but new examples can put it in doubt. To show it with them, too,"
            asked = f"{shown} with assurance {assurance:g}: {number_in_words(answer.plan)}."
        fewer = "To settle it either way takes at most as many, and often fewer: --question settle."
        return [now, asked, *([fewer] if question == "meet" and answer.plan.n else []), *_cost(answer.plan)]
    asked = f"To {goals[question]} with assurance {assurance:g}: {number_in_words(None, look_every)}."
    if question == "settle":
        return [now, asked]
    if answer.prob_met <= assurance:
        asked = (
            f"To {goals['meet']} with assurance {assurance:g}: no number of examples is enough. With more, the "
            f"assurance approaches {prob_met}, because they may also show that it is not met."
        )
    return [
        now,
        asked,
        f"To {goals['settle']} with the same assurance: {number_in_words(answer.settling, look_every)}.",
        *_cost(answer.settling),
    ]


def _cost(plan: Plan | None) -> list[str]:
    """Return what looking again and again costs, if it was asked."""
    return [] if plan is None or plan.looks is None else [plan.looks.in_words()]


def number_in_words(plan: Plan | None, look_every: int | None = None) -> str:
    """Write the number of new examples that a plan needs."""
    if plan is None:
        from bayesperf.plan.looks import MOST

        return "more than a million" if look_every is None else f"more than {MOST:,}"
    if not plan.n:
        return "no more are needed"
    examples = f", in about {plan.examples:,} examples" if plan.share not in (None, 1.0) else ""
    return f"{plan.n:,} more {plan.counts}{examples}"


def _table(plan: Plan) -> Table:
    """Return a table of the assurance of fewer and of more examples than the answer."""
    from rich.table import Table

    numbers = sorted({max(1, round(multiple * plan.n)) for multiple in _MULTIPLES})
    table = Table(title="What do fewer or more do?", title_justify="left")
    table.add_column(f"new {plan.counts}", justify="right")
    table.add_column("assurance", justify="right")
    for n, value in zip(numbers, plan.curve(numbers).values, strict=True):
        table.add_row(f"{n:,}", f"{value:.3f}")
    return table
