"""Decision curves in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesperf.core.errors import InputError
from bayesperf.core.words import chance, enumerated, estimate, over_places, percentage, places_in_words, sentence
from bayesperf.curves.decisions.net_benefit import spans

if TYPE_CHECKING:
    from bayesperf.curves.decisions.benefit_curve import DecisionCurve


def curve_in_words(curve: DecisionCurve, at: float | None, prob: float) -> str:
    """Return sentences on where each system is useful, and on the net benefit at a threshold; see `DecisionCurve`."""
    parts = [_useful(curve, prob)]
    if at is not None or len(curve.data.thresholds) == 1:
        parts.append(_at(curve, curve.data.thresholds[0].item() if at is None else at, prob))
    if curve.elsewhere is not None:
        parts.append(f"all of it at {curve.elsewhere.in_words}")
    return " ".join(map(sentence, parts))


def _useful(curve: DecisionCurve, prob: float) -> str:
    """Return in which thresholds the system does more good than treating all or none."""
    cuts, useful = curve.data.thresholds, curve.prob_useful
    names = places_in_words(useful.isel(threshold=0, drop=True))
    within = ranges_in_words(curve, prob)
    tried = f"of {cuts[0]:g} to {cuts[-1]:g}" if len(cuts) > 1 else "there is"
    return (
        f"with a probability of at least {percentage(prob)} at each threshold by itself, following "
        f"{'the system' if curve.data.systems is None else 'a system'} does more good than treating all or none: "
        f"{'; '.join(f'{name}: {text}' if name else text for name, text in zip(names, within, strict=True))} ({tried})"
    )


def ranges_in_words(curve: DecisionCurve, prob: float) -> list[str]:
    """Return between which thresholds each system is useful with a probability of at least `prob`."""
    cuts, useful = curve.data.thresholds, (curve.prob_useful >= prob).values
    ranges = [spans(cuts, flags) for flags in useful.reshape(-1, len(cuts))]
    return [enumerated([_range(*ends) for ends in of_one] or ["at none"]) for of_one in ranges]


def _range(low: float, high: float) -> str:
    return f"at {low:g}" if low == high else f"from {low:g} to {high:g}"


def _at(curve: DecisionCurve, threshold: float, prob: float) -> str:
    """Return the net benefit at a threshold, what it is in examples, and how probably it is the system's merit."""
    cuts = curve.data.thresholds
    if threshold not in cuts:
        raise InputError("at", f"must be one of the thresholds, {cuts[0]:g} to {cuts[-1]:g}; it is {threshold!r}.")
    marginal = curve.net_benefit.sel(threshold=threshold)
    means, limits = marginal.mean().values.ravel(), marginal.eti(prob).values.reshape(-1, 2)
    values = [estimate(mean, low, high, prob, "eti") for mean, (low, high) in zip(means, limits, strict=True)]
    useful = curve.prob_useful.sel(threshold=threshold).values.ravel().tolist()
    names = places_in_words(marginal.leading)
    return (
        f"at {threshold:g} the net benefit is {over_places(values, names, means.tolist())}, in positives found per "
        f"example beyond the price of false alarms, and useful with probability "
        f"{over_places([chance(p) for p in useful], names, useful)}"
    )
