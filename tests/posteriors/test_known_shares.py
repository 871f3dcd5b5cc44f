"""Populations of strata with known shares: against sums and integrals of Beta distributions, and own draws."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, stats

import bayesperf as bp
from bayesperf.core.errors import InputError, PriorWarning
from bayesperf.posteriors.prevalence import Prevalence

# Schools of California by type (Lumley, R package survey, apistrat): tested of each type, and their numbers.
SIZES = {"E": 4421, "H": 755, "M": 1018}
SHARES = np.array(list(SIZES.values())) / 6194
TESTED = np.array([100, 50, 50])
REACHED = {"sch.wide": [91, 26, 35], "comp.imp": [75, 17, 24], "awards": [73, 16, 24]}
# True negatives, false positives, false negatives and true positives of three strata.
CELLS = np.array([[50, 10, 4, 36], [20, 2, 9, 19], [30, 15, 1, 4]])
MATRIX = bp.ConfusionMatrix.from_counts(
    **dict(zip(["tn", "fp", "fn", "tp"], CELLS.T, strict=True)), dims={"site": ["a", "b", "c"]}
)
MIX = {"a": 0.2, "b": 0.5, "c": 0.3}


def outcomes(reached):
    return bp.Outcomes.from_counts(right=np.array(reached), n=TESTED, dims={"type": list(SIZES)})


def prior_examples(shares, tested, total=2):
    """Pseudo-examples in all (1 for outcomes), by the standard error of each stratum: its share / √(examples + 1)."""
    adds = np.array(shares) / np.sqrt(np.array(tested) + 1)
    return total * adds / adds.sum()


@pytest.mark.parametrize("reached", REACHED.values(), ids=REACHED)
def test_moments_of_a_proportion_are_those_of_a_sum_of_betas(reached):
    found = bp.posterior(outcomes(reached), strata="type", shares=SIZES)["accuracy"]
    weights = prior_examples(SHARES, TESTED, 1) / 2
    each = [stats.beta(k + a, n - k + a) for k, n, a in zip(reached, TESTED, weights, strict=True)]
    mean = sum(w * of.mean() for w, of in zip(SHARES, each, strict=True))
    variance = sum(w**2 * of.var() for w, of in zip(SHARES, each, strict=True))
    assert found.mean().item() == pytest.approx(mean, rel=1e-12)
    assert found.sd().item() == pytest.approx(np.sqrt(variance), rel=1e-12)
    assert found.observed.item() == pytest.approx(SHARES @ (np.array(reached) / TESTED), rel=1e-12)
    assert found.mcse().item() == 0


def test_distribution_of_a_proportion_is_a_convolution():
    """P(W₁X + W₂Y ≤ x) = E[F_X((x − W₂Y)/W₁)]."""
    cm = bp.Outcomes.from_counts(right=[40, 9], n=[60, 10], dims={"site": ["a", "b"]})
    found = bp.posterior(cm, strata="site", shares={"a": 0.7, "b": 0.3}, draws=100_000)["accuracy"]
    one, other = prior_examples([0.7, 0.3], [60, 10], 1) / 2
    first, second = stats.beta(40 + one, 20 + one), stats.beta(9 + other, 1 + other)
    for x in (0.68, 0.74, 0.8):
        expected = integrate.quad(lambda y, x=x: first.cdf((x - 0.3 * y) / 0.7) * second.pdf(y), 0, 1)[0]
        assert found.prob_below(x).item() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 100_000))


@pytest.mark.parametrize("shares_of", ["population", "sample"])
def test_all_metrics_are_those_of_mixed_cells(shares_of):
    counted = {"a": 8, "b": 20, "c": 12}
    shares = MIX if shares_of == "population" else counted
    post = bp.posterior(MATRIX, strata="site", shares=shares, shares_of=shares_of)
    rng = np.random.default_rng(5)
    n = 200_000
    sampled = np.array(list(counted.values())) + 1 / 3
    expected = list(MIX.values()) if shares_of == "population" else sampled / sampled.sum()
    weights = prior_examples(expected, CELLS.sum(1)) / 4
    cells = np.stack([rng.dirichlet(counts + a, n) for counts, a in zip(CELLS, weights, strict=True)])
    weights = np.tile(list(MIX.values()), (n, 1))
    if shares_of == "sample":
        weights = rng.dirichlet(sampled, n)
    tn, fp, fn, tp = np.einsum("hnc,nh->cn", cells, weights)
    own = {
        "accuracy": tp + tn,
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
    }
    for metric, values in own.items():
        error = values.std() * np.sqrt(1 / n + 1 / 40_000)
        assert post[metric].mean().item() == pytest.approx(values.mean(), abs=4 * error)
        assert post[metric].sd().item() == pytest.approx(values.std(), rel=0.03)


def test_systems_on_the_same_examples_stay_paired():
    rng = np.random.default_rng(2)
    truth, site = rng.integers(0, 2, 300), np.repeat(["a", "b", "c"], 100)
    old = np.where(rng.random(300) < 0.2, 1 - truth, truth)
    new = np.where(rng.random(300) < 0.1, truth, old)
    cm = bp.ConfusionMatrix.from_predictions(truth, {"old": old, "new": new}, by={"site": site})
    post = bp.posterior(cm, strata="site", shares=MIX)
    paired = bp.compare(post, metric="accuracy").difference
    # The difference in each stratum is Beta-distributed by its discordant examples: moments of their sum.
    gained, lost = (((new == truth) > (old == truth)), ((new == truth) < (old == truth)))
    mean, variance = 0.0, 0.0
    for (name, share), a in zip(MIX.items(), prior_examples(list(MIX.values()), [100] * 3), strict=True):
        up, down = ((side & (site == name)).sum() + a / 4 for side in (gained, lost))
        total = 100 + a
        mean += share * (up - down) / total
        variance += share**2 * ((up + down) / total - ((up - down) / total) ** 2) / (total + 1)
    assert -paired.mean().item() == pytest.approx(mean, abs=4 * np.sqrt(variance / 10_000))
    assert paired.sd().item() == pytest.approx(np.sqrt(variance), rel=0.04)


def test_posteriors_of_strata_that_learn_from_each_other():
    pooled = bp.pool(MATRIX, dim="site", groups="clusters").by_group
    post = bp.posterior(pooled, strata="site", shares=MIX)
    assert post.dims == ()
    by_site = pooled["accuracy"].mean().values
    assert post["accuracy"].mean().item() == pytest.approx(by_site @ np.array(list(MIX.values())), abs=0.005)


def test_two_dims_of_strata():
    counts = xr.concat([MATRIX.counts, MATRIX.counts + 3], "age").assign_coords(age=["old", "young"])
    cm = bp.ConfusionMatrix(counts.transpose("age", "site", ...), 1)
    shares = {(age, site): w * share for age, w in (("old", 0.4), ("young", 0.6)) for site, share in MIX.items()}
    post = bp.posterior(cm, strata=["age", "site"], shares=shares)
    rates = cm.counts.values.reshape(6, 4)
    prior = prior_examples(list(shares.values()), rates.sum(1))
    mean = (rates[:, [0, 3]].sum(1) + prior / 2) / (rates.sum(1) + prior)
    assert post["accuracy"].mean().item() == pytest.approx(mean @ np.array(list(shares.values())), rel=1e-9)
    assert list(post.source.strata().columns) == ["age", "site", "share", "examples"]


def test_few_examples_that_decide_are_not_certain():
    """Five of five right leave doubt: in a stratum of most of the population, and where the others were tested well."""
    names = [f"s{i}" for i in range(20)]
    most = bp.Outcomes.from_counts(right=[5] + [10] * 19, n=[5] + [10] * 19, dims={"s": names})
    shares = dict(zip(names, [0.9] + [0.1 / 19] * 19, strict=True))
    accuracy = bp.posterior(most, strata="s", shares=shares)["accuracy"]
    # Of the first stratum alone, Jeffreys' prior has its 2.5 % limit at .62.
    lowest = 0.9 * stats.beta(5.5, 0.5).ppf(0.025) + 0.1
    lower, upper = accuracy.eti().values
    assert lower == pytest.approx(lowest, abs=0.03)
    assert lower < 0.8 < 0.99 < upper
    few = bp.Outcomes.from_counts(right=[5] + [4000] * 19, n=[5] + [5000] * 19, dims={"s": names})
    lower, upper = bp.posterior(few, strata="s", shares=dict.fromkeys(names, 1))["accuracy"].eti().values
    assert lower < 0.8 < 0.8 + 0.04 / 20 < upper


def test_default_prior_differs_by_system_and_needs_no_share():
    """Two systems tested on other examples each; a stratum without a share does not matter."""
    tested = np.array([[40, 10], [10, 40]])
    cm = bp.Outcomes.from_counts(right=tested - 2, n=tested, dims={"model": ["m", "n"], "site": ["a", "b"]})
    found = bp.posterior(cm, strata="site", shares={"a": 0.7, "b": 0.3, "c": 0})["accuracy"]
    for n, mean in zip(tested, found.mean().values, strict=True):
        a = prior_examples([0.7, 0.3], n, 1)
        assert mean == pytest.approx(((n - 2 + a / 2) / (n + a)) @ [0.7, 0.3], abs=1e-5)
    assert found.observed.values == pytest.approx([0.7 * 38 / 40 + 0.3 * 0.8, 0.7 * 0.8 + 0.3 * 38 / 40])


def test_shares_are_read_by_the_names_of_their_dims():
    counts = xr.concat([MATRIX.counts, MATRIX.counts + 3], "age").assign_coords(age=["old", "young"])
    cm = bp.ConfusionMatrix(counts.isel(site=[0, 1]).transpose("age", "site", ...), 1)
    levels = {"age": ["old", "young"], "site": ["a", "b"]}
    shares = xr.DataArray([[0.1, 0.2], [0.6, 0.1]], levels, list(levels))
    series = shares.to_series()
    means = [
        bp.posterior(cm, strata=["age", "site"], shares=given, draws=1000)["accuracy"].mean().item()
        for given in (shares, shares.T, series, series.swaplevel(), series.to_dict())
    ]
    assert means == pytest.approx([means[-1]] * 5, rel=1e-12)
    with pytest.raises(InputError, match="is over 'age', 'place', and the strata over 'age', 'site'"):
        bp.posterior(cm, strata=["age", "site"], shares=shares.rename(site="place"))
    with pytest.raises(InputError, match="more than one share of 'b'"):
        bp.posterior(MATRIX, strata="site", shares=pd.Series([300, 100, 600], index=["a", "b", "b"]))


def test_a_stratum_in_which_one_system_alone_has_no_examples():
    cells = {"tp": [[40, 10], [20, 0]], "fn": [[1, 9], [3, 0]], "fp": [[1, 2], [3, 0]], "tn": [[40, 10], [10, 0]]}
    cm = bp.ConfusionMatrix.from_counts(**cells, dims={"model": ["m", "n"], "site": ["a", "b"]})
    with pytest.warns(PriorWarning, match="'b, n' has no examples.*BP206"):
        post = bp.posterior(cm, strata="site", shares={"a": 0.1, "b": 0.9})
    observed = post["accuracy"].observed.values
    assert observed[0] == pytest.approx(0.1 * 80 / 82 + 0.9 * 20 / 31)
    assert np.isnan(observed[1])
    # A stratum of no share needs no examples.
    alone = bp.posterior(cm, strata="site", shares={"a": 1, "b": 0})["accuracy"].observed.values
    assert alone == pytest.approx([80 / 82, 30 / 36])


def test_effective_number_of_examples():
    """With shares as sampled, and strata alike, the sample is worth its size; with other shares, less."""
    alike = bp.Outcomes.from_counts(right=[80, 160], n=[100, 200], dims={"site": ["a", "b"]})
    as_sampled = bp.posterior(alike, strata="site", shares={"a": 1 / 3, "b": 2 / 3}).source
    turned = bp.posterior(alike, strata="site", shares={"a": 2 / 3, "b": 1 / 3}).source
    assert as_sampled.effective_number("accuracy").item() == pytest.approx(300, abs=2)
    # Kish: 1 / Σ W²/n.
    assert turned.effective_number("accuracy").item() == pytest.approx(1 / (4 / 900 + 1 / 1800), abs=2)
    with pytest.raises(InputError, match="no proportion"):
        bp.posterior(MATRIX, strata="site", shares=MIX).source.effective_number("f1")


def test_a_stratum_without_examples_has_its_prior_and_is_named():
    with pytest.warns(PriorWarning, match="'d' has no examples.*BP206"):
        post = bp.posterior(MATRIX, strata="site", shares={"a": 0.2, "b": 0.4, "c": 0.3, "d": 0.1})
    assert post.source.empty == ["d"]
    assert "d has no examples, so the prior decides there." in post.in_words()
    assert np.isnan(post["accuracy"].observed)


def test_predictions_and_another_prevalence():
    post = bp.posterior(MATRIX, strata="site", shares=MIX)
    new = post.predict(40)["accuracy"]
    p, v = post["accuracy"].mean().item(), post["accuracy"].sd().item() ** 2
    assert new.sd().item() == pytest.approx(np.sqrt(v + (p * (1 - p) - v) / 40), rel=0.05)
    assert post.at_prevalence(0.1)["recall"].mean().item() == pytest.approx(post["recall"].mean().item(), rel=1e-6)
    assert post.at_prevalence(0.1)["prevalence"].mean().item() == pytest.approx(0.1)
    assert "drawn at random" in post.in_words("accuracy")
    assert "drawn at random" not in post.at_prevalence(0.1).in_words("accuracy")
    with pytest.raises(InputError, match="before at_prevalence"):
        post.at_prevalence(0.1).source.effective_number("accuracy")
    with pytest.raises(InputError, match="Update the counts of the strata"):
        post.update(MATRIX.sum("site"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strata": "age", "shares": MIX}, "strata: 'age' is not a leading dim; they are"),
        ({"strata": "site"}, "shares must map each stratum to its share"),
        ({"shares": MIX}, "strata: name the dim of the strata"),
        ({"strata": "site", "shares": {"a": 0.5, "b": 0.5}}, "shares has no share of 'c'"),
        ({"strata": "site", "shares": {"a": 0.5, "b": 0.4, "c": 0.3}}, "must sum to 1, or be sizes; they sum to 1.2"),
        ({"strata": "site", "shares": {"a": 0.5, "b": -0.5, "c": 1.0}}, "must be finite, not negative"),
        ({"strata": "site", "shares": {"a": "half", "b": 1, "c": 1}}, "shares\\['a'\\] must be a number"),
        ({"strata": "site", "shares": MIX, "shares_of": "sample"}, "must be the numbers of its examples"),
        ({"strata": "site", "shares": MIX, "shares_of": "town"}, "shares_of must be one of"),
        ({"strata": "site", "shares": MIX, "design": "by_actual"}, "design must be 'joint' with strata"),
        ({"shares_of": "sample"}, "shares_of says where shares come from, and there are none"),
        ({"strata": "site", "shares": MIX, "prior": "shared"}, "'shared' is not available for strata"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises((InputError, TypeError), match=message):
        bp.posterior(MATRIX, **arguments)
    with pytest.raises(TypeError, match="design: the posterior has its own"):
        bp.posterior(bp.posterior(MATRIX), strata="site", shares=MIX, design="by_actual")


def test_weights_of_rows_name_the_way():
    with pytest.raises(InputError, match="strata='group', shares="):
        bp.ConfusionMatrix.from_predictions([0, 1], [1, 1], sample_weight=[1, 2])


def test_shares_as_sampled_vary_as_a_dirichlet():
    weights = np.array([2.0, 3.5, 6.0])
    np.testing.assert_allclose(Prevalence(weights, fixed=False).covariance, stats.dirichlet(weights).cov())
    assert not Prevalence(weights, fixed=True).covariance.any()
