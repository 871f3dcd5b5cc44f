"""The block bootstrap against its enumeration and the coverage it should have; the check of independence."""

import itertools
import sys
import warnings

import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf import metrics, sequences
from bayesperf.core.errors import DependenceWarning
from bayesperf.intervals.statistic import Statistic
from bayesperf.sequences.block_resampling import Blocks, best_block_length, influence
from bayesperf.sequences.chain import ChainParameters, label_sequences
from bayesperf.sequences.dependence_measures import variance_ratio
from bayesperf.sequences.simulation import chain_with_rates

FRAMES = sequences.simulate(300, persistence=0.9, sequences=2, random_seed=1)
Y, Z, IDS = (FRAMES[column].to_numpy() for column in ("actual", "predicted", "sequence"))


def series(y, z, by=None):
    return label_sequences(y, z, by, [0, 1])


# ── The blocks ──


def block_by_hand(states, ids, start, length):
    """Return the counts of a block from a sample on, circular within its sequence, sample by sample."""
    own = [i for i in range(len(ids)) if ids[i] == ids[start]]
    first = own.index(start)
    chosen = [states[own[(first + step) % len(own)]] for step in range(length)]
    return [chosen.count(state) for state in range(4)]


@pytest.mark.parametrize(("ids", "block"), [([0] * 11, 3), ([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1], 4), ([0] * 11, 11)])
def test_blocks_by_hand(ids, block):
    rng = np.random.default_rng(0)
    y, z = rng.integers(2, size=(2, 11))
    found = Blocks.of(series(y, z, ids), block)
    states = list(2 * y + z)
    assert found.whole.tolist() == [block_by_hand(states, ids, i, block) for i in range(11)]
    rest = 11 % block or block
    assert found.cut.tolist() == [block_by_hand(states, ids, i, rest) for i in range(11)]


