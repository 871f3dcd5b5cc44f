"""Posterior distributions of the performance metrics of classifiers.

Start with ``bayesperf.posterior(y_true, y_pred).summary()``. Submodules are imported on first use, so
``import bayesperf`` is fast, and exact posteriors never load PyMC, ArviZ, Matplotlib or scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"
