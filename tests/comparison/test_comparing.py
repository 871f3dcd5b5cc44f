"""Comparisons of systems: draws of our own, identities, leading dims, and how they show themselves."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.integrate import quad

import bayesperf as bp
from bayesperf.core.words import BEST_OF_MANY
from tests.shared.counts import pair_of
from tests.shared.systems import CM, SYSTEMS, A, B, N, compared, counts, three

# ── Two systems against draws of our own ──


def independent_draws(cm, metric, n=N, prior=1.0, seed=0):
    cells = np.random.default_rng(seed).gamma(cm.counts.values + prior, size=(n, *cm.counts.shape))
    cells /= cells.sum((-2, -1), keepdims=True)
    return bp.metrics.get(metric).evaluate(cells, 1)


@pytest.mark.few
@pytest.mark.parametrize("metric", ["recall", "f1", "accuracy", "fpr", "mcc", "balanced_accuracy"])
def test_every_figure_against_draws(metric):
    rope = 0.03
    posts = (bp.posterior(cm, "flat", draws=N) for cm in (A, B))
    found = bp.compare(*posts, metric, rope=rope, draws=N, independent=True)
    d = independent_draws(A, metric, seed=1) - independent_draws(B, metric, seed=2)
    # Ours by draws has an error, too.
    wide = 6 if found.difference.method == "draws" else 4
    share, sd = wide * 0.5 / np.sqrt(N), d.std()
    assert found.prob_greater.item() == pytest.approx((d > 0).mean(), abs=share)
    regions = [(d < -rope).mean(), (np.abs(d) <= rope).mean(), (d > rope).mean()]
    np.testing.assert_allclose(found.prob_rope, regions, atol=share)
    better = d if found.quantity.greater_is_better else -d
    lost = np.maximum(-better, 0)
    assert found.expected_loss.item() == pytest.approx(lost.mean(), abs=wide * lost.std() / np.sqrt(N))
    if wide == 6:
        assert found.expected_loss.attrs["mcse"] == pytest.approx(d.std() / np.sqrt(N), rel=0.8)
    row = found.summary().iloc[0]
    assert row["mean"] == pytest.approx(d.mean(), abs=wide * sd / np.sqrt(N))
    assert row["sd"] == pytest.approx(sd, rel=wide / np.sqrt(2 * N))
    assert row["median"] == pytest.approx(np.median(d), abs=1.3 * wide * sd / np.sqrt(N))
    assert ((d > row["ci_lower"]) & (d < row["ci_upper"])).mean() == pytest.approx(0.95, abs=wide * 0.22 / np.sqrt(N))
    assert row["prob_greater"] == found.prob_greater.item()
    assert row[["below", "inside", "above"]].tolist() == pytest.approx(found.prob_rope.values.tolist())
    drawn = found.difference.joint_draws(N).values
    assert drawn.mean() == pytest.approx(d.mean(), abs=8 * sd / np.sqrt(N))
    assert drawn.std() == pytest.approx(sd, rel=8 / np.sqrt(2 * N))


def test_ratio():
    found = compared(A, B, "recall").ratio
    drawn = independent_draws(A, "recall", seed=1) / independent_draws(B, "recall", seed=2)
    assert found.method == "quadrature"
    assert found.mean().item() == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(N))
    assert found.sd().item() == pytest.approx(drawn.std(), rel=0.01)
    assert found.prob_above(1.1).item() == pytest.approx((drawn > 1.1).mean(), abs=2 / np.sqrt(N))
    assert found.prob_above(1).item() == pytest.approx(compared(A, B, "recall").prob_greater.item(), abs=1e-8)
    assert found.joint_draws(N).mean().item() == pytest.approx(drawn.mean(), abs=6 * drawn.std() / np.sqrt(N))
    assert compared(A, B, "p4").ratio.method == "draws"
    many = bp.compare(bp.posterior(SYSTEMS, "flat"), metric="recall").ratio
    assert many.mean().sel(pair="A / C").item() == pytest.approx(
        compared(SYSTEMS.sel(model="A"), SYSTEMS.sel(model="C"), "recall").ratio.mean().item()
    )
    with pytest.raises(ValueError, match="ratio: matthews_corrcoef can be negative"):
        _ = compared(A, B, "mcc").ratio


@pytest.mark.slow
def test_a_comparison_by_the_ratio():
    found = compared(A, B, "recall", contrast="ratio", rope=0.1)
    plain = compared(A, B, "recall", rope=0.1)
    # By an integral over the recall of b.
    a, b = stats.beta(66, 16), stats.beta(51, 31)

    def below(ratio):
        return quad(lambda x: a.cdf(min(ratio * x, 1)) * b.pdf(x), 0, 1, epsabs=1e-12)[0]

    expected = [below(0.9), below(1 / 0.9) - below(0.9), 1 - below(1 / 0.9)]
    np.testing.assert_allclose(found.prob_rope, expected, atol=1e-8)
    assert found.prob_greater.item() == pytest.approx(plain.prob_greater.item(), abs=1e-8)
    assert found.ratio.prob_above(0.8).item() == pytest.approx(1 - below(0.8), abs=1e-8)
    assert found.difference.mean().item() == plain.difference.mean().item()
    assert found.expected_loss.item() == plain.expected_loss.item()
    row = found.summary().iloc[0]
    assert row["mean"] == found.ratio.mean().item() == plain.ratio.mean().item()
    assert row[["below", "inside", "above"]].tolist() == pytest.approx(expected, abs=1e-8)
    assert (
        found.summary()
        .attrs["estimand"]
        .endswith("ratio between two systems in the metric, a / b (region of practical equivalence 0.9 to 1.11)")
    )
    assert "by a factor of more than 1.11" in found.in_words()
    assert "The ratio, a / b, is 1.3" in found.in_words()
    assert repr(found) == "<bayesperf.Comparison: recall, a / b (quadrature)>"
    (axes,) = found.plot().axes
    assert axes.get_xlabel() == "recall, a / b"
    assert "P(a / b from 0.9 to 1.11) = " in " ".join(text.get_text() for text in axes.texts)


@pytest.mark.slow
def test_ratios_of_many_turned_round():
    many = bp.compare(bp.posterior(SYSTEMS, "flat"), metric="f1", contrast="ratio", rope=0.2, independent=True)
    plain = bp.compare(bp.posterior(SYSTEMS, "flat"), metric="f1", independent=True)
    np.testing.assert_allclose(many.prob_greater, plain.prob_greater, atol=1e-8)
    np.testing.assert_allclose(many.ranks, plain.ranks)
    c, a = (SYSTEMS.sel(model=name) for name in "CA")
    turned = compared(c, a, "f1", contrast="ratio", rope=0.2)
    np.testing.assert_allclose(many.prob_rope.sel(model="C", model_other="A"), turned.prob_rope, atol=1e-7)
    assert many.contrast.leading["pair"].values.tolist() == ["A / B", "A / C", "B / C"]
    assert many.difference.leading["pair"].values.tolist() == ["A − B", "A − C", "B − C"]
    assert many.plot().axes
    shrunk = bp.compare(bp.posterior(SYSTEMS, "flat"), metric="f1", contrast="ratio", shrink=True, independent=True)
    assert (shrunk.ratio.sd() < many.ratio.sd()).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contrast": "log"}, "contrast must be one of 'difference', 'ratio'"),
        ({"contrast": "ratio", "rope": 1}, "rope: of a ratio must be below 1|rope of a ratio must be below 1"),
        ({"contrast": "ratio", "metric": "mcc"}, "ratio: matthews_corrcoef can be negative"),
    ],
)
def test_ratios_refused(options, words):
    with pytest.raises(ValueError, match=words):
        compared(A, B, **{"metric": "recall"} | options)


def test_a_sampler_s_draws_against_the_closed_form():
    tree = bp.posterior(B).to_datatree(["recall"], draws=5000, chains=4)
    for sides in ((bp.posterior(A), tree), (tree, bp.posterior(A))):
        found = bp.compare(*sides, "recall", independent=True)
        exact = bp.compare(
            *(bp.posterior(cm) for cm in ((A, B) if sides[1] is tree else (B, A))), "recall", independent=True
        )
        error = found.prob_greater.attrs["mcse"]
        assert 0 < error < 0.004
        assert found.prob_greater.item() == pytest.approx(exact.prob_greater.item(), abs=4 * error)
        assert found.difference.mean().item() == pytest.approx(
            exact.difference.mean().item(), abs=4 * found.difference.mcse().item()
        )


def test_a_sampler_s_draws_of_several_systems_belong_together():
    # The second system is always a little worse than the first, and the third is the first.
    first = bp.posterior(A).to_datatree(["recall"], draws=1000, chains=4)["posterior"]["cells"]
    loss = 0.1 * first.sel(actual=1, predicted=1, drop=True)
    worse = first.copy()
    worse.loc[{"actual": 1, "predicted": 1}] -= loss
    worse.loc[{"actual": 1, "predicted": 0}] += loss
    cells = xr.concat([first, worse, first], pd.Index(["x", "y", "z"], name="model"))
    found = bp.compare(xr.DataTree.from_dict({"posterior": cells.to_dataset(name="cells")}), metric="recall", rope=0.01)
    np.testing.assert_array_equal(found.prob_greater.sel(model="x"), [0.5, 1, 0.5])
    np.testing.assert_array_equal(found.prob_rope.sel(model="x", model_other="z"), [0, 1, 0])
    np.testing.assert_array_equal(found.ranks.sel(model="y"), [0, 0, 1])
    assert found.prob_best.sel(model="x").item() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(4000))
    assert found.basis.endswith("joint draws of all systems")


def test_errors_allow_for_a_sampler_s_autocorrelation():
    def lazy(tree):
        """Repeat every draw 20 times, as a chain that moves seldom."""
        cells = tree["posterior"]["cells"]
        slow = cells.isel(draw=np.arange(cells.sizes["draw"]) // 20 * 20).assign_coords(draw=cells["draw"])
        return xr.DataTree.from_dict({"posterior": slow.to_dataset(name="cells")})

    tree = bp.posterior(SYSTEMS).to_datatree(["recall"], draws=2000, chains=4)
    found, independent = bp.compare(lazy(tree), metric="recall"), bp.compare(tree, metric="recall")
    for name in ("prob_greater", "prob_rope", "expected_loss", "ranks"):
        error, least = (getattr(each, name).attrs["mcse"] for each in (found, independent))
        assert error == pytest.approx(np.sqrt(20) * least, rel=0.3), name


# ── Identities ──

METRICS = ["recall", "f1", "fpr", "accuracy", "mcc", "geometric_mean"]


@pytest.mark.parametrize("metric", METRICS)
def test_turned_round(metric):
    ab, ba = compared(A, B, metric, rope=0.02), compared(B, A, metric, rope=0.02)
    error = 1e-9 if ab.difference.method == "quadrature" else 6 * 0.5 / 100
    assert ab.prob_greater + ba.prob_greater == pytest.approx(1, abs=error)
    np.testing.assert_allclose(ab.prob_rope.values, ba.prob_rope.values[::-1], atol=error)
    assert ab.difference.mean().item() == pytest.approx(-ba.difference.mean().item(), abs=error)
    # What choosing a loses more than choosing b is how much worse it is on average.
    worse = -ab.difference.mean() if ab.quantity.greater_is_better else ab.difference.mean()
    assert ab.expected_loss - ba.expected_loss == pytest.approx(worse.item(), abs=error)


@pytest.mark.parametrize("metric", METRICS)
def test_many_systems_are_matrices(metric):
    found = bp.compare(bp.posterior(SYSTEMS), metric=metric, rope=0.05)
    greater, regions, loss = found.prob_greater, found.prob_rope, found.expected_loss
    assert greater.dims == ("model", "model_other")
    assert regions.dims == ("model", "model_other", "rope")
    assert regions["rope"].values.tolist() == ["below", "inside", "above"]
    assert greater["model_other"].values.tolist() == ["A", "B", "C"]
    np.testing.assert_allclose(greater + greater.values.T, 1, atol=1e-12)
    np.testing.assert_array_equal(np.diag(greater), 0.5)
    np.testing.assert_allclose(regions.sum("rope"), 1, atol=1e-12)
    np.testing.assert_allclose(regions.values, regions.values.swapaxes(0, 1)[..., ::-1], atol=1e-12)
    np.testing.assert_array_equal(regions.values[range(3), range(3)], [[0, 1, 0]] * 3)
    np.testing.assert_array_equal(np.diag(loss), 0)
    # What choosing a loses more than choosing b is how much worse it is on average.
    upper = loss.values - loss.values.T
    worse = found.difference.mean().values * (-1 if found.quantity.greater_is_better else 1)
    np.testing.assert_allclose(upper[np.triu_indices(3, 1)], worse, atol=1e-9)
    means = bp.posterior(SYSTEMS)[metric].mean().values
    error = 1e-9 if found.difference.method == "quadrature" else 5 * 0.2 / 100
    np.testing.assert_allclose(
        found.difference.mean(), [means[i] - means[j] for i, j in ((0, 1), (0, 2), (1, 2))], atol=error
    )


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_two_of_many_are_two(metric):
    many = bp.compare(bp.posterior(SYSTEMS, "flat"), metric=metric, rope=0.05)
    two = compared(SYSTEMS.sel(model="A"), SYSTEMS.sel(model="C"), metric, rope=0.05)
    exact = many.difference.method == "quadrature"
    error = 1e-9 if exact else 6 * 0.5 / 100
    place = {"model": "A", "model_other": "C"}
    assert many.prob_greater.sel(place).item() == pytest.approx(two.prob_greater.item(), abs=error)
    np.testing.assert_allclose(many.prob_rope.sel(place), two.prob_rope, atol=error)
    assert many.expected_loss.sel(place).item() == pytest.approx(two.expected_loss.item(), abs=error)
    row = many.summary().query("a == 'A' and b == 'C'").iloc[0]
    expected = two.summary().iloc[0]
    assert two.names == ("A", "C")
    assert (expected["a"], expected["b"]) == ("A", "C")
    numbers = ["mean", "sd", "median", "ci_lower", "ci_upper", "prob_greater", "below", "inside", "above"]
    assert row[numbers].tolist() == pytest.approx(expected[numbers].tolist(), abs=1e-7 if exact else 0.03)


@pytest.mark.parametrize("metric", ["recall", "mcc"])
def test_adding_a_system_changes_no_figure_of_the_others(metric):
    wide, narrow = (
        bp.compare(bp.posterior(cm), metric=metric, rope=0.05) for cm in (SYSTEMS, SYSTEMS.sel(model=["A", "C"]))
    )
    for name in ("prob_greater", "prob_rope", "expected_loss"):
        chosen = getattr(wide, name).sel(model=["A", "C"], model_other=["A", "C"])
        np.testing.assert_allclose(chosen, getattr(narrow, name), rtol=0, atol=1e-12)
    pair = {"pair": "A − C"}
    np.testing.assert_array_equal(
        wide.difference.joint_draws(50).sel(pair), narrow.difference.joint_draws(50).sel(pair)
    )


COPIES = {
    "exact": lambda: bp.posterior(A),
    "rate prior": lambda: bp.posterior(A, bp.prior.rate(0.5, 0.5)),
    "elsewhere": lambda: bp.posterior(A).at_prevalence(0.1),
    "tree": lambda: bp.posterior(A).to_datatree(["recall"], draws=2000, chains=4),
    "prediction": lambda: bp.posterior(A).predict(),
    "all right": lambda: bp.posterior(counts(tp=50, tn=50), "jeffreys"),
    "nothing seen": lambda: bp.posterior(counts(), "jeffreys"),
}


# Behind a rate prior there is no whole matrix, and so no MCC.
COPIED = [
    (copy, metric)
    for copy in COPIES
    for metric in ("recall", "f1", "accuracy", "mcc", "balanced_accuracy")
    if copy != "rate prior" or metric not in ("mcc", "balanced_accuracy")
]


@pytest.mark.few
@pytest.mark.parametrize(("copy", "metric"), COPIED)
def test_a_system_against_its_copy_is_a_tie(copy, metric):
    found = bp.compare(COPIES[copy](), COPIES[copy](), metric, rope=0.01, independent=True)
    exact = found.difference.method == "quadrature"
    assert found.prob_greater.item() == pytest.approx(0.5, abs=1e-8 if exact else 4 * 0.5 / np.sqrt(8000))
    below, _, above = found.prob_rope.values
    assert below == pytest.approx(above, abs=1e-8 if exact else 0.03)
    assert found.difference.mean().item() == pytest.approx(0, abs=1e-12 if exact else 0.02)
    # Draws of the two are of different streams.
    assert found.difference.joint_draws(1000).values.std() > 0.5 * found.difference.sd().item()


def test_two_priors_of_one_system_are_no_two_systems():
    cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    with pytest.warns(
        bp.errors.DependenceWarning, match="same counts, .* look at the figures of both instead; arviz.co"
    ):
        bp.compare(bp.posterior(cm, "flat"), bp.posterior(cm, "jeffreys"), "recall")


def test_all_copies_among_many_are_alike():
    same = counts(tp=[65] * 4, fn=[15] * 4, fp=[35] * 4, tn=[30] * 4)
    for metric in ("recall", "mcc"):
        found = bp.compare(bp.posterior(same), metric=metric, independent=True)
        np.testing.assert_allclose(found.prob_greater, 0.5, atol=1e-8 if metric == "recall" else 4 * 0.5 / 100)
        np.testing.assert_allclose(found.prob_best, 0.25, atol=4 * 0.44 / 100)


# ── Leading dims, classes ──

GRID = counts(
    tp=[[8, 9, 5], [30, 35, 33]],
    fn=[[2, 3, 4], [5, 6, 9]],
    fp=[[4, 1, 3], [3, 2, 9]],
    tn=[[10, 12, 15], [44, 41, 40]],
    fold=[1, 2],
    model=list("ABC"),
)


@pytest.mark.parametrize("metric", ["recall", "mcc"])
@pytest.mark.parametrize("order", [("fold", "model"), ("model", "fold")])
def test_leading_dims_are_as_one_by_one(metric, order):
    cm = CM(GRID.counts.transpose(*order, "actual", "predicted"))
    found = bp.compare(bp.posterior(cm), metric=metric, rope=0.05)
    assert found.prob_greater.dims == ("fold", "model", "model_other")
    assert found.prob_rope.dims == ("fold", "model", "model_other", "rope")
    assert found.ranks.dims == ("fold", "model", "rank")
    for fold in (1, 2):
        # Streams of draws are keyed by fold and model, so that figures of draws are the same, too.
        alone = bp.compare(bp.posterior(cm.sel(fold=[fold])), metric=metric, rope=0.05)
        for name in ("prob_greater", "prob_rope", "expected_loss"):
            np.testing.assert_allclose(getattr(found, name).sel(fold=fold), getattr(alone, name)[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.ranks.sel(fold=fold), alone.ranks[0], atol=0.02)
        table = pd.DataFrame(found.summary()).query(f"fold == {fold}").reset_index(drop=True)
        pd.testing.assert_frame_equal(table, pd.DataFrame(alone.summary()), rtol=1e-9, atol=1e-9)


def test_two_posteriors_are_compared_place_by_place():
    first, second = GRID, CM(GRID.counts.copy(data=GRID.counts.values[:, ::-1]))
    found = compared(first, second, "recall", rope=0.02)
    assert found.prob_greater.dims == ("fold", "model")
    alone = compared(first.sel(fold=2, model="A"), second.sel(fold=2, model="A"), "recall")
    assert found.prob_greater.sel(fold=2, model="A").item() == pytest.approx(alone.prob_greater.item(), abs=1e-12)
    # Beside systems that stand along a dim already, a and b have one of their own.
    assert found.ranks.dims == ("fold", "model", "system", "rank")
    assert found.prob_best.sel(system="a", fold=1, model="B").item() == pytest.approx(0.5, abs=1e-9)
    assert found.summary().columns.tolist()[:5] == ["metric", "fold", "model", "a", "b"]


def test_systems_selected_from_a_dim_keep_their_names():
    found = compared(GRID.sel(model="A", fold=1), GRID.sel(model="B", fold=2), "recall")
    assert found.names == ("A", "B")
    assert found.prob_best["model"].values.tolist() == ["A", "B"]
    # The figure is of neither fold.
    assert set(found.prob_greater.coords) == set()
    same_fold = compared(GRID.sel(model="A", fold=1), GRID.sel(model="B", fold=1), "recall")
    assert same_fold.prob_greater.coords["fold"].item() == 1
    assert compared(GRID.sel(model="A", fold=1), GRID.sel(model="A", fold=2), "recall").names == ("a", "b")
    assert bp.compare(bp.posterior(GRID.sel(model="A")), "chance", "recall").names == ("A", "chance")


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "jaccard_micro"])
def test_many_classes(metric):
    cm = three(4, np.random.default_rng(5))
    found = bp.compare(bp.posterior(cm, "perks", draws=20_000), metric=metric, rope=0.01)
    drawn = []
    for i in range(3):
        cells = np.random.default_rng(i).gamma(cm.counts.values[i] + 1 / 16, size=(N, 4, 4))
        drawn.append(bp.metrics.get(metric).evaluate(cells / cells.sum((-2, -1), keepdims=True)))
    d = drawn[0] - drawn[2]
    error = (4 if found.difference.method == "quadrature" else 12) * 0.5 / np.sqrt(N)
    place = {"model": "A", "model_other": "C"}
    assert found.prob_greater.sel(place).item() == pytest.approx((d > 0).mean(), abs=error)
    inside = found.prob_rope.sel(place).sel(rope="inside").item()
    assert inside == pytest.approx((np.abs(d) <= 0.01).mean(), abs=error)
    best = np.argmax(drawn, axis=0)
    np.testing.assert_allclose(found.prob_best, [(best == i).mean() for i in range(3)], atol=0.025)
    for place in range(3):
        np.testing.assert_array_equal(found.prob_better_of(place), found.prob_better.values[place])


def test_each_class():
    cm = three(3, np.random.default_rng(6))
    found = bp.compare(bp.posterior(cm, "perks"), metric="recall_per_class", rope=0.02)
    assert found.prob_greater.dims == ("label", "model", "model_other")
    rest = bp.compare(
        bp.posterior(cm.one_vs_rest(), bp.prior.dirichlet([[4 / 9, 2 / 9], [2 / 9, 1 / 9]])), metric="recall"
    )
    np.testing.assert_allclose(found.prob_greater, rest.prob_greater.transpose("label", ...), atol=1e-9)
    assert found.ranks.dims == ("label", "model", "rank")
    assert len(found.summary()) == 9
    row = found.summary().query("label == 1 and a == 'A' and b == 'C'")
    assert row["prob_greater"].item() == found.prob_greater.sel(label=1, model="A", model_other="C").item()


# ── Few examples, or none ──


@pytest.mark.few
@pytest.mark.parametrize("metric", ["recall", "f1", "accuracy", "mcc"])
@pytest.mark.parametrize("cells", [(0, 0, 0, 0), (1, 0, 0, 0), (50, 0, 0, 50), (0, 50, 50, 0)])
def test_few_examples_or_none(metric, cells):
    other = counts(1, 1, 1, 1)
    found = compared(counts(*cells), other, metric, rope=0.1)
    a, b = (independent_draws(cm, metric, 40_000, seed=i) for i, cm in enumerate((counts(*cells), other)))
    assert found.prob_greater.item() == pytest.approx((a > b).mean(), abs=5 * 0.5 / 100)
    assert found.prob_rope.sum().item() == pytest.approx(1)
    row = found.summary().iloc[0]
    assert row[["mean", "sd", "median", "ci_lower", "ci_upper"]].notna().all()
    assert -2 <= row["ci_lower"] < row["ci_upper"] <= 2


def test_far_apart_systems_lose_nothing():
    found = compared(counts(tp=10**6, fn=3), counts(tp=3, fn=10**6), "recall")
    assert found.prob_greater.item() == pytest.approx(1, abs=1e-12)
    assert found.expected_loss.item() == pytest.approx(0, abs=1e-12)
    turned = compared(counts(tp=3, fn=10**6), counts(tp=10**6, fn=3), "recall")
    assert turned.prob_greater.item() == pytest.approx(0, abs=1e-12)
    assert turned.expected_loss.item() == pytest.approx(1 - 8e-6, abs=1e-7)


# ── Randomness ──


def test_seeds():
    def figure(metric, seed, **options):
        return compared(A, B, metric, random_seed=seed, **options).difference.joint_draws(20).values

    np.testing.assert_array_equal(figure("recall", 1), figure("recall", 1))
    assert not np.array_equal(figure("recall", 1), figure("recall", 2))
    np.testing.assert_array_equal(
        figure("recall", np.random.default_rng(3)), figure("recall", np.random.default_rng(3))
    )
    found = compared(A, B, "mcc")
    np.testing.assert_array_equal(found.difference.joint_draws(20, 5), found.difference.joint_draws(20, 5))
    assert not np.array_equal(found.difference.joint_draws(20, 5), found.difference.joint_draws(20, 6))
    pair = pair_of([1, 0] * 20, [1, 0] * 15 + [0, 1] * 5, [1, 1] * 20)
    one, same, other = (
        bp.compare(pair, metric="mcc", draws=1000, random_seed=s).difference.mean().item() for s in (1, 1, 2)
    )
    assert one == same != other


# ── Showing ──


def test_repr_and_html():
    found = compared(A, B, "recall", rope=0.05)
    assert repr(found) == "<bayesperf.Comparison: recall, a − b (quadrature)>"
    assert "±0.05" in found._repr_html_()
    assert repr(bp.compare(bp.posterior(SYSTEMS), metric="recall")) == (
        "<bayesperf.Comparison: recall, 3 systems (quadrature)>"
    )
    attrs = found.summary(0.8, "eti").attrs
    assert (attrs["ci_prob"], attrs["ci_kind"]) == (0.8, "eti")
    assert attrs["prior"] == "flat Dirichlet (1 in each of 4 cells, total weight 4); independent systems"


def test_beside_the_best_of_many_it_says_what_that_is_worth():
    many = bp.compare(bp.posterior(SYSTEMS, "flat"), metric="recall")
    assert many.prob_best.attrs["note"] == many.ranks.attrs["note"] == BEST_OF_MANY
    assert repr(many.summary()).endswith(BEST_OF_MANY)
    two = compared(A, B, "recall")
    assert "note" not in two.prob_best.attrs
    assert BEST_OF_MANY not in repr(two.summary())


def test_summary_columns():
    columns = compared(A, B, "mcc", rope=0.05).summary().columns.tolist()
    assert columns == ["metric", "a", "b", "mean", "sd", "median", "ci_lower", "ci_upper", "prob_greater", "below",
                       "inside", "above", "method", "mcse", "mcse_interval"]  # fmt: skip
    basis = compared(A, B, "recall").basis
    other = bp.compare(bp.posterior(A), bp.posterior(B, "flat"), "recall", independent=True).basis
    assert basis.count("Dirichlet") == 1
    assert other.count("Dirichlet") == 2


# ── A baseline ──


def on_same_examples():
    """Three systems whose differences in accuracy are small, but for the last."""
    y_true = np.arange(60) % 2
    wrong = {"a": np.arange(60) % 7 == 0, "b": np.arange(60) % 6 == 1, "c": np.arange(60) % 3 == 2}
    return CM.from_predictions(y_true, {name: np.where(of, 1 - y_true, y_true) for name, of in wrong.items()})


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_differences_from_a_baseline_are_those_of_systems_in_that_order(contrast):
    cm = on_same_examples().isel(model=[2, 0, 1])
    last, other = "c", "a"
    options = {"metric": "accuracy", "contrast": contrast, "rope": 0.01}
    found = bp.compare(cm, baseline=last, **options)
    expected = bp.compare(cm.isel(model=[1, 2, 0]), **options)
    pd.testing.assert_frame_equal(found.summary(), expected.summary())
    said = found.in_words()
    assert f"Compared with the baseline, {last}, {other} is" in said
    assert f"{other} {'/' if contrast == 'ratio' else '−'} {last}, is" in said
    # Differences on the same examples are exact in whichever order.
    assert {row.method for row in found.summary().itertuples()} == {"draws" if contrast == "ratio" else "quadrature"}


def test_a_baseline_is_a_system_along_the_dim():
    with pytest.raises(bp.InputError, match="baseline: no system is called 'd'"):
        bp.compare(on_same_examples(), metric="accuracy", baseline="d")
    with pytest.raises(TypeError, match="baseline: it is one of the systems along a dim"):
        bp.compare(bp.posterior(A), bp.posterior(B), "recall", baseline="a")


@pytest.mark.few
@pytest.mark.parametrize("metric", ["accuracy", "error_rate"])
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_the_sentence_gives_the_best_less_the_next_in_whichever_order_they_stand(metric, contrast):
    said = []
    for order in ([0, 1, 2], [2, 1, 0]):
        found = bp.compare(on_same_examples().isel(model=order), metric=metric, contrast=contrast)
        said.append(found.in_words().partition(" The best of")[0])
    first, second = (text.partition(f"The {contrast}, ")[2] for text in said)
    best, next_one = np.argsort(-found.prob_best.values)[:2]
    names = [found.names[place] for place in (best, next_one)]
    assert first.startswith(f" {'/' if contrast == 'ratio' else '−'} ".join(names))
    if contrast == "difference":
        assert first == second


def test_the_next_of_systems_that_are_never_best_is_by_rank():
    """Recall 0.99, and far below 0.6, 0.7 and 0.8: none of these is ever the best, and the last is the next."""
    counts = {"tp": [600, 990, 700, 800], "fn": [400, 10, 300, 200], "fp": [0] * 4, "tn": [100] * 4}
    cm = bp.ConfusionMatrix.from_counts(**counts, dims={"model": list("abcd")})
    words = bp.compare(bp.posterior(cm), metric="recall", dim="model", independent=True).in_words()
    assert "b is almost certainly the best of 4 (probability >99.9 %; d follows with <0.1 %)" in words
