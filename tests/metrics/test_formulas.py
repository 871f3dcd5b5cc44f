"""Every metric: by hand, against scikit-learn, and where it is undefined.

The value by hand of a new metric goes into BINARY (`tests/shared/metrics.py`) or ORDERED, its facts
into `test_facts.py`.
"""

from math import sqrt

import numpy as np
import pytest
import sklearn.metrics as sk

import bayesperf as bp
from bayesperf import metrics
from bayesperf.metrics.arguments import ARGUMENTS, OneVsRest, cells_of
from tests.shared.metrics import AVERAGES, BINARY, BINARY_NAMES, EVERY, NAMES, THREE


def score(cm, metric):
    return bp.score(cm, metric).values


# ── By hand ──────────────────────────────────────────────────────────────────────────────────────
ORDERED = {
    "accuracy": 14 / 20,
    "error_rate": 6 / 20,
    "balanced_accuracy": (5 / 6 + 4 / 8 + 5 / 6) / 3,
    "matthews_corrcoef": (14 * 20 - 130) / sqrt((400 - 136) * (400 - 138)),
    "cohen_kappa": (280 - 130) / (400 - 130),
    "weighted_kappa": 1 - 9 * 20 / (180 + 4 * 90),
    "linear_weighted_kappa": 1 - 7 * 20 / (180 + 2 * 90),
    "mean_absolute_error": (5 + 2) / 20,
    "off_by_one": 19 / 20,
    "f1_of_averages": 2 / (3 / (5 / 8 + 4 / 5 + 5 / 7) + 3 / (5 / 6 + 4 / 8 + 5 / 6)),
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
    assert set(BINARY) == set(NAMES), "a value of BINARY in tests/shared/metrics.py"
    assert set(ORDERED) > {*metrics.names("classes"), *metrics.names("ordered")}


def test_classes_against_the_rest_are_sums_that_keep_every_digit():
    cells = np.random.default_rng(0).integers(1, 9, (2, 5, 5)) * np.where(np.eye(5), 1e16, 1.0)
    found, every = OneVsRest(cells), range(5)
    expected = {
        "tp": lambda i, row, column: row == i == column,
        "fn": lambda i, row, column: row == i != column,
        "fp": lambda i, row, column: column == i != row,
    }
    for name, belongs in expected.items():
        by_hand = [[sum(table[r, c] for r in every for c in every if belongs(i, r, c)) for i in every]
                   for table in cells]  # fmt: skip
        np.testing.assert_array_equal(found[name], by_hand)
    tn = [[table[np.ix_(*[[j for j in every if j != i]] * 2)].sum() for i in every] for table in cells]
    np.testing.assert_allclose(found["tn"], tn, rtol=1e-15)
    few = OneVsRest(np.diag([1e20, 0, 0]) + np.ones((3, 3)))["tn"][0]
    assert few == 4


# ── Against scikit-learn ─────────────────────────────────────────────────────────────────────────

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
    "linear_weighted_kappa": lambda y, p, labels: sk.cohen_kappa_score(y, p, labels=labels, weights="linear"),
    "mean_absolute_error": lambda y, p, labels: sk.mean_absolute_error(y, p),
    "off_by_one": lambda y, p, labels: np.mean(np.abs(y - p) <= 1),
}
SEEDS = range(2)


def six_classes(seed):
    """Class 2 is never predicted, class 3 never actual, class 5 neither."""
    rng = np.random.default_rng(seed)
    return rng.choice([0, 1, 2, 4], 60), rng.choice([0, 1, 3, 4], 60), list(range(6))


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PEERS)
def test_metrics_of_many_classes_are_those_of_scikit_learn(name, seed):
    y_true, y_pred, labels = six_classes(seed)
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred, labels=labels)
    expected = PEERS[name](y_true, y_pred, labels)
    assert bp.score(cm, name).item() == pytest.approx(expected, abs=1e-13)


# ── Undefined values ─────────────────────────────────────────────────────────────────────────────

# Which cells are empty, and what has no value then.
UNDEFINED = {
    ("tp", "fn"): ["recall", "fnr", "informedness", "half_total_error_rate", "geometric_mean"],
    ("tn", "fp"): ["specificity", "fpr", "informedness", "negative_likelihood_ratio"],
    ("tp", "fp"): ["precision", "fdr", "markedness", "fowlkes_mallows", "matthews_corrcoef"],
    ("tn", "fn"): ["npv", "false_omission_rate", "markedness", "matthews_corrcoef"],
    ("tp", "fn", "fp"): ["jaccard", "f1", "f2", "cohen_kappa", "weighted_kappa", "linear_weighted_kappa"],
    ("tp", "fn", "fp", "tn"): NAMES,
}
# A class that is never predicted has no precision, and one that does not occur no recall.
for empty in ("tp", "fn"), ("tn", "fp"), ("tp", "fp"), ("tn", "fn"):
    UNDEFINED[empty].append("f1_of_averages")


