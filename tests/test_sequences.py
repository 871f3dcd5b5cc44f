"""Samples in the order of time: the chain, its posterior and predictions, and how dependence is measured."""

import dataclasses
import itertools
import json
import warnings
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from scipy.special import roots_jacobi

import bayesperf as bp
from bayesperf import _chains, _dependence, metrics, sequences
from bayesperf._chains import Betas, Chain
from bayesperf._warnings import DependenceWarning
from bayesperf.models._stationary import stationary

mpl.use("Agg")

GOLDEN = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "golden" / "sequences.json").read_text(encoding="utf-8"))["cases"]
}
STATED = GOLDEN["ref_markov_stationary_3"]
FITTED = [case for name, case in GOLDEN.items() if "posterior" in name]
CHAINS = ["z_prev", "z_prev,g_prev"]
FRAMES = sequences.simulate(500, persistence=0.9, random_seed=1)


def of_frames(function, frames=FRAMES, **options):
    return function(frames["actual"], frames["predicted"], **options)


def dense(stay, theta):
    """Return the 4 × 4 transition matrix of one chain, entry by entry; theta[g, h, j]."""
    matrix = np.zeros((4, 4))
    for h, j, g, v in itertools.product((0, 1), repeat=4):
        moves = stay[h] if g == h else 1 - stay[h]
        matrix[2 * h + j, 2 * g + v] = moves * (theta[g, h, j] if v else 1 - theta[g, h, j])
    return matrix


def eigen_cells(matrix):
    values, vectors = np.linalg.eig(matrix.T)
    w = np.real(vectors[:, np.argmin(abs(values - 1))])
    return w / w.sum()


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
    chain = Chain(stay, theta if wide else theta[:, :1])
    np.testing.assert_array_equal(chain.cells().reshape(4, -1), stationary(stay, theta))
    np.testing.assert_allclose(np.moveaxis(chain.transitions(), -1, 0), [dense(*c) for c in chains], rtol=1e-15)


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
    found = Chain(np.stack([a_0, a_1]), theta[:, None]).cells().reshape(4, -1)
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
    chain = Chain(np.array([given["p_stay_0"], given["p_stay_1"]]), np.array(given["theta_g_zprev"])[:, None])
    np.testing.assert_allclose(chain.cells().ravel(), expected["stationary_TN_FP_FN_TP"], rtol=1e-14)
    np.testing.assert_allclose(chain.transitions(), expected["transition_4x4_states_g_z"], atol=1e-15)
    for name, facts in expected["metrics"].items():
        metric = metrics.get(name)
        assert metric.evaluate(chain.cells(), 1) == pytest.approx(facts["value"], rel=1e-13)
        effect = _dependence.variance_ratio(chain, lambda cells, m=metric: m.evaluate(cells, 1))
        assert effect == pytest.approx(facts["design_effect"], rel=1e-12)


def test_simulate_is_of_the_golden_chain():
    given = STATED["inputs"]
    chain = _chains.chain_with(0.9, 0.9, 0.2, 0.6, 0.9)
    np.testing.assert_allclose(chain.stay, [given["p_stay_0"], given["p_stay_1"]], rtol=1e-13)
    np.testing.assert_allclose(chain.theta[:, 0], given["theta_g_zprev"], rtol=1e-11)


# ── The posterior ──


