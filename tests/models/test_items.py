"""Items: printed figures by marginal maximum likelihood, pass rates by integration, and a new system by quadrature."""

import itertools

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from scipy import integrate, optimize, special, stats

import bayesperf as bp
from bayesperf.core.errors import InputError
from bayesperf.models import items

# ── Printed figures ──

# Section 6 of the LSAT: how many of 1,000 persons gave each pattern of right answers (Bock & Lieberman 1970), in the
# order 00000, 00001, …, 11111.
LSAT = [
    3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15, 10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298,
]  # fmt: skip
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


@pytest.fixture(scope="module")
def given_abilities():
    """Return the log-likelihood of each pattern at each node, of the model that `build` returns, by difficulties.

    Each pattern is a system of its own at each node of the abilities.
    """
    patterns = np.array(list(itertools.product((0, 1), repeat=5)))
    systems = np.repeat(patterns, len(NODES), axis=0)
    outcomes = bp.Outcomes.from_counts(right=systems, n=1, dims=["person", "item"])
    ability, difficulty = (pytensor.shared(np.zeros(size)) for size in systems.shape)
    model = pm.do(bp.models.build(outcomes, "items"), {"ability": ability, "difficulty": difficulty})
    function = pytensor.function([], model.logp(vars=model.observed_RVs, sum=False), mode="FAST_COMPILE")

    def at(values, slope):
        ability.set_value(slope * np.tile(NODES, len(patterns)))
        difficulty.set_value(np.asarray(values, float))
        return function()[0].sum(-1).reshape(len(patterns), len(NODES))

    return at


@pytest.mark.parametrize(
    ("slope", "difficulties", "likelihood"),
    [
        (1.0, [-2.8720, -1.0630, -0.2576, -1.3881, -2.2188], -2473.054),
        (0.7551, [-3.6153, -1.3224, -0.3176, -1.7301, -2.7802], -2466.938),
    ],
)
def test_lsat_by_marginal_maximum_likelihood(given_abilities, slope, difficulties, likelihood):
    """Rizopoulos (2006), Journal of Statistical Software 17: Rasch's model with slope 1, and with one slope for all."""
    free = slope != 1.0

    def minus_log_likelihood(x):
        # In the paper an ability is N(0, 1), and the logit a (θ − b).
        a = x[5] if free else 1.0
        persons = special.logsumexp(given_abilities(a * x[:5], a), b=WEIGHTS / WEIGHTS.sum(), axis=1)
        return -persons @ LSAT

    start = np.append(np.full(5, -1.0), [0.8] * free)
    found = optimize.minimize(minus_log_likelihood, start, options={"gtol": 1e-4})
    assert -found.fun == pytest.approx(likelihood, abs=5e-4)
    np.testing.assert_allclose(found.x[:5], difficulties, atol=1e-4)
    if free:
        assert found.x[5] == pytest.approx(slope, abs=1e-4)


# ── What a fit adds ──

SEEN = xr.DataArray(
    [[[0, 2], [1, 1], [0, 0]], [[2, 0], [0, 1], [1, 0]]],
    {"model": ["x", "y"], "item": ["u", "v", "w"], "outcome": [0, 1]}, ("model", "item", "outcome"),
)  # fmt: skip
OUTCOMES = bp.Outcomes(SEEN)


def one_draw():
    # The last item, which one system has seen, is a set of its own, the first.
    values = {"ability": ("model", [0.4, -0.4]), "difficulty": ("item", [-1.0, 0.3, 1.2])}
    values |= {"set_difficulty": ("set", [0.8, -0.1])}
    of_dims = {name: (("chain", "draw", dim), np.array(value)[None, None]) for name, (dim, value) in values.items()}
    single = {name: (("chain", "draw"), np.array([[v]])) for name, v in (("location", 0.2), ("difficulty_spread", 0.9))}
    return xr.Dataset(of_dims | single, {"model": ["x", "y"], "item": ["u", "v", "w"]})


def test_pass_rates_over_the_pool_and_for_a_new_item():
    found = items.recover(one_draw(), SEEN, None)
    rate = found["pass_rate"].sel(model="x").item()
    assert rate == pytest.approx(np.mean([1 / (1 + np.exp(b - 0.4)) for b in (-1.0, 0.3, 1.2)]))

    def of_set(mean):
        density = stats.norm(mean, 0.9 * np.sqrt(4 / 3)).pdf
        return integrate.quad(lambda b: density(b) / (1 + np.exp(b - 0.4)), -12, 12)[0]

    expected = of_set(0.8) / 3 + of_set(-0.1) * 2 / 3
    assert found["pass_rate_new"].sel(model="x").item() == pytest.approx(expected, abs=1e-5)


