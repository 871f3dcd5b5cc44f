"""Counts of a row whose probabilities are Dirichlet, and draws of such probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
from pymc.distributions.multivariate import DirichletMultinomialRV
from pytensor.tensor import gammaln


class _DirichletMultinomialRV(DirichletMultinomialRV):  # type: ignore[misc]
    """PyMC's random variable; a type of its own because PyMC looks up densities by type."""


class DirichletMultinomial(pm.DirichletMultinomial):  # type: ignore[misc]
    """`pymc.DirichletMultinomial`, with its density up to the multinomial coefficient.

    The coefficient depends on the counts alone, so no posterior depends on it. Where counts are `pymc.Data` a sampler
    would compute it again at every step, which is a third of the log-gamma functions.
    """

    rv_type = _DirichletMultinomialRV
    rv_op = _DirichletMultinomialRV.rv_op

    def logp(value: Any, n: Any, a: Any) -> Any:  # noqa: N805  (PyMC registers it by the random variable's type)
        """Return the log-density of counts that sum to n, up to the coefficient."""
        total = a.sum(axis=-1)
        return (gammaln(a + value) - gammaln(a)).sum(axis=-1) + gammaln(total) - gammaln(total + n)


def concentration(dispersion: Any) -> Any:
    """Return the concentration κ = 1/ρ − 1 of a dispersion ρ.

    A dispersion below 1e-8 counts as 1e-8, at which groups are alike: differences of log-gamma functions of κ > 1e8
    lose their digits, and a sampler that strays there finds densities that are too high, and stays.
    """
    return 1 / pm.math.maximum(dispersion, 1e-8) - 1


def dirichlet_draws(rng: np.random.Generator, concentration: np.ndarray) -> np.ndarray:
    """Return draws from Dirichlet distributions along the last axis, one for each row of concentrations.

    Gamma draws of tiny concentrations underflow to 0. They are raised to 1e-280, so that a row of them is never 0/0 and
    its shares are still normal floating-point numbers.
    """
    gamma = np.maximum(rng.standard_gamma(concentration), 1e-280)
    return np.asarray(gamma / gamma.sum(-1, keepdims=True))
