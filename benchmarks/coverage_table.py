"""How often every kind of interval covers: ``python benchmarks/coverage_table.py [simulations] [jobs]``.

Writes ``benchmarks/coverage.csv``, a row for each metric, system, number of examples and kind of interval; of systems
with many classes, which have the columns ``classes``, ``balanced`` and ``popular``, averages over systems. Simulations
are kept in a folder, so that an interrupted run continues and a longer one extends it.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import studies

FOLDER = Path(".venv/coverage")
TABLE = Path(__file__).with_name("coverage.csv")
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
# Systems simulated for each number of classes.
MANY_CLASSES = {3: 150, 10: 150, 30: 50}
# Systems of ten classes at the ends: all recalls .99, and recalls about .15.
AT_THE_ENDS = {0.99: {"recall": (0.99, 0.99), "dispersion": (0.0, 0.0)}, 0.15: {"recall": (0.15, 0.15)}}
AREAS = ("bayesian_bootstrap", "delong", "delong_logit", "pairs")


def rows(study: xr.Dataset, metric: str) -> pd.DataFrame:
    """Return a study as a table, to four digits."""
    names = [name for name in ("coverage", "coverage_mcse", "width", "no_width", "undefined") if name in study]
    table = study[names].to_dataframe().reset_index()
    table.insert(0, "metric", metric)
    return table.assign(simulations=study.attrs["simulations"]).round(4)


def areas(simulations: int, jobs: int) -> pd.DataFrame:
    """Return the table of areas under the ROC curve; half the examples are positive."""
    study = studies.areas((0.8, 0.95), [size // 2 for size in SIZES], AREAS, simulations, draws=1000, n_jobs=jobs,
                          folder=FOLDER / "roc_auc")  # fmt: skip
    table = rows(study.rename(auc="quality"), "roc_auc")
    return table.assign(n=2 * table["n"], prevalence=0.5)


def many_classes(jobs: int, systems: dict[int, int] = MANY_CLASSES) -> pd.DataFrame:
    """Return the table of systems that tell many classes apart, by prior."""
    tables = []
    settings: dict[str, Any]
    cases = [(k, {"balanced": b, "popular": p}) for k, b, p in product(systems, (True, False), (True, False))]
    cases += [(10, {"quality": quality}) for quality in AT_THE_ENDS]
    for classes, settings in cases:
        name = "_".join(["classes", str(classes), *map(str, settings.values())])
        ranges = AT_THE_ENDS.get(settings.get("quality", 0), {})
        options = {"sizes": "equal" if settings.get("balanced", True) else "tenfold",
                   "errors": "popular" if settings.get("popular", True) else "uniform"} | ranges  # fmt: skip
        study = studies.many_classes(classes, simulations=systems[classes], draws=1000, **options, n_jobs=jobs,
                                     folder=FOLDER / name)  # fmt: skip
        names = ["coverage", "coverage_mcse", "width"]
        table = study[names].to_dataframe().reset_index().rename(columns={"prior": "interval"})
        table["interval"] += "_eti"
        table = table[table["metric"] != "rarest_recall"]
        facts = {"classes": classes, "balanced": True, "popular": True} | settings
        tables.append(table.assign(**facts, n=classes * table["examples"], simulations=systems[classes]).round(4))
        print(name, flush=True)
    return pd.concat(tables, ignore_index=True).drop(columns="examples")


def main(simulations: int = 2000, jobs: int = 1) -> None:
    """Run every case and write the table."""
    options: dict[str, Any] = {"simulations": simulations, "draws": 1000, "n_resamples": 999, "n_jobs": jobs}
    tables = []
    for metric, cells, methods in CASES:
        study = studies.coverage(cells, metric, SIZES, methods, **options, folder=FOLDER / metric)
        tables.append(rows(study, study.attrs["metric"]))
        print(metric, flush=True)
    table = pd.concat([*tables, areas(simulations, jobs), many_classes(jobs)], ignore_index=True)
    keys = ["metric", "quality", "prevalence", "n", "interval"]
    table[[*keys, *[name for name in table if name not in keys]]].to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
