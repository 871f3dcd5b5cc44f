"""`slices`: where a classifier fails, in a test set that is sliced by several dims at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.random_streams import stream
from bayesperf.core.words import chance, estimate, plural, sentence
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.counted import Counted
from bayesperf.data.label_encoding import missing_positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes, matrix_of_right
from bayesperf.distributions.draws import Draws
from bayesperf.groups.pooling import pool
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate, point_value
from bayesperf.metrics.registry import applicable, get, in_field_words
from bayesperf.posteriors.arviz_trees import observed_table
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity, Scope, described
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.summary_table import Summary
from bayesperf.posteriors.tree_attributes import POSITIVE, PRIOR, is_fit_of, options_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mix = Literal["same", "own"]
# The rates of a slice, and whose examples each is a share of: of all, or of one class.
_TWO_CLASSES = ("prevalence", "recall", "specificity")
# The rate that a metric depends on, if it depends on one.
_RATES_OF = {"recall": ("recall",), "fnr": ("recall",), "specificity": ("specificity",), "fpr": ("specificity",)}
# Numbers that are held for a draw of a slice: its cells, its rates before and after the data, and what they come from.
_NUMBERS = 20
# A trial more in each slice, so that slices that are all empty weigh the same.
_LEAST_TRIALS = 1e-9
# The data show a gap if its odds are these many times those before the data, and speak against it if they are as much
# lower; they point to a worst slice if its odds are so many times those by chance: it is chosen among several.
SHOWN, POINTED = 3, 10
# Rates of a prior, away from 0 and 1, where metrics are undefined.
_LEAST_RATE = 1e-12
_DRAWS = ("chain", "draw")


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Answer):
    """The metrics of every slice of a test set, by `slices`.

    Attributes
    ----------
    cm : ConfusionMatrix
        The counts; every leading dim is a dim of slices.
    rates : xarray.DataArray
        Draws of the rates of each slice, (…, chain, draw, rate): prevalence, recall and specificity, or accuracy.
    prior_rates : xarray.DataArray
        Draws of the same rates from the prior, in the same form.
    spread : xarray.Dataset
        Draws (…, effect, rate) of how much the levels of each dim and interaction differ, ``posterior`` and ``prior``;
        its attribute ``measure`` names the measure.
    prior_text : str
        The prior, in words.
    independent : bool
        Whether the draws are independent.
    graded : bool
        Whether the counts are of right and wrong outcomes.
    """

    cm: ConfusionMatrix
    rates: xr.DataArray
    prior_rates: xr.DataArray
    spread: xr.Dataset
    prior_text: str
    independent: bool
    graded: bool = False

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of the slices."""
        return tuple(map(str, self.cm.dims))

    # ── Metrics of slices and of levels ──

    def __getitem__(self, metric: str | Metric) -> Marginal:
        """Return the distribution of a metric over all slices."""
        wanted = self._metric(metric)
        return self._marginal(wanted, self.rates, self.cm.counts, Scope("slices"))

    @checked
    def levels(self, dim: str, metric: str | Metric = "", *, mix: Mix = "same", before_data: bool = False) -> Marginal:
        """Return the distribution of a metric over the levels of one dim.

        Parameters
        ----------
        dim : str
            A dim of the slices.
        metric : str or Metric
            By default recall, or the accuracy.
        mix : {"same", "own"}
            The weights of a level's slices, from the other dims. "same": the observed mix of all examples, so that
            levels differ by themselves and not by who is examined there. "own": the level's own observed mix, so that
            they differ as observed; a level without examples has equal weights.
        before_data : bool
            Whether to return the prior: the model's distribution for these levels, with the same weights, without the
            data.

        Returns
        -------
        Marginal
            An array over `dim`. Recall is averaged over the mix of positive examples, specificity over the mix of
            negative ones; the accuracy of several classes over the mix of all. Prevalence is a level's own, from all
            its examples, at either mix. Other metrics are computed from these: precisions at the same mix depend on how
            well, and how often, but not on which examples of a class occur.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).levels("site", "recall").mean().round(1).values
        array([0.9, 0.6])
        """
        wanted, weights = self._metric(metric), self._weights(dim, mix)
        others = [each for each in self.dims if each != dim]
        counts = self.cm.counts.sum(others)
        how = "the same mix of the others" if mix == "same" else "its own mix of the others"
        scope = Scope("levels", dim, detail=f" at {how}" if others else "")
        rates = ((self.prior_rates if before_data else self.rates) * weights).sum(others)
        if others and "prevalence" in rates["rate"]:
            seen = xr.zeros_like(counts) if before_data else counts
            sizes = [rates.sizes[each] for each in _DRAWS]
            rates = rates.where(rates["rate"] != "prevalence", self._prevalence(dim, seen, sizes))
        return self._marginal(wanted, rates, counts, scope, "Prior" if before_data else None)

    def _prevalence(self, dim: str, counts: xr.DataArray, sizes: list[int]) -> xr.DataArray:
        """Draw the prevalence of each level, of all its examples.

        An average over slices of few examples, each of which has a prior of its own, would be drawn to ½.
        """
        totals = counts.sum("predicted").transpose(dim, "actual")
        positives = totals.sel(actual=self.cm.pos_label, drop=True)
        rng = stream(0, f"slices: prevalence of {dim}", totals.values)
        a, b = (1 + n.values[:, None, None] for n in (positives, totals.sum("actual") - positives))
        drawn = rng.beta(a, b, (len(totals), *sizes))
        return xr.DataArray(drawn, {dim: totals[dim].values}, (dim, *_DRAWS))

    def _weights(self, dim: str, mix: Mix) -> xr.DataArray:
        """Return the weights of the slices of each level, for each rate, which sum to 1 over the other dims."""
        self._check_dim(dim)
        checks.one_of("mix", mix, ("same", "own"))
        others = [each for each in self.dims if each != dim]
        trials = self.trials.sum(dim) if mix == "same" else self.trials
        trials = trials + _LEAST_TRIALS
        weights: xr.DataArray = trials / trials.sum(others)
        return weights

    @cached_property
    def trials(self) -> xr.DataArray:
        """The number of examples behind each rate, (…, rate)."""
        totals = self.cm.counts.sum("predicted")
        everyone = totals.sum("actual")
        if "accuracy" in self.rates["rate"]:
            return everyone.expand_dims(rate=["accuracy"])
        positives = totals.sel(actual=self.cm.pos_label, drop=True)
        of_rate = [everyone, positives, everyone - positives]
        return xr.concat(of_rate, pd.Index(_TWO_CLASSES, name="rate"))

    def _metric(self, metric: str | Metric) -> Metric:
        wanted = applicable(metric or self.default_metric, self.cm.labels, self.cm.positive, self.cm.dims)
        if "accuracy" in self.rates["rate"] and wanted.name != "accuracy":
            raise InputError("metric", f"only the accuracy of these slices was modelled, and not {wanted.name!r}.")
        if wanted.average == "per_class":
            raise InputError("metric", f"{wanted.name!r} has a value a class; name one that has a single value.")
        return in_field_words(wanted, self.graded)

    @property
    def default_metric(self) -> str:
        """Recall of two classes, else accuracy."""
        return "accuracy" if "accuracy" in self.rates["rate"] else "recall"

    def _marginal(
        self, metric: Metric, rates: xr.DataArray, counts: xr.DataArray, scope: Scope, inference: str | None = None
    ) -> Marginal:
        """Return the distribution of a metric, given draws of the rates, with the metric of the counts beside it."""
        values = self._values(metric, rates).transpose(..., *_DRAWS)
        flat = values.values.reshape(-1, *values.shape[-2:])
        leading = xr.zeros_like(values.isel(chain=0, draw=0, drop=True))
        drawn = Draws(flat, metric.bounds, self.independent)
        score = _observed(metric, counts.transpose(*leading.dims, *CELL_DIMS), self.cm.positive)
        return Marginal(Quantity.of(metric, scope), drawn, leading, inference=inference, score=score)

    def _values(self, metric: Metric, rates: xr.DataArray) -> xr.DataArray:
        if "accuracy" in rates["rate"]:
            return rates.sel(rate="accuracy", drop=True)
        prevalence, recall, specificity = (rates.sel(rate=rate, drop=True) for rate in _TWO_CLASSES)
        of_positives = prevalence * xr.concat([1 - recall, recall], "predicted")
        of_negatives = (1 - prevalence) * xr.concat([specificity, 1 - specificity], "predicted")
        cells = xr.concat([of_negatives, of_positives], "actual").assign_coords(actual=[0, 1], predicted=[0, 1])
        return evaluate(metric, cells, 1)

    def _check_dim(self, dim: str) -> None:
        if dim not in self.dims:
            raise InputError("dim", f"there is no {dim!r} among the dims of the slices, {', '.join(self.dims)}.")

    # ── Where it fails ──

    def prob_worst(self, metric: str | Metric = "") -> xr.DataArray:
        """Return the probability that each slice is the worst of all those in which the metric was observed.

        Parameters
        ----------
        metric : str or Metric
            A metric with a direction; by default recall, or the accuracy.

        Returns
        -------
        xarray.DataArray
            An array over the dims of the slices. 0 for slices without an example of the metric: nothing is known about
            them beyond what the others say.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).prob_worst("recall").round(2).values
        array([0., 1.])
        """
        marginal = self[metric]
        if marginal.greater_is_better is None:
            raise InputError("prob_worst", f"neither more nor less {marginal.name} is better.")
        values = marginal.better * _draws_behind(marginal)
        seen = ~np.isnan(marginal.observed)
        if not seen.any():
            raise InputError("prob_worst", f"{marginal.name} was observed in no slice.")
        flat = values.where(seen, np.inf).stack(place=self.dims, create_index=False).transpose("place", ...).values
        share = np.bincount(flat.reshape(len(flat), -1).argmin(0), minlength=len(flat)) / flat[0].size
        return marginal.leading.copy(data=share.reshape(marginal.leading.shape)).rename("prob_worst")

    def summary(self, metric: str | Metric = "", ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return a tidy table of all slices: observed values beside estimates.

        Parameters
        ----------
        metric : str or Metric
            By default recall, or the accuracy.
        ci_prob, ci_kind
            Probability and kind of the intervals.

        Returns
        -------
        pandas.DataFrame
            Columns: the dims; ``n``, the number of the metric's trials (positives for recall; all examples for a metric
            that is no proportion); ``observed``, empty without examples; ``mean``, ``ci_lower``, ``ci_upper``; and, if
            the metric has a direction, ``prob_worst`` (see `prob_worst`) beside ``by_chance``, its value if all slices
            with examples were equally likely to be the worst.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).summary("recall")[["site", "n", "observed"]].to_dict("list")
        {'site': ['a', 'b'], 'n': [50, 50], 'observed': [0.9, 0.6]}
        """
        marginal = self[metric]
        observed, interval = marginal.observed, marginal.interval(ci_prob, ci_kind)
        n = observed["trials"] if "trials" in observed.coords else self.cm.total
        figures = {
            "n": n.transpose(*marginal.dims).astype(int),
            "observed": observed,
            "mean": marginal.mean(),
            "ci_lower": interval[..., 0],
            "ci_upper": interval[..., 1],
        }
        if marginal.greater_is_better is not None:
            seen = ~np.isnan(observed)
            figures |= {"prob_worst": self.prob_worst(metric), "by_chance": seen / seen.sum()}
        return self._summary(_rows(marginal.leading, figures), marginal.estimand, ci_prob, ci_kind)

    def _summary(self, rows: pd.DataFrame, estimand: str, ci_prob: float, ci_kind: Kind) -> pd.DataFrame:
        summary = Summary(rows)
        summary.attrs = {"ci_prob": ci_prob, "ci_kind": ci_kind, "estimand": estimand, "prior": self.prior_text}
        return summary

    # ── Gaps ──

    def gap(
        self,
        dim: str,
        metric: str | Metric = "",
        above: float = 0.05,
        *,
        mix: Mix = "same",
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> pd.DataFrame:
        """Return the gaps between all pairs of levels of a dim.

        A level's metric is an average over its slices. The weights of the other dims are the same for both levels of a
        pair (``mix="same"``, the observed mix of all examples), or each level's own (``mix="own"``); see `levels`. A
        gap at the same mix compares the levels themselves. A gap at their own mixes also contains the differences in
        the other dims: if a site examines the old and the old are harder, that is a part of its gap.

        Parameters
        ----------
        dim : str
            A dim of the slices.
        metric : str or Metric
            By default recall, or the accuracy. `bayesperf.groups.parity` has the usual ones of fairness.
        above : float
            The gap δ that matters.
        mix : {"same", "own"}
            The weights for the average over the other dims.
        ci_prob, ci_kind
            Probability and kind of the intervals.

        Returns
        -------
        pandas.DataFrame
            A row for each pair of levels, `dim` and ``{dim}_other``: ``mean``, ``ci_lower`` and ``ci_upper`` of the
            first's metric minus the other's; ``prob_greater``, the probability that it is above 0; ``prob_above``, that
            the gap is more than δ in either direction; and ``prior_above``, the same probability before the data. If
            the last two are alike, the data add nothing.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> gap = bp.slices(cm).gap("site", "recall", above=0.1)
        >>> gap[["site", "site_other", "prob_above"]].round(1).values.tolist()
        [['a', 'b', 1.0]]
        """
        least = self._least_gap(above)
        levels = self.levels(dim, metric, mix=mix)
        values, names = _draws_behind(levels).transpose(dim, *_DRAWS).values, levels.leading[dim].values.tolist()
        pairs = list(combinations(range(len(names)), 2))
        if not pairs:
            raise InputError("dim", f"{dim!r} has one level, so there is no gap.")
        gaps = np.stack([values[i] - values[j] for i, j in pairs])
        before = _draws_behind(self.levels(dim, metric, mix=mix, before_data=True)).transpose(dim, *_DRAWS).values
        drawn = Draws(gaps, _of_difference(levels.bounds), self.independent)
        interval = _interval(drawn, ci_prob, ci_kind)
        rows = pd.DataFrame(
            {
                dim: [names[i] for i, _ in pairs],
                f"{dim}_other": [names[j] for _, j in pairs],
                "mean": gaps.mean((1, 2)),
                "ci_lower": interval[:, 0],
                "ci_upper": interval[:, 1],
                "prob_greater": (gaps > 0).mean((1, 2)),
                "prob_above": (abs(gaps) > least).mean((1, 2)),
                "prior_above": [(abs(before[i] - before[j]) > least).mean() for i, j in pairs],
            }
        )
        return self._summary(rows, described(levels.quantity.scope, f"gap of {levels.name}"), ci_prob, ci_kind)

    @checked
    def largest_gap(
        self, dim: str, metric: str | Metric = "", *, mix: Mix = "same", before_data: bool = False
    ) -> Marginal:
        """Return the distribution of the gap between the best and the worst level of a dim.

        It is the maximum minus the minimum of uncertain values: above the gap of any two levels, and above 0 even if
        all levels are alike. Report the probability that it exceeds what matters, ``.prob_above(δ)``, and the same
        probability before the data, which is often nearly as high.

        Parameters
        ----------
        dim, metric, mix
            As in `gap`.
        before_data : bool
            Whether to return the prior: the largest gap that the model expects between these levels without the data.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> found = bp.slices(cm)
        >>> [found.largest_gap("site", "recall", before_data=b).prob_above(0.1).round(1).item() for b in (True, False)]
        [0.4, 1.0]
        """
        levels = self.levels(dim, metric, mix=mix, before_data=before_data)
        values = _draws_behind(levels)
        gap = (values.max(dim) - values.min(dim)).transpose(*_DRAWS).values[None]
        bounds = (0.0, _of_difference(levels.bounds)[1])
        quantity = levels.quantity.contrasted("largest gap", bounds)
        return Marginal(quantity, Draws(gap, bounds, self.independent), xr.DataArray(0.0))

    @checked
    def ratios(
        self,
        dim: str,
        metric: str | Metric = "",
        at_least: float = 0.8,
        *,
        mix: Mix = "same",
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> pd.DataFrame:
        """Return the ratios between all pairs of levels of a dim.

        Parameters
        ----------
        dim, metric, mix, ci_prob, ci_kind
            As in `gap`.
        at_least : float
            The ratio that must be reached in both directions, such as 0.8 by the four-fifths rule.

        Returns
        -------
        pandas.DataFrame
            A row for each pair of levels: ``median``, ``ci_lower`` and ``ci_upper`` of the first's metric over the
            other's, whose mean may be infinite; ``prob_at_least``, the probability that the smaller of the
            two is at least that fraction of the larger; and ``prior_at_least``, the same probability before the data.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).ratios("site", "recall")[["site", "site_other", "prob_at_least"]].round(1).values.tolist()
        [['a', 'b', 0.2]]
        """
        least = checks.probability("at_least", at_least)
        levels = self.levels(dim, metric, mix=mix)
        names = levels.leading[dim].values.tolist()
        pairs = np.array(list(combinations(range(len(names)), 2))).reshape(-1, 2).T
        if not pairs.size:
            raise InputError("dim", f"{dim!r} has one level, so there is no ratio.")
        now, before = (
            _draws_behind(each).transpose(dim, *_DRAWS).values
            for each in (levels, self.levels(dim, metric, mix=mix, before_data=True))
        )
        ratios = now[pairs[0]] / now[pairs[1]]
        interval = _interval(Draws(ratios, (0, np.inf), self.independent), ci_prob, ci_kind)
        shown = [
            (np.minimum(v[pairs[0]], v[pairs[1]]) >= least * np.maximum(v[pairs[0]], v[pairs[1]])).mean((1, 2))
            for v in (now, before)
        ]
        rows = {dim: [names[i] for i in pairs[0]], f"{dim}_other": [names[i] for i in pairs[1]],
                "median": np.median(ratios, (1, 2)), "ci_lower": interval[:, 0], "ci_upper": interval[:, 1],
                "prob_at_least": shown[0], "prior_at_least": shown[1]}  # fmt: skip
        estimand = described(levels.quantity.scope, f"ratio of {levels.name}")
        return self._summary(pd.DataFrame(rows), estimand, ci_prob, ci_kind)

    @checked
    def smallest_ratio(
        self, dim: str, metric: str | Metric = "", *, mix: Mix = "same", before_data: bool = False
    ) -> Marginal:
        """Return the distribution of the ratio of the lowest to the highest level of a dim.

        Like `largest_gap`, it is below 1 even if all levels are alike.

        Parameters
        ----------
        dim, metric, mix, before_data
            As in `largest_gap`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).smallest_ratio("site", "recall").prob_above(0.8).round(1).item()
        0.2
        """
        levels = self.levels(dim, metric, mix=mix, before_data=before_data)
        values = _draws_behind(levels)
        ratio = (values.min(dim) / values.max(dim)).transpose(*_DRAWS).values[None]
        quantity = levels.quantity.contrasted("smallest ratio", (0.0, 1.0))
        return Marginal(quantity, Draws(ratio, (0.0, 1.0), self.independent), xr.DataArray(0.0))

    def _least_gap(self, above: float) -> float:
        if not 0 <= checks.number("above", above) < np.inf:
            raise InputError("above", f"must be a gap that matters, at least 0; it is {above!r}.")
        return float(above)

    # ── Which dim matters ──

    def which_dim(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return how much the levels of each dim and interaction differ, a posteriori and a priori.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind of the intervals.

        Returns
        -------
        pandas.DataFrame
            A row for each rate and effect: ``mean``, ``ci_lower`` and ``ci_upper`` of the standard deviation of its
            levels on the logit scale, averaged over the other dims (for slices by `bayesperf.pool`, of the dispersion
            ρ), the same from its prior (``prior_mean``, ``prior_lower``, ``prior_upper``), and ``prob_largest``, the
            probability that it is the largest for the rate, beside the prior's ``prior_largest``. If posterior and
            prior are alike, the data do not say.

        Notes
        -----
        The standard deviation describes the levels in the table, not a population of levels: a few levels say little
        about a population's standard deviation σ, however well they are known (Gelman 2005, Annals of Statistics 33). σ
        is ``spread`` in the fit.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).which_dim()[["rate", "effect", "prob_largest"]].values.tolist()
        [['recall', 'site', 1.0], ['specificity', 'site', 1.0]]
        """
        posterior, prior = (self.spread[name].stack(each=_others(self.spread[name])) for name in ("posterior", "prior"))
        posterior, prior = (drawn.transpose("rate", "effect", "each") for drawn in (posterior, prior))
        largest, before = ((drawn == drawn.max("effect")).mean("each") for drawn in (posterior, prior))
        figures = {"mean": posterior.mean("each"), **_ends(posterior, ("ci_lower", "ci_upper"), ci_prob, ci_kind)}
        figures |= {"prior_mean": prior.mean("each"), **_ends(prior, ("prior_lower", "prior_upper"), ci_prob, ci_kind)}
        rows = _rows(largest, figures | {"prob_largest": largest, "prior_largest": before})
        return self._summary(rows, f"Posterior of the {self.spread.attrs['measure']}", ci_prob, ci_kind)

    # ── Words and figures ──

    def in_words(
        self, metric: str | Metric = "", above: float = 0.05, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi"
    ) -> str:
        """Return sentences: which slice is probably the worst, the largest gap of each dim, and which dim matters most.

        Each probability stands beside its value without the data, and the sentences say where the data add nothing to
        it (see `sentences`).

        Parameters
        ----------
        metric : str or Metric
            By default recall, or the accuracy.
        above : float
            The gap δ that matters.
        ci_prob, ci_kind
            Probability and kind of the intervals.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).in_words("recall").partition(":")[0]
        'Of 2 slices, the most probable to be the worst is site b'
        """
        return " ".join(self.sentences(metric, above, ci_prob=ci_prob, ci_kind=ci_kind))

    def sentences(
        self, metric: str | Metric = "", above: float = 0.05, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi"
    ) -> list[str]:
        """Return the sentences of `in_words`: the worst slice, a gap for each dim, and which dim matters most.

        Parameters
        ----------
        metric, above, ci_prob, ci_kind
            As in `in_words`.

        Notes
        -----
        A slice is named as the worst if the odds for this are at least ten times the odds by chance, 1 : (slices − 1),
        because it is chosen among several. A gap is reported as shown if its odds are at least three times the odds
        before the data. The coverage page shows how often this happens if nothing varies.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> len(bp.slices(cm).sentences("recall"))
        2
        """
        parts = [self._worst_in_words(metric, ci_prob, ci_kind)]
        parts += [self._gap_in_words(dim, metric, self._least_gap(above), ci_prob, ci_kind) for dim in self.dims]
        if self.spread.sizes["effect"] > 1:
            parts += self._most_in_words(self._metric(metric).name)
        return [*map(sentence, parts)]

    @property
    def _draws(self) -> int:
        return int(self.rates.sizes["chain"] * self.rates.sizes["draw"])

    def _worst_in_words(self, metric: str | Metric, ci_prob: float, ci_kind: Kind) -> str:
        """Return which slice is the worst, if the data point to one."""
        marginal, worst = self[metric], self.prob_worst(metric)
        at = np.unravel_index(int(worst.values.argmax()), worst.shape)
        place = {str(dim): int(position) for dim, position in zip(worst.dims, at, strict=True)}
        seen = int((~np.isnan(marginal.observed)).sum())
        probability = worst.isel(place).item()
        beside = f"with probability {chance(probability)} ({chance(1 / seen)} by chance)"
        if seen > 1 and odds_ratio(probability, 1 / seen, self._draws) < POINTED:
            return f"of {seen} slices, the data do not point to a worst one: the most probable is so {beside}"
        where = ", ".join(f"{dim} {worst[dim].values[position]}" for dim, position in place.items())
        estimated = estimate_in_words(marginal.isel(**place), ci_prob, ci_kind)
        return f"of {seen} slices, the most probable to be the worst is {where}: it is so {beside}, and its {estimated}"

    def _gap_in_words(self, dim: str, metric: str | Metric, above: float, ci_prob: float, ci_kind: Kind) -> str:
        """Return what the data say of the largest gap between the levels of a dim."""
        gap, before = (self.largest_gap(dim, metric, before_data=prior) for prior in (False, True))
        now, then = (each.prob_above(above).item() for each in (gap, before))
        name = gap.quantity.metric_title
        others = " at the same mix of the other dims" if len(self.dims) > 1 else ""
        ratio = odds_ratio(now, then, self._draws)
        beside = f"is {chance(now)}, and was {chance(then)} before the data"
        if ratio >= SHOWN:
            low, high = gap.interval(ci_prob, ci_kind).values.tolist()
            largest = estimate(gap.mean().item(), low, high, ci_prob, ci_kind)
            return (
                f"{name} differs by up to {largest} between levels of {dim}{others}: the probability of more than "
                f"{above:g} {beside}"
            )
        if now < 0.5 and ratio <= 1 / SHOWN:
            return (
                f"{name} probably differs by no more than {above:g} between levels of {dim}{others}: the probability "
                f"of more {beside}"
            )
        return (
            f"the data do not show that {name} differs by more than {above:g} between levels of {dim}{others}: the "
            f"probability {beside}"
        )

    def _most_in_words(self, metric: str) -> list[str]:
        """Return a sentence for each rate behind a metric, on the dim or interaction whose levels differ most."""
        table = self.which_dim()
        table = table[table["rate"].isin(_RATES_OF.get(metric, tuple(table["rate"])))]
        titles = {rate: in_field_words(get(rate), self.graded).title for rate in table["rate"]}
        most = table.loc[table.groupby("rate", sort=False)["prob_largest"].idxmax()]
        return [
            f"{titles[row['rate']]} varies most by {row['effect'].replace(':', ' × ')} with probability "
            f"{chance(row['prob_largest'])}, which was {chance(row['prior_largest'])} before the data"
            for row in most.to_dict("records")
        ]

    def plot(self, metric: str | Metric = "", **options: Any) -> Figure:
        """Plot the levels of each dim, and the worst slices: observed values beside estimates.

        Parameters
        ----------
        metric : str or Metric
            By default recall, or the accuracy.
        **options
            The options ``worst``, ``ci_prob``, ``ci_kind`` and ``ax`` of `bayesperf.plots.slices`.
        """
        from bayesperf import plots

        return plots.slices(self, metric, **options)

    def __repr__(self) -> str:
        sizes = " × ".join(f"{self.cm.counts.sizes[dim]} {dim}" for dim in self.dims)
        return f"<bayesperf.groups.Slices: {sizes}>\n{self.in_words()}"

    def _table_below(self) -> pd.DataFrame:
        """Return the ten slices with the smallest estimates."""
        return self.summary().nsmallest(10, "mean")


