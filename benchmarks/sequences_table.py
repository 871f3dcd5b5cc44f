"""How often intervals of dependent samples cover: ``python benchmarks/sequences_table.py [simulations]``.

Writes ``benchmarks/sequences.csv``, a row for each setting, persistence of the labels and model, from
`bayesperf.studies.dependence`. Simulations are kept in a folder, so that an interrupted run continues and a longer one
extends it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from bayesperf import studies

FOLDER = Path(".venv/sequences")
TABLE = Path(__file__).with_name("sequences.csv")
SETTINGS: dict[str, dict[str, Any]] = {
    "chain": {"persistence": (0.5, 0.8, 0.9, 0.95)},
    "runs": {"persistence": (0.5, 0.7, 0.9, 0.97)},
    "runs, 100 samples": {"persistence": (0.5, 0.7, 0.9, 0.97), "n": 100},
    "scenes": {"persistence": (0.5, 0.9)},
}


def rows(setting: str, simulations: int) -> pd.DataFrame:
    """Return the study of a setting as a table."""
    options = {"errors": setting.split(",")[0]} | SETTINGS[setting]
    folder = FOLDER / setting.replace(", ", "_").replace(" ", "_")
    study = studies.dependence(**options, simulations=simulations, folder=folder, n_jobs=1)
    table = study.to_dataframe().reset_index().assign(simulations=simulations)
    table.insert(0, "errors", setting)
    return table.round(4)


def main(simulations: int = 400) -> None:
    """Run all settings and write the table."""
    pd.concat([rows(setting, simulations) for setting in SETTINGS], ignore_index=True).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
