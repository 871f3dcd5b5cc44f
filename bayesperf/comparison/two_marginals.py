"""Comparison of two marginals from different test sets: areas, scores, averages over folds, rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.comparison.contrast import Asked, contrasted
from bayesperf.comparison.result import Comparison
from bayesperf.comparison.system_pair import SystemPair, check_same_leading, system_name, without_own_coordinates
from bayesperf.core.errors import DependenceWarning, InputError, InputTypeError, warn
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal


def compare_marginals(a: Any, b: Any, asked: Asked) -> Comparison:
    """Compare two marginals of the same quantity from different test sets, element by element.

    Raises
    ------
    TypeError
        If one of the two is not a Marginal.
    ValueError
        If they describe different quantities, or differ in leading coordinates.

    Warns
    -----
    DependenceWarning
        If they seem to come from one test set, and `independent` does not say otherwise.
    """
    for name, side, other in (("a", a, b), ("b", b, a)):
        if not isinstance(side, Marginal):
            raise InputTypeError(
                name,
                f"must be a Marginal, as the other side is; it is {type(side).__name__}.",
                f"Of a posterior take one metric, as posterior[{other.name!r}].",
            )
    _check_same_quantity(a, b)
    if not asked.independent and _may_share_examples(a, b):
        warn(
            DependenceWarning,
            "BP103",
            "a and b are of as many examples of every class (or of the same draws), as those of one test set are. If "
            "they are, compare the systems on it, which says more: compare(roc_auc(y_true, {'a': y_score_a, 'b': "
            "y_score_b})) and weighted_score of such a mapping, compare(counts of the same examples, metric=...) of "
            "predictions. If their examples differ, say so: compare(..., independent=True).",
        )
    alike = a.inference == b.inference
    # With two methods the difference has the name of neither.
    first = a if alike else replace(a, inference="")
    basis = a.estimand if alike else f"a: {a.estimand}; b: {b.estimand}"
    return of_two(first, b, asked, f"{basis}; independent systems")


def of_two(a: Marginal, b: Marginal, asked: Asked, basis: str) -> Comparison:
    """Return the comparison of two independent systems, element by element."""
    pair = SystemPair(
        without_own_coordinates(a, b, asked.dim),
        b,
        independent=True,
        n_draws=asked.draws,
        random_seed=asked.random_seed,
    )
    names = tuple(system_name(side.leading, asked.dim, letter) for side, letter in ((a, "a"), (b, "b")))
    return contrasted(pair, asked, names if names[0] != names[1] else ("a", "b"), basis)


def _check_same_quantity(a: Marginal, b: Marginal) -> None:
    """Refuse marginals whose difference would describe nothing."""
    if a.name != b.name:
        raise InputError("a and b", f"are of different metrics: {a.name!r} and {b.name!r}.")
    if a.quantity != b.quantity:
        described = " and ".join(repr(side.quantity.described("")) for side in (a, b))
        raise InputError("a and b", f"are of different things: {described}.")
    check_same_leading(a, b)


def _may_share_examples(a: Marginal, b: Marginal) -> bool:
    """Whether both have the same class totals or, if these are unknown, the very same draws."""
    if a.examples is not None and b.examples is not None:
        return same_class_totals(a.examples, b.examples)
    of_a, of_b = a.distribution, b.distribution
    if isinstance(of_a, Draws) and isinstance(of_b, Draws):
        return np.array_equal(of_a.values, of_b.values, equal_nan=True)
    return False


def same_class_totals(a: xr.DataArray | None, b: xr.DataArray | None) -> bool:
    """Whether two test sets have the same, nonzero, number of examples in every class."""
    if a is None or b is None:
        return False
    first, second = class_totals(a), class_totals(b)
    return bool(first.any()) and np.array_equal(first, second)


def class_totals(examples: xr.DataArray) -> xr.DataArray:
    """Return the number of examples in every class, or of all examples if only some are verified, classes last."""
    totals = examples.sum([dim for dim in examples.dims if dim == "predicted"])
    return totals.transpose(..., "actual", missing_dims="ignore")
