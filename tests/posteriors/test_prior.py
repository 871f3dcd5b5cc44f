"""Priors: the pseudo-counts they put into cells, and the Beta that a rate prior puts on a rate."""

import itertools

import numpy as np
import preliz as pz
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.plan.evidence import metric_evidence
from bayesperf.posteriors import prior

CELLS = {"tp": 9, "fn": 3, "fp": 2, "tn": 16}
TWO = bp.ConfusionMatrix.from_counts(**CELLS)
THREE = bp.ConfusionMatrix.from_table([[5, 1, 0], [2, 4, 2], [1, 0, 5]], labels=["a", "b", "c"])
UNNAMED = bp.ConfusionMatrix.from_table([[5, 1], [2, 4]], labels=["no", "yes"])
TABLES = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
MODELS = bp.ConfusionMatrix.from_table(TABLES, dims={"model": ["x", "y"]})
CELL_DIMS = ["actual", "predicted"]


def pseudo_counts(posterior, cm):
    """Return what a posterior holds beyond the counts."""
    return (posterior.source.concentration - cm.counts).values


# ── Dirichlet priors ─────────────────────────────────────────────────────────────────────────────

# Weight of each cell of two and of three classes.
PRESETS = {
    "flat": (1, 1),
    "jeffreys": (1 / 2, 1 / 2),
    "perks": (1 / 4, 1 / 9),
    "haldane": (0, 0),
}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("by_name", [True, False])
def test_presets_put_the_same_weight_into_every_cell(name, by_name):
    chosen = name if by_name else getattr(prior, name)()
    for cm, weight in zip((TWO, THREE), PRESETS[name], strict=True):
        np.testing.assert_allclose(pseudo_counts(bp.posterior(cm, chosen), cm), weight, atol=1e-14)


def test_the_default_is_jeffreys_for_two_classes_and_shared_for_more():
    assert bp.posterior(THREE).prior_text == prior.shared().describe(THREE)
    for cm, weight in ((TWO, 1 / 2), (UNNAMED, 1 / 2), (MODELS, 1 / 2)):
        np.testing.assert_allclose(pseudo_counts(bp.posterior(cm), cm), weight, atol=1e-14)


@pytest.mark.few
@pytest.mark.parametrize(
    ("chosen", "cm", "words"),
    [
        (prior.flat(), TWO, ["flat", "1 in each of 4 cells", "total weight 4"]),
        (prior.flat(), THREE, ["flat", "1 in each of 9 cells", "total weight 9"]),
        (prior.jeffreys(), TWO, ["Jeffreys' Dirichlet", "0.5 in each of 4 cells", "total weight 2"]),
        (prior.perks(), THREE, ["Perks' Dirichlet", "0.111 in each of 9 cells", "total weight 1"]),
        (prior.haldane(), TWO, ["Haldane's Dirichlet", "total weight 0"]),
        (
            prior.shared(),
            THREE,
            ["shared by the classes", "slope ~ N(0, 1) on the log size of a class", "dispersion ρ ~ Beta(1, 3)"],
        ),
        (prior.dirichlet(3), TWO, ["3 in each of 4 cells", "total weight 12"]),
        (prior.dirichlet([[1, 2], [3, 4]]), TWO, ["total weight 10"]),
        (prior.rate(1, 2), TWO, ["Beta(1, 2)", "each rate"]),
        (
            prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5),
            TWO,
            ["elicited", "total weight 72.5"],
        ),
    ],
)
def test_priors_say_what_they_weigh(chosen, cm, words):
    description = chosen.describe(cm)
    for word in words:
        assert word in description
    assert description in bp.posterior(cm, chosen).summary("accuracy").attrs["prior"]


def test_unequal_weights_are_not_said_to_be_equal():
    assert "each" not in prior.dirichlet([[1, 2], [3, 4]]).describe(TWO)


def test_haldane_answers_where_the_data_suffice_and_only_there():
    cm = bp.ConfusionMatrix.from_counts(tp=3, fn=0, fp=1, tn=1)
    post = bp.posterior(cm, "haldane")
    assert post["precision"].mean().item() == 3 / 4
    with pytest.raises(ValueError, match=r"'recall': no example .* fn .*improper.* proper prior"):
        post["recall"]