@pytest.mark.parametrize("case", FITTED, ids=lambda case: case["id"])
@pytest.mark.parametrize(("name", "prior"), [("uniform", 1), ("jeffreys", 0.5)])
def test_golden_posteriors(case, name, prior):
    g, z = case["inputs"]["g"], case["inputs"]["z"]
    expected = case["outputs"]["posterior"][name]
    transitions = _chains.count(_chains.read(g, z, None, None), "z_prev")
    np.testing.assert_array_equal(transitions.actual, case["outputs"]["n_g_transitions"])
    np.testing.assert_array_equal(transitions.predicted[:, 0, :, ::-1], case["outputs"]["m_g_zprev_counts_z1_z0"])
    betas = Betas.posterior(transitions, prior)
    shapes = expected["beta_params"]
    np.testing.assert_array_equal(betas.stay, [shapes["p_stay_0"], shapes["p_stay_1"]])
    theta = [[shapes["theta"][f"g{g}_zprev{j}"] for j in (0, 1)] for g in (0, 1)]
    np.testing.assert_array_equal(betas.theta[:, 0], theta)

    draws = 200_000
    post = sequences.posterior(g, z, prior=prior, draws=draws)
    # The reference has a relative error of 1e-3; ours are sd/√n of a mean, sd/√(2n) of an sd, and about 2.7 sd/√n of a
    # 2.5 % quantile of a normal distribution (more in a longer tail: 4 here).
    for metric in ("recall", "accuracy", "precision"):
        facts, found = expected[metric], post[metric]
        error = facts["sd"] / np.sqrt(draws)
        assert found.mean().item() == pytest.approx(facts["mean"], abs=4 * error + 1e-3 * facts["mean"])
        assert found.sd().item() == pytest.approx(facts["sd"], abs=4 * error + 1e-3 * facts["sd"])
        np.testing.assert_allclose(found.eti(), facts["ci95"], atol=4 * 4 * error, rtol=1e-3)
    cells = post.draws(draws).mean("draw").values.ravel()
    np.testing.assert_allclose(cells, expected["stationary_mean"], rtol=1e-3, atol=4 * 0.15 / np.sqrt(draws))


def likelihood(states, q, s, stay, theta):
    """Return the probability of one sequence, sample by sample; parameters (…,) each."""
    g, z = np.divmod(states, 2)
    value = (q if g[0] else 1 - q) * (s if z[0] else 1 - s)
    for t in range(1, len(g)):
        value = value * (stay[g[t]] if g[t] == g[t - 1] else 1 - stay[g[t - 1]])
        rate = theta[g[t]][z[t - 1]]
        value = value * (rate if z[t] else 1 - rate)
    return value


@pytest.mark.parametrize("prior", [0.5, 1, 2])
def test_posterior_and_bayes_factors_against_integration_over_all_parameters(prior):
    states = np.array([0, 0, 1, 3, 3, 2, 3, 0, 0])
    # Gauss–Jacobi nodes of the Beta prior, exact for polynomials up to degree 11: a product rule over all parameters.
    nodes, weights = roots_jacobi(6, prior - 1, prior - 1)
    nodes, weights = (nodes + 1) / 2, weights / weights.sum()
    grid = np.meshgrid(*[nodes] * 6, indexing="ij")
    weight = np.prod(np.meshgrid(*[weights] * 6, indexing="ij"), axis=0)
    a_0, a_1, t_00, t_01, t_10, t_11 = grid
    value = weight * likelihood(states, 0.5, 0.5, [a_0, a_1], [[t_00, t_01], [t_10, t_11]])
    means = [(value * parameter).sum() / value.sum() for parameter in grid]
    squares = [(value * parameter**2).sum() / value.sum() for parameter in grid]
    g, z = np.divmod(states, 2)
    betas = Betas.posterior(_chains.count(_chains.read(g, z, None, None), "z_prev"), prior)
    shapes = np.concatenate([betas.stay, betas.theta.reshape(4, 2)])
    total = shapes.sum(1)
    np.testing.assert_allclose(shapes[:, 0] / total, means, rtol=1e-12)
    np.testing.assert_allclose(shapes[:, 0] * (shapes[:, 0] + 1) / (total * (total + 1)), squares, rtol=1e-12)

    # Without dependence: P(g_t = 1) whatever came before, or P(z_t = 1 | g_t) whatever was predicted.
    z_independent = weight * likelihood(states, 0.5, 0.5, [a_0, a_1], [[t_00, t_00], [t_10, t_10]])
    g_independent = weight * likelihood(states, 0.5, 0.5, [a_0, 1 - a_0], [[t_00, t_01], [t_10, t_11]])
    expected = np.log(value.sum() / [g_independent.sum(), z_independent.sum()])
    found = sequences.bayes_factor(g, z, prior=prior)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert found.name == "log_bayes_factor"
    assert found["of"].values.tolist() == ["actual", "predicted"]


