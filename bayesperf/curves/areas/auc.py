"""The area under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.errors import DependenceWarning, InputError, warn
from bayesperf.core.words import listed
from bayesperf.curves.areas.area_marginals import INFERENCES, NAME, OF_CLUSTERS, area_marginal, own_seed
from bayesperf.curves.areas.areas_of_classes import ClassAreas, refuse_for_classes, refuse_options_of_classes
from bayesperf.curves.areas.bootstrapped_areas import (
    area_draws_of_counts,
    bootstrapped,
    drawn,
    observed_area,
    twice_below,
    twice_below_each,
)
from bayesperf.curves.areas.delong import Placements, mean_and_sd_of_counts
from bayesperf.curves.areas.partial_areas import PARTIAL_NAME, PartOfCurve, part_of_curve, partial_area_draws
from bayesperf.curves.clustered_scores import bootstrap_of, clusters_by_class, clusters_by_score
from bayesperf.curves.curve_marginals import DIM, examples_of, marginal_of_draws, over_systems, systems_of
from bayesperf.curves.roc.curve_draws import Observed, partial_areas
from bayesperf.data.binned_scores import BinnedScores, scores_of
from bayesperf.data.classifier_scores import Scores, by_class, has_columns, positives
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.normal import JointNormal, LogitNormal, Normal
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS

__all__ = ["roc_auc"]

# Clusters of the positives and of the negatives, in the order of their scores.
Clusters = tuple[Codes, Codes] | None


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

    Ties count half. Systems judged on the same examples are compared by ``compare(roc_auc(y_true, {"a": score_a, "b":
    score_b}))``, two that were judged on different ones by ``compare(roc_auc(y_a, score_a), roc_auc(y_b, score_b))``.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels of two classes; with `multi_class`, of any number. Binned scores stand in the place of labels and scores,
        for "bayesian_bootstrap" and "delong"; their `BinnedScores.binning_error` says by how much the area may be off
        for it.
    y_score : array-like (n,) or (n, K), mapping or data frame
        Scores; more means positive. With `multi_class` probabilities, a column a class, or a frame or mapping from
        classes to columns. A mapping from names of systems to what each gives the examples (a frame, too, if there is
        no `multi_class`) has the areas of all these systems together.
    method : {"bayesian_bootstrap", "delong", "binormal", "pairs"}
        For several systems one of the first two. "bayesian_bootstrap" assumes nothing of the scores: Dirichlet(1)
        weights in each class, beside half an example that was not seen. "delong" is the normal with DeLong's variance,
        its intervals clipped to [0, 1]. "binormal" assumes that scores are normal in either class: the model
        ``binormal_roc`` with its default priors, drawn from its closed form. "pairs" takes the pairs of a positive and
        a negative for independent trials, which they are not.
    transform : {None, "logit"}
        Of "delong" alone: "logit" takes the log-odds of the area for normal, which covers better near 1.
    fpr, recall : (low, high), optional
        A part of the curve, of "bayesian_bootstrap": the area below it between two false positive rates, or to the
        right of it between two recalls.
    standardized : bool
        Whether the area of a part is put on a scale on which that by chance is ½ and the greatest possible 1, as
        scikit-learn has it for ``max_fpr`` (McClish 1989).
    multi_class : {None, "ovr", "ovo"}
        For more than two classes, of "bayesian_bootstrap", as in scikit-learn: each class against the rest, or each
        pair of classes, by the columns of both (Hand & Till 2001).
    average : {"macro", "weighted", None}
        With `multi_class`, the mean over classes or pairs: by equal weights, or by how frequent they are in the
        population, which the draws vary. None has the area of each class along dim ``label``, of "ovr".
    labels : sequence (K,), optional
        With `multi_class`, the classes in the order of the columns; by default sorted.
    pos_label : label, optional
        The positive class, where the labels do not say.
    cluster : array-like (n,) or mapping, optional
        The cluster (patient, site, image) of each example, named as ``{"patient": ids}`` if you like; of clusters
        within clusters, ``{"hospital": ids, "patient": ids}``, the first are those that count. By "bayesian_bootstrap"
        a cluster has one weight, Gamma((G − 2)/G) of G; by "delong" the variance is that of Obuchowski (1997).
    draws : int
        Of "bayesian_bootstrap" and "binormal".
    random_seed : int or numpy.random.Generator
        Seed of the draws.
    progressbar : bool
        Shown on a terminal only, and if it takes long.

    Returns
    -------
    Marginal
        With dim ``label`` where the areas of all classes are asked for, and dim ``model`` for a mapping of systems,
        whose areas are then joint: one set of weights for all systems, or DeLong's covariances.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given beside binned scores; if options do not go together.
    ValueError
        If there are not two classes; of "delong" and "binormal", if one has a single example; if scores are missing,
        or for "binormal" infinite; if a method needs the scores that bins hide, or has no such area; if there are fewer
        than three clusters, or a class is in one alone; with `multi_class`, if columns and classes are not the same in
        number, or rows do not sum to 1.

    Warns
    -----
    DependenceWarning
        Of "pairs": its 95 % intervals cover in 20 to 40 % of data sets of 30 to 100 examples of either class, in fewer
        of more. If there are fewer than 20 clusters.
    UserWarning
        If the scores are all the same or, of "delong", separate the classes: the interval then has no width. Of
        "binormal", if its median is outside DeLong's 95 % interval (of the log-odds): then the scores are not normal.

    Notes
    -----
    The bootstrap has half an example (or half a cluster) of each class that was not seen, and whose rank is uniform: a
    Dirichlet process with a base instead of none (Ferguson 1973). The mean is therefore a little nearer to ½ than the
    observed area, and scores that separate the classes have an interval of some width. The areas of an average share
    one such half; of several systems one that orders the examples in its own way ranks it in its own way, and it weighs
    the same for all. If there are more than 10,000 examples, scores next to each other are put together in 1,024 bins,
    and the examples of several systems or classes in 2,000 groups of a class at random.

    docs/coverage.md says how often intervals cover (``validation/areas.py``, ``clustered_areas.py`` and
    ``class_areas.py`` simulate it), and `Marginal.in_words` where one is too narrow. Pairs of a positive and a negative
    come from the same cluster or from two; with several classes one set of weights is of all examples, and areas of
    classes belong together.

    Areas of parts are those of curves that are smooth between and beyond the scores, as bands are; each system's beyond
    its scores by weights of its own, so that differences err on the wide side.

    DeLong's test compares areas by "delong": z is ``difference.mean() / difference.sd()``, and the two-sided p-value
    2 min(p, 1 − p) with p the ``prob_greater``. Systems that order the examples alike differ by 0 for certain:
    ``prob_greater`` is ½ and the p-value 1. Draws of joint areas are not clipped to [0, 1], so that their differences
    are normal.

    References
    ----------
    Ferguson (1973), A Bayesian analysis of some nonparametric problems, Annals of Statistics 1. Hand & Till (2001), A
    simple generalisation of the area under the ROC curve for multiple class classification problems, Machine Learning
    45. McClish (1989), Analyzing a portion of the ROC curve, Medical Decision Making 9. Obuchowski (1997),
    Nonparametric analysis of clustered ROC curve data, Biometrics 53.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7]
    >>> auc = bp.roc_auc(y_true, y_score)
    >>> auc.mean().round(2).item(), auc.eti().values.round(2)
    (0.7, array([0.36, 0.94]))
    >>> bp.roc_auc(y_true, y_score, method="delong", transform="logit").eti().values.round(2)
    array([0.26, 0.96])
    >>> bp.roc_auc(y_true, y_score, fpr=(0, 0.5), standardized=True).mean().round(2).item()
    0.69

    Three systems judged on the same examples, compared:

    >>> frame = bp.datasets.load("breast_cancer")
    >>> scores = frame.pivot(index="example", columns="model", values="score")
    >>> actual = frame.drop_duplicates("example").sort_values("example")["actual"]
    >>> areas = bp.roc_auc(actual, scores, method="delong", pos_label="malignant")
    >>> bp.compare(areas).prob_greater.sel(model="logistic_regression", model_other="naive_bayes").round(4).item()
    0.9999
    """
    checks.one_of("method", method, tuple(INFERENCES))
    if transform is not None and (method, transform) != ("delong", "logit"):
        raise InputError("transform", f"may be 'logit', of method='delong'; it is {transform!r} of {method!r}.")
    draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    part = part_of_curve(fpr, recall, standardized)
    systems = _systems(y_score, multi_class)
    if multi_class is not None or any(map(has_columns, [y_score] if systems is None else systems.values())):
        refuse_for_classes(method, part, pos_label)
        named = {"y_score": y_score} if systems is None else {f"score of {name!r}": s for name, s in systems.items()}
        classes = ClassAreas.of(y_true, named, multi_class, average, labels, cluster)
        return _of_classes(classes, systems, draws, own_seed(seed, classes.contents), progressbar)
    refuse_options_of_classes(labels, average)
    for what, given, methods in (
        ("of binned scores", isinstance(y_true, BinnedScores), tuple(OF_CLUSTERS)),
        ("of clusters", cluster is not None, tuple(OF_CLUSTERS)),
        ("of several systems", systems is not None, tuple(OF_CLUSTERS)),
        ("of a part of the curve", part is not None, ("bayesian_bootstrap",)),
    ):
        if given:
            checks.one_of(f"method, {what},", method, methods)
    if systems is None:
        scores = scores_of(y_true, y_score, pos_label)
        clusters = clusters_by_score(cluster, y_true, y_score, pos_label)
        return _of_one(scores, clusters, method, transform, part, draws, seed, progressbar)
    if transform is not None:
        raise InputError("transform", "it is of one system alone.", "Compare systems without `transform`.")
    return _of_systems(y_true, systems, method, part, pos_label, cluster, draws, seed, progressbar)


