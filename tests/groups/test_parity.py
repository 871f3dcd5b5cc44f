"""Groups treated alike: fairlearn's and ProPublica's figures as observed values, and answers that data can give."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats

import bayesperf as bp
from bayesperf.core.errors import InputError
from bayesperf.groups.parity import CRITERIA, TOO_FEW

# ProPublica's analysis of COMPAS: score medium or high as the prediction (github.com/propublica/compas-analysis).
COMPAS = bp.ConfusionMatrix.from_counts(
    tn=[990, 1139], fp=[805, 349], fn=[532, 461], tp=[1369, 505], dims={"race": ["African-American", "Caucasian"]}
)
# The toy example of fairlearn's documentation, by group a, b, c.
FAIRLEARN = bp.ConfusionMatrix.from_counts(
    tp=[1, 3, 2], fn=[1, 2, 3], fp=[2, 0, 2], tn=[0, 1, 1], dims={"group": ["a", "b", "c"]}
)


def test_observed_values_are_those_of_fairlearn():
    found = bp.groups.parity(FAIRLEARN)
    np.testing.assert_allclose(found["selection_rate"].observed, [0.75, 0.5, 0.5])
    np.testing.assert_allclose(found["recall"].observed, [0.5, 0.6, 0.4])
    np.testing.assert_allclose(found["fpr"].observed, [1, 0, 2 / 3])
    # demographic_parity_difference and _ratio, equal_opportunity_difference and _ratio, equalized_odds_difference.
    table = found.summary().pivot(index="criterion", columns="contrast", values="observed")
    assert table.loc["demographic parity"].tolist() == pytest.approx([0.25, 0.666667], abs=1e-6)
    assert table.loc["equal opportunity"].tolist() == pytest.approx([0.2, 0.666667], abs=1e-6)
    assert table.loc["equalised odds"].tolist() == pytest.approx([1, 0], abs=1e-6)
    assert set(found.summary()["answer"]) == {TOO_FEW}
    assert bp.score(FAIRLEARN.sum("group"), "selection_rate").item() == pytest.approx(0.555556, abs=1e-6)


@pytest.mark.parametrize(("p_value", "answer"), [(0.012, "more than 0.05"), (0.03, TOO_FEW)])
def test_the_four_rates_share_the_probability_of_a_false_alarm(p_value, answer):
    """Groups that are alike are said to differ in 0.05 of data sets at most: by each rate in a fourth of these."""
    found = bp.groups.parity(COMPAS, draws=200)
    assert found.largest_gap("demographic parity").prob_above(0.05) == 1
    told = replace(found, p_values=xr.full_like(found.p_values, p_value)).summary().set_index(["criterion", "contrast"])
    assert told.loc[("demographic parity", "largest gap"), "answer"] == answer


def test_observed_values_are_those_of_propublica():
    white = COMPAS.sel(race="Caucasian")
    printed = {
        "fpr": 23.45,
        "fnr": 47.72,
        "specificity": 77,
        "recall": 52,
        "prevalence": 39,
        "precision": 59,
        "npv": 71,
    }
    for metric, percent in printed.items():
        assert 100 * bp.score(white, metric).item() == pytest.approx(percent, abs=0.5 if percent % 1 == 0 else 0.005)
    found = bp.groups.parity(COMPAS).summary().set_index(["criterion", "contrast"])
    # 28.0 % and 47.7 % were missed; 44.8 % and 23.5 % wrongly scored medium or high.
    assert found.loc[("equal opportunity", "largest gap"), "observed"] == pytest.approx(0.477 - 0.280, abs=0.001)
    assert found.loc[("equalised odds", "largest gap"), "observed"] == pytest.approx(0.448 - 0.2345, abs=0.001)
    answers = found["answer"].xs("largest gap", level="contrast")
    assert answers.tolist() == ["more than 0.05"] * 3 + [TOO_FEW]
    assert found.loc[("demographic parity", "smallest ratio"), "answer"] == "below 0.8"


def test_gaps_are_those_of_beta_binomial_groups():
    """By integration over a grid of mean and dispersion, and over the rates of both groups."""
    right, n = np.array([20, 11]), np.array([24, 24])
    cm = bp.ConfusionMatrix.from_counts(tp=right, fn=n - right, fp=[4, 4], tn=[20, 20], dims={"group": ["a", "b"]})
    found = bp.groups.parity(cm, draws=8000).largest_gap("equal opportunity")
    mean, spread = np.meshgrid((np.arange(30) + 0.5) / 30, stats.beta(1, 9).ppf((np.arange(30) + 0.5) / 30))
    kappa = 1 / spread.reshape(-1, 1) - 1
    a, b = mean.reshape(-1, 1) * kappa, (1 - mean.reshape(-1, 1)) * kappa
    weight = np.prod(stats.betabinom(n, a, b).pmf(right), axis=1)
    x = (np.arange(200) + 0.5) / 200
    first, second = (stats.beta(a + k, b + m - k) for k, m in zip(right, n, strict=True))
    gap = (first.pdf(x) / 200 * (second.cdf(x - 0.2) + second.sf(x + 0.2))).sum(1)
    expected = weight @ gap / weight.sum()
    assert found.prob_above(0.2).item() == pytest.approx(expected, abs=3.5 * np.sqrt(0.25 / 8000))


def test_ratios_of_slices_and_of_plain_groups():
    ratios = bp.slices(COMPAS).ratios("race", "selection_rate")
    assert ratios["median"].item() == pytest.approx(0.5882 / 0.3480, rel=0.02)
    assert ratios["prob_at_least"].item() < 0.001
    post = bp.posterior(COMPAS)
    plain = bp.compare(post, metric="selection_rate", dim="race", contrast="ratio", independent=True)
    # P(white/black > .55), of two independent Betas: ∫ P(white > .55 x) f_black(x) dx.
    black, white = stats.beta(2174 + 1, 1522 + 1), stats.beta(854 + 1, 1600 + 1)
    expected = integrate.quad(lambda x: white.sf(0.55 * x) * black.pdf(x), 0.4, 0.8)[0]
    assert plain.ratio.prob_below(1 / 0.55).item() == pytest.approx(expected, abs=0.01)
    smallest = bp.slices(COMPAS).smallest_ratio("race", "selection_rate")
    assert smallest.mean().item() == pytest.approx(0.5916, abs=0.01)


def test_other_dims_are_summed_and_words_say_when_there_are_too_few():
    by_sex = bp.ConfusionMatrix.from_counts(
        tp=[[9, 8], [7, 9]], fn=[[3, 2], [3, 4]], fp=2, tn=18, dims={"sex": ["f", "m"], "site": ["x", "y"]}
    )
    found = bp.groups.parity(by_sex, "sex")
    assert found.groups == ["f", "m"]
    assert "oo few examples to tell whether groups differ by more than 0.05" in found.in_words()
    assert found["recall"].observed.values.tolist() == [17 / 22, 16 / 23]
    assert {row["criterion"] for row in found.summary().to_dict("records")} == set(CRITERIA)


def test_rates_with_the_same_counts_are_independent():
    """The larger of two independent gaps exceeds 0.05 with probability 1 − (1 − P)²."""
    cm = bp.ConfusionMatrix.from_counts(tp=[9, 7], fn=[1, 3], fp=[9, 7], tn=[1, 3], dims={"g": ["a", "b"]})
    found = bp.groups.parity(cm, draws=10_000)
    for before in (False, True):
        one, both = (
            found.largest_gap(name, before_data=before).prob_above(0.05).item()
            for name in ("equal opportunity", "equalised odds")
        )
        assert both == pytest.approx(1 - (1 - one) ** 2, abs=4 * np.sqrt(2 * 0.25 / 10_000))


@pytest.mark.parametrize(("selected", "groups"), [(0, "ab"), (1, "abcd")])
def test_alike_groups_with_few_events_are_too_few_to_tell(selected, groups):
    """Among Betas of a mean near 0 ratios are near 0 whatever the data: the probability alone is no evidence."""
    fp = np.full(len(groups), selected)
    cm = bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=fp, tn=100 - fp, dims={"g": list(groups)})
    found = bp.groups.parity(cm)
    row = found.summary().set_index(["criterion", "contrast"]).loc[("demographic parity", "smallest ratio")]
    assert row["prob"] < 0.05
    assert row["answer"] == TOO_FEW
    assert row["p_value"] == 1
    assert (
        "Too few examples to tell whether the lowest selection rate is at least 0.8 of the highest" in found.in_words()
    )
    pairs = bp.slices(found.cm).ratios("g", "selection_rate")
    assert pairs["median"].between(0.9, 1.1).all()


def test_p_values_are_those_of_all_tables_with_the_same_sum():
    """By enumeration, weighed by scipy's multivariate hypergeometric distribution."""
    tp, n = np.array([3, 9, 1]), np.array([12, 20, 9])
    cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=n - tp, fp=[4, 4, 0], tn=[6, 26, 8], dims={"g": ["a", "b", "c"]})
    found = bp.groups.parity(cm, draws=10).p_values
    for rate, right, total in (("recall", tp, n), ("fpr", np.array([4, 4, 0]), np.array([10, 30, 8]))):
        tables = np.array([t for t in np.ndindex(*(total + 1)) if sum(t) == right.sum()])
        as_far = (tables**2 / total).sum(1) >= (right**2 / total).sum() - 1e-9
        expected = stats.multivariate_hypergeom(total, right.sum()).pmf(tables[as_far]).sum()
        assert found.sel(rate=rate).item() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 4000))


