"""Draws of the cells of a partly verified sample: against closed forms, and weighted draws of the prior."""

import numpy as np
import pytest
from scipy import special, stats

from bayesperf.core.errors import ConvergenceWarning
from bayesperf.labels import voter_cells
from bayesperf.labels import votes as vote_model
from bayesperf.labels.voter_cells import Strata, agreement, dirichlet_cells, shared_cells, shared_truth

RNG = np.random.default_rng
TWO = Strata(
    votes=np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
    counts=np.array([40, 12, 9, 39]),
    verified=np.array([[8, 1], [2, 3], [1, 0], [0, 7]]),
    levels=np.zeros(4, int),
)
THREE = Strata(
    votes=np.array([[0, 0], [1, 1], [2, 2], [0, 1], [1, 0], [2, 1], [0, 2]]),
    counts=np.array([30, 25, 20, 5, 6, 8, 4]),
    verified=np.array([[3, 1, 0], [0, 2, 0], [0, 0, 2], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0]]),
    levels=np.zeros(7, int),
)
ONE = Strata(
    votes=np.array([[0], [1], [2]]),
    counts=np.array([60, 30, 10]),
    verified=np.array([[5, 1, 0], [1, 2, 1], [0, 0, 0]]),
    levels=np.zeros(3, int),
)
LEVELS = Strata(
    votes=np.array([[0], [1], [2], [0], [2]]),
    counts=np.array([40, 20, 9, 20, 11]),
    verified=np.array([[3, 0, 0], [0, 2, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]]),
    levels=np.array([0, 0, 0, 1, 1]),
)


JUDGES = Strata(
    votes=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]]),
    counts=np.array([40, 9, 7, 5, 8, 31]),
    verified=np.array([[5, 0], [1, 1], [1, 0], [0, 1], [0, 0], [1, 4]]),
    levels=np.zeros(6, int),
)
SCORED = Strata(
    votes=np.array([[0, 0], [1, 0], [2, 0], [3, 0], [0, 1], [2, 1], [3, 1]]),
    counts=np.array([20, 18, 10, 6, 4, 15, 21]),
    verified=np.array([[3, 0], [2, 1], [0, 0], [0, 1], [1, 0], [1, 1], [0, 3]]),
    levels=np.zeros(7, int),
    bins=((0.0, 0.3, 0.8, 1.0), ()),
)


def test_strata_in_which_all_voters_agree_are_added():
    split = Strata(np.array([[0, 1], [1, 0]]), np.array([3, 4]), np.array([[1, 0], [0, 0]]), np.zeros(2, int))
    whole = voter_cells._with_agreement(split)
    assert whole.votes.tolist() == [[0, 1], [1, 0], [0, 0], [1, 1]]
    assert whole.counts.tolist() == [3, 4, 0, 0]
    assert voter_cells._with_agreement(TWO).votes.tolist() == TWO.votes.tolist()


def test_the_prior_of_parameters_is_a_mixture_of_normals():
    model, rng = vote_model.vote_model(*THREE[:-1]), RNG(2)
    parameters, precision = rng.normal(0, 2, (5, len(model.mean))), np.array([0.1, 1, 3, 20, 500])
    each = [stats.norm(model.mean, sds).logpdf(parameters).sum(1) for sds in model.sds]
    dispersion = 1 / (1 + precision)
    expected = special.logsumexp(each, 0) + stats.beta(1, 9).logpdf(dispersion) + np.log(dispersion * (1 - dispersion))
    found = vote_model.log_prior(model, vote_model.ModelDraws(parameters, precision))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


def test_everything_verified_is_the_dirichlet_of_the_cells():
    verified = np.array([[5, 1], [2, 3], [1, 4], [0, 7]])
    strata, alpha = TWO._replace(counts=verified.sum(1), verified=verified), np.full((4, 2), 0.25)
    cells = dirichlet_cells(strata, alpha, 40_000, RNG(0))[1]
    weights = np.full((2, 2), 0.5)
    for (_, predicted), of_truth in zip(TWO.votes, verified, strict=True):
        weights[:, predicted] += of_truth
    exact = stats.dirichlet(weights.ravel())
    error = np.sqrt(exact.var() / 40_000)
    np.testing.assert_array_less(np.abs(cells.reshape(-1, 4).mean(0) - exact.mean()), 4 * error)
    np.testing.assert_allclose(cells.reshape(-1, 4).var(0), exact.var(), rtol=4 * np.sqrt(3 / 40_000))


