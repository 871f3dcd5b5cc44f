"""Scores of examples that come in clusters, whose weights the Bayesian bootstrap draws: which cluster each is of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core.arrays import Booleans, Codes
from bayesperf.core.errors import DependenceWarning, InputError, warn
from bayesperf.core.weights import ENOUGH, check_enough
from bayesperf.data.classifier_scores import clusters_of, labelled_scores


def bootstrap_of(clusters: Any) -> str:
    """Return how a Bayesian bootstrap is called, of clusters or, if there are none (None), of examples."""
    return "Bayesian bootstrap" if clusters is None else "Bayesian bootstrap of clusters"


def clusters_of_examples(cluster: Any, examples: int, name: str) -> Codes | None:
    """Return the cluster of each example (n,), numbered from 0, or None if none are given; of nested ones the first."""
    if cluster is None:
        return None
    codes = clusters_of(cluster, examples, name)
    check_enough(number := 1 + int(codes.max()))
    if number < ENOUGH:
        warn(
            DependenceWarning,
            "BP105",
            f"cluster: {number} are few: how much they differ is hardly known, and intervals of fewer than {ENOUGH} "
            "may be too narrow.",
        )
    return codes


def clusters_by_class(cluster: Any, is_positive: Booleans, name: str = "y_score") -> Codes | None:
    """Return the cluster of each example, positives first, in their order; other parameters as above."""
    codes = clusters_of_examples(cluster, len(is_positive), name)
    return None if codes is None else np.concatenate(_of_classes(codes, is_positive))


def clusters_by_score(
    cluster: Any, y_true: Any, y_score: ArrayLike | None, pos_label: Any = None
) -> tuple[Codes, Codes] | None:
    """Return the clusters of the positives and of the negatives, in the order of their scores."""
    if cluster is None:
        return None
    if y_score is None:
        raise InputError("cluster", "bins do not tell the examples of a cluster.", "Give y_true and y_score.")
    is_positive, score = labelled_scores(y_true, y_score, pos_label)
    codes = clusters_of_examples(cluster, len(score), "y_score")
    assert codes is not None
    order = np.argsort(score, kind="stable")
    return _of_classes(codes[order], is_positive[order])


def _of_classes(codes: Codes, is_positive: Booleans) -> tuple[Codes, Codes]:
    for name, members in (("positives", is_positive), ("negatives", ~is_positive)):
        check_several(codes[members], name)
    return codes[is_positive], codes[~is_positive]


def check_several(cluster: Codes, name: str) -> None:
    """Refuse examples of a class that are of one cluster."""
    if (cluster == cluster[0]).all():
        raise InputError(
            "cluster", f"the {name} are all of one, which says nothing of those of others.", "Give examples of more."
        )
