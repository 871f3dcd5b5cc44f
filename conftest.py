"""Doctests of a file that is run alone."""

import importlib
from pathlib import Path

ROOT = Path(__file__).parent


def pytest_collect_file(file_path):
    """Import a file of the package as Python does, so that pytest finds it imported.

    Pytest would import it and then name it in its room, in the place of the function that has the name of the file.
    """
    if file_path.suffix == ".py" and file_path.is_relative_to(ROOT / "bayesperf"):
        module = file_path.relative_to(ROOT).with_suffix("")
        importlib.import_module(".".join(module.parts).removesuffix(".__init__"))
