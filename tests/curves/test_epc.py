"""Expected performance curves: points and draws against other packages, enumeration and exact posteriors."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.curves import break_even_threshold, epc, epc_a_posteriori, equal_error_threshold
from bayesperf.curves.expected_performance.criteria import (
    CRITERIA,
    candidates,
    counts_at_thresholds,
    minimisers,
    thinned,
)
from bayesperf.data.classifier_scores import Scores
from tests.shared.epc import ALPHAS, DEV, HTER, TEST, fractions, normal, tied
from tests.shared.golden import golden

GOLDEN = {case["id"]: case for name in ("epc", "bob") for case in golden(name)["cases"]}


def scored(negatives, positives):
    return np.repeat([0, 1], [len(negatives), len(positives)]), np.concatenate([negatives, positives])


# ── The figures of bob.measure ──


def test_the_curve_of_bob():
    """At α = 0.2 and 0.4 two thresholds minimise the criterion, and all is called positive at bob's lowest score."""
    case = GOLDEN["rel-epc-031"]
    inputs = case["inputs"]
    dev, test = (scored(inputs[f"{part}_negatives"], inputs[f"{part}_positives"]) for part in ("dev", "test"))
    alphas, hter, thresholds = map(np.array, case["outputs"]["epc"])
    found = epc(dev, test, alphas=alphas).dataset
    np.testing.assert_allclose(np.maximum(found["threshold"], dev[1].min()), thresholds, rtol=1e-14)
    some = np.isfinite(found["threshold"].values)
    assert some.sum() == 9
    np.testing.assert_allclose(found[HTER][some], hter[some], rtol=1e-14)
    np.testing.assert_allclose(found[HTER], (found["fpr"] + found["fnr"]) / 2, rtol=1e-14)
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
        fp, tp = scores.called([ours, theirs])
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
    "precision": lambda a, far, frr, precision, recall: None if precision is None else abs(a - precision),
    "recall": lambda a, far, frr, precision, recall: None if precision is None else abs(a - recall),
    "f1": lambda a, far, frr, precision, recall: None if precision is None else -f1(precision, recall),
    "equal_error": lambda a, far, frr, precision, recall: abs(far - frr),
    "break_even": lambda a, far, frr, precision, recall: None if precision is None else abs(precision - recall),
}
OF_RATES = {"far_frr", "far", "frr", "equal_error"}


def f1(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0)


def ties(criterion, far, frr, precision, recall):
    """Return what decides between thresholds that tie: how good both metrics are, then how near to each other."""
    if criterion in OF_RATES:
        return far + frr, abs(far - frr)
    return (0, 0) if precision is None else (-precision - recall, abs(precision - recall))


@pytest.mark.few
@pytest.mark.parametrize("criterion", VALUES)
@pytest.mark.parametrize("seed", range(4))
def test_thresholds_minimise_and_ties_are_broken_by_both_metrics(criterion, seed):
    dev, test = tied(14 + 5 * seed, seed), normal(30, seed=seed + 50)
    y, score = dev
    levels = np.unique(score)
    grid = [-np.inf, *((levels[:-1] + levels[1:]) / 2), np.inf]
    rates = [fractions(y, score >= cut) for cut in grid]
    expected = []
    for k in range(21):
        ranks = [(VALUES[criterion](Fraction(k, 20), *at), *ties(criterion, *at)) for at in rates]
        expected.append(grid[ranks.index(min(rank for rank in ranks if rank[0] is not None))])
    curve = epc(dev, test, criterion=criterion, alphas=np.linspace(0, 1, 21))
    np.testing.assert_array_equal(curve.dataset["threshold"], expected)


def test_ties_are_found_however_they_round():
    """0.25·(9/10) and 0.75·(3/10) are one number, of which floating point makes two, less at the higher threshold."""
    dev = scored([1] + 9 * [4], 3 * [3] + 7 * [6])
    assert 0.25 * 0.9 > 0.75 * 0.3
    # Of the two, 2 and 5, the one of fewer errors in all.
    assert epc(dev, TEST, alphas=[0.25]).dataset["threshold"].item() == 5.0


MIRRORED = {"far_frr": "far_frr", "far": "frr", "frr": "far", "equal_error": "equal_error"}


