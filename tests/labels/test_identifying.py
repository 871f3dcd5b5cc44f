"""What a fit says of what the data do not settle: overlap with the prior, modes, classes that changed places."""

import importlib

import numpy as np
import pytest
import xarray as xr
from scipy import optimize, stats

import bayesperf as bp

# The function has the name of its module.
room = importlib.import_module("bayesperf.labels.identifying")
RNG = np.random.default_rng(0)


def tree_of(prior, posterior, attrs=None):
    """Return a tree of one variable, of draws (chain, draw)."""
    groups = {
        name: xr.Dataset({"x": (("chain", "draw"), draws)})
        for name, draws in (("prior", prior), ("posterior", posterior))
    }
    tree = xr.DataTree.from_dict(groups | {"log_prior": groups["posterior"]})
    tree["posterior"].attrs = attrs or {}
    return tree


@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
def test_overlap_of_two_normals(shift):
    """That of normals a shift apart is 2 Φ(−shift/2); bins and smoothing are good for a few hundredths."""
    tree = tree_of(RNG.normal(size=(1, 4000)), RNG.normal(shift, 1, (4, 4000)))
    found = bp.labels.identifiability(tree)
    assert found["overlap"].item() == pytest.approx(2 * stats.norm.cdf(-shift / 2), abs=0.03)
    assert found["modes"].item() == 1


def test_overlap_of_a_uniform_prior():
    """Inside the points where the density of Beta(90, 10) is 1 it is that of the uniform one, outside the other."""
    low, high = (
        optimize.brentq(lambda x: stats.beta.pdf(x, 90, 10) - 1, *ends) for ends in ((0.5, 0.9), (0.9, 0.9999))
    )
    expected = high - low + 1 - np.ptp(stats.beta.cdf([low, high], 90, 10))
    tree = tree_of(RNG.random((1, 4000)), RNG.beta(90, 10, (4, 1000)))
    assert bp.labels.identifiability(tree)["overlap"].item() == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize(("apart", "modes"), [(0.0, 1), (1.0, 1), (6.0, 2)])
def test_modes_of_mixtures(apart, modes):
    draws = RNG.normal(size=(4, 1000)) + apart * RNG.integers(0, 2, (4, 1000))
    assert bp.labels.identifiability(tree_of(draws[:1], draws))["modes"].item() == modes


def test_a_density_that_is_high_at_an_end_has_one_mode():
    draws = RNG.beta(0.9, 6, (4, 1000))
    assert bp.labels.identifiability(tree_of(draws[:1], draws))["modes"].item() == 1


def of_chains(*diagonals):
    """Return draws of rates, a chain for each share of right answers."""
    rates = np.array([[[d, 1 - d], [1 - d, d]] for d in diagonals])[:, None, None] * np.ones(
        (len(diagonals), 3, 2, 1, 1)
    )
    return xr.Dataset({"rates": (("chain", "draw", "rater", "actual", "rating"), rates)})


def test_chains_whose_classes_changed_places():
    assert not room.labels_switched(of_chains(0.9, 0.8, 0.6))
    assert room.labels_switched(of_chains(0.9, 0.2, 0.8))
    assert not room.labels_switched(xr.Dataset({"recall": (("chain", "draw"), np.ones((2, 3)))}))


def test_warnings_of_too_few_raters_modes_and_overlap():
    attrs = {"parameters": 5, "degrees_of_freedom": 3}
    draws = RNG.normal(size=(4, 1000)) + 6 * RNG.integers(0, 2, (4, 1000))
    tree = tree_of(draws[:1], draws, attrs)
    with pytest.warns(bp.errors.IdentifiabilityWarning) as caught:
        room.warn_of_what_is_not_settled(tree)
    said = [str(warning.message) for warning in caught]
    assert said[0].startswith("5 parameters and 3 degrees of freedom: the data cannot determine the parameters")
    assert said[1].startswith("The posterior has several modes in 'x'")
    assert "mostly the prior (overlap above 0.35)" in said[2]
    assert len(said) == 3
    assert "5 parameters and 3" in tree["posterior"].attrs["not_settled"]
    frame = bp.labels.identifiability(tree)
    assert frame.attrs == {**attrs, "labels_switched": False}


def test_parameters_that_the_prior_decides_most_are_named_first():
    scales = xr.DataArray([0.3, 0.9, 0.5, 0.7], {"site": list("abcd")}, ["site"])
    draws = xr.DataArray(np.random.default_rng(1).normal(size=(2, 1000)), dims=("chain", "draw"))
    prior, posterior = (draws * scales**power for power in (0, 1))
    tree = xr.DataTree.from_dict({
        "prior": xr.Dataset({"x": prior[:1]}),
        "posterior": xr.Dataset({"x": posterior}, attrs={"parameters": 4, "degrees_of_freedom": 4}),
        "log_prior": xr.Dataset({"x": posterior}),
    })  # fmt: skip
    with pytest.warns(bp.errors.IdentifiabilityWarning, match=r"of 'x\[b\]', 'x\[d\]', 'x\[c\]'"):
        room.warn_of_what_is_not_settled(tree)


def test_nothing_is_said_of_what_is_settled():
    attrs = {"parameters": 3, "degrees_of_freedom": 3}
    room.warn_of_what_is_not_settled(tree_of(RNG.random((1, 4000)), RNG.normal(0.5, 0.01, (4, 1000)), attrs))


def test_only_fits():
    with pytest.raises(TypeError, match="tree must be a fit, with groups prior and posterior"):
        bp.labels.identifiability(xr.Dataset())
