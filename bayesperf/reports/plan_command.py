"""The command ``bayesperf plan``: how many examples are needed to show that a requirement is met."""

from __future__ import annotations

import json as json_
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from bayesperf.plan.sample_sizes import Plan
    from bayesperf.posteriors.requirement import Requirement

# Numbers of examples in the table of assurances, as multiples of the answer.
_MULTIPLES = (0.125, 0.25, 0.5, 1, 2, 4)

Require = Annotated[str | None, typer.Option(help="What is required, as 'recall>=0.7'.")]
Metric = Annotated[str | None, typer.Option(help="The metric, which --require names already.")]
Evidence = Annotated[str, typer.Option(help="Successes and trials of the metric so far, as 4/5.")]
Confidence = Annotated[float, typer.Option(help="Probability that shows the requirement met.")]
Assurance = Annotated[float, typer.Option(help="Probability that the new examples will show it.")]
Question = Annotated[str, typer.Option(help="meet: show that it is met; settle: that it is or is not.")]
Prevalence = Annotated[float | None, typer.Option(help="Share of positives among the examples to come.")]
Prior = Annotated[str | None, typer.Option(help="flat, jeffreys, perks or haldane. [jeffreys]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def plan(
    require: Require = None,
    metric: Metric = None,
    evidence: Evidence = "0/0",
    confidence: Confidence = 0.95,
    assurance: Assurance = 0.8,
    question: Question = "meet",
    prevalence: Prevalence = None,
    prior: Prior = None,
    json: Json = False,
) -> None:
    """Print how many new examples will show that a requirement is met, or settle whether it is.

    That no number of examples is enough is an answer, and ends with code 0 like any other.
    """
    from bayesperf import metrics
    from bayesperf.plan.evidence import metric_evidence
    from bayesperf.plan.sample_sizes import UnreachableError, sample_size
    from bayesperf.posteriors.requirement import Requirement

    if require is None:
        raise ValueError("--require: say what is required, as --require 'recall>=0.7'.")
    requirement = Requirement.parse(require)
    if metric is not None and metrics.get(metric).name != requirement.metric:
        raise ValueError(f"--metric {metric}: --require is of {requirement.metric}. Leave --metric out.")
    counts = _parse_evidence(evidence)
    posterior = metric_evidence(counts, prior, requirement.metric).post
    prob_met = requirement.met(posterior[requirement.metric]).item()
    options: dict[str, Any] = {"prior": prior, "evidence": counts, "prevalence": prevalence, "question": question}
    answer: Plan | None
    settling: Plan | None
    try:
        answer = settling = sample_size(requirement.bound, confidence, assurance, requirement.metric, **options)
    except UnreachableError as error:
        answer, settling = None, error.settles
    if json:
        document = {"requirement": str(requirement), "metric": requirement.metric, "bound": requirement.bound,
                    "evidence": counts, "confidence": confidence, "assurance": assurance, "question": question,
                    "probability_met": prob_met, **_json_values(answer),
                    "settles": None if answer else _json_values(settling)}  # fmt: skip
        print(json_.dumps(document, indent=2, allow_nan=False))
        return
    from rich.console import Console
    from rich.text import Text

    print_ = Console().print
    for line in _sentences(requirement, counts, prob_met, (confidence, assurance, question), answer, settling):
        print_(Text(line))
    if settling is not None and settling.n:
        print_()
        print_(_table(settling))
        print_(Text(f"Probability, from {settling.basis}, that so many end in {settling.claim}."))


def _parse_evidence(text: str) -> tuple[int, int]:
    """Return the successes and trials written as ``4/5``."""
    match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
    if not match:
        raise ValueError(f"--evidence {text}: give successes and trials of the metric, as 4/5.")
    return int(match[1]), int(match[2])


def _json_values(plan: Plan | None) -> dict[str, Any]:
    """Return the answer of a plan, and its curve, as JSON values; nulls if there is no plan."""
    if plan is None:
        return {"n": None, "counts": None, "examples": None, "reached": None, "curve": None}
    curve = plan.curve()
    return {
        "n": plan.n,
        "counts": plan.counts,
        "examples": None if plan.share is None else plan.examples,
        "reached": plan.reached,
        "curve": {"n": curve["n"].values.tolist(), "assurance": curve.values.tolist()},
    }


def _sentences(
    requirement: Requirement,
    counts: tuple[int, int],
    prob_met: float,
    goal: tuple[float, float, str],
    answer: Plan | None,
    settling: Plan | None,
) -> list[str]:
    """Return the answer in words; if the requirement cannot be shown to be met, also what would settle it."""
    confidence, assurance, question = goal
    goals = {
        "meet": f"show that it is met (P ≥ {confidence:g})",
        "settle": f"settle whether it is met (P ≥ {confidence:g} or ≤ {1 - confidence:g})",
    }
    now = f"Required: {requirement}. So far {counts[0]} of {counts[1]}: it is met with probability {prob_met:.3f}."
    if answer is not None:
        return [now, f"To {goals[question]} with assurance {assurance:g}: {_number(answer)}."]
    return [
        now,
        f"To {goals['meet']} with assurance {assurance:g}: no number of examples is enough. With ever more, the "
        f"assurance tends to {prob_met:.3f}, for they may as well show that it is not met.",
        f"To {goals['settle']} with the same assurance: {_number(settling)}.",
    ]


def _number(plan: Plan | None) -> str:
    """Write the number of new examples that a plan needs."""
    if plan is None:
        return "more than a million"
    if not plan.n:
        return "none are needed, it is so already"
    examples = f", in about {plan.examples} examples" if plan.share not in (None, 1.0) else ""
    return f"{plan.n} more {plan.counts}{examples}"


def _table(plan: Plan) -> Table:
    """Return a table of the assurance of fewer and of more examples than the answer."""
    from rich.table import Table

    numbers = sorted({max(1, round(multiple * plan.n)) for multiple in _MULTIPLES})
    table = Table(title="What do fewer or more do?", title_justify="left")
    table.add_column(f"new {plan.counts}", justify="right")
    table.add_column("assurance", justify="right")
    for n, value in zip(numbers, plan.curve(numbers).values, strict=True):
        table.add_row(str(n), f"{value:.3f}")
    return table
