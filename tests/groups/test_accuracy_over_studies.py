"""Meta-analysis of diagnostic accuracy: its integrals, draws, answers and summary ROC curve, and printed figures."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, optimize, special, stats

import bayesperf as bp
from bayesperf.groups import study_integrals
from bayesperf.groups.accuracy_over_studies import ellipse, means_of_ratios
from bayesperf.models._logit_normal import Pairs, cells_over_groups
from bayesperf.models.building import conjugate_parameters

# TP, FN, FP, TN of each study: Kriston et al. 2008 (AUDIT-C), Glas et al. 2003 (telomerase), Arbyn et al. 2013 (two
# tests of the same studies), and the MRI of HSROC's tutorial, whose fifth study has one added to every cell.
AUDIT_C = [
    [47, 9, 101, 738], [126, 51, 272, 1543], [19, 10, 12, 192], [36, 3, 78, 276], [130, 19, 211, 959],
    [84, 2, 68, 89], [68, 0, 112, 423], [752, 0, 3226, 2977], [59, 5, 55, 136], [142, 50, 571, 2788],
    [137, 24, 107, 358], [57, 3, 103, 437], [34, 1, 21, 56], [152, 51, 88, 264],
]  # fmt: skip
TELOMERASE = [
    [25, 8, 1, 25], [17, 4, 3, 11], [88, 16, 16, 31], [16, 10, 3, 80], [40, 17, 1, 137], [38, 9, 6, 24],
    [23, 19, 0, 12], [27, 6, 2, 18], [14, 3, 3, 29], [37, 7, 22, 7],
]  # fmt: skip
MRI = [
    [9, 2, 2, 44], [3, 5, 6, 32], [3, 1, 2, 16], [3, 12, 1, 44], [1, 6, 1, 16], [7, 22, 2, 167], [12, 4, 4, 29],
    [23, 14, 5, 230], [8, 5, 5, 53], [16, 2, 2, 22],
]  # fmt: skip
HC2 = [
    [6, 4, 17, 25], [10, 2, 38, 61], [27, 2, 154, 566], [23, 3, 115, 129], [4, 1, 19, 33], [58, 7, 326, 582],
    [22, 2, 110, 72], [17, 2, 88, 253], [34, 2, 65, 81], [256, 11, 1050, 984],
]  # fmt: skip
REPEATED_CYTOLOGY = [
    [6, 4, 14, 28], [8, 4, 28, 71], [20, 7, 191, 483], [20, 6, 74, 170], [4, 2, 20, 26], [48, 15, 324, 570],
    [10, 15, 18, 168], [14, 5, 126, 214], [24, 10, 43, 105], [227, 40, 1132, 914],
]  # fmt: skip
# The tests for tuberculosis of the same tutorial (Pai et al. 2004), with the references of the studies, and the priors
# of their recall and specificity, which the tutorial states as ranges: four standard deviations about the mean.
IN_HOUSE = [
    [11, 14, 1, 75], [1, 3, 1, 25], [8, 1, 0, 16], [16, 0, 6, 43], [16, 1, 0, 56], [9, 6, 0, 10], [13, 4, 0, 25],
    [17, 4, 2, 84], [7, 3, 0, 13], [14, 19, 1, 97], [31, 11, 7, 63],
]  # fmt: skip
REFERENCES = [*["first"] * 2, *["second"] * 2, *["third"] * 7]
RANGES = np.array([[[0.2, 0.6], [0.9, 1]], [[0.2, 0.7], [0.9, 1]], [[0.7, 0.9], [0.9, 1]]])
PRIORS = {name: np.array(values) for name, values in study_integrals.DEFAULTS.items()}
PRIORS = {name: np.tile(values, (2, 1)) if name != "correlation" else values for name, values in PRIORS.items()}


def test_the_priors_of_the_quadrature_are_those_of_the_model():
    families = {"location": "logistic", "spread": "halfnormal", "correlation": "uniform"}
    of_model = bp.models.meta_analysis.PRIORS
    found = {name: conjugate_parameters(name, of_model[name], family).tolist() for name, family in families.items()}
    assert found == study_integrals.DEFAULTS


def matrix(rows, dim="study"):
    tp, fn, fp, tn = np.array(rows).T
    return bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn, dims={dim: range(1, len(rows) + 1)})


def right_and_all(rows):
    tp, fn, fp, tn = np.array(rows).T
    return np.stack([tp, tn], -1), np.stack([tp + fn, tn + fp], -1)


@pytest.fixture(scope="module")
def few():
    return bp.groups.meta_analysis(matrix(TELOMERASE[:4]), draws=2000)


@pytest.fixture(scope="module")
def audit_c():
    return bp.groups.meta_analysis(matrix(AUDIT_C))


# ── Ratios without a mean, and rates without data ──


def test_ratios_of_a_new_study_have_a_median_and_no_mean(few):
    """Normal logits whose spread has a half-normal(1) prior: exp(logit) has no variance, and few have a mean."""
    table = few.summary().set_index(["answer", "metric"])
    ratios = ["positive_likelihood_ratio", "negative_likelihood_ratio", "diagnostic_odds_ratio"]
    new = table.loc["new study"].loc[ratios]
    assert not np.isfinite(new[["mean", "sd", "mcse"]]).any(axis=None)
    assert new["mean"].tolist()[2] == np.inf
    assert np.isfinite(new["median"]).all()
    assert np.isfinite(table.loc["median study"].loc[ratios, ["mean", "sd"]]).all(axis=None)
    words = few.new_group["diagnostic_odds_ratio"].in_words()
    assert words.startswith(f"Diagnostic odds ratio is in the median {new['median'].iloc[2]:.3g} (95 % HDI")
    # No false call anywhere: the rate of false calls may be 0, with a positive density, even of the median study.
    none = bp.groups.meta_analysis(matrix([[9, 2, 0, 44], [3, 5, 0, 32], [3, 1, 0, 16]]), draws=500)
    for post in (none.median_group, none.mean, none.new_group, none.by_group):
        assert np.isinf(post["positive_likelihood_ratio"].mean()).all()
    assert np.isfinite(none.median_group["negative_likelihood_ratio"].mean())
    # A study with a false call has a mean of its own; one without is as uncertain as a new study.
    mixed = bp.groups.meta_analysis(matrix([[9, 2, 0, 44], [3, 5, 3, 32]]), draws=500)
    assert np.isfinite(mixed.by_group["positive_likelihood_ratio"].mean()).values.tolist() == [False, True]


def test_more_than_two_studies_bound_the_spread():
    """The mean of 1/x of a new study diverges if at most two studies have both correct and wrong calls."""
    for studies, expected in ((1, np.inf), (2, np.inf), (3, np.nan)):
        rows = [[9, 2, 0, 44]] * (4 - studies) + [[3, 5, 3, 32]] * studies
        counts = matrix(rows).counts.assign_attrs(pos_label=1)
        found = means_of_ratios(counts, "new_group")
        np.testing.assert_equal(found["positive_likelihood_ratio"].item(), expected)
        assert found["diagnostic_odds_ratio"] == np.inf


@pytest.mark.parametrize(
    ("rows", "rate"), [([[9, 2, 0, 0], [3, 5, 0, 0]], "specificity"), ([[0, 0, 1, 9]] * 2, "recall")]
)
def test_a_rate_without_examples_comes_from_the_prior(rows, rate):
    with pytest.warns(bp.errors.IdentifiabilityWarning, match=rf"so {rate} and all .* the prior alone\. \(BP404\)"):
        bp.groups.meta_analysis(matrix(rows), draws=100)


# ── Integrals over a study ──

GRID = np.linspace(-9, 9, 361)
AT = [((1.0, 2.0), (1.0, 0.5), -0.6), ((0.0, -1.0), (2.0, 2.5), 0.9), ((2.0, 2.0), (0.01, 0.2), 0.0)]
COUNTS = np.array([[3, 40], [0, 5], [50, 90], [0, 0]]), np.array([[5, 41], [1, 8], [60, 100], [0, 10]])


def log_density(successes, trials, location, spread, r):
    """Log density of a study's counts and (z₁, z₂) over a grid, by SciPy."""
    x, y = np.meshgrid(GRID, GRID, indexing="ij")
    a, b = location[0] + spread[0] * x, location[1] + spread[1] * (r * x + np.sqrt(1 - r**2) * y)
    rates = special.expit(np.stack([a, b], -1))
    return stats.binom.logpmf(successes, trials, rates).sum(-1) + stats.norm.logpdf(x) + stats.norm.logpdf(y)


