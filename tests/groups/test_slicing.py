"""Slices: levels and gaps at a mix of the other dims, the worst slice, and both ways in."""

import dataclasses
import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats

import bayesperf as bp
from bayesperf.groups import slicing
from bayesperf.groups.sliced_metrics import Slices
from bayesperf.groups.slices_in_words import odds_ratio
from tests.shared.fits import THREE_SITES, groups_of_prior, without_nuts
from tests.shared.models import SLICED

RATES = ["prevalence", "recall", "specificity"]
SITES = SLICED.sum("age")
WHERE = [dict(zip(("site", "age"), at, strict=True)) for at in itertools.product(range(2), range(3))]


@pytest.fixture(scope="module")
def found():
    """Slices of any draws whatever."""
    rng = np.random.default_rng(4)
    labels = {dim: SLICED.counts[dim].values for dim in ("site", "age")}
    rates = xr.DataArray(rng.beta(5, 2, (2, 3, 2, 150, 3)), labels | {"rate": RATES},
                         ("site", "age", "chain", "draw", "rate"))  # fmt: skip
    spread = {name: (("effect", "rate", f"{name}_draw"), rng.gamma(2, size=(2, 2, 300))) for name in
              ("posterior", "prior")}  # fmt: skip
    measured = xr.Dataset(spread, {"effect": ["site", "age"], "rate": RATES[1:]}, {"measure": "spread"})
    before = rates.isel(draw=slice(100)).copy(data=rng.beta(2, 1, (2, 3, 2, 100, 3)))
    return Slices(SLICED, rates, before, measured, "any", independent_draws=True)


def rate(found, name, **place):
    return found.rates.sel(rate=name).isel(place).values.ravel()


def precision(prevalence, recall, specificity):
    return prevalence * recall / (prevalence * recall + (1 - prevalence) * (1 - specificity))


def test_metrics_of_slices(found):
    marginal = found["precision"]
    assert marginal.dims == ("site", "age")
    for place in WHERE:
        expected = precision(*(rate(found, name, **place) for name in RATES))
        drawn = marginal.isel(**place).distribution.values.ravel()
        np.testing.assert_allclose(drawn, expected, rtol=1e-12)
    np.testing.assert_array_equal(marginal.observed, bp.score(SLICED, "precision"))


@pytest.mark.slow
@pytest.mark.parametrize("mix", ["same", "own"])
def test_levels_are_averages_over_a_mix_of_the_others(found, mix):
    """Recall over positive examples, specificity over negative ones; a level has a prevalence of its own."""
    counts = SLICED.counts.values
    examples = {"recall": counts[..., 1, :].sum(-1), "specificity": counts[..., 0, :].sum(-1)}
    for site in range(2):
        prevalence = found.levels("site", "prevalence", mix=mix).isel(site=site).distribution.values.ravel()
        positives, negatives = examples["recall"][site].sum(), examples["specificity"][site].sum()
        assert stats.kstest(prevalence, stats.beta(1 + positives, 1 + negatives).cdf).pvalue > 1e-4
        level = {"prevalence": prevalence}
        for name, n in examples.items():
            weights = n.sum(0) if mix == "same" else n[site]
            parts = [w * rate(found, name, site=site, age=age) for age, w in enumerate(weights)]
            level[name] = sum(parts) / weights.sum()
        for metric, expected in (("recall", level["recall"]), ("fpr", 1 - level["specificity"]),
                                 ("precision", precision(**level))):  # fmt: skip
            drawn = found.levels("site", metric, mix=mix).isel(site=site).distribution.values.ravel()
            np.testing.assert_allclose(drawn, expected, rtol=1e-6)
    assert found.levels("site", "recall", mix=mix).observed.values.tolist() == bp.score(SITES, "recall").values.tolist()


def test_small_slices_do_not_draw_the_prevalence_of_a_level_to_a_half():
    """Of 40 slices of 4 examples, one of them positive."""
    n = np.full((2, 20), 1)
    cm = bp.ConfusionMatrix.from_counts(tp=n, fn=0, fp=0, tn=3 * n, dims=["site", "device"])
    rates = xr.DataArray(np.full((2, 20, 1, 4000, 3), 0.9), cm.counts.isel(actual=0, predicted=0, drop=True).coords,
                         ("site", "device", "chain", "draw", "rate")).assign_coords(rate=RATES)  # fmt: skip
    levels = Slices(cm, rates, rates, xr.Dataset(), "any", independent_draws=True).levels("site", "prevalence")
    expected = stats.beta(1 + 20, 1 + 60)
    np.testing.assert_allclose(levels.mean(), expected.mean(), atol=5 * expected.std() / np.sqrt(4000))
    np.testing.assert_allclose(levels.sd(), expected.std(), rtol=0.1)


