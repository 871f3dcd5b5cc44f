"""How much dependence matters, autocorrelation, and what functions of sequences refuse."""

import warnings

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf import metrics, sequences
from bayesperf.core.errors import DependenceWarning
from bayesperf.sequences.chain import TransitionPosterior, count_transitions, label_sequences
from bayesperf.sequences.dependence_measures import autocorrelation_band, variance_ratio
from bayesperf.sequences.simulation import chain_with_rates
from tests.shared.sequences import CHAIN_KINDS, FRAMES, dense, eigen_cells, of_frames

mpl.use("Agg")


# ── How much dependence matters ──


def test_design_effect_of_a_two_state_chain():
    """Prevalence depends on the actual labels alone: D = (1 + λ)/(1 − λ)."""
    found = of_frames(sequences.design_effect, metric="prevalence", prior=1)
    g = FRAMES["actual"].to_numpy()
    stays = [(1 + ((g[:-1] == i) & (g[1:] == i)).sum()) / (2 + (g[:-1] == i).sum()) for i in (0, 1)]
    eigenvalue = sum(stays) - 1
    assert found.item() == pytest.approx((1 + eigenvalue) / (1 - eigenvalue), rel=1e-12)
    assert found.dims == ()
    assert found.attrs["effective_size"] == pytest.approx(500 / found.item())


@pytest.fixture
def net_hits():
    """A metric that is no ratio: it changes if all cells are multiplied."""
    metrics.register("net_hits", lambda tp, fp: tp - fp)
    yield
    metrics.unregister("net_hits")


@pytest.mark.few
@pytest.mark.parametrize("chain", CHAIN_KINDS)
@pytest.mark.parametrize("name", ["recall", "accuracy", "f1", "mcc", "balanced_accuracy", "net_hits"])
@pytest.mark.usefixtures("net_hits")
def test_design_effect_against_summed_autocovariances(chain, name):
    counts = count_transitions(of_frames(label_sequences, by=None, labels=None), chain)
    stay, theta = TransitionPosterior.of(counts, 0.5).mean()
    matrix = dense(stay, theta if chain == CHAIN_KINDS[1] else np.repeat(theta, 2, 1))
    w = eigen_cells(matrix)
    independent = np.diag(w) - np.outer(w, w)
    covariance, power = independent.copy(), np.eye(4)
    for _ in range(2_000):
        power = power @ matrix
        lagged = w[:, None] * power - np.outer(w, w)
        covariance += lagged + lagged.T
    metric, step = metrics.get(name), 1e-6
    ends = [metric.evaluate((w + sign * step * np.eye(4)).reshape(4, 2, 2), 1) for sign in (1, -1)]
    gradient = (ends[0] - ends[1]) / (2 * step)
    expected = (gradient @ covariance @ gradient) / (gradient @ independent @ gradient)
    found = of_frames(sequences.design_effect, metric=name, chain=chain)
    assert found.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recall", "accuracy", "f1"])
def test_design_effect_against_the_variance_over_simulations(name):
    count, n = 4_000, 1_000
    frames = sequences.simulate(n, persistence=0.85, prevalence=0.4, sequences=count, random_seed=8)
    g, z = (frames[column].to_numpy().reshape(count, n) for column in ("actual", "predicted"))
    states = 2 * g + z
    cells = np.stack([(states == state).mean(1) for state in range(4)], -1).reshape(count, 2, 2)
    metric = metrics.get(name)
    variance = metric.evaluate(cells, 1).var(ddof=1)
    rng = np.random.default_rng(9)
    free = rng.multinomial(n, cells.mean(0).ravel(), 100_000).reshape(-1, 2, 2)
    ratio = variance / metric.evaluate(free, 1).var()
    chain = chain_with_rates(0.85, 0.85, 0.4, 0.75, 0.75)
    effect = variance_ratio(chain, lambda cells: metric.evaluate(cells, 1))
    # The relative error of a variance over 4,000 is √(2/4000); that of the asymptotic formula is of the order D/n.
    assert ratio == pytest.approx(effect, rel=4 * np.sqrt(2 / count) + effect / n)


