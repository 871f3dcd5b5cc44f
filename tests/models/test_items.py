"""Items: printed figures by marginal maximum likelihood, pass rates by integration, and a new system by quadrature."""

import functools
import itertools

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from scipy import optimize, special, stats

import bayesperf as bp
from bayesperf.core.errors import InputError
from bayesperf.models import items
from bayesperf.sampling.forward import log_densities
from tests.models.test_units import posterior_of
from tests.shared.models import GRADED, built_case

# ── Printed figures ──

# Section 6 of the LSAT: how many of 1,000 persons gave each pattern of right answers (Bock & Lieberman 1970), in the
# order 00000, 00001, …, 11111.
LSAT = [
    3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15, 10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298,
]  # fmt: skip
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


@functools.cache
def given_abilities(discrimination):
    """Return the log-likelihood of each pattern at each node, of the model that `build` returns, by its parameters.

    Each pattern is a system of its own at each node of the abilities.
    """
    patterns = np.array(list(itertools.product((0, 1), repeat=5)))
    systems = np.repeat(patterns, len(NODES), axis=0)
    outcomes = bp.Outcomes.from_counts(right=systems, n=1, dims=["person", "item"])
    sizes = {"ability": len(systems), "difficulty": 5} | ({"discrimination": 5} if discrimination else {})
    given = {name: pytensor.shared(np.zeros(size)) for name, size in sizes.items()}
    model = pm.do(bp.models.build(outcomes, "items", options={"discrimination": discrimination}), given)
    function = pytensor.function([], model.logp(vars=model.observed_RVs, sum=False), mode="FAST_COMPILE")

    def at(**values):
        ability = np.tile(values.pop("spread", 1.0) * NODES, len(patterns))
        for name, value in {"ability": ability, **values}.items():
            given[name].set_value(np.asarray(value, float))
        return function()[0].sum(-1).reshape(len(patterns), len(NODES))

    return at


def marginal_maximum(parameters, start):
    """Return the highest log-likelihood of the persons, and where it is; parameters are a function of the place."""

    def minus_log_likelihood(x):
        given = parameters(x)
        persons = special.logsumexp(
            given_abilities("discrimination" in given)(**given), b=WEIGHTS / WEIGHTS.sum(), axis=1
        )
        return -persons @ LSAT

    found = optimize.minimize(minus_log_likelihood, start, options={"gtol": 1e-4})
    return -found.fun, found.x


@pytest.mark.parametrize(
    ("slope", "difficulties", "likelihood"),
    [
        (1.0, [-2.8720, -1.0630, -0.2576, -1.3881, -2.2188], -2473.054),
        (0.7551, [-3.6153, -1.3224, -0.3176, -1.7301, -2.7802], -2466.938),
    ],
)
def test_lsat_by_marginal_maximum_likelihood(slope, difficulties, likelihood):
    """Rizopoulos (2006), Journal of Statistical Software 17: Rasch's model with slope 1, and with one slope for all."""
    free = slope != 1.0

    def parameters(x):
        # In the paper an ability is N(0, 1), and the logit a (θ − b).
        a = x[5] if free else 1.0
        return {"spread": a, "difficulty": a * x[:5]}

    highest, place = marginal_maximum(parameters, np.append(np.full(5, -1.0), [0.8] * free))
    assert highest == pytest.approx(likelihood, abs=5e-4)
    np.testing.assert_allclose(place[:5], difficulties, atol=1e-4)
    if free:
        assert place[5] == pytest.approx(slope, abs=1e-4)


@pytest.mark.slow
def test_lsat_with_discriminations():
    """As R's ltm 1.2-0 prints it, of logits a (θ − b); its search ends a little before the maximum."""
    a = [0.8254, 0.7229, 0.8905, 0.6886, 0.6575]
    b = [-3.3597, -1.3696, -0.2799, -1.8659, -3.1236]
    highest, place = marginal_maximum(
        lambda x: {"discrimination": x[:5], "difficulty": x[5:]}, np.repeat([0.8, -1.0], 5)
    )
    assert highest == pytest.approx(-2466.653, abs=5e-4)
    np.testing.assert_allclose(place[:5], a, atol=0.001)
    np.testing.assert_allclose(place[5:] / place[:5], b, atol=0.003)


