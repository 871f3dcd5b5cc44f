"""Outcomes that a judge gave all examples, and people only some: right or wrong, or grades.

The judge's outcomes are strata. Among examples with the same outcome from the judge, people's outcomes are those of the
verified ones, if these were chosen at random within the stratum; nothing is assumed of how good the judge is. The
shares of people's outcomes are sums over the strata (`bayesperf.labels.voter_cells`), of which any metric is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from bayesperf.core import checks
from bayesperf.core.arrays import Array, decoded
from bayesperf.core.errors import InputTypeError
from bayesperf.core.words import format_value
from bayesperf.data.count_arrays import as_table
from bayesperf.data.outcomes import Outcomes
from bayesperf.labels.cells import described, joint_cells, labelled_cells, resolved
from bayesperf.labels.sample import VerifiedSample
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import posterior_of_counts
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.sources.stored_draws import StoredDraws


def sample_of_outcomes(
    y_true: Any, judge: Any, strata: Any, scale: Iterable[Any] | None, by: Mapping[str, Any] | None
) -> VerifiedSample:
    """Count people's outcomes, where they are known, by the judge's: a sample whose only votes are the judge's."""
    outcomes, of_judge = _numbers("y_true", y_true), checks.vector("judge", _numbers("judge", judge))
    seen = np.concatenate([outcomes[~np.isnan(outcomes)], of_judge])
    grades = np.unique(seen if scale is None else np.asarray(list(scale), float))
    return VerifiedSample.from_predictions(outcomes, of_judge, strata=strata, by=by, labels=grades.tolist())


def _numbers(name: str, values: Any) -> Array:
    """Return outcomes as numbers, NaN where they are missing: true and false are 1 and 0."""
    column = pd.Series(decoded(values), dtype=object)
    known = column.notna().to_numpy()
    if any(isinstance(value, str) for value in column[known]):
        raise InputTypeError(
            name, "outcomes must be true and false, or grades as numbers.", "Say what each is worth, as a number."
        )
    numbers = np.full(len(column), np.nan)
    numbers[known] = column[known].astype(float)
    return numbers


@dataclass(frozen=True, eq=False)
class VerifiedOutcomes(StoredDraws):
    """Draws of the shares of outcomes, of which people gave some and a judge all. Made by `bayesperf.labels.verify`.

    Attributes
    ----------
    sample : VerifiedSample
        The counts of people's outcomes by those of the judge.
    prior : Prior or None
        The named prior of each system; None for the default.
    random_seed : int
        Seed of the draws.
    """

    sample: VerifiedSample = field(kw_only=True)
    prior: priors.Prior | None = field(kw_only=True)
    random_seed: int = field(kw_only=True)

    @classmethod
    def of(cls, sample: VerifiedSample, prior: priors.Prior | None, draws: int, random_seed: int) -> VerifiedOutcomes:
        """Return the source of each system of a sample."""
        used = resolved(prior, sample)
        drawn = labelled_cells(sample, joint_cells(sample, used, [0], draws, random_seed), ())
        shares = drawn.sum("predicted").rename(actual="outcome")
        cells = as_table(shares.assign_coords(outcome=_grades(sample)))
        independent = not used.shared_by_classes
        return cls(cells, independent=independent, sample=sample, prior=prior, random_seed=random_seed)

    @property
    def posterior(self) -> Posterior:
        """The posterior of each system."""
        text = described(resolved(self.prior, self.sample), self.sample)
        return Posterior(source=self, pos_label=None, prior_text=text, learned_from=self.sample.counts.sum("stratum"))

    def known_counts(self) -> Outcomes:  # type: ignore[override]
        return verified_part(self.sample)

    def preface(self) -> list[str]:
        known, n = int(self.sample.verified.sum()), int(self.sample.counts.sum())
        return [f"{known:,} of {n:,} outcomes by the judge are verified."]

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        said = [
            "This assumes that, among examples with the same outcome by the judge, the verified were chosen at random."
        ]
        if post.dims:
            return said
        alone = posterior_of_counts.posterior(self.known_counts(), random_seed=self.random_seed)[metric]
        worth = int(self.sample.verified.sum()) * (alone.sd() / post[metric].sd()).item() ** 2
        title = post[metric].quantity.title
        return [f"For {title}, they say as much as about {format_value(worth, 100)} verified at random would.", *said]


def _grades(sample: VerifiedSample) -> Array:
    grades = np.asarray(sample.labels, float)
    return grades.astype(int) if (grades % 1 == 0).all() else grades


def verified_part(sample: VerifiedSample) -> Outcomes:
    """Return people's outcomes of the verified examples."""
    counts = sample.verified.sum("stratum").rename(actual="outcome")
    return Outcomes(counts.assign_coords(outcome=_grades(sample)))
