"""Posteriors in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesperf import distributions
from bayesperf.core.words import (
    chance,
    enumerated,
    estimate,
    over_places,
    places_in_words,
    sentence,
    signed_value,
)
from bayesperf.distributions.beta import Beta

if TYPE_CHECKING:
    from bayesperf.posteriors.marginal import Kind, Marginal
    from bayesperf.posteriors.posterior import Posterior

# From this proportion of the weight on, a sentence says that it is the prior's.
_PRIOR_COUNTS = 0.1
# From this fraction of an interval's width on, a sentence gives the Monte Carlo error of its limits.
_ERROR_COUNTS = 0.02
# An interval this narrow has a width by rounding alone.
_NO_WIDTH = 1e-12
# With fewer examples of the rarer class than this on the wrong side, (1 − area) of them, a normal approximation of an
# area is too narrow (`bayesperf.roc_auc`; docs/coverage.md).
_FEW_ON_WRONG_SIDE = 3
# What has few values, so that its mean may be none of them: its median is said.
_OF_FEW_VALUES = ("median_grade",)
# What is said of a system, if nothing else is asked for.
_ABOUT_ONE = ("accuracy", "precision", "recall")


def marginal_in_words(
    marginal: Marginal, at_least: float | None, at_most: float | None, ci_prob: float, ci_kind: Kind, before: str = ""
) -> str:
    """Return one to three sentences on a marginal: its value, the probability of a bound, and why it is uncertain.

    See `Marginal.in_words`. The first sentence begins with the words `before`.
    """
    sentences = [sentence(f"{before}{estimate_in_words(marginal, ci_prob, ci_kind)}")]
    names = places_in_words(marginal.leading)
    for relation, bound in (("at least", at_least), ("at most", at_most)):
        if bound is not None:
            met = (marginal.prob_at_least if relation == "at least" else marginal.cdf)(bound).values.ravel().tolist()
            probability = over_places([chance(p) for p in met], names, met)
            sentences.append(sentence(f"with probability {probability} it is {relation} {bound:.12g}"))
    return " ".join([*sentences, *caveats_of(marginal, ci_prob, ci_kind)])


def estimate_in_words(marginal: Marginal, ci_prob: float, ci_kind: Kind) -> str:
    """Return a clause with the name of a metric and its estimates, such as "recall is 0.75 (95 % HDI 0.44–1.00)"."""
    values, means = _estimates(marginal, ci_prob, ci_kind), marginal.mean().values.ravel().tolist()
    return f"{marginal.quantity.subject} {over_places(values, places_in_words(marginal.leading), means)}"


def posterior_in_words(posterior: Posterior, marginals: Sequence[Marginal], ci_prob: float, ci_kind: Kind) -> str:
    """Return sentences on metrics of a posterior; see `Posterior.in_words`."""
    if posterior.dims or any(marginal.dims for marginal in marginals):
        return " ".join(marginal_in_words(marginal, None, None, ci_prob, ci_kind) for marginal in marginals)
    first, *others = marginals
    others_in_words = [f"{each.quantity.title} {_estimates(each, ci_prob, ci_kind)[0]}" for each in others]
    parts = [estimate_in_words(first, ci_prob, ci_kind), *others_in_words]
    counts = posterior.observed
    known = "" if counts is None else f"from {int(counts.sum()):,} examples: "
    caveats = dict.fromkeys(text for marginal in marginals for text in caveats_of(marginal, ci_prob, ci_kind))
    return " ".join([sentence(f"{known}{enumerated(parts)}"), *list(caveats)[:1]])


def default_metrics_in_words(posterior: Posterior) -> list[str]:
    """Return the metrics that the sentences mention: three for one binary matrix, else the first."""
    available = posterior.default_metrics()
    names = [name for name in _ABOUT_ONE if name in available]
    return names if names and not posterior.dims else (names or available)[:1]


def _estimates(marginal: Marginal, ci_prob: float, ci_kind: Kind) -> list[str]:
    """Return the estimate of each place."""
    observed = marginal.observed
    interval = marginal.interval(ci_prob, ci_kind).values.reshape(-1, 2)
    trials = observed["trials"].values.ravel() if "trials" in observed.coords else np.full(len(interval), np.nan)
    means, medians = (values.values.ravel() for values in (marginal.mean(), marginal.median()))
    if marginal.quantity.metric in _OF_FEW_VALUES and not marginal.quantity.contrast:
        means = medians
    each = zip(means, medians, interval, observed.values.ravel(), trials, strict=True)
    return [
        "undefined (0/0)"
        if np.isnan(median)
        else f"{'' if np.isfinite(mean) else 'in the median '}"
        + estimate(mean if np.isfinite(mean) else median, low, high, ci_prob, ci_kind, _observed(score, of, high - low))
        for mean, median, (low, high), score, of in each
    ]


def _observed(score: float, trials: float, interval_width: float) -> str:
    """Return an observed score; a proportion as successes and trials."""
    if np.isnan(score):
        return ""
    return signed_value(score, interval_width) if np.isnan(trials) else f"{score * trials:,.0f} of {trials:,.0f}"


def caveats_of(marginal: Marginal, ci_prob: float, ci_kind: Kind) -> list[str]:
    """Return a sentence if the figures owe much to the prior, or to chance in the draws."""
    observed, distribution = marginal.observed, marginal.distribution
    if "trials" in observed.coords and isinstance(distribution, Beta):
        weight = (distribution.a + distribution.b)[:, 0]
        prior = float((1 - observed["trials"].values.ravel() / weight).max())
        if prior >= _PRIOR_COUNTS:
            places = "" if not marginal.dims else " at most"
            return [f"Few examples: {chance(prior)} of the weight{places} is the prior's."]
    if too_narrow := area_caveat(marginal):
        return [too_narrow]
    if marginal.method == "draws":
        if not marginal.sd().values.any():
            return ["All draws are the same, so the interval has no width; that is no certainty about other data."]
        interval = marginal.interval(ci_prob, ci_kind)
        error = marginal.mcse_interval(ci_prob, ci_kind)
        width = (interval[..., 1] - interval[..., 0]).clip(min=_NO_WIDTH)
        if float((error / width).max()) >= _ERROR_COUNTS:
            return [f"The limits have a Monte Carlo error of up to {float(error.max()):.2g}."]
    return []


def area_caveat(marginal: Marginal) -> str:
    """Return a sentence if an area is too near its bound for so few examples to determine it; else nothing."""
    is_normal = marginal.name == "roc_auc" and isinstance(marginal.distribution, distributions.normal.Normal)
    if marginal.examples is None or not is_normal:
        return ""
    from_the_end = np.minimum(marginal.observed, 1 - marginal.observed)
    if not (marginal.examples.min("actual") * from_the_end).min() < _FEW_ON_WRONG_SIDE:
        return ""
    return (
        "With so few examples, the interval of an area so near 0 or 1 is too narrow: it contains the true area less "
        "often than it says."
    )
