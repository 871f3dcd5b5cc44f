"""Areas under the ROC curves of systems judged on the same examples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.comparison.result import Comparison
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.errors import InputError
from bayesperf.core.recipes import remembered
from bayesperf.core.warnings import PACKAGE
from bayesperf.core.words import listed
from bayesperf.counts.class_probabilities import has_columns
from bayesperf.counts.classifier_scores import positives
from bayesperf.curves.areas.areas_of_classes import ClassAreas, refuse_for_classes, refuse_options_of_classes
from bayesperf.curves.areas.auc import INFERENCES, OF_CLUSTERS, QUANTITY, area_marginal, bootstrapped, own_seed
from bayesperf.curves.areas.delong import Placements
from bayesperf.curves.areas.partial_areas import PartOfCurve, part_of_curve, partial_area_draws
from bayesperf.curves.areas.systems_on_one_set import (
    DIM,
    SAME_EXAMPLES,
    compared,
    over_systems,
    scores_by_system,
)
from bayesperf.curves.clustered_scores import WEIGHTS_OF_CLUSTERS, bootstrap_of, clusters_by_class
from bayesperf.curves.curve_marginals import marginal_of_draws
from bayesperf.distributions.normal import Normal
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS
from bayesperf.posteriors.ranks import rounded

__all__ = ["compare_auc"]


@remembered("compare_auc")
def compare_auc(
    y_true: Any,
    score_a: ArrayLike | Mapping[Any, ArrayLike] | pd.DataFrame,
    score_b: ArrayLike | None = None,
    *,
    method: str = "bayesian_bootstrap",
    names: Sequence[Any] = ("a", "b"),
    rope: float = 0.0,
    fpr: tuple[float, float] | None = None,
    recall: tuple[float, float] | None = None,
    standardized: bool = False,
    multi_class: str | None = None,
    average: str = "macro",
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Comparison:
    """Compare the areas under the ROC curves of systems judged on the same examples.

    Systems judged on different examples are compared by ``compare(roc_auc(y_a, score_a), roc_auc(y_b, score_b))``, by
    either method; areas under precision–recall curves by `compare_weighted_scores`.

    Parameters
    ----------
    y_true : array-like (n,)
        Labels of two classes; with `multi_class`, of any number.
    score_a, score_b : array-like (n,) or (n, K)
        What two systems give the examples; or in the place of both a mapping (a data frame) from names to the scores
        of two systems or more, which are compared in pairs. With `multi_class`, a column a class.
    method : {"bayesian_bootstrap", "delong"}
        As in `bayesperf.roc_auc`: one set of weights for all systems, or the normal with DeLong's variance of the
        difference; of clusters, Obuchowski's.
    names : sequence of two
        Names of systems a and b.
    rope : float
        Half-width of the region of practical equivalence.
    fpr, recall : (low, high), optional
        Compare the areas between two false positive rates alone, or between two recalls, as `Curve.partial_area` has
        them; of "bayesian_bootstrap".
    standardized, multi_class, average, labels, pos_label, cluster, draws, random_seed, progressbar
        As in `bayesperf.roc_auc`; systems are compared by an average of classes.

    Returns
    -------
    Comparison
        Of a − b; of a mapping, with dims (``model``, ``model_other``).

    Raises
    ------
    TypeError
        If there is no second system, or one too many; if options do not go together.
    ValueError
        As by `bayesperf.roc_auc`; if a part of the curve is asked of "delong".

    Warns
    -----
    UserWarning
        Of "delong", if a system's scores separate the classes: the variance of its area is then 0.

    Notes
    -----
    With clusters, and with several classes, half a cluster or example of each class was not seen: it weighs the same
    for all systems, and each system that orders the examples in its own way ranks it in its own way.

    Without clusters, if some system's scores separate the classes, "bayesian_bootstrap" is smoothed for all of them, as
    `bayesperf.roc_auc` is for that one: each system's classes overlap unseen by weights of its own, so that the
    difference of two areas that are both 1 in the sample has a width. It errs on the wide side. Of normal scores, 10 to
    50 of either class, and areas of .9 to .99, 95 % intervals for such data sets covered in all of 250 simulated ones
    (unsmoothed, in 12 to 88 %).

    Of normal scores of 100 examples, 30 % of them positive, 95 % intervals covered the difference of areas in 95 % of
    400 data sets. Parts of areas are those of curves that are smooth between the scores, as bands are, each beyond its
    scores by weights of its own, which errs on the wide side: the difference between fpr 0 and 0.1, 0 and 0.2, and
    recall 0.8 and 1, was covered in 98, 96 and 98 % (standard error 1; by weights of the scores alone in 94, 93 and
    90 %), and between fpr 0 and 0.2 of a system and of the same with noise in all of 400 data sets.
    ``validation/clustered_areas.py`` has differences of clusters.

    DeLong's test: z is ``difference.mean() / difference.sd()``, and its two-sided p-value 2 min(p, 1 − p) with p the
    ``prob_greater``. Systems that order the examples alike differ by 0 for certain: ``prob_greater`` is ½ and the
    p-value 1.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> scores = frame.pivot(index="example", columns="model", values="score")
    >>> y_true = frame.drop_duplicates("example").sort_values("example")["actual"]
    >>> comparison = bp.compare_auc(y_true, scores, method="delong", pos_label="malignant")
    >>> comparison.prob_greater.sel(model="logistic_regression", model_other="naive_bayes").round(4).item()
    0.9999
    >>> old, new = scores["naive_bayes"], scores["decision_tree"]
    >>> bp.compare_auc(y_true, old, new, pos_label="malignant").difference.eti().values.round(2)
    array([-0.  ,  0.02])
    """
    checks.one_of("method", method, tuple(OF_CLUSTERS))
    draws, seed, width = checks.count("draws", draws, least=2), checks.seed(random_seed), checks.rope(rope)
    part = part_of_curve(fpr, recall, standardized)
    by_system, many = scores_by_system(score_a, score_b, names, multi_class is not None)
    if multi_class is not None or any(map(has_columns, by_system.values())):
        refuse_for_classes(method, part, pos_label)
        named = {f"score of {name!r}": probs for name, probs in by_system.items()}
        classes = ClassAreas.of(y_true, named, multi_class, average, labels, cluster)
        areas = _of_classes(classes, over_systems(tuple(by_system)), draws, seed, progressbar)
        basis = _basis("Dirichlet(1) weights of all examples", cluster, with_unseen=True)
        return compared(areas, many, width, True, draws, basis)
    refuse_options_of_classes(labels, average)
    is_positive = positives(y_true, pos_label)
    positive, negative = _scores_by_class(is_positive, by_system)
    of_examples = clusters_by_class(cluster, is_positive, "y_true")
    contents = np.concatenate([positive, negative], 1)
    seed = own_seed(seed, contents if of_examples is None else np.vstack([contents, of_examples]))
    if method == "bayesian_bootstrap":
        systems = over_systems(tuple(by_system))
        areas = _bootstrapped(positive, negative, of_examples, systems, part, draws, seed, progressbar)
        return compared(
            areas,
            many,
            width,
            True,
            draws,
            _basis("Dirichlet(1) weights in each class", cluster, cluster is not None and part is None),
        )
    if part:
        raise InputError(f"{part.rate}", "DeLong's variance is of whole areas.", "Take method='bayesian_bootstrap'.")
    return _by_delong(Placements.of(positive, negative, of_examples), tuple(by_system), many, width, draws, seed)


def _basis(of_examples: str, cluster: Any, with_unseen: bool) -> str:
    """Return what is weighted, and whether with half a unit that was not seen."""
    weights = of_examples if cluster is None else WEIGHTS_OF_CLUSTERS
    return f"{weights}, and half of one of each class unseen" if with_unseen else weights


def _by_delong(
    placements: Placements, systems: tuple[Any, ...], many: bool, rope: float, draws: int, seed: int
) -> Comparison:
    """Return the comparison by the normal distribution of differences."""
    _warn_of_separated(systems, placements)
    variances = "DeLong's variances" if placements.cluster is None else "Obuchowski's variances of clusters"
    return Comparison(
        difference=_difference(placements, systems, many, seed),
        names=systems,
        rope=rope,
        greater_is_better=True,
        basis=f"{variances}; {SAME_EXAMPLES}",
        dim=DIM,
        many=many,
        make_draws=partial(_joint_draws, placements, systems, draws, seed) if many else None,
    )


def _of_classes(classes: ClassAreas, leading: xr.DataArray, draws: int, seed: int, progressbar: bool) -> Marginal:
    """Return the average areas of systems that give probabilities to several classes, by one set of weights."""
    if classes.average is None:
        raise InputError("average", "systems are compared by one figure.", "Take 'macro' or 'weighted'.")
    seed = own_seed(seed, classes.contents)
    values = classes.drawn(draws, np.random.default_rng(seed), progressbar)
    return marginal_of_draws(classes.quantity, values, leading, seed, classes.inference)


def _bootstrapped(
    positive: Array,
    negative: Array,
    cluster: Codes | None,
    leading: xr.DataArray,
    part: PartOfCurve | None,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the areas of systems, or parts of them, by one set of weights."""
    rng = np.random.default_rng(seed)
    if part is None:
        areas = bootstrapped(positive, negative, cluster, draws, rng, progressbar)
        return area_marginal(areas, seed, bootstrap_of(cluster), leading)
    values = partial_area_draws(positive, negative, part, cluster, draws, rng, progressbar)
    return marginal_of_draws(part.quantity, values, leading, seed, bootstrap_of(cluster))


