"""Curves: the Bayesian bootstrap of the classes, bands and areas."""

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats
from scipy.special import ndtr, ndtri
from sklearn import metrics as sklearn_metrics
from statsmodels.stats.proportion import proportion_confint

import bayesperf as bp
from bayesperf.core import weights
from bayesperf.curves.curve import simultaneous
from bayesperf.curves.roc.called_positive import PartOfCurve, PositiveRates, steps_between_scores
from bayesperf.curves.roc.curve_draws import CURVE_KINDS, BootstrappedCurves, observed_curve
from bayesperf.data.classifier_scores import Scores
from tests.shared.curves import CURVES, DATA, every_data, normal_scores


def scores_of(y, score):
    return Scores.of(y, score)


# ── The Bayesian bootstrap of the classes ──


def test_gaps_are_passed_in_equal_parts():
    # From the top: P N N P | N. Thresholds between them lie in gaps 1, 1, 1 and 2 of the positives' three.
    called = np.array([0, 1, 1, 1, 2, 2])
    sizes, positions = steps_between_scores(called)
    np.testing.assert_array_equal(sizes, [1, 1, 1])
    np.testing.assert_allclose(positions, [0, 1 + 1 / 6, 1 + 3 / 6, 1 + 5 / 6, 2.5, 3])
    rates = PositiveRates.of(steps_between_scores(called), np.array([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(rates.at()[0], [0, 8 / 48, 2 / 8, 16 / 48, 5.5 / 8, 1])


def test_gaps_cut_at_the_scores_are_dirichlet():
    """Down to a score the share is Beta(k, n + 1 − k), that of order statistics; half a gap further on, between."""
    positive = np.arange(6.0)
    drawn = BootstrappedCurves(Scores(positive, np.array([2.5])), 40_000, 3, False)
    _, recall = (np.concatenate(blocks) for blocks in zip(*drawn.rates(), strict=True))
    # At threshold 4 two are called; one more threshold shares no gap with it: half of the third gap is passed.
    rng = np.random.default_rng(0)
    gaps = rng.dirichlet(np.ones(7), 40_000)
    expected = gaps[:, :2].sum(1) + gaps[:, 2] / 2
    assert stats.ks_2samp(recall[:, 2], expected).pvalue > 1e-3
    assert recall[:, 2].mean() == pytest.approx(2.5 / 7, abs=4 * recall[:, 2].std() / 200)


@every_data
def test_curves_along_a_grid(data):
    """Against a walk along the corners of each curve."""
    grid = np.array([0, 0.013, 0.2, 0.25, 0.5, 0.77, 1.0])
    drawn = BootstrappedCurves(scores_of(*data), 20, 0, False)
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
    monkeypatch.setattr(weights, "_AT_ONCE", 700)
    again = bp.roc_curve(y, score, draws=50)
    xr.testing.assert_allclose(again.band(), band, rtol=1e-12)
    xr.testing.assert_identical(
        again.operating_point(cost=(1, 2))["threshold"].joint_draws(50), point["threshold"].joint_draws(50)
    )
    assert not again.band().equals(bp.roc_curve(y, score, draws=50, random_seed=1).band())


# ── Bands ──


@pytest.mark.few
@every_data
@pytest.mark.parametrize("make", CURVES)
def test_bands_hold_the_curve_and_each_other(make, data):
    curve = make(*data, draws=200)
    narrow, wide, whole = curve.band(0.5), curve.band(0.9), curve.band(0.9, "simultaneous")
    ((name, band),) = wide.items()
    assert name == curve.curve_kind.y
    assert band.dims == (curve.curve_kind.x, "ci_bound")
    assert ((band >= 0) & (band <= 1)).all()
    observed = curve.curve_kind.along(observed_curve(curve.parts[""].scores), band[curve.curve_kind.x].values)[0]
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
    deviates = ndtri(bp.curves.det_curve(y, score, draws=10).band()["fpr"].values)
    np.testing.assert_allclose(deviates, np.linspace(ndtri(0.01), -ndtri(0.01), 201), atol=1e-12)


def test_det_is_roc_upside_down():
    det = bp.curves.det_curve(*DATA["continuous"])
    fpr = det.band()["fpr"].values
    recall = BootstrappedCurves(det.parts[""].scores, 1000, 0, False).recall(fpr)
    expected = np.quantile(1 - recall, [0.05, 0.95], axis=0).T
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
        simultaneous(curves, 0.8), np.stack([ordered[max(ranks) - 1], ordered[-max(ranks)]], -1)
    )  # fmt: skip


def test_rank_envelope_holds_new_curves():
    """Of exchangeable curves it holds as many new ones as it says, within what its own draws leave open."""
    rng = np.random.default_rng(1)
    curves, new = np.cumsum(rng.normal(size=(2, 4000, 40)), axis=2)
    lower, upper = simultaneous(curves, 0.9).T
    held = ((new >= lower) & (new <= upper)).all(1).mean()
    assert held == pytest.approx(0.9, abs=0.02)


def test_precision_is_interpolated_by_counts():
    """Davis & Goadrich (2006), table 1: from 5 true and 5 false positives to 10 and 30, of 20 positives."""
    positive, negative = np.repeat([3, 2, 1], [5, 5, 10]), np.repeat([3, 2, 1], [5, 25, 1970])
    observed = observed_curve(Scores(np.sort(positive).astype(float), np.sort(negative).astype(float)))
    found = CURVE_KINDS["precision_recall"].along(observed, np.array([0.25, 0.3, 0.35, 0.4, 0.45, 0.5]))
    np.testing.assert_allclose(found[0], [0.5, 0.375, 0.318, 0.286, 0.265, 0.25], atol=5e-4)


def test_precision_varies_with_the_share_of_positives():
    """Where all is called positive, precision is that share: Beta(positives, negatives)."""
    y, score = normal_scores(30, 70)
    curve = bp.precision_recall_curve(y, score, draws=20_000)
    drawn = curve.curve_kind.along(BootstrappedCurves(curve.parts[""].scores, 20_000, 0, False), np.array([1.0]))[:, 0]
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


@pytest.mark.few
@pytest.mark.parametrize(
    ("method", "peer"), [("wilson", "wilson"), ("clopper_pearson", "beta"), ("agresti_coull", "agresti_coull")]
)
@pytest.mark.parametrize("name", ["continuous", "tied", "separated", "two"])
def test_confidence_intervals_at_each_threshold_are_those_of_statsmodels(method, peer, name):
    y, score = DATA[name]
    curves = {make: make(y, score, draws=10) for make in CURVES}
    for curve in curves.values():
        band = curve.band(0.9, method=method)
        called = score >= band["threshold"].values[:, None]
        tp, fp = (called & (y == 1)).sum(-1), (called & (y == 0)).sum(-1)
        trials = {"recall": (tp, (y == 1).sum()), "fpr": (fp, (y == 0).sum()),
                  "fnr": ((y == 1).sum() - tp, (y == 1).sum()), "precision": (tp, tp + fp)}  # fmt: skip
        assert set(band) == {curve.curve_kind.x, curve.curve_kind.y}
        assert band.attrs == {"ci_prob": 0.9, "kind": "pointwise", "method": method}
        for rate, found in band.items():
            k, n = np.broadcast_arrays(*trials[rate])
            some = n > 0
            expected = np.clip(np.stack(proportion_confint(k[some], n[some], 0.1, peer), -1), 0, 1)
            np.testing.assert_allclose(found.values[some], expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(found.values[~some], np.tile([0.0, 1.0], ((~some).sum(), 1)))
            observed = curve.dataset[rate].values
            assert (found.values[:, 0] <= observed + 1e-12).all()
            assert (observed - 1e-12 <= found.values[:, 1]).all()


# ── Areas ──


def test_area_is_that_of_the_curve():
    y, score = DATA["continuous"]
    auc = sklearn_metrics.roc_auc_score(y, score)
    curve = bp.roc_curve(y, score, draws=4000)
    assert curve.area.observed.item() == pytest.approx(auc)
    xr.testing.assert_identical(curve.area.eti(), curve.partial_area(0, 1, standardized=True).eti())
    assert curve.area.name == "roc_auc"
    average_precision = bp.precision_recall_curve(y, score).area
    assert average_precision.name == "average_precision"
    expected = bp.curves.weighted_score("average_precision", y, score).mean()
    assert average_precision.mean().item() == pytest.approx(expected.item(), abs=0.01)


@pytest.mark.few
@every_data
@pytest.mark.parametrize(("low", "high"), [(0, 0.1), (0, 1), (0.2, 0.65), (0.5, 1)])
def test_partial_areas(data, low, high):
    observed = observed_curve(scores_of(*data))
    ((fpr, recall),) = observed.rates()
    inside = np.unique(np.concatenate([fpr[0], np.linspace(low, high, 401)]))
    inside = inside[(inside >= low) & (inside <= high)]
    # From the right at the start and the left at the end of a stretch, curves being steep at some places.
    right, left = (np.array(walked(fpr[0], recall[0], inside, choose)) for choose in (max, min))
    expected = (np.diff(inside) * (right[:-1] + left[1:]) / 2).sum()
    assert observed.areas(PartOfCurve("fpr", low, high, standardized=False)).item() == pytest.approx(
        expected, abs=1e-12
    )
    if low == 0:
        theirs = sklearn_metrics.roc_auc_score(*data, max_fpr=high)
        least = high**2 / 2
        standardised = (1 + (expected - least) / (high - least)) / 2 if high < 1 else expected
        assert standardised == pytest.approx(theirs, abs=1e-12)


@every_data
@pytest.mark.parametrize(("low", "high"), [(0, 0.3), (0.2, 0.9)])
def test_areas_beside_the_curve_are_those_under_it_turned_round(data, low, high):
    y, score = data
    observed, turned = (
        observed_curve(scores_of(y, score)),
        observed_curve(scores_of(1 - np.asarray(y), -np.asarray(score))),
    )
    beside = observed.areas(PartOfCurve("recall", low, high, standardized=True)).item()
    under = turned.areas(PartOfCurve("fpr", 1 - high, 1 - low, standardized=True)).item()
    assert beside == pytest.approx(under, abs=1e-12)
    fpr, recall = (rate[0] for rate in next(observed.rates()))
    at = np.linspace(low, high, 200_001)
    # A level step at an edge is of no width.
    whole = np.trapezoid(1 - np.interp(at, recall + np.arange(len(recall)) * 1e-13, fpr), at)
    plain = observed.areas(PartOfCurve("recall", low, high, standardized=False)).item()
    assert plain == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize("method", ["bayesian_bootstrap", "binormal"])
@pytest.mark.parametrize("rate", ["fpr", "recall"])
def test_partial_areas_are_of_the_curves_of_the_band(method, rate):
    curve = bp.roc_curve(*DATA["continuous"], method=method, draws=200)
    grid = np.linspace(0.6, 0.9, 8001)
    heights = curve._drawn_curves[0].recall(grid) if rate == "fpr" else 1 - curve._drawn_curves[0].fpr(grid)
    found = curve.partial_area(0.6, 0.9, rate=rate)
    np.testing.assert_allclose(found.distribution.values[0, 0], np.trapezoid(heights, grid), atol=3e-4)
    standardized = curve.partial_area(0.6, 0.9, rate=rate, standardized=True)
    ends = (0.6, 0.9) if rate == "fpr" else (0.1, 0.4)
    least, most = (ends[1] ** 2 - ends[0] ** 2) / 2, 0.3
    expected = (1 + (found.distribution.values - least) / (most - least)) / 2
    np.testing.assert_allclose(standardized.distribution.values, expected, atol=1e-12)
    assert standardized.bounds[1] == pytest.approx(1)
    assert "standardised" in standardized.estimand


@every_data
@pytest.mark.parametrize("most", [0.1, 0.5, 1])
def test_standardised_areas_are_those_of_scikit_learn(data, most):
    area = bp.roc_auc(*data, fpr=(0, most), standardized=True, draws=2)
    assert area.observed.item() == pytest.approx(sklearn_metrics.roc_auc_score(*data, max_fpr=most), abs=1e-12)


def test_bad_parts():
    data = DATA["continuous"]
    with pytest.raises(TypeError, match="fpr and recall: a part of the curve lies between two rates of one kind"):
        bp.roc_auc(*data, fpr=(0, 0.1), recall=(0, 1))
    with pytest.raises(TypeError, match="standardized applies to a part of the curve"):
        bp.roc_auc(*data, standardized=True)
    with pytest.raises(ValueError, match="recall must be recalls, 0 ≤ low < high ≤ 1"):
        bp.roc_auc(*data, recall=(0.5, 0.5))
    with pytest.raises(ValueError, match="method, of a part of the curve, must be"):
        bp.roc_auc(*data, fpr=(0, 0.1), method="delong")
    with pytest.raises(ValueError, match="rate must be one of"):
        bp.roc_curve(*data).partial_area(0, 0.1, rate="fnr")


def test_partial_areas_add_up():
    curve = bp.roc_curve(*DATA["tied"], draws=50)
    parts = [curve.partial_area(*ends).joint_draws(50).values for ends in ((0, 0.3), (0.3, 0.8), (0, 0.8))]
    np.testing.assert_allclose(parts[0] + parts[1], parts[2], rtol=1e-12)
    assert curve.partial_area(0.2, 0.5).bounds == (0, 0.3)
    assert curve.partial_area(0.2, 0.5).estimand == (
        "Bayesian bootstrap of the system's area under the ROC curve from fpr 0.2 to 0.5"
    )


# ── What bands cover ──


def coverage(draw_bands, simulations):
    """Return the share of data sets in which each of some bands holds what it should."""
    return np.mean([draw_bands(np.random.default_rng([9, index])) for index in range(simulations)], axis=0)


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
        fnr = bp.curves.det_curve(y, score).band(kind="simultaneous")["fnr"].sel(fpr=slice(0.05, 0.95))
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
        marginals = by_fpr["recall"], by_recall["fpr"], by_fpr["threshold"], curve.partial_area(0, 0.2)
        ends = [m.eti().values for m in marginals]
        return [low <= true <= high for (low, high), true in zip(ends, [*rates, area], strict=True)]

    found = coverage(held, 200)
    np.testing.assert_allclose(found, 0.95, atol=4 * np.sqrt(0.95 * 0.05 / 200))
