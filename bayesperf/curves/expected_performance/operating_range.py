"""The mean performance over a range of operating points: E_V1, E_V2 and their mean G."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesperf import metrics
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.curves.expected_performance.criteria import Criterion, nearest
from bayesperf.curves.expected_performance.system import System, ThresholdRule

NAME, QUANTITIES = "expected performance", ["E_V1", "E_V2", "G"]
# The greatest number of thresholds that an expected performance is summed over.
_NODES = 512


class OperatingRange(NamedTuple):
    """The thresholds at which a mean over operating points is evaluated, and their weights.

    Attributes
    ----------
    criterion : Criterion
        Whose two metrics, V1 and V2, are averaged.
    rules : tuple of two ThresholdRule
        The rules that bring V1, and V2, to values of α.
    weights : tuple of two ndarrays
        Weights of these values in a mean over α.
    """

    criterion: Criterion
    rules: tuple[ThresholdRule, ThresholdRule]
    weights: tuple[Array, Array]

    @classmethod
    def of(cls, criterion: Criterion, systems: Sequence[System], low: float, high: float) -> Self:
        """Return the range of α from low to high, at the same values for all systems.

        Raises
        ------
        ValueError
            If low and high are no range within [0, 1].
        """
        if not 0 <= checks.number("low", low) < checks.number("high", high) <= 1:
            raise InputError("low and high", f"must be in [0, 1], low the smaller; they are {low} and {high}.")
        first, second = (_nodes(criterion, systems, which, low, high) for which in (0, 1))
        return cls(criterion, (first[0], second[0]), (first[1], second[1]))

    def means(self, cells: NDArray[Any]) -> Array:
        """Return E_V1, E_V2 and G, (3, …), of cells (…, a, actual, predicted) at the thresholds of both rules."""
        value, split = np.mean(self.criterion.evaluate(cells), 0), len(self.weights[0])
        first, second = value[..., :split] @ self.weights[0], value[..., split:] @ self.weights[1]
        return np.stack([first, second, (first + second) / 2])

    @property
    def greater_is_better(self) -> bool | None:
        """The direction of both metrics; None if they have none in common."""
        directions = {metrics.get(name).greater_is_better for name in (self.criterion.first, self.criterion.second)}
        return directions.pop() if len(directions) == 1 else None


def _nodes(
    criterion: Criterion, systems: Sequence[System], which: int, low: float, high: float
) -> tuple[ThresholdRule, Array]:
    """Return the rule that brings V1 (0) or V2 (1) to values of α, and their weights in a mean over α.

    The chosen threshold of a system changes where α passes the middle between two neighbouring values of the metric.
    """
    changes = []
    for system in systems:
        for cells in system.dev_cells:
            values = np.unique(criterion.evaluate(cells)[which])
            values = values[~np.isnan(values)]
            changes.append((values[:-1] + values[1:]) / 2)
    edges = np.unique(np.clip(np.concatenate([[low, high], *changes]), low, high))
    if len(edges) > _NODES + 1:
        edges = np.linspace(low, high, _NODES + 1)
    rule = ThresholdRule(nearest(criterion)[which], (edges[:-1] + edges[1:]) / 2)
    return rule, np.diff(edges) / (high - low)
