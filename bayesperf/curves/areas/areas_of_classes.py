"""Areas under ROC curves of several classes: each against the rest, or by pairs (Hand & Till 2001)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.areas.bootstrapped_areas import (
    class_pair,
    drawn_figures,
    observed_area,
    refuse_slow,
    shares,
    units_of,
)
from bayesperf.curves.roc.called_positive import PartOfCurve
from bayesperf.curves.scored_systems import check_several, clusters_of_examples
from bayesperf.data.classifier_scores import ClassProbabilities
from bayesperf.posteriors.quantity import Quantity

_KINDS = {"ovr": "each class against the rest", "ovo": "pairs of classes"}
# Weights of examples, over all draws and areas, that are summed in about twenty seconds; and how many of them a sum of
# none takes the time of.
_MOST_WEIGHTS, _OVERHEAD = 2 * 10**10, 3_000
_AVERAGES = {"macro": "macro average", "weighted": "average weighted by frequency", None: ""}


@dataclass(frozen=True, eq=False)
class ClassAreas:
    """The areas of systems that give probabilities to several classes."""

    # The class of each example, (n,).
    codes: Codes
    # The classes, (K,).
    labels: list[Any]
    # Those of each system, (S, n, K).
    probabilities: Array
    # The areas: of a class against the rest by its column, or of two classes by both columns.
    multi_class: str
    # The mean of areas by equal weights, or by frequencies of classes; None is all of them.
    average: str | None
    # Clusters of the examples, (n,), or None.
    cluster: Codes | None

    @classmethod
    def of(
        cls,
        y_true: Any,
        by_system: Mapping[str, Any],
        multi_class: str | None,
        average: str | None,
        labels: Sequence[Any] | None,
        cluster: Any,
    ) -> Self:
        """Return the areas of systems by their names in errors, checked; takes the options of `roc_auc`."""
        if multi_class is None:
            name = next(iter(by_system))
            raise InputError(name, "has a column for each class.", "Say multi_class='ovr' or multi_class='ovo'.")
        checks.one_of("multi_class", multi_class, _KINDS)
        if average not in _AVERAGES or (average is None and multi_class == "ovo"):
            known = "'macro', 'weighted' or, of multi_class='ovr', None"
            raise InputError("average", f"must be {known}; it is {average!r} of {multi_class!r}.")
        systems = [ClassProbabilities.of(y_true, probs, labels, name) for name, probs in by_system.items()]
        first = systems[0]
        if any(system.labels != first.labels for system in systems):
            raise InputError("score_a", "systems must have their columns of classes in one order.")
        numbers = np.bincount(first.codes, minlength=len(first.labels))
        if empty := [label for label, n in zip(first.labels, numbers.tolist(), strict=True) if not n]:
            raise InputError(
                "y_true",
                f"has no example of class {empty[0]!r}, which has no area then.",
                "Leave its column out, and give the others the sum 1; or give more examples.",
            )
        if len(first.labels) < 2:
            raise InputError("y_true", f"must hold two classes or more; it holds {first.labels}.")
        codes = clusters_of_examples(cluster, len(first.codes), "y_score")
        if codes is not None:
            for i, label in enumerate(first.labels):
                check_several(codes[first.codes == i], f"examples of class {label!r}")
        return cls(first.codes, first.labels, np.stack([s.probabilities for s in systems]), multi_class, average, codes)

    @property
    def quantity(self) -> Quantity:
        """What it is; it is called as scikit-learn calls its scorers."""
        name = f"roc_auc_{self.multi_class}" + "_weighted" * (self.average == "weighted")
        words = f"AUC ({', '.join(filter(None, (_KINDS[self.multi_class], _AVERAGES[self.average])))})"
        return Quantity(name, greater_is_better=True, words=words, bounds=(0.0, 1.0))

    @property
    def class_totals(self) -> list[int]:
        """How many examples of each class there are, (K,)."""
        return np.bincount(self.codes).tolist()

    @property
    def contents(self) -> Array:
        """The figures that tell it from others."""
        parts = self.probabilities, self.codes, np.empty(0) if self.cluster is None else self.cluster
        return np.concatenate([part.ravel().astype(float) for part in parts])

    @property
    def _pairs(self) -> list[tuple[int, Booleans, Booleans]]:
        """The column, the positives and the negatives of each area."""
        members = [self.codes == k for k in range(len(self.labels))]
        if self.multi_class == "ovr":
            return [(k, of_class, ~of_class) for k, of_class in enumerate(members)]
        # The two of a pair one after the other.
        return [
            (own, members[own], members[other])
            for pair in combinations(range(len(members)), 2)
            for own, other in (pair, pair[::-1])
        ]

    def observed(self) -> Array:
        """Return the areas by the examples themselves, (S,), or of each class (S, K)."""
        areas = np.array([
            [observed_area(each[own, k], each[other, k]) for each in self.probabilities]
            for k, own, other in self._pairs
        ])[..., None]  # fmt: skip
        frequencies = np.array(self.class_totals) / len(self.codes)
        return np.moveaxis(self._averaged(areas, frequencies[:, None])[..., 0], 0, -1)

    def refuse_slow(self, draws: int) -> None:
        """Refuse draws of so many areas of so many examples that they would take minutes."""
        examples = sum(int(own.sum() + other.sum()) + _OVERHEAD for _, own, other in self._pairs)
        most = _MOST_WEIGHTS // (examples * len(self.probabilities))
        instead = ", or each class against the rest (multi_class='ovr')" if self.multi_class == "ovo" else ""
        refuse_slow(draws, most, len(self._pairs), len(self.codes), instead)

    def drawn(self, draws: int, rng: np.random.Generator, progressbar: bool) -> Array:
        """Return draws of the areas, (S, draws), or of each class (K, S, draws), by one set of weights for all."""
        units = units_of(self.codes, self.cluster, rng)
        averaged = 1 if self.average is None else len(self._pairs)
        areas_of = [
            class_pair(self.probabilities[..., k], own, other, units, averaged) for k, own, other in self._pairs
        ]
        frequencies, *areas = drawn_figures([shares(self.codes, units), *areas_of], units, draws, rng, progressbar)
        return self._averaged(np.stack(areas), frequencies)

    def _averaged(self, areas: Array, frequencies: Array) -> Array:
        """Return the average of areas (pairs, S, draws) by frequencies of classes (K, draws)."""
        if self.average is None:
            return areas
        weights = frequencies
        if self.multi_class == "ovo":
            areas = (areas[::2] + areas[1::2]) / 2
            weights = np.stack([frequencies[j] + frequencies[k] for j, k in combinations(range(len(frequencies)), 2)])
        if self.average == "macro":
            return np.asarray(areas.mean(0))
        return np.asarray((areas * weights[:, None]).sum(0) / weights.sum(0))


def refuse_for_classes(method: str, part: PartOfCurve | None, pos_label: Any) -> None:
    """Refuse what areas of several classes do not have."""
    checks.one_of("method, of several classes,", method, ("bayesian_bootstrap",))
    if part is not None:
        raise InputError(
            "fpr and recall",
            "several classes have no one curve.",
            "Take a class against the rest, as roc_auc(y_true == label, y_score[:, k], fpr=...).",
        )
    if pos_label is not None:
        raise InputTypeError(
            "pos_label", "of several classes each is the positive one in turn.", "Call it without `pos_label`."
        )


def refuse_options_of_classes(labels: Sequence[Any] | None, average: str | None) -> None:
    """Refuse options of areas of several classes, where there are two."""
    if labels is not None or average != "macro":
        raise InputTypeError(
            "labels and average", "are of multi_class='ovr' and 'ovo'.", "Leave them out, or say which."
        )
