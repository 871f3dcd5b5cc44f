"""Prevalence from calls with errors: against a finite mixture, printed figures, and what is refused."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import special, stats

import bayesperf as bp
from bayesperf.core.errors import IdentifiabilityWarning, InputError, SelectionWarning

VALIDATED = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399)
few = pytest.mark.filterwarnings("ignore:errors. with probability:UserWarning")


def mixture(y, n, recall, specificity, prior):
    """Return components (a, b) and weights of the posterior: Betas, by how many of either class are called right."""
    found, missed = np.ogrid[: y + 1, : n - y + 1]
    false, right = y - found, n - y - missed
    log = (
        np.log(special.binom(y, found)) + np.log(special.binom(n - y, missed))
        + special.betaln(found + recall[0], missed + recall[1])
        + special.betaln(right + specificity[0], false + specificity[1])
        + special.betaln(found + missed + prior[0], false + right + prior[1])
    )  # fmt: skip
    positives = found + missed
    return positives + prior[0], n - positives + prior[1], np.exp(log - special.logsumexp(log))


@few
@pytest.mark.parametrize(
    ("y", "n", "recall", "specificity"),
    [
        (12, 60, (9, 3), (40, 2)),
        # A specificity whose density is infinite at 1, and calls at either end.
        (0, 40, (20.5, 3.5), (30.5, 0.5)),
        (40, 40, (30.5, 0.5), (20.5, 4.5)),
        (3, 20, (5.5, 5.5), (6.5, 5.5)),
        (300, 500, (900.5, 80.5), (45.5, 6.5)),
        # Calls that say more than the validation: of ten positives, and of twelve negatives (Lang & Reiczigel 2014).
        (60, 1000, (8.5, 2.5), (12.5, 0.5)),
        (259, 509, (84.5, 43.5), (96.5, 13.5)),
        # A validation that says more than the calls.
        (40, 400, (9e7, 1e7), (9.5, 0.5)),
    ],
)
def test_the_posterior_is_a_finite_mixture(y, n, recall, specificity):
    posterior = bp.labels.prevalence(y, {"recall": recall, "specificity": specificity}, n=n)
    a, b, weights = mixture(y, n, recall, specificity, (0.5, 0.5))
    # Quadrature is to agree in its sixth digit, in which interpolation between its nodes may err by two.
    for x in (0.001, 0.05, 0.2, 0.5, 0.9):
        expected = (weights * special.betainc(a, b, x)).sum()
        assert posterior.cdf(x).item() == pytest.approx(expected, abs=2e-6)
    assert posterior.mean().item() == pytest.approx((weights * a / (a + b)).sum(), abs=2e-6)


def test_printed_figures():
    """Santa Clara (Gelman & Carpenter 2020, their uniform priors), by importance sampling; Rogan & Gladen's ratio."""
    uniform = {"recall": (104, 20), "specificity": (400, 3)}
    posterior = bp.labels.prevalence(50, uniform, n=3330, prior="flat")
    assert posterior.median().round(4).item() == 0.0106
    np.testing.assert_array_equal(posterior.eti().values.round(4), [0.0013, 0.0189])
    assert posterior.hdi().values[1] < 0.0184
    quick = bp.labels.prevalence(15, {"recall": 0.8, "specificity": 0.995}, n=1000)
    assert round(quick.observed.item(), 3) == 0.013
    brucellosis = bp.labels.prevalence(23, {"recall": 0.96, "specificity": 0.89}, n=150)
    assert round(100 * brucellosis.observed.item(), 1) == 5.1
    pylori = bp.labels.prevalence(6, {"recall": 0.964, "specificity": 0.927}, n=151)
    assert pylori.observed.item() == 0
    assert pylori.ppf(0.025).item() < 1e-4


def test_the_observed_score_of_counts_is_at_the_observed_rates():
    found = bp.labels.prevalence(50, VALIDATED, n=3330).observed.item()
    assert found == pytest.approx((50 / 3330 + 399 / 401 - 1) / (103 / 122 + 399 / 401 - 1), rel=1e-12)
    other = bp.labels.prevalence(3280, VALIDATED, n=3330, pos_label=0).observed.item()
    assert other == pytest.approx(1 - found, rel=1e-12)
    no_negatives = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=0, tn=0)
    with pytest.warns(IdentifiabilityWarning):
        assert np.isnan(bp.labels.prevalence(50, no_negatives, n=3330).observed.item())


