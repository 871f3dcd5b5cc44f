"""Distributions of functions of two independent Betas, computed by quadrature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array, Booleans, Codes, blocks, complex_step
from bayesperf.core.fields import Applied
from bayesperf.distributions.beta import Beta, beta_above, skewness_of_product, weighted_mean_sd
from bayesperf.distributions.normal_scores import NormalScores, RoughlyKnown, logit_between
from bayesperf.distributions.quadrature import beta_nodes, gauss_jacobi, gauss_legendre, tanh_sinh
from bayesperf.distributions.quantiles import invert, weighted_quantile
from bayesperf.metrics.exact_forms import LevelSets

# Least parameter of a Beta for which the singularities of its density are integrated; others need its quantiles. The
# rules for parameters down to ½ and below it: number of nodes, and how far they reach.
_SPREAD = 0.2
_SINGULAR, _MORE_SINGULAR = (97, 3.8), (193, 4.75)
# Least parameter of Betas for which the integrand is smooth, up to negligible kinks and endpoint singularities.
_SMOOTH = 5.0
# Number of nodes of a Beta for rough distribution functions, and for a rough view of the function.
_ROUGH_NODES, _FEW_NODES = 12, 5
# Probabilities of X at whose quantiles the integral is split where the threshold bends.
_BENDS = np.array([[0.001, 0.5, 0.999]])
# Number of nodes that are evaluated at once: they stay in the processor's cache.
_AT_ONCE = 2**17


class Panel(NamedTuple):
    """The nodes of an integral over W."""

    # W and 1 − W at each node, the threshold of X there, and the node's weight, (m, n, nodes).
    w: Array
    rest: Array
    threshold: Array
    weights: Array
    # Mass of W before and after the nodes, (m, n).
    before: Array
    after: Array
    # Whether the threshold increases with W, (m, n).
    rising: Booleans


@dataclass(frozen=True)
class FunctionOfTwoBetas(RoughlyKnown):
    """The distribution of a function of two independent Betas X and W that is monotone in X.

    Its cdf is E_W[cdf of X at the threshold given W]. The expectation is an integral over W, or over u = cdf of W, on
    the range in which the inner cdf is neither 0 nor 1, by tanh-sinh or Gauss–Legendre quadrature.
    """

    # X and W.
    inner: Beta
    outer: Beta
    # Level sets of the function.
    form: LevelSets
    # The function itself, ``value(x, 1 - x, w, 1 - w)``.
    value: Applied
    # Smallest and largest value of the function.
    bounds: tuple[float, float]
    method: ClassVar[str] = "quadrature"
    chunk: ClassVar[int] = 256

    def parameters(self) -> Array:
        return np.hstack([self.inner.a, self.inner.b, self.outer.a, self.outer.b])

    @property
    def exchangeable(self) -> bool:
        """Whether X and W can exchange their roles."""
        return self.form.outer_at is not None and self.form.increasing_outer is not None

    @property
    def nodes(self) -> int:
        """Number of nodes for a smooth integrand, with errors of about 1e-10; a sum needs fewer."""
        return 48 if self.form.multiple is None else 32

    @cached_property
    def least(self) -> Array:
        """The smallest parameter of both Betas, (m,)."""
        return np.hstack([self.inner.a, self.inner.b, self.outer.a, self.outer.b]).min(-1)

    def one_peak(self) -> Booleans:
        return self.least >= 1

    def cdf(self, x: Array) -> Array:
        return self.oriented(lambda part, t: [part.mass(t, part.panel(t), part.form.increasing)], x)[0]

    def sf(self, x: Array) -> Array:
        return self.oriented(lambda part, t: [part.mass(t, part.panel(t), not part.form.increasing)], x)[0]

    def logpdf(self, x: Array) -> Array:
        return self.oriented(lambda part, t: [part.log_density(t, part.panel(t))], x)[0]

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        def both(part: FunctionOfTwoBetas, t: Array) -> list[Array]:
            panel = part.panel(t)
            return [part.mass(t, panel, part.form.increasing), part.log_density(t, panel)]

        cdf, logpdf = self.oriented(both, x)
        return cdf, logpdf

    def oriented(self, function: Callable[[FunctionOfTwoBetas, Array], list[Array]], x: Array) -> list[Array]:
        """Apply a function with the Beta that has the milder singularities as the inner one.

        The singularities of the outer Beta vanish in the integral over u. Arguments at or beyond the bounds, where
        there may be no threshold, are passed as infinite.
        """
        low, high = self.bounds
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        x = np.where(x <= low, -np.inf, np.where(x >= high, np.inf, x))
        results = [np.empty(x.shape), np.empty(x.shape)]
        for rows, part in self._of_one_rule:
            for some in blocks(x.shape[-1], part.size * part.nodes_of_each, _AT_ONCE):
                for result, value in zip(results, function(part, x[rows, some]), strict=False):
                    result[rows, some] = value
        return results

    @cached_property
    def _of_one_rule(self) -> list[tuple[Codes | slice, FunctionOfTwoBetas]]:
        """Rows that are computed together, oriented, with their positions: one rule does not affect others."""
        inner, outer = (np.minimum(beta.a, beta.b)[:, 0] for beta in (self.inner, self.outer))
        swap = (outer > inner) & self.exchangeable
        singular = np.searchsorted([_SPREAD, 0.5], np.where(swap, inner, outer), "right")
        rule = 4 * swap + np.where(self.least >= _SMOOTH, 3, singular)
        return [(rows, part.swapped() if of >= 4 else part) for of, rows, part in by_kind(self, rule)]

    def swapped(self) -> FunctionOfTwoBetas:
        """Return the same distribution with the roles of the two Betas exchanged."""
        form = self.form
        assert form.outer_at is not None
        assert form.increasing_outer is not None
        form = replace(
            form,
            inner_at=form.outer_at,
            outer_at=form.inner_at,
            increasing=form.increasing_outer,
            increasing_outer=form.increasing,
        )
        return replace(self, inner=self.outer, outer=self.inner, form=form)

    def mass(self, t: Array, panel: Panel, below: bool) -> Array:
        """Return E_W[P(X < threshold)], or E_W[P(X > threshold)] if not `below`; t is infinite beyond the bounds."""
        inside = self.inner_mass(np.clip(panel.threshold, 0, 1), below)
        # Beyond the nodes the inner distribution function is 1 on one side and 0 on the other.
        beyond = np.where(panel.rising == below, panel.after, panel.before)
        value = np.clip((panel.weights * inside).sum(-1) + beyond, 0, 1)
        low, high = (0.0, 1.0) if below == self.form.increasing else (1.0, 0.0)
        return np.where(np.isinf(t), np.where(t < 0, low, high), value)

    def inner_mass(self, threshold: Array, below: bool) -> Array:
        """Return P(X < threshold), or P(X > threshold) if not `below`, for thresholds (m, n, nodes)."""
        tail = special.betainc if below else beta_above
        return np.asarray(tail(self.inner.a[..., None], self.inner.b[..., None], threshold))

    def log_density(self, t: Array, panel: Panel) -> Array:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            slope = complex_step(lambda z: self.form.inner_at(z, panel.w, panel.rest), self._inside(t)[..., None])
        threshold, a, b = panel.threshold, self.inner.a[..., None], self.inner.b[..., None]
        # One that rounds to an end of [0, 1], where the density may be infinite, is moved slightly inside. NumPy's
        # logarithms take a tenth of the time of SciPy's, which know what 0·log 0 is.
        inside = np.clip(threshold, 1e-300, 1 - 2**-53)
        density = np.exp((a - 1) * np.log(inside) + (b - 1) * np.log1p(-inside) - special.betaln(a, b))
        density *= panel.weights * np.abs(slope)
        density[~((threshold >= 0) & (threshold <= 1))] = 0
        with np.errstate(divide="ignore"):
            value = np.log(density.sum(-1))
        return np.where(np.isinf(t), -np.inf, value)

    def panel(self, t: Array) -> Panel:
        """Return the nodes and weights of the integral over W, with the thresholds of X at the nodes."""
        t = self._inside(t)
        first, last, rising = np.zeros_like(t), np.ones_like(t), np.ones_like(t, bool)
        if self.form.outer_at is not None:
            lowest, lowest_rest = _ends(self.inner)
            with np.errstate(over="ignore", divide="ignore"):
                w_low = self.form.outer_at(t, lowest, 1 - lowest)
                w_high = self.form.outer_at(t, 1 - lowest_rest, lowest_rest)
            # The two may be equal where the integrand is constant.
            opposed = self.form.increasing != self.form.increasing_outer
            rising = w_high > w_low if self.form.increasing_outer is None else np.full_like(rising, opposed)
            first, last = (np.clip(end(w_low, w_high), 0, 1) for end in (np.minimum, np.maximum))
        w, rest, weights, before, after = self._nodes(t, first, last)
        with np.errstate(over="ignore", divide="ignore"):
            threshold = self.form.inner_at(t[..., None], w, rest)
        if self.form.by_subtraction:
            error = np.finfo(float).eps * (np.abs(t[..., None]) + w)
            threshold = np.where(np.abs(threshold) < error, error, threshold)
        return Panel(w, rest, threshold, weights, before, after, rising)

    def _inside(self, t: Array) -> Array:
        """Return t, with infinite values replaced by a number between the bounds."""
        return np.where(np.isinf(t), self.bounds[0] + 0.5 * min(self.bounds[1] - self.bounds[0], 1.0), t)

    def _nodes(self, t: Array, first: Array, last: Array) -> tuple[Array, ...]:
        """Return nodes W and 1 − W between two values, with weights and the mass beyond.

        Where the threshold bends sharply, the integral is split at the W at which it passes quantiles of X, because
        nodes are densest at the ends of a part.
        """
        rule = self._values if self.outer_least.min() >= _SPREAD else self._probabilities
        if not self.form.bends:
            return rule(first, last)
        assert self.form.outer_at is not None
        x = self.inner.ppf(_BENDS)[:, None, :]
        bends = np.clip(self.form.outer_at(t[..., None], x, 1 - x), first[..., None], last[..., None])
        ends = np.concatenate([first[..., None], np.sort(bends, -1), last[..., None]], -1)
        parts = [rule(ends[..., i], ends[..., i + 1]) for i in range(ends.shape[-1] - 1)]
        w, rest, weights = (np.concatenate([part[i] for part in parts], -1) for i in range(3))
        before, after = parts[0][3], parts[-1][4]
        return w, rest, weights, before, after

    def _probabilities(self, first: Array, last: Array) -> tuple[Array, ...]:
        """Return nodes W and 1 − W between two values, with weights and the mass beyond, at nodes of the cdf of W."""
        node, rest_node, weight = tanh_sinh()
        before, end, after = self.outer.cdf(first), self.outer.cdf(last), self.outer.sf(last)
        length = np.maximum(end - before, 0)[..., None]
        w, rest = self.outer.quantiles(before[..., None] + length * node, after[..., None] + length * rest_node)
        return w, rest, length * weight, before, after

    def _values(self, first: Array, last: Array) -> tuple[Array, ...]:
        """Return the same as `_probabilities`, at nodes of W itself, which needs no quantiles of W."""
        low, rest_high = _ends(self.outer)
        high = 1 - rest_high
        rest_last = np.where(last >= high, rest_high, 1 - last)[..., None]
        # This uses the values before they are clipped: beyond the nodes there is no mass if t is far from all of it.
        before, after = self.outer.cdf(first), self.outer.sf(last)
        first, last = np.clip(first, low, high), np.clip(last, low, high)
        node, rest_node, weight = self._rule
        length = (last - first)[..., None]
        w, rest = first[..., None] + length * node, rest_last + length * rest_node
        log_density = (self.outer.a[..., None] - 1) * np.log(w) + (self.outer.b[..., None] - 1) * np.log(rest)
        weights = weight * np.exp(log_density - log_density.max(-1, keepdims=True))
        # Normalised by the mass between the ends, because the constant of the density loses digits at large counts.
        weights *= (np.maximum(1 - before - after, 0) / weights.sum(-1))[..., None]
        return w, rest, weights, before, after

    @cached_property
    def _rule(self) -> tuple[Array, Array, Array]:
        if self.least.min() >= _SMOOTH:
            return gauss_legendre(self.nodes)
        return tanh_sinh(*(_SINGULAR if self.outer_least.min() >= 0.5 else _MORE_SINGULAR))

    @property
    def nodes_of_each(self) -> int:
        """Number of nodes of the integral for one distribution at one point, roughly."""
        return len(self._rule[0]) * (1 + _BENDS.size * self.form.bends)

    @cached_property
    def outer_least(self) -> Array:
        """The smaller parameter of the outer Beta, (m,)."""
        return np.minimum(self.outer.a, self.outer.b)[:, 0]

    def ppf(self, q: Array) -> Array:
        q = np.broadcast_to(q, (len(self.inner.a), q.shape[-1]))
        x = invert(self, q, self.guess(q))
        return np.where(q <= 0, self.bounds[0], np.where(q >= 1, self.bounds[1], x))

    def quantiles_of_few(self, q: Array) -> Array:
        if self.form.multiple is None:
            return weighted_quantile(*self.points(17), q)
        # The Beta on the bounds with the same mean and standard deviation.
        low, high = self.bounds
        mean, sd = (moment[:, None] / (high - low) for moment in self.mean_sd())
        share = mean - low / (high - low)
        total = share * (1 - share) / sd**2 - 1
        return low + (high - low) * Beta(share * total, (1 - share) * total).guess(q)

    @cached_property
    def rough(self) -> NormalScores:
        mean, variance = self.logit_mean_variance()
        return NormalScores.of(self.rough_cdf, mean, np.sqrt(variance), self.bounds)

    def logit_mean_variance(self) -> tuple[Array, Array]:
        """Return means and variances (m,) of the logits of the positions between the bounds, roughly."""
        values, weights = self._view
        return mean_variance_of(logit_between(values, self.bounds), weights)

    @cached_property
    def _view(self) -> tuple[Array, Array]:
        """An approximate view of the function: values and weights at few nodes."""
        return self.grid(_FEW_NODES)

    def rough_cdf(self, x: Array) -> Array:
        """Return the distribution functions at x (m, n), with few nodes of the less important Beta where possible.

        It is possible where the threshold is nowhere so steep that few nodes miss it.
        """
        values, _ = self._view
        cdf, swap = np.empty(x.shape), self.exchangeable & (values.mean(1).std(-1) > values.mean(2).std(-1))
        for exchanged, rows, alike in by_kind(self, swap):
            part = alike.swapped() if exchanged else alike
            w, rest, weights = (each[:, None, :] for each in _jacobi_nodes(part.outer, _ROUGH_NODES))
            threshold = np.clip(part.form.inner_at(x[rows, :, None], w, rest), 0, 1)
            cdf[rows] = (weights * part.inner_mass(threshold, part.form.increasing)).sum(-1)
        return cdf

    def grid(self, nodes: int) -> tuple[Array, Array]:
        """Return values and weights (m, nodes, nodes) of the function at Jacobi nodes of X and W."""
        x, rest_x, weights_x = (part[:, :, None] for part in _jacobi_nodes(self.inner, nodes))
        w, rest_w, weights_w = (part[:, None, :] for part in _jacobi_nodes(self.outer, nodes))
        values = np.clip(self.value(x, rest_x, w, rest_w), *self.bounds)
        return values, weights_x * weights_w

    def points(self, nodes: int) -> tuple[Array, Array]:
        """Return values and weights (m, nodes²) of the metric on the product of both Betas' nodes."""
        x, rest_x, weights_x = (part[:, :, None] for part in beta_nodes(self.inner.a, self.inner.b, nodes))
        w, rest_w, weights_w = (part[:, None, :] for part in beta_nodes(self.outer.a, self.outer.b, nodes))
        values = self.value(x, rest_x, w, rest_w).reshape(len(x), -1)
        return np.clip(values, *self.bounds), (weights_x * weights_w).reshape(len(x), -1)

    def mean_sd(self) -> tuple[Array, Array]:
        """Return the moments, in closed form if the metric is a sum or a product, and inf if they diverge."""
        if self.form.multiple is not None:
            (x, sd_x), (w, sd_w) = self.inner.mean_sd(), self.outer.mean_sd()
            return self.value(x, 1 - x, w, 1 - w), self.form.multiple * np.hypot(sd_x, sd_w)
        if self.form.factors is None:
            return weighted_mean_sd(*self.points(129))
        (mean, x), (w_mean, w) = (
            beta.factor(kind) for beta, kind in zip((self.inner, self.outer), self.form.factors, strict=True)
        )
        return mean * w_mean, mean * w_mean * np.sqrt(x + w + x * w)

    def skewness(self) -> Array:
        if self.form.multiple is not None:
            parts = [(beta.skewness(), beta.mean_sd()[1]) for beta in (self.inner, self.outer)]
            return np.asarray(sum(skew * sd**3 for skew, sd in parts) / np.hypot(*(sd for _, sd in parts)) ** 3)
        if self.form.factors is None:
            return super().skewness()
        pairs = list(zip((self.inner, self.outer), self.form.factors, strict=True))
        first, second = (beta.factor(kind)[1] for beta, kind in pairs)
        of_first, of_second = (beta.factor_skewness(kind) for beta, kind in pairs)
        return skewness_of_product((first, second), (of_first, of_second))


