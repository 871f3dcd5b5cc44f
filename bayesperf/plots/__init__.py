"""Figures: densities and forests of metrics, comparisons, shrinkage of groups, dependence, calibration of samplers.

No statistics in here: what is drawn is computed elsewhere. Every function returns a Matplotlib figure.
"""

from bayesperf.plots._calibration import calibration
from bayesperf.plots._comparison import comparison, difference, prob_matrix, ranks, simplex
from bayesperf.plots._epc import epc
from bayesperf.plots._figures import density, forest, panel
from bayesperf.plots._roc import curve
from bayesperf.plots._sequences import autocorrelation
from bayesperf.plots._shrinkage import shrinkage

__all__ = [
    "autocorrelation",
    "calibration",
    "comparison",
    "curve",
    "density",
    "difference",
    "epc",
    "forest",
    "panel",
    "prob_matrix",
    "ranks",
    "shrinkage",
    "simplex",
]
