"""Comparison of systems tested on the same examples, and what comparison refuses."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesperf as bp
from tests.shared.counts import pair_of
from tests.shared.systems import CM, SYSTEMS, A, N, alone, counts, three

# ── Systems tested on the same examples ──


def judged(actual, **predicted):
    """Return marked counts of systems that judged the same examples."""
    frame = pd.concat([pd.DataFrame({"actual": actual, "model": m, "said": said}) for m, said in predicted.items()])
    return CM.from_predictions(
        frame["actual"],
        frame["said"],
        by={"model": frame["model"]},
        example=frame.index,
        labels=sorted(set(actual) | {0, 1}),
    )


def hard_and_easy(n, classes, seed):
    """Return what three systems say, which err on the same hard examples."""
    rng = np.random.default_rng(seed)
    actual, hard = rng.integers(classes, size=n), rng.random(n) < 0.4
    return actual, {m: np.where(hard & (rng.random(n) < w), rng.integers(classes, size=n), actual)
                    for m, w in zip("xyz", (0.9, 0.7, 0.5), strict=True)}  # fmt: skip


def joint_draws(actual, first, second, classes, n=N, alpha=None):
    """Return draws of both systems' cells from the plain Dirichlet over all joint cells."""
    alpha = (0.5 if classes == 2 else 1 / classes**2) / classes if alpha is None else alpha
    table = np.zeros((classes,) * 3)
    np.add.at(table, (actual, first, second), 1)
    cells = np.random.default_rng(9).gamma(table + alpha, size=(n, *table.shape))
    cells /= cells.sum((1, 2, 3), keepdims=True)
    return cells.sum(3), cells.sum(2)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "error_rate", "recall", "specificity", "fpr", "f1", "mcc", "precision"])
def test_paired_figures_against_the_joint_dirichlet(metric):
    actual, said = hard_and_easy(80, 2, 1)
    first, second = joint_draws(actual, said["x"], said["y"], 2)
    d = bp.metrics.get(metric).evaluate(first, 1) - bp.metrics.get(metric).evaluate(second, 1)
    pair = pair_of(actual, said["x"], said["y"], names=("x", "y"))
    found = alone(bp.compare(pair, metric=metric, rope=0.05, draws=50_000))
    exact = metric in ("accuracy", "error_rate", "recall", "specificity", "fpr")
    assert found.difference.method == ("quadrature" if exact else "draws")
    share = (4 if exact else 10) * 0.5 / np.sqrt(N)
    assert found.prob_greater.item() == pytest.approx((d > 0).mean(), abs=share)
    np.testing.assert_allclose(
        found.prob_rope, [(d < -0.05).mean(), (abs(d) <= 0.05).mean(), (d > 0.05).mean()], atol=share
    )
    assert found.difference.mean().item() == pytest.approx(d.mean(), abs=10 * d.std() / np.sqrt(N))
    assert found.difference.sd().item() == pytest.approx(d.std(), rel=0.02)
    lost = np.maximum(-d if found.quantity.greater_is_better else d, 0)
    assert found.expected_loss.item() == pytest.approx(lost.mean(), abs=10 * lost.std() / np.sqrt(N))
    assert found.difference.joint_draws(20_000).std().item() == pytest.approx(d.std(), rel=0.05)
    assert found.names == ("x", "y")


def test_pairing_is_not_ignored():
    actual, said = hard_and_easy(300, 2, 2)
    said["z"] = np.where(np.arange(300) % 10 == 0, 1 - said["x"], said["x"])
    cm = judged(actual, x=said["x"], z=said["z"])
    together = bp.compare(cm, metric="accuracy")
    with pytest.warns(
        bp.errors.DependenceWarning, match="tested on the same examples.*compare the counts instead"
    ) as caught:
        apart = bp.compare(bp.posterior(cm), metric="accuracy")
    assert caught[0].filename == __file__
    assert together.difference.sd().item() < 0.8 * apart.difference.sd().item()
    assert together.difference.mean().item() == pytest.approx(apart.difference.mean().item(), abs=1e-3)
    with pytest.warns(bp.errors.DependenceWarning) as caught:
        bp.compare(bp.posterior(cm).predict(), metric="accuracy")
    assert caught[0].filename == __file__


# 30 positives and 20 negatives each.
ALIKE = counts(tp=[24, 27], fn=[6, 3], fp=[5, 2], tn=[15, 18], model=["old", "new"])