@pytest.mark.slow
def test_independent_coverage_is_what_the_normal_distribution_says():
    found = of_frames(sequences.design_effect, sequences.simulate(200_000, persistence=0.9, random_seed=1))
    # Scenario A of the simulated coverages: D = 6.78 and 2Φ(1.96/√D) − 1 = .548.
    assert found.item() == pytest.approx(6.78, rel=0.05)
    assert found.attrs["independent_coverage"] == pytest.approx(0.548, abs=0.015)
    assert found.attrs["metric"] == "recall"


# ── The autocorrelation of correctness ──


def by_hand(correct, ids, lag):
    mean = np.mean(correct)
    products = []
    for name in np.unique(ids):
        own = [c - mean for c, i in zip(correct, ids, strict=True) if i == name]
        products += [own[t] * own[t + lag] for t in range(len(own) - lag)]
    return np.mean(products) / np.mean([(c - mean) ** 2 for c in correct])


def test_autocorrelation_by_hand():
    frames = sequences.simulate(100, persistence=0.8, sequences=3, random_seed=2)
    shuffled = frames.sample(frac=1, random_state=0).sort_index(level=0)
    interleaved = shuffled.assign(time=shuffled.groupby("sequence").cumcount()).sort_values(["time", "sequence"])
    found = of_frames(sequences.autocorrelation, interleaved, by={"video": interleaved["sequence"]}, lags=[1, 3, 60])
    correct = (frames["actual"] == frames["predicted"]).to_numpy()
    expected = [by_hand(correct, frames["sequence"], lag) for lag in (1, 3, 60)]
    np.testing.assert_allclose(found["observed"], expected, rtol=1e-12)
    assert found["lag"].values.tolist() == [1, 3, 60]
    assert (found["lower"] < found["upper"]).all()
    assert found.attrs == {"ci_prob": 0.95, "ci_kind": "simultaneous", "draws": 2_000, "undefined": 0,
                           "lags_left_out": []}  # fmt: skip


def test_default_lags_fit_the_sequences():
    """At least half of the samples have a sample this much later in their sequence."""
    frames = sequences.simulate(10, persistence=0.6, sequences=30, random_seed=1)
    check = of_frames(sequences.autocorrelation, frames, by=frames["sequence"])
    assert check["lag"].values.tolist() == [1, 2, 5]
    assert check.attrs["lags_left_out"] == [10, 25]
    # One long sequence among short ones has pairs enough for every lag; pairs of samples have only neighbours.
    long = np.r_[np.zeros(300, int), frames["sequence"][:100] + 1]
    mixed = sequences.simulate(400, persistence=0.6, random_seed=2)
    assert of_frames(sequences.autocorrelation, mixed, by=long)["lag"].values.tolist() == [1, 2, 5, 10, 25]
    pairs = of_frames(sequences.autocorrelation, mixed, by=np.arange(400) // 2)
    assert pairs["lag"].values.tolist() == [1]


def test_a_simultaneous_band_holds_its_share_of_whole_curves():
    rng = np.random.default_rng(0)
    curves = np.cumsum(rng.standard_normal((5, 4_000)), 0)
    lower, upper = autocorrelation_band(curves)
    inside = ((curves >= lower[:, None]) & (curves <= upper[:, None])).all(0)
    assert 0.95 <= inside.mean() < 0.955
    # Of curves that do not share in it, 95 % are inside as well, and the band of each lag alone would hold more.
    fresh = np.cumsum(rng.standard_normal((5, 20_000)), 0)
    inside = (fresh >= lower[:, None]) & (fresh <= upper[:, None])
    assert inside.all(0).mean() == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 * (1 / 20_000 + 1 / 4_000)))
    assert (inside.mean(1) > 0.965).all()


