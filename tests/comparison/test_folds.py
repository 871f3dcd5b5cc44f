"""Cross-validated scores: the Student-t posterior, the correlated t-test, averages over folds."""

import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, stats

import bayesperf as bp
from bayesperf.comparison.score_differences import differences
from bayesperf.distributions.normal import StudentT
from tests.shared.golden import cases

alike = pytest.mark.filterwarnings("ignore:scores. all .* differences are the same:UserWarning")

A = [0.8149, 0.7959, 0.8194, 0.8457, 0.793, 0.793, 0.8474, 0.823, 0.7859, 0.8163]
B = [0.8199, 0.8009, 0.835, 0.829, 0.7791, 0.7966, 0.8442, 0.8397, 0.7843, 0.8071]


# ── The Student-t distribution ──

LOCATION, SCALE, DF = np.array([0.3, -2.0, 0.0, 1e-3, 0.1]), np.array([1.0, 0.01, 3.0, 2e-3, 0.5]), [1, 2, 3, 9, 400]
STUDENT = StudentT.of(LOCATION, SCALE, DF)
REFERENCE = stats.t(np.array(DF)[:, None], LOCATION[:, None], SCALE[:, None])


def test_student_t_against_scipy():
    x = LOCATION[:, None] + SCALE[:, None] * np.array([-50, -3, -1, -0.1, 0, 0.2, 1, 4, 30])
    q = np.array([[0, 1e-9, 0.025, 0.3, 0.5, 0.8, 0.975, 1]])
    for verb in ("cdf", "sf", "pdf", "logpdf"):
        np.testing.assert_allclose(getattr(STUDENT, verb)(x), getattr(REFERENCE, verb)(x), rtol=1e-11)
    np.testing.assert_allclose(STUDENT.ppf(q), REFERENCE.ppf(q), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(STUDENT.cdf(STUDENT.ppf(q)), np.broadcast_to(q, (5, 8)), rtol=1e-9)
    assert STUDENT.size == 5
    np.testing.assert_array_equal(STUDENT.take(np.array([3])).location, [[1e-3]])


@pytest.mark.parametrize("df", [1, 2, 5, 9, 99, 999])
@pytest.mark.parametrize("z", [1e-8, 0.01, 0.7, 3, 25, 1e4])
def test_student_t_tails_against_mpmath(df, z):
    """Where other implementations run out of digits: next to 0, and far out."""
    with mpmath.workdps(40):
        share = df / (df + mpmath.mpf(z) ** 2)
        tail = mpmath.betainc(mpmath.mpf(df) / 2, 0.5, 0, share, regularized=True) / 2
    if tail < 1e-290:
        return
    standard, points = StudentT.of(0, 1, df), np.array([[-z, z]])
    np.testing.assert_allclose(standard.cdf(points), [[float(tail), float(1 - tail)]], rtol=1e-11)
    np.testing.assert_allclose(standard.sf(points), [[float(1 - tail), float(tail)]], rtol=1e-11)
    # Next to 1/2, probabilities have no more digits.
    assert standard.ppf(np.array([[float(tail)]])).item() == pytest.approx(-z, rel=1e-10, abs=1e-15)


def test_student_t_moments_and_what_diverges():
    mean, sd = STUDENT.mean_sd()
    np.testing.assert_array_equal(mean, [np.inf, *LOCATION[1:]])
    np.testing.assert_allclose(sd, [np.inf, np.inf, *REFERENCE.std()[2:, 0]])


@pytest.mark.parametrize("prob", [0.5, 0.95])
def test_student_t_hdi_is_shortest(prob):
    interval = STUDENT.hdi(prob)
    np.testing.assert_allclose(np.diff(STUDENT.cdf(interval))[:, 0], prob, rtol=1e-12)
    for lower_tail in np.linspace(0.01, 0.99, 30) * (1 - prob):
        other = REFERENCE.ppf([lower_tail, lower_tail + prob])
        assert (np.diff(interval) <= np.diff(other) * (1 + 1e-12)).all()


def test_student_t_draws():
    values = STUDENT.resample(50_000, np.random.default_rng(1))
    assert values.shape == (5, 50_000)
    for row, df, location, scale in zip(values, DF, LOCATION, SCALE, strict=True):
        assert stats.kstest(row, stats.t(df, location, scale).cdf).pvalue > 1e-3
    assert stats.kstest(values[0], stats.t(1, 0.3, 1.02).cdf).pvalue > 1e-9


POINT = StudentT.of([0.0, 0.2], [0, 0], [1, 4])


def test_a_point_mass():
    x = np.array([[-1e-300, 0, 0.2, 0.3]])
    np.testing.assert_array_equal(POINT.cdf(x), [[0, 1, 1, 1], [0, 0, 1, 1]])
    np.testing.assert_array_equal(POINT.sf(x), 1 - POINT.cdf(x))
    np.testing.assert_array_equal(POINT.ppf(np.array([[0, 0.3, 1]])), [[0, 0, 0], [0.2, 0.2, 0.2]])
    np.testing.assert_array_equal(POINT.hdi(0.9), [[0, 0], [0.2, 0.2]])
    np.testing.assert_array_equal(POINT.pdf(np.array([[0, 0.1, 0.2]])), [[np.inf, 0, 0], [0, 0, np.inf]])
    np.testing.assert_array_equal(POINT.mean_sd(), [[0, 0.2], [0, 0]])
    np.testing.assert_array_equal(POINT.resample(3, np.random.default_rng(0)), [[0] * 3, [0.2] * 3])


def test_shortfall_of_student_t():
    """E[max(−D, 0)], the integral of P(−D > x) over x > 0."""
    locations = [-3.0, -0.4, 0.0, 0.02, 7.0]
    for df in (2, 9):
        found = StudentT.of(locations, [0.5] * 5, [df] * 5).shortfall()
        for value, location in zip(found, locations, strict=True):
            survival = stats.t(df, -location, 0.5).sf
            parts = [integrate.quad(survival, *ends, epsabs=1e-14, epsrel=1e-12)[0] for ends in ((0, 3), (3, np.inf))]
            assert value == pytest.approx(sum(parts), rel=1e-8)
    np.testing.assert_array_equal(StudentT.of([-1, 1], [1, 1], [1, 1]).shortfall(), np.inf)
    np.testing.assert_array_equal(StudentT.of([-1, 0, 2], [0, 0, 0], [1, 2, 3]).shortfall(), [1, 0, 0])


# ── The correlated t-test ──


@alike
@cases("comparison", "bay_single")
def test_golden_single(case):
    """Their difference is y − x; of all-equal differences, what they state is ours with ties counted half."""
    inputs, outputs = case["inputs"], case["outputs"]
    fraction = inputs["runs"] / len(inputs["x"])
    found = bp.folds.correlated_ttest(inputs["y"], inputs["x"], test_fraction=fraction, rope=inputs["rope"])
    below, inside, above = found.prob_rope.values
    close = {"rel": 1e-10, "abs": 1e-14}
    if inputs["rope"]:
        assert [below, inside, above] == pytest.approx(outputs["probs"], **close)
    else:
        assert found.prob_greater.item() == pytest.approx(outputs["probs"][1], **close)
    assert found.difference.mean().item() == pytest.approx(outputs["posterior_mean"], **close)
    for kind in ("hdi", "eti"):
        for prob in (0.95, 0.89):
            if f"ci{100 * prob:.0f}" in outputs:
                interval = found.difference.interval(prob, kind).values
                assert interval == pytest.approx(outputs[f"ci{100 * prob:.0f}"], rel=1e-10)
    sd = np.sqrt(outputs["posterior_scale2"] * outputs["df"] / (outputs["df"] - 2))
    assert found.difference.sd().item() == pytest.approx(outputs.get("posterior_sd", sd), **close)


@cases("comparison", "ref_correlated_t")
def test_golden_random_splits(case):
    inputs, outputs = case["inputs"], case["outputs"]
    found = bp.folds.correlated_ttest(
        inputs["y"], inputs["x"], test_fraction=inputs["test_fraction"], rope=inputs["rope"]
    )  # fmt: skip
    assert found.prob_rope.values == pytest.approx(outputs["probs_rope0_01"], rel=1e-10)
    assert found.difference.eti(0.95).values == pytest.approx(outputs["ci95"], rel=1e-10)


def test_against_the_model_by_integration():
    """P(μ > 0.01) under d ~ Normal(μ 1, σ²[(1 − f) I + f 11ᵀ]), p(μ, σ²) ∝ 1/σ²."""
    d, f = np.array(A)[:6] - np.array(B)[:6], 0.3
    precision = np.linalg.inv((1 - f) * np.eye(6) + f)
    log_sigma = np.linspace(-8, 4, 600)

    def density(mu):
        square = (d - mu) @ precision @ (d - mu)
        return np.exp(-6 * log_sigma - square / (2 * np.exp(2 * log_sigma)) - 24).sum()

    pieces = [(-1, -0.05), (-0.05, d.mean()), (d.mean(), 0.01), (0.01, 0.05), (0.05, 1)]
    masses = [integrate.quad(density, *piece, epsrel=1e-11)[0] for piece in pieces]
    found = bp.folds.correlated_ttest(A[:6], B[:6], test_fraction=f, rope=0.01)
    beyond = found.difference.prob_above(1) + found.difference.prob_below(-1)
    assert beyond < 1e-8
    assert found.prob_rope.sel(rope="above").item() == pytest.approx(sum(masses[3:]) / sum(masses), rel=1e-7)


def test_without_correlation_it_is_the_paired_t_test():
    found = bp.folds.correlated_ttest(A, B, test_fraction=1e-14)
    other = stats.ttest_rel(A, B, alternative="greater")
    assert 1 - found.prob_greater.item() == pytest.approx(other.pvalue, rel=1e-9)
    interval = stats.ttest_rel(A, B).confidence_interval(0.9)
    assert found.difference.eti(0.9).values == pytest.approx(list(interval), rel=1e-9)


def test_sides_and_units():
    one, other = (bp.folds.correlated_ttest(*sides, test_fraction=0.1, rope=0.004) for sides in ((A, B), (B, A)))
    np.testing.assert_allclose(one.prob_rope.values, other.prob_rope.values[::-1], rtol=1e-12)
    percent = bp.folds.correlated_ttest(np.array(A) * 100, np.array(B) * 100, test_fraction=0.1, rope=0.4)
    np.testing.assert_allclose(one.prob_rope, percent.prob_rope, rtol=1e-9)


def test_two_scores_leave_one_degree_of_freedom():
    found = bp.folds.correlated_ttest([0.8, 0.9], [0.7, 0.85], test_fraction=0.5)
    assert found.difference.mean() == found.difference.sd() == found.expected_loss == np.inf
    scale = np.sqrt(1.5 * np.var([0.1, 0.05], ddof=1))
    assert found.prob_greater.item() == pytest.approx(0.5 + np.arctan(0.075 / scale) / np.pi, rel=1e-12)
    assert found.difference.median().item() == pytest.approx(0.075)


def test_expected_loss_is_in_the_direction_of_the_metric():
    up, down = (
        bp.folds.correlated_ttest(A, B, test_fraction=0.1, greater_is_better=better) for better in (True, False)
    )
    mean = up.difference.mean().item()
    assert down.expected_loss.item() - up.expected_loss.item() == pytest.approx(mean, rel=1e-9)
    draws = up.difference.joint_draws(400_000, 3).values
    losses = np.maximum(-draws, 0)
    assert up.expected_loss.item() == pytest.approx(losses.mean(), abs=5 * losses.std() / np.sqrt(len(losses)))
    with pytest.raises(ValueError, match="expected_loss: neither more nor less score is better"):
        _ = bp.folds.correlated_ttest(A, B, test_fraction=0.1, greater_is_better=None).expected_loss


def test_folds_of_all_repeats_are_taken_whole():
    """In any order of dims, and paired by their labels."""
    a, b = (xr.DataArray(np.reshape(scores, (2, 5)), dims=("repeat", "fold")) for scores in (A, B))
    found = bp.folds.correlated_ttest(a, b.transpose(), test_fraction=0.1).summary()
    pd.testing.assert_frame_equal(found, bp.folds.correlated_ttest(A, B, test_fraction=0.1).summary())
    labelled = a.assign_coords(fold=range(5), repeat=range(2))
    with pytest.raises(ValueError, match="scores_b is labelled otherwise"):
        bp.folds.correlated_ttest(labelled, labelled.isel(fold=slice(None, None, -1)), test_fraction=0.1)
    with pytest.raises(TypeError, match=r"it is a DataArray with dims \('part', 'fold'\)"):
        bp.folds.correlated_ttest(a.rename(repeat="part"), B, test_fraction=0.1)


@alike
def test_equal_differences_are_a_point_mass():
    """0.8 − 0.7 and 0.9 − 0.8 are not the same float, and they are the same difference."""
    found = bp.folds.correlated_ttest([0.8, 0.9, 1.0], [0.7, 0.8, 0.9], test_fraction=0.1, rope=0.1)
    assert found.prob_greater == 1
    np.testing.assert_array_equal(found.prob_rope, [0, 1, 0])
    assert (found.difference.mean(), found.difference.sd()) == (0.1, 0)
    level = bp.folds.correlated_ttest(A, A, test_fraction=0.1)
    assert level.prob_greater == 0.5
    np.testing.assert_array_equal(level.prob_rope, [0, 1, 0])
    assert bp.folds.correlated_ttest([1, 2], [3, 4], test_fraction=0.1).prob_greater == 0


def test_scores_of_systems_that_were_selected_keep_their_names():
    both = xr.DataArray([A, B], {"model": ["new", "old"]}, ("model", "fold"), name="accuracy")
    new, old = both.sel(model="new"), both.sel(model="old")
    found = bp.folds.correlated_ttest(new, old, test_fraction=0.1)
    assert repr(found) == "<bayesperf.Comparison: accuracy, new − old (student_t)>"
    assert bp.folds.sign_test(new, old).names == bp.folds.signed_rank_test(new, old).names == ("new", "old")
    assert bp.folds.sign_test(new.values, old).names == ("a", "b")


def test_the_comparison_says_what_it_is():
    found = bp.folds.correlated_ttest(A, B, test_fraction=0.1, names=("new", "old"), metric="accuracy", rope=0.01)
    assert repr(found) == "<bayesperf.Comparison: accuracy, new − old (student_t)>"
    table = found.summary()
    row = table.iloc[0]
    assert list(row[["metric", "a", "b", "method"]]) == ["accuracy", "new", "old", "student_t"]
    assert list(row[["mcse", "mcse_interval"]]) == [0, 0]
    assert row["inside"] == pytest.approx(found.prob_rope.sel(rope="inside").item())
    assert "splits that test 0.1 of the examples" in repr(table)
    assert "splits correlated by 0.1" in repr(table)
    np.testing.assert_array_equal(found.difference.joint_draws(4, 7), found.difference.joint_draws(4, 7))
    assert (found.difference.joint_draws(4, 7) != found.difference.joint_draws(4, 8)).all()


@pytest.mark.parametrize(
    ("error", "changed", "message"),
    [
        (ValueError, {"scores_b": B[:9]}, "scores_b has 9 scores and scores_a 10: they must be of the same, in one"),
        (ValueError, {"scores_a": [0.1]}, "scores_a must hold at least two scores; there is 1."),
        (ValueError, {"scores_b": []}, "scores_b must hold at least two scores; there is none."),
        (
            ValueError,
            {"scores_b": [*B[:9], np.nan]},
            "scores_b has a missing or infinite score, nan at position 9. D",
        ),
        (ValueError, {"scores_a": [np.inf, *A[1:]]}, "scores_a has a missing or infinite score, inf at position 0. D"),
        (TypeError, {"scores_a": [A, A]}, "scores_a must be a one-dimensional array of numbers; it is"),
        (TypeError, {"scores_a": ["0.9"] * 10}, "scores_a must be a one-dimensional array of numbers; it is"),
        (TypeError, {"scores_b": [None, *B[1:]]}, "scores_b must be a one-dimensional array of numbers; it is"),
        (TypeError, {"scores_b": [True] * 10}, "scores_b must be a one-dimensional array of numbers; it is"),
        (TypeError, {"scores_b": 0.9}, "scores_b must be a one-dimensional array of numbers; it is 0.9."),
        (ValueError, {"test_fraction": 1}, "test_fraction must be a number between 0 and 1, both excluded; it is 1."),
        (ValueError, {"test_fraction": 0}, "test_fraction must be a number between 0 and 1, both excluded; it is 0."),
        (ValueError, {"rope": -0.1}, "rope must be the half-width of a region, at least 0; it is -0.1."),
        (TypeError, {"rope": "1 %"}, "rope must be a number; it is '1 %'."),
        (ValueError, {"names": "ab"}, "names must be two, of a and of b; they are 'ab'."),
        (ValueError, {"names": ["a"]}, r"names must be two, of a and of b; they are \['a'\]."),
    ],
)
def test_bad_scores(error, changed, message):
    arguments = {"scores_a": A, "scores_b": B, "test_fraction": 0.1, **changed}
    with pytest.raises(error, match=message):
        bp.folds.correlated_ttest(arguments.pop("scores_a"), arguments.pop("scores_b"), **arguments)


@alike
def test_labels_of_scores_must_agree():
    series = pd.Series(A, index=range(10))
    array = xr.DataArray(A, {"fold": range(10)}, "fold")
    for labelled, shuffled in ((series, series[::-1]), (array, array[::-1]), (series, array[::-1])):
        bp.folds.correlated_ttest(labelled, labelled, test_fraction=0.1)
        bp.folds.correlated_ttest(labelled, np.asarray(shuffled), test_fraction=0.1)
        with pytest.raises(ValueError, match=r"scores_b (is labelled otherwise|has the same index).* order"):
            bp.folds.correlated_ttest(labelled, shuffled, test_fraction=0.1)


@pytest.mark.parametrize("unit", [1, 100, 1e-200, 1e200])
def test_differences_keep_14_digits(unit):
    found = differences(np.array([0.81, 0.3, 0]) * unit, np.array([0.8, 0.1, 0.07]) * unit).values
    np.testing.assert_allclose(found, np.array([0.01, 0.2, -0.07]) * unit, rtol=1e-12)
    assert differences([0, 0], [0, 0]).values.tolist() == [0, 0]
    assert differences([0.81, 0.3], [0.8, 0.1]).values.tolist() == [0.01, 0.2]


# ── The average over folds ──


FOLD_DRAWS = 20_000


def folds(successes, failures):
    """Return matrices along ``fold`` whose recall is a rate of so many successes and failures."""
    tp, fn = (xr.DataArray(counts, dims="fold") for counts in (successes, failures))
    return bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=0, tn=0)


