"""Forms in which the posterior of a metric is exact, or an integral.

With cells θ ~ Dirichlet(ω), the probability of a set S of cells given S or another set F, disjoint from it, is
Beta(Σ_S ω, Σ_F ω). All closed forms follow from this: a `Proportion` has such a Beta distribution, an
`IncreasingFunction` is a function of one proportion, and `TwoProportions` is a function of two independent
proportions, integrated over the second.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from bayesperf.core.arrays import Numbers
from bayesperf.core.fields import Applied, Held, applied, by_name
from bayesperf.metrics.arguments import BINARY_ARGUMENTS, cells_of


@by_name
def unchanged(x: Any) -> Any:
    """Return a proportion as a function of itself."""
    return x


UNCHANGED = applied(unchanged)


@dataclass(frozen=True)
class Proportion(Held):
    """A Beta-distributed proportion of the cells `success` among `success` and `failure` (argument names)."""

    success: tuple[str, ...]
    failure: tuple[str, ...]
    # Whether a prior on rates adds its weight to each cell, because the metric is derived from several rates with such
    # a prior, or adds it once on each side.
    by_cell: bool = False
    method: ClassVar[str] = "exact"
    forward: ClassVar[Applied] = UNCHANGED

    @property
    def proportion(self) -> Proportion:
        """The proportion itself, for a common interface with `IncreasingFunction`."""
        return self


@dataclass(frozen=True)
class ProportionPair(Held):
    """Two independent proportions."""

    # The proportions X and W.
    inner: Proportion
    outer: Proportion
    # Whether W splits the failures of X; otherwise X and W are proportions of disjoint sets of cells.
    split: bool = False

    def cells(self, x: Numbers, rest_x: Numbers, w: Numbers, rest_w: Numbers) -> dict[str, Numbers]:
        """Return cells for given X, 1 − X, W and 1 − W, up to factors that metrics of the pair do not depend on."""
        within = rest_x if self.split else 1.0
        (success,), (w_success,), (w_failure,) = self.inner.success, self.outer.success, self.outer.failure
        cells = {success: x, w_success: within * w, w_failure: within * rest_w}
        missing = {name: rest_x for name in self.inner.failure if name not in cells}
        return {"tn": 0 * x, **cells, **missing}


@dataclass(frozen=True)
class LevelSets(Held):
    """Level sets of a function of two independent quantities X and W in [0, 1] that is monotone in X."""

    # ``inner_at(t, w, 1 - w)`` returns the X at which the function is t if W = w, or a value outside [0, 1] if there is
    # none.
    inner_at: Applied
    # ``outer_at(t, x, 1 - x)`` returns the W at which the function is t if X = x. It restricts the integral over W to
    # the range in which the inner distribution function is neither 0 nor 1; it has a kink, or a step, at its ends.
    outer_at: Applied | None = None
    # Whether the function increases with X.
    increasing: bool = True
    # Whether it increases with W (used only with `outer_at`); None if it does so only for some X.
    increasing_outer: bool | None = True
    # If the function is a product of X, 1/X or (1 − X)/X and of one of these for W: the kinds of the two factors. Its
    # moments then have a closed form, and may be infinite.
    factors: tuple[str, str] | None = None
    # If the function is a constant plus a multiple of X + W: the multiple. Its moments then have a closed form.
    multiple: float | None = None
    # Whether the returned X are differences, so that values near 0 are rounding errors of t and W.
    by_subtraction: bool = False
    # Whether X may change with W sharply somewhere, and hardly elsewhere (used only with `outer_at`).
    bends: bool = False


@dataclass(frozen=True)
class TwoProportions(LevelSets):
    """A metric that is a function of two independent proportions, the inner one X and the outer one W."""

    pair: ProportionPair = field(kw_only=True)
    method: ClassVar[str] = "quadrature"


@dataclass(frozen=True)
class IncreasingFunction(Held):
    """An increasing function of a proportion, with its inverse (which must accept complex numbers)."""

    proportion: Proportion
    forward: Applied
    inverse: Applied
    method: ClassVar[str] = "exact"


type ExactForm = Proportion | IncreasingFunction | TwoProportions

RECALL, MISSES = Proportion(("tp",), ("fn",)), Proportion(("fn",), ("tp",))
SPECIFICITY, FALSE_ALARMS = Proportion(("tn",), ("fp",)), Proportion(("fp",), ("tn",))
PRECISION, NPV = Proportion(("tp",), ("fp",)), Proportion(("tn",), ("fn",))

# The Jaccard index, and the proportion of false positives among the errors on positives.
JACCARD = Proportion(("tp",), ("fp", "fn"))
HITS = ProportionPair(JACCARD, Proportion(("fp",), ("fn",)), split=True)
# The same proportion where it is derived from precision and recall, as in F1 (Goutte & Gaussier 2005).
JACCARD_OF_RATES = replace(JACCARD, by_cell=True)


@by_name
def f1_of_jaccard(j: Any) -> Any:
    """Return F1 = 2J/(1 + J)."""
    return 2 * j / (1 + j)


@by_name
def jaccard_of_f1(f: Any) -> Any:
    """Return the Jaccard index F/(2 − F)."""
    return f / (2 - f)


# Exact forms of micro averages as functions of the number of classes K. Every wrong prediction is one false positive
# and one false negative, so with accuracy A: Σtp = A, Σfn = Σfp = 1 − A, Σtn = (K − 1)A + (K − 2)(1 − A).
_ACCURACY, _ERROR = Proportion(("correct",), ("wrong",)), Proportion(("wrong",), ("correct",))


def micro_accuracy(_: int) -> ExactForm:
    """Return the form of micro-averaged precision, recall and F_β, which equal accuracy."""
    return _ACCURACY


def micro_error(_: int) -> ExactForm:
    """Return the form of micro-averaged fnr and fdr, which equal the error rate."""
    return _ERROR


def micro_jaccard(_: int) -> ExactForm:
    """Return the form of the micro-averaged Jaccard index, A/(2 − A), because A is the micro average of F1."""
    return IncreasingFunction(_ACCURACY, applied(jaccard_of_f1), applied(f1_of_jaccard))


def micro_rest(classes: int) -> ExactForm:
    """Return the form of micro-averaged specificity and npv, 1 − (1 − A)/(K − 1)."""
    k = classes - 1
    return IncreasingFunction(_ACCURACY, applied(specificity_of_accuracy, k), applied(accuracy_of_specificity, k))


def micro_rest_error(classes: int) -> ExactForm:
    """Return the form of micro-averaged fpr and false omission rate, (1 − A)/(K − 1)."""
    k = classes - 1
    return IncreasingFunction(_ERROR, applied(fraction_of_error, k), applied(error_of_fraction, k))


@by_name
def specificity_of_accuracy(k: int, a: Numbers) -> Numbers:
    """Return the micro-averaged specificity, given the accuracy a and the number of classes minus one."""
    return 1 - (1 - a) / k


@by_name
def accuracy_of_specificity(k: int, t: Numbers) -> Numbers:
    """Return the accuracy at which the micro-averaged specificity is t."""
    return 1 - k * (1 - t)


@by_name
def fraction_of_error(k: int, e: Numbers) -> Numbers:
    """Return the micro-averaged false positive rate, given the error rate e and the number of classes minus one."""
    return e / k


@by_name
def error_of_fraction(k: int, t: Numbers) -> Numbers:
    """Return the error rate at which the micro-averaged false positive rate is t."""
    return k * t


# ── Metrics of two classes as functions of the prevalence and of both error rates, in which they are monotone ──

# With cells θ ~ Dirichlet(ω), the prevalence, the fnr and the fpr are three independent Betas. The posterior of a
# metric is then an integral over two of them, of the third one's distribution function at the point where the metric
# has a given value.


def cells_of_rates(
    prevalence: Numbers,
    fnr: Numbers | float,
    recall: Numbers | float,
    fpr: Numbers | float,
    specificity: Numbers | float,
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return tp, fn, fp and tn."""
    rest = 1 - prevalence
    return prevalence * recall, prevalence * fnr, rest * fpr, rest * specificity


