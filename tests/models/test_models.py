"""The PyMC models: their densities, and what is made of their parameters, against SciPy. Nothing is sampled here."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf import models
from bayesperf.posteriors.quantity import SCOPES
from bayesperf.sampling.backend import constant_parameters
from bayesperf.sampling.data_kinds import DATA_KINDS
from bayesperf.sampling.fitting import built_model
from bayesperf.sampling.model_data import prepared
from bayesperf.sampling.model_options import CHECKS
from tests.shared.models import (
    BINARY_RATES,
    DENSITIES,
    ONE,
    POSITIVE_YES,
    THREE_SCORES,
    THREE_SITES,
    built_case,
    compiled,
    compiled_case,
    folds_of,
    logits,
    long_run,
)

FOLDER = Path(models.__file__).parent
NAMES = models.names()
# Files that are no models: the list of them, what they have in common, and what of that other rooms use as well.
OTHERS = ["__init__", "_logit_normal", "_stationary", "building"]

# The default priors for three classes: the family and its parameters.
PRIORS = {
    "binormal_roc": "precision gamma 1 1, offset normal 0 1",
    "classes": "mean_recall beta 1 1, slope normal 0 1, dispersion beta 1 3, popularity dirichlet 0.4, "
    "clumping beta 1 1, prevalence dirichlet 1",
    "datasets": "center normal 0 5, spread halfstudentt 3 2.5, noise lognormal 0 1, tail gamma 1.5 20",
    "groups": "rates dirichlet 0.667, dispersion beta 1 24, prevalence dirichlet 1, prevalence_dispersion beta 1 3",
    "groups_logit": "location logistic 0 1, spread halfnormal 0 0.5, coefficient normal 0 1",
    "items": "location logistic 0 1, shares dirichlet 1, ability_spread halfnormal 0 1, "
    "difficulty_spread halfnormal 0 1, set_spread halfnormal 0 1, discrimination_spread halfnormal 0 0.5",
    "markov": "stay beta 0.5 0.5, predict_second beta 0.5 0.5, stay_dispersion beta 1 9",
    "meta_analysis": "location logistic 0 1, spread halfnormal 0 1, correlation uniform -1 1, coefficient normal 0 1, "
    "shared uniform 0 1, reference_rates beta 9 1, prevalence_group uniform 0 1",
    "multinomial": "shares dirichlet 0.111",
    "paired": "shares dirichlet 0.037",
    "preferences": "spread halfnormal 0 1, tie lognormal 0 1.5, order normal 0 0.5, coefficient normal 0 1, "
    "judge_spread halfnormal 0 1, prompt_spread halfnormal 0 1",
    "prevalence": "rates dirichlet 0.333, prevalence dirichlet 0.333, spread halfnormal 0 1",
    "raters": "prevalence dirichlet 1, rates dirichlet 4.8 1.6, mean_rates dirichlet 4.8 1.6, spread halfnormal 0 1, "
    "dependence beta 1 1",
    "rates": "prevalence beta 1 1, recall beta 0.5 0.5, specificity beta 0.5 0.5",
    "readers": "location logistic 0 1, reader_spread halfnormal 0 1, interaction_spread halfnormal 0 0.5, "
    "case_spread halfnormal 0 1.5, correlation uniform -1 1",
    "recalibration": "intercept normal 0 2.5, slope normal 1 2.5, intercept_spread halfnormal 0 1, "
    "slope_spread halfnormal 0 0.5",
    "slices": "location logistic 0 1, spread halfnormal 0 1",
}


# ── The folder ──


def test_every_file_is_a_model_with_a_name():
    assert sorted([*NAMES, *OTHERS]) == sorted(file.stem for file in FOLDER.glob("*.py"))
    assert {*NAMES, "build", "building", "names", "table"} == set(dir(models))


def test_table():
    table = models.table().set_index("name")
    assert table.index.tolist() == NAMES
    assert table.loc["markov", "data"] == "transitions"
    assert table.loc["groups_logit", "options"] == "dim, groups, lkj, covariates, repeats"
    assert table.loc["multinomial", "options"] == ""
    assert table.loc["preferences", "options"] == "order, covariates"
    assert table.index[table["exact"]].tolist() == [
        "binormal_roc",
        "classes",
        "groups",
        "markov",
        "meta_analysis",
        "multinomial",
        "paired",
        "rates",
        "recalibration",
    ]
    assert table.loc["rates", "description"] == (
        "Two classes by three rates: prevalence, recall and specificity, with a prior each."
    )


def test_what_a_file_can_declare_is_documented():
    """The kinds of data and of options, and no others, are in the docstring of the folder; so is an exact form."""
    quoted = {" ".join(words.split()) for words in re.findall(r'``"([^`]+)"``', models.__doc__)}
    assert quoted == {*DATA_KINDS, *CHECKS, models.groups.EXACT, models.meta_analysis.DESIGN}


@pytest.mark.parametrize("name", NAMES)
def test_default_priors(name):
    said = []
    for variable, prior in getattr(models, name).PRIORS.items():
        distribution = prior(3) if callable(prior) else prior
        numbers = [number for each in constant_parameters(distribution) for number in dict.fromkeys(np.ravel(each))]
        said.append(" ".join([variable, distribution.owner.op.name, *(f"{number:.3g}" for number in numbers)]))
    assert ", ".join(said) == PRIORS.get(name), "a row of PRIORS"


@pytest.mark.parametrize("name", NAMES)
def test_a_model_says_what_it_is(name):
    module = getattr(models, name)
    assert len(module.__doc__.splitlines()) > 5
    assert module.DATA in DATA_KINDS
    assert (module.__doc__ or "").partition("\n")[0].endswith(".")
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
    declared = getattr(module, "OPTIONS", {})
    assert set(declared) == {option.name for option in parameters[2:]}, "an option is not checked"
    for kind in declared.values():
        assert isinstance(kind, tuple) or kind in CHECKS
    assert getattr(module, "ESTIMAND", "system") in SCOPES


def test_the_chain_of_a_fit_and_of_sequences_say_the_same():
    posterior = bp.sequences.posterior([0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0])
    assert posterior.scope.kind == models.markov.ESTIMAND
    assert posterior.source.refusal == models.markov.REFUSAL


@pytest.mark.parametrize("name", NAMES)
def test_a_model_file_stands_alone(name):
    """To be read, copied and changed: of the package it needs the module of helpers alone."""
    file = FOLDER / f"{name}.py"
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "bayesperf" for alias in node.names), file
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a copy elsewhere has no siblings"
            assert not (node.module or "").startswith("bayesperf") or node.module == "bayesperf.models.building", file


def test_a_name_that_is_no_model():
    with pytest.raises(AttributeError, match=r"module 'bayesperf\.models' has no attribute 'binary'"):
        _ = models.binary


# ── Densities, independently ──


def points(case, n=3, seed=2):
    rng = np.random.default_rng(seed)
    return [{name: draw(rng) for name, draw in DENSITIES[case][3].items()} for _ in range(n)]


@pytest.mark.few
@pytest.mark.parametrize("case", DENSITIES)
def test_density_priors_and_dims(case):
    """All of a case at once: what it takes is to build and to compile it."""
    counts, _, model = built_case(case)
    name, *_, of_variables = DENSITIES[case][:6]
    parameters = {rv.name for rv in model.free_RVs}
    assert parameters == set(DENSITIES[case][3])
    standardised = {name for name in parameters if name.endswith("deviation")} | {"correlation_unit", "weight"}
    assert parameters - standardised <= set(getattr(models, name).PRIORS)
    dims = {name: tuple(of) for name, of in model.named_vars_to_dims.items()}
    for variable, expected in of_variables.items():
        assert dims.get(variable, ()) == expected, variable
    for variable in [*model.free_RVs, *model.deterministics, *model.data_vars, *model.observed_RVs]:
        assert variable.ndim == len(dims.get(variable.name, ())), variable.name
    for dim in {dim for of in dims.values() for dim in of} & set(counts.dims):
        assert list(model.coords[dim]) == counts[dim].values.tolist()
    density = DENSITIES[case][4]
    found, expected = np.array([[compiled_case(case)(**p)[0], density(counts, **p)] for p in points(case)]).T
    assert abs(expected[1:] - expected[0]).min() > 0.1
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-9)
    if not case.startswith(("datasets", "binormal")):  # their statistics are sufficient: up to a constant
        # PyMC has the constants of these priors in single precision.
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_every_model_is_among_the_cases():
    assert set(NAMES) == {case[0] for case in DENSITIES.values()}, "a case of DENSITIES in tests/shared/models.py"


@pytest.mark.slow
def test_what_is_observed_of_chosen_class_totals():
    observed = {case: {rv.name for rv in built_case(case)[2].observed_RVs} for case in DENSITIES}
    assert observed["rates"] - observed["rates by actual"] == {"positives"}
    assert observed["groups"] - observed["groups by actual"] == {"totals"}
    assert observed["groups, clusters"] - observed["groups, clusters by actual"] == {"totals"}
    assert observed["classes"] - observed["classes by actual"] == {"totals"}


# ── What is computed from parameters ──


def by_label(prevalence, recall, specificity, positive):
    """Cells as a table in words: the positive class's row first if it is the first label."""
    row = {True: (prevalence * recall, prevalence * (1 - recall)),
           False: ((1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity))}  # fmt: skip
    (hit, miss), (right, wrong) = row[True], row[False]
    return [[hit, miss], [wrong, right]] if positive == 0 else [[right, wrong], [miss, hit]]


