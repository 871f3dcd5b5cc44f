"""Metrics of a confusion matrix: `names` lists them, `table` shows their facts, `register` adds one of your own."""

from bayesperf.metrics.formulas import cost, fbeta, score
from bayesperf.metrics.registry import Metric, get, names, register, table, unregister

__all__ = [
    "Metric",
    "cost",
    "fbeta",
    "get",
    "names",
    "register",
    "score",
    "table",
    "unregister",
]


def __dir__() -> list[str]:
    return __all__
