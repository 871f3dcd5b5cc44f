"""Means of real values, against moments of Dirichlet processes and the exact posterior of right and wrong answers."""

import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf.curves import weighted_score

RNG = np.random.default_rng(3)
CREDIT = {"a": RNG.beta(2, 1, 25).round(2), "b": RNG.beta(1, 1, 25).round(2)}
DRAWS = 20_000


def is_distributed(marginal, mean, sd):
    assert marginal.mean().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(DRAWS))
    # The excess kurtosis of these is below 1.
    assert marginal.sd().item() == pytest.approx(sd, rel=4 * np.sqrt(3 / 4 / DRAWS))


def moments(values, low=None, high=None):
    """The mean and deviation of means under Dirichlet(1) weights, and half an example more at both ends of a range."""
    ends = [] if low is None else [low, high]
    places, weights = np.r_[values, ends], np.r_[np.ones(len(values)), [0.5] * len(ends)]
    mean = np.average(places, weights=weights)
    return mean, np.sqrt(np.average((places - mean) ** 2, weights=weights) / (weights.sum() + 1))


@pytest.mark.parametrize("bounds", [None, (0, 1), (-1, 3)])
def test_a_mean_has_the_moments_of_a_dirichlet_process(bounds):
    found = weighted_score("mean", CREDIT["a"], bounds=bounds, draws=DRAWS)
    is_distributed(found, *moments(CREDIT["a"], *(bounds or ())))
    assert found.observed.item() == pytest.approx(CREDIT["a"].mean())
    assert found.bounds == ((-np.inf, np.inf) if bounds is None else bounds)


def test_a_difference_has_the_moments_of_an_unseen_example_at_any_two_ends():
    found = bp.compare(weighted_score("mean", CREDIT, bounds=(0, 1), draws=DRAWS)).difference.isel(pair=0)
    places, weights = np.r_[CREDIT["a"] - CREDIT["b"], -1, 0, 1], np.r_[np.ones(25), 0.25, 0.5, 0.25]
    mean = np.average(places, weights=weights)
    is_distributed(found, mean, np.sqrt(np.average((places - mean) ** 2, weights=weights) / 27))


def test_credit_of_none_or_all_is_right_and_wrong():
    right = {"a": np.repeat([1, 1, 0, 0], [20, 9, 3, 8]), "b": np.repeat([1, 0, 1, 0], [20, 9, 3, 8])}
    both = weighted_score("mean", right, bounds=(0, 1), draws=DRAWS)
    exact = stats.beta([29.5, 23.5], [11.5, 17.5])
    q = np.array([0.025, 0.5, 0.975])
    for name, level, error in zip("ab", exact.ppf(q[:, None]).T, exact.std(), strict=True):
        # A 2.5 % quantile of a normal has a standard error of 2.67 standard deviations over the root of the draws.
        np.testing.assert_allclose(both.sel(model=name).ppf(q), level, atol=4 * 2.67 * error / np.sqrt(DRAWS))
    paired = bp.compare(bp.Outcomes.from_correct(right), metric="accuracy").difference.isel(pair=0)
    found = bp.compare(both).difference.isel(pair=0)
    error = 4 * 2.67 * paired.sd().item() / np.sqrt(DRAWS)
    np.testing.assert_allclose(found.ppf(q), paired.ppf(q), atol=error)


def mean_absolute(y, predicted, sample_weight=None):
    return np.average(np.abs(y - predicted), weights=sample_weight)


def root_mean_squared(y, predicted, sample_weight=None):
    return np.sqrt(np.average((y - predicted) ** 2, weights=sample_weight))


@pytest.mark.parametrize(("name", "function"), [("mae", mean_absolute), ("rmse", root_mean_squared)])
def test_errors_are_those_of_a_function_with_weights(name, function):
    y, predicted = CREDIT["a"], CREDIT["b"]
    found = weighted_score(name, y, predicted, draws=DRAWS)
    loop = weighted_score(function, y, predicted, draws=1000, random_seed=8)
    sd, error = loop.sd().item(), np.sqrt(1 / 1000 + 1 / DRAWS)
    assert found.mean().item() == pytest.approx(loop.mean().item(), abs=4 * sd * error)
    assert found.sd().item() == pytest.approx(sd, rel=4 * error)
    assert found.observed.item() == pytest.approx(function(y, predicted))
    assert (found.bounds, found.quantity.greater_is_better) == ((0, np.inf), False)


def test_the_range_of_errors_is_that_of_labels_and_predictions():
    y, predicted = 10 * CREDIT["a"], 10 * CREDIT["b"]
    found = weighted_score("mae", y, predicted, bounds=(0, 10), draws=DRAWS)
    is_distributed(found, *moments(np.abs(y - predicted), 0, 10))
    squared = weighted_score("rmse", y, predicted, bounds=(0, 10), draws=DRAWS)
    assert squared.bounds == (0, 10)
    mean, sd = moments((y - predicted) ** 2, 0, 100)
    assert (squared.joint_draws(DRAWS) ** 2).mean().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(DRAWS))


