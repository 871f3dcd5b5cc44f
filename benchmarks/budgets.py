"""Measure what bayesperf promises of its speed: ``python benchmarks/budgets.py``.

Prints a table of the budgets and what was measured; exits with 1 if a budget is missed. Words after
the command choose rows whose description has any of them. Every time is the best of several
repeats, and every ratio compares two times of the same run, taken in turns.

To add a budget, write a function that returns what was measured, in words, and whether that is
within the budget; then add a row to ``ROWS``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import integrate, optimize, special, stats

import bayesperf as bp

Work = Callable[[], object]
# What was measured, in words, and whether it is within the budget.
Verdict = tuple[str, bool]
# What is done, its budget, how it is measured.
Row = tuple[str, str, Callable[[], Verdict]]


def seconds(work: Work, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long some work takes, once."""
    start = clock()
    work()
    return clock() - start


def in_turns(
    *works: Work,
    repeats: int = 5,
    choose: Callable[[Iterable[float]], float] = min,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the shortest time of each work, in seconds, or what else to choose among its repeats.

    They take turns, so that a busy moment of the machine does not fall on one of them alone.
    """
    times = [[seconds(work, clock) for work in works] for _ in range(repeats)]
    return [choose(of_one) for of_one in zip(*times, strict=True)]


# ── Imports ──


def import_package() -> Verdict:
    return import_ratio("import bayesperf")


def import_and_summarise() -> Verdict:
    # `import bayesperf` alone loads next to nothing; this is what a first result loads.
    return import_ratio("import bayesperf; bayesperf.posterior([0, 1], [0, 1]).summary()")


def import_ratio(program: str) -> Verdict:
    """Compare a program's time with that of importing what every analysis imports anyway."""
    ours, peers = in_turns(interpreter(program), interpreter("import scipy.stats, xarray"), choose=median)
    return f"{ours:.2f} s, {ours / peers:.2f}×", ours <= 3 * peers


def interpreter(program: str) -> Work:
    """Return the running of a program in a new interpreter."""
    return lambda: subprocess.run([sys.executable, "-c", program], check=True)


# ── Counting ──

PAIRS = 10_000_000


def count_integers() -> Verdict:
    rng = np.random.default_rng(0)
    time = counting_time(rng.integers(2, size=PAIRS), rng.integers(2, size=PAIRS))
    return f"{time:.2f} s", time <= 1


def count_strings() -> Verdict:
    rng = np.random.default_rng(0)
    labels = np.array(["benign", "malignant"])
    columns = [labels[rng.integers(2, size=PAIRS)] for _ in range(2)]
    arrays, series = counting_time(*columns), counting_time(*map(pd.Series, columns))
    return f"{arrays:.2f} s (pandas: {series:.2f} s)", max(arrays, series) <= 3


def counting_time(y_true: Any, y_pred: Any) -> float:
    return in_turns(lambda: bp.ConfusionMatrix.from_predictions(y_true, y_pred), repeats=3)[0]


def count_in_engine(engine: str) -> Verdict:
    found = apart("counting_in_engines.py", engine, "1_000_000", "10_000_000", "50_000_000")
    ratio, gigabytes = found["seconds"] / found["own"], found["bytes"] / 1e9
    growth = (found["bytes"] - found["bytes_of_smallest"]) / 1e9
    measured = (
        f"{found['seconds']:.2f} s, {ratio:.2f}×, {gigabytes:.2f} GB ({growth:+.2f} from 10⁶ rows); "
        f"10⁹ rows: {found['billion']:.0f} s"
    )
    return measured, ratio <= 1.3 and gigabytes <= 1


# ── Closed forms, many matrices ──

MATRICES = 10_000
CLOSED_FORMS = ("precision", "recall", "specificity", "accuracy", "jaccard", "f1")
LOOPED = 50


def closed_forms() -> Verdict:
    rng = np.random.default_rng(0)
    cells = dict(zip(("tp", "fn", "fp", "tn"), rng.integers(1, 200, (4, MATRICES)), strict=True))
    cm = bp.ConfusionMatrix.from_counts(**cells)

    def summarise() -> None:
        posterior = bp.posterior(cm)
        for name in CLOSED_FORMS:
            marginal = posterior[name]
            marginal.mean()
            marginal.hdi(0.95)

    def loop(ppf: Callable[[float, float, float], float]) -> None:
        for a, b in zip(cells["tp"][:LOOPED] + 1, cells["fn"][:LOOPED] + 1, strict=True):
            hdi_by_minimisation(ppf, a, b)

    # The loop as one would write it, and, for the record, on the function beneath `stats.beta.ppf`.
    ours, plain, bare = in_turns(
        summarise,
        lambda: loop(stats.beta.ppf),
        lambda: loop(lambda q, a, b: special.betaincinv(a, b, q)),
    )
    scale = MATRICES * len(CLOSED_FORMS) / LOOPED / ours
    measured = f"{ours:.2f} s, {scale * plain:.0f}× (bare betaincinv: {scale * bare:.0f}×)"
    return measured, ours <= 1 and scale * plain >= 50


def hdi_by_minimisation(
    ppf: Callable[[float, float, float], float], a: float, b: float, prob: float = 0.95
) -> tuple[float, float]:
    """Return the shortest interval of a Beta, by minimising its width over the lower tail's mass."""

    def width(tail: float) -> float:
        return ppf(tail + prob, a, b) - ppf(tail, a, b)

    tail = optimize.minimize_scalar(width, bounds=(0, 1 - prob), method="bounded").x
    return ppf(tail, a, b), ppf(tail + prob, a, b)


def balanced_accuracies() -> Verdict:
    rng = np.random.default_rng(0)
    cells = dict(zip(("tp", "fn", "fp", "tn"), rng.integers(1, 200, (4, 1000)), strict=True))
    cm = bp.ConfusionMatrix.from_counts(**cells)

    def summarise() -> None:
        marginal = bp.posterior(cm)["balanced_accuracy"]
        marginal.mean()
        marginal.sd()
        marginal.hdi(0.95)

    (time,) = in_turns(summarise, repeats=3)
    return f"{time:.2f} s", time <= 1


def default_summaries() -> Verdict:
    cm = bp.ConfusionMatrix.from_table(np.random.default_rng(0).integers(1, 200, (1000, 2, 2)), dims=["model"])
    (time,) = in_turns(lambda: bp.posterior(cm).summary(), repeats=3)
    return f"{time:.2f} s", time <= 2


# ── Quadrature, one matrix ──

# tp, fn, fp, tn: ordinary, tiny and huge.
QUADRATURE_CASES = ((45, 5, 10, 90), (3, 0, 1, 2), (45_000, 5_000, 10_000, 90_000))
LEVELS = np.array([0.025, 0.25, 0.5, 0.75, 0.975])


def f2() -> Verdict:
    return quadrature("f2", f2_integral)


def balanced_accuracy() -> Verdict:
    return quadrature("balanced_accuracy", balanced_accuracy_integral)


def hter() -> Verdict:
    return quadrature("hter", hter_integral)


def quadrature(name: str, reference: Callable[..., float]) -> Verdict:
    """Time the worst case of distribution function and interval, and compare with SciPy's integral."""
    slowest, error = 0.0, 0.0
    for cells in QUADRATURE_CASES:
        cm = bp.ConfusionMatrix.from_counts(**dict(zip(("tp", "fn", "fp", "tn"), cells, strict=True)))
        posterior = bp.posterior(cm, "flat")  # That of the references.
        points = posterior[name].ppf(LEVELS).values
        slowest = max(slowest, *in_turns(lambda p=posterior: p[name].cdf(0.8), repeats=20))
        slowest = max(slowest, *in_turns(lambda p=posterior: p[name].hdi(0.95), repeats=20))
        exact = [reference(t, *(np.array(cells) + 1.0)) for t in points]
        error = max(error, np.abs(posterior[name].cdf(points).values - exact).max())
    return f"{1000 * slowest:.1f} ms, error {error:.0e}", slowest <= 0.02 and error <= 1e-7


def f2_integral(t: float, tp: float, fn: float, fp: float, _tn: float) -> float:
    """Return P(F_2 ≤ t): given the Jaccard index J, F_2 ≤ t if the share of fp in fn + fp is ≤ w."""

    def share(j: float) -> float:
        return (4 - 5 * j * (1 - t) / (t * (1 - j))) / 3

    kinks = [t / (t + 5 * (1 - t) / edge) for edge in (1, 4)]
    return expectation(lambda j: stats.beta.cdf(share(j), fp, fn), tp, fn + fp, kinks)


def balanced_accuracy_integral(t: float, tp: float, fn: float, fp: float, tn: float) -> float:
    """Return P((recall + specificity)/2 ≤ t), integrating over recall."""
    kinks = [2 * t, 2 * t - 1]
    return expectation(lambda r: stats.beta.cdf(2 * t - r, tn, fp), tp, fn, kinks)


def hter_integral(t: float, tp: float, fn: float, fp: float, tn: float) -> float:
    """Return P((fnr + fpr)/2 ≤ t), integrating over the false positive rate."""
    kinks = [2 * t, 2 * t - 1]
    return expectation(lambda r: stats.beta.cdf(2 * t - r, fn, tp), fp, tn, kinks)


def expectation(f: Callable[[float], float], a: float, b: float, kinks: list[float]) -> float:
    """Return E[f(X)], X ~ Beta(a, b), by adaptive quadrature between the kinks of f."""
    outer = stats.beta(a, b)
    edges = [*outer.ppf([1e-14, 0.001, 0.5, 0.999]), outer.isf(1e-14)]
    edges = sorted({*edges, *(kink for kink in kinks if edges[0] < kink < edges[-1])})
    options = {"epsabs": 1e-12, "epsrel": 1e-10, "limit": 200}
    return sum(integrate.quad(lambda x: outer.pdf(x) * f(x), *piece, **options)[0] for piece in pairwise(edges))


# ── Draws ──

DRAWS = 1_000_000


def mcc_draws() -> Verdict:
    cells = np.array([[90, 10], [5, 45]])
    cm = bp.ConfusionMatrix.from_table(cells)

    def ours() -> None:
        bp.posterior(cm, draws=DRAWS).summary(["mcc"])

    own, with_dirichlet, with_gamma = in_turns(
        ours,
        lambda: summarise_mcc(np.random.default_rng(0).dirichlet(cells.ravel() + 1, DRAWS)),
        lambda: summarise_mcc(np.random.default_rng(0).standard_gamma(cells.ravel() + 1, (DRAWS, 4))),
    )
    ratio = own / min(with_dirichlet, with_gamma)
    return f"{own:.2f} s, {ratio:.2f}×", ratio <= 2


def summarise_mcc(cells: np.ndarray, prob: float = 0.95) -> tuple[float, ...]:
    """Return mean, sd, median and highest-density interval of MCC over draws of cells, in NumPy."""
    tn, fp, fn, tp = cells.T
    mcc = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    ordered = np.sort(mcc)
    inside = int(prob * len(ordered))
    lower = int(np.argmin(ordered[inside:] - ordered[:-inside]))
    return mcc.mean(), mcc.std(), float(np.median(mcc)), ordered[lower], ordered[lower + inside]


# ── Many classes ──


def many_classes(classes: int, most: float) -> Verdict:
    runs = [apart("many_classes.py", str(classes)) for _ in range(3)]
    summary, intervals = (min(run[name] for run in runs) for name in ("summary", "per_class"))
    gigabytes = max(run["bytes"] for run in runs) / 1e9
    return f"{summary:.2f} s; {intervals:.2f} s, {gigabytes:.2f} GB", max(summary, intervals) <= most and gigabytes <= 2


# ── Dependent samples ──


def markov() -> Verdict:
    frames = bp.sequences.simulate(500, persistence=0.9)

    def summarise() -> None:
        recall = bp.sequences.posterior(frames["actual"], frames["predicted"], draws=10_000)["recall"]
        recall.mean()
        recall.hdi(0.95)

    time = in_turns(summarise, repeats=100)[0]
    return f"{1000 * time:.1f} ms", time <= 0.01


# ── Bootstrap ──


def bca_bootstrap() -> Verdict:
    found = apart("bootstrap.py")
    return f"{1000 * found['ours']:.0f} ms, {found['ratio']:.0f}×", found["ratio"] >= 100


# ── Coverage ──


def exact_coverage() -> Verdict:
    methods = ["wilson", "clopper_pearson", "agresti_coull_add2", "flat_eti", "jeffreys_eti"]
    rates = np.linspace(0.001, 0.999, 1000)
    time = in_turns(lambda: bp.studies.rate_coverage(100, methods, rates))[0]
    return f"{1000 * time:.0f} ms", time <= 0.5


# ── Comparison ──


def compare_systems() -> Verdict:
    found = min((apart("compare_systems.py") for _ in range(2)), key=lambda figures: figures["seconds"])
    gigabytes = found["bytes"] / 1e9
    return f"{found['seconds']:.1f} s, {gigabytes:.2f} GB", found["seconds"] <= 10 and gigabytes <= 1


def compare_drawn() -> Verdict:
    megabytes = apart("compare_drawn.py")["bytes"] / 1e6
    return f"{megabytes:.0f} MB", megabytes <= 500


def shrink_systems() -> Verdict:
    right = np.random.default_rng(0).binomial(200, 0.8, 1000)
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=right, fn=200 - right, fp=0, tn=0, dims=["model"]))
    work = lambda: bp.compare(post, metric="recall", independent=True, shrink=True)  # noqa: E731
    (time,) = in_turns(work, repeats=3, clock=process_time)
    return f"{time:.1f} s", time <= 2


