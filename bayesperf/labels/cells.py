"""Partly verified samples: joint draws of the cells of systems, and what sources made of them have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.core.weights import check_number
from bayesperf.core.words import plural
from bayesperf.data.axis_names import MODEL
from bayesperf.data.count_arrays import CELL_DIMS, check_size
from bayesperf.data.counted import Counted
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.labels.sample import ALONE, VerifiedSample, moved
from bayesperf.labels.voter_cells import Strata, dirichlet_cells, shared_cells
from bayesperf.labels.votes import DISPERSION
from bayesperf.posteriors import posterior_of_counts
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.paired_systems import pseudo_counts
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored

# The default number of draws falls with the square of the number of classes, as strata become many, down to the
# minimum.
_DRAWN_CELLS, _LEAST_DRAWS = 250_000, 1000
_SHARED_TEXT = (
    "shared by the strata (true classes ~ Dirichlet(κ m), log m = the popularity of the class + the quality of each "
    f"vote for it; 1/(1 + κ) ~ Beta({DISPERSION[0]:g}, {DISPERSION[1]:g}); strata of total weight 1)"
)


def resolved(prior: priors.Prior | None, sample: VerifiedSample, systems: int = 1) -> priors.Prior:
    """Return the joint prior of several systems: the named one, or one chosen by the number of strata."""
    if prior is None:
        few = len(sample.labels) == 2 and systems == 1 and len(sample.judges) < 2 and not sample.levels.any()
        few = few and not any(sample.cuts)
        return priors.jeffreys() if few else priors.shared()
    return prior


def described(prior: priors.Prior, sample: VerifiedSample) -> str:
    """Return a description of a prior as it is used here."""
    whole = f"{prior.describe(sample.verified_only())}, spread evenly over the strata"
    weights = "" if sample.clusters is None else f"Bayesian bootstrap of {plural(sample.clusters.name)}; "
    return weights + (_SHARED_TEXT if prior.shared_by_classes else whole)


def joint_cells(
    sample: VerifiedSample,
    prior: priors.Prior,
    systems: Sequence[int],
    draws: int,
    random_seed: int,
    of_judges: bool = False,
) -> Array:
    """Return joint draws of the cells of systems, by position, or of the judges, (m, V, n, K, K).

    The strata are those of the judges, of these systems, and of the levels.
    """
    wanted = slice(len(sample.judges)) if of_judges else slice(len(sample.judges), None)
    voters = [*range(len(sample.judges)), *systems]
    strata, leading = sample.strata_of(voters), sample.counts.isel(stratum=0, drop=True).astype(float)
    if prior.shared_by_classes:
        drawn = [partial(shared_cells, each) for each in strata]
    else:
        drawn = [partial(dirichlet_cells, *each) for each in spread_over_strata(sample, prior, systems)]
    contents = [np.column_stack([*each.votes.T, each.levels, each.counts, each.verified]).ravel() for each in strata]
    purpose = f"verified {[*['judge'] * len(sample.judges), *(sample.voters()[system] for system in systems)]}"
    rngs = streams(random_seed, purpose, leading, contents)
    return np.stack([draw(draws, rng, wanted) for draw, rng in zip(drawn, rngs, strict=True)])


def spread_over_strata(
    sample: VerifiedSample, prior: priors.Prior, systems: Sequence[int]
) -> list[tuple[Strata, Array]]:
    """Return all possible strata, and the Dirichlet weights of their true classes, for each matrix.

    The weights of a class are spread evenly over the judge's labels and over the levels, and over the systems as if
    they were independent given the class, so that each system's weights sum to its α.
    """
    classes, judges = len(sample.labels), len(sample.judges)
    given = sample.strata_of([*range(judges), *systems])
    shape = (int(sample.levels.max()) + 1, *(len(bins) or classes for bins in given[0].bins))
    check_size("judge and y_pred", (*shape, classes), classes)
    levels, *votes = np.unravel_index(np.arange(math.prod(shape)), shape)
    spread = []
    for strata, alpha in zip(given, _proper_counts(sample, prior), strict=True):
        place = np.ravel_multi_index([strata.levels, *strata.votes.T], shape)
        counts, verified = np.zeros(len(levels), int), np.zeros((len(levels), classes), int)
        counts[place], verified[place] = strata.counts, strata.verified
        weights = np.tile(alpha[0].sum(-1) / math.prod(shape[: 1 + judges]), (len(levels), 1))
        for system, predicted in zip(systems, votes[judges:], strict=True):
            of_system = alpha[system - judges]
            weights *= (of_system / of_system.sum(-1, keepdims=True))[:, predicted].T
        whole = Strata(np.stack(votes, 1), counts, verified, levels, strata.bins)
        if strata.clusters is not None:
            whole = whole._replace(clusters=moved(strata.clusters, place, len(levels)))
        spread.append((whole, weights))
    return spread


def _proper_counts(sample: VerifiedSample, prior: priors.Prior) -> Array:
    """Return α of each system, for each element of the leading dims, (m, M, K, K)."""
    cm = sample.verified_only()
    if not sample.systems:
        cm = ConfusionMatrix(cm.counts.expand_dims({ALONE: [0]}, -3), cm.pos_label)
    alpha = pseudo_counts(cm, prior)
    if (alpha <= 0).any():
        raise InputError(
            "prior",
            f"{prior.describe(cm)} has no weight for some cells, and of strata without a verified "
            "example it alone says what they are.",
            "Use a proper prior, as 'jeffreys'.",
        )
    return alpha


def labelled_cells(sample: VerifiedSample, cells: Array, systems: Sequence[Any], dim: str = MODEL) -> xr.DataArray:
    """Return draws (m, M, n, K, K) with the leading dims of a sample, and the systems' dim if they have names."""
    leading = sample.counts.isel(stratum=0, drop=True)
    dims: dict[str, list[Any]] = ({dim: list(systems)} if systems else {}) | dict.fromkeys(CELL_DIMS, sample.labels)
    return stored(cells, leading.expand_dims(dims, range(leading.ndim, leading.ndim + len(dims))))


