"""Counting many scores where they lie: by score if few occur, else by bins that follow their distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesperf.core.arrays import Array
from bayesperf.files.sources import held_by

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# So many different scores are counted one by one.
_FEW_SCORES = 50_000
# Bins between the quantiles of each class of each system, and how many at least of many of these, and in all.
_BINS, _FEWEST_BINS, _MOST_BINS = 2_048, 64, 2**14
# About how many scores of each class of each system quantiles are taken of.
_SAMPLED = 100_000


def count_in_bins(
    connection: DuckDBPyConnection, rows: str, score: str, others: Sequence[str], told_apart: Sequence[str]
) -> tuple[pd.DataFrame, Array | None] | None:
    """Count rows by score, or by bins of it, and by other columns.

    Edges of bins are quantiles of scores that a hash chooses, so that they are the same from run to run, whatever the
    order of the rows.

    Parameters
    ----------
    connection : DuckDBPyConnection
        The connection.
    rows : str
        The SQL of the rows.
    score, others : str, sequence of str
        Columns of scores, and of what is counted beside them.
    told_apart : sequence of str
        Those of the others whose combinations may differ in their distribution of scores: systems and classes.

    Returns
    -------
    frame : pandas.DataFrame
        A row for each combination that occurs: the columns, the score or the lower edge of its bin, and ``rows``.
    edges : numpy.ndarray or None
        Edges of the bins, the last one inf; None if scores are not binned. Instead of both None, if there are scores
        that are missing, infinite or no numbers.
    """
    connection.execute(f"CREATE TEMP VIEW scored AS {rows}")
    kind = connection.execute(f"SELECT typeof({score}) FROM scored LIMIT 1").fetchall()[0][0]
    if held_by(kind) != "numbers":
        return None
    connection.execute(f"CREATE TEMP VIEW numbers AS SELECT {', '.join(others)}, {score}::DOUBLE AS score FROM scored")
    figures = "bool_and(score IS NOT NULL AND isfinite(score)), approx_count_distinct(score), min(score), max(score)"
    finite, distinct, least, greatest = connection.execute(f"SELECT {figures} FROM numbers").fetchall()[0]
    if not finite:
        return None
    keys = ", ".join(others)
    if distinct <= _FEW_SCORES:
        frame = connection.execute(f"SELECT {keys}, score, count(*) AS rows FROM numbers GROUP BY ALL").df()
        return frame.rename(columns={"score": score}), None
    lower = np.union1d(_quantiles(connection, told_apart), [least, greatest])
    # The upper edge of a bin of `histogram` is in it: of the negated scores it is the lower one.
    bounds = ", ".join(repr(edge) for edge in (-lower[::-1]).tolist())
    counted = f"SELECT {keys}, histogram(-score, [{bounds}]) AS bins FROM numbers GROUP BY ALL"
    entries = f"SELECT {keys}, unnest(map_keys(bins)) AS bin, unnest(map_values(bins)) AS rows FROM ({counted})"
    frame = connection.execute(f"SELECT {keys}, -bin AS {score}, rows FROM ({entries}) WHERE rows > 0").df()
    return frame, np.append(lower, np.inf)


def _quantiles(connection: DuckDBPyConnection, told_apart: Sequence[str]) -> Array:
    """Return scores that divide those of each combination of some columns evenly."""
    keys = ", ".join(told_apart)
    connection.execute(
        f"CREATE TEMP TABLE strata AS SELECT {keys}, row_number() OVER () AS stratum, "
        f"greatest(1, count(*) // {_SAMPLED}) AS one_of FROM numbers GROUP BY {keys}"
    )
    sampled = connection.execute(
        f"SELECT DISTINCT stratum, score FROM numbers JOIN strata USING ({keys}) WHERE hash(score) % one_of = 0"
    ).df()
    strata = [of_one.to_numpy() for _, of_one in sampled.groupby("stratum")["score"]]
    bins = np.clip(_MOST_BINS // max(1, len(strata)), _FEWEST_BINS, _BINS)
    return np.unique(
        np.concatenate([[], *(np.quantile(scores, np.linspace(0, 1, bins + 1), method="lower") for scores in strata)])
    )
