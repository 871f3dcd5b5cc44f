"""What a metric is, and the register of them: the machinery under the table in `bayesperf.metrics`."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesperf.core.arrays import Numbers
from bayesperf.metrics.exact_forms import Exact, TwoProportions

if TYPE_CHECKING:
    import pandas as pd

Needs = Literal["binary", "classes", "ordered"]
AVERAGES = ("macro", "micro", "weighted", "per_class")


def distance(classes: int) -> Numbers:
    """Return how many classes lie between two, (K, K)."""
    return np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))


def masked_sum(cells: Numbers, mask: Numbers) -> Numbers:
    """Return the sum of cells weighted by a mask."""
    return np.asarray((cells * mask).sum((-2, -1)))


# How each argument is taken from a matrix, given the position of its positive class.
ARGUMENTS: dict[str, Callable[[Numbers, int], Numbers]] = {
    "tp": lambda cells, positive: cells[..., positive, positive],
    "fn": lambda cells, positive: cells[..., positive, 1 - positive],
    "fp": lambda cells, positive: cells[..., 1 - positive, positive],
    "tn": lambda cells, positive: cells[..., 1 - positive, 1 - positive],
    "correct": lambda cells, _: np.einsum("...ii->...", cells),
    "wrong": lambda cells, _: masked_sum(cells, distance(cells.shape[-1]) > 0),
    "within_one": lambda cells, _: masked_sum(cells, distance(cells.shape[-1]) <= 1),
    "beyond_one": lambda cells, _: masked_sum(cells, distance(cells.shape[-1]) > 1),
    "cells": lambda cells, _: cells,
}
_BINARY_ARGUMENTS = {"tp", "fn", "fp", "tn"}


@dataclass(frozen=True)
class Metric:
    """A metric with its facts.

    Attributes
    ----------
    name : str
        Canonical name.
    function : callable
        The formula; its argument names are the cells it needs.
    aliases : tuple of str
        Other names that resolve to it.
    bounds : tuple of float
        Smallest and greatest possible value.
    greater_is_better : bool or None
        Direction; None where neither is better (prevalence).
    needs : {"binary", "classes", "ordered"}
        A binary matrix with a positive class, any number of classes, or classes in their order.
    exact : Share, Transform, Mixture or None
        Its posterior in closed form or by quadrature, for a binary matrix if `needs` is "binary" (or the form pairs the
        two rows or columns), else for any; None means Monte Carlo.
    average : {None, "macro", "micro", "weighted", "per_class"}
        How the one-vs-rest values of K classes become one.
    micro : callable or None
        From the number of classes, the exact form of the micro average.
    """

    name: str
    function: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    greater_is_better: bool | None = True
    needs: Needs = "binary"
    exact: Exact | None = None
    average: str | None = None
    micro: Callable[[int], Exact] | None = None

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the cells that the function takes."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def title(self) -> str:
        """The name in words, for tables and plots."""
        return self.name.replace("_", " ")

    @property
    def description(self) -> str:
        """What it measures, in a line."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0].rstrip(".")
        if self.average == "per_class":
            return f"{first}, of each class against the rest"
        return (
            f"{self.average.capitalize()} average over classes: {first[:1].lower()}{first[1:]}"
            if self.average
            else first
        )

    def exact_form(self, classes: int) -> Exact | None:
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

    def evaluate(self, cells: Numbers, positive: int | None = None, skip_undefined: bool = False) -> Numbers:
        """Return the metric of matrices ``(..., K, K)``; with a last axis K if averaged "per_class".

        Undefined values (0/0) are NaN. `skip_undefined` leaves classes whose value is NaN out of macro and weighted
        means, as scikit-learn does.
        """
        cells = np.asarray(cells)
        cells = cells if cells.dtype.kind in "fc" else cells.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            leading = cells.shape[:-2]
            if self.average is None:
                position = 1 if positive is None else positive
                return self._apply({a: ARGUMENTS[a](cells, position) for a in self.arguments}, leading)
            parts = one_vs_rest(cells)
            if self.average == "micro":
                return self._apply({a: parts[a].sum(-1) for a in self.arguments}, leading)
            values = self._apply({a: parts[a] for a in self.arguments}, (*leading, cells.shape[-1]))
            if self.average == "per_class":
                return values
            weights = parts["tp"] + parts["fn"] if self.average == "weighted" else np.ones_like(values)
            if skip_undefined:
                weights = np.where(np.isfinite(values), weights, 0)
                values = np.where(np.isfinite(values), values, 0)
            return np.asarray((weights * values).sum(-1) / weights.sum(-1))

    def _apply(self, arguments: dict[str, Numbers], shape: tuple[int, ...]) -> Numbers:
        """Call the function; refuse values that are not one a matrix."""
        value = np.asarray(self.function(**arguments))
        if value.shape != shape:
            raise ValueError(
                f"metric {self.name!r}: its function returned shape {value.shape} where {shape} was wanted, one value "
                "a matrix. Leave the leading axes alone: index cells as cells[..., 0, 0], sum over the last axes."
            )
        return value

    def of_binary(self, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
        """Return the metric of binary cells, also if it is meant for each class against the rest."""
        cells = np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)
        average = self.average if self.needs == "classes" else None
        return replace(self, average=average).evaluate(cells, 1)

    def depends_on_prevalence(self, classes: int) -> bool:
        """Whether re-weighting the actual classes changes the metric (found by trying it on two tables)."""
        rows = np.arange(1.0, classes + 1)[:, None]
        table = 1 + np.cos(rows * np.arange(1, classes + 1)) ** 2
        before, after = self.evaluate(table, 0), self.evaluate(table * rows, 0)
        return not np.allclose(before, after, rtol=1e-9, atol=1e-12)


