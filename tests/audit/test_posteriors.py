"""Posteriors of every metric against a million draws of the rates, by formulas in rates instead of cells."""

import numpy as np
import pytest

import bayesperf as bp
from bayesperf import metrics
from tests.shared.metrics import AVERAGES, BINARY_NAMES
from tests.shared.rates import of_two_classes, rates

pytestmark = pytest.mark.slow

N = 200_000
LEVELS = np.array([0.01, 0.025, 0.25, 0.5, 0.75, 0.975, 0.99])
# Standard errors that a figure may be away: of some ten thousand figures none is expected to be farther.
FAR = 4.9


def agrees(marginal, values, what):
    """Compare a marginal's figures with those of draws (n,) or (n, K), to within the standard errors of both."""
    values = values.reshape(len(values), -1).T
    own = marginal.distribution.values[0].size if marginal.method == "draws" else np.inf
    # Relative to the standard error of N draws.
    error = FAR * np.sqrt(1 / values.shape[1] + 1 / own)
    mean, sd, ppf, hdi = (
        figure.values.reshape(len(values), -1)
        for figure in (marginal.mean(), marginal.sd(), marginal.ppf(LEVELS), marginal.hdi(0.9))
    )
    above = marginal.prob_above(ppf.mean(0)[2]).values.reshape(-1)
    for i, x in enumerate(values):
        if np.isfinite(sd[i, 0]):
            assert mean[i, 0] == pytest.approx(x.mean(), abs=error * x.std()), what
        if np.isfinite(marginal.bounds).all():
            square = (x - x.mean()) ** 2
            assert sd[i, 0] == pytest.approx(x.std(), abs=error * square.std() / (2 * x.std())), what
        below = (x[:, None] <= ppf[i]).mean(0)
        np.testing.assert_array_less(np.abs(below - LEVELS), error * np.sqrt(LEVELS * (1 - LEVELS)), what)
        assert ((x >= hdi[i, 0]) & (x <= hdi[i, 1])).mean() == pytest.approx(0.9, abs=error * 0.3 + 0.5 / own), what
        assert above[i] == pytest.approx((x > ppf.mean(0)[2]).mean(), abs=error * 0.5), what


def gamma_cells(counts, seed):
    """Return N Dirichlet draws as Gamma variables divided by their sum, with cells first."""
    cells = np.random.default_rng(seed).standard_gamma(np.asarray(counts), (N, np.size(counts))).T
    return cells / cells.sum(0)


# tp, fn, fp, tn; a prior by its name and what it adds to them.
CASES = {
    "few": ((4, 1, 2, 5), "flat", (1, 1, 1, 1)),
    "rare": ((3, 5, 12, 180), "jeffreys", (0.5, 0.5, 0.5, 0.5)),
    "perfect": ((12, 0, 0, 20), "perks", (0.25, 0.25, 0.25, 0.25)),
    "informed": ((20, 6, 9, 15), bp.prior.dirichlet([[6, 2], [1, 3]]), (3, 1, 2, 6)),
}


@pytest.mark.parametrize("case", CASES)
def test_two_classes(case):
    counts, prior, added = CASES[case]
    cm = bp.ConfusionMatrix.from_counts(**dict(zip(("tp", "fn", "fp", "tn"), counts, strict=True)))
    post = bp.posterior(cm, prior)
    expected = of_two_classes(*gamma_cells(np.add(counts, added), 1))
    assert set(expected) >= {*metrics.names(), "f2", "f0.5"} - {
        "off_by_one",
        *metrics.names("outcomes"),
        *metrics.names("scores"),
    }
    for name, values in expected.items():
        agrees(post[name], values, name)
    wanted = {"recall": 0.7, "fpr": 0.3, "precision": 0.5}
    met = (expected["recall"] >= 0.7) & (expected["fpr"] <= 0.3) & (expected["precision"] >= 0.5)
    found = post.prob_joint(wanted)
    assert found.item() == pytest.approx(met.mean(), abs=FAR * np.hypot(found.attrs["mcse"], 0.5 / np.sqrt(N)))