@pytest.mark.few
@pytest.mark.parametrize("criterion", MIRRORED)
@pytest.mark.parametrize("seed", range(3))
def test_negated_scores_and_swapped_labels_give_the_mirrored_curve(criterion, seed):
    """Ties included, and at α = 0 and 1 of "far_frr" many thresholds tie."""
    dev, test = normal(61, 1.5, seed), normal(80, 1.5, seed + 50)
    turned = [(1 - y, -score) for y, score in (dev, test)]
    grid = np.arange(33) / 32
    curve = epc(dev, test, criterion=criterion, alphas=grid).dataset
    mirror = epc(*turned, criterion=MIRRORED[criterion], alphas=grid).dataset
    # The weights of FAR and FRR change places; what is brought to α does not.
    order = slice(None, None, -1) if criterion == "far_frr" else slice(None)
    for ours, theirs in {"fpr": "fnr", "fnr": "fpr", HTER: HTER}.items():
        np.testing.assert_array_equal(curve[ours], mirror[theirs][order])
    # The middle between two scores, to rounding.
    np.testing.assert_allclose(curve["threshold"], -mirror["threshold"][order], rtol=1e-12)


def test_the_ends_are_no_spikes():
    """At α = 0 and 1 the thresholds are those for α next to them: of equal first rates the best second one."""
    dev, test = normal(200, 1.5, 3), normal(200, 1.5, 4)
    found = epc(dev, test, alphas=[0, 1e-9, 1 - 1e-9, 1]).dataset
    np.testing.assert_array_equal(found["threshold"][[0, 3]], found["threshold"][[1, 2]])


def test_a_criterion_of_ones_own():
    """Van Rijsbergen's effectiveness 1 − 1/(α/P + (1 − α)/R): at α = ½ it is 1 − F1."""

    def effectiveness(precision, recall, alpha):
        return -1 / (alpha / precision + (1 - alpha) / recall)

    options = {"criterion": effectiveness, "criterion_metrics": ("precision", "recall"), "metric": "f1"}
    found = epc(DEV, TEST, **options, alphas=ALPHAS)
    assert found.dataset.attrs["formula"] == "effectiveness(precision, recall; α)"
    best = epc(DEV, TEST, criterion="f1", metric="f1", alphas=[0.5]).dataset
    assert found.dataset["threshold"].sel(alpha=0.5) == best["threshold"].sel(alpha=0.5)
    y, score = DEV
    of_cuts = [f1(p, r) for *_, p, r in (fractions(y, score >= cut) for cut in np.unique(score))]
    _, _, *retrieval = fractions(y, score >= best["threshold"].item())
    assert f1(*retrieval) == max(of_cuts)
    # A function of FAR and FRR, and the name that stands for it.
    own = epc(DEV, TEST, criterion=lambda v1, v2, alpha: alpha * v1 + (1 - alpha) * v2, alphas=ALPHAS)
    named = epc(DEV, TEST, alphas=ALPHAS)
    xr.testing.assert_identical(own.dataset.drop_attrs(), named.dataset.drop_attrs())
    xr.testing.assert_identical(own.band().drop_attrs(), named.band().drop_attrs())
    kept = pickle.loads(pickle.dumps(own))
    xr.testing.assert_identical(kept.dataset, own.dataset)
    # Where it is NaN it chooses nothing.
    nowhere_high = epc(DEV, TEST, criterion=lambda v1, v2, a: np.where(v1 > 0.2, np.nan, v2 + 0 * a), alphas=[0.5])
    below = [fractions(y, score >= cut)[:2] for cut in np.unique(score)]
    chosen = fractions(y, score >= nowhere_high.dataset["threshold"].item())
    assert chosen[1] == min(frr for far, frr in below if far <= Fraction(1, 5))


def test_the_break_even_point_of_precision_and_recall():
    y, score = normal(101, seed=3, share=0.3)
    cut = break_even_threshold(y, score)
    assert (score >= cut).sum() == y.sum()
    *_, precision, recall = fractions(y, score >= cut)
    assert precision == recall
    curve = epc((y, score), TEST, criterion="break_even", alphas=[0.5])
    assert curve.dataset["threshold"].item() == cut


def test_drawn_development_sets_choose_among_candidates_that_miss_little():
    scores = Scores.of(*normal(20_000, 1.5, 0))
    cuts = candidates(scores)
    kept = thinned(scores, cuts)
    assert len(kept) <= 512 < len(cuts)
    assert np.isin(kept, cuts).all()
    least = []
    for of in (cuts, kept):
        cells = counts_at_thresholds(scores, of)
        fpr, fnr = CRITERIA["far_frr"].evaluate(cells)
        value = [np.min(a * fpr + (1 - a) * fnr) for a in (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)]
        least.append(np.array(value))
    # Hardly any worse than the best of all.
    np.testing.assert_allclose(least[1], least[0], rtol=0.01)