def _observed(metric: Metric, counts: xr.DataArray, positive: int | None) -> xr.DataArray:
    """Return the metric of counts, and how many trials it is a share of."""
    score = point_value(metric, counts, positive)
    trials = metric.trials(counts.values, positive)
    return score if trials is None else score.assign_coords(trials=(score.dims, trials))


def _draws_behind(marginal: Marginal) -> xr.DataArray:
    """Return the draws behind a marginal, (…, chain, draw)."""
    values = marginal.distribution.values  # type: ignore[attr-defined]
    shape = (*marginal.leading.shape, *values.shape[1:])
    return xr.DataArray(values.reshape(shape), marginal.leading.coords, (*marginal.dims, *_DRAWS))


def _of_difference(bounds: tuple[float, float]) -> tuple[float, float]:
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def _rows(leading: xr.DataArray, figures: Mapping[str, xr.DataArray]) -> pd.DataFrame:
    """Return a row for each place along leading dims, in their order."""
    index = pd.MultiIndex.from_product([leading[dim].values for dim in leading.dims], names=leading.dims)
    return pd.DataFrame({name: np.ravel(values) for name, values in figures.items()}, index).reset_index()


def odds_ratio(probability: float, reference: float, draws: int) -> float:
    """Return the odds of an event over its odds in a reference; a probability of 1 is known to one draw only."""
    probability = min(probability, 1 - 1 / draws)
    against = (1 - probability) * reference
    return probability * (1 - reference) / against if against > 0 else 1.0


