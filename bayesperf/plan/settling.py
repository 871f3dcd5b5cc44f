"""How probably more data would show on which side of 0 a quantity lies, its posterior taken for normal."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array


def prob_settled(away: float, variance: float, left: Array, confidence: float) -> Array:
    """Return the probability that more data will show on which side of 0 a quantity lies.

    The posterior is normal with mean `away` and the given variance, of which the data will leave a part. The mean to
    come is then normal about the present one, with the variance that the data take away.
    """
    margin, moves = special.ndtri(confidence) * np.sqrt(left), np.sqrt(np.maximum(variance - left, 1e-300))
    return np.asarray(sum(special.ndtr((side * away - margin) / moves) for side in (1, -1)))


def questions_to_settle(mean: float, sd: float, questions: int, confidence: float, assurance: float) -> float:
    """Return how many more questions would show which of two systems is better, with a probability.

    The posterior of their difference, by the questions asked so far, is taken for a normal with the given mean and
    deviation, whose variance falls as the number of questions rises; infinite if it takes more than ten thousand times
    as many. `confidence` is to be reached, and `assurance` how probable that is to be.
    """
    if abs(mean) >= special.ndtri(confidence) * sd:
        return 0
    times = np.geomspace(1 / questions, 1e4, 2_000)
    enough = np.flatnonzero(prob_settled(mean, sd**2, sd**2 / (1 + times), confidence) >= assurance)
    return float(np.ceil(times[enough[0]] * questions)) if len(enough) else np.inf
