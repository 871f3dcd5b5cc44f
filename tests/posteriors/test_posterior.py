"""The posterior: its two kinds, its randomness, and what it refuses."""

import inspect

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf import metrics
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.prevalence import Prevalence, parse_prevalence
from bayesperf.posteriors.sources.stored_draws import StoredDraws
from tests.shared.metrics import NAMES

BINARY = bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30)
THREE = bp.ConfusionMatrix.from_table([[9, 1, 0], [2, 7, 3], [0, 0, 11]], labels=["a", "b", "c"])
DRAWN = ["matthews_corrcoef", "cohen_kappa", "p4", "precision_macro", "f1_weighted", "fowlkes_mallows_macro"]


def grid(**cells):
    return bp.ConfusionMatrix.from_counts(**{
        name: xr.DataArray(values, {"model": ["A", "B"]}, "model") for name, values in cells.items()
    })  # fmt: skip


def dirichlet_draws(cm, alpha, n, seed=12):
    omega = cm.counts.values + alpha
    return np.random.default_rng(seed).dirichlet(omega.ravel(), n).reshape(n, *omega.shape)


# ── What it says ──


@pytest.mark.parametrize(("prior", "alpha"), [("flat", 1), ("jeffreys", 0.5), ("perks", 1 / 9)])
def test_three_classes_against_independent_draws(prior, alpha):
    n = 200_000
    draws = dirichlet_draws(THREE, alpha, n)
    post = bp.posterior(THREE, prior=prior)
    for name in ["accuracy", "balanced_accuracy", "f1_macro", "cohen_kappa", "recall_micro", "off_by_one", "mcc"]:
        marginal, expected = post[name], metrics.get(name).evaluate(draws)
        error = expected.std() / np.sqrt(n) + marginal.mcse().item()
        assert marginal.mean().item() == pytest.approx(expected.mean(), abs=5 * error), name
    per_class = metrics.get("f1_per_class").evaluate(draws)
    np.testing.assert_allclose(post["f1_per_class"].mean(), per_class.mean(0), atol=5 * per_class.std() / np.sqrt(n))
    assert post["f1_per_class"].dims == ("label",)
    assert post["f1_per_class"].method == "exact"


@pytest.mark.slow
def test_default_prior_is_jeffreys_for_two_classes_and_shared_for_more():
    assert bp.posterior(BINARY)["recall"].mean().item() == 65.5 / 81
    assert bp.posterior(BINARY)["accuracy"].mean().item() == 96 / 147
    assert bp.posterior(THREE)["accuracy"].mean() == bp.posterior(THREE, "shared")["accuracy"].mean()


def test_labels_are_short_for_their_matrix():
    y_true, y_pred, fold = ["n", "y", "y", "n"], ["n", "y", "n", "n"], [1, 1, 2, 2]
    short = bp.posterior(y_true, y_pred, pos_label="y", by={"fold": fold}, prior="jeffreys")
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred, pos_label="y", by={"fold": fold})
    xr.testing.assert_identical(short["recall"].mean(), bp.posterior(cm, "jeffreys")["recall"].mean())


def test_summary_is_tidy_and_says_what_it_shows():
    table = bp.posterior(grid(tp=[8, 9], fn=[2, 1], fp=[1, 3], tn=[9, 7])).summary(
        ["recall", "tpr", "fowlkes_mallows_macro"], ci_prob=0.9, ci_kind="eti"
    )
    figures = ["observed", "mean", "sd", "median", "ci_lower", "ci_upper", "method", "mcse", "mcse_interval"]
    assert list(table) == ["metric", "model", *figures]
    assert table["observed"][:2].tolist() == [0.8, 0.9]
    assert table["metric"].tolist() == ["recall"] * 4 + ["fowlkes_mallows_macro"] * 2
    assert table["model"].tolist() == ["A", "B"] * 3
    for error in ("mcse", "mcse_interval"):
        assert (table[error] > 0).tolist() == [False] * 4 + [True] * 2
    assert table.attrs["ci_prob"] == 0.9
    assert table["ci_lower"][0] == pytest.approx(stats.beta(8.5, 2.5).ppf(0.05))
    assert "with its 90 % equal-tailed interval. Prior: Jeffreys' Dirichlet (0.5 in each of 4 cells" in repr(table)
    assert "equal-tailed interval" in table._repr_html_()


@pytest.mark.slow
def test_summary_of_classes_keeps_their_labels():
    table = bp.posterior(bp.ConfusionMatrix.from_table([[5, 1, 0], [2, 4, 1], [0, 0, 7]])).summary(
        ["recall_per_class", "accuracy"]
    )
    assert table["label"].tolist() == [0, 1, 2, ""]


@pytest.mark.few
@pytest.mark.parametrize("name", NAMES)
def test_the_observed_score_is_the_score_of_the_counts(name):
    needs = metrics.get(name).needs
    cm = grid(tp=[4, 9], fn=[1, 1], fp=[0, 3], tn=[5, 7]) if needs == "binary" else THREE
    post = bp.posterior(cm)
    expected = bp.score(cm, name)
    xr.testing.assert_identical(post.observed_score(name), expected)
    np.testing.assert_array_equal(post.summary(name)["observed"], expected.values.ravel())
    drawn = bp.Posterior.from_datatree(post.to_datatree(draws=5, chains=1))
    np.testing.assert_array_equal(drawn.observed_score(name), expected)


def test_observed_scores_of_nothing_are_empty():
    one_class = bp.posterior(bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=1, tn=4)).summary(["recall", "specificity"])
    np.testing.assert_array_equal(one_class["observed"], [np.nan, 0.8])
    assert one_class._repr_html_().count("NaN") == repr(one_class).count("NaN") == 0
    predicted = bp.posterior(THREE).predict(draws=10).summary(["accuracy", "recall_per_class"])
    assert predicted["observed"].isna().all()
    assert predicted["label"].tolist() == ["", "a", "b", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.1, (2, 18)])
