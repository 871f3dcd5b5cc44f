"""What more calls, or more labels for the validation of calls, would add to what we know about a prevalence.

The expected width of the interval is a mean over what new data may be. Prevalence, recall and specificity have points
of their joint posterior: the proportion q of positive calls and both rates come from Beta distributions by a Sobol
sequence, which determines the prevalence π = (q + specificity − 1)/(recall + specificity − 1), and are weighted by the
prior of π. Each point predicts new calls, or labels. The interval depends on no more than their numbers, which are
divided into cells of equal probability; the posterior after the mean numbers of each cell has an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special, stats

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import interval_name, listed
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.beta import Beta
from bayesperf.labels.prevalence_of_calls import (
    Calls,
    KnownRate,
    TwoClasses,
    of_two_classes,
    stacked,
    tabulated_roughly,
)
from bayesperf.plan.plan_result import UnreachableError

MORE = ("calls", "labels")
# Multiples of the calls and labels so far of which the width is computed, and those that a summary shows.
_TIMES, _SHOWN = (1, 2, 4, 16, np.inf), (2, 4, np.inf)
# This many calls count as infinitely many.
_ENDLESS = 1e9
# If one call is worth more labels than this, or one label calls, only it helps.
_HARDLY = 1e4
# The points must be worth so many with equal weights.
_FEWEST = 200
# Points of the posterior; cells of the number of positive calls, and of right labels among negatives and positives.
_POINTS, _OF_CALLS, _OF_LABELS = 2**14, (12,), (8, 4)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PrevalencePlan(Answer):
    """Whether calls or labels make a prevalence uncertain. Made by `bayesperf.plan.prevalence`.

    Attributes
    ----------
    dataset : xarray.Dataset
        Expected ``width`` of the highest-density interval over ``more`` (calls or labels) and ``times``, a multiple of
        those so far; inf for infinitely many.
    calls, labels : int
        Numbers of calls, and of labels in the validation, so far.
    ci_prob : float
        Probability of the interval.
    """

    dataset: xr.Dataset
    calls: int
    labels: int
    ci_prob: float

    drawn_by = "prevalence_plan"

    def calls_for(self, width: float) -> int:
        """Return how many more calls bring the expected width of the interval to a given one.

        Parameters
        ----------
        width : float
            Width of the interval.

        Returns
        -------
        int
            0 if the interval is as narrow already.

        Raises
        ------
        UnreachableError
            If infinitely many calls leave a wider interval, because too few labels validated them.
        ValueError
            If the width is not above 0.
        """
        return self._needed("calls", width)

    def labels_for(self, width: float) -> int:
        """Return how many more labels bring the expected width of the interval to a given one.

        Parameters
        ----------
        width : float
            Width of the interval.

        Returns
        -------
        int
            Positives and negatives together, in the proportions of the validation.

        Raises
        ------
        UnreachableError
            If infinitely many labels leave a wider interval, because there are too few calls.
        ValueError
            If the width is not above 0.
        """
        return self._needed("labels", width)

    def summary(self) -> pd.DataFrame:
        """Return the width of the interval now, and its expectation with more calls or more labels."""
        rows: list[tuple[str, float, float, float]] = [("now", self.calls, self.labels, self._width("calls", 1))]
        for more in MORE:
            for times in _SHOWN:
                name = f"{times:g} × {more}" if np.isfinite(times) else f"infinitely many {more}"
                calls, labels = (times if more == each else 1 for each in MORE)
                rows.append((name, calls * self.calls, labels * self.labels, self._width(more, times)))
        return pd.DataFrame(rows, columns=["plan", "calls", "labels", "width"])

    def in_words(self) -> str:
        """Return sentences on how wide the interval is, what would narrow it, and which of the two is cheaper.

        Examples
        --------
        >>> import bayesperf as bp
        >>> validated = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399)
        >>> print(bp.plan.prevalence(50, validated, n=3330).in_words())
        The 95 % highest-density interval of the prevalence is 0.0177 wide. With twice the 3,330 calls it would be \
        0.017, and with twice the 523 labels of the validation 0.0152. No number of calls takes it below 0.016 with \
        this validation, and no number of labels below 0.0093 with these calls. One more label narrows it as much as \
        about 20 more calls: labels are the cheaper way if one costs less than that.
        """
        now, calls, labels = self._width("calls", 1), *(self._width(more, 2) for more in MORE)
        least = {more: self._width(more, np.inf) for more in MORE}
        return (
            f"The {interval_name(self.ci_prob, 'hdi')} of the prevalence is {_written(now)} wide. With twice the "
            f"{self.calls:,} calls it would be {_written(calls)}, and with twice the {self.labels:,} labels of the "
            f"validation {_written(labels)}. No number of calls takes it below {_written(least['calls'])} with this "
            f"validation, and no number of labels below {_written(least['labels'])} with these calls. {self._worth()}"
        )

    def _worth(self) -> str:
        """Say how many calls a label is worth, by what twice as many of each would add."""
        now = self._width("calls", 1)
        call, label = (
            max(now - self._width(more, 2), 0.0) / number
            for more, number in zip(MORE, (self.calls, self.labels), strict=True)
        )
        if label >= call:
            return _cheaper("label", "calls", label, call)
        return _cheaper("call", "labels", call, label)

    def _needed(self, more: str, width: float) -> int:
        """Return how many more calls or labels are needed for a width.

        The squared width is nearly a straight line in one over their number, from its limit at 0 to what it is now.
        """
        from scipy.interpolate import PchipInterpolator

        if checks.above_zero("width", width) >= self._width(more, 1):
            return 0
        if width <= self._width(more, np.inf):
            raise self._unreachable(more, width)
        squared = np.maximum.accumulate(self.dataset["width"].sel(more=more).values[::-1] ** 2)
        rises = np.append(True, np.diff(squared) > 0)
        share = PchipInterpolator(squared[rises], 1 / np.array(_TIMES)[::-1][rises])(width**2)
        return int(np.ceil((1 / share - 1) * getattr(self, more)))

    def _unreachable(self, more: str, width: float) -> UnreachableError:
        """Return an error that says what the limit is, and what else reaches the width."""
        limit, (other,) = self._width(more, np.inf), set(MORE) - {more}
        kept = "this validation" if more == "calls" else "these calls"
        if width > self._width(other, np.inf):
            advice = f"{self._needed(other, width):,} more {other} are enough: see {other}_for."
        else:
            times = (self._width(more, 1) / width) ** 2
            advice = f"More {other} alone do not reach it either: add both, about {times:.2g} times as many in all."
        return UnreachableError(
            f"width: {width:g} cannot be reached with {kept}: with endless {more} the width is still "
            f"{_written(limit)}. {advice}",
            limit,
        )

    def _width(self, more: str, times: float) -> float:
        return float(self.dataset["width"].sel(more=more, times=times))

    def __repr__(self) -> str:
        width = _written(self._width("calls", 1))
        return f"<bayesperf.plan.PrevalencePlan: {self.calls:,} calls, {self.labels:,} labels; width {width}>"


@checked
def prevalence(
    calls: Any,
    errors: Any,
    *,
    n: int | None = None,
    prior: Any = "jeffreys",
    pos_label: Any = None,
    ci_prob: float = 0.95,
) -> PrevalencePlan:
    """Return what more calls, or more labels for their validation, would add to what we know about a prevalence.

    Parameters
    ----------
    calls, errors, n, prior, pos_label
        As in `bayesperf.labels.prevalence`, of two classes and without leading dims. Labels add to counts, or to the
        weights of Beta distributions, so `errors` must be one of the two.
    ci_prob : float
        Probability of the highest-density interval.

    Returns
    -------
    PrevalencePlan

    Raises
    ------
    ValueError
        As in `bayesperf.labels.prevalence`; also if `calls` has leading dims, if the validation has no labels, if
        `errors` is neither counts nor weights, or if the errors hardly explain the calls at any prevalence.

    Notes
    -----
    The posterior of recall and specificity includes what the calls say about them. New labels have positives and
    negatives in the proportions of the validation. `bayesperf.plan.calls_or_labels` says how widths are computed, which
    takes two seconds.

    Examples
    --------
    >>> import bayesperf as bp
    >>> validated = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399)
    >>> plan = bp.plan.prevalence(50, validated, n=3330)
    >>> round(plan.labels_for(0.012), -2)
    2200
    """
    prob = checks.probability("ci_prob", ci_prob)
    if isinstance(errors, ConfusionMatrix) and len(errors.labels) > 2:
        raise InputError("errors", f"must be of two classes; they are {listed(errors.labels)}.", "Plan class by class.")
    known = of_two_classes(Calls(calls, n, None, pos_label), errors, prior)
    if known.total.ndim:
        dims = ", ".join(map(str, known.total.dims))
        raise InputError("calls", f"are of one population; these have the leading dims {dims}.", "Plan for one.")
    weights = [_weights(rate) for rate in (known.recall, known.specificity)]
    labels = [max(sum(each) - 1, 0.0) for each in weights]
    if not sum(labels) > 0:
        raise InputError("errors", "must come from at least one label.", "Validate the calls on some examples.")
    width = _expected_widths(known, weights, labels, prob)
    return PrevalencePlan(
        dataset=width.to_dataset(), calls=int(known.total.item()), labels=round(sum(labels)), ci_prob=prob
    )


def _weights(rate: KnownRate) -> tuple[float, float]:
    """Return the weights of the Beta distribution of a rate."""
    if not isinstance(rate.distribution, Beta):
        raise InputError(
            "errors", "must be counts, or weights of Betas: labels add to nothing else.", "Give the counts."
        )
    return rate.distribution.a.item(), rate.distribution.b.item()


class _Truths(NamedTuple):
    """Points of the joint posterior, each (points,) but `chance`, with their weights.

    `chance` (2, points) says at which level of their distributions new numbers are.
    """

    called: Array
    recall: Array
    specificity: Array
    weight: Array
    chance: Array


def _truths(known: TwoClasses, weights: list[tuple[float, float]]) -> _Truths:
    """Return points of the joint posterior."""
    y, n = float(known.positive), float(known.total)
    levels = stats.qmc.Sobol(5, rng=np.random.default_rng(0)).random(_POINTS).T
    parameters = zip([(y + 0.5, n - y + 0.5), *weights], levels[:3], strict=True)
    called, recall, specificity = (special.betaincinv(a, b, level) for (a, b), level in parameters)
    a, b = known.prior
    informed = recall + specificity - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        positive = (called + specificity - 1) / informed
        log = special.xlogy(a - 1, positive) + special.xlog1py(b - 1, -positive) - np.log(abs(informed))
        log += (np.log(called) + np.log1p(-called)) / 2
    possible = (positive > 0) & (positive < 1) & np.isfinite(log)
    weight = special.softmax(log[possible]) if possible.any() else np.ones(1)
    if 1 / (weight**2).sum() < _FEWEST:
        raise InputError(
            "errors, prior",
            "leave too few prevalences that explain the calls.",
            "Check which class is positive, or take the default prior.",
        )
    return _Truths(called[possible], recall[possible], specificity[possible], weight, levels[3:, possible])


def _expected_widths(
    known: TwoClasses, weights: list[tuple[float, float]], labels: list[float], prob: float
) -> xr.DataArray:
    """Return expected widths by calls and by labels."""
    y, n, truths = float(known.positive), float(known.total), _truths(known, weights)
    tables, masses = [tabulated_roughly(y, n, known)], []
    for times in _TIMES[1:]:
        new = _ENDLESS if np.isinf(times) else round((times - 1) * n)
        (positive,), mass = _cells(_predicted(new, truths.called, truths.chance[0])[None], truths.weight, _OF_CALLS)
        tables += [tabulated_roughly(y + each, n + new, known) for each in positive]
        masses.append(mass)
    true = truths.specificity, truths.recall
    for times in _TIMES[1:]:
        if np.isinf(times):
            rates, mass = _cells(np.array(true), truths.weight, _OF_LABELS)
            after = [[KnownRate(rate) for rate in of_class] for of_class in rates]
        else:
            new_of = [round((times - 1) * of_class) for of_class in labels[::-1]]
            right = [_predicted(*each) for each in zip(new_of, true, truths.chance, strict=True)]
            rights, mass = _cells(np.array(right), truths.weight, _OF_LABELS)
            parts = zip(weights[::-1], new_of, rights, strict=True)
            after = [[_beta(a + k, b + new - k) for k in of_class] for (a, b), new, of_class in parts]
        tables += [
            tabulated_roughly(y, n, known._replace(recall=recall, specificity=specificity))
            for specificity, recall in zip(*after, strict=True)
        ]
        masses.append(mass)
    low, high = stacked(tables).hdi(prob).T
    now, widths = (high - low)[0], np.split((high - low)[1:], np.cumsum([len(mass) for mass in masses])[:-1])
    means = [mass @ width for mass, width in zip(masses, widths, strict=True)]
    values = np.insert(np.reshape(means, (len(MORE), -1)), 0, now, axis=1)
    return xr.DataArray(values, {"more": list(MORE), "times": list(_TIMES)}, name="width")


def _predicted(n: float, rate: Array, level: Array) -> Array:
    """Return how many of n new trials succeed, at levels of their distributions; of infinitely many, the mean."""
    return n * rate if n >= _ENDLESS else np.asarray(stats.binom.ppf(level, n, rate))


def _cells(values: Array, weight: Array, cells: Sequence[int]) -> tuple[Array, Array]:
    """Return weighted means (k, cells) of values (k, points) in cells of about equal weight, and the weights.

    Points are divided by their first values, each part by their second ones, and so on.
    """
    if not cells:
        total = weight.sum()
        return (values @ weight / total)[:, None], np.array([total])
    order = np.argsort(values[-len(cells)])
    edges = np.searchsorted(np.cumsum(weight[order]), weight.sum() * np.arange(1, cells[0]) / cells[0])
    parts = [_cells(values[:, part], weight[part], cells[1:]) for part in np.split(order, edges) if weight[part].sum()]
    means, masses = zip(*parts, strict=True)
    return np.hstack(means), np.concatenate(masses)


def _beta(a: float, b: float) -> KnownRate:
    return KnownRate.of(Beta(np.array([[a]]), np.array([[b]])))


def _cheaper(one: str, others: str, better: float, worse: float) -> str:
    """Say how many of the others one is worth, and which is cheaper."""
    if better > _HARDLY * worse:
        return f"More {others} hardly help: add {one}s."
    times = float(f"{better / worse:.1g}")
    return (
        f"One more {one} narrows it as much as about {times:,g} more {others}: {one}s are the cheaper way if one costs "
        "less than that."
    )


def _written(width: float) -> str:
    return f"{width:.3g}"
