"""Confusion matrices made from cells, tables, scores, cross-validation and pairs."""

from collections import Counter
from itertools import product

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import (
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB

import bayesperf as bp
from tests.shared.counts import CM, pair_of, table


def brute_force(*columns):
    """Count tuples of labels, one lookup a cell: columns come as (values, labels)."""
    count = Counter(zip(*(values for values, _ in columns), strict=True))
    cells = [count[key] for key in product(*(labels for _, labels in columns))]
    return np.reshape(cells, [len(labels) for _, labels in columns]).tolist()


# ── from_counts ──────────────────────────────────────────────────────────────────────────────


def test_from_counts_puts_each_cell_in_its_place():
    cm = CM.from_counts(tp=1, fn=2, fp=3, tn=4)
    cells = {(a, p): cm.counts.sel(actual=a, predicted=p).item() for a in (0, 1) for p in (0, 1)}
    assert cells == {(1, 1): 1, (1, 0): 2, (0, 1): 3, (0, 0): 4}
    assert (cm.labels, cm.pos_label, cm.dims) == ([0, 1], 1, ())


def test_from_counts_broadcasts_arrays_and_scalars():
    cm = CM.from_counts(tp=[1, 2], fn=np.array([3, 4]), fp=5, tn=6.0)
    assert cm.dims == ("dim_0",)
    assert table(cm) == [[[6, 5], [3, 1]], [[6, 5], [4, 2]]]


@pytest.mark.parametrize(
    ("dims", "coordinates"),
    [(["site", "year"], ([0, 1], [0, 1, 2])), ({"site": "ab", "year": [1, 2, 3]}, (["a", "b"], [1, 2, 3]))],
)
def test_from_counts_names_the_axes_of_arrays(dims, coordinates):
    # One cell has both axes, one the last, one none, and one is spread along the last as in NumPy.
    cm = CM.from_counts(tp=[[1, 2, 3], [4, 5, 6]], fn=[7, 8, 9], fp=10, tn=[[11], [12]], dims=dims)
    assert cm.dims == ("site", "year")
    assert [cm.counts[dim].values.tolist() for dim in cm.dims] == [list(values) for values in coordinates]
    assert table(cm.isel(site=1, year=0)) == [[12, 10], [7, 4]]
    assert table(cm.isel(site=0, year=2)) == [[11, 10], [9, 3]]


def test_from_counts_names_the_axes_of_arrays_beside_labelled_ones():
    fp = xr.DataArray([5, 6], {"model": ["x", "y"]}, ["model"])
    cm = CM.from_counts(tp=np.array([1, 2, 3]), fn=4, fp=fp, tn=pd.Series([7, 8, 9]), dims=["fold"])
    assert set(cm.dims) == {"fold", "model"}
    assert table(cm.sel(fold=2, model="y")) == [[9, 6], [4, 3]]
    # A column without a name for its axis keeps its index.
    named = CM.from_counts(tp=pd.Series([1, 2], pd.Index(["a", "b"], name="site")), fn=4, fp=5, tn=6)
    assert table(named.sel(site="b")) == [[6, 5], [4, 2]]


def test_from_counts_broadcasts_dataarrays_by_name():
    tp = xr.DataArray([1, 2], {"model": ["x", "y"]}, ["model"])
    fn = xr.DataArray([3, 4, 5], {"fold": [7, 8, 9]}, ["fold"])
    cm = CM.from_counts(tp=tp, fn=fn, fp=tp, tn=6)
    assert set(cm.dims) == {"model", "fold"}
    for (x, model), (y, fold) in product(enumerate(["x", "y"]), enumerate([7, 8, 9])):
        assert table(cm.sel(model=model, fold=fold)) == [[6, x + 1], [y + 3, x + 1]]


def test_from_counts_takes_cells_selected_from_one_array():
    # Each selection carries a coordinate of its own, which is none of the matrix.
    cells = xr.DataArray(
        [[1, 2, 3, 4], [5, 6, 7, 8]],
        {"model": ["x", "y"], "cell": ["tp", "fn", "fp", "tn"]},
        ["model", "cell"],
    )
    cm = CM.from_counts(**{name: cells.sel(cell=name) for name in ("tp", "fn", "fp", "tn")})
    assert table(cm) == [[[4, 3], [2, 1]], [[8, 7], [6, 5]]]
    assert set(cm.counts.coords) == {"model", "actual", "predicted"}


def test_from_counts_keeps_the_coordinates_that_all_cells_share():
    cells = {name: xr.DataArray(1, {"model": "x"}) for name in ("tp", "fn", "fp", "tn")}
    assert CM.from_counts(**cells).counts["model"].item() == "x"


# ── from_table ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "values", [[[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], np.uint8), np.array([[1.0, 2], [3, 4]])]
)
def test_from_table_takes_arrays(values):
    cm = CM.from_table(values)
    assert table(cm) == [[1, 2], [3, 4]]
    assert cm.labels == [0, 1]


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (None, {"dim_0": [0, 1], "dim_1": [0, 1, 2]}),
        (["model", "fold"], {"model": [0, 1], "fold": [0, 1, 2]}),
        (
            {"model": ["x", "y"], "fold": [7, 8, 9]},
            {"model": ["x", "y"], "fold": [7, 8, 9]},
        ),
    ],
)
def test_from_table_names_the_leading_axes(dims, expected):
    cm = CM.from_table(np.arange(24).reshape(2, 3, 2, 2), dims=dims)
    assert cm.dims == tuple(expected)
    assert {dim: cm.counts[dim].values.tolist() for dim in cm.dims} == expected
    assert table(cm)[1][2] == [[20, 21], [22, 23]]


