"""The model of raters: published figures, a Gibbs sampler, the truth of items, and the cells of a system."""

import itertools
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import optimize, special

import bayesperf as bp
from bayesperf import models
from bayesperf.labels.ratings import model_data
from bayesperf.sampling.fitting import built_model
from bayesperf.sampling.model_data import prepared
from tests.shared.models import RATED, RATED_THREE, TWO_TESTS, compiled, of_patterns
from tests.shared.raters import OF_TESTS, STRONGYLOIDES, TUBERCULOSIS, WEIGHTS_OF_TESTS, gibbs, simulated


def fit(ratings, priors=None, **settings):
    """Fit quietly: what data do not settle is asked of other tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.errors.IdentifiabilityWarning)
        return bp.fit(ratings, "raters", priors, random_seed=1, progressbar=False, **settings)


# ── How rates are sampled ──


def test_rates_as_log_odds_of_wrong_answers():
    """They are those of the docstring, come back, and change volumes by the determinant of what a step of each does."""
    transform = models.building.WrongToRight(3)
    rates = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.15, 0.05, 0.8]])
    wrong = np.array([[0.2 / 0.7, 0.1 / 0.7], [0.3 / 0.6, 0.1 / 0.6], [0.15 / 0.8, 0.05 / 0.8]])
    odds = transform.forward(rates).eval()
    np.testing.assert_allclose(odds, np.log(wrong), rtol=1e-12)
    np.testing.assert_allclose(transform.backward(odds).eval(), rates, rtol=1e-12)
    step = 1e-5
    for row in range(3):
        moved = [odds + sign * step * np.eye(6)[2 * row + i].reshape(3, 2) for i in range(2) for sign in (1, -1)]
        a, b, c, d = (transform.backward(each).eval()[row, :2] for each in moved)
        volume = abs(np.linalg.det(np.array([a - b, c - d]) / (2 * step)))
        assert transform.log_jac_det(odds).eval()[row] == pytest.approx(np.log(volume), abs=1e-8)


@pytest.mark.slow
def test_no_chain_begins_where_classes_have_changed_places():
    """Of 40 chains none; from where nearly all answers are right one in eleven goes there."""
    rng = np.random.default_rng(1)
    actual = rng.integers(0, 2, 2000)
    answers = actual ^ (rng.random((8, 2000)) < 0.3)
    ratings = bp.Ratings.from_table(pd.DataFrame(answers.T, columns=list("abcdefgh")))
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bp.errors.ConvergenceWarning)
            tree = bp.fit(ratings, "raters", draws=20, tune=300, random_seed=seed, progressbar=False)
        rates = tree["posterior"]["rates"].mean(("draw", "rater"))
        assert (rates.values[:, [0, 1], [0, 1]] > 0.5).all()


# ── Published figures ──


@pytest.mark.slow
def test_tuberculosis_by_maximum_likelihood():
    """Under flat priors the mode is the maximum likelihood estimate: Hui & Walter (1980), Table 3."""
    import pymc as pm

    counts, options = prepared(TUBERCULOSIS, "raters", None)
    at = compiled(built_model("raters", counts, {"rates": pm.Dirichlet.dist(np.ones((2, 2)))}, options))

    def rows(x):
        second = special.expit(x)
        return np.stack([1 - second, second], -1)

    def minus_log_density(x):
        return -at(prevalence=rows(x[:2]), rates=rows(x[2:]).reshape(2, 2, 2))[0]

    found = optimize.minimize(minus_log_density, [1.0, -3, -3, 3, -3, 3], method="BFGS", options={"gtol": 1e-4})
    north, south, mantoux_alarm, mantoux, tine_alarm, tine = special.expit(found.x)
    assert [south, north] == pytest.approx([0.0268, 0.7168], abs=6e-5)
    assert [mantoux_alarm, 1 - mantoux] == pytest.approx([0.0067, 0.0339], abs=6e-5)
    assert [tine_alarm, 1 - tine] == pytest.approx([0.0159, 0.0312], abs=6e-5)


PUBLISHED = {
    "prevalence": (0.78, 0.53, 0.92),
    "recall serology": (0.89, 0.79, 0.95),
    "specificity serology": (0.70, 0.38, 0.96),
    "recall stool": (0.30, 0.22, 0.43),
    "specificity stool": (0.96, 0.91, 0.99),
}
LEVELS = [0.5, 0.025, 0.975]


@pytest.fixture(scope="module")
def strongyloides():
    """Return the draws of a Gibbs sampler by name, (draw, chain)."""
    data = model_data(STRONGYLOIDES)
    prevalence, rates = gibbs(data.attrs["answers"], data.values, WEIGHTS_OF_TESTS, np.random.default_rng(0))
    draws = {"prevalence": prevalence[..., 1]}
    for j, rater in enumerate(STRONGYLOIDES.raters):
        draws |= {f"recall {rater}": rates[..., j, 1, 1], f"specificity {rater}": rates[..., j, 0, 0]}
    return draws


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_gibbs_sampler_gives_the_published_figures(strongyloides, name):
    """To two hundredths, which the draws of a single chain, as of then, are good for."""
    np.testing.assert_allclose(np.quantile(strongyloides[name], LEVELS), PUBLISHED[name], atol=0.02)


@pytest.mark.slow
def test_nuts_agrees_with_gibbs(strongyloides):
    from arviz_stats.base import array_stats

    tree = fit(STRONGYLOIDES, {"rates": OF_TESTS}, draws=4000)
    posterior = tree["posterior"]
    assert (posterior.attrs["parameters"], posterior.attrs["degrees_of_freedom"]) == (5, 3)
    drawn = {"prevalence": posterior["prevalence"].sel(actual="+")}
    for rater, metric in itertools.product(STRONGYLOIDES.raters, ("recall", "specificity")):
        drawn[f"{metric} {rater}"] = posterior[metric].sel(rater=rater)
    for name, draws in drawn.items():
        exact = strongyloides[name]
        # Chains of the Gibbs sampler are independent of each other.
        for power, center in ((1, 0.0), (2, exact.mean())):
            of_nuts, of_gibbs = (draws.values - center) ** power, (exact - center) ** power
            error = np.hypot(array_stats.mcse(of_nuts, chain_axis=0, draw_axis=1),
                             of_gibbs.mean(0).std(ddof=1) / np.sqrt(of_gibbs.shape[1]))  # fmt: skip
            assert of_nuts.mean() == pytest.approx(of_gibbs.mean(), abs=4.5 * error), name


@pytest.mark.slow
def test_anaesthetists():
    """Dawid & Skene (1979): the classes of patients. Three in grade 4 are few, and there the prior has a say."""
    ratings = bp.Ratings.from_frame(bp.datasets.load("anaesthetists"), item="patient", rater="observer", rating="grade")
    tree = fit(ratings)
    probabilities = bp.labels.truth(tree, ratings)
    classes = em(ratings)[2].argmax(-1) + 1
    differ = probabilities.idxmax(axis=1).to_numpy() != classes[ratings.items["pattern"].values]
    assert set(probabilities.index[differ]) <= {2, 12, 36, 38}
    assert abs(tree["posterior"]["prevalence"].mean(["chain", "draw"]) - [0.40, 0.42, 0.11, 0.07]).max() < 0.05


def em(ratings, steps=500):
    """Return prevalence, rates and the probabilities of the classes of patterns, by Dawid & Skene's EM algorithm."""
    answers, counts = ratings.patterns["answers"].values, ratings.counts.values
    share = answers.sum(1) / answers.sum((1, 2))[:, None]
    for _ in range(steps):
        prevalence = counts @ share / counts.sum()
        rates = np.einsum("p,pt,pjr->jtr", counts, share, answers)
        rates /= rates.sum(-1, keepdims=True)
        share = prevalence * np.prod(rates[None] ** answers[:, :, None, :], (1, 3))
        share /= share.sum(-1, keepdims=True)
    return prevalence, rates, share