class FunctionOfRates(Held, ABC):
    """A metric that is monotone in the fnr and the fpr, in the same direction, at any prevalence."""

    # As in `LevelSets`.
    bends: bool = False

    @abstractmethod
    def excess(self, t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
        """Return a quadratic polynomial of each rate that has the sign of the metric − t."""

    @by_name
    def fnr_at(self, sign: int, prevalence: Numbers, t: Numbers, fpr: Numbers, specificity: Numbers) -> Numbers:
        """Return the fnr at which the metric is t, or −1 or 2 if the metric is worse or better than t at any fnr.

        `sign` is 1 if the metric decreases with the rates, and −1 if it increases.
        """
        prevalence = _aligned(prevalence, t)
        return _falling_root(
            lambda fnr: sign * self.excess(t, *cells_of_rates(prevalence, fnr, 1 - fnr, fpr, specificity))
        )

    @by_name
    def fpr_at(self, sign: int, prevalence: Numbers, t: Numbers, fnr: Numbers, recall: Numbers) -> Numbers:
        """Return the fpr at which the metric is t, as `fnr_at`."""
        prevalence = _aligned(prevalence, t)
        return _falling_root(lambda fpr: sign * self.excess(t, *cells_of_rates(prevalence, fnr, recall, fpr, 1 - fpr)))

    def at_prevalence(self, prevalence: Numbers, better: int) -> LevelSets:
        """Return the level sets as a function of the fnr (inner) and the fpr, at prevalences (m, 1)."""
        return LevelSets(
            applied(self.fnr_at, better, prevalence),
            applied(self.fpr_at, better, prevalence),
            increasing=better < 0,
            increasing_outer=better < 0,
            by_subtraction=True,
            bends=self.bends,
        )


def _aligned(prevalence: Numbers, t: Numbers) -> Numbers:
    """Return prevalences (m, 1) with the number of axes of t, (m, n) or (m, n, nodes)."""
    return prevalence.reshape(-1, *[1] * (np.ndim(t) - 1))


def _falling_root(function: Callable[[float], Numbers]) -> Numbers:
    """Return where a quadratic function falls through 0 between 0 and 1; −1 if it is below 0 there, and 2 if above."""
    first, middle, last = (np.asarray(function(x)) for x in (0.0, 0.5, 1.0))
    square = 2 * (first - 2 * middle + last)
    linear = last - first - square
    discriminant = linear**2 - 4 * first * square
    root = np.sqrt(np.where(discriminant.real > 0, discriminant, 0))
    falls = linear.real <= 0
    # One division, which of complex numbers takes long.
    numerator = np.where(falls, 2 * first, -(linear + root))
    with np.errstate(divide="ignore", invalid="ignore"):
        x = numerator / np.where(falls, root - linear, 2 * square)
    return np.where(first.real <= 0, -1, np.where(last.real >= 0, 2, x))


@dataclass(frozen=True)
class Level(FunctionOfRates):
    """A metric whose level sets are given by a function ``excess(t, tp, fn, fp, tn)``."""

    function: Applied
    bends: bool = False

    def excess(self, t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
        """Return the value of the function."""
        return np.asarray(self.function(t, tp, fn, fp, tn))


@dataclass(frozen=True)
class Fraction(FunctionOfRates):
    """A ratio of two sums of cells, given by the weights of tp, fn, fp and tn."""

    numerator: tuple[float, float, float, float]
    denominator: tuple[float, float, float, float]

    def parts(self, *cells: Numbers) -> tuple[Numbers, Numbers]:
        """Return numerator and denominator."""
        above, below = (
            sum((weight * cell for weight, cell in zip(weights, cells, strict=True)), np.asarray(0.0))
            for weights in (self.numerator, self.denominator)
        )
        return above, below

    def excess(self, t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
        """Return numerator − t·denominator."""
        above, below = self.parts(tp, fn, fp, tn)
        return np.asarray(above - t * below)


@dataclass(frozen=True)
class ClassAverage(FunctionOfRates):
    """The mean of a ratio over both classes, each against the other, with or without weighting by prevalence."""

    fraction: Fraction
    weighted: bool

    def excess(self, t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
        """Return the mean − t, times both denominators."""
        (above, below), (other, below_other) = self.fraction.parts(tp, fn, fp, tn), self.fraction.parts(tn, fp, fn, tp)
        share = (tp + fn) / (tp + fn + fp + tn) if self.weighted else 0.5
        return np.asarray(share * above * below_other + (1 - share) * other * below - t * below * below_other)


@dataclass(frozen=True)
class Correlation(FunctionOfRates):
    """Matthews' correlation coefficient: 1 − MCC² = (π fnr (1 − fnr) + (1 − π) fpr (1 − fpr)) / (q (1 − q)).

    Here π is the prevalence and q the proportion of examples that are called positive.
    """

    def excess(self, t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
        """Not used: the sign of the coefficient follows from a root, not from a polynomial."""
        raise NotImplementedError

    @by_name
    def fnr_at(self, sign: int, prevalence: Numbers, t: Numbers, fpr: Numbers, specificity: Numbers) -> Numbers:
        """Return the fnr at which the coefficient is t."""
        prevalence = _aligned(prevalence, t)
        return _error_at_correlation(prevalence, t, fpr, specificity)

    @by_name
    def fpr_at(self, sign: int, prevalence: Numbers, t: Numbers, fnr: Numbers, recall: Numbers) -> Numbers:
        """Return the fpr at which the coefficient is t."""
        prevalence = _aligned(prevalence, t)
        return _error_at_correlation(1 - prevalence, t, fnr, recall)


def _error_at_correlation(share: Numbers, t: Numbers, other: Numbers, rest: Numbers) -> Numbers:
    """Return the error rate of a class with a given proportion of examples, given the other class's error rate.

    It is the smaller root of a quadratic equation if the correlation is positive, and the larger one if it is negative.
    The discriminant is written without differences, because it vanishes with the correlation. Of a complex correlation,
    the imaginary part is multiplied by the derivative: complex roots take ten times as long.
    """
    t, step = t.real, t.imag if np.iscomplexobj(t) else None
    rest_of_share = 1 - share
    negative = t < 0
    size = np.abs(t)
    unexplained = (1 - t) * (1 + t)
    # The share called this class if its error rate is 0.
    called = share + rest_of_share * other
    not_called = rest_of_share * rest
    odds = rest_of_share / share
    radical = np.sqrt(size**2 + 4 * odds * other * rest)
    total = 1 + unexplained * (not_called - called) + size * radical
    constant = not_called * (unexplained - other * (1 + size**2 * odds))
    above = np.where(negative, total, 2 * constant)
    below = np.where(negative, 2 * (1 - unexplained * share), total)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without correlation the rates add up to 1, also where nothing of the other class is called right.
        error = np.where(below == 0, rest, above / below)
        if step is None:
            return np.asarray(error)
        of_total = 2 * t * (called - not_called) + np.where(negative, -1, 1) * (radical + size**2 / radical)
        of_above = np.where(negative, of_total, -4 * t * not_called * (1 + odds * other))
        of_below = np.where(negative, 4 * t * share, of_total)
        slope = np.where(below == 0, -radical / (2 * rest_of_share), (of_above - error * of_below) / below)
        return np.asarray(error + 1j * step * slope)


def function_of_rates(form: ExactForm | FunctionOfRates | None, average: str | None) -> FunctionOfRates | None:
    """Return a metric, or its average over both classes, as a function of the rates; None if it is unknown."""
    if isinstance(form, Proportion):
        form = _fraction(form)
    if average in ("macro", "weighted"):
        return ClassAverage(form, average == "weighted") if isinstance(form, Fraction) else None
    return form if isinstance(form, FunctionOfRates) and average is None else None


def _fraction(proportion: Proportion) -> Fraction | None:
    names = (*proportion.success, *proportion.failure)
    if not BINARY_ARGUMENTS | {"correct", "wrong"} >= set(names):
        return None
    # Weights of tp, fn, fp and tn.
    weights = {name: cells_of(name, classes=2, positive=1)[::-1, ::-1].ravel() for name in names}
    above, total = (np.sum([weights[name] for name in some], 0) for some in (proportion.success, names))
    return Fraction(tuple(above.tolist()), tuple(total.tolist()))
