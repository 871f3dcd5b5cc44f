"""Write `attempts.csv`: coverage and width of intervals of pass@k, of questions of the model's kind and of others.

    python benchmarks/attempts_table.py

Some three minutes of one processor; ``coverage_mcse`` is the Monte Carlo standard error.
"""

from pathlib import Path

from bayesperf import studies

if __name__ == "__main__":
    study = studies.attempts(
        (1, 2, 3, 5), (50, 100), simulations=300, draws=500, random_seed=1, n_jobs=1, progressbar=False
    )
    table = study[["coverage", "coverage_mcse", "width"]].to_dataframe().round(4).reset_index()
    order = ["interval", "of", "questions", "n_questions", "k"]
    table = table[[*order, "coverage", "coverage_mcse", "width"]].sort_values(order, kind="stable")
    table.to_csv(Path(__file__).with_name("attempts.csv"), index=False)
