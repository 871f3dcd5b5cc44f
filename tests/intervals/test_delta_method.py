"""The delta method against references in 40 digits, closed forms, numerical gradients and simulation."""

import sys
from statistics import NormalDist

import numpy as np
import pytest

import bayesperf as bp
from bayesperf.intervals import delta
from bayesperf.intervals.statistic import Statistic
from tests.shared.counts import pair_of
from tests.shared.golden import cases, golden

GOLDEN = golden("intervals")
Z = NormalDist().inv_cdf(0.975)
BINARY = bp.ConfusionMatrix.from_counts(tp=41, fn=9, fp=14, tn=66)
THREE = bp.ConfusionMatrix.from_table([[23, 4, 2], [5, 31, 6], [1, 7, 40]])
AVERAGED = [
    f"{name}_{average}" for name in ("precision", "recall", "f1", "jaccard") for average in ("macro", "weighted")
]
without_warning = pytest.mark.filterwarnings("ignore:metric .* no width")


def matrix_of(case):
    return bp.ConfusionMatrix.from_table(GOLDEN["datasets"][case["inputs"]["dataset"]]["confusion_matrix_rows_true"])


def clipped(figures):
    return pytest.approx(np.clip([figures["low"], figures["high"]], 0, 1), abs=1e-12)


# ── Golden figures ──


@without_warning
@cases("intervals", "macro_", "weighted_", without="star")
def test_golden_averages(case):
    average, metric = case["metric"].split("_")
    found = delta(matrix_of(case), f"{metric}_{average}").values
    assert found == clipped(case["reference"])
    for peer in case.get("peers", []):
        # confidenceinterval takes p·p for the outer product, and leaves out divisions.
        low, high = (float(peer["result"][end]) for end in ("low", "high"))
        assert np.isnan(low) or np.abs(found - [low, high]).max() > 1e-4


@cases("intervals", "micro_")
def test_golden_micro(case):
    for metric in ("precision", "recall", "f1"):
        assert delta(matrix_of(case), f"{metric}_micro").values == clipped(case["reference"])


@without_warning
@cases("intervals", "per_class")
def test_golden_per_class(case):
    for metric in ("precision", "recall", "f1"):
        found = delta(matrix_of(case), f"{metric}_per_class")
        for figures in case["reference"]["per_class"]:
            assert found.sel(label=figures["cls"]).values == clipped(figures[metric])


@cases("intervals", "pathological")
def test_golden_unusual_labels(case):
    for metric in ("precision", "recall", "f1"):
        assert delta(matrix_of(case), f"{metric}_macro").values == clipped(case["reference"][f"macro_{metric}"])


@without_warning
@cases("intervals", "f1_binary")
def test_golden_binary_f1(case):
    reference, cm = case["reference"], matrix_of(case)
    found = delta(cm, "f1").values
    assert found == clipped(reference)
    for level in (90, 99):
        assert delta(cm, "f1", level / 100).values == pytest.approx(np.clip(reference[f"ci_{level}"], 0, 1), abs=1e-12)
    if "logit_delta_ci" in reference:
        assert delta(cm, "f1", transform="logit").values == pytest.approx(reference["logit_delta_ci"], abs=1e-12)
    for peer in case.get("peers", []):
        assert np.abs(found - [peer["result"]["low"], peer["result"]["high"]]).max() > 1e-3


@cases("intervals", "likelihood_ratios")
def test_golden_ratios(case):
    for name, metric in {"LR+": "lr+", "LR-": "lr-", "DOR": "dor"}.items():
        figures = case["reference"][name]
        found = delta(matrix_of(case), metric, transform="log").values
        assert found == pytest.approx([figures["low"], figures["high"]], rel=1e-12)


def test_golden_metric_of_ones_own():
    # Sokolova & Lapalme's macro F1, the harmonic mean of macro precision and macro recall.
    def harmonic(cells):
        hits = np.einsum("...ii->...i", cells)
        p, r = (hits / cells.sum(-2)).mean(-1), (hits / cells.sum(-1)).mean(-1)
        return 2 * p * r / (p + r)

    bp.metrics.register("harmonic", harmonic, bounds=(0, 1))
    try:
        cases = [case for case in GOLDEN["cases"] if "star" in case["id"]]
        assert len(cases) == 4
        for case in cases:
            assert delta(matrix_of(case), "harmonic").values == clipped(case["reference"])
    finally:
        bp.metrics.unregister("harmonic")


