"""ROC, precision–recall and DET curves: points, bands, areas, operating points."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats
from scipy.special import ndtr, ndtri
from sklearn import metrics as sklearn_metrics

import bayesperf as bp
from bayesperf.curves import _bands, _bootstrap
from bayesperf.curves._masses import Masses, on_gaps, on_scores
from bayesperf.curves._roc_draws import Bootstrapped, Observed
from bayesperf.curves._scores import Scores
from bayesperf.curves._shapes import PRECISION_RECALL

CURVES = (bp.roc_curve, bp.precision_recall_curve, bp.det_curve)
GOLDEN = json.loads((Path(__file__).parent / "golden" / "curves.json").read_text(encoding="utf-8"))["cases"]


def normal_scores(positives, negatives, separation=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [positives, negatives])
    order = rng.permutation(len(y))
    return y[order], rng.normal(separation * y)[order]


def scores_of(y, score):
    return Scores.of(y, score)


DATA = {
    "continuous": normal_scores(40, 60),
    "tied": (lambda y, s: (y, np.round(s)))(*normal_scores(40, 60, seed=1)),
    "constant": (np.array([0, 1, 1, 0, 1]), np.full(5, 0.3)),
    "separated": (np.array([1, 0, 1, 0]), np.array([3.0, 1.0, 2.0, 0.0])),
    "reversed": (np.array([1, 0, 1, 0]), np.array([0.0, 2.0, 1.0, 3.0])),
    "two": (np.array([0, 1]), np.array([0.2, 0.1])),
}
every_data = pytest.mark.parametrize("data", DATA.values(), ids=list(DATA))


# ── Points ──


@every_data
def test_points_are_those_of_scikit_learn(data):
    y, score = data
    roc = bp.roc_curve(y, score).dataset
    fpr, recall, thresholds = sklearn_metrics.roc_curve(y, score, drop_intermediate=False)
    for name, expected in {"fpr": fpr, "recall": recall, "threshold": thresholds}.items():
        np.testing.assert_array_equal(roc[name], expected)
    precision_recall = bp.precision_recall_curve(y, score).dataset
    precision, recall, thresholds = sklearn_metrics.precision_recall_curve(y, score)
    ours = {"precision": precision, "recall": recall, "threshold": [*thresholds, np.inf]}
    for name, expected in ours.items():
        np.testing.assert_array_equal(precision_recall[name][::-1], expected)
    det = bp.det_curve(y, score).dataset
    fpr, fnr, thresholds = sklearn_metrics.det_curve(y, score)
    for name, expected in {"fpr": fpr, "fnr": fnr, "threshold": thresholds}.items():
        np.testing.assert_array_equal(det[name][::-1], expected)


def test_labels_of_any_kind():
    y, score = DATA["continuous"]
    named = np.where(y == 1, "spam", "ham")
    for curve in CURVES:
        xr.testing.assert_identical(curve(named, score, pos_label="spam").dataset, curve(y, score).dataset)
        xr.testing.assert_identical(curve(named, score, pos_label="ham").dataset, curve(1 - y, score).dataset)
    assert bp.roc_curve(y, score).dataset.attrs == {"positives": 40, "negatives": 60}


def test_minus_infinity_is_a_score():
    curve = bp.roc_curve([0, 0, 1, 1], [-np.inf, 0, 1, -np.inf])
    np.testing.assert_array_equal(curve.dataset["threshold"], [np.inf, 1, 0, -np.inf])
    np.testing.assert_array_equal(curve.dataset["recall"], [0, 0.5, 0.5, 1])


# ── Figures of other packages ──


def golden(peer, function):
    return pytest.mark.parametrize(
        "case",
        [pytest.param(c, id=c["id"]) for c in GOLDEN if c["peer"] == peer and c["function"].endswith(function)],
    )


def data_of(case):
    inputs = case["inputs"]
    if "y_true" in inputs:
        return np.array(inputs["y_true"]), np.array(inputs["y_score"])
    negative, positive = inputs["negatives"], inputs["positives"]
    return np.repeat([0, 1], [len(negative), len(positive)]), np.array([*negative, *positive])


def among(found, points, tolerance):
    """Whether each point (k, d) is one of those found (n, d)."""
    return np.abs(np.asarray(points)[:, None] - np.asarray(found)).max(-1).min(-1) <= tolerance


@golden("bob.measure", "roc")
def test_roc_points_of_bob(case):
    """At n_points false positive rates, spaced in logarithms: all of them points of ours."""
    curve = bp.roc_curve(*data_of(case)).dataset
    ours = np.stack([curve["fpr"], 1 - curve["recall"]], -1)
    assert among(ours, np.transpose(case["outputs"]["curve"]), 1e-12).all()


@golden("bob.measure", "det")
def test_det_points_of_bob(case):
    """Normal deviates of rates strictly between 0 and 1; its approximation of the normal quantile is off by 2e-4.

    Where a rate is 0 or 1 bob plots the deviate of the machine epsilon, ±8.13; it is infinite.
    """
    curve = bp.roc_curve(*data_of(case)).dataset
    with np.errstate(divide="ignore"):
        ours = ndtri(np.stack([curve["fpr"], 1 - curve["recall"]], -1))
    theirs = np.transpose(case["outputs"]["curve"])
    assert (np.abs(theirs) > 8).any()
    theirs = np.where(np.abs(theirs) > 8, np.sign(theirs) * np.inf, theirs)
    matches = [[np.allclose(point, other, atol=3e-4, rtol=0) for other in ours] for point in theirs]
    assert np.any(matches, axis=1).all()


@golden("bob.measure", "area_under_the_curve")
def test_beta_intervals_of_bob(case):
    """Both intervals at each point. Points themselves are modes, which are the rates under a flat prior alone."""
    axes = {"tpr": "recall", "fpr": "fpr", "precision": "precision", "recall": "recall"}
    y, x = (axes[name] for name in case["inputs"]["axes"])
    prior = case["inputs"]["technique"].partition("|")[2]
    make = bp.roc_curve if x == "fpr" else bp.precision_recall_curve
    band = make(*data_of(case), method="beta", prior=prior).band(case["inputs"]["coverage"])
    ours = np.concatenate([band[y].values, band[x].values], axis=-1)
    theirs = np.transpose(case["outputs"]["curve"])[:, 2:]
    if x == "recall":
        # Where nothing is called positive they take the mode 0 of an undefined precision for its value; it is 1 here.
        theirs = theirs[theirs[:, 2] > 0]
    assert len(theirs) > 10
    assert among(ours, theirs, 1e-9).all()


@golden("credible", "curve")
def test_curves_of_credible(case):
    check_credible(case)


@golden("credible", "score")
def test_curves_with_areas_of_credible(case):
    check_credible(case)
    outputs = case["outputs"]
    curve = credible_curve(case)
    true = case.get("sklearn_auc", case.get("sklearn_ap"))
    assert curve.area.mean().item() == pytest.approx(true, abs=4 * curve.area.mcse().item() + 0.02)
    # The area's interval: theirs is that of hulls within the boxes, too wide as well, but not the thesis' own.
    ours = curve.area_of_band(case["inputs"]["coverage"])
    theirs = [outputs[name] for name in (("auc_lower", "auc_upper") if "auc" in outputs else ("ap_lower", "ap_upper"))]
    assert ours[0] < true < ours[1]
    assert np.abs(ours - theirs).min() > 1e-3


def credible_curve(case):
    prior = {1.0: "flat", 0.5: "jeffreys"}[case["inputs"]["lambda_"]]
    make = {"r": bp.roc_curve, "p": bp.precision_recall_curve, "d": bp.det_curve}[case["id"][0]]
    return make(*data_of(case), method="beta", prior=prior)


def check_credible(case):
    curve, outputs = credible_curve(case), case["outputs"]
    thresholds = np.array(outputs["thresholds"], float)
    names = {"recall" if name == "tpr" else name: name for name in ("fpr", "tpr", "fnr", "precision", "recall")
             if name in outputs}  # fmt: skip
    assert set(names) == set(curve.dataset)
    for ours, theirs in names.items():
        expected = np.stack([outputs[f"{theirs}_lower"], outputs[f"{theirs}_upper"]], -1)
        band = curve.band(case["inputs"]["coverage"])[ours].sel(threshold=thresholds)
        np.testing.assert_allclose(band, expected, atol=1e-9)
        # Their points are modes of the posteriors, which are the observed rates under a flat prior alone.
        if case["inputs"]["lambda_"] == 1:
            np.testing.assert_allclose(curve.dataset[ours].sel(threshold=thresholds), outputs[theirs], atol=1e-12)


# ── Masses: the Bayesian bootstrap of the classes ──


def test_share_above_a_threshold_is_beta():
    """Of n scores without ties, k at least the threshold: the weighted share is Beta(k, n − k)."""
    y, score = normal_scores(12, 30)
    drawn = Bootstrapped(scores_of(y, score), 20_000, 0, False, on_scores)
    fpr, recall = (np.concatenate(blocks) for blocks in zip(*drawn.rates(), strict=True))
    for threshold, found, label in ((0.5, recall, 1), (1.0, recall, 1), (0.0, fpr, 0)):
        above = score[y == label] >= threshold
        k, n = above.sum(), above.size
        assert 0 < k < n
        at = np.flatnonzero(drawn.thresholds >= threshold)[-1]
        assert stats.kstest(found[:, at], stats.beta(k, n - k).cdf).pvalue > 1e-3


def test_ties_are_one_step():
    """Equal scores weigh together: the share of k of n examples is Beta(k, n − k) whatever the ties among them."""
    score = np.array([2, 2, 2, 1, 1, 0, 0, 0, 0.0])
    drawn = Bootstrapped(Scores(np.sort(score), np.array([0.5])), 20_000, 1, False, on_scores)
    _, recall = (np.concatenate(blocks) for blocks in zip(*drawn.rates(), strict=True))
    np.testing.assert_array_equal(drawn.thresholds, [np.inf, 2, 1, 0.5, 0])
    assert stats.kstest(recall[:, 1], stats.beta(3, 6).cdf).pvalue > 1e-3
    assert stats.kstest(recall[:, 2], stats.beta(5, 4).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(recall[:, [0, 4]], np.tile([0.0, 1.0], (20_000, 1)))


def test_gaps_are_passed_in_equal_parts():
    # From the top: P N N P | N. Thresholds between them lie in gaps 1, 1, 1 and 2 of the positives' three.
    called = np.array([0, 1, 1, 1, 2, 2])
    sizes, places = on_gaps(called)
    np.testing.assert_array_equal(sizes, [1, 1, 1])
    np.testing.assert_allclose(places, [0, 1 + 1 / 6, 1 + 3 / 6, 1 + 5 / 6, 2.5, 3])
    masses = Masses.of(on_gaps(called), np.array([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(masses.everywhere()[0], [0, 8 / 48, 2 / 8, 16 / 48, 5.5 / 8, 1])


def test_gaps_cut_at_the_scores_are_dirichlet():
    """Down to a score the share is Beta(k, n + 1 − k), that of order statistics; half a gap further on, between."""
    positive = np.arange(6.0)
    drawn = Bootstrapped(Scores(positive, np.array([2.5])), 40_000, 3, False)
    _, recall = (np.concatenate(blocks) for blocks in zip(*drawn.rates(), strict=True))
    # At threshold 4 two are called; one more threshold shares no gap with it: half of the third gap is passed.
    rng = np.random.default_rng(0)
    gaps = rng.dirichlet(np.ones(7), 40_000)
    expected = gaps[:, :2].sum(1) + gaps[:, 2] / 2
    assert stats.ks_2samp(recall[:, 2], expected).pvalue > 1e-3
    assert recall[:, 2].mean() == pytest.approx(2.5 / 7, abs=4 * recall[:, 2].std() / 200)


@pytest.mark.parametrize("steps", [on_scores, on_gaps])
@every_data
def test_curves_along_a_grid(data, steps):
    """Against a walk along the corners of each curve."""
    grid = np.array([0, 0.013, 0.2, 0.25, 0.5, 0.77, 1.0])
    drawn = Bootstrapped(scores_of(*data), 20, 0, False, steps)
    fpr, recall = (np.concatenate(blocks) for blocks in zip(*drawn.rates(), strict=True))
    np.testing.assert_array_equal(fpr[:, [0, -1]], np.tile([0.0, 1.0], (20, 1)))
    np.testing.assert_allclose(drawn.recall(grid), [walked(*r, grid, max) for r in zip(fpr, recall, strict=True)])
    np.testing.assert_allclose(drawn.fpr(grid), [walked(*r, grid, min) for r in zip(recall, fpr, strict=True)],
                               atol=1e-12)  # fmt: skip


def walked(xs, ys, grid, choose):
    """Return the greatest or least y of a broken line at each x."""
    found = []
    for x in grid:
        values = [y for a, y in zip(xs, ys, strict=True) if a == x]
        for (a, b), (c, d) in zip(pairwise(xs), pairwise(ys), strict=True):
            if a < x < b:
                values.append(c + (d - c) * (x - a) / (b - a))
        found.append(choose(values))
    return found


def test_blocks_change_no_figure(monkeypatch):
    y, score = DATA["continuous"]
    whole = bp.roc_curve(y, score, draws=50)
    band, point = whole.band(), whole.operating_point(cost=(1, 2))
    monkeypatch.setattr(_bootstrap, "_BLOCK", 700)
    again = bp.roc_curve(y, score, draws=50)
    xr.testing.assert_allclose(again.band(), band, rtol=1e-12)
    xr.testing.assert_identical(again.operating_point(cost=(1, 2)).threshold.draws(50), point.threshold.draws(50))
    assert not again.band().equals(bp.roc_curve(y, score, draws=50, random_seed=1).band())


# ── Bands ──


@every_data
@pytest.mark.parametrize("make", CURVES)
def test_bands_hold_the_curve_and_each_other(make, data):
    curve = make(*data, draws=200)
    narrow, wide, whole = curve.band(0.5), curve.band(0.9), curve.band(0.9, "simultaneous")
    ((name, band),) = wide.items()
    assert name == curve.shape.y
    assert band.dims == (curve.shape.x, "ci_bound")
    assert ((band >= 0) & (band <= 1)).all()
    observed = curve.shape.along(Observed(curve.scores), band[curve.shape.x].values)[0]
    for inner, outer in ((narrow, wide), (wide, whole)):
        # Where curves differ by one number a simultaneous band is a pointwise one, but ends at draws, not between them.
        slack = 2e-3 if np.ptp(data[1]) == 0 else 0
        assert (inner[name].sel(ci_bound="lower") >= outer[name].sel(ci_bound="lower") - slack).all()
        assert (inner[name].sel(ci_bound="upper") <= outer[name].sel(ci_bound="upper") + slack).all()
    assert ((observed >= band[:, 0]) & (observed <= band[:, 1])).all()
    assert wide.attrs == {"ci_prob": 0.9, "kind": "pointwise", "method": "bayesian_bootstrap"}
    assert whole.attrs["kind"] == "simultaneous"


def test_grids():
    y, score = normal_scores(20, 99)
    for make, name in ((bp.roc_curve, "fpr"), (bp.precision_recall_curve, "recall")):
        grid = make(y, score, draws=10).band()[name].values
        np.testing.assert_allclose(grid, np.linspace(0, 1, 201)[-len(grid) :], atol=1e-15)
    deviates = ndtri(bp.det_curve(y, score, draws=10).band()["fpr"].values)
    np.testing.assert_allclose(deviates, np.linspace(ndtri(0.01), -ndtri(0.01), 201), atol=1e-12)


def test_det_is_roc_upside_down():
    det = bp.det_curve(*DATA["continuous"])
    fpr = det.band()["fpr"].values
    expected = np.quantile(1 - Bootstrapped(det.scores, 1000, 0, False).recall(fpr), [0.05, 0.95], axis=0).T
    band = det.band(0.9)["fnr"].values
    # The observed curve makes it wider at its ends.
    np.testing.assert_allclose(band[40:150], expected[40:150], atol=1e-12)
    assert (expected[:, 0] >= band[:, 0] - 1e-12).all()
    assert (expected[:, 1] <= band[:, 1] + 1e-12).all()


def test_rank_envelope():
    """By definition: every curve is tried at every rank."""
    rng = np.random.default_rng(0)
    curves = np.cumsum(rng.normal(size=(120, 30)), axis=1)
    curves[:, 4], curves[:, 7] = 0.0, np.round(curves[:, 7])
    ordered = np.sort(curves, axis=0)

    def inside(rank):
        return np.mean([(c >= ordered[rank - 1]).all() and (c <= ordered[-rank]).all() for c in curves])

    ranks = [rank for rank in range(1, 60) if inside(rank) >= 0.8]
    assert max(ranks) > 1
    np.testing.assert_array_equal(
        _bands.simultaneous(curves, 0.8), np.stack([ordered[max(ranks) - 1], ordered[-max(ranks)]], -1)
    )  # fmt: skip


def test_rank_envelope_holds_new_curves():
    """Of exchangeable curves it holds as many new ones as it says, within what its own draws leave open."""
    rng = np.random.default_rng(1)
    curves, new = np.cumsum(rng.normal(size=(2, 4000, 40)), axis=2)
    lower, upper = _bands.simultaneous(curves, 0.9).T
    held = ((new >= lower) & (new <= upper)).all(1).mean()
    assert held == pytest.approx(0.9, abs=0.02)


def test_precision_is_interpolated_by_counts():
    """Davis & Goadrich (2006), table 1: from 5 true and 5 false positives to 10 and 30, of 20 positives."""
    positive, negative = np.repeat([3, 2, 1], [5, 5, 10]), np.repeat([3, 2, 1], [5, 25, 1970])
    observed = Observed(Scores(np.sort(positive).astype(float), np.sort(negative).astype(float)))
    found = PRECISION_RECALL.along(observed, np.array([0.25, 0.3, 0.35, 0.4, 0.45, 0.5]))
    np.testing.assert_allclose(found[0], [0.5, 0.375, 0.318, 0.286, 0.265, 0.25], atol=5e-4)


def test_precision_varies_with_the_share_of_positives():
    """Where all is called positive, precision is that share: Beta(positives, negatives)."""
    y, score = normal_scores(30, 70)
    curve = bp.precision_recall_curve(y, score, draws=20_000)
    drawn = curve.shape.along(Bootstrapped(curve.scores, 20_000, 0, False), np.array([1.0]))[:, 0]
    assert stats.kstest(drawn, stats.beta(30, 70).cdf).pvalue > 1e-3


def test_beta_band_is_the_posterior_at_each_threshold():
    y, score = DATA["tied"]
    for make, names in ((bp.roc_curve, ("fpr", "recall")), (bp.precision_recall_curve, ("recall", "precision"))):
        band = make(y, score, method="beta", prior="jeffreys").band(0.8)
        thresholds = band["threshold"].values
        # A finite threshold above all scores calls none positive, too.
        finite = np.where(np.isinf(thresholds), 99, thresholds)
        post = bp.posterior(bp.ConfusionMatrix.from_scores(y, score, thresholds=finite), prior="jeffreys")
        for name in names:
            lower, upper = post[name].eti(0.8).values.T
            lower, upper = np.where(band[name][:, 0] > 0, lower, 0), np.where(band[name][:, 1] < 1, upper, 1)
            np.testing.assert_allclose(band[name], np.stack([lower, upper], -1), rtol=1e-12)
        assert band.attrs == {"ci_prob": 0.8, "kind": "pointwise", "method": "beta"}
    assert band["recall"].values[0, 0] == 0
    assert band["recall"].values[-1, 1] == 1


def test_area_of_the_beta_band():
    """By hand, a corner at a time."""
    y, score = np.array([0, 1, 0, 1]), np.array([0.1, 0.4, 0.5, 0.9])
    low = {k: stats.beta(k + 1, 3 - k).ppf(0.025) if k else 0.0 for k in range(3)}
    high = {k: stats.beta(k + 1, 3 - k).ppf(0.975) if k < 2 else 1.0 for k in range(3)}
    # Called positive of the positives, and of the negatives, as the threshold falls.
    called = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]
    worst = [(0, 0), *((high[fp], low[tp]) for tp, fp in called)]
    best = [*((low[fp], high[tp]) for tp, fp in called), (1, 1)]
    expected = [np.trapezoid(*np.transpose(corners)[::-1]) for corners in (worst, best)]
    found = bp.roc_curve(y, score, method="beta").area_of_band()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    curve = bp.precision_recall_curve(y, score, method="beta")
    band = curve.band()
    steps = np.diff(band["recall"].values, axis=0)
    precision = band["precision"].values
    expected = band["recall"].values[0] * precision[0] + (steps * precision[1:]).sum(0)
    expected += (1 - band["recall"].values[-1]) * precision[-1]
    np.testing.assert_allclose(curve.area_of_band(), expected, rtol=1e-12)


# ── Areas ──


def test_area_is_that_of_the_curve():
    y, score = DATA["continuous"]
    auc = sklearn_metrics.roc_auc_score(y, score)
    curve = bp.roc_curve(y, score, draws=4000)
    for area in (curve.area, curve.partial_area(0, 1)):
        assert area.mean().item() == pytest.approx(auc, abs=4 * area.mcse().item())
    drawn = (area.draws(4000).values for area in (curve.area, curve.partial_area(0, 1)))
    assert stats.ks_2samp(*drawn).pvalue > 1e-3
    assert curve.area.name == "roc_auc"
    average_precision = bp.precision_recall_curve(y, score).area
    assert average_precision.name == "average_precision"
    expected = bp.weighted_score("average_precision", y, score).mean()
    assert average_precision.mean().item() == pytest.approx(expected.item(), abs=0.01)


@every_data
@pytest.mark.parametrize(("low", "high"), [(0, 0.1), (0, 1), (0.2, 0.65), (0.5, 1)])
def test_partial_areas(data, low, high):
    observed = Observed(scores_of(*data))
    ((fpr, recall),) = observed.rates()
    inside = np.unique(np.concatenate([fpr[0], np.linspace(low, high, 4001)]))
    inside = inside[(inside >= low) & (inside <= high)]
    # From the right at the start and the left at the end of a stretch, curves being steep at some places.
    right, left = (np.array(walked(fpr[0], recall[0], inside, choose)) for choose in (max, min))
    expected = (np.diff(inside) * (right[:-1] + left[1:]) / 2).sum()
    assert observed.areas(low, high).item() == pytest.approx(expected, abs=1e-12)
    if low == 0:
        theirs = sklearn_metrics.roc_auc_score(*data, max_fpr=high)
        least = high**2 / 2
        standardised = (1 + (expected - least) / (high - least)) / 2 if high < 1 else expected
        assert standardised == pytest.approx(theirs, abs=1e-12)


def test_partial_areas_add_up():
    curve = bp.roc_curve(*DATA["tied"], draws=50)
    parts = [curve.partial_area(*ends).draws(50).values for ends in ((0, 0.3), (0.3, 1), (0, 1))]
    np.testing.assert_allclose(parts[0] + parts[1], parts[2], rtol=1e-12)
    assert curve.partial_area(0.2, 0.5).bounds == (0, 0.3)
    assert curve.partial_area(0.2, 0.5).estimand == (
        "Posterior of the system's area under the ROC curve from fpr 0.2 to 0.5 (Bayesian bootstrap)"
    )


# ── The binormal curve ──


@pytest.fixture(scope="module")
def binormal():
    return bp.roc_curve(*normal_scores(150, 250, 1.3), method="binormal", draws=2000)


def test_binormal_band(binormal):
    drawn = binormal._drawn
    band = binormal.band(0.9)["recall"]
    at = np.array([0.05, 0.3, 0.8])
    expected = np.quantile(ndtr(drawn.a + drawn.b * ndtri(at)), [0.05, 0.95], axis=0).T
    np.testing.assert_allclose(band.sel(fpr=at, method="nearest"), expected, atol=1e-9)
    # What one can say of normal scores without a model of them: least squares of moments.
    positive, negative = binormal.scores.positive, binormal.scores.negative
    a, b = (positive.mean() - negative.mean()) / positive.std(), negative.std() / positive.std()
    assert (band[1:-1, 0] < ndtr(a + b * ndtri(band["fpr"][1:-1]))).all()
    assert (band[1:-1, 1] > ndtr(a + b * ndtri(band["fpr"][1:-1]))).all()
    narrower = binormal.band() - bp.roc_curve(*normal_scores(150, 250, 1.3)).band()
    assert narrower["recall"].mean("fpr").values[1] < 0 < narrower["recall"].mean("fpr").values[0]


def test_binormal_areas(binormal):
    """Quadrature against the closed form of the area, draw by draw, and against SciPy's integral."""
    drawn = binormal._drawn
    np.testing.assert_allclose(
        binormal._integral(0, 1), ndtr(drawn.a / np.sqrt(1 + drawn.b**2))[:, 0], atol=1e-7
    )  # fmt: skip
    a, b = drawn.a[0, 0], drawn.b[0, 0]
    expected = integrate.quad(lambda x: ndtr(a + b * ndtri(x)), 0.05, 0.2, epsabs=1e-12)[0]
    assert binormal._integral(0.05, 0.2)[0] == pytest.approx(expected, abs=1e-10)
    assert binormal.partial_area(0.05, 0.2).estimand.endswith("(scores normal in either class)")
    assert binormal.area.mean().item() == pytest.approx(binormal.partial_area(0, 1).mean().item(), abs=0.004)


