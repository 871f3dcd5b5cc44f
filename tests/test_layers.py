"""The order of the house: which room may use which, no cycles, functions that fit on a screen."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter

import pytest

from tests.shared.sources import modules

# A room uses only those before it. `models` stands by itself.
ROOMS = [
    "core", "datasets", "data", "metrics", "distributions", "intervals", "posteriors", "groups", "sequences", "plots",
    "labels", "sampling", "comparison", "curves", "plan", "studies", "files", "reports", "cli",
]  # fmt: skip
# Uses no room, and may be used by any.
APART = {"models"}
# Asks for a fit inside a function, of a room that needs this one's data.
FITS = {("bayesperf.labels.prevalence_of_calls", "bayesperf.sampling.fitting")}
MOST_ROOMS = 19
MOST_LINES = 50
MOST_LINES_OF_DOCSTRINGS = 60
# Several tests read the same sources.
parsed = cache(ast.parse)


# ── Imports ──


def statements(body, inside=()):
    """Yield each statement with the names of the functions it stands in; a type checker's imports are left out."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.orelse, inside)
            continue
        yield node, inside
        deeper = (*inside, node.name) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else inside
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, part, []), deeper)


def imported(name, path, known):
    """Yield the modules, of those known, that a module imports, and the functions in which it does so."""
    # What one leading dot of a relative import stands for.
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node, inside in statements(parsed(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            yield from ((alias.name, inside) for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                candidates = (f"{source}.{alias.name}", source)
                yield from [(module, inside) for module in candidates if module in known][:1]


def is_excused(module, inside):
    """Whether an import inside a function is for a figure, or for what loads PyMC."""
    is_plot = module.startswith("bayesperf.plots") and inside and inside[-1].startswith("plot")
    return is_plot or (bool(inside) and module.startswith("bayesperf.models."))


@cache
def graph():
    """Return the modules that each module imports, at its top or inside functions."""
    known = modules()
    return {
        name: {module for module, inside in imported(name, path, known) if not is_excused(module, inside)}
        for name, path in known.items()
    }


def room_of(module):
    return [*module.split("."), ""][1]


def test_no_import_cycles():
    imports = graph()
    assert imports["bayesperf.posteriors.posterior"] >= {"bayesperf.data.counted", "bayesperf.posteriors.marginal"}
    # Raises CycleError, which names the modules of the cycle.
    TopologicalSorter(imports).prepare()


def test_every_room_uses_only_those_before_it():
    rank = {room: place for place, room in enumerate(ROOMS)}
    climbing = [
        f"{name} uses {module}"
        for name, imports in graph().items()
        for module in imports
        if (name, module) not in FITS
        # The top lends names of all rooms.
        if module == "bayesperf"
        or (room_of(name) in APART and room_of(module) != room_of(name))
        or (room_of(name) in rank and room_of(module) in rank and rank[room_of(module)] > rank[room_of(name)])
    ]
    assert climbing == []


def test_models_name_functions_of_rooms_that_sampling_uses():
    known, named = modules(), []
    for name, path in known.items():
        if room_of(name) == "models":
            texts = [node.value for node in ast.walk(parsed(path.read_text(encoding="utf-8"))) if is_place(node)]
            named += [f"bayesperf.{text}".split(":") for text in texts]
    assert len(named) >= 4
    for module, function in named:
        body = parsed(known[module].read_text(encoding="utf-8")).body
        assert room_of(module) in ROOMS[: ROOMS.index("sampling")]
        assert function in {getattr(node, "name", "") for node in body}


def is_place(node):
    """Whether a node is a text such as "groups.group_draws:draws"."""
    return isinstance(node, ast.Constant) and bool(re.fullmatch(r"\w+(\.\w+)+:\w+", str(node.value)))


def test_the_package_does_without_what_is_not_in_the_wheel():
    outside = re.compile(r"^\s*(from|import) (validation|tests)\b", re.MULTILINE)
    assert [name for name, path in modules().items() if outside.search(path.read_text(encoding="utf-8"))] == []


def test_every_module_is_in_a_room():
    rooms = {room_of(name) for name, path in modules().items() if path.name == "__init__.py"} - {""}
    assert rooms == set(ROOMS) | APART
    assert len(rooms - {"models"}) <= MOST_ROOMS
    tops = {f"bayesperf.{room}" for room in (*rooms, "__main__")}
    assert {name for name in modules() if name.count(".") == 1} == tops


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import bayesperf.b", {("bayesperf.b", ())}),
        ("from bayesperf import b", {("bayesperf.b", ())}),
        ("from bayesperf.b import f", {("bayesperf.b", ())}),
        ("from . import b", {("bayesperf.b", ())}),
        ("from .b import f", {("bayesperf.b", ())}),
        ("try:\n    import bayesperf.b\nexcept ImportError:\n    pass", {("bayesperf.b", ())}),
        ("class A:\n    import bayesperf.b", {("bayesperf.b", ())}),
        ("def f():\n    import bayesperf.b", {("bayesperf.b", ("f",))}),
        ("class A:\n    def plot(self):\n        from bayesperf import b", {("bayesperf.b", ("plot",))}),
        ("if TYPE_CHECKING:\n    import bayesperf.b", set()),
        ("import numpy", set()),
    ],
)
def test_imports_are_seen(tmp_path, source, expected):
    path = tmp_path / "a.py"
    path.write_text(source)
    assert set(imported("bayesperf.a", path, {"bayesperf.a", "bayesperf.b"})) == expected


def test_only_figures_and_pymc_excuse_an_import_inside_a_function():
    assert is_excused("bayesperf.plots", ("plot_forest",))
    assert is_excused("bayesperf.models.groups", ("fit",))
    assert not is_excused("bayesperf.plots", ("summary",))
    assert not is_excused("bayesperf.plots", ())
    assert not is_excused("bayesperf.curves", ("plot",))


# ── What a reader meets ──


def code_lines(source):
    """Yield each function's name and how many lines of code it has: no docstrings, comments or blank lines."""
    tree = parsed(source)
    text = {number: line.strip() for number, line in enumerate(source.splitlines(), 1)}
    lines = {number for number, line in text.items() if line and not line.startswith("#")}
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, len(lines & set(range(node.lineno, node.end_lineno + 1)))


def test_every_function_fits_on_a_screen():
    long = [
        f"{name}.{function}: {count} lines"
        for name, path in modules().items()
        for function, count in code_lines(path.read_text(encoding="utf-8"))
        if count > MOST_LINES
    ]
    assert long == []


def test_no_docstring_is_longer_than_sixty_lines():
    long = [
        f"{name}: {docstring.partition(chr(10))[0]}"
        for name, path in modules().items()
        for docstring in re.findall(r'^ +"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        if docstring.count("\n") > MOST_LINES_OF_DOCSTRINGS
    ]
    assert long == []


def test_lines_of_code_are_counted():
    source = 'def f(x):\n    """Say.\n\n    More.\n    """\n\n    # Why.\n    y = [\n        x,\n    ]\n    return y\n'
    assert list(code_lines(source)) == [("f", 5)]


def private_accesses(source):
    """Yield the private attributes that are asked of anything but self, cls and super(), and private names imported.

    A method of this file may be asked of another object of its class.
    """
    tree = parsed(source)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = ast.unparse(node.value)
            if owner not in ("self", "cls", "super()") and node.attr not in own:
                yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if is_private(alias.name))


def is_private(name):
    # Methods of a named tuple are public, and so is how notebooks ask for HTML.
    public = ("_replace", "_asdict", "_repr_html_")
    return name.startswith("_") and not name.startswith("__") and name not in public


@pytest.mark.slow
def test_nothing_private_is_asked_of_others():
    asked = [
        f"{name}: {access}"
        for name, path in modules().items()
        for access in private_accesses(path.read_text(encoding="utf-8"))
    ]
    assert not asked


def test_private_accesses_are_seen():
    source = "from a import _b\nself._c\nother._d\nsuper()._e\npair._replace(x=1)\nx.__dict__\n"
    source += "class A:\n    def _f(self, other):\n        return other._f\n"
    assert list(private_accesses(source)) == ["_b", "other._d"]
