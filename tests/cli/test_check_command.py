"""The command ``bayesperf check``, run as a step of CI runs it."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf.files import reading
from bayesperf.reports import verdicts
from bayesperf.reports.verdicts import Verdict, in_one_sentence, verdict_of


@pytest.fixture
def check(shell, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return partial(shell, "check", columns=80)


def write(name, tp, fn, fp, tn, first=0):
    """Write a file of predictions, a row an example, and return its name."""
    rows = [("yes", "yes")] * tp + [("yes", "no")] * fn + [("no", "yes")] * fp + [("no", "no")] * tn
    frame = pd.DataFrame(rows, columns=["actual", "predicted"])
    frame["example"] = range(first, first + len(rows))
    frame.to_csv(name, index=False)
    return name


# Recalls clearly above .8, clearly below it, and near it.
@pytest.mark.parametrize(
    ("tp", "fn", "code", "verdict"), [(90, 10, 0, "met"), (70, 30, 1, "missed"), (81, 19, 3, "open")]
)
def test_the_code_says_what_is_shown(check, tp, fn, code, verdict):
    file = write("new.csv", tp, fn, 5, 95)
    done = check(file, "--pos-label", "yes", "--require", "recall>=0.8", "--format", "json")
    document = json.loads(done.stdout)
    (row,) = document["requirements"]
    assert (done.returncode, document["verdict"], row["verdict"]) == (code, verdict, verdict)
    # Jeffreys' prior has half an example in each cell, so that recall is a Beta.
    assert row["probability"] == pytest.approx(stats.beta(tp + 0.5, fn + 0.5).sf(0.8))
    planned = bp.plan.sample_size(0.8, metric="recall", evidence=(tp, tp + fn), question="settle")
    # Half of the examples are positive; a plan is said with two digits.
    about = -(-2 * planned.n // 100) * 100
    assert row["more"] == ("" if code != 3 else f"about {about:,} more examples")


@pytest.mark.slow
def test_a_missed_requirement_decides_before_an_open_one(check):
    file = write("new.csv", 81, 19, 40, 60)
    asked = ["--require", "recall>=0.8", "--require", "specificity>=0.8", "--pos-label", "yes"]
    done = check(file, *asked)
    assert done.returncode == 1
    assert "Missed. Of 2 requirements: 1 shown missed, 1 open" in " ".join(done.stdout.split())
    lines = check(file, *asked, "--format", "markdown").stdout.splitlines()
    assert "| open | recall ≥ 0.8 | 0.589 | 81 of 100 |" in lines
    assert lines[4] == "| verdict | requirement | P(met) | observed |"


def test_nothing_is_planned_that_cannot_be_or_that_takes_over_a_million(check, monkeypatch):
    # What the search finds, which takes seconds, is tested with it.
    found = {"recall": np.inf, "diagnostic_odds_ratio": None}
    monkeypatch.setattr(verdicts, "examples_to_settle", lambda marginal, *_: found[marginal.name])
    file = write("few.csv", 8, 2, 5, 95)
    for asked, more in (("recall>=0.8", "over a million more examples"), ("dor>=76", "")):
        done = check(file, "--pos-label", "yes", "--require", asked, "--format", "json")
        (row,) = json.loads(done.stdout)["requirements"]
        assert (done.returncode, row["verdict"], row["more"]) == (3, "open", more)


@pytest.mark.slow
def test_a_new_version_is_held_against_the_old_on_the_same_examples(check):
    new, old = write("new.csv", 88, 12, 10, 90), write("old.csv", 90, 10, 10, 90)
    pair = ["--against", old, "--pos-label", "yes", "--metric", "recall", "--format", "json"]
    paired = json.loads(check(new, *pair, "--id", "example", "--no-worse-by", "0.05").stdout)["requirements"][0]
    apart = json.loads(check(new, *pair, "--no-worse-by", "0.05").stdout)["requirements"][0]
    frames = [pd.read_csv(name) for name in (new, old)]
    both = bp.ConfusionMatrix.from_predictions(
        frames[0]["actual"], {"new": frames[0]["predicted"], "old": frames[1]["predicted"]}, pos_label="yes"
    )
    expected = bp.compare(both, metric="recall").difference.prob_above(-0.05).item()
    # Draws, 10,000 of them: three standard errors.
    assert paired["probability"] == pytest.approx(expected, abs=0.015)
    assert paired["verdict"] == "met"
    assert apart["probability"] < paired["probability"]
    assert apart["observed"] == "0.880, before 0.900 (other examples)"
    # A metric of which less is better is worse if it is greater.
    worse = write("worse.csv", 90, 10, 40, 60)
    done = check(worse, "--against", old, "--pos-label", "yes", "--metric", "fpr", "--no-worse-by", "0.05")
    assert done.returncode == 1


def test_a_worse_version_on_the_same_examples_is_stopped_without_a_margin(check):
    pd.DataFrame(
        {"actual": ["yes"] * 100, "new": ["yes"] * 40 + ["no"] * 60, "old": ["yes"] * 80 + ["no"] * 20}
    ).to_csv("pair.csv", index=False)
    pair = ["--actual", "actual", "--predicted", "new", "--predicted", "old", "--labels", "no,yes"]
    done = check("pair.csv", *pair, "--pos-label", "yes", "--baseline", "old", "--metric", "recall")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "missed" in done.stdout


@pytest.mark.slow
def test_a_version_whose_scores_are_counted_in_bins_has_all_its_rows(check, monkeypatch):
    write("new.csv", 40, 10, 10, 40), write("old.csv", 90, 10, 10, 90)
    for name in ("new.csv", "old.csv"):
        frame = pd.read_csv(name)
        frame.assign(score=(frame["predicted"] == "yes").astype(float)).to_csv(name, index=False)
    asked = ["new.csv", "--against", "old.csv", "--pos-label", "yes", "--score", "score", "--format", "json"]
    whole = check(*asked).stdout
    monkeypatch.setattr(reading, "_MOST_SCORED", 150)
    assert check(*asked).stdout == whole


def test_a_version_with_other_labels_is_refused_with_the_reason(check):
    new, old = write("new.csv", 88, 12, 10, 90), write("old.csv", 90, 10, 10, 90)
    Path(old).write_text(Path(old).read_text().replace("yes", "Yes"))
    done = check(new, "--against", old, "--pos-label", "yes", "--metric", "recall")
    assert done.returncode == 2
    assert "look like one class" in done.stderr
    assert "no row that counts for recall" in done.stderr


@pytest.mark.parametrize(
    ("probability", "verdict"), [(0.75, "met"), (0.7499, "open"), (0.2501, "open"), (0.25, "missed")]
)
def test_the_confidence_itself_is_enough(probability, verdict):
    assert verdict_of(probability, 0.75) == verdict


def test_all_verdicts_in_one_sentence():
    def said(*found, system=""):
        return in_one_sentence([Verdict("r", system, "", 0.5, each) for each in found], "rule")

    assert said("open") == "The requirement is open (rule)."
    assert said("met", "met") == "Both requirements are shown met (rule)."
    assert said(*["met"] * 4, system="a") == "All 4 verdicts are met (rule)."
    assert said("met", "open", "missed", system="a") == "Missed. Of 3 verdicts: 1 met, 1 missed, 1 open (rule)."


def test_runs_add_up_in_a_state_and_are_judged_by_a_sequence(check, tmp_path):
    asked = ["--pos-label", "yes", "--require", "recall>=0.75", "--state", "runs.json", "--format", "json"]
    codes = []
    for night in range(3):
        done = check(write(f"night{night}.csv", 45, 5, 2, 48, first=100 * night), *asked)
        codes.append(done.returncode)
    runs = bp.ConfusionMatrix.from_table([[[48, 2], [5, 45]]] * 3, labels=["no", "yes"], pos_label="yes", dims=["run"])
    data = bp.monitor(runs, 0.75, "recall", dim="run").dataset
    assert codes == [{"met": 0, "missed": 1}.get(verdict, 3) for verdict in data["anytime_verdict"].values.tolist()]
    assert set(codes) == {0, 3}
    assert "3 runs so far" in json.loads(done.stdout)["in_words"]
    before = (tmp_path / "runs.json").read_bytes()
    # However they are given: alone, with others, in another order, or twice.
    new = write("new.csv", 46, 4, 3, 47)
    for files, said in (
        (["night0.csv"], "is in run 1 of it"),
        ([new, "night2.csv"], "is in run 3 of it"),
        ([new, write("same.csv", 46, 4, 3, 47)], "is given twice"),
    ):
        again = check(*files, *asked)
        assert again.returncode == 2
        assert said in again.stderr
    assert (tmp_path / "runs.json").read_bytes() == before


def test_differences_from_the_last_version_add_up_in_a_state(check, tmp_path):
    """Fifteen gained and five lost a night, on the same examples: the limits of four nights are those of `monitor`.

    Of the rate of misses, of which less is better, as much is said.
    """
    codes = []
    for night in range(4):
        rows = [("yes", "yes", "no")] * 15 + [("yes", "no", "yes")] * 5 + [("yes", "yes", "yes")] * 40
        rows += [("no", "no", "no")] * 40
        for place, name in ((1, "new"), (2, "old")):
            lines = [f"{100 * night + i},{row[0]},{row[place]}" for i, row in enumerate(rows)]
            (tmp_path / f"{name}{night}.csv").write_text("\n".join(["example,actual,predicted", *lines]) + "\n")
        asked = ["--against", f"old{night}.csv", "--id", "example", "--pos-label", "yes", "--metric", "recall"]
        done = check(f"new{night}.csv", *asked, "--metric", "fnr", "--state", "runs.json", "--format", "json")
        codes.append(done.returncode)
        of_hits, of_misses = (each["verdict"] for each in json.loads(done.stdout)["requirements"])
        assert of_hits == of_misses
    limits = bp.intervals.paired_sequence([15, 30, 45, 60], [5, 10, 15, 20], [60, 120, 180, 240])
    assert codes == [0 if limits[: night + 1, 0].max() >= 0 else 3 for night in range(4)]
    assert set(codes) == {0, 3}
    # A run on other examples than the last version's does not add to these.
    (tmp_path / "other.csv").write_text("actual,predicted\nyes,yes\nno,no\n")
    asked = ["--against", "old1.csv", "--pos-label", "yes", "--metric", "recall", "--state", "runs.json"]
    done = check("other.csv", *asked)
    assert done.returncode == 2
    assert "not all of its runs compared recall" in done.stderr


@pytest.mark.slow
def test_differences_from_a_baseline_add_up_in_a_state(check, tmp_path):
    """As above, with both systems in a file, which names them in another order every night."""
    rows = [("yes", "yes", "no")] * 15 + [("yes", "no", "yes")] * 5 + [("yes", "yes", "yes")] * 40
    frame = pd.DataFrame([*rows, *[("no", "no", "no")] * 40], columns=["actual", "new", "old"])
    asked = ["--pos-label", "yes", "--metric", "recall", "--require", "recall>=0.6", "--baseline", "old"]
    asked += ["--state", "runs.json", "--format", "json"]
    verdicts = []
    for night in range(4):
        frame.assign(night=night).to_csv(tmp_path / f"night{night}.csv", index=False)
        order = [word for name in (("new", "old"), ("old", "new"))[night % 2] for word in ("--predicted", name)]
        done = check(f"night{night}.csv", *order, *asked)
        *_, met, no_worse = json.loads(done.stdout)["requirements"]
        verdicts.append(no_worse["verdict"])
    limits = bp.intervals.paired_sequence([15, 30, 45, 60], [5, 10, 15, 20], [60, 120, 180, 240])
    assert verdicts == ["met" if limits[: night + 1, 0].max() >= 0 else "open" for night in range(4)]
    assert set(verdicts) == {"met", "open"}
    assert (no_worse["requirement"], no_worse["system"]) == ("recall not worse than old", "new")
    runs = bp.ConfusionMatrix.from_table([[[40, 0], [15, 45]]] * 4, labels=["no", "yes"], pos_label="yes", dims=["run"])
    seen = bp.monitor(runs, 0.6, "recall", dim="run").dataset.isel(run=-1)
    assert (met["system"], met["verdict"]) == ("old", seen["anytime_verdict"].item())
    assert met["observed"].startswith("180 of 240: from")
    frame.rename(columns={"new": "newer"}).to_csv(tmp_path / "other.csv", index=False)
    done = check("other.csv", "--predicted", "newer", "--predicted", "old", *asked)
    assert done.returncode == 2
    assert "--state runs.json: its runs are of 'new', 'old', and the files are of 'newer', 'old'." in done.stderr


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "--require: say what must be met"),
        (["--require", "recall>=0.8", "--confidence", "0.5"], "--confidence must be above 0.5"),
        (["--require", "recall>=0.8", "--no-worse-by", "0.1"], "--no-worse-by needs --against"),
        (["--require", "f1>=0.8", "--state", "runs.json", "--pos-label", "yes"], "f1 is not a proportion of"),
        (["--require", "recall>=0.8", "--state", "new.csv", "--pos-label", "yes"], "is no file that check has written"),
        (["--against", "new.csv", "--by", "example"], "it checks one system"),
        (["--state", "runs.json", "--require", "recall>=0.8", "--fold", "example"], "--state does not go with --fold"),
        (["--state", "runs.json", "--require", "recall>=0.8", "--system", "example"], "held against, by --baseline."),
        (["--against", "new.csv", "--score", "s", "--score", "t", "--threshold", "0.5"], "Check each by a command"),
        (["--against", "new.csv", "--state", "runs.json", "--metric", "f1"], "f1 of two versions is not a proportion"),
        (["--against", "new.csv", "--metric", "prevalence"], "has no one direction that is better"),
        (["--against", "new.csv", "--metric", "recall_per_class"], "is a value for every class"),
        (["--require", "recall>=0.8", "--format", "html"], "--format must be text, markdown or json"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_refused(check, tmp_path, asked, said):
    write("new.csv", 8, 2, 1, 9)
    done = check("new.csv", *asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (tmp_path / "runs.json").exists()
