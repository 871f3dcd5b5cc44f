"""Figures: confusion matrices, densities and forests of metrics, comparisons, groups, dependence, studies of coverage.

This room has no statistics: other rooms compute what it draws. Every function returns a Matplotlib figure, and takes
``ax``: existing axes for the only panel, or a sequence with one for each panel.
"""

from types import FunctionType

from bayesperf.plots.comparisons import *
from bayesperf.plots.examples import *
from bayesperf.plots.expected_performance import *
from bayesperf.plots.group_estimates import *
from bayesperf.plots.marginals import *
from bayesperf.plots.planned_examples import *
from bayesperf.plots.reliability_diagrams import *
from bayesperf.plots.roc import *
from bayesperf.plots.sensitivities import *
from bayesperf.plots.studies import *
from bayesperf.plots.studies_of_a_test import *
from bayesperf.plots.thresholds import *

# A file's own `__all__` says which of its functions are public.
__all__ = sorted(name for name, thing in list(vars().items()) if isinstance(thing, FunctionType))


def __dir__() -> list[str]:
    return __all__
