"""Files whose rows are no examples are read as the file with a row for each example is."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.cli import commands as cli
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import read

CLASSES = ["cat", "dog", "bird"]
MATRIX = pd.DataFrame([[50, 4, 6], [7, 61, 2], [9, 3, 58]], index=CLASSES, columns=CLASSES)
TOTALS = MATRIX.assign(Total=MATRIX.sum(axis="columns"))
TOTALS = pd.concat([TOTALS, TOTALS.sum().to_frame("Total").T])
WORDS = MATRIX.rename(index="true {}".format, columns="pred {}".format)
RNG = np.random.default_rng(3)


def looked(path, text):
    path.write_text(text, encoding="utf-8")
    return bp.files.look(path)


def printed(capsys, monkeypatch, *arguments, code=0):
    monkeypatch.setattr("sys.argv", ["bayesperf", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    said = capsys.readouterr()
    assert stopped.value.code == code, said.err
    return said.out + said.err


@pytest.mark.parametrize(
    ("table", "counts"),
    [
        (MATRIX, MATRIX), (TOTALS, MATRIX), (WORDS, MATRIX), (WORDS.T, MATRIX),
        (MATRIX.rename_axis("predicted / actual"), MATRIX.T), (MATRIX.rename_axis("actual / predicted"), MATRIX),
    ],
)  # fmt: skip
def test_a_matrix_is_read_as_its_examples(tmp_path, table, counts):
    path = tmp_path / "matrix.csv"
    table.to_csv(path)
    each = read([path], Settings()).each
    found = pd.crosstab(each["actual"].astype(str), each["predicted"].astype(str))
    assert found.loc[CLASSES, CLASSES].to_numpy().tolist() == counts.to_numpy().tolist()
    assert found.to_numpy().sum() == MATRIX.to_numpy().sum()


@pytest.mark.parametrize("text", [",a,b\na,.5,.5\nb,.2,.8\n", ",a,b\na,5,1\nc,2,8\n", ",a,b\na,5,1\nb,2,-8\n"])
def test_what_is_no_matrix_of_counts_is_not_read_as_one(tmp_path, text):
    assert looked(tmp_path / "f.csv", text).attrs["rows"] == 2


@pytest.mark.parametrize(
    "text", ["class,n,correct\na,60,50\nb,40,31\nTotal,100,81\n", "class,n,errors\na,60,10\nb,40,9\n"]
)
def test_counts_of_right_are_read_as_rows(tmp_path, text):
    found = looked(tmp_path / "f.csv", text)
    assert (found["column"].tolist(), found["role"].tolist()) == (["class", "correct"], ["group", "correct"])
    settings = Settings(correct="correct", actual="correct", predicted="correct", by=("class",))
    each = read([tmp_path / "f.csv"], settings).each
    assert each.groupby("class", observed=True)["correct"].agg(["size", "sum"]).to_dict("index") == {
        "a": {"size": 60, "sum": 50}, "b": {"size": 40, "sum": 31},
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "actual,predicted,n,errors\n1,1,9,2\n0,1,8,3\n",
        "model,n,correct\na,3,1\nb,2,0\n",
        "model,n,correct\na,3,4\nb,2,2\n",
        "model,n,correct\na,3,2.5\nb,2,2\n",
    ],
)
def test_columns_called_as_counts_are_that_only_if_they_can_be(tmp_path, text):
    assert looked(tmp_path / "f.csv", text).attrs["rows"] == 2


def test_a_column_for_each_reader_is_read_as_reads(tmp_path):
    text = "case,truth,reader1,reader2\n" + "".join(f"c{i},{i % 2},{i % 5},{'' if i == 3 else 4}\n" for i in range(8))
    found = looked(tmp_path / "f.csv", text)
    assert found["role"].tolist() == ["case", "truth", "reader", "score"]
    assert found.attrs["rows"] == 15


@pytest.mark.parametrize("name", ["p_{}", "{}", "{}_score", "prob({})"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_of_scores_for_each_class_is_no_system(tmp_path, name, suffix):
    scores = RNG.random((30, 3))
    frame = pd.DataFrame(scores, columns=[name.format(each) for each in CLASSES])
    frame["truth"] = pd.Categorical(np.resize(CLASSES, 30))
    path = tmp_path / f"f.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    (command, *_) = bp.files.look(path).attrs["commands"].values()
    assert command.endswith("--actual truth --predicted predicted")
    each = read([path], Settings(actual="truth", id="truth")).each
    assert each["predicted"].astype(str).tolist() == np.array(CLASSES)[scores.argmax(axis=1)].tolist()


def test_a_column_of_errors_says_what_is_wrong(tmp_path, monkeypatch, capsys):
    found = looked(tmp_path / "f.csv", "day,error\n1,0\n1,1\n2,0\n2,0\n")
    assert found["role"].tolist()[-1] == "correct"
    assert "3 are right, 1 wrong" in " ".join(
        printed(capsys, monkeypatch, "summary", tmp_path / "f.csv", "--correct", "correct").split()
    )


@pytest.mark.parametrize(
    ("text", "advice"),
    [("error\n0\n1\n", "Take --correct correct."), ("error,passed\n0,1\n1,0\n", "Take --correct passed.")],
)
def test_a_column_of_errors_is_not_taken_for_what_is_right(tmp_path, monkeypatch, capsys, text, advice):
    (tmp_path / "f.csv").write_text(text)
    said = printed(capsys, monkeypatch, "summary", tmp_path / "f.csv", "--correct", "error", code=2)
    assert f"--correct error: must say what is right; by its name it says what is wrong. {advice}" in said


def test_titles_and_totals_are_no_rows(tmp_path):
    rows = "".join(f"{i},{'ham' if i % 3 else 'spam'},{'ham' if i % 2 else 'spam'}\n" for i in range(12))
    text = f"Review (March),,\n,,\nTicket,actual,predicted\n{rows}Total,4,6\n"
    found = looked(tmp_path / "f.csv", text)
    assert (found.attrs["rows"], found["role"].tolist()) == (12, ["id", "actual", "predicted"])
    assert found.attrs["notes"] == [
        "The first line is read as a title: 'Review (March)'. The last line adds up the others and is left out."
    ]
    # A word may be called so.
    assert looked(tmp_path / "f.csv", "word,actual,predicted\nsum,a,b\ntotal,b,b\n").attrs["rows"] == 2


def test_fields_of_objects_are_columns(tmp_path, monkeypatch, capsys):
    rows = [
        {"truth": "ab"[i % 2], "prediction": {"label": "ab"[i % 3 > 0], "more": {"score": i / 12}}} for i in range(12)
    ]
    found = looked(tmp_path / "f.json", json.dumps(rows))
    assert found["column"].tolist() == ["truth", "prediction.label", "prediction.more.score"]
    assert found["role"].tolist() == ["actual", "predicted", "score"]
    assert "'prediction.more.score'" in " ".join(
        printed(
            capsys, monkeypatch, "summary", tmp_path / "f.json", "--actual", "truth", "--predicted", "prediction.label"
        ).split()
    )
    said = printed(
        capsys, monkeypatch, "summary", tmp_path / "f.json", "--actual", "truth", "--predicted", "prediction", code=2
    )
    assert "as prediction.label" in said
    found = looked(tmp_path / "f.json", json.dumps([{"truth": "a", "prediction": ["a", "b"]}] * 3))
    assert found["role"].tolist() == ["actual", ""]
    assert "joined by '|'" in found.attrs["notes"][0]


@pytest.mark.slow
def test_attempts_that_are_missing_are_left_out_if_asked(tmp_path, monkeypatch, capsys):
    text = "study,tp,fn,fp,tn\nA,9,1,2,8\nB,8,2,,9\nC,7,3,1,9\n"
    (tmp_path / "f.csv").write_text(text, encoding="utf-8")
    said = printed(capsys, monkeypatch, "summary", tmp_path / "f.csv", code=2)
    assert "values are missing in 'fp' (1). Leave such rows out by --drop-missing." in " ".join(said.split())
    assert "Left out are 1 of 3 rows" in " ".join(
        printed(capsys, monkeypatch, "summary", tmp_path / "f.csv", "--drop-missing").split()
    )
    (tmp_path / "f.csv").write_text(text.replace(",,", ",1,"), encoding="utf-8")
    assert "Left out" not in printed(capsys, monkeypatch, "summary", tmp_path / "f.csv")


def test_a_column_of_answers_for_each_system_is_read_as_rows(tmp_path, monkeypatch, capsys):
    rows = [f"q{i // 2},{i % 2},{i % 3 % 2},{i % 5 % 2}" for i in range(60)]
    text = "\n".join(["question,attempt,A,B", *rows])
    found = looked(tmp_path / "f.csv", text)
    assert found["column"].tolist() == ["question", "attempt", "system", "correct"]
    assert found["role"].tolist() == ["cluster", "group", "system", "correct"]
    command = found.attrs["commands"]["Which is better?"]
    assert command.endswith("--correct correct --system system --cluster question")
    asked = ("--correct", "correct", "--system", "system", "--cluster", "question")
    said = " ".join(printed(capsys, monkeypatch, "summary", tmp_path / "f.csv", *asked).split())
    # By hand: of 60 answers 20 of A and 24 of B are 1.
    assert "observed 20 of 60) for A" in said
    assert "observed 24 of 60) for B" in said


@pytest.mark.parametrize(
    "header", ["question,attempt,truth,B", "question,model,A,B", "question,correct,A,B", "n,m,A,B"]
)
def test_answers_are_not_read_so_beside_labels_systems_or_outcomes(tmp_path, header):
    rows = [f"q{i // 2},{i % 2},{i % 3 % 2},{i % 5 % 2}" for i in range(60)]
    assert looked(tmp_path / "f.csv", "\n".join([header, *rows])).attrs["rows"] == 60
