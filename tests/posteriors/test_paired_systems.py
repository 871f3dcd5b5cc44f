"""The joint posterior of systems tested on the same examples."""

from itertools import combinations, product

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.posteriors import paired_systems as _joint
from bayesperf.posteriors.paired_systems import _judged_cells, discordant_weights, joint_posterior
from tests.shared.counts import pair_of
from tests.shared.joint import ACTUAL, CM, FOLDS, NEW, OLD, judged, systems_like

# ── The joint posterior ───────────────────────────────────────────────────────────────────────────────────────────────

N_DRAWS = 60_000


def enumerated(pair, weight, rng, n=N_DRAWS):
    """Draw both systems' cells from the Dirichlet over all K³ joint cells."""
    table = pair.patterns.table().values
    joint = rng.dirichlet((table + weight).ravel(), n).reshape(-1, *table.shape)
    return joint.sum(3), joint.sum(2)


@pytest.mark.few(1)
@pytest.mark.parametrize(("classes", "prior"), [(2, "flat"), (2, "perks"), (3, "jeffreys"), (3, "perks")])
def test_two_systems_are_a_dirichlet_over_all_joint_cells(classes, prior):
    rng = np.random.default_rng(classes)
    actual, predicted = systems_like(rng, 12, classes, 2)
    pair = pair_of(actual, *predicted.values(), labels=range(classes))
    post = joint_posterior(pair.patterns, prior, draws=N_DRAWS, random_seed=3)
    found = post.source.cells.values[:, 0]
    weight = {"flat": 1, "jeffreys": 1 / 2, "perks": 1 / classes**2}[prior] / classes
    expected = enumerated(pair, weight, rng)
    # Second moments across the systems, and fourth ones, which alone show that the prior's atoms are shared.
    for power in (1, 2):
        (a, b), (c, d) = (
            [np.reshape((cells - cells.mean(0)) ** power, (N_DRAWS, -1)) for cells in both]
            for both in (found, expected)
        )
        products, wanted = a[:, :, None] * b[:, None], c[:, :, None] * d[:, None]
        error = np.sqrt((products.var(0) + wanted.var(0)) / N_DRAWS)
        assert (np.abs(products.mean(0) - wanted.mean(0)) < 4.5 * error).all()
    for name in ("accuracy", "mcc", "recall_macro", "precision_macro"):
        metric = bp.metrics.get(name)
        apart, together = (metric.evaluate(a) - metric.evaluate(b) for a, b in (expected, found))
        assert stats.ks_2samp(apart, together).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["flat", "perks"])
def test_a_row_never_seen_is_its_prior_and_hangs_together(prior):
    # Without examples of class 1 there is nothing but the prior's process: the same atoms for both systems.
    pair = pair_of([0, 0, 0], [0, 0, 1], [0, 0, 0], labels=[0, 1])
    found = joint_posterior(pair.patterns, prior, draws=N_DRAWS, random_seed=5)["recall"].joint_draws(N_DRAWS).values
    a = {"flat": 1.0, "perks": 1 / 4}[prior]
    for system in found:
        assert stats.kstest(system, stats.beta(a, a).cdf).pvalue > 1e-3
    joint = np.random.default_rng(6).dirichlet(np.full(4, a / 2), N_DRAWS).reshape(-1, 2, 2)
    apart = joint.sum(2)[:, 1] - joint.sum(1)[:, 1]
    assert stats.ks_2samp(found[0] - found[1], apart).pvalue > 1e-3


