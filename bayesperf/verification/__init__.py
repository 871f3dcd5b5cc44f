"""Labels that are missing or wrong: examples that nobody looked at, raters who err, labels with known noise."""

from bayesperf.verification.identifiability import identifiability
from bayesperf.verification.raters import truth

__all__ = ["identifiability", "truth"]


def __dir__() -> list[str]:
    return __all__