def test_binormal_precision(binormal):
    curve = bp.precision_recall_curve(*normal_scores(150, 250, 1.3), method="binormal", draws=500)
    drawn = curve._drawn
    share, a, b = drawn.prevalence[3, 0], drawn.a[3, 0], drawn.b[3, 0]

    def precision(recall):
        fpr = ndtr((ndtri(recall) - a) / b)
        return share * recall / (share * recall + (1 - share) * fpr)

    assert curve._curves[3, 99] == pytest.approx(precision(0.5), rel=1e-12)
    expected = integrate.quad(precision, 0, 1, epsabs=1e-10, limit=200)[0]
    assert curve._integral(0, 1)[3] == pytest.approx(expected, abs=1e-6)
    assert curve.area.name == "average_precision"
    empirical = sklearn_metrics.average_precision_score(*normal_scores(150, 250, 1.3))
    assert curve.area.eti().values[0] < empirical < curve.area.eti().values[1]


def test_binormal_operating_point(binormal):
    """In closed form the threshold of a false positive rate is a quantile of the negatives."""
    point = binormal.operating_point(fpr=0.1)
    drawn = binormal._drawn
    exact = drawn.mean[:, 0] - drawn.spread[:, 0] * ndtri(0.1)
    gap = np.diff(np.sort(np.concatenate([binormal.scores.positive, binormal.scores.negative]))).mean()
    assert point.threshold.mean().item() == pytest.approx(exact.mean(), abs=2 * gap)
    assert point.threshold.sd().item() == pytest.approx(exact.std(), rel=0.1)


