"""Expected performance curves: expectations, two systems, figures, and what is refused."""

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from sklearn.metrics import roc_auc_score

import bayesperf as bp
from bayesperf.curves import epc, epc_a_posteriori, equal_error_threshold
from bayesperf.curves.expected_performance.criteria import CRITERIA
from bayesperf.curves.expected_performance.performance_curve import OperatingRange
from bayesperf.curves.expected_performance.system import System, system_of
from tests.shared.counts import pair_of
from tests.shared.epc import ALPHAS, DEV, HTER, TEST, fractions, normal, tied
from tests.shared.systems import alone

mpl.use("Agg")


# ── Expected performance ──


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shift"), [(40, 1.0), (300, 2.0), (300, 0.0), (2000, 1.5)])
def test_expected_performance_chosen_on_the_test_set_is_the_area_under_the_roc_curve(n, shift):
    """G = (A + 1/2)/2, to the resolution of the rates; and what is left of it, known as well."""
    y, score = normal(n, shift, seed=n)
    found = epc_a_posteriori((y, score), prior="flat", draws=500).expected_performance().observed.sel(quantity="G")
    area = 1 - roc_auc_score(y, score)
    negatives, positives = (y == 0).sum(), (y == 1).sum()
    assert found.item() == pytest.approx((area + 0.5) / 2, abs=1 / (4 * min(negatives, positives)) + 1e-12)
    if n <= 500:
        frr_at_no_far = (score[y == 1] <= score[y == 0].max()).mean()
        far_at_no_frr = (score[y == 0] >= score[y == 1].min()).mean()
        rest = far_at_no_frr / positives + frr_at_no_far / negatives
        assert found.item() == pytest.approx((area + 0.5) / 2 - rest / 8, abs=1e-12)


@pytest.mark.parametrize("criterion", ["far_frr", "precision_recall"])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.13, 0.4)])
def test_expected_performance_is_a_mean_over_alpha(criterion, bounds):
    dev, test = tied(60, 8, step=0.125), normal(70, seed=9)
    # So high that precision is defined at every threshold but inf.
    test = test[0], test[1] + 2
    found = epc(dev, test, criterion=criterion).expected_performance(*bounds)
    y, score = dev
    levels = np.unique(score)
    grid = [-np.inf, *((levels[:-1] + levels[1:]) / 2), np.inf]
    pick = (lambda far, frr, p, r: (far, frr)) if criterion == "far_frr" else (lambda far, frr, p, r: (p, r))
    on_dev = [pick(*fractions(y, score >= cut)) for cut in grid]
    on_test = [pick(*fractions(test[0], test[1] >= cut)) for cut in grid]
    alphas = bounds[0] + (bounds[1] - bounds[0]) * (np.arange(20_000) + 0.5) / 20_000
    for which, name in enumerate(("E_V1", "E_V2")):
        values = np.array([np.inf if None in v else float(v[which]) for v in on_dev])
        # Of those equally near, the one at which both are best.
        both = np.array([np.inf if None in v else float(sum(v)) for v in on_dev])
        ties = 1e-9 * (both if criterion == "far_frr" else -both)
        chosen = (np.abs(alphas[:, None] - values) + np.where(np.isinf(values), 0, ties)).argmin(1)
        means = np.array([np.nan if None in v else float(sum(v) / 2) for v in on_test])
        assert found.observed.sel(quantity=name).item() == pytest.approx(means[chosen].mean(), abs=60 / 20_000)
    first, second, g = found.observed.values
    assert g == pytest.approx((first + second) / 2, rel=1e-12)
    lower, upper = found.eti().values.T
    assert ((lower < found.observed) & (found.observed < upper)).all()


def test_intervals_of_expected_performance_by_a_loop():
    curve = epc(DEV, TEST, prior="haldane", draws=4000)
    rng = np.random.default_rng(2)
    over = OperatingRange.of(curve.criterion, [curve.system], 0.0, 1.0)
    cuts = np.concatenate([curve.system.thresholds([rule])[0] for rule in over.rules])
    weights = np.concatenate(over.weights) / 2
    y, score = TEST
    called = score >= cuts[:, None]
    expected = []
    for _ in range(1000):
        w = rng.standard_exponential(len(y))
        far, frr = called @ (w * (y == 0)) / w[y == 0].sum(), 1 - called @ (w * (y == 1)) / w[y == 1].sum()
        expected.append(weights @ (far + frr) / 2)
    lower, upper = curve.expected_performance().eti().sel(quantity="G").values
    # Standard error of a 2.5 % quantile of 1,000 near-normal draws: 0.085 of their deviation.
    np.testing.assert_allclose([lower, upper], np.quantile(expected, [0.025, 0.975]), atol=0.4 * np.std(expected))


# ── Two systems ──


