"""Figures printed by the sources of the methods, and exact values they follow from.

Sources: Caelen (2017), A Bayesian interpretation of the confusion matrix; a thesis on credible regions after Goutte &
Gaussier (2005), which puts a Beta straight on each rate; and a guide to credible test sets (four of five positives).
Expected values come from the sources or from SciPy, never from the library.
"""

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesperf as bp

M = 200_000
CELLS = {"tp": (1, 1), "tn": (0, 0), "fp": (0, 1), "fn": (1, 0)}


def printed(figure, error=0.0):
    """Approximate a figure as it is printed: within half a unit of its last digit, and a Monte Carlo error."""
    return pytest.approx(float(figure), rel=0, abs=0.5 * 10.0 ** -len(figure.partition(".")[2]) + error)


def share_error(share, draws):
    """Return four standard errors of a share of draws."""
    return 4 * np.sqrt(share * (1 - share) / draws)


def prob_greater(a, b):
    """Return P(a > b) for independent quantities, each with pdf and sf, by numerical integration."""
    return integrate.quad(lambda x: float(b.pdf(x)) * float(a.sf(x)), 0, 1, epsabs=1e-12)[0]


def cells(table):
    """Return a table's cells in the order in which Caelen prints them."""
    return [float(table[CELLS[name]]) for name in ("tp", "tn", "fp", "fn")]


# ── Priors and updating ──


def test_elicited_prior():
    table = bp.prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=1).pseudo_counts(2, 1)
    assert cells(table) == [printed(figure) for figure in ("0.3319149", "0.2680851", "0.2212766", "0.1787234")]


