"""The metrics of every slice of a test set: the worst of them, the gaps between levels, and which dim matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import stream
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.draws import Draws
from bayesperf.groups.slices_in_words import slices_in_words
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate, point_value
from bayesperf.metrics.registry import applicable, in_field_words
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity, Scope, described
from bayesperf.posteriors.summary_table import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mix = Literal["same", "own"]
# The rates of a slice, and whose examples each is a share of: of all, or of one class.
TWO_CLASSES = ("prevalence", "recall", "specificity")
# A trial more in each slice, so that slices that are all empty weigh the same.
_LEAST_TRIALS = 1e-9
DRAWS = ("chain", "draw")


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
    independent_draws : bool
        Whether the draws are independent.
    graded : bool
        Whether the counts are of right and wrong outcomes.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
    >>> bp.slices(cm)["recall"].mean().round(1).values
    array([0.9, 0.6])
    """

    cm: ConfusionMatrix
    rates: xr.DataArray
    prior_rates: xr.DataArray
    spread: xr.Dataset
    prior_text: str
    independent_draws: bool
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
            sizes = [rates.sizes[each] for each in DRAWS]
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
        return xr.DataArray(drawn, {dim: totals[dim].values}, (dim, *DRAWS))

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
        return xr.concat(of_rate, pd.Index(TWO_CLASSES, name="rate"))

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
        values = self._values(metric, rates).transpose(..., *DRAWS)
        flat = values.values.reshape(-1, *values.shape[-2:])
        leading = xr.zeros_like(values.isel(chain=0, draw=0, drop=True))
        drawn = Draws(flat, metric.bounds, self.independent_draws)
        score = _observed(metric, counts.transpose(*leading.dims, *CELL_DIMS), self.cm.positive)
        return Marginal(Quantity.of(metric, scope), drawn, leading, inference=inference, score=score)

    def _values(self, metric: Metric, rates: xr.DataArray) -> xr.DataArray:
        if "accuracy" in rates["rate"]:
            return rates.sel(rate="accuracy", drop=True)
        prevalence, recall, specificity = (rates.sel(rate=rate, drop=True) for rate in TWO_CLASSES)
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
        if marginal.quantity.greater_is_better is None:
            raise InputError("prob_worst", f"neither more nor less {marginal.name} is better.")
        values = marginal.quantity.better * _draws_behind(marginal)
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
            with examples were equally likely to be the worst; both NaN if no slice has any.

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
        if marginal.quantity.greater_is_better is not None:
            seen = ~np.isnan(observed)
            worst = self.prob_worst(metric) if seen.any() else observed
            figures |= {"prob_worst": worst, "by_chance": seen / seen.sum()}
        return self._summary(_rows(marginal.leading, figures), marginal.estimand, ci_prob, ci_kind)

    def _summary(self, rows: pd.DataFrame, estimand: str, ci_prob: float, ci_kind: Kind) -> pd.DataFrame:
        return Summary.of(rows, ci_prob, ci_kind, estimand=estimand, prior=self.prior_text)

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
        levels, sides, now, before = self._pairs(dim, metric, mix)
        gaps, prior_gaps = (first - second for first, second in (now, before))
        interval = Draws(gaps, _of_difference(levels.bounds), self.independent_draws).interval(
            *checks.interval(ci_prob, ci_kind)
        )
        figures = {
            "mean": gaps.mean((1, 2)),
            "ci_lower": interval[:, 0],
            "ci_upper": interval[:, 1],
            "prob_greater": (gaps > 0).mean((1, 2)),
            "prob_above": (abs(gaps) > least).mean((1, 2)),
            "prior_above": (abs(prior_gaps) > least).mean((1, 2)),
        }
        estimand = described(levels.quantity.scope, f"gap of {levels.name}")
        return self._summary(pd.DataFrame(sides | figures), estimand, ci_prob, ci_kind)

    def _pairs(
        self, dim: str, metric: str | Metric, mix: Mix = "same"
    ) -> tuple[Marginal, dict[str, Any], Array, Array]:
        """Return the levels of a dim; the names of all pairs; and draws of both sides, a posteriori and a priori."""
        levels, before = (self.levels(dim, metric, mix=mix, before_data=prior) for prior in (False, True))
        names = levels.leading[dim].values.tolist()
        if len(names) < 2:
            raise InputError("dim", f"{dim!r} has one level, and nothing to compare it with.")
        pairs = np.stack(np.triu_indices(len(names), 1))
        sides = {column: [names[i] for i in side] for column, side in zip((dim, f"{dim}_other"), pairs, strict=True)}
        now, then = (_draws_behind(each).transpose(dim, *DRAWS).values[pairs] for each in (levels, before))
        return levels, sides, now, then

    @checked
    def largest_gap(self, dim: str, metric: str | Metric = "", *, before_data: bool = False) -> Marginal:
        """Return the distribution of the gap between the best and the worst level of a dim, at the same mix.

        It is the maximum minus the minimum of uncertain values: above the gap of any two levels, and above 0 even if
        all levels are alike. Report the probability that it exceeds what matters, ``.prob_above(δ)``, and the same
        probability before the data, which is often nearly as high.

        Parameters
        ----------
        dim, metric
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
        levels = self.levels(dim, metric, before_data=before_data)
        values = _draws_behind(levels)
        gap = (values.max(dim) - values.min(dim)).transpose(*DRAWS).values[None]
        bounds = (0.0, _of_difference(levels.bounds)[1])
        quantity = levels.quantity.contrasted("largest gap", bounds)
        return Marginal(quantity, Draws(gap, bounds, self.independent_draws), NO_DIMS)

    @checked
    def ratios(
        self,
        dim: str,
        metric: str | Metric = "",
        at_least: float = 0.8,
        *,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> pd.DataFrame:
        """Return the ratios between all pairs of levels of a dim, at the same mix of the other dims.

        Parameters
        ----------
        dim, metric, ci_prob, ci_kind
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
        levels, sides, now, before = self._pairs(dim, metric)
        ratios = now[0] / now[1]
        interval = Draws(ratios, (0, np.inf), self.independent_draws).interval(*checks.interval(ci_prob, ci_kind))
        reached, prior_reached = ((each.min(0) >= least * each.max(0)).mean((1, 2)) for each in (now, before))
        figures = {
            "median": np.median(ratios, (1, 2)),
            "ci_lower": interval[:, 0],
            "ci_upper": interval[:, 1],
            "prob_at_least": reached,
            "prior_at_least": prior_reached,
        }
        estimand = described(levels.quantity.scope, f"ratio of {levels.name}")
        return self._summary(pd.DataFrame(sides | figures), estimand, ci_prob, ci_kind)

    @checked
    def smallest_ratio(self, dim: str, metric: str | Metric = "", *, before_data: bool = False) -> Marginal:
        """Return the distribution of the ratio of the lowest to the highest level of a dim.

        Like `largest_gap`, it is below 1 even if all levels are alike.

        Parameters
        ----------
        dim, metric, before_data
            As in `largest_gap`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
        >>> bp.slices(cm).smallest_ratio("site", "recall").prob_above(0.8).round(1).item()
        0.2
        """
        levels = self.levels(dim, metric, before_data=before_data)
        values = _draws_behind(levels)
        ratio = (values.min(dim) / values.max(dim)).transpose(*DRAWS).values[None]
        quantity = levels.quantity.contrasted("smallest ratio", (0.0, 1.0))
        return Marginal(quantity, Draws(ratio, (0.0, 1.0), self.independent_draws), NO_DIMS)

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
        both = (self.spread[name] for name in ("posterior", "prior"))
        posterior, prior = (
            drawn.stack(each=[dim for dim in drawn.dims if dim not in ("rate", "effect")]) for drawn in both
        )
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
        return slices_in_words(self, metric, self._least_gap(above), ci_prob, ci_kind)

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

    def table_below(self, **options: Any) -> pd.DataFrame:
        """Return the ten slices with the smallest estimates; see `summary`."""
        return self.summary(**options).nsmallest(10, "mean")


