"""Studies on joblib's Dask backend."""

import joblib
import pytest
import xarray as xr

from bayesperf import studies


@pytest.mark.slow
# What Dask warns of (its own start-up, ports in use) is not the package's.
@pytest.mark.filterwarnings("default")
def test_a_study_on_a_dask_cluster_has_the_same_figures():
    distributed = pytest.importorskip("distributed")
    cells = studies.binary_cells(prevalence=0.5, recall=0.9, specificity=0.8)
    options = {"metric": "mcc", "n": 30, "methods": ["flat_hdi", "delta"], "simulations": 600, "draws": 50}
    here = studies.coverage(cells, **options)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, protocol="tcp://"
    )
    with cluster, distributed.Client(cluster) as client, joblib.parallel_config(backend="dask"):
        there = studies.coverage(cells, **options)
        ran = sum(len(log) for log in client.run(lambda dask_worker: list(dask_worker.state.log)).values())
    assert ran > 0
    xr.testing.assert_identical(there, here)