def _others(spread: xr.DataArray) -> list[Any]:
    return [dim for dim in spread.dims if dim not in ("rate", "effect")]


def _ends(values: xr.DataArray, names: tuple[str, str], ci_prob: float, ci_kind: Kind) -> dict[str, xr.DataArray]:
    """Return the ends of the intervals of draws (rate, effect, each), by name."""
    template = values.isel(each=0, drop=True)
    drawn = Draws(values.values.reshape(template.size, 1, -1), (0, np.inf), True)
    ends = np.moveaxis(_interval(drawn, ci_prob, ci_kind), -1, 0)
    return {name: template.copy(data=end.reshape(template.shape)) for name, end in zip(names, ends, strict=True)}


def _interval(drawn: Draws, ci_prob: float, ci_kind: Kind) -> Array:
    """Return intervals (m, 2)."""
    checks.probability("ci_prob", ci_prob)
    return drawn.hdi(ci_prob) if checks.one_of("ci_kind", ci_kind, ("hdi", "eti")) == "hdi" else drawn.eti(ci_prob)


# ── From fits and from counts ──


@checked
def slices(data: xr.DataTree | Counted, *, draws: int = 4000, random_seed: Any = 0) -> Slices:
    """Find where a classifier fails: the metrics of every slice, the worst of them, and the gaps between levels.

    Parameters
    ----------
    data : xarray.DataTree, ConfusionMatrix or Outcomes
        A fit of the model ``slices``, ``bp.fit(cm, "slices")``; or the counts of two classes, or of right and wrong
        `Outcomes`, along a single dim, for which nothing has to be sampled (`bayesperf.pool`).
    draws : int
        Number of draws, for counts.
    random_seed : int or numpy.random.Generator
        Seed, for counts.

    Returns
    -------
    Slices
        It has the methods ``summary``, ``prob_worst``, ``levels``, ``gap``, ``largest_gap``, ``which_dim``,
        ``in_words``, and ``plot``; ``slices[metric]`` is the `Marginal` of a metric over all slices.

    Raises
    ------
    TypeError
        If `data` is neither.
    ValueError
        If the fit is of another model or of several systems, or the counts do not have exactly one leading dim.

    Notes
    -----
    The model pulls each slice towards what its levels say, and more strongly if it has few examples; a slice has its
    own prevalence. With a single dim, rates are beta-binomial (`bayesperf.pool`, clusters) instead of the model's
    logit-normal rates. The two agree to a tenth of the interval's width, unless there are few examples and nearly all
    are right: for five sites with 98 of 100 examples right, the lower limits differ by up to 40 % of it.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
    >>> bp.slices(cm).summary("recall")[["site", "observed", "mean"]].round(1).values.tolist()
    [['a', 0.9, 0.9], ['b', 0.6, 0.6]]
    """
    if isinstance(data, Counted):
        return _slices_of_counts(data, checks.count("draws", draws, least=2), checks.seed(random_seed))
    if isinstance(data, xr.DataTree):
        return _slices_of_fit(data)
    raise InputTypeError("data", f"must be a fit of the model 'slices', or counts; it is {type(data).__name__}.")


