"""Comparison of systems: whether one is better than another, by how much, and whether the difference matters.

Systems tend to err on the same examples, so paired differences are more precise. The joint cells (actual, predicted by
a, predicted by b) have a Dirichlet posterior. The difference of two proportions of the same examples (accuracy, recall,
specificity, their complements) depends only on examples that one system gets right and the other wrong, and is exact.
The difference of independent proportions, or of increasing functions of them (F1), is integrated to about 1e-8; the
difference of two normals (areas by DeLong) is normal. Other differences are computed from draws. Draws in which a
system's metric is undefined (0/0) are omitted; the column ``undefined`` of `Comparison.summary` shows their fraction.

Shrunk systems have draws from a mixture of normals (`bayesperf.comparison.shrinkage`), which Monte Carlo errors treat
as independent. If two systems nearly always agree, compare them unshrunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.comparison.contrast import (
    Asked,
    class_totals,
    compare_marginals,
    contrasted,
    of_systems,
    of_two,
    places_with_last,
    same_class_totals,
)
from bayesperf.comparison.result import Comparison
from bayesperf.comparison.system_pair import against_rule, check_same_leading, pairs_along, system_name
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Codes
from bayesperf.core.errors import DependenceWarning, InputError, InputTypeError, warn
from bayesperf.data.axis_names import REPEAT
from bayesperf.data.count_arrays import CELL_DIMS, COUNTED_AGAIN, same_examples
from bayesperf.data.counted import Counted
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.paired_systems import SAME_EXAMPLES, marginal_of_systems
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.tree_attributes import PRIOR, figures_of

__all__ = ["Comparison", "compare"]

# Names of dims in the results of a comparison, and of columns in its summary.
_RESERVED = ("pair", "rope", "rank", "a", "b")
# What counts outcomes of systems on the same examples together.
_OUTCOMES_TOGETHER = "Outcomes.from_correct({})"


@checked
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
    contrast: str = "difference",
    baseline: Any = None,
    shrink: bool = False,
    families: Mapping[Any, Any] | None = None,
) -> Comparison:
    """Compare systems by the difference of a metric, a − b, or its ratio, and the probabilities derived from it.

    Parameters
    ----------
    a : Posterior, DataTree, Marginal, ConfusionMatrix or Outcomes
        The first of two systems or, if `b` is omitted, all systems along `dim`. Pass counts for systems on the same
        examples; posteriors for different ones; marginals for areas, scores, averages of folds or rates; or a fit of
        which `metric` is a variable. Systems with joint draws over `dim` (`bayesperf.labels.verify`, `roc_auc` of a
        mapping, …) are compared in pairs. `bayesperf.folds.datasets` compares scores on several data sets.
    b : Posterior, DataTree, Marginal or {"chance", "majority"}, optional
        The second system, over the same leading dims, or a rule: "chance" predicts classes at random, each as often as
        it occurs; "majority" the most frequent. Predictions (``a.predict(n)``) compare metrics on two new test sets.
    metric : str or Metric
        The metric to compare. Omit it for marginals.
    dim, baseline : str and hashable, optional
        Without `b`: the dim of the systems, and the system that the others are compared with, which is b of its pairs.
    rope : float
        Half-width of the region of practical equivalence, on the metric's scale; for a ratio, 0.1 is from 0.9 to 1/0.9.
    prior : str or Prior, optional
        Prior of each system's counts, as in `bayesperf.posterior`; for more than two classes by default Perks'.
    draws : int, optional
        Number of draws if the difference has no closed form, by default 10,000.
    random_seed : int or numpy.random.Generator
        Seed of new draws. Drawn marginals, systems along a dim of one posterior, and a rule keep their own draws.
    independent : bool
        Whether the systems were certainly evaluated on different examples; equal class totals then raise no warning.
    contrast : {"difference", "ratio"}
        What is summarised, plotted and compared with `rope`; `Comparison.ratio` and `.difference` provide both.
    shrink : bool
        Whether to shrink each system along `dim` towards similar ones, so that the best of many owes less to luck.
    families : mapping, optional
        With `shrink`, the family of each system by name. Systems of a family are more alike, except outliers.

    Returns
    -------
    Comparison
        `bayesperf.comparison.comparing` says what is exact, docs/coverage.md how often intervals of the best cover.

    Raises
    ------
    TypeError, ValueError
        If `a` or `b` has another type, or they differ in labels, leading coordinates or quantity; if `dim` does not
        exist, has one system, or none called `baseline`; if the metric is not available; if `families` omits a system.

    Warns
    -----
    DependenceWarning
        If all class totals are equal, as for the same examples, and `independent` is not set.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_predictions(frame["actual"], frame["predicted"], pos_label="malignant",
    ...                                          by={"model": frame["model"]}, example=frame["example"])
    >>> bp.compare(cm, metric="accuracy", rope=0.01).prob_rope.sel(
    ...     model="logistic_regression", model_other="naive_bayes").round(3).values
    array([0.   , 0.002, 0.998])
    """
    rope, prior_of_fit = _checked_rope(rope, contrast), ""
    if isinstance(a, xr.DataTree) and "posterior" in a.children and "cells" not in a["posterior"]:
        (a, prior_of_fit), metric = _figure_of_fit(a, metric), None
    counts = isinstance(a, Counted)
    if prior is not None and not counts:
        raise InputTypeError("prior", "applies to counts; posteriors have theirs already.", "Compare without `prior`.")
    if independent and counts:
        raise InputTypeError("independent", "applies to posteriors; counts know of shared examples.")
    _check_along(dim, shrink, families, baseline, one_of_two=b is not None)
    seed, draws = checks.seed(random_seed), DRAWS if draws is None else checks.count("draws", draws, least=2)
    asked = Asked(dim, rope, contrast, draws, seed, independent, baseline)
    if isinstance(a, Marginal) or isinstance(b, Marginal):
        if metric is not None:
            raise InputTypeError("metric", "a Marginal is of one metric already.", "Compare without `metric`.")
        found = _compare_marginals(a, b, asked, prior_of_fit)
    elif counts:
        if b is not None:
            raise InputTypeError(
                "b", "counts of systems tested on the same examples hold them all.", "Compare without `b`."
            )
        found = _compare_counts(a, _named(metric, _usual(a)), prior, asked)
    else:
        first = _posterior("a", a)
        found = _compare_posteriors(first, b, _named(metric, _usual(first)), asked)
    return _shrunk(found, asked, families) if shrink else found


def _figure_of_fit(tree: xr.DataTree, metric: str | Metric | None) -> tuple[Marginal, str]:
    """Return a figure of a fit without cells, and the fit's prior."""
    figure = Marginal.from_datatree(tree, str(_named(metric, *figures_of(tree), "recall")))
    return figure, str(tree["posterior"].attrs.get(PRIOR, ""))