@pytest.mark.slow
@pytest.mark.parametrize("pos_label", ["no", "yes"])
@pytest.mark.parametrize("model", ["rates", "groups_logit"])
def test_cells_of_rates_in_both_orders_of_the_labels(model, pos_label):
    position = ["no", "yes"].index(pos_label)
    data = POSITIVE_YES if model == "rates" else ONE
    counts, options = prepared(bp.ConfusionMatrix(data.counts, pos_label), model, {})
    at = compiled(built_model(model, counts, None, options))
    if model == "rates":
        point = {"prevalence": [0.2, 0.7], "recall": [0.9, 0.6], "specificity": [0.75, 0.35]}
        _, found = at(**{name: np.array(value) for name, value in point.items()})
        expected = [by_label(*(point[name][i] for name in BINARY_RATES), position) for i in (0, 1)]
        assert found["cells"][0, position, position] == pytest.approx(0.18)
    else:
        point = {"location": np.array([-1.0, 2.0, 1.0]), "spread": np.zeros(2), "deviation": np.zeros((3, 2))}
        _, found = at(**point)
        expected = by_label(*special.expit(point["location"]), position)
        np.testing.assert_allclose(found["cells_group"], [expected] * 3, rtol=1e-12)
    np.testing.assert_allclose(found["cells"], expected, rtol=1e-12)


