"""Posterior distributions of the cells of a confusion matrix and of metrics computed from them."""

from bayesperf.posteriors import prior as prior