def _checked_rope(rope: Any, contrast: str) -> float:
    """Return the half-width of the region of practical equivalence, checked for the contrast."""
    checks.one_of("contrast", contrast, ("difference", "ratio"))
    width = checks.rope(rope)
    if contrast == "ratio" and width >= 1:
        raise InputError("rope", f"of a ratio must be below 1, as 0.1 for 0.9 to 1/0.9; it is {rope}.")
    return width


def _check_along(dim: str, shrink: bool, families: Any, baseline: Any, one_of_two: bool) -> None:
    """Refuse to shrink systems that do not lie along a dim, a baseline of such, and families without shrinkage."""
    if shrink and one_of_two:
        raise InputTypeError(
            "shrink",
            f"it is of systems along a dim ({dim!r}), by their posterior or their counts.",
            "Compare without `shrink`.",
        )
    if baseline is not None and one_of_two:
        raise InputTypeError("baseline", f"it is one of the systems along a dim ({dim!r}).", "Remove `baseline`.")
    if families is not None and not shrink:
        raise InputTypeError("families", "they are what systems are drawn to.", "Ask for it: shrink=True.")


def _compare_posteriors(first: Posterior, b: Any, metric: str | Metric, asked: Asked) -> Comparison:
    """Compare two posteriors, one with a baseline rule, or all systems along a dim of one."""
    if b is None:
        return _compare_along(first, metric, asked)
    if isinstance(b, str):
        if first.graded:
            raise InputError("b", f"the rule {b!r} predicts classes, and outcomes have none.")
        pair = against_rule(first, b, metric, asked.dim, asked.draws)
        names = (system_name(first.leading, asked.dim, "a"), b)
        return contrasted(pair, asked, names, f"{first.prior_text}; the rule at the same prevalence")
    return _of_two_posteriors(first, _posterior("b", b), metric, asked)


def _named(metric: str | Metric | None, *figures: str) -> str | Metric:
    """Return what is compared; refuse None, and name the first of some figures that could be."""
    if metric is None:
        raise InputTypeError("metric", f"name what is compared, as metric={figures[0]!r}.")
    return metric


