"""Posteriors of partly verified samples: their limits, what they say and refuse, and that they cover."""

import numpy as np
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf import labels
from bayesperf.core.errors import PriorWarning, SelectionWarning
from bayesperf.labels import verifying
from bayesperf.labels import votes as vote_model
from bayesperf.labels.voter_cells import Strata
from tests.labels.test_voter_cells import weighted_prior_draws


def simulated(n=1000, classes=2, known=100, seed=0, errors=(0.1, 0.2, 0.25)):
    """Return the truth, labels of which some are missing, and what a judge and systems say."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    said = [np.where(rng.random(n) < error, (truth + rng.integers(1, classes, n)) % classes, truth) for error in errors]
    return truth, np.where(rng.permutation(n) < known, truth, np.nan), *said


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_nothing_missing_is_the_posterior_of_the_matrix(classes):
    truth, _, judge, predicted, _ = simulated(classes=classes)
    post = labels.verify(truth, predicted, judge=judge)
    alone = bp.posterior(truth, predicted)
    metric = "accuracy"
    assert post[metric].method == alone[metric].method
    assert post[metric].mean().item() == alone[metric].mean().item()


def test_with_nothing_missing_systems_are_of_the_same_examples():
    truth, _, judge, old, new = simulated()
    post = labels.verify(truth, {"old": old, "new": new}, judge=judge)
    with pytest.warns(bp.errors.DependenceWarning, match="on the same examples.*compare the counts instead"):
        bp.compare(post, metric="accuracy")
    # The counts of the sample compare as those of the matrix: the same draws, of labels that are other numbers.
    sample = labels.VerifiedSample.from_predictions(truth, {"old": old, "new": new}, judge=judge)
    matrix = bp.ConfusionMatrix.from_predictions(truth, {"old": old, "new": new})
    ours, expected = (bp.compare(cm, metric="accuracy").difference for cm in (sample.verified_only(), matrix))
    assert ours.mean().item() == pytest.approx(expected.mean().item(), abs=1e-12)
    assert ours.sd().item() == pytest.approx(expected.sd().item(), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_one_missing_changes_a_mean_by_less_than_a_pseudo_example(classes):
    truth, _, judge, predicted, _ = simulated(classes=classes, n=300)
    one = truth.astype(float)
    one[5] = np.nan
    mean = labels.verify(one, predicted, judge=judge, draws=40_000)["accuracy"]
    alone = bp.posterior(truth, predicted)["accuracy"].mean().item()
    assert abs(mean.mean().item() - alone) < 1 / 300 + 4 * mean.sd().item() / 200


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_a_judge_who_is_right_tells_nearly_as_much_as_all_labels(classes):
    truth, verified, _, predicted, _ = simulated(classes=classes, n=2000, known=400)
    post = labels.verify(verified, predicted, judge=truth)
    widths = [np.diff(each["accuracy"].eti()).item() for each in (post, bp.posterior(truth, predicted))]
    assert widths[0] < 1.25 * widths[1]
    assert abs(post["accuracy"].mean().item() - np.mean(truth == predicted)) < widths[1] / 2
    assert post.source.judge["accuracy"].prob_above(0.98).item() > 0.95


def test_the_limits_are_those_of_a_beta_without_a_judge():
    """Without a judge the strata of accuracy are two: known shares of calls, and a Beta of each."""
    verified, predicted = [1, 1, 0, 1, 0] + [None] * 995, [1, 1, 1, 0, 0] + [0, 1] * 497 + [1]
    post = labels.verify(verified, predicted, draws=40_000)
    share, right = 500 / 1000, (2.5 / 4, 1.5 / 3)
    mean = share * right[0] + (1 - share) * right[1]
    assert abs(post["accuracy"].mean().item() - mean) < 4 * post["accuracy"].sd().item() / 200 + 1e-3


def test_a_system_has_the_same_figures_with_others_and_alone():
    _, verified, judge, old, new = simulated()
    both = labels.verify(verified, {"old": old, "new": new}, judge=judge)
    alone = labels.verify(verified, {"new": new}, judge=judge)
    assert both["f1"].mean().sel(model="new").item() == alone["f1"].mean().sel(model="new").item()
    assert both["f1"].mean().sel(model="new").item() != both["f1"].mean().sel(model="old").item()
    again = labels.verify(verified, {"old": old, "new": new}, judge=judge, random_seed=1)
    assert again["f1"].mean().sel(model="new").item() != both["f1"].mean().sel(model="new").item()


@pytest.mark.few
@pytest.mark.parametrize("prior", [None, "shared", "flat", bp.prior.dirichlet([[2, 1], [1, 3]])])
def test_names_of_labels_and_their_order_do_not_matter(prior):
    if isinstance(prior, bp.prior.Prior) and prior.name not in ("flat", "shared"):
        turned = bp.prior.dirichlet([[3, 1], [1, 2]])
    else:
        turned = prior
    _, verified, judge, predicted, _ = simulated(n=300, known=60)
    first = labels.verify(verified, predicted, judge=judge, prior=prior, draws=20_000)
    second = labels.verify(1 - verified, 1 - predicted, judge=1 - judge, prior=turned, draws=20_000)
    one, other = first["recall"], second["specificity"]
    # Draws of the model that strata share are worth fewer independent ones.
    effective = vote_model._ENOUGH if prior == "shared" else 20_000
    error = np.hypot(one.sd().item(), other.sd().item()) / np.sqrt(effective)
    assert abs(one.mean().item() - other.mean().item()) < 4 * error


def test_every_verb_works():
    _, verified, judge, predicted, _ = simulated()
    post = labels.verify(verified, predicted, judge=judge)
    assert list(post.summary(["recall"])["method"]) == ["draws"]
    assert np.isnan(post.summary(["recall"])["observed"]).all()
    assert post.at_prevalence(0.1)["precision"].mean() < post["precision"].mean()
    assert post["recall"].mean() == post.at_prevalence(0.1)["recall"].mean()
    assert post.predict(100)["accuracy"].sd() > post["accuracy"].sd()
    assert post.prob_joint({"recall": 0.5, "precision": 0.5}) > 0.99
    assert bp.Posterior.from_datatree(post.to_datatree())["recall"].mean() == post["recall"].mean()
    with pytest.raises(ValueError, match="fit the model to all counts"):
        post.update(post.source.sample.verified_only())


def test_its_own_seed_draws_for_it():
    _, verified, judge, predicted, _ = simulated()
    post = labels.verify(verified, predicted, judge=judge, random_seed=7)
    assert post.joint_draws(100).identical(post.joint_draws(100, 7))
    assert not post.joint_draws(100).identical(post.joint_draws(100, 0))


def test_it_is_saved_with_its_sample(tmp_path):
    _, verified, judge, old, new = simulated(classes=3)
    post = labels.verify(verified, {"old": old, "new": new}, judge=judge)
    post.save(tmp_path / "post.nc")
    loaded = bp.load(tmp_path / "post.nc")
    assert (loaded["f1_macro"].mean() == post["f1_macro"].mean()).all()
    assert bp.compare(loaded, metric="accuracy").prob_greater.equals(bp.compare(post, metric="accuracy").prob_greater)


def test_words_say_what_the_figures_rest_on():
    _, verified, judge, predicted, _ = simulated(n=5000, known=100)
    post = labels.verify(verified, predicted, judge=judge)
    worth = post.source.effective_number("accuracy").item()
    words = post.in_words("accuracy")
    assert words.startswith("100 of 5,000 examples are verified. Accuracy is 0.")
    assert f"makes accuracy as certain as about {worth:,.0f} examples verified at random would by themselves." in words
    assert (
        "among examples with the same pair of labels from judge and system, the verified were chosen at random."
        in words
    )
    without = labels.verify(verified, predicted).in_words("accuracy")
    assert "What is predicted for the others" in without
    assert "the judge" not in without


def test_effective_number_is_what_it_says():
    """As many examples verified by chance leave about the same width."""
    truth, verified, judge, predicted, _ = simulated(n=20_000, known=200)
    post = labels.verify(verified, predicted, judge=judge)
    worth = round(post.source.effective_number("accuracy").item())
    assert worth > 250
    first = np.random.default_rng(1).choice(20_000, worth, replace=False)
    alone = bp.posterior(truth[first], predicted[first])["accuracy"].sd().item()
    # The width of so few by chance varies with their accuracy.
    assert post["accuracy"].sd().item() == pytest.approx(alone, rel=0.15)


def test_effective_number_of_each_system():
    _, verified, judge, old, new = simulated()
    both = labels.verify(verified, {"old": old, "new": new}, judge=judge).source.effective_number("accuracy")
    assert both.dims == ("model",)
    for name, predicted in (("old", old), ("new", new)):
        alone = labels.verify(verified, predicted, judge=judge).source.effective_number("accuracy").item()
        # Of the same variance, and other draws of what the verified examples alone say.
        assert both.sel(model=name).item() == pytest.approx(alone, rel=4 * np.sqrt(2 * 2 / 10_000))


@pytest.mark.parametrize(
    ("prior", "share", "decides"), [(None, 0.25, "the prior alone"), ("shared", 0.5, "what was found elsewhere")]
)
def test_what_nothing_is_known_of_is_said(prior, share, decides):
    truth = np.array([0, 1] * 20)
    predicted, judge = truth.copy(), truth.copy()
    judge[:20] = 1 - judge[:20]
    verified = np.where(np.arange(40) < 20, np.nan, truth)
    if prior is None:
        verified[0] = truth[0]
    said = f"None like {100 * share:.0f} % of the examples was verified: {decides}"
    with pytest.warns(PriorWarning, match=said):
        post = labels.verify(verified, predicted, judge=judge, prior=prior)
    assert post.source.unknown.item() == share
    assert said in post.in_words("accuracy")


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_a_level_where_nobody_looked_is_named(classes):
    _, verified, _, predicted, _ = simulated(classes=classes, known=400)
    level = np.arange(1000) % 10
    verified[level == 3] = np.nan
    with pytest.warns(PriorWarning, match=r"None like 10 % of the examples was verified \(level 3\): what was found"):
        post = labels.verify(verified, predicted, strata=level)
    assert post.source.unknown.item() == pytest.approx(0.1)


def test_a_predicted_class_where_nobody_looked_is_named_however_rare():
    truth, verified, judge, predicted, _ = simulated(classes=3, n=3000, known=300)
    predicted[:5] = 3
    verified[:5] = np.nan
    judge[10] = 3
    verified[10] = truth[10]
    with pytest.warns(PriorWarning, match=r"None like 0.2 % of the examples was verified \(predicted 3\)"):
        post = labels.verify(verified, predicted, judge=judge, labels=[0, 1, 2, 3])
    assert post.source.unknown.item() == pytest.approx(5 / 3000)


def test_examples_chosen_because_systems_differ_are_noticed():
    truth, _, judge, old, new = simulated(n=4000)
    chosen = np.where((old != new) & (np.arange(4000) % 4 == 0) | (np.arange(4000) % 40 == 0), truth, np.nan)
    with pytest.warns(SelectionWarning, match="verified more often"):
        labels.verify(chosen, {"old": old, "new": new}, judge=judge)
    # Told apart, they may be chosen so.
    labels.verify(chosen, {"old": old, "new": new}, judge=judge, strata=old != new)
    labels.verify(np.where(np.arange(4000) % 20 == 0, truth, np.nan), {"old": old, "new": new}, judge=judge)


def test_refusals():
    _, verified, judge, predicted, _ = simulated()
    with pytest.raises(ValueError, match="rate prior"):
        labels.verify(verified, predicted, judge=judge, prior=bp.prior.rate(1, 1))
    with pytest.raises(ValueError, match="has no weight for some cells"):
        labels.verify(verified, predicted, judge=judge, prior="haldane")
    with pytest.raises(
        TypeError, match=r"y_pred: give .* of a judge that are themselves tested .*: verify\(y_true, judge"
    ):
        labels.verify(verified)
    sample = labels.VerifiedSample.from_predictions(verified, predicted, judge=judge)
    with pytest.raises(TypeError, match="judge: the VerifiedSample has its own"):
        labels.verify(sample, judge=judge)
    with pytest.raises(ValueError, match="judge: there is none"):
        _ = labels.verify(verified, predicted).source.judge


def test_systems_on_the_same_examples_have_priors_of_the_same_weight_a_class():
    _, verified, judge, old, new = simulated()
    weights = xr.DataArray(np.ones((2, 2, 2)), {"model": ["old", "new"]}, ("model", "actual", "predicted"))
    weights[1] *= 3
    with pytest.raises(ValueError, match="sum to different weights"):
        labels.verify(verified, {"old": old, "new": new}, judge=judge, prior=bp.prior.dirichlet(weights))


# ── Comparison ──


def test_two_systems_are_compared_where_they_differ():
    """Where judge and systems are of one mind they cancel: the difference is much surer than each."""
    _, verified, judge, old, new = simulated(n=5000, known=300)
    new = np.where(np.arange(5000) % 10 < 7, old, new)
    post = labels.verify(verified, {"old": old, "new": new}, judge=judge)
    comparison = bp.compare(post, metric="accuracy", rope=0.01)
    assert comparison.difference.dims == ("pair",)
    apart = np.hypot(*post["accuracy"].sd().values)
    assert comparison.difference.sd().item() < 0.8 * apart
    np.testing.assert_allclose(comparison.prob_best.sum(), 1)
    greater = comparison.prob_greater.sel(model="old", model_other="new").item()
    assert comparison.prob_best.sel(model="old").item() == pytest.approx(greater, abs=0.02)
    assert "old − new" in comparison.in_words()


def test_a_baseline_turns_the_differences_that_pairs_of_systems_know():
    _, verified, judge, old, new = simulated(n=500, known=100)
    third = np.where(np.arange(500) % 5 == 0, old, new)
    post = labels.verify(verified, {"old": old, "new": new, "third": third}, judge=judge)
    plain, turned = (bp.compare(post, metric="accuracy", draws=400, baseline=name) for name in (None, "old"))
    assert turned.summary()[["a", "b"]].values.tolist() == [["new", "third"], ["new", "old"], ["third", "old"]]
    drawn = plain.difference.distribution.values[[2, 0, 1]] * np.array([1, -1, -1])[:, None, None]
    np.testing.assert_allclose(turned.difference.distribution.values, drawn, atol=1e-15)


def test_the_difference_of_two_systems_against_weighted_draws():
    """Two classes without a judge: strata are what both say; accuracy differs by who is right where they differ."""
    old, new = [0] * 40 + [0] * 8 + [1] * 12 + [1] * 40, [0] * 40 + [1] * 8 + [0] * 12 + [1] * 40
    verified = np.full(100, np.nan)
    verified[[0, 1, 60, 61]] = 0, 0, 1, 1
    verified[[40, 41, 42, 48, 49, 50, 51]] = 0, 1, 1, 1, 1, 1, 0
    post = labels.verify(verified, {"old": old, "new": new})
    drawn = bp.compare(post, metric="accuracy", draws=40_000).difference
    votes, seen = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[2, 0], [1, 2], [1, 3], [0, 2]])
    strata = Strata(votes, np.array([40, 8, 12, 40]), seen, np.zeros(4, int))
    weights, likelihood = weighted_prior_draws(strata, 200_000, 0)
    rng = np.random.default_rng(0)
    of_zero = rng.beta(*np.moveaxis(weights[:, 1:3] + seen[1:3], -1, 0))
    shares = rng.dirichlet(strata.counts + 0.25, len(weights))[:, 1:3]
    difference = (shares * (2 * of_zero - 1) * [1, -1]).sum(1)
    expected = np.average(difference, weights=likelihood)
    sd = np.sqrt(np.average((difference - expected) ** 2, weights=likelihood))
    error = np.sqrt((likelihood**2).sum() + 1 / vote_model._ENOUGH)
    assert abs(drawn.mean().item() - expected) < 4 * sd * error
    assert drawn.sd().item() == pytest.approx(sd, rel=4 * error)


@pytest.mark.slow
def test_ranks_of_three_have_the_correlations_of_the_pairs():
    _, verified, judge, old, new = simulated(n=5000, known=300)
    best = np.where(np.random.default_rng(5).random(5000) < 0.6, judge, old)
    post = labels.verify(verified, {"old": old, "new": new, "best": best}, judge=judge)
    comparison = bp.compare(post, metric="f1")
    np.testing.assert_allclose(comparison.ranks.sum("rank"), 1)
    drawn = comparison.joint_draws()
    # The draws of each system are its own, in another order.
    np.testing.assert_allclose(
        np.sort(drawn.sel(model="new")), np.sort(post["f1"].joint_draws(10_000).sel(model="new")), rtol=1e-12
    )
    spread = (drawn.sel(model="old") - drawn.sel(model="best")).std().item()
    assert spread == pytest.approx(comparison.difference.sd().sel(pair="old − best").item(), rel=0.1)


def test_the_prevalence_of_two_systems_is_drawn_by_the_seed():
    _, verified, judge, old, new = simulated(n=200)
    systems, drawn = {"old": old, "new": new}, []
    for seed in (1, 1, 2):
        post = labels.verify(verified, systems, judge=judge, draws=50, random_seed=seed).at_prevalence((30, 70))
        first, second = verifying._pairs(post.source, post, bp.metrics.get("prevalence"), 50, seed)
        np.testing.assert_allclose(first, second)
        drawn.append(first.values)
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert abs(drawn[0] - drawn[2]).max() > 0.01


@pytest.mark.slow
def test_systems_are_compared_at_another_prevalence():
    _, verified, judge, old, new = simulated(n=5000, known=300)
    post = labels.verify(verified, {"old": old, "new": new}, judge=judge)
    plain, rare = (bp.compare(each, metric="precision").difference for each in (post, post.at_prevalence(0.02)))
    assert rare.mean().item() != plain.mean().item()
    apart = np.subtract(*post.at_prevalence(0.02)["precision"].mean().values)
    assert rare.mean().item() == pytest.approx(apart, abs=rare.sd().item())
    recall = bp.compare(post.at_prevalence(0.02), metric="recall").difference
    assert recall.mean().item() == pytest.approx(bp.compare(post, metric="recall").difference.mean().item(), rel=1e-9)
    with pytest.raises(ValueError, match="before at_prevalence"):
        post.at_prevalence(0.02).source.effective_number("recall")
    assert "as certain as" not in post.at_prevalence(0.02).in_words()


def test_separate_posteriors_of_one_sample_are_warned_of():
    _, verified, judge, old, new = simulated()
    a, b = (labels.verify(verified, system, judge=judge) for system in (old, new))
    with pytest.warns(bp.errors.DependenceWarning, match=r"compare\(labels\.verify\(y_true, \{'a': y_pred_a"):
        bp.compare(a, b, "accuracy")
    bp.compare(a, b, "accuracy", independent=True)


def test_predictions_are_compared_as_predictions():
    _, verified, judge, old, new = simulated(n=5000, known=300)
    post = labels.verify(verified, {"old": old, "new": new}, judge=judge)
    predicted = bp.compare(post.predict(50), metric="accuracy")
    assert predicted.difference.sd().item() > 2 * bp.compare(post, metric="accuracy").difference.sd().item()


@pytest.mark.slow
def test_per_class_and_groups_are_compared():
    _, verified, judge, old, new = simulated(classes=3)
    site = np.where(np.arange(1000) % 2, "x", "y")
    post = labels.verify(verified, {"old": old, "new": new}, judge=judge, by={"site": site})
    assert bp.compare(post, metric="recall_per_class").difference.dims == ("site", "label", "pair")
    assert bp.compare(post, metric="accuracy").prob_best.dims == ("site", "model")


@pytest.mark.slow
def test_partly_verified_systems_are_shrunk_too():
    _, verified, judge, old, new = simulated(n=3000, known=200)
    other = np.where(np.arange(3000) % 2, old, new)
    post = labels.verify(verified, {"old": old, "new": new, "other": other}, judge=judge)
    shrunk = bp.compare(post, metric="accuracy", shrink=True).shrunk
    assert np.ptp(shrunk.mean().values) < np.ptp(post["accuracy"].mean().values)


def test_a_comparison_names_the_prior_that_both_systems_share():
    """One system of two classes has Jeffreys' prior; two have more strata, which share theirs."""
    verified = np.r_[np.ones(12), np.zeros(12), np.full(60, np.nan)]
    a, b = np.r_[np.ones(10), np.zeros(14), np.arange(60) % 2], np.r_[np.ones(11), np.zeros(13), np.arange(60) // 2 % 2]
    post = labels.verify(verified, {"a": a, "b": b}, pos_label=1, draws=50)
    assert post.prior_text.startswith("Jeffreys' Dirichlet")
    assert bp.compare(post, metric="accuracy", draws=50).basis.startswith("shared by the strata (")