def test_anaesthetists_by_em():
    """The published shares of the classes, and rates of the first observer (Dawid & Skene 1979, Table 2)."""
    ratings = bp.Ratings.from_frame(bp.datasets.load("anaesthetists"), item="patient", rater="observer", rating="grade")
    prevalence, rates, _ = em(ratings)
    assert prevalence == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)
    published = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    np.testing.assert_allclose(rates[0], published, atol=0.006)


# ── What is computed from parameters ──


def drawn(rng, ratings, draws=3, dependent=False):
    """Return a posterior of a few draws of the prior."""
    k, raters = len(ratings.labels), len(ratings.raters)
    of_sites = [("population", 2)] if "population" in ratings.counts.dims else []
    posterior = {
        "rates": (("chain", "draw", "rater", "actual", "rating"), rng.dirichlet(np.ones(k), (1, draws, raters, k))),
        "prevalence": (("chain", "draw", *(name for name, _ in of_sites), "actual"),
                       rng.dirichlet(np.ones(k), (1, draws, *(size for _, size in of_sites)))),
    }  # fmt: skip
    if dependent:
        posterior["dependence"] = (("chain", "draw", "actual"), rng.random((1, draws, 2)))
    return xr.Dataset(posterior, {"rater": ratings.raters, "actual": ratings.labels, "rating": ratings.labels,
                                  **{name: ratings.counts[name].values for name, _ in of_sites}})  # fmt: skip


