"""Areas under ROC curves against pairs, exact moments and other packages; weighted scores against scikit-learn."""

import functools
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats
from sklearn import metrics as sklearn_metrics
from sklearn.linear_model import LogisticRegression

import bayesperf as bp
from bayesperf.core import weights
from bayesperf.curves.areas import bootstrapped_areas
from bayesperf.distributions.normal import LogitNormal, Normal
from tests.shared.areas import moments_with_unseen
from tests.shared.golden import cases, golden
from tests.shared.systems import areas_compared

mpl.use("Agg")

GOLDEN = golden("auc")
RNG = np.random.default_rng(5)
Y = RNG.permutation(np.repeat([0, 1], [25, 18]))
SCORE = RNG.normal(size=43) + Y
OTHER = SCORE + RNG.normal(size=43)
TIED = np.round(SCORE)
PROBABILITY = special.expit(SCORE)


def of_dataset(case):
    """Return the labels of a case, and one column of scores or several."""
    data, index = GOLDEN["datasets"][case["inputs"]["dataset"]], case["inputs"]["score_index"]
    columns = [data["scores"][i] for i in np.atleast_1d(index)]
    return data["y_true"], columns if np.ndim(index) else columns[0]


def by_pairs(y, score):
    """1 where the positive (row) is above the negative (column), ½ where they tie."""
    difference = score[y == 1][:, None] - score[y == 0]
    return (difference > 0) + 0.5 * (difference == 0)


def moments(wins):
    """Mean and standard deviation of Σ w_i v_j wins_ij, Dirichlet(1) both: E[w_i w_k] = (1 + [i = k])/n(n + 1)."""
    n, m = wins.shape
    rows, columns = wins.sum(1), wins.sum(0)
    total = wins.sum() ** 2 + (rows**2).sum() + (columns**2).sum() + (wins**2).sum()
    mean = wins.mean()
    return mean, np.sqrt(total / (n * (n + 1) * m * (m + 1)) - mean**2)


def moments_of_bootstrap(score, other=None):
    """The same of an area with half an example of either class unseen, or of the difference of two such."""
    wins = by_pairs(Y, score) if other is None else by_pairs(Y, score) - by_pairs(Y, other)
    mean, sd = moments(wins)
    return moments_with_unseen(mean, sd**2 + mean**2, *wins.shape, *([] if other is None else [(0.0, 1 / 6)]))


def is_within_error(marginal, mean, sd):
    """The mean within 4 standard errors; the standard deviation within 4 of its own, of kurtosis up to 5."""
    n = marginal.distribution.values.size
    assert marginal.mean().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(n))
    assert marginal.sd().item() == pytest.approx(sd, rel=4 * np.sqrt(1 / n))


# ── The Bayesian bootstrap ──


@pytest.mark.parametrize("score", [SCORE, TIED, np.round(SCORE / 3), SCORE + 1.5 * Y], ids=["", "tied", "few", "apart"])
def test_bootstrap_has_the_exact_moments(score):
    area = bp.roc_auc(Y, score, draws=20_000)
    is_within_error(area, *moments_of_bootstrap(score))
    assert area.observed.item() == pytest.approx(sklearn_metrics.roc_auc_score(Y, score))


@pytest.mark.parametrize("repeats", [1, 30], ids=["one by one", "by kinds"])
def test_bootstrap_has_the_distribution_of_dirichlet_weights(repeats):
    y, score = np.repeat([1, 0, 0, 1, 0], repeats), np.repeat([3.0, 2.0, 3.0, 1.0, 0.0], repeats)
    rng = np.random.default_rng(1)
    alphas = [np.r_[np.ones(k * repeats), 0.5] for k in (2, 3)]
    of_positive, of_negative = (rng.dirichlet(alpha, 5000) for alpha in alphas)
    seen = np.einsum("di,ij,dj->d", of_positive[:, :-1], by_pairs(y, score), of_negative[:, :-1])
    s, t = of_positive[:, -1], of_negative[:, -1]
    expected = seen + (1 - s) * t * rng.random(5000) + s * (1 - t) * rng.random(5000) + s * t / 2
    found = bp.roc_auc(y, score, draws=5000).joint_draws(5000).values
    assert stats.ks_2samp(found, expected).pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("positives", "negatives", "digits"), [(300, 9_800, 16), (10_000, 60, 1)], ids=["", "tied"])
def test_weights_of_bins_have_the_moments_of_those_of_examples(positives, negatives, digits):
    rng = np.random.default_rng(1)
    score = np.r_[rng.normal(1, 1, positives), rng.normal(0, 1, negatives)].round(digits)
    y = np.r_[np.ones(positives, int), np.zeros(negatives, int)]
    mean, sd = moments(by_pairs(y, score))
    expected = moments_with_unseen(mean, sd**2 + mean**2, positives, negatives)
    is_within_error(bp.roc_auc(y, score, draws=10_000), *expected)


def test_within_bins_pairs_are_in_order_as_often_as_in_the_sample(monkeypatch):
    """Seen in few bins: in many, hardly any pair is within one."""
    monkeypatch.setattr(bootstrapped_areas, "_BINS", 4)
    area = bp.roc_auc(Y, SCORE, draws=20_000)
    assert area.mean().item() == pytest.approx(moments_of_bootstrap(SCORE)[0], abs=4 * area.mcse().item())


def test_blocks_do_not_change_the_figures(monkeypatch):
    whole = bp.roc_auc(Y, SCORE, draws=300).joint_draws(300)
    weighted = bp.curves.weighted_score("brier", Y, PROBABILITY, draws=300).joint_draws(300)
    monkeypatch.setattr(weights, "_AT_ONCE", 100)
    xr.testing.assert_identical(bp.roc_auc(Y, SCORE, draws=300).joint_draws(300), whole)
    np.testing.assert_allclose(
        bp.curves.weighted_score("brier", Y, PROBABILITY, draws=300).joint_draws(300), weighted, rtol=1e-12
    )