def _observed(metric: Metric, counts: xr.DataArray, positive: int | None) -> xr.DataArray:
    """Return the metric of counts, and how many trials it is a share of."""
    score = point_value(metric, counts, positive)
    trials = metric.trials(counts.values, positive)
    return score if trials is None else score.assign_coords(trials=(score.dims, trials))


def _draws_behind(marginal: Marginal) -> xr.DataArray:
    """Return the draws behind a marginal, (…, chain, draw)."""
    values = marginal.distribution.values  # type: ignore[attr-defined]
    shape = (*marginal.leading.shape, *values.shape[1:])
    return xr.DataArray(values.reshape(shape), marginal.leading.coords, (*marginal.dims, *DRAWS))


def _of_difference(bounds: tuple[float, float]) -> tuple[float, float]:
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def _rows(leading: xr.DataArray, figures: Mapping[str, xr.DataArray]) -> pd.DataFrame:
    """Return a row for each place along leading dims, in their order."""
    index = pd.MultiIndex.from_product([leading[dim].values for dim in leading.dims], names=leading.dims)
    return pd.DataFrame({name: np.ravel(values) for name, values in figures.items()}, index).reset_index()


def _ends(values: xr.DataArray, names: tuple[str, str], ci_prob: float, ci_kind: Kind) -> dict[str, xr.DataArray]:
    """Return the ends of the intervals of draws (rate, effect, each), by name."""
    template = values.isel(each=0, drop=True)
    drawn = Draws(values.values.reshape(template.size, 1, -1), (0, np.inf), True)
    ends = np.moveaxis(drawn.interval(*checks.interval(ci_prob, ci_kind)), -1, 0)
    return {name: template.copy(data=end.reshape(template.shape)) for name, end in zip(names, ends, strict=True)}
