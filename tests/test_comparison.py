"""Comparisons: published figures, other packages', draws of our own, identities, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, stats

import bayesperf as bp
from bayesperf._differences import discordant

CM = bp.ConfusionMatrix
GOLDEN = json.loads((Path(__file__).parent / "golden" / "compared.json").read_text(encoding="utf-8"))["cases"]
N = 100_000


def counts(tp=0, fn=0, fp=0, tn=0, **coords):
    """Return matrices; a list is of systems along ``model``, a nested one of folds and systems."""
    names = list(coords) or ["model"]

    def labelled(cell):
        dims = names[-np.ndim(cell) :] if np.ndim(cell) else []
        given = {d: coords.get(d, list("ABCDEFGH")[: np.shape(cell)[i]]) for i, d in enumerate(dims)}
        return xr.DataArray(cell, given, dims)

    return CM.from_counts(tp=labelled(tp), fn=labelled(fn), fp=labelled(fp), tn=labelled(tn))


def hits(tp, fp, fn):
    """Return a posterior of what F1 is of."""
    return counts(tp=tp, fp=fp, fn=fn, tn=9)


def three(classes, rng):
    return CM.from_table(rng.integers(1, 30, (3, classes, classes)), dims={"model": list("ABC")})


A = counts(tp=65, fn=15, fp=35, tn=30)
B = counts(tp=50, fn=30, fp=30, tn=35)
SYSTEMS = counts(tp=[8, 9, 5], fn=[2, 3, 4], fp=[4, 1, 3], tn=[10, 12, 15])


def compared(a, b, metric, prior="flat", **options):
    return bp.compare(bp.posterior(a, prior), bp.posterior(b, prior), metric, **options)


# ── Published figures ──


def test_recall_of_the_thesis():
    found = compared(counts(tp=3, fn=3), counts(tp=10, fn=5), "recall")
    assert found.prob_greater.item() == pytest.approx(0.2387939157, abs=1e-10)
    assert found.difference.method == "quadrature"


@pytest.mark.parametrize(
    ("second", "prior", "expected", "digits"),
    [
        ((3, 2, 3), "jeffreys", 0.42631, 5),
        ((3, 2, 3), "flat", 0.42041, 5),
        ((3, 10, 3), "flat", 0.08, 2),
        ((3, 10, 3), "jeffreys", 0.073, 3),
    ],
)
def test_f1_of_the_thesis(second, prior, expected, digits):
    found = compared(hits(*second), hits(10, 10, 5), "f1", prior)
    assert found.prob_greater.item() == pytest.approx(expected, abs=0.5 * 10**-digits)


def test_mcc_of_caelen():
    # θ of either system, and what new test sets of the same size show.
    a, b = bp.posterior(A, "haldane", draws=N), bp.posterior(B, "haldane", draws=N)
    error = 4 * 0.5 / np.sqrt(N)
    assert bp.compare(a, b, "mcc").prob_greater.item() == pytest.approx(0.875, abs=0.0005 + error)
    assert bp.compare(b, "chance", "mcc", draws=N).prob_greater.item() == pytest.approx(0.976, abs=0.0005 + error)
    predictions = bp.compare_predictions(a, b, "mcc", draws=N)
    assert predictions.prob_greater.item() == pytest.approx(0.79, abs=0.005 + error)
    assert bp.compare(b.predict(draws=N), "chance", "mcc").prob_greater.item() == pytest.approx(0.92, abs=0.005 + error)


# ── Other packages ──


def of_kind(kind):
    chosen = [case for case in GOLDEN if case["kind"] == kind]
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in chosen])


def check_peer(case, ours, own=0.0):
    """Ours may be four standard errors of a peer's mean away, and our own error besides."""
    for name, (mean, s) in case.get("figures", {}).items():
        allowed = 4 * s / np.sqrt(case["n_seeds"]) + (own if np.isscalar(own) else own[name])
        assert ours[name] == pytest.approx(mean, rel=0, abs=allowed), name


def test_the_table_is_whole():
    kinds = pd.Series([case["kind"] for case in GOLDEN]).value_counts()
    assert kinds.to_dict() == {"rates": 7, "paired": 7, "matrices": 4, "f1": 3, "chance": 2}


@of_kind("rates")
def test_rates_of_peers(case):
    k1, l1, k2, l2, weight = case["inputs"].values()
    found = compared(counts(tp=k1, fn=l1), counts(tp=k2, fn=l2), "recall", bp.prior.rate(weight, weight))
    # Their references are good to about 1e-9.
    assert found.prob_greater.item() == pytest.approx(case["prob_greater"], rel=0, abs=1e-9)
    check_peer(case, {"prob_greater": found.prob_greater.item()})


@of_kind("f1")
def test_f1_of_peers(case):
    tp1, fp1, fn1, tp2, fp2, fn2, weight = case["inputs"].values()
    found = compared(hits(tp1, fp1, fn1), hits(tp2, fp2, fn2), "f1", bp.prior.dirichlet(weight))
    assert found.prob_greater.item() == pytest.approx(case["prob_greater"], rel=0, abs=1e-9)
    check_peer(case, {"prob_greater": found.prob_greater.item()})


