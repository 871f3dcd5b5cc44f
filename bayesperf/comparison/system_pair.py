"""Differences and ratios of pairs of systems: exact if both are exact and independent, else computed from draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from bayesperf import distributions
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, PairsAlong
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held, applied, by_name
from bayesperf.core.random_streams import streams
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import ExactDistribution
from bayesperf.distributions.draws import Draws, DrawsOfPairs, Sampled
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.posteriors.marginal import Marginal, Origin, RowsOf
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.ranks import rounded
from bayesperf.posteriors.sources.stored_draws import StoredDraws


@dataclass(frozen=True)
class SystemPair(Held):
    """The same metric of two systems, over the same leading dims."""

    # The metric of each system; with `pairs`, twice the metric of all systems.
    first: Marginal
    second: Marginal
    # Whether the two are independent; if not, their draws are joint. Two independent posteriors might be the same
    # object; then each has its own random stream, and the draws of the second are shifted.
    independent: bool
    # Number of draws taken from exact distributions, and their seed.
    n_draws: int = DRAWS
    random_seed: int = 0
    # The pairs of all systems along a dim.
    pairs: PairsAlong | None = None
    # An array with the leading dims of the pairs, if not those of `pairs`.
    over_pairs: xr.DataArray | None = None

    @property
    def of_two_posteriors(self) -> bool:
        """Whether the two are independent, and not along a dim of one posterior."""
        return self.independent and self.rows is None

    @property
    def many(self) -> bool:
        """Whether the pairs are along a dim ``pair``."""
        return self.pairs is not None and "pair" in self.leading.dims

    @property
    def leading(self) -> xr.DataArray:
        """The leading dims of the pairs."""
        if self.over_pairs is not None:
            return self.over_pairs
        return self.first.leading if self.pairs is None else self.pairs.leading_of_pairs

    @property
    def names(self) -> tuple[Any, ...]:
        """Names of all systems along a dim."""
        return () if self.pairs is None else self.pairs.names

    @property
    def rows(self) -> tuple[Codes, Codes] | None:
        """Positions of the first and the second system of each pair among all systems along a dim."""
        return None if self.pairs is None else self.pairs.rows

    def difference(self) -> Marginal:
        """Return first − second."""
        low, high = self.first.bounds
        return self._combined(_exact_difference, (low - high, high - low), "difference")

    def ratio(self) -> Marginal:
        """Return first / second."""
        if self.first.bounds[0] < 0:
            raise InputError("ratio", f"{self.first.name} can be negative, and a ratio of such says little.")
        return self._combined(_exact_ratio, (0.0, np.inf), "ratio")

    def ratio_of(self, dim: str, places: tuple[int, int]) -> Marginal:
        """Return the ratio of two of all systems along a dim, by their positions, in whichever order."""
        two = self.first.isel(**{dim: list(places)})
        return pairs_along(two, dim, self.independent, self.n_draws, self.random_seed).ratio().isel(pair=0)

    def _combined(self, exact: Callable[..., Distribution | None], bounds: tuple[float, float], what: str) -> Marginal:
        operation = self.operation(what)
        quantity, leading = self.first.quantity.contrasted(what, bounds), self.leading
        if what == "ratio" and self.many and self.pairs is not None:
            leading = leading.assign_coords(pair=self.pairs.labels("/"))
        closed = exact(*self._sides()) if self.independent else self._of_rows(what, operation, bounds)
        origin: Origin | None = None
        if closed is None or isinstance(closed, Draws):
            closed = (closed or self._draws(operation, bounds)).checked(self.first.name)
        elif isinstance(closed, distributions.differences.Discordant) and not self.independent:
            origin = DifferencesOfProportions(closed, leading, self.random_seed)
        else:
            origin = ContrastOf(self, what)
        return Marginal(quantity, closed, leading, origin, self.first.inference, self.random_seed)

    def _of_rows(self, what: str, operation: Any, bounds: tuple[float, float]) -> Distribution | None:
        """Return the contrasts of joint systems, if their distribution has them better than from its draws."""
        return None if self.rows is None else self.first.distribution.contrast(what, operation, bounds, self.rows)

    def _sides(self) -> tuple[Distribution, Distribution]:
        """Return the distributions of the first and of the second systems; draws of all systems unchanged."""
        sides = self.first.distribution, self.second.distribution
        if self.rows is None or any(isinstance(side, Sampled) for side in sides):
            return sides
        return sides[0].take(self.rows[0]), sides[1].take(self.rows[1])

    def operation(self, what: str) -> Callable[[Array, Array], Array]:
        """Return the function of both systems' draws that computes a contrast."""
        return applied(quotient) if what == "ratio" else applied(rounded_difference, self.first.bounds)

    def sampled(self, what: str, draws: int, random_seed: int | None) -> Array:
        """Return n draws of a contrast, (m, n)."""
        drawn = [self._drawn(side, draws, i, random_seed) for i, side in enumerate((self.first, self.second))]
        if self.rows is not None:
            drawn = [values[rows] for values, rows in zip(drawn, self.rows, strict=True)]
        return np.asarray(self.operation(what)(*drawn))

    def _draws(self, operation: Any, bounds: tuple[float, float]) -> Sampled:
        values = self._values()
        if self.rows is not None:
            return DrawsOfPairs(values, self.rows, operation, bounds, self._unrelated())
        with np.errstate(divide="ignore", invalid="ignore"):
            return Draws(operation(*values), bounds, self._unrelated())

    def _unrelated(self) -> bool:
        """Whether the draws of the two systems are independent of each other."""
        sides = self.first.distribution, self.second.distribution
        return all(side.independent_draws for side in sides if isinstance(side, Sampled))

    def _values(self) -> tuple[Array, Array]:
        """Return draws of both systems, each of shape (m, chains, n)."""
        sides = (self.first, self.second)
        shapes = [side.distribution.values.shape[1:] for side in sides if isinstance(side.distribution, Sampled)]
        shape = min(shapes, key=np.prod, default=(1, self.n_draws))
        n = int(np.prod(shape))
        first = rounded(self._drawn(self.first, n, 0), self.first.bounds)
        # Systems along a dim belong to one marginal.
        along = self.second is self.first and not self.of_two_posteriors
        second = first if along else rounded(self._drawn(self.second, n, 1), self.second.bounds)
        if self.of_two_posteriors and isinstance(self.second.distribution, Sampled):
            second = np.roll(second, n // 2, axis=-1)
        return first.reshape(-1, *shape), second.reshape(-1, *shape)

    def _drawn(self, side: Marginal, n: int, position: int, random_seed: int | None = None) -> Array:
        """Return n draws of one of the two systems, (m, n)."""
        distribution = side.distribution
        if isinstance(distribution, Sampled):
            return distribution.values.reshape(distribution.size, -1)[:, :n]
        # Two posteriors, which might be the same object, use different streams; otherwise the posterior's own.
        seed = random_seed
        if self.of_two_posteriors:
            base = self.random_seed if random_seed is None else random_seed
            seed = int(np.random.SeedSequence([base, position]).generate_state(1, np.uint64)[0] >> 1)
        return np.asarray(side.joint_draws(n, seed).values.reshape(-1, n))


def _exact_difference(first: Distribution, second: Distribution) -> Distribution | None:
    """Return the distribution of X − Y for independent X and Y, if it has a closed form or an integral."""
    if isinstance(first, ExactDistribution) and isinstance(second, ExactDistribution):
        return distributions.differences.difference(first, second)
    normal = distributions.normal
    if isinstance(first, normal.Normal) and isinstance(second, normal.Normal):
        return normal.difference(first, second)
    return None


def _exact_ratio(first: Distribution, second: Distribution) -> Distribution | None:
    """Return the distribution of X / Y for independent X and Y, if it has an integral."""
    if isinstance(first, ExactDistribution) and isinstance(second, ExactDistribution):
        return distributions.differences.ratio(first, second)
    return None


def pairs_along(
    marginal: Marginal,
    dim: str,
    independent: bool,
    draws: int,
    random_seed: int = 0,
    over_pairs: xr.DataArray | None = None,
    pairs: PairsAlong | None = None,
) -> SystemPair:
    """Return all pairs of systems along a dim, with a last dim ``pair`` labelled "x − y" in its place.

    An array over the same pairs, or the pairs themselves, save the labels: a thousand systems have half a million.
    """
    pairs = PairsAlong(marginal.leading, dim) if pairs is None else pairs
    return SystemPair(marginal, marginal, independent, draws, random_seed, pairs, over_pairs)


def check_same_leading(a: Marginal, b: Marginal) -> None:
    """Refuse marginals that differ in their leading dims or coordinates."""
    try:
        xr.align(a.leading, b.leading, join="exact")
    except ValueError as error:
        raise InputError("a and b", f"differ in their leading coordinates: {error}") from None
    if a.dims != b.dims:
        raise InputError("a and b", f"differ in their leading dims: {a.dims} and {b.dims}.")


def without_own_coordinates(a: Marginal, b: Marginal, dim: str) -> Marginal:
    """Return a without the scalar coordinates that b lacks, such as the system or fold that was selected."""
    own = [
        name
        for name, coordinate in a.leading.coords.items()
        if not coordinate.dims and (name == dim or not coordinate.variable.equals(b.leading.coords.variables.get(name)))
    ]
    origin = RowsOf(a, np.arange(a.leading.size))
    return replace(a, leading=a.leading.drop_vars(own), origin=origin, examples=None, score=None)


def system_name(leading: xr.DataArray, dim: str, otherwise: str) -> Any:
    """Return a system's label along the dim it was selected from, or a default if there is none."""
    return leading[dim].item() if dim in leading.coords and not leading[dim].dims else otherwise


@by_name
def quotient(a: Array, b: Array) -> Array:
    """Return a / b."""
    return a / b


@by_name
def rounded_difference(bounds: tuple[float, float], first: Array, second: Array) -> Array:
    """Return first − second, rounded once more so that 0.8 − 0.7 is 0.1, and within a rope of 0.1."""
    return rounded(first - second, bounds)


# ── Draws of contrasts ──


@dataclass(frozen=True, eq=False)
class ContrastOf(Origin):
    """A contrast of a pair: "difference" or "ratio"."""

    pair: SystemPair
    what: str

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        """Return n draws of the contrasts, (m, n)."""
        return self.pair.sampled(self.what, draws, random_seed)


@dataclass(frozen=True, eq=False)
class DifferencesOfProportions(Origin):
    """Differences of two proportions of the same examples."""

    distribution: distributions.differences.Discordant
    leading: xr.DataArray
    random_seed: int

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        """Return n draws of the contrasts, (m, n)."""
        known = self.distribution
        weights = np.hstack([known.inner.a, known.inner.b, known.outer.b])
        seed = self.random_seed if random_seed is None else random_seed
        each = zip(weights, streams(seed, "difference", self.leading, weights), strict=True)
        return np.stack([rng.dirichlet(weight, draws) @ (1, -1, 0) for weight, rng in each])


# ── Baseline rules ──


def against_rule(post: Posterior, rule: str, metric: str | Metric, dim: str, draws: int) -> SystemPair:
    """Return the pair of a system and a baseline rule at the same draw's prevalence."""
    checks.one_of("b", rule, tuple(_RULES))
    cells = post.cells_by_chain(draws, 1) if post.source.by_matrix else post.cells_by_chain()
    prevalence = cells.sum("predicted")
    called = _RULES[rule](prevalence).rename(actual="predicted")
    system, guess = (
        StoredDraws(drawn.transpose(*cells.dims), independent_draws=post.source.independent_draws)
        for drawn in (cells, prevalence * called)
    )
    metric = post.applicable(metric)
    # Evaluated on zeros and ones, for which 0/0 is not hidden by rounding.
    if np.isnan(evaluate(metric, (guess.cells > 0).astype(float), post.positive)).any():
        raise InputError("b", f"{metric.name} of the rule {rule!r} is undefined (0/0).")
    frame = {"pos_label": post.pos_label, "prior_text": post.prior_text, "scope": post.scope}
    marginal, of_guess = (Posterior(source=source, **frame)[metric] for source in (system, guess))
    return SystemPair(without_own_coordinates(marginal, marginal, dim), of_guess, independent=False)


def _most_frequent(prevalence: xr.DataArray) -> xr.DataArray:
    most = prevalence.mean(("chain", "draw")).argmax("actual")
    position = xr.DataArray(np.arange(prevalence.sizes["actual"]), {"actual": prevalence["actual"]})
    return (position == most).astype(float)


def _as_prevalent(prevalence: xr.DataArray) -> xr.DataArray:
    return prevalence


# The probability with which each rule predicts each class, computed from the prevalence.
_RULES = {"chance": _as_prevalent, "majority": _most_frequent}
