"""Simulations that prove our own methods, and write the tables of coverage."""