@pytest.mark.few(1)
@pytest.mark.parametrize(("location", "spread", "r"), AT)
def test_the_likelihood_of_a_study_is_its_integral(location, spread, r):
    pairs = Pairs(*COUNTS, np.array(location), np.array(spread), np.array(r))
    for i, found in enumerate(pairs.log_likelihood()):
        density = log_density(COUNTS[0][i], COUNTS[1][i], location, spread, r)
        assert found == pytest.approx(special.logsumexp(density) + 2 * np.log(GRID[1] - GRID[0]), abs=2e-4)
    np.testing.assert_allclose(pairs.log_likelihood(study_integrals._NODES), pairs.log_likelihood(), atol=0.01)


@pytest.mark.few(1)
@pytest.mark.parametrize(("location", "spread", "r"), AT)
def test_the_deviations_of_a_study_are_drawn_from_their_density(location, spread, r):
    n = 20_000
    pairs = Pairs(*(np.tile(c[:, None], (1, n, 1)) for c in COUNTS), np.array(location), np.array(spread), np.array(r))
    drawn = pairs.draw(np.random.default_rng(0))
    x = np.stack(np.meshgrid(GRID, GRID, indexing="ij"), -1).reshape(-1, 2)
    for i, each in enumerate(drawn):
        weight = special.softmax(log_density(COUNTS[0][i], COUNTS[1][i], location, spread, r).ravel())
        mean = weight @ x
        covariance = (x - mean).T @ ((x - mean) * weight[:, None])
        sd = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(each.mean(0), mean, atol=4.5 * sd.max() / np.sqrt(n))
        np.testing.assert_allclose(np.cov(each.T), covariance, atol=4.5 * sd.max() ** 2 * np.sqrt(3 / n))


def test_cells_of_the_median_the_mean_each_and_a_new_group():
    n, location, spread, r = 40_000, [1.5, -0.5], [0.8, 1.6], -0.7
    deviation = np.array([[0.5, -1.0], [0.0, 2.0]])
    parameters = xr.Dataset(
        {
            "location": (("draw", "rate"), np.tile(location, (n, 1))),
            "spread": ("rate", spread),
            "correlation": r,
            "deviation": (("site", "rate"), deviation),
        },
        {"rate": ["recall", "specificity"]},
    )
    new = parameters["location"].copy(data=np.random.default_rng(0).standard_normal((n, 2)))
    cells = cells_over_groups(parameters, ["yes", "no"], 0, new)
    rates = {
        name: np.stack([2 * table.sel(actual=label, predicted=label).values for label in ("yes", "no")], -1)
        for name, table in cells.items()
    }
    np.testing.assert_allclose(rates["cells_median"][0], special.expit(location))
    for i, (mu, tau) in enumerate(zip(location, spread, strict=True)):
        mean, _ = integrate.quad(lambda z: special.expit(mu + tau * z) * stats.norm.pdf(z), -10, 10)  # noqa: B023
        assert rates["cells"][0, i] == pytest.approx(mean, abs=1e-6)
    z = np.stack([deviation[:, 0], r * deviation[:, 0] + np.sqrt(1 - r**2) * deviation[:, 1]], -1)
    np.testing.assert_allclose(rates["cells_group"][0], special.expit(location + spread * z))
    new = special.logit(rates["cells_new"])
    np.testing.assert_allclose(new.mean(0), location, atol=4.5 * max(spread) / np.sqrt(n))
    np.testing.assert_allclose(new.std(0), spread, rtol=4.5 / np.sqrt(2 * n))
    assert np.corrcoef(new.T)[0, 1] == pytest.approx(r, abs=4.5 * (1 - r**2) / np.sqrt(n))


