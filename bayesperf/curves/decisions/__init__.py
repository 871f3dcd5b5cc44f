"""Decision curves: at which thresholds of probability a system is worth using."""
