"""The metric of each of several systems: estimated alone, and shrunk towards similar systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from bayesperf.comparison.shrinkage import (
    Estimates,
    estimates_of_draws,
    exact_moments,
    from_stabilised,
    stabilised,
)
from bayesperf.core.arrays import Array, Codes, blocks, positions
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.distributions.draws import Draws, Sampled
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.ranks import joint_draws

# Draws that leave the scale of shrinkage together: few enough to stay in the cache while they are turned.
_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Systems(Held):
    """The metric of each of several systems along a dim."""

    # The metric of each system alone, with joint draws.
    each: Marginal
    # The dim of the systems.
    dim: str
    # Number of draws, unless the metric already consists of draws.
    n_draws: int
    # Whether the systems are independent.
    independent: bool
    # Seed of the draws of shrunk systems.
    random_seed: int
    # Number of examples, or clusters of them, behind the variances of joint draws.
    units: float = np.inf
    # The family of each system, (system,).
    families: Codes | None = None

    def joint_draws(self) -> xr.DataArray:
        """Return joint draws, (…, draw, dim), or (…, chain, draw, dim) from a sampler."""
        return joint_draws(self.each, self.dim, self.n_draws)

    @property
    def shrinkable(self) -> bool:
        """Whether the metric of every system has a mean and a variance on the scale of shrinkage."""
        return all(np.isfinite([place.means, place.variances]).all() for place in self._estimates)

    @cached_property
    def shrunk(self) -> Marginal:
        """The metric of each system, shrunk towards similar systems.

        Raises
        ------
        ValueError
            If the metric of a system may be undefined or infinite.
        """
        each = self.each
        if not self.shrinkable:
            raise InputError(
                "shrink",
                f"{each.name} is undefined (0/0) or infinite in some draws of a system.",
                "Take another metric.",
            )
        known = each.distribution
        n = int(np.prod(known.values.shape[1:])) if isinstance(known, Sampled) else self.n_draws
        rng = np.random.default_rng([self.random_seed, each.leading.sizes[self.dim]])
        drawn = [place.draws(n, rng) for place in self._estimates]
        values = np.empty((len(drawn), each.leading.sizes[self.dim], n))
        for of_place, stable in zip(values, drawn, strict=True):
            for block in blocks(n, stable.shape[1], _BLOCK):
                of_place[:, block] = from_stabilised(stable[block], each.bounds).T
        leading = xr.zeros_like(each.leading.transpose(..., self.dim), dtype=float)
        of_all = Draws(values.reshape(-1, 1, n), each.bounds)
        return Marginal(each.quantity, of_all, leading, inference=each.inference, random_seed=self.random_seed)

    def optimism(self) -> Array:
        """Return how far the mean of each system alone exceeds its shrunk mean, (…, systems)."""
        alone = self.each.mean().transpose(..., self.dim)
        return np.asarray(alone.values - self.shrunk.mean().values)

    @cached_property
    def _estimates(self) -> list[Estimates]:
        """Estimates of the systems on that scale, at each place along the other leading dims."""
        each = self.each
        if self.independent and not isinstance(each.distribution, Sampled):
            order = positions(each.leading)
            rows = order.transpose(..., self.dim).values.reshape(-1, order.sizes[self.dim])
            mean, variance = exact_moments(each.distribution)
            return [Estimates(mean[place], variance[place], families=self.families) for place in rows]
        draws = self.joint_draws()
        if "chain" in draws.dims:
            draws = draws.stack(sample=("chain", "draw"), create_index=False).rename(sample="draw")
        flat = draws.transpose(..., "draw", self.dim).values.reshape(-1, draws.sizes["draw"], draws.sizes[self.dim])
        values = stabilised(flat, each.bounds)
        if self.independent or not np.isfinite(values).all():
            return [Estimates(place.mean(0), place.var(0, ddof=1), families=self.families) for place in values]
        return [estimates_of_draws(place, self.units, self.families) for place in values]