def tree_of(posterior, options):
    tree = xr.DataTree.from_dict({"posterior": posterior})
    tree["posterior"].attrs = {"model": "raters", "options": json.dumps(options)}
    return tree


@pytest.mark.parametrize("ratings", [RATED, RATED_THREE], ids=["two classes", "three classes"])
def test_truth_is_bayes_theorem_in_every_draw(ratings):
    posterior = drawn(np.random.default_rng(1), ratings)
    found = bp.labels.truth(tree_of(posterior, {}), ratings)
    data = model_data(ratings)
    expected = np.zeros((*data.shape, len(ratings.labels)))
    for d, place in itertools.product(range(3), np.ndindex(data.shape)):
        answers, known = data.attrs["answers"][place[-1]], data.attrs["known"][place[-1]]
        draw = posterior.isel(chain=0, draw=d)
        prevalence, rates = draw["prevalence"].values[place[:-1]], draw["rates"].values
        weight = prevalence * [np.prod(rates[:, t] ** answers) for t in range(len(prevalence))]
        weight = weight * (np.arange(len(weight)) == known if known >= 0 else 1)
        expected[place] += weight / weight.sum() / 3
    if ratings.items is None:
        np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_allclose(found, expected[ratings.items["pattern"].values], rtol=1e-9)
        assert found.index.tolist() == ratings.items["item"].values.tolist()


@pytest.mark.parametrize(("ratings", "options"), [(RATED, {}), (RATED_THREE, {}), (TWO_TESTS, {"dependent": (0, 1)})])
def test_log_likelihood_of_items(ratings, options):
    posterior, data = drawn(np.random.default_rng(2), ratings, dependent=bool(options)), model_data(ratings)
    found = models.raters.log_likelihood(posterior, data, **options)
    assert found.dims == ("chain", "draw", "example")
    assert found.sizes["example"] == data.values.sum()
    joint = models.raters.log_joint(posterior, data, **options)
    chance = (np.exp(joint).sum("actual")).transpose("chain", "draw", *data.dims).values
    if not options:  # Without dependence, pattern by pattern, up to the share of the design.
        for d in range(3):
            draw = posterior.isel(chain=0, draw=d)
            one_design = data.copy(data=np.eye(1, data.size, dtype=int).reshape(data.shape))
            alone = of_patterns(one_design, draw["rates"].values, draw["prevalence"].values)
            assert np.log(chance[0, d].ravel()[0]) == pytest.approx(alone, rel=1e-9)
    expected = (np.log(chance) * data.values).sum(tuple(range(2, chance.ndim)))
    assert found.sum("example").values == pytest.approx(expected)


