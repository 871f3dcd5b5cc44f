"""The command line, run as a user runs it."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.core.words import probability_value

HEADER = "actual,predicted,model,fold"


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "bayesperf", *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, env={"PATH": "", "COLUMNS": "100", "PYTHONUTF8": "1"}, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    ["--version", "summary --help", "compare absent.csv", "plan --no"],
)
def test_what_reads_no_file_imports_nothing_that_takes_long(line):
    program = (
        f"import sys\nfrom bayesperf.cli import commands as cli\nsys.argv = ['bayesperf', *{line.split()}]\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "print('loaded', sorted({'numpy', 'pandas', 'xarray', 'scipy', 'duckdb', 'rich.console'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "loaded []"


ARRAYS = {"numpy", "pandas", "xarray", "scipy"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "unused"),
    [
        ("p.csv", ARRAYS),
        ("summary other.csv", ARRAYS),
        ("summary p.csv --actual misspelt", ARRAYS),
        (
            "summary p.csv",
            {"scipy.stats", "scipy.optimize", "matplotlib", "pymc", "dask.array", "bayesperf.labels.verifying",
             "bayesperf.groups.accuracy_over_studies", "bayesperf.plan.deciding", "narwhals", "scipy.sparse",
             "bayesperf.plots", "bayesperf.plan.monitoring", "bayesperf.groups.group_draws",
             "bayesperf.distributions.normal", "bayesperf.distributions.differences"},
        ),
    ],
)  # fmt: skip
def test_a_command_loads_only_what_it_uses(line, unused, tmp_path):
    (tmp_path / "p.csv").write_text("actual,predicted\n1,1\n0,0\n1,0\n")
    (tmp_path / "other.csv").write_text("width,height\n1,1.5\n0,2.5\n")
    program = (
        f"import sys\nfrom bayesperf.cli import commands as cli\nsys.argv = ['bayesperf', *{line.split()}]\n"
        f"try:\n    cli.main()\nexcept SystemExit:\n    pass\nprint('loaded', sorted({unused} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "loaded []"


@pytest.fixture
def call(shell):
    return partial(shell, columns=80)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("predictions")
    bp.datasets.load("breast_cancer").to_csv(path / "cancer.csv", index=False)
    bp.datasets.load("breast_cancer").to_parquet(path / "cancer.parquet")
    bp.datasets.load("digits").query("model == 'logistic_regression'").to_csv(path / "digits.csv", index=False)
    return path


@pytest.mark.slow
def test_summary_prints_a_table(folder):
    done = run("summary", "cancer.csv", "--by", "model", "--pos-label", "malignant", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for words in (
        "balanced accuracy",
        "logistic_regression",
        "95 % HDI",
        "highest-density interval",
        "Jeffreys' Dirichlet",
        "observed ┃ mean ┃",
        f"│ naive_bayes │ {bp.score(cancer(), 'accuracy').sel(model='naive_bayes').item():.3f} │",
    ):
        assert words in " ".join(done.stdout.split())


@pytest.mark.parametrize("name", ["cancer.csv", pytest.param("cancer.parquet", marks=pytest.mark.slow)])
def test_json_holds_the_librarys_figures(folder, call, name):
    options = "--by model --by fold --pos-label malignant --metrics recall,f2 --require recall>=0.9 --require fpr<=0.05"
    done = call("summary", name, *options.split(), "--prior", "jeffreys", "--ci-prob", "0.9", "--json", cwd=folder)
    document = json.loads(done.stdout)
    cm = bp.ConfusionMatrix.from_frame(
        bp.datasets.load("breast_cancer"), actual="actual", predicted="predicted", by="model", pos_label="malignant"
    )
    post = bp.posterior(cm, "jeffreys")
    rows = pd.DataFrame(document["summary"])
    pooled = rows[(rows["fold"] == "pooled") & (rows["metric"] == "recall")].set_index("model")
    for model in cm.counts["model"].values:
        assert pooled.loc[model, "mean"] == pytest.approx(post["recall"].mean().sel(model=model).item())
        assert pooled.loc[model, "observed"] == pytest.approx(bp.score(cm, "recall").sel(model=model).item())
        assert pooled.loc[model, "ci_lower"] == pytest.approx(post["recall"].hdi(0.9).sel(model=model)[0].item())
    assert set(rows["metric"]) == {"recall", "f2", "fpr"}
    assert set(rows["fold"]) == {"pooled", *range(10)}
    in_file = {"model": bp.datasets.load("breast_cancer")["model"].unique()}
    probability = post["recall"].prob_above(0.9).sel(in_file)
    assert document["requirements"][0]["probability"] == pytest.approx(probability.values)
    jointly = post.prob_joint({"recall": 0.9, "fpr": 0.05}).sel(in_file)
    assert document["all_requirements"] == pytest.approx(jointly.values)
    assert document["interpretation"]["ci_prob"] == 0.9


def test_infinite_figures_are_valid_json(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted\n1,1\n0,0\n")
    done = call("summary", "p.csv", "--metrics", "lr+", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"][0]["mean"] == "inf"


@pytest.mark.slow
def test_undefined_observed_scores_are_empty_in_tables_and_null_in_json(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted\n0,0\n0,0\n0,1\n")
    done = call("summary", "p.csv", "--metrics", "recall,specificity", "--json", cwd=tmp_path)
    assert [row["observed"] for row in json.loads(done.stdout)["summary"]] == [None, pytest.approx(2 / 3)]
    text = " ".join(call("summary", "p.csv", "--metrics", "recall,specificity", cwd=tmp_path).stdout.split())
    assert "— │ 0.5" in text


@pytest.mark.slow
def test_many_classes_and_several_files(folder, call):
    done = call("summary", "digits.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "F1 macro" in done.stdout
    both = call("summary", "cancer.csv", "cancer.parquet", "--pos-label", "benign", cwd=folder)
    assert (both.returncode, "called 'cancer'" in both.stderr) == (2, True)
    (folder / "again.csv").write_text((folder / "cancer.csv").read_text())
    both = call("summary", "cancer.csv", "again.csv", "--metrics", "accuracy", cwd=folder)
    assert "again" in both.stdout


def test_words_like_na_are_labels_and_only_empty_fields_are_missing(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted\nNA,NA\nNone,NA\nNA,None\n")
    done = call("summary", "p.csv", "--metrics", "accuracy", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["labels"] == ["NA", "None"]


@pytest.mark.slow
def test_demo_prints_the_table_and_says_where_the_report_is(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Verdict" in done.stdout
    assert "Which is better?" in done.stdout
    text = " ".join(done.stdout.split())
    assert "Paired: rows with the same value of 'example' are one example" in text
    # What was read is said once, and systems are compared on the metric of the first requirement.
    assert text.count("1,707 rows") == 1
    assert "On recall, " in text.split("Which is better?")[1]
    assert "±0.01" in text
    assert str(tmp_path / "bayesperf-demo.html") in done.stdout
    page = (tmp_path / "bayesperf-demo.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<h1>Three classifiers of breast cancer</h1>" in page
    assert "bayesperf demo" in page
    assert "ROC" in page


def test_the_page_of_the_demo_goes_where_it_is_asked_to_or_nothing_is_computed(shell):
    done = shell("demo", "-o", "absent/page.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "absent" in done.stderr


NUMBERS = f"{HEADER}\n1,0,a,1\n0,1,a,1\n"
LETTERS = f"{HEADER}\nx,y,a,1\ny,x,a,1\n"
BAD = {
    "missing column": (
        NUMBERS,
        ["--predicted", "guess"],
        "p.csv: no column 'guess', for --predicted; its columns are 'actual', 'predicted',",
    ),
    "missing by column": (NUMBERS, ["--by", "site"], "no column 'site'"),
    "empty file": ("", [], "p.csv: cannot be read: the file is empty."),
    "no rows": (f"{HEADER}\n", [], "p.csv: holds no rows."),
    "missing labels": (f"{NUMBERS}0,,a,1\n", [], "column 'predicted' has 1 missing value"),
    "one label": (f"{HEADER}\n1,1,a,1\n", [], "only one label occurs"),
    "scores for labels": (f"{HEADER}\n1,0.7,a,1\n0,0.2,a,1\n", [], "a class cannot be a fractional number"),
    "unknown metric": (NUMBERS, ["--metrics", "recal"], "no metric named 'recal': did you mean 'recall'"),
    "unknown prior": (NUMBERS, ["--prior", "uniform"], "prior must be one of flat, jeffreys"),
    "positive class": (LETTERS, ["--pos-label", "z"], "--pos-label z: no label is called so; the classes are x"),
    "no positive class": (LETTERS, ["--metrics", "recall"], "needs a positive class"),
    "interval": (NUMBERS, ["--ci-prob", "95"], "--ci-prob must be a number between 0 and 1"),
    "requirement": (NUMBERS, ["--require", "recall~0.9"], "is not of the form recall>=0.8"),
    "direction": (NUMBERS, ["--require", "fpr>=0.9"], "of fpr, smaller is better: use <="),
    "not a number": (NUMBERS, ["--require", "fpr<=low"], "'low' is not a number"),
    "out of bounds": (NUMBERS, ["--require", "recall>=80"], "recall lies between 0 and 1"),
    "per class": (NUMBERS, ["--require", "recall_per_class>=0.8"], "is a value for every class"),
    "reserved name": (NUMBERS.replace("model", "method"), ["--by", "method"], "'method' is a name that results use"),
    "improper": (NUMBERS, ["--prior", "haldane"], "improper"),
}


@pytest.mark.few
@pytest.mark.parametrize(("content", "arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_code_2_and_one_line(tmp_path, call, content, arguments, words):
    (tmp_path / "p.csv").write_text(content)
    assert_one_line(call("summary", "p.csv", *arguments, cwd=tmp_path), words)


def assert_one_line(done, words):
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.startswith("bayesperf: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "absent.csv", "."])
def test_unreadable_files_end_with_code_2_and_one_line(tmp_path, call, name):
    (tmp_path / "p.parquet").write_bytes(b"not parquet")
    (tmp_path / "p.csv").write_bytes(b"\xffbinary\x81")
    words = "the folder holds Parquet files and others" if name == "." else "cannot be read"
    assert_one_line(call("report", name, cwd=tmp_path), words)


FAULTY = {
    "a long row": (f"{NUMBERS}1,0,a,1,9\n", "p.csv: line 4: cannot be read: it has 5 fields, and the header has 4."),
    "ids": (
        "actual,predicted,model,fold\n" + "".join(f"{i},{i},a,1\n" for i in range(2_000)),
        "p.csv: column 'predicted' holds 2,000 different values in 2,000 rows, as ids or scores do.",
    ),
    "a label that steers the terminal": (f"{HEADER}\n\x1b[2J,x,a,1\n\x1b[2J,x,a,1\n", "needs a positive class"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("content", "words"), FAULTY.values(), ids=FAULTY)
def test_faults_of_files_end_with_code_2_and_one_line(tmp_path, call, content, words):
    (tmp_path / "p.csv").write_text(content)
    done = call("summary", "p.csv", "--metrics", "recall", cwd=tmp_path)
    assert_one_line(done, words)
    assert done.stderr.strip().isprintable()


def test_too_little_memory_ends_with_code_2_and_one_line(tmp_path, call, monkeypatch):
    def exhausted(*_):
        raise MemoryError("Unable to allocate 7 TiB.")

    monkeypatch.setattr("bayesperf.files.reading.read_opened", exhausted)
    (tmp_path / "p.csv").write_text(NUMBERS)
    assert_one_line(call("summary", "p.csv", cwd=tmp_path), "memory is not enough. Unable to allocate 7 TiB.")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["summary", pytest.param("compare", marks=pytest.mark.slow)])
def test_nothing_that_users_wrote_steers_the_terminal(tmp_path, call, command):
    evil = ["[red]a[/red]", "\x1b[31mb", "c\u202e", '"d\ne"', '"f\r"']
    rows = "".join(f"{label},{label},{name},[red]\x1b[31mb\n" for label in evil for name in evil)
    (tmp_path / "p.csv").write_bytes(f"actual,predicted,model,[b]\x1b[0m\n{rows}".encode())
    options = ["--by", "model", "--by", "[b]\x1b[0m", "--metrics", "accuracy"]
    required = ["--require", "accuracy>=0.5"] if command == "summary" else []
    done = call(command, "p.csv", *options, *required, cwd=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.replace("\n", "").isprintable()
    text = "".join(done.stdout.split())
    for shown in (r"[red]a[/red]", r"\x1b[31mb", r"c\u202e", r"d\ne", r"f\r", r"[b]\x1b[0m"):
        assert shown in text


@pytest.mark.slow
def test_labels_that_differ_by_blanks_are_said_once(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted,id,model\ncat,cat ,1,a\ndog,dog,2,a\ncat,cat,1,b\ndog,dog,2,b\n")
    options = ["--by", "model", "--id", "id", "--metric", "accuracy"]
    done = call("compare", "p.csv", *options, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "Labels 'cat' (2) and 'cat ' (0) look like one class" in done.stderr


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Predictions of 120 systems; system s is right in s of 120 examples."""
    path = tmp_path_factory.mktemp("many")
    right = np.tri(121, 120, -1, dtype=int)[1:]
    frame = pd.DataFrame(right).stack().rename_axis(["model", "example"]).rename("predicted").reset_index()
    frame["actual"] = 1
    frame.loc[frame["example"] == 0, ["actual", "predicted"]] = 0
    frame.to_csv(path / "many.csv", index=False)
    return path