def one_vs_rest(cells: Numbers) -> dict[str, Numbers]:
    """Return tp, fn, fp, tn of each class against the rest, ``(..., K)`` each, of matrices ``(..., K, K)``."""
    tp = np.einsum("...ii->...i", cells)
    fn, fp = cells.sum(-1) - tp, cells.sum(-2) - tp
    # Summed, not subtracted from the total: posterior draws of tiny cells must not come out negative.
    classes = np.arange(cells.shape[-1])
    rest = (classes[:, None, None] != classes[:, None]) & (classes[:, None, None] != classes)
    tn = np.tensordot(cells, rest.astype(float), ((-2, -1), (1, 2)))
    return {"tp": tp, "fn": fn, "fp": fp, "tn": tn}


_TABLE: dict[str, Metric] = {}
_ALIASES: dict[str, str] = {}
_OWN: set[str] = set()
# Names with a parameter, as "f2": a pattern, and what makes the metric of the number in it.
FAMILIES: dict[re.Pattern[str], Callable[[float], Metric]] = {}


def add(metric: Metric) -> None:
    """Enter a metric; refuse unknown arguments and names that are taken."""
    kinds = {p.kind for p in inspect.signature(metric.function).parameters.values()}
    variadic = kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if variadic or not metric.arguments or set(metric.arguments) - set(ARGUMENTS):
        raise ValueError(
            f"metric {metric.name!r}: its function's arguments must be among {', '.join(ARGUMENTS)}; "
            f"it takes {', '.join(metric.arguments) or 'none'}."
        )
    named = (metric.name, *metric.aliases)
    for name in named:
        if named.count(name) > 1 or name in _ALIASES or any(pattern.fullmatch(name) for pattern in FAMILIES):
            raise ValueError(f"a metric named {name!r} exists already.")
        if any(name.endswith(f"_{average}") for average in AVERAGES):
            raise ValueError(f"metric {name!r}: names ending in _{', _'.join(AVERAGES)} are kept for averages.")
    _TABLE[metric.name] = metric
    _ALIASES.update(dict.fromkeys((metric.name, *metric.aliases), metric.name))