@pytest.mark.parametrize("design", ["joint", "by_actual"])
def test_at_prevalence_reweights_the_observed_score_as_examples_would(p, design):
    """In BINARY 80 are positive and 65 negative; as many copies of each row make a tenth of them positive."""
    copies = bp.ConfusionMatrix.from_counts(tp=65 * 13, fn=15 * 13, fp=35 * 144, tn=30 * 144)
    post = bp.posterior(BINARY, design=design).at_prevalence(p)
    drawn = bp.posterior(BINARY).to_datatree(draws=5, chains=2)
    for each in (
        post,
        bp.Posterior.from_datatree(drawn).at_prevalence(p),
        bp.Posterior.from_datatree(post.to_datatree()),
    ):
        for name in ["precision", "f1", "mcc", "accuracy", "prevalence", "recall"]:
            assert each.observed_score(name).item() == pytest.approx(bp.score(copies, name).item(), rel=1e-12)
    unseen = bp.posterior(bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=1, tn=4)).at_prevalence(p)
    np.testing.assert_array_equal(
        unseen.summary(["specificity", "precision", "recall"])["observed"], [0.8, np.nan, np.nan]
    )


def test_an_update_updates_the_observed_score():
    before = bp.ConfusionMatrix.from_counts(tp=3, fn=1, fp=0, tn=0)
    after = bp.posterior(before).update(bp.ConfusionMatrix.from_counts(tp=1, fn=0, fp=2, tn=3))
    assert after.summary(["recall", "precision"])["observed"].tolist() == [4 / 5, 4 / 6]


def test_joint_requirements_follow_each_metrics_direction():
    n = 1_000_000
    draws = dirichlet_draws(BINARY, 0.5, n)
    recall, fpr = metrics.get("recall").evaluate(draws, 1), metrics.get("fpr").evaluate(draws, 1)
    expected = ((recall >= 0.78) & (fpr <= 0.55)).mean()
    found = bp.posterior(BINARY).prob_joint({"recall": 0.78, "fpr": 0.55})
    assert found.item() == pytest.approx(expected, abs=5 * found.attrs["mcse"])
    xr.testing.assert_identical(bp.posterior(BINARY).prob_joint(["recall >= 0.78", "fpr<=0.55"]), found)
    with pytest.raises(ValueError, match="a metric is required twice"):
        bp.posterior(BINARY).prob_joint(["recall>=0.78", "recall>=0.8"])
    for requirements, message in {
        (("prevalence", 0.3),): "has no one direction that is better",
        (("sensitivity", 0.99), ("recall", 0.5)): "a metric is required twice",
        (("recall", 80),): "recall lies between 0 and 1",
    }.items():
        with pytest.raises(ValueError, match=message):
            bp.posterior(BINARY).prob_joint(dict(requirements))


# ── Randomness ──


@pytest.mark.few
@pytest.mark.parametrize("name", DRAWN)
def test_adding_a_metric_or_a_system_changes_no_figure(name):
    both = grid(tp=[65, 50], fn=[15, 30], fp=[35, 30], tn=[30, 35])
    post = bp.posterior(both)
    alone = bp.posterior(both.sel(model=["B"]))
    assert post[name].mean().sel(model="B") == alone[name].mean().item()
    assert post[name].mean().sel(model="B") == bp.posterior(both.sel(model="B"))[name].mean().item()
    table = post.summary([*DRAWN, "accuracy"])
    assert table.loc[table["metric"] == name, "mean"].tolist() == post[name].mean().values.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mcc", "balanced_accuracy", "fowlkes_mallows", "f2"])
def test_a_system_has_the_same_figures_alone_and_among_others(name):
    rng = np.random.default_rng(3)
    # Of few and of many examples, empty cells among them: what each is computed by differs.
    cells = {cell: np.r_[rng.integers(0, 6, 3), rng.integers(0, 400, 3)] for cell in ("tp", "fn", "fp", "tn")}
    together = bp.posterior(bp.ConfusionMatrix.from_counts(**cells))[name]
    for i in range(6):
        one = {cell: values[i] for cell, values in cells.items()}
        alone = bp.posterior(bp.ConfusionMatrix.from_counts(**one))[name]
        for figure in ("mean", "eti", "hdi"):
            assert (getattr(alone, figure)().values == getattr(together, figure)().values[i]).all()


def test_systems_never_share_a_stream():
    same = grid(tp=[65, 65], fn=[15, 15], fp=[35, 35], tn=[30, 30])
    a, b = bp.posterior(same)["mcc"].joint_draws(5000).values
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(5000)
    other = bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=31)
    one, two = (bp.posterior(cm)["recall"].joint_draws(5000).values for cm in (BINARY, other))
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(5000)


def test_seeds():
    def draw(seed, again=None):
        return bp.posterior(BINARY, random_seed=seed)["mcc"].joint_draws(50, again).values

    np.testing.assert_array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))
    np.testing.assert_array_equal(draw(1, again=7), draw(1, again=7))
    np.testing.assert_array_equal(draw(np.random.default_rng(5)), draw(np.random.default_rng(5)))
    with pytest.raises(ValueError, match="random_seed must be"):
        bp.posterior(BINARY, random_seed=-1)


def test_draws_of_two_metrics_belong_together():
    post = bp.posterior(BINARY)
    recall, fnr = post["recall"].joint_draws(100).values, post["fnr"].joint_draws(100).values
    np.testing.assert_allclose(recall + fnr, 1)
    cells = post.joint_draws(100)
    np.testing.assert_allclose(metrics.get("recall").evaluate(cells.values, 1), recall)
    assert cells.dims == ("draw", "actual", "predicted")


