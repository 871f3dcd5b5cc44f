"""Bayesian sign and signed-rank tests for the mean scores of two systems on several data sets.

Both tests give the probabilities that, on a data set not yet seen, the difference a − b falls below, inside or above
the rope. They treat the mean scores of the data sets as known and make no assumption about their distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayesperf.comparison.result import OF_REGIONS, REGIONS
from bayesperf.comparison.score_differences import differences, system_names
from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Codes, blocks, labelled
from bayesperf.core.errors import InputError
from bayesperf.core.words import chance
from bayesperf.distributions.drawing import dirichlet_shares
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.quadrature import tanh_sinh
from bayesperf.posteriors.posterior import DRAWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


AVERAGE = "average over data sets"
NEXT = "next data set"
LARGEST = "most probable for the next data set"
# Weights of differences that are drawn at once: they stay in the processor's cache.
_AT_ONCE = 2**18


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NextDataset(Answer):
    """The difference a − b of two systems' scores on a data set not yet seen.

    Made by `bayesperf.folds.sign_test` and `bayesperf.folds.signed_rank_test`; a comparison from
    `bayesperf.folds.datasets` has one, too.

    Attributes
    ----------
    method : str
        "sign test", "signed-rank test" or "hierarchical model".
    names : tuple of two
        Names of the systems.
    rope : float
        Half-width of the region of practical equivalence.
    basis : str
        Description of the assumptions.
    shares : xarray.DataArray (draw, rope)
        Draws of the probabilities that the difference a − b falls below, inside and above the rope on a data set not
        yet seen.
    prob_rope : xarray.DataArray (rope)
        The posterior predictive probabilities of the regions: the means of ``shares``.
    prob_largest : xarray.DataArray (rope)
        Probability that each region is the most probable of the three. It approaches 1 as the number of data sets
        grows, however small the advantage is: it is not the probability that a system is better on the next data set.
    prob_rope_average : xarray.DataArray (rope), optional
        For the hierarchical model, the probabilities of the regions for the average over the population of data sets.

    Examples
    --------
    >>> import bayesperf as bp
    >>> new, old = [0.91, 0.84, 0.77, 0.88, 0.95, 0.83], [0.88, 0.86, 0.72, 0.87, 0.91, 0.80]
    >>> bp.folds.sign_test(new, old, rope=0.01).prob_rope.round(2).values
    array([0.14, 0.29, 0.57])
    """

    method: str
    names: tuple[Any, ...]
    rope: float
    basis: str
    shares: xr.DataArray
    prob_rope: xr.DataArray
    prob_largest: xr.DataArray
    prob_rope_average: xr.DataArray | None = None

    def summary(self) -> pd.DataFrame:
        """Return a table of the probabilities of the regions and their Monte Carlo errors, one row per question."""
        average = {} if self.prob_rope_average is None else {AVERAGE: self.prob_rope_average}
        questions = average | {NEXT: self.prob_rope, LARGEST: self.prob_largest}
        rows = {question: dict(zip(REGIONS, answer.values, strict=True)) | {"mcse": answer.attrs["mcse"]}
                for question, answer in questions.items()}  # fmt: skip
        return pd.DataFrame.from_dict(rows, orient="index")

    def in_words(self) -> str:
        """Return a sentence on the probabilities of the regions.

        Examples
        --------
        >>> import bayesperf as bp
        >>> new, old = [0.91, 0.84, 0.77, 0.88, 0.95, 0.83], [0.88, 0.86, 0.72, 0.87, 0.91, 0.80]
        >>> print(bp.folds.sign_test(new, old, rope=0.01, names=("new", "old")).in_words())
        On the next data set new − old is below −0.01 with probability 14 %, above 0.01 with probability 57 %, and \
        between them with probability 29 %.
        """
        first, second = self.names
        below, inside, above = map(chance, self.prob_rope.values)
        between = f", and between them with probability {inside}" if self.rope else ""
        return (
            f"On the {NEXT} {first} − {second} is below {-self.rope or 0:g} with probability {below}"
            f"{',' if self.rope else ' and'} above {self.rope:g} with probability {above}{between}."
        ).replace(" -", " −")

    def plot(self, *, ax: Axes | None = None) -> Figure:
        """Plot ``shares`` as points in the triangle of the three regions; see `bayesperf.plots.simplex`."""
        from bayesperf import plots

        first, second = self.names
        return plots.simplex(self.shares, names=(first, second), rope=self.rope, ax=ax)

    def __repr__(self) -> str:
        first, second = self.names
        shown = ", ".join(f"{region} {value:.3f}" for region, value in zip(REGIONS, self.prob_rope, strict=True))
        return f"<bayesperf.folds.NextDataset: {self.method}, {first} − {second} on the {NEXT}: {shown}>"


@checked
def sign_test(
    scores_a: Any,
    scores_b: Any,
    *,
    rope: float = 0.0,
    prior: Sequence[float] = (0.0, 1.0, 0.0),
    names: Sequence[Any] | None = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> NextDataset:
    """Compare two systems by the number of data sets on which each scores higher.

    Parameters
    ----------
    scores_a, scores_b : array-like (n,)
        One mean score per data set, in the same order, for at least two data sets.
    rope : float
        Half-width of the region of practical equivalence, in the unit of the scores. The endpoints belong to the
        region.
    prior : sequence of three float
        Prior weights below, inside and above the rope, in numbers of data sets; by default one data set inside.
    names : sequence of two, optional
        Names of the two systems; by default those that they have where they were selected from one DataArray.
    draws : int
        Number of draws in ``shares``; the probabilities are exact.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    NextDataset

    Raises
    ------
    TypeError
        If the scores are not one-dimensional arrays of numbers.
    ValueError
        If the scores differ in length, are fewer than two or not finite; if `rope` or a weight is negative.

    Notes
    -----
    The proportions of data sets below, inside and above the rope have the posterior Dirichlet(prior + counts). With a
    rope of 0 the differences inside it are ties: their proportion, including the prior weight, is divided equally
    between the two sides. ``prob_largest`` is an integral over one of three independent gamma variables, accurate to
    about 1e-9; with a rope of 0 it compares the two sides.

    References
    ----------
    Benavoli, Corani, Demšar & Zaffalon (2017), Journal of Machine Learning Research 18.

    Examples
    --------
    >>> import bayesperf as bp
    >>> new, old = [0.91, 0.84, 0.77, 0.88, 0.95, 0.83], [0.88, 0.86, 0.72, 0.87, 0.91, 0.80]
    >>> bp.folds.sign_test(new, old, rope=0.01).summary().round(3)
                                         below  inside  above  mcse
    next data set                        0.143   0.286  0.571   0.0
    most probable for the next data set  0.045   0.176  0.779   0.0
    """
    values = differences(scores_a, scores_b).values
    width, weights = checks.rope(rope), _weights(prior)
    counts = [np.sum(region) for region in (values < -width, np.abs(values) <= width, values > width)]
    concentration = weights + np.array(counts)
    rng, size = np.random.default_rng(checks.seed(random_seed)), (checks.count("draws", draws, least=2), 3)
    shares = dirichlet_shares(rng, concentration, size)
    return NextDataset(
        method="sign test",
        names=system_names(names, scores_a, scores_b),
        rope=width,
        basis=f"Dirichlet({', '.join(f'{weight:g}' for weight in weights)}) below, inside and above the rope",
        shares=over_regions(_ties_half(shares, width), width),
        prob_rope=over_regions(_ties_half(concentration / concentration.sum(), width), width, mcse=0.0),
        prob_largest=over_regions(_largest_of_dirichlet(concentration, width), width, mcse=0.0),
    )


@checked
def signed_rank_test(
    scores_a: Any,
    scores_b: Any,
    *,
    rope: float = 0.0,
    prior: float = 0.5,
    names: Sequence[Any] | None = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> NextDataset:
    """Compare two systems by the sizes of their differences on data sets, with a nonparametric prior.

    Parameters
    ----------
    scores_a, scores_b, rope, names, random_seed
        As in `sign_test`.
    prior : float
        Weight, in numbers of data sets, of a difference of 0 that is added to the data.
    draws : int
        Number of draws in ``shares`` and behind ``prob_largest``; ``prob_rope`` is exact.

    Returns
    -------
    NextDataset
        Its regions refer to the average of the differences on two data sets not yet seen.

    Raises
    ------
    TypeError
        If the scores are not one-dimensional arrays of numbers.
    ValueError
        If the scores differ in length, are fewer than two or not finite; if `rope` or the weight is negative.

    Notes
    -----
    The distribution of the differences has a Dirichlet process prior, so its posterior has random weights on 0 and on
    the observed z_1, …, z_n, w ~ Dirichlet(prior, 1, …, 1). For each draw of w the probability above the rope is the
    weight of the pairs above it, Σ_ij w_i w_j 1[(z_i + z_j)/2 > rope], as in Wilcoxon's test; the same holds below the
    rope. Pairs on an endpoint of the rope count half for each of the two regions, as do ties if the rope is 0.

    References
    ----------
    Benavoli, Corani, Demšar & Zaffalon (2017), Journal of Machine Learning Research 18.

    Examples
    --------
    >>> import bayesperf as bp
    >>> new, old = [0.91, 0.84, 0.77, 0.88, 0.95, 0.83], [0.88, 0.86, 0.72, 0.87, 0.91, 0.80]
    >>> bp.folds.signed_rank_test(new, old, rope=0.01).prob_rope.values.round(3)
    array([0.051, 0.21 , 0.738])
    """
    values, decimals = differences(scores_a, scores_b)
    width, weight = checks.rope(rope), checks.number("prior", prior)
    if not 0 <= weight < np.inf:
        raise InputError("prior", f"must be the weight of a difference of 0, at least 0; it is {prior}.")
    concentration = np.append(weight, np.ones(len(values)))
    pairs = _MiddlesOfPairs.of(np.append(0, values), width, decimals)
    shares = pairs.drawn_regions(concentration, draws, random_seed)
    return NextDataset(
        method="signed-rank test",
        names=system_names(names, scores_a, scores_b),
        rope=width,
        basis=f"Dirichlet process with a difference of 0 of weight {weight:g}",
        shares=over_regions(shares, width),
        prob_rope=over_regions(pairs.expected_regions(concentration), width, mcse=0.0),
        prob_largest=mean_of_draws(largest(shares)[None], width, independent_draws=True),
    )


class _MiddlesOfPairs(NamedTuple):
    """Where the middles of pairs of n differences lie: below, inside or above a rope.

    The differences are sorted, so that the ones whose middle with a given difference is below an edge are the first
    few. Their weight is a cumulative sum: time and memory grow with n, and not with its square.
    """

    # The positions of the differences, from the smallest, (n,).
    order: Codes
    # At the lower and the upper edge of the rope, how many middles with each difference are below the edge, and how
    # many below it or on it.
    below: Codes
    up_to: Codes

    @classmethod
    def of(cls, values: Array, rope: float, decimals: int) -> Self:
        """Return the places of the middles of differences that are accurate to so many decimals."""
        order = np.argsort(values, kind="stable")
        ordered, least = values[order], 10.0**-decimals
        reached = 2 * np.array([[-rope], [rope]]) - ordered
        below, up_to = (np.searchsorted(ordered, reached + side * least) for side in (-1, 1))
        return cls(order, below, up_to)

    def drawn_regions(self, concentration: Array, draws: int, random_seed: Any) -> Array:
        """Return draws of the weights of pairs below, inside and above the rope, (draws, 3)."""
        rng, draws = np.random.default_rng(checks.seed(random_seed)), checks.count("draws", draws, least=2)
        number = len(concentration)
        parts = [(part.stop - part.start, number) for part in blocks(draws, number, _AT_ONCE)]
        return np.concatenate([self._regions(dirichlet_shares(rng, concentration, shape)) for shape in parts])

    def expected_regions(self, concentration: Array) -> Array:
        """Return the means of these weights, (3,): E[w_i w_j] = (α_i α_j + α_i[i = j])/(Σα (Σα + 1))."""
        total, place = concentration.sum(), np.arange(len(concentration))
        below_low, below_high = ((self.below > place) + 1.0 * (self.up_to > place)) / 2
        with_itself = np.stack([below_low, below_high - below_low, 1 - below_high]) @ concentration[self.order]
        return np.asarray((self._regions(concentration[None])[0] + with_itself) / (total * (total + 1)))

    def _regions(self, weights: Array) -> Array:
        """Return the weights of pairs in the regions, (draws, 3), for weights (draws, n); those on an edge are halved.

        Each region is a sum of its own, so that none is missed by rounding: regions may be equal, or empty.
        """
        weights = weights[:, self.order]
        cumulative = np.concatenate([np.zeros((len(weights), 1)), weights.cumsum(-1)], -1)
        low, high = (
            (cumulative[:, below] + cumulative[:, up_to]) / 2
            for below, up_to in zip(self.below, self.up_to, strict=True)
        )
        partners = (low, high - low, cumulative[:, -1:] - high)
        return np.stack([np.einsum("dn,dn->d", weights, of_region) for of_region in partners], -1)


# ── Regions ──


def over_regions(values: Array, rope: float, **facts: float) -> xr.DataArray:
    """Return values (3,) or (draw, 3) of the regions as an array with a last dim ``rope``."""
    attrs = {"rope": rope, **facts}
    if values.ndim == 1:
        return labelled(values, NO_DIMS, OF_REGIONS, attrs=attrs)
    return xr.DataArray(values, OF_REGIONS.coords, ("draw", "rope"), attrs=attrs)


def largest(shares: Array) -> Array:
    """Return 1 for the largest of probabilities (…, 3) and 0 for the others; ties divide the 1 equally."""
    best = shares == shares.max(-1, keepdims=True)
    return np.asarray(best / best.sum(-1, keepdims=True))


def mean_of_draws(values: Array, rope: float, independent_draws: bool) -> xr.DataArray:
    """Return the mean of draws (chain, draw, 3) for each region, with the largest Monte Carlo error."""
    errors = Draws(np.moveaxis(values, -1, 0), (0.0, 1.0), independent_draws).mcse()
    return over_regions(values.mean((0, 1)), rope, mcse=float(np.nanmax(errors, initial=0)))


def _ties_half(shares: Array, rope: float) -> Array:
    """Return probabilities (…, 3); if the rope has no width, ties (the middle one) are divided between the sides."""
    return shares if rope else shares * [1, 0, 1] + shares[..., [1]] * [0.5, 0, 0.5]


def _largest_of_dirichlet(concentration: Array, rope: float) -> Array:
    """Return the probability (3,) that each component is the largest, or of the outer two if the rope has no width.

    Components are ordered as independent gammas G_i: P(G_i > all others) = E[Π_j F_j(G_i)], integrated over
    u = F_i(G_i).
    """
    weights = concentration * ([1, 1, 1] if rope else [1, 0, 1])
    if not weights.any():
        return np.array([0.5, 0, 0.5])
    u, rest, weight = tanh_sinh()
    probabilities = np.zeros(3)
    for i in np.flatnonzero(weights):
        gamma = np.where(u < 0.5, special.gammaincinv(weights[i], u), special.gammainccinv(weights[i], rest))
        others = [special.gammainc(other, gamma) for j, other in enumerate(weights) if j != i and other]
        probabilities[i] = (weight * np.prod(others, axis=0)).sum()
    return np.minimum(probabilities, 1)


def _weights(prior: Sequence[float]) -> Array:
    try:
        weights = np.array([checks.number("prior", weight) for weight in prior])
    except TypeError:
        weights = np.array([])
    if weights.shape != (3,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("prior", f"must be weights of at least 0 below, inside and above the rope; it is {prior!r}.")
    return weights
