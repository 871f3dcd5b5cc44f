"""Curves over thresholds and operating conditions, and the areas under them."""

from bayesperf.curves._compared_areas import compare_auc as compare_auc
from bayesperf.curves._criteria import equal_error_threshold as equal_error_threshold
from bayesperf.curves._epc import ExpectedPerformanceCurve as ExpectedPerformanceCurve
from bayesperf.curves._epc import epc as epc
from bayesperf.curves._epc_comparison import ExpectedPerformanceComparison as ExpectedPerformanceComparison
from bayesperf.curves._epc_comparison import epc_compare as epc_compare
from bayesperf.curves._operating import OperatingPoint as OperatingPoint
from bayesperf.curves._weighted import weighted_score as weighted_score
from bayesperf.curves.auc import roc_auc as roc_auc
from bayesperf.curves.roc import Curve as Curve
from bayesperf.curves.roc import det_curve as det_curve
from bayesperf.curves.roc import precision_recall_curve as precision_recall_curve
from bayesperf.curves.roc import roc_curve as roc_curve
