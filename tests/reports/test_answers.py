"""Pages of answers: any answer in every format, and files of studies, reads, attempts and judged pairs."""

import io
import json
import re
from functools import reduce
from html import unescape
from inspect import signature
from operator import getitem
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import bayesperf as bp
from bayesperf.core.answer import Answer
from bayesperf.files.kinds import usual_columns
from bayesperf.files.option_table import Settings
from bayesperf.files.reading_kinds import FileOfKind
from bayesperf.posteriors.marginal import Marginal
from bayesperf.reports import answers_of_files
from bayesperf.reports.answers import table_of
from bayesperf.reports.blocks import Table, flat
from bayesperf.reports.documents import as_html, as_json, as_markdown
from bayesperf.reports.render.terminal import print_sections
from tests.reports.test_page import Tags, of
from tests.shared.areas import reads
from tests.shared.pages import in_words, plain_words
from tests.test_pickle import KINDS

STUDIES = {"tp": [25, 17, 88], "fn": [8, 4, 16], "fp": [1, 3, 16], "tn": [25, 11, 31]}


@pytest.fixture(scope="module")
def together():
    return bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**STUDIES, dims={"study": [*"abc"]}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:15 patients are few", "ignore:1 of 4 cells have no example")
@pytest.mark.parametrize("kind", KINDS)
def test_any_answer_has_a_page(kind):
    answer = KINDS[kind][0]()
    if not isinstance(answer, Answer | Marginal):
        pytest.skip("it is no answer")
    page = bp.report({"What is said?": answer}, ci_prob=0.9)
    options = {"ci_prob": 0.9} if "ci_prob" in signature(answer.in_words).parameters else {}
    words = " ".join(page.analysis.sections[0].blocks[0].text.split())
    assert " ".join(answer.in_words(**options).split()).startswith(words)
    # An image is part of the page, and nothing is fetched.
    assert page.html.count("<img ") == page.html.count('src="data:image/svg+xml;base64,')
    assert ("<img " in page.html) == hasattr(answer, "plot")


def test_a_figure_without_intervals_is_drawn():
    chosen = bp.choose_threshold([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.9], best="f1")
    assert "<img " in bp.report({"Where to put the threshold?": chosen}, ci_prob=0.9).html


def test_all_formats_have_the_words_and_the_figures_of_the_answer(together):
    curve = bp.curves.summary_roc(together)
    page = bp.report(
        {"How good is the test?": together, "And at other thresholds?": curve, "Left out": together.without_each(0.9)},
        ci_prob=0.9, title="Urine <test>",
    )  # fmt: skip
    row = together.summary("recall", 0.9).query("answer == 'new study'").iloc[0]
    for text in (page.markdown, unescape(page.html).replace("\N{NO-BREAK SPACE}", " ")):
        assert together.in_words(ci_prob=0.9) in re.sub(r"\\(.)", r"\1", text)
        assert curve.in_words(ci_prob=0.9) in re.sub(r"\\(.)", r"\1", text)
        assert f"{row['mean']:.3f}" in text
        assert "90 % HDI" in text
    assert "<h1>Urine &lt;test&gt;</h1>" in page.html
    document = json.loads(as_json(page.analysis, "report"))
    assert document["how_good_is_the_test"]["in_words"] == [together.in_words(ci_prob=0.9)]
    (found,) = (each for each in document["how_good_is_the_test"]["table"]
                if (each["answer"], each["metric"]) == ("new study", "recall"))  # fmt: skip
    assert found["ci_upper"] == pytest.approx(row["ci_upper"], rel=1e-12)
    assert len(document["left_out"]["table"]) == 2 * 4
    # Of each question a section; the first answer stands in short.
    assert re.findall(r"^## (.*)$", page.markdown, re.MULTILINE) == [
        "In short", "How good is the test?", "And at other thresholds?", "Left out", "How it was made"
    ]  # fmt: skip


def test_right_or_wrong_is_called_pass_rate_in_sentences_and_tables():
    post = bp.posterior(bp.Outcomes.from_counts(right=45, n=50))
    for shown in (post["accuracy"], {"How good is it?": post}):
        page = bp.report(shown).markdown.lower()
        assert "pass rate is 0.892" in page
        assert "**pass rate**" in page
        assert "accuracy" not in page