# ── Pseudo-counts of one's own ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wrap", [list, np.array])
def test_dirichlet_takes_a_table_in_the_order_of_the_labels(wrap):
    alpha = wrap([[0.5, 0], [2, 3.5]])
    for cm in (TWO, UNNAMED):
        post = bp.posterior(cm, prior.dirichlet(alpha))
        np.testing.assert_allclose(pseudo_counts(post, cm), [[0.5, 0], [2, 3.5]])


def test_dirichlet_takes_one_number_for_all_cells():
    post = bp.posterior(THREE, prior.dirichlet(0.25))
    np.testing.assert_allclose(pseudo_counts(post, THREE), 0.25)


def test_dirichlet_weighs_every_leading_coordinate_alike():
    post = bp.posterior(MODELS, prior.dirichlet([[1, 2], [3, 4]]))
    np.testing.assert_allclose(pseudo_counts(post, MODELS), [[[1, 2], [3, 4]]] * 2)
    assert post.dims == ("model",)


def test_dirichlet_takes_the_dims_of_a_dataarray_by_name_and_its_coordinates_by_label():
    coords = {"predicted": ["b", "c", "a"], "actual": ["a", "b", "c"]}
    alpha = xr.DataArray(np.arange(9.0).reshape(3, 3), coords, ["predicted", "actual"])
    post = bp.posterior(THREE, prior.dirichlet(alpha))
    np.testing.assert_allclose(pseudo_counts(post, THREE), [[6, 0, 3], [7, 1, 4], [8, 2, 5]])


@pytest.mark.parametrize("coords", [{}, {"predicted": [1, 0], "actual": [0, 1]}])
def test_what_a_dataarray_says_is_what_the_posterior_uses(coords):
    mine = prior.dirichlet(xr.DataArray([[2, 8], [9, 1]] if coords else [[9, 1], [2, 8]], coords, CELL_DIMS[::-1]))
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0), mine)
    for name, (a, b) in mine.betas().items():
        assert post[name].mean().item() == pytest.approx(a / (a + b), rel=1e-12)
    assert "recall 0.889" in mine.in_words()
    assert "[[9.0, 2.0], [1.0, 8.0]]" in repr(mine)


def test_a_prior_of_grades_has_no_shares_of_classes():
    assert prior.dirichlet([1, 2, 3]).betas() == {}
    assert prior.dirichlet([1, 2, 3]).in_words() == "Prior: your Dirichlet (pseudo-counts [1.0, 2.0, 3.0])."


@pytest.mark.parametrize(
    ("coords", "expected"),
    [
        ({"model": ["x", "y"]}, [1, 2]),
        ({"model": ["y", "x"]}, [2, 1]),
        ({}, [1, 2]),
    ],
)
def test_dirichlet_may_differ_along_leading_dims(coords, expected):
    dims = ["model", "actual", "predicted"]
    alpha = xr.DataArray(np.ones((2, 2, 2)) * [[[1]], [[2]]], coords, dims)
    found = pseudo_counts(bp.posterior(MODELS, prior.dirichlet(alpha)), MODELS)
    np.testing.assert_allclose(found, np.ones((2, 2, 2)) * np.reshape(expected, (2, 1, 1)))


def test_dirichlet_for_more_models_than_there_are_picks_by_label():
    alpha = xr.DataArray(
        np.ones((3, 2, 2)) * [[[1]], [[2]], [[3]]],
        {"model": ["z", "y", "x"]},
        ["model", "actual", "predicted"],
    )
    found = pseudo_counts(bp.posterior(MODELS, prior.dirichlet(alpha)), MODELS)
    np.testing.assert_allclose(found[:, 0, 0], [3, 2])


@pytest.mark.parametrize("wrap", [np.array, lambda values: xr.DataArray(values, dims=CELL_DIMS)])
def test_dirichlet_does_not_follow_the_array_it_was_made_from(wrap):
    alpha = wrap([[1.0, 2.0], [3.0, 4.0]])
    chosen = prior.dirichlet(alpha)
    alpha[0, 0] = 99
    np.testing.assert_allclose(pseudo_counts(bp.posterior(TWO, chosen), TWO), [[1, 2], [3, 4]])


