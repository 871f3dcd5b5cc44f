"""Decisions: at which thresholds a system is worth using, and thresholds that are chosen, one or two."""
