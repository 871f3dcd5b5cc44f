"""Every public figure, in forms that are hard to lay out: long names, many places, ratios, small panels."""

from functools import cache

import numpy as np
import xarray as xr
from scipy.special import ndtr
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bayesperf as bp
from bayesperf import plots, studies
from tests.shared.areas import reads
from validation import areas
from validation.study import run

LONG = [f"a system with a long name, of the {n} kind" for n in ("first", "second", "third")]
BREEDS = [f"{a} {b}" for a in ("Irish", "Old English", "Bernese", "Nova Scotia") for b in
          ("setter", "sheepdog", "mountain dog", "duck tolling retriever")]  # fmt: skip
RNG = np.random.default_rng(0)
BINARY = bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30)
SMALL = bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=1, tn=4)


def tables(count, dim, names, classes=2, labels=None):
    """Return as many matrices, mostly of right predictions."""
    rng = np.random.default_rng(0)
    table = rng.integers(1, 6, (count, classes, classes)) + rng.integers(10, 30, (count, classes, 1)) * np.eye(
        classes, dtype=int
    )
    return bp.ConfusionMatrix.from_table(table, labels=labels, dims={dim: names})


def classes(count, names=None, size=20):
    rng = np.random.default_rng(0)
    table = rng.poisson(0.8, (count, count)) + np.diag(rng.integers(1, size, count))
    return bp.ConfusionMatrix.from_table(table, labels=names)


SYSTEMS = tables(3, "model", LONG)
FOLDS = bp.ConfusionMatrix.from_table(RNG.integers(2, 20, (3, 10, 2, 2)), dims={"model": LONG, "fold": list(range(10))})
MANY = tables(14, "model", [f"system {i}" for i in range(14)])
FIFTY = tables(50, "model", [f"{LONG[0]} {i}" for i in range(50)])
DOGS = classes(16, BREEDS)
SYSTEMS_OF_DOGS = tables(3, "model", LONG, 16, BREEDS)
Y = np.repeat([0, 1], 150)
SHARES = xr.DataArray(RNG.dirichlet([2, 3, 4], 500), {"rope": ["below", "inside", "above"]}, ["draw", "rope"])
GRID = np.linspace(0.1, 0.9, 5)
SCORES = [RNG.normal(1.5 * Y) for _ in range(8)]


@cache
def roc(i=0, make=bp.roc_curve):
    return make(Y, SCORES[i], draws=100)


def decisions(count, **options):
    probs = {f"{LONG[i % 3]} {i}": ndtr(SCORES[i] - 0.75) for i in range(count)}
    of_systems = probs if count > 1 else probs.popitem()[1]
    return bp.decision_curve(Y, of_systems, draws=100, **options)


@cache
def epcs():
    dev, test = ((Y, dict(zip(LONG, pair, strict=False))) for pair in (SCORES[:2], (SCORES[-1], SCORES[-2])))
    return bp.curves.epc(dev, test, alphas=np.linspace(0, 1, 21), draws=50)


def epc(i=0):
    return bp.curves.epc((Y, SCORES[i]), (Y, SCORES[-1 - i]), alphas=np.linspace(0, 1, 21), draws=50)


@cache
def compared(cm, metric="f1", **options):
    return bp.compare(bp.posterior(cm), metric=metric, independent=True, **options)


@cache
def pooled(cm):
    return bp.pool(cm)


@cache
def splits():
    X, y = make_classification(200, random_state=0)
    return studies.repeated_splits(
        GaussianNB(), X, y, ["accuracy", "f1", "mcc"], [0.5, 0.9], simulations=10, draws=50, keep_draws=40
    )


@cache
def covered():
    rates = xr.DataArray([0.1, 0.5], {"prevalence": [0.1, 0.5]}, "prevalence")
    cells = studies.binary_cells(prevalence=rates, recall=0.9, specificity=0.9)
    return studies.coverage(cells, "f1", [10, 60], ["flat_hdi", "flat_eti", "wald", "wilson"], simulations=50)


def monitored(names=None):
    rng = np.random.default_rng(0)
    table = rng.integers(3, 12, (6, 2, 2)) if names is None else rng.integers(3, 12, (6, len(names), 2, 2))
    return bp.monitor(
        bp.ConfusionMatrix.from_table(table, dims={"step": range(6)} | ({"model": names} if names else {})),
        0.7,
        "recall",
    )


def autocorrelated():
    return bp.sequences.autocorrelation(np.repeat([0, 1], 60), np.repeat([0, 1, 0, 1], 30))


