"""PyMC models fitted by a sampler, into ArviZ trees."""
