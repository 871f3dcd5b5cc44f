"""Intervals from one test set, scores on another; and systems tested batch after batch."""

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bayesperf as bp
from bayesperf import metrics, studies
from bayesperf.studies.running import with_random_state
from bayesperf.studies.sequences_of_looks import _true_cells
from bayesperf.studies.splitting import _intervals

IRIS = load_iris(return_X_y=True)
SPLITS = 400


def normals(n):
    """Return two classes alike whose best accuracy is .8."""
    y = np.repeat([0, 1], n // 2)
    return np.random.default_rng(0).normal(2 * special.ndtri(0.8) * y)[:, None], y


# ── Repeated splits ──


@pytest.mark.slow
@pytest.mark.parametrize("simulations", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_two_questions_have_two_answers(simulations):
    study = studies.repeated_splits(GaussianNB(), *normals(600), ["accuracy", "f1"], 0.9, simulations=simulations)
    predictive, posterior, bootstrap = (study["coverage"].sel(distribution=name) for name in
                                        ("predictive", "posterior", "bootstrap"))  # fmt: skip
    error = 4 * np.sqrt(0.9 * 0.1 / simulations)
    np.testing.assert_allclose(predictive, 0.9, atol=error)
    # The second test set's luck is outside the others: 2Φ(1.645/√2) − 1.
    other = 2 * stats.norm.cdf(stats.norm.ppf(0.95) / np.sqrt(2)) - 1
    for found in (posterior, bootstrap):
        np.testing.assert_allclose(found, other, atol=4 * np.sqrt(other * (1 - other) / simulations))
    ratio = study["width"].sel(distribution="predictive") / study["width"].sel(distribution="posterior")
    np.testing.assert_allclose(ratio, np.sqrt(2), rtol=0.03)


@pytest.mark.slow
def test_figures_are_of_the_splits_described():
    X, y = IRIS
    study = studies.repeated_splits(GaussianNB(), X, y, ["accuracy"], 0.8, simulations=3, draws=20_000, random_seed=7)
    scores, widths = [], []
    for index in range(3):
        rng = np.random.default_rng([7, index])
        deal = StratifiedKFold(3, shuffle=True, random_state=int(rng.integers(2**31))).split(X, y)
        train, first, second = (part for _, part in deal)
        fitted = GaussianNB().fit(X[train], y[train])
        scores.append(fitted.score(X[second], y[second]))
        cm = bp.ConfusionMatrix.from_predictions(y[first], fitted.predict(X[first]))
        widths.append(np.ptp(bp.posterior(cm)["accuracy"].hdi(0.8).values))
    assert study["score"].item() == pytest.approx(np.mean(scores))
    assert study["width"].sel(distribution="posterior").item() == pytest.approx(np.mean(widths), rel=0.03)


def test_intervals_are_of_the_second_part_and_scores_of_the_third():
    options = {"prior": "flat", "ci_kind": "eti", "simulations": 3, "draws": 4000}
    study = studies.repeated_splits(GaussianNB(), *normals(300), ["accuracy"], 0.9, **options)
    found = study["intervals"].sel(distribution="posterior").squeeze()
    for i in range(3):
        second, third = (bp.ConfusionMatrix.from_table(table) for table in study["counts"].values[i])
        known = bp.posterior(second, "flat")["accuracy"]
        # Five errors of the quantiles of so many nearly normal draws.
        error = 5 * np.sqrt(0.05 * 0.95 / 4000) / stats.norm.pdf(stats.norm.ppf(0.05)) * known.sd().item()
        np.testing.assert_allclose(found[i], known.eti(0.9), atol=error)
        assert study["scores"][i].item() == bp.score(third, "accuracy").item()


# Caelen (2017), Tables 2 and 3, data set 1 (iris): of the class that is not ϑ₁, versicolor. Its G is
# √(precision · recall) in both, but the average beside it, .89, is of the MCC.
PRINTED = {
    "f1": {"predictive": {0.9: 0.8355, 0.95: 0.9105, 0.99: 0.9495}, "bootstrap": {0.9: 0.7825}},
    "fowlkes_mallows": {"predictive": {0.9: 0.8315, 0.95: 0.898, 0.99: 0.948}, "bootstrap": {0.9: 0.733}},
}
PRINTED_WIDTHS = {
    "f1": {"predictive": {0.9: 0.0847, 0.95: 0.1057, 0.99: 0.1492}, "bootstrap": {0.9: 0.0687}},
    "fowlkes_mallows": {"predictive": {0.9: 0.0836, 0.95: 0.1019, 0.99: 0.1423}, "bootstrap": {0.9: 0.0658}},
}


@pytest.mark.slow
def test_the_tables_of_the_source():
    X, y = IRIS
    names = ["accuracy", "f1", "fowlkes_mallows", "mcc"]
    study = studies.repeated_splits(
        RandomForestClassifier(20), X, y != 1, names, prior="haldane", simulations=SPLITS, draws=1000
    )
    for metric, printed in PRINTED.items():
        for distribution, levels in printed.items():
            for level, published in levels.items():
                at = {"metric": metric, "distribution": distribution, "prob": level}
                # Of as many splits here, and of 2,000 there.
                error = np.sqrt(published * (1 - published) * (1 / SPLITS + 1 / 2000))
                assert study["coverage"].sel(at).item() == pytest.approx(published, abs=4 * error), at
                # Forests of another kind differ a little in how often they are right.
                width = PRINTED_WIDTHS[metric][distribution][level]
                assert study["width"].sel(at).item() == pytest.approx(width, rel=0.1), at
    # What the source prints to two digits as averages of accuracy, F1 and "G-score".
    for metric, published in (("accuracy", 0.95), ("f1", 0.96), ("matthews_corrcoef", 0.89)):
        error = study["score_mcse"].sel(metric=metric).item()
        assert study["score"].sel(metric=metric).item() == pytest.approx(published, abs=0.005 + 4 * error)
    # Of a test of 50 examples accuracy has few values. With scores at a limit inside, or not, its coverage is above or
    # below that of the source, which does not say which it counts.
    lower, upper = (study["intervals"].sel(metric="accuracy", ci_bound=bound) for bound in ("lower", "upper"))
    scores = study["scores"].sel(metric="accuracy")
    inside = ((lower < scores) & (scores < upper)).mean("simulation")
    for distribution, published in (("predictive", 0.805), ("bootstrap", 0.613)):
        at = {"distribution": distribution, "prob": 0.9}
        error = 4 * np.sqrt(published * (1 - published) / SPLITS)
        closed = study["coverage"].sel({**at, "metric": "accuracy"}).item()
        assert inside.sel(at).item() - error < published < closed + error
        assert closed - inside.sel(at).item() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("labels", [[0, 1], ["a", "b", "c"]])
@pytest.mark.parametrize("ci_kind", ["hdi", "eti"])
def test_figures_follow_from_the_splits_that_are_returned(labels, ci_kind):
    X, y = IRIS
    y = np.array(labels)[y % len(labels)]
    study = studies.repeated_splits(
        GaussianNB(), X, y, ["accuracy"], [0.5, 0.8], prior="flat", ci_kind=ci_kind, simulations=4, draws=4000
    )
    assert study.attrs["ci_kind"] == ci_kind
    assert study["counts"].dims == ("simulation", "part", "actual", "predicted")
    assert study["counts"]["actual"].values.tolist() == labels
    assert (study["counts"].sum(("actual", "predicted")) == 50).all()
    lower, upper = (study["intervals"].sel(ci_bound=bound) for bound in ("lower", "upper"))
    inside = (lower <= study["scores"]) & (study["scores"] <= upper)
    xr.testing.assert_allclose(study["coverage"], inside.mean("simulation").drop_vars("ci_bound", errors="ignore"))
    for split in range(4):
        second, third = (bp.ConfusionMatrix(study["counts"].isel(simulation=split, part=part, drop=True))
                         for part in (0, 1))  # fmt: skip
        assert study["scores"].isel(simulation=split).item() == pytest.approx(bp.score(third, "accuracy").item())
        exact = bp.posterior(second, "flat")["accuracy"].interval(0.8, ci_kind)
        found = study["intervals"].isel(simulation=split).sel(distribution="posterior", metric="accuracy", prob=0.8)
        np.testing.assert_allclose(found, exact, atol=0.02)


def test_the_draws_that_are_kept_are_those_of_the_intervals():
    options = {"metrics": ["accuracy", "f1"], "ci_prob": [0.5, 0.9], "ci_kind": "eti", "simulations": 3, "draws": 60}
    plain = studies.repeated_splits(GaussianNB(), *normals(90), **options)
    study = studies.repeated_splits(GaussianNB(), *normals(90), **options, keep_draws=60)
    assert "draws" not in plain
    xr.testing.assert_equal(study.drop_vars("draws"), plain)
    assert study["draws"].dims == ("simulation", "distribution", "metric", "draw")
    for prob, tail in ((0.5, 0.25), (0.9, 0.05)):
        expected = study["draws"].quantile([tail, 1 - tail], "draw").transpose(..., "quantile")
        found = study["intervals"].sel(prob=prob)
        # Intervals of draws are between the two nearest of them, by whatever rule.
        np.testing.assert_allclose(found, expected, atol=0.04)
    part = studies.repeated_splits(GaussianNB(), *normals(90), **options, keep_draws=7)
    np.testing.assert_array_equal(part["draws"], study["draws"].isel(draw=slice(7)))
    # A score on a new test set of 30 examples is a share of them.
    predicted = 30 * study["draws"].sel(distribution="predictive", metric="accuracy")
    np.testing.assert_allclose(predicted, predicted.round(), atol=1e-9)


def test_without_a_prior_empty_cells_stay_empty():
    # Every prediction is right: by counts alone nothing else can come.
    X, y = np.repeat([[0.0], [9.0]], 30, 0), np.repeat([0, 1], 30)
    options = {"metrics": ["f1", "mcc"], "ci_prob": 0.9, "simulations": 2, "draws": 50}
    study = studies.repeated_splits(DecisionTreeClassifier(), X, y, prior="haldane", **options)
    assert (study["intervals"] == 1).all()
    assert (study["coverage"] == 1).all()
    assert study.attrs["prior"] == "Haldane's Dirichlet (0 in each of 4 cells, total weight 0)"


def test_any_estimator_labels_and_number_of_classes():
    X, y = IRIS
    names = np.array(["a", "b", "c"])[y]
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    study = studies.repeated_splits(pipeline, X, names, ["f1_macro", "mcc"], [0.5, 0.9], simulations=4, draws=100)
    assert study["coverage"].dims == ("distribution", "metric", "prob")
    assert (study["score"] > 0.8).all()
    assert (study["undefined"] == 0).all()


def test_intervals_are_about_the_shortest_of_the_draws():
    values = np.random.default_rng(0).beta([[2], [30]], [[5], [4]], (2, 500))
    undefined = np.append(values, np.full((1, 500), np.nan), 0)
    found = np.array(_intervals(metrics.get("accuracy"), undefined, [0.5, 0.9], "hdi"))
    for level, of_level in zip([0.5, 0.9], found, strict=True):
        for drawn, interval in zip(np.sort(values, 1), of_level, strict=False):
            inside = int(level * 500)
            widths = drawn[inside - 1 :] - drawn[: len(drawn) - inside + 1]
            lower = np.searchsorted(drawn, interval[0])
            np.testing.assert_array_equal(interval, drawn[[lower, lower + inside - 1]])
            # Which of those that are nearly as short is chance.
            similar = np.flatnonzero(widths <= 1.02 * widths.min())
            assert similar[0] <= lower <= similar[-1]
        assert np.isnan(of_level[2]).all()


def test_every_random_state_is_set():
    forest = with_random_state(make_pipeline(StandardScaler(), RandomForestClassifier()), np.random.default_rng(1))
    assert isinstance(forest.get_params()["randomforestclassifier__random_state"], int)
    again = with_random_state(clone(forest), np.random.default_rng(1))
    assert again.get_params()["randomforestclassifier__random_state"] == forest[-1].random_state


def test_undefined_scores_are_counted_and_left_out():
    # Nothing is ever called positive: precision is undefined.
    from sklearn.dummy import DummyClassifier

    y = np.repeat([0, 1], [30, 9])
    options = {"metrics": ["precision", "accuracy"], "ci_prob": 0.9, "simulations": 3, "draws": 50}
    study = studies.repeated_splits(DummyClassifier(), np.zeros((39, 1)), y, **options)
    assert study["undefined"].values.tolist() == [1, 0]
    assert np.isnan(study["coverage"].sel(metric="precision")).all()
    assert study["score"].sel(metric="accuracy").item() == pytest.approx(10 / 13)


def test_settings_and_a_folder_of_other_data(tmp_path):
    options = {"metrics": ["f1"], "ci_prob": 0.9, "simulations": 3, "draws": 50, "random_seed": 2}
    whole = studies.repeated_splits(DecisionTreeClassifier(), *normals(60), **options, folder=tmp_path / "kept")
    assert whole.attrs["estimator"] == "DecisionTreeClassifier()"
    assert whole.attrs["prior"] == "Jeffreys' Dirichlet (0.5 in each of 4 cells, total weight 2)"
    X, y = normals(60)
    with pytest.raises(ValueError, match="holds a study with other settings"):
        studies.repeated_splits(DecisionTreeClassifier(), X + 1, y, **options, folder=tmp_path / "kept")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"y": [0, 0, 0, 1, 1]}, "y: a class has 2 examples, and each of three parts needs one"),
        ({"metrics": ["recall_per_class"]}, "has a value a class"),
        ({"y": list("aabbabab")}, "needs a positive class"),
        ({"ci_prob": [0.5, 1]}, "ci_prob must be a number between 0 and 1"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
        ({"keep_draws": 2000}, "keep_draws must not exceed draws; they are 2000 and 1000"),
        ({"keep_draws": -1}, "keep_draws must be a whole number of at least 0"),
        ({"ci_kind": "hpd"}, "ci_kind must be one of 'hdi', 'eti'; it is 'hpd'"),
        (
            {"prior": bp.prior.rate(1, 1)},
            "prior: a rate prior says nothing of the whole matrix, which studies of splits need",
        ),
    ],
)
def test_bad_arguments_of_splits(options, words):
    y = options.get("y", [0, 1] * 4)
    given = {"estimator": GaussianNB(), "X": np.zeros((len(y), 1)), "y": y}
    with pytest.raises(ValueError, match=words):
        studies.repeated_splits(**(given | options))


