"""The registry of metrics: look up a metric by name or alias, add one, and list them all."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held, UnsavableError, fields_of, held_as
from bayesperf.metrics.arguments import ARGUMENTS, BINARY_ARGUMENTS, GRADES
from bayesperf.metrics.metric import AVERAGES, Metric, Needs

_TABLE: dict[str, Metric] = {}
# Arguments of functions that take other than the cells of classes.
_KNOWN = {"outcomes": [*ARGUMENTS, GRADES], "scores": ["positives", "negatives", "scores"]}
_ALIASES: dict[str, str] = {}
_OWN: set[str] = set()
# Names with a parameter, such as "f2": patterns, and functions from the number in the name to the metric.
FAMILIES: dict[re.Pattern[str], Callable[[float], Metric]] = {}


def add(metric: Metric) -> None:
    """Add a metric to the registry; raise if its arguments are unknown or its names are taken."""
    parameters = inspect.signature(metric.function).parameters
    kinds = {p.kind for p in parameters.values()}
    variadic = kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    known = _KNOWN.get(metric.needs) or [name for name in ARGUMENTS if name != "shares"]
    if variadic or not metric.arguments or set(parameters) - set(known):
        raise InputError(
            "metric",
            f"{metric.name!r}: its function's arguments must be among {', '.join(known)}; it "
            f"takes {', '.join(parameters) or 'none'}.",
        )
    named = (metric.name, *metric.aliases)
    for name in named:
        if named.count(name) > 1 or name in _ALIASES or any(pattern.fullmatch(name) for pattern in FAMILIES):
            raise InputError("metric", f"one named {name!r} exists already.")
        if any(name.endswith(f"_{average}") for average in AVERAGES):
            raise InputError("metric", f"{name!r}: names ending in _{', _'.join(AVERAGES)} are kept for averages.")
    _TABLE[metric.name] = metric
    _ALIASES.update(dict.fromkeys((metric.name, *metric.aliases), metric.name))


def row(**facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds a function to the registry under its own name."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        add(Metric(function.__name__, function, **facts))
        return function

    return enter


def names(needs: Needs | None = None) -> list[str]:
    """Return the canonical names of all metrics, or of those whose attribute `needs` has a given value.

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.names("ordered")
    ['weighted_kappa', 'linear_weighted_kappa', 'mean_absolute_error', 'off_by_one']
    """
    return [metric.name for metric in _TABLE.values() if needs in (None, metric.needs)]


def get(name: str | Metric) -> Metric:
    """Return a metric by its name.

    Parameters
    ----------
    name : str or Metric
        A name, an alias or ``"f<beta>"``, each optionally with the suffix of an average, such as ``_macro``. A metric
        is returned as it is.

    Raises
    ------
    ValueError
        If there is no metric of that name; the message suggests similar names.

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.get("ppv").name, metrics.get("sensitivity_macro").name
    ('precision', 'recall_macro')
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str):
        raise InputTypeError("metric", f"must be a name or a Metric; it is {type(name).__name__}.")
    if name in _ALIASES:
        return _TABLE[_ALIASES[name]]
    for pattern, family in FAMILIES.items():
        if match := pattern.fullmatch(name):
            return family(float(match[1]))
    for average in AVERAGES:
        if name.endswith(f"_{average}"):
            base = get(name.removesuffix(f"_{average}"))
            if not set(base.arguments) <= BINARY_ARGUMENTS or base.average:
                raise InputError("metric", f"{name!r}: {base.name} is one number for all classes and has no averages.")
            return replace(base, name=f"{base.name}_{average}", aliases=(), average=average)
    near = difflib.get_close_matches(
        name.lower(), [*_ALIASES, *(f"{n}_{a}" for n in names("binary") for a in AVERAGES)]
    )
    hint = "some are accuracy, recall and f1_macro; in Python, bayesperf.metrics.names() lists all."
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    raise InputError("metric", f"there is no metric named {name!r}: {hint}")


def _in_files(metric: Metric) -> dict[str, Any]:
    """Return the part of a metric that a file stores: its name, or all of it; raise if it is the caller's own."""
    function: Any = metric.function
    if metric.scale is not None:
        return {"name": metric.name, "scale": metric.scale}
    if isinstance(function, Held):
        return fields_of(metric)
    base = metric.name
    for average in AVERAGES:
        base = base.removesuffix(f"_{average}")
    if _ALIASES.get(base) in _OWN or not _is_known(metric):
        raise UnsavableError(
            f"metric {metric.name!r} is a function of your own, which no file holds. Save what it is applied to, as "
            "the posterior; after loading, register the metric and ask for it again."
        )
    return {"name": metric.name}


def _of_file(name: str, **others: Any) -> Metric:
    if set(others) == {"scale"}:
        return get(name).on_scale(others["scale"])
    return Metric(name, **others) if others else get(name)


held_as(Metric, _in_files, _of_file)


def _is_known(metric: Metric) -> bool:
    try:
        return get(metric.name) == metric
    except ValueError:
        return False


