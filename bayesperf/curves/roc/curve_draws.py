"""Draws of whole ROC curves, by the Bayesian bootstrap or binormal, of one system or of several; kinds of curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

from bayesperf import metrics
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.weights import (
    at_random,
    blocks_of_draws,
    cluster_weights,
    mean_weight,
    tallied,
    unit_size,
    weight_blocks,
)
from bayesperf.curves.roc.called_positive import (
    PartOfCurve,
    PositiveRates,
    Steps,
    interpolated,
    steps_at_scores,
    steps_between_scores,
)
from bayesperf.curves.scored_systems import Examples, orders_of, scores_by_class, stacked
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.classifier_scores import Scores, by_class
from bayesperf.distributions.quadrature import tanh_sinh

# Random streams of one seed: of the curve, of the prevalence, of groups of clusters, and of unseen examples.
_CURVE, _PREVALENCE, _GROUPS, _UNSEEN = 0, 1, 2, 3
# The most clusters, or examples of a class, that have weights of their own. More are put together at random.
_MOST_UNITS = 20_000
# How many numbers an array of draws may hold at once.
_AT_ONCE = 2**18
# Up to this number of scores, drawn curves have a knot at each of them. Of more they have so many between the greatest
# and the smallest scores, and one at each of these: a straight line between its knots is far closer to a curve than
# another draw is.
_ALL_KNOTS, _INNER_KNOTS, _END_KNOTS = 200_000, 20_000, 4_000


def all_thresholds(scores: Scores | BinnedScores) -> Array:
    """Return inf, at which nothing is called positive, then the scores from the greatest down."""
    return np.concatenate([[np.inf], scores.thresholds])


def _drawn_prevalence(scores: Scores | BinnedScores, draws: int, seed: int) -> Array:
    """Return draws of the prevalence by the Bayesian bootstrap of all examples: Beta(positives, negatives)."""
    negative, positive = scores.class_totals
    return np.random.default_rng([seed, _PREVALENCE]).beta(positive, negative, (draws, 1))


@dataclass(frozen=True)
class WeightedCurves(ABC):
    """Draws of a system's ROC curve by weights of the examples; the kinds below say how these are drawn."""

    scores: Scores | BinnedScores
    draws: int
    seed: int
    progressbar: bool

    # From how many examples a class has called positive at the thresholds to the steps of its curve.
    steps = staticmethod(steps_between_scores)

    @abstractmethod
    def weights(self, positive: Steps, negative: Steps) -> Iterator[tuple[Array | Counts, Array | Counts]]:
        """Yield the weights of the steps of positives and of negatives, some draws at a time."""

    @property
    def prevalence(self) -> Array:
        """The prevalence, (draws, 1)."""
        return _drawn_prevalence(self.scores, self.draws, self.seed)

    @cached_property
    def knots(self) -> Array:
        """The thresholds between which curves are straight; if they are very many, most are at both ends."""
        thresholds = all_thresholds(self.scores)
        last = len(thresholds) - 1
        if last <= _ALL_KNOTS:
            return thresholds
        inner = np.linspace(_END_KNOTS, last - _END_KNOTS, _INNER_KNOTS).astype(int)
        places = np.concatenate([np.arange(_END_KNOTS), inner, np.arange(last - _END_KNOTS + 1, last + 1)])
        return np.asarray(thresholds[places])

    def _blocks(self, thresholds: Array) -> Iterator[tuple[PositiveRates, PositiveRates]]:
        """Yield the rates at which positives and negatives are called positive, some draws at a time."""
        negative, positive = (self.steps(of_class) for of_class in self.scores.called(thresholds))
        for of_positive, of_negative in self.weights(positive, negative):
            yield PositiveRates.of(positive, of_positive), PositiveRates.of(negative, of_negative)

    def recall(self, fpr: Array) -> Array:
        """Return the largest recall at given false positive rates, (draws, k)."""
        blocks = self._blocks(self.knots)
        return np.concatenate([interpolated(negative, positive, fpr) for positive, negative in blocks])

    def fpr(self, recall: Array) -> Array:
        """Return the smallest false positive rate at given recalls, (draws, k)."""
        # Seen from its other end, a curve comes to the least false positive rate last.
        specificity = [
            interpolated(positive.negative_rates(), negative.negative_rates(), 1 - recall)
            for positive, negative in self._blocks(self.knots)
        ]
        return 1 - np.concatenate(specificity)

    def rates(self) -> Iterator[tuple[Array, Array]]:
        """Yield false positive rate and recall at all thresholds, (some draws, T) each."""
        for positive, negative in self._blocks(all_thresholds(self.scores)):
            yield negative.at(), positive.at()

    def areas(self, part: PartOfCurve) -> Array:
        """Return the areas of a part of the curves, (draws,)."""
        return np.concatenate([part.areas(*rates) for rates in self._blocks(self.knots)])


