"""Write `clusters.csv`: coverage and width of intervals over examples that come in clusters of unequal sizes.

    python benchmarks/clusters_table.py

About a quarter of an hour of one processor. Every row has four hundred data sets; ``coverage_mcse`` is the Monte Carlo
standard error.
"""

from pathlib import Path

import pandas as pd

from bayesperf import studies

FOLDER = Path(".venv/clusters")
CLASSES, CLUSTERS, DISPERSIONS, SIMULATIONS = (2, 5), (10, 20, 50, 200, 500), (0.01, 0.1, 0.3), 400


def rows(classes: int) -> pd.DataFrame:
    """Return the rows of systems of so many classes."""
    study = studies.resampled_clusters(
        CLUSTERS, DISPERSIONS, classes=classes, simulations=SIMULATIONS, draws=1000, random_seed=1, progressbar=False,
        folder=FOLDER / str(classes),
    )  # fmt: skip
    table = study[["coverage", "coverage_mcse", "width"]].to_dataframe().reset_index()
    table.insert(0, "classes", classes)
    return table.round(4)


if __name__ == "__main__":
    pd.concat(map(rows, CLASSES), ignore_index=True).to_csv(Path(__file__).with_name("clusters.csv"), index=False)
