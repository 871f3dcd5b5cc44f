"""Recalibration: its lines against integration, scikit-learn and NUTS; groups; isotonic lines; what is refused."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import special, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import bayesperf as bp
from bayesperf.curves.reliability.frequencies import ProbabilityCounts, draws_of_isotonic_line, interpolated
from bayesperf.distributions import logistic_line
from bayesperf.distributions.logistic_line import LineData, NormalPriors
from bayesperf.models import recalibration as model
from bayesperf.sampling.model_data import prepared
from tests.curves.test_reliability import breast_cancer, digits, simulated
from validation import recalibration
from validation.study import run

DATA = {
    "naive Bayes": breast_cancer("naive_bayes"),
    "digits": digits(),
    "overconfident": simulated(300, 12),
}
every_data = pytest.mark.parametrize("data", DATA.values(), ids=DATA)


def of_sites(sites=4, size=60, seed=0):
    """Return labels and probabilities of sites with lines of their own, and the site of each."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 2, (sites, size))
    line = rng.normal(0.3, 0.6, (sites, 1)) + rng.normal(0.7, 0.2, (sites, 1)) * log_odds
    happened = rng.random((sites, size)) < special.expit(line)
    return happened.ravel().astype(int), special.expit(log_odds).ravel(), np.repeat(list("abcdef")[:sites], size)


@pytest.fixture(scope="module")
def of_groups():
    y, p, site = of_sites()
    return bp.curves.recalibrate(y, p, by={"site": site}, draws=4000, progressbar=False)


# ── One line ──


def on_a_grid(y, p, means, sds):
    """Return intercepts, slopes and their weights in sums over plain rectangles."""
    intercept, slope = np.meshgrid(np.linspace(-8, 8, 401), np.linspace(-6, 8, 401), indexing="ij")
    linear = intercept[..., None] + slope[..., None] * special.logit(p)
    log_density = (y * linear - np.logaddexp(0, linear)).sum(-1)
    log_density += stats.norm.logpdf(intercept, means[0], sds[0]) + stats.norm.logpdf(slope, means[1], sds[1])
    return intercept, slope, special.softmax(log_density)


@pytest.mark.slow
@pytest.mark.parametrize(("means", "sds"), [((0, 1), (2.5, 2.5)), ((0.5, 0), (0.4, 1.5))])
def test_exact_draws_are_of_the_posterior(means, sds):
    y, p = simulated(40, 12, seed=1)
    priors = {name: pm.Normal.dist(m, s) for name, m, s in zip(("intercept", "slope"), means, sds, strict=True)}
    tree = bp.fit((y, p), "recalibration", priors, method="exact", draws=10_000, random_seed=1)
    drawn = np.stack([tree["posterior"][name].values.ravel() for name in ("intercept", "slope")])
    *values, weight = on_a_grid(y, p, means, sds)
    for own, value in zip(drawn, values, strict=True):
        mean = (weight * value).sum()
        sd = np.sqrt((weight * (value - mean) ** 2).sum())
        assert abs(own.mean() - mean) < 4 * sd / np.sqrt(drawn.shape[1])
        assert own.std() == pytest.approx(sd, rel=0.03)
    covariance = (weight * values[0] * values[1]).sum() - np.prod([(weight * value).sum() for value in values])
    assert np.corrcoef(drawn)[0, 1] == pytest.approx(covariance / drawn.std(1).prod(), abs=0.03)
    assert tree["posterior"].attrs["method"] == "exact"


@pytest.mark.slow
def test_predictions_are_of_the_posterior():
    y, p = simulated(40, 12, seed=1)
    found = bp.curves.recalibrate(y, p, draws=20_000).predict([0.1, 0.6])
    intercept, slope, weight = on_a_grid(y, p, (0, 1), (2.5, 2.5))
    for at, mean, (lower, upper) in zip([0.1, 0.6], found.mean().values, found.eti(0.9).values, strict=True):
        value = special.expit(intercept + slope * special.logit(at))
        expected = (weight * value).sum()
        assert abs(mean - expected) < 4 * np.sqrt((weight * (value - expected) ** 2).sum() / 20_000)
        for bound, level in ((lower, 0.05), (upper, 0.95)):
            # Beside the error of draws, that of rectangles.
            assert abs(weight[value <= bound].sum() - level) < 4 * np.sqrt(0.05 * 0.95 / 20_000) + 0.002


