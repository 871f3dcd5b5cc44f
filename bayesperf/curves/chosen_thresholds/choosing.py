"""Choosing thresholds, one or two, by costs, by a metric or under requirements, and judging what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, Counts, blocks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.random_streams import stream
from bayesperf.curves.chosen_thresholds.candidates import Candidates, candidates_of, cells_of, placed
from bayesperf.curves.chosen_thresholds.chosen import ABSTENTION_RATE, BY_TEST_SET, LESS_OPTIMISM, ChosenThreshold
from bayesperf.curves.chosen_thresholds.requirements import (
    ThresholdRequirement,
    prob_met,
    refusal,
    requirements_of,
)
from bayesperf.curves.chosen_thresholds.rules import PSEUDO_EXAMPLES, Rule, best_threshold, pair_rule
from bayesperf.curves.scored_systems import marginal_of_scores
from bayesperf.data.classifier_scores import Scores
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.beta import Beta
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored


@checked
def choose_threshold(
    y_true: Any,
    y_score: ArrayLike | None = None,
    *,
    best: str | Metric | None = None,
    cost: tuple[float, float] | None = None,
    requirements: Mapping[str | Metric, float] | None = None,
    confidence: float = 0.95,
    prevalence: float | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    pos_label: Any = None,
    draws: int = 1000,
    random_seed: Any = 0,
) -> ChosenThreshold:
    """Choose a threshold, and return what it does to other examples than those that chose it.

    The threshold is one number, a decision. What is reported is the posterior of the metrics at that number; by the
    examples that chose it they would look better than they are.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels of two classes. Binned scores stand in the place of labels and scores.
    y_score : array-like (n,)
        Scores; what scores at least the threshold is called positive.
    best : str or Metric, optional
        The metric that is to be best, as "precision", "f1" or ``metrics.net_benefit(0.1)``.
    cost : (cost_fp, cost_fn), optional
        In its place: what a false positive and a false negative cost. The mean cost is to be least.
    requirements : mapping of metric to float, optional
        Bounds that the threshold must keep, as ``{"recall": 0.9}``: at least, or at most of metrics of which less is
        better. They are shares of one class, or of what is called one: recall, specificity, precision, npv and their
        complements.
    confidence : float
        The probability with which each requirement must be met.
    prevalence : float, optional
        The share of positives where the threshold will be used; by default that of the examples.
    test : (y_true, y_score), optional
        Examples that judge the threshold. Without them those that choose it judge it too, less their optimism (see
        Notes).
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    draws : int
        Of the posterior, if there is no test set.
    random_seed : int or numpy.random.Generator
        Seed of these draws.

    Returns
    -------
    ChosenThreshold

    Raises
    ------
    TypeError
        If not exactly one of `best` and `cost` is given.
    ValueError
        If no threshold meets the requirements: the error says how near each comes, and about how many more examples
        would be enough. If a metric has no direction, or cannot be required; as `roc_curve`.

    Notes
    -----
    **The choice.** Candidates are the scores, and inf unless something is required; of more than 1,000 scores 1,000
    spread evenly over either class. The metric is that of the cells with half an example added to each (Jeffreys'
    prior). Of several thresholds that are equally good the strictest is taken.

    **Requirements** are met in at least a share `confidence` of data sets, although a threshold is sought that meets
    them. Recall can only fall as the threshold rises, and specificity only rise. Beyond the j-th of n scores of its
    class a rate is Beta(n − j + 1, j), whatever the distribution of scores, so that the last threshold at which
    P(Beta(hits, misses + 1) > bound) is high enough is one statement on one quantile (Wilks 1941), and no search.
    Precision and npv rise and fall. Where thresholds are taken because precision at each by itself seems high enough,
    luck chooses: at a precision of .5 everywhere, .55 "with probability .95" was found somewhere in 20 % of 600 data
    sets. So thresholds are tried in the order of how many examples they call positive (negative, for npv), and the
    first failure ends the trial. It begins at a fifth, and anew at two and three fifths, of the number of positives
    (negatives), with three, one and one fifths of the risk 1 − `confidence`; a trial that lasts carries its risk on
    (Wiens 2003).

    **The judgement** without a test set is the posterior of the cells at the threshold under Jeffreys' prior, less the
    optimism of having chosen it on the same examples: how much better data sets drawn from these examples find the
    thresholds that they choose than the examples themselves do (the bootstrap's optimism: Efron 1983; Harrell, Lee &
    Mark 1996). ``validation/thresholds.py`` simulates it, and `docs/coverage.md` has the figures. Where a test set
    can be had it is the better judge: it assumes nothing of how alike optimism is there and here.

    Examples are taken to be independent.

    References
    ----------
    Efron (1983), Estimating the error rate of a prediction rule: improvement on cross-validation, Journal of the
    American Statistical Association 78, 316–331.
    Harrell, Lee & Mark (1996), Multivariable prognostic models, Statistics in Medicine 15, 361–387.
    Wilks (1941), Determination of sample sizes for setting tolerance limits, Annals of Mathematical Statistics 12.
    Wiens (2003), A fixed sequence Bonferroni procedure for testing multiple endpoints, Pharmaceutical Statistics 2.
    Angelopoulos, Bates, Candès, Jordan & Lei (2021), Learn then test: calibrating predictive algorithms to achieve risk
    control, arXiv:2110.01052.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> y = np.repeat([0, 1], [300, 100])
    >>> rng = np.random.default_rng(0)
    >>> score, new = rng.normal(2 * y), rng.normal(2 * y)
    >>> chosen = bp.choose_threshold(y, score, best="precision", requirements={"recall": 0.8}, test=(y, new))
    >>> round(chosen.threshold, 3), chosen.prob_met.round(3).item()
    (0.961, 0.953)
    >>> chosen["recall"].eti().round(2).values
    array([0.71, 0.87])
    >>> bp.choose_threshold(y, score, cost=(1, 20), prevalence=0.02, test=(y, new)).apparent.counts.values
    array([[285,  15],
           [ 33,  67]])
    """
    level = checks.probability("confidence", confidence)
    share = None if prevalence is None else checks.probability("prevalence", prevalence)
    wanted = requirements_of(requirements)
    rule, goal = best_threshold(best, cost, wanted, level, share)
    options = level, test, pos_label, draws, random_seed
    return _chosen("choose_threshold", rule, goal, wanted, (y_true, y_score), *options, rule.best, share)


@checked
def abstention(
    y_true: Any,
    y_score: ArrayLike | None = None,
    *,
    cost: tuple[float, ...] | None = None,
    max_abstention: float | None = None,
    requirements: Mapping[str | Metric, float] | None = None,
    confidence: float = 0.95,
    test: tuple[Any, ArrayLike] | None = None,
    pos_label: Any = None,
    draws: int = 1000,
    random_seed: Any = 0,
) -> ChosenThreshold:
    """Choose two thresholds between which people decide, and return how much is left to them.

    Give costs, or how much may be left to people, or what those that are decided must keep.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels of two classes. Binned scores stand in the place of labels and scores.
    y_score : array-like (n,)
        Scores, greater for the positive class.
    cost : (cost_fp, cost_fn, cost_abstention) or (cost_fp, cost_fn), optional
        What a false positive, a false negative and an example that is left to people cost: the mean cost is to be least
        (Chow 1970). With `max_abstention` those of the errors alone; by default they are alike.
    max_abstention : float, optional
        The greatest share of the examples that may be left to people; errors are to cost least.
    requirements : mapping of metric to float, optional
        Bounds as ``{"npv": 0.98, "precision": 0.9}``, of precision and npv (or of their complements), each met with the
        probability `confidence`: as little as possible is left to people.
    confidence : float
        That probability.
    test : (y_true, y_score), optional
        Examples that judge the thresholds; without them it is done as in `choose_threshold`.
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    draws : int
        Of the posterior, if there is no test set.
    random_seed : int or numpy.random.Generator
        Seed of these draws.

    Returns
    -------
    ChosenThreshold

    Raises
    ------
    TypeError
        If not one of the three is given.
    ValueError
        If no threshold meets a requirement, as in `choose_threshold`; if something else than precision or npv is
        required.

    Notes
    -----
    Thresholds are chosen among the scores, at most 1,000 of them. Each requirement is of its own threshold, and tried
    in the order that `choose_threshold` tells. If both can be met by one threshold, nothing is left to people, and it
    is the one with the fewest errors. Without a test set, and where a limit or requirements choose, the share between
    the thresholds is less certain than its interval says: 95 % intervals covered it in .90 and .84 of simulated data
    sets (`docs/coverage.md`). Costs are of the examples as they come: where another share is positive, others
    are the best.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff, IEEE Transactions on Information Theory 16, 41–46.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> y = np.repeat([0, 1], 200)
    >>> score = np.random.default_rng(0).normal(2 * y)
    >>> two = bp.curves.abstention(y, score, requirements={"npv": 0.85, "precision": 0.9}, draws=400)
    >>> round(two.low, 2), round(two.high, 2), two.apparent.counts.sum().item()
    (0.62, 1.75, 269)
    """
    level = checks.probability("confidence", confidence)
    rule, goal, wanted = pair_rule(cost, max_abstention, requirements_of(requirements), level)
    return _chosen("abstention", rule, goal, wanted, (y_true, y_score), level, test, pos_label, draws, random_seed)


def _chosen(
    name: str,
    rule: Rule,
    goal: str,
    requirements: Sequence[ThresholdRequirement],
    examples: tuple[Any, Any],
    confidence: float,
    test: Any,
    pos_label: Any,
    draws: int,
    random_seed: Any,
    best: Metric | None = None,
    prevalence: float | None = None,
) -> ChosenThreshold:
    """Return what a rule chooses, judged; the arguments are those of the public function of that name, checked."""
    n_draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    candidates, labels, positive = candidates_of(*examples, pos_label)
    cells = candidates.cells
    met = [each.met(cells, confidence) for each in requirements]
    # What calls nothing positive is no one threshold.
    if met and not (np.all(met, 0)[1:].any() if rule.size == 1 else np.any(met, 1).all()):
        raise refusal(requirements, cells, candidates.thresholds, confidence)
    chosen = rule.choose(cells)
    at = candidates.thresholds[chosen]
    if test is None:
        shares = drawn_shares(candidates, rule, chosen, n_draws, stream(seed, name, candidates.counts))
        decided = shares[..., :: -rule.size]
        decided = decided if rule.size == 1 else decided / decided.sum((-2, -1), keepdims=True)
        post = _posterior_of_draws(decided, labels, positive)
        rate = _drawn_rate(shares, at, seed)
    else:
        tested = _placed_scores(_test_scores(test, labels, positive), at)
        post, rate = posterior(_matrix(tested[:, [-1, 0]], labels, positive), "jeffreys"), _rate(tested, seed)
    return ChosenThreshold(
        low=float(at[-1]),
        high=float(at[0]),
        posterior=post if prevalence is None else post.at_prevalence(prevalence),
        apparent=_matrix(placed(candidates.counts, chosen)[:, [-1, 0]], labels, positive),
        prob_met=prob_met(requirements, cells, chosen),
        rule=goal,
        judged=LESS_OPTIMISM if test is None else BY_TEST_SET,
        candidates=candidates,
        best=best,
        abstention_rate=rate if rule.size == 2 else None,
    )


# ── Judging without a test set ──


def drawn_shares(candidates: Candidates, rule: Rule, chosen: Codes, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of the shares of examples by class and place, (draws, 2, size + 1), less optimism.

    Negatives come first, and what is above the strictest threshold; the shares of both classes sum to 1.

    The posterior of the shares at fixed thresholds is Dirichlet(counts + ½). Of data sets drawn from the examples with
    replacement each chooses thresholds of its own. By how much the odds of each place there are greater in the data set
    that chose than in the examples that it was drawn from is the optimism (Efron 1983; Harrell, Lee & Mark 1996), and
    is taken off the odds in the posterior. Both are means over the data sets of shares to which, as in the posterior,
    half an example is added in each place: a place that is empty wherever it was chosen so has no odds of 0. How many
    examples are of either class is as it was: nobody chose by that.
    """
    apparent, actual = _chosen_anew(candidates.counts, rule, draws, rng)
    ratio = actual / apparent
    weights = rng.standard_gamma(placed(candidates.counts, chosen) + PSEUDO_EXAMPLES, (draws, 2, rule.size + 1))
    of_classes = weights.sum(-1, keepdims=True)
    corrected = weights * ratio
    corrected *= of_classes / corrected.sum(-1, keepdims=True)
    return np.asarray(corrected / corrected.sum((-2, -1), keepdims=True))


