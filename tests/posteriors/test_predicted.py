"""The prediction of a rate in a new test set: exact, by enumeration of all test sets and SciPy's beta-binomial."""

from itertools import product

import numpy as np
import pytest
from scipy import special, stats

import bayesperf as bp

CELLS = {"tp": 6, "fn": 2, "fp": 3, "tn": 9}
CM = bp.ConfusionMatrix.from_counts(**CELLS)
OMEGA = {name: count + 0.5 for name, count in CELLS.items()}


def enumerated(n, ratio):
    """Return the distribution of a ratio of two sums of cells over all test sets of n, and how often it is 0/0."""
    weights = np.array([OMEGA[name] for name in ("tp", "fn", "fp", "tn")])
    probabilities, undefined = {}, 0.0
    for cells in product(range(n + 1), repeat=4):
        if sum(cells) != n:
            continue
        k = np.array(cells)
        log_p = special.gammaln(n + 1) - special.gammaln(k + 1).sum() + special.gammaln(weights.sum())
        log_p += (special.gammaln(weights + k) - special.gammaln(weights)).sum() - special.gammaln(weights.sum() + n)
        numerator, denominator = ratio(*cells)
        if denominator == 0:
            undefined += np.exp(log_p)
        else:
            value = round(numerator / denominator, 12)
            probabilities[value] = probabilities.get(value, 0) + np.exp(log_p)
    return {value: p / (1 - undefined) for value, p in sorted(probabilities.items())}, undefined


RATIOS = {
    "accuracy": lambda tp, fn, fp, tn: (tp + tn, tp + fn + fp + tn),
    "prevalence": lambda tp, fn, fp, tn: (tp + fn, tp + fn + fp + tn),
    "recall": lambda tp, fn, fp, tn: (tp, tp + fn),
    "precision": lambda tp, fn, fp, tn: (tp, tp + fp),
    "fpr": lambda tp, fn, fp, tn: (fp, fp + tn),
    "jaccard": lambda tp, fn, fp, tn: (tp, tp + fn + fp),
    "f1": lambda tp, fn, fp, tn: (2 * tp, 2 * tp + fn + fp),
}


@pytest.mark.parametrize("name", RATIOS)
def test_a_rate_of_seven_examples_by_enumeration(name):
    expected, undefined = enumerated(7, RATIOS[name])
    found = bp.posterior(CM).predict(7, draws=200)[name]
    values, weights = np.array(list(expected)), np.array(list(expected.values()))
    assert found.method == "exact"
    assert found.undefined().item() == pytest.approx(undefined, abs=1e-14)
    np.testing.assert_allclose(found.pmf(values), weights, rtol=1e-9)
    assert found.pmf(values).sum().item() == pytest.approx(1)
    assert found.pmf(0.123).item() == 0
    below = np.cumsum(weights)
    np.testing.assert_allclose(found.cdf(values + 1e-9), below, rtol=1e-9)
    np.testing.assert_allclose(found.sf(values + 1e-9), 1 - below, atol=1e-12)
    np.testing.assert_allclose(found.prob_below(values[1] - 1e-9), below[0])
    for q in (0.025, 0.3, 0.5, 0.99):
        assert found.ppf(q).item() == pytest.approx(values[np.searchsorted(below, q)])
    mean = weights @ values
    sd = np.sqrt(weights @ (values - mean) ** 2)
    assert found.mean().item() == pytest.approx(mean)
    assert found.sd().item() == pytest.approx(sd)
    assert found.skewness().item() == pytest.approx(weights @ ((values - mean) / sd) ** 3)
    assert found.mode().item() == pytest.approx(values[np.argmax(weights)])
    assert found.mcse().item() == 0