def test_bayes_factor_of_the_wider_chain():
    g, z = np.divmod(np.array([0, 0, 1, 3, 3, 2, 3, 0, 0, 2, 3, 1]), 2)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    rate, weights = (nodes + 1) / 2, weights / 2

    def evidence(outcomes):
        ones = sum(outcomes)
        return (weights * rate**ones * (1 - rate) ** (len(outcomes) - ones)).sum()

    expected = 0.0
    for now in (0, 1):
        at = [t for t in range(1, len(g)) if g[t] == now]
        for before in itertools.product((0, 1), repeat=2):
            expected += np.log(evidence([z[t] for t in at if (g[t - 1], z[t - 1]) == before]))
        expected -= np.log(evidence([z[t] for t in at]))
    found = sequences.bayes_factor(g, z, prior=1, chain="z_prev,g_prev")
    assert found.sel(of="predicted").item() == pytest.approx(expected, rel=1e-10)


def test_bayes_factors_tell_dependence_apart():
    free = of_frames(sequences.bayes_factor, sequences.simulate(500, persistence=0.5, random_seed=2))
    assert (free < 0).all()
    half = of_frames(
        sequences.bayes_factor, sequences.simulate(500, persistence=0.9, error_persistence=0.5, random_seed=2)
    )
    assert (half > 3).values.tolist() == [True, False]


@pytest.mark.parametrize("chain", CHAINS)
def test_transitions_of_interleaved_sequences(chain):
    rng = np.random.default_rng(5)
    g, z, ids = [*rng.integers(2, size=(2, 200)).tolist(), rng.choice(["a", "b", "c"], 200).tolist()]
    actual, predicted = np.zeros((2, 2)), np.zeros((2, 2, 2, 2))
    last = {}
    for now_g, now_z, name in zip(g, z, ids, strict=True):
        if name in last:
            before_g, before_z = last[name]
            actual[before_g, now_g] += 1
            predicted[now_g, before_g, before_z, now_z] += 1
        last[name] = now_g, now_z
    found = _chains.count(_chains.read(g, z, {"video": ids}, None), chain)
    np.testing.assert_array_equal(found.actual, actual)
    expected = predicted if chain == CHAINS[1] else predicted.sum(1, keepdims=True)
    np.testing.assert_array_equal(found.predicted, expected)
    assert actual.sum() == 200 - 3

    # The same sequences one after the other, and as a plain column of ids, are the same data.
    order = np.argsort(ids, kind="stable")
    one_by_one = (np.array(column)[order] for column in (g, z, ids))
    y_true, y_pred, by = one_by_one
    posts = [
        sequences.posterior(g, z, {"video": ids}, chain=chain, draws=500),
        sequences.posterior(y_true, y_pred, by, chain=chain, draws=500),
    ]
    np.testing.assert_array_equal(*[post["f1"].draws(500).values for post in posts])
    np.testing.assert_array_equal(*[post.predict(draws=500)["f1"].draws(500).values for post in posts])


def test_the_chain_and_independence_agree_where_samples_are_independent():
    frames = sequences.simulate(20_000, persistence=0.5, random_seed=4)
    chain, free = (of_frames(sequences.posterior, frames, order=order)["recall"] for order in (1, 0))
    # Two thirds of the information is the same; the chain has a few more parameters.
    assert chain.mean().item() == pytest.approx(free.mean().item(), abs=free.sd().item())
    assert chain.sd().item() == pytest.approx(free.sd().item(), rel=0.05)


def test_order_zero_is_the_usual_exact_posterior():
    cm = bp.ConfusionMatrix.from_predictions(FRAMES["actual"], FRAMES["predicted"])
    usual = bp.posterior(cm, bp.prior.dirichlet(0.3))
    for by in (None, np.arange(500), {"video": np.arange(500) % 7}):
        found = of_frames(sequences.posterior, by=by, prior=0.3, order=0)
        assert found["recall"].method == "exact"
        np.testing.assert_allclose(found["recall"].eti(), usual["recall"].eti(), rtol=1e-12)
    assert "symmetric Dirichlet (0.3 in each of 4 cells" in found.prior_text


