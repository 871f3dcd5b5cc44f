"""The Dirichlet-multinomial distribution of the counts in a row, and draws from Dirichlet distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
from pymc.distributions.multivariate import DirichletMultinomialRV
from pytensor.tensor import gammaln


class _DirichletMultinomialRV(DirichletMultinomialRV):  # type: ignore[misc]
    """PyMC's random variable as a separate type, because PyMC looks up densities by type."""


class DirichletMultinomial(pm.DirichletMultinomial):  # type: ignore[misc]
    """`pymc.DirichletMultinomial` with a density that omits the multinomial coefficient.

    The coefficient depends only on the counts, so no posterior depends on it. If the counts are `pymc.Data`, a sampler
    would compute it again at every step, which would be a third of all log-gamma evaluations.
    """

    rv_type = _DirichletMultinomialRV
    rv_op = _DirichletMultinomialRV.rv_op

    def logp(value: Any, n: Any, a: Any) -> Any:  # noqa: N805  (PyMC registers it by the random variable's type)
        """Return the log-density of counts that sum to n, up to the coefficient."""
        total = a.sum(axis=-1)
        return (gammaln(a + value) - gammaln(a)).sum(axis=-1) + gammaln(total) - gammaln(total + n)


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
