"""The binormal model: its closed form against integration and NUTS, and what is made of it."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.models import binormal_roc
from bayesperf.sampling.model_data import prepared

RNG = np.random.default_rng(7)
Y = RNG.permutation(np.repeat([0, 1], [14, 9]))
SCORE = np.where(Y, RNG.normal(3, 4, 23), RNG.normal(0, 2, 23))
DATA = prepared((Y, SCORE), "binormal_roc", None)[0]


def exact(data=DATA, priors=None, draws=50_000, seed=1):
    found = binormal_roc.exact(data, priors, [np.random.default_rng(seed)], (1, draws))
    return {name: values.values[0] for name, values in found.items()}


def on_grid(scores, middle, unit, shape=1.0, rate=1.0, sd=1.0, points=500):
    """Mean, standard deviation and weight of each place of a grid, by the density of single scores."""
    z = (scores - middle) / unit
    offset = np.linspace(z.mean() / z.std() - 3, z.mean() / z.std() + 3, points)
    precision = np.exp(np.linspace(-4, 4, points)) / z.var()
    log_density = (
        stats.norm.logpdf(offset, 0, sd)
        + (stats.gamma.logpdf(precision, shape, scale=1 / rate) + np.log(precision))[:, None]
    )
    spread = 1 / np.sqrt(precision)[:, None]
    log_density = log_density + sum(stats.norm.logpdf(one, offset * spread, spread) for one in z)
    weight = np.exp(log_density - log_density.max())
    mean, spread = np.broadcast_arrays(middle + unit * offset * spread, unit * spread)
    return mean, spread, weight / weight.sum()


def units(scores=SCORE, y=Y):
    negative, positive = scores[y == 0], scores[y == 1]
    return (negative.mean() + positive.mean()) / 2, np.sqrt((negative.var(ddof=1) + positive.var(ddof=1)) / 2)


# ── The closed form ──


@pytest.mark.slow
@pytest.mark.parametrize(
    ("priors", "parameters"),
    [
        (None, {}),
        ({"precision": pm.Gamma.dist(3, 2), "offset": pm.Normal.dist(0, 0.5)}, {"shape": 3, "rate": 2, "sd": 0.5}),
    ],
    ids=["default", "given"],
)
def test_exact_draws_are_of_the_density_of_the_scores(priors, parameters):
    draws = exact(priors=priors)
    for label in (0, 1):
        mean, spread, weight = on_grid(SCORE[label == Y], *units(), **parameters)
        for name, values in {"mean": mean, "spread": spread}.items():
            expected = (weight * values).sum()
            sd = np.sqrt((weight * (values - expected) ** 2).sum())
            found = draws[name][:, label]
            assert found.mean() == pytest.approx(expected, abs=4 * sd / np.sqrt(50_000)), name
            assert found.std() == pytest.approx(sd, rel=0.04), name
            cut = expected + sd / 2
            below = (weight * (values <= cut)).sum()
            assert (found <= cut).mean() == pytest.approx(below, abs=4 * np.sqrt(0.25 / 50_000) + 0.002), name


def test_area_by_integration_over_both_classes():
    places = [on_grid(SCORE[label == Y], *units(), points=40) for label in (0, 1)]
    (m0, s0, w0), (m1, s1, w1) = ([part.ravel() for part in place] for place in places)
    kept = [w > 1e-9 for w in (w0, w1)]
    area = special.ndtr((m1[kept[1]] - m0[kept[0], None]) / np.hypot(s1[kept[1]], s0[kept[0], None]))
    weight = w0[kept[0], None] * w1[kept[1]]
    mean = (area * weight).sum()
    sd = np.sqrt((area**2 * weight).sum() - mean**2)
    found = exact()["auc"]
    assert found.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(50_000) + 1e-4)
    assert found.std() == pytest.approx(sd, rel=0.02)


def test_area_is_that_under_the_curve():
    draws = exact(draws=5)
    for a, b, area in zip(draws["a"], draws["b"], draws["auc"], strict=True):
        under = integrate.quad(lambda fpr, a=a, b=b: special.ndtr(a + b * special.ndtri(fpr)), 0, 1)[0]
        assert area == pytest.approx(under, abs=1e-6)


def test_curve_is_of_the_means_and_spreads():
    draws = exact(draws=100)
    (m0, m1), (s0, s1) = draws["mean"].T, draws["spread"].T
    np.testing.assert_allclose(draws["a"], (m1 - m0) / s1, rtol=1e-12)
    np.testing.assert_allclose(draws["b"], s0 / s1, rtol=1e-12)
    np.testing.assert_allclose(draws["auc"], special.ndtr((m1 - m0) / np.hypot(s0, s1)), rtol=1e-12)
    middle, unit = units()
    np.testing.assert_allclose(draws["precision"], (unit / draws["spread"]) ** 2, rtol=1e-12)
    np.testing.assert_allclose(draws["offset"], (draws["mean"] - middle) / draws["spread"], rtol=1e-12)


def test_units_do_not_matter():
    other = prepared((Y, 100 - 30 * SCORE), "binormal_roc", None, 0)[0]
    turned, same = exact(other), exact(prepared((Y, 3 + 0.01 * SCORE), "binormal_roc", None)[0])
    for name in ("a", "b", "auc", "precision", "offset"):
        np.testing.assert_allclose(same[name], exact()[name], rtol=1e-9, atol=1e-12)
    # Scores and classes turned round: the area is that of the other draws.
    assert turned["auc"].mean() == pytest.approx(exact()["auc"].mean(), abs=6 * exact()["auc"].std() / np.sqrt(50_000))


@pytest.mark.slow
def test_prior_of_the_area_is_uniform():
    model = binormal_roc.build(DATA)
    auc = pm.draw(model["auc"], 4000, random_seed=1)
    assert stats.kstest(auc, "uniform").pvalue > 0.01


def test_of_many_scores_it_is_the_likelihoods_greatest():
    y = np.repeat([0, 1], 20_000)
    score = np.random.default_rng(1).normal(1.2 * y, 1 + 0.5 * y)
    draws = exact(prepared((y, score), "binormal_roc", None)[0], draws=4000)
    expected = {"a": 1.2 / 1.5, "b": 1 / 1.5, "auc": special.ndtr(1.2 / np.hypot(1, 1.5))}
    for name, value in expected.items():
        assert draws[name].mean() == pytest.approx(value, abs=4 * draws[name].std())
        assert draws[name].std() < 0.02


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ({"precision": pm.InverseGamma.dist(2, 1)}, "needs a Gamma prior of 'precision'"),
        ({"offset": pm.StudentT.dist(3)}, "needs a Normal prior of 'offset'"),
        ({"offset": pm.Normal.dist(1, 1)}, "needs a prior of 'offset' with mean 0"),
    ],
)
def test_no_closed_form(priors, words):
    with pytest.raises(NotImplementedError, match=words):
        exact(priors=priors)


# ── A fit ──


@functools.cache
def fitted():
    return bp.fit((Y, SCORE), "binormal_roc", method="exact", draws=200, chains=2, random_seed=1)


@pytest.mark.slow
def test_tree():
    tree = fitted()
    posterior = tree["posterior"]
    assert posterior["auc"].dims == ("chain", "draw")
    assert posterior["mean"].dims == ("chain", "draw", "actual")
    assert posterior["actual"].values.tolist() == ["negative", "positive"]
    assert posterior.attrs["prior"] == "precision ~ Gamma(1, 1), offset ~ Normal(0, 1)"
    for group in ("prior", "prior_predictive", "posterior_predictive", "observed_data", "log_likelihood", "log_prior"):
        assert group in tree.children, group
    assert not {"cells", "recall"} & set(posterior.data_vars)
    mean, sd = (getattr(tree["posterior_predictive"]["score_mean"], f)(("chain", "draw")) for f in ("mean", "std"))
    assert (abs(tree["observed_data"]["score_mean"] - mean) < 2 * sd).all()


def test_scores_may_be_of_any_labels():
    named = np.where(Y, "fraud", "honest")
    with pytest.raises(ValueError, match=r"which of the labels .* is the positive class"):
        bp.fit((named, SCORE), "binormal_roc", method="exact")
    other = prepared((named, SCORE), "binormal_roc", None, "fraud")[0]
    xr.testing.assert_identical(other, DATA)
    assert DATA.sel(positive=True).size == Y.sum()


@pytest.mark.slow
def test_log_likelihood_is_of_each_score():
    posterior = fitted()["posterior"].to_dataset()
    found = binormal_roc.log_likelihood(posterior, DATA)
    mean, spread = (posterior[name].sel(actual="positive").values[..., None] for name in ("mean", "spread"))
    np.testing.assert_allclose(found[..., 14:], stats.norm.logpdf(np.sort(SCORE[Y == 1]), mean, spread), rtol=1e-12)
    assert fitted()["log_likelihood"]["counts"].sizes["example"] == 23
    many = xr.concat([DATA] * 2000, "positive")
    assert binormal_roc.log_likelihood(posterior, many) is None


@pytest.mark.parametrize(
    ("error", "data", "options", "words"),
    [
        (TypeError, SCORE, {}, r"data must be a pair \(y_true, y_score\) for the model 'binormal_roc'"),
        (ValueError, ([0, 0, 1], [1, 2, 3]), {}, "one score says nothing of the spread of its class"),
        (ValueError, ([0, 0, 1, 1], [1, 1, 2, 2]), {}, "y_score does not vary within either class"),
        (ValueError, ([0, 0, 1, 1], [1, 2, 2, np.inf]), {}, "y_score has infinite values"),
        (ValueError, ([0, 0, 1, 1], [1, 2, 2, np.nan]), {}, "y_score has 1 missing value"),
        (ValueError, (Y, SCORE), {"options": {"transform": "logit"}}, "has no 'transform'; it has none"),
        (ValueError, (Y, SCORE), {"priors": {"sigma": pm.Gamma.dist(1, 1)}}, "this model has no 'sigma'"),
        (ValueError, (Y, SCORE), {"metrics": ["recall"]}, "has no variable 'cells'"),
    ],
)
def test_bad_fits(error, data, options, words):
    with pytest.raises(error, match=words):
        bp.fit(data, "binormal_roc", method="exact", **options)


@pytest.mark.slow
def test_one_class_may_be_constant():
    tree = bp.fit(([0, 0, 1, 1, 1], [1, 1, 2, 2.5, 3]), "binormal_roc", method="exact", draws=100, random_seed=1)
    assert 0.6 < tree["posterior"]["auc"].mean() < 1


@pytest.mark.slow
def test_nuts_and_the_closed_form_agree():
    sampled = bp.fit((Y, SCORE), "binormal_roc", draws=3000, random_seed=2, progressbar=False)["posterior"]
    drawn = exact()
    for name in ("a", "b", "auc", "mean", "spread", "precision", "offset"):
        values, expected = sampled[name].stack(sample=("chain", "draw")).transpose("sample", ...).values, drawn[name]
        # Of some 8,000 effective draws and 50,000 independent ones.
        np.testing.assert_allclose(values.mean(0), expected.mean(0), atol=5 * expected.std(0).max() / np.sqrt(8000))
        np.testing.assert_allclose(values.std(0), expected.std(0), rtol=0.08, err_msg=name)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**600])
def test_area_does_not_depend_on_the_unit_of_scores(unit):
    y, score = np.array([1, 1, 1, 0, 0, 0]), np.array([1.0, 2.0, 0.5, 0.0, 1.5, -1.0])
    of_unit, plain = (bp.roc_auc(y, score * u, method="binormal", draws=1000) for u in (unit, 1.0))
    error = np.hypot(of_unit.mcse(), plain.mcse()).item()
    assert of_unit.mean().item() == pytest.approx(plain.mean().item(), abs=5 * error)