def test_names_of_labels_do_not_matter():
    labels = FRAMES[["actual", "predicted"]]
    plain = of_frames(sequences.posterior, labels)
    named = labels.map(lambda value: ["no", "yes"][value])
    same = of_frames(sequences.posterior, named, pos_label="yes")
    np.testing.assert_array_equal(plain["recall"].eti(), same["recall"].eti())
    np.testing.assert_array_equal(plain["recall"].eti(), of_frames(sequences.posterior, labels == 1)["recall"].eti())
    # The other class as the positive one, and the other order of the labels, are other draws of the same posterior.
    np.testing.assert_array_equal(
        plain["specificity"].eti(), of_frames(sequences.posterior, named, pos_label="no")["recall"].eti()
    )
    reversed_ = of_frames(sequences.posterior, labels.map(lambda value: ["z", "a"][value]), pos_label="a")
    for name in ("recall", "precision", "accuracy"):
        error = plain[name].sd().item() * np.sqrt(2 / 10_000)
        assert reversed_[name].mean().item() == pytest.approx(plain[name].mean().item(), abs=4 * error)
        assert reversed_[name].sd().item() == pytest.approx(plain[name].sd().item(), rel=4 / np.sqrt(10_000) * 1.5)
    nameless = of_frames(sequences.posterior, named)
    np.testing.assert_array_equal(plain["accuracy"].eti(), nameless["accuracy"].eti())
    with pytest.raises(ValueError, match="needs a positive class"):
        nameless["recall"]


def test_parameters_are_the_betas_drawn():
    post = of_frames(sequences.posterior, draws=50_000)
    betas = Betas.posterior(_chains.count(of_frames(_chains.read, by=None, labels=None), "z_prev"), 0.5)
    stay, theta = post.parameters["stay"], post.parameters["theta"]
    assert theta.dims == ("draw", "actual", "predicted_previous")
    for found, shape in ((stay.values, betas.stay), (theta.values, betas.theta[:, 0])):
        a, b = np.moveaxis(shape, -1, 0)
        variance = a * b / ((a + b) ** 2 * (a + b + 1))
        np.testing.assert_allclose(found.mean(0), a / (a + b), atol=5 * np.sqrt(variance.max() / 50_000))
        np.testing.assert_allclose(found.var(0), variance, rtol=0.1)
    wide = of_frames(sequences.posterior, chain="z_prev,g_prev", draws=100).parameters["theta"]
    assert wide.dims == ("draw", "actual", "actual_previous", "predicted_previous")


@pytest.mark.parametrize("prior", [0.01, 0.5, 100])
@pytest.mark.parametrize("chain", CHAINS)
def test_awkward_sequences_are_answered(prior, chain):
    for y_true, y_pred in (([1] * 9, [1] * 9), ([0, 1] * 5, [0, 1] * 5), ([0, 1] * 5, [1] * 10), ([0] * 9, [1] * 9)):
        post = sequences.posterior(y_true, y_pred, prior=prior, chain=chain, labels=[0, 1])
        cells = post.draws(1_000).values
        assert np.isfinite(cells).all()
        assert (cells >= 0).all()
        np.testing.assert_allclose(cells.sum((-2, -1)), 1)
        names = ["accuracy", "recall", "precision", "f1", "specificity", "balanced_accuracy"]
        table = post.summary(names)
        assert np.isfinite(table[["mean", "sd", "ci_lower", "ci_upper"]].to_numpy()).all()
        assert "undefined" not in table


def test_seeds():
    def draw(seed, frames=FRAMES):
        return of_frames(sequences.posterior, frames, random_seed=seed, draws=100)["f1"].draws(100).values

    np.testing.assert_array_equal(draw(1), draw(1))
    np.testing.assert_array_equal(draw(np.random.default_rng(5)), draw(np.random.default_rng(5)))
    assert not np.array_equal(draw(1), draw(2))


def test_two_systems_never_share_a_stream():
    other = FRAMES.iloc[:-1]
    one, two = (of_frames(sequences.posterior, frames) for frames in (FRAMES, other))
    for first, second in ((one, two), (one.predict(50), two.predict(50))):
        pair = first["accuracy"].draws(5_000).values, second["accuracy"].draws(5_000).values
        assert abs(np.corrcoef(*pair)[0, 1]) < 5 / np.sqrt(5_000)


def test_a_posterior_says_what_it_is_of():
    table = of_frames(sequences.posterior).summary()
    assert table.attrs["estimand"] == "Posterior of the system's long-run metric"
    assert table.attrs["prior"] == "Beta(0.5, 0.5) on each of 6 transition probabilities"
    assert set(table["method"]) == {"draws"}
    assert "of 10 transition" in of_frames(sequences.posterior, chain="z_prev,g_prev").prior_text
    tree = of_frames(sequences.posterior, draws=100).to_datatree()
    assert tree["observed_data"]["counts"].sum().item() == 500


# ── Prediction ──


