"""The study of slices: ratios of errors, sizes that differ, and the simpler ways."""

import numpy as np
import pytest

import bayesperf as bp
from validation import slices
from validation.study import run

pytestmark = pytest.mark.slow

DESIGN = {name: value for name, value in slices.STUDY.settings.items() if name not in ("analyses", "small", "prob")} | {
    "site_sd": 0.0,
    "device_sd": 0.0,
}


def test_standard_errors_of_ratios_are_paired():
    """Against the standard deviation over many studies, each of 50 data sets."""
    rng = np.random.default_rng(1)
    shared = rng.gamma(4, size=(2000, 50))
    errors = np.stack([shared + rng.gamma(2, size=shared.shape), shared + 1], -1)[..., None]
    found = [slices._ratios(of_one) for of_one in errors]
    ratios, mcse = (
        np.array([each[name][1][0, 1, 0] for each in found]) for name in ("error_ratio", "error_ratio_mcse")
    )
    assert ratios.mean() == pytest.approx((4 + 2) / 5, rel=0.01)
    assert mcse.mean() == pytest.approx(ratios.std(), rel=0.05)


def test_sizes_differ_and_are_as_many_on_average():
    spreads = {}
    for imbalance in (0.0, 1.0):
        each = (slices.data_set(np.random.default_rng(seed), **DESIGN | {"imbalance": imbalance}) for seed in range(40))
        counts = np.array([cm.total.values for cm, _ in each])
        sites, means = counts.sum(-1), counts.mean((1, 2))
        assert means.mean() == pytest.approx(12, abs=4 * means.std() / np.sqrt(40) + 1 / 32)
        spreads[imbalance] = np.median(sites.max(1) / np.maximum(sites.min(1), 1))
    assert spreads[1.0] > 3 * spreads[0.0]


def test_one_site_is_worse():
    each = (slices.data_set(np.random.default_rng(seed), **DESIGN | {"worse": 0.3}) for seed in range(40))
    counts = np.array([cm.counts.sum("device").values for cm, _ in each])
    _, (fn, tp) = counts.sum(0).transpose(1, 2, 0)
    n = fn + tp
    np.testing.assert_array_less(abs(tp / n - np.r_[0.5, np.full(7, 0.8)]), 4 * 0.5 / np.sqrt(n))


def test_claims_are_those_of_the_sentences():
    """Alone and pooled are of priors that say nothing of a gap, or that there is none."""
    study = run(slices.STUDY, 40, analyses=["alone", "pooled", "by_site"], sites=4, devices=3)
    assert study["gap_shown"].sel(analysis="pooled").item() == 0
    assert study["prob_gap"].sel(analysis="pooled").item() == study["prior_gap"].sel(analysis="pooled").item() == 0
    assert 0.9 < study["prior_gap"].sel(analysis="alone").item() <= 1
    assert 0 < study["worst_named"].sel(analysis="by_site").item() < 1


def test_ways_without_the_model_of_slices():
    tp, fn = np.array([[8, 3], [2, 0]]), np.array([[2, 1], [4, 0]])
    cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=0, tn=0, dims={"site": [0, 1], "device": [0, 1]})
    means = {name: slices.ANALYSES[name](cm, 1)["recall"].mean().values for name in ("alone", "pooled", "by_site")}
    np.testing.assert_allclose(means["alone"], (tp + 0.5) / (tp + fn + 1), atol=0.03)
    np.testing.assert_allclose(means["pooled"], (tp.sum() + 0.5) / ((tp + fn).sum() + 1), atol=0.01)
    of_sites = bp.slices(cm.sum("device"), random_seed=1)["recall"].mean().values
    np.testing.assert_allclose(means["by_site"], np.stack([of_sites, of_sites], -1), atol=0.02)
