"""The site: every public name is in the reference, every question has its page, and every page can be reached."""

import ast
import inspect
import json
import re
from itertools import pairwise
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict

import bayesperf as bp
from bayesperf import reports
from bayesperf.cli.commands import app as command_line
from tests.shared.markdown import rows
from tests.shared.sources import ROOT, modules

DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
README = (ROOT / "README.md").read_text("utf-8")


# ── Reference ──


def public_names():
    """Return the names of the package, and of its public rooms what is not at the top as well."""
    things = {name: getattr(bp, name) for name in bp.__all__}
    rooms = {name: thing for name, thing in things.items() if inspect.ismodule(thing)}
    rooms |= {"reports": reports, "models.building": bp.models.building}
    inside = {
        f"bayesperf.{name}.{public}"
        for name, room in rooms.items()
        for public in room.__all__
        if getattr(room, public) is not things.get(public)
    }
    return inside | {f"bayesperf.{name}" for name in things.keys() - rooms.keys()}


def test_the_reference_lists_every_public_name_and_no_other():
    listed = set()
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", PAGES["reference/index"], re.DOTALL):
        (room,) = re.findall(r"currentmodule:: (\S+)", block)
        listed |= {f"{room}.{name}" for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)}
    assert listed == public_names()


# ── How to ──