@pytest.mark.parametrize("predicted", [False, True])
@pytest.mark.parametrize(
    ("sides", "pair"),
    [
        ([bp.posterior(ALIKE.sel(model=name), "flat") for name in ("old", "new")],
         r"a and b .*compare\(ConfusionMatrix.from_predictions\(y_true, \{'a': y_pred_a, 'b': y_pred_b\}"),
        ([bp.Posterior.from_datatree(bp.posterior(ALIKE.sel(model=name), "flat").to_datatree(draws=50))
          for name in ("old", "new")], "a and b .*compare"),
        ([bp.posterior(ALIKE, "flat")],
         r"along 'model' .*ConfusionMatrix.from_predictions\(y_true, y_pred, by=\{'model': names\}, example=ids\)"),
    ],
    ids=["exact", "drawn", "along a dim"],
)  # fmt: skip
def test_posteriors_with_the_same_class_totals_may_be_of_one_test_set(predicted, sides, pair):
    sides = [side.predict(5) if predicted else side for side in sides]
    with pytest.warns(bp.errors.DependenceWarning, match=f"{pair}.*independent=True") as caught:
        bp.compare(*sides, metric="f1")
    assert caught[0].filename == __file__
    assert len(caught) == 1
    options = {"metric": "recall", "independent": True}
    assert bp.compare(*sides, **options).prob_greater.size in (1, 4)


def test_labels_of_two_systems_without_examples_are_warned_of():
    actual, said = hard_and_easy(60, 2, 2)
    cm = CM.from_predictions(np.tile(actual, 2), np.concatenate([said["x"], said["y"]]),
                             by={"model": np.repeat(["x", "y"], 60)})  # fmt: skip
    with pytest.warns(
        bp.errors.DependenceWarning, match="along 'model' have the same number of examples in every class"
    ):
        bp.compare(bp.posterior(cm, "flat"), metric="accuracy")


@pytest.mark.slow
def test_other_class_totals_are_of_other_examples():
    old = bp.posterior(ALIKE.sel(model="old"), "flat")
    # One negative more; as many examples of other classes; none at all; what is fitted to the joint table.
    for other in (counts(tp=27, fn=3, fp=3, tn=18), counts(tp=18, fn=2, fp=5, tn=25), counts()):
        bp.compare(old, bp.posterior(other, "flat"), "recall")
        bp.compare(bp.posterior(other, "flat"), old, "recall")
    bp.compare(bp.posterior(counts(), "flat"), bp.posterior(counts(), "flat"), "recall")
    joint = bp.fit(PAIR, model="paired", draws=50, chains=2, random_seed=1, progressbar=False)
    bp.compare(joint, metric="recall")


def test_what_counts_say_is_not_said_again():
    with pytest.raises(TypeError, match="independent applies to posteriors; counts know of shared examples"):
        bp.compare(PAIR, metric="recall", independent=True)
    # That the examples are the same is known.
    with pytest.warns(bp.errors.DependenceWarning, match="tested on the same examples"):
        bp.compare(bp.posterior(MARKED, "flat"), metric="recall", independent=True)


def test_paired_many_and_two_agree():
    actual, said = hard_and_easy(120, 2, 3)
    many = bp.compare(judged(actual, **said), metric="recall", rope=0.02)
    two = alone(bp.compare(pair_of(actual, said["x"], said["z"]), metric="recall", rope=0.02))
    place = {"model": "x", "model_other": "z"}
    assert many.prob_greater.sel(place).item() == pytest.approx(two.prob_greater.item(), abs=1e-10)
    np.testing.assert_allclose(many.prob_rope.sel(place), two.prob_rope, atol=1e-9)
    wide, narrow = many, bp.compare(judged(actual, x=said["x"], z=said["z"]), metric="recall", rope=0.02)
    np.testing.assert_array_equal(
        wide.difference.joint_draws(100).sel(pair="x − z"), narrow.difference.joint_draws(100).sel(pair="x − z")
    )
    assert many.ranks.dims == ("model", "rank")
    np.testing.assert_allclose(many.ranks.sum("model"), 1)
    assert two.ranks.sel(model="a", rank=1).item() == two.prob_better.item()
    assert many.ratio.mean().sel(pair="x / z").item() == pytest.approx(two.ratio.mean().item(), rel=0.01)


@pytest.mark.slow
def test_paired_of_each_class():
    actual, said = hard_and_easy(150, 3, 4)
    found = bp.compare(judged(actual, **said), metric="recall_per_class")
    assert found.difference.method == "quadrature"
    assert found.prob_greater.dims == ("label", "model", "model_other")
    first, second = joint_draws(actual, said["y"], said["z"], 3)
    for label in range(3):
        rates = [cells[:, label, label] / cells[:, label].sum(-1) for cells in (first, second)]
        ours = found.prob_greater.sel(label=label, model="y", model_other="z").item()
        assert ours == pytest.approx((rates[0] > rates[1]).mean(), abs=4 * 0.5 / np.sqrt(N))