def test_from_table_takes_the_axes_of_a_dataarray_by_name():
    by_name = xr.DataArray(
        np.arange(12).reshape(2, 3, 2),
        {"actual": ["a", "b"], "fold": [7, 8, 9], "predicted": ["a", "b"]},
        ["predicted", "fold", "actual"],
    )
    cm = CM.from_table(by_name)
    assert cm.counts.dims == ("fold", "actual", "predicted")
    assert table(cm.sel(fold=8)) == [[2, 8], [3, 9]]


def test_from_table_names_the_labels_of_a_bare_dataarray():
    bare = xr.DataArray([[1, 2], [3, 4]], dims=["actual", "predicted"])
    assert CM.from_table(bare, labels=["a", "b"], pos_label="b").labels == ["a", "b"]


def test_whole_floats_on_a_dataarray_are_whole_numbers():
    cm = CM(xr.DataArray([[1, 2], [3, 4]], {"actual": [0.0, 1.0], "predicted": [0.0, 1.0]}))
    assert [repr(label) for label in cm.labels] == ["0", "1"]
    assert cm.counts["predicted"].dtype == np.int64


@pytest.mark.parametrize(
    "named",
    [
        pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["a", "b"]),
        xr.DataArray([[1, 2], [3, 4]], {"actual": ["a", "b"], "predicted": ["a", "b"]}),
    ],
    ids=["frame", "dataarray"],
)
def test_labels_put_a_table_that_names_its_own_in_order(named):
    cm = CM.from_table(named, labels=["b", "a"])
    assert cm.labels == ["b", "a"]
    assert table(cm) == [[4, 3], [2, 1]]
    with pytest.raises(ValueError, match="labels"):
        CM.from_table(named, labels=["b", "c"])


def test_from_table_takes_the_columns_of_a_dataframe_by_name():
    frame = pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["b", "a"])
    assert table(CM.from_table(frame)) == [[2, 1], [4, 3]]


