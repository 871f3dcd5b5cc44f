"""Counts that the tests of several files look at, and counting by hand."""

import bayesperf as bp

CM = bp.ConfusionMatrix
PairedCM = bp.PairedConfusionMatrix


def table(cm):
    return cm.counts.values.tolist()
