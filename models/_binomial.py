"""The binomial distribution by the logit of the rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.random.op import RandomVariable
from scipy.special import expit


class _LogitBinomialRV(RandomVariable):  # type: ignore[misc]
    name = "logit_binomial"
    signature = "(),()->()"
    dtype = "int64"
    _print_name = ("LogitBinomial", "\\operatorname{LogitBinomial}")

    @classmethod
    def rng_fn(cls, rng: np.random.Generator, n: Any, logit: Any, size: Any) -> np.ndarray:
        """Draw counts."""
        return np.asarray(rng.binomial(n, expit(logit), size))


class LogitBinomial(pm.Discrete):  # type: ignore[misc]
    """Successes in n trials, of the rate expit(logit): `pymc.Binomial` without the binomial coefficient.

    The coefficient depends only on the counts, so that no posterior depends on it. If the counts are `pymc.Data`, a
    sampler would compute its gamma functions again at every step, which take longer than all else.
    """

    rv_op = _LogitBinomialRV()

    @classmethod
    def dist(cls, n: Any, logit: Any, **kwargs: Any) -> Any:
        """Return the unnamed distribution of successes in n trials."""
        return super().dist([pt.as_tensor(n, dtype="int64"), pt.as_tensor(logit)], **kwargs)

    def support_point(rv: Any, size: Any, n: Any, logit: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return counts in the middle of the distribution."""
        return pm.distributions.distribution.support_point(pm.Binomial.dist(n=n, logit_p=logit, size=size))

    def logp(value: Any, n: Any, logit: Any) -> Any:  # noqa: N805  (PyMC registers it by the type)
        """Return the log-density of successes, up to the coefficient."""
        return value * logit - n * pt.softplus(logit)
