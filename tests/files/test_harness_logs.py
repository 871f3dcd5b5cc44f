"""Logs of Inspect, lm-evaluation-harness, promptfoo and HELM, as rows that are right or wrong."""

import json
import zipfile

import pytest

import bayesperf as bp

INSPECT = {
    "version": 2, "eval": {"model": "m1"}, "samples": [
        {"id": q, "epoch": epoch, "scores": {"match": {"value": "C" if (q + epoch) % 3 else "I"}}}
        for q in (1, 2, 3) for epoch in (1, 2)
    ],
}  # fmt: skip
PROMPTFOO = {
    "evalId": "eval-1", "results": {"version": 3, "results": [
        {"provider": {"id": name, "label": ""}, "testIdx": test, "promptIdx": 0, "success": test < passes}
        for name, passes in (("a", 2), ("b", 1)) for test in range(3)
    ]},
}  # fmt: skip
# The stricter of two metrics is taken, in whichever order they stand.
HELM = [
    {"instance_id": f"id{i}", "train_trial_index": 0, "stats": [
        {"name": {"name": "num_references"}, "mean": 4.0}, {"name": {"name": "quasi_exact_match"}, "mean": 1.0},
        {"name": {"name": "exact_match"}, "mean": float(i > 1)},
    ]} for i in range(3)
]  # fmt: skip
LM_EVAL = [
    {"doc_id": i, "doc": {"question": "?"}, "filter": name, "metrics": ["exact_match"], "exact_match": float(i % 2)}
    for i in range(4) for name in ("none", "strict")
]  # fmt: skip


@pytest.mark.parametrize(
    ("log", "named", "rows", "right", "command"),
    [
        (INSPECT, "A log of Inspect: its columns here are model, question, attempt, scorer and passed.", 6, 4,
         "--correct passed --cluster question"),
        (PROMPTFOO, "A log of promptfoo", 6, 3, "--correct passed --system model"),
        (HELM, "A log of HELM", 3, 1, "--correct passed"),
        (LM_EVAL, "Rows of the filter 'none' are kept, and left out those of strict.", 4, 2, "--correct passed"),
    ],
    ids=["inspect", "promptfoo", "helm", "lm_eval"],
)  # fmt: skip
def test_a_log_is_read_as_rows(tmp_path, log, named, rows, right, command):
    path = tmp_path / "log.json"
    lines = log is LM_EVAL
    path.write_text("\n".join(map(json.dumps, log)) if lines else json.dumps(log, indent=1), encoding="utf-8")
    found = bp.files.look(path)
    assert named in found.attrs["notes"][0]
    assert found.attrs["rows"] == rows
    assert found.set_index("column")["role"]["passed"] == "correct"
    assert command in found.attrs["commands"]["How good is it?"]
    holds = found.set_index("column")["holds"]["passed"]
    assert f"1 ({right})" in holds or f"1.0 ({right})" in holds


def test_a_packed_log_of_inspect_is_that_log(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", json.dumps({"status": "success", "eval": INSPECT["eval"]}))
        for sample in INSPECT["samples"]:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            packed.writestr(name, json.dumps(sample | {"messages": [{"content": "?"}]}))
    (tmp_path / "log.json").write_text(json.dumps(INSPECT), encoding="utf-8")
    found, expected = (bp.files.look(tmp_path / f"log.{kind}") for kind in ("eval", "json"))
    assert found.equals(expected)
    assert found.attrs["notes"] == expected.attrs["notes"]
    with zipfile.ZipFile(tmp_path / "other.eval", "w") as packed:
        packed.writestr("sheet.xml", "")
    with pytest.raises(ValueError, match=r"cannot be read as a log of Inspect\. Write it as JSON: inspect log dump"):
        bp.files.look(tmp_path / "other.eval")


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"results": {"task": {}}, "configs": {}, "n-shot": {}}, "lm-evaluation-harness.*Take samples_"),
        (
            [{"name": {"name": "exact_match"}, "count": 3, "sum": 1, "sum_squared": 1}],
            "HELM.*Take per_instance_stats.json",
        ),
        ({"name": "mmlu", "adapter_spec": {}}, "HELM.*Take per_instance_stats.json"),
    ],
)
def test_files_beside_a_log_say_which_to_take(tmp_path, beside, words):
    (tmp_path / "beside.json").write_text(json.dumps(beside), encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        bp.files.look(tmp_path / "beside.json")


def test_the_shell_answers_from_a_log(shell, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(PROMPTFOO), encoding="utf-8")
    done = shell("summary", path, "--correct", "passed", "--system", "model", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["observed"] for row in json.loads(done.stdout)["summary"]] == pytest.approx([2 / 3, 1 / 3], abs=1e-4)
    assert "A log of promptfoo" in json.loads(done.stdout)["read"]


def test_other_json_is_read_as_before(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"actual": 1, "predicted": 0}\n{"actual": 0, "predicted": 0}', encoding="utf-8")
    assert bp.files.look(path).attrs["notes"] == []
    path.write_text('{"eval": {}, "samples": [{"id": 1}]}', encoding="utf-8")
    assert bp.files.look(path).attrs["commands"] == {}


def model_run(model, right):
    samples = [
        {"id": q, "epoch": epoch, "model_usage": {model: {}},
         "scores": {"match": {"value": "C" if q < right else "I", "answer": "7" if q < right else str(epoch)}}}
        for q in range(24) for epoch in (1, 2)
    ]  # fmt: skip
    return {"version": 2, "eval": {"model": model}, "samples": samples}


RUNS = model_run("new", 16), model_run("old", 12)


@pytest.mark.parametrize("kind", ["logs", "samples", "files"])
def test_logs_of_several_models_are_compared(shell, tmp_path, kind):
    """A log a line, a sample a line, or a file for each model."""
    documents = {"logs": RUNS, "samples": [each for run in RUNS for each in run["samples"]]}.get(kind)
    paths = [tmp_path / "runs.jsonl"] if documents else [tmp_path / f"{run['eval']['model']}.json" for run in RUNS]
    for path, of_file in zip(paths, [documents] if documents else [[run] for run in RUNS], strict=True):
        path.write_text("\n".join(map(json.dumps, of_file)), encoding="utf-8")
    asked = ["--correct", "passed", "--system", "model", "--cluster", "question"]
    done = shell("compare", *paths, *asked, "--answer", "answer", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert "96 attempts: 2 models" in said["read"]
    (row,) = said["differences"]
    assert (row["a"], row["b"]) == ("new", "old")
    assert row["mean"] == pytest.approx(4 / 24, abs=0.02)
    assert any(text.startswith("On maj@2, new is ") for text in said["attempts_in_words"])
