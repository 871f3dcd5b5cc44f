"""The posterior of any score that takes weights, by the Bayesian bootstrap: a score with a name, or a function.

In a sample, a positive with no negative above it has a precision of 1, whatever proportion of negatives would be above
it in the population. So the Bayesian bootstrap of scikit-learn's sum of steps is biased upward if positives are few.
"average_precision" evaluates every example at the middle of its weight, and lets the weight grow evenly between two
negatives; with many examples this is the same.

Weights of the examples know only of errors that were seen: by them, ten sharp probabilities that all came true are
certain to do so. So "brier" and "calibration_in_the_large" have one example more, with any of the probabilities and, by
half, either label: a Dirichlet process (Ferguson 1973, Annals of Statistics 1) of that base and weight. If all
probabilities are the same, that is the posterior of their frequency under Jeffreys' prior. So is that of a mean of
credit with `bounds` if all credit is 0 or 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError, warn
from bayesperf.core.random_streams import stream, streams
from bayesperf.core.weights import unit_size, weight_blocks
from bayesperf.core.words import metric_title
from bayesperf.curves.areas.bootstrapped_areas import OfWeights, Units, drawn_figures, units_of
from bayesperf.curves.roc.called_positive import places_among_equals
from bayesperf.curves.scored_systems import (
    bootstrap_of,
    clusters_of_examples,
    have_names,
    marginal_of_scores,
    over_systems,
    systems_of,
)
from bayesperf.data.binned_scores import BinnedScores, scores_of
from bayesperf.data.classifier_scores import labelled_scores
from bayesperf.data.label_encoding import encode
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity

__all__ = ["weighted_score"]

# From weights of the examples (draws, n) to values of the score (draws,).
Weighted = Callable[[Array], Array]
Bounds = tuple[float, float]
PROBABILISTIC = "probabilistic_"
# Scores with an unseen example.
WITH_UNSEEN = ("brier", "calibration_in_the_large")
# The unseen example is spread over so many places; the last has what the others leave, a millionth on average.
_PLACES = 20
# With fewer positives the average precision is warned of.
ENOUGH_POSITIVES = 20
# Newton's method ends with a step shorter than this; it takes at most this many steps.
_SHORT_STEP, _MOST_STEPS = 1e-9, 200


@checked
def weighted_score(
    score_function: str | Callable[..., float],
    y_true: Any,
    y_score: Any = None,
    *,
    per_class: bool = False,
    bounds: tuple[float, float] | None = None,
    greater_is_better: bool | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Marginal:
    """Return the posterior of a score that takes weights, by the Bayesian bootstrap: weights ~ Dirichlet(1).

    Parameters
    ----------
    score_function : str or callable
        For real values: "mean" (of credit, or of any score or loss of each example), "mae" and "rmse" (the mean
        absolute and the root mean squared error of predicted numbers). For two classes: "brier" (the mean of (p − y)²),
        "log_loss", "average_precision" (smoothed: see the module), "calibration_in_the_large" (the mean of y − p),
        "calibration_slope" (from a logistic regression of the labels on the log-odds; 1 is calibrated, less is
        overconfident), or ``probabilistic_`` before any binary metric: "probabilistic_precision", "…_recall", "…_f1"
        use sums of probabilities instead of counts (Yacouby & Axman 2020). Otherwise a function ``(y_true, y_score,
        sample_weight=w)``, like those in `sklearn.metrics`, which is slower.
    y_true : array-like (n,), BinnedScores, mapping or data frame
        Labels; for "mean" the values, or a mapping of systems to their values. For "average_precision" binned scores
        may replace labels and scores.
    y_score : array-like (n,), mapping or data frame
        Probabilities of the positive class; for "mae" and "rmse" predicted numbers; for "average_precision" any scores;
        for a function whatever it takes, a row for each example. A mapping (or data frame) of systems has the scores of
        all of them on the same examples, which share one set of weights.
    per_class : bool
        Whether the weights are Dirichlet(1) within each class, which then keeps its proportion: for a test set with
        chosen numbers of each class.
    bounds : tuple of two floats, optional
        For "mean", "mae" and "rmse": the smallest and largest number that could occur, as ``(0, 1)``. One more example
        is then at the ends of the range, half at either. Without it, intervals ignore rare values that did not occur.
    greater_is_better : bool, optional
        Direction of a function, or of "mean", where True is the default. (Other named scores have their own.)
    pos_label, cluster, draws, random_seed, progressbar
        As in `bayesperf.roc_auc`. The same seed gives the same weights to equally many examples: for other examples use
        another seed if you subtract draws yourself (`compare` does).

    Returns
    -------
    Marginal
        A marginal over ``model`` for a mapping of systems, for `compare`. "brier" and "calibration_in_the_large" have
        an unseen example (see the module). With ``bounds``, "mean" has an interval of positive width even if all values
        are at one end. For values of 0 and 1 it is the Beta posterior of `Outcomes`, and differences of systems are
        those of joint outcomes. docs/coverage.md shows how often intervals cover.

    Raises
    ------
    TypeError, ValueError
        If there is no such score, a function takes no weights, probabilities are outside [0, 1] or give an infinite
        score, or the score needs what bins hide.

    Warns
    -----
    UserWarning
        If "average_precision" has fewer than 20 positives.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, probability = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7]
    >>> bp.curves.weighted_score("brier", y_true, probability).eti().values.round(2)
    array([0.11, 0.32])
    >>> credit = {"new": [1, 0.5, 1, 0.8, 1], "old": [0.9, 0.5, 0.7, 0.2, 1]}
    >>> bp.curves.weighted_score("mean", credit, bounds=(0, 1)).mean().values.round(2)
    array([0.8 , 0.64])
    """
    if greater_is_better is not None and not callable(score_function) and score_function != "mean":
        raise InputError(
            "greater_is_better", f"applies to a function only; {score_function!r} has its own.", "Leave it out."
        )
    seed, draws = checks.seed(random_seed), checks.count("draws", draws, least=2)
    options: dict[str, Any] = {"cluster": cluster, "draws": draws, "seed": seed, "progressbar": progressbar}
    if isinstance(score_function, str) and score_function in MEAN_SCORES:
        _refuse_classes(score_function, per_class, pos_label)
        return mean_score(score_function, y_true, y_score, bounds, greater_is_better, **options)
    checks.none_given(f"apply to {', '.join(map(repr, MEAN_SCORES))} only.", bounds=bounds)
    return _score_of_classes(score_function, y_true, y_score, greater_is_better, per_class, pos_label, **options)


def _score_of_classes(
    score_function: str | Callable[..., float],
    y_true: Any,
    y_score: Any,
    greater_is_better: bool | None,
    per_class: bool,
    pos_label: Any,
    *,
    cluster: Any,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the posterior of a score of labels and scores, or of a function; see `weighted_score`."""
    sizes = None
    if y_score is None:
        checks.none_given("bins do not tell the examples of a cluster.", cluster=cluster)
        y_true, y_score, sizes = _examples_of_bins(score_function, y_true, pos_label)
    systems = systems_of(y_score)
    given = list(systems.values())
    if callable(score_function):
        scores = [_function_score(score_function, y_true, each, pos_label, greater_is_better) for each in given]
        totals: tuple[int, ...] = (len(y_true),)
    else:
        scores, totals = _named_score(score_function, y_true, given, pos_label, sizes)
    sizes = np.ones(len(y_true), np.int64) if sizes is None else sizes
    codes = clusters_of_examples(cluster, len(sizes), "y_score")
    classes = encode(y_true, "y_true").codes if per_class else np.zeros(len(sizes), np.intp)
    weights = weight_blocks(np.random.default_rng(seed), sizes, draws, progressbar, codes, callable(score_function))
    if score_function in WITH_UNSEEN:
        weights = with_unseen(weights, sizes, draws, stream(seed, "unseen example", sizes), unit_size(codes))
        classes = np.concatenate([classes, classes.max() - classes])
        sizes = np.concatenate([sizes, np.zeros_like(sizes)])
    blocks = [
        [score.weighted(within) for score in scores]
        for block in weights
        for within in [_class_weights(block, classes, sizes)]
    ]
    return marginal_of_scores(
        scores[0].quantity,
        np.concatenate(blocks, axis=1),
        seed,
        over_systems(systems),
        inference=bootstrap_of(codes),
        examples=totals,
        joint=have_names(systems),
    )