@pytest.mark.parametrize(
    ("weight", "omega"),
    [(72.5, (74.063, 54.436, 46.042, 42.957)), (725, (290.638, 229.361, 190.425, 159.574))],
)
def test_elicited_prior_of_a_weight(weight, omega):
    cm = bp.ConfusionMatrix.from_counts(tp=50, tn=35, fp=30, fn=30)
    prior = bp.prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=weight)
    # The source cuts the fourth decimal off.
    assert cells(bp.posterior(cm, prior).source.concentration.values) == pytest.approx(omega, rel=0, abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize(
    ("name", "weight"),
    [("flat", lambda k: 1), ("jeffreys", lambda k: 0.5), ("perks", lambda k: 1 / k**2), ("haldane", lambda k: 0)],
)
def test_presets(name, weight, classes):
    counts = np.arange(classes**2).reshape(classes, classes)
    omega = bp.posterior(bp.ConfusionMatrix.from_table(counts), name).source.concentration.values
    np.testing.assert_allclose(omega - counts, weight(classes), atol=1e-12)


def test_default_prior_is_jeffreys_for_two_classes_and_shared_for_more():
    two, three = (bp.ConfusionMatrix.from_table(np.eye(k, dtype=int)) for k in (2, 3))
    np.testing.assert_array_equal(bp.posterior(two).source.concentration - two.counts, 0.5)
    assert bp.posterior(three).prior_text == bp.prior.shared().describe(three)


@pytest.mark.slow
def test_flat_prior_of_ten_classes_drags_a_good_system_down():
    # The figures: .920 right, and an interval of [.862, .892]. About 1,800 examples give both; any errors will do.
    table = np.diag([179] * 9 + [1654 - 9 * 179])
    table[0, 1] += 1797 - 1654
    cm = bp.ConfusionMatrix.from_table(table)
    assert bp.score(cm, "accuracy").item() == printed("0.920")
    flat, perks, default = (bp.posterior(cm, prior)["accuracy"] for prior in ("flat", "perks", None))
    assert flat.hdi(0.95).values.tolist() == [printed("0.862"), printed("0.892")]
    assert flat.mean().item() == pytest.approx((1654 + 10) / (1797 + 100))
    assert perks.mean().item() == pytest.approx((1654 + 0.1) / (1797 + 1))
    assert perks.prob_above(0.92).item() == pytest.approx(stats.beta(1654.1, 143.9).sf(0.92), rel=1e-12)
    # Neither does the default drag it down: it is as wide about the observed score.
    assert default.mean().item() == pytest.approx(perks.mean().item(), abs=perks.sd().item() / 4)
    assert default.sd().item() == pytest.approx(perks.sd().item(), rel=0.1)


def test_batches_are_one_update():
    rng = np.random.default_rng(5)
    batches = bp.ConfusionMatrix.from_table(rng.integers(0, 20, (4, 3, 3)), dims=["step"])
    post = bp.posterior(batches.isel(step=0), "jeffreys")
    for step in range(1, 4):
        post = post.update(batches.isel(step=step))
    once = bp.posterior(batches.sum("step"), "jeffreys")
    np.testing.assert_array_equal(post.source.concentration, once.source.concentration)
    for metric in ("accuracy", "f1_macro"):
        np.testing.assert_array_equal(post[metric].hdi(), once[metric].hdi())
    # Yesterday's posterior is today's prior.
    today = bp.posterior(batches.isel(step=3), bp.prior.dirichlet(batches.isel(step=slice(3)).sum("step").counts + 0.5))
    np.testing.assert_array_equal(today.source.concentration, once.source.concentration)


# ── The joint Dirichlet is prevalence, and apart from it the rows ──

COUNTS = {"tp": 45, "fn": 9, "fp": 14, "tn": 32}


def joint_and_by_rows(draws=200_000):
    cm = bp.ConfusionMatrix.from_counts(**COUNTS)
    rows = bp.posterior(cm, "flat", design="by_actual", draws=draws)
    positives, negatives = COUNTS["tp"] + COUNTS["fn"] + 2, COUNTS["fp"] + COUNTS["tn"] + 2
    return bp.posterior(cm, "flat", draws=draws), rows.at_prevalence((positives, negatives))


@pytest.mark.parametrize(
    "metric", ["recall", "specificity", "balanced_accuracy", "informedness", "diagnostic_odds_ratio"]
)
def test_rows_do_not_depend_on_prevalence(metric):
    joint, rows = joint_and_by_rows()
    elsewhere = bp.posterior(bp.ConfusionMatrix.from_counts(**COUNTS), "flat").at_prevalence(0.03)
    for other in (rows, elsewhere):
        np.testing.assert_allclose(other[metric].ppf([0.1, 0.5, 0.9]), joint[metric].ppf([0.1, 0.5, 0.9]), rtol=1e-10)


@pytest.mark.parametrize("metric", ["accuracy", "precision", "npv", "f1", "jaccard", "prevalence", "markedness"])
def test_joint_is_rows_and_prevalence(metric):
    joint, rows = (post[metric] for post in joint_and_by_rows())
    # Beside the rows, the prevalence itself is drawn.
    drawn = metric == "prevalence"
    assert (joint.method in ("exact", "quadrature"), rows.method) == (True, "draws" if drawn else "quadrature")
    quantiles = joint.ppf([0.05, 0.25, 0.5, 0.75, 0.95])
    for level, x in zip(quantiles["q"].values, quantiles.values, strict=True):
        error = share_error(level, 200_000) if drawn else 1e-8
        assert rows.prob_below(x).item() == pytest.approx(level, abs=error)
    error = 4 * rows.mcse().item() if drawn else 1e-8
    assert rows.mean().item() == pytest.approx(joint.mean().item(), abs=error)


@pytest.mark.parametrize("metric", ["accuracy", "precision", "npv", "f1", "mcc"])
def test_prevalence_changes_the_rest(metric):
    post = bp.posterior(bp.ConfusionMatrix.from_counts(**COUNTS), "flat", draws=20_000)
    before, after = post[metric], post.at_prevalence(0.03)[metric]
    assert abs(after.mean().item() - before.mean().item()) > 20 * (after.mcse() + before.mcse()).item()


@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_precision_at_a_known_prevalence(p):
    # precision ≤ t where fpr ≥ recall · p(1 − t)/((1 − p)t): a probability of two independent Betas.
    post = bp.posterior(bp.ConfusionMatrix.from_counts(**COUNTS), "flat", design="by_actual", draws=200_000)
    precision = post.at_prevalence(p)["precision"]
    recall, fpr = stats.beta(46, 10), stats.beta(15, 33)
    t = precision.median().item()
    odds = p * (1 - t) / ((1 - p) * t)
    below = integrate.quad(lambda r: recall.pdf(r) * fpr.sf(min(odds * r, 1)), 0, 1)[0]
    assert below == pytest.approx(0.5, abs=share_error(0.5, 200_000))


# ── Caelen, section 4: MCC of A = (65, 30, 35, 15) and B = (50, 35, 30, 30), as (TP, TN, FP, FN), without a prior ──

SYSTEMS = {
    "A": {"tp": 65, "tn": 30, "fp": 35, "fn": 15},
    "B": {"tp": 50, "tn": 35, "fp": 30, "fn": 30},
}
# The ends of the shortest interval of 10⁶ draws vary, from seed to seed, by about 1 % of the distribution's standard
# deviation (0.08 and 0.12): four times that.
END_ERROR = {"posterior": 0.0035, "predictive": 0.005}


@pytest.fixture(scope="module")
def post():
    pairs = [bp.ConfusionMatrix.from_counts(**counts).counts.values for counts in SYSTEMS.values()]
    cm = bp.ConfusionMatrix.from_table(pairs, labels=[0, 1], dims={"model": list(SYSTEMS)})
    return bp.posterior(cm, "haldane", draws=M)


@pytest.fixture(scope="module")
def predictive(post):
    return post.predict(draws=M)


@pytest.mark.parametrize(("system", "mcc"), [("A", "0.2946"), ("B", "0.1635")])
def test_mcc_of_the_counts(system, mcc):
    assert bp.score(bp.ConfusionMatrix.from_counts(**SYSTEMS[system]), "mcc").item() == printed(mcc)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "positive", "greater", "hpd"),
    [("predictive", "0.92", "0.79", ("-0.07", "0.39")), ("posterior", "0.976", "0.875", ("0.002", "0.322"))],
)
def test_mcc_of_two_systems(kind, positive, greater, hpd, request):
    mcc = request.getfixturevalue("predictive" if kind == "predictive" else "post")["mcc"]
    assert mcc.prob_above(0).sel(model="B").item() == printed(positive, share_error(float(positive), M))
    draws = mcc.joint_draws(M, 0)
    share = (draws.sel(model="A") > draws.sel(model="B")).mean().item()
    assert share == printed(greater, share_error(float(greater), M))
    ends = mcc.hdi(0.95).sel(model="B").values.tolist()
    assert ends == [printed(end, END_ERROR[kind]) for end in hpd]


