"""The area under the ROC curve, from scores and from what a report says about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Codes
from bayesperf.core.errors import DependenceWarning, InputError, InputTypeError, warn
from bayesperf.core.random_streams import streams
from bayesperf.core.words import listed
from bayesperf.curves.areas.areas_of_classes import ClassAreas, refuse_for_classes, refuse_options_of_classes
from bayesperf.curves.areas.bootstrapped_areas import (
    area_draws_of_counts,
    bootstrapped,
    observed_area,
    refuse_slow,
    twice_below,
    twice_below_each,
)
from bayesperf.curves.areas.delong import Placements, mean_and_sd_of_counts
from bayesperf.curves.roc.called_positive import PartOfCurve, part_of_curve
from bayesperf.curves.roc.curve_draws import curves_of_systems, observed_curve, paired_curves
from bayesperf.curves.scored_systems import (
    NAMELESS,
    Examples,
    bootstrap_of,
    have_names,
    marginal_of_scores,
    name_of_scores,
    over_systems,
    scores_by_class,
    stacked,
    system_scores,
    systems_of,
)
from bayesperf.data.axis_names import MODEL
from bayesperf.data.binned_scores import BinnedScores as BinnedScores  # Lent to `bayesperf.curves`.
from bayesperf.data.classifier_scores import Scores, by_class, has_columns
from bayesperf.data.count_arrays import labelled_arrays
from bayesperf.distributions.area_by_score import AreaByScore, hanley_mcneil_variance
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.normal import JointNormal, LogitNormal, Normal
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS
from bayesperf.posteriors.quantity import Quantity

__all__ = ["auc_from_summary", "roc_auc"]

NAME, BOUNDS = "roc_auc", (0.0, 1.0)
QUANTITY = Quantity(NAME, greater_is_better=True, words="AUC", bounds=BOUNDS)
# How the distribution of an area is called, by method; and the same of examples in clusters.
INFERENCES = {
    "bayesian_bootstrap": "Bayesian bootstrap",
    "delong": "DeLong's normal approximation",
    "binormal": "Binormal posterior",
    "pairs": "Posterior, as if pairs were independent,",
}
OF_CLUSTERS = {
    "bayesian_bootstrap": "Bayesian bootstrap of clusters",
    "delong": "Obuchowski's normal approximation",
}
# Weights of the examples of systems, over all draws, that are summed in about four minutes: for areas, and for parts.
_MOST_WEIGHTS, _MOST_OF_PARTS = 10**11, 3 * 10**9


@checked
def roc_auc(
    y_true: Any,
    y_score: Any = None,
    *,
    method: str = "bayesian_bootstrap",
    transform: str | None = None,
    fpr: tuple[float, float] | None = None,
    recall: tuple[float, float] | None = None,
    standardized: bool = False,
    multi_class: str | None = None,
    average: str | None = "macro",
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Marginal:
    """Return the posterior of the area under the ROC curve: the probability that a positive scores above a negative.

    Ties count half. Compare systems tested on the same examples by ``compare(roc_auc(y_true, {"a": score_a, "b":
    score_b}))``, and two tested on different examples by ``compare(roc_auc(y_a, score_a), roc_auc(y_b, score_b))``.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels of two classes, or more with `multi_class`. Or binned scores, for "bayesian_bootstrap" or "delong".
    y_score : array-like (n,) or (n, K), mapping or data frame
        Scores; higher means positive. With `multi_class`, a column of probabilities a class. A mapping names systems.
    method : {"bayesian_bootstrap", "delong", "binormal", "pairs"}
        "bayesian_bootstrap" assumes nothing about the scores: Dirichlet(1) weights in each class, and half an unseen
        example (or cluster) with a uniform rank (Ferguson 1973). "delong": normal, with DeLong's variance, and clipped
        to [0, 1]. "binormal": the model ``binormal_roc``. "pairs" treats pairs as independent; they are not.
    transform : {None, "logit"}
        For "delong": "logit" treats the log-odds of the area as normal, which covers better near 1.
    fpr, recall : (low, high), optional
        A part of the curve: the area below it between two false positive rates, or beside it between two recalls.
    standardized : bool
        Whether the area of a part is rescaled so that chance is ½ and the largest possible area 1 (McClish 1989).
    multi_class : {None, "ovr", "ovo"}
        For more than two classes: each against the rest, or each pair of classes (Hand & Till 2001).
    average : {"macro", "weighted", None}
        With `multi_class`, the mean by equal weights or by frequencies; None returns the area of each class, for "ovr".
    labels : sequence (K,), optional
        With `multi_class`, the classes in the order of the columns; by default sorted.
    cluster : array-like (n,) or mapping, optional
        The cluster (patient, site) of each example, optionally named as ``{"patient": ids}``; the first of nested ones
        counts. A cluster has one weight, as in `bayesperf.pool`; with "delong" the variance is Obuchowski's (1997).
    pos_label, draws, random_seed, progressbar
        As in `roc_curve`.

    Returns
    -------
    Marginal
        A marginal over ``label`` for all classes and ``model`` for systems, whose areas are joint.

    Raises
    ------
    TypeError, ValueError
        If options contradict each other, scores are missing, or a class has too few examples or clusters.

    Warns
    -----
    DependenceWarning, UserWarning
        For "pairs" and for fewer than 20 clusters; if the interval has no width, or scores are shown not to be normal.

    Notes
    -----
    The unseen example pulls the mean a little towards ½. Beyond 10,000 examples neighbouring scores share 1,024 bins,
    and examples of several systems share 2,000 groups in a class. docs/coverage.md shows how often intervals cover.
    DeLong's p-value for two systems is 2 min(p, 1 − p), with p their ``prob_greater`` by "delong".

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7]
    >>> bp.roc_auc(y_true, y_score).eti().values.round(2)
    array([0.36, 0.94])
    """
    checks.one_of("method", method, tuple(INFERENCES))
    if transform is not None and (method, transform) != ("delong", "logit"):
        raise InputError("transform", f"may be 'logit', of method='delong'; it is {transform!r} of {method!r}.")
    draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    part = part_of_curve(fpr, recall, standardized)
    systems = _systems(y_score, multi_class)
    if multi_class is not None or any(map(has_columns, systems.values())):
        refuse_for_classes(method, part, pos_label)
        named = {name_of_scores(name): scores for name, scores in systems.items()}
        classes = ClassAreas.of(y_true, named, multi_class, average, labels, cluster)
        classes.refuse_slow(draws)
        return _areas_of_classes(classes, systems, draws, _own_seed(seed, classes.contents), progressbar)
    refuse_options_of_classes(labels, average)
    for what, given, methods in (
        ("of binned scores", isinstance(y_true, BinnedScores), tuple(OF_CLUSTERS)),
        ("of clusters", cluster is not None, tuple(OF_CLUSTERS)),
        ("of several systems", have_names(systems), tuple(OF_CLUSTERS)),
        ("of a part of the curve", part is not None, ("bayesian_bootstrap",)),
    ):
        if given:
            checks.one_of(f"method, {what},", method, methods)
    if have_names(systems) and transform is not None:
        raise InputError("transform", "it is of one system alone.", "Compare systems without `transform`.")
    parts = system_scores(y_true, y_score, pos_label, cluster)
    if have_names(systems) and method == "bayesian_bootstrap":
        _refuse_slow(parts, part, draws)
    plain = "delong_logit" if transform else method
    return _areas_of_systems(parts, plain, part, draws, seed, progressbar)


def _refuse_slow(systems: Mapping[Any, Examples | BinnedScores], part: PartOfCurve | None, draws: int) -> None:
    """Refuse draws of the areas of so many systems that they would take minutes, or more memory than there is."""
    number, examples = len(systems), sum(scores_by_class(next(iter(systems.values()))).class_totals)
    checks.draws_in_memory(draws, 2 * number, f"the areas of {number:,} systems", "Give fewer systems.")
    # Beyond 10,000 examples their scores share bins.
    weights = min(examples, 10_000) + examples // 5
    most = (_MOST_WEIGHTS if part is None else _MOST_OF_PARTS) // (number * weights)
    refuse_slow(draws, most, number, examples)


def _systems(y_score: Any, multi_class: str | None) -> dict[Any, Any]:
    """Return the scores of each system by name, of which one without a name may be a mapping of its classes."""
    if multi_class is None or (isinstance(y_score, Mapping) and any(map(has_columns, y_score.values()))):
        return systems_of(y_score)
    return {NAMELESS: y_score}


def _areas_of_classes(
    classes: ClassAreas, systems: Mapping[Any, Any], draws: int, seed: int, progressbar: bool
) -> Marginal:
    """Return the areas of classes, or their average; of several systems by one set of weights."""
    values = classes.drawn(draws, np.random.default_rng(seed), progressbar)
    dims = {} if classes.average else {"label": list(classes.labels)}
    dims |= {MODEL: list(systems)} if have_names(systems) else {}
    leading = xr.DataArray(np.zeros([len(names) for names in dims.values()]), dims, list(dims))
    observed = np.moveaxis(classes.observed(), 0, -1).reshape(leading.shape)
    return marginal_of_scores(
        classes.quantity,
        values,
        seed,
        leading,
        inference=bootstrap_of(classes.cluster),
        examples=classes.class_totals,
        score=leading.copy(data=observed),
        joint=have_names(systems),
    )


def _areas_of_systems(
    parts: Mapping[Any, Examples | BinnedScores],
    method: str,
    part: PartOfCurve | None,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the area of one system, or the joint areas of several along ``model``, or of parts of their curves."""
    systems, scores, joint = list(parts.values()), list(map(scores_by_class, parts.values())), have_names(parts)
    contents, codes = _contents(systems, joint)
    seed = _own_seed(seed, contents)
    areas: Array | Distribution
    if part is not None:
        curves = (paired_curves if joint else curves_of_systems)(systems, draws, seed, progressbar)
        areas = np.stack([of_system.areas(part) for of_system in curves])
    else:
        rng = np.random.default_rng(seed)
        options: dict[str, Any] = {"draws": draws, "rng": rng, "progressbar": progressbar, "cluster": codes}
        areas = _joint_areas(parts, method, **options) if joint else AREAS[method](scores[0], **options)
    leading = over_systems(parts)
    plain, error = method.removesuffix("_logit"), 0.0
    if part is None and isinstance(systems[0], BinnedScores):
        error = systems[0].binning_error
    area = marginal_of_scores(
        QUANTITY if part is None else part.quantity,
        areas,
        seed,
        leading,
        inference=_inference(plain, codes, error),
        examples=scores[0].class_totals,
        score=leading.copy(data=np.reshape([_observed(each, part) for each in scores], leading.shape)),
        joint=joint,
    )
    if part is None and not joint:
        _warn(area, scores[0], plain)
    return area


