"""Comparing systems: on counts, on the same examples, on folds and on several data sets."""
