"""What more examples are worth to a decision: to follow a system at a threshold, to treat all, or to treat none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Held
from bayesperf.core.words import chance, percentage, sentence
from bayesperf.curves.decisions.benefit_curve import DecisionCurve, decision_curve
from bayesperf.curves.decisions.placed_examples import SYSTEM, TREAT_ALL, TREAT_NONE
from bayesperf.plan.plan_result import Plan, UnreachableError
from bayesperf.plan.smallest_number import smallest_by_bisection

DRAWS = 20_000
_STRATEGIES = {SYSTEM: "following the system", TREAT_ALL: "treating all", TREAT_NONE: "treating none"}


@dataclass(frozen=True, eq=False)
class DecisionValue(Held):
    """The value of more examples to a decision, in net benefit per example decided upon."""

    # The decision curve at this one threshold.
    strategies: DecisionCurve

    @property
    def threshold(self) -> float:
        """The probability above which to act, between 0 and 1."""
        return float(self.strategies.data.thresholds[0])

    @property
    def best(self) -> str:
        """The best strategy, given the data so far: "system", "treat_all" or "treat_none"."""
        means = self.strategies.strategies.isel(threshold=0).mean("draw")
        return str(means["strategy"].values[means.values.argmax()])

    @property
    def prob_best(self) -> float:
        """The probability that this strategy is the best."""
        return float(self.strategies.prob_best.isel(threshold=0).sel(strategy=self.best))

    def curve(self, n: Counts) -> tuple[Array, Array]:
        values = [float(self.strategies.value_of_more_examples(each).squeeze()) if each else 0.0 for each in n.tolist()]
        return np.array(values), np.full(len(n), np.nan)

    def in_words(self, plan: Plan) -> str:
        so_far = f"at threshold {self.threshold:g} {_STRATEGIES[self.best]} is the best so far, with probability "
        parts = [f"{so_far}{chance(self.prob_best)}"]
        if not plan.n:
            return " ".join(map(sentence, [*parts, "more examples would not change that"]))
        per = f"{1000 * plan.limit:.2g} positives found per 1,000 decisions"
        parts.append(f"to be certain which is the best would be worth {per}, without a false alarm more")
        parts.append(
            f"about {plan.n:,} more examples are expected to bring {percentage(plan.target / plan.limit)} of that"
        )
        return " ".join(map(sentence, parts))


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
) -> Plan:
    """Return what more labelled examples are worth to a decision, and how many leave little to be gained.

    The decision is whether to follow a system at a threshold, to treat all, or to treat none. As long as you do not
    know which does the most good, you may take the wrong one. Examples are worth the loss that they prevent: the
    expected value of sample information (Sadatsafavi et al. 2025).

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities of the examples so far, as in `bayesperf.decision_curve`; or BinnedScores.
    threshold : float
        The probability above which to act, between 0 and 1.
    share : float
        The proportion of the value of perfect information that the examples must bring.
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    draws : int
        Number of draws from the posterior, and of new data sets.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Plan
        Its ``curve`` is the value of more examples, its ``limit`` the value of perfect information, and its ``target``
        the required proportion of that.

    Raises
    ------
    ValueError
        As `bayesperf.decision_curve`.
    UnreachableError
        If a million examples do not bring that proportion.

    Notes
    -----
    The answer is accurate to one part in fifty, and rests on simulated data sets: with 20,000 draws, another seed moves
    it by some per cent. The value is per example decided upon. Multiply it by the number of such examples and subtract
    the cost of the labels to see whether they are worth it at all.

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
    target, n = wanted * perfect, 0
    if perfect > 0:
        found = smallest_by_bisection(
            lambda m: m > 0 and bool(curve.value_of_more_examples(m).squeeze() >= target), exact=False
        )
        if found is None:
            raise UnreachableError(
                f"share: a million examples do not bring {percentage(wanted)} of the value. Ask for less.", perfect
            )
        n = found
    model = DecisionValue(curve)
    return Plan(
        n=n,
        counts="examples",
        claim=f"knowing which strategy is the best at threshold {at:g}",
        aim="value",
        target=target,
        reached=model.curve(np.array([n]))[0].item(),
        mcse=np.nan,
        limit=perfect,
        basis=f"{curve.data.class_totals.sum():,} examples",
        share=1.0,
        model=model,
    )
