"""Scores without predicted labels, through the commands: areas and the Brier score are metrics like any other."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

import bayesperf as bp

RNG = np.random.default_rng(3)
ACTUAL = RNG.integers(0, 2, 120)
SCORES = {name: expit(shift * ACTUAL + RNG.normal(size=120)) for name, shift in {"new": 2, "old": 1.4}.items()}
WIDE = pd.DataFrame({"case": range(120), "actual": ACTUAL, **SCORES})
LONG = WIDE.melt(["case", "actual"], list(SCORES), "system", "score")
PAIR = ["--score", "new", "--score", "old"]
OBSERVED = {"roc_auc": roc_auc_score, "average_precision": average_precision_score, "brier": brier_score_loss}


@pytest.fixture
def call(shell, tmp_path):
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    LONG.to_csv(tmp_path / "long.csv", index=False)
    return partial(shell, columns=200)


def read(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def joint(name):
    if name == "roc_auc":
        return bp.roc_auc(ACTUAL, SCORES)
    return bp.curves.weighted_score(name, ACTUAL, SCORES, progressbar=False)


def test_systems_are_compared_by_the_librarys_figures(call):
    of_wide = read(call("compare", "wide.csv", *PAIR, "--json"))
    of_long = read(call("compare", "long.csv", "--system", "system", "--score", "score", "--id", "case", "--json"))
    assert [row["metric"] for row in of_wide["differences"]] == list(OBSERVED)
    assert of_wide["paired"]
    assert of_wide["counts"]["dims"] == ["model", "actual"]
    for name, *rows in zip(OBSERVED, of_wide["differences"], of_long["differences"], strict=True):
        wanted = bp.compare(joint(name)).summary().iloc[0]
        for row in rows:
            for figure in ("mean", "sd", "ci_lower", "ci_upper", "prob_greater"):
                assert row[figure] == pytest.approx(wanted[figure], abs=1e-9)


@pytest.mark.slow
def test_a_summary_has_what_was_observed_and_the_librarys_posterior(call):
    rows = read(call("summary", "wide.csv", *PAIR, "--json"))["summary"]
    assert len(rows) == 6
    for row in rows:
        name, system = row["metric"], row["model"]
        assert row["observed"] == pytest.approx(OBSERVED[name](ACTUAL, SCORES[system]))
        assert row["mean"] == pytest.approx(joint(name).sel(model=system).mean().item(), abs=1e-9)
    (area,) = read(call("summary", "wide.csv", "--score", "new", "--metric", "auc", "--json"))["summary"]
    assert area["mean"] == pytest.approx(bp.roc_auc(ACTUAL, SCORES["new"]).mean().item(), abs=1e-9)


@pytest.mark.slow
def test_systems_on_other_examples_are_independent(call):
    (row,) = read(call("compare", "long.csv", "--score", "score", "--system", "system", "--metric", "auc", "--json"))[
        "differences"
    ]
    sds = [bp.roc_auc(ACTUAL, score).sd().item() for score in SCORES.values()]
    # Of 10,000 draws the standard error of a standard deviation is .7 % of it.
    assert row["sd"] == pytest.approx(np.hypot(*sds), rel=0.03)


@pytest.mark.few(1)
@pytest.mark.parametrize(("bound", "code"), [(0.5, 0), (0.9999, 1), (0.93, 3)])
def test_a_gate_asks_for_an_area(call, bound, code):
    done = call("check", "wide.csv", "--score", "new", "--require", f"auc>={bound}", "--format", "json")
    assert done.returncode == code
    (row,) = json.loads(done.stdout)["requirements"]
    assert row["probability"] == pytest.approx(bp.roc_auc(ACTUAL, SCORES["new"]).prob_above(bound).item(), abs=1e-9)


def test_predicted_labels_stand_beside_where_the_file_has_them(call, tmp_path):
    WIDE.assign(predicted=ACTUAL).to_csv(tmp_path / "wide.csv", index=False)
    found = read(call("summary", "wide.csv", "--score", "new", "--metric", "accuracy", "--metric", "auc", "--json"))
    assert [row["observed"] for row in found["summary"]] == pytest.approx([1, roc_auc_score(ACTUAL, SCORES["new"])])


SUSPECTS = {
    "the label": (ACTUAL, "The score has two values, one for each actual class: it is the label, not a score."),
    "labels": (SCORES["new"] > 0.5, "The score has only two values, like labels"),
    "reversed": (-SCORES["new"], "Scores are reversed: 1 is the positive class and has the smaller scores"),
    "percentages": (100 * SCORES["new"], "like percentages. Only their order counts here"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("score", "words"), SUSPECTS.values(), ids=SUSPECTS)
def test_what_is_no_score_of_the_positive_class_is_said_first(call, tmp_path, score, words):
    WIDE.assign(new=np.asarray(score, float)).to_csv(tmp_path / "wide.csv", index=False)
    warned = read(call("summary", "wide.csv", "--score", "new", "--metric", "auc", "--json"))["warnings"]
    assert len(warned) == 1
    assert words in warned[0]


REFUSED = {
    "labels' metric": (["summary", *PAIR, "--metric", "recall"], "--metric recall: it is a metric of predicted labels"),
    "no scores": (["summary", "--predicted", "called", "--require", "auc>=.8"], "it is a metric of scores. Name their"),
    "slices": (["summary", *PAIR, "--slice", "case"], "--slice: it needs predicted labels"),
    "a plan": (["plan", "--score", "new", "--require", "auc>=0.8"], "--require roc_auc: it is a metric of scores"),
    "runs": (
        ["check", "--score", "new", "--require", "auc>=0.8", "--state", "s.json"],
        "a proportion of independent exam",
    ),
    "no probabilities": (["summary", "--score", "case", "--metric", "brier"], "--metric brier: it is of probabilities"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_scores_cannot_answer_is_refused(call, tmp_path, arguments, words):
    WIDE.assign(called=1 - ACTUAL).to_csv(tmp_path / "wide.csv", index=False)
    command, *options = arguments
    done = call(command, "wide.csv", *options)
    assert (done.stdout, done.returncode) == ("", 2)
    assert words in done.stderr


@pytest.mark.slow
def test_of_many_systems_the_best_are_drawn(call, tmp_path):
    many = {f"s{i}": np.clip(SCORES["new"] + RNG.normal(scale=0.1 * i, size=120), 0, 1) for i in range(8)}
    pd.DataFrame({"actual": ACTUAL, **many}).to_csv(tmp_path / "wide.csv", index=False)
    done = call("report", "wide.csv", *(word for name in many for word in ("--score", name)), "-o", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "ROC AUC: posterior density of each system" in page
    assert "the best systems, 2 more below" in page


@pytest.mark.parametrize(("positives", "begins"), [(3, ["ROC AUC", "Average precision"]), (30, ["ROC AUC"])])
def test_the_area_is_not_the_only_headline_of_a_rare_class(shell, tmp_path, positives, begins):
    rows = [f"{int(i < positives)},{i % 7 / 7 + (i < positives) / 3:.3f}" for i in range(100)]
    (tmp_path / "rare.csv").write_text("\n".join(["actual,score", *rows]))
    said = read(shell("summary", "rare.csv", "--score", "score", "--json"))["in_words"]
    assert [text.partition(" is ")[0] for text in said if " is 0." in text] == begins
