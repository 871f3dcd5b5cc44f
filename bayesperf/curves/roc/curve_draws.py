"""Draws of whole ROC curves, by the Bayesian bootstrap or binormal, of one system or of several; kinds of curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
from bayesperf.curves.scored_systems import SystemScores, orders_of
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


class RocDraws(ABC):
    """Draws of a system's ROC curve, and of the prevalence."""

    scores: Scores | BinnedScores

    @property
    @abstractmethod
    def prevalence(self) -> Array:
        """The prevalence, (draws, 1)."""

    @abstractmethod
    def recall(self, fpr: Array) -> Array:
        """Return the largest recall at given false positive rates, (draws, k)."""

    @abstractmethod
    def fpr(self, recall: Array) -> Array:
        """Return the smallest false positive rate at given recalls, (draws, k)."""

    @abstractmethod
    def rates(self) -> Iterator[tuple[Array, Array]]:
        """Yield false positive rate and recall at all thresholds, (some draws, T) each."""

    @abstractmethod
    def areas(self, part: PartOfCurve) -> Array:
        """Return the areas of a part of the curves, (draws,)."""

    @property
    def thresholds(self) -> Array:
        """The thresholds (T,): inf, then the scores from the greatest down."""
        return np.concatenate([[np.inf], self.scores.thresholds])

    def _drawn_prevalence(self, draws: int, seed: int) -> Array:
        """Return draws of the prevalence by the Bayesian bootstrap of all examples: Beta(positives, negatives)."""
        rng = np.random.default_rng([seed, _PREVALENCE])
        negative, positive = self.scores.class_totals
        return rng.beta(positive, negative, (draws, 1))


class WeightedCurves(RocDraws):
    """Curves that weights of the examples make."""

    steps: Callable[[Counts], Steps] = staticmethod(steps_between_scores)

    @abstractmethod
    def _weights_of(self, positive: Steps, negative: Steps) -> Iterator[tuple[Array | Counts, Array | Counts]]:
        """Yield weights of the steps of positives and of negatives, some draws at a time."""

    @property
    def _knots(self) -> Array:
        """Thresholds between which curves are straight: all of them or, if they are very many, most at both ends."""
        thresholds = self.thresholds
        last = len(thresholds) - 1
        if last <= _ALL_KNOTS:
            return thresholds
        inner = np.linspace(_END_KNOTS, last - _END_KNOTS, _INNER_KNOTS).astype(int)
        places = np.concatenate([np.arange(_END_KNOTS), inner, np.arange(last - _END_KNOTS + 1, last + 1)])
        knots: Array = thresholds[places]
        return knots

    def _blocks(self, thresholds: Array) -> Iterator[tuple[PositiveRates, PositiveRates]]:
        """Yield the rates at which positives and negatives are called positive, some draws at a time."""
        negative, positive = (self.steps(of_class) for of_class in self.scores.called(thresholds))
        for of_positive, of_negative in self._weights_of(positive, negative):
            yield PositiveRates.of(positive, of_positive), PositiveRates.of(negative, of_negative)

    def recall(self, fpr: Array) -> Array:
        blocks = self._blocks(self._knots)
        return np.concatenate([interpolated(negative, positive, fpr) for positive, negative in blocks])

    def fpr(self, recall: Array) -> Array:
        # Seen from its other end, a curve comes to the least false positive rate last.
        specificity = [
            interpolated(positive.negative_rates(), negative.negative_rates(), 1 - recall)
            for positive, negative in self._blocks(self._knots)
        ]
        return 1 - np.concatenate(specificity)

    def rates(self) -> Iterator[tuple[Array, Array]]:
        for positive, negative in self._blocks(self.thresholds):
            yield negative.at_every_threshold(), positive.at_every_threshold()

    def areas(self, part: PartOfCurve) -> Array:
        return np.concatenate([part.areas(*rates) for rates in self._blocks(self._knots)])