@pytest.mark.slow
def test_covariances_of_many_systems_are_those_of_the_dirichlet():
    # Of sums of Dirichlet cells in sets S and T: cov = (ω_S∩T/Ω − ω_S ω_T/Ω²)/(Ω + 1).
    rng = np.random.default_rng(7)
    classes, systems, n = 3, 4, 30_000
    actual, predicted = systems_like(rng, 15, classes, systems)
    patterns = judged(actual, predicted, labels=range(classes)).patterns
    prior = bp.prior.dirichlet(rng.uniform(0.1, 2, (classes, classes)))
    alpha = prior.pseudo_counts(classes, None)
    cells = list(product(range(classes), repeat=1 + systems))
    weights = np.array([alpha[i].sum() * np.prod(alpha[i, list(j)] / alpha[i].sum()) for i, *j in cells])
    for i, j, count in zip(patterns.actual, patterns.predicted, patterns.counts.values, strict=True):
        weights[cells.index((i, *j))] += count
    member = np.array([[(i == a) & (j[m] == b) for m in range(systems) for a in range(classes) for b in range(classes)]
                       for i, *j in cells], dtype=float)  # fmt: skip
    total = weights.sum()
    mean = weights @ member / total
    covariance = ((member * weights[:, None]).T @ member / total - np.outer(mean, mean)) / (total + 1)
    drawn = joint_posterior(patterns, prior, draws=n, random_seed=8).source.cells.values[:, 0].transpose(1, 0, 2, 3)
    drawn = drawn.reshape(n, -1)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=5 * np.sqrt(covariance.diagonal().max() / n))
    spread = np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
    assert (np.abs(np.cov(drawn.T) - covariance) / spread < 6 / np.sqrt(n)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "prior"), [(2, "flat"), (3, "perks")])
def test_each_system_by_itself_is_its_own_dirichlet(classes, prior):
    rng = np.random.default_rng(9)
    actual, predicted = systems_like(rng, 40, classes, 3)
    # The last class is neither met nor called.
    cm = judged(actual, predicted, labels=range(classes + 1)) if classes > 2 else judged(actual, predicted)
    post = joint_posterior(cm.patterns, prior, draws=20_000, random_seed=10)
    omega = bp.posterior(cm, prior).source.concentration
    for system in omega["model"].values:
        cells = post.source.cells.sel(model=system, chain=0)
        of_system = omega.sel(model=system)
        total = float(of_system.sum())
        for i, j in product(range(len(cm.labels)), repeat=2):
            a = float(of_system[i, j])
            assert stats.kstest(cells[:, i, j], stats.beta(a, total - a).cdf).pvalue > 1e-4
    for metric in ("recall_per_class", "precision_per_class", "recall_macro", "f1_macro", "mcc"):
        assert np.isfinite(post[metric].joint_draws(20_000)).all()
    # Ratios of what is all but nothing, too: the class never met, and the label never given.
    tiny = {"model": "s1", "label": cm.labels[-1]}
    for metric in ("recall_per_class", "precision_per_class"):
        exact, drawn = bp.posterior(cm, prior)[metric], post[metric]
        a = drawn.joint_draws(20_000).sel(tiny).values
        np.testing.assert_allclose(a.mean(), exact.mean().sel(tiny), atol=5 * a.std() / np.sqrt(20_000))
        np.testing.assert_allclose((a > 0.5).mean(), exact.sf(0.5).sel(tiny), atol=5 * 0.5 / np.sqrt(20_000))


def test_weights_that_underflow_leave_no_share_undefined():
    # A Gamma of shape 0.006 is below the least number of all in one draw of seventy.
    cm = judged([0, 0, 0], {"a": [0, 0, 0], "b": [0, 1, 0]}, labels=[0, 1, 2])
    post = joint_posterior(cm.patterns, bp.prior.dirichlet(0.002), draws=5000)
    assert (post.source.cells > 0).all()
    for metric in ("recall_per_class", "precision_per_class"):
        assert not post[metric].undefined().any()


@pytest.mark.slow
def test_a_heavy_prior_keeps_margins_and_covariances():
    pair = pair_of([0, 1], [0, 1], [1, 1])
    alpha = np.array([[300.0, 20.0], [5.0, 900.0]])
    post = joint_posterior(pair.patterns, bp.prior.dirichlet(alpha), draws=20_000, random_seed=11)
    own = bp.posterior(pair, bp.prior.dirichlet(alpha))
    for metric in ("recall", "specificity", "accuracy"):
        for system in range(2):
            drawn, exact = post[metric].joint_draws(20_000).values[system], own[metric]
            assert stats.kstest(drawn, lambda x, e=exact, s=system: e.cdf(x).values[s]).pvalue > 1e-3
    first, second, rest = (
        float(w[0]) for w in discordant_weights(pair.patterns, "accuracy", bp.prior.dirichlet(alpha))
    )
    a, b = post["accuracy"].joint_draws(20_000).values
    total = first + second + rest
    variance = (first * (total - first) + second * (total - second) + 2 * first * second) / total**2 / (total + 1)
    assert abs((a - b).var() / variance - 1) < 6 * np.sqrt(2 / 20_000)


