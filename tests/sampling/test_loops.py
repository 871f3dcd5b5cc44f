"""The source of a graph as loops, run by Python, against the graph as PyTensor computes it."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import NUMBA, Mode
from scipy import special

from bayesperf.sampling import backend, loops, simplex_transform
from bayesperf.sampling.backend import INTERPRETED, CompiledModel
from tests.sampling.test_density import ALL, model_and_points
from tests.shared.fits import SITES, SIX_SITES, built, slow

# What Numba has of the standard library, of NumPy's numbers, which overflow without an error, and arrays for addresses.
IN_PYTHON = {
    "carray": lambda array, size, dtype: array.view(dtype)[:size],
    **{name: getattr(np, name) for name in ("exp", "log", "log1p", "expm1", "sqrt", "tanh")},
    "erf": special.erf, "erfc": special.erfc, "lgamma": special.gammaln,
    "shares": simplex_transform.shares, "slope": simplex_transform.slope,
}  # fmt: skip
MODE = Mode("py", NUMBA.provided_optimizer.excluding("inplace", "BlasOpt", "fuse_indexed_into_elemwise"))


def run(graph, point, data, size):
    """Return the error, the number and the vector (size,) of a graph's source, which Python runs."""
    source, further, called = loops.written(graph, lambda node: node.op.impl)
    names = {**loops.FUNCTIONS, **IN_PYTHON, **called}
    exec(source, names)
    value, gradient = np.full(1, np.nan), np.full(size, np.nan)
    with np.errstate(all="ignore"):
        error = names["density"](max(point.size, size), point, gradient, value, loops.packed([*data, *further]))
    return error, value[0], gradient


# ── Operations ──

