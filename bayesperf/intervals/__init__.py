"""Confidence intervals of the frequentist literature: what the posteriors are to be held against.

A confidence interval of 95 % covers the truth in 95 % of repetitions, or would if its method were exact; it is no
probability of what the truth is. Of any metric: the delta method (`delta`) and the bootstrap (`bootstrap`). Of a rate
and of F1 there are better ones: `proportion`, `proportion_difference`, `wilson_f1`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