def test_mcc_is_positive_where_informedness_is(post):
    # Without a Monte Carlo error, since the quadrature answers for informedness.
    assert post["informedness"].prob_above(0).sel(model="B").item() == printed("0.976")


@pytest.mark.slow
def test_correlation_of_precision_and_recall(predictive):
    seen = predictive.to_datatree(["precision", "recall"])["posterior"].sel(model="A")
    correlation = np.corrcoef(seen["precision"].values.ravel(), seen["recall"].values.ravel())[0, 1]
    assert correlation == printed("0.26", 4 / np.sqrt(M))
    # Caelen's interval is that of 1,000 draws.
    assert 0.21 < correlation < 0.32


# ── Exact marginals ──

OMEGA = {"tp": 65.5, "fn": 15.5, "fp": 35.5, "tn": 30.5}
SHARES = {
    "accuracy": (("tp", "tn"), ("fp", "fn")),
    "error_rate": (("fp", "fn"), ("tp", "tn")),
    "precision": (("tp",), ("fp",)),
    "recall": (("tp",), ("fn",)),
    "specificity": (("tn",), ("fp",)),
    "npv": (("tn",), ("fn",)),
    "fpr": (("fp",), ("tn",)),
    "fnr": (("fn",), ("tp",)),
    "fdr": (("fp",), ("tp",)),
    "for": (("fn",), ("tn",)),
    "prevalence": (("tp", "fn"), ("fp", "tn")),
    "jaccard": (("tp",), ("fp", "fn")),
}
X = np.linspace(0.05, 0.95, 7)


def same(marginal, distribution):
    """Assert that a marginal is a SciPy distribution, by every verb."""
    assert marginal.method == "exact"
    figures = [marginal.mean(), marginal.sd(), marginal.median()]
    np.testing.assert_allclose(figures, [distribution.mean(), distribution.std(), distribution.median()], rtol=1e-10)
    for verb in ("pdf", "cdf", "sf", "ppf"):
        np.testing.assert_allclose(getattr(marginal, verb)(X), getattr(distribution, verb)(X), rtol=1e-9)


