"""Builds every comparison: of two marginals, or of systems along a dim of one marginal, joint or independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayesperf.comparison.result import Comparison
from bayesperf.comparison.system_pair import SystemPair, pairs_along
from bayesperf.comparison.systems import Systems
from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.posteriors.marginal import Marginal


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
        dim="system" if asked.dim in pair.first.dims and pair.rows is None else asked.dim,
        many=pair.many,
        pair=pair,
        systems=systems,
        baseline=asked.baseline,
    )


def of_systems(marginal: Marginal, asked: Asked, independent: bool, basis: str, units: float = np.inf) -> Comparison:
    """Compare all systems along a dim of a marginal, independent or joint."""
    if asked.baseline is not None:
        places = places_with_last(marginal.leading[asked.dim].values.tolist(), asked.baseline)
        marginal = marginal if places == sorted(places) else marginal.isel(**{asked.dim: places})
    pairs = pairs_along(marginal, asked.dim, independent, asked.draws, marginal.random_seed)
    systems = Systems(marginal, asked.dim, asked.draws, independent, asked.random_seed, units)
    # A prediction of a new test set is no estimate of a system's own metric.
    known = not marginal.quantity.scope.of_new_test_set
    found = contrasted(pairs, asked, pairs.names, basis, systems if known else None)
    return replace(found, shrunk=marginal) if marginal.quantity.scope.shrunk else found


def places_with_last(names: Sequence[Any], last: Any) -> list[int]:
    """Return the positions of systems, one of them last and the others in their order."""
    if last not in names:
        raise InputError("baseline", f"no system is called {last!r}; they are {listed(names, 12)}.")
    return sorted(range(len(names)), key=lambda place: names[place] == last)