@dataclass(frozen=True)
class Observed(WeightedCurves):
    """The observed curve: one draw, in which all examples have the same weight."""

    scores: Scores | BinnedScores
    steps = staticmethod(steps_at_scores)

    @property
    def _knots(self) -> Array:
        return self.thresholds

    @property
    def prevalence(self) -> Array:
        negative, positive = self.scores.class_totals
        return np.array([[positive / (positive + negative)]])

    def _weights_of(self, positive: Steps, negative: Steps) -> Iterator[tuple[Array | Counts, Array | Counts]]:
        yield positive.sizes[None, :], negative.sizes[None, :]


@dataclass(frozen=True)
class Bootstrapped(WeightedCurves):
    """Curves by the Bayesian bootstrap of each class, which take any course between the scores."""

    scores: Scores | BinnedScores
    draws: int
    seed: int
    progressbar: bool

    @property
    def prevalence(self) -> Array:
        return self._drawn_prevalence(self.draws, self.seed)

    def _weights_of(self, positive: Steps, negative: Steps) -> Iterator[tuple[Array | Counts, Array | Counts]]:
        rng = np.random.default_rng([self.seed, _CURVE])
        sizes = np.concatenate([positive.sizes, negative.sizes])
        for weights in weight_blocks(rng, sizes, self.draws, self.progressbar):
            of_positive, of_negative = np.split(weights, [len(positive.sizes)], axis=1)
            yield of_positive, of_negative


