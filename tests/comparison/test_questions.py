"""Comparison: the best of many, rules that have learnt nothing, and predictions."""

import numpy as np
import pytest
from scipy import integrate, stats

import bayesperf as bp
from tests.shared.systems import CM, SYSTEMS, A, B, N, compared, counts, three

# ── Direction, and the best of many ──


def best_of(parameters, greater=True):
    """P(best) of independent Betas by adaptive integration."""
    betas = [stats.beta(a, b) for a, b in parameters]

    def integrand(x, i):
        rest = [other.cdf(x) if greater else other.sf(x) for j, other in enumerate(betas) if j != i]
        return betas[i].pdf(x) * np.prod(rest)

    return [integrate.quad(integrand, 0, 1, args=(i,), limit=200)[0] for i in range(len(betas))]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["recall", "fnr"])
def test_ranks_of_three(metric):
    found = bp.compare(bp.posterior(SYSTEMS, "flat"), metric=metric)
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
    four = bp.posterior(counts(tp=[40, 40], fn=[5, 5], fp=[1, 9], tn=[60, 52]), "flat")
    both = bp.compare(four, metric="fpr", independent=True)
    assert both.prob_better.sel(model="A", model_other="B").item() == pytest.approx(found.prob_better.item(), abs=1e-9)
    assert both.prob_best.sel(model="A").item() == pytest.approx(found.prob_better.item(), abs=0.005)


def test_which_is_cheaper():
    cost = bp.metrics.cost([[0, 1], [5, 0]])
    # Few misses at 5 and many false alarms at 1, or the other way round.
    careful, strict = counts(tp=48, fn=2, fp=15, tn=85), counts(tp=38, fn=12, fp=2, tn=98)
    posts = (bp.posterior(cm, "flat", draws=N) for cm in (careful, strict))
    found = bp.compare(*posts, cost, draws=N, independent=True)
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


# ── Rules that have learnt nothing ──


def test_majority_against_our_own_draws():
    # Always calling the most frequent class is right as often as that class occurs.
    cm = counts(tp=30, fn=10, fp=12, tn=148)
    cells = np.random.default_rng(3).dirichlet(cm.counts.values.ravel() + 1, N).reshape(-1, 2, 2)
    d = (cells[:, 0, 0] + cells[:, 1, 1]) - cells[:, 0].sum(-1)
    found = bp.compare(bp.posterior(cm, "flat"), "majority", "accuracy", rope=0.02)
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
    found = bp.compare(bp.posterior(cm, "flat"), "chance", metric)
    assert found.difference.mean().item() == pytest.approx(d.mean(), abs=5 * d.std() / 100)
    assert found.difference.sd().item() == pytest.approx(d.std(), rel=0.04)


@pytest.mark.slow
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
    found = bp.compare(*(bp.posterior(cm).predict(draws=50_000) for cm in (A, B)), "accuracy", independent=True)
    greater = (correct[0] > correct[1]).mean() + 0.5 * (correct[0] == correct[1]).mean()
    assert found.prob_greater.item() == pytest.approx(greater, abs=6 * 0.5 / np.sqrt(50_000))
    assert found.prob_rope.sel(rope="inside").item() == pytest.approx((correct[0] == correct[1]).mean(), abs=0.01)
    text = repr(found.summary())
    assert "in the metric in a new test set of as many examples as observed" in text


@pytest.mark.few
@pytest.mark.parametrize("metric", ["accuracy", "error_rate", "f1", "mcc", "positive_likelihood_ratio"])
def test_ties_of_whole_examples_are_ties(metric):
    """Shares that are equal in whole examples may differ in the last digit, and must not then be greater or less."""
    found = bp.compare(*(bp.posterior(cm).predict(10, 20_000) for cm in (A, B)), metric, independent=True)
    sides = [bp.posterior(cm).predict(10, 20_000, 0) for cm in (A, B)]
    whole = [np.rint(10 * side.source.cells.values[0]) for side in sides]
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
    correct = [np.rint(10 * np.einsum("nii->n", side.source.cells.values[0])) for side in sides]
    difference = correct[0] - np.roll(correct[1], 2500)
    found = bp.compare(*sides, "accuracy", rope=rope, independent=True)
    expected = [
        (difference < -examples).mean(),
        (np.abs(difference) <= examples).mean(),
        (difference > examples).mean(),
    ]
    np.testing.assert_allclose(found.prob_rope, expected, atol=1e-12)


def test_ties_among_many_are_shared():
    one = counts(tp=[1] * 4, fn=[0] * 4, fp=[0] * 4, tn=[0] * 4)
    found = bp.compare(bp.posterior(one).predict(1), metric="accuracy", independent=True)
    # Half of the ties go to either; of four systems each is right or wrong with odds of 2 to 1.
    np.testing.assert_allclose(found.prob_best, 0.25, atol=4 * 0.44 / 100)
    np.testing.assert_allclose(found.ranks.sum("rank"), 1)
    off_diagonal = found.prob_rope.sel(rope="inside").values[~np.eye(4, dtype=bool)]
    np.testing.assert_allclose(off_diagonal, (2 / 3) ** 2 + (1 / 3) ** 2, atol=4 * 0.5 / 100)


def test_undefined_predictions_are_left_out_and_stated():
    rare = counts(tp=[2, 1], fn=[0, 1], fp=[3, 4], tn=[40, 39])
    found = bp.compare(bp.posterior(rare).predict(10, 20_000), metric="recall", independent=True)
    table = found.summary()
    share = found.prob_greater.attrs["undefined"]
    cells = bp.posterior(rare).predict(10, 20_000, 0).source.cells.values[:, 0]
    missing = (cells[:, :, 1].sum(-1) == 0).any(0).mean()
    assert 0.3 < share == pytest.approx(missing, abs=1e-12)
    assert table["undefined"].item() == pytest.approx(missing)
    assert found.ranks.attrs["undefined"] == pytest.approx(missing)
    assert "undefined" not in bp.compare(bp.posterior(rare), metric="recall", independent=True).summary()
    assert np.isfinite(found.expected_loss).all()
    nothing = bp.compare(bp.posterior(rare).predict(10, 20_000, 1), metric="recall", independent=True)
    assert nothing.prob_greater.values.tolist() != found.prob_greater.values.tolist()


def test_prediction_sizes():
    a, b = bp.posterior(A), bp.posterior(B)
    small, large = (
        bp.compare(a.predict(n), b.predict(n), "recall", independent=True).difference.sd().item() for n in (20, 2000)
    )
    known = bp.compare(a, b, "recall", independent=True).difference.sd().item()
    assert small > large > known
    assert large == pytest.approx(known, rel=0.1)
    found = bp.compare(a.predict(20), b.predict(20), "recall", independent=True)
    assert "of 20 examples" in found.summary().attrs["estimand"]
    along = bp.compare(bp.posterior(SYSTEMS).predict(20), metric="recall", independent=True)
    assert along.basis.endswith("; each on a new test set of its own")
