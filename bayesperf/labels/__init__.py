"""Labels that are missing or wrong: a verified part with a judge of all, several raters, labels with noise.

`posterior` is of systems of which only some predictions were verified, and `next_labels` says which to verify next.
`truth` and `identifiability` are of fits of ratings by several raters (`bayesperf.Ratings`). What becomes of figures if
labels are wrong at a rate known by a prior says `bayesperf.label_noise`.
"""

from bayesperf.labels.choosing_labels import NextLabels, next_labels
from bayesperf.labels.identifying import identifiability
from bayesperf.labels.raters import truth
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.verifying import Verified, posterior

__all__ = [
    "NextLabels",
    "Verified",
    "VerifiedSample",
    "identifiability",
    "next_labels",
    "posterior",
    "truth",
]


def __dir__() -> list[str]:
    return __all__
