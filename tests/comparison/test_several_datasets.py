"""Two systems on several data sets: all their scores (hierarchical), and their mean scores (sign, signed-rank).

The sampler's draws are made by hand here, so that what follows from them is known; real fits are marked slow.
"""

from fractions import Fraction
from itertools import product

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from scipy import integrate, stats

import bayesperf as bp
from tests.shared.golden import cases

mpl.use("Agg")

REGIONS = ["below", "inside", "above"]
SCORES = xr.DataArray(
    np.random.default_rng(0).normal(0.8, 0.03, (4, 2, 6)).round(3),
    {"dataset": list("pqrs"), "model": ["new", "old"]}, ("dataset", "model", "fold"), name="accuracy",
)  # fmt: skip
# 0.9 − 0.8 and 0.4 − 0.3 are not the same floats.
ALIKE = np.tile([[0.9, 0.4], [0.8, 0.3]], 3)


# ── All scores: what follows from a fit ──


def sticky(rng, mean, sd):
    """Return draws (chain, draw) that hang together."""
    steps = rng.normal(size=(4, 500))
    for i in range(1, 500):
        steps[:, i] = 0.9 * steps[:, i - 1] + np.sqrt(1 - 0.81) * steps[:, i]
    return mean + sd * steps


def tree_of(average, spread, tail):
    named = {"average": average, "spread_of_datasets": spread, "tail": tail}
    return xr.DataTree.from_dict(
        {"posterior": xr.Dataset({name: (("chain", "draw"), v) for name, v in named.items()}, attrs={"prior": "wide"})}
    )


RNG = np.random.default_rng(1)
AVERAGE, SPREAD = sticky(RNG, 0.015, 0.006), np.exp(sticky(RNG, -3.6, 0.3))
TREE = tree_of(AVERAGE, SPREAD, RNG.gamma(2, 5, (4, 500)))


@pytest.fixture
def fitted(monkeypatch):
    """Put the hand-made draws in the place of a fit, and keep what it was asked for."""
    asked = {}

    def fit(data, model, **options):
        asked.update(data=data, model=model, **options)
        return TREE

    monkeypatch.setattr("bayesperf.sampling.fitting.fit", fit)
    return asked