# ── Draws of the parameters ──


@pytest.mark.slow
def test_draws_against_the_prior_weighted_by_the_likelihood():
    """Few small studies: draws of the prior, whose weights come from a plain mean over deviations."""
    successes, trials = right_and_all([[4, 1, 1, 6], [6, 0, 3, 4], [2, 2, 0, 5]])
    rng, n, inner = np.random.default_rng(1), 40_000, 400
    location, spread = rng.logistic(size=(n, 2)), abs(rng.standard_normal((n, 2)))
    r = rng.uniform(-1, 1, n)
    z = rng.standard_normal((2, 3, inner))
    log_weight = np.zeros(n)
    for k, of, (x, y) in zip(successes, trials, z.transpose(1, 0, 2), strict=True):
        a = location[:, :1] + spread[:, :1] * x
        b = location[:, 1:] + spread[:, 1:] * (r[:, None] * x + np.sqrt(1 - r**2)[:, None] * y)
        logs = k[0] * a - of[0] * np.logaddexp(0, a) + k[1] * b - of[1] * np.logaddexp(0, b)
        log_weight += special.logsumexp(logs, axis=1)
    weight = special.softmax(log_weight)
    effective = 1 / (weight**2).sum()
    drawn = study_integrals.sampled(successes, trials, PRIORS, np.random.default_rng(2), 4000)
    for name, values in {"location": location, "spread": spread, "correlation": r}.items():
        mean = weight @ values
        sd = np.sqrt(weight @ (values - mean) ** 2)
        # The studies' deviations are common to all draws of the prior, which adds to the error.
        error = sd * np.sqrt(1 / effective + 1 / 4000 + 1 / inner)
        np.testing.assert_array_less(abs(drawn[name].mean(0) - mean), 4 * error)
        np.testing.assert_allclose(drawn[name].std(0), sd, rtol=0.1)


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [TELOMERASE[:2], AUDIT_C])
def test_draws_of_another_seed_agree_within_their_error(rows):
    """The effective share of the points is such that means of four thousand draws differ by .02 standard deviations."""
    first, other = (
        study_integrals.sampled(*right_and_all(rows), PRIORS, np.random.default_rng(seed), 4000) for seed in (0, 1)
    )
    for name, values in first.items():
        error = values.std(0) * np.sqrt(2 / 4000)
        np.testing.assert_array_less(abs(values.mean(0) - other[name].mean(0)), 4 * error)


