"""Outcomes that a judge gave all examples, and people only some: right or wrong, or grades.

The judge's outcomes are strata. Among examples with the same outcome from the judge, people's outcomes are those of the
verified ones, if these were chosen at random within the stratum; nothing is assumed of how good the judge is. The
shares of people's outcomes are sums over the strata (`bayesperf.labels.voter_cells`), of which any metric is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, decoded
from bayesperf.core.errors import InputTypeError
from bayesperf.core.words import format_value, plural
from bayesperf.data.count_arrays import as_outcomes, as_table
from bayesperf.data.outcomes import Outcomes
from bayesperf.labels.cells import PartlyVerified, joint_cells, labelled_cells
from bayesperf.labels.judges import JUDGE, as_score, named_judges
from bayesperf.labels.sample import VerifiedSample
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import posterior_of_counts
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.sources.stored_draws import StoredDraws


def sample_of_outcomes(
    y_true: Any, judge: Any, strata: Any, cluster: Any, scale: Iterable[Any] | None, by: Mapping[str, Any] | None
) -> VerifiedSample:
    """Count people's outcomes, where they are known, by the judges': a sample without a system.

    Beside people's right and wrong, fractions are a judge's score.
    """
    outcomes = _numbers("y_true", y_true)
    known, judges = outcomes[~np.isnan(outcomes)], named_judges(judge)
    given = {name: checks.vector(str(name), _numbers(str(name), values)) for name, values in judges.items()}
    right = np.array([0.0, 1.0])
    grades = np.unique(np.concatenate([known, *given.values()]) if scale is None else np.asarray(list(scale), float))
    scored = any(as_score(values, right.tolist()) is not None for values in given.values())
    if scale is None and np.isin(known if scored else grades, right).all():
        grades = right
    of_judges = given[JUDGE] if [*given] == [JUDGE] else given
    return VerifiedSample.from_predictions(
        outcomes, judge=of_judges, strata=strata, cluster=cluster, by=by, labels=grades.tolist()
    )


def systems_together(
    outcomes: Array, judged: Codes, names: Sequence[Any], dim: str, prior: str | priors.Prior | None, random_seed: int
) -> Posterior:
    """Return the joint posterior of M systems that people and a judge call right or wrong, (n, M), at n examples.

    All outcomes of an example are one of 2^M, by people and by the judge, so that the difference of systems that fail
    at the same examples is known better than each of them. An example counts as verified if people know all its
    outcomes; those that they do not know are NaN.
    """
    powers, shifts = 2 ** np.arange(len(names)), np.arange(len(names))
    known = ~np.isnan(outcomes).any(1)
    people = np.where(known, np.nan_to_num(outcomes) @ powers, np.nan)
    combinations = np.arange(2 ** len(names))
    sample = sample_of_outcomes(people, judged @ powers, None, None, combinations.tolist(), None)
    together = VerifiedOutcomes.posterior_of(sample, prior, None, random_seed)
    shares = as_outcomes(together.cells_by_chain()).transpose("chain", "draw", "outcome")
    right = shares.values @ (combinations[:, None] >> shifts & 1)
    coords = {"chain": shares["chain"], "draw": shares["draw"], dim: list(names), "outcome": [0, 1]}
    cells = as_table(xr.DataArray(np.stack([1 - right, right], -1), coords, [*coords]))
    source = StoredDraws(
        cells.transpose(dim, "chain", "draw", ...),
        independent_draws=together.source.independent_draws,
        refusal="these draws are of systems that answered the same examples.",
        systems_dim=dim,
    )
    return Posterior(source=source, pos_label=None, prior_text=together.prior_text)


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
class VerifiedOutcomes(PartlyVerified):
    """Draws of the shares of outcomes, of which people gave some and a judge all. Made by `bayesperf.labels.verify`.

    The sample counts people's outcomes by those of the judge.
    """

    pos_label = None

    @staticmethod
    def drawn_cells(sample: VerifiedSample, prior: priors.Prior, draws: int, random_seed: int) -> xr.DataArray:
        # Whatever a judge says, the true outcomes are the same.
        drawn = labelled_cells(sample, joint_cells(sample, prior, [], draws, random_seed, of_judges=True)[:, :1], ())
        shares = drawn.sum("predicted").rename(actual="outcome")
        return as_table(shares.assign_coords(outcome=_grades(sample)))

    @staticmethod
    def verified_part(sample: VerifiedSample) -> Outcomes:
        """Return people's outcomes of the verified examples."""
        counts = sample.verified.sum("stratum").rename(actual="outcome")
        return Outcomes(counts.assign_coords(outcome=_grades(sample)))

    def preface(self) -> list[str]:
        known, n = int(self.sample.verified.sum()), int(self.sample.counts.sum())
        clusters = self.sample.clusters
        within = "" if clusters is None else f", in {clusters.size:,} {plural(clusters.name)},"
        return [f"{known:,} of {n:,} outcomes by the judge{'s' * (len(self.sample.judges) > 1)}{within} are verified."]

    @property
    def _judged(self) -> str:
        """What examples of a stratum have in common, in words."""
        several = "s" * (len(self.sample.judges) > 1)
        scored = "outcomes or bins of scores" if several else "bin of the score"
        return f"{scored if any(self.sample.cuts) else f'outcome{several}'} by the judge{several}"

    def modelled(self, post: Posterior) -> str:
        weights = "" if self.sample.clusters is None else f", with weights on the {plural(self.sample.clusters.name)}"
        return (
            "the outcomes of unverified examples were drawn from those of verified examples with the same "
            f"{self._judged}{weights} ({post.prior_text})"
        )

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        said = [f"This assumes that, among examples with the same {self._judged}, the verified were chosen at random."]
        if post.dims:
            return said
        alone = posterior_of_counts.posterior(self.known_counts(), random_seed=self.random_seed)[metric]
        worth = int(self.sample.verified.sum()) * (alone.sd() / post[metric].sd()).item() ** 2
        title = post[metric].quantity.title
        return [f"For {title}, they say as much as about {format_value(worth, 100)} verified at random would.", *said]


def _grades(sample: VerifiedSample) -> Array:
    grades = np.asarray(sample.labels, float)
    return grades.astype(int) if (grades % 1 == 0).all() else grades
