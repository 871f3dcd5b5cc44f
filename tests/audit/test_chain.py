"""Long-run metrics of a chain against powers of drawn transition matrices, which settle there."""

import numpy as np
import pytest

import bayesperf as bp
from tests.shared.rates import of_two_classes

N = 20_000
LEVELS = np.array([0.025, 0.25, 0.5, 0.75, 0.975])
# Standard errors that a figure may be away.
FAR = 4.5


def transition_matrices(g, z, ids, prior, wide, rng):
    """Return draws (N, 4, 4) of the transition matrix of states (g, z), by counting sample by sample."""
    stays, ones = {}, {}
    for t in range(1, len(g)):
        if ids[t] == ids[t - 1]:
            stays.setdefault(g[t - 1], []).append(g[t] == g[t - 1])
            ones.setdefault((g[t], g[t - 1] if wide else None, z[t - 1]), []).append(z[t])

    def rate(outcomes):
        return rng.beta(prior + sum(outcomes), prior + len(outcomes) - sum(outcomes), N)

    stay = {i: rate(stays.get(i, [])) for i in (0, 1)}
    second = {key: rate(ones.get(key, [])) for key in np.ndindex(2, 2, 2)} if wide else {
        (i, None, j): rate(ones.get((i, None, j), [])) for i, j in np.ndindex(2, 2)
    }  # fmt: skip
    t = np.empty((N, 4, 4))
    for before, j, after, v in np.ndindex(2, 2, 2, 2):
        move = stay[before] if after == before else 1 - stay[before]
        called = second[after, before if wide else None, j]
        t[:, 2 * before + j, 2 * after + v] = move * (called if v else 1 - called)
    return t


@pytest.mark.slow
@pytest.mark.parametrize("prior", [0.5, 2])
@pytest.mark.parametrize("chain", ["z_prev", "z_prev,g_prev"])
def test_every_metric_of_the_long_run(chain, prior):
    frames = [bp.sequences.simulate(n, persistence=0.8, error_persistence=0.4, random_seed=n) for n in (70, 90, 110)]
    g, z = (np.concatenate([frame[name] for frame in frames]).astype(int) for name in ("actual", "predicted"))
    ids = np.repeat(["a", "b", "c"], [70, 90, 110])
    wide, rng = chain == "z_prev,g_prev", np.random.default_rng(6)
    t = transition_matrices(g.tolist(), z.tolist(), ids.tolist(), prior, wide, rng)
    tn, fp, fn, tp = np.linalg.matrix_power(t, 2**16)[:, 0].T
    expected = of_two_classes(tp, fn, fp, tn)
    post = bp.sequences.posterior(g, z, {"video": ids}, prior, chain=chain, draws=N)
    error = FAR * np.sqrt(2 / N)
    for name in ("recall", "specificity", "precision", "f1", "accuracy", "matthews_corrcoef", "prevalence"):
        x, marginal = expected[name], post[name]
        assert marginal.mean().item() == pytest.approx(x.mean(), abs=error * x.std()), name
        below = (x[:, None] <= marginal.ppf(LEVELS).values).mean(0)
        np.testing.assert_array_less(np.abs(below - LEVELS), error * np.sqrt(LEVELS * (1 - LEVELS)), name)
