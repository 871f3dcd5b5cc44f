"""Exponentials and logarithms in plain arithmetic, of which a processor computes several at once.

Those of the C library are computed one after the other, and take more than half the time of a density. These are within
two units in the last place. Functions that Numba compiles call them; importing this file imports Numba.

Bits of a number from the 52nd on are n + 1023 for its power of two, 2ⁿ. A number from 2⁵² on has no fraction.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

# log 2 as a sum of two numbers, of which the first times a whole number up to 2,000 is exact.
_LOG_2, _REST_OF_LOG_2 = 0.6931471803691238, 1.9082149292705877e-10
_OVER_LOG_2 = float(1 / np.log(2))
_BITS_OF_1 = np.float64(1.0).view(np.int64)
_BITS_OF_ROOT_HALF = np.float64(np.sqrt(0.5)).view(np.int64)
# To add this to a smaller number rounds it.
_WHOLE = 1.5 * 2.0**52
# Where exp is 0, and where it is infinite; less than the least number, a number has lost digits.
_LEAST_POWER, _GREATEST_POWER, _LEAST = -708.0, 709.4, 2.3e-308

_inlined = register_jitable(error_model="numpy", fastmath={"contract"}, forceinline=True)


@_inlined
def exp(x: Any) -> Any:
    """Return eˣ = 2ⁿ eʳ, for n = round(x / log 2) and |r| < 0.35, by the series of eʳ; below e⁻⁷⁰⁸ it is 0."""
    within = x if x > _LEAST_POWER else _LEAST_POWER
    within = within if within < _GREATEST_POWER else _GREATEST_POWER
    rounded = within * _OVER_LOG_2 + _WHOLE
    n = rounded - _WHOLE
    r = (within - n * _LOG_2) - n * _REST_OF_LOG_2
    power = np.int64((np.float64(rounded).view(np.int64) << 52) + _BITS_OF_1).view(np.float64)
    tail = 1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * (1 / 39916800 + r * (
        1 / 479001600 + r * (1 / 6227020800))))))  # fmt: skip
    series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r * tail))))))
    y = series * power if x < _GREATEST_POWER else np.inf
    return y if x > _LEAST_POWER else (0.0 if x == x else x)


@_inlined
def log(x: Any) -> Any:
    """Return log x = n log 2 + 2 artanh s, for x = 2ⁿ m, ½ ≤ m² < 2 and s = (m − 1)/(m + 1), by the series of artanh.

    Of a number that has lost digits it is −∞, as of 0.
    """
    bits = np.float64(x).view(np.int64)
    n = (bits - _BITS_OF_ROOT_HALF) >> 52
    m = np.int64(bits - (n << 52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    tail = 2 / 13 + z * (2 / 15 + z * (2 / 17 + z * (2 / 19 + z * (2 / 21))))
    series = 2 / 3 + z * (2 / 5 + z * (2 / 7 + z * (2 / 9 + z * (2 / 11 + z * tail))))
    y = np.float64(n) * _LOG_2 + (np.float64(n) * _REST_OF_LOG_2 + (2.0 * s + s * z * series))
    y = y if x < np.inf else x
    return y if x > _LEAST else (-np.inf if x > -_LEAST else np.nan)


@_inlined
def log1p(x: Any) -> Any:
    """Return log (1 + x): the logarithm of the rounded sum, and what rounding has lost."""
    y = 1.0 + x
    return log(y) + ((x - (y - 1.0)) / y if 0.0 < y < np.inf else 0.0)
