"""How the errors of systems go together: correlations, drawn to their mean by as much of their spread as is chance.

The correlations of M estimates from the same n examples are estimates, too: of 50 systems and 200 examples their matrix
has eigenvalues from a quarter of the true ones to more than twice these, and whatever is weighted by its inverse
believes the smallest. Systems that share a population have the same correlation a priori, or those of a family have one
and others another. So each is drawn to the mean of its like, by the share of the spread about these means that chance
accounts for.

The correlation of systems i and j is a mean over units (examples, or clusters of them) of x_i x_j, where x_i is what a
unit adds to the estimate of i, with mean 0 and variance 1. To first order an estimate of it is a mean of

    h_ij = x_i x_j − r (x_i² + x_j²)/2,

and of its variance over units only the part counts that is not common to all pairs.

References
----------
Ledoit & Wolf (2004), Honey, I shrunk the sample covariance matrix, Journal of Portfolio Management 30. Schäfer &
Strimmer (2005), A shrinkage approach to large-scale covariance matrix estimation, Statistical Applications in Genetics
and Molecular Biology 4, section 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesperf.core.arrays import Array, Codes


class Influence(NamedTuple):
    """What units add to the estimates of systems, to first order and up to a factor for each system.

    Attributes
    ----------
    values : array (unit, M)
        With mean 0 over all units of a system.
    counts : array (unit,)
        How many units are alike.
    """

    values: Array
    counts: Array


class ErrorCovariance(NamedTuple):
    """The covariance of the errors of systems.

    Attributes
    ----------
    drawn : array (M, M)
        With correlations drawn to their means.
    even : array (M, M)
        With these means themselves. However systems resemble each other, the sum of squares about their mean is
        expected to be what it is with these; so it says how much of the spread of systems is error.
    """

    drawn: Array
    even: Array


def error_covariance(draws: Array, influence: Influence | None, families: Codes | None = None) -> ErrorCovariance:
    """Return the covariance of joint draws (n, M).

    Without the influence of units, only the Monte Carlo error of the draws counts as chance.
    """
    covariance = np.cov(draws.T)
    sd = np.sqrt(np.diag(covariance))
    scale = np.outer(sd, sd)
    correlation = np.divide(covariance, scale, out=np.eye(len(sd)), where=scale > 0)
    pairs = ~np.eye(len(sd), dtype=bool)
    even = np.eye(len(sd))
    same = pairs if families is None else np.equal.outer(families, families)
    for alike in (pairs & same, pairs & ~same):
        even[alike] = correlation[alike].mean() if alike.any() else 0
    chance = ((1 - correlation[pairs] ** 2) ** 2).sum() / len(draws)
    if influence is not None:
        chance += chance_spread(influence, correlation[pairs].mean())
    spread = ((correlation - even) ** 2).sum()
    share = min(1.0, chance / spread) if spread > 0 else 1.0
    return ErrorCovariance(scale * (share * even + (1 - share) * correlation), scale * even)


def chance_spread(influence: Influence, mean: float) -> float:
    """Return the sum over pairs i ≠ j of what is expected of (r_ij − r̄)² where all correlations are the same.

    Sums over pairs are by sums of powers over systems, so that no array is larger than the influence itself.
    """
    units, systems = influence.counts.sum(), influence.values.shape[1]
    weights = influence.counts / units
    variance = weights @ influence.values**2
    # A system of which nothing varies has no correlations, and adds nothing.
    x = influence.values / np.sqrt(np.where(variance > 0, variance, np.inf))
    one, two, three, four = ((x**power).sum(1) for power in (1, 2, 3, 4))
    squares = weights @ (
        two**2 - 2 * mean * three * one + mean**2 / 2 * (systems * four + two**2) - (1 - mean) ** 2 * four
    )
    correlation = (x.T * weights) @ x
    of_means = ((correlation - mean) ** 2).sum() - ((np.diag(correlation) - mean) ** 2).sum()
    common = (one**2 - two - mean * (systems - 1) * two) / (systems * (systems - 1))
    of_common = weights @ common**2 - (weights @ common) ** 2
    return float(max(squares - of_means - systems * (systems - 1) * of_common, 0) / units)