# ── What a fit adds ──

SEEN = xr.DataArray(
    [[[0, 2], [1, 1], [0, 0]], [[2, 0], [0, 1], [1, 0]]],
    {"model": ["x", "y"], "item": ["u", "v", "w"], "outcome": [0, 1]}, ("model", "item", "outcome"),
)  # fmt: skip
OUTCOMES = bp.Outcomes(SEEN)


SLOPES = [0.5, 1.0, 2.0]


def one_draw(discrimination):
    # The last item, which one system has seen, is a set of its own, the first.
    values = {"ability": ("model", [0.4, -0.4]), "difficulty": ("item", [-1.0, 0.3, 1.2])}
    values |= {"set_difficulty": ("set", [0.8, -0.1])}
    values |= {"discrimination": ("item", SLOPES)} if discrimination else {}
    of_dims = {name: (("chain", "draw", dim), np.array(value)[None, None]) for name, (dim, value) in values.items()}
    numbers = {"location": 0.2, "difficulty_spread": 0.9} | ({"discrimination_spread": 0.6} if discrimination else {})
    single = {name: (("chain", "draw"), np.array([[value]])) for name, value in numbers.items()}
    return xr.Dataset(of_dims | single, {"model": ["x", "y"], "item": ["u", "v", "w"]})


@pytest.mark.parametrize("discrimination", [False, True])
def test_pass_rates_over_the_pool_and_for_a_new_item(discrimination):
    found = items.recover(one_draw(discrimination), SEEN, None)
    slopes = SLOPES if discrimination else [1.0] * 3
    rate = found["pass_rate"].sel(model="x").item()
    of_each = [1 / (1 + np.exp(b - 0.4 * a)) for a, b in zip(slopes, (-1.0, 0.3, 1.2), strict=True)]
    assert rate == pytest.approx(np.mean(of_each))

    z = np.linspace(-9, 9, 2001)
    density = stats.norm.pdf(z) * (z[1] - z[0])
    of_slopes = np.exp(0.6 * np.sqrt(4 / 3) * z) if discrimination else np.ones_like(z)

    def of_set(mean):
        return density @ special.expit(0.4 * of_slopes - mean - 0.9 * np.sqrt(4 / 3) * z[:, None]) @ density

    expected = of_set(0.8) / 3 + of_set(-0.1) * 2 / 3
    assert found["pass_rate_new"].sel(model="x").item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("discrimination", [False, True])
def test_the_unit_of_cross_validation_is_an_attempt(discrimination):
    found = np.sort(items.log_likelihood(one_draw(discrimination), SEEN).values.ravel())
    slope = SLOPES if discrimination else 1.0
    p = special.expit(np.multiply(slope, np.array([[0.4], [-0.4]])) - [-1.0, 0.3, 1.2])
    attempts = [np.log(value) for (i, j, k), n in np.ndenumerate(SEEN.values) for value in [(1 - p, p)[k][i, j]] * n]
    np.testing.assert_allclose(found, np.sort(attempts))


def test_shares_of_grades_over_the_pool_and_for_a_new_item():
    """By the thresholds, each share is a pass rate at other difficulties; the mean weighs the steps of the scale."""
    data = SEEN.isel(outcome=[0, 1, 1]).assign_coords(outcome=[1, 2, 5])
    posterior, threshold = one_draw(True), [0.7, -0.7]
    posterior["threshold"] = ("chain", "draw", "grade"), [[threshold]]
    found = items.recover(posterior, data, None)
    for suffix in ("", "_new"):
        shares = found[f"share_at_least{suffix}"]
        assert shares["grade"].values.tolist() == [2, 5]
        for place, shift in enumerate(threshold):
            easier = posterior.drop_vars("threshold")
            for name in ("difficulty", "set_difficulty", "location"):
                easier[name] = easier[name] - shift
            expected = items.recover(easier, SEEN, None)[f"pass_rate{suffix}"]
            np.testing.assert_allclose(shares.isel(grade=place), expected)
        mean = 1 + shares.isel(grade=0) + 3 * shares.isel(grade=1)
        np.testing.assert_allclose(found[f"mean_grade{suffix}"], mean)


