"""A model file that is dropped into the folder is listed, documented and fitted, and nothing else is edited."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TOY = '''"""Accuracy alone: right answers are binomial.

    R ~ Binomial(N, accuracy)
    accuracy ~ Beta(1, 1)
"""

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import conjugate_parameters, coords, prior_variables

DATA = "counts"
OPTIONS = {"dim": "dim of groups", "style": ("plain", "fancy"), "weight": "positive number"}
DIMS = ("flavour",)
ESTIMAND = "Posterior of the accuracy over {dim}s"
REFUSAL = "this toy predicts nothing."
TARGET_ACCEPT = 0.7
PRIORS = {"right": pm.Beta.dist(1, 1)}


def build(data, priors=None, *, dim="fold", style="plain", weight=None):
    variable = prior_variables(PRIORS, priors)
    with pm.Model(coords=coords(data)) as model:
        right = variable("right", [])
        n = pm.Data("n", data.values.sum())
        pm.Binomial("hits", n, right, observed=pm.Data("hits_data", hits(data)))
        pm.Deterministic("cells", (right * np.eye(2) + (1 - right) * (1 - np.eye(2))) / 2, dims=["actual", "predicted"])
    return model


def hits(data):
    return data.values[..., 0, 0].sum() + data.values[..., 1, 1].sum()


def exact(data, priors, rngs, size, **options):
    a, b = conjugate_parameters("right", (PRIORS | dict(priors or {}))["right"], "beta")
    right = rngs[0].beta(a + hits(data), b + data.values.sum() - hits(data), size)
    cells = (right[..., None, None] * np.eye(2) + (1 - right[..., None, None]) * (1 - np.eye(2))) / 2
    return {
        "right": xr.DataArray(right, dims=("chain", "draw")),
        "cells": xr.DataArray(cells, dims=("chain", "draw", "actual", "predicted")),
    }
'''

PREAMBLE = """
import numpy as np
import bayesperf as bp

cm = bp.ConfusionMatrix.from_table([[[40, 10], [5, 45]], [[30, 3], [6, 20]]], dims=["site"])
"""

WITHOUT_SAMPLING = """
assert "toy" in bp.models.names() and "toy" in dir(bp.models)
row = bp.models.table().set_index("name").loc["toy"]
assert row["description"] == "Accuracy alone: right answers are binomial."
assert (row["data"], row["options"], row["exact"]) == ("counts", "dim, style, weight", True)

tree = bp.fit(cm, "toy", method="exact", options={"style": "fancy"}, draws=2000, random_seed=1)
posterior = tree["posterior"]
assert abs(posterior["accuracy"].mean() - 136 / 161) < 0.005
assert posterior.attrs["estimand"] == "Posterior of the accuracy over sites"
assert posterior.attrs["model"] == "toy"

post = bp.Posterior.from_datatree(tree)
for wrong, words in [
    (lambda: post.predict(20), "this toy predicts nothing."),
    (lambda: bp.fit(cm, "toy", options={"style": "grand"}), "options['style'] must be one of 'plain', 'fancy'"),
    (lambda: bp.fit(cm, "toy", options={"weight": -1}), "options['weight'] must be greater than 0; it is -1."),
    (lambda: bp.fit(cm, "toy", options={"dim": "day"}), "there is no dim 'day' of groups"),
    (lambda: bp.fit(cm, "toi"), "Did you mean 'toy'?"),
    (lambda: bp.fit(bp.ConfusionMatrix(cm.counts.rename(site="flavour")), "toy"), "'flavour' is a dim that the models"),
]:
    try:
        wrong()
    except ValueError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
"""

SAMPLED = """
from bayesperf.sampling import backend, nuts

accepted = []
target_accept = nuts.target_accept
nuts.target_accept = lambda module: accepted.append(target_accept(module)) or accepted[-1]
swapped = bp.ConfusionMatrix(cm.counts.copy(data=cm.counts.values[..., ::-1]))
for data, expected in ((cm, 136 / 161), (swapped, 25 / 161)):
    tree = bp.fit(data, "toy", method="mcmc", draws=500, tune=300, random_seed=1, progressbar=False)
    assert abs(tree["posterior"]["accuracy"].mean() - expected) < 0.01
assert accepted == [0.7, 0.7]
assert len(backend._kept) == 1
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the library with one more model file."""
    folder = tmp_path_factory.mktemp("copy")
    for part in ("bayesperf", "models"):
        unused = shutil.ignore_patterns("__pycache__", "*.csv")
        shutil.copytree(ROOT / part, folder / part, symlinks=True, ignore=unused)
    (folder / "models" / "toy.py").write_text(TOY, encoding="utf-8")
    return folder


def run(folder, program):
    where = f"import bayesperf; assert bayesperf.__file__.startswith({str(folder)!r}), bayesperf.__file__\n"
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", where + PREAMBLE + program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_it_is_listed_documented_and_fitted(copy):
    run(copy, WITHOUT_SAMPLING)


@pytest.mark.slow
def test_it_is_sampled(copy):
    run(copy, SAMPLED)