@pytest.mark.parametrize("of", [bp.roc_auc, functools.partial(bp.curves.weighted_score, "brier")])
def test_seeds(of):
    first, again, other = (of(Y, PROBABILITY, draws=100, random_seed=seed) for seed in (1, 1, 2))
    assert first.mean() == again.mean()
    assert first.mean() != other.mean()
    from_generators = [of(Y, PROBABILITY, draws=100, random_seed=np.random.default_rng(3)).mean() for _ in range(2)]
    assert from_generators[0] == from_generators[1]
    assert of(Y, PROBABILITY, draws=100).joint_draws(150).sizes == {"draw": 150}
    assert (first.joint_draws(10, random_seed=4) == first.joint_draws(10, random_seed=4)).all()


def test_systems_do_not_share_random_numbers():
    """Of other examples; so alike in numbers, they would be nearly the same draws."""
    first, second = (np.random.default_rng(i).normal(size=400) + np.repeat([0, 1], 200) for i in (1, 2))
    draws = [bp.roc_auc(np.repeat([0, 1], 200), score, draws=2000).joint_draws(2000) for score in (first, second)]
    assert abs(np.corrcoef(draws)[0, 1]) < 0.1


@cases("auc", "boot_auc")
def test_bootstrap_is_near_the_percentile_bootstrap(case):
    y, score = of_dataset(case)
    peer = case["peers"]["percentile"]
    found = bp.roc_auc(y, score).eti().values
    np.testing.assert_allclose(found, [peer["mean_low"], peer["mean_high"]], atol=0.02)


# ── DeLong ──


def check_delong(area, reference):
    assert area.mean().item() == pytest.approx(reference["auc"], abs=1e-12)
    assert area.sd().item() ** 2 == pytest.approx(reference["variance"], rel=1e-10, abs=1e-15)
    for interval in (area.eti(), area.hdi()):
        np.testing.assert_allclose(interval, [reference["low_clipped"], reference["high_clipped"]], atol=1e-10)
    assert area.method == "normal"


@cases("auc", "auc_delong")
def test_golden_delong(case):
    y, score = of_dataset(case)
    delong = functools.partial(bp.roc_auc, y, score, method="delong")
    if "logit_ci" in case["reference"]:
        check_delong(delong(), case["reference"])
        interval = delong(transform="logit").eti()
        np.testing.assert_allclose(interval, case["reference"]["logit_ci"], atol=1e-10)
    else:
        with pytest.warns(UserWarning, match="the scores separate the classes, so the interval .* has no width"):
            check_delong(delong(), case["reference"])
        with pytest.raises(ValueError, match=r"transform='logit': the area is [01] with a variance of 0"):
            delong(transform="logit")


@cases("auc", "auc_paired")
def test_golden_paired_delong(case):
    y, scores = of_dataset(case)
    compare = functools.partial(areas_compared, y, *scores, method="delong")
    if "z" not in case["reference"]:
        with pytest.raises(ValueError, match="two examples of each class; there are 1 positive and 3 negative"):
            compare()
        return
    reference, difference = case["reference"], compare().difference
    assert difference.mean().item() == pytest.approx(reference["diff"], abs=1e-12)
    assert difference.sd().item() ** 2 == pytest.approx(reference["var_diff"], rel=1e-10, abs=1e-16)
    greater = compare().prob_greater.item()
    assert 2 * min(greater, 1 - greater) == pytest.approx(reference["p"], rel=1e-10)
    if reference["var_diff"]:
        assert (difference.mean() / difference.sd()).item() == pytest.approx(reference["z"], rel=1e-10)
        np.testing.assert_allclose(difference.eti(), reference["diff_ci"], atol=1e-10)
    else:
        np.testing.assert_array_equal(difference.eti(), [0, 0])


@pytest.mark.parametrize("score", [SCORE, TIED], ids=["", "tied"])
def test_delong_is_the_variance_of_the_structural_components(score):
    wins = by_pairs(Y, score)
    n, m = wins.shape
    area = bp.roc_auc(Y, score, method="delong")
    assert area.mean().item() == pytest.approx(wins.mean(), rel=1e-14)
    variance = wins.mean(1).var(ddof=1) / n + wins.mean(0).var(ddof=1) / m
    assert area.sd().item() == pytest.approx(np.sqrt(variance), rel=1e-13)


scores = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, np.inf]), min_size=2, max_size=12)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(positive=scores, negative=scores)
def test_area_is_that_of_mann_whitney(positive, negative):
    y, score = np.repeat([1, 0], [len(positive), len(negative)]), np.array(positive + negative)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = bp.roc_auc(y, score, method="delong").mean().item()
        pairs = bp.roc_auc(y, score, method="pairs").mean().item()
    ranks = np.unique(score, return_inverse=True)[1]
    expected = stats.mannwhitneyu(ranks[y == 1], ranks[y == 0]).statistic
    assert found == pytest.approx(expected / (len(positive) * len(negative)), abs=1e-14)
    assert pairs == pytest.approx((1 + expected) / (2 + len(positive) * len(negative)), rel=1e-14)


def test_draws_of_an_exact_area_are_of_its_distribution():
    area = bp.roc_auc(Y, SCORE, method="delong")
    found = area.joint_draws(20_000).values
    assert found.mean() == pytest.approx(area.mean().item(), abs=4 * area.sd().item() / np.sqrt(20_000))
    assert (found <= area.ppf(0.3).item()).mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 20_000))


# ── Pairs, and labels ──


