"""Expected performance curves: points and draws against other packages, enumeration and exact posteriors."""

from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.counts.classifier_scores import Scores
from bayesperf.curves import epc, equal_error_threshold
from bayesperf.curves.expected_performance.criteria import CRITERIA, candidates, counts_at_thresholds, minimisers
from tests.shared.epc import ALPHAS, DEV, HTER, TEST, fractions, normal, tied
from tests.shared.golden import golden

GOLDEN = {case["id"]: case for name in ("epc", "bob") for case in golden(name)["cases"]}


def scored(negatives, positives):
    return np.repeat([0, 1], [len(negatives), len(positives)]), np.concatenate([negatives, positives])


# ── The figures of bob.measure ──


def test_the_curve_of_bob():
    """At α = 0.2 and 0.4 two thresholds minimise the criterion: ours is the lower, bob's the higher."""
    case = GOLDEN["rel-epc-031"]
    inputs = case["inputs"]
    dev, test = (scored(inputs[f"{part}_negatives"], inputs[f"{part}_positives"]) for part in ("dev", "test"))
    alphas, hter, thresholds = map(np.array, case["outputs"]["epc"])
    found = epc(dev, test, alphas=alphas).dataset
    apart = np.isin(np.arange(11), [2, 4])
    np.testing.assert_allclose(found["threshold"][~apart], thresholds[~apart], rtol=1e-14)
    np.testing.assert_allclose(found[HTER][~apart], hter[~apart], rtol=1e-14)
    np.testing.assert_allclose(found[HTER], (found["fpr"] + found["fnr"]) / 2, rtol=1e-14)
    for i in np.flatnonzero(apart):
        rates = [fractions(dev[0], dev[1] >= cut) for cut in (found["threshold"].values[i], thresholds[i])]
        ours, theirs = (VALUES["far_frr"](Fraction(int(i), 10), *at) for at in rates)
        assert ours == theirs
        assert found["threshold"].values[i] < thresholds[i]
    # At their thresholds our figures are theirs.
    cm = bp.ConfusionMatrix.from_scores(*test, thresholds=np.unique(thresholds))
    np.testing.assert_allclose(bp.score(cm, "hter").sel(threshold=thresholds), hter, rtol=1e-14)


@pytest.mark.parametrize("case", [c for name, c in GOLDEN.items() if "thresholds" in name], ids=lambda c: c["id"])
def test_the_thresholds_of_bob(case):
    """Where several thresholds minimise the weighted error rate, bob takes now the first, now the last of them."""
    y, score = scored(case["inputs"]["negatives"], case["inputs"]["positives"])
    peer = case["outputs"]
    assert equal_error_threshold(y, score) == pytest.approx(peer["eer_threshold"], rel=1e-14)
    chosen = {0.5: peer["min_hter_threshold"]} | {float(k): v for k, v in peer["min_wer_thresholds"].items()}
    scores = Scores.of(y, score)
    cuts = candidates(scores)
    places = minimisers(CRITERIA["far_frr"], counts_at_thresholds(scores, cuts), list(chosen))
    unequal = 0
    for ours, (alpha, theirs) in zip(cuts[places], chosen.items(), strict=True):
        tp, fp = scores.called([ours, theirs])
        error = alpha * fp / len(scores.negative) + (1 - alpha) * (1 - tp / len(scores.positive))
        assert error[0] == pytest.approx(error[1], abs=1e-15)
        assert ours <= theirs + 1e-12
        unequal += ours < theirs - 1e-12
    # At 0 and 1 one error rate alone counts, and thresholds tie: tiny twice, ties twice or thrice.
    assert unequal <= 3


@pytest.mark.parametrize("case", [c for name, c in GOLDEN.items() if "farfrr" in name], ids=lambda c: c["id"])
def test_the_error_rates_of_bob(case):
    inputs = case["inputs"]
    scores = Scores.of(*scored(inputs["negatives"], inputs["positives"]))
    cells = counts_at_thresholds(scores, np.array([inputs["threshold"]]))
    rates = {name: bp.metrics.get(name).evaluate(cells, 1).item() for name in ("far", "frr")}
    assert rates == pytest.approx(case["outputs"], rel=1e-15)


