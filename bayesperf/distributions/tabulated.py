"""Distributions on (0, 1) represented by their densities at quadrature nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.fields import held
from bayesperf.distributions.base import Distribution

# Number of steps between two nodes after refinement, for which the error of cubic interpolation is about 1e-8.
_STEPS = 8
# The range to which probabilities are clipped, so that their logits are finite.
LEAST, MOST = np.finfo(float).tiny, 1 - 2.0**-53


@cache
def refinement(nodes: int, steps: int) -> tuple[Array, Array]:
    """Return matrices that map values at equidistant nodes to values and slopes at nodes `steps` times as dense.

    They represent a quintic spline, which is linear in the values; slopes are per distance between two coarse nodes.
    """
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(np.arange(nodes), np.eye(nodes), k=5)
    fine = np.linspace(0, nodes - 1, steps * (nodes - 1) + 1)
    return spline(fine), spline(fine, 1)


@held
class Axis(NamedTuple):
    """Nodes with logits centre + scale·sinh(v), where v increases from `lowest` in equal steps; fields are (m, 1)."""

    centre: Array
    scale: Array
    lowest: Array
    step: Array

    @classmethod
    def between(cls, low: Array, high: Array, centre: Array, scale: Array, nodes: int) -> Axis:
        """Return an axis with a given number of nodes between two logits, densest at the centre."""
        first, last = np.arcsinh((low - centre) / scale), np.arcsinh((high - centre) / scale)
        return cls(centre, scale, first, (last - first) / (nodes - 1))

    @classmethod
    def of_beta(cls, a: Array, b: Array, nodes: int, centre: Array | None = None, scale: Array | None = None) -> Axis:
        """Return an axis to where the density of the logit of a Beta is negligible; by default about its mode."""
        middle = np.log(a / b) if centre is None else centre
        width = np.minimum(np.sqrt(1 / a + 1 / b), 1) if scale is None else scale
        return cls.between(middle - 42 / a - 9 * width, middle + 42 / b + 9 * width, middle, width, nodes)

    def positions(self, nodes: int) -> Array:
        """Return v at the first `nodes` nodes, (m, nodes)."""
        return self.lowest + self.step * np.arange(nodes)

    def logits(self, v: Array) -> Array:
        return self.centre + self.scale * np.sinh(v)

    def reached(self, logits: Array) -> Array:
        """Return the distance of logits from the first node, in steps of v."""
        return (np.arcsinh((logits - self.centre) / self.scale) - self.lowest) / self.step

    def pace(self, v: Array) -> Array:
        """Return the derivative of the logit with respect to v."""
        return self.scale * np.cosh(v)

    def nodes(self, count: int) -> tuple[Array, Array]:
        """Return the logits of the first `count` nodes, and the logarithms of their quadrature weights."""
        v = self.positions(count)
        return self.logits(v), np.log(self.pace(v) * self.step)

    def refined(self, steps: int) -> Axis:
        return self._replace(step=self.step / steps)

    def take(self, index: Codes | slice) -> Axis:
        return Axis(*(part[index] for part in self))


class Cubics(NamedTuple):
    """Polynomials of degree 3 in the fraction of a cell, by their coefficients from the constant up."""

    left: Array
    start: Array
    bend: Array
    twist: Array
    # The length of a cell.
    step: Array

    def at(self, part: Array) -> tuple[Array, Array]:
        """Return the values and slopes at a fraction of each cell."""
        value = self.left + part * (self.start + part * (self.bend + part * self.twist))
        return value, (self.start + part * (2 * self.bend + 3 * part * self.twist)) / self.step


@dataclass(frozen=True)
class Tabulated(Distribution):
    """Distributions on (0, 1) tabulated at the nodes of an axis, with cubic Hermite interpolation between the nodes."""

    axis: Axis
    # Log density of the logit, and its derivative with respect to v, (m, nodes).
    log_density: Array
    slope: Array
    # Distribution function at the nodes, (m, nodes).
    cumulative: Array
    # Mean and standard deviation, (m, 2).
    moments: Array
    bounds: tuple[float, float] = (0.0, 1.0)
    method: ClassVar[str] = "quadrature"
    chunk: ClassVar[int] = 1024

    @classmethod
    def of(cls, axis: Axis, log_density: Array) -> Self:
        """Return the distribution whose logit has the given log density, up to a constant, at the nodes of an axis.

        The moments are sums over these nodes (the trapezoidal rule). For a density that decays at both ends they are
        far more accurate than interpolation between the nodes.
        """
        nodes = log_density.shape[1]
        logit, log_length = axis.nodes(nodes)
        total = special.logsumexp(log_density + log_length, axis=-1, keepdims=True)
        weight, x = np.exp(log_density + log_length - total), special.expit(logit)
        mean = (weight * x).sum(-1, keepdims=True)
        moments = np.hstack([mean, np.sqrt((weight * (x - mean) ** 2).sum(-1, keepdims=True))])

        values, slopes = (matrix.T for matrix in refinement(nodes, _STEPS))
        fine = axis.refined(_STEPS)
        log_density, slope = (log_density - total) @ values, log_density @ slopes / axis.step
        v = fine.positions(log_density.shape[1])
        density = np.exp(log_density) * fine.pace(v)
        change = density * (slope + np.tanh(v))
        # The trapezoidal rule with a correction by the slopes at the ends of each step.
        mass = fine.step / 2 * (density[:, 1:] + density[:, :-1]) - fine.step**2 / 12 * np.diff(change)
        cumulative = np.cumsum(np.maximum(mass, 0), -1)
        cumulative = np.hstack([np.zeros_like(mean), cumulative / cumulative[:, -1:]])
        return cls(fine, log_density, slope, cumulative, moments)

    @classmethod
    def beta(cls, a: Array, b: Array, nodes: int = 65) -> Self:
        """Return Beta(a, b) with parameters (m, 1), whose quantiles take a tenth of the time of exact ones."""
        axis = Axis.of_beta(a, b, nodes)
        logit = axis.nodes(nodes)[0]
        return cls.of(axis, a * special.log_expit(logit) + b * special.log_expit(-logit))

    @property
    def size(self) -> int:
        return len(self.cumulative)

    def mean_sd(self) -> tuple[Array, Array]:
        return self.moments[:, 0], self.moments[:, 1]

    def overlap(self, other: Distribution) -> Array:
        """Return the overlap of the two distributions, (m,): 1 if they are the same, 0 if they are disjoint."""
        nodes = special.expit(self.axis.nodes(self.cumulative.shape[1])[0])
        return np.minimum(np.diff(self.cumulative), np.diff(other.cdf(nodes))).sum(-1)

    def cdf(self, x: Array) -> Array:
        x, cell, part, _ = self._place(x)
        return self._cdf(x, cell, part)

    def sf(self, x: Array) -> Array:
        return 1 - self.cdf(x)

    def logpdf(self, x: Array) -> Array:
        return self.cdf_logpdf(x)[1]

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        x, cell, part, logit = self._place(x)
        axis, inside = self.axis, np.clip(x, LEAST, MOST)
        log_density, slope = self._cubics(self.log_density, self.slope, cell).at(part)
        # Beyond the last node the log density is extrapolated linearly, because the tails of a logit are exponential.
        v = axis.lowest + axis.step * (cell + part)
        log_density += slope / axis.pace(v) * (logit - axis.logits(v))
        logpdf = log_density - np.log(inside) - np.log1p(-inside)
        return self._cdf(x, cell, part), np.where((x < 0) | (x > 1), -np.inf, logpdf)

    def _place(self, x: Array) -> tuple[Array, Codes, Array, Array]:
        """Return x (m, n), the cells that contain it, the fraction of the cell before it, and its logits."""
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        logit = special.logit(np.clip(x, LEAST, MOST))
        last = self.cumulative.shape[1] - 1
        reached = np.clip(self.axis.reached(logit), 0, last)
        cell = np.minimum(reached.astype(int), last - 1)
        return x, cell, reached - cell, logit

    def _cdf(self, x: Array, cell: Codes, part: Array) -> Array:
        cdf, _ = self._cubics(self.cumulative, self._density, cell).at(part)
        return np.where(x <= 0, 0.0, np.where(x >= 1, 1.0, cdf))

    @property
    def _density(self) -> Array:
        """Density of v at the nodes."""
        return np.exp(self.log_density) * self.axis.pace(self.axis.positions(self.cumulative.shape[1]))

    def _cubics(self, values: Array, slopes: Array, cell: Codes) -> Cubics:
        """Return the cubic Hermite interpolants in the cells, given the values and slopes at all nodes."""
        left, right = (np.take_along_axis(values, cell + i, -1) for i in (0, 1))
        start, end = (np.take_along_axis(slopes, cell + i, -1) * self.axis.step for i in (0, 1))
        bend, twist = 3 * (right - left) - 2 * start - end, start + end - 2 * (right - left)
        return Cubics(left, start, bend, twist, self.axis.step)

    def logits(self, q: Array) -> Array:
        """Return the logits of quantiles, (m, n)."""
        q = np.broadcast_to(q, (self.size, q.shape[-1]))
        last = self.cumulative.shape[1] - 1
        cell = np.stack([np.searchsorted(row, at) for row, at in zip(self.cumulative, q, strict=True)])
        cell = np.clip(cell - 1, 0, last - 1)
        cubics, low, high = self._cubics(self.cumulative, self._density, cell), np.zeros(q.shape), np.ones(q.shape)
        part = np.full(q.shape, 0.5)
        for _ in range(8):
            value, slope = cubics.at(part)
            low, high = np.where(value < q, part, low), np.where(value < q, high, part)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = part - (value - q) / (slope * self.axis.step)
            part = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        return self.axis.logits(self.axis.lowest + self.axis.step * (cell + part))

    def ppf(self, q: Array) -> Array:
        return np.where(q <= 0, 0.0, np.where(q >= 1, 1.0, special.expit(self.logits(q))))

    def guess(self, q: Array) -> Array:
        return np.clip(self.ppf(q), LEAST, MOST)