@of_kind("paired")
def test_shares_of_the_same_examples_of_peers(case):
    (one, other, both), weights = case["inputs"]["n"], case["inputs"]["lambda_"]
    # Each of the eight joint cells has half the pseudo-count of a system's: two of them are right for one system only.
    pair = paired([1] * (one + other + both), [1] * one + [0] * other + [1] * both, [0] * one + [1] * (other + both))
    found = bp.compare(pair, metric="accuracy", prior=bp.prior.dirichlet(weights[0]))
    assert found.prob_greater.item() == pytest.approx(case["prob_greater"], rel=1e-9)
    check_peer(case, {"prob_greater": found.prob_greater.item()})
    if "mean" in case:
        assert found.difference.mean().item() == pytest.approx(case["mean"], rel=1e-12)
    # The rest of their weights differs from ours, and does not matter for which is greater.
    alone = discordant(*(np.array([n + w]) for n, w in zip((one, other, both), weights, strict=True)))
    assert alone.sf(np.zeros((1, 1)))[0, 0] == pytest.approx(case["prob_greater"], rel=1e-9)


@of_kind("matrices")
def test_matrices_of_peers(case):
    sides = []
    for name in ("confusion_matrix_a", "confusion_matrix_b"):
        cm = CM.from_table(case[name])
        weights = cm.counts.sum("predicted").values + case["prevalence_prior"]
        prior = bp.prior.dirichlet(case["confusion_prior"])
        by_row = bp.posterior(cm, prior, design="by_actual", draws=N)
        # Without a prior their model is a Dirichlet of the whole matrix; balanced accuracy needs no prevalence.
        whole = case["confusion_prior"] == 0
        sides.append(bp.posterior(cm, prior) if whole else by_row.at_prevalence(tuple(weights[::-1].tolist())))
    metric = {"acc": "accuracy", "ba": "balanced_accuracy", "mcc": "mcc"}[case["metric"]]
    found = bp.compare(*sides, metric, rope=case["rope"], draws=N)
    sd = case["figures"]["sd"][0]
    if found.difference.method == "draws":
        # Ends of shortest intervals of draws converge with the cube root of their number.
        own = {
            "mean": 4 / np.sqrt(N),
            "sd": 4 / np.sqrt(2 * N),
            "median": 5 / np.sqrt(N),
            "ci_lower": 0.06,
            "ci_upper": 0.06,
        }
        own = {name: sd * error for name, error in own.items()}
        own |= dict.fromkeys(("prob_greater", "below", "inside", "above"), 4 * 0.5 / np.sqrt(N))
    else:
        # Little is left for s, which is itself an estimate; the ends of their intervals are of draws.
        own = dict.fromkeys(case["figures"], 1e-4)
    check_peer(case, found.summary().iloc[0], own)


@of_kind("chance")
def test_informedness_of_a_peer(case):
    post = bp.posterior(counts(**case["counts"]))
    found = bp.compare(post, "chance", "informedness", rope=case["rope"], draws=N).prob_rope
    ours = {name: found.sel(rope=name).item() for name in ("inside", "above")}
    ours["harmful"] = 1 - bp.compare(post, "chance", "informedness", draws=N).prob_greater.item()
    check_peer(case, ours, {name: 4 * np.sqrt(max(p * (1 - p), 1e-5) / N) for name, (p, _) in case["figures"].items()})


def test_a_system_that_calls_nothing_positive_is_not_better_than_the_majority():
    # prob-conf-mat calls it "certainly better than random" on accuracy, of a random rule with even odds.
    post = bp.posterior(CM.from_table([[950, 0], [50, 0]]))
    assert bp.compare(post, "majority", "accuracy").prob_greater.item() == pytest.approx(0.5, abs=4 * 0.005)


# ── Two systems against draws of our own ──


def independent_draws(cm, metric, n=N, prior=1.0, seed=0):
    cells = np.random.default_rng(seed).gamma(cm.counts.values + prior, size=(n, *cm.counts.shape))
    cells /= cells.sum((-2, -1), keepdims=True)
    return bp.metrics.get(metric).evaluate(cells, 1)


@pytest.mark.parametrize("metric", ["recall", "f1", "accuracy", "fpr", "mcc", "balanced_accuracy"])
def test_every_figure_against_draws(metric):
    rope = 0.03
    found = bp.compare(bp.posterior(A, draws=N), bp.posterior(B, draws=N), metric, rope=rope, draws=N)
    d = independent_draws(A, metric, seed=1) - independent_draws(B, metric, seed=2)
    # Ours by draws has an error, too.
    wide = 6 if found.difference.method == "draws" else 4
    share, sd = wide * 0.5 / np.sqrt(N), d.std()
    assert found.prob_greater.item() == pytest.approx((d > 0).mean(), abs=share)
    regions = [(d < -rope).mean(), (np.abs(d) <= rope).mean(), (d > rope).mean()]
    np.testing.assert_allclose(found.prob_rope, regions, atol=share)
    better = d if found.greater_is_better else -d
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
    drawn = found.difference.draws(N).values
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
    assert found.draws(N).mean().item() == pytest.approx(drawn.mean(), abs=6 * drawn.std() / np.sqrt(N))
    assert compared(A, B, "p4").ratio.method == "draws"
    many = bp.compare(bp.posterior(SYSTEMS), metric="recall").ratio
    assert many.mean().sel(pair="A − C").item() == pytest.approx(
        compared(SYSTEMS.sel(model="A"), SYSTEMS.sel(model="C"), "recall").ratio.mean().item()
    )
    with pytest.raises(ValueError, match="ratio: matthews_corrcoef can be negative"):
        _ = compared(A, B, "mcc").ratio


