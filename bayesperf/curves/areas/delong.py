"""The covariance of areas under ROC curves.

DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44: the area is the mean, over the examples of one class, of the
proportion of the other class on the right side of each. By ranks (Sun & Xu 2014, IEEE Signal Processing Letters 21) it
takes n log n steps. With clusters, deviations are summed within them (Obuchowski 1997, Biometrics 53).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.weights import tallied
from bayesperf.curves.areas.bootstrapped_areas import twice_below, twice_below_each


class Placements(NamedTuple):
    """The proportion of the other class that each example is on the right side of, (S, n) and (S, m); ties count half.

    Rows are systems.
    """

    # The proportions.
    positive: Array
    negative: Array
    # Clusters of the examples, positives first, numbered from 0, (n + m,), or None.
    cluster: Codes | None = None

    @classmethod
    def of(cls, positive: Array, negative: Array, cluster: Codes | None = None) -> Self:
        """Return the placements of scores (S, n) and (S, m)."""
        _check_sizes(positive.shape[1], negative.shape[1])
        pairs = list(zip(positive, negative, strict=True))
        return cls(
            np.stack([twice_below(own, other) / (2 * len(other)) for own, other in pairs]),
            np.stack([1 - twice_below(own, other) / (2 * len(other)) for other, own in pairs]),
            cluster,
        )

    @property
    def mean(self) -> Array:
        """The areas, (S,)."""
        return self.positive.mean(1)

    @property
    def sd(self) -> Array:
        """Their standard errors, (S,)."""
        variances = self._summed_products(lambda a, b: np.einsum("sg,sg->s", a, b))
        # If there is no variance, sums in two orders may leave the last digit.
        return np.sqrt(np.maximum(variances, 0))

    @property
    def covariance(self) -> Array:
        """Their covariances, (S, S)."""
        # Summed in one order, so that systems that order the examples alike have exactly the same figures.
        return self._summed_products(lambda a, b: np.einsum("sg,tg->st", a, b))

    @property
    def jackknife(self) -> Array:
        """Their covariances (S, S) by leaving out each example of either class."""
        both = self.positive, self.negative
        left = [(each.sum(1, keepdims=True) - each) / (each.shape[1] - 1) for each in both]
        n = sum(each.shape[1] for each in both)
        return np.asarray(np.cov(np.hstack(left)).reshape(len(left[0]), -1) * (n - 1) ** 2 / n)

    def _summed_products(self, product: Callable[[Array, Array], Array]) -> Array:
        """Return the sum of products of deviations that is the variance of areas, (S,), or their covariance, (S, S).

        Of examples by themselves there are two terms, of a mean over each class. Clusters have three: sums of the
        deviations of positives, X, and of negatives, Y, over each cluster, and what X and Y have in common.
        """
        both = self.positive, self.negative
        deviations = [(of_class - of_class.mean(1, keepdims=True)) / of_class.shape[1] for of_class in both]
        if self.cluster is None:
            return np.asarray(sum(_corrected(each.shape[1]) * product(each, each) for each in deviations))
        codes = np.split(self.cluster, [self.positive.shape[1]])
        size = 1 + int(self.cluster.max())
        tables = (tallied(np.arange(len(own)), own, (len(own), size)) for own in codes)
        x, y = (np.asarray(each @ table) for each, table in zip(deviations, tables, strict=True))
        of_positive, of_negative = (_corrected(len(np.unique(own))) for own in codes)
        common = _corrected(len(np.unique(self.cluster))) * (product(x, y) + product(y, x))
        return np.asarray(of_positive * product(x, x) + of_negative * product(y, y) + common)


def unbiased_covariance(positive: Array, negative: Array) -> Array:
    """Return the unbiased estimate of the covariances (S, S) of areas, by scores (S, n) and (S, m).

    It is the product of the areas less the mean of products over pairs that share no example (Gallas 2006, Academic
    Radiology 13).
    """
    (n, m), placements = (positive.shape[1], negative.shape[1]), Placements.of(positive, negative)
    same_pair = np.zeros((len(positive),) * 2)
    for score in positive.T[:, :, None]:
        right = (score > negative) + (score == negative) / 2
        same_pair += right @ right.T
    rows, columns = m * placements.positive, n * placements.negative
    areas = np.outer(placements.mean, placements.mean)
    apart = (n * m) ** 2 * areas - rows @ rows.T - columns @ columns.T + same_pair
    return np.asarray(areas - apart / (n * (n - 1) * m * (m - 1)))


def _corrected(number: int) -> float:
    """Return the factor by which a sum of squares about the sample's own mean is too small."""
    return number / (number - 1)


def mean_and_sd_of_counts(counts: Counts) -> tuple[Array, Array]:
    """Return the area and its standard error, (1,) each, from counts of each class at each score (2, V)."""
    positives, negatives = counts.sum(1).tolist()
    _check_sizes(positives, negatives)
    placements = (
        twice_below_each(counts[1]) / (2 * negatives),
        1 - twice_below_each(counts[0]) / (2 * positives),
    )
    area = counts[0] @ placements[0] / positives
    variances = [
        of_class @ (placement - area) ** 2 / ((n - 1) * n)
        for of_class, placement, n in zip(counts, placements, (positives, negatives), strict=True)
    ]
    return np.array([area]), np.sqrt([sum(variances)])


def _check_sizes(positive: int, negative: int) -> None:
    """Refuse a class of one example."""
    if min(positive, negative) < 2:
        raise InputError(
            "",
            f"method='delong' needs two examples of each class; there are {positive} positive and {negative} negative.",
            "Take method='bayesian_bootstrap'.",
        )