@pytest.mark.parametrize("metric", SHARES)
def test_aggregation_of_cells(metric):
    post = bp.posterior(bp.ConfusionMatrix.from_counts(**SYSTEMS["A"]), "jeffreys")
    a, b = (sum(OMEGA[cell] for cell in part) for part in SHARES[metric])
    same(post[metric], stats.beta(a, b))


@pytest.mark.few
@pytest.mark.parametrize("metric", [metric for metric in SHARES if metric not in ("accuracy", "error_rate")])
@pytest.mark.parametrize("label", [0, 1, 2])
def test_aggregation_of_cells_for_each_class(metric, label):
    table = np.array([[50, 10, 5], [4, 30, 6], [1, 2, 20]])
    omega = table + 0.25
    one = {"tp": omega[label, label], "fn": omega[label].sum() - omega[label, label]}
    one["fp"] = omega[:, label].sum() - one["tp"]
    one["tn"] = omega.sum() - sum(one.values())
    a, b = (sum(one[cell] for cell in part) for part in SHARES[metric])
    found = bp.posterior(bp.ConfusionMatrix.from_table(table), bp.prior.dirichlet(0.25))[f"{metric}_per_class"]
    np.testing.assert_allclose(found.cdf(X).sel(label=label), stats.beta(a, b).cdf(X), rtol=1e-9)
    np.testing.assert_allclose(found.mean().sel(label=label), a / (a + b), rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "accuracy_at"),
    [
        ("precision_micro", lambda t: t),
        ("recall_micro", lambda t: t),
        ("f1_micro", lambda t: t),
        ("f0.5_micro", lambda t: t),
        ("jaccard_micro", lambda t: 2 * t / (1 + t)),  # A/(2 − A)
        ("specificity_micro", lambda t: 1 - 3 * (1 - t)),  # 1 − (1 − A)/(K − 1)
    ],
)
def test_micro_averages_are_functions_of_accuracy(metric, accuracy_at):
    table = np.array([[20, 1, 0, 2], [3, 15, 1, 1], [0, 2, 9, 4], [1, 1, 3, 30]])
    right, wrong = np.trace(table) + 4, table.sum() - np.trace(table) + 12
    found = bp.posterior(bp.ConfusionMatrix.from_table(table), "flat")[metric]
    assert found.method == "exact"
    t = np.linspace(0.7, 0.98, 9)
    np.testing.assert_allclose(found.cdf(t), stats.beta(right, wrong).cdf(accuracy_at(t)), rtol=1e-9)


def test_f1_is_a_function_of_the_jaccard_index():
    f1 = bp.posterior(bp.ConfusionMatrix.from_counts(tp=10, fp=10, fn=5, tn=0), "flat")["f1"]
    jaccard = stats.beta(11, 17)
    assert f1.method == "exact"
    np.testing.assert_allclose(f1.cdf(X), jaccard.cdf(X / (2 - X)), rtol=1e-9)
    np.testing.assert_allclose(f1.ppf(X), 2 * jaccard.ppf(X) / (1 + jaccard.ppf(X)), rtol=1e-9)
    np.testing.assert_allclose(f1.pdf(X), jaccard.pdf(X / (2 - X)) * 2 / (2 - X) ** 2, rtol=1e-9)
    mean = integrate.quad(lambda j: 2 * j / (1 + j) * jaccard.pdf(j), 0, 1)[0]
    np.testing.assert_allclose(f1.mean(), mean, rtol=1e-9)


def test_hdi_of_f1_is_found_on_its_own_scale():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=3, fp=2, fn=3, tn=0), "flat")
    jaccard = stats.beta(4, 7)
    lower, upper = post["f1"].hdi(0.95).values
    of_jaccard = post["jaccard"].hdi(0.95).values
    density = [jaccard.pdf(t / (2 - t)) * 2 / (2 - t) ** 2 for t in (lower, upper)]
    assert density[0] == pytest.approx(density[1], rel=1e-6)
    assert jaccard.cdf(upper / (2 - upper)) - jaccard.cdf(lower / (2 - lower)) == pytest.approx(0.95, abs=1e-9)
    assert upper - lower < np.diff(2 * of_jaccard / (1 + of_jaccard)).item() - 1e-4


