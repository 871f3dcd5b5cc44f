"""Distributions of raters: of their rates, and of the counts of patterns of their answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.random.op import RandomVariable

# The share of right answers at which sampling starts.
START = 0.95


class _MostlyRightRV(type(pm.Dirichlet.rv_op)):  # type: ignore[misc]
    pass


class MostlyRight(pm.Dirichlet):  # type: ignore[misc]
    """Dirichlet rates (…, actual, rating) whose chains start with raters that are mostly right.

    From the middle of a weak prior some chains set out to where the classes have changed places: a mode of next to no
    mass, which they do not find out of.
    """

    rv_op = _MostlyRightRV()

    def support_point(rv: Any, size: Any, a: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return rates where nearly all answers are right."""
        wrong = (1 - START) / (a.shape[-1] - 1)
        return pt.zeros_like(rv) + wrong + (START - wrong) * pt.eye(a.shape[-1])


class _PatternCountsRV(RandomVariable):  # type: ignore[misc]
    name = "pattern_counts"
    signature = "(),(k)->(k)"
    dtype = "int64"
    _print_name = ("PatternCounts", "\\operatorname{PatternCounts}")

    @classmethod
    def rng_fn(cls, rng: np.random.Generator, n: Any, log_p: Any, size: Any) -> np.ndarray:
        """Draw the patterns of n items; the last outcome, which is left out, is any other pattern."""
        shares = np.exp(log_p)
        rest = np.maximum(1 - shares.sum(-1, keepdims=True), 0)
        shares = np.concatenate([shares, rest], axis=-1)
        shares /= shares.sum(-1, keepdims=True)
        leading = np.broadcast_shapes(np.shape(n), shares.shape[:-1]) if size is None else tuple(size)
        return np.asarray(
            rng.multinomial(np.broadcast_to(n, leading), np.broadcast_to(shares, (*leading, shares.shape[-1])))
        )[..., :-1]


class PatternCounts(pm.Discrete):  # type: ignore[misc]
    """Multinomial counts of n items over patterns, given as logarithms, some of which may be missing from the list.

    Those that are missing have not been observed, so the density does not need them. It omits the multinomial
    coefficient, which depends only on the counts.
    """

    rv_op = _PatternCountsRV()

    @classmethod
    def dist(cls, n: Any, log_p: Any, **kwargs: Any) -> Any:
        """Return the unnamed distribution of the counts of n items."""
        return super().dist([pt.as_tensor(n, dtype="int64"), pt.as_tensor(log_p)], **kwargs)

    def support_point(rv: Any, size: Any, n: Any, log_p: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return counts in the middle of the distribution."""
        return pt.cast(pt.round(n[..., None] * pt.exp(log_p)), "int64")

    def logp(value: Any, n: Any, log_p: Any) -> Any:  # noqa: N805  (PyMC registers it by the type)
        """Return the log-density of the counts, up to the coefficient."""
        return (value * log_p).sum(axis=-1)
