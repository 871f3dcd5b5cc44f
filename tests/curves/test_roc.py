"""ROC, precision–recall and DET curves: their points, other packages' figures, and what they refuse."""

import numpy as np
import pytest
import xarray as xr
from scipy import integrate
from scipy.special import ndtr, ndtri
from scipy.stats import ks_2samp
from sklearn import metrics as sklearn_metrics

import bayesperf as bp
from bayesperf.curves.roc.curve_draws import integral
from tests.shared.curves import CURVES, DATA, every_data, normal_scores
from tests.shared.golden import golden

GOLDEN = golden("curves")["cases"]


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
    det = bp.curves.det_curve(y, score).dataset
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


def cases_of(peer, function):
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


@cases_of("bob.measure", "roc")
def test_roc_points_of_bob(case):
    """At n_points false positive rates, spaced in logarithms: all of them points of ours."""
    curve = bp.roc_curve(*data_of(case)).dataset
    ours = np.stack([curve["fpr"], 1 - curve["recall"]], -1)
    assert among(ours, np.transpose(case["outputs"]["curve"]), 1e-12).all()


@cases_of("bob.measure", "det")
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


@cases_of("bob.measure", "area_under_the_curve")
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


@cases_of("credible", "curve")
def test_curves_of_credible(case):
    check_credible(case)


@cases_of("credible", "score")
def test_curves_with_areas_of_credible(case):
    check_credible(case)
    curve = credible_curve(case)
    true = case.get("sklearn_auc", case.get("sklearn_ap"))
    if "sklearn_ap" in case:
        # With few positives the sum of steps is biased upward.
        with pytest.warns(UserWarning, match="positives"):
            assert curve.area.mean().item() < true
    else:
        assert curve.area.observed.item() == pytest.approx(true)


def credible_curve(case):
    prior = {1.0: "flat", 0.5: "jeffreys"}[case["inputs"]["lambda_"]]
    make = {"r": bp.roc_curve, "p": bp.precision_recall_curve, "d": bp.curves.det_curve}[case["id"][0]]
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


# ── The binormal curve ──


@pytest.fixture(scope="module")
def binormal():
    return bp.roc_curve(*normal_scores(150, 250, 1.3), method="binormal", draws=2000)


def test_binormal_band(binormal):
    (drawn,) = binormal._drawn_curves
    band = binormal.band(0.9)["recall"]
    at = np.array([0.05, 0.3, 0.8])
    expected = np.quantile(ndtr(drawn.a + drawn.b * ndtri(at)), [0.05, 0.95], axis=0).T
    np.testing.assert_allclose(band.sel(fpr=at, method="nearest"), expected, atol=1e-9)
    # What one can say of normal scores without a model of them: least squares of moments.
    scores = binormal.parts[""].scores
    positive, negative = scores.positive, scores.negative
    a, b = (positive.mean() - negative.mean()) / positive.std(), negative.std() / positive.std()
    assert (band[1:-1, 0] < ndtr(a + b * ndtri(band["fpr"][1:-1]))).all()
    assert (band[1:-1, 1] > ndtr(a + b * ndtri(band["fpr"][1:-1]))).all()
    narrower = binormal.band() - bp.roc_curve(*normal_scores(150, 250, 1.3)).band()
    assert narrower["recall"].mean("fpr").values[1] < 0 < narrower["recall"].mean("fpr").values[0]


def test_binormal_areas(binormal):
    """Quadrature against the closed form of the area, draw by draw, and against SciPy's integral."""
    (drawn,) = binormal._drawn_curves
    closed_form = ndtr(drawn.a / np.sqrt(1 + drawn.b**2))[:, 0]
    np.testing.assert_allclose(integral(drawn.recall, 0, 1), closed_form, atol=1e-7)
    a, b = drawn.a[0, 0], drawn.b[0, 0]
    expected = integrate.quad(lambda x: ndtr(a + b * ndtri(x)), 0.05, 0.2, epsabs=1e-12)[0]
    assert integral(drawn.recall, 0.05, 0.2)[0] == pytest.approx(expected, abs=1e-10)
    assert binormal.partial_area(0.05, 0.2).estimand.startswith("Binormal posterior of the system's area")
    assert binormal.area.mean().item() == pytest.approx(binormal.partial_area(0, 1).mean().item(), abs=0.004)


