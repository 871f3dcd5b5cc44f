"""The hierarchical model of counts over groups (folds, sites, days, images), by quadrature.

Each actual class has its own row, independent of the other: of n examples of the class in a group, k are predicted
right, k ~ BetaBinomial(n, κp, κ(1 − p)), κ = 1/ρ − 1, p ~ Beta(1, 1). The dispersion ρ is the correlation of two
examples of a group: at ρ = 0 all groups have one rate, at ρ = 1 each group is all right or all wrong. The groups' own
rates are integrated out, by quadrature over p and ρ, and come back by conjugacy.

Prevalence depends on the question. Random folds, and a new one, have the population's prevalence, Beta(1, 1) updated by
the summed counts. Each cluster has its own, by the same beta-binomial model for the positives among its examples, with
mean Beta(1, 1) and dispersion Beta(1, 3): clusters often differ more in prevalence than in rates. A metric of the mean
is the metric at the mean rates and the mean prevalence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import NO_DIMS, Array
from bayesperf.core.fields import Held
from bayesperf.core.random_streams import streams
from bayesperf.core.words import enumerated, plural
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.counted import Counted
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.draws import Draws
from bayesperf.groups.attempts import Rule, place_of_right, refuse_too_few, unbiased_credit
from bayesperf.groups.group_draws import PREVALENCE, GroupShares, PooledDraws
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored

# The Beta prior of the dispersion of rates, by what the groups are.
DISPERSION = {"random": (1.0, 24.0), "clusters": (1.0, 9.0)}
# The dispersion of questions asked several times: many are nearly always solved, or hardly ever.
QUESTIONS = (1.0, 1.0)
# The same of prevalence, in which clusters often differ more; random folds are parts of one population.
PREVALENCE_DISPERSION = {"random": None, "clusters": (1.0, 3.0)}


@dataclass(frozen=True, eq=False)
class GroupsModel(Held):
    """The hierarchical model of binary counts over groups, by quadrature: what the groups and their dispersion are."""

    cm: Counted
    dim: str
    # What the groups are.
    groups: Literal["random", "clusters"]
    # The Beta prior of the dispersion.
    dispersion_weights: tuple[float, float]
    # The divisor of the likelihood.
    repeats: int
    # How the test set was sampled.
    design: Literal["joint", "by_actual"]
    n_draws: int
    random_seed: int
    # Whether the caller gave the prior of the dispersion.
    dispersion_given: bool = False

    # ── The three answers ──

    @cached_property
    def mean(self) -> Posterior:
        """Posterior of metrics at the population's mean rates."""
        scope = Scope("mean", self.dim)
        return self._posterior(self._draws.cells("mean"), scope, self._summed_groups)

    @cached_property
    def by_group(self) -> Posterior:
        """Posterior of each group's own metrics, with the dim of the groups.

        A group's rate, given p and ρ, is Beta(κp + k, κ(1 − p) + n − k). So is the prevalence of a cluster; random
        folds have the population's.
        """
        groups = f"the cells of {self._counts.sizes[self.dim]:,} {plural(self.dim)}"
        # While the cells are computed, their rates and their prevalences are held beside them.
        checks.draws_in_memory(self.n_draws, 3 * self._counts.size, groups, "Pool fewer of them.")
        return self._posterior(self._draws.cells("groups"), Scope("group", self.dim), self._counts)

    @cached_property
    def new_group(self) -> Posterior:
        """Prediction of the metrics of a new group.

        Its rates are Beta(κp, κ(1 − p)). So is the prevalence of a cluster; a random fold has the population's.
        """
        scope = Scope("new_group", self.dim)
        return self._posterior(self._draws.cells("new_group"), scope, learned_from=self._summed_groups)

    def _posterior(
        self,
        cells: Array,
        scope: Scope,
        observed: xr.DataArray | None = None,
        learned_from: xr.DataArray | None = None,
    ) -> Posterior:
        template = self._counts.isel({self.dim: 0}, drop=True) if observed is None else observed
        return Posterior(
            source=StoredDraws(stored(cells, template), independent_draws=True),
            pos_label=self.cm.pos_label,
            prior_text=self.prior_text,
            scope=scope,
            observed=observed,
            learned_from=learned_from,
            prevalence="observed" if self.design == "joint" else None,
        )

    # ── The dispersion ──

    @cached_property
    def dispersion(self) -> Marginal:
        """Posterior of the dispersion ρ, over the other leading dims and ``actual``."""
        return Marginal(self._between, self._draws.rates.model.dispersion, self._rows, DispersionOf(self))

    @property
    def dispersion_prior(self) -> Marginal:
        """Prior of the dispersion."""
        origin = BetaDraws(self.dispersion_weights, self.random_seed)
        return Marginal(self._between, _beta(self.dispersion_weights), NO_DIMS, origin, "Prior")

    @property
    def _between(self) -> Quantity:
        return Quantity("dispersion", Scope("dispersion", self.dim), words="dispersion", bounds=(0.0, 1.0))

    def dispersion_draws(self, n: int, random_seed: int | None) -> Array:
        """Return n draws of the dispersion, (systems × classes, n)."""
        rows = 1 if self.cm.graded else 2
        levels = [rng.random((rows, checks.count("n", n))) for rng in self._streams("dispersion alone", random_seed)]
        return self._draws.rates.model.dispersion.ppf(np.concatenate(levels))

    @property
    def dispersion_ratio(self) -> xr.DataArray:
        """How much the groups' rates vary, relative to the binomial's variance: Pearson's X²/(groups − 1).

        About 1 if groups differ by chance alone. Coordinate ``defined`` is False, and the ratio 1 by convention, if
        there is nothing to compare: fewer than two groups with examples, or all of them right, or all wrong.
        """
        ratio, defined = (part.reshape(self._rows.shape) for part in self._draws.dispersion_ratio())
        labelled = self._rows.copy(data=ratio).rename("dispersion_ratio")
        return labelled.assign_coords(defined=(labelled.dims, defined))

    @property
    def trials(self) -> xr.DataArray:
        """Number of examples of each actual class in all groups, over the other leading dims and ``actual``."""
        return _over_classes(self._counts.sum([self.dim, "predicted"])).rename("trials")

    @cached_property
    def overlap(self) -> xr.DataArray:
        """The overlap of prior and posterior of the dispersion; near 1, the data say nothing about it."""
        shared = self._draws.rates.model.dispersion.overlap(_beta(self.dispersion_weights))
        return self._rows.copy(data=shared.reshape(self._rows.shape)).rename("overlap")

    # ── Several attempts ──

    def credit_of_k(self, rule: Rule) -> Marginal:
        """Return what k attempts at a new question, and at these, count for; see `Pooled.pass_at_k`."""
        place, _ = place_of_right(self.cm)
        passed, attempts = self._draws.right[:, place], self._draws.trials[:, place]
        refuse_too_few(attempts.T, rule.k, self.dim)
        rates, credit = self._questions, rule.credit
        values = np.stack([rates.credit(credit)[..., place], rates.credit_over_groups(credit, place)], 1)
        quantity = rule.quantity(Scope("itself"))
        systems = self._systems.expand_dims(of=[f"a new {self.dim}", f"these {plural(self.dim)}"], axis=-1)
        unbiased = np.nanmean(unbiased_credit(passed, attempts, credit), 1)
        return Marginal(
            quantity,
            Draws.of(quantity.metric, values.reshape(-1, 1, self.n_draws), (0.0, 1.0)),
            systems,
            random_seed=self.random_seed,
            score=systems.copy(data=unbiased.repeat(2).reshape(systems.shape)).rename(quantity.metric),
        )

    @cached_property
    def _questions(self) -> GroupShares:
        """Rates of groups that are questions."""
        draws = self._draws if self.dispersion_given else replace(self._draws, dispersion=QUESTIONS)
        return draws.rates

    # ── Labels and words ──

    @cached_property
    def _counts(self) -> xr.DataArray:
        """The counts, with the dim of the groups as the last leading one."""
        return self.cm.cells.transpose(..., self.dim, *CELL_DIMS)

    @property
    def _summed_groups(self) -> xr.DataArray:
        """The counts of all groups, each example once."""
        counts = self._counts
        return (counts.sum(self.dim) / self.repeats).assign_attrs(counts.attrs)

    @cached_property
    def _systems(self) -> xr.DataArray:
        """Zeros over the leading dims except the groups'."""
        return self._rows if self.cm.graded else self._rows.isel(actual=0, drop=True)

    @cached_property
    def _rows(self) -> xr.DataArray:
        """Zeros over the leading dims except the groups', and over the actual classes if there are any."""
        rows = self._counts.isel({self.dim: 0, "predicted": 0}, drop=True)
        return _over_classes(xr.zeros_like(rows, dtype=float).rename(None))

    @cached_property
    def _draws(self) -> PooledDraws:
        counts = self._counts.values.reshape(-1, *self._counts.shape[-3:]).astype(float)
        return PooledDraws(
            counts=counts,
            dispersion=self.dispersion_weights,
            prevalence_dispersion=PREVALENCE_DISPERSION[self.groups],
            known_prevalence=self.design == "joint",
            power=1 / self.repeats,
            draws=self.n_draws,
            streams=self._streams,
        )

    def _streams(self, purpose: str, random_seed: Any = None) -> list[np.random.Generator]:
        """Return a random stream for each system."""
        seed = self.random_seed if random_seed is None else checks.seed(random_seed)
        return streams(seed, f"pool: {purpose}", self._systems, self._draws.counts)

    def facts(self) -> list[str]:
        """Return a line that describes this."""
        others = [f"{dim}: {self.cm.counts.sizes[dim]}" for dim in self._systems.dims]
        return [self.number, *others, self.prevalence_text, f"ρ ~ {self.dispersion_text}"]

    def about_repeats(self) -> list[str]:
        """Return a clause on repeats of cross-validation, if there are any."""
        if self.repeats == 1:
            return []
        examples = self._counts.sum([self.dim, *CELL_DIMS]).values.ravel() / self.repeats
        each = enumerated([f"{n:,.0f}" for n in np.unique(examples)])
        return [f"{each} examples, each judged once in each of {self.repeats} repeats"]

    @property
    def number(self) -> str:
        """How many groups there are, and in how many repeats."""
        groups = f"{self.cm.counts.sizes[self.dim]} {plural(self.dim)}"
        return groups if self.repeats == 1 else f"{groups} of {self.repeats} repeats"

    @property
    def dispersion_text(self) -> str:
        """The prior of the dispersion, in words."""
        return _beta_text(self.dispersion_weights)

    @property
    def prevalence_text(self) -> str:
        """What prevalence the groups have, in words."""
        if self.cm.graded:
            return "right or wrong"
        if self.design == "by_actual":
            return "prevalence not known"
        return "one prevalence" if self.groups == "random" else "a prevalence each"

    @property
    def prior_text(self) -> str:
        priors = ["mean rates ~ Beta(1, 1)", f"dispersion ~ {self.dispersion_text}"]
        if self.design == "joint" and not self.cm.graded:
            priors.append(f"prevalence ~ {_beta_text((PREVALENCE, PREVALENCE))}")
            if of_prevalence := PREVALENCE_DISPERSION[self.groups]:
                priors.append(f"dispersion of prevalence ~ {_beta_text(of_prevalence)}")
        weight = f"; examples weigh 1/{self.repeats}" if self.repeats > 1 else ""
        return f"{', '.join(priors)}{weight}"


def _over_classes(rows: xr.DataArray) -> xr.DataArray:
    """Return an array over actual classes; of outcomes without their single row."""
    return rows.isel(actual=0, drop=True) if rows.sizes["actual"] == 1 else rows


def _beta_text(weights: tuple[float, float]) -> str:
    a, b = weights
    return f"Beta({a:g}, {b:g})"


def _beta(weights: tuple[float, float]) -> Beta:
    """Return one Beta as a distribution."""
    a, b = (np.array([[weight]]) for weight in weights)
    return Beta(a, b)


@dataclass(frozen=True, eq=False)
class BetaDraws(Origin):
    """Draws of one Beta."""

    weights: tuple[float, float]
    random_seed: int

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        rng = np.random.default_rng(self.random_seed if random_seed is None else random_seed)
        return rng.beta(*self.weights, (1, draws))


@dataclass(frozen=True, eq=False)
class DispersionOf(Origin):
    """The dispersion of groups."""

    model: GroupsModel

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        return self.model.dispersion_draws(draws, random_seed)