# ── Closed forms and numerical gradients ──


def numerical_error(metric, table, by_actual=False, positive=1):
    """Return the standard error by central differences and the covariance matrix written out."""
    shares = table / table.sum()
    cells = shares.size
    gradient = np.empty(cells)
    for i in range(cells):
        step = np.zeros(cells)
        step[i] = 1e-5
        ends = [metric.evaluate(shares + sign * step.reshape(shares.shape), positive) for sign in (1, -1)]
        gradient[i] = (ends[0] - ends[1]) / 2e-5
    p = shares.ravel()
    covariance = np.diag(p) - np.outer(p, p)
    if by_actual:
        blocks = [np.diag(row) - np.outer(row, row) / row.sum() for row in shares]
        covariance = np.block([[b if i == j else 0 * b for j in range(len(blocks))] for i, b in enumerate(blocks)])
    return np.sqrt(max(gradient @ covariance @ gradient, 0) / table.sum())


def error_of(cm, metric, **options):
    """Return the standard error behind an interval, taken narrow so that no bound clips it."""
    lower, upper = delta(cm, metric, 0.01, **options).values
    return (upper - lower) / (2 * NormalDist().inv_cdf(0.505))


OF_ANY = [*bp.metrics.names("classes"), *bp.metrics.names("ordered"), *AVERAGED]
COST = bp.metrics.cost([[0, 1, 2], [4, -1, 1], [9, 3, 0]])


OF_TWO = [*bp.metrics.names("binary"), "f2", *AVERAGED]


@pytest.mark.few
@without_warning
@pytest.mark.parametrize("design", ["joint", "by_actual"])
@pytest.mark.parametrize(
    ("cm", "metric"),
    [pytest.param(BINARY, m, id=f"2-{m}") for m in OF_TWO]
    + [pytest.param(THREE, m, id=f"3-{getattr(m, 'name', m)}") for m in [*OF_ANY, COST]],
)
def test_every_metric_by_numerical_gradient(cm, metric, design):
    metric = bp.metrics.get(metric)
    expected = numerical_error(metric, cm.counts.values, design == "by_actual")
    # Prevalence is fixed by the design "by_actual", and has none.
    assert error_of(cm, metric, design=design) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_closed_forms():
    tp, fn, fp, tn = 41, 9, 14, 66
    n, f = tp + fn + fp + tn, 2 * tp / (2 * tp + fn + fp)
    assert error_of(BINARY, "f1") ** 2 == pytest.approx(f * (1 - f) * (2 - f) / (2 * tp + fn + fp), rel=1e-9)
    assert error_of(BINARY, "accuracy") ** 2 == pytest.approx((tp + tn) / n * (fp + fn) / n / n, rel=1e-9)
    shares = THREE.counts.values / THREE.total.item()
    for metric, axis in {"precision_macro": 0, "recall_macro": 1}.items():
        share = shares.sum(axis)
        rate = np.diag(shares) / share
        expected = (rate * (1 - rate) / share).sum() / THREE.total.item() / 9
        assert error_of(THREE, metric) ** 2 == pytest.approx(expected, rel=1e-9)


def test_logit_of_a_correlation_is_fishers_z():
    error, mcc = error_of(BINARY, "mcc"), bp.score(BINARY, "mcc").item()
    expected = np.tanh(np.arctanh(mcc) + np.array([-1, 1]) * Z * error / (1 - mcc**2))
    assert delta(BINARY, "mcc", transform="logit").values == pytest.approx(expected, rel=1e-9)


# ── Design ──


def test_rates_of_a_class_are_the_same_by_either_design():
    for metric in ("recall", "specificity", "balanced_accuracy", "lr+"):
        assert error_of(BINARY, metric, design="by_actual") == pytest.approx(error_of(BINARY, metric), rel=1e-12)
    assert error_of(BINARY, "f1", design="by_actual") < 0.99 * error_of(BINARY, "f1")