# ── Operating points ──


TARGETS = [{"fpr": 0.1}, {"fpr": 0.5}, {"recall": 0.9}, {"recall": 0.35}, {"cost": (1, 5)}, {"cost": (2.0, 1, 0.02)}]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@every_data
def test_observed_operating_point(data, target):
    """Every threshold is tried."""
    y, score = data
    tried = []
    for threshold in [np.inf, *np.unique(score)[::-1]]:
        fpr, recall = ((score[y == label] >= threshold).mean() for label in (0, 1))
        tried.append((threshold, fpr, recall))
    if "fpr" in target:
        expected = min(row for row in tried if row[1] <= target["fpr"])
    elif "recall" in target:
        expected = max(row for row in tried if row[2] >= target["recall"])
    else:
        of_fp, of_fn, *rest = target["cost"]
        share = rest[0] if rest else y.mean()
        costs = [(1 - share) * of_fp * fpr + share * of_fn * (1 - recall) for _, fpr, recall in tried]
        expected = min(row for row, cost in zip(tried, costs, strict=True) if cost <= min(costs) + 1e-12)
    point = bp.roc_curve(y, score, draws=10).operating_point(**target)
    found = [point.observed[name].item() for name in ("threshold", "fpr", "recall")]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_drawn_operating_points(target):
    """In every draw the rule holds, and for the next threshold it would not."""
    y, score = DATA["continuous"]
    curve = bp.roc_curve(y, score, draws=300)
    point = curve.operating_point(**target)
    values = {name: getattr(point, name)._distribution.values.ravel() for name in ("threshold", "fpr", "recall")}
    fpr, recall = (np.concatenate(blocks) for blocks in zip(*curve._drawn.rates(), strict=True))
    thresholds = [np.inf, *np.unique(score)[::-1]]
    share = np.random.default_rng([0, 1]).beta(40, 60, 300)
    for draw in range(300):
        at = thresholds.index(values["threshold"][draw])
        assert fpr[draw, at] == values["fpr"][draw]
        assert recall[draw, at] == values["recall"][draw]
        if "fpr" in target:
            assert fpr[draw, at] <= target["fpr"] < fpr[draw, at + 1]
        elif "recall" in target:
            assert recall[draw, at] >= target["recall"] > recall[draw, at - 1]
        else:
            of_fp, of_fn, *rest = target["cost"]
            pi = rest[0] if rest else share[draw]
            costs = (1 - pi) * of_fp * fpr[draw] + pi * of_fn * (1 - recall[draw])
            assert costs[at] == costs.min()