def test_more_draws_lower_the_error():
    name = "fowlkes_mallows_macro"
    few, many = (bp.posterior(BINARY, draws=n)[name].distribution.mcse()[0] for n in (10_000, 90_000))
    assert few / many == pytest.approx(3, rel=0.05)


def test_metrics_asked_for_twice_and_two_costs_are_told_apart():
    lenient, strict = metrics.cost([[0, 1], [1, 0]], name="lenient"), metrics.cost([[0, 1], [5, 0]])
    post = bp.posterior(BINARY)
    table = post.summary(["mcc", "phi", lenient, strict])
    assert table["metric"].tolist() == ["matthews_corrcoef", "matthews_corrcoef", "lenient", "cost"]
    assert table["mean"][0] == table["mean"][1] == post["mcc"].mean().item()
    assert table["mean"][2] == pytest.approx(51 / 147, abs=1e-9)
    assert table["mean"][3] == pytest.approx((35.5 + 5 * 15.5) / 147, abs=1e-9)
    same_name = metrics.cost([[0, 1], [1, 0]])
    assert post.summary([same_name, strict])["mean"].nunique() == 2
    with pytest.raises(ValueError, match="two have the same name"):
        post.to_datatree([same_name, strict])


# ── Awkward counts ──

AWKWARD = {
    "zero cells": {"tp": 10, "fn": 0, "fp": 3, "tn": 0},
    "never predicted": {"tp": 0, "fn": 5, "fp": 0, "tn": 20},
    "perfect": {"tp": 20, "fn": 0, "fp": 0, "tn": 20},
    "no positives": {"tp": 0, "fn": 0, "fp": 4, "tn": 16},
    "nothing": {"tp": 0, "fn": 0, "fp": 0, "tn": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "prior"),
    [
        # Under Perks' prior the MCC of a system that calls everything positive has a spike that is hard to invert.
        pytest.param(AWKWARD[name], prior, marks=[pytest.mark.slow] * ((name, prior) == ("zero cells", "perks")))
        for name in AWKWARD
        for prior in ("flat", "jeffreys", "perks")
    ],
)
def test_awkward_counts_are_answered_with_a_proper_prior(cells, prior):
    names = [name for name in metrics.names() if metrics.get(name).needs in ("binary", "classes")]
    table = bp.posterior(bp.ConfusionMatrix.from_counts(**cells), prior).summary([*names, "f2"])
    assert not table.drop(columns="observed").isna().any().any()
    assert np.isfinite(table[["median", "ci_lower", "ci_upper"]].to_numpy()).all()
    ratios = table["metric"].isin(["positive_likelihood_ratio", "negative_likelihood_ratio", "diagnostic_odds_ratio"])
    assert np.isfinite(table.loc[~ratios, ["mean", "sd"]].to_numpy()).all()
    assert (table["sd"] > 0).all()
    assert (table["ci_lower"] < table["ci_upper"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("classes", [3, 10, 60])
def test_a_class_never_seen_among_many_is_answered(classes):
    counts = np.diag(np.arange(classes)) * 3
    table = bp.posterior(bp.ConfusionMatrix.from_table(counts)).summary()
    assert not table.drop(columns="observed").isna().any().any()


def test_draws_of_tiny_cells_are_normal_numbers_and_as_small_as_they_should_be():
    prior = bp.prior.dirichlet([[0.01, 1], [1, 1]])
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=5, fn=2, fp=1, tn=0), prior, draws=20_000)
    drawn = post.joint_draws(20_000).values[..., 0, 0].ravel()
    assert (drawn >= np.finfo(float).tiny).all()
    for bound in (1e-200, 1e-100, 1e-20):
        share = stats.beta.cdf(bound, 0.01, 11)
        assert (drawn < bound).mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 20_000))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("classes", "prior"),
    [(5, bp.prior.dirichlet(1e-6)), (60, bp.prior.dirichlet(1e-6)), (200, "perks"), (200, bp.prior.dirichlet(1e-6))],
)
def test_classes_without_examples_keep_a_tiny_prior(classes, prior):
    """Means of recall and precision of a class are a/(a + b) of its cells; variances of rows add up."""
    counts = np.zeros((classes, classes), int)
    seen = np.arange(classes // 2)
    counts[seen, seen], counts[seen, seen + 1] = 20, 2
    post = bp.posterior(bp.ConfusionMatrix.from_table(counts), prior=prior)
    weights = post.source.concentration.values
    right, of_row, of_column = np.diag(weights), weights.sum(1), weights.sum(0)
    sd = np.sqrt((right * (of_row - right) / (of_row**2 * (of_row + 1))).sum()) / classes
    recall, precision = post["recall_macro"], post["precision_macro"]
    assert recall.method == "draws"
    assert recall.mean().item() == pytest.approx((right / of_row).mean(), abs=4 * recall.mcse().item())
    assert precision.mean().item() == pytest.approx((right / of_column).mean(), abs=4 * precision.mcse().item())
    # Exponents of such draws are compressed, so in some the two largest cells of a row are too similar.
    assert recall.sd().item() == pytest.approx(sd, rel=0.05)


def test_haldane_answers_what_is_proper_and_names_what_is_not():
    cm = grid(tp=[8, 9], fn=[2, 1], fp=[1, 0], tn=[9, 10])
    post = bp.posterior(cm, "haldane")
    np.testing.assert_allclose(post["recall"].mean(), [0.8, 0.9])
    np.testing.assert_allclose(post["accuracy"].mean(), [0.85, 0.95])
    np.testing.assert_allclose(post["jaccard"].mean(), [8 / 11, 0.9])
    for name in ["precision", "f2", "mcc", "balanced_accuracy", "precision_macro"]:
        with pytest.raises(ValueError, match=f"metric '{metrics.get(name).name}' at model=B: no example .* improper"):
            post[name]
    with pytest.raises(ValueError, match="draws: some cell has neither examples nor prior weight"):
        post.joint_draws(10)


# ── Design and prevalence ──


def test_by_actual_knows_the_rates_but_not_what_depends_on_prevalence():
    post = bp.posterior(BINARY, design="by_actual")
    for name in ["recall", "specificity", "balanced_accuracy", "positive_likelihood_ratio", "recall_macro"]:
        assert post[name].mean().item() == pytest.approx(bp.posterior(BINARY)[name].mean().item(), rel=1e-3)
    for name in ["accuracy", "precision", "npv", "f1", "mcc", "prevalence", "f1_macro"]:
        with pytest.raises(ValueError, match=r"depends on prevalence.*at_prevalence\(p\)"):
            post[name]
    assert set(post.summary()["metric"]) == {"balanced_accuracy", "recall", "specificity"}
    with pytest.raises(ValueError, match="at_prevalence"):
        post.joint_draws(10)
    with pytest.raises(ValueError, match="design must be one of"):
        bp.posterior(BINARY, design="rows")


def test_at_prevalence_reweights_the_rows():
    n = 300_000
    rng = np.random.default_rng(4)
    recall, specificity = rng.beta(65.5, 15.5, n), rng.beta(30.5, 35.5, n)
    for design in ("joint", "by_actual"):
        post = bp.posterior(BINARY, design=design, draws=100_000).at_prevalence(0.1)
        precision = 0.1 * recall / (0.1 * recall + 0.9 * (1 - specificity))
        error = 5 * precision.std() * (1 / np.sqrt(n) + 1 / np.sqrt(100_000))
        assert post["precision"].mean().item() == pytest.approx(precision.mean(), abs=error)
        assert post["recall"].method == "exact"
        assert post["recall"].mean().item() == 65.5 / 81
        np.testing.assert_allclose(post.joint_draws(5).sum("predicted").sel(actual=1), 0.1)


def test_at_prevalence_takes_a_beta_a_mapping_and_a_vector():
    share = bp.posterior(BINARY, draws=50_000).at_prevalence((2, 8))["prevalence"]
    assert share.mean().item() == pytest.approx(0.2, abs=5 * share.mcse().item())
    assert share.sd().item() == pytest.approx(stats.beta(2, 8).std(), rel=0.02)
    first = bp.ConfusionMatrix(BINARY.counts, pos_label=0)
    assert bp.posterior(first).at_prevalence(0.3).joint_draws(1).sum("predicted").sel(actual=0).item() == pytest.approx(
        0.3
    )
    post = bp.posterior(THREE)
    for p in ({"c": 0.2, "a": 0.5, "b": 0.3}, [0.5, 0.3, 0.2]):
        np.testing.assert_allclose(post.at_prevalence(p).joint_draws(2).sum("predicted"), [[0.5, 0.3, 0.2]] * 2)


@pytest.mark.parametrize("p", [0, 1, 1.5, -0.1, (0, 1), [0.5, 0.6], [0.5, 0.500004], [0.2, 0.3, 0.5], {0: 1.0}, "many"])
def test_at_prevalence_refuses(p):
    with pytest.raises(ValueError, match=r"^p"):
        bp.posterior(BINARY).at_prevalence(p)


# ── Rate priors ──


def test_rate_priors_sit_on_each_rate():
    post = bp.posterior(BINARY, prior=bp.prior.rate(2, 3))
    assert post["accuracy"].mean().item() == pytest.approx((95 + 2) / 150)
    assert post["fpr"].mean().item() == pytest.approx((35 + 3) / 70)
    j = stats.beta(65 + 2, 50 + 2 * 3)
    assert post["f1"].median().item() == pytest.approx(2 * j.median() / (1 + j.median()))
    expected = (67 / 85 + 32 / 70) / 2
    assert post["balanced_accuracy"].mean().item() == pytest.approx(expected, abs=1e-9)
    assert post["recall"].joint_draws(20).shape == (20,)
    assert "matthews_corrcoef" not in set(post.summary()["metric"])
    for call in (lambda: post["mcc"], lambda: post["f2"], lambda: post.joint_draws(3), post.predict,
                 lambda: post.at_prevalence(0.3)["precision"], lambda: post.prob_joint({"recall": 0.5})):  # fmt: skip
        with pytest.raises(ValueError, match="rate prior"):
            call()


# ── Prediction and update ──


def test_prediction_is_the_beta_binomial():
    small = bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=3, tn=7)
    predicted = bp.posterior(small).predict(n=12, draws=200_000)
    assert predicted.observed is None
    xr.testing.assert_identical(predicted.examples, bp.posterior(small).observed)
    counts = np.round(12 * predicted["accuracy"].joint_draws(200_000).values).astype(int)
    observed = np.bincount(counts, minlength=13) / len(counts)
    expected = stats.betabinom(12, 16, 6).pmf(np.arange(13))
    error = np.sqrt(expected * (1 - expected) / len(counts))
    assert np.all(np.abs(observed - expected) < 5 * error + 1e-12)
    assert predicted.estimand == "Prediction of the metric in a new test set of 12 examples"


