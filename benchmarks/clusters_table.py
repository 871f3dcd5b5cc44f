"""Write `clusters.csv`: coverage and width of intervals over examples that come in clusters of unequal sizes.

    python benchmarks/clusters_table.py

Some ten minutes of one processor. Every row has four hundred data sets, or a hundred of the model of `pool`, which
takes longest; ``coverage_mcse`` is the Monte Carlo standard error.
"""

from pathlib import Path

import pandas as pd

from bayesperf import studies

CLUSTERS, DISPERSIONS = (10, 20, 50, 200, 500), (0.01, 0.1, 0.3)
DRAWN = ("clusters", "cluster_bootstrap", "independent")
# Number of classes, methods, and data sets.
CASES = ((2, DRAWN, 400), (2, ("groups",), 100), (5, DRAWN, 400))


def rows(classes: int, methods: tuple[str, ...], simulations: int) -> pd.DataFrame:
    """Return the rows of systems of so many classes."""
    study = studies.resampled_clusters(
        CLUSTERS, DISPERSIONS, methods, classes=classes, simulations=simulations, draws=1000, random_seed=1,
        progressbar=False,
    )  # fmt: skip
    table = study[["coverage", "coverage_mcse", "width"]].to_dataframe().reset_index()
    table.insert(0, "classes", classes)
    return table.round(4)


if __name__ == "__main__":
    tables = [rows(*case) for case in CASES]
    pd.concat(tables, ignore_index=True).to_csv(Path(__file__).with_name("clusters.csv"), index=False)
