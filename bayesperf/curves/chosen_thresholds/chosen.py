"""Thresholds as they were chosen, one or two, and what they do to other examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr

from bayesperf.core.answer import Answer
from bayesperf.core.words import chance, enumerated, format_value, metric_title, sentence
from bayesperf.curves.chosen_thresholds.candidates import Candidates
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.summary_table import Summary, summary_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What results are of, by whether there is a test set.
BY_TEST_SET = "judged by the test set"
LESS_OPTIMISM = "less the optimism of judging by the examples that chose it"
ABSTENTION_RATE = "abstention_rate"
_SHOWN, _SHOWN_OF_DECIDED = ("recall", "specificity", "precision"), ("precision", "npv", "accuracy")


@dataclass(frozen=True, eq=False, repr=False)
class ChosenThreshold(Answer):
    """A threshold, or two between which people decide, and the posterior of what is decided.

    Made by `bayesperf.choose_threshold`, and of two by `bayesperf.curves.abstention`. ``chosen[metric]`` is the
    distribution of a metric, of two thresholds also that of the "abstention_rate".

    Attributes
    ----------
    low, high : float
        What scores at least `high` is called positive, what scores less than `low` negative, and the rest is left to
        people: nothing, if they are the same. inf for `high` calls nothing positive.
    posterior : Posterior
        Of the confusion matrix of the examples that are decided, without the optimism of those that chose.
    apparent : ConfusionMatrix
        The counts of the examples that chose, by which a threshold looks better than it is, as far as they are decided.
    prob_met : xarray.DataArray
        The probability that each requirement is met, over ``requirement``, by the examples that chose the threshold.
        Each is taken by itself: one requirement at a time, and as if its threshold had been named beforehand. A search
        passes by luck more often; the ``confidence`` of `choose_threshold` allows for that, these figures do not.
    rule, judged : str
        What was asked for, and by which examples it is judged, in words.
    candidates : Candidates
        The thresholds that were tried.
    best : Metric or None
        What is best at one threshold.
    abstention_rate : Marginal or None
        The share of examples that two thresholds leave to people.
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

    @property
    def threshold(self) -> float:
        """What scores at least this is called positive."""
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
        """Return a tidy table, a row a metric of the examples that are decided, after the abstention rate of two.

        Parameters
        ----------
        metrics : str, Metric or sequence of these, optional
            By default what was asked for, recall, specificity and precision; of two thresholds precision, npv and
            accuracy.
        ci_prob : float
            Probability of the interval.
        ci_kind : {"hdi", "eti"}
            Highest-density or equal-tailed.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric, apparent, mean, sd, median, ci_lower, ci_upper, method, mcse, mcse_interval``, with
            ``observed`` after ``apparent`` if there is a test set. ``apparent`` is the value by the examples that
            chose.
        """
        shown = self._shown(metrics)
        table = self.posterior.summary(shown, ci_prob, ci_kind)
        attrs = table.attrs
        table.insert(1, "apparent", [self._apparent(metric) for metric in shown])
        if self.abstention_rate is not None:
            rate = summary_rows([self.abstention_rate], ci_prob, ci_kind, [self.abstention_rate.observed.values])
            table = pd.concat([rate.assign(apparent=self._apparent_rate), table], ignore_index=True)[[*table.columns]]
        if self.posterior.observed is None:
            table = table.drop(columns="observed")
        at = f"Threshold {self.high:.6g}" if self.best else f"Thresholds {self.low:.6g} and {self.high:.6g}"
        summary = Summary(table)
        summary.attrs = attrs | {"note": f"{at}, of {self.rule}; {self.judged}."}
        return summary

    @property
    def _apparent_rate(self) -> float:
        examples = int(self.candidates.counts.sum())
        return (examples - int(self.apparent.counts.sum())) / examples

    def _apparent(self, metric: Metric) -> float:
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
        """Return sentences on what was chosen, and on metrics there, with the figures of `summary`.

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
                apparent = format_value(self._apparent(shown[0]))
                title = self.posterior[shown[0]].quantity.title
                parts.append(f"by the examples that chose it {title} would be {apparent}")
        return " ".join(map(sentence, [f"{self.rule}: {self._thresholds_in_words}", *parts]))

    @property
    def _thresholds_in_words(self) -> str:
        if self.abstention_rate is None:
            return f"threshold {self.high:.4g}"
        if self.low == self.high:
            return f"one threshold is enough, {self.high:.4g}, and nothing is left to people"
        return (
            f"what scores below {self.low:.4g} is called negative, what scores at least {self.high:.4g} positive, and "
            "the rest is left to people"
        )

    def plot(self, **options: Any) -> Figure:
        """Draw the scores of either class, and what is decided where; see `bayesperf.plots.score_regions`."""
        from bayesperf import plots

        return plots.score_regions(self, **options)

    def __repr__(self) -> str:
        at = f"{self.high:.6g}" if self.abstention_rate is None else f"from {self.low:.6g} to {self.high:.6g}"
        return f"<bayesperf.curves.ChosenThreshold: {at}, {self.rule}; {self.judged}>"


def _met_in_words(prob_met: xr.DataArray) -> str:
    """Return with which probability each requirement is met, taken by itself, for a sentence."""
    each = zip(prob_met["requirement"].values.tolist(), prob_met.values.tolist(), strict=True)
    met = [f"{chance(p)} for {metric_title(name)}" for name, p in each]
    alone = "each requirement alone" if len(met) > 1 else "the requirement"
    return f"at this threshold, had it been named beforehand, {alone} is met with probability {enumerated(met)}"
