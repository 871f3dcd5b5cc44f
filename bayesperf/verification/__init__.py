"""Labels that are missing, or wrong: verified samples with a judge of all.

`posterior` is of systems of which only some predictions were verified.
"""

from bayesperf.verification.posterior import VerifiedPosterior, posterior
from bayesperf.verification.sample import VerifiedSample

__all__ = ["VerifiedPosterior", "VerifiedSample", "posterior"]


def __dir__() -> list[str]:
    return __all__