def row(**facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function into the table under its own name (less a trailing underscore)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        add(Metric(function.__name__.rstrip("_"), function, **facts))
        return function

    return enter


def names(needs: Needs | None = None) -> list[str]:
    """Return the canonical names of all metrics, or of those that need a binary matrix, classes or ordered classes.

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.names("ordered")
    ['weighted_kappa', 'mean_absolute_error', 'off_by_one']
    """
    return [metric.name for metric in _TABLE.values() if needs in (None, metric.needs)]


def get(name: str | Metric) -> Metric:
    """Return a metric by its name, alias, ``"f<beta>"``, or any of them with an average's suffix.

    Raises
    ------
    ValueError
        If there is none of that name; the error offers the nearest.

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.get("ppv").name, metrics.get("sensitivity_macro").name
    ('precision', 'recall_macro')
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str):
        raise TypeError(f"metric must be a name or a Metric; it is {type(name).__name__}.")
    if name in _ALIASES:
        return _TABLE[_ALIASES[name]]
    for pattern, family in FAMILIES.items():
        if match := pattern.fullmatch(name):
            return family(float(match[1]))
    for average in AVERAGES:
        if name.endswith(f"_{average}"):
            base = get(name.removesuffix(f"_{average}"))
            if not set(base.arguments) <= _BINARY_ARGUMENTS or base.average:
                raise ValueError(f"metric {name!r}: {base.name} is one number for all classes and has no averages.")
            facts: dict[str, Any] = {"bounds": (0.0, 1.0)} if base.name == "prevalence" else {}
            return replace(base, name=f"{base.name}_{average}", aliases=(), average=average, **facts)
    near = difflib.get_close_matches(
        name.lower(), [*_ALIASES, *(f"{n}_{a}" for n in names("binary") for a in AVERAGES)]
    )
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "bayesperf.metrics.names() lists them."
    raise ValueError(f"no metric named {name!r}: {hint}")


def applicable(
    name: str | Metric, labels: Sequence[Any], positive: int | None, dims: Sequence[Hashable] = ()
) -> Metric:
    """Return the metric if it can be computed for these labels and leading dims.

    Raises
    ------
    ValueError
        If the metric is binary and there are more than two classes, or two of which none is the positive one; or if it
        adds a dim that is there already.
    """
    metric = get(name)
    if metric.average == "per_class" and "label" in dims:
        raise ValueError(f"metric {metric.name!r} adds a dim label, and there is one already. Rename it.")
    if metric.needs == "binary" and metric.average is None:
        if len(labels) > 2:
            options = ", ".join(f"{metric.name}_{average}" for average in AVERAGES)
            raise ValueError(f"metric {metric.name!r} is binary and there are {len(labels)} classes: use {options}.")
        if positive is None:
            raise ValueError(
                f"metric {metric.name!r} needs a positive class: name one of {list(labels)} as pos_label when making "
                f"the ConfusionMatrix, as pos_label={labels[-1]!r}."
            )
    return metric


def single_valued(name: str | Metric, labels: Sequence[Any], positive: int | None) -> Metric:
    """Return the metric if it can be computed for these labels and has one value for a whole matrix.

    Raises
    ------
    ValueError
        As by `applicable`; or if the metric has a value for each class.
    """
    metric = applicable(name, labels, positive)
    if metric.average == "per_class":
        raise ValueError(f"metric {metric.name!r} has a value a class: name a metric of the whole matrix.")
    return metric


def register(
    name: str,
    function: Callable[..., Any],
    *,
    aliases: Sequence[str] = (),
    bounds: tuple[float, float] = (-np.inf, np.inf),
    greater_is_better: bool | None = True,
) -> Metric:
    """Add a metric of your own to the table; from then on its name works wherever a metric's name does.

    Parameters
    ----------
    name : str
        A name not yet taken.
    function : callable
        Takes any of the named cells ``tp, fn, fp, tn`` (of a binary matrix; suffixes then give averages), ``correct``,
        ``wrong``, or ``cells`` (..., actual, predicted), and returns values of the leading shape. It is called with
        counts, probabilities and posterior draws alike, so use NumPy operations only.
    aliases : sequence of str
        Other names.
    bounds : tuple of float
        Smallest and greatest possible value.
    greater_is_better : bool or None
        Direction.

    Raises
    ------
    ValueError
        If a name is taken, or the function takes other arguments.

    Examples
    --------
    >>> import bayesperf as bp
    >>> net = bp.metrics.register("net_benefit", lambda tp, fn, fp, tn: (tp - fp) / (tp + fn + fp + tn))
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> bp.score(cm, "net_benefit").item()
    0.35
    >>> bp.metrics.unregister("net_benefit")
    """
    if not isinstance(name, str) or isinstance(aliases, str):
        raise TypeError(f"name must be a str and aliases a sequence of them; they are {name!r} and {aliases!r}.")
    if not bounds[0] < bounds[1]:
        raise ValueError(f"bounds must be (smallest, greatest); they are {bounds}.")
    arguments = set(inspect.signature(function).parameters)
    needs: Needs = "binary" if arguments <= _BINARY_ARGUMENTS else "classes"
    metric = Metric(name, function, tuple(aliases), bounds, greater_is_better, needs)
    add(metric)
    _OWN.add(name)
    return metric


def unregister(name: str) -> None:
    """Take a metric that was registered out of the table again."""
    metric = get(name)
    if metric.name not in _OWN:
        raise ValueError(f"metric {name!r} was not registered, so it cannot be taken out.")
    _OWN.remove(metric.name)
    del _TABLE[metric.name]
    for alias in (metric.name, *metric.aliases):
        del _ALIASES[alias]


def table() -> pd.DataFrame:
    """Return every metric with its facts, a row each: what the documentation prints."""
    import pandas as pd

    rows = [
        {
            "name": metric.name,
            "aliases": ", ".join(metric.aliases),
            "needs": metric.needs,
            "bounds": metric.bounds,
            "greater_is_better": metric.greater_is_better,
            "posterior": metric.exact.method if metric.exact else "draws",
            "description": metric.description,
        }
        for metric in _TABLE.values()
    ]
    return pd.DataFrame(rows)