def test_what_the_design_fixes_has_no_width():
    with pytest.warns(UserWarning, match="metric 'prevalence': the interval has no width"):
        assert np.ptp(delta(BINARY, "prevalence", design="by_actual").values) == 0


# ── Two systems on the same examples ──


OF_TWO = {"contrast": "difference"}


def pair(counts, pos_label=1):
    """Return joint counts of labels 0 and 1 from {(actual, a, b): examples}."""
    triples = np.repeat(list(counts), list(counts.values()), axis=0)
    return pair_of(*triples.T, pos_label=pos_label)


JOINT = {(1, 1, 1): 40, (1, 1, 0): 13, (1, 0, 1): 6, (1, 0, 0): 11,
         (0, 0, 0): 55, (0, 0, 1): 8, (0, 1, 0): 5, (0, 1, 1): 12}  # fmt: skip


def test_difference_of_accuracies_is_that_of_the_discordant_cells():
    # a alone right: 13 + 8; b alone right: 6 + 5; of 150. Var = (b + c − (b − c)²/n)/n².
    difference, error = 10 / 150, np.sqrt(32 - 100 / 150) / 150
    found = delta(pair(JOINT), "accuracy", **OF_TWO)
    assert found.name == "accuracy"
    assert found.values == pytest.approx([difference - Z * error, difference + Z * error], rel=1e-12)


@pytest.mark.parametrize("design", ["joint", "by_actual"])
@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_difference_by_simulation(metric, design):
    # Of 100 times as many examples, whose differences are normal; 20,000 simulations, so an error of 0.5 %.
    paired = pair({cell: 100 * examples for cell, examples in JOINT.items()})
    counts = paired.patterns.table().values
    rng = np.random.default_rng(3)
    if design == "joint":
        drawn = rng.multinomial(counts.sum(), counts.ravel() / counts.sum(), 20_000).reshape(-1, 2, 2, 2)
    else:
        rows = [rng.multinomial(row.sum(), row.ravel() / row.sum(), 20_000).reshape(-1, 2, 2) for row in counts]
        drawn = np.stack(rows, 1)
    values = [bp.metrics.get(metric).evaluate(drawn.sum(axis), 1) for axis in (-1, -2)]
    assert error_of(paired, metric, design=design, **OF_TWO) == pytest.approx((values[0] - values[1]).std(), rel=0.025)


def test_difference_of_a_system_from_its_twin_has_no_width():
    with pytest.warns(UserWarning, match="metric 'f1': the interval has no width"):
        assert delta(
            pair({(1, 1, 1): 5, (1, 0, 0): 3, (0, 1, 1): 2, (0, 0, 0): 7}), "f1", **OF_TWO
        ).values.tolist() == [0, 0]


def test_difference_per_class():
    found = delta(pair(JOINT), "recall_per_class", **OF_TWO)
    assert found.dims == ("label", "ci_bound")
    assert found.sel(label=1).values == pytest.approx(delta(pair(JOINT), "recall", **OF_TWO).values, rel=1e-12)


# ── Leading dims, bounds, errors ──


def test_leading_dims_are_each_by_itself():
    tables = np.random.default_rng(1).integers(1, 30, (4, 2, 3, 3))
    cm = bp.ConfusionMatrix.from_table(tables, dims={"model": list("abcd"), "fold": [1, 2]}, labels=["x", "y", "z"])
    for metric, design in [("f1_macro", "joint"), ("recall_per_class", "joint"), ("f1_per_class", "by_actual")]:
        found = delta(cm, metric, transform="logit", design=design)
        alone = delta(cm.sel(model="c", fold=2), metric, transform="logit", design=design)
        assert found.dims[:2] == ("model", "fold")
        assert found.sel(model="c", fold=2).values == pytest.approx(alone.values, rel=1e-14)
        assert found.attrs == {"confidence": 0.95, "method": "delta", "transform": "logit", "design": design}
    assert alone["label"].values.tolist() == ["x", "y", "z"]


