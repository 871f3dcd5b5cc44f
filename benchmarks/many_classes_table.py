"""How often intervals of many classes of unequal sizes cover: ``python benchmarks/many_classes_table.py [jobs]``.

Writes ``benchmarks/many_classes.csv``, a row for each setting and metric, from `bayesperf.studies.many_classes`: sizes
by Zipf's law, recalls that fall with rarity, that are low of the two rarest, or random, and three kinds of errors.
Simulations are kept in a folder, so that an interrupted run continues.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pandas as pd

from bayesperf import studies

FOLDER = Path(".venv/many_classes")
TABLE = Path(__file__).with_name("many_classes.csv")
# Systems simulated for each number of classes, and examples of a class on average.
SYSTEMS, EXAMPLES = {10: 200, 40: 100}, 20
RECALLS, ERRORS = ("falling", "step", "random"), ("popular", "uniform", "clumped")


def rows(classes: int, recalls: str, errors: str, jobs: int) -> pd.DataFrame:
    """Return the study of one setting as a table."""
    study = studies.many_classes(classes, EXAMPLES, ["shared"], SYSTEMS[classes], sizes="zipf", recalls=recalls,
                                 errors=errors, draws=1000, n_jobs=jobs,
                                 folder=FOLDER / f"{classes}_{recalls}_{errors}")  # fmt: skip
    table = study[["coverage", "coverage_mcse", "width"]].to_dataframe().reset_index()
    return table.assign(classes=classes, recalls=recalls, errors=errors, simulations=SYSTEMS[classes]).round(4)


def main(jobs: int = 1) -> None:
    """Run all settings and write the table."""
    settings = product(SYSTEMS, RECALLS, ERRORS)
    pd.concat([rows(*setting, jobs) for setting in settings], ignore_index=True).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
