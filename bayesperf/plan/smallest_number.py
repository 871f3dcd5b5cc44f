"""The smallest number from which on a condition holds, where it may at first hold and fail by turns or never does."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Counts

# The greatest answer that is looked for.
MOST = 2**20
# Answers up to this are always checked for teeth; those that need not be exact are accurate to one part in fifty.
_FEW, _COARSE = 32, 50


def smallest_of_all(holds_up_to: Callable[[int], NDArray[np.bool_]], greatest: int | None = None) -> int | None:
    """Return the smallest n from which on a condition holds, looking at every number.

    `holds_up_to` says of a number whether the condition holds at 0, 1, … and that number. It holds at least up to twice
    the answer. None if the answer is above the greatest to look for, by default `MOST`.
    """
    most, greatest = 2048, MOST if greatest is None else greatest
    while most <= 2 * greatest:
        n = int(np.flatnonzero(np.append(True, ~holds_up_to(most)))[-1])
        if n <= most // 2:
            return n
        most *= 4
    return None


def smallest_by_bisection(holds: Callable[[int], Any], *, exact: bool = True, sawtooth: bool = False) -> int | None:
    """Return the smallest n from which on a condition holds, trying numbers one at a time; None if beyond `MOST`.

    The number is doubled until the condition holds there and at twice the number, and then bisected, to the last unit
    if `exact`. A `sawtooth` may fail once more soon after it first holds: every number up to 2√n beyond the answer is
    then tried too.
    """
    holds = cache(holds)
    high = 1
    while high <= MOST and not (holds(high) and holds(2 * high)):
        high *= 2
    if high > MOST:
        return None
    low = high // 2 if high > 1 else -1
    while high - low > max(1, 0 if exact else low // _COARSE):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    if not sawtooth and high > _FEW:
        return high
    while fails := [n for n in range(high + 1, high + 2 * math.isqrt(high) + 2) if not holds(n)]:
        high = fails[-1] + 1
    return high


def fewest_successes(shown: Callable[[Counts, Counts], NDArray[np.bool_]], trials: Counts) -> Counts:
    """Return the fewest successes of trials (m,) from which on something is shown; one more than these if none show it.

    `shown` says of successes and trials whether they show it; more successes then do, too.
    """
    low, high = np.zeros_like(trials), trials + 1
    while (unresolved := low < high).any():
        # Where low = high = n + 1 the middle is no number of successes, and nothing is left to decide.
        middle = np.minimum((low + high) // 2, trials)
        enough = shown(middle, trials)
        low, high = np.where(unresolved & ~enough, middle + 1, low), np.where(unresolved & enough, middle, high)
    return low
