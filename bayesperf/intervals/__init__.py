"""Confidence intervals of the frequentist literature: what the posteriors are to be held against.

A confidence interval of 95 % covers the truth in 95 % of repetitions, or would if its method were exact; it is no
probability of what the truth is. Of any metric: the delta method (`delta`) and the bootstrap (`bootstrap`). Of a rate
and of F1 there are better ones: `proportion`, `proportion_difference`, `wilson_f1`. These hold at one look;
`confidence_sequence` has intervals of a rate that hold however often one looks.
"""

from bayesperf.intervals.bootstrap_intervals import bootstrap
from bayesperf.intervals.confidence_sequences import confidence_sequence
from bayesperf.intervals.delta_method import delta, wilson_f1
from bayesperf.intervals.proportions import proportion, proportion_difference

__all__ = [
    "bootstrap",
    "confidence_sequence",
    "delta",
    "proportion",
    "proportion_difference",
    "wilson_f1",
]


def __dir__() -> list[str]:
    return __all__
