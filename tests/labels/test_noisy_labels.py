"""Labels that may be wrong: against integrals over a grid, a Gibbs sampler of the textbook, and simulated truth."""

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.labels.noisy_labels import ErrorRate
from bayesperf.labels.replaced_labels import RecordedCounts, Replacement

SMALL = bp.ConfusionMatrix.from_counts(tp=14, fn=4, fp=3, tn=17)
THREE = bp.ConfusionMatrix.from_table([[12, 2, 1], [1, 9, 0], [3, 1, 14]])


def matrix_of(*rows):
    return np.array(rows)


# ── Two classes: against integrals ──


def integrated(table, error, power=0):
    """Return ∫ s^power p(C_z | s, E) dBeta(s; ½, ½) for each column of a table, s being its share of the class 1."""

    def of_column(recorded_0, recorded_1):
        def value(angle):
            # s = sin² is arcsine distributed, Beta(½, ½), if the angle is uniform.
            s = np.sin(angle) ** 2
            q = s * error[1][1] + (1 - s) * error[0][1]
            return 2 / np.pi * s**power * q**recorded_1 * (1 - q) ** recorded_0

        return integrate.quad(value, 0, np.pi / 2, epsabs=0, epsrel=1e-11, limit=200)[0]

    return np.array([of_column(*column) for column in np.transpose(table)])


def at_rate(rate):
    return matrix_of([1 - rate, rate], [rate, 1 - rate])


def assert_mean(marginal, expected):
    """Assert that a mean of draws is as expected, within four standard errors."""
    error = marginal.sd().item() / np.sqrt(10_000)
    assert marginal.mean().item() == pytest.approx(expected, abs=4 * error)


def test_without_labels_the_error_rate_has_its_prior():
    """A Beta, of which what is worse than chance is cut off."""
    nothing = RecordedCounts(np.zeros((2, 2)), np.full((2, 2), 0.5))
    found, prior = ErrorRate(2.0, 3.0, 2).posterior(nothing), stats.beta(2, 3)
    levels = np.array([[0.05, 0.3, 0.7, 0.95]])
    np.testing.assert_allclose(0.5 * found.ppf(levels), prior.ppf(levels * prior.cdf(0.5)), rtol=1e-4)


@pytest.mark.parametrize(
    ("error", "matrix"),
    [
        (0.0, at_rate(0)),
        (0.1, at_rate(0.1)),
        (0.3, at_rate(0.3)),
        (at_rate(0.2), at_rate(0.2)),
        (matrix_of([0.97, 0.03], [0.2, 0.8]), matrix_of([0.97, 0.03], [0.2, 0.8])),
        (matrix_of([1, 0], [0.3, 0.7]), matrix_of([1, 0], [0.3, 0.7])),
    ],
)
def test_known_errors_of_two_classes_are_integrals(error, matrix):
    post = bp.labels.noise(SMALL, error)
    table = SMALL.counts.values
    share = integrated(table, matrix, power=1) / integrated(table, matrix)
    assert_mean(post["precision"], share[1])
    assert_mean(post["npv"], 1 - share[0])
    called = (table.sum(0) + 1) / (table.sum() + 2)
    assert_mean(post["accuracy"], called[1] * share[1] + called[0] * (1 - share[0]))
    assert_mean(post["prevalence"], called @ share)


def test_the_likelihood_of_known_errors_is_an_integral():
    table = SMALL.counts.values.astype(float)
    recorded = RecordedCounts(table, np.full((2, 2), 0.5))
    rates = np.array([0, 0.02, 0.2, 0.45, 0.5])
    expected = [np.log(integrated(table, at_rate(rate))).sum() for rate in rates]
    found = [recorded.log_likelihood(Replacement(1 - 2 * rate, np.full(2, rate))) for rate in rates]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [(0.5, 20), (3, 4)])
