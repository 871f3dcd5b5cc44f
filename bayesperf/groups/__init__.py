"""Groups of examples that share a population (folds, sites, images), by quadrature."""

from bayesperf.groups.averaging_labels import average_labels
from bayesperf.groups.pooling import Pooled, pool
from bayesperf.groups.slicing import Slices, slices

__all__ = ["Pooled", "Slices", "average_labels", "pool", "slices"]


def __dir__() -> list[str]:
    return __all__
