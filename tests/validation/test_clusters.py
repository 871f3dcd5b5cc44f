"""Coverage of intervals over clusters, of metrics that depend on prevalence."""

import numpy as np
import pytest

import bayesperf as bp
from validation import clusters
from validation.clusters import true_cells


@pytest.mark.slow
def test_intervals_of_clusters_cover():
    """Prevalence, precision and F1 as well as recall, of the mean, of each cluster and of a new one."""
    study = clusters.clusters(simulations=60, draws=1000)
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


@pytest.mark.filterwarnings("ignore::bayesperf.PriorWarning")
def test_outcomes_are_those_of_pool():
    """One data set, drawn again and pooled by hand."""
    settings = {"dispersion": [0.1], "prevalence_dispersion": [0.3]}
    study = clusters.clusters(**settings, metrics=["precision"], n_groups=4, group_size=30, simulations=2, draws=200)
    lower, upper, truth = [], [], []
    for index in range(2):
        rng = np.random.default_rng([0, index])
        means = {"prevalence": 0.3, "recall": 0.85, "specificity": 0.9}
        cells = true_cells(settings, means, 54, rng).isel(dispersion=0, prevalence_dispersion=0)
        counts = rng.multinomial(30, cells.values[:4].reshape(4, 4)).reshape(1, 1, 4, 2, 2)
        cm = bp.ConfusionMatrix.from_table(counts, dims={**settings, "site": range(4)})
        seed = int(rng.integers(2**31))
        interval = bp.pool(cm, "site", "clusters", draws=200, random_seed=seed).groups["precision"].eti().values[0, 0]
        lower, upper = [*lower, *interval[:, 0]], [*upper, *interval[:, 1]]
        truth += (cells.values[:4, 1, 1] / cells.values[:4, :, 1].sum(-1)).tolist()
    found = study.isel(dispersion=0, prevalence_dispersion=0).sel(target="groups", metric="precision")
    lower, upper, truth = np.array([lower, upper, truth])
    assert found["coverage"].item() == pytest.approx(((lower <= truth) & (truth <= upper)).mean())
    assert found["lower_miss"].item() == pytest.approx((truth < lower).mean())
    assert found["width"].item() == pytest.approx((upper - lower).mean())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dispersion": []}, "dispersion must name a dispersion, or several; it is empty"),
        ({"prevalence_dispersion": [0]}, "prevalence_dispersion must be a number between 0 and 1"),
        ({"prevalence": 1}, "prevalence must be a number between 0 and 1"),
        ({"n_groups": 0}, "n_groups must be a whole number of at least 1"),
        ({"group_size": 0}, "group_size must be a whole number of at least 1"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
        ({"simulations": 1}, "simulations must be a whole number of at least 2"),
        ({"metrics": ["recall_per_class"]}, "recall_per_class"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        clusters.clusters(**options)
