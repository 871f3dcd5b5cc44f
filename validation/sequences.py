"""How often intervals of dependent samples cover, from `bayesperf.studies.dependence`.

A row for each setting (what errors follow, and how many samples there are), persistence of the labels and model.
"""

from typing import Any

import pandas as pd

from bayesperf import studies
from validation.study import FOLDER

SIMULATIONS = 400
SETTINGS: dict[str, dict[str, Any]] = {
    "chain": {"persistence": (0.5, 0.8, 0.9, 0.95)},
    "runs": {"persistence": (0.5, 0.7, 0.9, 0.97)},
    "runs, 100 samples": {"persistence": (0.5, 0.7, 0.9, 0.97), "n": 100},
    "scenes": {"persistence": (0.5, 0.9)},
}


def rows(setting: str, jobs: int) -> pd.DataFrame:
    """Return the study of a setting as a table."""
    options = {"errors": setting.split(",")[0]} | SETTINGS[setting]
    folder = FOLDER / "sequences" / setting
    study = studies.dependence(**options, simulations=SIMULATIONS, folder=folder, n_jobs=jobs)
    table = study.to_dataframe().reset_index().assign(simulations=SIMULATIONS)
    table.insert(0, "errors", setting)
    return table.round(4)


def sequences_table(jobs: int = 1) -> pd.DataFrame:
    """Return the rows of all settings."""
    return pd.concat([rows(setting, jobs) for setting in SETTINGS], ignore_index=True)


TABLES = {"sequences": sequences_table}