@pytest.mark.slow
def test_many_systems_are_announced_and_the_best_can_be_had_alone(many, call):
    done = call("summary", "many.csv", "--by", "model", "--metrics", "accuracy,error_rate", "--json", cwd=many)
    assert done.stderr == (
        "bayesperf: 120 combinations of model: every metric has a row for each. To show only the best: --top 10.\n"
    )
    every = pd.DataFrame(json.loads(done.stdout)["summary"])
    for metrics in ("accuracy,error_rate", "error_rate"):
        done = call("summary", "many.csv", "--by", "model", "--metrics", metrics, "--top", "3", "--json", cwd=many)
        document = json.loads(done.stdout)
        best = pd.DataFrame(document["summary"])
        assert done.stderr == ""
        assert best["model"].unique().tolist() == [117, 118, 119]
        words = "highest" if metrics.startswith("acc") else "lowest"
        assert f"The report shows the 3 of 120 systems ('model') with the {words} mean" in document["selection"]
        # Figures are those of all systems' table.
        expected = every[every["metric"].isin(metrics.split(",")) & every["model"].isin([117, 118, 119])]
        means = [each.sort_values(["metric", "model"])["mean"].tolist() for each in (best, expected)]
        assert means[0] == pytest.approx(means[1])


@pytest.mark.slow
def test_the_best_alone_are_compared_and_reported(many, call):
    options = ["--by", "model", "--id", "example", "--metrics", "accuracy", "--top", "2"]
    done = call("compare", "many.csv", *options, cwd=many)
    assert "Chosen as the best of many, they look better than they are." in " ".join(done.stdout.split())
    assert "118 │" in " ".join(done.stdout.split())
    call("report", "many.csv", *options, "--score", "predicted", cwd=many)
    page = (many / "report.html").read_text()
    assert "The report shows the 2 of 120 systems" in page
    assert ">117<" not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--top", "3"], "--top: name the column that tells systems apart, as --system model."),
        (["--top", "3", "--by", "fold"], "--top: name the column that tells systems apart"),
        (["--top", "0", "--by", "model"], "--top must be at least 1; it is 0."),
        (["--top", "1", "--by", "model", "--metrics", "prevalence"], "--top: systems cannot be ordered by prevalence."),
    ],
)
def test_a_choice_of_the_best_that_is_none_ends_with_code_2_and_one_line(tmp_path, call, options, words):
    (tmp_path / "p.csv").write_text(SYSTEMS)
    assert_one_line(call("summary", "p.csv", *options, cwd=tmp_path), words)


