"""Score functions by name: their values under many sets of weights of the examples at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import PACKAGE, InputError
from bayesperf.metrics.registry import applicable

# From weights of the examples (draws, n) to values of the score (draws,).
Weighted = Callable[[Array], Array]
Bounds = tuple[float, float]
PROBABILISTIC = "probabilistic_"
# With fewer positives the average precision is warned of.
ENOUGH_POSITIVES = 20
# Newton's method ends with a step shorter than this; it takes at most this many steps.
_SHORT_STEP, _MOST_STEPS = 1e-9, 200


class ScoreFunction(NamedTuple):
    """A score of given examples under any weights, its bounds, and whether greater is better (None: neither)."""

    weighted: Weighted
    bounds: Bounds
    greater_is_better: bool | None


def score_function_named(name: str, y: Array, score: Array) -> ScoreFunction:
    """Return the score function of a name for labels (1 is positive) and scores (n,)."""
    if isinstance(name, str) and name.startswith(PROBABILISTIC):
        return _probabilistic(name.removeprefix(PROBABILISTIC), y, score)
    if name not in SCORE_FUNCTIONS:
        raise InputError(
            "score_function",
            f"must be one of {', '.join(map(repr, SCORE_FUNCTIONS))}, {PROBABILISTIC!r} and a "
            f"binary metric, or a function; it is {name!r}.",
        )
    make, bounds, greater_is_better = SCORE_FUNCTIONS[name]
    return ScoreFunction(make(y, score), bounds, greater_is_better)


def _mean_of(values: Array) -> Weighted:
    return lambda weights: np.asarray(weights @ values / weights.sum(1))


def _calibration_in_the_large(y: Array, score: Array) -> Weighted:
    return _mean_of(y - checks.probabilities("y_score", score))


def _brier(y: Array, score: Array) -> Weighted:
    return _mean_of((checks.probabilities("y_score", score) - y) ** 2)


def _log_loss(y: Array, score: Array) -> Weighted:
    happened = np.where(y == 1, checks.probabilities("y_score", score), 1 - score)
    if impossible := int((happened == 0).sum()):
        raise InputError(
            "y_score",
            f"{impossible} example{'s' * (impossible > 1)} had a probability of 0 for what "
            "happened, so the log loss is infinite.",
            "Clip them, as np.clip(y_score, 1e-6, 1 - 1e-6): the loss depends on where.",
        )
    return _mean_of(-np.log(happened))


def _average_precision(y: Array, score: Array) -> Weighted:
    """Return the mean over the positives of the precision at each, where every example is passed in the middle.

    At a score half the weight of the last example there is called positive, of either class; from one negative's score
    to the next (and beyond the first and the last) the weight of negatives called grows evenly over the scores of
    positives in between. So a positive that no negative is above has some weight above it, as in the population.
    Without smoothing, which is scikit-learn's sum of steps, its precision is 1, and five positives among 95 negatives
    by scores without skill have .10 on average, not .05.
    """
    positive, negative = (np.flatnonzero(y == label)[np.argsort(-score[y == label], kind="stable")] for label in (1, 0))
    scores, of_positive = np.unique(-score[positive], return_inverse=True)
    last = np.searchsorted(-score[positive], scores, side="right")
    below, part = _places(scores, -score[negative])

    def weighted(weights: Array) -> Array:
        tp = _to_the_middle(weights[:, positive])[:, last]
        passed = _to_the_middle(weights[:, negative])
        low, high = passed[:, below], passed[:, below + 1]
        precision = tp / (tp + low + part * (high - low))
        own = weights[:, positive]
        return np.asarray((own * precision[:, of_positive]).sum(1) / own.sum(1))

    return weighted


def warn_of_few_positives(count: int) -> None:
    """Warn of an average precision by few positives."""
    if count < ENOUGH_POSITIVES:
        warnings.warn(
            f"y_score: there {'is 1 positive' if count == 1 else f'are {count} positives'}, and by fewer than "
            f"{ENOUGH_POSITIVES} the average precision is hardly known: its mean may be far off, and its 95 % "
            "intervals cover in as few as 90 % of data sets.",
            skip_file_prefixes=(PACKAGE,),
        )


def _to_the_middle(weights: Array) -> Array:
    """Return the sums of weights (draws, n) up to the middle of each, between 0 and the sum of all, (draws, n + 2)."""
    sums = np.zeros((len(weights), weights.shape[1] + 2))
    np.cumsum(weights, 1, out=sums[:, 1:-1])
    sums[:, -1] = sums[:, -2]
    sums[:, 1:-1] -= weights / 2
    return sums


def _places(values: Array, others: Array) -> tuple[Codes, Array]:
    """Return how many others are up to each of distinct values, both rising, and the part of the way to the next.

    Values between the same two others divide the way evenly; one that ties with others is at the last of them.
    """
    up_to = np.searchsorted(others, values, side="right")
    between = np.searchsorted(others, values, side="left") == up_to
    part = np.zeros(len(values))
    _, first, way, count = np.unique(up_to[between], return_index=True, return_inverse=True, return_counts=True)
    part[between] = (np.arange(between.sum()) - first[way] + 0.5) / count[way]
    return up_to, part


def _calibration_slope(y: Array, score: Array) -> Weighted:
    """Return β of the logistic regression P(y = 1) = 1/(1 + exp(−α − β log-odds))."""
    checks.probabilities("y_score", score)
    checks.none_certain("y_score", int(((score == 0) | (score == 1)).sum()))
    log_odds = special.logit(score)
    positive, negative = log_odds[y == 1], log_odds[y == 0]
    if positive.min() >= negative.max() or negative.min() >= positive.max():
        raise InputError(
            "y_score",
            "the probabilities separate the classes, or are all the same, so there is no finite calibration slope.",
        )
    unit = log_odds.std()
    x = (log_odds - log_odds.mean()) / unit
    start = _logistic(np.ones((1, len(y))), x, y, np.zeros((1, 2)))
    return lambda weights: _logistic(weights, x, y, start)[:, 1] / unit


def _logistic(weights: Array, x: Array, y: Array, start: Array) -> Array:
    """Return intercept and slope (draws, 2) of weighted logistic regression: Newton steps, halved if they overshoot."""
    best = np.tile(start, (len(weights), 1))
    step, least = np.zeros_like(best), np.full(len(weights), np.inf)
    for _ in range(_MOST_STEPS):
        coefficients = best + step
        linear = coefficients[:, :1] + coefficients[:, 1:] * x
        loss = (weights * (np.logaddexp(0, linear) - y * linear)).sum(1)
        # By more than rounding errors, which are all that changes the loss near its minimum.
        overshot = (loss > least * (1 + 1e-9))[:, None]
        best, least = np.where(overshot, best, coefficients), np.minimum(loss, least)
        probability = special.expit(linear)
        residual, variance = weights * (y - probability), weights * probability * (1 - probability)
        gradient = residual.sum(1), residual @ x
        a, b, c = variance.sum(1), variance @ x, variance @ x**2
        newton = np.stack([c * gradient[0] - b * gradient[1], a * gradient[1] - b * gradient[0]], 1)
        step = np.where(overshot, step / 2, newton / (a * c - b**2)[:, None])
        if np.abs(step).max() < _SHORT_STEP:
            return best + step
    raise InputError(
        "y_score", "the probabilities all but separate the classes: the calibration slope does not settle."
    )


def _probabilistic(name: str, y: Array, score: Array) -> ScoreFunction:
    """Return a binary metric of cells that are sums of probabilities instead of counts."""
    metric = applicable(name, [0, 1], 1)
    if metric.average is not None:
        raise InputError("score_function", f"{PROBABILISTIC}{name} is an average over classes; name the binary metric.")
    called = np.stack([1 - checks.probabilities("y_score", score), score], 1)
    # (n, actual, predicted)
    cells = np.stack([1 - y, y], 1)[:, :, None] * called[:, None, :]
    return ScoreFunction(
        lambda weights: metric.evaluate(np.tensordot(weights, cells, 1), 1), metric.bounds, metric.greater_is_better
    )


# From labels and scores to a function of weights; bounds; and whether greater is better.
SCORE_FUNCTIONS: dict[str, tuple[Callable[[Array, Array], Weighted], Bounds, bool | None]] = {
    "brier": (_brier, (0.0, 1.0), False),
    "log_loss": (_log_loss, (0.0, np.inf), False),
    "calibration_in_the_large": (_calibration_in_the_large, (-1.0, 1.0), None),
    "average_precision": (_average_precision, (0.0, 1.0), True),
    "calibration_slope": (_calibration_slope, (-np.inf, np.inf), None),
}