def _usual(data: Counted | Posterior) -> str:
    """Return a metric that data of this kind have."""
    several = len(data.labels) > 2
    if data.graded:
        return "mean_grade" if several else "pass_rate"
    return "accuracy" if several or data.positive is None else "recall"


def _posterior(name: str, side: Any) -> Posterior:
    if isinstance(side, xr.DataTree):
        side = Posterior.from_datatree(side)
    if isinstance(side, Posterior):
        _check_dims(name, side)
        return side
    advice = {
        Counted: "Take bp.posterior(cm).",
        Mapping: "Compare two of its values at a time.",
        xr.DataArray: "Compare scores on several data sets by bp.folds.datasets(scores, test_fraction=...).",
    }
    raise InputTypeError(
        name,
        f"must be a Posterior, a DataTree or paired counts; it is {type(side).__name__}.",
        next((said for kind, said in advice.items() if isinstance(side, kind)), ""),
    )


def _check_dims(name: str, post: Posterior | Counted) -> None:
    if taken := [dim for dim in post.dims if dim in _RESERVED]:
        raise InputError(name, f"a leading dim is called {taken[0]!r}, as figures of the comparison are.", "Rename it.")


def _compare_along(post: Posterior, metric: str | Metric, asked: Asked) -> Comparison:
    """Compare all systems along a dim of one posterior, or of predictions."""
    _check_systems(post, asked.dim)
    marginal, prior_text = post.source.of_systems(post, metric, asked.dim, asked.draws, asked.random_seed)
    if not (post.source.joint_over(asked.dim) or marginal.joint):
        _warn_of_same_examples(post, asked.dim, asked.independent)
    # A sampler draws all systems jointly; closed-form posteriors of several systems are independent.
    independent = post.source.by_matrix
    related = "independent systems" if independent else "joint draws of all systems"
    if marginal.joint:
        related = "systems on the same examples"
    elif post.scope.of_new_test_set:
        related = "each on a new test set of its own"
    return of_systems(marginal, asked, independent, f"{prior_text}; {related}", post.source.units)


def _compare_marginals(a: Any, b: Any, asked: Asked, prior_of_fit: str) -> Comparison:
    """Compare two marginals, or all systems along a dim of one marginal with joint draws."""
    if b is not None:
        return compare_marginals(a, b, asked)
    if not a.joint:
        raise InputTypeError(
            "b",
            f"must be the Marginal of the other system, because this {a.name} has no joint draws of several systems.",
            "Give one system on each side, as compare(marginal.sel(model='a'), marginal.sel(model='b')).",
        )
    _check_systems(a, asked.dim)
    return of_systems(a, asked, False, f"{prior_of_fit or a.estimand}; joint draws of all systems")


def _shrunk(comparison: Comparison, asked: Asked, families: Mapping[Any, Any] | None) -> Comparison:
    """Return the comparison of shrunk systems."""
    if comparison.shrunk is not None:
        raise InputError("shrink", "the model has drawn the systems towards each other.", "Compare without `shrink`.")
    if comparison.systems is None:
        raise InputError(
            "shrink", "a prediction of a new test set is no estimate of a system.", "Compare without `shrink`."
        )
    codes = None if families is None else _family_codes(comparison.names, families)
    systems = replace(comparison.systems, families=codes)
    over_pairs = comparison.contrast.leading
    pairs = pairs_along(systems.shrunk, asked.dim, False, systems.n_draws, over_pairs=over_pairs)
    to = "those like it" if codes is None else "those like it, first of all in its family"
    found = contrasted(pairs, asked, comparison.names, f"{comparison.basis}; each drawn towards {to}", systems)
    return replace(found, shrunk=systems.shrunk)


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
        raise InputError("families", f"all systems are of {known[0]!r}.", "Compare without `families`.")
    return np.array([known.index(family) for family in of_each])


def _check_systems(post: Posterior | Marginal, dim: str) -> None:
    checks.leading_dim("dim", dim, post.dims, "Name one, or give b.")
    if post.leading.sizes[dim] < 2:
        raise InputError("dim", f"there is one system along {dim!r}, and nothing to compare it with.")


