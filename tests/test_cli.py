"""The command line, run as a user runs it."""

import json
import subprocess
import sys

import pandas as pd
import pytest

import bayesperf as bp

HEADER = "actual,predicted,model,fold"


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "bayesperf.report.cli", *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, env={"PATH": "", "COLUMNS": "100", "PYTHONUTF8": "1"}, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("predictions")
    bp.datasets.load("breast_cancer").to_csv(path / "cancer.csv", index=False)
    bp.datasets.load("breast_cancer").to_parquet(path / "cancer.parquet")
    bp.datasets.load("digits").query("model == 'logistic_regression'").to_csv(path / "digits.csv", index=False)
    return path


def test_summary_prints_a_table(folder):
    done = run("summary", "cancer.csv", "--by", "model", "--pos-label", "malignant", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for words in (
        "balanced accuracy",
        "logistic_regression",
        "95 % HDI",
        "highest-density interval",
        "flat Dirichlet",
        "Monte Carlo",
    ):
        assert words in " ".join(done.stdout.split())


@pytest.mark.parametrize("name", ["cancer.csv", "cancer.parquet"])
def test_json_holds_the_librarys_figures(folder, name):
    options = "--by model --by fold --pos-label malignant --metrics recall,f2 --require recall>=0.9 --require fpr<=0.05"
    done = run("summary", name, *options.split(), "--prior", "jeffreys", "--ci-prob", "0.9", "--json", cwd=folder)
    document = json.loads(done.stdout)
    cm = bp.ConfusionMatrix.from_frame(
        bp.datasets.load("breast_cancer"), actual="actual", predicted="predicted", by="model", pos_label="malignant"
    )
    post = bp.posterior(cm, "jeffreys")
    rows = pd.DataFrame(document["summary"])
    pooled = rows[(rows["fold"] == "pooled") & (rows["metric"] == "recall")].set_index("model")
    for model in cm.counts["model"].values:
        assert pooled.loc[model, "mean"] == pytest.approx(post["recall"].mean().sel(model=model).item())
        assert pooled.loc[model, "ci_lower"] == pytest.approx(post["recall"].hdi(0.9).sel(model=model)[0].item())
    assert set(rows["metric"]) == {"recall", "f2", "fpr"}
    assert set(rows["fold"]) == {"pooled", *range(10)}
    assert document["requirements"][0]["probability"] == pytest.approx(post["recall"].prob_above(0.9).values)
    assert document["all_requirements"] == pytest.approx(post.prob_joint({"recall": 0.9, "fpr": 0.05}).values)
    assert document["interpretation"]["ci_prob"] == 0.9


def test_infinite_figures_are_valid_json(tmp_path):
    (tmp_path / "p.csv").write_text("actual,predicted\n1,1\n0,0\n")
    done = run("summary", "p.csv", "--metrics", "lr+", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"][0]["mean"] == "inf"


def test_many_classes_and_several_files(folder):
    done = run("summary", "digits.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "f1 macro" in done.stdout
    both = run("summary", "cancer.csv", "cancer.parquet", "--pos-label", "benign", cwd=folder)
    assert (both.returncode, "called 'cancer'" in both.stderr) == (2, True)
    (folder / "again.csv").write_text((folder / "cancer.csv").read_text())
    both = run("summary", "cancer.csv", "again.csv", "--metrics", "accuracy", cwd=folder)
    assert "again" in both.stdout


def test_words_like_na_are_labels_and_only_empty_fields_are_missing(tmp_path):
    (tmp_path / "p.csv").write_text("actual,predicted\nNA,NA\nNone,NA\nNA,None\n")
    done = run("summary", "p.csv", "--metrics", "accuracy", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["labels"] == ["NA", "None"]


def test_demo_prints_the_table_and_says_where_the_report_is(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Does it meet the requirements?" in done.stdout
    assert str(tmp_path / "bayesperf-demo.html") in done.stdout
    assert (tmp_path / "bayesperf-demo.html").read_text().startswith("<!doctype html>")


NUMBERS = f"{HEADER}\n1,0,a,1\n0,1,a,1\n"
LETTERS = f"{HEADER}\nx,y,a,1\ny,x,a,1\n"
BAD = {
    "missing column": (NUMBERS, ["--predicted", "guess"], "no column 'guess' in the frame; its columns are 'actual'"),
    "missing by column": (NUMBERS, ["--by", "site"], "no column 'site'"),
    "empty file": ("", [], "p.csv: cannot be read: No columns to parse"),
    "no rows": (f"{HEADER}\n", [], "p.csv: holds no rows."),
    "missing labels": (f"{NUMBERS}0,,a,1\n", [], "column 'predicted' has 1 missing value"),
    "one label": (f"{HEADER}\n1,1,a,1\n", [], "only one label occurs"),
    "scores for labels": (f"{HEADER}\n1,0.7,a,1\n0,0.2,a,1\n", [], "a class cannot be a fractional number"),
    "unknown metric": (NUMBERS, ["--metrics", "recal"], "no metric named 'recal': did you mean 'recall'"),
    "unknown prior": (NUMBERS, ["--prior", "uniform"], "prior must be one of flat, jeffreys"),
    "positive class": (LETTERS, ["--pos-label", "z"], "--pos-label z: not among the labels x, y"),
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


@pytest.mark.parametrize(("content", "arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_code_2_and_one_line(tmp_path, content, arguments, words):
    (tmp_path / "p.csv").write_text(content)
    done = run("summary", "p.csv", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("bayesperf: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_unreadable_files_end_with_code_2_and_one_line(tmp_path):
    (tmp_path / "p.parquet").write_bytes(b"not parquet")
    (tmp_path / "p.csv").write_bytes(b"\xff\xfe\x00binary\x81")
    for name in ("p.parquet", "p.csv", "absent.csv", "."):
        done = run("report", name, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "cannot be read" in done.stderr
    (tmp_path / "ok.csv").write_text(f"{HEADER}\n1,0,a,1\n0,1,a,1\n")
    done = run("report", "ok.csv", "-o", "no/such/folder.html", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_of_two_bounds_on_one_metric_the_stricter_holds(folder):
    requirements = ["--require", "recall>=0.9", "--require", "recall>=0.5"]
    done = run("summary", "cancer.csv", "--pos-label", "malignant", *requirements, "--json", cwd=folder)
    document = json.loads(done.stdout)
    alone = document["requirements"][0]["probability"]
    assert document["all_requirements"] == pytest.approx(alone, abs=0.01)
    assert document["all_requirements"] <= alone


def test_a_column_called_file_is_a_column_like_any_other(tmp_path):
    (tmp_path / "p.csv").write_text("actual,predicted,file\n1,1,a\n0,0,b\n1,0,c\n")
    done = run("summary", "p.csv", "--metrics", "accuracy", "--json", cwd=tmp_path)
    assert len(json.loads(done.stdout)["summary"]) == 1


def test_numbers_beside_text_are_text(tmp_path):
    (tmp_path / "p.csv").write_text("actual,predicted\n1,none\n0,0\n1,1\n")
    done = run("summary", "p.csv", "--metrics", "accuracy", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["labels"] == ["0", "1", "none"]
