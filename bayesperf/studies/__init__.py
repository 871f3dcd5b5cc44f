"""Simulation studies: how the methods of this package perform when the truth is known.

Every study takes parameters, runs its simulations in parallel, and returns an `xarray.Dataset` with every setting in
its ``attrs``. Means over simulations have Monte Carlo standard errors: ``coverage_mcse`` is the error of ``coverage``.

With ``folder=``, finished simulations are stored in that folder. An interrupted study continues from there, with the
same results; the same study with more simulations adds the missing ones. A folder that holds a study with other
settings is refused. (`rate_coverage` and `f1_coverage` are exact sums: they only take `n_jobs`.)

Simulations run on joblib: ``n_jobs=4`` uses processes of this machine, and a joblib backend set around the call is
used, too. On a Dask cluster, with ``pip install distributed`` there and here::

    import joblib
    from dask.distributed import Client

    with Client("scheduler:8786"), joblib.parallel_config(backend="dask"):
        study = bayesperf.studies.coverage(cells, "mcc", simulations=10_000)

On Ray, use ``ray.util.joblib.register_ray()`` and ``backend="ray"``; results then arrive all at once, at the end. Each
simulation has random numbers of its own, so the results are the same wherever it runs.
"""

from bayesperf.studies.calibrating_samplers import simulation_based_calibration
from bayesperf.studies.covering import binary_cells, coverage
from bayesperf.studies.covering_f1 import f1_coverage
from bayesperf.studies.covering_rates import rate_coverage
from bayesperf.studies.dependent_samples import dependence
from bayesperf.studies.sequences_of_looks import sequential
from bayesperf.studies.splitting import repeated_splits
from bayesperf.studies.spread_of_scores import predictive_spread

__all__ = [
    "binary_cells",
    "coverage",
    "dependence",
    "f1_coverage",
    "predictive_spread",
    "rate_coverage",
    "repeated_splits",
    "sequential",
    "simulation_based_calibration",
]


def __dir__() -> list[str]:
    return __all__
