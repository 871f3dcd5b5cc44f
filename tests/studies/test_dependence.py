"""Coverage where samples depend on each other."""

import numpy as np
import pytest

from bayesperf import sequences, studies

# Coverage of recall's 95 % intervals at n = 500, simulated by others with 4,000 sequences: persistence .5, .8, .9, .95.
INDEPENDENT = {0.5: 0.947, 0.8: 0.738, 0.9: 0.537, 0.95: 0.389}
MARKOV = {0.5: 0.945, 0.8: 0.942, 0.9: 0.944, 0.95: 0.938}


def check_coverage(study):
    for persistence in study["persistence"].values.tolist():
        for model, expected in (("independent", INDEPENDENT), ("markov", MARKOV)):
            rate = expected[persistence]
            error = np.sqrt(rate * (1 - rate) * (1 / study.attrs["simulations"] + 1 / 4_000))
            found = study["coverage"].sel(model=model, persistence=persistence).item()
            assert found == pytest.approx(rate, abs=4 * error), (model, persistence)


@pytest.mark.slow
def test_intervals_of_independent_samples_fail_and_those_of_a_chain_do_not():
    study = studies.dependence((0.5, 0.9), simulations=150)
    check_coverage(study)
    # Mean widths by others, at persistence .9: .106 and .256.
    widths, errors = (study[name].sel(persistence=0.9).values for name in ("width", "width_mcse"))
    np.testing.assert_allclose(widths, [0.106, 0.256], atol=5 * errors.max() + 5e-4)


@pytest.mark.slow
def test_coverage_at_every_persistence():
    check_coverage(studies.dependence(simulations=500))


def test_figures_are_of_the_simulations_described():
    settings = {"prevalence": 0.3, "recall": 0.7, "specificity": 0.8}
    study = studies.dependence([0.8], 60, **settings, metric="f1", simulations=8, prob=0.8, random_seed=5)
    bounds = np.empty((2, 8, 2))
    for index in range(8):
        rng = np.random.default_rng([5, index])
        frames = sequences.simulate(60, persistence=0.8, **settings, random_seed=rng)
        for order in (0, 1):
            post = sequences.posterior(frames["actual"], frames["predicted"], order=order, random_seed=rng)
            bounds[order, index] = post["f1"].ppf([0.1, 0.9])
    true = 2 * 0.21 / (2 * 0.21 + 0.09 + 0.14)
    covered = (bounds[..., 0] <= true) & (true <= bounds[..., 1])
    width = np.ptp(bounds, axis=-1)
    assert study["coverage"].dims == ("model", "persistence")
    np.testing.assert_allclose(study["coverage"].squeeze(), covered.mean(-1))
    np.testing.assert_allclose(study["coverage_mcse"].squeeze(), covered.std(-1) / np.sqrt(8))
    np.testing.assert_allclose(study["width"].squeeze(), width.mean(-1), rtol=1e-12)
    np.testing.assert_allclose(study["width_mcse"].squeeze(), width.std(-1) / np.sqrt(8), rtol=1e-9)
    expected = {"n": 60, **settings, "metric": "f1", "simulations": 8, "prob": 0.8, "random_seed": 5, "ci_kind": "eti"}
    assert expected.items() <= study.attrs.items()
    assert study.attrs["true"] == pytest.approx(true)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"persistence": (0.5, 1.0)}, "persistence must be a number between 0 and 1"),
        ({"persistence": []}, "persistence must be one-dimensional and not empty"),
        ({"persistence": 0.5, "n": 1}, "n must be a whole number of at least 2"),
        ({"prob": 1}, "prob must be a number between 0 and 1"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
        ({"metric": "recall_per_class"}, "has a value a class"),
        ({"recall": 0.99, "specificity": 0.5, "persistence": 0.3}, "no chain has recall 0.99 and specificity 0.5"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        studies.dependence(**options)
