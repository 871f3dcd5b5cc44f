"""The result of a comparison: probabilities, ranks and losses derived from differences between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.comparison.contrasts_in_words import comparison_in_words
from bayesperf.comparison.system_pair import SystemPair
from bayesperf.comparison.systems import Systems
from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arrays import Array, Booleans, Codes, coordinate, labelled, pairs_of
from bayesperf.core.errors import InputError
from bayesperf.core.words import BEST_OF_MANY
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Sampled
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.ranks import joint_draws, largest_mcse, rank_probabilities
from bayesperf.posteriors.summary_table import Summary, summary_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.comparison.sign_and_rank_tests import NextDataset
    from bayesperf.plots.style import Panels

REGIONS = ("below", "inside", "above")
OF_REGIONS = coordinate("rope", REGIONS)
# The most pairs of systems that have a row each in a table, if their contrasts are known exactly, or drawn.
_MOST_PAIRS = (20_000, 5_000)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(Answer):
    """The difference of a metric between systems, a − b, or its ratio, a / b. Made by `bayesperf.compare`.

    For two systems, results have the leading dims (0-d for one matrix per system). For several systems along a dim,
    results have the additional dims (`dim`, ``{dim}_other``), where the first is a and the second b. "Greater" refers
    to the value of the metric; "better" takes the direction of the metric into account.

    Attributes
    ----------
    contrast : Marginal
        Distribution of a − b or, on request, a / b; for several systems, of each pair in order, along a last dim
        ``pair``.
    names : tuple
        Names of the systems.
    rope : float
        Half-width of the region of practical equivalence, on the metric's scale: differences in [−rope, rope], or
        ratios in [1 − rope, 1/(1 − rope)], do not matter.
    basis : str
        Description of the assumptions: the prior, and how the systems are related.
    dim : str
        The dim of the systems.
    many : bool
        Whether systems along a dim are compared in pairs.
    pair : SystemPair, optional
        The metric of the systems themselves; None if only their difference is known.
    systems : Systems, optional
        The metric of each of several systems.
    shrunk : Marginal, optional
        The metric of each system, of whose shrunk values all results are then (``compare(..., shrink=True)``).
    next_dataset : NextDataset, optional
        For systems compared on several data sets: what to expect on the next one.
    tree : xarray.DataTree, optional
        The fit that the contrast comes from, if any.
    baseline : hashable, optional
        Name of the system that the others are compared with, the last.
    """

    contrast: Marginal
    names: tuple[Any, ...]
    rope: float
    basis: str
    dim: str = "model"
    many: bool = False
    pair: SystemPair | None = None
    systems: Systems | None = None
    shrunk: Marginal | None = None
    next_dataset: NextDataset | None = None
    tree: xr.DataTree | None = None
    baseline: Any = None

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.contrast.name

    @property
    def title(self) -> str:
        """Name of the metric in words, and what it is averaged over."""
        averaged = " averaged over data sets" if self.next_dataset else ""
        return self.quantity.metric_title + averaged

    @property
    def quantity(self) -> Quantity:
        """What is compared, and which way is better."""
        return self.contrast.quantity

    @cached_property
    def difference(self) -> Marginal:
        """Distribution of a − b; for several systems, of each pair in order, along a last dim ``pair``."""
        return self.contrast if not self.of_ratio else self._systems_own("difference").difference()

    @cached_property
    def ratio(self) -> Marginal:
        """Distribution of a / b; for several systems, of each pair along ``pair``."""
        return self.contrast if self.of_ratio else self._systems_own("ratio").ratio()

    @property
    def of_ratio(self) -> bool:
        """Whether the contrast is the ratio."""
        return self.contrast.quantity.contrast == "ratio"

    @property
    def symbol(self) -> str:
        """The contrast in symbols, "a − b" or "a / b"."""
        return "a / b" if self.of_ratio else "a − b"

    @property
    def region(self) -> tuple[float, float]:
        """The ends of the region of practical equivalence."""
        return (1 - self.rope, 1 / (1 - self.rope)) if self.of_ratio else (-self.rope, self.rope)

    def joint_draws(self) -> xr.DataArray:
        """Return joint draws of the metric of all systems along `dim`, (…, draw, `dim`)."""
        pair = self._systems_own("joint_draws")
        if not self.many:
            raise InputError("joint_draws", "they are of systems along a dim.")
        return joint_draws(pair.first, self.dim, pair.n_draws)

    def _systems_own(self, what: str) -> SystemPair:
        if self.pair is None:
            raise InputError(what, "the systems' own values are not known, only their differences.")
        return self.pair

    # ── Which is greater ──

    @cached_property
    def prob_greater(self) -> xr.DataArray:
        """P(a > b), with ties counted half; 0.5 on the diagonal if there are several systems.

        If computed from draws, ``attrs`` hold the largest Monte Carlo error, ``mcse``, and the largest fraction of
        omitted draws, ``undefined``.
        """
        greater, facts = self._greater_of_pairs
        return self._labelled(self._square(greater, 0.5, 1 - greater), "prob_greater", facts)

    @cached_property
    def prob_better(self) -> xr.DataArray:
        """P(a is better than b), with ties counted half; the metric's direction decides which value is better."""
        greater = self.prob_greater
        self._need_direction("prob_better")
        better = greater if self.quantity.better > 0 else (1 - greater).assign_attrs(greater.attrs)
        return better.rename("prob_better")

    def prob_better_of(self, place: int) -> Array:
        """Return the row of `prob_better` of one of several systems: the probability that it is better than each.

        Only the pairs with this system are computed, for systems without other leading dims.
        """
        self._need_direction("prob_better")
        first, second = pairs_of(len(self.names))
        pairs = np.flatnonzero((first == place) | (second == place))
        greater, _ = replace(self, contrast=self.contrast.isel(pair=pairs))._greater_of_pairs
        first_is_better = greater if self.quantity.better > 0 else 1 - greater
        return np.insert(np.where(first[pairs] == place, first_is_better, 1 - first_is_better), place, 0.5)

    @cached_property
    def prob_rope(self) -> xr.DataArray:
        """Probabilities that the contrast is below, inside and above the `region`, along a last dim ``rope``."""
        (below, inside, above), facts = self._regions
        # With the systems exchanged, the probabilities below and above are exchanged too.
        parts = [
            self._square(below, 0.0, above), self._square(inside, 1.0, inside), self._square(above, 0.0, below)
        ]  # fmt: skip
        return self._labelled(np.stack(parts, -1), "prob_rope", {**facts, "rope": self.rope}, OF_REGIONS)

    @cached_property
    def expected_loss(self) -> xr.DataArray:
        """Expected loss, in units of the metric, from choosing a when b may be better: E[max(b − a, 0)]."""
        self._need_direction("expected_loss")
        below, mean = self.difference.shortfall().values, self.difference.mean().values
        facts = {}
        if isinstance(draws := self.difference.distribution, Sampled):
            facts["mcse"] = max(largest_mcse(draws, partial(_excess, sign)) for sign in (1, -1))
        loss, reverse = (below, (mean + below).clip(0))[:: self.quantity.better]
        return self._labelled(self._square(loss, 0.0, reverse), "expected_loss", facts)

    @cached_property
    def _greater_of_pairs(self) -> tuple[Array, dict[Any, float]]:
        """P(a > b) for each pair, with ties counted half, and facts about the computation."""
        above, below, facts = self._tail_probabilities(*[1.0 if self.of_ratio else 0.0] * 2)
        return 0.5 * (1 + above - below), facts

    @cached_property
    def _regions(self) -> tuple[tuple[Array, Array, Array], dict[Any, float]]:
        """Probabilities below, inside and above the rope for each pair, and facts about the computation."""
        above, below, facts = self._tail_probabilities(*self.region)
        return (below, np.maximum(1 - above - below, 0), above), facts

    def _tail_probabilities(self, low: float, high: float) -> tuple[Array, Array, dict[Any, float]]:
        """Return the probabilities that the contrast is above the higher and below the lower of two values.

        If they are computed from draws, the facts are the largest Monte Carlo error and fraction of omitted draws.
        """
        contrast, draws = self.contrast, self.contrast.distribution
        if low == high and contrast.method == "quadrature":
            # A continuous contrast is either above or below a value.
            above = draws.each(lambda part: part.sf(np.array([[high]]))).reshape(contrast.leading.shape)
            return above, 1 - above, {}
        if isinstance(draws, Sampled) and low < high:
            # A difference of whole examples that lies on the edge may miss it by a rounding error.
            low, high = low - 1e-9 * abs(low), high + 1e-9 * abs(high)
        below_low, beyond = np.array([[np.nextafter(low, -np.inf)]]), np.array([[high]])

        def tails(part: Distribution) -> Array:
            return np.concatenate([part.sf(beyond), part.cdf(below_low)], -1)

        above, below = (tail.reshape(contrast.leading.shape) for tail in draws.each(tails).T)
        if not isinstance(draws, Sampled):
            return above, below, {}
        error = max(largest_mcse(draws, partial(_exceeds, sign, sign * edge)) for sign, edge in ((1, high), (-1, low)))
        return above, below, {"mcse": error, "undefined": contrast.undefined().values.max().item()}

    # ── Several systems ──

    @cached_property
    def ranks(self) -> xr.DataArray:
        """Probability of each rank: dims (…, `dim`, ``rank``). Rank 1 is the best.

        Ties are broken at random. For several systems, ranks are always computed from joint draws, and have the
        ``attrs`` of `prob_greater`, and a ``note``: the best of many systems looks better than it is.
        """
        self._need_direction("ranks")
        if not self.many:
            better = self.prob_better
            of_rank, of_system = coordinate("rank", [1, 2]), coordinate(self.dim, list(self.names))
            rows = [_stacked(row, of_rank) for row in ([better, 1 - better], [1 - better, better])]
            ranks = _stacked(rows, of_system, better.attrs)
            return ranks.transpose(..., self.dim, "rank").rename("ranks")
        values = self.joint_draws().transpose(..., "draw", self.dim)
        return rank_probabilities(self.quantity.better * values, self.dim).assign_attrs(self._note)

    @property
    def prob_best(self) -> xr.DataArray:
        """Probability that each system is the best.

        With more than two systems, ``attrs`` hold a ``note``: the system that looks best is not as good as it looks.
        """
        return self.ranks.sel(rank=1, drop=True).rename("prob_best")

    @cached_property
    def expected_rank(self) -> xr.DataArray:
        """Mean rank of each system, (…, `dim`); rank 1 is the best."""
        ranks = self.ranks
        return ranks.dot(ranks["rank"], "rank").transpose(..., self.dim).rename("expected_rank")

    @property
    def rank_order(self) -> xr.DataArray:
        """Positions of the systems by expected rank, best first, or in the given order if the metric has no direction.

        The dims are (…, `dim`).
        """
        if self.quantity.greater_is_better is None:
            systems = self.prob_greater.isel({f"{self.dim}_other": 0}, drop=True)
            return systems.copy(data=np.broadcast_to(np.arange(len(self.names)), systems.shape)).rename("rank_order")
        order = np.argsort(self.expected_rank.values, axis=-1, kind="stable")
        return self.expected_rank.copy(data=order).rename("rank_order")

    # ── Presentation ──

    def summary(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return a tidy table with one row per pair of systems (and leading coordinate).

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric``, the leading dims, ``a``, ``b``; ``mean, sd, median, ci_lower, ci_upper`` of a − b, or of
            a / b; ``prob_greater``, the probabilities ``below``, ``inside``, ``above`` the rope, ``method``, ``mcse``
            and ``mcse_interval``; for predictions also the fraction of omitted draws, ``undefined`` (0/0).

        Raises
        ------
        ValueError
            If there are so many pairs that it would take minutes; `standings` has a row for each system.
        """
        pairs = self.contrast.leading.size
        if self.many and pairs > (most := _MOST_PAIRS[self.contrast.method == "draws"]):
            raise InputError(
                "summary",
                f"{pairs:,} pairs of systems are more than {most:,}, and would take minutes.",
                "See standings(), which has a row for each system, or select fewer systems.",
            )
        return self._table(np.arange(len(self._sides())), ci_prob, ci_kind)

    def summary_of_pairs(self, pairs: Sequence[int] | Codes, ci_prob: float) -> pd.DataFrame:
        """Return the rows of `summary` of some pairs of several systems, given their positions along ``pair``."""
        return replace(self, contrast=self.contrast.isel(pair=pairs))._table(pairs, ci_prob, "hdi")

    def _table(self, pairs: Sequence[int] | Codes, ci_prob: float, ci_kind: Kind) -> pd.DataFrame:
        """Return the summary, given which of the pairs of systems the contrast is of."""
        table = summary_rows([self.contrast], ci_prob, ci_kind).drop(columns=["pair"] * self.many)
        sides = np.resize(np.array(self._sides(), dtype=object)[pairs], (len(table), 2))
        figures = {"prob_greater": self._greater_of_pairs[0], **dict(zip(REGIONS, self._regions[0], strict=True))}
        table = _with_columns(table, "mean", dict(zip("ab", sides.T, strict=True)))
        table = _with_columns(table, "method", {name: np.ravel(values) for name, values in figures.items()})
        low, high = self.region
        width = f"{low:.3g} to {high:.3g}" if self.of_ratio else f"±{self.rope:g}"
        region = f" (region of practical equivalence {width})" if self.rope else ""
        estimand = f"{self.contrast.estimand}, {self.symbol}{region}"
        return Summary.of(table, ci_prob, ci_kind, estimand=estimand, prior=self.basis, **self._note)

    def standings(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return a tidy table with one row per system of many (and leading coordinate), best expected rank first.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric``, the leading dims, `dim`; ``observed``, ``mean``, ``ci_lower``, ``ci_upper`` of the
            system's metric, shrunk if the comparison is; ``prob_best``, ``expected_rank``, and ``expected_loss``, the
            expected distance of the system from the best one.

        Raises
        ------
        ValueError
            If there are only two named systems, or predictions are compared, or the metric has no better direction.
        """
        if self.systems is None:
            raise InputError("standings", "they are of many systems' own metric; see summary() for the differences.")
        self._need_direction("standings")
        draws = self.quantity.better * self.joint_draws()
        each = self.shrunk if self.shrunk is not None else self.systems.each
        loss = (draws.max(self.dim) - draws).mean([dim for dim in ("chain", "draw") if dim in draws.dims])
        observed = self.systems.each.observed.transpose(*each.dims)
        figures = {"prob_best": self.prob_best, "expected_rank": self.expected_rank, "expected_loss": loss}
        rows = summary_rows([each], ci_prob, ci_kind, [observed.values])
        rows = rows[["metric", *map(str, each.dims), "observed", "mean", "ci_lower", "ci_upper"]]
        rows = rows.assign(**{name: of.transpose(*each.dims).values.ravel() for name, of in figures.items()})
        by = [*(str(dim) for dim in each.dims if dim != self.dim), "expected_rank"]
        rows = rows.sort_values(by, kind="stable", ignore_index=True)
        return Summary.of(rows, ci_prob, ci_kind, estimand=each.estimand, prior=self.basis, **self._note)

    def in_words(self, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return a few sentences: which system is better, whether that matters, and by how much.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.

        Returns
        -------
        str
            "Probably" and similar words stand for probabilities, from one table (`bayesperf.core.words.LIKELIHOODS`):
            from 66 % "probably", from 90 % "very probably", from 99 % "almost certainly"; below that the question is
            "open".

        Examples
        --------
        >>> import bayesperf as bp
        >>> a, b = (bp.posterior_of_rate(found, 100, metric="recall") for found in (84, 81))
        >>> print(bp.compare(a, b, rope=0.01).in_words())
        On recall, a is probably better than b (probability 71 %), but that may not matter: with probability 64 % the \
        difference exceeds 0.01. The difference, a − b, is 0.030 (95 % HDI −0.075 to 0.135).
        """
        text = comparison_in_words(self, checks.probability("ci_prob", ci_prob), ci_kind)
        return f"{text} {self.next_dataset.in_words()}" if self.next_dataset else text

    def plot(self, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None) -> Figure:
        """Plot the density of the contrast with the rope; for several systems, P(a > b) and the ranks.

        Parameters
        ----------
        ci_prob, ci_kind, ax
            The interval of the contrast of two systems, and the axes, as in `bayesperf.plots.density`.
        """
        from bayesperf import plots

        return plots.comparison(self, ci_prob=ci_prob, ci_kind=ci_kind, ax=ax)

    def __repr__(self) -> str:
        sign = " / " if self.of_ratio else " − "
        what = f"{len(self.names)} systems" if self.many else sign.join(map(str, self.names))
        return f"<bayesperf.Comparison: {self.metric}, {what} ({self.contrast.method})>"

    # ── Helpers ──

    @property
    def _note(self) -> dict[Any, str]:
        """The note on the best of many systems."""
        return {"note": BEST_OF_MANY} if len(self.names) > 2 and self.shrunk is None else {}

    def _need_direction(self, what: str) -> None:
        if self.quantity.greater_is_better is None:
            raise InputError(what, f"neither more nor less {self.metric} is better.", "See prob_greater and prob_rope.")

    def _sides(self) -> list[tuple[Any, Any]]:
        """Return the names of a and b, one row per pair."""
        first, second = pairs_of(len(self.names))
        return [(self.names[i], self.names[j]) for i, j in zip(first, second, strict=True)]

    def _square(self, upper: Array, diagonal: float, reverse: Array) -> Array:
        """Return values of pairs and of reversed pairs as a matrix of systems; for two systems, return `upper`."""
        if not self.many:
            return upper
        first, second = pairs_of(len(self.names))
        values = np.full(self._both_systems.shape, diagonal)
        values[..., first, second] = upper
        values[..., second, first] = reverse
        return values

    def _labelled(
        self, values: Array, name: str, facts: Mapping[Any, float], last: xr.DataArray | None = None
    ) -> xr.DataArray:
        """Label values over both systems of each pair, or of two systems, and a last coordinate."""
        leading = self._both_systems if self.many else self.contrast.leading
        return labelled(np.asarray(values), leading, last, name, facts)

    @property
    def _both_systems(self) -> xr.DataArray:
        """An array of zeros over the leading dims and both systems of a pair."""
        assert self.pair is not None
        assert self.pair.pairs is not None
        return self.pair.pairs.leading_of_both


def _excess(sign: int, x: Array) -> Array:
    return np.maximum(sign * x, 0)


def _exceeds(sign: int, edge: float, x: Array) -> Booleans:
    return np.asarray(sign * x > edge)


def _stacked(
    parts: Sequence[xr.DataArray],
    last: xr.DataArray,
    attrs: Mapping[Any, Any] | None = None,
) -> xr.DataArray:
    """Stack arrays with the same dims along a new last dim, in a tenth of the time of `xarray.concat`."""
    first = parts[0]
    same = (part if part.dims == first.dims else part.transpose(*first.dims) for part in parts)
    return labelled(np.stack([part.values for part in same], -1), first, last, attrs=attrs)


def _with_columns(table: pd.DataFrame, before: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """Insert columns into a table before the column `before`."""
    at = list(table.columns).index(before)
    return pd.concat([table.iloc[:, :at], pd.DataFrame(columns, table.index), table.iloc[:, at:]], axis=1)