def test_a_level_without_examples_has_equal_weights(found):
    nobody = SLICED.counts.copy(data=SLICED.counts.values * np.array([1, 0])[:, None, None, None])
    other = dataclasses.replace(found, cm=bp.ConfusionMatrix(nobody, "yes"))
    expected = np.mean([rate(found, "recall", site=1, age=age) for age in range(3)], axis=0)
    drawn = other.levels("site", "recall", mix="own").isel(site=1).distribution.values.ravel()
    np.testing.assert_allclose(drawn, expected, rtol=1e-12)


def test_gaps_are_of_all_pairs(found):
    table = found.gap("age", "fpr", above=0.1)
    levels = found.levels("age", "fpr").distribution.values.reshape(3, -1)
    assert table[["age", "age_other"]].values.tolist() == [[20, 40], [20, 60], [40, 60]]
    for (i, j), row in zip([(0, 1), (0, 2), (1, 2)], table.itertuples(), strict=True):
        gap = levels[i] - levels[j]
        assert row.mean == pytest.approx(gap.mean())
        assert row.prob_greater == np.mean(gap > 0)
        assert row.prob_above == np.mean(abs(gap) > 0.1)
        before = [found.levels("age", "fpr", before_data=True).distribution.values.reshape(3, -1)[k] for k in (i, j)]
        assert row.prior_above == np.mean(abs(before[0] - before[1]) > 0.1)
        inside = np.mean((gap >= row.ci_lower) & (gap <= row.ci_upper))
        assert inside == pytest.approx(0.95, abs=0.01)
    largest = found.largest_gap("age", "fpr")
    np.testing.assert_allclose(largest.distribution.values.ravel(), np.ptp(levels, axis=0))
    assert largest.bounds == (0, 1)
    of_two = found.largest_gap("site", "fpr").distribution.values.ravel()
    np.testing.assert_allclose(
        of_two, abs(np.diff(found.levels("site", "fpr").distribution.values.reshape(2, -1), axis=0)[0])
    )


@pytest.mark.parametrize(("metric", "worst"), [("recall", np.argmin), ("fpr", np.argmax)])
def test_the_worst_is_among_slices_with_examples(found, metric, worst):
    drawn = found[metric].distribution.values.reshape(6, -1)
    seen = ~np.isnan(bp.score(SLICED, metric).values.ravel())
    assert not seen.all()
    places = np.flatnonzero(seen)[worst(drawn[seen], axis=0)]
    expected = np.bincount(places, minlength=6) / drawn.shape[1]
    probabilities = found.prob_worst(metric)
    np.testing.assert_allclose(probabilities.values.ravel(), expected)
    assert probabilities.values[:, 1].tolist()[1] == 0


def test_table(found):
    table = found.summary("recall")
    columns = ["site", "age", "n", "observed", "mean", "ci_lower", "ci_upper", "prob_worst", "by_chance"]
    assert list(table) == columns
    # Four slices have an example.
    assert table["by_chance"].tolist() == np.where(table["observed"].notna(), 1 / 4, 0).tolist()
    assert table["n"].tolist() == SLICED.counts.sel(actual="yes").sum("predicted").values.ravel().tolist()
    np.testing.assert_array_equal(table["observed"], bp.score(SLICED, "recall").values.ravel())
    assert found.summary("f1")["n"].tolist() == SLICED.total.values.ravel().tolist()
    assert "prob_worst" not in found.summary("prevalence")
    assert "95 % highest-density interval. Prior: any." in repr(table)


def test_which_dim(found):
    table = found.which_dim(0.9, "eti")
    drawn = found.spread["posterior"].values
    assert table["rate"].tolist() == ["recall", "recall", "specificity", "specificity"]
    assert table["effect"].tolist() == ["site", "age"] * 2
    np.testing.assert_allclose(table["mean"], drawn.mean(-1).T.ravel())
    np.testing.assert_allclose(
        table["prior_upper"], np.quantile(found.spread["prior"].values, 0.95, axis=-1).T.ravel(), rtol=0.02
    )
    np.testing.assert_allclose(
        table["prob_largest"][:2], [np.mean(drawn[0, 0] > drawn[1, 0]), np.mean(drawn[1, 0] > drawn[0, 0])]
    )
    prior = found.spread["prior"].values
    np.testing.assert_allclose(table["prior_largest"][2], np.mean(prior[0, 1] > prior[1, 1]))