def judged_together(systems: int, examples: int) -> bp.ConfusionMatrix:
    """Return counts of systems that err independently on the same examples."""
    rng = np.random.default_rng(0)
    actual = np.tile(rng.integers(2, size=examples), systems)
    predicted = np.where(rng.random(actual.size) < 0.15, 1 - actual, actual)
    by, example = {"model": np.repeat(np.arange(systems), examples)}, np.tile(np.arange(examples), systems)
    return bp.ConfusionMatrix.from_predictions(actual, predicted, by=by, example=example)


def pairs_on_the_same_examples() -> Verdict:
    cm = judged_together(200, 1000)
    (time,) = in_turns(lambda: bp.compare(cm, metric="accuracy", rope=0.01).prob_rope, repeats=3)
    return f"{time:.2f} s", time <= 2


def few_pairs_on_the_same_examples() -> Verdict:
    cm = judged_together(20, 1000)
    (time,) = in_turns(lambda: bp.compare(cm, metric="accuracy", rope=0.01).prob_rope, repeats=30, clock=process_time)
    return f"{1000 * time:.0f} ms", time <= 0.02


def many_classes_on_the_same_examples() -> Verdict:
    found = apart("paired_classes.py")
    gigabytes = found["bytes"] / 1e9
    measured = f"{found['accuracy']:.1f} s; {found['macro']:.1f} s, {gigabytes:.2f} GB"
    return measured, max(found["accuracy"], found["macro"]) <= 10 and gigabytes <= 2


