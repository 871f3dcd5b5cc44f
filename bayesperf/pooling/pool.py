"""Folds, sites, days, images: the hierarchical model of binary counts over groups, by quadrature."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from bayesperf.core import checks
from bayesperf.core.warnings import PriorWarning
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.pooling.pooled import Pooled
from bayesperf.posteriors.posterior import DRAWS

__all__ = ["Pooled", "pool"]

# The Beta of the dispersion by what the groups are.
DISPERSION = {"random": (1.0, 24.0), "clusters": (1.0, 9.0)}
# Where prior and posterior have this share in common, the data have said nothing.
_COINCIDE = 0.95


def pool(
    cm: ConfusionMatrix,
    dim: str = "fold",
    groups: Literal["random", "clusters"] = "random",
    repeats: int = 1,
    dispersion: tuple[float, float] | None = None,
    *,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Pooled:
    """Pool binary matrices over groups that differ: folds, sites, subjects, days, images.

    Three questions are kept apart: the population's mean, each of these groups, and a new group.

    Parameters
    ----------
    cm : ConfusionMatrix
        Binary, with leading dim `dim`. Other leading dims are as many systems, each pooled on its own.
    dim : str
        The leading dim of the groups.
    groups : {"random", "clusters"}
        What they are. "random": random folds of one data set, whose rates hardly differ: ρ ~ Beta(1, 24). "clusters":
        sites, subjects, days or images: ρ ~ Beta(1, 9).
    repeats : int
        How often cross-validation was repeated; `dim` then has repeats × k folds. Each example weighs 1/repeats,
        because repeats add no examples.
    dispersion : tuple of two float, optional
        (a, b) of another Beta prior of ρ.
    draws : int
        Draws behind the posteriors' figures.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Pooled

    Raises
    ------
    TypeError
        If `cm` is not a ConfusionMatrix.
    ValueError
        If it has other than two classes or no such dim, or an argument is not of its kind.

    Warns
    -----
    PriorWarning
        If the data say nothing of the dispersion (few, small groups): the interval of a new group is then the prior's.

    Notes
    -----
    Each actual class has a row of its own, independent of the other: of n examples of the class in a group, k are
    predicted right, k ~ BetaBinomial(n, κp, κ(1 − p)), κ = 1/ρ − 1, p ~ Beta(1, 1). ρ, the dispersion, is the
    correlation of two examples of a group: ρ = 0 is one common rate, ρ = 1 groups that are all right or all wrong.
    Groups' own rates are integrated out, by quadrature over p and ρ, and come back by conjugacy. Prevalence in the
    population has the posterior of the summed counts; in a new group, that of the same model over the groups' sizes. A
    metric of the mean is that of the mean rates.

    No cross-validation estimates the spread over training sets, or the model refitted on all data: the intervals of
    random folds of up to about 100 examples are somewhat optimistic.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by=["model", "fold"],
    ...                                    pos_label="malignant")
    >>> pooled = bp.pool(cm.sel(model="naive_bayes"))
    >>> pooled
    <bayesperf.Pooled: 10 folds, ρ ~ Beta(1, 24)>
    >>> pooled.summary("recall")[["answer", "fold", "mean", "ci_lower", "ci_upper"]].head(3).round(2)
          answer fold  mean  ci_lower  ci_upper
    0       mean       0.88      0.83      0.94
    1  new group       0.88      0.76      1.00
    2      group    0  0.84      0.73      0.94
    """
    if not isinstance(cm, ConfusionMatrix):
        raise TypeError(f"cm must be a ConfusionMatrix; it is {type(cm).__name__}.")
    if len(cm.labels) != 2:
        raise ValueError(
            f"cm: pool is for two classes; there are {len(cm.labels)}. Use fit(cm, model='groups'), or pool each class "
            "against the rest: pool(cm.one_vs_rest(), ...)."
        )
    if dim not in cm.dims:
        raise ValueError(f"dim: {dim!r} is not a leading dim; they are {list(cm.dims)}.")
    checks.one_of("groups", groups, tuple(DISPERSION))
    pooled = Pooled(
        cm=cm,
        dim=dim,
        dispersion_weights=DISPERSION[groups] if dispersion is None else _weights(dispersion),
        repeats=checks.count("repeats", repeats),
        n_draws=checks.count("draws", draws, least=2),
        random_seed=checks.seed(random_seed),
    )
    _warn_of_prior(pooled)
    return pooled


def _weights(dispersion: Any) -> tuple[float, float]:
    try:
        a, b = (checks.number("dispersion", value) for value in dispersion)
    except (TypeError, ValueError):
        a = b = np.nan
    if not (0 < a < np.inf and 0 < b < np.inf):
        raise ValueError(f"dispersion must be (a, b) of a Beta, both above 0; it is {dispersion!r}.")
    return a, b


def _warn_of_prior(pooled: Pooled) -> None:
    overlap = pooled.overlap
    where = np.argwhere(overlap.values > _COINCIDE)
    if not len(where):
        return
    place = ", ".join(f"{dim}={overlap[dim].values[i]!s}" for dim, i in zip(overlap.dims, where[0], strict=True))
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    warnings.warn(
        f"the data say nothing of the dispersion between {pooled.dim}s (few, small ones) at {place}{more}: the "
        f"interval of a new one is the prior's, ρ ~ {pooled.dispersion_text}. Give more of them, or what is known of "
        "ρ, as dispersion=(a, b).",
        PriorWarning,
        stacklevel=3,
    )
