"""How many examples do we need? Plans for the next test set, from the evidence so far and its uncertainty.

`sample_size` asks when a requirement will be shown met (or settled either way), `comparison` when one system will be
shown better than another, and `interval_width` when an interval will be narrow enough.

If the metric is monotone in a proportion S ~ Beta(a, b), n new trials bring K ~ Beta-binomial(n, a, b) successes, and
P(S > x | K) grows with K: the assurance is an exact tail sum, which is not monotone in n but a saw, so every n up to
twice the answer is examined. For other metrics (balanced accuracy, MCC, macro averages) all outcomes are summed if they
are at most `simulations`, otherwise simulated. `Plan.mcse` is the error of the assurance at n; n itself differs by a
tenth to a fifth between seeds. For metrics known by draws, each outcome takes 1,000 draws. The confidence sequence of
`look_every` is two-sided, at `confidence`, and looks first at the evidence; its assurance is an exact sum, too, and
rises with n. Adcock (1997), Sample size determination: a review; O'Hagan, Stevens & Campbell (2005), Assurance in
clinical trial design.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.words import percentage
from bayesperf.data.response_patterns import of_two_systems
from bayesperf.distributions.beta import Beta
from bayesperf.metrics.metric import Metric
from bayesperf.plan.evidence import Evidence, MetricEvidence, metric_evidence, requirement_of
from bayesperf.plan.looks import MOST as MOST_LOOKED
from bayesperf.plan.looks import Looks, LooksCost
from bayesperf.plan.one_count import OneCount
from bayesperf.plan.plan_result import Plan, UnreachableError, assurance_in_words
from bayesperf.plan.simulated_counts import ProbabilityMet, SimulatedCounts
from bayesperf.plan.two_counts import IndependentCounts, PairedCounts, TwoCounts
from bayesperf.plan.widths import IntervalWidth
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.paired_systems import discordant_weights

Question = Literal["meet", "settle"]
# How many outcomes are simulated, where there are more than can be summed over.
SIMULATIONS = 1000


@checked
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
    look_every: int | None = None,
    simulations: int = SIMULATIONS,
    random_seed: Any = 0,
) -> Plan:
    """Return how many new examples will show that a metric meets a requirement.

    From this number on, the posterior probability that the metric meets the requirement will be at least `confidence`,
    with probability at least `assurance` over what the new examples may show.

    Parameters
    ----------
    requirement : float
        The metric must be at least this; at most, if a smaller metric is better.
    confidence : float
        Posterior probability that shows the requirement met, above 0.5.
    assurance : float
        Probability, given the evidence, that the new examples will show it.
    metric : str or Metric
        The metric of the requirement.
    prior : str or Prior, optional
        As in `bayesperf.posterior`; not allowed with a Posterior.
    evidence : ConfusionMatrix, Outcomes, Posterior, Marginal or (successes, trials), optional
        The data so far; by default the prior alone. Two counts are the metric's successes and trials: positives found
        and positives for recall, false positives and negatives for fpr, true positives and all that are or are called
        positive for jaccard and f1.
    question : {"meet", "settle"}
        "meet": to show that the requirement is met. "settle": to show that it is met or missed (P ≤ 1 − `confidence`).
    prevalence : float, optional
        Proportion of positives among new examples, for `Plan.examples` only; by default the proportion in the evidence.
    look_every : int, optional
        For proportions, plan for a look after every `look_every` new trials until the confidence sequence of
        `bayesperf.monitor` shows something. ``looks`` has the mean number of trials, and the number for one look at the
        end.
    simulations, random_seed
        Number of simulated outcomes for metrics without a Beta posterior (unless there are fewer), and their seed.

    Returns
    -------
    Plan
        Its ``n`` counts the metric's trials (positives for recall); without a Beta posterior, examples.
        `bayesperf.plan.sample_sizes` says which figures are exact sums and which are simulated, and names the sources.

    Raises
    ------
    UnreachableError
        If a million trials are not enough. With question "meet", also if the requirement is met now with a probability
        of at most `assurance`, to which the assurance tends. The error states it, and what would settle the question.
    ValueError
        If the metric is not available or has no better direction, the requirement is outside its bounds, or another
        argument is invalid.

    Examples
    --------
    >>> import bayesperf as bp
    >>> try:
    ...     bp.plan.sample_size(0.7, metric="recall", evidence=(4, 5))
    ... except bp.plan.UnreachableError as error:
    ...     print(f"The assurance tends to {error.limit:.3f}; {error.settles.n} positives settle it.")
    The assurance tends to 0.663; 197 positives settle it.
    >>> bp.plan.sample_size(0.7, metric="recall", evidence=(40, 50))
    <bayesperf.Plan: 138 positives; assurance 0.8166 (wanted 0.8) of P(recall ≥ 0.7) ≥ 0.95>
    >>> plan = bp.plan.sample_size(0.7, metric="recall", evidence=(40, 50), look_every=10, prevalence=0.1)
    >>> plan.n, plan.examples, round(plan.looks.mean), plan.looks.at_the_end
    (790, 7900, 296, 138)
    """
    _check_probabilities(confidence, assurance)
    requirement_of(metric, requirement)
    so_far = metric_evidence(evidence, prior, metric)
    model: AssuranceModel
    if look_every is not None:
        model = _looks(so_far, requirement, confidence, checks.count("look_every", look_every))
    elif so_far.distribution is not None:
        model = OneCount(*so_far.as_beta(requirement), confidence)
    else:
        met = ProbabilityMet(so_far.post, so_far.metric, requirement)
        simulations = checks.count("simulations", simulations, least=100)
        model = SimulatedCounts(so_far.weights(), met, confidence, simulations, checks.seed(random_seed))
    claim = f"{so_far.metric.title} {'≥' if so_far.metric.better > 0 else '≤'} {requirement:g}"
    text = PlanText(so_far.trials, claim, so_far.basis, so_far.share_of_trials(prevalence))
    return smallest_plan(model, assurance, question, text)


@checked
def comparison(
    a: Evidence,
    b: Evidence = None,
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
    a : ConfusionMatrix, Outcomes, Posterior, Marginal or (successes, trials)
        Evidence on the first system; or, without `b`, the counts of two systems tested on the same examples. Then both
        systems are tested on the same new examples, too.
    b : ConfusionMatrix, Outcomes, Posterior, Marginal or (successes, trials), optional
        Evidence on the second system, tested on other examples. Each system then gets its own new examples.
    metric : str or Metric
        A proportion of examples, or a function of one. For systems tested on the same examples, a proportion of all
        examples in certain classes: accuracy, error rate, recall, specificity and the like.
    margin : float
        How much better a must be; negative if it may be worse by this much (non-inferiority).
    confidence, assurance, prior, prevalence
        As in `sample_size`.
    question : {"settle", "meet"}
        "settle": to show that a is better than b by more than the margin, or that it is not. "meet": to show that it
        is.

    Returns
    -------
    Plan
        Its ``n`` counts the metric's trials for each system.

    Raises
    ------
    UnreachableError
        As `sample_size`.
    ValueError
        If the metric is no such proportion, or another argument is invalid.

    Notes
    -----
    An outcome is two counts: each system's successes or, on the same examples, the numbers on which exactly one system
    is right. The posterior probability of an outcome rises with a's count and falls with b's, so the assurance is Σ_k
    P(K_b = k) P(K_a ≥ c(k) | k), where c(k) is the number at which that probability is enough. With few examples the
    sum is exact. With many, c(k) is interpolated, and computed where interpolation leaves it open; with more than 2,000
    the sum runs over evenly spaced k.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, old, new = [1] * 40, [1] * 28 + [0] * 12, [1] * 26 + [0] * 2 + [1] * 6 + [0] * 6
    >>> pair = bp.ConfusionMatrix.from_predictions(y_true, {"new": new, "old": old}, labels=[0, 1])
    >>> plan = bp.plan.comparison(pair, metric="recall")
    >>> plan.n, plan.counts, plan.claim
    (152, 'positives', 'P(recall of new better than of old) ≥ 0.95 or ≤ 0.05')

    Judged apart, each on examples of its own, they would need more:

    >>> bp.plan.comparison((32, 40), (28, 40), "recall").n
    563
    """
    _check_probabilities(confidence, assurance)
    margin = checks.number("margin", margin)
    if not -1 < margin < 1:
        raise InputError("margin", f"must be between -1 and 1, both excluded; it is {margin:g}.")
    options = (metric, prior, prevalence, margin, confidence)
    model, text = _same_examples(a, *options) if b is None else _different_examples(a, b, *options)
    return smallest_plan(model, assurance, question, text)


