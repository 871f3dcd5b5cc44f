"""The PyMC models: their densities, and what is made of their parameters, against SciPy. Nothing is sampled here."""

import ast
import functools
import inspect
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytensor
import pytest
import xarray as xr
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf import _fit_data, models, sampling

FOLDER = Path(models.__file__).parent
FILES = sorted(FOLDER.glob("*.py"))
NAMES = models.names()
BINARY_RATES = ["prevalence", "recall", "specificity"]


# ── The folder ──


def test_every_file_is_a_model_with_a_name():
    assert sorted(NAMES) == [file.stem for file in FILES if not file.stem.startswith("_")]
    assert set(NAMES) <= set(dir(models))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_says_what_it_is(name):
    module = getattr(models, name)
    assert len(module.__doc__.splitlines()) > 5
    assert f"`{name}`" in models.__doc__
    assert module.PRIORS
    for prior in module.PRIORS.values():
        distribution = prior(2) if callable(prior) else prior
        assert hasattr(distribution.owner.op, "ndim_supp")
    parameters = list(inspect.signature(module.build).parameters.values())
    assert [parameter.name for parameter in parameters[:2]] == ["data", "priors"]
    assert parameters[1].default is None
    for option in parameters[2:]:
        assert option.kind is inspect.Parameter.KEYWORD_ONLY
        assert option.default is not inspect.Parameter.empty
        assert f"\n{option.name} : " in inspect.getdoc(module.build)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_model_file_stands_alone(file):
    """To be read, copied and changed: nothing of the package, and nothing above the folder."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "bayesperf" for alias in node.names), file
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, file
            assert (node.module or "").split(".")[0] != "bayesperf", file


def test_importing_the_names_does_not_import_pymc():
    code = (
        "import sys, bayesperf as bp, bayesperf.models; bp.models.names(); dir(bp.models); "
        "print(sorted({'pymc', 'pytensor', 'nutpie', 'arviz'} & set(sys.modules))); "
        "bp.models.rates; print('pymc' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == ["[]", "True"]


def test_a_name_that_is_no_model():
    with pytest.raises(AttributeError, match=r"module 'bayesperf\.models' has no attribute 'binary'"):
        _ = models.binary


# ── Data ──


def labelled(values, labels, pos_label=None, **dims):
    """Return a matrix along leading dims."""
    cm = bp.ConfusionMatrix.from_table(np.array(values), labels=labels, dims=dims)
    return cm if pos_label is None else bp.ConfusionMatrix(cm.counts, pos_label)


SYSTEMS = labelled([[[20, 4], [3, 30]], [[7, 0], [1, 5]]], ["no", "yes"], "yes", model=["A", "B"])
SITE = [2, 3, 5]
SITES = labelled(
    [[[[9, 1], [2, 6]], [[4, 0], [0, 0]], [[3, 3], [1, 8]]], [[[8, 2], [1, 7]], [[3, 1], [2, 5]], [[6, 0], [0, 9]]]],
    ["no", "yes"], "yes", model=["A", "B"], site=SITE,
)  # fmt: skip
ONE = SITES.sel(model="B")
THREE = labelled([[[9, 1, 0], [2, 7, 3], [0, 0, 1]], [[2, 2, 1], [0, 4, 0], [1, 0, 6]]], list("abc"), fold=[0, 1])
Y_TRUE = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0])
Y_PRED = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0])
VIDEO = np.repeat(["u", "v", "w"], [9, 6, 5])
PAIRED = bp.PairedConfusionMatrix.from_predictions(
    [1, 1, 0, 0, 1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 1, 0, 1, 1, 0, 1], [1, 1, 0, 0, 0, 0, 1, 1, 1, 1], names=("new", "old")
)
SCORES = xr.DataArray(
    np.random.default_rng(0).normal(0.8, 0.03, (3, 2, 5)).round(3),
    {"dataset": list("abc"), "model": ["one", "other"]}, ("dataset", "model", "fold"),
)  # fmt: skip
OF_TWO_CLASSES = (np.array([0, 1, 1, 0, 0, 1, 0]), np.array([0.3, 1.8, 0.7, -0.4, 0.9, 2.5, 0.1]))
YEAR = xr.DataArray(
    [[0.5, -1.0], [0.2, 0.3], [-0.7, 0.1]], {"site": SITE, "covariate": ["year", "age"]}, ("site", "covariate")
)


# ── Densities, independently ──


def log_dirichlet(shares, weight):
    return stats.dirichlet.logpdf(shares, np.broadcast_to(weight, shares.shape))


def of_multinomial(counts, shares):
    flat = counts.values.reshape(-1, shares.shape[-1])
    weight = 1.0 if shares.shape[-1] == 4 else 1 / shares.shape[-1]
    return sum(
        log_dirichlet(p, weight) + stats.multinomial.logpmf(n, n.sum(), p)
        for n, p in zip(flat, shares.reshape(flat.shape), strict=True)
    )


def of_rates(counts, prevalence, recall, specificity, design="joint"):
    (tn, fp), (fn, tp) = np.moveaxis(counts.values, (-2, -1), (0, 1))
    positives, negatives = tp + fn, tn + fp
    density = stats.beta.logpdf(prevalence, 2, 2) + stats.binom.logpmf(tp, positives, recall)
    density = density + stats.binom.logpmf(tn, negatives, specificity)
    if design == "joint":
        density = density + stats.binom.logpmf(positives, positives + negatives, prevalence)
    return density.sum()


def of_row(row, concentration):
    """Density of a Dirichlet–multinomial row without the multinomial coefficient, which the model leaves out."""
    coefficient = special.gammaln(row.sum() + 1) - special.gammaln(row + 1).sum()
    return stats.dirichlet_multinomial.logpmf(row, concentration, row.sum()) - coefficient


def of_groups(
    counts, rates, dispersion, prevalence, prevalence_mean, prevalence_dispersion, b=24, design="joint", only=""
):
    """Density of one system's groups (group, actual, predicted)."""
    classes = counts.shape[-1]
    prior = sum(log_dirichlet(row, 2 / classes) for row in rates) + stats.beta.logpdf(dispersion, 1, b).sum()
    prior += log_dirichlet(prevalence, 2) + log_dirichlet(prevalence_mean, 2)
    prior += stats.beta.logpdf(prevalence_dispersion, 1, b)
    likelihood = sum(
        of_row(row, (1 / dispersion[i] - 1) * rates[i]) for table in counts.values for i, row in enumerate(table)
    )
    if design == "joint":
        totals = counts.values.sum(-1)
        likelihood += stats.multinomial.logpmf(totals.sum(0), totals.sum(), prevalence)
        share = (1 / prevalence_dispersion - 1) * prevalence_mean
        likelihood += sum(of_row(row, share) for row in totals)
    return {"": prior + likelihood, "prior": prior, "likelihood": likelihood}[only]