def test_prediction_counts_the_undefined():
    rare = bp.ConfusionMatrix.from_counts(tp=2, fn=1, fp=3, tn=40)
    predicted = bp.posterior(rare).predict(n=20, draws=50_000)
    expected = stats.betabinom(20, 4, 44).pmf(0)
    share = predicted["recall"].undefined().item()
    assert share == pytest.approx(expected, abs=5 * np.sqrt(expected / 50_000))
    table = predicted.summary(["recall", "accuracy"])
    assert table["undefined"].tolist() == [share, 0]
    assert not table.drop(columns="observed").isna().any().any()
    with pytest.raises(ValueError, match="prediction already"):
        predicted.predict()


def test_prediction_of_a_chosen_design_keeps_the_class_totals():
    predicted = bp.posterior(BINARY, design="by_actual").predict(draws=100)
    np.testing.assert_allclose(predicted.joint_draws(100).sum("predicted").sel(actual=1), 80 / 145)
    with pytest.raises(ValueError, match="at_prevalence"):
        bp.posterior(BINARY, design="by_actual").predict(n=10)


def test_updating_in_batches_is_updating_at_once():
    a, b = grid(tp=[8, 9], fn=[2, 1], fp=[1, 0], tn=[9, 10]), grid(tp=[3, 1], fn=[2, 5], fp=[0, 1], tn=[4, 4])
    together = bp.ConfusionMatrix(a.counts + b.counts)
    in_steps = bp.posterior(a, "jeffreys").update(b)
    xr.testing.assert_identical(in_steps["f1"].hdi(), bp.posterior(together, "jeffreys")["f1"].hdi())
    xr.testing.assert_identical(in_steps["mcc"].mean(), bp.posterior(together, "jeffreys")["mcc"].mean())
    with pytest.raises(ValueError, match="leading"):
        bp.posterior(a).update(b.sel(model="A"))
    with pytest.raises(ValueError, match="labels"):
        bp.posterior(a).update(THREE)