def test_binormal_precision(binormal):
    curve = bp.precision_recall_curve(*normal_scores(150, 250, 1.3), method="binormal", draws=500)
    (drawn,) = curve._drawn_curves
    share, a, b = drawn.prevalence[3, 0], drawn.a[3, 0], drawn.b[3, 0]

    def precision(recall):
        fpr = ndtr((ndtri(recall) - a) / b)
        return share * recall / (share * recall + (1 - share) * fpr)

    assert curve.joint_draws()["precision"].values[99, 3] == pytest.approx(precision(0.5), rel=1e-12)
    expected = integrate.quad(precision, 0, 1, epsabs=1e-10, limit=200)[0]
    areas = integral(lambda recall: curve.curve_kind.along(drawn, recall), 0, 1)
    assert areas[3] == pytest.approx(expected, abs=1e-6)
    assert curve.area.name == "average_precision"
    empirical = sklearn_metrics.average_precision_score(*normal_scores(150, 250, 1.3))
    assert curve.area.eti().values[0] < empirical < curve.area.eti().values[1]


def test_binormal_operating_point(binormal):
    """In closed form the threshold of a false positive rate is a quantile of the negatives."""
    point = binormal.operating_point(fpr=0.1)
    (drawn,) = binormal._drawn_curves
    exact = drawn.mean[:, 0] - drawn.spread[:, 0] * ndtri(0.1)
    scores = binormal.parts[""].scores
    gap = np.diff(np.sort(np.concatenate([scores.positive, scores.negative]))).mean()
    assert point["threshold"].mean().item() == pytest.approx(exact.mean(), abs=2 * gap)
    assert point["threshold"].sd().item() == pytest.approx(exact.std(), rel=0.1)


# ── Degenerate data ──


def test_constant_scores_are_chance():
    y, score = DATA["constant"]
    curve = bp.roc_curve(y, score, draws=20)
    for kind in ("pointwise", "simultaneous"):
        band = curve.band(kind=kind)["recall"]
        np.testing.assert_allclose(band, np.repeat(band["fpr"].values[:, None], 2, axis=1), atol=1e-12)
    assert curve.partial_area(0, 0.5).mean().item() == pytest.approx(0.125)
    assert curve.operating_point(fpr=0.1)["threshold"].observed == np.inf
    assert curve.operating_point(recall=0.1)["threshold"].observed == 0.3


@pytest.mark.slow
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
        (["a", "b"], [1, 2], {"pos_label": "c"}, "pos_label: 'c' is not among the labels"),
        ([0, 1], [1, np.nan], {}, "y_score has 1 missing value"),
        ([0, 1], [1, np.inf], {}, "y_score holds inf, which as a threshold means"),
        ([0, 1], [np.inf, 1], {}, "y_score holds inf"),
        ([0, 1], [1, 2, 3], {}, "unequal length: y_true 2, y_score 3"),
        ([0, 1], [[1, 2]], {}, "y_score must be one-dimensional"),
        ([0, 1], [1, 2], {"method": "delong"}, "method must be one of 'bayesian_bootstrap', 'beta', 'binormal'"),
        ([0, 1], [1, 2], {"prior": "flat"}, "prior applies to method='beta'"),
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
        (
            lambda c: c.band(method="wald"),
            "method must be one of 'wilson', 'clopper_pearson', 'agresti_coull'; it is 'wald'",
        ),
        (lambda c: c.band(0.9, "simultaneous", "wilson"), "kind='simultaneous' is not to be had by method='wilson'"),
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
        _ = bp.curves.det_curve(*data).area
    with pytest.raises(ValueError, match="partial_area is of ROC curves"):
        bp.precision_recall_curve(*data).partial_area(0, 0.1)
    with pytest.raises(TypeError, match="one target: fpr, recall or cost; it got none"):
        bp.roc_curve(*data).operating_point()
    with pytest.raises(TypeError, match="it got fpr, recall"):
        bp.roc_curve(*data).operating_point(fpr=0.1, recall=0.9)
    with pytest.raises(TypeError, match=r"cost must be \(cost_fp, cost_fn\)"):
        bp.roc_curve(*data).operating_point(cost=3)
    with pytest.raises(ValueError, match="Haldane"):
        bp.roc_curve(*data, method="beta", prior="haldane").band()
    with pytest.raises(ValueError, match="infinite"):
        bp.roc_curve([0, 0, 1, 1], [-np.inf, 0, 1, 2], method="binormal").band()


