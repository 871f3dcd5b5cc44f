"""Choosing one or two thresholds by costs, by a metric or under requirements, and judging the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Codes, Counts, blocks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import held
from bayesperf.core.random_streams import stream
from bayesperf.core.weights import UNSEEN
from bayesperf.core.words import chance, enumerated, format_value, metric_title, sentence
from bayesperf.curves.decisions.rules import (
    Cells,
    Rule,
    best_threshold,
    cells_of,
    pair_rule,
    prob_met,
    refusal,
    requirements_of,
)
from bayesperf.curves.scored_systems import marginal_of_scores
from bayesperf.data.binned_scores import BinnedScores, scores_of
from bayesperf.data.classifier_scores import Scores
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.beta import Beta
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored
from bayesperf.posteriors.summary_table import Summary, summary_rows

# With more scores, this many are candidates, spread evenly over either class.
MOST_CANDIDATES = 1_000
# The scope of results, without and with a test set.
BY_TEST_SET = "judged by the test set"
LESS_OPTIMISM = "less the optimism of judging by the examples that chose it"
ABSTENTION_RATE = "abstention_rate"
_SHOWN, _SHOWN_OF_DECIDED = ("recall", "specificity", "precision"), ("precision", "npv", "accuracy")


@dataclass(frozen=True, eq=False, repr=False)
class ChosenThreshold(Answer):
    """A threshold, or two between which people decide, and the posterior of the decided examples.

    Made by `bayesperf.choose_threshold`, and for two thresholds by `bayesperf.curves.abstention`. ``chosen[metric]`` is
    the distribution of a metric, with two thresholds also of the "abstention_rate". The plot shows the scores of both
    classes, and the decision at each score (`bayesperf.plots.score_regions`).

    Attributes
    ----------
    low, high : float
        Examples that score at least `high` are called positive, examples that score less than `low` negative, and the
        rest are left to people: none, if the two are equal. inf for `high` calls nothing positive.
    posterior : Posterior
        Posterior of the confusion matrix of the decided examples, without the optimism of the examples that chose.
    apparent : ConfusionMatrix
        The counts of the decided examples among those that chose; on these, a threshold looks better than it is.
    prob_met : xarray.DataArray
        The probability that each requirement is met, over ``requirement``, by the examples that chose the threshold. It
        treats each requirement by itself, and its threshold as if it had been named in advance. A search succeeds by
        luck more often; the ``confidence`` of `choose_threshold` allows for that, these figures do not.
    rule, judged : str
        The rule and the examples that judge it, in words.
    candidates : Candidates
        The thresholds that were tried.
    best : Metric or None
        The metric that one threshold optimises.
    abstention_rate : Marginal or None
        The proportion of examples that two thresholds leave to people.
    """

    low: float
    high: float
    posterior: Posterior
    apparent: ConfusionMatrix
    prob_met: xr.DataArray
    rule: str
    judged: str
    candidates: Candidates
    best: Metric | None = None
    abstention_rate: Marginal | None = None

    drawn_by = "score_regions"

    @property
    def threshold(self) -> float:
        """Examples that score at least this are called positive."""
        return self.high

    def __getitem__(self, metric: str | Metric) -> Marginal:
        """Return the distribution of a metric of the examples that are decided, or the "abstention_rate"."""
        if metric == ABSTENTION_RATE and self.abstention_rate is not None:
            return self.abstention_rate
        return self.posterior[metric]

    def _shown(self, metrics: str | Metric | Iterable[str | Metric] | None) -> list[Metric]:
        """Return metrics; by default what was asked for comes first."""
        if metrics is not None:
            return [get(metric) for metric in ([metrics] if isinstance(metrics, str | Metric) else metrics)]
        if self.best is None:
            return list(map(get, _SHOWN_OF_DECIDED))
        asked = [self.best, *map(get, self.prob_met["requirement"].values.tolist())]
        return list({metric.name: metric for metric in (*asked, *map(get, _SHOWN))}.values())

    def summary(
        self,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> pd.DataFrame:
        """Return a tidy table with a row for each metric of the decided examples, after an abstention rate.

        Parameters
        ----------
        metrics : str, Metric or sequence of these, optional
            By default the requested metrics, recall, specificity and precision; for two thresholds precision, npv and
            accuracy.
        ci_prob, ci_kind
            As in `Marginal.in_words`.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric, apparent, mean, sd, median, ci_lower, ci_upper, method, mcse, mcse_interval``, with
            ``observed`` after ``apparent`` if there is a test set. ``apparent`` is the value by the examples that
            chose.
        """
        shown = self._shown(metrics)
        table = self.posterior.summary(shown, ci_prob, ci_kind)
        attrs: dict[Any, Any] = table.attrs
        table.insert(1, "apparent", [self._apparent_score(metric) for metric in shown])
        if self.abstention_rate is not None:
            rate = summary_rows([self.abstention_rate], ci_prob, ci_kind, [self.abstention_rate.observed.values])
            table = pd.concat([rate.assign(apparent=self._apparent_rate), table], ignore_index=True)[[*table.columns]]
        if self.posterior.observed is None:
            table = table.drop(columns="observed")
        at = f"Threshold {self.high:.6g}" if self.best else f"Thresholds {self.low:.6g} and {self.high:.6g}"
        return Summary.of(table, **attrs | {"note": f"{at}, of {self.rule}; {self.judged}."})

    @property
    def _apparent_rate(self) -> float:
        examples = int(self.candidates.counts.sum())
        return (examples - int(self.apparent.counts.sum())) / examples

    def _apparent_score(self, metric: Metric) -> float:
        """Return a metric by the examples that chose, at the prevalence of the posterior."""
        of_choosing = posterior(self.apparent, "jeffreys")
        elsewhere = self.posterior.prevalence
        if elsewhere != "observed" and elsewhere is not None:
            of_choosing = of_choosing.at_prevalence(elsewhere.mean.tolist())
        return float(of_choosing.observed_score(metric))

    def in_words(
        self,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        *,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> str:
        """Return sentences on the choice, and on metrics there, with the figures of `summary`.

        Parameters
        ----------
        metrics, ci_prob, ci_kind
            As in `summary`.

        Examples
        --------
        >>> import numpy as np
        >>> import bayesperf as bp
        >>> y = np.repeat([0, 1], 200)
        >>> score = np.random.default_rng(0).normal(2 * y)
        >>> two = bp.curves.abstention(y, score, cost=(10, 10, 1), test=(y, np.random.default_rng(1).normal(2 * y)))
        >>> print(two.in_words("accuracy"))
        Least cost, 10 a false positive, 10 a false negative and 1 an abstention: what scores below 0.3949 is called \
        negative, what scores at least 2.035 positive, and the rest is left to people. Judged by the test set, \
        abstention rate is 0.400 (95 % HDI 0.352–0.447; observed 160 of 400). Of those that are decided, accuracy is \
        0.938 (95 % HDI 0.907–0.967; observed 226 of 240).
        """
        shown = self._shown(metrics)
        estimates = [estimate_in_words(self.posterior[metric], ci_prob, ci_kind) for metric in shown]
        if self.abstention_rate is not None:
            rate = estimate_in_words(self.abstention_rate, ci_prob, ci_kind)
            parts = [f"{self.judged}, {rate}", f"of those that are decided, {enumerated(estimates)}"]
        else:
            met = [_met_in_words(self.prob_met)] if self.prob_met.size else []
            parts = [*met, f"{self.judged}, {enumerated(estimates)}"]
            if self.judged == LESS_OPTIMISM:
                apparent = format_value(self._apparent_score(shown[0]))
                title = self.posterior[shown[0]].quantity.title
                parts.append(f"by the examples that chose it {title} would be {apparent}")
        return " ".join(map(sentence, [f"{self.rule}: {self._thresholds_in_words}", *parts]))

    @property
    def _thresholds_in_words(self) -> str:
        if self.abstention_rate is None:
            return f"threshold {self.high:.4g}"
        if self.low == self.high:
            return f"one threshold is enough, {self.high:.4g}, and nothing is left to people"
        positive = f"what scores at least {self.high:.4g}" if np.isfinite(self.high) else "nothing"
        return (
            f"what scores below {self.low:.4g} is called negative, {positive} positive, and the rest is left to people"
        )

    def __repr__(self) -> str:
        at = f"{self.high:.6g}" if self.abstention_rate is None else f"from {self.low:.6g} to {self.high:.6g}"
        return f"<bayesperf.curves.ChosenThreshold: {at}, {self.rule}; {self.judged}>"


def _met_in_words(prob_met: xr.DataArray) -> str:
    """Return with which probability each requirement is met, taken by itself, for a sentence."""
    each = zip(prob_met["requirement"].values.tolist(), prob_met.values.tolist(), strict=True)
    met = [f"{chance(p)} for {metric_title(name)}" for name, p in each]
    alone = "each requirement alone" if len(met) > 1 else "the requirement"
    return f"at this threshold, had it been named beforehand, {alone} is met with probability {enumerated(met)}"


@checked
def choose_threshold(
    y_true: Any,
    y_score: ArrayLike | None = None,
    *,
    best: str | Metric | None = None,
    cost: tuple[float, float] | None = None,
    requirements: Sequence[str] | Mapping[str | Metric, float] | None = None,
    confidence: float = 0.95,
    prevalence: float | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    pos_label: Any = None,
    draws: int = 1000,
    random_seed: Any = 0,
) -> ChosenThreshold:
    """Choose a threshold, and return its performance on other examples than those that chose it.

    Parameters
    ----------
    y_true, y_score, pos_label
        As in `roc_curve`. Examples are treated as independent.
    best : str or Metric, optional
        The metric to optimise, such as "precision", "f1" or ``metrics.net_benefit(0.1)``.
    cost : (cost_fp, cost_fn), optional
        Instead of `best`: what a false positive and a false negative cost. The rule minimises the mean cost.
    requirements : mapping of metric to float, or sequence of str, optional
        Bounds that the threshold must keep, such as ``{"recall": 0.9}``: lower bounds, or upper bounds for metrics of
        which less is better. They apply to recall, specificity, precision, npv and their complements.
    confidence : float
        The probability with which each requirement must be met.
    prevalence : float, optional
        The proportion of positives where you will use the threshold; by default that of the examples.
    test : (y_true, y_score), optional
        Examples that judge the threshold. Without them, the examples that choose it judge it too, less their optimism.
    draws, random_seed
        Number and seed of draws of the posterior, if there is no test set.

    Returns
    -------
    ChosenThreshold
        The threshold, and the posterior of the metrics at it, without the optimism of the examples that chose it.

    Raises
    ------
    TypeError, ValueError
        If no threshold meets the requirements: the error says how near each comes, and about how many more examples
        would be enough. If a metric has no direction, or cannot be required; if an argument is invalid.

    Notes
    -----
    **The choice.** Candidates are the scores, at most 1,000 of them, and inf unless something is required. The metric
    is computed from the cells with half an example added to each (Jeffreys' prior). Among equally good candidates the
    strictest wins.

    **Requirements** are met in at least a proportion `confidence` of data sets, despite the search for a threshold.
    Recall and specificity change in one direction, so the last threshold at which P(Beta(hits, misses + 1) > bound) is
    high enough is one statement on one quantile (Wilks 1941). Precision and npv rise and fall: thresholds are tried in
    the order of how many examples they call positive (negative, for npv), and the first failure ends the trial. The
    trial begins at three places with parts of the risk, which a trial that lasts carries on (Wiens 2003; Angelopoulos
    et al. 2021, Learn then test, arXiv:2110.01052).

    **The judgement** without a test set is the posterior of the cells at the threshold under Jeffreys' prior, less the
    bootstrap's optimism (Efron 1983; Harrell, Lee & Mark 1996): how much better a data set drawn from these examples
    rates its own thresholds than these examples rate them. A test set judges better (docs/coverage.md).

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> y, rng = np.repeat([0, 1], [300, 100]), np.random.default_rng(0)
    >>> score, new = rng.normal(2 * y), rng.normal(2 * y)
    >>> chosen = bp.choose_threshold(y, score, best="precision", requirements={"recall": 0.8}, test=(y, new))
    >>> round(chosen.threshold, 3), chosen.prob_met.round(3).item(), chosen["recall"].mean().round(2).item()
    (0.961, 0.953, 0.8)
    """
    level = checks.probability("confidence", confidence)
    share = None if prevalence is None else checks.probability("prevalence", prevalence)
    rule = best_threshold(best, cost, requirements_of(requirements, level), share)
    return _chosen("choose_threshold", rule, (y_true, y_score), test, pos_label, draws, random_seed)


@checked
def abstention(
    y_true: Any,
    y_score: ArrayLike | None = None,
    *,
    cost: tuple[float, ...] | None = None,
    max_abstention: float | None = None,
    requirements: Sequence[str] | Mapping[str | Metric, float] | None = None,
    confidence: float = 0.95,
    test: tuple[Any, ArrayLike] | None = None,
    pos_label: Any = None,
    draws: int = 1000,
    random_seed: Any = 0,
) -> ChosenThreshold:
    """Choose two thresholds between which people decide, and return how many examples they must decide.

    Give one of: costs, the largest proportion left to people, requirements for the decided examples.

    Parameters
    ----------
    y_true, y_score, confidence, test, pos_label, draws, random_seed
        As in `choose_threshold`.
    cost : (cost_fp, cost_fn, cost_abstention) or (cost_fp, cost_fn), optional
        What a false positive, a false negative and an example left to people cost: the rule minimises the mean cost
        (Chow 1970). With `max_abstention`, the costs of the errors alone; by default they are equal.
    max_abstention : float, optional
        The largest proportion of the examples that may be left to people; the rule minimises the cost of errors.
    requirements : mapping of metric to float, or sequence of str, optional
        Bounds such as ``{"npv": 0.98, "precision": 0.9}``, for precision and npv (or their complements), each met with
        the probability `confidence`: the rule leaves as few examples as possible to people.

    Returns
    -------
    ChosenThreshold
        The two thresholds, the posterior of the decided examples, and the "abstention_rate".

    Raises
    ------
    TypeError, ValueError
        If none of the three is given, or two that do not go together; if no threshold meets a requirement; if a metric
        other than precision, npv and their complements is required.

    Notes
    -----
    Each requirement has its own threshold. If one threshold meets both, nothing is left to people, and the threshold
    with the fewest errors wins. Without a test set, and if a limit or requirements choose, the proportion between the
    thresholds is less certain than its interval says (docs/coverage.md). Costs apply to the examples as they come: with
    another proportion of positives, other thresholds are the best.

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
    rule = pair_rule(cost, max_abstention, requirements_of(requirements, level))
    return _chosen("abstention", rule, (y_true, y_score), test, pos_label, draws, random_seed)


def _chosen(
    name: str, rule: Rule, examples: tuple[Any, Any], test: Any, pos_label: Any, draws: int, random_seed: Any
) -> ChosenThreshold:
    """Return what a rule chooses, judged; takes the arguments of the public function of that name."""
    n_draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    candidates, labels, positive = candidates_of(*examples, pos_label)
    cells = candidates.cells
    met = [each.met(cells) for each in rule.requirements]
    # A rule that calls nothing positive has no single threshold.
    if met and not (np.all(met, 0)[1:].any() if rule.size == 1 else np.any(met, 1).all()):
        raise refusal(rule.requirements, cells, candidates.thresholds)
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
        posterior=post if rule.prevalence is None else post.at_prevalence(rule.prevalence),
        apparent=_matrix(placed(candidates.counts, chosen)[:, [-1, 0]], labels, positive),
        prob_met=prob_met(rule.requirements, cells, chosen),
        rule=rule.words,
        judged=LESS_OPTIMISM if test is None else BY_TEST_SET,
        candidates=candidates,
        best=rule.best,
        abstention_rate=rate if rule.size == 2 else None,
    )


