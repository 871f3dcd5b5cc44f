"""Metrics of a confusion matrix: `names` lists them, `table` describes them, and `register` adds a new one."""

from typing import TYPE_CHECKING

import lazy_loader

from bayesperf.metrics.formulas import cost, fbeta, net_benefit, share_at_least
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import score
from bayesperf.metrics.registry import get, names, register, table, unregister

if TYPE_CHECKING:
    from bayesperf.posteriors.scorer import scorer

__all__ = [
    "Metric",
    "cost",
    "fbeta",
    "get",
    "names",
    "net_benefit",
    "register",
    "score",
    "scorer",
    "share_at_least",
    "table",
    "unregister",
]

# Asks a posterior, so it is lent by a room that uses this one.
__getattr__, *_ = lazy_loader.attach("bayesperf", submod_attrs={"posteriors.scorer": ["scorer"]})


def __dir__() -> list[str]:
    return __all__