def test_an_answer_alone_and_its_options():
    a, b = (bp.posterior_of_rate(found, 100, metric="recall") for found in (84, 81))
    compared = bp.compare(a, b, rope=0.01)
    page = bp.report(compared)
    assert "## Comparison" in page.markdown
    assert compared.in_words() in page.markdown
    for options, words in (({"metrics": ["recall"]}, "metrics is for counts"), ({"prior": "flat"}, "prior is for")):
        with pytest.raises(TypeError, match=words):
            bp.report(compared, **options)
    with pytest.raises(TypeError, match="'x' must be an answer or a DataFrame; it is int"):
        bp.report({"x": 3})
    with pytest.raises(TypeError, match="is empty"):
        bp.report({})


def test_means_that_are_not_finite_give_way_to_medians():
    table = pd.DataFrame({
        "metric": ["ratio"] * 2, "who": ["x", ""], "mean": [np.inf, 2.0], "median": [3.0, 2.0], "sd": [1.0, 1.0],
        "ci_lower": [1.0, 1.0], "ci_upper": [9.0, 4.0], "empty": ["", ""],
    })  # fmt: skip
    (shown,) = table_of(table, ("t",))
    assert [column.heading for column in shown.columns] == ["who", "mean", "median", "interval"]
    assert shown.heading == "ratio"
    assert shown.records[0]["mean"] == np.inf


# ── The figures of an answer in every format, read back from each ──


def several(kind):
    return {kind: KINDS[kind][0]()}


def agreement():
    table = {"ann": [1, 2, 3, 1, 2, 3] * 5, "bob": [1, 2, 3, 1, 2, 2] * 5, "cem": [1, 2, 3, 1, 3, 3] * 5}
    ratings = bp.Ratings.from_table(table)
    return {name: ratings.agreement(name, draws=200) for name in ("krippendorff_alpha", "gwet_ac1")}


def prevalence():
    validated = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399)
    return {"How common is it?": bp.labels.prevalence([50, 90], validated, n=[3330, 1200])}


def rated():
    """Return the grades that three raters gave to thirty items; one item lacks a grade."""
    rng = np.random.default_rng(0)
    grades = pd.DataFrame({"item": range(30)} | {name: np.arange(30) % 3 + rng.integers(0, 2, 30) for name in "abc"})
    return grades.melt("item", var_name="annotator", value_name="grade").drop(index=4)


def test_a_file_of_ratings_has_the_agreement_of_its_raters():
    """Grades are on a scale, and labels are not; one item lacks an answer."""
    for frame, level in ((rated(), "ordinal"), (rated().replace({"grade": dict(enumerate("wxyz"))}), "nominal")):
        answers = of_file("ratings", lambda frame=frame: frame)
        parts = answers.parts
        assert ("Numbers are taken as grades in order" in answers.read) == (level == "ordinal")
        ratings = bp.Ratings.from_frame(frame, item="item", rater="annotator", rating="grade")
        (alpha,), (percent,) = parts.values()
        assert alpha.observed == ratings.agreement("krippendorff_alpha", level=level, draws=2).observed
        assert percent.observed == ratings.agreement("percent_agreement", draws=2).observed


def of_file(kind, make):
    """Return the answers of the rows of a file of a kind, as text, by a model whose draws are of the prior."""
    frame = make().astype(str)
    names = usual_columns(kind, frame.columns)
    read = FileOfKind(kind, frame.rename(columns={name: role for role, name in names.items()}), names, ())
    return answers_of_files.answers_of_file(read, Settings())


IN_FORMATS = {
    "meta-analysis": lambda: several("meta-analysis"),
    "areas of readers": lambda: several("areas of readers"),
    "fairness by groups": lambda: several("parity of groups"),
    "agreement": agreement,
    "prevalence": prevalence,
    "studies": lambda: of_file("studies", lambda: pd.DataFrame(STUDIES)),
    "preferences": lambda: of_file("judged pairs", battles),
    "items": lambda: of_file("attempts", attempts),
    "readers": lambda: of_file("reads", lambda: called(reads())),
    "ratings": lambda: of_file("ratings", rated),
}


