"""Weighted scores of systems judged on the same examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bayesperf.comparison.result import Comparison
from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.core.recipes import remembered
from bayesperf.curves.areas.systems_on_one_set import compared, over_systems, scores_by_system
from bayesperf.curves.areas.weighted_score import ExampleScore, drawn_scores
from bayesperf.curves.clustered_scores import WEIGHTS_OF_CLUSTERS, bootstrap_of, clusters_of_examples
from bayesperf.curves.curve_marginals import marginal_of_draws

__all__ = ["compare_weighted_scores"]


@remembered("compare_weighted_scores")
def compare_weighted_scores(
    score_function: str | Callable[..., float],
    y_true: Any,
    score_a: Any,
    score_b: Any = None,
    *,
    per_class: bool = False,
    names: Sequence[Any] = ("a", "b"),
    rope: float = 0.0,
    greater_is_better: bool | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Comparison:
    """Compare a score of systems judged on the same examples: average precision, Brier score, any weighted score.

    Every draw weights the examples alike for all systems, as `bayesperf.weighted_score` does for one. What makes an
    example hard for both, and how many positives there are, then cancels from the difference, whose interval can leave
    out 0 where the systems' own intervals overlap. Of systems judged on different examples it is
    ``compare(weighted_score(…), weighted_score(…))``.

    Parameters
    ----------
    score_function : str or callable
        As in `bayesperf.weighted_score`: "average_precision" (the area under the precision–recall curve), "brier",
        "log_loss", "calibration_in_the_large", "calibration_slope", "probabilistic_f1", …, or a function that takes
        ``sample_weight``.
    y_true : array-like (n,)
        Labels.
    score_a, score_b : array-like (n,)
        What two systems give the examples; or in the place of both a mapping (a data frame) from names to the scores
        of two systems or more, which are compared in pairs.
    per_class : bool
        As in `bayesperf.weighted_score`.
    names : sequence of two
        Names of systems a and b.
    rope : float
        Half-width of the region of practical equivalence, on the score's scale.
    greater_is_better : bool, optional
        Direction of a function. (A score with a name has its own.)
    pos_label, cluster, draws, random_seed, progressbar
        As in `bayesperf.weighted_score`, whose draws under the same seed are those of each system here.

    Returns
    -------
    Comparison
        Of a − b; of a mapping, with dims (``model``, ``model_other``).

    Raises
    ------
    TypeError
        If there is no second system, or one too many; as by `bayesperf.weighted_score`.
    ValueError
        As by `bayesperf.weighted_score`; if a score with a name is given a direction.

    Warns
    -----
    UserWarning
        As `bayesperf.weighted_score`.

    Notes
    -----
    Of normal scores of 100 examples, 30 % of them positive, the scores of one system being those of the other with
    noise added, 95 % equal-tailed intervals covered the difference of average precisions, and that of Brier scores, in
    95 % of 400 data sets.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> scores = frame.pivot(index="example", columns="model", values="score")
    >>> y_true = frame.drop_duplicates("example").sort_values("example")["actual"]
    >>> comparison = bp.compare_weighted_scores("average_precision", y_true, scores["logistic_regression"],
    ...                                         scores["naive_bayes"], pos_label="malignant", rope=0.005)
    >>> comparison.difference.eti().values.round(3), comparison.prob_better.item()
    (array([0.023, 0.074]), 1.0)
    """
    if greater_is_better is not None and not callable(score_function):
        raise InputError("greater_is_better", f"it is of a function; {score_function!r} has its own.", "Leave it out.")
    draws, seed, width = checks.count("draws", draws, least=2), checks.seed(random_seed), checks.rope(rope)
    by_system, many = scores_by_system(score_a, score_b, names)
    scores = [ExampleScore.of(score_function, y_true, of_system, pos_label) for of_system in by_system.values()]
    codes = clusters_of_examples(cluster, len(scores[0].sizes), "y_true")
    values = drawn_scores(scores, y_true, per_class, codes, draws, seed, progressbar)
    of_systems = marginal_of_draws(
        scores[0].quantity, values, over_systems(tuple(by_system)), seed, bootstrap_of(codes)
    )
    of_examples = f"Dirichlet(1) weights {'in each class' if per_class else 'of all examples'}"
    return compared(
        of_systems,
        many=many,
        rope=width,
        greater_is_better=greater_is_better if callable(score_function) else scores[0].greater_is_better,
        draws=draws,
        basis=of_examples if codes is None else WEIGHTS_OF_CLUSTERS,
    )