def quietly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.errors.PriorWarning)
        return bp.folds.average(*arguments, **options)


@pytest.mark.few
@cases("comparison", "dev-average_beta", "average_beta")
def test_golden_average_of_rates(case):
    """Their mean and interval are right as the mean of F posteriors, which is the question here; see the warning."""
    inputs, outputs = case["inputs"], case["outputs"]
    successes, failures = list(inputs.values())[:2]
    post = bp.posterior(folds(successes, failures), bp.prior.rate(inputs["lambda_"], inputs["lambda_"]))
    check_average(quietly(post, "recall", draws=FOLD_DRAWS), inputs, outputs, case)


@pytest.mark.slow
@cases("comparison", "dev-average_f1")
def test_golden_average_of_f1(case):
    inputs = case["inputs"]
    counts = {name: xr.DataArray(inputs[name], dims="fold") for name in ("tp", "fn", "fp")}
    cm = bp.ConfusionMatrix.from_counts(**counts, tn=0)
    post = bp.posterior(cm, bp.prior.rate(inputs["lambda_"], inputs["lambda_"]))
    check_average(quietly(post, "f1", draws=FOLD_DRAWS), inputs, case["outputs"], case)


@cases("comparison", "precision_score", "recall_score", "jaccard_score")
def test_golden_kfold(case):
    inputs, metric = case["inputs"], case["function"].split(".")[-1].removesuffix("_score")
    y_true, y_pred = np.array(inputs["y_true"]), np.array(inputs["y_pred"])
    fold = np.repeat(np.arange(len(y_true)), y_true.shape[1])
    cm = bp.ConfusionMatrix.from_predictions(y_true.ravel(), y_pred.ravel(), by={"fold": fold})
    assert bp.score(cm, metric).mean().item() == pytest.approx(case["outputs"]["point"]["mean"], rel=1e-12)
    post = bp.posterior(cm, bp.prior.rate(inputs["lambda_"], inputs["lambda_"]))
    check_average(quietly(post, metric, draws=FOLD_DRAWS), inputs, case["outputs"], case)