def correlated(shifts, n=200, seed=0, same=0.8):
    """Return a development and a test set of systems whose scores correlate."""
    rng = np.random.default_rng(seed)
    systems = [[] for _ in shifts]
    for _ in ("dev", "test"):
        y = rng.permutation(np.repeat([0, 1], n // 2))
        common = rng.normal(size=n)
        for system, shift in zip(systems, shifts, strict=True):
            system.append((y, shift * y + same * common + np.sqrt(1 - same**2) * rng.normal(size=n)))
    return systems


def both(first, second, paired=True, **options):
    """Return the curve of two systems, each a development and a test set, on the same test examples or not."""
    dev = {"a": first[0], "b": second[0]}
    if not paired:
        return epc(dev, {"a": first[1], "b": second[1]}, **options)
    return epc(dev, (first[1][0], {"a": first[1][1], "b": second[1][1]}), **options)


FIRST, SECOND = correlated((2.0, 1.6))


def means_by_enumeration(y, score, dev, sample_weight, grid=2001):
    """E_V1, E_V2 and G over an even grid of α, thresholds by their definition."""
    y_dev, dev_score = dev
    seen = np.unique(dev_score)
    cuts = np.concatenate([[-np.inf], (seen[1:] + seen[:-1]) / 2, [np.inf]])
    called_dev, called = dev_score >= cuts[:, None], score >= cuts[:, None]
    far_dev, frr_dev = called_dev[:, y_dev == 0].mean(1), 1 - called_dev[:, y_dev == 1].mean(1)
    w = sample_weight
    far, frr = called @ (w * (y == 0)) / w[y == 0].sum(), 1 - called @ (w * (y == 1)) / w[y == 1].sum()
    alphas = (np.arange(grid) + 0.5) / grid
    means = []
    for rate, other in ((far_dev, frr_dev), (frr_dev, far_dev)):
        # Of thresholds as near to α the one at which the rates of the development set are best together.
        chosen = [np.lexsort((rate + other, np.abs(rate - alpha).round(12)))[0] for alpha in alphas]
        means.append((far + frr)[chosen].mean() / 2)
    return np.array([*means, sum(means) / 2])


@pytest.mark.slow
def test_difference_of_expected_performance_by_a_loop():
    curve = both(FIRST, SECOND, prior="haldane", draws=4000)
    means = curve.expected_performance()
    drawn = means.joint_draws(4000)
    difference = drawn.sel(model="a") - drawn.sel(model="b")
    y, rng = FIRST[1][0], np.random.default_rng(3)
    expected = np.empty((120, 3))
    for row in expected:
        w = rng.standard_exponential(len(y))
        of_systems = [means_by_enumeration(y, test[1], dev, w, grid=201) for dev, test in (FIRST, SECOND)]
        row[:] = of_systems[0] - of_systems[1]
    sd = expected.std(0)
    assert means.leading["quantity"].values.tolist() == ["E_V1", "E_V2", "G"]
    np.testing.assert_allclose(difference.mean("draw"), expected.mean(0), atol=4 * sd.max() / np.sqrt(120) + 1e-3)
    np.testing.assert_allclose(difference.std("draw"), sd, rtol=4 / np.sqrt(2 * 120))
    compared = bp.compare(means, rope=0.01)
    assert compared.quantity.greater_is_better is False
    assert compared.prob_greater.dims == ("quantity", "model", "model_other")
    np.testing.assert_allclose(compared.difference.mean().squeeze(), difference.mean("draw"), rtol=1e-9)
    # Of the thresholds themselves, without weights.
    points = curve.expected_performance().observed.values
    exact = [means_by_enumeration(y, test[1], dev, np.ones(len(y))) for dev, test in (FIRST, SECOND)]
    np.testing.assert_allclose(points, exact, atol=2e-3)


def true_means(dev, sd, shift, grid=401):
    """E_V1, E_V2 and G of a system with normal scores at the thresholds that a development set chooses."""
    y, score = dev
    seen = np.unique(score)
    cuts = np.concatenate([[-np.inf], (seen[1:] + seen[:-1]) / 2, [np.inf]])
    called = score >= cuts[:, None]
    far, frr = called[:, y == 0].mean(1), 1 - called[:, y == 1].mean(1)
    value = (stats.norm.sf(cuts / sd) + stats.norm.cdf((cuts - shift) / sd)) / 2
    alphas = (np.arange(grid) + 0.5) / grid
    means = [
        value[[np.lexsort((far + frr, np.abs(rate - alpha).round(12)))[0] for alpha in alphas]].mean()
        for rate in (far, frr)
    ]
    return np.array([*means, sum(means) / 2])


@pytest.mark.slow
def test_differences_of_expected_performance_cover_as_the_documentation_says():
    simulations, inside = 150, 0
    for i in range(simulations):
        rng, sets = np.random.default_rng([6, i]), []
        for _ in ("dev", "test"):
            y = rng.permutation(np.repeat([0, 1], 50))
            first = rng.normal(size=100) + 1.5 * y
            sets.append((y, first, first + 0.7 * rng.normal(size=100)))
        systems = [[(labels, scores[j]) for labels, *scores in sets] for j in (0, 1)]
        means = both(*systems, prior="haldane", draws=400, random_seed=i).expected_performance()
        low, high = bp.compare(means).difference.eti().sel(quantity="G").squeeze().values
        true = np.subtract(
            *(true_means((sets[0][0], sets[0][1 + j]), sd, 1.5)[2] for j, sd in ((0, 1), (1, 1.49**0.5)))
        )
        inside += low <= true <= high
    assert inside / simulations == pytest.approx(0.94, abs=0.005 + 3 * np.sqrt(2 * 0.94 * 0.06 / simulations))


@pytest.mark.slow
def test_shared_weights_narrow_the_difference_of_expected_performance():
    paired, apart = (bp.compare(both(FIRST, SECOND, paired=of).expected_performance()) for of in (True, False))
    assert (paired.difference.sd() < 0.7 * apart.difference.sd()).all()
    alone = [epc(*system).expected_performance().eti().sel(quantity="G") for system in (FIRST, SECOND)]
    width = np.sqrt(sum(np.diff(interval) ** 2 for interval in alone)).item()
    assert np.diff(apart.difference.eti().sel(quantity="G")).item() == pytest.approx(width, rel=0.15)
    anew = both(FIRST, SECOND, resample="both", draws=300)
    assert (bp.compare(anew.expected_performance(0.0, 0.5)).difference.sd() > 0).all()
    assert "development sets like this one" in anew.estimand
    retrieval = both(FIRST, SECOND, criterion="precision_recall", alphas=[0.5], draws=50)
    assert retrieval.expected_performance().quantity.greater_is_better is True
    with pytest.raises(ValueError, match=r"low and high must be in \[0, 1\], low the smaller"):
        anew.expected_performance(0.5, 0.2)


def predicted(curve, alpha, data):
    return (data[1] >= curve.dataset["threshold"].sel(alpha=alpha).item()).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "recall", "fpr"])