def test_more_examples_than_can_be_drawn_without_replacement():
    n = np.array([3 * 10**9, 2 * 10**9])
    alike, apart = (
        bp.groups.parity(
            bp.ConfusionMatrix.from_counts(tp=tp, fn=n - tp, fp=1, tn=1, dims={"g": ["a", "b"]}), draws=1000
        )
        for tp in (n // 5, n // [5, 10])
    )
    answers = [
        f.summary().set_index(["criterion", "contrast"])["answer"].loc["equal opportunity"] for f in (alike, apart)
    ]
    assert [list(answer) for answer in answers] == [["at most 0.05", "at least 0.8"], ["more than 0.05", "below 0.8"]]


def test_an_empty_group_leaves_the_observed_values_of_the_others():
    cm = bp.ConfusionMatrix.from_counts(
        tp=[10, 0, 20], fn=[5, 0, 6], fp=[3, 0, 2], tn=[97, 0, 98], dims={"g": ["a", "b", "c"]}
    )
    table = bp.groups.parity(cm).summary().pivot(index="criterion", columns="contrast", values="observed")
    gap, ratio = 20 / 26 - 10 / 15, (10 / 15) / (20 / 26)
    assert table.loc["equal opportunity"].tolist() == pytest.approx([gap, ratio])
    assert table.loc["equalised odds"].tolist() == pytest.approx([gap, 2 / 3])


def test_systems_on_the_same_examples_are_not_summed():
    rng = np.random.default_rng(1)
    truth, sex = rng.integers(0, 2, 200), rng.choice(["f", "m"], 200)
    cells = {"tp": [[9, 8], [9, 8]], "fn": [[3, 2], [3, 2]], "fp": 2, "tn": 18}
    for cm in (
        bp.ConfusionMatrix.from_predictions(truth, {"a": truth, "b": truth}, by={"sex": sex}),
        bp.ConfusionMatrix.from_counts(**cells, dims={"version": ["old", "copy"], "sex": ["f", "m"]}),
    ):
        with pytest.raises(InputError, match=r"is of several systems.*Select one: cm.sel"):
            bp.groups.parity(cm, "sex")
    with pytest.raises(InputError, match="'model' is of systems on the same examples, not of groups"):
        bp.groups.parity(bp.ConfusionMatrix.from_predictions(truth, {"a": truth, "b": truth}))


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        (bp.ConfusionMatrix.from_table(np.eye(3, dtype=int)), {}, "cm must have two classes"),
        (COMPAS.sum("race"), {}, "dim must name the dim of the groups"),
        (COMPAS.isel(race=[0]), {}, "has one group"),
        (COMPAS, {"above": 0}, "above must be a difference of rates"),
        (COMPAS, {"above": 1}, "above must be a difference of rates"),
        (COMPAS, {"at_least": 1.2}, "at_least must be a number between 0 and 1"),
        ([1, 2], {}, "cm must be a ConfusionMatrix"),
    ],
)
def test_refused(data, arguments, message):
    with pytest.raises((InputError, TypeError), match=message):
        bp.groups.parity(data, **arguments)


def test_an_unknown_criterion_or_rate_is_refused():
    found = bp.groups.parity(FAIRLEARN, draws=10)
    with pytest.raises(InputError, match="criterion must be one of 'demographic parity'"):
        found.largest_gap("fairness")
    with pytest.raises(InputError, match="rate must be one of selection_rate"):
        found["f1"]
