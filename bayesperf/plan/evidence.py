"""The evidence that a plan starts from: a metric's posterior so far, its trials, and its update by more trials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.distributions.beta import Beta, ExactDistribution, TransformedBeta
from bayesperf.metrics.arguments import ARGUMENTS
from bayesperf.metrics.exact_forms import Proportion, TwoProportions
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import in_field_words
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.posterior_of_rates import RATE
from bayesperf.posteriors.requirement import with_direction

type Evidence = ConfusionMatrix | Outcomes | Posterior | Marginal | tuple[int, int] | None

# What the trials of a proportion are called, by the cells that they fall into.
_TRIALS = {
    frozenset({"tp", "fn"}): "positives",
    frozenset({"fp", "tn"}): "negatives",
    frozenset({"tp", "fp"}): "predicted positives",
    frozenset({"fn", "tn"}): "predicted negatives",
    frozenset({"tp", "fn", "fp"}): "examples that are or are called positive",
}
# The cells that stand for successes and failures of a proportion of all examples.
_CELLS = {"correct": "tp", "wrong": "fn"}


@dataclass(frozen=True, eq=False)
class MetricEvidence:
    """A metric's posterior, given the evidence."""

    # Posterior of the matrix, a Dirichlet.
    post: Posterior
    # The metric of the plan.
    metric: Metric
    # Its posterior, if it is a Beta or an increasing function of one.
    distribution: ExactDistribution | None
    # The evidence in words.
    seen: str
    # Whether the evidence is a sample of examples as they occur, and so tells how many are positive.
    of_examples: bool

    @property
    def basis(self) -> str:
        """Evidence and prior, in words."""
        return f"{self.seen}; prior: {self.post.prior_text}"

    @property
    def cells(self) -> frozenset[str]:
        """The cells that the metric's trials fall into; empty if they are examples of any kind."""
        form = self.metric.exact_form(len(self.post.labels))
        proportion = form if isinstance(form, Proportion) else getattr(form, "proportion", None)
        names = frozenset() if proportion is None else frozenset({*proportion.success, *proportion.failure})
        return names if names in _TRIALS and self.distribution is not None else frozenset()

    @property
    def trials(self) -> str:
        """The name of the metric's trials."""
        return "answers" if len(self._concentration) == 1 else _TRIALS.get(self.cells, "examples")

    def share_of_trials(self, prevalence: float | None) -> float | None:
        """Return the proportion of trials among examples, at a given prevalence or by the evidence, or None."""
        if prevalence is not None:
            positive = checks.probability("prevalence", prevalence)
            if self.trials not in ("positives", "negatives"):
                raise InputError(
                    "prevalence",
                    f"{self.metric.name} is of {self.trials}, not of positives or negatives alone, and "
                    "prevalence does not say how many those are.",
                    "Plan without `prevalence`.",
                )
            return positive if self.trials == "positives" else 1 - positive
        if not self.cells:
            return 1.0
        if not self.of_examples or self.post.prevalence is None:
            return None
        expected, position = self._expected_cells(), self.post.positive
        assert position is not None
        return float(sum(ARGUMENTS[name](expected, position) for name in self.cells))

    def _expected_cells(self) -> Array:
        """Return the posterior mean of the cells, (K, K)."""
        cells = self._concentration
        if (stated := self.post.stated_prevalence) is not None:
            cells = cells / cells.sum(-1, keepdims=True) * stated.weights[:, None]
        return np.asarray(cells / cells.sum())

    def weights(self) -> Array:
        """Return the Dirichlet weights of the whole matrix, (K²,)."""
        what = f"a plan for {self.metric.name}"
        self.post.refuse("draws", what)
        if self.post.prevalence != "observed":
            raise InputError(what, "it is of examples as they come, and this posterior is at a given prevalence.")
        return self._concentration.ravel()

    @property
    def _concentration(self) -> Array:
        """The Dirichlet weights of the matrix, (K, K)."""
        assert self.post.source.concentration is not None
        return self.post.source.concentration.values

    def as_beta(self, bound: float) -> tuple[float, float, float]:
        """Return a, b and x such that the metric is on the better side of a bound if a Beta(a, b) is above x."""
        assert self.distribution is not None
        a, b = beta_parameters(self.distribution)
        x = float(self.distribution.inverse(bound)) if isinstance(self.distribution, TransformedBeta) else bound
        return (a, b, x) if self.metric.better > 0 else (b, a, 1 - x)


# ── More trials ──


def beta_parameters(distribution: ExactDistribution) -> tuple[float, float]:
    """Return a and b of the Beta that one quantity has, or is an increasing function of."""
    return distribution.base.a.item(), distribution.base.b.item()


def updated(distribution: ExactDistribution, successes: Counts, failures: Counts) -> ExactDistribution:
    """Return the distribution of one quantity after more trials, (m,)."""
    beta = distribution.base
    after = Beta(beta.a + successes[:, None], beta.b + failures[:, None])
    return replace(distribution, base=after) if isinstance(distribution, TransformedBeta) else after


# ── What evidence says of a metric ──


def requirement_of(metric: str | Metric, bound: Any) -> Metric:
    """Return a metric for which a bound can be required."""
    required = with_direction(metric, single=False)
    low, high = required.bounds
    if not low < checks.number("requirement", bound) < high:
        raise InputError(
            "requirement", f"must be between {low:g} and {high:g}, both excluded, as {required.name} is; it is {bound}."
        )
    return required