class ObservedCurve(WeightedCurves):
    """The observed curve: one draw, in which all examples have the same weight."""

    steps = staticmethod(steps_at_scores)

    @property
    def prevalence(self) -> Array:
        negative, positive = self.scores.class_totals
        return np.array([[positive / (positive + negative)]])

    @cached_property
    def knots(self) -> Array:
        return all_thresholds(self.scores)

    def weights(self, positive: Steps, negative: Steps) -> Iterator[tuple[Counts, Counts]]:
        yield positive.sizes[None, :], negative.sizes[None, :]


def observed_curve(scores: Scores | BinnedScores) -> ObservedCurve:
    """Return the observed curve."""
    return ObservedCurve(scores, draws=1, seed=0, progressbar=False)


class BootstrappedCurves(WeightedCurves):
    """Curves by the Bayesian bootstrap of each class, which take any course between the scores."""

    def weights(self, positive: Steps, negative: Steps) -> Iterator[tuple[Array, Array]]:
        rng = np.random.default_rng([self.seed, _CURVE])
        sizes = np.concatenate([positive.sizes, negative.sizes])
        for weights in weight_blocks(rng, sizes, self.draws, self.progressbar):
            yield weights[:, : len(positive.sizes)], weights[:, len(positive.sizes) :]


# ── Weights of units: examples, groups or clusters of them, and what no example has shown ──


