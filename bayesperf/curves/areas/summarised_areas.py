"""The area under a ROC curve that is known by a report: the area and the numbers of examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import DependenceWarning, InputError, InputTypeError, warn
from bayesperf.curves.areas.area_marginals import INFERENCES, area_marginal, own_seed
from bayesperf.data.count_arrays import labelled_arrays
from bayesperf.distributions.area_by_score import AreaByScore, hanley_mcneil_variance
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.normal import Normal
from bayesperf.posteriors.marginal import Marginal

__all__ = ["auc_from_summary"]


@checked
def auc_from_summary(
    auc: ArrayLike | xr.DataArray,
    n_pos: ArrayLike | xr.DataArray,
    n_neg: ArrayLike | xr.DataArray,
    method: str = "newcombe",
    *,
    dims: Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    random_seed: Any = 0,
) -> Marginal:
    """Return the distribution of an area under the ROC curve from what a report says of it.

    Of scores themselves `roc_auc` says more.

    Parameters
    ----------
    auc : float, array-like or xarray.DataArray
        The observed area, from 0 to 1.
    n_pos, n_neg : int, array-like or xarray.DataArray
        Numbers of positive and of negative examples. They broadcast against each other and the areas.
    method : {"newcombe", "hanley_mcneil", "pairs"}
        "newcombe" inverts a score test, so that intervals stay inside [0, 1], and have a width at areas of 0 and 1.
        "hanley_mcneil" is the normal with the variance of these authors, its intervals clipped to [0, 1]. "pairs" takes
        the pairs of a positive and a negative for independent trials, which they are not.
    dims : sequence of str or mapping, optional
        Names of the axes of arrays, or a mapping of names to their coordinates.
    random_seed : int or numpy.random.Generator
        Seed of its draws.

    Returns
    -------
    Marginal

    Raises
    ------
    ValueError
        If an area is outside [0, 1], or a class has no example.

    Warns
    -----
    DependenceWarning
        Of "pairs", which claims far too much: see `roc_auc`.
    UserWarning
        Of "hanley_mcneil", if an area is 0 or 1: the interval then has no width.

    Notes
    -----
    With A the area, n and m the numbers of examples, Q1 = A/(2 − A) and Q2 = 2A²/(1 + A), the variance of Hanley &
    McNeil is (A(1 − A) + (n − 1)(Q1 − A²) + (m − 1)(Q2 − A²))/(nm). Q1 and Q2 are those of exponential scores, a
    convention: no report of an area says how the scores are distributed. Newcombe's method 5 has (n + m)/2 in the place
    of n and m in its numerator, and solves ``|A − observed| = z s(A)`` for A, with the standard error at A.

    docs/coverage.md says how often intervals cover.

    References
    ----------
    Hanley & McNeil (1982), Radiology 143. Newcombe (2006), Confidence intervals for an effect size measure based on the
    Mann–Whitney statistic, part 2, Statistics in Medicine 25.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.curves.auc_from_summary(0.893, n_pos=51, n_neg=58).eti().values.round(3)
    array([0.811, 0.94 ])
    >>> bp.curves.auc_from_summary(0.893, n_pos=51, n_neg=58, method="hanley_mcneil").sd().round(3).item()
    0.033
    >>> reports = bp.curves.auc_from_summary([0.8, 1], [40, 12], [60, 30], dims={"study": ["A", "B"]})
    >>> reports.eti().sel(study="B").values.round(3)
    array([0.882, 1.   ])
    """
    of_summary = METHODS[checks.one_of("method", method, METHODS)]
    areas, positives, negatives = labelled_arrays({"auc": auc, "n_pos": n_pos, "n_neg": n_neg}, dims)
    _check(areas, positives, negatives)
    observed, positive, negative = (np.asarray(part, float).reshape(-1, 1) for part in (areas, positives, negatives))
    distribution, inference = of_summary(observed, positive, negative)
    _warn(distribution, method)
    seed = own_seed(checks.seed(random_seed), np.hstack([observed, positive, negative]))
    examples = xr.concat([negatives, positives], "actual")
    return area_marginal(distribution, seed, inference, xr.zeros_like(areas, dtype=float), examples=examples)


def _check(areas: xr.DataArray, positives: xr.DataArray, negatives: xr.DataArray) -> None:
    """Refuse areas outside [0, 1] and numbers of examples below 1."""
    if areas.dtype.kind not in "iuf":
        raise InputTypeError("auc", f"must be numbers; it holds {areas.dtype}.")
    outside = ~((areas.values >= 0) & (areas.values <= 1))
    if outside.any():
        raise InputError("auc", f"must be in [0, 1]; it holds {areas.values[outside].flat[0]:g}.")
    for name, counts in (("n_pos", positives), ("n_neg", negatives)):
        if (checks.whole_numbers(name, counts.values) < 1).any():
            raise InputError(name, "must be at least 1: without an example of either class there is no area.")


def _warn(distribution: Distribution, method: str) -> None:
    if method == "pairs":
        warn(
            DependenceWarning,
            "BP107",
            "method='pairs': pairs that share an example depend on each other, so this posterior is far too narrow: "
            "95 % intervals cover in 40 % of data sets or fewer. Take method='newcombe'.",
        )
    if isinstance(distribution, Normal) and not distribution.scale.all():
        warn(
            UserWarning,
            "BP701",
            "auc: by method='hanley_mcneil' an area of 0 or 1 has a variance of 0. That is no certainty: more examples "
            "may overlap. Take method='newcombe'.",
        )


# ── Methods ──


def _by_newcombe(observed: Array, positive: Array, negative: Array) -> tuple[Distribution, str]:
    return AreaByScore(observed, positive, negative), "Newcombe's posterior"


def _by_hanley_mcneil(observed: Array, positive: Array, negative: Array) -> tuple[Distribution, str]:
    sd = np.sqrt(np.maximum(hanley_mcneil_variance(observed, positive, negative), 0))
    return Normal(observed, sd, (0.0, 1.0)), "Hanley & McNeil's normal approximation"


def _by_pairs(observed: Array, positive: Array, negative: Array) -> tuple[Distribution, str]:
    pairs = positive * negative
    return Beta(1 + observed * pairs, 1 + (1 - observed) * pairs), INFERENCES["pairs"]


METHODS: dict[str, Callable[[Array, Array, Array], tuple[Distribution, str]]] = {
    "newcombe": _by_newcombe,
    "hanley_mcneil": _by_hanley_mcneil,
    "pairs": _by_pairs,
}