def _slices_of_fit(tree: xr.DataTree) -> Slices:
    """Read the slices of a fit."""
    counts = observed_table(tree)
    if not is_fit_of(tree, "slices") or counts is None:
        raise InputError("data", "this is no fit of the model 'slices'.", "Fit it: bp.fit(cm, 'slices').")
    posterior, options = tree["posterior"].to_dataset(), options_of(tree)
    dims = options["dims"]
    if others := [str(dim) for dim in counts.dims if dim not in (*dims, *CELL_DIMS)]:
        raise InputError("data", "the fit is of several systems.", f"Select one: tree.sel({others[0]}=…).")
    position = int(posterior.attrs[POSITIVE])
    pos_label = counts["actual"].values.tolist()[position] if position >= 0 else None
    terms = [*((dim,) for dim in dims), *options.get("interactions", ())]
    before = tree["prior"].to_dataset()
    prior = _spread_of_levels(before["rates"], terms).drop_vars(_DRAWS)
    prior = prior.rename(chain="prior_chain", draw="prior_draw")
    measure = "standard deviation of the levels of each dim on the logit scale"
    spread = xr.Dataset({"posterior": _spread_of_levels(posterior["rates"], terms), "prior": prior})
    scalars = [name for name in counts.coords if name not in counts.dims]
    return Slices(
        cm=ConfusionMatrix(counts.drop_vars(scalars).transpose(*dims, *CELL_DIMS), pos_label),
        rates=_rates_of(posterior, dims, pos_label),
        prior_rates=_rates_of(before, dims, pos_label),
        spread=spread.assign_attrs(measure=measure),
        prior_text=str(posterior.attrs[PRIOR]),
        independent=False,
    )


