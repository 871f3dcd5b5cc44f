"""Draws of the cells of a partly verified sample: against closed forms, and against weighted draws of the prior."""

import numpy as np
import pytest
from scipy import stats

from bayesperf.verification.truth import Strata, agreement, dirichlet_cells, shared_cells, shared_truth

RNG = np.random.default_rng
TWO = Strata(
    votes=np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
    counts=np.array([40, 12, 9, 39]),
    verified=np.array([[8, 1], [2, 3], [1, 0], [0, 7]]),
)
THREE = Strata(
    votes=np.array([[0, 0], [1, 1], [2, 2], [0, 1], [1, 0], [2, 1], [0, 2]]),
    counts=np.array([30, 25, 20, 5, 6, 8, 4]),
    verified=np.array([[3, 1, 0], [0, 2, 0], [0, 0, 2], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0]]),
)


def test_everything_verified_is_the_dirichlet_of_the_cells():
    verified = np.array([[5, 1], [2, 3], [1, 4], [0, 7]])
    strata, alpha = Strata(TWO.votes, verified.sum(1), verified), np.full((4, 2), 0.25)
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


def weighted_prior_draws(strata, n, seed):
    """Return draws of the prior of the true classes in each stratum of two voters, and weights by the likelihood."""
    rng, size, classes = RNG(seed), len(strata.votes), strata.classes
    weight = np.zeros(n)
    truth = np.zeros((n, size, classes))
    popularity = rng.dirichlet(np.ones(classes), n)

    def rates(groups):
        mean, kappa = rng.random((n, 1)), 1 / rng.beta(1, 3, (n, 1)) - 1
        return rng.beta(np.maximum(mean * kappa, 1e-3), np.maximum((1 - mean) * kappa, 1e-3), (n, groups))

    for kind in np.unique(alike := np.array([row[0] == row[1] for row in strata.votes])):
        members = np.flatnonzero(alike == kind)
        others = rates(len(members)) if kind or classes > 2 else np.zeros((n, len(members)))
        first = np.ones_like(others) if kind else rates(len(members))
        for place, stratum in enumerate(members):
            judge, system = strata.votes[stratum]
            rest = [t for t in range(classes) if t not in (judge, system)]
            if rest:
                spread = popularity[:, rest] / popularity[:, rest].sum(1, keepdims=True)
                truth[:, stratum, rest] = others[:, [place]] * spread
            truth[:, stratum, judge] += (1 - others[:, place]) * first[:, place]
            if not kind:
                truth[:, stratum, system] += (1 - others[:, place]) * (1 - first[:, place])
            seen = strata.verified[stratum] > 0
            weight += np.log(np.maximum(truth[:, stratum, seen], 1e-300)) @ strata.verified[stratum][seen]
    weight = np.exp(weight - weight.max())
    return truth, weight / weight.sum()


@pytest.mark.parametrize("strata", [TWO, THREE], ids=["two classes", "three"])
def test_shared_truth_against_weighted_draws_of_the_prior(strata):
    truth, weight = weighted_prior_draws(strata, 500_000, 3)
    drawn = shared_truth(strata, 20_000, RNG(4))
    np.testing.assert_allclose(drawn.sum(-1), 1)
    effective = 1 / (weight**2).sum()
    assert effective > 1000
    mean = np.einsum("n,nst->st", weight, truth)
    variance = np.einsum("n,nst->st", weight, truth**2) - mean**2
    error = np.sqrt(variance * (1 / effective + 1 / 20_000)) + 1e-12
    np.testing.assert_array_less(np.abs(drawn.mean(0) - mean), 4.5 * error)
    # Variances have an error of √((kurtosis − 1)/n) of themselves.
    fourth = np.einsum("n,nst->st", weight, (truth - mean) ** 4)
    error = np.sqrt((fourth - variance**2) * (1 / effective + 1 / 20_000)) + 1e-12
    np.testing.assert_array_less(np.abs(drawn.var(0) - variance), 4.5 * error)


def test_popularity_against_an_integral():
    # All that is seen: class 1 where 0 is said by all, five times, and class 2 once; class 0 where 1 is said, twice.
    verified = np.array([[0, 5, 1], [2, 0, 0], [0, 0, 0]])
    strata = Strata(np.array([[0], [1], [2]]), verified.sum(1), verified)
    drawn = shared_truth(strata, 40_000, RNG(5))
    # P(2 | 0 is said, and wrong), from the popularities g on a grid over the simplex.
    step = (np.arange(800) + 0.5) / 800
    one, two = np.meshgrid(step, step, indexing="ij")
    inside = one + two < 1
    g = np.stack([1 - one - two, one, two])[:, inside]
    likelihood = (g[1] / (g[1] + g[2])) ** 5 * (g[2] / (g[1] + g[2])) * (g[0] / (g[0] + g[2])) ** 2
    mean = np.average(g[2] / (g[1] + g[2]), weights=likelihood)
    ratio = drawn[:, 0, 2] / drawn[:, 0, 1:].sum(-1)
    assert abs(ratio.mean() - mean) < 4 * ratio.std() / 200
    of_two = np.average(g[2] / (g[0] + g[2]), weights=likelihood)
    ratio = drawn[:, 1, 2] / drawn[:, 1, [0, 2]].sum(-1)
    assert abs(ratio.mean() - of_two) < 4 * ratio.std() / 200


def test_cells_are_the_sums_of_strata():
    rng = RNG(6)
    votes = np.array(np.unravel_index(np.arange(27), (3, 3, 3))).T
    counts = rng.integers(50, 5_000, 27) * 1000
    strata = Strata(votes, counts, rng.integers(0, 9, (27, 3)))
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
        np.testing.assert_array_less(np.abs(of_voter.mean(0) - expected), 5 * np.sqrt(2 * variance / 20_000) + 1e-5)


def test_a_class_that_no_voter_names_has_cells():
    strata = Strata(np.array([[0, 0], [1, 1]]), np.array([50, 50]), np.array([[5, 0, 0], [0, 5, 0]]))
    assert (shared_cells(strata, 100, RNG(7)) > 0).all()


def test_agreement_tells_who_agrees_with_whom():
    votes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0], [2, 1, 2], [0, 1, 2]])
    codes = agreement(votes)
    assert codes[1] == codes[2]
    assert codes[3] == codes[4]
    assert len(set(codes.tolist())) == 4