def with_recall(found, *, site, age, shift):
    """Slices whose recall is lower in one of them by a constant."""
    at = (found.rates["site"] == site) & (found.rates["age"] == age) & (found.rates["rate"] == "recall")
    return dataclasses.replace(found, rates=found.rates.where(~at, found.rates - shift))


@pytest.mark.slow
def test_in_words(found):
    alike = found.prob_worst("recall").max().item()
    assert alike < 0.5
    text = found.in_words("recall", 0.05)
    gap, before = (found.largest_gap("site", "recall", before_data=b).prob_above(0.05).item() for b in (False, True))
    assert 0.5 < gap <= before < 1
    assert text.startswith(
        f"Of 4 slices, the data do not point to a worst one: the most probable is so with probability "
        f"{100 * alike:.0f} % (25 % by chance). The data do not show that recall differs by more than 0.05 between "
        f"levels of site at the same mix of the other dims: the probability is {100 * gap:.0f} %, and was "
        f"{100 * before:.0f} % before the data. The data do not show that recall differs by more than 0.05 between "
        "levels of age "
    )
    site, age = (found.cm.counts[dim].values[0] for dim in ("site", "age"))
    worse = with_recall(found, site=site, age=age, shift=3).in_words("recall")
    assert worse.startswith(
        f"Of 4 slices, the most probable to be the worst is site {site}, age {age}: it is so with probability >99.9 % "
        "(25 % by chance), and its recall is "
    )
    assert "Recall differs by up to " in worse
    most = found.which_dim()[:2].sort_values("prob_largest").iloc[-1]
    assert text.rpartition(" before the data. Recall varies")[2] == (
        f" most by {most['effect']} with probability {100 * most['prob_largest']:.0f} %, which was "
        f"{100 * most['prior_largest']:.0f} % before the data."
    )
    assert ". Specificity varies most by " in found.in_words("f1")
    assert repr(found) == f"<bayesperf.groups.Slices: 2 site × 3 age>\n{found.in_words()}"
    assert "<table" in found._repr_html_()


# ── What the data add ──


def of_sites(rng, recall, n):
    tp = rng.binomial(n, recall)
    cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=n - tp, fp=4, tn=46, dims={"site": range(len(recall))})
    return bp.slices(cm, draws=2000, random_seed=rng)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 300])
def test_nothing_is_claimed_where_nothing_varies(n):
    """A gap of more than 0.05 is claimed in .07 of data sets with 30 examples, and a worst site in .03 (coverage)."""
    rng, claims = np.random.default_rng(5), np.zeros(2)
    for _ in range(40):
        worst, gap = of_sites(rng, np.full(8, 0.8), n).sentences("recall")
        claims += "to be the worst is" in worst, gap.startswith("Recall differs")
    assert (claims <= 40 * 0.07 + 3 * np.sqrt(40 * 0.07 * 0.93)).all()


@pytest.mark.slow
def test_one_level_that_differs_is_found():
    rng = np.random.default_rng(6)
    for _ in range(10):
        worst, gap = of_sites(rng, np.r_[0.5, np.full(7, 0.8)], 100).sentences("recall")
        assert worst.startswith("Of 8 slices, the most probable to be the worst is site 0: ")
        assert gap.startswith("Recall differs by up to 0.")
    # Many examples of sites that are alike.
    (_, gap) = of_sites(rng, np.full(8, 0.8), 3000).sentences("recall")
    assert gap.startswith(
        "Recall probably differs by no more than 0.05 between levels of site: the probability of more"
    )


def test_a_certain_prior_is_no_evidence():
    """Whatever the data say, they cannot add to a probability of 1; a level alone has no gap."""
    assert odds_ratio(1.0, 1.0, 1000) == 0
    assert odds_ratio(0.0, 0.0, 1000) == 1
    assert odds_ratio(1.0, 0.5, 1000) == pytest.approx(999)
    assert odds_ratio(0.75, 0.5, 1000) == pytest.approx(3)


@pytest.mark.slow
def test_levels_before_the_data():
    """Means, and squared differences of levels, of rates with a uniform mean and a dispersion Beta(1, 9)."""
    found, draws = bp.slices(SITES, draws=40_000), 40_000
    for metric in ("recall", "specificity"):
        first, second = found.levels("site", metric, before_data=True).distribution.values.reshape(2, -1)
        assert first.mean() == pytest.approx(1 / 2, abs=5 / np.sqrt(12 * draws))
        assert ((first - second) ** 2).mean() == pytest.approx(2 / 6 * 0.1, rel=5 * 2.5 / np.sqrt(draws))
        gap = found.largest_gap("site", metric, before_data=True)
        np.testing.assert_allclose(gap.distribution.values.ravel(), abs(first - second))
    assert found.levels("site", "recall", before_data=True).estimand == "Prior of the metric of each site"


