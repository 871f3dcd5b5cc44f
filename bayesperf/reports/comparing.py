"""Systems set against each other, and against rules that have learnt nothing: what the tables of comparisons show."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import track

from bayesperf import metrics
from bayesperf.comparison.compare import Comparison, compare
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.posterior import DRAWS, Posterior

# What has learnt nothing, and a system should beat.
RULES = ("chance", "majority")
# How a system stands, and what that is called.
STANDING = {
    "prob_best": "P(best)",
    "expected_rank": "expected rank",
    "beats_chance": "P(beats chance)",
    "beats_majority": "P(beats majority)",
}
ABOUT_STANDING = (
    f"By Monte Carlo, standard error of a probability at most {0.5 / DRAWS**0.5:.1g}. Chance calls each class as often "
    "as it occurs, at random; majority always calls the most frequent one. —: of it the metric is undefined (0/0)."
)


@dataclass(frozen=True)
class Compared:
    """One metric of several systems.

    Attributes
    ----------
    comparison : Comparison
        Of all pairs.
    beaten : mapping of str to xarray.DataArray
        By rule, the probability that each system is better; rules of which the metric is undefined are left out.
    """

    comparison: Comparison
    beaten: Mapping[str, xr.DataArray]

    @property
    def metric(self) -> Metric:
        """The metric."""
        return metrics.get(self.comparison.metric)

    @cached_property
    def standing(self) -> list[dict[Any, Any]]:
        """A row a system: its dims, and the columns of `STANDING`; none if no direction is better."""
        if self.comparison.greater_is_better is None:
            return []
        ranks, system = self.comparison.ranks, self.comparison.dim
        columns = {"prob_best": ranks.sel(rank=1, drop=True), "expected_rank": ranks.dot(ranks["rank"], "rank")}
        columns |= {
            f"beats_{rule}": self.beaten.get(rule, xr.full_like(columns["prob_best"], np.nan)) for rule in RULES
        }
        order = [*(dim for dim in columns["prob_best"].dims if dim != system), system]
        table = xr.Dataset(columns).to_dataframe(dim_order=order).reset_index()
        return [{"metric": self.comparison.metric, **row} for row in table.to_dict("records")]


def compare_systems(
    pooled: Posterior, paired: ConfusionMatrix | None, names: Sequence[str], **options: Any
) -> list[Compared]:
    """Compare systems by each metric.

    Parameters
    ----------
    pooled : Posterior
        Of each system.
    paired : ConfusionMatrix or None
        Counts of the same systems that know the same examples, if they do.
    names : sequence of str
        Metrics.
    **options
        Of `bayesperf.compare`.
    """
    shown = track(names, "Comparing", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    return [_compared(pooled, paired, name, options) for name in shown]


def _compared(pooled: Posterior, paired: ConfusionMatrix | None, name: str, options: dict[str, Any]) -> Compared:
    found = compare(pooled if paired is None else paired, metric=name, **options)
    beaten = {}
    for rule in RULES if found.greater_is_better is not None else ():
        try:
            beaten[rule] = compare(pooled, rule, name).prob_better
        except ValueError:
            # The metric can be had of the systems, so it is that of the rule which is 0/0.
            continue
    return Compared(found, beaten)
