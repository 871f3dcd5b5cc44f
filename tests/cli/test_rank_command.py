"""The command ``bayesperf rank``: votes in files as people have them."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from rich.console import Console

import bayesperf as bp
from bayesperf.files.first_look import ROLES
from bayesperf.files.kinds import KINDS, kind_of
from bayesperf.files.reading_kinds import recognised
from bayesperf.reports.answers_of_files import ANSWERED
from bayesperf.reports.blocks import Table
from bayesperf.reports.judged_systems import JudgedSystems
from bayesperf.reports.render.json import in_json
from bayesperf.reports.render.terminal import print_blocks


@pytest.fixture
def votes(tmp_path):
    """Write 90 votes on three systems, of which the first wins two thirds, under the names of a public leaderboard."""
    met = np.array([("new", "old"), ("old", "system"), ("system", "new")] * 30)
    winner = np.array(["model_a", "model_b", "tie", "model_b", "model_a", "model_b"] * 15)
    frame = pd.DataFrame(met, columns=["model_a", "model_b"]).assign(
        winner=winner, judge=["ann", "bob"] * 45, question_id=np.arange(90)
    )
    frame.to_csv(tmp_path / "votes.csv", index=False)
    return frame


@pytest.mark.slow
def test_the_same_figures_in_every_format(shell, votes, sampler, monkeypatch):
    frame = votes.rename(columns={"model_a": "a", "model_b": "b", "question_id": "prompt"})
    tree = bp.fit(frame, "preferences", options={"order": True}, draws=200, random_seed=2)
    asked = []
    monkeypatch.setattr("bayesperf.sampling.fitting.fit", lambda data, model, **how: asked.append((data, how)) or tree)
    done = shell("rank", "votes.csv", "--order", "--seed", "3", "--format", "json")
    assert done.returncode == 0, done.stderr
    (read, how), document = asked[0], json.loads(done.stdout)
    assert how == {"options": {"order": True}, "random_seed": 3, "progressbar": False}
    pd.testing.assert_frame_equal(read, frame[read.columns].astype(str), check_dtype=False)
    ranking = bp.compare(tree, metric="win_rate")
    assert document["in_words"] == ranking.in_words()
    assert [row["mean"] for row in document["standings"]] == ranking.standings()["mean"].tolist()
    systems = [row["model"] for row in document["standings"]]
    assert [row["system"] for row in document["beats"]] == systems
    # The best first, in rows and columns alike, which is not the order of the file.
    assert systems != tree["posterior"]["model"].values.tolist()
    beats = tree["posterior"]["beats"].mean(["chain", "draw"]).sel(model=systems, model_other=systems).values
    np.fill_diagonal(beats, np.nan)
    shown = pd.DataFrame(document["beats"])[[f"beats {name}" for name in systems]]
    np.testing.assert_allclose(shown.to_numpy(float), beats)
    assert len(document["next_pairs"]) == 3
    assert {row["judge"] for row in document["judges"]} == {"ann", "bob"}
    assert document["order"][0].startswith("Being shown first adds ")
    text = " ".join(shell("rank", "votes.csv").stdout.split())
    assert "90 judgements, 15 of them tied: 3 systems, 90 prompts, 2 judges." in text
    assert "Columns read: model_a, model_b, winner, question_id and judge." in text
    assert f"| system | {' | '.join(systems)} |" in shell("rank", "votes.csv", "--format", "markdown").stdout
    # A row may stand for several votes.
    counted = votes.groupby(["model_a", "model_b", "winner"]).size().rename("count").reset_index()
    counted.to_csv("counted.csv", index=False)
    assert "90 judgements, 15 of them tied: 3 systems." in " ".join(shell("rank", "counted.csv").stdout.split())
    assert asked[-1][0]["count"].tolist() == counted["count"].tolist()


def test_columns_are_recognised_by_their_usual_names():
    assert recognised("judged pairs", ["Home", "away", "result"]) == {"a": "Home", "b": "away", "winner": "result"}
    # The first of the usual names is taken.
    assert recognised("judged pairs", ["left", "right", "a", "b", "vote", "rater"]) == {
        "a": "a", "b": "b", "winner": "vote", "judge": "rater"
    }  # fmt: skip
    # Tests of one review are told apart, under the names that reviews give them.
    cells = {name: name for name in ("tp", "fn", "fp", "tn")}
    for test in ("Test", "modality", "type"):
        names = ["studynames", test, *cells]
        assert recognised("studies", names) == {"study": "studynames", "test": test} | cells
    assert KINDS.keys() == ANSWERED.keys()
    for kind in KINDS.values():
        names = [name for known in kind.columns.values() for name in known]
        assert len(names) == len(set(names))
        assert kind.required.keys() <= kind.columns.keys() <= ROLES.keys(), "what each holds, in words"


def test_files_are_of_the_kind_whose_columns_they_have():
    kinds = {
        "judged pairs": ["model_a", "model_b", "vote"],
        "studies": ["Study", "TP", "FP", "FN", "TN", "year"],
        "scored reads": ["reader", "patient", "truth", "rating", "read"],
        "reads": ["reader", "case", "truth", "read"],
        "attempts": ["model", "question", "passed"],
        "ratings": ["annotator", "text", "category", "date"],
        None: ["reader", "case", "actual", "predicted", "score"],
    }
    assert [kind_of(names) for names in kinds.values()] == [*kinds]
    # Beside the truth, or a system's labels, what raters say is judged by it.
    assert [kind_of(["annotator", "item", "label", other]) for other in ("gold", "predicted")] == [None, None]


def test_files_that_are_no_votes_are_refused(shell, tmp_path, votes):
    votes.drop(columns="winner").to_csv(tmp_path / "no.csv", index=False)
    done = shell("rank", "no.csv")
    assert done.returncode == 2
    assert "no column is called as one of the winner is: winner, preferred," in done.stderr
    votes.assign(winner="nobody").to_csv(tmp_path / "nobody.csv", index=False)
    done = shell("rank", "nobody.csv")
    assert done.returncode == 2
    assert "'winner' holds 'nobody', which is neither of the two systems of its row" in done.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_systems_that_never_met_are_named(shell, tmp_path, sampler):
    rows = [("x", "y", "x")] * 9 + [("v", "w", "w")] * 8
    pd.DataFrame(rows, columns=["a", "b", "winner"]).to_csv(tmp_path / "apart.csv", index=False)
    done = shell("rank", "apart.csv")
    assert done.returncode == 0
    assert "2 groups that were never compared with each other: v and w; x and y." in done.stderr


def test_of_many_judges_the_extreme_ones_are_printed():
    names = [f"j{number:02}" for number in range(60)]
    weights = np.random.default_rng(0).lognormal(np.linspace(-1, 1, 60), 0.1, (2, 500, 60))
    weight = xr.DataArray(weights, {"judge": names}, ("chain", "draw", "judge"))
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"judge_weight": weight})})
    blocks = JudgedSystems("", (), 600, tree, None, 0.95)._judges()
    order = weight.mean(["chain", "draw"]).to_series().sort_values(ascending=False).index
    most, least = (block for block in blocks if isinstance(block, Table))
    assert [record["judge"] for record in most.records] == [*order[:5]]
    assert [record["judge"] for record in least.records] == [*order[:-6:-1]]
    shown = io.StringIO()
    print_blocks(blocks, Console(file=shown, width=100))
    assert len(shown.getvalue().splitlines()) < 40
    assert "50 more judges weigh between these." in " ".join(shown.getvalue().split())
    # Programs get all of them.
    assert [row["judge"] for row in json.loads(in_json({}, blocks))["judges"]] == names
