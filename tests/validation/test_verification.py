"""The study of partly verified samples: its samples, one interval by hand, and what its published table says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from validation import verification
from validation.study import run

pytestmark = pytest.mark.slow

KEY = ["classes", "judge", "dependence", "prevalence", "verified"]
TABLE = Path(verification.__file__).parent / "tables" / "verification.csv"


@pytest.mark.parametrize("classes", [2, 4])
def test_the_judge_is_as_good_and_as_dependent_as_asked(classes):
    p = verification._probabilities(classes, judge=0.9, dependence=0.4, prevalence=0.2, recall=0.85, specificity=0.95)
    assert p.sum() == pytest.approx(1)
    system = p.sum(0).T
    if classes == 2:
        assert system[1].sum() == pytest.approx(0.2)
        assert system[1, 1] / system[1].sum() == pytest.approx(0.85)
        assert system[0, 0] / system[0].sum() == pytest.approx(0.95)
    else:
        np.testing.assert_allclose(np.diag(system), 0.85 / classes)
    # Where the system is right the judge is as good as alone; where it errs, he repeats the error at least as often.
    assert p[1, 1, 1] / p[:, 1, 1].sum() == pytest.approx(0.9)
    assert p[0, 0, 1] / p[:, 0, 1].sum() == pytest.approx(0.4 + 0.6 * 0.1 / (classes - 1))


@pytest.mark.parametrize("allocation", ["chance", "equal", "advised"])
def test_as_many_are_verified_as_asked(allocation):
    truth = np.random.default_rng(0).multinomial(500, np.full(8, 1 / 8)).reshape(1, 2, 2, 2)
    settings = {"allocation": allocation, "posterior_seed": 0}
    rng = np.random.default_rng(1)
    drawn = verification._drawn if allocation == "chance" else verification._allocated
    known = drawn(truth, 60, *(() if allocation == "chance" else (settings,)), rng)
    assert known.sum() == 60
    assert (known <= truth).all()
    if allocation == "equal":
        np.testing.assert_array_equal(known.sum(-1), 15)


def test_prediction_powered_interval_of_accuracy_by_hand():
    """Of accuracy the terms are means of right and wrong, by the truth and by the judge."""
    rng = np.random.default_rng(2)
    truth, n, total = rng.integers(0, 2, 1000), 100, 1000
    judge, system = (np.where(rng.random(1000) < error, 1 - truth, truth) for error in (0.1, 0.2))
    counts, verified = np.zeros((2, 2), int), np.zeros((2, 2, 2), int)
    np.add.at(counts, (judge, system), 1)
    np.add.at(verified, (judge[:n], system[:n], truth[:n]), 1)
    samples = verification._Samples(counts[None], verified[None])
    ((low, high),) = verification._prediction_powered(samples, verification.get("accuracy"), 1, 0.95)
    right, judged = truth == system, judge == system
    weight = np.cov(right[:n], judged[:n], ddof=0)[0, 1] / ((1 + n / total) * judged.var())
    centre = right[:n].mean() + weight * (judged.mean() - judged[:n].mean())
    error = np.sqrt((right[:n] - weight * judged[:n]).var() / n + weight**2 * judged.var() / total)
    np.testing.assert_allclose([low, high], centre + 1.959963985 * error * np.array([-1, 1]), rtol=1e-6)


@pytest.mark.parametrize(
    "setting", [{}, {"prevalence": 0.02, "allocation": "equal"}, {"dependence": 0.9, "judge": 0.99}, {"classes": 3}]
)
def test_intervals_cover(setting):
    # Samples of more than two classes take longer.
    n = 60 if "classes" in setting else 400
    study = run(verification.STUDY, n, verified=(50, 200), draws=1000, random_seed=3, posterior_seed=3, **setting)
    judge = study.sel(interval="judge")
    assert (judge["coverage"] > 0.91 - 2 * np.sqrt(0.91 * 0.09 / n)).all()


def test_rare_classes_are_covered():
    """A vote for a rare class is mostly a false alarm, whoever agrees: strata differ by their class."""
    options = {"classes": 5, "prevalence": [0.6, 0.25, 0.1, 0.04, 0.01]}
    study = run(verification.STUDY, 60, verified=150, draws=1000, random_seed=4, posterior_seed=4, **options)
    judge = study["coverage"].sel(interval="judge", verified=150)
    assert (judge > 0.93 - 3 * np.sqrt(0.93 * 0.07 / 60)).all()
    width = study["width"].sel(verified=150, metric="recall_macro")
    assert width.sel(interval="judge") < width.sel(interval="verified_only")


@pytest.mark.parametrize("classes", [2, 3])
def test_bins_of_a_score_are_equally_full(classes):
    p = verification._probabilities(classes, judge=0.9, dependence=0, prevalence=0.2, recall=0.85, specificity=0.95)
    if classes == 3:
        p = verification._probabilities(
            3, judge=0.9, dependence=0, prevalence=[0.6, 0.3, 0.1], recall=0.8, specificity=1
        )
    levels = verification._with_levels(p, "score", 5)
    np.testing.assert_allclose(levels.sum(0), p, atol=1e-12)
    np.testing.assert_allclose(levels.sum((1, 2, 3)), 0.2, atol=2e-3)
    if classes == 2:
        # Those above the threshold of the two normal distributions, by hand.
        shift = stats.norm.isf(0.05) + stats.norm.ppf(0.85)
        edge = optimize.brentq(lambda x: 0.8 * stats.norm.sf(x) + 0.2 * stats.norm.sf(x - shift) - 0.2, 0, 5)
        assert levels[4, :, :, 1].sum() == pytest.approx(0.2 * stats.norm.sf(edge - shift), abs=2e-3)
    differ = verification._with_levels(p, "differ", 5)
    system = p.sum(0)
    np.testing.assert_allclose(differ[0].sum(), (system**2 / system.sum(0)).sum())


def test_the_published_table():
    table = pd.read_csv(TABLE)
    judge = table[table["interval"] == "judge"]
    assert (judge["coverage_mcse"] <= 0.011).all()
    # The one that the site names.
    low = judge[judge["coverage"] < 0.91 - 2 * judge["coverage_mcse"]]
    assert low[["metric", "allocation", "verified"]].to_numpy().tolist() == [["recall", "equal", 30]]
    assert (table["classes"] == 2).all()
    # By chance the judge costs nothing: half a percent is what widths of a thousand samples leave open.
    by_chance = table[table["allocation"] == "chance"].pivot_table("width", [*KEY, "metric"], "interval")
    assert (by_chance["judge"] <= 1.005 * by_chance["verified_only"]).all()


def test_the_published_table_of_unequal_classes():
    table = pd.read_csv(TABLE.with_name("verification_classes.csv"))
    judge = table[table["interval"] == "judge"]
    assert (judge["coverage"] > 0.9 - 2 * np.sqrt(0.9 * 0.1 / 150)).all()
