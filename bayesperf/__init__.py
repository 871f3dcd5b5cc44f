"""Posterior distributions of the performance metrics of classifiers.

Start with ``bayesperf.posterior(y_true, y_pred).summary()``. Everything is imported on first use, so that
``import bayesperf`` costs nothing and the exact route never loads PyMC, ArviZ, Matplotlib or scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
