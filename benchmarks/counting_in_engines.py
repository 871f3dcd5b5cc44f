"""Time counting in files of Parquet, by DuckDB and by Polars, beside the engine's own group-by; print figures as JSON.

``python benchmarks/counting_in_engines.py duckdb 1_000_000 50_000_000``: of the largest number of rows the seconds and
CPU seconds of ours and of the engine's own, and the seconds that 10⁹ rows would take, by the line through all. Peak
bytes are of the whole process, which writes the files too.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
from peak_memory import peak_bytes

import bayesperf as bp

REPEATS = 5
COLUMNS = ("actual", "predicted", "model")
LABEL = "['cat', 'dog', 'horse'][1 + (hash({}) % 3)::INT]"
# Beside what is counted, columns that need not be read.
WRITTEN = (
    "COPY (SELECT i AS id, {} AS actual, {} AS predicted, 'm' || (i % 5) AS model, (hash(i + 3) % 100000) / 1e5 AS s "
    "FROM range({}) AS rows(i)) TO '{}' (FORMAT parquet)"
)
ENGINES: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
    "duckdb": (
        duckdb.read_parquet,
        lambda path: duckdb.sql(f"SELECT {', '.join(COLUMNS)}, count(*) FROM '{path}' GROUP BY ALL").fetchall(),
    ),
    "polars": (
        pl.scan_parquet,
        lambda path: pl.scan_parquet(path).group_by(COLUMNS).agg(pl.len()).collect(engine="streaming"),
    ),
}


def measured(work: Callable[[], object]) -> np.ndarray:
    """Return seconds on the clock and of the processor, of all threads."""
    start = np.array([time.perf_counter(), time.process_time()])
    work()
    return np.array([time.perf_counter(), time.process_time()]) - start


def timed(engine: str, path: str) -> dict[str, float]:
    """Return the best of some repeats of ours and of the engine's own group-by, in turns, after a first count."""
    scan, raw = ENGINES[engine]

    def count() -> None:
        bp.ConfusionMatrix.from_frame(scan(path), actual="actual", predicted="predicted", by="model")

    count()
    ours, own = np.array([[measured(count), measured(lambda: raw(path))] for _ in range(REPEATS)]).min(0)
    return {"seconds": ours[0], "own": own[0], "cpu": ours[1], "own_cpu": own[1], "bytes": peak_bytes()}


def main(engine: str, *sizes: str) -> None:
    """Write files of the sizes and count in them, smallest first."""
    rows = sorted(map(int, sizes))
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for size in rows:
            path = str(Path(folder) / f"{size}.parquet")
            with duckdb.connect(config={"memory_limit": "300MB"}) as connection:
                connection.execute(WRITTEN.format(LABEL.format("i"), LABEL.format("i + 7"), size, path))
            found.append(timed(engine, path))
    slope, start = np.polyfit(rows, [figures["seconds"] for figures in found], 1)
    print(json.dumps(found[-1] | {"billion": start + 1e9 * slope, "bytes_of_smallest": found[0]["bytes"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
