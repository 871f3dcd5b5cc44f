"""Write `verification_classes.csv`: coverage of partly verified samples of unequal classes, and of strata.

    python benchmarks/verification_classes_table.py [simulations]

About six minutes of one processor. Every row has 150 samples; ``coverage_mcse`` is the Monte Carlo standard error.
"""

import csv
import sys
from itertools import product
from pathlib import Path

from bayesperf import studies

FIVE, TEN = [0.6, 0.25, 0.1, 0.04, 0.01], [1 / (2.9289683 * rank) for rank in range(1, 11)]
UNEQUAL = {"classes": 5, "prevalence": FIVE, "verified": 150}
SCORE = {"strata": "score", "verified": 150}
SETTINGS = {
    "3 equal classes": {"classes": 3, "verified": 60},
    "5 equal, errors copied": {"classes": 5, "verified": 150, "dependence": 0.4},
    "90/7/3 %": {"classes": 3, "prevalence": [0.9, 0.07, 0.03], "verified": 100},
    "80/15/5 %": {"classes": 3, "prevalence": [0.8, 0.15, 0.05], "verified": 200},
    "60/25/10/4/1 %": UNEQUAL,
    "the same, errors copied": UNEQUAL | {"dependence": 0.4},
    "the same, quotas": UNEQUAL | {"allocation": "equal"},
    "the same, judge .6": UNEQUAL | {"judge": 0.6},
    "the same, judge .98": UNEQUAL | {"judge": 0.98},
    "the same, recall falls with rarity": UNEQUAL | {"recall": [0.95, 0.85, 0.75, 0.6, 0.45]},
    "the same, bins of a score, quotas": UNEQUAL | SCORE | {"levels": 4, "allocation": "equal"},
    "10 of Zipf's sizes": {"classes": 10, "prevalence": TEN, "verified": 300},
    "two classes, bins of a score, quotas": SCORE | {"allocation": "equal"},
    "two classes, 10 % positive, bins, quotas": SCORE | {"allocation": "equal", "prevalence": 0.1},
    "two classes, deciles, by chance": SCORE | {"levels": 10},
    "two classes, 10 % positive, deciles": SCORE | {"levels": 10, "prevalence": 0.1},
    "two classes, where two systems differ, quotas": {"strata": "differ", "verified": 150, "allocation": "equal"},
}
COLUMNS = ["setting", "verified", "metric", "interval", "coverage", "coverage_mcse", "width"]


def rows(setting, simulations):
    """Yield the rows of one study."""
    study = studies.verification(
        **SETTINGS[setting], simulations=simulations, draws=1000, random_seed=2, progressbar=False, n_jobs=1
    )
    for place in product(*(study[dim].values.tolist() for dim in ("verified", "metric", "interval"))):
        at = study.sel(dict(zip(("verified", "metric", "interval"), place, strict=True)))
        figures = {name: round(float(at[name]), 4) for name in ("coverage", "coverage_mcse", "width")}
        yield dict(zip(COLUMNS, (setting, *place), strict=False)) | figures


def main(simulations=150):
    """Run all settings and write the table."""
    with Path(__file__).with_name("verification_classes.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        for setting in SETTINGS:
            table.writerows(rows(setting, simulations))
            file.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
