"""False and true differences of models and of thresholds along expected performance curves."""

import numpy as np
import pytest
from scipy import stats

from bayesperf.curves import epc, epc_compare
from validation import epc_comparison


@pytest.mark.slow
def test_models_that_are_alike_are_seldom_found_to_differ():
    """At most .06, to three standard errors, at each α and, by the simultaneous band, at any; thresholds often."""
    study = epc_comparison.epc_comparison(60, alphas=[0, 0.05, 0.5, 0.95, 1], draws=400, simulations=100)
    models, thresholds = (study.sel(question=of) for of in ("models", "thresholds"))
    most = 0.06 + 3 * np.sqrt(0.06 * 0.94 / 100)
    assert (models["claims"].sel(band="pointwise") < most).all()
    assert (models["any_claim"].sel(band="simultaneous") < most).all()
    assert (models["coverage"].sel(band="pointwise") > 1 - most).all()
    assert (thresholds["any_claim"] > 0.5).all()


def test_figures_are_of_the_simulations_described():
    options = {"separations": (1.0, 2.0), "correlation": 0.5, "alphas": [0.2, 0.7], "draws": 50}
    study = epc_comparison.epc_comparison([12, 20], **options, simulations=5, prob=0.8, random_seed=3)
    true, bands = np.empty((5, 2, 2)), np.empty((5, 2, 2, 2, 2, 2))
    for index in range(5):
        rng = np.random.default_rng([3, index])
        for i, n in enumerate((12, 20)):
            y = np.repeat([0, 1], n)
            parts = []
            for _ in range(2):
                noise = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 2 * n).T
                parts.append([(y, shift * y + of) for shift, of in zip((1.0, 2.0), noise, strict=True)])
            curves = [epc(*parts_of, alphas=[0.2, 0.7]) for parts_of in zip(*parts, strict=True)]
            cuts = [curve.dataset["threshold"].values for curve in curves]
            hter = [(stats.norm.sf(cut) + stats.norm.cdf(cut - d)) / 2 for cut, d in zip(cuts, (1, 2), strict=True)]
            true[index, i] = hter[0] - hter[1]
            seed = int(rng.integers(2**63))
            for j, of in enumerate(("models", "thresholds")):
                found = epc_compare(*curves, question=of, draws=50, random_seed=seed)
                for k, kind in enumerate(("pointwise", "simultaneous")):
                    bands[index, j, k, i] = found.band(0.8, kind)["half_total_error_rate"]
    low, high = np.moveaxis(bands, -1, 0)
    np.testing.assert_allclose(study["difference"], true.mean(0))
    np.testing.assert_allclose(study["claims"], ((low > 0) | (high < 0)).mean(0))
    np.testing.assert_allclose(study["any_claim"], ((low > 0) | (high < 0)).any(-1).mean(0))
    np.testing.assert_allclose(study["width"], (high - low).mean(0))
    targets = np.stack([np.broadcast_to(true.mean(0), true.shape), true], 1)[:, :, None]
    np.testing.assert_allclose(study["coverage"], ((low <= targets) & (targets <= high)).mean(0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 1}, "n must be a whole number of at least 2"),
        ({"separations": (1,)}, "separations must be two"),
        ({"correlation": 2}, "correlation must be between -1 and 1"),
        ({"criterion": "eer"}, "criterion must be one of"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        epc_comparison.epc_comparison(**options)
