"""Forms in which the posterior of a metric is exact.

With cells θ ~ Dirichlet(ω), the probability of a set S of cells given S or another set F, disjoint from it, is
Beta(Σ_S ω, Σ_F ω). All closed forms follow from this: a `Proportion` has such a Beta distribution, an
`IncreasingFunction` is a function of one proportion, and `TwoProportions` is a function of two independent
proportions, integrated over the second.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bayesperf.core.arrays import Numbers
from bayesperf.core.fields import Applied, Held, applied, by_name


@by_name
def unchanged(x: Any) -> Any:
    """Return a proportion as a function of itself."""
    return x


UNCHANGED = applied(unchanged)


@dataclass(frozen=True)
class Proportion(Held):
    """A Beta-distributed proportion of the cells `success` among `success` and `failure` (argument names).

    Attributes
    ----------
    by_cell : bool
        Whether a prior on rates adds its weight to each cell, because the metric is derived from several rates with
        such a prior, or adds it once on each side.
    """

    success: tuple[str, ...]
    failure: tuple[str, ...]
    by_cell: bool = False
    method: ClassVar[str] = "exact"
    forward: ClassVar[Applied] = UNCHANGED

    @property
    def proportion(self) -> Proportion:
        """The proportion itself, for a common interface with `IncreasingFunction`."""
        return self


@dataclass(frozen=True)
class ProportionPair(Held):
    """Two independent proportions.

    Attributes
    ----------
    inner, outer : Proportion
        The proportions X and W.
    split : bool
        Whether W splits the failures of X; otherwise X and W are proportions of disjoint sets of cells.
    """

    inner: Proportion
    outer: Proportion
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
    """Level sets of a function of two independent quantities X and W in [0, 1] that is monotone in X.

    Attributes
    ----------
    inner_at : Applied
        ``inner_at(t, w, 1 - w)`` returns the X at which the function is t if W = w, or a value outside [0, 1] if there
        is none.
    outer_at : Applied, optional
        ``outer_at(t, x, 1 - x)`` returns the W at which the function is t if X = x. It restricts the integral over W to
        the range in which the inner distribution function is neither 0 nor 1; it has a kink, or a step, at its ends.
    increasing : bool
        Whether the function increases with X.
    increasing_outer : bool, optional
        Whether it increases with W (used only with `outer_at`); None if it does so only for some X.
    factors : tuple of two {"proportion", "inverse", "odds"}, optional
        If the function is a product of X, 1/X or (1 − X)/X and of one of these for W: the kinds of the two factors. Its
        moments then have a closed form, and may be infinite.
    multiple : float, optional
        If the function is a constant plus a multiple of X + W: the multiple. Its moments then have a closed form.
    by_subtraction : bool
        Whether the returned X are differences, so that values near 0 are rounding errors of t and W.
    bends : bool
        Whether X may change with W sharply somewhere, and hardly elsewhere (used only with `outer_at`).
    """

    inner_at: Applied
    outer_at: Applied | None = None
    increasing: bool = True
    increasing_outer: bool | None = True
    factors: tuple[str, str] | None = None
    multiple: float | None = None
    by_subtraction: bool = False
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