def test_a_sampler_s_draws_against_the_closed_form():
    tree = bp.posterior(B).to_datatree(["recall"], draws=5000, chains=4)
    for sides in ((bp.posterior(A), tree), (tree, bp.posterior(A))):
        found = bp.compare(*sides, "recall")
        exact = bp.compare(*(bp.posterior(cm) for cm in ((A, B) if sides[1] is tree else (B, A))), "recall")
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
    worse = -ab.difference.mean() if ab.greater_is_better else ab.difference.mean()
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
    worse = found.difference.mean().values * (-1 if found.greater_is_better else 1)
    np.testing.assert_allclose(upper[np.triu_indices(3, 1)], worse, atol=1e-9)
    means = bp.posterior(SYSTEMS)[metric].mean().values
    error = 1e-9 if found.difference.method == "quadrature" else 5 * 0.2 / 100
    np.testing.assert_allclose(
        found.difference.mean(), [means[i] - means[j] for i, j in ((0, 1), (0, 2), (1, 2))], atol=error
    )


@pytest.mark.parametrize("metric", METRICS)
def test_two_of_many_are_two(metric):
    many = bp.compare(bp.posterior(SYSTEMS), metric=metric, rope=0.05)
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
    np.testing.assert_array_equal(wide.difference.draws(50).sel(pair), narrow.difference.draws(50).sel(pair))


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


@pytest.mark.parametrize(("copy", "metric"), COPIED)
def test_a_system_against_its_copy_is_a_tie(copy, metric):
    found = bp.compare(COPIES[copy](), COPIES[copy](), metric, rope=0.01)
    exact = found.difference.method == "quadrature"
    assert found.prob_greater.item() == pytest.approx(0.5, abs=1e-8 if exact else 4 * 0.5 / np.sqrt(8000))
    below, _, above = found.prob_rope.values
    assert below == pytest.approx(above, abs=1e-8 if exact else 0.03)
    assert found.difference.mean().item() == pytest.approx(0, abs=1e-12 if exact else 0.02)
    # Draws of the two are of different streams.
    assert found.difference.draws(1000).values.std() > 0.5 * found.difference.sd().item()


def test_all_copies_among_many_are_alike():
    same = counts(tp=[65] * 4, fn=[15] * 4, fp=[35] * 4, tn=[30] * 4)
    for metric in ("recall", "mcc"):
        found = bp.compare(bp.posterior(same), metric=metric)
        np.testing.assert_allclose(found.prob_greater, 0.5, atol=1e-8 if metric == "recall" else 4 * 0.5 / 100)
        np.testing.assert_allclose(found.prob_best, 0.25, atol=4 * 0.44 / 100)


# ── Direction, and the best of many ──


def best_of(parameters, greater=True):
    """P(best) of independent Betas by adaptive integration."""
    betas = [stats.beta(a, b) for a, b in parameters]

    def integrand(x, i):
        rest = [other.cdf(x) if greater else other.sf(x) for j, other in enumerate(betas) if j != i]
        return betas[i].pdf(x) * np.prod(rest)

    return [integrate.quad(integrand, 0, 1, args=(i,), limit=200)[0] for i in range(len(betas))]


@pytest.mark.parametrize("metric", ["recall", "fnr"])
def test_ranks_of_three(metric):
    found = bp.compare(bp.posterior(SYSTEMS), metric=metric)
    ranks, error = found.ranks, 4 * 0.5 / 100
    assert ranks.dims == ("model", "rank")
    assert ranks["rank"].values.tolist() == [1, 2, 3]
    np.testing.assert_allclose(ranks.sum("rank"), 1, atol=1e-12)
    np.testing.assert_allclose(ranks.sum("model"), 1, atol=1e-12)
    cells = SYSTEMS.counts
    parameters = [(cells[i, 1, 1].item() + 1, cells[i, 1, 0].item() + 1) for i in range(3)]
    # The best of fnr is the least: the same system as by recall.
    np.testing.assert_allclose(found.prob_best, best_of(parameters), atol=error)
    np.testing.assert_allclose(ranks.sel(rank=3), best_of(parameters, greater=False), atol=error)
    assert found.prob_best.dims == ("model",)
    assert 0.003 < ranks.attrs["mcse"] <= 0.005
    assert ranks.attrs["undefined"] == 0


def test_direction():
    good, bad = counts(tp=40, fn=5, fp=1, tn=60), counts(tp=40, fn=5, fp=9, tn=52)
    found = compared(good, bad, "fpr")
    assert found.prob_greater.item() < 0.01
    assert found.prob_better.item() == pytest.approx(1 - found.prob_greater.item())
    assert found.prob_best.sel(model="a").item() == found.prob_better.item()
    assert compared(good, bad, "specificity").prob_better.item() == pytest.approx(found.prob_better.item(), abs=1e-9)
    ranks = found.ranks
    assert ranks.dims == ("model", "rank")
    better = found.prob_better.item()
    np.testing.assert_allclose(ranks, [[better, 1 - better], [1 - better, better]])
    # To choose the better system may lose little, the worse one a lot.
    assert found.expected_loss.item() < 1e-3 < 0.1 < compared(bad, good, "fpr").expected_loss.item()
    both = bp.compare(bp.posterior(counts(tp=[40, 40], fn=[5, 5], fp=[1, 9], tn=[60, 52])), metric="fpr")
    assert both.prob_better.sel(model="A", model_other="B").item() == pytest.approx(found.prob_better.item(), abs=1e-9)
    assert both.prob_best.sel(model="A").item() == pytest.approx(found.prob_better.item(), abs=0.005)