@pytest.mark.parametrize("empty", UNDEFINED)
def test_undefined_is_nan(empty):
    cells = dict.fromkeys(("tp", "fn", "fp", "tn"), 5) | dict.fromkeys(empty, 0)
    cm = bp.ConfusionMatrix.from_counts(**cells)
    values = {name: bp.score(cm, name).item() for name in NAMES}
    assert {name for name in UNDEFINED[empty] if not np.isnan(values[name])} == set()
    shares = ["accuracy", "error_rate", "prevalence", "mean_absolute_error", "off_by_one"]
    assert {np.isnan(values[name]) for name in shares} == {cm.total.item() == 0}


def test_ratios_without_a_bound_are_infinite_where_only_the_denominator_is_0():
    def scores(**cells):
        cm = bp.ConfusionMatrix.from_counts(**cells)
        ratios = ("positive_likelihood_ratio", "negative_likelihood_ratio", "diagnostic_odds_ratio")
        return [bp.score(cm, name).item() for name in ratios]

    np.testing.assert_equal(scores(tp=5, fn=0, fp=0, tn=4), [np.inf, 0, np.inf])
    np.testing.assert_equal(scores(tp=5, fn=3, fp=2, tn=0), [5 / 8, np.inf, 0])
    np.testing.assert_equal(scores(tp=0, fn=3, fp=0, tn=2), [np.nan, 1, np.nan])
    np.testing.assert_equal(scores(tp=5, fn=0, fp=3, tn=0), [1, np.nan, np.nan])


def test_correlation_with_a_constant_is_nan_where_scikit_learn_says_0():
    y_true, y_pred = [0, 1, 1, 0], [1, 1, 1, 1]
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred)
    assert sk.matthews_corrcoef(y_true, y_pred) == 0.0
    assert np.isnan(bp.score(cm, "mcc"))


def test_an_infinite_class_is_not_left_out_of_an_average():
    cm = bp.ConfusionMatrix.from_table([[8, 1, 0], [0, 9, 2], [0, 2, 7]])
    for average in ("macro", "weighted"):
        assert np.isposinf(bp.score(cm, f"positive_likelihood_ratio_{average}"))


def test_agreement_of_two_constants_is_nan():
    assert np.isnan(bp.score(bp.ConfusionMatrix.from_counts(tp=9, fn=0, fp=0, tn=0), "cohen_kappa"))
    assert bp.score(bp.ConfusionMatrix.from_counts(tp=9, fn=0, fp=3, tn=0), "cohen_kappa") == 0


@pytest.mark.few
@pytest.mark.parametrize("base", BINARY_NAMES)
def test_averages_come_from_each_class_against_the_rest(base):
    rates = np.linspace(0.05, 1.5, 10)[:, None, None]
    tables = np.random.default_rng(1).poisson(rates, (10, 4, 4))
    cm = bp.ConfusionMatrix.from_table(tables, dims=["table"])
    rest = cm.one_vs_rest()
    per_class = score(rest, base)
    np.testing.assert_array_equal(score(cm, f"{base}_per_class"), per_class)
    np.testing.assert_array_equal(score(cm, f"{base}_micro"), score(rest.sum("label"), base))
    support = tables.sum(-1)
    for i, values in enumerate(per_class):
        has = ~np.isnan(values)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", BINARY_NAMES)
def test_a_binary_metric_asks_for_the_positive_class(name):
    cm = bp.ConfusionMatrix.from_table([[1, 2], [3, 4]], labels=["no", "yes"])
    with pytest.raises(ValueError, match=r"needs a positive class\. .*'no', 'yes'.*`pos_label`"):
        bp.score(cm, name)


def test_other_metrics_do_not_ask_for_it():
    labels, table = ["a", "b"], [[1, 2], [3, 4]]
    named = bp.ConfusionMatrix.from_table(table, labels=labels, pos_label="a")
    unnamed = bp.ConfusionMatrix.from_table(table, labels=labels)
    for name in [name for name in EVERY if name not in BINARY_NAMES]:
        np.testing.assert_array_equal(score(named, name), score(unnamed, name))