def test_every_place_has_its_own_posterior_whatever_the_others():
    rng = np.random.default_rng(12)
    actual, predicted = systems_like(rng, 60, 2, 3)
    cm = judged(actual, predicted, fold=np.arange(60) % 2)
    post = joint_posterior(cm.patterns, draws=200, random_seed=1)
    assert post.source.cells.dims == ("fold", "model", "chain", "draw", "actual", "predicted")
    one = joint_posterior(cm.sel(fold=1).patterns, draws=200, random_seed=1)
    assert not np.array_equal(post.source.cells.sel(fold=0), post.source.cells.sel(fold=1))
    np.testing.assert_array_equal(one.source.cells.values, post.source.cells.sel(fold=1).values)
    xr.testing.assert_equal(post.observed, cm.counts)


def test_draws_depend_on_seed_and_data_alone():
    rng = np.random.default_rng(13)
    actual, predicted = systems_like(rng, 40, 3, 3)
    first = joint_posterior(judged(actual, predicted).patterns, draws=50, random_seed=4).source.cells
    again = joint_posterior(judged(actual, predicted, seed=1).patterns, draws=50, random_seed=4).source.cells
    np.testing.assert_array_equal(first, again)
    other = joint_posterior(judged(actual, predicted).patterns, draws=50, random_seed=5).source.cells
    assert not np.isclose(first, other, rtol=1e-9, atol=0).any()
    of_generator = joint_posterior(judged(actual, predicted).patterns, draws=50, random_seed=np.random.default_rng(4))
    assert of_generator.source.cells.shape == first.shape


def test_classes_share_their_prevalence_draw_by_draw():
    cells = joint_posterior(FOLDS.patterns, draws=100).source.cells
    rows = cells.sum("predicted")
    np.testing.assert_allclose(rows, rows.isel(model=0).broadcast_like(rows).transpose(*rows.dims), rtol=1e-12)
    np.testing.assert_allclose(cells.sum(("actual", "predicted")), 1, rtol=1e-12)


def test_blocks_of_draws_join_up(monkeypatch):
    rng = np.random.default_rng(14)
    patterns = judged(*systems_like(rng, 30, 2, 2)).patterns
    monkeypatch.setattr(_joint, "_BLOCK", 1000 * _joint._MOST_STICKS)
    drawn = joint_posterior(patterns, draws=20_500)["accuracy"].joint_draws(20_500).values
    own = bp.posterior(CM(patterns.margins()))["accuracy"]
    for system in range(2):
        assert stats.kstest(drawn[system], lambda x, s=system: own.cdf(x).values[s]).pvalue > 1e-3


def test_a_prior_of_one_system_of_its_own():
    cm = judged(ACTUAL, {"old": OLD, "new": NEW})
    alpha = xr.DataArray(
        [[[3, 1], [1, 3]], [[1, 3], [3, 1]]], {"model": ["old", "new"]}, ("model", "actual", "predicted")
    )
    post = joint_posterior(cm.patterns, bp.prior.dirichlet(alpha), draws=20_000)
    own = bp.posterior(cm, bp.prior.dirichlet(alpha))["recall"]
    np.testing.assert_allclose(post["recall"].mean(), own.mean(), atol=0.006)
    with pytest.raises(ValueError, match="prior: along 'model' the pseudo-counts of an actual class sum to different"):
        joint_posterior(cm.patterns, bp.prior.dirichlet(alpha * xr.DataArray([1, 2], dims="model")))