# ── ArviZ ──


def test_trees_go_to_arviz_and_back(tmp_path):
    import arviz as az

    cm = grid(tp=[65, 50], fn=[15, 30], fp=[35, 30], tn=[30, 35])
    post = bp.posterior(cm)
    tree = post.to_datatree(["recall", "mcc"], draws=500, chains=4)
    assert tree["posterior"]["cells"].dims == ("chain", "draw", "model", "actual", "predicted")
    np.testing.assert_array_equal(tree["observed_data"]["counts"], cm.counts)
    summary = az.summary(tree, var_names=["recall", "mcc"])
    # ArviZ 1.1 writes the figures as text.
    assert float(summary.loc["recall[A]", "mean"]) == pytest.approx(65.5 / 81, abs=0.01)
    az.plot_forest(tree, var_names=["recall"])
    az.plot_dist(tree, var_names=["mcc"])
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf") as saved:
        back = bp.Posterior.from_datatree(saved.load())
    recall = back["recall"]
    assert recall.method == "draws"
    np.testing.assert_allclose(recall.mean(), [65.5 / 81, 50.5 / 81], atol=5 * float(recall.mcse().max()))
    np.testing.assert_allclose(recall.hdi(), post["recall"].hdi(), atol=0.02)
    assert back.pos_label == 1
    assert back.prior_text == post.prior_text
    assert back.predict(draws=100)["recall"].dims == ("model",)
    np.testing.assert_allclose(back.at_prevalence(0.5).joint_draws(3).sum("predicted"), 0.5)
    with pytest.raises(ValueError, match="fit the model to all counts"):
        back.update(cm)


def test_a_metric_per_class_of_draws_is_that_of_each_class():
    both = xr.concat([THREE.counts, THREE.counts + 4], "model").assign_coords(model=["A", "B"])
    tree = bp.posterior(bp.ConfusionMatrix(both)).to_datatree(draws=20, chains=3)
    recall = bp.Posterior.from_datatree(tree)["recall_per_class"]
    assert recall.dims == ("model", "label")
    for model in "AB":
        for label in "abc":
            row = tree["posterior"]["cells"].sel(model=model, actual=label)
            expected = (row.sel(predicted=label) / row.sum("predicted")).median()
            assert recall.median().sel(model=model, label=label).item() == pytest.approx(expected.item())


def test_trees_without_cells_are_refused():
    with pytest.raises(ValueError, match="no variable 'cells'"):
        bp.Posterior.from_datatree(xr.DataTree.from_dict({"posterior": xr.Dataset({"x": 1})}))
    with pytest.raises(ValueError, match="cells has no dim chain"):
        bp.Posterior.from_datatree(xr.DataTree.from_dict({"posterior": BINARY.counts.to_dataset(name="cells")}))


# ── Misuse ──


def test_misuse_is_explained():
    post = bp.posterior(THREE)
    with pytest.raises(ValueError, match="did you mean 'recall'"):
        post["recal"]
    with pytest.raises(ValueError, match="f1_macro, f1_micro, f1_weighted, f1_per_class"):
        post["f1"]
    with pytest.raises(TypeError, match="a ConfusionMatrix, or actual and predicted labels"):
        bp.posterior([0, 1])
    with pytest.raises(TypeError, match="multiple values for argument 'prior'"):
        bp.posterior(BINARY, "flat", prior="flat")
    with pytest.raises(ValueError, match="prior must be one of"):
        bp.posterior(BINARY, "uniform")
    with pytest.raises(ValueError, match="at least 1"):
        bp.posterior(BINARY).joint_draws(0)
    unnamed = bp.ConfusionMatrix.from_table([[3, 1], [1, 3]], labels=["n", "y"])
    with pytest.raises(ValueError, match="in `pos_label`"):
        bp.posterior(unnamed)["recall"]
    assert "precision_macro" in set(bp.posterior(unnamed).summary()["metric"])


def test_repr():
    assert repr(bp.posterior(THREE, "perks")) == "<bayesperf.Posterior: exact, 3 classes>"
    assert repr(bp.posterior(THREE).predict(draws=10)) == "<bayesperf.Posterior: draws, 3 classes>"
    assert "<table" in bp.posterior(BINARY)._repr_html_()


