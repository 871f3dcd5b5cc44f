"""Simulation studies: how the methods of this package do where the truth is known.

Every study takes parameters, runs its simulations in parallel, and returns an `xarray.Dataset` with every setting
in its ``attrs``. Means over simulations have Monte Carlo standard errors: ``coverage_mcse`` is that of ``coverage``.

With ``folder=`` finished simulations are kept there. An interrupted study continues from what is there, with the same
results; and the same study with more simulations adds those that are missing. A folder that holds a study with other
settings is refused. (`rate_coverage`, `f1_coverage` and `repeated_looks` are exact sums: they take `n_jobs` alone.)

Simulations run on joblib: ``n_jobs=4`` for processes of this machine, or whatever backend is set around the call. On a
Dask cluster, with ``pip install distributed`` there and here::

    import joblib
    from dask.distributed import Client

    with Client("scheduler:8786"), joblib.parallel_config(backend="dask"):
        study = bayesperf.studies.coverage(cells, "mcc", simulations=10_000)

On Ray it is ``ray.util.joblib.register_ray()`` and ``backend="ray"``; results then come all at once, at the end.
Each simulation has random numbers of its own, so the results are the same wherever it runs.
"""

from bayesperf.studies.agreement import agreement
from bayesperf.studies.areas import areas
from bayesperf.studies.attempts import attempts
from bayesperf.studies.bands import bands
from bayesperf.studies.best_of_many import best_of_many
from bayesperf.studies.class_areas import class_areas
from bayesperf.studies.clustered_areas import clustered_areas
from bayesperf.studies.clusters import clusters
from bayesperf.studies.coverage import binary_cells, coverage
from bayesperf.studies.cross_validation import cross_validation
from bayesperf.studies.decision_bands import decision_bands
from bayesperf.studies.dependence import dependence
from bayesperf.studies.epc_comparison import epc_comparison
from bayesperf.studies.expected_performance import expected_performance
from bayesperf.studies.f1_coverage import f1_coverage
from bayesperf.studies.many_classes import many_classes
from bayesperf.studies.pairing import pairing
from bayesperf.studies.predictive_spread import predictive_spread
from bayesperf.studies.rate_coverage import rate_coverage
from bayesperf.studies.recalibration import recalibration
from bayesperf.studies.reliability_bands import reliability_bands
from bayesperf.studies.repeated_looks import repeated_looks
from bayesperf.studies.repeated_splits import repeated_splits
from bayesperf.studies.resampled_clusters import resampled_clusters
from bayesperf.studies.sequential import sequential
from bayesperf.studies.simulation_based_calibration import simulation_based_calibration
from bayesperf.studies.sites import sites
from bayesperf.studies.slices import slices
from bayesperf.studies.thresholds import thresholds
from bayesperf.studies.verification import verification

__all__ = [
    "agreement",
    "areas",
    "attempts",
    "bands",
    "best_of_many",
    "binary_cells",
    "class_areas",
    "clustered_areas",
    "clusters",
    "coverage",
    "cross_validation",
    "decision_bands",
    "dependence",
    "epc_comparison",
    "expected_performance",
    "f1_coverage",
    "many_classes",
    "pairing",
    "predictive_spread",
    "rate_coverage",
    "recalibration",
    "reliability_bands",
    "repeated_looks",
    "repeated_splits",
    "resampled_clusters",
    "sequential",
    "simulation_based_calibration",
    "sites",
    "slices",
    "thresholds",
    "verification",
]


def __dir__() -> list[str]:
    return __all__