@pytest.mark.slow
def test_ranks_of_parameters_from_their_priors_are_uniform():
    """Simulation-based calibration of the draws by quadrature: six studies of 10 to 40 examples of each class."""
    simulations, n = 200, 99
    trials = np.array([[10, 40], [20, 20], [30, 15], [15, 30], [25, 25], [40, 10]])
    ranks = []
    for i in range(simulations):
        rng = np.random.default_rng([5, i])
        true = study_integrals.from_normal(rng.standard_normal((1, 5)), PRIORS)
        r, z = true["correlation"][0], rng.standard_normal((6, 2))
        z[:, 1] = r * z[:, 0] + np.sqrt(1 - r**2) * z[:, 1]
        successes = rng.binomial(trials, special.expit(true["location"] + true["spread"] * z))
        drawn = study_integrals.sampled(successes, trials, PRIORS, rng, n)
        ranks.append(np.concatenate([np.ravel((drawn[name] < true[name]).sum(0)) for name in PRIORS]))
    for of_parameter in np.transpose(ranks):
        counts = np.bincount(of_parameter // 10, minlength=10)
        assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.slow
@pytest.mark.parametrize("rows", [AUDIT_C, TELOMERASE[:3]])
def test_draws_by_quadrature_are_those_of_the_sampler(rows):
    settings = {"random_seed": 1, "progressbar": False}
    exact = bp.fit(matrix(rows), "meta_analysis", **settings)["posterior"]
    sampled = bp.fit(matrix(rows), "meta_analysis", method="mcmc", **settings)
    assert exact.attrs["method"] == "exact"
    assert sampled["sample_stats"]["diverging"].sum() <= 4
    from arviz_stats import mcse

    names = ["location", "spread", "correlation", "recall", "recall_median", "recall_new", "specificity_group"]
    errors = mcse(sampled["posterior"].to_dataset()[names])
    for name in names:
        ours, theirs = exact[name], sampled["posterior"][name]
        own = ours.std(("chain", "draw")) / np.sqrt(4000)
        apart = abs(ours.mean(("chain", "draw")) - theirs.mean(("chain", "draw")))
        assert (apart < 4.5 * np.sqrt(own**2 + errors[name] ** 2)).all(), name


# ── Answers ──


@pytest.mark.slow
def test_the_answers_of_a_fit_are_those_of_its_tree():
    tree = bp.fit(matrix(TELOMERASE[:4], "site"), "meta_analysis", random_seed=1, draws=300)
    found = bp.groups.meta_analysis(tree)
    for part in ("mean", "median_group", "by_group", "new_group"):
        expected = bp.Posterior.from_datatree(tree, part=part)
        assert getattr(found, part).estimand == expected.estimand
        xr.testing.assert_equal(getattr(found, part)["recall"].mean(), expected["recall"].mean())
    assert found.median_group.estimand == "Posterior of the metric of the median site"
    assert "population mean over sites" in found.mean.estimand
    with pytest.raises(ValueError, match="comes from a fit"):
        found.without_each()


@pytest.mark.slow
def test_a_fit_with_covariates_says_at_which_it_answers_and_takes_other_priors(sampler):
    """The draws of this fit are those of the prior, so that weighted anew they are those of the other prior."""
    studies, year = matrix(TELOMERASE[:4], "site"), {"year": [-1.0, 0.0, 0.0, 1.0]}
    tree = bp.fit(studies, "meta_analysis", options={"covariates": year}, random_seed=1, draws=1000)
    assert "among sites like these 4 with year 0, recall" in bp.groups.meta_analysis(tree).in_words()
    effect = bp.Marginal.from_datatree(tree, "coefficient")
    assert effect.estimand == "Posterior of the coefficient"
    assert bp.Marginal.from_datatree(tree, "recall_new").estimand != "Posterior of the recall new"
    table = bp.prior.sensitivity(tree, ["recall"], {"higher": {"location": pm.Logistic.dist(1, 1)}}).set_index("prior")
    rng = np.random.default_rng(2)
    z = abs(rng.normal(size=400_000)) * rng.normal(size=400_000)
    for prior, centre in {"as fitted": 0, "higher": 1}.items():
        expected = special.expit(rng.logistic(centre, size=z.size) + z).mean()
        # Weighted draws are worth fewer, of which there are 4,000.
        assert table.loc[prior, "mean"] == pytest.approx(expected, abs=4 * 0.3 / np.sqrt(1000))


def test_what_depends_on_prevalence_needs_one(few):
    with pytest.raises(ValueError, match="at_prevalence"):
        few.mean["precision"]
    recall, specificity = special.expit(few.logits("median_group")).T
    precision = 0.1 * recall / (0.1 * recall + 0.9 * (1 - specificity))
    assert few.median_group.at_prevalence(0.1)["precision"].mean().item() == pytest.approx(precision.mean(), rel=1e-6)
    odds = recall * specificity / ((1 - recall) * (1 - specificity))
    assert few.median_group["diagnostic_odds_ratio"].median().item() == pytest.approx(np.median(odds), rel=1e-3)


@pytest.mark.parametrize("of", ["median_group", "new_group"])
def test_a_region_contains_its_share_of_the_draws(few, of):
    logits = few.logits(of)
    centre, root = ellipse(logits, 0.8)
    inside = np.linalg.norm(np.linalg.solve(root, (logits - centre).T), axis=0) <= 1
    assert inside.mean() == pytest.approx(0.8, abs=1e-3)
    outline = few.region(of, 0.8)
    edge = special.logit(np.stack([outline["recall"], outline["specificity"]], -1)) - centre
    np.testing.assert_allclose(np.linalg.norm(np.linalg.solve(root, edge.T), axis=0), 1)
    np.testing.assert_allclose(outline["fpr"], 1 - outline["specificity"])
    np.testing.assert_allclose(root @ root.T / np.cov(logits.T), (root @ root.T / np.cov(logits.T))[0, 0], rtol=1e-9)


@pytest.mark.slow
def test_without_each_study(few):
    table = few.without_each(draws=500)
    assert table["study"].unique().tolist() == ["none", 1, 2, 3, 4]
    without_third = bp.groups.meta_analysis(matrix(TELOMERASE[:4]).isel(study=[0, 1, 3]), draws=500)
    expected = without_third.median_group.summary(["recall"], 0.95, "eti").iloc[0]
    row = table.query("study == 3 and metric == 'recall'").iloc[0]
    assert row[["mean", "ci_lower", "ci_upper"]].tolist() == expected[["mean", "ci_lower", "ci_upper"]].tolist()


def test_words_and_table(audit_c, few):
    words = audit_c.in_words()
    assert words.startswith("In the median study, among studies like these 14, recall is 0.90")
    assert "In a new study, recall is" in words
    assert "Studies with a higher recall have a lower specificity (probability 99" in words
    factor = np.exp(np.sqrt(2) * stats.norm.ppf(0.75) * np.median(audit_c.drawn["spread"].sel(rate="recall")))
    assert f"the odds of recall differ by a median factor of {factor:.1f}" in words
    assert "It is open whether studies with a higher recall have a lower specificity: the correlation" in few.in_words()
    table = few.summary(["recall"])
    assert table["answer"].tolist() == ["median study", "mean", "new study", *["study"] * 4]
    assert table["mean"].iloc[0] == pytest.approx(few.median_group["recall"].mean().item())


# ── The summary ROC curve ──


def test_the_curve_is_that_of_harbord(few):
    """HSROC's Λ and β of each draw, by Harbord et al. 2007, equations 4 and 5, of logit recall and logit fpr."""
    curve = bp.curves.summary_roc(few)
    mean, spread = few.drawn["location"].values[0], few.drawn["spread"].values[0]
    ratio = spread[:, 1] / spread[:, 0]
    beta, accuracy = np.log(ratio), np.sqrt(ratio) * mean[:, 0] + mean[:, 1] / np.sqrt(ratio)
    for fpr in (0.05, 0.3):
        expected = special.expit(accuracy * np.exp(-beta / 2) + np.exp(-beta) * special.logit(fpr))
        np.testing.assert_allclose(curve.joint_draws()["recall"].sel(fpr=fpr), expected, rtol=1e-9)
    for i in (0, 7):
        area, _ = integrate.quad(
            lambda x: special.expit(mean[i, 0] + (mean[i, 1] + special.logit(x)) / ratio[i]), 0, 1, limit=200  # noqa: B023
        )  # fmt: skip
        assert curve.area.distribution.values.ravel()[i] == pytest.approx(area, abs=1e-4)
    low, high = curve.observed_range
    assert (low, high) == (pytest.approx(3 / 83), pytest.approx(16 / 47))
    assert curve.dataset["observed"].sum() == ((curve.dataset["fpr"] >= low) & (curve.dataset["fpr"] <= high)).sum()


def test_sentences_name_the_limits_of_the_band_and_of_the_area(few):
    curve = bp.curves.summary_roc(few)
    words, at = curve.in_words(ci_prob=0.8), 0.1
    low, high = curve.band(0.8)["recall"].sel(fpr=at, method="nearest").values
    assert f"At a rate of 0.1 the summary ROC curve has a recall of {curve.dataset['recall'].sel(fpr=at):.3f}" in words
    assert f"(80 % ETI {low:.3f}–{high:.3f})" in words
    low, high = curve.area.eti(0.8).values
    assert f"is {curve.area.mean():.3f} (80 % ETI {low:.3f}–{high:.3f})" in words


def test_the_figure_shows_studies_regions_and_curve(few):
    names = [
        "90 % band, pointwise",
        "summary ROC curve",
        "4 studies, observed",
        "median study, 90 % region",
        "new study, 90 % region",
    ]
    for drawn, legend in {bp.curves.summary_roc(few).plot: names, few.plot: names[2:]}.items():
        (axes,) = drawn(ci_prob=0.9).axes
        assert [text.get_text() for text in axes.get_legend().get_texts()] == legend
        np.testing.assert_allclose(axes.collections[-1].get_offsets()[:, 1], [25 / 33, 17 / 21, 88 / 104, 16 / 26])


# ── What is refused ──


def test_what_is_refused():
    of_two = bp.ConfusionMatrix.from_counts(
        tp=[[3, 4], [2, 5]], fn=1, fp=1, tn=5, dims={"test": ["a", "b"], "study": [1, 2]}
    )
    with pytest.raises(ValueError, match=r"has the dim 'test' beside 'study'.*data\.sel\(test=…\)"):
        bp.groups.meta_analysis(of_two, "study")
    with pytest.raises(ValueError, match="'site' is not a leading dim"):
        bp.groups.meta_analysis(matrix(TELOMERASE), "site")
    with pytest.raises(ValueError, match="has one study"):
        bp.groups.meta_analysis(matrix(TELOMERASE[:1]))
    with pytest.raises(ValueError, match="no fit of the model 'meta_analysis'"):
        bp.groups.meta_analysis(bp.fit(matrix(TELOMERASE), "groups", random_seed=1, draws=20))
    with pytest.raises(ValueError, match="at least three"):
        bp.groups.meta_analysis(matrix(TELOMERASE[:2]), draws=20).without_each()
    called_none = matrix(TELOMERASE[:3]).counts.assign_coords(study=["x", "none", "z"])
    with pytest.raises(ValueError, match="a study is called 'none'"):
        bp.groups.meta_analysis(bp.ConfusionMatrix(called_none, 1), draws=20).without_each()
    with pytest.raises(ValueError, match="draws: the fit has its own"):
        bp.groups.meta_analysis(xr.DataTree(), draws=20)
    covariates = {"covariates": {"year": [0, 1, 2]}}
    with pytest.raises(ValueError, match="covariates of studies have no exact form"):
        bp.fit(matrix(TELOMERASE[:3]), "meta_analysis", options=covariates, method="exact")


def test_few_points_that_carry_the_weight_are_said(monkeypatch):
    monkeypatch.setattr(study_integrals, "_LEAST_SHARE", 1.0)
    with pytest.warns(bp.errors.ConvergenceWarning, match="of the points carries the weight"):
        study_integrals.sampled(*right_and_all(TELOMERASE[:3]), PRIORS, np.random.default_rng(0), 50)


# ── Printed figures ──


def most_probable(rows):
    """Return the maximum of the likelihood over μ, log τ and atanh ρ, and standard errors of μ."""
    successes, trials = right_and_all(rows)

    def minus_log(u):
        pairs = Pairs(successes, trials, u[:2], np.exp(u[2:4]), np.tanh(u[4]))
        return -pairs.log_likelihood(7).sum()

    best = optimize.minimize(minus_log, [1, 1, -1, -1, 0], method="BFGS").x
    # At a correlation of −1, the end of its range, the other parameters alone have a curvature.
    size, step = 5 if abs(best[4]) < 3 else 4, 1e-3
    moves = step * np.eye(5)[:size]
    curvature = [
        [sum(s * t * minus_log(best + s * a + t * b) for s in (1, -1) for t in (1, -1)) / (4 * step**2) for b in moves]
        for a in moves
    ]
    return best[:2], np.sqrt(np.diag(np.linalg.inv(curvature)))[:2]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rows", "recall", "specificity"),
    [
        # The printed lower limit of HC2's specificity is 0.539, which is no Wald limit; 0.529 is.
        (HC2, (0.909, 0.857, 0.944), (0.607, 0.529, 0.680)),
        (REPEATED_CYTOLOGY, (0.715, 0.629, 0.788), (0.684, 0.599, 0.758)),
    ],
)
def test_maximum_likelihood_of_arbyn_2013(rows, recall, specificity):
    """The binomial–normal model by SAS METADAS, as CopulaDTA's vignette quotes it."""
    mean, error = most_probable(rows)
    found = special.expit(mean[:, None] + error[:, None] * stats.norm.ppf([0.5, 0.025, 0.975]))
    np.testing.assert_allclose(found, [recall, specificity], atol=6e-4)
    # The posterior of the median study beside it: the prior of the spread is wider than ten studies' likelihood.
    post = bp.groups.meta_analysis(matrix(rows), draws=1000).median_group
    for name, printed in (("recall", recall), ("specificity", specificity)):
        assert post[name].mean().item() == pytest.approx(printed[0], abs=0.02)


