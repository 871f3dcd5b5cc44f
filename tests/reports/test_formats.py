"""HTML, Markdown, the terminal and JSON of an analysis say the same figures, read back from each."""

import io
import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import bayesperf as bp
from bayesperf.core.words import probability_value, signed_value
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import Predictions
from bayesperf.reports.analysing import analyse
from bayesperf.reports.blocks import Column, Folded, Heading, Note, Sentence, Table, flat, rows_table
from bayesperf.reports.documents import as_html, as_json, as_markdown, print_answer
from bayesperf.reports.render.markdown import in_markdown
from bayesperf.reports.render.terminal import print_blocks
from bayesperf.reports.sections import COMPARISON, REPORT, SUMMARY, answered
from tests.reports.test_scores import SPLIT, simulated
from tests.shared.pages import in_words, plain_words

CANCER = bp.datasets.load("breast_cancer")
DIGITS = bp.datasets.load("digits").query("model == 'logistic_regression'")


def judged():
    """Return predictions of which a quarter is verified, beside a judge of all."""
    rng = np.random.default_rng(3)
    truth = rng.random(500) < 0.4
    judge, predicted = (np.where(rng.random(500) < right, truth, ~truth) for right in (0.9, 0.85))
    frame = pd.DataFrame({"actual": truth, "judge": judge, "predicted": predicted}).replace({True: "yes", False: "no"})
    frame["actual"] = frame["actual"].astype(object).where(rng.random(500) < 0.25, None)
    return analyse(Predictions(frame), Settings(judges=("judge",), pos_label="yes", require=("accuracy>=0.8",)))


ANALYSES = {
    "one system": lambda: analyse(Predictions(CANCER.query("model == 'naive_bayes'")), Settings(pos_label="malignant")),
    "three paired": lambda: analyse(
        Predictions(CANCER),
        Settings(by=("model",), pos_label="malignant", require=("recall>=0.9",), id="example", rope=0.01),
    ),
    "ten classes": lambda: analyse(Predictions(DIGITS), Settings()),
    "folds": lambda: analyse(
        Predictions(CANCER), Settings(by=("model", "fold"), pos_label="malignant", metrics=("f1", "recall"))
    ),
    "scores": lambda: analyse(Predictions(simulated({"old": 1, "new": 2})), SPLIT),
    "judged": judged,
    "clustered": lambda: analyse(
        Predictions(CANCER.assign(patient=CANCER["example"] % 60)),
        Settings(by=("model",), pos_label="malignant", clusters=("patient",), metrics=("recall",)),
    ),
    "slices": lambda: analyse(Predictions(CANCER), Settings(by=("model",), slices=("fold",), pos_label="malignant")),
}


@cache
def analysed(case):
    return ANALYSES[case]()


def printed(analysis, *commands):
    """Return what commands print on 80 columns, without the lines of tables."""
    stream = io.StringIO()
    for command in commands:
        print_answer(analysis, command, Console(file=stream, width=80))
    return stream.getvalue()


def row_of(table, part, record):
    """Return the first lines of the cells of a row, as any format writes them one after another."""
    cells = [column.written(record) for column in table.columns]
    return [line for lines in cells for line in lines]


@pytest.mark.few(1)
@pytest.mark.parametrize("case", ANALYSES)
def test_all_formats_say_the_same_figures(case):
    analysis = analysed(case)
    html, markdown, terminal = in_words(
        as_html(analysis), as_markdown(analysis), printed(analysis, SUMMARY, COMPARISON)
    )
    document = json.loads(as_json(analysis, REPORT))
    seen = 0
    for section, blocks in answered(analysis, REPORT):
        for block in flat(blocks):
            if not isinstance(block, Table) or not block.columns:
                continue
            for part in block.parts:
                for record in part.records:
                    cells = row_of(block, part, record)
                    figures = " ".join(cell for cell in cells if cell)
                    assert plain_words(figures) in html
                    assert plain_words(figures.replace("(", " ").replace(")", " ")) in markdown
                    seen += 1
            hidden = {id(each) for fold in flat(blocks) if isinstance(fold, Folded) and not fold.is_printed
                      for each in flat(fold.blocks)}  # fmt: skip
            if {SUMMARY, COMPARISON} & set(section.shown_by) and id(block) not in hidden:
                for record in block.records:
                    for column in block.columns:
                        assert plain_words(column.written(record)[0]) in terminal
    assert seen > 5
    # JSON has the records themselves, whose figures are those of the page.
    for row in document["summary"]:
        width = row["ci_upper"] - row["ci_lower"]
        low, high = (signed_value(row[end], width) for end in ("ci_lower", "ci_upper"))
        assert f"{signed_value(row['mean'], width)} {low}{'–' if row['ci_lower'] >= 0 else ' to '}{high}" in html
    for row in document.get("differences", []):
        assert probability_value(row["prob_greater"]) in html
    for verdict in document.get("verdicts", []):
        assert verdict["more"] in html
        assert verdict["more"] in terminal


@pytest.mark.slow
@pytest.mark.parametrize("case", ["three paired", "folds", "scores"])
def test_names_are_not_broken_on_80_columns(case):
    lines = printed(analysed(case), SUMMARY, COMPARISON).splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if re.search(r"logistic_regressio\s|^n\s", line)]


def test_no_line_ends_between_a_number_and_its_sign():
    out = io.StringIO()
    print_blocks([Sentence("x" * 16 + " 91 % of 20")], Console(file=out, width=20))
    assert out.getvalue().splitlines() == ["x" * 16, "91 % of 20"]


def test_the_markdown_of_a_hostile_name_is_text():
    evil = "<img src=x> | **a** `b`\n# c"
    table = rows_table(evil, [Column(evil, ("x",))], [{"x": evil}])
    text = in_markdown([Heading(evil), Sentence(evil, evil), Note(evil), table, Folded(evil, [Sentence("x")])])
    assert not re.search(r"(?<!\\)<(?!/?details|/?summary)", text)
    assert "\n# c" not in text
    assert not re.search(r"(?<!\\)`", re.sub("<summary>.*</summary>", "", text))
    # A bar in a cell does not end it.
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")} == {2}


def test_a_section_of_ones_own_is_one_function_of_an_analysis():
    blocks = [Heading("Toy"), rows_table("t", [Column("n", ("n",), "count")], [{"n": 1234}], name=("toy",))]
    assert "| 1,234 |" in in_markdown(blocks)
    stream = io.StringIO()
    print_blocks(blocks, Console(file=stream, width=80))
    assert "1,234" in stream.getvalue()


@pytest.mark.slow
def test_the_name_of_its_file_says_the_format_of_a_report(tmp_path):
    cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    page = bp.report(cm, title="Spam | filter", requirements={"recall": 0.7})
    for name in ("page.md", "page.html", "page.json"):
        page.save(tmp_path / name)
    assert json.loads((tmp_path / "page.json").read_text())["verdicts"][0]["requirement"] == "recall ≥ 0.7"
    with pytest.raises(bp.InputError, match=r"path must end in \.html, \.md or \.json; it is 'page\.pdf'"):
        page.save(tmp_path / "page.pdf")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text == page._repr_markdown_()
    assert text.startswith("# Spam \\| filter\n")
    assert "| recall ≥ 0.7 |" in text
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
