"""The command ``bayesperf plan``, run as a user runs it."""

import json
from functools import partial

import pytest

from bayesperf.plan.sample_sizes import sample_size


@pytest.fixture
def call(shell):
    return partial(shell, "plan")


@pytest.fixture
def short_search(monkeypatch):
    """Look for no answer beyond 4,096 examples: the search up to a million is tried with the plans themselves."""
    monkeypatch.setattr("bayesperf.plan.smallest_number.MOST", 2**12)


GUIDE = ["--require", "recall>=0.7", "--evidence", "4/5", "--prior", "flat"]


def test_one_command_answers_the_guides_story(call):
    done = call(*GUIDE)
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    for words in (
        "Required: recall ≥ 0.7. So far 4 of 5: it is met with probability 0.580.",
        "To show that it is met (P ≥ 0.95) with assurance 0.8: no number of examples is enough.",
        "the assurance approaches 0.580, because they may also show that it is not met.",
        "To settle whether it is met (P ≥ 0.95 or ≤ 0.05) with the same assurance: 264 more positives.",
        "│ 264 │ 0.807 │",
        "from 4 of 5; prior: flat Dirichlet",
    ):
        assert words in text


def test_what_can_be_shown_is_planned_in_examples(call):
    done = call("--require", "specificity >= 0.7", "--evidence", "40/50", "--prevalence", "0.1")
    plan = sample_size(0.7, metric="specificity", evidence=(40, 50), prevalence=0.1)
    expected = f"with assurance 0.8: {plan.n} more negatives, in about {plan.examples} examples."
    assert f"{expected} To settle it either way takes at most as many, and often fewer: --question settle." in " ".join(
        done.stdout.split()
    )
    # Shown by 68 of 77, it may fail to be shown by a few more.
    seen = sample_size(0.8, metric="recall", evidence=(68, 77))
    shown = " ".join(call("--require", "recall>=0.8", "--evidence", "68/77").stdout.split())
    assert (
        "It is shown already (P ≥ 0.95), but new examples can put it in doubt. To show it with them, too, with" in shown
    )
    assert f"assurance 0.8: {seen.n} more positives." in shown
    shown = call("--require", "recall>=0.5", "--evidence", "99/100")
    assert "no more are needed" in " ".join(shown.stdout.split())


def test_json_holds_the_librarys_figures(call):
    options = "--confidence 0.9 --assurance 0.6 --prior jeffreys --prevalence 0.25 --json"
    document = json.loads(call("--require", "fnr<=0.3", "--evidence", "2/10", *options.split()).stdout)
    plan = sample_size(0.3, 0.9, 0.6, "fnr", "jeffreys", (2, 10), prevalence=0.25)
    assert (document["n"], document["examples"], document["counts"]) == (plan.n, plan.examples, "positives")
    assert document["reached"] == pytest.approx(plan.reached)
    assert document["probability_met"] == pytest.approx(plan.limit)
    assert document["curve"]["assurance"] == pytest.approx(plan.curve().values)
    assert document["settles"] is None
    assert (document["requirement"], document["evidence"], document["question"]) == ("FNR ≤ 0.3", [2, 10], "meet")


@pytest.mark.slow
def test_out_of_reach_in_json(call):
    document = json.loads(call(*GUIDE, "--json").stdout)
    assert document["n"] is document["examples"] is document["curve"] is None
    assert document["probability_met"] == pytest.approx(1 - 0.420175)
    assert document["settles"]["n"] == 264
    settled = json.loads(call(*GUIDE, "--question", "settle", "--json").stdout)
    assert (settled["n"], settled["settles"]) == (264, None)


def test_out_of_reach_and_not_to_be_settled_either(call, short_search):
    text = " ".join(call(*GUIDE, "--assurance", "0.9995").stdout.split())
    assert "with the same assurance: more than a million." in text
    asked = ["--require", "recall>=0.7", "--evidence", "7001300/10000000"]
    done = call(*asked)
    text = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "To show that it is met (P ≥ 0.95) with assurance 0.8: more than a million." in text
    assert "no number of examples" not in text
    settled = " ".join(call(*asked, "--question", "settle").stdout.split())
    assert settled.endswith("To settle whether it is met (P ≥ 0.95 or ≤ 0.05) with assurance 0.8: more than a million.")


@pytest.mark.slow
def test_looks_again_and_again(call):
    options = ["--require", "recall>=0.7", "--evidence", "40/50", "--look-every", "10"]
    text = " ".join(call(*options).stdout.split())
    plan = sample_size(0.7, metric="recall", evidence=(40, 50), look_every=10)
    asked = "To show that it is met (with 95 % confidence however often you look) with assurance 0.8:"
    assert f"{asked} {plan.n} more positives." in text
    assert plan.looks.in_words() in text
    document = json.loads(call(*options, "--json").stdout)
    assert document["looks"] == plan.looks._asdict()
    assert (document["look_every"], document["n"]) == (10, plan.n)
    settled = " ".join(call(*GUIDE, "--look-every", "10").stdout.split())
    assert "To settle whether it is met (with 95 % confidence however often you look) with the same" in settled
    assert "If you look after every 10" in settled


BAD = {
    "looks": (["--require", "f1>=0.7", "--look-every", "5"], "--look-every: f1 is not a proportion of independent"),
    "no requirement": ([], "--require: say what is required, as --require 'recall>=0.7'."),
    "requirement": (["--require", "recall=0.7"], "requirement 'recall=0.7' is not of the form recall>=0.8."),
    "direction": (["--require", "fpr>=0.7"], "of fpr, smaller is better: use <="),
    "bound": (["--require", "recall>=1"], "requirement must be between 0 and 1, both excluded"),
    "evidence": (["--require", "recall>=0.7", "--evidence", "0.8"], "--evidence 0.8: give successes and trials"),
    "more than all": (["--require", "recall>=0.7", "--evidence", "6/5"], "evidence: 6 successes of 5 trials"),
    "confidence": (["--require", "recall>=0.7", "--confidence", "1"], "confidence must be above 0.5 and below 1"),
    "question": (["--require", "recall>=0.7", "--question", "win"], "question must be one of 'meet', 'settle'"),
    "prior": (["--require", "recall>=0.7", "--prior", "uniform"], "prior must be one of flat, jeffreys"),
    "improper": (["--require", "recall>=0.7", "--prior", "haldane"], "improper"),
    "prevalence": (["--require", "recall>=0.7", "--prevalence", "2"], "prevalence must be a number between 0 and 1"),
    "no share": (["--require", "mcc>=0.7", "--evidence", "4/5"], "two counts say enough of a single share"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_code_2_and_one_line(call, arguments, words):
    done = call(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("bayesperf: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