def restricted(u, y, v):
    """Return minus the restricted log-likelihood of a bivariate normal–normal model, the means and their covariance."""
    (first, second), r = np.exp(u[:2]), np.tanh(u[2])
    between = np.array([[first**2, r * first * second], [r * first * second, second**2]])
    weight = np.linalg.inv(between + v[:, :, None] * np.eye(2))
    information = weight.sum(0)
    mean = np.linalg.solve(information, np.einsum("sij,sj->i", weight, y))
    square = np.einsum("si,sij,sj", y - mean, weight, y - mean)
    logs = square - np.linalg.slogdet(weight)[1].sum() + np.linalg.slogdet(information)[1]
    return (logs + (y.size - 2) * np.log(2 * np.pi)) / 2, mean, np.linalg.inv(information)


def test_restricted_maximum_likelihood_of_audit_c(audit_c):
    """The figures of mada's vignette (sections 6 and 6.4), by mada's model; the curve of ours has the same area."""
    tp, fn, fp, tn = np.array(AUDIT_C).T + 0.5
    y, v = np.stack([np.log(tp / fn), np.log(fp / tn)], -1), np.stack([1 / tp + 1 / fn, 1 / fp + 1 / tn], -1)
    best = optimize.minimize(lambda u: restricted(u, y, v)[0], np.zeros(3), method="BFGS").x
    value, mean, covariance = restricted(best, y, v)
    np.testing.assert_allclose([*np.exp(best[:2]), np.tanh(best[2])], [1.175, 0.638, 0.854], atol=6e-4)
    jacobian = -np.log(special.expit(y) * special.expit(-y)).sum()
    assert jacobian - value == pytest.approx(31.564, abs=6e-4)
    fpr = np.arange(1, 100) / 100
    recall = special.expit(mean[0] + np.exp(best[0] - best[1]) * (special.logit(fpr) - mean[1]))
    assert np.trapezoid(recall, dx=1 / 99) == pytest.approx(0.887, abs=6e-4)
    logits = np.random.default_rng(0).multivariate_normal(mean, covariance, 200_000)
    found, false = special.expit(logits).T
    for ratio, printed in {
        "positive": (found / false, (4.06, 4.03, 3.26, 4.99)),
        "negative": ((1 - found) / (1 - false), (0.145, 0.14, 0.0811, 0.234)),
        "odds": (found * (1 - false) / ((1 - found) * false), (29.7, 28.9, 18.4, 45.3)),
    }.values():
        np.testing.assert_allclose([ratio.mean(), *np.quantile(ratio, [0.5, 0.025, 0.975])], printed, rtol=0.012)
    # Half an example in each cell draws the two studies without misses (68 and 752 of as many) to the others. The
    # binomial likelihood does not: the spread of recall is wider, and its median study has more recall.
    spread = audit_c.spread.mean().values
    np.testing.assert_allclose(spread, [1.61, 0.66], atol=0.05)
    assert audit_c.median_group["recall"].mean().item() == pytest.approx(special.expit(mean[0]) + 0.017, abs=0.006)
    assert bp.curves.summary_roc(audit_c).area.mean().item() == pytest.approx(0.888, abs=0.005)