# ── The thresholds among which one is chosen ──


@held
class Candidates(NamedTuple):
    """Thresholds (T,), inf and then scores from the greatest down, and counts (2, T − 1) of examples between them.

    The counts are of negatives, and of positives, that score at least each candidate and less than the one before.
    """

    thresholds: Array
    counts: Counts

    @property
    def cells(self) -> Cells:
        """The cells at the thresholds, (T,) each."""
        return cells_of(self.counts)


def candidates_of(y_true: Any, y_score: ArrayLike | None, pos_label: Any) -> tuple[Candidates, tuple[Any, Any], Any]:
    """Return the candidates of labels and scores, both labels, and the positive one."""
    scores = scores_of(y_true, y_score, pos_label)
    if isinstance(scores, BinnedScores):
        labels, positive = (0, 1), 1
        binned = scores
    else:
        labels, positive = scores.labels, scores.pos_label
        ascending = scores.thresholds[::-1]
        if not np.isfinite(ascending).all():
            raise InputError("y_score", "has infinite values, and a threshold at one says nothing: clip them.")
        called = (np.append(of_class, 0) for of_class in scores.called(ascending))
        false, true = (-np.diff(of_class) for of_class in called)
        binned = BinnedScores.from_counts(positives=true, negatives=false, values=ascending)
    binned = binned.coarsened(MOST_CANDIDATES // 2)
    counts = np.stack([binned.negatives, binned.positives])[:, ::-1]
    return Candidates(np.concatenate([[np.inf], binned.values[::-1]]), counts), labels, positive


def placed(counts: Counts, chosen: Codes) -> Counts:
    """Return sums of counts (…, 2, T − 1) in each place among chosen thresholds (…, size): (…, 2, size + 1)."""
    called = np.concatenate([np.zeros_like(counts[..., :1]), counts.cumsum(-1)], axis=-1)
    at = np.take_along_axis(called, np.repeat(chosen[..., None, :], 2, axis=-2), -1)
    return np.diff(np.concatenate([np.zeros_like(at[..., :1]), at, called[..., -1:]], axis=-1), axis=-1)


# ── Judging without a test set ──


def drawn_shares(candidates: Candidates, rule: Rule, chosen: Codes, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of the proportions of examples by class and place, (draws, 2, size + 1), less optimism.

    Negatives come first, and examples above the strictest threshold; the proportions of both classes sum to 1.

    The posterior of the proportions at fixed thresholds is Dirichlet(counts + ½). Data sets drawn from the examples
    with replacement each choose their own thresholds. The optimism (Efron 1983; Harrell, Lee & Mark 1996) is the factor
    by which the odds of each place are larger in the data set that chose than in the examples that it was drawn from.
    The odds in the posterior are divided by this factor. Both odds come from means over the data sets, of proportions
    to which, as in the posterior, half an example is added in each place: so a place that is empty wherever it was
    chosen has no odds of 0. The number of examples in each class stays the same: nobody chose by that.
    """
    apparent, actual = _chosen_anew(candidates.counts, rule, draws, rng)
    ratio = actual / apparent
    weights = rng.standard_gamma(placed(candidates.counts, chosen) + UNSEEN, (draws, 2, rule.size + 1))
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
            weights = placed(examples, chosen) + UNSEEN
            sums[i] += (weights / weights.sum(-1, keepdims=True)).sum(0)
    return sums[0] / draws, sums[1] / draws


def _posterior_of_draws(cells: Array, labels: tuple[Any, Any], positive: Any) -> Posterior:
    """Return the posterior of cells (draws, actual, predicted), negative before positive."""
    order = slice(None, None, -1) if labels[0] == positive else slice(None)
    coords = {dim: list(labels) for dim in CELL_DIMS}
    source = StoredDraws(
        stored(cells[:, order, order], xr.DataArray(np.zeros((2, 2)), coords, CELL_DIMS)), independent_draws=True
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
    false, true = scores.called(thresholds)
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
    extra = UNSEEN * np.array([2, 4])
    distribution = Beta(*np.array([[[left + extra[0]]], [[of_all - left + extra[1]]]]))
    observed = xr.DataArray(left / of_all, {"trials": of_all}, name=ABSTENTION_RATE)
    return Marginal(_rate_quantity(BY_TEST_SET), distribution, NO_DIMS, random_seed=seed, score=observed)


def _rate_quantity(judged: str) -> Quantity:
    return Quantity(ABSTENTION_RATE, Scope("chosen", detail=judged), words="abstention rate", bounds=(0.0, 1.0))
