"""The Dirichlet-multinomial distribution of the counts in a row, and draws from Dirichlet distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import gammaln
from pytensor.tensor.random.op import RandomVariable


class _DirichletMultinomialRV(RandomVariable):  # type: ignore[misc]
    name = "dirichlet_multinomial"
    signature = "(),(),(k)->(k)"
    dtype = "int64"
    _print_name = ("DirichletMultinomial", "\\operatorname{DirichletMultinomial}")

    @classmethod
    def rng_fn(cls, rng: np.random.Generator, n: Any, concentration: Any, mean: Any, size: Any) -> np.ndarray:
        """Draw shares for each row, then its counts."""
        weights = np.asarray(concentration)[..., None] * mean
        leading = np.broadcast_shapes(np.shape(n), weights.shape[:-1]) if size is None else tuple(size)
        shares = dirichlet_draws(rng, np.broadcast_to(weights, (*leading, weights.shape[-1])))
        return np.asarray(rng.multinomial(n, shares))


class DirichletMultinomial(pm.Discrete):  # type: ignore[misc]
    """Counts of a row, of which the shares are Dirichlet(κ · mean): `pymc.DirichletMultinomial` by mean and κ.

    Its density omits the multinomial coefficient, which depends only on the counts, so that no posterior depends on it.
    If the counts are `pymc.Data`, a sampler would compute it again at every step. The sum of the weights is κ, which it
    would otherwise compute as well.
    """

    rv_op = _DirichletMultinomialRV()

    @classmethod
    def dist(cls, n: Any, concentration: Any, mean: Any, **kwargs: Any) -> Any:
        """Return the unnamed distribution of counts that sum to n."""
        parameters = [pt.as_tensor(n, dtype="int64"), pt.as_tensor(concentration), pt.as_tensor(mean)]
        return super().dist(parameters, **kwargs)

    def support_point(rv: Any, size: Any, n: Any, concentration: Any, mean: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return counts in the middle of the distribution."""
        return pm.distributions.distribution.support_point(pm.Multinomial.dist(n=n, p=mean, size=size))

    def logp(value: Any, n: Any, concentration: Any, mean: Any) -> Any:  # noqa: N805  (PyMC registers it by the type)
        """Return the log-density of counts that sum to n, up to the coefficient."""
        weights = concentration[..., None] * mean
        of_cells = (gammaln(weights + value) - gammaln(weights)).sum(axis=-1)
        return of_cells + gammaln(concentration) - gammaln(concentration + n)


def concentration(dispersion: Any) -> Any:
    """Return the concentration κ = 1/ρ − 1 for a dispersion ρ.

    A dispersion below 1e-8 is replaced by 1e-8, at which groups are practically identical. For κ > 1e8 differences of
    log-gamma functions lose their significant digits, and a sampler that moves there would find densities that are
    spuriously high and get stuck.
    """
    return 1 / pm.math.maximum(dispersion, 1e-8) - 1


def dirichlet_draws(rng: np.random.Generator, concentration: np.ndarray) -> np.ndarray:
    """Return draws from Dirichlet distributions along the last axis, one for each row of concentrations.

    Gamma draws of tiny concentrations underflow to 0. They are raised to 1e-280, so that a row of them is never 0/0 and
    its shares are still normal floating-point numbers.
    """
    gamma = np.maximum(rng.standard_gamma(concentration), 1e-280)
    return np.asarray(gamma / gamma.sum(-1, keepdims=True))
