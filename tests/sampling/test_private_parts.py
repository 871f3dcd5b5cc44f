"""What is private or unstable in PyMC, PyTensor, nutpie and Numba: two files touch it, and do without it."""

import ast

import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf.sampling import backend
from tests.shared.fits import BINARY, built, error
from tests.shared.sources import modules

TOUCHING = {"bayesperf.sampling.backend", "bayesperf.sampling.simplex_transform"}
PACKAGES = {"pymc", "pytensor", "nutpie", "numba"}
PUBLIC = {"pymc", "pytensor", "pytensor.graph", "pytensor.tensor", "nutpie", "numba"}
# PyMC documents these for distributions and transforms of one's own, which the model files have.
OF_DISTRIBUTIONS = {"pymc.distributions.shape_utils", "pymc.logprob.transforms", "pytensor.tensor.random.op"}
ROWS = [(use, row) for use, rows in backend.RELIES_ON.items() for row in rows]


def private_imports(source):
    """Yield "module:name" of what a source imports of these packages, but for what is public."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if module.split(".")[0] in PACKAGES and module not in PUBLIC:
                yield f"{module}:{name}"


@pytest.fixture
def without(monkeypatch):
    """Return a function that makes a row of the table unmet."""

    def unmeet(row):
        use = next(use for use, rows in backend.RELIES_ON.items() if row in rows)
        monkeypatch.setitem(backend.RELIES_ON[use], row, "no_such_parameter")
        backend.unmet.cache_clear()

    yield unmeet
    monkeypatch.undo()
    backend.unmet.cache_clear()


@pytest.mark.parametrize(("use", "row"), ROWS)
def test_the_installed_packages_meet_each_row(use, row):
    assert backend._is_met(row, backend.RELIES_ON[use][row].split())


@pytest.mark.parametrize(
    "row",
    ["pymc.no_such_module:f", "pymc.pytensorf:no_such_function", "pymc.pytensorf:constant_fold.no_such_attribute"],
)
def test_what_is_missing_is_found(row):
    assert not backend._is_met(row, ())
    assert backend._is_met("pymc.pytensorf:constant_fold", ["xs"])
    assert not backend._is_met("pymc.pytensorf:constant_fold", ["xs", "ys"])


def test_every_private_import_stands_in_the_table():
    imported = {found for name in TOUCHING for found in private_imports(modules()[name].read_text(encoding="utf-8"))}
    # Of a class whose attributes have rows, these rows stand for it.
    listed = {row.partition(":")[0] + ":" + row.partition(":")[2].split(".")[0] for _, row in ROWS}
    assert imported == listed


@pytest.mark.slow
def test_no_other_file_imports_private_parts():
    elsewhere = {
        f"{name}: {found}"
        for name, path in modules().items()
        if name not in TOUCHING
        for found in private_imports(path.read_text(encoding="utf-8"))
        if not (name.startswith("bayesperf.models.") and found.partition(":")[0] in OF_DISTRIBUTIONS)
    }
    assert elsewhere == set()


def test_private_imports_are_seen():
    lines = [
        "import pymc.pytensorf",
        "def f():",
        "    from pytensor.graph.traversal import ancestors",
        "from pytensor import grad",
    ]
    source = "\n".join(lines)
    assert list(private_imports(source)) == ["pymc.pytensorf:", "pytensor.graph.traversal:ancestors"]


def test_a_sampler_is_needed_only_where_one_is_asked_for(without):
    without("nutpie.compiled_pyfunc:from_pyfunc")
    assert backend.unmet("draws together") is None
    assert backend.unmet() == "nutpie.compiled_pyfunc:from_pyfunc"
    with pytest.raises(RuntimeError, match=r"relies on nutpie\.compiled_pyfunc\.from_pyfunc, which nutpie .* pip inst"):
        backend.compiled(built("rates", BINARY))


@pytest.mark.slow
def test_without_private_parts_fits_sample_by_pymc(without):
    """With draws, predictions and log densities by public functions, too."""
    known = bp.fit(BINARY, "rates", method="exact", draws=10, random_seed=1)
    without("pytensor.graph.replace:vectorize_graph")
    with pytest.warns(
        UserWarning, match=r"pymc\.sample\(nuts_sampler='nutpie'\).* pytensor\.graph\.replace\.vectorize"
    ):
        tree = bp.fit(BINARY, "rates", method="mcmc", draws=500, tune=300, chains=4, random_seed=1, progressbar=False)
    assert set(tree.children) == {*known.children, "sample_stats"}
    for name, group in known.children.items():
        assert set(tree[name].data_vars) == set(group.data_vars), name
    recall, log_prior = tree["posterior"]["recall"], tree["log_prior"]["recall"]
    posterior = stats.beta(40.5, 10.5)
    assert recall.mean() == pytest.approx(posterior.mean(), abs=5 * error(recall))
    assert (recall < posterior.ppf(0.1)).mean() == pytest.approx(0.1, abs=5 * error(recall < posterior.ppf(0.1)))
    np.testing.assert_allclose(log_prior, stats.beta(0.5, 0.5).logpdf(recall), atol=1e-6)