@pytest.mark.parametrize(
    ("y_true", "y_pred"),
    [
        (list("abba"), list("abab")),
        ([0, 1, 1, 2], [2, 1, 0, 2]),
        ([True, False, True], [True, False, False]),
        (pd.Categorical(list("abb"), ["b", "a"]), pd.Categorical(list("aab"), ["b", "a"])),
    ],
    ids=["strings", "ints", "bools", "categoricals"],
)
def test_from_table_of_a_cross_tabulation_is_from_predictions(y_true, y_pred):
    crossed = pd.crosstab(pd.Series(y_true, name="actual"), pd.Series(y_pred, name="predicted"))
    expected = CM.from_predictions(y_true, y_pred)
    xr.testing.assert_identical(CM.from_table(crossed).counts, expected.counts)


# What the axes of rows and columns are called, and whether the rows are actual labels.
AXES = {
    ("actual", "predicted"): True,
    ("predicted", "actual"): False,
    ("y_pred", "y_true"): False,
    ("Predicted label", "True label"): False,
    ("label", "prediction"): True,
    ("model_b", "truth"): False,
    ("actual", "model_b"): True,
    ("y_hat", None): False,
    (None, "reference"): False,
    ("y_test_pred", "y_test"): False,
    ("row_0", "col_0"): True,
    (None, None): True,
}


@pytest.mark.parametrize(("names", "rows_are_actual"), AXES.items())
def test_from_table_honours_the_names_of_a_frames_axes(names, rows_are_actual):
    crossed = pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["a", "b"])
    cm = CM.from_table(crossed.rename_axis(index=names[0], columns=names[1]))
    assert table(cm) == ([[1, 2], [3, 4]] if rows_are_actual else [[1, 3], [2, 4]])


def test_from_table_of_a_cross_tabulation_either_way_round_is_from_predictions():
    y_true, y_pred = pd.Series(list("aabbc"), name="y_true"), pd.Series(list("abbac"), name="y_pred")
    expected = CM.from_predictions(y_true, y_pred).counts
    for crossed in (pd.crosstab(y_true, y_pred), pd.crosstab(y_pred, y_true)):
        xr.testing.assert_identical(CM.from_table(crossed).counts, expected)


@pytest.mark.parametrize("names", [("species", "model_b"), ("species", "species"), ("y_pred", "pred"), (0, 1)])
def test_from_table_refuses_names_of_axes_that_do_not_tell_which_is_which(names):
    crossed = pd.DataFrame([[1, 2], [3, 4]]).rename_axis(index=names[0], columns=names[1])
    with pytest.raises(
        ValueError, match=r"which are the actual labels\? Say so, as table\.rename_axis\(index='actual'"
    ):
        CM.from_table(crossed)
    told = crossed.rename_axis(index="predicted", columns="actual")
    assert table(CM.from_table(told)) == [[1, 3], [2, 4]]


def test_from_table_honours_the_names_of_a_dataarrays_dims():
    values = np.arange(12).reshape(2, 3, 2)
    cm = CM.from_table(xr.DataArray(values, dims=["y_pred", "fold", "y_true"]))
    assert cm.counts.dims == ("fold", "actual", "predicted")
    assert table(cm) == values.transpose(1, 2, 0).tolist()
    for dims in (["rows", "fold", "columns"], ["y_true", "fold", "truth"]):
        with pytest.raises(ValueError, match=r"which of its dims .* Name them, as table\.rename"):
            CM.from_table(xr.DataArray(values, dims=dims))


@pytest.mark.parametrize("name", ["All", "Total"])
@pytest.mark.parametrize("convert", [lambda crossed: crossed, pd.DataFrame.to_numpy], ids=["frame", "array"])
def test_from_table_refuses_margins(name, convert):
    y_true, y_pred = pd.Series(list("ababb")), pd.Series(list("abbba"))
    crossed = pd.crosstab(y_true, y_pred, margins=True, margins_name=name)
    with pytest.raises(ValueError, match=r"hold the sums of the others. Leave margins out, as table\.iloc\[:-1, :-1\]"):
        CM.from_table(convert(crossed))
    assert table(CM.from_table(crossed.iloc[:-1, :-1])) == [[1, 1], [1, 2]]
    # Whoever names it as a class has said that it is one.
    assert CM.from_table(convert(crossed), labels=["a", "b", name]).labels == ["a", "b", name]