# ── The points, by enumeration ──

VALUES = {
    "far_frr": lambda a, far, frr, precision, recall: a * far + (1 - a) * frr,
    "precision_recall": lambda a, far, frr, precision, recall: (
        None if precision is None else -(a * precision + (1 - a) * recall)
    ),
    "far": lambda a, far, frr, precision, recall: abs(a - far),
    "frr": lambda a, far, frr, precision, recall: abs(a - frr),
}


@pytest.mark.parametrize("criterion", VALUES)
@pytest.mark.parametrize("seed", range(4))
def test_thresholds_are_the_lowest_that_minimise(criterion, seed):
    dev, test = tied(14 + 5 * seed, seed), normal(30, seed=seed + 50)
    y, score = dev
    levels = np.unique(score)
    grid = [levels[0], *((levels[:-1] + levels[1:]) / 2), np.inf]
    rates = [fractions(y, score >= cut) for cut in grid]
    expected = []
    for k in range(21):
        value = [VALUES[criterion](Fraction(k, 20), *at) for at in rates]
        least = min(v for v in value if v is not None)
        expected.append(grid[value.index(least)])
    curve = epc(dev, test, criterion=criterion, alphas=np.linspace(0, 1, 21))
    np.testing.assert_array_equal(curve.dataset["threshold"], expected)


def test_ties_are_found_however_they_round():
    """0.25·(9/10) and 0.75·(3/10) are one number, of which floating point makes two, less at the higher threshold."""
    dev = scored([1] + 9 * [4], 3 * [3] + 7 * [6])
    assert 0.25 * 0.9 > 0.75 * 0.3
    assert epc(dev, TEST, alphas=[0.25]).dataset["threshold"].item() == 2.0


@pytest.mark.parametrize("metric", ["hter", "f1", "far", "recall", "accuracy", "mcc", "f2", "recall_macro", "npv"])
def test_points_are_those_of_the_matrix_at_the_thresholds(metric):
    curve = epc(DEV, TEST, metric=metric, alphas=ALPHAS)
    name = bp.metrics.get(metric).name
    for alpha, cut in zip(ALPHAS, curve.dataset["threshold"].values, strict=True):
        cm = bp.ConfusionMatrix.from_scores(*TEST, thresholds=cut).isel(threshold=0)
        for shown in {name, "fpr", "fnr"}:
            assert curve.dataset[shown].sel(alpha=alpha).item() == bp.score(cm, shown).item()
        np.testing.assert_array_equal(curve.cm.sel(alpha=alpha).counts, cm.counts)


def test_order_labels_and_scale_do_not_matter():
    order = np.random.default_rng(0).permutation(len(TEST[0]))
    reference = epc(DEV, TEST)
    shuffled = epc(DEV, (TEST[0][order], TEST[1][order]))
    xr.testing.assert_identical(shuffled.dataset, reference.dataset)
    xr.testing.assert_identical(shuffled.band(), reference.band())
    words = [(np.array(["no", "yes"])[y].tolist(), score.tolist()) for y, score in (DEV, TEST)]
    xr.testing.assert_identical(epc(*words, pos_label="yes").dataset, reference.dataset)
    moved = epc((DEV[0], 3 * DEV[1] - 1), (TEST[0], 3 * TEST[1] - 1))
    xr.testing.assert_allclose(moved.dataset.drop_vars("threshold"), reference.dataset.drop_vars("threshold"))