@every_data
def test_the_mode_under_flat_priors_is_that_of_scikit_learn(data):
    y, p = data
    log_odds = special.logit(np.clip(p, 1e-4, 1 - 1e-4))
    fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(log_odds[:, None], y)
    flat = NormalPriors(np.array([0.0, 1.0]), np.array([1e4, 1e4]))
    change, _ = logistic_line._mode(LineData.of(log_odds, y, np.ones_like(y), flat))
    np.testing.assert_allclose(change + flat.means, [fitted.intercept_[0], fitted.coef_[0, 0]], rtol=1e-4, atol=1e-5)


class LogOdds(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its only feature."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


@every_data
def test_platts_line_is_that_of_scikit_learn(data):
    """Whose labels are moved from 0 and 1 towards each other, by the weight of one example of either class."""
    y, p = data
    log_odds = special.logit(np.clip(p, 1e-4, 1 - 1e-4))
    fitted = CalibratedClassifierCV(LogOdds(), ensemble=False).fit(log_odds[:, None], y)
    moved = np.where(y == 1, (y.sum() + 1) / (y.sum() + 2), 1 / ((1 - y).sum() + 2))
    flat = NormalPriors(np.array([0.0, 1.0]), np.array([1e4, 1e4]))
    change, _ = logistic_line._mode(LineData.of(log_odds, moved, np.ones_like(y), flat))
    at = np.linspace(log_odds.min(), log_odds.max(), 9)
    ours = special.expit(change[0] + (1 + change[1]) * at)
    np.testing.assert_allclose(ours, fitted.predict_proba(at[:, None])[:, 1], atol=1e-4)


@pytest.mark.slow
def test_calibration_and_recalibration_have_one_posterior():
    y, p = DATA["overconfident"]
    slope = bp.curves.calibration(y, p, draws=4000)["calibration_slope"]
    ours = bp.curves.recalibrate(y, p)["slope"]
    assert abs(ours.mean() - slope.mean()) < 4 * slope.sd() * np.sqrt(2 / 4000)
    assert str(model.PRIORS["intercept"].owner.op) == str(model.PRIORS["slope"].owner.op)


@pytest.mark.slow
@pytest.mark.parametrize("separated", [False, True])
def test_nuts_draws_from_the_same_posterior(separated):
    y, p = simulated(80, 12)
    if separated:
        p = special.expit(np.linspace(-12, 12, 80))
        y = (p > 0.5).astype(int)
    # Log-odds of ±12 and a slope of 4 are a cliff, which takes shorter steps; the grid is the default.
    settings = {"target_accept": 0.995} if separated else {}
    sampled = bp.fit((y, p), "recalibration", random_seed=1, draws=2000, method="mcmc", progressbar=False, **settings)
    exact = bp.fit((y, p), "recalibration", method="exact", random_seed=2, draws=2000)
    for name in ("intercept", "slope"):
        a, b = (tree["posterior"][name] for tree in (sampled, exact))
        # An effective sample size of 1,000 at least.
        assert abs(a.mean() - b.mean()) < 4 * b.std() * np.sqrt(1 / 1000 + 1 / 8000)
        assert a.std().item() == pytest.approx(b.std().item(), rel=0.12)
    assert sampled["sample_stats"]["diverging"].sum() == 0


@pytest.mark.slow
def test_lines_of_separated_groups_are_sampled():
    p = special.expit(np.linspace(-12, 12, 40))
    # Ids without a name are those of groups.
    found = bp.curves.recalibrate((p > 0.5).astype(int), p, by=np.arange(40) % 4, random_seed=1, progressbar=False)
    assert found.dim == "group"
    assert found["slope"].mean() > 2
    assert found.predict(0.9).mean() > 0.9


# ── Data ──


def test_examples_alike_are_one_row():
    y, p, site = np.array([0, 1, 1, 0, 1]), np.array([0.2, 0.2, 0.7, 0.2, 0.7]), np.array(list("ssnns"))
    alone, _ = prepared((y, p), "recalibration", {})
    assert alone.sel(column=["log_odds", "positives", "examples"]).values.tolist() == [
        [special.logit(0.2), 1, 3], [special.logit(0.7), 2, 2]
    ]  # fmt: skip
    data, options = prepared((y, p), "recalibration", {"by": {"site": site}}, 1)
    assert options == {}
    assert data.attrs == {"dim": "site", "groups": ["n", "s"]}
    assert data.sel(column=["group", "positives", "examples"]).values.tolist() == [
        [0, 0, 1], [0, 1, 1], [1, 1, 2], [1, 1, 1]
    ]  # fmt: skip


def test_many_log_odds_are_grouped_in_each_group():
    y, p, site = of_sites(3, 2000)
    data, _ = prepared((y, p), "recalibration", {"by": {"site": site}})
    assert len(data) < 1000
    table = data.to_series().unstack("column")
    assert table.groupby("group")["examples"].sum().tolist() == [2000] * 3
    assert table["positives"].sum() == y.sum()
    mean = (table["log_odds"] * table["examples"]).groupby(table["group"]).sum() / 2000
    np.testing.assert_allclose(mean, special.logit(p).reshape(3, -1).mean(1), atol=1e-9)


@pytest.mark.parametrize(
    ("error", "data", "options", "text"),
    [
        (TypeError, [0, 1], {}, r"data must be a pair \(y_true, y_prob\) for the model 'recalibration'"),
        (ValueError, ([0, 1], [0.5, 1.5]), {}, r"y_prob must hold probabilities, in \[0, 1\]; it holds 1\.5"),
        (ValueError, ([0, 1], [0.5, 1.0]), {}, r"y_prob: 1 probability is 0 or 1.*Clip them"),
        (ValueError, ([0, 1], [0.5, 0.6]), {"by": ["a", "a"]}, "by: there is one group, and nothing that groups"),
        (ValueError, ([0, 1], [0.5, 0.6]), {"by": {"case": ["a", "b"]}}, "by: 'case' is a dim that the model uses"),
        (ValueError, ([0, 1], [0.5, 0.6]), {"by": {"a": [1, 2], "b": [1, 2]}}, "by: give one column of ids of groups"),
        (ValueError, ([0, 1], [0.5, 0.6]), {"by": ["a"]}, "must have equal lengths|by"),
    ],
)
def test_data_that_are_none(error, data, options, text):
    with pytest.raises(error, match=text):
        prepared(data, "recalibration", options)


# ── The model ──


def test_log_likelihood_is_of_each_example():
    y, p, site = of_sites(3, 10)
    data, _ = prepared((y, p), "recalibration", {"by": {"site": site}})
    rng = np.random.default_rng(0)
    lines = {
        name: (("chain", "draw", "site"), rng.normal(size=(1, 5, 3))) for name in ("intercept_group", "slope_group")
    }
    posterior = xr.Dataset(lines | {n: (("chain", "draw"), np.zeros((1, 5))) for n in ("intercept", "slope")})
    found = model.log_likelihood(posterior, data).values[0]
    of_site = (site[:, None] == np.array(list("abc"))).argmax(1)
    for draw in range(5):
        intercept, slope = (lines[name][1][0, draw, of_site] for name in lines)
        expected = stats.bernoulli.logpmf(y, special.expit(intercept + slope * special.logit(p)))
        np.testing.assert_allclose(np.sort(found[draw]), np.sort(expected), rtol=1e-9)
    alone, _ = prepared((y, p), "recalibration", {})
    expected = stats.bernoulli.logpmf(y, special.expit(0.3 + 0.5 * special.logit(p)))
    line = xr.Dataset({"intercept": (("chain", "draw"), [[0.3]]), "slope": (("chain", "draw"), [[0.5]])})
    np.testing.assert_allclose(np.sort(model.log_likelihood(line, alone).values[0, 0]), np.sort(expected), rtol=1e-9)


def test_a_new_group_varies_about_the_population():
    shape = (1, 40_000)
    names = {"intercept": 0.5, "slope": 0.8, "intercept_spread": 0.3, "slope_spread": 0.2}
    posterior = xr.Dataset({name: (("chain", "draw"), np.full(shape, value)) for name, value in names.items()})
    data = xr.DataArray(np.zeros((1, 1)), dims=("case", "column"), attrs={"dim": "site"})
    drawn = model.recover(posterior, data, np.random.default_rng(0))
    for name in ("intercept", "slope"):
        values, spread = drawn[f"{name}_new"].values, names[f"{name}_spread"]
        assert abs(values.mean() - names[name]) < 4 * spread / 200
        assert values.std() == pytest.approx(spread, rel=0.02)
    assert model.recover(posterior, data.drop_attrs(), np.random.default_rng(0)) == {}


def test_spreads_are_of_groups():
    with pytest.raises(ValueError, match=r"'slope_spread' is of no use without groups, options=\{'by': \{'site': ids"):
        bp.fit(DATA["overconfident"], "recalibration", {"slope_spread": pm.HalfNormal.dist(1)}, pos_label=1)


# ── Groups ──


@pytest.mark.slow
def test_groups_have_lines_about_that_of_the_population(of_groups):
    y, p, site = of_sites()
    assert set(of_groups.parameters) == {
        f"{name}{suffix}" for name in ("intercept", "slope") for suffix in ("", "_spread", "_group", "_new")
    }
    for label in "abcd":
        own = bp.curves.recalibrate(y[site == label], p[site == label])["intercept"]
        shrunk = of_groups["intercept_group"].sel(site=label)
        population = of_groups["intercept"].mean().item()
        assert abs(shrunk.mean() - population) < abs(own.mean() - population) + 0.15
        assert shrunk.sd() < own.sd() * 1.1
    new, known = of_groups.predict(0.3), of_groups.predict(0.3, group="a")
    assert new.sd() > known.sd()
    expected = special.expit(
        of_groups.parameters["intercept_group"].sel(site="a")
        + of_groups.parameters["slope_group"].sel(site="a") * special.logit(0.3)
    )
    assert known.mean().item() == pytest.approx(expected.mean().item(), rel=1e-12)


def test_sentences_name_the_groups_of_the_least_and_of_the_greatest_probability():
    lines = {f"{name}{end}": ("sample", [value] * 2) for name, value in (("intercept", 0.0), ("slope", 1.0))
             for end in ("", "_new")}  # fmt: skip
    lines |= {f"{name}_group": (("site", "sample"), np.repeat([values], 2, 0).T)
              for name, values in (("intercept", [0.5, -1.0, 2.0]), ("slope", [1.0, 1.0, 1.0]))}  # fmt: skip
    counts = ProbabilityCounts.of([0, 1, 1], [0.5, 0.5, 0.5], None)
    found = bp.curves.Recalibration(counts, "logistic", xr.Dataset(lines, {"site": list("xyz")}), "site", "", 0)
    low, high = special.expit([-1, 2])
    assert f"Over the 3 groups by site, 0.5 is between {low:.3f} for y and {high:.3f} for z." in found.in_words()


@pytest.mark.slow
def test_groups_in_words(of_groups):
    words = of_groups.in_words()
    assert words.startswith("Recalibrated, for a site that has not been seen, 0.0")
    assert "Over the 4 groups by site, 0.475 is between 0.5" in words
    assert repr(of_groups) == "<bayesperf.curves.Recalibration: logistic, 240 examples, 4 of site>"
    table = of_groups.summary()
    assert table.loc[table["metric"] == "slope_group", "site"].tolist() == list("abcd")
    assert "intercept_spread ~ HalfNormal" in table.attrs["prior"]
    assert "deviation" not in table.attrs["prior"]


@pytest.mark.slow
def test_groups_are_saved(of_groups, tmp_path):
    of_groups.save(tmp_path / "recalibration.nc")
    loaded = bp.load(tmp_path / "recalibration.nc")
    np.testing.assert_array_equal(loaded.predict([0.2, 0.7], "b").eti(), of_groups.predict([0.2, 0.7], "b").eti())
    assert loaded.in_words() == of_groups.in_words()


@pytest.mark.slow
def test_groups_in_a_figure(of_groups):
    axes = of_groups.plot().axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "calibrated", "of each group", "a new site", "95 % HDI"
    ]  # fmt: skip
    assert len(axes.lines) == 1 + 1 + 4 + 1