def _rates_of(group: xr.Dataset, dims: Sequence[str], pos_label: Any) -> xr.DataArray:
    """Return the draws (…, chain, draw, rate) of a fit's rates, with the prevalence of each slice where it has one."""
    rates = group["rates"].drop_attrs()
    if "recall" in rates["rate"]:
        prevalence = group["cells"].sum("predicted").sel(actual=pos_label, drop=True)
        rates = xr.concat([prevalence.expand_dims(rate=["prevalence"]), rates], "rate")
    return rates.transpose(*dims, *_DRAWS, "rate")


def _spread_of_levels(rates: xr.DataArray, terms: Sequence[Sequence[str]]) -> xr.DataArray:
    """Return the standard deviation of the levels of each dim, or of an interaction, on the logit scale."""
    logits = xr.apply_ufunc(special.logit, rates.drop_attrs())
    dims = [dim for dim in rates.dims if dim not in ("rate", *_DRAWS)]
    each = []
    for term in terms:
        effect = logits.mean([dim for dim in dims if dim not in term])
        for dim in term:
            effect = effect - effect.mean(dim)
        degrees = prod(effect.sizes[dim] - 1 for dim in term)
        each.append(np.sqrt((effect**2).sum(term) / max(degrees, 1)))
    spread: xr.DataArray = xr.concat(each, pd.Index([":".join(term) for term in terms], name="effect"))
    return spread


