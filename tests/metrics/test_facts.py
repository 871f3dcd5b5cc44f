"""What the table of metrics states of each, checked on random tables.

The facts of a new metric are stated once more below (BOUNDS, SMALLER_IS_BETTER, NEEDS, POSTERIOR,
WHATEVER_THE_PREVALENCE). The general checks then run over it by themselves.
"""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import bayesperf as bp
from bayesperf import metrics
from bayesperf.metrics.exact_forms import (
    IncreasingFunction,
    Proportion,
    TwoProportions,
)
from tests.shared.metrics import BINARY_NAMES, EVERY, NAMES, THREE

# ── General checks ───────────────────────────────────────────────────────────────────────────────

# Each takes a metric and runs over matrices of the sizes that it is for.


def sizes(metric):
    return (2,) if metric.needs == "binary" and metric.average is None else (2, 3)


def positive_tables(size, n=12):
    return np.random.default_rng(size).uniform(1, 9, (n, size, size))


def check_bounds(metric):
    low, high = metric.bounds
    for size in sizes(metric):
        tables = np.random.default_rng(size).poisson(1.0, (300, size, size))
        values = metric.evaluate(tables, 1)
        values = values[np.isfinite(values)]
        assert values.size
        assert low - 1e-12 <= values.min() <= values.max() <= high + 1e-12


def check_bounds_are_near(metric):
    """Values come near to finite bounds: looser ones would be as true, and of less use."""
    if metric.average or metric.name == "f1_of_averages":  # Of averages, how near depends on the number of classes.
        return
    size = 2 if metric.needs == "binary" else 3
    tables = np.full((16, size, size), 1e-9)
    corners = np.ix_([0, -1], [0, -1])
    for table, some in zip(tables, itertools.product((0, 1), repeat=4), strict=True):
        table[corners] += np.reshape(some, (2, 2))
    values = metric.evaluate(tables, 1)
    for bound in metric.bounds:
        assert np.isinf(bound) or np.abs(values - bound).min() < 1e-3


def check_scale(metric):
    for size in sizes(metric):
        tables = np.random.default_rng(size).integers(1, 9, (12, size, size))
        expected = metric.evaluate(tables.astype(float), 1)
        total = tables.sum((1, 2), keepdims=True)
        for scaled in (tables, tables * 7, tables.astype(np.int8), tables / total, 1e-8 * tables):
            np.testing.assert_allclose(metric.evaluate(scaled, 1), expected, rtol=1e-9, atol=1e-12)


def check_leading_dims(metric):
    for size in sizes(metric):
        tables = positive_tables(size)
        one_by_one = np.array([metric.evaluate(table, 1) for table in tables])
        at_once = metric.evaluate(tables.reshape(2, 3, 2, size, size), 1)
        tail = (size,) if metric.average == "per_class" else ()
        assert at_once.shape == (2, 3, 2, *tail)
        np.testing.assert_allclose(at_once.reshape(12, *tail), one_by_one, rtol=1e-12)


def check_relabelling(metric):
    """The names of classes, hence their order, do not matter; for ordered ones, the direction."""
    for size in sizes(metric):
        table = positive_tables(size)[0]
        orders = itertools.permutations(range(size))
        if metric.needs == "ordered":
            orders = [range(size)[::-1]]
        for order in map(list, orders):
            moved = metric.evaluate(table[np.ix_(order, order)], order.index(1))
            expected = metric.evaluate(table, 1)
            expected = expected[order] if metric.average == "per_class" else expected
            np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-14)


