"""Outcomes by a judge of which people verified some, against moments of the Dirichlet variables that they are."""

import numpy as np
import pytest

import bayesperf as bp
from bayesperf import labels
from bayesperf.labels.verified_outcomes import systems_together

RNG = np.random.default_rng(5)
N, DRAWS = 400, 20_000


def graded(grades, n=N, known=80):
    """People's grades, the judge's, which are one too high for half of the examples, and people's where known."""
    truth = RNG.choice(grades, n, p=np.linspace(1, 2, len(grades)) / np.linspace(1, 2, len(grades)).sum())
    judge = np.minimum(truth + RNG.integers(0, 2, n), max(grades))
    return truth, judge, np.where(np.arange(n) % (n // known) == 0, truth, np.nan)


def moments(verified, judge, grades, weight, values=None):
    """Mean and sd of Σ p_r Σ g q_r(g): p and each q_r are Dirichlet, with `weight` in each cell of judge and truth.

    The `values` stand in the place of the grades g.
    """
    values = grades if values is None else values
    counts = np.array([(judge == r).sum() for r in grades]) + weight * len(grades)
    seen = np.array([[((judge == r) & (verified == g)).sum() for g in grades] for r in grades]) + weight
    of = seen.sum(1)
    mean = seen @ values / of
    second = seen @ np.square(values) / of
    square = mean**2 + (second - mean**2) / (of + 1)
    total = counts.sum()
    pairs = np.outer(counts, counts) + np.diag(counts)
    products = np.outer(mean, mean)
    np.fill_diagonal(products, square)
    expected = counts @ mean / total
    return expected, np.sqrt((pairs * products).sum() / total / (total + 1) - expected**2)


@pytest.mark.parametrize(("grades", "prior", "weight"), [([0, 1], None, 0.5), ([1, 2, 3, 4, 5], "flat", 1.0)])
def test_mean_grade_has_the_moments_of_a_mixture_of_strata(grades, prior, weight):
    _, judge, verified = graded(grades)
    post = labels.verify(verified, judge=judge, labels=grades, prior=prior, draws=DRAWS)
    mean, sd = moments(verified, judge, np.array(grades), weight)
    found = post["mean_grade"]
    assert found.mean().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(DRAWS))
    assert found.sd().item() == pytest.approx(sd, rel=4 / np.sqrt(2 * DRAWS))
    if len(grades) == 2:
        assert post["pass_rate"].mean().item() == pytest.approx(found.mean().item())
    # It is what is said of the classes, whose judge is a system that is tested.
    of_classes = labels.verify(verified, judge, labels=grades, prior=prior, draws=DRAWS)
    shares = of_classes.source.cells.sum("predicted").mean(("chain", "draw"))
    assert (shares * np.array(grades)).sum().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(DRAWS))


def test_a_good_judge_makes_it_nearly_as_sure_as_all_grades():
    truth, _, verified = graded([1, 2, 3, 4, 5], 2000, 400)
    widths = [
        np.diff(post["mean_grade"].eti()).item()
        for post in (
            labels.verify(verified, judge=truth),
            bp.posterior(bp.Outcomes.from_grades(truth, scale=range(1, 6))),
            bp.posterior(bp.Outcomes.from_grades(verified[~np.isnan(verified)], scale=range(1, 6))),
        )
    ]
    assert widths[0] < 1.3 * widths[1] < 0.7 * widths[2]


def test_systems_are_told_apart_by_any_column_and_all_verified_are_counts(tmp_path):
    truth, judge, verified = graded([0, 1])
    by = {"model": np.where(np.arange(N) < 200, "a", "b")}
    post = labels.verify(verified, judge=judge == 1, by=by)
    alone = labels.verify(verified[:200], judge=judge[:200])
    sd = alone["accuracy"].sd().item()
    assert post["accuracy"].sel(model="a").mean().item() == pytest.approx(alone["accuracy"].mean().item(), abs=sd / 10)
    assert "better than" in bp.compare(post, metric="accuracy", independent=True).in_words()
    post.save(tmp_path / "post.nc")
    assert bp.load(tmp_path / "post.nc")["accuracy"].mean().equals(post["accuracy"].mean())
    every = labels.verify(truth, judge=judge)
    assert every["accuracy"].mean().item() == bp.posterior(bp.Outcomes.from_correct(truth))["accuracy"].mean().item()


def test_words():
    _, judge, verified = graded([0, 1])
    words = labels.verify(verified, judge=judge).in_words()
    assert words.startswith("80 of 400 outcomes by the judge are verified. Pass rate is ")
    assert "as much as about" in words
    assert words.endswith("the verified were chosen at random.")


def test_a_prediction_knows_nothing_of_the_sample():
    _, judge, verified = graded([0, 1])
    predicted = labels.verify(verified, judge=judge).predict(50)
    assert "verified" not in predicted.in_words()
    with pytest.raises(ValueError, match="knows of no counts, as a prediction"):
        bp.report(predicted)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ((["good", None],), {"judge": ["good", "bad"]}, "^y_true: outcomes must be true and false, or grades as num"),
        (([1, None],), {"judge": [1, 0], "pos_label": 1}, "^pos_label: outcomes have no classes"),
        (([None, None],), {"judge": [1, 0]}, "no example is verified"),
        (([1, None],), {"judge": [1, None]}, "judge"),
        (([1, None],), {}, "give the predicted labels, or outcomes by a judge"),
        (([1, None, 7],), {"judge": [1, 2, 3], "labels": [1, 2, 3]}, "7"),
    ],
)
def test_refused(given, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        labels.verify(*given, **options)


def test_outcomes_that_are_all_right_are_right_or_wrong():
    """Of 20 verified, all right, as the judge says of all 300: as the counts of these, give or take the shares."""
    post = bp.labels.verify(np.where(np.arange(300) < 20, 1, np.nan), judge=np.ones(300))
    assert post["pass_rate"].mean().item() == pytest.approx(20.5 / 21, abs=0.01)


def test_systems_at_the_same_examples_are_compared_by_their_outcomes_together():
    """An example of which people know one outcome alone counts as one of which they know none."""
    hard = RNG.random(N)
    passed = np.array([hard < 0.7, hard + 0.1 * RNG.standard_normal(N) < 0.6]).T.astype(float)
    judged = np.where(RNG.random((N, 2)) < 0.9, passed, 1 - passed).astype(int)
    known = np.where(np.arange(N)[:, None] % 4 == 0, passed, np.nan)
    known[1, 0] = 1
    post = systems_together(known, judged, ["a", "b"], "bot", "flat", 0)
    codes = [1, 2] @ np.where(np.isnan(known).any(1), np.nan, known.T), [1, 2] @ judged.T
    mean, sd = moments(*codes, np.arange(4), 1.0, values=np.array([0, 1, -1, 0]))
    found = bp.compare(post, metric="pass_rate", dim="bot").difference
    draws = post.n_draws
    assert found.mean().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(draws))
    assert found.sd().item() == pytest.approx(sd, rel=4 / np.sqrt(2 * draws))
    # Systems that fail at the same examples are told apart better than by examples of their own.
    alone = [labels.verify(known[:, i], judge=judged[:, i], prior="flat")["pass_rate"].sd().item() for i in (0, 1)]
    assert found.sd().item() < 0.85 * np.hypot(*alone)
