"""Counts: columns of labels, tables, data frames and scores become confusion matrices."""
