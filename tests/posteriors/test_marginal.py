"""The verbs of a marginal: shapes, labels, and what they refuse."""

import numpy as np
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from scipy import signal, stats

import bayesperf as bp
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.sentences import caveats_of

FOLDS = bp.ConfusionMatrix.from_table(
    [[[[9, 1], [2, 8]], [[8, 2], [1, 9]], [[10, 0], [3, 7]]], [[[7, 3], [2, 8]], [[6, 4], [1, 9]], [[9, 1], [5, 5]]]],
    dims={"model": ["A", "B"], "fold": [1, 2, 3]},
)
METHODS = {"recall": "exact", "f1": "exact", "f2": "quadrature", "mcc": "quadrature", "fowlkes_mallows_macro": "draws"}


@pytest.mark.few
@pytest.mark.parametrize(("name", "method"), METHODS.items())
def test_every_verb_has_the_leading_dims(name, method):
    marginal = bp.posterior(FOLDS)[name]
    assert marginal.method == method
    for verb in ("mean", "sd", "median", "mcse", "mcse_interval", "undefined"):
        assert getattr(marginal, verb)().dims == ("model", "fold")
    for verb in (marginal.pdf, marginal.cdf, marginal.sf, marginal.prob_above, marginal.prob_below):
        assert verb(0.5).dims == ("model", "fold")
        many = verb([0.4, 0.5])
        assert many.dims == ("model", "fold", "x")
        assert many["x"].values.tolist() == [0.4, 0.5]
    assert marginal.ppf([0.1, 0.9]).dims == ("model", "fold", "q")
    for interval in (marginal.hdi(0.8), marginal.eti(0.8)):
        assert interval.dims == ("model", "fold", "ci_bound")
        assert interval["ci_bound"].values.tolist() == ["lower", "upper"]
        assert interval.attrs["ci_prob"] == 0.8
    assert marginal.joint_draws(7).dims == ("model", "fold", "draw")
    assert marginal.mean()["model"].values.tolist() == ["A", "B"]


@pytest.mark.few
@pytest.mark.parametrize("name", METHODS)
def test_verbs_agree_with_each_other(name):
    marginal = bp.posterior(FOLDS, draws=20_000)[name]
    x = marginal.ppf([0.1, 0.6]).isel(model=0, fold=0).values
    one = bp.posterior(FOLDS.isel(model=0, fold=0), draws=20_000)[name]
    np.testing.assert_allclose(one.cdf(x), [0.1, 0.6], atol=1e-4)
    np.testing.assert_allclose(one.cdf(x) + one.sf(x), 1, atol=1e-12)
    np.testing.assert_allclose(one.prob_between(*x), 0.5, atol=1e-4)
    assert one.median().item() == one.ppf(0.5).item()
    if one.method != "draws":
        assert tuple(one.ppf([0, 1]).values) == one.bounds


def test_one_matrix_gives_numbers():
    recall = bp.posterior(FOLDS.isel(model=0, fold=0))["recall"]
    assert recall.mean().shape == ()
    assert recall.dims == ()
    assert recall.cdf(0.7).item() == pytest.approx(stats.beta(8.5, 2.5).cdf(0.7))
    assert recall.pdf(0.7).item() == pytest.approx(stats.beta(8.5, 2.5).pdf(0.7))
    assert recall.sd().item() == pytest.approx(stats.beta(8.5, 2.5).std())
    assert repr(recall) == f"<bayesperf.Marginal: recall (exact)>\n{recall.in_words()}"


@pytest.mark.parametrize("name", ["recall", "f1", "f2", "mcc"])
def test_beyond_the_bounds(name):
    marginal = bp.posterior(FOLDS.isel(model=0, fold=0))[name]
    assert marginal.cdf([-2, 2]).values.tolist() == [0, 1]
    assert marginal.sf([-2, 2]).values.tolist() == [1, 0]
    assert marginal.pdf([-2, 2]).values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.hdi(1.0), "ci_prob must be a number between 0 and 1"),
        (lambda m: m.hdi(95), "ci_prob must be a number between 0 and 1"),
        (lambda m: m.eti("wide"), "ci_prob must be a number between 0 and 1"),
        (lambda m: m.ppf(1.2), r"q must be in \[0, 1\]"),
        (lambda m: m.cdf([[0.1]]), "x must be a number or a one-dimensional array"),
        (lambda m: m.cdf(np.nan), "none missing"),
        (lambda m: m.prob_between(0.5, 0.4), "lo must not exceed hi"),
        (lambda m: m.interval(0.9, "central"), "ci_kind must be one of 'hdi', 'eti'"),
        (lambda m: m.joint_draws(-1), "draws must be a whole number"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call(bp.posterior(FOLDS)["recall"])


@pytest.mark.slow
def test_thousands_of_matrices_at_once():
    rng = np.random.default_rng(2)
    counts = xr.DataArray(rng.integers(0, 40, (4, 700)), dims=("cell", "site"))
    tp, fn, fp, tn = counts
    f2 = bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn))["f2"]
    assert f2.mean().sizes == {"site": 700}  # more than are integrated in one go
    one = bp.ConfusionMatrix.from_counts(tp=tp[500].item(), fn=fn[500].item(), fp=fp[500].item(), tn=tn[500].item())
    assert f2.hdi()[500].values == pytest.approx(bp.posterior(one)["f2"].hdi().values, abs=1e-9)


