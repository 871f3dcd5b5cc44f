"""The log density that is compiled, its gradient, and the variables computed from its points, against PyMC's own."""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymc as pm
import pytensor
import pytest
from pytensor.graph.op import HasInnerGraph
from scipy import stats

from bayesperf.sampling import backend
from bayesperf.sampling.backend import INTERPRETED
from tests.shared.fits import CASES, NORMAL, agrees, built, of_scipy, slow
from tests.shared.models import DENSITIES, OF_TWO_CLASSES

ALL = {name: case[:3] for name, case in DENSITIES.items()} | {
    "groups, repeated": CASES["groups, repeated"],
    "two classes, other scores": ("binormal_roc", (OF_TWO_CLASSES[0], 10 - OF_TWO_CLASSES[1] ** 2), {}),
}
# Compiled under ``make test``; the others are marked slow.
SOON = ("rates",)
# Variants of models whose fullest form is among the others, and forms whose graphs take long.
VARIANTS = {
    "multinomial of three classes", "rates by actual", "classes by actual", "groups", "groups by actual",
    "groups, clusters by actual", "groups of systems", "groups, repeated", "groups_logit", "groups_logit, clusters",
    "markov", "markov, z_prev", "datasets, repeated folds", "two classes, other scores", "raters",
    "raters of three classes", "raters, dependent", "groups_logit, LKJ and covariates", "markov, varying",
    "classes", "groups, clusters", "slices, accuracy", "datasets", "recalibration of sites", "raters, cut",
    "raters, pooled", "meta_analysis, imperfect reference", "items, discrimination",
    "items, grades",
}  # fmt: skip


def model_and_points(case, n=4):
    """Return a case's model, the shapes of its parameters, and random points on the unconstrained scale."""
    model = built(*ALL[case])
    start = backend._start(model)
    size = sum(value.size for value in start)
    # Farther out, PyMC's density loses digits where it is interpreted as it stands: log(1 - p) of a logit of 29, say.
    return model, [value.shape for value in start], np.random.default_rng(3).standard_normal((n, size)) / 2


def split(model, shapes, point):
    """Return a point as PyMC has it: a value of each parameter by name."""
    stops = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])
    parts = np.split(point, stops[:-1])
    return {v.name: part.reshape(shape) for v, part, shape in zip(model.value_vars, parts, shapes, strict=True)}


def of_pymc(model, shapes, points):
    """Return PyMC's log densities, their gradients, and its variables at points."""
    names = [rv.name for rv in [*model.free_RVs, *model.deterministics]]
    wanted = {v.name: v for v in model.unobserved_value_vars if v.name in names}
    with pytensor.config.change_flags(cxx=""):
        value = model.compile_logp(mode=INTERPRETED)
        slope = model.compile_dlogp(mode=INTERPRETED)
        variables = model.compile_fn(list(wanted.values()), mode=INTERPRETED, on_unused_input="ignore")
        at = [split(model, shapes, point) for point in points]
        computed = [variables(p) for p in at]
    by_name = {name: np.array([values[i] for values in computed]) for i, name in enumerate(wanted)}
    return np.array([value(p) for p in at]), np.array([slope(p) for p in at]), by_name


def differences(density, point, step=1e-5):
    """Return the gradient of a density by central differences."""
    return np.array(
        [(density(point + step * e)[0] - density(point - step * e)[0]) / (2 * step) for e in np.eye(point.size)]
    )


def agree(density, model, shapes, points, variables):
    values, slopes = map(np.array, zip(*(density(point) for point in points), strict=True))
    expected, expected_slopes, expected_variables = of_pymc(model, shapes, points)
    assert len(set(expected)) == len(points)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    np.testing.assert_allclose(slopes, expected_slopes, rtol=1e-8, atol=1e-8)
    # The differences lose half of the digits.
    tolerance = 1e-6 * (1 + abs(values[0]) + abs(slopes[0]).max())
    np.testing.assert_allclose(slopes[0], differences(density, points[0]), atol=tolerance)
    assert variables.keys() == expected_variables.keys()
    for name, found in variables.items():
        np.testing.assert_allclose(found, expected_variables[name], rtol=1e-9, atol=1e-14, err_msg=name)