def test_the_comparison_at_an_alpha_is_that_of_the_response_patterns(metric):
    a, b = (epc(*data, metric=metric, alphas=ALPHAS) for data in (FIRST, SECOND))
    n = 20_000
    found = both(FIRST, SECOND, metric=metric, alphas=ALPHAS, draws=n).contrast(question="thresholds")
    drawn, y = found.difference.joint_draws(800), FIRST[1][0]
    for alpha in (0.3, 0.7):
        pair = pair_of(y, predicted(a, alpha, FIRST[1]), predicted(b, alpha, SECOND[1]))
        exact = alone(bp.compare(pair, metric=metric))
        p = exact.prob_greater.item()
        assert found.prob_greater.sel(alpha=alpha).item() == pytest.approx(p, abs=4.5 * np.sqrt(0.25 / n))
        cdf = exact.difference.cdf(np.sort(drawn.sel(alpha=alpha)))
        assert stats.kstest(cdf, "uniform").pvalue > 1e-3


def test_pseudo_examples_of_two_systems_are_independent_given_the_class():
    # Of 4 in each cell of a system 8 are of a class: each pair of predictions has 4·4/8 of them.
    systems, n = correlated((1.5, 0.8), n=40, seed=3), 20_000
    a, b = (epc(*data, metric="recall", alphas=[0.5], prior=bp.prior.dirichlet(4)) for data in systems)
    first, second = (
        predicted(curve, 0.5, data[1])[data[1][0] == 1] for curve, data in zip((a, b), systems, strict=True)
    )
    expected = stats.beta((first > second).sum() + 2, (second > first).sum() + 2).sf(0.5)
    compared = both(*systems, metric="recall", alphas=[0.5], prior=bp.prior.dirichlet(4), draws=n).contrast(
        question="thresholds"
    )
    assert compared.prob_greater.item() == pytest.approx(expected, abs=4.5 * np.sqrt(0.25 / n))
    # The difference has the variance of a Dirichlet, whose weights sum to 20 and 8.
    x, y = (first > second).sum() + 2, (second > first).sum() + 2
    variance = ((x + y) - (x - y) ** 2 / 28) / 28 / 29
    assert compared.difference.sd().item() == pytest.approx(np.sqrt(variance), rel=4.5 / np.sqrt(2 * n))


def test_the_difference_of_hter_is_paired():
    a, b = (epc(*data, alphas=ALPHAS) for data in (FIRST, SECOND))
    curve, unpaired = (both(FIRST, SECOND, alphas=ALPHAS, paired=p, draws=4000) for p in (True, False))
    paired, apart = (each.contrast(question="thresholds") for each in (curve, unpaired))
    independent = np.hypot(a.posterior["hter"].sd(), b.posterior["hter"].sd())
    np.testing.assert_allclose(apart.difference.sd(), independent, rtol=0.08)
    assert (paired.difference.sd() < apart.difference.sd()).all()
    assert (paired.difference.sd() < 0.8 * apart.difference.sd())[1:].all()
    np.testing.assert_allclose(paired.difference.mean(), apart.difference.mean(), atol=5 * 0.03 / np.sqrt(2000))
    found = curve.difference(question="thresholds")
    xr.testing.assert_allclose(found["difference"], (a.dataset[HTER] - b.dataset[HTER]).rename("difference"))
    np.testing.assert_allclose(found["interval"], paired.difference.eti(), atol=1e-12)
    turned = curve.contrast("b", "a", question="thresholds")
    np.testing.assert_allclose(turned.difference.mean(), -paired.difference.mean(), atol=5 * 0.03 / np.sqrt(2000))
    np.testing.assert_allclose(paired.prob_better, 1 - paired.prob_greater)


@pytest.mark.slow
def test_a_system_and_itself_are_alike():
    curve = both(FIRST, FIRST, alphas=ALPHAS, prior="haldane")
    found = curve.contrast()
    assert (found.difference.joint_draws(1000) == 0).all()
    assert (found.prob_greater == 0.5).all()
    assert not curve.difference()["significant"].any()
    assert (curve.percentile_test(draws=200)["p_value"] == 1).all()
    # A prior takes the two for different systems, of which it knows nothing.
    curve = both(FIRST, FIRST, alphas=ALPHAS, draws=4000)
    found = curve.contrast(question="thresholds")
    np.testing.assert_allclose(found.prob_greater, 0.5, atol=4.5 * 0.5 / np.sqrt(4000))
    assert (found.difference.sd() < 0.5 * curve.posterior["hter"].sd().sel(model="a")).all()