@pytest.mark.parametrize("rope", [0, 0.01])
def test_shares_are_those_of_the_population_of_each_draw(fitted, rope):
    found = bp.folds.datasets(SCORES, test_fraction=1 / 6, rope=rope)
    tail = TREE["posterior"]["tail"].values
    population = stats.t(1 + tail.ravel(), AVERAGE.ravel(), SPREAD.ravel())
    below, above = population.cdf(-rope), population.sf(rope)
    expected = np.stack([below, 1 - below - above, above], -1)
    assert found.next_dataset.shares.dims == ("draw", "rope")
    assert found.next_dataset.shares["rope"].values.tolist() == REGIONS
    np.testing.assert_allclose(found.next_dataset.shares, expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(found.next_dataset.prob_rope, expected.mean(0), rtol=1e-10, atol=1e-14)
    winners = np.bincount(expected.argmax(-1), minlength=3) / len(expected)
    np.testing.assert_allclose(found.next_dataset.prob_largest, winners, rtol=1e-12)
    assert found.next_dataset.prob_rope.attrs["rope"] == found.next_dataset.prob_largest.attrs["rope"] == rope


def test_errors_allow_for_draws_that_hang_together(fitted):
    found = bp.folds.datasets(SCORES, test_fraction=1 / 6, rope=0.01)
    shares = found.next_dataset.shares.values.reshape(4, 500, 3)
    for values, mcse in (
        (shares, found.next_dataset.prob_rope.attrs["mcse"]),
        (shares == shares.max(-1, keepdims=True), found.next_dataset.prob_largest.attrs["mcse"]),
        (np.stack([AVERAGE < -0.01, AVERAGE > 0.01], -1), found.prob_rope.attrs["mcse"]),
    ):
        error = [array_stats.mcse(v, chain_axis=0, draw_axis=1) for v in np.moveaxis(values.astype(float), -1, 0)]
        assert mcse == pytest.approx(np.nanmax(error))
        assert mcse > 1.5 * values.std((0, 1)).max() / np.sqrt(2000)


def test_the_difference_is_the_average_over_data_sets(fitted):
    found = bp.folds.datasets(SCORES, test_fraction=1 / 6, rope=0.01)
    assert (found.metric, found.names, found.rope) == ("accuracy", ("new", "old"), 0.01)
    assert found.difference.method == "draws"
    assert found.difference.mean().item() == pytest.approx(AVERAGE.mean())
    assert found.difference.mcse().item() > 2 * AVERAGE.std() / np.sqrt(2000)
    np.testing.assert_allclose(
        found.prob_rope, [(AVERAGE < -0.01).mean(), (abs(AVERAGE) <= 0.01).mean(), (AVERAGE > 0.01).mean()]
    )
    assert found.prob_greater.item() == pytest.approx((AVERAGE > 0).mean())
    assert found.expected_loss.item() == pytest.approx(np.maximum(-AVERAGE, 0).mean())
    assert bp.folds.datasets(SCORES, test_fraction=1 / 6, greater_is_better=False).prob_better.item() == pytest.approx(
        (AVERAGE < 0).mean()
    )
    draws = found.difference.joint_draws(2000)
    assert sorted(draws.values) == sorted(AVERAGE.ravel())
    np.testing.assert_array_equal(found.difference.joint_draws(9, 3), found.difference.joint_draws(9, 3))


def test_three_questions_have_three_answers(monkeypatch):
    """Sure to be better on average, by little: on the next data set it is a matter of chance."""
    tree = tree_of(0.02 + 0.001 * RNG.normal(size=(4, 500)), np.full((4, 500), 0.04), np.full((4, 500), 30.0))
    monkeypatch.setattr("bayesperf.sampling.fitting.fit", lambda *_, **__: tree)
    found = bp.folds.datasets(SCORES, test_fraction=1 / 6, rope=0.01)
    assert found.in_words().startswith("On accuracy averaged over data sets, new is almost certainly better than old")
    assert found.in_words().endswith(f"). {found.next_dataset.in_words()}")
    table = found.next_dataset.summary()
    assert list(table.columns) == [*REGIONS, "mcse"]
    assert list(table.index) == ["average over data sets", "next data set", "most probable for the next data set"]
    assert list(table["above"].round(2)) == [1.0, 0.6, 1.0]
    np.testing.assert_allclose(table[REGIONS].sum(axis=1), 1)
    assert (table["mcse"] < 1e-3).all()


def test_everything_is_passed_on_to_the_fit(fitted):
    options = {"test_fraction": 0.1, "random_seed": 5, "draws": 50, "tune": 70, "priors": {"noise": 1}}
    found = bp.folds.datasets(SCORES, rope=0.02, **options)
    assert isinstance(found, bp.Comparison)
    assert found.tree is TREE
    assert {name: fitted[name] for name in fitted if name != "data"} == {
        "model": "datasets", "options": {"test_fraction": 0.1}, "random_seed": 5, "draws": 50, "tune": 70,
        "priors": {"noise": 1},
    }  # fmt: skip
    xr.testing.assert_identical(fitted["data"], SCORES)
    assert "folds correlated by 0.1" in found.basis
    assert bp.folds.datasets(SCORES, test_fraction=1 / 6).basis == "wide; folds correlated by 0.167"


def test_dims_may_come_in_any_order_and_under_another_name(fitted):
    scores = SCORES.rename(dataset="site").transpose("fold", "site", "model").rename(None)
    found = bp.folds.datasets(scores, dim="site", test_fraction=1 / 6)
    xr.testing.assert_equal(fitted["data"], SCORES)
    assert found.metric == "score"
    plain = xr.DataArray(SCORES.values * 100, dims=SCORES.dims)
    assert bp.folds.datasets(plain.round().astype(int), test_fraction=1 / 6).names == (0, 1)


def test_folds_of_all_repeats_are_taken_whole(fitted):
    scores = SCORES.assign_coords(fold=range(6))
    repeated = xr.concat(
        [scores.isel(fold=slice(3)), scores.isel(fold=slice(3, 6)).assign_coords(fold=range(3))], "repeat"
    )
    bp.folds.datasets(repeated.assign_coords(repeat=range(2)), test_fraction=1 / 3)
    np.testing.assert_array_equal(fitted["data"], SCORES)
    assert list(fitted["data"]["fold"].values) == ["0, 0", "0, 1", "0, 2", "1, 0", "1, 1", "1, 2"]


def test_it_shows_itself(fitted):
    found = bp.folds.datasets(SCORES, test_fraction=1 / 6, rope=0.01)
    assert "accuracy, new − old (draws)" in repr(found)
    row = found.summary().iloc[0]
    assert (row["a"], row["b"], row["method"]) == ("new", "old", "draws")
    assert row["above"] == found.prob_rope.sel(rope="above")
    assert "difference between two systems in the average metric over data sets" in repr(found.summary())
    assert found.plot().axes
    assert found.next_dataset.plot().axes


def without(**selection):
    return SCORES.isel(**selection)


@pytest.mark.parametrize(
    ("error", "scores", "options", "message"),
    [
        (
            TypeError,
            SCORES.values,
            {},
            "scores must be a DataArray of numbers with dims dataset, model and fold; it is a",
        ),
        (TypeError, SCORES.mean("fold"), {}, r"it is a DataArray of dims \('dataset', 'model'\)."),
        (TypeError, SCORES.astype(str), {}, "scores must be a DataArray of numbers"),
        (TypeError, SCORES > 0.8, {}, "scores must be a DataArray of numbers"),
        (TypeError, SCORES, {"dim": "site"}, "with dims site, model and fold"),
        (ValueError, SCORES, {"dim": "model"}, "dim: 'model' is not a dim of data sets. Write dim='dataset'; for one"),
        (ValueError, SCORES, {"dim": "fold"}, "dim: 'fold' is not a dim of data sets."),
        (ValueError, without(model=[0, 1, 1]), {}, "scores: two systems are compared; dim model has 3. Select two."),
        (ValueError, without(dataset=[0]), {}, "scores: there is one dataset; ask correlated_ttest of its folds."),
        (ValueError, without(fold=[0]), {}, "scores: one fold says nothing of the scatter of scores. Ask signed_rank"),
        (ValueError, SCORES.where(SCORES["dataset"] != "r"), {}, "scores: dataset r has missing or infinite scores."),
        (ValueError, SCORES.where(SCORES["dataset"] != "s", 0.5), {}, "at dataset s all folds differ by the same"),
        (
            ValueError,
            SCORES.where(SCORES["dataset"] != "s", SCORES.isel(dataset=0, drop=True).copy(data=ALIKE)),
            {},
            "at dataset s all folds differ by the same",
        ),
        (ValueError, SCORES, {"rope": -1}, "rope must be the half-width of a region, at least 0; it is -1."),
        (ValueError, SCORES, {"test_fraction": 1.0}, "test_fraction must be a number between 0 and 1, both excluded"),
    ],
)
def test_bad_scores_of_data_sets(error, scores, options, message):
    with pytest.raises(error, match=message):
        bp.folds.datasets(scores, **{"test_fraction": 1 / 6, **options})


def test_scores_have_one_place():
    with pytest.raises(ValueError, match="dim: 'model' is not a dim of data sets"):
        bp.folds.datasets(SCORES, dim="model", test_fraction=1 / 6)
    with pytest.raises(TypeError, match=r"a must be a Posterior.*DataArray.*bp\.folds\.datasets"):
        bp.compare(SCORES, dim="dataset")


def test_which_share_a_fold_tests_must_be_said(fitted):
    """Folds say nothing of it: ten of them may be one cross-validation, or two of five."""
    with pytest.raises(TypeError, match="test_fraction"):
        bp.folds.datasets(SCORES)


# ── Real fits ──


class LearntTail:
    """The source's: Gamma(a, b) with uniform a and b."""

    def create_variable(self, name):
        import pymc as pm

        return pm.Gamma(name, pm.Uniform(f"{name}_a", 1, 2), pm.Uniform(f"{name}_b", 0.01, 0.1))


def source_priors(differences):
    """Return the priors of the source, in units of the typical deviation."""
    import pymc as pm

    unit = np.std(differences, axis=1, ddof=1).mean()
    return {
        "center": pm.Uniform.dist(-abs(differences).max() / unit, abs(differences).max() / unit),
        "spread": pm.Uniform.dist(0, 1000 * np.std(differences.mean(1), ddof=1) / unit),
        "noise": pm.Uniform.dist(0, 1000),
        "tail": LearntTail(),
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.ConvergenceWarning")
@cases("comparison", "bay_hier")
def test_golden_data_sets(case):
    """Under the source's priors, so wide that some transitions diverge, as do 33 to 69 of its own.

    The tolerance is theirs, five standard deviations between seeds and 0.01, and our own Monte Carlo error.

    Where all folds differ by the same they put uniform noise about 0 within the rope in the place of the scores; so is
    done here, as such a data set is refused. Their difference is y − x.
    """
    inputs, expected, seeds = case["inputs"], case["outputs"]["mean_over_seeds"], case["outputs"]["sd_between_seeds"]
    x, y, rope = np.array(inputs["x"]), np.array(inputs["y"]), inputs["rope"]
    rng, n = np.random.default_rng(0), x.shape[1]
    for i in np.flatnonzero(np.ptp(y - x, axis=1) == 0):
        noise = rng.uniform(-rope, rope, n // 2)
        x[i], y[i] = 0, np.append(noise, -noise)
    scores = xr.DataArray(np.stack([y, x], 1), dims=("dataset", "model", "fold"))
    found = bp.folds.datasets(
        scores, rope=rope, test_fraction=inputs["runs"] / n, priors=source_priors(y - x), draws=2000, tune=2000,
        random_seed=1, progressbar=False,
    )  # fmt: skip

    def close(values, name, own):
        for value, figure, sd in zip(np.ravel(values), np.ravel(expected[name]), np.ravel(seeds[name]), strict=True):
            assert value == pytest.approx(figure, abs=5 * np.hypot(sd, own) + 0.01), name

    close(found.next_dataset.prob_largest, "probs", found.next_dataset.prob_largest.attrs["mcse"])
    close(found.next_dataset.prob_rope, "theta_mean", found.next_dataset.prob_rope.attrs["mcse"])
    error = found.prob_rope.attrs["mcse"]
    close(found.prob_rope.sel(rope="below"), "p_delta0_lt_minus_rope", error)
    close(found.prob_rope.sel(rope="above"), "p_delta0_gt_rope", error)
    average = found.difference.mean().item()
    assert average == pytest.approx(
        expected["delta0_mean"], abs=5 * np.hypot(seeds["delta0_mean"], found.difference.mcse().item())
    )


@pytest.mark.slow
def test_the_default_priors_find_what_was_put_in():
    """Thirty data sets whose differences are a Normal(0.02, 0.01), and folds correlated by the share they test."""
    rng = np.random.default_rng(3)
    truth = rng.normal(0.02, 0.01, 30)
    common, own = rng.normal(0, 1, (30, 1)), rng.normal(0, 1, (30, 10))
    difference = truth[:, None] + 0.02 * (np.sqrt(0.1) * common + np.sqrt(0.9) * own)
    old = rng.normal(0.8, 0.05, (30, 10))
    scores = xr.DataArray(np.stack([old + difference, old], 1), dims=("dataset", "model", "fold"))
    found = bp.folds.datasets(scores, rope=0.01, test_fraction=1 / 10, random_seed=2, progressbar=False)
    low, high = found.difference.hdi(0.99).values
    assert low < 0.02 < high < low + 0.03
    above = np.quantile(found.next_dataset.shares.sel(rope="above"), [0.005, 0.995])
    assert above[0] < stats.norm(0.02, 0.01).sf(0.01) < above[1] < above[0] + 0.5
    again = bp.folds.datasets(scores, rope=0.01, test_fraction=1 / 10, random_seed=2, progressbar=False)
    np.testing.assert_array_equal(found.next_dataset.shares, again.next_dataset.shares)


# ── The sign test ──

# Seven scores: two are worse by more than 0.01, two equal within it (one on the edge), three better.
NEW, OLD = [0.90, 0.80, 0.81, 0.750, 0.70, 0.66, 0.93], [0.95, 0.83, 0.80, 0.752, 0.60, 0.63, 0.91]


def sides(case):
    """Return the scores so that a − b is their y − x."""
    return case["inputs"]["y"], case["inputs"]["x"]


@cases("comparison", "bay_sign_12_priorleft2")
def test_golden_sign_test(case):
    outputs = case["outputs"]
    found = bp.folds.sign_test(*sides(case), rope=0.01, prior=(2.0001, 0.0001, 0.0001), draws=50_000)
    assert found.prob_largest.values == pytest.approx(outputs["exact_probs_by_quadrature"], rel=1e-8)
    alpha = np.array(outputs["dirichlet_alpha"])
    assert found.prob_rope.values == pytest.approx(alpha / alpha.sum(), rel=1e-12)
    drawn = outputs["theta_mean_seed0"]
    errors = np.sqrt(alpha / alpha.sum() * (1 - alpha / alpha.sum()) / (alpha.sum() + 1) / 50_000)
    assert (abs(found.prob_rope.values - drawn) < 5 * errors).all()
    assert (abs(found.shares.mean("draw").values - alpha / alpha.sum()) < 5 * errors).all()


@cases("comparison", "bay_sign_12_norope")
def test_golden_sign_test_without_a_rope(case):
    """With a rope of 0 they keep ties as a third region, which may be the largest, and leave it out afterwards.

    A rope too narrow to hold any difference is that region. Here ties count half for either side, so that the larger of
    the sides is found: P(Beta > 1/2), within the error of their draws.
    """
    outputs = case["outputs"]
    three = bp.folds.sign_test(*sides(case), rope=1e-9, prior=(1e-4, 1.0001, 1e-4)).prob_largest.values
    assert three[[0, 2]] / three[[0, 2]].sum() == pytest.approx(outputs["exact_probs_by_quadrature"], rel=1e-8)
    found = bp.folds.sign_test(*sides(case))
    assert found.prob_largest.values == pytest.approx([stats.binom(11, 0.5).cdf(1), 0, stats.binom(11, 0.5).sf(1)])
    near = np.multiply(5, outputs["probs_sd_between_seeds"])
    assert (abs(found.prob_largest.values[[0, 2]] - outputs["probs_mean"]) < near).all()
    assert found.prob_rope.values == pytest.approx([2.5 / 13, 0, 10.5 / 13])


def test_sign_test_counts_and_prior():
    found = bp.folds.sign_test(NEW, OLD, rope=0.01, prior=(0.5, 1, 2))
    assert found.prob_rope.values == pytest.approx(np.array([2.5, 3, 5]) / 10.5)
    assert found.prob_rope.attrs == found.prob_largest.attrs == {"rope": 0.01, "mcse": 0.0}
    assert found.basis == "Dirichlet(0.5, 1, 2) below, inside and above the rope"
    # By default one, inside.
    assert bp.folds.sign_test(NEW, OLD, rope=0.01).prob_rope.values == pytest.approx([2 / 8, 3 / 8, 3 / 8])


@pytest.mark.slow
@pytest.mark.parametrize("prior", [(0, 1, 0), (0.2, 0.3, 0.1), (30, 29, 31), (3, 0, 2.5), (0, 0, 0.5)])
def test_largest_share_by_integration(prior):
    """P(θ_i is largest) = ∫ f_i(g) Π_j F_j(g) dg of independent gammas."""
    found = bp.folds.sign_test(NEW, OLD, rope=0.01, prior=prior).prob_largest.values
    gammas = [stats.gamma(weight + count) for weight, count in zip(prior, (2, 2, 3), strict=True)]
    for i, value in enumerate(found):
        first, second = (gammas[j] for j in range(3) if j != i)
        expected = integrate.quad(
            lambda g, own=gammas[i], first=first, second=second: own.pdf(g) * first.cdf(g) * second.cdf(g), 0, 120,
            points=[5, 30], epsabs=1e-13, limit=200,
        )[0]  # fmt: skip
        assert value == pytest.approx(expected, rel=1e-9)
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_regions_without_weight_have_no_probability():
    found = bp.folds.sign_test([1, 2, 3], [0, 1, 2], rope=0.5, prior=(0, 0, 0))
    np.testing.assert_array_equal(found.prob_rope, [0, 0, 1])
    np.testing.assert_allclose(found.prob_largest, [0, 0, 1], rtol=1e-14)
    np.testing.assert_array_equal(found.shares, np.tile([0, 0, 1], (10_000, 1)))


def test_shares_of_the_sign_test_are_dirichlet():
    found = bp.folds.sign_test(NEW, OLD, rope=0.01, random_seed=3)
    for values, weight in zip(found.shares.values.T, (2, 3, 3), strict=True):
        assert stats.kstest(values, stats.beta(weight, 8 - weight).cdf).pvalue > 1e-3
    largest = np.bincount(found.shares.values.argmax(-1), minlength=3) / 10_000
    np.testing.assert_allclose(found.prob_largest, largest, atol=5 * 0.5 / 100)


@pytest.mark.parametrize("test", [bp.folds.sign_test, bp.folds.signed_rank_test])
def test_ties_count_half_for_either_side(test):
    """Systems alike on all data sets are as likely ahead as behind."""
    found = test(OLD, OLD)
    np.testing.assert_allclose(found.prob_rope, [0.5, 0, 0.5], rtol=1e-12)
    np.testing.assert_allclose(found.prob_largest, [0.5, 0, 0.5], rtol=1e-12)
    np.testing.assert_allclose(found.shares, np.tile([0.5, 0, 0.5], (10_000, 1)), rtol=1e-12)
    np.testing.assert_allclose(test(OLD, OLD, rope=0.01).prob_largest, [0, 1, 0], atol=1e-12)
    with_ties = test([0.9, 0.8, 0.8], [0.8, 0.8, 0.8])
    assert with_ties.shares.sel(rope="inside").max() == 0


@pytest.mark.parametrize("test", [bp.folds.sign_test, bp.folds.signed_rank_test])
def test_turned_round_the_regions_change_places(test):
    one, other = test(NEW, OLD, rope=0.02), test(OLD, NEW, rope=0.02)
    np.testing.assert_allclose(one.prob_rope, other.prob_rope.values[::-1], rtol=1e-12)
    np.testing.assert_allclose(one.prob_largest, other.prob_largest.values[::-1], atol=0.03)


# ── The signed-rank test ──


def middles(values, rope, weight=Fraction(1, 2)):
    """Return E of the shares of pairs below and above, by the moments of a Dirichlet, in fractions."""
    z = [Fraction(0), *map(Fraction, map(str, values))]
    alpha = [weight, *[Fraction(1)] * len(values)]
    total, rope, half = sum(alpha), Fraction(str(rope)), Fraction(1, 2)
    shares = [Fraction(0), Fraction(0)]
    for i, j in product(range(len(z)), repeat=2):
        moment = alpha[i] * (alpha[j] + (i == j)) / (total * (total + 1))
        for k, middle in enumerate((-(z[i] + z[j]) / 2, (z[i] + z[j]) / 2)):
            shares[k] += moment * (1 if middle > rope else half if middle == rope else 0)
    return [float(shares[0]), float(1 - sum(shares)), float(shares[1])]


@pytest.mark.parametrize("rope", [0, 0.01, 0.02, 0.035])
def test_signed_rank_expectation(rope):
    """With decimals, whose sums lie on the rope's edge (0.02 = (0.03 + 0.01)/2) where floats do not."""
    values = ["-0.05", "-0.03", "0.01", "-0.002", "0.1", "0.03", "0.02"]
    found = bp.folds.signed_rank_test(NEW, OLD, rope=rope)
    assert found.prob_rope.values == pytest.approx(middles(values, rope), rel=1e-12)
    heavier = bp.folds.signed_rank_test(NEW, OLD, rope=rope, prior=3)
    assert heavier.prob_rope.values == pytest.approx(middles(values, rope, Fraction(3)), rel=1e-12)


@pytest.mark.slow
def test_signed_rank_shares_by_simulation():
    """The distribution of the shares, by loops over draws of weights."""
    found = bp.folds.signed_rank_test(NEW, OLD, rope=0.0173, draws=20_000, random_seed=1)
    z = np.array([0, *np.subtract(NEW, OLD)])
    weights = np.random.default_rng(2).dirichlet([0.5, *[1] * 7], 4000)
    below = [sum(w[i] * w[j] for i in range(8) for j in range(8) if z[i] + z[j] < -0.0346) for w in weights]
    above = [sum(w[i] * w[j] for i in range(8) for j in range(8) if z[i] + z[j] > 0.0346) for w in weights]
    assert stats.ks_2samp(found.shares.sel(rope="below"), below).pvalue > 1e-3
    assert stats.ks_2samp(found.shares.sel(rope="above"), above).pvalue > 1e-3
    np.testing.assert_allclose(found.shares.sum("rope"), 1)
    inside = 1 - np.add(below, above)
    winners = np.bincount(np.argmax([below, inside, above], 0), minlength=3) / 4000
    assert abs(found.prob_largest - winners).max() < 5 * 0.5 * np.sqrt(1 / 4000 + 1 / 20_000)
    p = found.prob_largest.values
    assert found.prob_largest.attrs["mcse"] == pytest.approx(np.sqrt(p * (1 - p) / 20_000).max(), rel=1e-3)
    assert abs(found.shares.mean("draw") - found.prob_rope).max() < 5 * 0.3 / np.sqrt(20_000)


def test_signed_rank_in_closed_form():
    """All ahead by far: only the pseudo-difference paired with itself is not, w_0², w_0 ~ Beta(1/2, n)."""
    found = bp.folds.signed_rank_test([1, 1.5, 2, 3], [0, 0, 0, 0], rope=0.1, draws=50_000)
    weight = stats.beta(0.5, 4)
    assert found.prob_rope.values == pytest.approx([0, 0.5 * 1.5 / (4.5 * 5.5), 1 - 0.75 / (4.5 * 5.5)])
    error = 5 * found.prob_largest.attrs["mcse"]
    assert found.prob_largest.sel(rope="inside").item() == pytest.approx(weight.sf(np.sqrt(0.5)), abs=error)
    assert stats.kstest(np.sqrt(found.shares.sel(rope="inside")), weight.cdf).pvalue > 1e-3


# ── Both ──


@pytest.mark.parametrize("test", [bp.folds.sign_test, bp.folds.signed_rank_test])
def test_tests_show_themselves(test):
    found = test(NEW, OLD, rope=0.02, names=("new", "old"), draws=200)
    table = found.summary()
    assert list(table.index) == ["next data set", "most probable for the next data set"]
    np.testing.assert_array_equal(table.loc["next data set", REGIONS].astype(float), found.prob_rope)
    assert "new − old on the next data set: below" in repr(found)
    assert found.shares.dims == ("draw", "rope")
    assert found.shares.sizes["draw"] == 200
    assert found.plot().axes
    np.testing.assert_array_equal(found.shares, test(NEW, OLD, rope=0.02, draws=200).shares)
    assert (found.shares != test(NEW, OLD, rope=0.02, draws=200, random_seed=1).shares).any()


@pytest.mark.parametrize(
    ("test", "options", "message"),
    [
        (
            bp.folds.sign_test,
            {"prior": (1, 1)},
            r"prior must be weights of at least 0 below, inside and above the rope; it",
        ),
        (
            bp.folds.sign_test,
            {"prior": (0, -1, 0)},
            "prior must be weights of at least 0 below, inside and above the rope",
        ),
        (
            bp.folds.sign_test,
            {"prior": 1.0},
            "prior must be weights of at least 0 below, inside and above the rope; it is 1",
        ),
        (
            bp.folds.sign_test,
            {"prior": ("a", 1, 1)},
            "prior must be weights of at least 0 below, inside and above the rope",
        ),
        (bp.folds.sign_test, {"rope": np.nan}, "rope must be the half-width of a region, at least 0; it is nan."),
        (bp.folds.sign_test, {"draws": 1}, "draws must be a whole number of at least 2; it is 1."),
        (
            bp.folds.signed_rank_test,
            {"prior": -0.5},
            "prior must be the weight of a difference of 0, at least 0; it is -0.",
        ),
        (bp.folds.signed_rank_test, {"rope": -1}, "rope must be the half-width of a region, at least 0; it is -1."),
        (bp.folds.signed_rank_test, {"names": ("a", "b", "c")}, "names must be two, of a and of b; they are"),
    ],
)
def test_bad_tests(test, options, message):
    with pytest.raises(ValueError, match=message):
        test(NEW, OLD, **options)


@pytest.mark.parametrize("test", [bp.folds.sign_test, bp.folds.signed_rank_test])
def test_bad_mean_scores(test):
    with pytest.raises(ValueError, match="scores_b has 6 scores and scores_a 7"):
        test(NEW, OLD[:6])