def test_which_is_cheaper():
    cost = bp.metrics.cost([[0, 1], [5, 0]])
    # Few misses at 5 and many false alarms at 1, or the other way round.
    careful, strict = counts(tp=48, fn=2, fp=15, tn=85), counts(tp=38, fn=12, fp=2, tn=98)
    found = bp.compare(bp.posterior(careful, draws=N), bp.posterior(strict, draws=N), cost)
    cells = [
        np.random.default_rng(i).dirichlet(cm.counts.values.ravel() + 1, N) for i, cm in enumerate((careful, strict))
    ]
    saved = (cells[1] - cells[0]) @ [0, 1, 5, 0]
    assert found.prob_better.item() == pytest.approx((saved > 0).mean(), abs=6 * 0.5 / np.sqrt(N))
    assert 0.9 < found.prob_better.item() < 0.99
    assert found.difference.mean().item() == pytest.approx(-saved.mean(), abs=6 * saved.std() / np.sqrt(N))
    # The dearer one is the greater.
    assert found.prob_greater.item() == pytest.approx(1 - found.prob_better.item())
    p = found.prob_better.item()
    assert found.prob_better.attrs["mcse"] == pytest.approx(np.sqrt(p * (1 - p) / N), rel=0.01)


def test_without_a_direction():
    found = compared(A, B, "prevalence", rope=0.01)
    assert 0 < found.prob_greater.item() < 1
    assert found.prob_rope.sum().item() == pytest.approx(1)
    for name in ("prob_better", "expected_loss", "ranks", "prob_best"):
        with pytest.raises(ValueError, match=r"neither more nor less prevalence is better. See prob_greater"):
            getattr(found, name)


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


@pytest.mark.parametrize("metric", ["accuracy", "f1_micro", "f1_macro", "jaccard_micro", "mcc", "specificity_micro"])
def test_many_classes(metric):
    cm = three(4, np.random.default_rng(5))
    found = bp.compare(bp.posterior(cm, draws=20_000), metric=metric, rope=0.01)
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


def test_each_class():
    cm = three(3, np.random.default_rng(6))
    found = bp.compare(bp.posterior(cm), metric="recall_per_class", rope=0.02)
    assert found.prob_greater.dims == ("label", "model", "model_other")
    rest = bp.compare(
        bp.posterior(cm.one_vs_rest(), bp.prior.dirichlet([[4 / 9, 2 / 9], [2 / 9, 1 / 9]])), metric="recall"
    )
    np.testing.assert_allclose(found.prob_greater, rest.prob_greater.transpose("label", ...), atol=1e-9)
    assert found.ranks.dims == ("label", "model", "rank")
    assert len(found.summary()) == 9
    row = found.summary().query("label == 1 and a == 'A' and b == 'C'")
    assert row["prob_greater"].item() == found.prob_greater.sel(label=1, model="A", model_other="C").item()


# ── Rules that have learnt nothing ──


def test_majority_against_our_own_draws():
    # Always calling the most frequent class is right as often as that class occurs.
    cm = counts(tp=30, fn=10, fp=12, tn=148)
    cells = np.random.default_rng(3).dirichlet(cm.counts.values.ravel() + 1, N).reshape(-1, 2, 2)
    d = (cells[:, 0, 0] + cells[:, 1, 1]) - cells[:, 0].sum(-1)
    found = bp.compare(bp.posterior(cm), "majority", "accuracy", rope=0.02)
    assert found.prob_greater.item() == pytest.approx((d > 0).mean(), abs=4 * 0.5 / 100)
    assert found.difference.mean().item() == pytest.approx(d.mean(), abs=5 * d.std() / 100)
    np.testing.assert_allclose(
        found.prob_rope, [(d < -0.02).mean(), (abs(d) <= 0.02).mean(), (d > 0.02).mean()], atol=0.02
    )
    assert found.names == ("a", "majority")


@pytest.mark.parametrize(
    ("metric", "of_chance"),
    [
        ("accuracy", lambda p: p**2 + (1 - p) ** 2),
        ("recall", lambda p: p),
        ("fpr", lambda p: p),
        ("precision", lambda p: p),
        ("f1", lambda p: p),
        ("mcc", lambda p: 0 * p),
        ("balanced_accuracy", lambda p: 0 * p + 0.5),
    ],
)
def test_chance_by_hand(metric, of_chance):
    cm = counts(tp=30, fn=10, fp=12, tn=148)
    cells = np.random.default_rng(3).dirichlet(cm.counts.values.ravel() + 1, N).reshape(-1, 2, 2)
    system = bp.metrics.get(metric).evaluate(cells, 1)
    d = system - of_chance(cells[:, 1].sum(-1))
    found = bp.compare(bp.posterior(cm), "chance", metric)
    assert found.difference.mean().item() == pytest.approx(d.mean(), abs=5 * d.std() / 100)
    assert found.difference.sd().item() == pytest.approx(d.std(), rel=0.04)


def test_rules_place_by_place():
    post = bp.posterior(three(3, np.random.default_rng(7)))
    for rule in ("chance", "majority"):
        found = bp.compare(post, rule, "accuracy")
        assert found.prob_greater.dims == ("model",)
        alone = bp.compare(bp.posterior(three(3, np.random.default_rng(7)).sel(model=["B"])), rule, "accuracy")
        assert found.prob_greater.sel(model="B").item() == alone.prob_greater.item()
    tree = post.to_datatree(["accuracy"])
    assert bp.compare(tree, "majority", "accuracy").prob_greater.attrs["mcse"] > 0