def test_from_table_refuses_pandas_margins_by_their_name_and_takes_a_class_that_has_the_others_sums_in_part():
    with pytest.raises(ValueError, match="'All', are margins"):
        CM.from_table(pd.DataFrame([[1, 2], [3, 4]], index=["a", "All"], columns=["a", "All"]))
    for values in ([[1, 0, 1], [0, 1, 1], [1, 1, 3]], np.zeros((3, 3), int), [[1, 1], [1, 1]]):
        assert table(CM.from_table(values)) == np.array(values).tolist()


def test_from_table_takes_a_nullable_dataframe():
    assert table(CM.from_table(pd.DataFrame([[1, 2], [3, 4]], dtype="Int64"))) == [[1, 2], [3, 4]]


# ── from_scores ──────────────────────────────────────────────────────────────────────────────

SCORES = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([-np.inf, np.inf, 0.5]))


@pytest.mark.slow
@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    examples=st.lists(st.tuples(st.booleans(), SCORES), min_size=1, max_size=30),
    thresholds=st.lists(SCORES, min_size=1, max_size=8, unique=True),
    positive=st.sampled_from(["a", "b"]),
)
def test_from_scores_is_thresholding_and_counting(examples, thresholds, positive):
    examples = [*examples, (False, 0.0), (True, 0.0)]
    y_true = ["a" if is_a else "b" for is_a, _ in examples]
    negative = {"a": "b", "b": "a"}[positive]
    cm = CM.from_scores(y_true, [s for _, s in examples], thresholds=thresholds, pos_label=positive)
    assert cm.counts["threshold"].values.tolist() == thresholds
    assert (cm.dims, cm.labels, cm.pos_label) == (("threshold",), ["a", "b"], positive)
    for threshold in thresholds:
        y_pred = [positive if score >= threshold else negative for _, score in examples]
        expected = brute_force((y_true, "ab"), (y_pred, "ab"))
        assert table(cm.sel(threshold=threshold)) == expected


@pytest.mark.parametrize("column", [np.array, pd.Series, pl.Series, tuple])
def test_from_scores_takes_any_column(column):
    cm = CM.from_scores([0, 1, 1], column([0.2, 0.5, 0.7]), thresholds=0.5)
    assert table(cm) == [[[1, 0], [0, 2]]]


@pytest.mark.parametrize("labels", [[-1, 1], [False, True]])
def test_from_scores_infers_the_positive_class(labels):
    assert table(CM.from_scores(labels, [0.1, 0.2], thresholds=[0.15])) == [[[1, 0], [0, 1]]]


# ── from_cross_validation ────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 90)
    return rng.normal(size=(90, 2)) + y[:, None], np.array(["a", "b", "c"])[y]


def per_fold(y, predicted, splits):
    return [confusion_matrix(y[test], predicted[test], labels=np.unique(y)) for _, test in splits]


@pytest.mark.parametrize("cv", [3, StratifiedKFold(4, shuffle=True, random_state=1)])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_from_cross_validation_is_cross_val_predict_fold_by_fold(blobs, cv, n_jobs):
    X, y = blobs
    splits = list((StratifiedKFold(cv) if cv == 3 else cv).split(X, y))
    expected = per_fold(y, cross_val_predict(GaussianNB(), X, y, cv=splits), splits)
    with joblib.parallel_config(backend="threading"):
        cm = CM.from_cross_validation(GaussianNB(), X, y, cv=cv, n_jobs=n_jobs)
    np.testing.assert_array_equal(cm.counts.values, expected)
    assert cm.counts["fold"].values.tolist() == list(range(len(splits)))
    assert cm.labels == ["a", "b", "c"]


