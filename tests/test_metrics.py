"""Every metric: by hand, against scikit-learn, and in general.

The facts of a new metric are stated once more below (BOUNDS, SMALLER_IS_BETTER, NEEDS, POSTERIOR,
WHATEVER_THE_PREVALENCE), and its value by hand goes into BINARY or ORDERED. The general checks then
run over it by themselves; WRONG shows that each of them can fail.
"""

import itertools
from collections import Counter
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
import sklearn.metrics as sk

import bayesperf as bp
from bayesperf import _registry, metrics
from bayesperf._exact import HITS, MISSES, RECALL, SPECIFICITY, Mixture, Pair, Share, Transform
from bayesperf.metrics import Metric

AVERAGES = ["macro", "micro", "weighted", "per_class"]
NAMES = [*metrics.names(), "f2", "f0.5"]
BINARY_NAMES = [*metrics.names("binary"), "f2", "f0.5"]
EVERY = NAMES + [f"{name}_{average}" for name in BINARY_NAMES for average in AVERAGES]


def score(cm, metric):
    return bp.score(cm, metric).values


# ── By hand ──────────────────────────────────────────────────────────────────────────────────────

# tp = 9, fn = 3, fp = 2, tn = 16.
BINARY = {
    "accuracy": 25 / 30,
    "error_rate": 5 / 30,
    "precision": 9 / 11,
    "recall": 9 / 12,
    "specificity": 16 / 18,
    "npv": 16 / 19,
    "fpr": 2 / 18,
    "fnr": 3 / 12,
    "fdr": 2 / 11,
    "false_omission_rate": 3 / 19,
    "prevalence": 12 / 30,
    "jaccard": 9 / 14,
    "f1": 18 / 23,
    "f2": 45 / 59,
    "f0.5": 45 / 56,
    "fowlkes_mallows": 9 / sqrt(11 * 12),
    "balanced_accuracy": 59 / 72,
    "half_total_error_rate": 13 / 72,
    "informedness": 23 / 36,
    "geometric_mean": sqrt(2 / 3),
    "positive_likelihood_ratio": 27 / 4,
    "negative_likelihood_ratio": 9 / 32,
    "diagnostic_odds_ratio": 24,
    "prevalence_threshold": 2 / (2 + 3 * sqrt(3)),
    "markedness": 138 / 209,
    "p4": 4 / (12 / 9 + 11 / 9 + 18 / 16 + 19 / 16),
    "matthews_corrcoef": (9 * 16 - 3 * 2) / sqrt(12 * 18 * 11 * 19),
    "cohen_kappa": (25 / 30 - 474 / 900) / (1 - 474 / 900),
    "weighted_kappa": (25 / 30 - 474 / 900) / (1 - 474 / 900),
    "mean_absolute_error": 5 / 30,
    "off_by_one": 1,
}