def test_moments_of_a_part_verified():
    alpha = np.full((4, 2), 0.25)
    cells = dirichlet_cells(TWO, alpha, 40_000, RNG(1))
    shares = alpha.sum(1) + TWO.counts
    of_truth = alpha + TWO.verified
    # E[p_c q_ct] and E[p_c q_ct p_d q_du], of independent Dirichlets.
    mean_share, mean_truth = shares / shares.sum(), of_truth / of_truth.sum(1, keepdims=True)
    total = shares.sum()
    second = (np.outer(shares, shares) + np.diag(shares)) / (total * (total + 1))
    accuracy = TWO.votes[:, 1]
    right = mean_truth[np.arange(4), accuracy]
    size = of_truth.sum(1)
    right_square = right * (of_truth[np.arange(4), accuracy] + 1) / (size + 1)
    mean = mean_share @ right
    products = np.outer(right, right)
    np.fill_diagonal(products, right_square)
    sd = np.sqrt((second * products).sum() - mean**2)
    drawn = np.trace(cells[1], axis1=1, axis2=2)
    assert abs(drawn.mean() - mean) < 4 * sd / 200
    assert drawn.std() == pytest.approx(sd, rel=4 / np.sqrt(2 * 40_000))


def spoken_for(votes, bins, classes):
    """Return how much each vote of a stratum speaks for each class."""
    spoken = np.eye(classes)[[min(vote, classes - 1) for vote in votes]]
    for v, speaks in enumerate(bins):
        if speaks:
            spoken[v] = 1 - speaks[votes[v]], speaks[votes[v]]
    return spoken


def weighted_prior_draws(strata, n, seed):
    """Return draws of the Dirichlet weights of the true classes, (n, S, K), from the prior, and their likelihoods."""
    rng, (size, voters), classes = RNG(seed), strata.votes.shape, strata.classes
    bins = strata.bins or ((),) * voters
    spoken = [spoken_for(votes, bins, classes) for votes in strata.votes]
    popular = 0.5 + sum(count * each.min(0) for each, count in zip(spoken, strata.counts, strict=True))
    popular = np.log(popular / popular.sum())
    tau = rng.choice([0.15, 0.4, 0.8, 1.5], (n, 1))
    a = popular + rng.standard_normal((n, classes))
    b = np.log(classes - 1) + 1.75 + 1.5 * rng.standard_normal((n, voters))
    c = 2 * rng.standard_normal((n, voters, strata.levels.max() + 1)) * (strata.levels.max() > 0)
    slope = 0.3 + 0.4 * rng.standard_normal((n, voters))
    beta = tau[..., None] * rng.standard_normal((n, voters, classes))
    overlap = -0.5 + 1.2 * rng.standard_normal((n, voters, voters))
    bend = tau[..., None] * rng.standard_normal((n, voters, max(map(len, bins)) + 1))
    kappa = 1 / rng.beta(1, 9, n) - 1
    weights, likelihood = np.empty((n, size, classes)), np.zeros(n)
    for s, (votes, level, u) in enumerate(zip(strata.votes, strata.levels, spoken, strict=True)):
        eta = a.copy()
        for v in range(voters):
            skill = b[:, v, None] + c[:, v, level, None] + beta[:, v]
            eta += u[v] * (skill - slope[:, v, None] * (popular - popular.mean()))
            if bins[v]:
                eta[:, 1] += bend[:, v, votes[v]]
            for w in range(v):
                eta += u[v] * u[w] * overlap[:, v, w, None]
        eta = np.exp(eta)
        weights[:, s] = np.maximum(kappa[:, None] * eta / eta.sum(1, keepdims=True), 1e-300)
        if total := strata.verified[s].sum():
            likelihood += stats.dirichlet_multinomial.logpmf(strata.verified[s], weights[:, s], total)
    likelihood = np.exp(likelihood - likelihood.max())
    return weights, likelihood / likelihood.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    "strata", [TWO, THREE, LEVELS, JUDGES, SCORED], ids=["two classes", "three", "levels", "two judges", "a score"]
)
def test_shared_truth_against_weighted_draws_of_the_prior(strata):
    weights, likelihood = weighted_prior_draws(strata, 200_000, 3)
    weights += strata.verified
    total = weights.sum(-1, keepdims=True)
    first, second = weights / total, weights * (weights + 1) / (total * (total + 1))
    drawn = shared_truth(strata, 20_000, RNG(4))
    np.testing.assert_allclose(drawn.sum(-1), 1)
    effective = 1 / (likelihood**2).sum()
    assert effective > 500
    mean = np.einsum("n,nst->st", likelihood, first)
    sd = np.sqrt(np.einsum("n,nst->st", likelihood, second) - mean**2)
    # What the importance sampler promises at least.
    error = sd * np.sqrt(1 / effective + 1 / vote_model._ENOUGH)
    np.testing.assert_array_less(np.abs(drawn.mean(0) - mean), 4 * error)
    np.testing.assert_array_less(np.abs(drawn.std(0) - sd), 4 * error)


