"""How well slices are estimated: ``python benchmarks/slices_table.py [simulations] [of groups_logit]``.

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
    "nothing": {"site_sd": 0.0, "device_sd": 0.0},
    "site": {"site_sd": 0.6, "device_sd": 0.0},
    "site, device": BOTH,
    "site, device, both together": BOTH | {"interaction_sd": 0.4},
    "site, device; sizes differ": BOTH | {"imbalance": 1.0},
}
SIMPLER = ("alone", "pooled", "by_site", "one_dim")
# `groups_logit` takes longest, and is compared with its twin "one_dim" in fewer simulations.
TWINS = ("one_dim", "groups_logit")


def rows(setting: str, simulations: int, analyses: tuple[str, ...]) -> pd.DataFrame:
    """Return the study of a setting as a table, with the ratio of errors to those of the model of slices or a twin."""
    options = SETTINGS[setting]
    name = "".join(letter if letter.isalnum() else "_" for letter in "_".join([setting, *analyses]))
    study = studies.slices(**options, analyses=analyses, simulations=simulations, folder=FOLDER / name, n_jobs=1)
    table = study.drop_dims("analysis_other").drop_vars(["prob_worst", "prob_worst_mcse", "is_worst", "is_worst_mcse"])
    ratios = study[["error_ratio", "error_ratio_mcse"]].sel(analysis_other=analyses[-1], drop=True)
    found = table.merge(ratios).to_dataframe().reset_index().assign(simulations=simulations, beside=analyses[-1])
    found.insert(0, "varying", setting)
    return found.round(4)


def main(simulations: int = 150, of_twins: int = 20) -> None:
    """Run all settings and write the table."""
    tables = []
    for setting, options in SETTINGS.items():
        more = ("slices_interaction",) if "interaction_sd" in options else ()
        tables += [rows(setting, simulations, (*SIMPLER, *more, "slices")), rows(setting, of_twins, TWINS)]
        print(setting, flush=True)
    pd.concat(tables, ignore_index=True).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
