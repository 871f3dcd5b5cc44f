"""Bootstrap F1 of 10⁴ examples by BCa, here and in SciPy on labels; print what it takes, as JSON.

SciPy resamples an index array and, for the acceleration, leaves out each example in turn: an array of n × (n − 1). Both
of its parts grow in proportion to what is computed, so each is measured on a part of the work and scaled up: of 9,999
resamples as many as fit a batch, of 10⁴ leave-one-out samples some hundred. The statistic is vectorised; a call of
scikit-learn's `f1_score` a resample is slower still.
"""

import json
import time
import warnings

import numpy as np
from scipy import stats

import bayesperf as bp
from bayesperf import intervals

EXAMPLES, RESAMPLES = 10_000, 9_999
# Resamples and leave-one-out samples that are measured.
MEASURED = 200
CELLS = {"tn": 5_200, "fp": 700, "fn": 900, "tp": 3_200}


def f1_of_codes(codes: np.ndarray, axis: int) -> np.ndarray:
    """Return F1 of examples that are numbered by their cell: tn, fp, fn, tp."""
    tp, errors = (codes == 3).sum(axis), ((codes == 1) | (codes == 2)).sum(axis)
    return 2 * tp / (2 * tp + errors)


def seconds(work, repeats: int = 5) -> float:
    """Return the shortest time of some work."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure in a process of its own, which holds nothing else."""
    warnings.simplefilter("error")
    cm = bp.ConfusionMatrix.from_counts(**CELLS)
    codes = np.repeat(np.arange(4), list(CELLS.values()))
    ours = seconds(lambda: intervals.bootstrap(cm, "f1", method="bca", n_resamples=RESAMPLES, random_seed=0))

    def resample() -> None:
        stats.bootstrap(
            (codes,), f1_of_codes, n_resamples=MEASURED, method="percentile", vectorized=True, batch=MEASURED
        )

    def jackknife() -> None:
        # What scipy.stats._resampling._jackknife_resample does, for some of the examples.
        left = np.ones((MEASURED, EXAMPLES), dtype=bool)
        np.fill_diagonal(left, False)
        index = np.broadcast_to(np.arange(EXAMPLES), left.shape)[left].reshape(MEASURED, EXAMPLES - 1)
        f1_of_codes(codes[index], -1)

    of_resamples = seconds(resample, 3) * RESAMPLES / MEASURED
    of_jackknife = seconds(jackknife, 3) * EXAMPLES / MEASURED
    figures = {"ours": ours, "resamples": of_resamples, "jackknife": of_jackknife}
    print(json.dumps(figures | {"ratio": (of_resamples + of_jackknife) / ours}))


if __name__ == "__main__":
    main()
