"""The examples of a file by itself."""

import subprocess
import sys

import pytest

from tests.shared.sources import ROOT


@pytest.mark.slow
def test_examples_of_a_file_whose_function_has_its_name():
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "bayesperf/studies/covering_rates.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
