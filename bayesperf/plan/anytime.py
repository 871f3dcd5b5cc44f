"""What batches say about a proportion of examples, however often you look: its confidence sequence and verdict."""

from __future__ import annotations

from collections import Counter

import numpy as np
import xarray as xr

from bayesperf.core.words import AT_BEST, enumerated, format_value, percentage, places_in_words
from bayesperf.intervals.confidence_sequences import confidence_sequence
from bayesperf.metrics.metric import better_sign

# More places than these are counted in a sentence and not listed.
_MOST_PLACES = 4


def anytime_intervals(
    observed: xr.DataArray, requirement: float, better: int, dim: str, confidence: float
) -> dict[str, xr.DataArray]:
    """Return limits that are valid at all looks at once, and their verdict; nothing for metrics that are no proportion.

    Parameters
    ----------
    observed : xarray.DataArray (…, dim, …)
        Scores of all examples so far; for a proportion with the coordinate ``trials``.
    requirement, better
        The bound, and the sign of the metric's direction: 1 if it should be above the bound, −1 if below.
    dim : str
        The dim of the looks.
    confidence : float
        Confidence of all intervals together.

    Returns
    -------
    dict of str to xarray.DataArray
        ``anytime_lower`` and ``anytime_upper``: the intersection of the intervals at all looks so far, NaN once it is
        empty; ``anytime_verdict``, "met", "missed", "open", or "contradicted" once it is empty.
    """
    if "trials" not in observed.coords:
        return {}
    trials = observed["trials"].drop_vars("trials")
    successes = (observed.drop_vars("trials").fillna(0) * trials).round()
    limits = confidence_sequence(successes, trials, confidence=confidence).drop_attrs()
    return anytime_of_limits(limits, requirement, better, dim)


def anytime_of_limits(limits: xr.DataArray, requirement: float, better: int, dim: str) -> dict[str, xr.DataArray]:
    """Return the intersection of limits (…, ci_bound) that hold at all looks at once, and the verdict at each look."""
    axis = limits.get_axis_num(dim)
    lower, upper = (limits.sel(ci_bound=end, drop=True) for end in ("lower", "upper"))
    lower = lower.copy(data=np.maximum.accumulate(lower.values, axis))
    upper = upper.copy(data=np.minimum.accumulate(upper.values, axis))
    common = lower <= upper
    worst, best = (better * limit for limit in (lower, upper)[::better])
    met, missed = worst >= better * requirement, best < better * requirement
    verdict = np.select([~common, met, missed], ["contradicted", "met", "missed"], "open")
    return {
        "anytime_lower": lower.where(common),
        "anytime_upper": upper.where(common),
        "anytime_verdict": lower.copy(data=verdict),
    }


def anytime_in_words(data: xr.Dataset) -> str:
    """Return a sentence on the last look of a `bayesperf.monitor`."""
    facts = data.attrs
    name = f"the {facts['title']}" if "versus" in facts else facts["title"]
    relation = AT_BEST[better_sign(facts["greater_is_better"])]
    if "anytime_verdict" not in data:
        return (
            f"As {name} is not a proportion of independent examples, no interval here is valid however often you look."
        )
    last = data.isel({facts["dim"]: -1})
    bound, error = f"{relation} {facts['requirement']:g}", percentage(round(1 - facts["ci_prob"], 9))
    verdicts, names = last["anytime_verdict"].values.ravel().tolist(), places_in_words(last["anytime_verdict"])
    opening = f"However often you look, with {percentage(facts['ci_prob'])} confidence"
    if len(names) > _MOST_PLACES:
        counts = enumerated([f"{verdict} for {count}" for verdict, count in Counter(verdicts).items()])
        return f"{opening} each, the requirement ({name} {bound}) is {counts}."
    limits = zip(last["anytime_lower"].values.ravel(), last["anytime_upper"].values.ravel(), strict=True)
    each = [
        _limits_in_words(verdict, low, high, bound, error)
        for verdict, (low, high) in zip(verdicts, limits, strict=True)
    ]
    found = each[0] if names == [""] else "; ".join(f"for {n} {text}" for n, text in zip(names, each, strict=True))
    return f"{opening} {name} is {found}."


def _limits_in_words(verdict: str, lower: float, upper: float, bound: str, error: str) -> str:
    if verdict == "contradicted":
        return f"nowhere: no value is in the intervals of all looks. It has changed, or this is one of the {error}"
    saying = {
        "met": f"and so {bound}",
        "missed": f"and so not {bound}",
        "open": f"which leaves open whether it is {bound}",
    }[verdict]
    low, high = (format_value(limit, upper - lower) for limit in (lower, upper))
    return f"between {low} and {high}, {saying}"