def test_what_an_improper_prior_leaves_out_is_refused_by_metric():
    # System a misses no positive: with no weight there, recall and MCC are improper; accuracy and npv of b are not.
    cm = judged([1, 1, 1, 0, 0, 0], {"a": [1, 1, 1, 0, 0, 1], "b": [1, 0, 1, 0, 1, 1]})
    post = joint_posterior(cm.patterns, "haldane", draws=4000)
    for metric, needed in {"recall": "fn", "f2": "fn", "matthews_corrcoef": "misses"}.items():
        with pytest.raises(ValueError, match=f"metric '{metric}' at model=a: no example has been seen in {needed}"):
            post[metric]
    with pytest.raises(ValueError, match="model=a: no example has been seen in fn"):
        post.summary(["accuracy", "recall"])
    accuracy = post["accuracy"].joint_draws(4000).values
    assert stats.kstest(accuracy[0], stats.beta(5, 1).cdf).pvalue > 1e-3
    assert stats.kstest(accuracy[1], stats.beta(3, 3).cdf).pvalue > 1e-3
    difference = accuracy[0] - accuracy[1]
    assert (difference > -1e-12).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"prior": bp.prior.rate(1, 1)},
            "prior: a rate prior says nothing of the whole matrix.*Dirichlet prior, as 'flat'",
        ),
        ({"prior": "gaussian"}, "prior must be one of flat"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
        ({"random_seed": -1}, "random_seed must be"),
    ],
)
def test_bad_settings_are_refused(options, message):
    patterns = judged(ACTUAL, {"old": OLD, "new": NEW}).patterns
    with pytest.raises(ValueError, match=message):
        joint_posterior(patterns, **options)


@pytest.mark.parametrize("ask", [lambda post: post.predict(), lambda post: post.at_prevalence(0.2)])
def test_what_is_asked_of_each_system_by_itself(ask):
    post = joint_posterior(judged(ACTUAL, {"old": OLD, "new": NEW}).patterns, draws=10)
    with pytest.raises(ValueError, match=r"same examples\. Ask it of each system by itself: posterior\(cm\)"):
        ask(post)


# ── Discordant examples ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("both", "first", "second", "neither", "greater", "mean"),
    # The closed forms beside what bayes_evals 0.1 samples (its cases of 12, 34 and 500 questions).
    [(6, 3, 1, 2, 0.8125, 0.125), (20, 6, 3, 5, 0.828125, 0.07894736842105263),
     (300, 60, 40, 100, 0.9769779665353286, 0.03968253968253968)],
)  # fmt: skip
def test_accuracy_of_two_systems_is_a_beta_of_the_discordant(both, first, second, neither, greater, mean):
    right_a = np.repeat([1, 1, 0, 0], [both, first, second, neither])
    right_b = np.repeat([1, 0, 1, 0], [both, first, second, neither])
    pair = pair_of(np.ones_like(right_a), right_a, right_b, labels=[0, 1])
    a, b, rest = (weights.item() for weights in discordant_weights(pair.patterns, "accuracy", "flat"))
    assert (a, b, rest) == (first + 1, second + 1, both + neither + 2)
    assert stats.beta(a, b).sf(0.5) == pytest.approx(greater, abs=1e-12)
    found = bp.compare(pair, metric="accuracy", prior="flat").prob_greater.values
    assert found[0, 1] == pytest.approx(greater, rel=1e-14)
    assert found[1, 0] == pytest.approx(1 - greater, rel=1e-13)
    assert (a - b) / (a + b + rest) == pytest.approx(mean, abs=1e-12)


def of_joint_cells(patterns, alpha, success, classes, i, j):
    """Add up the base weight and count of every joint cell of two systems, one by one."""
    weights = np.zeros(3)
    for actual, a, b in product(range(classes), repeat=3):
        judged_ = success(actual, a), success(actual, b)
        if None in judged_:
            continue
        row = alpha[actual].sum()
        seen = (patterns.actual == actual) & (patterns.predicted[:, i] == a) & (patterns.predicted[:, j] == b)
        weight = alpha[actual, a] * alpha[actual, b] / row + patterns.counts.values[seen].sum()
        weights[{(True, False): 0, (False, True): 1}.get(judged_, 2)] += weight
    return weights


