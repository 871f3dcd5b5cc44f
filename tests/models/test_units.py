"""Models: log-likelihoods of the units to leave out, and what was integrated out."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats

from bayesperf import models
from tests.shared.models import (
    DENSITIES,
    ONE,
    SYSTEMS_AND_SITES,
    THREE_SCORES,
    THREE_SITES,
    YEAR_AND_AGE,
    built_case,
    compiled_case,
    folds_of,
    long_run,
    steps,
)

# ── Log-likelihoods of the units to leave out ──


def posterior_of(case, n=(2, 3)):
    """Return labelled draws (chain, draw) of a case's parameters, and of what the model computes from them."""
    model, at, rng = built_case(case)[2], compiled_case(case), np.random.default_rng(5)
    drawn = [{name: draw(rng) for name, draw in DENSITIES[case][3].items()} for _ in range(n[0] * n[1])]
    variables = {}
    for name in [*drawn[0], *at(**drawn[0])[1]]:
        values = np.array([{**point, **at(**point)[1]}[name] for point in drawn])
        dims = model.named_vars_to_dims.get(name, ())
        variables[name] = (("chain", "draw", *dims), values.reshape(*n, *values.shape[1:]))
    coords = {dim: list(labels) for dim, labels in model.coords.items() if labels is not None}
    used = {dim for dims, _ in variables.values() for dim in dims}
    return xr.Dataset(variables, {dim: labels for dim, labels in coords.items() if dim in used})


def log_likelihood(case):
    counts, options, _ = built_case(case)
    posterior = posterior_of(case)
    return posterior, getattr(models, DENSITIES[case][0]).log_likelihood(posterior, counts, **options)


def each_draw(posterior):
    return [(i, j, posterior.isel(chain=i, draw=j)) for i, j in itertools.product(range(2), range(3))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "data"), [("groups of systems", SYSTEMS_AND_SITES), ("groups of three classes", THREE_SITES)]
)
def test_log_likelihood_of_groups(case, data):
    posterior, found = log_likelihood(case)
    dim = data.dims[-1]
    assert found.dims == ("chain", "draw", *data.dims)
    for i, j, draw in each_draw(posterior):
        kappa = 1 / draw["dispersion"] - 1
        for where in itertools.product(*(range(size) for size in data.counts.shape[:-2])):
            place = dict(zip(data.dims, where, strict=True))
            rows = data.counts.isel(place).values
            system = {name: at for name, at in place.items() if name != dim}
            concentration = (kappa * draw["rates"]).isel(system).transpose("actual", "predicted").values
            expected = sum(
                stats.dirichlet_multinomial.logpmf(row, a, row.sum())
                for row, a in zip(rows, concentration, strict=True)
                if row.any()  # SciPy 1.15 asks for a trial.
            )
            assert found.isel(chain=i, draw=j, **place).item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


def over_normal(log_function, *places):
    """Log of the mean of exp(log_function) over a standard normal, on a grid about where it is not flat."""
    z = np.linspace(min(places) - 12, max(places) + 12, 801)
    return special.logsumexp(log_function(z) + stats.norm.logpdf(z)) + np.log(z[1] - z[0])


def log_of_group(counts, logit, spread, r):
    """Log-likelihood of a group's predictions, its deviations integrated out; rates are recall and specificity."""
    (tn, fp), (fn, tp) = counts

    def log_binomial(k, n, rate, at=logit, scale=spread):
        # The deviation that fits best, and about it.
        best = (special.logit((k + 0.5) / (n + 1)) - at[rate]) / scale[rate]
        return lambda z: stats.binom.logpmf(k, n, special.expit(at[rate] + scale[rate] * z)), best

    (recall, best), (specificity, other) = log_binomial(tp, tp + fn, 1), log_binomial(tn, tn + fp, 2)
    if not r:
        return over_normal(recall, 0, best) + over_normal(specificity, 0, other)
    rest = np.sqrt(1 - r**2)

    @np.vectorize
    def given(z):
        return recall(z) + over_normal(lambda e: specificity(r * z + rest * e), 0, (other - r * z) / rest)

    return over_normal(given, 0, best, r * other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "times"), [("groups_logit", 1), ("groups_logit", 100), ("groups_logit, LKJ and covariates", 10)]
)
def test_log_likelihood_of_logit_groups(case, times):
    """That of a group left out: its own deviations are integrated out."""
    counts, options, _ = built_case(case)
    posterior = posterior_of(case).isel(chain=[0], draw=[0, 1])
    found = models.groups_logit.log_likelihood(posterior, counts * times, **options)
    assert found.dims == ("chain", "draw", "site")
    for j, site in itertools.product((0, 1), range(3)):
        draw = posterior.isel(chain=0, draw=j)
        logit = draw["location"].values
        if "coefficient" in draw:
            logit = logit + YEAR_AND_AGE.values[site] @ draw["coefficient"].transpose("covariate", "rate").values
        r = float(draw.get("correlation", 0))
        expected = log_of_group(ONE.counts.values[site] * times, logit, np.append(0, draw["spread"]), r)
        # To a tenth of what would be noticed in a sum over groups.
        assert found.values[0, j, site] == pytest.approx(expected, abs=0.01), (j, site)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["slices", "slices, accuracy"])