def test_cells_of_raters_and_of_the_system():
    posterior, data = drawn(np.random.default_rng(3), RATED), model_data(RATED)
    rng = np.random.default_rng(0)
    cells = models.raters.recover(posterior, data, rng)["cells"]
    assert cells.dims == ("chain", "draw", "population", "rater", "actual", "predicted")
    expected = np.einsum("cdst,cdjtr->cdsjtr", posterior["prevalence"], posterior["rates"])
    np.testing.assert_allclose(cells, expected, rtol=1e-12)
    of_bob = models.raters.recover(posterior, data, rng, system="bob")["cells"]
    np.testing.assert_allclose(of_bob, expected[:, :, :, 1], rtol=1e-12)


@pytest.mark.slow
def test_cut_rates_are_drawn_given_those_of_the_others():
    """Their mean and spread, over draws of the same parameters, against integration over recall and specificity."""
    data = model_data(TWO_TESTS)
    rates, prevalence = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0.6, 0.4])
    n = 20_000
    posterior = xr.Dataset({
        "rates": (("chain", "draw", "rater", "actual", "rating"), np.broadcast_to(rates, (1, n, 1, 2, 2))),
        "prevalence": (("chain", "draw", "actual"), np.broadcast_to(prevalence, (1, n, 2))),
    })  # fmt: skip
    cells = models.raters.recover(posterior, data, np.random.default_rng(4), system=1, cut=True)["cells"]
    recall = (cells[..., 1, 1] / cells[..., 1, :].sum("predicted")).values.ravel()
    # Under Beta(1/2, 1/2) the angle whose squared sine is a rate is uniform.
    grid = np.sin((np.arange(400) + 0.5) / 400 * np.pi / 2) ** 2
    hit, alarm = np.meshgrid(grid, grid, indexing="ij")
    log = 0.0
    for pattern, count in enumerate(data.values):
        other, own = (data.attrs["answers"][pattern, j] for j in (0, 1))
        if own.any():
            chances = [alarm if own[1] else 1 - alarm, hit if own[1] else 1 - hit]
            log = log + count * np.log(sum(prevalence[t] * rates[t, other.argmax()] * chances[t] for t in (0, 1)))
    weight = np.exp(log - log.max())
    mean = (weight * hit).sum() / weight.sum()
    variance = (weight * (hit - mean) ** 2).sum() / weight.sum()
    for values, expected in ((recall, mean), ((recall - mean) ** 2, variance)):
        assert values.mean() == pytest.approx(expected, abs=4 * values.std() / np.sqrt(n))


# ── How much data can determine ──

FACTS = [
    (STRONGYLOIDES, {}, (5, 3)),
    (STRONGYLOIDES, {"dependent": ("serology", "stool")}, (7, 3)),
    (TUBERCULOSIS, {}, (6, 6)),
    (TUBERCULOSIS, {"system": "tine", "cut": True}, (4, 2)),
    (bp.Ratings.from_table([[0, 0, 1], [1, 1, 0]]), {}, (7, 7)),
    # Each pair of three raters, never all three: three means and three products.
    (bp.Ratings.from_table([[0, 0, None], [None, 1, 0], [1, None, 1]]), {}, (7, 6)),
    # Three answers of one rater, of which only the number of ones counts.
    (bp.Ratings.from_table(pd.DataFrame([[0, 0, 1], [1, 1, 1]], columns=["a", "a", "a"])), {}, (3, 3)),
    # Items of known class: of each class, what both say.
    (bp.Ratings.from_table(pd.DataFrame({"a": [0, 1], "b": [0, 0], "t": [1, 0]}), actual="t"), {}, (5, 7)),
    (bp.Ratings.from_table([["x", "x"], ["y", "z"]]), {}, (14, 8)),
]


