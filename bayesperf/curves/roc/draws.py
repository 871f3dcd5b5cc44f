"""Whole ROC curves in draws: by the Bayesian bootstrap, smoothed or not, or binormal; and the observed one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from bayesperf.core.arrays import Array, Counts
from bayesperf.counts.scores import Scores, by_class
from bayesperf.curves.areas.bayesian_bootstrap import blocks
from bayesperf.curves.roc.called_positive import Masses, Steps, along, on_gaps, on_scores

# Streams of one seed: of the curve, and of the share of positives.
_CURVE, _PREVALENCE = 0, 1


class RocDraws(ABC):
    """Draws of a system's ROC curve, and of the share of positives."""

    scores: Scores

    @property
    @abstractmethod
    def prevalence(self) -> Array:
        """The share of positives, (draws, 1)."""

    @abstractmethod
    def recall(self, fpr: Array) -> Array:
        """Return the greatest recall where the false positive rate is as given, (draws, k)."""

    @abstractmethod
    def fpr(self, recall: Array) -> Array:
        """Return the least false positive rate where recall is as given, (draws, k)."""

    @abstractmethod
    def rates(self) -> Iterator[tuple[Array, Array]]:
        """Yield false positive rate and recall at all thresholds, (some draws, T) each."""

    @property
    def thresholds(self) -> Array:
        """The thresholds (T,): inf, then the scores from the greatest down."""
        return np.concatenate([[np.inf], self.scores.thresholds])

    def _drawn_prevalence(self, draws: int, seed: int) -> Array:
        """Draw what a Bayesian bootstrap of all examples gives: Beta(positives, negatives)."""
        rng = np.random.default_rng([seed, _PREVALENCE])
        return rng.beta(len(self.scores.positive), len(self.scores.negative), (draws, 1))


class _Weighted(RocDraws):
    """Curves made of weights of the examples."""

    steps: Callable[[Counts], Steps]

    @abstractmethod
    def _masses(self, positive: Steps, negative: Steps) -> Iterator[tuple[Masses, Masses]]:
        """Yield the masses of both classes, some draws at a time."""

    def _blocks(self) -> Iterator[tuple[Masses, Masses]]:
        called = self.scores.called(self.thresholds)
        return self._masses(*(self.steps(of_class) for of_class in called))

    def recall(self, fpr: Array) -> Array:
        return np.concatenate([along(negative, positive, fpr) for positive, negative in self._blocks()])

    def fpr(self, recall: Array) -> Array:
        # Walked from its other end, a curve comes to the least false positive rate last.
        found = [along(positive.turned(), negative.turned(), 1 - recall) for positive, negative in self._blocks()]
        return 1 - np.concatenate(found)

    def rates(self) -> Iterator[tuple[Array, Array]]:
        for positive, negative in self._blocks():
            yield negative.everywhere(), positive.everywhere()

    def areas(self, low: float, high: float) -> Array:
        """Return the areas under the curves between two false positive rates, (draws,)."""
        found = []
        for positive, negative in self._blocks():
            # A curve that rises is cut at both ends by cutting both its rates.
            bottom, top = np.split(along(negative, positive, np.array([low, high])), 2, axis=1)
            recall, fpr = positive.everywhere().clip(bottom, top), negative.everywhere().clip(low, high)
            found.append(np.trapezoid(recall, fpr))
        return np.concatenate(found)


@dataclass(frozen=True)
class Observed(_Weighted):
    """The curve of the scores at hand: one draw, in which all weigh the same."""

    scores: Scores
    steps = staticmethod(on_scores)

    @property
    def prevalence(self) -> Array:
        positive, negative = len(self.scores.positive), len(self.scores.negative)
        return np.array([[positive / (positive + negative)]])

    def _masses(self, positive: Steps, negative: Steps) -> Iterator[tuple[Masses, Masses]]:
        yield Masses.of(positive, positive.sizes[None, :]), Masses.of(negative, negative.sizes[None, :])


@dataclass(frozen=True)
class Bootstrapped(_Weighted):
    """Curves by the Bayesian bootstrap of each class.

    Attributes
    ----------
    steps : callable
        `on_gaps`, for curves that take any course between the scores, or `on_scores`.
    """

    scores: Scores
    draws: int
    seed: int
    progressbar: bool
    steps: Callable[[Counts], Steps] = on_gaps

    @property
    def prevalence(self) -> Array:
        return self._drawn_prevalence(self.draws, self.seed)

    def _masses(self, positive: Steps, negative: Steps) -> Iterator[tuple[Masses, Masses]]:
        rng = np.random.default_rng([self.seed, _CURVE])
        sizes = np.concatenate([positive.sizes, negative.sizes])
        for weights in blocks(rng, sizes, self.draws, self.progressbar):
            of_positive, of_negative = np.split(weights, [len(positive.sizes)], axis=1)
            yield Masses.of(positive, of_positive), Masses.of(negative, of_negative)


@dataclass(frozen=True)
class Binormal(RocDraws):
    """Curves recall = Φ(a + b Φ⁻¹(fpr)), of scores that are normal in either class.

    Attributes
    ----------
    a, b : ndarray (draws, 1)
        Of the curve.
    mean, spread : ndarray (draws, 2)
        Of the scores of the negatives and of the positives.
    """

    scores: Scores
    seed: int
    a: Array
    b: Array
    mean: Array
    spread: Array

    @classmethod
    def fitted(cls, scores: Scores, draws: int, seed: int) -> Binormal:
        """Return the posterior of the model ``binormal_roc`` with its default priors, drawn from its closed form."""
        from bayesperf.models import binormal_roc

        rng = np.random.default_rng([seed, _CURVE])
        found = binormal_roc.exact(by_class(scores), None, [rng], (1, draws))
        a, b, mean, spread = (found[name].values[0] for name in ("a", "b", "mean", "spread"))
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