def _refuse_classes(name: str, per_class: bool, pos_label: Any) -> None:
    """Refuse what is of classes for a score of real values."""
    for argument, given in {"per_class": per_class, "pos_label": pos_label is not None}.items():
        if given:
            raise InputError(argument, f"{name!r} is of real values, which have no classes.", f"Remove `{argument}`.")


class ScoreFunction(NamedTuple):
    """A score for given examples under any weights."""

    # Its name, its bounds, and whether greater is better (None: neither, or unknown).
    name: str
    bounds: Bounds
    greater_is_better: bool | None
    weighted: Weighted

    @property
    def quantity(self) -> Quantity:
        """The quantity of the score."""
        return Quantity(
            self.name, greater_is_better=self.greater_is_better, words=metric_title(self.name), bounds=self.bounds
        )


def _named_score(
    name: str, y_true: Any, y_scores: Sequence[Any], pos_label: Any, sizes: Counts | None
) -> tuple[list[ScoreFunction], tuple[int, int]]:
    """Return the score of a name of each system, and how many examples of either class there are.

    Each label and score stands for as many examples as `sizes` says, by default for one.
    """
    scores = []
    for of_system in y_scores:
        positive, score = labelled_scores(y_true, of_system, pos_label)
        y = positive.astype(float)
        scores.append(score_function_named(name, *(with_both_labels(y, score) if name in WITH_UNSEEN else (y, score))))
    sizes = np.ones(len(positive), np.int64) if sizes is None else sizes
    totals = int(sizes[~positive].sum()), int(sizes[positive].sum())
    if name == "average_precision":
        warn_of_few_positives(totals[1])
    return scores, totals


