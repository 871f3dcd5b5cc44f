"""The posterior of a population whose strata were tested in other proportions than they have in it.

Counts of each stratum have a posterior of their own, and the population's cells are their average, weighted by shares
(`bayesperf.posteriors.sources.mixed_strata`). By default the prior weighs two examples in all, or one if only outcomes
are counted. Its part in stratum h, with share W_h and n_h examples, is in proportion to W_h/√(n_h + 1): roughly to the
standard error that the stratum adds to the figure.

Other ways to spread a prior cover worse (docs/coverage.md). With Jeffreys' prior in each of 20 strata of five examples,
no interval contained an accuracy of .95. If the prior is spread evenly, five of five right in a stratum of 90 % of
the population are taken for certainty. If it is spread by share alone, the same holds for one of 20 equal strata if
it has five examples and the others have thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.errors import InputError, InputTypeError, PriorWarning, warn
from bayesperf.core.random_streams import stream
from bayesperf.core.words import listed
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.counted import Counted
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.paired_systems import joint_posterior, margins
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.posterior_under_prior import posterior_under_prior
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sources.mixed_strata import MixedStrata
from bayesperf.posteriors.sources.stored_draws import StoredDraws

_SHARES_OF = ("population", "sample")
# Shares that sum to 1 to this precision are shares.
_ROUNDING = 1e-6
# The smallest share by which a stratum has a part of the prior, so that its own posterior is proper.
_LEAST_SHARE = 1e-6
# Cells in all draws of all strata that lower the number of draws, and its minimum.
_MOST_CELLS, _LEAST_DRAWS = 40_000_000, 1000
_ADVICE = "Give each stratum its share of the population, or its size."


def posterior_of_strata(
    data: Counted | Posterior,
    strata: str | Sequence[str],
    shares: Any,
    shares_of: str = "population",
    prior: str | priors.Prior | None = None,
    random_seed: Any = 0,
    draws: int | None = None,
) -> Posterior:
    """Return the posterior of a population of strata, with the arguments of `bayesperf.posterior`.

    Raises
    ------
    ValueError
        If a stratum has no share or two; if shares are below 0, or all 0; if `strata` is no leading dim.

    Warns
    -----
    PriorWarning
        If a stratum with a share has no examples, of one system or of all: its cells come from the prior alone.
    """
    dims = (strata,) if isinstance(strata, str) else tuple(strata)
    for dim in dims:
        checks.leading_dim("strata", dim, data.dims)
    known = _known_shares(shares, dims, checks.one_of("shares_of", shares_of, _SHARES_OF))
    seed = checks.seed(random_seed)
    counted = data if isinstance(data, Posterior) else _with_all(data, dims, known)
    weights = _in_order(known, counted.leading if isinstance(counted, Posterior) else counted.counts, dims)
    if isinstance(counted, Posterior):
        within, of_prior, systems = counted, 0.0, ""
    else:
        within, of_prior, systems = _within(counted, prior, weights / weights.sum(), seed, draws)
    within.refuse("draws")
    source = MixedStrata(
        within=within,
        cells=_mixed(within, dims, weights, shares_of == "population", draws),
        independent_draws=within.source.independent_draws,
        strata_dims=dims,
        shares=Prevalence(weights.values.ravel(), fixed=shares_of == "population"),
        prior_examples=of_prior,
        systems_dim=systems,
        random_seed=seed,
    )
    if source.empty:
        have = "has no examples, so its figures" if len(source.empty) == 1 else "have no examples, so their figures"
        said = f"strata: {listed(source.empty)} {have} come from the prior alone."
        warn(PriorWarning, "BP206", f"{said} Test some, or let strata learn from each other: pool(cm, dim).by_group.")
    return source.posterior


def _known_shares(shares: Any, dims: tuple[str, ...], shares_of: str) -> dict[tuple[Any, ...], float]:
    """Return the weight of each stratum, by its levels: shares, sizes, or Dirichlet weights of sampled shares."""
    if isinstance(shares, xr.DataArray):
        shares = shares.to_series()
    if isinstance(shares, pd.Series):
        shares = _levels_in_order(shares, dims).to_dict()
    if not isinstance(shares, Mapping) or not shares:
        raise InputTypeError("shares", f"must map each stratum to its share; it is {type(shares).__name__}.", _ADVICE)
    known = {
        stratum if isinstance(stratum, tuple) else (stratum,): checks.number(f"shares[{stratum!r}]", share)
        for stratum, share in shares.items()
    }
    values = np.array(list(known.values()))
    if not (np.isfinite(values) & (values >= 0)).all() or not values.sum() > 0:
        raise InputError("shares", "must be finite, not negative, and not all 0.", _ADVICE)
    whole = bool((values == np.floor(values)).all()) and values.sum() > 1
    if shares_of == "sample" and not whole:
        raise InputError("shares", "of a sample must be the numbers of its examples.", "Count the strata in it.")
    if not whole and abs(values.sum() - 1) > _ROUNDING:
        raise InputError("shares", f"must sum to 1, or be sizes; they sum to {values.sum():g}.", _ADVICE)
    return {stratum: share + (shares_of == "sample") / len(known) for stratum, share in known.items()}


def _levels_in_order(shares: pd.Series, dims: tuple[str, ...]) -> pd.Series:
    """Return shares with the levels of their index in the order of the strata's dims, by name."""
    if shares.index.has_duplicates:
        twice = shares.index[shares.index.duplicated()].unique().tolist()
        raise InputError("shares", f"has more than one share of {listed(twice)}.", "Sum them.")
    names = list(shares.index.names)
    if len(names) == 1 or names == [None] * len(names):
        return shares
    if sorted(map(str, names)) != sorted(dims):
        raise InputError("shares", f"is over {listed(names)}, and the strata over {listed(dims)}.", "Name them alike.")
    return shares.reorder_levels([names.index(dim) for dim in dims])


