"""Figures: confusion matrices, densities and forests of metrics, comparisons, groups, dependence, studies of coverage.

No statistics in here: what is drawn is computed elsewhere. Every function returns a Matplotlib figure, and takes
``ax``: axes in hand, of the only panel or a sequence of as many as there are panels.
"""

from bayesperf.plots.comparisons import comparison, difference, prob_matrix, ranks, simplex
from bayesperf.plots.confusion_matrices import confusion_matrix
from bayesperf.plots.decisions import decision_curve
from bayesperf.plots.expected_performance import epc
from bayesperf.plots.joint_distributions import joint
from bayesperf.plots.marginals import density, forest, panel
from bayesperf.plots.noise_of_labels import label_noise
from bayesperf.plots.planning import monitor, plan
from bayesperf.plots.pooling import shrinkage
from bayesperf.plots.rank_histograms import simulation_based_calibration
from bayesperf.plots.ranked_systems import standings
from bayesperf.plots.regions_of_scores import score_regions
from bayesperf.plots.reliability_diagrams import calibration, recalibration, reliability
from bayesperf.plots.roc import curve
from bayesperf.plots.sensitivities import prior_sensitivity
from bayesperf.plots.sequences import autocorrelation
from bayesperf.plots.slice_intervals import slices
from bayesperf.plots.studies import (
    coverage,
    coverage_over,
    f1_coverage,
    predictive_spread,
    rate_coverage,
    repeated_splits,
    sequential,
    split_scores,
)

__all__ = [
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
    "label_noise",
    "monitor",
    "panel",
    "plan",
    "predictive_spread",
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
