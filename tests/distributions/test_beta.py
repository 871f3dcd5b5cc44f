"""Tables of Beta distribution functions against SciPy's."""

import numpy as np
import pytest
from scipy import special

from bayesperf.distributions.beta import BetaTables


@pytest.mark.few
@pytest.mark.parametrize("decades", [(-2, 0), (0, 1), (1, 3), (3, 7)])
def test_tables_agree_with_the_incomplete_beta_function(decades):
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(*decades, (2, 100, 1))
    x = special.betaincinv(a, b, rng.random((100, 200)))
    x[:, :8] = [0, 1, 1e-300, 1 - 2**-53, 1e-12, 0.1, 0.5, 0.9]
    found = BetaTables.of(a, b).cdf(np.arange(100), x)
    np.testing.assert_allclose(found, special.betainc(a, b, x), rtol=0, atol=3e-10)


def test_rows_are_those_asked_for_and_nothing_depends_on_the_others():
    a, b = np.array([[3.0], [0.4], [2e5]]), np.array([[8.0], [0.7], [1e4]])
    x, rows = np.array([[0.2, np.nan], [0.9, 0.95], [0.3, 0.5]]), np.array([0, 2, 1])
    together = BetaTables.of(a, b).cdf(rows, x)
    alone = [BetaTables.of(a[[i]], b[[i]]).cdf(np.array([0]), x[[k]])[0] for k, i in enumerate(rows)]
    np.testing.assert_array_equal(together, alone)
    assert np.isnan(together).tolist() == [[False, True], [False, False], [False, False]]
