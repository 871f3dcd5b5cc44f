"""What is said of a partly verified sample: sentences on what its figures rest on, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesperf.core.arrays import Codes
from bayesperf.core.errors import PriorWarning, SelectionWarning, warn
from bayesperf.core.words import chance, metric_title, plural
from bayesperf.data.response_patterns import distinct_patterns
from bayesperf.labels.cells import resolved
from bayesperf.labels.sample import VerifiedSample
from bayesperf.metrics.metric import Metric

if TYPE_CHECKING:
    from bayesperf.labels.verifying import Verified

# From this proportion of the examples, and this number of names, on, the text says that no such example was verified.
_UNKNOWN_COUNTS, _NAMED = 0.01, 5
_ONE_JUDGE = "pair of labels from judge and system"
# Standard errors from which on it is said that examples on which systems differ were chosen.
_CHOSEN = 4


def verified_in_words(sample: VerifiedSample) -> str:
    """Return a sentence on how many examples are verified."""
    known, n = int(sample.verified.sum()), int(sample.counts.sum())
    of = f" of {sample.counts.size // len(sample.votes)} groups" if sample.counts.ndim > 1 else ""
    of += "" if sample.clusters is None else f" in {sample.clusters.size:,} {plural(sample.clusters.name)}"
    return f"{known:,} of {n:,} examples{of} are verified."


def worth_in_words(source: Verified, metric: Metric) -> list[str]:
    """Return sentences on the gain from unverified examples, on what is unknown, and on the assumption."""
    sample, said = source.sample, []
    if source.template.ndim == 2 and not source.reweighted:
        known, worth = int(sample.verified.sum()), float(source.effective_number(metric))
        origin = ("What is predicted for the others makes", "What the judge says makes", "What the judges say makes")
        examples = "examples" if sample.clusters is None else "independent examples"
        if worth >= known:
            said.append(
                f"{origin[min(len(sample.judges), 2)]} {metric_title(metric.name)} as certain as about {worth:,.0f} "
                f"{examples} verified at random would by themselves."
            )
        else:
            number = f"about {worth:,.0f} {examples} verified at random"
            said.append(f"For {metric_title(metric.name)} they say as much as {number} would.")
    said += filter(None, [unknown_in_words(source)])
    alike = "label from the system"
    if sample.judges:
        scores, several = " or bins of a score" * any(sample.cuts), len(sample.judges) > 1
        alike = f"labels{scores} from judge{'s' * several} and system" if several or scores else _ONE_JUDGE
    rest = " and in each level of strata" if sample.levels.any() else ""
    return [
        *said,
        f"This assumes that, among examples with the same {alike}{rest}, the verified were chosen at random.",
    ]


def unknown_in_words(source: Verified) -> str:
    """Return a sentence on examples with no verified one like them; empty if they are few and nameless."""
    most, names = float(source.unknown.max()), unverified(source.sample)
    if most < _UNKNOWN_COUNTS and not names:
        return ""
    named = f" ({', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)})" if names else ""
    decides = "the prior alone says"
    if resolved(source.prior, source.sample).shared_by_classes:
        decides = "what was found elsewhere, carried over by the model, says"
    return f"None like {chance(most)} of the examples was verified{named}: {decides} what their true classes are."


def unverified(sample: VerifiedSample) -> list[str]:
    """Return the levels, and the classes that judge and systems give, without a verified example."""
    counts = sample.counts.values.reshape(-1, len(sample.votes))
    known = sample.verified.sum("actual").values.reshape(counts.shape)

    def names(codes: Codes, name: str, labels: Sequence[Any]) -> list[str]:
        into = np.eye(int(codes.max()) + 1, dtype=int)[codes]
        missing = ((counts @ into > 0) & (known @ into == 0)).any(0)
        return [f"{name} {labels[code]!r}" for code in np.flatnonzero(missing).tolist()]

    levels = names(sample.levels, "level", range(int(sample.levels.max()) + 1))
    votes = [(codes, str(name), sample.answers(vote))
             for vote, (codes, name) in enumerate(zip(sample.votes.T, sample.voters(), strict=True))]  # fmt: skip
    return [*levels, *(each for vote in votes for each in names(*vote))]


# ── Warnings ──


def warn_of_unknown(source: Verified) -> None:
    """Warn if examples have no verified one like them."""
    if said := unknown_in_words(source):
        warn(PriorWarning, "BP204", f"{said} Verify some of them; `source.strata()` of the posterior lists them.")


def warn_of_selection(sample: VerifiedSample) -> None:
    """Warn if examples on which the systems differ were verified more, or less, often than similar ones.

    A system's own strata do not distinguish these. The test is the Mantel–Haenszel test over its strata.
    """
    differ = (sample.votes[:, list(sample.positions)] != sample.votes[:, [sample.positions[0]]]).any(1)
    if not differ.any():
        return
    counts = sample.counts.values.reshape(-1, len(differ))
    verified = sample.verified.sum("actual").values.reshape(counts.shape)
    judge, most = range(len(sample.judges)), int(sample.votes.max()) + 1
    for system in sample.positions:
        which = distinct_patterns(sample.levels, sample.votes[:, [*judge, system]], most)[1]
        into = np.eye(which.max() + 1)[which]
        n, known, apart, both = counts @ into, verified @ into, (counts * differ) @ into, (verified * differ) @ into
        share = known / np.maximum(n, 1)
        variance = share * (1 - share) * apart * (n - apart) / np.maximum(n - 1, 1)
        score = (both - share * apart).sum() / max(np.sqrt(variance.sum()), np.finfo(float).tiny)
        if abs(score) > _CHOSEN:
            warn(
                SelectionWarning,
                "BP601",
                f"examples on which the systems differ were verified {'more' if score > 0 else 'less'} often than "
                "others that the judge and a system call the same, and the figures of each system by itself take no "
                "notice. Tell them apart: strata= whether the systems differ.",
            )
            return