# ── Isotonic lines ──


def test_isotonic_draws_are_the_nearest_that_do_not_fall():
    y, p = simulated(900, 12)
    counts = ProbabilityCounts.of(y, p)
    knots, drawn = draws_of_isotonic_line(counts, 300, np.random.default_rng(5))
    bins = np.array_split(np.argsort(p, kind="stable"), 30)
    np.testing.assert_allclose(knots, [p[group].mean() for group in bins], rtol=1e-12)
    sizes = np.array([len(group) for group in bins])
    positives = np.array([y[group].sum() for group in bins])
    rng = np.random.default_rng(5)
    raw = rng.beta(y.mean() + positives, 1 - y.mean() + sizes - positives, (300, 30))
    for row, line in zip(raw[:20], drawn, strict=False):
        np.testing.assert_allclose(
            line, IsotonicRegression().fit(np.arange(30), row, sizes).predict(np.arange(30)), rtol=1e-9
        )
    assert (np.diff(drawn) >= 0).all()


def test_isotonic_lines_are_straight_between_bins_and_level_beyond():
    rng = np.random.default_rng(0)
    knots, heights = np.sort(rng.uniform(0.1, 0.9, 7)), np.sort(rng.uniform(size=(5, 7)))
    at = np.array([0.0, 0.05, knots[0], 0.4, 0.5, knots[-1], 0.99])
    expected = np.stack([np.interp(at, knots, row) for row in heights])
    np.testing.assert_allclose(interpolated(heights, knots, at), expected, rtol=1e-12)
    np.testing.assert_array_equal(interpolated(heights[:, :1], knots[:1], at), np.repeat(heights[:, :1], 7, 1))


