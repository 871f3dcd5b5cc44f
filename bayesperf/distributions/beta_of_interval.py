"""The Beta distribution with a given interval."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincc

from bayesperf.core.errors import InputError

# Logarithms of the smallest and the largest parameter in the search.
_ENDS = -15.0, 60.0
_ENDS_OF_A = -6.0, 25.0


def beta_of_interval(name: str, lower: float, upper: float, prob: float) -> tuple[float, float]:
    """Return a and b of the Beta with half of 1 − prob below an interval, and half above it.

    There is exactly one: each a has one b that puts the right mass below `lower`, and as a grows, less mass lies above
    `upper`.

    Parameters
    ----------
    name : str
        Name of the quantity with this interval, for errors.
    lower, upper, prob : float
        Ends and probability, between 0 and 1.

    Raises
    ------
    ValueError
        If the interval is so narrow, or so wide for its probability, that its parameters cannot be computed.
    """
    from scipy.optimize import brentq

    tail = (1 - prob) / 2

    def of_lower(log_a: float) -> float:
        """Return the log b that puts `tail` below the interval."""
        return float(brentq(lambda log_b: betainc(np.exp(log_a), np.exp(log_b), lower) - tail, *_ENDS, xtol=1e-12))

    def too_much_above(log_a: float) -> float:
        return float(betaincc(np.exp(log_a), np.exp(of_lower(log_a)), upper) - tail)

    try:
        log_a = brentq(too_much_above, *_ENDS_OF_A, xtol=1e-12)
    except ValueError:
        raise InputError(
            name, f"no Beta has {prob:g} of its probability between {lower} and {upper}.", "Give a wider interval."
        ) from None
    return float(np.exp(log_a)), float(np.exp(of_lower(log_a)))
