"""The cells of a population of strata with known shares: the cells of each stratum, weighted by its share.

θ = Σ_h W_h θ_h, with independent posteriors θ_h of the strata and shares W that are known, or counted in another
sample. The mean and variance of a proportion of all examples, which is linear in the cells, are exact; everything else
comes from joint draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, place_names
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import DrawsOfKnownMoments
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sources.source import Task
from bayesperf.posteriors.sources.stored_draws import StoredDraws

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior

# Names of strata in a sentence.
_NAMED = 6


@dataclass(frozen=True, eq=False)
class MixedStrata(StoredDraws):
    """Draws of the cells of a population of strata. Made by `bayesperf.posterior` with `strata` and `shares`.

    Attributes
    ----------
    within : Posterior
        The posterior of each stratum.
    strata_dims : tuple of str
        The dims of the strata.
    shares : Prevalence
        How common each stratum is, row by row.
    prior_examples : float
        Weight of the prior in all strata together, in examples; 0 if it has no such weight.
    random_seed : int
        Seed of the draws.
    """

    weighted: ClassVar[bool] = True
    within: Posterior = field(kw_only=True)
    strata_dims: tuple[str, ...] = field(kw_only=True)
    shares: Prevalence = field(kw_only=True)
    prior_examples: float = field(default=0.0, kw_only=True)
    random_seed: int = field(default=0, kw_only=True)

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        advice = "the population is a mixture. Update the counts of the strata, and mix them again."
        return super().refused_tasks(post) | {"update": advice}

    def _distribution(self, post: Posterior, metric: Metric) -> Distribution:
        drawn = super()._distribution(post, metric)
        if self.reweighted or self.within.kind != "exact" or not self._is_linear(post, metric):
            return drawn
        mean, sd = self._moments(post, metric)
        return DrawsOfKnownMoments(drawn.values, drawn.bounds, mean=mean, sd=sd)  # type: ignore[attr-defined]

    def _is_linear(self, post: Posterior, metric: Metric) -> bool:
        """Whether a metric is a proportion of all examples, so that it is linear in the cells."""
        cells = np.arange(1.0, self.template.sizes["actual"] * len(post.labels) + 1)
        trials = metric.trials(cells.reshape(1, -1, len(post.labels)), post.positive)
        return trials is not None and bool(np.allclose(trials, cells.sum()))

    def _moments(self, post: Posterior, metric: Metric) -> tuple[Array, Array]:
        """Return the exact mean and standard deviation of a metric that is linear in the cells, (m,) each."""
        each, order = self.within[metric], (*post.leading_of(metric).dims, *self.strata_dims)
        mean, sd = (v.transpose(*order).values.reshape(-1, len(self.shares.weights)) for v in (each.mean(), each.sd()))
        share, covariance = self.shares.mean, self.shares.covariance
        between = np.einsum("ih,hk,ik->i", mean, covariance, mean)
        return mean @ share, np.sqrt(sd**2 @ (share**2 + np.diag(covariance)) + between)

    # ── What the figures rest on ──

    @cached_property
    def _tested(self) -> xr.DataArray:
        """Numbers of examples (…, strata) of each system in each stratum."""
        counts = self.within.examples
        if counts is None:
            raise InputError("strata", "the posterior of the strata has no counts.")
        return counts.sum(CELL_DIMS).transpose(..., *self.strata_dims)

    @property
    def empty(self) -> list[str]:
        """Names of the strata that have a share and no examples, and of the systems if others have some."""
        if self.within.examples is None:
            return []
        without = (self._tested == 0) & (self._share > 0)
        for_all = without.all([dim for dim in without.dims if dim not in self.strata_dims])
        for_some = (without & ~for_all).transpose(*self.strata_dims, ...)
        return [
            name
            for places in (for_all, for_some)
            for name, is_empty in zip(place_names(places), places.values.ravel(), strict=True)
            if is_empty
        ]

    @property
    def _share(self) -> xr.DataArray:
        """The mean share of each stratum, over their dims."""
        levels = {dim: self.within.leading[dim].values for dim in self.strata_dims}
        return xr.DataArray(self.shares.mean.reshape([len(v) for v in levels.values()]), levels, list(levels))

    def strata(self) -> pd.DataFrame:
        """Return the strata: names, share of the population, and number of examples, the largest of any system."""
        tested = self._tested.max([dim for dim in self._tested.dims if dim not in self.strata_dims])
        table = tested.astype(int).rename("examples").to_dataframe().reset_index()
        table.insert(len(self.strata_dims), "share", self.shares.mean)
        return table

    def effective_number(self, metric: str | Metric) -> xr.DataArray:
        """Return the number of trials, drawn at random from the population, that would tell as much about a proportion.

        It is p(1 − p)/Var − 1, less the weight of the prior: the number of trials of a Beta distribution with this mean
        p and variance. Trials are all examples for accuracy, positives for recall.

        Parameters
        ----------
        metric : str or Metric
            A proportion of the cells, such as accuracy or recall.

        Returns
        -------
        xarray.DataArray
            Over the leading dims.
        """
        self.refuse_other_prevalence("effective_number")
        post = self.posterior
        metric = post.applicable(metric)
        cells = np.ones((1, *self.template.shape[-2:]))
        trials = metric.trials(cells, post.positive)
        if trials is None:
            raise InputError("metric", f"{metric.name!r} is no proportion of examples, so it has no number of trials.")
        marginal = post[metric]
        mean, variance = marginal.mean(), marginal.sd() ** 2
        prior = self.prior_examples * float(trials.max()) / cells.size
        number: xr.DataArray = mean * (1 - mean) / variance - 1 - prior
        return number.clip(min=0).rename("effective_number")

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of the population."""
        return replace(self.within, source=self, observed=self.observed, learned_from=self.learned_from)

    @cached_property
    def learned_from(self) -> xr.DataArray | None:
        """Counts of all strata together, which identify the test set."""
        return None if self.within.examples is None else self.within.examples.sum(self.strata_dims)

    @cached_property
    def observed(self) -> xr.DataArray | None:
        """The examples, weighted so that each stratum has its share: NaN for a system without some stratum.

        None if no system has them all.
        """
        counts = self.within.observed
        if counts is None:
            return None
        total, share = counts.sum(CELL_DIMS), self._share
        parts = (counts / total * share).where(share > 0, 0.0)
        weighted = parts.sum(self.strata_dims, skipna=False) * total.sum(self.strata_dims)
        return None if weighted.isnull().all() else weighted.transpose(*self.template.dims)

    # ── In words ──

    def preface(self) -> list[str]:
        leading = self.within.leading.isel(dict.fromkeys(self.template.dims[:-2], 0))
        names = place_names(leading.transpose(*self.strata_dims))
        shares = [f"{name} {share:.3g}" for name, share in zip(names, self.shares.mean, strict=True)]
        source = "known shares" if self.shares.fixed else "shares counted in another sample"
        said = [f"A population of {len(names)} strata with {source}: {enumerated(shares, _NAMED)}."]
        if self.empty:
            are = "has" if len(self.empty) == 1 else "have"
            said.append(f"{enumerated(self.empty, _NAMED)} {are} no examples, so the prior decides there.")
        return said

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        if self.reweighted or self.learned_from is None or post.dims or metric.average is not None:
            return []
        if metric.trials(self.template.values, post.positive) is None:
            return []
        number, title = float(self.effective_number(metric)), post[metric].quantity.title
        seen = metric.trials(self.learned_from.values, post.positive)
        return [
            f"{float(np.asarray(seen)):,.0f} examples count towards {title}, and tell as much as {number:,.0f} drawn "
            "at random from the population would."
        ]
