"""Comparison of systems: whether one is better than another, by how much, and whether the difference matters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr

from bayesperf import prior as priors
from bayesperf.comparison.result import Comparison
from bayesperf.comparison.separate_marginals import compare_marginals
from bayesperf.comparison.several_datasets import compare_scores
from bayesperf.comparison.system_pair import (
    SystemPair,
    against_rule,
    check_same_leading,
    exact_difference,
    pairs_along,
    system_name,
    without_own_coordinates,
)
from bayesperf.comparison.systems import Systems
from bayesperf.comparison.verified_systems import compare_verified
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.recipes import remembered
from bayesperf.core.warnings import PACKAGE, DependenceWarning
from bayesperf.counts.joint_outcomes import JointOutcomes, same_examples
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.counts.paired import PairedConfusionMatrix
from bayesperf.distributions.differences import discordant
from bayesperf.metrics.metric import Metric
from bayesperf.pooling.pooled_clusters import ClusteredPosterior
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.posteriors.joint_systems import SAME_EXAMPLES, discordant_weights, joint_marginal
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS, Posterior, SampledPosterior
from bayesperf.posteriors.ranks import joint_draws
from bayesperf.verification.posterior import VerifiedPosterior
from bayesperf.verification.sample import MODEL

__all__ = ["Comparison", "compare", "compare_predictions"]

# Names of dims in the results of a comparison, and of columns in its summary.
_RESERVED = ("pair", "rope", "rank", "a", "b")
# What counts systems on the same examples together.
_FROM_BOTH = "ConfusionMatrix.from_predictions"


@remembered("compare")
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
    independent: bool = False,
    shrink: bool = False,
    families: Mapping[Any, Any] | None = None,
    **options: Any,
) -> Comparison:
    """Compare systems by the difference of a metric, a − b, and the probabilities derived from it.

    Parameters
    ----------
    a : Posterior, DataTree, Marginal, PairedConfusionMatrix, ConfusionMatrix or DataArray
        The first of two systems or, if `b` is omitted, all systems along `dim`. Pass counts for systems evaluated on
        the same examples: a PairedConfusionMatrix, or ``ConfusionMatrix.from_predictions(..., example=ids)``; if only
        some are verified, the posterior of all systems together (`bayesperf.verification.posterior`). Pass other
        posteriors for systems evaluated on different examples, or marginals of what is no metric of counts: areas
        (`roc_auc`, `auc_from_summary`, ``Curve.area``), scores (`weighted_score`), averages (`average_folds`), rates
        (`posterior_of_rate`); of several systems with joint draws one alone (`PooledClusters.pass_at_k`). A DataArray
        holds cross-validated scores (dataset, model, fold), for ``dim="dataset"``.
    b : Posterior, DataTree, Marginal or {"chance", "majority"}, optional
        The second system: a posterior (or marginal) over the same leading dims, or a baseline rule that ignores the
        input. "chance" predicts each class at random, as often as it occurs; "majority" always predicts the most
        frequent class.
    metric : str or Metric
        The metric to compare. Omit it for scores and marginals, which are of one already.
    dim : str
        The dim of the systems, if `b` is omitted.
    rope : float
        Half-width of the region of practical equivalence, on the metric's scale.
    prior : str or Prior, optional
        Prior of each system's confusion matrix, if counts are given. The default is that of `bayesperf.posterior`; for
        more than two classes, whose shared prior has no joint form, it is Perks'.
    draws : int, optional
        Number of draws from exact posteriors where the difference has no closed form; 10,000 by default. For scores,
        the number of draws per chain; 1,000 by default. (Marginals that are known by draws keep theirs.)
    random_seed : int or numpy.random.Generator
        Seed of the draws made for the comparison.
    independent : bool
        Whether posteriors or marginals are known to be of systems evaluated on different examples, so that nothing is
        made of class totals that are the same by design.
    shrink : bool
        Whether systems along `dim` share a population, in which each is drawn towards those like it. Of many systems
        the one that looks best was lucky, too; shrunk, it is about as good as is said of it.
    families : mapping, optional
        The family of each system, by name: versions of a model, settings of a learner. With `shrink`, systems of a
        family are taken to be more alike than others, but for those that stand out.
    **options
        Options of the comparison over several data sets; see `bayesperf.compare_scores`.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        If `a` or `b` is of another type, or a marginal is given with something else.
    ValueError
        If `a` and `b` differ in labels or leading coordinates, or marginals in what they are of; if `dim` does not
        exist or has only one system along it, if the metric cannot be computed, or if `families` leave out a system.

    Warns
    -----
    DependenceWarning
        If the posteriors or marginals compared are of systems evaluated on the same examples, or seem to be: they have
        the same number of examples in every class, and `independent` is not set. Comparing the systems example by
        example is more informative: by their joint counts, `compare_auc` or `compare_weighted_scores`.

    Notes
    -----
    Systems evaluated on the same examples tend to make errors on the same ones, so their difference is known more
    precisely than two separate posteriors suggest. Their joint cells (actual, predicted by a, predicted by b) have a
    Dirichlet posterior whose margins are the posteriors of the two systems. The difference of two proportions of the
    same examples (accuracy, recall, specificity and their complements) depends only on the examples that one system
    gets right and the other wrong, and is exact; for other metrics it is computed from draws.

    The difference of two independent proportions, or of increasing functions of proportions (F1), is integrated
    numerically to about 1e-8, an accuracy that is the same for a million examples as for three. That of two normals
    (areas by DeLong) is normal. Other differences are computed from draws.

    Shrunk systems come from a mixture of normals, so that a few that are broken, or better, do not spread the others
    (Efron & Morris 1975; Gelman, Hill & Yajima 2012; Ishwaran & James 2001). It is on a scale on which the standard
    error of the metric hardly depends on its value (for a share of examples, twice the arcsine of its root), and drawn
    by Gibbs sampling, in many short chains; Monte Carlo errors take the draws for independent, which they nearly are.
    The errors of systems judged on the same examples, or in the same clusters, are correlated, any two as much as
    others, or as others of the same families. Two systems that nearly always say the same are told apart better by
    themselves. ``validation/best_of_many.py`` has how often the interval of the best covers.

    Examples
    --------
    >>> import bayesperf as bp
    >>> old = bp.posterior(bp.ConfusionMatrix.from_counts(tp=10, fn=5, fp=0, tn=0))
    >>> new = bp.posterior(bp.ConfusionMatrix.from_counts(tp=3, fn=3, fp=0, tn=0))
    >>> round(bp.compare(new, old, "recall").prob_greater.item(), 10)
    0.2371815636

    Three systems evaluated on the same examples:

    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_predictions(frame["actual"], frame["predicted"], pos_label="malignant",
    ...                                          by={"model": frame["model"]}, example=frame["example"])
    >>> bp.compare(cm, metric="accuracy", rope=0.01).prob_rope.sel(
    ...     model="logistic_regression", model_other="naive_bayes").round(3).values
    array([0.   , 0.002, 0.998])

    Areas of two test sets, one of them as a paper reports it:

    >>> ours = bp.roc_auc([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7], method="delong")
    >>> theirs = bp.auc_from_summary(0.9, n_pos=40, n_neg=60, method="hanley_mcneil")
    >>> bp.compare(ours, theirs).prob_greater.round(3).item()
    0.234

    The best of many, less its luck:

    >>> right = [171, 165, 164, 160, 158, 157, 155, 154, 152, 149]
    >>> many = bp.ConfusionMatrix.from_counts(tp=right, fn=[200 - each for each in right], fp=0, tn=0, dims=["model"])
    >>> shrunk = bp.compare(bp.posterior(many), metric="recall", shrink=True, independent=True)
    >>> shrunk.standings()[["model", "observed", "mean", "prob_best", "expected_loss"]].head(2).round(2)
       model  observed  mean  prob_best  expected_loss
    0      0      0.86  0.82       0.47           0.01
    1      1      0.82  0.80       0.15           0.02
    """
    rope = checks.rope(rope)
    counts = isinstance(a, PairedConfusionMatrix | ConfusionMatrix)
    if prior is not None and not counts:
        raise InputTypeError("prior", "it is of counts; posteriors have theirs already.", "Leave it out.")
    if independent and (counts or isinstance(a, xr.DataArray)):
        raise InputTypeError("independent", "it is of posteriors; counts and scores say how systems belong together.")
    if shrink and (b is not None or isinstance(a, xr.DataArray | PairedConfusionMatrix)):
        raise InputTypeError(
            "shrink", f"it is of systems along a dim ({dim!r}), by their posterior or their counts.", "Leave it out."
        )
    if families is not None and not shrink:
        raise InputTypeError("families", "they are what systems are drawn to.", "Ask for it: shrink=True.")
    if isinstance(a, xr.DataArray):
        if b is not None or metric is not None:
            raise InputTypeError("scores", "hold both systems, and a metric already: leave out b and metric.")
        options |= {} if draws is None else {"draws": draws}
        return _of_scores(a, dim=dim, rope=rope, random_seed=random_seed, **options)
    if options:
        raise InputTypeError("", f"compare takes no argument {next(iter(options))!r} here.")
    seed, draws = checks.seed(random_seed), DRAWS if draws is None else checks.count("draws", draws, least=2)
    if isinstance(a, Marginal) or isinstance(b, Marginal):
        if metric is not None:
            raise InputTypeError("metric", "a Marginal is of one metric already.", "Leave it out.")
        found = _of_marginals(a, b, dim, rope, draws, seed, independent)
    elif counts:
        if b is not None:
            raise InputTypeError("b", "counts of systems judged on the same examples hold them all; leave it out.")
        found = _of_counts(a, _named(metric), dim, rope, prior, draws, seed)
    else:
        found = _of_posteriors(a, b, _named(metric), dim, rope, draws, seed, independent)
    return _shrunk(found, families) if shrink else found


def _of_scores(scores: xr.DataArray, **options: Any) -> Comparison:
    """Compare two systems by their scores, by `compare_scores`."""
    if "test_fraction" not in options:
        raise InputTypeError(
            "test_fraction",
            "say which fraction of a data set each fold tests: 1/k of k folds, repeated or not; "
            "of random splits their own.",
        )
    return compare_scores(scores, **options)


def _of_posteriors(
    a: Any, b: Any, metric: str | Metric, dim: str, rope: float, draws: int, seed: int, independent: bool
) -> Comparison:
    """Compare two posteriors, one with a baseline rule, or all systems along a dim of one."""
    first = _posterior("a", a)
    if b is None:
        return _along(first, metric, dim, rope, draws, seed, independent)
    if isinstance(b, str):
        return _against_rule(first, b, metric, dim, rope, draws)
    return _apart(first, _posterior("b", b), metric, dim, rope, draws, seed, independent)


@remembered("compare_predictions")
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
    independent: bool = False,
) -> Comparison:
    """Compare the metric that systems will have on new test sets: which will be higher, and by how much.

    To ask which system is better, use `compare`. A new test set adds the sampling variation of its examples, so its
    result is less certain, and two systems may tie.

    Parameters
    ----------
    a : Posterior or DataTree
        The first of two systems or, if `b` is omitted, all systems along `dim`.
    b : Posterior or DataTree, optional
        The second system: a posterior over the same leading dims.
    metric : str or Metric
        The metric to compare.
    n : int, optional
        Number of examples in each new test set; by default as many as observed.
    dim : str
        The dim of the systems, if `b` is omitted.
    rope : float
        Half-width of the region of practical equivalence, on the metric's scale.
    draws : int
        Number of new test sets drawn for each system.
    random_seed : int or numpy.random.Generator
        Seed of the draws.
    independent : bool
        As in `compare`.

    Returns
    -------
    Comparison
        The comparison of predictions, each system on its own new test set. Draws in which the metric is undefined (no
        positives drawn) are left out, and the proportion of such draws is reported.

    Raises
    ------
    TypeError
        If `a` or `b` is of another type. Counts of systems evaluated on the same examples are refused: the systems
        would share the new examples as well, and their predictions on them would be dependent.
    ValueError
        As in `compare`, and if the number of observed examples is unknown and `n` is not given.

    Warns
    -----
    DependenceWarning
        As in `compare`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> old = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45))
    >>> new = bp.posterior(bp.ConfusionMatrix.from_counts(tp=44, fn=6, fp=5, tn=45))
    >>> bp.compare(new, old, "accuracy", independent=True).prob_greater.round(2).item()
    0.8
    >>> bp.compare_predictions(new, old, "accuracy", independent=True).prob_greater.round(2).item()
    0.73
    """
    rope, metric, seed = checks.rope(rope), _named(metric), checks.seed(random_seed)
    if isinstance(a, PairedConfusionMatrix) or (isinstance(a, ConfusionMatrix) and a.outcomes is not None):
        raise InputTypeError(
            "a",
            "systems judged on the same examples would be judged on the same new ones, and their "
            "predictions hang together, which is not supported. compare(a, ...) says which is "
            "better.",
        )
    first = _posterior("a", a)

    def predict(post: Posterior) -> Posterior:
        return post.predict(n, draws, seed)

    if b is not None:
        second = _posterior("b", b)
        return _apart(first, second, metric, dim, rope, draws, seed, independent, predict)
    return _along(first, metric, dim, rope, draws, seed, independent, predict)


def _named(metric: str | Metric | None) -> str | Metric:
    if metric is None:
        raise InputTypeError("metric", "name what is compared, as metric='recall'.")
    return metric


def _posterior(name: str, side: Any) -> Posterior:
    if isinstance(side, xr.DataTree):
        side = Posterior.from_datatree(side)
    if isinstance(side, Posterior):
        _check_dims(name, side)
        return side
    hint = " Take bp.posterior(cm)." if isinstance(side, ConfusionMatrix) else ""
    raise InputTypeError(name, f"must be a Posterior, a DataTree or paired counts; it is {type(side).__name__}.{hint}")


def _check_dims(name: str, post: Posterior) -> None:
    if taken := [dim for dim in post.dims if dim in _RESERVED]:
        raise InputError(name, f"a leading dim is called {taken[0]!r}, as figures of the comparison are.", "Rename it.")


def _along(
    post: Posterior,
    metric: str | Metric,
    dim: str,
    rope: float,
    draws: int,
    seed: int,
    independent: bool,
    predict: Callable[[Posterior], Posterior] | None = None,
) -> Comparison:
    """Compare all systems along a dim of one posterior, or of its predictions."""
    _check_systems(post, dim)
    if isinstance(post, VerifiedPosterior) and dim == MODEL and predict is None:
        return compare_verified(post, metric, rope, draws, seed)
    if not post.joint:
        _warn_of_same_examples(post, dim, independent)
    # A sampler draws all systems jointly; closed-form posteriors of several systems are independent.
    separate = not isinstance(post, SampledPosterior)
    related = "independent systems" if separate else "joint draws of all systems"
    if predict:
        post, related = predict(post), f"{related}, each on a new test set of its own"
    units = post.clusters if isinstance(post, ClusteredPosterior) else np.inf
    found = _of_systems(post[metric], dim, rope, draws, seed, separate, f"{post.prior_text}; {related}", units)
    # A prediction of a new test set is no estimate of a system's own metric.
    return replace(found, systems=None) if predict else found


def _of_systems(
    marginal: Marginal,
    dim: str,
    rope: float,
    draws: int,
    seed: int,
    separate: bool,
    basis: str,
    units: float = np.inf,
) -> Comparison:
    """Compare all systems along a dim of a marginal, which are independent if they are separate."""
    systems = Systems(partial(_as_it_is, marginal), dim, draws, separate, seed, units)
    pairs = pairs_along(marginal, dim, separate, many=True, draws=draws)
    return Comparison(
        difference=pairs.difference(),
        names=tuple(marginal.leading[dim].values.tolist()),
        rope=rope,
        greater_is_better=marginal.greater_is_better,
        basis=basis,
        dim=dim,
        many=True,
        make_ratio=pairs.ratio,
        make_draws=systems.draws,
        systems=systems,
    )


def _of_marginals(marginal: Any, b: Any, dim: str, rope: float, draws: int, seed: int, independent: bool) -> Comparison:
    """Compare two marginals, or all systems along a dim of one, whose draws are joint."""
    if b is not None:
        return compare_marginals(marginal, b, dim, rope, draws, seed, independent)
    if not marginal.joint:
        raise InputTypeError(
            "b",
            f"must be a Marginal, of another system: draws of this {marginal.name} are not joint "
            "over its leading dims.",
            "Give one system on each side, as compare(marginal.sel(model='a'), marginal.sel(model='b')).",
        )
    _check_systems(marginal, dim)
    return _of_systems(marginal, dim, rope, draws, seed, False, f"{marginal.estimand}; joint draws of all systems")


def _as_it_is(marginal: Marginal) -> Marginal:
    return marginal


def _shrunk(comparison: Comparison, families: Mapping[Any, Any] | None) -> Comparison:
    """Return the comparison of systems each of which is drawn towards those like it."""
    assert comparison.systems is not None
    codes = None if families is None else _family_codes(comparison.names, families)
    systems, dim = replace(comparison.systems, families=codes), comparison.dim
    pairs = pairs_along(systems.shrunk, dim, False, many=True, over_pairs=comparison.difference.leading)
    to = "those like it" if codes is None else "those like it, first of all in its family"
    return replace(
        comparison,
        difference=pairs.difference(),
        basis=f"{comparison.basis}; each drawn towards {to}",
        make_ratio=pairs.ratio,
        make_draws=partial(joint_draws, systems.shrunk, dim, systems.n_draws),
        systems=systems,
        shrunk=systems.shrunk,
    )


def _family_codes(names: tuple[Any, ...], families: Mapping[Any, Any]) -> Codes:
    """Return the family of each system, as a number."""
    if not isinstance(families, Mapping):
        raise InputTypeError("families", f"must map each system to its family; it is {type(families).__name__}.")
    if missing := [name for name in names if name not in families]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError("families", f"of system {missing[0]!r}{more} the family is not given.", "Name one for each.")
    if unknown := [name for name in families if name not in names]:
        raise InputError("families", f"{unknown[0]!r} is no system; they are {', '.join(map(repr, names[:5]))}, ….")
    of_each = [families[name] for name in names]
    known = list(dict.fromkeys(of_each))
    if len(known) < 2:
        raise InputError("families", f"all systems are of {known[0]!r}.", "Leave it out.")
    return np.array([known.index(family) for family in of_each])


def _check_systems(post: Posterior | Marginal, dim: str) -> None:
    if dim not in post.dims:
        raise InputError("dim", f"{dim!r} is not a leading dim; they are {list(post.dims)}.", "Name one, or give b.")
    if post.leading.sizes[dim] < 2:
        raise InputError("dim", f"there is one system along {dim!r}, and nothing to compare it with.")


def _apart(
    first: Posterior,
    second: Posterior,
    metric: str | Metric,
    dim: str,
    rope: float,
    draws: int,
    seed: int,
    independent: bool,
    predict: Callable[[Posterior], Posterior] | None = None,
) -> Comparison:
    """Compare two posteriors, or their predictions, element by element along their leading dims."""
    if first.labels != second.labels or first.pos_label != second.pos_label:
        raise InputError(
            "a and b",
            f"differ in their labels: {first.labels} (positive {first.pos_label!r}) and "
            f"{second.labels} (positive {second.pos_label!r}).",
        )
    totals = _class_totals(first), _class_totals(second)
    if predict:
        first, second = predict(first), predict(second)
    a, b = first[metric], second[metric]
    check_same_leading(a, b)
    if a.quantity != b.quantity:
        raise InputError("a and b", f"are of different things: {first.estimand!r} and {second.estimand!r}.")
    if not independent and totals[0].shape == totals[1].shape and _share_totals(np.concatenate(totals)):
        of_both = "(y_true, {'a': y_pred_a, 'b': y_pred_b}, "
        verified = isinstance(first, VerifiedPosterior)
        joint = f"verification.posterior{of_both}judge=...)" if verified else f"{_FROM_BOTH}{of_both}pos_label=...)"
        _warn_of_same_totals("a and b", joint)
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


# ── Systems that may have been evaluated on the same examples ──


def _class_totals(post: Posterior, dim: str | None = None) -> Array:
    """Return the number of examples of every class, with an axis of systems in front; zeros if it is not known.

    Where only some are verified it is the number of all, whatever their class.
    """
    if isinstance(post, VerifiedPosterior) and dim is None:
        return np.asarray(post.sample.counts.sum("stratum").values.reshape(1, -1))
    if post.observed is None:
        return np.zeros((1, 1))
    totals = post.observed.sum("predicted").transpose(*post.dims, "actual")
    return np.asarray(totals.expand_dims("system") if dim is None else totals.transpose(dim, ...))


def _share_totals(totals: Array) -> bool:
    """Whether any two systems have the same numbers of examples (system, …), and have any."""
    rows = totals.reshape(len(totals), -1)
    rows = rows[rows.any(1)]
    return len(np.unique(rows, axis=0)) < len(rows)


def _warn_of_same_examples(post: Posterior, dim: str, independent: bool) -> None:
    """Warn if the systems along a dim were, or seem to have been, evaluated on the same examples."""
    if post.observed is not None and same_examples(post.observed) == dim:
        warnings.warn(
            f"the systems along {dim!r} were judged on the same examples, and these posteriors take them for "
            f"independent: compare the counts instead, compare(cm, metric=..., dim={dim!r}).",
            DependenceWarning,
            skip_file_prefixes=(PACKAGE,),
        )
    elif not independent and _share_totals(_class_totals(post, dim)):
        _warn_of_same_totals(
            f"systems along {dim!r}",
            f"ConfusionMatrix.from_predictions(y_true, y_pred, by={{{dim!r}: names}}, example=ids)",
        )


def _warn_of_same_totals(systems: str, joint: str) -> None:
    warnings.warn(
        f"{systems} have the same number of examples in every class, as systems evaluated on the same examples have. "
        f"If they were, compare the joint counts, which say more: compare({joint}, metric=...). If their examples "
        "differ, say so: compare(..., independent=True).",
        DependenceWarning,
        skip_file_prefixes=(PACKAGE,),
    )


# ── Systems evaluated on the same examples ──


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
        raise InputTypeError(
            "a",
            "these counts do not say whether the systems were judged on the same examples.",
            "If so, name them: ConfusionMatrix.from_predictions(..., example=ids). If not, "
            "compare(bp.posterior(cm), ...).",
        )
    if outcomes.dim != dim:
        raise InputError("dim", f"the systems judged on the same examples are along {outcomes.dim!r}, not {dim!r}.")
    many = cm is counts
    prior = priors.resolve_dirichlet(prior, len(cm.labels), SAME_EXAMPLES)
    each = posterior(cm, prior)
    _check_dims("a", each)

    joint = _JointMetric(outcomes, metric, prior, draws, seed, many)
    examples = int(outcomes.counts.sum("outcome").min())
    systems = Systems(joint.of_each, dim, draws, False, seed, examples)
    weights = discordant_weights(outcomes, metric, prior)
    if weights is None:
        difference = joint.pairs().difference()
    else:
        pairs = pairs_along(each[metric], dim, False, many)
        difference = exact_difference(pairs, discordant(*weights), seed)
    return Comparison(
        difference=difference,
        names=tuple(each.leading[dim].values.tolist()),
        rope=rope,
        greater_is_better=each.applicable(metric).greater_is_better,
        basis=f"{each.prior_text}; {SAME_EXAMPLES}",
        dim=dim,
        many=many,
        make_ratio=joint.ratio,
        make_draws=systems.draws if many else None,
        systems=systems if many else None,
    )


@dataclass(frozen=True, eq=False)
class _JointMetric:
    """A metric of systems evaluated on the same examples, with joint draws that are made on first use."""

    outcomes: JointOutcomes
    metric: str | Metric
    prior: str | priors.Prior | None
    n_draws: int
    random_seed: int
    many: bool

    @cached_property
    def marginal(self) -> Marginal:
        return joint_marginal(self.outcomes, self.metric, self.prior, self.n_draws, self.random_seed)

    def of_each(self) -> Marginal:
        return self.marginal

    def pairs(self) -> SystemPair:
        return pairs_along(self.marginal, self.outcomes.dim, False, self.many)

    def ratio(self) -> Marginal:
        return self.pairs().ratio()


# ── Baseline rules ──


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
