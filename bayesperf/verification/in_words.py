"""Posteriors of partly verified samples in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesperf.core.words import chance, metric_title
from bayesperf.metrics.metric import Metric
from bayesperf.verification.sample import VerifiedSample

if TYPE_CHECKING:
    from bayesperf.verification.posterior import VerifiedPosterior

# A share of the examples from which on it is said that what is known of them is the prior's.
UNKNOWN_COUNTS = 0.01


def verified_in_words(sample: VerifiedSample) -> str:
    """Return a sentence on how many examples are verified."""
    known, n = int(sample.verified.sum()), int(sample.counts.sum())
    of = f" of {sample.counts.size // len(sample.votes)} groups" if sample.counts.ndim > 1 else ""
    return f"Of {n:,} examples{of} {known:,} are verified."


def worth_in_words(post: VerifiedPosterior, metric: Metric) -> list[str]:
    """Return sentences: what the examples that are not verified add, of what nothing is known, and what is assumed."""
    sample, said = post.sample, []
    if not post.dims and post.prevalence == "observed":
        known, worth = int(sample.verified.sum()), float(post.effective_number(metric))
        source = "What the judge says" if sample.has_judge else "What is predicted for the others"
        if worth >= known:
            said.append(
                f"{source} makes {metric_title(metric.name)} as certain as about {worth:,.0f} verified by chance would "
                "alone."
            )
        else:
            said.append(
                f"For {metric_title(metric.name)} they say as much as about {worth:,.0f} verified by chance would."
            )
    if (most := float(post.unknown.max())) >= UNKNOWN_COUNTS:
        said.append(f"What {chance(most)} of the examples are the prior alone says: none like them is verified.")
    alike = "the judge and the system call" if sample.has_judge else "the system calls"
    rest = ", in each level of strata" if sample.levels.any() else ""
    return [*said, f"Assumed is that the verified were chosen by chance among those that {alike} the same{rest}."]
