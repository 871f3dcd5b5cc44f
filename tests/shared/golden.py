"""Reference figures that other packages and papers gave."""

import json
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "golden"


@cache
def golden(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def cases(name, *starts, without=None):
    """Parametrise a test over the cases of a document whose ids start so, and do not contain `without`."""
    chosen = [case for case in golden(name)["cases"] if case["id"].startswith(starts)]
    kept = [case for case in chosen if without is None or without not in case["id"]]
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in kept])