def test_candidates_between_extreme_scores():
    above = np.nextafter(1.0, 2)
    scores = Scores(np.array([1.0, np.inf]), np.array([-np.inf, 1.0, above]))
    np.testing.assert_array_equal(candidates(scores), [-np.inf, 1.0, above, np.inf])
    finite = Scores(np.array([-1.7e308]), np.array([1.7e308]))
    np.testing.assert_array_equal(candidates(finite), [-1.7e308, 1.7e308, np.inf])


def test_constant_scores_call_all_or_none_positive():
    y = np.repeat([0, 1], 10)
    found = epc((y, np.full(20, 0.5)), (y[5:], np.full(15, 0.5)), alphas=[0.2, 0.5, 0.8]).dataset
    np.testing.assert_array_equal(found["threshold"], [0.5, 0.5, np.inf])
    np.testing.assert_array_equal(found["fpr"], [1, 1, 0])
    np.testing.assert_array_equal(found[HTER], 0.5)


def test_infinite_scores():
    y, score = scored([-np.inf, 0, 1], [0.5, np.inf, np.inf])
    found = epc((y, score), TEST, alphas=[0, 0.4, 0.6]).dataset
    # Between −∞ and 0, and between 1 and ∞, there is no middle: what scores ∞ is called positive at ∞.
    np.testing.assert_array_equal(found["threshold"], [-np.inf, 0.25, np.inf])
    np.testing.assert_array_equal(found["fnr"][[0, 2]], [0, 1])


def test_a_point_undefined_on_the_test_set_is_nan():
    far_below = (TEST[0], TEST[1] - 100)
    curve = epc(DEV, far_below, metric="precision", criterion="precision_recall", alphas=[0.5])
    assert np.isnan(curve.dataset["precision"].item())
    # Not so its posterior: the prior has examples there.
    np.testing.assert_allclose(curve.band()["precision"], [[0.025, 0.975]], atol=0.03)
    with pytest.raises(ValueError, match=r"'precision' is undefined \(0/0\) in every draw"):
        epc(DEV, far_below, metric="precision", alphas=[0.5], prior="haldane").band()


# ── The draws ──


@pytest.mark.parametrize("prior", ["flat", "jeffreys", bp.prior.dirichlet([[5, 1], [0.5, 2]])])
@pytest.mark.parametrize("metric", ["hter", "f1", "fnr"])
def test_draws_at_every_alpha_are_of_the_exact_posterior(metric, prior):
    curve = epc(DEV, TEST, metric=metric, prior=prior, alphas=[0, 0.3, 0.5, 1], draws=4000)
    drawn, name = curve.posterior[metric].draws(1500), bp.metrics.get(metric).name
    for alpha in curve.alphas:
        exact = bp.posterior(curve.cm.sel(alpha=alpha), prior)[metric]
        assert stats.kstest(exact.cdf(np.sort(drawn.sel(alpha=alpha).values)), "uniform").pvalue > 1e-3
        # Of 4,000 draws a share q lies below a bound, with error √(q(1 − q)/n).
        below = exact.cdf(curve.band()[name].sel(alpha=alpha).values)
        np.testing.assert_allclose(below, [0.025, 0.975], atol=4.5 * np.sqrt(0.025 * 0.975 / 4000))


def test_draws_belong_together_along_alpha():
    """Covariance of two Dirichlet shares, one within the other: p(1 − q)/(W + 1)."""
    curve = epc(DEV, TEST, alphas=ALPHAS, draws=40_000)
    fpr = curve.posterior["fpr"].draws(40_000).transpose("alpha", "draw").values
    counts = curve.cm.counts.sel(actual=0)
    p = ((counts.sel(predicted=1) + 0.5) / (counts.sum("predicted") + 1)).values
    weight = counts.sum("predicted").values[0] + 1
    expected = np.minimum.outer(p, p) * (1 - np.maximum.outer(p, p)) / (weight + 1)
    # The error of a sample covariance of near-normal draws.
    error = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / 40_000)
    assert (np.abs(np.cov(fpr) - expected) < 4.5 * error).all()


