"""Draws of whole ROC curves, by the Bayesian bootstrap, smoothed or not, or binormal; and the observed curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.weights import weight_blocks
from bayesperf.curves.areas.partial_areas import PartOfCurve
from bayesperf.curves.roc.called_positive import (
    PositiveRates,
    Steps,
    interpolated,
    steps_at_scores,
    steps_between_scores,
)
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.classifier_scores import Scores, by_class

# Random streams of one seed: of the curve, and of the prevalence.
_CURVE, _PREVALENCE = 0, 1
# How many numbers an array of draws may hold at once.
_AT_ONCE = 2**18


class RocDraws(ABC):
    """Draws of a system's ROC curve, and of the prevalence."""

    scores: Scores | BinnedScores

    @property
    @abstractmethod
    def prevalence(self) -> Array:
        """The prevalence, (draws, 1)."""

    @abstractmethod
    def recall(self, fpr: Array) -> Array:
        """Return the greatest recall at given false positive rates, (draws, k)."""

    @abstractmethod
    def fpr(self, recall: Array) -> Array:
        """Return the least false positive rate at given recalls, (draws, k)."""

    @abstractmethod
    def rates(self) -> Iterator[tuple[Array, Array]]:
        """Yield false positive rate and recall at all thresholds, (some draws, T) each."""

    @property
    def thresholds(self) -> Array:
        """The thresholds (T,): inf, then the scores from the greatest down."""
        return np.concatenate([[np.inf], self.scores.thresholds])

    def _drawn_prevalence(self, draws: int, seed: int) -> Array:
        """Return draws of the prevalence by the Bayesian bootstrap of all examples: Beta(positives, negatives)."""
        rng = np.random.default_rng([seed, _PREVALENCE])
        negative, positive = self.scores.class_totals
        return rng.beta(positive, negative, (draws, 1))


class _Weighted(RocDraws):
    """Curves that weights of the examples make."""

    steps: Callable[[Counts], Steps]

    @abstractmethod
    def _rates_of_steps(self, positive: Steps, negative: Steps) -> Iterator[tuple[PositiveRates, PositiveRates]]:
        """Yield the rates at which positives and negatives are called positive, some draws at a time."""

    def _blocks(self) -> Iterator[tuple[PositiveRates, PositiveRates]]:
        called = self.scores.called(self.thresholds)
        return self._rates_of_steps(*(self.steps(of_class) for of_class in called))

    def recall(self, fpr: Array) -> Array:
        return np.concatenate([interpolated(negative, positive, fpr) for positive, negative in self._blocks()])

    def fpr(self, recall: Array) -> Array:
        # Seen from its other end, a curve comes to the least false positive rate last.
        specificity = [
            interpolated(positive.negative_rates(), negative.negative_rates(), 1 - recall)
            for positive, negative in self._blocks()
        ]
        return 1 - np.concatenate(specificity)

    def rates(self) -> Iterator[tuple[Array, Array]]:
        for positive, negative in self._blocks():
            yield negative.at_every_threshold(), positive.at_every_threshold()

    def areas(self, part: PartOfCurve) -> Array:
        """Return the areas of a part of the curves, (draws,)."""
        return np.concatenate([part.areas(*rates) for rates in self._blocks()])


@dataclass(frozen=True)
class Observed(_Weighted):
    """The observed curve: one draw, in which all examples have the same weight."""

    scores: Scores | BinnedScores
    steps = staticmethod(steps_at_scores)

    @property
    def prevalence(self) -> Array:
        negative, positive = self.scores.class_totals
        return np.array([[positive / (positive + negative)]])

    def _rates_of_steps(self, positive: Steps, negative: Steps) -> Iterator[tuple[PositiveRates, PositiveRates]]:
        yield PositiveRates.of(positive, positive.sizes[None, :]), PositiveRates.of(negative, negative.sizes[None, :])