# ── Selection ──


@pytest.mark.few
@pytest.mark.parametrize(("name", "method"), METHODS.items())
@pytest.mark.parametrize(
    ("how", "indexers"),
    [
        ("sel", {"model": "B"}),
        ("sel", {"model": "B", "fold": [3, 1]}),
        ("sel", {"fold": slice(2, 3)}),
        ("isel", {"model": 1, "fold": 0}),
    ],
)
def test_a_selection_is_the_same_distribution(name, method, how, indexers):
    whole = bp.posterior(FOLDS)[name]
    part = getattr(whole, how)(**indexers)
    assert part.method == method
    assert (part.name, part.bounds, part.estimand) == (whole.name, whole.bounds, whole.estimand)
    verbs = (
        lambda m: m.mean(), lambda m: m.sd(), lambda m: m.median(), lambda m: m.mcse(), lambda m: m.mcse_interval(),
        lambda m: m.undefined(), lambda m: m.pdf([0.5, 0.8]), lambda m: m.cdf(0.7), lambda m: m.ppf([0.1, 0.6]),
        lambda m: m.hdi(0.9), lambda m: m.eti(0.9), lambda m: m.joint_draws(50), lambda m: m.joint_draws(50, 3),
    )  # fmt: skip
    for verb in verbs:
        xr.testing.assert_allclose(verb(part), getattr(verb(whole), how)(**indexers), rtol=1e-9)


def test_a_selection_has_the_order_that_was_asked():
    recall = bp.posterior(FOLDS)["recall"]
    turned = recall.sel(model=["B", "A"], fold=[3, 1, 2])
    xr.testing.assert_equal(turned.mean(), recall.mean().sel(model=["B", "A"], fold=[3, 1, 2]))


def test_a_selection_of_one_matrix_is_that_of_its_beta():
    recall = bp.posterior(FOLDS, "flat")["recall"].sel(model="A", fold=3)
    assert recall.dims == ()
    expected = stats.beta(8, 4)
    assert recall.cdf(0.6).item() == pytest.approx(expected.cdf(0.6), rel=1e-12)
    np.testing.assert_allclose(recall.eti(0.8), expected.ppf([0.1, 0.9]), rtol=1e-9)
    assert recall.leading["model"].item() == "A"


@pytest.mark.slow
def test_selections_of_every_kind_of_distribution():
    """Of a difference, a prediction, a pooled posterior, a sampler's draws and classes that share a prior."""
    post, classes = bp.posterior(FOLDS), bp.ConfusionMatrix.from_table([[9, 1, 0], [1, 7, 2], [0, 1, 9]])
    tables = [[[90, 9], [5, 95]], [[20, 80], [60, 40]], [[60, 30], [20, 70]]]
    sites = bp.ConfusionMatrix.from_table(tables, dims={"site": list("xyz")})
    pooled = bp.pool(sites, dim="site", groups="clusters")
    marginals = [
        bp.compare(post, metric="recall", dim="model", independent=True).difference,
        post.predict(20, draws=200)["accuracy"],
        post.predict(20, draws=200)["mcc"],
        pooled.by_group["recall"],
        bp.Posterior.from_datatree(post.to_datatree(["f1"], draws=100))["f1"],
        bp.posterior(classes)["recall_per_class"],
        bp.posterior(classes)["f1_per_class"],
    ]
    for marginal in marginals:
        dim = marginal.dims[-1]
        part = marginal.isel(**{dim: -1})
        assert part.method == marginal.method
        for one, whole in (
            (part.mean(), marginal.mean()),
            (part.hdi(), marginal.hdi()),
            (part.cdf(0.4), marginal.cdf(0.4)),
        ):
            np.testing.assert_allclose(one, whole.isel({dim: -1}), rtol=1e-7)
        np.testing.assert_array_equal(part.joint_draws(30), marginal.joint_draws(30).isel({dim: -1}))


def test_joint_draws_of_selections_are_those_of_one_matrix():
    post = bp.posterior(FOLDS)
    first, second = (post[name].isel(model=0, fold=0).joint_draws(2000) for name in ("recall", "fnr"))
    np.testing.assert_allclose(first + second, 1)


