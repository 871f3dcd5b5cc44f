"""Systems and clusters of scored examples, as a caller gives them, and the marginals of their figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import NO_DIMS, Array, Booleans, Codes
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.weights import check_number
from bayesperf.data.axis_names import MODEL
from bayesperf.data.binned_scores import BinnedScores, scores_of
from bayesperf.data.classifier_scores import Scores, clusters_of, positives
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity

# The name of the only system of a curve that was given without a name.
NAMELESS = ""


def marginal_of_scores(
    quantity: Quantity,
    values: Array | Distribution,
    random_seed: int,
    leading: xr.DataArray = NO_DIMS,
    *,
    inference: str | None = None,
    examples: xr.DataArray | Sequence[int] | None = None,
    score: xr.DataArray | None = None,
    joint: bool = False,
) -> Marginal:
    """Return the marginal of independent draws (…, n) over leading dims, or of a distribution.

    `examples` are the examples of the marginal, or their number in every class; `score` is what they show themselves.
    """
    if not isinstance(values, Distribution):
        values = Draws.of(quantity.metric, values.reshape(-1, 1, values.shape[-1]), quantity.bounds)
    if not (examples is None or isinstance(examples, xr.DataArray)):
        examples = xr.DataArray(np.asarray(examples), dims="actual")
    observed = None if score is None else score.rename(quantity.metric)
    leading = xr.zeros_like(leading, dtype=float)
    return Marginal(quantity, values, leading, None, inference, random_seed, examples, joint, observed)


def draws_along(marginal: Marginal) -> Array:
    """Return the draws of a marginal over one dim, (m, n)."""
    distribution = marginal.distribution
    assert isinstance(distribution, Draws)
    return distribution.values[:, 0]


# ── Systems ──


def systems_of(y_score: Any, name: str = "y_score") -> dict[Any, Any]:
    """Return the scores of each system by its name, `NAMELESS` for a single system."""
    if not isinstance(y_score, Mapping | pd.DataFrame):
        return {NAMELESS: y_score}
    if not len(y_score.keys()):
        raise InputError(name, "must map names of systems to their scores; it is empty.")
    return dict(y_score.items())


def have_names(systems: Iterable[Any]) -> bool:
    """Return whether systems have names, given these: whether they are more than a single one without a name."""
    return [*systems] != [NAMELESS]


def over_systems(names: Iterable[Any]) -> xr.DataArray:
    """Return an array of zeros along the dim of the systems; without dims for a single system without a name."""
    coordinate = list(names)
    if not have_names(coordinate):
        return NO_DIMS
    return xr.DataArray(np.zeros(len(coordinate)), {MODEL: coordinate}, [MODEL])


def name_of_scores(system: Any) -> str:
    """Return what errors call the scores of a system."""
    return "y_score" if system == NAMELESS else f"score of {system!r}"


@dataclass(frozen=True, eq=False)
class Examples(Held):
    """Labelled scores of one system, in the order given."""

    # Whether an example is of the positive class, (n,).
    positive: Booleans
    # Its score, (n,).
    score: Array
    # Which cluster it belongs to, numbered from 0, (n,); None if every example is by itself.
    cluster: Codes | None = None

    @cached_property
    def scores(self) -> Scores:
        """The scores of either class, ascending."""
        positive, negative = map(np.sort, self.by_class(self.score))
        return Scores(positive, negative)

    def by_class[T: (Array, Codes)](self, values: T) -> tuple[T, T]:
        """Return values (n,) of the positives and of the negatives."""
        return values[self.positive], values[~self.positive]

    @property
    def cluster_by_class(self) -> Codes | None:
        """The clusters of the positives and then of the negatives, if any."""
        return None if self.cluster is None else np.concatenate(self.by_class(self.cluster))

    @property
    def clusters_by_score(self) -> tuple[Codes, Codes]:
        """The clusters of the positives, and of the negatives, in the order of their scores."""
        assert self.cluster is not None
        pairs = zip(self.by_class(self.cluster), self.by_class(self.score), strict=True)
        positive, negative = (cluster[np.argsort(score, kind="stable")] for cluster, score in pairs)
        return positive, negative


def scores_by_class(system: Examples | BinnedScores) -> Scores | BinnedScores:
    """Return the scores of either class of a system, ascending, or their bins."""
    return system if isinstance(system, BinnedScores) else system.scores


def stacked(systems: Iterable[Examples | BinnedScores]) -> tuple[Array, Array]:
    """Return the scores of positives (S, n) and of negatives (S, m) of systems on the same examples."""
    by_class = (each.by_class(each.score) for each in systems if isinstance(each, Examples))
    positive, negative = map(np.stack, zip(*by_class, strict=True))
    return positive, negative


def system_scores(y_true: Any, y_score: Any, pos_label: Any, cluster: Any) -> dict[Any, Examples | BinnedScores]:
    """Return the checked scores of each system by its name, `NAMELESS` for a system without one.

    `y_true` may also be binned scores of one system, without clusters.
    """
    if isinstance(y_true, BinnedScores) or y_score is None:
        binned = scores_of(y_true, y_score, pos_label)
        assert isinstance(binned, BinnedScores)
        if cluster is not None:
            raise InputError("cluster", "bins do not tell the examples of a cluster.", "Give y_true and y_score.")
        return {NAMELESS: binned}
    systems = systems_of(y_score)
    is_positive = positives(y_true, pos_label)
    scores = {name: checks.vector(name_of_scores(name), of_system) for name, of_system in systems.items()}
    lengths = {name_of_scores(name): len(of_system) for name, of_system in scores.items()}
    checks.equal_lengths({"y_true": len(is_positive)} | lengths)
    codes = clusters_of_both_classes(cluster, is_positive, "y_true" if have_names(systems) else "y_score")
    return {name: Examples(is_positive, of_system, codes) for name, of_system in scores.items()}


def orders_of(scores: Array) -> Codes:
    """Return a number of the order in which each system has the examples (S, n): the same for those that have one."""
    ranks = (np.unique(of_system, return_inverse=True)[1] for of_system in scores)
    # Bytes of the highest place first sort as the numbers do, and in far less time than rows of an array.
    rows = [of_system.astype(">i8").tobytes() for of_system in ranks]
    number = {row: place for place, row in enumerate(sorted(set(rows)))}
    return np.array([number[row] for row in rows])


# ── Clusters of examples, whose weights the Bayesian bootstrap draws ──


def bootstrap_of(clusters: Any) -> str:
    """Return the name of a Bayesian bootstrap, of clusters or, if there are none (None), of examples."""
    return "Bayesian bootstrap" if clusters is None else "Bayesian bootstrap of clusters"


def clusters_of_examples(cluster: Any, examples: int, name: str) -> Codes | None:
    """Return the cluster of each example (n,), numbered from 0, or None if none are given; of nested ones the first."""
    if cluster is None:
        return None
    codes = clusters_of(cluster, examples, name)
    check_number(1 + int(codes.max()))
    return codes


def clusters_of_both_classes(cluster: Any, is_positive: Booleans, name: str) -> Codes | None:
    """Return the cluster of each example (n,), as above, of which either class has several."""
    codes = clusters_of_examples(cluster, len(is_positive), name)
    if codes is not None:
        for of_class, members in (("positives", is_positive), ("negatives", ~is_positive)):
            check_several(codes[members], of_class)
    return codes


def check_several(cluster: Codes, name: str) -> None:
    """Refuse a class whose examples all belong to one cluster."""
    if (cluster == cluster[0]).all():
        raise InputError(
            "cluster", f"the {name} are all of one, which says nothing of those of others.", "Give examples of more."
        )
