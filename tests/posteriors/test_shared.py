"""The prior that the classes of a matrix share, against sums over fine grids of what they share."""

import copy
from functools import cache, partial

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats

import bayesperf as bp
from bayesperf.core.arrays import blocks
from bayesperf.distributions import beta_binomial
from bayesperf.metrics.arguments import OneVsRest
from bayesperf.metrics.metric import evaluated
from bayesperf.posteriors import shared_classes
from bayesperf.posteriors.shared_class_errors import SharedErrors, draws_of_errors
from bayesperf.posteriors.shared_classes import ClassesModel
from bayesperf.posteriors.sparse_rows import SparseRows

TABLE = np.array([[18, 2, 5], [4, 9, 1], [0, 1, 3]])
CM = bp.ConfusionMatrix.from_table(TABLE, labels=["a", "b", "c"])
POST = bp.posterior(CM)
SYSTEMS = bp.ConfusionMatrix.from_table([TABLE, TABLE[::-1, ::-1], TABLE + 7], dims={"model": ["x", "y", "z"]})
DRAWS = POST.joint_draws(20_000)


@cache
def grid_of_recalls(counts):
    """The posterior of m, β and ρ on a grid of midpoints: the Betas of the classes given them, and weights."""
    table = np.array(counts)
    right, total = table.diagonal(), table.sum(1)
    sizes = np.log(total + 1) - np.log(total + 1).mean()
    slopes = np.linspace(-4.5, 4.5, 46) if np.ptp(total) else np.zeros(1)
    m, rho = (np.arange(100) + 0.5) / 100, ((np.arange(160) + 0.5) / 160) ** 2
    m, slope, rho = (each.ravel() for each in np.meshgrid(m, slopes, rho, indexing="ij"))
    kappa, log_density = 1 / rho - 1, stats.beta.logpdf(rho, 1, 3) + 0.5 * np.log(rho) - slope**2 / 2
    betas = []
    for x, n, size in zip(right, total, sizes, strict=True):
        mean = special.expit(special.logit(m) + slope * size)
        a, b = kappa * mean, kappa * (1 - mean)
        log_density = log_density + special.betaln(a + x, b + n - x) - special.betaln(a, b)
        betas.append((a + x, b + n - x))
    weight = np.exp(log_density - log_density.max())
    return betas, weight / weight.sum(), {"mean_recall": m, "slope": slope, "dispersion": rho}


def of_grid(table):
    return grid_of_recalls(tuple(map(tuple, np.asarray(table).tolist())))


def grid_of_errors(errors, nodes=120):
    """The posterior of the popularity of three classes among errors and of clumping: g (nodes, 3), η and weights."""
    u, v, clumping = np.meshgrid(*[(np.arange(n) + 0.5) / n for n in (nodes, nodes, 80)])
    # Equally probable points under Dirichlet(0.4, 0.4, 0.4).
    first, second = special.betaincinv(0.4, 0.8, u), special.betaincinv(0.4, 0.4, v)
    g = np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], -1).reshape(-1, 3)
    eta = 1 / clumping.ravel() - 1
    log_density = np.zeros(len(g))
    for i in range(3):
        others = [j for j in range(3) if j != i]
        share = eta[:, None] * g[:, others] / g[:, others].sum(1, keepdims=True)
        counts = errors[i, others]
        log_density += (special.gammaln(share + counts) - special.gammaln(share)).sum(1)
        log_density -= special.gammaln(eta + counts.sum()) - special.gammaln(eta)
    weight = np.exp(log_density - log_density.max())
    return g, eta, weight / weight.sum()


def within(found, expected, errors=4.5):
    """Draws, the last axis, have the expected mean within some Monte Carlo errors."""
    found = np.asarray(found)
    np.testing.assert_array_less(abs(found.mean(-1) - expected), errors * found.std(-1) / np.sqrt(found.shape[-1]))


# ── The posterior ──


