"""Figures of plans: for examples, attempts, calls and labels, and for a system monitored batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core.words import (
    REPEATED_LOOKS,
    interval_name,
    metric_title,
    percentage,
    place_names,
    plural,
    sentence,
    short_interval_name,
)
from bayesperf.metrics.metric import better_sign
from bayesperf.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    SERIES,
    closed,
    log_scale,
    remark,
    shorten,
    small_multiples,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.labels.choosing_labels import NextLabels
    from bayesperf.plan.calls_or_labels import PrevalencePlan
    from bayesperf.plan.monitoring import Monitor
    from bayesperf.plan.plan_result import Plan
    from bayesperf.plan.reruns import AttemptsPlan

__all__ = ["attempts", "monitor", "next_labels", "plan", "prevalence_plan"]

# The labels of a plan's axis.
_AIMS = {"assurance": "assurance", "width": "expected width", "value": "value, net benefit\nper decision"}
# Strata that a figure shows at most.
_MOST_STRATA = 20


@closed
def plan(plan: Plan, n: ArrayLike | None = None, *, ax: Axes | None = None) -> Figure:
    """Plot what a plan reaches, such as its assurance, against the number of new examples, with target and answer.

    Parameters
    ----------
    plan : Plan
        The result of `bayesperf.plan`.
    n : array-like (m,), optional
        Numbers of new examples to draw; by default from 0 to twice the answer.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.
    """
    curve = plan.curve(n)
    x, y = np.atleast_1d(curve["n"].values), np.atleast_1d(curve.values)
    figure, (axes,) = small_multiples(1, 7.2, 3.6, margin=(0, 0), ax=ax)
    axes.axhline(plan.target, color=ORANGE, lw=1.2, ls="--", label=f"wanted: {plan.target:g}")
    if plan.aim == "value" or (plan.aim == "assurance" and plan.limit < 1):
        axes.axhline(plan.limit, color=GREY, lw=1.2, ls=":", label=f"limit: {plan.limit:.3g}")
    if ((errors := 1.96 * np.atleast_1d(curve["mcse"].values)) > 0).any():
        axes.fill_between(x, y - errors, y + errors, color=BLUE, alpha=0.2, lw=0, label="± 1.96 Monte Carlo errors")
    axes.plot(x, y, color=BLUE, lw=1.6)
    error = f" ± {plan.mcse:.2g}" if plan.mcse > 0 else ""
    answer = f"from {plan.n} {plan.counts} on ({plan.reached:.3g}{error})"
    axes.plot(plan.n, plan.reached, "o", color=BLUE, ms=7, mec="white", label=answer)
    axes.set_xlabel(f"new {plan.counts}")
    axes.set_ylabel(_AIMS[plan.aim])
    axes.set_ylim(0, 1.03 if plan.aim == "assurance" else None)
    axes.set_xlim(left=0)
    axes.legend(frameon=False, fontsize="small")
    what = {"assurance": "Probability of showing ", "value": "Value of "}.get(plan.aim, "")
    write_title(figure, sentence(f"{what}{plan.claim}").removesuffix("."), f"from {plan.basis}", ax=ax)
    return figure


@closed
def attempts(plan: AttemptsPlan, *, ax: Axes | None = None) -> Figure:
    """Plot the standard error of a pass rate against the attempts per question, also for twice the questions.

    Parameters
    ----------
    plan : AttemptsPlan
        The result of `bayesperf.plan.attempts`; each of several systems has a colour.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.
    """
    figure, (axes,) = small_multiples(1, 7.2, 3.6, margin=(0, 0), ax=ax)
    times = np.geomspace(0.5, 8, 60)
    for questions, style, words in (
        (1, "-", f"as many {plural(plan.dim)} as now"),
        (2, "--", f"twice the {plural(plan.dim)}"),
    ):
        errors = np.stack([plan.standard_error(questions, each).values.ravel() for each in (*times, 1, np.inf)], -1)
        axes.plot([], [], style, color=GREY, label=words)
        for i, now in enumerate(plan.attempts.values.ravel()):
            colour = SERIES[i % len(SERIES)]
            axes.plot(now * times, errors[i, :-2], style, color=colour, lw=1.6)
            axes.axhline(errors[i, -1], color=colour, lw=0.8, ls=":")
            axes.plot(now, errors[i, -2], "o", color=colour, ms=7, mec="white")
    axes.plot([], [], ":", color=GREY, label="infinitely many attempts")
    for i, name in enumerate(place_names(plan.questions)):
        axes.plot([], [], "o", color=SERIES[i % len(SERIES)], label=f"{shorten(name)}, now" if name else "now")
    axes.set_xlabel(f"attempts at each {plan.dim}")
    axes.set_ylabel("standard error")
    axes.set_ylim(0, None)
    log_scale(axes)
    axes.legend(frameon=False, fontsize="small")
    write_title(figure, "Expected standard error of the pass rate", ax=ax)
    return figure


@closed
def prevalence_plan(plan: PrevalencePlan, *, ax: Axes | None = None) -> Figure:
    """Plot the expected width of the interval of a prevalence against multiples of the calls and labels so far.

    Dotted lines are the widths that infinitely many calls, or labels, leave.

    Parameters
    ----------
    plan : PrevalencePlan
        The result of `bayesperf.plan.prevalence`.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.
    """
    figure, (axes,) = small_multiples(1, 7.2, 3.6, margin=(0, 0), ax=ax)
    finite = plan.dataset["width"].isel(times=np.isfinite(plan.dataset["times"].values))
    for more, colour, now in (("calls", BLUE, plan.calls), ("labels", ORANGE, plan.labels)):
        name = f"{more}: {now:,} now"
        axes.plot(finite["times"], finite.sel(more=more), "o-", color=colour, lw=1.6, ms=4, label=name)
        axes.axhline(plan.dataset["width"].sel(more=more, times=np.inf).item(), color=colour, lw=0.8, ls=":")
    axes.plot([], [], ":", color=GREY, label="infinitely many")
    axes.set_xlabel("times as many as now")
    axes.set_ylabel("expected width")
    axes.set_ylim(0, None)
    log_scale(axes)
    axes.legend(frameon=False, fontsize="small")
    write_title(figure, f"Expected width of the {interval_name(plan.ci_prob, 'hdi')} of the prevalence", ax=ax)
    return figure


@closed
def next_labels(advice: NextLabels, *, ax: Axes | None = None) -> Figure:
    """Plot the labels to add in each stratum beside the labels there are; at most 20 strata, those with most to add.

    Parameters
    ----------
    advice : NextLabels
        The result of `bayesperf.labels.next_labels`.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.
    """
    table = advice.summary().nlargest(_MOST_STRATA, "advised").sort_index(ascending=False)
    voters = list(table.columns[: table.columns.get_loc("examples")])
    names = [shorten(", ".join(f"{voter} {row[voter]}" for voter in voters)) for _, row in table.iterrows()]
    figure, (axes,) = small_multiples(1, 7.2, 1.2 + 0.3 * len(table), margin=(1.5, 0), ax=ax)
    at = np.arange(len(table))
    axes.barh(at, table["verified"], color=GREY, label="labels there are")
    axes.barh(at, table["advised"], left=table["verified"], color=BLUE, label="labels to add")
    axes.set_yticks(at, names)
    axes.set_xlabel("labels")
    axes.legend(frameon=False, fontsize="small")
    write_title(figure, f"{int(table['advised'].sum()):,} more labels for {metric_title(advice.metric)}", ax=ax)
    return figure


@closed
def monitor(monitor: Monitor, *, ax: Sequence[Axes] | None = None) -> Figure:
    """Plot a metric with its intervals against the examples so far, and the probability of meeting the requirement.

    Dotted lines are the limits of its confidence sequence, if it has one; a diamond marks the first step at which they
    show that the requirement is met, or missed.

    Parameters
    ----------
    monitor : Monitor
        The result of `bayesperf.monitor`; each coordinate of other leading dims has a line.
    ax : sequence of two matplotlib.axes.Axes, optional
        Axes to draw in, for the metric and for the probability.
    """
    data = monitor.dataset
    dim, bound = data.attrs["dim"], data.attrs["requirement"]
    sign = {1: "≥", -1: "≤"}[better_sign(data.attrs["greater_is_better"])]
    title = data.attrs["title"]
    names, anytime = place_names(data["prob_met"].isel({dim: 0})), "anytime_verdict" in data
    figure, panels = small_multiples(
        2, 7.2, 2.7, columns=1, margin=(0, 0.2 * len(names)), ax=ax, sharex=True, height_ratios=[3, 2]
    )
    top, bottom = panels
    top.axhline(bound, color=GREY, lw=1.2, ls="--", label=f"required: {sign} {bound:g}")
    rest = [other for other in data["prob_met"].dims if other != dim]
    flat = data.transpose(dim, *rest, ...).stack(system=rest) if rest else data.expand_dims(system=[""])
    for i, name in enumerate(names):
        system, colour = flat.isel(system=i), SERIES[i % len(SERIES)]
        x = system["examples"].values
        lower, upper = system["interval"].transpose("ci_bound", dim).values
        top.fill_between(x, lower, upper, color=colour, alpha=0.2, lw=0)
        top.plot(x, system["mean"], "o-", color=colour, lw=1.5, ms=3.5, label=shorten(name) or "posterior mean")
        bottom.plot(x, system["prob_met"], "o-", color=colour, lw=1.5, ms=3.5)
        if anytime:
            _draw_confidence_sequence(top, bottom, system, colour)
    _write_legends(top, bottom, data, 1 if rest else 2 if anytime else 3)
    top.set_ylabel(title)
    bottom.set_ylim(0, 1.03)
    bottom.set_ylabel(f"P({title} {sign} {bound:g})")
    bottom.set_xlabel(f"examples so far, {dim} by {dim}")
    interval = interval_name(data.attrs["ci_prob"], data.attrs["ci_kind"])
    write_title(figure, f"{data.attrs['estimand']}: mean and {interval}", ax=ax)
    if ax is None:
        remark(figure, REPEATED_LOOKS)
    return figure


def _draw_confidence_sequence(top: Axes, bottom: Axes, system: xr.Dataset, colour: str) -> None:
    """Plot the limits of a system's confidence sequence, and mark the first step at which it settles the question."""
    x = system["examples"].values
    top.plot(x, system["anytime_lower"], ":", x, system["anytime_upper"], ":", color=colour, lw=1.2)
    first = np.flatnonzero(system["anytime_verdict"].isin(["met", "missed"]))[:1]
    if len(first):
        bottom.scatter(x[first], system["prob_met"].values[first], 55, color=colour, marker="D", zorder=3)


def _write_legends(top: Axes, bottom: Axes, data: xr.Dataset, columns: int) -> None:
    """Write a legend of shades, dotted lines and diamonds."""
    confidence = percentage(data.attrs["ci_prob"])
    interval = short_interval_name(data.attrs["ci_prob"], data.attrs["ci_kind"])
    top.fill_between([], [], [], color=GREY, alpha=0.3, lw=0, label=f"{interval} after each {data.attrs['dim']}")
    if "anytime_verdict" in data:
        top.plot([], [], ":", color=GREY, lw=1.2, label=f"{confidence} confidence sequence: however often you look")
    top.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small", ncols=columns)
    if bottom.collections:
        bottom.scatter([], [], 55, color=GREY, marker="D", label="settled by the confidence sequence")
        bottom.legend(frameon=False, fontsize="small")