class ByUnits(WeightedCurves):
    """Curves by weights of units: examples, groups or clusters of them, and what no example has shown.

    A unit has one weight, whatever gaps it is in.
    """

    @property
    @abstractmethod
    def _units_of_gaps(self) -> tuple[Codes, Codes]:
        """The units (k, gaps) that share each gap, of positives and of negatives, from the top down."""

    @abstractmethod
    def _blocks_of_units(self) -> Iterator[Array]:
        """Yield the weights of the units, (some draws, units)."""

    def _weights_of(self, positive: Steps, negative: Steps) -> Iterator[tuple[Array | Counts, Array | Counts]]:
        both, tables = (positive, negative), list[csr_array]()
        at_once = max(1, _AT_ONCE // (len(positive.sizes) + len(negative.sizes)))
        for block in self._blocks_of_units():
            tables = tables or [
                _summed(steps, units, block.shape[1]) for steps, units in zip(both, self._units_of_gaps, strict=True)
            ]
            for weights in np.split(block, range(at_once, len(block), at_once)):
                of_positive, of_negative = ((table @ weights.T).T for table in tables)
                yield of_positive, of_negative


def _summed(steps: Steps, units: Codes, number: int) -> csr_array:
    """Return the matrix (steps, units) from weights of a number of units to those of steps, given units of gaps."""
    return tallied(np.tile(steps.of_gaps, len(units)), units.ravel(), (len(steps.sizes), number)) / len(units)


@dataclass(frozen=True)
class ClusterBootstrapped(ByUnits):
    """Curves by the Bayesian bootstrap of clusters: a weight for each (`cluster_weights`), which all its examples have.

    Between scores a gap has half the weight of each neighbour; beyond both ends the other half is the weight of one
    additional example, which systems share that order the examples alike.
    """

    scores: Scores
    # Positives and negatives, in the order of their scores.
    clusters: tuple[Codes, Codes]
    draws: int
    seed: int
    progressbar: bool
    # Which of the different orders the system has.
    order: int = 0

    @property
    def prevalence(self) -> Array:
        number = 1 + max(int(of_class.max()) for of_class in self.clusters)
        positive, negative = (np.bincount(of_class, minlength=number) for of_class in self.clusters)
        blocks = [weights[:, :-2] for weights in self._blocks_of_units()]
        return np.concatenate([(w @ positive / (w @ (positive + negative)))[:, None] for w in blocks])

    @property
    def _units_of_gaps(self) -> tuple[Codes, Codes]:
        positive, negative = self.clusters
        beyond = 1 + max(int(positive.max()), int(negative.max()))
        return _neighbours(positive, beyond + 1), _neighbours(negative, beyond)

    def _blocks_of_units(self) -> Iterator[Array]:
        # Clusters, and one more example in either class.
        rng = np.random.default_rng([self.seed, _CURVE])
        rng_of_order = np.random.default_rng([self.seed, _UNSEEN, self.order])
        sizes = np.bincount(np.concatenate(self.clusters))
        for block in blocks_of_draws(self.draws, len(sizes) + 2, self.progressbar):
            of_clusters = cluster_weights(rng, sizes, block).astype(float) / mean_weight(len(sizes))
            unseen = rng.standard_exponential((block, 2))
            if self.order:
                unseen = rng_of_order.standard_exponential((block, 2))
            yield np.hstack([of_clusters, unseen])


def _neighbours(cluster: Codes, beyond: int) -> Codes:
    """Return the clusters above and below each gap, (2, gaps), from the top down; `beyond` both ends is another."""
    padded = np.concatenate([[beyond], cluster[::-1], [beyond]])
    return np.stack([padded[:-1], padded[1:]])


def weighted_curves(
    system: SystemScores, draws: int, seed: int, progressbar: bool, order: int = 0
) -> Bootstrapped | ClusterBootstrapped:
    """Return draws of the curve of one system, by weights of the examples or of their clusters."""
    if system.clusters is None:
        return Bootstrapped(system.scores, draws, seed, progressbar)
    assert isinstance(system.scores, Scores)
    of_positives, of_negatives = system.clusters
    number = 1 + max(int(of_positives.max()), int(of_negatives.max()))
    group = at_random(number, _MOST_UNITS, np.random.default_rng([seed, _GROUPS]))
    clusters = group[of_positives], group[of_negatives]
    return ClusterBootstrapped(system.scores, clusters, draws, seed, progressbar, order)


@dataclass(frozen=True)
class Binormal(RocDraws):
    """Curves recall = Φ(a + b Φ⁻¹(fpr)), for scores that are normal in either class."""

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
        return self._drawn_prevalence(len(self.a), self.seed)

    def recall(self, fpr: Array) -> Array:
        return np.asarray(ndtr(self.a + self.b * ndtri(fpr)))

    def fpr(self, recall: Array) -> Array:
        return np.asarray(ndtr((ndtri(recall) - self.a) / self.b))

    def rates(self) -> Iterator[tuple[Array, Array]]:
        thresholds = self.thresholds
        for mean, spread in zip(self.mean, self.spread, strict=True):
            above = ndtr((mean[:, None] - thresholds) / spread[:, None])
            yield above[:1], above[1:]

    def areas(self, part: PartOfCurve) -> Array:
        along = self.recall if part.rate == "fpr" else lambda recall: 1 - self.fpr(recall)
        return part.scaled(integral(along, part.low, part.high))


def integral(along: Callable[[Array], Array], low: float, high: float) -> Array:
    """Return the integrals of drawn functions from low to high, however steep their ends are, (draws,)."""
    node, _, weight = tanh_sinh()
    return np.asarray((high - low) * (along(low + (high - low) * node) * weight).sum(-1))


# ── Curves of systems on the same examples ──


@dataclass(frozen=True)
class Paired(ByUnits):
    """Curves of one of several systems on the same examples, whose weights all of them share.

    A positive has the weight of the gap just above its score, a negative the weight of the gap just below. With weights
    of the scores alone, parts of curves are too large, and their intervals too narrow. In the remaining gap, below all
    positives or above all negatives, a class overlaps the other unseen: each system has its own there, unless it orders
    the examples as another does.
    """

    scores: Scores
    # The examples of either class from the greatest score down, and which of the different orders that is.
    falling: tuple[Codes, Codes]
    order: int
    # The unit of each example, positives first, that has a weight: the example itself or, of very many, a group.
    unit: Codes
    # Mean weights of the gaps below all positives and above all negatives, of each order of the examples.
    beyond: Array
    draws: int
    seed: int
    progressbar: bool
    # Clusters of the examples, if there are any.
    cluster: Codes | None

    @property
    def prevalence(self) -> Array:
        return self._drawn_prevalence(self.draws, self.seed)

    @property
    def _units_of_gaps(self) -> tuple[Codes, Codes]:
        below = 1 + self.unit.max() + self.order
        above = below + self.beyond.shape[1]
        positives, negatives = np.split(self.unit, [len(self.falling[0])])
        of_positive, of_negative = positives[self.falling[0]], negatives[self.falling[1]]
        return np.append(of_positive, below)[None], np.append(above, of_negative)[None]

    def _blocks_of_units(self) -> Iterator[Array]:
        # The units, then both gaps of each order.
        sizes = np.concatenate([np.ones(1 + self.unit.max()), *self.beyond])
        rng = np.random.default_rng(self.seed)
        return weight_blocks(rng, sizes, self.draws, self.progressbar, self.cluster)


def paired_curves(systems: Sequence[SystemScores], draws: int, seed: int, progressbar: bool) -> list[WeightedCurves]:
    """Return draws of the curves of systems on the same examples, by one set of weights."""
    if len(systems) == 1:
        return [weighted_curves(systems[0], draws, seed, progressbar)]
    positive, negative = (np.stack(of_class) for of_class in zip(*(each.by_example() for each in systems), strict=True))
    if systems[0].clusters is None:
        return [*curves_of_systems(positive, negative, None, draws, seed, progressbar, _MOST_UNITS)]
    orders = orders_of(np.concatenate([positive, negative], 1)).tolist()
    return [weighted_curves(each, draws, seed, progressbar, order) for each, order in zip(systems, orders, strict=True)]


def curves_of_systems(
    positive: Array,
    negative: Array,
    cluster: Codes | None,
    draws: int,
    seed: int,
    progressbar: bool,
    most: int | None = None,
) -> list[Paired]:
    """Return draws of the curves of systems with scores (S, n) and (S, m), by one set of weights.

    Clusters (n + m,), if there are any, have positives first. At most so many examples of a class have weights of their
    own; more are put together at random.
    """
    scores = [Scores(*of_system) for of_system in zip(np.sort(positive), np.sort(negative), strict=True)]
    order = orders_of(np.concatenate([positive, negative], 1))
    totals = positive.shape[1], negative.shape[1]
    separated = any(of_system.separated for of_system in scores)
    # If the classes overlap in no cluster, only clusters can show how rarely they do.
    by_class = [None, None] if cluster is None or not separated else np.split(cluster, [totals[0]])
    beyond = np.repeat([[unit_size(codes)] for codes in by_class], 1 + int(order.max()), axis=1)
    rng = np.random.default_rng([seed, _GROUPS])
    of_positives, of_negatives = (at_random(number, most or number, rng) for number in totals)
    unit = np.append(of_positives, 1 + of_positives.max() + of_negatives)
    falling = zip(*(np.argsort(-of_class, axis=1, kind="stable") for of_class in (positive, negative)), strict=True)
    return [
        Paired(each, of_classes, number, unit, beyond, draws, seed, progressbar, cluster)
        for each, of_classes, number in zip(scores, falling, order.tolist(), strict=True)
    ]


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


def _all_thresholds(scores: Scores | BinnedScores) -> Array:
    """Return inf, at which nothing is called positive, then the scores from the greatest down."""
    return np.concatenate([[np.inf], scores.thresholds])


def _between_no_errors(scores: Scores | BinnedScores) -> Array:
    """Return the thresholds from the last one without a false positive to the first without a false negative."""
    thresholds = _all_thresholds(scores)
    false, true = scores.called(thresholds)
    first = int(np.searchsorted(false, 0, side="right")) - 1
    return thresholds[first : int(np.searchsorted(true, true[-1])) + 1]


CURVE_KINDS = {
    kind.name: kind
    for kind in (
        CurveKind("roc", "fpr", "recall", lambda _: EVEN, lambda drawn, fpr: drawn.recall(fpr), _all_thresholds),
        CurveKind("precision_recall", "recall", "precision", lambda _: EVEN[1:], _precision, _all_thresholds),
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