def drawn_by_hand(data, question, alpha, rng):
    """Return the half total error rate of systems in one draw, by weights of the development and the test examples."""
    (y, _), (t, _) = data[0]
    of_dev, of_test = (rng.standard_exponential(len(labels)) for labels in (y, t))
    if question == "models":
        of_dev = rng.multinomial(len(y), of_dev / of_dev.sum())
    found = []
    for (_, dev), (_, test) in data:
        cuts = np.concatenate([[-np.inf], (np.sort(dev)[1:] + np.sort(dev)[:-1]) / 2, [np.inf]])
        w = of_dev if question == "models" else np.ones(len(y))
        far = ((dev >= cuts[:, None]) * w * (y == 0)).sum(1) / (w * (y == 0)).sum()
        frr = ((dev < cuts[:, None]) * w * (y == 1)).sum(1) / (w * (y == 1)).sum()
        ranks = np.round(np.stack([alpha * far + (1 - alpha) * frr, far + frr, abs(far - frr)]), 11)
        cut = cuts[np.lexsort(ranks[::-1])[0]]
        called = test >= cut
        rates = [(of_test * called * (t == 0)).sum() / (of_test * (t == 0)).sum(),
                 (of_test * ~called * (t == 1)).sum() / (of_test * (t == 1)).sum()]  # fmt: skip
        found.append(np.mean(rates))
    return found[0] - found[1]


@pytest.mark.slow
@pytest.mark.parametrize("question", ["models", "thresholds"])
def test_both_questions_by_a_loop(question):
    """Both systems are drawn by the same weights of the examples, which they share in development and test."""
    data = correlated((2.0, 1.6), 60)
    curve = both(*data, alphas=[0.2], prior="haldane", draws=4000)
    found = curve.contrast(question=question)
    rng = np.random.default_rng(3)
    expected = [drawn_by_hand(data, question, 0.2, rng) for _ in range(600)]
    assert stats.ks_2samp(expected, found.difference.joint_draws(4000).values.ravel()).pvalue > 1e-3
    assert f"these two {question}" in found.difference.estimand
    assert curve.difference(question=question).attrs["question"] == question


@pytest.mark.slow
def test_models_of_folds_choose_anew_on_the_other_folds():
    """With two folds, each is the development set of the other: thresholds in draws, one by one."""
    y, score = normal(60, seed=3)
    fold = np.arange(60) % 2
    curve = epc(test=(y, score), folds=fold, alphas=[0.3], prior="haldane", resample="both", draws=4000)
    rng = np.random.default_rng(8)
    expected = []
    for _ in range(500):
        population = rng.standard_exponential(60)
        sample = rng.multinomial(60, population / population.sum())
        called = np.empty(60, bool)
        for own in (0, 1):
            rest = fold != own
            seen = np.unique(score[rest])
            cuts = np.concatenate([[-np.inf], (seen[1:] + seen[:-1]) / 2, [np.inf]])
            w = sample * rest
            far = ((score >= cuts[:, None]) * w * (y == 0)).sum(1) / (w * (y == 0)).sum()
            frr = ((score < cuts[:, None]) * w * (y == 1)).sum(1) / (w * (y == 1)).sum()
            ranks = np.round(np.stack([0.3 * far + 0.7 * frr, far + frr, abs(far - frr)]), 11)
            called[fold == own] = score[fold == own] >= cuts[np.lexsort(ranks[::-1])[0]]
        far = (population * called * (y == 0)).sum() / population[y == 0].sum()
        frr = (population * ~called * (y == 1)).sum() / population[y == 1].sum()
        expected.append((far + frr) / 2)
    assert stats.ks_2samp(expected, curve.posterior["hter"].joint_draws(4000).values.ravel()).pvalue > 1e-3


def test_in_draws_a_fold_is_chosen_on_all_others():
    y, score = normal(60, seed=3)
    fold = np.arange(60) % 3
    system = epc(test=(y, score), folds=fold, alphas=[0.3], resample="both", draws=2).system
    for own, chosen_by in enumerate(system.choosing_counts()):
        cuts = chosen_by.cuts[0]
        intervals = [np.histogram(score[(y == c) & (fold != own)], [-np.inf, *cuts, np.inf])[0] for c in (0, 1)]
        np.testing.assert_array_equal(chosen_by.counts[:, 0], intervals)


def test_systems_on_test_sets_of_their_own_have_development_sets_of_their_own():
    """Thresholds chosen on twenty examples make nearly all of the variance of figures of 5,000."""
    dev, *tests = (normal(n, seed=seed) for n, seed in ((20, 5), (5000, 1), (5000, 2)))
    curve = epc({"a": dev, "b": dev}, dict(zip("ab", tests, strict=True)), alphas=[0.5], resample="both", draws=400)
    drawn = curve.posterior["hter"].joint_draws(400).isel(alpha=0).transpose("model", "draw").values
    assert abs(np.corrcoef(drawn)[0, 1]) < 4 / np.sqrt(400)
    assert (drawn.std(1) > 3 * np.sqrt(0.25 / 5000)).all()


