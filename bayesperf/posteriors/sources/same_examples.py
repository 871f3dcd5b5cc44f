"""The source of systems evaluated on the same examples: joint draws of their cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayesperf.core.arrays import Array
from bayesperf.distributions.base import Distribution
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.sources.source import Source
from bayesperf.posteriors.sources.stored_draws import StoredDraws

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior


@dataclass(frozen=True, eq=False)
class SameExamples(StoredDraws):
    """Joint draws of the cells of systems evaluated on the same examples.

    Attributes
    ----------
    alone : Source
        The Dirichlet of each system by itself, which refuses metrics that are undefined under an improper prior.
    """

    independent: bool = True
    refusal: str = (
        "these draws are of systems judged on the same examples. Ask it of each system by itself: posterior(cm)."
    )
    alone: Source = field(kw_only=True)

    def distributions(self, post: Posterior, metrics: Sequence[Metric]) -> list[Distribution]:
        self._refuse_undefined(post, metrics)
        return super().distributions(post, metrics)

    def joint_draws(
        self, post: Posterior, metrics: Sequence[Metric], n: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        self._refuse_undefined(post, metrics)
        return super().joint_draws(post, metrics, n, random_seed)

    def _refuse_undefined(self, post: Posterior, metrics: Sequence[Metric]) -> None:
        for metric in metrics:
            self.alone.refuse_undefined(post, metric)
