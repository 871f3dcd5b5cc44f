"""Rows with several labels, in pairs of columns or joined in one: the figures are those of tables of 0 and 1."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp

NAMES = ["round", "red", "ripe"]
RNG = np.random.default_rng(0)
ACTUAL = (RNG.random((75, 3)) < 0.4).astype(int)
CALLED = np.where(RNG.random((75, 3)) < 0.1, 1 - ACTUAL, ACTUAL)
PAIRS = pd.DataFrame(np.hstack([ACTUAL, CALLED]), columns=[*NAMES, *(f"{name} called" for name in NAMES)])
IN_PAIRS = [word for name in NAMES for word in ("--actual", name, "--predicted", f"{name} called")]


def joined(table, by="|"):
    return [by.join(name for name, there in zip(NAMES, row, strict=True) if there) for row in table]


JOINED = pd.DataFrame({"tags": joined(ACTUAL), "tagged": joined(CALLED, " | "), "site": RNG.choice(["a", "b"], 75)})
IN_ONE = ["--actual", "tags", "--predicted", "tagged", "--labels", ",".join(NAMES)]
FILES = {"pairs": (PAIRS, IN_PAIRS), "joined": (JOINED, IN_ONE)}


@pytest.fixture
def call(shell, tmp_path):
    def run_here(frame, command, *options):
        frame.to_csv(tmp_path / "f.csv", index=False)
        return shell(command, "f.csv", *options, columns=200)

    return run_here


@pytest.mark.parametrize(("frame", "options"), FILES.values(), ids=FILES)
def test_every_label_has_the_librarys_figures(call, frame, options):
    done = call(frame, "summary", *options, "--metric", "f1", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    cm = bp.ConfusionMatrix.from_predictions(ACTUAL, CALLED, labels=NAMES)
    assert found["counts"] == {"dims": ["label", "actual", "predicted"], "values": cm.counts.values.tolist()}
    wanted = bp.posterior(cm).summary("f1")
    assert [row["label"] for row in found["summary"]] == NAMES
    for figure in ("observed", "mean", "ci_lower", "ci_upper"):
        assert [row[figure] for row in found["summary"]] == pytest.approx(wanted[figure].tolist(), abs=1e-9)
    assert found["read"].startswith("75 rows, each with predictions of 3 labels. Actual classes in total: 0 (143)")
    assert ("and an empty field has none." in found["read"]) == (frame is JOINED)


def test_systems_of_joined_labels_stand_apart(call):
    done = call(JOINED.assign(all="red"), "summary", *IN_ONE, "--predicted", "all", "--metric", "recall", "--json")
    rows = json.loads(done.stdout)["summary"]
    of_all = {row["label"]: row["observed"] for row in rows if row["model"] == "all"}
    assert of_all == {"round": 0, "red": 1, "ripe": 0}


OTHER = np.where(RNG.random((75, 3)) < 0.3, 1 - ACTUAL, ACTUAL)
LONG = pd.concat(
    [
        PAIRS.assign(fruit=range(75), system="new"),
        PAIRS.assign(fruit=range(75), system="old", **{f"{name} called": OTHER[:, i] for i, name in enumerate(NAMES)}),
    ]
)
SYSTEMS = {
    "joined": (JOINED.assign(other=joined(OTHER)), [*IN_ONE, "--predicted", "other"], ("tagged", "other")),
    "pairs": (LONG, [*IN_PAIRS, "--system", "system", "--id", "fruit"], ("new", "old")),
}


@pytest.mark.parametrize(("frame", "options", "names"), SYSTEMS.values(), ids=SYSTEMS)
def test_systems_are_compared_at_each_label_row_by_row(call, frame, options, names):
    found = json.loads(call(frame, "compare", *options, "--metric", "accuracy", "--json").stdout)
    assert [(row["label"], row["a"], row["b"]) for row in found["differences"]] == [(name, *names) for name in NAMES]
    for row, actual, first, second in zip(found["differences"], ACTUAL.T, CALLED.T, OTHER.T, strict=True):
        cm = bp.ConfusionMatrix.from_predictions(actual, {"a": first, "b": second})
        wanted = bp.compare(cm, metric="accuracy")
        assert row["mean"] == pytest.approx(wanted.difference.mean().item())
        assert row["prob_greater"] == pytest.approx(wanted.prob_greater.sel(model="a", model_other="b").item())
    assert found["paired"]
    assert found["read"].startswith("75 rows" if "tags" in frame else "150 rows")


@pytest.mark.few(1)
@pytest.mark.parametrize(("frame", "options", "names"), SYSTEMS.values(), ids=SYSTEMS)
def test_systems_are_compared_by_the_average_over_labels(call, frame, options, names):
    found = json.loads(call(frame, "compare", *options, "--metric", "recall", "--seed", "3", "--json").stdout)
    (row,) = found["averages"]["differences"]
    called = dict(zip(names, (CALLED, OTHER), strict=True))
    expected = bp.compare(bp.groups.average_labels(ACTUAL, called, "recall", random_seed=3)).difference
    assert (row["a"], row["b"]) == names
    assert row["mean"] == pytest.approx(expected.mean().item(), rel=1e-9)
    assert row["sd"] == pytest.approx(expected.sd().item(), rel=1e-9)
    assert found["averages"]["in_words"][0].startswith(f"On recall macro, {names[0]} is")


REFUSED = {
    "comparisons": (JOINED, ["compare", *IN_ONE], "rows have several labels, and one system. Name a column"),
    "slices": (JOINED, ["summary", *IN_ONE, "--slice", "site"], "--slice: it is asked of rows with one label"),
    "a lonely label": (PAIRS, ["summary", *IN_PAIRS[:-2]], "3 of --actual, each a label, and 2 of --predicted."),
    "an unknown label": (JOINED, ["summary", *IN_ONE[:-1], "red,ripe"], "--labels: 'round' occurs, too."),
    "a mean": (JOINED, ["summary", *IN_ONE, "--metric", "f1_macro"], "Ask for 'f1'; its average over labels is"),
    "no 0 and 1": (PAIRS.assign(red=2), ["summary", *IN_PAIRS], "each is a label that a row has or not; they hold"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("frame", "arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_asked_of_several_labels_is_refused(call, frame, arguments, words):
    done = call(frame, *arguments)
    assert (done.stdout, done.returncode) == ("", 2)
    assert words in done.stderr


def test_a_class_may_be_called_with_the_sign(call):
    frame = pd.DataFrame({"tags": ["N|T", "T", "N|T", "T"] * 5, "tagged": ["N|T", "T", "T", "T"] * 5})
    columns = ["--actual", "tags", "--predicted", "tagged", "--metric", "accuracy", "--json"]
    found = json.loads(call(frame, "summary", *columns, "--labels", "N|T,T").stdout)
    assert (found["labels"], found["counts"]["values"]) == (["N|T", "T"], [[5, 5], [0, 10]])


def test_rows_of_a_file_that_joins_no_labels_count_beside_those_of_one_that_does(shell, tmp_path):
    alone = ~(JOINED["tags"] + JOINED["tagged"]).str.contains("|", regex=False)
    JOINED[alone].to_csv(tmp_path / "few.csv", index=False)
    JOINED[~alone].to_csv(tmp_path / "more.csv", index=False)
    files = "few.csv", "more.csv"
    done = shell("summary", *files, "--actual", "tags", "--predicted", "tagged", "--metric", "f1", "--json")
    found = {row["label"]: row["observed"] for row in json.loads(done.stdout)["summary"] if row["file"] == "few"}
    actual, called = ACTUAL[alone], CALLED[alone]
    expected = 2 * (actual & called).sum(0) / (actual.sum(0) + called.sum(0))
    assert found == pytest.approx(dict(zip(NAMES, expected, strict=True)))