@pytest.mark.few(1)
@pytest.mark.parametrize(("n", "block"), [(6, 2), (5, 2), (6, 3), (5, 1)])
def test_resamples_are_those_of_the_enumeration(n, block):
    y, z = np.array([1, 1, 0, 1, 0, 1])[:n], np.array([1, 0, 0, 1, 1, 1])[:n]
    states = list(2 * y + z)
    pieces = [block] * (-(-n // block) - 1)
    pieces.append(n - sum(pieces))
    # Every choice of starts has the same probability.
    exact = {}
    for starts in itertools.product(range(n), repeat=len(pieces)):
        blocks = [block_by_hand(states, [0] * n, start, size) for start, size in zip(starts, pieces, strict=True)]
        total = tuple(np.sum(blocks, 0).tolist())
        exact[total] = exact.get(total, 0) + 1 / n ** len(pieces)
    count = 100_000
    drawn = Blocks.of(series(y, z), block).resample(count, np.random.default_rng(1))
    rows, times = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(row) for row in rows.tolist()} == set(exact)
    expected = [count * exact[tuple(row)] for row in rows.tolist()]
    assert stats.chisquare(times, expected).pvalue > 1e-4
    # The variance of the share of hits, exactly: that of independent blocks.
    hits, prob = np.array([cell[3] for cell in exact]), np.array(list(exact.values()))
    of_blocks = sum(np.var([block_by_hand(states, [0] * n, i, size)[3] for i in range(n)]) for size in pieces)
    assert prob @ hits**2 - (prob @ hits) ** 2 == pytest.approx(of_blocks, rel=1e-12)
    assert drawn[:, 3].var() == pytest.approx(of_blocks, rel=5 * np.sqrt(2 / count))


def test_pieces_of_the_drawing_make_no_difference(monkeypatch):
    whole = sequences.block_bootstrap(Y, Z, by=IDS, random_seed=2, n_resamples=300).values
    monkeypatch.setattr(sys.modules["bayesperf.sequences.block_resampling"], "_AT_ONCE", 1000)
    # Another division of one stream into calls: the starts are the same.
    assert sequences.block_bootstrap(Y, Z, by=IDS, random_seed=2, n_resamples=300).values.tolist() == whole.tolist()


# ── The length of a block ──


def rule_by_hand(values, sequence=None):
    """Politis & White (2004) with the correction of Patton, Politis & White (2009), sum by sum, within sequences."""
    n = len(values)
    ids = [0] * n if sequence is None else sequence
    deviations = [value - sum(values) / n for value in values]

    def covariance(lag):
        pairs = [(t, t + abs(lag)) for t in range(n - abs(lag))]
        return sum(deviations[t] * deviations[u] for t, u in pairs if ids[t] == ids[u]) / n

    near, critical = max(5, int(np.sqrt(np.log10(n)))), 2 * np.sqrt(np.log10(n) / n)
    greatest = int(np.ceil(np.sqrt(n))) + near
    small = {lag: abs(covariance(lag) / covariance(0)) < critical for lag in range(1, greatest + near + 1)}
    last = next(m for m in range(greatest + 1) if all(small[m + k] for k in range(1, near + 1)))
    m = min(2 * last, greatest)
    flat = {k: 1.0 if abs(k) <= m / 2 else 2 * (1 - abs(k) / m) for k in range(-m, m + 1)}
    g = sum(flat[k] * abs(k) * covariance(k) for k in flat)
    d = 4 / 3 * sum(flat[k] * covariance(k) for k in flat) ** 2
    return int(np.clip(np.ceil((2 * g**2 / d) ** (1 / 3) * n ** (1 / 3)), 1, np.ceil(min(3 * np.sqrt(n), n / 3))))


@pytest.mark.parametrize("persistence", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("metric", ["recall", "mcc"])
def test_the_rule_by_hand(persistence, metric):
    frames = sequences.simulate(200, persistence=persistence, random_seed=4)
    of = series(frames["actual"], frames["predicted"])
    values = influence(Statistic.of(of.cm, metric), of)
    assert best_block_length(values, of.sequence) == rule_by_hand(values.tolist())


def test_the_rule_takes_no_pairs_of_two_sequences():
    rng, ids = np.random.default_rng(8), np.repeat(np.arange(8), 25)
    across = 0
    for _ in range(4):
        values = np.cumsum(rng.normal(size=(8, 25)), 1).ravel()
        found = best_block_length(values, ids)
        assert found == rule_by_hand(values.tolist(), ids.tolist())
        across += found != rule_by_hand(values.tolist())
    assert across > 0


@pytest.mark.slow
def test_the_rule_finds_what_is_best_for_a_known_chain():
    # Autocorrelation λ^k: Σ|k|R(k) = 2λ/(1 − λ)² and ΣR(k) = (1 + λ)/(1 − λ) times the variance.
    n, stay = 100_000, 0.8
    y = sequences.simulate(n, persistence=stay, random_seed=3)["actual"].to_numpy()
    eigenvalue = 2 * stay - 1
    ratio = 2 * eigenvalue / (1 - eigenvalue) ** 2 / ((1 + eigenvalue) / (1 - eigenvalue))
    # The autocovariances it is of have errors of 1/√n, and it is their cube root: within 10 %.
    assert best_block_length(y.astype(float), np.zeros(n, int)) == pytest.approx(np.cbrt(1.5 * n * ratio**2), rel=0.1)


def test_independent_or_constant_values_need_no_blocks():
    rng = np.random.default_rng(0)
    lengths = [best_block_length(rng.random(400), np.zeros(400, int)) for _ in range(50)]
    assert np.median(lengths) == 1
    assert best_block_length(np.full(50, 0.3), np.zeros(50, int)) == 1
    assert best_block_length(np.array([0.0, 1.0]), np.zeros(2, int)) == 1


def test_influence_is_what_a_sample_adds():
    of = series(Y, Z, IDS)
    statistic = Statistic.of(of.cm, "f1")
    values = influence(statistic, of)
    counts = of.cm.counts.values
    for state in range(4):
        more = counts.astype(float)
        more.flat[state] += 1e-4
        slope = (statistic(more) - statistic(counts)) / 1e-4 * counts.sum()
        assert values[of.states == state] == pytest.approx(slope, abs=1e-5)


# ── The interval ──


@pytest.mark.slow
def test_blocks_of_one_are_the_bootstrap_of_independent_samples():
    cm = bp.ConfusionMatrix.from_predictions(Y, Z)
    plain = bp.intervals.bootstrap(cm, "mcc", random_seed=0, n_resamples=40_000).values
    blocks = sequences.block_bootstrap(Y, Z, "mcc", block=1, random_seed=0, n_resamples=10_000).values
    # The error of a quantile at 2.5 % of 10,000 normal draws is 2.7 % of their standard deviation.
    assert blocks == pytest.approx(plain, abs=5 * 0.03 * np.ptp(plain) / 3.92)


def test_whole_sequences_are_clusters():
    cm = bp.ConfusionMatrix.from_predictions(
        *np.random.default_rng(2).integers(2, size=(2, 60)), by={"sequence": np.repeat(range(12), 5)}
    )
    y, z = np.random.default_rng(2).integers(2, size=(2, 60))
    clusters = bp.intervals.bootstrap(cm, "accuracy", random_seed=0, n_resamples=40_000, cluster="sequence").values
    blocks = sequences.block_bootstrap(y, z, "accuracy", by=np.repeat(range(12), 5), block=5, random_seed=0).values
    assert blocks == pytest.approx(clusters, abs=1 / 60 + 1e-12)


def test_the_result_says_how_it_came_about():
    found = sequences.block_bootstrap(Y, Z, "f1", by=IDS, block=20, confidence=0.9, n_resamples=200, random_seed=5)
    assert found.name == "f1"
    assert found.attrs == {
        "confidence": 0.9,
        "method": "circular blocks, percentile",
        "block": 20,
        "n_resamples": 200,
        "random_seed": 5,
        "undefined": 0.0,
    }
    assert found["ci_bound"].values.tolist() == ["lower", "upper"]
    again = sequences.block_bootstrap(Y, Z, "f1", by=IDS, block=20, confidence=0.9, n_resamples=200, random_seed=5)
    assert again.equals(found)
    fresh = sequences.block_bootstrap(Y, Z, "f1", by=IDS, n_resamples=200)
    known = sequences.block_bootstrap(Y, Z, "f1", by=IDS, n_resamples=200, random_seed=fresh.attrs["random_seed"])
    assert known.equals(fresh)


def test_the_order_of_interleaved_sequences_makes_no_difference():
    order = np.argsort(np.tile(np.arange(300), 2), kind="stable")
    found = [sequences.block_bootstrap(y, z, by=ids, random_seed=1, n_resamples=200)
             for y, z, ids in [(Y, Z, IDS), (Y[order], Z[order], IDS[order])]]  # fmt: skip
    assert found[0].equals(found[1])


def test_few_positives_warn():
    y = np.r_[np.ones(4, int), np.zeros(60, int)]
    z = np.r_[1, 0, 1, 1, np.zeros(60, int)]
    with pytest.warns(UserWarning, match="metric 'recall' is undefined"):
        found = sequences.block_bootstrap(y, z, block=4, random_seed=0)
    assert np.isfinite(found.values).all()
    with pytest.warns(UserWarning, match="all resamples are alike: the interval has no width"):
        sequences.block_bootstrap(y, np.zeros(64, int), "fpr", random_seed=0)


@pytest.mark.slow
def test_coverage():
    # Persistence .9: intervals of independent samples cover in 54 %, by the design effect; see `block_bootstrap`.
    count, n = 600, 500
    frames = sequences.simulate(n, persistence=0.9, sequences=count, random_seed=6)
    y, z = (frames[column].to_numpy().reshape(count, n) for column in ("actual", "predicted"))
    covered = {}
    for name, block in {"blocks": None, "independent": 1}.items():
        limits = np.array(
            [
                sequences.block_bootstrap(y[i], z[i], block=block, n_resamples=499, random_seed=i).values
                for i in range(count)
            ]
        )
        covered[name] = ((limits[:, 0] <= 0.75) & (limits[:, 1] >= 0.75)).mean()
    assert covered["blocks"] == pytest.approx(0.90, abs=4 * np.sqrt(0.9 * 0.1 / count))
    assert covered["independent"] == pytest.approx(0.548, abs=4 * np.sqrt(0.25 / count))


# ── The check of independence ──


def test_design_effects_of_draws_are_each_by_itself():
    rng = np.random.default_rng(0)
    stay, theta = rng.uniform(0.1, 0.9, (2, 7)), rng.uniform(0.1, 0.9, (2, 2, 2, 7))

    def f1(cells):
        return metrics.get("f1").evaluate(cells, 1)

    together = variance_ratio(ChainParameters(stay, theta), f1)
    alone = [variance_ratio(ChainParameters(stay[:, i], theta[..., i]), f1).item() for i in range(7)]
    assert together == pytest.approx(alone, rel=1e-12)


def check_all(persistence, count, n, **options):
    frames = sequences.simulate(n, persistence=persistence, sequences=count, random_seed=7)
    y, z = (frames[column].to_numpy().reshape(count, n) for column in ("actual", "predicted"))
    with warnings.catch_warnings(action="ignore", category=DependenceWarning):
        return [sequences.check_independence(y[i], z[i], draws=500, **options) for i in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [80, pytest.param(400, marks=pytest.mark.slow)])
def test_the_interval_covers_the_design_effect(count):
    chain = chain_with_rates(0.8, 0.8, 0.5, 0.75, 0.75)
    truth = variance_ratio(chain, lambda cells: metrics.get("recall").evaluate(cells, 1))
    assert truth == pytest.approx(3.06, abs=0.005)
    checks = check_all(0.8, count, 400)
    covered = np.mean(
        [check["design_effect_interval"][0] <= truth <= check["design_effect_interval"][1] for check in checks]
    )
    assert covered > 0.95 - 4 * np.sqrt(0.95 * 0.05 / count)
    assert all(check.attrs["verdict"] == "dependent" for check in checks)


@pytest.mark.slow
def test_independent_samples_are_seldom_warned_of():
    verdicts = [check.attrs["verdict"] for check in check_all(0.5, 80, 600)]
    assert verdicts.count("dependent") <= 0.05 * 80
    assert verdicts.count("independent") > 0.5 * 80


def test_errors_in_runs_are_seen():
    """Correctness is a chain with λ = .8, apart from labels that are independent: recall has D = 1 + λ/(1 − λ)."""
    rng, right = np.random.default_rng(3), [1]
    for u in rng.random(1999):
        right.append(int(u < (0.95 if right[-1] else 0.15)))
    y = rng.integers(2, size=2000)
    with pytest.warns(DependenceWarning, match="too narrow"):
        check = sequences.check_independence(y, np.where(right, y, 1 - y))
    lower, upper = check["design_effect_interval"].values
    assert lower < 5 < upper
    assert upper - lower < 4
    assert check["log_bayes_factor"].sel(of="predicted") > 100


def test_what_a_check_says():
    y, z = FRAMES["actual"][:300], FRAMES["predicted"][:300]
    with pytest.warns(DependenceWarning, match=r"intervals of recall .* are too narrow: they should be \d\.\d\d times"):
        check = sequences.check_independence(y, z)
    effect = sequences.design_effect(y, z)
    assert check["design_effect"].item() == effect.item()
    assert check["effective_size"].item() == effect.attrs["effective_size"]
    assert check["independent_coverage"].item() == effect.attrs["independent_coverage"]
    assert check["narrowness"].item() == pytest.approx(np.sqrt(effect.item()))
    assert check["log_bayes_factor"].equals(sequences.bayes_factor(y, z))
    lower, upper = check["design_effect_interval"].values
    assert 1 < lower < effect.item() < upper
    assert check.attrs["verdict"] == "dependent"
    assert f"The 300 examples are worth {check['effective_size'].item():.0f}" in check.attrs["advice"]
    with warnings.catch_warnings(action="ignore"):
        assert sequences.check_independence(y, z).equals(check)


def test_the_factor_is_of_the_width():
    """Of √D, by which the interval is too narrow: not of D."""
    y, z = FRAMES["actual"][:300], FRAMES["predicted"][:300]
    narrow = np.sqrt(sequences.design_effect(y, z).item())
    with pytest.warns(DependenceWarning):
        assert sequences.check_independence(y, z, factor=0.99 * narrow).attrs["verdict"] == "dependent"
    check = sequences.check_independence(y, z, factor=1.01 * narrow)
    assert check.attrs["verdict"] == "undecided"
    widest = np.sqrt(check["design_effect_interval"][1].item())
    verdicts = [sequences.check_independence(y, z, factor=by * widest).attrs["verdict"] for by in (0.99, 1.01)]
    assert verdicts == ["undecided", "independent"]


def test_errors_independent_of_each_other_leave_recall_alone():
    frames = sequences.simulate(
        4000, persistence=0.95, error_persistence=0.5, recall=0.9, specificity=0.7, random_seed=1
    )
    of = {"y_true": frames["actual"], "y_pred": frames["predicted"]}
    assert sequences.check_independence(**of, metric="recall").attrs["verdict"] == "independent"
    with pytest.warns(DependenceWarning, match="intervals of accuracy"):
        sequences.check_independence(**of, metric="accuracy")


def test_too_few_samples_do_not_tell():
    check = sequences.check_independence([0, 1] * 10, [0, 1, 1, 1] * 5)
    assert check.attrs["verdict"] == "undecided"
    assert "these examples do not show whether intervals of recall" in check.attrs["advice"]


# ── Bad input ──

TWENTY = [0, 1, 1, 0] * 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sequences.block_bootstrap(TWENTY, TWENTY, block=21), "block must not be longer than the shortest"),
        (lambda: sequences.block_bootstrap(TWENTY, TWENTY, by=[0] * 17 + [1] * 3, block=4), "of 3 samples; it is 4"),
        (lambda: sequences.block_bootstrap(TWENTY, TWENTY, block=0), "block must be a whole number of at least 1"),
        (lambda: sequences.block_bootstrap(TWENTY, TWENTY, "f1_per_class"), "has a value a class"),
        (lambda: sequences.block_bootstrap(TWENTY, TWENTY, confidence=95), "confidence must be a number between 0"),
        (lambda: sequences.block_bootstrap(TWENTY, TWENTY, n_resamples=1), "n_resamples must be .* at least 2"),
        (lambda: sequences.block_bootstrap(TWENTY, TWENTY, random_seed=-1), "random_seed must be"),
        (lambda: sequences.block_bootstrap([0] * 9, [0] * 9, labels=[0, 1]), "metric 'recall': its denominator is 0"),
        (lambda: sequences.block_bootstrap([0, 1, 2], [0, 1, 2]), "hold 3 labels"),
        (lambda: sequences.check_independence(TWENTY, TWENTY, factor=1), "factor must be above 1"),
        (lambda: sequences.check_independence(TWENTY, TWENTY, draws=10), "draws must be .* at least 100"),
        (lambda: sequences.check_independence(TWENTY, TWENTY, metric="recal"), "did you mean 'recall'"),
    ],
)  # fmt: skip
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()
