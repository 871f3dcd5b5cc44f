"""Figures of marginals: densities with their intervals shaded, forests over leading dims.

No statistics in here: what is drawn comes from `Marginal`. Every function returns a Matplotlib figure.
"""

from bayesperf.plots._figures import density, forest, panel

__all__ = ["density", "forest", "panel"]