def test_log_likelihood_of_slices(case):
    """That of the predictions of a slice; nothing, where it has no examples."""
    posterior, found = log_likelihood(case)
    counts = built_case(case)[0]
    assert found.dims == ("chain", "draw", *counts.dims[:-2])
    for i, j, draw in each_draw(posterior):
        for place in itertools.product(*(range(size) for size in counts.shape[:-2])):
            rates, cells = draw["rates"].values[place], counts.values[place]
            if case == "slices":
                (tn, fp), (fn, tp) = cells
                expected = stats.binom.logpmf([tp, tn], [tp + fn, tn + fp], rates).sum()
            else:
                expected = stats.binom.logpmf(np.trace(cells), cells.sum(), rates[0])
            assert found.values[(i, j, *place)] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_log_likelihood_of_classes():
    """That of a class: its own recall and the shares of its errors are integrated out."""
    posterior, found = log_likelihood("classes")
    assert found.dims == ("chain", "draw", "actual")
    table = THREE_SITES.sum("fold").counts.values
    for i, j, draw in each_draw(posterior):
        kappa, eta = (1 / float(draw[name]) - 1 for name in ("dispersion", "clumping"))
        g, sizes = draw["popularity"].values, np.log(table.sum(1) + 1)
        means = special.expit(special.logit(float(draw["mean_recall"])) + float(draw["slope"]) * (sizes - sizes.mean()))
        for actual, row in enumerate(table):
            others = np.arange(3) != actual
            wrong = row[others].sum()
            mean = means[actual]
            expected = stats.betabinom.logpmf(row[actual], row.sum(), kappa * mean, kappa * (1 - mean))
            expected += stats.dirichlet_multinomial.logpmf(row[others], eta * g[others] / g[others].sum(), wrong)
            assert found.values[i, j, actual] == pytest.approx(expected, rel=1e-9)


EXAMPLES = {
    "multinomial": lambda draw: draw["cells"].transpose("model", "actual", "predicted").values,
    "multinomial of three classes": lambda draw: draw["cells"].values,
    "rates": lambda draw: draw["cells"].transpose("model", "actual", "predicted").values,
    "rates by actual": lambda draw: (
        (draw["cells"] / draw["cells"].sum("predicted")).transpose("model", "actual", "predicted").values
    ),
    "paired": lambda draw: draw["shares"].values,
}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", EXAMPLES)
def test_log_likelihood_of_examples(case):
    posterior, found = log_likelihood(case)
    counts = built_case(case)[0].values
    assert found.dims == ("chain", "draw", "example")
    assert found.sizes["example"] == counts.sum()
    for i, j, draw in each_draw(posterior):
        expected = np.repeat(np.log(EXAMPLES[case](draw)).ravel(), counts.ravel())
        np.testing.assert_allclose(np.sort(found.isel(chain=i, draw=j)), np.sort(expected), rtol=1e-12)


@pytest.mark.parametrize("case", ["readers", "readers, one modality"])
def test_log_likelihood_of_reads_leaves_out_those_that_are_missing(case):
    posterior, found = log_likelihood(case)
    data, density = built_case(case)[0], DENSITIES[case][4]
    assert (data < 0).any()
    for i, j, draw in each_draw(posterior):
        point = {name: draw[name].values for name in DENSITIES[case][3]} | {"design": data}
        nothing = density(data.where(False, -1), **point)
        alone = [data.where(np.arange(data.size).reshape(data.shape) == k, -1) for k in np.flatnonzero(data >= 0)]
        expected = [density(read, **point) - nothing for read in alone]
        np.testing.assert_allclose(found.isel(chain=i, draw=j), expected, rtol=1e-9)


