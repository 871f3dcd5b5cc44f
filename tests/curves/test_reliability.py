"""Reliability curves: other packages' points, bands by brute force, posteriors by integration, what they refuse."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression

import bayesperf as bp
from bayesperf.curves.reliability import frequencies
from bayesperf.curves.reliability.frequencies import ProbabilityCounts
from bayesperf.distributions import logistic_line


def breast_cancer(model):
    frame = bp.datasets.load("breast_cancer")
    frame = frame[frame["model"] == model]
    return (frame["actual"] == "malignant").to_numpy().astype(int), frame["score"].to_numpy()


def digits():
    """Whether the predicted digit is the right one, and its probability."""
    frame = bp.datasets.load("digits")
    frame = frame[frame["model"] == "logistic_regression"]
    return (frame["actual"] == frame["predicted"]).to_numpy().astype(int), frame["score"].to_numpy()


def simulated(n=150, decimals=2, seed=3):
    """Overconfident probabilities, many of them tied."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 2, n)
    return (rng.random(n) < special.expit(0.5 * log_odds)).astype(int), special.expit(log_odds).round(decimals)


DATA = {
    "logistic regression": breast_cancer("logistic_regression"),
    "naive Bayes": breast_cancer("naive_bayes"),
    "digits": digits(),
    "ties": simulated(),
}
every_data = pytest.mark.parametrize("data", DATA.values(), ids=DATA)


# ── Points ──


@every_data
@pytest.mark.parametrize("bins", [1, 5, 10, 17])
def test_bins_are_those_of_scikit_learn(data, bins):
    y, p = data
    frequency, probability = calibration_curve(y, p, n_bins=bins, strategy="quantile")
    points = bp.reliability_curve(y, p, method="bins", bins=bins).dataset
    np.testing.assert_allclose(points["frequency"], frequency, rtol=1e-12)
    np.testing.assert_allclose(points["probability"], probability, rtol=1e-12)
    assert points["examples"].sum() == len(y)
    assert points["positives"].sum() == y.sum()
    assert (points["lowest"] <= points["probability"] + 1e-12).all()
    assert (points["highest"][:-1].values < points["lowest"][1:].values).all()


def test_bins_of_different_probabilities_are_equally_large():
    y, p = simulated(137, decimals=12)
    points = bp.reliability_curve(y, p, method="bins").dataset
    assert set(points["examples"].values) == {13, 14}


