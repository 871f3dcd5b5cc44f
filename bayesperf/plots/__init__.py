"""Figures: confusion matrices, densities and forests of metrics, comparisons, groups, dependence, studies of coverage.

No statistics in here: what is drawn is computed elsewhere. Every function returns a Matplotlib figure, and takes
``ax``: axes in hand, of the only panel or a sequence of as many as there are panels.
"""

from bayesperf.plots.comparisons import comparison, difference, prob_matrix, ranks, simplex, standings
from bayesperf.plots.examples import autocorrelation, confusion_matrix
from bayesperf.plots.expected_performance import epc
from bayesperf.plots.group_estimates import shrinkage, slices
from bayesperf.plots.marginals import density, forest, joint, panel
from bayesperf.plots.planned_examples import attempts, monitor, plan
from bayesperf.plots.reliability_diagrams import calibration, recalibration, reliability
from bayesperf.plots.roc import curve
from bayesperf.plots.sensitivities import noise_sensitivity, prior, prior_sensitivity
from bayesperf.plots.studies import (
    coverage,
    coverage_over,
    f1_coverage,
    predictive_spread,
    rate_coverage,
    repeated_splits,
    sequential,
    simulation_based_calibration,
    split_scores,
)
from bayesperf.plots.thresholds import decision_curve, score_regions

__all__ = [
    "attempts",
    "autocorrelation",
    "calibration",
    "comparison",
    "confusion_matrix",
    "coverage",
    "coverage_over",
    "curve",
    "decision_curve",
    "density",
    "difference",
    "epc",
    "f1_coverage",
    "forest",
    "joint",
    "monitor",
    "noise_sensitivity",
    "panel",
    "plan",
    "predictive_spread",
    "prior",
    "prior_sensitivity",
    "prob_matrix",
    "ranks",
    "rate_coverage",
    "recalibration",
    "reliability",
    "repeated_splits",
    "score_regions",
    "sequential",
    "shrinkage",
    "simplex",
    "simulation_based_calibration",
    "slices",
    "split_scores",
    "standings",
]


def __dir__() -> list[str]:
    return __all__
