"""How common classes, or strata, are, from a source other than the data: fixed, or with a distribution of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.data.label_encoding import missing_positive_label

# Why a metric is not available, after its name.
UNKNOWN_PREVALENCE = (
    "depends on prevalence, about which these data say nothing (design by_actual: somebody chose how many examples of "
    "each class to test). State it: posterior.at_prevalence(p)[...]."
)


@dataclass(frozen=True)
class Prevalence(Held):
    """The prevalence of each class, or stratum, from another source: fixed values, or a Dirichlet distribution."""

    weights: Array
    fixed: bool

    @property
    def mean(self) -> Array:
        """Expected prevalence of each class, (K,)."""
        return np.asarray(self.weights / self.weights.sum())

    @property
    def covariance(self) -> Array:
        """Covariance of the prevalences, (K, K): zeros if they are fixed."""
        share, n = self.mean, self.weights.sum()
        return np.zeros((len(share),) * 2) if self.fixed else (np.diag(share) - np.outer(share, share)) / (n + 1)

    def in_words(self, positive: int) -> str:
        """Return the prevalence of the positive one of two classes, by its position, in words."""
        if self.fixed:
            return f"prevalence {self.mean[positive]:g}"
        return f"prevalence ~ Beta({self.weights[positive]:g}, {self.weights[1 - positive]:g})"

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Return draws of the prevalences, (n, K)."""
        return np.tile(self.mean, (n, 1)) if self.fixed else rng.dirichlet(self.weights, n)


def parse_prevalence(p: Any, labels: list[Any], positive: int | None) -> Prevalence:
    """Convert a user's prevalence into fixed values, or Dirichlet weights, in the order of the labels."""
    of_positive = isinstance(p, int | float | np.number)
    of_beta = isinstance(p, tuple) and len(p) == 2
    if len(labels) == 2 and (of_positive or of_beta):
        if positive is None:
            raise missing_positive_label(labels)
        share = _shares(p) if of_beta else np.array([checks.probability("p", p), 1 - p])
        return Prevalence(share if positive == 0 else share[::-1], fixed=of_positive)
    if isinstance(p, Mapping):
        if set(p) != set(labels):
            raise InputError("p", f"give a share for each of the labels {labels}; it has {list(p)}.")
        p = [p[label] for label in labels]
    shares = _shares(p)
    if shares.shape != (len(labels),) or not np.isclose(shares.sum(), 1, rtol=0, atol=1e-9):
        raise InputError("p", f"give {len(labels)} shares, one a label, summing to 1; they are {shares.tolist()}.")
    return Prevalence(shares, fixed=True)


def _shares(p: Any) -> Array:
    try:
        shares = np.asarray(p, dtype=float)
    except (TypeError, ValueError):
        shares = np.array(np.nan)
    if not (np.isfinite(shares) & (shares > 0)).all():
        raise InputError("p", f"give a share of positives, (a, b) of a Beta, or shares above 0; it is {p!r}.")
    return shares