SUCCESS = {
    "accuracy": lambda actual, called: called == actual,
    "error_rate": lambda actual, called: called != actual,
    "recall_micro": lambda actual, called: called == actual,
    "off_by_one": lambda actual, called: abs(called - actual) <= 1,
}
BINARY = {
    "recall": lambda actual, called: called == 1 if actual == 1 else None,
    "fnr": lambda actual, called: called == 0 if actual == 1 else None,
    "specificity": lambda actual, called: called == 0 if actual == 0 else None,
    "fpr": lambda actual, called: called == 1 if actual == 0 else None,
}


@pytest.mark.parametrize(
    ("metric", "success", "classes"),
    [(name, success, 3) for name, success in SUCCESS.items()]
    + [(name, success, 2) for name, success in {**SUCCESS, **BINARY}.items() if name != "off_by_one"],
)
def test_weights_are_sums_over_joint_cells(metric, success, classes):
    rng = np.random.default_rng(15)
    patterns = judged(*systems_like(rng, 40, classes, 4)).patterns
    alpha = rng.uniform(0.1, 2, (classes, classes))
    found = np.stack(discordant_weights(patterns, metric, bp.prior.dirichlet(alpha)), -1)
    pairs = list(combinations(range(4), 2))
    expected = [of_joint_cells(patterns, alpha, success, classes, i, j) for i, j in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("metric", ["recall", "fnr", "specificity", "fpr"])
def test_weights_of_each_class_are_those_against_the_rest(metric):
    rng = np.random.default_rng(16)
    cm = judged(*systems_like(rng, 50, 3, 4))
    # No prior here: the pseudo-counts of a class against the rest are those of other cells.
    by_class = discordant_weights(cm.patterns, f"{metric}_per_class", bp.prior.dirichlet(1e-9))
    rest = discordant_weights(cm.one_vs_rest().patterns, metric, bp.prior.dirichlet(1e-9))
    for ours, theirs in zip(by_class, rest, strict=True):
        assert ours.shape == (3, 6)
        np.testing.assert_allclose(ours, theirs, atol=1e-7)
    flat = discordant_weights(cm.patterns, f"{metric}_per_class", "flat")
    for label in range(3):
        success = {
            "recall": lambda actual, called, c=label: called == c if actual == c else None,
            "fnr": lambda actual, called, c=label: called != c if actual == c else None,
            "specificity": lambda actual, called, c=label: called != c if actual != c else None,
            "fpr": lambda actual, called, c=label: called == c if actual != c else None,
        }[metric]
        expected = [
            of_joint_cells(cm.patterns, np.ones((3, 3)), success, 3, i, j) for i, j in combinations(range(4), 2)
        ]
        np.testing.assert_allclose(np.stack([w[label] for w in flat], -1), expected, rtol=1e-12)


def test_the_difference_is_that_of_the_joint_draws():
    rng = np.random.default_rng(17)
    patterns = judged(*systems_like(rng, 25, 3, 2)).patterns
    first, second, rest = (weights.item() for weights in discordant_weights(patterns, "accuracy", "jeffreys"))
    a, b = joint_posterior(patterns, "jeffreys", draws=40_000)["accuracy"].joint_draws(40_000).values
    shares = rng.dirichlet([first, second, rest], 40_000)
    assert stats.ks_2samp(a - b, shares[:, 0] - shares[:, 1]).pvalue > 1e-3
    greater = stats.beta(first, second).sf(0.5)
    assert abs((a > b).mean() - greater) < 4.5 * np.sqrt(greater * (1 - greater) / 40_000)


def test_weights_over_leading_dims():
    whole = discordant_weights(FOLDS.patterns, "accuracy", "flat")
    assert {weights.shape for weights in whole} == {(3, 2, 6)}
    one = discordant_weights(FOLDS.sel(fold=2, site=1).patterns, "accuracy", "flat")
    for all_places, here in zip(whole, one, strict=True):
        np.testing.assert_allclose(all_places[2, 1], here, rtol=1e-12)
    some = discordant_weights(FOLDS.sel(model=["s3", "s1"]).sum("site").patterns, "accuracy", "flat")
    # Two of nine pseudo-counts are of s3 alone being right; at two sites they come twice.
    np.testing.assert_allclose(some[0][:, 0], whole[1].sum(1)[:, 4] - 2, rtol=1e-12)


@pytest.mark.parametrize(
    "metric",
    ["precision", "npv", "mcc", "f1", "jaccard", "balanced_accuracy", "prevalence", "recall_macro", "recall_weighted"],
)
def test_other_metrics_are_not_of_the_discordant_alone(metric):
    patterns = judged(ACTUAL, {"old": OLD, "new": NEW}).patterns
    assert discordant_weights(patterns, metric) is None


def test_one_system_has_no_pairs():
    patterns = judged(ACTUAL, {"old": OLD}).patterns
    assert [weights.shape for weights in discordant_weights(patterns, "accuracy")] == [(0,)] * 3


def test_an_actual_class_without_weight_counts_for_nothing():
    patterns = judged([1, 1, 1, 1], {"a": [1, 1, 0, 0], "b": [1, 0, 1, 0]}, labels=[0, 1]).patterns
    found = discordant_weights(patterns, "accuracy", "haldane")
    assert [weights.item() for weights in found] == [1, 1, 2]
    drawn = joint_posterior(patterns, "haldane", draws=1000)
    assert (drawn.source.cells.sel(actual=0) == 0).all()


IMPROPER = {
    "one": ([1, 0, 0, 1], [1, 1, 0, 1], r"that is tp for 'a' alone, and the prior \(Haldane"),
    "other": ([1, 1, 0, 1], [1, 0, 0, 1], "that is tp for 'b' alone, and"),
    "rest": ([1, 0, 1, 0], [0, 1, 0, 1], "that is alike for both, .*Use a proper prior, as 'flat'"),
}


@pytest.mark.parametrize("part", IMPROPER)
def test_weights_of_nothing_are_refused(part):
    a, b, message = IMPROPER[part]
    patterns = judged([1] * 4, {"a": a, "b": b}, labels=[0, 1]).patterns
    with pytest.raises(ValueError, match=f"metric 'recall', 'a' against 'b': no example has been seen {message}"):
        discordant_weights(patterns, "recall", "haldane")
    assert min(weights.min() for weights in discordant_weights(patterns, "recall", "flat")) > 0


def test_the_refusal_names_the_place():
    cm = judged([1, 1, 1] * 2, {"a": [1, 0, 1, 1, 1, 1], "b": [0, 1, 1] * 2}, labels=[0, 1], fold=[0] * 3 + [1] * 3)
    with pytest.raises(ValueError, match=r"'a' against 'b' at fold=1: .* that is correct for 'b' alone,"):
        discordant_weights(cm.patterns, "accuracy", "haldane")
    three = judged([0, 1, 2, 2], {"a": [0, 1, 2, 0], "b": [1, 1, 0, 2]})
    with pytest.raises(ValueError, match=r"metric 'recall_per_class', 'a' against 'b' at label=1: "):
        discordant_weights(
            three.sel(model=["a", "b"]).patterns,
            "recall_per_class",
            bp.prior.dirichlet(np.diag([1.0, 0, 0]) + np.eye(3)[::-1]),
        )


def test_a_binary_metric_of_three_classes_is_refused():
    patterns = judged([0, 1, 2], {"a": [0, 1, 1], "b": [0, 0, 2]}).patterns
    with pytest.raises(ValueError, match="'recall' is binary and there are 3 classes"):
        discordant_weights(patterns, "recall")
    with pytest.raises(ValueError, match="prior: a rate prior"):
        discordant_weights(patterns, "accuracy", bp.prior.rate(1, 1))


@pytest.mark.parametrize(
    ("metric", "splits"), [("accuracy", True), ("recall", True), ("precision", False), ("prevalence", False)]
)
def test_a_proportion_of_actual_classes_is_decided_by_the_prediction(metric, splits):
    cm = bp.ConfusionMatrix.from_predictions([1, 1, 0, 0], {"a": [1, 0, 0, 1], "b": [1, 1, 0, 0]})
    assert (_judged_cells(bp.metrics.get(metric), cm.patterns, 1) is not None) == splits
