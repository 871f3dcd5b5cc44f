"""Posteriors of outcomes against SciPy's distributions, moments of Dirichlets, and published figures."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.metrics.formulas import headline_of_grades

RIGHT = bp.Outcomes.from_counts(right=[45, 41], n=50, dims={"model": ["new", "old"]})
PAIR = bp.Outcomes.from_correct({"a": [1, 0, 1, 1], "b": [1, 1, 0, 1]})
GRADES = bp.Outcomes.from_grades([5, 4, 4, 2, 5, 5, 3, 4], scale=[1, 2, 3, 4, 5])


def test_right_and_wrong_are_betas_under_jeffreys():
    post = bp.posterior(RIGHT)
    beta = stats.beta([45.5, 41.5], [5.5, 9.5])
    accuracy = post["pass_rate"]
    np.testing.assert_allclose(accuracy.mean(), beta.mean(), rtol=1e-12)
    np.testing.assert_allclose(accuracy.eti(0.9), np.transpose(beta.ppf([[0.05], [0.95]])), rtol=1e-9)
    np.testing.assert_allclose(post["error_rate"].cdf(0.1), beta.sf(0.9), rtol=1e-9)
    assert accuracy.method == "exact"
    assert accuracy.name == "accuracy"
    assert post["accuracy"].observed["trials"].values.tolist() == [50, 50]
    assert "Jeffreys' Dirichlet (0.5 in each of 2 outcomes" in post.prior_text
    np.testing.assert_allclose(post["mean_grade"].mean(), beta.mean(), atol=4 * beta.std().max() / 200)
    np.testing.assert_allclose(bp.posterior(RIGHT, bp.prior.rate(2, 1))["accuracy"].mean(), [47 / 53, 43 / 53])


def test_predictions_are_beta_binomial():
    predicted = bp.posterior(RIGHT).predict(20)["accuracy"]
    expected = stats.betabinom(20, [45.5, 41.5], [5.5, 9.5]).pmf(18)
    np.testing.assert_allclose(predicted.pmf(0.9), expected, rtol=1e-9)


def test_grades_are_dirichlet_under_perks():
    post = bp.posterior(GRADES)
    alpha, grades = np.array([0, 1, 1, 3, 3]) + 0.2, np.arange(1, 6)
    assert post.prior_text == "Perks' Dirichlet (0.2 in each of 5 outcomes, total weight 1)"
    for first in range(1, 5):
        share = post[f"share_at_least_{grades[first]}"]
        assert share.method == "exact"
        np.testing.assert_allclose(share.cdf(0.6), stats.beta.cdf(0.6, alpha[first:].sum(), alpha[:first].sum()))
        assert share.observed.item() == pytest.approx((alpha[first:] - 0.2).sum() / 8)
    total, mean = alpha.sum(), (alpha * grades).sum() / alpha.sum()
    sd = np.sqrt(((alpha * grades**2).sum() / total - mean**2) / (total + 1))
    drawn = post["mean_grade"]
    assert drawn.mean().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(post.n_draws))
    assert drawn.sd().item() == pytest.approx(sd, rel=4 / np.sqrt(2 * post.n_draws))
    assert drawn.observed.item() == 4
    assert drawn.bounds == (1, 5)
    # The median is at most 3 where at least half of the examples have a grade of at most 3.
    at_most_3 = stats.beta.sf(0.5, alpha[:3].sum(), alpha[3:].sum())
    error = np.sqrt(at_most_3 * (1 - at_most_3) / post.n_draws)
    assert post["median_grade"].cdf(3).item() == pytest.approx(at_most_3, abs=4 * error)


def test_other_priors_and_updates():
    own = bp.posterior(GRADES, bp.prior.dirichlet([1, 1, 1, 2, 3]))
    assert own["share_at_least_4"].mean().item() == pytest.approx(11 / 16)
    assert bp.posterior(GRADES, "flat")["share_at_least_4"].mean().item() == pytest.approx(8 / 13)
    twice = bp.posterior(GRADES).update(GRADES)
    assert twice["share_at_least_5"].mean().item() == pytest.approx(6.2 / 17)


def test_paired_systems_are_compared_on_the_same_examples():
    """Joint outcomes of two systems have prior weights of ¼, and the difference that of a Dirichlet."""
    a, b = np.repeat([1, 1, 0, 0], [20, 9, 3, 8]), np.repeat([1, 0, 1, 0], [20, 9, 3, 8])
    found = bp.compare(bp.Outcomes.from_correct({"a": a, "b": b}), metric="accuracy").difference.isel(pair=0)
    first, second, total = 9.25, 3.25, 41
    mean = (first - second) / total
    variance = ((first + second) / total - mean**2) / (total + 1)
    assert found.mean().item() == pytest.approx(mean, rel=1e-8)
    assert found.sd().item() == pytest.approx(np.sqrt(variance), rel=1e-7)
    graded = bp.Outcomes.from_grades({"a": 1 + 2 * a + b, "b": 1 + 2 * b}, scale=[1, 2, 3, 4])
    share = bp.compare(graded, metric="share_at_least_3").difference.isel(pair=0)
    assert share.mean().item() == pytest.approx((9 - 3) / total, abs=0.01)
    assert share.method == "quadrature"
    mean_grade = bp.compare(graded, metric="mean_grade").difference.isel(pair=0)
    assert mean_grade.mean().item() == pytest.approx((2 * a + b - 2 * b).mean(), abs=0.05)


@pytest.mark.slow
def test_trees_and_files_have_outcomes(tmp_path):
    post = bp.posterior(GRADES)
    tree = post.to_datatree()
    assert tree["posterior"]["cells"].dims == ("chain", "draw", "outcome")
    assert post.joint_draws(3).dims == ("draw", "outcome")
    again = bp.Posterior.from_datatree(tree)
    assert again["mean_grade"].observed.item() == 4
    assert again.labels == [1, 2, 3, 4, 5]
    for thing in (post, post["share_at_least_4"], post["mean_grade"]):
        thing.save(tmp_path / "it.nc")
        loaded = bp.load(tmp_path / "it.nc")
        marginal = loaded["mean_grade"] if thing is post else loaded
        assert marginal.mean().item() == (post["mean_grade"] if thing is post else thing).mean().item()


def test_batches_of_outcomes_are_monitored_as_counts_are():
    batches = bp.Outcomes.from_counts(right=[8, 9, 10], n=10, dims=["step"])
    found = bp.monitor(batches, 0.7, "pass_rate").dataset["prob_met"]
    np.testing.assert_allclose(found, stats.beta.sf(0.7, [8.5, 17.5, 27.5], [2.5, 3.5, 3.5]), rtol=1e-9)


@pytest.mark.slow
def test_other_answers_take_them():
    post = bp.posterior(GRADES)
    assert post.summary()["metric"].tolist()[:3] == ["mean_grade", "median_grade", "share_at_least_2"]
    assert post.in_words().startswith("From 8 examples: mean grade is ")
    assert bp.posterior(RIGHT).prob_joint({"accuracy": 0.8}).shape == (2,)
    assert -1 < post.correlation("mean_grade", "share_at_least_4").item() < 1
    shrunk = bp.compare(bp.posterior(RIGHT), metric="accuracy", shrink=True, independent=True)
    assert np.ptp(shrunk.shrunk.mean().values) < 0.08


# ── Published: Bayes@N of scorio's pages, a Dirichlet of each question under a flat prior ──

BINARY = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 1], [1, 0, 0, 1, 0], [0, 0, 1, 0, 0]]
TOP_P = [
    [1, 1, 1, 1, 0, 1, 1],
    [1, 0, 0, 1, 0, 0, 1],
    [0, 0, 0, 0, 1, 0, 0],
    [1, 1, 1, 0, 1, 1, 0],
    [0, 0, 1, 0, 0, 0, 0],
]
RUBRIC = [[3, 2, 1, 3], [2, 1, 0, 3], [0, 3, 2, 3], [3, 2, 1, 0]]


@pytest.mark.parametrize(
    ("attempts", "scale", "mu", "sigma"),
    [
        (BINARY, [0, 1], 0.5714, 0.0778),
        (TOP_P, [0, 1], 0.4667, 0.0629),
        (RUBRIC, {0: 0, 1: 0.2, 2: 0.75, 3: 1}, 0.5437, 0.0673),
        ([[0, 1, 2, 2, 1], [1, 1, 0, 2, 2]], {0: 0, 1: 0.5, 2: 1}, 0.5625, 0.0920),
        # Earlier answers, as their prior counts: so many attempts more.
        ([[0, 1, 2, 2, 1, 0, 2], [1, 1, 0, 2, 2, 1, 2]], {0: 0, 1: 0.5, 2: 1}, 0.575, 0.0843),
        ([[*row, greedy] for row, greedy in zip(TOP_P, [1, 1, 0, 1, 0], strict=True)], [0, 1], 0.48, 0.0585),
        # The two best grades alone are right.
        ((np.array(RUBRIC) >= 2).astype(int), [0, 1], 0.5833, 0.0918),
    ],
)
def test_bayes_at_n(attempts, scale, mu, sigma):
    values = np.array(attempts)
    question = np.repeat(np.arange(len(values)), values.shape[1])
    outcomes = bp.Outcomes.from_grades(values.ravel(), scale=scale, by={"question": question})
    post = bp.posterior(outcomes, "flat")
    rate = post["accuracy" if len(scale) == 2 else "mean_grade"]
    found = np.sqrt((rate.sd() ** 2).sum().item()) / len(values)
    exact = rate.method == "exact"
    assert rate.mean().mean().item() == pytest.approx(mu, abs=5e-5 + (not exact) * 4 * sigma / 200)
    assert found == pytest.approx(sigma, abs=5e-5 + (not exact) * 4 * sigma / 283)


# ── Refused ──


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: bp.posterior(GRADES)["accuracy"], "needs right and wrong; these outcomes have 5 grades"),
        (lambda: bp.posterior(GRADES)["f1_macro"], "needs predictions of classes.*share_at_least_5"),
        (lambda: bp.posterior(RIGHT)["recall"], "accuracy or error_rate"),
        (lambda: bp.posterior(GRADES)["share_at_least_1"], "is 1 on the scale"),
        (lambda: bp.posterior(GRADES)["share_at_least_6"], "is 0 on the scale"),
        (lambda: bp.posterior([1, 0], [1, 1])["mean_grade"], "is a metric of Outcomes"),
        (lambda: bp.posterior(GRADES, "shared"), "'shared' is not available for outcomes"),
        (lambda: bp.posterior(GRADES, design="by_actual"), "outcomes have no classes"),
        (lambda: bp.pool(GRADES, "question", design="by_actual"), "outcomes have no classes"),
        (lambda: bp.posterior(GRADES).at_prevalence(0.2), "outcomes have no classes"),
        (lambda: bp.posterior(GRADES, bp.prior.dirichlet([[1, 1], [1, 1]])), "pseudo-counts have shape"),
        (lambda: bp.compare(bp.posterior(GRADES), "chance", "mean_grade"), "predicts classes, and outcomes have none"),
        (lambda: bp.posterior(GRADES).update(RIGHT), "not those of the posterior"),
        (lambda: bp.compare(RIGHT, metric="accuracy"), r"Outcomes.from_correct\(..., example=ids\)"),
        (lambda: bp.fit(RIGHT), r"'multinomial' is of predictions of classes, and outcomes have none\. bayesperf.post"),
        (lambda: bp.fit(RIGHT, "groups"), r"bayesperf.pool\(outcomes, dim\) is that model"),
        (lambda: bp.fit(GRADES, "classes"), "'classes' is of predictions of classes"),
        (lambda: bp.fit(PAIR, "paired"), r"bayesperf.compare\(outcomes\) compares them on the same examples"),
    ],
)  # fmt: skip
def test_refused(asked, message):
    with pytest.raises((ValueError, TypeError), match=message):
        asked()


def test_the_advice_on_pairs_names_outcomes():
    with pytest.warns(bp.errors.DependenceWarning, match=r"compare\(Outcomes.from_correct\(correct, by=\{'model'"):
        bp.compare(bp.posterior(RIGHT), metric="accuracy")


# ── True negatives that nobody counted ──


def test_without_true_negatives_what_needs_none_is_exact(tmp_path):
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=None))
    counted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=1000))
    for metric in ("precision", "recall", "f1", "f2", "jaccard", "fowlkes_mallows"):
        np.testing.assert_allclose(post[metric].eti(), counted[metric].eti(), rtol=1e-6)
        assert bp.score(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=None), metric) > 0.7
    assert post.summary()["metric"].tolist() == ["precision", "recall", "f1"]
    post.save(tmp_path / "it.nc")
    for each in (
        post,
        bp.load(tmp_path / "it.nc"),
        post.update(bp.ConfusionMatrix.from_counts(tp=1, fn=0, fp=0, tn=0)),
    ):
        with pytest.raises(ValueError, match="'accuracy' needs true negatives, and nobody counted them"):
            each["accuracy"]
    for refused in (lambda: post.predict(10), lambda: post.at_prevalence(0.2), lambda: post.joint_draws(5)):
        with pytest.raises(ValueError, match=r"^the cells need true negatives, and nobody counted them\. Ask for prec"):
            refused()
    with pytest.raises(ValueError, match="'specificity' needs true negatives"):
        bp.score(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=None), "specificity")


@pytest.mark.parametrize(
    "taken",
    [
        lambda cm: bp.fit(cm, "rates"),
        lambda cm: bp.fit(cm.counts, "multinomial"),
        lambda cm: bp.labels.noise(cm, 0.05),
        lambda cm: bp.labels.noise_sensitivity(cm, "f1"),
        lambda cm: cm.one_vs_rest(),
        lambda cm: bp.ConfusionMatrix(cm.counts, pos_label=0),
        lambda cm: bp.pool(bp.ConfusionMatrix(cm.counts.expand_dims(site=10), 1), "site", "clusters"),
    ],
)
def test_uncounted_negatives_are_nowhere_taken_for_none(taken):
    with pytest.raises(ValueError, match="true negatives, and nobody counted them"):
        taken(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=45, tn=None))


@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.PriorWarning")
def test_uncounted_negatives_stay_so_whatever_xarray_keeps():
    counted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45))
    cells = {"tp": [4, 8, 8] * 8, "fn": [1, 2, 2] * 8, "fp": [1, 1, 0] * 8}
    folds = bp.ConfusionMatrix.from_counts(**cells, tn=None, dims=["fold"])
    with xr.set_options(keep_attrs=False):
        by_bootstrap = bp.pool(folds, "fold", method="bayesian_bootstrap").mean
        updated = counted.update(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=1, tn=None))
        for each in (updated, by_bootstrap):
            with pytest.raises(ValueError, match="'specificity' needs true negatives"):
                each["specificity"]


def test_a_long_scale_is_summarised_by_its_greatest_grade():
    assert headline_of_grades(range(7))[2:] == [f"share_at_least_{grade}" for grade in range(1, 7)]
    assert headline_of_grades(range(8))[2:] == ["share_at_least_7"]
