"""How many more votes or items show which system is best: against enumeration, and information by derivatives."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats

import bayesperf as bp
from bayesperf.plan import next_outcomes
from bayesperf.posteriors import tree_attributes as attributes


def tree_of(model, draws, **options):
    """Return a tree that looks like a fit of a model, with draws (variable, dims, values)."""
    posterior = xr.Dataset({name: (("chain", "draw", *dims), values[None]) for name, (dims, values) in draws.items()})
    return xr.DataTree.from_dict({"posterior": posterior.assign_attrs({attributes.MODEL: model, **options})})


def votes_on_two(mean, sd, number=4000):
    apart = np.random.default_rng(1).normal(mean, sd, number)
    strength = np.stack([apart / 2, -apart / 2], -1)
    return tree_of("preferences", {"strength": (("model",), strength), "spread": ((), np.ones(number))})


@pytest.mark.parametrize("number", [40, 200])
def test_votes_on_two_systems_by_enumeration(monkeypatch, number):
    monkeypatch.setattr(next_outcomes, "_TRUTHS", 4000)
    mean, sd = 0.25, 0.3
    (row,) = bp.plan.best_system(votes_on_two(mean, sd), [number]).itertuples()
    grid = np.linspace(mean - 6 * sd, mean + 6 * sd, 2001)
    before = stats.norm.pdf(grid, mean, sd)
    joint = stats.binom.pmf(np.arange(number + 1)[:, None], number, special.expit(grid)) * before
    joint /= joint.sum()
    first = joint[:, grid > 0].sum(1) / joint.sum(1)
    best = np.maximum(first, 1 - first)
    # Four standard errors of 4,000 simulations, and what the normal form of the posterior costs.
    assert row.prob_shown == pytest.approx(joint.sum(1)[best >= 0.95].sum(), abs=0.04)
    assert row.prob_right == pytest.approx(joint.sum(1) @ best, abs=0.03)
    left = joint / joint.sum(1, keepdims=True)
    deviation = np.sqrt(left @ grid**2 - (left @ grid) ** 2)
    assert row.half_width == pytest.approx(1.96 * joint.sum(1) @ deviation, rel=0.02)


def test_what_a_vote_tells():
    rng = np.random.default_rng(2)
    strength, tie = rng.normal(size=(1, 3)), 0.7
    drawn = {"strength": (("model",), strength), "spread": ((), np.ones(1)), "tie": ((), np.array([tie]))}
    _, information = next_outcomes._outcomes_of_votes(tree_of("preferences", drawn))

    def log_p(theta, a, b):
        terms = np.array([(theta[a] - theta[b]) / 2, (theta[b] - theta[a]) / 2, np.log(tie)])
        return terms - special.logsumexp(terms)

    expected, step = np.zeros((3, 3)), 1e-5
    for a, b in ((0, 1), (0, 2), (1, 2)):
        slopes = np.array([
            (log_p(strength[0] + step * e, a, b) - log_p(strength[0] - step * e, a, b)) / (2 * step) for e in np.eye(3)
        ])  # fmt: skip
        expected += np.exp(log_p(strength[0], a, b)) * slopes @ slopes.T / 3
    np.testing.assert_allclose(information(0), expected, atol=1e-8)


@pytest.mark.parametrize("discrimination", [False, True])
def test_what_an_item_tells(discrimination):
    """Of abilities, a difficulty and a slope together, the block of the inverse of the whole information."""
    rng = np.random.default_rng(2)
    ability, difficulty, slope = rng.normal(size=(1, 3)), rng.normal(size=(1, 5)), np.exp(rng.normal(size=(1, 5)) / 2)
    drawn = {"ability": (("model",), ability), "difficulty": (("item",), difficulty)}
    drawn |= {"discrimination": (("item",), slope)} if discrimination else {}
    _, information = next_outcomes._outcomes_of_items(tree_of("items", drawn))
    log_slope = np.log(slope) if discrimination else np.zeros((1, 5))
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    others, of_others = np.polynomial.hermite_e.hermegauss(7)
    expected = np.zeros((3, 3))
    for (z, weight), (x, other) in itertools.product(
        zip(nodes, weights, strict=True), zip(others, of_others, strict=True)
    ):
        a = np.exp(log_slope.std() * x)
        p = special.expit(a * ability[0] - difficulty.mean() - difficulty.std() * z)
        # Each system's logit by the three abilities, the difficulty and, if items differ in it, the log slope.
        by = np.column_stack([a * np.eye(3), -np.ones(3), *([a * ability[0]] if discrimination else [])])
        known = 1 / np.array([np.inf, np.inf, np.inf, difficulty.var(), *([log_slope.var()] if discrimination else [])])
        whole = (by.T * p * (1 - p)) @ by + np.diag(known)
        expected += weight * other / (2 * np.pi) * np.linalg.inv(np.linalg.inv(whole)[:3, :3])
    np.testing.assert_allclose(information(0), expected, rtol=1e-9)


def test_more_tells_more_and_nothing_tells_what_is_known():
    tree = votes_on_two(0.25, 0.3)
    table = bp.plan.best_system(tree, [0, 50, 500, 5000])
    assert table["prob_shown"].tolist()[0] == 0
    assert (np.diff(table["prob_shown"]) > 0).all()
    assert (np.diff(table["half_width"]) < 0).all()
    assert table["half_width"][0] == pytest.approx(1.96 * 0.3, rel=0.05)
    with pytest.raises(TypeError, match="must be a fit of the model 'preferences' or 'items'"):
        bp.plan.best_system(xr.DataTree(), [10])
