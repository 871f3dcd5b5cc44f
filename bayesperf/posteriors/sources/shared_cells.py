"""The source of cells under the prior that classes share (`bayesperf.prior.shared`), by independent draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.core.words import metric_title, signed_value
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.metric import Metric, evaluated
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.process_rows import FEW_CLASSES
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.shared_classes import ClassesModel
from bayesperf.posteriors.sources.cells_by_matrix import CellsByMatrix

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedClasses(CellsByMatrix):
    """Cells of matrices whose classes share a prior of their recalls and of their errors.

    All figures come from one set of joint draws, including the shared parameters `mean_recall`, `slope` and
    `dispersion`.

    With more than 30 classes nearly all cells are empty. Metrics then have draws of their own, of the cells with
    examples and of the largest parts of the others (`bayesperf.posteriors.sparse_rows`); `draws` includes all cells.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_table([[9, 1, 0], [2, 7, 1], [0, 1, 9]])
    >>> shared = bp.posterior(cm).source
    >>> shared.mean_recall.median().round(2).item(), shared.dispersion.prob_below(0.25).round(2).item()
    (0.78, 0.83)
    """

    counts: xr.DataArray

    @property
    def template(self) -> xr.DataArray:
        return self.counts

    @cached_property
    def flat(self) -> Array:
        """Counts as (m, K, K)."""
        return self.counts.values.reshape(-1, *self.counts.shape[-2:]).astype(float)

    @cached_property
    def _classes(self) -> ClassesModel:
        return ClassesModel(self.flat)

    def draw_blocks(self, post: Posterior, index: int, draws: int, rng: np.random.Generator) -> Iterator[Array]:
        return self._classes.cells(index, draws, rng, post.stated_prevalence)

    def metric_blocks(
        self, post: Posterior, metrics: Sequence[Metric], index: int, draws: int, rng: np.random.Generator
    ) -> Iterator[dict[Metric, Array]]:
        if len(post.labels) <= FEW_CLASSES:
            yield from super().metric_blocks(post, metrics, index, draws, rng)
            return
        for rows in self._classes.sparse_cells(index, draws, rng, post.stated_prevalence):
            drawn = {metric: metric.of_class_sums(rows) for metric in metrics if not metric.needs_cells}
            if of_cells := [metric for metric in metrics if metric.needs_cells]:
                blocks = [evaluated(of_cells, cells) for cells in rows.cells()]
                drawn |= {metric: np.concatenate([block[metric] for block in blocks]) for metric in of_cells}
            yield drawn

    def distributions(self, post: Posterior, metrics: Sequence[Metric]) -> list[Distribution]:
        drawn = self.metric_draws(post, metrics, self.n_draws, None)
        return [Draws(drawn[metric][:, None, :], metric.bounds) for metric in metrics]

    def updated(self, counts: xr.DataArray, n_draws: int | None = None) -> Self:
        return replace(self, counts=self.counts + counts, n_draws=self.n_draws if n_draws is None else n_draws)

    # ── What the classes share ──

    @cached_property
    def _recalls(self) -> tuple[Array, Array, Array]:
        """Draws of m, β and ρ, (m, 1, n) each, which the metrics use."""
        drawn = [self._classes.recalls(index, self.n_draws, rng) for index, rng in enumerate(self.generators(None))]
        mean, slope, dispersion = (np.stack(part)[:, None] for part in zip(*drawn, strict=True))
        return special.expit(mean), slope, special.expit(dispersion)

    @property
    def mean_recall(self) -> Marginal:
        """Posterior of m, the mean of the distribution of recalls for a class of middle size."""
        return self._of_classes("mean_recall", self._recalls[0])

    @property
    def slope(self) -> Marginal:
        """Posterior of β, by which the logit of the mean recall rises if a class is e times as large.

        If classes are equally large, it equals the prior of β.
        """
        return self._of_classes("slope", self._recalls[1], (-np.inf, np.inf))

    @property
    def dispersion(self) -> Marginal:
        """Posterior of ρ, the dispersion of the recalls: 0 if all follow the mean, 1 if each is 0 or 1."""
        return self._of_classes("dispersion", self._recalls[2])

    def _of_classes(self, name: str, drawn: Array, bounds: tuple[float, float] = (0.0, 1.0)) -> Marginal:
        words = f"{metric_title(name)} that the classes share"
        quantity = Quantity(name, Scope("itself"), words=words, bounds=bounds)
        leading = xr.zeros_like(self.counts.isel(actual=0, predicted=0, drop=True), dtype=float).rename(None)
        return Marginal(quantity, Draws(drawn, bounds), leading, random_seed=self.random_seed)

    def modelled(self, post: Posterior) -> str:
        return f"counts of the confusion matrix were modelled as multinomial draws, with a prior {post.prior_text}"

    def note(self, ci_prob: float, ci_kind: Kind) -> str:
        said = []
        for share in (self.mean_recall, self.dispersion, self.slope):
            interval = share.interval(ci_prob, ci_kind).values.reshape(-1, 2)
            medians = [signed_value(at(share.median().values)) for at in (np.min, np.max)]
            limits = signed_value(interval[:, 0].min()), signed_value(interval[:, 1].max())
            said.append(f"{' to '.join(dict.fromkeys(medians))} [{', '.join(limits)}]")
        whose = f"The classes of each of {len(self.flat)} matrices" if self.counts.ndim > 2 else "The classes"
        text = f"{whose} share a mean recall of {said[0]} and its dispersion ρ, {said[1]}"
        if (np.ptp(self.flat.sum(-1), axis=-1) == 0).all():
            return f"{text}."
        return f"{text}; where a class is e times as large, the logit of its mean recall is greater by {said[2]}."
