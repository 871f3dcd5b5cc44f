"""Rows of features and labels of any kind, by position."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from bayesperf.counts.cross_validation import take

TABLE = np.arange(8.0).reshape(4, 2)
KINDS = {
    "array": TABLE,
    "sparse": sparse.csr_array(TABLE),
    "list": TABLE.tolist(),
    "pandas": pd.DataFrame(TABLE, index=[9, 8, 7, 6]),
    "pandas series": pd.Series(TABLE[:, 0], index=[9, 8, 7, 6]),
    "polars": pl.DataFrame(TABLE),
    "polars series": pl.Series(TABLE[:, 0]),
    "pyarrow": pa.table({"a": TABLE[:, 0], "b": TABLE[:, 1]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_taken_by_position_and_keep_their_kind(kind):
    rows = take(KINDS[kind], np.array([2, 0, 2]))
    assert type(rows) is type(KINDS[kind])
    expected = TABLE[[2, 0, 2], 0] if "series" in kind else TABLE[[2, 0, 2]]
    np.testing.assert_array_equal(rows.toarray() if kind == "sparse" else np.asarray(rows), expected)