# ── Found by review ──


def test_metrics_of_ones_own_must_keep_the_leading_axes():
    metrics.register("careless", lambda cells: cells[0, 0] / cells[0].sum())
    try:
        with pytest.raises(ValueError, match=r"'careless': its function returned shape .* cells\[\.\.\., 0, 0\]"):
            bp.posterior(BINARY)["careless"]
    finally:
        metrics.unregister("careless")
    with pytest.raises(ValueError, match="was not registered"):
        metrics.unregister("recall")


def test_infinite_draws_are_not_undefined():
    predicted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=20, fn=2, fp=0, tn=20)).predict(40, draws=50_000)
    ratio, rates = predicted["positive_likelihood_ratio"], predicted
    fpr, recall = (rates[name].joint_draws(50_000).values for name in ("fpr", "recall"))
    defined = ~np.isnan(fpr) & ~np.isnan(recall) & ((fpr > 0) | (recall > 0))
    assert ratio.undefined().item() == pytest.approx(1 - defined.mean(), abs=1e-9)
    assert ratio.prob_above(4.87).item() == pytest.approx((recall > 4.87 * fpr)[defined].mean(), abs=1e-9)
    assert np.isinf(ratio.mean().item())
    assert np.isinf(ratio.hdi().sel(ci_bound="upper").item())
    joint = predicted.prob_joint({"positive_likelihood_ratio": 4.87})
    assert joint.item() == pytest.approx((recall >= 4.87 * fpr)[defined].mean(), abs=1e-9)


def test_joint_requirements_are_of_the_draws_in_which_all_are_defined():
    predicted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=3, fn=1, fp=0, tn=20)).predict(20)
    drawn = predicted["recall"].joint_draws(10_000).values
    joint = predicted.prob_joint({"recall": 0.5})
    # The exact probability, which the joint one cannot exceed, is within the error of the draws.
    assert joint.item() == pytest.approx((drawn[~np.isnan(drawn)] >= 0.5).mean(), abs=4 * joint.attrs["mcse"])
    assert joint.attrs["undefined"] == pytest.approx(np.isnan(drawn).mean())


def test_rates_under_a_rate_prior_are_drawn_independently():
    post = bp.posterior(BINARY, prior=bp.prior.rate(1, 1))
    draws = post["recall"].joint_draws(4000).values, post["specificity"].joint_draws(4000).values
    assert abs(np.corrcoef(*draws)[0, 1]) < 5 / np.sqrt(4000)


def test_reweighting_an_improper_row_is_refused():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=0, fp=3, tn=5), "haldane").at_prevalence(0.2)
    with pytest.raises(ValueError, match="improper"):
        post["precision"]
    assert post["specificity"].mean().item() == 5 / 8


def test_predictions_cannot_be_reweighted():
    with pytest.raises(ValueError, match="prediction already"):
        bp.posterior(BINARY).predict(50, draws=50).at_prevalence(0.2)


def test_trees_are_checked_and_aligned():
    cm = grid(tp=[1, 400], fn=[1, 100], fp=[1, 50], tn=[1, 450])
    tree = bp.posterior(cm).to_datatree(["recall"], draws=50)
    tree["observed_data"] = xr.DataTree(tree["observed_data"].to_dataset().isel(model=[1, 0]))
    np.testing.assert_array_equal(bp.Posterior.from_datatree(tree).observed.sum(("actual", "predicted")), [4, 1000])
    tree["posterior"]["cells"] = -tree["posterior"]["cells"]
    with pytest.raises(ValueError, match="cells must be probabilities"):
        bp.Posterior.from_datatree(tree)
    with pytest.raises(TypeError, match="must be a DataTree"):
        bp.Posterior.from_datatree({})
    with pytest.raises(ValueError, match="apply to exact posteriors"):
        bp.Posterior.from_datatree(bp.posterior(cm).to_datatree(draws=50)).to_datatree(draws=10)


def test_other_seeds_predict_from_other_draws():
    sampled = bp.Posterior.from_datatree(bp.posterior(BINARY).to_datatree(draws=2000))
    one, two = (
        sampled.predict(5000, draws=1000, random_seed=seed)["recall"].joint_draws(1000).values for seed in (1, 2)
    )
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(1000)


def test_dependent_draws_with_undefined_values_have_an_error():
    tree = bp.posterior(BINARY).to_datatree(draws=500)
    tree["posterior"].attrs["independent_draws"] = 0
    table = bp.Posterior.from_datatree(tree).predict(3).summary(["recall"])
    assert table["undefined"][0] > 0
    assert table["mcse"][0] > 0


def test_a_constant_is_drawn_and_described():
    prevalence = bp.posterior(BINARY).at_prevalence(0.1)["prevalence"]
    assert prevalence.mean().item() == pytest.approx(0.1)
    assert prevalence.pdf(0.5).item() == 0
    np.testing.assert_allclose(prevalence.hdi(), 0.1)


def test_matrices_and_labels_may_be_named():
    by_name = bp.posterior(cm=BINARY, prior="jeffreys")["recall"].mean()
    assert by_name == bp.posterior(BINARY, "jeffreys")["recall"].mean()
    assert bp.posterior(y_true=[0, 1], y_pred=[0, 1])["accuracy"].mean().item() == pytest.approx(3 / 4)


