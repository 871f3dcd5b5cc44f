"""Comparisons by every metric, of systems with unlike priors and prevalences, against draws of both."""

import numpy as np
import pytest

import bayesperf as bp
from tests.shared.rates import of_two_classes

pytestmark = pytest.mark.slow

N, OURS, ROPE = 100_000, 50_000, 0.04
# Standard errors that a figure may be away: none of some three hundred is expected to be farther.
FAR = 4.5


def test_every_metric():
    a = bp.posterior(bp.ConfusionMatrix.from_counts(tp=21, fn=6, fp=9, tn=40), "jeffreys", draws=OURS)
    b = bp.posterior(
        bp.ConfusionMatrix.from_counts(tp=30, fn=14, fp=5, tn=31), bp.prior.dirichlet([[4, 1], [2, 3]]), draws=OURS
    )
    first = np.random.default_rng(1).dirichlet([21.5, 6.5, 9.5, 40.5], N).T
    tp, fn, fp, tn = np.random.default_rng(2).dirichlet([33, 16, 6, 35], N).T
    share = np.random.default_rng(3).beta(5, 10, N)
    on_positive, on_negative = share / (tp + fn), (1 - share) / (fp + tn)
    second = tp * on_positive, fn * on_positive, fp * on_negative, tn * on_negative
    of_a, of_b = of_two_classes(*first), of_two_classes(*second)
    for name, of_first in of_a.items():
        found = bp.compare(a, b.at_prevalence((5, 10)), name, rope=ROPE, draws=OURS, independent=True)
        difference = of_first - of_b[name]
        error = FAR * np.sqrt(1 / N + (1 / OURS if found.difference.method == "draws" else 0))
        assert found.prob_greater.item() == pytest.approx((difference > 0).mean(), abs=0.5 * error), name
        regions = [(difference < -ROPE).mean(), (abs(difference) <= ROPE).mean(), (difference > ROPE).mean()]
        np.testing.assert_allclose(found.prob_rope, regions, atol=0.5 * error, err_msg=name)
        limits = found.difference.eti(0.9).values
        inside = [(difference < limits[0]).mean(), (difference > limits[1]).mean()]
        np.testing.assert_allclose(inside, 0.05, atol=0.22 * error, err_msg=name)
        if found.quantity.greater_is_better is not None and np.isfinite(found.difference.sd()):
            lost = np.maximum(-difference if found.quantity.greater_is_better else difference, 0)
            assert found.expected_loss.item() == pytest.approx(lost.mean(), abs=error * lost.std()), name
