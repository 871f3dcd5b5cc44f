"""PyMC models of confusion matrices, one file a model."""