@pytest.mark.parametrize("chain", CHAINS)
def test_prediction_against_simulating_sample_by_sample(chain):
    post = of_frames(sequences.posterior, chain=chain, draws=4_000)
    n, rng = 40, np.random.default_rng(6)
    theta = post.chain.theta if chain == CHAINS[1] else np.repeat(post.chain.theta, 2, 1)
    accuracy = np.empty(4_000)
    for draw in range(4_000):
        matrix = dense(post.chain.stay[:, draw], theta[..., draw])
        cumulative = np.cumsum(matrix, 1)
        states = [np.searchsorted(np.cumsum(eigen_cells(matrix)), rng.random())]
        for u in rng.random(n - 1):
            states.append(min(np.searchsorted(cumulative[states[-1]], u), 3))
        accuracy[draw] = np.isin(states, (0, 3)).mean()
    found = post.predict(n, draws=20_000)["accuracy"]
    error = accuracy.std() * np.sqrt(1 / 4_000 + 1 / 20_000)
    assert found.mean().item() == pytest.approx(accuracy.mean(), abs=4 * error)
    # The error of a standard deviation, from the fourth moment.
    fourth = ((accuracy - accuracy.mean()) ** 4).mean() / accuracy.var() ** 2
    relative = np.sqrt((fourth - 1) / 4 * (1 / 4_000 + 1 / 20_000))
    assert found.sd().item() == pytest.approx(accuracy.std(), rel=4 * relative)
    # Independent draws of the same long-run cells would be too narrow.
    assert found.sd().item() > 1.3 * post["accuracy"].mean().pipe(lambda p: np.sqrt(p * (1 - p) / n)).item()


def test_prediction_of_one_sample_is_the_long_run_mean():
    post = of_frames(sequences.posterior)
    predicted = post.predict(1, draws=40_000).draws(40_000).mean("draw")
    np.testing.assert_allclose(predicted, post.draws(10_000).mean("draw"), atol=5 * 0.5 / np.sqrt(10_000))


def test_prediction_starts_each_sequence_anew():
    post = sequences.posterior([0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0], by=[1, 1, 1, 2, 2, 2], draws=1_000)
    # Labels that never change: a sequence is of one class throughout, and the two of them are independent.
    never = Chain(np.full((2, 1_000), 1 - 2.0**-53), np.full((2, 1, 2, 1_000), 0.5))
    shares = dataclasses.replace(post, chain=never).predict(draws=40_000)["prevalence"].draws(40_000).values
    assert set(shares.round(12)) == {0, 0.5, 1}
    assert (shares.round(12) == 0.5).mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(40_000))
    alone = dataclasses.replace(post, chain=never).predict(6)["prevalence"].draws(10_000).values
    assert set(alone) == {0, 1}


def test_prediction_says_what_it_is_of_and_is_not_predicted_again():
    predicted = of_frames(sequences.posterior).predict(draws=100)
    assert predicted.estimand == "Prediction of the metric in a new test set of as many examples as observed"
    with pytest.raises(ValueError, match="this is a prediction already"):
        predicted.predict()
    rare = sequences.posterior([0] * 99 + [1], [0] * 100).predict(10, draws=1_000)
    assert rare["recall"].undefined().item() > 0.5


def test_what_a_chain_cannot_do():
    post = of_frames(sequences.posterior)
    with pytest.raises(ValueError, match="at_prevalence: in a chain recall and specificity depend on how long a label"):
        post.at_prevalence(0.1)
    with pytest.raises(ValueError, match="update: draws cannot be updated exactly"):
        post.update(bp.ConfusionMatrix.from_predictions(FRAMES["actual"], FRAMES["predicted"]))


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
    chain = _chains.chain_with(asked["persistence"], errors, **rates)
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


# ── How much dependence matters ──


def test_design_effect_of_a_two_state_chain():
    """Prevalence depends on the actual labels alone: D = (1 + λ)/(1 − λ)."""
    found = of_frames(sequences.design_effect, metric="prevalence", prior=1)
    g = FRAMES["actual"].to_numpy()
    stays = [(1 + ((g[:-1] == i) & (g[1:] == i)).sum()) / (2 + (g[:-1] == i).sum()) for i in (0, 1)]
    eigenvalue = sum(stays) - 1
    assert found.item() == pytest.approx((1 + eigenvalue) / (1 - eigenvalue), rel=1e-12)
    assert found.dims == ()
    assert found.attrs["effective_size"] == pytest.approx(500 / found.item())