def of_systems(counts, **parameters):
    """Density of the groups of several systems, which have nothing in common."""
    return sum(of_groups(counts[m], **{name: value[m] for name, value in parameters.items()}) for m in (0, 1))


def logits(location, spread, deviation, correlation_unit=None, coefficient=None):
    """Logits of prevalence, recall and specificity, (site, rate)."""
    z = deviation.copy()
    if correlation_unit is not None:
        r = 2 * correlation_unit - 1
        z[:, 2] = r * deviation[:, 1] + np.sqrt(1 - r**2) * deviation[:, 2]
    shift = 0 if coefficient is None else YEAR.values @ coefficient.T
    return location + shift + spread * z


def of_groups_logit(
    counts, location, spread, deviation, correlation_unit=None, coefficient=None, scale=0.5, eta=3.0, only=""
):
    prior = stats.logistic.logpdf(location).sum() + stats.halfnorm.logpdf(spread, scale=scale).sum()
    prior += stats.norm.logpdf(deviation).sum()
    if correlation_unit is not None:
        prior += stats.beta.logpdf(correlation_unit, eta, eta)
    if coefficient is not None:
        prior += stats.norm.logpdf(coefficient).sum()
    rates = special.expit(logits(location, spread, deviation, correlation_unit, coefficient))
    (tn, fp), (fn, tp) = np.moveaxis(counts.values, (-2, -1), (0, 1))
    successes, trials = np.stack([tp + fn, tp, tn], -1), np.stack([tp + fn + tn + fp, tp + fn, tn + fp], -1)
    return prior + stats.binom.logpmf(successes, trials, rates).sum()


def steps(before_and_after=True):
    """Return g, z of every sample but the first of a video, and those of the sample before it."""
    later = np.flatnonzero(VIDEO[1:] == VIDEO[:-1]) + 1
    return Y_TRUE[later], Y_PRED[later], Y_TRUE[later - 1], Y_PRED[later - 1], VIDEO[later]


def of_markov(_, stay, predict_second):
    g, z, h, j, _ = steps()
    density = stats.beta.logpdf(stay, 0.5, 0.5).sum() + stats.beta.logpdf(predict_second, 0.5, 0.5).sum()
    n = stats.binom.logpmf([((h == i) & (g == i)).sum() for i in (0, 1)], [(h == i).sum() for i in (0, 1)], stay)
    seen = [[(g == i) & (j == k) for k in (0, 1)] for i in (0, 1)]
    m = stats.binom.logpmf(*np.array([[[z[s].sum(), s.sum()] for s in row] for row in seen]).T, predict_second.T)
    return density + n.sum() + m.sum()


def of_markov_varying(_, stay, predict_second, stay_dispersion):
    g, z, h, j, video = steps()
    density = stats.beta.logpdf(stay, 0.5, 0.5).sum() + stats.beta.logpdf(predict_second, 0.5, 0.5).sum()
    density += stats.beta.logpdf(stay_dispersion, 1, 9).sum()
    kappa = 1 / stay_dispersion - 1
    for name, i in itertools.product("uvw", (0, 1)):
        left = h[(video == name) & (h == i)]
        stayed = ((video == name) & (h == i) & (g == i)).sum()
        density += stats.betabinom.logpmf(stayed, len(left), kappa[i] * stay[i], kappa[i] * (1 - stay[i]))
    for i, k in itertools.product((0, 1), (0, 1)):
        seen = (g == i) & (j == k)
        density += stats.binom.logpmf(z[seen].sum(), seen.sum(), predict_second[i, k])
    return density


def of_paired(counts, shares):
    return log_dirichlet(shares, 0.5) + stats.multinomial.logpmf(counts.values.ravel(), counts.values.sum(), shares)


def folds_of(scores):
    """Differences (dataset, fold), and the typical deviation, their unit."""
    d = scores.isel(model=0).values - scores.isel(model=1).values
    return d, np.mean([np.std(row, ddof=1) for row in d])


def of_datasets(scores, center, spread, noise, tail, weight, test_fraction=0.2):
    """Up to a constant: the folds themselves are correlated normals, the more so for what their data sets share."""
    density = stats.norm.logpdf(center, 0, 5) + stats.lognorm.logpdf(noise, 1).sum()
    density += np.log(2) + stats.t.logpdf(spread, 3, scale=2.5)
    density += stats.gamma.logpdf(tail, 1.5, scale=20) + stats.chi2.logpdf(weight, 1 + tail, scale=1 / (1 + tail)).sum()
    d, unit = folds_of(scores)
    correlation = np.full((5, 5), test_fraction) + (1 - test_fraction) * np.eye(5)
    return density + sum(
        stats.multivariate_normal.logpdf(row / unit, np.full(5, center), s**2 * correlation + spread**2 / w)
        for row, w, s in zip(d, weight, noise, strict=True)
    )