@dataclass(frozen=True)
class CurvesOfUnits(WeightedCurves):
    """Curves by weights of units; a unit has one, whatever gaps it is in."""

    # The units (k, gaps) that share each gap, of positives and of negatives, from the top down.
    units: tuple[Codes, Codes]

    @abstractmethod
    def blocks(self) -> Iterator[Array]:
        """Yield weights of the units, (some draws, units)."""

    def weights(self, positive: Steps, negative: Steps) -> Iterator[tuple[Array, Array]]:
        at_once = max(1, _AT_ONCE // (len(positive.sizes) + len(negative.sizes)))
        tables = list[csr_array]()
        for block in self.blocks():
            tables = tables or [
                _summed(steps, units, block.shape[1])
                for steps, units in zip((positive, negative), self.units, strict=True)
            ]
            for weights in np.split(block, range(at_once, len(block), at_once)):
                of_positive, of_negative = ((table @ weights.T).T for table in tables)
                yield of_positive, of_negative


def _summed(steps: Steps, units: Codes, number: int) -> csr_array:
    """Return the matrix (steps, units) from weights of a number of units to those of steps, given units of gaps."""
    return tallied(np.tile(steps.of_gaps, len(units)), units.ravel(), (len(steps.sizes), number)) / len(units)


@dataclass(frozen=True)
class ClusteredCurves(CurvesOfUnits):
    """Curves by the Bayesian bootstrap of clusters: a weight for each (`cluster_weights`) of all its examples.

    Between scores a gap has half the weight of each neighbour; beyond both ends the other half is the weight of one
    additional example, which systems share that order the examples alike.
    """

    # The numbers of positives and of negatives of each cluster, (2, G).
    sizes: Counts
    # Which of the systems' different orders of the examples it is.
    order: int

    @classmethod
    def of(cls, system: Examples | BinnedScores, draws: int, seed: int, progressbar: bool, order: int) -> Self:
        """Return those of a system."""
        assert isinstance(system, Examples)
        assert system.cluster is not None
        group = at_random(1 + int(system.cluster.max()), _MOST_UNITS, np.random.default_rng([seed, _GROUPS]))
        positive, negative = (group[of_class] for of_class in system.clusters_by_score)
        sizes = np.stack([np.bincount(of_class, minlength=1 + int(group.max())) for of_class in (positive, negative)])
        beyond = sizes.shape[1]
        units = _neighbours(positive, beyond + 1), _neighbours(negative, beyond)
        return cls(system.scores, draws, seed, progressbar, units, sizes, order)

    def blocks(self) -> Iterator[Array]:
        """Yield weights of clusters, and of one more example in either class."""
        rng, rng_of_order = map(np.random.default_rng, ([self.seed, _CURVE], [self.seed, _UNSEEN, self.order]))
        sizes = self.sizes.sum(0)
        for block in blocks_of_draws(self.draws, len(sizes) + 2, self.progressbar):
            of_clusters = cluster_weights(rng, sizes, block).astype(float) / mean_weight(len(sizes))
            unseen = rng.standard_exponential((block, 2))
            if self.order:
                unseen = rng_of_order.standard_exponential((block, 2))
            yield np.hstack([of_clusters, unseen])

    @property
    def prevalence(self) -> Array:
        drawn = [weights[:, :-2] for weights in self.blocks()]
        return np.concatenate([(each @ self.sizes[0] / (each @ self.sizes.sum(0)))[:, None] for each in drawn])


def _neighbours(cluster: Codes, beyond: int) -> Codes:
    """Return the clusters above and below each gap, (2, gaps), from the top down; `beyond` both ends is another."""
    padded = np.concatenate([[beyond], cluster[::-1], [beyond]])
    return np.stack([padded[:-1], padded[1:]])


# ── Curves of systems on the same examples ──


@dataclass(frozen=True)
class PairedCurves(CurvesOfUnits):
    """Curves of one of several systems on the same examples, by weights that all of them share."""

    # The mean weight of each unit, and the cluster of each example, if any.
    sizes: Array
    cluster: Codes | None

    def blocks(self) -> Iterator[Array]:
        return weight_blocks(np.random.default_rng(self.seed), self.sizes, self.draws, self.progressbar, self.cluster)


def curves_of_systems(
    systems: Sequence[Examples | BinnedScores], draws: int, seed: int, progressbar: bool
) -> Sequence[WeightedCurves]:
    """Return draws of the curves of systems on the same examples, by one set of weights."""
    first = systems[0]
    if isinstance(first, Examples) and first.cluster is not None:
        pairs = zip(systems, orders_of(np.hstack(stacked(systems))).tolist(), strict=True)
        return [ClusteredCurves.of(each, draws, seed, progressbar, order) for each, order in pairs]
    if len(systems) > 1:
        return paired_curves(systems, draws, seed, progressbar, _MOST_UNITS)
    return [BootstrappedCurves(scores_by_class(first), draws, seed, progressbar)]


def paired_curves(
    given: Sequence[Examples | BinnedScores], draws: int, seed: int, progressbar: bool, most: int | None = None
) -> Sequence[WeightedCurves]:
    """Return draws of the curves of systems by weights of the examples (or of their clusters) that all of them share.

    A positive has the weight of the gap just above its score, a negative the weight of the gap just below. With weights
    of the scores alone, parts of curves are too large, and their intervals too narrow. In the remaining gap, below all
    positives or above all negatives, a class overlaps the other unseen: each system has its own there, unless it orders
    the examples as another does. At most so many examples of a class have weights of their own; more are put together
    at random.
    """
    systems = [each for each in given if isinstance(each, Examples)]
    positive, negative = stacked(systems)
    cluster, totals = systems[0].cluster_by_class, (positive.shape[1], negative.shape[1])
    orders = orders_of(np.hstack([positive, negative]))
    # If the classes overlap in no cluster, only clusters can show how rarely they do.
    separated = cluster is not None and any(system.scores.separated for system in systems)
    by_class = np.split(cluster, [totals[0]]) if cluster is not None and separated else [None, None]
    # Mean weights of the gaps below all positives and above all negatives, of each order of the examples.
    beyond = np.repeat([unit_size(codes) for codes in by_class], 1 + orders.max())
    rng = np.random.default_rng([seed, _GROUPS])
    of_positives, of_negatives = (at_random(number, most or number, rng) for number in totals)
    of_negatives += 1 + of_positives.max()
    units = 1 + of_negatives.max()
    # The units, then both gaps of each order.
    sizes = np.concatenate([np.ones(units), beyond])
    curves = []
    for system, order, own, others in zip(systems, orders.tolist(), positive, negative, strict=True):
        below, above = units + order, units + order + 1 + orders.max()
        falling = (np.argsort(-of_class, kind="stable") for of_class in (own, others))
        of_gaps = [of_class[places] for of_class, places in zip((of_positives, of_negatives), falling, strict=True)]
        gaps = np.append(of_gaps[0], below)[None], np.append(above, of_gaps[1])[None]
        curves.append(PairedCurves(system.scores, draws, seed, progressbar, gaps, sizes, cluster))
    return curves


@dataclass(frozen=True)
class Binormal:
    """Draws of curves recall = Φ(a + b Φ⁻¹(fpr)), for scores that are normal in either class."""

    scores: Scores
    seed: int
    # Parameters of the curve, (draws, 1).
    a: Array
    b: Array
    # Mean and standard deviation of the scores of negatives and of positives, (draws, 2).
    mean: Array
    spread: Array

    @classmethod
    def fitted(cls, scores: Scores, draws: int, seed: int) -> Binormal:
        """Return the posterior of the model ``binormal_roc`` with its default priors, drawn from its closed form."""
        from bayesperf.models import binormal_roc

        rng = np.random.default_rng([seed, _CURVE])
        drawn = binormal_roc.exact(by_class(scores), None, [rng], (1, draws))
        a, b, mean, spread = (drawn[name].values[0] for name in ("a", "b", "mean", "spread"))
        return cls(scores, seed, a[:, None], b[:, None], mean, spread)

    @property
    def prevalence(self) -> Array:
        return _drawn_prevalence(self.scores, len(self.a), self.seed)

    def recall(self, fpr: Array) -> Array:
        return np.asarray(ndtr(self.a + self.b * ndtri(fpr)))

    def fpr(self, recall: Array) -> Array:
        return np.asarray(ndtr((ndtri(recall) - self.a) / self.b))

    def rates(self) -> Iterator[tuple[Array, Array]]:
        thresholds = all_thresholds(self.scores)
        for mean, spread in zip(self.mean, self.spread, strict=True):
            above = ndtr((mean[:, None] - thresholds) / spread[:, None])
            yield above[:1], above[1:]

    def areas(self, part: PartOfCurve) -> Array:
        along = self.recall if part.rate == "fpr" else lambda recall: 1 - self.fpr(recall)
        return part.scaled(integral(along, part.low, part.high))


type RocDraws = WeightedCurves | Binormal


def integral(along: Callable[[Array], Array], low: float, high: float) -> Array:
    """Return the integrals of drawn functions from low to high, however steep their ends are, (draws,)."""
    node, _, weight = tanh_sinh()
    return np.asarray((high - low) * (along(low + (high - low) * node) * weight).sum(-1))


# ── Kinds of curves, and thresholds that meet a target ──

# Values of x at which the bands of ROC curves are drawn.
EVEN = np.linspace(0, 1, 201)


class CurveKind(NamedTuple):
    """A kind of curve."""

    # Its name.
    name: str
    # The metrics on its axes.
    x: str
    y: str
    # From the scores to the values of x at which bands are drawn.
    grid: Callable[[Scores | BinnedScores], Array]
    # From drawn ROC curves and values of x to those of y, (draws, k).
    along: Callable[[RocDraws, Array], Array]
    # From the scores to the thresholds of the points that are drawn, descending.
    thresholds: Callable[[Scores | BinnedScores], Array]

    def points(self, tp: Counts, fn: Counts, fp: Counts, tn: Counts) -> tuple[Array, Array]:
        """Return both metrics of counts; precision is 1 where nothing is called positive, as in scikit-learn."""
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
        with np.errstate(invalid="ignore"):
            x, y = (m.function(**{name: cells[name] for name in m.arguments}) for m in self.metrics)
        return x, np.where(np.isnan(y), 1.0, y)

    @property
    def metrics(self) -> tuple[metrics.Metric, metrics.Metric]:
        """The metrics on its axes."""
        return metrics.get(self.x), metrics.get(self.y)


def _grid_in_normal_deviates(scores: Scores | BinnedScores) -> Array:
    """Return points evenly spaced in normal deviates, as far out as 1 in n + 1 of n negatives (1 in 20 at least)."""
    reach = ndtri(1 / max(scores.class_totals[0] + 1, 20))
    return np.asarray(ndtr(reach * (1 - 2 * EVEN)))


def _fnr(drawn: RocDraws, fpr: Array) -> Array:
    return 1 - drawn.recall(fpr)


def _precision(drawn: RocDraws, recall: Array) -> Array:
    """Return the precision at given recalls: between two thresholds both counts change evenly, precision does not.

    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves, ICML.
    """
    prevalence = drawn.prevalence
    tp, fp = prevalence * recall, (1 - prevalence) * drawn.fpr(recall)
    return np.asarray(metrics.get("precision").function(tp=tp, fp=fp))


def _between_no_errors(scores: Scores | BinnedScores) -> Array:
    """Return the thresholds from the last one without a false positive to the first without a false negative."""
    thresholds = all_thresholds(scores)
    false, true = scores.called(thresholds)
    first = int(np.searchsorted(false, 0, side="right")) - 1
    return thresholds[first : int(np.searchsorted(true, true[-1])) + 1]


CURVE_KINDS = {
    kind.name: kind
    for kind in (
        CurveKind("roc", "fpr", "recall", lambda _: EVEN, lambda drawn, fpr: drawn.recall(fpr), all_thresholds),
        CurveKind("precision_recall", "recall", "precision", lambda _: EVEN[1:], _precision, all_thresholds),
        CurveKind("det", "fpr", "fnr", _grid_in_normal_deviates, _fnr, _between_no_errors),
    )
}


# From the false positive rates and recalls at all thresholds, (draws, T), and the prevalence, (draws, 1), to the number
# of the threshold that meets a target in each draw, (draws,).
Choice = Callable[[Array, Array, Array], Codes]


def threshold_choice(fpr: float | None, recall: float | None, cost: Any) -> tuple[str, Choice]:
    """Return a target in words, and a function that chooses the threshold that meets it."""
    options = {"fpr": fpr, "recall": recall, "cost": cost}
    targets = {name: value for name, value in options.items() if value is not None}
    if len(targets) != 1:
        got = ", ".join(targets) or "none"
        raise InputTypeError("operating_point", f"takes one target: fpr, recall or cost; it got {got}.")
    ((name, value),) = targets.items()
    return {"fpr": _greatest_fpr, "recall": _least_recall, "cost": _least_cost}[name](value)


def _greatest_fpr(target: Any) -> tuple[str, Choice]:
    """Choose the lowest threshold whose false positive rate is at most the target."""
    most = checks.probability("fpr", target)
    return f"lowest threshold with fpr ≤ {most:g}", lambda fpr, *_: (fpr <= most).sum(-1) - 1


def _least_recall(target: Any) -> tuple[str, Choice]:
    """Choose the highest threshold whose recall is at least the target."""
    least = checks.probability("recall", target)
    return f"highest threshold with recall ≥ {least:g}", lambda _, recall, __: (recall < least).sum(-1)


def _least_cost(target: Any) -> tuple[str, Choice]:
    """Choose the threshold of least mean cost, the lowest of several."""
    if not isinstance(target, tuple | list) or len(target) not in (2, 3):
        raise InputTypeError("cost", f"must be (cost_fp, cost_fn) or (cost_fp, cost_fn, prevalence); it is {target!r}.")
    of_fp, of_fn = (checks.number(name, cost) for name, cost in zip(("cost_fp", "cost_fn"), target, strict=False))
    if not (0 < of_fp < np.inf and 0 < of_fn < np.inf):
        raise InputError("cost", f"both costs must be greater than 0 and finite; they are {of_fp:g} and {of_fn:g}.")
    fixed = checks.probability("cost: the prevalence", target[2]) if len(target) == 3 else None

    def choose(fpr: Array, recall: Array, prevalence: Array) -> Codes:
        positives = prevalence if fixed is None else fixed
        mean_cost = of_fp * (1 - positives) * fpr + of_fn * positives * (1 - recall)
        return np.asarray(fpr.shape[-1] - 1 - mean_cost[:, ::-1].argmin(-1))

    at = "the observed prevalence" if fixed is None else f"prevalence {fixed:g}"
    return f"least cost, {of_fp:g} a false positive and {of_fn:g} a false negative, at {at}", choose