@functools.cache
def compiled(case):
    """Compile a case once for all tests, which takes seconds."""
    return backend._compile(model_and_points(case)[0])


@pytest.mark.slow
@pytest.mark.parametrize("case", [slow(case) if case in VARIANTS else case for case in ALL])
def test_what_is_compiled_is_the_model_of_pymc(case):
    """The graphs of all models, computed by Python."""
    model, shapes, points = model_and_points(case)
    point, outputs = backend._log_density(model, shapes)
    density = pm.compile([point], outputs, mode=INTERPRETED)
    several, variables = backend._variables(model, shapes)
    compute = pm.compile([several], list(variables.values()), mode=INTERPRETED, on_unused_input="ignore")
    agree(density, model, shapes, points, dict(zip(variables, compute(points), strict=True)))
    # An operation that is a graph in itself, as PyMC's softmax, would be compiled by C even so.
    assert not any(isinstance(node.op, HasInnerGraph) for node in compute.maker.fgraph.apply_nodes)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case if case in SOON else slow(case) for case in ALL])
def test_compiled_models(case):
    model, shapes, points = model_and_points(case)
    found = compiled(case)
    data = found.data.values()
    variables = dict(zip(found.dims, found.variables(points, *data), strict=True))
    agree(lambda point: found.density(point, *found.before(*data)), model, shapes, points, variables)
    dims = {name: tuple(of) for name, of in model.named_vars_to_dims.items()}
    assert {name: tuple(of) for name, of in found.dims.items()} == {name: dims.get(name, ()) for name in found.dims}
    # PyMC starts there too.
    initial = model.initial_point(random_seed=0)
    expected = np.concatenate([np.ravel(initial[value.name]) for value in model.value_vars])
    np.testing.assert_allclose(found.start, expected, rtol=1e-6, atol=1e-12)
    # Threads share nothing.
    many = np.tile(points, (500, 1))
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda point: found.density(point, *found.before(*data))[0], many, chunksize=50))
    alone = [found.density(point, *found.before(*data))[0] for point in points]
    np.testing.assert_array_equal(at_once, np.tile(alone, 500))


@pytest.mark.slow
def test_other_data_are_given_to_what_is_compiled():
    model, shapes, points = model_and_points("rates")
    found = compiled("rates")
    with model:
        pm.set_data({"true_positives_data": np.array([3, 2]), "positives_trials": np.array([60, 60])})
    other = backend.with_data(found, {variable.name: variable.get_value() for variable in model.data_vars})
    expected, *_ = of_pymc(model, shapes, points)
    values = [other.density(point, *other.before(*other.data.values()))[0] for point in points]
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    unchanged = [found.density(point, *found.before(*found.data.values()))[0] for point in points]
    assert (np.abs(values - np.array(unchanged)) > 0.01).all()
    # What a model does not read is not handed over.
    assert backend.with_data(found, {"unknown": np.ones(3)}).data.keys() == found.data.keys()


# ── NUTS ──


@pytest.mark.slow
def test_draws_of_a_density_in_python():
    settings = {"draws": 1000, "chains": 4, "tune": 300}
    groups = backend.sample_compiled(NORMAL, settings, seed=1)
    posterior = groups["posterior"]
    agrees(posterior["x"], of_scipy(stats.norm([1.0, -2.0], 1), "axis"))
    np.testing.assert_allclose(posterior["total"], posterior["x"].sum("axis"))
    assert posterior["total"].dims == groups["sample_stats"]["diverging"].dims == ("chain", "draw")
    again, other = (backend.sample_compiled(NORMAL, settings, seed=seed)["posterior"] for seed in (1, 2))
    np.testing.assert_array_equal(again["x"], posterior["x"])
    assert not np.isin(other["x"], posterior["x"]).any()