@pytest.mark.slow
def test_the_log_likelihood_of_grades_is_that_of_the_model():
    model, posterior = built_case("items, grades")[2], posterior_of("items, grades")
    found = items.log_likelihood(posterior, GRADED.counts)
    assert found.sizes["example"] == GRADED.counts.sum()
    expected = log_densities(model, model.observed_RVs, posterior)["graded"]
    np.testing.assert_allclose(found.sum("example"), expected.sum(["model", "item"]), rtol=1e-9)


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
        ([[1, 0], [0, 1]], "must be Outcomes over systems and items"),
        (OUTCOMES.sum("model"), "must be Outcomes over systems and items"),
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


@pytest.mark.slow
def test_slopes_of_many_systems_are_found():
    """Simulated: intervals contain what they should, and the means are near it."""
    rng = np.random.default_rng(1)
    slope, difficulty = np.exp(rng.normal(0, 0.6, 20)), rng.normal(0, 1, 20)
    slope /= stats.gmean(slope)
    passed = rng.random((100, 20)) < special.expit(slope * rng.normal(0, 1.2, (100, 1)) - difficulty)
    outcomes = bp.Outcomes.from_counts(right=passed.astype(int), n=1, dims=["model", "item"])
    tree = bp.fit(outcomes, "items", options={"discrimination": True}, random_seed=1)
    found = tree["posterior"]["discrimination"]
    low, high = found.quantile([0.05, 0.95], ["chain", "draw"]).values
    inside = ((low < slope) & (slope < high)).sum()
    assert stats.binom.cdf(inside, 20, 0.9) > 0.01
    assert np.corrcoef(np.log(found).mean(["chain", "draw"]), np.log(slope))[0, 1] > 0.8


@pytest.mark.parametrize("discrimination", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_answers_of_a_fit(sampler, discrimination):
    """Of one fit: which system is better, which items tell most, and how good a new system is."""
    options = {"discrimination": discrimination}
    tree = bp.fit(OUTCOMES, "items", options=options, draws=500, chains=4, random_seed=1)
    compared = bp.compare(tree, metric="pass_rate")
    assert compared.shrunk is not None
    assert compared.names == ("x", "y")
    advice = bp.plan.next_items(tree, 3)
    assert advice["share"].iloc[-1] == pytest.approx(1)
    post = tree["posterior"]
    a = post["discrimination"] if discrimination else 1.0
    p = special.expit(a * post["ability"] - post["difficulty"])
    expected = (a**2 * p * (1 - p)).mean(["chain", "draw", "model"]).to_series()
    np.testing.assert_allclose(advice["information"], expected[advice["item"]])
    assert advice["information"].is_monotonic_decreasing
    check_a_new_system(tree)


@pytest.mark.slow
def test_answers_of_grades(sampler):
    tree = bp.fit(GRADED, "items", draws=200, chains=4, random_seed=1)
    assert bp.compare(tree, metric="mean_grade").names == ("x", "y", "z")
    shares = bp.Marginal.from_datatree(tree, "share_at_least")
    assert shares.dims == ("model", "grade")
    with pytest.raises(InputError, match="is a fit of grades"):
        bp.plan.next_items(tree)


def check_a_new_system(tree):
    """From draws of the other parameters, by quadrature over the ability, weighted by the new system's outcomes."""
    new = bp.Outcomes.from_counts(right=[1, 0], n=[2, 1], dims={"item": ["v", "w"]})
    found = bp.groups.pass_rate_of_new(tree, new, random_seed=1)
    post = tree["posterior"].to_dataset().stack(sample=("chain", "draw")).transpose("sample", ...)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    theta = post["ability_spread"].values[:, None] * np.sqrt(1.5) * nodes
    slope = post["discrimination"].values[:, None] if "discrimination" in post else 1.0
    p = special.expit(slope * theta[..., None] - post["difficulty"].values[:, None])
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
