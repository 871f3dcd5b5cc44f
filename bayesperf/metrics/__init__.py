"""Metrics of a confusion matrix: `names` lists them, `table` describes them, and `register` adds a new one."""

from bayesperf.metrics.formulas import cost, fbeta, net_benefit
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import score
from bayesperf.metrics.registry import get, names, register, table, unregister

__all__ = [
    "Metric",
    "cost",
    "fbeta",
    "get",
    "names",
    "net_benefit",
    "register",
    "score",
    "table",
    "unregister",
]


def __dir__() -> list[str]:
    return __all__
