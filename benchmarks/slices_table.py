"""How well slices are estimated: ``python benchmarks/slices_table.py [simulations] [setting]``.

Writes ``benchmarks/slices.csv``, a row for each setting, analysis and target, from `bayesperf.studies.slices`.
Simulations are kept in a folder, so that an interrupted run continues and a longer one extends it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from bayesperf import studies

FOLDER = Path(".venv/slices")
TABLE = Path(__file__).with_name("slices.csv")
BOTH = {"site_sd": 0.6, "device_sd": 0.6}
SETTINGS: dict[str, dict[str, Any]] = {
    "none": {"site_sd": 0.0, "device_sd": 0.0},
    "site": {"site_sd": 0.6, "device_sd": 0.0},
    "site, device": BOTH,
    "site, device, interaction": BOTH | {"interaction_sd": 0.4},
    "site, device; sizes unequal": BOTH | {"imbalance": 1.0},
}


def rows(setting: str, simulations: int) -> pd.DataFrame:
    """Return the study of a setting as a table, with the ratio of each error to the least of the simpler analyses."""
    name = "".join(letter if letter.isalnum() else "_" for letter in setting)
    study = studies.slices(**SETTINGS[setting], simulations=simulations, folder=FOLDER / name, progressbar=False)
    simpler = ["alone", "pooled", "groups_logit"]
    best = study["error"].sel(analysis=simpler, target="slice").idxmin("analysis").item()
    by_target = study.drop_dims("analysis_other")
    table = by_target[[name for name, v in by_target.items() if "target" in v.dims]].to_dataframe()
    ratio = study[["error_ratio", "error_ratio_mcse"]].sel(analysis_other=best, drop=True).to_dataframe()
    table = table.join(ratio).reset_index().assign(best_of_simpler=best)
    table.insert(0, "varying", setting)
    return table.assign(simulations=simulations).round(4)


def main(simulations: int = 150, *settings: str) -> None:
    """Run the settings, by default all, and write the table of all."""
    tables = []
    for setting in settings or SETTINGS:
        tables.append(rows(setting, simulations))
        print(setting, flush=True)
    if not settings:
        pd.concat(tables, ignore_index=True).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150, *sys.argv[2:])