def _contents(systems: Sequence[Examples | BinnedScores], joint: bool) -> tuple[Array, Codes | None]:
    """Return the figures that tell scores from others, and the clusters of the examples, positives first, if any.

    Those of one system are in the order of its scores.
    """
    first = systems[0]
    if isinstance(first, BinnedScores):
        return np.concatenate([first.thresholds, *first.counts]), None
    if joint:
        contents, codes = np.hstack(stacked(systems)), first.cluster_by_class
    else:
        contents = np.concatenate([first.scores.positive, first.scores.negative])[None]
        codes = None if first.cluster is None else np.concatenate(first.clusters_by_score)
    return contents if codes is None else np.vstack([contents, codes]), codes


def _own_seed(seed: int, scores: Array) -> int:
    """Return a seed for these scores, so that under one seed the areas of other scores have other random numbers."""
    return int(streams(seed, NAME, NO_DIMS, [scores])[0].integers(2**63))


def _observed(scores: Scores | BinnedScores, part: PartOfCurve | None) -> float:
    """Return the area under the observed curve, or under a part of it: straight between thresholds."""
    if part is not None:
        return float(observed_curve(scores).areas(part)[0])
    if isinstance(scores, BinnedScores):
        return float(scores.counts[0] @ twice_below_each(scores.counts[1])) / (2 * np.prod(scores.class_totals))
    return observed_area(scores.positive, scores.negative)


