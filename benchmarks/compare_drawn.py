"""Compare a hundred systems in pairs by MCC, which is drawn; print the peak memory beyond the import as JSON."""

import json

import numpy as np
from peak_memory import peak_bytes

import bayesperf as bp


def main() -> None:
    """Measure in a process of its own, which holds nothing else."""
    counts = np.random.default_rng(0).integers(5, 200, (100, 2, 2))
    post = bp.posterior(bp.ConfusionMatrix.from_table(counts, dims=["model"]))
    before = peak_bytes()
    comparison = bp.compare(post, metric="mcc", rope=0.01)
    comparison.prob_better, comparison.prob_rope, comparison.expected_loss  # noqa: B018
    comparison.summary()
    print(json.dumps({"bytes": peak_bytes() - before}))


if __name__ == "__main__":
    main()
