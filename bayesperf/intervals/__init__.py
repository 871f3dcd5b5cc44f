"""Confidence intervals from the frequentist literature, to compare the posteriors with.

A 95 % confidence interval covers the truth in 95 % of repetitions, or would if its method were exact; it is not a
probability statement about the truth. The delta method (`delta`) and the bootstrap (`bootstrap`) work for any metric.
Rates and F1 have better ones: `proportion`, `proportion_difference`, `wilson_f1`. All of these are valid at one look;
the intervals of `confidence_sequence` are valid for a rate however often you look, those of `difference_sequence` and
`paired_sequence` for the difference of two.
"""

from bayesperf.intervals.bootstrap_intervals import bootstrap
from bayesperf.intervals.confidence_sequences import confidence_sequence
from bayesperf.intervals.delta_method import delta, wilson_f1
from bayesperf.intervals.difference_sequences import difference_sequence, paired_sequence
from bayesperf.intervals.proportions import proportion, proportion_difference

__all__ = [
    "bootstrap",
    "confidence_sequence",
    "delta",
    "difference_sequence",
    "paired_sequence",
    "proportion",
    "proportion_difference",
    "wilson_f1",
]


def __dir__() -> list[str]:
    return __all__