def test_means_of_recall_and_specificity_together():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(**SYSTEMS["A"]), "jeffreys")
    recall, specificity = stats.beta(65.5, 15.5), stats.beta(30.5, 35.5)
    both = recall.mean() + specificity.mean()
    means = {"balanced_accuracy": both / 2, "informedness": both - 1, "half_total_error_rate": 1 - both / 2}
    for metric, mean in means.items():
        assert post[metric].mean().item() == pytest.approx(mean, rel=1e-9)
    sd = np.hypot(recall.std(), specificity.std())
    assert post["informedness"].sd().item() == pytest.approx(sd, rel=1e-9)
    # Σ over one Beta of what the other must exceed.
    at = [integrate.quad(lambda r, t=t: recall.pdf(r) * specificity.cdf(t + 1 - r), 0, 1)[0] for t in (0, 0.2, 0.4)]
    np.testing.assert_allclose(post["informedness"].cdf([0, 0.2, 0.4]), at, atol=1e-9)
    np.testing.assert_allclose(post["balanced_accuracy"].cdf([0.5, 0.6, 0.7]), at, atol=1e-9)
    np.testing.assert_allclose(post["half_total_error_rate"].sf([0.5, 0.4, 0.3]), at, atol=1e-9)


# Of X ~ Beta(a, b) the mean of 1/X is (a + b − 1)/(a − 1), that of 1/X² is (a + b − 1)(a + b − 2)/((a − 1)(a − 2)), and
# that of (1 − X)/X is b/(a − 1): infinite where a ≤ 1, or for 1/X² a ≤ 2.
@pytest.mark.parametrize(
    ("metric", "weights", "mean", "sd"),
    [
        ("positive_likelihood_ratio", {"fp": 3}, 6 / 8 * 7 / 2, np.sqrt(6 * 7 / (8 * 9) * 21 - (6 / 8 * 7 / 2) ** 2)),
        ("positive_likelihood_ratio", {"fp": 2}, 6 / 8 * 6, np.inf),
        ("positive_likelihood_ratio", {"fp": 1.01}, 6 / 8 * (1.01 + 5 - 1) / 0.01, np.inf),
        ("positive_likelihood_ratio", {"fp": 1}, np.inf, np.inf),
        ("positive_likelihood_ratio", {"fp": 0.5}, np.inf, np.inf),
        (
            "negative_likelihood_ratio",
            {"tn": 5},
            2 / 8 * 7 / 4,
            np.sqrt(2 * 3 / (8 * 9) * 42 / 12 - (2 / 8 * 7 / 4) ** 2),
        ),
        ("negative_likelihood_ratio", {"tn": 2}, 2 / 8 * 4, np.inf),
        ("negative_likelihood_ratio", {"tn": 1}, np.inf, np.inf),
        ("diagnostic_odds_ratio", {"fp": 3, "fn": 4}, 6 / 3 * 5 / 2, np.sqrt(6 * 7 / 6 * 5 * 6 / 2 - 5**2)),
        ("diagnostic_odds_ratio", {"fp": 3, "fn": 2}, 6 / 1 * 5 / 2, np.inf),
        ("diagnostic_odds_ratio", {"fp": 1}, np.inf, np.inf),
        ("diagnostic_odds_ratio", {"fn": 1}, np.inf, np.inf),
    ],
)
def test_moments_of_ratios(metric, weights, mean, sd):
    omega = {"tp": 6.0, "fn": 2.0, "fp": 3.0, "tn": 5.0} | weights
    alpha = np.array([[omega["tn"], omega["fp"]], [omega["fn"], omega["tp"]]])
    nothing = bp.ConfusionMatrix.from_table(np.zeros((2, 2), dtype=int))
    found = bp.posterior(nothing, bp.prior.dirichlet(alpha))[metric]
    assert found.mean().item() == pytest.approx(mean, rel=1e-9)
    assert found.sd().item() == pytest.approx(sd, rel=1e-9)
    assert 0 < found.eti(0.95).values[0] < found.median() < found.eti(0.95).values[1] < np.inf


# ── Two priors: a Dirichlet on the matrix, a Beta on each rate ──