@dataclass(frozen=True)
class Bootstrapped(_Weighted):
    """Curves by the Bayesian bootstrap of each class, which take any course between the scores."""

    scores: Scores | BinnedScores
    draws: int
    seed: int
    progressbar: bool
    steps = staticmethod(steps_between_scores)

    @property
    def prevalence(self) -> Array:
        return self._drawn_prevalence(self.draws, self.seed)

    def _rates_of_steps(self, positive: Steps, negative: Steps) -> Iterator[tuple[PositiveRates, PositiveRates]]:
        rng = np.random.default_rng([self.seed, _CURVE])
        sizes = np.concatenate([positive.sizes, negative.sizes])
        for weights in weight_blocks(rng, sizes, self.draws, self.progressbar):
            of_positive, of_negative = np.split(weights, [len(positive.sizes)], axis=1)
            yield PositiveRates.of(positive, of_positive), PositiveRates.of(negative, of_negative)


@dataclass(frozen=True)
class ClusterBootstrapped(_Weighted):
    """Curves by the Bayesian bootstrap of clusters: a weight for each, Gamma((G − 2)/G), which all its examples have.

    Between scores a gap has half the weight of either neighbour; beyond both ends the other half is that of one more
    example, by itself.
    """

    scores: Scores
    # Of the positives and of the negatives, in the order of their scores.
    clusters: tuple[Codes, Codes]
    draws: int
    seed: int
    progressbar: bool
    steps = staticmethod(steps_between_scores)

    @property
    def prevalence(self) -> Array:
        number = 1 + max(int(of_class.max()) for of_class in self.clusters)
        positive, negative = (np.bincount(of_class, minlength=number) for of_class in self.clusters)
        blocks = [weights[:, :-2] for weights in self._weights()]
        return np.concatenate([(w @ positive / (w @ (positive + negative)))[:, None] for w in blocks])

    def _weights(self) -> Iterator[Array]:
        """Yield the weights of clusters and of one more example in either class, (some draws, clusters + 2)."""
        rng = np.random.default_rng([self.seed, _CURVE])
        units = np.arange(1 + max(int(of_class.max()) for of_class in self.clusters))
        at_once = max(1, _AT_ONCE // len(self.scores.thresholds))
        for weights in weight_blocks(rng, np.ones(len(units) + 2), self.draws, self.progressbar, units):
            yield from np.split(weights, range(at_once, len(weights), at_once))

    def _rates_of_steps(self, positive: Steps, negative: Steps) -> Iterator[tuple[PositiveRates, PositiveRates]]:
        for weights in self._weights():
            yield tuple(  # type: ignore[misc]
                PositiveRates.of(steps, self._of_steps(steps, weights[:, of_class[::-1]], weights[:, -1 - i :][:, :1]))
                for i, (steps, of_class) in enumerate(zip((positive, negative), self.clusters, strict=True))
            )

    def _of_steps(self, steps: Steps, weights: Array, beyond: Array) -> Array:
        """Return the weights of steps, given those of examples from the greatest score down."""
        padded = np.concatenate([beyond, weights, beyond], axis=1)
        weights = (padded[:, :-1] + padded[:, 1:]) / 2
        first = np.cumsum(steps.sizes) - steps.sizes
        return np.asarray(np.add.reduceat(weights, first, axis=1))


def weighted_curves(
    scores: Scores | BinnedScores,
    clusters: tuple[Codes, Codes] | None,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Bootstrapped | ClusterBootstrapped:
    """Return draws by weights of the examples, or of their clusters."""
    if clusters is None:
        return Bootstrapped(scores, draws, seed, progressbar)
    assert isinstance(scores, Scores)
    return ClusterBootstrapped(scores, clusters, draws, seed, progressbar)


def partial_areas(
    scores: Scores | BinnedScores,
    clusters: tuple[Codes, Codes] | None,
    part: PartOfCurve,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Array:
    """Return areas of a part of the curves of a band, (draws,)."""
    return weighted_curves(scores, clusters, draws, seed, progressbar).areas(part)


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
