"""Coverage where samples depend on each other."""

from importlib import import_module

import numpy as np
import pytest

from bayesperf import sequences, studies

# The package has a function of that name too.
dependence = import_module("bayesperf.studies.dependent_samples")

# Coverage of recall's 95 % intervals at n = 500, simulated by others with 4,000 sequences: persistence .5, .8, .9, .95.
INDEPENDENT = {0.5: 0.947, 0.8: 0.738, 0.9: 0.537, 0.95: 0.389}
MARKOV = {0.5: 0.945, 0.8: 0.942, 0.9: 0.944, 0.95: 0.938}


@pytest.mark.slow
@pytest.mark.parametrize(("errors", "simulations"), [("runs", 120), ("scenes", 60)])
def test_errors_that_do_not_follow_the_chain_of_predictions(errors, simulations):
    """Errors in runs are covered by the chain that knows both previous labels; hidden scenes are covered by none."""
    study = studies.dependence([0.5], errors=errors, metric="recall", simulations=simulations, n_jobs=1)
    covered, error = study["coverage"], np.sqrt(0.95 * 0.05 / simulations)
    if errors == "runs":
        # .93 in many more simulations.
        assert (covered.sel(model="markov") > 0.93 - 3.5 * error).all()
        assert (covered.sel(model="markov, z_prev") < 0.93 - 3.5 * error).all()
        # The design effect is 1 + λ/(1 − λ) = 5 for λ = .8 and independent labels: 2Φ(1.96/√5) − 1.
        assert covered.sel(model="independent", persistence=0.5).item() == pytest.approx(0.62, abs=4 * 0.04)
    else:
        assert (covered < 0.6).all()


def test_hidden_chains_have_the_mean_and_the_persistence_asked_for():
    states = dependence._hidden_chain(0.7, 0.85, np.random.default_rng(1).random(200_000))
    assert states.mean() == pytest.approx(0.7, abs=0.015)
    assert np.corrcoef(states[1:], states[:-1])[0, 1] == pytest.approx(0.7, abs=0.015)


@pytest.mark.parametrize("errors", ["runs", "scenes"])
def test_rates_are_those_asked_for(errors):
    rates = {"prevalence": 0.3, "recall": 0.7, "specificity": 0.9}
    y, z = dependence._sequence(200_000, 0.7, 0.9, errors, rates, np.random.default_rng(2))
    found = [y.mean(), z[y == 1].mean(), 1 - z[y == 0].mean()]
    np.testing.assert_allclose(found, list(rates.values()), atol=0.01)
    assert np.corrcoef(y[1:], y[:-1])[0, 1] == pytest.approx(0.4, abs=0.01)


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
    # Mean widths by others, at persistence .9, of independent samples and of a chain: .106 and .256.
    widths, errors = (study[name].sel(persistence=0.9).values[:2] for name in ("width", "width_mcse"))
    np.testing.assert_allclose(widths, [0.106, 0.256], atol=5 * errors.max() + 5e-4)


@pytest.mark.slow
def test_coverage_at_every_persistence():
    check_coverage(studies.dependence(simulations=500))


def test_figures_are_of_the_simulations_described():
    settings = {"prevalence": 0.3, "recall": 0.7, "specificity": 0.8}
    study = studies.dependence([0.8], 60, **settings, metric="f1", simulations=8, ci_prob=0.8, random_seed=5)
    bounds = np.empty((3, 8, 2))
    for index in range(8):
        rng = np.random.default_rng([5, index])
        frames = sequences.simulate(60, persistence=0.8, **settings, random_seed=rng)
        for model, options in enumerate([{"order": 0}, {}, {"chain": "z_prev"}]):
            post = sequences.posterior(frames["actual"], frames["predicted"], **options, random_seed=rng)
            bounds[model, index] = post["f1"].ppf([0.1, 0.9])
    true = 2 * 0.21 / (2 * 0.21 + 0.09 + 0.14)
    covered = (bounds[..., 0] <= true) & (true <= bounds[..., 1])
    width = np.ptp(bounds, axis=-1)
    assert study["coverage"].dims == ("model", "persistence")
    np.testing.assert_allclose(study["coverage"].squeeze(), covered.mean(-1))
    np.testing.assert_allclose(study["coverage_mcse"].squeeze(), covered.std(-1) / np.sqrt(8))
    np.testing.assert_allclose(study["width"].squeeze(), width.mean(-1), rtol=1e-12)
    np.testing.assert_allclose(study["width_mcse"].squeeze(), width.std(-1) / np.sqrt(8), rtol=1e-9)
    expected = {
        "n": 60,
        "errors": "chain",
        "error_persistence": [0.8],
        **settings,
        "metric": "f1",
        "simulations": 8,
        "prob": 0.8,
        "random_seed": 5,
        "ci_kind": "eti",
    }
    assert expected.items() <= study.attrs.items()
    assert study.attrs["true"] == pytest.approx(true)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"persistence": (0.5, 1.0)}, "persistence must be a number between 0 and 1"),
        ({"persistence": []}, "persistence must be one-dimensional and not empty"),
        ({"persistence": 0.5, "n": 1}, "n must be a whole number of at least 2"),
        ({"ci_prob": 1}, "ci_prob must be a number between 0 and 1"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
        ({"errors": "scene"}, "errors must be one of 'chain', 'runs', 'scenes'; it is 'scene'"),
        ({"errors": "runs", "error_persistence": 0.4}, "error_persistence must be at least 0.5 for errors='runs'"),
        ({"metric": "recall_per_class"}, "has a value a class"),
        ({"recall": 0.99, "specificity": 0.5, "persistence": 0.3}, "no chain has recall 0.99 and specificity 0.5"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        studies.dependence(**options)