def test_isotonic_lines_come_to_the_truth():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=50_000)
    y = rng.random(50_000) < p**2
    at = np.array([0.2, 0.5, 0.8])
    found = bp.curves.recalibrate(y, p, method="isotonic", draws=500).predict(at)
    assert (abs(found.mean().values - at**2) < 4 * found.sd().values).all()
    assert (found.sd() < 0.015).all()


@pytest.mark.slow
def test_intervals_cover():
    study = run(recalibration.STUDY, 100, n=500, draws=400)
    error = 2 * np.sqrt(0.95 * 0.05 / 100)
    isotonic = study["coverage"].sel(interval="isotonic", drop=True)
    assert (isotonic.mean("quantile") > 0.95 - error).all()
    assert isotonic.min() > 0.90 - error
    assert isotonic.sel(system="pure").isnull().sum() == 6
    assert study["width"].notnull().all()
    straight = study["coverage"].sel(interval="logistic", system=["calibrated", "skewed", "overconfident"])
    assert (straight > 0.95 - 2 * error).all()


# ── Words, figures, saving ──


@pytest.mark.slow
@pytest.mark.parametrize("method", ["logistic", "isotonic"])
def test_it_says_what_probabilities_should_be(method, tmp_path):
    y, p = simulated(600, 12)
    found = bp.curves.recalibrate(y, p, method=method, draws=400)
    at = np.quantile(p, [0.1, 0.5, 0.9], method="inverted_cdf")
    words, means = found.in_words(), found.predict(at).mean().values
    for given, mean in zip(at, means, strict=True):
        assert f"{given:.3g} is {mean:.3f} (95 % HDI " in words
    assert "<table" in found._repr_html_()
    found.save(tmp_path / "recalibration.nc")
    np.testing.assert_array_equal(bp.load(tmp_path / "recalibration.nc").predict(at).mean(), means)
    assert found.plot().axes[0].get_title() == f"Recalibration ({method}), with 95 % HDI at each probability"


