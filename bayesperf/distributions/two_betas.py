"""The one-dimensional posteriors, as arrays: Beta, function of a Beta, mixture of Betas by quadrature.

All have the same verbs. Parameters have shape ``(m, 1)``, arguments and values ``(m, n)``, moments ``(m,)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.core.derivatives import complex_step
from bayesperf.distributions.quadrature import (
    beta_nodes,
    highest_density,
    invert,
    tanh_sinh,
    weighted_quantile,
)
from bayesperf.metrics.exact_forms import LevelSets

# Tail mass of the inner distribution that an integral over the outer one may leave to its ends.
_TAIL = 1e-13


class Distribution(ABC):
    """m continuous distributions of one kind on common bounds."""

    method: ClassVar[str]
    # How many are computed at once: bounds the memory of those that need many nodes each.
    chunk: ClassVar[int] = 1_000_000
    bounds: tuple[float, float]

    @abstractmethod
    def cdf(self, x: Array) -> Array: ...

    @abstractmethod
    def sf(self, x: Array) -> Array: ...

    @abstractmethod
    def logpdf(self, x: Array) -> Array: ...

    @abstractmethod
    def ppf(self, q: Array) -> Array: ...

    @abstractmethod
    def mean_sd(self) -> tuple[Array, Array]: ...

    @abstractmethod
    def guess(self, q: Array) -> Array:
        """Return rough quantiles, strictly inside the bounds."""

    def pdf(self, x: Array) -> Array:
        return np.exp(self.logpdf(x))

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        """Return both at once, which some can do for little more than one."""
        return self.cdf(x), self.logpdf(x)

    def hdi(self, prob: float) -> Array:
        return highest_density(self, prob)

    def mcse(self) -> Array:
        """Return the Monte Carlo standard error of the mean: zero, unless it is computed from draws."""
        return np.zeros(self.size)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many they are, m."""

    def take(self, index: NDArray[np.intp] | slice) -> Self:
        """Return some of the m distributions."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return replace(self, **{  # type: ignore[type-var]
            name: value.take(index) if isinstance(value, Distribution)
            else value[index] if isinstance(value, np.ndarray) else value
            for name, value in parts.items()
        })  # fmt: skip


@dataclass(frozen=True)
class Beta(Distribution):
    """Beta(a, b), both positive."""

    a: Array
    b: Array
    bounds: tuple[float, float] = (0.0, 1.0)
    method: ClassVar[str] = "exact"

    @property
    def size(self) -> int:
        return len(self.a)

    def cdf(self, x: Array) -> Array:
        return special.betainc(self.a, self.b, np.clip(x, 0, 1))

    def sf(self, x: Array) -> Array:
        return special.betaincc(self.a, self.b, np.clip(x, 0, 1))

    def logpdf(self, x: Array) -> Array:
        outside = (x < 0) | (x > 1)
        x = np.clip(x, 0, 1)
        with np.errstate(divide="ignore"):
            value = special.xlogy(self.a - 1, x) + special.xlog1py(self.b - 1, -x) - special.betaln(self.a, self.b)
        return np.where(outside, -np.inf, value) if outside.any() else np.asarray(value)

    def ppf(self, q: Array) -> Array:
        return special.betaincinv(self.a, self.b, q)

    def mean_sd(self) -> tuple[Array, Array]:
        a, b = self.a[:, 0], self.b[:, 0]
        mean = a / (a + b)
        return mean, np.sqrt(mean * (b / (a + b)) / (a + b + 1))

    def isf(self, q: Array) -> Array:
        """Return the quantiles of upper tails."""
        return 1 - special.betaincinv(self.b, self.a, q)

    def quantiles(self, u: Array, rest: Array) -> tuple[Array, Array]:
        """Return X and 1 − X at lower tails u and upper tails rest = 1 − u, (m, n, nodes).

        One inversion, from the smaller tail, is enough unless the mass within rounding of 0 or 1 is not negligible.
        """
        a, b = self.a[..., None], self.b[..., None]
        # Below 1e-100 betaincinv fails, and what is integrated counts for nothing.
        u, rest = np.clip(u, 1e-100, 1), np.clip(rest, 1e-100, 1)
        if min(self.a.min(), self.b.min()) < 1:
            return special.betaincinv(a, b, u), special.betaincinv(b, a, rest)
        lower = u < 0.5
        near = special.betaincinv(np.where(lower, a, b), np.where(lower, b, a), np.where(lower, u, rest))
        return np.where(lower, near, 1 - near), np.where(lower, 1 - near, near)

    def guess(self, q: Array) -> Array:
        """Return quantiles of the normal with the mean and variance of the logit."""
        location = special.digamma(self.a) - special.digamma(self.b)
        scale = np.sqrt(special.zeta(2, self.a) + special.zeta(2, self.b))
        return np.clip(special.expit(location + scale * special.ndtri(q)), 1e-15, 1 - 1e-15)

    def factor(self, kind: str) -> tuple[Array, Array]:
        """Return the mean and the squared coefficient of variation of X, 1/X or (1 − X)/X, inf where they diverge.

        Written out, because differences of log-gamma functions lose their digits at large counts.
        """
        a, b = self.a[:, 0], self.b[:, 0]
        if kind == "share":
            return a / (a + b), b / (a * (a + b + 1))
        with np.errstate(divide="ignore"):
            mean = (a + b - 1 if kind == "inverse" else b) / (a - 1)
            variation = (b / (a + b - 1) if kind == "inverse" else (a + b - 1) / b) / (a - 2)
        return np.where(a > 1, mean, np.inf), np.where(a > 2, variation, np.inf)


@dataclass(frozen=True)
class TransformedBeta(Distribution):
    """An increasing function of a Beta."""

    base: Beta
    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    method: ClassVar[str] = "exact"

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Values at the ends of [0, 1]."""
        return float(self.forward(0.0)), float(self.forward(1.0))

    def cdf(self, x: Array) -> Array:
        return self.base.cdf(self.inverse(np.clip(x, *self.bounds)))

    def sf(self, x: Array) -> Array:
        return self.base.sf(self.inverse(np.clip(x, *self.bounds)))

    def logpdf(self, x: Array) -> Array:
        clipped = np.clip(x, *self.bounds)
        value = self.base.logpdf(self.inverse(clipped)) + np.log(complex_step(self.inverse, clipped))
        return np.where(clipped == x, value, -np.inf)

    def ppf(self, q: Array) -> Array:
        return np.asarray(self.forward(self.base.ppf(q)))

    def mean_sd(self) -> tuple[Array, Array]:
        x, _, weights = beta_nodes(self.base.a, self.base.b)
        return _weighted_mean_sd(np.asarray(self.forward(x)), weights)

    def guess(self, q: Array) -> Array:
        return np.asarray(self.forward(self.base.guess(q)))