@pytest.mark.slow
def test_telomerase_beside_copulas_of_beta_rates():
    """CopulaDTA's beta-binomial rates are averages over studies: 0.757 (.690–.817) and 0.798 (.617–.906)."""
    found = bp.groups.meta_analysis(matrix(TELOMERASE))
    for name, (mean, *interval) in {"recall": (0.757, 0.690, 0.817), "specificity": (0.798, 0.617, 0.906)}.items():
        assert found.mean[name].mean().item() == pytest.approx(mean, abs=0.01)
        np.testing.assert_allclose(found.mean[name].eti().values, interval, atol=0.03)
    # The median study is another figure, where studies differ so much.
    assert found.median_group["specificity"].mean().item() > 0.86


@pytest.mark.slow
def test_the_mri_of_the_tutorial_of_hsroc():
    """Probit rates with uniform priors, by importance sampling; ours with logit rates beside it."""
    printed = {  # Median, standard deviation and Monte Carlo error.
        "theta": (0.900, 0.239, 0.012), "accuracy": (2.054, 0.356, 0.020), "beta": (-0.348, 0.295, 0.022),
        "sigma_alpha": (0.511, 0.296, 0.007), "sigma_theta": (0.511, 0.192, 0.003),
    }  # fmt: skip
    low, high = np.array([-1.5, -3, -0.75, 0, 0]), np.array([1.5, 3, 0.75, 2, 2])
    centre, scale, _ = np.array(list(printed.values())).T
    rng, n = np.random.default_rng(0), 6000
    t = rng.standard_normal((n, 5)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)
    u = centre + 1.5 * scale * t
    log_proposal = -5 * np.log1p((t**2).sum(1) / 5)
    inside = ((u > low) & (u < high)).all(1)
    u, log_weight = u[inside], -log_proposal[inside]
    z, w = np.polynomial.hermite_e.hermegauss(31)
    x, y = (each.ravel() for each in np.meshgrid(z, z))
    log_w = np.log(np.outer(w, w).ravel() / (2 * np.pi))
    theta, alpha = u[:, :1] + u[:, 4:] * x, u[:, 1:2] + u[:, 3:4] * y
    recall = stats.norm.cdf(-(theta - alpha / 2) / np.exp(u[:, 2:3] / 2))
    specificity = stats.norm.cdf((theta + alpha / 2) * np.exp(u[:, 2:3] / 2))
    logs = [np.log(np.maximum(p, 1e-300)) for p in (recall, 1 - recall, 1 - specificity, specificity)]
    for row in MRI:
        of_study = sum(count * log for count, log in zip(row, logs, strict=True))
        log_weight = log_weight + special.logsumexp(of_study + log_w, axis=1)
    weight = special.softmax(log_weight)
    effective = 1 / (weight**2).sum()
    assert effective > 500
    for values, (median, sd, error) in zip(u.T, printed.values(), strict=True):
        order = np.argsort(values)
        found = values[order][np.searchsorted(np.cumsum(weight[order]), 0.5)]
        assert found == pytest.approx(median, abs=3 * np.hypot(error, 1.25 * sd / np.sqrt(effective)))
    ours = bp.groups.meta_analysis(matrix(MRI)).median_group
    assert ours["recall"].median().item() == pytest.approx(0.5565, abs=0.02)
    assert ours["specificity"].median().item() == pytest.approx(0.9482, abs=0.01)