def test_threshold_of_a_false_positive_rate_is_a_quantile():
    """The threshold's distribution against that of the quantile in closed form: Beta order statistics.

    The lowest threshold with fpr ≤ t is at least a score if fpr just above it exceeds t.
    """
    negative = np.arange(1.0, 21)
    curve = bp.roc_curve(np.repeat([1, 0], [1, 20]), np.array([0.0, *negative]), draws=20_000)
    threshold = curve.operating_point(fpr=0.25).threshold
    # Between the fifth and the sixth greatest the share above is at most ¼ if five and a half gaps of 21 are.
    gaps = np.random.default_rng(0).dirichlet(np.ones(21), 200_000)
    for k in (3, 5, 8):
        expected = (gaps[:, :k].sum(1) + gaps[:, k] / 2 <= 0.25).mean()
        found = (threshold._distribution.values <= 21 - k).mean()
        assert found == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 20_000) + 0.001)


def test_operating_point_shows_itself():
    y, score = DATA["separated"]
    point = bp.roc_curve(y, score, draws=100).operating_point(fpr=0.05)
    table = point.summary(0.8, "eti")
    assert table["metric"].tolist() == ["threshold", "fpr", "recall"]
    assert table["observed"].tolist() == [2.0, 0.0, 1.0]
    # Nothing may be called positive in draws in which even the greatest gap of the negatives is too likely.
    assert table["ci_upper"][0] == np.inf
    assert table.attrs["prior"] == "Bayesian bootstrap"
    assert repr(point) == (
        "<bayesperf.curves.OperatingPoint: lowest threshold with fpr ≤ 0.05: threshold 2, fpr 0, recall 1>"
    )
    assert "lowest threshold" in point._repr_html_()
    assert repr(bp.roc_curve(y, score)) == (
        "<bayesperf.Curve: roc by bayesian_bootstrap, 2 positives, 2 negatives>"
    )  # fmt: skip


