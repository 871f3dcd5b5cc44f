"""The contract of a source of cells: what a posterior asks it for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.fields import Held
from bayesperf.data.counted import Counted
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.predicted_proportion import ProportionWeights
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.prevalence import UNKNOWN_PREVALENCE, Prevalence

if TYPE_CHECKING:
    from bayesperf.posteriors.marginal import Kind, Marginal
    from bayesperf.posteriors.posterior import Posterior

# Why something that needs whole cells is refused where only their rows are known.
NO_PREVALENCE = "the data (design by_actual) do not say how common each class is. Give it: at_prevalence(p)."

# What a posterior asks of its source, besides metrics.
type Task = Literal["draws", "a joint draw", "predict", "update", "at_prevalence", "plan"]

_DRAWN = (
    "a posterior known by its draws cannot be updated with examples to come. Pass counts; if examples depend on each "
    "other, divide them by the design effect first."
)


class Source(Held, ABC):
    """Base class of the sources of cells: frozen dataclasses whose fields are arrays, numbers, texts or other objects.

    A source is given the posterior that asks (`post`) if it needs its frame: the prevalence, the labels, the counts.
    """

    # Whether results are exact or computed from draws of the cells.
    method: ClassVar[Literal["exact", "draws"]] = "draws"
    # Whether each matrix is drawn by itself, from a random stream of its own, so that systems are independent.
    by_matrix: ClassVar[bool] = False
    # What counts two systems on the same examples together.
    counted_together: ClassVar[str] = (
        "ConfusionMatrix.from_predictions(y_true, {'a': y_pred_a, 'b': y_pred_b}, pos_label=...)"
    )
    # Whether the observed cells are weighted examples, so that they count no trials.
    weighted: ClassVar[bool] = False
    # Whether draws are independent of each other, the number of their chains, and of joint draws made of exact results,
    # and the seed.
    independent_draws: bool = True
    chains: int = 1
    n_draws: int = 10_000
    random_seed: int = 0
    # Number of examples, or clusters of them, behind the variances of joint draws.
    units: float = np.inf
    # Dirichlet weights of the cells, where these have such.
    concentration: xr.DataArray | None = None
    # What an ArviZ tree says of draws that allow no prediction, and no other prevalence.
    refusal: str = ""
    # Of draws that allow no prediction, but another prevalence.
    no_prediction: str = ""

    @property
    @abstractmethod
    def template(self) -> xr.DataArray:
        """An array with the dims and coordinates of the cells, without the dims of the draws."""

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        """Return the tasks that the source refuses, each with the reason."""
        refused: dict[Task, str] = {"plan": _DRAWN} if self.concentration is None else {}
        return refused | ({"draws": NO_PREVALENCE, "predict": NO_PREVALENCE} if post.prevalence is None else {})

    def refuses_metric(self, post: Posterior, metric: Metric) -> str:
        """Return why a metric is refused, in words that follow its name; empty if it is not."""
        unknown = post.prevalence is None and metric.depends_on_prevalence(len(post.labels))
        return UNKNOWN_PREVALENCE if unknown else ""

    def refuse_undefined(self, post: Posterior, metric: Metric) -> None:
        """Raise if a metric is undefined because the prior is improper."""
        return None

    # ── Distributions and draws ──

    @abstractmethod
    def distributions(self, post: Posterior, metrics: Sequence[Metric]) -> list[Distribution]:
        """Return the distributions of several metrics, with joint draws; exact if the source has exact ones."""

    @abstractmethod
    def sampled(self, post: Posterior, metric: Metric, draws: int, random_seed: int | None) -> Array:
        """Return draws of a metric, (m, draws)."""

    @abstractmethod
    def drawn_by_matrix(
        self, post: Posterior, metrics: Sequence[Metric], draws: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        """Yield joint draws of the metrics, (draws,) or (draws, K) each, for one matrix at a time to save memory."""

    @abstractmethod
    def cell_draws(self, post: Posterior, draws: int, random_seed: Any) -> xr.DataArray:
        """Return n draws of the cells, (…, draw, actual, predicted)."""

    @abstractmethod
    def cells_by_chain(
        self, post: Posterior, draws: int | None = None, chains: int | None = None, random_seed: Any = None
    ) -> xr.DataArray:
        """Return draws of the cells with dims (…, chain, draw, actual, predicted)."""

    def proportion_weights(self, post: Posterior, n: int | None, metric: Metric) -> ProportionWeights | None:
        """Return what determines a metric exactly in a new test set of n examples; None if only draws do."""
        return None

    def of_systems(
        self, post: Posterior, metric: str | Metric, dim: str, draws: int, random_seed: int
    ) -> tuple[Marginal, str]:
        """Return a metric of the systems along a dim, joint if their posterior is joint, and its prior in words."""
        return post[metric], post.prior_text

    def joint_over(self, dim: str) -> bool:
        """Whether the draws of systems along a dim are joint, example by example."""
        return False

    # ── Other sources ──

    @abstractmethod
    def predict(self, post: Posterior, n: int | None, draws: int, random_seed: Any) -> Source:
        """Return the source of new test sets, as proportions of their examples."""

    def updated(self, counts: xr.DataArray, n_draws: int | None = None) -> Self:
        """Return the source after more counts, with another number of draws if given.

        A source that cannot follow counts refuses "update", and is returned unchanged.
        """
        return self

    def at_prevalence(self, prevalence: Prevalence) -> Self:
        """Return the source at another prevalence; sources that draw on demand take it from the posterior."""
        return self

    def with_prior_share(self, post: Posterior, share: float) -> Self | None:
        """Return the source with a fraction of its prior's weight; None if a prior cannot be scaled."""
        return None

    # ── In words and tables ──

    @property
    def attempts(self) -> Any:
        """The source itself, if its cells are of attempts at questions that pass or fail; else None."""
        return None

    def modelled(self, post: Posterior) -> str:
        """Return how the cells were obtained, in the past tense of a paper, with the keys of the references."""
        return f"figures come from a given posterior ({post.prior_text})"

    def known_counts(self) -> Counted | None:
        """Return the counts of the examples whose cells are known, if they are not all known; else None."""
        return None

    def note(self, ci_prob: float, ci_kind: Kind) -> str:
        """Return a sentence on the source's own parameters, for a table; empty if it has none."""
        return ""

    def preface(self) -> list[str]:
        """Return sentences on the data, to come before the figures."""
        return []

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        """Return sentences on the basis of a metric's figures, to come after them."""
        return []
