"""The sources of the package, for tests of how it is built."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bayesperf"


def modules():
    """Return the path of every module of the package by its dotted name."""
    paths = {}
    for folder, _, files in PACKAGE.walk(follow_symlinks=True):
        parts = folder.relative_to(ROOT).parts
        for file in files:
            if file.endswith(".py"):
                stem = () if file == "__init__.py" else (file.removesuffix(".py"),)
                paths[".".join((*parts, *stem))] = folder / file
    return paths
