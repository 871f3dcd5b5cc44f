"""The chain of actual and predicted labels: its long-run cells, and simulation."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from bayesperf import metrics, sequences
from bayesperf.models._stationary import stationary
from bayesperf.sequences.chain import ChainParameters
from bayesperf.sequences.dependence_measures import variance_ratio
from bayesperf.sequences.simulation import chain_with_rates
from tests.shared.sequences import GOLDEN, dense, eigen_cells

STATED = GOLDEN["ref_markov_stationary_3"]


def random_chain(rng, wide):
    theta = rng.random((2, 2, 2)) if wide else np.repeat(rng.random((2, 1, 2)), 2, 1)
    return rng.random(2), theta


# ── The long-run cells ──


@pytest.mark.parametrize("wide", [False, True])
def test_stationary_cells_against_an_eigen_solve(wide):
    rng = np.random.default_rng(0)
    chains = [random_chain(rng, wide) for _ in range(500)]
    stay, theta = (np.moveaxis(np.array(part), 0, -1) for part in zip(*chains, strict=True))
    expected = [eigen_cells(dense(*chain)) for chain in chains]
    np.testing.assert_allclose(np.transpose(stationary(stay, theta)), expected, atol=1e-12)
    chain = ChainParameters(stay, theta if wide else theta[:, :1])
    np.testing.assert_array_equal(chain.stationary_cells().reshape(4, -1), stationary(stay, theta))
    np.testing.assert_allclose(np.moveaxis(chain.transition_matrix(), -1, 0), [dense(*c) for c in chains], rtol=1e-15)


def test_stationary_cells_in_fractions_keep_every_digit():
    small = Fraction(1, 10**12)
    stay = [1 - small, Fraction(2, 3)]
    theta = [[[small, Fraction(1, 2)], [2 * small, Fraction(1, 3)]], [[1 - small, 1 - 2 * small], [1 - small] * 2]]
    exact = stationary(stay, theta)
    assert sum(exact) == 1
    for state, (g, v) in enumerate(itertools.product((0, 1), repeat=2)):
        inflow = 0
        for before, (h, j) in enumerate(itertools.product((0, 1), repeat=2)):
            moves = stay[h] if g == h else 1 - stay[h]
            inflow += exact[before] * moves * (theta[g][h][j] if v else 1 - theta[g][h][j])
        assert inflow == exact[state]
    # 1 − 1e-12 is a float with a relative error of 1e-4 in its distance from 1; nothing more is lost.
    floats = np.array(stay, float), np.array(theta, float)
    np.testing.assert_allclose(stationary(*floats), np.array(exact, float), rtol=2e-4)
    of_floats = stationary(*(np.vectorize(Fraction, otypes=[object])(values) for values in floats))
    np.testing.assert_allclose(stationary(*floats), np.array(of_floats, float), rtol=1e-14)


def test_stationary_cells_are_the_closed_form():
    """MATH: the 2 × 2 system for the cells of a chain whose predictions do not see the previous actual label."""
    (a_0, a_1), theta = np.random.default_rng(2).random((2, 100)), np.random.default_rng(3).random((2, 2, 100))
    pi_1 = (1 - a_0) / (2 - a_0 - a_1)
    pi_0, d_0, d_1 = 1 - pi_1, theta[0, 1] - theta[0, 0], theta[1, 1] - theta[1, 0]
    determinant = (1 - d_1 * a_1) * (1 - d_0 * a_0) - d_1 * d_0 * (1 - a_0) * (1 - a_1)
    tp = (theta[1, 0] * pi_1 * (1 - d_0 * a_0) + d_1 * (1 - a_0) * theta[0, 0] * pi_0) / determinant
    fp = (theta[0, 0] * pi_0 * (1 - d_1 * a_1) + d_0 * (1 - a_1) * theta[1, 0] * pi_1) / determinant
    found = ChainParameters(np.stack([a_0, a_1]), theta[:, None]).stationary_cells().reshape(4, -1)
    np.testing.assert_allclose(found, [pi_0 - fp, fp, pi_1 - tp, tp], atol=1e-13)


def test_stationary_cells_of_tensors():
    import pytensor
    import pytensor.tensor as pt

    stay, theta = random_chain(np.random.default_rng(3), wide=True)
    cells = stationary(pt.as_tensor(stay), pt.as_tensor(theta))
    values = pytensor.function([], cells, mode="FAST_COMPILE")()
    np.testing.assert_allclose(values, stationary(stay, theta), rtol=1e-14)


def test_stationary_cells_and_design_effects_of_the_golden_chain():
    given, expected = STATED["inputs"], STATED["outputs"]
    chain = ChainParameters(np.array([given["p_stay_0"], given["p_stay_1"]]), np.array(given["theta_g_zprev"])[:, None])
    np.testing.assert_allclose(chain.stationary_cells().ravel(), expected["stationary_TN_FP_FN_TP"], rtol=1e-14)
    np.testing.assert_allclose(chain.transition_matrix(), expected["transition_4x4_states_g_z"], atol=1e-15)
    for name, facts in expected["metrics"].items():
        metric = metrics.get(name)
        assert metric.evaluate(chain.stationary_cells(), 1) == pytest.approx(facts["value"], rel=1e-13)
        effect = variance_ratio(chain, lambda cells, m=metric: m.evaluate(cells, 1))
        assert effect == pytest.approx(facts["design_effect"], rel=1e-12)


def test_simulate_is_of_the_golden_chain():
    given = STATED["inputs"]
    chain = chain_with_rates(0.9, 0.9, 0.2, 0.6, 0.9)
    np.testing.assert_allclose(chain.stay, [given["p_stay_0"], given["p_stay_1"]], rtol=1e-13)
    np.testing.assert_allclose(chain.theta[:, 0], given["theta_g_zprev"], rtol=1e-11)


# ── Simulation ──


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"persistence": 0.9, "prevalence": 0.2, "recall": 0.6, "specificity": 0.9},
        {"persistence": 0.95, "error_persistence": 0.5, "recall": 0.9, "specificity": 0.7},
        {"persistence": 0.4, "error_persistence": 0.45, "prevalence": 0.6},
    ],
)
def test_simulated_rates_and_persistence_are_those_asked_for(asked):
    asked = {"persistence": 0.8, "prevalence": 0.5, "recall": 0.75, "specificity": 0.75} | asked
    rates = {name: asked[name] for name in ("prevalence", "recall", "specificity")}
    errors = asked.get("error_persistence", asked["persistence"])
    chain = chain_with_rates(asked["persistence"], errors, **rates)
    cells = eigen_cells(dense(chain.stay, np.repeat(chain.theta, 2, 1))).reshape(2, 2)
    for name, value in rates.items():
        assert metrics.get(name).evaluate(cells, 1) == pytest.approx(value, rel=1e-12)
    assert chain.stay.sum() - 1 == pytest.approx(2 * asked["persistence"] - 1)
    np.testing.assert_allclose(chain.theta[..., 1] - chain.theta[..., 0], 2 * errors - 1)

    # Each sample of many sequences has the long-run cells, from the first on.
    count = 20_000
    frames = sequences.simulate(4, **asked, sequences=count, random_seed=3)
    assert frames["sequence"].tolist() == np.repeat(np.arange(count), 4).tolist()
    g, z = (frames[name].to_numpy().reshape(count, 4) for name in ("actual", "predicted"))
    for t in range(4):
        found = np.bincount(2 * g[:, t] + z[:, t], minlength=4) / count
        np.testing.assert_allclose(found, cells.ravel(), atol=5 * 0.5 / np.sqrt(count))
    autocorrelation = np.corrcoef(g[:, 1], g[:, 2])[0, 1]
    assert autocorrelation == pytest.approx(2 * asked["persistence"] - 1, abs=5 / np.sqrt(count))