def _function_score(
    function: Callable[..., float], y_true: Any, y_score: Any, pos_label: Any, greater_is_better: bool | None
) -> ScoreFunction:
    """Return the score that a user's function computes."""
    name = getattr(getattr(function, "func", function), "__name__", type(function).__name__)
    if pos_label is not None:
        raise InputTypeError(
            "pos_label", "a function knows its own; bind it, as functools.partial(function, pos_label=...)."
        )
    parameters = inspect.signature(function).parameters
    if not any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters.values()):
        raise InputTypeError("score_function", f"{name} takes no sample_weight, so it cannot be weighted.")
    if len(y_true) != len(y_score):
        checks.equal_lengths({"y_true": len(y_true), "y_score": len(y_score)})

    def weighted(weights: Array) -> Array:
        values = [function(y_true, y_score, sample_weight=row) for row in weights]
        if np.ndim(values[0]):
            raise InputTypeError(
                "score_function", f"{name} must return a number; it returned shape {np.shape(values[0])}."
            )
        return np.array(values, float)

    return ScoreFunction(name, (-np.inf, np.inf), greater_is_better, weighted)


def _examples_of_bins(score_function: Any, binned: Any, pos_label: Any) -> tuple[NDArray[np.bool_], Array, Counts]:
    """Return labels and scores of the first example of each class in a bin, the last, and those between, by number.

    Average precision asks for no other sums of weights within a bin: what is passed at a score is passed to the middle
    of the last example there, and at one between bins to the middle of the first example of the next.
    """
    scores = scores_of(binned, None, pos_label)
    assert isinstance(scores, BinnedScores)
    if score_function != "average_precision":
        raise InputError("score_function", f"binned scores have 'average_precision' alone; it is {score_function!r}.")
    # Of the first, between and of the last; by class; by bin.
    sizes = np.stack([scores.counts > 0, np.maximum(scores.counts - 2, 0), scores.counts > 1]).astype(np.int64)
    _, of_class, place = np.nonzero(sizes)
    return of_class == 0, scores.thresholds[::-1][place], sizes[sizes > 0]


