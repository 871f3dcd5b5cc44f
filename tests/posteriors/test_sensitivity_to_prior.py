"""How much the figures owe to the prior: presets against closed forms, power-scaling against integrals."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, stats

import bayesperf as bp
from tests.shared.fits import CALLS

TP, FN, FP, TN = 8, 2, 1, 9
SMALL = bp.ConfusionMatrix.from_counts(tp=TP, fn=FN, fp=FP, tn=TN)
WEIGHTS = {"flat": 1, "jeffreys": 0.5, "perks": 0.25}


# ── Counts ──


@pytest.mark.parametrize("ci_prob", [0.8, 0.95])
def test_presets_are_their_closed_forms(ci_prob):
    table = bp.prior.sensitivity(SMALL, ["recall", "accuracy"], ci_prob=ci_prob)
    assert list(table)[:2] == ["prior", "metric"]
    assert table["prior"].tolist() == [name for name in WEIGHTS for _ in range(2)]
    assert (table["mcse"] == 0).all()
    for _, row in table.iterrows():
        a = WEIGHTS[row["prior"]]
        right, wrong = {"recall": (TP + a, FN + a), "accuracy": (TP + TN + 2 * a, FP + FN + 2 * a)}[row["metric"]]
        expected = stats.beta(right, wrong)
        assert row["mean"] == pytest.approx(expected.mean(), rel=1e-9)
        assert row["sd"] == pytest.approx(expected.std(), rel=1e-9)
        assert row["median"] == pytest.approx(expected.median(), rel=1e-9)
        bounds = [row["ci_lower"], row["ci_upper"]]
        assert np.diff(expected.cdf(bounds)) == pytest.approx(ci_prob, abs=1e-6)
        assert np.diff(np.log(expected.pdf(bounds))) == pytest.approx(0, abs=1e-4)  # highest density


def test_presets_of_several_systems():
    cm = bp.ConfusionMatrix.from_counts(**{
        name: xr.DataArray([n, 100 * n], {"model": ["few", "many"]}, "model")
        for name, n in (("tp", TP), ("fn", FN), ("fp", FP), ("tn", TN))
    })  # fmt: skip
    table = bp.prior.sensitivity(cm, ["recall"])
    spread = table.groupby("model")["mean"].agg(lambda means: means.max() - means.min())
    means = {n: [(TP * n + a) / (10 * n + 2 * a) for a in WEIGHTS.values()] for n in (1, 100)}
    for name, n in (("few", 1), ("many", 100)):
        assert spread[name] == pytest.approx(max(means[n]) - min(means[n]), rel=1e-9)


def test_default_metrics_are_those_of_a_summary():
    table = bp.prior.sensitivity(SMALL)
    assert table["metric"].unique().tolist() == bp.posterior(SMALL).summary()["metric"].unique().tolist()


def test_priors_of_ones_own():
    mine = {"none": "haldane", "expert": bp.prior.dirichlet([[18, 2], [1, 9]])}
    table = bp.prior.sensitivity(SMALL, ["recall", "precision"], mine).set_index(["prior", "metric"])
    assert table.loc[("none", "recall"), "mean"] == pytest.approx(8 / 10)
    # Rows and columns of a prior are in the order of the labels, 0 and 1.
    expected = {"recall": stats.beta(8 + 9, 2 + 1), "precision": stats.beta(8 + 9, 1 + 2)}
    for name, beta in expected.items():
        row = table.loc[("expert", name)]
        assert row["mean"] == pytest.approx(beta.mean(), rel=1e-12)
        assert np.diff(beta.cdf([row["ci_lower"], row["ci_upper"]])) == pytest.approx(0.95, abs=1e-6)
    listed = bp.prior.sensitivity(SMALL, ["recall"], ["perks", bp.prior.rate(2, 1)])
    assert listed["prior"].tolist() == ["perks", "rate"]
    assert listed["mean"][1] == pytest.approx(10 / 13)


@pytest.mark.parametrize(
    ("priors", "error", "words"),
    [
        ("flat", TypeError, r"priors must be a sequence or a mapping of priors; it is 'flat'. Write \['flat'\]"),
        ([], ValueError, "priors: name at least one"),
        ([bp.prior.dirichlet(1), bp.prior.dirichlet(2)], ValueError, "priors: two have the same name. Name them"),
        (["uniform"], ValueError, "prior must be one of flat"),
        ({"mine": 3}, ValueError, "prior must be one of flat"),
    ],
)
def test_bad_priors(priors, error, words):
    with pytest.raises(error, match=words):
        bp.prior.sensitivity(SMALL, ["recall"], priors)


# ── Other priors of a fit ──


@pytest.fixture(scope="module")
def fitted():
    return bp.fit(SMALL, "rates", method="exact", random_seed=1)


@pytest.mark.slow
def test_a_fit_under_other_priors_is_their_closed_form(fitted):
    mine = {"sceptic": {"recall": pm.Beta.dist(2, 2)}, "far away": {"recall": pm.Beta.dist(20, 200)}}
    other = bp.fit(SMALL, "rates", {"recall": pm.Beta.dist(9, 1)}, method="exact", random_seed=1)
    table = bp.prior.sensitivity(fitted, ["recall"], {**mine, "fitted again": other}).set_index("prior")
    for name, (a, b) in {"as fitted": (0.5, 0.5), "sceptic": (2, 2), "fitted again": (9, 1)}.items():
        expected = stats.beta(TP + a, FN + b)
        # Weighted draws are worth fewer, of which there are 4000.
        assert table.loc[name, "mean"] == pytest.approx(expected.mean(), abs=5 * expected.std() / np.sqrt(1000))
        assert table.loc[name, "sd"] == pytest.approx(expected.std(), rel=0.1)
    assert table["diagnosis"].ne("").to_dict() == {
        "as fitted": False, "sceptic": False, "far away": True, "fitted again": False,
    }  # fmt: skip
    assert table.loc["far away", "pareto_k"] > 0.7 > table.loc["sceptic", "pareto_k"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("priors", "words"),
    [
        (["flat"], r"priors must map names of yours to the `priors` of a fit, or to other fits; it is \['flat'\]"),
        ({"mine": {"shares": pm.Dirichlet.dist(np.ones(4))}}, "this model has no 'shares'"),
        ({"mine": {"recall": pm.Uniform.dist(0.0, 0.001)}}, "no draw of the fit is possible under them"),
    ],
)
def test_bad_priors_of_a_fit(fitted, priors, words):
    with pytest.raises((TypeError, ValueError), match=words):
        bp.prior.sensitivity(fitted, ["recall"], priors)


@pytest.mark.slow
def test_a_prior_that_stops_where_another_goes_on_is_fitted_anew():
    """The weights are bounded, and k̂ is low, whatever the posterior is beyond the end."""
    cm = bp.ConfusionMatrix.from_counts(tp=45, fn=5, fp=5, tn=45)
    short = bp.fit(cm, "rates", {"recall": pm.Uniform.dist(0.3, 0.85)}, draws=500, random_seed=1)
    given = {"whole": {"recall": pm.Beta.dist(1, 1)}, "within": {"recall": pm.Uniform.dist(0.3, 0.85)}}
    table = bp.prior.sensitivity(short, ["recall"], given).set_index("prior")
    assert table["diagnosis"].ne("").to_dict() == {"as fitted": False, "whole": True, "within": False}


@pytest.mark.slow
def test_the_prior_of_the_fit_itself_changes_nothing():
    """All weights are then the same, exactly or but for the rounding of densities: there is no tail to smooth."""
    folds = bp.ConfusionMatrix.from_counts(tp=[8, 9], fn=[2, 1], fp=1, tn=9, dims={"fold": range(2)})
    mine = {"recall": pm.Beta.dist(26.25, 4.75)}
    for data, model in ((SMALL, "rates"), (folds, "groups")):
        tree = bp.fit(data, model, mine, method="exact", random_seed=1)
        table = bp.prior.sensitivity(tree, ["recall"], {"same": mine}).set_index("prior")
        columns = ["mean", "sd", "ci_lower", "ci_upper"]
        assert table.loc["same", columns].to_list() == pytest.approx(
            table.loc["as fitted", columns].to_list(), rel=1e-12
        )
        assert table["pareto_k"].isna().all()
        assert table["diagnosis"].eq("").all()


@pytest.mark.slow
def test_a_fit_with_calls_is_weighted_anew(sampler):
    """The draws of this fit are those of the prior, so that weighted anew they are those of the other prior."""
    tree = bp.fit(SMALL, "prevalence", options={"calls": CALLS}, random_seed=1)
    table = bp.prior.sensitivity(tree, ["recall"], {"sure": {"rates": pm.Dirichlet.dist([3.0, 2.0])}})
    sure = table[table["prior"] == "sure"]
    assert sure["mean"].to_numpy() == pytest.approx(0.4, abs=4 * 0.2 / np.sqrt(1000))
    assert sure["sd"].to_numpy() == pytest.approx(0.2, abs=4 * 0.2 / np.sqrt(2000))


def test_a_fit_of_other_parameters_is_not_weighted_anew():
    tree = bp.fit(SMALL, "multinomial", method="exact", draws=100, random_seed=1)
    with pytest.raises(ValueError, match=r"they give the model other parameters .* Fit it under each prior"):
        bp.prior.sensitivity(tree, ["recall"], {"mine": {"recall": pm.Beta.dist(9, 1)}})


# ── Power-scaling ──


def distance(base, scaled, ends):
    """Cumulative Jensen–Shannon distance of two distributions between two ends (Kallioinen et al., 2024)."""

    def of(p, q):
        """∫ P log₂(2P/(P + Q)) + (Q − P)/(2 ln 2), and ∫ P."""

        def integrand(x):
            a, b = p(x), q(x)
            return (a * np.log2(2 * a / (a + b)) if a > 0 else 0) + (b - a) / (2 * np.log(2))

        settings = {"limit": 500, "epsabs": 1e-13, "points": [base.mean()]}
        return integrate.quad(integrand, *ends, **settings)[0], integrate.quad(p, *ends, **settings)[0]

    found = []
    for p, q in ((base.cdf, scaled.cdf), (base.sf, scaled.sf)):
        (one, area), (other, another) = of(p, q), of(q, p)
        found.append(np.sqrt(max(0, one + other) / (area + another)))
    return max(found)


def sensitivity(posterior, draws):
    """Mean slope of the distance over log₂ of the power, at 0.99 and 1.01; between the outermost of the draws."""
    ends = float(draws.min()), float(draws.max())
    return np.mean([distance(posterior(1), posterior(power), ends) / abs(np.log2(power)) for power in (0.99, 1.01)])


@pytest.fixture(scope="module")
def informed():
    """Recall believed to be high, and seen to be low."""
    cm = bp.ConfusionMatrix.from_counts(tp=3, fn=9, fp=5, tn=45)
    priors = {"recall": pm.Beta.dist(9, 1), "specificity": pm.Beta.dist(1, 1)}
    return bp.fit(cm, "rates", priors, method="exact", draws=2500, random_seed=1)


@pytest.mark.slow
def test_power_scaling_against_integrals(informed):
    found = bp.prior.sensitivity(informed, ["recall", "specificity"])
    # Beta(9, 1) to a power is Beta(8 × power + 1, 1); 3 of 12 to a power weighs so many.
    recall, specificity = (informed["posterior"][name] for name in ("recall", "specificity"))
    prior = sensitivity(lambda power: stats.beta(8 * power + 1 + 3, 1 + 9), recall)
    likelihood = sensitivity(lambda power: stats.beta(9 + 3 * power, 1 + 9 * power), recall)
    assert prior > 0.05
    assert found.loc["recall", "prior"] == pytest.approx(prior, rel=0.05)
    assert found.loc["recall", "likelihood"] == pytest.approx(likelihood, rel=0.05)
    assert found.loc["recall", "diagnosis"] == "potential prior-data conflict"
    assert found.loc["specificity", "prior"] < 0.01  # its prior is flat
    assert found.loc["specificity", "diagnosis"] == "✓"
    expected = sensitivity(lambda power: stats.beta(1 + 45 * power, 1 + 5 * power), specificity)
    assert found.loc["specificity", "likelihood"] == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_metrics_of_a_fit_are_those_of_a_summary_unless_said(informed):
    found = bp.prior.sensitivity(informed)
    assert list(found) == ["prior", "likelihood", "diagnosis"]
    summary = ["accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "matthews_corrcoef"]
    assert set(summary) <= set(found.index)
    assert not any("cells" in name for name in found.index)
    assert bp.prior.sensitivity(informed, ["cells"]).shape[0] == 4


@pytest.mark.slow
def test_a_flat_prior_to_any_power_is_flat():
    tree = bp.fit(SMALL, priors={"shares": pm.Dirichlet.dist(np.ones(4))}, method="exact", draws=500, random_seed=1)
    with pytest.raises(ValueError, match="prior") as raised:
        bp.prior.sensitivity(tree, ["recall"])
    assert str(raised.value) == (
        "the prior of this fit is flat (shares ~ Dirichlet(1)): to any power it is what it was. Compare the preset "
        "priors instead: bp.prior.sensitivity(cm)."
    )


# ── What is refused ──


@pytest.mark.slow
def test_a_fit_without_log_likelihood():
    many = bp.ConfusionMatrix.from_counts(tp=9_000, fn=1_000, fp=1, tn=0)
    tree = bp.fit(many, method="exact", draws=250, random_seed=1)
    with pytest.raises(ValueError, match="log_likelihood") as raised:
        bp.prior.sensitivity(tree)
    assert str(raised.value) == (
        "result has no group 'log_likelihood': log_likelihood: draws × examples are more than 10⁷ values; sample fewer "
        "draws."
    )
    tree = bp.posterior(SMALL).to_datatree(draws=50, chains=2)
    with pytest.raises(ValueError, match=r"result has no group 'log_likelihood': bayesperf\.fit adds it\."):
        bp.prior.sensitivity(tree)


@pytest.mark.slow
def test_a_fit_without_log_prior(informed):
    tree = xr.DataTree.from_dict({name: group.to_dataset() for name, group in informed.children.items()})
    del tree["log_prior"]
    with pytest.raises(ValueError, match=r"result has no group 'log_prior': bayesperf\.fit adds it\."):
        bp.prior.sensitivity(tree)


def test_names_and_kinds(informed):
    with pytest.raises(ValueError, match=r"metrics: the fit has no variable 'recal'\."):
        bp.prior.sensitivity(informed, ["recal"])
    for wrong in ([[1, 2], [3, 4]], bp.posterior(SMALL), pd.DataFrame()):
        with pytest.raises(TypeError, match=r"result must be a DataTree \(of a fit\) or a ConfusionMatrix; it is "):
            bp.prior.sensitivity(wrong)


# ── Groups ──


@pytest.mark.xfail(strict=True, reason="the log-likelihood of a group is of its predictions given its class totals")
@pytest.mark.slow
def test_all_of_the_likelihood_of_groups_is_scaled():
    """Not only what is left out with a group, which says nothing of prevalence."""
    cm = bp.ConfusionMatrix.from_table([[[14, 2], [1, 3]], [[13, 3], [0, 4]], [[15, 1], [2, 2]]], dims=["fold"])
    tree = bp.fit(cm, "groups", random_seed=1, draws=2000, progressbar=False)
    found = bp.prior.sensitivity(tree, ["prevalence", "rates"])
    drawn = tree["posterior"]["prevalence"].sel(actual=1)
    expected = sensitivity(lambda power: stats.beta(2 + 12 * power, 2 + 48 * power), drawn)
    assert found.loc["rates[1, 1]", "likelihood"] > 0.05
    assert found.loc["prevalence[1]", "likelihood"] == pytest.approx(expected, rel=0.1)
