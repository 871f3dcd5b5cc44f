"""Comparing systems: is one better than another, by how much, and would it matter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import xarray as xr

from bayesperf import prior as priors
from bayesperf.comparison.result import Comparison
from bayesperf.comparison.several_datasets import compare_scores
from bayesperf.comparison.system_pair import (
    SystemPair,
    against_rule,
    exact_difference,
    joint_draws,
    pairs_along,
    system_name,
    without_own_coordinates,
)
from bayesperf.core import checks
from bayesperf.core.warnings import DependenceWarning
from bayesperf.counts.joint_outcomes import JointOutcomes, same_examples
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.counts.paired import PairedConfusionMatrix
from bayesperf.distributions.differences import discordant
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.posteriors.joint_systems import discordant_weights, joint_posterior
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS, Posterior, SampledPosterior

__all__ = ["Comparison", "compare", "compare_predictions"]

# What figures of a comparison are called along their last dim, and columns of its summary.
_RESERVED = ("pair", "rope", "rank", "a", "b")


def compare(
    a: Any,
    b: Any = None,
    metric: str | Metric | None = None,
    *,
    dim: str = "model",
    rope: float = 0.0,
    prior: str | priors.Prior | None = None,
    draws: int | None = None,
    random_seed: Any = 0,
    **options: Any,
) -> Comparison:
    """Compare systems: the difference of a metric, a − b, and the probabilities that follow from it.

    Parameters
    ----------
    a : Posterior, DataTree, PairedConfusionMatrix, ConfusionMatrix or DataArray
        One of two systems; or, with `b` left out, all of them along `dim`. Counts are of systems judged on the same
        examples: a PairedConfusionMatrix, or ``ConfusionMatrix.from_predictions(..., example=ids)``. Posteriors are of
        systems judged apart. A DataArray holds cross-validated scores (dataset, model, fold), for ``dim="dataset"``.
    b : Posterior, DataTree or {"chance", "majority"}, optional
        The other system: a posterior over the same leading dims, or a rule that has learnt nothing. "chance" calls
        each class as often as it occurs, at random; "majority" always calls the most frequent one.
    metric : str or Metric
        What is compared; of scores, nothing.
    dim : str
        The dim of the systems, if `b` is left out.
    rope : float
        Half-width of the region of practical equivalence, on the metric's scale.
    prior : str or Prior, optional
        Of each system's matrix, if counts are given. By default as in `bayesperf.posterior`.
    draws : int, optional
        Draws of what is not known by draws already, where the difference has no closed form: 10,000. Of scores, draws
        a chain: 1,000.
    random_seed : int or numpy.random.Generator
        Seed of draws made for the comparison.
    **options
        Of the comparison over several data sets: see `bayesperf.compare_scores`.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        If the sides are not of these kinds.
    ValueError
        If they differ in labels or leading coordinates, there is no such dim or only one system along it, or the metric
        cannot be had.

    Warns
    -----
    DependenceWarning
        If posteriors are compared whose systems were judged on the same examples: the counts say more together.

    Notes
    -----
    Systems judged on the same examples err together, so their difference is better known than two posteriors say. Their
    joint cells (actual, predicted by a, predicted by b) have a Dirichlet posterior whose margins are the two systems'
    own. The difference of shares of the same examples (accuracy, recall, specificity and their complements) depends on
    the examples alone that one gets right and the other wrong, and is exact; of other metrics it is drawn.

    The difference of two independent shares, or of increasing functions of such (F1), is integrated to about 1e-8, and
    is known as well for a million examples as for three. Other differences are drawn.

    Examples
    --------
    >>> import bayesperf as bp
    >>> old = bp.posterior(bp.ConfusionMatrix.from_counts(tp=10, fn=5, fp=0, tn=0))
    >>> new = bp.posterior(bp.ConfusionMatrix.from_counts(tp=3, fn=3, fp=0, tn=0))
    >>> round(bp.compare(new, old, "recall").prob_greater.item(), 10)
    0.2387939157

    Three systems judged on the same examples:

    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_predictions(frame["actual"], frame["predicted"], pos_label="malignant",
    ...                                          by={"model": frame["model"]}, example=frame["example"])
    >>> bp.compare(cm, metric="accuracy", rope=0.01).prob_rope.sel(
    ...     model="logistic_regression", model_other="naive_bayes").round(3).values
    array([0.   , 0.002, 0.998])
    """
    rope = checks.rope(rope)
    counts = isinstance(a, PairedConfusionMatrix | ConfusionMatrix)
    if prior is not None and not counts:
        raise TypeError("prior: it is of counts; posteriors have theirs already. Leave it out.")
    if isinstance(a, xr.DataArray):
        if b is not None or metric is not None:
            raise TypeError("scores hold both systems, and a metric already: leave out b and metric.")
        options |= {} if draws is None else {"draws": draws}
        return compare_scores(a, dim=dim, rope=rope, random_seed=random_seed, **options)
    if options:
        raise TypeError(f"compare takes no argument {next(iter(options))!r} here.")
    metric, seed = _named(metric), checks.seed(random_seed)
    draws = DRAWS if draws is None else checks.count("draws", draws, least=2)
    if counts:
        if b is not None:
            raise TypeError("b: counts of systems judged on the same examples hold them all; leave it out.")
        return _of_counts(a, metric, dim, rope, prior, draws, seed)
    first = _posterior("a", a)
    if b is None:
        return _along(first, metric, dim, rope, draws)
    if isinstance(b, str):
        return _against_rule(first, b, metric, dim, rope, draws)
    return _apart(first, _posterior("b", b), metric, dim, rope, draws, seed)


def compare_predictions(
    a: Any,
    b: Any = None,
    metric: str | Metric | None = None,
    *,
    n: int | None = None,
    dim: str = "model",
    rope: float = 0.0,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Comparison:
    """Compare what systems will show on new test sets: which would score higher, and by how much.

    Not which is better: that is `compare`. A test set adds the chance of its examples, so that this is less certain,
    and two systems may tie.

    Parameters
    ----------
    a : Posterior or DataTree
        One of two systems; or, with `b` left out, all of them along `dim`.
    b : Posterior or DataTree, optional
        The other system: a posterior over the same leading dims.
    metric : str or Metric
        What is compared.
    n : int, optional
        Examples in each new test set; by default as many as observed.
    dim : str
        The dim of the systems, if `b` is left out.
    rope : float
        Half-width of the region of practical equivalence, on the metric's scale.
    draws : int
        New test sets drawn of each system.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Comparison
        Of predictions, each system's on a test set of its own. Where the metric is undefined in one (no positives
        drawn) the draw is left out, and the share of such is stated.

    Raises
    ------
    TypeError
        If the sides are not of these kinds. Counts of systems judged on the same examples are refused: new examples
        would be the same for all, too, and what the systems make of them hangs together.
    ValueError
        As `compare`, and if the observed size is unknown and `n` not given.

    Warns
    -----
    DependenceWarning
        If the systems were judged on the same examples.

    Examples
    --------
    >>> import bayesperf as bp
    >>> old = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45))
    >>> new = bp.posterior(bp.ConfusionMatrix.from_counts(tp=44, fn=6, fp=5, tn=45))
    >>> bp.compare(new, old, "accuracy").prob_greater.round(2).item()
    0.79
    >>> bp.compare_predictions(new, old, "accuracy").prob_greater.round(2).item()
    0.71
    """
    rope, metric, seed = checks.rope(rope), _named(metric), checks.seed(random_seed)
    if isinstance(a, PairedConfusionMatrix) or (isinstance(a, ConfusionMatrix) and a.outcomes is not None):
        raise TypeError(
            "a: systems judged on the same examples would be judged on the same new ones, and their predictions hang "
            "together, which is not supported. compare(a, ...) says which is better."
        )
    first = _posterior("a", a)
    if b is not None:
        second = _posterior("b", b)
        return _apart(first.predict(n, draws, seed), second.predict(n, draws, seed), metric, dim, rope, draws, seed)
    return _along(first, metric, dim, rope, draws, lambda post: post.predict(n, draws, seed))


def _named(metric: str | Metric | None) -> str | Metric:
    if metric is None:
        raise TypeError("metric: name what is compared, as metric='recall'.")
    return metric


def _posterior(name: str, side: Any) -> Posterior:
    if isinstance(side, xr.DataTree):
        side = Posterior.from_datatree(side)
    if isinstance(side, Posterior):
        _check_dims(name, side)
        return side
    hint = " Take bp.posterior(cm)." if isinstance(side, ConfusionMatrix) else ""
    raise TypeError(f"{name} must be a Posterior, a DataTree or paired counts; it is {type(side).__name__}.{hint}")


def _check_dims(name: str, post: Posterior) -> None:
    if taken := [dim for dim in post.dims if dim in _RESERVED]:
        raise ValueError(f"{name}: a leading dim is called {taken[0]!r}, as figures of the comparison are. Rename it.")


def _along(
    post: Posterior,
    metric: str | Metric,
    dim: str,
    rope: float,
    draws: int,
    predict: Callable[[Posterior], Posterior] | None = None,
) -> Comparison:
    """Compare all systems along a dim of one posterior, or of what it predicts."""
    _check_systems(post, dim)
    if post.observed is not None and same_examples(post.observed) == dim:
        warnings.warn(
            f"the systems along {dim!r} were judged on the same examples, and these posteriors take them for "
            f"independent: compare the counts instead, compare(cm, metric=..., dim={dim!r}).",
            DependenceWarning,
            stacklevel=3,
        )
    # A sampler's draws of several systems belong together; in closed form they are independent.
    independent = not isinstance(post, SampledPosterior)
    related = "independent systems" if independent else "joint draws of all systems"
    if predict:
        post, related = predict(post), f"{related}, each on a new test set of its own"
    marginal = post[metric]
    pairs = pairs_along(marginal, dim, independent, many=True, draws=draws)
    return Comparison(
        difference=pairs.difference(),
        names=tuple(post.leading[dim].values.tolist()),
        rope=rope,
        greater_is_better=post.applicable(metric).greater_is_better,
        basis=f"{post.prior_text}; {related}",
        dim=dim,
        many=True,
        make_ratio=pairs.ratio,
        make_draws=partial(joint_draws, marginal, dim, draws),
    )


def _check_systems(post: Posterior, dim: str) -> None:
    if dim not in post.dims:
        raise ValueError(f"dim: {dim!r} is not a leading dim; they are {list(post.dims)}. Name one, or give b.")
    if post.leading.sizes[dim] < 2:
        raise ValueError(f"dim: there is one system along {dim!r}, and nothing to compare it with.")


def _apart(
    first: Posterior, second: Posterior, metric: str | Metric, dim: str, rope: float, draws: int, seed: int
) -> Comparison:
    """Compare two posteriors, place by place of their leading dims."""
    if first.labels != second.labels or first.pos_label != second.pos_label:
        raise ValueError(
            f"a and b differ in their labels: {first.labels} (positive {first.pos_label!r}) and {second.labels} "
            f"(positive {second.pos_label!r})."
        )
    a, b = first[metric], second[metric]
    try:
        xr.align(a.leading, b.leading, join="exact")
    except ValueError as error:
        raise ValueError(f"a and b differ in their leading coordinates: {error}") from None
    if a.dims != b.dims:
        raise ValueError(f"a and b differ in their leading dims: {a.dims} and {b.dims}.")
    if first.estimand != second.estimand:
        raise ValueError(f"a and b are of different things: {first.estimand!r} and {second.estimand!r}.")
    names = tuple(system_name(side.leading, dim, letter) for side, letter in ((a, "a"), (b, "b")))
    pair = SystemPair(
        without_own_coordinates(a, b, dim), b, independent=True, apart=True, n_draws=draws, random_seed=seed
    )
    basis = first.prior_text if first.prior_text == second.prior_text else f"{first.prior_text}; {second.prior_text}"
    return Comparison(
        difference=pair.difference(),
        names=names if names[0] != names[1] else ("a", "b"),
        rope=rope,
        greater_is_better=first.applicable(metric).greater_is_better,
        basis=f"{basis}; independent systems",
        dim="system" if dim in a.dims else dim,
        make_ratio=pair.ratio,
    )


# ── Systems judged on the same examples ──


def _of_counts(
    counts: PairedConfusionMatrix | ConfusionMatrix,
    metric: str | Metric,
    dim: str,
    rope: float,
    prior: str | priors.Prior | None,
    draws: int,
    seed: int,
) -> Comparison:
    cm = counts.margins() if isinstance(counts, PairedConfusionMatrix) else counts
    outcomes = cm.outcomes
    if outcomes is None:
        raise TypeError(
            "a: these counts do not say whether the systems were judged on the same examples. If so, name them: "
            "ConfusionMatrix.from_predictions(..., example=ids). If not, compare(bp.posterior(cm), ...)."
        )
    if outcomes.dim != dim:
        raise ValueError(f"dim: the systems judged on the same examples are along {outcomes.dim!r}, not {dim!r}.")
    many = cm is counts
    each = posterior(cm, prior)
    _check_dims("a", each)

    joint = _JointMetric(outcomes, metric, prior, draws, seed, many)
    weights = discordant_weights(outcomes, metric, prior)
    if weights is None:
        difference = joint.pairs().difference()
    else:
        side = pairs_along(each[metric], dim, False, many).first
        difference = exact_difference(side, discordant(*weights), seed)
    return Comparison(
        difference=difference,
        names=tuple(each.leading[dim].values.tolist()),
        rope=rope,
        greater_is_better=each.applicable(metric).greater_is_better,
        basis=f"{each.prior_text}; systems judged on the same examples",
        dim=dim,
        many=many,
        make_ratio=joint.ratio,
        make_draws=joint.draws if many else None,
    )


@dataclass(frozen=True, eq=False)
class _JointMetric:
    """A metric of systems judged on the same examples: joint draws, made when they are first asked for."""

    outcomes: JointOutcomes
    metric: str | Metric
    prior: str | priors.Prior | None
    n_draws: int
    random_seed: int
    many: bool

    @cached_property
    def marginal(self) -> Marginal:
        return joint_posterior(self.outcomes, self.prior, self.n_draws, self.random_seed)[self.metric]

    def pairs(self) -> SystemPair:
        return pairs_along(self.marginal, self.outcomes.dim, False, self.many)

    def ratio(self) -> Marginal:
        return self.pairs().ratio()

    def draws(self) -> xr.DataArray:
        return joint_draws(self.marginal, self.outcomes.dim)


# ── Rules that have learnt nothing ──


def _against_rule(post: Posterior, rule: str, metric: str | Metric, dim: str, rope: float, draws: int) -> Comparison:
    pair = against_rule(post, rule, metric, dim, draws)
    return Comparison(
        difference=pair.difference(),
        names=(system_name(post.leading, dim, "a"), rule),
        rope=rope,
        greater_is_better=post.applicable(metric).greater_is_better,
        basis=f"{post.prior_text}; the rule at the same prevalence",
        dim="system" if dim in post.dims else dim,
        make_ratio=pair.ratio,
    )