@few
@pytest.mark.parametrize("prior", [(1e-3, 1e-3), (1e4, 9e4), (1e8, 9e8)])
def test_a_prior_of_any_strength(prior):
    recall, specificity = (40.5, 2.5), (60.5, 0.5)
    posterior = bp.labels.prevalence(
        5, {"recall": recall, "specificity": specificity}, n=50, prior=bp.prior.rate(*prior)
    )
    a, b, weights = mixture(5, 50, recall, specificity, prior)
    for x in (0.01, 0.0999, 0.1, 0.1001, 0.3):
        expected = (weights * special.betainc(a, b, x)).sum()
        assert posterior.cdf(x).item() == pytest.approx(expected, abs=2e-6)


def test_calls_that_the_errors_do_not_explain():
    """Of negatives 5 % are called positive, and of positives 90 %: 50 and 900 of 1000, give or take 7 and 9."""
    known = {"recall": (9000, 1000), "specificity": (9500, 500)}
    for calls, said in ((21, "fewer"), (950, "more")):
        with pytest.warns(SelectionWarning, match=rf"calls: {said} are positive .*BP602"):
            bp.labels.prevalence(calls, known, n=1000)
    with pytest.warns(SelectionWarning, match="in 1 of 2 parts"):
        bp.labels.prevalence([40, 10], known, n=[1000, 1000])


def test_known_rates_leave_a_binomial():
    """Of rates of 1 the posterior is the Beta of the calls."""
    posterior = bp.labels.prevalence(7, {"recall": 1.0, "specificity": 1.0}, n=40)
    assert posterior.ppf([0.025, 0.5, 0.975]).values == pytest.approx(
        stats.beta(7.5, 33.5).ppf([0.025, 0.5, 0.975]), abs=1e-7
    )


