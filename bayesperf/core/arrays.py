"""Types of arrays, by what they hold: real values, numbers of examples, positions among labels, truth values."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.intp]
Booleans = NDArray[np.bool_]
# Real numbers, or complex ones where formulas are differentiated by the complex-step method.
Numbers = NDArray[Any]


def sums_of_others(values: Numbers) -> Numbers:
    """Return the sum of all other elements along the last axis, by addition only.

    Differences from the total would keep few digits where one element is nearly all of it.

    Examples
    --------
    >>> sums_of_others(np.array([1.0, 2, 4]))
    array([6., 5., 3.])
    """
    others = np.zeros_like(values)
    others[..., 1:] += np.cumsum(values[..., :-1], -1)
    others[..., :-1] += np.cumsum(values[..., :0:-1], -1)[..., ::-1]
    return others


def blocks(n: int, width: int, most: int = 2**21) -> Iterator[slice]:
    """Yield slices of n draws of which arrays of the given width have no more elements than `most`."""
    size = max(1, most // width)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
