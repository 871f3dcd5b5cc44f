"""The smallest number from which on something holds, of what may rise with the teeth of a saw."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The greatest answer that is looked for.
MOST = 2**20
# Up to so many there are teeth in any case; an answer that need not be exact is known to a fiftieth.
_FEW, _COARSE = 32, 50


def from_all(holds: Callable[[int], NDArray[np.bool_]]) -> int | None:
    """Return the smallest n from which on it holds, up to twice as far at least; None if it is beyond `MOST`.

    Parameters
    ----------
    holds : callable
        From a number to whether it holds at 0, 1, … and that number.
    """
    most = 2048
    while most <= 2 * MOST:
        n = int(np.flatnonzero(np.append(True, ~holds(most)))[-1])
        if n <= most // 2:
            return n
        most *= 4
    return None


def from_some(holds: Callable[[int], Any], *, exact: bool = True, teeth: bool = False) -> int | None:
    """Return the smallest n from which on it holds, trying numbers one at a time; None if it is beyond `MOST`.

    Doubles, then halves.

    Parameters
    ----------
    holds : callable
        From a number to whether it holds there.
    exact : bool
        Whether the answer is wanted to the last unit.
    teeth : bool
        Whether what has begun to hold may fail once more soon after: then every number up to 2√n beyond is tried too.
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
    if not teeth and high > _FEW:
        return high
    while fails := [n for n in range(high + 1, high + 2 * math.isqrt(high) + 2) if not holds(n)]:
        high = fails[-1] + 1
    return high