X = np.random.default_rng(5).normal(size=(3, 4, 2))
PICKED = np.array([2, 0, -1])
FORMS = {
    "elementwise": lambda x: pt.exp(x) - pt.softplus(x) * pt.sigmoid(x),
    "repeated along dims": lambda x: x * x.sum(0, keepdims=True) + x.sum((1, 2), keepdims=True),
    "switch": lambda x: pt.switch(pt.gt(x, 0.3) | pt.lt(x, -1), x, -np.inf),
    "not": lambda x: pt.invert(pt.isnan(x)) * x,
    "greatest": lambda x: pt.maximum(x, 0.1) + pt.minimum(x, x[0]),
    "cast": lambda x: pt.cast(pt.cast(3 * x, "int64"), "float64") / 7,
    "special": lambda x: pt.gammaln(x**2 + 1) + pt.erf(x) + pt.log1p(x**2) + pt.psi(x**2 + 0.5),
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(axis=1),
    "sum of outer axes": lambda x: pt.exp(x).sum(axis=(0, 2)),
    "max and all": lambda x: pt.switch(pt.all(x < 5), x.max(axis=-1), 0.0),
    "product": lambda x: x.prod(axis=0),
    "transposed": lambda x: x.transpose(2, 0, 1)[None] * 2,
    "reshaped": lambda x: x.reshape((2, -1)) * pt.arange(12.0),
    "reshaped as computed": lambda x: x.reshape(pt.cast([x[0, 0, 0] * 0 + 6, -1], "int64")) * 2,
    "element": lambda x: x[1, -1, 0] * 3,
    "first axis": lambda x: x[1:] + x[:-1],
    "inner slice": lambda x: 2 * x[:, 1:-1, 0],
    "every other": lambda x: 2 * x[::2, 1::2],
    "reversed": lambda x: 2 * x[:, ::-1],
    "slice that ends outside": lambda x: 2 * x[:9, 2:9],
    "picked": lambda x: x[PICKED],
    "picked within": lambda x: x[:, [3, 1, 1]],
    "picked pairs": lambda x: x[[0, 2, 1], [3, 3, 0]],
    "set": lambda x: pt.set_subtensor(x[:, 1], 0.5),
    "added": lambda x: pt.inc_subtensor(x[1:, ::2], x[:2, 1::2]),
    "added where picked": lambda x: pt.inc_subtensor(pt.zeros((4, 4, 2))[np.array([1, 1, 3])], x),
    "joined": lambda x: pt.concatenate([x, 2 * x[:, :1], x], axis=1),
    "stacked": lambda x: pt.stack([x[0], x[1] - 1, x[2]], axis=-1),
    "of numbers": lambda x: pt.stack([x[0, 0, 0], x.sum(), 1.5]),
    "filled": lambda x: pt.full((2, 3), x[0, 0, 1]) * 2,
    "matrix product": lambda x: x[0].T @ x[1],
    "matrix and vector": lambda x: x[0] @ x[1, 0],
    "vectors": lambda x: x[0, :, 0] @ x[1, :, 1],
    "products of a batch": lambda x: x.transpose(0, 2, 1) @ x,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_an_operation_as_loops(form):
    point, shape = pt.vector("point"), pt.lvector("shape")
    wanted = FORMS[form](point.reshape(shape, ndim=3))
    outputs = [1 + wanted.sum(), wanted.ravel()]
    expected = pm.compile([point, shape], outputs, mode=INTERPRETED)(X.ravel(), np.array(X.shape))
    graph = pm.compile([point, shape], outputs, mode=MODE).maker.fgraph
    error, *found = run(graph, point=X.ravel(), data=[np.array(X.shape)], size=len(expected[1]))
    assert error == (0 if np.isfinite(expected[1]).all() else loops.NO_GRADIENT)
    for computed, value in zip(found, expected, strict=True):
        np.testing.assert_allclose(computed, value, rtol=1e-12)


@pytest.mark.slow
def test_a_compiled_function_says_what_is_not_finite_and_stops_when_told():
    point, scale = pt.vector("point"), pt.vector("scale")
    outputs = [pt.log(scale * point).sum(), 1 / pt.maximum(point, scale)]
    at, scales = np.array([2.0, 1.0]), np.array([1.0, 3.0])
    density, words = backend._in_loops(point, outputs, {scale: scales}, at)

    def called(values, stopped=False):
        model = CompiledModel(density, lambda *data: words(list(data)), None, {}, at, {"scale": np.array(values)})
        of_nutpie, _, stop = backend._called_in_c(model, list(model.data.values()))
        given = of_nutpie.user_data
        if stopped:
            stop()
        value, gradient = np.full(1, 7.0), np.full(2, 7.0)
        error = density.function.ctypes(2, *(array.ctypes.data for array in (at, gradient, value, given)))
        return error, value[0], gradient.tolist()

    assert called([1.0, 3.0]) == (0, pytest.approx(np.log(6)), [0.5, pytest.approx(1 / 3)])
    assert called([1.0, 0.0])[0] == loops.NO_DENSITY
    assert called([1.0, np.nan])[0] == loops.NO_GRADIENT
    assert called([1.0, 3.0], stopped=True) == (loops.NO_DENSITY, 7, [7, 7])


def test_an_operation_without_loops_is_compiled_as_pytensor_does():
    x = pt.vector("x")
    outputs = [pt.sort(x).sum(), pt.sort(x)]
    assert backend._in_loops(x, outputs, {}, np.array([2.0, 1.0])) is None
    density, as_they_are = backend._in_parts(x, outputs, {}, np.array([2.0, 1.0]))
    np.testing.assert_array_equal(density(np.array([3.0, 1.0, 2.0]), *as_they_are([]))[1], [1, 2, 3])


@pytest.mark.slow
def test_a_function_that_differs_from_the_graph_is_not_taken(monkeypatch):
    x = pt.vector("x")
    outputs = [pt.exp(x).sum(), pt.exp(x)]
    assert backend._in_loops(x, outputs, {}, np.array([2.0, 1.0])) is not None
    monkeypatch.setitem(loops.SCALARS, "Exp", "1.001 * exp({0})")
    assert backend._in_loops(x, outputs, {}, np.array([2.0, 1.0])) is None


# ── Models ──

SOON = ("multinomial", "groups, repeated")


def simplified(model):
    """Return the graph of a model's density, and its arguments but the point."""
    point, outputs = backend._log_density(model, [value.shape for value in backend._start(model)])
    shared = backend._shared(model, outputs)
    values = {variable: variable.get_value() for variable in shared.values()}
    with model:
        mode = MODE.register(backend._cheaper()[0])
        function = backend._function([point], outputs, values, mode)
        interpreted = backend._function([point], outputs, values, INTERPRETED)
    return function.maker.fgraph, interpreted, [backend._contiguous(v, v.dtype) for v in values.values()]


@pytest.mark.slow
@pytest.mark.parametrize("case", [case if case in SOON else slow(case) for case in ALL])
def test_every_model_has_a_source(case):
    model, _, points = model_and_points(case)
    graph, interpreted, given = simplified(model)
    for point in points[:2]:
        expected = interpreted(point, *given)
        error, value, gradient = run(graph, point, given, size=len(point))
        assert error == 0
        np.testing.assert_allclose(value, expected[0], rtol=1e-9)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_data_of_other_sizes_have_the_same_source():
    """So that they compile nothing."""

    def source(cm):
        return loops.written(simplified(built("groups", cm))[0], lambda node: node.op.impl)[0]

    assert source(SITES) == source(SIX_SITES)