# A question of the table of how-tos is the title or a heading of one page, word for word. A row that begins with "…"
# belongs to the question before it.
HEADINGS = [
    (heading, text)
    for page, text in PAGES.items()
    if page.startswith("how_to/") and page != "how_to/index"
    for heading in re.findall(r"^##? (.*)", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
]
QUESTIONS = rows(PAGES["how_to/index"], "| question | answer |")


def test_every_question_of_the_table_is_a_heading_and_every_heading_a_question():
    questions = [question for question, _ in QUESTIONS if not question.startswith("…")]
    assert len(questions) > 20
    assert sorted(heading for heading, _ in HEADINGS) == sorted(questions)


def test_the_page_of_a_question_makes_the_calls_of_its_answer():
    pages = dict(HEADINGS)
    page = ""
    for question, answer in QUESTIONS:
        page = page if question.startswith("…") else pages[question]
        calls = re.findall(r"(\w+)\(", " ".join(re.findall(r"`(.*?)`", answer)))
        assert [call for call in calls if f"{call}(" not in page] == [], question


# ── Which command, which function ──


def test_the_table_of_data_names_functions_and_options_that_exist():
    page = PAGES["which_function"]
    functions = set(re.findall(r"\bbp\.([\w.]+)\(", page))
    assert len(functions) > 15
    for name in functions:
        assert callable(attrgetter(name)(bp)), name
    commands = command_line.commands
    shown = set(re.findall(r"`bayesperf (\w+)", page))
    assert shown <= commands.keys()
    options = {name for command in commands.values() for option in command.params for name in option.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", page)) <= options


def test_the_calls_in_the_table_of_data_have_the_arguments_that_they_need():
    shown = re.findall(r"`([^`\n]*\bbp\.[^`\n]*\))`", PAGES["which_function"])
    codes = [code.replace("=…", "=0") for code in shown]
    calls = [node for code in codes for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    ours = [call for call in calls if re.fullmatch(r"bp\.[\w.]+", ast.unparse(call.func))]
    assert len(ours) > 30
    for call in ours:
        signature = inspect.signature(attrgetter(ast.unparse(call.func)[3:])(bp))
        signature.bind(*call.args, **{each.arg: each.value for each in call.keywords if each.arg})


# ── Options of the models ──


def test_every_option_of_a_model_has_an_example_in_its_section():
    sections = re.split(r"^## ", PAGES["explain/options"], flags=re.MULTILINE)[1:]
    examples = {name: re.findall(r"```{code-cell}(.*?)```", text, re.DOTALL) for name, _, text in
                (section.partition("\n") for section in sections)}  # fmt: skip
    declared = {name: set(getattr(getattr(bp.models, name), "OPTIONS", {})) for name in bp.models.names()}
    shown = {name: {option for option in declared[name] if f'"{option}":' in "".join(cells)}
             for name, cells in examples.items()}  # fmt: skip
    assert shown == {name: options for name, options in declared.items() if options}


# ── Pages ──


def linked(page):
    """Yield the pages in the toctrees of a page."""
    folder = page.rpartition("/")[0]
    for block in re.findall(r"```\{toctree\}\n(.*?)```", PAGES[page], re.DOTALL):
        for entry in block.splitlines():
            if entry and not entry.startswith(":"):
                name = re.sub(r".*<(.*)>", r"\1", entry)
                yield f"{folder}/{name}" if folder else name


def test_every_page_and_notebook_is_in_one_toctree():
    notebooks = {f"notebooks/{path.stem}" for path in (ROOT / "notebooks").rglob("*.ipynb")}
    found = [entry for page in PAGES for entry in linked(page)]
    assert sorted(found) == sorted((PAGES.keys() | notebooks) - {"index"})


# ── Warnings ──


def test_every_code_of_a_warning_has_its_place_and_every_place_its_code():
    raised = {code for path in modules().values() for code in re.findall(r'"(BP\d{3})"', path.read_text("utf-8"))}
    page = PAGES["warnings"]
    places = re.findall(r"^\((bp\d{3})\)=\n### (BP\d{3}): .+\n\n(?:.+\n)+?\*Do:\* ", page, re.MULTILINE)
    assert [anchor.upper() for anchor, _ in places] == [code for _, code in places]
    assert sorted(code for _, code in places) == sorted(raised)
    assert len(re.findall(r"^### ", page, re.MULTILINE)) == len(places)


def test_a_code_begins_with_the_number_of_its_class():
    found = {
        (category, code[2])
        for path in modules().values()
        for category, code in re.findall(r'\b(\w+Warning),\s+"(BP\d{3})"', path.read_text("utf-8"))
    }
    sections = re.findall(r"^## .*`(\w+)`\n\n\(bp(\d)", PAGES["warnings"], re.MULTILINE)
    assert found == set(sections)


def test_warnings_are_written_in_one_place():
    calls = [name for name, path in modules().items() if "warnings.warn(" in path.read_text("utf-8")]
    assert calls == ["bayesperf.core.errors"]


# ── Notebooks ──

NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


PLOTS = re.compile(r"(\.plot[\w.]*|\bplots\.\w+|\bplt\.\w+|\bplot_\w+)\(")


def sources(path):
    """Return kind and text of each cell of a notebook."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text("utf-8"))["cells"]]


def test_notebooks_are_kept_without_outputs():
    """The site shows what they print when it is built."""
    cells = [(path.stem, cell) for path in NOTEBOOKS for cell in json.loads(path.read_text("utf-8"))["cells"]]
    assert [name for name, cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_picture_has_a_caption(path):
    """The paragraph below a picture is in italics, and says what is on it."""
    cells = [*sources(path), ("end", "")]
    below = [after[1] for cell, after in pairwise(cells) if cell[0] == "code" and PLOTS.search(cell[1])]
    assert [text[:40] for text in below if not re.match(r"\*[^*]{20,}\*(\n\n|$)", text)] == []


def test_links_from_notebooks_to_pages_lead_somewhere():
    for path in NOTEBOOKS:
        for _, text in sources(path):
            for link in re.findall(r"\]\((\.\./[^)#]*)", text):
                assert (path.parent / link).exists(), (path.stem, link)


# ── Coming from another package ──

THEIRS_AND_OURS = rows(PAGES["coming_from"])


def test_tables_of_calls_are_found():
    assert len(THEIRS_AND_OURS) > 40
    assert {len(row) for row in THEIRS_AND_OURS} == {3}


def more_scope(rng):
    """Return ratings, reads, studies, attempts and votes."""
    names = ["reader", "case", "modality", "truth"]
    places = [(r, c, m, c % 2) for r in "abc" for c in range(30) for m in ("film", "screen")]
    reads = pd.DataFrame(places, columns=names).assign(score=lambda frame: rng.normal(frame["truth"]))
    studies = bp.ConfusionMatrix.from_counts(
        tp=[25, 17, 88], fn=[8, 4, 16], fp=[1, 3, 16], tn=[25, 11, 31], dims=["study"]
    )
    return {
        "ratings": bp.Ratings.from_table(rng.integers(1, 4, (40, 3))),
        "study": bp.curves.reader_areas(reads, draws=100, progressbar=False),
        **{"studies": studies, "together": bp.groups.meta_analysis(studies, draws=500)},
        "attempts": bp.Outcomes.from_counts(right=[0, 1, 2, 3, 4] * 6, n=4, dims=["question"]),
        "votes": pd.DataFrame({"a": [*"xyz"], "b": [*"yzx"], "winner": ["a", "b", "tie"], "count": [3, 2, 1]}),
        "cluster": np.arange(200) // 4,
    }


@pytest.fixture(scope="module")
def scope():
    rng = np.random.default_rng(0)
    y_true = np.arange(200) % 2
    scores = [rng.normal(1.5 * y_true) for _ in range(3)]
    y_pred, other_pred = ((score > 0.75).astype(int) for score in scores[:2])
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred)
    tp = xr.DataArray([18, 16, 19, 12, 17], dims="fold")
    return {
        **{"bp": bp, "y_true": y_true, "y_pred": y_pred, "other_pred": other_pred, "y_score": scores[0]},
        **{"other": scores[1], "y_dev": y_true, "s_dev": scores[2], "cm": cm, "post": bp.posterior(cm)},
        "post_b": bp.posterior(bp.ConfusionMatrix.from_counts(tp=50, fn=5, fp=8, tn=87)),
        "by_group": bp.ConfusionMatrix.from_predictions(y_true, y_pred, by={"group": ["a", "a", "b", "b"] * 50}),
        "y_probs": rng.dirichlet([1, 1], 200),
        "folds": bp.ConfusionMatrix.from_counts(tp=tp, fn=20 - tp, fp=3, tn=17),
        **more_scope(rng),
        "frame": pd.DataFrame({"truth": y_true, "estimate": y_pred}),
        **{"scores_a": [0.8, 0.9, 0.85, 0.83], "scores_b": [0.79, 0.85, 0.86, 0.8]},
        **{"model": LogisticRegression(), "X": np.stack(scores, axis=1), "y": y_true, "grid": {"C": [0.1, 1.0]}},
        **{"cross_val_predict": cross_val_predict, "GridSearchCV": GridSearchCV},
    }


# It samples, and has tests of its own.
OURS = [
    ours.strip("`")
    for _, ours, _ in THEIRS_AND_OURS
    if ours not in ("none", "`bp.folds.datasets(scores, test_fraction=1 / 10)`")
]


@pytest.mark.few
@pytest.mark.parametrize("call", OURS)
def test_every_call_of_ours_runs(call, scope):
    eval(call, scope)