@cases("auc", "mvtk-roc_auc_preprocess")
def test_golden_pairs(case):
    """The counts of pairs are right, and no trials: the interval is a fraction of the bootstrap's."""
    n, m = case["inputs"]["positives"], case["inputs"]["negatives"]
    # Positives among evenly spaced negatives, so many below each: the area wanted.
    below = np.tile([0.3, 0.7], n // 2) if case["inputs"]["roc_auc"] == 0.5 else np.tile([0.7, 0.9], n // 2)
    score = np.r_[np.arange(m), below * m - 0.5]
    y = np.repeat([0, 1], [m, n])
    with pytest.warns(bp.errors.DependenceWarning, match="pairs that share an example depend on each other"):
        area = bp.roc_auc(y, score, method="pairs")
    right, wrong = case["outputs"]["correct"], case["outputs"]["incorrect"]
    np.testing.assert_allclose(area.eti(), stats.beta(1 + right, 1 + wrong).interval(0.95), rtol=1e-9)
    assert np.diff(area.eti()) < 0.5 * np.diff(bp.roc_auc(y, score).eti())


@cases("auc", "mvtk-rank_auc")
def test_golden_area_of_ties(case):
    area = bp.roc_auc(case["inputs"]["y_true"], case["inputs"]["y_pred"], method="delong")
    assert area.mean().item() == pytest.approx(case["reference"], abs=1e-14)


@cases("auc", "credible")
def test_golden_area_and_not_the_band(case):
    """The peer's bounds are areas under a pointwise band: too wide."""
    area = bp.roc_auc(case["inputs"]["y_true"], case["inputs"]["y_score"])
    assert area.observed.item() == pytest.approx(case["reference"])
    assert np.diff(area.eti()) < case["outputs"]["auc_upper"] - case["outputs"]["auc_lower"]


@pytest.mark.parametrize(
    "labels", [["ham", "spam"], [False, True], [-1, 1], [2, 1]], ids=["text", "bool", "signed", "reversed"]
)
@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_labels_of_any_type(labels, form):
    y = form([labels[i] for i in Y])
    found = bp.roc_auc(y, form(list(SCORE)), pos_label=labels[1], method="delong")
    assert found.mean().item() == pytest.approx(by_pairs(Y, SCORE).mean())
    turned = bp.roc_auc(y, -SCORE, pos_label=labels[0], method="delong")
    assert turned.mean().item() == pytest.approx(found.mean().item())


# ── Where there is nothing to vary ──


@pytest.mark.parametrize(
    ("method", "score", "area", "words"),
    [
        ("delong", Y * 1.0, 1, "separate the classes.*method='binormal'"),
        ("delong", -Y * 1.0, 0, "separate the classes"),
        ("delong", Y * 0.0, 0.5, "are the same for all examples.*other examples may get others"),
    ],
)
def test_no_width_is_no_certainty(method, score, area, words):
    with pytest.warns(UserWarning, match=f"the scores {words}"):
        found = bp.roc_auc(Y, score, method=method, draws=50)
    assert (found.eti() == area).all()
    assert found.sd() == 0


@pytest.mark.parametrize("score", [9 * Y + SCORE, Y * 1.0])
def test_separated_scores_are_no_certainty(score):
    lower, upper = bp.roc_auc(Y, score).eti().values
    assert 0.85 < lower < 0.95 < 0.99 < upper < 1
    turned = bp.roc_auc(Y, -score).eti().values
    assert 0 < turned[0] < 0.01 < 0.05 < turned[1] < 0.15
    assert bp.roc_curve(Y, score).area.sd() > 0


@pytest.mark.slow
@pytest.mark.parametrize("true", [0.7, 0.95, 0.99])
def test_intervals_cover_near_an_end_too(true):
    """Weights of what was seen alone cover .95 in 89 %, and .99 in 69 %."""
    rng, y, simulations = np.random.default_rng(4), np.repeat([0, 1], 30), 400
    score = rng.normal(np.sqrt(2) * special.ndtri(true) * y, size=(simulations, 60))
    limits = np.array([bp.roc_auc(y, s, draws=1000).eti().values for s in score])
    covered = ((limits[:, 0] <= true) & (true <= limits[:, 1])).mean()
    assert 0.93 - 2 * np.sqrt(0.05 * 0.95 / simulations) < covered


@pytest.mark.parametrize("method", ["bayesian_bootstrap", "delong", "binormal"])
def test_scores_that_overlap_warn_of_nothing(method):
    bp.roc_auc(Y, SCORE, method=method, draws=2000)


def test_binormal_says_where_scores_are_not_normal():
    y, z = np.repeat([0, 1], 200), np.random.default_rng(2).normal(size=400)
    score = np.exp(3 * (z + y))
    with pytest.warns(UserWarning, match=r"the median, 0\.5\d+, is outside DeLong's 95 % interval from 0\.6\d+ to"):
        bp.roc_auc(y, score, method="binormal")
    assert bp.roc_auc(y, np.log(score), method="binormal").mean().item() == pytest.approx(
        stats.norm.cdf(1 / np.sqrt(2)), abs=0.05
    )


def test_binormal_of_separate_classes_has_width():
    score = np.r_[np.arange(10.0), np.arange(10.0) + 30]
    lower, upper = bp.roc_auc(np.repeat([0, 1], 10), score, method="binormal").eti().values
    assert 0.9 < lower < 0.999 < upper < 1


BAD = [
    (ValueError, Y, SCORE, {"method": "hanley"}, "must be one of 'bayesian_bootstrap', 'delong', 'binormal', 'pairs'"),
    (ValueError, Y, SCORE, {"transform": "logit"}, "transform may be 'logit', of method='delong'; it is 'logit' of"),
    (ValueError, Y, SCORE, {"method": "delong", "transform": "log"}, "transform may be 'logit'"),
    (ValueError, Y * 0, SCORE, {}, r"y_true must hold two classes; it holds 0"),
    (ValueError, Y, np.where(Y, np.nan, SCORE), {}, "y_score has 18 missing values"),
    (ValueError, Y, SCORE[1:], {}, "columns of unequal length: y_true 43, y_score 42"),
    (ValueError, np.where(Y, "spam", "ham"), SCORE, {}, "which of the labels .* is the positive class"),
    (ValueError, Y, SCORE, {"pos_label": 2}, "pos_label: 2 is not among the labels"),
    (ValueError, [1, 0, 0], [1, 2, 3], {"method": "delong"}, "two examples of each class; there are 1 positive and 2"),
    (ValueError, [1, 0, 0], [1, 2, 3], {"method": "binormal"}, "one score says nothing of the spread of its class"),
    (ValueError, Y, np.where(Y, np.inf, SCORE), {"method": "binormal"}, "y_score has infinite values"),
    (ValueError, Y, Y, {"method": "binormal"}, "y_score does not vary within either class"),
    (ValueError, Y, SCORE, {"draws": 1}, "draws must be a whole number of at least 2"),
    (ValueError, Y, SCORE, {"random_seed": -1}, "random_seed must be a non-negative integer"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "y", "score", "options", "words"), BAD)
def test_bad_arguments(error, y, score, options, words):
    with pytest.raises(error, match=words):
        bp.roc_auc(y, score, **options)


# ── Systems tested on the same examples ──


def test_difference_has_the_exact_moments():
    found = areas_compared(Y, SCORE, OTHER, draws=20_000)
    is_within_error(found.difference, *moments_of_bootstrap(SCORE, OTHER))
    alone = [bp.roc_auc(Y, score).sd().item() for score in (SCORE, OTHER)]
    assert found.difference.sd() < 0.9 * np.hypot(*alone)


def test_of_ties_in_either_system():
    found = areas_compared(Y, TIED, np.round(OTHER / 2), draws=20_000)
    is_within_error(found.difference, *moments_of_bootstrap(TIED, np.round(OTHER / 2)))


@pytest.mark.parametrize("method", ["bayesian_bootstrap", "delong"])
def test_alike_systems_differ_by_nothing(method):
    found = areas_compared(Y, SCORE, np.exp(SCORE), method=method)
    assert found.prob_greater == 0.5
    assert found.prob_rope.values.tolist() == [0, 1, 0]
    assert found.expected_loss == 0
    assert (found.difference.hdi() == 0).all()


SEPARATED = {"one": 9 * Y + SCORE, "two": 9 * Y + OTHER}
# The highest negative is above the lowest positive.
SEPARATED["best but one"] = np.where(SCORE[Y == 0].max() == SCORE, SEPARATED["one"][Y == 1].min() + 1e-9, 9 * Y + SCORE)


@pytest.mark.parametrize("sides", [("one", "two"), ("one", "best but one"), ("two", "best but one")])
def test_the_difference_of_separated_scores_is_no_certainty(sides):
    found = areas_compared(Y, *(SEPARATED[side] for side in sides), rope=0.001)
    lower, upper = found.difference.hdi().values
    assert lower < -0.01 < 0.01 < upper
    assert 0.4 < found.prob_greater < 0.75
    assert found.prob_rope.sel(rope="inside") < 0.2


def test_separated_scores_in_the_same_order_differ_by_nothing():
    found = areas_compared(Y, {name: SEPARATED[name] for name in ("one", "two")} | {"copy": np.exp(SEPARATED["one"])})
    assert found.difference.sd().sel(pair="one − copy") == 0
    assert found.difference.sd().sel(pair="one − two") > 0.01
    assert found.prob_greater.sel(model="one", model_other="copy") == 0.5


def test_delong_warns_of_separated_scores():
    with pytest.warns(UserWarning, match="method='delong': scores that separate the classes, of 'one', have an area"):
        found = areas_compared(Y, {"one": SEPARATED["one"], "old": SCORE, "new": OTHER}, method="delong")
    assert found.difference.sd().sel(pair="old − new") > 0


@pytest.mark.parametrize("method", ["bayesian_bootstrap", "delong"])
def test_turned_round(method):
    found, turned = (areas_compared(Y, *sides, method=method, rope=0.05) for sides in ((SCORE, OTHER), (OTHER, SCORE)))
    assert found.names == ("a", "b")
    assert found.quantity.greater_is_better
    error = 5 / np.sqrt(10_000) if method == "bayesian_bootstrap" else 1e-12
    np.testing.assert_allclose(found.prob_rope, turned.prob_rope[::-1], atol=error)
    assert found.difference.mean().item() == pytest.approx(-turned.difference.mean().item(), abs=error)


@pytest.mark.slow
def test_the_two_methods_agree_on_many_examples():
    rng = np.random.default_rng(3)
    y = rng.random(3000) < 0.3
    first, second = (y + rng.normal(size=(2, 3000))).round(2)
    drawn, normal = (
        areas_compared(y, first, second, method=method, rope=0.01) for method in ("bayesian_bootstrap", "delong")
    )
    assert drawn.difference.sd().item() == pytest.approx(normal.difference.sd().item(), rel=0.05)
    np.testing.assert_allclose(drawn.prob_rope, normal.prob_rope, atol=0.04)
    assert drawn.expected_loss.item() == pytest.approx(normal.expected_loss.item(), abs=5e-4)


@pytest.mark.few
@pytest.mark.parametrize("method", ["bayesian_bootstrap", "delong"])
@pytest.mark.parametrize("form", [dict, pd.DataFrame])
def test_many_systems(method, form):
    columns = {"good": SCORE, "worse": OTHER, "copy": 2 * SCORE}
    found = areas_compared(Y, form(columns), method=method)
    assert found.prob_greater.dims == ("model", "model_other")
    two = areas_compared(Y, SCORE, OTHER, method=method).prob_greater.item()
    assert found.prob_greater.sel(model="good", model_other="worse").item() == pytest.approx(two, abs=0.02)
    assert found.prob_greater.sel(model="good", model_other="copy") == 0.5
    assert found.ranks.sum("rank").values == pytest.approx(1)
    best = found.prob_best
    assert best.sel(model="worse").item() == pytest.approx(1 - two, abs=0.02)
    assert best.sel(model="good").item() == pytest.approx(best.sel(model="copy").item(), abs=0.05)
    assert found.difference.dims == ("pair",)
    assert list(found.summary()["b"]) == ["worse", "copy", "copy"]


def test_ratio_is_of_draws():
    assert areas_compared(Y, SCORE, SCORE).ratio.mean() == 1
    # To the second order, of two normals.
    areas = bp.roc_auc(Y, {"a": SCORE, "b": OTHER}, method="delong")
    (a, b), covariance = areas.distribution.location[:, 0], areas.distribution.covariance
    expected = a / b - covariance[0, 1] / b**2 + covariance[1, 1] * a / b**3
    ratio = bp.compare(areas).ratio
    assert ratio.mean().item() == pytest.approx(expected, abs=4 * ratio.mcse().item() + 0.002)


def test_joint_areas_are_those_of_each_system():
    systems = {"a": SCORE, "b": OTHER, "tied": TIED}
    for method in ("bayesian_bootstrap", "delong"):
        areas = bp.roc_auc(Y, systems, method=method, draws=4000)
        assert areas.dims == ("model",)
        assert areas.joint
        for name, score in systems.items():
            alone = bp.roc_auc(Y, score, method=method, draws=4000)
            one = areas.sel(model=name)
            assert one.observed.item() == alone.observed.item()
            assert one.mean().item() == pytest.approx(alone.mean().item(), abs=4 * 2**0.5 * alone.mcse().item() + 1e-12)
            assert one.sd().item() == pytest.approx(alone.sd().item(), rel=0.06 if alone.method == "draws" else 1e-12)
    part = bp.roc_auc(Y, systems, fpr=(0, 0.2), draws=100)
    alone = bp.roc_auc(Y, OTHER, fpr=(0, 0.2), draws=100)
    assert part.observed.sel(model="b").item() == alone.observed.item()


def test_two_of_joint_areas_by_themselves_are_warned_of():
    areas = bp.roc_auc(Y, {"a": SCORE, "b": OTHER}, draws=100)
    with pytest.warns(bp.errors.DependenceWarning, match="compare\\(roc_auc"):
        bp.compare(areas.sel(model="a"), areas.sel(model="b"))


def test_summary_and_figure_say_the_method():
    found = areas_compared(Y, SCORE, OTHER, method="delong")
    assert "DeLong" in found.summary().attrs["estimand"]
    assert found.plot().axes


BAD_COMPARISONS = [
    (ValueError, ({},), {}, "y_score must map names of systems to their scores; it is empty"),
    (ValueError, ({"a": SCORE},), {}, "there is one system along 'model', and nothing to compare it with"),
    (ValueError, (pd.DataFrame(np.array([SCORE, OTHER]).T, columns=["a", "a"]),), {}, "two columns called 'a'"),
    (ValueError, (SCORE, OTHER[1:]), {}, "columns of unequal length: y_true 43, score of 'a' 43, score of 'b' 42"),
    (ValueError, (SCORE, np.where(Y, np.nan, OTHER)), {}, "score of 'b' has 18 missing values"),
    (ValueError, (SCORE, OTHER), {"rope": -1}, "rope must be the half-width of a region"),
    (ValueError, (SCORE, OTHER), {"method": "pairs"}, "must be one of 'bayesian_bootstrap', 'delong'; it is 'pairs'"),
    (ValueError, (SCORE, OTHER), {"method": "delong", "transform": "logit"}, "transform: it is of one system alone"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "sides", "options", "words"), BAD_COMPARISONS)
def test_bad_comparisons(error, sides, options, words):
    with pytest.raises(error, match=words):
        areas_compared(Y, *sides, **options)


# ── Normal distributions ──

LOCATION, SCALE = np.array([[0.9], [0.2]]), np.array([[0.1], [0.05]])
POINTS = np.array([[-0.5, 0.0, 0.15, 0.85, 0.99, 1.0, 1.5]])


def test_normal_is_that_of_scipy_inside_its_bounds():
    found, expected = Normal(LOCATION, SCALE, (0.0, 1.0)), stats.norm(LOCATION, SCALE)
    inside = (POINTS >= 0) & (POINTS < 1)
    for name in ("cdf", "sf"):
        at = getattr(found, name)(POINTS)
        np.testing.assert_allclose(at[:, inside[0]], getattr(expected, name)(POINTS)[:, inside[0]], rtol=1e-12)
        np.testing.assert_array_equal(at[:, [0, -2, -1]], [[0, 1, 1]] * 2 if name == "cdf" else [[1, 0, 0]] * 2)
    np.testing.assert_allclose(found.pdf(POINTS[:, 1:-1]), expected.pdf(POINTS[:, 1:-1]), rtol=1e-12)
    assert (found.pdf(POINTS[:, [0, -1]]) == 0).all()
    levels = np.array([[0.0, 1e-4, 0.3, 0.99, 1.0]])
    np.testing.assert_allclose(found.ppf(levels), expected.ppf(levels).clip(0, 1), rtol=1e-12)
    np.testing.assert_allclose(found.hdi(0.9), expected.ppf([[0.05, 0.95]]).clip(0, 1), rtol=1e-12)
    np.testing.assert_allclose(found.mean_sd(), [LOCATION[:, 0], SCALE[:, 0]])
    assert found.take(slice(1, 2)).cdf(POINTS).tolist() == found.cdf(POINTS)[1:].tolist()


def test_normal_of_no_width():
    point = Normal(np.array([[0.3]]), np.array([[0.0]]), (0.0, 1.0))
    at = np.array([[0.2, 0.3, 0.4]])
    assert point.cdf(at).tolist() == [[0, 1, 1]]
    assert point.sf(at).tolist() == [[1, 0, 0]]
    assert point.pdf(at).tolist() == [[0, np.inf, 0]]
    assert point.ppf(np.array([[0.0, 0.5, 1.0]])).tolist() == [[0.3] * 3]


def test_shortfall_of_a_normal():
    location, scale = np.array([[0.02], [-0.1], [0.05], [-0.05]]), np.array([[0.03], [0.2], [0.0], [0.0]])
    normals = [stats.norm(*parameters) for parameters in zip(location[:2, 0], scale[:2, 0], strict=True)]
    expected = [integrate.quad(normal.cdf, -3, 0, points=[-0.1], epsabs=1e-12)[0] for normal in normals]
    np.testing.assert_allclose(Normal(location, scale).shortfall(), [*expected, 0, 0.05], rtol=1e-8)


def test_logit_normal_by_integration():
    found = LogitNormal(np.array([[2.5], [-0.3]]), np.array([[0.9], [0.4]]))
    for i in range(2):
        one = found.take(slice(i, i + 1))

        def integral(function, low=0.0, high=1.0, one=one):
            return integrate.quad(lambda x: function(x) * one.pdf(np.array([[x]])).item(), low, high, epsabs=1e-11)[0]

        mean = integral(lambda x: x)
        assert integral(lambda x: 1) == pytest.approx(1, abs=1e-9)
        assert found.mean_sd()[0][i] == pytest.approx(mean, abs=1e-8)
        assert found.mean_sd()[1][i] == pytest.approx(np.sqrt(integral(lambda x, mean=mean: (x - mean) ** 2)), abs=1e-8)
        assert one.cdf(np.array([[0.6]])).item() == pytest.approx(integral(lambda x: 1, high=0.6), abs=1e-9)
        assert one.sf(np.array([[0.6]])).item() == pytest.approx(integral(lambda x: 1, low=0.6), abs=1e-9)
        lower, upper = one.hdi(0.9)[0]
        assert integral(lambda x: 1, lower, upper) == pytest.approx(0.9, abs=1e-7)
        assert np.ptp(one.pdf(np.array([[lower, upper]]))) < 1e-5
    assert found.cdf(np.array([[-1.0, 0.0, 1.0, 2.0]])).tolist() == [[0, 0, 1, 1]] * 2
    assert (found.pdf(np.array([[0.0, 1.0]])) == 0).all()
    np.testing.assert_allclose(found.cdf(found.ppf(np.array([[0.1, 0.7]]))), [[0.1, 0.7]] * 2, rtol=1e-12)


# ── Weighted scores ──


def slope(y, score, sample_weight):
    # As good as unpenalised: scikit-learn 1.8 warns of an infinite C.
    model = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000)
    return model.fit(special.logit(score)[:, None], y, sample_weight).coef_.item()