@pytest.mark.parametrize("n", [10**6, 10**8, 10**10])
def test_very_many_calls_leave_the_errors_alone(n):
    """The proportion of positive calls is known, and the prevalence is (p − fp)/(tp − fp): an integral over fp."""
    tp, fp, called = (103.5, 19.5), (8.5, 393.5), 0.1
    posterior = bp.labels.prevalence(n // 10, {"recall": tp, "specificity": fp[::-1]}, n=n)
    x, wrong = np.linspace(0, 0.2, 2001)[1:, None], np.linspace(0, 0.1, 4001)[1:]
    right = (called - (1 - x) * wrong) / x
    density = (stats.beta(*tp).pdf(right) * stats.beta(*fp).pdf(wrong)).sum(1) / x[:, 0]
    cumulative = np.cumsum(density * stats.beta(0.5, 0.5).pdf(x[:, 0]))
    expected = np.interp([0.025, 0.5, 0.975], cumulative / cumulative[-1], x[:, 0] + 5e-5)
    assert posterior.ppf([0.025, 0.5, 0.975]).values == pytest.approx(expected, abs=2e-5 + 1 / np.sqrt(n) / 50)


def test_errors_by_counts_posteriors_and_weights_are_one():
    counts = bp.labels.prevalence(50, VALIDATED, n=3330)
    weights = bp.labels.prevalence(50, {"recall": (103.5, 19.5), "specificity": (399.5, 2.5)}, n=3330)
    of_posterior = bp.labels.prevalence(50, bp.posterior(VALIDATED), n=3330)
    for other in (weights, of_posterior):
        assert counts.eti().values == pytest.approx(other.eti().values, abs=1e-9)


def test_calls_are_counted_by_month():
    calls = np.array(["ill", "well", "well", "ill", "well", "well", "well", "well"])
    month = ["may"] * 4 + ["june"] * 4
    validated = bp.ConfusionMatrix.from_table([[40, 4], [3, 90]], labels=["ill", "well"], pos_label="ill")
    posterior = bp.labels.prevalence(calls, validated, by={"month": month})
    assert posterior.dims == ("month",)
    for name, called in (("may", 2), ("june", 0)):
        alone = bp.labels.prevalence(called, validated, n=4)
        assert posterior.eti().sel(month=name).values == pytest.approx(alone.eti().values, abs=1e-12)
    numbers = xr.DataArray([2, 0], {"month": ["may", "june"]})
    again = bp.labels.prevalence(numbers, validated, n=numbers * 0 + 4)
    assert again.mean().sel(month="may").item() == pytest.approx(posterior.mean().sel(month="may").item(), abs=1e-12)
    assert "elsewhere" in posterior.estimand


def test_studies_that_differ_leave_a_wider_interval():
    studies = bp.ConfusionMatrix.from_counts(
        tp=[78, 27, 25], fn=[7, 10, 10], fp=[2, 1, 4], tn=[298, 110, 140], dims=["study"]
    )
    pooled = bp.pool(studies, dim="study", groups="clusters")
    widths = [
        np.diff(bp.labels.prevalence(300, errors, n=1000).eti().values).item()
        for errors in (studies.sum("study"), pooled.new_group)
    ]
    assert widths[1] > 1.5 * widths[0]


def test_useless_calls_are_warned_of():
    with pytest.warns(IdentifiabilityWarning, match="add up to less than 1.1.*on more examples"):
        bp.labels.prevalence(30, {"recall": (6, 5), "specificity": (7, 5)}, n=100)


@pytest.mark.parametrize(
    ("calls", "errors", "arguments", "message"),
    [
        (50, VALIDATED, {"n": 40}, "calls: more are called positive than there are examples"),
        (5, {"recall": 0.9}, {"n": 40}, "errors must have recall and specificity; it has recall"),
        (5, {"recall": 1.2, "specificity": 0.9}, {"n": 40}, r"errors\['recall'\] must be between 0 and 1; it is 1.2"),
        (5, {"recall": 0.3, "specificity": 0.6}, {"n": 40}, "errors: recall and specificity add up to 0.9, and"),
        (5, [1, 2], {"n": 40}, "errors must be a ConfusionMatrix, a Posterior or a mapping; it is list"),
        (5, VALIDATED, {"n": 40, "prior": "haldane"}, "prior: 'haldane' leaves no posterior"),
        (["a", "b", "c"], VALIDATED, {"pos_label": "a"}, "pos_label: 'a' is none of the classes"),
        (5, VALIDATED, {"n": 40, "by": {"month": [1]}}, "by is for predicted labels"),
        ([1, 0, 1], VALIDATED, {"by": {"m": [1, 1, 2], "s": [1, 2, 2]}}, "by: some combinations have no example"),
    ],
)
def test_what_is_refused(calls, errors, arguments, message):
    with pytest.raises(InputError, match=message):
        bp.labels.prevalence(calls, errors, **arguments)


def test_a_matrix_of_several_studies_is_pooled_first():
    studies = bp.ConfusionMatrix.from_counts(tp=[5, 6], fn=1, fp=1, tn=9, dims=["study"])
    with pytest.raises(InputError, match=r"errors has the leading dims study\. Sum them, or pool them"):
        bp.labels.prevalence(5, studies, n=40)


# ── More than two classes, pooled parts, and studies that differ ──

THREE = bp.ConfusionMatrix.from_table([[80, 15, 5], [10, 70, 20], [5, 5, 90]], labels=list("abc"))


def gibbs(counts, calls, draws, rng):
    """Draw prevalence by data augmentation: the actual class of each call, then the Dirichlets that it leaves."""
    classes, kept = len(counts), []
    shares, rates = np.full(classes, 1 / classes), (counts + 1) / (counts + 1).sum(-1, keepdims=True)
    for _ in range(draws):
        joint = shares[:, None] * rates
        actual = np.stack([rng.multinomial(n, joint[:, j] / joint[:, j].sum()) for j, n in enumerate(calls)], -1)
        shares = rng.dirichlet(actual.sum(-1) + 1 / classes)
        rates = np.stack([rng.dirichlet(row + 1 / classes) for row in counts + actual])
        kept.append(shares)
    return np.array(kept[draws // 10 :])


@pytest.mark.slow
def test_three_classes_against_data_augmentation():
    calls = np.array([240, 110, 50])
    found = bp.labels.prevalence(np.repeat(list("abc"), calls), THREE, random_seed=1)
    expected = gibbs(THREE.counts.values, calls, 40_000, np.random.default_rng(0))
    # The Monte Carlo error of both: the chain of augmentation is worth a fiftieth of its length.
    error = np.hypot(found.mcse().values, expected.std(0) / np.sqrt(len(expected) / 50))
    assert (abs(found.mean().values - expected.mean(0)) < 4 * error).all()
    assert found.sd().values == pytest.approx(expected.std(0), rel=0.1)
    assert found.observed.isnull().all()
    assert found.quantity.scope.kind == "unlabelled"


@pytest.mark.slow
def test_pooled_months_are_drawn_together():
    positive = xr.DataArray([2, 5, 9, 30, 0], {"month": range(5)}, ["month"])
    alone = bp.labels.prevalence(positive, VALIDATED, n=300)
    together = bp.labels.prevalence(positive, VALIDATED, n=300, pooled=True, random_seed=1)
    assert together.dims == ("month",)
    assert together.mean().values[[0, 4]] == pytest.approx(alone.mean().values[[0, 4]], abs=0.004)
    assert (together.mean() > alone.mean()).values[[0, 4]].all()
    assert together.mean().values[3] < alone.mean().values[3]


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "median", "beyond"), [(0.3, 0.0125, (0.021, 0.05)), (1.0, 0.016, (0.16, 0.035))])
def test_studies_that_differ(spread, median, beyond):
    """Santa Clara with 3 studies of recall and 13 of specificity (Gelman & Carpenter 2020, tables a and b).

    The median that they print in b and the upper end in a are wrong: quadrature has .0125, and P(p > .16) = .035.
    """
    right = [78, 27, 25], [368, 30, 70, 1102, 300, 311, 500, 198, 99, 29, 146, 105, 50]
    tested = [85, 37, 35], [371, 30, 70, 1102, 300, 311, 500, 200, 99, 31, 150, 108, 52]
    (tp, tn), (p, n) = ([np.array(each) for each in pair] for pair in (right, tested))
    studies = bp.ConfusionMatrix.from_counts(
        tp=[*tp, *[0] * 13], fn=[*(p - tp), *[0] * 13], fp=[*[0] * 3, *(n - tn)], tn=[*[0] * 3, *tn],
        dims={"study": range(16)},
    )  # fmt: skip
    priors = {"location": pm.Normal.dist(4, 2), "spread": pm.HalfNormal.dist(spread)}
    tree = bp.fit(studies, "meta_analysis", priors, draws=4000, random_seed=1, progressbar=False)
    site = bp.Posterior.from_datatree(tree, part="new_group")
    ill = bp.labels.prevalence(50, {rate: site[rate] for rate in ("recall", "specificity")}, n=3330, prior="flat")
    assert ill.median().item() == pytest.approx(median, abs=0.001)
    # Few of the draws lie where the calls are likely: the error of a tail is that of some 300.
    x, mass = beyond
    assert ill.sf(x).item() == pytest.approx(mass, abs=3 * np.sqrt(mass * (1 - mass) / 300))


def test_calls_have_the_classes_of_the_errors():
    errors = bp.ConfusionMatrix.from_counts(tp=90, fn=10, fp=1, tn=99)
    calls = [1] * 80 + [0] * 20
    found = bp.labels.prevalence(calls, errors)
    # The other class is what the first is not, and its recall is the specificity of the first.
    other = bp.labels.prevalence(calls, errors, pos_label=0)
    assert other.mean().item() == pytest.approx(1 - found.mean().item(), abs=1e-6)
    assert bp.labels.prevalence(20, errors, n=100, pos_label=0).mean().item() == pytest.approx(other.mean().item())
    for wrong in (["1"] * 50, [1] * 10 + [7] * 50, [7, 7]):
        with pytest.raises(InputError, match="is none of the classes of `errors`"):
            bp.labels.prevalence(wrong, errors)
    with pytest.raises(InputError, match="pos_label: 2 is none of the classes"):
        bp.labels.prevalence(calls, errors, pos_label=2)
    with pytest.raises(InputError, match="must be a rate, from 0 to 1; it is Matthews"):
        bp.labels.prevalence(5, {"recall": bp.posterior(errors)["mcc"], "specificity": 0.9}, n=10)


def test_what_is_refused_of_classes():
    with pytest.raises(InputError, match="none of the classes of `errors`"):
        bp.labels.prevalence(["a", "d"], THREE)
    with pytest.raises(InputError, match="errors must be one ConfusionMatrix"):
        bp.labels.prevalence(3, {"recall": 0.8, "specificity": 0.9}, n=10, pooled=True)
    with pytest.raises(InputError, match="prior is for two classes"):
        bp.labels.prevalence(["a"], THREE, prior="flat")
    with pytest.raises(InputError, match="pooled: there is one part"):
        bp.labels.prevalence(3, VALIDATED, n=10, pooled=True)
    with pytest.raises(InputError, match="n: a number of positive calls is of two classes"):
        bp.labels.prevalence(3, THREE, n=10)
    with pytest.raises(ValueError, match=r"options\['calls'\]: its dim 'predicted' must have the classes"):
        bp.fit(THREE, "prevalence", options={"calls": xr.DataArray([1, 2], {"predicted": ["a", "b"]}, ["predicted"])})
