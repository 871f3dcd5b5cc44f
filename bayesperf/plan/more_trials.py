"""A share, or an increasing function of one, as more trials of it come."""

from __future__ import annotations

from dataclasses import replace

from bayesperf.core.arrays import Counts
from bayesperf.distributions.beta import Beta, TransformedBeta
from bayesperf.distributions.differences import ExactDistribution


def parameters(known: ExactDistribution) -> tuple[float, float]:
    """Return a and b of the Beta that one quantity is, or is a function of."""
    share = _share_of(known)
    return share.a.item(), share.b.item()


def after(known: ExactDistribution, successes: Counts, failures: Counts) -> ExactDistribution:
    """Return one quantity after more trials, (m,)."""
    share = _share_of(known)
    new = Beta(share.a + successes[:, None], share.b + failures[:, None])
    return replace(known, base=new) if isinstance(known, TransformedBeta) else new


def _share_of(known: ExactDistribution) -> Beta:
    return known.base if isinstance(known, TransformedBeta) else known
