"""Draws of the cells of binary matrices over groups, as arrays: the population's mean, these groups, a new one.

A row holds the right and the wrong predictions of one actual class. Each docstring names the axes; systems come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.distributions.beta_binomial import BetaBinomial, posterior
from bayesperf.distributions.drawing import stratified
from bayesperf.distributions.tabulated import Tabulated
from bayesperf.groups.attempts import expected_credit, variance_of_credit

# Both weights of the Beta prior of prevalence, as elsewhere: of row sums with half a pseudo-example in each cell.
PREVALENCE = 1.0
# The most groups whose rates are drawn one by one where only their mean is asked for.
_MOST_DRAWN = 200
Streams = Callable[[str], list[np.random.Generator]]
Part = Literal["mean", "groups", "new_group"]


@dataclass(frozen=True)
class GroupShares:
    """Proportions of successes that differ between groups, by the beta-binomial model, for rows of counts."""

    # Counts, (systems, rows, groups).
    successes: Array
    trials: Array
    # The posterior of the rows; those of a system follow each other.
    model: BetaBinomial
    # Number of draws.
    draws: int
    # From a purpose to a random generator for each system.
    streams: Streams
    # Begins the purposes, so that different shares have different random numbers.
    prefix: str = ""

    @property
    def mean(self) -> Array:
        """Shares of successes and failures in the population, (systems, draws, rows, 2)."""
        return np.stack([special.expit(sign * self._logit_mean) for sign in (1, -1)], -1)

    @property
    def groups(self) -> Array:
        """Shares in each group, (systems, groups, draws, rows, 2)."""
        a, b = (weights[:, None] for weights in self._concentration)
        counts = self.successes, self.trials - self.successes
        successes, failures = (np.moveaxis(of_groups, 2, 1)[:, :, None] for of_groups in counts)
        return self._betas("groups", a + successes, b + failures)

    @property
    def new_group(self) -> Array:
        """Shares in a new group, (systems, draws, rows, 2)."""
        return self._betas("new group", *self._concentration)

    def credit(self, credit: Array) -> Array:
        """What k trials in a new group count for, by p and ρ, (systems, draws, rows); see `expected_credit`."""
        return expected_credit(*self._concentration, credit, 1)

    def credit_over_groups(self, credit: Array, row: int) -> Array:
        """The mean over the groups with trials in a row of what k trials in each count for, (systems, draws)."""
        asked = self.trials[:, row] > 0
        if asked.shape[1] <= _MOST_DRAWN:
            rates = self.groups[..., row, :]
            each = expected_credit(rates[..., 0], rates[..., 1], credit, 0)
            return np.asarray(each.mean(1, where=asked[..., None]))
        return np.stack([
            self._over_many_groups(system, rng, credit, row)
            for system, rng in enumerate(self.streams(self.prefix + "groups"))
        ])  # fmt: skip

    def _over_many_groups(self, system: int, rng: np.random.Generator, credit: Array, row: int) -> Array:
        """The same of one system with many groups: given p and ρ, their mean is normal."""
        counts = np.stack([self.successes[system, row], self.trials[system, row]])
        (successes, trials), groups = np.unique(counts[:, counts[1] > 0], axis=1, return_counts=True)
        a, b = (weights[system, :, row] for weights in self._concentration)
        of_kinds = a + successes[:, None], b + (trials - successes)[:, None]
        mean = groups @ expected_credit(*of_kinds, credit, 1) / groups.sum()
        deviation = np.sqrt(groups @ variance_of_credit(*of_kinds, credit)) / groups.sum()
        return np.asarray((mean + deviation * rng.standard_normal(self.draws)).clip(0, 1))

    @cached_property
    def _logit_mean(self) -> Array:
        """Logits of p, (systems, draws, rows)."""
        return self._rows_last(self.model.draws_of_mean(self.draws, self._streams_of_rows("mean")))

    @cached_property
    def _concentration(self) -> tuple[Array, Array]:
        """κp and κ(1 − p), (systems, draws, rows)."""
        logit_mean = np.moveaxis(self._logit_mean, 2, 1).reshape(-1, self.draws)
        kappa = np.exp(-self.model.draws_of_dispersion(logit_mean, self._streams_of_rows("dispersion")))
        a, b = (special.expit(sign * self._logit_mean) * self._rows_last(kappa) for sign in (1, -1))
        return a, b

    def _rows_last(self, rows: Array) -> Array:
        """Return values (systems × rows, draws) as (systems, draws, rows)."""
        return np.moveaxis(rows.reshape(-1, self.trials.shape[1], self.draws), 1, 2)

    def _streams_of_rows(self, purpose: str) -> list[np.random.Generator]:
        """Return a generator for each row; the rows of a system share one."""
        return [rng for rng in self.streams(self.prefix + purpose) for _ in range(self.trials.shape[1])]

    def _betas(self, purpose: str, a: Array, b: Array) -> Array:
        """Return X ~ Beta(a, b), systems first, and 1 − X, last.

        Both are kept so far from 0 that a product of two is positive: a ratio would otherwise come out as 0/0.
        """
        each = zip(self.streams(self.prefix + purpose), *np.broadcast_arrays(a, b), strict=True)
        x = np.clip(np.stack([rng.beta(*weights) for rng, *weights in each]), 1e-150, 1 - 2.0**-53)
        return np.stack([x, 1 - x], -1)


@dataclass(frozen=True)
class SameShares:
    """Shares that all groups have in common, (systems, draws, rows, 2)."""

    mean: Array

    @property
    def groups(self) -> Array:
        """Shares in each group, (systems, 1, draws, rows, 2)."""
        return self.mean[:, None]

    @property
    def new_group(self) -> Array:
        """Shares in a new group, (systems, draws, rows, 2)."""
        return self.mean


@dataclass(frozen=True)
class PooledDraws:
    """Posterior draws of some systems, each pooled over its groups."""

    # Rows actual; of outcomes one row, wrong and right, (systems, groups, 2, 2).
    counts: Array
    # The Beta of ρ.
    dispersion: tuple[float, float]
    # The Beta of the dispersion of prevalence; None if all groups have the same prevalence.
    prevalence_dispersion: tuple[float, float] | None
    # Whether the counts tell the prevalence; if not, it is ½.
    known_prevalence: bool
    # Exponent of the likelihood.
    power: float
    # Number of draws.
    draws: int
    # From a purpose to a random generator for each system.
    streams: Streams

    @property
    def right(self) -> Array:
        """Numbers of right predictions, (systems, classes, groups)."""
        if self.graded:
            return np.moveaxis(self.counts[..., 1], 2, 1)
        return np.asarray(np.einsum("sgii->sig", self.counts))

    @property
    def graded(self) -> bool:
        """Whether these are outcomes, which have a single row and no prevalence."""
        return bool(self.counts.shape[-2] == 1)

    @property
    def trials(self) -> Array:
        """Numbers of examples, (systems, classes, groups)."""
        return np.moveaxis(self.counts.sum(-1), 2, 1)

    @cached_property
    def rates(self) -> GroupShares:
        """Rates of right predictions, whose rows are the classes."""
        right, trials = (counts.reshape(-1, self.counts.shape[1]) for counts in (self.right, self.trials))
        model = posterior(right, trials, self.dispersion, power=self.power)
        return GroupShares(self.right, self.trials, model, self.draws, self.streams)

    @cached_property
    def prevalence(self) -> GroupShares | SameShares:
        """Shares of the first and of the second class, in a single row."""
        if not self.known_prevalence:
            return SameShares(np.full((len(self.counts), 1, 1, 2), 0.5))
        if self.prevalence_dispersion is None:
            return self._pooled_prevalence()
        first, examples = self.trials[:, 0], self.trials.sum(1)
        model = posterior(first, examples, self.prevalence_dispersion, (PREVALENCE, PREVALENCE), self.power)
        return GroupShares(first[:, None], examples[:, None], model, self.draws, self.streams, "prevalence: ")

    def _pooled_prevalence(self) -> SameShares:
        """Return the prevalence of the summed counts."""
        weights = PREVALENCE + self.power * self.trials.sum(-1)
        levels = np.stack([stratified(self.draws, rng) for rng in self.streams("prevalence")])
        logit = Tabulated.beta(weights[:, :1], weights[:, 1:]).logits(levels)
        return SameShares(np.stack([special.expit(sign * logit) for sign in (1, -1)], -1)[:, :, None])

    def cells(self, answer: Part) -> Array:
        """Return cells (systems, [groups,] draws, rows, 2) at rates and prevalence of the population or of groups."""
        if self.graded:
            outcomes: Array = getattr(self.rates, answer)[..., ::-1]
            return outcomes
        rates, prevalence = (getattr(shares, answer) for shares in (self.rates, self.prevalence))
        cells: Array = rates * np.moveaxis(prevalence, -2, -1)
        cells[..., 1, :] = cells[..., 1, ::-1]
        return cells

    def dispersion_ratio(self) -> tuple[Array, NDArray[np.bool_]]:
        """Return Pearson's X²/(groups − 1), (systems, classes), and where it is defined; it is 1 elsewhere."""
        right, trials = self.right, self.trials
        rate = right.sum(-1, keepdims=True) / np.maximum(trials.sum(-1, keepdims=True), 1)
        variance = trials * rate * (1 - rate)
        squares = ((right - trials * rate) ** 2 / np.where(variance > 0, variance, 1)).sum(-1)
        degrees = (trials > 0).sum(-1) - 1
        defined = (degrees > 0) & (variance > 0).any(-1)
        return np.where(defined, squares / np.maximum(degrees, 1), 1.0), defined


