"""Figures of marginals: densities with their intervals shaded, forests over leading dims.

No statistics in here: what is drawn comes from `Marginal`. Every function returns a Matplotlib figure.
"""

from bayesperf.plots._figures import density, forest, panel
from bayesperf.plots._sequences import autocorrelation
from bayesperf.plots._shrinkage import shrinkage

__all__ = ["autocorrelation", "density", "forest", "panel", "shrinkage"]
