"""``bayesperf plan``: how many examples are needed to show that a requirement is met."""

from __future__ import annotations

import json as json_
import re
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from bayesperf.plan.sample_sizes import Plan
    from bayesperf.reports.analysis import Requirement

# Where the table shows the assurance, as shares of the answer.
_SHOWN = (0.125, 0.25, 0.5, 1, 2, 4)

Require = Annotated[str | None, typer.Option(help="What is required, as 'recall>=0.7'.")]
Metric = Annotated[str | None, typer.Option(help="The metric, which --require names already.")]
Evidence = Annotated[str, typer.Option(help="Successes and trials of the metric so far, as 4/5.")]
Confidence = Annotated[float, typer.Option(help="Probability that shows the requirement met.")]
Assurance = Annotated[float, typer.Option(help="Probability that the new examples will show it.")]
Question = Annotated[str, typer.Option(help="meet: show that it is met; settle: that it is or is not.")]
Prevalence = Annotated[float | None, typer.Option(help="Share of positives among the examples to come.")]
Prior = Annotated[str | None, typer.Option(help="flat, jeffreys, perks or haldane. [flat]")]
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
    from bayesperf.reports.analysis import Requirement

    if require is None:
        raise ValueError("--require: say what is required, as --require 'recall>=0.7'.")
    wanted = Requirement.parse(require)
    if metric is not None and metrics.get(metric).name != wanted.metric:
        raise ValueError(f"--metric {metric}: --require is of {wanted.metric}. Leave --metric out.")
    counts = _counts(evidence)
    met = wanted.met(metric_evidence(counts, prior, wanted.metric).post[wanted.metric]).item()
    options: dict[str, Any] = {"prior": prior, "evidence": counts, "prevalence": prevalence, "question": question}
    found: Plan | None
    settles: Plan | None
    try:
        found = settles = sample_size(wanted.bound, confidence, assurance, wanted.metric, **options)
    except UnreachableError as error:
        found, settles = None, error.settles
    if json:
        document = {"requirement": str(wanted), "metric": wanted.metric, "bound": wanted.bound, "evidence": counts,
                    "confidence": confidence, "assurance": assurance, "question": question, "probability_met": met,
                    **_figures(found), "settles": None if found else _figures(settles)}  # fmt: skip
        print(json_.dumps(document, indent=2, allow_nan=False))
    else:
        _print(wanted, counts, met, (confidence, assurance, question), found, settles, Console())


def _counts(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
    if not match:
        raise ValueError(f"--evidence {text}: give successes and trials of the metric, as 4/5.")
    return int(match[1]), int(match[2])


def _figures(plan: Plan | None) -> dict[str, Any]:
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


def _print(
    wanted: Requirement,
    counts: tuple[int, int],
    met: float,
    asked: tuple[float, float, str],
    found: Plan | None,
    settles: Plan | None,
    console: Console,
) -> None:
    confidence, assurance, question = asked
    goals = {
        "meet": f"show that it is met (P ≥ {confidence:g})",
        "settle": f"settle whether it is met (P ≥ {confidence:g} or ≤ {1 - confidence:g})",
    }
    lines = [f"Required: {wanted}. So far {counts[0]} of {counts[1]}: it is met with probability {met:.3f}."]
    if found is not None:
        lines += [f"To {goals[question]} with assurance {assurance:g}: {_number(found)}."]
    else:
        lines += [
            f"To {goals['meet']} with assurance {assurance:g}: no number of examples is enough. With ever more, the "
            f"assurance tends to {met:.3f}, for they may as well show that it is not met.",
            f"To {goals['settle']} with the same assurance: {_number(settles)}.",
        ]
    for line in lines:
        console.print(Text(line))
    if settles is not None and settles.n:
        console.print()
        console.print(_table(settles))
        console.print(Text(f"Probability, from {settles.basis}, that so many end in {settles.claim}."))


def _number(plan: Plan | None) -> str:
    if plan is None:
        return "more than a million"
    if not plan.n:
        return "none are needed, it is so already"
    examples = f", in about {plan.examples} examples" if plan.share not in (None, 1.0) else ""
    return f"{plan.n} more {plan.counts}{examples}"


def _table(plan: Plan) -> Table:
    """Return the assurance of fewer and more examples than the answer."""
    numbers = np.unique([max(1, round(share * plan.n)) for share in _SHOWN])
    table = Table(title="What do fewer or more do?", title_justify="left")
    table.add_column(f"new {plan.counts}", justify="right")
    table.add_column("assurance", justify="right")
    for n, value in zip(numbers, plan.curve(numbers).values, strict=True):
        table.add_row(str(n), f"{value:.3f}")
    return table