# Rows actual: 6, 8 and 6 examples; predicted 8, 5 and 7 times; 14 of 20 correct.
THREE = [[5, 1, 0], [2, 4, 2], [1, 0, 5]]
ORDERED = {
    "accuracy": 14 / 20,
    "error_rate": 6 / 20,
    "balanced_accuracy": (5 / 6 + 4 / 8 + 5 / 6) / 3,
    "matthews_corrcoef": (14 * 20 - 130) / sqrt((400 - 136) * (400 - 138)),
    "cohen_kappa": (280 - 130) / (400 - 130),
    "weighted_kappa": 1 - 9 * 20 / (180 + 4 * 90),
    "mean_absolute_error": (5 + 2) / 20,
    "off_by_one": 19 / 20,
    "precision_per_class": [5 / 8, 4 / 5, 5 / 7],
    "precision_macro": (5 / 8 + 4 / 5 + 5 / 7) / 3,
    "precision_micro": 14 / 20,
    "precision_weighted": (6 * 5 / 8 + 8 * 4 / 5 + 6 * 5 / 7) / 20,
    "recall_per_class": [5 / 6, 4 / 8, 5 / 6],
    "recall_weighted": 14 / 20,
    "specificity_per_class": [11 / 14, 11 / 12, 12 / 14],
    "specificity_micro": 34 / 40,
    "fpr_micro": 6 / 40,
    "f1_macro": (10 / 14 + 8 / 13 + 10 / 13) / 3,
    "f1_micro": 14 / 20,
    "f2_per_class": [25 / (25 + 4 + 3), 20 / (20 + 16 + 1), 25 / (25 + 4 + 2)],
    "jaccard_per_class": [5 / 9, 4 / 9, 5 / 8],
    "jaccard_micro": 14 / 26,
    "prevalence_per_class": [6 / 20, 8 / 20, 6 / 20],
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_metrics_by_hand(name):
    cm = bp.ConfusionMatrix.from_counts(tp=9, fn=3, fp=2, tn=16)
    assert bp.score(cm, name).item() == pytest.approx(BINARY[name], abs=1e-14)


@pytest.mark.parametrize("name", ORDERED)
def test_metrics_of_three_classes_by_hand(name):
    cm = bp.ConfusionMatrix.from_table(THREE)
    np.testing.assert_allclose(score(cm, name), ORDERED[name], rtol=1e-14)


def test_every_metric_has_a_value_by_hand():
    assert set(BINARY) == set(NAMES)
    assert set(ORDERED) > {*metrics.names("classes"), *metrics.names("ordered")}


@pytest.mark.parametrize("name", BINARY)
def test_the_positive_class_may_come_first(name):
    cm = bp.ConfusionMatrix.from_table([[9, 3], [2, 16]], labels=["p", "n"], pos_label="p")
    assert bp.score(cm, name).item() == pytest.approx(BINARY[name], abs=1e-14)


# ── Against scikit-learn ─────────────────────────────────────────────────────────────────────────

BINARY_PEERS = {
    "precision": lambda y, p: sk.precision_score(y, p),
    "recall": lambda y, p: sk.recall_score(y, p),
    "specificity": lambda y, p: sk.recall_score(y, p, pos_label=0),
    "npv": lambda y, p: sk.precision_score(y, p, pos_label=0),
    "fpr": lambda y, p: sk.roc_curve(y, p)[0][1],
    "fnr": lambda y, p: 1 - sk.roc_curve(y, p)[1][1],
    "f1": lambda y, p: sk.f1_score(y, p),
    "f2": lambda y, p: sk.fbeta_score(y, p, beta=2),
    "f0.5": lambda y, p: sk.fbeta_score(y, p, beta=0.5),
    "jaccard": lambda y, p: sk.jaccard_score(y, p),
    "informedness": lambda y, p: sk.balanced_accuracy_score(y, p, adjusted=True),
    "half_total_error_rate": lambda y, p: 1 - sk.balanced_accuracy_score(y, p),
    "positive_likelihood_ratio": lambda y, p: sk.class_likelihood_ratios(y, p)[0],
    "negative_likelihood_ratio": lambda y, p: sk.class_likelihood_ratios(y, p)[1],
}
# y, p and all labels, some of which never occur.
PEERS = {
    "accuracy": lambda y, p, labels: sk.accuracy_score(y, p),
    "error_rate": lambda y, p, labels: sk.zero_one_loss(y, p),
    "balanced_accuracy": lambda y, p, labels: sk.balanced_accuracy_score(y, p),
    "matthews_corrcoef": lambda y, p, labels: sk.matthews_corrcoef(y, p),
    "cohen_kappa": lambda y, p, labels: sk.cohen_kappa_score(y, p, labels=labels),
    "weighted_kappa": lambda y, p, labels: sk.cohen_kappa_score(
        y,
        p,
        labels=labels,
        weights="quadratic",
    ),
    "mean_absolute_error": lambda y, p, labels: sk.mean_absolute_error(y, p),
    "off_by_one": lambda y, p, labels: np.mean(np.abs(y - p) <= 1),
}
AVERAGED_PEERS = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "f2": lambda *columns, **options: sk.fbeta_score(*columns, beta=2, **options),
}
SEEDS = range(6)


def six_classes(seed):
    """Class 2 is never predicted, class 3 never actual, class 5 neither."""
    rng = np.random.default_rng(seed)
    return rng.choice([0, 1, 2, 4], 60), rng.choice([0, 1, 3, 4], 60), list(range(6))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BINARY_PEERS)
def test_binary_metrics_are_those_of_scikit_learn(name, seed):
    y_true, y_pred = np.random.default_rng(seed).integers(0, 2, (2, 40))
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred)
    assert bp.score(cm, name).item() == pytest.approx(BINARY_PEERS[name](y_true, y_pred), abs=1e-13)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PEERS)