def log_chances(draw, stay):
    """Log-probability of each step's prediction, and of its actual label."""
    g, z, h, j, _ = steps()
    rates = draw["predict_second"].transpose("actual", ..., "predicted_before").values
    second = rates[g, h, j] if rates.ndim == 3 else rates[g, j]
    return np.log(np.where(z == 1, second, 1 - second)), np.log(np.where(g == h, stay[h], 1 - stay[h]))


@pytest.mark.parametrize("case", ["markov", "markov, z_prev"])
def test_log_likelihood_of_steps(case):
    posterior, found = log_likelihood(case)
    assert found.dims == ("chain", "draw", "example")
    for i, j, draw in each_draw(posterior):
        expected = sum(log_chances(draw, draw["stay"].values))
        np.testing.assert_allclose(np.sort(found.isel(chain=i, draw=j)), np.sort(expected), rtol=1e-12)


def test_log_likelihood_of_sequences():
    posterior, found = log_likelihood("markov, varying")
    assert found.dims == ("chain", "draw", "video")
    g, _, h, _, video = steps()
    for i, j, draw in each_draw(posterior):
        stay, kappa = draw["stay"].values, 1 / draw["stay_dispersion"].values - 1
        predictions, _ = log_chances(draw, stay)
        for name in "uvw":
            expected = predictions[video == name].sum()
            for k in (0, 1):
                left = (video == name) & (h == k)
                shape = kappa[k] * stay[k], kappa[k] * (1 - stay[k])
                expected += stats.betabinom.logpmf((g[left] == k).sum(), left.sum(), *shape)
            assert found.sel(video=name).isel(chain=i, draw=j).item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "rho"), [("datasets", 0.2), ("datasets, repeated folds", 0.4)])
def test_log_likelihood_of_data_sets(case, rho):
    """That of the folds, up to a constant; the data set's own difference, a Student-t, is integrated out."""
    posterior, found = log_likelihood(case)
    assert found.dims == ("chain", "draw", "dataset")
    d, unit = folds_of(THREE_SCORES)
    correlation = np.full((5, 5), rho) + (1 - rho) * np.eye(5)
    gap = np.empty((2, 3, 3))
    for i, j, draw in each_draw(posterior):
        center, spread, tail = (float(draw[name]) for name in ("center", "spread", "tail"))
        for k in range(3):
            covariance = draw["noise"].values[k] ** 2 * correlation
            grid = np.linspace(-12, 12, 200_001)[:, None] * np.sqrt(covariance.mean()) + d[k].mean() / unit
            of_folds = stats.multivariate_normal.logpdf(d[k] / unit - grid, np.zeros(5), covariance)
            population = stats.t.logpdf(grid[:, 0], 1 + tail, center, spread)
            gap[i, j, k] = found.values[i, j, k] - special.logsumexp(of_folds + population)
            gap[i, j, k] -= np.log(grid[1, 0] - grid[0, 0])
    np.testing.assert_allclose(gap, np.broadcast_to(gap[:1, :1], gap.shape), atol=1e-6)


# ── What was integrated out ──


def repeated(case, n, **point):
    """Return labelled draws that are all the same."""
    model, at = built_case(case)[2], compiled_case(case)
    point = {name: np.asarray(value, float) for name, value in point.items()}
    found = {**point, **at(**point)[1]}
    dims = {name: ("chain", "draw", *model.named_vars_to_dims.get(name, ())) for name in found}
    variables = {name: (dims[name], np.broadcast_to(value, (2, n, *value.shape))) for name, value in found.items()}
    used = {dim for of in dims.values() for dim in of}
    coords = {dim: list(labels) for dim, labels in model.coords.items() if labels is not None and dim in used}
    return xr.Dataset(variables, coords)


def recovered(case, n=20_000, **point):
    counts, options, _ = built_case(case)
    module = getattr(models, DENSITIES[case][0])
    found = module.recover(repeated(case, n, **point), counts, np.random.default_rng(3), **options)
    return {name: value.stack(sample=("chain", "draw")) for name, value in found.items()}


def has_moments(values, mean, second):
    """Check the mean and the second moment of samples within five of their standard errors."""
    for power, expected in ((1, mean), (2, second)):
        x = values.transpose("sample", ...).values ** power
        error = 5 * x.std(0) / np.sqrt(len(x)) + 1e-12
        assert (abs(x.mean(0) - expected) < error).all(), power


