"""Distributions represented by draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Applied
from bayesperf.distributions.base import Distribution

# Largest number of batches of draws that estimate the error of an interval's ends, and smallest size of one.
_BATCHES, _LEAST_BATCH = 10, 20
# Intervals that are wider than the shortest by at most this, relative and over the cube root of the number of draws,
# show where it is.
_SIMILAR = 0.9
# Up to this number of places, draws are counted without sorting them.
_FEW = 2
# Number of places at which the density of draws is computed to find its peak.
_PLACES = 1024
# Range of draws below which they are all the same.
_LEAST_SPAN = 1e-290


class Sampled(Distribution):
    """Draws (m, chains, n) of a quantity, which are NaN where it is undefined; all methods ignore NaN."""

    # The draws, (m, chains, n).
    values: Array
    # Whether the draws are independent; if not, the Monte Carlo error takes their autocorrelation into account.
    independent_draws: bool
    method: ClassVar[str] = "draws"

    def checked(self, name: str) -> Self:
        """Return the draws; raise if all draws of a metric are undefined."""
        if any(np.isnan(part.values).all((-2, -1)).any() for part in self.blocks()):
            raise InputError("metric", f"{name!r} is undefined (0/0) in every draw.")
        return self

    def cdf(self, x: Array) -> Array:
        if x.shape[-1] > _FEW or "_defined" in self.__dict__:
            return self._each(lambda v, x: np.searchsorted(v, x, side="right") / len(v), x)
        # Draws are counted in less time than they are sorted.
        flat = self.values.reshape(self.size, -1)
        with np.errstate(invalid="ignore", divide="ignore"):
            counted = [(flat <= column[:, None]).sum(-1) for column in np.broadcast_to(x, (self.size, x.shape[-1])).T]
            shares: Array = np.stack(counted, -1) / (flat.shape[-1] - np.isnan(flat).sum(-1))[:, None]
            return shares

    def sf(self, x: Array) -> Array:
        return 1 - self.cdf(x)

    def ppf(self, q: Array) -> Array:
        return self._each(_quantile, q)

    guess = ppf

    def logpdf(self, x: Array) -> Array:
        """Return the log of a kernel density estimate (ArviZ's, corrected at the bounds)."""
        with np.errstate(divide="ignore"):
            return np.log(self._each(self._density, x))

    def _density(self, v: Array, x: Array) -> Array:
        from arviz_stats.base import array_stats

        v = v[np.isfinite(v)]
        span = v[-1] - v[0] if len(v) > 1 else 0.0
        if span <= _LEAST_SPAN:
            return np.where(np.isclose(x, v[0] if len(v) else np.inf), np.inf, 0.0)
        # From 0 to 1, because draws that differ in their last digits only cannot be counted in bins as they are.
        grid, density, _ = array_stats.kde((v - v[0]) / span, bound_correction=True)
        return np.asarray(np.interp((x - v[0]) / span, grid, density / span, left=0.0, right=0.0))

    def _each(self, function: Callable[[Array, Array], Array], x: Array) -> Array:
        """Apply a function to the sorted defined draws of each quantity; NaN if there are none."""
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        missing = np.full(x.shape[-1], np.nan)
        return np.stack([function(v, x[i]) if len(v) else missing for i, v in enumerate(self._defined)])

    @cached_property
    def _defined(self) -> list[Array]:
        """The defined draws of each quantity, sorted."""
        flat = np.sort(self.values.reshape(self.size, -1), axis=-1)
        return [v[: len(v) - np.isnan(v).sum()] for v in flat]

    def mean_sd(self) -> tuple[Array, Array]:
        return self._moments

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Means and standard deviations, which are inf if some draws are infinite."""
        flat = self.values.reshape(self.size, -1)
        if flat.shape[1] > 1 and np.isfinite(flat).all():
            with np.errstate(over="ignore"):
                return flat.mean(-1), flat.std(-1, ddof=1)
        means, sds = np.array([_mean_sd(v[~np.isnan(v)]) for v in flat]).T
        return means, sds

    def mode(self) -> Array:
        """Return the peaks of the kernel density estimates."""
        modes = np.full(self.size, np.nan)
        for i, defined in enumerate(self._defined):
            finite = defined[np.isfinite(defined)]
            if len(finite):
                places = np.linspace(finite[0], finite[-1], _PLACES)
                modes[i] = places[np.argmax(self._density(finite, places))]
        return modes

    def skewness(self) -> Array:
        mean, sd = self._moments
        with np.errstate(invalid="ignore", divide="ignore"):
            cubes = [((v - m) ** 3).mean() if len(v) else np.nan for v, m in zip(self._defined, mean, strict=True)]
            return np.where(np.isinf(sd), np.inf, np.array(cubes) / sd**3)

    def hdi(self, prob: float) -> Array:
        """Return the shortest intervals, at their smoothed positions unless the central intervals are shorter there."""
        shortest, central = np.stack([_shortest(v, prob) for v in self._defined]), self.eti(prob)
        with np.errstate(invalid="ignore"):  # Both ends may be infinite.
            return np.where(np.diff(central) < np.diff(shortest), central, shortest)

    def mcse_interval(self, prob: float, kind: str) -> Array:
        """Return the larger standard error of each interval's ends, from intervals of batches; NaN for one draw."""
        errors = np.full(self.size, np.nan)
        for i, values in enumerate(self.values.reshape(self.size, -1)):
            defined = values[~np.isnan(values)]
            number = min(max(len(defined) // _LEAST_BATCH, 2), _BATCHES)
            if len(defined) >= number:
                batches = np.array_split(defined, number)
                limits = np.array([_interval(np.sort(batch), prob, kind) for batch in batches])
                errors[i] = _spread(limits).max() / np.sqrt(number)
        return errors

    def mcse(self) -> Array:
        mean, sd = self._moments
        values = self.values
        defined = ~np.isnan(values)
        some = np.maximum(defined.sum((1, 2)), 1)
        if self.independent_draws:
            return np.asarray(sd / np.sqrt(some))
        from arviz_stats.base import array_stats

        # The mean over the defined draws is a ratio of two means over all draws: of the values and of the indicator.
        deviations = np.where(defined & np.isfinite(mean)[:, None, None], values - mean[:, None, None], 0)
        errors = [array_stats.mcse(v, chain_axis=0, draw_axis=1) for v in deviations]
        error = np.asarray(errors) * defined[0].size / some
        return np.where(np.isinf(mean), np.inf, np.where(np.isnan(mean), np.nan, error))

    def undefined(self) -> Array:
        return np.isnan(self.values).mean((1, 2))

    def shortfall(self) -> Array:
        return np.array([np.maximum(-v, 0).mean() if len(v) else np.nan for v in self._defined])

    def resample(self, n: int, rng: np.random.Generator) -> Array:
        """Return n of the draws, the same for each quantity, (m, n), with replacement if there are fewer than n."""
        flat = self.values.reshape(self.size, -1)
        return np.asarray(flat[:, rng.choice(flat.shape[-1], n, replace=n > flat.shape[-1])])


@dataclass(frozen=True)
class Draws(Sampled):
    """Distributions defined by all of their draws."""

    values: Array
    bounds: tuple[float, float]
    independent_draws: bool = True

    @classmethod
    def of(cls, name: str, values: Array, bounds: tuple[float, float], independent_draws: bool = True) -> Draws:
        """Return the distribution given by draws of a metric, and raise if all of them are undefined."""
        return cls(values, bounds, independent_draws).checked(name)


@dataclass(frozen=True)
class DrawsOfKnownMoments(Draws):
    """Draws of quantities whose means and standard deviations are known exactly."""

    # The exact moments, (m,).
    mean: Array = field(kw_only=True)
    sd: Array = field(kw_only=True)

    def mean_sd(self) -> tuple[Array, Array]:
        return self.mean, self.sd

    def mcse(self) -> Array:
        return np.zeros(self.size)


@dataclass(frozen=True)
class DrawsWithoutMoments(Draws):
    """Draws of quantities some of which have no finite moments, which averages of draws would hide."""

    # inf where the mean diverges, NaN where draws cannot tell it because their variance diverges, and else 0, (m,).
    means: Array = field(kw_only=True)

    def mean_sd(self) -> tuple[Array, Array]:
        mean, sd = self._moments
        return np.where(self.means == 0, mean, self.means), np.where(self.means == 0, sd, np.inf)

    def mcse(self) -> Array:
        return np.where(self.means == 0, super().mcse(), np.inf)


@dataclass(frozen=True)
class DrawsBesidePairs(Draws):
    """Joint draws of systems whose pairs have joint draws of their own that are more accurate."""

    # Draws of the first and of the second of each pair, (pairs, chains, n).
    pairs: tuple[Array, Array] = field(kw_only=True)
    # Whether the draws of pairs are independent.
    independent_pairs: bool = field(default=True, kw_only=True)

    def take(self, index: Codes | slice) -> Draws:  # type: ignore[override]
        n = len(self.values)
        kept = Draws(self.values[index], self.bounds, self.independent_draws)
        if n * (n - 1) // 2 != len(self.pairs[0]):
            return kept
        # The draws of each pair, by both of its systems in either order.
        number = np.zeros((n, n), np.intp)
        number[np.triu_indices(n, 1)] = np.arange(len(self.pairs[0]))
        systems = np.arange(n)[index]
        first, second = (systems[side] for side in np.triu_indices(len(systems), 1))
        turned, of_pair = (first > second)[:, None, None], number[np.minimum(first, second), np.maximum(first, second)]
        sides = [side[of_pair] for side in self.pairs]
        pairs = (np.where(turned, *sides[::-1]), np.where(turned, *sides))
        return replace(self, values=kept.values, pairs=pairs)

    def contrast(self, what: str, operation: Any, bounds: tuple[float, float], rows: tuple[Codes, Codes]) -> Draws:
        with np.errstate(divide="ignore", invalid="ignore"):
            return Draws(operation(*self.pairs), bounds, self.independent_pairs)


@dataclass(frozen=True)
class DrawsOfPairs(Sampled):
    """Draws of a function of two systems, made on demand from the draws of each system.

    A hundred systems have five thousand pairs, whose draws would fill the memory.
    """

    # Draws of the first and of the second systems, (systems, chains, n).
    systems: tuple[Array, Array]
    # The positions of each pair's systems, (m,).
    rows: tuple[Codes, Codes]
    # The function of draws of both.
    operation: Applied
    bounds: tuple[float, float]
    independent_draws: bool = True
    chunk: ClassVar[int] = 64

    @property
    def values(self) -> Array:  # type: ignore[override]
        """The draws, (m, chains, n), made anew."""
        first, second = (values[rows] for values, rows in zip(self.systems, self.rows, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.operation(first, second))

    @property
    def size(self) -> int:
        return len(self.rows[0])

    def checked(self, name: str) -> Self:
        first, second = self.systems
        # If draws are finite and not all zeros, every function of two is defined in some draw.
        if all(
            np.isfinite(values).all() and values.any((-2, -1)).all()
            for values in ((first,) if second is first else (first, second))
        ):
            return self
        return super().checked(name)

    def take(self, index: Codes | slice) -> Self:
        return replace(self, rows=(self.rows[0][index], self.rows[1][index]))


def _mean_sd(defined: Array) -> tuple[float, float]:
    """Return mean and standard deviation: NaN if there are too few draws, inf if some are infinite."""
    if not len(defined):
        return np.nan, np.nan
    if not np.isfinite(defined).all():
        return float(defined.sum() / len(defined)), np.inf
    with np.errstate(over="ignore"):  # Squares of draws beyond 1e154, whose standard deviation is then infinite.
        return float(defined.mean()), float(defined.std(ddof=1)) if len(defined) > 1 else np.nan


def _spread(limits: Array) -> Array:
    """Return the standard deviations of limits (batches, 2): 0 if all are infinite, inf if some are."""
    infinite = np.isinf(limits)
    with np.errstate(over="ignore"):
        sd = np.where(infinite, 0, limits).std(0, ddof=1)
    return np.where(infinite.all(0), 0, np.where(infinite.any(0), np.inf, sd))


def _interval(ordered: Array, prob: float, kind: str) -> Array:
    return _shortest(ordered, prob) if kind == "hdi" else _quantile(ordered, np.array([1 - prob, 1 + prob]) / 2)


def _quantile(ordered: Array, q: Array) -> Array:
    """Return quantiles, without interpolation if some draws are infinite."""
    method: Literal["linear", "lower"] = "linear" if np.isfinite(ordered).all() else "lower"
    return np.asarray(np.quantile(ordered, q, method=method))


def _shortest(ordered: Array, prob: float) -> Array:
    """Return the shortest interval of sorted draws, some maybe infinite, that holds the fraction `prob`.

    The widths of intervals jump from draw to draw, and the shortest interval is partly chance. Its position is
    therefore the minimum of a cubic through the widths of nearly the same size around it. (In skewed distributions the
    widths rise faster on one side, so the minimum of a parabola is elsewhere.)
    """
    inside = max(int(np.ceil(prob * len(ordered) - 1e-9)), 1)
    finite = ordered[np.isfinite(ordered)]
    if not len(ordered):
        return np.full(2, np.nan)
    if len(finite) < inside:
        return np.array([ordered[-inside], np.inf])
    width = finite[inside - 1 :] - finite[: len(finite) - inside + 1]
    start = _lowest(width, len(ordered))
    return finite[[start, start + inside - 1]]


def _lowest(width: Array, draws: int) -> int:
    """Return the position of the smoothed minimum of widths, of intervals with the given number of draws."""
    lowest = int(np.argmin(width))
    similar = np.flatnonzero(width <= (1 + _SIMILAR / np.cbrt(draws)) * width[lowest])
    first, last = int(similar[0]), int(similar[-1])
    if last - first < _LEAST_BATCH or width[lowest] <= 0:
        return lowest
    powers = np.vander(np.linspace(-1, 1, last - first + 1), 4)
    # The normal equations of so few powers, in [−1, 1], lose no digits that matter, and take a third of the time.
    cubic = np.linalg.solve(powers.T @ powers, powers.T @ width[first : last + 1])
    return first + int((powers @ cubic).argmin())


# ── A band that contains whole curves ──


def rank_envelope(curves: Array, outside: int, ties: Literal["inside", "ordered"] = "inside") -> Array:
    """Return the rank envelope of curves (draws, k) as lower and upper bounds, (k, 2).

    At each point the envelope extends from the r-th smallest to the r-th largest value, with the largest r for which no
    more than `outside` curves leave it at any point. Curves with the same value at a point all get the better of their
    ranks from below and the better of their ranks from above ("inside"), or are ranked in the order of the draws
    ("ordered"), which makes the band wider.
    """
    draws = len(curves)
    ordered = np.sort(curves, axis=0)
    # The number of curves beyond each curve, on the side with fewer, at the point where this number is smallest.
    depth = np.full(draws, draws)
    for values, ranked in zip(curves.T, ordered.T, strict=True):
        if ties == "inside":
            first, last = np.searchsorted(ranked, values, "left"), np.searchsorted(ranked, values, "right") - 1
        else:
            first = last = values.argsort(kind="stable").argsort()
        depth = np.minimum(depth, np.minimum(last, draws - 1 - first))
    rank = np.sort(depth)[outside]
    return ordered[[rank, draws - 1 - rank]].T
