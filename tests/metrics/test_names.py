"""Names of metrics, and metrics of one's own."""

import numpy as np
import pytest

import bayesperf as bp
from bayesperf import metrics
from bayesperf.metrics import registry
from tests.shared.metrics import EVERY, THREE

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
    "g_score": "fowlkes_mallows",
    "macro_f1_star": "f1_of_averages",
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


def test_the_g_score_of_a_source_is_its_formula_and_not_the_correlation_that_its_table_prints():
    cm = bp.ConfusionMatrix.from_counts(tp=65, tn=30, fp=35, fn=15)
    assert bp.score(cm, "g_score").item() == pytest.approx((65 / 100 * 65 / 80) ** 0.5, rel=1e-12)
    assert metrics.get("g_score") is not metrics.get("mcc")


@pytest.mark.parametrize("name", EVERY)
def test_names_resolve_to_themselves(name):
    metric = metrics.get(name)
    assert metric.name == name
    assert metrics.get(metric) is metric
    assert metric.description
    assert not metric.description.startswith("Return")


def test_names_are_those_of_the_table():
    table = metrics.table()
    assert table["name"].tolist() == metrics.names()
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
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    return metrics.register


def cost_saved(tp, fn, fp, tn):
    """Hits less false alarms, a share of all examples."""
    return (tp - fp) / (tp + fn + fp + tn)


def test_a_registered_metric_works_wherever_a_name_does(register):
    metric = register("cost_saved", cost_saved, aliases=["nb"], bounds=(-1, 1))
    cm = bp.ConfusionMatrix.from_counts(tp=9, fn=3, fp=2, tn=16)
    assert bp.score(cm, "nb").item() == 7 / 30
    assert bp.score(cm, "cost_saved_macro").item() == pytest.approx((7 / 30 + 13 / 30) / 2)
    assert metrics.get("nb") is metric
    assert (metric.needs, metric.bounds, metric.greater_is_better) == ("binary", (-1, 1), True)
    assert metrics.names()[-1] == "cost_saved"
    assert "Hits less false alarms" in metrics.table()["description"].iloc[-1]
    marginal = bp.posterior(cm, draws=4000)["cost_saved"]
    # Of a Dirichlet(9.5, 3.5, 2.5, 16.5): (9.5 − 2.5)/32, and a Monte Carlo error of .002.
    assert marginal.mean().item() == pytest.approx(7 / 32, abs=0.01)
    with pytest.raises(ValueError, match="did you mean 'cost_saved"):
        metrics.get("costs_saved")


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
    "taken": ("recall", cost_saved, {}, "named 'recall' exists already"),
    "taken by an alias": ("tpr", cost_saved, {}, "named 'tpr' exists already"),
    "taken by f-beta": ("f3", cost_saved, {}, "named 'f3' exists already"),
    "alias taken": ("mine", cost_saved, {"aliases": ["me", "mcc"]}, "named 'mcc' exists already"),
    "alias twice": ("mine", cost_saved, {"aliases": ["me", "me"]}, "'me'"),
    "alias of itself": ("mine", cost_saved, {"aliases": ["mine"]}, "'mine'"),
    "kept for averages": ("mine_macro", cost_saved, {}, "'mine_macro': .* kept for averages"),
    "unknown argument": ("mine", lambda tp, found: tp, {}, "'mine': .* among tp, .* takes tp, found"),
    "shares of outcomes": ("mine", lambda shares: shares[..., 0], {}, "'mine': .* takes shares"),
    "grades of outcomes": ("mine", lambda cells, grades: grades[0], {}, "'mine': .* takes cells, grades"),
    "any arguments": ("mine", lambda *cells: 1, {}, "'mine'"),
    "no text": (3, cost_saved, {}, "name must be a str.* 3"),
    "text as aliases": ("mine", cost_saved, {"aliases": "me"}, "aliases a sequence.* 'me'"),
    "bounds reversed": ("mine", cost_saved, {"bounds": (1, 0)}, "bounds must be .*1, 0"),
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
    register("mine", cost_saved, aliases=["me"])
    metrics.unregister("me")
    assert "mine" not in metrics.names()
    for name in ("mine", "me", "mine_macro"):
        with pytest.raises(ValueError, match="no metric named"):
            metrics.get(name)
    register("me", cost_saved)


@pytest.mark.parametrize("name", ["unheard_of", "recall_macro", "f2"])
@pytest.mark.usefixtures("register")
def test_only_rows_of_the_table_can_be_unregistered(name):
    before = metrics.names()
    with pytest.raises(ValueError, match=name):
        metrics.unregister(name)
    assert metrics.names() == before
