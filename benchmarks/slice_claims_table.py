"""How often sentences on slices claim a gap or name a worst one: ``python benchmarks/slice_claims_table.py``.

Writes ``benchmarks/slice_claims.csv``, a row for each setting, from `bayesperf.studies.slices`. Simulations are kept in
a folder, so that an interrupted run continues and a longer one extends it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from bayesperf import studies

FOLDER = Path(".venv/slice_claims")
TABLE = Path(__file__).with_name("slice_claims.csv")
COLUMNS = ["prior_gap", "prob_gap", "gap_shown", "gap_shown_mcse", "prob_worst", "worst_named", "worst_named_mcse",
           "is_worst"]  # fmt: skip
SAME = {"site_sd": 0.0, "device_sd": 0.0}
SITES = SAME | {"devices": 1, "analyses": ("by_site",)}
BOTH = SAME | {"analyses": ("slices",)}
# By what varies: sites alone, of so many positive examples on average, or sites × devices by the model of slices.
SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("nothing", "8 sites of 48"): SITES | {"examples": 48},
    ("nothing", "8 sites of 400"): SITES | {"examples": 400},
    ("nothing", "30 sites of 20"): SITES | {"examples": 20, "sites": 30},
    ("nothing", "2 sites of 48"): SITES | {"examples": 48, "sites": 2},
    ("one site, by 0.2", "8 sites of 48"): SITES | {"examples": 48, "worse": 0.2},
    ("one site, by 0.2", "8 sites of 400"): SITES | {"examples": 400, "worse": 0.2},
    ("one site, by 0.2", "30 sites of 20"): SITES | {"examples": 20, "sites": 30, "worse": 0.2},
    ("one site, by 0.2", "2 sites of 48"): SITES | {"examples": 48, "sites": 2, "worse": 0.2},
    ("all sites, normal", "8 sites of 48"): SITES | {"examples": 48, "site_sd": 0.6},
    ("nothing", "8 sites × 4 devices of 12"): BOTH,
    ("one site, by 0.2", "8 sites × 4 devices of 12"): BOTH | {"worse": 0.2},
}


def row(varying: str, levels: str, simulations: int) -> dict[str, Any]:
    """Return the study of a setting as a row."""
    name = "".join(letter if letter.isalnum() else "_" for letter in f"{varying}_{levels}")
    study = studies.slices(**SETTINGS[varying, levels], simulations=simulations, folder=FOLDER / name, n_jobs=1)
    figures = {column: round(study[column].item(), 4) for column in COLUMNS}
    return {"varying": varying, "levels": levels, **figures, "simulations": simulations}


def main(simulations: int = 200, of_fits: int = 30) -> None:
    """Run all settings and write the table."""
    rows = [
        row(*setting, of_fits if options["analyses"] == ("slices",) else simulations)
        for setting, options in SETTINGS.items()
    ]
    pd.DataFrame(rows).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
