"""Files as people have them, through the commands: what is read, what is said of it, and what is offered instead."""

import gzip
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.files.class_names import about_labels
from tests.shared.counts import CM

RNG = np.random.default_rng(0)
ACTUAL = RNG.choice(["ham", "spam"], 60)
A, B = (np.where(RNG.random(60) < p, ACTUAL, "ham") for p in (0.9, 0.6))
SCORES = {name: np.round(RNG.normal(ACTUAL == "spam"), 2) for name in ("s_a", "s_b")}
WIDE = pd.DataFrame({"id": range(60), "actual": ACTUAL, "a": A, "b": B, **SCORES})
LONG = pd.concat([WIDE[["id", "actual"]].assign(model=name, predicted=WIDE[name]) for name in "ab"])
ONE = WIDE[["actual", "a"]].rename(columns={"a": "predicted"})
PAIR = ["--predicted", "a", "--predicted", "b", "--pos-label", "spam"]


@pytest.fixture
def call(shell):
    return partial(shell, columns=200)


def figures(done):
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    return {key: document[key] for key in ("labels", "counts", "read")}


def refusal(done):
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("bayesperf: ").rstrip("\n")


# ── How they are written ──

CSV = ONE.to_csv(index=False)
LINES = ONE.to_json(orient="records", lines=True)
WRITTEN = {
    "p.csv": CSV.encode(),
    "bom.csv": CSV.encode("utf-8-sig"),
    "semicolons.csv": ONE.to_csv(index=False, sep=";").encode(),
    "quoted.csv": ONE.to_csv(index=False, sep=";", quoting=1).encode(),
    "tabs.csv": ONE.to_csv(index=False, sep="\t").encode(),
    "commas.tsv": CSV.encode(),
    "utf16.txt": CSV.encode("utf-16"),
    "utf16.csv": ONE.to_csv(index=False, sep="\t").encode("utf-16"),
    "little.csv": CSV.encode("utf-16-le"),
    "big.csv": CSV.encode("utf-16-be"),
    "packed.csv.gz": gzip.compress(CSV.encode()),
    "packed.csv": gzip.compress(CSV.encode("utf-16")),
    "p.jsonl": LINES.encode(),
    "bom.ndjson": LINES.encode("utf-8-sig"),
    "p.ndjson.gz": gzip.compress(LINES.encode()),
    "p.json": ONE.to_json(orient="records").encode(),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_is_read_however_it_is_written(tmp_path, call, name):
    (tmp_path / name).write_bytes(WRITTEN[name])
    found = figures(call("summary", name, "--pos-label", "spam", "--json"))
    cm = CM.from_predictions(ACTUAL, A)
    assert found["labels"] == ["ham", "spam"]
    assert found["counts"]["values"] == cm.counts.values.tolist()


def test_a_separator_is_told_by_the_columns_that_are_asked_for(tmp_path, call):
    (tmp_path / "p.csv").write_text("a,b,c;actual;predicted\nx,y,z;1;0\nx,y,z;0;0\n")
    assert "2 rows." in figures(call("summary", "p.csv", "--json"))["read"]


UNREADABLE = {
    "p.xlsx": (b"PK\x03\x04", "p.xlsx: it is a spreadsheet. Save the sheet of predictions as CSV, as by File, Save As"),
    "sheet.csv": (b"PK\x03\x04", "sheet.csv: it is a spreadsheet."),
    "old.csv": (b"\xd0\xcf\x11\xe0", "old.csv: it is a spreadsheet."),
    "p.zip": (b"PK\x03\x04", "p.zip: unpack it, or pack it by gzip (.gz)."),
    "array.jsonl": (b"[1, 0]\n", "array.jsonl: each line must be an object"),
    "numbers.jsonl": (b"1\n0\n", "numbers.jsonl: each line must be an object"),
    "nested.jsonl": (b'{"actual": [1], "predicted": 0}\n', "nested.jsonl: cannot be read: field 'actual' holds lists"),
    "columns.json": (ONE.to_json().encode(), "columns.json: cannot be read: field"),
    "twice.jsonl": (b'{"actual": 1, "actual": 0}\n', "twice.jsonl: an object has two fields called 'actual'"),
    "cut.jsonl": (b'{"actual": 1, "predicted": 0}\n{"act', "cut.jsonl: cannot be read: it is no JSON there, "),
    "latin.jsonl": ('{"actual": "ééé", "predicted": 0}\n'.encode("latin-1"), "latin.jsonl: cannot be read: it is not"),
    "empty.jsonl": (b"", "empty.jsonl: cannot be read: the file is empty."),
    "header.csv": (b"actual,predicted\n", "header.csv: holds no rows."),
    "none.csv": (b"1,0\n0,0\n", "and 'predicted', for --predicted; its columns are '1', '0'. The first line"),
    "twins.csv": (b"1,1\n0,0\n", "line 1: two columns are called '1'. The first line must name the columns."),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_answered_with_what_to_do(tmp_path, call, name):
    content, words = UNREADABLE[name]
    (tmp_path / name).write_bytes(content)
    assert words in refusal(call("summary", name))


@pytest.mark.slow
def test_numbers_and_truth_of_json_are_those_of_csv(tmp_path, call):
    (tmp_path / "p.jsonl").write_text('{"actual": true, "predicted": "false"}\n{"predicted": false, "actual": false}\n')
    assert figures(call("summary", "p.jsonl", "--json"))["labels"] == ["False", "True"]
    (tmp_path / "p.jsonl").write_text(
        '{"actual": 1, "predicted": "01"}\n{"predicted": 0.0}\n{"actual":"","predicted":0}'
    )
    assert "column 'actual' has 2 missing values in 3 rows" in refusal(call("summary", "p.jsonl"))


OFFERS = {
    "y_true,y_pred": "--actual y_true --predicted y_pred",
    "label,prediction": "--actual label --predicted prediction",
    "id,Actual,Predicted,note": "--actual Actual --predicted Predicted",
    "ground truth,predicted label": "--actual 'ground truth' --predicted 'predicted label'",
    "target,predicted": "--actual target",
    "y_true,pred_a,pred_b,pred_score": "--actual y_true --predicted pred_a --predicted pred_b",
    "id,actual,model_a,model_b": "--predicted model_a --predicted model_b",
    "wahr,vorhergesagt,Modell": "--actual wahr --predicted vorhergesagt",
    "truth,risk_score": "--actual truth --score risk_score",
}


@pytest.mark.few
@pytest.mark.parametrize("header", OFFERS)
def test_columns_that_look_like_those_asked_for_are_offered_as_they_are_typed(tmp_path, call, header):
    (tmp_path / "p.csv").write_text(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    assert refusal(call("summary", "p.csv")).endswith(f" Perhaps it is {OFFERS[header]}.")
    assert "--by model_x" not in refusal(call("summary", "p.csv", "--by", "xyz"))


LOOKED_AT = {
    "etiqueta,resnet,vit": " Perhaps it is --actual etiqueta. To see",
    "true_a,true_b,model_a,model_b": "'model_b'. To see",
}


@pytest.mark.parametrize("header", LOOKED_AT)
def test_where_columns_cannot_be_told_by_name_the_command_that_looks_at_values_is_named(tmp_path, call, header):
    (tmp_path / "my file.csv").write_text(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    said = refusal(call("summary", "my file.csv"))
    assert said.endswith(f"{LOOKED_AT[header]} what each column probably is: bayesperf 'my file.csv'")


def test_an_option_is_offered_no_column_but_one_that_is_alike(tmp_path, call):
    LONG.to_csv(tmp_path / "p.csv", index=False)
    assert "Perhaps" not in refusal(call("summary", "p.csv", "--by", "xyz"))


def test_a_misspelt_column_is_offered(tmp_path, call):
    LONG.to_csv(tmp_path / "p.csv", index=False)
    assert refusal(call("summary", "p.csv", "--by", "modle")).endswith("Perhaps it is --by model.")


# ── A column for each system ──


@pytest.mark.slow
@pytest.mark.parametrize("command", ["summary", "compare", "report"])
def test_a_column_a_system_is_a_row_a_system_paired(tmp_path, call, command):
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    WIDE.to_parquet(tmp_path / "wide.parquet")
    LONG.to_csv(tmp_path / "long.csv", index=False)
    options = ["--pos-label", "spam", "--metric" if command == "compare" else "--metrics", "f1", "--json"]
    by_id = [] if command == "summary" else ["--id", "id"]
    long = json.loads(call(command, "long.csv", "--by", "model", *by_id, *options).stdout)
    for name in ("wide.csv", "wide.parquet"):
        wide = json.loads(call(command, name, *PAIR[:4], *options).stdout)
        assert wide["counts"] == long["counts"]
        same = {"summary", "differences", "standing", "paired", "labels"} & set(long)
        assert len(same) >= 2
        assert {key: wide[key] for key in same} == {key: long[key] for key in same}
    assert wide["read"].startswith("60 rows, each with predictions of 2 models. Actual classes for each model: ham (")


def test_systems_stand_in_the_order_in_which_their_columns_are_named(tmp_path, call):
    WIDE.to_csv(tmp_path / "p.csv", index=False)
    asked = ["--predicted", "b", "--predicted", "a", "--pos-label", "spam", "--metric", "recall", "--json"]
    assert json.loads(call("summary", "p.csv", *asked).stdout)["systems"] == [["b"], ["a"]]
    (difference,) = json.loads(call("compare", "p.csv", *asked).stdout)["differences"]
    # A difference is of the better system less the other.
    assert (difference["a"], difference["b"]) == ("a", "b")
    assert difference["mean"] > 0


@pytest.mark.slow
def test_parts_of_wide_files_have_rows_of_their_own(tmp_path, call):
    for name in ("x", "y"):
        WIDE.to_csv(tmp_path / f"{name}.csv", index=False)
    WIDE.to_csv(tmp_path / "one.csv", index=False)
    both = json.loads(call("compare", "x.csv", "y.csv", "--parts", *PAIR, "--metric", "f1", "--json").stdout)
    one = json.loads(call("compare", "one.csv", *PAIR, "--metric", "f1", "--json").stdout)
    assert np.array_equal(both["counts"]["values"], 2 * np.array(one["counts"]["values"]))
    apart = json.loads(call("compare", "x.csv", "y.csv", *PAIR, "--metric", "f1", "--json").stdout)
    assert apart["counts"]["dims"] == ["model", "file", "actual", "predicted"]


@pytest.mark.slow
def test_scores_go_with_the_predictions_of_their_system(tmp_path, call):
    WIDE.to_csv(tmp_path / "p.csv", index=False)
    areas = json.loads(call("summary", "p.csv", *PAIR, "--score", "s_a", "--score", "s_b", "--json").stdout)["areas"]
    for row in areas:
        if row["area"] == "roc_auc":
            score = SCORES[f"s_{row['model']}"]
            assert row["mean"] == pytest.approx(bp.roc_auc(ACTUAL, score, pos_label="spam").mean().item(), abs=1e-9)
    assert refusal(call("summary", "p.csv", *PAIR, "--score", "s_a")).startswith(
        "--score: 1 column of scores and 2 of pred"
    )
    assert "it is named twice" in refusal(call("summary", "p.csv", "--predicted", "a", "--predicted", "a"))
    taken = refusal(call("summary", "p.csv", *PAIR, "--by", "model"))
    assert taken.startswith("--by model: with a column for each system this is the name of a column of its own.")


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["summary", "compare", "report"])
def test_a_threshold_makes_predictions_of_scores(tmp_path, call, command):
    WIDE.to_csv(tmp_path / "p.csv", index=False)
    options = ["--score", "s_a", "--score", "s_b", "--threshold", "0.5", "--pos-label", "spam", "--json"]
    found = figures(call(command, "p.csv", *options))["counts"]
    assert found["dims"] == ["model", "actual", "predicted"]
    for values, name in zip(found["values"], SCORES, strict=True):
        cm = CM.from_scores(ACTUAL, SCORES[name], thresholds=0.5, pos_label="spam")
        assert values == cm.counts.values[0].tolist()


def test_predictions_beside_a_threshold_are_held_against_its_own(tmp_path, call):
    WIDE.to_csv(tmp_path / "p.csv", index=False)
    options = ["--score", "s_a", "--score", "s_b", "--threshold", "0.5", "--pos-label", "spam", "--json"]
    found = figures(call("summary", "p.csv", *options, "--predicted", "a", "--predicted", "b"))
    others = sum(
        (WIDE[name] != np.where(SCORES[s] >= 0.5, "spam", "ham")).sum() for name, s in zip("ab", SCORES, strict=True)
    )
    assert (
        f"Labels are made by --threshold 0.5; 'a', 'b' say otherwise in {others} of {2 * len(WIDE)} rows."
        in found["read"]
    )
    assert found["counts"] == figures(call("summary", "p.csv", *options))["counts"]
    one = figures(call("summary", "p.csv", *options[:2], *options[4:], "--predicted", "a", "--map", "spam=SPAM"))
    assert others
    assert "'a' says otherwise in" in one["read"]


THRESHOLDS = {
    "no scores": (["--threshold", "1"], "--threshold needs --score: it makes predictions of scores."),
    "which is positive": (["--threshold", "1", "--score", "s_a"], "Name the positive one, as --pos-label spam."),
    "no numbers": (["--threshold", "1", "--score", "a", "--pos-label", "spam"], "--score a: it must hold numbers"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "words"), THRESHOLDS.values(), ids=THRESHOLDS)
def test_thresholds_that_cannot_be_used_are_refused(tmp_path, call, options, words):
    WIDE.to_csv(tmp_path / "p.csv", index=False)
    assert words in refusal(call("summary", "p.csv", *options))


def test_compare_takes_scores_beside_predictions(tmp_path, call):
    WIDE.to_csv(tmp_path / "p.csv", index=False)
    scored = [*PAIR, "--score", "s_a", "--score", "s_b", "--metric", "recall", "--json"]
    assert call("compare", "p.csv", *scored).returncode == 0


def test_commas_of_decimals_are_spoken_of(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual;predicted;s\n1;1;0,7\n0;1;0,2\n")
    refused = refusal(call("summary", "p.csv", "--score", "s", "--decimal", "."))
    assert refused.endswith("it holds '0,7'. Write decimals with a point.")


def test_percentages_are_read_as_proportions_and_a_label_as_missing(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual;s\n1;70,5%\n0;20%\nNA;60 %\n0;\n")
    asked = ["summary", "p.csv", "--score", "s", "--threshold", "0.6", "--drop-missing", "--json"]
    document = json.loads(call(*asked, "--map", "NA=").stdout)
    assert document["counts"]["values"] == [[1, 0], [0, 1]]
    assert "Percentages in 's' are read as proportions: 67% as 0.67." in document["read"]
    assert "missing in 's' (1) and 'actual' (1)" in document["read"]
    (tmp_path / "p.csv").write_text("actual,s\n1,70%\n0,0.2\n")
    assert refusal(call("summary", "p.csv", "--score", "s")).endswith(
        "it holds '70%'. Write all of them as percentages, or none."
    )


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_file_as_a_german_spreadsheet_writes_it(tmp_path, call, encoding):
    told = ONE.assign(s=SCORES["s_a"]).replace({"spam": "Müll", "ham": "gültig"})
    told.to_csv(tmp_path / "p.csv", sep=";", decimal=",", encoding=encoding, index=False)
    asked = ["--threshold", "0.5", "--score", "s", "--pos-label", "müll", "--json"]
    document = json.loads(call("summary", "p.csv", *asked).stdout)
    called = SCORES["s_a"] >= 0.5
    expected = [[np.sum((of == ACTUAL) & (called == is_)) for is_ in (True, False)] for of in ("spam", "ham")]
    assert document["labels"] == ["Müll", "gültig"]
    assert np.array_equal(document["counts"]["values"], expected)
    assert "Commas in 's' are read as decimal points." in document["read"]
    assert ("p.csv is not UTF-8 and is read as Windows-1252." in document["read"]) == (encoding == "cp1252")


@pytest.mark.slow
def test_commas_of_thousands_are_asked_about(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual;s\n1;1,700\n0;2,000\n")
    asked = ["summary", "p.csv", "--score", "s", "--threshold", "1.8", "--pos-label", "1"]
    assert (
        refusal(call(*asked))
        == "--score s: commas in it may stand for decimals or thousands. Say which: --decimal , or ."
    )
    assert figures(call(*asked, "--decimal", ",", "--json"))["counts"]["values"] == [[0, 1], [1, 0]]


@pytest.mark.slow
def test_an_encoding_that_the_text_does_not_show_is_named(tmp_path, call):
    (tmp_path / "p.csv").write_bytes("actual,predicted\nда,да\nнет,да\n".encode("cp1251"))
    assert "name its encoding, as --encoding cp1250" in refusal(call("summary", "p.csv"))
    assert figures(call("summary", "p.csv", "--encoding", "cp1251", "--json"))["labels"] == ["да", "нет"]


@pytest.mark.parametrize("name", ["nº", "N.º de caso", "1ª", "année nº 2"])
def test_signs_of_ordinal_numbers_are_western(tmp_path, call, name):
    (tmp_path / "p.csv").write_bytes(f"{name},actual,predicted\n1,1,1\n2,0,0\n".encode("cp1252"))
    done = figures(call("summary", "p.csv", "--json"))
    assert f"p.csv is not UTF-8 and is read as Windows-1252. Not used: column {name!r}." in done["read"]


@pytest.mark.parametrize("name", ["oraş", "şef", "anşoa"])
def test_letters_in_their_place_are_not(tmp_path, call, name):
    (tmp_path / "p.csv").write_bytes(f"{name},actual,predicted\n1,1,1\n2,0,0\n".encode("cp1250"))
    assert "name its encoding, as --encoding cp1250" in refusal(call("summary", "p.csv"))


@pytest.mark.slow
def test_labels_are_merged_in_all_files(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted\nYes,yes\nno,no\n")
    (tmp_path / "q.csv").write_text("actual,predicted\nyes,no\nno,no\n")
    done = figures(call("summary", "p.csv", "q.csv", "--parts", "--map", "Yes=yes", "--json"))
    assert (done["labels"], done["counts"]["values"]) == (["no", "yes"], [[2, 0], [1, 1]])


def test_one_class_is_held_against_the_rest(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted\nx,x\nx,y\ny,z\nz,x\nz,z\n")
    done = figures(call("summary", "p.csv", "--pos-label", "x", "--json"))
    assert done["counts"]["values"] == [[2, 1], [1, 1]]
    assert "Class 'x' is held against the other 2 together, 'not x'." in done["read"]


@pytest.mark.slow
@pytest.mark.parametrize("of_files", [PAIR, ["--by", "model", "--pos-label", "spam"]], ids=["wide", "long"])
def test_a_plan_starts_from_files(tmp_path, call, of_files):
    (WIDE if "a" in of_files else LONG).to_csv(tmp_path / "p.csv", index=False)
    done = call("plan", "p.csv", *of_files, "--require", "recall>0.7", "--question", "settle", "--json")
    for system, predicted in zip(json.loads(done.stdout)["systems"], (A, B), strict=True):
        cm = CM.from_predictions(ACTUAL, predicted, pos_label="spam")
        found = bp.plan.sample_size(0.7, metric="recall", evidence=cm, question="settle")
        assert (system["n"], system["evidence"]) == (found.n, cm.counts.values.tolist())


@pytest.mark.slow
def test_a_plan_of_files_says_what_they_show(tmp_path, call):
    WIDE.to_csv(tmp_path / "p.csv", index=False)
    text = call("plan", "p.csv", *PAIR, "--require", "recall>0.7").stdout
    hits, positives = int(((B == "spam") & (ACTUAL == "spam")).sum()), int((ACTUAL == "spam").sum())
    assert f"So far {hits} of {positives}: it is met with probability" in text
    assert ">0.999" in call("plan", "p.csv", *PAIR, "--require", "accuracy>0.01").stdout
    assert (
        "So far 0." in call("plan", "p.csv", "--predicted", "a", "--pos-label", "spam", "--require", "mcc>0.7").stdout
    )
    assert "Remove --evidence or the files" in refusal(
        call("plan", "p.csv", "--evidence", "4/5", "--require", "recall>0.7")
    )


# ── What is left out, named and asked for ──


def gappy(tmp_path):
    wide = WIDE.astype({"a": object, "actual": object})
    wide.loc[[1, 2], "a"] = None
    wide.loc[[2, 3], "actual"] = None
    long = pd.concat([wide[["id", "actual"]].assign(model=name, predicted=wide[name]) for name in "ab"])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    wide.to_parquet(tmp_path / "wide.parquet")
    long.to_csv(tmp_path / "long.csv", index=False)
    return wide, long


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_with_missing_values_are_left_out_and_counted(tmp_path, call, suffix):
    wide, long = gappy(tmp_path)
    kept = wide.drop(index=[1, 2, 3])
    found = figures(call("summary", f"wide.{suffix}", *PAIR, "--drop-missing", "--json"))
    for values, name in zip(found["counts"]["values"], "ab", strict=True):
        assert values == CM.from_predictions(kept["actual"], kept[name]).counts.values.tolist()
    assert "Left out are 6 of 120 rows" in found["read"]
    options = ["--by", "model", "--pos-label", "spam", "--drop-missing", "--json"]
    found = figures(call("summary", "long.csv", *options))
    complete = long.dropna()
    assert np.sum(found["counts"]["values"]) == len(complete)
    words = "Left out are 5 of 120 rows, for values missing in 'predicted' (2) and 'actual' (4)."
    assert words in found["read"]
    by_id = json.loads(call("compare", "long.csv", *options, "--id", "id").stdout)
    assert np.sum(by_id["counts"]["values"]) == 2 * len(kept)
    words = (
        "Left out are 6 of 120 rows, for values missing in 'predicted' (2) and 'actual' (4), and the rows of the same"
    )
    assert words in by_id["read"]


def test_missing_values_are_refused_with_the_option_that_leaves_them_out(tmp_path, call):
    gappy(tmp_path)
    assert refusal(call("summary", "long.csv")) == (
        "column 'actual' has 4 missing values in 120 rows. Leave such rows out by --drop-missing, or give them a name "
        "of their own. If nobody checked these rows, use --verified-only, or --judge COLUMN with a cheaper judge's "
        "labels for all."
    )
    assert "such rows, and their examples in all systems, out" in refusal(call("summary", "wide.csv", *PAIR))
    (tmp_path / "p.csv").write_text("actual,predicted\n1,\n,0\n")
    assert refusal(call("summary", "p.csv", "--drop-missing")).startswith("--drop-missing: in every row")
    (tmp_path / "p.csv").write_text("actual,s\n1,0.7\n1,\n0,0.2\n0,x\n")
    score = ["--score", "s", "--threshold", "0.5", "--drop-missing"]
    assert "it must hold numbers; it holds 'x'" in refusal(call("summary", "p.csv", *score))
    (tmp_path / "p.csv").write_text("actual,s\n1,0.7\n1,\n0,0.2\n")
    assert "Left out are 1 of 3 rows, for values missing in 's' (1)." in call("summary", "p.csv", *score).stdout


LABELS = {
    "other order": ("actual,predicted\nx,y\ny,y\n", "y,x", ["y", "x"]),
    "one that does not occur": ("actual,predicted\nx,y\ny,y\n", "x,y,z", ["x", "y", "z"]),
    "one label": ("actual,predicted\n1,1\n", "0,1", ["0", "1"]),
    "numbers": ("actual,predicted\n1,2\n", "2,1,0", ["2", "1", "0"]),
    "truth": ("actual,predicted\nTrue,true\n", "false,true", ["False", "True"]),
    "a comma in quotes": ('actual,predicted\n"a,b",c\n', 'c,"a,b"', ["c", "a,b"]),
}


@pytest.mark.parametrize(
    ("content", "options", "labels", "positive"),
    [
        ("actual,predicted\nA,a\na,a\n", ["--pos-label", "a"], ["A", "a"], "a is positive"),
        ("actual,s\nA,0.2\na,0.9\n", ["--pos-label", "a", "--score", "s", "--threshold", "0.5"], ["A", "a"],
         "a is positive"),
        ("actual,predicted\nneg,neg\nneg,neg\n", ["--pos-label", "pos", "--labels", "neg,pos"], ["neg", "pos"],
         "pos is positive"),
        ("actual,predicted\nTrue,true\nfalse,true\n", ["--pos-label", "true", "--labels", "false,true"],
         ["False", "True"], "True is positive"),
    ],
)  # fmt: skip
def test_the_positive_class_is_the_one_that_is_written_so(tmp_path, call, content, options, labels, positive):
    (tmp_path / "p.csv").write_text(content)
    done = figures(call("summary", "p.csv", *options, "--json"))
    assert done["labels"] == labels
    assert positive in done["read"]


@pytest.mark.slow
@pytest.mark.parametrize(("content", "labels", "expected"), LABELS.values(), ids=LABELS)
def test_labels_are_all_classes_in_their_order(tmp_path, call, content, labels, expected):
    (tmp_path / "p.csv").write_text(content)
    assert figures(call("summary", "p.csv", "--labels", labels, "--json"))["labels"] == expected


@pytest.mark.slow
def test_labels_that_do_not_fit_are_refused_in_words_of_the_shell(tmp_path, call):
    (tmp_path / "p.csv").write_text("actual,predicted\nx,y\ny,y\n")
    assert refusal(call("summary", "p.csv", "--labels", "x,z")).endswith("Add them to --labels.")
    assert refusal(call("summary", "p.csv", "--labels", "x")) == "--labels: name at least two."
    (tmp_path / "p.csv").write_text("actual,predicted\n1,0\n")
    assert refusal(call("summary", "p.csv", "--labels", "a,b")) == "--labels a,b: the labels of the file are 0, 1."


ADVICE = {
    "one label": ("actual,predicted\n1,1\n", [], "Name all of them, in --labels."),
    "no positive class": ("actual,predicted\nx,y\n", ["--metrics", "recall"], "--pos-label"),
    "a class that is none": (
        "actual,predicted\nhats,coats\ncoats,hats\n",
        ["--pos-label", "Hat"],
        "no label is called so; the classes are coats (1) and hats (1). Name it as --pos-label 'hats'.",
    ),
    "two codings": (
        "actual,predicted\nyes,1\nno,0\nyes,1\nno,1\n",
        [],
        "no label is an actual one: 'actual' holds 'no', 'yes', and 'predicted' '0', '1'. If they mean the same: --map "
        "0=no --map 1=yes.",
    ),
    "a label to map that is none": ("actual,predicted\nhats,x\nx,x\n", ["--map", "hat=x"], "The nearest is 'hats'."),
    "half a map": ("actual,predicted\nhats,x\nx,x\n", ["--map", "hats"], "--map hats: must be a label, '=',"),
    "no encoding": ("actual,predicted\nhats,x\nx,x\n", ["--encoding", "foo"], "there is no encoding 'foo'."),
    "scores": ("actual,predicted\n1,0.3\n", [], "For scores, use --score and --threshold"),
    "prior": ("actual,predicted\n1,0\n", ["--prior", "none"], "--prior must be one of"),
}


@pytest.mark.few
@pytest.mark.parametrize(("content", "options", "words"), ADVICE.values(), ids=ADVICE)
def test_advice_is_in_words_of_the_shell(tmp_path, call, content, options, words):
    (tmp_path / "p.csv").write_text(content)
    said = refusal(call("summary", "p.csv", *options))
    assert words in said
    assert not any(python in said for python in ("pos_label", "labels=", "ConfusionMatrix", "posterior("))


@pytest.mark.slow
def test_bounds_may_be_strict(tmp_path, call):
    ONE.to_csv(tmp_path / "p.csv", index=False)
    for strict, other in (("recall>0.8", "recall>=0.8"), ("fpr<0.1", "fpr<=0.1")):
        both = [
            call("summary", "p.csv", "--pos-label", "spam", "--require", text, "--json") for text in (strict, other)
        ]
        assert both[0].stdout.replace(strict, other) == both[1].stdout


# ── What was read ──


def pooled(**columns):
    return LONG.drop(columns=["id", "model"]).assign(**columns).to_csv(index=False)


READ = {
    "inferred": (CSV.replace("ham", "0").replace("spam", "1"), [], "1 is positive, inferred from the labels."),
    "named": (CSV, ["--pos-label", "spam"], "spam is positive, as specified."),
    "neither": (
        CSV,
        [],
        "Neither class is named as positive, so figures are averages over both. For the figures of one class: --pos-",
    ),
    "neither, and the rarer is offered": (CSV + "ham,ham\n" * 99, [], "--pos-label spam"),
    "neither, and the other is rarer": (CSV + "spam,spam\n" * 99, [], "--pos-label ham"),
    "not used": (WIDE.to_csv(index=False), PAIR, "Not used: columns 'id', 's_a', 's_b'."),
    "names of one's own": (pooled(country=["a", "b"] * 60), ["--by", "country"], "120 rows: 2 values of country."),
    "one not used": (
        "actual,predicted,x\n1,0,1\n",
        [],
        "1 row. Actual classes: 0 (0) and 1 (1); 1 is positive, inferred",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("content", "options", "words"), READ.values(), ids=READ)
def test_what_was_read_is_said_first(tmp_path, call, content, options, words):
    (tmp_path / "p.csv").write_text(content)
    done = call("summary", "p.csv", *options)
    head = " ".join(done.stdout.split("How good is it?")[0].split())
    assert (done.returncode, done.stderr) == (0, "")
    assert words in head


WARNED = {
    "blanks": (
        CSV.replace("spam\n", "spam \n", 1),
        "look like one class, and count as 2. To merge them: --map 'spam =",
    ),
    "capitals": (CSV.replace("spam\n", "Spam\n", 1), "To merge them: --map Spam=spam."),
    "codings": ("actual,predicted\n1,1\n0,0\n1,yes\n", "Labels '1' (2) and 'yes' (0) look like one class"),
    "a slip": ("actual,predicted\nhats,hats\ncoats,coats\ncoats,hatts\n", "never actual, and looks like 'hats'"),
    "a class of its own": (
        CSV.replace("spam\n", "unsure\n", 1),
        "Label 'unsure' occurs only among the predictions. If it means another class: --map unsure=CLASS.",
    ),
    "missing": (
        CSV.replace("spam\n", "NA\n", 1),
        "Label 'NA' may stand for a missing value, and counts as a class. If so: --map NA= --drop-missing.",
    ),
    "systems": (
        LONG.drop(columns="id").to_csv(index=False),
        "Column 'model' holds 2 values ('a', 'b') and is not used",
    ),
    "repeats": (LONG.drop(columns="model").to_csv(index=False), "Column 'id' repeats: 60 of 120 rows"),
    "parts": (
        pooled(split=["test", "train"] * 60),
        "Column 'split' holds 'test', 'train' and is not used: all rows are",
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("content", "words"), WARNED.values(), ids=WARNED)
def test_what_is_probably_a_mistake_is_warned_of(tmp_path, call, content, words):
    (tmp_path / "p.csv").write_text(content)
    done = call("summary", "p.csv", "--json")
    assert done.stderr.startswith("bayesperf: warning: ")
    assert done.stderr.count("\n") == 1
    document = json.loads(done.stdout)
    (said,) = document["warnings"]
    assert words in said
    assert said in done.stderr


@pytest.mark.parametrize(("values", "warned"), [(50, True), (51, False)])
def test_so_many_values_of_a_column_may_be_systems(tmp_path, call, values, warned):
    frame = pd.DataFrame({"actual": [0, 1] * values, "predicted": 1, "model": np.repeat(range(values), 2)})
    frame.to_csv(tmp_path / "p.csv", index=False)
    done = call("summary", "p.csv", "--pos-label", "1", "--metric", "recall", "--json")
    said = [text for text in json.loads(done.stdout)["warnings"] if "if they are systems" in text]
    assert len(said) == warned


@pytest.mark.parametrize(
    "labels", [["-1", "1"], ["<=50K", ">50K"], ["C", "C++", "C#"], ["A", "A-"], ["F", "N", "S", "T", "Y"]]
)
def test_labels_that_are_not_one_class_are_not_said_to_be(labels):
    assert about_labels(dict.fromkeys(labels, 5)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [{"model": "only"}, {"model": range(120)}, {"split": ["a", "b"] * 60}, {"colour": ["red", "blue"] * 60}],
    ids=["one", "many", "no test", "other"],
)
def test_what_is_not_is_not(tmp_path, call, columns):
    (tmp_path / "p.csv").write_text(pooled(**columns))
    assert call("summary", "p.csv").stderr == ""


@pytest.mark.slow
def test_a_page_has_the_title_that_was_asked_for_and_the_warnings(tmp_path, call):
    (tmp_path / "p.csv").write_text(CSV.replace("spam\n", "Spam\n", 1))
    assert call("report", "p.csv", "--title", "Spam <3>", "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Spam &lt;3&gt;</h1>" in page
    assert "look like one class" in page


@pytest.mark.parametrize("output", ["absent/page.html", "folder"])
def test_nothing_is_read_for_a_page_that_cannot_be_written(tmp_path, call, monkeypatch, output):
    monkeypatch.setattr("bayesperf.files.reading.read", lambda *_: pytest.fail("read"))
    (tmp_path / "folder").mkdir()
    ONE.to_csv(tmp_path / "p.csv", index=False)
    for arguments in (["report", "p.csv"], ["demo"]):
        assert refusal(call(*arguments, "-o", output)).startswith(f"--output {output}: ")
        assert refusal(call(*arguments, "-o", "page.pdf")).startswith("--output must end in .html, .md or .json")
    assert list((tmp_path / "folder").iterdir()) == []


# ── Rows that nobody looked at ──

JUDGE = np.where(RNG.random(60) < 0.9, ACTUAL, np.where(ACTUAL == "spam", "ham", "spam"))
LOOKED = WIDE.assign(actual=np.where(np.arange(60) % 3, ACTUAL, ""), judge=JUDGE)
LOOKED_LONG = pd.concat([LOOKED[["id", "actual", "judge"]].assign(model=name, predicted=LOOKED[name]) for name in "ab"])
TRUE = [label or None for label in LOOKED["actual"]]
ONE_SYSTEM = ["--predicted", "a", "--pos-label", "spam"]


@pytest.fixture
def judged(call, tmp_path):
    LOOKED.to_csv(tmp_path / "looked.csv", index=False)
    LOOKED_LONG.to_csv(tmp_path / "long.csv", index=False)
    return call


def means(done):
    assert done.returncode == 0, done.stderr
    return {row["metric"]: row["mean"] for row in json.loads(done.stdout)["summary"]}


def test_a_system_has_an_example_once(judged, tmp_path):
    pd.concat([LOOKED_LONG, LOOKED_LONG[:1]]).to_csv(tmp_path / "twice.csv", index=False)
    done = judged("compare", "twice.csv", "--system", "model", "--id", "id", "--judge", "judge", "--pos-label", "spam")
    assert done.returncode == 2
    assert "--id id: a system has an example twice. A row must be one prediction." in done.stderr


@pytest.mark.slow
def test_a_judge_of_all_rows(judged):
    post = bp.labels.verify(TRUE, LOOKED["a"], judge=LOOKED["judge"], pos_label="spam")
    found = means(judged("summary", "looked.csv", *ONE_SYSTEM, "--judge", "judge", "--json"))
    assert found["recall"] == pytest.approx(post["recall"].mean().item(), rel=1e-12)
    said = judged("summary", "looked.csv", *ONE_SYSTEM, "--judge", "judge").stdout
    assert "40 verified rows. Actual classes: " in said
    assert "40 of 60 examples are verified; column 'judge' holds the judge's label of all 60." in said
    assert "examples verified at random would" in said
    assert "the verified were chosen at random" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", [["looked.csv", "--predicted", "a", "--predicted", "b"], ["long.csv", "--by", "model", "--id", "id"]]
)
def test_systems_beside_a_judge_are_compared_on_the_same_rows(judged, file):
    post = bp.labels.verify(TRUE, {"a": A, "b": B}, judge=LOOKED["judge"], pos_label="spam")
    compared = bp.compare(post, metric="recall")
    found = judged("compare", *file, "--judge", "judge", "--pos-label", "spam", "--metric", "recall", "--json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["paired"]
    assert document["differences"][0]["mean"] == pytest.approx(compared.difference.mean().item(), rel=1e-12)


@pytest.mark.slow
def test_several_judges_who_label_or_score_beside_clusters(judged, tmp_path):
    said = {"judge": LOOKED["judge"], "fair": np.where(RNG.random(60) < 0.8, A, B),
            "sure": ((ACTUAL == "spam") + RNG.normal(size=60)).round(2)}  # fmt: skip
    LOOKED.assign(**said, patient=PATIENT).to_csv(tmp_path / "judges.csv", index=False)
    judges = [word for name in said for word in ("--judge", name)]
    options = ["--pos-label", "spam", *judges, "--cluster", "patient", "--metric", "recall", "--json"]
    post = bp.labels.verify(TRUE, {"a": A, "b": B}, judge=said, cluster={"patient": PATIENT}, pos_label="spam")
    done = judged("compare", "judges.csv", "--predicted", "a", "--predicted", "b", *options)
    assert done.returncode == 0, done.stderr
    document, compared = json.loads(done.stdout), bp.compare(post, metric="recall")
    assert document["paired"]
    assert document["differences"][0]["mean"] == pytest.approx(compared.difference.mean().item(), rel=1e-12)
    text = judged("report", "judges.csv", *ONE_SYSTEM, *judges, "--cluster", "patient", "-o", "page.md")
    assert text.returncode == 0, text.stderr
    page = (tmp_path / "page.md").read_text()
    assert "columns 'judge', 'fair', 'sure' hold what judges say of all 60. Examples come in clusters" in page
    assert "from judges and system, with weights on the clusters of examples" in page
    unnamed = judged("summary", "judges.csv", "--predicted", "a", "--judge", "sure")
    assert "--pos-label" in refusal(unnamed)


@pytest.mark.slow
def test_verified_rows_alone(judged):
    known = LOOKED["actual"] != ""
    alone = bp.posterior(ACTUAL[known], A[known], pos_label="spam")["recall"].mean().item()
    for judge in ([], ["--judge", "judge"]):
        found = judged("summary", "looked.csv", *ONE_SYSTEM, *judge, "--verified-only", "--json")
        assert means(found)["recall"] == pytest.approx(alone, rel=1e-12)
    said = judged("summary", "looked.csv", *ONE_SYSTEM, "--verified-only").stdout
    assert "20 of 60 rows are not verified and are left out." in said


@pytest.mark.slow
def test_a_report_with_a_judge(judged, tmp_path):
    pair = ["--predicted", "a", "--predicted", "b", "--pos-label", "spam"]
    done = judged("report", "looked.csv", *pair, "--judge", "judge", "--require", "recall>=0.8", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "every row is an example, and the systems are compared on each" in page
    post = bp.labels.verify(TRUE, A, judge=LOOKED["judge"], pos_label="spam")
    assert "40 of 60 examples are verified" in page
    assert "verified at random" in bp.report(post).html


@pytest.mark.parametrize(
    ("file", "options", "says", "says_not"),
    [
        ("looked.csv", ["--judge", "judge"], ["With 40 verified examples", "unverified examples were drawn from"],
         ["No value is missing", "Dirichlet prior on its cells"]),
        ("looked.csv", ["--verified-only"], ["With 40 examples"], ["No value is missing"]),
        ("wide.csv", ["--cluster", "patient"], ["Clusters are treated as independent draws", "No value is missing"],
         ["Examples are treated as independent"]),
    ],
)  # fmt: skip
def test_a_page_says_what_is_so_of_gaps_and_clusters(judged, clustered, tmp_path, file, options, says, says_not):
    done = judged("report", file, *ONE_SYSTEM, *options, "-o", "page.md")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.md").read_text()
    assert all(words in page for words in says)
    assert not any(words in page for words in says_not)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            [],
            "If nobody checked these rows, use --verified-only, or --judge COLUMN with a cheaper",
        ),
        (["--judge", "judgement"], "no column 'judgement', for --judge"),
        (
            ["--judge", "judge", "--score", "s_a"],
            "--score does not go with --judge: its figures need",
        ),
        (
            ["--judge", "judge", "--by", "fold"],
            "--fold does not go with --judge: folds of which some",
        ),
        (["--judge", "judge", "--top", "1"], "--top does not go with --judge"),
        (["--judge", "actual"], "--judge actual: it is --actual already. Every role"),
        (["--judge", "judge", "--prior", "haldane"], "has no weight for some cells"),
    ],
)
def test_what_is_refused_beside_gaps(judged, options, says):
    assert says in refusal(judged("summary", "looked.csv", *ONE_SYSTEM, *options))


# ── Several rows of each patient ──

PATIENT = np.arange(60) // 3
CLUSTERED = WIDE[["id", "actual", "a", "b"]].assign(patient=PATIENT)
CLUSTERED_LONG = pd.concat(
    [CLUSTERED[["id", "actual", "patient"]].assign(model=name, predicted=CLUSTERED[name]) for name in "ab"]
)


@pytest.fixture
def clustered(call, tmp_path):
    CLUSTERED.to_csv(tmp_path / "wide.csv", index=False)
    CLUSTERED_LONG.to_csv(tmp_path / "long.csv", index=False)
    return call


@pytest.mark.slow
def test_rows_of_one_patient_are_drawn_together(clustered):
    cm = CM.from_predictions(ACTUAL, A, pos_label="spam", cluster={"patient": PATIENT})
    with pytest.warns(bp.errors.PriorWarning, match="no example in any patient"):
        pooled = bp.pool(cm, random_seed=0)
    done = clustered("summary", "wide.csv", *ONE_SYSTEM, "--cluster", "patient", "--json")
    assert means(done)["f1"] == pytest.approx(pooled.mean["f1"].mean().item(), rel=1e-12)
    said = " ".join(clustered("summary", "wide.csv", *ONE_SYSTEM, "--cluster", "patient").stdout.split())
    worth = pooled.mean.source.independent_examples("accuracy").item()
    assert "come in 20 clusters (by column 'patient')" in said
    assert f"60 examples say as much as {worth:,.0f} independent ones" in said


@pytest.mark.slow
@pytest.mark.parametrize("file", [["wide.csv", "--predicted", "a", "--predicted", "b"], ["long.csv", "--by", "model"]])
def test_systems_judged_in_the_same_clusters_are_compared_in_pairs(clustered, file):
    cm = CM.from_predictions(ACTUAL, {"a": A, "b": B}, pos_label="spam", cluster={"patient": PATIENT})
    with pytest.warns(bp.errors.PriorWarning, match="no example in any patient"):
        pooled = bp.pool(cm, random_seed=0)
    expected = bp.compare(pooled.mean, metric="accuracy").difference
    done = clustered("compare", *file, "--pos-label", "spam", "--cluster", "patient", "--metric", "accuracy", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["paired"] == (file[0] == "wide.csv")
    (found,) = document["differences"]
    assert abs(found["mean"]) == pytest.approx(abs(expected.mean().item()), abs=0.05 * expected.sd().item())


@pytest.mark.slow
def test_a_report_of_clusters(clustered, tmp_path):
    done = clustered(
        "report", "long.csv", "--by", "model", "--pos-label", "spam", "--cluster", "patient", "-o", "p.html"
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "p.html").read_text()
    assert "drawn with weights on the clusters" in page
    assert "compared on the clusters that they share" in page


@pytest.mark.slow
def test_of_clusters_within_clusters_the_outer_are_drawn(clustered, tmp_path):
    CLUSTERED.assign(hospital=PATIENT // 4).to_csv(tmp_path / "nested.csv", index=False)
    outer = clustered("summary", "nested.csv", *ONE_SYSTEM, "--cluster", "hospital", "--json")
    nested = clustered("summary", "nested.csv", *ONE_SYSTEM, "--cluster", "hospital", "--cluster", "patient", "--json")
    assert means(nested) == means(outer)
    words = clustered("summary", "nested.csv", *ONE_SYSTEM, "--cluster", "hospital", "--cluster", "patient").stdout
    assert "5 clusters (by column 'hospital', and clusters within them by 'patient')" in " ".join(words.split())
    refused = clustered("summary", "nested.csv", *ONE_SYSTEM, "--cluster", "hospital", "--cluster", "person")
    assert "no column 'person', for --cluster" in refusal(refused)
    twice = clustered("summary", "nested.csv", *ONE_SYSTEM, "--cluster", "hospital", "--cluster", "hospital")
    assert "needs a column of its own" in refusal(twice)


@pytest.mark.slow
def test_columns_that_repeat_as_patients_do_are_named(clustered):
    done = clustered("summary", "long.csv", "--by", "model", "--pos-label", "spam")
    assert "Column 'patient' repeats and is not used" in done.stderr
    assert "--cluster patient" in done.stderr
    assert (
        "Column 'patient'"
        not in clustered("summary", "long.csv", "--by", "model", "--pos-label", "spam", "--cluster", "patient").stderr
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--cluster", "person"], "no column 'person', for --cluster"),
        (
            ["--cluster", "patient", "--by", "fold"],
            "--fold does not go with --cluster: folds are pooled as independent ones",
        ),
        (["--cluster", "patient", "--score", "s"], "in Python roc_auc(..., cluster=) does not"),
        (["--cluster", "patient", "--slice", "fold"], "--slice does not go with --cluster"),
    ],
)
def test_what_clusters_do_not_go_with(clustered, options, says):
    assert says in refusal(clustered("summary", "wide.csv", *ONE_SYSTEM, *options))
