"""Curves over thresholds and operating conditions, and the areas under them."""

from bayesperf.curves.areas.areas_of_readers import ReaderAreas, reader_areas
from bayesperf.curves.areas.auc import auc_from_summary, roc_auc
from bayesperf.curves.areas.weighted_scores import weighted_score
from bayesperf.curves.curve import Curve
from bayesperf.curves.decisions.benefit_curve import DecisionCurve, decision_curve
from bayesperf.curves.decisions.choosing import ChosenThreshold, abstention, choose_threshold
from bayesperf.curves.expected_performance.criteria import break_even_threshold, equal_error_threshold
from bayesperf.curves.expected_performance.estimating import epc, epc_a_posteriori
from bayesperf.curves.expected_performance.performance_curve import ExpectedPerformanceCurve
from bayesperf.curves.reliability.before_labels import expected_metrics
from bayesperf.curves.reliability.calibrating import calibration
from bayesperf.curves.reliability.frequency_curve import ReliabilityCurve, reliability_curve
from bayesperf.curves.reliability.measures import Calibration
from bayesperf.curves.reliability.recalibration import Recalibration, recalibrate
from bayesperf.curves.roc.summary_curve import SummaryCurve, summary_roc
from bayesperf.curves.roc.threshold_curve import ThresholdCurve, det_curve, precision_recall_curve, roc_curve
from bayesperf.data.binned_scores import BinnedScores

__all__ = [
    "BinnedScores",
    "Calibration",
    "ChosenThreshold",
    "Curve",
    "DecisionCurve",
    "ExpectedPerformanceCurve",
    "ReaderAreas",
    "Recalibration",
    "ReliabilityCurve",
    "SummaryCurve",
    "ThresholdCurve",
    "abstention",
    "auc_from_summary",
    "break_even_threshold",
    "calibration",
    "choose_threshold",
    "decision_curve",
    "det_curve",
    "epc",
    "epc_a_posteriori",
    "equal_error_threshold",
    "expected_metrics",
    "precision_recall_curve",
    "reader_areas",
    "recalibrate",
    "reliability_curve",
    "roc_auc",
    "roc_curve",
    "summary_roc",
    "weighted_score",
]


def __dir__() -> list[str]:
    return __all__