def test_the_positive_class_is_said():
    counts = POSITIVE_YES.counts.drop_attrs()
    for label, expected in (("yes", [30, 5]), ("no", [20, 7])):
        successes, _ = models.building.outcomes_of_rates(counts.assign_attrs(pos_label=label))
        assert successes["recall"].values.tolist() == expected
    with pytest.raises(
        ValueError, match=r"which of the labels \['no', 'yes'\] is the positive class\? Name it, as pos_"
    ):
        models.building.outcomes_of_rates(counts)


@pytest.mark.parametrize("name", ["rates", "groups_logit"])
def test_models_of_two_classes_say_so(name):
    with pytest.raises(ValueError, match=r"data: this model is of two classes; there are 3\. See the model 'groups'"):
        getattr(models, name).build(THREE_SITES.counts)


@pytest.mark.slow
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
    assert list(built_case("paired")[2].coords["model"]) == ["new", "old"]


def population_mean(location, spread):
    def integrand(z):
        return special.expit(location + spread * z) * stats.norm.pdf(z)

    return integrate.quad(integrand, -12, 12, epsabs=1e-13, epsrel=1e-13, limit=500)[0]


# Beyond three times its prior's scale, a spread makes the integrand nearly a step; there it is good enough.
@pytest.mark.slow
@pytest.mark.parametrize(("spread", "error"), [(0.1, 1e-13), (0.5, 1e-13), (1.0, 1e-10), (2.0, 1e-5), (3.0, 5e-4)])
def test_population_mean_of_logit_normal_rates(spread, error):
    for location in ([-4.0, 0.0, 0.7], [1.5, 3.0, 6.0]):
        point = {"location": np.array(location), "spread": np.full(3, spread), "deviation": np.ones((3, 3))}
        _, found = compiled_case("groups_logit, clusters")(**point)
        expected = [population_mean(at, spread) for at in location]
        np.testing.assert_allclose(found["rates"], expected, atol=error)
        np.testing.assert_allclose(found["cells"], by_label(*expected, 1), atol=2 * error)
        np.testing.assert_allclose(found["rates_group"], special.expit(np.array([location] * 3) + spread), rtol=1e-12)


@pytest.mark.slow
def test_folds_share_the_prevalence_of_the_population():
    for point in points("groups_logit"):
        _, found = compiled_case("groups_logit")(**point)
        prevalence = special.expit(point["location"][0])
        np.testing.assert_allclose(found["rates_group"][:, 0], prevalence, rtol=1e-12)
        assert found["rates"][0] == pytest.approx(prevalence, rel=1e-12)
        assert np.ptp(found["rates_group"][:, 1:], axis=0).min() > 0.01
    assert list(built_case("groups_logit")[2].coords["varying_rate"]) == ["recall", "specificity"]