def check_average(found, inputs, outputs, case):
    """Compare with means over seeds, of a run's standard deviation sd; their modes have no counterpart here."""
    lower, upper = found.eti(inputs["coverage"]).values
    ours = {"mean": found.mean().item(), "lower": lower, "upper": upper}
    for name in outputs.keys() & ours.keys():
        error = 4 * outputs[name]["sd"] * np.sqrt(inputs["nb_samples"] / FOLD_DRAWS + 1 / case["n_seeds"])
        assert ours[name] == pytest.approx(outputs[name]["mean"], rel=0, abs=error), name
    exact = case.get("exact_reference", {})
    if exact:
        assert ours["mean"] == pytest.approx(exact["mean"], rel=0, abs=4 * found.mcse().item())
    if "sd" in exact:
        assert found.sd().item() == pytest.approx(exact["sd"], rel=4 / np.sqrt(2 * FOLD_DRAWS))


def test_average_of_two_folds_by_integration():
    """P((X + Y)/2 ≤ t) = E[F_X(2t − Y)]."""
    x, y = stats.beta(9, 3), stats.beta(5, 5)
    found = quietly(bp.posterior(folds([8, 4], [2, 4]), "flat"), "recall", draws=50_000)
    assert found.method == "draws"
    # A flat prior weighs each cell by 1, so a rate by 1 on either side.
    for t in (0.4, 0.6, 0.7):
        expected = integrate.quad(lambda v, t=t: x.cdf(2 * t - v) * y.pdf(v), 0, 1, points=[max(2 * t - 1, 0)])[0]
        error = 4 * np.sqrt(expected * (1 - expected) / 50_000)
        assert found.cdf(t).item() == pytest.approx(expected, abs=error)


