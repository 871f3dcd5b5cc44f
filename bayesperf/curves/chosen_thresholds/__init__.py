"""Thresholds that are chosen: one, or two between which people decide; judged by examples that did not choose them."""