@pytest.mark.parametrize("weight", [0.5, 1, 2])
@pytest.mark.parametrize("metric", ["precision", "recall", "specificity"])
def test_rate_prior_agrees_where_a_rate_has_one_cell_on_each_side(metric, weight):
    cm = bp.ConfusionMatrix.from_counts(**SYSTEMS["A"])
    rate = bp.posterior(cm, bp.prior.rate(weight, weight))[metric]
    dirichlet = bp.posterior(cm, bp.prior.dirichlet(weight))[metric]
    np.testing.assert_array_equal(rate.hdi(0.9), dirichlet.hdi(0.9))


@pytest.mark.parametrize("weight", [0.5, 1, 2])
@pytest.mark.parametrize(
    ("metric", "successes", "failures"), [("accuracy", 95, 50), ("jaccard", 65, 50), ("prevalence", 80, 65)]
)
def test_rate_prior_differs_elsewhere(metric, successes, failures, weight):
    cm = bp.ConfusionMatrix.from_counts(**SYSTEMS["A"])
    same(bp.posterior(cm, bp.prior.rate(weight, weight))[metric], stats.beta(successes + weight, failures + weight))
    cells_in_success = {"accuracy": 2, "jaccard": 1, "prevalence": 2}[metric]
    same(
        bp.posterior(cm, bp.prior.dirichlet(weight))[metric],
        stats.beta(successes + cells_in_success * weight, failures + 2 * weight),
    )


@pytest.mark.parametrize(
    ("metric", "a", "b"),
    [("specificity", 30 + 2, 35 + 7), ("fpr", 35 + 7, 30 + 2), ("fnr", 15 + 7, 65 + 2), ("error_rate", 50 + 7, 95 + 2)],
)
def test_rate_prior_is_on_the_rate_of_which_more_is_better(metric, a, b):
    same(bp.posterior(bp.ConfusionMatrix.from_counts(**SYSTEMS["A"]), bp.prior.rate(2, 7))[metric], stats.beta(a, b))


def f1_of_rates(weight, tp, fp, fn):
    return bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fp=fp, fn=fn, tn=0), bp.prior.rate(weight, weight))


def test_rate_prior_of_f1_is_that_of_goutte_and_gaussier():
    """F1 = U/(U + V), U ~ Γ(tp + λ, 2h), V ~ Γ(fp + fn + 2λ, h), by integration."""
    f1 = f1_of_rates(1, 10, 10, 5)["f1"]
    u, v = stats.gamma(11, scale=2), stats.gamma(17)
    assert f1.mean().item() == pytest.approx(0.5580, abs=5e-5)
    for t in (0.4, 0.55, 0.7):
        expected = integrate.quad(lambda x, t=t: v.sf(x * (1 - t) / t) * u.pdf(x), 0, 200)[0]
        assert f1.cdf(t).item() == pytest.approx(expected, abs=1e-9)


def test_f1_of_a_second_system_under_the_rate_prior():
    """The thesis, Fig. 4: the second system is better in 43 %."""
    first, second = f1_of_rates(0.5, 10, 10, 5), f1_of_rates(0.5, 3, 2, 3)
    better = bp.compare(second, first, "f1", independent=True).prob_greater.item()
    assert round(better, 2) == 0.43
    flat = [f1_of_rates(1, 10, 10, 5), f1_of_rates(1, 3, 2, 3)]
    assert bp.compare(*flat[::-1], "f1", independent=True).prob_greater.item() == pytest.approx(0.42041, abs=5e-6)


# ── The thesis: is a second system better? ──


def test_recall_of_a_second_system():
    first, second = (
        bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=0, tn=0), "flat")["recall"]
        for tp, fn in ((10, 5), (3, 3))
    )
    assert prob_greater(second, first) == pytest.approx(0.2387939157, abs=1e-10)
    assert prob_greater(second, first) == printed("0.24")


@pytest.mark.parametrize(
    ("tp", "fp", "fn", "prior", "better"),
    [
        # 43 % is what (3, 2, 3) gives, of an F1 of .545: the .315 that is printed beside it is a misprint.
        (3, 2, 3, "jeffreys", "0.42631"),
        (3, 2, 3, "flat", "0.42041"),
        # (3, 10, 3), of an F1 of .316, is better in 8 %.
        (3, 10, 3, "flat", "0.08"),
    ],
)
def test_f1_of_a_second_system(tp, fp, fn, prior, better):
    first, second = (
        bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fp=fp, fn=fn, tn=0), prior)["f1"]
        for tp, fp, fn in ((10, 10, 5), (tp, fp, fn))
    )
    assert prob_greater(second, first) == printed(better)