def test_paired_copies_tie():
    actual, said = hard_and_easy(60, 2, 5)
    for metric in ("accuracy", "mcc"):
        found = bp.compare(judged(actual, x=said["x"], y=said["x"]), metric=metric)
        assert found.prob_greater.sel(model="x", model_other="y").item() == pytest.approx(0.5, abs=0.02)
        assert found.difference.sd().item() < 0.05


# ── What is refused ──

POST = bp.posterior(A)
PAIR = pair_of([1, 0, 1], [1, 0, 0], [1, 1, 1])
MARKED = judged(np.array([1, 0, 1, 1]), x=[1, 0, 0, 1], y=[1, 1, 0, 0])
TEXT = CM.from_predictions(["yes", "no"], ["yes", "no"], pos_label="yes")
OTHER_POSITIVE = CM.from_predictions(["yes", "no"], ["yes", "no"], pos_label="no")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((POST, POST), {}, TypeError, "metric: name what is compared, as metric='recall'"),
        ((bp.Outcomes.from_counts(right=[3, 4], n=5),), {}, TypeError, "as metric='pass_rate'"),
        ((bp.posterior(bp.Outcomes.from_grades([1, 2, 3])),), {}, TypeError, "as metric='mean_grade'"),
        ((CM.from_predictions(list("abc"), list("abb")),), {}, TypeError, "as metric='accuracy'"),
        ((POST, POST, "recal"), {}, ValueError, "no metric named 'recal': did you mean 'recall'"),
        ((POST, POST, 3), {}, TypeError, "metric must be a name or a Metric"),
        ((POST, POST, "recall"), {"rope": -0.1}, ValueError, "rope must be the half-width.* at least 0; it is -0.1"),
        ((POST, POST, "recall"), {"rope": np.nan}, ValueError, "rope must be the half-width"),
        ((POST, POST, "recall"), {"rope": np.inf}, ValueError, "rope must be the half-width"),
        ((POST, POST, "recall"), {"rope": "wide"}, TypeError, "rope must be a number; it is 'wide'"),
        ((POST, POST, "recall"), {"rope": True}, TypeError, "rope must be a number"),
        ((POST, POST, "recall"), {"random_seed": "x"}, ValueError, "random_seed must be"),
        ((POST, POST, "recall"), {"groups": 3}, TypeError, "unexpected keyword argument 'groups'"),
        ((POST, POST, "recall"), {"prior": "flat"}, TypeError, "prior applies to counts; posteriors have"),
        ((A, A, "recall"), {}, TypeError, "b: counts of systems tested on the same examples hold them all"),
        ((A,), {"metric": "recall"}, TypeError, r"a: these counts do not say whether .* example=ids.*bp\.posterior"),
        ((POST, A, "recall"), {}, TypeError, "b must be a Posterior.*ConfusionMatrix. Take bp.posterior"),
        ((POST, 3, "recall"), {}, TypeError, "b must be a Posterior, a DataTree or paired counts; it is int"),
        (({"x": POST, "y": POST}, None, "recall"), {}, TypeError, "it is dict. Compare two of its values at a time."),
        (([1, 2], POST, "recall"), {}, TypeError, "a must be a Posterior, a DataTree or paired counts; it is list"),
        ((PAIR, POST, "recall"), {}, TypeError, "b: counts of systems tested on the same examples hold them all"),
        ((PAIR,), {"metric": "recall", "draws": 1}, ValueError, "draws must be a whole number of at least 2"),
        ((PAIR,), {"metric": "recall", "dim": "fold"}, ValueError, "dim: the systems .* are along 'model', not 'fold'"),
        ((MARKED,), {"metric": "recall", "dim": "fold"}, ValueError, "are along 'model', not 'fold'"),
        ((PAIR,), {"metric": "mcc", "prior": bp.prior.rate(1, 1)}, ValueError, "prior: a rate prior says nothing"),
        ((POST, "luck", "recall"), {}, ValueError, "b must be one of 'chance', 'majority'; it is 'luck'"),
        ((POST,), {"metric": "recall"}, ValueError, r"dim: 'model' is not a leading dim; they are \[\]. Name one, or"),
        ((bp.posterior(SYSTEMS),), {"metric": "recall", "dim": "fold"}, ValueError, "dim: 'fold' is not a leading dim"),
        ((bp.posterior(SYSTEMS.sel(model=["A"])),), {"metric": "recall"}, ValueError, "dim: there is one system along"),
        ((POST, bp.posterior(TEXT), "recall"), {}, ValueError, "a and b differ in their labels"),
        ((bp.posterior(TEXT), bp.posterior(OTHER_POSITIVE), "recall"), {}, ValueError, "positive 'yes'.*positive 'no'"),
        ((bp.posterior(SYSTEMS), bp.posterior(SYSTEMS.sel(model=["A", "B"])), "recall"), {}, ValueError,
         "a and b differ in their leading coordinates"),
        ((bp.posterior(SYSTEMS), POST, "recall"), {}, ValueError, "a and b differ in their leading dims"),
        ((POST, POST.predict(), "recall"), {}, ValueError, "a and b are of different things.*Prediction"),
        ((bp.posterior(counts(tp=3, tn=2), "haldane"), POST, "recall"), {}, ValueError, "'recall': no exam.*improper"),
        ((bp.posterior(A, design="by_actual"),) * 2 + ("accuracy",), {}, ValueError, r"at_prevalence\(p\)"),
        ((bp.posterior(A, bp.prior.rate(1, 1)),) * 2 + ("mcc",), {}, ValueError, "needs a prior of the whole matrix"),
        ((bp.posterior(A, bp.prior.rate(1, 1)), "chance", "recall"), {}, ValueError, "needs a prior of the whole"),
        ((bp.posterior(three(3, np.random.default_rng(0))),), {"metric": "f1"}, ValueError, "binary and there are 3"),
        ((bp.posterior(CM(A.counts.expand_dims(rope=[1, 2]))),), {"metric": "recall", "dim": "rope"}, ValueError,
         "a: a leading dim is called 'rope', as figures of the comparison are. Rename it"),
        ((xr.DataArray([[1.0]], dims=["dataset", "fold"]), POST), {}, TypeError, "a must be a Posterior.*DataArray"),
    ],
)  # fmt: skip
def test_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        bp.compare(*arguments, **options)