def dirichlet_moments(concentration):
    """Return E[x] and E[x²] of Dirichlets along the last axis."""
    total = concentration.sum(-1, keepdims=True)
    mean = concentration / total
    return mean, mean * (concentration + 1) / (total + 1)


def test_rates_of_groups_come_back_by_conjugacy():
    point = {
        "rates": [[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.05, 0.05, 0.9]], "dispersion": [0.1, 0.2, 0.05],
        "prevalence": [0.4, 0.4, 0.2], "prevalence_dispersion": 0.04,
    }  # fmt: skip
    found = recovered("groups of three classes", **point)
    kappa = 1 / np.array(point["dispersion"])[:, None] - 1
    prior = kappa * np.array(point["rates"])
    class_prior, counts = 24 * np.array(point["prevalence"]), THREE_SITES.counts.values
    for answer, dims, seen in (("cells_group", ("fold",), counts), ("cells_new", (), 0 * counts[0])):
        assert found[answer].dims == (*dims, "actual", "predicted", "sample")
        mean, second = dirichlet_moments(prior + seen)
        share, squared = dirichlet_moments(class_prior + seen.sum(-1))
        has_moments(found[answer], share[..., None] * mean, squared[..., None] * second)
    np.testing.assert_allclose(found["cells_new"].sum(["actual", "predicted"]), 1, rtol=1e-12)
    # Rows of a group are independent of each other.
    of_group = found["cells_group"].isel(fold=0)
    right = (of_group / of_group.sum("predicted")).transpose(..., "sample").values[[0, 1], [0, 1]]
    assert abs(np.corrcoef(right)[0, 1]) < 5 / np.sqrt(right.shape[1])


@pytest.mark.slow
def test_rates_of_groups_where_nothing_was_observed_are_those_of_a_new_one():
    counts, options, _ = built_case("groups")
    posterior = repeated("groups", 20_000, rates=[[0.9, 0.1], [0.3, 0.7]], dispersion=[0.1, 0.3], prevalence=[0.5, 0.5])
    found = models.groups.recover(posterior, counts * 0, np.random.default_rng(1), **options)
    recall = found["cells_group"].sel(actual="yes", predicted="yes").stack(sample=("chain", "draw")) / 0.5
    a, b = 0.7 * (1 / 0.3 - 1), 0.3 * (1 / 0.3 - 1)
    for site in range(3):
        assert stats.kstest(recall.values[site], stats.beta(a, b).cdf).pvalue > 1e-6


@pytest.mark.slow
def test_prevalence_goes_with_the_kind_of_groups():
    """Folds, and a new one, have the population's; clusters whose totals were chosen have a draw of it."""
    point = {"rates": [[0.9, 0.1], [0.3, 0.7]], "dispersion": [0.1, 0.3], "prevalence": [0.8, 0.2]}
    for case in ("groups", "groups by actual"):
        for cells in recovered(case, 10, **point).values():
            np.testing.assert_allclose(cells.sum("predicted").sel(actual="yes"), 0.2, rtol=1e-12)
    found = recovered("groups, clusters by actual", **point, prevalence_dispersion=0.1)
    moments = dirichlet_moments(9 * np.array(point["prevalence"]))
    for cells in found.values():
        has_moments(cells.sum("predicted").transpose(..., "actual", "sample"), *moments)


@pytest.mark.slow
def test_groups_that_are_nearly_all_right_or_all_wrong():
    """Shares of tiny concentration are never 0/0."""
    case = "groups, clusters"
    posterior = repeated(case, 10_000, rates=[[0.9, 0.1], [0.3, 0.7]], dispersion=[0.98] * 2, prevalence=[0.5, 0.5],
                         prevalence_dispersion=0.98)  # fmt: skip
    counts, options, _ = built_case(case)
    new = models.groups.recover(posterior, counts, np.random.default_rng(1), **options)["cells_new"]
    rates = (new / new.sum("predicted")).sel(actual="yes").stack(sample=("chain", "draw"))
    has_moments(rates, *dirichlet_moments((1 / 0.98 - 1) * np.array([0.3, 0.7])))


