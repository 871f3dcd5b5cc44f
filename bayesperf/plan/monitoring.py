"""A system evaluated batch by batch: the posterior after each batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.comparison.comparing import compare
from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError
from bayesperf.core.words import REPEATED_LOOKS, plural
from bayesperf.data.counted import Counted
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.intervals.confidence_sequences import difference_sequence, paired_sequence
from bayesperf.metrics.metric import Metric, better_sign
from bayesperf.metrics.point_values import score
from bayesperf.plan.anytime import anytime_in_words, anytime_intervals, anytime_of_limits
from bayesperf.plan.evidence import requirement_of
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.paired_systems import discordant_counts, margins
from bayesperf.posteriors.posterior import warn_of_clusters
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.requirement import with_direction
from bayesperf.posteriors.sentences import marginal_in_words
from bayesperf.posteriors.summary_table import table_of_intervals


@dataclass(frozen=True, eq=False, repr=False)
class Monitor(Answer):
    """A metric as evidence comes in. Made by `monitor`.

    Attributes
    ----------
    dataset : xarray.Dataset
        Over the steps, and other leading dims: ``mean`` of the metric's posterior after that step, its ``interval``
        (dim ``ci_bound`` = lower, upper), the probability ``prob_met`` that the metric meets the requirement, and the
        number of ``examples`` so far. A metric that is a proportion of examples also has a confidence sequence.
        ``anytime_lower`` and ``anytime_upper`` are the intersection of its intervals at all steps so far.
        ``anytime_verdict`` says whether they show that the requirement is "met" or "missed", leave it "open", or have
        no intersection and so are "contradicted" (limits are then NaN). The settings are in ``attrs``.
    marginal : Marginal
        Posterior of the metric, or of the difference of two systems, after each step.
    """

    dataset: xr.Dataset
    marginal: Marginal

    drawn_by = "monitor"

    def summary(self) -> pd.DataFrame:
        """Return the variables of `dataset` as a table, with a row for each step (and system)."""
        return table_of_intervals(self.dataset)

    def in_words(self) -> str:
        """Return sentences on the last step: the metric, how probably it meets the requirement, and the verdict.

        The verdict comes from the confidence sequence, so it is valid however often you looked.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_table([[[8, 2], [1, 4]], [[9, 1], [1, 4]], [[7, 3], [0, 5]]], dims=["step"])
        >>> print(bp.monitor(cm, 0.7, "recall").in_words().partition(" If you look")[0])
        After 3 steps: recall is 0.844 (95 % HDI 0.672–0.987; observed 13 of 15). With probability 93 % it is at \
        least 0.7. However often you look, with 95 % confidence recall is between 0.499 and 0.990, which leaves open \
        whether it is at least 0.7.
        """
        facts = self.dataset.attrs
        last = self.marginal.isel(**{facts["dim"]: -1})
        at_least, at_most = (facts["requirement"], None)[:: better_sign(facts["greater_is_better"])]
        steps = f"{self.dataset.sizes[facts['dim']]} {plural(facts['dim'])}"
        before = f"after {steps}: {'the ' if 'versus' in facts else ''}"
        text = marginal_in_words(last, at_least, at_most, facts["ci_prob"], facts["ci_kind"], before)
        return f"{text} {anytime_in_words(self.dataset)} {REPEATED_LOOKS}"

    def __repr__(self) -> str:
        return f"<bayesperf.plan.Monitor>\n{self.dataset!r}\n{REPEATED_LOOKS}"


@checked
def monitor(
    cm: Counted,
    requirement: float,
    metric: str | Metric = "recall",
    *,
    dim: str = "step",
    versus: tuple[Any, Any] | None = None,
    prior: str | priors.Prior | None = None,
    ci_prob: float = 0.95,
    ci_kind: Kind = "hdi",
) -> Monitor:
    """Return the posterior of a metric after each batch of examples, and whether it meets a requirement.

    Parameters
    ----------
    cm : ConfusionMatrix or Outcomes
        Counts of the batches, in order along `dim`; other leading dims (models) are followed side by side.
    requirement : float
        The metric must be above this; below it, if a smaller metric is better.
    metric : str or Metric
        The metric to follow.
    dim : str
        The dim of the batches.
    versus : tuple of two, optional
        Two systems (a, b) along the other dim, whose difference a − b is followed, on the same examples or on others.
        The requirement is then its bound: 0 for better.
    prior : str or Prior, optional
        Prior of the cells before the first batch, as in `bayesperf.posterior`.
    ci_prob, ci_kind
        Probability and kind of the interval; the confidence sequence has the same probability.

    Returns
    -------
    Monitor

    Raises
    ------
    ValueError
        If there is no such dim or system, or the requirement does not fit the metric.

    Notes
    -----
    Each batch's posterior is the prior of the next. After any number of batches it is the posterior of their sum,
    whatever the order and however often you look. So a probability of 0.95 means the same whether you look once or stop
    as soon as you reach it: among systems that follow the prior, at least 95 % of those that stop there meet the
    requirement. Stopping early changes the frequency of errors for *one* system whose metric is fixed: the more often
    you look, the more probably it passes once by luck. The result and its figure say so.

    To bound such errors, use ``anytime_verdict``. It comes from a confidence sequence
    (`bayesperf.intervals.confidence_sequence`, at `ci_prob`, uniform weights): with that confidence the true value is
    between ``anytime_lower`` and ``anytime_upper`` at *all* steps, whatever the prior and whenever you stop. The limits
    combine all steps so far; unless the batches differ, they cross with a probability of at most 1 − `ci_prob`. Each
    system, and each class, has its own sequence. Only proportions of independent examples have one (recall, precision,
    …; not F1). Differences have `bayesperf.intervals.paired_sequence` or `difference_sequence`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_table([[[8, 2], [1, 4]], [[9, 1], [1, 4]], [[7, 3], [0, 5]]], dims=["step"])
    >>> bp.monitor(cm, 0.7, "recall").dataset["prob_met"].round(3).values
    array([0.663, 0.745, 0.929])

    You look every week. After 15 weeks, with 123 of 150 positives found, a recall above 0.7 is shown:

    >>> found = [8, 9, 8, 7, 9] * 6
    >>> weeks = bp.ConfusionMatrix.from_table([[[9, 1], [10 - tp, tp]] for tp in found], dims=["week"])
    >>> data = bp.monitor(weeks, 0.7, "recall", dim="week").dataset
    >>> data["anytime_verdict"].values.tolist().index("met")
    14
    >>> data[["anytime_lower", "anytime_upper"]].isel(week=14).round(3).to_array().values
    array([0.701, 0.906])
    """
    checks.instance("cm", cm, ConfusionMatrix, Outcomes)
    checks.leading_dim("dim", dim, cm.dims, "Name that of the batches.")
    checks.probability("ci_prob", ci_prob)
    warn_of_clusters(cm)
    if versus is None:
        wanted = requirement_of(metric, requirement)
        marginal, anytime, examples, prior_text = _so_far(cm, wanted, float(requirement), dim, prior, ci_prob)
    else:
        wanted = _followed(metric, requirement)
        marginal, limits, examples, prior_text = difference_so_far(cm, wanted, dim, versus, prior, ci_prob)
        anytime = {}
        if limits is not None:
            ordered = limits.drop_attrs().transpose(*marginal.dims, "ci_bound")
            anytime = anytime_of_limits(ordered, float(requirement), wanted.better, dim)
    variables = {
        "mean": marginal.mean(),
        "interval": marginal.interval(ci_prob, ci_kind).drop_attrs(),
        "prob_met": marginal.prob_meets(requirement),
        "examples": examples,
        **anytime,
    }
    attrs: dict[str, Any] = {
        "metric": wanted.name, "title": marginal.quantity.title, "requirement": float(requirement),
        "greater_is_better": wanted.greater_is_better, "dim": dim, "ci_prob": ci_prob, "ci_kind": ci_kind,
        "prior": prior_text, "estimand": marginal.estimand,
    }  # fmt: skip
    if versus is not None:
        attrs["versus"] = [str(name) for name in versus]
    return Monitor(xr.Dataset(variables, attrs=attrs), marginal)


def _so_far(
    cm: Counted, metric: Metric, requirement: float, dim: str, prior: str | priors.Prior | None, confidence: float
) -> tuple[Marginal, dict[str, xr.DataArray], xr.DataArray, str]:
    """Return the metric after each batch, what holds at all looks, the examples so far, and the prior."""
    counts = cm.holding(cm.counts.copy(data=np.cumsum(cm.counts.values, axis=cm.counts.get_axis_num(dim))))
    post = posterior(counts, prior)
    marginal = post[metric]
    anytime = anytime_intervals(marginal.observed, requirement, metric.better, dim, confidence)
    return marginal, anytime, counts.total, post.prior_text


def _followed(metric: str | Metric, requirement: Any) -> Metric:
    """Return the metric of a difference for which a bound can be required."""
    wanted = with_direction(metric)
    low, high = wanted.bounds
    if not low - high < checks.number("requirement", requirement) < high - low:
        raise InputError("requirement", f"must be a possible difference of {wanted.name}; it is {requirement}.")
    return wanted


# ── The difference of two systems ──


def two_systems(cm: Counted, dim: str, versus: Any) -> tuple[Counted, str]:
    """Return the counts of two systems, a before b, and their dim."""
    others = [str(each) for each in cm.dims if each != dim]
    if len(others) != 1:
        raise InputError("versus", f"needs one dim of systems beside {dim!r}; there are {others}.")
    known = cm.counts[others[0]].values.tolist()
    if isinstance(versus, str) or not isinstance(versus, Sequence) or len(versus) != 2 or len({*versus}) != 2:
        raise InputError("versus", f"must name two systems, as ('new', 'old'); it is {versus!r}.")
    if unknown := [name for name in versus if name not in known]:
        raise InputError("versus", f"{unknown[0]!r} is no {others[0]}; they are {known}.")
    return cm.sel(**{others[0]: list(versus)}), others[0]


def difference_so_far(
    cm: Counted, metric: Metric, dim: str, versus: Any, prior: str | priors.Prior | None, confidence: float
) -> tuple[Marginal, xr.DataArray | None, xr.DataArray, str]:
    """Return the difference after each batch, its anytime limits (None for no proportion), examples, and the prior.

    If the systems were tested on the same examples, both are by the discordant ones.
    """
    pair, along = two_systems(cm, dim, versus)
    if pair.patterns is not None:
        counts = pair.patterns.counts
        joint = replace(pair.patterns, counts=_cumulated(counts, dim))
        pair, examples = margins(joint), joint.counts.sum("pattern")
        compared = compare(pair, metric=metric, dim=along, prior=prior)
        marginal = compared.difference.isel(pair=0)
    else:
        pair = pair.holding(_cumulated(pair.counts, dim))
        first, second = (pair.sel(**{along: name}) for name in versus)
        compared = compare(posterior(first, prior), posterior(second, prior), metric, independent=True)
        marginal, examples = compared.difference, first.total + second.total
    numbers, limits = _numbers_behind(pair, metric, along), None
    if numbers is not None:
        sequence = paired_sequence if pair.patterns is not None else difference_sequence
        limits = sequence(*numbers, confidence=confidence)
    observed = score(pair, metric)
    gap = observed.sel({along: versus[0]}, drop=True) - observed.sel({along: versus[1]}, drop=True)
    return replace(marginal, score=gap.transpose(*marginal.dims)), limits, examples, compared.basis


def counts_of_difference(pair: Counted, metric: Metric, along: str) -> tuple[int, ...] | None:
    """Return the whole numbers behind the difference of a proportion of two systems; None if it is no such proportion.

    Three on the same examples (only the first succeeds, only the second, trials), as `paired_sequence` takes them, and
    four on others (successes and trials of both), as `difference_sequence` does.
    """
    numbers = _numbers_behind(pair, metric, along)
    return None if numbers is None else tuple(int(each) for each in numbers)


def _numbers_behind(pair: Counted, metric: Metric, along: str) -> Sequence[xr.DataArray] | None:
    """Return what `counts_of_difference` does, over the other leading dims."""
    if pair.patterns is not None:
        return discordant_counts(pair.patterns, metric)
    numbers: list[xr.DataArray] = []
    for place in range(2):
        side = pair.isel(**{along: place})
        trials = metric.trials(side.cells.values, side.positive)
        if trials is None:
            return None
        share = score(side, metric)
        numbers += [(share.fillna(0) * trials).round(), share.copy(data=trials)]
    return [each.drop_attrs() for each in numbers]


def _cumulated(counts: xr.DataArray, dim: str) -> xr.DataArray:
    return counts.copy(data=np.cumsum(counts.values, axis=counts.get_axis_num(dim)))