def metric_evidence(
    evidence: Any, prior: str | priors.Prior | None, metric: str | Metric, name: str = "evidence"
) -> MetricEvidence:
    """Return the evidence on a metric."""
    planned = with_direction(metric, single=False)
    if planned.average == "per_class":
        raise InputError(
            "metric",
            f"{planned.name!r} is a value for every class.",
            f"Plan for one: take {name}.one_vs_rest().sel(label=...), and the metric without its suffix.",
        )
    post, seen = _posterior_of(evidence, prior, planned, name)
    if reason := post.source.refused_tasks(post).get("plan"):
        raise InputTypeError(name, reason)
    if post.dims:
        raise InputError(name, f"has leading dims {list(post.dims)}: plan for one matrix, as {name}.isel(...).")
    marginal = post[planned]
    exact = marginal.distribution if isinstance(marginal.distribution, Beta | TransformedBeta) else None
    if post.graded and exact is None:
        raise InputError(
            "metric",
            f"plans of outcomes are for a share of them, and {planned.name} is none.",
            "Plan for accuracy, or for share_at_least_4 and the like.",
        )
    # Two counts are of trials, which say nothing of other examples.
    of_examples = not isinstance(evidence, tuple) and post.observed is not None and bool(post.observed.sum() > 0)
    return MetricEvidence(post, in_field_words(planned, post.graded), exact, seen, of_examples)


@singledispatch
def _posterior_of(evidence: Any, prior: str | priors.Prior | None, metric: Metric, name: str) -> tuple[Posterior, str]:
    """Return the posterior that evidence of its kind gives, and the evidence in words; here two counts, or none."""
    cm, seen = _matrix_of_counts(evidence, metric, name)
    return posterior(cm, prior), seen


@_posterior_of.register
def _(evidence: ConfusionMatrix, prior: str | priors.Prior | None, metric: Metric, name: str) -> tuple[Posterior, str]:
    dirichlet = priors.resolve_dirichlet(prior, len(evidence.labels), "plans", rates=True)
    return posterior(evidence, dirichlet), f"{int(evidence.total.sum())} examples"


@_posterior_of.register
def _(evidence: Outcomes, prior: str | priors.Prior | None, metric: Metric, name: str) -> tuple[Posterior, str]:
    return posterior(evidence, prior), f"{int(evidence.total.sum())} answers"


@_posterior_of.register
def _(evidence: Posterior, prior: str | priors.Prior | None, metric: Metric, name: str) -> tuple[Posterior, str]:
    _refuse_prior(prior, name)
    return evidence, "the posterior given"


@_posterior_of.register
def _(evidence: Marginal, prior: str | priors.Prior | None, metric: Metric, name: str) -> tuple[Posterior, str]:
    _refuse_prior(prior, name)
    return _posterior_of_rate(evidence, metric, name), "the rate given"


def _refuse_prior(prior: str | priors.Prior | None, name: str) -> None:
    if prior is not None:
        raise InputTypeError("prior", f"{name} is a posterior, which has one already.", "Plan without `prior`.")


def _posterior_of_rate(rate: Marginal, metric: Metric, name: str) -> Posterior:
    """Return a posterior of a matrix in which a metric has the Beta of a rate."""
    if rate.name not in (RATE, metric.name):
        raise InputError(name, f"is of {rate.name}, and the plan for {metric.name}.")
    if rate.dims:
        raise InputError(name, f"has leading dims {list(rate.dims)}: plan for one rate.")
    if not isinstance(rate.distribution, Beta) or not isinstance(metric.exact_form(2), Proportion):
        raise InputError(
            name,
            "a plan can start from a rate that is a Beta, as bp.posterior_of_rate makes, for a "
            f"metric that is a share of trials; these are {rate!r} and {metric.name}.",
            "Give a ConfusionMatrix.",
        )
    a, b = beta_parameters(rate.distribution)
    post = posterior(_no_examples(), priors.rate(*(a, b)[:: metric.better]))
    return replace(post, prior_text="its own")


def _no_examples() -> ConfusionMatrix:
    return ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0)


def _matrix_of_counts(evidence: Any, metric: Metric, name: str) -> tuple[ConfusionMatrix, str]:
    """Return a matrix of two classes in which a metric has so many successes and trials."""
    if evidence is None:
        return _no_examples(), "no examples yet"
    if not isinstance(evidence, tuple) or len(evidence) != 2:
        raise InputTypeError(
            name,
            "must be a ConfusionMatrix, a rate (posterior_of_rate), a Posterior, or (successes, "
            f"trials); it is {type(evidence).__name__}.",
        )
    trials = checks.count(f"{name}: trials", evidence[1], least=0)
    successes = checks.count(f"{name}: successes", evidence[0], least=0)
    if successes > trials:
        raise InputError(name, f"{successes} successes of {trials} trials; give (successes, trials).")
    form = metric.exact_form(2)
    if form is None or isinstance(form, TwoProportions) or metric.needs == "ordered":
        raise InputError(
            name, f"two counts say enough of a single share, and {metric.name} is none.", "Give a ConfusionMatrix."
        )
    proportion = form if isinstance(form, Proportion) else form.proportion
    success, failure = (_CELLS.get(names[0], names[0]) for names in (proportion.success, proportion.failure))
    cells = dict.fromkeys(("tp", "fn", "fp", "tn"), 0) | {success: successes, failure: trials - successes}
    return ConfusionMatrix.from_counts(**cells, dims=None), f"{successes} of {trials}"
