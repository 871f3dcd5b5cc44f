"""How Sphinx builds the site: ``make docs``, into ``.venv/site``."""

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import bayesperf
from bayesperf.cli.commands import app as command_line

# Files that are lent to the top are no modules of the top: autodoc looks them up as such.
for lent in ("prior", "folds", "errors"):
    sys.modules[f"bayesperf.{lent}"] = getattr(bayesperf, lent)

project = "bayesperf"
author = "The bayesperf developers"
project_copyright = f"2026, {author}"
version = release = bayesperf.__version__

exclude_patterns = ["repository"]
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]

# ── Pages and notebooks ──

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Code in pages runs, and an error fails the build. `make notebooks` has run the notebooks, two at a time.
nb_execution_mode = "force"
nb_execution_excludepatterns = ["notebooks/*"]
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
# Nothing is fetched at reading time, and there are no widgets.
nb_ipywidgets_js = {}


def links_of_notebooks(app, page, source):
    """Let links from a notebook to docs/ lead to the page: the site has the pages of docs/ one folder above."""
    source[0] = re.sub(r"\]\((\.\./)+docs/", "](../", source[0])


# ── The page of the command line ──


def example_files(folder):
    """Write the files that the commands of the page read."""
    frame = bayesperf.datasets.load("breast_cancer")
    frame[frame["model"] == "naive_bayes"].drop(columns="model").to_csv(folder / "predictions.csv", index=False)
    wide = frame.pivot(index=["example", "actual"], columns="model", values="predicted").reset_index()
    wide.to_csv(folder / "systems.csv", index=False)
    scores = frame.pivot(index=["example", "actual"], columns="model", values="score").reset_index()
    scores.to_csv(folder / "scores.csv", index=False)
    tags = {
        "tags": ["red|round", "red", "round|ripe", "", "red|ripe", "round"] * 10,
        "tagged": ["red|round", "red|ripe", "round|ripe", "", "red", "round"] * 10,
    }
    pd.DataFrame(tags).to_csv(folder / "fruit.csv", index=False)
    rng = np.random.default_rng(0)
    runs = pd.DataFrame(
        itertools.product(["new", "old"], range(30), range(4)), columns=["model", "question", "attempt"]
    )
    runs["passed"] = (rng.random(len(runs)) < runs["model"].map({"new": 0.75, "old": 0.55})).astype(int)
    runs["answer"] = np.where(runs["passed"], "right", rng.choice(["wrong", "other"], len(runs)))
    runs["credit"] = np.where(runs["passed"], 1.0, rng.choice([0.0, 0.25, 0.5], len(runs)))
    runs.to_csv(folder / "runs.csv", index=False)
    price = rng.gamma(4, 50, 80).round(2)
    pd.DataFrame(
        {"price": price, "new": price + rng.normal(0, 15, 80).round(2), "old": price + rng.normal(0, 25, 80).round(2)}
    ).to_csv(folder / "prices.csv", index=False)
    met = pd.DataFrame(list(itertools.permutations(["ash", "birch", "cedar"], 2)) * 20, columns=["model_a", "model_b"])
    better = rng.logistic(size=len(met)) + met["model_a"].map(len) - met["model_b"].map(len)
    winner = np.where(abs(better) < 0.3, "tie", np.where(better > 0, "model_a", "model_b"))
    met.assign(winner=winner).to_csv(folder / "votes.csv", index=False)


def run_commands(block, folder):
    """Return a console block with what its command prints."""
    line = block[1].removeprefix("bayesperf ")
    done = subprocess.run(
        [sys.executable, "-m", "bayesperf", *shlex.split(line)],
        cwd=folder, env=os.environ | {"COLUMNS": "96"}, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"bayesperf {line}: {done.stderr}")
    printed = "\n".join(text.rstrip() for text in done.stdout.strip().splitlines())
    return f"```sh\n{block[1]}\n```\n\n```text\n{printed}\n```\n"


def options_of(command):
    """Return the table of a command's options, as the command itself declares them."""
    rows = [
        (", ".join(f"`{name}`" for name in parameter.opts), (parameter.help or "").replace("|", "\\|"))
        for parameter in command.params
        if parameter.param_type_name == "option"
    ]
    table = "\n".join(f"| {names} | {meaning} |" for names, meaning in rows)
    return f":::{{dropdown}} Options of `{command.name}`\n\n| option | meaning |\n|---|---|\n{table}\n:::\n"


def commands_of_page(app, page, source):
    """Add to the page of the command line what its commands print, and the options of every command."""
    if page != "command_line":
        return
    with tempfile.TemporaryDirectory() as folder:
        example_files(Path(folder))
        text = re.sub(r"```console\n\$ (.*)\n```\n", lambda block: run_commands(block, folder), source[0])
    start, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    written = {section.split("\n", 1)[0].strip("`"): f"## {section.rstrip()}\n" for section in sections}
    for name, command in command_line.commands.items():
        own = written.get(name) or f"## `{name}`\n\n{command.help}\n"
        written[name] = f"{own}\n{options_of(command)}"
    source[0] = "\n".join([start.rstrip() + "\n", *written.values()])


# ── Pages as Markdown, for programs that read ──


def as_markdown(text):
    """Return a page as plain Markdown: code cells are Python, and what only arranges the site is gone."""
    # What a fence of three backticks holds is replaced whole, so that no other fence is taken for its end.
    for pattern, plain in (
        (r"\A---\n.*?\n---\n", ""),
        (r"^```\{toctree\}.*?^```\n", ""),
        (r"^```\{code-cell\}\n:tags: \[remove-cell\].*?^```\n", ""),
        (r"^```\{code-cell\}\n(?:^:.*?\n)*", "```python\n"),
        (r"^:{3,}\{grid\}.*?\n|^:[\w-]+:.*?\n", ""),
        (r"^:{3,}\{[\w-]+\} (.*?)\n", r"**\1**\n\n"),
        (r"^:{3,}\n", ""),
        (r"\n{3,}", "\n\n"),
    ):
        text = re.sub(pattern, plain, text, flags=re.DOTALL | re.MULTILINE)
    return text.lstrip()


def write_markdown(app, page, source):
    """Write the Markdown of a page of docs/ beside its HTML; notebooks and the pages of single names have none."""
    if app.env.doc2path(page).suffix == ".md":
        path = Path(app.outdir, f"{page}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_markdown(source[0]), encoding="utf-8")


def list_pages(app, failure):
    """Write ``llms.txt``: every page with its title, those in Markdown first."""
    if failure:
        return
    pages = [(app.env.doc2path(page).suffix != ".md", page, title.astext()) for page, title in app.env.titles.items()]
    lines = [f"- [{title}]({page}.{'html' if only_html else 'md'})" for only_html, page, title in sorted(pages)]
    what = "> How good is a system, and how sure can you be of it? A Python package and a command."
    Path(app.outdir, "llms.txt").write_text("\n".join(["# bayesperf", "", what, "", *lines, ""]), encoding="utf-8")


def setup(app):
    """Have Sphinx call these for each page in this order, and at the end."""
    app.connect("source-read", links_of_notebooks)
    app.connect("source-read", commands_of_page)
    app.connect("source-read", write_markdown)
    app.connect("build-finished", list_pages)


# ── Reference ──

autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
templates_path = ["_templates"]

# ── The look ──

html_theme = "pydata_sphinx_theme"
html_title = "bayesperf"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# Pages without pages below them have no list of them at their side.
html_sidebars = {page: [] for page in ("index", "start", "gallery", "which_function", "command_line")}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
