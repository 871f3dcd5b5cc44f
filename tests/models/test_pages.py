"""The code of the pages on models of one's own runs."""

import re

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from scipy import stats

from tests.shared.fits import agrees, of_scipy
from tests.shared.sources import ROOT

PAGES = ROOT / "docs" / "how_to"


def run(page, names=None):
    """Run the blocks of a page one after the other; return what they name."""
    names = {} if names is None else names
    blocks = re.findall(r"```\{code-cell\}\n(.*?)```", (PAGES / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, names)
    return names


@pytest.mark.slow
def test_a_model_is_extended_without_a_sampler(monkeypatch):
    def sample(draws, random_seed, **_):
        return xr.DataTree.from_dict({"posterior": pm.sample_prior_predictive(draws, random_seed=random_seed)["prior"]})

    monkeypatch.setattr(pm, "sample", sample)
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        names = run("extend_a_model")
    assert "specificity --> true_negatives" in pm.model_to_mermaid(names["model"])
    assert {rv.name for rv in names["known"].free_RVs} == {"prevalence", "recall"}
    assert "recall ~ Beta(9, 1)" in names["fitted"].posterior.attrs["prior"]
    same = names["post"].at_prevalence(0.01)["precision"]
    np.testing.assert_allclose(names["precision"].median(), same.ppf(0.5), atol=1e-6)


@pytest.mark.slow
def test_a_model_is_extended_and_sampled():
    """The audit adds to the prior's weights: 189 of 212 and 37 of 40."""
    names = run("extend_a_model")
    agrees(names["tree"]["posterior"]["recall"], of_scipy(stats.beta(226.5, 26.5)))
    assert names["post"].pos_label == "malignant"


@pytest.mark.slow
def test_a_prior_of_ones_own():
    names = run("own_model")
    agrees(names["tree"]["posterior"]["recall"], of_scipy(stats.beta(198, 24)))