@every_data
def test_the_isotonic_line_is_that_of_scikit_learn(data):
    y, p = data
    points = bp.reliability_curve(y, p).dataset
    np.testing.assert_array_equal(points["probability"], np.unique(p))
    expected = IsotonicRegression().fit(p, y).predict(np.unique(p))
    np.testing.assert_allclose(points["frequency"], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.slow
def test_labels_of_any_kind():
    y, p = DATA["ties"]
    named = np.where(y == 1, "spam", "ham")
    for method in ("isotonic", "bins", "logistic"):
        curve = bp.reliability_curve(y, np.clip(p, 0.01, 0.99), method=method)
        other = bp.reliability_curve(named, np.clip(p, 0.01, 0.99), method=method, pos_label="spam")
        xr.testing.assert_identical(other.dataset, curve.dataset)
        xr.testing.assert_identical(other.band(), curve.band())


# ── Bands ──


def honest_bounds(first, last, positives, examples, at, prob):
    """Return the bounds at some probability: the least and greatest of all pairs of groups, one by one.

    The groups are given by their first and last probability, and their numbers.
    """
    level = (1 - prob) / (len(first) * (len(first) + 1))
    lower, upper = 0.0, 1.0
    for j in range(len(first)):
        for k in range(j, len(first)):
            s, n = positives[j : k + 1].sum(), examples[j : k + 1].sum()
            if at <= first[j] and s < n:
                upper = min(upper, stats.beta.ppf(1 - level, s + 1, n - s))
            if at >= last[k] and s > 0:
                lower = max(lower, stats.beta.ppf(level, s, n - s + 1))
    return lower, upper


@pytest.mark.parametrize(("decimals", "prob"), [(1, 0.95), (2, 0.8), (12, 0.95)])
def test_the_honest_band_is_that_of_all_pairs(decimals, prob):
    y, p = simulated(25, decimals)
    values = np.unique(p)
    positives, examples = (np.array([weight[p == value].sum() for value in values]) for weight in (y, np.ones_like(y)))
    expected = np.array([honest_bounds(values, values, positives, examples, value, prob) for value in values])
    line = IsotonicRegression().fit(p, y).predict(values)
    expected = np.stack([np.minimum(expected[:, 0], line), np.maximum(expected[:, 1], line)], -1)
    np.testing.assert_allclose(bp.reliability_curve(y, p).band(prob)["frequency"], expected, rtol=1e-9, atol=1e-12)


def test_the_honest_band_of_groups_holds_between_them(monkeypatch):
    monkeypatch.setattr(frequencies, "MOST_GROUPS", 6)
    y, p = simulated(60, 12)
    order = np.argsort(p)
    groups = np.array_split(np.arange(60), 6)
    first, last = (np.array([p[order][group[end]] for group in groups]) for end in (0, -1))
    positives = np.array([y[order][group].sum() for group in groups])
    expected = np.array([honest_bounds(first, last, positives, np.array([10] * 6), value, 0.95) for value in p[order]])
    line = IsotonicRegression().fit(p, y).predict(p[order])
    expected = np.stack([np.minimum(expected[:, 0], line), np.maximum(expected[:, 1], line)], -1)
    np.testing.assert_allclose(bp.reliability_curve(y, p).band()["frequency"], expected, rtol=1e-9, atol=1e-12)


def test_the_honest_band_of_bins_bounds_what_is_in_them():
    """The middle of a bin has the bounds of the bins beside it, and those of the scores themselves are narrower."""
    edges, positives, negatives = np.linspace(0, 1, 6), np.array([1, 0, 6, 9, 20]), np.array([19, 8, 7, 4, 0])
    curve = bp.reliability_curve(
        bp.curves.BinnedScores.from_counts(positives=positives, negatives=negatives, edges=edges)
    )
    middle = (edges[:-1] + edges[1:]) / 2
    expected = np.array(
        [honest_bounds(edges[:-1], edges[1:], positives, positives + negatives, at, 0.95) for at in middle]
    )
    line = curve.dataset["frequency"].values
    expected = np.stack([np.minimum(expected[:, 0], line), np.maximum(expected[:, 1], line)], -1)
    np.testing.assert_allclose(curve.dataset["probability"], middle)
    np.testing.assert_allclose(curve.band()["frequency"], expected, rtol=1e-9, atol=1e-12)
    tied = bp.reliability_curve(
        bp.curves.BinnedScores.from_counts(positives=positives, negatives=negatives, values=middle)
    ).band()["frequency"]
    assert (tied.values[:, 0] >= expected[:, 0] - 1e-12).all()
    assert (tied.values[:, 1] <= expected[:, 1] + 1e-12).all()


def test_intervals_of_bins():
    y, p = DATA["ties"]
    curve = bp.reliability_curve(y, p, method="bins", bins=8)
    points = curve.dataset
    k, n = points["positives"].values, points["examples"].values
    for kind, each in {"pointwise": 0.9, "simultaneous": 0.9 ** (1 / 8)}.items():
        expected = stats.beta.ppf([[(1 - each) / 2], [(1 + each) / 2]], k + 0.5, n - k + 0.5).T
        expected[k == 0, 0], expected[k == n, 1] = 0, 1
        np.testing.assert_allclose(curve.band(0.9, kind)["frequency"], expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["bins", "isotonic"])
def test_bands_keep_their_width_where_a_bin_is_pure(method):
    y = np.repeat([0, 1], 30)
    band = bp.reliability_curve(y, np.repeat([0.1, 0.9], 30), method=method, **{"bins": {"bins": 2}}.get(method, {}))
    lower, upper = band.band()["frequency"].values.T
    assert lower[0] == 0
    assert upper[1] == 1
    assert upper[0] > 0.05
    assert lower[1] < 0.95


def test_the_band_of_a_line_is_drawn_by_the_seed():
    y, p = simulated(40, 12)
    first, again, other = (
        bp.reliability_curve(y, p, method="logistic", draws=20, random_seed=seed).band(0.9) for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)


# ── The recalibration line ──


@pytest.mark.slow
@pytest.mark.parametrize("separated", [False, True])
def test_the_line_has_its_posterior(separated):
    """Against sums over a grid of plain rectangles, far out on all sides."""
    y, p = simulated(25, 12, seed=1)
    if separated:
        y = (p > 0.5).astype(int)
    intercept, slope = np.meshgrid(np.linspace(-10, 10, 401), np.linspace(-6, 14, 401), indexing="ij")
    linear = intercept[..., None] + slope[..., None] * special.logit(p)
    log_density = (y * linear - np.logaddexp(0, linear)).sum(-1)
    log_density += stats.norm.logpdf(intercept, 0, 2.5) + stats.norm.logpdf(slope, 1, 2.5)
    weight = special.softmax(log_density)
    draws = 40_000
    curve = bp.reliability_curve(y, p, method="logistic", draws=draws)
    points, band = curve.dataset, curve.band(0.9, "pointwise")["frequency"]
    for place in (0, 80, 200):
        log_odds = intercept + slope * special.logit(points["probability"].values[place])
        frequency = special.expit(log_odds)
        mean, square = ((weight * frequency**power).sum() for power in (1, 2))
        error = np.sqrt((square - mean**2) / draws)
        assert abs(points["frequency"].values[place] - mean) < 5 * error
        for bound, level in zip(band[place].values, (0.05, 0.95), strict=True):
            below = weight[frequency <= bound].sum()
            # Beside the error of draws, that of rectangles.
            assert abs(below - level) < 5 * np.sqrt(0.05 * 0.95 / draws) + 0.002


@pytest.mark.slow
def test_many_log_odds_are_grouped_without_harm():
    y, p = simulated(6_000, 12)
    data = ProbabilityCounts.of(y, p)
    rng = np.random.default_rng
    grouped = frequencies.draws_of_line(data, 1000, rng(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logistic_line, "MANY", 10_000)
        whole = frequencies.draws_of_line(data, 1000, rng(0))
    np.testing.assert_allclose(grouped.mean(0), whole.mean(0), atol=0.01 * whole.std(0).min())
    np.testing.assert_allclose(grouped.std(0), whole.std(0), rtol=0.01)


def test_a_simultaneous_band_of_lines_holds_its_share_of_them():
    y, p = simulated(100, 12)
    curve = bp.reliability_curve(y, p, method="logistic", draws=2000)
    lines = curve.joint_draws()["frequency"].values.T
    lower, upper = curve.band(0.9)["frequency"].values.T
    assert 0.9 <= ((lines >= lower) & (lines <= upper)).all(-1).mean() <= 0.92
    pointwise = curve.band(0.9, "pointwise")["frequency"].values
    assert (lower <= pointwise[:, 0]).all()
    assert (upper >= pointwise[:, 1]).all()


# ── Binned scores ──


@pytest.mark.slow
def test_values_that_tie_are_the_scores_themselves():
    y, p = DATA["ties"]
    p = np.clip(p, 0.01, 0.99)
    values = np.unique(p)
    counts = [[(p[y == label] == value).sum() for value in values] for label in (1, 0)]
    binned = bp.curves.BinnedScores.from_counts(positives=counts[0], negatives=counts[1], values=values)
    for method in ("isotonic", "bins", "logistic"):
        curve, of_bins = bp.reliability_curve(y, p, method=method), bp.reliability_curve(binned, method=method)
        xr.testing.assert_allclose(of_bins.dataset, curve.dataset, rtol=1e-12)
        xr.testing.assert_allclose(of_bins.band(), curve.band(), rtol=1e-12)


# ── Several systems ──


def test_several_systems():
    y, p = DATA["ties"]
    curves = bp.reliability_curve(y, {"a": p, "b": p**2})
    assert curves.names == ["a", "b"]
    xr.testing.assert_identical(curves.sel(model="b").dataset, bp.reliability_curve(y, p**2).dataset)
    for of_all, one in ((curves.dataset, curves.sel(model="a").dataset), (curves.band(), curves.sel(model="a").band())):
        alone = of_all["frequency"].sel(model="a").dropna("probability")
        np.testing.assert_array_equal(alone, one["frequency"])
    assert curves.in_words() == "\n".join(f"{name}: {curve.in_words()}" for name, curve in curves.each().items())


# ── Words ──


def test_words_name_where_the_band_leaves_out_the_diagonal():
    y, p = np.repeat([0, 1, 0, 1], [40, 160, 100, 100]), np.repeat([0.5, 0.25], 200)
    words = bp.reliability_curve(y, p, method="bins", bins=2).in_words()
    assert words.startswith(
        "The 95 % band of 400 examples, which holds for the whole curve, excludes the diagonal. From 0.250 to 0.500 its"
    )
    assert "are too low: where it says 0.500, the outcome happens in 0.800 (0.732–0.857)." in words
    calm = bp.reliability_curve([0, 1, 0, 1], [0.3, 0.4, 0.6, 0.7]).in_words()
    assert "holds the diagonal everywhere: they do not show that the probabilities are wrong." in calm


# ── Refusals ──


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda y, p: bp.reliability_curve(y, p + 0.5), ValueError, r"y_prob must hold probabilities, in \[0, 1\]"),
        (lambda y, p: bp.reliability_curve(y, p[1:]), ValueError, "columns of unequal length: y_true 150, y_prob 149"),
        (lambda y, p: bp.reliability_curve(y, np.where(y, np.nan, p)), ValueError, "y_prob has .* missing values"),
        (lambda y, p: bp.reliability_curve(y * 0, p), ValueError, "y_true must hold two classes"),
        (lambda y, p: bp.reliability_curve(y), TypeError, "y_prob: give the probabilities of the labels"),
        (lambda y, p: bp.reliability_curve(y, p, method="spline"), ValueError, "method must be one of 'isotonic'"),
        (lambda y, p: bp.reliability_curve(y, p, bins=5), ValueError, "bins applies to method='bins'"),
        (lambda y, p: bp.reliability_curve(y, p, method="bins", bins=0), ValueError, "bins must be a whole number"),
        (lambda y, p: bp.reliability_curve(y, p.round(), method="logistic"), ValueError, "150 probabilities are 0 or"),
        (lambda y, p: bp.reliability_curve(y, p).band(kind="pointwise"), ValueError, "no pointwise band"),
        (lambda y, p: bp.reliability_curve(y, p).band(1.0), ValueError, "ci_prob must be a number between 0 and 1"),
        (
            lambda y, p: bp.reliability_curve(
                bp.curves.BinnedScores.from_counts(positives=[1, 2], negatives=[2, 1], edges=[-1, 0, 1])
            ),
            ValueError,
            "y_true must hold probabilities",
        ),
        (
            lambda y, p: bp.reliability_curve(
                bp.curves.BinnedScores.from_counts(positives=[1], negatives=[2], edges=[0, 1]), p
            ),
            TypeError,
            "y_prob: BinnedScores hold classes and scores",
        ),
    ],
)
def test_refusals(call, error, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=message):
            call(*DATA["ties"])
