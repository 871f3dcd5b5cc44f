"""Stored draws of the cells: from a sampler, an ArviZ tree, a closed form, or a prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array, labelled
from bayesperf.core.errors import InputError
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.predicted_proportion import PredictedProportion
from bayesperf.metrics.metric import Metric, evaluated
from bayesperf.metrics.point_values import evaluate
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sources.source import Source, Task

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior

# Why a prediction cannot be used for another prediction, or changed to another prevalence.
PREDICTED = "this is a prediction already. Take the prevalence, or the size of the new test set, of the posterior."


@dataclass(frozen=True, eq=False)
class StoredDraws(Source):
    """Draws of the cells with dims (…, chain, draw, actual, predicted)."""

    cells: xr.DataArray
    # Whether the draws are independent; if not, Monte Carlo errors take their autocorrelation into account.
    independent_draws: bool = False
    # Why `predict` and `at_prevalence` are not available; empty if they are.
    refusal: str = ""
    # Why `predict` alone is not available.
    no_prediction: str = ""
    # The posterior that predicts these test sets, if it knows proportions in them exactly.
    predicted_from: Posterior | None = None
    # Number of examples in each test set; None for the number observed.
    size: int | None = None
    # Whether the cells have another prevalence than when they were drawn.
    reweighted: bool = False
    # The dim of systems whose draws are joint, example by example; empty if there is none.
    systems_dim: str = ""

    @cached_property
    def template(self) -> xr.DataArray:
        """One draw of the cells, without the dims of the draws."""
        return self.cells.isel(chain=0, draw=0, drop=True)

    @property
    def chains(self) -> int:  # type: ignore[override]
        """Number of chains of the draws."""
        return self.cells.sizes["chain"]

    @property
    def _available(self) -> int:
        return self.cells.sizes["chain"] * self.cells.sizes["draw"]

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        refused = super().refused_tasks(post)
        refused["update"] = "draws cannot be updated exactly; fit the model to all counts together."
        if self.no_prediction:
            refused["predict"] = self.no_prediction
        if self.refusal:
            refused |= {"predict": self.refusal, "at_prevalence": self.refusal}
        return refused

    # ── Distributions and draws ──

    def distributions(self, post: Posterior, metrics: Sequence[Metric]) -> list[Distribution]:
        return [self._distribution(post, metric) for metric in metrics]

    def _distribution(self, post: Posterior, metric: Metric) -> Distribution:
        values = metric.evaluate(self.cells.values, post.positive)
        if metric.average == "per_class":
            values = np.moveaxis(values, -1, -3)
        drawn = values.reshape(-1, *values.shape[-2:])
        predictor = self.predicted_from
        known = None if predictor is None else predictor.source.proportion_weights(predictor, self.size, metric)
        if known is None:
            return Draws(drawn, metric.bounds, self.independent_draws)
        examples, success, failure, rest, forward = known
        return PredictedProportion(
            drawn, metric.bounds, examples=examples, success=success, failure=failure, rest=rest, forward=forward
        )

    def sampled(self, post: Posterior, metric: Metric, draws: int, random_seed: int | None) -> Array:
        values = (
            evaluate(metric, self.cell_draws(post, draws, random_seed), post.positive).transpose(..., "draw").values
        )
        return values.reshape(-1, draws)

    def drawn_by_matrix(
        self, post: Posterior, metrics: Sequence[Metric], draws: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        for matrix in self.cells.values.reshape(-1, self._available, *self.cells.shape[-2:]):
            yield evaluated(metrics, matrix, post.positive)

    def cell_draws(self, post: Posterior, draws: int, random_seed: Any) -> xr.DataArray:
        if draws > self._available:
            raise InputError("draws", f"{draws} draws asked for and {self._available} there.", "Sample more of them.")
        return self._subset(draws, self.generator(random_seed, 0))

    def generator(self, random_seed: Any, purpose: int) -> np.random.Generator:
        """Return a random generator for a purpose: 0 for selecting draws, 1 for new test sets, 2 for prevalence."""
        seed = self.random_seed if random_seed is None else checks.seed(random_seed)
        return np.random.default_rng([seed, purpose])

    def _subset(self, draws: int, rng: np.random.Generator) -> xr.DataArray:
        """Return some of the draws in their original order, with dims (…, draw, actual, predicted)."""
        index = np.sort(rng.choice(self._available, draws, replace=draws > self._available))
        flat = self.cells.stack(sample=("chain", "draw"), create_index=False).isel(sample=index)
        flat = flat.drop_vars(["chain", "draw"]).rename(sample="draw").assign_coords(draw=np.arange(draws))
        return flat.transpose(*self.template.dims[:-2], "draw", *CELL_DIMS)

    def cells_by_chain(
        self, post: Posterior, draws: int | None = None, chains: int | None = None, random_seed: Any = None
    ) -> xr.DataArray:
        if not draws == chains == random_seed is None:
            raise InputError(
                "draws, chains and random_seed",
                "apply to exact posteriors; this posterior already consists of draws.",
            )
        return self.cells

    def joint_over(self, dim: str) -> bool:
        return dim == self.systems_dim

    # ── Other sources ──

    def predict(self, post: Posterior, n: int | None, draws: int, random_seed: Any) -> Source:
        post.refuse("predict")
        size = _size(post, n)
        cells = self._subset(checks.count("draws", draws, least=2), self.generator(random_seed, 0))
        flat = cells.values.reshape(*cells.shape[:-2], -1)
        new = self.generator(random_seed, 1).multinomial(size, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
        shares = stored(new / new.sum((-2, -1), keepdims=True), self.template)
        # What a child knows of the examples that it was drawn from is not known of new ones.
        return StoredDraws(shares, self.independent_draws, PREDICTED, systems_dim=self.systems_dim)

    def at_prevalence(self, prevalence: Prevalence) -> Self:
        shape = self.cells.shape[:-1]
        shares = prevalence.draw(self.generator(None, 2), int(np.prod(shape[:-1]))).reshape(shape)
        target = xr.DataArray(shares, dims=self.cells.dims[:-1])
        cells = (self.cells / self.cells.sum("predicted") * target).transpose(*self.cells.dims)
        return replace(self, cells=cells, reweighted=True)

    def refuse_other_prevalence(self, what: str) -> None:
        """Raise if the cells have another prevalence than when they were drawn."""
        if self.reweighted:
            raise InputError(what, "the posterior is of another prevalence.", "Take it before at_prevalence.")


def stored(cells: Array, template: xr.DataArray, chains: int = 1) -> xr.DataArray:
    """Return draws of the cells of a template with dims (…, chain, draw, actual, predicted).

    The values have the axes (…, chains × draws, K, K) in this order, in any shape, one chain after the other.
    """
    draws = cells.size // (template.size * chains)
    shape = (*template.shape[:-2], chains, draws, *template.shape[-2:])
    of_draws = template.expand_dims({"chain": np.arange(chains), "draw": np.arange(draws)}, (-4, -3))
    # In the order of a file: sums are then the same to the last digit once the draws were saved and loaded.
    return labelled(np.ascontiguousarray(cells.reshape(shape)), of_draws, name="cells")


def _size(post: Posterior, n: int | None) -> Any:
    """Return the numbers of examples in new test sets."""
    if n is not None:
        return checks.count("n", n)
    if post.observed is None:
        raise InputError("n", "name the size of the new test set; these draws do not say how many were observed.")
    totals = post.observed.sum(CELL_DIMS).transpose(*post.dims).values[..., None].round().astype(int)
    if (totals == 0).any():
        raise InputError("n", "some matrix has no examples; name the size of the new test set.")
    return totals


@dataclass(frozen=True, eq=False)
class SameExamples(StoredDraws):
    """Joint draws of the cells of systems evaluated on the same examples."""

    independent_draws: bool = True
    refusal: str = (
        "these draws are of systems tested on the same examples. Ask it of each system by itself: posterior(cm)."
    )
    # The Dirichlet of each system alone, which refuses metrics that are undefined under an improper prior.
    alone: Source = field(kw_only=True)

    def distributions(self, post: Posterior, metrics: Sequence[Metric]) -> list[Distribution]:
        self._refuse_undefined(post, metrics)
        return super().distributions(post, metrics)

    def drawn_by_matrix(
        self, post: Posterior, metrics: Sequence[Metric], draws: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        self._refuse_undefined(post, metrics)
        return super().drawn_by_matrix(post, metrics, draws, random_seed)

    def _refuse_undefined(self, post: Posterior, metrics: Sequence[Metric]) -> None:
        for metric in metrics:
            self.alone.refuse_undefined(post, metric)
