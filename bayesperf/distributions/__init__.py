"""Arrays of one-dimensional distributions with common methods: cdf, pdf, quantiles, moments, intervals and draws."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from bayesperf.distributions import differences as differences
    from bayesperf.distributions import normal as normal

# Lent when a name of theirs is used: one system alone has no differences, and no area.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules={"differences", "normal"})