def test_metrics_of_many_classes_are_those_of_scikit_learn(name, seed):
    y_true, y_pred, labels = six_classes(seed)
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred, labels=labels)
    expected = PEERS[name](y_true, y_pred, labels)
    assert bp.score(cm, name).item() == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", AVERAGED_PEERS)
def test_averages_are_those_of_scikit_learn(name, average, seed):
    y_true, y_pred, labels = six_classes(seed)
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred, labels=labels)
    options = {"average": None if average == "per_class" else average, "zero_division": np.nan}
    expected = AVERAGED_PEERS[name](y_true, y_pred, labels=labels, **options)
    np.testing.assert_allclose(score(cm, f"{name}_{average}"), expected, atol=1e-13)
    assert np.isnan(expected).any() == (average == "per_class")


@pytest.mark.parametrize("average", AVERAGES)
def test_averages_of_jaccard_are_those_of_scikit_learn(average):
    # Its zero_division cannot be NaN: every class occurs.
    y_true, y_pred = np.random.default_rng(0).integers(0, 4, (2, 80))
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred)
    expected = sk.jaccard_score(y_true, y_pred, average=average if average != "per_class" else None)
    np.testing.assert_allclose(score(cm, f"jaccard_{average}"), expected, rtol=1e-13)


# ── Undefined values ─────────────────────────────────────────────────────────────────────────────

# Which cells are empty, and what has no value then.
UNDEFINED = {
    ("tp", "fn"): ["recall", "fnr", "informedness", "half_total_error_rate", "geometric_mean"],
    ("tn", "fp"): ["specificity", "fpr", "informedness", "negative_likelihood_ratio"],
    ("tp", "fp"): ["precision", "fdr", "markedness", "fowlkes_mallows", "matthews_corrcoef"],
    ("tn", "fn"): ["npv", "false_omission_rate", "markedness", "matthews_corrcoef"],
    ("tp", "fn", "fp"): ["jaccard", "f1", "f2", "cohen_kappa", "weighted_kappa"],
    # A ratio without a bound has none either.
    ("fp",): ["positive_likelihood_ratio", "diagnostic_odds_ratio"],
    ("tn",): ["negative_likelihood_ratio"],
    ("tp", "fn", "fp", "tn"): NAMES,
}


@pytest.mark.parametrize("empty", UNDEFINED)
def test_undefined_is_nan(empty):
    cells = dict.fromkeys(("tp", "fn", "fp", "tn"), 5) | dict.fromkeys(empty, 0)
    cm = bp.ConfusionMatrix.from_counts(**cells)
    values = {name: bp.score(cm, name).item() for name in NAMES}
    assert {name for name in UNDEFINED[empty] if not np.isnan(values[name])} == set()
    shares = ["accuracy", "error_rate", "prevalence", "mean_absolute_error", "off_by_one"]
    assert {np.isnan(values[name]) for name in shares} == {cm.total.item() == 0}


def test_correlation_with_a_constant_is_nan_where_scikit_learn_says_0():
    y_true, y_pred = [0, 1, 1, 0], [1, 1, 1, 1]
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred)
    assert sk.matthews_corrcoef(y_true, y_pred) == 0.0
    assert np.isnan(bp.score(cm, "mcc"))


def test_agreement_of_two_constants_is_nan():
    assert np.isnan(bp.score(bp.ConfusionMatrix.from_counts(tp=9, fn=0, fp=0, tn=0), "cohen_kappa"))
    assert bp.score(bp.ConfusionMatrix.from_counts(tp=9, fn=0, fp=3, tn=0), "cohen_kappa") == 0


@pytest.mark.parametrize("base", BINARY_NAMES)
def test_averages_come_from_each_class_against_the_rest(base):
    rates = np.linspace(0.05, 1.5, 40)[:, None, None]
    tables = np.random.default_rng(1).poisson(rates, (40, 4, 4))
    cm = bp.ConfusionMatrix.from_table(tables, dims=["table"])
    rest = cm.one_vs_rest()
    per_class = score(rest, base)
    np.testing.assert_array_equal(score(cm, f"{base}_per_class"), per_class)
    np.testing.assert_array_equal(score(cm, f"{base}_micro"), score(rest.sum("label"), base))
    support = tables.sum(-1)
    for i, values in enumerate(per_class):
        has = np.isfinite(values)
        macro = np.mean(values[has]) if has.any() else np.nan
        np.testing.assert_allclose(score(cm, f"{base}_macro")[i], macro, rtol=1e-12)
        total = support[i][has].sum()
        weighted = (values[has] * support[i][has]).sum() / total if total else np.nan
        np.testing.assert_allclose(score(cm, f"{base}_weighted")[i], weighted, rtol=1e-12)
    assert np.isnan(per_class).any()


