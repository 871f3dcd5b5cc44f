"""The definition of a metric: its formula, its properties, and its evaluation on matrices of any shape."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import cloudpickle
import numpy as np

from bayesperf.core.arrays import Numbers
from bayesperf.core.errors import InputError
from bayesperf.core.words import metric_title
from bayesperf.metrics.arguments import ARGUMENTS, GRADES, OF_CLASS_SUMS, ClassSums, sums_of_classes
from bayesperf.metrics.exact_forms import ExactForm, FunctionOfRates, Proportion, TwoProportions, function_of_rates

Needs = Literal["binary", "classes", "ordered", "outcomes", "scores"]
AVERAGES = ("macro", "micro", "weighted", "per_class")


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
            f"{self.average.capitalize()} average, each class in turn being positive: {first[:1].lower()}{first[1:]}"
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