@pytest.mark.parametrize("metric", ["mcc", "precision", "f1_per_class", "precision_macro"])
def test_what_a_rule_leaves_undefined_is_refused(metric):
    cm = CM.from_table([[70, 10, 3], [4, 20, 6], [2, 2, 5]]) if "_" in metric or metric == "mcc" else counts(3, 2, 1, 9)
    with pytest.raises(ValueError, match=r"b: \w+ of the rule 'majority' is undefined \(0/0\)\."):
        bp.compare(bp.posterior(cm), "majority", metric if metric != "f1_per_class" else "precision_per_class")


# ── Predictions ──


def test_predictions_against_our_own_draws():
    rng = np.random.default_rng(8)
    values = []
    for cm, n in ((A, 145), (B, 145)):
        cells = rng.dirichlet(cm.counts.values.ravel() + 1, N)
        values.append(rng.multinomial(n, cells).reshape(-1, 2, 2))
    correct = [np.einsum("nii->n", table) for table in values]
    found = bp.compare_predictions(bp.posterior(A), bp.posterior(B), "accuracy", draws=50_000)
    greater = (correct[0] > correct[1]).mean() + 0.5 * (correct[0] == correct[1]).mean()
    assert found.prob_greater.item() == pytest.approx(greater, abs=6 * 0.5 / np.sqrt(50_000))
    assert found.prob_rope.sel(rope="inside").item() == pytest.approx((correct[0] == correct[1]).mean(), abs=0.01)
    text = repr(found.summary())
    assert "Prediction of the metric in a new test set of as many examples as observed" in text


@pytest.mark.parametrize("metric", ["accuracy", "error_rate", "f1", "mcc", "positive_likelihood_ratio"])
def test_ties_of_whole_examples_are_ties(metric):
    """Shares that are equal in whole examples may differ in the last digit, and must not then be greater or less."""
    found = bp.compare_predictions(bp.posterior(A), bp.posterior(B), metric, n=10, draws=20_000)
    sides = [bp.posterior(cm).predict(10, 20_000, 0) for cm in (A, B)]
    whole = [np.rint(10 * side.cells.values[0]) for side in sides]
    first, second = (bp.metrics.get(metric).evaluate(table, 1) for table in (whole[0], np.roll(whole[1], 10_000, 0)))
    # Two infinite ratios are no tie and no difference.
    defined = ~(np.isnan(first) | np.isnan(second) | (np.isinf(first) & np.isinf(second)))
    first, second = first[defined], second[defined]
    equal = np.isclose(first, second, rtol=1e-12, atol=1e-12)
    assert equal.mean() > 0.03
    assert found.prob_rope.sel(rope="inside").item() == pytest.approx(equal.mean(), abs=1e-12)
    assert found.prob_greater.item() == pytest.approx(((first > second) & ~equal).mean() + equal.mean() / 2, abs=1e-12)
    assert found.prob_greater.attrs["undefined"] == pytest.approx(1 - defined.mean(), abs=1e-12)
    assert found.difference.prob_above(0).item() == pytest.approx(((first > second) & ~equal).mean(), abs=1e-12)


@pytest.mark.parametrize(("rope", "examples"), [(0.1, 1), (0.3, 3), (2 / 10, 2), (0.7, 7)])
def test_the_edges_of_the_rope_belong_to_it(rope, examples):
    sides = [bp.posterior(cm).predict(10, 5000, 0) for cm in (A, B)]
    correct = [np.rint(10 * np.einsum("nii->n", side.cells.values[0])) for side in sides]
    difference = correct[0] - np.roll(correct[1], 2500)
    found = bp.compare(*sides, "accuracy", rope=rope)
    expected = [
        (difference < -examples).mean(),
        (np.abs(difference) <= examples).mean(),
        (difference > examples).mean(),
    ]
    np.testing.assert_allclose(found.prob_rope, expected, atol=1e-12)


def test_ties_among_many_are_shared():
    one = counts(tp=[1] * 4, fn=[0] * 4, fp=[0] * 4, tn=[0] * 4)
    found = bp.compare_predictions(bp.posterior(one), metric="accuracy", n=1)
    # Half of the ties go to either; of four systems each is right or wrong with odds of 3 to 2.
    np.testing.assert_allclose(found.prob_best, 0.25, atol=4 * 0.44 / 100)
    np.testing.assert_allclose(found.ranks.sum("rank"), 1)
    off_diagonal = found.prob_rope.sel(rope="inside").values[~np.eye(4, dtype=bool)]
    np.testing.assert_allclose(off_diagonal, 0.6**2 + 0.4**2, atol=4 * 0.5 / 100)


def test_undefined_predictions_are_left_out_and_stated():
    rare = counts(tp=[2, 1], fn=[0, 1], fp=[3, 4], tn=[40, 39])
    found = bp.compare_predictions(bp.posterior(rare), metric="recall", n=10, draws=20_000)
    table = found.summary()
    share = found.prob_greater.attrs["undefined"]
    cells = bp.posterior(rare).predict(10, 20_000, 0).cells.values[:, 0]
    missing = (cells[:, :, 1].sum(-1) == 0).any(0).mean()
    assert 0.3 < share == pytest.approx(missing, abs=1e-12)
    assert table["undefined"].item() == pytest.approx(missing)
    assert found.ranks.attrs["undefined"] == pytest.approx(missing)
    assert "undefined" not in bp.compare(bp.posterior(rare), metric="recall").summary()
    assert np.isfinite(found.expected_loss).all()
    nothing = bp.compare_predictions(bp.posterior(rare), metric="recall", n=10, draws=20_000, random_seed=1)
    assert nothing.prob_greater.values.tolist() != found.prob_greater.values.tolist()


