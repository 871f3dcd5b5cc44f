"""Fit the model of groups twice in one process, and print as JSON how long it took: a part of `budgets.py`.

The argument is the number of systems.
"""

import json
import sys
import time

import arviz_stats  # noqa: F401  (the accessor)
import numpy as np
import xarray as xr

import bayesperf as bp
from bayesperf.sampling import nuts

PARAMETERS = ["rates", "dispersion", "prevalence", "prevalence_mean", "prevalence_dispersion"]


def folds(rng: np.random.Generator, systems: int) -> bp.ConfusionMatrix:
    """Return systems × 10 folds of 20 positives and 36 negatives."""
    rate = np.linspace(0.8, 0.95, systems)[:, None]
    tp, tn = (xr.DataArray(rng.binomial(n, rate, (systems, 10)), dims=("model", "fold")) for n in (20, 36))
    return bp.ConfusionMatrix.from_counts(tp=tp, fn=20 - tp, fp=36 - tn, tn=tn)


def timed(cm: bp.ConfusionMatrix) -> tuple[float, float, xr.DataTree]:
    """Return seconds of a whole fit, of its sampling with what compiling it needs, and the fit."""
    sampled = []
    sample = nuts.sample

    def watched(*arguments, **settings):  # type: ignore[no-untyped-def]
        start = time.perf_counter()
        result = sample(*arguments, **settings)
        sampled.append(time.perf_counter() - start)
        return result

    nuts.sample = watched
    start = time.perf_counter()
    tree = bp.fit(cm, model="groups", random_seed=0, progressbar=False)
    whole = time.perf_counter() - start
    nuts.sample = sample
    return whole, sampled[0], tree


if __name__ == "__main__":
    rng, systems = np.random.default_rng(0), int(sys.argv[1])
    first, _, tree = timed(folds(rng, systems))
    again, sampling_again, _ = timed(folds(rng, systems))
    ess = tree["posterior"].to_dataset()[PARAMETERS].azstats.ess()
    print(json.dumps({
        "first": first,
        "again": again,
        "sampling_again": sampling_again,
        "ess": min(float(value.min()) for value in ess.data_vars.values()),
        "divergences": int(tree["sample_stats"]["diverging"].sum()),
    }))  # fmt: skip