def test_the_bootstrap_resamples_test_examples():
    curve = epc(DEV, TEST, metric="accuracy", alphas=[0.5], method="bootstrap", draws=20_000)
    n, right = len(TEST[0]), round(len(TEST[0]) * curve.dataset["accuracy"].item())
    counts = np.round(n * curve.posterior["accuracy"].draws(20_000).values.ravel()).astype(int)
    seen = np.bincount(counts, minlength=n + 1)
    expected = 20_000 * stats.binom.pmf(np.arange(n + 1), n, right / n)
    often = expected > 10
    chi = ((seen - expected)[often] ** 2 / expected[often]).sum()
    assert stats.chi2.sf(chi, often.sum()) > 1e-3
    # Of F1, resampled example by example.
    rng = np.random.default_rng(5)
    y, called = TEST[0], TEST[1] >= curve.dataset["threshold"].item()
    rows = rng.integers(n, size=(3000, n))
    tp, wrong = (y[rows] & called[rows]).sum(1), (y[rows] != called[rows]).sum(1)
    f1 = epc(DEV, TEST, metric="f1", alphas=[0.5], method="bootstrap", draws=3000).posterior["f1"].draws(3000)
    assert stats.ks_2samp(2 * tp / (2 * tp + wrong), f1.values.ravel()).pvalue > 1e-3


@pytest.mark.parametrize("method", ["bayesian_bootstrap", "bootstrap"])
@pytest.mark.parametrize("criterion", ["far_frr", "precision_recall", "frr"])
def test_both_sets_drawn_anew_by_a_loop(method, criterion):
    """Thresholds and test figures of 400 draws, one by one, from weights of every example."""
    dev, test = tied(60, 8, step=0.125), normal(70, seed=9)
    rng = np.random.default_rng(3)
    grid = candidates(Scores.of(*dev))

    def weights(n):
        return rng.standard_exponential(n) if method == "bayesian_bootstrap" else rng.multinomial(n, np.full(n, 1 / n))

    def rates(sample, weight, cut):
        y, called = sample[0] == 1, sample[1] >= cut
        tp, fp = weight[y & called].sum(), weight[~y & called].sum()
        far, recall = fp / weight[~y].sum(), tp / weight[y].sum()
        return far, 1 - recall, tp / (tp + fp) if tp + fp else None, recall

    expected = []
    for _ in range(400):
        weight = weights(60)
        values = [VALUES[criterion](0.4, *rates(dev, weight, cut)) for cut in grid]
        least = min(v for v in values if v is not None)
        cut = next(c for c, v in zip(grid, values, strict=True) if v is not None and v <= least + 1e-12)
        far, frr, *_ = rates(test, weights(70), cut)
        expected.append((far + frr) / 2)
    prior = "haldane" if method == "bayesian_bootstrap" else None
    curve = epc(dev, test, criterion=criterion, alphas=[0.4], method=method, prior=prior, resample="both", draws=4000)
    drawn = curve.posterior["hter"].draws(4000).values.ravel()
    assert stats.ks_2samp(expected, drawn).pvalue > 1e-3
    fixed = epc(dev, test, criterion=criterion, alphas=[0.4], method=method, prior=prior, draws=4000)
    assert curve.posterior["fpr"].sd().item() > 1.2 * fixed.posterior["fpr"].sd().item()


