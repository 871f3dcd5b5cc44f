"""Summarise a matrix of many classes; print the CPU time in seconds and the peak memory in bytes, as JSON.

``python benchmarks/many_classes.py K``: the default summary, then the highest-density interval of the F1 of each
class.
"""

import json
import sys
import time

import numpy as np
from peak_memory import peak_bytes

import bayesperf as bp


def matrix(classes: int, examples: int = 20) -> bp.ConfusionMatrix:
    """Return counts of about so many examples a class, four fifths of them right, the rest mostly taken for a few."""
    rng = np.random.default_rng(0)
    actual = np.repeat(np.arange(classes), rng.poisson(examples, classes) + 1)
    mistaken = rng.choice(classes, actual.size, p=rng.dirichlet(np.full(classes, 0.5)))
    predicted = np.where(rng.random(actual.size) < 0.8, actual, mistaken)
    return bp.ConfusionMatrix.from_predictions(actual, predicted, labels=range(classes))


def main(classes: int) -> None:
    """Measure in a process of its own, which holds nothing else."""
    bp.posterior(matrix(4)).summary()  # What is imported once.
    cm = matrix(classes)
    start = time.process_time()
    bp.posterior(cm).summary()
    summary = time.process_time() - start
    start = time.process_time()
    bp.posterior(cm)["f1_per_class"].hdi()
    per_class = time.process_time() - start
    print(json.dumps({"summary": summary, "per_class": per_class, "bytes": peak_bytes()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