class Panel(NamedTuple):
    """An integral over W made ready: thresholds of X, their slopes in t, and weights, (m, n, nodes).

    Then the masses of W before and after the nodes, and whether the threshold rises with W, (m, n).
    """

    threshold: Array
    slope: Array
    weights: Array
    before: Array
    after: Array
    rising: NDArray[np.bool_]


@dataclass(frozen=True)
class FunctionOfTwoBetas(Distribution):
    """A function of two independent Betas X and W, monotone in X: its cdf is E_W[cdf of X at the threshold given W].

    The expectation is taken over u = cdf of W, by tanh-sinh quadrature on the panel of u where the inner cdf is not
    already 0 or 1.
    """

    inner: Beta
    outer: Beta
    form: LevelSets
    value: Callable[[Array, Array, Array, Array], Array]
    bounds: tuple[float, float]
    method: ClassVar[str] = "quadrature"
    chunk: ClassVar[int] = 256

    @property
    def size(self) -> int:
        return self.inner.size

    def cdf(self, x: Array) -> Array:
        return self._oriented(lambda part, t: [part._mass(t, part._panel(t), part.form.increasing)], x)[0]

    def sf(self, x: Array) -> Array:
        return self._oriented(lambda part, t: [part._mass(t, part._panel(t), not part.form.increasing)], x)[0]

    def logpdf(self, x: Array) -> Array:
        return self._oriented(lambda part, t: [part._log_density(t, part._panel(t))], x)[0]

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        def both(part: FunctionOfTwoBetas, t: Array) -> list[Array]:
            panel = part._panel(t)
            return [part._mass(t, panel, part.form.increasing), part._log_density(t, panel)]

        cdf, logpdf = self._oriented(both, x)
        return cdf, logpdf

    def _oriented(self, function: Callable[[FunctionOfTwoBetas, Array], list[Array]], x: Array) -> list[Array]:
        """Apply a function with the Beta that has the milder singularities inside: the outer one's vanish in u.

        Arguments at or beyond the bounds, where a threshold need not exist, are passed as infinite.
        """
        low, high = self.bounds
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        x = np.where(x <= low, -np.inf, np.where(x >= high, np.inf, x))
        milder = np.minimum(self.outer.a, self.outer.b) > np.minimum(self.inner.a, self.inner.b)
        swap = milder[:, 0] & (self.form.outer_at is not None) & (self.form.increasing_outer is not None)
        results = [np.empty(x.shape), np.empty(x.shape)]
        for chosen, orient in ((~swap, lambda part: part), (swap, FunctionOfTwoBetas._swapped)):
            if chosen.any():
                values = function(orient(self.take(np.flatnonzero(chosen))), x[chosen])
                for result, value in zip(results, values, strict=False):
                    result[chosen] = value
        return results

    def _swapped(self) -> FunctionOfTwoBetas:
        """Exchange the two Betas' roles."""
        form = self.form
        assert form.outer_at is not None
        assert form.increasing_outer is not None
        form = replace(form, inner_at=form.outer_at, outer_at=form.inner_at, increasing=form.increasing_outer)
        return replace(self, inner=self.outer, outer=self.inner, form=form)

    def _mass(self, t: Array, panel: Panel, below: bool) -> Array:
        """Return E_W[P(X < threshold)], or of X > threshold; t is infinite beyond the bounds."""
        share = special.betainc if below else special.betaincc
        inside = share(self.inner.a[..., None], self.inner.b[..., None], np.clip(panel.threshold, 0, 1))
        # Beyond the panel the inner cdf is 1 on one side, 0 on the other.
        beyond = np.where(panel.rising == below, panel.after, panel.before)
        value = np.clip((panel.weights * inside).sum(-1) + beyond, 0, 1)
        low, high = (0.0, 1.0) if below == self.form.increasing else (1.0, 0.0)
        return np.where(np.isinf(t), np.where(t < 0, low, high), value)

    def _log_density(self, t: Array, panel: Panel) -> Array:
        # A node that rounds onto the end of [0, 1], where the density may be infinite, is moved a hair inside.
        threshold = panel.threshold
        inside = np.where((threshold >= 0) & (threshold <= 1), np.clip(threshold, 1e-300, 1 - 2**-53), -1)
        density = np.exp(Beta(self.inner.a[..., None], self.inner.b[..., None]).logpdf(inside))
        with np.errstate(divide="ignore"):
            value = np.log((panel.weights * np.where(inside < 0, 0, density * panel.slope)).sum(-1))
        return np.where(np.isinf(t), -np.inf, value)

    def _panel(self, t: Array) -> Panel:
        """Return the nodes and weights of the integral over W, and the thresholds of X at them."""
        t = np.where(np.isinf(t), self.bounds[0] + 0.5 * min(self.bounds[1] - self.bounds[0], 1.0), t)
        node, rest_node, weight = tanh_sinh()
        if self.form.outer_at is None:
            start, end, rest_end = np.zeros_like(t), np.ones_like(t), np.zeros_like(t)
            rising = np.ones_like(t, bool)
        else:
            lowest, highest = self.inner.ppf(np.array([[_TAIL]])), self.inner.isf(np.array([[_TAIL]]))
            w_low = self.form.outer_at(t, lowest, 1 - lowest)
            w_high = self.form.outer_at(t, highest, 1 - highest)
            rising = w_high > w_low
            first, last = (np.clip(end(w_low, w_high), 0, 1) for end in (np.minimum, np.maximum))
            start, end, rest_end = self.outer.cdf(first), self.outer.cdf(last), self.outer.sf(last)
        length = (end - start)[..., None]
        w, rest = self.outer.quantiles(start[..., None] + length * node, rest_end[..., None] + length * rest_node)
        threshold = self.form.inner_at(t[..., None], w, rest)
        slope = np.abs(complex_step(lambda z: self.form.inner_at(z, w, rest), t[..., None]))
        return Panel(threshold, slope, length * weight, start, rest_end, rising)

    def ppf(self, q: Array) -> Array:
        q = np.broadcast_to(q, (len(self.inner.a), q.shape[-1]))
        x = invert(self, q, self.guess(q))
        return np.where(q <= 0, self.bounds[0], np.where(q >= 1, self.bounds[1], x))

    def guess(self, q: Array) -> Array:
        return weighted_quantile(*self._points(33), q)

    def _points(self, nodes: int) -> tuple[Array, Array]:
        """Return values and weights (m, nodes²) of the metric on the product of both Betas' nodes."""
        x, rest_x, weights_x = (part[:, :, None] for part in beta_nodes(self.inner.a, self.inner.b, nodes))
        w, rest_w, weights_w = (part[:, None, :] for part in beta_nodes(self.outer.a, self.outer.b, nodes))
        values = self.value(*np.broadcast_arrays(x, rest_x, w, rest_w)).reshape(len(x), -1)
        return np.clip(values, *self.bounds), (weights_x * weights_w).reshape(len(x), -1)

    def mean_sd(self) -> tuple[Array, Array]:
        """Return the moments: closed where the metric is a product of two factors, inf where they diverge."""
        if self.form.factors is None:
            return _weighted_mean_sd(*self._points(129))
        (mean, x), (w_mean, w) = (
            beta.factor(kind) for beta, kind in zip((self.inner, self.outer), self.form.factors, strict=True)
        )
        return mean * w_mean, mean * w_mean * np.sqrt(x + w + x * w)


def _weighted_mean_sd(values: Array, weights: Array) -> tuple[Array, Array]:
    mean = (weights * values).sum(-1)
    return mean, np.sqrt((weights * (values - mean[:, None]) ** 2).sum(-1))