@pytest.mark.few(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", IN_FORMATS)
def test_all_formats_of_an_answer_say_the_same_figures(case, sampler):
    made = IN_FORMATS[case]()
    answers = bp.report(made).analysis if isinstance(made, dict) else made
    stream = io.StringIO()
    print_sections([(section.title, section.blocks) for section in answers.sections], Console(file=stream, width=400))
    html, markdown, terminal = in_words(as_html(answers), as_markdown(answers), stream.getvalue())
    document, seen = json.loads(as_json(answers, "report")), 0
    tables = [block for section in answers.sections for block in flat(section.blocks)
              if isinstance(block, Table) and block.columns]  # fmt: skip
    for name in dict.fromkeys(table.name for table in tables if table.name):
        of_name = [record for table in tables if table.name == name for record in table.records]
        held = reduce(getitem, name, document)
        assert len(held) == len(of_name)
        for row, record in zip(held, of_name, strict=True):
            numbers = {str(key): value for key, value in record.items() if isinstance(value, float | int | np.number)}
            found = {key: np.nan if row[key] is None else float(row[key]) for key in numbers}
            assert found == pytest.approx(numbers, nan_ok=True)
    for table in tables:
        for record in table.records:
            cells = [line for column in table.columns for line in column.written(record) if line]
            assert plain_words(" ".join(cells)) in html
            assert plain_words(re.sub("[()]", " ", " ".join(cells))) in markdown
            assert all(plain_words(column.written(record)[0]) in terminal for column in table.columns)
            seen += 1
    assert seen > 1


# ── Files ──


def battles():
    met = np.array([("new", "old"), ("old", "base"), ("base", "new")] * 30)
    winner = np.array(["a", "b", "tie", "b", "a", "b"] * 15)
    return pd.DataFrame(met, columns=["a", "b"]).assign(winner=winner, judge=["ann", "bob"] * 45)


def attempts():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame([(m, i) for m in "xyz" for i in range(20)], columns=["model", "question"])
    return frame.assign(passed=rng.random(60) < 0.6)


def called(frame):
    return frame.assign(read=(frame["score"] > 0).astype(int)).drop(columns="score")


@pytest.mark.slow
def test_files_of_studies_have_a_page(shell, tmp_path, together):
    pd.DataFrame(STUDIES).assign(Author=[*"abc"]).to_csv(tmp_path / "studies.csv", index=False)
    done = shell("report", "studies.csv", "--seed", "0", "--json", "-o", "page.md")
    assert done.returncode == 0, done.stderr
    page = re.sub(r"\\(.)", r"\1", (tmp_path / "page.md").read_text(encoding="utf-8"))
    assert page.startswith("# Studies of a test")
    for text in (
        together.in_words(),
        "3 studies, with 245 cases. Columns read: Author, tp, fn, fp and tn.",
        bp.curves.summary_roc(together).in_words(),
        "## Does one study decide?",
        "bayesperf report studies.csv --seed 0 --json -o page.md",
    ):
        assert text in page
    printed = shell("summary", "studies.csv", columns=100)
    assert together.in_words().split(". ")[0] in " ".join(printed.stdout.split())
    assert json.loads(done.stdout)["how_good_is_the_test"]["in_words"] == [together.in_words()]
    looked = bp.files.look(tmp_path / "studies.csv")
    assert looked.attrs["commands"]["A page for a colleague"].startswith("bayesperf report ")
    assert looked["role"].tolist() == ["tp", "fn", "fp", "tn", "study"]


@pytest.mark.slow
def test_two_tests_of_the_same_studies_are_compared(shell, tmp_path):
    both = pd.concat([pd.DataFrame(STUDIES).assign(test=name, study=[*"abc"]) for name in ("old", "new")])
    both.loc[both["test"] == "new", "tp"] += 3
    both.to_csv(tmp_path / "tests.csv", index=False)
    done = shell("report", "tests.csv", "-o", "page.md")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "## Which test is better, old or new?" in page
    assert "## How good is the test: new?" in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tp": [25, 17, 1.5]}, "column 'tp' holds '1.5'. Write whole numbers of cases."),
        ({"fn": [8, 4, -1]}, "column 'fn' holds '-1'"),
        ({"study": [*"aba"]}, "has 'a' twice"),
        ({"study": ["a", None, "c"]}, "column 'study' has 1 missing value. Remove such rows."),
    ],
)
def test_what_is_no_study_is_refused(shell, tmp_path, change, words):
    pd.DataFrame(STUDIES | change).to_csv(tmp_path / "studies.csv", index=False)
    done = shell("report", "studies.csv")
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.slow
def test_files_of_scored_reads_have_a_page(shell, tmp_path):
    frame = reads()
    frame.to_csv(tmp_path / "reads.csv", index=False)
    done = shell("report", "reads.csv", "-o", "page.md")
    assert done.returncode == 0, done.stderr
    study = bp.curves.reader_areas(pd.read_csv(tmp_path / "reads.csv"), progressbar=False)
    page = re.sub(r"\\(.)", r"\1", (tmp_path / "page.md").read_text(encoding="utf-8"))
    assert study.in_words() in page
    assert "## What does the analysis of variance say?" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "model", "words"),
    [
        (battles, "preferences", ["## Who beats whom?", "## How much does a judge's vote weigh?", "90 judgements, 15"]),
        (attempts, "items", ["## Which items tell most?", "60 attempts of 3 systems at 20 items, of which no system"]),
        (lambda: called(reads()), "readers", ["## How good is the average reader?", "## How good is a new reader?"]),
    ],
)
def test_files_that_a_model_answers_have_a_page(shell, tmp_path, sampler, make, model, words):
    make().to_csv(tmp_path / "f.csv", index=False)
    done = shell("report", "f.csv", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert "sampled" in done.stderr
    page = unescape((tmp_path / "page.html").read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    for text in words:
        assert text.removeprefix("## ") in page
    assert "<img " in page
    assert shell("summary", "f.csv").returncode == 0


def test_options_of_predictions_are_of_predictions(shell, tmp_path):
    pd.DataFrame(STUDIES).to_csv(tmp_path / "studies.csv", index=False)
    done = shell("report", "studies.csv", "--slice", "tp")
    assert done.returncode == 2
    assert "no column 'actual'" in done.stderr
    answered = (
        "columns of studies. What do the studies say together? bayesperf summary studies.csv (without other options)"
    )
    for line in (["summary", "--metric", "recall"], ["compare"], ["check", "--require", "recall>=0.8"]):
        assert answered in shell(line[0], "studies.csv", *line[1:]).stderr


@pytest.mark.parametrize(("column", "values"), [("score", [0.2, 0.7, 0.4, 0.9]), ("read", [0, 1, 1, 1])])
def test_labels_that_would_pool_readers_are_not_offered(shell, tmp_path, column, values):
    reads = pd.DataFrame({"reader": list("aabb"), "case": [1, 2, 1, 2], "truth": [0, 1, 0, 1], column: values})
    reads.to_csv(tmp_path / "reads.csv", index=False)
    said = shell("summary", "reads.csv", "--metric", "recall").stderr
    assert "bayesperf summary reads.csv (without other options)" in said
    assert "--actual truth" not in said


def test_the_page_is_marked_up_as_others_are(together):
    page = Tags(bp.report({"How good?": [together, together.summary()], "how good": together.correlation}).html)
    assert page.empty_heads == 0
    assert all(attrs["alt"] for attrs in of(page.tags, "img"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["href"][1:] for attrs in of(page.tags, "a")} <= set(ids)
    assert max(np.diff(page.headings)) <= 1


@pytest.mark.parametrize("modalities", [1, 2])
def test_two_ways_of_reading_are_compared(monkeypatch, modalities):
    monkeypatch.setattr("bayesperf.sampling.fitting.fit", lambda *_, **__: None)
    monkeypatch.setattr(answers_of_files.Posterior, "from_datatree", lambda *_, **__: None)
    monkeypatch.setattr(answers_of_files, "compare", lambda *_, metric, **__: metric)
    frame = called(reads())
    frame = frame[frame["modality"].isin(frame["modality"].unique()[:modalities])]
    _, parts = answers_of_files._of_reads(SimpleNamespace(frame=frame), Settings())
    assert parts.get("Which way of reading is better?", []) == ["recall", "specificity"][: 2 * (modalities > 1)]
