"""Counts of a row whose shares are Dirichlet, the shares integrated out."""

from __future__ import annotations

from typing import Any

import pymc as pm
from pymc.distributions.multivariate import DirichletMultinomialRV
from pytensor.tensor import gammaln


class _Operation(DirichletMultinomialRV):  # type: ignore[misc]
    """The draws are PyMC's; the density is registered by type."""


class DirichletMultinomial(pm.DirichletMultinomial):  # type: ignore[misc]
    """`pymc.DirichletMultinomial`, its density without the multinomial coefficient.

    The coefficient depends on the counts alone, so no posterior depends on it; yet a sampler computes it with every
    step where counts are `pymc.Data`: a third of the log-gamma functions.
    """

    rv_type = _Operation
    rv_op = _Operation.rv_op

    def logp(value: Any, n: Any, a: Any) -> Any:  # noqa: N805  (PyMC registers it by the operation)
        """Return the log-density of counts that sum to n, up to the coefficient."""
        total = a.sum(axis=-1)
        return (gammaln(a + value) - gammaln(a)).sum(axis=-1) + gammaln(total) - gammaln(total + n)