def of_binormal_roc(scores, precision, offset):
    """Up to a constant: the single scores, in units of the mean variance, from the middle of the classes."""
    of_class = [scores.values[scores["positive"].values == label] for label in (False, True)]
    middle, unit = np.mean([s.mean() for s in of_class]), np.sqrt(np.mean([s.var(ddof=1) for s in of_class]))
    density = stats.gamma.logpdf(precision, 1).sum() + stats.norm.logpdf(offset).sum()
    for s, tau, delta in zip(of_class, precision, offset, strict=True):
        density += stats.norm.logpdf((s - middle) / unit, delta / np.sqrt(tau), 1 / np.sqrt(tau)).sum()
    return density


def shares(*shape):
    return lambda rng: rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def normal(*shape):
    return lambda rng: rng.standard_normal(shape)


def positive(*shape):
    return lambda rng: rng.gamma(2, 0.5, shape)


def unit(*shape):
    return lambda rng: rng.beta(2, 3, shape)


def small(*shape):
    return lambda rng: rng.beta(2, 20, shape)


def parts(*systems, classes=2):
    """Return the parameters of the groups model."""
    rows = (*systems, classes)
    return {
        "rates": shares(*rows, classes), "dispersion": small(*rows), "prevalence": shares(*rows),
        "prevalence_mean": shares(*rows), "prevalence_dispersion": small(*systems),
    }  # fmt: skip


LOGIT = {"location": normal(3), "spread": positive(3), "deviation": normal(3, 3)}
CHAIN = {"stay": unit(2), "predict_second": unit(2, 2)}
SCORED = {"center": normal(), "spread": positive(), "noise": positive(3), "tail": positive(), "weight": positive(3)}
THREE_RATES = {name: unit(2) for name in BINARY_RATES}
BY_VIDEO = {"by": {"video": VIDEO}}
STEPS = (Y_TRUE, Y_PRED)

# Model, data, options; points; density; dims of each variable.
CASES = {
    "multinomial": ("multinomial", SYSTEMS, {}, {"shares": shares(2, 4)}, of_multinomial,
                    {"shares": ("model", "cell"), "cells": ("model", "actual", "predicted")}),
    "multinomial of three classes": ("multinomial", THREE.sum("fold"), {}, {"shares": shares(9)}, of_multinomial,
                                     {"shares": ("cell",), "cells": ("actual", "predicted")}),
    "rates": ("rates", SYSTEMS, {}, THREE_RATES, of_rates,
              {**dict.fromkeys(BINARY_RATES, ("model",)), "cells": ("model", "actual", "predicted")}),
    "rates by actual": ("rates", SYSTEMS, {"design": "by_actual"}, THREE_RATES,
                        functools.partial(of_rates, design="by_actual"), {"recall": ("model",)}),
    "groups": ("groups", ONE, {}, parts(), of_groups,
               {"rates": ("actual", "predicted"), "dispersion": ("actual",), "prevalence": ("actual",),
                "prevalence_mean": ("actual",), "prevalence_dispersion": (), "cells": ("actual", "predicted"),
                "counts": ("site", "actual", "predicted"), "group_totals": ("site", "actual")}),
    "groups by actual": ("groups", ONE, {"design": "by_actual"}, parts(),
                         functools.partial(of_groups, design="by_actual"), {}),
    "groups of three classes": ("groups", THREE, {"groups": "clusters"}, parts(classes=3),
                                functools.partial(of_groups, b=9), {"counts": ("fold", "actual", "predicted")}),
    "groups of systems": ("groups", SITES, {"dim": "site"}, parts(2), of_systems,
                          {"rates": ("model", "actual", "predicted"), "prevalence_dispersion": ("model",),
                           "counts": ("model", "site", "actual", "predicted")}),
    "groups_logit": ("groups_logit", ONE, {}, LOGIT, of_groups_logit,
                     {"location": ("rate",), "spread": ("rate",), "deviation": ("site", "rate"), "rates": ("rate",),
                      "rates_group": ("site", "rate"), "cells": ("actual", "predicted"),
                      "cells_group": ("site", "actual", "predicted")}),
    "groups_logit, clusters": ("groups_logit", ONE, {"groups": "clusters"}, LOGIT,
                               functools.partial(of_groups_logit, scale=1.0), {}),
    "groups_logit, LKJ and covariates": ("groups_logit", ONE, {"lkj": 3.0, "covariates": YEAR.T.sel(site=[5, 2, 3])},
                                         LOGIT | {"correlation_unit": unit(), "coefficient": normal(3, 2)},
                                         of_groups_logit, {"correlation": (), "coefficient": ("rate", "covariate")}),
    "markov": ("markov", STEPS, BY_VIDEO, CHAIN, of_markov,
               {"stay": ("actual",), "predict_second": ("actual", "predicted_before"),
                "cells": ("actual", "predicted")}),
    "markov, varying": ("markov", STEPS, BY_VIDEO | {"sequences": "varying"}, CHAIN | {"stay_dispersion": small(2)},
                        of_markov_varying, {"stay_dispersion": ("actual",), "stays": ("video", "actual")}),
    "paired": ("paired", PAIRED, {}, {"shares": shares(8)}, of_paired,
               {"shares": ("cell",), "cells": ("model", "actual", "predicted")}),
    "datasets": ("datasets", SCORES, {}, SCORED, of_datasets,
                 {"center": (), "spread": (), "tail": (), "noise": ("dataset",), "average": (),
                  "weight": ("dataset",)}),
    "datasets, repeated folds": ("datasets", SCORES, {"test_fraction": 0.4}, SCORED,
                                 functools.partial(of_datasets, test_fraction=0.4), {}),
    "binormal_roc": ("binormal_roc", OF_TWO_CLASSES, {}, {"precision": positive(2), "offset": normal(2)},
                     of_binormal_roc,
                     {"mean": ("actual",), "spread": ("actual",), "a": (), "b": (), "auc": ()}),
}  # fmt: skip


def prepared(model, data, options):
    return _fit_data.prepared(data, model, options)


@functools.cache
def built(case):
    """Return the data, options and model of a case."""
    name, data, options, *_ = CASES[case]
    counts, chosen = prepared(name, data, options)
    return counts, chosen, sampling.built_model(name, counts, None, chosen)


