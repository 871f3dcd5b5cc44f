"""Logs of harnesses that evaluate language models, as rows: Inspect, lm-evaluation-harness, promptfoo, HELM.

They are JSON of which the rows are nested. Where its shape is plain, rows are written as JSON lines, with a column for
the system, the question, the attempt and whether it passed.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from bayesperf.core.errors import FileFaultError
from bayesperf.core.words import enumerated

Row = dict[str, Any]
# What Inspect writes for correct and incorrect; other values are as they are.
_INSPECT = {"C": 1, "I": 0}
_OF_SAMPLES = ("id", "epoch", "scores")
# Metrics of right and wrong, in the order in which one is taken.
_RIGHT = ("exact_match", "acc", "accuracy", "quasi_exact_match", "pass@1", "correct", "em")


class Log(NamedTuple):
    """A kind of log: what it is called, the keys by which it is known, and its rows."""

    name: str
    keys: frozenset[str]
    rows: Callable[[Any], Iterator[Row]]


def _of_inspect(logs: Any) -> Iterator[Row]:
    """Yield the rows of one log, or of several, a line each."""
    for log in logs if isinstance(logs, list) else [logs]:
        for sample in log["samples"]:
            yield _of_sample(sample, log["eval"]["model"])


def _of_samples(samples: Any) -> Iterator[Row]:
    """Yield the rows of samples without the head of their log: a sample says by which model it was answered."""
    for sample in samples:
        (model,) = sample["model_usage"]
        yield _of_sample(sample, model)


def _of_sample(sample: Any, model: str) -> Row:
    scorer, score = next(iter(sample["scores"].items()))
    passed = _INSPECT.get(score["value"], score["value"]) if isinstance(score["value"], str) else score["value"]
    answer = {"answer": score["answer"]} if score.get("answer") is not None else {}
    return {
        "model": model, "question": sample["id"], "attempt": sample["epoch"], "scorer": scorer, "passed": passed,
    } | answer  # fmt: skip


def _of_promptfoo(log: Any) -> Iterator[Row]:
    for each in log["results"]["results"]:
        provider = each["provider"]
        name = provider.get("label") or provider["id"] if isinstance(provider, dict) else provider
        question = f"{each['testIdx']}, prompt {each['promptIdx']}"
        yield {"model": name, "question": question, "passed": int(each["success"])}


def _of_helm(log: Any) -> Iterator[Row]:
    for each in log:
        means = {stat["name"]["name"]: stat["mean"] for stat in each["stats"] if "mean" in stat}
        metric = next(name for name in _RIGHT if name in means)
        yield {
            "question": each["instance_id"], "attempt": each["train_trial_index"], "metric": metric,
            "passed": means[metric],
        }  # fmt: skip


def _of_lm_eval(log: Any) -> Iterator[Row]:
    for each in (each for each in log if each["filter"] == log[0]["filter"]):
        metric = next((name for name in _RIGHT if name in each["metrics"]), each["metrics"][0])
        yield {"question": each["doc_id"], "filter": each["filter"], "metric": metric, "passed": each[metric]}


# Of a document the keys of its object, or of the first of its objects.
LOGS = (
    Log("Inspect", frozenset({"eval", "samples"}), _of_inspect),
    Log("Inspect", frozenset({"id", "epoch", "scores", "model_usage"}), _of_samples),
    Log("promptfoo", frozenset({"evalId", "results"}), _of_promptfoo),
    Log("HELM", frozenset({"instance_id", "train_trial_index", "stats"}), _of_helm),
    Log("lm-evaluation-harness", frozenset({"doc_id", "filter", "metrics"}), _of_lm_eval),
)

# Files beside a log that have no row for each answer, by their keys, and what to read instead.
_BESIDE = {
    frozenset({"results", "configs", "n-shot"}): (
        "lm-evaluation-harness, without its answers. Take samples_*.jsonl, which it writes with --log_samples."
    ),
    frozenset({"name", "count", "sum", "sum_squared"}): "HELM, without its answers. Take per_instance_stats.json.",
    frozenset({"adapter_spec"}): "HELM, without its scores. Take per_instance_stats.json.",
}


def as_rows(file: BinaryIO, copy: Path) -> str:
    """Write the rows of a log to a file, and return a sentence on the columns taken; empty if it is no known log."""
    log = _document(file)
    if log is None:
        return ""
    first = log[0] if isinstance(log, list) else log
    kind = next((each for each in LOGS if isinstance(first, dict) and each.keys <= first.keys()), None)
    if kind is None:
        beside = next(
            (words for keys, words in _BESIDE.items() if isinstance(first, dict) and keys <= first.keys()), ""
        )
        if beside:
            raise FileFaultError(f"it is a file of {beside}")
        return ""
    try:
        rows = list(kind.rows(log))
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration, IndexError, RuntimeError):
        # Its shape is not plain: the fault is that of a file of rows.
        return ""
    if not rows:
        return ""
    copy.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return f"A log of {kind.name}: its columns here are {enumerated(columns)}.{_left_out(log, kind)}"


def unpacked(path: Path, copy: Path) -> Path:
    """Write the scores of a packed log of Inspect, which it calls .eval, as JSON; return the copy."""
    try:
        with zipfile.ZipFile(path) as packed:
            model = json.loads(packed.read("header.json"))["eval"]["model"]
            names = sorted(name for name in packed.namelist() if name.startswith("samples/"))
            whole = (json.loads(packed.read(name)) for name in names)
            samples = [{key: sample[key] for key in _OF_SAMPLES} for sample in whole]
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, NotImplementedError):
        raise FileFaultError("cannot be read as a log of Inspect. Write it as JSON: inspect log dump FILE.") from None
    copy.write_text(json.dumps({"eval": {"model": model}, "samples": samples}), encoding="utf-8")
    return copy


def _left_out(log: Any, kind: Log) -> str:
    """Return which rows of lm-evaluation-harness are left out: it has a row for each filter of an answer."""
    filters = dict.fromkeys(each["filter"] for each in log) if "filter" in kind.keys else {}
    kept, *others = filters or [""]
    return f" Rows of the filter {kept!r} are kept, and left out those of {enumerated(others)}." if others else ""


def _document(file: BinaryIO) -> Any:
    """Return a JSON document, or the objects of JSON lines that are a log's; None if it is neither."""
    line = file.readline()
    file.seek(0)
    try:
        first = json.loads(line)
        known = [*(each.keys for each in LOGS), *_BESIDE]
        if isinstance(first, dict) and not any(keys <= first.keys() for keys in known):
            return None
    except ValueError:
        first = None
    try:
        if isinstance(first, dict):
            lines = [json.loads(text) for text in file if text.strip()]
            return lines if len(lines) > 1 or not first.keys() & {"eval", "evalId"} else first
        return json.load(file) or None
    except ValueError:
        return None