def test_prediction_sizes():
    a, b = bp.posterior(A), bp.posterior(B)
    small, large = (bp.compare_predictions(a, b, "recall", n=n).difference.sd().item() for n in (20, 2000))
    known = bp.compare(a, b, "recall").difference.sd().item()
    assert small > large > known
    assert large == pytest.approx(known, rel=0.1)
    assert "of 20 examples" in bp.compare_predictions(a, b, "recall", n=20).summary().attrs["estimand"]


# ── Systems judged on the same examples ──


def paired(actual, first, second, **options):
    return bp.PairedConfusionMatrix.from_predictions(actual, first, second, labels=[0, 1], **options)


def judged(actual, **predicted):
    """Return marked counts of systems that judged the same examples."""
    frame = pd.concat([pd.DataFrame({"actual": actual, "model": m, "said": said}) for m, said in predicted.items()])
    return CM.from_predictions(
        frame["actual"],
        frame["said"],
        by={"model": frame["model"]},
        example=frame.index,
        labels=sorted(set(actual) | {0, 1}),
    )


def hard_and_easy(n, classes, seed):
    """Return what three systems say, which err on the same hard examples."""
    rng = np.random.default_rng(seed)
    actual, hard = rng.integers(classes, size=n), rng.random(n) < 0.4
    return actual, {m: np.where(hard & (rng.random(n) < w), rng.integers(classes, size=n), actual)
                    for m, w in zip("xyz", (0.9, 0.7, 0.5), strict=True)}  # fmt: skip


def joint_draws(actual, first, second, classes, n=N, alpha=None):
    """Return draws of both systems' cells from the plain Dirichlet over all joint cells."""
    alpha = (1 if classes == 2 else 1 / classes**2) / classes if alpha is None else alpha
    table = np.zeros((classes,) * 3)
    np.add.at(table, (actual, first, second), 1)
    cells = np.random.default_rng(9).gamma(table + alpha, size=(n, *table.shape))
    cells /= cells.sum((1, 2, 3), keepdims=True)
    return cells.sum(3), cells.sum(2)


@pytest.mark.parametrize("metric", ["accuracy", "error_rate", "recall", "specificity", "fpr", "f1", "mcc", "precision"])
def test_paired_figures_against_the_joint_dirichlet(metric):
    actual, said = hard_and_easy(80, 2, 1)
    first, second = joint_draws(actual, said["x"], said["y"], 2)
    d = bp.metrics.get(metric).evaluate(first, 1) - bp.metrics.get(metric).evaluate(second, 1)
    found = bp.compare(paired(actual, said["x"], said["y"], names=("x", "y")), metric=metric, rope=0.05, draws=50_000)
    exact = metric in ("accuracy", "error_rate", "recall", "specificity", "fpr")
    assert found.difference.method == ("quadrature" if exact else "draws")
    share = (4 if exact else 10) * 0.5 / np.sqrt(N)
    assert found.prob_greater.item() == pytest.approx((d > 0).mean(), abs=share)
    np.testing.assert_allclose(
        found.prob_rope, [(d < -0.05).mean(), (abs(d) <= 0.05).mean(), (d > 0.05).mean()], atol=share
    )
    assert found.difference.mean().item() == pytest.approx(d.mean(), abs=10 * d.std() / np.sqrt(N))
    assert found.difference.sd().item() == pytest.approx(d.std(), rel=0.02)
    lost = np.maximum(-d if found.greater_is_better else d, 0)
    assert found.expected_loss.item() == pytest.approx(lost.mean(), abs=10 * lost.std() / np.sqrt(N))
    assert found.difference.draws(20_000).std().item() == pytest.approx(d.std(), rel=0.05)
    assert found.names == ("x", "y")


def test_pairing_is_not_ignored():
    actual, said = hard_and_easy(300, 2, 2)
    said["z"] = np.where(np.arange(300) % 10 == 0, 1 - said["x"], said["x"])
    cm = judged(actual, x=said["x"], z=said["z"])
    together = bp.compare(cm, metric="accuracy")
    with pytest.warns(bp.DependenceWarning, match="judged on the same examples.*compare the counts instead") as caught:
        apart = bp.compare(bp.posterior(cm), metric="accuracy")
    assert caught[0].filename == __file__
    assert together.difference.sd().item() < 0.8 * apart.difference.sd().item()
    assert together.difference.mean().item() == pytest.approx(apart.difference.mean().item(), abs=1e-3)
    with pytest.warns(bp.DependenceWarning) as caught:
        bp.compare_predictions(bp.posterior(cm), metric="accuracy")
    assert caught[0].filename == __file__