def compiled(model):
    """Return a function of the parameters, as they are: the log-density, and all that is computed from them."""
    plain = remove_value_transforms(model)
    names = [rv.name for rv in plain.free_RVs]
    values = [plain.rvs_to_values[rv] for rv in plain.free_RVs]
    outputs = [plain.logp(), *plain.replace_rvs_by_values(plain.deterministics)]
    function = pytensor.function(values, outputs, mode="FAST_COMPILE", on_unused_input="ignore")

    def at(**point):
        found = function(*(point[name] for name in names))
        return float(found[0]), {d.name: value for d, value in zip(plain.deterministics, found[1:], strict=True)}

    return at


@functools.cache
def compiled_case(case):
    return compiled(built(case)[2])


def points(case, n=3, seed=1):
    rng = np.random.default_rng(seed)
    return [{name: draw(rng) for name, draw in CASES[case][3].items()} for _ in range(n)]


@pytest.mark.parametrize("case", CASES)
def test_density(case):
    counts, _, model = built(case)
    assert {rv.name for rv in model.free_RVs} == set(CASES[case][3])
    density = CASES[case][4]
    found, expected = np.array([[compiled_case(case)(**p)[0], density(counts, **p)] for p in points(case)]).T
    assert abs(expected[1:] - expected[0]).min() > 0.1
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-9)
    if not case.startswith(("datasets", "binormal")):  # their statistics are sufficient: up to a constant
        # PyMC has the constants of these priors in single precision.
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_every_parameter_has_a_prior_by_name(case):
    name, *_ = CASES[case]
    latent = {"deviation", "correlation_unit", "weight"}
    assert {rv.name for rv in built(case)[2].free_RVs} - latent <= set(getattr(models, name).PRIORS)


@pytest.mark.parametrize("case", CASES)
def test_dims_and_coords(case):
    counts, _, model = built(case)
    dims = {name: tuple(of) for name, of in model.named_vars_to_dims.items()}
    for name, expected in CASES[case][5].items():
        assert dims.get(name, ()) == expected, name
    for variable in [*model.free_RVs, *model.deterministics, *model.data_vars, *model.observed_RVs]:
        assert variable.ndim == len(dims.get(variable.name, ())), variable.name
    for dim in {dim for of in dims.values() for dim in of} & set(counts.dims):
        assert list(model.coords[dim]) == counts[dim].values.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_every_model_is_among_the_cases(name):
    assert name in {case[0] for case in CASES.values()}


def test_what_is_observed_of_chosen_class_totals():
    observed = {case: {rv.name for rv in built(case)[2].observed_RVs} for case in CASES}
    assert observed["rates"] - observed["rates by actual"] == {"positives"}
    assert observed["groups"] - observed["groups by actual"] == {"totals", "group_totals"}


# ── What is computed from parameters ──


def by_label(prevalence, recall, specificity, positive):
    """Cells as a table in words: the positive class's row first if it is the first label."""
    row = {True: (prevalence * recall, prevalence * (1 - recall)),
           False: ((1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity))}  # fmt: skip
    (hit, miss), (right, wrong) = row[True], row[False]
    return [[hit, miss], [wrong, right]] if positive == 0 else [[right, wrong], [miss, hit]]


@pytest.mark.parametrize("pos_label", ["no", "yes"])
@pytest.mark.parametrize("model", ["rates", "groups_logit"])
def test_cells_of_rates_in_both_orders_of_the_labels(model, pos_label):
    position = ["no", "yes"].index(pos_label)
    data = SYSTEMS if model == "rates" else ONE
    counts, options = prepared(model, bp.ConfusionMatrix(data.counts, pos_label), {})
    at = compiled(sampling.built_model(model, counts, None, options))
    if model == "rates":
        point = {"prevalence": [0.2, 0.7], "recall": [0.9, 0.6], "specificity": [0.75, 0.35]}
        _, found = at(**{name: np.array(value) for name, value in point.items()})
        expected = [by_label(*(point[name][i] for name in BINARY_RATES), position) for i in (0, 1)]
        assert found["cells"][0, position, position] == pytest.approx(0.18)
    else:
        point = {"location": np.array([-1.0, 2.0, 1.0]), "spread": np.zeros(3), "deviation": np.zeros((3, 3))}
        _, found = at(**point)
        expected = by_label(*special.expit(point["location"]), position)
        np.testing.assert_allclose(found["cells_group"], [expected] * 3, rtol=1e-12)
    np.testing.assert_allclose(found["cells"], expected, rtol=1e-12)


def test_the_positive_class_is_said():
    counts = SYSTEMS.counts.drop_attrs()
    for label, expected in (("yes", [30, 5]), ("no", [20, 7])):
        successes, _ = models.rates.outcomes(counts.assign_attrs(pos_label=label))
        assert successes["recall"].values.tolist() == expected
    with pytest.raises(
        ValueError, match=r"which of the labels \['no', 'yes'\] is the positive class\? Name it, as pos_"
    ):
        models.rates.outcomes(counts)


@pytest.mark.parametrize("name", ["rates", "groups_logit"])
def test_models_of_two_classes_say_so(name):
    with pytest.raises(ValueError, match=r"data: this model is of two classes; there are 3\. See the model 'groups'"):
        getattr(models, name).build(THREE.counts)


def test_cells_of_the_population():
    for point in points("groups of systems"):
        cells = compiled_case("groups of systems")(**point)[1]["cells"]
        np.testing.assert_allclose(cells, point["prevalence"][:, :, None] * point["rates"], rtol=1e-12)
    for point in points("multinomial"):
        np.testing.assert_array_equal(
            compiled_case("multinomial")(**point)[1]["cells"], point["shares"].reshape(2, 2, 2)
        )
    for point in points("paired"):
        joint = point["shares"].reshape(2, 2, 2)
        new, old = np.einsum("iab->ia", joint), np.einsum("iab->ib", joint)
        np.testing.assert_allclose(compiled_case("paired")(**point)[1]["cells"], [new, old], rtol=1e-12)
    assert list(built("paired")[2].coords["model"]) == ["new", "old"]


