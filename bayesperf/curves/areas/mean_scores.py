"""Means of real values by the Bayesian bootstrap: of credit, and of the errors of predicted numbers.

Weights of the examples know only of values that were seen: by them, ten answers with full credit are certain. So in a
declared range one example more is at its ends, half at either: a Dirichlet process (Ferguson 1973, Annals of Statistics
1) of that base and weight. If all credit is 0 or 1, that is the posterior of right and wrong answers under Jeffreys'
prior.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.random_streams import stream, streams
from bayesperf.curves.areas.bootstrapped_areas import (
    OfWeights,
    Units,
    drawn_figures,
    units_of_clusters,
    units_of_examples,
)
from bayesperf.curves.scored_systems import (
    bootstrap_of,
    clusters_of_examples,
    marginal_of_scores,
    over_systems,
    systems_of,
)
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity

# The unseen example is spread over so many places; the last has what the others leave, a millionth on average.
_PLACES = 20


class MeanScore(NamedTuple):
    """A function of the mean of values, which are given or are errors of predicted numbers."""

    words: str
    greater_is_better: bool
    # From labels and predictions (n,) to the errors that are averaged, and from their mean to the score.
    errors: Callable[[Array, Array], Array] | None = None
    of_mean: Callable[[Array], Array] = np.asarray

    def ends(self, low: float, high: float) -> Array:
        """Return the smallest and largest possible value of what is averaged, by those of the given numbers."""
        return np.array([low, high] if self.errors is None else [0.0, self.errors(np.array(low), np.array(high))])


MEAN_SCORES = {
    "mean": MeanScore("mean", True),
    "mae": MeanScore("mean absolute error", False, lambda y, predicted: np.abs(predicted - y)),
    "rmse": MeanScore("root mean squared error", False, lambda y, predicted: (predicted - y) ** 2, np.sqrt),
}


def mean_score(
    name: str,
    y_true: Any,
    y_score: Any,
    bounds: tuple[float, float] | None,
    greater_is_better: bool | None,
    *,
    cluster: Any,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the posterior of a mean over the examples; see `bayesperf.curves.weighted_score`."""
    score = MEAN_SCORES[name]
    better = score.greater_is_better if greater_is_better is None else greater_is_better
    systems = systems_of(y_true if score.errors is None else y_score)
    leading = xr.DataArray(0.0) if systems is None else over_systems(systems)
    values = _values(score, _numbers(score, y_true, y_score, bounds))
    codes = clusters_of_examples(cluster, values.shape[1], "y_true")
    rng = np.random.default_rng(seed)
    one_class = np.zeros(values.shape[1], np.intp)
    units = units_of_examples(one_class, rng) if codes is None else units_of_clusters(codes, rng)
    figures = [_sums(each, units) for each in (values, np.ones((1, values.shape[1])))]
    sums, totals = drawn_figures(figures, units, draws, rng, progressbar)
    ends = np.array([0.0 if score.errors else -np.inf, np.inf]) if bounds is None else score.ends(*bounds)
    if bounds is not None:
        mass, upper = _unseen_weight(leading, values, draws, seed)
        mass *= 1 if codes is None else len(codes) / (1 + codes.max())
        sums, totals = sums + mass * (ends[0] + np.ptp(ends) * upper), totals + mass
    low, high = score.of_mean(ends).tolist()
    return marginal_of_scores(
        Quantity(name, greater_is_better=better, words=score.words, bounds=(low, high)),
        score.of_mean(np.clip(sums / totals, *ends)),
        seed,
        leading,
        inference=bootstrap_of(codes),
        examples=(values.shape[1],),
        score=leading.copy(data=score.of_mean(values.mean(1)).reshape(leading.shape)),
        joint=systems is not None,
    )


# ── What is averaged ──


def _numbers(score: MeanScore, y_true: Any, y_score: Any, bounds: tuple[float, float] | None) -> dict[str, Array]:
    """Return the given numbers (n,), checked, by what they are called: labels, if there are any, first."""
    if (score.errors is None) != (y_score is None):
        problem, advice = (
            ("has no predictions", "Give the credit of each example as y_true.")
            if score.errors is None
            else ("compares predictions with labels", "Give the predicted numbers.")
        )
        raise InputTypeError("y_score", f"the {score.words} {problem}.", advice)
    given = {"y_true": y_true} if y_score is None else {"y_true": y_true, "y_score": y_score}
    columns: dict[str, Any] = {}
    for name, of_name in given.items():
        systems = systems_of(of_name)
        columns |= {name: of_name} if systems is None else {f"{name}[{key!r}]": systems[key] for key in systems}
    numbers = {name: checks.vector(name, column) for name, column in columns.items()}
    checks.equal_lengths({name: len(column) for name, column in numbers.items()})
    for name, column in numbers.items():
        _check_within(name, column, (-np.inf, np.inf) if bounds is None else checked_bounds(bounds))
    return numbers


def _check_within(name: str, numbers: Array, bounds: tuple[float, float]) -> None:
    outside = numbers[~np.isfinite(numbers) | (numbers < bounds[0]) | (numbers > bounds[1])]
    if len(outside):
        where = f"within {list(bounds)}, the `bounds`" if np.isfinite(bounds).all() else "finite"
        raise InputError(name, f"must be {where}; it holds {outside[0]:g}.")


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return a declared range, the smallest and the largest value that may occur."""
    if isinstance(bounds, str | Mapping) or np.shape(bounds) != (2,):
        raise InputTypeError("bounds", f"must be the smallest and the largest possible value; it is {bounds!r}.")
    low, high = (checks.number("bounds", end) for end in bounds)
    if not -np.inf < low < high < np.inf:
        raise InputError("bounds", f"must be two finite numbers, the smaller first; it is {bounds!r}.")
    return low, high


def _values(score: MeanScore, numbers: Mapping[str, Array]) -> Array:
    """Return what is averaged, (S, n)."""
    first, *others = numbers.values()
    return np.stack([first, *others] if score.errors is None else [score.errors(first, each) for each in others])


# ── Its weighted sums ──


def _sums(values: Array, units: Units) -> OfWeights:
    """Return a function from weights of units to weighted sums of values (S, n)."""
    of_units = np.stack([np.bincount(units.of_examples, each, units.number) for each in values])
    return lambda weights, _: np.asarray(of_units @ weights)


def _unseen_weight(leading: xr.DataArray, values: Array, draws: int, seed: int) -> tuple[Array, Array]:
    """Return the weight of one example at the ends of the range (draws,), and the share at the upper one (S, draws).

    The example is spread over places, each of which is at either end of every system, by chance. So what systems have
    in common is their weight, and of two a quarter of it is where one has the upper end and the other the lower.
    """
    common = stream(seed, "unseen example", np.array([values.shape[1]]))
    shares = unseen_shares(common, draws)
    of_each = streams(seed, "ends of the unseen example", leading, values)
    upper = [(shares * rng.integers(0, 2, shares.shape)).sum(0) for rng in of_each]
    return common.standard_exponential(draws), np.stack(upper)


def unseen_shares(rng: np.random.Generator, draws: int) -> Array:
    """Return the shares of one unseen example that each of several places has, (places, draws), by stick-breaking."""
    broken = rng.random((_PLACES, draws))
    broken[-1] = 1
    return np.asarray(broken * np.cumprod(np.concatenate([np.ones((1, draws)), 1 - broken[:-1]]), 0))