def test_yesterdays_posterior_is_todays_prior():
    first = bp.posterior(TWO, "jeffreys")
    second = bp.posterior(UNNAMED, prior.dirichlet(first.source.concentration.values))
    np.testing.assert_allclose(second.source.concentration, TWO.counts.values + UNNAMED.counts + 0.5)


# ── Elicitation ──────────────────────────────────────────────────────────────────────────────────

BELIEFS = [
    {"precision": 0.6, "recall": 0.65, "accuracy": 0.6, "weight": 1},
    {"precision": 0.6, "recall": 0.65, "accuracy": 0.6, "weight": 72.5},
    {"precision": 0.2, "recall": 0.9, "accuracy": 0.9, "weight": 20},
    {"precision": 0.99, "recall": 0.01, "accuracy": 0.5, "weight": 3},
]


@pytest.mark.parametrize("pos_label", ["first", "last"])
@pytest.mark.parametrize("belief", BELIEFS)
def test_elicited_pseudo_counts_have_the_values_believed(belief, pos_label):
    labels = ["first", "last"]
    cm = bp.ConfusionMatrix.from_table(np.zeros((2, 2)), labels=labels, pos_label=pos_label)
    (other,) = set(labels) - {pos_label}
    alpha = bp.posterior(cm, prior.elicited(**belief)).source.concentration
    tp, fn, fp, tn = (
        alpha.sel(actual=actual, predicted=predicted).item()
        for actual, predicted in (
            (pos_label, pos_label),
            (pos_label, other),
            (other, pos_label),
            (other, other),
        )
    )
    assert min(tp, fn, fp, tn) > 0
    assert tp / (tp + fp) == pytest.approx(belief["precision"])
    assert tp / (tp + fn) == pytest.approx(belief["recall"])
    assert tp + tn == pytest.approx(belief["accuracy"] * belief["weight"])
    assert tp + fn + fp + tn == pytest.approx(belief["weight"])


def test_elicited_pseudo_counts_are_those_published():
    # Caelen (2017), eq. 8, with its example: precision .6, recall .65, accuracy .6.
    alpha = prior.elicited(**BELIEFS[0]).pseudo_counts(2, 1)
    np.testing.assert_allclose(alpha, [[0.2680851, 0.2212766], [0.1787234, 0.3319149]], atol=5e-8)


def test_impossible_beliefs_are_refused():
    # With precision and recall .9 there is an error of either kind for every nine true positives:
    # without any true negative, accuracy is 9/11.
    belief = {"precision": 0.9, "recall": 0.9, "weight": 1}
    assert prior.elicited(**belief, accuracy=0.82).pseudo_counts(2, 1).min() > 0
    with pytest.raises(ValueError, match=r"no matrix has recall 0.9, precision 0.9 and accuracy 0.81: tn would be a"):
        prior.elicited(**belief, accuracy=0.81)


# A matrix of shares: tp .16, fn .04, fp .08, tn .72.
TRUE = {"recall": 0.8, "specificity": 0.9, "prevalence": 0.2, "precision": 2 / 3, "accuracy": 0.88}


@pytest.mark.parametrize("names", list(itertools.combinations(TRUE, 3)))
def test_any_three_guesses_make_the_matrix(names):
    found = prior.elicited(**{name: TRUE[name] for name in names}, weight=50).pseudo_counts(2, 1)
    np.testing.assert_allclose(found, [[36, 4], [2, 8]], rtol=1e-9)


INTERVALS = [
    (0.75, 0.95, 0.9),
    (0.01, 0.99, 0.9),
    (0.0001, 0.9, 0.9),
    (0.5, 0.501, 0.95),
    (0.999, 0.99999, 0.9),
    (1e-8, 1e-6, 0.9),
]


@pytest.mark.parametrize("interval", INTERVALS)
def test_an_interval_has_its_probability_and_as_much_on_either_side(interval):
    beta = stats.beta(*prior.elicited(recall=interval).betas()["recall"])
    lower, upper, prob = interval
    assert beta.ppf((1 - prob) / 2) == pytest.approx(lower, rel=1e-8)
    assert beta.isf((1 - prob) / 2) == pytest.approx(upper, rel=1e-8)


APART = {"recall": (0.75, 0.95, 0.9), "specificity": 0.9, "prevalence": (0.05, 0.2, 0.95), "weight": 40}