@dataclass(frozen=True, eq=False)
class PartlyVerified(StoredDraws):
    """Draws of the cells of systems of which people verified some examples. Made by `bayesperf.labels.verify`."""

    sample: VerifiedSample = field(kw_only=True)
    # The named prior of each system; None for the default.
    prior: priors.Prior | None = field(kw_only=True)
    random_seed: int = field(kw_only=True)

    @classmethod
    def posterior_of(
        cls, sample: VerifiedSample, prior: str | priors.Prior | None, draws: int | None, random_seed: Any
    ) -> Posterior:
        """Return the posterior of each system of a sample; of a complete one that of its counts."""
        seed, classes = checks.seed(random_seed), len(sample.labels)
        if sample.is_complete and sample.clusters is None:
            return posterior_of_counts.posterior(cls.verified_part(sample), prior, random_seed=seed, draws=draws)
        fewer = max(min(DRAWS, _DRAWN_CELLS // classes**2), _LEAST_DRAWS)
        draws = fewer if draws is None else checks.count("draws", draws, least=2)
        what = "partly verified samples"
        named = None if prior is None else priors.resolve_dirichlet(prior, classes, what, shared=True)
        if sample.clusters is not None:
            check_number(sample.verified_clusters, f" {plural(sample.clusters.name)} with verified examples")
        source = cls.of(sample, named, draws, seed)
        source.warn_of_doubts()
        return source.posterior

    @classmethod
    def of(cls, sample: VerifiedSample, prior: priors.Prior | None, draws: int, random_seed: int) -> Self:
        """Return the source of each system of a sample."""
        used = resolved(prior, sample)
        cells = cls.drawn_cells(sample, used, draws, random_seed)
        independent_draws = not used.shared_by_classes
        return cls(cells, independent_draws=independent_draws, sample=sample, prior=prior, random_seed=random_seed)

    @staticmethod
    @abstractmethod
    def drawn_cells(sample: VerifiedSample, prior: priors.Prior, draws: int, random_seed: int) -> xr.DataArray:
        """Return draws of the cells of each system."""

    @staticmethod
    @abstractmethod
    def verified_part(sample: VerifiedSample) -> Counted:
        """Return the counts of the verified examples."""

    def warn_of_doubts(self) -> None:
        """Warn of what the verified examples leave open."""
        return None

    @property
    def posterior(self) -> Posterior:
        """The posterior of each system."""
        text = described(resolved(self.prior, self.sample), self.sample)
        # Learned from the numbers of all examples of the strata, whatever their class.
        counts = self.sample.counts.sum("stratum")
        return Posterior(source=self, pos_label=self.pos_label, prior_text=text, learned_from=counts)

    @property
    def pos_label(self) -> Any:
        """The positive class; None if there is none."""
        return self.sample.pos_label

    def known_counts(self) -> Counted:
        return self.verified_part(self.sample)