def test_averages_keep_the_other_dims():
    rng = np.random.default_rng(0)
    cm = bp.ConfusionMatrix.from_table(rng.integers(3, 30, (2, 4, 3, 3)), dims={"model": ["u", "v"], "fold": range(4)})
    post = bp.posterior(cm, "haldane")
    found = bp.folds.average(post, "recall_per_class", draws=20_000)
    assert found.dims == ("model", "label")
    exact = post["recall_per_class"].mean().mean("fold")
    sd = (post["recall_per_class"].sd() ** 2).sum("fold") ** 0.5 / 4
    assert (abs(found.mean() - exact) < 5 * sd / np.sqrt(20_000)).all()
    np.testing.assert_allclose(found.sd(), sd, rtol=5 / np.sqrt(2 * 20_000))
    assert found.joint_draws(5).dims == ("model", "label", "draw")
    # The dim of the folds need not be the last, nor be called so.
    renamed = bp.ConfusionMatrix(cm.counts.rename(fold="site").transpose("site", "model", "actual", "predicted"))
    other = bp.folds.average(bp.posterior(renamed, "haldane"), "accuracy", "site", draws=20_000)
    np.testing.assert_allclose(other.mean(), post["accuracy"].mean().mean("fold"), atol=1e-3)


def test_seeds_and_systems():
    cm = bp.ConfusionMatrix.from_counts(
        tp=xr.DataArray([[40, 45, 41], [30, 38, 33]], {"model": ["u", "v"]}, ("model", "fold")), fn=9, fp=4, tn=60
    )
    post = bp.posterior(cm, "perks")
    one, again, other = (quietly(post, "f1", random_seed=seed).joint_draws(100).values for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    # Another system changes no figure.
    alone = quietly(bp.posterior(cm.sel(model="v"), "perks"), "f1")
    assert quietly(post, "f1").mean().sel(model="v") == alone.mean()
    generator = quietly(post, "f1", random_seed=np.random.default_rng(1))
    assert generator.mean().shape == (2,)
    # Draws of an average belong to the joint draw of the posterior.
    np.testing.assert_allclose(quietly(post, "f1").joint_draws(50), post["f1"].joint_draws(50).mean("fold"))


def test_sampled_posteriors_are_averaged_draw_by_draw():
    cm = bp.ConfusionMatrix.from_counts(
        tp=xr.DataArray([40, 45, 41], dims="fold"), fn=xr.DataArray([9, 3, 7], dims="fold"), fp=4, tn=60
    )
    groups = bp.pool(cm).by_group
    found = bp.folds.average(groups, "recall")
    draws = groups["recall"].distribution.values.mean(0)
    assert found.mean().item() == pytest.approx(draws.mean(), rel=1e-12)
    # Groups that share a population vary together: more than if they were independent.
    assert found.sd().item() > 1.1 * (groups["recall"].sd() ** 2).sum().item() ** 0.5 / 3
    tree = bp.posterior(cm).to_datatree(draws=300, chains=2)
    few = bp.folds.average(bp.Posterior.from_datatree(tree), "recall")
    assert few.mean().item() == pytest.approx(tree["posterior"]["recall"].mean().item(), rel=1e-12)


def test_a_prior_spent_once_a_fold_is_said():
    """Ten folds of 10, 9 right, flat prior: (90 + 10)/120 for (90 + 1)/102, which is where the pooled counts are."""
    post = bp.posterior(folds([9] * 10, [1] * 10), "flat")
    sd = stats.beta(10, 2).std() / np.sqrt(10)
    moved = (91 / 102 - 100 / 120) / sd
    message = (f"is spent once in each fold and moves the average recall from 0.892 to 0.833, by {moved:.2g} of its "
               "standard deviations. Use bp.pool")  # fmt: skip
    with pytest.warns(bp.errors.PriorWarning, match=message):
        bp.folds.average(post, "recall")
    with pytest.warns(bp.errors.PriorWarning, match="from 0.892 to 0.833"):
        bp.folds.average(bp.posterior(folds([9] * 10, [1] * 10), bp.prior.rate(1, 1)), "recall")


def test_the_warning_names_the_system_it_concerns():
    tp = xr.DataArray([[900, 910], [9, 9]], {"model": ["much", "little"]}, ("model", "fold"))
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=tp // 9, fp=0, tn=0), "flat")
    with pytest.warns(bp.errors.PriorWarning, match="average recall at model=little from"):
        bp.folds.average(post, "recall")


@pytest.mark.parametrize(
    "post",
    [
        bp.posterior(folds([400, 380, 420], [100, 120, 80])),
        # Unequal sites with rates of their own: the average is not what the pooled counts say, and no prior's doing.
        bp.posterior(folds([2700, 150], [300, 150])),
        bp.posterior(folds([4, 3, 5], [2, 3, 1]), "haldane"),
        bp.posterior(folds([9] * 10, [1] * 10), bp.prior.dirichlet(0.01)),
    ],
    ids=["large folds", "unequal sites", "no prior", "a tenth of a prior"],
)
def test_no_warning_where_the_prior_moves_little(post):
    bp.folds.average(post, "recall")


def test_the_quarter_is_a_quarter():
    """Just below and just above 0.25 standard deviations, under a flat prior."""

    def shift(n):
        k = round(0.9 * n)
        average, once = (k + 1) / (n + 2), (k + 0.2) / (n + 0.4)
        return abs(average - once) / (stats.beta(k + 1, n - k + 1).std() / np.sqrt(5))

    sizes = np.arange(40, 2000, 10)
    last = sizes[[shift(n) > 0.25 for n in sizes]].max()
    for n, warned in ((last, True), (last + 10, False)):
        post = bp.posterior(folds([round(0.9 * n)] * 5, [n - round(0.9 * n)] * 5), "flat")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bp.folds.average(post, "recall")
        assert bool(caught) == warned


def test_ratios_with_infinite_means_are_averaged():
    cm = bp.ConfusionMatrix.from_counts(tp=xr.DataArray([8, 9], dims="fold"), fn=1, fp=0, tn=9)
    found = bp.folds.average(bp.posterior(cm), "positive_likelihood_ratio")
    assert found.median() > 1


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (TypeError, (folds([3, 4], [1, 1]), "recall"), "post must be a Posterior; it is ConfusionMatrix. Take"),
        (ValueError, (bp.posterior(folds([3, 4], [1, 1])), "recall", "site"), r"dim: 'site' is not a leading dim; they "
         r"are \['fold'\]"),
        (ValueError, (bp.posterior(folds([3], [1])), "recall"), "dim: there is one fold, and nothing to average over."),
        (ValueError, (bp.posterior(folds([3, 4], [1, 1])), "recal"), "recall"),
        (ValueError, (bp.posterior(folds([3, 4], [1, 1])), "recall", "fold", 1), "draws must be a whole number of"),
        (ValueError, (bp.posterior(folds([3, 4], [1, 0]), "haldane"), "recall"), "metric 'recall' at fold=1: no"),
    ],
)  # fmt: skip
def test_bad_averages(error, arguments, message):
    with pytest.raises(error, match=message):
        bp.folds.average(*arguments)


