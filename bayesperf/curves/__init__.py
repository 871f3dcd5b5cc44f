"""Curves over thresholds and operating conditions, and the areas under them."""

from bayesperf.curves.areas.auc import roc_auc
from bayesperf.curves.areas.auc_from_summary import auc_from_summary
from bayesperf.curves.areas.weighted_score import weighted_score
from bayesperf.curves.chosen_thresholds.abstention import Abstention, abstention
from bayesperf.curves.chosen_thresholds.threshold import ChosenThreshold, choose_threshold
from bayesperf.curves.decisions.curve import DecisionCurve, decision_curve
from bayesperf.curves.expected_performance.comparison import ExpectedPerformanceComparison, epc_compare
from bayesperf.curves.expected_performance.criteria import break_even_threshold, equal_error_threshold
from bayesperf.curves.expected_performance.curve import ExpectedPerformanceCurve
from bayesperf.curves.expected_performance.epc import epc, epc_a_posteriori
from bayesperf.curves.reliability.calibration import Calibration, calibration
from bayesperf.curves.reliability.curve import ReliabilityCurve, ReliabilityCurves, reliability_curve
from bayesperf.curves.reliability.recalibration import Recalibration, recalibrate
from bayesperf.curves.roc.curve import Curve, det_curve, precision_recall_curve, roc_curve
from bayesperf.curves.roc.operating_point import OperatingPoint

__all__ = [
    "Abstention",
    "Calibration",
    "ChosenThreshold",
    "Curve",
    "DecisionCurve",
    "ExpectedPerformanceComparison",
    "ExpectedPerformanceCurve",
    "OperatingPoint",
    "Recalibration",
    "ReliabilityCurve",
    "ReliabilityCurves",
    "abstention",
    "auc_from_summary",
    "break_even_threshold",
    "calibration",
    "choose_threshold",
    "decision_curve",
    "det_curve",
    "epc",
    "epc_a_posteriori",
    "epc_compare",
    "equal_error_threshold",
    "precision_recall_curve",
    "recalibrate",
    "reliability_curve",
    "roc_auc",
    "roc_curve",
    "weighted_score",
]


def __dir__() -> list[str]:
    return __all__
