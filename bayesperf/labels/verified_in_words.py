"""Posteriors of partly verified samples in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesperf.core.arrays import Codes
from bayesperf.core.words import chance, metric_title
from bayesperf.labels.cells import resolved
from bayesperf.labels.sample import VerifiedSample
from bayesperf.metrics.metric import Metric

if TYPE_CHECKING:
    from bayesperf.labels.verifying import Verified

# The share of the examples, and the number of names, from which on it is said that nobody looked at any like them.
_UNKNOWN_COUNTS, _NAMED = 0.01, 5


def verified_in_words(sample: VerifiedSample) -> str:
    """Return a sentence on how many examples are verified."""
    known, n = int(sample.verified.sum()), int(sample.counts.sum())
    of = f" of {sample.counts.size // len(sample.votes)} groups" if sample.counts.ndim > 1 else ""
    return f"Of {n:,} examples{of} {known:,} are verified."


def worth_in_words(source: Verified, metric: Metric) -> list[str]:
    """Return sentences: what the examples that are not verified add, of what nothing is known, and what is assumed."""
    sample, said = source.sample, []
    if source.template.ndim == 2 and not source.reweighted:
        known, worth = int(sample.verified.sum()), float(source.effective_number(metric))
        origin = "What the judge says" if sample.has_judge else "What is predicted for the others"
        if worth >= known:
            said.append(
                f"{origin} makes {metric_title(metric.name)} as certain as about {worth:,.0f} verified by chance would "
                "alone."
            )
        else:
            said.append(
                f"For {metric_title(metric.name)} they say as much as about {worth:,.0f} verified by chance would."
            )
    said += filter(None, [unknown_in_words(source)])
    alike = "the judge and the system call" if sample.has_judge else "the system calls"
    rest = ", in each level of strata" if sample.levels.any() else ""
    return [*said, f"Assumed is that the verified were chosen by chance among those that {alike} the same{rest}."]


def unknown_in_words(source: Verified) -> str:
    """Return a sentence on the examples of which none like them was verified; empty if they are few, without a name."""
    most, names = float(source.unknown.max()), unverified(source.sample)
    if most < _UNKNOWN_COUNTS and not names:
        return ""
    named = f" ({', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)})" if names else ""
    decides = "the prior alone says"
    if resolved(source.prior, source.sample).shared_by_classes:
        decides = "what was found elsewhere, carried over by the model, says"
    return f"None like {chance(most)} of the examples was verified{named}: {decides} what their true classes are."


def unverified(sample: VerifiedSample) -> list[str]:
    """Return names of the levels, and of the classes that judge and systems give, of which no example is verified."""
    counts = sample.counts.values.reshape(-1, len(sample.votes))
    known = sample.verified.sum("actual").values.reshape(counts.shape)

    def names(codes: Codes, name: str, labels: Sequence[Any]) -> list[str]:
        into = np.eye(int(codes.max()) + 1, dtype=int)[codes]
        missing = ((counts @ into > 0) & (known @ into == 0)).any(0)
        return [f"{name} {labels[code]!r}" for code in np.flatnonzero(missing).tolist()]

    levels = names(sample.levels, "level", range(int(sample.levels.max()) + 1))
    votes = zip(sample.votes.T, sample.voters(), strict=True)
    return [*levels, *(each for codes, voter in votes for each in names(codes, str(voter), sample.labels))]