# ── Random splits: test parts that share examples ──


def right_in_splits(right, splits, size, rng):
    """Return how many of `size` examples, drawn without replacement, are right in each random split, (…, splits)."""
    return np.stack([rng.permuted(right, axis=-1)[..., :size].sum(-1) for _ in range(splits)], -1)


def posterior_of_splits(right, size, prior=None):
    tp = xr.DataArray(right, dims=("data", "split")[-right.ndim :])
    return bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=size - tp, fp=0, tn=0), prior)


@pytest.mark.slow
def test_fifty_splits_of_100_examples_are_as_uncertain_as_100_examples():
    k = right_in_splits(np.arange(100) < 80, 50, 20, np.random.default_rng(0))
    post = posterior_of_splits(k, 20)
    honest = np.ptp(stats.beta(80.5, 20.5).ppf([0.025, 0.975]))
    assert honest == pytest.approx(0.156, abs=1e-3)
    counted_often = quietly(post, "recall", "split", repeats=1).eti().values
    assert np.ptp(counted_often) == pytest.approx(0.05, abs=0.003)
    weighed = quietly(post, "recall", "split", repeats=50 * 20 / 100)
    # Five groups of folds of 20 examples and a prior of 1.
    expected = np.sqrt(np.mean(stats.beta(k + 0.5, 20.5 - k).var()) / 5)
    assert weighed.sd().item() == pytest.approx(expected, rel=0.05)
    assert np.ptp(weighed.eti().values) == pytest.approx(honest, rel=0.05)
    np.testing.assert_array_equal(
        weighed.joint_draws(50, 3), quietly(post, "recall", "split", repeats=10).joint_draws(50, 3)
    )