def test_classes_without_a_value_are_left_out_of_scores_only():
    table = [[3, 1, 0], [2, 4, 0], [0, 0, 0]]
    cm = bp.ConfusionMatrix.from_table(table)
    for average in ("macro", "weighted"):
        assert np.isfinite(bp.score(cm, f"recall_{average}"))
        assert np.isnan(metrics.get(f"recall_{average}").evaluate(table))


# ── What a score is ──────────────────────────────────────────────────────────────────────────────


def test_scores_are_labelled():
    ones = np.ones((2, 3, 3), int)
    cm = bp.ConfusionMatrix.from_table(ones, labels=["a", "b", "c"], dims={"fold": [7, 8]})
    accuracy = bp.score(cm, "acc")
    assert (accuracy.name, accuracy.dims) == ("accuracy", ("fold",))
    assert accuracy["fold"].values.tolist() == [7, 8]
    per_class = bp.score(cm, "ppv_per_class")
    assert (per_class.name, per_class.dims) == ("precision_per_class", ("fold", "label"))
    assert per_class["label"].values.tolist() == ["a", "b", "c"]
    assert bp.score(cm.sel(fold=8), metrics.get("recall_macro"))["fold"].item() == 8


def test_a_binary_metric_of_many_classes_names_the_averages():
    cm = bp.ConfusionMatrix.from_table(THREE)
    with pytest.raises(ValueError, match="'recall' is binary and there are 3 classes") as refusal:
        bp.score(cm, "sensitivity")
    for average in AVERAGES:
        assert f"recall_{average}" in str(refusal.value)


@pytest.mark.parametrize("name", BINARY_NAMES)
def test_a_binary_metric_asks_for_the_positive_class(name):
    cm = bp.ConfusionMatrix.from_table([[1, 2], [3, 4]], labels=["no", "yes"])
    with pytest.raises(ValueError, match=r"needs a positive class: .*'no', 'yes'.*pos_label='yes'"):
        bp.score(cm, name)


@pytest.mark.parametrize("name", [name for name in EVERY if name not in BINARY_NAMES])
def test_other_metrics_do_not_ask_for_it(name):
    labels, table = ["a", "b"], [[1, 2], [3, 4]]
    named = bp.ConfusionMatrix.from_table(table, labels=labels, pos_label="a")
    unnamed = bp.ConfusionMatrix.from_table(table, labels=labels)
    np.testing.assert_array_equal(score(named, name), score(unnamed, name))


def test_one_class_each_needs_the_dim_label_free():
    rest = bp.ConfusionMatrix.from_table(THREE).one_vs_rest()
    with pytest.raises(ValueError, match="label"):
        bp.score(rest, "recall_per_class")


def test_only_a_matrix_has_a_score():
    with pytest.raises(TypeError, match="ConfusionMatrix"):
        bp.score([[1, 2], [3, 4]], "recall")


# ── General checks ───────────────────────────────────────────────────────────────────────────────
# Each takes a metric and runs over matrices of the sizes that it is for.


def sizes(metric):
    return (2,) if metric.needs == "binary" and metric.average is None else (2, 3, 5)


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
    if metric.average:  # Of averages, how near depends on the number of classes.
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
        if not isinstance(form, Share | Transform):
            continue
        for table in positive_tables(size):
            labels = range(size) if metric.average == "per_class" else [1]
            share = form.share if isinstance(form, Transform) else form
            values = np.array([share_of(share, named_sums(table, label)) for label in labels])
            if isinstance(form, Transform):
                np.testing.assert_allclose(form.inverse(form.forward(values)), values, rtol=1e-12)
                values = form.forward(values)
            np.testing.assert_allclose(np.atleast_1d(metric.evaluate(table, 1)), values, rtol=1e-12)
        if isinstance(form, Transform):
            grid = form.forward(np.linspace(0, 1, 101))
            assert (np.diff(grid) > 0).all()
            assert (np.abs(form.inverse(grid) - np.linspace(0, 1, 101)) < 1e-12).all()