@pytest.mark.few
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
    np.testing.assert_array_equal(candidates(finite), [-np.inf, 1.7e308, np.inf])


def test_a_score_at_the_threshold_is_called_positive():
    # Thresholds are in the middle between development scores, where rounded test scores are.
    y = np.repeat([0, 1], 6)
    score = np.array([1, 1, 1, 3, 3, 5, 1, 3, 3, 3, 5, 5])
    curve = epc((y, [0, 0, 2, 2, 4, 4, 2, 4, 4, 6, 6, 6]), (y, score), alphas=[0.2, 0.5, 0.8])
    thresholds = curve.dataset["threshold"].values
    assert set(thresholds) & set(score)
    called = score >= thresholds[:, None]
    np.testing.assert_allclose(curve.dataset["fpr"], called[:, y == 0].mean(1))
    np.testing.assert_allclose(curve.dataset["fnr"], 1 - called[:, y == 1].mean(1))


def test_constant_scores_call_all_or_none_positive():
    y = np.repeat([0, 1], 10)
    found = epc((y, np.full(20, 0.5)), (y[5:], np.full(15, 0.5)), alphas=[0.2, 0.5, 0.8]).dataset
    np.testing.assert_array_equal(found["threshold"], [-np.inf, -np.inf, np.inf])
    np.testing.assert_array_equal(found["fpr"], [1, 1, 0])
    np.testing.assert_array_equal(found[HTER], 0.5)


def test_infinite_scores():
    y, score = scored([-np.inf, 0, 1], [0.5, np.inf, np.inf])
    found = epc((y, score), TEST, alphas=[0, 0.4, 0.6]).dataset
    # Between −∞ and 0, and between 1 and ∞, there is no middle: what scores ∞ is called positive at ∞.
    np.testing.assert_array_equal(found["threshold"], [0.25, 0.25, np.inf])
    assert found["fnr"][2] == 1


def test_a_point_undefined_on_the_test_set_is_nan():
    far_below = (TEST[0], TEST[1] - 100)
    curve = epc(DEV, far_below, metric="precision", criterion="precision_recall", alphas=[0.5])
    assert np.isnan(curve.dataset["precision"].item())
    # Not so its posterior: the prior has examples there.
    np.testing.assert_allclose(curve.band()["precision"], [[0.025, 0.975]], atol=0.03)
    with pytest.raises(ValueError, match=r"'precision' is undefined \(0/0\) in every draw"):
        epc(DEV, far_below, metric="precision", alphas=[0.5], prior="haldane").band()


# ── The draws ──


@pytest.mark.few
@pytest.mark.parametrize("prior", ["flat", "jeffreys", bp.prior.dirichlet([[5, 1], [0.5, 2]])])
@pytest.mark.parametrize("metric", ["hter", "f1", "fnr"])
def test_draws_at_every_alpha_are_of_the_exact_posterior(metric, prior):
    curve = epc(DEV, TEST, metric=metric, prior=prior, alphas=[0, 0.3, 0.5, 1], draws=4000)
    drawn, name = curve.posterior[metric].joint_draws(1500), bp.metrics.get(metric).name
    for alpha in curve.alphas:
        exact = bp.posterior(curve.cm.sel(alpha=alpha), prior)[metric]
        assert stats.kstest(exact.cdf(np.sort(drawn.sel(alpha=alpha).values)), "uniform").pvalue > 1e-3
        # Of 4,000 draws a share q lies below a bound, with error √(q(1 − q)/n).
        below = exact.cdf(curve.band()[name].sel(alpha=alpha).values)
        np.testing.assert_allclose(below, [0.025, 0.975], atol=4.5 * np.sqrt(0.025 * 0.975 / 4000))


def test_draws_belong_together_along_alpha():
    """Covariance of two Dirichlet shares, one within the other: p(1 − q)/(W + 1)."""
    curve = epc(DEV, TEST, alphas=ALPHAS, draws=40_000)
    fpr = curve.posterior["fpr"].joint_draws(40_000).transpose("alpha", "draw").values
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
    counts = np.round(n * curve.posterior["accuracy"].joint_draws(20_000).values.ravel()).astype(int)
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
    f1 = epc(DEV, TEST, metric="f1", alphas=[0.5], method="bootstrap", draws=3000).posterior["f1"].joint_draws(3000)
    assert stats.ks_2samp(2 * tp / (2 * tp + wrong), f1.values.ravel()).pvalue > 1e-3