def probabilistic(metric, y, score, sample_weight):
    tp, fp = ((sample_weight * score)[y == label].sum() for label in (1, 0))
    precision, recall = tp / (tp + fp), tp / sample_weight[y == 1].sum()
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}[metric]


FUNCTIONS = {
    "log_loss": sklearn_metrics.log_loss,
    "calibration_slope": slope,
    **{f"probabilistic_{name}": functools.partial(probabilistic, name) for name in ("precision", "recall", "f1")},
}


@pytest.mark.few
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("probability", [PROBABILITY, PROBABILITY.round(1).clip(0.05, 0.95)], ids=["", "tied"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_named_scores_are_those_of_functions_under_the_same_weights(name, probability, per_class):
    options = {"draws": 6, "per_class": per_class, "random_seed": 3}
    found = bp.curves.weighted_score(name, Y, probability, **options)
    expected = bp.curves.weighted_score(FUNCTIONS[name], Y, probability, **options)
    assert found.name == name
    np.testing.assert_allclose(
        found.joint_draws(6), expected.joint_draws(6), rtol=1e-5 if name == "calibration_slope" else 1e-10
    )


# ── Average precision ──

few_positives = pytest.mark.filterwarnings("ignore:y_score. there are:UserWarning")


def precision_in_the_middle(y, score, weights):
    """Average precision of scores without ties, one positive after the other, as its definition says."""
    positive, negative = ([(s, w) for s, w, label in zip(score, weights, y, strict=True) if label == k] for k in (1, 0))
    negative.sort(reverse=True)
    # The places of negatives are 1, 2, …; the weight passed there, and before the first and after the last.
    passed = [0.0, *(sum(w for _, w in negative[:j]) + negative[j][1] / 2 for j in range(len(negative)))]
    passed.append(sum(w for _, w in negative))
    total = 0.0
    for s, w in positive:
        above = sum(other > s for other, _ in negative)
        beside = sorted((t for t, _ in positive if sum(other > t for other, _ in negative) == above), reverse=True)
        place = above + (beside.index(s) + 0.5) / len(beside)
        tp = sum(v for t, v in positive if t > s) + w / 2
        total += w * tp / (tp + np.interp(place, np.arange(len(passed)), passed))
    return total / sum(w for _, w in positive)


@few_positives
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("score", [SCORE, -SCORE, SCORE + 9 * Y, SCORE - 9 * Y], ids=["", "turned", "apart", "wrong"])
def test_average_precision_is_that_of_examples_passed_in_the_middle(score, per_class):
    weights = []

    def function(y, score, sample_weight):
        weights.append(sample_weight)
        return 0.0

    options = {"draws": 4, "per_class": per_class, "random_seed": 3}
    bp.curves.weighted_score(function, Y, score, **options)
    found = bp.curves.weighted_score("average_precision", Y, score, **options).distribution.values.ravel()
    expected = [precision_in_the_middle(Y, score, of_draw) for of_draw in weights]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("rounded", [None, 1, 0], ids=["no ties", "ties", "few scores"])
def test_average_precision_of_many_examples_is_scikit_learns(rounded):
    rng = np.random.default_rng(8)
    y = (rng.random(30_000) < 0.1).astype(int)
    score = rng.normal(1.5 * y) if rounded is None else rng.normal(1.5 * y).round(rounded)
    options = {"draws": 5, "random_seed": 1}
    found = bp.curves.weighted_score("average_precision", y, score, **options).joint_draws(5).values
    expected = (
        bp.curves.weighted_score(sklearn_metrics.average_precision_score, y, score, **options).joint_draws(5).values
    )
    # They differ by half of an example, of 3,000 positives.
    np.testing.assert_allclose(found, expected, atol=1e-3)


def average_precisions(positives, negatives, separation, simulations, seed=1):
    """Draws of the average precision of test sets (simulation, draw), and the population's."""
    rng, y = np.random.default_rng(seed), np.repeat([1, 0], [positives, negatives])
    drawn = [
        bp.curves.weighted_score("average_precision", y, rng.normal(separation * y), draws=400, random_seed=i)
        for i in range(simulations)
    ]
    share = positives / len(y)
    recall = (np.arange(100_000) + 0.5) / 100_000
    fpr = special.ndtr(special.ndtri(recall) - separation)
    return np.array([d.distribution.values.ravel() for d in drawn]), (
        share * recall / (share * recall + (1 - share) * fpr)
    ).mean()


@pytest.mark.slow
@few_positives
@pytest.mark.parametrize(
    ("positives", "negatives", "separation", "simulations"),
    [
        (5, 95, 0, 150),
        (10, 190, 0, 150),
        *(
            pytest.param(*case, 600, marks=pytest.mark.slow)
            for case in [(5, 95, 0), (5, 95, 1.5), (5, 95, 3), (10, 190, 1.5), (20, 180, 1.5), (10, 10, 3)]
        ),
    ],
)
def test_intervals_of_the_average_precision_cover(positives, negatives, separation, simulations):
    drawn, true = average_precisions(positives, negatives, separation, simulations)
    lower, upper = np.quantile(drawn, [0.025, 0.975], axis=1)
    covered = ((lower <= true) & (true <= upper)).mean()
    # As said in the documentation.
    assert covered >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / simulations)
    if (positives, separation) == (5, 0):
        of_samples = drawn.mean(1)
        assert of_samples.mean() == pytest.approx(0.08, abs=0.005 + 4 * of_samples.std() / np.sqrt(simulations))


def test_few_positives_are_warned_of():
    with pytest.warns(UserWarning, match="y_score: there are 18 positives, and by fewer than 20 the average") as caught:
        bp.curves.weighted_score("average_precision", Y, SCORE, draws=10)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="y_score: there is 1 positive, and by fewer than 20"):
        assert 0 < bp.precision_recall_curve([0, 1, 0], [0.1, 0.2, 0.3], draws=10).area.mean() < 1
    bp.curves.weighted_score("average_precision", np.repeat([0, 1], 20), np.arange(40.0), draws=10)


