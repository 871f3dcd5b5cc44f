"""The average of a metric over labels: each label as by itself, and the dependence between them."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score, recall_score

import bayesperf as bp

X, Y = make_multilabel_classification(150, n_classes=4, n_labels=2, random_state=0)
RNG = np.random.default_rng(1)
P = Y ^ (RNG.random(Y.shape) < 0.15)
DRAWS = 20_000


@pytest.mark.parametrize(("metric", "sklearn"), [("f1", f1_score), ("recall", recall_score)])
def test_the_mean_is_that_of_the_labels_and_the_score_is_the_macro_average(metric, sklearn):
    average = bp.groups.average_labels(Y, P, metric, draws=DRAWS)
    each = bp.posterior(Y, P)[metric]
    error = 5 * average.sd().item() / DRAWS**0.5
    assert average.mean().item() == pytest.approx(each.mean().mean().item(), abs=error)
    assert average.observed.item() == pytest.approx(sklearn(Y, P, average="macro"))
    assert average.name == f"{metric}_macro"


def test_under_no_prior_it_is_the_bayesian_bootstrap_of_the_examples():
    average = bp.groups.average_labels(Y, P, "recall", "haldane", draws=DRAWS)
    weights = np.random.default_rng(2).dirichlet(np.ones(len(Y)), DRAWS)
    drawn = (weights @ (Y * P) / (weights @ Y)).mean(1)
    error = 5 * drawn.std() / DRAWS**0.5
    assert average.mean().item() == pytest.approx(drawn.mean(), abs=2**0.5 * error)
    # The standard error of a standard deviation is about σ/√(2n).
    assert average.sd().item() == pytest.approx(drawn.std(), abs=error)
    np.testing.assert_allclose(average.eti(0.9), np.quantile(drawn, [0.05, 0.95]), atol=3 * error)


def test_labels_that_say_the_same_are_no_more_than_one():
    one, predicted = Y[:, :1], P[:, :1]
    same = bp.groups.average_labels(np.tile(one, 3), np.tile(predicted, 3), "recall", "haldane", draws=DRAWS)
    alone = bp.posterior(one[:, 0], predicted[:, 0], prior="haldane")["recall"]
    assert same.sd().item() == pytest.approx(alone.sd().item(), rel=5 / (2 * DRAWS) ** 0.5)


@pytest.mark.slow
def test_independent_labels_are_as_many():
    actual = RNG.random((4000, 5)) < 0.5
    predicted = actual ^ (RNG.random(actual.shape) < 0.2)
    average = bp.groups.average_labels(actual, predicted, "recall", draws=DRAWS)
    each = bp.posterior(actual, predicted)["recall"]
    independent = ((each.sd() ** 2).sum().item()) ** 0.5 / 5
    # The labels' errors are correlated by chance, by about 1/√2000 a pair.
    assert average.sd().item() == pytest.approx(independent, rel=0.1)


def test_draws_and_files(tmp_path):
    average = bp.groups.average_labels(Y, P, "f1", draws=500, random_seed=3)
    again = bp.groups.average_labels(Y, P, "f1", draws=500, random_seed=3)
    np.testing.assert_array_equal(average.joint_draws(500), again.joint_draws(500))
    assert not np.array_equal(average.joint_draws(50), average.joint_draws(50, 9))
    average.save(tmp_path / "average.nc")
    read = bp.load(tmp_path / "average.nc")
    np.testing.assert_array_equal(read.joint_draws(50), average.joint_draws(50))
    assert read.observed.item() == average.observed.item()
    assert average.in_words().startswith("F1 macro is 0.")


def test_two_systems_share_no_random_numbers():
    other = Y ^ (RNG.random(Y.shape) < 0.15)
    a, b = (bp.groups.average_labels(Y, predicted, "recall", draws=4000).joint_draws(4000) for predicted in (P, other))
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / 4000**0.5


def test_an_average_of_labels_as_if_of_folds_is_warned_of():
    with pytest.warns(
        bp.errors.DependenceWarning, match=r"the labels are of the same examples.* Take average_labels\("
    ):
        bp.folds.average(bp.posterior(Y, P, prior="haldane"), "recall", dim="label")


def test_each_label_has_the_figures_of_any_matrix():
    post = bp.posterior(Y, P)
    table = post.summary()
    assert set(table["label"]) == {0, 1, 2, 3}
    assert "balanced_accuracy" in set(table["metric"])
    alone = bp.posterior(Y[:, 2], P[:, 2])["balanced_accuracy"]
    assert post["balanced_accuracy"].mean().sel(label=2).item() == pytest.approx(alone.mean().item(), rel=1e-9)
    rest = bp.ConfusionMatrix.from_table(5 * np.eye(3, dtype=int)).one_vs_rest()
    assert bp.score(rest, "balanced_accuracy").values.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f1_macro"}, "averages over classes"),
        ({"metric": "f1", "prior": "shared"}, "'shared' is not available for averages over labels"),
        ({"metric": "f1", "prior": bp.prior.rate(1, 1)}, "a rate prior says nothing of the whole matrix"),
        ({"metric": "f1", "labels": ["a"]}, "labels: name at least two"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        bp.groups.average_labels(Y, P, **options)


def test_an_improper_posterior_is_refused_by_label():
    never = np.zeros_like(Y)
    with pytest.raises(ValueError, match="'recall' at label=0: no example has been seen in tp"):
        bp.groups.average_labels(Y, never, "recall", "haldane")


# ── Several systems on the same examples ──

OTHER = Y ^ (np.random.default_rng(7).random(Y.shape) < 0.25)


def test_systems_are_compared_on_the_same_examples():
    both = bp.groups.average_labels(Y, {"new": P, "old": OTHER}, "recall", "haldane", draws=DRAWS)
    weights = np.random.default_rng(2).dirichlet(np.ones(len(Y)), DRAWS)
    drawn = np.stack([(weights @ (Y * each) / (weights @ Y)).mean(1) for each in (P, OTHER)])
    difference = drawn[0] - drawn[1]
    found = bp.compare(both).difference.isel(pair=0)
    error = 5 * difference.std() / DRAWS**0.5
    assert found.mean().item() == pytest.approx(difference.mean(), abs=2**0.5 * error)
    assert found.sd().item() == pytest.approx(difference.std(), abs=error)
    assert both.observed.values.tolist() == pytest.approx(
        [recall_score(Y, each, average="macro") for each in (P, OTHER)]
    )


def test_of_one_label_they_are_compared_as_systems_are():
    """Of two equal labels the average is the label's own; the prior's pseudo-examples have one true class."""
    twice = {name: np.tile(each[:40, :1], 2) for name, each in (("new", P), ("old", OTHER))}
    average = bp.groups.average_labels(np.tile(Y[:40, :1], 2), twice, "accuracy", draws=DRAWS)
    alone = bp.ConfusionMatrix.from_predictions(Y[:40, 0], {"new": P[:40, 0], "old": OTHER[:40, 0]})
    expected = bp.compare(alone, metric="accuracy").difference.isel(pair=0)
    found = bp.compare(average).difference.isel(pair=0)
    sd = expected.sd().item()
    assert found.mean().item() == pytest.approx(expected.mean().item(), abs=5 * sd / DRAWS**0.5)
    # Of two labels the pseudo-examples, two in 42, are two draws, so that the average has a little less deviation.
    assert 0.97 * sd < found.sd().item() < 1.02 * sd