# ── Degenerate data ──


def test_constant_scores_are_chance():
    y, score = DATA["constant"]
    curve = bp.roc_curve(y, score, draws=20)
    for kind in ("pointwise", "simultaneous"):
        band = curve.band(kind=kind)["recall"]
        np.testing.assert_allclose(band, np.repeat(band["fpr"].values[:, None], 2, axis=1), atol=1e-12)
    assert curve.partial_area(0, 0.5).mean().item() == pytest.approx(0.125)
    assert curve.operating_point(fpr=0.1).observed["threshold"] == np.inf
    assert curve.operating_point(recall=0.1).observed["threshold"] == 0.3


def test_one_example_of_each_class():
    """The one threshold between them cuts in two the lower gap of the positive and the upper one of the negative."""
    band = bp.roc_curve([1, 0], [1.0, 0.0], draws=20_000).band()["recall"].sel(fpr=0.5).values
    u, v = np.random.default_rng(1).random((2, 200_000)) / 2
    fpr, recall = u, 0.5 + v
    drawn = recall + (1 - recall) * (0.5 - fpr) / (1 - fpr)
    assert band[0] == pytest.approx(np.quantile(drawn, 0.025), abs=0.004)
    assert band[1] == 1


# ── Errors ──


@pytest.mark.parametrize("make", CURVES)
@pytest.mark.parametrize(
    ("y", "score", "options", "words"),
    [
        ([0, 0], [1, 2], {}, "y_true must hold two classes"),
        ([0, 1, 2], [1, 2, 3], {}, "y_true must hold two classes"),
        (["a", "b"], [1, 2], {}, "which of the labels"),
        (["a", "b"], [1, 2], {"pos_label": "c"}, "pos_label='c' is not among the labels"),
        ([0, 1], [1, np.nan], {}, "y_score has 1 missing value"),
        ([0, 1], [1, np.inf], {}, "y_score holds inf, which as a threshold means"),
        ([0, 1], [np.inf, 1], {}, "y_score holds inf"),
        ([0, 1], [1, 2, 3], {}, "unequal length: y_true 2, y_score 3"),
        ([0, 1], [[1, 2]], {}, "y_score must be one-dimensional"),
        ([0, 1], [1, 2], {"method": "delong"}, "method must be one of 'bayesian_bootstrap', 'beta', 'binormal'"),
        ([0, 1], [1, 2], {"prior": "flat"}, "prior is of method='beta'"),
        ([0, 1], [1, 2], {"method": "beta", "prior": "flt"}, "prior must be one of"),
        ([0, 1], [1, 2], {"draws": 1}, "draws must be a whole number of at least 2"),
        ([0, 1], [1, 2], {"random_seed": -1}, "random_seed must be"),
    ],
)
def test_bad_arguments(make, y, score, options, words):
    with pytest.raises(ValueError, match=words):
        make(y, score, **options)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c.band(1.0), "ci_prob must be a number between 0 and 1"),
        (lambda c: c.band(kind="uniform"), "kind must be one of 'pointwise', 'simultaneous'"),
        (lambda c: c.area_of_band(), "area_of_band is of ROC and precision–recall curves with method='beta'"),
        (lambda c: c.partial_area(0.5, 0.5), "low and high must be false positive rates"),
        (lambda c: c.partial_area(-0.1, 0.5), "low and high must be false positive rates"),
        (lambda c: c.partial_area(np.nan, 0.5), "low and high must be false positive rates"),
        (lambda c: c.operating_point(fpr=0), "fpr must be a number between 0 and 1"),
        (lambda c: c.operating_point(recall=1.2), "recall must be a number between 0 and 1"),
        (lambda c: c.operating_point(cost=(1, 0)), "both costs must be greater than 0"),
        (lambda c: c.operating_point(cost=(1, 1, 1)), "cost: the prevalence must be a number between 0 and 1"),
    ],
)
def test_bad_questions(ask, words):
    with pytest.raises(ValueError, match=words):
        ask(bp.roc_curve(*DATA["two"], draws=10))


