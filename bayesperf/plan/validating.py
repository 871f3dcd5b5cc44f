"""How many examples a validation of scores needs: for an area, for calibration, and for net benefit at a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.words import percentage
from bayesperf.plan.plan_result import Plan, UnreachableError, assurance_in_words, width_in_words
from bayesperf.plan.smallest_number import smallest_by_bisection
from bayesperf.plan.validation_studies import (
    AreaStudy,
    CalibrationStudy,
    NetBenefitStudy,
    ValidationStudy,
    drawn,
    is_known,
    normal_log_odds,
)

DRAWS = 1000
# With fewer examples of a class than these, standard errors are rough.
_FEW = 10
Measure = Literal["slope", "intercept", "observed_expected"]


@dataclass(frozen=True, eq=False)
class Validation(Held):
    """The expected width of an interval, or the probability of a claim, by the size of a validation study."""

    # What a study would show.
    study: ValidationStudy
    # Probability of the intervals.
    confidence: float
    # The width asked for.
    width: float | None
    # The bound that the interval must exceed.
    requirement: float | None
    # Whether the plan is for the probability of a narrow interval, and not for its expected width.
    is_sure: bool

    def values(self, n: int) -> Array:
        """Return, for each draw, the width by n examples, or whether the claim holds."""
        tail = (1 - self.confidence) / 2 if self.requirement is None else 1 - self.confidence
        found = self.study.intervals(max(n, 1), float(-special.ndtri(tail)))
        if self.requirement is not None:
            return (found.lower > self.requirement).astype(float)
        width = found.upper - found.lower
        return (width <= (self.width or 0)).astype(float) if self.is_sure else width

    def curve(self, n: Counts) -> tuple[Array, Array]:
        each = [self.values(int(number)) for number in n]
        return np.array([v.mean() for v in each]), np.array([v.std() / np.sqrt(len(v)) for v in each])

    def in_words(self, plan: Plan) -> str:
        said = width_in_words(plan) if plan.aim == "width" else assurance_in_words(plan)
        positives = plan.n * self.study.positives
        fewer, called = min((positives, "positives"), (plan.n - positives, "negatives"))
        few = "" if fewer >= _FEW else ", too few for a standard error to be trusted"
        return f"{said} About {fewer:,.0f} of them are {called}{few}."


@checked
def area(
    width: float | None = None,
    *,
    auc: float | tuple[float, float],
    prevalence: float | tuple[float, float],
    requirement: float | None = None,
    assurance: float | None = None,
    confidence: float = 0.95,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Plan:
    """Return how many examples an area under the ROC curve needs.

    Parameters
    ----------
    width : float, optional
        The width that the interval of the area should have.
    auc, prevalence : float or tuple of two float
        What is believed: a number, or the weights (a, b) of a Beta distribution. An area A with standard error s from
        a pilot is worth a = A·m and b = (1 − A)·m, with m = A(1 − A)/s² − 1.
    requirement : float, optional
        Instead of a width: the area that the study must show to be exceeded.
    assurance : float, optional
        The probability that the study will do so (by default 0.8 for a requirement). With a width and no assurance, the
        *expected* width is planned.
    confidence : float
        Probability of the interval; for a requirement, one-sided.
    draws, random_seed
        Number of simulated studies, and their seed, unless everything is known.

    Returns
    -------
    Plan
        Its ``n`` counts examples.

    Raises
    ------
    ValueError
        If not exactly one of `width` and `requirement` is given, or a value is out of its range.
    UnreachableError
        If a million examples are not enough.

    Notes
    -----
    Intervals have Newcombe's standard error (2006, Statistics in Medicine 25). With numbers and without assurance, this
    is the closed form of Riley et al. (2021), Statistics in Medicine 40, as in the R package pmvalsampsize. It is too
    small if few positives are expected, as the sentence then says. Simulated intervals are as wide as `roc_auc`'s.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.plan.area(0.1, auc=0.8, prevalence=0.018).n
    4252
    >>> bp.plan.area(0.1, auc=(80, 20), prevalence=0.018, assurance=0.9).n > 4252
    True
    """
    rng, seed = _stream(draws, random_seed)
    known = is_known(auc, prevalence) and assurance is None and requirement is None
    number = 1 if known else draws
    study = AreaStudy(drawn("auc", auc, number, rng), drawn("prevalence", prevalence, number, rng), known, seed)
    return _plan(study, width, requirement, assurance, confidence, f"area {auc}, prevalence {prevalence}")


@checked
def calibration(
    width: float,
    measure: Measure = "slope",
    *,
    y_prob: ArrayLike | None = None,
    log_odds: tuple[float, float] | None = None,
    auc: float | tuple[float, float] | None = None,
    prevalence: float | tuple[float, float] | None = None,
    line: tuple[float, float] = (0.0, 1.0),
    assurance: float | None = None,
    confidence: float = 0.95,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Plan:
    """Return how many examples a measure of calibration needs for an interval of a width.

    Parameters
    ----------
    width : float
        The width that the interval should have.
    measure : {"slope", "intercept", "observed_expected"}
        The slope of the recalibration line; its intercept if the slope is 1 (calibration in the large); or the ratio of
        observed to expected positives.
    y_prob : array-like (k,), optional
        Probabilities that the system gives to examples of the population, which need no labels.
    log_odds : tuple of two float, optional
        Or the mean and standard deviation of their log-odds, which are then normal.
    auc, prevalence : float or tuple of two float, optional
        Or area and prevalence, as in `area`, from which normal log-odds are derived.
    line : tuple of two float
        The intercept and slope that are believed: (0, 1) for a calibrated system.
    assurance, confidence, draws, random_seed
        As in `area`.

    Returns
    -------
    Plan
        Its ``n`` counts examples.

    Raises
    ------
    ValueError, UnreachableError
        As in `area`; also if the log-odds are not given in exactly one way, do not vary, or have no area above 0.5.

    Notes
    -----
    The standard errors are those of a logistic regression on the log-odds at the believed line; for the ratio √((1 −
    φ)/(nφ)) on the log scale. With numbers and without assurance they are the closed forms of Riley et al. (2021);
    pmvalsampsize averages over simulated log-odds, and rounds the standard error of the ratio to 1e-4.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.plan.calibration(0.2, "slope", log_odds=(-5, 2.5)).n
    4554
    """
    checks.one_of("measure", measure, ("slope", "intercept", "observed_expected"))
    given = [y_prob is not None, log_odds is not None, auc is not None]
    if sum(given) != 1 or (auc is None) != (prevalence is None):
        raise InputError("y_prob, log_odds, auc", "give one: probabilities, log-odds, or auc with prevalence.")
    rng, seed = _stream(draws, random_seed)
    known = assurance is None and is_known(*(belief for belief in (auc, prevalence) if belief is not None))
    number = 1 if known else draws
    values = np.empty(0)
    mean = sd = np.full(number, np.nan)
    if y_prob is not None:
        probabilities = checks.probabilities("y_prob", checks.vector("y_prob", y_prob))
        checks.none_certain("y_prob", int(((probabilities == 0) | (probabilities == 1)).sum()))
        values = special.logit(probabilities)
    elif log_odds is not None:
        mean, sd = (np.full(number, each) for each in _two_numbers("log_odds", log_odds))
        if not sd[0] > 0:
            raise InputError("log_odds", f"must be a mean and a standard deviation above 0; they are {log_odds}.")
    else:
        share, area_of = drawn("prevalence", prevalence, number, rng), drawn("auc", auc, number, rng)
        if not (area_of > 0.5).all():
            raise InputError("auc", f"must be above 0.5, as that of any true probabilities; it is {auc}.")
        mean, sd = normal_log_odds(share, area_of)
    intercept, slope = (np.full(number, each) for each in _two_numbers("line", line))
    study = CalibrationStudy(measure, mean, sd, values, intercept, slope, known, seed)
    basis = "probabilities of a sample" if len(values) else f"log-odds ~ Normal({mean.mean():.3g}, {sd.mean():.3g}²)"
    return _plan(study, width, None, assurance, confidence, basis)


@checked
def net_benefit(
    width: float | None = None,
    *,
    threshold: float,
    recall: float | tuple[float, float],
    specificity: float | tuple[float, float],
    prevalence: float | tuple[float, float],
    requirement: float | None = None,
    assurance: float | None = None,
    confidence: float = 0.95,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Plan:
    """Return how many examples the net benefit at a threshold needs.

    Parameters
    ----------
    width : float, optional
        The width that the interval of the net benefit should have.
    threshold : float
        The probability above which to act; a false alarm costs threshold/(1 − threshold) of a positive found.
    recall, specificity, prevalence : float or tuple of two float
        What is believed at that threshold, as in `area`.
    requirement : float, optional
        Instead of a width: the net benefit that the study must show to be exceeded, such as 0, that of treating none.
    assurance, confidence, draws, random_seed
        As in `area`.

    Returns
    -------
    Plan
        Its ``n`` counts examples. `decision` plans by the value of the examples instead.

    Raises
    ------
    ValueError, UnreachableError
        As in `area`.

    Notes
    -----
    An example's benefit is 1 if it is a positive found, −w (w are the odds of the threshold) if it is a false alarm,
    and 0 otherwise; the variance of the mean is (tp + w² fp − NB²)/n, with proportions tp and fp (Riley et al. 2021).
    Simulated studies have the posterior of these under Jeffreys' prior.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.plan.net_benefit(0.05, threshold=0.2, recall=0.8, specificity=0.7, prevalence=0.3).n
    1340
    """
    at = checks.probability("threshold", threshold)
    rng, seed = _stream(draws, random_seed)
    beliefs = {"recall": recall, "specificity": specificity, "prevalence": prevalence}
    known = is_known(*beliefs.values()) and assurance is None and requirement is None
    found, right, share = (drawn(name, belief, 1 if known else draws, rng) for name, belief in beliefs.items())
    study = NetBenefitStudy(found, right, share, at, known, seed)
    basis = ", ".join(f"{name} {belief}" for name, belief in beliefs.items())
    return _plan(study, width, requirement, assurance, confidence, basis)


def _two_numbers(name: str, given: Any) -> tuple[float, float]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(name, f"must be two numbers; it is {given!r}.")
    first, second = (checks.number(name, each) for each in given)
    return first, second


def _stream(draws: Any, random_seed: Any) -> tuple[np.random.Generator, int]:
    seed = checks.seed(random_seed)
    checks.count("draws", draws, least=2)
    return np.random.default_rng([seed, 1]), seed


def _plan(
    study: ValidationStudy,
    width: float | None,
    requirement: float | None,
    assurance: float | None,
    confidence: float,
    basis: str,
) -> Plan:
    """Return the plan of the smallest study that reaches a width, or shows a claim."""
    if (width is None) == (requirement is None):
        raise InputError("width, requirement", "give one of them.")
    if width is not None:
        checks.above_zero("width", width)
    checks.probability("confidence", confidence)
    if requirement is not None:
        checks.number("requirement", requirement)
        assurance = 0.8 if assurance is None else assurance
    target = float(width or 0) if assurance is None else checks.probability("assurance", assurance)
    model = Validation(study, confidence, width, requirement, assurance is not None)
    sign = 1 if assurance is None else -1
    n = smallest_by_bisection(lambda m: m > 1 and sign * model.values(m).mean() <= sign * target)
    interval = f"{percentage(confidence)} interval of {study.title}"
    claim = f"expected width of the {interval}"
    if assurance is not None:
        claim = f"{study.title} > {requirement:g}" if width is None else f"a {interval} of width {width:g} at most"
    limit = 0.0 if assurance is None else 1.0 if requirement is None else float((study.true > requirement).mean())
    if n is None:
        why = (
            f"any number of examples shows it with a probability of at most {limit:.3f}, as is believed now"
            if requirement is not None and limit <= target
            else "a million examples are not enough"
        )
        raise UnreachableError(f"{claim}: {why}. Ask for less.", limit)
    (reached,), (mcse,) = model.curve(np.array([n]))
    return Plan(
        n=n, counts="examples", claim=claim, aim="width" if assurance is None else "assurance", target=target,
        reached=float(reached), mcse=float(mcse), limit=limit, basis=basis, share=1.0, model=model,
    )  # fmt: skip
