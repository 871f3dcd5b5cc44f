"""The arguments of metrics: the cells that each of them sums, and their values in matrices and for each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from bayesperf.core.arrays import Numbers, sums_of_others

# Which cells an argument sums, given whether a cell is in the row and in the column of the positive class, and its
# distance from the diagonal.
_SUMMED: dict[str, Callable[[Numbers, Numbers, Numbers], Numbers]] = {
    "tp": lambda row, column, _: row & column,
    "fn": lambda row, column, _: row & ~column,
    "fp": lambda row, column, _: ~row & column,
    "tn": lambda row, column, _: ~row & ~column,
    "correct": lambda _, __, away: away == 0,
    "wrong": lambda _, __, away: away > 0,
    "within_one": lambda _, __, away: away <= 1,
    "beyond_one": lambda _, __, away: away > 1,
}


def distance(classes: int) -> Numbers:
    """Return the distances between the positions of classes, |i − j|, (K, K)."""
    return np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))


def masked_sum(cells: Numbers, mask: Numbers) -> Numbers:
    """Return the sum of cells weighted by a mask."""
    return np.asarray((cells * mask).sum((-2, -1)))


# Arguments for which the hits, misses and false alarms of each class are enough.
OF_CLASS_SUMS: dict[str, Callable[[ClassSums], Numbers]] = {
    "hits": lambda sums: sums["tp"],
    "misses": lambda sums: sums["fn"],
    "false_alarms": lambda sums: sums["fp"],
    "correct": lambda sums: sums["tp"].sum(-1),
    "wrong": lambda sums: sums["fn"].sum(-1),
}


def _of_cells(function: Callable[[ClassSums], Numbers], cells: Numbers, _: int) -> Numbers:
    return function(sums_of_classes(cells))


class Arguments(dict[str, Callable[[Numbers, int], Numbers]]):
    """Arguments by name; sums of grades have one for each place of the scale, such as "from_2" and "below_2"."""

    def __missing__(self, name: str) -> Callable[[Numbers, int], Numbers]:
        side, _, place = name.rpartition("_")
        grades = {"from": slice(int(place), None), "below": slice(int(place))}[side]
        return lambda cells, _: np.asarray(cells[..., 0, grades].sum(-1))


# How each argument is computed from a matrix, given the position of its positive class.
ARGUMENTS = Arguments({
    "tp": lambda cells, positive: cells[..., positive, positive],
    "fn": lambda cells, positive: cells[..., positive, 1 - positive],
    "fp": lambda cells, positive: cells[..., 1 - positive, positive],
    "tn": lambda cells, positive: cells[..., 1 - positive, 1 - positive],
    **{name: partial(_of_cells, function) for name, function in OF_CLASS_SUMS.items()},
    "within_one": lambda cells, _: masked_sum(cells, cells_of("within_one", cells.shape[-1], 0)),
    "beyond_one": lambda cells, _: masked_sum(cells, cells_of("beyond_one", cells.shape[-1], 0)),
    "cells": lambda cells, _: cells,
    "shares": lambda cells, _: cells[..., 0, :],
})  # fmt: skip
# The values of the grades, which a metric on a scale knows itself.
GRADES = "grades"
BINARY_ARGUMENTS = {"tp", "fn", "fp", "tn"}


def cells_of(argument: str, classes: int, positive: int, graded: bool = False) -> Numbers:
    """Return the cells that an argument of a proportion sums, (K, K) of bool, given the positive class's position.

    If the cells are `graded`, there is one row, (1, K).
    """
    if graded:
        return ARGUMENTS[argument](np.eye(classes)[:, None], positive)[None] > 0
    of_class = np.arange(classes) == positive
    return _SUMMED[argument](of_class[:, None], of_class, distance(classes))


class ClassSums:
    """The arguments tp, fn, fp and tn of each class against the rest, (..., K), for matrices (..., K, K).

    Subclasses have the first three as attributes: the examples of each class that were predicted right, the examples
    that were missed, and examples of other classes predicted as this class.
    """

    def __getitem__(self, argument: str) -> Numbers:
        """Return an argument, (..., K)."""
        return np.asarray(getattr(self, argument))

    @cached_property
    def tn(self) -> Numbers:
        """Cells of other classes that were predicted as other classes."""
        errors = np.maximum(sums_of_others(self["fn"]) - self["fp"], 0)
        return np.asarray(sums_of_others(self["tp"]) + errors)


@dataclass(frozen=True)
class GivenSums(ClassSums):
    """Sums of each class that do not come from matrices."""

    tp: Numbers
    fn: Numbers
    fp: Numbers


class OneVsRest(ClassSums):
    """The arguments tp, fn, fp and tn of each class against the rest, for matrices (..., K, K), computed once each.

    They are sums: differences of totals would keep few digits of few errors among many examples.
    """

    def __init__(self, cells: Numbers):
        self.cells = cells

    @cached_property
    def tp(self) -> Numbers:
        """Cells of the class itself."""
        return np.asarray(np.einsum("...ii->...i", self.cells))

    @cached_property
    def _wrong(self) -> Numbers:
        return without_diagonal(self.cells)

    @cached_property
    def fn(self) -> Numbers:
        """Cells of the class that were predicted as other classes."""
        return np.asarray(np.einsum("...ij->...i", self._wrong))

    @cached_property
    def fp(self) -> Numbers:
        """Cells of other classes that were predicted as this class."""
        return np.asarray(np.einsum("...ij->...j", self._wrong))

    @cached_property
    def tn(self) -> Numbers:
        """Cells of other classes that were predicted as other classes."""
        return np.asarray(without_diagonal(sums_of_others(self.cells)).sum(-2))


def sums_of_classes(cells: Numbers) -> ClassSums:
    """Return the arguments of each class of matrices (..., K, K), or of right and wrong outcomes (..., 1, 2)."""
    if cells.shape[-2] == cells.shape[-1]:
        return OneVsRest(cells)
    right, wrong = cells[..., 0, -1:], cells[..., 0, :1]
    return GivenSums(right, wrong, 0 * wrong)


def without_diagonal(cells: Numbers) -> Numbers:
    """Return matrices with zeros on their diagonals."""
    return np.where(np.eye(cells.shape[-1], dtype=bool), 0, cells)