@pytest.fixture
def net_hits():
    """A metric that is no ratio: it changes if all cells are multiplied."""
    metrics.register("net_hits", lambda tp, fp: tp - fp)
    yield
    metrics.unregister("net_hits")


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", ["recall", "accuracy", "f1", "mcc", "balanced_accuracy", "net_hits"])
@pytest.mark.usefixtures("net_hits")
def test_design_effect_against_summed_autocovariances(chain, name):
    betas = Betas.posterior(_chains.count(of_frames(_chains.read, by=None, labels=None), chain), 0.5)
    stay, theta = betas.mean()
    matrix = dense(stay, theta if chain == CHAINS[1] else np.repeat(theta, 2, 1))
    w = eigen_cells(matrix)
    independent = np.diag(w) - np.outer(w, w)
    covariance, power = independent.copy(), np.eye(4)
    for _ in range(2_000):
        power = power @ matrix
        lagged = w[:, None] * power - np.outer(w, w)
        covariance += lagged + lagged.T
    metric, step = metrics.get(name), 1e-6
    ends = [metric.evaluate((w + sign * step * np.eye(4)).reshape(4, 2, 2), 1) for sign in (1, -1)]
    gradient = (ends[0] - ends[1]) / (2 * step)
    expected = (gradient @ covariance @ gradient) / (gradient @ independent @ gradient)
    found = of_frames(sequences.design_effect, metric=name, chain=chain)
    assert found.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["recall", "accuracy", "f1"])
def test_design_effect_against_the_variance_over_simulations(name):
    count, n = 4_000, 1_000
    frames = sequences.simulate(n, persistence=0.85, prevalence=0.4, sequences=count, random_seed=8)
    g, z = (frames[column].to_numpy().reshape(count, n) for column in ("actual", "predicted"))
    states = 2 * g + z
    cells = np.stack([(states == state).mean(1) for state in range(4)], -1).reshape(count, 2, 2)
    metric = metrics.get(name)
    variance = metric.evaluate(cells, 1).var(ddof=1)
    rng = np.random.default_rng(9)
    free = rng.multinomial(n, cells.mean(0).ravel(), 100_000).reshape(-1, 2, 2)
    ratio = variance / metric.evaluate(free, 1).var()
    chain = _chains.chain_with(0.85, 0.85, 0.4, 0.75, 0.75)
    effect = _dependence.variance_ratio(chain, lambda cells: metric.evaluate(cells, 1))
    # The relative error of a variance over 4,000 is √(2/4000); that of the asymptotic formula is of the order D/n.
    assert ratio == pytest.approx(effect, rel=4 * np.sqrt(2 / count) + effect / n)


def test_independent_coverage_is_what_the_normal_distribution_says():
    found = of_frames(sequences.design_effect, sequences.simulate(200_000, persistence=0.9, random_seed=1))
    # Scenario A of the simulated coverages: D = 6.78 and 2Φ(1.96/√D) − 1 = .548.
    assert found.item() == pytest.approx(6.78, rel=0.05)
    assert found.attrs["independent_coverage"] == pytest.approx(0.548, abs=0.015)
    assert found.attrs["metric"] == "recall"


# ── The autocorrelation of correctness ──


def by_hand(correct, ids, lag):
    mean = np.mean(correct)
    products = []
    for name in np.unique(ids):
        own = [c - mean for c, i in zip(correct, ids, strict=True) if i == name]
        products += [own[t] * own[t + lag] for t in range(len(own) - lag)]
    return np.mean(products) / np.mean([(c - mean) ** 2 for c in correct])


def test_autocorrelation_by_hand():
    frames = sequences.simulate(100, persistence=0.8, sequences=3, random_seed=2)
    shuffled = frames.sample(frac=1, random_state=0).sort_index(level=0)
    interleaved = shuffled.assign(time=shuffled.groupby("sequence").cumcount()).sort_values(["time", "sequence"])
    found = of_frames(sequences.autocorrelation, interleaved, by={"video": interleaved["sequence"]}, lags=[1, 3, 60])
    correct = (frames["actual"] == frames["predicted"]).to_numpy()
    expected = [by_hand(correct, frames["sequence"], lag) for lag in (1, 3, 60)]
    np.testing.assert_allclose(found["observed"], expected, rtol=1e-12)
    assert found["lag"].values.tolist() == [1, 3, 60]
    assert (found["lower"] < found["upper"]).all()
    assert found.attrs == {"ci_prob": 0.95, "ci_kind": "simultaneous", "draws": 2_000, "undefined": 0}


