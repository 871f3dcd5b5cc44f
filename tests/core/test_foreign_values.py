"""Values of other libraries' own kinds, for any argument: an answer, or a ValueError or TypeError that names it."""

import inspect
import re

import dask.array
import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import bayesperf as bp
from tests.shared.areas import reads

RNG = np.random.default_rng(4)
Y = np.array([0, 1] * 10)
SCORE = np.clip(0.35 * Y + RNG.uniform(0.05, 0.6, 20), 0, 1)
OTHER = RNG.uniform(size=20)
PREDICTED = (SCORE > 0.5).astype(int)
THIRDS = RNG.dirichlet(np.ones(3), 20)
IDS = np.repeat(np.arange(5), 4)
FRAME = pd.DataFrame({"actual": Y, "predicted": PREDICTED, "second": 1 - PREDICTED, "score": SCORE, "id": range(20)})
LONG = pd.DataFrame(
    {"item": np.tile(range(20), 2), "rater": np.repeat(["a", "b"], 20), "rating": np.tile(PREDICTED, 2)}
)
CM = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
SYSTEMS = bp.ConfusionMatrix(
    xr.DataArray([[[9, 1], [2, 8]], [[7, 3], [1, 9]]], {"model": ["a", "b"], "actual": [0, 1], "predicted": [0, 1]},
                 ["model", "actual", "predicted"]), 1
)  # fmt: skip
FOLDS = bp.ConfusionMatrix(SYSTEMS.counts.rename(model="fold"), 1)
STEPS = bp.ConfusionMatrix(SYSTEMS.counts.rename(model="step"), 1)
POST = bp.posterior(CM)
LINE = bp.curves.recalibrate(Y, SCORE, draws=50)
PARTLY_VERIFIED = bp.labels.verify(np.where(np.arange(len(Y)) % 3, Y, np.nan), PREDICTED, draws=50)


# ── What is given ──


class Tensor:
    """A tensor that NumPy cannot read, as PyTorch's with a gradient (RuntimeError) or on a device (TypeError)."""

    ndim, dtype, requires_grad = 1, "torch.float32", True

    def __init__(self, error):
        self.error, self.shape = error, (20,)

    def __len__(self):
        return 20

    def __array__(self, *_, **__):
        raise self.error

    def __getitem__(self, place):
        if not isinstance(place, slice) and place >= 20:
            raise IndexError
        return self

    def __float__(self):
        return 0.5

    def __repr__(self):
        return "tensor([...], requires_grad=True)"


class Silent:
    """An object that cannot be shown."""

    def __repr__(self):
        raise RuntimeError("no words")


