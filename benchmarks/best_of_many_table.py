"""Write `best_of_many.csv`: how well the best of many systems is known, of populations that are one normal and others.

    python benchmarks/best_of_many_table.py

Some ten minutes of one processor. Every row has two hundred sets of systems, that of clusters a hundred;
``coverage_mcse`` is the Monte Carlo standard error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from bayesperf import studies

BROKEN, BETTER = -1.4, 1.4
SETTINGS: dict[str, dict[str, Any]] = {
    "50 alike": {"spread": [0, 0.1, 0.3]},
    "1 of 50 broken": {"population": (1, BROKEN)},
    "3 of 50 broken": {"population": (3, BROKEN)},
    "5 of 50 broken": {"population": (5, BROKEN)},
    "10 of 50 broken, 50 examples": {"population": (10, BROKEN), "examples": 50},
    "1 of 20 broken": {"systems": 20, "population": (1, BROKEN)},
    "19 near .90, one at .50, 100 examples": {
        "systems": 20, "examples": 100, "accuracy": 0.9, "population": (1, -2.2)
    },
    "1 of 5 broken": {"systems": 5, "population": (1, BROKEN)},
    "two groups of 25": {"spread": [0.1, 0.3], "population": (25, -1.0)},
    "1 of 20 better by 0.6": {"systems": 20, "population": (1, 0.6)},
    "1 of 20 better by 1": {"systems": 20, "population": (1, 1.0)},
    "1 of 20 better by 1.4": {"systems": 20, "population": (1, BETTER)},
    "heavy tails": {"spread": [0.1, 0.3], "population": "heavy_tails"},
    "3": {"systems": 3},
    "5": {"systems": 5},
    "200": {"systems": 200},
    "50 alike, same examples": {"paired": True},
    "3 of 50 broken, same examples": {"paired": True, "population": (3, BROKEN)},
    "50 alike, same examples, accuracy .95": {"paired": True, "accuracy": 0.95},
    "50 alike, same examples in 40 clusters": {"paired": True, "clusters": 40, "simulations": 100},
}  # fmt: skip
FIGURES = ("coverage", "coverage_mcse", "bias", "prob_best", "is_best")


def rows(setting: str, options: dict[str, Any]) -> pd.DataFrame:
    """Return the rows of one setting."""
    given: dict[str, Any] = {
        "spread": [0.1],
        "draws": 1000,
        "simulations": 200,
        "random_seed": 7,
        "progressbar": False,
    } | options
    table = studies.best_of_many(**given)[list(FIGURES)].to_dataframe().reset_index()
    table.insert(0, "systems", setting)
    return table.round(4)


if __name__ == "__main__":
    tables = []
    for setting, options in SETTINGS.items():
        tables.append(rows(setting, options))
        print(tables[-1].to_string(), flush=True)
    pd.concat(tables, ignore_index=True).to_csv(Path(__file__).with_name("best_of_many.csv"), index=False)