def _systems(y_score: Any, multi_class: str | None) -> dict[Any, Any] | None:
    """Return the scores of each system by name; None for one system, of which a mapping may hold the classes."""
    systems = systems_of(y_score)
    if multi_class is None or systems is None:
        return systems
    by_system = isinstance(y_score, Mapping) and any(map(has_columns, systems.values()))
    return systems if by_system else None


def _of_classes(
    classes: ClassAreas, systems: Mapping[Any, Any] | None, draws: int, seed: int, progressbar: bool
) -> Marginal:
    """Return the areas of classes, or their average; of several systems by one set of weights."""
    values = classes.drawn(draws, np.random.default_rng(seed), progressbar)
    dims = {} if classes.average else {"label": list(classes.labels)}
    dims |= {} if systems is None else {DIM: list(systems)}
    leading = xr.DataArray(np.zeros([len(names) for names in dims.values()]), dims, list(dims))
    return marginal_of_draws(
        classes.quantity,
        values,
        leading,
        seed,
        classes.inference,
        examples=examples_of(classes.class_totals),
        score=_observed_of_classes(classes, leading),
        joint=systems is not None,
    )


def _of_one(
    scores: Scores | BinnedScores,
    clusters: Clusters,
    method: str,
    transform: str | None,
    part: PartOfCurve | None,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the area of one system, or of a part of its curve."""
    seed = own_seed(seed, _contents(scores, clusters))
    if part is not None:
        return _partial(scores, clusters, part, draws, seed, progressbar)
    distribution = AREAS["delong_logit" if transform else method]
    rng = np.random.default_rng(seed)
    areas = distribution(scores, draws=draws, rng=rng, progressbar=progressbar, clusters=clusters)
    auc = area_marginal(
        areas,
        seed,
        _inference(scores, method, clusters is not None),
        examples=examples_of(scores.class_totals),
        score=_observed(scores),
    )
    _warn(auc, scores, method)
    return auc


def _partial(
    scores: Scores | BinnedScores,
    clusters: Clusters,
    part: PartOfCurve,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the area of a part of the curve."""
    values = partial_areas(scores, clusters, part, draws, seed, progressbar)
    return marginal_of_draws(
        part.quantity,
        values,
        xr.DataArray(0.0),
        seed,
        bootstrap_of(clusters),
        examples=examples_of(scores.class_totals),
        score=_observed_part(scores, part),
    )


def _observed(scores: Scores | BinnedScores) -> xr.DataArray:
    """Return the area under the observed curve: the share of pairs in the right order, ties counted half."""
    if isinstance(scores, BinnedScores):
        twice = scores.counts[0] @ twice_below_each(scores.counts[1])
        return xr.DataArray(float(twice) / (2 * np.prod(scores.class_totals)), name=NAME)
    return xr.DataArray(observed_area(scores.positive, scores.negative), name=NAME)


def _observed_part(scores: Scores | BinnedScores, part: PartOfCurve) -> xr.DataArray:
    """Return the area of a part of the observed curve."""
    return xr.DataArray(Observed(scores).areas(part)[0], name=PARTIAL_NAME)


def _observed_of_classes(classes: ClassAreas, leading: xr.DataArray) -> xr.DataArray:
    """Return the areas of classes, or their average, by the examples themselves."""
    areas = np.moveaxis(classes.observed(), 0, -1)
    return leading.copy(data=areas.reshape(leading.shape)).rename(classes.name)


def _inference(scores: Scores | BinnedScores, method: str, clustered: bool) -> str:
    """Return how the distribution is called, and by how much bins may have it off."""
    error = scores.binning_error if isinstance(scores, BinnedScores) else 0
    inference = (OF_CLUSTERS if clustered else INFERENCES)[method]
    return f"{inference} (off by at most {error:.2g} by bins)" if error else inference


def _contents(scores: Scores | BinnedScores, clusters: Clusters) -> Array:
    """Return the figures that tell scores from others."""
    if isinstance(scores, BinnedScores):
        return np.concatenate([scores.thresholds, *scores.counts])
    return np.concatenate([scores.positive, scores.negative, *(clusters or ())])


def _warn(auc: Marginal, scores: Scores | BinnedScores, method: str) -> None:
    """Warn of a posterior that is not to be trusted."""
    if method == "pairs":
        warn(
            DependenceWarning,
            "BP107",
            "method='pairs': pairs that share an example depend on each other, so this posterior is far too narrow: "
            "95 % intervals cover in 40 % of data sets or fewer. Take method='bayesian_bootstrap'.",
        )
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


# ── Systems on the same examples ──


def _of_systems(
    y_true: Any,
    systems: Mapping[Any, Any],
    method: str,
    part: PartOfCurve | None,
    pos_label: Any,
    cluster: Any,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the joint areas of systems, or parts of them, along ``model``."""
    is_positive = positives(y_true, pos_label)
    positive, negative = _scores_by_class(is_positive, systems)
    codes = clusters_by_class(cluster, is_positive, "y_true")
    contents = np.concatenate([positive, negative], 1)
    seed = own_seed(seed, contents if codes is None else np.vstack([contents, codes]))
    leading, examples = over_systems(systems), examples_of((negative.shape[1], positive.shape[1]))
    score = _observed_of_systems(positive, negative, part, leading)
    rng = np.random.default_rng(seed)
    if part is not None:
        values = partial_area_draws(positive, negative, part, codes, draws, rng, progressbar)
        inference = bootstrap_of(codes)
        return marginal_of_draws(part.quantity, values, leading, seed, inference, examples, score, joint=True)
    if method == "delong":
        placements = Placements.of(positive, negative, codes)
        _warn_of_separated(list(systems), placements)
        areas: Distribution = JointNormal.of(placements.mean, placements.covariance, (0.0, 1.0))
    else:
        areas = bootstrapped(positive, negative, codes, draws, rng, progressbar)
    inference = (INFERENCES if codes is None else OF_CLUSTERS)[method]
    return area_marginal(areas, seed, inference, leading, examples, score, joint=True)


def _scores_by_class(is_positive: Booleans, systems: Mapping[Any, Any]) -> tuple[Array, Array]:
    """Return the scores of the positive and of the negative examples, (S, n) and (S, m), in one order for all."""
    checked = {f"score of {name!r}": checks.vector(f"score of {name!r}", scores) for name, scores in systems.items()}
    checks.equal_lengths({"y_true": len(is_positive)} | {name: len(scores) for name, scores in checked.items()})
    scores = np.stack(list(checked.values()))
    return scores[:, is_positive], scores[:, ~is_positive]


def _observed_of_systems(
    positive: Array, negative: Array, part: PartOfCurve | None, leading: xr.DataArray
) -> xr.DataArray:
    """Return the area under the observed curve of each system, or of a part of it."""
    pairs = list(zip(np.sort(positive), np.sort(negative), strict=True))
    if part is None:
        return leading.copy(data=[observed_area(*pair) for pair in pairs]).rename(NAME)
    return leading.copy(data=[Observed(Scores(*pair)).areas(part)[0] for pair in pairs]).rename(PARTIAL_NAME)


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
    clusters: Clusters = None,
) -> Distribution:
    if isinstance(scores, BinnedScores):
        return drawn(area_draws_of_counts(scores.counts, draws, rng, progressbar)[None])
    cluster = None if clusters is None else np.concatenate(clusters)
    return bootstrapped(scores.positive[None], scores.negative[None], cluster, draws, rng, progressbar)


def _by_delong(scores: Scores | BinnedScores, *, clusters: Clusters = None, **_: Any) -> Distribution:
    mean, sd = _mean_and_sd(scores, clusters)
    return Normal(mean[:, None], sd[:, None], (0.0, 1.0))


def _by_delong_logit(scores: Scores | BinnedScores, *, clusters: Clusters = None, **_: Any) -> Distribution:
    mean, sd = (figure[:, None] for figure in _mean_and_sd(scores, clusters))
    if not sd.all():
        raise InputError(
            "",
            f"transform='logit': the area is {mean.item():g} with a variance of 0, by scores that "
            "separate the classes or are all the same.",
            "Take method='binormal'.",
        )
    return LogitNormal(special.logit(mean), sd / (mean * (1 - mean)))


def _mean_and_sd(scores: Scores | BinnedScores, clusters: Clusters = None) -> tuple[Array, Array]:
    """Return the area and its standard error by DeLong, or of clusters by Obuchowski, (1,) each."""
    if isinstance(scores, BinnedScores):
        return mean_and_sd_of_counts(scores.counts)
    cluster = None if clusters is None else np.concatenate(clusters)
    placed = Placements.of(scores.positive[None], scores.negative[None], cluster)
    return placed.mean, placed.sd


def _by_binormal(scores: Scores, *, draws: int, rng: np.random.Generator, **_: Any) -> Distribution:
    from bayesperf.models import binormal_roc

    return drawn(binormal_roc.exact(by_class(scores), None, [rng], (1, draws))["auc"].values)


def _by_pairs(scores: Scores, **_: Any) -> Distribution:
    won = twice_below(scores.positive, scores.negative).sum().reshape(1, 1) / 2
    return Beta(1 + won, 1 + len(scores.positive) * len(scores.negative) - won)


# From scores, and by name the number of draws, their stream `rng`, whether to show progress and clusters of the
# positives and negatives, to the distribution of the area.
AREAS: dict[str, Callable[..., Distribution]] = {
    "bayesian_bootstrap": _by_bootstrap,
    "delong": _by_delong,
    "delong_logit": _by_delong_logit,
    "binormal": _by_binormal,
    "pairs": _by_pairs,
}
