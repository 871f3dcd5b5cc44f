"""Whether the verified examples were chosen by what a system's own figures take no notice of."""

from __future__ import annotations

import warnings

import numpy as np

from bayesperf.core.errors import PACKAGE, SelectionWarning
from bayesperf.data.joint_outcomes import distinct_outcomes
from bayesperf.labels.sample import VerifiedSample

# Standard errors from which on it is said that examples on which systems differ were chosen.
_CHOSEN = 4


def warn_of_selection(sample: VerifiedSample) -> None:
    """Warn if examples on which the systems differ were verified more, or less, often than others like them.

    A system's own strata do not tell these apart. The test is that of Mantel & Haenszel over its strata.
    """
    differ = (sample.votes[:, list(sample.positions)] != sample.votes[:, [sample.positions[0]]]).any(1)
    if not differ.any():
        return
    counts = sample.counts.values.reshape(-1, len(differ))
    verified = sample.verified.sum("actual").values.reshape(counts.shape)
    judge = range(sample.has_judge)
    for system in sample.positions:
        which = distinct_outcomes(sample.levels, sample.votes[:, [*judge, system]], len(sample.labels))[1]
        into = np.eye(which.max() + 1)[which]
        n, known, apart, both = counts @ into, verified @ into, (counts * differ) @ into, (verified * differ) @ into
        share = known / np.maximum(n, 1)
        variance = share * (1 - share) * apart * (n - apart) / np.maximum(n - 1, 1)
        score = (both - share * apart).sum() / max(np.sqrt(variance.sum()), np.finfo(float).tiny)
        if abs(score) > _CHOSEN:
            warnings.warn(
                f"examples on which the systems differ were verified {'more' if score > 0 else 'less'} often than "
                "others that the judge and a system call the same, and the figures of each system by itself take no "
                "notice. Tell them apart: strata= whether the systems differ.",
                SelectionWarning,
                skip_file_prefixes=(PACKAGE,),
            )
            return