@pytest.mark.slow
@pytest.mark.parametrize("count", [80, pytest.param(400, marks=pytest.mark.slow)])
def test_coverage_of_random_splits(count):
    """Of data sets of 100 examples, a rate of .8; each example is right or wrong in all splits that test it."""
    rng = np.random.default_rng(1)
    k = right_in_splits(rng.random((count, 100)) < 0.8, 50, 20, rng)
    # A light prior: fifty whole ones would move the average.
    post = posterior_of_splits(k, 20, bp.prior.dirichlet(0.05))
    covered = {}
    for repeats in (1, 10):
        lower, upper = quietly(post, "recall", "split", draws=600, repeats=repeats).eti().values.T
        covered[repeats] = ((lower <= 0.8) & (upper >= 0.8)).mean()
    error = np.sqrt(0.95 * 0.05 / count)
    assert covered[10] == pytest.approx(0.95, abs=4 * error)
    assert covered[1] < 0.6


def test_repeats_of_two_folds_by_enumeration_of_their_dependence():
    """Two repeats of one fold, exactly alike: the average is the fold's own posterior."""
    post = bp.posterior(folds([8, 8], [2, 2]), "flat")
    found = quietly(post, "recall", draws=40_000, repeats=2)
    for level in (0.05, 0.5, 0.95):
        at = stats.beta(9, 3).ppf(level)
        assert found.cdf(at).item() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 40_000))