# ── As the exact form of the PyMC model `groups` of two classes ──


def draws(
    data: xr.DataArray,
    parameters: Mapping[str, Array],
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    dim: str = "fold",
    groups: str = "random",
    repeats: int = 1,
    design: str = "joint",
) -> dict[str, xr.DataArray]:
    """Return independent draws (chain, draw, …) of the parameters of `groups`, and its cells.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (…, group, actual, predicted) of two classes.
    parameters : mapping
        Parameters of the priors, by name: Dirichlet of ``rates`` (…, actual, predicted) and ``prevalence`` (…, actual);
        Beta of ``dispersion`` (…, actual, 2) and, for clusters, of ``prevalence_dispersion`` (…, 2).
    rngs : sequence of numpy.random.Generator
        One for each system.
    size : tuple of two int
        Chains and draws.
    dim, groups, repeats, design
        The options of the model. The parameters of the priors already belong to the kind of groups.

    Raises
    ------
    NotImplementedError
        If there are more than two classes.
    """
    counts = data.transpose(..., dim, "actual", "predicted")
    if counts.sizes["actual"] != 2:
        raise NotImplementedError(
            "method='exact': groups of more than two classes have no exact form. Use method='mcmc'."
        )
    systems = counts.dims[:-3]
    tables = counts.values.reshape(-1, *counts.shape[-3:]).astype(float)
    priors = {
        name: np.broadcast_to(values, (*counts.shape[:-3], *SHAPES[name])).reshape(-1, *SHAPES[name])
        for name, values in parameters.items()
    }
    each = [
        _system(table, {name: prior[i] for name, prior in priors.items()}, rng, int(np.prod(size)), 1 / repeats, design)
        for i, (table, rng) in enumerate(zip(tables, rngs, strict=True))
    ]
    shape = (*counts.shape[:-3], *size)
    drawn = {name: np.stack([system[name] for system in each]) for name in each[0]}
    return {
        name: xr.DataArray(
            values.reshape(*shape, *values.shape[2:]), dims=(*systems, "chain", "draw", *DIMS[name])
        ).transpose("chain", "draw", ...)
        for name, values in drawn.items()
    }