def _class_weights(weights: Array, classes: NDArray[np.intp], sizes: Counts) -> Array:
    """Return weights (draws, n) with a mean of 1 an example in each class."""
    member = np.eye(classes.max() + 1)[classes]
    mean = weights @ (member / (sizes @ member))
    return weights / (mean if mean.shape[1] == 1 else mean[:, classes])


# ── The unseen example ──


def with_both_labels(y: Array, score: Array) -> tuple[Array, Array]:
    """Return labels and scores (2 n,) of the examples (n,), and of others with the same scores and the other label."""
    return np.concatenate([y, 1 - y]), np.tile(score, 2)


def with_unseen(
    blocks: Iterable[Array], sizes: Counts, draws: int, rng: np.random.Generator, of_unit: float = 1
) -> Iterator[Array]:
    """Yield weights (some draws, 2 n) of the examples (n,), and of others with the other label, with an unseen example.

    Its weight is `of_unit` on average, spread over places at random, each with one of the scores and one of the labels.
    """
    own = of_unit * rng.standard_exponential(draws) * unseen_shares(rng, draws)
    up_to = np.cumsum(sizes)
    place = np.searchsorted(up_to, up_to[-1] * rng.random(own.shape), side="right")
    place += len(sizes) * rng.integers(0, 2, own.shape)
    start = 0
    for weights in blocks:
        some, both = np.arange(len(weights)), np.concatenate([weights, np.zeros_like(weights)], 1)
        np.add.at(both, (some, place[:, start + some]), own[:, start + some])
        start += len(weights)
        yield both


def unseen_shares(rng: np.random.Generator, draws: int) -> Array:
    """Return the shares of one unseen example that each of several places has, (places, draws), by stick-breaking."""
    broken = rng.random((_PLACES, draws))
    broken[-1] = 1
    return np.asarray(broken * np.cumprod(np.concatenate([np.ones((1, draws)), 1 - broken[:-1]]), 0))


# ── Scores with a name ──


def score_function_named(name: str, y: Array, score: Array) -> ScoreFunction:
    """Return the score function with a name, for labels (1 is positive) and scores (n,)."""
    if isinstance(name, str) and name.startswith(PROBABILISTIC):
        return _probabilistic(name.removeprefix(PROBABILISTIC), y, score)
    if name not in SCORE_FUNCTIONS:
        raise InputError(
            "score_function",
            f"must be one of {', '.join(map(repr, [*SCORE_FUNCTIONS, *MEAN_SCORES]))}, {PROBABILISTIC!r} and a "
            f"binary metric, or a function; it is {name!r}.",
        )
    make, bounds, greater_is_better = SCORE_FUNCTIONS[name]
    return ScoreFunction(name, bounds, greater_is_better, make(y, score))


def _mean_of(values: Array) -> Weighted:
    return lambda weights: np.asarray(weights @ values / weights.sum(1))


def _calibration_in_the_large(y: Array, score: Array) -> Weighted:
    return _mean_of(y - checks.probabilities("y_score", score))


class ProperScore(NamedTuple):
    """A proper score: its value for a probability if the event happened and if it did not, and its smallest mean.

    `least` is the mean score of a frequency where that frequency happens: no other probability has less.
    """

    happened: Callable[[Array], Array]
    did_not: Callable[[Array], Array]
    least: Callable[[Array], Array]


def _minus_log(probability: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(probability))


PROPER_SCORES = {
    "brier": ProperScore(lambda p: (1 - p) ** 2, np.square, lambda q: q * (1 - q)),
    "log_loss": ProperScore(_minus_log, lambda p: _minus_log(1 - p), lambda q: special.entr(q) + special.entr(1 - q)),
}


def _proper(proper: ProperScore, y: Array, score: Array) -> Weighted:
    checks.probabilities("y_score", score)
    values = np.where(y == 1, proper.happened(score), proper.did_not(score))
    if impossible := int(np.isinf(values).sum()):
        raise InputError(
            "y_score",
            f"{impossible} example{'s' * (impossible > 1)} had a probability of 0 for what "
            "happened, so the log loss is infinite.",
            "Clip them, as np.clip(y_score, 1e-6, 1 - 1e-6): the loss depends on where.",
        )
    return _mean_of(values)


