"""The posterior carried by draws: of a sampler, or of new test sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf import _checks, metrics
from bayesperf._draws import Draws
from bayesperf._labelled import evaluate
from bayesperf._tables import CELL_DIMS
from bayesperf.counts import ConfusionMatrix
from bayesperf.marginals import Marginal
from bayesperf.metrics import Metric
from bayesperf.posterior import DRAWS, Posterior


@dataclass(frozen=True, eq=False, repr=False)
class SampledPosterior(Posterior):
    """Draws of cells, dims (…, chain, draw, actual, predicted).

    Attributes
    ----------
    independent : bool
        Whether draws are independent of each other; else Monte Carlo errors allow for their autocorrelation.
    """

    cells: xr.DataArray
    pos_label: Any
    prior_text: str
    estimand: str = Posterior.estimand
    independent: bool = False
    observed: xr.DataArray | None = None

    @property
    def _cells(self) -> xr.DataArray:
        return self.cells.isel(chain=0, draw=0, drop=True)

    @property
    def _independent(self) -> bool:  # type: ignore[override]
        return self.independent

    @property
    def _observed(self) -> xr.DataArray | None:  # type: ignore[override]
        return self.observed

    def _default_metrics(self) -> list[str]:
        return metrics.headline(len(self.labels), self._positive is not None)

    def _metric_values(self, wanted: Sequence[Metric]) -> dict[Metric, xr.DataArray]:
        return {metric: evaluate(metric, self.cells, self._positive) for metric in wanted}

    def _marginals(self, wanted: Sequence[Metric]) -> list[Marginal]:
        found = []
        values = self._metric_values(wanted)
        for metric in wanted:
            ordered = values[metric].transpose(..., "chain", "draw")
            flat = ordered.values.reshape(-1, *ordered.shape[-2:])
            distribution = Draws.of(metric.name, flat, metric.bounds, self.independent)
            leading = xr.zeros_like(ordered.isel(chain=0, draw=0, drop=True))
            found.append(Marginal(metric.name, distribution, leading, self._sampler(metric)))
        return found

    def _sampler(self, metric: Metric) -> Callable[[int, Any], NDArray[np.float64]]:
        def sample(n: int, random_seed: Any) -> NDArray[np.float64]:
            values = evaluate(metric, self.draws(n, random_seed), self._positive).transpose(..., "draw").values
            return values.reshape(-1, n)

        return sample

    def draws(self, n: int, random_seed: Any = None) -> xr.DataArray:
        n = _checks.count("n", n)
        available = self.cells.sizes["chain"] * self.cells.sizes["draw"]
        if n > available:
            raise ValueError(f"n: {n} draws asked for and {available} there. Sample more of them.")
        rng = np.random.default_rng(0 if random_seed is None else _checks.seed(random_seed))
        chosen = np.sort(rng.choice(available, n, replace=False))
        flat = self.cells.stack(sample=("chain", "draw"), create_index=False).isel(sample=chosen)
        flat = flat.drop_vars(["chain", "draw"]).rename(sample="draw").assign_coords(draw=np.arange(n))
        return flat.transpose(*self.dims, "draw", *CELL_DIMS)

    def _chains(self, draws: int, chains: int, random_seed: Any) -> xr.DataArray:
        return self.cells

    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        if self.estimand != Posterior.estimand:
            raise ValueError("predict: this is a prediction already.")
        size = self._size(n)
        cells = self.draws(min(_checks.count("draws", draws), self.cells.sizes["chain"] * self.cells.sizes["draw"]))
        rng = np.random.default_rng(0 if random_seed is None else _checks.seed(random_seed))
        flat = cells.values.reshape(*cells.shape[:-2], -1)
        new = rng.multinomial(size, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
        shares = cells.copy(data=new / new.sum((-2, -1), keepdims=True)).expand_dims(chain=[0])
        text = (
            f"Prediction of the metric in a new test set of {f'{n} examples' if n else 'as many examples as observed'}"
        )
        cells = shares.transpose(*self.dims, "chain", "draw", *CELL_DIMS)
        return replace(self, cells=cells, estimand=text, observed=None)

    def _size(self, n: int | None) -> Any:
        if n is not None:
            return _checks.count("n", n)
        if self.observed is None or set(self.observed.dims) != set(self._cells.dims):
            raise ValueError("n: name the size of the new test set; these draws do not say how many were observed.")
        return self.observed.sum(CELL_DIMS).transpose(*self.dims).values[..., None].astype(int)

    def update(self, cm: ConfusionMatrix) -> Posterior:
        raise ValueError("update: draws cannot be updated exactly; fit the model to all counts together.")

    def at_prevalence(self, p: Any) -> Posterior:
        from bayesperf._dirichlet import parse_prevalence

        prevalence = parse_prevalence(p, self.labels, self._positive)
        sizes = (self.cells.sizes["chain"], self.cells.sizes["draw"])
        shares = prevalence.draw(np.random.default_rng(0), int(np.prod(sizes))).reshape(*sizes, 1, len(self.labels))
        target = xr.DataArray(shares[:, :, 0, :], dims=("chain", "draw", "actual"))
        cells = self.cells / self.cells.sum("predicted") * target.assign_coords(actual=self.cells["actual"])
        return replace(self, cells=cells.transpose(*self.cells.dims), prior_text=f"{self.prior_text}; prevalence {p!r}")