def test_a_simultaneous_band_holds_its_share_of_whole_curves():
    rng = np.random.default_rng(0)
    curves = np.cumsum(rng.standard_normal((5, 4_000)), 0)
    lower, upper = _dependence.simultaneous_band(curves, 0.95)
    inside = ((curves >= lower[:, None]) & (curves <= upper[:, None])).all(0)
    assert 0.95 <= inside.mean() < 0.955
    # Of curves that do not share in it, 95 % are inside as well, and the band of each lag alone would hold more.
    fresh = np.cumsum(rng.standard_normal((5, 20_000)), 0)
    inside = (fresh >= lower[:, None]) & (fresh <= upper[:, None])
    assert inside.all(0).mean() == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 * (1 / 20_000 + 1 / 4_000)))
    assert (inside.mean(1) > 0.965).all()


def test_a_chain_is_seldom_warned_of():
    alarms = 0
    for seed in range(100):
        frames = sequences.simulate(300, persistence=0.85, random_seed=100 + seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            of_frames(sequences.autocorrelation, frames, draws=500, random_seed=seed)
        alarms += len(caught)
    # At most 5 % of 100, and four standard errors.
    assert alarms <= 5 + 4 * np.sqrt(100 * 0.05 * 0.95)


def scenes(n=2_000):
    """Return labels predicted well in easy scenes and badly in hard ones, which last fifty samples."""
    rng = np.random.default_rng(3)
    hard = np.cumsum(rng.random(n) > 0.98) % 2
    actual = rng.integers(2, size=n)
    return actual, np.where(rng.random(n) < np.where(hard, 0.55, 0.95), actual, 1 - actual)


def test_hidden_scenes_are_warned_of():
    with pytest.warns(
        DependenceWarning, match=r"at lag 1, 2, 5, 10.* is not what the chain .*groups='clusters'"
    ) as got:
        found = sequences.autocorrelation(*scenes())
    assert got[0].filename == __file__
    assert found["outside"].values[:4].all()
    assert (found["observed"] > found["upper"])[:4].all()


def test_the_figure_of_autocorrelations():
    with pytest.warns(DependenceWarning):
        check = sequences.autocorrelation(*scenes())
    check["outside"][-1] = False
    figure = bp.plots.autocorrelation(check)
    (axes,) = figure.axes
    bands = np.array([segment[:, 1] for segment in axes.collections[0].get_segments()])
    np.testing.assert_allclose(bands, np.stack([check["lower"], check["upper"]], -1))
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines[1:]}
    np.testing.assert_allclose(drawn["observed, outside"], check["observed"][:-1])
    np.testing.assert_allclose(drawn["observed, inside"], check["observed"][-1:])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "5", "10", "25"]
    assert "95 % simultaneous band of the fitted chain" in figure.get_suptitle()
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    with pytest.raises(ValueError, match=r"dataset must be that of bayesperf\.sequences\.autocorrelation"):
        bp.plots.autocorrelation(xr.Dataset())


# ── Bad input ──