@pytest.mark.parametrize("prob", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("name", RATIOS)
def test_the_shortest_interval_is_the_shortest_of_all(name, prob):
    expected, _ = enumerated(7, RATIOS[name])
    values, weights = np.array(list(expected)), np.array(list(expected.values()))
    pairs = [(values[j] - values[i], i, j) for i in range(len(values)) for j in range(i, len(values))
             if weights[i : j + 1].sum() >= prob - 1e-12]  # fmt: skip
    low, high = bp.posterior(CM).predict(7, draws=20)[name].hdi(prob).values
    assert high - low == pytest.approx(min(pairs)[0])
    assert weights[(values >= low - 1e-9) & (values <= high + 1e-9)].sum() >= prob - 1e-12


def test_accuracy_is_beta_binomial_whatever_the_size():
    found = bp.posterior(CM).predict(2_000, draws=20)["accuracy"]
    reference = stats.betabinom(2_000, 15 + 1, 5 + 1)
    k = np.arange(2_001)
    np.testing.assert_allclose(found.pmf(k / 2_000), reference.pmf(k), rtol=1e-9)
    assert found.sd().item() == pytest.approx(reference.std() / 2_000)


@pytest.mark.parametrize(("name", "trials", "a", "b"), [("recall", 8, 6.5, 2.5), ("specificity", 12, 9.5, 3.5)])
def test_chosen_numbers_of_each_class_fix_the_trials(name, trials, a, b):
    found = bp.posterior(CM, design="by_actual").predict(draws=20)[name]
    k = np.arange(trials + 1)
    assert found.method == "exact"
    assert found.undefined().item() == 0
    np.testing.assert_allclose(found.pmf(k / trials), stats.betabinom(trials, a, b).pmf(k), rtol=1e-9)


def test_classes_and_systems_have_their_own():
    table = [[[8, 1, 1], [2, 6, 2], [0, 1, 9]], [[5, 2, 3], [2, 7, 1], [3, 1, 6]]]
    cm = bp.ConfusionMatrix.from_table(table, dims={"model": ["u", "v"]})
    post = bp.posterior(cm, "perks").predict(40, draws=20_000)
    exact = post["recall_per_class"]
    assert (exact.method, exact.dims) == ("exact", ("model", "label"))
    drawn = exact.joint_draws(20_000)
    error = exact.sd() / np.sqrt(20_000)
    assert (abs(drawn.mean("draw") - exact.mean()) < 5 * error).all()
    alone = bp.posterior(cm.sel(model="v"), "perks").predict(40, draws=20)["recall_per_class"]
    np.testing.assert_array_equal(alone.mean(), exact.mean().sel(model="v"))


def test_draws_agree_and_stay_joint():
    predicted = bp.posterior(CM).predict(30, draws=40_000)
    for name in RATIOS:
        found, drawn = predicted[name], predicted[name].joint_draws(40_000)
        assert drawn.isnull().mean().item() == pytest.approx(found.undefined().item(), abs=1e-3)
        assert drawn.mean().item() == pytest.approx(found.mean().item(), abs=5 * found.sd().item() / 200)
    np.testing.assert_allclose(1 - predicted["accuracy"].joint_draws(50), predicted["error_rate"].joint_draws(50))


def test_what_is_no_rate_of_counted_trials_is_drawn():
    post = bp.posterior(CM)
    assert post.predict(30, draws=50)["mcc"].method == "draws"
    assert post.at_prevalence(0.2).predict(30, draws=50)["recall"].method == "draws"
    assert post.predict(501, draws=50)["recall"].method == "draws"
    assert post.predict(501, draws=50)["accuracy"].method == "exact"
    with pytest.raises(ValueError, match="pmf: recall has no exact probabilities of single values"):
        post["recall"].pmf(0.5)


def test_a_requirement_of_a_rate_includes_its_bound():
    predicted = bp.posterior(CM).predict(5, draws=10_000)
    expected = predicted["accuracy"].pmf([0.8, 1]).sum().item()
    found = predicted.prob_joint({"accuracy": 0.8})
    assert found.item() == pytest.approx(expected, abs=5 * found.attrs["mcse"])
    assert predicted["accuracy"].prob_at_least(0.8).item() == pytest.approx(expected)
    assert predicted["accuracy"].prob_above(0.8).item() == pytest.approx(predicted["accuracy"].pmf(1).item())
