"""Whether groups are treated alike, by the names of the literature on fairness.

Each criterion compares one or two rates between groups, by the largest difference and the smallest ratio. Both are
extremes of noisy values, and so they look large in small groups: estimates are partially pooled, and each probability
stands beside its value before the data. "Too few to tell" is an answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Codes
from bayesperf.core.errors import InputError, PriorWarning
from bayesperf.core.random_streams import stream
from bayesperf.core.words import chance, enumerated, estimate, metric_title, sentence
from bayesperf.data.count_arrays import same_examples
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.distributions.draws import Draws
from bayesperf.groups.slices_in_words import POINTED, odds_ratio
from bayesperf.groups.slicing import slices
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import point_value
from bayesperf.metrics.registry import get
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.summary_table import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What each criterion compares. Equalised odds is the larger of two gaps (and the smaller of two ratios).
CRITERIA: Mapping[str, tuple[str, ...]] = {
    "demographic parity": ("selection_rate",),
    "equal opportunity": ("recall",),
    "equalised odds": ("recall", "fpr"),
    "predictive parity": ("precision",),
}
RATES = ("selection_rate", "recall", "fpr", "precision")
# An answer has at least this probability. If groups have the same four rates, at most 5 % of data sets say that they
# differ: each rate is tested at a fourth of that.
_SURE = 0.95
_LEVEL = (1 - _SURE) / len(RATES)
# Tables drawn for a p-value. Numpy draws them without replacement from fewer examples than these.
_TABLES, _MOST_EXAMPLES = 4000, 10**9
TOO_FEW = "too few to tell"
_TOO_FEW_EXAMPLES = "too few examples to tell"


@dataclass(frozen=True, eq=False, repr=False)
class Parity(Answer):
    """Whether groups are treated alike. Made by `parity`.

    Attributes
    ----------
    cm : ConfusionMatrix
        The counts of each group.
    above : float
        The difference that matters.
    at_least : float
        The ratio of the lowest to the highest group that is required.
    rates, prior_rates : xarray.DataArray
        Draws (rate, dim of the groups, draw) of the rates of each group, a posteriori and before the data.
    p_values : xarray.DataArray
        How probable data that differ at least as much are if all groups have the same rate, (rate).
    prior_text : str
        The prior, in words.
    """

    cm: ConfusionMatrix
    above: float
    at_least: float
    rates: xr.DataArray
    prior_rates: xr.DataArray
    p_values: xr.DataArray
    prior_text: str

    @property
    def dim(self) -> str:
        """The dim of the groups."""
        return str(self.cm.dims[0])

    @property
    def groups(self) -> list[Any]:
        """Names of the groups."""
        names: list[Any] = self.cm.counts[self.dim].values.tolist()
        return names

    def __getitem__(self, rate: str) -> Marginal:
        """Return the distribution of a rate over the groups: selection_rate, recall, fpr or precision."""
        metric = get(rate)
        if metric.name not in RATES:
            raise InputError("rate", f"must be one of {', '.join(RATES)}; it is {rate!r}.")
        drawn = Draws(self.rates.sel(rate=metric.name).values[:, None], metric.bounds)
        seen = metric.trials(self.cm.counts.values, self.cm.positive)
        leading = xr.zeros_like(self.cm.total, dtype=float).rename(None)
        score = point_value(metric, self.cm.counts, self.cm.positive).assign_coords(trials=(self.dim, seen))
        return Marginal(Quantity.of(metric, Scope("levels", self.dim)), drawn, leading, score=score)

    def largest_gap(self, criterion: str, *, before_data: bool = False) -> Marginal:
        """Return the distribution of the largest difference between groups, for a criterion such as "equalised odds".

        Parameters
        ----------
        criterion : str
            A key of `CRITERIA`.
        before_data : bool
            Whether to return the prior.
        """
        return self._marginal(criterion, "largest gap", before_data)

    def smallest_ratio(self, criterion: str, *, before_data: bool = False) -> Marginal:
        """Return the distribution of the ratio of the lowest to the highest group.

        Parameters
        ----------
        criterion, before_data
            As in `largest_gap`.
        """
        return self._marginal(criterion, "smallest ratio", before_data)

    def _marginal(self, criterion: str, contrast: str, before_data: bool) -> Marginal:
        names = CRITERIA[checks.one_of("criterion", criterion, tuple(CRITERIA))]
        name, is_gap = names[0] if len(names) == 1 else criterion.replace(" ", "_"), contrast == "largest gap"
        rates = (self.prior_rates if before_data else self.rates).sel(rate=list(names))
        quantity = Quantity(name, Scope("levels", self.dim)).contrasted(contrast, (0.0, 1.0))
        drawn = Draws(_extreme(rates, self.dim, is_gap)[None, None], (0.0, 1.0))
        score = xr.DataArray(self._observed(criterion)[not is_gap])
        return Marginal(quantity, drawn, NO_DIMS, score=score)

    def _observed(self, criterion: str) -> tuple[float, float]:
        """Return the largest difference and the smallest ratio of the rates of groups with examples; NaN for 0/0."""
        rates = [self[name].observed.values for name in CRITERIA[criterion]]
        seen = [of_groups[~np.isnan(of_groups)] for of_groups in rates]
        if min(map(len, seen)) < 2:
            return np.nan, np.nan
        with np.errstate(invalid="ignore"):
            ratios = [of_groups.min() / of_groups.max() for of_groups in seen]
        return float(max(map(np.ptp, seen))), float(np.min(ratios))

    def summary(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return a row for each criterion, by the largest difference and by the smallest ratio.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind of the intervals.

        Returns
        -------
        pandas.DataFrame
            Columns ``criterion``; ``contrast`` ("largest gap", "smallest ratio"); ``observed``, of the counts;
            ``mean, ci_lower, ci_upper`` of the partially pooled rates; ``prob``, the probability that the gap exceeds
            `above`, or the ratio reaches `at_least`; ``prior_prob``, the same before the data; ``p_value``, how
            probable data that differ at least as much are if all groups have the same rate (of equalised odds, the
            smaller of two); and ``answer``.
        """
        rows = [
            self._row(criterion, contrast, ci_prob, ci_kind)
            for criterion in CRITERIA
            for contrast in ("largest gap", "smallest ratio")
        ]
        estimand = f"Largest gap and smallest ratio of the groups' rates, by {self.dim}"
        return Summary.of(pd.DataFrame(rows), ci_prob, ci_kind, estimand=estimand, prior=self.prior_text)

    def _row(self, criterion: str, contrast: str, ci_prob: float, ci_kind: Kind) -> dict[str, Any]:
        """Return the row of a criterion: the extreme, how probable what matters is, and the answer."""
        is_gap = contrast == "largest gap"
        extreme, bound = (self.largest_gap, self.above) if is_gap else (self.smallest_ratio, self.at_least)
        now, before = (extreme(criterion, before_data=prior) for prior in (False, True))
        low, high = now.interval(ci_prob, ci_kind).values
        return {
            "criterion": criterion, "contrast": contrast, "observed": now.observed.item(), "mean": now.mean().item(),
            "ci_lower": low, "ci_upper": high, "prob": now.prob_above(bound).item(),
            "prior_prob": before.prob_above(bound).item(),
            "p_value": self.p_values.sel(rate=list(CRITERIA[criterion])).min().item(),
            "answer": self._answer(criterion, contrast),
        }  # fmt: skip

    def _answer(self, criterion: str, contrast: str) -> str:
        """Return the answer in words."""
        is_gap, differ = contrast == "largest gap", self._differ(criterion, contrast)
        bound = self.above if is_gap else self.at_least
        if differ is None:
            return TOO_FEW
        return f"{('more than' if differ else 'at most') if is_gap else ('below' if differ else 'at least')} {bound:g}"

    def _differ(self, criterion: str, contrast: str) -> bool | None:
        """Return whether groups differ, which they do if one of the rates does, or are alike, in all; None if open."""
        is_gap, names = contrast == "largest gap", list(CRITERIA[criterion])
        told = [name for name in names if self.p_values.sel(rate=name) <= _LEVEL]
        if any(self._prob_unlike(self.rates, [name], is_gap) >= _SURE for name in told):
            return True
        alike, before = (1 - self._prob_unlike(rates, names, is_gap) for rates in (self.rates, self.prior_rates))
        if alike >= _SURE and odds_ratio(alike, before, self.rates.sizes["draw"]) >= POINTED:
            return False
        return None

    def _prob_unlike(self, rates: xr.DataArray, names: list[str], is_gap: bool) -> float:
        """Return the probability that groups differ by more than is allowed, in any of some rates."""
        extreme = _extreme(rates.sel(rate=names), self.dim, is_gap)
        return float((extreme > self.above if is_gap else extreme <= self.at_least).mean())

    def in_words(self, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return a sentence for each criterion, and one on the ratio of selection rates.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind of the intervals.
        """
        return " ".join(self.sentences(ci_prob=ci_prob, ci_kind=ci_kind))

    def sentences(self, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> list[str]:
        """Return the sentences of `in_words`.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind of the intervals.
        """
        table = self.summary(ci_prob, ci_kind).set_index(["criterion", "contrast"])
        said = []
        for criterion, names in CRITERIA.items():
            row = table.loc[(criterion, "largest gap")]
            rates = enumerated([metric_title(name) for name in names])
            said.append(sentence(f"{criterion} ({rates}): {self._gap_in_words(row, ci_prob, ci_kind)}"))
        row = table.loc[("demographic parity", "smallest ratio")]
        return [*said, sentence(self._ratio_in_words(row, ci_prob, ci_kind))]

    def _gap_in_words(self, row: Any, ci_prob: float, ci_kind: Kind) -> str:
        size = estimate(row["mean"], row["ci_lower"], row["ci_upper"], ci_prob, ci_kind)
        beside = f"probability {chance(row['prob'])}, and {chance(row['prior_prob'])} before the data"
        differ = self._differ(*row.name)
        if differ is None:
            return f"{_TOO_FEW_EXAMPLES} whether groups differ by more than {self.above:g} ({beside})"
        if differ:
            return f"groups differ by up to {size}, which is more than {self.above:g} ({beside})"
        return f"groups differ by at most {self.above:g} (more: {beside})"

    def _ratio_in_words(self, row: Any, ci_prob: float, ci_kind: Kind) -> str:
        size = estimate(row["mean"], row["ci_lower"], row["ci_upper"], ci_prob, ci_kind)
        beside = f"probability {chance(row['prob'])}, and {chance(row['prior_prob'])} before the data"
        differ = self._differ(*row.name)
        if differ is None:
            by_chance = f"groups with the same rate differ as much in {chance(row['p_value'])} of data sets"
            said = f"the lowest selection rate is at least {self.at_least:g} of the highest"
            return f"{_TOO_FEW_EXAMPLES} whether {said} ({beside}; {by_chance})"
        lead = f"the lowest selection rate is {size} of the highest, which is {row['answer']}"
        return f"{lead} ({f'{self.at_least:g} or more: ' if differ else ''}{beside})"

    def plot(self, **options: Any) -> Figure:
        """Plot the rates of the groups, with their intervals.

        Parameters
        ----------
        **options
            The options ``ci_prob``, ``ci_kind`` and ``ax``, as in `bayesperf.plots.density`.
        """
        from bayesperf import plots

        return plots.panel([self[rate] for rate in RATES], **options)

    def __repr__(self) -> str:
        return f"<bayesperf.groups.Parity: {len(self.groups)} groups by {self.dim}>\n{self.in_words()}"


def _extreme(rates: xr.DataArray, dim: str, is_gap: bool) -> Array:
    """Return the largest gap, or the smallest ratio, of groups in draws (rate, dim, draw): the worst of the rates."""
    lowest, highest = rates.min(dim), rates.max(dim)
    worst = (highest - lowest).max("rate") if is_gap else (lowest / highest).min("rate")
    return worst.values


@checked
def parity(
    cm: ConfusionMatrix,
    dim: str = "",
    *,
    above: float = 0.05,
    at_least: float = 0.8,
    draws: int = 4000,
    random_seed: Any = 0,
) -> Parity:
    """Say whether groups are treated alike: demographic parity, equal opportunity, equalised odds, predictive parity.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts of two classes, with a positive one.
    dim : str
        The dim of the groups; it may be omitted if there is one. Counts are summed over other dims, which must divide
        the examples: select one of several systems before.
    above : float
        The difference of rates that matters.
    at_least : float
        The smallest ratio of rates that is allowed: 0.8 by the four-fifths rule.
    draws : int
        Number of draws.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Parity

    Raises
    ------
    TypeError, ValueError
        If `cm` is no matrix of two classes with a positive one, there are fewer than two groups, or it is of several
        systems.

    Notes
    -----
    Each rate (selection rate, recall, fpr, precision) is beta-binomial between groups, as by `bayesperf.pool`, so that
    small groups are drawn towards the others. An answer needs a probability of at least 0.95, else it is "too few to
    tell". That groups are alike also needs odds ten times those before the data. That they differ also needs data that
    are improbable if all groups have the same rate: by the exact test given the sum of events, X² of 4000 random tables
    (Agresti 1992, Statistical Science 7), at 0.05/4. If groups have the same four rates, at most 5 % of data sets make
    it say that they differ in one of them. The probability alone would not do: with few events it is the prior's, by
    which low rates have ratios near 0. Equalised odds differ if recall or fpr does.
    docs/coverage.md has how often answers are wrong. The names are those of Barocas, Hardt & Narayanan (2023), Fairness
    and machine learning. If prevalences differ, criteria contradict each other (Chouldechova 2017, Big Data 5).

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(
    ...     tp=[90, 70], fn=[10, 30], fp=[20, 10], tn=[80, 90], dims={"group": ["a", "b"]})
    >>> bp.groups.parity(cm).summary()["answer"].values.tolist()[2]
    'more than 0.05'
    """
    checks.instance("cm", cm, ConfusionMatrix)
    if len(cm.labels) != 2 or cm.pos_label is None:
        raise InputError("cm", "must have two classes, and a positive one.", "Give `pos_label`.")
    dim = dim or (str(cm.dims[0]) if len(cm.dims) == 1 else "")
    if dim not in cm.dims:
        raise InputError("dim", f"must name the dim of the groups; there are {list(map(str, cm.dims))}.")
    _refuse_systems(cm, dim)
    if others := [str(each) for each in cm.dims if each != dim]:
        cm = cm.sum(others)
    if cm.counts.sizes[dim] < 2:
        raise InputError("dim", f"{dim!r} has one group, and there is nothing to compare.")
    if not 0 < checks.number("above", above) < 1:
        raise InputError("above", f"must be a difference of rates, between 0 and 1; it is {above!r}.")
    checks.probability("at_least", at_least)
    draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    found = [_pooled(cm, get(rate), draws, seed) for rate in RATES]
    now, before, p_values = (xr.concat(list(each), pd.Index(RATES, name="rate")) for each in zip(*found, strict=True))
    text = "each rate: mean ~ Beta(1, 1), dispersion between groups ~ Beta(1, 9)"
    return Parity(cm, float(above), float(at_least), now, before, p_values, text)


def _refuse_systems(cm: ConfusionMatrix, dim: str) -> None:
    """Refuse counts of systems on the same examples: they are no groups, and a sum over them counts examples again."""
    if same_examples(cm.counts) == dim:
        raise InputError(
            "dim", f"{dim!r} is of systems on the same examples, not of groups.", "Compare them: compare(cm)."
        )
    totals = cm.counts.sum("predicted")
    for other in (each for each in cm.dims if each != dim):
        again = other in (same_examples(cm.counts), "model") or bool((totals == totals.isel({other: 0})).all())
        if again and cm.counts.sizes[other] > 1:
            raise InputError(
                "cm",
                f"is of several systems on the same examples, by {other!r}, or looks so: a sum counts each again.",
                f"Select one: cm.sel({other}=…). If each example is in one {other} only: cm.sum({other!r}).",
            )


def _pooled(cm: ConfusionMatrix, metric: Metric, draws: int, seed: int) -> tuple[xr.DataArray, ...]:
    """Return draws (group, draw) of a rate of each group, partially pooled; the same before the data; and a p-value."""
    dim = str(cm.dims[0])
    trials = np.asarray(metric.trials(cm.counts.values, cm.positive))
    reached = np.nan_to_num(point_value(metric, cm.counts, cm.positive).values) * trials
    right, n = np.rint(reached).astype(int), trials.astype(int)
    outcomes = Outcomes.from_counts(right=right, n=n, dims={dim: cm.counts[dim].values.tolist()})
    # Streams are seeded by counts, and two rates may have the same ones.
    rng = stream(seed, f"parity: {metric.name}", cm.counts.values)
    own_seed = int(rng.integers(2**63))
    with warnings.catch_warnings():
        # What the prior says stands beside each probability.
        warnings.simplefilter("ignore", PriorWarning)
        found = slices(outcomes, draws=draws, random_seed=own_seed)
    now, before = (
        rates.sel(rate="accuracy", drop=True).stack(each=("chain", "draw"), create_index=False)
        for rates in (found.rates, found.prior_rates)
    )
    now, before = (rates.drop_vars(["chain", "draw"]).rename(each="draw") for rates in (now, before))
    return now, before, xr.DataArray(_p_value(right[n > 0], n[n > 0], rng))


def _p_value(right: Codes, n: Codes, rng: np.random.Generator) -> float:
    """Return how probable an X² as large is if all groups have the same rate, given the sum of their successes.

    Given the sum, X² is a linear function of Σ right²/n. Of more examples than numpy can draw without replacement they
    are drawn with it, which differs only if many succeed, and then makes the p-value larger.
    """
    total, everyone = int(right.sum()), int(n.sum())
    if not 0 < total < everyone:
        return 1.0
    if everyone < _MOST_EXAMPLES:
        tables = rng.multivariate_hypergeometric(n, total, _TABLES, method="marginals")
    else:
        tables = rng.multinomial(total, n / everyone, _TABLES)
    as_large = (tables**2.0 / n).sum(1) >= (1 - 1e-12) * (right**2.0 / n).sum()
    return float((1 + as_large.sum()) / (1 + _TABLES))
