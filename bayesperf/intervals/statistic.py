"""The statistic that an interval describes: a metric as a function of the cells, or its difference between systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import NO_DIMS, Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import at_place
from bayesperf.data.counted import DESIGNS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.response_patterns import TABLE_DIMS, of_two_systems
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import refuse_uncounted
from bayesperf.metrics.registry import applicable


@dataclass(frozen=True)
class Statistic:
    """A metric of a table of counts."""

    # The metric of every system.
    metric: Metric
    # Position of the positive class.
    positive: int | None
    # Counts of one system (…, actual, predicted), or of two (…, actual, predicted_a, predicted_b).
    counts: xr.DataArray

    @classmethod
    def of(cls, cm: Any, metric: str | Metric, contrast: str | None = None) -> Statistic:
        """Return the statistic of each matrix, or its difference between two systems tested on the same examples."""
        checks.instance("cm", cm, ConfusionMatrix)
        if contrast is not None:
            checks.one_of("contrast", contrast, ("difference",))
        counts = cm.counts if contrast is None else of_two_systems(cm, "cm", with_dims=True).table()
        axes = 2 if contrast is None else len(TABLE_DIMS)
        found = applicable(metric, cm.labels, cm.positive, counts.dims[:-axes])
        refuse_uncounted(found, cm.counts)
        return cls(found, cm.positive, counts)

    @property
    def paired(self) -> bool:
        """Whether it is a difference of two systems."""
        return "predicted_b" in self.counts.dims

    @property
    def cell_dims(self) -> tuple[Any, ...]:
        """Names of the dims of the cells."""
        return self.counts.dims[-3 if self.paired else -2 :]

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        low, high = self.metric.bounds
        return (low - high, high - low) if self.paired else (low, high)

    @cached_property
    def of_matrices(self) -> xr.DataArray:
        """The leading dims, as zeros."""
        if self.counts.ndim == len(self.cell_dims) and set(self.counts.coords) <= set(self.cell_dims):
            return NO_DIMS
        first = self.counts.isel(dict.fromkeys(self.cell_dims, 0), drop=True)
        return xr.zeros_like(first, dtype=float).rename(None).drop_attrs()

    @cached_property
    def leading(self) -> xr.DataArray:
        """The leading dims, and ``label`` if there is one value per class, as zeros."""
        of_matrices = self.of_matrices
        if self.metric.average != "per_class":
            return of_matrices
        return of_matrices.expand_dims(label=self.counts["actual"].values, axis=-1)

    def __call__(self, cells: NDArray[Any]) -> Array:
        """Return the values of cells (…, K, K) or (…, K, K, K): counts, proportions, or complex numbers near them."""
        if not self.paired:
            return self.metric.evaluate(cells, self.positive)
        of_a, of_b = (self.metric.evaluate(cells.sum(axis), self.positive) for axis in (-1, -2))
        return np.asarray(of_a - of_b)

    def defined(self) -> Array:
        """Return the values of the counts."""
        values = self(self.counts.values)
        leading = self.leading
        missing = np.flatnonzero(~np.isfinite(values))
        if len(missing):
            raise InputError(
                "metric",
                f"{self.metric.name!r}{at_place(leading, missing[0])}: its denominator is 0 in these "
                "counts, so it has no interval of this kind.",
                "Leave them out, or ask the posterior: bayesperf.posterior(cm).",
            )
        return values


def strata(design: str, cells: NDArray[Any], axes: int) -> NDArray[Any]:
    """Return cells (…, some axes) as (…, strata, cells): a single stratum, or one per actual class."""
    checks.one_of("design", design, DESIGNS)
    leading = cells.shape[: cells.ndim - axes]
    return cells.reshape(*leading, cells.shape[-axes] if design == "by_actual" else 1, -1)