def _inference(method: str, cluster: Codes | None, binning_error: float = 0) -> str:
    """Return how the distribution is called, and by how much bins may have it off."""
    inference = (INFERENCES if cluster is None else OF_CLUSTERS)[method]
    return f"{inference} (off by at most {binning_error:.2g} by bins)" if binning_error else inference


def _warn(auc: Marginal, scores: Scores | BinnedScores, method: str) -> None:
    """Warn of a posterior that is not to be trusted."""
    if method == "pairs":
        _warn_of_pairs("bayesian_bootstrap")
    if auc.sd() == 0:
        what, advice = (
            ("are the same for all examples", "other examples may get others")
            if auc.mean() == 0.5
            else ("separate the classes", "more of them may overlap, with which method='binormal' reckons")
        )
        warn(
            UserWarning,
            "BP701",
            f"y_score: the scores {what}, so the interval by method={method!r} has no width. That is no certainty: "
            f"{advice}.",
        )
    if method == "binormal" and _mean_and_sd(scores)[1] > 0:
        # On the scale of log-odds: near 1 the plain interval is too short to judge by.
        median, (lower, upper) = auc.median().item(), _by_delong_logit(scores).ppf(np.array([[0.025, 0.975]]))[0]
        if not lower <= median <= upper:
            warn(
                UserWarning,
                "BP702",
                f"method='binormal': the median, {median:.3f}, is outside DeLong's 95 % interval from {lower:.3f} to "
                f"{upper:.3f}, so the scores are not normal in both classes. Transform them (probabilities to their "
                "log-odds), or take method='bayesian_bootstrap'.",
            )