def calibrated():
    rng = np.random.default_rng(0)
    levels, parameters = (
        np.linspace(0, 1, 21),
        ["recall", "specificity", "prevalence", "dispersion of recall", "new group", "x", "y"],
    )
    ecdf = xr.DataArray(
        np.clip(levels + rng.normal(0, 0.02, (7, 21)), 0, 1), {"parameter": parameters, "level": levels}
    )
    band = xr.DataArray(np.stack([levels - 0.1, levels + 0.1]), {"ci_bound": ["lower", "upper"], "level": levels})
    facts = {"model": "groups", "prob": 0.95}
    return xr.Dataset({"ecdf": ecdf, "band": band, "ranks": ("simulation", np.zeros(100))}, attrs=facts)


def reliable(seed=0, of=bp.reliability_curve, **options):
    rng = np.random.default_rng(seed)
    probability = rng.uniform(0.01, 0.99, 80)
    return of(rng.random(80) < probability**2, probability, **options)


def calibration_of_classes():
    rng = np.random.default_rng(0)
    probability = rng.dirichlet(np.ones(3), 100)
    return bp.curves.calibration(np.array(LONG)[rng.integers(3, size=100)], probability, labels=LONG, draws=100)


def labels_to_add():
    truth, judge, predicted = np.random.default_rng(0).integers(0, 2, (3, 400))
    post = bp.labels.verify(np.where(np.arange(400) < 80, truth, np.nan), predicted, judge=judge, draws=200)
    return bp.labels.next_labels(post, 40, metric="f1")


