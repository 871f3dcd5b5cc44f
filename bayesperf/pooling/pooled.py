"""Matrices pooled over groups, labelled: what `bayesperf.pool` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.streams import streams
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.distributions.beta import Beta
from bayesperf.metrics.metric import Metric
from bayesperf.pooling.draws import PREVALENCE, PooledDraws
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior, SampledPosterior
from bayesperf.posteriors.summary import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Pooled:
    """Binary matrices pooled over groups, by `pool`.

    Attributes
    ----------
    cm : ConfusionMatrix
        The counts.
    dim : str
        The dim of the groups.
    dispersion_weights : tuple of two float
        The Beta prior of the dispersion.
    repeats : int
        By which the likelihood is divided.
    n_draws, random_seed : int
        Of the posteriors.
    """

    cm: ConfusionMatrix
    dim: str
    dispersion_weights: tuple[float, float]
    repeats: int
    n_draws: int
    random_seed: int

    # ── The three answers ──

    @cached_property
    def mean(self) -> Posterior:
        """Posterior of metrics at the population's mean rates."""
        return self._posterior(self._draws.mean(), f"Posterior of the metric at the population mean over {self.dim}s")

    @cached_property
    def groups(self) -> Posterior:
        """Posterior of each group's own metrics, with the dim of the groups.

        A group's rate, given p and ρ, is Beta(κp + k, κ(1 − p) + n − k); its prevalence is the population's.
        """
        return self._posterior(self._draws.groups(), f"Posterior of each {self.dim}'s own metric", self._counts)

    @cached_property
    def new_group(self) -> Posterior:
        """Prediction of the metrics of a group not seen yet: its rates, Beta(κp, κ(1 − p)), and its prevalence."""
        return self._posterior(self._draws.new_group(), f"Prediction of the metric of a new {self.dim}")

    def _posterior(self, cells: Array, estimand: str, observed: xr.DataArray | None = None) -> SampledPosterior:
        template = self._counts.isel({self.dim: 0}, drop=True) if observed is None else observed
        shape = (*template.shape[:-2], 1, self.n_draws, 2, 2)
        coords = dict(template.coords) | {"chain": [0], "draw": np.arange(self.n_draws)}
        return SampledPosterior(
            cells=xr.DataArray(cells.reshape(shape), coords, (*template.dims[:-2], "chain", "draw", *CELL_DIMS)),
            pos_label=self.cm.pos_label,
            prior_text=self._prior_text,
            estimand=estimand,
            independent=True,
            observed=observed,
        )

    # ── The dispersion ──

    @cached_property
    def dispersion(self) -> Marginal:
        """Posterior of the dispersion ρ, over the other leading dims and ``actual``."""
        found = self._draws.rates.dispersion

        def sample(n: int, random_seed: Any) -> Array:
            levels = [rng.random((2, checks.count("n", n))) for rng in self._streams("dispersion alone", random_seed)]
            return found.ppf(np.concatenate(levels))

        text = f"Posterior of the dispersion between {self.dim}s"
        return Marginal("dispersion", found, self._rows, sample, text)

    @property
    def dispersion_prior(self) -> Marginal:
        """Prior of the dispersion."""
        prior = _beta(self.dispersion_weights)

        def sample(n: int, random_seed: Any) -> Array:
            rng = np.random.default_rng(self.random_seed if random_seed is None else checks.seed(random_seed))
            return rng.beta(prior.a, prior.b, (1, checks.count("n", n)))

        text = f"Prior of the dispersion between {self.dim}s"
        return Marginal("dispersion", prior, xr.DataArray(0.0), sample, text)

    @property
    def dispersion_ratio(self) -> xr.DataArray:
        """How much the groups' rates vary, relative to the binomial's variance: Pearson's X²/(groups − 1).

        About 1 where groups differ by chance alone. Coordinate ``defined`` is False, and the ratio 1 by convention,
        where there is nothing to compare: fewer than two groups with examples, or all of them right, or all wrong.
        """
        ratio, defined = (part.reshape(self._rows.shape) for part in self._draws.dispersion_ratio())
        labelled = self._rows.copy(data=ratio).rename("dispersion_ratio")
        return labelled.assign_coords(defined=(labelled.dims, defined))

    @cached_property
    def overlap(self) -> xr.DataArray:
        """Mass that prior and posterior of the dispersion have in common; near 1, the data say nothing of it."""
        shared = self._draws.rates.dispersion.overlap(_beta(self.dispersion_weights))
        return self._rows.copy(data=shared.reshape(self._rows.shape)).rename("overlap")

    # ── Tables and figures ──

    def summary(
        self, metrics: str | Metric | Sequence[str | Metric] | None = None, ci_prob: float = 0.95, ci_kind: Kind = "hdi"
    ) -> pd.DataFrame:
        """Return a tidy table of the three answers.

        Parameters
        ----------
        metrics, ci_prob, ci_kind
            As in `Posterior.summary`.

        Returns
        -------
        pandas.DataFrame
            As of `Posterior.summary`, with a first column ``answer`` = mean, new group or group, and a column of the
            groups' coordinates, empty for the first two.
        """
        answers = {"mean": self.mean, "new group": self.new_group, "group": self.groups}
        tables = []
        for answer, posterior in answers.items():
            table = posterior.summary(metrics, ci_prob, ci_kind)
            if answer != "group":
                table.insert(1 + len(posterior.dims), self.dim, "")
            table.insert(0, "answer", answer)
            tables.append(table.astype({self.dim: object}))
        joined = pd.concat(tables, ignore_index=True)
        if "undefined" in joined:
            joined = joined.fillna({"undefined": 0.0})
        summary = Summary(joined)
        estimand = f"Metrics at the population mean, of a new {self.dim} and of each {self.dim}"
        summary.attrs = {"ci_prob": ci_prob, "ci_kind": ci_kind, "estimand": estimand, "prior": self._prior_text}
        return summary

    def plot(self, metric: str | Metric = "recall", *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> Figure:
        """Draw how the groups are drawn together: observed and estimated metrics, the mean, and a new group.

        Parameters
        ----------
        metric : str
            One with a single value, not one a class.
        ci_prob, ci_kind
            The interval.
        """
        from bayesperf import plots

        return plots.shrinkage(self, metric, ci_prob=ci_prob, ci_kind=ci_kind)

    def __repr__(self) -> str:
        others = [f"{dim}: {self.cm.counts.sizes[dim]}" for dim in self._systems.dims]
        parts = [f"{self.cm.counts.sizes[self.dim]} {self.dim}s", *others, f"ρ ~ {self.dispersion_text}"]
        return f"<bayesperf.Pooled: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        tables = [self.mean.summary(), self.new_group.summary()]
        return f"<p>{escape(repr(self))}</p>{''.join(table._repr_html_() for table in tables)}"  # type: ignore[operator]

    # ── Labels and words ──

    @property
    def _counts(self) -> xr.DataArray:
        """The counts with the groups' dim last of the leading ones."""
        return self.cm.counts.transpose(..., self.dim, *CELL_DIMS)

    @property
    def _systems(self) -> xr.DataArray:
        """Zeros over the leading dims but the groups'."""
        return self._rows.isel(actual=0, drop=True)

    @property
    def _rows(self) -> xr.DataArray:
        """Zeros over the leading dims but the groups', and actual classes."""
        rows = self._counts.isel({self.dim: 0, "predicted": 0}, drop=True)
        return xr.zeros_like(rows, dtype=float).rename(None)

    @cached_property
    def _draws(self) -> PooledDraws:
        counts = self._counts.values.reshape(-1, *self._counts.shape[-3:]).astype(float)
        return PooledDraws(counts, self.dispersion_weights, 1 / self.repeats, self.n_draws, self._streams)

    def _streams(self, purpose: str, random_seed: Any = None) -> list[np.random.Generator]:
        """Return a stream a system."""
        seed = self.random_seed if random_seed is None else checks.seed(random_seed)
        return streams(seed, f"pool: {purpose}", self._systems, self._draws.counts)

    @property
    def dispersion_text(self) -> str:
        """The prior of the dispersion, in words."""
        a, b = self.dispersion_weights
        return f"Beta({a:g}, {b:g})"

    @property
    def _prior_text(self) -> str:
        weight = f"; examples weigh 1/{self.repeats}" if self.repeats > 1 else ""
        rates = f"mean rates ~ Beta(1, 1), dispersion ~ {self.dispersion_text}"
        return f"{rates}, prevalence ~ Beta({PREVALENCE:g}, {PREVALENCE:g}){weight}"


def _beta(weights: tuple[float, float]) -> Beta:
    a, b = (np.array([[weight]]) for weight in weights)
    return Beta(a, b)
