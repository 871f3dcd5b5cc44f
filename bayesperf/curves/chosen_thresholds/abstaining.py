"""Two thresholds: what scores below both is called negative, what scores above both positive, the rest is abstained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.random_streams import stream
from bayesperf.core.saving import Saved
from bayesperf.core.words import enumerated, sentence
from bayesperf.curves.chosen_thresholds.candidates import Candidates, candidates_of
from bayesperf.curves.chosen_thresholds.optimism import drawn_shares, placed
from bayesperf.curves.chosen_thresholds.pairs import pair_rule
from bayesperf.curves.chosen_thresholds.requirements import prob_met, refusal, requirements_of
from bayesperf.curves.chosen_thresholds.rules import PSEUDO_EXAMPLES
from bayesperf.curves.chosen_thresholds.threshold import (
    BY_TEST_SET,
    LESS_OPTIMISM,
    matrix,
    posterior_of_draws,
    test_scores,
)
from bayesperf.curves.curve_marginals import marginal_of_draws
from bayesperf.data.classifier_scores import Scores
from bayesperf.distributions.beta import Beta
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_in_words import estimate_in_words
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.summary_table import Summary, summary_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABSTENTION_RATE = "abstention_rate"
DECISIONS = ["negative", "abstain", "positive"]
_SHOWN = ("precision", "npv", "accuracy")


@dataclass(frozen=True, eq=False, repr=False)
class Abstention(Saved):
    """Two thresholds, the share of examples between them, and what is decided. Made by `bayesperf.curves.abstention`.

    Attributes
    ----------
    low, high : float
        What scores less than `low` is called negative, what scores at least `high` positive; the rest is left to
        people. inf for `high` calls nothing positive.
    abstention_rate : Marginal
        The share of examples that is left to people.
    decided : Posterior
        Of the confusion matrix of those that are not.
    apparent : xarray.DataArray
        Counts (actual, decision) of the examples that chose the thresholds; decisions are "negative", "abstain" and
        "positive".
    prob_met : xarray.DataArray
        The probability that each requirement is met, over ``requirement``, by the examples that chose: each by itself,
        and as if its threshold had been named beforehand (see `bayesperf.curves.ChosenThreshold`).
    rule, judged : str
        What was asked for, and by which examples it is judged, in words.
    candidates : Candidates
        The thresholds that were tried.
    """

    low: float
    high: float
    abstention_rate: Marginal
    decided: Posterior
    apparent: xr.DataArray
    prob_met: xr.DataArray
    rule: str
    judged: str
    candidates: Candidates

    def __getitem__(self, metric: str | Metric) -> Marginal:
        """Return the distribution of a metric of the examples that are decided, or the "abstention_rate"."""
        return self.abstention_rate if metric == ABSTENTION_RATE else self.decided[metric]

    def summary(
        self,
        metrics: str | Metric | Sequence[str | Metric] = _SHOWN,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> pd.DataFrame:
        """Return a tidy table, a row for the abstention rate and for each metric of the examples that are decided.

        Parameters
        ----------
        metrics : str, Metric or sequence of these
            Of the examples that are decided.
        ci_prob : float
            Probability of the interval.
        ci_kind : {"hdi", "eti"}
            Highest-density or equal-tailed.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric, apparent, mean, sd, median, ci_lower, ci_upper, method, mcse, mcse_interval``.
            ``apparent`` is the value by the examples that chose the thresholds.
        """
        names = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
        marginals = [self.abstention_rate, *(self.decided[metric] for metric in names)]
        table = summary_rows(marginals, ci_prob, ci_kind).drop(columns="undefined")
        table.insert(1, "apparent", [self._apparent_rate, *(self._apparent(get(metric)) for metric in names)])
        summary = Summary(table)
        summary.attrs = {
            "ci_prob": ci_prob,
            "ci_kind": ci_kind,
            "estimand": "Posterior of the abstention rate, and of metrics of the examples that are decided",
            "prior": self.decided.prior_text,
            "note": f"Thresholds {self.low:.6g} and {self.high:.6g}, of {self.rule}; {self.judged}.",
        }
        return summary

    @property
    def _apparent_rate(self) -> float:
        return float(self.apparent.sel(decision="abstain").sum() / self.apparent.sum())

    def _apparent(self, metric: Metric) -> float:
        negatives, positives = self.apparent.sel(decision=["negative", "positive"]).values
        return float(metric.of_binary(tp=positives[1], fn=positives[0], fp=negatives[1], tn=negatives[0]))

    def in_words(
        self,
        metrics: str | Metric | Sequence[str | Metric] = _SHOWN,
        *,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> str:
        """Return sentences on the thresholds, on what is left to people, and on what is decided.

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
        names = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
        rate = estimate_in_words(self.abstention_rate, ci_prob, ci_kind)
        decided = [estimate_in_words(self.decided[metric], ci_prob, ci_kind) for metric in names]
        between = (
            f"what scores below {self.low:.4g} is called negative, what scores at least {self.high:.4g} positive, and "
            "the rest is left to people"
            if self.low < self.high
            else f"one threshold is enough, {self.high:.4g}, and nothing is left to people"
        )
        parts = [
            f"{self.rule}: {between}",
            f"{self.judged}, {rate}",
            f"of those that are decided, {enumerated(decided)}",
        ]
        return " ".join(map(sentence, parts))

    def plot(self, **options: Any) -> Figure:
        """Draw the scores of either class, and what is decided where; see `bayesperf.plots.score_regions`."""
        from bayesperf import plots

        return plots.score_regions(self, **options)

    def __repr__(self) -> str:
        return f"<bayesperf.curves.Abstention: from {self.low:.6g} to {self.high:.6g}, {self.rule}; {self.judged}>"

    def _repr_html_(self) -> str:
        table: str = self.summary()._repr_html_()  # type: ignore[operator]
        return f"<p>{escape(self.in_words())}</p>{table}"


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
) -> Abstention:
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
    Abstention

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
    >>> round(two.low, 2), round(two.high, 2), two.apparent.sel(decision="abstain").sum().item()
    (0.62, 1.75, 131)
    """
    level = checks.probability("confidence", confidence)
    n_draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    rule, goal = pair_rule(cost, max_abstention, requirements_of(requirements), level)
    candidates, labels, positive = candidates_of(y_true, y_score, pos_label)
    cells = candidates.cells
    for each in rule.requirements:
        if not each.met(cells, level).any():
            raise refusal(rule.requirements, cells, candidates.thresholds, level)
    chosen = rule.choose(cells)
    high, low = candidates.thresholds[chosen].tolist()
    if test is None:
        rng = stream(seed, "abstention", candidates.counts)
        shares = drawn_shares(candidates, rule, chosen, n_draws, rng)
        decided: Posterior = posterior_of_draws(_decided(shares), labels, positive)
        left = shares[..., 1].sum(-1) if low < high else np.zeros(n_draws)
        rate = marginal_of_draws(_quantity(LESS_OPTIMISM), left, xr.DataArray(0.0), seed)
    else:
        tested = _tested(test_scores(test, labels, positive), high, low)
        decided = posterior(matrix(tested[:, [2, 0]], labels, positive), "jeffreys")
        rate = _rate(tested, seed)
    coords = {"actual": [next(label for label in labels if label != positive), positive], "decision": DECISIONS}
    return Abstention(
        low=low,
        high=high,
        abstention_rate=rate,
        decided=decided,
        apparent=xr.DataArray(placed(candidates.counts, chosen)[:, ::-1], coords, ("actual", "decision")),
        prob_met=prob_met(rule.requirements, cells, chosen),
        rule=goal,
        judged=LESS_OPTIMISM if test is None else BY_TEST_SET,
        candidates=candidates,
    )


def _decided(shares: Array) -> Array:
    """Return draws of the cells (draws, actual, predicted) of those that are decided, from shares in three places."""
    cells = shares[..., [2, 0]]
    return np.asarray(cells / cells.sum((-2, -1), keepdims=True))


def _tested(scores: Scores, high: float, low: float) -> Counts:
    """Return how many test examples are in each place, (2, 3), from those above the strictest threshold down."""
    true, false = scores.called([high, low])
    negatives, positives = scores.class_totals
    return np.diff([[0, *false, negatives], [0, *true, positives]], axis=-1)


def _rate(tested: Counts, seed: int) -> Marginal:
    """Return the posterior of the abstention rate: of six cells, each with half an example, the two between."""
    left, of_all = int(tested[:, 1].sum()), int(tested.sum())
    extra = PSEUDO_EXAMPLES * np.array([2, 4])
    distribution = Beta(*np.array([[[left + extra[0]]], [[of_all - left + extra[1]]]]))
    observed = xr.DataArray(left / of_all, {"trials": of_all}, name=ABSTENTION_RATE)
    return Marginal(_quantity(BY_TEST_SET), distribution, xr.DataArray(0.0), random_seed=seed, score=observed)


def _quantity(judged: str) -> Quantity:
    return Quantity(ABSTENTION_RATE, Scope("chosen", detail=judged), words="abstention rate", bounds=(0.0, 1.0))