def _slices_of_counts(cm: Counted, draws: int, seed: int) -> Slices:
    """Return the slices of counts along one dim, by quadrature."""
    if len(cm.dims) != 1:
        raise InputError(
            "data",
            f"counts along one dim need no sampler, but these have {list(cm.dims)}.",
            "Fit the model: bp.slices(bp.fit(cm, 'slices')).",
        )
    number = cm.counts.sizes[cm.dims[0]]
    checks.draws_in_memory(draws, _NUMBERS * number, f"the rates of {number:,} slices", "Take fewer slices.")
    if isinstance(cm, Outcomes):
        return _slices_of_outcomes(cm, draws, seed)
    if len(cm.labels) == 2 and cm.pos_label is None:
        raise missing_positive_label(cm.labels)
    dim = str(cm.dims[0])
    pooled: Any = pool(cm, dim, "clusters", draws=draws, random_seed=seed)
    cells, counts = pooled.by_group.cells_by_chain(), cm.counts.transpose(dim, *CELL_DIMS)
    positive, negative = cm.pos_label, next(label for label in cm.labels if label != cm.pos_label)
    rows = cells / cells.sum("predicted")
    totals = counts.sum("predicted")
    of_class = [totals.sel(actual=label).values[:, None, None] for label in (positive, negative)]
    rng = stream(seed, "slices: prevalence", counts.values)
    prevalence = rows.isel(actual=0, predicted=0, drop=True).transpose(dim, *_DRAWS)
    prevalence = prevalence.copy(data=rng.beta(1 + of_class[0], 1 + of_class[1], prevalence.shape))
    each = [prevalence, *(rows.sel(actual=label, predicted=label, drop=True) for label in (positive, negative))]
    names = {positive: "recall", negative: "specificity"}
    spread = {
        name: xr.DataArray(of.joint_draws(draws).values.reshape(-1, draws), dims=("actual", f"{name}_draw"))
        for name, of in {"posterior": pooled.dispersion, "prior": pooled.model.dispersion_prior}.items()
    }
    spread["prior"] = spread["prior"].isel(actual=0, drop=True).expand_dims(actual=2)
    of_rows = [names[label] for label in pooled.dispersion.leading["actual"].values.tolist()]
    rates = xr.concat(each, pd.Index(_TWO_CLASSES, name="rate")).transpose(dim, *_DRAWS, "rate")
    dataset = xr.Dataset({name: v.rename(actual="rate").expand_dims(effect=[dim]) for name, v in spread.items()})
    dataset = dataset.assign_coords(rate=of_rows).sel(rate=list(_TWO_CLASSES[1:]))
    return Slices(
        cm=ConfusionMatrix(counts, cm.pos_label),
        rates=rates,
        prior_rates=_prior_of_groups(
            rates, pooled.model.dispersion_prior.joint_draws(draws).values.ravel(), counts, seed
        ),
        spread=dataset.assign_attrs(measure=f"dispersion ρ between {plural(dim)}"),
        prior_text=(
            f"mean rates ~ Beta(1, 1), dispersion ~ {pooled.model.dispersion_text}, prevalence ~ Beta(1, 1) each"
        ),
        independent=True,
    )