def test_questions_of_other_curves():
    data = DATA["continuous"]
    with pytest.raises(ValueError, match="kind='simultaneous' is not to be had by method='beta'"):
        bp.roc_curve(*data, method="beta").band(kind="simultaneous")
    with pytest.raises(ValueError, match="a DET curve's area is not in use"):
        _ = bp.det_curve(*data).area
    with pytest.raises(ValueError, match="partial_area is of ROC curves"):
        bp.precision_recall_curve(*data).partial_area(0, 0.1)
    with pytest.raises(ValueError, match="area_of_band is of ROC"):
        bp.det_curve(*data, method="beta").area_of_band()
    with pytest.raises(TypeError, match="one target: fpr, recall or cost; it got none"):
        bp.roc_curve(*data).operating_point()
    with pytest.raises(TypeError, match="it got fpr, recall"):
        bp.roc_curve(*data).operating_point(fpr=0.1, recall=0.9)
    with pytest.raises(TypeError, match=r"cost must be \(cost_fp, cost_fn\)"):
        bp.roc_curve(*data).operating_point(cost=3)
    with pytest.raises(ValueError, match="haldane"):
        bp.roc_curve(*data, method="beta", prior="haldane").band()
    with pytest.raises(ValueError, match="infinite"):
        bp.roc_curve([0, 0, 1, 1], [-np.inf, 0, 1, 2], method="binormal").band()