@pytest.mark.slow
def test_it_is_the_default_of_many_classes():
    assert POST.prior_text == bp.posterior(CM, "shared").prior_text == bp.posterior(CM, bp.prior.shared()).prior_text
    assert POST.prior_text.startswith("shared by the classes (recalls ~ Beta of mean m ~ U(0, 1) and dispersion ρ ~ ")
    assert repr(POST) == "<bayesperf.Posterior: draws, 3 classes>"
    assert set(POST.summary()["method"]) == {"draws"}


@pytest.mark.slow
def test_recalls_are_those_of_a_grid():
    betas, weight, _ = of_grid(TABLE)
    recall = DRAWS / DRAWS.sum("predicted")
    for i, (a, b) in enumerate(betas):
        drawn = recall.isel(actual=i, predicted=i).values
        within(drawn, (weight * a / (a + b)).sum(), 6)
        for limit in (0.5, 0.75, 0.9):
            within(drawn < limit, (weight * special.betainc(a, b, limit)).sum(), 6)


@pytest.mark.parametrize("table", [TABLE, [[90, 10, 0], [4, 16, 0], [3, 3, 1]], [[9, 0, 1], [2, 8, 0], [0, 5, 5]]])
def test_what_classes_share_is_that_of_a_grid(table):
    post = bp.posterior(bp.ConfusionMatrix.from_table(table), draws=20_000)
    _, weight, shared = of_grid(table)
    for name, values in shared.items():
        found = getattr(post.source, name)
        mean = (weight * values).sum()
        sd = np.sqrt((weight * (values - mean) ** 2).sum())
        if name == "slope" and not np.ptp(np.sum(table, 1)):
            mean, sd = 0, 1
        assert found.mean().item() == pytest.approx(mean, abs=6 * sd / np.sqrt(20_000))
        assert found.sd().item() == pytest.approx(sd, rel=0.03)