def test_a_prediction_and_a_posterior_are_not_compared():
    with pytest.raises(ValueError, match="a and b are of different things"):
        bp.compare(POST.predict(), POST, "recall", independent=True)
    with pytest.raises(ValueError, match="standings"):
        bp.compare(bp.posterior(ALIKE).predict(), metric="recall", independent=True).standings()


def test_ranks_of_what_is_never_defined_together():
    # Each of two systems is defined in half of the draws, never in the same.
    from bayesperf.posteriors.ranks import rank_probabilities

    values = xr.DataArray([[0.5, np.nan], [np.nan, 0.5]], {"model": ["x", "y"]}, ["draw", "model"])
    with pytest.raises(ValueError, match="ranks: in no draw is the metric defined for every system"):
        rank_probabilities(values, "model")


def test_ratios_on_the_same_examples_against_our_own_draws():
    actual, said = hard_and_easy(120, 2, 2)
    found = bp.compare(judged(actual, **said), metric="recall", prior="flat", contrast="ratio", rope=0.05)
    of_positives = [said[name][actual == 1] for name in ("x", "y")]
    both = np.array([((of_positives[0] == i) & (of_positives[1] == j)).sum() for i in (1, 0) for j in (1, 0)])
    # Each of two cells of a row has 1, and so every pair of them ½.
    cells = np.random.default_rng(5).dirichlet(both + 0.5, 100_000)
    ratio = (cells[:, 0] + cells[:, 1]) / (cells[:, 0] + cells[:, 2])
    error = 4 * np.sqrt(0.25 * (1 / 10_000 + 1 / 100_000))
    place = {"model": "x", "model_other": "y"}
    expected = [(ratio < 0.95).mean(), ((ratio >= 0.95) & (ratio <= 1 / 0.95)).mean(), (ratio > 1 / 0.95).mean()]
    np.testing.assert_allclose(found.prob_rope.sel(place), expected, atol=error)
    mean = found.ratio.mean().sel(pair="x / y").item()
    assert mean == pytest.approx(ratio.mean(), abs=4 * ratio.std() * 0.0105)


def test_a_ratio_to_a_system_that_may_never_be_right_has_no_mean():
    """1/X of X ~ Beta(1, b), the accuracy of a system that is always wrong, has an infinite mean."""
    y = np.repeat([0, 1], 10)
    pair = bp.ConfusionMatrix.from_predictions(y, {"a": y, "b": 1 - y}, labels=[0, 1])
    comparison = bp.compare(pair, metric="accuracy", contrast="ratio")
    assert np.isinf(comparison.ratio.mean()).all()
    median = comparison.ratio.median().item()
    # Four standard errors, of the median and of the mean of 10,000 draws that are nearly exponential.
    assert median == pytest.approx(1 / (1 - 0.5 ** (1 / 21)), rel=4 / np.log(2) / np.sqrt(10_000))
    assert f"The ratio, a / b, is {median:.3g} (95 % HDI" in comparison.in_words()
    b_over_a = bp.compare(pair.isel(model=[1, 0]), metric="accuracy", contrast="ratio").ratio
    assert b_over_a.mean().item() == pytest.approx(1 / 21, rel=4 / np.sqrt(10_000))
