"""Write `cross_validation.csv`: coverage and width of intervals of repeated cross-validation of a learner.

    python benchmarks/cross_validation_table.py

Some five minutes of one processor; ``coverage_mcse`` is the Monte Carlo standard error.
"""

from pathlib import Path

from bayesperf import studies

if __name__ == "__main__":
    study = studies.cross_validation(simulations=300, draws=1000, random_seed=1, n_jobs=1, progressbar=False)
    table = study[["coverage", "coverage_mcse", "width"]].to_dataframe().round(4).reset_index()
    table.to_csv(Path(__file__).with_name("cross_validation.csv"), index=False)
