"""Rows of features and labels of any kind, by position."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from scipy import sparse

from bayesperf.data.cross_validation import mean_of_repeats, take

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


def test_the_mean_of_repeats_keeps_the_classes_and_is_the_nearest():
    rng = np.random.default_rng(3)
    rows = np.stack([rng.multinomial([40, 25, 10], [[0.7, 0.2, 0.1]] * 3) for _ in range(7)])
    counts = xr.DataArray(rows[:, None], dims=("repeat", "fold", "actual", "predicted"))
    found = mean_of_repeats(counts).values
    assert found.sum(-1).tolist() == [40, 25, 10]
    assert (np.abs(found - rows.mean(0)) < 1).all()
    # No table of these classes is nearer, by the sum of distances of a row.
    for i, row in enumerate(rows.mean(0)):
        others = [(a, b, found[i].sum() - a - b) for a in range(41) for b in range(41)]
        assert np.abs(found[i] - row).sum() <= min(np.abs(np.array(each) - row).sum() for each in others) + 1e-12