def _of_two_posteriors(first: Posterior, second: Posterior, metric: str | Metric, asked: Asked) -> Comparison:
    """Compare two posteriors, or two predictions, element by element along their leading dims."""
    if first.labels != second.labels or first.pos_label != second.pos_label:
        raise InputError(
            "a and b",
            f"differ in their labels: {first.labels} (positive {first.pos_label!r}) and "
            f"{second.labels} (positive {second.pos_label!r}).",
        )
    a, b = first[metric], second[metric]
    check_same_leading(a, b)
    if a.quantity != b.quantity:
        raise InputError("a and b", f"are of different things: {first.estimand!r} and {second.estimand!r}.")
    tested, other = first.examples, second.examples
    if tested is not None and other is not None and not asked.independent and same_class_totals(tested, other):
        if set(CELL_DIMS) <= set(tested.dims) and np.array_equal(tested, other):
            _warn_of_same_counts()
        else:
            together = _OUTCOMES_TOGETHER.format("{'a': a, 'b': b}") if first.graded else first.source.counted_together
            _warn_of_same_totals("a and b", together)
    basis = first.prior_text if first.prior_text == second.prior_text else f"{first.prior_text}; {second.prior_text}"
    return of_two(a, b, asked, f"{basis}; independent systems")


# ── Systems that may have been evaluated on the same examples ──


def _share_totals(examples: xr.DataArray | None, dim: str) -> bool:
    """Whether any two systems along a dim have the same, nonzero, number of examples in every class."""
    if examples is None or dim not in examples.dims:
        return False
    totals = class_totals(examples).transpose(dim, ...).values
    rows = totals.reshape(len(totals), -1)
    rows = rows[rows.any(1)]
    return len(np.unique(rows, axis=0)) < len(rows)


def _warn_of_same_examples(post: Posterior, dim: str, independent: bool) -> None:
    """Warn if the systems along a dim were, or seem to have been, evaluated on the same examples."""
    counts = post.examples
    if counts is not None and same_examples(counts) == dim:
        of_repeats = counts.attrs.get(COUNTED_AGAIN) == REPEAT
        paired = "whole examples, compare(pool(cm).mean" if of_repeats else "the counts instead, compare(cm"
        warn(
            DependenceWarning,
            "BP102",
            f"the systems along {dim!r} were tested on the same examples, and these posteriors take them for "
            f"independent: compare {paired}, metric=..., dim={dim!r}).",
        )
    elif not independent and _share_totals(counts, dim):
        named = f"by={{{dim!r}: names}}, example=ids"
        of_outcomes = _OUTCOMES_TOGETHER.format(f"correct, {named}")
        of_classes = f"ConfusionMatrix.from_predictions(y_true, y_pred, {named})"
        _warn_of_same_totals(f"systems along {dim!r}", of_outcomes if post.graded else of_classes)


def _warn_of_same_totals(systems: str, joint: str) -> None:
    warn(
        DependenceWarning,
        "BP103",
        f"{systems} have the same number of examples in every class, as systems evaluated on the same examples have. "
        f"If they were, compare the joint counts, which say more: compare({joint}, metric=...). If their examples "
        "differ, say so: compare(..., independent=True).",
    )


def _warn_of_same_counts() -> None:
    warn(
        DependenceWarning,
        "BP103",
        "a and b have the same counts, and this comparison takes them for two systems. If they are two models or "
        "priors of one system, look at the figures of both instead; arviz.compare says which model predicts the data "
        "better. If they are two systems, say so: compare(..., independent=True).",
    )


# ── Systems evaluated on the same examples ──


def _compare_counts(cm: Counted, metric: str | Metric, prior: str | priors.Prior | None, asked: Asked) -> Comparison:
    patterns = cm.patterns
    if patterns is None:
        counting = "Outcomes.from_correct" if cm.graded else "ConfusionMatrix.from_predictions"
        raise InputTypeError(
            "a",
            "these counts do not say whether the systems were tested on the same examples.",
            f"If so, name them: {counting}(..., example=ids). If not, compare(bp.posterior(cm), ...).",
        )
    if patterns.dim != asked.dim:
        raise InputError(
            "dim", f"the systems tested on the same examples are along {patterns.dim!r}, not {asked.dim!r}."
        )
    prior = priors.resolve_dirichlet(prior, len(cm.labels), SAME_EXAMPLES)
    _check_dims("a", cm)
    if asked.baseline is not None:
        # The differences of systems that were selected together are as exact as before.
        cm = cm.isel(**{asked.dim: places_with_last(patterns.names, asked.baseline)})
        assert cm.patterns is not None
        patterns = cm.patterns
    marginal = marginal_of_systems(cm, metric, prior, asked.draws, asked.random_seed)
    basis = f"{prior.describe(cm)}; {SAME_EXAMPLES}"
    examples = int(patterns.counts.values.sum(-1).min())
    pairs = cm.pairs if marginal.leading is cm.leading else None
    return of_systems(marginal, asked, False, basis, examples, pairs)