def test_a_mean_has_the_moments_of_dirichlet_weights():
    errors = -np.log(np.where(Y, PROBABILITY, 1 - PROBABILITY))
    is_within_error(
        bp.curves.weighted_score("log_loss", Y, PROBABILITY, draws=20_000), errors.mean(), errors.std() / np.sqrt(44)
    )
    of_class = [errors[label == Y] for label in (0, 1)]
    variance = sum((len(e) / 43) ** 2 * e.var() / (len(e) + 1) for e in of_class)
    by_class = bp.curves.weighted_score("log_loss", Y, PROBABILITY, per_class=True, draws=20_000)
    is_within_error(by_class, errors.mean(), np.sqrt(variance))


def test_weights_have_a_mean_of_one():
    seen = []

    def function(y, score, sample_weight):
        seen.append([sample_weight.mean(), sample_weight[y == 1].mean()])
        return 0.0

    bp.curves.weighted_score(function, Y, SCORE, draws=50)
    np.testing.assert_allclose(np.array(seen)[:, 0], 1)
    assert np.std(np.array(seen)[:, 1]) > 0.05
    seen.clear()
    bp.curves.weighted_score(function, Y, SCORE, draws=50, per_class=True)
    np.testing.assert_allclose(seen, 1)


def test_of_known_classes_the_unseen_example_has_the_weight_of_its_own():
    """Where all have one probability, a score depends on the shares of the classes alone, which are then fixed."""
    y, p = np.repeat([0, 1], [24, 6]), np.full(30, 0.25)
    brier = bp.curves.weighted_score("brier", y, p, per_class=True, draws=20)
    np.testing.assert_allclose(brier.joint_draws(20), 0.8 * 0.25**2 + 0.2 * 0.75**2, rtol=1e-12)


