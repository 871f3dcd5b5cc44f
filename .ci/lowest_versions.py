"""Print pip's constraints to the lowest versions that pyproject.toml allows of what bayesperf depends on."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
requirements = [*project["dependencies"], *extras["frames"], *extras["engines"]]
for requirement in (text for text in requirements if not text.startswith("bayesperf")):
    name, lowest = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
    print(f"{name}=={lowest}")