# ── Batch after batch ──


def test_true_cells_are_those_of_ever_more_examples():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    cells = _true_cells(tree, np.random.default_rng(3))
    rng, n = np.random.default_rng(4), 400_000
    x, y = rng.uniform(0, 3, (2, n))
    actual = np.sin(x**2 + y**2) + np.cos(x**2) + np.cos(y**2) + rng.normal(size=n) > 0.5
    predicted = tree.predict(np.stack([x, y], -1)).astype(bool)
    seen = np.array([[np.mean((actual == i) & (predicted == j)) for j in (False, True)] for i in (False, True)])
    # The grid adds its own error, below .001.
    np.testing.assert_allclose(cells, seen, atol=4 * np.sqrt(0.25 / n) + 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("simulations", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_a_predictive_interval_of_ten_percent_ends_up_covering_nearly_always(simulations):
    options = {"estimator": DecisionTreeClassifier(max_depth=4), "draws": 4000, "simulations": simulations}
    study = studies.sequential([1, 150], [0.1, 0.9], **options)["coverage"].sel(kind="eti")
    # The posterior's covers as it says, at every step.
    for prob in (0.1, 0.9):
        error = 4 * np.sqrt(prob * (1 - prob) / simulations)
        np.testing.assert_allclose(study.sel(distribution="posterior", prob=prob), prob, atol=error)
    # That of the next batch, read as one of the system, as a normal would: 2Φ(z √(1 + l)) − 1, of .14 and .88.
    for step in (1, 150):
        expected = 2 * stats.norm.cdf(stats.norm.ppf(0.55) * np.sqrt(1 + step)) - 1
        found = study.sel(distribution="predictive", prob=0.1, step=step).item()
        assert found == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / simulations) + 0.02)
    assert study.sel(distribution="predictive", prob=0.9, step=150).item() == 1


