"""The bootstrap against the exactly enumerated one, SciPy's, and hand-made jackknives."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf.core.random_streams import streams
from bayesperf.intervals import bootstrap, bootstrap_intervals
from bayesperf.intervals.bootstrap_intervals import Units, _resampled_units, bca_levels
from bayesperf.intervals.statistic import Statistic
from tests.shared.counts import pair_of
from tests.shared.golden import cases, golden

GOLDEN = golden("intervals")
METHODS = ["percentile", "basic", "bca"]
SCIPYS = {"percentile": "percentile", "basic": "basic", "bca": "BCa"}
CM = bp.ConfusionMatrix.from_counts(tp=41, fn=9, fp=14, tn=66)
SMALL = bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=2, tn=3)
TAIL = 0.025


def matrix_of(case):
    return bp.ConfusionMatrix.from_table(GOLDEN["datasets"][case["inputs"]["dataset"]]["confusion_matrix_rows_true"])


# ── Golden figures ──


@pytest.mark.parametrize("method", METHODS)
@cases("intervals", "boot_acc")
def test_golden_accuracy(case, method):
    check_golden(case, "accuracy", method)


@pytest.mark.parametrize("method", METHODS)
@cases("intervals", "boot_f1")
def test_golden_f1(case, method):
    check_golden(case, "f1", method)


@pytest.mark.parametrize("method", METHODS)
@cases("intervals", "boot_macrof1")
def test_golden_macro_f1(case, method):
    check_golden(case, "f1_macro", method)


def check_golden(case, metric, method):
    # The ideal limits, within one step of the lattice or three standard deviations over seeds, as the table has it.
    found = bootstrap(matrix_of(case), metric, method=method, random_seed=0).values
    reference = np.clip(case["reference"][SCIPYS[method]], 0, 1)
    (peer,) = [peer["result"] for peer in case["peers"] if peer["method"] == SCIPYS[method]]
    spread = np.array([peer["sd_low"], peer["sd_high"]])
    # Where all seeds agree they are at a step of the lattice, as wide as the table's tolerance for accuracy.
    lattice = 1.001 / matrix_of(case).total.item() if metric == "accuracy" else 1e-12
    assert (np.abs(found - reference) <= np.maximum(4 * spread, lattice)).all()


@cases("intervals", "boot_degenerate")
@pytest.mark.parametrize("method", METHODS)
def test_golden_degenerate(case, method):
    # SciPy's BCa is nan here.
    with pytest.warns(UserWarning, match="metric 'f1': all resamples are alike: the interval has no width"):
        assert bootstrap(matrix_of(case), "f1", method=method, random_seed=0).values.tolist() == [1, 1]


# ── The exactly enumerated bootstrap ──


def compositions(n, parts):
    """Yield the ways to share n examples among parts."""
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        yield from ((first, *rest) for rest in compositions(n - first, parts - 1))


def enumerated(cm, metric, by_actual=False):
    """Return every value of the ideal bootstrap, in order, and its probability."""
    table = cm.counts.values
    if by_actual:
        rows = [list(compositions(int(row.sum()), len(row))) for row in table]
        cells = np.array(list(product(*rows)))
        prob = np.prod(
            [stats.multinomial.pmf(cells[:, i], row.sum(), row / row.sum()) for i, row in enumerate(table)], 0
        )
    else:
        n = int(table.sum())
        cells = np.array(list(compositions(n, table.size)))
        prob = stats.multinomial.pmf(cells, n, table.ravel() / n)
        cells = cells.reshape(-1, *table.shape)
    prob, cells = prob[prob > 0], cells[prob > 0]
    values = bp.metrics.get(metric).evaluate(cells, 1)
    prob, values = prob[np.isfinite(values)], values[np.isfinite(values)]
    order = np.argsort(values)
    return values[order], prob[order] / prob.sum()


def ideal_levels(cm, metric, method, values, prob):
    """Return the levels of the ideal limits, with the jackknife by every example left out."""
    if method != "bca":
        return np.array([TAIL, 1 - TAIL])
    table, observed = cm.counts.values, bp.score(cm, metric).item()
    bias = stats.norm.ppf(prob[values < observed - 1e-12].sum() + prob[np.abs(values - observed) < 1e-12].sum() / 2)
    left = []
    for cell in np.ndindex(table.shape):
        without = table.copy()
        without[cell] -= 1
        left += [bp.metrics.get(metric).evaluate(without, 1)] * table[cell]
    d = np.mean(left) - np.array(left)
    a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    z = bias + stats.norm.ppf([TAIL, 1 - TAIL])
    return stats.norm.cdf(bias + z / (1 - a * z))


@pytest.mark.few
@pytest.mark.filterwarnings("ignore:metric .* is undefined")
@pytest.mark.parametrize(
    ("metric", "method", "by_actual"),
    [("f1", "percentile", False), ("f1", "bca", False), ("mcc", "percentile", False), ("mcc", "bca", False),
     ("recall_weighted", "bca", False), ("f1", "percentile", True)],
)  # fmt: skip
def test_limits_are_quantiles_of_the_ideal_bootstrap(metric, method, by_actual):
    values, prob = enumerated(SMALL, metric, by_actual)
    levels = ideal_levels(SMALL, metric, method, values, prob)
    resamples, design = 200_000, "by_actual" if by_actual else "joint"
    found = bootstrap(SMALL, metric, 1 - 2 * TAIL, method, resamples, 3, design=design).values
    # The share of the ideal bootstrap below a limit, and up to it, embraces its level, but for five standard errors of
    # a level of so many resamples; of "bca" the error of the bias comes on top, at most as great again.
    error = 5 * np.sqrt(levels * (1 - levels) / resamples) * (2 if method == "bca" else 1)
    for limit, level, allowed in zip(found, levels, error, strict=True):
        assert prob[values < limit - 1e-9].sum() <= level + allowed
        assert prob[values <= limit + 1e-9].sum() >= level - allowed


def test_basic_is_percentile_reflected():
    plain = bootstrap(CM, "mcc", random_seed=4).values
    expected = 2 * bp.score(CM, "mcc").item() - plain[::-1]
    assert bootstrap(CM, "mcc", method="basic", random_seed=4).values == pytest.approx(expected, abs=1e-15)
    high = bp.ConfusionMatrix.from_counts(tp=18, fn=1, fp=1, tn=9)
    assert bootstrap(high, "f1", method="basic", random_seed=4).values[1] == 1


def test_moments_of_the_cells_are_those_of_a_multinomial():
    units = Units(CM.counts.values.reshape(1, -1), (2, 2))
    cells = units._draw(50_000, np.random.default_rng(0)).reshape(-1, 4)
    n, p = 130, CM.counts.values.ravel() / 130
    assert (cells.sum(1) == n).all()
    covariance = n * (np.diag(p) - np.outer(p, p))
    assert cells.mean(0) == pytest.approx(n * p, abs=5 * np.sqrt(n / 4 / 50_000))
    # A variance of 50,000 draws has a relative error of √(2/50,000).
    assert np.cov(cells.T) == pytest.approx(covariance, abs=5 * np.sqrt(2 / 50_000) * covariance.max())


# ── SciPy's bootstrap of labels ──

CODES = np.repeat(np.arange(4), [25, 6, 8, 21])  # tn, fp, fn, tp
LABELLED = bp.ConfusionMatrix.from_counts(tn=25, fp=6, fn=8, tp=21)


def mcc_of_codes(codes, axis):
    tn, fp, fn, tp = ((codes == code).sum(axis) for code in range(4))
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


@pytest.mark.parametrize("method", METHODS)
def test_scipy(method):
    ours, theirs = [], []
    for seed in range(20):
        ours.append(bootstrap(LABELLED, "mcc", method=method, n_resamples=4000, random_seed=seed).values)
        result = stats.bootstrap((CODES,), mcc_of_codes, n_resamples=4000, method=SCIPYS[method], vectorized=True,
                                 rng=np.random.default_rng(seed))  # fmt: skip
        theirs.append(result.confidence_interval)
    spread = np.sqrt((np.var(ours, 0, ddof=1) + np.var(theirs, 0, ddof=1)) / 20)
    assert (np.abs(np.mean(ours, 0) - np.mean(theirs, 0)) < 4.5 * spread).all()
    assert spread.max() < 0.004


def test_acceleration_is_that_of_labels():
    left = np.array([mcc_of_codes(np.delete(CODES, i), -1) for i in range(len(CODES))])
    d = left.mean() - left
    units = Units(LABELLED.counts.values.reshape(1, -1), (2, 2))
    found = units.acceleration(Statistic.of(LABELLED, "mcc"))
    assert found.value == pytest.approx([(d**3).sum() / (6 * (d**2).sum() ** 1.5)], rel=1e-9)
    assert found.complete


def test_acceleration_keeps_the_shares_of_classes_that_are_fixed():
    # Which of 12 positives and of 8 negatives are called positive.
    positive, negative = np.repeat([1, 0], [9, 3]), np.repeat([1, 0], [2, 6])
    cm = bp.ConfusionMatrix.from_counts(tp=9, fn=3, fp=2, tn=6)

    def precision(positives, negatives):
        return 12 * positives.mean() / (12 * positives.mean() + 8 * negatives.mean())

    left = (
        np.array([precision(np.delete(positive, i), negative) for i in range(12)]),
        np.array([precision(positive, np.delete(negative, i)) for i in range(8)]),
    )
    u = [(len(values) - 1) / len(values) * (values.mean() - values) for values in left]
    skew, spread = (sum((of_class**power).sum() for of_class in u) for power in (3, 2))
    found = Units(cm.counts.values, (2, 2)).acceleration(Statistic.of(cm, "precision"))
    assert found.value == pytest.approx([skew / (6 * spread**1.5)], rel=1e-9)


def balanced_accuracy_of_rights(positives, negatives, axis):
    return (positives.mean(axis) + negatives.mean(axis)) / 2


def test_scipy_stratified():
    # SciPy's bootstrap of two samples is that of two classes: 18 of 22 positives right, 31 of 34 negatives.
    samples = np.repeat([1, 0], [18, 4]), np.repeat([1, 0], [31, 3])
    cm = bp.ConfusionMatrix.from_counts(tp=18, fn=4, tn=31, fp=3)
    ours, theirs = [], []
    for seed in range(8):
        found = bootstrap(cm, "balanced_accuracy", method="bca", n_resamples=4000, random_seed=seed, design="by_actual")
        ours.append(found.values)
        result = stats.bootstrap(samples, balanced_accuracy_of_rights, n_resamples=4000, method="BCa",
                                 rng=np.random.default_rng(seed))  # fmt: skip
        theirs.append(result.confidence_interval)
    spread = np.sqrt((np.var(ours, 0, ddof=1) + np.var(theirs, 0, ddof=1)) / 8)
    assert (np.abs(np.mean(ours, 0) - np.mean(theirs, 0)) < 4.5 * spread).all()


RATE = np.random.default_rng(8).beta(6, 2, 15)
FOUND = np.random.default_rng(9).binomial(12, RATE)
PATIENTS = bp.ConfusionMatrix.from_table(
    np.stack([np.full(15, 9), np.full(15, 1), 12 - FOUND, FOUND], -1).reshape(15, 2, 2), dims=["patient"]
)


def recall_of_groups(found, axis):
    return found.mean(axis) / 12


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_clusters_against_scipy(method):
    ours, theirs = [], []
    for seed in range(8):
        options = {"method": method, "n_resamples": 4000, "random_seed": seed, "cluster": "patient"}
        ours.append(bootstrap(PATIENTS, "recall", **options).values)
        result = stats.bootstrap((FOUND,), recall_of_groups, n_resamples=4000, method=SCIPYS[method],
                                 rng=np.random.default_rng(seed))  # fmt: skip
        theirs.append(result.confidence_interval)
    spread = np.sqrt((np.var(ours, 0, ddof=1) + np.var(theirs, 0, ddof=1)) / 8)
    assert (np.abs(np.mean(ours, 0) - np.mean(theirs, 0)) < 4.5 * spread + 1e-12).all()


# ── Designs, clusters, pairs ──


def test_clusters_are_wider_where_groups_differ():
    by_patient = np.ptp(bootstrap(PATIENTS, "recall", random_seed=1, cluster="patient").values)
    assert by_patient > 1.3 * np.ptp(bootstrap(PATIENTS.sum("patient"), "recall", random_seed=1).values)


def test_clusters_keep_other_dims():
    both = np.stack([PATIENTS.counts.values, PATIENTS.counts.values[:, ::-1, ::-1]])
    cm = bp.ConfusionMatrix.from_table(both, dims={"model": ["a", "b"], "patient": range(15)})
    found = bootstrap(cm, "f1_per_class", random_seed=1, cluster="patient", n_resamples=500)
    assert found.dims == ("model", "label", "ci_bound")
    alone = bootstrap(cm.sel(model="b"), "f1_per_class", random_seed=1, cluster="patient", n_resamples=500)
    assert found.sel(model="b").values.tolist() == alone.values.tolist()


def test_stratified_resamples_keep_the_classes():
    units = Units(CM.counts.values, (2, 2))
    assert (units._draw(100, np.random.default_rng(0)).sum(-1) == CM.counts.values.sum(-1)).all()
    with pytest.warns(UserWarning, match="metric 'prevalence': all resamples are alike: the interval has no width"):
        bootstrap(CM, "prevalence", random_seed=0, design="by_actual")


def pair(counts):
    """Return joint counts of labels 0 and 1 from {(actual, a, b): examples}."""
    return pair_of(*np.repeat(list(counts), list(counts.values()), axis=0).T)


JOINT = {(1, 1, 1): 20, (1, 1, 0): 7, (1, 0, 1): 2, (1, 0, 0): 5,
         (0, 0, 0): 25, (0, 0, 1): 4, (0, 1, 0): 3, (0, 1, 1): 6}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_pairs_against_scipy(method):
    # What each example adds to the difference of accuracies: a alone right 11 times, b alone right 5 times, of 72.
    signs = np.repeat([1, -1, 0], [11, 5, 56])
    ours, theirs = [], []
    for seed in range(8):
        ours.append(
            bootstrap(
                pair(JOINT), "accuracy", contrast="difference", method=method, n_resamples=4000, random_seed=seed
            ).values
        )
        result = stats.bootstrap((signs,), np.mean, n_resamples=4000, method=SCIPYS[method],
                                 rng=np.random.default_rng(seed))  # fmt: skip
        theirs.append(result.confidence_interval)
    # On a lattice of steps of 1/72 a mean of eight seeds may still be one step off now and then.
    spread = np.sqrt((np.var(ours, 0, ddof=1) + np.var(theirs, 0, ddof=1)) / 8)
    assert (np.abs(np.mean(ours, 0) - np.mean(theirs, 0)) < 4.5 * spread + 0.25 / 72).all()


# ── Streams, labels, what is left out ──


def test_seeds():
    found = bootstrap(CM, "f1", random_seed=7)
    assert found.equals(bootstrap(CM, "f1", random_seed=7))
    assert found.attrs["random_seed"] == 7
    assert not found.equals(bootstrap(CM, "f1", random_seed=8))
    fresh = bootstrap(CM, "f1")
    assert fresh.equals(bootstrap(CM, "f1", random_seed=fresh.attrs["random_seed"]))
    drawn = [bootstrap(CM, "f1", random_seed=np.random.default_rng(3)) for _ in range(2)]
    assert drawn[0].equals(drawn[1])


def test_another_system_changes_no_figure():
    tables = np.random.default_rng(1).integers(2, 30, (3, 3, 3))
    cm = bp.ConfusionMatrix.from_table(tables, dims={"model": list("abc")}, labels=["x", "y", "z"])
    all_three = bootstrap(cm, "f1_per_class", method="bca", random_seed=2, n_resamples=300)
    two = bootstrap(cm.sel(model=["c", "a"]), "f1_per_class", method="bca", random_seed=2, n_resamples=300)
    assert all_three.dims == ("model", "label", "ci_bound")
    assert all_three.sel(model=["c", "a"]).equals(two)
    # Each class is its own metric.
    one = cm.one_vs_rest().sel(model="a", label="y")
    limits = bootstrap(one, "f1", method="bca", random_seed=2, n_resamples=20_000).values
    assert limits == pytest.approx(all_three.sel(model="a", label="y").values, abs=0.05)


def test_blocks_make_no_difference(monkeypatch):
    whole = bootstrap(CM, "f1", method="bca", random_seed=2, n_resamples=501).values
    monkeypatch.setattr(bootstrap_intervals, "_AT_ONCE", 100)
    assert bootstrap(CM, "f1", method="bca", random_seed=2, n_resamples=501).values.tolist() == whole.tolist()


def test_undefined_resamples_are_counted_and_left_out():
    # One positive of 20 is in no resample with probability (19/20)²⁰ = .358.
    cm = bp.ConfusionMatrix.from_counts(tp=1, fn=0, fp=3, tn=16)
    with pytest.warns(UserWarning, match="metric 'balanced_accuracy' is undefined") as caught:
        found = bootstrap(cm, "balanced_accuracy", random_seed=0)
    assert found.attrs["undefined"] == pytest.approx(0.358486, abs=4 * np.sqrt(0.23 / 9999))
    (warning,) = caught
    assert f"undefined (0/0) in {100 * found.attrs['undefined']:.2f} % of the resamples. They are left out" in str(
        warning.message
    )
    assert np.isfinite(found.values).all()


def test_undefined_resamples_of_many_matrices():
    cm = bp.ConfusionMatrix.from_counts(tp=[1, 40], fn=[0, 10], fp=3, tn=16)
    with pytest.warns(UserWarning, match="of the resamples at worst, and in some of 1 matrices. They are left out"):
        bootstrap(cm, "balanced_accuracy", random_seed=0)


def test_a_jackknife_with_holes_warns():
    cm = bp.ConfusionMatrix.from_counts(tp=1, fn=0, fp=3, tn=16)
    with (
        pytest.warns(UserWarning, match="is undefined"),
        pytest.warns(
            UserWarning, match="method='bca': metric 'balanced_accuracy' is undefined or infinite without some"
        ),
    ):
        found = bootstrap(cm, "balanced_accuracy", method="bca", random_seed=0)
    assert np.isfinite(found.values).all()


def test_infinite_limits_warn():
    cm = bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=30)
    with pytest.warns(UserWarning, match="is infinite in so many resamples that the limit is"):
        assert bootstrap(cm, "lr+", random_seed=0).values[1] == np.inf


def test_a_bias_beyond_all_resamples_stays_finite():
    resampled = np.linspace(0, 1, 100)
    for value in (-1.0, 2.0):
        levels = bca_levels(resampled, value, 0.1, TAIL)
        assert ((levels >= 0) & (levels <= 1) & (np.diff(levels) >= 0)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "precision"}, "metric 'precision' at fold=1: its denominator is 0"),
        ({"method": "BCa"}, "method must be one of 'percentile', 'basic', 'bca'; it is 'BCa'"),
        ({"n_resamples": 1}, "n_resamples must be a whole number of at least 2"),
        ({"confidence": 95}, "confidence must be a number between 0 and 1"),
        ({"random_seed": -1}, "random_seed must be a non-negative integer"),
        ({"design": "rows"}, "design must be one of 'joint', 'by_actual'; it is 'rows'"),
        ({"cluster": "site"}, r"cluster: 'site' is not a leading dim; they are \['fold'\]"),
        ({"cluster": "fold", "design": "by_actual"}, "cluster: whole groups are resampled"),
    ],
)
def test_errors(options, message):
    cm = bp.ConfusionMatrix.from_table([[[5, 1], [2, 3]], [[4, 0], [6, 0]]], dims=["fold"])
    with pytest.raises(ValueError, match=message):
        bootstrap(**{"cm": cm, "metric": "accuracy", "random_seed": 0, **options})


def test_one_group_is_none():
    cm = bp.ConfusionMatrix.from_table([[[5, 1], [2, 3]]], dims=["site"])
    with pytest.raises(ValueError, match="cluster: 'site' has one group"):
        bootstrap(cm, "f1", cluster="site")
    with pytest.raises(ValueError, match="cluster: 'site' is not a leading dim"):
        bootstrap(pair(JOINT), "f1", cluster="site")


def test_nothing_defined_is_refused():
    # Of two resamples neither has the one positive with a probability of 13 %: as by this seed.
    cm = bp.ConfusionMatrix.from_counts(tp=1, fn=0, fp=0, tn=1000)
    with pytest.raises(ValueError, match=r"metric 'recall' is undefined \(0/0\) in all 2 resamples"):
        bootstrap(cm, "recall", n_resamples=2, random_seed=3)


def test_the_standard_error_is_beside_the_limits():
    found = bootstrap(CM, "accuracy", n_resamples=40_000, random_seed=0)
    expected = np.sqrt(107 / 130 * 23 / 130 / 130)
    assert found["standard_error"].item() == pytest.approx(expected, rel=5 / np.sqrt(2 * 40_000))
    both = bootstrap(bp.ConfusionMatrix.from_table([CM.counts, SMALL.counts], dims=["fold"]), "f1_per_class",
                     n_resamples=99, random_seed=0)  # fmt: skip
    assert both["standard_error"].dims == ("fold", "label")
    frames = bp.sequences.simulate(200, persistence=0.5, random_seed=0)
    blocks = bp.sequences.block_bootstrap(frames["actual"], frames["predicted"], "accuracy", block=1, random_seed=0)
    p = (frames["actual"] == frames["predicted"]).mean()
    assert blocks["standard_error"].item() == pytest.approx(np.sqrt(p * (1 - p) / 200), rel=0.04)


# ── Samples ──


def samples_of(cm, metric, n, seed, contrast=None, cluster=None):
    """The values of a metric in the resamples of each matrix, (matrix, resample, …)."""
    statistic, matrices = _resampled_units(Statistic.of(cm, metric, contrast), "joint", cluster)
    rngs = streams(seed, "bootstrap", statistic.of_matrices, [units.content for units in matrices])
    return np.stack([units.resample(statistic, n, rng) for units, rng in zip(matrices, rngs, strict=True)])


@pytest.mark.parametrize("metric", ["f1", "accuracy", "recall_per_class"])
def test_limits_are_quantiles_of_the_samples(metric):
    cm = bp.ConfusionMatrix.from_table(
        [[[9, 1], [2, 8]], [[8, 2], [3, 7]], [[6, 4], [3, 7]]], dims={"model": ["A", "B", "C"]}
    )
    options = {"n_resamples": 400, "random_seed": 3, "confidence": 0.8}
    limits, samples = bootstrap(cm, metric, **options), samples_of(cm, metric, 400, 3)
    np.testing.assert_allclose(limits, np.moveaxis(np.quantile(samples, [0.1, 0.9], axis=1), 0, -1), rtol=1e-12)
    np.testing.assert_allclose(limits["standard_error"], samples.std(1, ddof=1), rtol=1e-12)
    # Of 20 examples a share is a whole number of twentieths.
    if metric == "accuracy":
        np.testing.assert_allclose(samples * 20, (samples * 20).round(), atol=1e-9)


def test_samples_follow_the_distribution_of_the_resampled_metric():
    """Of 10 examples the number correct is binomial with the observed share."""
    samples = samples_of(SMALL, "accuracy", 20_000, 0)
    found = np.bincount((samples[0] * 10).round().astype(int), minlength=11)
    probability = stats.binom.pmf(np.arange(11), 10, 0.7)
    assert np.all(np.abs(found - 20_000 * probability) < 4.5 * np.sqrt(20_000 * probability * (1 - probability)) + 1)


def test_undefined_samples_are_missing():
    few = bp.ConfusionMatrix.from_counts(tp=1, fn=0, fp=1, tn=3)
    with pytest.warns(UserWarning, match="undefined"):
        limits = bootstrap(few, "precision", n_resamples=500, random_seed=0)
    assert np.isnan(samples_of(few, "precision", 500, 0)).mean() == limits.attrs["undefined"] > 0


def test_samples_of_pairs_and_clusters():
    paired = pair_of([0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1], [0, 1, 1, 1, 0, 0])
    limits = bootstrap(paired, "accuracy", contrast="difference", n_resamples=300, random_seed=1)
    samples = samples_of(paired, "accuracy", 300, 1, contrast="difference")
    np.testing.assert_allclose(limits, np.quantile(samples, [0.025, 0.975]), atol=1e-12)
    folds = bp.ConfusionMatrix.from_table(
        np.random.default_rng(0).integers(1, 9, (2, 5, 2, 2)), dims={"m": [0, 1], "site": list(range(5))}
    )
    limits = bootstrap(folds, "f1", n_resamples=50, random_seed=1, cluster="site")
    expected = np.quantile(samples_of(folds, "f1", 50, 1, cluster="site"), [0.025, 0.975], axis=1)
    np.testing.assert_allclose(limits, expected.T, rtol=1e-12)
