"""Run ``bayesperf`` on a file made for it; print the CPU time in seconds and the peak memory in bytes, as JSON.

``python benchmarks/command_line.py ROWS labels|scores COMMAND``: a Parquet file of so many rows, with labels predicted
or with scores, is given to the command; without rows there is no file. This process imports nothing large, for the
memory of a child counts that of its parent.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MAKE = """
import sys, duckdb
rows, kind, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
uniform = "hash(i * 7919) / 18446744073709551615.0"
columns = {
    "labels": f"CASE WHEN {uniform} < .9 THEN i % 2 ELSE 1 - i % 2 END AS predicted",
    "scores": f"i % 2 * .5 + {uniform} AS score, (i % 2 * .5 + {uniform} > .75)::INT AS predicted",
}
duckdb.sql(f"COPY (SELECT i % 2 AS actual, {columns[kind]} FROM range({rows}) AS rows(i)) TO '{path}'")
"""


def run(rows: int, kind: str, command: str) -> dict[str, float]:
    """Return what the command used."""
    with tempfile.TemporaryDirectory() as folder:
        path, page = Path(folder) / "predictions.parquet", Path(folder) / "report.html"
        arguments = [*command.split()]
        if rows:
            subprocess.run([sys.executable, "-c", MAKE, str(rows), kind, str(path)], check=True)
            arguments += [str(path), *(["--score", "score"] if kind == "scores" else [])]
            arguments += ["-o", str(page)] if command == "report" else []
        program = [str(Path(sys.executable).with_name("bayesperf")), *arguments]
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(program)} failed.")
    return {"seconds": used.ru_utime + used.ru_stime, "bytes": 1024 * used.ru_maxrss}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), sys.argv[2], sys.argv[3])))
