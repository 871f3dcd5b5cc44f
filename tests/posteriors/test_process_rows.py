"""Class sums drawn without the cells: their moments are those of the Dirichlet over all joint outcomes."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf.posteriors.paired_systems import joint_marginal, joint_posterior
from bayesperf.posteriors.process_rows import class_sums, is_sparse
from tests.shared.joint import judged, systems_like

N_DRAWS = 40_000


def shares(rng, classes):
    rows = rng.gamma(0.5, size=(classes, classes))
    return rows / rows.sum(1, keepdims=True)


# Pseudo-counts of two systems, three classes: of one weight a row, the greatest there may be, and of different ones.
RNG = np.random.default_rng(2)
PRIORS = {
    "perks": np.full((2, 3, 3), 1 / 9),
    "the greatest weight": np.full((2, 3, 3), 1 / 3),
    "unequal": np.array([0.05, 0.4, 1.0])[:, None] * np.stack([shares(RNG, 3), shares(RNG, 3)]),
}


def joint_dirichlet(alpha, actual, predicted, counts):
    """Return the outcomes (i, j, k) of all joint cells of two systems, and their Dirichlet weights."""
    outcomes = np.array(list(product(range(3), repeat=3)))
    i, j, k = outcomes.T
    weights = alpha[0, i, j] * alpha[1, i, k] / alpha[0, i].sum(-1)
    for row, (first, second), count in zip(actual, predicted, counts, strict=True):
        weights = weights + count * ((i == row) & (j == first) & (k == second))
    return outcomes, weights


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_first_and_second_moments_are_those_of_all_joint_cells(prior):
    alpha = PRIORS[prior]
    actual, predicted = np.array([0, 0, 1]), np.array([[0, 0], [1, 2], [1, 0]])
    counts = np.array([3, 1, 2])
    blocks = list(class_sums(np.random.default_rng(1), alpha, counts, actual, predicted, N_DRAWS))
    outcomes, weights = joint_dirichlet(alpha, actual, predicted, counts)
    draws, members = [], []
    for system, of_class, argument in product(range(2), range(3), ("tp", "fn", "fp")):
        draws.append(np.concatenate([block[argument][system, :, of_class] for block in blocks]))
        row, column = outcomes[:, 0] == of_class, outcomes[:, 1 + system] == of_class
        members.append({"tp": row & column, "fn": row & ~column, "fp": ~row & column}[argument])
    draws, members = np.stack(draws), np.stack(members)
    total = weights.sum()
    means = members @ weights / total
    covariances = ((members * weights) @ members.T / total - np.outer(means, means)) / (total + 1)
    away = draws - means[:, None]
    assert (np.abs(away.mean(1)) < 4.5 * np.sqrt(np.diag(covariances) / N_DRAWS)).all()
    products = away[:, None] * away
    error = products.std(-1) / np.sqrt(N_DRAWS)
    assert (np.abs(products.mean(-1) - covariances) < 4.5 * error + 1e-12).all()


K = 40
ACTUAL, CALLS = systems_like(np.random.default_rng(3), 8 * K, K, 2)
COUNTS = judged(ACTUAL, CALLS, labels=range(K))
MANY = {"perks": "perks", "unequal": bp.prior.dirichlet(shares(np.random.default_rng(4), K))}


@pytest.mark.slow
@pytest.mark.parametrize("prior", MANY)
def test_metrics_of_systems_are_distributed_as_from_all_cells(prior):
    cells = joint_posterior(COUNTS.patterns, MANY[prior], draws=4000, random_seed=5)
    for name in ("f1_macro", "kappa", "precision_weighted"):
        sums = joint_marginal(COUNTS.patterns, name, MANY[prior], draws=20_000, random_seed=6).distribution.values
        a, b = sums[:, 0]
        c, d = cells[name].distribution.values[:, 0]
        for found, expected in ((a, c), (b, d), (a - b, c - d)):
            assert stats.ks_2samp(found, expected).pvalue > 1e-3


@pytest.mark.slow
def test_one_system_is_drawn_by_the_same_route():
    cm = COUNTS.isel(model=0)
    post = bp.posterior(cm, "perks", draws=20_000, random_seed=1)
    cells = post.joint_draws(4000, 7)
    for name in ("f1_macro", "kappa"):
        expected = bp.metrics.get(name).evaluate(cells.values)
        assert stats.ks_2samp(post[name].distribution.values[0, 0], expected).pvalue > 1e-3
    by_class = post["precision_per_class"]
    assert by_class.dims == ("label",)
    # The precision of one class is a Beta of the sums of its cells. Without a false alarm it is 1 to rounding.
    omega = cm.counts.values + 1 / K**2
    hits, alarms = np.diag(omega), omega.sum(0) - np.diag(omega)
    often = int(alarms.argmax())
    drawn = by_class.sel(label=often).joint_draws(2000).values
    assert stats.kstest(drawn, stats.beta(hits[often], alarms[often]).cdf).pvalue > 1e-3


def test_route_is_taken_by_many_classes_of_little_weight_alone():
    assert is_sparse(np.full((1, K, K), 1 / K))
    assert not is_sparse(np.full((1, K, K), 1.1 / K))
    assert not is_sparse(np.full((1, 30, 30), 1 / 900))


@pytest.mark.slow
def test_a_thousand_classes_are_compared_in_little_memory():
    rng = np.random.default_rng(8)
    actual, calls = systems_like(rng, 5000, 1000, 2)
    cm = judged(actual, calls, labels=range(1000))
    difference = bp.compare(cm, metric="f1_macro", draws=200).difference
    assert difference.distribution.values.shape == (1, 1, 200)
    per_class = bp.compare(cm, metric="recall_per_class").difference
    right = {name: (found == actual) for name, found in calls.items()}
    of_class = actual == 7
    a, b = (right[name][of_class].sum() for name in ("s0", "s1"))
    # Perks' prior: half of the weight of a class, 1/1000, is shared between hits and misses of each system.
    assert per_class.sel(label=7).mean().item() == pytest.approx((a - b) / (of_class.sum() + 1e-3), rel=1e-9, abs=1e-12)