def test_what_is_all_at_an_end_has_the_interval_of_a_beta():
    found = weighted_score("mean", np.ones(12), bounds=(0, 1), draws=DRAWS)
    low = stats.beta(12.5, 0.5).ppf(0.05)
    assert found.cdf(low).item() == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / DRAWS))
    assert weighted_score("mean", np.ones(12), draws=100).sd().item() == pytest.approx(0, abs=1e-6)


def test_clusters_have_the_variance_of_samples_of_clusters():
    means = RNG.beta(2, 2, 40)
    credit, cluster = np.repeat(means, 5), np.repeat(np.arange(40), 5)
    with_clusters = weighted_score("mean", credit, cluster=cluster, draws=DRAWS)
    is_distributed(with_clusters, means.mean(), means.std(ddof=1) / np.sqrt(40))
    assert with_clusters.inference == "Bayesian bootstrap of clusters"
    # The unseen example is a cluster's worth.
    declared = weighted_score("mean", np.ones(200), cluster=cluster, bounds=(0, 1), draws=DRAWS)
    assert declared.mean().item() == pytest.approx(1 - 0.5 / 41, abs=0.0015)


@pytest.mark.slow
def test_many_examples_are_weighted_in_groups():
    credit = RNG.beta(1, 3, 50_000)
    found = weighted_score("mean", {"a": credit, "b": credit**2}, bounds=(0, 1), draws=4000)
    expected = credit.std() / np.sqrt(50_000)
    # Two thousand groups tell the variance up to a share of √(2/2000).
    assert found.sel(model="a").sd().item() == pytest.approx(expected, rel=4 * np.sqrt(2 / 2000 + 1 / 8000))
    difference = bp.compare(found).difference.isel(pair=0)
    assert difference.sd().item() == pytest.approx((credit - credit**2).std() / np.sqrt(50_000), rel=0.15)


def test_adding_a_system_changes_no_figure_and_files_hold_them(tmp_path):
    both, alone = (weighted_score("mean", each, bounds=(0, 1)) for each in (CREDIT, {"a": CREDIT["a"]}))
    found, expected = (each.joint_draws(50).sel(model="a") for each in (both, alone))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    both.save(tmp_path / "credit.nc")
    loaded = bp.load(tmp_path / "credit.nc")
    assert bp.compare(loaded).in_words() == bp.compare(both).in_words()


def test_direction_is_that_of_credit_unless_it_is_said():
    assert weighted_score("mean", CREDIT["a"], draws=2).quantity.greater_is_better is True
    assert weighted_score("mean", CREDIT["a"], greater_is_better=False, draws=2).quantity.greater_is_better is False


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("mean", (CREDIT["a"], CREDIT["b"]), {}, "^y_score: the mean has no predictions. Give the credit"),
        ("mae", (CREDIT["a"],), {}, "^y_score: the mean absolute error compares predictions with labels"),
        ("mean", ([0.5, 1.2],), {"bounds": (0, 1)}, r"^y_true must be within \[0.0, 1.0\], the `bounds`; it holds 1.2"),
        ("mean", ({"a": [0.5], "b": [-1]},), {"bounds": (0, 1)}, r"^y_true\['b'\] must be within"),
        ("mean", ([0.5, np.inf],), {}, "^y_true must be finite; it holds inf"),
        ("mean", ([0.5, np.nan],), {}, "^y_true has 1 missing value"),
        ("mean", ([0.5],), {"bounds": (1, 0)}, "^bounds must be two finite numbers, the smaller first"),
        ("mean", ([0.5],), {"bounds": (0, np.inf)}, "^bounds must be two finite numbers"),
        ("mean", ([0.5],), {"bounds": "01"}, "^bounds must be the smallest and the largest"),
        ("rmse", ([0.5, 1], {"a": [1, 2], "b": [1]}), {}, r"unequal length: y_true 2, .*y_score\['b'\] 1"),
        ("mae", ([0.5, 1], [1, 2]), {"greater_is_better": True}, "^greater_is_better applies to a function"),
        ("mean", ([0, 1],), {"per_class": True}, "^per_class: 'mean' is of real values"),
        ("mean", ([0, 1],), {"pos_label": 1}, "^pos_label: 'mean' is of real values"),
        ("brier", ([0, 1], [0.1, 0.9]), {"bounds": (0, 1)}, "^bounds apply to 'mean', 'mae', 'rmse'"),
        ("mean", ([0, 1, 1],), {"cluster": [1, 1, 2]}, "^cluster"),
    ],
)  # fmt: skip
def test_refused(name, data, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        weighted_score(name, *data, **options)
