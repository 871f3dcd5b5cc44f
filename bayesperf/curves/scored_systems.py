"""Systems and clusters of scored examples, as a caller gives them, and the marginals of their figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.errors import DependenceWarning, InputError, warn
from bayesperf.core.weights import about_few, check_enough
from bayesperf.data.classifier_scores import clusters_of, labelled_scores
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity

# The dim of systems that were tested on the same examples.
DIM = "model"


def marginal_of_scores(
    quantity: Quantity,
    values: Array | Distribution,
    random_seed: int,
    leading: xr.DataArray | None = None,
    *,
    inference: str | None = None,
    examples: xr.DataArray | Sequence[int] | None = None,
    score: xr.DataArray | None = None,
    joint: bool = False,
) -> Marginal:
    """Return the marginal of independent draws (…, n) over leading dims, or of a distribution.

    `examples` are the examples of the marginal, or their number in every class.
    """
    if not isinstance(values, Distribution):
        values = Draws.of(quantity.metric, values.reshape(-1, 1, values.shape[-1]), quantity.bounds)
    leading = xr.DataArray(0.0) if leading is None else xr.zeros_like(leading, dtype=float)
    if not (examples is None or isinstance(examples, xr.DataArray)):
        examples = xr.DataArray(np.asarray(examples), dims="actual")
    return Marginal(quantity, values, leading, None, inference, random_seed, examples, joint, score)


def draws_along(marginal: Marginal) -> Array:
    """Return the draws of a marginal over one dim, (m, n)."""
    distribution = marginal.distribution
    assert isinstance(distribution, Draws)
    return distribution.values[:, 0]


# ── Systems ──


def systems_of(y_score: Any, name: str = "y_score") -> dict[Any, Any] | None:
    """Return the scores of each system by its name, or None for a single system."""
    if not isinstance(y_score, Mapping | pd.DataFrame):
        return None
    if not len(y_score.keys()):
        raise InputError(name, "must map names of systems to their scores; it is empty.")
    return dict(y_score.items())


def over_systems(names: Iterable[Any]) -> xr.DataArray:
    """Return an array of zeros along the dim of the systems."""
    coordinate = list(names)
    return xr.DataArray(np.zeros(len(coordinate)), {DIM: coordinate}, [DIM])


def orders_of(scores: Array) -> Codes:
    """Return a number of the order in which each system has the examples (S, n): the same for those that have one."""
    ranks = np.stack([np.unique(of_system, return_inverse=True)[1] for of_system in scores])
    return np.unique(ranks, axis=0, return_inverse=True)[1].ravel()


# ── Clusters of examples, whose weights the Bayesian bootstrap draws ──


def bootstrap_of(clusters: Any) -> str:
    """Return the name of a Bayesian bootstrap, of clusters or, if there are none (None), of examples."""
    return "Bayesian bootstrap" if clusters is None else "Bayesian bootstrap of clusters"


def clusters_of_examples(cluster: Any, examples: int, name: str) -> Codes | None:
    """Return the cluster of each example (n,), numbered from 0, or None if none are given; of nested ones the first."""
    if cluster is None:
        return None
    codes = clusters_of(cluster, examples, name)
    check_enough(number := 1 + int(codes.max()))
    if few := about_few(number, f"cluster: {number}"):
        warn(DependenceWarning, "BP105", f"{few}.")
    return codes


def clusters_by_class(cluster: Any, is_positive: Booleans, name: str) -> tuple[Codes, Codes] | None:
    """Return the clusters of the positives and of the negatives, in their order; other parameters as above."""
    codes = clusters_of_examples(cluster, len(is_positive), name)
    if codes is None:
        return None
    for of_class, members in (("positives", is_positive), ("negatives", ~is_positive)):
        check_several(codes[members], of_class)
    return codes[is_positive], codes[~is_positive]


def clusters_by_score(
    cluster: Any, y_true: Any, y_score: ArrayLike | None, pos_label: Any = None
) -> tuple[Codes, Codes] | None:
    """Return the clusters of the positives and of the negatives, in the order of their scores."""
    if cluster is None:
        return None
    if y_score is None:
        raise InputError("cluster", "bins do not tell the examples of a cluster.", "Give y_true and y_score.")
    is_positive, score = labelled_scores(y_true, y_score, pos_label)
    by_class = clusters_by_class(cluster, is_positive, "y_score")
    assert by_class is not None
    scores = score[is_positive], score[~is_positive]
    positive, negative = (
        codes[np.argsort(score, kind="stable")] for codes, score in zip(by_class, scores, strict=True)
    )
    return positive, negative


def check_several(cluster: Codes, name: str) -> None:
    """Refuse a class whose examples all belong to one cluster."""
    if (cluster == cluster[0]).all():
        raise InputError(
            "cluster", f"the {name} are all of one, which says nothing of those of others.", "Give examples of more."
        )
