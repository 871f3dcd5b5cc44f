"""Comparison of systems: from counts, on the same examples, over folds and over several data sets."""
