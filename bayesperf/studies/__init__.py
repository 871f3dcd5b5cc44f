"""Simulation studies: how the methods of this package do where the truth is known.

Every study takes parameters, runs its simulations in parallel, and returns an `xarray.Dataset` with every setting
in its ``attrs``. With ``folder=`` finished simulations are kept there, so that an interrupted study goes on where it
stopped and ends with the same figures. (`rate_coverage` and `f1_coverage` are exact sums: they take `n_jobs` alone.)

Simulations run on joblib: ``n_jobs=4`` for processes of this machine, or whatever backend is set around the call. On a
Dask cluster, with ``pip install distributed`` there and here::

    import joblib
    from dask.distributed import Client

    with Client("scheduler:8786"), joblib.parallel_config(backend="dask"):
        study = bayesperf.studies.coverage(cells, "mcc", simulations=10_000)

On Ray it is ``ray.util.joblib.register_ray()`` and ``backend="ray"``; results then come all at once, at the end.
Each simulation has a stream of random numbers of its own, so the figures are the same wherever it runs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