def test_the_unit_of_cross_validation_is_an_attempt():
    found = np.sort(items.log_likelihood(one_draw(), SEEN).values.ravel())
    p = special.expit(np.array([[0.4], [-0.4]]) - [-1.0, 0.3, 1.2])
    attempts = [np.log(value) for (i, j, k), n in np.ndenumerate(SEEN.values) for value in [(1 - p, p)[k][i, j]] * n]
    np.testing.assert_allclose(found, np.sort(attempts))


def test_deviations_that_sum_to_zero_keep_lengths():
    from bayesperf.models.building import zero_sum

    value = pytensor.tensor.vector()
    columns = np.array([zero_sum(value, 6).eval({value: row}, mode="FAST_COMPILE") for row in np.eye(5)])
    np.testing.assert_allclose(columns.sum(1), 0, atol=1e-12)
    np.testing.assert_allclose(columns @ columns.T, np.eye(5), atol=1e-12)


def test_items_that_all_or_none_pass_are_counted_without_the_model():
    assert items.facts(SEEN) == {"passed_by_all": 0, "passed_by_none": 1}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([[1, 0], [0, 1]], "must be Outcomes of right and wrong over systems and items"),
        (OUTCOMES.sum("model"), "must be Outcomes of right and wrong over systems and items"),
        (OUTCOMES.isel(model=[0]), "two systems and two items are the least"),
        (
            bp.Outcomes.from_counts(right=[[1, 0], [0, 0]], n=[[1, 0], [1, 0]], dims=["model", "item"]),
            "1 of item have no attempt. Drop them",
        ),
    ],
)
def test_data_that_are_refused(data, words):
    with pytest.raises((InputError, TypeError), match=words):
        bp.models.build(data, "items")


# ── Answers ──


def test_answers_of_a_fit(sampler):
    """Of one fit: which system is better, which items tell most, and how good a new system is."""
    tree = bp.fit(OUTCOMES, "items", draws=500, chains=4, random_seed=1)
    compared = bp.compare(tree, metric="pass_rate")
    assert compared.shrunk is not None
    assert compared.names == ("x", "y")
    advice = bp.plan.next_items(tree, 3)
    assert advice["share"].iloc[-1] == pytest.approx(1)
    post = tree["posterior"]
    p = special.expit(post["ability"] - post["difficulty"])
    expected = (p * (1 - p)).mean(["chain", "draw", "model"]).to_series()
    np.testing.assert_allclose(advice["information"], expected[advice["item"]])
    assert advice["information"].is_monotonic_decreasing
    check_a_new_system(tree)


def check_a_new_system(tree):
    """From draws of the other parameters, by quadrature over the ability, weighted by the new system's outcomes."""
    new = bp.Outcomes.from_counts(right=[1, 0], n=[2, 1], dims={"item": ["v", "w"]})
    found = bp.groups.pass_rate_of_new(tree, new, random_seed=1)
    post = tree["posterior"].to_dataset().stack(sample=("chain", "draw")).transpose("sample", ...)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    theta = post["ability_spread"].values[:, None] * np.sqrt(1.5) * nodes
    p = special.expit(theta[..., None] - post["difficulty"].values[:, None])
    weight = weights * 2 * p[..., 1] * (1 - p[..., 1]) * (1 - p[..., 2])
    weight, rate = weight / weight.sum(), p.mean(-1)
    mean = (weight * rate).sum()
    sd = np.sqrt((weight * (rate - mean) ** 2).sum())
    assert found.mean().item() == pytest.approx(mean, abs=5 * sd / np.sqrt(1000))
    assert found.sd().item() == pytest.approx(sd, rel=0.15)
    assert found.observed.item() == pytest.approx(1 / 3)
    untried = bp.Outcomes.from_counts(right=[0], n=[0], dims={"item": ["v"]})
    assert np.isnan(bp.groups.pass_rate_of_new(tree, untried).observed.item())
    assert found.in_words().startswith("Pass rate is ")
    with pytest.raises(InputError, match="'z' is no item of the pool"):
        bp.groups.pass_rate_of_new(tree, bp.Outcomes.from_counts(right=[1], n=[2], dims={"item": ["z"]}))
    with pytest.raises(TypeError, match="must be Outcomes of right and wrong over the dim 'item'"):
        bp.groups.pass_rate_of_new(tree, OUTCOMES)
    with pytest.raises(TypeError, match="must be a fit of the model 'items'"):
        bp.groups.pass_rate_of_new(xr.DataTree(), new)