def test_a_slope_has_no_say_among_classes_of_equal_size():
    """Without it, by quadrature of m and ρ alone, the recalls are the same."""
    table = np.array([[9, 0, 1], [2, 8, 0], [0, 5, 5]])
    exact = beta_binomial.posterior(table.diagonal()[None], table.sum(1)[None], (1.0, 3.0))
    post = bp.posterior(bp.ConfusionMatrix.from_table(table), draws=20_000)
    for found, of_exact in ((post.source.mean_recall, exact.mean), (post.source.dispersion, exact.dispersion)):
        mean, sd = (values.item() for values in of_exact.mean_sd())
        assert found.mean().item() == pytest.approx(mean, abs=6 * sd / np.sqrt(20_000))
        assert found.sd().item() == pytest.approx(sd, rel=0.03)
    assert "the logit of its mean recall" not in repr(post.summary("accuracy"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "errors",
    [
        [[0, 2, 5], [4, 0, 1], [0, 1, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        [[0, 40, 0], [3, 0, 30], [1, 25, 0]],
        [[0, 300, 100], [0, 0, 200], [9, 1, 0]],
    ],
)
def test_what_errors_share_is_that_of_a_grid(errors):
    errors = np.array(errors, float)
    g, eta, weight = grid_of_errors(errors)
    n = 40_000
    drawn = draws_of_errors(errors, n, np.random.default_rng(1), np.full(3, 0.4), (1.0, 1.0))
    expected = np.column_stack([g, 1 / (1 + eta)])
    found = np.column_stack([drawn.popularity, 1 / (1 + np.exp(drawn.log_weight))])
    mean = weight @ expected
    sd = np.sqrt(weight @ (expected - mean) ** 2)
    # Importance weights make draws alike: they are worth an eighth of independent ones, at least.
    np.testing.assert_array_less(abs(found.mean(0) - mean), 4.5 * sd / np.sqrt(n / 8))
    np.testing.assert_allclose(found.std(0), sd, rtol=0.05)


@pytest.mark.slow
def test_popularity_does_not_count_repeats():
    """Counting every error, as Dirichlet(0.4 + errors) does, is off by more than half a standard deviation."""
    errors = np.array([[0, 40, 0], [3, 0, 30], [1, 25, 0]], float)
    g, _, weight = grid_of_errors(errors)
    mean = weight @ g
    sd = np.sqrt(weight @ (g - mean) ** 2)
    counted = (0.4 + errors.sum(0)) / (1.2 + errors.sum())
    assert (abs(counted - mean) / sd).max() > 0.5


@pytest.mark.slow
def test_cells_are_those_of_the_grids():
    betas, weight, _ = of_grid(TABLE)
    g, eta, of_errors = grid_of_errors(TABLE * (1 - np.eye(3)))
    total, right = TABLE.sum(1), TABLE.diagonal()
    shares = (1 + total) / (3 + total.sum())
    recall = np.array([(weight * a / (a + b)).sum() for a, b in betas])
    expected = np.diag(shares * recall)
    for i in range(3):
        for j in {0, 1, 2} - {i}:
            spread = of_errors @ ((eta * g[:, j] / (1 - g[:, i]) + TABLE[i, j]) / (eta + total[i] - right[i]))
            expected[i, j] = shares[i] * (1 - recall[i]) * spread
    within(DRAWS.transpose("actual", "predicted", "draw").values, expected, 6)


@pytest.mark.few
@pytest.mark.parametrize(
    "table",
    [
        np.zeros((3, 3)), np.eye(4) * 5, np.eye(3)[::-1] * 1000, np.eye(5) * 10**7 + 1,
        [[0, 0, 0], [0, 9, 1], [0, 0, 4]], [[5, 2], [1, 8]],
    ],
)  # fmt: skip
def test_any_counts_have_finite_figures(table):
    cm = bp.ConfusionMatrix.from_table(np.array(table, int), labels=list(range(len(table))))
    post = bp.posterior(cm, "shared", draws=500)
    names = ["accuracy", "recall_per_class", "precision_per_class", "f1_macro", "matthews_corrcoef", "cohen_kappa"]
    # The observed score of a class without examples is 0/0, and no figure of the posterior.
    figures = post.summary(names).drop(columns="observed").select_dtypes(float)
    assert np.isfinite(figures.values).all()
    cells = post.joint_draws(500).values
    assert (cells > 0).all()
    np.testing.assert_allclose(cells.sum((-2, -1)), 1)


@pytest.mark.slow
def test_two_classes_may_share_a_prior():
    table = np.array([[30, 2], [3, 1]])
    cm = bp.ConfusionMatrix.from_table(table, labels=[0, 1])
    betas, weight, _ = of_grid(table)
    a, b = betas[1]
    within(bp.posterior(cm, "shared")["recall"].joint_draws(10_000), (weight * a / (a + b)).sum(), 6)


# ── Random numbers ──


@pytest.mark.slow
def test_no_figure_depends_on_other_systems_or_metrics():
    all_systems = bp.posterior(SYSTEMS)
    some = bp.posterior(SYSTEMS.sel(model=["z", "x"]))
    xr.testing.assert_identical(all_systems["mcc"].mean().sel(model=["z", "x"]), some["mcc"].mean())
    table = all_systems.summary(["accuracy", "f1_macro"]).query("metric == 'f1_macro'").reset_index(drop=True)
    assert table.equals(all_systems.summary("f1_macro").reset_index(drop=True))
    assert bp.posterior(CM, random_seed=1)["mcc"].mean() != POST["mcc"].mean()
    xr.testing.assert_identical(POST["mcc"].joint_draws(500), bp.posterior(CM)["mcc"].joint_draws(500))


@pytest.mark.slow
def test_metrics_of_a_posterior_are_drawn_jointly():
    accuracy, error = POST["accuracy"].joint_draws(100), POST["error_rate"].joint_draws(100)
    np.testing.assert_allclose(accuracy + error, 1)


# ── What follows from it ──


def test_batches_are_as_good_as_all_at_once():
    first = bp.ConfusionMatrix.from_table([[9, 1, 2], [1, 3, 0], [0, 0, 2]], labels=["a", "b", "c"])
    rest = bp.ConfusionMatrix(CM.counts - first.counts)
    updated = bp.posterior(first).update(rest)
    xr.testing.assert_identical(updated.joint_draws(50), POST.joint_draws(50))
    assert updated.prior_text == POST.prior_text
    with pytest.raises(ValueError, match="are not those of the posterior"):
        POST.update(bp.ConfusionMatrix.from_table(np.eye(3, dtype=int), labels=[1, 2, 3]))


@pytest.mark.slow
def test_prevalence_of_a_chosen_design_is_given_later():
    chosen = bp.posterior(CM, design="by_actual")
    with pytest.raises(ValueError, match=r"depends on prevalence.*at_prevalence\(p\)"):
        chosen["accuracy"]
    xr.testing.assert_allclose(chosen["recall_macro"].mean(), POST["recall_macro"].mean(), rtol=1e-12)
    shares = [0.2, 0.3, 0.5]
    given = chosen.at_prevalence(shares)
    np.testing.assert_allclose(given.joint_draws(100).sum("predicted"), [shares] * 100)
    recall = POST["recall_per_class"].joint_draws(1000)
    np.testing.assert_allclose(given["recall_per_class"].joint_draws(1000), recall)
    np.testing.assert_allclose(given["accuracy"].joint_draws(1000), shares @ recall.values)
    assert given.prior_text == f"{POST.prior_text}; prevalence {shares}"


@pytest.mark.slow
def test_prediction():
    predicted = POST.predict(30, draws=20_000)
    accuracy = predicted["accuracy"]
    within(accuracy.joint_draws(20_000).values, POST["accuracy"].mean().item(), errors=6)
    known = POST["accuracy"].sd().item() ** 2
    spread = (POST["accuracy"].joint_draws(10_000) * (1 - POST["accuracy"].joint_draws(10_000))).mean().item() / 30
    assert accuracy.sd().item() ** 2 == pytest.approx(known + spread, rel=0.05)
    of_rows = bp.posterior(CM, design="by_actual").predict(draws=50).source.cells * CM.total.item()
    np.testing.assert_allclose(of_rows.sum("predicted").values.reshape(-1, 3), [TABLE.sum(1)] * 50)


@pytest.mark.slow
def test_comparison_is_of_independent_systems():
    post = bp.posterior(SYSTEMS)
    comparison = bp.compare(post, metric="f1_macro")
    assert comparison.basis.endswith("; independent systems")
    first, second = (post["f1_macro"].joint_draws(post.n_draws).sel(model=name) for name in "xz")
    assert comparison.prob_greater.sel(model="x", model_other="z").item() == pytest.approx((first > second).mean())
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.04
    copied = bp.compare(POST, bp.posterior(CM), "f1_macro", independent=True)
    assert copied.prob_greater.item() == pytest.approx(0.5, abs=0.02)


@pytest.mark.slow
def test_joint_requirements():
    both = POST.prob_joint({"accuracy": 0.6, "f1_macro": 0.6})
    drawn = [POST[name].joint_draws(POST.n_draws) > 0.6 for name in ("accuracy", "f1_macro")]
    assert both.item() == pytest.approx((drawn[0] & drawn[1]).mean().item(), abs=1e-12)


@pytest.mark.slow
def test_the_text_beside_a_table_says_what_classes_share():
    table = POST.summary("accuracy", ci_prob=0.9, ci_kind="eti")
    mean = POST.source.mean_recall
    low, high = mean.eti(0.9).values
    assert f"The classes share a mean recall of {mean.median():.3f} [{low:.3f}, {high:.3f}]" in repr(table)
    assert f"its dispersion ρ, {POST.source.dispersion.median():.3f} [" in repr(table)
    assert "; where a class is e times as large, the logit of its mean recall is greater by " in repr(table)
    assert "The classes of each of 3 matrices share a mean recall of 0." in repr(bp.posterior(SYSTEMS).summary("mcc"))
    assert "share a mean recall" not in repr(bp.posterior(CM, "perks").summary("mcc"))


@pytest.mark.slow
def test_trees_and_copies():
    tree = POST.to_datatree(["accuracy"], draws=500, chains=2)
    back = bp.Posterior.from_datatree(tree)
    assert back.prior_text == POST.prior_text
    assert back.source.independent_draws
    np.testing.assert_array_equal(back["accuracy"].joint_draws(1000), POST["accuracy"].joint_draws(1000))
    xr.testing.assert_identical(copy.deepcopy(POST)["mcc"].eti(), POST["mcc"].eti())


# ── Where it is not available ──

SAME_EXAMPLES = bp.ConfusionMatrix.from_predictions(
    list("abcabcabc") * 2, list("abcabcacb") + list("abcbbcabc"), by={"model": ["x"] * 9 + ["y"] * 9},
    example=[*range(9), *range(9)],
)  # fmt: skip


def test_systems_on_the_same_examples_keep_perks():
    comparison = bp.compare(SAME_EXAMPLES, metric="accuracy")
    assert comparison.basis.startswith("Perks' Dirichlet (0.111 in each of 9 cells, total weight 1)")
    for metric in ("accuracy", "f1_macro"):
        with pytest.raises(ValueError, match="prior: 'shared' is not available for systems tested on the same"):
            bp.compare(SAME_EXAMPLES, metric=metric, prior="shared")


def test_plans_keep_perks():
    plan = bp.plan.sample_size(0.5, metric="accuracy", evidence=CM, question="settle")
    assert "Perks' Dirichlet" in plan.basis
    with pytest.raises(ValueError, match="prior: 'shared' is not available for plans"):
        bp.plan.sample_size(0.5, metric="accuracy", evidence=CM, prior="shared")
    with pytest.raises(ValueError, match="'shared' has no pseudo-counts"):
        bp.prior.shared().concentration(CM)


@pytest.mark.slow
def test_sensitivity_to_the_prior_includes_it():
    table = bp.prior.sensitivity(CM, ["accuracy"])
    assert table["prior"].tolist() == ["flat", "jeffreys", "perks", "shared"]
    assert table["mean"].iloc[-1] == POST["accuracy"].mean()


# ── The worst class ──


@pytest.mark.slow
@pytest.mark.parametrize("draws", [700, 40_000])
@pytest.mark.parametrize("prior", ["perks", "shared"])
def test_ranks_of_classes_are_counted_in_joint_draws(prior, draws):
    post = bp.posterior(SYSTEMS, prior, draws=draws)
    recall = post["recall_per_class"].joint_draws(draws)
    worst = recall.argmin("label")
    expected = xr.concat([(worst == i).mean("draw") for i in range(3)], "label").transpose("model", "label")
    np.testing.assert_allclose(post.prob_worst("recall_per_class"), expected, atol=1e-12)
    ranks = post.ranks("recall_per_class")
    assert ranks.dims == ("model", "label", "rank")
    np.testing.assert_allclose(ranks.sum("rank"), 1)
    np.testing.assert_allclose(ranks.sum("label"), 1)
    # The least recall is the greatest share of misses.
    np.testing.assert_array_equal(post.ranks("fnr_per_class"), ranks)


def test_ranks_of_a_sampler_have_its_error():
    rng = np.random.default_rng(0)
    cells = rng.dirichlet(np.full(9, 2.0), (2, 400)).reshape(2, 400, 3, 3)
    sticky = np.repeat(cells, 5, axis=1)
    posts = [
        bp.Posterior.from_datatree(xr.DataTree.from_dict({"posterior": xr.Dataset(
            {"cells": (("chain", "draw", "actual", "predicted"), values)},
            {"actual": list("abc"), "predicted": list("abc")},
        )}))
        for values in (cells, sticky)
    ]  # fmt: skip
    free, tied = (post.ranks("recall_per_class") for post in posts)
    np.testing.assert_allclose(free, tied, atol=0.01)
    assert tied.attrs["mcse"] == pytest.approx(free.attrs["mcse"], rel=0.5)


@pytest.mark.parametrize(
    ("metric", "message"),
    [("accuracy", "has one value for all classes"), ("prevalence_per_class", "neither more nor less")],
)
def test_what_has_no_ranks(metric, message):
    with pytest.raises(ValueError, match=message):
        POST.ranks(metric)


def test_blocks_of_draws_are_one_draw(monkeypatch):
    """Draws come in blocks that fit in memory; their law does not depend on the size."""
    monkeypatch.setattr(shared_classes, "blocks", partial(blocks, most=9 * 1000))
    cells = POST.joint_draws(20_000)
    assert cells.shape == DRAWS.shape
    within((cells - DRAWS).transpose("actual", "predicted", "draw").values, 0)


# ── Many classes ──


def simulated(classes, examples, seed):
    """A table of classes with recalls around 0.8, whose errors prefer some classes, and the recalls."""
    rng = np.random.default_rng(seed)
    recall, popularity = rng.beta(7.2, 1.8, classes), rng.dirichlet(np.ones(classes))
    table = np.zeros((classes, classes), int)
    for i, weights in enumerate(popularity * ~np.eye(classes, dtype=bool)):
        right = rng.binomial(examples, recall[i])
        shares = rng.gamma(weights / weights.sum()) + 1e-12 * weights
        table[i] = rng.multinomial(examples - right, shares / shares.sum())
        table[i, i] = right
    return table, recall


def harder_where_rare(classes=40):
    """Cells with sizes by Zipf's law, recalls that fall in a straight line with the rank, and errors spread evenly."""
    recall, shares = np.linspace(0.95, 0.45, classes), 1 / np.arange(1.0, classes + 1)
    cells = np.where(np.eye(classes, dtype=bool), recall[:, None], (1 - recall[:, None]) / (classes - 1))
    return cells * shares[:, None] / shares.sum()


MANY, _ = simulated(40, 12, 0)
OF_ZIPF = harder_where_rare()
ZIPF = np.random.default_rng(5).multinomial(800, OF_ZIPF.ravel(), 40).reshape(-1, 40, 40)
NAMES = ("recall_per_class", "precision_per_class", "f1_per_class", "recall_macro", "precision_macro", "f1_macro",
         "accuracy", "matthews_corrcoef", "cohen_kappa", "f1_of_averages", "specificity_weighted")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("eta", [0.2, 1.0])
def test_errors_have_the_moments_of_a_dirichlet(eta):
    """Means and covariances of the shares of errors are exact, however few sticks are broken."""
    g, n = np.array([0.5, 0.3, 0.15, 0.05]), 200_000
    counts = np.array([[7.0, 0, 0, 0], [1, 0, 2, 0], [0, 0, 0, 9], [0, 0, 0, 0]])
    shared = SharedErrors(np.full(n, np.log(eta)), np.tile(g, (n, 1)))
    rows = SparseRows(counts, np.full((n, 4), 1.0), np.ones((n, 4)), shared, np.random.default_rng(3))
    cells = np.concatenate(list(rows.cells()))
    for i in range(4):
        others = np.arange(4) != i
        alpha = eta * g[others] / g[others].sum() + counts[i, others]
        share = cells[:, i, others]
        np.testing.assert_allclose(share.sum(1), 1)
        mean = alpha / alpha.sum()
        within(share.T, mean)
        deviations = share - mean
        products = np.einsum("nj,nk->jkn", deviations, deviations)
        within(products, (np.diag(mean) - np.outer(mean, mean)) / (1 + alpha.sum()))


def test_sums_of_classes_are_those_of_the_cells():
    blocks_of_both = [
        (rows, np.concatenate(list(rows.cells())))
        for rows in ClassesModel(MANY[None].astype(float)).sparse_cells(0, 50, np.random.default_rng(0))
    ]
    for rows, cells in blocks_of_both:
        np.testing.assert_allclose(cells.sum((1, 2)), 1)
        of_cells = OneVsRest(cells)
        for argument in ("tp", "fn", "fp", "tn"):
            np.testing.assert_allclose(rows[argument], of_cells[argument], rtol=1e-9, atol=1e-200)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["equal", "zipf"])
def test_metrics_of_many_classes_are_those_of_all_cells(table):
    """The two ways of drawing differ by their Monte Carlo errors: means, spreads and quantiles."""
    n, levels = 10_000, np.array([0.025, 0.25, 0.5, 0.75, 0.975])
    post = bp.posterior(bp.ConfusionMatrix.from_table({"equal": MANY, "zipf": ZIPF[0]}[table]), draws=n)
    metrics = [bp.metrics.get(name) for name in NAMES]
    found = next(iter(post.drawn_by_matrix(metrics)))
    every = [evaluated(metrics, cells) for cells in post.source.draw_blocks(post, 0, n, np.random.default_rng(7))]
    # A maximum over 40 classes, each with as many levels.
    most = stats.norm.isf(0.001 / (2 * 40 * len(levels) * len(NAMES)))
    for metric in metrics:
        a, b = found[metric].T, np.concatenate([block[metric] for block in every]).T
        a, b = np.atleast_2d(a), np.atleast_2d(b)
        # The popularity is resampled, and worth half as many draws.
        error = np.sqrt(4 / n)
        np.testing.assert_array_less(abs(a.mean(1) - b.mean(1)), most * error * b.std(1))
        kurtosis = stats.kurtosis(b, axis=1, fisher=False)
        np.testing.assert_array_less(abs(a.std(1) / b.std(1) - 1), most * error * np.sqrt(kurtosis - 1) / 2)
        # Precisions next to 1 are the same to 1 % of the spread, and as ranks they are not.
        limits, slack = np.quantile(b, levels, axis=1).T, 0.01 * b.std(1)
        for i, (draws, places) in enumerate(zip(a, limits, strict=True)):
            allowed = most * error * np.sqrt(levels * (1 - levels))
            assert ((draws[:, None] <= places - slack[i]).mean(0) <= levels + allowed).all()
            assert ((draws[:, None] <= places + slack[i]).mean(0) >= levels - allowed).all()


@pytest.mark.slow
def test_recalls_of_many_classes_are_those_of_a_grid():
    betas, weight, _ = of_grid(MANY)
    recall = bp.posterior(bp.ConfusionMatrix.from_table(MANY))["recall_per_class"]
    for i in (0, 17, 39):
        (a, b), drawn = betas[i], recall.joint_draws(10_000).isel(label=i).values
        within(drawn, (weight * a / (a + b)).sum(), 6)
        within(drawn < 0.8, (weight * special.betainc(a, b, 0.8)).sum(), 6)


def test_no_figure_of_many_classes_depends_on_other_metrics():
    post = bp.posterior(bp.ConfusionMatrix.from_table(MANY), draws=300)
    names = ["accuracy", "mean_absolute_error", "f1_macro", "recall_per_class"]
    together = post.summary(names).drop(columns="label")
    for name in names:
        alone = post.summary(name).drop(columns="label", errors="ignore")
        same = together.query("metric == @name").reset_index(drop=True)
        assert same.equals(alone.reset_index(drop=True))


@pytest.mark.slow
def test_intervals_of_many_recalls_cover_the_truth():
    covered = []
    for seed in range(4):
        table, recall = simulated(100, 10, seed)
        low, high = bp.posterior(bp.ConfusionMatrix.from_table(table), draws=4000)["recall_per_class"].eti().values.T
        covered += [(low <= recall) & (recall <= high)]
    within(np.concatenate(covered), 0.95, errors=4)


def test_a_thousand_classes_have_fewer_draws():
    table = np.eye(1000, dtype=int) * 3
    assert bp.posterior(bp.ConfusionMatrix.from_table(table)).n_draws == 5000
    assert bp.posterior(bp.ConfusionMatrix.from_table(MANY)).n_draws == 10_000


@pytest.mark.slow
def test_intervals_cover_where_rare_classes_are_harder():
    post = bp.posterior(bp.ConfusionMatrix.from_table(ZIPF, dims={"system": range(len(ZIPF))}), draws=1000)
    for name in ("recall_macro", "precision_macro"):
        low, high = post[name].eti().values.T
        true = bp.metrics.get(name).evaluate(OF_ZIPF)
        # Of 40 intervals of 95 %, fewer than 33 cover once in ten thousand times.
        assert ((low <= true) & (true <= high)).sum() >= 33
    assert (post.source.slope.mean() > 0.3).all()