def test_a_curve_draws_itself():
    figure = bp.det_curve(*DATA["continuous"], draws=50).plot(ci_prob=0.8, kind="simultaneous")
    assert "simultaneous 80 % band" in figure.axes[0].get_title()


# ── What bands cover ──


def coverage(draw_bands, simulations):
    """Return the share of data sets in which each of some bands holds what it should."""
    return np.mean([draw_bands(np.random.default_rng([9, index])) for index in range(simulations)], axis=0)


@pytest.mark.slow
def test_weights_on_the_scores_alone_miss_the_curve():
    """Why bands have weights on gaps: at an AUC of .95 the observed curve runs at 1, where scores have no width."""
    grid = np.linspace(0.05, 0.95, 181)
    mean = np.sqrt(2) * ndtri(0.95)
    true = ndtr(mean + ndtri(grid))

    def held(rng):
        scores = Scores(np.sort(rng.normal(mean, 1, 50)), np.sort(rng.normal(0, 1, 50)))
        found = []
        for steps in (on_scores, on_gaps):
            drawn = Bootstrapped(scores, 1000, 0, False, steps).recall(grid)
            lower, upper = _bands.simultaneous(drawn, 0.95).T
            found.append(((lower <= true) & (true <= upper)).all())
        return found

    of_scores, of_gaps = coverage(held, 60)
    assert of_scores < 0.3
    assert of_gaps > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 60)


