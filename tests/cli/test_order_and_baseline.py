"""Systems in the order of their file, and a baseline that the others are compared with."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp

Y = np.arange(120) % 2
# The first of the file does not come first by the alphabet.
WRONG = {"new": np.arange(120) % 12 == 0, "old": np.arange(120) % 5 == 0, "mid": np.arange(120) % 15 == 0}


def counted():
    return bp.ConfusionMatrix.from_predictions(Y, {name: wrong != Y for name, wrong in WRONG.items()})


@pytest.fixture
def long(tmp_path):
    rows = [
        {"id": i, "actual": y, "predicted": int(y != wrong), "score": 0.25 + y / 2 - wrong * (y - 0.5), "system": name}
        for name, of in WRONG.items()
        for i, (y, wrong) in enumerate(zip(Y.tolist(), of.tolist(), strict=True))
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "long.csv", index=False)
    frame.to_parquet(tmp_path / "long.parquet")
    for name, of_one in frame.groupby("system"):
        of_one.drop(columns="system").to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


READ = {
    "counted": ["long.csv", "--system", "system"],
    "row by row": ["long.csv", "--system", "system", "--id", "id"],
    "Parquet": ["long.parquet", "--by", "system"],
    "files": ["new.csv", "old.csv", "mid.csv"],
}


@pytest.mark.few
@pytest.mark.parametrize("options", READ.values(), ids=READ)
def test_systems_stand_in_the_order_of_the_file(shell, long, options):
    done = shell("summary", *options, "--metric", "accuracy", "--json")
    assert [name for (name,) in json.loads(done.stdout)["systems"]] == [*WRONG]


@pytest.mark.slow
def test_so_do_those_whose_scores_are_counted_in_bins(shell, long, monkeypatch):
    monkeypatch.setattr("bayesperf.files.reading._MOST_SCORED", 100)
    done = shell("summary", "long.csv", "--system", "system", "--score", "score", "--metric", "auc", "--json")
    assert [name for (name,) in json.loads(done.stdout)["systems"]] == [*WRONG]


@pytest.mark.slow
def test_others_are_compared_with_the_baseline_alone(shell, long):
    asked = ["compare", "long.csv", "--system", "system", "--id", "id", "--metric", "accuracy", "--baseline", "old"]
    done = shell(*asked)
    text = " ".join(done.stdout.split())
    assert "Compared with the baseline, old, mid is" in text
    assert "− mid" not in text
    assert "− mid" in shell(*asked, "--all").stdout
    rows = json.loads(shell(*asked, "--json").stdout)["differences"]
    (row,) = [row for row in rows if (row["a"], row["b"]) == ("new", "old")]
    expected = bp.compare(counted().sel(model=["new", "old"]), metric="accuracy").difference
    assert row["mean"] == pytest.approx(expected.mean().item())
    assert "Compared with the baseline, old" in " ".join(shell("summary", *asked[1:]).stdout.split())


def test_a_gate_holds_every_other_system_against_the_baseline(shell, long):
    asked = ["check", "long.csv", "--system", "system", "--id", "id", "--no-worse-by", "0.02", "--format", "json"]
    done = shell(*asked, "--baseline", "old")
    found = {row["system"]: row for row in json.loads(done.stdout)["requirements"]}
    assert [*found] == ["new", "mid"]
    assert found["new"]["requirement"] == "accuracy not worse than old by more than 0.02"
    for name in found:
        difference = bp.compare(counted().sel(model=[name, "old"]), metric="accuracy").difference
        assert found[name]["probability"] == pytest.approx(difference.prob_above(-0.02).item())
    assert (done.returncode, found["new"]["verdict"]) == (0, "met")
    turned = shell(*asked, "--baseline", "new", "--require", "recall>=0.5")
    verdicts = [(row["system"], row["verdict"]) for row in json.loads(turned.stdout)["requirements"]]
    assert verdicts[:3] == [("new", "met"), ("old", "met"), ("mid", "met")]
    assert (verdicts[3], turned.returncode) == (("old", "missed"), 1)


@pytest.mark.slow
def test_a_system_is_held_against_the_baseline_by_scores(shell, long):
    asked = ["check", "long.csv", "--system", "system", "--score", "score", "--metric", "auc", "--baseline", "old"]
    (new, _) = json.loads(shell(*asked, "--format", "json").stdout)["requirements"]
    assert (new["system"], new["verdict"]) == ("new", "met")


@pytest.mark.few
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["summary", "long.csv", "--system", "system", "--baseline", "odl"], "no system is called 'odl'; they are"),
        (["summary", "new.csv", "--baseline", "old"], "--baseline: it is one of several systems. Name the column"),
        (["check", "new.csv", "--baseline", "old"], "--baseline: it is one of several systems. Name the column"),
        (["compare", "long.csv", "--system", "system", "--baseline", "old", "--top", "2"], "does not go with --top"),
        (["check", "new.csv", "--require", "recall>=0.8", "--no-worse-by", "0.1"], "needs --against or --baseline"),
        (["check", "new.csv", "--against", "old.csv", "--baseline", "old"], "--against does not go with --baseline"),
    ],
)  # fmt: skip
def test_a_baseline_that_is_none_is_refused(shell, long, asked, said):
    done = shell(*asked)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_outcomes_and_reports_have_it_too(shell, long):
    frame = pd.read_csv(long / "long.csv")
    frame.assign(right=frame["actual"] == frame["predicted"]).to_csv(long / "right.csv", index=False)
    done = shell("compare", "right.csv", "--correct", "right", "--system", "system", "--id", "id", "--baseline", "old")
    assert "Compared with the baseline, old, mid is" in " ".join(done.stdout.split())
    assert (
        "Compared with the baseline, old, mid is" in bp.report(counted(), metrics=["accuracy"], baseline="old").markdown
    )