def test_models_need_more_evidence_than_thresholds():
    curve = both(*correlated((1.5, 1.5), 120), alphas=[0.05, 0.5, 0.95])
    models, thresholds = (curve.contrast(question=of).difference.sd() for of in ("models", "thresholds"))
    assert (models > thresholds).all()
    assert (models > 1.5 * thresholds)[[0, 2]].all()


# ── Clusters ──


def test_clusters_are_drawn_as_wholes():
    """Clusters of copies: the posterior is that of one example each; and single clusters change nothing."""
    y, score = TEST
    copies = [np.repeat(values, 6) for values in (y, score, np.arange(len(y)))]
    options = {"prior": "haldane", "alphas": ALPHAS, "draws": 4000}
    alone = epc(DEV, TEST, **options)
    for test, cluster in (((y, score), np.arange(len(y))), (tuple(copies[:2]), copies[2])):
        found = epc(DEV, test, cluster=cluster, **options)
        np.testing.assert_allclose(found.posterior["hter"].mean(), alone.posterior["hter"].mean(), atol=0.004)
        np.testing.assert_allclose(found.posterior["hter"].sd(), alone.posterior["hter"].sd(), rtol=0.06)
    ignored = epc(DEV, tuple(copies[:2]), **options)
    assert (ignored.posterior["hter"].sd() < 0.5 * alone.posterior["hter"].sd()).all()


@pytest.mark.filterwarnings("ignore:cluster. 12 are few")
def test_clusters_by_weights_of_their_own():
    """One weight a cluster, for both systems; few clusters have weights that vary more, and so have large ones."""
    data = correlated((2.0, 1.6), 120)
    cluster = np.random.default_rng(1).integers(12, size=120)
    names = np.array(list("abcdefghijkl"))[cluster]
    draws = 20_000
    curve = both(*data, alphas=[0.4], prior="haldane", cluster=names, draws=draws)
    found = curve.contrast(question="thresholds").difference.joint_draws(draws).values.ravel()
    y = data[0][1][0]
    share = np.bincount(cluster) / 120
    shape = (1 - 2 * (share**2).sum()) * (1 - share) / (1 - 1 / 12)
    w = (np.random.default_rng(2).standard_gamma(shape, (draws, 12)) / shape)[:, cluster]
    hter = []
    for of, one in zip(data, curve.each().values(), strict=True):
        called = of[1][1] >= one.dataset["threshold"].item()
        hter.append((w @ (called * (1 - y)) / (w @ (1 - y)) + w @ (~called * y) / (w @ y)) / 2)
    expected = hter[0] - hter[1]
    assert stats.ks_2samp(expected, found).pvalue > 1e-3
    # Four standard errors of a ratio of two standard deviations.
    assert found.std() / expected.std() == pytest.approx(1, abs=4 / np.sqrt(draws))


def test_development_clusters_are_drawn_as_wholes():
    dev = tuple(np.repeat(values, 8) for values in normal(30, 1.5, 4))
    single = (dev[0][::8], dev[1][::8])
    options = {"alphas": [0.5], "resample": "both", "draws": 4000}
    found = epc(dev, TEST, dev_cluster=np.repeat(np.arange(30), 8), **options).posterior["hter"].sd()
    assert found.item() == pytest.approx(epc(single, TEST, **options).posterior["hter"].sd().item(), rel=0.08)
    with pytest.raises(ValueError, match="dev_cluster: there is no development set"):
        epc(test=TEST, folds=np.arange(150) % 3, dev_cluster=np.arange(150))
    with pytest.raises(ValueError, match="cluster: there is only one"):
        epc(DEV, TEST, cluster=np.zeros(150))
    with pytest.raises(ValueError, match="cluster: 2 say little of others"):
        epc(DEV, TEST, cluster=np.arange(150) % 2)
    with pytest.raises(ValueError, match="columns of unequal length: test 150, cluster 3"):
        epc(DEV, TEST, cluster=[1, 2, 3])


@pytest.mark.slow
def test_significance_is_that_of_the_band():
    new, old = correlated((2.0, 1.2), 120)
    names = {"new": new, "old": old}
    curve = epc({k: v[0] for k, v in names.items()}, (new[1][0], {k: v[1][1] for k, v in names.items()}))
    kinds = ("pointwise", "simultaneous")
    found = {kind: curve.difference(ci_prob=0.9, kind=kind, question="thresholds") for kind in kinds}
    for each in found.values():
        lower, upper = each["interval"].values.T
        np.testing.assert_array_equal(each["significant"], (lower > 0) | (upper < 0))
    assert 0 < found["simultaneous"]["significant"].sum() < found["pointwise"]["significant"].sum() <= 101
    compared = curve.contrast(question="thresholds", rope=0.02)
    assert compared.prob_rope.sel(alpha=0.7, rope="below") > 0.9
    summary = compared.summary()
    assert summary.loc[50, ["a", "b"]].tolist() == ["new", "old"]
    assert len(summary) == 101