@pytest.mark.few
@pytest.mark.parametrize("method", ["bayesian_bootstrap", "bootstrap"])
@pytest.mark.parametrize("criterion", ["far_frr", "precision_recall", "frr"])
def test_both_sets_drawn_anew_by_a_loop(method, criterion):
    """Thresholds and test figures of 400 draws, one by one, from weights of every example."""
    dev, test = tied(60, 8, step=0.125), normal(70, seed=9)
    rng = np.random.default_rng(3)
    grid = candidates(Scores.of(*dev))

    def weights(n):
        return rng.standard_exponential(n) if method == "bayesian_bootstrap" else rng.multinomial(n, np.full(n, 1 / n))

    def development_set(n):
        """Return how often each example is in a set of n: of the population, or a resample."""
        weight = weights(n)
        return rng.multinomial(n, weight / weight.sum()) if method == "bayesian_bootstrap" else weight

    def rates(sample, weight, cut):
        y, called = sample[0] == 1, sample[1] >= cut
        tp, fp = weight[y & called].sum(), weight[~y & called].sum()
        far, recall = fp / weight[~y].sum(), tp / weight[y].sum()
        return far, 1 - recall, tp / (tp + fp) if tp + fp else None, recall

    expected = []
    for _ in range(400):
        weight = development_set(60)
        at = [rates(dev, weight, cut) for cut in grid]
        ranks = [(VALUES[criterion](0.4, *of_cut), *ties(criterion, *of_cut)) for of_cut in at]
        ranks = [None if rank[0] is None else tuple(np.round(rank, 11)) for rank in ranks]
        cut = grid[ranks.index(min(rank for rank in ranks if rank is not None))]
        far, frr, *_ = rates(test, weights(70), cut)
        expected.append((far + frr) / 2)
    prior = "haldane" if method == "bayesian_bootstrap" else None
    curve = epc(dev, test, criterion=criterion, alphas=[0.4], method=method, prior=prior, resample="both", draws=4000)
    drawn = curve.posterior["hter"].joint_draws(4000).values.ravel()
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
    whole = epc(DEV, TEST, **options).posterior["hter"].joint_draws(60)
    monkeypatch.setattr("bayesperf.curves.expected_performance.system._AT_ONCE", 2000)
    parts = epc(DEV, TEST, **options).posterior["hter"].joint_draws(60)
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
    assert curve.area.joint_draws(1000).mean() == pytest.approx(
        np.trapezoid(curve.posterior["hter"].mean(), curve.alphas)
    )
    assert curve.area.dims == ()
    assert curve.area.eti()[0] < np.trapezoid(curve.dataset[HTER], curve.alphas) < curve.area.eti()[1]


# ── Without a development set ──


@pytest.mark.slow
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
    drawn = curve.posterior["hter"].joint_draws(1500)
    for alpha in (0.3, 0.5):
        exact = bp.posterior(curve.cm.sel(alpha=alpha))["hter"]
        assert stats.kstest(exact.cdf(np.sort(drawn.sel(alpha=alpha))), "uniform").pvalue > 1e-3
    assert curve.expected_performance().leading["quantity"].values.tolist() == ["E_V1", "E_V2", "G"]


def test_a_fold_may_hold_one_class():
    y, score = normal(40, seed=6)
    fold = np.where(y == 1, np.arange(40) % 3, 3)
    with pytest.raises(ValueError, match="without fold 3 the rest hold one class only"):
        epc(test=(y, score), folds=fold)
    fold[y == 0] = np.arange((y == 0).sum()) % 2 + 3
    assert epc(test=(y, score), folds=fold).cm.total.values.tolist() == [40] * 101


def test_thresholds_that_the_test_set_chose_are_said_to_be_its_own():
    y = np.repeat([0, 1], 20)
    score = np.random.default_rng(1).normal(y)
    examples = (y, score)
    own, before = epc_a_posteriori(examples, draws=10), epc(examples, (y, score + 0.1), draws=10)
    assert own.scope.detail == "thresholds as chosen on the test set itself"
    assert before.scope.detail == "thresholds as chosen"
