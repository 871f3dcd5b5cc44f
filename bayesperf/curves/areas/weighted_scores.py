"""The posterior of any score that can be weighted, by the Bayesian bootstrap."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.weights import weight_blocks
from bayesperf.core.words import metric_title
from bayesperf.curves.areas.score_functions import score_function_named, warn_of_few_positives
from bayesperf.curves.scored_systems import (
    bootstrap_of,
    clusters_of_examples,
    marginal_of_scores,
    over_systems,
    systems_of,
)
from bayesperf.data.binned_scores import BinnedScores, scores_of
from bayesperf.data.classifier_scores import labelled_scores
from bayesperf.data.label_encoding import encode
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity

__all__ = ["weighted_score"]


@checked
def weighted_score(
    score_function: str | Callable[..., float],
    y_true: Any,
    y_score: Any = None,
    *,
    per_class: bool = False,
    greater_is_better: bool | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Marginal:
    """Return the posterior of a score that can be weighted, by the Bayesian bootstrap: weights ~ Dirichlet(1).

    Parameters
    ----------
    score_function : str or callable
        Of two classes, fast: "brier" (the mean of (p − y)²), "log_loss", "average_precision" (smoothed: see below),
        "calibration_in_the_large" (the mean of y − p), "calibration_slope" (of a logistic regression of the labels on
        the log-odds; 1 is calibrated, less is overconfident), or ``probabilistic_`` before any binary metric:
        "probabilistic_precision", "…_recall", "…_f1" have the sums of probabilities in place of counts. Else a function
        ``(y_true, y_score, sample_weight=w)``, as those of `sklearn.metrics`.
    y_true : array-like (n,) or BinnedScores
        Labels. For "average_precision" binned scores may stand in the place of labels and scores.
    y_score : array-like (n,), mapping or data frame
        Probabilities of the positive class; for "average_precision" any scores, for a function what it takes, a row
        an example. A mapping (a data frame) from names of systems to what each gives the examples has the scores of all
        these systems together.
    per_class : bool
        Whether the weights are Dirichlet(1) in each class by itself, which then keeps its share: of a test set made
        with so many of each.
    greater_is_better : bool, optional
        Direction of a function. (A score with a name has its own.)
    pos_label : label, optional
        The positive class, where the labels do not say. (A function knows its own.)
    cluster : array-like (n,) or mapping, optional
        The cluster of each example, as in `bayesperf.roc_auc`: examples of one have one weight, Gamma((G − 2)/G) of G.
    draws : int
        How many.
    random_seed : int or numpy.random.Generator
        Seed of the weights. One seed gives as many examples the same weights. For other examples take another seed if
        you subtract draws yourself (`compare` sees to it).
    progressbar : bool
        Shown on a terminal only, and if it takes long.

    Returns
    -------
    Marginal
        With dim ``model`` for a mapping of systems. Every draw weights the examples alike for all of them: what makes
        an example hard for all, and how many positives there are, cancels from differences (`compare`), whose intervals
        can leave out 0 where the systems' own intervals overlap.

    Raises
    ------
    TypeError
        If a function takes no weights, or does not return a number; if `y_score` is missing, or given beside binned
        scores.
    ValueError
        If there is no such score, or one with a name is given a direction; if probabilities are outside [0, 1], or such
        that the log loss or the calibration slope is infinite; if columns are of unequal length; if binned scores are
        given to another score than "average_precision".

    Warns
    -----
    UserWarning
        If "average_precision" is of fewer than 20 positives.

    Notes
    -----
    Average precision is a mean of precisions at the positives. In a sample a positive that no negative is above has a
    precision of 1, whatever share of the negatives would be above it in the population; so the Bayesian bootstrap of
    scikit-learn's sum of steps is biased upward where positives are few. Here every example is passed in the middle of
    its weight, and between two negatives the weight passed grows evenly: with many examples that is the same. The
    function ``sklearn.metrics.average_precision_score`` is not smoothed. docs/coverage.md says what intervals cover.

    References
    ----------
    Rubin (1981), Annals of Statistics 9. Yacouby & Axman (2020), Probabilistic extension of precision, recall, and F1
    score, Eval4NLP.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, probability = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7]
    >>> bp.curves.weighted_score("brier", y_true, probability).eti().values.round(2)
    array([0.1 , 0.31])
    >>> from sklearn.metrics import roc_auc_score
    >>> bp.curves.weighted_score(roc_auc_score, y_true, probability, draws=100).mean().round(2).item()
    0.76

    Systems judged on the same examples, compared:

    >>> frame = bp.datasets.load("breast_cancer")
    >>> scores = frame.pivot(index="example", columns="model", values="score")
    >>> actual = frame.drop_duplicates("example").sort_values("example")["actual"]
    >>> of_systems = bp.curves.weighted_score("average_precision", actual, scores, pos_label="malignant")
    >>> comparison = bp.compare(of_systems, rope=0.005)
    >>> comparison.difference.sel(pair="logistic_regression − naive_bayes").eti().values.round(3)
    array([0.023, 0.074])
    """
    if greater_is_better is not None and not callable(score_function):
        raise InputError(
            "greater_is_better", f"it is of a function; {score_function!r} has its own.", "Say it of a function alone."
        )
    seed, draws = checks.seed(random_seed), checks.count("draws", draws, least=2)
    sizes = None
    if y_score is None:
        if cluster is not None:
            raise InputError("cluster", "bins do not tell the examples of a cluster.", "Give y_true and y_score.")
        y_true, y_score, sizes = _examples_of_bins(score_function, y_true, pos_label)
    systems = systems_of(y_score)
    scores = [
        ExampleScore.of(score_function, y_true, of_system, pos_label, sizes, greater_is_better)
        for of_system in ([y_score] if systems is None else systems.values())
    ]
    codes = clusters_of_examples(cluster, len(scores[0].sizes), "y_score")
    values = drawn_scores(scores, y_true, per_class, codes, draws, seed, progressbar)
    return marginal_of_scores(
        scores[0].quantity,
        values,
        seed,
        None if systems is None else over_systems(systems),
        inference=bootstrap_of(codes),
        examples=scores[0].class_totals,
        joint=systems is not None,
    )


@dataclass(frozen=True)
class ExampleScore:
    """A score of examples."""

    # What it is called.
    name: str
    # Smallest and greatest possible value.
    bounds: tuple[float, float]
    # Its direction; None if it has none, or none that is known.
    greater_is_better: bool | None
    # How many examples of each class it is of; of a user's function, of which classes it has, how many in all.
    class_totals: tuple[int, ...]
    # How many examples each of its weights is of, (n,).
    sizes: Counts
    # From weights (draws, n) to values (draws,).
    weighted: Callable[[Array], Array]
    # Whether its function takes one set of weights at a time.
    one_by_one: bool = False

    @property
    def quantity(self) -> Quantity:
        """What it is."""
        return Quantity(
            self.name, greater_is_better=self.greater_is_better, words=metric_title(self.name), bounds=self.bounds
        )

    @classmethod
    def of(
        cls,
        score_function: str | Callable[..., float],
        y_true: Any,
        y_score: Any,
        pos_label: Any,
        sizes: Counts | None = None,
        greater_is_better: bool | None = None,
    ) -> ExampleScore:
        """Return the score of a name, or that a user's function computes; arguments are those of `weighted_score`.

        Each label and score stands for as many examples as `sizes` says, by default for one.
        """
        if callable(score_function):
            return _of_function(score_function, y_true, y_score, pos_label, greater_is_better)
        positive, score = labelled_scores(y_true, y_score, pos_label)
        function = score_function_named(score_function, positive.astype(float), score)
        sizes = np.ones(len(positive), np.int64) if sizes is None else sizes
        totals = int(sizes[~positive].sum()), int(sizes[positive].sum())
        if score_function == "average_precision":
            warn_of_few_positives(totals[1])
        return cls(score_function, function.bounds, function.greater_is_better, totals, sizes, function.weighted)


def drawn_scores(
    scores: Sequence[ExampleScore],
    y_true: Any,
    per_class: bool,
    cluster: Codes | None,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Array:
    """Return draws of scores of the same examples, (S, draws), by one set of weights for all."""
    sizes, rng = scores[0].sizes, np.random.default_rng(seed)
    classes = encode(y_true, "y_true").codes if per_class else np.zeros(len(sizes), np.intp)
    drawn = weight_blocks(rng, sizes, draws, progressbar, cluster, scores[0].one_by_one)
    blocks = [
        [score.weighted(within) for score in scores]
        for weights in drawn
        for within in [_within(weights, classes, sizes)]
    ]
    return np.concatenate(blocks, axis=1)


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


def _within(weights: Array, classes: NDArray[np.intp], sizes: Counts) -> Array:
    """Return weights (draws, n) with a mean of 1 an example in each class."""
    member = np.eye(classes.max() + 1)[classes]
    mean = weights @ (member / (sizes @ member))
    return weights / (mean if mean.shape[1] == 1 else mean[:, classes])


def _of_function(
    function: Callable[..., float], y_true: Any, y_score: Any, pos_label: Any, greater_is_better: bool | None
) -> ExampleScore:
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

    sizes = np.ones(len(y_true), np.int64)
    return ExampleScore(name, (-np.inf, np.inf), greater_is_better, (len(y_true),), sizes, weighted, True)