def applicable(
    name: str | Metric,
    labels: Sequence[Any],
    positive: int | None,
    dims: Sequence[Hashable] = (),
    graded: bool = False,
) -> Metric:
    """Return the metric if it can be computed for these labels and leading dims; `graded` labels are a scale.

    Raises
    ------
    ValueError
        If the metric is binary and there are more than two classes, or two classes without a positive one; if it adds
        a dim that already exists; or if it averages over classes and the dim ``label`` has a matrix for each.
    """
    metric = get(name)
    if metric.needs == "scores":
        raise InputError(
            "metric",
            f"{metric.name!r} is a metric of scores; these are {'outcomes' if graded else 'predictions of classes'}.",
            f"Call {_OF_SCORES.get(metric.name, f'curves.weighted_score({metric.name!r}, y_true, y_score)')}.",
        )
    if graded or metric.needs == "outcomes":
        return _of_outcomes(metric, labels, graded)
    if metric.average == "per_class" and "label" in dims:
        raise InputError("metric", f"{metric.name!r} adds a dim label, and there is one already.", "Rename it.")
    of_one = metric.name.removesuffix(f"_{metric.average}")
    if of_one != metric.name and "label" in dims:
        raise InputError(
            "metric",
            f"{metric.name!r} averages over classes, and each matrix along the dim label has two, in or not.",
            f"Ask for {of_one!r}; its average over labels is average_labels(y_true, y_pred, {of_one!r}).",
        )
    if metric.needs == "binary" and metric.average is None:
        if len(labels) > 2:
            options = ", ".join(f"{metric.name}_{average}" for average in AVERAGES)
            raise InputError("metric", f"{metric.name!r} is binary and there are {len(labels)} classes: use {options}.")
        if positive is None:
            raise InputError(
                "metric",
                f"{metric.name!r} needs a positive class.",
                f"Name one of {list(labels)}, in `pos_label`.",
            )
    return metric


def _of_outcomes(metric: Metric, grades: Sequence[Any], graded: bool) -> Metric:
    """Return a metric of outcomes on a scale; refuse outcome metrics for classes, and class metrics for outcomes."""
    if not graded:
        raise InputError("metric", f"{metric.name!r} is a metric of Outcomes; these are predictions of classes.")
    if metric.needs == "outcomes":
        return metric.on_scale(grades)
    if metric.name not in _OF_RIGHT:
        known = _OF_RIGHT if len(grades) == 2 else [*names("outcomes"), f"share_at_least_{grades[-1]}"]
        raise InputError(
            "metric",
            f"{metric.name!r} needs predictions of classes; these are outcomes.",
            f"Ask for {' or '.join(known)}.",
        )
    if len(grades) > 2:
        raise InputError(
            "metric",
            f"{metric.name!r} needs right and wrong; these outcomes have {len(grades)} grades.",
            f"Ask for mean_grade, or for share_at_least_{grades[-1]}.",
        )
    return in_field_words(metric, graded)


def in_field_words(metric: Metric, graded: bool) -> Metric:
    """Return a metric under the word of the field: of right and wrong outcomes, accuracy is the pass rate."""
    return replace(metric, word="pass rate") if graded and metric.name == "accuracy" else metric


# What computes a metric of scores; others are scores that can be weighted.
_OF_SCORES = {"roc_auc": "roc_auc(y_true, y_score)"}
# Metrics for classes that also apply to right and wrong outcomes.
_OF_RIGHT = ("accuracy", "error_rate")


def single_valued(
    name: str | Metric, labels: Sequence[Any], positive: int | None, dims: tuple[Any, ...] = (), graded: bool = False
) -> Metric:
    """Return the metric if it can be computed for these labels and has one value for a whole matrix.

    Raises
    ------
    ValueError
        As in `applicable`, or if the metric has one value per class.
    """
    metric = applicable(name, labels, positive, dims, graded)
    if metric.average == "per_class":
        raise InputError("metric", f"{metric.name!r} has a value a class: name a metric of the whole matrix.")
    return metric


def register(
    name: str,
    function: Callable[..., Any],
    *,
    aliases: Sequence[str] = (),
    bounds: tuple[float, float] = (-np.inf, np.inf),
    greater_is_better: bool | None = True,
) -> Metric:
    """Register a user-defined metric; its name is then accepted wherever a metric is named.

    Parameters
    ----------
    name : str
        Name of the metric; it must not be taken.
    function : callable
        A function of any of the cells ``tp, fn, fp, tn`` (of a binary matrix; suffixes then give averages),
        ``correct``, ``wrong``, ``hits``, ``misses`` and ``false_alarms`` of each class (..., K), or ``cells`` (...,
        actual, predicted) that returns values of the leading shape. It is called with counts, probabilities and
        posterior draws, so it should use NumPy operations only. With a thousand classes ``cells`` is slow.
    aliases : sequence of str
        Other names.
    bounds : tuple of float
        Smallest and largest possible value.
    greater_is_better : bool or None
        Whether greater values are better; None if neither direction is better.

    Raises
    ------
    ValueError
        If a name is taken, or the function has other arguments.

    Examples
    --------
    >>> import bayesperf as bp
    >>> saved = bp.metrics.register("cost_saved", lambda tp, fn, fp, tn: (tp - fp) / (tp + fn + fp + tn))
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> bp.score(cm, "cost_saved").item()
    0.35
    >>> bp.metrics.unregister("cost_saved")
    """
    if not isinstance(name, str) or isinstance(aliases, str):
        raise InputTypeError(
            "name", f"must be a str and aliases a sequence of them; they are {name!r} and {aliases!r}."
        )
    if not bounds[0] < bounds[1]:
        raise InputError("bounds", f"must be (smallest, greatest); they are {bounds}.")
    arguments = set(inspect.signature(function).parameters)
    needs: Needs = "binary" if arguments <= BINARY_ARGUMENTS else "classes"
    metric = Metric(name, function, tuple(aliases), bounds, greater_is_better, needs)
    add(metric)
    _OWN.add(name)
    return metric


def unregister(name: str) -> None:
    """Remove a metric that was added by `register`."""
    metric = get(name)
    if metric.name not in _OWN:
        raise InputError("metric", f"{name!r} was not registered, so it cannot be taken out.")
    _OWN.remove(metric.name)
    del _TABLE[metric.name]
    for alias in (metric.name, *metric.aliases):
        del _ALIASES[alias]


def table() -> pd.DataFrame:
    """Return a table of all metrics and their properties, one row per metric."""
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
