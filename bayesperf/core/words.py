"""Words that tables, reports and figures share: how intervals and lists of values are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Kinds of intervals, by the values of `ci_kind`.
INTERVAL_KINDS = {"hdi": "highest-density", "eti": "equal-tailed"}

# What figures do not say by themselves if one looks again and again, or chooses the best.
REPEATED_LOOKS = (
    "A probability that is reached once, and need not be at the end, is reached by chance more often: of systems "
    "exactly at the requirement (recall 0.7, flat prior, 20 batches of 10 positives) 5 % have .95 at the end, but 19 % "
    "after one batch or another."
)
BEST_OF_MANY = (
    "Whichever is the best was chosen for its luck, too, and looks better than it is: of 50 systems of accuracy .80, "
    "judged by 200 examples each, the best has .86 on average, and its 95 % interval covers in 40 %."
)
CHOSEN_ON_THE_SAME = "A threshold looks better than it is by the examples that chose it: let other examples choose"


def percentage(probability: float) -> str:
    """Write a probability as a percentage, such as "95 %"."""
    return f"{100 * probability:g} %"


def interval_name(ci_prob: float, ci_kind: str) -> str:
    """Name an interval in full, such as "95 % highest-density interval"."""
    return f"{percentage(ci_prob)} {INTERVAL_KINDS[ci_kind]} interval"


def short_interval_name(ci_prob: float, ci_kind: str) -> str:
    """Name an interval by its abbreviation, such as "95 % HDI"."""
    return f"{percentage(ci_prob)} {ci_kind.upper()}"


def listed(values: Sequence[Any], most: int = 5) -> str:
    """Write values as part of a sentence: the first few, and how many more there are."""
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def printable(text: str) -> str:
    r"""Write text for a terminal: what would steer it, or not be seen, becomes a Python escape.

    Control characters, marks of text direction, line breaks, and blanks other than the plain one are escaped.

    Examples
    --------
    >>> print(printable("cat \x1b[31m\n"))
    cat \x1b[31m\n
    """
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
