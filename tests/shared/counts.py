"""Short names for confusion matrices and their cells, for the tests of several files."""

import bayesperf as bp

CM = bp.ConfusionMatrix


def table(cm):
    return cm.counts.values.tolist()


def pair_of(actual, first, second, names=("a", "b"), **options):
    """Return the matrix of two systems that judged the same examples."""
    return CM.from_predictions(actual, dict(zip(names, (first, second), strict=True)), **options)