def test_cells_of_classes_come_back_by_conjugacy():
    point = {"mean_recall": 0.7, "slope": 3.0, "dispersion": 0.2, "popularity": [0.5, 0.3, 0.2], "clumping": 0.25,
             "prevalence": [0.3, 0.6, 0.1]}  # fmt: skip
    found = recovered("classes", **point)["cells"]
    assert found.dims == ("actual", "predicted", "sample")
    table = THREE_SITES.sum("fold").counts.values
    kappa, g = 1 / point["dispersion"] - 1, np.array(point["popularity"])
    sizes = np.log(table.sum(1) + 1)
    means = special.expit(special.logit(0.7) + 3 * (sizes - sizes.mean()))
    for i, row in enumerate(table):
        others = np.arange(3) != i
        right_or_wrong = kappa * np.array([means[i], 1 - means[i]]) + [row[i], row[others].sum()]
        (right, wrong), (right_second, wrong_second) = dirichlet_moments(right_or_wrong)
        shares, shares_second = dirichlet_moments(3 * g[others] / g[others].sum() + row[others])
        mean, second = np.empty(3), np.empty(3)
        mean[i], mean[others] = right, wrong * shares
        second[i], second[others] = right_second, wrong_second * shares_second
        has_moments(found[i] / point["prevalence"][i], mean, second)


def test_a_new_logit_group():
    r, location, spread = -0.6, [-1.0, 1.5, 2.0], [0.0, 0.8, 0.5]
    case = "groups_logit, LKJ and covariates"
    found = recovered(case, location=location, spread=spread[1:], deviation=np.zeros((3, 2)),
                      correlation_unit=(1 + r) / 2, coefficient=np.ones((3, 2)))["cells_new"]  # fmt: skip
    assert found.dims == ("actual", "predicted", "sample")
    (tn, fp), (fn, tp) = found.values
    drawn = np.stack([special.logit(tp + fn), np.log(tp / fn), np.log(tn / fp)])
    n = drawn.shape[1]
    np.testing.assert_allclose(drawn.mean(1), location, atol=5 * max(spread) / np.sqrt(n))
    np.testing.assert_allclose(drawn.std(1), spread, rtol=5 / np.sqrt(2 * n), atol=1e-9)
    assert np.corrcoef(drawn[1:])[0, 1] == pytest.approx(r, abs=5 * (1 - r**2) / np.sqrt(n))


@pytest.mark.slow
def test_a_new_logit_group_without_correlation():
    point = {"location": np.zeros(3), "spread": np.ones(3), "deviation": np.zeros((3, 3))}
    found = recovered("groups_logit, clusters", **point)["cells_new"]
    (tn, fp), (fn, tp) = found.values
    drawn = np.stack([special.logit(tp + fn), np.log(tp / fn), np.log(tn / fp)])
    n = drawn.shape[1]
    np.testing.assert_allclose(drawn.std(1), 1, rtol=5 / np.sqrt(2 * n))
    np.testing.assert_allclose(np.corrcoef(drawn), np.eye(3), atol=5 / np.sqrt(n))


def test_slices_have_a_prevalence_each():
    counts, options, _ = built_case("slices")
    posterior = posterior_of("slices", (1, 1)).isel(draw=np.zeros(20_000, int))
    cells = models.slices.recover(posterior, counts, np.random.default_rng(1), **options)["cells"]
    assert cells.dims == ("chain", "draw", "site", "age", "actual", "predicted")
    cells = cells.assign_coords(actual=["no", "yes"], predicted=["no", "yes"])
    prevalence = cells.sel(actual="yes").sum("predicted")
    for i, j in itertools.product(range(2), range(3)):
        negatives, positives = counts.values[i, j].sum(-1)
        drawn = prevalence.isel(site=i, age=j).values.ravel()
        assert stats.kstest(drawn, stats.beta(1 + positives, 1 + negatives).cdf).pvalue > 1e-6
    rows = (cells / cells.sum("predicted")).isel(draw=0)
    for rate, label in (("recall", "yes"), ("specificity", "no")):
        found = rows.sel(actual=label, predicted=label)
        np.testing.assert_allclose(found, posterior["rates"].sel(rate=rate).isel(draw=0), rtol=1e-9)