def test_the_prevalence_of_a_level_before_the_data_is_uniform(found):
    before = found.levels("site", "prevalence", before_data=True).distribution.values
    assert stats.kstest(before[0].ravel(), "uniform").pvalue > 1e-4


# ── Counts along one dim ──


@pytest.mark.slow
def test_one_dim_needs_no_sampler():
    found, pooled = bp.slices(SITES, draws=3000), bp.pool(SITES, "site", "clusters", draws=3000)
    for metric in ("recall", "fpr"):
        np.testing.assert_allclose(found[metric].mean(), pooled.by_group[metric].mean(), rtol=1e-12)
    for site, (negatives, positives) in enumerate(SITES.counts.sum("predicted").values.tolist()):
        prevalence = found["prevalence"].isel(site=site).distribution.values.ravel()
        assert stats.kstest(prevalence, stats.beta(1 + positives, 1 + negatives).cdf).pvalue > 1e-4
    table = found.which_dim()
    np.testing.assert_allclose(table["mean"], pooled.dispersion.mean().sel(actual=["yes", "no"]), rtol=0.1)
    np.testing.assert_allclose(table["prior_mean"], 0.1, rtol=0.1)
    assert found.in_words().endswith("% before the data.")


def test_a_metric_that_was_observed_nowhere_has_no_worst_slice():
    found = bp.slices(bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=[1, 2], tn=[9, 8], dims={"site": ["a", "b"]}))
    assert found.in_words().startswith("Recall was observed in none of 2 slices.")
    assert found.summary()[["prob_worst", "by_chance"]].isna().all(axis=None)
    assert found.summary("specificity")["prob_worst"].sum() == 1


def test_the_order_of_the_labels_does_not_matter():
    other = bp.ConfusionMatrix(SITES.counts.isel(actual=[1, 0], predicted=[1, 0]), "yes")
    a, b = (bp.slices(cm, draws=3000).summary("precision") for cm in (SITES, other))
    np.testing.assert_allclose(a["mean"], b["mean"], atol=0.02)
    assert a["observed"].tolist() == b["observed"].tolist()


# ── Fits ──


def draws_of_prior(compiled, settings, seed, progressbar=False):
    return groups_of_prior(compiled.model, settings["chains"], settings["draws"], seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.ConvergenceWarning")
def test_fits_are_read(monkeypatch):
    without_nuts(monkeypatch, draws_of_prior)
    options = {"ordered": ["age"], "interactions": [["site", "age"]]}
    tree = bp.fit(SLICED, "slices", options=options, draws=50, tune=10, random_seed=1)
    found = bp.slices(tree)
    for metric in ("recall", "f1"):
        mean = tree["posterior"][metric].mean(("chain", "draw"))
        np.testing.assert_allclose(found[metric].mean(), mean.transpose("site", "age"), rtol=1e-9)
    assert found.which_dim()["effect"].tolist() == ["site", "age", "site:age"] * 2
    before = found.prior_rates.sel(rate=RATES[1:])
    np.testing.assert_allclose(before, tree["prior"]["rates"].transpose(*before.dims))
    for group, figures in (("posterior", "mean"), ("prior", "prior_mean")):
        expected = [sds_of_levels(tree[group]["rates"].sel(rate=rate)) for rate in RATES[1:]]
        np.testing.assert_allclose(found.which_dim()[figures], np.ravel(expected), rtol=1e-9)


def sds_of_levels(rate):
    """Mean standard deviations of the logits of sites, of ages and of what they do not add up to, draw by draw."""
    logits = special.logit(rate.stack(each=("chain", "draw")).transpose("each", "site", "age").values)
    sites, ages = logits.mean(2), logits.mean(1)
    rest = [table - table.mean(0) - table.mean(1, keepdims=True) + table.mean() for table in logits]
    both = [np.sqrt(np.sum(table**2) / 2) for table in rest]
    return sites.std(1, ddof=1).mean(), ages.std(1, ddof=1).mean(), np.mean(both)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.ConvergenceWarning")
def test_the_accuracy_of_several_classes(monkeypatch):
    without_nuts(monkeypatch, draws_of_prior)
    tree = bp.fit(THREE_SITES, "slices", options={"outcome": "accuracy"}, draws=50, tune=10, random_seed=1)
    found = bp.slices(tree)
    assert found.summary()["n"].tolist() == THREE_SITES.total.values.tolist()
    np.testing.assert_array_equal(found.summary()["observed"], bp.score(THREE_SITES, "accuracy"))
    assert found.in_words().startswith("Of 2 slices, the data do not point to a worst one: ")
    assert found.levels("fold", before_data=True).mean().round(1).values.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="only the accuracy of these slices was modelled, and not 'matth"):
        found.summary("mcc")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.ConvergenceWarning")