def test_many_verified_labels_decide_by_themselves():
    """The shared prior is worth a few labels, and the sampler finds the narrow posterior of many."""
    verified = np.array([[400, 30, 20], [10, 300, 50], [5, 5, 90]])
    strata = Strata(np.array([[0], [1], [2]]), 10 * verified.sum(1), verified, np.zeros(3, int))
    drawn = shared_truth(strata, 10_000, RNG(5))
    exact = stats.beta(verified + 0.5, verified.sum(1, keepdims=True) - verified + 0.5)
    np.testing.assert_array_less(np.abs(drawn.mean(0) - exact.mean()), 0.35 * exact.std())
    assert (drawn.std(0) < 1.1 * exact.std()).all()


def test_too_few_independent_draws_are_warned_of(monkeypatch):
    monkeypatch.setattr(vote_model, "_TOO_FEW", 10**6)
    with pytest.warns(ConvergenceWarning, match="independent ones only"):
        shared_truth(ONE, 100, RNG(0))


@pytest.mark.slow
def test_cells_are_the_sums_of_strata():
    rng = RNG(6)
    votes = np.array(np.unravel_index(np.arange(27), (3, 3, 3))).T
    counts = rng.integers(50, 5_000, 27) * 1000
    strata = Strata(votes, counts, rng.integers(0, 9, (27, 3)), np.zeros(27, int))
    cells, truth = shared_cells(strata, 20_000, rng), shared_truth(strata, 20_000, rng)
    assert cells.shape == (3, 20_000, 3, 3)
    np.testing.assert_allclose(cells.sum((-2, -1)), 1)
    shares = counts / counts.sum()
    for voter, of_voter in enumerate(cells):
        # Shares of so many examples are as good as known.
        expected = np.zeros((3, 3))
        variance = np.zeros((3, 3))
        for predicted in range(3):
            said = votes[:, voter] == predicted
            of_said = np.einsum("s,nst->nt", shares[said], truth[:, said])
            expected[:, predicted], variance[:, predicted] = of_said.mean(0), of_said.var(0)
        np.testing.assert_array_less(
            np.abs(of_voter.mean(0) - expected), 5 * np.sqrt(2 * variance / vote_model._ENOUGH) + 1e-5
        )


def test_a_class_that_no_voter_names_has_cells():
    strata = Strata(np.array([[0, 0], [1, 1]]), np.array([50, 50]), np.array([[5, 0, 0], [0, 5, 0]]), np.zeros(2, int))
    assert (shared_cells(strata, 100, RNG(7)) > 0).all()


def test_agreement_tells_who_agrees_with_whom():
    votes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0], [2, 1, 2], [0, 1, 2]])
    codes = agreement(votes)
    assert codes[1] == codes[2]
    assert codes[3] == codes[4]
    assert len(set(codes.tolist())) == 4