@pytest.mark.slow
def test_precision_recall_and_det_bands_cover():
    """Whole curves of binormal scores, the classes as frequent as they come, between recall or fpr .05 and .95."""
    mean = np.sqrt(2) * ndtri(0.8)

    def held(rng):
        y = (rng.random(200) < 0.4).astype(int)
        score = rng.normal(mean * y)
        precision = (
            bp.precision_recall_curve(y, score).band(kind="simultaneous")["precision"].sel(recall=slice(0.05, 0.95))
        )
        recall = precision["recall"].values
        true = 0.4 * recall / (0.4 * recall + 0.6 * ndtr(ndtri(recall) - mean))
        fnr = bp.det_curve(y, score).band(kind="simultaneous")["fnr"].sel(fpr=slice(0.05, 0.95))
        of_det = ndtr(-mean - ndtri(fnr["fpr"].values))
        return [
            bool(((t >= b[:, 0]) & (t <= b[:, 1])).all()) for t, b in ((true, precision.values), (of_det, fnr.values))
        ]

    assert (coverage(held, 150) > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 150)).all()


@pytest.mark.slow
def test_operating_points_and_partial_areas_cover():
    mean = np.sqrt(2) * ndtri(0.8)
    rates = [ndtr(mean + ndtri(0.1)), ndtr(ndtri(0.9) - mean), -ndtri(0.1)]
    area = integrate.quad(lambda x: ndtr(mean + ndtri(x)), 0, 0.2)[0]

    def held(rng):
        y = np.repeat([1, 0], 100)
        curve = bp.roc_curve(y, rng.normal(mean * y))
        by_fpr, by_recall = curve.operating_point(fpr=0.1), curve.operating_point(recall=0.9)
        marginals = by_fpr.recall, by_recall.fpr, by_fpr.threshold, curve.partial_area(0, 0.2)
        ends = [m.eti().values for m in marginals]
        return [low <= true <= high for (low, high), true in zip(ends, [*rates, area], strict=True)]

    found = coverage(held, 200)
    np.testing.assert_allclose(found, 0.95, atol=4 * np.sqrt(0.95 * 0.05 / 200))


@pytest.mark.slow
def test_area_of_the_beta_band_is_too_wide():
    mean = np.sqrt(2) * ndtri(0.8)

    def held(rng):
        y = np.repeat([1, 0], 100)
        low, high = bp.roc_curve(y, rng.normal(mean * y), method="beta").area_of_band().values
        return [low <= 0.8 <= high]

    assert coverage(held, 300) > 0.97
