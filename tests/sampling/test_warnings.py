"""What `fit` hands to the sampler, and what it warns of."""

import functools
import subprocess
import sys
import warnings

import numpy as np
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from scipy import special

import bayesperf as bp
from bayesperf.sampling import nuts
from tests.shared.fits import BINARY, built, fitted, without_nuts


def test_settings_of_the_sampler(sampler, alone):
    fitted("rates", draws=40, chains=4, tune=150)
    expected = {"draws": 40, "chains": 4, "tune": 150, "target_accept": 0.95, "progressbar": False}
    assert expected.items() <= sampler[-1].items()
    fitted("rates", target_accept=0.99, cores=1)
    assert {"target_accept": 0.99, "cores": 1}.items() <= sampler[-1].items()
    seed = sampler[-1]["seed"]
    fitted("rates", random_seed=2)
    assert sampler[-1]["seed"] != seed
    fitted("rates", random_seed=1)
    assert sampler[-1]["seed"] == seed


ADVICE = "Raise tune and target_accept (0.99), or take a more informative prior."


def draws_of_rates(n=1000):
    rng = np.random.default_rng(4)
    return {
        "prevalence": rng.beta(52, 52, (4, n)),
        "recall": rng.beta(41, 11, (4, n)),
        "specificity": rng.beta(46, 6, (4, n)),
    }


def slowly(rng, shape, lag):
    """Return a standard normal sequence a chain, correlated over so many draws."""
    phi, x = np.exp(-1 / lag), np.empty(shape)
    x[:, 0] = rng.standard_normal(shape[0])
    for t in range(1, shape[1]):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * rng.standard_normal(shape[0])
    return x


def groups_of(draws, diverging=0):
    """Return what a sampler does, of these draws of the rates."""
    shape = draws["recall"].shape
    flags = (np.arange(np.prod(shape)) < diverging).reshape(shape)
    posterior = xr.Dataset({name: (("chain", "draw"), value) for name, value in draws.items()})
    return {"posterior": posterior, "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), flags)})}


def warned(call):
    """Return the convergence warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [warning for warning in caught if warning.category is bp.errors.ConvergenceWarning]


@functools.cache
def three_rates():
    return built("rates", BINARY)


def messages(draws, diverging=0):
    """Return what is said of these draws."""
    return [
        str(warning.message)
        for warning in warned(lambda: nuts.warn_of_convergence(groups_of(draws, diverging), three_rates()))
    ]


def test_a_fit_warns_where_it_was_called(monkeypatch, alone):
    draws = draws_of_rates(200)
    groups = groups_of(draws, diverging=3)
    p, r, s = (draws[name] for name in ("prevalence", "recall", "specificity"))
    cells = np.stack([(1 - p) * s, (1 - p) * (1 - s), p * (1 - r), p * r], -1).reshape(*p.shape, 2, 2)
    groups["posterior"]["cells"] = ("chain", "draw", "actual", "predicted"), cells
    without_nuts(monkeypatch, lambda *_: groups)
    found = warned(lambda: bp.fit(BINARY, "rates", method="mcmc", random_seed=1))
    assert [str(warning.message) for warning in found] == [
        f"3 transitions diverged: the draws leave out part of the posterior. {ADVICE} (BP301)"
    ]
    assert found[0].filename == __file__


def test_good_draws_are_no_cause_for_a_warning():
    assert messages(draws_of_rates()) == []
    assert messages(draws_of_rates(), diverging=1)[0].startswith("1 transition diverged:")


@pytest.mark.parametrize("worst", ["recall", "specificity"])
def test_chains_that_disagree(worst):
    draws = draws_of_rates()
    draws["prevalence"][0] += 0.005
    draws[worst][2] -= 0.03
    value = array_stats.rhat(draws[worst], chain_axis=0, draw_axis=1)
    assert 1.01 < value < 1.06
    assert messages(draws)[0] == f"R̂ of {worst} is {value:.4f} (more than 1.01): the chains disagree. {ADVICE} (BP302)"


def test_a_single_chain_has_none_to_disagree_with():
    draws = {name: values.reshape(1, -1) for name, values in draws_of_rates().items()}
    assert not [text for text in messages(draws) if "disagree" in text]


def test_chains_that_are_stuck():
    draws = draws_of_rates()
    draws["recall"][:] = np.array([[0.5], [0.6], [0.7], [0.8]])
    assert messages(draws)[0].startswith("R̂ of recall is ")


@pytest.mark.parametrize("worst", ["recall", "prevalence"])
@pytest.mark.parametrize("kind", ["bulk", "tail"])
def test_few_effective_draws(worst, kind):
    rng = np.random.default_rng(6)
    draws = draws_of_rates(2000)
    if kind == "bulk":
        z = slowly(rng, (4, 2000), 20)
    else:  # tails come in runs, and the middle does not
        z = rng.standard_normal((4, 2000)) * np.exp(1.5 * slowly(rng, (4, 2000), 100))
    draws[worst] = special.expit(0.5 * z)
    labelled = xr.DataArray(draws[worst], dims=("chain", "draw"))
    n, other = (labelled.azstats.ess(method=name).item() for name in (kind, "bulk"))
    assert n < 400
    assert kind == "bulk" or other > 400
    assert messages(draws)[-1] == (
        f"The effective sample size ({kind}) of {worst} is {n:.0f} (less than 400): its figures are rough. Raise "
        "draws. (BP303)"
    )


def test_everything_wrong_at_once():
    draws = draws_of_rates()
    draws["recall"] = special.expit(slowly(np.random.default_rng(1), (4, 1000), 300))
    assert [message.split()[0] for message in messages(draws, diverging=1)] == ["1", "R̂", "The"]


FIRST_FIT = """
import numpy as np, xarray as xr, bayesperf as bp
scores = xr.DataArray(np.random.default_rng(0).normal(0.8, 0.02, (6, 2, 10)), dims=("dataset", "model", "fold"))
scores = scores.assign_coords(dataset=list("abcdef"), model=["one", "other"])
bp.fit(scores, "datasets", draws=20, tune=20, chains=1, random_seed=0)
"""


@pytest.mark.slow
def test_the_first_fit_of_a_process_prints_nothing():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FIRST_FIT], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