def test_blocks_make_no_difference(monkeypatch):
    whole = delta(THREE, "f1_per_class").values
    monkeypatch.setattr(sys.modules[delta.__module__], "_AT_ONCE", 20)
    assert delta(THREE, "f1_per_class").values.tolist() == whole.tolist()


def test_limits_are_inside_the_bounds():
    cm = bp.ConfusionMatrix.from_counts(tp=9, fn=1, fp=0, tn=5)
    assert delta(cm, "recall").values[1] == 1
    assert 0 < delta(cm, "recall", transform="logit").values[1] < 1
    few = bp.ConfusionMatrix.from_counts(tp=1, fn=9, fp=1, tn=9)
    assert delta(few, "lr+").values[0] == 0
    assert delta(few, "lr+", transform="log").values[0] > 0


@pytest.mark.parametrize("transform", [None, "logit", "log"])
def test_no_errors_is_no_certainty(transform):
    cm = bp.ConfusionMatrix.from_counts(tp=[10, 8], fn=[0, 2], fp=[3, 3], tn=[7, 7])
    with pytest.warns(UserWarning, match="metric 'recall': 1 of 2 intervals have no width.*proportion of a rate"):
        found = delta(cm, "recall", transform=transform).values
    assert found[0].tolist() == [1, 1]
    assert found[1, 0] < 0.8 < found[1, 1]


def test_perfect_predictions_have_no_width_whatever_rounding_leaves():
    cm = bp.ConfusionMatrix.from_table(np.diag([7, 11, 13]))
    for metric in ("accuracy", "f1_macro", "mcc", "cohen_kappa", "precision_weighted"):
        with pytest.warns(UserWarning, match="no width"):
            assert delta(cm, metric).values.tolist() == pytest.approx([1, 1], abs=1e-15)


def test_undefined_metrics_are_named_with_their_place():
    cm = bp.ConfusionMatrix.from_table([[[5, 1], [2, 3]], [[4, 0], [6, 0]]], dims={"fold": ["a", "b"]})
    with pytest.raises(ValueError, match="metric 'precision' at fold=b: its denominator is 0"):
        delta(cm, "precision")
    with pytest.raises(ValueError, match="metric 'recall_per_class' at label=1: its denominator is 0"):
        delta(bp.ConfusionMatrix.from_table([[3, 1, 1], [0, 0, 0], [1, 2, 9]]), "recall_per_class")
    with pytest.raises(ValueError, match="metric 'positive_likelihood_ratio': its denominator is 0"):
        delta(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5), "lr+", transform="log")


@pytest.mark.parametrize(
    "function",
    [
        lambda fn, fp: np.abs(fn - fp) / (fn + fp),
        lambda fn, fp: np.abs((fn - fp) / (fn + fp)),
        lambda tp, fn: np.where(tp / (tp + fn) > 0.5, np.real(tp), 0) / (tp + fn),
    ],
    ids=["a part is real", "all is real", "by real parts"],
)
def test_a_function_without_gradient_is_refused(function):
    bp.metrics.register("imbalance", function)
    try:
        with pytest.raises(ValueError, match="metric 'imbalance': its function has no gradient by complex numbers"):
            delta(BINARY, "imbalance")
    finally:
        bp.metrics.unregister("imbalance")


def test_a_transform_must_fit():
    with pytest.raises(ValueError, match=r"transform must be one of None, 'logit', 'log'; it is 'probit'"):
        delta(BINARY, "f1", transform="probit")
    with pytest.raises(ValueError, match=r"transform 'logit' is for two finite bounds; metric 'positive_likelihood"):
        delta(BINARY, "lr+", transform="logit")
    with pytest.raises(ValueError, match=r"transform 'log' is for values from 0; metric 'matthews_corrcoef'"):
        delta(BINARY, "mcc", transform="log")
    with pytest.raises(ValueError, match=r"metric 'f1', a difference, has bounds \(-1.0, 1.0\)"):
        delta(pair(JOINT), "f1", transform="log", **OF_TWO)


