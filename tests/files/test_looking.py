"""A first look at a file: its columns are what they are called, and what it says to type can be typed."""

import shlex
import sys

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.cli import commands as cli

N = 200
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
WORDS = np.array(["nein", "ja"])


def called(accuracy):
    return WORDS[np.where(RNG.random(N) < accuracy, TRUTH, 1 - TRUTH)]


FILES = {
    "long": (
        {"Fall": np.arange(N) // 2, "Wahrheit": np.repeat(WORDS[TRUTH[: N // 2]], 2), "Vorhersage": called(0.8),
         "Modell": np.tile(["A", "B"], N // 2), "fold": np.arange(N) % 5, "Ort": np.arange(N) // 2 % 3},
        {"Fall": "", "Wahrheit": "actual", "Vorhersage": "predicted", "Modell": "system", "fold": "fold",
         "Ort": "group"},
    ),
    "wide": (
        {"truth": WORDS[TRUTH], "gbm": called(0.8), "net": called(0.9), "patient": np.arange(N) // 4},
        {"truth": "actual", "gbm": "predicted", "net": "predicted", "patient": "cluster"},
    ),
    "scores": (
        {"id": np.arange(N), "y": TRUTH, "prob_a": RNG.random(N), "prob_b": RNG.random(N)},
        {"id": "id", "y": "actual", "prob_a": "score", "prob_b": "score"},
    ),
    "one": ({"y_true": TRUTH, "y_pred": TRUTH[::-1], "age": TRUTH + 30.5}, {"y_true": "actual", "y_pred": "predicted"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_columns_are_told_and_every_command_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns, expected = FILES[name]
    pd.DataFrame(columns).to_csv(f"{name}.csv", index=False)
    found = bp.files.look(f"{name}.csv")
    roles = dict(zip(found["column"], found["role"], strict=True))
    assert {column: roles[column] for column in expected} == expected
    assert found.attrs["rows"] == N
    several = name != "one"
    assert ("Which is better?" in found.attrs["commands"]) == several
    for command in found.attrs["commands"].values():
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code in (0, 1, 3), capsys.readouterr().err


def test_a_file_alone_is_looked_at(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(FILES["wide"][0]).to_csv("wide.csv", index=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bayesperf", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return stopped.value.code, capsys.readouterr()

    code, printed = run("wide.csv")
    assert code == 0
    assert "  bayesperf compare wide.csv --actual truth --predicted gbm --predicted net" in printed.out
    code, printed = run("absent.csv")
    assert (code, printed.err) == (2, "bayesperf: absent.csv: cannot be read: No such file or directory.\n")
    assert run("sumary")[0] == 2


def test_a_requirement_is_of_the_positive_class_where_labels_say_which_it_is(tmp_path):
    pd.DataFrame({"actual": [True, False, True], "predicted": [True, False, False]}).to_csv(
        tmp_path / "f.csv", index=False
    )
    assert "recall>=0.8" in bp.files.look(tmp_path / "f.csv").attrs["commands"]["Is it good enough?"]


def test_a_file_without_labels_says_how_to_name_them(tmp_path):
    pd.DataFrame({"a": range(9), "b": list("xyz" * 3)}).to_csv(tmp_path / "f.csv", index=False)
    found = bp.files.look(tmp_path / "f.csv")
    assert found["role"].tolist() == ["id", "group"]
    assert found.attrs["commands"] == {}