@pytest.mark.slow
@pytest.mark.parametrize("pos_label", [0, 1])
@pytest.mark.parametrize("design", ["joint", "by_actual"])
def test_rates_known_apart_have_the_posterior_of_each(pos_label, design):
    """Against their conjugate posteriors, and functions of them against draws of these."""
    table = np.array([[16, 2], [3, 9]])
    cm = bp.ConfusionMatrix.from_table(table if pos_label else table[::-1, ::-1], pos_label=pos_label)
    known = prior.elicited(**APART)
    (a, b), (c, d), (e, f) = (known.betas()[name] for name in ("recall", "specificity", "prevalence"))
    assert (c, d) == (36, 4)
    post = bp.posterior(cm, known, design)
    seen = design == "joint"
    expected = {"recall": stats.beta(a + 9, b + 3), "specificity": stats.beta(36 + 16, 4 + 2),
                "prevalence": stats.beta(e + 12 * seen, f + 18 * seen)}  # fmt: skip
    n = 200_000
    for name, beta in expected.items():
        exact = post[name].method == "exact"
        assert exact or not seen
        error = 1e-9 if exact else 5 * beta.std() / np.sqrt(post.source.n_draws)
        assert post[name].mean().item() == pytest.approx(beta.mean(), abs=error)
    r, s, p = (beta.rvs(n, random_state=i) for i, beta in enumerate(expected.values()))
    precision, accuracy = p * r / (p * r + (1 - p) * (1 - s)), p * r + (1 - p) * s
    for name, draws in {"precision": precision, "accuracy": accuracy}.items():
        assert post[name].mean().item() == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(n))
        assert post[name].sd().item() == pytest.approx(draws.std(), rel=0.02)
    cells = post.joint_draws(20_000)
    of_positive = {"actual": pos_label, "predicted": pos_label}
    assert cells.sel(of_positive).mean().item() == pytest.approx(
        (p * r).mean(), abs=5 * (p * r).std() / np.sqrt(20_000)
    )


@pytest.mark.parametrize("pos_label", [0, 1])
def test_a_prevalence_known_apart_is_of_the_positive_class(pos_label):
    known = prior.elicited(**APART)
    (a, b), positives = known.betas()["prevalence"], TWO.counts.values.sum(1)[pos_label]
    found = bp.posterior(bp.ConfusionMatrix(TWO.counts, pos_label), known)["prevalence"]
    assert positives != TWO.total / 2
    assert found.mean().item() == pytest.approx((a + positives) / (a + b + TWO.total.item()), rel=1e-12)


def test_rates_known_apart_are_updated_with_all_examples():
    known = prior.elicited(**APART)
    twice = bp.posterior(TWO, known).update(TWO)
    at_once = bp.posterior(bp.ConfusionMatrix(2 * TWO.counts, 1), known)
    for name in ("recall", "prevalence", "precision"):
        assert twice[name].mean().item() == pytest.approx(at_once[name].mean().item(), rel=1e-12)


def test_a_guess_of_one_rate_leaves_the_others_to_jeffreys():
    betas = prior.elicited(recall=0.8, weight=10).betas()
    assert betas == {"recall": (8, 2), "specificity": (0.5, 0.5), "prevalence": (1, 1)}
    by_actual = bp.posterior(TWO, prior.elicited(recall=0.8, weight=10), "by_actual")
    with pytest.raises(ValueError, match="depends on prevalence"):
        by_actual["precision"]


BAD_BELIEFS = [
    ({}, "elicited\\(\\) was told nothing"),
    ({"recall": 0.8}, "weight: a guess needs one"),
    ({"recall": (0.8, 0.9, 0.9), "weight": 3}, "weight: an interval says itself"),
    ({"recall": (0.9, 1, 0.9)}, "recall must be between 0 and 1, both excluded"),
    ({"recall": (0.9, 0.8, 0.9)}, "recall: the interval must be"),
    ({"recall": (0.8, 0.9)}, "recall must be a guess or"),
    ({"precision": (0.6, 0.8, 0.9)}, "precision is a function of recall, specificity and prevalence"),
    ({"precision": 0.6, "recall": 0.8, "weight": 3}, "precision is a function of"),
    ({"recall": 0.8, "specificity": 0.8, "accuracy": 0.8, "weight": 3}, "leave the matrix open"),
    ({**TRUE, "weight": 3}, "three values make the matrix, and these are 5"),
    ({"recall": (0.2, 0.3, 0.0001)}, "recall: no Beta has 0.0001"),
]


