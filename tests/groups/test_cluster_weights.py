"""Clusters by the Bayesian bootstrap: moments of the cells, pairing, what the clusters cost, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy import special, stats

import bayesperf as bp
from bayesperf.core.errors import DependenceWarning, PriorWarning
from bayesperf.core.weights import cluster_weights, weight_shapes


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
        return bp.pool(*args, **options)


def bootstrap(cm, dim="patient", **options):
    return quiet(cm, dim, "clusters", method="bayesian_bootstrap", **options)


def tables(clusters, classes, seed=0, size=8.0, systems=None):
    """Counts of clusters of unequal sizes, of one system or of several."""
    rng = np.random.default_rng(seed)
    rates = rng.dirichlet(0.6 * np.ones(classes**2), (*([systems] if systems else []), clusters))
    sizes = 1 + rng.poisson(rng.exponential(size, clusters))
    counts = rng.multinomial(np.broadcast_to(sizes, rates.shape[:-1]), rates)
    dims = {"model": [f"m{i}" for i in range(systems)]} if systems else {}
    table = counts.reshape(*counts.shape[:-1], classes, classes)
    return bp.ConfusionMatrix.from_table(table, dims=dims | {"patient": range(clusters)})


def flat_cells(pooled):
    """Draws of the cells of one system, (draw, cell)."""
    cells = pooled.mean.source.cells.values
    return cells.reshape(cells.shape[-3], -1)


def agree(found, expected, errors, most=4.5):
    np.testing.assert_array_less(np.abs(found - expected), most * errors)


# ── Moments ──


@pytest.mark.few
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("prior", ["flat", "jeffreys", "perks"])
def test_clusters_of_one_example_give_a_dirichlet(classes, prior):
    """Dirichlet(C (n − 2)/n + α), whose first two moments are known."""
    counts = np.random.default_rng(1).multinomial(30, np.ones(classes**2) / classes**2)
    examples = np.repeat(np.eye(classes**2, dtype=int), counts, axis=0).reshape(-1, classes, classes)
    n = 40_000
    cells = flat_cells(bootstrap(bp.ConfusionMatrix.from_table(examples, dims=["patient"]), prior=prior, draws=n))
    alpha = {"flat": 1, "jeffreys": 0.5, "perks": 1 / classes**2}[prior]
    weights = counts * 28 / 30 + alpha
    mean = weights / weights.sum()
    variance = mean * (1 - mean) / (weights.sum() + 1)
    agree(cells.mean(0), mean, np.sqrt(variance / n))
    agree(cells.var(0), variance, cells.var(0) * np.sqrt(6 / n))
    # The other cells of the matrix, too: covariances are −mean_i mean_j/(total + 1).
    covariance = np.cov(cells.T)
    expected = (np.diag(mean) - np.outer(mean, mean)) / (weights.sum() + 1)
    agree(covariance, expected, np.sqrt(2 * np.outer(variance, variance) / n) + 1e-12)


def test_covariance_of_cells_is_that_between_clusters_of_one_size():
    """S²/G of the clusters' shares, exactly but for the prior's little weight."""
    rng = np.random.default_rng(2)
    shares = rng.dirichlet(np.ones(4), 25)
    counts = rng.multinomial(400, shares)
    n = 40_000
    cells = flat_cells(bootstrap(bp.ConfusionMatrix.from_table(counts.reshape(-1, 2, 2), dims=["patient"]), draws=n))
    expected = np.cov((counts / 400).T) / 25
    sd = np.sqrt(np.diag(expected))
    # The prior weighs 2 of 9,202.
    agree(np.cov(cells.T), expected, np.sqrt(2 / n) * np.outer(sd, sd) + 1e-3 * np.outer(sd, sd))
    agree(cells.mean(0), counts.sum(0) / counts.sum(), sd / np.sqrt(n) + 2e-4)


@pytest.mark.slow
def test_covariance_of_cells_is_that_of_the_ratio_estimator():
    """Of unequal sizes: the linearised variance Σ (C_g − n_g p)²/(n² (G − 1)/G), to order 1/G."""
    cm = tables(400, 2, seed=3)
    counts = cm.counts.values.reshape(400, 4)
    sizes, n = counts.sum(1), 20_000
    share = counts.sum(0) / sizes.sum()
    residual = counts - sizes[:, None] * share
    expected = residual.T @ residual * 400 / 399 / sizes.sum() ** 2
    sd = np.sqrt(np.diag(expected))
    agree(np.cov(flat_cells(bootstrap(cm, draws=n)).T), expected, (2 / np.sqrt(n) + 0.01) * np.outer(sd, sd))


@pytest.mark.slow
def test_many_clusters_are_put_together_and_the_variance_stays():
    """Above 5,000 clusters random groups have the weights."""
    rng = np.random.default_rng(4)
    rates = rng.beta(2, 2, 20_000)
    right = rng.binomial(4, rates)
    cm = bp.ConfusionMatrix.from_counts(tp=right, fn=4 - right, fp=1, tn=1, dims=["patient"])
    recall = bootstrap(cm, draws=3000).mean["recall"]
    expected = np.std(right / 4) / np.sqrt(20_000)
    # The groups' variance has a relative error of √(2/5000), the draws' of √(2/3000); halved for standard deviations.
    assert recall.sd().item() == pytest.approx(expected, rel=4 * np.sqrt((2 / 5000 + 2 / 3000) / 4))
    assert recall.mean().item() == pytest.approx(right.mean() / 4, abs=4 * expected / np.sqrt(3000) + 1e-4)


def test_weights_of_unequal_clusters_vary_more():
    """As of one size exactly, whatever the size; of unequal ones with their shares; of a giant one still above 0."""
    np.testing.assert_allclose(weight_shapes(np.full(12, 7)), 10 / 12, rtol=1e-14)
    sizes = np.array([1, 2, 3, 4, 10])
    by_hand = (20**2 / 130 - 2) / (20**2 / 130) * np.array([19, 18, 17, 16, 10]) / 20 / 0.8
    np.testing.assert_allclose(weight_shapes(sizes), by_hand)
    np.testing.assert_array_equal(weight_shapes(sizes), weight_shapes(3 * sizes))
    giant = weight_shapes(np.array([1e6, 1, 1, 1]))
    assert (giant > 0).all()
    assert giant[0] < 1e-5


@pytest.mark.slow
def test_variance_of_unequal_clusters_is_not_too_small():
    """Of clusters that differ by chance alone, on average that of so many examples, or a little more."""
    rng, found, expected = np.random.default_rng(16), [], []
    for seed in range(60):
        sizes = 1 + rng.poisson(rng.exponential(15, 20))
        right = rng.binomial(sizes, 0.7)
        cm = bp.ConfusionMatrix.from_counts(tp=right, fn=sizes - right, fp=1, tn=1, dims=["patient"])
        found.append(bootstrap(cm, draws=1000, random_seed=seed).mean["recall"].sd().item() ** 2)
        expected.append(0.7 * 0.3 / sizes.sum())
    ratio = np.array(found) / expected
    assert 1 - 2 * ratio.std() / np.sqrt(60) < ratio.mean() < 1.3


# ── Pairing ──


def test_a_system_and_its_copy_never_differ():
    cm = tables(40, 3, seed=5)
    doubled = np.stack([cm.counts.values] * 2)
    pair = bp.ConfusionMatrix.from_table(doubled, dims={"model": ["it", "copy"], "patient": range(40)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", DependenceWarning)
        for metric in "f1_macro", "accuracy", "cohen_kappa":
            difference = bp.compare(bootstrap(pair).mean, metric=metric, dim="model").difference
            assert difference.mean().item() == difference.sd().item() == 0


def test_differences_are_paired():
    """As precise as the differences of the clusters, and more than of systems that share none."""
    rng = np.random.default_rng(6)
    rate = rng.beta(2, 2, 60)
    right = rng.binomial(50, np.stack([rate, np.clip(rate - 0.05, 0, 1)]))
    cells = {"tp": right, "fn": 50 - right, "fp": 5, "tn": 45}
    cm = bp.ConfusionMatrix.from_counts(**cells, dims={"model": ["a", "b"], "patient": range(60)})
    paired = bp.compare(bootstrap(cm).mean, metric="recall", dim="model").difference.sd().item()
    expected = np.std((right[0] - right[1]) / 50, ddof=1) / np.sqrt(60)
    assert paired == pytest.approx(expected, rel=0.05)
    apart = [bootstrap(cm.sel(model=name)).mean for name in ("a", "b")]
    independent = bp.compare(*apart, metric="recall", independent=True).difference.sd().item()
    assert independent > 2 * paired


def test_systems_of_other_clusters_are_independent_and_this_is_said():
    cm = tables(30, 2, seed=7, systems=2)
    counts = cm.counts.values.copy()
    counts[1, :5] = 0
    partly = bp.ConfusionMatrix(cm.counts.copy(data=counts))
    with pytest.warns(DependenceWarning, match="some of the same patients only"):
        pooled = bp.pool(partly, "patient", "clusters", method="bayesian_bootstrap")
    accuracy = pooled.mean["accuracy"].joint_draws(5000).values
    assert abs(np.corrcoef(accuracy)[0, 1]) < 4 / np.sqrt(5000)
    assert pooled.mean.source.judged.values.tolist() == [30, 25]
    assert "30" in repr(pooled)
    assert "25" in repr(pooled)


def test_systems_of_no_common_cluster_are_independent_and_there_is_nothing_to_say():
    """A warning would be an error here."""
    cm = tables(50, 2, seed=7, systems=2)
    counts = cm.counts.values.copy()
    counts[0, :25], counts[1, 25:] = 0, 0
    apart = bp.ConfusionMatrix(cm.counts.copy(data=counts))
    pooled = bp.pool(apart, "patient", "clusters", method="bayesian_bootstrap", draws=10)
    assert pooled.mean.source.in_common.tolist() == [[25, 0], [0, 25]]


# ── What changes no figure ──


def test_adding_a_system_changes_no_figure():
    cm = tables(30, 3, seed=8, systems=3)
    alone = bootstrap(cm.isel(model=[0, 1]), draws=500).mean.source.cells.values
    np.testing.assert_array_equal(bootstrap(cm, draws=500).mean.source.cells.values[:2], alone)


def test_permutation_of_clusters_changes_random_numbers_only():
    cm = tables(30, 2, seed=9)
    turned = cm.isel(patient=np.random.default_rng(0).permutation(30))
    first, second = (bootstrap(each, draws=20_000).mean["f1"] for each in (cm, turned))
    error = first.sd().item() / np.sqrt(10_000)
    assert first.mean().item() == pytest.approx(second.mean().item(), abs=5 * error)
    assert first.sd().item() == pytest.approx(second.sd().item(), abs=5 * error)


def test_a_dim_and_a_column_of_clusters_are_the_same():
    rng = np.random.default_rng(10)
    y_true, y_pred, patient = rng.integers(3, size=500), rng.integers(3, size=500), np.sort(rng.integers(25, size=500))
    column = bp.ConfusionMatrix.from_predictions(y_true, y_pred, cluster={"patient": patient})
    dim = bp.ConfusionMatrix.from_predictions(y_true, y_pred, by={"patient": patient})
    assert column.dims == ()
    np.testing.assert_array_equal(bootstrap(dim).mean.source.cells, quiet(column).mean.source.cells)
    assert repr(quiet(column)) == repr(bootstrap(dim))


def test_the_seed_decides():
    cm = tables(20, 2, seed=11)
    first, same, other = (bootstrap(cm, draws=50, random_seed=seed).mean.source.cells.values for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


# ── Empty cells, other prevalences, designs ──


def test_empty_cells_keep_a_width():
    right = np.full(30, 10)
    cm = bp.ConfusionMatrix.from_counts(tp=right, fn=0, fp=1, tn=9, dims=["patient"])
    with pytest.warns(PriorWarning, match=r"1 of 4 cells have no example in any patient \(as actual 1, predicted 0\)"):
        pooled = bp.pool(cm, "patient", "clusters", method="bayesian_bootstrap")
    low, high = pooled.mean["recall"].eti().values
    assert low < 0.995 < high <= 1


def test_prevalence_may_be_unknown_or_another():
    cm = tables(30, 2, seed=12)
    unknown = bootstrap(cm, design="by_actual")
    with pytest.raises(ValueError, match="at_prevalence"):
        unknown.mean["precision"]
    moved, known = unknown.mean.at_prevalence(0.3), bootstrap(cm).mean
    assert moved["recall"].mean().item() == pytest.approx(known["recall"].mean().item())
    cells = moved.source.cells.values[0]
    np.testing.assert_allclose(cells[:, 1].sum(-1), 0.3)


# ── What clusters cost ──


def test_design_effect_of_copies_is_their_number():
    """Clusters of m copies of an example say as much as one example: the design effect is m, but for the prior."""
    rng = np.random.default_rng(13)
    examples = np.eye(4, dtype=int)[rng.integers(4, size=300)].reshape(-1, 2, 2)
    pooled = bootstrap(bp.ConfusionMatrix.from_table(5 * examples, dims=["patient"]), draws=4000)
    # (n + weight of the prior + 1)/(G − 2 + 1 + …): to 1 % for 300 clusters, and the draws' error of √(2/4000), thrice.
    assert pooled.mean.source.design_effect("accuracy").item() == pytest.approx(5, rel=0.08)
    assert pooled.mean.source.independent_examples("accuracy").item() == pytest.approx(300, rel=0.08)
    assert "examples say as much as" in pooled.in_words("accuracy")


def test_what_clusters_cost_is_said_of_a_metric_of_all_classes():
    pooled = bootstrap(tables(20, 3, seed=15), draws=200)
    assert "the design effect is" in pooled.in_words("f1_macro").lower()
    assert "design effect" not in pooled.in_words("recall_per_class")


@pytest.mark.filterwarnings(
    "ignore::bayesperf.core.errors.PriorWarning", "ignore::bayesperf.core.errors.DependenceWarning"
)
def test_clusters_that_are_all_right_show_no_design_effect():
    question = {"question": np.repeat(range(20), 5)}
    alone = bp.pool(bp.Outcomes.from_correct([1] * 100, cluster=question), draws=200).in_words()
    assert "All questions have the same pass rate, and show no design effect." in alone
    assert "say as much as" not in alone
    both = bp.Outcomes.from_correct({"a": [1] * 100, "b": [1, 0, 0, 1, 0] * 10 + [1] * 50}, cluster=question)
    said = bp.pool(both, draws=200).in_words()
    assert "All questions have the same pass rate for a, and show no design effect." in said
    assert said.count("say as much as") == 1


def test_few_clusters_are_said():
    cm = tables(8, 2, seed=14, size=40)
    with pytest.warns(DependenceWarning, match=r"8 patients are few.*model='groups'"):
        pooled = bp.pool(cm, "patient", "clusters", method="bayesian_bootstrap")
    assert "8 patients are few" in pooled.in_words("f1")
    assert "are few" not in bootstrap(tables(20, 2)).in_words("f1")


@pytest.mark.slow
def test_tables_figures_and_files(tmp_path):
    pooled = bootstrap(tables(20, 3, seed=15, systems=2), draws=200)
    assert set(pooled.summary("f1_macro")["model"]) == {"m0", "m1"}
    assert "<table" in pooled._repr_html_()
    assert pooled.plot("f1_macro") is not None
    pooled.save(tmp_path / "pooled.nc")
    np.testing.assert_array_equal(bp.load(tmp_path / "pooled.nc").mean.source.cells, pooled.mean.source.cells)
    pooled.mean.save(tmp_path / "mean.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DependenceWarning)
        loaded = bp.load(tmp_path / "mean.nc")
        assert bp.compare(loaded, metric="accuracy", dim="model").names == ("m0", "m1")


# ── Refused ──


@pytest.mark.parametrize("answer", ["by_group", "new_group", "dispersion"])
def test_questions_to_a_model_are_refused(answer):
    with pytest.raises(ValueError, match=f"{answer}: .*method='model'"):
        getattr(bootstrap(tables(20, 2)), answer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "random"}, "groups: method='bayesian_bootstrap' applies to independent clusters"),
        ({"repeats": 2}, "repeats applies to method='model' only"),
        ({"dispersion": (1, 9)}, "dispersion applies to method='model' only"),
        ({"dim": "site"}, "dim: 'site' is not a leading dim"),
        ({"dim": None}, "dim: name the leading dim of the clusters"),
        ({"method": "bootstrap"}, "method must be one of"),
        ({"prior": "shared"}, "prior: 'shared' is not available"),
        ({"prior": "haldane"}, "prior: each cell needs pseudo-examples"),
        ({"prior": bp.prior.rate(1, 1)}, "prior: a rate prior"),
        ({"method": "model", "prior": "flat"}, "prior applies to method='bayesian_bootstrap'"),
        ({"draws": 1}, "draws must be"),
        ({"design": "by_predicted"}, "design must be"),
    ],
)
def test_bad_arguments(options, message):
    arguments = {"dim": "patient", "groups": "clusters", "method": "bayesian_bootstrap"} | options
    with pytest.raises(ValueError, match=message):
        bp.pool(tables(20, 2), **arguments)


def test_too_few_clusters_and_predictions_are_refused():
    with pytest.raises(ValueError, match="cm: 2 patients with examples of a system say little"):
        bootstrap(tables(2, 2))
    with pytest.raises(ValueError, match="predict: new examples would come in clusters"):
        bootstrap(tables(20, 2)).mean.predict()
    with pytest.raises(ValueError, match="or, for examples in clusters, method='bayesian_bootstrap'"):
        bp.pool(tables(20, 3), "patient")


def test_weights_of_many_clusters_of_one_size_are_gamma_variables():
    """Their logarithm tells Gamma(1 − 2/G) from an exponential, by six standard errors here."""
    clusters, draws = 1000, 6000
    shape, n = 1 - 2 / clusters, clusters * draws
    drawn = cluster_weights(np.random.default_rng(1), np.full(clusters, 5), draws).astype(float)
    assert drawn.mean() == pytest.approx(shape, abs=4 * np.sqrt(shape / n))
    logs = np.log(drawn[drawn > 0])
    error = np.sqrt(special.polygamma(1, shape) / n)
    assert logs.mean() == pytest.approx(special.digamma(shape), abs=4 * error)
    assert special.digamma(1) - special.digamma(shape) > 6 * error
    # One weight in 300 is not an exponential's, and they are anywhere.
    below = np.mean(drawn < 1e-4, axis=1)
    expected = stats.gamma(shape).cdf(1e-4)
    assert below.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / n))


def test_a_system_without_examples_is_refused():
    sides = np.repeat(["a", "b"], 20)
    outcomes = bp.Outcomes.from_correct(
        [1, 0] * 20, by={"model": sides, "file": sides}, cluster={"question": np.arange(40) % 20}
    )
    with pytest.raises(ValueError, match=r"cm has no examples of a, b\. Leave a, b out"):
        bp.pool(outcomes)