def t_test() -> Verdict:
    a, b = np.random.default_rng(0).normal([[0.82], [0.81]], 0.03, (2, 100))
    work = lambda: bp.folds.correlated_ttest(a, b, test_fraction=0.1, rope=0.01).prob_rope  # noqa: E731
    (time,) = in_turns(work, repeats=300, clock=process_time)
    return f"{1000 * time:.2f} ms", time <= 3e-4


# ── Verification ──


def partly_verified() -> Verdict:
    """Time the posterior of systems with a judge of all, from counts, with a thousandth of the labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(10, size=1_000_000)
    names = ("judge", "a", "b", "c", "d", "e")
    said = {name: np.where(rng.random(truth.size) < 0.1, rng.integers(10, size=truth.size), truth) for name in names}
    judge, known = said.pop("judge"), rng.random(truth.size) < 0.001
    sample = bp.labels.VerifiedSample.from_predictions(np.where(known, truth, np.nan), said, judge=judge)
    (time,) = in_turns(lambda: bp.labels.verify(sample)["f1_macro"].hdi(), repeats=3, clock=process_time)
    return f"{time:.2f} s", time <= 2


# ── Curves ──


@cache
def curve_figures() -> dict[str, float]:
    return apart("curves.py")


def roc_band() -> Verdict:
    found = curve_figures()
    gigabytes = found["band_bytes"] / 1e9
    return f"{found['band']:.1f} s, {gigabytes:.2f} GB", found["band"] <= 10 and gigabytes <= 1


def roc_points() -> Verdict:
    found = curve_figures()
    measured = f"points {found['points']:.1f} s, DeLong {found['delong']:.1f} s"
    return measured, max(found["points"], found["delong"]) <= 15


def area_of_many() -> Verdict:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50_000)
    score = rng.normal(y)
    (time,) = in_turns(lambda: bp.roc_auc(y, score, draws=10_000), repeats=3)
    return f"{time:.2f} s", time <= 3


def areas_of_classes() -> Verdict:
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=100_000)
    odds = np.exp(rng.normal(size=(100_000, 5)) + np.eye(5)[y])
    y_probs = odds / odds.sum(1, keepdims=True)
    (time,) = in_turns(lambda: bp.roc_auc(y, y_probs, multi_class="ovr", draws=10_000), repeats=2)
    return f"{time:.2f} s", time <= 8


def binned_scores() -> Verdict:
    found = curve_figures()
    names = ("bins_counted", "bins_band", "bins_area")
    return " / ".join(f"{found[name]:.1f}" for name in names) + " s", max(found[name] for name in names) <= 5


# ── Samplers ──


SAMPLED = (
    "binormal_roc", "classes", "datasets", "groups", "groups, 3 classes", "groups, 5 systems", "groups_logit", "items",
    "markov", "markov, varying", "meta_analysis", "multinomial", "paired", "preferences", "prevalence", "raters",
    "raters, 3 classes", "raters, pooled", "rates", "readers", "recalibration", "recalibration, groups", "slices",
)  # fmt: skip
EXACT = ("binormal_roc", "classes", "groups", "markov", "multinomial", "paired", "rates", "recalibration")


def sampled(case: str) -> Verdict:
    """Fit where nothing that PyTensor compiles is on disk yet, as after an installation; then where it is, and again.

    A second process fits two data sets: its first fit is warm, its second is what a session's other fits take.
    """
    with tempfile.TemporaryDirectory() as folder:
        flags = f"base_compiledir={folder}"
        cold, warm = (apart("fits.py", case, "mcmc", PYTENSOR_FLAGS=flags) for _ in range(2))
    measured = (
        f"{cold['whole']:.0f} / {warm['whole']:.1f} / {warm['again']:.1f} s; sampling {warm['sampling']:.1f} s, "
        f"ESS {warm['ess']:.0f}, {warm['ess'] / warm['sampling']:.0f}/s, {warm['divergences']:.0f} divergences"
    )
    fast = cold["whole"] <= 30 and warm["whole"] <= 9 and warm["again"] <= 4
    mixes = case != "groups, 5 systems" or (warm["ess"] >= 1000 and warm["divergences"] == 0)
    return measured, fast and mixes


def exact(case: str) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        figures = apart("fits.py", case, "auto", PYTENSOR_FLAGS=f"base_compiledir={folder}")
    return f"{figures['whole']:.1f} s; again {figures['again']:.1f} s", figures["whole"] <= 5 and "ess" not in figures


def apart(script: str, *arguments: str, **environment: str) -> dict[str, float]:
    """Return the figures that a script of this folder prints, run in a process of its own.

    Bytecode is kept, as an installed package's is: to compile the source takes as long as all else of a small file.
    """
    program = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment}
    done = subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


# ── The command line ──


def command(rows: int, kind: str, words: str, most_seconds: float, most_bytes: float = 1e9) -> Verdict:
    repeats = 3 if rows <= 1000 else 1
    runs = [apart("command_line.py", str(rows), kind, words) for _ in range(repeats)]
    found = min(runs, key=lambda figures: figures["seconds"])
    measured = f"{found['seconds']:.2f} s, {found['bytes'] / 1e9:.2f} GB"
    return measured, found["seconds"] <= most_seconds and found["bytes"] <= most_bytes


# ── Pooling ──

# Right predictions in ten folds of a class, the folds' size, and logits of the mean rate between which its mass lies:
# ordinary, all right, large and equal.
POOLED_CASES = (
    ([33, 35, 34, 35, 33, 36, 36, 36, 35, 32], 36, (-1.0, 8.0)),
    ([20] * 10, 20, (0.0, 25.0)),
    ([90_000] * 10, 100_000, (2.0, 2.4)),
)


def pool() -> Verdict:
    """Time the worst case of two rows up to the draws of the mean, and compare figures with those of a plain grid."""
    slowest, error = 0.0, 0.0
    for right, size, logits in POOLED_CASES:
        counts = np.array(right)
        cells = np.stack([counts, size - counts, size - counts, counts], -1).reshape(-1, 2, 2)
        cm = bp.ConfusionMatrix.from_table(cells, dims=["fold"])
        slowest = max(slowest, *in_turns(lambda cm=cm: bp.pool(cm).mean, repeats=20))
        pooled = bp.pool(cm)
        recall = pooled.mean["recall"]
        found = [recall.mean(), recall.sd(), *recall.eti(0.95), pooled.dispersion.mean().sel(actual=1)]
        error = np.maximum(error, np.abs(np.array(found, float) - pool_by_grid(counts, size, logits)).max())
    return f"{500 * slowest:.1f} ms, error {error:.0e}", bool(slowest <= 0.05 and error <= 1e-3)


def pool_clusters() -> Verdict:
    rng = np.random.default_rng(0)
    y_true, cluster = rng.integers(10, size=10_000), rng.integers(1000, size=10_000)
    right = rng.random((20, 10_000)) < 0.8
    systems = {f"system {i}": np.where(of_one, y_true, rng.integers(10, size=10_000)) for i, of_one in enumerate(right)}
    cm = bp.ConfusionMatrix.from_predictions(y_true, systems, cluster=cluster)
    (time,) = in_turns(lambda: bp.pool(cm).mean, repeats=3)
    return f"{time:.2f} s", time <= 2


def pool_by_grid(right: np.ndarray, size: int, logits: tuple[float, float], nodes: int = 4 * 65) -> np.ndarray:
    """Return mean, sd and 95 % interval of the mean rate, and the mean dispersion, by 16 times as many nodes."""
    logit_p, logit_rho = np.linspace(*logits, nodes)[:, None], np.linspace(-26, 2, nodes)
    p, q, kappa = special.expit(logit_p), special.expit(-logit_p), np.exp(-logit_rho)
    log_density = special.log_expit(logit_p) + special.log_expit(-logit_p)
    log_density = log_density + special.log_expit(logit_rho) + 24 * special.log_expit(-logit_rho)
    for k in right:
        log_density += special.betaln(kappa * p + k, kappa * q + size - k) - special.betaln(kappa * p, kappa * q)
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()
    of_p, rates = mass.sum(1), p[:, 0]
    mean = of_p @ rates
    ends = np.interp([0.025, 0.975], np.cumsum(of_p) - of_p / 2, rates)
    return np.array([mean, np.sqrt(of_p @ (rates - mean) ** 2), *ends, mass.sum(0) @ special.expit(logit_rho)])


# ── The table ──

SAMPLED_BUDGET = {"groups, 5 systems": "≤ 30 / 9 / 4 s CPU, ESS ≥ 1000, no divergence"}

ROWS: list[Row] = [
    ("import bayesperf", "≤ 3× import scipy.stats, xarray", import_package),
    ("import and first summary", "≤ 3× import scipy.stats, xarray", import_and_summarise),
    ("count 10⁷ pairs of integers", "≤ 1 s", count_integers),
    ("count 10⁷ pairs of strings", "≤ 3 s", count_strings),
    ("count 5·10⁷ rows of Parquet, DuckDB", "≤ 1.3× its own group-by, ≤ 1 GB", partial(count_in_engine, "duckdb")),
    ("count 5·10⁷ rows of Parquet, Polars", "≤ 1.3× its own group-by, ≤ 1 GB", partial(count_in_engine, "polars")),
    ("10⁴ matrices × 6 closed forms: mean, HDI", "≤ 1 s, ≥ 50× a loop", closed_forms),
    ("F_2 by quadrature: cdf, HDI", "≤ 20 ms each, error ≤ 1e-7", f2),
    ("balanced accuracy by quadrature: cdf, HDI", "≤ 20 ms each, error ≤ 1e-7", balanced_accuracy),
    ("HTER by quadrature: cdf, HDI", "≤ 20 ms each, error ≤ 1e-7", hter),
    ("1,000 balanced accuracies: mean, sd, HDI", "≤ 1 s", balanced_accuracies),
    ("1,000 binary matrices: default summary", "≤ 2 s", default_summaries),
    ("10⁶ draws of MCC, summarised", "≤ 2× NumPy alone", mcc_draws),
    ("100 classes: summary; HDIs of F1 of each", "≤ 1 s CPU each, ≤ 2 GB", partial(many_classes, 100, 1)),
    ("1,000 classes: summary; HDIs of F1 of each", "≤ 10 s CPU each, ≤ 2 GB", partial(many_classes, 1000, 10)),
    ("50 systems × 6 metrics in pairs: P(a > b), ROPE, ranks", "≤ 10 s, ≤ 1 GB", compare_systems),
    ("100 systems by MCC in pairs: P(a > b), ROPE, loss, summary", "≤ 500 MB", compare_drawn),
    ("1,000 systems drawn towards their mean", "≤ 2 s CPU", shrink_systems),
    ("200 systems on the same examples in pairs: ROPE", "≤ 2 s", pairs_on_the_same_examples),
    ("20 systems on the same examples in pairs: ROPE", "≤ 20 ms CPU", few_pairs_on_the_same_examples),
    ("2 systems × 1,000 classes, same examples: accuracy; F1", "≤ 10 s CPU, ≤ 2 GB", many_classes_on_the_same_examples),
    ("correlated t-test of 100 splits with a ROPE", "≤ 0.3 ms CPU", t_test),
    ("5 systems × 10 classes, 10⁶ examples, 10³ verified, a judge", "≤ 2 s CPU beyond counting", partly_verified),
    ("exact coverage: 5 intervals, n = 100, 1,000 rates", "≤ 0.5 s", exact_coverage),
    ("BCa bootstrap of F1, N = 10⁴, 9,999 resamples", "≥ 100× resampling labels", bca_bootstrap),
    ("ROC of 10⁵ scores with a 95 % band, 1,000 draws", "≤ 10 s, ≤ 1 GB", roc_band),
    ("area of 10⁵ scores, 10,000 draws", "≤ 3 s", area_of_many),
    ("areas of 10⁵ examples of 5 classes, 10,000 draws", "≤ 8 s", areas_of_classes),
    ("ROC of 10⁷ scores: points; DeLong", "≤ 15 s each", roc_points),
    ("10⁷ scores in 1,000 bins: counted; band; area", "≤ 5 s each", binned_scores),
    ("bayesperf --help", "≤ 0.3 s CPU", partial(command, 0, "labels", "--help", 0.3)),
    ("bayesperf summary, 1,000 rows", "≤ 1.2 s CPU", partial(command, 1000, "labels", "summary", 1.2)),
    ("bayesperf summary, 10⁷ rows of Parquet", "≤ 1 GB", partial(command, 10_000_000, "labels", "summary", np.inf)),
    ("bayesperf report, 10⁷ rows of Parquet", "≤ 1 GB", partial(command, 10_000_000, "labels", "report", np.inf)),
    ("bayesperf report, 10⁵ scores", "≤ 8 s CPU", partial(command, 100_000, "scores", "report", 8)),
    ("bayesperf report, 10⁷ scores", "≤ 1 GB", partial(command, 10_000_000, "scores", "report", np.inf)),
    ("Markov posterior + recall, n = 500, 10,000 draws", "≤ 10 ms", markov),
    ("pool: one binary row over 10 folds", "≤ 25 ms, error ≤ 1e-3", pool),
    ("pool: 1,000 clusters, 20 systems, 10 classes", "≤ 2 s", pool_clusters),
]
# Their CPU time is measured, in processes of their own.
FITS: list[Row] = [
    *(
        (f"fit, sampled: {case}", SAMPLED_BUDGET.get(case, "≤ 30 / 9 / 4 s CPU"), partial(sampled, case))
        for case in SAMPLED
    ),
    *((f"fit, exact: {case}", "≤ 5 s CPU, whole process", partial(exact, case)) for case in EXACT),
]


def two_at_a_time(rows: list[Row]) -> Iterator[Verdict]:
    """Measure rows in pairs."""
    yield from Parallel(2, backend="threading", return_as="generator")(delayed(measure)() for _, _, measure in rows)


def main(words: list[str]) -> int:
    """Print the table; return 1 if a budget is missed, else 0."""
    alone, fits = ([row for row in rows if not words or any(word in row[0] for word in words)] for rows in (ROWS, FITS))
    chosen = alone + fits
    if not chosen:
        sys.exit(f"No row has any of these words: {' '.join(words)}.")
    verdicts = chain((measure() for _, _, measure in alone), two_at_a_time(fits))
    table = Table("work", "budget", "measured", "met", title="Speed budgets")
    missed = 0
    for work, budget, _ in track(chosen, "Measuring", transient=True):
        measured, met = next(verdicts)
        table.add_row(work, budget, measured, "yes" if met else "[red]no[/red]")
        missed += not met
    # A log has no width of its own.
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