def test_from_cross_validation_makes_ten_stratified_folds_by_default(blobs):
    cm = CM.from_cross_validation(GaussianNB(), *blobs)
    splits = list(StratifiedKFold(10).split(*blobs))
    assert cm.counts.sizes["fold"] == 10
    held_out = [[np.sum(blobs[1][test] == label) for label in "abc"] for _, test in splits]
    assert cm.counts.sum("predicted").values.tolist() == held_out


def test_repeated_cross_validation_has_a_dim_of_repeats_over_which_no_sum_is_taken(blobs, tmp_path):
    X, y = blobs
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=2)
    splits = list(splitter.split(X, y))
    cm = CM.from_cross_validation(GaussianNB(), X, y, cv=splitter)
    assert cm.dims == ("repeat", "fold")
    fitted = [GaussianNB().fit(X[train], y[train]).predict(X[test]) for train, test in splits]
    each = [confusion_matrix(y[test], p, labels=np.unique(y)) for p, (_, test) in zip(fitted, splits, strict=True)]
    np.testing.assert_array_equal(cm.counts.values, np.reshape(each, (4, 3, 3, 3)))
    assert "90 examples, each once in each of 4 repeats" in repr(cm)
    cm.save(tmp_path / "cm.nc")
    for kept in (cm, cm.sum("fold"), cm.one_vs_rest(), cm.isel(repeat=[0, 2]), bp.load(tmp_path / "cm.nc")):
        with pytest.raises(ValueError, match=r"repeats is of the same examples.* Take bp\.pool\(cm\)"):
            kept.sum("repeat")
    assert cm.isel(repeat=0).sum("fold").total == cm.isel(repeat=[1]).sum(["repeat", "fold"]).total == 90


@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.PriorWarning")
def test_random_splits_share_examples_and_are_not_summed(blobs):
    X, y = blobs
    cm = CM.from_cross_validation(GaussianNB(), X, y, cv=ShuffleSplit(10, test_size=0.2, random_state=0))
    assert cm.dims == ("fold",)
    assert "180 tests of examples, shared by folds" in repr(cm)
    ours = cm.one_vs_rest().isel(label=0)
    for call in (lambda: cm.sum("fold"), lambda: bp.pool(ours), lambda: bp.report(cm)):
        with pytest.raises(ValueError, match=r"folds share examples.*bp\.pool\(cm, repeats=…\)"):
            call()
    assert bp.pool(ours, repeats=2).model.repeats == 2
    with pytest.warns(bp.errors.DependenceWarning, match="the folds are of the same examples"):
        bp.folds.average(bp.posterior(cm, "flat"), "accuracy")
    # Parts that do not overlap are folds like any other, even if some examples are never tested.
    apart = CM.from_cross_validation(GaussianNB(), X, y, cv=[(np.arange(60), [60, 61]), (np.arange(60), [62, 63])])
    assert apart.sum("fold").total == 4


def test_from_cross_validation_passes_groups_to_the_splitter(blobs):
    X, y = blobs
    groups = np.arange(90) % 7
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = per_fold(y, cross_val_predict(GaussianNB(), X, y, cv=splits), splits)
    cm = CM.from_cross_validation(GaussianNB(), X, y, cv=GroupKFold(3), groups=groups)
    np.testing.assert_array_equal(cm.counts.values, expected)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda X, y: (pd.DataFrame(X, index=range(5, 95)), pd.Series(y, index=range(5, 95))),
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (pl.DataFrame(X), pl.Series(y)),
    ],
    ids=["pandas", "lists", "polars"],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_from_cross_validation_takes_frames_and_lists(blobs, wrap):
    of_arrays = CM.from_cross_validation(GaussianNB(), *blobs, cv=3)
    assert table(CM.from_cross_validation(GaussianNB(), *wrap(*blobs), cv=3)) == table(of_arrays)