@pytest.mark.slow
@pytest.mark.parametrize("count", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_a_chain_is_seldom_warned_of(count):
    alarms = 0
    for seed in range(count):
        frames = sequences.simulate(300, persistence=0.85, random_seed=100 + seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            of_frames(sequences.autocorrelation, frames, draws=500, random_seed=seed)
        alarms += len(caught)
    # At most 5 %, and four standard errors.
    assert alarms <= 0.05 * count + 4 * np.sqrt(count * 0.05 * 0.95)


def scenes(n=2_000):
    """Return labels predicted well in easy scenes and badly in hard ones, which last fifty samples."""
    rng = np.random.default_rng(3)
    hard = np.cumsum(rng.random(n) > 0.98) % 2
    actual = rng.integers(2, size=n)
    return actual, np.where(rng.random(n) < np.where(hard, 0.55, 0.95), actual, 1 - actual)


def test_hidden_scenes_are_warned_of():
    with pytest.warns(DependenceWarning, match=r"at lag 2, 5, 10.* is not what the chain .*groups='clusters'") as got:
        found = sequences.autocorrelation(*scenes())
    assert got[0].filename == __file__
    # The chain has the correlation of neighbours, but not that of samples farther apart.
    assert found["outside"].values.tolist() == [False, True, True, True, True]
    assert (found["observed"] > found["upper"])[1:].all()


@pytest.mark.slow
def test_the_figure_of_autocorrelations():
    with pytest.warns(DependenceWarning):
        check = sequences.autocorrelation(*scenes())
    outside = check["outside"].values
    assert 0 < outside.sum() < len(outside)
    figure = bp.plots.autocorrelation(check)
    (axes,) = figure.axes
    bands = np.array([segment[:, 1] for segment in axes.collections[0].get_segments()])
    np.testing.assert_allclose(bands, np.stack([check["lower"], check["upper"]], -1))
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines[1:]}
    np.testing.assert_allclose(drawn["observed, outside"], check["observed"][outside])
    np.testing.assert_allclose(drawn["observed, inside"], check["observed"][~outside])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "5", "10", "25"]
    assert "95 % simultaneous band of the fitted chain" in figure.get_suptitle()
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    with pytest.raises(ValueError, match=r"dataset must be that of bayesperf\.sequences\.autocorrelation"):
        bp.plots.autocorrelation(xr.Dataset())


# ── Bad input ──