def population_mean(location, spread):
    def integrand(z):
        return special.expit(location + spread * z) * stats.norm.pdf(z)

    return integrate.quad(integrand, -12, 12, epsabs=1e-13, epsrel=1e-13, limit=500)[0]


# Beyond three times its prior's scale, a spread makes the integrand nearly a step; there it is good enough.
@pytest.mark.parametrize(("spread", "error"), [(0.1, 1e-13), (0.5, 1e-13), (1.0, 1e-10), (2.0, 1e-5), (3.0, 5e-4)])
def test_population_mean_of_logit_normal_rates(spread, error):
    for location in ([-4.0, 0.0, 0.7], [1.5, 3.0, 6.0]):
        point = {"location": np.array(location), "spread": np.full(3, spread), "deviation": np.ones((3, 3))}
        _, found = compiled_case("groups_logit")(**point)
        expected = [population_mean(at, spread) for at in location]
        np.testing.assert_allclose(found["rates"], expected, atol=error)
        np.testing.assert_allclose(found["cells"], by_label(*expected, 1), atol=2 * error)
        np.testing.assert_allclose(found["rates_group"], special.expit(np.array([location] * 3) + spread), rtol=1e-12)


def test_rates_of_groups_with_covariates_and_a_correlation():
    case = "groups_logit, LKJ and covariates"
    for point in points(case):
        _, found = compiled_case(case)(**point)
        rates = special.expit(logits(**point))
        np.testing.assert_allclose(found["rates_group"], rates, rtol=1e-10)
        np.testing.assert_allclose(found["cells_group"], [by_label(*row, 1) for row in rates], rtol=1e-10)
        assert found["correlation"] == pytest.approx(2 * point["correlation_unit"] - 1)


def long_run(stay, predict_second):
    """The stationary distribution of the chain of (actual, predicted), by an eigen-solve; (2, 2)."""
    states = list(itertools.product((0, 1), repeat=2))
    matrix = np.empty((4, 4))
    for (row, (h, j)), (column, (g, v)) in itertools.product(enumerate(states), repeat=2):
        second = predict_second[g, j]
        matrix[row, column] = (stay[h] if g == h else 1 - stay[h]) * (second if v else 1 - second)
    values, vectors = np.linalg.eig(matrix.T)
    w = np.real(vectors[:, np.argmin(abs(values - 1))])
    return (w / w.sum()).reshape(2, 2)


@pytest.mark.parametrize("case", ["markov", "markov, varying"])
def test_long_run_cells_of_a_chain(case):
    for point in points(case, 10):
        expected = long_run(point["stay"], point["predict_second"])
        np.testing.assert_allclose(compiled_case(case)(**point)[1]["cells"], expected, rtol=1e-9)


def test_differences_of_data_sets_are_in_the_units_of_the_scores():
    _, unit = folds_of(SCORES)
    for point in points("datasets"):
        _, found = compiled_case("datasets")(**point)
        assert found["average"] == pytest.approx(unit * point["center"])
        assert found["spread_of_datasets"] == pytest.approx(unit * point["spread"])


@pytest.mark.parametrize("case", ["groups", "groups of three classes", "groups by actual"])
@pytest.mark.parametrize("repeats", [2, 5])
def test_each_example_of_repeated_cross_validation_counts_once(case, repeats):
    """Copies of the folds, each to the power 1/repeats, are the folds."""
    _, data, options, _, density, _ = CASES[case]
    dim = data.dims[0]
    copies = xr.concat([data.counts] * repeats, dim).assign_coords({dim: np.arange(repeats * data.counts.sizes[dim])})
    counts, chosen = prepared("groups", bp.ConfusionMatrix(copies, data.pos_label), {**options, "repeats": repeats})
    model = sampling.built_model("groups", counts, None, chosen)
    assert not model.observed_RVs
    expected_terms = {"counts"} if case.endswith("actual") else {"counts", "totals", "group_totals"}
    assert {potential.name for potential in model.potentials} == expected_terms
    at = compiled(model)
    found, expected = np.array([[at(**p)[0], density(data.counts, **p)] for p in points(case)]).T
    # The multinomial coefficients of the totals are no function of the parameters.
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9)


# ── Log-likelihoods of the units to leave out ──


def posterior_of(case, n=(2, 3)):
    """Return labelled draws (chain, draw) of a case's parameters, and of what the model computes from them."""
    model, at, rng = built(case)[2], compiled_case(case), np.random.default_rng(5)
    drawn = [{name: draw(rng) for name, draw in CASES[case][3].items()} for _ in range(n[0] * n[1])]
    variables = {}
    for name in [*drawn[0], *at(**drawn[0])[1]]:
        values = np.array([{**point, **at(**point)[1]}[name] for point in drawn])
        dims = model.named_vars_to_dims.get(name, ())
        variables[name] = (("chain", "draw", *dims), values.reshape(*n, *values.shape[1:]))
    coords = {dim: list(labels) for dim, labels in model.coords.items() if labels is not None}
    used = {dim for dims, _ in variables.values() for dim in dims}
    return xr.Dataset(variables, {dim: labels for dim, labels in coords.items() if dim in used})


def log_likelihood(case):
    counts, options, _ = built(case)
    posterior = posterior_of(case)
    return posterior, getattr(models, CASES[case][0]).log_likelihood(posterior, counts, **options)


def each_draw(posterior):
    return [(i, j, posterior.isel(chain=i, draw=j)) for i, j in itertools.product(range(2), range(3))]


@pytest.mark.parametrize(("case", "data"), [("groups of systems", SITES), ("groups of three classes", THREE)])
def test_log_likelihood_of_groups(case, data):
    posterior, found = log_likelihood(case)
    dim = data.dims[-1]
    assert found.dims == ("chain", "draw", *data.dims)
    for i, j, draw in each_draw(posterior):
        kappa = 1 / draw["dispersion"] - 1
        for where in itertools.product(*(range(size) for size in data.counts.shape[:-2])):
            place = dict(zip(data.dims, where, strict=True))
            rows = data.counts.isel(place).values
            system = {name: at for name, at in place.items() if name != dim}
            concentration = (kappa * draw["rates"]).isel(system).transpose("actual", "predicted").values
            expected = sum(
                stats.dirichlet_multinomial.logpmf(row, a, row.sum())
                for row, a in zip(rows, concentration, strict=True)
            )
            assert found.isel(chain=i, draw=j, **place).item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


