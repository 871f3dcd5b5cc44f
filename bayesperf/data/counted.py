"""Common parts of all counts of examples: leading dims, sums, selections, systems on the same examples, clusters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import PairsAlong, without_dims
from bayesperf.core.errors import InputTypeError
from bayesperf.core.saving import Saved
from bayesperf.data.clusters import Clusters
from bayesperf.data.count_arrays import SAME_EXAMPLES, checked_counts, marked, same_examples
from bayesperf.data.cross_validation import refuse_sum
from bayesperf.data.label_encoding import HasPositive
from bayesperf.data.response_patterns import ResponsePatterns

# How a test set was sampled: a number of examples, or a number of each class.
DESIGNS = ("joint", "by_actual")


class Counted(Saved, HasPositive):
    """Counts of examples with any leading dims: a `ConfusionMatrix`, or `Outcomes`, which are a table of one row."""

    cell_dims: ClassVar[tuple[str, ...]]
    # Numbers of examples, cell dims last.
    counts: xr.DataArray
    pos_label: Any
    # Response patterns of several systems on the same examples.
    patterns: ResponsePatterns | None
    # The cells of each cluster's examples.
    clusters: Clusters | None

    @property
    @abstractmethod
    def cells(self) -> xr.DataArray:
        """The counts as tables (…, actual, predicted)."""

    @property
    @abstractmethod
    def labels(self) -> list[Any]:
        """Labels of the last dim of the counts, in order."""

    @property
    def graded(self) -> bool:
        """Whether these are outcomes, and not predictions of classes."""
        return len(self.cell_dims) == 1

    @property
    def dims(self) -> tuple[Hashable, ...]:
        """Names of the leading dims."""
        return self.counts.dims[: -len(self.cell_dims)]

    @cached_property
    def leading(self) -> xr.DataArray:
        """An array of zeros with the leading dims and coordinates."""
        return without_dims(self.counts, self.cell_dims)

    @cached_property
    def pairs(self) -> PairsAlong | None:
        """All pairs of the systems on the same examples, whose labels all comparisons share; None without patterns."""
        return None if self.patterns is None else PairsAlong(self.leading, self.patterns.dim)

    @property
    def total(self) -> xr.DataArray:
        """Number of examples, over the leading dims."""
        return self.counts.sum(self.cell_dims, keep_attrs=False)

    def sum(self, dim: str | Sequence[str]) -> Self:
        """Pool the counts over leading dims; refused for repeats of cross-validation, which share their examples."""
        dims = self._named_dims(dim)
        refuse_sum(self.counts, dims)
        patterns = None if self.patterns is None else self.patterns.sum(dims)
        summed = self.counts.sum(dims, keep_attrs=True)
        if self.clusters is None:
            return self._derived(summed, patterns)
        into = (0 * self.counts + _positions(summed)).transpose(*self.counts.dims)
        return self._derived(summed, patterns, self.clusters.summed(into.values.ravel(), summed.size))

    def sel(self, **indexers: Any) -> Self:
        """Select leading coordinates by label, as xarray's ``sel``."""
        return self._select("sel", indexers)

    def isel(self, **indexers: Any) -> Self:
        """Select leading coordinates by position, as xarray's ``isel``."""
        return self._select("isel", indexers)

    def _select(self, how: str, indexers: Mapping[str, Any]) -> Self:
        self._named_dims(list(indexers))
        counts = getattr(self.counts, how)(indexers)
        patterns = None if self.patterns is None else self.patterns.select(how, indexers)
        if self.clusters is None:
            return self._derived(counts, patterns)
        # Selected as the counts are, which are then put into the order of their dims.
        cells = getattr(_positions(self.counts), how)(indexers).transpose(..., *self.cell_dims)
        return self._derived(counts, patterns, self.clusters.taken(cells.values.ravel()))

    def _derived(
        self, counts: xr.DataArray, patterns: ResponsePatterns | None, clusters: Clusters | None = None
    ) -> Self:
        """Return selected or summed counts; they share their examples if their patterns do."""
        if self.patterns is not None:
            counts = marked(counts, SAME_EXAMPLES)
        return self.holding(counts, patterns, clusters)

    def holding(
        self, counts: xr.DataArray, patterns: ResponsePatterns | None = None, clusters: Clusters | None = None
    ) -> Self:
        """Return the object with other counts, and what is known about their examples."""
        return replace(self, counts=counts, patterns=patterns, clusters=clusters)  # type: ignore[type-var]

    def _checked_counts(self) -> xr.DataArray:
        """Return the counts after checks, marked with the dim of the patterns, or their own if these are unknown."""
        counts = checked_counts(self.counts, self.cell_dims)
        return marked(counts, SAME_EXAMPLES, same_examples(counts) if self.patterns is None else self.patterns.dim)

    def _named_dims(self, dim: str | Sequence[str]) -> list[str]:
        dims = [dim] if isinstance(dim, str) else list(dim)
        for name in dims:
            checks.leading_dim("dim", name, self.dims)
        return dims


def check_counted(cm: Any) -> None:
    """Refuse anything but counts."""
    if not isinstance(cm, Counted):
        raise InputTypeError("cm", f"must be a ConfusionMatrix or Outcomes; it is {type(cm).__name__}.")


def _positions(counts: xr.DataArray) -> xr.DataArray:
    """Return the position of each cell in flattened counts."""
    return counts.copy(data=np.arange(counts.size).reshape(counts.shape))
