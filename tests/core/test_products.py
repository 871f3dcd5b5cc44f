"""Products of matrices, a few rows at a time."""

import numpy as np
import pytest

from bayesperf.core.arrays import row_product


@pytest.mark.parametrize("leading", [(0,), (3,), (2, 500)])
def test_blocks_of_rows_are_the_whole_product(leading):
    rng = np.random.default_rng(0)
    rows, matrix = rng.standard_normal((*leading, 60)), rng.standard_normal((60, 20))
    np.testing.assert_allclose(row_product(rows, matrix), np.einsum("...i,ij->...j", rows, matrix), atol=1e-12)
