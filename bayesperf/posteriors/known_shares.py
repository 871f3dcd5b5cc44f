"""The posterior of a population whose strata were tested in other proportions than they have in it.

Counts of each stratum have a posterior of their own, and the population's cells are their average, weighted by shares
(`MixedStrata`). By default the prior weighs two examples in all, or one if only outcomes are counted. Its part in
stratum h, with share W_h and n_h examples, is in proportion to W_h/√(n_h + 1): roughly to the standard error that the
stratum adds to the figure.

Other ways to spread a prior cover worse (docs/coverage.md). With Jeffreys' prior in each of 20 strata of five examples,
no interval contained an accuracy of .95. If the prior is spread evenly, five of five right in a stratum of 90 % of
the population are taken for certainty. If it is spread by share alone, the same holds for one of 20 equal strata if
it has five examples and the others have thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError, PriorWarning, warn
from bayesperf.core.random_streams import stream
from bayesperf.core.words import enumerated, listed, place_names
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.counted import Counted
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import DrawsOfKnownMoments
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.paired_systems import joint_posterior, margins
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.posterior_under_prior import posterior_under_prior
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sources.source import Task
from bayesperf.posteriors.sources.stored_draws import StoredDraws

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior

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
    if isinstance(data, Posterior):
        weights = _in_order(known, data.leading, dims)
        within, of_prior, systems = data, 0.0, ""
    else:
        counted = _with_all(data, dims, known)
        weights = _in_order(known, counted.counts, dims)
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
    if source.by_matrix:
        n = max(min(source.n_draws, _MOST_CELLS // within.template.size), _LEAST_DRAWS) if draws is None else draws
        cells = source.cells_by_chain(within, n, 1)
    else:
        cells = source.cells_by_chain(within)
    share = weights / weights.sum()
    if not fixed:
        sizes = cells.sizes["chain"], cells.sizes["draw"]
        drawn = stream(source.random_seed, "shares of strata", weights.values).dirichlet(weights.values.ravel(), sizes)
        share = xr.DataArray(drawn.reshape(*sizes, *weights.shape), weights.coords, ("chain", "draw", *dims))
    leading = [dim for dim in within.dims if dim not in dims]
    mixed: xr.DataArray = xr.dot(cells, share, dim=list(dims))
    return mixed.transpose(*leading, "chain", "draw", *CELL_DIMS).rename("cells")


# ── The source of cells ──

# θ = Σ_h W_h θ_h, with independent posteriors θ_h of the strata and shares W that are known, or counted in another
# sample. The mean and variance of a proportion of all examples, which is linear in the cells, are exact; everything
# else comes from joint draws.

# Names of strata in a sentence.
_NAMED = 6


@dataclass(frozen=True, eq=False)
class MixedStrata(StoredDraws):
    """Draws of the cells of a population of strata. Made by `bayesperf.posterior` with `strata` and `shares`."""

    weighted: ClassVar[bool] = True
    within: Posterior = field(kw_only=True)
    strata_dims: tuple[str, ...] = field(kw_only=True)
    # How common each stratum is, row by row.
    shares: Prevalence = field(kw_only=True)
    # Weight of the prior in all strata together, in examples; 0 if it has no such weight.
    prior_examples: float = field(default=0.0, kw_only=True)
    random_seed: int = field(default=0, kw_only=True)

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        advice = "the population is a mixture. Update the counts of the strata, and mix them again."
        return super().refused_tasks(post) | {"update": advice}

    def _distribution(self, post: Posterior, metric: Metric) -> Distribution:
        drawn = super()._distribution(post, metric)
        if self.reweighted or self.within.source.method != "exact" or not self._is_linear(post, metric):
            return drawn
        mean, sd = self._moments(post, metric)
        return DrawsOfKnownMoments(drawn.values, drawn.bounds, mean=mean, sd=sd)  # type: ignore[attr-defined]

    def _is_linear(self, post: Posterior, metric: Metric) -> bool:
        """Whether a metric is a proportion of all examples, so that it is linear in the cells."""
        cells = np.arange(1.0, self.template.sizes["actual"] * len(post.labels) + 1)
        trials = metric.trials(cells.reshape(1, -1, len(post.labels)), post.positive)
        return trials is not None and bool(np.allclose(trials, cells.sum()))

    def _moments(self, post: Posterior, metric: Metric) -> tuple[Array, Array]:
        """Return the exact mean and standard deviation of a metric that is linear in the cells, (m,) each."""
        each, order = self.within[metric], (*post.leading_of(metric).dims, *self.strata_dims)
        mean, sd = (v.transpose(*order).values.reshape(-1, len(self.shares.weights)) for v in (each.mean(), each.sd()))
        share, covariance = self.shares.mean, self.shares.covariance
        between = np.einsum("ih,hk,ik->i", mean, covariance, mean)
        return mean @ share, np.sqrt(sd**2 @ (share**2 + np.diag(covariance)) + between)

    # ── What the figures rest on ──

    @cached_property
    def _tested(self) -> xr.DataArray:
        """Numbers of examples (…, strata) of each system in each stratum."""
        counts = self.within.examples
        if counts is None:
            raise InputError("strata", "the posterior of the strata has no counts.")
        return counts.sum(CELL_DIMS).transpose(..., *self.strata_dims)

    @property
    def empty(self) -> list[str]:
        """Names of the strata that have a share and no examples, and of the systems if others have some."""
        if self.within.examples is None:
            return []
        without = (self._tested == 0) & (self._share > 0)
        for_all = without.all([dim for dim in without.dims if dim not in self.strata_dims])
        for_some = (without & ~for_all).transpose(*self.strata_dims, ...)
        return [
            name
            for places in (for_all, for_some)
            for name, is_empty in zip(place_names(places), places.values.ravel(), strict=True)
            if is_empty
        ]

    @property
    def _share(self) -> xr.DataArray:
        """The mean share of each stratum, over their dims."""
        levels = {dim: self.within.leading[dim].values for dim in self.strata_dims}
        return xr.DataArray(self.shares.mean.reshape([len(v) for v in levels.values()]), levels, list(levels))

    def strata(self) -> pd.DataFrame:
        """Return the strata: names, share of the population, and number of examples, the largest of any system."""
        tested = self._tested.max([dim for dim in self._tested.dims if dim not in self.strata_dims])
        table = tested.astype(int).rename("examples").to_dataframe().reset_index()
        table.insert(len(self.strata_dims), "share", self.shares.mean)
        return table

    def effective_number(self, metric: str | Metric) -> xr.DataArray:
        """Return the number of trials, drawn at random from the population, that would tell as much about a proportion.

        It is p(1 − p)/Var − 1, less the weight of the prior: the number of trials of a Beta distribution with this mean
        p and variance. Trials are all examples for accuracy, positives for recall.

        Parameters
        ----------
        metric : str or Metric
            A proportion of the cells, such as accuracy or recall.

        Returns
        -------
        xarray.DataArray
            Over the leading dims.
        """
        self.refuse_other_prevalence("effective_number")
        post = self.posterior
        metric = post.applicable(metric)
        cells = np.ones((1, *self.template.shape[-2:]))
        trials = metric.trials(cells, post.positive)
        if trials is None:
            raise InputError("metric", f"{metric.name!r} is no proportion of examples, so it has no number of trials.")
        marginal = post[metric]
        mean, variance = marginal.mean(), marginal.sd() ** 2
        prior = self.prior_examples * float(trials.max()) / cells.size
        number: xr.DataArray = mean * (1 - mean) / variance - 1 - prior
        return number.clip(min=0).rename("effective_number")

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of the population."""
        return replace(self.within, source=self, observed=self.observed, learned_from=self.learned_from)

    @cached_property
    def learned_from(self) -> xr.DataArray | None:
        """Counts of all strata together, which identify the test set."""
        return None if self.within.examples is None else self.within.examples.sum(self.strata_dims)

    @cached_property
    def observed(self) -> xr.DataArray | None:
        """The examples, weighted so that each stratum has its share: NaN for a system without some stratum.

        None if no system has them all.
        """
        counts = self.within.observed
        if counts is None:
            return None
        total, share = counts.sum(CELL_DIMS), self._share
        parts = (counts / total * share).where(share > 0, 0.0)
        weighted = parts.sum(self.strata_dims, skipna=False) * total.sum(self.strata_dims)
        return None if weighted.isnull().all() else weighted.transpose(*self.template.dims)

    # ── In words ──

    def preface(self) -> list[str]:
        leading = self.within.leading.isel(dict.fromkeys(self.template.dims[:-2], 0))
        names = place_names(leading.transpose(*self.strata_dims))
        shares = [f"{name} {share:.3g}" for name, share in zip(names, self.shares.mean, strict=True)]
        source = "known shares" if self.shares.fixed else "shares counted in another sample"
        said = [f"A population of {len(names)} strata with {source}: {enumerated(shares, _NAMED)}."]
        if self.empty:
            are = "has" if len(self.empty) == 1 else "have"
            said.append(f"{enumerated(self.empty, _NAMED)} {are} no examples, so the prior decides there.")
        return said

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        if self.reweighted or self.learned_from is None or post.dims or metric.average is not None:
            return []
        if metric.trials(self.template.values, post.positive) is None:
            return []
        number, title = float(self.effective_number(metric)), post[metric].quantity.title
        seen = metric.trials(self.learned_from.values, post.positive)
        return [
            f"{float(np.asarray(seen)):,.0f} examples count towards {title}, and tell as much as {number:,.0f} drawn "
            "at random from the population would."
        ]