def _warn_of_pairs(instead: str) -> None:
    warn(
        DependenceWarning,
        "BP107",
        "method='pairs': pairs that share an example depend on each other, so this posterior is far too narrow: "
        f"95 % intervals cover in 40 % of data sets or fewer. Take method={instead!r}.",
    )


def _joint_areas(
    systems: Mapping[Any, Examples | BinnedScores],
    method: str,
    *,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool,
    cluster: Codes | None,
) -> Array | Distribution:
    """Return the joint areas of systems on the same examples."""
    positive, negative = stacked(systems.values())
    if method == "bayesian_bootstrap":
        return bootstrapped(positive, negative, cluster, draws, rng, progressbar)
    placements = Placements.of(positive, negative, cluster)
    _warn_of_separated(list(systems), placements)
    return JointNormal.of(placements.mean, placements.covariance, BOUNDS)


def _warn_of_separated(systems: Sequence[Any], placements: Placements) -> None:
    """Warn of systems whose areas DeLong's variance takes for certain."""
    if separating := [name for name, area in zip(systems, placements.mean, strict=True) if area in (0, 1)]:
        warn(
            UserWarning,
            "BP701",
            f"method='delong': scores that separate the classes, of {listed(separating)}, have an area with a variance "
            "of 0. That is no certainty: more examples may overlap. Take method='bayesian_bootstrap'.",
        )


# ── Methods ──


def _by_bootstrap(
    scores: Scores | BinnedScores,
    *,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool,
    cluster: Codes | None = None,
) -> Distribution:
    if isinstance(scores, BinnedScores):
        return _draws(area_draws_of_counts(scores.counts, draws, rng, progressbar)[None])
    return _draws(bootstrapped(scores.positive[None], scores.negative[None], cluster, draws, rng, progressbar))


def _draws(areas: Array) -> Draws:
    return Draws(areas[:, None], BOUNDS)


def _by_delong(scores: Scores | BinnedScores, *, cluster: Codes | None = None, **_: Any) -> Distribution:
    mean, sd = _mean_and_sd(scores, cluster)
    return Normal(mean[:, None], sd[:, None], BOUNDS)


def _by_delong_logit(scores: Scores | BinnedScores, *, cluster: Codes | None = None, **_: Any) -> Distribution:
    mean, sd = (figure[:, None] for figure in _mean_and_sd(scores, cluster))
    if not sd.all():
        raise InputError(
            "",
            f"transform='logit': the area is {mean.item():g} with a variance of 0, by scores that "
            "separate the classes or are all the same.",
            "Take method='binormal'.",
        )
    return LogitNormal(special.logit(mean), sd / (mean * (1 - mean)))


def _mean_and_sd(scores: Scores | BinnedScores, cluster: Codes | None = None) -> tuple[Array, Array]:
    """Return the area and its standard error by DeLong, or of clusters by Obuchowski, (1,) each."""
    if isinstance(scores, BinnedScores):
        return mean_and_sd_of_counts(scores.counts)
    placed = Placements.of(scores.positive[None], scores.negative[None], cluster)
    return placed.mean, placed.sd


def _by_binormal(scores: Scores, *, draws: int, rng: np.random.Generator, **_: Any) -> Distribution:
    from bayesperf.models import binormal_roc

    return _draws(binormal_roc.exact(by_class(scores), None, [rng], (1, draws))["auc"].values)


def _by_pairs(scores: Scores, **_: Any) -> Distribution:
    won = twice_below(scores.positive, scores.negative).sum().reshape(1, 1) / 2
    return Beta(1 + won, 1 + len(scores.positive) * len(scores.negative) - won)


