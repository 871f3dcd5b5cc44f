"""Coverage of intervals for areas under ROC curves."""

import numpy as np
import pytest
from scipy import stats

from validation import areas, class_areas, clustered_areas
from validation.clustered_areas import clustered_scores

METHODS = ("bayesian_bootstrap", "delong", "delong_logit", "binormal", "pairs")
# Coverage (and width) of 95 % intervals for areas of .7, .8 and .95, 30 and 100 examples of either class, simulated by
# others with 300 data sets.
PEERS = {
    "delong_logit": {(0.7, 30): (0.947, 0.261), (0.7, 100): (0.933, 0.143), (0.8, 30): (0.963, 0.226),
                     (0.8, 100): (0.953, 0.122), (0.95, 30): (0.950, 0.114), (0.95, 100): (0.940, 0.058)},
    "bayesian_bootstrap": {(0.7, 30): (0.940, 0.255), (0.7, 100): (0.930, 0.141), (0.8, 30): (0.950, 0.217),
                           (0.8, 100): (0.933, 0.120), (0.95, 30): (0.910, 0.096), (0.95, 100): (0.947, 0.055)},
    "pairs": {(0.7, 30): (0.327, 0.059), (0.7, 100): (0.200, 0.018), (0.8, 30): (0.370, 0.052),
              (0.8, 100): (0.277, 0.016), (0.95, 30): (0.377, 0.028), (0.95, 100): (0.230, 0.009)},
}  # fmt: skip


def check_against_peers(study):
    for method, figures in PEERS.items():
        for (auc, n), (coverage, width) in figures.items():
            if auc in study["auc"] and n in study["n"]:
                found = study.sel(interval=method, auc=auc, n=n)
                error = np.sqrt(coverage * (1 - coverage) * (1 / study.attrs["simulations"] + 1 / 300))
                assert found["coverage"].item() == pytest.approx(coverage, abs=4 * error), (method, auc, n)
                assert found["width"].item() == pytest.approx(width, rel=0.04, abs=0.002), (method, auc, n)


def test_pairs_cover_in_a_third_of_data_sets_and_the_others_nearly_always():
    study = areas.areas((0.7, 0.95), 30, METHODS, simulations=200, draws=500)
    check_against_peers(study)
    assert (study["coverage"].sel(interval="pairs") < 0.5).all()
    assert (study["coverage"].sel(interval=["bayesian_bootstrap", "delong", "binormal"], auc=0.7) > 0.88).all()


@pytest.mark.slow
def test_coverage_of_every_method():
    study = areas.areas(n=(30, 50, 100, 500), methods=METHODS, simulations=500, draws=500)
    check_against_peers(study)
    for method in ("bayesian_bootstrap", "delong", "delong_logit", "binormal"):
        ordinary = study["coverage"].sel(interval=method, auc=[0.7, 0.8], n=[50, 500])
        error = 3 * np.sqrt(0.95 * 0.05 / 500)
        assert (ordinary > 0.92 - error).all(), method
        assert (ordinary < 0.97 + error).all(), method


def components(score, n):
    """DeLong's area and standard error, from all pairs: n positives come first."""
    wins = (score[:n, None] > score[n:]).astype(float)
    return wins.mean(), np.sqrt(wins.mean(1).var(ddof=1) / n + wins.mean(0).var(ddof=1) / n)


def test_figures_are_of_the_simulations_described():
    settings = {"simulations": 7, "spread": 1.5, "prob": 0.8, "random_seed": 5}
    study = areas.areas(0.75, [8, 12], ["delong"], **settings)
    z, covered, width = stats.norm.ppf(0.9), np.empty((7, 2)), np.empty((7, 2))
    for index in range(7):
        rng = np.random.default_rng([5, index])
        for j, n in enumerate((8, 12)):
            positive = rng.normal(np.sqrt(1 + 1.5**2) * stats.norm.ppf(0.75), 1.5, n)
            mean, sd = components(np.r_[positive, rng.normal(0, 1, n)], n)
            lower, upper = np.clip([mean - z * sd, mean + z * sd], 0, 1)
            covered[index, j], width[index, j] = lower <= 0.75 <= upper, upper - lower
    assert study["coverage"].dims == ("interval", "auc", "n")
    np.testing.assert_allclose(study["coverage"].squeeze(), covered.mean(0))
    np.testing.assert_allclose(study["coverage_mcse"].squeeze(), covered.std(0) / np.sqrt(7))
    np.testing.assert_allclose(study["width"].squeeze(), width.mean(0), rtol=1e-9)
    np.testing.assert_allclose(study["width_mcse"].squeeze(), width.std(0) / np.sqrt(7), rtol=1e-9)
    assert (
        settings | {"auc": [0.75], "n": [8, 12], "methods": ["delong"], "ci_kind": "eti"}
    ).items() <= study.attrs.items()


