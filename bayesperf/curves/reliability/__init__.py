"""Reliability curves: how often it happens when the system says so, and whether its probabilities can be trusted."""
