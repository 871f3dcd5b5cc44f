"""The definition of a metric: its formula, its properties, and its evaluation on matrices of any shape."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import cloudpickle
import numpy as np

from bayesperf.core.arrays import Numbers, sums_of_others
from bayesperf.core.errors import InputError
from bayesperf.core.words import metric_title
from bayesperf.metrics.exact_forms import ExactForm, Proportion, TwoProportions
from bayesperf.metrics.functions_of_rates import FunctionOfRates, function_of_rates

Needs = Literal["binary", "classes", "ordered", "outcomes", "scores"]
AVERAGES = ("macro", "micro", "weighted", "per_class")


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
    "within_one": lambda cells, _: masked_sum(cells, distance(cells.shape[-1]) <= 1),
    "beyond_one": lambda cells, _: masked_sum(cells, distance(cells.shape[-1]) > 1),
    "cells": lambda cells, _: cells,
    "shares": lambda cells, _: cells[..., 0, :],
})  # fmt: skip
# The values of the grades, which a metric on a scale knows itself.
GRADES = "grades"
BINARY_ARGUMENTS = {"tp", "fn", "fp", "tn"}

# Which cells an argument sums, given whether a cell is in the row and in the column of the positive class.
_OF_CLASS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "tp": lambda row, column: row & column,
    "fn": lambda row, column: row & ~column,
    "fp": lambda row, column: ~row & column,
    "tn": lambda row, column: ~row & ~column,
}
# The same of arguments that know no positive class, given the distances of the cells from the diagonal.
_OF_DISTANCE: dict[str, Callable[[Numbers], Numbers]] = {
    "correct": lambda away: away == 0,
    "wrong": lambda away: away > 0,
    "within_one": lambda away: away <= 1,
    "beyond_one": lambda away: away > 1,
}


def cells_of(argument: str, classes: int, positive: int, graded: bool = False) -> Numbers:
    """Return the cells that an argument of a proportion sums, (K, K) of bool, given the positive class's position.

    If the cells are `graded`, there is one row, (1, K).
    """
    if graded:
        return ARGUMENTS[argument](np.eye(classes)[:, None], positive)[None] > 0
    if argument in _OF_DISTANCE:
        return _OF_DISTANCE[argument](distance(classes))
    of_class = np.arange(classes) == positive
    return _OF_CLASS[argument](of_class[:, None], of_class)


def better_sign(greater_is_better: bool | None) -> int:
    """Return the sign by which the best value becomes the greatest: −1 if smaller values are better, else 1."""
    return -1 if greater_is_better is False else 1


@dataclass(frozen=True)
class Metric:
    """A metric of a confusion matrix, of outcomes or of scores.

    Attributes
    ----------
    name : str
        Canonical name.
    function : callable
        The formula; the names of its arguments are the cells that it needs. For scores they are the numbers of
        positives and of negatives at each score, rising, and the scores themselves.
    aliases : tuple of str
        Other names that resolve to it.
    bounds : tuple of float
        Smallest and largest possible value.
    greater_is_better : bool or None
        Whether greater values are better; None if neither direction is better (prevalence).
    needs : {"binary", "classes", "ordered", "outcomes", "scores"}
        What the metric requires: a binary matrix with a positive class, any number of classes, ordered classes,
        outcomes on a scale, or scores.
    exact : Proportion, IncreasingFunction, TwoProportions or None
        The form of its posterior in closed form or by quadrature; for binary matrices only if `needs` is "binary" or
        the form pairs the two rows or columns. None means Monte Carlo.
    average : {None, "macro", "micro", "weighted", "per_class"}
        How the one-vs-rest values of K classes are combined.
    micro : callable or None
        Function of the number of classes that returns the exact form of the micro average.
    of_rates : FunctionOfRates or None
        The metric of two classes as a function of prevalence, fnr and fpr; its posterior is integrated over these if it
        has no exact form. Proportions need none.
    scale : tuple of float, optional
        The grades that a metric of outcomes uses (`on_scale`).
    word : str
        What it is called for these data, if not as its name says: accuracy is the pass rate of right and wrong.
    """

    name: str
    function: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    greater_is_better: bool | None = True
    needs: Needs = "binary"
    exact: ExactForm | None = None
    average: str | None = None
    micro: Callable[[int], ExactForm] | None = None
    of_rates: FunctionOfRates | None = None
    scale: tuple[float, ...] | None = None
    word: str = field(default="", compare=False)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the cells that the function takes."""
        return tuple(name for name in inspect.signature(self.function).parameters if name != GRADES)

    @property
    def needs_cells(self) -> bool:
        """Whether the metric depends on single cells, and not only on the sums of each class (`ClassSums`)."""
        return self.average is None and not set(self.arguments) <= set(OF_CLASS_SUMS)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the function as bytes, so that any function, even a lambda, can be pickled.

        Raises
        ------
        pickle.PicklingError
            If the function can be pickled neither by name nor by value.
        """
        try:
            return self.__dict__ | {"function": cloudpickle.dumps(self.function)}
        except Exception as error:
            raise pickle.PicklingError(
                f"metric {self.name!r} cannot be pickled, because its function cannot: {error}"
            ) from error

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"function": pickle.loads(state["function"])})

    @property
    def better(self) -> int:
        """The sign by which the best value becomes the greatest, 1 or −1."""
        return better_sign(self.greater_is_better)

    @property
    def title(self) -> str:
        """The name in words, for sentences, tables and plots."""
        return self.word or metric_title(self.name)

    @property
    def description(self) -> str:
        """A one-line description of what the metric measures."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0].rstrip(".")
        if self.average == "per_class":
            return f"{first}, of each class against the rest"
        return (
            f"{self.average.capitalize()} average over classes: {first[:1].lower()}{first[1:]}"
            if self.average
            else first
        )

    def on_scale(self, grades: Sequence[float]) -> Metric:
        """Return a metric of outcomes for a scale of grades: its bounds, and its exact form if it is a proportion."""
        place = getattr(self.function, "place", None)
        if place is not None:
            first = place(grades)
            exact: ExactForm | None = Proportion((f"from_{first}",), (f"below_{first}",))
            return replace(self, scale=tuple(grades), exact=exact)
        return replace(self, scale=tuple(grades), bounds=(float(grades[0]), float(grades[-1])))

    def exact_form(self, classes: int) -> ExactForm | None:
        """Return the exact form of the posterior for a number of classes, or None."""
        match self.average:
            case "micro":
                return self.micro(classes) if self.micro else None
            case "weighted":
                return None
            case "macro" if self.needs == "binary" or classes > 2:
                return None
        binary_only = isinstance(self.exact, TwoProportions) and self.needs != "binary"
        return None if binary_only and classes > 2 else self.exact

    def function_of_rates(self) -> FunctionOfRates | None:
        """Return the metric of two classes as a function of prevalence, fnr and fpr, or None if it is not known as one.

        If the metric needs no positive class, the second class takes its place.
        """
        if self.greater_is_better is None or (self.average and self.needs != "binary"):
            return None
        return function_of_rates(self.of_rates or self.exact, self.average)

    def evaluate(
        self,
        cells: Numbers,
        positive: int | None = None,
        skip_undefined: bool = False,
        parts: ClassSums | None = None,
    ) -> Numbers:
        """Return the metric of matrices ``(..., K, K)``, with a last axis K if `average` is "per_class".

        Undefined values (0/0) are NaN. `skip_undefined` omits classes whose value is NaN from macro and weighted means,
        as scikit-learn does. `parts` are precomputed sums of the cells that several metrics share.
        """
        cells = np.asarray(cells)
        cells = cells if cells.dtype.kind in "fc" else cells.astype(float)
        if not self.needs_cells:
            return self.of_class_sums(parts or sums_of_classes(cells), skip_undefined)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            position = 1 if positive is None else positive
            arguments = {a: ARGUMENTS[a](cells, position) for a in self.arguments}
            known = {} if self.scale is None else {GRADES: np.array(self.scale)}
            return self._apply(arguments | known, cells.shape[:-2])

    def of_class_sums(self, parts: ClassSums, skip_undefined: bool = False) -> Numbers:
        """Return the metric as `evaluate` does, from the sums of each class of matrices; it must not need cells."""
        *leading, classes = parts["tp"].shape
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.average is None:
                return self._apply({a: OF_CLASS_SUMS[a](parts) for a in self.arguments}, tuple(leading))
            if self.average == "micro":
                return self._apply({a: parts[a].sum(-1) for a in self.arguments}, tuple(leading))
            values = self._apply({a: parts[a] for a in self.arguments}, (*leading, classes))
            if self.average == "per_class":
                return values
            weights = parts["tp"] + parts["fn"] if self.average == "weighted" else np.ones_like(values)
            if skip_undefined:
                weights = np.where(np.isnan(values), 0, weights)
                values = np.where(weights == 0, 0, values)
            return np.asarray((weights * values).sum(-1) / weights.sum(-1))

    def trials(self, cells: Numbers, positive: int | None = None) -> Numbers | None:
        """Return the denominator of a proportion metric (its number of trials), or None for other metrics and averages.

        For counts (..., K, K) it has the shape of `evaluate`: (...), or (..., K) for one value per class.
        """
        form = self.exact_form(cells.shape[-1])
        if not isinstance(form, Proportion) or self.average not in (None, "per_class"):
            return None
        parts = sums_of_classes(cells)
        position = 1 if positive is None else positive
        sides = (parts[n] if self.average else ARGUMENTS[n](cells, position) for n in (*form.success, *form.failure))
        return np.asarray(sum(sides))

    def _apply(self, arguments: dict[str, Numbers], shape: tuple[int, ...]) -> Numbers:
        """Call the function, and raise unless it returns one value per matrix."""
        value = np.asarray(self.function(**arguments))
        if value.shape != shape:
            raise InputError(
                "metric",
                f"{self.name!r}: its function returned shape {value.shape} where {shape} was wanted, "
                "one value a matrix.",
                "Leave the leading axes alone: index cells as cells[..., 0, 0], sum over the last axes.",
            )
        return value

    def of_binary(self, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
        """Return the metric of binary cells, also for a metric that is averaged over classes."""
        cells = np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)
        average = self.average if self.needs == "classes" else None
        return replace(self, average=average).evaluate(cells, 1)

    def depends_on_prevalence(self, classes: int) -> bool:
        """Whether re-weighting the actual classes changes the metric, determined by evaluating it on two tables."""
        if self.needs == "outcomes":
            return False
        rows = np.arange(1.0, classes + 1)[:, None]
        table = 1 + np.cos(rows * np.arange(1, classes + 1)) ** 2
        before, after = self.evaluate(table, 0), self.evaluate(table * rows, 0)
        return not np.allclose(before, after, rtol=1e-9, atol=1e-12)

    def needs_true_negatives(self) -> bool:
        """Whether the true negatives of two classes change the metric, determined by evaluating it on two tables."""
        few, many = (self.evaluate(np.array([[tn, 2.0], [1.0, 4.0]]), 1) for tn in (3.0, 5.0))
        return not np.allclose(few, many, rtol=1e-9, atol=1e-12)


def evaluated(metrics: Iterable[Metric], cells: Numbers, positive: int | None = None) -> dict[Metric, Numbers]:
    """Return several metrics of the same matrices."""
    parts = sums_of_classes(cells)
    return {metric: metric.evaluate(cells, positive, parts=parts) for metric in metrics}


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
