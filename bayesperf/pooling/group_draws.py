"""Draws of the cells of binary matrices over groups, as arrays: the population's mean, these groups, a new one.

A row holds the right and the wrong predictions of one actual class. Each docstring names the axes; systems come first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.distributions.beta_binomial import BetaBinomial, posterior, stratified
from bayesperf.distributions.tabulated import Tabulated

# Both weights of the Beta prior of prevalence: the sums of the rows, with one pseudo-example in each cell.
PREVALENCE = 2.0


@dataclass(frozen=True)
class PooledDraws:
    """Posterior draws of some systems, each pooled over its groups.

    Attributes
    ----------
    counts : array (systems, groups, 2, 2)
        Rows actual.
    dispersion : tuple of two float
        The Beta of ρ.
    power : float
        Exponent of the likelihood.
    draws : int
        How many.
    streams : callable
        From a purpose to a random generator for each system.
    """

    counts: Array
    dispersion: tuple[float, float]
    power: float
    draws: int
    streams: Callable[[str], list[np.random.Generator]]

    @property
    def right(self) -> Array:
        """Numbers of right predictions, (systems, classes, groups)."""
        return np.asarray(np.einsum("sgii->sig", self.counts))

    @property
    def trials(self) -> Array:
        """Numbers of examples, (systems, classes, groups)."""
        return np.moveaxis(self.counts.sum(-1), 2, 1)

    @cached_property
    def rates(self) -> BetaBinomial:
        """The model of the rates of right predictions; the two classes of a system follow each other."""
        right, trials = (counts.reshape(-1, self.counts.shape[1]) for counts in (self.right, self.trials))
        return posterior(right, trials, self.dispersion, power=self.power)

    def mean(self) -> Array:
        """Return cells at the population's mean rates, (systems, draws, 2, 2)."""
        return _cells(special.expit(self._logit_mean), special.expit(-self._logit_mean), self._shares)

    def groups(self) -> Array:
        """Return cells of the groups, (systems, groups, draws, 2, 2), at own rates and the population's prevalence."""
        right, wrong = (np.moveaxis(counts, 2, 1)[:, :, None] for counts in (self.right, self.trials - self.right))
        a, b = (weights[:, None] for weights in self._concentration)
        return _cells(*self._betas("groups", a + right, b + wrong), self._shares[:, None])

    def new_group(self) -> Array:
        """Return cells of a new group, (systems, draws, 2, 2), at its own rates and prevalence."""
        first, examples = self.trials[:, 0], self.trials.sum(1)
        prevalence = posterior(first, examples, self.dispersion, (PREVALENCE, PREVALENCE), self.power)
        logit = prevalence.draws_of_mean(self.draws, self.streams("mean prevalence"))
        kappa = np.exp(-prevalence.draws_of_dispersion(logit, self.streams("dispersion of prevalence")))
        share = self._betas("new prevalence", kappa * special.expit(logit), kappa * special.expit(-logit))
        return _cells(*self._betas("new group", *self._concentration), np.stack(share, -1))

    def dispersion_ratio(self) -> tuple[Array, NDArray[np.bool_]]:
        """Return Pearson's X²/(groups − 1), (systems, classes), and where it is defined; it is 1 elsewhere."""
        right, trials = self.right, self.trials
        rate = right.sum(-1, keepdims=True) / np.maximum(trials.sum(-1, keepdims=True), 1)
        variance = trials * rate * (1 - rate)
        squares = ((right - trials * rate) ** 2 / np.where(variance > 0, variance, 1)).sum(-1)
        degrees = (trials > 0).sum(-1) - 1
        defined = (degrees > 0) & (variance > 0).any(-1)
        return np.where(defined, squares / np.maximum(degrees, 1), 1.0), defined

    @cached_property
    def _logit_mean(self) -> Array:
        """Logits of p, (systems, draws, classes)."""
        return _classes_last(self.rates.draws_of_mean(self.draws, self._streams_of_rows("mean")))

    @cached_property
    def _concentration(self) -> tuple[Array, Array]:
        """κp and κ(1 − p), (systems, draws, classes)."""
        logit_mean = np.moveaxis(self._logit_mean, 2, 1).reshape(-1, self.draws)
        kappa = np.exp(-self.rates.draws_of_dispersion(logit_mean, self._streams_of_rows("dispersion")))
        a, b = (special.expit(sign * self._logit_mean) * _classes_last(kappa) for sign in (1, -1))
        return a, b

    @cached_property
    def _shares(self) -> Array:
        """Prevalence of each class in the population, (systems, draws, classes)."""
        weights = PREVALENCE + self.power * self.trials.sum(-1)
        levels = np.stack([stratified(self.draws, rng) for rng in self.streams("prevalence")])
        logit = Tabulated.beta(weights[:, :1], weights[:, 1:]).logits(levels)
        return np.stack([special.expit(logit), special.expit(-logit)], -1)

    def _streams_of_rows(self, purpose: str) -> list[np.random.Generator]:
        """Return a generator for each row; the two rows of a system share one."""
        return [rng for rng in self.streams(purpose) for _ in range(2)]

    def _betas(self, purpose: str, a: Array, b: Array) -> tuple[Array, Array]:
        """Return X ~ Beta(a, b), systems first, and 1 − X.

        Both are kept so far from 0 that a product of two is positive: a ratio would otherwise come out as 0/0.
        """
        each = zip(self.streams(purpose), *np.broadcast_arrays(a, b), strict=True)
        x = np.clip(np.stack([rng.beta(*weights) for rng, *weights in each]), 1e-150, 1 - 2.0**-53)
        return x, 1 - x


def _classes_last(rows: Array) -> Array:
    """Return rows (systems × classes, draws) as (systems, draws, classes)."""
    return np.moveaxis(rows.reshape(-1, 2, rows.shape[-1]), 1, 2)


def _cells(right: Array, wrong: Array, shares: Array) -> Array:
    """Return cells (…, 2, 2) of the rates of right and wrong predictions of each class, and the classes' shares."""
    cells = np.stack([right, wrong], -1) * shares[..., None]
    cells[..., 1, :] = cells[..., 1, ::-1]
    return cells
