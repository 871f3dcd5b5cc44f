"""Write `verification.csv`: coverage and width of intervals of partly verified samples of two classes.

    python benchmarks/verification_table.py

About twenty minutes of one processor. Every row has a thousand samples or more; ``coverage_mcse`` is the Monte Carlo
standard error.
"""

import csv
from itertools import product
from pathlib import Path

from bayesperf import studies

JUDGES, DEPENDENCES, PREVALENCES, VERIFIED = (0.6, 0.9, 0.99), (0.0, 0.4, 0.9), (0.02, 0.2, 0.5), (30, 100, 300)
SIMULATIONS = 1000
COLUMNS = ["classes", "judge", "dependence", "prevalence", "allocation", "verified", "metric", "interval", "coverage",
           "coverage_mcse", "width"]  # fmt: skip


def settings():
    """Yield the settings of each study."""
    for allocation, prevalence, dependence, judge in product(("chance", "equal"), PREVALENCES, DEPENDENCES, JUDGES):
        yield {"judge": judge, "dependence": dependence, "prevalence": prevalence, "allocation": allocation,
               "verified": VERIFIED}  # fmt: skip


def rows(given):
    """Yield the rows of one study."""
    study = studies.verification(**given, simulations=SIMULATIONS, draws=1000, random_seed=1, progressbar=False)
    facts = {name: study.attrs[name] for name in ("classes", "judge", "dependence", "prevalence", "allocation")}
    for place in product(*(study[dim].values.tolist() for dim in ("verified", "metric", "interval"))):
        at = study.sel(dict(zip(("verified", "metric", "interval"), place, strict=True)))
        figures = {name: round(float(at[name]), 4) for name in ("coverage", "coverage_mcse", "width")}
        yield facts | dict(zip(("verified", "metric", "interval"), place, strict=True)) | figures


if __name__ == "__main__":
    with Path(__file__).with_name("verification.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        for given in settings():
            table.writerows(rows(given))
            file.flush()