TWENTY = [0, 1, 1, 0] * 5
FUNCTIONS = [
    sequences.posterior,
    sequences.design_effect,
    sequences.bayes_factor,
    sequences.autocorrelation,
    sequences.check_independence,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "options", "words"),
    [
        ([0, 1, 2], [0, 1, 2], {}, "y_true and y_pred hold 3 labels, 0, 1, 2: sequences are for two"),
        (["a", "b"], ["b", "c"], {}, "hold 3 labels, 'a', 'b', 'c'"),
        ([1, 1], [1, 1], {}, r"only one label occurs \(1\)\. Name all of them, in `labels`"),
        ([1], [0], {}, "y_true has one sample only, and a chain is about what follows what. Drop it"),
        ([0, 1, 1], [0, 1, 1], {"by": ["a", "a", "b"]}, "by: the sequence b has one sample only"),
        ([0, 1, 1], [0, 1, 1], {"by": {"video": [7, 7, 9]}}, "by: the video 9 has one sample only"),
        ([0, 1, 1], [0, 1], {}, "columns of unequal length: y_true 3, y_pred 2"),
        ([0, 1, 1], [0, 1, 1], {"by": [1, 1]}, r"unequal length: .* 2"),
        ([0, None, 1], [0, 1, 1], {}, "y_true has 1 missing value"),
        ([0, 1, 1], [0, np.nan, 1], {}, "y_pred has 1 missing value"),
        ([0, 1, 1], [0, 1, 1], {"by": ["a", None, "a"]}, "has 1 missing value"),
        ([0, 1], [0, 1], {"by": {"a": [1, 1], "b": [1, 1]}}, "by: give one column of sequence ids, .* it has 2"),
        (TWENTY, TWENTY, {"prior": 0}, "prior must be greater than 0 and finite, .* it is 0"),
        (TWENTY, TWENTY, {"prior": -1.5}, "prior must be greater than 0"),
        (TWENTY, TWENTY, {"prior": np.inf}, "prior must be greater than 0"),
        (TWENTY, TWENTY, {"prior": np.nan}, "prior must be greater than 0"),
        (TWENTY, TWENTY, {"chain": "z"}, "chain must be one of 'z_prev,g_prev', 'z_prev'; it is 'z'"),
    ],
)
def test_bad_data(function, y_true, y_pred, options, words):
    if function is sequences.autocorrelation:
        options = {"lags": [1], **options}
    with pytest.raises(ValueError, match=words):
        function(y_true, y_pred, **options)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sequences.posterior(TWENTY, {"new": TWENTY}), TypeError, "y_pred holds several systems.*of one"),
        (lambda: sequences.posterior(TWENTY, TWENTY, prior="flat"), TypeError, "prior must be a number; it is 'flat'"),
        (lambda: sequences.posterior(TWENTY, TWENTY, order=2), ValueError, r"order must be 1 .* or 0 .* it is 2"),
        (
            lambda: sequences.posterior(TWENTY, TWENTY, draws=1),
            ValueError,
            "draws must be a whole number of at least 2",
        ),
        (lambda: sequences.posterior(TWENTY, TWENTY, random_seed=-1), ValueError, "random_seed must be"),
        (lambda: sequences.posterior(TWENTY, TWENTY, pos_label=2), ValueError, "pos_label: 2 is not among the labels"),
        (lambda: sequences.posterior(TWENTY, TWENTY).predict(0), ValueError, "n must be a whole number of at least 1"),
        (lambda: sequences.design_effect(TWENTY, TWENTY, "recal"), ValueError, "did you mean 'recall'"),
        (
            lambda: sequences.design_effect(TWENTY, TWENTY, "recall_per_class"),
            ValueError,
            "'recall_per_class' has a value a class: name a metric of the whole matrix",
        ),
        (
            lambda: sequences.autocorrelation(TWENTY, TWENTY[::-1], lags=[1, 25]),
            ValueError,
            r"lags must be some, each shorter than the longest sequence, of 20 samples; they are \[1, 25\]",
        ),
        (lambda: sequences.autocorrelation(TWENTY, TWENTY, lags=[]), ValueError, "lags must be some"),
        (
            lambda: sequences.autocorrelation(TWENTY, TWENTY, lags=[0]),
            ValueError,
            "lags: each must be a whole number of at least 1; it is 0",
        ),
        (
            lambda: sequences.autocorrelation(TWENTY, TWENTY, lags=[1]),
            ValueError,
            "y_pred: its predictions are all right or all wrong",
        ),
        (lambda: sequences.autocorrelation(TWENTY, TWENTY, draws=10), ValueError, "draws must be .* at least 100"),
        (lambda: sequences.simulate(0), ValueError, "n must be a whole number of at least 1"),
        (lambda: sequences.simulate(9, sequences=0), ValueError, "sequences must be a whole number of at least 1"),
        (lambda: sequences.simulate(9, persistence=1), ValueError, "persistence must be a number between 0 and 1"),
        (lambda: sequences.simulate(9, recall=1), ValueError, "recall must be a number between 0 and 1"),
        (
            lambda: sequences.simulate(9, persistence=0.1, prevalence=0.2),
            ValueError,
            "persistence is 0.1: no chain with prevalence 0.2 changes label so often",
        ),
        (
            lambda: sequences.simulate(9, persistence=0.5, error_persistence=0.9, recall=0.9, specificity=0.9),
            ValueError,
            r"no chain has recall 0\.9 and specificity 0\.9 .* some prediction would have probability -0\.3",
        ),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_variance_of_a_chain_that_never_leaves_is_not_negative():
    y_pred = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1])
    found = sequences.check_independence(
        np.zeros(21, int), y_pred, prior=0.001, chain="z_prev,g_prev", labels=[0, 1], draws=100
    )
    assert found["design_effect"] >= 0