def test_area_by_a_function_is_that_of_roc_auc():
    by_function = bp.curves.weighted_score(sklearn_metrics.roc_auc_score, Y, SCORE, draws=100, per_class=True)
    mean, sd = moments(by_pairs(Y, SCORE))
    is_within_error(by_function, mean, sd)


def test_systems_on_the_same_examples_may_be_subtracted():
    losses = [
        bp.curves.weighted_score("log_loss", Y, p, draws=2000).joint_draws(2000)
        for p in (PROBABILITY, special.expit(OTHER))
    ]
    difference = -np.log(np.where(Y, PROBABILITY, 1 - PROBABILITY)) + np.log(special.expit(np.where(Y, OTHER, -OTHER)))
    found = (losses[0] - losses[1]).values
    assert found.mean() == pytest.approx(difference.mean(), abs=4 * found.std() / np.sqrt(2000))
    assert found.std() == pytest.approx(difference.std() / np.sqrt(44), rel=0.1)


def test_any_binary_metric_of_probabilities():
    hard = (PROBABILITY > 0.5).astype(float)
    found = bp.curves.weighted_score("probabilistic_mcc", Y, hard, draws=10)
    expected = bp.curves.weighted_score(sklearn_metrics.matthews_corrcoef, Y, hard, draws=10)
    np.testing.assert_allclose(found.joint_draws(10), expected.joint_draws(10), rtol=1e-10)
    assert found.bounds == (-1, 1)