def over_normal(log_function, *places):
    """Log of the mean of exp(log_function) over a standard normal, on a grid about where it is not flat."""
    z = np.linspace(min(places) - 12, max(places) + 12, 801)
    return special.logsumexp(log_function(z) + stats.norm.logpdf(z)) + np.log(z[1] - z[0])


def log_of_group(counts, logit, spread, r):
    """Log-likelihood of a group's predictions, its deviations integrated out; rates are recall and specificity."""
    (tn, fp), (fn, tp) = counts

    def log_binomial(k, n, rate, at=logit, scale=spread):
        # The deviation that fits best, and about it.
        best = (special.logit((k + 0.5) / (n + 1)) - at[rate]) / scale[rate]
        return lambda z: stats.binom.logpmf(k, n, special.expit(at[rate] + scale[rate] * z)), best

    (recall, best), (specificity, other) = log_binomial(tp, tp + fn, 1), log_binomial(tn, tn + fp, 2)
    if not r:
        return over_normal(recall, 0, best) + over_normal(specificity, 0, other)
    rest = np.sqrt(1 - r**2)

    @np.vectorize
    def given(z):
        return recall(z) + over_normal(lambda e: specificity(r * z + rest * e), 0, (other - r * z) / rest)

    return over_normal(given, 0, best, r * other)


@pytest.mark.parametrize(
    ("case", "times"), [("groups_logit", 1), ("groups_logit", 100), ("groups_logit, LKJ and covariates", 10)]
)
def test_log_likelihood_of_logit_groups(case, times):
    """That of a group left out: its own deviations are integrated out."""
    counts, options, _ = built(case)
    posterior = posterior_of(case).isel(chain=[0], draw=[0, 1])
    found = models.groups_logit.log_likelihood(posterior, counts * times, **options)
    assert found.dims == ("chain", "draw", "site")
    for j, site in itertools.product((0, 1), range(3)):
        draw = posterior.isel(chain=0, draw=j)
        logit = draw["location"].values
        if "coefficient" in draw:
            logit = logit + YEAR.values[site] @ draw["coefficient"].transpose("covariate", "rate").values
        r = float(draw.get("correlation", 0))
        expected = log_of_group(ONE.counts.values[site] * times, logit, draw["spread"].values, r)
        # To a tenth of what would be noticed in a sum over groups.
        assert found.values[0, j, site] == pytest.approx(expected, abs=0.01), (j, site)


EXAMPLES = {
    "multinomial": lambda draw: draw["cells"].transpose("model", "actual", "predicted").values,
    "multinomial of three classes": lambda draw: draw["cells"].values,
    "rates": lambda draw: draw["cells"].transpose("model", "actual", "predicted").values,
    "rates by actual": lambda draw: (
        (draw["cells"] / draw["cells"].sum("predicted")).transpose("model", "actual", "predicted").values
    ),
    "paired": lambda draw: draw["shares"].values,
}


@pytest.mark.parametrize("case", EXAMPLES)
def test_log_likelihood_of_examples(case):
    posterior, found = log_likelihood(case)
    counts = built(case)[0].values
    assert found.dims == ("chain", "draw", "example")
    assert found.sizes["example"] == counts.sum()
    for i, j, draw in each_draw(posterior):
        expected = np.repeat(np.log(EXAMPLES[case](draw)).ravel(), counts.ravel())
        np.testing.assert_allclose(np.sort(found.isel(chain=i, draw=j)), np.sort(expected), rtol=1e-12)


def log_chances(draw, stay):
    """Log-probability of each step's prediction, and of its actual label."""
    g, z, h, j, _ = steps()
    second = draw["predict_second"].transpose("actual", "predicted_before").values[g, j]
    return np.log(np.where(z == 1, second, 1 - second)), np.log(np.where(g == h, stay[h], 1 - stay[h]))


def test_log_likelihood_of_steps():
    posterior, found = log_likelihood("markov")
    assert found.dims == ("chain", "draw", "example")
    for i, j, draw in each_draw(posterior):
        expected = sum(log_chances(draw, draw["stay"].values))
        np.testing.assert_allclose(np.sort(found.isel(chain=i, draw=j)), np.sort(expected), rtol=1e-12)


def test_log_likelihood_of_sequences():
    posterior, found = log_likelihood("markov, varying")
    assert found.dims == ("chain", "draw", "video")
    g, _, h, _, video = steps()
    for i, j, draw in each_draw(posterior):
        stay, kappa = draw["stay"].values, 1 / draw["stay_dispersion"].values - 1
        predictions, _ = log_chances(draw, stay)
        for name in "uvw":
            expected = predictions[video == name].sum()
            for k in (0, 1):
                left = (video == name) & (h == k)
                shape = kappa[k] * stay[k], kappa[k] * (1 - stay[k])
                expected += stats.betabinom.logpmf((g[left] == k).sum(), left.sum(), *shape)
            assert found.sel(video=name).isel(chain=i, draw=j).item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("case", "rho"), [("datasets", 0.2), ("datasets, repeated folds", 0.4)])