def test_more_systems_than_can_be_compared_end_with_code_2_and_one_line(tmp_path, call):
    rows = "".join(f"1,1,{i}\n0,0,{i}\n" for i in range(1_001))
    (tmp_path / "p.csv").write_text(f"actual,predicted,model\n{rows}")
    done = call("compare", "p.csv", "--by", "model", "--metrics", "accuracy", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "bayesperf: --system model: 1,001 systems are 500,500 pairs, too many to"
    )


@pytest.mark.parametrize("spelling", ["p.csv", "./p.csv", "folder/../p.csv", "link.csv", "hard.csv"])
def test_a_report_never_overwrites_the_predictions(tmp_path, call, spelling):
    (tmp_path / "p.csv").write_text(NUMBERS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to("p.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "p.csv")
    assert_one_line(call("report", "p.csv", "-o", spelling, cwd=tmp_path), "it is the file of predictions, p.csv.")
    assert (tmp_path / "p.csv").read_text() == NUMBERS


@pytest.mark.parametrize(("inputs", "output"), [
    ("parts", "parts/a.csv"), ("parts", "link.csv"), ("parts/*.csv", "parts/b.csv"), (".", "parts/deep/c.csv"),
])  # fmt: skip
def test_nor_those_of_a_folder_or_pattern(tmp_path, call, inputs, output):
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    for name in ("a", "b", "deep/c"):
        (tmp_path / "parts" / f"{name}.csv").write_text(NUMBERS)
    (tmp_path / "link.csv").symlink_to("parts/a.csv")
    done = call("report", inputs, "--parts", "-o", output, cwd=tmp_path)
    assert_one_line(done, "it is the file of predictions, ")
    assert (tmp_path / output).read_text() == NUMBERS


@pytest.mark.slow
def test_a_page_in_the_folder_of_the_predictions_is_written_again(tmp_path, call):
    (tmp_path / "p.csv").write_text(NUMBERS)
    for _ in range(2):
        assert call("report", ".", "-o", "page.html", cwd=tmp_path).returncode == 0
    assert "<html" in (tmp_path / "page.html").read_text()


def test_version(tmp_path, call):
    done = call("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"bayesperf {bp.__version__}\n")


def test_a_page_that_cannot_be_written_ends_with_code_2_and_one_line(tmp_path, call):
    (tmp_path / "ok.csv").write_text(NUMBERS)
    assert_one_line(call("report", "ok.csv", "-o", "no/such/folder.html", cwd=tmp_path), "No such file or directory")


@pytest.mark.slow
def test_of_two_bounds_on_one_metric_the_stricter_holds(folder, call):
    requirements = ["--require", "recall>=0.9", "--require", "recall>=0.5"]
    done = call("summary", "cancer.csv", "--pos-label", "malignant", *requirements, "--json", cwd=folder)
    document = json.loads(done.stdout)
    alone = document["requirements"][0]["probability"]
    assert document["all_requirements"] == pytest.approx(alone, abs=0.01)
    # But for rounding, of a probability of at least the bound and of one above it.
    assert document["all_requirements"] <= alone + 1e-12


def test_a_column_called_file_is_a_column_like_any_other(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted,file\n1,1,a\n0,0,b\n1,0,c\n")
    done = call("summary", "p.csv", "--metrics", "accuracy", "--json", cwd=tmp_path)
    assert len(json.loads(done.stdout)["summary"]) == 1


@pytest.mark.slow
def test_numbers_beside_text_are_text(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted\n1,none\n0,0\n1,1\n")
    done = call("summary", "p.csv", "--metrics", "accuracy", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["labels"] == ["0", "1", "none"]


# ── Comparisons ──


def cancer(**options):
    """Return the counts of the three models, in the file's order, on the same examples or taken as judged apart."""
    frame = bp.datasets.load("breast_cancer")
    by = {"model": pd.Categorical(frame["model"], frame["model"].unique())}
    return bp.ConfusionMatrix.from_predictions(
        frame["actual"], frame["predicted"], by=by, pos_label="malignant", **options
    )


@pytest.mark.slow
def test_compare_prints_a_row_a_pair_and_how_each_system_stands(folder, call):
    options = "--by model --by fold --pos-label malignant --metric f1,precision --rope 0.01"
    done = call("compare", "cancer.csv", *options.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    text = " ".join(done.stdout.split())
    found = bp.compare(bp.posterior(cancer()), metric="f1", rope=0.01, independent=True)
    pair = {"model": "naive_bayes", "model_other": "decision_tree"}
    shares = [found.prob_greater.sel(pair), *found.prob_rope.sel(pair).values]
    mean = found.difference.mean().sel(pair="naive_bayes − decision_tree").item()
    row = f"naive_bayes │ {mean:.3f} │ {' │ '.join(f'{share:.3f}' for share in shares)}"
    low, high = found.difference.hdi().sel(pair="naive_bayes − decision_tree").values
    best = found.prob_best.sel(model="naive_bayes").item()
    by_precision = bp.compare(bp.posterior(cancer()), metric="precision", independent=True)
    precise = by_precision.prob_best.sel(model="decision_tree").item()
    for words in (
        "Which is better?",
        row,
        f"− decision_tree │ −{-low:.3f} to {high:.3f} │",
        f"naive_bayes │ {probability_value(best)} │ >0.999 │ >0.999",
        # Precision of the rule that calls nothing malignant is 0/0.
        f"decision_tree │ {probability_value(precise)} │ >0.999 │ —",
        "(region of practical equivalence ±0.01), with its 95 % highest-density interval. Prior: Jeffreys' Dirichlet",
        "Independent: systems are assumed to be tested on different examples.",
        "name the column that identifies the examples, as --id example.",
        "The best of 3 is probably partly lucky",
    ):
        assert words in text


@pytest.mark.slow
def test_rows_that_repeat_an_example_are_remarked_on(folder, call):
    options = ["--pos-label", "malignant", "--metrics", "recall"]
    frame = bp.datasets.load("breast_cancer")
    again = len(frame) - frame["example"].nunique()
    words = f"Column 'example' repeats: {again:,} of {len(frame):,} rows are of an example that another row is of"
    for by in ([], ["--by", "fold"]):
        printed = call("summary", "cancer.csv", *options, *by, cwd=folder).stderr
        assert words in printed
        assert "--system COLUMN" in printed
    assert "repeats" not in call("summary", "cancer.csv", *options, "--by", "model", cwd=folder).stderr
    call("report", "cancer.csv", *options, "-o", "page.html", cwd=folder)
    assert "Column &#39;example&#39; repeats" in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_comparisons_in_json_are_the_librarys_figures(folder, call, paired):
    options = ["--by", "model", "--pos-label", "malignant", "--metric", "f1", "--metric", "fpr,prevalence"]
    options += ["--prior", "jeffreys", "--ci-prob", "0.9", "--seed", "3", "--json", *(["--id", "example"] * paired)]
    done = call("compare", "cancer.parquet", *options, cwd=folder)
    assert (done.stderr, done.returncode) == ("", 0)
    document = json.loads(done.stdout)
    counts = cancer(example=bp.datasets.load("breast_cancer")["example"]) if paired else cancer()
    post = bp.posterior(counts, "jeffreys", random_seed=3)
    compared, options = (counts, {"prior": "jeffreys", "random_seed": 3}) if paired else (post, {"independent": True})
    assert document["paired"] is paired
    assert document["comparison"]["prior"].endswith("same examples" if paired else "independent systems")
    differences, standing = pd.DataFrame(document["differences"]), pd.DataFrame(document["standing"])
    for metric in ("f1", "fpr", "prevalence"):
        found = bp.compare(compared, metric=metric, **options)
        rows = differences[differences["metric"] == metric].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, pd.DataFrame(found.summary(0.9)), check_dtype=False)
    rows = standing[standing["metric"] == "fpr"].set_index("model")
    found = bp.compare(compared, metric="fpr", **options)
    assert list(rows["prob_best"]) == pytest.approx(found.prob_best.values)
    assert rows["expected_rank"].sum() == pytest.approx(6)
    assert list(rows["beats_chance"]) == pytest.approx(bp.compare(post, "chance", "fpr").prob_better.values)
    # Who calls nothing malignant has no false positives.
    assert list(rows["beats_majority"]) == [0, 0, 0]
    assert set(standing["metric"]) == {"f1", "fpr"}


@pytest.mark.slow
def test_the_reports_json_holds_its_comparisons(folder, call):
    options = "--by model --pos-label malignant --metrics recall --rope 0.01 -o page.html --json"
    document = json.loads(call("report", "cancer.csv", *options.split(), cwd=folder).stdout)
    assert {row["metric"] for row in document["summary"]} == {"recall"}
    found = bp.compare(bp.posterior(cancer()), metric="recall", rope=0.01, independent=True).summary()
    assert [row["inside"] for row in document["differences"]] == pytest.approx(list(found["inside"]))
    assert "Which is better?" in (folder / "page.html").read_text()


@pytest.mark.slow
def test_two_systems_and_every_class(folder, call):
    frame = bp.datasets.load("digits").query("actual < 3 and predicted < 3")
    frame.assign(half=frame["example"] % 2).to_csv(folder / "both.csv", index=False)
    options = "--by model --by half --metric recall_per_class,accuracy --ci-prob 0.8"
    text = " ".join(call("compare", "both.csv", *options.split(), cwd=folder).stdout.split())
    assert "half ┃ label ┃ a − b ┃ 80 % HDI ┃ P(a > b)" in text
    assert "half ┃ label ┃ model ┃" in text
    assert "P(best)" not in text
    # Without a region of practical equivalence nothing is inside it.
    assert "inside" not in text


@pytest.mark.slow
def test_files_are_systems(folder, call):
    for name, part in bp.datasets.load("breast_cancer").groupby("model"):
        part.drop(columns="model").to_csv(folder / f"{name}.csv", index=False)
    files = ["naive_bayes.csv", "decision_tree.csv"]
    options = ["--pos-label", "malignant", "--metric", "recall", "--id", "example", "--json"]
    (row,) = json.loads(call("compare", *files, *options, cwd=folder).stdout)["differences"]
    pair = cancer(example=bp.datasets.load("breast_cancer")["example"]).isel(model=[1, 2])
    assert (row["a"], row["b"]) == ("naive_bayes", "decision_tree")
    assert row["mean"] == pytest.approx(bp.compare(pair, metric="recall").difference.mean().item())


SYSTEMS = "actual,predicted,model,fold,example,site\n1,0,a,1,1,x\n0,1,a,1,2,x\n1,1,b,1,1,x\n0,0,b,2,2,y\n"
INCOMPARABLE = {
    "no column of systems": ([], "--system: to compare systems, name the column that tells them apart."),
    "folds alone": (["--by", "fold"], "--system: to compare systems, name the column"),
    "one system": (["--by", "only"], "--system only: there is one system, z, and nothing to compare it with."),
    "missing column": (
        ["--by", "system"],
        "p.csv: no column 'system', for --system; its columns are 'actual', 'predicted',",
    ),
    "missing ids": (["--by", "model", "--id", "case"], "p.csv: no column 'case', for --id; its columns are"),
    "ids twice": (["--by", "model", "--id", "only"], "more such row). If examples of one only are alike, type"),
    "ids that do not match": (
        ["--by", "model", "--id", "row"],
        "--id row: systems must be tested on the same examples",
    ),
    "ids of other places": (
        ["--by", "model", "--by", "site", "--id", "example"],
        "example 2 is 'x' for model 'a' and 'y'",
    ),
    "ids without systems": (["--id", "example"], "--system: to compare systems, name the column"),
    "unknown metric": (["--by", "model", "--metric", "recal"], "no metric named 'recal': did you mean 'recall'"),
    "negative rope": (["--by", "model", "--rope", "-0.1"], "--rope must be at least 0; it is -0.1."),
    "no number": (["--by", "model", "--rope", "nan"], "--rope must be at least 0; it is nan."),
    "interval": (["--by", "model", "--ci-prob", "1"], "--ci-prob must be a number between 0 and 1"),
    "improper": (["--by", "model", "--prior", "haldane", "--metric", "recall"], "improper"),
}


@pytest.mark.parametrize(("arguments", "words"), INCOMPARABLE.values(), ids=INCOMPARABLE)
def test_what_cannot_be_compared_ends_with_code_2_and_one_line(tmp_path, call, arguments, words):
    head, *rows = SYSTEMS.splitlines()
    numbered = [f"{head},only,row", *(f"{row},z,{i}" for i, row in enumerate(rows))]
    (tmp_path / "p.csv").write_text("\n".join(numbered))
    assert_one_line(call("compare", "p.csv", *arguments, cwd=tmp_path), words)


def test_a_report_of_one_system_refuses_what_needs_two(tmp_path, call):
    (tmp_path / "p.csv").write_text(SYSTEMS)
    said = "--system: to compare systems, name the column"
    assert_one_line(call("report", "p.csv", "--rope", "0.01", cwd=tmp_path), said)


def test_ids_of_one_system_are_held_against_each_other(tmp_path, call):
    rows = ["actual,predicted,case", "1,1,a", "0,0,b", "1,0,c"]
    (tmp_path / "p.csv").write_text("\n".join(rows))
    assert call("summary", "p.csv", "--id", "case", cwd=tmp_path).stderr == ""
    (tmp_path / "p.csv").write_text("\n".join([*rows, "1,1,a"]))
    assert "Column 'case' repeats: 1 of 4 rows" in call("summary", "p.csv", "--id", "case", cwd=tmp_path).stderr


# ── Scores ──


@pytest.fixture(scope="module")
def scored():
    """Return predictions of two systems with scores, half of them to choose thresholds on."""
    frame = bp.datasets.load("breast_cancer").query("model != 'decision_tree'")
    part = np.where(frame["fold"] % 2, "Test", "development")
    return frame.assign(part=part).rename(columns={"score": "odds"})


OF_SCORES = ["--by", "model", "--pos-label", "malignant", "--score", "odds", "--split", "part", "--ci-prob", "0.9"]
OF_SCORES += ["--seed", "3"]


def saved(tmp_path, frame):
    frame.to_csv(tmp_path / "p.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_summary_prints_areas_and_what_is_expected(tmp_path, call, scored):
    done = call("summary", "p.csv", *OF_SCORES, "--metrics", "recall", cwd=saved(tmp_path, scored))
    assert (done.stderr, done.returncode) == ("", 0)
    rows = scored.query("model == 'naive_bayes' and part == 'Test'")
    area = bp.roc_auc(rows["actual"], rows["odds"], pos_label="malignant", random_seed=3)
    low, high = area.hdi(0.9).values
    text = " ".join(done.stdout.split())
    for words in (
        f"│ naive_bayes │ {area.mean().item():.3f} │ {low:.3f}–{high:.3f}",
        "area ┃ model ┃ mean ┃ 90 % HDI",
        "Areas are estimated by the Bayesian bootstrap; the Monte Carlo error of their means is at most",
        "error rate ┃ model ┃ threshold ┃ on test ┃ 90 % ETI",
        "E_V1 (by FAR) │ logistic_regression │",
        f"tested on the {len(scored.query("part == 'Test'"))} test rows (part 'Test')",
    ):
        assert words in text


@pytest.mark.slow
@pytest.mark.parametrize("command", ["summary", pytest.param("report", marks=pytest.mark.slow)])
def test_scores_in_json_are_the_librarys_figures(tmp_path, call, scored, command):
    options = [*OF_SCORES, "--metrics", "recall", *(["--id", "example"] * (command == "report"))]
    done = call(command, "p.csv", *options, "--json", cwd=saved(tmp_path, scored))
    document = json.loads(done.stdout)
    test, dev = (scored.query(f"part == '{part}'") for part in ("Test", "development"))
    kwargs = {"pos_label": "malignant", "random_seed": 3}
    areas = pd.DataFrame(document["areas"]).set_index(["area", "model"])
    expected = pd.DataFrame(document["expected"]).set_index(["quantity", "model"])
    for model in ("naive_bayes", "logistic_regression"):
        judged, chosen = (part[part["model"] == model] for part in (test, dev))
        pair = judged["actual"], judged["odds"]
        assert areas.loc[("roc_auc", model), "mean"] == pytest.approx(bp.roc_auc(*pair, **kwargs).mean().item())
        curve = bp.curves.epc((chosen["actual"], chosen["odds"]), pair, **kwargs)
        row = expected.loc[("half_total_error_rate", model)]
        assert row[["alpha", "threshold"]].tolist() == [0.5, curve.dataset["threshold"].sel(alpha=0.5).item()]
        mean = curve.expected_performance().observed.sel(quantity="G").item()
        assert expected.loc[("G", model), "observed"] == pytest.approx(mean)
    assert document["split"] == {
        "column": "part", "test": "Test", "n_test": len(test), "dev": "development", "n_dev": len(dev)
    }  # fmt: skip
    assert ("area_differences" in document) == (command == "report")
    if command == "report":
        wide = test.pivot(index="example", columns="model", values="odds")
        labels = test.drop_duplicates("example").sort_values("example")["actual"]
        (row,) = document["area_differences"]
        found = bp.compare(bp.roc_auc(labels, wide, **kwargs))
        assert row["mean"] == pytest.approx(found.difference.mean().item())
        assert row["ci_lower"] == pytest.approx(found.difference.hdi(0.9).values.ravel()[0])


def test_without_scores_the_json_has_none(folder, call):
    document = json.loads(call("summary", "cancer.csv", "--metrics", "accuracy", "--json", cwd=folder).stdout)
    assert not {"areas", "area_differences", "split", "expected"} & set(document)


SCORED = """actual,predicted,s,part,model,id
1,0,0.9,test,a,1\n0,1,0.2,test,a,2\n1,1,0.4,dev,a,3\n0,0,0.3,dev,a,4
1,0,0.8,test,b,1\n0,1,0.1,test,b,2\n1,1,0.5,dev,b,3\n0,0,0.6,dev,b,4
"""
SPLIT = ["--score", "s", "--split", "part"]
BAD_SCORES = {
    "missing column": (SCORED, ["--score", "x"], "p.csv: no column 'x', for --score; its columns are"),
    "missing": (SCORED.replace("0.9", ""), ["--score", "s"], "1 of 8 missing. Leave those rows out by --drop"),
    "missing where thresholds are chosen": (SCORED.replace("0.3", ""), SPLIT, "--score s: 1 of 4 missing."),
    "infinite": (SCORED.replace("0.9", "inf"), ["--score", "s"], "--score s: 1 of 8 infinite. Put numbers beyond"),
    "text": (SCORED.replace("0.9", "high"), ["--score", "s"], "--score s: it must hold numbers; it holds 'high'."),
    "three classes": (SCORED.replace("\n0,1", "\n2,1"), ["--score", "s"], "Name the positive one, as --pos-label 2."),
    "one class": (
        SCORED.replace("\n1,", "\n0,"), ["--score", "s"],
        "--score s: the file must hold examples of the classes 0, 1; it holds 0.",
    ),
    "one class of a system": (
        SCORED.replace(",0.1,test,b", ",0.1,test,a"), ["--score", "s", "--by", "part", "--by", "model"],
        "--score s: b, test must hold examples of the classes 0, 1; it holds 1.",
    ),
    "a split without scores": (SCORED, ["--split", "part"], "--split needs --score: thresholds are chosen on scores."),
    "no column of the split": (SCORED, ["--score", "s", "--split", "set"], "p.csv: no column 'set', for --split; its"),
    "one value": (SCORED.replace("dev", "test"), SPLIT, "--split part: it must hold two values, 'test' for the"),
    "three values": (SCORED.replace("dev,b", "train,b"), SPLIT, "thresholds on; it holds 'dev', 'test', 'train'."),
    "no test": (SCORED.replace("test", "eval"), SPLIT, "it must hold two values, 'test' for the examples to judge by"),
    "a missing part": (SCORED.replace("0.9,test", "0.9,"), SPLIT, "--split part: 1 missing. Each row must say"),
    "a class missing from a part": (
        SCORED.replace("1,1,", "0,1,"), SPLIT, "--split part: 'dev' holds no example of class 1.",
    ),
    "a class missing from a part of a system": (
        SCORED.replace("1,1,0.4", "0,1,0.4"), [*SPLIT, "--by", "model"],
        "--split part: a in 'dev' must hold examples of the classes 0, 1; it holds 0.",
    ),
    "a system without a part": (
        SCORED.replace("dev,b", "dev,a"), [*SPLIT, "--by", "model"], "--split part: b is in one part only.",
    ),
    "a part that tells systems apart": (SCORED, [*SPLIT, "--by", "part"], "--split part: it is --by already."),
    "one part twice": (
        SCORED.replace("0.4", "0.9").replace("0.3", "0.2"), [*SPLIT, "--by", "model"],
        "--split part: both parts of a hold the same labels and scores.",
    ),
}  # fmt: skip


@pytest.mark.few
@pytest.mark.parametrize(("content", "arguments", "words"), BAD_SCORES.values(), ids=BAD_SCORES)
def test_scores_that_cannot_be_used_end_with_code_2_and_one_line(tmp_path, call, content, arguments, words):
    (tmp_path / "p.csv").write_text(content)
    assert_one_line(call("report", "p.csv", *arguments, cwd=tmp_path), words)


def test_an_example_in_both_parts_ends_with_code_2_and_one_line(tmp_path, call):
    (tmp_path / "p.csv").write_text(SCORED.replace(",4\n", ",1\n"))
    done = call("report", "p.csv", *SPLIT, "--by", "model", "--id", "id", cwd=tmp_path)
    assert_one_line(
        done, "--split part: by --id id, 1 is in both parts. A threshold would be judged by what it was chosen"
    )


@pytest.mark.slow
@pytest.mark.parametrize("scores", [[1.0] * 8, [1, 0, 1, 0, 0.9, 0, 0, 1]], ids=["constant", "separating"])
@pytest.mark.parametrize("command", ["summary", "report"])
def test_scores_that_leave_no_doubt_are_answered(tmp_path, call, command, scores):
    frame = pd.DataFrame({"actual": [1, 0, 1, 0, 1, 0, 0, 1], "predicted": 1, "s": scores})
    frame["part"] = ["dev"] * 4 + ["test"] * 4
    done = call(command, "p.csv", *SPLIT, "--metrics", "recall", cwd=saved(tmp_path, frame))
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.slow
def test_a_pattern_is_the_files_that_a_shell_makes_of_it(tmp_path, call):
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("actual,predicted\n1,1\n0,1\n")
    files = ["new.csv", "old.csv"]
    for more, dims in (([], ["file"]), (["--parts"], [])):
        by_list, by_pattern = (call("summary", *named, "--json", *more, cwd=tmp_path) for named in (files, ["*.csv"]))
        assert by_pattern.stdout == by_list.stdout
        assert json.loads(by_list.stdout)["counts"]["dims"] == [*dims, "actual", "predicted"]
    assert_one_line(call("summary", "no*.csv", cwd=tmp_path), "no*.csv: no file has a name of this pattern.")
    contradiction = call("summary", *files, "--parts", "--by", "file", cwd=tmp_path)
    assert_one_line(contradiction, "--parts: parts of one data set are not told apart.")


@pytest.mark.slow
def test_of_many_systems_the_best_and_those_not_clearly_worse_are_printed(tmp_path, call):
    path = tmp_path / "many.csv"
    # Of ten systems with 60, 61, … right of 100, and one with 95.
    right = {f"m{k}": 60 + k for k in range(10)} | {"good": 95}
    rows = [f"1,{int(i < k)},{name}" for name, k in right.items() for i in range(100)]
    path.write_text("\n".join(["actual,predicted,model", *rows, "0,0,good"]))
    shown = call("compare", path, "--by", "model", "--metric", "recall", cwd=tmp_path).stdout
    assert "good has the best expected rank of 11 systems; all others are clearly worse" in " ".join(shown.split())
    assert "10 are not shown" in " ".join(shown.split())
    every = call("compare", path, "--by", "model", "--metric", "recall", "--all", cwd=tmp_path).stdout
    assert "not shown" not in every
    assert every.count("m9") > 5