def test_where_classes_are_separate_the_logit_is_no_wider():
    study = areas.areas(0.999, 3, ["delong", "delong_logit"], simulations=10, random_seed=1)
    assert (study["width"] == 0).all()
    assert (study["coverage"] == 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"auc": (0.5, 1.0)}, "auc must be a number between 0 and 1"),
        ({"auc": []}, "auc must be one-dimensional and not empty"),
        ({"n": 1}, "n must be a whole number of at least 2"),
        ({"methods": ["delong", "hanley"]}, "methods must be one of 'bayesian_bootstrap', 'delong', 'delong_logit'"),
        ({"spread": 0}, "spread must be above 0 and finite"),
        ({"prob": 1}, "prob must be a number between 0 and 1"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        areas.areas(**options)


# ── Clusters and classes ──


def test_clustered_scores_have_the_areas_and_correlations_described():
    rng = np.random.default_rng(0)
    positive, negative, cluster = clustered_scores(4000, 0.5, (0.8, 0.7), 0.3, 0.3, 8, rng)
    n = positive.shape[1]
    for scores, auc in ((np.concatenate([positive[i], negative[i]]), auc) for i, auc in enumerate((0.8, 0.7))):
        # Clusters have a standard error of about 0.01 here.
        rank = stats.rankdata(scores)[:n].sum() - n * (n + 1) / 2
        assert rank / (n * negative.shape[1]) == pytest.approx(auc, abs=0.03)
        within = scores - np.sqrt(2) * stats.norm.ppf(auc) * (np.arange(len(scores)) < n)
        means = np.bincount(cluster, within) / np.bincount(cluster)
        sizes = np.bincount(cluster)
        assert within.var() == pytest.approx(1, abs=0.06)
        # The mean over a cluster of s examples has the variance ρ + (1 − ρ)/s.
        assert (means**2).mean() == pytest.approx((0.5 + 0.5 / sizes).mean(), abs=0.04)
    assert n / len(cluster) == pytest.approx(0.3, abs=0.03)


def test_clusters_cover_more_often_than_examples_taken_as_independent():
    study = clustered_areas.clustered_areas([40], [0.5], simulations=120, draws=300, progressbar=False)
    of_area = study.sel(target="area").squeeze()
    for clustered, independent in (("clusters", "independent"), ("obuchowski", "delong")):
        assert of_area["coverage"].sel(interval=clustered) > of_area["coverage"].sel(interval=independent) + 0.05
        assert of_area["width"].sel(interval=clustered) > of_area["width"].sel(interval=independent)


def test_averages_of_classes_cover():
    study = class_areas.class_areas([120], [1.0, 3.0], classes=4, population=100_000, simulations=60, draws=300)
    assert (study["coverage"] > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 60)).all()
    assert (study["truth"].sel(separation=3.0) > 0.99).all()


def test_areas_near_one_of_few_clusters_or_of_each_class_cover():
    """By weights of what was seen alone, 0.8 and 0.86."""
    clusters = clustered_areas.clustered_areas(
        [12], [0.5], auc=(0.95, 0.93), simulations=150, draws=300, progressbar=False
    )
    assert clusters["coverage"].sel(interval="clusters", target="area").item() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 150)
    classes = class_areas.class_areas([100], [2.0], population=100_000, simulations=60, draws=300, progressbar=False)
    assert classes["coverage"].sel(area="ovr_each").item() > 0.92