def test_log_likelihood_of_data_sets(case, rho):
    """That of the folds, up to a constant; the data set's own difference, a Student-t, is integrated out."""
    posterior, found = log_likelihood(case)
    assert found.dims == ("chain", "draw", "dataset")
    d, unit = folds_of(SCORES)
    correlation = np.full((5, 5), rho) + (1 - rho) * np.eye(5)
    gap = np.empty((2, 3, 3))
    for i, j, draw in each_draw(posterior):
        center, spread, tail = (float(draw[name]) for name in ("center", "spread", "tail"))
        for k in range(3):
            covariance = draw["noise"].values[k] ** 2 * correlation
            grid = np.linspace(-12, 12, 200_001)[:, None] * np.sqrt(covariance.mean()) + d[k].mean() / unit
            of_folds = stats.multivariate_normal.logpdf(d[k] / unit - grid, np.zeros(5), covariance)
            population = stats.t.logpdf(grid[:, 0], 1 + tail, center, spread)
            gap[i, j, k] = found.values[i, j, k] - special.logsumexp(of_folds + population)
            gap[i, j, k] -= np.log(grid[1, 0] - grid[0, 0])
    np.testing.assert_allclose(gap, np.broadcast_to(gap[:1, :1], gap.shape), atol=1e-6)


# ── What was integrated out ──


def repeated(case, n, **point):
    """Return labelled draws that are all the same."""
    model, at = built(case)[2], compiled_case(case)
    point = {name: np.asarray(value, float) for name, value in point.items()}
    found = {**point, **at(**point)[1]}
    dims = {name: ("chain", "draw", *model.named_vars_to_dims.get(name, ())) for name in found}
    variables = {name: (dims[name], np.broadcast_to(value, (2, n, *value.shape))) for name, value in found.items()}
    used = {dim for of in dims.values() for dim in of}
    coords = {dim: list(labels) for dim, labels in model.coords.items() if labels is not None and dim in used}
    return xr.Dataset(variables, coords)


def recovered(case, n=20_000, **point):
    counts, options, _ = built(case)
    module = getattr(models, CASES[case][0])
    found = module.recover(repeated(case, n, **point), counts, np.random.default_rng(3), **options)
    return {name: value.stack(sample=("chain", "draw")) for name, value in found.items()}


def has_moments(values, mean, second):
    """Check the mean and the second moment of samples within five of their standard errors."""
    for power, expected in ((1, mean), (2, second)):
        x = values.transpose("sample", ...).values ** power
        error = 5 * x.std(0) / np.sqrt(len(x)) + 1e-12
        assert (abs(x.mean(0) - expected) < error).all(), power


def dirichlet_moments(concentration):
    """Return E[x] and E[x²] of Dirichlets along the last axis."""
    total = concentration.sum(-1, keepdims=True)
    mean = concentration / total
    return mean, mean * (concentration + 1) / (total + 1)


def test_rates_of_groups_come_back_by_conjugacy():
    point = {
        "rates": [[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.05, 0.05, 0.9]], "dispersion": [0.1, 0.2, 0.05],
        "prevalence": [0.5, 0.3, 0.2], "prevalence_mean": [0.4, 0.4, 0.2], "prevalence_dispersion": 0.04,
    }  # fmt: skip
    found = recovered("groups of three classes", **point)
    kappa = 1 / np.array(point["dispersion"])[:, None] - 1
    prior = kappa * np.array(point["rates"])
    prevalence = np.array(point["prevalence"])[:, None]
    assert found["cells_group"].dims == ("fold", "actual", "predicted", "sample")
    mean, second = dirichlet_moments(prior + THREE.counts.values)
    has_moments(found["cells_group"], prevalence * mean, prevalence**2 * second)
    assert found["cells_new"].dims == ("actual", "predicted", "sample")
    (mean, second), (share, squared) = (
        dirichlet_moments(prior),
        dirichlet_moments(24 * np.array(point["prevalence_mean"])),
    )
    has_moments(found["cells_new"], share[:, None] * mean, squared[:, None] * second)
    np.testing.assert_allclose(found["cells_new"].sum(["actual", "predicted"]), 1, rtol=1e-12)
    # Rows of a group are independent of each other.
    right = found["cells_group"].isel(fold=0).values[[0, 1], [0, 1]]
    assert abs(np.corrcoef(right)[0, 1]) < 5 / np.sqrt(right.shape[1])


def test_rates_of_groups_where_nothing_was_observed_are_those_of_a_new_one():
    counts, options, _ = built("groups")
    posterior = repeated("groups", 20_000, rates=[[0.9, 0.1], [0.3, 0.7]], dispersion=[0.1, 0.3], prevalence=[0.5, 0.5],
                         prevalence_mean=[0.5, 0.5], prevalence_dispersion=0.1)  # fmt: skip
    found = models.groups.recover(posterior, counts * 0, np.random.default_rng(1), **options)
    recall = found["cells_group"].sel(actual="yes", predicted="yes").stack(sample=("chain", "draw")) / 0.5
    a, b = 0.7 * (1 / 0.3 - 1), 0.3 * (1 / 0.3 - 1)
    for site in range(3):
        assert stats.kstest(recall.values[site], stats.beta(a, b).cdf).pvalue > 1e-6


def test_groups_that_are_nearly_all_right_or_all_wrong():
    """Shares of tiny concentration are never 0/0."""
    posterior = repeated("groups", 10_000, rates=[[0.9, 0.1], [0.3, 0.7]], dispersion=[0.98] * 2,
                         prevalence=[0.5, 0.5], prevalence_mean=[0.5, 0.5], prevalence_dispersion=0.98)  # fmt: skip
    counts, options, _ = built("groups")
    new = models.groups.recover(posterior, counts, np.random.default_rng(1), **options)["cells_new"]
    rates = (new / new.sum("predicted")).sel(actual="yes").stack(sample=("chain", "draw"))
    has_moments(rates, *dirichlet_moments((1 / 0.98 - 1) * np.array([0.3, 0.7])))