TWENTY = [0, 1, 1, 0] * 5
FUNCTIONS = [
    sequences.posterior,
    sequences.design_effect,
    sequences.bayes_factor,
    sequences.autocorrelation,
    sequences.check_independence,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "options", "words"),
    [
        ([0, 1, 2], [0, 1, 2], {}, "y_true and y_pred hold 3 labels, 0, 1, 2: sequences are for two"),
        (["a", "b"], ["b", "c"], {}, "hold 3 labels, 'a', 'b', 'c'"),
        ([1, 1], [1, 1], {}, r"only one label occurs \(1\): name all of them, as labels"),
        ([1], [0], {}, "y_true has one sample only, and a chain is about what follows what. Drop it"),
        ([0, 1, 1], [0, 1, 1], {"by": ["a", "a", "b"]}, "by: the sequence b has one sample only"),
        ([0, 1, 1], [0, 1, 1], {"by": {"video": [7, 7, 9]}}, "by: the video 9 has one sample only"),
        ([0, 1, 1], [0, 1], {}, "columns of unequal length: y_true 3, y_pred 2"),
        ([0, 1, 1], [0, 1, 1], {"by": [1, 1]}, r"unequal length: .* 2"),
        ([0, None, 1], [0, 1, 1], {}, "y_true has 1 missing value"),
        ([0, 1, 1], [0, np.nan, 1], {}, "y_pred has 1 missing value"),
        ([0, 1, 1], [0, 1, 1], {"by": ["a", None, "a"]}, "has 1 missing value"),
        ([0, 1], [0, 1], {"by": {"a": [1, 1], "b": [1, 1]}}, "by: give one column of sequence ids, .* it has 2"),
        (TWENTY, TWENTY, {"prior": 0}, "prior must be greater than 0 and finite, .* it is 0"),
        (TWENTY, TWENTY, {"prior": -1.5}, "prior must be greater than 0"),
        (TWENTY, TWENTY, {"prior": np.inf}, "prior must be greater than 0"),
        (TWENTY, TWENTY, {"prior": np.nan}, "prior must be greater than 0"),
        (TWENTY, TWENTY, {"chain": "z"}, "chain must be one of 'z_prev', 'z_prev,g_prev'; it is 'z'"),
    ],
)
def test_bad_data(function, y_true, y_pred, options, words):
    if function is sequences.autocorrelation:
        options = {"lags": [1], **options}
    with pytest.raises(ValueError, match=words):
        function(y_true, y_pred, **options)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sequences.posterior(TWENTY, TWENTY, prior="flat"), TypeError, "prior must be a number; it is 'flat'"),
        (lambda: sequences.posterior(TWENTY, TWENTY, order=2), ValueError, r"order must be 1 .* or 0 .* it is 2"),
        (
            lambda: sequences.posterior(TWENTY, TWENTY, draws=1),
            ValueError,
            "draws must be a whole number of at least 2",
        ),
        (lambda: sequences.posterior(TWENTY, TWENTY, random_seed=-1), ValueError, "random_seed must be"),
        (lambda: sequences.posterior(TWENTY, TWENTY, pos_label=2), ValueError, "pos_label=2 is not among the labels"),
        (lambda: sequences.posterior(TWENTY, TWENTY).predict(0), ValueError, "n must be a whole number of at least 1"),
        (lambda: sequences.design_effect(TWENTY, TWENTY, "recal"), ValueError, "did you mean 'recall'"),
        (
            lambda: sequences.design_effect(TWENTY, TWENTY, "recall_per_class"),
            ValueError,
            "'recall_per_class' has a value a class: name a metric of the whole matrix",
        ),
        (
            lambda: sequences.autocorrelation(TWENTY, TWENTY[::-1]),
            ValueError,
            r"lags \[1, 2, 5, 10, 25\]: name some, each shorter than the longest sequence, of 20 samples",
        ),
        (lambda: sequences.autocorrelation(TWENTY, TWENTY, lags=[]), ValueError, r"lags \[\]: name some"),
        (
            lambda: sequences.autocorrelation(TWENTY, TWENTY, lags=[0]),
            ValueError,
            "lags: each must be a whole number of at least 1; it is 0",
        ),
        (
            lambda: sequences.autocorrelation(TWENTY, TWENTY, lags=[1]),
            ValueError,
            "y_pred: its predictions are all right or all wrong",
        ),
        (lambda: sequences.autocorrelation(TWENTY, TWENTY, draws=10), ValueError, "draws must be .* at least 100"),
        (lambda: sequences.simulate(0), ValueError, "n must be a whole number of at least 1"),
        (lambda: sequences.simulate(9, sequences=0), ValueError, "sequences must be a whole number of at least 1"),
        (lambda: sequences.simulate(9, persistence=1), ValueError, "persistence must be a number between 0 and 1"),
        (lambda: sequences.simulate(9, recall=1), ValueError, "recall must be a number between 0 and 1"),
        (
            lambda: sequences.simulate(9, persistence=0.1, prevalence=0.2),
            ValueError,
            "persistence 0.1: no chain with prevalence 0.2 changes label so often",
        ),
        (
            lambda: sequences.simulate(9, persistence=0.5, error_persistence=0.9, recall=0.9, specificity=0.9),
            ValueError,
            r"no chain has recall 0\.9 and specificity 0\.9 .* some prediction would have probability -0\.3",
        ),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()