@pytest.mark.parametrize(("tp", "fp", "fn", "f1"), [(10, 10, 5, "0.571"), (3, 2, 3, "0.545"), (3, 10, 3, "0.316")])
def test_f1_of_the_counts(tp, fp, fn, f1):
    assert bp.score(bp.ConfusionMatrix.from_counts(tp=tp, fp=fp, fn=fn, tn=0), "f1").item() == printed(f1)


# ── Four of five positives found, recall of at least .7 required ──


def test_four_of_five():
    recall = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=0), "flat")["recall"]
    # I_.7(5, 2) = 6 · .7⁵ − 5 · .7⁶ = .420175, without a further digit.
    assert recall.prob_below(0.7).item() == pytest.approx(0.420175, rel=1e-14)
    assert special.betainc(5, 2, 0.7) == pytest.approx(0.420175, rel=1e-14)
    # What the assurance of ever more examples tends to.
    assert recall.prob_above(0.7).item() == printed("0.580")


# ── Highest-density intervals at the bounds ──


def beta_hdi(a, b, prob):
    """Return our interval of a Beta(a, b): the posterior of a recall of which nothing has been seen."""
    nothing = bp.ConfusionMatrix.from_table(np.zeros((2, 2), dtype=int))
    return bp.posterior(nothing, bp.prior.rate(a, b))["recall"].hdi(prob).values


@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
def test_hdi_of_a_flat_density_is_central(prob):
    np.testing.assert_allclose(beta_hdi(1, 1, prob), [(1 - prob) / 2, (1 + prob) / 2], rtol=1e-12)


@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("b", [2, 6, 100])
def test_hdi_of_a_monotone_density_touches_its_higher_end(b, prob):
    reach = 1 - (1 - prob) ** (1 / b)  # cdf of Beta(1, b): 1 − (1 − x)ᵇ
    np.testing.assert_allclose(beta_hdi(1, b, prob), [0, reach], rtol=1e-9)
    np.testing.assert_allclose(beta_hdi(b, 1, prob), [1 - reach, 1], rtol=1e-9)


@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("a", "b"), [(0.5, 5.5), (0.5, 1), (0.3, 0.6), (0.9, 0.95)])
def test_hdi_of_an_unbounded_density_touches_its_higher_end(a, b, prob):
    np.testing.assert_allclose(beta_hdi(a, b, prob), [0, stats.beta(a, b).ppf(prob)], rtol=1e-9)
    np.testing.assert_allclose(beta_hdi(b, a, prob), [stats.beta(b, a).ppf(1 - prob), 1], rtol=1e-9)


@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
def test_hdi_of_a_symmetric_u_is_the_lower_one(prob):
    # The arcsine distribution: the cdf is (2/π) arcsin √x.
    np.testing.assert_allclose(beta_hdi(0.5, 0.5, prob), [0, np.sin(np.pi * prob / 2) ** 2], rtol=1e-9)
    np.testing.assert_allclose(beta_hdi(0.2, 0.2, prob), [0, stats.beta(0.2, 0.2).ppf(prob)], rtol=1e-9)


# ── Decision curves ──


@pytest.mark.parametrize(
    ("threshold", "tp", "fp", "net_benefit"),
    [
        # Tables of the R package dcurves for its data set df_binary: 750 patients, 105 with cancer; by age, by family
        # history, and of treating all.
        (0.05, 98, 454, "0.09880701754385966"),
        (0.1, 84, 289, "0.0691851851851852"),
        (0.2, 59, 110, "0.04200000000000001"),
        (0.3, 35, 46, "0.02038095238095238"),
        (0.1, 24, 91, "0.018518518518518517"),
        (0.25, 24, 91, "-0.008444444444444449"),
        (0.05, 105, 645, "0.09473684210526317"),
        (0.15, 105, 645, "-0.011764705882352927"),
    ],
)
def test_net_benefit_as_r_prints_it(threshold, tp, fp, net_benefit):
    cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=105 - tp, fp=fp, tn=645 - fp)
    score = bp.score(cm, bp.metrics.net_benefit(threshold)).item()
    assert score == pytest.approx(float(net_benefit), rel=0, abs=1e-15)