def test_folds_of_a_group_are_alike_and_groups_are_independent():
    """Six folds in two groups of three: the average is that of two independent posteriors of a fold."""
    found = quietly(bp.posterior(folds([8] * 6, [2] * 6), "flat"), "recall", draws=40_000, repeats=3)
    assert found.sd().item() == pytest.approx(stats.beta(9, 3).std() / np.sqrt(2), rel=4 / np.sqrt(2 * 40_000))


def test_shared_examples_are_warned_of():
    many = posterior_of_splits(np.full(50, 16), 20, "haldane")
    with pytest.warns(
        bp.errors.DependenceWarning, match="there are 50 splits of 20 examples: if they are random splits"
    ):
        bp.folds.average(many, "recall", "split", draws=10)
    labels = {"split": np.repeat([1, 2], 30)}, np.tile(np.arange(30), 2)
    y_true, y_pred = np.tile([0, 1, 1], 20), np.tile([0, 1, 1, 1, 0, 0], 10)
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred, by=labels[0], example=labels[1])
    with pytest.warns(bp.errors.DependenceWarning, match="the splits are of the same examples"):
        bp.folds.average(bp.posterior(cm), "recall", "split", draws=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", bp.errors.DependenceWarning)
        bp.folds.average(many, "recall", "split", draws=10, repeats=10)
        quietly(bp.posterior(cm), "recall", "split", draws=10, repeats=2)
        # Five folds, ten small ones, and single examples left out.
        for right, size in ((np.full(5, 16), 20), (np.full(10, 4), 5), (np.tile([0, 1, 1], 10), 1)):
            quietly(posterior_of_splits(right, size, "perks"), "recall", "split", draws=10)


@pytest.mark.parametrize(
    ("post", "repeats", "message"),
    [
        (bp.posterior(folds([3, 4], [1, 1])), 0.5, "repeats must be from 1 to the number of folds, 2; it is 0.5"),
        (bp.posterior(folds([3, 4], [1, 1])), 3, "repeats must be from 1 to the number of folds, 2; it is 3"),
        (
            bp.posterior(folds([3, 4], [1, 1])).predict(10, draws=20),
            2,
            "repeats: the folds of these draws are not independent",
        ),
    ],
)
def test_bad_repeats(post, repeats, message):
    with pytest.raises(ValueError, match=message):
        bp.folds.average(post, "recall", repeats=repeats)


def test_equal_differences_are_no_certainty():
    with pytest.warns(UserWarning, match="all 3 differences are the same.*BP701"):
        bp.folds.correlated_ttest([0.8, 0.75, 0.5], [0.55, 0.5, 0.25], test_fraction=0.2)
