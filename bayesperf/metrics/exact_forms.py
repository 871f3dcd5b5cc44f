"""The vocabulary in which a metric says what its exact posterior is.

With cells θ ~ Dirichlet(ω), the share of a set S of cells among S and another set F, disjoint from it, is
Beta(Σ_S ω, Σ_F ω). Every closed form comes from that: a `Share` is such a Beta; a `Transform` is a monotone function of
one; a `Mixture` depends on two independent ones and is integrated over the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Share:
    """A Beta-distributed share: cells `success` among `success` and `failure` (names of metric arguments)."""

    success: tuple[str, ...]
    failure: tuple[str, ...]
    method: ClassVar[str] = "exact"


@dataclass(frozen=True)
class Pair:
    """Two independent shares.

    Attributes
    ----------
    inner, outer : Share
        The shares X and W.
    split : bool
        Whether W splits the failures of X (else each share is of cells of its own).
    """

    inner: Share
    outer: Share
    split: bool = False

    def cells(self, x: Array, rest_x: Array, w: Array, rest_w: Array) -> dict[str, Array]:
        """Return cells that stand for some values of X, 1 − X, W and 1 − W, up to what metrics of them ignore."""
        within = rest_x if self.split else 1.0
        (success,), (w_success,), (w_failure,) = self.inner.success, self.outer.success, self.outer.failure
        cells = {success: x, w_success: within * w, w_failure: within * rest_w}
        missing = {name: rest_x for name in self.inner.failure if name not in cells}
        return {"tn": 0 * x, **cells, **missing}


@dataclass(frozen=True)
class Surface:
    """A function of two independent shares X and W, monotone in X, by where it has a value.

    Attributes
    ----------
    inner_at : callable
        ``inner_at(t, w, 1 - w)``: the X at which the function is t when W = w. May leave [0, 1] where there is none.
    outer_at : callable, optional
        ``outer_at(t, x, 1 - x)``: the W at which the function is t when X = x. Where given, the integral over W is
        confined to where it matters: the inner distribution function has a kink, or a step, there.
    increasing : bool
        Whether the function grows with X.
    increasing_outer : bool, optional
        Whether it grows with W (of use only with `outer_at`); None if it does for some X only.
    factors : tuple of two {"share", "inverse", "odds"}, optional
        If it is a product of X, 1/X or (1 − X)/X and likewise of W: its moments are then closed, and may be infinite.
    """

    inner_at: Callable[[Array, Array, Array], Array]
    outer_at: Callable[[Array, Array, Array], Array] | None = None
    increasing: bool = True
    increasing_outer: bool | None = True
    factors: tuple[str, str] | None = None


@dataclass(frozen=True)
class Mixture(Surface):
    """A metric that is a function of a pair of independent shares, the inner one X and the outer one W."""

    pair: Pair = field(kw_only=True)
    method: ClassVar[str] = "quadrature"


@dataclass(frozen=True)
class Transform:
    """An increasing function of a share, with its inverse (which must accept complex numbers)."""

    share: Share
    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    method: ClassVar[str] = "exact"


type Exact = Share | Transform | Mixture

RECALL, MISSES = Share(("tp",), ("fn",)), Share(("fn",), ("tp",))
SPECIFICITY, FALSE_ALARMS = Share(("tn",), ("fp",)), Share(("fp",), ("tn",))
PRECISION, NPV = Share(("tp",), ("fp",)), Share(("tn",), ("fn",))

# The Jaccard index, and the share of false positives among the errors on positives.
HITS = Pair(Share(("tp",), ("fp", "fn")), Share(("fp",), ("fn",)), split=True)

# The exact forms of micro averages, by the number of classes. Every wrong prediction is one false positive and one
# false negative, so that with accuracy A: Σtp = A, Σfn = Σfp = 1 − A, Σtn = (K − 1)A + (K − 2)(1 − A).
_ACCURACY, _ERROR = Share(("correct",), ("wrong",)), Share(("wrong",), ("correct",))


def micro_accuracy(_: int) -> Exact:
    """Precision, recall and F_β: accuracy itself."""
    return _ACCURACY


def micro_error(_: int) -> Exact:
    """Their complements."""
    return _ERROR


def micro_jaccard(_: int) -> Exact:
    """Return A/(2 − A)."""
    return Transform(_ACCURACY, lambda a: a / (2 - a), lambda t: 2 * t / (1 + t))


def micro_rest(classes: int) -> Exact:
    """Specificity and npv, 1 − (1 − A)/(K − 1)."""
    k = classes - 1
    return Transform(_ACCURACY, lambda a: 1 - (1 - a) / k, lambda t: 1 - k * (1 - t))


def micro_rest_error(classes: int) -> Exact:
    """Their complements."""
    k = classes - 1
    return Transform(_ERROR, lambda e: e / k, lambda t: k * t)
