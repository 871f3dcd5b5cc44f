"""Reference figures that other packages and papers gave."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden"


def golden(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