def test_a_rate_with_a_beta_is_integrated(beta):
    # Midpoints of the root of the rate, whose density is smooth at 0 if a is ½, too.
    root = np.sqrt(0.5) * (np.arange(300) + 0.5) / 300
    table, rates = SMALL.counts.values, root**2
    each = np.array([[integrated(table, at_rate(rate), power=power) for power in (0, 1)] for rate in rates])
    weight = each[:, 0].prod(-1) * root ** (2 * beta[0] - 1) * (1 - rates) ** (beta[1] - 1)
    weight /= weight.sum()
    post = bp.labels.noise(SMALL, beta)
    share = (weight[:, None] * each[:, 1] / each[:, 0]).sum(0)
    assert_mean(post["precision"], share[1])
    assert_mean(post["npv"], 1 - share[0])
    assert post.source.label_error.mean().item() == pytest.approx(weight @ rates, rel=3e-3)
    cumulative = np.cumsum(weight)
    for level in (0.1, 0.5, 0.9):
        assert post.source.label_error.ppf(level).item() == pytest.approx(np.interp(level, cumulative, rates), abs=2e-3)


def test_intervals_of_known_errors_are_those_of_the_density():
    table, matrix = SMALL.counts.values, at_rate(0.1)
    s = special.expit(np.linspace(-25, 25, 20_001))
    q = s * 0.9 + (1 - s) * 0.1
    density = s**0.5 * (1 - s) ** 0.5 * q ** table[1, 1] * (1 - q) ** table[0, 1]
    cumulative = np.cumsum(density) / density.sum()
    precision = bp.labels.noise(SMALL, matrix, draws=40_000)["precision"]
    for level in (0.025, 0.25, 0.5, 0.75, 0.975):
        at = s[np.searchsorted(cumulative, level)]
        # Four standard errors of a proportion of draws.
        assert precision.cdf(at).item() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 40_000))


# ── No errors, and nothing but errors ──


@pytest.mark.parametrize("error", [0, 1e-9, np.eye(2)])
def test_without_errors_it_is_the_posterior(error):
    exact, post = bp.posterior(SMALL), bp.labels.noise(SMALL, error)
    for metric in ("accuracy", "recall", "precision", "specificity", "f1"):
        assert_mean(post[metric], exact[metric].mean().item())
        assert post[metric].sd().item() == pytest.approx(exact[metric].sd().item(), rel=0.03)
    assert (post.observed_score("f1") == exact.observed_score("f1")).all()


@pytest.mark.parametrize("error", [0, np.eye(3)])
def test_without_errors_many_classes_have_the_posterior_under_perks(error):
    exact, post = bp.posterior(THREE, "perks"), bp.labels.noise(THREE, error)
    for metric in ("accuracy", "recall_macro", "mcc"):
        assert_mean(post[metric], exact[metric].mean().item())


@pytest.mark.parametrize("cm", [SMALL, THREE])
def test_labels_that_are_chance_leave_the_prior(cm):
    with pytest.warns(bp.errors.PriorWarning, match="next to nothing of which class is the true one"):
        post = bp.labels.noise(cm, 1 - 1 / len(cm.labels), "flat")
    # The share of one class among the examples of a prediction is what the prior says of it.
    one = post.source.cells.isel(actual=0, predicted=0) / post.source.cells.isel(predicted=0).sum("actual")
    expected = stats.beta(1, len(cm.labels) - 1)
    assert float(one.mean()) == pytest.approx(expected.mean(), abs=4 * expected.std() / 100)
    assert float(one.std()) == pytest.approx(expected.std(), rel=0.05)


def test_a_matrix_that_does_not_tell_two_classes_apart_warns():
    blurred = [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]
    with pytest.warns(bp.errors.PriorWarning):
        bp.labels.noise(THREE, blurred, draws=100)


# ── More classes: against a sampler ──


