"""The study of slices: ratios of errors, sizes that differ, and the simpler ways."""

import itertools
from importlib import import_module

import numpy as np
import pytest

import bayesperf as bp
from validation import slices

# The package has a function of that name too.
slices = import_module("validation.slices")


NOTHING_VARIES = {
    "site_sd": 0.0, "device_sd": 0.0, "interaction_sd": 0.0, "worse": 0.0, "imbalance": 0.0, "sites": 8, "devices": 4,
    "recall": 0.8, "examples": 12.0, "small": 25, "prob": 0.95, "analyses": ["record"],
}  # fmt: skip


@pytest.fixture(scope="module")
def study():
    return slices.slices(analyses=["alone", "pooled", "by_site"], simulations=40, sites=4, devices=3)


def test_ratios_of_errors(study):
    names = study["analysis"].values
    assert list(names) == ["alone", "pooled", "by_site"]
    for one, other in itertools.product(names, names):
        ratio = study["error_ratio"].sel(analysis=one, analysis_other=other)
        errors = study["error"].sel(analysis=one), study["error"].sel(analysis=other)
        np.testing.assert_allclose(ratio.sel(target="slice"), (errors[0] / errors[1]).sel(target="slice"))
        if one == other:
            assert (study["error_ratio_mcse"].sel(analysis=one, analysis_other=other) == 0).all()


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
    totals, spreads = {}, {}
    for imbalance in (0.0, 1.0):
        settings = NOTHING_VARIES | {"imbalance": imbalance}
        counts = []

        def record(cm, _, counts=counts):
            counts.append(cm.total.values)
            return slices._pooled(cm, 0)

        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(slices.ANALYSES, "record", record)
            for seed in range(40):
                slices._simulate(settings, 0, np.random.default_rng(seed))
        sites = np.array(counts).sum(-1)
        totals[imbalance], spreads[imbalance] = (
            np.array(counts).mean((1, 2)),
            (sites.max(1) / np.maximum(sites.min(1), 1)),
        )
    for values in totals.values():
        assert values.mean() == pytest.approx(12, abs=4 * values.std() / np.sqrt(40) + 1 / 32)
    assert np.median(spreads[1.0]) > 3 * np.median(spreads[0.0])


def test_one_site_is_worse():
    counts = []

    def record(cm, _):
        counts.append(cm.counts.sum("device").values)
        return slices._pooled(cm, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(slices.ANALYSES, "record", record)
        for seed in range(40):
            slices._simulate(NOTHING_VARIES | {"worse": 0.3}, 0, np.random.default_rng(seed))
    _, (fn, tp) = np.array(counts).sum(0).transpose(1, 2, 0)
    n = fn + tp
    np.testing.assert_array_less(abs(tp / n - np.r_[0.5, np.full(7, 0.8)]), 4 * 0.5 / np.sqrt(n))
    with pytest.raises(ValueError, match=r"worse must be below recall, 0\.8; it is 0\.9"):
        slices.slices(worse=0.9)


def test_claims_are_those_of_the_sentences(study):
    """Alone and pooled are of priors that say nothing of a gap, or that there is none."""
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