def test_after_a_matrix_come_prior_design_and_seed():
    by_position = bp.posterior(BINARY, "jeffreys", "by_actual", 3)
    by_name = bp.posterior(BINARY, prior="jeffreys", design="by_actual", random_seed=3)
    assert by_position.prior_text == by_name.prior_text
    np.testing.assert_array_equal(by_position["informedness"].joint_draws(5), by_name["informedness"].joint_draws(5))
    seeded = bp.posterior(BINARY, "flat", random_seed=3)["mcc"].joint_draws(5)
    np.testing.assert_array_equal(bp.posterior(BINARY, "flat", "joint", 3)["mcc"].joint_draws(5), seeded)


def test_the_signature_is_that_of_the_function():
    parameters = inspect.signature(bp.posterior).parameters
    assert list(parameters)[:4] == ["cm", "y_pred", "design", "random_seed"]
    assert {"prior", "draws", "labels", "pos_label", "by", "y_true"} <= set(parameters)
    with pytest.raises(TypeError, match=r"^posterior\(\) got an unexpected keyword argument 'priors'"):
        bp.posterior(BINARY, priors="flat")
    with pytest.raises(TypeError, match="labels: the ConfusionMatrix has its own"):
        bp.posterior(BINARY, labels=[0, 1])
    for counts in ((BINARY,), (BINARY.counts, "flat"), ([1, 0], [1, 0])):
        with pytest.raises(TypeError, match=r"y_true: .* Call it without `y_true`"):
            bp.posterior(*counts, y_true=[1, 0])


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_a_number_of_draws_is_refused_alike_by_every_kind_of_marginal(n):
    post = bp.posterior(BINARY)
    kinds = [
        post["recall"], post["mcc"], post.predict(10, draws=20)["recall"],
        bp.posterior(BINARY, bp.prior.rate(1, 1))["f1"],
        bp.compare(post, post, "recall", independent=True).difference,
        bp.compare(post, post, "mcc", independent=True).difference,
        bp.folds.correlated_ttest([0.1, 0.2, 0.4], [0.1, 0.3, 0.2], test_fraction=0.3).difference,
        bp.roc_auc([0, 1, 0, 1], [1, 2, 3, 4], draws=10),
    ]  # fmt: skip
    for marginal in kinds:
        with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
            marginal.joint_draws(n)
        with pytest.raises(ValueError, match="random_seed must be a non-negative integer"):
            marginal.joint_draws(1, -1)


def test_a_seed_makes_the_new_test_set_of_draws_too():
    """All draws are one matrix, so that predictions differ by what is drawn from it alone."""
    one = BINARY.counts / BINARY.total
    post = Posterior(source=StoredDraws(one.expand_dims(chain=[0], draw=np.arange(50))), pos_label=1, prior_text="none")
    first, again, other = (post.predict(30, draws=50, random_seed=seed)["recall"].joint_draws(50) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (np.sort(first) != np.sort(other)).any()


def test_a_prediction_says_so_wherever_it_is_shown():
    predicted = bp.posterior(BINARY).predict(50, draws=100)["recall"]
    assert predicted.estimand == "Prediction of the metric in a new test set of 50 examples"
    assert predicted.plot().get_suptitle().startswith(predicted.estimand)


# ── Monte Carlo errors, and what is undefined or infinite ──


def test_the_error_of_joint_requirements_is_of_the_draws_in_use():
    predicted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=3, fn=1, fp=0, tn=20), "flat").predict(5, draws=20_000)
    joint = predicted.prob_joint({"recall": 0.5})
    used = 20_000 * (1 - joint.attrs["undefined"])
    assert used < 15_000
    expected = np.sqrt(joint.item() * (1 - joint.item()) / used)
    assert joint.attrs["mcse"] == pytest.approx(expected, rel=1e-3)


def test_the_error_of_joint_requirements_follows_the_autocorrelation_of_a_sampler():
    rng = np.random.default_rng(4)
    noise, latent = rng.normal(size=(4, 2000)), np.zeros((4, 2000))
    for t in range(1, 2000):
        latent[:, t] = 0.9 * latent[:, t - 1] + np.sqrt(1 - 0.81) * noise[:, t]
    recall = stats.norm.cdf(latent)
    cells = np.stack([np.full_like(recall, 0.3), np.full_like(recall, 0.2), (1 - recall) / 2, recall / 2], -1)
    labelled = xr.DataArray(
        cells.reshape(4, 2000, 2, 2),
        {"actual": [0, 1], "predicted": [0, 1]},
        ("chain", "draw", "actual", "predicted"),
    )
    joint = Posterior(source=StoredDraws(labelled), pos_label=1, prior_text="none").prob_joint({"recall": 0.5})
    independent = np.sqrt(joint.item() * (1 - joint.item()) / 8000)
    # The sign of an AR(1) process of coefficient .9: lags k have correlation 2 arcsin(.9ᵏ)/π.
    inflation = np.sqrt(1 + 2 * np.sum(2 / np.pi * np.arcsin(0.9 ** np.arange(1, 200))))
    assert joint.attrs["mcse"] / independent == pytest.approx(inflation, rel=0.3)


def test_a_metric_undefined_in_every_draw_is_reported():
    predicted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=3, fn=2, fp=1, tn=4), "flat").predict(1)
    row = predicted.summary(["mcc", "accuracy"]).iloc[0]
    assert row["undefined"] == 1
    assert row[["mean", "sd", "median", "ci_lower", "ci_upper"]].isna().all()
    marginal = predicted["mcc"]
    for verb in (marginal.mean, marginal.sd, marginal.median, marginal.hdi, marginal.eti, marginal.shortfall):
        assert np.isnan(verb().values).all()
    for verb in (marginal.pdf, marginal.cdf, marginal.sf, marginal.prob_above, marginal.prob_below, marginal.ppf):
        assert np.isnan(verb([0.1, 0.2]).values).all()
    assert marginal.undefined().item() == 1
    assert np.isnan(predicted.prob_joint({"recall": 0.5, "specificity": 0.5}))