def gibbs(table, error, alpha, steps, rng):
    """Draw the true cells in a loop over data augmentation (Tanner & Wong 1987), an example cell at a time."""
    classes = len(table)
    theta, kept = np.full((classes, classes), 1 / classes**2), []
    for _ in range(steps):
        truth = np.zeros((classes, classes))
        for r in range(classes):
            for z in range(classes):
                weight = error[:, r] * theta[:, z]
                truth[:, z] += rng.multinomial(table[r, z], weight / weight.sum())
        theta = rng.dirichlet((truth + alpha).ravel()).reshape(classes, classes)
        kept.append(theta)
    return np.array(kept[steps // 10 :])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "matrix"),
    [
        (0.15, np.full((3, 3), 0.075) + (0.85 - 0.075) * np.eye(3)),
        (matrix_of([0.8, 0.2, 0], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]),) * 2,
    ],
)
def test_three_classes_agree_with_a_sampler(error, matrix):
    draws = gibbs(THREE.counts.values, matrix, 0.5, 6_000, np.random.default_rng(1))
    post = bp.labels.noise(THREE, error, "jeffreys")
    cells = post.source.cells.values.reshape(-1, 3, 3)
    # The sampler's effective size is more than a tenth of its steps.
    errors = 4 * draws.std(0) / np.sqrt(len(draws) / 10)
    assert (np.abs(cells.mean(0) - draws.mean(0)) < errors).all()
    np.testing.assert_allclose(cells.std(0), draws.std(0), rtol=0.15)


def test_draws_of_a_matrix_that_depends_on_the_truth_are_a_samplers():
    error = [[0.8, 0.2, 0], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]]
    for asked, made in {1000: 1000, 51: 100}.items():
        post = bp.labels.noise(THREE, error, draws=asked)
        assert not post.source.independent_draws
        assert post.source.cells.sizes["chain"] * post.source.cells.sizes["draw"] == made


# ── Several matrices ──


@pytest.mark.slow
def test_matrices_share_the_rate():
    """A second matrix without an error shows that few labels are wrong, and the first is believed."""
    alone = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=10, tn=40)
    both = bp.ConfusionMatrix.from_counts(
        **{name: xr.DataArray(values, {"model": ["a", "b"]}, "model") for name, values in
           {"tp": [40, 500], "fn": [10, 0], "fp": [10, 0], "tn": [40, 500]}.items()}
    )  # fmt: skip
    post = bp.labels.noise(both, (2, 8))
    assert post.source.label_error.ppf(0.975).item() < 0.01
    assert_mean(post["accuracy"].sel(model="a"), bp.posterior(alone)["accuracy"].mean().item())


def test_systems_on_the_same_examples_are_compared_by_joint_draws():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    hard = rng.random(400) < 0.3
    a, b = (np.where(hard & (rng.random(400) < share), 1 - truth, truth) for share in (0.6, 0.5))
    cm = bp.ConfusionMatrix.from_predictions(truth, {"a": a, "b": b})
    paired = bp.compare(cm, metric="accuracy")
    post = bp.labels.noise(cm, 0)
    noisy = bp.compare(post, metric="accuracy")
    for name in ("mean", "sd"):
        exact, found = (getattr(c.difference, name)().item() for c in (paired, noisy))
        assert found == pytest.approx(exact, abs=0.05 * paired.difference.sd().item())
    # Half of what differs between them by chance is wrong labels, which are the same ones.
    wrong = bp.compare(bp.labels.noise(cm, 0.03), metric="accuracy")
    assert wrong.difference.mean().item() == pytest.approx(paired.difference.mean().item() / 0.94, rel=0.03)


# ── What comes with it ──