# ── A reference that errs ──


def beta_parameters(ranges):
    mean, sd = ranges.mean(-1), np.diff(ranges)[..., 0] / 4
    size = mean * (1 - mean) / sd**2 - 1
    return mean * size, (1 - mean) * size


def hsroc(rows, used, bounds):
    """Return the tutorial's model: probit rates, uniform priors, and a reference that errs, whatever the test says."""
    probit = pm.math.invprobit
    with pm.Model() as model:
        theta, accuracy, beta = (pm.Uniform(name, -bound, bound) for name, bound in bounds.items())
        spreads, z = pm.Uniform("sigma", 0, 2, shape=2), pm.Normal("z", shape=(2, len(rows)))
        rates = []
        # Of the studies, and then overall.
        for alpha, cut in [(accuracy + spreads[0] * z[0], theta + spreads[1] * z[1]), (accuracy, theta)]:
            rates.append([probit((alpha / 2 + sign * cut) * pm.math.exp(sign * beta / 2)) for sign in (-1, 1)])
        pm.Deterministic("overall", pm.math.stack(rates[1]))
        s, c = rates[0]
        reference = pm.Beta("reference", *beta_parameters(RANGES))[used]
        s2, c2 = reference[:, 0], reference[:, 1]
        pi = pm.Uniform("pi", shape=len(rows))
        ill = [s2 * s, s2 * (1 - s), (1 - s2) * s, (1 - s2) * (1 - s)]
        well = [(1 - c2) * (1 - c), (1 - c2) * c, c2 * (1 - c), c2 * c]
        p = [pi * one + (1 - pi) * other for one, other in zip(ill, well, strict=True)]
        pm.Multinomial("n", np.sum(rows, 1), pm.math.stack(p, axis=-1), observed=rows)
    return model


@pytest.mark.slow
def test_the_in_house_tests_of_the_tutorial_of_hsroc():
    """Median, standard deviation and Monte Carlo error as printed; then ours, with logit rates, beside it.

    The printed errors of the parameters of the curve are too small: of a copy of the tutorial's Gibbs sampler, 20,000
    draws of THETA, beta and sigma were worth some 150 independent ones.
    """
    printed = {
        "THETA": (0.8129, 0.2786, 0.0126), "LAMBDA": (2.8420, 0.2063, 0.0035), "beta": (0.4199, 0.2558, 0.0124),
        "sigma": [(1.1408, 0.4963, 0.0256), (0.4554, 0.2729, 0.0145)],
        "overall": [(0.6810, 0.0800, 0.0030), (0.9960, 0.0072, 0.0001)],
        "reference": [[(0.5794, 0.0804, 0.0008), (0.9374, 0.0276, 0.0007)],
                      [(0.6735, 0.0738, 0.0007), (0.9716, 0.0154, 0.0001)],
                      [(0.8809, 0.0265, 0.0004), (0.9695, 0.0145, 0.0003)]],
    }  # fmt: skip
    used = np.unique(REFERENCES, return_inverse=True)[1]

    def medians(bounds):
        with hsroc(IN_HOUSE, used, bounds):
            settings = {"nuts_sampler": "nutpie", "cores": 1, "target_accept": 0.95, "progressbar": False}
            drawn = pm.sample(2000, chains=4, random_seed=1, **settings)
        return drawn["posterior"].median(["chain", "draw"])

    found = medians({"THETA": 1.5, "LAMBDA": 3, "beta": 0.75})
    for name, figures in printed.items():
        median, sd, error = np.moveaxis(np.array(figures), -1, 0)
        # Where a density is nearly uniform, as that of a sigma, the error of the median of n draws is √(3/n) sd.
        worth = 1000 if name == "reference" else 150
        assert (abs(found[name].values - median) < 3 * np.hypot(error, sd * np.sqrt(3 / worth))).all(), name
    priors = {"reference_rates": pm.Beta.dist(*beta_parameters(RANGES))}
    tree = bp.fit(matrix(IN_HOUSE), "meta_analysis", priors, options={"reference": REFERENCES}, random_seed=1)
    rates = tree["posterior"]["reference_rates"].median(["chain", "draw"])
    np.testing.assert_allclose(rates, found["reference"], atol=0.01)
    ours = bp.groups.meta_analysis(tree).median_group
    # The bound of LAMBDA excludes a test that is as good as both rates suggest. Ours has none, and nor has this:
    wide = medians({"THETA": 4, "LAMBDA": 8, "beta": 0.75})["overall"].values
    assert [ours[name].median().item() for name in ("recall", "specificity")] == pytest.approx(wide, abs=0.02)


