"""The variance of areas under ROC curves, and of their differences.

DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44: the area is the mean, over the examples of one class, of the
proportion of the other class that each is on the right side of. By ranks (Sun & Xu 2014, IEEE Signal Processing Letters
21) it takes n log n steps.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array
from bayesperf.curves.areas.bayesian_bootstrap import twice_below


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
        sizes = positive.shape[1], negative.shape[1]
        if min(sizes) < 2:
            raise ValueError(
                f"method='delong' needs two examples of each class; there are {sizes[0]} positive and {sizes[1]} "
                "negative. Take method='bayesian_bootstrap'."
            )
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
