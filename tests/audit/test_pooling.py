"""Pooled groups by brute force: parameters drawn from a grid of the posterior, and metrics of what follows."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from tests.shared.rates import of_two_classes

N, OURS = 100_000, 25_000
LEVELS = np.array([0.025, 0.25, 0.5, 0.75, 0.975])
# Standard errors that a figure may be away: none of some five hundred is expected to be farther.
FAR = 4.5
TP, FN, FP, TN = (np.array(cells) for cells in ([18, 9, 30, 4], [2, 6, 5, 3], [4, 1, 6, 5], [16, 30, 20, 40]))


class Drawn:
    """Draws of the shares of successes in groups, from a fine grid of their mean and dispersion."""

    def __init__(self, successes, failures, mean, dispersion, power, rng):
        self.successes, self.failures, self.rng = successes, failures, rng
        p, rho = (np.arange(500) + 0.5) / 500, stats.beta(*dispersion).ppf((np.arange(300) + 0.5) / 300)
        kappa = 1 / rho - 1
        log = stats.beta(*mean).logpdf(p)[:, None] + np.zeros(300)
        for k, rest in zip(successes, failures, strict=True):
            log += power * stats.betabinom.logpmf(k, k + rest, np.outer(p, kappa), np.outer(1 - p, kappa))
        weight = np.exp(log - log.max()).ravel()
        at, of_rho = np.divmod(rng.choice(weight.size, N, p=weight / weight.sum()), 300)
        self.mean, self.kappa = p[at] + (rng.random(N) - 0.5) / 500, kappa[of_rho]

    def group(self, i):
        a, b = self.kappa * self.mean + self.successes[i], self.kappa * (1 - self.mean) + self.failures[i]
        return np.clip(self.rng.beta(a, b), 1e-12, 1 - 1e-12)

    @property
    def new_group(self):
        share = self.rng.beta(self.kappa * self.mean, self.kappa * (1 - self.mean))
        return np.clip(share, 1e-12, 1 - 1e-12)


def brute_force(kind, repeats, rng):
    """Return draws of recall, specificity and prevalence of the mean, of group 0 and 3, and of a new one."""
    dispersion = {"random": (1, 24), "clusters": (1, 9)}[kind]
    recall, specificity = (Drawn(*row, (1, 1), dispersion, 1 / repeats, rng) for row in ((TP, FN), (TN, FP)))
    rows = recall, specificity
    if kind == "clusters":
        rows += (Drawn(TP + FN, FP + TN, (1, 1), (1, 3), 1 / repeats, rng),)
    answers = {
        "mean": [row.mean for row in rows],
        **{group: [row.group(group) for row in rows] for group in (0, 3)},
        "new": [row.new_group for row in rows],
    }
    if kind == "random":
        share = rng.beta(1 + (TP + FN).sum() / repeats, 1 + (FP + TN).sum() / repeats, N)
        answers = {name: [*drawn, share] for name, drawn in answers.items()}
    return answers


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "repeats"), [("random", 2), ("clusters", 1), ("clusters", 2)])
def test_every_answer(kind, repeats):
    site = {"site": np.arange(4)}
    cm = bp.ConfusionMatrix.from_counts(
        **{name: xr.DataArray(n, site, "site") for name, n in {"tp": TP, "fn": FN, "fp": FP, "tn": TN}.items()}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.errors.PriorWarning)
        pooled = bp.pool(cm, "site", kind, repeats, draws=OURS)
    error = FAR * np.hypot(1 / np.sqrt(N), 1 / np.sqrt(OURS))
    for name, (r, s, prevalence) in brute_force(kind, repeats, np.random.default_rng(7)).items():
        rest = 1 - prevalence
        expected = of_two_classes(prevalence * r, prevalence * (1 - r), rest * (1 - s), rest * s)
        answer = {"mean": pooled.mean, "new": pooled.new_group}.get(name, pooled.by_group)
        for metric in ("recall", "specificity", "prevalence", "precision", "f1", "accuracy", "matthews_corrcoef"):
            marginal, x = answer[metric], expected[metric]
            mean, limits = marginal.mean(), marginal.ppf(LEVELS)
            if answer is pooled.by_group:
                mean, limits = mean.sel(site=name), limits.sel(site=name)
            assert mean.item() == pytest.approx(x.mean(), abs=error * x.std() + 1e-5), (name, metric)
            below = (x[:, None] <= limits.values).mean(0)
            np.testing.assert_array_less(
                np.abs(below - LEVELS), error * np.sqrt(LEVELS * (1 - LEVELS)), f"{name} {metric}"
            )