@pytest.mark.slow
def test_what_a_reference_that_errs_takes_from_a_test_is_given_back():
    """Simulated studies: by the truth, by a reference that errs, and by that reference taken for the truth."""
    rng, studies, rates = np.random.default_rng(3), 20, np.array([0.8, 0.95])
    test = special.expit([1.5, 2.5] + 0.5 * rng.standard_normal((studies, 2)))
    ill = rng.random((studies, 100)) < 0.3
    said, tested = (np.where(ill, rng.random(ill.shape) < p[..., 0], rng.random(ill.shape) > p[..., 1])
                    for p in (rates, test[:, None]))  # fmt: skip
    rows = np.stack(
        [(a & b).sum(1) for a, b in [(said, tested), (said, ~tested), (~said, tested), (~said, ~tested)]], 1
    )
    priors = {"reference_rates": pm.Beta.dist([16.0, 38.0], [4.0, 2.0])}
    tree = bp.fit(matrix(rows), "meta_analysis", priors, options={"reference": "culture"}, random_seed=1)
    found, taken = bp.groups.meta_analysis(tree).median_group, bp.groups.meta_analysis(matrix(rows)).median_group
    for name, truth in zip(("recall", "specificity"), special.expit([1.5, 2.5]), strict=True):
        low, high = found[name].eti(0.95).values
        assert low < truth < high
        assert taken[name].eti(0.95).values[1] < truth


# ── Tests in the same studies ──


def test_tests_in_one_study_are_alike_by_the_share_that_is_the_studys():
    n, shared, r = 40_000, np.array([0.8, 0.3]), np.array([-0.6, 0.4])
    names = {"test": ["old", "new"], "rate": ["recall", "specificity"], "site": [*"ab"]}
    labels = {"test": names["test"], "site": names["site"], "actual": [0, 1], "predicted": [0, 1]}
    counts = xr.DataArray(np.ones((2, 2, 2, 2), int), labels, [*labels], attrs={"pos_label": 1})
    location, spread = np.array([[1.0, 0.5], [0.0, -0.5]]), np.array([[0.5, 1.0], [1.5, 0.8]])
    sample = {"chain": 1, "draw": n}
    drawn = {
        "location": (("chain", "draw", "test", "rate"), np.broadcast_to(location, (1, n, 2, 2))),
        "spread": (("chain", "draw", "test", "rate"), np.broadcast_to(spread, (1, n, 2, 2))),
        "correlation": (("chain", "draw", "test"), np.broadcast_to(r, (1, n, 2))),
        "shared": (("chain", "draw", "rate"), np.broadcast_to(shared, (1, n, 2))),
        "deviation": (("chain", "draw", "test", "site", "rate"), np.zeros((1, n, 2, 2, 2))),
    }
    posterior = xr.Dataset(drawn, names)
    assert dict(posterior.sizes) == sample | {"test": 2, "rate": 2, "site": 2}
    model = bp.models.meta_analysis
    cells = model.recover(posterior, counts, np.random.default_rng(1), dim="site", paired=True)["cells_new"]
    rates = np.stack([2 * cells.sel(actual=label, predicted=label).values[0] for label in (1, 0)], -1)
    z = (special.logit(rates) - location) / spread
    of_tests = np.corrcoef(z.reshape(n, 4).T)
    # Of each test as without pairs; of recall the share itself; of specificity ρ₁ρ₂ω₁ + √(1 − ρ₁²) √(1 − ρ₂²) ω₂.
    expected = np.array([r[0], r[1], shared[0], r.prod() * shared[0] + np.sqrt((1 - r**2).prod()) * shared[1]])
    found = of_tests[[0, 2, 0, 1], [1, 3, 2, 3]]
    np.testing.assert_allclose(found, expected, atol=4.5 / np.sqrt(n))
    assert model.log_likelihood(posterior, counts, dim="site", paired=True).startswith("the deviations of paired tests")


def test_one_test_is_no_pair():
    with pytest.raises(ValueError, match="there is one test"):
        bp.models.build(matrix(TELOMERASE[:3], "site"), "meta_analysis", options={"dim": "site", "paired": True})
    both = matrix(TELOMERASE[:3], "site").counts
    two = bp.ConfusionMatrix(xr.concat([both, both], "test"), matrix(TELOMERASE[:3], "site").pos_label)
    with pytest.raises(ValueError, match="imperfect references have no exact form"):
        bp.fit(matrix(TELOMERASE), "meta_analysis", options={"reference": "biopsy"}, method="exact")
    with pytest.raises(ValueError, match="paired tests have no exact form"):
        bp.fit(two, "meta_analysis", options={"dim": "site", "paired": True}, method="exact")


@pytest.mark.parametrize("times", [10, 1000])
def test_studies_of_many_examples(times):
    """Rates of such studies are known, so the parameters have the density of three normal pairs; draws of the prior."""
    counts = {"tp": [90, 80, 70], "fn": [10, 20, 30], "fp": [60, 40, 90], "tn": [940, 960, 910]}
    large = {name: [100 * times * each for each in cells] for name, cells in counts.items()}
    found = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**large, dims=["study"]))
    rng, n = np.random.default_rng(1), 1_000_000
    mu, tau, rho = rng.logistic(size=(2, n)), abs(rng.standard_normal((2, n))), rng.uniform(-1, 1, n)
    log_weight = np.zeros(n)
    for tp, fn, fp, tn in zip(*counts.values(), strict=True):
        x, y = (np.log([tp / fn, tn / fp])[:, None] - mu) / tau
        square = (x**2 - 2 * rho * x * y + y**2) / (1 - rho**2)
        log_weight -= square / 2 + np.log(tau.prod(0)) + np.log(1 - rho**2) / 2
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    # The standard error of a quantile, in probability, of both.
    error = 4 * np.sqrt((weight**2).sum() / 4 + 0.25 / 4000)
    for rate, location in zip(("recall", "specificity"), mu, strict=True):
        for level in (0.05, 0.5, 0.95):
            below = weight @ (special.expit(location) < found.median_group[rate].ppf(level).item())
            assert below == pytest.approx(level, abs=error)
