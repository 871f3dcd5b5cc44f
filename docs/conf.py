"""How Sphinx builds the site: ``make docs``, into ``.venv/site``."""

import re
import sys

import bayesperf

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


def links_of_notebooks(app, name, source):
    """Let links from a notebook to docs/ lead to the page: the site has the pages of docs/ one folder above."""
    source[0] = re.sub(r"\]\((\.\./)+docs/", "](../", source[0])


def setup(app):
    """Have Sphinx call it for each page."""
    app.connect("source-read", links_of_notebooks)


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
html_sidebars = {page: [] for page in ("index", "start", "gallery")}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
