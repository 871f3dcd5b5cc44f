"""Derivatives by complex steps."""

import numpy as np
import pytest

from bayesperf.core.arrays import complex_step


@pytest.mark.parametrize("step", [1e-30, 1e-20])
def test_a_derivative_has_all_its_digits(step):
    x = np.array([1e-3, 0.5, 3.0])
    np.testing.assert_allclose(complex_step(np.exp, x, step=step), np.exp(x), rtol=4e-16)
    np.testing.assert_allclose(complex_step(np.log, x, step=step), 1 / x, rtol=4e-16)


def test_a_direction_makes_it_a_gradient():
    x = np.array([0.2, 0.3, 0.5])
    gradient = complex_step(lambda v: v[..., 0] * v[..., 1] ** 2 / v[..., 2], x, np.eye(3))
    np.testing.assert_allclose(gradient, [0.09 / 0.5, 0.12 / 0.5, -0.018 / 0.25], rtol=1e-15)