def _average_precision(y: Array, score: Array) -> Weighted:
    """Return the mean over the positives of the precision at each, where every example is passed in the middle.

    At a score half the weight of the last example there is called positive, of either class; from one negative's score
    to the next (and beyond the first and the last) the weight of negatives called grows evenly over the scores of
    positives in between. By scikit-learn's sum of steps, five positives among 95 negatives by scores without skill have
    .10 on average, not .05.
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
    """Warn of an average precision from few positives."""
    if count < ENOUGH_POSITIVES:
        warn(
            UserWarning,
            "BP703",
            f"y_score: there {'is 1 positive' if count == 1 else f'are {count} positives'}, and by fewer than "
            f"{ENOUGH_POSITIVES} the average precision is hardly known: its mean may be far off, and its 95 % "
            "intervals cover in as few as 90 % of data sets.",
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
    part[between] = places_among_equals(up_to[between])
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
        f"{PROBABILISTIC}{name}",
        metric.bounds,
        metric.greater_is_better,
        lambda weights: metric.evaluate(np.tensordot(weights, cells, 1), 1),
    )


# From labels and scores to a function of weights; bounds; and whether greater is better.
SCORE_FUNCTIONS: dict[str, tuple[Callable[[Array, Array], Weighted], Bounds, bool | None]] = {
    "brier": (partial(_proper, PROPER_SCORES["brier"]), (0.0, 1.0), False),
    "log_loss": (partial(_proper, PROPER_SCORES["log_loss"]), (0.0, np.inf), False),
    "calibration_in_the_large": (_calibration_in_the_large, (-1.0, 1.0), None),
    "average_precision": (_average_precision, (0.0, 1.0), True),
    "calibration_slope": (_calibration_slope, (-np.inf, np.inf), None),
}


# ── Means of real values ──


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
    leading = over_systems(systems)
    within = (-np.inf, np.inf) if bounds is None else _checked_bounds(bounds)
    values, ends = _averaged(score, y_true, y_score, within), score.ends(*within)
    codes = clusters_of_examples(cluster, values.shape[1], "y_true")
    rng = np.random.default_rng(seed)
    units = units_of(np.zeros(values.shape[1], np.intp), codes, rng)
    figures = [_sums(each, units) for each in (values, np.ones((1, values.shape[1])))]
    sums, totals = drawn_figures(figures, units, draws, rng, progressbar)
    if bounds is not None:
        mass, upper = _unseen_weight(leading, values, draws, seed)
        mass *= unit_size(codes)
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
        joint=have_names(systems),
    )


# ── What is averaged ──


def _averaged(score: MeanScore, y_true: Any, y_score: Any, within: tuple[float, float]) -> Array:
    """Return what is averaged, (S, n), by the given numbers, which are checked."""
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
        columns |= {f"{name}[{key!r}]" if have_names(systems) else name: each for key, each in systems.items()}
    numbers = {name: checks.vector(name, column) for name, column in columns.items()}
    checks.equal_lengths({name: len(column) for name, column in numbers.items()})
    for name, column in numbers.items():
        outside = column[~np.isfinite(column) | (column < within[0]) | (column > within[1])]
        if len(outside):
            where = f"within {list(within)}, the `bounds`" if np.isfinite(within).all() else "finite"
            raise InputError(name, f"must be {where}; it holds {outside[0]:g}.")
    # Labels, if there are any, are the first.
    first, *others = numbers.values()
    return np.stack([first, *others] if score.errors is None else [score.errors(first, each) for each in others])


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return a declared range, the smallest and the largest value that may occur."""
    if isinstance(bounds, str | Mapping) or np.shape(bounds) != (2,):
        raise InputTypeError("bounds", f"must be the smallest and the largest possible value; it is {bounds!r}.")
    low, high = (checks.number("bounds", end) for end in bounds)
    if not -np.inf < low < high < np.inf:
        raise InputError("bounds", f"must be two finite numbers, the smaller first; it is {bounds!r}.")
    return low, high


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