class Incomparable:
    """An object that cannot be compared."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    def __bool__(self):
        raise RuntimeError("no truth")

    def __repr__(self):
        return "Incomparable()"


def of_a_closed_connection():
    connection = duckdb.connect()
    relation = connection.sql("SELECT 0 AS actual, 1 AS predicted")
    connection.close()
    return relation


VALUES = {
    "a tensor with a gradient": lambda: Tensor(RuntimeError("Can't call numpy() on Tensor that requires grad.")),
    "a tensor on a device": lambda: Tensor(TypeError("can't convert cuda:0 device type tensor to numpy.")),
    "chunks of unknown size": lambda: dask.dataframe.from_pandas(FRAME, npartitions=2)["actual"].values,
    "a ragged list": lambda: [[1, 2], [3]],
    "a Dataset": lambda: xr.Dataset({"x": ("i", Y)}),
    "columns of one name": lambda: pd.DataFrame(np.column_stack([Y, Y]), columns=["actual", "actual"]),
    "Int128": lambda: pl.Series("actual", [0, 1] * 10, dtype=pl.Int128),
    "Int128 beyond 64 bits": lambda: pl.Series("actual", [2**100, 1] * 10, dtype=pl.Int128),
    "a scan that fails": lambda: pl.scan_csv("/absent/file.csv"),
    "a closed connection": of_a_closed_connection,
    "NA": lambda: pd.NA,
    "an object that cannot be shown": Silent,
    "objects that cannot be shown": lambda: [Silent()] * 20,
    "an object that cannot be compared": Incomparable,
    "objects that cannot be compared": lambda: [Incomparable()] * 20,
}


# ── To what ──

SCORED = {"y_true": Y, "y_score": SCORE, "pos_label": 1, "draws": 50, "random_seed": 0, "cluster": None}
PROBABLE = {"y_true": Y, "y_prob": SCORE, "pos_label": 1, "draws": 50, "random_seed": 0}
OF_FOLDS = {"scores_a": [0.8, 0.9, 0.7], "scores_b": [0.7, 0.8, 0.75], "rope": 0.01, "names": ("a", "b")}
QUIET = {"progressbar": False}
CALLS = {
    bp.curves.abstention: {"y_true": Y, "y_score": SCORE, "pos_label": 1, "draws": 50, "random_seed": 0,
                    "cost": (1, 5, 0.3), "confidence": 0.9},
    bp.curves.auc_from_summary: {"auc": 0.8, "n_pos": 20, "n_neg": 30, "method": "newcombe",
                                 "dims": None, "random_seed": 0},
    bp.folds.average: {"post": bp.posterior(FOLDS), "metric": "f1", "dim": "fold", "draws": 50, "repeats": 1},
    bp.groups.average_labels: {"y_true": np.eye(3, dtype=int), "y_pred": np.eye(3, dtype=int), "metric": "f1",
                               "prior": None,
                        "labels": None, "draws": 50},
    bp.curves.break_even_threshold: {"y_true": Y, "y_score": SCORE, "pos_label": 1},
    bp.curves.calibration: PROBABLE | QUIET | {"labels": None, "bins": 5},
    bp.choose_threshold: {"y_true": Y, "y_score": SCORE, "best": "f1", "requirements": None, "confidence": 0.9,
                          "prevalence": None, "test": None, "pos_label": 1, "draws": 50, "random_seed": 0},
    bp.compare: {"a": POST, "b": POST, "metric": "f1", "dim": "model", "rope": 0.01, "prior": None, "draws": 50,
                 "random_seed": 0, "independent": True, "shrink": False, "families": None},
    bp.folds.correlated_ttest: OF_FOLDS | {"test_fraction": 0.1, "metric": "score", "greater_is_better": True},
    bp.decision_curve: PROBABLE | {"thresholds": [0.2, 0.4], "by": None, "cluster": None},
    bp.curves.det_curve: SCORED | QUIET | {"prior": None, "method": "bayesian_bootstrap"},
    bp.curves.expected_metrics: {"y_prob": SCORE, "recalibration": LINE, "threshold": 0.5, "group": None,
                                 "random_seed": 0},
    bp.curves.epc: {"dev": (Y, SCORE), "test": (Y, OTHER), "criterion": "far_frr", "metric": "hter",
                    "alphas": [0.3, 0.6],
             "pos_label": 1, "cluster": None, "dev_cluster": None, "resample": "test", "draws": 20,
             "prior": None} | QUIET,
    bp.curves.epc_a_posteriori: {"test": (Y, OTHER), "criterion": "far_frr", "metric": "hter", "alphas": [0.3],
                                 "pos_label": 1,
                          "cluster": None, "draws": 20, "prior": None} | QUIET,
    bp.curves.equal_error_threshold: {"y_true": Y, "y_score": SCORE, "pos_label": 1},
    bp.fit: {"data": CM, "model": "multinomial", "priors": None, "options": None, "method": "exact", "draws": 20,
             "tune": 10, "chains": 1, "random_seed": 0, "metrics": None},
    bp.labels.noise: {"cm": CM, "error": 0.02, "prior": None, "draws": 50, "random_seed": 0},
    bp.labels.noise_sensitivity: {"cm": CM, "metric": "recall", "rates": [0.0, 0.02], "dim": "model", "prior": None,
                                 "ci_prob": 0.9, "ci_kind": "eti", "draws": 50, "random_seed": 0},
    bp.load: {"path": "absent.nc"},
    bp.monitor: {"cm": STEPS, "requirement": 0.6, "metric": "recall", "dim": "step", "versus": None,
                 "prior": None, "ci_prob": 0.9, "ci_kind": "eti"},
    bp.pool: {"cm": FOLDS, "dim": "fold", "groups": "random", "repeats": 1, "dispersion": None, "method": None,
              "prior": None, "design": "joint", "draws": 50, "random_seed": 0},
    bp.posterior: {"y_true": Y, "y_pred": PREDICTED, "prior": None, "design": "joint", "random_seed": 0, "draws": 50,
                   "labels": None, "pos_label": 1, "by": None},
    bp.posterior_of_rate: {"successes": 3, "trials": 10, "prior": "jeffreys", "metric": "rate", "dims": None,
                           "random_seed": 0},
    bp.precision_recall_curve: SCORED | QUIET | {"prior": None, "method": "bayesian_bootstrap"},
    bp.prior.sensitivity: {"result": CM, "metrics": ["recall"], "priors": None, "ci_prob": 0.9},
    bp.curves.recalibrate: PROBABLE | QUIET | {"method": "logistic", "by": None},
    bp.reliability_curve: PROBABLE | {"method": "isotonic", "bins": None},
    bp.report: {"data": Y, "y_pred": PREDICTED, "requirements": {"recall": 0.5}, "metrics": ("recall",), "title": "t",
                "prior": None, "ci_prob": 0.9, "rope": 0, "labels": None, "pos_label": 1, "by": None, "slices": (),
                "random_seed": 0},
    bp.roc_auc: SCORED | QUIET | {"method": "delong", "transform": None, "fpr": None, "recall": None,
                                  "average": "macro", "multi_class": None, "labels": None, "standardized": False},
    bp.roc_curve: SCORED | QUIET | {"prior": None, "method": "bayesian_bootstrap"},
    bp.score: {"cm": CM, "metric": "f1"},
    bp.metrics.scorer: {"requirement": "recall >= 0.8", "prior": None, "pos_label": 1},
    bp.folds.sign_test: OF_FOLDS | {"prior": (0.0, 1.0, 0.0), "draws": 50, "random_seed": 0},
    bp.folds.signed_rank_test: OF_FOLDS | {"prior": 0.5, "draws": 50, "random_seed": 0},
    bp.groups.parity: {"cm": STEPS, "dim": "step", "above": 0.05, "at_least": 0.8, "draws": 50, "random_seed": 0},
    bp.slices: {"data": STEPS, "draws": 50, "random_seed": 0},
    bp.curves.weighted_score: SCORED | QUIET | {"score_function": "brier", "per_class": False,
                                              "greater_is_better": None},
    bp.ConfusionMatrix: {"counts": CM.counts, "pos_label": 1},
    bp.ConfusionMatrix.from_counts: {"tp": 1, "fn": 2, "fp": 3, "tn": 4, "dims": None},
    bp.ConfusionMatrix.from_frame: {"frame": FRAME, "actual": "actual", "predicted": "predicted", "by": (),
                                    "example": None, "cluster": None, "labels": None, "pos_label": 1},
    bp.ConfusionMatrix.from_predictions: {"y_true": Y, "y_pred": PREDICTED, "labels": None, "pos_label": 1, "by": None,
                                          "example": None, "cluster": None, "sample_weight": None},
    bp.ConfusionMatrix.from_scores: {"y_true": Y, "y_score": SCORE, "thresholds": [0.3, 0.5], "pos_label": 1},
    bp.ConfusionMatrix.from_table: {"table": [[4, 1], [2, 5]], "labels": None, "pos_label": None, "dims": None},
    bp.ConfusionMatrix.from_joint_counts: {"counts": [[[4, 1], [2, 5]]] * 2, "names": ("a", "b"), "labels": None,
                                           "pos_label": 1},
    bp.curves.BinnedScores.from_counts: {"positives": [1, 2], "negatives": [2, 1], "edges": [0, 0.5, 1],
                                          "values": None},
    bp.curves.BinnedScores.from_frame: {"frame": FRAME, "actual": "actual", "score": "score", "bins": 4,
                                        "limits": (0, 1), "pos_label": 1},
    bp.Ratings.from_frame: {"frame": LONG, "item": "item", "rater": "rater", "rating": "rating", "population": None,
                            "actual": None, "labels": None, "pos_label": 1},
    bp.labels.VerifiedSample.from_predictions: {"y_true": Y, "y_pred": PREDICTED, "judge": 1 - PREDICTED,
                                                "strata": None, "cluster": None, "labels": None, "pos_label": 1,
                                                "by": None},
    bp.labels.verify: {"y_true": Y, "y_pred": PREDICTED, "judge": 1 - PREDICTED, "strata": None, "cluster": None,
                       "prior": None, "labels": None, "pos_label": 1, "by": None, "draws": 50, "random_seed": 0},
    bp.labels.prevalence: {"calls": PREDICTED, "errors": CM, "n": None, "prior": "flat", "pos_label": 1,
                           "by": {"fold": IDS}},
    bp.groups.meta_analysis: {"data": FOLDS, "dim": "fold", "draws": 50, "random_seed": 0},
    bp.curves.reader_areas: QUIET | {"frame": reads(), "reader": "reader", "case": "case", "modality": "modality",
                                     "truth": "truth", "score": "score", "pos_label": 1, "draws": 20,
                                     "random_seed": 0},
    bp.curves.summary_roc: {"studies": bp.groups.meta_analysis(FOLDS, draws=50)},
    bp.groups.majority_vote: {"answers": PREDICTED, "y_true": IDS % 2, "k": 2, "cluster": {"question": IDS}, "by": None,
                              "draws": 50, "random_seed": 0},
    bp.labels.next_labels: {"posterior": PARTLY_VERIFIED, "n": 2, "metric": "accuracy", "random_seed": 0},
    bp.sequences.posterior: {"y_true": Y, "y_pred": PREDICTED, "by": {"video": IDS}, "prior": 0.5, "order": 1,
                             "chain": "z_prev", "pos_label": 1, "labels": None, "draws": 50, "random_seed": 0},
    bp.sequences.block_bootstrap: {"y_true": Y, "y_pred": PREDICTED, "metric": "recall", "by": None, "block": 2,
                                   "confidence": 0.9, "n_resamples": 50, "random_seed": 0, "pos_label": 1},
    bp.intervals.bootstrap: {"cm": CM, "metric": "f1", "confidence": 0.9, "method": "percentile", "n_resamples": 50,
                             "random_seed": 0, "design": "joint", "cluster": None} | QUIET,
    bp.intervals.delta: {"cm": CM, "metric": "f1", "confidence": 0.9, "transform": None, "design": "joint"},
    bp.intervals.proportion: {"successes": 3, "trials": 10, "confidence": 0.9, "method": "wilson"},
    bp.plan.prevalence: {"calls": PREDICTED, "errors": CM, "n": None, "prior": "flat", "pos_label": 1, "ci_prob": 0.9},
    bp.plan.area: {"width": 0.2, "auc": 0.8, "prevalence": 0.3, "requirement": None, "assurance": None,
                   "confidence": 0.9, "draws": 50, "random_seed": 0},
    bp.plan.calibration: {"width": 0.5, "measure": "slope", "y_prob": SCORE, "log_odds": None, "auc": None,
                          "prevalence": None, "line": (0.0, 1.0), "assurance": None, "confidence": 0.9, "draws": 50,
                          "random_seed": 0},
    bp.plan.net_benefit: {"width": 0.2, "threshold": 0.3, "recall": 0.8, "specificity": 0.8, "prevalence": 0.3,
                          "requirement": None, "assurance": None, "confidence": 0.9, "draws": 50, "random_seed": 0},
    bp.plan.interval_width: {"width": 0.2, "confidence": 0.9, "metric": "recall", "prior": None, "evidence": None,
                        "assurance": None, "prevalence": None},
    bp.prior.dirichlet: {"alpha": 1.0},
    bp.prior.rate: {"a": 1, "b": 1},
    bp.metrics.get: {"name": "f1"},
    bp.metrics.fbeta: {"beta": 2},
}  # fmt: skip
# These need a fit by NUTS; their arguments pass the same door.
NOT_CALLED = {bp.folds.datasets, bp.labels.identifiability, bp.labels.truth, bp.groups.pass_rate_of_new}


@pytest.mark.few
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["a fifth", "all"])
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__qualname__)
def test_an_answer_or_an_error_that_names_the_argument(function, every):
    given = CALLS[function]
    wrong = []
    for place, argument in enumerate(given):
        for value in list(VALUES)[place % every :: every]:
            try:
                function(**given | {argument: VALUES[value]()})
            except (ValueError, TypeError) as error:
                if not re.search(rf"\b{argument}\b", str(error)):
                    wrong.append((argument, value, str(error)))
            except Exception as error:
                wrong.append((argument, value, type(error)))
    assert not wrong


@pytest.mark.few
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__qualname__)
def test_without_them_each_call_has_an_answer(function):
    """The table is of calls that work, so that what is refused above is the value."""
    if function is not bp.load:
        function(**CALLS[function])


def test_the_table_has_all_public_functions():
    rooms = (bp, bp.curves, bp.folds, bp.groups, bp.labels)
    public = {getattr(room, name) for room in rooms for name in room.__all__} | {
        bp.prior.sensitivity,
        bp.metrics.scorer,
    }
    functions = {each for each in public if inspect.isfunction(each)}
    assert functions == {each for each in CALLS if each in public and inspect.isfunction(each)} | NOT_CALLED
    constructors = {name for name in dir(bp.ConfusionMatrix) if name.startswith("from_")}
    tried = {each.__name__ for each in CALLS if getattr(each, "__self__", None) is bp.ConfusionMatrix}
    # These fit an estimator of scikit-learn, which has its own errors.
    assert constructors - tried == {"from_cross_val_predict", "from_cross_validation", "from_estimator"}


@pytest.mark.parametrize(("column", "message"), [
    (pl.Series([0, 1], dtype=pl.Int128), "column 'actual' holds Int128"),
    (pl.Series([2**100, 1], dtype=pl.Int128), "column 'actual' holds Int128"),
])  # fmt: skip
@pytest.mark.parametrize("lazy", [False, True])
def test_columns_that_numpy_cannot_hold(column, message, lazy):
    frame = pl.DataFrame({"actual": column, "predicted": [0, 1]})
    with pytest.raises(TypeError, match=message):
        bp.ConfusionMatrix.from_frame(frame.lazy() if lazy else frame, actual="actual", predicted="predicted")


Y_SERIES, SHUFFLED = pd.Series(Y), pd.Series(PREDICTED).sample(frac=1, random_state=1)


@pytest.mark.parametrize(("call", "name"), [
    (lambda: bp.posterior(Y_SERIES, SHUFFLED), "y_pred"),
    (lambda: bp.posterior(Y_SERIES, PREDICTED, by={"fold": SHUFFLED}), r"by\['fold'\]"),
    (lambda: bp.roc_auc(Y, {"a": Y_SERIES, "b": SHUFFLED}), r"y_score\['b'\]"),
    (lambda: bp.folds.sign_test(Y_SERIES, SHUFFLED), "scores_b"),
])  # fmt: skip
def test_rows_of_the_same_index_in_two_orders_are_refused(call, name):
    with pytest.raises(bp.InputError, match=rf"{name} has the same index as another column, in another order"):
        call()


def test_rows_of_different_or_repeated_indices_are_paired_by_position():
    expected = bp.posterior(Y, PREDICTED)["recall"].mean()
    for index in (range(1, 21), IDS, [*range(19), 18], None):
        assert bp.posterior(Y_SERIES, pd.Series(PREDICTED, index))["recall"].mean() == expected


def test_what_can_be_read_passes_the_door():
    """Columns of the same libraries that can be read, ids of any kind, and labels of no length."""
    expected = bp.posterior(Y, PREDICTED, pos_label=1)["recall"].mean()
    for column in (pl.Series(Y), pd.array(Y), dask.array.from_array(Y, 7), np.ma.array(Y), Y.tolist(), tuple(Y)):
        assert bp.posterior(column, PREDICTED, pos_label=1)["recall"].mean() == expected
    for label in (np.int64(1), np.array(1), xr.DataArray(1)):
        assert bp.posterior(Y, PREDICTED, pos_label=label)["recall"].mean() == expected
    ids = [(number, "a") if number % 2 else (number,) for number in range(20)]
    assert bp.ConfusionMatrix.from_predictions(Y, PREDICTED, cluster=ids, pos_label=1).total == 20