@pytest.mark.parametrize(("belief", "words"), BAD_BELIEFS)
def test_bad_beliefs(belief, words):
    with pytest.raises(ValueError, match=words):
        prior.elicited(**belief)


def test_what_needs_a_dirichlet_refuses_rates_known_apart():
    known = prior.elicited(**APART)
    with pytest.raises(ValueError, match=r"is no Dirichlet, which .* need\. Use a Dirichlet prior"):
        bp.groups.average_labels([[1, 0], [0, 1]], [[1, 1], [0, 1]], "recall", prior=known)
    with pytest.raises(TypeError, match=r"is no Dirichlet .*, which plans need"):
        metric_evidence(bp.posterior(TWO, known), None, "recall")


# ── What a prior says ────────────────────────────────────────────────────────────────────────────

SAYINGS = [
    (prior.flat(), "flat Dirichlet (1 in each cell)", "recall 0.500 (95 % HDI 0.025–0.975)"),
    (prior.perks(), "Perks' Dirichlet (1 in all cells together)", "accuracy 0.500"),
    (prior.haldane(), "Haldane's Dirichlet (0 in each cell)", "Prior: Haldane's"),
    (prior.shared(), "shared by the classes", "Prior: shared"),
    (prior.rate(1, 2), "Beta(1, 2) on each rate", "Prior: Beta(1, 2)"),
    (prior.dirichlet(np.eye(3) + 1), "pseudo-counts [[2.0, 1.0, 1.0]", "accuracy 0.500"),
    (prior.elicited(**TRUE | {"accuracy": None, "precision": None, "weight": 50}), "(tp 8, fn 2, fp 4, tn 36; total",
     "precision 0.667"),
    (prior.elicited(**APART), "prevalence ~ Beta(7.59, 59), independent of each other", "specificity 0.900"),
]  # fmt: skip


@pytest.mark.few
@pytest.mark.parametrize(("chosen", "numbers", "words"), SAYINGS)
def test_a_prior_says_what_it_says_and_is_saved(chosen, numbers, words, tmp_path):
    assert numbers in repr(chosen)
    assert words in chosen.in_words()
    chosen.save(tmp_path / "prior.nc")
    assert repr(bp.load(tmp_path / "prior.nc")) == repr(chosen)


@pytest.mark.parametrize("cm", [THREE, UNNAMED], ids=["three classes", "no positive class"])
def test_elicitation_is_for_a_binary_matrix_with_a_positive_class(cm):
    with pytest.raises(ValueError, match=r"elicited.* binary matrix with a pos_label"):
        bp.posterior(cm, prior.elicited(**BELIEFS[0]))


# ── Rate priors ──────────────────────────────────────────────────────────────────────────────────

A, B = 3, 0.5
# Successes and failures of each rate, greater better; and of each, smaller better.
UPRIGHT = {
    "accuracy": (25, 5),
    "precision": (9, 2),
    "recall": (9, 3),
    "specificity": (16, 2),
    "npv": (16, 3),
    "jaccard": (9, 5),
    "prevalence": (12, 18),
}
REVERSED = {
    "error_rate": (5, 25),
    "fpr": (2, 16),
    "fnr": (3, 9),
    "fdr": (2, 9),
    "false_omission_rate": (3, 16),
}


def beta_mean(name, a=A, b=B):
    successes, failures = (UPRIGHT | REVERSED)[name]
    a, b = (a, b) if name in UPRIGHT else (b, a)
    return (successes + a) / (successes + failures + a + b)


@pytest.mark.parametrize("name", [*UPRIGHT, *REVERSED])
def test_a_rate_prior_stands_on_the_twin_of_which_more_is_better(name):
    marginal = bp.posterior(TWO, prior.rate(A, B))[name]
    assert marginal.mean().item() == pytest.approx(beta_mean(name), rel=1e-14)
    assert marginal.method == "exact"


