"""Comparisons in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesperf.core.words import (
    LIKELIHOODS,
    LOOKS_BETTER,
    OPEN,
    SHRUNK,
    SHRUNK_IN_FAMILIES,
    chance,
    estimate,
    format_value,
    likelihood,
    places_in_words,
    printable,
    sentence,
)

if TYPE_CHECKING:
    from bayesperf.comparison.result import Comparison
    from bayesperf.posteriors.marginal import Kind

# With more places along the leading dims than these, the sentences cover only the first.
_MOST_PLACES = 4
# Shrinking more systems than these takes too long for a sentence.
_MOST_SHRUNK = 200


# Below this, a probability of being the best says nothing of which system is the next.
_HARDLY_EVER = 0.001
# What is said of a contrast without a width.
_NO_CERTAINTY = "It does not vary in these data, so its interval has no width; that is no certainty about others."


def comparison_in_words(comparison: Comparison, ci_prob: float, ci_kind: Kind, of_luck: bool = True) -> str:
    """Return one to three sentences on a comparison, for each of the first few places along its leading dims.

    See `Comparison.in_words`. The last sentence is on the luck of the best of several, unless the text says it
    elsewhere.
    """
    leading = comparison.contrast.leading
    leading = leading.isel(pair=0, drop=True) if comparison.many else leading
    say = _many_in_words if len(comparison.names) > 2 else _two_in_words
    places = places_in_words(leading)
    texts = [
        f"{place}: {say(comparison, at, ci_prob, ci_kind)}" if place else say(comparison, at, ci_prob, ci_kind)
        for at, place in zip(np.ndindex(leading.shape), places[:_MOST_PLACES], strict=False)
    ]
    rest, luck = len(places) - len(texts), luck_in_words(comparison) if of_luck else ""
    return " ".join([*texts, *([f"And {rest} more."] if rest else []), *filter(None, [luck])])


def luck_in_words(comparison: Comparison) -> str:
    """Say how much better the best of several systems looks than it is, because of selection; nothing of two."""
    systems = comparison.systems
    if len(comparison.names) < 3 or comparison.quantity.greater_is_better is None:
        return ""
    if comparison.shrunk is not None and systems is not None:
        return SHRUNK if systems.families is None else SHRUNK_IN_FAMILIES
    best = comparison.prob_best.values
    if systems is None or best.ndim > 1 or best.size > _MOST_SHRUNK or not systems.shrinkable:
        return LOOKS_BETTER
    first = int(best.argmax())
    excess = comparison.quantity.better * float(systems.optimism()[first])
    if not np.isfinite(excess):
        return LOOKS_BETTER
    size = f"about {format_value(excess)}" if excess >= 0.0005 else "less than 0.001"
    worse = "below" if comparison.quantity.better > 0 else "above"
    return sentence(
        f"the best of {best.size} is probably partly lucky: on new examples expect {_names(comparison)[first]} to "
        f"score {size} {worse} its mean"
    )


def _two_in_words(comparison: Comparison, at: tuple[int, ...], ci_prob: float, ci_kind: Kind) -> str:
    """Say which of two systems is better, whether it matters, and what the difference is."""
    if _are_equal(comparison, at):
        a, b = _names(comparison)
        what = "ratio is exactly 1" if comparison.of_ratio else "difference is exactly 0"
        return (
            f"{sentence(f'on {comparison.title}, {a} and {b} are alike in these data: their {what}')} {_NO_CERTAINTY}"
        )
    pair = (*at, 0, 1) if comparison.many else at
    greater = float(comparison.prob_greater.values[pair])
    below, inside, above = comparison.prob_rope.values[pair]
    first = not second_is_better(comparison, greater)
    a, b = _names(comparison) if first else _names(comparison)[::-1]
    probability, beyond = max(greater, 1 - greater), above if greater >= 0.5 else below
    better = "higher" if comparison.quantity.greater_is_better is None else "better"
    word, on = likelihood(probability), f"on {comparison.title},"
    which = f"it is open whether {a} is {better} than {b}" if word == OPEN else f"{a} is {word} {better} than {b}"
    matters = _matters(comparison, inside, beyond, "and" if word == OPEN else "but") if comparison.rope else ""
    better_one = sentence(f"{on} {which} (probability {chance(probability)}){matters}")
    as_asked = not comparison.many or comparison.baseline is not None
    difference = _difference(comparison, (0, 1) if as_asked or first else (1, 0), at, ci_prob, ci_kind)
    return f"{better_one} {difference}{f' {_NO_CERTAINTY}' if _moments(comparison, at)[1] == 0 else ''}"


def _are_equal(comparison: Comparison, at: tuple[int, ...]) -> bool:
    """Whether two systems never differ, as the areas of scores that order the examples alike do not."""
    mean, sd = _moments(comparison, at)
    return sd == 0 and mean == (1 if comparison.of_ratio else 0)


def _moments(comparison: Comparison, at: tuple[int, ...]) -> tuple[float, float]:
    """Return the mean and the standard deviation of the contrast of two systems."""
    contrast = comparison.contrast.isel(pair=0) if comparison.many else comparison.contrast
    mean, sd = (float(np.asarray(each.values)[at]) for each in (contrast.mean(), contrast.sd()))
    return mean, sd


def _matters(comparison: Comparison, inside: float, beyond: float, although: str, over: str = "") -> str:
    """Say whether the contrast is beyond the region of practical equivalence, in the better direction; `over` whom."""
    low, high = comparison.region
    small, within, further = "difference is {} too small", f"within ±{high:g}", f"by more than {high:g}"
    exceeds = f"the difference exceeds {high:g}"
    if comparison.of_ratio:
        small, within, further = (
            "ratio is {} too near to 1",
            f"from {low:.3g} to {high:.3g}",
            f"by a factor of more than {high:.3g}",
        )
        exceeds = f"it is {further}"
    if likelihood(inside) in LIKELIHOODS:
        size = small.format(likelihood(inside))
        return f", {although} the {size} to matter: with probability {chance(inside)} it is {within}"
    if likelihood(beyond) not in LIKELIHOODS:
        return f", {although} that may not matter: with probability {chance(beyond)} {exceeds}"
    return f", and {over}{further} with probability {chance(beyond)}"


def _many_in_words(comparison: Comparison, at: tuple[int, ...], ci_prob: float, ci_kind: Kind) -> str:
    """Say which of several systems is the best, and by how much it differs from the next, or from the baseline."""
    metric, names = comparison.title, _names(comparison)
    if comparison.quantity.greater_is_better is None:
        return sentence(f"neither more nor less {metric} is better, so that none of {len(names)} is the best")
    best = comparison.prob_best.values[at]
    rank = comparison.expected_rank.values[at]
    # Of those that are hardly ever the best, the next is the one that ranks next.
    first, second = np.lexsort((rank, -np.where(best < _HARDLY_EVER, 0, best)))[:2]
    word, (p, next_p) = likelihood(best[first]), (chance(best[first]), chance(best[second]))
    which = (
        f"{names[first]} is {word} the best of {len(names)} (probability {p}; {names[second]} follows with {next_p})"
        if word in LIKELIHOODS
        else f"it is open which of {len(names)} is the best: {names[first]} ({p}) or {names[second]} ({next_p})"
    )
    if comparison.baseline is not None:
        return f"{sentence(f'on {metric}, {which}')} {_best_and_baseline(comparison, at, ci_prob, ci_kind)}"
    matters = ""
    if comparison.rope:
        below, inside, above = comparison.prob_rope.values[(*at, first, second)]
        beyond, although = above if comparison.quantity.better > 0 else below, "but" if word in LIKELIHOODS else "and"
        over = f"{'' if word in LIKELIHOODS else f'{names[first]} '}is better than {names[second]} "
        matters = _matters(comparison, inside, beyond, although, over)
    difference = _difference(comparison, (first, second), at, ci_prob, ci_kind)
    return f"{sentence(f'on {metric}, {which}{matters}')} {difference}"


def _best_and_baseline(comparison: Comparison, at: tuple[int, ...], ci_prob: float, ci_kind: Kind) -> str:
    """Say whether the best of the other systems is better than the baseline, which is the last, and by how much."""
    names, last = _names(comparison), len(comparison.names) - 1
    best = int(np.argmax(comparison.prob_best.values[at][:last]))
    better = float(comparison.prob_better.values[(*at, best, last)])
    below, inside, above = comparison.prob_rope.values[(*at, best, last)]
    beyond = above if (better >= 0.5) == (comparison.quantity.better > 0) else below
    word, is_better = likelihood(max(better, 1 - better)), better >= 0.5
    which = (
        f"it is open whether {names[best]} is better"
        if word == OPEN
        else f"{names[best]} is {word} {'better' if is_better else 'worse'}"
    )
    matters = _matters(comparison, inside, beyond, "and" if word == OPEN else "but") if comparison.rope else ""
    probability = f"probability {chance(max(better, 1 - better))}"
    said = f"Compared with the baseline, {names[last]}, {which} ({probability}){matters}."
    return f"{said} {_difference(comparison, (best, last), at, ci_prob, ci_kind)}"


def _difference(
    comparison: Comparison, pair: tuple[int, int], at: tuple[int, ...], ci_prob: float, ci_kind: Kind
) -> str:
    """State the contrast of two systems, the first and the second of a pair."""
    names, found = _names(comparison), _figures(comparison, pair, at, ci_prob, ci_kind)
    figures = estimate(found["mean"], found["ci_lower"], found["ci_upper"], ci_prob, ci_kind)
    what, sign = ("ratio", "/") if comparison.of_ratio else ("difference", "−")
    return sentence(f"the {what}, {names[pair[0]]} {sign} {names[pair[1]]}, is {figures}")


def _figures(
    comparison: Comparison, pair: tuple[int, int], at: tuple[int, ...], ci_prob: float, ci_kind: Kind
) -> dict[str, float]:
    """Return mean (or, if it diverges, median) and interval of the contrast of two systems, in whichever order."""
    contrast, (first, second), turned = comparison.contrast, sorted(pair), pair[0] > pair[1]
    if turned and comparison.of_ratio and comparison.pair is not None:
        contrast = comparison.pair.ratio_of(comparison.dim, pair)
    elif comparison.many:
        count = len(comparison.names)
        # The number of the pair among those above the diagonal, row by row.
        contrast = contrast.isel(pair=first * count - first * (first + 1) // 2 + second - first - 1)
    middle, (lower, upper) = contrast.mean().values[at], contrast.interval(ci_prob, ci_kind).values[at]
    middle = middle if np.isfinite(middle) else contrast.median().values[at]
    figures = {"mean": middle, "ci_lower": lower, "ci_upper": upper}
    return opposite(figures) if turned and not comparison.of_ratio else figures


# ── The better one first ──

# Figures of a − b, and those of b − a with another sign; probabilities, and those of b − a.
_WITH_ANOTHER_SIGN = {"mean": "mean", "median": "median", "ci_lower": "ci_upper", "ci_upper": "ci_lower"}
_EXCHANGED = {"a": "b", "b": "a", "below": "above", "above": "below"}


def second_is_better(comparison: Comparison, greater: float) -> bool:
    """Return whether b comes first in words and tables, because it is the better one, given P(a > b).

    If the two are equal a comes first, whatever the rounding.
    """
    return comparison.quantity.better * (greater - 0.5) < -1e-9


def opposite(figures: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the figures of b − a, given the figures of a − b by the names of the table's columns, in its order."""
    found = dict(figures)
    found |= {name: -figures[of] for name, of in _WITH_ANOTHER_SIGN.items() if of in figures}
    found |= {name: figures[of] for name, of in _EXCHANGED.items() if of in figures}
    return found | ({"prob_greater": 1 - figures["prob_greater"]} if "prob_greater" in figures else {})


def _names(comparison: Comparison) -> list[str]:
    return [printable(str(name)) for name in comparison.names]