def test_the_percentile_test_by_a_loop():
    """Rows of a table of both systems' outcomes, drawn with replacement, as the paper has it."""
    curve = both(*correlated((1.8, 1.6), 120), metric="f1", alphas=[0.3, 0.6], method="bootstrap", draws=10)
    found = curve.percentile_test(draws=20_000, ci_prob=0.9)
    a, b = curve.each().values()
    y = a.system.test.positive
    rng = np.random.default_rng(7)
    for alpha in (0.3, 0.6):
        called = [c.system.test.score >= c.dataset["threshold"].sel(alpha=alpha).item() for c in (a, b)]
        rows = rng.integers(len(y), size=(4000, len(y)))
        f1 = [2 * (y[rows] & z[rows]).sum(1) / (y[rows].sum(1) + z[rows].sum(1)) for z in called]
        difference = f1[0] - f1[1]
        mean = difference.mean()
        p = (np.abs(difference - mean) >= abs(mean)).mean()
        at = found.sel(alpha=alpha)
        assert at["difference"].item() == pytest.approx(
            mean, abs=4.5 * difference.std() * np.sqrt(1 / 4000 + 1 / 20_000)
        )
        # The share and, as the mean is one of draws too, where it is taken.
        assert at["p_value"].item() == pytest.approx(p, abs=0.04)
        assert 0.005 < p < 0.995
        # Of the mean's and of a 90 % quantile of near-normal draws' distances, 1.75 deviations.
        half = np.quantile(np.abs(difference - mean), 0.9)
        error = difference.std() * (1 + 1.75) / np.sqrt(4000)
        np.testing.assert_allclose(at["interval"], [mean - half, mean + half], atol=4 * error)
    assert found.attrs["question"] == "thresholds"


def test_systems_of_folds_are_paired_too():
    y, score = normal(80, seed=3)
    other = score + np.random.default_rng(5).normal(size=80)
    fold = np.arange(80) % 4
    curve = epc(test=(y, {"a": score, "b": other}), folds=fold, alphas=ALPHAS, draws=4000)
    found, (a, b) = curve.contrast(question="thresholds"), curve.each().values()
    # Its margins: the mean is that of the two posteriors.
    expected = bp.posterior(a.cm)["hter"].mean() - bp.posterior(b.cm)["hter"].mean()
    error = found.difference.sd() / np.sqrt(4000)
    assert (np.abs(found.difference.mean() - expected) < 4.5 * error).all()


@pytest.mark.slow
def test_thresholds_chosen_beforehand_can_reverse_the_roc_curves():
    """System a separates better at every operating point; its scores drift, so its thresholds do not hold."""
    levels = stats.norm.ppf((np.arange(500) + 0.5) / 500)
    y = np.repeat([0, 1], 500)
    a = [(y, np.concatenate([levels, levels + 3]) + drift) for drift in (0, 1)]
    b = [(y, np.concatenate([levels, levels + 2.5]) * scale) for scale in (1, 1 + 1e-6)]
    rates = [[(score[y == 1] < cut).mean() for cut in np.sort(score[y == 0])] for (_, score) in (a[1], b[1])]
    assert (np.array(rates[0]) <= rates[1]).all()
    assert roc_auc_score(*a[1]) > roc_auc_score(*b[1])
    hter = [epc(*data, alphas=[0.5]).dataset[HTER].item() for data in (a, b)]
    # At the middle between the means, a's moved by 1: Φ(−0.5)/2 + Φ(−2.5)/2, and Φ(−1.25).
    np.testing.assert_allclose(hter, [stats.norm.cdf([-0.5, -2.5]).mean(), stats.norm.cdf(-1.25)], atol=0.01)
    assert both(a, b, alphas=[0.5]).difference()["significant"].item()


@pytest.mark.slow
def test_the_curve_is_unbiased_and_one_of_thresholds_chosen_on_the_test_set_is_not():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    rule = [(CRITERIA["far_frr"], np.array([0.5]))]
    beforehand, on_test, true = [], [], []
    for _ in range(400):
        system = system_of(*((y, rng.normal(1.5 * y)) for _ in range(2)), None, None, None, None)
        cut = system.thresholds(rule)
        true.append((stats.norm.sf(cut) + stats.norm.cdf(cut - 1.5)).item() / 2)
        itself = System.without_folds(system.test, system.test)
        for found, of in ((beforehand, system), (on_test, itself)):
            found.append(bp.metrics.get("hter").evaluate(of.counts(of.thresholds(rule)), 1).item())
    gap = np.subtract(beforehand, true)
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(400)
    gap = np.subtract(on_test, true)
    assert gap.mean() < -8 * gap.std() / np.sqrt(400)


# ── Figures ──


def test_a_figure_shows_curve_band_and_criterion():
    curve = epc(DEV, TEST)
    (axes,) = curve.plot(ci_prob=0.9).axes
    x, y = axes.lines[0].get_data()
    np.testing.assert_array_equal(x, curve.alphas)
    np.testing.assert_array_equal(y, curve.dataset[HTER])
    shaded = axes.collections[0].get_paths()[0].vertices[:, 1]
    band = curve.band(0.9)[HTER]
    assert (shaded.min(), shaded.max()) == (band.min(), band.max())
    assert "α·FAR + (1 − α)·FRR" in axes.get_xlabel()
    assert axes.get_ylabel() == "half total error rate on the test set"
    assert "90 % pointwise equal-tailed band" in axes.figure.get_suptitle()


