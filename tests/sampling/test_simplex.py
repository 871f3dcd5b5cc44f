"""The simplex transform as one operation, against SciPy, PyMC and complex steps."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.distributions.transforms import SimplexTransform
from scipy import special

from bayesperf.core.arrays import complex_step
from bayesperf.sampling.backend import INTERPRETED
from bayesperf.sampling.simplex_transform import shares, simplex, slope

SHAPES = [(1,), (2,), (9,), (4, 1), (3, 2), (2, 3, 9), (0, 2)]
SCALES = [0.0, 1.0, 30.0, 800.0]


def coordinates(shape, scale):
    return scale * np.random.default_rng(len(shape)).uniform(-1, 1, shape)


def log_softmax(x):
    """Logarithms of the shares, of real or complex coordinates."""
    z = np.concatenate([x, -x.sum(-1, keepdims=True)], -1)
    z = z - z.real.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def log_determinant(x):
    return np.log(x.shape[-1] + 1) + log_softmax(x).sum(-1)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES)
def test_shares_are_a_softmax(shape, scale):
    x = coordinates(shape, scale)
    share, determinant = shares(x)
    last = -x.sum(-1, keepdims=True)
    np.testing.assert_allclose(share, special.softmax(np.concatenate([x, last], -1), -1), rtol=1e-12)
    np.testing.assert_allclose(determinant, log_determinant(x), rtol=1e-12)
    assert share.shape == (*shape[:-1], shape[-1] + 1)
    assert determinant.shape == shape[:-1]


@pytest.mark.parametrize("scale", [0.3, 2.0])
@pytest.mark.parametrize("size", [1, 2, 9])
def test_log_determinant_is_that_of_the_jacobian(size, scale):
    x = coordinates((size,), scale)
    jacobian = np.stack([complex_step(lambda v: np.exp(log_softmax(v)[..., :-1]), x, e) for e in np.eye(size)])
    np.testing.assert_allclose(shares(x)[1], np.linalg.slogdet(jacobian)[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES)
def test_slope_is_the_derivative(shape, scale):
    x, rng = coordinates(shape, scale), np.random.default_rng(9)
    share = shares(x)[0]
    of_shares, of_determinant = rng.standard_normal(share.shape), rng.standard_normal(shape[:-1])

    def weighted(v):
        return (of_shares * np.exp(log_softmax(v))).sum(-1) + of_determinant * log_determinant(v)

    expected = np.stack([complex_step(weighted, x, e) for e in np.eye(shape[-1])], -1)
    found = slope(share, of_shares, of_determinant)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_far_out_nothing_is_lost():
    x = np.array([[800.0, 0.0], [-800.0, 0.0], [0.0, -800.0], [800.0, 800.0], [400.0, -800.0]])
    share, determinant = shares(x)
    assert np.isfinite(share).all()
    np.testing.assert_array_equal(share.argmax(-1), [0, 2, 2, 0, 0])
    np.testing.assert_allclose(share.sum(-1), 1)
    # Log 3 and the distances from the greatest coordinate; two equal ones halve the whole.
    distances = [800 + 1600, 800 + 1600, 800 + 1600, 2400 + 3 * np.log(2), 1200]
    expected = np.log(3) - np.array(distances)
    expected[4] = np.log(3) - 1200 - 3 * np.log(2)  # 400, −800 and 400
    np.testing.assert_allclose(determinant, expected, rtol=1e-12)
    assert np.isfinite(slope(share, share, determinant)).all()


def test_memory_in_another_order():
    x = coordinates((9, 4, 3), 2.0).T
    np.testing.assert_array_equal(shares(x)[0], shares(np.ascontiguousarray(x))[0])
    share = shares(x)[0]
    strided = np.repeat(share, 2, axis=-1)[..., ::2]
    np.testing.assert_array_equal(slope(strided, strided, strided[..., 0]), slope(share, share, share[..., 0]))


def outputs(transform, x):
    """Return the shares, the log determinant, and gradients of either and of both, as a graph."""
    share, determinant = transform.backward(x), transform.log_jac_det(x)
    weights = pt.arange(share.shape[-1]) + 1.0
    of_shares, of_determinant = (weights * share**2).sum(), (determinant**2).sum()
    costs = [of_shares, of_determinant, of_shares * 3 + of_determinant]
    return [share, determinant, *(pytensor.grad(cost, x) for cost in costs)]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2,), (3, 1), (2, 3, 9)])
def test_it_is_the_transform_of_pymc(shape):
    x = pt.tensor(dtype="float64", shape=shape)
    both = [*outputs(simplex(), x), *outputs(SimplexTransform(), x)]
    with pytensor.config.change_flags(cxx=""):  # what is within PyMC's would be compiled all the same
        values = pytensor.function([x], both, mode=INTERPRETED)(coordinates(shape, 3.0))
    for ours, theirs in zip(values[:5], values[5:], strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    share = values[0]
    forward = simplex().forward(pt.as_tensor(share)).eval(mode=INTERPRETED)
    np.testing.assert_allclose(forward, coordinates(shape, 3.0), atol=1e-9)


@pytest.mark.slow
def test_numba_and_python_compute_the_same():
    """Of points whose number is known only when they are there."""
    x = pt.tensor(dtype="float64", shape=(None, 3, 2))
    share, determinant, *_, slope_of_both = outputs(simplex(), x)
    graph = [share, determinant, slope_of_both]
    value = coordinates((4, 3, 2), 3.0)
    interpreted, by_numba = (pytensor.function([x], graph, mode=mode)(value) for mode in (INTERPRETED, "NUMBA"))
    for one, other in zip(interpreted, by_numba, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_shapes_are_known_without_the_values():
    x = pt.tensor(dtype="float64", shape=(None, None))
    shapes = [value.shape for value in outputs(simplex(), x) if value.ndim]
    function = pytensor.function([x], shapes, mode="FAST_RUN")
    operations = {type(node.op).__name__ for node in function.maker.fgraph.apply_nodes}
    assert not operations & {"_Shares", "_Slope"}
    found = [shape.tolist() for shape in function(np.zeros((5, 3)))]
    assert found == [[5, 4], [5], [5, 3], [5, 3], [5, 3]]


def test_the_lengths_of_the_outputs_are_part_of_their_types():
    share, determinant = simplex().backward(pt.zeros((4, 2))), simplex().log_jac_det(pt.zeros((4, 2)))
    assert share.type.shape == (4, 3)
    assert determinant.type.shape == (4,)