def test_a_rate_prior_agrees_with_a_flat_dirichlet_on_rates_of_two_cells_only():
    by_rate, by_cell = bp.posterior(TWO, prior.rate(1, 1)), bp.posterior(TWO, "flat")
    for name in ("precision", "recall", "specificity", "fpr"):
        assert by_rate[name].mean().item() == by_cell[name].mean().item()
    assert by_rate["accuracy"].mean().item() == pytest.approx(26 / 32)
    assert by_cell["accuracy"].mean().item() == pytest.approx(27 / 34)


def test_f1_follows_the_gamma_variables_of_precision_and_recall():
    """Goutte & Gaussier (2005): X, Y, Z ~ Γ(tp + a), Γ(fp + b), Γ(fn + b) make all three, F1 = 2X/(2X + Y + Z)."""
    post = bp.posterior(TWO, prior.rate(A, B))
    tp, fp, fn = 9, 2, 3
    rng, n = np.random.default_rng(0), 400_000
    x, y, z = (rng.gamma(shape, size=n) for shape in (tp + A, fp + B, fn + B))
    drawn = {"precision": x / (x + y), "recall": x / (x + z), "f1": 2 * x / (2 * x + y + z)}
    for name, values in drawn.items():
        for level in (0.05, 0.5, 0.95):
            at = post[name].ppf(level).item()
            assert (values <= at).mean() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / n))


def test_f1_and_jaccard_differ_by_one_weight_among_the_errors():
    post = bp.posterior(TWO, prior.rate(A, B))
    x = np.array([0.5, 0.7, 0.8])
    np.testing.assert_allclose(post["jaccard"].cdf(x), stats.beta(9 + A, 5 + B).cdf(x))
    np.testing.assert_allclose(post["f1"].cdf(x), stats.beta(9 + A, 5 + 2 * B).cdf(x / (2 - x)))
    of_classes = bp.posterior(THREE, prior.rate(A, B))["f1_per_class"].cdf(0.7).values
    table = THREE.counts.values
    right, wrong = np.diag(table), table.sum(0) + table.sum(1) - 2 * np.diag(table)
    np.testing.assert_allclose(of_classes, stats.beta(right + A, wrong + 2 * B).cdf(0.7 / 1.3))


def test_metrics_of_two_rates_use_the_two_betas():
    post = bp.posterior(TWO, prior.rate(A, B))
    mean = {name: beta_mean(name) for name in UPRIGHT | REVERSED}
    expected = {
        "balanced_accuracy": (mean["recall"] + mean["specificity"]) / 2,
        "half_total_error_rate": (mean["fpr"] + mean["fnr"]) / 2,
        "informedness": mean["recall"] + mean["specificity"] - 1,
        "markedness": mean["precision"] + mean["npv"] - 1,
    }
    for name, value in expected.items():
        assert post[name].mean().item() == pytest.approx(value, abs=1e-7)


def test_a_rate_prior_is_on_each_class_of_many():
    means = bp.posterior(THREE, prior.rate(A, B))["recall_per_class"].mean()
    np.testing.assert_allclose(means, [8 / 9.5, 7 / 11.5, 8 / 9.5])
    errors = bp.posterior(THREE, prior.rate(A, B))["fnr_per_class"].mean()
    np.testing.assert_allclose(errors, 1 - means.values)


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa", "p4", "f2", "recall_macro"])
def test_a_rate_prior_is_none_of_the_whole_matrix(name):
    with pytest.raises(ValueError, match=r"needs a prior of the whole matrix.*Use a Dirichlet"):
        bp.posterior(TWO, prior.rate(1, 1))[name]


@pytest.mark.parametrize("ask", [lambda p: p.joint_draws(10), lambda p: p.predict()])
def test_a_rate_prior_has_no_draws_of_cells(ask):
    with pytest.raises(ValueError, match=r"needs a prior of the whole matrix.*Use a Dirichlet"):
        ask(bp.posterior(TWO, prior.rate(1, 1)))


def test_a_rate_prior_of_no_weight_is_the_data_alone():
    assert bp.posterior(TWO, prior.rate(0, 0))["recall"].mean().item() == 9 / 12


# ── Bad input ────────────────────────────────────────────────────────────────────────────────────


