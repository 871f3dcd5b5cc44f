"""Coverage and width of paired and independent comparisons."""

import numpy as np
import pytest

import bayesperf as bp
from validation import pairing


def test_outcome_probabilities_have_the_margins_and_the_correlation():
    from validation.pairing import _outcome_probabilities

    shares = _outcome_probabilities(np.array([-0.1, 0.0, 0.5]), 0.85, 0.8)
    right = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(shares.sum(-1), 1)
    np.testing.assert_allclose(shares @ right, [[0.85, 0.8]] * 3)
    covariance = shares @ right.prod(-1) - 0.85 * 0.8
    np.testing.assert_allclose(covariance / np.sqrt(0.85 * 0.15 * 0.8 * 0.2), [-0.1, 0.0, 0.5], atol=1e-12)


@pytest.mark.slow
def test_paired_intervals_cover_and_are_narrower_where_errors_correlate():
    study = pairing.pairing([0.8], simulations=100)
    paired, independent = (study.sel(analysis=name, correlation=0.8) for name in ("paired", "independent"))
    assert paired["coverage"].item() == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 100))
    assert independent["width"].item() > 1.5 * paired["width"].item()
    # The independent interval is so wide that it hardly ever misses.
    assert independent["coverage"].item() > 0.98


@pytest.mark.slow
def test_coverage_is_within_a_point_and_a_half():
    study = pairing.pairing(simulations=2_000)
    np.testing.assert_allclose(study["coverage"].sel(analysis="paired"), 0.95, atol=0.015)
    ratio = study["width"].sel(analysis="independent") / study["width"].sel(analysis="paired")
    assert ratio.sel(correlation=0.8).item() > 1.5


def test_figures_are_of_the_simulations_described():
    options = {"correlation": [0.3, 0.6], "n": 50, "accuracy": (0.7, 0.75), "simulations": 4, "random_seed": 7}
    study = pairing.pairing(**options, prob=0.8)
    shares = {0.3: None, 0.6: None}
    for value in shares:
        both = 0.7 * 0.75 + value * np.sqrt(0.7 * 0.3 * 0.75 * 0.25)
        shares[value] = [both, 0.7 - both, 0.75 - both, 1 - 1.45 + both]
    widths = []
    for index in range(4):
        rng = np.random.default_rng([7, index])
        for value in options["correlation"]:
            outcomes = rng.multinomial(50, shares[value])
            rng.binomial(outcomes, 0.5)
            y_true = np.ones(50, dtype=int)
            y_a = np.repeat([1, 1, 0, 0], outcomes)
            y_b = np.repeat([1, 0, 1, 0], outcomes)
            pair = bp.PairedConfusionMatrix.from_predictions(y_true, y_a, y_b, labels=[0, 1])
            widths.append(np.ptp(bp.compare(pair, metric="accuracy").difference.eti(0.8).values))
    np.testing.assert_allclose(study["width"].sel(analysis="paired"), np.reshape(widths, (4, 2)).mean(0), rtol=1e-6)
    expected = options | {"accuracy": [0.7, 0.75], "prob": 0.8, "ci_kind": "eti"}
    assert expected.items() <= study.attrs.items()
    assert study.attrs["true"] == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correlation": [0.99]}, "cannot be correlated by 0.99"),
        ({"correlation": "a"}, "correlation must be numbers"),
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"accuracy": (0.5, 1.0)}, "accuracy must be a number between 0 and 1"),
        ({"prob": 95}, "prob must be a number between 0 and 1"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pairing.pairing(**options)