def test_one_system_of_several_is_selected(monkeypatch):
    without_nuts(monkeypatch, draws_of_prior)
    counts = xr.concat([SITES.counts, SITES.counts], "model").assign_coords(model=["a", "b"])
    tree = bp.fit(bp.ConfusionMatrix(counts, "yes"), "slices", draws=20, tune=10, random_seed=1)
    with pytest.raises(ValueError, match=r"the fit is of several systems. Select one: tree.sel\(model=…\)"):
        bp.slices(tree)
    assert bp.slices(tree.sel(model="b")).dims == ("site",)


@pytest.mark.parametrize(
    ("ask", "error", "text"),
    [
        (lambda found: found.levels("year"), ValueError, "there is no 'year' among the dims of the slices, site, age."),
        (lambda found: found.levels("age", mix="any"), ValueError, "mix must be one of 'same', 'own'"),
        (
            lambda found: found.gap("age", above=-1),
            ValueError,
            "above must be a gap that matters, at least 0; it is -1.",
        ),
        (lambda found: found.prob_worst("prevalence"), ValueError, "neither more nor less prevalence is better."),
        (lambda found: found["recall_per_class"], ValueError, "has a value a class"),
        (lambda found: found.summary("recal"), ValueError, "did you mean 'recall'"),
        (lambda found: found.plot(worst=0), ValueError, "worst must be a whole number"),
        (lambda _: bp.slices(SLICED), ValueError, r"these have \['site', 'age'\]. Fit the model"),
        (lambda _: bp.slices(xr.DataTree()), ValueError, "this is no fit of the model 'slices'"),
        (
            lambda _: bp.slices(
                bp.ConfusionMatrix(SITES.counts.assign_coords(actual=["a", "b"], predicted=["a", "b"]))
            ),
            ValueError,
            "which of the labels .* is the positive class",
        ),
        (lambda _: bp.slices(THREE_SITES), ValueError, "the rates of slices are of two classes; there are 3"),
        (lambda _: bp.slices([1]), TypeError, "data must be a fit of the model 'slices', or counts"),
    ],
)
def test_what_is_refused(found, ask, error, text):
    with pytest.raises(error, match=text):
        ask(found)


# ── Right or wrong ──


def test_slices_of_outcomes_are_the_groups_of_pool():
    right, n = [45, 30, 38], 50
    outcomes = bp.Outcomes.from_counts(right=right, n=n, dims={"site": list("abc")})
    found = bp.slices(outcomes)
    expected = bp.pool(outcomes, "site", "clusters").by_group["accuracy"]
    sd = expected.sd().max().item()
    np.testing.assert_allclose(found["accuracy"].mean(), expected.mean(), atol=5 * sd / np.sqrt(4000))
    assert found.summary()["observed"].tolist() == [0.9, 0.6, 0.76]
    assert found.prob_worst()[1] > 0.9
    assert 0.5 < found.gap("site")["prior_above"][0] < 0.7
    with pytest.raises(ValueError, match="these outcomes have 3 grades"):
        bp.slices(bp.Outcomes.from_grades([1, 2, 3] * 4, by={"site": list("ab") * 6}))


def test_the_spread_of_levels_is_that_of_an_analysis_of_variance():
    logits = np.random.default_rng(3).normal(size=(2, 3, 1, 4, 2))
    rates = xr.DataArray(special.expit(logits), dims=("site", "age", "chain", "draw", "rate"))
    spread = slicing._spread_of_levels(rates, [("site",), ("age",), ("site", "age")])
    by_site, by_age = logits.mean(1, keepdims=True), logits.mean(0, keepdims=True)
    rest = logits - by_site - by_age + logits.mean((0, 1))
    expected = by_site.std(0, ddof=1)[0], by_age.std(1, ddof=1)[0], np.sqrt((rest**2).sum((0, 1)) / 2)
    np.testing.assert_allclose(spread.transpose("effect", "chain", "draw", "rate"), expected)


def test_one_slice_is_not_called_the_worst():
    cells = {"tp": [0, 5], "fn": [0, 1], "fp": [0, 1], "tn": [0, 5]}
    with pytest.warns(UserWarning, match="the data say nothing of the dispersion"):
        found = bp.slices(bp.ConfusionMatrix.from_counts(**cells, dims={"site": ["a", "b"]}))
    assert found.in_words("recall").startswith("Only site b has examples for recall, and its recall is 0.7")
