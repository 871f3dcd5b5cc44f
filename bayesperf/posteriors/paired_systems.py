"""The joint posterior of systems evaluated on the same examples: joint draws, and weights of discordant examples.

With K classes and M systems the pattern of an example is (i, j_1, …, j_M): its actual class and the prediction of each
system. Outcome probabilities have a Dirichlet prior with weights α_i· Π_m α_ij_m/α_i·, so that the marginal posterior
of each system is Dirichlet(α + its counts), as if it were evaluated alone. If α is the same in all cells, the weight of
a pattern is α/K^(M−1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain, combinations
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf import distributions
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, blocks, pairs_of, positions
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.core.weights import tallied
from bayesperf.data.count_arrays import as_outcomes
from bayesperf.data.counted import Counted
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.data.response_patterns import ResponsePatterns
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.drawing import LEAST_MASS, gamma_masses
from bayesperf.distributions.draws import Draws, DrawsWithoutMoments, Sampled
from bayesperf.metrics.arguments import cells_of
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.posterior import DRAWS, Posterior, leading_of
from bayesperf.posteriors.posterior_under_prior import posterior_under_prior
from bayesperf.posteriors.process_rows import class_sums, is_sparse
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.sources.stored_draws import SameExamples, stored

__all__ = ["ResponsePatterns", "discordant_weights", "joint_posterior", "pseudo_counts"]

# What has a joint posterior under a Dirichlet prior only.
SAME_EXAMPLES = "systems tested on the same examples"
# The fraction of a row's prior mass that is drawn for each system separately, and the maximum number of joint atoms.
_TAIL, _MOST_STICKS = 1e-4, 512
# Maximum size of temporary arrays while cells are summed.
_BLOCK = 2**20


def joint_posterior(
    patterns: ResponsePatterns, prior: str | priors.Prior | None = None, draws: int = DRAWS, random_seed: Any = 0
) -> Posterior:
    """Return joint draws of the cells of systems evaluated on the same examples.

    The prior is that of each system's cells, as in `bayesperf.posterior`; for more than two classes by default Perks'.

    Returns
    -------
    Posterior
        Cells (…, system, chain, draw, actual, predicted), with one chain.

    Raises
    ------
    ValueError
        If the prior is a rate prior, or gives an actual class different weights for different systems.

    Notes
    -----
    The row of actual class i is a Dirichlet process on the joint predictions of all systems, independent of other rows.
    Its mass is the sum of two parts: a Gamma variable of shape n for each pattern seen n times, and one of shape α_i·
    that stick-breaking distributes over atoms from the base measure (Sethuraman 1994, A constructive definition of
    Dirichlet priors). The remainder after the last stick is again such a process; each system receives its margin,
    Dirichlet(α_i), drawn independently. The cells of each system are therefore exactly Dirichlet, and the dependence
    between systems is neglected for about 1e-4 of the prior's mass. (If α_i· is above 50, it is neglected for more of
    it: the margins of such a process are uncorrelated and then nearly Gaussian, hence nearly independent.)

    Examples
    --------
    >>> import bayesperf as bp
    >>> from bayesperf.posteriors.paired_systems import joint_posterior
    >>> pair = bp.ConfusionMatrix.from_predictions([1, 1, 0, 0], {"a": [1, 1, 0, 1], "b": [1, 0, 0, 1]})
    >>> accuracy = joint_posterior(pair.patterns)["accuracy"].joint_draws(1000)
    >>> bool((accuracy.sel(model="a") > accuracy.sel(model="b")).mean() > 0.5)
    True
    """
    draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    prior = priors.resolve_dirichlet(prior, len(patterns.labels), SAME_EXAMPLES)
    cm = margins(patterns)
    alpha = pseudo_counts(cm, prior)
    cells = np.empty((*alpha.shape[:2], draws, *alpha.shape[2:]))
    places = zip(cells, alpha, _counts_by_place(patterns), _streams(patterns, alpha, seed), strict=True)
    for of_place, weights, counts, rng in places:
        seen = counts > 0
        _draw_cells(of_place, rng, weights, counts[seen], patterns.actual[seen], patterns.predicted[seen])
    each = posterior_under_prior(cm, prior, random_seed=seed, draws=draws)
    return replace(each, source=SameExamples(stored(cells, each.template), alone=each.source))


@dataclass(frozen=True, eq=False)
class DrawsOfPatterns(Sampled):
    """Joint draws of a proportion for systems evaluated on the same examples, made on demand.

    The weights of the discordant examples give the exact difference of two systems.
    """

    # As in `joint_marginal`.
    patterns: ResponsePatterns
    metric: Metric
    prior: priors.Prior
    n_draws: int
    random_seed: int
    leading: xr.DataArray
    # Those of `discordant_weights`.
    weights: tuple[Array, Array, Array]
    bounds: tuple[float, float]
    independent_draws: bool = True

    @cached_property
    def alone(self) -> Marginal:
        """The proportion of each system by itself."""
        return posterior_under_prior(margins(self.patterns), self.prior)[self.metric]

    @cached_property
    def values(self) -> Array:  # type: ignore[override]
        """The draws, (m, chains, n)."""
        joint = joint_marginal(self.patterns, self.metric, self.prior, self.n_draws, self.random_seed)
        rows = positions(joint.leading)
        assert isinstance(joint.distribution, Draws)
        return np.asarray(joint.distribution.values[rows.transpose(*self.leading.dims).values.ravel()])

    @property
    def size(self) -> int:
        return self.leading.size

    def take(self, index: Codes | slice) -> Draws:  # type: ignore[override]
        return Draws(self.values[index], self.bounds, self.independent_draws)

    def contrast(
        self, what: str, operation: Any, bounds: tuple[float, float], rows: tuple[Codes, Codes]
    ) -> distributions.differences.Discordant | Draws | None:
        if what == "difference":
            return distributions.differences.discordant(*self.weights)
        # The mean of 1/X diverges if X ~ Beta(a, b) and a ≤ 1, which a mean of draws would hide.
        diverges = cast(Beta, self.alone.distribution).a[rows[1], 0] <= 1
        if not diverges.any():
            return None
        values = operation(*(self.values[side] for side in rows))
        return DrawsWithoutMoments(values, bounds, self.independent_draws, means=np.where(diverges, np.inf, 0.0))


@dataclass(frozen=True, eq=False)
class OnSameExamples(Origin):
    """A proportion of systems evaluated on the same examples."""

    drawn: DrawsOfPatterns

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        seed = self.drawn.random_seed if random_seed is None else random_seed
        return self.drawn.resample(draws, np.random.default_rng(seed))

    def observed(self) -> xr.DataArray | None:
        return self.drawn.alone.observed


def marginal_of_systems(
    cm: Counted, metric: str | Metric, prior: priors.Prior, draws: int, random_seed: int
) -> Marginal:
    """Return a metric of systems evaluated on the same examples; differences of proportions are exact.

    It takes counts with response patterns, and the other arguments of `joint_marginal`.
    """
    patterns = cm.patterns
    assert patterns is not None
    if cm.dims != (*patterns.counts.dims[:-1], patterns.dim):
        cm = margins(patterns)
    weights = _weights_of_pairs(cm, patterns, metric, prior)
    if weights is None:
        return replace(joint_marginal(patterns, metric, prior, draws, random_seed), joint=True)
    metric = applicable(metric, cm.labels, cm.positive, cm.dims, cm.graded)
    leading = leading_of(metric, cm.leading, cm.labels)
    drawn = DrawsOfPatterns(
        patterns=patterns,
        metric=metric,
        prior=prior,
        n_draws=draws,
        random_seed=random_seed,
        leading=leading,
        weights=weights,
        bounds=metric.bounds,
    )
    origin = OnSameExamples(drawn)
    return Marginal(Quantity.of(metric), drawn, leading, origin, random_seed=random_seed, examples=cm.cells, joint=True)


def joint_marginal(
    patterns: ResponsePatterns,
    metric: str | Metric,
    prior: str | priors.Prior | None,
    draws: int,
    random_seed: Any,
) -> Marginal:
    """Return joint draws of a metric for systems evaluated on the same examples.

    The result is ``joint_posterior(...)[metric]``, with the arguments of `joint_posterior`. The cells of a thousand
    classes would not fit in memory: with more than thirty classes, each with a prior weight of at most 1 (such as
    Perks'), only the sums of the classes are drawn if the metric needs no more.
    """
    draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    prior = priors.resolve_dirichlet(prior, len(patterns.labels), SAME_EXAMPLES)
    cm = margins(patterns)
    each = posterior_under_prior(cm, prior, random_seed=seed, draws=draws)
    metric, alpha = each.applicable(metric), pseudo_counts(cm, prior)
    if metric.needs_cells or not is_sparse(alpha):
        return joint_posterior(patterns, prior, draws, seed)[metric]
    each.source.refuse_undefined(each, metric)
    values = []
    for weights, counts, rng in zip(alpha, _counts_by_place(patterns), _streams(patterns, alpha, seed), strict=True):
        seen = counts > 0
        sums = class_sums(rng, weights, counts[seen], patterns.actual[seen], patterns.predicted[seen], draws)
        values.append(np.concatenate([metric.of_class_sums(block) for block in sums], axis=1))
    by_draw = np.moveaxis(np.stack(values), 2, -1).reshape(-1, 1, draws)
    leading = each.leading_of(metric)
    return Marginal(Quantity.of(metric), Draws(by_draw, metric.bounds, True), leading, random_seed=seed)


def margins(patterns: ResponsePatterns) -> Counted:
    """Return the matrix, or the patterns, of every system."""
    each = patterns.margins()
    return (
        Outcomes(as_outcomes(each), patterns)
        if patterns.graded
        else ConfusionMatrix(each, patterns.pos_label, patterns)
    )


def pseudo_counts(cm: Counted, prior: priors.Prior) -> Array:
    """Return α for each element of the leading dims and each system, (p, M, K, K)."""
    alpha = prior.concentration(cm)
    of_classes = alpha.sum(-1)
    if (np.abs(of_classes - of_classes[..., :1, :]) > 1e-9 * of_classes[..., :1, :]).any():
        raise InputError(
            "prior",
            f"along {cm.dims[-1]!r} the pseudo-counts of an actual class sum to different weights.",
            "Systems tested on the same examples share the actual classes: make each row sum to "
            "the same for all of them.",
        )
    return np.asarray(alpha.reshape(-1, *alpha.shape[-3:]))


def _counts_by_place(patterns: ResponsePatterns) -> NDArray[np.int64]:
    """Return the counts of patterns for each element of the leading dims, (p, pattern)."""
    return patterns.counts.values.reshape(-1, len(patterns.actual))


def _streams(patterns: ResponsePatterns, alpha: Array, seed: int) -> list[np.random.Generator]:
    known = np.column_stack([patterns.actual, patterns.predicted])
    contents = [
        np.concatenate([weights.ravel(), np.column_stack([counts, known])[counts > 0].ravel()])
        for weights, counts in zip(alpha, _counts_by_place(patterns), strict=True)
    ]
    purpose = f"joint {patterns.dim} {list(patterns.names)}"
    return streams(seed, purpose, patterns.counts.sum("pattern"), contents)


# ── Draws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _draw_cells(
    cells: Array,
    rng: np.random.Generator,
    alpha: Array,
    counts: NDArray[np.int64],
    actual: NDArray[np.intp],
    predicted: NDArray[np.intp],
) -> None:
    """Fill `cells` with draws (M, n, K, K) of all systems, given α (M, K, K) and the observed patterns."""
    systems, draws, classes, _ = cells.shape
    for row in range(classes):
        at = actual == row
        for block in blocks(draws, max(int(at.sum()), systems * classes, _MOST_STICKS), _BLOCK):
            n = block.stop - block.start
            cells[:, block, row] = process_masses(rng, n, alpha[:, row], counts[at], predicted[at])
    # A cell of tiny weight can underflow to 0, and a row or column of such cells to 0/0.
    np.maximum(cells, np.where(alpha > 0, LEAST_MASS, 0)[:, None], out=cells)
    cells /= cells.sum((-2, -1), keepdims=True)


def process_masses(
    rng: np.random.Generator,
    n: int,
    alpha: Array,
    counts: NDArray[np.int64],
    patterns: NDArray[np.intp],
    systems: int = 1,
) -> Array:
    """Return Gamma masses (M, n, K) of the margins of a Dirichlet process on patterns, given the observed ones.

    `alpha` (M, K) holds the prior weights of each of M margins, all with the same sum; `counts` (o,) says how often
    each of the `patterns` (o, M) was seen. If there are several `systems`, each label has a margin of four cells for
    every one, in turn: all of a label share its true class.
    """
    return _seen_masses(rng, n, counts, patterns, alpha.shape[1]) + _prior_masses(rng, n, alpha, systems)


def _seen_masses(
    rng: np.random.Generator, n: int, counts: NDArray[np.int64], predicted: NDArray[np.intp], classes: int
) -> Array:
    """Return Gamma masses (M, n, K) of one row's cells from the observed patterns."""
    kinds, systems = predicted.shape
    cell = (np.arange(systems) * classes + predicted).ravel()
    pattern = np.repeat(np.arange(kinds), systems)
    masses = tallied(cell, pattern, (systems * classes, kinds)) @ rng.standard_gamma(counts[:, None], (kinds, n))
    return np.asarray(masses.reshape(systems, classes, n).swapaxes(1, 2))


def _prior_masses(rng: np.random.Generator, n: int, alpha: Array, systems: int) -> Array:
    """Return Gamma masses (M, n, K) of one row's cells from the prior α (M, K): margins of a Dirichlet process."""
    weight = float(alpha[0].sum())
    shares = np.zeros((len(alpha), n, alpha.shape[1]))
    if not weight:
        return shares
    sticks = min(4 - math.floor(weight * math.log(_TAIL)), _MOST_STICKS)
    left = np.exp(-rng.standard_exponential((n, sticks)).cumsum(1) / weight)
    broken = -np.diff(left, prepend=1)
    for system, of_class in enumerate(alpha):
        uniform = rng.random((n, sticks))
        if systems > 1:
            # Within the half of the true class that all systems of a label share.
            if system % systems == 0:
                actual = rng.random((n, sticks))
            edge = of_class[: len(of_class) // 2].sum() / weight
            uniform = np.where(actual < edge, edge * uniform, edge + (1 - edge) * uniform)
        atoms = np.repeat(len(of_class) * np.arange(n)[:, None], sticks, 1)
        for edge in of_class.cumsum()[:-1] / weight:
            atoms += uniform >= edge
        shares[system] = np.bincount(atoms.ravel(), broken.ravel(), shares[system].size).reshape(n, -1)
        rest = gamma_masses(rng, of_class, (n, len(of_class)))
        shares[system] += left[:, -1:] * rest / rest.sum(1, keepdims=True)
    return rng.standard_gamma(weight, (n, 1)) * shares


# ── Pairs of systems ─────────────────────────────────────────────────────────────────────────────────────────────────


def discordant_weights(
    patterns: ResponsePatterns, metric: str | Metric, prior: str | priors.Prior | None = None
) -> tuple[Array, Array, Array] | None:
    """Return the Dirichlet weights of the examples on which exactly one of two systems succeeds, for each pair.

    The metric is a proportion of the examples of certain actual classes, such as accuracy, error rate, recall or
    specificity; the prior is that of each system's cells, as for `joint_posterior`.

    Returns
    -------
    first, second, rest : numpy.ndarray (…, pair)
        Dirichlet weights of the examples that the metric covers: success by the first system only, by the second only,
        and all others; pairs are in the order of `itertools.combinations`. The difference between the two metrics is
        the probability of `first` minus the probability of `second`. If a metric has one value per class, the axis
        before the last is ``label``.
    None
        If the metric is not such a proportion.

    Raises
    ------
    ValueError
        If a weight is zero (an improper prior and no such example), or the prior is a rate prior.

    Examples
    --------
    >>> import bayesperf as bp
    >>> from bayesperf.posteriors.paired_systems import discordant_weights
    >>> systems = {"a": [1] * 9 + [0] * 3, "b": [1] * 6 + [0] * 3 + [1, 0, 0]}
    >>> pair = bp.ConfusionMatrix.from_predictions([1] * 12, systems, labels=[0, 1])
    >>> discordant_weights(pair.patterns, "accuracy")
    (array([3.5]), array([1.5]), array([9.]))
    """
    return _weights_of_pairs(margins(patterns), patterns, metric, prior)


def _weights_of_pairs(
    cm: Counted, patterns: ResponsePatterns, metric: str | Metric, prior: str | priors.Prior | None
) -> tuple[Array, Array, Array] | None:
    """Return `discordant_weights` for patterns with the given margins."""
    positive = patterns.positive
    metric = applicable(metric, patterns.labels, positive, patterns.counts.dims[:-1], patterns.graded)
    classes = len(patterns.labels)
    each = range(classes) if metric.average == "per_class" else [1 if positive is None else positive]
    judged = (_judged_cells(metric, patterns, place) for place in each)
    if (first_judged := next(judged)) is None:
        return None
    prior = priors.resolve_dirichlet(prior, classes, SAME_EXAMPLES)
    alpha = pseudo_counts(cm, prior)
    by_class = [_discordant_weights(patterns, alpha, cells) for cells in chain([first_judged], judged) if cells]
    # (side, p, label, pair), without the labels where the metric is one figure.
    weights = np.stack(by_class, -2) if metric.average == "per_class" else by_class[0]
    leading = patterns.counts.shape[:-1]
    first, second, rest = weights.reshape(3, *leading, *weights.shape[2:])
    if (weights <= 0).any():
        _refuse_improper(metric, patterns, {"one": first, "other": second, "rest": rest}, prior.describe(cm))
    return first, second, rest


def _discordant_weights(
    patterns: ResponsePatterns, alpha: Array, judged: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> Array:
    """Return the weights of success by one system only, by the other only, and of the rest, (3, p, pair)."""
    of_class = alpha[:, 0].sum(-1)
    spread = np.divide(1, of_class, out=np.zeros_like(of_class), where=of_class > 0)[:, None]
    place, counts = (patterns.actual[:, None], patterns.predicted), _counts_by_place(patterns)[:, None]
    seen = [cells[place].astype(float) for cells in judged]
    believed = [(alpha * cells).sum(-1) for cells in judged]

    def together(one: int, other: int) -> Array:
        """Return the weight of examples with success (0) or failure (1) for each of two systems, (p, M, M)."""
        weight: Array = (counts * seen[one].T) @ seen[other]
        weight += (spread * believed[one]) @ believed[other].swapaxes(1, 2)
        return weight

    apart, alike = together(0, 1), together(0, 0) + together(1, 1)
    i, j = pairs_of(len(patterns.names))
    return np.stack([apart[..., i, j], apart[..., j, i], alike[..., i, j]])


def _refuse_improper(metric: Metric, patterns: ResponsePatterns, parts: Mapping[str, Array], prior_text: str) -> None:
    """Raise if neither the data nor the prior puts weight on examples that the difference needs."""
    form, pairs = metric.exact_form(len(patterns.labels)), list(combinations(patterns.names, 2))
    assert isinstance(form, Proportion)
    success = " + ".join(form.success)
    dims = patterns.counts.dims[:-1]
    for part, weights in parts.items():
        for at in np.argwhere(weights <= 0):
            a, b = map(repr, pairs[at[-1]])
            what = {"one": f"{success} for {a} alone", "other": f"{success} for {b} alone", "rest": "alike for both"}
            where = [f"{dim}={patterns.counts[dim].values[i]!s}" for dim, i in zip(dims, at, strict=False)]
            where += [f"label={patterns.labels[i]!s}" for i in at[len(dims) : -1]]
            raise InputError(
                "metric",
                f"{metric.name!r}, {a} against {b}{f' at {", ".join(where)}' if where else ''}: no "
                f"example has been seen that is {what[part]}, and the prior ({prior_text}) puts no "
                "weight there, so the posterior of the difference is improper.",
                "Use a proper prior, as 'flat' or 'jeffreys'.",
            )


def discordant_counts(
    patterns: ResponsePatterns, metric: Metric
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray] | None:
    """Return, for two systems, the numbers of examples on which only the first or the second succeeds, and of trials.

    They are arrays over the leading dims; None if the metric is not a proportion of the examples of certain actual
    classes.
    """
    positive = 1 if patterns.positive is None else patterns.positive
    judged = _judged_cells(metric, patterns, positive) if metric.average is None else None
    if judged is None:
        return None
    success, failure = judged
    first, second = (success[patterns.actual, predicted] for predicted in patterns.predicted.T)
    covered = (success | failure)[patterns.actual, patterns.predicted[:, 0]]
    only_first, only_second, trials = (
        (patterns.counts * of.astype(int)).sum("pattern")
        for of in (first & ~second & covered, second & ~first & covered, covered)
    )
    return only_first, only_second, trials


def _judged_cells(
    metric: Metric, patterns: ResponsePatterns, positive: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return the cells (K, K), or (1, K) of grades, that are a success or a failure of a metric.

    None unless the metric is a proportion of the examples of certain actual classes, decided by the prediction.
    """
    classes = len(patterns.labels)
    form = metric.exact_form(classes)
    if not isinstance(form, Proportion):
        return None
    success, failure = (
        reduce(np.logical_or, (cells_of(name, classes, positive, patterns.graded) for name in names))
        for names in (form.success, form.failure)
    )
    judged = success | failure
    rows_are_whole = (judged == judged[:, :1]).all()
    rows_are_split = (success.any(1) & failure.any(1)).any()
    return (success, failure) if rows_are_whole and rows_are_split else None
