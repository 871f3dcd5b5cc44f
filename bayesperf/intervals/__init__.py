"""Confidence intervals from the frequentist literature, to compare the posteriors with.

A 95 % confidence interval covers the truth in 95 % of repetitions, or would if its method were exact; it is not a
probability statement about the truth. The delta method (`delta`) and the bootstrap (`bootstrap`) work for any metric.
Rates and F1 have better ones: `proportion`, `proportion_difference`, `wilson_f1`. `prevalence` is of data that nobody
labelled. All of these are valid at one look;
the intervals of `confidence_sequence` are valid for a rate however often you look, those of `difference_sequence` and
`paired_sequence` for the difference of two.
"""

import lazy_loader

# Lent when it is asked for: the command line uses files of this room, and loads no other.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