def _chosen_anew(counts: Counts, rule: Rule, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the mean shares of each class by place, (2, size + 1), by data sets that choose, and by the examples."""
    total, sums = int(counts.sum()), np.zeros((2, 2, rule.size + 1))
    for part in blocks(draws, counts.size):
        drawn = rng.multinomial(total, counts.ravel() / total, part.stop - part.start).reshape(-1, *counts.shape)
        chosen = rule.choose(cells_of(drawn))
        for i, examples in enumerate((drawn, np.broadcast_to(counts, drawn.shape))):
            weights = placed(examples, chosen) + PSEUDO_EXAMPLES
            sums[i] += (weights / weights.sum(-1, keepdims=True)).sum(0)
    return sums[0] / draws, sums[1] / draws


def _posterior_of_draws(cells: Array, labels: tuple[Any, Any], positive: Any) -> Posterior:
    """Return the posterior of cells (draws, actual, predicted), negative before positive."""
    order = slice(None, None, -1) if labels[0] == positive else slice(None)
    coords = {dim: list(labels) for dim in CELL_DIMS}
    source = StoredDraws(
        stored(cells[:, order, order], xr.DataArray(np.zeros((2, 2)), coords, CELL_DIMS)), independent=True
    )
    prior_text, scope = "Jeffreys' Dirichlet (0.5 in each cell)", Scope("chosen", detail=LESS_OPTIMISM)
    return Posterior(source=source, pos_label=positive, prior_text=prior_text, scope=scope)


def _drawn_rate(shares: Array, thresholds: Array, seed: int) -> Marginal:
    """Return the abstention rate, of shares (draws, 2, size + 1): 0 where there is no room between thresholds."""
    left = (thresholds[-1] < thresholds[0]) * shares[..., 1:-1].sum((-2, -1))
    return marginal_of_scores(_rate_quantity(LESS_OPTIMISM), left, seed)


# ── Judging by a test set ──


def _test_scores(test: Any, labels: tuple[Any, Any], positive: Any) -> Scores:
    """Return the scores of a test set, checked: it must have the classes of the examples that choose."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise InputTypeError("test", "must be (y_true, y_score), labels and scores of other examples.")
    y_true, y_score = test
    scores = Scores.of(y_true, y_score, positive, "test: y_score")
    if set(scores.labels) != set(labels):
        raise InputError("test", f"its classes are {list(scores.labels)}, those of the other examples {list(labels)}.")
    return scores


def _placed_scores(scores: Scores, thresholds: Array) -> Counts:
    """Return how many negatives and positives are in each place, (2, size + 1), above the strictest threshold first."""
    true, false = scores.called(thresholds)
    negatives, positives = scores.class_totals
    return np.diff([[0, *false, negatives], [0, *true, positives]], axis=-1)


def _matrix(cells: Counts, labels: tuple[Any, Any], positive: Any) -> ConfusionMatrix:
    """Return the confusion matrix of cells (actual, predicted), negative before positive."""
    order = slice(None, None, -1) if labels[0] == positive else slice(None)
    coords = {dim: list(labels) for dim in CELL_DIMS}
    return ConfusionMatrix(xr.DataArray(cells[order, order], coords, CELL_DIMS), positive)


def _rate(tested: Counts, seed: int) -> Marginal:
    """Return the posterior of the abstention rate: of six cells, each with half an example, the two between."""
    left, of_all = int(tested[:, 1:-1].sum()), int(tested.sum())
    extra = PSEUDO_EXAMPLES * np.array([2, 4])
    distribution = Beta(*np.array([[[left + extra[0]]], [[of_all - left + extra[1]]]]))
    observed = xr.DataArray(left / of_all, {"trials": of_all}, name=ABSTENTION_RATE)
    return Marginal(_rate_quantity(BY_TEST_SET), distribution, xr.DataArray(0.0), random_seed=seed, score=observed)


def _rate_quantity(judged: str) -> Quantity:
    return Quantity(ABSTENTION_RATE, Scope("chosen", detail=judged), words="abstention rate", bounds=(0.0, 1.0))