class Counting(ClassifierMixin, BaseEstimator):
    """Predicts the first class; refuses to be fitted twice."""

    def fit(self, X, y):
        assert not hasattr(self, "classes_")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


def test_from_cross_validation_clones_the_estimator_for_every_fold(blobs):
    estimator = Counting()
    cm = CM.from_cross_validation(estimator, *blobs, cv=3)
    assert not hasattr(estimator, "classes_")
    assert cm.counts.sum(["fold", "actual"]).values.tolist() == [90, 0, 0]


# ── Against scikit-learn, and properties ─────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_scikit_learn(seed, kind):
    rng = np.random.default_rng(seed)
    names = np.arange(2 + 3 * seed).astype(kind)
    y_true, y_pred = rng.choice(names, (2, 300))
    cm = CM.from_predictions(y_true, y_pred)
    np.testing.assert_array_equal(cm.counts.values, confusion_matrix(y_true, y_pred))
    assert cm.labels == np.unique([y_true, y_pred]).tolist()


LABELS = ["a", "b", "c"]
EXAMPLES = st.lists(st.tuples(*[st.sampled_from(LABELS)] * 3), min_size=1, max_size=40)
quick = settings(max_examples=60, deadline=None, derandomize=True)


def count(examples, labels=LABELS):
    y_true, y_pred, _ = zip(*examples, strict=True)
    return CM.from_predictions(y_true, y_pred, labels=labels)


@pytest.mark.slow
@quick
@given(examples=EXAMPLES, data=st.data())
def test_order_of_examples_does_not_matter(examples, data):
    assert table(count(data.draw(st.permutations(examples)))) == table(count(examples))


@pytest.mark.slow
@quick
@given(examples=EXAMPLES, labels=st.permutations(LABELS))
def test_order_of_labels_moves_the_counts_along(examples, labels):
    moved = count(examples, labels).counts.sel(actual=LABELS, predicted=LABELS)
    assert moved.values.tolist() == table(count(examples))


@pytest.mark.slow
@quick
@given(first=EXAMPLES, second=EXAMPLES)
def test_counts_add_up(first, second):
    together = count(first + second).counts
    xr.testing.assert_identical(together, (count(first).counts + count(second).counts))


@quick
@given(examples=EXAMPLES)
def test_cells_and_margins_are_counted_one_by_one(examples):
    y_true, y_pred, y_other = zip(*examples, strict=True)
    cm = count(examples)
    assert table(cm) == brute_force((y_true, LABELS), (y_pred, LABELS))
    assert cm.counts.sum("predicted").values.tolist() == brute_force((y_true, LABELS))
    assert cm.counts.sum("actual").values.tolist() == brute_force((y_pred, LABELS))
    assert cm.total.item() == len(examples)
    pair = pair_of(y_true, y_pred, y_other, labels=LABELS)
    expected = brute_force((y_true, LABELS), (y_pred, LABELS), (y_other, LABELS))
    assert pair.patterns.table().values.tolist() == expected
    assert table(pair.sel(model="a")) == table(cm)


@pytest.mark.slow
@quick
@given(examples=EXAMPLES)
def test_leading_dims_split_the_counts(examples):
    y_true, y_pred, site = zip(*examples, strict=True)
    cm = CM.from_predictions(y_true, y_pred, labels=LABELS, by={"site": site})
    sites = sorted(set(site))
    expected = brute_force((site, sites), (y_true, LABELS), (y_pred, LABELS))
    assert (table(cm), cm.counts["site"].values.tolist()) == (expected, sites)
    assert table(cm.sum("site")) == table(count(examples))


@quick
@given(examples=EXAMPLES)
def test_one_vs_rest_counts_each_class_against_the_rest(examples):
    rest = count(examples).one_vs_rest()
    for label in LABELS:
        y_true, y_pred = ([e[i] == label for e in examples] for i in (0, 1))
        expected = brute_force((y_true, (False, True)), (y_pred, (False, True)))
        assert table(rest.sel(label=label)) == expected