def test_a_curve_draws_itself():
    figure = bp.curves.det_curve(*DATA["continuous"], draws=50).plot(ci_prob=0.8, kind="simultaneous")
    assert "simultaneous 80 % band" in figure.axes[0].get_title()


# ── Clusters ──


def clustered(clusters, size, seed=0):
    """Return labels and scores whose clusters differ, and the clusters; both classes are in every one."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    y = np.tile([0, 1], clusters * size // 2)
    return y, 1.5 * y + rng.normal(size=clusters)[cluster] + rng.normal(size=len(y)), cluster


@pytest.mark.slow
def test_draws_of_clusters_by_a_loop():
    y, score, cluster = clustered(20, 6)
    order = np.random.default_rng(1).permutation(len(y))
    names = np.array(list("abcdefghijklmnopqrst"))[cluster]
    curve = bp.roc_curve(y[order], score[order], cluster=names[order], draws=4000)
    rng = np.random.default_rng(2)
    areas = []
    for _ in range(600):
        weights = rng.gamma(18 / 20, 20 / 18, size=20)[cluster]
        # Either class has half a cluster more, of 3 examples, whose rank is uniform.
        seen, (u, v), more = (
            sklearn_metrics.roc_auc_score(y, score, sample_weight=weights),
            rng.random(2),
            rng.gamma(0.5, 3, 2),
        )
        s, t = (e / (e + weights[y == k].sum()) for k, e in zip((1, 0), more, strict=True))
        areas.append((1 - s) * (1 - t) * seen + s * (1 - t) * u + (1 - s) * t * v + s * t / 2)
    assert ks_2samp(areas, curve.area.joint_draws(4000).values).pvalue > 1e-3
    at = curve.operating_point(cost=(1, 1))
    prevalence = curve._drawn_curves[0].prevalence[:, 0]
    # Every cluster has as many of either class.
    np.testing.assert_allclose(prevalence, 0.5, rtol=1e-12)
    assert at["recall"].sd() > 0
    assert "of clusters" in curve.area.estimand


@pytest.mark.slow
def test_clusters_that_differ_widen_the_band_and_single_ones_do_not():
    _, score, cluster = clustered(24, 20)
    # Every cluster is of one class.
    y = cluster % 2
    score = score + 1.5 * (y - np.tile([0, 1], len(y) // 2))
    alone, drawn = bp.roc_curve(y, score), bp.roc_curve(y, score, cluster=cluster)
    width = [float(np.ptp(curve.band()["recall"].values, axis=-1)[20:-60].mean()) for curve in (alone, drawn)]
    assert width[1] > 1.5 * width[0]
    single = bp.roc_curve(y, score, cluster=np.arange(len(y)))
    # Near the ends half of a gap's weight is a neighbour's.
    bands = [curve.band()["recall"].values[10:-10] for curve in (single, alone)]
    np.testing.assert_allclose(*bands, atol=0.04)
    assert single.area.sd().item() == pytest.approx(alone.area.sd().item(), rel=0.15)


def test_bad_clusters():
    y, score, cluster = clustered(20, 6)
    with pytest.raises(ValueError, match="cluster applies to method='bayesian_bootstrap'"):
        bp.roc_curve(y, score, cluster=cluster, method="beta")
    with pytest.raises(ValueError, match="cluster: there is only one"):
        bp.roc_curve(y, score, cluster=0 * cluster)
    with pytest.raises(ValueError, match="columns of unequal length: y_score 120, cluster 5"):
        bp.roc_curve(y, score, cluster=cluster[:5])
    with pytest.raises(ValueError, match="method: 'wilson' takes examples to be independent"):
        bp.roc_curve(y, score, cluster=cluster).band(method="wilson")
