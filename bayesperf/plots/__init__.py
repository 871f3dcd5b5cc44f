"""Figures: densities and forests of marginals, shrinkage of groups, dependence of samples, calibration of samplers.

No statistics in here: what is drawn is computed elsewhere. Every function returns a Matplotlib figure.
"""

from bayesperf.plots._calibration import calibration
from bayesperf.plots._figures import density, forest, panel
from bayesperf.plots._sequences import autocorrelation
from bayesperf.plots._shrinkage import shrinkage

__all__ = ["autocorrelation", "calibration", "density", "forest", "panel", "shrinkage"]
