"""Compare fifty systems pairwise by six metrics; print the time in seconds and the peak memory in bytes, as JSON."""

import json
import time

import numpy as np
from peak_memory import peak_bytes

import bayesperf as bp

METRICS = ("precision", "recall", "specificity", "accuracy", "jaccard", "f1")


def main() -> None:
    """Measure in a process of its own, which holds nothing else."""
    counts = np.random.default_rng(0).integers(1, 500, (50, 2, 2))
    post = bp.posterior(bp.ConfusionMatrix.from_table(counts, dims=["model"]))
    start = time.perf_counter()
    for metric in METRICS:
        comparison = bp.compare(post, metric=metric, rope=0.01)
        comparison.prob_greater, comparison.prob_rope, comparison.prob_best  # noqa: B018
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    print(json.dumps({"seconds": seconds, "bytes": peak}))


if __name__ == "__main__":
    main()
