"""Intervals against those of statsmodels, of rates, of their differences and ratios, and of kappa."""

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import Table2x2
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import bayesperf as bp
from bayesperf.intervals import delta, proportion, proportion_difference

RATES = {
    "wald": "normal",
    "wilson": "wilson",
    "agresti_coull": "agresti_coull",
    "clopper_pearson": "beta",
    "jeffreys": "jeffreys",
}
DIFFERENCES = {"wald": "wald", "newcombe": "newcomb", "agresti_caffo": "agresti-caffo"}


@pytest.mark.filterwarnings("ignore:method='wald'")
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("method", RATES)
def test_rates(method, confidence):
    k, n = np.array([(k, n) for n in (1, 4, 17, 300) for k in {0, 1, n // 3, n - 1, n}]).T
    expected = np.column_stack(proportion_confint(k, n, 1 - confidence, RATES[method]))
    found = proportion(k, n, confidence=confidence, method=method)
    np.testing.assert_allclose(found, np.clip(expected, 0, 1), atol=1e-9)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("method", DIFFERENCES)
def test_differences_of_rates(method, confidence):
    for counts in [(3, 11, 7, 29), (1, 40, 0, 12), (12, 13, 5, 40), (40, 90, 33, 80)]:
        expected = confint_proportions_2indep(
            *counts, method=DIFFERENCES[method], compare="diff", alpha=1 - confidence, correction=False
        )
        found = proportion_difference(*counts, confidence=confidence, method=method)
        assert found == pytest.approx(np.clip(expected, -1, 1), abs=1e-9), counts


@pytest.mark.parametrize("counts", [(9, 3, 2, 16), (40, 20, 30, 400)])
def test_odds_and_likelihood_ratios(counts):
    tp, fn, fp, tn = counts
    cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn)
    # The likelihood ratio is that of the risks of being called positive.
    table = Table2x2(np.array([[tp, fn], [fp, tn]], float), shift_zeros=False)
    for metric, expected in {
        "diagnostic_odds_ratio": table.oddsratio_confint(0.1),
        "positive_likelihood_ratio": table.riskratio_confint(0.1),
    }.items():
        for design in ("joint", "by_actual"):
            found = delta(cm, metric, confidence=0.9, transform="log", design=design)
            assert found.values == pytest.approx(expected, rel=1e-9), (metric, design)


@pytest.mark.parametrize("table", [[[9, 2, 1], [3, 14, 4], [1, 2, 8]], [[40, 5, 0], [3, 20, 6], [2, 9, 70]]])
def test_kappa(table):
    cm = bp.ConfusionMatrix.from_table(table)
    squares = (np.arange(3) - np.arange(3)[:, None]) ** 2
    for metric, weights in {
        "cohen_kappa": None,
        "weighted_kappa": squares,
        "linear_weighted_kappa": np.sqrt(squares),
    }.items():
        expected = cohens_kappa(np.array(table, float), weights=weights)
        found = delta(cm, metric)
        assert found.mean().item() == pytest.approx(expected.kappa, rel=1e-9), metric
        assert np.diff(found).item() == pytest.approx(2 * 1.959963984540054 * expected.std_kappa, rel=1e-9), metric