@pytest.mark.slow
def test_how_long_labels_stay_in_each_sequence_comes_back():
    """E[cells] over the Betas of the stays, by Gauss–Jacobi quadrature of the eigen-solve."""
    stay, dispersion = np.array([0.8, 0.6]), np.array([0.15, 0.1])
    theta = np.array([[[0.1, 0.6], [0.3, 0.2]], [[0.4, 0.9], [0.7, 0.5]]])
    found = recovered("markov, varying", stay=stay, predict_second=theta, stay_dispersion=dispersion)
    g, _, h, _, video = steps()
    kappa = 1 / dispersion - 1
    prior = np.stack([kappa * stay, kappa * (1 - stay)])

    def expected(a, b):
        rules = [special.roots_jacobi(30, b[i] - 1, a[i] - 1) for i in (0, 1)]
        (x, u), (y, v) = (((node + 1) / 2, weight / weight.sum()) for node, weight in rules)
        return sum(u[i] * v[j] * long_run((x[i], y[j]), theta) for i, j in np.ndindex(30, 30))

    def close(values, mean):
        assert (abs(values.mean("sample") - mean) < 5 * values.std("sample") / np.sqrt(values.sizes["sample"])).all()

    close(found["cells_new"], expected(*prior))
    assert found["cells_group"].dims == ("video", "actual", "predicted", "sample")
    for place, name in enumerate("uvw"):
        seen = [(video == name) & (h == i) for i in (0, 1)]
        stayed = np.array([(g[s] == i).sum() for i, s in enumerate(seen)])
        left = np.array([s.sum() for s in seen]) - stayed
        close(found["cells_group"].isel(video=place), expected(prior[0] + stayed, prior[1] + left))
    shared = repeated("markov", 1, stay=stay, predict_second=theta)
    assert models.markov.recover(shared, built_case("markov")[0], None) == {}


POPULATION = {"center": 0.7, "spread": 1.3, "noise": np.array([0.4, 1.0, 2.0]), "tail": 2.5,
              "weight": np.array([0.3, 1.0, 1.8])}  # fmt: skip


def test_the_next_data_set():
    _, unit = folds_of(THREE_SCORES)
    found = recovered("datasets", **POPULATION)["next_difference"]
    assert stats.kstest(found.values / unit, stats.t(3.5, 0.7, 1.3).cdf).pvalue > 1e-6
    assert stats.kstest(found.values / unit, stats.norm(0.7, 1.3).cdf).pvalue < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("case", "rho"), [("datasets", 0.2), ("datasets, repeated folds", 0.4)])
def test_differences_of_data_sets_come_back_by_conjugacy(case, rho):
    """They are between the population's and the folds': normal in both, so that a grid says where."""
    d, unit = folds_of(THREE_SCORES)
    correlation = np.full((5, 5), rho) + (1 - rho) * np.eye(5)
    found = recovered(case, **POPULATION)["difference"].transpose("dataset", "sample").values / unit
    grid = np.linspace(-10, 10, 4001)
    for k, values in enumerate(found):
        sd = POPULATION["spread"] / np.sqrt(POPULATION["weight"][k])
        gap = d[k][:, None] / unit - grid
        quadratic = (gap * np.linalg.solve(POPULATION["noise"][k] ** 2 * correlation, gap)).sum(0)
        density = np.exp(-quadratic / 2 + stats.norm.logpdf(grid, POPULATION["center"], sd) + quadratic.min() / 2)
        mean = np.average(grid, weights=density)
        deviation = np.sqrt(np.average((grid - mean) ** 2, weights=density))
        assert stats.kstest(values, stats.norm(mean, deviation).cdf).pvalue > 1e-6


def test_differences_of_data_sets_without_scores_are_those_of_the_population():
    found = models.datasets.recover(
        repeated("datasets", 20_000, **POPULATION), 0 * built_case("datasets")[0], np.random.default_rng(3)
    )["difference"]
    _, unit = folds_of(THREE_SCORES)
    for k, values in enumerate(found.stack(sample=("chain", "draw")).transpose("dataset", "sample").values):
        expected = stats.norm(0.7, 1.3 / np.sqrt(POPULATION["weight"][k]))
        assert stats.kstest(values / unit, expected.cdf).pvalue > 1e-6


def test_weights_are_sampled_on_a_scale_of_their_own():
    """Of weights there and back, and the Jacobian by differences."""
    transform, alpha = models.datasets._Standardised(), np.array([0.6, 3.0, 200.0])
    weight = np.array([0.2, 1.0, 1.1])

    def backward(value):
        return transform.backward(value, None, None, alpha, 1 / alpha).eval()

    value = transform.forward(weight, None, None, alpha, 1 / alpha).eval()
    np.testing.assert_allclose(value, np.log(weight) * np.sqrt(alpha), rtol=1e-12)
    np.testing.assert_allclose(backward(value), weight, rtol=1e-12)
    slope = (backward(value + 1e-6) - backward(value - 1e-6)) / 2e-6
    found = transform.log_jac_det(value, None, None, alpha, 1 / alpha).eval()
    np.testing.assert_allclose(found, np.log(slope), atol=1e-8)
