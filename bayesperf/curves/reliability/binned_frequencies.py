"""The frequency of positives in bins of the probability, with the posterior interval of each."""

from __future__ import annotations

from bayesperf.core.arrays import Array
from bayesperf.curves.bands import widened
from bayesperf.curves.reliability.probability_counts import ProbabilityCounts
from bayesperf.intervals.proportions import proportion


def binned_band(bins: ProbabilityCounts, prob: float, kind: str) -> Array:
    """Return the equal-tailed posterior interval of the frequency in each bin, (B, 2), from Jeffreys' prior.

    The intervals of a simultaneous band have the probability prob^(1/B) each (Šidák 1967): they hold all B frequencies
    at once with the probability `prob`, as posteriors of different examples are independent. An interval begins at 0
    where a bin has no positives, and ends at 1 where it has no negatives (Brown, Cai & DasGupta 2001).
    """
    each = prob ** (1 / len(bins.values)) if kind == "simultaneous" else prob
    bounds: Array = proportion(bins.positives, bins.examples, confidence=each, method="jeffreys")
    return widened(bounds, bins.positives / bins.examples)