def test_a_single_probability_has_no_dim():
    found = bp.curves.recalibrate([0, 1, 1, 0], [0.2, 0.6, 0.9, 0.4])
    assert found.predict(0.3).mean().shape == ()
    assert found.predict([0.3]).mean().dims == ("probability",)
    assert found.predict(pd.Series([0.3, 0.9])).mean()["probability"].values.tolist() == [0.3, 0.9]


def test_bins_stand_for_their_middles():
    binned = bp.curves.BinnedScores.from_counts(positives=[1, 2, 7], negatives=[8, 3, 1], edges=[0, 0.3, 0.6, 1])
    p = np.repeat([0.15, 0.45, 0.8], [9, 5, 8])
    y = np.concatenate([np.repeat([1, 0], [k, n]) for k, n in ((1, 8), (2, 3), (7, 1))])
    of_bins, of_examples = (bp.curves.recalibrate(*data).parameters["slope"] for data in ((binned,), (y, p)))
    np.testing.assert_allclose(of_bins, of_examples, rtol=1e-12)


# ── Refused ──

Y, P = [0, 1, 0, 1], [0.2, 0.6, 0.4, 0.8]


@pytest.mark.parametrize(
    ("error", "arguments", "text"),
    [
        (ValueError, {"method": "platt"}, "method must be one of 'logistic', 'isotonic'"),
        (ValueError, {"method": "isotonic"}, "there are 4 examples, 2 of the rarer class.*Take method='logistic'"),
        (TypeError, {"method": "isotonic", "by": list("abab")}, "by applies to method='logistic'"),
        (ValueError, {"y_prob": [0.2, 0.6, 0.4, 1.0]}, "y_prob: 1 probability is 0 or 1.*Clip them"),
        (ValueError, {"y_prob": [0.2, 0.6, 0.4, 1.1]}, "y_prob must hold probabilities"),
        (TypeError, {"y_prob": None}, "y_prob: give the probabilities of the labels"),
    ],
)
def test_refused(error, arguments, text):
    with pytest.raises(error, match=text):
        bp.curves.recalibrate(Y, **{"y_prob": P, **arguments})