def elicited(**changes):
    return lambda: prior.elicited(**(BELIEFS[0] | changes))


def given(alpha, cm=TWO):
    return lambda: bp.posterior(cm, prior.dirichlet(alpha))


def named(values, dims, **coords):
    return given(xr.DataArray(values, coords, dims), MODELS)


SQUARE, CUBE = np.ones((2, 2)), np.ones((2, 2, 2))
# A mistake: the call that makes it, and the part of the message that names the argument.
BAD_INPUT = {
    "negative": (given([[1, -1], [1, 1]]), "alpha must be finite and not negative"),
    "missing": (given([[1, np.nan], [1, 1]]), "alpha must be finite"),
    "infinite": (given(np.inf), "alpha must be finite"),
    "one axis": (given([1, 1, 1, 1]), r"prior: .* shape \(4,\); the matrix \(2, 2\)"),
    "three axes": (given(CUBE, MODELS), "alpha .* Name more dims in a DataArray"),
    "other classes": (given(SQUARE, THREE), r"prior: .* shape \(2, 2\); the matrix \(3, 3\)"),
    "text": (given("a"), "alpha"),
    "ragged": (given([[1, 2], [3]]), "alpha"),
    "a dim too many": (named(CUBE, ["fold", *CELL_DIMS]), "prior: dims .*fold.*leading dims"),
    "a dim too few": (named([1, 1], ["actual"]), "prior: dims .*must be actual, predicted"),
    "another label": (
        named(SQUARE, CELL_DIMS, actual=[0, 1], predicted=[0, 2]),
        "prior: .* no pseudo-counts for some predicted",
    ),
    "another model": (
        named(CUBE, ["model", *CELL_DIMS], model=["x", "z"]),
        "prior: .* no pseudo-counts for some model",
    ),
    "a model too many": (
        named(np.ones((3, 2, 2)), ["model", *CELL_DIMS]),
        "prior: 3 along model for 2",
    ),
    "precision of 1": (elicited(precision=1), "precision must be between 0 and 1, both excluded"),
    "recall of 0": (elicited(recall=0), "recall must be between 0 and 1, both excluded"),
    "accuracy missing": (elicited(accuracy=np.nan), "accuracy must be between 0 and 1"),
    "accuracy in percent": (elicited(accuracy=60), "accuracy must be between 0 and 1.* it is 60"),
    "no weight": (elicited(weight=0), "weight must be greater than 0"),
    "infinite weight": (elicited(weight=np.inf), "weight must be greater than 0"),
    "negative a": (lambda: prior.rate(-1, 1), "a must be finite and not negative; it is -1"),
    "missing b": (lambda: prior.rate(1, np.nan), "b must be finite and not negative; it is nan"),
    "text as a": (lambda: prior.rate("a", 1), "a must be .* it is 'a'"),
    "text as recall": (elicited(recall="high"), "recall must be .* it is 'high'"),
    "unknown name": (
        lambda: bp.posterior(TWO, "flatt"),
        "flat, jeffreys, perks, haldane, shared.* it is 'flatt'",
    ),
    "name with arguments": (
        lambda: bp.posterior(TWO, "elicited"),
        "prior must be one of.*'elicited'",
    ),
    "number": (lambda: bp.posterior(TWO, 1), "prior must be one of flat.*it is 1"),
    "table": (
        lambda: bp.posterior(TWO, [[1, 1], [1, 1]]),
        r"prior must be one of flat.*\[\[1, 1\]",
    ),
    "function": (lambda: bp.posterior(TWO, prior.flat), "prior must be one of flat"),
    "distribution": (lambda: bp.posterior(TWO, pz.Beta(9, 1)), r"it is Beta\(.*\)\. Distributions of PyMC and PreliZ"),
    "distributions": (lambda: bp.posterior(TWO, {"recall": pm.Beta.dist(9, 1)}), "are priors of bayesperf.fit"),
    "interval in percent": (lambda: prior.flat().in_words(95), "ci_prob must be a number between 0 and 1"),
}


@pytest.mark.parametrize("mistake", BAD_INPUT)
def test_bad_input_is_refused_in_words(mistake):
    call, message = BAD_INPUT[mistake]
    with pytest.raises((ValueError, TypeError), match=message):
        call()
