"""Posterior distributions of the cells of a confusion matrix, and of the metrics of them."""