@pytest.mark.parametrize(("design", "prevalence"), [("joint", (3, 11)), ("by_actual", 0.03), ("by_actual", (3, 11))])
def test_two_classes_at_another_prevalence(design, prevalence):
    cm = bp.ConfusionMatrix.from_counts(tp=18, fn=4, fp=7, tn=40)
    post = bp.posterior(cm, "jeffreys", design=design).at_prevalence(prevalence)
    tp, fn, fp, tn = gamma_cells([18.5, 4.5, 7.5, 40.5], 2)
    share = prevalence if np.ndim(prevalence) == 0 else np.random.default_rng(3).beta(*prevalence, N)
    on_positive, on_negative = share / (tp + fn), (1 - share) / (fp + tn)
    expected = of_two_classes(tp * on_positive, fn * on_positive, fp * on_negative, tn * on_negative)
    if np.ndim(prevalence) == 0:
        del expected["prevalence"]
    for name, values in expected.items():
        agrees(post[name], values, name)


# ── Three classes ──

THREE = np.array([[9, 2, 0], [1, 14, 4], [3, 0, 6]])


def of_three_classes(cells):
    """Return all metrics of draws (n, 3, 3): of the whole matrix from moments, and averages of one against the rest."""
    actual, predicted, right = cells.sum(2), cells.sum(1), np.einsum("nii->ni", cells)
    covariance, spread = right - actual * predicted, actual * (1 - actual)
    place = np.arange(3)
    first, second = actual @ place, predicted @ place
    variances = actual @ place**2 - first**2 + predicted @ place**2 - second**2
    squared = np.einsum("nij,ij->n", cells, (place - place[:, None]) ** 2)
    chance = (actual * predicted).sum(1)
    steps = np.abs(np.subtract.outer(range(3), range(3)))
    found = {
        "accuracy": right.sum(1),
        "error_rate": 1 - right.sum(1),
        "balanced_accuracy": (right / actual).mean(1),
        "matthews_corrcoef": covariance.sum(1) / np.sqrt(spread.sum(1) * (predicted * (1 - predicted)).sum(1)),
        "cohen_kappa": 1 - (1 - right.sum(1)) / (1 - chance),
        "linear_weighted_kappa": 1 - (cells * steps).sum((1, 2)) / ((actual @ steps) * predicted).sum(1),
        "weighted_kappa": 1 - squared / (variances + (first - second) ** 2),
        "mean_absolute_error": np.einsum("nij,ij->n", cells, abs(place - place[:, None])),
        "off_by_one": 1 - cells[:, 0, 2] - cells[:, 2, 0],
    }
    one_against_rest = right, actual - right, predicted - right, 1 - actual - predicted + right
    # In micro averages the cells of all classes sum to 1, as those of each class do.
    averaged = rates(*(cell.mean(1) for cell in one_against_rest))
    for name, values in rates(*one_against_rest).items():
        found[f"{name}_per_class"] = values
        found[f"{name}_macro"] = values.mean(1)
        found[f"{name}_weighted"] = (values * actual).sum(1)
        found[f"{name}_micro"] = averaged[name]
    found["f1_of_averages"] = 2 / (1 / found["precision_macro"] + 1 / found["recall_macro"])
    return found


@pytest.mark.parametrize("prevalence", [None, (0.2, 0.3, 0.5)])
def test_three_classes(prevalence):
    draws, alpha = 150_000, np.array([[2, 0.5, 0.3], [1, 3, 0.4], [0.5, 0.6, 1]])
    cells = np.random.default_rng(4).standard_gamma(THREE + alpha, (draws, 3, 3))
    weights = cells.sum((1, 2), keepdims=True) if prevalence is None else cells.sum(2, keepdims=True)
    cells /= weights if prevalence is None else weights / np.reshape(prevalence, (3, 1))
    post = bp.posterior(bp.ConfusionMatrix.from_table(THREE), bp.prior.dirichlet(alpha), draws=draws)
    post = post if prevalence is None else post.at_prevalence(prevalence)
    expected = of_three_classes(cells)
    everything = {*metrics.names("classes"), *metrics.names("ordered")}
    everything |= {f"{name}_{average}" for name in BINARY_NAMES for average in AVERAGES}
    assert set(expected) == everything
    # The mean prevalence of three classes is a third; a fixed prevalence has no distribution.
    constant = {f"prevalence_{average}" for average in (("macro", "micro") if prevalence is None else AVERAGES)}
    # As many examples are called any class as there are.
    constant |= {"selection_rate_macro", "selection_rate_micro"}
    names = [name for name in expected if name not in constant]
    for name, marginal in zip(names, post.several(names), strict=True):
        agrees(marginal, expected[name], name)