def test_one_class_each_needs_the_dim_label_free():
    rest = bp.ConfusionMatrix.from_table(THREE).one_vs_rest()
    with pytest.raises(ValueError, match="label"):
        bp.score(rest, "recall_per_class")


def test_only_a_matrix_has_a_score():
    with pytest.raises(TypeError, match="ConfusionMatrix"):
        bp.score([[1, 2], [3, 4]], "recall")


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


def test_correlation_of_equal_or_opposite_labels_is_exactly_one():
    shares = np.random.default_rng(0).random((1000, 2))
    right, wrong = shares[:, :, None] * np.eye(2), shares[:, :, None] * np.eye(2)[::-1]
    assert set(metrics.get("mcc").evaluate(right, 1)) == {1.0}
    assert set(metrics.get("mcc").evaluate(wrong, 1)) == {-1.0}


def test_few_errors_among_many_examples_keep_their_digits():
    cells = np.array([[10**9, 1], [1, 10**9]]) / (2 * 10**9 + 2)
    error = metrics.get("fdr_per_class").evaluate(cells, 1)
    np.testing.assert_allclose(error, 1 / (10**9 + 1), rtol=1e-15)


@pytest.mark.parametrize(
    ("argument", "classes", "positive"),
    [(name, 2, positive) for name in ("tp", "fn", "fp", "tn") for positive in (0, 1)]
    + [(name, 4, 0) for name in ("correct", "wrong")],
)
def test_cells_of_an_argument_are_those_that_it_sums(argument, classes, positive):
    cells = np.random.default_rng(1).random((classes, classes))
    summed = cells[cells_of(argument, classes, positive)].sum()
    assert summed == pytest.approx(ARGUMENTS[argument](cells, positive), rel=1e-14)


@pytest.mark.parametrize("argument", ["tp", "fn", "fp", "tn"])
def test_cells_of_a_class_against_the_rest(argument):
    cells = np.random.default_rng(1).random((4, 4))
    summed = [cells[cells_of(argument, 4, position)].sum() for position in range(4)]
    np.testing.assert_allclose(summed, OneVsRest(cells)[argument], rtol=1e-14)


def test_metrics_of_scores_with_ties_are_those_of_scikit_learn():
    positives, negatives, values = np.array([1, 2, 0, 3]), np.array([2, 1, 4, 1]), np.array([0.1, 0.3, 0.4, 0.8])
    y, score = np.repeat([1, 0], [6, 8]), np.concatenate([np.repeat(values, of) for of in (positives, negatives)])
    of_bins = {"positives": positives, "negatives": negatives}
    assert metrics.get("roc_auc").function(**of_bins) == pytest.approx(sk.roc_auc_score(y, score))
    assert metrics.get("average_precision").function(**of_bins) == pytest.approx(sk.average_precision_score(y, score))
    assert metrics.get("brier").function(**of_bins, scores=values) == pytest.approx(sk.brier_score_loss(y, score))


OF_RATES = [name for name in [*BINARY_NAMES, "cohen_kappa", "net_benefit_at_0.2"] if metrics.get(name).of_rates]


@pytest.mark.parametrize("name", OF_RATES)
def test_level_sets_of_the_rates_are_where_the_metric_has_the_level(name):
    tn, fp, fn, tp = cells = np.array([0.55, 0.15, 0.1, 0.2])
    metric, excess = metrics.get(name), metrics.get(name).of_rates.excess
    value = float(metric.evaluate(cells.reshape(2, 2), 1))
    assert excess(value, tp, fn, fp, tn) == pytest.approx(0, abs=1e-12)
    assert excess(value - 0.01, tp, fn, fp, tn) > 0 > excess(value + 0.01, tp, fn, fp, tn)


MICRO = ["precision", "recall", "specificity", "npv", "fpr", "fnr", "fdr", "false_omission_rate", "jaccard", "f1"]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MICRO)
def test_micro_averages_are_known_by_the_accuracy_alone(name, classes):
    cells = np.random.default_rng(2).dirichlet(np.ones(classes**2)).reshape(classes, classes)
    metric = metrics.get(f"{name}_micro")
    form, shares = metric.exact_form(classes), {"correct": np.trace(cells), "wrong": 1 - np.trace(cells)}
    (known,) = form.proportion.success
    value = metric.evaluate(cells, 1)
    assert form.forward(shares[known]) == pytest.approx(value)
    if form is not form.proportion:
        assert form.inverse(value) == pytest.approx(shares[known])