@pytest.mark.slow
def test_ordinary_verbs_work(tmp_path):
    post = bp.labels.noise(SMALL, (2, 38))
    assert post.predict(50)["recall"].mean().item() == pytest.approx(post["recall"].mean().item(), abs=0.01)
    assert post.at_prevalence(0.1)["precision"].mean() < post["precision"].mean()
    post.save(tmp_path / "post.nc")
    loaded = bp.load(tmp_path / "post.nc")
    np.testing.assert_array_equal(loaded.source.cells, post.source.cells)
    np.testing.assert_array_equal(loaded.source.label_error.mean(), post.source.label_error.mean())
    assert "recorded labels wrong at a rate ~ Beta(2, 38)" in post.prior_text
    assert not np.array_equal(bp.labels.noise(SMALL, (2, 38), random_seed=1).source.cells, post.source.cells)
    with pytest.raises(ValueError, match="label_error: the errors were given"):
        bp.labels.noise(SMALL, 0.1).source.label_error  # noqa: B018


@pytest.mark.parametrize(
    ("error", "prior", "words"),
    [
        (0.6, None, r"error: a rate of wrong labels is between 0 and chance, 0\.5; it is 0\.6"),
        (-0.1, None, "it is -0.1"),
        ((95, 5), None, r"error: Beta\(95, 5\) expects more than 0.5 .* is it \(5, 95\)\?"),
        ((0, 5), None, "error must be greater than 0 and finite"),
        ("some", None, "error must be a rate, the .* or a matrix 2 × 2; it is 'some'"),
        (np.eye(3), None, "or a matrix 2 × 2"),
        ([[0.9, 0.2], [0, 1]], None, r"must be probabilities that sum to 1.*the rows sum to \[1\.1, 1\.0\]"),
        ([[0.1, 0.9], [0.9, 0.1]], None, "Has the matrix its rows exchanged"),
        (0.1, "haldane", "prior: labels that may be wrong need weight in every cell"),
        (0.1, "shared", "prior: 'shared' is not available for labels that may be wrong"),
    ],
)
def test_bad_errors(error, prior, words):
    with pytest.raises(ValueError, match=words):
        bp.labels.noise(SMALL, error, prior)


@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.PriorWarning")
def test_labels_that_cannot_be_recorded_are_refused():
    with pytest.raises(ValueError, match="no label is ever recorded as 1, and 18 are"):
        bp.labels.noise(SMALL, [[1, 0], [1, 0]])


def test_too_many_systems_at_once_are_refused():
    cm = bp.ConfusionMatrix.from_predictions([0, 1], {str(i): [0, 1] for i in range(13)})
    with pytest.raises(ValueError, match=r"13 systems of 2 classes .* 8,192 combinations"):
        bp.labels.noise(cm, 0.1)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="cm must be a ConfusionMatrix; it is list"):
        bp.labels.noise([[1, 2], [3, 4]], 0.1)


# ── Coverage ──


@pytest.mark.slow
@pytest.mark.parametrize(("n", "classes"), [(100, 2), (300, 4)])
def test_intervals_cover_the_truth(n, classes):
    """Cells and rates from the prior: 95 % intervals cover in 95 %, within four standard errors."""
    rng, simulations, alpha = np.random.default_rng(0), 150, 0.5
    covered = []
    for _ in range(simulations):
        cells = rng.dirichlet(np.full(classes**2, alpha) + 3 * np.eye(classes).ravel())
        # The prior that the truth comes from.
        prior = bp.prior.dirichlet(alpha + 3 * np.eye(classes))
        rate = rng.beta(4, 76)
        error = np.full((classes, classes), rate / (classes - 1))
        np.fill_diagonal(error, 1 - rate)
        recorded = rng.multinomial(n, (error.T @ cells.reshape(classes, classes)).ravel())
        cm = bp.ConfusionMatrix.from_table(recorded.reshape(classes, classes))
        post = bp.labels.noise(cm, (4, 76), prior, draws=2000)
        low, high = post["accuracy"].eti().values
        lowest, highest = post.source.label_error.eti().values
        right = cells.reshape(classes, classes).trace()
        covered.append([low <= right <= high, lowest <= rate <= highest])
    expected = 4 * np.sqrt(0.95 * 0.05 / simulations)
    np.testing.assert_allclose(np.mean(covered, 0), 0.95, atol=expected)