def test_paired_many_and_two_agree():
    actual, said = hard_and_easy(120, 2, 3)
    many = bp.compare(judged(actual, **said), metric="recall", rope=0.02)
    two = bp.compare(paired(actual, said["x"], said["z"]), metric="recall", rope=0.02)
    place = {"model": "x", "model_other": "z"}
    assert many.prob_greater.sel(place).item() == pytest.approx(two.prob_greater.item(), abs=1e-10)
    np.testing.assert_allclose(many.prob_rope.sel(place), two.prob_rope, atol=1e-9)
    wide, narrow = many, bp.compare(judged(actual, x=said["x"], z=said["z"]), metric="recall", rope=0.02)
    np.testing.assert_array_equal(
        wide.difference.draws(100).sel(pair="x − z"), narrow.difference.draws(100).sel(pair="x − z")
    )
    assert many.ranks.dims == ("model", "rank")
    np.testing.assert_allclose(many.ranks.sum("model"), 1)
    assert two.ranks.sel(model="a", rank=1).item() == two.prob_better.item()
    assert many.ratio.mean().sel(pair="x − z").item() == pytest.approx(two.ratio.mean().item(), rel=0.01)


def test_paired_of_each_class():
    actual, said = hard_and_easy(150, 3, 4)
    found = bp.compare(judged(actual, **said), metric="recall_per_class")
    assert found.difference.method == "quadrature"
    assert found.prob_greater.dims == ("label", "model", "model_other")
    first, second = joint_draws(actual, said["y"], said["z"], 3)
    for label in range(3):
        rates = [cells[:, label, label] / cells[:, label].sum(-1) for cells in (first, second)]
        ours = found.prob_greater.sel(label=label, model="y", model_other="z").item()
        assert ours == pytest.approx((rates[0] > rates[1]).mean(), abs=4 * 0.5 / np.sqrt(N))


def test_paired_copies_tie():
    actual, said = hard_and_easy(60, 2, 5)
    for metric in ("accuracy", "mcc"):
        found = bp.compare(judged(actual, x=said["x"], y=said["x"]), metric=metric)
        assert found.prob_greater.sel(model="x", model_other="y").item() == pytest.approx(0.5, abs=0.02)
        assert found.difference.sd().item() < 0.05


