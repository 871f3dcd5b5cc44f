"""Logs of Inspect, lm-evaluation-harness, promptfoo and HELM, as rows that are right or wrong."""

import json

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
HELM = [
    {"instance_id": f"id{i}", "train_trial_index": 0, "stats": [
        {"name": {"name": "num_references"}, "mean": 4.0}, {"name": {"name": "exact_match"}, "mean": float(i > 1)},
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
    with pytest.raises(ValueError, match="field 'eval' holds lists or objects"):
        bp.files.look(path)
