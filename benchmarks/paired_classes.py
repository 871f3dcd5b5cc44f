"""Compare two systems of a thousand classes on the same examples; print CPU times and the peak memory as JSON."""

import json
import time

import numpy as np
from peak_memory import peak_bytes

import bayesperf as bp


def counts(classes: int, examples: int) -> bp.ConfusionMatrix:
    """Return counts of two systems that are right of four fifths of the examples."""
    rng = np.random.default_rng(0)
    actual = rng.integers(classes, size=examples)
    calls = [
        np.where(rng.random(examples) < right, actual, rng.integers(classes, size=examples)) for right in (0.8, 0.78)
    ]
    by, example = {"model": np.repeat(["a", "b"], examples)}, np.tile(np.arange(examples), 2)
    return bp.ConfusionMatrix.from_predictions(np.tile(actual, 2), np.concatenate(calls), by=by, example=example)


def main() -> None:
    """Measure in a process of its own, which holds nothing else."""
    bp.compare(counts(3, 100), metric="f1_macro").summary()  # What is imported once.
    cm, times = counts(1000, 50_000), {}
    for name, metric in {"accuracy": "accuracy", "macro": "f1_macro"}.items():
        start = time.process_time()
        bp.compare(cm, metric=metric).summary()
        times[name] = time.process_time() - start
    print(json.dumps({**times, "bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
