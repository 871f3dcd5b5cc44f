import ast
import inspect
import subprocess
import sys
import tomllib
from functools import cached_property
from graphlib import TopologicalSorter
from inspect import getattr_static
from pathlib import Path
from types import FunctionType

import pytest

import bayesperf

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bayesperf"
HEAVY = {"pymc", "arviz", "matplotlib", "sklearn"}
MOST_LINES = 420

# The exact route from end to end: closed forms, quadrature (balanced_accuracy, f2), draws (mcc).
EXACT_ROUTE = """
import bayesperf as bp
cm = bp.ConfusionMatrix.from_predictions([1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1])
posterior = bp.posterior(cm)
posterior.summary(["accuracy", "f1", "mcc", "balanced_accuracy", "f2"])
posterior["half_total_error_rate"].cdf([0.1, 0.5])
bp.intervals.delta(cm, "f1")
"""

# What else needs no sampler: groups by quadrature, sequences, the names of the models and the study of coverage.
WITHOUT_SAMPLER = """
import bayesperf as bp
groups = bp.ConfusionMatrix.from_table([[[18, 2], [3, 17]], [[19, 1], [4, 16]], [[17, 3], [2, 18]]], dims=["fold"])
bp.pool(groups).mean["recall"].mean()
bp.sequences.posterior([0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0])["recall"].mean()
bp.studies.dependence([0.5], n=20, simulations=2)
bp.models.names(), bp.fit, bp.studies.simulation_based_calibration
"""


def run(program):
    """Run a program in an interpreter that has imported nothing yet."""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def modules():
    """Return the path of every module of the package by its dotted name."""
    found = {}
    for folder, _, files in PACKAGE.walk(follow_symlinks=True):
        parts = folder.relative_to(ROOT).parts
        for file in files:
            if file.endswith(".py"):
                stem = () if file == "__init__.py" else (file.removesuffix(".py"),)
                found[".".join((*parts, *stem))] = folder / file
    return found


def test_every_package_folder_is_listed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert folders == set(project["tool"]["setuptools"]["packages"])


# ── Imports ──


@pytest.mark.parametrize(
    "program", ["import bayesperf", EXACT_ROUTE, WITHOUT_SAMPLER], ids=["import", "exact route", "without a sampler"]
)
def test_heavy_packages_are_not_loaded(program):
    run(f"{program}\nimport sys\nassert not {HEAVY} & set(sys.modules), {HEAVY} & set(sys.modules)")


def test_every_public_name_resolves():
    assert set(bayesperf.__all__) <= set(dir(bayesperf))
    for name in bayesperf.__all__:
        assert getattr(bayesperf, name) is not None


@pytest.mark.parametrize(
    "first",
    [
        "import bayesperf.posteriors.posterior",
        "from bayesperf.posteriors.posterior import Posterior",
        "bayesperf.Posterior",
    ],
)
def test_posterior_stays_a_function_whatever_is_imported_first(first):
    run(f"import bayesperf\n{first}\nassert callable(bayesperf.posterior), bayesperf.posterior")


def statements(body):
    """Yield the statements that run as a module is loaded; a type checker's imports do not."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.orelse)
            continue
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "orelse", "finalbody", "handlers"):
                yield from statements(getattr(node, part, []))


def imports_at_top_level(name, path, known):
    """Yield the modules, of those known, that a module loads as it is itself loaded."""
    # What one leading dot of a relative import stands for.
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in statements(ast.parse(path.read_text()).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                candidates = (f"{source}.{alias.name}", source)
                yield from [module for module in candidates if module in known][:1]


def test_no_import_cycles():
    known = modules()
    graph = {name: set(imports_at_top_level(name, path, known)) for name, path in known.items()}
    assert graph["bayesperf.posteriors.posterior"] >= {"bayesperf.counts.matrix", "bayesperf.prior"}
    # Raises CycleError, which names the modules of the cycle.
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import bayesperf.b", {"bayesperf.b"}),
        ("from bayesperf import b", {"bayesperf.b"}),
        ("from bayesperf.b import f", {"bayesperf.b"}),
        ("from . import b", {"bayesperf.b"}),
        ("from .b import f", {"bayesperf.b"}),
        ("try:\n    import bayesperf.b\nexcept ImportError:\n    pass", {"bayesperf.b"}),
        ("class A:\n    import bayesperf.b", {"bayesperf.b"}),
        ("def f():\n    import bayesperf.b", set()),
        ("if TYPE_CHECKING:\n    import bayesperf.b", set()),
        ("import numpy", set()),
    ],
)
def test_imports_at_top_level(tmp_path, source, expected):
    path = tmp_path / "a.py"
    path.write_text(source)
    assert set(imports_at_top_level("bayesperf.a", path, {"bayesperf.a", "bayesperf.b"})) == expected


# ── What a reader meets ──


def members(thing):
    """Yield the public functions, classes and methods that a public name leads to, named."""
    if inspect.ismodule(thing):
        for name in getattr(thing, "__all__", None) or vars(thing):
            value = getattr(thing, name)
            ours = getattr(value, "__module__", "").startswith("bayesperf")
            if not name.startswith("_") and ours and callable(value):
                yield f"{thing.__name__}.{name}", value
                yield from members(value)
    elif inspect.isclass(thing):
        methods = FunctionType | property | cached_property | staticmethod | classmethod
        for name in dir(thing):
            if not name.startswith("_") and isinstance(getattr_static(thing, name), methods):
                yield f"{thing.__qualname__}.{name}", getattr(thing, name)


def is_documented(value):
    # A dataclass without a docstring is given its signature for one.
    text = inspect.getdoc(value) or ""
    return bool(text) and not text.startswith(f"{getattr(value, '__name__', None)}(")


@pytest.mark.parametrize("name", bayesperf.__all__)
def test_everything_public_has_a_docstring(name):
    thing = getattr(bayesperf, name)
    found = {name: thing, **dict(members(thing))}
    assert [label for label, value in found.items() if not is_documented(value)] == []


def test_members_are_found():
    assert {"Posterior.summary", "Posterior.dims"} <= dict(members(bayesperf.Posterior)).keys()
    found = dict(members(bayesperf.metrics)).keys()
    assert {"bayesperf.metrics.get", "Metric.evaluate"} <= found


def test_no_module_is_too_long_to_read():
    lines = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
