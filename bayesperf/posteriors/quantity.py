"""What a figure describes: a metric, its scope, and the contrast if it compares two or more systems or levels.

Figures with equal quantities can be compared. Titles, questions and the descriptions of tables and figures are written
from the quantity here, and never read back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from bayesperf.core.fields import Held
from bayesperf.core.words import metric_title, plural
from bayesperf.metrics.metric import Metric, better_sign
from bayesperf.posteriors.tree_attributes import ESTIMAND, SCOPE

# Kinds of scope: how the distribution of such a figure is called, and what the figure is.
SCOPES = {
    "system": ("Posterior", "the system's {metric}"),
    "long_run": ("Posterior", "the system's long-run {metric}"),
    "test_set": ("Prediction", "the {metric} in a new test set of {examples}"),
    "mean": ("Posterior", "the {metric} at the population mean over {dims}"),
    "median_group": ("Posterior", "the {metric} of the median {dim}"),
    "group": ("Posterior", "each {dim}'s own {metric}"),
    "new_group": ("Prediction", "the {metric} of a new {dim}"),
    "unlabelled": ("Posterior", "the {metric} in the unlabelled examples, if predictions err there as elsewhere"),
    "clusters": ("Posterior", "the {metric} over examples, which come in {dims}"),
    "examples": ("Posterior", "the {metric} over examples, each with all its predictions"),
    "slices": ("Posterior", "each slice's own {metric}"),
    "levels": ("Posterior", "the {metric} of each {dim}{detail}"),
    "average": ("Posterior", "{detail}, averaged over these {dims}"),
    "population": ("Posterior", "the {metric} of systems that are drawn towards each other"),
    "labels": ("Posterior", "the mean of the system's {metric} over {n} labels"),
    "splits": ("Posterior", "the mean {metric} over splits that test {detail} of the examples"),
    "datasets": ("Posterior", "the average {metric} over data sets"),
    "dispersion": ("Posterior", "the {metric} between {dims}"),
    "chosen": ("Posterior", "the {metric}, {detail}"),
    "itself": ("Posterior", "the {metric}"),
    "own": ("", "{detail}"),
}
# Contrasts, and what they are between.
CONTRASTS = {"difference": "two systems", "ratio": "two systems", "largest gap": "levels", "smallest ratio": "levels"}


@dataclass(frozen=True)
class Scope(Held):
    """The scope of a figure's metric: the system, a new test set, the mean of a population, each group, …."""

    # A key of `SCOPES`.
    kind: str = "system"
    # The dim of the groups; empty if there are none.
    dim: str = ""
    # Number of examples in a new test set (None: the number observed), or number of labels.
    n: int | None = None
    # What else distinguishes it from other scopes, such as the rule that chose the threshold.
    detail: str = ""

    @property
    def inference(self) -> str:
        """Name of the distribution of such a figure, unless a method has its own."""
        return SCOPES[self.kind][0]

    @property
    def of_new_test_set(self) -> bool:
        """Whether it describes the metric in a new test set."""
        return self.kind == "test_set"

    @property
    def shrunk(self) -> bool:
        """Whether the model has drawn the systems towards each other, so that the best owes less to luck."""
        return self.kind == "population"

    def of(self, metric: str = "metric") -> str:
        """Return what figures with this scope describe, such as "the system's metric"."""
        examples = "as many examples as observed" if self.n is None else f"{self.n} examples"
        return SCOPES[self.kind][1].format(metric=metric, examples=examples, dims=plural(self.dim), **asdict(self))

    def as_text(self) -> str:
        """Return the fields as JSON, for the attributes of a tree."""
        return json.dumps({name: value for name, value in asdict(self).items() if value})

    @classmethod
    def read(cls, attrs: Mapping[Any, Any]) -> Scope:
        """Return the scope in a tree's attributes: its fields, or a description in words of its own."""
        if SCOPE in attrs:
            return cls(**json.loads(attrs[SCOPE]))
        return cls("own", detail=str(attrs[ESTIMAND])) if ESTIMAND in attrs else SYSTEM


SYSTEM = Scope()


@dataclass(frozen=True)
class Quantity(Held):
    """What a figure describes. Figures with equal quantities can be compared.

    Attributes
    ----------
    metric : str
        Name of the metric.
    scope : Scope
        The system, test set or population that the metric describes.
    contrast : str
        A key of `CONTRASTS`, or empty.
    greater_is_better : bool or None
        Whether greater values are better; None if neither is, or if the direction is unknown.
    words : str
        Word for the metric in `description`, if "metric" would not do: "AUC".
    bounds : tuple of float
        Smallest and largest possible value.
    word : str
        What the metric is called for these data, if not as its name says.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5)
    >>> bp.posterior(cm)["recall"].quantity == bp.posterior(cm, "flat")["recall"].quantity
    True
    """

    metric: str
    scope: Scope = SYSTEM
    contrast: str = ""
    greater_is_better: bool | None = None
    words: str = "metric"
    bounds: tuple[float, float] = field(default=(-np.inf, np.inf), compare=False)
    word: str = field(default="", compare=False)

    @classmethod
    def of(cls, metric: Metric, scope: Scope = SYSTEM) -> Quantity:
        """Return the quantity of a metric of the table."""
        return cls(
            metric.name, scope, greater_is_better=metric.greater_is_better, bounds=metric.bounds, word=metric.word
        )

    @property
    def better(self) -> int:
        """The sign by which the best value becomes the greatest, 1 or −1."""
        return better_sign(self.greater_is_better)

    def contrasted(self, contrast: str, bounds: tuple[float, float]) -> Quantity:
        """Return the difference, ratio or largest gap of this quantity."""
        return replace(self, contrast=contrast, bounds=bounds)

    # ── In words ──

    @property
    def metric_title(self) -> str:
        """The name of its metric within a sentence or beside a figure."""
        return self.word or metric_title(self.metric)

    @property
    def title(self) -> str:
        """Its name within a sentence or beside a figure, such as "recall" or "difference of recall"."""
        return f"{self.contrast} of {self.metric_title}" if self.contrast else self.metric_title

    @property
    def subject(self) -> str:
        """The beginning of a sentence, such as "recall is"."""
        if not self.scope.of_new_test_set:
            return f"{self.title} is"
        size = "as many examples as observed" if self.scope.n is None else f"{self.scope.n} examples"
        return f"{self.title} in a new test set of {size} will be"

    @property
    def above(self) -> str:
        """Sign for a probability of greater values: a future proportion may equal the bound exactly."""
        return ">" if self.scope.of_new_test_set else "≥"

    def question(self, relation: str, bound: str) -> str:
        """Return a question about a bound, such as "P(recall ≥ 0.8)"."""
        return f"P({self.title} {relation} {bound})"

    def described(self, inference: str | None = None) -> str:
        """Return what a distribution describes: "Posterior of the difference between two systems in the metric".

        If `inference` is "", it begins with the scope, or with the contrast.
        """
        if not self.contrast:
            return described(self.scope, self.words, inference)
        # Of two systems "the system's" would say neither.
        what = f"the {self.words}" if self.scope == SYSTEM else self.scope.of(self.words)
        contrast = f"the {self.contrast} between {CONTRASTS[self.contrast]} in {what}"
        return _of(self.scope.inference if inference is None else inference, contrast)


def described(scope: Scope, words: str = "metric", inference: str | None = None) -> str:
    """Return what distributions with a scope describe, such as "Posterior of the system's metric"."""
    return _of(scope.inference if inference is None else inference, scope.of(words))


def _of(inference: str, what: str) -> str:
    return f"{inference} of {what}" if inference else f"{what[:1].upper()}{what[1:]}"
