"""Figures: densities and forests of metrics, comparisons, shrinkage of groups, dependence, studies of coverage.

No statistics in here: what is drawn is computed elsewhere. Every function returns a Matplotlib figure.
"""

from bayesperf.plots._calibration import calibration
from bayesperf.plots._comparison import comparison, difference, prob_matrix, ranks, simplex
from bayesperf.plots._epc import epc
from bayesperf.plots._figures import density, forest, panel
from bayesperf.plots._planning import monitor, plan
from bayesperf.plots._roc import curve
from bayesperf.plots._sequences import autocorrelation
from bayesperf.plots._shrinkage import shrinkage
from bayesperf.plots._studies import (
    coverage,
    coverage_over,
    f1_coverage,
    predictive_spread,
    rate_coverage,
    repeated_splits,
    sequential,
)

__all__ = [
    "autocorrelation",
    "calibration",
    "comparison",
    "coverage",
    "coverage_over",
    "curve",
    "density",
    "difference",
    "epc",
    "f1_coverage",
    "forest",
    "monitor",
    "panel",
    "plan",
    "predictive_spread",
    "prob_matrix",
    "ranks",
    "rate_coverage",
    "repeated_splits",
    "sequential",
    "shrinkage",
    "simplex",
]