def test_dims_and_settings_of_a_sequence():
    options = {"steps": (2, 3), "ci_prob": 0.5, "batch": 20, "metric": "f1", "estimator": DecisionTreeClassifier(),
               "prior": "jeffreys", "draws": 50, "simulations": 3, "random_seed": 1}  # fmt: skip
    whole = studies.sequential(**options)
    assert whole["coverage"].dims == ("distribution", "kind", "prob", "step")
    assert whole["intervals"].dims == ("simulation", "distribution", "kind", "prob", "step", "ci_bound")
    expected = {"steps": [2, 3], "batch": 20, "metric": "f1", "estimator": "DecisionTreeClassifier()"}
    assert expected.items() <= whole.attrs.items()
    lower, upper = (whole["intervals"].sel(ci_bound=bound) for bound in ("lower", "upper"))
    inside = ((lower <= whole["true"]) & (whole["true"] <= upper)).mean("simulation")
    xr.testing.assert_allclose(whole["coverage"], inside.drop_vars("ci_bound", errors="ignore"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": [0]}, "steps must be a whole number of at least 1"),
        ({"ci_prob": 2}, "ci_prob must be a number between 0 and 1"),
        ({"batch": 0}, "batch must be a whole number of at least 1"),
        ({"metric": "f1_per_class"}, "has a value a class"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
    ],
)
def test_bad_arguments_of_a_sequence(options, words):
    with pytest.raises(ValueError, match=words):
        studies.sequential(**options)