def _slices_of_outcomes(outcomes: Outcomes, draws: int, seed: int) -> Slices:
    """Return the slices of right and wrong outcomes along one dim: of one rate, the accuracy."""
    dim, cm = str(outcomes.dims[0]), matrix_of_right(outcomes)
    pooled: Any = pool(outcomes, dim, "clusters", draws=draws, random_seed=seed)
    rates = pooled.by_group.cells_by_chain().isel(actual=0, predicted=1, drop=True).transpose(dim, *_DRAWS)
    rng, before = stream(seed, "slices: before the data", outcomes.counts.values), pooled.model.dispersion_prior
    mean, kappa = rng.random(draws), 1 / before.joint_draws(draws).values.ravel() - 1
    a, b = (np.maximum(part * kappa, _LEAST_RATE) for part in (mean, 1 - mean))
    drawn = np.clip(rng.beta(a, b, (rates.sizes[dim], draws)), _LEAST_RATE, 1 - _LEAST_RATE)
    prior_rates = rates.copy(data=drawn[:, None])
    spread = {
        name: xr.DataArray(of.joint_draws(draws).values.ravel()[:draws], dims=f"{name}_draw")
        for name, of in {"posterior": pooled.dispersion, "prior": before}.items()
    }
    dataset = xr.Dataset({name: v.expand_dims(effect=[dim], rate=["accuracy"]) for name, v in spread.items()})
    return Slices(
        cm=cm,
        rates=rates.expand_dims(rate=["accuracy"]).transpose(dim, *_DRAWS, "rate"),
        prior_rates=prior_rates.expand_dims(rate=["accuracy"]).transpose(dim, *_DRAWS, "rate"),
        spread=dataset.assign_attrs(measure=f"dispersion ρ between {plural(dim)}"),
        prior_text=f"mean rate ~ Beta(1, 1), dispersion ~ {pooled.model.dispersion_text}",
        independent=True,
        graded=True,
    )


def _prior_of_groups(rates: xr.DataArray, dispersion: Array, counts: xr.DataArray, seed: int) -> xr.DataArray:
    """Draw the rates of the groups of `pool` from the prior, in the form of the posterior's rates."""
    rng = stream(seed, "slices: before the data", counts.values)
    drawn = [rng.random((rates.shape[0], len(dispersion)))]
    for _ in _TWO_CLASSES[1:]:
        mean, kappa = rng.random(len(dispersion)), 1 / rng.permutation(dispersion) - 1
        a, b = (np.maximum(part * kappa, _LEAST_RATE) for part in (mean, 1 - mean))
        drawn.append(np.clip(rng.beta(a, b, drawn[0].shape), _LEAST_RATE, 1 - _LEAST_RATE))
    return rates.copy(data=np.stack(drawn, -1)[:, None])