@pytest.mark.slow
def test_functions_of_more_than_two_classes():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    found = bp.curves.weighted_score(sklearn_metrics.log_loss, y, score, draws=100)
    assert found.mean().item() == pytest.approx(sklearn_metrics.log_loss(y, score), abs=4 * found.mcse().item())


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [0.3, 3.0])
def test_calibration_slope_of_nearly_separate_classes(overlap):
    """Newton's steps go far from their start, and overshoot."""
    log_odds = np.r_[np.linspace(-8, -1, 20), overlap, np.linspace(1, 8, 20), -overlap]
    y, score = np.repeat([0, 1], 21), special.expit(log_odds)
    options = {"draws": 20, "random_seed": 1}
    found = bp.curves.weighted_score("calibration_slope", y, score, **options).joint_draws(20)
    np.testing.assert_allclose(found, bp.curves.weighted_score(slope, y, score, **options).joint_draws(20), rtol=1e-4)


def test_calibration_slope_of_real_predictions_settles_in_every_draw():
    frame = bp.datasets.load("breast_cancer").query("model == 'logistic_regression'")
    log_odds = special.logit(frame["score"].clip(1e-4, 1 - 1e-4))
    found = bp.curves.weighted_score(
        "calibration_slope", frame["actual"], special.expit(log_odds), pos_label="malignant"
    )
    model = LogisticRegression(C=1e12, tol=1e-10).fit(log_odds.to_numpy()[:, None], frame["actual"] == "malignant")
    assert found.median().item() == pytest.approx(model.coef_.item(), abs=found.sd().item() / 2)