def check_direction(metric):
    """A nearly perfect matrix beats chance, and chance beats a nearly perfectly wrong one."""
    if metric.greater_is_better is None:
        return
    for size in sizes(metric):
        good, chance = 100 * np.eye(size) + 1, np.ones((size, size))
        wrong = 100 * np.roll(np.eye(size), size // 2, 0) + 1
        best, middle, worst = (metric.evaluate(table, 1) for table in (good, chance, wrong))
        sign = 1 if metric.greater_is_better else -1
        # With two classes nothing is farther off than one.
        if metric.name != "off_by_one" or size > 2:
            assert (sign * best > sign * middle).all()
            assert (sign * middle > sign * worst).all()


def check_derivative(metric):
    """A complex step gives the derivative by each cell that a central difference gives."""
    for size in sizes(metric):
        table = positive_tables(size)[0]
        for cell in itertools.product(range(size), repeat=2):
            step = np.zeros((size, size))
            step[cell] = 1
            by_step = metric.evaluate(table + 1e-30j * step, 1).imag / 1e-30
            above, below = (metric.evaluate(table + h * step, 1) for h in (1e-5, -1e-5))
            np.testing.assert_allclose(by_step, (above - below) / 2e-5, rtol=1e-5, atol=1e-8)


def check_prevalence(metric):
    """Whether values stay as the rows are weighted anew is what the metric says of itself."""
    for size in sizes(metric):
        tables = positive_tables(size)
        weights = np.random.default_rng(0).uniform(0.2, 5, (12, size, 1))
        before, after = metric.evaluate(tables, 1), metric.evaluate(weights * tables, 1)
        same = np.isclose(before, after, rtol=1e-9, atol=1e-12)
        assert metric.depends_on_prevalence(size) == (not same.all())
        assert same.all() or not same.all(0).all()


def named_sums(table, label):
    """Return every named sum of cells, of one class against the rest, by visiting all cells."""
    sums = Counter()
    for (actual, predicted), value in np.ndenumerate(table):
        truth = "t" if (actual == label) == (predicted == label) else "f"
        sums[truth + ("p" if predicted == label else "n")] += value
        sums["correct" if actual == predicted else "wrong"] += value
        sums["within_one" if abs(actual - predicted) <= 1 else "beyond_one"] += value
    return sums


def share_of(share, sums):
    success, failure = (sum(sums[name] for name in side) for side in (share.success, share.failure))
    return success / (success + failure)


def check_shares(metric):
    """A share, or a transform of one, is the metric itself."""
    for size in sizes(metric):
        form = metric.exact_form(size)
        if not isinstance(form, Proportion | IncreasingFunction):
            continue
        for table in positive_tables(size):
            labels = range(size) if metric.average == "per_class" else [1]
            share = form.proportion if isinstance(form, IncreasingFunction) else form
            values = np.array([share_of(share, named_sums(table, label)) for label in labels])
            if isinstance(form, IncreasingFunction):
                np.testing.assert_allclose(form.inverse(form.forward(values)), values, rtol=1e-12)
                values = form.forward(values)
            np.testing.assert_allclose(np.atleast_1d(metric.evaluate(table, 1)), values, rtol=1e-12)
        if isinstance(form, IncreasingFunction):
            grid = form.forward(np.linspace(0, 1, 101))
            assert (np.diff(grid) > 0).all()
            assert (np.abs(form.inverse(grid) - np.linspace(0, 1, 101)) < 1e-12).all()


def check_mixtures(metric):
    """A mixture is a function of two independent shares, and its inverses undo it."""
    form = metric.exact_form(2)
    if not isinstance(form, TwoProportions):
        return
    pair = form.pair
    inner, outer = ({*share.success, *share.failure} for share in (pair.inner, pair.outer))
    assert outer == set(pair.inner.failure) if pair.split else not inner & outer
    rng = np.random.default_rng(0)
    x, w = rng.uniform(0.05, 0.95, (2, 200))
    cells = pair.cells(x, 1 - x, w, 1 - w)
    np.testing.assert_allclose(share_of(pair.inner, cells), x, rtol=1e-12)
    np.testing.assert_allclose(share_of(pair.outer, cells), w, rtol=1e-12)
    t = metric.of_binary(**cells)
    # What the pair leaves open does not matter: how large its halves are, or the fourth cell.
    others = {"tn": x + 1} if pair.split else {name: 3 * cells[name] for name in inner}
    np.testing.assert_allclose(metric.of_binary(**(cells | others)), t, rtol=1e-12)
    np.testing.assert_allclose(form.inner_at(t, w, 1 - w), x, rtol=1e-9)
    up = metric.of_binary(**pair.cells(x + 0.01, 0.99 - x, w, 1 - w))
    assert ((up > t) == form.increasing).all()
    if form.outer_at:
        np.testing.assert_allclose(form.outer_at(t, x, 1 - x), w, rtol=1e-9)
        up = metric.of_binary(**pair.cells(x, 1 - x, w + 0.01, 0.99 - w))
        assert ((up > t) == form.increasing_outer).all()
    if form.factors:
        factor = {"proportion": lambda x: x, "inverse": lambda x: 1 / x, "odds": lambda x: (1 - x) / x}
        of_x, of_w = form.factors
        np.testing.assert_allclose(factor[of_x](x) * factor[of_w](w), t, rtol=1e-12)


CHECKS = {
    check.__name__.removeprefix("check_"): check
    for check in (
        check_bounds,
        check_bounds_are_near,
        check_scale,
        check_leading_dims,
        check_relabelling,
        check_direction,
        check_derivative,
        check_prevalence,
        check_shares,
        check_mixtures,
    )
}


@pytest.mark.few
@pytest.mark.parametrize("name", EVERY)
def test_in_general(name):
    for check in CHECKS.values():
        check(metrics.get(name))


def test_in_general_of_a_cost():
    for name, check in CHECKS.items():
        if name != "relabelling":  # Of two classes, which cannot change places.
            check(replace(metrics.cost([[0, 1], [5, 0]]), needs="binary"))


# ── Stated facts ─────────────────────────────────────────────────────────────────────────────────

CORRELATIONS = "informedness markedness matthews_corrcoef cohen_kappa weighted_kappa linear_weighted_kappa"
RATIOS = "positive_likelihood_ratio negative_likelihood_ratio diagnostic_odds_ratio"
BOUNDS = {(-1, 1): CORRELATIONS, (0, np.inf): f"{RATIOS} mean_absolute_error"}
SMALLER_IS_BETTER = (
    "error_rate fpr fnr fdr false_omission_rate half_total_error_rate negative_likelihood_ratio "
    "prevalence_threshold mean_absolute_error"
)
NEEDS = {
    "classes": "accuracy error_rate balanced_accuracy matthews_corrcoef cohen_kappa f1_of_averages",
    "ordered": "weighted_kappa linear_weighted_kappa mean_absolute_error off_by_one",
}
TWO_RATES = f"balanced_accuracy half_total_error_rate informedness geometric_mean {RATIOS}"
POSTERIOR = {
    "exact": "accuracy error_rate precision recall specificity npv fpr fnr fdr false_omission_rate "
    "prevalence selection_rate jaccard f1 off_by_one",
    "quadrature": f"{TWO_RATES} prevalence_threshold markedness fowlkes_mallows f2 f0.5",
    "rates": "p4 matthews_corrcoef cohen_kappa",
    "draws": "weighted_kappa linear_weighted_kappa mean_absolute_error f1_of_averages",
}
WHATEVER_THE_PREVALENCE = f"recall specificity fpr fnr {TWO_RATES} prevalence_threshold"


def those(fact):
    return {name for name in NAMES if fact(metrics.get(name))}


def test_bounds_are_as_stated():
    for bounds, names in BOUNDS.items():
        assert those(lambda metric, bounds=bounds: metric.bounds == bounds) == set(names.split())
    assert those(lambda metric: metric.bounds not in {(0, 1), *BOUNDS}) == set()


def test_directions_are_as_stated():
    assert those(lambda metric: metric.greater_is_better is False) == set(SMALLER_IS_BETTER.split())
    assert those(lambda metric: metric.greater_is_better is None) == {"prevalence", "selection_rate"}


@pytest.mark.parametrize("needs", NEEDS)
def test_needs_are_as_stated(needs):
    assert those(lambda metric: metric.needs == needs) == set(NEEDS[needs].split())
    assert set(metrics.names(needs)) == set(NEEDS[needs].split())


def form(metric):
    """The form of the posterior of two classes, or of more if they are ordered."""
    if metric.exact:
        return metric.exact.method
    return "draws" if metric.function_of_rates() is None or metric.needs == "ordered" else "rates"


@pytest.mark.parametrize("method", POSTERIOR)
def test_forms_of_the_posterior_are_as_stated(method):
    expected = set(POSTERIOR[method].split())
    assert those(lambda m: form(m) == method) == expected
    for name in expected:
        table = THREE if name in metrics.names("ordered") else [[16, 2], [3, 9]]
        post = bp.posterior(bp.ConfusionMatrix.from_table(table), "perks", draws=100)
        assert post[name].method == ("quadrature" if method == "rates" else method)


# Of three classes: an average has a closed form if it comes to one share, or is of one class.
SHARES = "precision recall specificity npv fpr fnr fdr false_omission_rate jaccard"
EXACT_AVERAGES = {
    "micro": f"{SHARES} f1 f2 f0.5 fowlkes_mallows",
    "per_class": f"{POSTERIOR['exact']} {POSTERIOR['quadrature']}",
    "macro": "",
    "weighted": "",
}


@pytest.mark.parametrize("average", EXACT_AVERAGES)
def test_averages_with_an_exact_form_are_as_stated(average):
    found = {n for n in BINARY_NAMES if metrics.get(f"{n}_{average}").exact_form(3) is not None}
    assert found == set(EXACT_AVERAGES[average].split()) & set(BINARY_NAMES)


def test_dependence_on_prevalence_is_as_stated():
    # Two classes are never more than one apart.
    expected = {*WHATEVER_THE_PREVALENCE.split(), "off_by_one"}
    assert those(lambda metric: not metric.depends_on_prevalence(2)) == expected


def test_dependence_of_averages_on_prevalence_is_as_stated():
    many = [metrics.get(name) for name in EVERY if 3 in sizes(metrics.get(name))]
    # With more classes the rest of one is a mixture: recall is left, and the mean of shares that sum to 1.
    expected = "balanced_accuracy recall_macro recall_per_class fnr_macro fnr_per_class "
    expected += "prevalence_macro prevalence_micro selection_rate_macro selection_rate_micro"
    assert {m.name for m in many if not m.depends_on_prevalence(3)} == set(expected.split())