@pytest.mark.parametrize(
    ("select", "error", "words"),
    [
        (lambda m: m.sel(site=1), ValueError, r"sel: 'site' is not a leading dim; they are \['model', 'fold'\]"),
        (lambda m: m.isel(label=1), ValueError, "isel: 'label' is not a leading dim"),
        (lambda m: m.sel(model="C"), KeyError, "model"),
        (lambda m: m.isel(fold=7), IndexError, "7"),
        (lambda m: m.isel(fold=[]), ValueError, "isel: nothing is left of model, fold"),
    ],
)
def test_bad_selections(select, error, words):
    with pytest.raises(error, match=words):
        select(bp.posterior(FOLDS)["recall"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hdi", "eti"])
def test_errors_of_draws_of_a_sampler_are_arviz_s_of_the_mean_and_the_spread_of_interval_ends(kind):
    runs, shape = 200, (4, 1000)
    noise = np.random.default_rng(3).normal(size=(runs, *shape))
    chains = signal.lfilter([np.sqrt(1 - 0.6**2)], [1, -0.6], noise, axis=-1)
    leading = xr.DataArray(np.zeros(runs), dims="run")
    marginal = Marginal(Quantity("log_ratio"), Draws(chains, (-np.inf, np.inf), independent_draws=False), leading)

    errors = [array_stats.mcse(chain, chain_axis=0, draw_axis=1) for chain in chains]
    np.testing.assert_allclose(marginal.mcse(), errors, rtol=1e-12)
    # An AR(1) chain of coefficient .6 has (1 + .6)/(1 − .6) = 4 times fewer effective draws.
    assert np.mean(errors) == pytest.approx(np.sqrt(4 / 4000), rel=0.05)
    assert marginal.mean().std(ddof=1).item() == pytest.approx(np.mean(errors), rel=4 / np.sqrt(2 * runs))

    spread = marginal.interval(0.9, kind).std("run", ddof=1).max().item()
    # It is the larger of two estimates from ten batches each, hence somewhat too large.
    assert 0.85 < marginal.mcse_interval(0.9, kind).mean().item() / spread < 1.45
    assert spread > 1.3 * np.mean(errors)


def test_errors_of_independent_draws_and_of_exact_figures():
    cm = bp.ConfusionMatrix.from_table([[20, 3, 1], [4, 30, 5], [2, 6, 29]])
    drawn = bp.posterior(cm, "perks", draws=4000)["mcc"]
    error = array_stats.mcse(drawn.distribution.values[0], chain_axis=0, draw_axis=1)
    assert drawn.mcse().item() == pytest.approx(error, rel=0.1)
    exact = bp.posterior_of_rate(4, 5)
    assert exact.mcse().item() == exact.mcse_interval().item() == 0
    with pytest.raises(ValueError, match="kind"):
        drawn.mcse_interval(0.9, "central")


def test_a_bound_that_has_a_probability_counts_as_met():
    """A median grade is one of the grades: P(≥ 4) is 1 − P(≤ 3), by every verb and in every sentence."""
    post = bp.posterior(bp.Outcomes.from_grades([3, 4, 4, 5, 2, 4, 1, 3], scale=range(1, 6)))
    median = post["median_grade"]
    at_least = 1 - median.cdf(3).item()
    assert 0.2 < at_least < 0.8
    assert at_least > median.sf(4).item() + 0.05
    assert median.prob_above(4).item() == pytest.approx(at_least)
    # The mean of a median, 3.3, is no grade.
    assert "edian grade is 3.000 (" in median.in_words()
    assert median.prob_meets(4).item() == pytest.approx(at_least)
    # A metric whose smaller values are better meets a bound from the other side.
    share = bp.posterior(bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=3, tn=7))
    assert share["fnr"].prob_meets(0.3).item() == share["fnr"].cdf(0.3).item()
    assert share["recall"].prob_meets(0.3).item() == share["recall"].sf(0.3).item()
    # A difference on the same examples, 40 right against 80 of 100, is hardly at least 0.
    right = {"new": [1] * 40 + [0] * 60, "old": [1] * 80 + [0] * 20}
    systems = bp.ConfusionMatrix.from_predictions([1] * 100, right, labels=[0, 1], pos_label=1)
    worse = bp.compare(systems, metric="recall").difference
    assert worse.prob_meets(0).item() == pytest.approx(worse.sf(0).item(), abs=1e-12)
    assert worse.prob_meets(0).item() < 1e-6
    assert worse.prob_below(0).item() > 0.999
    # Of other draws, 40,000 of them: five standard errors.
    assert post.prob_joint({"median_grade": 4}).item() == pytest.approx(at_least, abs=0.0125)
    assert f"With probability {at_least:.0%}".replace("%", " %") in median.in_words(at_least=4)


def test_the_worst_of_several_is_said_to_have_a_monte_carlo_error():
    rng = np.random.default_rng(1)
    settled = rng.normal(size=(1, 4000))
    # The lower limit falls into the gap between two groups of draws.
    gap = np.where(rng.random((1, 4000)) < 0.025, -100, settled)
    leading = xr.DataArray([0.0, 0.0], {"model": ["settled", "gap"]}, "model")
    several = Marginal(Quantity("x"), Draws(np.stack([settled, gap]), (-np.inf, np.inf)), leading)
    assert caveats_of(several.isel(model=0), 0.95, "eti") == []
    assert caveats_of(several, 0.95, "eti") == caveats_of(several.isel(model=1), 0.95, "eti") != []
