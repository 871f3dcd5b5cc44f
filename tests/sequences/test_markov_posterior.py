"""The posterior of samples in the order of time, and its predictions."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.special import roots_jacobi

import bayesperf as bp
from bayesperf import sequences
from bayesperf.sequences.chain import ChainParameters, TransitionPosterior, count_transitions, label_sequences
from tests.shared.sequences import CHAIN_KINDS, FRAMES, GOLDEN, dense, eigen_cells, of_frames

FITTED = [case for name, case in GOLDEN.items() if "posterior" in name]


# ── The posterior ──


@pytest.mark.parametrize("by", [None, {"video": np.repeat(["u", "v"], [300, 200])}])
def test_a_fit_has_the_observed_scores_of_the_posterior(by):
    """Those of all samples, of which the transitions lack the first of each sequence."""
    frames = sequences.simulate(500, persistence=0.9, random_seed=1)
    data = (frames["actual"], frames["predicted"])
    tree = bp.fit(data, "markov", options={} if by is None else {"by": by}, draws=100, random_seed=1)
    for metric in ("recall", "accuracy"):
        found = bp.Posterior.from_datatree(tree).observed_score(metric)
        assert found.item() == sequences.posterior(*data, by=by).observed_score(metric).item()


@pytest.mark.slow
@pytest.mark.parametrize("case", FITTED, ids=lambda case: case["id"])
@pytest.mark.parametrize(("name", "prior"), [("uniform", 1), ("jeffreys", 0.5)])
def test_golden_posteriors(case, name, prior):
    g, z = case["inputs"]["g"], case["inputs"]["z"]
    expected = case["outputs"]["posterior"][name]
    transitions = count_transitions(label_sequences(g, z, None, None), "z_prev")
    np.testing.assert_array_equal(transitions.actual, case["outputs"]["n_g_transitions"])
    np.testing.assert_array_equal(transitions.predicted[:, 0, :, ::-1], case["outputs"]["m_g_zprev_counts_z1_z0"])
    betas = TransitionPosterior.of(transitions, prior)
    shapes = expected["beta_params"]
    np.testing.assert_array_equal(betas.stay, [shapes["p_stay_0"], shapes["p_stay_1"]])
    theta = [[shapes["theta"][f"g{g}_zprev{j}"] for j in (0, 1)] for g in (0, 1)]
    np.testing.assert_array_equal(betas.theta[:, 0], theta)

    draws = 200_000
    post = sequences.posterior(g, z, prior=prior, draws=draws, chain="z_prev")
    # The reference has a relative error of 1e-3; ours are sd/√n of a mean, sd/√(2n) of an sd, and about 2.7 sd/√n of a
    # 2.5 % quantile of a normal distribution (more in a longer tail: 4 here).
    for metric in ("recall", "accuracy", "precision"):
        facts, found = expected[metric], post[metric]
        error = facts["sd"] / np.sqrt(draws)
        assert found.mean().item() == pytest.approx(facts["mean"], abs=4 * error + 1e-3 * facts["mean"])
        assert found.sd().item() == pytest.approx(facts["sd"], abs=4 * error + 1e-3 * facts["sd"])
        np.testing.assert_allclose(found.eti(), facts["ci95"], atol=4 * 4 * error, rtol=1e-3)
    cells = post.joint_draws(draws).mean("draw").values.ravel()
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
    betas = TransitionPosterior.of(count_transitions(label_sequences(g, z, None, None), "z_prev"), prior)
    shapes = np.concatenate([betas.stay, betas.theta.reshape(4, 2)])
    total = shapes.sum(1)
    np.testing.assert_allclose(shapes[:, 0] / total, means, rtol=1e-12)
    np.testing.assert_allclose(shapes[:, 0] * (shapes[:, 0] + 1) / (total * (total + 1)), squares, rtol=1e-12)

    # Without dependence: P(g_t = 1) whatever came before, or P(z_t = 1 | g_t) whatever was predicted.
    z_independent = weight * likelihood(states, 0.5, 0.5, [a_0, a_1], [[t_00, t_00], [t_10, t_10]])
    g_independent = weight * likelihood(states, 0.5, 0.5, [a_0, 1 - a_0], [[t_00, t_01], [t_10, t_11]])
    expected = np.log(value.sum() / [g_independent.sum(), z_independent.sum()])
    found = sequences.bayes_factor(g, z, prior=prior, chain="z_prev")
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


@pytest.mark.parametrize("chain", CHAIN_KINDS)
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
    found = count_transitions(label_sequences(g, z, {"video": ids}, None), chain)
    np.testing.assert_array_equal(found.actual, actual)
    expected = predicted if chain == CHAIN_KINDS[1] else predicted.sum(1, keepdims=True)
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
    np.testing.assert_array_equal(*[post["f1"].joint_draws(500).values for post in posts])
    np.testing.assert_array_equal(*[post.predict(draws=500)["f1"].joint_draws(500).values for post in posts])


@pytest.mark.slow
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
    transitions = count_transitions(of_frames(label_sequences, by=None, labels=None), "z_prev,g_prev")
    betas = TransitionPosterior.of(transitions, 0.5)
    stay, theta = post.source.parameters["stay"], post.source.parameters["theta"]
    assert theta.dims == ("draw", "actual", "actual_previous", "predicted_previous")
    for found, shape in ((stay.values, betas.stay), (theta.values, betas.theta)):
        a, b = np.moveaxis(shape, -1, 0)
        variance = a * b / ((a + b) ** 2 * (a + b + 1))
        np.testing.assert_allclose(found.mean(0), a / (a + b), atol=5 * np.sqrt(variance.max() / 50_000))
        np.testing.assert_allclose(found.var(0), variance, rtol=0.1)
    narrow = of_frames(sequences.posterior, chain="z_prev", draws=100).source.parameters["theta"]
    assert narrow.dims == ("draw", "actual", "predicted_previous")


@pytest.mark.slow
@pytest.mark.parametrize("prior", [0.01, 100])
@pytest.mark.parametrize("chain", CHAIN_KINDS)
def test_awkward_sequences_are_answered(prior, chain):
    for y_true, y_pred in (([1] * 9, [1] * 9), ([0, 1] * 5, [0, 1] * 5), ([0, 1] * 5, [1] * 10), ([0] * 9, [1] * 9)):
        post = sequences.posterior(y_true, y_pred, prior=prior, chain=chain, labels=[0, 1])
        cells = post.joint_draws(1_000).values
        assert np.isfinite(cells).all()
        assert (cells >= 0).all()
        np.testing.assert_allclose(cells.sum((-2, -1)), 1)
        names = ["accuracy", "recall", "precision", "f1", "specificity", "balanced_accuracy"]
        table = post.summary(names)
        assert np.isfinite(table[["mean", "sd", "ci_lower", "ci_upper"]].to_numpy()).all()
        assert "undefined" not in table


def test_seeds():
    def draw(seed, frames=FRAMES):
        return of_frames(sequences.posterior, frames, random_seed=seed, draws=100)["f1"].joint_draws(100).values

    np.testing.assert_array_equal(draw(1), draw(1))
    np.testing.assert_array_equal(draw(np.random.default_rng(5)), draw(np.random.default_rng(5)))
    assert not np.array_equal(draw(1), draw(2))


def test_two_systems_never_share_a_stream():
    other = FRAMES.iloc[:-1]
    one, two = (of_frames(sequences.posterior, frames) for frames in (FRAMES, other))
    for first, second in ((one, two), (one.predict(50), two.predict(50))):
        pair = first["accuracy"].joint_draws(5_000).values, second["accuracy"].joint_draws(5_000).values
        assert abs(np.corrcoef(*pair)[0, 1]) < 5 / np.sqrt(5_000)


def test_a_posterior_says_what_it_is_of():
    table = of_frames(sequences.posterior).summary()
    assert table.attrs["estimand"] == "Posterior of the system's long-run metric"
    assert table.attrs["prior"] == "Beta(0.5, 0.5) on each of 10 transition probabilities"
    assert set(table["method"]) == {"draws"}
    assert "of 6 transition" in of_frames(sequences.posterior, chain="z_prev").prior_text
    tree = of_frames(sequences.posterior, draws=100).to_datatree()
    assert tree["observed_data"]["counts"].sum().item() == 500


# ── Prediction ──


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAIN_KINDS)
def test_prediction_against_simulating_sample_by_sample(chain):
    post = of_frames(sequences.posterior, chain=chain, draws=1_500)
    n, rng = 40, np.random.default_rng(6)
    theta = post.source.chain.theta if chain == CHAIN_KINDS[1] else np.repeat(post.source.chain.theta, 2, 1)
    accuracy = np.empty(1_500)
    for draw in range(1_500):
        matrix = dense(post.source.chain.stay[:, draw], theta[..., draw])
        cumulative = np.cumsum(matrix, 1)
        states = [np.searchsorted(np.cumsum(eigen_cells(matrix)), rng.random())]
        for u in rng.random(n - 1):
            states.append(min(np.searchsorted(cumulative[states[-1]], u), 3))
        accuracy[draw] = np.isin(states, (0, 3)).mean()
    found = post.predict(n, draws=20_000)["accuracy"]
    error = accuracy.std() * np.sqrt(1 / 1_500 + 1 / 20_000)
    assert found.mean().item() == pytest.approx(accuracy.mean(), abs=4 * error)
    # The error of a standard deviation, from the fourth moment.
    fourth = ((accuracy - accuracy.mean()) ** 4).mean() / accuracy.var() ** 2
    relative = np.sqrt((fourth - 1) / 4 * (1 / 1_500 + 1 / 20_000))
    assert found.sd().item() == pytest.approx(accuracy.std(), rel=4 * relative)
    # Independent draws of the same long-run cells would be too narrow.
    assert found.sd().item() > 1.3 * post["accuracy"].mean().pipe(lambda p: np.sqrt(p * (1 - p) / n)).item()


def test_prediction_of_one_sample_is_the_long_run_mean():
    post = of_frames(sequences.posterior)
    predicted = post.predict(1, draws=40_000).joint_draws(40_000).mean("draw")
    np.testing.assert_allclose(predicted, post.joint_draws(10_000).mean("draw"), atol=5 * 0.5 / np.sqrt(10_000))


def test_prediction_starts_each_sequence_anew():
    post = sequences.posterior([0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0], by=[1, 1, 1, 2, 2, 2], draws=1_000)
    # Labels that never change: a sequence is of one class throughout, and the two of them are independent.
    never = ChainParameters(np.full((2, 1_000), 1 - 2.0**-53), np.full((2, 1, 2, 1_000), 0.5))
    still = dataclasses.replace(post, source=dataclasses.replace(post.source, chain=never))
    shares = still.predict(draws=40_000)["prevalence"].joint_draws(40_000).values
    assert set(shares.round(12)) == {0, 0.5, 1}
    assert (shares.round(12) == 0.5).mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(40_000))
    alone = still.predict(6)["prevalence"].joint_draws(10_000).values
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


def test_two_systems_on_the_same_samples_are_counted_in_whole_sequences():
    frames = bp.sequences.simulate(60, random_seed=1)
    new, old = (bp.sequences.posterior(frames["actual"], said) for said in (frames["predicted"], frames["actual"]))
    with pytest.warns(bp.errors.DependenceWarning, match=r"compare\(pool\(.*cluster=.*ids\}\)\)\.mean, metric=.*BP103"):
        bp.compare(new, old, "recall")
