"""Groups of examples that share a population (folds, sites, images), by quadrature."""

from bayesperf.groups.accuracy_over_studies import MetaAnalysis, meta_analysis
from bayesperf.groups.averaging_labels import average_labels
from bayesperf.groups.few_items import pass_rate_of_new
from bayesperf.groups.parity import Parity, parity
from bayesperf.groups.pooling import Pooled, pool
from bayesperf.groups.sliced_metrics import Slices
from bayesperf.groups.slicing import slices
from bayesperf.groups.voted_answers import majority_vote

__all__ = [
    "MetaAnalysis",
    "Parity",
    "Pooled",
    "Slices",
    "average_labels",
    "majority_vote",
    "meta_analysis",
    "parity",
    "pass_rate_of_new",
    "pool",
    "slices",
]


def __dir__() -> list[str]:
    return __all__
