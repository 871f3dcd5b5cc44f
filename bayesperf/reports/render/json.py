"""Blocks as JSON: the records of tables, and the sentences, at their names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from bayesperf.reports.blocks import Block, Sentence, Table, flat


def in_json(facts: Mapping[str, Any], blocks: Iterable[Block]) -> str:
    """Return facts, and all that named blocks say, as JSON: infinite values as strings, undefined ones as null."""
    document: dict[str, Any] = dict(facts)
    for block in flat(list(blocks)):
        if isinstance(block, Table | Sentence) and block.name:
            *path, last = block.name
            inner = document
            for key in path:
                inner = inner.setdefault(key, {})
            held = inner.setdefault(last, [])
            held += [block.text] if isinstance(block, Sentence) else map(_record, block.records)
    return json.dumps(document, indent=2, allow_nan=False, default=str)


def _record(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): _value(value) for key, value in row.items()}


def _value(value: Any) -> Any:
    """Return infinite values as text, and NaN as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
