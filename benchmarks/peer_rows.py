"""The work that `peers.py` has done here and by other packages: a function a row, which returns a `Contest`.

Exact figures are computed apart from both: by mpmath to thirty digits, by numerical integration or by counting pairs.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import baycomp
import confidenceinterval
import MLstatkit
import mpmath
import numpy as np
from budgets import balanced_accuracy_integral, hdi_by_minimisation
from credible import metrics as credible_metrics
from credible.bayesian import utils as credible_utils
from prob_conf_mat import Study
from scipy import optimize, special
from sklearn import metrics as sklearn_metrics
from statsmodels.stats import contingency_tables, inter_rater
from statsmodels.stats import proportion as statsmodels_proportion

import bayesperf as bp

mpmath.mp.dps = 30

# Returns the figures that are compared with the exact ones.
Work = Callable[[], Any]


class Contest(NamedTuple):
    """The same work, done here and by others."""

    ours: Work
    # Works by name of the package.
    theirs: dict[str, Work]
    # The first of the figures without error, if they can be had.
    exact: Any = None
    # How the work of others differs, where it does.
    differs: str = ""
    # Where the time goes if the others are ahead, or what else the row shows.
    why: str = ""


# ── Data ──


def labels_of(n: int, classes: int = 2, right: float = 0.85, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return labels 0, 1, … and predictions of which a share is right, the others random."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(classes, size=n)
    return y_true, np.where(rng.random(n) < right, y_true, rng.integers(classes, size=n))


def scored(n: int, systems: int = 1) -> tuple[np.ndarray, ...]:
    """Return labels and the normal scores of some systems."""
    rng = np.random.default_rng(0)
    y_true = rng.integers(2, size=n)
    return y_true, *(rng.normal(1.2 * y_true) for _ in range(systems))


def tabulated(y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    """Return the confusion matrix of labels 0, 1, …, by NumPy."""
    classes = int(y_true.max()) + 1
    return np.bincount(classes * y_true + y_pred, minlength=classes**2).reshape(classes, classes)


def cells_of_matrices(n: int) -> dict[str, np.ndarray]:
    """Return random cells of binary matrices."""
    return dict(zip(("tp", "fn", "fp", "tn"), np.random.default_rng(0).integers(5, 200, (4, n)), strict=True))


# ── Exact figures ──


def beta_quantile(q: float, a: float, b: float) -> Any:
    """Return a quantile of Beta(a, b)."""
    start = special.betaincinv(a, b, float(q))
    nearby = start, start * (1 - 1e-6)
    return mpmath.findroot(lambda x: mpmath.betainc(a, b, 0, x, regularized=True) - mpmath.mpf(q), nearby, tol=1e-24)


def beta_hdi(a: float, b: float, prob: float = 0.95) -> list[Any]:
    """Return the interval of Beta(a, b) that holds a probability between two points of the same density."""
    start = hdi_by_minimisation(lambda q, a, b: special.betaincinv(a, b, q), a, b)

    def conditions(low: Any, high: Any) -> list[Any]:
        mass = mpmath.betainc(a, b, low, high, regularized=True)
        return [
            mass - mpmath.mpf(str(prob)),
            (a - 1) * mpmath.log(low / high) + (b - 1) * mpmath.log((1 - low) / (1 - high)),
        ]

    return list(mpmath.findroot(conditions, start, tol=1e-24))


def wilson_limits(k: int, n: int) -> list[Any]:
    """Return Wilson's 95 % interval."""
    z, p = mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf("0.95")), mpmath.mpf(int(k)) / int(n)
    middle, half = p + z**2 / (2 * int(n)), z * mpmath.sqrt(p * (1 - p) / int(n) + (z / (2 * int(n))) ** 2)
    return [(middle + sign * half) / (1 + z**2 / int(n)) for sign in (-1, 1)]