def check_mixtures(metric):
    """A mixture is a function of two independent shares, and its inverses undo it."""
    form = metric.exact_form(2)
    if not isinstance(form, Mixture):
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
        factor = {"share": lambda x: x, "inverse": lambda x: 1 / x, "odds": lambda x: (1 - x) / x}
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


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("check", CHECKS)
def test_in_general(check, name):
    CHECKS[check](metrics.get(name))


@pytest.mark.parametrize("check", CHECKS)
def test_in_general_of_a_cost(check):
    # Of two classes, which cannot change places.
    if check != "relabelling":
        CHECKS[check](replace(metrics.cost([[0, 1], [5, 0]]), needs="binary"))


class Stubborn(Metric):
    def depends_on_prevalence(self, classes):
        return True


F2 = metrics.get("f2")
BALANCED = metrics.get("balanced_accuracy")
LR = metrics.get("positive_likelihood_ratio")
SWAPPED = Pair(SPECIFICITY, RECALL)
# Deliberate mistakes, and the check that must find them.
WRONG = [
    ("bounds", Metric("twice", lambda tp, fn: 2 * tp / (tp + fn))),
    ("bounds_are_near", Metric("loose", lambda tp, fn: tp / (tp + fn), bounds=(-1, 1))),
    ("scale", Metric("one more", lambda tp, fn: tp / (tp + fn + 1))),
    ("scale", Metric("whole", lambda tp, fn: tp // 3 / (tp + fn))),
    ("leading_dims", Metric("all", lambda cells: cells[..., 0, 0] / cells.sum(), needs="classes")),
    ("leading_dims", Metric("first", lambda tp, fn: (tp / (tp + fn)).flat[0])),
    ("relabelling", Metric("corner", lambda cells: cells[..., 0, 0], needs="classes")),
    ("relabelling", replace(metrics.get("weighted_kappa"), needs="classes")),
    ("direction", replace(metrics.get("fpr"), greater_is_better=True)),
    ("direction", replace(metrics.get("accuracy"), greater_is_better=False)),
    ("derivative", Metric("modulus", lambda tp, fn: abs(tp) / abs(tp + fn))),
    ("derivative", Metric("clipped", lambda tp, fn: np.real(tp / (tp + fn)))),
    ("prevalence", Stubborn("stubborn", metrics.get("recall").function)),
    ("shares", replace(metrics.get("recall"), exact=MISSES)),
    ("shares", replace(metrics.get("f1"), exact=metrics.get("jaccard").exact)),
    ("shares", replace(metrics.get("jaccard_micro"), micro=metrics.get("recall").micro)),
    ("shares", replace(metrics.get("f1"), exact=replace(metrics.get("f1").exact, inverse=np.sqrt))),
    ("mixtures", replace(F2, exact=metrics.get("f0.5").exact)),
    ("mixtures", replace(F2, exact=Mixture(F2.exact.inner_at, F2.exact.inner_at, pair=HITS))),
    ("mixtures", replace(F2, exact=replace(F2.exact, increasing=False))),
    ("mixtures", replace(LR, exact=replace(LR.exact, increasing_outer=True))),
    ("mixtures", replace(LR, exact=replace(LR.exact, factors=("share", "share")))),
    ("mixtures", replace(LR, exact=replace(LR.exact, pair=SWAPPED))),
    ("mixtures", replace(metrics.get("markedness"), exact=BALANCED.exact)),
]


@pytest.mark.parametrize(("check", "metric"), WRONG, ids=[f"{c}: {m.name}" for c, m in WRONG])
def test_the_checks_find_mistakes(check, metric):
    with pytest.raises((AssertionError, ValueError)):
        CHECKS[check](metric)


def test_every_check_is_tested():
    assert {check for check, _ in WRONG} == set(CHECKS)


# ── Stated facts ─────────────────────────────────────────────────────────────────────────────────

CORRELATIONS = "informedness markedness matthews_corrcoef cohen_kappa weighted_kappa"
RATIOS = "positive_likelihood_ratio negative_likelihood_ratio diagnostic_odds_ratio"
BOUNDS = {(-1, 1): CORRELATIONS, (0, np.inf): f"{RATIOS} mean_absolute_error"}
SMALLER_IS_BETTER = (
    "error_rate fpr fnr fdr false_omission_rate half_total_error_rate negative_likelihood_ratio "
    "prevalence_threshold mean_absolute_error"
)
NEEDS = {
    "classes": "accuracy error_rate balanced_accuracy matthews_corrcoef cohen_kappa",
    "ordered": "weighted_kappa mean_absolute_error off_by_one",
}
TWO_RATES = f"balanced_accuracy half_total_error_rate informedness geometric_mean {RATIOS}"
POSTERIOR = {
    "exact": "accuracy error_rate precision recall specificity npv fpr fnr fdr false_omission_rate "
    "prevalence jaccard f1 off_by_one",
    "quadrature": f"{TWO_RATES} prevalence_threshold markedness fowlkes_mallows f2 f0.5",
    "draws": "p4 matthews_corrcoef cohen_kappa weighted_kappa mean_absolute_error",
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
    assert those(lambda metric: metric.greater_is_better is None) == {"prevalence"}


@pytest.mark.parametrize("needs", NEEDS)
def test_needs_are_as_stated(needs):
    assert those(lambda metric: metric.needs == needs) == set(NEEDS[needs].split())
    assert set(metrics.names(needs)) == set(NEEDS[needs].split())


@pytest.mark.parametrize("method", POSTERIOR)
def test_forms_of_the_posterior_are_as_stated(method):
    expected = set(POSTERIOR[method].split())
    assert those(lambda m: (m.exact.method if m.exact else "draws") == method) == expected
    for name in expected:
        table = THREE if name in metrics.names("ordered") else [[16, 2], [3, 9]]
        post = bp.posterior(bp.ConfusionMatrix.from_table(table), draws=100)
        assert post[name].method == method


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
    # With more classes the rest of one is a mixture: recall is left, and the mean prevalence, 1/3.
    expected = "balanced_accuracy recall_macro recall_per_class fnr_macro fnr_per_class "
    expected += "prevalence_macro prevalence_micro"
    assert {m.name for m in many if not m.depends_on_prevalence(3)} == set(expected.split())


# ── Names ────────────────────────────────────────────────────────────────────────────────────────

ALIASES = {
    "ppv": "precision",
    "sensitivity": "recall",
    "tpr": "recall",
    "hit_rate": "recall",
    "tnr": "specificity",
    "far": "fpr",
    "frr": "fnr",
    "false_positive_rate": "fpr",
    "false_negative_rate": "fnr",
    "false_discovery_rate": "fdr",
    "for": "false_omission_rate",
    "csi": "jaccard",
    "iou": "jaccard",
    "f1_score": "f1",
    "dice": "f1",
    "f1.0": "f1",
    "f2.0": "f2",
    "mcc": "matthews_corrcoef",
    "kappa": "cohen_kappa",
    "qwk": "weighted_kappa",
    "hter": "half_total_error_rate",
    "bac": "balanced_accuracy",
    "youden_j": "informedness",
    "mae": "mean_absolute_error",
    "dor": "diagnostic_odds_ratio",
    "lr+": "positive_likelihood_ratio",
    "lr-": "negative_likelihood_ratio",
    "sensitivity_macro": "recall_macro",
    "ppv_per_class": "precision_per_class",
    "f0.5_weighted": "f0.5_weighted",
}


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_resolve(alias):
    assert metrics.get(alias).name == ALIASES[alias]


@pytest.mark.parametrize("name", EVERY)
def test_names_resolve_to_themselves(name):
    metric = metrics.get(name)
    assert metric.name == name
    assert metrics.get(metric) is metric
    assert metric.description


def test_names_are_those_of_the_table():
    table = metrics.table()
    assert table["name"].tolist() == metrics.names()
    assert {*metrics.names(), "f2", "f0.5"} == set(BINARY)
    rows = table.set_index("name")
    assert rows.loc["recall", "aliases"].startswith("sensitivity, tpr")
    assert rows.loc["recall", "needs"] == "binary"
    assert rows.loc["informedness", "bounds"] == (-1, 1)
    assert rows.loc["fpr", "greater_is_better"] is False
    assert rows.loc["f1", "posterior"] == "exact"
    assert rows.loc["matthews_corrcoef", "posterior"] == "draws"
    assert rows["description"].str.len().min() > 10


def test_no_two_metrics_share_a_name():
    names = [name for n in metrics.names() for name in (n, *metrics.get(n).aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("recal", "'recall'"),
        ("acuracy", "'accuracy'"),
        ("matthews_corcoef", "'matthews_corrcoef'"),
        ("precison_macro", "'precision"),
        ("recall_marco", "'recall_macro'"),
        ("MCC", "'mcc'"),
        ("F1", "'f1'"),
        ("xyzzy", r"metrics\.names\(\)"),
    ],
)
def test_an_unknown_name_offers_the_nearest(name, nearest):
    with pytest.raises(ValueError, match=f"no metric named .*{nearest}"):
        metrics.get(name)


@pytest.mark.parametrize("name", ["acc_macro", "mcc_micro", "mae_weighted", "recall_macro_micro"])
def test_what_is_one_number_has_no_averages(name):
    with pytest.raises(ValueError, match=f"'{name}': .* one number for all classes"):
        metrics.get(name)


@pytest.mark.parametrize("name", [None, 3, ["recall"], lambda tp: tp])
def test_a_metric_is_named_by_text(name):
    with pytest.raises(TypeError, match="metric must be a name or a Metric"):
        metrics.get(name)


@pytest.mark.parametrize("beta", [0.1, 0.5, 1, 1.5, 2, 10, 0.12345678, 1e6])
def test_f_beta_is_the_weighted_harmonic_mean_and_its_name_says_so(beta):
    cm = bp.ConfusionMatrix.from_counts(tp=9, fn=3, fp=2, tn=16)
    precision, recall, square = 9 / 11, 9 / 12, beta**2
    expected = (1 + square) / (1 / precision + square / recall)
    metric = metrics.fbeta(beta)
    assert bp.score(cm, metric).item() == pytest.approx(expected, rel=1e-12)
    assert bp.score(cm, metric.name).item() == pytest.approx(expected, rel=1e-12)


def test_f_of_1_is_the_row_of_the_table():
    assert metrics.fbeta(1) is metrics.get("f1.0") is metrics.get("f1")


@pytest.mark.parametrize("beta", [0, -1, np.nan, np.inf])
def test_f_beta_needs_a_positive_number(beta):
    with pytest.raises(ValueError, match="beta must be greater than 0 and finite"):
        metrics.fbeta(beta)


# ── Metrics of one's own ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def register(monkeypatch):
    """Registration into a copy of the table."""
    for name in ("_TABLE", "_ALIASES"):
        monkeypatch.setattr(_registry, name, dict(getattr(_registry, name)))
    return metrics.register


def net_benefit(tp, fn, fp, tn):
    """Hits less false alarms, a share of all examples."""
    return (tp - fp) / (tp + fn + fp + tn)


def test_a_registered_metric_works_wherever_a_name_does(register):
    metric = register("net_benefit", net_benefit, aliases=["nb"], bounds=(-1, 1))
    cm = bp.ConfusionMatrix.from_counts(tp=9, fn=3, fp=2, tn=16)
    assert bp.score(cm, "nb").item() == 7 / 30
    assert bp.score(cm, "net_benefit_macro").item() == pytest.approx((7 / 30 + 13 / 30) / 2)
    assert metrics.get("nb") is metric
    assert (metric.needs, metric.bounds, metric.greater_is_better) == ("binary", (-1, 1), True)
    assert metrics.names()[-1] == "net_benefit"
    assert "Hits less false alarms" in metrics.table()["description"].iloc[-1]
    marginal = bp.posterior(cm, draws=4000)["net_benefit"]
    # Of a Dirichlet(10, 4, 3, 17): (10 − 3)/34, and a Monte Carlo error of .002.
    assert marginal.mean().item() == pytest.approx(7 / 34, abs=0.01)
    with pytest.raises(ValueError, match="did you mean 'net_benefit"):
        metrics.get("net_benefits")


@pytest.mark.parametrize(
    ("function", "needs", "expected"),
    [
        (lambda tp, fn: tp / (tp + fn), "binary", None),
        (lambda correct, wrong: correct / (correct + wrong), "classes", 14 / 20),
        (lambda cells: cells[..., 0, 0] / cells.sum((-2, -1)), "classes", 5 / 20),
        (lambda wrong, beyond_one: beyond_one / wrong, "classes", 1 / 6),
    ],
)
def test_the_arguments_of_a_function_say_what_it_needs(register, function, needs, expected):
    assert register("mine", function).needs == needs
    if expected:
        assert bp.score(bp.ConfusionMatrix.from_table(THREE), "mine").item() == expected


REFUSED = {
    "taken": ("recall", net_benefit, {}, "named 'recall' exists already"),
    "taken by an alias": ("tpr", net_benefit, {}, "named 'tpr' exists already"),
    "taken by f-beta": ("f3", net_benefit, {}, "named 'f3' exists already"),
    "alias taken": ("mine", net_benefit, {"aliases": ["me", "mcc"]}, "named 'mcc' exists already"),
    "alias twice": ("mine", net_benefit, {"aliases": ["me", "me"]}, "'me'"),
    "alias of itself": ("mine", net_benefit, {"aliases": ["mine"]}, "'mine'"),
    "kept for averages": ("mine_macro", net_benefit, {}, "'mine_macro': .* kept for averages"),
    "unknown argument": ("mine", lambda tp, hits: tp, {}, "'mine': .* among tp, .* takes tp, hits"),
    "any arguments": ("mine", lambda *cells: 1, {}, "'mine'"),
    "no text": (3, net_benefit, {}, "name must be a str.* 3"),
    "text as aliases": ("mine", net_benefit, {"aliases": "me"}, "aliases a sequence.* 'me'"),
    "bounds reversed": ("mine", net_benefit, {"bounds": (1, 0)}, "bounds must be .*1, 0"),
    "no argument": ("mine", lambda: 1, {}, "'mine': .* among tp, fn, fp, tn.* takes none"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_registration_refuses(register, mistake):
    name, function, facts, message = REFUSED[mistake]
    before = metrics.names()
    with pytest.raises((ValueError, TypeError), match=message):
        register(name, function, **facts)
    assert metrics.names() == before
    with pytest.raises(ValueError, match="no metric named 'me'"):
        metrics.get("me")


def test_unregistering_takes_all_names_out_and_frees_them(register):
    register("mine", net_benefit, aliases=["me"])
    metrics.unregister("me")
    assert "mine" not in metrics.names()
    for name in ("mine", "me", "mine_macro"):
        with pytest.raises(ValueError, match="no metric named"):
            metrics.get(name)
    register("me", net_benefit)


@pytest.mark.parametrize("name", ["unheard_of", "recall_macro", "f2"])
@pytest.mark.usefixtures("register")
def test_only_rows_of_the_table_can_be_unregistered(name):
    before = metrics.names()
    with pytest.raises(ValueError, match=name):
        metrics.unregister(name)
    assert metrics.names() == before


# ── Costs ────────────────────────────────────────────────────────────────────────────────────────


def test_cost_by_hand():
    cost = metrics.cost([[0, 1, 2], [1, -2, 1], [4, 1, 0]])
    cm = bp.ConfusionMatrix.from_table([THREE, np.eye(3, dtype=int)], dims=["fold"])
    np.testing.assert_allclose(score(cm, cost), [(1 + 2 - 8 + 2 + 4) / 20, -2 / 3])
    assert (cost.bounds, cost.greater_is_better) == ((-2, 4), False)


def test_cost_of_errors_alone_is_their_rate():
    cm = bp.ConfusionMatrix.from_table(THREE)
    assert bp.score(cm, metrics.cost(1 - np.eye(3))).item() == pytest.approx(6 / 20)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, 1, 2], [1, 0, 1]],
        [0, 1],
        3,
        [[0, np.nan], [1, 0]],
        [[0, np.inf], [1, 0]],
        np.zeros((2, 2, 2)),
    ],
)
def test_a_cost_matrix_is_square_and_finite(matrix):
    with pytest.raises(ValueError, match="cost_matrix must be square and finite"):
        metrics.cost(matrix)


def test_a_cost_matrix_fits_the_classes():
    with pytest.raises(ValueError, match=r"cost_matrix is for 2 classes; .* has 3"):
        bp.score(bp.ConfusionMatrix.from_table(THREE), metrics.cost([[0, 1], [1, 0]]))