# ── Few examples, or none ──


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
        return compared(A, B, metric, random_seed=seed, **options).difference.draws(20).values

    np.testing.assert_array_equal(figure("recall", 1), figure("recall", 1))
    assert not np.array_equal(figure("recall", 1), figure("recall", 2))
    np.testing.assert_array_equal(
        figure("recall", np.random.default_rng(3)), figure("recall", np.random.default_rng(3))
    )
    found = compared(A, B, "mcc")
    np.testing.assert_array_equal(found.difference.draws(20, 5), found.difference.draws(20, 5))
    assert not np.array_equal(found.difference.draws(20, 5), found.difference.draws(20, 6))
    pair = paired([1, 0] * 20, [1, 0] * 15 + [0, 1] * 5, [1, 1] * 20)
    one, same, other = (
        bp.compare(pair, metric="mcc", draws=1000, random_seed=s).prob_greater.item() for s in (1, 1, 2)
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


def test_summary_columns():
    columns = compared(A, B, "mcc", rope=0.05).summary().columns.tolist()
    assert columns == ["metric", "a", "b", "mean", "sd", "median", "ci_lower", "ci_upper", "prob_greater", "below",
                       "inside", "above", "method", "mcse"]  # fmt: skip
    basis = compared(A, B, "recall").basis
    other = bp.compare(bp.posterior(A), bp.posterior(B, "jeffreys"), "recall").basis
    assert basis.count("Dirichlet") == 1
    assert other.count("Dirichlet") == 2


# ── What is refused ──

POST = bp.posterior(A)
PAIR = paired([1, 0, 1], [1, 0, 0], [1, 1, 1])
MARKED = judged(np.array([1, 0, 1, 1]), x=[1, 0, 0, 1], y=[1, 1, 0, 0])
TEXT = CM.from_predictions(["yes", "no"], ["yes", "no"], pos_label="yes")
OTHER_POSITIVE = CM.from_predictions(["yes", "no"], ["yes", "no"], pos_label="no")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((POST, POST), {}, TypeError, "metric: name what is compared"),
        ((POST, POST, "recal"), {}, ValueError, "no metric named 'recal': did you mean 'recall'"),
        ((POST, POST, 3), {}, TypeError, "metric must be a name or a Metric"),
        ((POST, POST, "recall"), {"rope": -0.1}, ValueError, "rope must be the half-width.* at least 0; it is -0.1"),
        ((POST, POST, "recall"), {"rope": np.nan}, ValueError, "rope must be the half-width"),
        ((POST, POST, "recall"), {"rope": np.inf}, ValueError, "rope must be the half-width"),
        ((POST, POST, "recall"), {"rope": "wide"}, TypeError, "rope must be a number; it is 'wide'"),
        ((POST, POST, "recall"), {"rope": True}, TypeError, "rope must be a number"),
        ((POST, POST, "recall"), {"random_seed": "x"}, ValueError, "random_seed must be"),
        ((POST, POST, "recall"), {"groups": 3}, TypeError, "compare takes no argument 'groups' here"),
        ((POST, POST, "recall"), {"prior": "flat"}, TypeError, "prior: it is of counts; posteriors have theirs"),
        ((A, A, "recall"), {}, TypeError, "b: counts of systems judged on the same examples hold them all"),
        ((A,), {"metric": "recall"}, TypeError, r"a: these counts do not say whether .* example=ids.*bp\.posterior"),
        ((POST, A, "recall"), {}, TypeError, "b must be a Posterior.*ConfusionMatrix. Take bp.posterior"),
        ((POST, 3, "recall"), {}, TypeError, "b must be a Posterior, a DataTree or paired counts; it is int"),
        (([1, 2], POST, "recall"), {}, TypeError, "a must be a Posterior, a DataTree or paired counts; it is list"),
        ((PAIR, POST, "recall"), {}, TypeError, "b: counts of systems judged on the same examples hold them all"),
        ((PAIR,), {"metric": "recall", "draws": 1}, ValueError, "draws must be a whole number of at least 2"),
        ((PAIR,), {"metric": "recall", "dim": "fold"}, ValueError, "dim: the systems .* are along 'model', not 'fold'"),
        ((MARKED,), {"metric": "recall", "dim": "fold"}, ValueError, "are along 'model', not 'fold'"),
        ((PAIR,), {"metric": "mcc", "prior": bp.prior.rate(1, 1)}, ValueError, "prior: a rate prior is none"),
        ((POST, "luck", "recall"), {}, ValueError, "b must be one of 'chance', 'majority'; it is 'luck'"),
        ((POST,), {"metric": "recall"}, ValueError, r"dim: 'model' is not a leading dim; they are \[\]. Name one, or"),
        ((bp.posterior(SYSTEMS),), {"metric": "recall", "dim": "fold"}, ValueError, "dim: 'fold' is not a leading dim"),
        ((bp.posterior(SYSTEMS.sel(model=["A"])),), {"metric": "recall"}, ValueError, "dim: there is one system along"),
        ((POST, bp.posterior(TEXT), "recall"), {}, ValueError, "a and b differ in their labels"),
        ((bp.posterior(TEXT), bp.posterior(OTHER_POSITIVE), "recall"), {}, ValueError, "positive 'yes'.*positive 'no'"),
        ((bp.posterior(SYSTEMS), bp.posterior(SYSTEMS.sel(model=["A", "B"])), "recall"), {}, ValueError,
         "a and b differ in their leading coordinates"),
        ((bp.posterior(SYSTEMS), POST, "recall"), {}, ValueError, "a and b differ in their leading dims"),
        ((POST, POST.predict(), "recall"), {}, ValueError, "a and b are of different things.*Prediction"),
        ((bp.posterior(counts(tp=3, tn=2), "haldane"), POST, "recall"), {}, ValueError, "'recall': no exam.*improper"),
        ((bp.posterior(A, design="by_actual"),) * 2 + ("accuracy",), {}, ValueError, r"at_prevalence\(p\)"),
        ((bp.posterior(A, bp.prior.rate(1, 1)),) * 2 + ("mcc",), {}, ValueError, "needs a prior of the whole matrix"),
        ((bp.posterior(A, bp.prior.rate(1, 1)), "chance", "recall"), {}, ValueError, "needs a prior of the whole"),
        ((bp.posterior(three(3, np.random.default_rng(0))),), {"metric": "f1"}, ValueError, "binary and there are 3"),
        ((bp.posterior(CM(A.counts.expand_dims(rope=[1, 2]))),), {"metric": "recall", "dim": "rope"}, ValueError,
         "a: a leading dim is called 'rope', as figures of the comparison are. Rename it"),
        ((xr.DataArray([[1.0]], dims=["dataset", "fold"]), POST), {}, TypeError, "leave out b and metric"),
    ],
)  # fmt: skip
def test_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        bp.compare(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((POST, POST), {}, TypeError, "metric: name what is compared"),
        ((PAIR,), {"metric": "recall"}, TypeError, "a: systems judged on the same examples would be judged on"),
        ((MARKED,), {"metric": "recall"}, TypeError, "a: systems judged on the same examples would be judged on"),
        ((A,), {"metric": "recall"}, TypeError, "a must be a Posterior.* Take bp.posterior"),
        ((POST, "chance", "recall"), {}, TypeError, "b must be a Posterior.*; it is str"),
        ((POST, POST, "recall"), {"n": 0}, ValueError, "n must be a whole number of at least 1"),
        ((POST, POST, "recall"), {"draws": 1}, ValueError, "draws must be a whole number of at least 2"),
        ((POST, POST, "recall"), {"rope": -1}, ValueError, "rope must be the half-width"),
        ((POST.predict(), POST, "recall"), {}, ValueError, "predict: this is a prediction already"),
        ((POST,), {"metric": "recall"}, ValueError, "dim: 'model' is not a leading dim"),
        ((bp.posterior(counts()),) * 2 + ("recall",), {}, ValueError, "n: some matrix has no examples"),
        ((bp.posterior(counts(tn=9), bp.prior.dirichlet([[1, 1], [1e-9, 1e-9]])),) * 2 + ("recall",), {}, ValueError,
         "'recall' is undefined"),
    ],
)  # fmt: skip
def test_predictions_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        bp.compare_predictions(*arguments, **options)


def test_ranks_of_what_is_never_defined_together():
    # Each of two systems is defined in half of the draws, never in the same.
    from bayesperf._compared import _ranks

    values = xr.DataArray([[0.5, np.nan], [np.nan, 0.5]], {"model": ["x", "y"]}, ["draw", "model"])
    with pytest.raises(ValueError, match="ranks: in no draw is the metric defined for every system"):
        _ranks(values, "model")


def test_exact_figures_load_no_sampler():
    import subprocess
    import sys

    code = (
        "import sys, bayesperf as bp; p = bp.posterior(bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=9)); "
        "c = bp.compare(p, p, 'recall', rope=0.1); c.prob_greater, c.prob_rope, c.expected_loss, c.summary(); "
        "print([m for m in ('pymc', 'arviz', 'arviz_stats', 'matplotlib', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