def placements(y_true: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of negatives below each positive and of positives above each negative, pair by pair."""
    wins = np.heaviside(score[y_true == 1][:, None] - score[y_true == 0], 0.5)
    return wins.mean(1), wins.mean(0)


def delong_variance(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> float:
    """Return DeLong's covariance of two areas, from their placements."""
    return sum(np.cov(x, y)[0, 1] / len(x) for x, y in zip(a, b, strict=True))


def around(value: float, sd: float) -> list[float]:
    """Return a value with its normal 95 % limits."""
    return [value, *(value + sign * special.ndtri(0.975) * sd for sign in (-1, 1))]


def ideal_bootstrap_of_f1(tp: int, errors: int, n: int) -> list[float]:
    """Return 95 % percentile limits of F1 over all resamples: every number of true positives and errors, weighted."""
    x, y = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    x, y = (values[(x + y <= n) & (x + y > 0)] for values in (x, y))
    rest = n - x - y
    log_mass = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(y + 1) - special.gammaln(rest + 1)
    log_mass += special.xlogy(x, tp / n) + special.xlogy(y, errors / n) + special.xlogy(rest, (n - tp - errors) / n)
    f1 = 2 * x / (2 * x + y)
    order = np.argsort(f1)
    below = np.cumsum(np.exp(log_mass[order]))
    return [f1[order][np.searchsorted(below, q)] for q in (0.025, 0.975)]


# ── Counting ──


def counting(n: int, classes: int, strings: bool) -> Contest:
    y_true, y_pred = labels_of(n, classes)
    exact = tabulated(y_true, y_pred)
    if strings:
        names = np.array([f"class {k}" for k in range(classes)])
        y_true, y_pred = names[y_true], names[y_pred]
    return Contest(
        lambda: bp.ConfusionMatrix.from_predictions(y_true, y_pred).counts.values,
        {"scikit-learn": lambda: sklearn_metrics.confusion_matrix(y_true, y_pred)},
        exact,
    )


def mcc_of_labels() -> Contest:
    y_true, y_pred = labels_of(1_000_000)
    (tn, fp), (fn, tp) = tabulated(y_true, y_pred).tolist()
    exact = (tp * tn - fp * fn) / mpmath.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return Contest(
        lambda: bp.score(bp.ConfusionMatrix.from_predictions(y_true, y_pred), "mcc").values,
        {"scikit-learn": lambda: sklearn_metrics.matthews_corrcoef(y_true, y_pred)},
        exact,
    )


# ── Rates ──


def wilson() -> Contest:
    n = np.random.default_rng(0).integers(1, 500, 100_000)
    k = np.random.default_rng(1).binomial(n, 0.8)
    return Contest(
        lambda: bp.intervals.proportion(k, n),
        {"statsmodels": lambda: np.stack(statsmodels_proportion.proportion_confint(k, n, method="wilson"), -1)},
        [wilson_limits(*pair) for pair in zip(k[:20], n[:20], strict=True)],
        why="The lower limit is made so that it loses no digits near 0; counts are checked to be whole and in range, "
        "and an interval without width is warned of.",
    )


def clopper_pearson() -> Contest:
    n = np.random.default_rng(0).integers(50, 500, 20_000)
    k = np.random.default_rng(1).binomial(n, 0.8)
    exact = [
        [beta_quantile(0.025, int(a), int(b - a + 1)), beta_quantile(0.975, int(a + 1), int(b - a))]
        for a, b in zip(k[:20], n[:20], strict=True)
    ]
    return Contest(
        lambda: bp.intervals.proportion(k, n, method="clopper_pearson"),
        {"statsmodels": lambda: np.stack(statsmodels_proportion.proportion_confint(k, n, method="beta"), -1)},
        exact,
        why="Nearly all of the time of both is that of the same quantiles of SciPy's; ours checks the counts as well.",
    )


def newcombe() -> Contest:
    n_a, n_b = np.random.default_rng(0).integers(20, 500, (2, 100_000))
    k_a, k_b = np.random.default_rng(1).binomial([n_a, n_b], [[0.8], [0.7]])
    exact = []
    for counts in zip(k_a[:20], n_a[:20], k_b[:20], n_b[:20], strict=True):
        (low_a, high_a), (low_b, high_b) = wilson_limits(*counts[:2]), wilson_limits(*counts[2:])
        a, b = (mpmath.mpf(int(counts[i])) / int(counts[i + 1]) for i in (0, 2))
        exact.append([a - b - mpmath.hypot(a - low_a, high_b - b), a - b + mpmath.hypot(high_a - a, b - low_b)])
    peer = statsmodels_proportion.confint_proportions_2indep
    return Contest(
        lambda: bp.intervals.proportion_difference(k_a, n_a, k_b, n_b),
        {"statsmodels": lambda: np.stack(peer(k_a, n_a, k_b, n_b, method="newcomb"), -1)},
        exact,
        why="The same of the two Wilson intervals that it is made of.",
    )


def equal_tails() -> Contest:
    cells = cells_of_matrices(1000)
    cm = bp.ConfusionMatrix.from_counts(**cells)
    k, n = cells["tp"], cells["tp"] + cells["fn"]
    exact = [
        [beta_quantile(q, int(a) + 0.5, int(b - a) + 0.5) for q in (0.025, 0.975)]
        for a, b in zip(k[:20], n[:20], strict=True)
    ]
    return Contest(
        lambda: bp.posterior(cm, "jeffreys")["recall"].eti(0.95).values,
        {"statsmodels": lambda: np.stack(statsmodels_proportion.proportion_confint(k, n, method="jeffreys"), -1)},
        exact,
        why="Quantiles take both as long. The rest makes and labels the posterior of whole matrices, of which every "
        "other metric may be asked; `intervals.proportion` is the same work without it.",
    )


def highest_density() -> Contest:
    cells = cells_of_matrices(1000)
    cm = bp.ConfusionMatrix.from_counts(**cells)
    rates = list(zip(cells["tp"] + 0.5, cells["fn"] + 0.5, strict=True))
    return Contest(
        lambda: bp.posterior(cm, "jeffreys")["recall"].hdi(0.95).values,
        {"SciPy": lambda: [hdi_by_minimisation(lambda q, a, b: special.betaincinv(a, b, q), *rate) for rate in rates]},
        [beta_hdi(*rate) for rate in rates[:5]],
        differs="a loop of `minimize_scalar` over `betaincinv`, as one would write it",
    )


# ── Posteriors ──


def f1_of_labels() -> Contest:
    y_true, y_pred = labels_of(10_000)
    (_, fp), (fn, tp) = tabulated(y_true, y_pred).tolist()
    # F1 = 2J/(1 + J) of the Jaccard index J.
    exact = [2 * j / (1 + j) for j in (beta_quantile(q, tp + 1, fp + fn + 2) for q in (0.025, 0.975))]
    rng = np.random.default_rng(0)
    return Contest(
        lambda: bp.posterior(y_true, y_pred, prior=bp.prior.rate(1, 1))["f1"].eti(0.95).values,
        {"credible": lambda: credible_metrics.f1_score(y_true, y_pred, rng=rng)[2:]},
        exact,
    )


def summaries_of_two_classes() -> Contest:
    table = [[90, 10], [5, 45]]
    cm = bp.ConfusionMatrix.from_table(table)
    j = beta_quantile(0.5, 45.5, 16)
    low, high = 0.6, 1.0
    middle = optimize.brentq(
        lambda t: balanced_accuracy_integral(t, 45.5, 5.5, 10.5, 90.5) - 0.5, low, high, xtol=1e-10
    )

    def peer() -> list[float]:
        study = Study(seed=0, num_samples=10_000, ci_probability=0.95)
        study.add_experiment("a/a", table, prevalence_prior=1.0, confusion_prior=0.5)
        medians = []
        for metric, label in (("f1", 1), ("ba", None), ("mcc", None)):
            study.add_metric(metric)
            medians.append(study.report_metric_summaries(metric, label, table_fmt="records")[0][3])
        return medians

    return Contest(
        lambda: bp.posterior(cm, "jeffreys").summary(["f1", "balanced_accuracy", "mcc"])["median"].to_numpy(),
        {"prob_conf_mat": peer},
        [2 * j / (1 + j), middle],
        differs="10,000 draws there; quadrature and closed forms here",
        why="Three posteriors without Monte Carlo error: MCC alone integrates over all matrices.",
    )


def macro_f1_of_ten_classes() -> Contest:
    table = tabulated(*labels_of(2000, 10, 0.8))
    cm = bp.ConfusionMatrix.from_table(table)

    def mean_of(k: int) -> Any:
        tp, errors = int(table[k, k]), int(table[k].sum() + table[:, k].sum() - 2 * table[k, k])
        a, b = tp + 0.5, errors + 9.0
        density = lambda j: 2 * j / (1 + j) * j ** (a - 1) * (1 - j) ** (b - 1) / mpmath.beta(a, b)  # noqa: E731
        return mpmath.quad(density, np.linspace(0, 1, 41).tolist())

    def peer() -> float:
        study = Study(seed=0, num_samples=10_000, ci_probability=0.95)
        study.add_experiment("a/a", table, prevalence_prior=5.0, confusion_prior=0.5)
        study.add_metric("f1@macro")
        study.report_metric_summaries("f1@macro", table_fmt="records")
        return study.get_metric_samples("f1@macro", "a/a", "posterior").values.mean()

    return Contest(
        lambda: bp.posterior(cm, "jeffreys", draws=10_000).summary(["f1_macro"])["mean"].to_numpy(),
        {"prob_conf_mat": peer},
        [sum(map(mean_of, range(10))) / 10],
        differs="10,000 draws in both",
        why="Draws take both as long; ours adds the standard deviation and the Monte Carlo error.",
    )


# ── Two systems ──


def greater_recall() -> Contest:
    a, b = (45, 5), (40, 10)
    one, other = (bp.posterior(bp.ConfusionMatrix.from_counts(tp=k, fn=n, fp=10, tn=90)) for k, n in (a, b))
    x, y = ([float(count) + 0.5 for count in counts] for counts in (a, b))
    density = lambda p: p ** (x[0] - 1) * (1 - p) ** (x[1] - 1) / mpmath.beta(*x)  # noqa: E731
    exact = mpmath.quad(lambda p: density(p) * mpmath.betainc(*y, 0, p, regularized=True), [0, 0.7, 0.8, 0.9, 1])
    rng = np.random.default_rng(0)
    return Contest(
        lambda: bp.compare(one, other, metric="recall").prob_greater.values,
        {"credible": lambda: credible_utils.compare_beta_posteriors(*a, *b, 0.5, 100_000, rng)},
        exact,
        differs="100,000 draws there, its default; quadrature here",
    )


def labels_of_two(n: int = 10_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels 0 and 1, and the predictions of two systems."""
    y_true, a = labels_of(n, right=0.8)
    return y_true, a, np.where(np.random.default_rng(1).random(n) < 0.895, y_true, 1 - y_true)


def right_alone(y_true: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[int, int]:
    """Return on how many examples only the first system is right, and on how many only the second."""
    return int(((a == y_true) & (b != y_true)).sum()), int(((a != y_true) & (b == y_true)).sum())


def probability_of_more(first: int, second: int) -> Any:
    """Return P(accuracy a > accuracy b), given on how many examples only one of the systems is right."""
    return mpmath.betainc(second + 0.5, first + 0.5, 0, mpmath.mpf("0.5"), regularized=True)


def paired() -> Contest:
    y_true, a, b = labels_of_two()
    rng = np.random.default_rng(0)

    def peer() -> Any:
        alike = int(((a == y_true) == (b == y_true)).sum())
        counts = (*right_alone(y_true, a, b), alike)
        return credible_utils.compare_systems(counts, (0.5, 0.5, 0.5), 100_000, rng)

    return Contest(
        lambda: bp.compare(
            bp.ConfusionMatrix.from_predictions(y_true, {"a": a, "b": b}), metric="accuracy"
        ).prob_greater.values[0, 1],
        {"credible": peer},
        probability_of_more(*right_alone(y_true, a, b)),
        differs="100,000 draws there",
        why="Here labels of any kind are encoded and every outcome of both systems is counted, for any metric; "
        "the peer has NumPy compare integers.",
    )


def paired_counts() -> Contest:
    y_true, a, b = labels_of_two()
    first, second = right_alone(y_true, a, b)
    table = [[0, first], [second, 0]]
    cm = bp.ConfusionMatrix.from_predictions(y_true, {"a": a, "b": b})
    return Contest(
        lambda: bp.compare(cm, metric="accuracy").prob_greater.values[0, 1],
        {"statsmodels": lambda: 1 - contingency_tables.mcnemar(table, exact=True).pvalue / 2},
        probability_of_more(first, second),
        differs="A matrix of both systems is given here, the 2 × 2 table of right and wrong there, both made before; "
        "McNemar's exact test answers another question",
        why="The peer returns one number. Ours counts successes from the matrix for any metric, checks the prior, and "
        "labels an array of both systems, whatever the number of examples. A matrix keeps the labels of its pairs: its "
        "first comparison takes three times as long.",
    )


def correlated_t() -> Contest:
    rng = np.random.default_rng(0)
    a = rng.normal(0.82, 0.03, 100)
    b = a - rng.normal(0.004, 0.02, 100)
    difference = [mpmath.mpf(float(x)) - mpmath.mpf(float(y)) for x, y in zip(a, b, strict=True)]
    mean = sum(difference) / 100
    variance = sum((d - mean) ** 2 for d in difference) / 99 * (mpmath.mpf(1) / 100 + mpmath.mpf(1) / 9)

    def below(x: float) -> Any:
        t = (mpmath.mpf(str(x)) - mean) / mpmath.sqrt(variance)
        tail = mpmath.betainc(99 / 2, 0.5, 0, 99 / (99 + t**2), regularized=True) / 2
        return tail if t < 0 else 1 - tail

    low, high = below(-0.01), below(0.01)
    return Contest(
        lambda: bp.folds.correlated_ttest(a, b, test_fraction=0.1, rope=0.01).prob_rope.values,
        {"baycomp": lambda: baycomp.CorrelatedTTest.probs(b, a, rope=0.01, runs=10)},
        [low, high - low, 1 - high],
        why="The arithmetic is the same two calls of a t distribution function. Ours checks the scores, which "
        "the peer does not, and labels arrays, whatever the number of splits.",
    )


def mean_scores(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.uniform(0.6, 0.95, n).round(3)
    return a, (a - rng.normal(0.01, 0.02, n)).round(3)


def sign() -> Contest:
    a, b = mean_scores()
    difference = (a - b).round(6)
    below, above = int((difference < -0.01).sum()), int((difference > 0.01).sum())
    return Contest(
        lambda: bp.folds.sign_test(a, b, rope=0.01, draws=50_000).prob_rope.values,
        {"baycomp": lambda: baycomp.SignTest.sample(b.round(6), a.round(6), rope=0.01).mean(0)},
        [Fraction(below, 31), Fraction(31 - below - above, 31), Fraction(above, 31)],
        differs="50,000 draws in both; exact probabilities here. Differences of 0.010 are on the edge of the rope, "
        "0.01, off which rounding takes some of the peer's",
        why="Draws take both as long; ours adds labels and the exact integral, whatever the number of data sets.",
    )


def signed_rank() -> Contest:
    a, b = mean_scores()
    z, weight = [0, *(a - b).round(6)], [Fraction(1, 2), *[Fraction(1)] * len(a)]
    total = sum(weight)
    exact = [Fraction(0)] * 3
    for i, of_i in enumerate(weight):
        for j, of_j in enumerate(weight):
            share = of_i * (of_j + (i == j)) / (total * (total + 1))
            middle = round((z[i] + z[j]) / 2, 6)
            ends = [(-0.01, 0, 1), (0.01, 1, 2)]
            at_end = [regions for end, *regions in ends if middle == end]
            for region in at_end[0] if at_end else [0 if middle < -0.01 else 2 if middle > 0.01 else 1]:
                exact[region] += share / (2 if at_end else 1)
    return Contest(
        lambda: bp.folds.signed_rank_test(a, b, rope=0.01, draws=50_000).prob_rope.values,
        {"baycomp": lambda: baycomp.SignedRankTest.sample(b, a, rope=0.01).mean(0)},
        exact,
        differs="50,000 draws in both; the rope's edge as above",
    )


# ── Areas ──


def delong() -> Contest:
    y_true, score = scored(10_000)
    of_score = placements(y_true, score)
    exact = around(of_score[0].mean(), delong_variance(of_score, of_score) ** 0.5)

    def ours() -> np.ndarray:
        area = bp.roc_auc(y_true, score, method="delong")
        return np.append(area.mean().values, area.eti(0.95).values)

    def peer() -> list[float]:
        value, limits = confidenceinterval.roc_auc_score(y_true, score)
        return [value, *limits]

    return Contest(ours, {"confidenceinterval": peer}, exact)


def delong_of_two() -> Contest:
    y_true, a, b = scored(10_000, 2)
    of_a, of_b = placements(y_true, a), placements(y_true, b)
    variance = delong_variance(of_a, of_a) + delong_variance(of_b, of_b) - 2 * delong_variance(of_a, of_b)
    exact = abs(of_a[0].mean() - of_b[0].mean()) / variance**0.5

    def ours() -> float:
        difference = bp.compare(bp.roc_auc(y_true, {"a": a, "b": b}, method="delong")).difference
        return abs((difference.mean() / difference.sd()).item())

    return Contest(ours, {"MLstatkit": lambda: abs(MLstatkit.Delong_test(y_true, a, b)[0])}, exact)


def bootstrapped_area() -> Contest:
    y_true, score = scored(3_000)

    def ml_stat_kit() -> tuple[float, ...]:
        # Its bar of progress cannot be turned off.
        with contextlib.redirect_stderr(io.StringIO()):
            return MLstatkit.Bootstrapping(y_true, score, "roc_auc", n_bootstraps=1000)[1:]

    def confidence_interval() -> tuple[float, ...]:
        return confidenceinterval.roc_auc_score(y_true, score, method="bootstrap_percentile", n_resamples=1000)[1]

    return Contest(
        lambda: bp.roc_auc(y_true, score, draws=1000).eti(0.95).values,
        {"MLstatkit": ml_stat_kit, "confidenceinterval": confidence_interval},
        differs="weights of the Bayesian bootstrap here, resampled examples there; both 1,000",
    )


def points_of_roc() -> Contest:
    y_true, score = scored(1_000_000)

    def peer() -> Any:
        return sklearn_metrics.roc_curve(y_true, score, drop_intermediate=False)

    def ours() -> Any:
        curve = bp.roc_curve(y_true, score).dataset
        return [curve["fpr"].values, curve["recall"].values]

    return Contest(
        ours, {"scikit-learn": lambda: peer()[:2]}, why="Labels of any kind are encoded first, and the points labelled."
    )


def band_of_roc() -> Contest:
    y_true, score = scored(3_000)
    return Contest(
        lambda: bp.roc_curve(y_true, score, method="beta").band(),
        {"credible": lambda: credible_metrics.roc_curve(y_true, score)},
        differs="3,001 thresholds here, the corners of the curve, a third of them, there",
    )


# ── Confidence intervals from labels ──


def accuracy() -> Contest:
    y_true, y_pred = labels_of(100_000)
    return Contest(
        lambda: rate_of_matrix(bp.ConfusionMatrix.from_predictions(y_true, y_pred)),
        {"confidenceinterval": lambda: confidenceinterval.accuracy_score(y_true, y_pred)[1]},
        wilson_limits((y_true == y_pred).sum(), len(y_true)),
        why="Both classes are counted, for any metric, where the peer only compares integers.",
    )


def rate_of_matrix(cm: bp.ConfusionMatrix) -> np.ndarray:
    """Return Wilson's interval of accuracy."""
    counts = cm.counts.values
    return bp.intervals.proportion(np.trace(counts), counts.sum())


def delta_of_f1() -> Contest:
    y_true, y_pred = labels_of(100_000)
    (_, fp), (fn, tp) = tabulated(y_true, y_pred).tolist()
    f1 = 2 * tp / (2 * tp + fp + fn)
    sd = (f1 * (1 - f1) * (2 - f1) / (2 * tp + fp + fn)) ** 0.5
    return Contest(
        lambda: bp.intervals.delta(bp.ConfusionMatrix.from_predictions(y_true, y_pred), "f1").values,
        {"confidenceinterval": lambda: confidenceinterval.f1_score(y_true, y_pred, average="binary")[1]},
        around(f1, sd)[1:],
        differs="the same delta method; the peer's variance is wrong, as its error shows",
        why="Any metric's derivative is taken by complex steps and the limits are labelled.",
    )


def delta_of_macro_f1() -> Contest:
    y_true, y_pred = labels_of(100_000, 10)
    p = tabulated(y_true, y_pred) / len(y_true)
    # Takahashi et al. (2022), by the gradient of the mean of 2 p_kk/(r_k + c_k).
    total = p.sum(0) + p.sum(1)
    f1 = 2 * np.diag(p) / total
    gradient = -np.add.outer(f1 / total, f1 / total) / 10
    np.fill_diagonal(gradient, 2 * (1 - f1) / total / 10)
    sd = ((p * gradient**2).sum() / len(y_true)) ** 0.5
    return Contest(
        lambda: bp.intervals.delta(bp.ConfusionMatrix.from_predictions(y_true, y_pred), "f1_macro").values,
        {"confidenceinterval": lambda: confidenceinterval.f1_score(y_true, y_pred, average="macro")[1]},
        around(f1.mean(), sd)[1:],
        differs="the same delta method; the peer's variance is wrong, as its error shows",
        why="Any metric's derivative is taken by complex steps and the limits are labelled.",
    )


def delta_of_kappa() -> Contest:
    table = np.array([[90, 10, 5], [5, 45, 7], [2, 6, 60]])
    cm = bp.ConfusionMatrix.from_table(table)
    p = table / table.sum()
    rows, columns = p.sum(1), p.sum(0)
    agreed, expected = np.trace(p), rows @ columns
    kappa = (agreed - expected) / (1 - expected)
    # Fleiss, Cohen & Everitt (1969), by the gradient.
    gradient = np.eye(3) / (1 - expected) - (1 - agreed) / (1 - expected) ** 2 * np.add.outer(columns, rows)
    sd = (((p * gradient**2).sum() - (p * gradient).sum() ** 2) / table.sum()) ** 0.5

    def peer() -> list[float]:
        found = inter_rater.cohens_kappa(table)
        return [found.kappa_low, found.kappa_upp]

    return Contest(
        lambda: bp.intervals.delta(cm, "cohen_kappa").values,
        {"statsmodels": peer},
        around(kappa, sd)[1:],
        why="Any metric's derivative is taken by complex steps and the limits are labelled; the peer writes out "
        "kappa's variance. Neither grows with the number of examples.",
    )


def bootstrapped_f1() -> Contest:
    y_true, y_pred = labels_of(1000)
    (_, fp), (fn, tp) = tabulated(y_true, y_pred).tolist()
    peer = confidenceinterval.f1_score
    options = {"average": "binary", "method": "bootstrap_percentile", "n_resamples": 1000}

    def ours() -> np.ndarray:
        cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred)
        return bp.intervals.bootstrap(cm, "f1", n_resamples=1000, random_seed=0).values

    return Contest(
        ours,
        {"confidenceinterval": lambda: peer(y_true, y_pred, **options, random_state=np.random.default_rng(0))[1]},
        ideal_bootstrap_of_f1(tp, fp + fn, len(y_true)),
        differs="1,000 resamples in both; the error is mostly Monte Carlo",
    )
