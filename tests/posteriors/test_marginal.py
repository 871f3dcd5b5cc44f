"""The verbs of a marginal: shapes, labels, and what they refuse."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp

FOLDS = bp.ConfusionMatrix.from_table(
    [[[[9, 1], [2, 8]], [[8, 2], [1, 9]], [[10, 0], [3, 7]]], [[[7, 3], [2, 8]], [[6, 4], [1, 9]], [[9, 1], [5, 5]]]],
    dims={"model": ["A", "B"], "fold": [1, 2, 3]},
)
METHODS = {"recall": "exact", "f1": "exact", "f2": "quadrature", "mcc": "quadrature", "fowlkes_mallows_macro": "draws"}


@pytest.mark.parametrize(("name", "method"), METHODS.items())
def test_every_verb_has_the_leading_dims(name, method):
    marginal = bp.posterior(FOLDS)[name]
    assert marginal.method == method
    for verb in (marginal.mean, marginal.sd, marginal.median, marginal.mcse, marginal.undefined):
        assert verb().dims == ("model", "fold")
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
    assert marginal.draws(7).dims == ("model", "fold", "draw")
    assert marginal.mean()["model"].values.tolist() == ["A", "B"]


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
    assert repr(recall) == "<bayesperf.Marginal: recall (exact)>"


@pytest.mark.parametrize("name", ["recall", "f1", "f2", "mcc"])
def test_beyond_the_bounds(name):
    marginal = bp.posterior(FOLDS.isel(model=0, fold=0))[name]
    assert marginal.cdf([-2, 2]).values.tolist() == [0, 1]
    assert marginal.sf([-2, 2]).values.tolist() == [1, 0]
    assert marginal.pdf([-2, 2]).values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.hdi(1.0), "prob must be a number between 0 and 1"),
        (lambda m: m.hdi(95), "prob must be a number between 0 and 1"),
        (lambda m: m.eti("wide"), "prob must be a number between 0 and 1"),
        (lambda m: m.ppf(1.2), r"q must be in \[0, 1\]"),
        (lambda m: m.cdf([[0.1]]), "x must be a number or a one-dimensional array"),
        (lambda m: m.cdf(np.nan), "none missing"),
        (lambda m: m.prob_between(0.5, 0.4), "lo must not exceed hi"),
        (lambda m: m.interval(0.9, "central"), "kind must be one of 'hdi', 'eti'"),
        (lambda m: m.draws(-1), "n must be a whole number"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call(bp.posterior(FOLDS)["recall"])


def test_thousands_of_matrices_at_once():
    rng = np.random.default_rng(2)
    counts = xr.DataArray(rng.integers(0, 40, (4, 700)), dims=("cell", "site"))
    tp, fn, fp, tn = counts
    f2 = bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn))["f2"]
    assert f2.mean().sizes == {"site": 700}  # more than are integrated in one go
    one = bp.ConfusionMatrix.from_counts(tp=tp[500].item(), fn=fn[500].item(), fp=fp[500].item(), tn=tn[500].item())
    assert f2.hdi()[500].values == pytest.approx(bp.posterior(one)["f2"].hdi().values, abs=1e-9)
