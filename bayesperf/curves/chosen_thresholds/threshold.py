"""One threshold, chosen by costs, by a metric or under requirements, and what it does to other examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.random_streams import stream
from bayesperf.core.words import chance, enumerated, format_value, metric_title, sentence
from bayesperf.curves.chosen_thresholds.candidates import Candidates, candidates_of
from bayesperf.curves.chosen_thresholds.optimism import drawn_shares
from bayesperf.curves.chosen_thresholds.requirements import prob_met, refusal, requirements_of
from bayesperf.curves.chosen_thresholds.rules import best_threshold
from bayesperf.data.classifier_scores import Scores
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.quantity import Scope
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored
from bayesperf.posteriors.summary_table import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What results are of, by whether there is a test set.
BY_TEST_SET = "judged by the test set"
LESS_OPTIMISM = "less the optimism of judging by the examples that chose it"
CORRECTED = Scope("chosen", detail=LESS_OPTIMISM)
_SHOWN = ("recall", "specificity", "precision")


@dataclass(frozen=True, eq=False, repr=False)
class ChosenThreshold(Answer):
    """A threshold, and the posterior of what it does. Made by `bayesperf.choose_threshold`.

    Attributes
    ----------
    threshold : float
        What scores at least this is called positive; inf calls nothing so.
    posterior : Posterior
        Of the confusion matrix at that threshold, without the optimism of the examples that chose it.
    apparent : ConfusionMatrix
        The counts at the threshold of the examples that chose it, by which it looks better than it is.
    prob_met : xarray.DataArray
        The probability that each requirement is met, over ``requirement``, by the examples that chose the threshold.
        Each is taken by itself: one requirement at a time, and as if this threshold had been named beforehand. A search
        passes by luck more often; the ``confidence`` of `choose_threshold` allows for that, these figures do not.
    best : Metric
        What is best at it.
    rule, judged : str
        What was asked for, and by which examples it is judged, in words.
    candidates : Candidates
        The thresholds that were tried.
    """

    threshold: float
    posterior: Posterior
    apparent: ConfusionMatrix
    prob_met: xr.DataArray
    best: Metric
    rule: str
    judged: str
    candidates: Candidates

    def __getitem__(self, metric: str | Metric) -> Marginal:
        """Return the distribution of a metric at the threshold, as ``posterior[metric]`` does."""
        return self.posterior[metric]

    def _shown(self, metrics: str | Metric | Sequence[str | Metric] | None) -> list[Metric]:
        """Return metrics, by default what was asked for, then recall, specificity and precision."""
        if metrics is not None:
            return [get(metric) for metric in ([metrics] if isinstance(metrics, str | Metric) else metrics)]
        asked = [self.best, *(get(name) for name in self.prob_met["requirement"].values.tolist())]
        return list({metric.name: metric for metric in (*asked, *map(get, _SHOWN))}.values())

    def summary(
        self,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> pd.DataFrame:
        """Return a tidy table, a row a metric at the threshold.

        Parameters
        ----------
        metrics : str, Metric or sequence of these, optional
            By default what was asked for, recall, specificity and precision.
        ci_prob : float
            Probability of the interval.
        ci_kind : {"hdi", "eti"}
            Highest-density or equal-tailed.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric, apparent, mean, sd, median, ci_lower, ci_upper, method, mcse, mcse_interval``, with
            ``observed`` after ``apparent`` if there is a test set. ``apparent`` is the value by the examples that chose
            the threshold.
        """
        shown = self._shown(metrics)
        table = self.posterior.summary(shown, ci_prob, ci_kind)
        attrs = table.attrs
        if self.posterior.observed is None:
            table = table.drop(columns="observed")
        table.insert(1, "apparent", [self._apparent(metric) for metric in shown])
        summary = Summary(table)
        summary.attrs = attrs | {"note": f"Threshold {self.threshold:.6g}, of {self.rule}; {self.judged}."}
        return summary

    def _apparent(self, metric: Metric) -> float:
        """Return a metric by the examples that chose the threshold, at the prevalence of the posterior."""
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
        """Return sentences on the threshold and on metrics there, with the figures of `summary`.

        Parameters
        ----------
        metrics, ci_prob, ci_kind
            As in `summary`.

        Examples
        --------
        >>> import numpy as np
        >>> import bayesperf as bp
        >>> y = np.repeat([0, 1], [300, 100])
        >>> score = np.random.default_rng(0).normal(2 * y)
        >>> chosen = bp.choose_threshold(y, score, best="precision", requirements={"recall": 0.8}, draws=400)
        >>> print(chosen.in_words("recall").partition(": ")[0])
        Best precision, with recall at least 0.8, with probability 0.95
        """
        shown = [self.posterior[metric] for metric in self._shown(metrics)]
        estimates = [estimate_in_words(marginal, ci_prob, ci_kind) for marginal in shown]
        parts = [f"{self.rule}: threshold {self.threshold:.4g}", f"{self.judged}, {enumerated(estimates)}"]
        if self.prob_met.size:
            parts.insert(1, met_in_words(self.prob_met))
        if self.judged == LESS_OPTIMISM:
            apparent = self._apparent(self._shown(metrics)[0])
            parts.append(f"by the examples that chose it {shown[0].quantity.title} would be {format_value(apparent)}")
        return " ".join(map(sentence, parts))

    def plot(self, **options: Any) -> Figure:
        """Draw the scores of either class, and the threshold; see `bayesperf.plots.score_regions`."""
        from bayesperf import plots

        return plots.score_regions(self, **options)

    def __repr__(self) -> str:
        return f"<bayesperf.curves.ChosenThreshold: {self.threshold:.6g}, {self.rule}; {self.judged}>"


def met_in_words(prob_met: xr.DataArray) -> str:
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
    rule, goal = best_threshold(best, cost, requirements_of(requirements), level, share)
    n_draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    candidates, labels, positive = candidates_of(y_true, y_score, pos_label)
    cells = candidates.cells
    if rule.requirements and not rule.met(cells)[1:].any():
        raise refusal(rule.requirements, cells, candidates.thresholds, level)
    at = int(rule.choose(cells)[0])
    threshold = float(candidates.thresholds[at])
    post: Posterior
    if test is None:
        rng = stream(seed, "choose_threshold", candidates.counts)
        shares = drawn_shares(candidates, rule, np.array([at]), n_draws, rng)
        post = posterior_of_draws(shares[..., ::-1], labels, positive)
    else:
        post = posterior(test_counts(test, threshold, labels, positive), "jeffreys")
    return ChosenThreshold(
        threshold=threshold,
        posterior=post if share is None else post.at_prevalence(share),
        apparent=matrix(np.array([[cells.tn[at], cells.fp[at]], [cells.fn[at], cells.tp[at]]]), labels, positive),
        prob_met=prob_met(rule.requirements, cells, np.array([at])),
        best=rule.metric,
        rule=goal,
        judged=LESS_OPTIMISM if test is None else BY_TEST_SET,
        candidates=candidates,
    )


def posterior_of_draws(shares: Array, labels: tuple[Any, Any], positive: Any) -> Posterior:
    """Return the posterior of cells, given draws (draws, actual, predicted), negative before positive."""
    order = slice(None, None, -1) if labels[0] == positive else slice(None)
    coords = {dim: list(labels) for dim in CELL_DIMS}
    cells = stored(shares[:, order, order], xr.DataArray(np.zeros((2, 2)), coords, CELL_DIMS))
    prior_text = "Jeffreys' Dirichlet (0.5 in each cell)"
    source = StoredDraws(cells, independent=True)
    return Posterior(source=source, pos_label=positive, prior_text=prior_text, scope=CORRECTED)


def matrix(cells: Counts, labels: tuple[Any, Any], positive: Any) -> ConfusionMatrix:
    """Return the confusion matrix of cells (actual, predicted), negative before positive."""
    order = slice(None, None, -1) if labels[0] == positive else slice(None)
    coords = {dim: list(labels) for dim in CELL_DIMS}
    return ConfusionMatrix(xr.DataArray(cells[order, order], coords, CELL_DIMS), positive)


def test_scores(test: Any, labels: tuple[Any, Any], positive: Any) -> Scores:
    """Return the scores of a test set, checked: it must have the classes of the examples that choose."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise InputTypeError("test", "must be (y_true, y_score), labels and scores of other examples.")
    y_true, y_score = test
    scores = Scores.of(y_true, y_score, positive, "test: y_score")
    if set(scores.labels) != set(labels):
        raise InputError("test", f"its classes are {list(scores.labels)}, those of the other examples {list(labels)}.")
    return scores


def test_counts(test: Any, threshold: float, labels: tuple[Any, Any], positive: Any) -> ConfusionMatrix:
    """Return the confusion matrix of a test set at a threshold."""
    counts = test_scores(test, labels, positive).counts([threshold])
    return ConfusionMatrix(counts.isel(threshold=0, drop=True), positive)