def test_a_new_logit_group():
    r, location, spread = -0.6, [-1.0, 1.5, 2.0], [0.3, 0.8, 0.5]
    case = "groups_logit, LKJ and covariates"
    found = recovered(case, location=location, spread=spread, deviation=np.zeros((3, 3)),
                      correlation_unit=(1 + r) / 2, coefficient=np.ones((3, 2)))["cells_new"]  # fmt: skip
    assert found.dims == ("actual", "predicted", "sample")
    (tn, fp), (fn, tp) = found.values
    drawn = np.stack([special.logit(tp + fn), np.log(tp / fn), np.log(tn / fp)])
    n = drawn.shape[1]
    np.testing.assert_allclose(drawn.mean(1), location, atol=5 * max(spread) / np.sqrt(n))
    np.testing.assert_allclose(drawn.std(1), spread, rtol=5 / np.sqrt(2 * n))
    correlation = np.corrcoef(drawn)
    assert correlation[1, 2] == pytest.approx(r, abs=5 * (1 - r**2) / np.sqrt(n))
    np.testing.assert_allclose(correlation[0, 1:], 0, atol=5 / np.sqrt(n))


def test_a_new_logit_group_without_correlation():
    found = recovered("groups_logit", location=np.zeros(3), spread=np.ones(3), deviation=np.zeros((3, 3)))["cells_new"]
    (tn, fp), (fn, tp) = found.values
    correlation = np.corrcoef([np.log(tp / fn), np.log(tn / fp)])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(found.sizes["sample"])


def test_how_long_labels_stay_in_each_sequence_comes_back():
    """E[cells] over the Betas of the stays, by Gauss–Jacobi quadrature of the eigen-solve."""
    stay, theta, dispersion = np.array([0.8, 0.6]), np.array([[0.1, 0.6], [0.4, 0.9]]), np.array([0.15, 0.1])
    found = recovered("markov, varying", stay=stay, predict_second=theta, stay_dispersion=dispersion)
    g, _, h, _, video = steps()
    kappa = 1 / dispersion - 1
    prior = np.stack([kappa * stay, kappa * (1 - stay)])

    def expected(a, b):
        rules = [special.roots_jacobi(30, b[i] - 1, a[i] - 1) for i in (0, 1)]
        (x, u), (y, v) = (((node + 1) / 2, weight / weight.sum()) for node, weight in rules)
        return sum(u[i] * v[j] * long_run((x[i], y[j]), theta) for i, j in np.ndindex(30, 30))

    def close(values, mean):
        assert (abs(values.mean("sample") - mean) < 5 * values.std("sample") / np.sqrt(values.sizes["sample"])).all()

    close(found["cells_new"], expected(*prior))
    assert found["cells_group"].dims == ("video", "actual", "predicted", "sample")
    for place, name in enumerate("uvw"):
        seen = [(video == name) & (h == i) for i in (0, 1)]
        stayed = np.array([(g[s] == i).sum() for i, s in enumerate(seen)])
        left = np.array([s.sum() for s in seen]) - stayed
        close(found["cells_group"].isel(video=place), expected(prior[0] + stayed, prior[1] + left))
    assert models.markov.recover(repeated("markov", 1, stay=stay, predict_second=theta), built("markov")[0], None) == {}


POPULATION = {"center": 0.7, "spread": 1.3, "noise": np.array([0.4, 1.0, 2.0]), "tail": 2.5,
              "weight": np.array([0.3, 1.0, 1.8])}  # fmt: skip


def test_the_next_data_set():
    _, unit = folds_of(SCORES)
    found = recovered("datasets", **POPULATION)["next_difference"]
    assert stats.kstest(found.values / unit, stats.t(3.5, 0.7, 1.3).cdf).pvalue > 1e-6
    assert stats.kstest(found.values / unit, stats.norm(0.7, 1.3).cdf).pvalue < 1e-6


@pytest.mark.parametrize(("case", "rho"), [("datasets", 0.2), ("datasets, repeated folds", 0.4)])
def test_differences_of_data_sets_come_back_by_conjugacy(case, rho):
    """They are between the population's and the folds': normal in both, so that a grid says where."""
    d, unit = folds_of(SCORES)
    correlation = np.full((5, 5), rho) + (1 - rho) * np.eye(5)
    found = recovered(case, **POPULATION)["difference"].transpose("dataset", "sample").values / unit
    grid = np.linspace(-10, 10, 4001)
    for k, values in enumerate(found):
        sd = POPULATION["spread"] / np.sqrt(POPULATION["weight"][k])
        gap = d[k][:, None] / unit - grid
        quadratic = (gap * np.linalg.solve(POPULATION["noise"][k] ** 2 * correlation, gap)).sum(0)
        density = np.exp(-quadratic / 2 + stats.norm.logpdf(grid, POPULATION["center"], sd) + quadratic.min() / 2)
        mean = np.average(grid, weights=density)
        deviation = np.sqrt(np.average((grid - mean) ** 2, weights=density))
        assert stats.kstest(values, stats.norm(mean, deviation).cdf).pvalue > 1e-6


def test_differences_of_data_sets_without_scores_are_those_of_the_population():
    found = models.datasets.recover(
        repeated("datasets", 20_000, **POPULATION), 0 * built("datasets")[0], np.random.default_rng(3)
    )["difference"]
    _, unit = folds_of(SCORES)
    for k, values in enumerate(found.stack(sample=("chain", "draw")).transpose("dataset", "sample").values):
        expected = stats.norm(0.7, 1.3 / np.sqrt(POPULATION["weight"][k]))
        assert stats.kstest(values / unit, expected.cdf).pvalue > 1e-6


def test_weights_are_sampled_on_a_scale_of_their_own():
    """Of weights there and back, and the Jacobian by differences."""
    transform, alpha = models.datasets._Standardised(), np.array([0.6, 3.0, 200.0])
    weight = np.array([0.2, 1.0, 1.1])

    def backward(value):
        return transform.backward(value, None, None, alpha, 1 / alpha).eval()

    value = transform.forward(weight, None, None, alpha, 1 / alpha).eval()
    np.testing.assert_allclose(value, np.log(weight) * np.sqrt(alpha), rtol=1e-12)
    np.testing.assert_allclose(backward(value), weight, rtol=1e-12)
    slope = (backward(value + 1e-6) - backward(value - 1e-6)) / 2e-6
    found = transform.log_jac_det(value, None, None, alpha, 1 / alpha).eval()
    np.testing.assert_allclose(found, np.log(slope), atol=1e-8)