@pytest.mark.parametrize(("ratings", "options", "expected"), FACTS)
def test_parameters_and_degrees_of_freedom(ratings, options, expected):
    facts = models.raters.facts(model_data(ratings), **options)
    assert (facts["parameters"], facts["degrees_of_freedom"]) == expected


# ── Bad input ──

REFUSED = [
    ({"options": {"system": "x-ray"}}, "options['system']: there is no rater 'x-ray'; there are 'serology', 'stool'."),
    ({"options": {"cut": True}}, "cut=True needs the system"),
    ({"options": {"dependent": "serology"}}, "options['dependent'] must be a pair of two different raters"),
    ({"options": {"dependent": ("serology", "stool"), "system": "stool", "cut": True}}, "dependent names the system"),
    ({"priors": {"rates": {"x-ray": [[1, 1], [1, 1]]}}}, "priors: there is no rater 'x-ray'"),
    ({"priors": {"rates": {"stool": {"recall": (1, 1)}}}}, "{'recall': (a, b), 'specificity': (c, d)}"),
    ({"priors": {"rates": {"stool": [1, 2]}}}, "need positive weights of shape (2, 2)"),
    ({"priors": {"spread": None}}, "'spread' is of no use without options={'pooled': True}"),
    ({"options": {"pooled": 3}}, "options['pooled'] must be one of False, True"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_refused(arguments, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        bp.fit(STRONGYLOIDES, "raters", **arguments)


def test_dependence_is_of_single_answers_of_two_classes():
    with pytest.raises(ValueError, match="dependent is for two classes; there are 3"):
        bp.fit(RATED_THREE, "raters", options={"dependent": (0, 1)})
    with pytest.raises(ValueError, match="one of them has repeats"):
        bp.fit(RATED, "raters", options={"dependent": ("ann", "bob")})


def test_other_data_are_refused():
    with pytest.raises(TypeError, match="data must be Ratings for the model 'raters'; it is list"):
        bp.fit([[1, 0]], "raters")
    posterior = drawn(np.random.default_rng(1), RATED)
    with pytest.raises(ValueError, match=r"ratings: its raters are \[0, 1, 2\], and those of the fit are \['ann'"):
        bp.labels.truth(tree_of(posterior, {}), RATED_THREE)
    with pytest.raises(TypeError, match="tree must be a fit of the model 'raters'"):
        bp.labels.truth(posterior, RATED)


# ── Coverage ──


@pytest.mark.slow
def test_coverage_of_the_recall_of_a_system_with_and_without_cut():
    """Intervals of 90 % hold the simulated recall in 30 data sets about as often."""
    rates = np.array([[[1 - w, w], [w, 1 - w]] for w in (0.1, 0.2, 0.25, 0.15)])
    rates[3] = [[0.9, 0.1], [0.3, 0.7]]
    held = {False: 0, True: 0}
    for seed, cut in itertools.product(range(30), held):
        _, answers = simulated(np.random.default_rng(seed), 300, rates, [0.6, 0.4])
        ratings = bp.Ratings.from_table(pd.DataFrame(answers, columns=["a", "b", "c", "system"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = bp.fit(ratings, "raters", options={"system": "system", "cut": cut}, draws=400, tune=400, chains=2,
                          random_seed=seed, progressbar=False)  # fmt: skip
        low, high = tree["posterior"]["recall"].quantile([0.05, 0.95])
        held[cut] += bool(low < 0.7 < high)
    # Fewer than 22 have a probability of .003 under .9.
    assert min(held.values()) >= 22, held
