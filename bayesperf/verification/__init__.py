"""Labels that are missing, or wrong: verified samples with a judge of all.

`posterior` is of systems of which only some predictions were verified, and `next_labels` says which to verify next.
(What becomes of figures if labels are wrong at a rate known by a prior: `bayesperf.label_noise`.)
"""

from bayesperf.verification.next_labels import NextLabels, next_labels
from bayesperf.verification.posterior import VerifiedPosterior, posterior
from bayesperf.verification.sample import VerifiedSample

__all__ = ["NextLabels", "VerifiedPosterior", "VerifiedSample", "next_labels", "posterior"]


def __dir__() -> list[str]:
    return __all__
