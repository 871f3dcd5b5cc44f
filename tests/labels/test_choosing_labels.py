"""Which examples to verify next, and how many labels are needed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import bayesperf as bp
from bayesperf import labels, plan
from bayesperf.labels.worth_of_labels import LabelValue
from tests.labels.test_verifying import simulated


def test_the_allocation_is_the_best_of_all():
    value = LabelValue(np.array([3, 5, 9, 2]), np.array([0.5, 0.2, 0.05, 0.3]), np.array([1.5, 2.0, 8.0, 0.6]), 0.01)
    for n in (1, 4, 9, 19):
        every = [labels for labels in product(*(range(most + 1) for most in value.available)) if sum(labels) == n]
        least = min(value.variance(np.array(labels)) for labels in every)
        allocation = value.allocation(n)
        assert allocation.sum() == n
        assert (allocation <= value.available).all()
        # Rounded from fractions, it may be a label off the best.
        assert value.variance(allocation) <= 1.02 * least


def test_strata_that_tell_nothing_come_last():
    value = LabelValue(np.array([5, 5]), np.array([0.5, 0.0]), np.array([1.0, 1.0]), 0.0)
    np.testing.assert_array_equal(value.allocation(4), [4, 0])
    np.testing.assert_array_equal(value.allocation(8), [5, 3])


def test_which_examples_of_a_stratum_are_labelled_is_left_to_chance():
    verified = np.r_[np.ones(5), np.zeros(5), np.full(90, np.nan)]
    predicted = np.r_[np.ones(5), np.zeros(5), np.arange(90) % 2]
    post = labels.verify(verified, predicted, pos_label=1, draws=200)
    chosen = [labels.next_labels(post, 30, metric="accuracy", random_seed=seed) for seed in (0, 0, 1)]
    rows = [advice.rows for advice in chosen]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert set(rows[0]) != set(rows[2])
    for advice in chosen:
        assert np.isnan(verified[advice.rows]).all()
        assert sorted(np.bincount(predicted[advice.rows].astype(int))) == sorted(advice.advised)
        # Of 90 places the mean of 30 at random is 44.5, and of the first ones it is 15.
        assert abs((advice.rows - 10).mean() - 44.5) < 5 * 26 / np.sqrt(30)


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "metric"), [(2, "f1"), (3, "accuracy")])
def test_what_is_promised_comes_about(classes, metric):
    """The standard deviation after the labels advised, over samples, is the one that was expected."""
    ratios, gains = [], []
    for seed in range(5):
        truth, verified, judge, predicted, _ = simulated(n=2000, classes=classes, known=150, seed=seed)
        post = labels.verify(verified, predicted, judge=judge, draws=2000)
        advice = labels.next_labels(post, 200, metric=metric)
        assert np.isnan(verified[advice.rows]).all()
        assert len(set(advice.rows.tolist())) == 200
        verified[advice.rows] = truth[advice.rows]
        after = labels.verify(verified, predicted, judge=judge, draws=2000)
        found = after.source.sample.table()["verified"] - post.source.sample.table()["verified"]
        np.testing.assert_array_equal(found, advice.advised)
        ratios.append(after[metric].sd().item() / advice.sd_advised)
        gains.append(advice.sd_advised / advice.sd_by_chance)
    # To first order: it is a plan. Strata that share a prior learn from each other's labels, and do better than that.
    error = 3 * np.std(ratios) / np.sqrt(5)
    assert (0.9 if classes == 2 else 0.75) - error < np.mean(ratios) < 1.1 + error
    assert np.mean(gains) < 0.95


@pytest.mark.slow
def test_two_systems_are_told_apart_where_they_differ():
    _, verified, judge, old, new = simulated(n=3000, known=200)
    post = labels.verify(verified, {"old": old, "new": new}, judge=judge)
    table = labels.next_labels(post, 100, metric="accuracy").summary()
    assert table.loc[table["old"] == table["new"], "advised"].sum() == 0


def test_words_and_refusals(tmp_path):
    _, verified, judge, old, new = simulated()
    post = labels.verify(verified, old, judge=judge)
    advice = labels.next_labels(post, 50, metric="f1")
    assert "After 50 more labels as advised it will be about" in advice.in_words()
    assert advice.in_words() in repr(advice)
    assert advice.in_words() in advice._repr_html_()
    advice.save(tmp_path / "advice.nc")
    assert repr(bp.load(tmp_path / "advice.nc")) == repr(advice)
    with pytest.raises(ValueError, match="n: 901 labels asked for, and 900 examples"):
        labels.next_labels(post, 901, metric="f1")
    with pytest.raises(ValueError, match="a value a class"):
        labels.next_labels(post, 9, metric="recall_per_class")
    with pytest.raises(TypeError, match="partly verified sample"):
        labels.next_labels(bp.posterior([1, 0], [1, 0]), 9, metric="f1")
    three = labels.verify(verified, {"a": old, "b": new, "c": judge})
    with pytest.raises(ValueError, match="of one system, or of two"):
        labels.next_labels(three, 9, metric="f1")
    groups = labels.verify(verified, old, by={"site": np.arange(1000) % 2})
    with pytest.raises(ValueError, match="without `by`"):
        labels.next_labels(groups, 9, metric="f1")


# ── How many labels ──


def test_labels_for_a_width():
    truth, verified, judge, predicted, _ = simulated(n=20_000, known=200)
    post = labels.verify(verified, predicted, judge=judge)
    needed = plan.labels(post, metric="accuracy", width=0.03)
    assert needed.model.by_chance > needed.n > 0
    rows = labels.next_labels(post, needed.n, metric="accuracy").rows
    verified[rows] = truth[rows]
    after = labels.verify(verified, predicted, judge=judge)["accuracy"].eti()
    # Rates move as labels come in: to a tenth.
    assert np.diff(after).item() == pytest.approx(0.03, rel=0.1)
    assert f"about {needed.n:,} more labels are needed where they tell most" in needed.in_words()


@pytest.mark.slow
def test_the_cheapest_labels_and_calls():
    """No other number of calls on a grid is cheaper, and a sample of that size has the width."""
    truth, verified, judge, predicted, _ = simulated(n=2000, known=200)
    post = labels.verify(verified, predicted, judge=judge)
    found = plan.labels(post, metric="accuracy", width=0.04, costs=(1, 0.05))
    total = found.n + 0.05 * found.model.calls
    assert found.model.calls > 0
    assert found.n < plan.labels(post, metric="accuracy", width=0.04).n
    for calls in (0, 500, 1000, 2000, 4000, 8000):
        other = plan.labels(post, metric="accuracy", width=0.04).model
        after = replace(other, value=other.value.after_calls(calls, 2000))
        n = after.smallest_n(0.04, after.value.allocation)
        assert n is None or n + 0.05 * calls >= 0.99 * total
    dear = plan.labels(post, metric="accuracy", width=0.04, costs=(1, 50))
    assert dear.model.calls == 0
    truth, verified, judge, predicted, _ = simulated(n=2000 + found.model.calls, known=200)
    more = labels.verify(verified, predicted, judge=judge)
    rows = labels.next_labels(more, found.n, metric="accuracy").rows
    verified[rows] = truth[rows]
    after = labels.verify(verified, predicted, judge=judge)["accuracy"].eti()
    assert np.diff(after).item() == pytest.approx(0.04, rel=0.1)
    assert "the cheapest way is about" in found.in_words()
    with pytest.raises(ValueError, match="costs are for a width"):
        plan.labels(post, metric="accuracy", requirement=0.5, costs=(1, 1))
    with pytest.raises(ValueError, match="costs of a label and of a call"):
        plan.labels(post, metric="accuracy", width=0.04, costs=(1, 0))


def test_labels_that_settle_a_requirement():
    _, verified, judge, predicted, _ = simulated(n=20_000, known=200)
    post = labels.verify(verified, predicted, judge=judge)
    mean = post["accuracy"].mean().item()
    near, far = (plan.labels(post, metric="accuracy", requirement=mean - margin) for margin in (0.015, 0.025))
    assert near.n > far.n > 0
    assert far.claim == f"settling whether accuracy is above {mean - 0.025:.3f}"


def test_plans_that_need_nothing_or_cannot_be_had():
    _, verified, judge, predicted, _ = simulated()
    post = labels.verify(verified, predicted, judge=judge)
    done = plan.labels(post, metric="accuracy", width=0.5)
    assert done.n == 0
    assert "no more labels are needed" in done.in_words()
    with pytest.raises(plan.UnreachableError, match="the labels of all 900 examples are not enough"):
        plan.labels(post, metric="accuracy", width=0.001)
    with pytest.raises(ValueError, match="give one of them"):
        plan.labels(post, metric="accuracy")
    with pytest.raises(ValueError, match="above 0"):
        plan.labels(post, metric="accuracy", width=0)


def test_labels_to_add_are_drawn_beside_those_there_are():
    truth, judge, predicted = np.random.default_rng(0).integers(0, 2, (3, 400))
    post = labels.verify(np.where(np.arange(400) < 80, truth, np.nan), predicted, judge=judge, draws=100)
    advice = labels.next_labels(post, 40, metric="f1")
    (axes,) = bp.plots.next_labels(advice).axes
    drawn = [(bar.get_x(), bar.get_width()) for bar in axes.containers[1]]
    assert sorted(drawn) == sorted(advice.summary()[["verified", "advised"]].itertuples(index=False, name=None))