def test_a_resample_without_a_class_is_undefined():
    dev = (np.array([0, 0, 0, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    curve = epc(dev, TEST, alphas=[0.5], method="bootstrap", resample="both", draws=4000)
    share = (4 / 5) ** 5 + (1 / 5) ** 5
    error = np.sqrt(share * (1 - share) / 4000)
    assert curve.posterior["hter"].undefined().item() == pytest.approx(share, abs=4 * error)
    assert np.isfinite(curve.band()[HTER]).all()
    assert np.isfinite(curve.band(kind="simultaneous")[HTER]).all()


def test_draws_in_blocks_are_of_the_same_distribution(monkeypatch):
    options = {"alphas": ALPHAS, "draws": 60, "resample": "both"}
    whole = epc(DEV, TEST, **options).posterior["hter"].draws(60)
    monkeypatch.setattr("bayesperf.curves.expected_performance.interval_counts._AT_ONCE", 2000)
    parts = epc(DEV, TEST, **options).posterior["hter"].draws(60)
    assert parts.shape == whole.shape
    np.testing.assert_allclose(parts.mean("draw"), whole.mean("draw"), atol=5 * whole.std("draw").max() / np.sqrt(30))


def test_bands():
    curve = epc(DEV, TEST, alphas=np.arange(21) / 20, draws=1000)
    drawn = curve.posterior["hter"].distribution.values[:, 0]
    for prob in (0.5, 0.95):
        pointwise, whole = (curve.band(prob, kind)[HTER] for kind in ("pointwise", "simultaneous"))
        np.testing.assert_allclose(pointwise.T, np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2], axis=1))
        inside = [((b[:, :1].values <= drawn) & (drawn <= b[:, 1:].values)).all(0).mean() for b in (pointwise, whole)]
        assert inside[0] < prob <= inside[1] < prob + 0.02
        assert (whole.sel(ci_bound="lower") <= pointwise.sel(ci_bound="lower")).all()
    attrs = curve.band(0.8, "simultaneous").attrs
    expected = {"ci_prob": 0.8, "ci_kind": "eti", "kind": "simultaneous", "criterion": "far_frr", "metric": HTER}
    assert expected.items() <= attrs.items()
    xr.testing.assert_identical(epc(DEV, TEST, alphas=np.arange(21) / 20, draws=1000).band(), curve.band())
    assert not epc(DEV, TEST, alphas=np.arange(21) / 20, draws=1000, random_seed=1).band().identical(curve.band())


def test_area_is_the_integral():
    curve = epc(DEV, TEST)
    assert curve.area.draws(1000).mean() == pytest.approx(np.trapezoid(curve.posterior["hter"].mean(), curve.alphas))
    assert curve.area.dims == ()
    assert curve.area.eti()[0] < np.trapezoid(curve.dataset[HTER], curve.alphas) < curve.area.eti()[1]


# ── Without a development set ──


def test_folds_choose_on_all_others():
    y, score = normal(90, seed=4)
    fold = np.random.default_rng(1).permutation(np.repeat(["x", "y", "z"], 30))
    curve = epc(test=(y, score), folds=fold, alphas=ALPHAS, draws=4000)
    counts = np.zeros((5, 2, 2), dtype=int)
    for name in "xyz":
        own = fold == name
        thresholds = epc((y[~own], score[~own]), TEST, alphas=ALPHAS).dataset["threshold"]
        np.testing.assert_array_equal(curve.dataset["threshold"].sel(fold=name), thresholds)
        for i, cut in enumerate(thresholds.values):
            np.add.at(counts[i], (y[own], (score[own] >= cut).astype(int)), 1)
    np.testing.assert_array_equal(curve.cm.counts, counts)
    drawn = curve.posterior["hter"].draws(1500)
    for alpha in (0.3, 0.5):
        exact = bp.posterior(curve.cm.sel(alpha=alpha))["hter"]
        assert stats.kstest(exact.cdf(np.sort(drawn.sel(alpha=alpha))), "uniform").pvalue > 1e-3
    assert set(curve.expected_performance().data_vars) == {"E_V1", "E_V2", "G", "interval"}


def test_a_fold_may_hold_one_class():
    y, score = normal(40, seed=6)
    fold = np.where(y == 1, np.arange(40) % 3, 3)
    with pytest.raises(ValueError, match="without fold 3 the rest hold one class only"):
        epc(test=(y, score), folds=fold)
    fold[y == 0] = np.arange((y == 0).sum()) % 2 + 3
    assert epc(test=(y, score), folds=fold).cm.total.values.tolist() == [40] * 101
