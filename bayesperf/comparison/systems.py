"""The metric of each of several systems: as each is known by itself, and drawn towards the mean of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from bayesperf.comparison.shrinkage import (
    Families,
    Population,
    even_covariance,
    exact_moments,
    from_stabilised,
    stabilised,
)
from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.draws import Draws, Sampled
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.ranks import joint_draws


@dataclass(frozen=True, eq=False)
class Systems:
    """The metric of each of several systems along a dim.

    Attributes
    ----------
    make : callable
        Function that returns the metric of each system by itself; draws of it are joint.
    dim : str
        The dim of the systems.
    n_draws : int
        Number of draws, unless the metric is known by draws already.
    independent : bool
        Whether the systems are independent.
    random_seed : int
        Seed of the draws of shrunk systems.
    units : float
        By how many examples, or clusters of them, variances of joint draws are known.
    families : array (system,), optional
        The family of each system.
    """

    make: Callable[[], Marginal]
    dim: str
    n_draws: int
    independent: bool
    random_seed: int
    units: float = np.inf
    families: Codes | None = None

    def draws(self) -> xr.DataArray:
        """Return joint draws, (…, draw, dim), or (…, chain, draw, dim) from a sampler."""
        return joint_draws(self.make(), self.dim, self.n_draws)

    @property
    def shrinkable(self) -> bool:
        """Whether the metric of every system has a mean and a variance on the scale of shrinkage."""
        means, covariances = self._moments
        return bool(np.isfinite(means).all() and np.isfinite(covariances).all())

    @cached_property
    def shrunk(self) -> Marginal:
        """The metric of each system, drawn towards the mean of all, or of its family and these to that of all.

        Raises
        ------
        ValueError
            If the metric of a system may be undefined or infinite.
        """
        each, (means, covariances) = self.make(), self._moments
        if not self.shrinkable:
            raise ValueError(
                f"shrink: {each.name} is undefined (0/0) or infinite in some draws of a system. Take another metric."
            )
        known = each.distribution
        n = int(np.prod(known.values.shape[1:])) if isinstance(known, Draws) else self.n_draws
        rng = np.random.default_rng([self.random_seed, means.shape[-1]])
        drawn = (self._drawn(*moments, n, rng) for moments in zip(means, covariances, strict=True))
        values = np.concatenate([from_stabilised(of_all, each.bounds).T for of_all in drawn])
        leading = xr.zeros_like(each.leading.transpose(..., self.dim), dtype=float)
        of_all = Draws(values[:, None], each.bounds)
        return Marginal(each.quantity, of_all, leading, inference=each.inference, random_seed=self.random_seed)

    def optimism(self) -> Array:
        """Return by how much the mean of each system by itself exceeds its shrunk mean, (…, systems)."""
        alone = self.make().mean().transpose(..., self.dim)
        return np.asarray(alone.values - self.shrunk.mean().values)

    def _drawn(self, means: Array, covariance: Array, n: int, rng: np.random.Generator) -> Array:
        """Return draws (n, systems) on the scale of shrinkage."""
        if self.families is None:
            return Population.of(means, covariance).draws(n, rng)
        return Families.of(self.families).draws(means, covariance, n, rng)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Means (places, systems), and variances, or covariances (places, systems, systems), on that scale."""
        each = self.make()
        if self.independent and not isinstance(each.distribution, Sampled):
            order = each.leading.copy(data=np.arange(each.leading.size).reshape(each.leading.shape))
            rows = order.transpose(..., self.dim).values.reshape(-1, order.sizes[self.dim])
            mean, variance = exact_moments(each.distribution)
            return mean[rows], variance[rows]
        draws = self.draws()
        if "chain" in draws.dims:
            draws = draws.stack(sample=("chain", "draw"), create_index=False).rename(sample="draw")
        flat = draws.transpose(..., "draw", self.dim).values.reshape(-1, draws.sizes["draw"], draws.sizes[self.dim])
        values = stabilised(flat, each.bounds)
        means, variances = values.mean(1), values.var(1, ddof=1)
        if self.independent or not np.isfinite(means).all():
            return means, variances
        return means, np.stack([even_covariance(of_place, self.units, self.families) for of_place in values])
