"""Comparison of systems: from counts, on the same examples, over folds and over several data sets."""

import lazy_loader

# `bayesperf.folds` is lent to the top.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules={"folds"})
