"""Labels that are missing or wrong: a verified part with a judge of all examples, several raters, noisy labels.

`verify` handles systems with only some predictions verified, and `next_labels` says which examples to verify next.
`noise` handles labels that are wrong at a rate with a known prior, `noise_sensitivity` several such rates. `prevalence`
estimates the prevalence of unlabelled examples from calls with known errors. `truth` and `identifiability` describe
fits of ratings by several raters (`bayesperf.Ratings`).
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
