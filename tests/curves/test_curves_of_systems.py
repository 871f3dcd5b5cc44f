"""Curves of several systems on the same examples: each is as it is alone, and their differences are paired."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf.curves.roc import curve_draws
from tests.shared.curves import CURVES

RNG = np.random.default_rng(4)
Y = RNG.permutation(np.repeat([0, 1], [180, 120]))
SHARED = RNG.normal(size=300)
A = 1.4 * Y + SHARED + 0.6 * RNG.normal(size=300)
B = 1.1 * Y + SHARED + 0.6 * RNG.normal(size=300)
SYSTEMS = {"a": A, "b": np.round(B + 5, 1)}
CLUSTER = RNG.permutation(np.repeat(np.arange(30), 10))
DRAWS = 4000
ways = pytest.mark.parametrize("options", [{}, {"cluster": CLUSTER}], ids=["", "clusters"])


def two(make=bp.roc_curve, **options):
    return make(Y, SYSTEMS, **{"draws": 200} | options)


# ── Each system ──


@pytest.mark.parametrize("options", [{}, {"method": "beta"}, {"cluster": CLUSTER}], ids=["", "beta", "clusters"])
@pytest.mark.parametrize("make", CURVES)
def test_a_system_of_several_has_the_figures_that_it_has_alone(make, options):
    curves = two(make, **options)
    for name, score in SYSTEMS.items():
        one, alone = curves.sel(model=name), make(Y, score, draws=200, **options)
        for figures in ("dataset", "band", "joint_draws", "in_words"):
            xr.testing.assert_identical(
                *(xr.Dataset(attrs={"words": f()}) if figures == "in_words" else f() if callable(f) else f
                  for f in (getattr(curve, figures) for curve in (one, alone)))
            )  # fmt: skip
        points = alone.dataset["threshold"].values
        xr.testing.assert_equal(curves.dataset.sel(model=name, threshold=points).drop_vars("model"), alone.dataset)
        xr.testing.assert_equal(curves.at(0.5).sel(model=name).drop_vars("model"), alone.at(0.5))


@pytest.mark.few(2)
@ways
@pytest.mark.parametrize("make", CURVES)
def test_together_they_differ_from_it_by_the_monte_carlo_error(make, options):
    curves = two(make, draws=DRAWS, **options)
    for name, score in SYSTEMS.items():
        ours, alone = (
            curve.joint_draws()[curve.curve_kind.y]
            for curve in (curves, make(Y, score, draws=DRAWS, random_seed=1, **options))
        )
        ours, sd = ours.sel(model=name), alone.std("draw").values
        error = sd / np.sqrt(DRAWS / 2)
        np.testing.assert_array_less(np.abs(ours.mean("draw") - alone.mean("draw")), 4.5 * error + 1e-9)
        # The relative standard error of a standard deviation is greater where the rate is near 0 or 1.
        middle = slice(20, -20)
        np.testing.assert_allclose(ours.std("draw")[middle], sd[middle], rtol=0.12)


def test_clusters_have_the_weights_that_they_have_alone():
    """Only the unseen part of a class has other weights, unless systems order the examples alike."""
    together = two(cluster=CLUSTER).joint_draws()["recall"].sel(fpr=0.3)
    for name, score in SYSTEMS.items():
        alone = bp.roc_curve(Y, score, cluster=CLUSTER, draws=200).joint_draws()["recall"].sel(fpr=0.3)
        assert np.corrcoef(together.sel(model=name), alone)[0, 1] > 0.99


@ways
def test_systems_that_order_the_examples_alike_do_not_differ(options):
    curves = bp.roc_curve(Y, {"a": A, "b": B, "log-odds of a": np.exp(A)}, draws=100, **options)
    for drawn in (curves.joint_draws()["recall"], curves.operating_point(fpr=0.1)["recall"].joint_draws(100)):
        np.testing.assert_array_equal(drawn.sel(model="a"), drawn.sel(model="log-odds of a"))
        assert (drawn.sel(model="a") != drawn.sel(model="b")).mean() > 0.8
    # Of systems that separate the classes in different orders nobody knows that they are equally good.
    apart = bp.roc_curve(Y, {"a": A + 9 * Y, "b": B + 9 * Y}, draws=100, **options)
    assert bp.compare(apart.partial_area(0, 0.02)).difference.sd() > 0


# ── Paired differences ──


def delong(first, second):
    """DeLong's variance of the difference of two areas, by loops over pairs."""
    wins = [(s[Y == 1][:, None] > s[Y == 0]) + 0.5 * (s[Y == 1][:, None] == s[Y == 0]) for s in (first, second)]
    return sum((np.var(wins[0].mean(axis) - wins[1].mean(axis), ddof=1)) / wins[0].shape[1 - axis] for axis in (1, 0))


