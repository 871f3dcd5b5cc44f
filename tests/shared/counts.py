"""Short names for confusion matrices and their cells, for the tests of several files."""

import bayesperf as bp

CM = bp.ConfusionMatrix
PairedCM = bp.PairedConfusionMatrix


def table(cm):
    return cm.counts.values.tolist()