@pytest.mark.slow
def test_a_figure_of_two_systems_shades_where_they_differ():
    curve = both(*correlated((2.5, 1.0)))
    a, b = curve.each().values()
    figure = curve.plot(difference="models")
    _, bottom = figure.axes
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["a", "b", "these two models differ", "95 % band, pointwise, of each, equal-tailed"]
    spans = [patch for patch in bottom.patches if patch.get_width() > 0]
    significant = curve.difference()["significant"].values
    assert len(spans) == (np.diff(significant.astype(int), prepend=0) == 1).sum()
    width = sum(patch.get_width() for patch in spans)
    assert width == pytest.approx(np.where(np.isin(curve.alphas, [0, 1]), 0.005, 0.01)[significant].sum())
    assert bottom.get_ylabel() == "a\n− b"
    three = bp.plots.epc({"new": a, "old": b, "again": a}, kind="simultaneous")
    assert len(three.legends[0].get_texts()) == 4
    assert "simultaneous" in three.get_suptitle()
    many = bp.plots.epc({f"s{i}": (a, b)[i % 2] for i in range(7)})
    shown = [panel for panel in many.axes if panel.lines]
    assert [panel.get_title() for panel in shown] == [f"s{i}" for i in range(7)]
    assert many.get_size_inches()[0] < 13
    np.testing.assert_array_equal(shown[3].lines[0].get_ydata(), b.dataset[b.metric.name])
    with pytest.raises(ValueError, match="curves: give one or more, of one criterion"):
        bp.plots.epc({"new": a, "old": epc(*FIRST, criterion="far")})
    with pytest.raises(ValueError, match="curves: give one or more"):
        bp.plots.epc({})
    with pytest.raises(ValueError, match="difference is of a curve of two systems"):
        a.plot(difference="models")


# ── What is refused ──

Y, SCORE = TEST
ONE_CLASS = (np.ones(4, dtype=int), np.arange(4.0))
MISSING = (np.array([0, 1, 1]), np.array([0.1, np.nan, 0.3]))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((ONE_CLASS, TEST), {}, ValueError, r"dev: y_true must hold two classes; it holds 1"),
        ((DEV, ONE_CLASS), {}, ValueError, r"test: y_true must hold two classes; it holds 1"),
        ((MISSING, TEST), {}, ValueError, "dev: y_score has 1 missing value"),
        ((DEV, (Y, SCORE[:-1])), {}, ValueError, "test: columns of unequal length: y_true 150, y_score 149"),
        (
            (DEV, (["a", "b"], [1, 2])),
            {},
            ValueError,
            "test: pos_label: which of the labels .'a', 'b'. is the positive",
        ),
        ((DEV, (Y, SCORE.astype(str))), {}, TypeError, "test: y_score must be numbers"),
        ((DEV, SCORE), {}, TypeError, "test must be a pair of labels and scores"),
        ((DEV,), {}, TypeError, "test: give the labels and scores of the test set"),
        ((TEST, TEST), {}, ValueError, "dev and test are the same examples"),
        ((TEST, (Y.copy(), SCORE.copy())), {}, ValueError, "dev and test are the same examples"),
        ((None, TEST), {}, ValueError, "dev: give a development set, or else folds"),
        ((DEV, TEST), {"folds": Y}, ValueError, "dev: give a development set, or else folds"),
        ((None, TEST), {"folds": Y[:-1]}, ValueError, "columns of unequal length: test 150, folds 149"),
        ((None, TEST), {"folds": 0 * Y}, ValueError, "folds: there is only one"),
        ((None, TEST), {"folds": Y}, ValueError, "without fold 0 the rest hold one class only"),
        ((DEV, TEST), {"alphas": [0.5, 1.1]}, ValueError, r"alphas must be in \[0, 1\]; they reach from 0.5 to 1.1"),
        ((DEV, TEST), {"alphas": [0.5, 0.1]}, ValueError, "alphas must ascend"),
        ((DEV, TEST), {"alphas": [0.5, 0.5]}, ValueError, "alphas must ascend"),
        ((DEV, TEST), {"alphas": []}, ValueError, "alphas must be one-dimensional and not empty"),
        ((DEV, TEST), {"alphas": [np.nan]}, ValueError, "alphas has 1 missing value"),
        ((DEV, TEST), {"criterion": "eer"}, ValueError, "criterion must be one of 'far_frr', 'precision_recall'"),
        ((DEV, TEST), {"metric": "herd"}, ValueError, "no metric named 'herd'"),
        ((DEV, TEST), {"metric": "recall_per_class"}, ValueError, "has a value a class"),
        ((DEV, TEST), {"method": "beta"}, ValueError, "method must be one of 'bayesian_bootstrap', 'bootstrap'"),
        ((DEV, TEST), {"resample": "dev"}, ValueError, "resample must be one of 'test', 'both'"),
        ((DEV, TEST), {"draws": 1}, ValueError, "draws must be a whole number of at least 2"),
        ((DEV, TEST), {"random_seed": -1}, ValueError, "random_seed must be a non-negative integer"),
        (
            (DEV, TEST),
            {"method": "bootstrap", "prior": "flat"},
            ValueError,
            "prior applies to method='bayesian_bootstrap'",
        ),
        ((DEV, TEST), {"prior": "none"}, ValueError, "prior must be one of flat"),
        (
            (DEV, TEST),
            {"prior": bp.prior.rate(1, 1)},
            ValueError,
            "prior: a rate prior says nothing of the whole matrix",
        ),
        (
            (DEV, TEST),
            {"prior": bp.prior.dirichlet(np.ones((3, 3)))},
            ValueError,
            "prior: its pseudo-counts have shape",
        ),
        ((DEV, TEST), {"criterion_metrics": ("far", "frr")}, ValueError, "criterion_metrics are those of a function"),
        (
            (DEV, TEST),
            {"criterion": np.hypot, "criterion_metrics": ("far",)},
            ValueError,
            "criterion_metrics must be two names of metrics",
        ),
        ((DEV, TEST), {"pos_label": 2}, ValueError, "test: pos_label: 2 is not among the labels"),
    ],
)
def test_bad_arguments(arguments, options, error, words):
    with pytest.raises(error, match=words):
        epc(*arguments, **options)