FIGURES = {
    "density": lambda: plots.density(bp.posterior(SMALL)["recall"]),
    "density of a ratio": lambda: plots.density(bp.posterior(BINARY)["lr+"]),
    "density of systems": lambda: plots.density(bp.posterior(SYSTEMS)["f1"]),
    "density of many": lambda: plots.density(bp.posterior(MANY)["recall"]),
    "density of many ratios": lambda: plots.density(bp.posterior(MANY)["lr+"]),
    "labels to add": lambda: plots.next_labels(labels_to_add()),
    "panel": lambda: bp.posterior(SMALL).plot(),
    "panel of ratios": lambda: bp.posterior(SYSTEMS).plot(["lr+", "dor", "recall"]),
    "panel of folds": lambda: bp.posterior(FOLDS).plot(["recall", "f1"]),
    "forest of folds": lambda: bp.posterior(FOLDS)["recall"].plot(),
    "forest of classes": lambda: bp.posterior(DOGS)["recall_per_class"].plot(),
    "forest of classes and systems": lambda: bp.posterior(SYSTEMS_OF_DOGS)["f1_per_class"].plot(),
    "forest of ratios": lambda: plots.forest(bp.posterior(MANY)["lr+"]),
    "confusion matrix": lambda: SMALL.plot(),
    "confusion matrix of dogs": lambda: DOGS.plot(),
    "confusion matrices": lambda: SYSTEMS.plot(),
    "confusion matrix of 40 classes": lambda: classes(40, [f"class number {i}" for i in range(40)]).plot(),
    "confusion matrix of 100 classes": lambda: classes(100).plot(),
    "difference": lambda: compared(tables(2, "model", LONG[:2]), rope=0.02).plot(),
    "differences": lambda: plots.difference(compared(FOLDS, rope=0.02)),
    "comparison of three": lambda: compared(SYSTEMS).plot(),
    "comparison of many": lambda: compared(MANY).plot(),
    "comparison of folds": lambda: compared(FOLDS).plot(),
    "prob_matrix": lambda: plots.prob_matrix(compared(MANY)),
    "ranks": lambda: plots.ranks(compared(MANY)),
    "standings": lambda: plots.standings(compared(MANY)),
    "standings of shrunk systems": lambda: plots.standings(compared(MANY, shrink=True)),
    "standings of fifty": lambda: plots.standings(compared(FIFTY, shrink=True)),
    "simplex": lambda: plots.simplex(
        SHARES, names=LONG[:2], rope=0.01,
    ),
    "curve": lambda: roc().plot(thresholds=[0.5, roc().operating_point(fpr=0.1)["threshold"]], break_even=True),
    "curves": lambda: bp.roc_curve(Y, dict(zip(LONG, SCORES, strict=False)), draws=100).plot(kind="simultaneous"),
    "curves apart": lambda: plots.curve({f"{LONG[0]} {i}": roc(i) for i in range(7)}),
    "precision–recall": lambda: roc(0, bp.precision_recall_curve).plot(break_even=True, thresholds=0.5),
    "det": lambda: roc(0, bp.curves.det_curve).plot(method="wilson", break_even=True),
    "chosen threshold": lambda: bp.choose_threshold(Y, SCORES[0], best="f1", draws=50).plot(),
    "abstention": lambda: plots.score_regions(
        bp.curves.abstention(Y, SCORES[0], requirements={"npv": 0.7, "precision": 0.7}, draws=50)
    ),
    "decision plan": lambda: plots.plan(
        bp.plan.decision(Y, ndtr(SCORES[0] - 0.75), threshold=0.3, draws=500)
    ),
    "decision curve": lambda: decisions(1).plot(),
    "decision curves": lambda: decisions(3, by={"hospital": np.arange(300) % 4}).plot(kind="simultaneous"),
    "decision curves apart": lambda: plots.decision_curve(decisions(7)),
    "recalibration": lambda: plots.recalibration(reliable(of=bp.curves.recalibrate, draws=100)),
    "reliability": lambda: reliable().plot(),
    "reliability in bins": lambda: reliable(method="bins").plot(kind="pointwise"),
    "reliability of systems": lambda: plots.reliability({name: reliable(i) for i, name in enumerate(LONG)}),
    "reliability apart": lambda: plots.reliability({f"{LONG[0]} {i}": reliable(i) for i in range(5)}),
    "calibration": lambda: reliable(of=bp.curves.calibration, draws=100).plot(),
    "calibration of classes": lambda: plots.calibration(calibration_of_classes()),
    "epc": lambda: epc().plot(),
    "epcs": lambda: plots.epc(dict(zip(LONG, map(epc, range(3)), strict=True)), kind="simultaneous"),
    "epcs apart": lambda: plots.epc({f"{LONG[0]} {i}": epc(i) for i in range(7)}),
    "epc comparison": lambda: epcs().plot(difference="models"),
    "joint": lambda: plots.joint(bp.posterior(BINARY, draws=500), "precision", "recall"),
    "joint of many": lambda: plots.joint(bp.posterior(MANY, draws=100), "precision", "mcc"),
    "plan of attempts": lambda: bp.plan.attempts(
        bp.Outcomes.from_counts(right=[[0] * 12 + [1] * 8 + [4] * 20, [2] * 40], n=4, dims=["model", "question"])
    ).plot(),
    "plan of calls or labels": lambda: plots.prevalence_plan(
        bp.plan.prevalence(9, {"recall": (18, 3), "specificity": (40, 2)}, n=60)
    ),
    "plan": lambda: bp.plan.sample_size(0.7, metric="recall", evidence=(17, 20)).plot(),
    "plan of a width": lambda: bp.plan.interval_width(0.1, metric="recall", evidence=(8, 10)).plot(),
    "monitor": lambda: monitored().plot(),
    "monitor of systems": lambda: monitored(LONG).plot(),
    "pooled": lambda: pooled(FOLDS.isel(model=0)).plot(),
    "pooled systems": lambda: pooled(FOLDS).plot("f1"),
    "studies": lambda: plots.meta_analysis(bp.groups.meta_analysis(FOLDS.isel(model=0), draws=100)),
    "areas of readers": lambda: plots.reader_areas(bp.curves.reader_areas(reads(5), draws=50)),
    "summary ROC curve": lambda: plots.summary_roc(
        bp.curves.summary_roc(bp.groups.meta_analysis(FOLDS.isel(model=0), draws=100))
    ),
    "slices": lambda: plots.slices(bp.slices(FOLDS.isel(model=0), draws=200), "f1"),
    "prior": lambda: plots.prior(bp.prior.elicited(recall=(0.7, 0.9, 0.9))),
    "prior_sensitivity": lambda: plots.prior_sensitivity(SMALL, "recall"),
    "prior_sensitivity of ratios": lambda: plots.prior_sensitivity(MANY, "lr+"),
    "noise_sensitivity": lambda: plots.noise_sensitivity(bp.labels.noise_sensitivity(SMALL, "recall", draws=500)),
    "noise_sensitivity of systems": lambda: plots.noise_sensitivity(
        bp.labels.noise_sensitivity(SYSTEMS, "f1", [0, 0.05, 0.1], draws=500)),
    "autocorrelation": lambda: plots.autocorrelation(autocorrelated()),
    "simulation_based_calibration": lambda: plots.simulation_based_calibration(calibrated()),
    "rate_coverage": lambda: plots.rate_coverage(studies.rate_coverage(20, None, np.linspace(0.01, 0.99, 50))),
    "f1_coverage": lambda: plots.f1_coverage(studies.f1_coverage(10, None, GRID, GRID)),
    "f1_coverage surface": lambda: plots.f1_coverage(
        studies.f1_coverage(10, ["wilson"], GRID, GRID), view="surface"),
    "predictive_spread": lambda: plots.predictive_spread(
        studies.predictive_spread(BINARY, scale=[1, 3, 10], draws=200)),
    "repeated_splits": lambda: plots.repeated_splits(splits()),
    "split_scores": lambda: plots.split_scores(splits()),
    "sequential": lambda: plots.sequential(
        studies.sequential([1, 4, 10], [0.5, 0.9], estimator=DecisionTreeClassifier(), simulations=3, draws=50)),
    "coverage": lambda: plots.coverage(covered()),
    "coverage_over": lambda: plots.coverage_over(
        run(areas.STUDY, 10, auc=[0.7, 0.8, 0.9], n=[20, 50], methods=["delong", "pairs"])),
}  # fmt: skip