@pytest.mark.few
@pytest.mark.parametrize("name", ["dor", "f1", "mcc", "precision", "p4"])
@pytest.mark.parametrize("prevalence", [1e-12, 0.3, 1 - 1e-9])
def test_extreme_prevalences_are_answered_without_warnings(name, prevalence):
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=3, fn=2, fp=1, tn=4), "flat").at_prevalence(prevalence)
    row = post.summary([name]).iloc[0]
    assert row["ci_lower"] <= row["median"] <= row["ci_upper"]
    post[name].pdf(0.5)


@pytest.mark.slow
def test_limits_of_draws_have_an_error_that_is_small_and_reported():
    cm = bp.ConfusionMatrix.from_table([[20, 3, 1], [4, 30, 5], [2, 6, 29]])
    posts = [bp.posterior(cm, "perks", random_seed=seed) for seed in range(12)]
    limits = np.array([post["mcc"].hdi().values for post in posts])
    spread = limits.std(0, ddof=1).max()
    assert spread < 0.008 * np.diff(limits.mean(0))[0]
    errors = [post["mcc"].mcse_interval().item() for post in posts]
    assert 0.5 < np.mean(errors) / spread < 2
    assert np.mean([post.summary("mcc")["mcse_interval"].item() for post in posts]) == pytest.approx(np.mean(errors))
    assert posts[0]["mcc"].distribution.values.shape == (1, 1, 40_000)
    assert bp.posterior(cm, "perks", draws=3000)["mcc"].distribution.values.shape == (1, 1, 3000)


def test_design_by_position_after_no_prior():
    cm = bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=1, tn=4)
    post = bp.posterior(cm, None, "by_actual")
    assert post.prevalence is None
    with pytest.raises(ValueError, match="by_actual"):
        post["precision"]


def test_a_summary_of_no_metric_says_why():
    cm = bp.ConfusionMatrix.from_table([[5, 1, 0], [1, 5, 0], [0, 1, 5]])
    post = bp.posterior(cm, bp.prior.rate(1, 1)).at_prevalence([0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match="needs a prior of the whole matrix"):
        post.summary()


def test_correlation_is_above_0_when_informedness_is():
    # Nothing is called negative rightly at some nodes, where the level set at 0 is a limit.
    post = bp.posterior(bp.ConfusionMatrix.from_table([[16, 0], [0, 0]]))
    probabilities = [post[name].prob_above(0.0).item() for name in ("mcc", "informedness")]
    assert probabilities[0] == pytest.approx(probabilities[1], abs=1e-6)
    assert post["mcc"].shortfall() > 0


# ── Correlation ──


def test_correlation_is_that_of_independent_draws():
    """Against draws of the cells by gamma variables, as the source has them; and signs that are certain."""
    cm = bp.ConfusionMatrix.from_counts(tp=65, tn=30, fp=35, fn=15)
    tp, fn, fp = np.random.default_rng(0).standard_gamma([[65.0], [15.0], [35.0]], (3, 200_000))
    expected = np.corrcoef(tp / (tp + fp), tp / (tp + fn))[0, 1]
    found = bp.posterior(cm, "haldane").correlation("precision", "recall").item()
    assert found == pytest.approx(expected, abs=4 * np.sqrt(1 / 200_000 + 1 / 100_000))
    # Caelen (2017), section 4: between .21 and .32 with 95 %, of 1,000 draws.
    assert 0.21 < found < 0.32
    post = bp.posterior(cm)
    assert post.correlation("recall", "fnr").item() == pytest.approx(-1)
    assert post.correlation("recall", "recall").item() == pytest.approx(1)
    # Recall and specificity are independent of each other.
    assert abs(post.correlation("recall", "specificity").item()) < 4 / np.sqrt(100_000)


def test_correlation_has_the_leading_dims_and_leaves_undefined_draws_out():
    cm = bp.ConfusionMatrix.from_table([[[9, 1], [2, 8]], [[8, 2], [1, 0]]], dims={"model": ["A", "B"]})
    predicted = bp.posterior(cm).predict(12, draws=500)
    found = predicted.correlation("recall", "precision")
    assert found.dims == ("model",)
    draws = [predicted[name].joint_draws(500).sel(model="B").values for name in ("recall", "precision")]
    defined = np.isfinite(draws).all(0)
    assert found.attrs["undefined"] >= 1 - defined.mean() > 0
    assert found.sel(model="B").item() == pytest.approx(np.corrcoef(np.array(draws)[:, defined])[0, 1])


def test_correlation_is_of_single_values():
    with pytest.raises(ValueError, match="metric 'recall_per_class' has a value a class"):
        bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=1, tn=4)).correlation("f1", "recall_per_class")


def test_variables_of_a_tree_have_the_names_asked_for():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45))
    drawn = post.to_datatree(["mcc", "matthews_corrcoef", bp.metrics.get("sensitivity")], draws=20)["posterior"]
    assert set(drawn.data_vars) == {"cells", "mcc", "matthews_corrcoef", "recall"}
    assert (drawn["mcc"] == drawn["matthews_corrcoef"]).all()
    assert drawn["mcc"].name == "mcc"


def test_a_prevalence_is_of_the_positive_class_and_drawn_as_shares():
    labels, rng = ["bad", "good"], np.random.default_rng(0)
    assert [parse_prevalence(0.1, labels, positive).in_words(positive) for positive in (0, 1)] == ["prevalence 0.1"] * 2
    assert parse_prevalence((2, 5), labels, 0).in_words(0) == "prevalence ~ Beta(2, 5)"
    assert Prevalence(np.array([300.0, 100.0]), fixed=True).draw(rng, 2).tolist() == [[0.75, 0.25]] * 2