@pytest.mark.slow
def test_rates_of_groups_with_covariates_and_a_correlation():
    case = "groups_logit, LKJ and covariates"
    for point in points(case):
        _, found = compiled_case(case)(**point)
        rates = special.expit(logits(**point))
        np.testing.assert_allclose(found["rates_group"], rates, rtol=1e-10)
        np.testing.assert_allclose(found["cells_group"], [by_label(*row, 1) for row in rates], rtol=1e-10)
        assert found["correlation"] == pytest.approx(2 * point["correlation_unit"] - 1)


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_levels_of_a_slice_vary_as_the_docstring_says(levels):
    """As independent levels, or a random walk, about their mean; a level has the same variance on average."""
    about_mean = np.eye(levels) - 1 / levels
    found = {ordered: models.slices.basis(levels, ordered) for ordered in (False, True)}
    covariance = {ordered: w @ w.T for ordered, w in found.items()}
    np.testing.assert_allclose(covariance[False], about_mean, atol=1e-12)
    walk = about_mean @ np.minimum.outer(np.arange(levels), np.arange(levels)) @ about_mean
    np.testing.assert_allclose(covariance[True], walk * (levels - 1) / np.trace(walk), atol=1e-12)
    np.testing.assert_allclose(covariance[True], covariance[True][::-1, ::-1], atol=1e-12)
    if levels == 2:
        np.testing.assert_allclose(covariance[True], covariance[False], atol=1e-12)


@pytest.mark.slow
def test_priors_of_dims_and_interactions():
    _, _, model = built_case("slices")
    assert list(model.coords["effect"]) == ["site", "age", "site:age"]
    spread = pm.draw(model["spread"], 4000, random_seed=1, mode="FAST_COMPILE")
    np.testing.assert_allclose((spread**2).mean((0, 2)), [1, 1, 0.25], rtol=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, np.full((3, 2), 0.5)])
def test_a_prior_of_ones_own_for_all_effects(scale):
    _, counts, options, *_ = DENSITIES["slices"]
    counts, options = prepared(counts, "slices", options)
    model = built_model("slices", counts, {"spread": pm.HalfNormal.dist(scale)}, options)
    spread = pm.draw(model["spread"], 4000, random_seed=1, mode="FAST_COMPILE")
    assert spread.shape == (4000, 3, 2)
    np.testing.assert_allclose((spread**2).mean((0, 2)), [0.25] * 3, rtol=0.08)
    with pytest.raises(ValueError, match="which spread cannot"):
        built_model("slices", counts, {"spread": pm.Normal.dist(0, scale)}, options)


@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["markov", "markov, z_prev", "markov, varying"])
def test_long_run_cells_of_a_chain(case):
    for point in points(case, 10):
        expected = long_run(point["stay"], point["predict_second"])
        np.testing.assert_allclose(compiled_case(case)(**point)[1]["cells"], expected, rtol=1e-9)


@pytest.mark.slow
def test_differences_of_data_sets_are_in_the_units_of_the_scores():
    _, unit = folds_of(THREE_SCORES)
    for point in points("datasets"):
        _, found = compiled_case("datasets")(**point)
        assert found["average"] == pytest.approx(unit * point["center"])
        assert found["spread_of_datasets"] == pytest.approx(unit * point["spread"])


@pytest.mark.slow
@pytest.mark.parametrize("case", ["groups", "groups, clusters", "groups of three classes", "groups by actual"])
@pytest.mark.parametrize("repeats", [2, 5])
def test_each_example_of_repeated_cross_validation_counts_once(case, repeats):
    """Copies of the folds, each to the power 1/repeats, are the folds."""
    _, data, options, _, density, _ = DENSITIES[case]
    dim = data.dims[0]
    copies = xr.concat([data.counts] * repeats, dim).assign_coords({dim: np.arange(repeats * data.counts.sizes[dim])})
    counts, options = prepared(bp.ConfusionMatrix(copies, data.pos_label), "groups", {**options, "repeats": repeats})
    model = built_model("groups", counts, None, options)
    assert not model.observed_RVs
    expected_terms = {"counts"} if case.endswith("actual") else {"counts", "totals"}
    assert {potential.name for potential in model.potentials} == expected_terms
    at = compiled(model)
    found, expected = np.array([[at(**p)[0], density(data.counts, **p)] for p in points(case)]).T
    # The multinomial coefficients of the totals are no function of the parameters.
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9)


def test_what_tests_of_a_study_share_is_a_share_of_the_variance():
    alike = models.meta_analysis._alike
    assert (alike(1, 0, 0.36), alike(0, 1, 0.36)) == pytest.approx((0.6, 0.8))