# The shape of each prior's parameters for one system, and the dims of each variable.
SHAPES = {
    "rates": (2, 2), "dispersion": (2, 2), "prevalence": (2,), "prevalence_dispersion": (2,),
}  # fmt: skip
DIMS = {
    "rates": ("actual", "predicted"), "dispersion": ("actual",), "prevalence": ("actual",),
    "prevalence_dispersion": (), "cells": ("actual", "predicted"),
}  # fmt: skip


def _system(
    tables: Array, prior: Mapping[str, Array], rng: np.random.Generator, n: int, power: float, design: str
) -> dict[str, Array]:
    """Return n draws of one system, from its tables (group, actual, predicted)."""
    totals = tables.sum(-1)
    rows = [
        _row(tables[:, i], prior["rates"][i], prior["dispersion"][i], rng, n, power) for i in range(len(prior["rates"]))
    ]
    informed = totals if design == "joint" else np.zeros_like(totals)
    drawn = {
        "rates": np.stack([rates for rates, _ in rows], 1),
        "dispersion": np.stack([dispersion for _, dispersion in rows], -1),
    }
    if "prevalence_dispersion" in prior:
        drawn["prevalence"], drawn["prevalence_dispersion"] = _row(
            informed, prior["prevalence"], prior["prevalence_dispersion"], rng, n, power
        )
    else:
        first, second = prior["prevalence"] + power * informed.sum(0)
        share = rng.beta(first, second, n)
        drawn["prevalence"] = np.stack([share, 1 - share], -1)
    return drawn | {"cells": drawn["prevalence"][:, :, None] * drawn["rates"]}


def _row(
    counts: Array, mean: Array, dispersion: Array, rng: np.random.Generator, n: int, power: float
) -> tuple[Array, Array]:
    """Return n joint draws of the mean shares (n, 2) and of the dispersion (n,) of one row of groups, (group, 2)."""
    (a, b), (c, d) = mean.tolist(), dispersion.tolist()
    model = posterior(counts[None, :, 0], counts[None].sum(-1), (c, d), (a, b), power)
    logit = model.draws_of_mean(n, [rng])
    rho = model.draws_of_dispersion(logit, [rng])[0]
    return np.stack([special.expit(logit[0]), special.expit(-logit[0])], -1), special.expit(rho)
