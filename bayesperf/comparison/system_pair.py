"""Two quantities set against each other: exactly where both are exact and independent, else draw by draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.streams import streams
from bayesperf.distributions import differences
from bayesperf.distributions.differences import Discordant
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.two_betas import Beta, Distribution, TransformedBeta
from bayesperf.metrics.registry import Metric
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.sampled import SampledPosterior
from bayesperf.posteriors.summary import evaluate


@dataclass(frozen=True)
class SystemPair:
    """The same metric twice, over the same leading dims.

    Attributes
    ----------
    first, second : Marginal
        The two sides.
    independent : bool
        Whether the sides are independent; else their draws belong together.
    apart : bool
        Whether the sides are of two posteriors: those might be one and the same, so the draws of the second are put
        out of step with those of the first.
    n_draws, random_seed : int
        Draws taken of exact quantities, and their seed.
    """

    first: Marginal
    second: Marginal
    independent: bool
    apart: bool = False
    n_draws: int = DRAWS
    random_seed: int = 0

    def difference(self) -> Marginal:
        """Return first − second."""
        low, high = self.first.bounds

        def subtract(first: Array, second: Array) -> Array:
            # Settled again, so that 0.8 − 0.7 is 0.1, and within a rope of 0.1.
            return settled(first - second, (low, high))

        return self._combined(differences.difference, subtract, (low - high, high - low), "difference")

    def ratio(self) -> Marginal:
        """Return first / second.

        Raises
        ------
        ValueError
            If the metric can be negative.
        """
        if self.first.bounds[0] < 0:
            raise ValueError(f"ratio: {self.first.name} can be negative, and a ratio of such says little.")
        return self._combined(differences.ratio, np.divide, (0.0, np.inf), "ratio")

    def _combined(
        self, exact: Callable[..., Distribution], operation: Any, bounds: tuple[float, float], what: str
    ) -> Marginal:
        first, second = self.first.distribution, self.second.distribution
        distribution: Distribution
        if (
            self.independent
            and isinstance(first, Beta | TransformedBeta)
            and isinstance(second, Beta | TransformedBeta)
        ):
            distribution = exact(first, second)
        else:
            values, others = self._values()
            with np.errstate(divide="ignore", invalid="ignore"):
                distribution = Draws.of(self.first.name, operation(values, others), bounds, self._unrelated())

        def sample(n: int, random_seed: Any) -> Array:
            if isinstance(distribution, Draws):
                flat = distribution.values.reshape(distribution.size, -1)
                rng = np.random.default_rng(self.random_seed if random_seed is None else random_seed)
                return np.asarray(flat[:, rng.choice(flat.shape[-1], n, replace=n > flat.shape[-1])])
            return np.asarray(
                operation(self._drawn(self.first, n, 0, random_seed), self._drawn(self.second, n, 1, random_seed))
            )

        estimand = f"{self.first.estimand}: {what} of two systems"
        return Marginal(self.first.name, distribution, self.first.leading, sample, estimand)

    def _unrelated(self) -> bool:
        """Whether draws are independent of each other, on either side."""
        sides = self.first.distribution, self.second.distribution
        return all(side.independent for side in sides if isinstance(side, Draws))

    def _values(self) -> tuple[Array, Array]:
        """Return draws of both sides, (m, chains, n) alike."""
        sides = (self.first, self.second)
        shapes = [side.distribution.values.shape[1:] for side in sides if isinstance(side.distribution, Draws)]
        shape = min(shapes, key=np.prod, default=(1, self.n_draws))
        n = int(np.prod(shape))
        first, second = (settled(self._drawn(side, n, i), side.bounds) for i, side in enumerate(sides))
        if self.apart and isinstance(self.second.distribution, Draws):
            second = np.roll(second, n // 2, axis=-1)
        return first.reshape(-1, *shape), second.reshape(-1, *shape)

    def _drawn(self, side: Marginal, n: int, position: int, random_seed: Any = None) -> Array:
        """Return n draws of a side, (m, n)."""
        distribution = side.distribution
        if isinstance(distribution, Draws):
            return distribution.values.reshape(distribution.size, -1)[:, :n]
        # Of two posteriors, which might be one and the same, draws of different streams; else the posterior's own.
        seed = random_seed
        if self.apart:
            base = checks.seed(self.random_seed if random_seed is None else random_seed)
            seed = int(np.random.SeedSequence([base, position]).generate_state(1, np.uint64)[0] >> 1)
        return np.asarray(side.draws(n, seed).values.reshape(-1, n))


def pairs_along(marginal: Marginal, dim: str, independent: bool, many: bool, draws: int = DRAWS) -> SystemPair:
    """Return every pair of systems along a dim: in its place a last dim ``pair``, labelled "x − y".

    Without `many`, of the one pair there is, without that dim.
    """
    names = marginal.leading[dim].values.tolist()
    places = list(combinations(range(len(names)), 2))
    leading = marginal.leading
    order = leading.copy(data=np.arange(leading.size).reshape(leading.shape)).transpose(..., dim)
    rest = order.isel({dim: 0}, drop=True)
    labels = [f"{names[i]} − {names[j]}" for i, j in places]
    over_pairs = (rest * 0.0).expand_dims(pair=labels, axis=-1) if many else rest * 0.0
    sides = []
    for side in (0, 1):
        index = order.values[..., [place[side] for place in places]].ravel()
        sides.append(
            Marginal(
                marginal.name,
                marginal.distribution.take(index),
                over_pairs,
                lambda n, seed, index=index: marginal._sampler(n, seed)[index],  # type: ignore[misc]
                marginal.estimand,
            )
        )
    return SystemPair(sides[0], sides[1], independent, n_draws=draws)


def in_common(a: Marginal, b: Marginal, dim: str) -> Marginal:
    """Return a without what places it alone, as the system or the fold that it was selected from."""
    alone = [
        name
        for name, coordinate in a.leading.coords.items()
        if not coordinate.dims
        and (name == dim or not coordinate.variable.equals(b.leading.coords.variables.get(name)))
    ]
    return Marginal(a.name, a.distribution, a.leading.drop_vars(alone), a._sampler, a.estimand)


def called(leading: xr.DataArray, dim: str, otherwise: str) -> Any:
    """Return the name that a system had along the dim of systems before it was selected."""
    return leading[dim].item() if dim in leading.coords and not leading[dim].dims else otherwise


def over_systems(marginal: Marginal, dim: str, draws: int = DRAWS) -> xr.DataArray:
    """Return joint draws of a metric of all systems, (…, draw, dim); of a sampler (…, chain, draw, dim)."""
    distribution = marginal.distribution
    names: tuple[str, ...] = ("draw",)
    if not isinstance(distribution, Draws):
        values = marginal.draws(draws).values
    elif distribution.independent:
        values = distribution.values.reshape(*marginal.leading.shape, -1)
    else:
        values = distribution.values.reshape(*marginal.leading.shape, *distribution.values.shape[1:])
        names = ("chain", "draw")
    found = xr.DataArray(settled(values, marginal.bounds), marginal.leading.coords, (*marginal.dims, *names))
    return found.transpose(..., "draw", dim)


def settled(values: Array, bounds: tuple[float, float]) -> Array:
    """Return draws rounded to 13 digits: shares of whole examples that are equal may differ in the last ones."""
    width = bounds[1] - bounds[0]
    if 0 < width < np.inf:
        return np.round(values, 13 - int(np.ceil(np.log10(width))))
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(mantissa, 13), exponent))


# ── Systems judged on the same examples ──


def exact_difference(side: Marginal, distribution: Discordant, random_seed: int) -> Marginal:
    """Return the difference of shares of the same examples, over the leading dims of a side."""
    first, second = distribution.inner.a, distribution.inner.b
    weights = np.hstack([first, second, distribution.outer.b])

    def sample(n: int, seed: Any) -> Array:
        base = random_seed if seed is None else checks.seed(seed)
        each = zip(weights, streams(base, "difference", side.leading, weights), strict=True)
        return np.stack([rng.dirichlet(weight, n) @ (1, -1, 0) for weight, rng in each])

    estimand = f"{side.estimand}: difference of two systems"
    return Marginal(side.name, distribution, side.leading, sample, estimand)


# ── Rules that have learnt nothing ──


def against_rule(post: Posterior, rule: str, metric: str | Metric, dim: str, draws: int) -> SystemPair:
    """Return systems and a rule that has learnt nothing, at the prevalence of the same draw."""
    checks.one_of("b", rule, tuple(_RULES))
    cells = post.cells if isinstance(post, SampledPosterior) else post._chains(draws, 1, None)
    prevalence = cells.sum("predicted")
    shares = _RULES[rule](prevalence).rename(actual="predicted")
    system, guess = (
        SampledPosterior(
            drawn.transpose(*cells.dims), post.pos_label, post.prior_text, post.estimand, post._independent
        )
        for drawn in (cells, prevalence * shares)
    )
    found = post._applicable(metric)
    # In whole numbers, where 0/0 is not lost in rounding.
    if np.isnan(evaluate(found, (guess.cells > 0).astype(float), post._positive)).any():
        raise ValueError(f"b: {found.name} of the rule {rule!r} is undefined (0/0).")
    drawn = system[metric]
    return SystemPair(in_common(drawn, drawn, dim), guess[metric], independent=False)


def _most_frequent(prevalence: xr.DataArray) -> xr.DataArray:
    most = prevalence.mean(("chain", "draw")).argmax("actual")
    position = xr.DataArray(np.arange(prevalence.sizes["actual"]), {"actual": prevalence["actual"]})
    return (position == most).astype(float)


# In what share each class is called, from the prevalence of the classes.
_RULES = {"chance": lambda prevalence: prevalence, "majority": _most_frequent}
