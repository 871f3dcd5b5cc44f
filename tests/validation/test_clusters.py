"""Coverage of intervals over clusters, of metrics that depend on prevalence."""

import numpy as np
import pytest

from validation.clusters import STUDY, true_cells
from validation.study import run

pytestmark = pytest.mark.slow


def test_intervals_of_clusters_cover():
    """Prevalence, precision and F1 as well as recall, of the mean, of each cluster and of a new one."""
    study = run(STUDY, 60, draws=1000)
    coverage, error = study["coverage"], study["coverage_mcse"]
    # At single dispersions a prior of the dispersion can be somewhat too narrow or too wide, as in the study of sites.
    error = np.maximum(error, np.where(study["target"] == "mean", np.sqrt(0.95 * 0.05 / 60), 0)[:, None, None, None])
    assert (coverage > 0.92 - 3 * error).all()
    over = ("dispersion", "prevalence_dispersion")
    # Data sets of different dispersions are independent.
    assert (coverage.mean(over) > 0.95 - 3 * np.sqrt((error**2).mean(over) / 4)).all()
    # Intervals say something: they widen with what they are of.
    assert (study["width"].sel(target="mean") < study["width"].sel(target="new_group")).all()
    precision = study["width"].sel(metric="precision", target=["mean", "new_group"])
    assert (precision.diff("prevalence_dispersion") > 0).all()


def test_clusters_are_drawn_about_their_means():
    means = {"prevalence": 0.3, "recall": 0.8, "specificity": 0.9}
    n = 40_000
    cells = true_cells({"dispersion": [0.02, 0.2], "prevalence_dispersion": [0.4]}, means, n, np.random.default_rng(1))
    assert cells.dims == ("dispersion", "prevalence_dispersion", "site", "actual", "predicted")
    rows = cells.sum("predicted")
    rates = {
        "prevalence": (rows.sel(actual=1), 0.4),
        "recall": (cells.sel(actual=1, predicted=1) / rows.sel(actual=1), cells["dispersion"]),
        "specificity": (cells.sel(actual=0, predicted=0) / rows.sel(actual=0), cells["dispersion"]),
    }
    for name, (values, rho) in rates.items():
        mean, variance = means[name], rho * means[name] * (1 - means[name])
        assert (abs(values.mean("site") - mean) < 5 * np.sqrt(variance / n)).all(), name
        square = (values - mean) ** 2
        assert (abs(square.mean("site") - variance) < 5 * square.std("site") / np.sqrt(n)).all(), name