def test_bad_arguments_of_figures():
    with pytest.raises(ValueError, match=r"criterion: criterion returned shape \(\) where \(\d+,\) was wanted"):
        _ = epc(DEV, TEST, criterion=lambda far, frr, alpha: 1.0).dataset
    curve = epc(DEV, TEST, alphas=[0.5])
    with pytest.raises(ValueError, match="area: of one α there is none"):
        _ = curve.area
    with pytest.raises(ValueError, match="kind must be one of 'pointwise', 'simultaneous'"):
        curve.band(kind="whole")
    with pytest.raises(ValueError, match="prob must be a number between 0 and 1"):
        curve.band(95)
    for low, high in ((0.5, 0.5), (-0.1, 1), (0.2, 1.2), (0.4, 0.3)):
        with pytest.raises(ValueError, match=r"low and high must be in \[0, 1\], low the smaller"):
            curve.expected_performance(low, high)
    with pytest.raises(ValueError, match="y_true must hold two classes"):
        equal_error_threshold(*ONE_CLASS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"question": "systems"}, "question must be one of 'models', 'thresholds'"),
        ({"rope": -0.1}, "rope must be the half-width"),
        ({"a": "a", "b": "a"}, "a and b must name two systems"),
        ({"a": "a"}, "a and b must name two systems|model must be one of"),
        ({"a": "a", "b": "c"}, "model must be one of"),
    ],
)
def test_bad_comparisons(arguments, words):
    with pytest.raises(ValueError, match=words):
        both(FIRST, SECOND, draws=10).contrast(**arguments)


def test_systems_of_both_sets_are_the_same_and_may_be_tested_on_different_examples():
    with pytest.raises(ValueError, match=r"dev and test must be of the same systems"):
        epc({"a": FIRST[0]}, {"b": FIRST[1]})
    with pytest.raises(ValueError, match=r"cluster must be of the systems of test"):
        epc({"a": FIRST[0]}, {"a": FIRST[1]}, cluster={"b": FIRST[1][0]})
    assert both(FIRST, (DEV, TEST), paired=False, draws=20).contrast().prob_greater.shape == (101,)
    with pytest.raises(ValueError, match="columns of unequal length"):
        both(FIRST, (DEV, TEST))
    with pytest.raises(ValueError, match="10 at most are drawn together"):
        epc((DEV[0], dict.fromkeys("abcdefghijk", DEV[1])), (TEST[0], dict.fromkeys("abcdefghijk", TEST[1])))
    after = epc_a_posteriori((FIRST[1][0], {"a": FIRST[1][1], "b": SECOND[1][1]}), draws=20)
    with pytest.raises(ValueError, match=r"question: thresholds were chosen on the test set itself"):
        after.contrast()
    assert after.contrast(question="thresholds").prob_greater.shape == (101,)


@pytest.mark.slow
def test_systems_lie_along_model():
    """Points of each system are those of its own curve; what is drawn is joint, and all of it has the dim."""
    curve, alone = both(FIRST, SECOND, alphas=ALPHAS, draws=2000), epc(*SECOND, alphas=ALPHAS, draws=2000)
    xr.testing.assert_allclose(curve.dataset.sel(model="b", drop=True), alone.dataset)
    xr.testing.assert_identical(curve.sel(model="b").joint_draws(), alone.joint_draws())
    assert curve.band()[HTER].dims == ("model", "alpha", "ci_bound")
    np.testing.assert_allclose(curve.band()[HTER].sel(model="b"), alone.band()[HTER], atol=0.02)
    assert curve.area.dims == ("model",)
    assert curve.area.mean().sel(model="b").item() == pytest.approx(alone.area.mean().item(), abs=0.01)
    assert [line[:3] for line in curve.in_words().splitlines()] == ["a: ", "b: "]
    assert curve.summary().columns[:3].tolist() == ["model", "alpha", HTER]


@pytest.mark.slow
def test_many_scores():
    """A hundred thousand scores, a thousand draws, in bounded memory."""
    import tracemalloc

    dev, test = normal(100_000, seed=1), normal(100_000, seed=2)
    noisy = (test[0], test[1] + 0.3 * np.random.default_rng(0).normal(size=100_000))
    alone, curve = epc(dev, test), both((dev, test), (dev, noisy))
    tracemalloc.start()
    alone.band()
    alone.expected_performance()
    curve.difference()
    assert tracemalloc.get_traced_memory()[1] < 2**30
    tracemalloc.stop()