def by_kind[T: FunctionOfTwoBetas](distribution: T, kind: NDArray[Any]) -> Iterator[tuple[int, Codes | slice, T]]:
    """Yield each kind, its rows, and their distributions: the same object if all rows have one kind."""
    kinds = np.unique(kind).tolist()
    for each in kinds:
        rows = np.flatnonzero(kind == each)
        yield (each, rows, distribution.take(rows)) if len(kinds) > 1 else (each, slice(None), distribution)


def mean_variance_of(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return means and variances (m,) of weighted values (m, nodes, nodes)."""
    mean = (weights * values).sum((1, 2))
    return mean, (weights * (values - mean[:, None, None]) ** 2).sum((1, 2))


def _ends(beta: Beta) -> tuple[Array, Array]:
    """Return the quantiles of X and of 1 − X below which the mass is negligible, (m, 1)."""
    betas, rows = beta.distinct
    return betas.lowest[rows], betas.lowest_rest[rows]


def _jacobi_nodes(beta: Beta, nodes: int) -> tuple[Array, ...]:
    """Return nodes x, 1 − x and weights (m, nodes) for polynomials; equal Betas are computed once."""
    betas, rows = beta.distinct
    return tuple(part[rows] for part in gauss_jacobi(betas.a, betas.b, nodes))
