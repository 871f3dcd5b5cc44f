"""Builds every comparison: of two marginals, of systems along a dim of one, joint or independent, or a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayesperf.comparison.result import Comparison
from bayesperf.comparison.system_pair import (
    SystemPair,
    check_same_leading,
    pairs_along,
    system_name,
    without_own_coordinates,
)
from bayesperf.comparison.systems import Systems
from bayesperf.core.arrays import NO_DIMS, PairsAlong
from bayesperf.core.errors import DependenceWarning, InputError, InputTypeError, warn
from bayesperf.core.words import listed
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity


class Asked(NamedTuple):
    """The question that `bayesperf.compare` is asked, for any kind of system; see its parameters."""

    dim: str
    rope: float
    contrast: str
    draws: int
    random_seed: int
    independent: bool
    baseline: Any = None


def contrasted(
    pair: SystemPair, asked: Asked, names: tuple[Any, ...], basis: str, systems: Systems | None = None
) -> Comparison:
    """Return the comparison of the two systems of a pair or, with `systems`, of all pairs."""
    return Comparison(
        contrast=pair.ratio() if asked.contrast == "ratio" else pair.difference(),
        names=names,
        rope=asked.rope,
        basis=basis,
        # In one result two dims of the same name would be one.
        dim="system" if asked.dim in pair.first.dims and pair.pairs is None else asked.dim,
        many=pair.many,
        pair=pair,
        systems=systems,
        baseline=asked.baseline,
    )


def of_difference(
    quantity: Quantity,
    distribution: Distribution,
    names: tuple[Any, ...],
    rope: float,
    basis: str,
    tree: xr.DataTree | None = None,
) -> Comparison:
    """Return the comparison of two systems of which nothing is known but their difference."""
    contrast = Marginal(quantity, distribution, NO_DIMS)
    return Comparison(contrast=contrast, names=names, rope=rope, basis=basis, tree=tree)


def of_systems(
    marginal: Marginal,
    asked: Asked,
    independent: bool,
    basis: str,
    units: float = np.inf,
    pairs: PairsAlong | None = None,
) -> Comparison:
    """Compare all systems along a dim of a marginal, independent or joint, whose pairs may have been labelled."""
    if asked.baseline is not None:
        places = places_with_last(marginal.leading.get_index(asked.dim).tolist(), asked.baseline)
        marginal = marginal if places == sorted(places) else marginal.isel(**{asked.dim: places})
    pair = pairs_along(marginal, asked.dim, independent, asked.draws, marginal.random_seed, pairs=pairs)
    systems = Systems(marginal, asked.dim, asked.draws, independent, asked.random_seed, units)
    # A prediction of a new test set is no estimate of a system's own metric.
    known = not marginal.quantity.scope.of_new_test_set
    found = contrasted(pair, asked, pair.names, basis, systems if known else None)
    return replace(found, shrunk=marginal) if marginal.quantity.scope.shrunk else found


def places_with_last(names: Sequence[Any], last: Any) -> list[int]:
    """Return the positions of systems, one of them last and the others in their order."""
    if last not in names:
        raise InputError("baseline", f"no system is called {last!r}; they are {listed(names, 12)}.")
    return sorted(range(len(names)), key=lambda place: names[place] == last)


# ── Two marginals from different test sets: areas, scores, averages over folds, rates ──


def compare_marginals(a: Any, b: Any, asked: Asked) -> Comparison:
    """Compare two marginals of the same quantity from different test sets, element by element.

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
