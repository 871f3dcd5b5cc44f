"""The variance of areas under ROC curves, and of their differences.

DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44: the area is the mean, over the examples of one class, of the
proportion of the other class that each is on the right side of. By ranks (Sun & Xu 2014, IEEE Signal Processing Letters
21) it takes n log n steps.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array, Counts
from bayesperf.curves.areas.bayesian_bootstrap import twice_below, twice_below_each


class Placements(NamedTuple):
    """The proportion of the other class that each example is on the right side of, (S, n) and (S, m); ties count half.

    Rows are systems, or differences of two.
    """

    positive: Array
    negative: Array

    @classmethod
    def of(cls, positive: Array, negative: Array) -> Self:
        """Return the placements of scores (S, n) and (S, m).

        Raises
        ------
        ValueError
            If a class has one example: the variance over one is unknown.
        """
        _check_sizes(positive.shape[1], negative.shape[1])
        pairs = list(zip(positive, negative, strict=True))
        return cls(
            np.stack([twice_below(own, other) / (2 * len(other)) for own, other in pairs]),
            np.stack([1 - twice_below(own, other) / (2 * len(other)) for other, own in pairs]),
        )

    def difference(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Placements:
        """Return the differences between some systems and others."""
        return Placements(*(of_class[first] - of_class[second] for of_class in self))

    @property
    def mean(self) -> Array:
        """The areas, or their differences, (S,)."""
        return self.positive.mean(1)

    @property
    def sd(self) -> Array:
        """Their standard errors, (S,)."""
        variances = [of_class.var(1, ddof=1) / of_class.shape[1] for of_class in self]
        return np.asarray(np.sqrt(np.sum(variances, 0)))

    @property
    def covariance(self) -> Array:
        """Their covariances, (S, S)."""
        return np.asarray(sum(np.cov(of_class) / of_class.shape[1] for of_class in self))


def mean_and_sd_of_counts(counts: Counts) -> tuple[Array, Array]:
    """Return the area and its standard error, (1,) each, given how many of each class have each score (2, V)."""
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
        raise ValueError(
            f"method='delong' needs two examples of each class; there are {positive} positive and {negative} negative. "
            "Take method='bayesian_bootstrap'."
        )
