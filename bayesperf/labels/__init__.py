"""Labels that are missing or wrong: a verified part with a judge of all, several raters, labels with noise.

`verify` is of systems of which only some predictions were verified, and `next_labels` says which to verify next.
`noise` is of labels that are wrong at a rate known by a prior, `noise_sensitivity` of several such rates. `prevalence`
is that of examples which nobody labelled, from calls whose errors are known. `truth` and `identifiability` are of fits
of ratings by several raters (`bayesperf.Ratings`).
"""

from bayesperf.labels.choosing_labels import NextLabels, next_labels
from bayesperf.labels.identifying import identifiability
from bayesperf.labels.noisy_labels import noise
from bayesperf.labels.prevalence_of_calls import prevalence
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.sensitivity_to_noise import noise_sensitivity
from bayesperf.labels.truth_by_raters import truth
from bayesperf.labels.verifying import Verified, verify

__all__ = [
    "NextLabels",
    "Verified",
    "VerifiedSample",
    "identifiability",
    "next_labels",
    "noise",
    "noise_sensitivity",
    "prevalence",
    "truth",
    "verify",
]


def __dir__() -> list[str]:
    return __all__