def test_groups_of_bins_are_refused():
    binned = bp.curves.BinnedScores.from_counts(positives=[1, 2], negatives=[8, 3], edges=[0, 0.3, 1])
    with pytest.raises(TypeError, match="by: BinnedScores do not say of which group an example is"):
        bp.curves.recalibrate(binned, by=["a", "b"])


@pytest.mark.slow
def test_predictions_that_are_none(of_groups):
    found = bp.curves.recalibrate(Y, P)
    with pytest.raises(ValueError, match="new_prob must hold probabilities"):
        found.predict([0.5, -0.1])
    with pytest.raises(ValueError, match="new_prob: 1 probability is 0 or 1"):
        found.predict([0.5, 1.0])
    with pytest.raises(ValueError, match="group: there are no groups"):
        found.predict(0.5, group="a")
    with pytest.raises(ValueError, match="group must be one of 'a', 'b', 'c', 'd'; it is 'z'"):
        of_groups.predict(0.5, group="z")
    with pytest.raises(ValueError, match="new_prob: 20,000 probabilities are too many at once; give 12,500 at most"):
        found.predict(np.full(20_000, 0.5))
    with pytest.raises(ValueError, match="parameter must be one of 'intercept', 'slope'; it is 'bias'"):
        found["bias"]
    y, p = simulated(600, 12)
    with pytest.raises(ValueError, match="slope: an isotonic line has no parameters"):
        bp.curves.recalibrate(y, p, method="isotonic", draws=50)["slope"]


def test_neighbours_that_stand_together_have_the_mean_of_their_log_odds():
    rng = np.random.default_rng(6)
    y, p, site = rng.integers(0, 2, 6000), rng.random(6000), np.repeat(["a", "b"], 3000)
    data, _ = prepared((y, p), "recalibration", {"by": {"site": site}})
    rows = data.to_pandas()
    assert len(rows) < 1000
    for group in (0, 1):
        of_group, of_site = rows[rows["group"] == group], site == "ab"[group]
        assert of_group["positives"].sum() == y[of_site].sum()
        means = of_group["log_odds"] * of_group["examples"]
        assert means.sum() == pytest.approx(special.logit(p[of_site]).sum(), rel=1e-9)