def no_weights(y_true, y_score):
    return 0.0


def of_each_class(y_true, y_score, sample_weight):
    return np.zeros(2)


BAD_SCORES = [
    (ValueError, "gini", PROBABILITY, {}, "must be one of 'brier', .*'probabilistic_' and a binary metric"),
    (ValueError, "probabilistic_f", PROBABILITY, {}, "no metric named 'f'"),
    (ValueError, "probabilistic_f1_macro", PROBABILITY, {}, "is an average over classes; name the binary metric"),
    (ValueError, "brier", SCORE, {}, r"y_score must hold probabilities, in \[0, 1\]; it holds [-\d.]+"),
    (ValueError, "probabilistic_f1", SCORE, {}, "y_score must hold probabilities"),
    (ValueError, "log_loss", Y.astype(float)[::-1], {}, r"\d+ examples had a probability of 0 for what happened"),
    (ValueError, "log_loss", np.where(np.arange(43) == np.argmin(Y), 1, PROBABILITY), {}, "1 example had"),
    (ValueError, "calibration_slope", Y.astype(float), {}, "43 probabilities are 0 or 1, whose log-odds are infinite"),
    (ValueError, "calibration_slope", 0.1 + 0.8 * Y, {}, "the probabilities separate the classes, or are all the same"),
    (ValueError, "calibration_slope", 0.9 - 0.8 * Y, {}, "the probabilities separate the classes"),
    (ValueError, "calibration_slope", Y * 0 + 0.5, {}, "or are all the same"),
    (ValueError, "brier", PROBABILITY[1:], {}, "columns of unequal length: y_true 43, y_score 42"),
    (ValueError, sklearn_metrics.log_loss, PROBABILITY[1:], {}, "columns of unequal length: y_true 43, y_score 42"),
    (ValueError, "brier", np.where(Y, np.nan, PROBABILITY), {}, "y_score has 18 missing values"),
    (ValueError, "brier", PROBABILITY, {"draws": 1}, "draws must be a whole number of at least 2"),
    (ValueError, "probabilistic_precision", Y * 0.0, {}, "'probabilistic_precision' is undefined"),
    (TypeError, no_weights, PROBABILITY, {}, "score_function: no_weights takes no sample_weight"),
    (TypeError, of_each_class, PROBABILITY, {}, r"of_each_class must return a number; it returned shape \(2,\)"),
    (TypeError, sklearn_metrics.log_loss, PROBABILITY, {"pos_label": 1}, "a function knows its own; bind it"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "function", "score", "options", "words"), BAD_SCORES)
def test_bad_weighted_scores(error, function, score, options, words):
    with pytest.raises(error, match=words):
        bp.curves.weighted_score(function, Y, score, **options)


def test_log_loss_of_what_was_certain_and_right():
    found = bp.curves.weighted_score("log_loss", Y, Y.astype(float), draws=10)
    assert found.mean() == 0


# ── Too near an end ──


@pytest.mark.parametrize(
    ("n", "wrong", "options", "said"),
    [
        (20, 0.05, {}, False),
        (20, 0.05, {"method": "delong"}, True),
        (20, 0.3, {"method": "delong"}, False),
        (400, 0.05, {"method": "delong"}, False),
        (20, 0.95, {"method": "delong"}, True),
        (20, 0.05, {"method": "delong", "transform": "logit"}, False),
        (20, 0.05, {"method": "binormal"}, False),
    ],
)
def test_an_area_near_its_end_by_few_examples_says_that_its_interval_is_too_narrow(n, wrong, options, said):
    """For each positive a share of the negatives scores higher; fewer than 3 examples' worth of them are few."""
    y = np.repeat([1, 0], [n, 3 * n])
    score = np.concatenate([stats.norm.ppf((np.arange(m) + 0.5) / m) for m in (n, 3 * n)])
    score[:n] -= np.sqrt(2) * stats.norm.ppf(wrong)
    area = bp.roc_auc(y, score, draws=200, **options)
    assert area.observed.item() == pytest.approx(1 - wrong, abs=0.02)
    assert ("the interval of an area so near 0 or 1 is too narrow" in area.in_words()) == said


def near_one():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    return y, rng.normal(2.6 * y)


@pytest.mark.parametrize(
    "area",
    [
        lambda y, score: bp.roc_auc(
            bp.curves.BinnedScores.from_counts(
                **{
                    name: np.histogram(score[y == value], np.linspace(-4, 6, 41))[0]
                    for name, value in (("negatives", 0), ("positives", 1))
                },
                edges=np.linspace(-4, 6, 41),
            ),
            method="delong",
        ),
        lambda y, score: bp.roc_auc(y, score, method="delong", cluster=np.arange(80) // 2 % 20),
        lambda y, score: bp.roc_auc(y, {"a": score, "b": score**3}, method="delong").sel(model="a"),
        lambda y, score: bp.curves.auc_from_summary(0.97, 40, 40, method="hanley_mcneil"),
    ],
    ids=["binned", "in clusters", "one of two systems", "of a summary"],
)
def test_every_normal_approximation_near_the_end_is_said_to_be_too_narrow(area):
    assert "so near 0 or 1 is too narrow" in area(*near_one()).in_words()
