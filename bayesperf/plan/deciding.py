"""How many more examples is a decision worth: whether to follow a system at a threshold, treat all, or treat none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError
from bayesperf.core.words import chance, percentage, sentence
from bayesperf.curves.decisions.benefit_curve import DecisionCurve, decision_curve
from bayesperf.curves.decisions.net_benefit import SYSTEM, TREAT_ALL, TREAT_NONE
from bayesperf.plan.smallest_number import smallest_by_bisection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWS = 20_000
# How many points the curve has, and how far beyond the answer it goes.
_POINTS, _BEYOND = 13, 4
_STRATEGIES = {SYSTEM: "following the system", TREAT_ALL: "treating all", TREAT_NONE: "treating none"}


@dataclass(frozen=True, eq=False, repr=False)
class DecisionPlan(Answer):
    """What more examples are worth to a decision, and how many leave little to be gained. Made by `decision`.

    Attributes
    ----------
    n : int
        The smallest number of further examples that bring the wished share of all there is to gain; 0 if there is
        nothing to gain.
    threshold : float
        The probability from which on one acts.
    share : float
        The share asked for.
    value_of_perfect_information : float
        What it would be worth to know which strategy is the best, in net benefit per example decided upon.
    best : str
        The strategy that is the best as things stand: "system", "treat_all" or "treat_none".
    prob_best : float
        The probability that it is.
    curve : DecisionCurve
        At the threshold alone.
    """

    n: int
    threshold: float
    share: float
    value_of_perfect_information: float
    best: str
    prob_best: float
    curve: DecisionCurve

    def value(self, n: ArrayLike | None = None) -> xr.DataArray:
        """Return the expected value of so many more examples, in net benefit per example decided upon.

        Parameters
        ----------
        n : int or array-like of int (k,), optional
            By default numbers up to four times the answer.

        Returns
        -------
        xarray.DataArray
            As `DecisionCurve.value_of_more_examples`, with dim ``n`` unless it is one number.
        """
        most = max(_BEYOND * self.n, 100)
        numbers = np.unique(np.geomspace(max(most // 200, 1), most, _POINTS).astype(int)) if n is None else n
        return self.curve.value_of_more_examples(numbers).isel(threshold=0)

    def summary(self, n: ArrayLike | None = None) -> pd.DataFrame:
        """Return a table of numbers of further examples: what they are worth, and which share of all that is.

        Parameters
        ----------
        n : int or array-like of int (k,), optional
            As in `value`.

        Returns
        -------
        pandas.DataFrame
            Columns ``n, value, share``.
        """
        values = self.value(n if n is None else np.atleast_1d(n))
        perfect = self.value_of_perfect_information
        shares = values.values / perfect if perfect else np.ones(len(values))
        return pd.DataFrame({"n": values["n"].values, "value": values.values, "share": shares})

    def in_words(self) -> str:
        """Return sentences: which strategy is best so far, what certainty would be worth, and what it takes.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")[:80]
        >>> plan = bp.plan.decision(frame["actual"], frame["score"], threshold=0.1, pos_label="malignant")
        >>> print(plan.in_words().partition(". ")[0])
        At threshold 0.1 treating all is the best so far, with probability 91 %
        """
        so_far = f"at threshold {self.threshold:g} {_STRATEGIES[self.best]} is the best so far, with probability "
        parts = [f"{so_far}{chance(self.prob_best)}"]
        perfect = self.value_of_perfect_information
        if not self.n:
            return " ".join(map(sentence, [*parts, "more examples would not change that"]))
        per = f"{1000 * perfect:.2g} positives found per 1,000 decisions"
        parts.append(f"to be certain which is the best would be worth {per}, without a false alarm more")
        parts.append(f"about {self.n:,} more examples are expected to bring {percentage(self.share)} of that")
        return " ".join(map(sentence, parts))

    def plot(self, n: ArrayLike | None = None, *, ax: Axes | None = None) -> Figure:
        """Draw what more examples are worth, over their number; see `bayesperf.plots.decision_plan`."""
        from bayesperf import plots

        return plots.decision_plan(self, n, ax=ax)

    def __repr__(self) -> str:
        return (
            f"<bayesperf.DecisionPlan: {self.n} examples bring {percentage(self.share)} of "
            f"{self.value_of_perfect_information:.3g} at threshold {self.threshold:g}>"
        )


@checked
def decision(
    y_true: Any,
    y_prob: ArrayLike | None = None,
    *,
    threshold: float,
    share: float = 0.9,
    pos_label: Any = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> DecisionPlan:
    """Return what more labelled examples are worth to a decision, and how many leave little to be gained.

    The decision is whether to follow a system from a threshold on, to treat all, or to treat none. As long as it is
    uncertain which does the most good the wrong one may be taken, and examples are worth what they save of that: the
    expected value of sample information (Sadatsafavi et al. 2025).

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities of the examples at hand, as in `bayesperf.decision_curve`; or BinnedScores.
    threshold : float
        The probability from which on one acts, between 0 and 1.
    share : float
        The share of the value of perfect information that the examples are to bring.
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    draws : int
        Of the posterior, and so many new data sets.
    random_seed : int or numpy.random.Generator
        Their seed.

    Returns
    -------
    DecisionPlan

    Raises
    ------
    ValueError
        As `bayesperf.decision_curve`; or if a million examples do not bring that share.

    Notes
    -----
    The answer is found to one part in fifty, and rests on simulated data sets: with 20,000 draws another seed moves it
    by some per cent. The value is per example decided upon: times how many there will be, and less what labels cost, it
    says whether they are worth having at all.

    References
    ----------
    Sadatsafavi, Vickers, Lee, Gustafson & Wynants (2025), Expected value of sample information calculations for risk
    prediction model validation, Medical Decision Making.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")[:80]
    >>> plan = bp.plan.decision(frame["actual"], frame["score"], threshold=0.1, pos_label="malignant")
    >>> 1500 < plan.n < 3000
    True
    """
    at, wanted = checks.probability("threshold", threshold), checks.probability("share", share)
    curve = decision_curve(y_true, y_prob, thresholds=[at], pos_label=pos_label, draws=draws, random_seed=random_seed)
    perfect = float(curve.value_of_perfect_information.squeeze())
    means = curve.strategies.isel(threshold=0).mean("draw")
    best = str(means["strategy"].values[means.values.argmax()])
    target = wanted * perfect
    n = 0
    if perfect > 0:
        found = smallest_by_bisection(
            lambda m: m > 0 and bool(curve.value_of_more_examples(m).squeeze() >= target), exact=False
        )
        if found is None:
            raise InputError(
                "share", f"a million examples do not bring {percentage(wanted)} of the value.", "Ask for less."
            )
        n = found
    prob_best = float(curve.prob_best.isel(threshold=0).sel(strategy=best))
    return DecisionPlan(n, at, wanted, perfect, best, prob_best, curve)
