"""How many examples do we need? Plans for the next test set, from the evidence so far and its uncertainty.

`sample_size` asks when a requirement will be shown to be met (or settled either way), `comparison` when one system will
be shown to be better than another, `precision` when an interval will be narrow enough.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from bayesperf import prior as priors
from bayesperf.core import checks
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.counts.paired import PairedConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.plan import evidence as evidence_
from bayesperf.plan.evidence import Evidence, MetricEvidence
from bayesperf.plan.interval_width import IntervalWidth
from bayesperf.plan.one_count import OneCount
from bayesperf.plan.result import Plan, PlanText, Source, UnreachableError, planned
from bayesperf.plan.simulated import SimulatedOutcomes, of_metric
from bayesperf.plan.two_counts import independent, paired
from bayesperf.posteriors.joint import discordant
from bayesperf.posteriors.posterior import Posterior

__all__ = ["Plan", "UnreachableError", "comparison", "precision", "sample_size"]

Question = Literal["meet", "settle"]
# Simulated outcomes, where there are more than can be summed up.
SIMULATIONS = 1000


def sample_size(
    requirement: float,
    confidence: float = 0.95,
    assurance: float = 0.8,
    metric: str | Metric = "recall",
    prior: str | priors.Prior | None = None,
    evidence: Evidence = None,
    *,
    question: Question = "meet",
    prevalence: float | None = None,
    simulations: int = SIMULATIONS,
    random_seed: Any = 0,
) -> Plan:
    """Return how many new examples will show that a metric meets a requirement.

    The smallest number from which on, with probability at least `assurance` over what the new examples may show, the
    posterior probability that the metric meets the requirement will be at least `confidence`.

    Parameters
    ----------
    requirement : float
        What the metric is to be above; below, if less of it is better.
    confidence : float
        Posterior probability that shows the requirement met, above 0.5.
    assurance : float
        Probability, as the evidence stands, that the new examples will show it.
    metric : str or Metric
        What is required.
    prior : str or Prior, optional
        As in `bayesperf.posterior`; not beside a Posterior.
    evidence : ConfusionMatrix, Posterior or (successes, trials), optional
        What is known so far; by default the prior alone. Two counts are of the metric's own trials, of two classes:
        positives found and positives for recall, false positives and negatives for fpr, true positives and all that are
        or are called positive for jaccard and f1.
    question : {"meet", "settle"}
        "meet": to show that the requirement is met. "settle": to show that it is, or that it is not (posterior
        probability at most 1 − `confidence`).
    prevalence : float, optional
        Share of positives among the examples to come, for metrics of positives or of negatives alone; by default that
        of the evidence. It is for `Plan.examples` only.
    simulations : int
        Of metrics without a Beta posterior: how many outcomes are simulated, unless there are fewer.
    random_seed : int or numpy.random.Generator
        Their seed.

    Returns
    -------
    Plan
        Its ``n`` counts the metric's trials, positives for recall; of metrics without a Beta posterior, examples.

    Raises
    ------
    UnreachableError
        A ValueError: with question "meet", if the requirement is met with a probability of at most `assurance` as the
        evidence stands. Ever more examples end in certainty, one way or the other, and the assurance tends to that
        probability. The error states it, and what would settle the question.
    ValueError
        If the metric cannot be had or has no better direction, the requirement is outside its bounds, a million trials
        are not enough, or another argument is not of its kind.

    Notes
    -----
    With S ~ Beta(a, b) the share behind the metric (itself, or one of which it is a monotone function), n new trials
    bring K ~ Beta-binomial(n, a, b) successes, and P(S > x | K) grows with K: the assurance is one tail of the
    Beta-binomial, an exact sum. It is not monotone in n but has the teeth of a saw, as the number of successes that is
    needed is whole; every n up to twice the answer is looked at. Of other metrics (balanced accuracy, MCC, macro
    averages) all outcomes are summed up if they are at most `simulations`, else so many are simulated. `Plan.mcse` is
    the error of the assurance at n; as the curve is flat, n itself differs by a tenth to a fifth between seeds, and
    more simulations narrow it down. Of metrics that are known by draws, each outcome's probability is itself drawn
    (1,000 draws).

    Adcock (1997), Sample size determination: a review; O'Hagan, Stevens and Campbell (2005), Assurance in clinical
    trial design.

    Examples
    --------
    Of 5 positives 4 were found, and recall must not be below 0.7:

    >>> import bayesperf as bp
    >>> try:
    ...     bp.plan.sample_size(0.7, metric="recall", evidence=(4, 5))
    ... except bp.plan.UnreachableError as error:
    ...     print(f"The assurance tends to {error.limit:.3f}; {error.settles.n} positives settle it.")
    The assurance tends to 0.580; 264 positives settle it.
    >>> plan = bp.plan.sample_size(0.7, metric="recall", evidence=(4, 5), question="settle", prevalence=0.1)
    >>> plan.n, plan.examples
    (264, 2640)
    >>> plan.curve([200, 400]).values.round(3)
    array([0.769, 0.84 ])

    Of 50 positives 40 were found: the requirement is probably met, and can be shown to be.

    >>> bp.plan.sample_size(0.7, metric="recall", evidence=(40, 50))
    <bayesperf.Plan: 208 positives; assurance 0.8136 (wanted 0.8) of P(recall > 0.7) ≥ 0.95>
    """
    _check_probabilities(confidence, assurance)
    evidence_.requirement_of(metric, requirement)
    known = evidence_.known(evidence, prior, metric)
    source: Source
    if known.distribution is not None:
        source = OneCount(*known.share_above(requirement), confidence)
    else:
        left = of_metric(known.post, known.metric, requirement)
        simulations = checks.count("simulations", simulations, least=100)
        source = SimulatedOutcomes(known.weights(), left, confidence, simulations, checks.seed(random_seed))
    claim = f"{known.metric.title} {'>' if known.metric.greater_is_better else '<'} {requirement:g}"
    words = PlanText(known.trials, claim, known.basis, known.share_of_trials(prevalence))
    return planned(source, assurance, question, words)


def comparison(
    a: Posterior | ConfusionMatrix | PairedConfusionMatrix | tuple[int, int],
    b: Posterior | ConfusionMatrix | tuple[int, int] | None = None,
    metric: str | Metric = "accuracy",
    *,
    margin: float = 0.0,
    confidence: float = 0.95,
    assurance: float = 0.8,
    question: Question = "settle",
    prior: str | priors.Prior | None = None,
    prevalence: float | None = None,
) -> Plan:
    """Return how many new examples will show which of two systems is better.

    Parameters
    ----------
    a : PairedConfusionMatrix, ConfusionMatrix, Posterior or (successes, trials)
        Evidence of the first system; or, with `b` left out, of two judged on the same examples: a paired matrix, or one
        made with ``example=ids``. The new examples are then the same for both, too.
    b : ConfusionMatrix, Posterior or (successes, trials), optional
        Evidence of the second, judged on other examples. Each system then gets new examples of its own.
    metric : str or Metric
        A share of examples, or a function of one; of systems judged on the same examples, a share of all examples of
        certain classes: accuracy, error rate, recall, specificity and the like.
    margin : float
        By how much a must be better; negative if it may be worse by so much (non-inferiority).
    confidence, assurance, prior, prevalence
        As in `sample_size`.
    question : {"settle", "meet"}
        "settle": to show that a is better than b by more than the margin, or that it is not. "meet": to show that it
        is.

    Returns
    -------
    Plan
        Its ``n`` counts the metric's trials of each system.

    Raises
    ------
    UnreachableError
        As `sample_size`.
    ValueError
        If the metric is no such share, or another argument is not of its kind.

    Notes
    -----
    An outcome is two counts: each system's successes or, on the same examples, those on which one alone is right. The
    probability that it leaves rises with a's count and falls with b's, so the assurance is
    Σ_k P(K_b = k) P(K_a ≥ c(k) | k), with c(k) the number at which that probability is enough. Of few examples the sum
    is exact. Of many c(k) is interpolated, and tried where that leaves it open; of more than 2,000 the sum runs over
    evenly spaced k.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, old, new = [1] * 40, [1] * 28 + [0] * 12, [1] * 26 + [0] * 2 + [1] * 6 + [0] * 6
    >>> pair = bp.PairedConfusionMatrix.from_predictions(y_true, new, old, names=("new", "old"), labels=[0, 1])
    >>> plan = bp.plan.comparison(pair, metric="recall")
    >>> plan.n, plan.counts, plan.claim
    (187, 'positives', 'P(recall of new better than of old) ≥ 0.95 or ≤ 0.05')

    Judged apart, each on examples of its own, they would need more:

    >>> bp.plan.comparison((32, 40), (28, 40), "recall").n
    604
    """
    _check_probabilities(confidence, assurance)
    margin = checks.number("margin", margin)
    if not -1 < margin < 1:
        raise ValueError(f"margin must be between -1 and 1, both excluded; it is {margin:g}.")
    options = (metric, prior, prevalence, margin, confidence)
    source, words = _paired(a, *options) if b is None else _independent(a, b, *options)
    return planned(source, assurance, question, words)


def precision(
    width: float,
    confidence: float = 0.95,
    metric: str | Metric = "recall",
    prior: str | priors.Prior | None = None,
    evidence: Evidence = None,
    *,
    assurance: float | None = None,
    prevalence: float | None = None,
) -> Plan:
    """Return how many new examples will make a metric's highest-density interval narrow enough.

    Parameters
    ----------
    width : float
        Of the interval, on the metric's scale.
    confidence : float
        Probability that the interval holds.
    metric : str or Metric
        One whose posterior is a Beta or a function of one: recall, precision, specificity, accuracy, jaccard, f1.
    prior, evidence, prevalence
        As in `sample_size`.
    assurance : float, optional
        Probability, as the evidence stands, that the width will be at most `width`. By default the expected width is
        to be.

    Returns
    -------
    Plan
        With ``quantity`` "width"; with an assurance, "assurance".

    Raises
    ------
    ValueError
        If the metric has no such posterior, or an argument is not of its kind.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.plan.precision(0.1, metric="recall", evidence=(4, 5)).n
    256
    >>> bp.plan.precision(0.1, metric="recall", evidence=(4, 5), assurance=0.9).n
    372
    """
    confidence = checks.probability("confidence", confidence)
    known = evidence_.known(evidence, prior, metric)
    low, high = known.metric.bounds
    if not 0 < checks.number("width", width) < high - low:
        raise ValueError(f"width must be above 0 and less than the metric's range, {high - low:g}; it is {width}.")
    if known.distribution is None:
        raise ValueError(
            f"metric {known.metric.name!r}: its posterior is no Beta, nor a function of one, and widths of others are "
            "not planned. Plan for its parts, as recall and specificity."
        )
    share = known.share_of_trials(prevalence)
    if assurance is not None:
        assurance = checks.probability("assurance", assurance)
    widths = IntervalWidth(known.distribution, confidence, None if assurance is None else width)
    target, quantity = (width, "width") if assurance is None else (assurance, "assurance")
    n = widths.smallest(target)
    if n is None:
        raise ValueError(f"width: more than a million {known.trials} are needed for {width:g}. Ask for a wider one.")
    reached = widths.values(np.array([n]))[0].item()
    what = f"{100 * confidence:g} % highest-density interval of {known.metric.title}"
    claim = f"expected width of the {what}" if assurance is None else f"width of the {what} ≤ {width:g}"
    return Plan(
        n, known.trials, claim, quantity, target, reached, 0.0, widths.limit, known.basis, share, widths.values
    )  # fmt: skip


# ── What plans of two systems are made of ─────────────────────────────────────────────────────────────────────────────


def _paired(
    counts: Any,
    metric: str | Metric,
    prior: str | priors.Prior | None,
    prevalence: float | None,
    margin: float,
    confidence: float,
) -> tuple[Source, PlanText]:
    outcomes = evidence_.paired(counts)
    a, b = map(str, outcomes.names)
    known = evidence_.known(
        ConfusionMatrix(outcomes.margins(), outcomes.pos_label).isel(**{outcomes.dim: 0}), prior, metric
    )
    parts = discordant(outcomes, known.metric, prior)
    if parts is None:
        raise ValueError(
            f"metric {known.metric.name!r}: on the same examples, plans are for shares of all examples of certain "
            "classes, as accuracy, recall and specificity; it is none. Plan for those, or for other examples: give b."
        )
    first, second, rest = (part.item() for part in parts)
    if not known.metric.greater_is_better:
        first, second = second, first
    basis = f"{known.seen} judged by both; prior: {known.post.prior_text}"
    words = PlanText(known.trials, _better(a, b, known, margin), basis, known.share_of_trials(prevalence))
    return paired(first, second, rest, margin, confidence), words


def _independent(
    a: Any,
    b: Any,
    metric: str | Metric,
    prior: str | priors.Prior | None,
    prevalence: float | None,
    margin: float,
    confidence: float,
) -> tuple[Source, PlanText]:
    one, other = (evidence_.known(side, prior, metric, name) for name, side in (("a", a), ("b", b)))
    first, second = one.distribution, other.distribution
    if first is None or second is None:
        raise ValueError(
            f"metric {one.metric.name!r}: its posterior is no Beta, nor a function of one, and differences of others "
            "are not planned. Plan for its parts, as recall and specificity."
        )
    shares = [side.share_of_trials(prevalence) for side in (one, other)]
    share = None if None in shares else min(share for share in shares if share is not None)
    same = one.post.prior_text == other.post.prior_text
    basis = f"{one.seen if same else one.basis} and {other.basis}"
    words = PlanText(f"{one.trials} each", _better("a", "b", one, margin), basis, share)
    better, worse = (first, second) if one.metric.greater_is_better else (second, first)
    return independent(better, worse, margin, confidence), words


def _better(a: str, b: str, known: MetricEvidence, margin: float) -> str:
    by = f" by more than {margin:g}" if margin else ""
    return f"{known.metric.title} of {a} better than of {b}{by}"


def _check_probabilities(confidence: float, assurance: float) -> None:
    if checks.probability("confidence", confidence) <= 0.5:
        raise ValueError(f"confidence must be above 0.5: less shows nothing; it is {confidence}.")
    checks.probability("assurance", assurance)