def _scores_by_class(is_positive: Booleans, by_system: Mapping[Any, Any]) -> tuple[Array, Array]:
    """Return the scores of the positive and of the negative examples, (S, n) and (S, m), in one order for all."""
    columns = {f"score of {name!r}": scores for name, scores in by_system.items()}
    checked = {name: checks.vector(name, scores) for name, scores in columns.items()}
    checks.equal_lengths({"y_true": len(is_positive)} | {name: len(scores) for name, scores in checked.items()})
    scores = np.stack(list(checked.values()))
    return scores[:, is_positive], scores[:, ~is_positive]


def _warn_of_separated(systems: Sequence[Any], placements: Placements) -> None:
    """Warn of systems whose areas DeLong's variance takes for certain."""
    if separating := [name for name, area in zip(systems, placements.mean, strict=True) if area in (0, 1)]:
        warnings.warn(
            f"method='delong': scores that separate the classes, of {listed(separating)}, have an area with a variance "
            "of 0. That is no certainty: more examples may overlap. Take method='bayesian_bootstrap'.",
            skip_file_prefixes=(PACKAGE,),
        )


def _difference(placements: Placements, systems: tuple[Any, ...], many: bool, seed: int) -> Marginal:
    """Return the normal distribution of each pair's difference; of many systems along a dim ``pair``."""
    first, second = np.triu_indices(len(systems), 1)
    of_pairs = placements.difference(first, second)
    normal = Normal(of_pairs.mean[:, None], of_pairs.sd[:, None], (-1.0, 1.0))
    pairs = [f"{a} − {b}" for a, b in combinations(systems, 2)]
    leading = xr.DataArray(np.zeros(len(pairs)), {"pair": pairs}, ["pair"]) if many else xr.DataArray(0.0)
    quantity = QUANTITY.contrasted("difference", normal.bounds)
    return area_marginal(normal, seed, INFERENCES["delong"], leading, quantity)


def _joint_draws(placements: Placements, systems: tuple[Any, ...], n: int, seed: int) -> xr.DataArray:
    """Return joint draws of the areas, (draw, model), from their normal distribution."""
    drawn = np.random.default_rng(seed).multivariate_normal(placements.mean, placements.covariance, n)
    # Systems that order the examples alike tie.
    return xr.DataArray(rounded(drawn, (0.0, 1.0)), {DIM: list(systems)}, ["draw", DIM])