def test_a_value_outside_the_bounds_stated_is_refused():
    bp.metrics.register("misjudged", lambda tp, fp: tp / (tp + fp) + 1, bounds=(0, 1))
    try:
        with pytest.raises(ValueError, match=r"metric 'misjudged' is 1.74545, not inside its bounds \(0, 1\)"):
            delta(BINARY, "misjudged", transform="logit")
    finally:
        bp.metrics.unregister("misjudged")


@pytest.mark.parametrize(
    ("cm", "metric", "options", "error", "message"),
    [
        ([[1, 2], [3, 4]], "f1", {}, TypeError, "cm must be a ConfusionMatrix; it is list"),
        (THREE, "f1", {}, ValueError, "metric 'f1' is binary and there are 3 classes"),
        (BINARY, "f1", {"design": "rows"}, ValueError, "design must be one of 'joint', 'by_actual'; it is 'rows'"),
        (BINARY, "f1", {"confidence": 1}, ValueError, "confidence must be a number between 0 and 1"),
    ],
)
def test_errors(cm, metric, options, error, message):
    with pytest.raises(error, match=message):
        delta(cm, metric, **options)


# ── The standard error beside the limits ──


def test_standard_errors_are_beside_the_limits():
    plain, logit = (bp.intervals.delta(BINARY, "f1", transform=transform) for transform in (None, "logit"))
    f1, cells = 82 / 105, 105
    expected = np.sqrt(f1 * (1 - f1) * (2 - f1) / cells)
    assert plain["standard_error"].item() == pytest.approx(expected, rel=1e-9)
    assert logit["standard_error"].item() == plain["standard_error"].item()
    np.testing.assert_allclose(np.diff(plain.values), 2 * Z * expected)
    folds = bp.ConfusionMatrix.from_table([[[20, 5], [4, 30]], [[31, 2], [6, 25]]], dims=["fold"])
    assert bp.intervals.delta(folds, "recall_per_class")["standard_error"].dims == ("fold", "label")


@pytest.mark.parametrize("case", [case for case in GOLDEN["cases"] if "macro_f1_star" in case["id"]],
                         ids=lambda case: case["id"])  # fmt: skip
@without_warning
def test_f1_of_averages_of_takahashi(case):
    found = bp.intervals.delta(matrix_of(case), "f1_of_averages")
    reference = case["reference"]
    assert bp.score(matrix_of(case), "f1_of_averages").item() == pytest.approx(reference["value"], abs=1e-12)
    assert found["standard_error"].item() == pytest.approx(reference["se"], abs=1e-12)
    assert found.values == clipped(reference)


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("name", ["f1", "specificity", "g_mean", "p4", "informedness"])
def test_the_gradient_of_an_average_is_that_by_cells(name, average):
    table = np.random.default_rng(0).integers(0, 9, (4, 5, 5)) + np.eye(5, dtype=int)
    statistic = Statistic.of(bp.ConfusionMatrix.from_table(table, dims=["model"]), f"{name}_{average}")
    shares, module = table / table.sum((1, 2), keepdims=True), sys.modules[delta.__module__]
    of_average, by_cell = module._of_average(statistic.metric, shares), module._by_cell(statistic.metric, None, shares)
    filled = np.moveaxis(table, 0, -1) > 0
    np.testing.assert_allclose(of_average[filled], by_cell[filled], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["accuracy", "cohen_kappa", "mcc"])
def test_the_gradient_by_sums_of_classes_is_that_by_cells(name):
    table = np.random.default_rng(0).integers(0, 3, (4, 5, 5)) + np.eye(5, dtype=int)
    table[1, 2], table[2, :, 3] = 0, 0  # A class without examples, and one that is never predicted.
    metric, module = bp.metrics.get(name), sys.modules[delta.__module__]
    shares = table / table.sum((1, 2), keepdims=True)
    by_sums, by_cell = module._of_class_sums(metric, shares), module._by_cell(metric, None, shares)
    filled = np.moveaxis(table, 0, -1) > 0
    np.testing.assert_allclose(by_sums[filled], by_cell[filled], rtol=1e-12, atol=1e-14)