def _in_order(known: Mapping[tuple[Any, ...], float], leading: xr.DataArray, dims: Sequence[str]) -> xr.DataArray:
    """Return the weights of the strata along their dims."""
    levels = [leading[dim].values.tolist() for dim in dims]
    each = list(product(*levels))
    if without := [stratum for stratum in each if stratum not in known]:
        raise InputError("shares", f"has no share of {listed([_plain(stratum) for stratum in without])}.", _ADVICE)
    if others := [stratum for stratum in known if stratum not in each]:
        raise InputError("shares", f"has a share of {listed([_plain(stratum) for stratum in others])}, no stratum.")
    values = np.array([known[stratum] for stratum in each]).reshape([len(level) for level in levels])
    return xr.DataArray(values, dict(zip(dims, levels, strict=True)), list(dims))


def _plain(stratum: tuple[Any, ...]) -> Any:
    return stratum[0] if len(stratum) == 1 else stratum


def _with_all(cm: Counted, dims: Sequence[str], known: Mapping[tuple[Any, ...], float]) -> Counted:
    """Return counts with zeros for strata that have a share and no examples."""
    levels: dict[str, list[Any]] = {}
    for position, dim in enumerate(dims):
        there = cm.counts[dim].values.tolist()
        more = [stratum[position] for stratum in known if len(stratum) == len(dims) and stratum[position] not in there]
        if more:
            levels[dim] = [*there, *dict.fromkeys(more)]
    if not levels:
        return cm
    if cm.patterns is not None:
        return margins(replace(cm.patterns, counts=cm.patterns.counts.reindex(levels, fill_value=0)))
    return cm.holding(cm.counts.reindex(levels, fill_value=0))


def _within(
    cm: Counted, prior: str | priors.Prior | None, shares: xr.DataArray, seed: int, draws: int | None
) -> tuple[Posterior, float, str]:
    """Return the posterior of each stratum, the weight of all their priors, and the dim of systems on same examples."""
    if prior is None:
        total = 1 if cm.graded else 2
        prior = priors.dirichlet(_spread(total, cm, shares))
        examples = f"{total} pseudo-example{'s' * (total > 1)} in all"
        text = f"Dirichlet, {examples}, spread over strata by the standard error that each adds"
    else:
        prior = priors.resolve_dirichlet(prior, len(cm.labels), "strata with known shares")
        text = f"{prior.describe(cm)} in each stratum"
    patterns = cm.patterns
    if patterns is None:
        post = posterior_under_prior(cm, prior, random_seed=seed, draws=draws)
    else:
        post = joint_posterior(patterns, prior, DRAWS if draws is None else draws, seed)
    weight = float(cm.cells.copy(data=prior.concentration(cm)).sum([*shares.dims, *CELL_DIMS]).max())
    return replace(post, prior_text=text), weight, "" if patterns is None else patterns.dim


def _spread(total: float, cm: Counted, shares: xr.DataArray) -> xr.DataArray:
    """Return pseudo-counts (…, actual, predicted) with a sum, by the standard error that each stratum adds."""
    cells = {dim: cm.cells.sizes[dim] for dim in CELL_DIMS}
    adds = shares.clip(min=_LEAST_SHARE) / (cm.cells.sum(CELL_DIMS) + 1) ** 0.5
    spread: xr.DataArray = total * adds / adds.sum([*shares.dims]) / np.prod(list(cells.values()))
    return spread.expand_dims(cells)


def _mixed(
    within: Posterior, dims: Sequence[str], weights: xr.DataArray, fixed: bool, draws: int | None
) -> xr.DataArray:
    """Return draws of the population's cells, (…, chain, draw, actual, predicted)."""
    source = within.source
    if isinstance(source, StoredDraws):
        cells = source.cells
    else:
        n = max(min(source.n_draws, _MOST_CELLS // within.template.size), _LEAST_DRAWS) if draws is None else draws
        cells = source.cells_by_chain(within, n, 1)
    share = weights / weights.sum()
    if not fixed:
        sizes = cells.sizes["chain"], cells.sizes["draw"]
        drawn = stream(source.random_seed, "shares of strata", weights.values).dirichlet(weights.values.ravel(), sizes)
        share = xr.DataArray(drawn.reshape(*sizes, *weights.shape), weights.coords, ("chain", "draw", *dims))
    leading = [dim for dim in within.dims if dim not in dims]
    mixed: xr.DataArray = xr.dot(cells, share, dim=list(dims))
    return mixed.transpose(*leading, "chain", "draw", *CELL_DIMS).rename("cells")
