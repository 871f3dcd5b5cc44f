"""Outcomes in the shell: rows that are right or wrong, or graded, from a file to an answer."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp

TASKS, RERUNS = np.divmod(np.arange(120), 4)
PASSED = {"a": (TASKS + RERUNS) % 4 > TASKS % 3, "b": (TASKS + RERUNS) % 4 > TASKS % 5}
STARS = {name: 1 + 2 * passed + TASKS % 3 for name, passed in PASSED.items()}


@pytest.fixture
def log(tmp_path):
    rows = [
        f"{name},{task},{4 * task + rerun},{str(passed).lower()},{stars}"
        for name in PASSED
        for task, rerun, passed, stars in zip(TASKS, RERUNS, PASSED[name], STARS[name], strict=True)
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["system,task,attempt,passed,stars", *rows]) + "\n", encoding="utf-8")
    return path


def test_summary_of_right_and_wrong(shell, log):
    done = shell("summary", log, "--correct", "passed", "--system", "system", "--json")
    assert done.returncode == 0, done.stderr
    expected = bp.posterior(bp.Outcomes.from_correct(PASSED))["accuracy"].mean().values
    assert [row["mean"] for row in json.loads(done.stdout)["summary"] if row["metric"] == "accuracy"] == pytest.approx(
        expected.tolist(), abs=1e-9
    )


def test_right_and_wrong_may_be_words_of_people_and_of_a_judge(shell, tmp_path):
    said = np.where(PASSED["a"], "Pass", "fail")
    people = np.where(TASKS % 3 == 0, np.where(PASSED["b"], "pass", "fail"), "")
    pd.DataFrame({"people": people, "judge": said}).to_csv(tmp_path / "judged.csv", index=False)
    done = shell("summary", "judged.csv", "--correct", "people", "--judge", "judge", "--json")
    assert done.returncode == 0, done.stderr
    known = np.where(TASKS % 3 == 0, PASSED["b"], np.nan)
    expected = bp.labels.verify(known, judge=PASSED["a"].astype(float))["pass_rate"].mean().item()
    assert json.loads(done.stdout)["summary"][0]["mean"] == pytest.approx(expected, abs=1e-9)
    pd.DataFrame({"people": people, "judge": said}).replace("pass", "ok").to_csv(tmp_path / "judged.csv", index=False)
    refused = shell("summary", "judged.csv", "--correct", "people", "--judge", "judge")
    assert refused.stderr.startswith("bayesperf: --correct people: must say what is right by true and false, pass and")


@pytest.mark.slow
def test_summary_of_attempts_says_what_reruns_are_worth(shell, log):
    done = shell("summary", log, "--correct", "passed", "--system", "system", "--cluster", "task")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.lower().split())
    for words in ("pass^4 how often all do", "pass@4", "30 tasks passed in every attempt", "with twice the tasks",
                  "higher pass rate", "240 attempts: 2 systems", "attempts are at 30 tasks"):  # fmt: skip
        assert words in said
    assert "accuracy" not in said


@pytest.mark.slow
def test_systems_are_compared_on_the_same_attempts(shell, log):
    done = shell("compare", log, "--correct", "passed", "--system", "system", "--id", "attempt", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["differences"]
    expected = bp.compare(bp.Outcomes.from_correct(PASSED), metric="accuracy")
    assert row["mean"] == pytest.approx(expected.difference.mean().item(), abs=1e-9)
    clustered = shell("compare", log, "--correct", "passed", "--system", "system", "--cluster", "task")
    assert "On pass rate" in clustered.stdout
    assert "On pass^4" in clustered.stdout


def test_a_comparison_has_the_prior_that_was_asked_for_and_says_if_it_is_not_paired(shell, log):
    asked = ["compare", log, "--correct", "passed", "--system", "system"]
    (row,) = json.loads(shell(*asked, "--id", "attempt", "--prior", "flat", "--json").stdout)["differences"]
    expected = bp.compare(bp.Outcomes.from_correct(PASSED), metric="accuracy", prior="flat")
    assert row["mean"] == pytest.approx(expected.difference.mean().item(), abs=1e-9)
    apart = shell(*asked)
    assert "assumed to be tested on different examples" in apart.stdout
    assert "--cluster task" in apart.stderr


def test_missing_values_are_left_out_and_said_or_refused(shell, log):
    log.write_text(log.read_text().replace("true", "", 2))
    asked = ["summary", log, "--correct", "passed", "--system", "system"]
    said = " ".join(shell(*asked, "--drop-missing").stdout.split())
    assert "Left out are 2 of 240 rows, for values missing in 'passed' (2)." in said
    assert "Leave such rows out by --drop-missing" in shell(*asked).stderr


def test_grades(shell, log):
    done = shell("summary", log, "--grade", "stars", "--system", "system", "--metrics", "mean_grade", "--json")
    assert done.returncode == 0, done.stderr
    found = [row["observed"] for row in json.loads(done.stdout)["summary"]]
    assert found == pytest.approx([stars.mean() for stars in STARS.values()])


@pytest.mark.slow
def test_a_gate_a_plan_and_a_page(shell, log, tmp_path):
    asked = ["--correct", "passed", "--system", "system", "--require", "pass_rate>=0.2"]
    gate = shell("check", log, *asked, "--format", "json")
    outcomes = bp.Outcomes.from_correct(PASSED)
    expected = bp.posterior(outcomes)["accuracy"].prob_above(0.2).values
    found = [row["probability"] for row in json.loads(gate.stdout)["requirements"]]
    assert found == pytest.approx(expected.tolist(), abs=1e-9)
    planned = json.loads(shell("plan", log, "--correct", "passed", "--require", "pass_rate>=0.2", "--json").stdout)
    every = bp.Outcomes.from_correct(np.concatenate(list(PASSED.values())))
    assert planned["systems"][0]["n"] == bp.plan.sample_size(0.2, metric="accuracy", evidence=every).n
    page = tmp_path / "page.md"
    options = ["--correct", "passed", "--system", "system", "--cluster", "task", "-o", page]
    assert shell("report", log, *options).returncode == 0
    text = page.read_text(encoding="utf-8")
    for words in (
        "## Would it hold up in reruns?",
        "240 attempts: 2 systems",
        "96 pass, 144 fail",
        "**pass rate",
        "drawn by weights of the tasks",
        "With 30 tasks, the widest interval of pass rate",
    ):
        assert words in text
    assert "Confusion" not in text
    assert "accuracy" not in text.lower()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--correct", "stars"], "must say by true and false"),
        (["--correct", "pased"], "pased"),
        (["--correct", "passed", "--grade", "stars"], "does not go with"),
        (["--correct", "passed", "--judge", "stars", "--judge", "stars"], "--judge stars: it is named twice"),
        (["--correct", "passed", "--pos-label", "1"], "outcomes have no classes"),
        (["--grade", "passed", "--metrics", "f1"], "needs predictions of classes"),
    ],
)
def test_bad_input(shell, log, options, message):
    done = shell("summary", log, *options)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.slow
def test_the_majority_vote_of_attempts(shell, tmp_path):
    """Answers that pass are one answer, however they are written."""
    question, rng = np.repeat(np.arange(25), 5), np.random.default_rng(2)
    passed = {name: rng.random(125) < rate for name, rate in (("a", 0.5), ("b", 0.4))}
    wrong = {name: rng.integers(1, 4, 125) for name in passed}
    frames = [
        pd.DataFrame({"system": name, "question": question, "passed": passed[name].astype(int),
                      "answer": np.where(passed[name], rng.choice(["½", "0.5"], 125), wrong[name].astype(str))})
        for name in passed
    ]  # fmt: skip
    path = tmp_path / "votes.csv"
    pd.concat(frames).to_csv(path, index=False)
    asked = ["--correct", "passed", "--system", "system", "--cluster", "question"]
    done = shell("summary", path, *asked, "--answer", "answer")
    assert done.returncode == 0, done.stderr
    given = np.concatenate([np.where(passed[name], 0, wrong[name]) for name in passed])
    systems = np.repeat(list(passed), 125)
    expected = bp.groups.majority_vote(given, 0 * given, 5, cluster={"question": np.tile(question, 2)},
                                       by={"system": systems})  # fmt: skip
    for text in (expected.in_words(), bp.compare(expected, dim="system").in_words()):
        assert text in " ".join(done.stdout.split())
    (tmp_path / "other.csv").write_text(path.read_text().replace("½", "1"))
    contradicted = shell("summary", tmp_path / "other.csv", *asked, "--answer", "answer")
    assert contradicted.returncode == 2
    assert "passes in one attempt, and fails in another. Judge equal answers alike" in contradicted.stderr
    assert "needs --cluster" in shell("summary", path, "--correct", "passed", "--answer", "answer").stderr


# ── A judge beside people, and gates ──


@pytest.fixture
def judged(tmp_path):
    """Attempts that a judge says pass or fail, of which people looked at one in five."""
    rng = np.random.default_rng(3)
    passed = np.concatenate([rng.random(150) < rate for rate in (0.8, 0.65)]).astype(int)
    judge = np.where(rng.random(300) < 0.9, passed, 1 - passed)
    frame = pd.DataFrame({"system": np.repeat(["a", "b"], 150), "judge_pass": judge, "item": np.tile(range(150), 2)})
    frame["human"] = np.where(np.arange(300) % 5 == 0, passed, np.nan)
    frame.astype({"human": "Int64"}).to_csv(tmp_path / "judged.csv", index=False)
    return tmp_path / "judged.csv", frame


def test_a_pass_rate_by_a_judge_and_some_people(shell, judged):
    path, frame = judged
    asked = ["--correct", "human", "--judge", "judge_pass", "--system", "system"]
    done = shell("summary", path, *asked, "--json")
    assert done.returncode == 0, done.stderr
    expected = bp.labels.verify(frame["human"], judge=frame["judge_pass"], by={"system": frame["system"]})
    found = json.loads(done.stdout)
    assert [row["mean"] for row in found["summary"]] == pytest.approx(expected["accuracy"].mean().values.tolist())
    assert "60 of 300 examples are verified; column 'judge_pass' holds the judge's label of all 300" in found["read"]


@pytest.mark.slow
def test_gates_of_a_judge_and_of_the_verified_alone(shell, judged):
    path, frame = judged
    asked = ["--system", "system", "--require", "pass_rate>=0.7", "--format", "json"]
    known = frame.dropna()
    by_system = {"system": known["system"]}
    alone = bp.posterior(bp.Outcomes.from_correct(known["human"].astype(int), by=by_system))
    both = bp.labels.verify(frame["human"], judge=frame["judge_pass"], by={"system": frame["system"]})
    for options, post in ((["--judge", "judge_pass"], both), (["--verified-only"], alone)):
        found = json.loads(shell("check", path, "--correct", "human", *options, *asked).stdout)["requirements"]
        expected = post["accuracy"].prob_above(0.7).values.tolist()
        assert [row["probability"] for row in found] == pytest.approx(expected)
    judged_systems = [path, "--correct", "human", "--judge", "judge_pass", "--system", "system"]
    assert "verified examples)" in shell("check", *judged_systems, "--baseline", "a", "--format", "json").stdout


def test_systems_that_a_judge_saw_at_the_same_questions_are_paired(shell, judged):
    path, frame = judged
    asked = ["--correct", "human", "--judge", "judge_pass", "--system", "system"]
    apart, together = (
        json.loads(shell("compare", path, *asked, *ids, "--json").stdout) for ids in ([], ["--id", "item"])
    )
    assert (apart["paired"], together["paired"]) == (False, True)
    said = " ".join(shell("compare", path, *asked, "--id", "item").stdout.split())
    assert "Paired: rows with the same value of 'item' are one example" in said
    # Where people looked at other questions of each system, there is nothing to pair.
    frame.assign(human=frame["human"].where(frame["item"] % 2 == (frame["system"] == "a"))).to_csv(path, index=False)
    assert "Few examples are verified for every system" in shell("compare", path, *asked, "--id", "item").stdout
    frame.assign(judge_pass=frame["judge_pass"] * 0.8 + 0.1).to_csv(path, index=False)
    refused = shell("compare", path, *asked, "--id", "item")
    assert "a judge's scores are compared as if each system had examples of its own. Remove --id; or" in refused.stderr


@pytest.mark.slow
def test_versions_and_runs_and_the_best_of_right_and_wrong(shell, log, tmp_path):
    frame = pd.read_csv(log)
    for name in PASSED:
        frame[frame["system"] == name].to_csv(tmp_path / f"{name}.csv", index=False)
    versions = [tmp_path / "a.csv", "--correct", "passed", "--against", tmp_path / "b.csv", "--format", "json"]
    (paired,) = json.loads(shell("check", *versions, "--id", "attempt").stdout)["requirements"]
    expected = bp.compare(bp.Outcomes.from_correct(PASSED), metric="accuracy").difference.prob_above(0).item()
    assert paired["probability"] == pytest.approx(expected, abs=1e-9)
    (by_task,) = json.loads(shell("check", *versions, "--cluster", "task").stdout)["requirements"]
    systems = {"version": np.repeat(list(PASSED), 120)}
    outcomes = bp.Outcomes.from_correct(
        np.concatenate(list(PASSED.values())), by=systems, cluster={"task": np.tile(TASKS, 2)}
    )
    pooled = bp.compare(bp.pool(outcomes).mean, metric="accuracy", dim="version", independent=True)
    assert by_task["probability"] == pytest.approx(pooled.prob_greater.values[0, 1], abs=0.01)
    assert "the same tasks" in by_task["observed"]
    run = [tmp_path / "a.csv", "--correct", "passed", "--require", "pass_rate>=0.2", "--state", tmp_path / "runs.json"]
    expected = bp.monitor(bp.Outcomes.from_counts(right=[PASSED["a"].sum()], n=120, dims=["run"]), 0.2, "accuracy",
                          dim="run").dataset["anytime_verdict"].item()  # fmt: skip
    assert shell("check", *run).returncode == {"met": 0, "missed": 1}.get(expected, 3)
    assert "no new example" in shell("check", *run).stderr
    best = shell("summary", log, "--correct", "passed", "--system", "system", "--top", "1", "--json")
    assert len(json.loads(best.stdout)["summary"]) == 1