# From scores, and by name the number of draws, their stream `rng`, whether to show progress and the clusters of
# examples, positives first, to the distribution of the area.
AREAS: dict[str, Callable[..., Distribution]] = {
    "bayesian_bootstrap": _by_bootstrap,
    "delong": _by_delong,
    "delong_logit": _by_delong_logit,
    "binormal": _by_binormal,
    "pairs": _by_pairs,
}

# ── Of a report ──


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
    """Return the distribution of an area under the ROC curve from the figures in a report.

    If you have the scores, `roc_auc` says more.

    Parameters
    ----------
    auc : float, array-like or xarray.DataArray
        The observed area, from 0 to 1.
    n_pos, n_neg : int, array-like or xarray.DataArray
        Numbers of positive and of negative examples. They broadcast against each other and the areas.
    method : {"newcombe", "hanley_mcneil", "pairs"}
        "newcombe" inverts a score test, so intervals stay inside [0, 1], and have a width at areas of 0 and 1.
        "hanley_mcneil" is normal with the variance of these authors; its intervals are clipped to [0, 1]. "pairs"
        treats the pairs of a positive and a negative as independent trials, which they are not: see `roc_auc`.
    dims : sequence of str or mapping, optional
        Names of the axes of arrays, or a mapping of names to their coordinates.
    random_seed : int or numpy.random.Generator
        Seed of its draws.

    Raises
    ------
    ValueError
        If an area is outside [0, 1], or a class has no example.

    Warns
    -----
    DependenceWarning, UserWarning
        For "pairs"; for "hanley_mcneil", if an area is 0 or 1: the interval then has no width.

    Notes
    -----
    With A the area, n and m the numbers of examples, Q1 = A/(2 − A) and Q2 = 2A²/(1 + A), the variance of Hanley &
    McNeil (1982, Radiology 143) is (A(1 − A) + (n − 1)(Q1 − A²) + (m − 1)(Q2 − A²))/(nm). Q1 and Q2 hold for
    exponential scores, a convention: no report of an area says how the scores are distributed. Newcombe's method 5
    (2006, Statistics in Medicine 25) replaces n and m in its numerator by (n + m)/2, and solves ``|A − observed| = z
    s(A)`` for A, with the standard error at A. docs/coverage.md shows how often intervals cover.

    Examples
    --------
    >>> import bayesperf as bp
    >>> reports = bp.curves.auc_from_summary([0.8, 1], [40, 12], [60, 30], dims={"study": ["A", "B"]})
    >>> reports.eti().sel(study="B").values.round(3)
    array([0.882, 1.   ])
    """
    of_summary = METHODS[checks.one_of("method", method, METHODS)]
    areas, positives, negatives = labelled_arrays({"auc": auc, "n_pos": n_pos, "n_neg": n_neg}, dims)
    _check(areas, positives, negatives)
    observed, positive, negative = (np.asarray(part, float).reshape(-1, 1) for part in (areas, positives, negatives))
    distribution, inference = of_summary(observed, positive, negative)
    if method == "pairs":
        _warn_of_pairs("newcombe")
    if isinstance(distribution, Normal) and not distribution.scale.all():
        warn(
            UserWarning,
            "BP701",
            "auc: by method='hanley_mcneil' an area of 0 or 1 has a variance of 0. That is no certainty: more examples "
            "may overlap. Take method='newcombe'.",
        )
    seed = _own_seed(checks.seed(random_seed), np.hstack([observed, positive, negative]))
    examples = xr.concat([negatives, positives], "actual")
    return marginal_of_scores(QUANTITY, distribution, seed, areas, inference=inference, examples=examples, score=areas)


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


def _newcombe(observed: Array, positive: Array, negative: Array) -> tuple[Distribution, str]:
    return AreaByScore(observed, positive, negative), "Newcombe's posterior"


def _hanley_mcneil(observed: Array, positive: Array, negative: Array) -> tuple[Distribution, str]:
    sd = np.sqrt(np.maximum(hanley_mcneil_variance(observed, positive, negative), 0))
    return Normal(observed, sd, BOUNDS), "Hanley & McNeil's normal approximation"


def _pairs(observed: Array, positive: Array, negative: Array) -> tuple[Distribution, str]:
    pairs = positive * negative
    return Beta(1 + observed * pairs, 1 + (1 - observed) * pairs), INFERENCES["pairs"]


METHODS: dict[str, Callable[[Array, Array, Array], tuple[Distribution, str]]] = {
    "newcombe": _newcombe,
    "hanley_mcneil": _hanley_mcneil,
    "pairs": _pairs,
}
