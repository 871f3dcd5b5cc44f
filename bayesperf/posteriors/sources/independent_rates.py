"""The source of cells of two classes whose prevalence, recall and specificity have independent Betas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.predicted_proportion import ProportionWeights
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.sources.dirichlet_cells import Dirichlet

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior

# With a smaller weight of a class the prevalence is hardly known.
_FEW = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class IndependentRates(Dirichlet):
    """Cells with rows from a Dirichlet, and with class proportions from another one.

    In a Dirichlet the weight of a row is also the weight of its class. Here the recall may be known as well as from a
    thousand examples, and the prevalence not at all.

    Attributes
    ----------
    totals : xarray.DataArray
        Weights of the Dirichlet of the class proportions, (…, actual): the prior's weights plus class totals.
    """

    totals: xr.DataArray

    def _is_exact(self, post: Posterior, metric: Metric) -> bool:
        of_rows = not metric.depends_on_prevalence(2) or _is_prevalence(metric)
        return super()._is_exact(post, metric) and (of_rows or post.prevalence != "observed")

    def _is_integrated(self, post: Posterior, metric: Metric) -> bool:
        """Whether the integral over the prevalence is smooth and needs few nodes; with few data it is neither."""
        known = bool((self.flat >= 1).all() and (self.totals >= _FEW).all())
        return known and super()._is_integrated(post, metric)

    def _beta(self, post: Posterior, proportion: Proportion, metric: Metric) -> Beta:
        if not _is_prevalence(metric):
            return super()._beta(post, proportion, metric)
        return self._shares(1 if post.positive is None else post.positive)

    def _shares(self, position: int) -> Beta:
        weights = self.totals.values.reshape(-1, 2)
        return Beta(weights[:, [position]], weights[:, [1 - position]])

    def draw_blocks(self, post: Posterior, index: int, draws: int, rng: np.random.Generator) -> Iterator[Array]:
        for block in super().draw_blocks(post, index, draws, rng):
            if post.prevalence == "observed":
                shares = rng.dirichlet(self.totals.values.reshape(-1, 2)[index], len(block))
                block *= (shares / block.sum(-1))[..., None]
            yield block

    def proportion_weights(self, post: Posterior, n: int | None, metric: Metric) -> ProportionWeights | None:
        return None

    def updated(self, counts: xr.DataArray, n_draws: int | None = None) -> Self:
        after = super().updated(counts, n_draws)
        return replace(after, totals=(self.totals + counts.sum("predicted")).transpose(..., "actual"))

    def with_prior_share(self, post: Posterior, share: float) -> Self:
        assert post.observed is not None
        seen = post.observed.sum("predicted")
        return replace(super().with_prior_share(post, share), totals=seen + share * (self.totals - seen))


def _is_prevalence(metric: Metric) -> bool:
    form = metric.exact_form(2)
    return metric.average is None and isinstance(form, Proportion) and set(form.success) == {"tp", "fn"}