@checked
def interval_width(
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
        Width of the interval, on the metric's scale.
    confidence : float
        Probability of the interval.
    metric : str or Metric
        A metric whose posterior is a Beta or a function of one: recall, precision, specificity, accuracy, jaccard, f1.
    prior, evidence, prevalence
        As in `sample_size`.
    assurance : float, optional
        Probability, given the evidence, that the width will be at most `width`. By default the expected width must be.

    Returns
    -------
    Plan
        With ``aim`` "width"; with an assurance, "assurance".

    Raises
    ------
    UnreachableError
        If a million trials are not enough.
    ValueError
        If the metric has no such posterior, or an argument is invalid.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.plan.interval_width(0.1, metric="recall", evidence=(4, 5)).n
    224
    >>> bp.plan.interval_width(0.1, metric="recall", evidence=(4, 5), assurance=0.9).n
    370
    """
    confidence = checks.probability("confidence", confidence)
    so_far = metric_evidence(evidence, prior, metric)
    low, high = so_far.metric.bounds
    if not 0 < checks.number("width", width) < high - low:
        raise InputError("width", f"must be above 0 and less than the metric's range, {high - low:g}; it is {width}.")
    if so_far.distribution is None:
        raise InputError(
            "metric",
            f"{so_far.metric.name!r}: its posterior is no Beta, nor a function of one, and widths "
            "of others are not planned.",
            "Plan for its parts, as recall and specificity.",
        )
    share = so_far.share_of_trials(prevalence)
    if assurance is not None:
        assurance = checks.probability("assurance", assurance)
    model = IntervalWidth(so_far.distribution, confidence, None if assurance is None else width)
    target, aim = (width, "width") if assurance is None else (assurance, "assurance")
    n = model.smallest_n(target)
    if n is None:
        limit = 0.0 if assurance is None else 1.0
        raise UnreachableError(
            f"width: more than a million {so_far.trials} are needed for {width:g}. Ask for a wider one.", limit
        )
    interval = f"{100 * confidence:g} % highest-density interval of {so_far.metric.title}"
    return Plan(
        n=n,
        counts=so_far.trials,
        claim=f"expected width of the {interval}" if assurance is None else f"width of the {interval} ≤ {width:g}",
        aim=aim,
        target=target,
        reached=model.curve(np.array([n]))[0].item(),
        mcse=0.0,
        limit=model.limit,
        basis=so_far.basis,
        share=share,
        model=model,
    )


def _looks(so_far: MetricEvidence, requirement: float, confidence: float, every: int) -> Looks:
    """Return the model of a share of examples that is looked at after every so many trials."""
    observed = so_far.post[so_far.metric].observed
    if "trials" not in observed.coords or not isinstance(so_far.distribution, Beta):
        raise InputError(
            "look_every",
            f"{so_far.metric.name} is not a proportion of independent examples, and has no confidence sequence.",
            "Plan for its parts, as recall and precision, or for one look: leave look_every out.",
        )
    trials = int(observed["trials"])
    successes = round(float(observed) * trials) if trials else 0
    on_its_side = successes if so_far.metric.better > 0 else trials - successes
    return Looks(*so_far.as_beta(requirement), confidence, every, on_its_side, trials)


# ── Plans of two systems ──


def _same_examples(
    counts: Any,
    metric: str | Metric,
    prior: str | priors.Prior | None,
    prevalence: float | None,
    margin: float,
    confidence: float,
) -> tuple[AssuranceModel, PlanText]:
    """Return the model of two systems tested on the same examples, and what its plan is of."""
    patterns = of_two_systems(counts, "a")
    a, b = map(str, patterns.names)
    so_far = metric_evidence(counts.isel(**{patterns.dim: 0}), prior, metric)
    weights = discordant_weights(patterns, so_far.metric, prior)
    if weights is None:
        raise InputError(
            "metric",
            f"{so_far.metric.name!r}: on the same examples, plans are for shares of all examples "
            "of certain classes, as accuracy, recall and specificity; it is none.",
            "Plan for those, or for other examples: give b.",
        )
    only_a, only_b, rest = (weight.item() for weight in weights)
    first, second = (only_a, only_b)[:: so_far.metric.better]
    basis = f"{so_far.seen} judged by both; prior: {so_far.post.prior_text}"
    text = PlanText(so_far.trials, _claim_of_better(a, b, so_far, margin), basis, so_far.share_of_trials(prevalence))
    return PairedCounts(first, second, rest, margin, confidence), text


def _different_examples(
    a: Any,
    b: Any,
    metric: str | Metric,
    prior: str | priors.Prior | None,
    prevalence: float | None,
    margin: float,
    confidence: float,
) -> tuple[AssuranceModel, PlanText]:
    """Return the model of two systems judged on examples of their own, and what its plan is of."""
    of_a, of_b = (metric_evidence(side, prior, metric, name) for name, side in (("a", a), ("b", b)))
    if of_a.distribution is None or of_b.distribution is None:
        raise InputError(
            "metric",
            f"{of_a.metric.name!r}: its posterior is no Beta, nor a function of one, and "
            "differences of others are not planned.",
            "Plan for its parts, as recall and specificity.",
        )
    shares = [side.share_of_trials(prevalence) for side in (of_a, of_b)]
    share = None if None in shares else min(share for share in shares if share is not None)
    same_prior = of_a.post.prior_text == of_b.post.prior_text
    basis = f"{of_a.seen if same_prior else of_a.basis} and {of_b.basis}"
    text = PlanText(f"{of_a.trials} for each system", _claim_of_better("a", "b", of_a, margin), basis, share)
    better, other = (of_a.distribution, of_b.distribution)[:: of_a.metric.better]
    return IndependentCounts(better, other, margin, confidence), text


def _claim_of_better(a: str, b: str, so_far: MetricEvidence, margin: float) -> str:
    """Return the claim that a is better than b, in words."""
    by = f" by more than {margin:g}" if margin else ""
    return f"{so_far.metric.title} of {a} better than of {b}{by}"


def _check_probabilities(confidence: float, assurance: float) -> None:
    if checks.probability("confidence", confidence) <= 0.5:
        raise InputError("confidence", f"must be above 0.5: less shows nothing; it is {confidence}.")
    checks.probability("assurance", assurance)


# ── The smallest number of examples ──


# The probability that new examples show a claim.
type AssuranceModel = OneCount | TwoCounts | SimulatedCounts


@dataclass(frozen=True, eq=False)
class Assurance(Held):
    """The probability that new examples show a claim, or with `either_way` that they show it or its contrary."""

    of_claim: AssuranceModel
    either_way: bool

    def curve(self, n: Counts) -> tuple[Array, Array]:
        return self.of_claim.assurance(n, self.either_way)

    def in_words(self, plan: Plan) -> str:
        cost = f" {plan.looks.in_words()}" if plan.looks and plan.n else ""
        return f"{assurance_in_words(plan)}{cost}"


class PlanText(NamedTuple):
    """The words of a plan: what it counts, the claim, the evidence, and the proportion of examples that it counts."""

    counts: str
    claim: str
    basis: str
    share: float | None


def smallest_plan(model: AssuranceModel, assurance: float, question: str, text: PlanText) -> Plan:
    """Return the plan with the smallest n that reaches an assurance; raise if no n does."""
    either_way = checks.one_of("question", question, ("meet", "settle")) == "settle"
    limit = 1.0 if either_way else model.probability_now
    if limit <= assurance:
        raise _unreachable(model, assurance, text)
    n = model.smallest_n(assurance, either_way)
    if n is None:
        raise UnreachableError(
            f"assurance: more than {_most_in_words(model)} {text.counts} are needed for {assurance:g}. Ask for less "
            "assurance, less confidence, or another requirement.",
            limit,
            None if either_way else _settling(model, assurance, text),
        )
    values, errors = model.assurance(np.array([n]), either_way)
    return Plan(
        n=n,
        counts=text.counts,
        claim=_claim(model, text, either_way),
        aim="assurance",
        target=assurance,
        reached=values.item(),
        mcse=errors.item(),
        limit=limit,
        basis=text.basis,
        share=text.share,
        model=Assurance(model, either_way),
        looks=_cost(model, n, assurance, either_way) if isinstance(model, Looks) else None,
    )


def _claim(model: AssuranceModel, text: PlanText, either_way: bool) -> str:
    """Return what is to be shown, and how, in words."""
    if isinstance(model, Looks):
        which = f"whether {text.claim}" if either_way else text.claim
        return f"{which}, with {percentage(model.confidence)} confidence however often you look"
    contrary = f" or ≤ {1 - model.confidence:g}" if either_way else ""
    return f"P({text.claim}) ≥ {model.confidence:g}{contrary}"


def _cost(model: Looks, n: int, assurance: float, either_way: bool) -> LooksCost:
    once = OneCount(model.a, model.b, model.x, model.confidence).smallest_n(assurance, either_way)
    return LooksCost(model.every, model.mean_trials(n), once)


def _most_in_words(model: AssuranceModel) -> str:
    """Return the greatest number of trials that is looked for, in words."""
    return f"{MOST_LOOKED:,}" if isinstance(model, Looks) else "a million"


def _settling(model: AssuranceModel, assurance: float, text: PlanText) -> Plan | None:
    """Return the plan that settles a question one way or the other; None if it takes more than is looked for."""
    try:
        return smallest_plan(model, assurance, "settle", text)
    except UnreachableError:
        return None


def _unreachable(model: AssuranceModel, assurance: float, text: PlanText) -> UnreachableError:
    settles = _settling(model, assurance, text)
    takes = f"more than {_most_in_words(model)} {text.counts} are needed"
    if settles is not None:
        takes = f"{settles.n} {text.counts} are enough" if settles.n else "none are needed"
    return UnreachableError(
        f"assurance: {assurance:g} is out of reach. On the evidence so far, P({text.claim}) is "
        f"{model.probability_now:.3f}. With more and more {text.counts}, the assurance approaches this, because they "
        f"may also show the contrary. To settle it either way with the same assurance, {takes}: question='settle'.",
        model.probability_now,
        settles,
    )