def test_areas_differ_as_widely_as_delong_says():
    curves = two(draws=DRAWS)
    difference = bp.compare(curves.area).difference
    # Four standard errors, and what gaps and examples differ by with 120 and 180 of the classes.
    assert difference.sd().item() == pytest.approx(
        np.sqrt(delong(*SYSTEMS.values())), rel=4 / np.sqrt(2 * DRAWS) + 0.02
    )
    same = bp.roc_auc(Y, SYSTEMS, draws=DRAWS)
    np.testing.assert_array_equal(curves.area.joint_draws(50), same.joint_draws(50))


def recall_at(score, weight, most):
    """Weighted recall at the lowest threshold whose weighted false positive rate is at most a number."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)
    fpr, recall = (np.cumsum(weight[order] * (Y[order] == k))[last] / weight[k == Y].sum() for k in (0, 1))
    return np.append(0, recall)[(fpr <= most).sum()]


@pytest.mark.slow
@ways
def test_recalls_at_a_false_positive_rate_differ_as_by_a_loop_of_weights(options):
    rng, expected = np.random.default_rng(7), []
    for _ in range(2000):
        weight = rng.gamma(28 / 30, size=30)[CLUSTER] if options else rng.standard_exponential(300)
        expected.append([recall_at(score, weight, 0.1) for score in SYSTEMS.values()])
    expected = np.diff(expected, axis=1)[:, 0]
    recalls = two(draws=DRAWS, **options).operating_point(fpr=0.1)["recall"]
    difference = bp.compare(recalls).difference
    # Four standard errors, and what interpolation between gaps adds to the steps of the loop.
    error = np.sqrt(1 / 2000 + 1 / DRAWS)
    assert difference.mean().item() == pytest.approx(-expected.mean(), abs=4 * expected.std() * error + 0.005)
    # The weights of gaps smooth a little.
    assert difference.sd().item() == pytest.approx(expected.std(), rel=4 * error / np.sqrt(2) + 0.05)
    one_by_one = np.hypot(*recalls.sd().values)
    assert difference.sd() < 0.9 * one_by_one


@ways
def test_parts_and_average_precisions_are_joint(options):
    curves = two(draws=1000, **options)
    part = bp.compare(curves.partial_area(0, 0.2)).difference
    same = bp.compare(bp.roc_auc(Y, SYSTEMS, fpr=(0, 0.2), draws=1000, **options)).difference
    assert part.mean().item() == pytest.approx(same.mean().item(), abs=4 * same.sd().item() * np.sqrt(2 / 1000) + 0.001)
    # Four standard errors of the ratio of two standard deviations.
    assert part.sd().item() == pytest.approx(same.sd().item(), rel=4 / np.sqrt(1000))
    xr.testing.assert_equal(curves.partial_area(0, 1).mean(), curves.area.mean())
    precision = two(bp.precision_recall_curve, draws=1000, **options).area
    assert precision.joint
    assert bp.compare(precision).difference.sd() < 0.9 * np.hypot(*precision.sd().values)


@pytest.mark.slow
def test_many_examples_in_groups_at_random(monkeypatch):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 3000)
    shared = rng.normal(size=6000)
    systems = {"a": y + shared + rng.normal(size=6000), "b": 1.1 * y + shared + rng.normal(size=6000)}
    each = bp.compare(bp.roc_curve(y, systems, draws=2000).partial_area(0, 0.5)).difference
    monkeypatch.setattr(curve_draws, "_MOST_UNITS", 500)
    grouped = bp.compare(bp.roc_curve(y, systems, draws=2000).partial_area(0, 0.5)).difference
    assert grouped.mean().item() != each.mean().item()
    assert grouped.mean().item() == pytest.approx(each.mean().item(), abs=4 * each.sd().item() * np.sqrt(2 / 2000))
    # Of 500 groups a variance has a relative standard error of √(2/500), of draws one of √(2/2,000).
    assert grouped.sd().item() == pytest.approx(each.sd().item(), rel=np.sqrt(2 / 500 + 2 * 2 / 2000))


def test_operating_points_of_all():
    point = two(method="beta").operating_point(cost=(1, 2))
    for name, score in SYSTEMS.items():
        alone = bp.roc_curve(Y, score, draws=200).operating_point(cost=(1, 2))
        for figure, marginal in point.items():
            assert marginal.observed.sel(model=name).item() == alone[figure].observed.item()
    assert point["recall"].estimand.endswith("by the examples that chose it")


# ── As a caller gives and sees them ──


def test_a_data_frame_and_one_system_by_its_name():
    frame = bp.roc_curve(Y, pd.DataFrame(SYSTEMS), draws=50)
    xr.testing.assert_identical(frame.band(), two(draws=50).band())
    (one,) = bp.roc_curve(Y, {"a": A}, draws=50).band()["recall"]
    xr.testing.assert_identical(one.drop_vars("model"), bp.roc_curve(Y, A, draws=50).band()["recall"])
    pair = bp.roc_curve(Y, {**SYSTEMS, "c": -A}, draws=50).sel(model=["a", "c"])
    assert pair.names == ["a", "c"]
    assert repr(pair) == (
        "<bayesperf.curves.ThresholdCurve: 2 systems, roc by bayesian_bootstrap, 120 positives, 180 negatives>"
    )


@pytest.mark.parametrize("make", CURVES)
def test_words_name_the_systems(make):
    curves = two(make)
    lines = curves.in_words().splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["a", "b"]
    assert lines[2].endswith(("would be 0.5.", "would be the share of positives, 0.400."))
    assert all(line.replace("'", "&#x27;") in curves._repr_html_() for line in lines)


@pytest.mark.parametrize("make", CURVES)
@pytest.mark.parametrize(
    ("y", "scores", "options", "words"),
    [
        ([0, 1, 1], {"a": [0.1, 0.4, np.nan], "b": [0.2, 0.1, 0.8]}, {}, "score of 'a' has 1 missing value"),
        ([0, 1, 1], {"a": [0.1, 0.4, 0.9], "b": [0.2, 0.1]}, {}, "y_true 3, score of 'a' 3, score of 'b' 2"),
        ([0, 1, 1], {"a": [0.1, 0.4, 0.9], "b": [0.2, np.inf, 1]}, {}, "score of 'b' holds inf"),
        ([0, 1, 1], {"a": [[0.1, 0.4, 0.9]]}, {}, "score of 'a' must be one-dimensional"),
        ([0, 1, 1], {}, {}, "y_score must map names of systems to their scores; it is empty"),
        ([0, 1, 1], {"a": [1, 2, 3]}, {"method": "binormal"}, "'binormal' is for one system, and y_score has sev"),
        ([0, 1, 1, 0], {"a": [1, 2, 3, 4]}, {"cluster": [1, 2]}, "y_true 4, cluster 2"),
    ],
)  # fmt: skip
def test_bad_systems(make, y, scores, options, words):
    with pytest.raises(ValueError, match=words):
        make(y, scores, **options)


def test_binned_scores_are_of_one_system():
    binned = bp.curves.BinnedScores.from_counts(positives=[0, 2], negatives=[2, 0], values=[0, 1])
    with pytest.raises(TypeError, match="y_score: BinnedScores hold classes and scores of their own"):
        bp.roc_curve(binned, {"a": [1, 2]})
