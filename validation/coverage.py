"""How often every kind of interval covers, of the metrics that people report most.

A row for each metric, system, number of examples and kind of interval, from `bayesperf.studies.coverage`; areas are of
`validation.areas`, systems with many classes (the columns ``classes``, ``balanced`` and ``popular``: averages over
systems) of `validation.many_classes`. It takes hours: simulations are kept, so that an interrupted run continues.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import studies
from validation import areas, many_classes
from validation.study import FOLDER, run, table

SIMULATIONS = 2000
SIZES = (20, 50, 200, 1000)
# Recall and specificity, or the accuracy in each of three classes.
QUALITY = xr.DataArray([0.8, 0.95], dims="quality", coords={"quality": [0.8, 0.95]})
# Proportion of the positive class, or of the rarest of three.
PREVALENCE = xr.DataArray([0.1, 0.5], dims="prevalence", coords={"prevalence": [0.1, 0.5]})
FREQUENTIST = ("delta", "delta_logit", "bootstrap_percentile", "bootstrap_basic", "bootstrap_bca")
BAYESIAN = ("flat_hdi", "flat_eti", "jeffreys_hdi", "jeffreys_eti")
OF_RATES = (*BAYESIAN, "wald", "wilson", "clopper_pearson", *FREQUENTIST)


def two_classes() -> xr.DataArray:
    """Return binary systems as good at one class as at the other, with few and with many positives."""
    return studies.binary_cells(prevalence=PREVALENCE, recall=QUALITY, specificity=QUALITY)


def three_classes() -> xr.DataArray:
    """Return systems whose errors are spread evenly over the other two classes; one class is rare, or none."""
    shares = np.array([[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]])
    rows = np.stack([q * np.eye(3) + (1 - q) / 2 * (1 - np.eye(3)) for q in QUALITY.values])
    cells = shares[:, None, :, None] * rows
    coords = {"prevalence": [0.1, 0.333], "quality": QUALITY.values}
    return xr.DataArray(cells, coords, ("prevalence", "quality", "actual", "predicted"))


# Metric, systems, kinds of interval.
CASES: list[tuple[str, xr.DataArray, tuple[str, ...]]] = [
    ("recall", two_classes(), OF_RATES),
    ("f1", two_classes(), OF_RATES),
    ("mcc", two_classes(), (*BAYESIAN, *FREQUENTIST)),
    ("f1_macro", three_classes(), (*BAYESIAN, "perks_hdi", "perks_eti", *FREQUENTIST)),
]
AREAS = ("bayesian_bootstrap", "delong", "delong_logit", "pairs")
# Systems simulated for each number of classes.
MANY_CLASSES = {3: 150, 10: 150, 30: 50}
# Systems of ten classes at the ends: all recalls .99, and recalls about .15.
AT_THE_ENDS = {0.99: {"recall": (0.99, 0.99), "dispersion": (0.0, 0.0)}, 0.15: {"recall": (0.15, 0.15)}}


def of_areas(jobs: int) -> pd.DataFrame:
    """Return the table of areas under the ROC curve; half the examples are positive."""
    changes = {"auc": (0.8, 0.95), "n": [size // 2 for size in SIZES], "methods": AREAS, "draws": 1000}
    rows = table(areas.STUDY, [({"metric": "roc_auc"}, SIMULATIONS, changes)], jobs, name="roc_auc")
    rows = rows.rename(columns={"auc": "quality"})
    return rows.assign(n=2 * rows["n"], prevalence=0.5)


def of_many_classes(jobs: int) -> pd.DataFrame:
    """Return the table of systems that tell many classes apart, by prior."""
    tables = []
    settings: dict[str, Any]
    cases = [(k, {"balanced": b, "popular": p}) for k, b, p in product(MANY_CLASSES, (True, False), (True, False))]
    cases += [(10, {"quality": quality}) for quality in AT_THE_ENDS]
    for classes, settings in cases:
        folder = FOLDER / "coverage" / "_".join(["classes", str(classes), *map(str, settings.values())])
        simulations = MANY_CLASSES[classes]
        options = {"sizes": "equal" if settings.get("balanced", True) else "tenfold",
                   "errors": "popular" if settings.get("popular", True) else "uniform",
                   **AT_THE_ENDS.get(settings.get("quality", 0), {})}  # fmt: skip
        study = run(many_classes.STUDY, simulations, n_jobs=jobs, folder=folder, classes=classes, draws=1000, **options)
        names = ["coverage", "coverage_mcse", "width"]
        rows = study[names].to_dataframe().reset_index().rename(columns={"prior": "interval"})
        rows["interval"] += "_eti"
        rows = rows[rows["metric"] != "rarest_recall"]
        facts = {"classes": classes, "balanced": True, "popular": True} | settings
        tables.append(rows.assign(**facts, n=classes * rows["examples"], simulations=MANY_CLASSES[classes]).round(4))
    return pd.concat(tables, ignore_index=True).drop(columns="examples")


def of_counts(jobs: int) -> pd.DataFrame:
    """Return the table of metrics of two and three classes, and all of their intervals."""
    tables = []
    for metric, cells, methods in CASES:
        study = studies.coverage(cells, metric, SIZES, methods, simulations=SIMULATIONS, draws=1000, n_resamples=999,
                                 n_jobs=jobs, folder=FOLDER / "coverage" / metric)  # fmt: skip
        rows = study[["coverage", "coverage_mcse", "width", "no_width", "undefined"]].to_dataframe().reset_index()
        tables.append(rows.assign(metric=study.attrs["metric"], simulations=SIMULATIONS).round(4))
    return pd.concat(tables, ignore_index=True)


def coverage_table(jobs: int = 1) -> pd.DataFrame:
    """Return the rows of all cases."""
    rows = pd.concat([of_counts(jobs), of_areas(jobs), of_many_classes(jobs)], ignore_index=True)
    keys = ["metric", "quality", "prevalence", "n", "interval"]
    return rows[[*keys, *[name for name in rows if name not in keys]]]


TABLES = {"coverage": coverage_table}
