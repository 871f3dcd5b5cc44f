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
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError, PriorWarning
from bayesperf.core.random_streams import stream
from bayesperf.core.words import chance, enumerated, estimate, metric_title, sentence
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.data.response_patterns import same_examples
from bayesperf.distributions.draws import Draws
from bayesperf.groups.slicing import POINTED, odds_ratio, slices
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
# An answer has at least this probability, and odds that the data changed.
_SURE = 0.95
TOO_FEW = "too few to tell"


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
    prior_text : str
        The prior, in words.
    """

    cm: ConfusionMatrix
    above: float
    at_least: float
    rates: xr.DataArray
    prior_rates: xr.DataArray
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
        return Marginal(quantity, drawn, xr.DataArray(0.0), score=score)

    def _observed(self, criterion: str) -> tuple[float, float]:
        """Return the largest difference and the smallest ratio of the observed rates; NaN where a rate is 0/0."""
        rates = np.stack([self[name].observed.values for name in CRITERIA[criterion]])
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.ptp(rates, axis=1).max()), float((rates.min(1) / rates.max(1)).min())

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
            `above`, or the ratio reaches `at_least`; ``prior_prob``, the same before the data; and ``answer``.
        """
        rows = [
            self._row(criterion, contrast, ci_prob, ci_kind)
            for criterion in CRITERIA
            for contrast in ("largest gap", "smallest ratio")
        ]
        table = Summary(pd.DataFrame(rows))
        estimand = f"Largest gap and smallest ratio of the groups' rates, by {self.dim}"
        table.attrs = {"ci_prob": ci_prob, "ci_kind": ci_kind, "estimand": estimand, "prior": self.prior_text}
        return table

    def _row(self, criterion: str, contrast: str, ci_prob: float, ci_kind: Kind) -> dict[str, Any]:
        """Return the row of a criterion: the extreme, how probable what matters is, and the answer."""
        is_gap = contrast == "largest gap"
        extreme, bound = (self.largest_gap, self.above) if is_gap else (self.smallest_ratio, self.at_least)
        now, before = (extreme(criterion, before_data=prior) for prior in (False, True))
        low, high = now.interval(ci_prob, ci_kind).values
        return {
            "criterion": criterion, "contrast": contrast, "observed": now.observed.item(), "mean": now.mean().item(),
            "ci_lower": low, "ci_upper": high, "prob": now.prob_above(bound).item(),
            "prior_prob": before.prob_above(bound).item(), "answer": self._answer(criterion, contrast),
        }  # fmt: skip

    def _answer(self, criterion: str, contrast: str) -> str:
        """Return the answer: groups differ if one of the rates does, and are alike if all are."""
        is_gap, names = contrast == "largest gap", list(CRITERIA[criterion])
        bound = self.above if is_gap else self.at_least
        if any(self._is_shown([name], is_gap, unlike=True) for name in names):
            return f"more than {bound:g}" if is_gap else f"below {bound:g}"
        if self._is_shown(names, is_gap, unlike=False):
            return f"at most {bound:g}" if is_gap else f"at least {bound:g}"
        return TOO_FEW

    def _is_shown(self, names: list[str], is_gap: bool, unlike: bool) -> bool:
        """Whether the data show that groups are unlike, or alike, in some rates: it is probable, by the data."""
        bound = self.above if is_gap else self.at_least
        now, before = (_extreme(rates.sel(rate=names), self.dim, is_gap) for rates in (self.rates, self.prior_rates))
        prob, prior = (float(((drawn > bound) == (unlike == is_gap)).mean()) for drawn in (now, before))
        return prob >= _SURE and odds_ratio(prob, prior, now.size) >= POINTED

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
        if row["answer"] == TOO_FEW:
            return f"{TOO_FEW} whether groups differ by more than {self.above:g} ({beside})"
        if row["answer"].startswith("more"):
            return f"groups differ by up to {size}, which is more than {self.above:g} ({beside})"
        return f"groups differ by no more than {self.above:g} (of more: {beside})"

    def _ratio_in_words(self, row: Any, ci_prob: float, ci_kind: Kind) -> str:
        size = estimate(row["mean"], row["ci_lower"], row["ci_upper"], ci_prob, ci_kind)
        beside = f"probability {chance(row['prob'])}, and {chance(row['prior_prob'])} before the data"
        lead = f"the lowest selection rate is {size} of the highest"
        if row["answer"] == TOO_FEW:
            return f"{lead}: {TOO_FEW} whether it is at least {self.at_least:g} ({beside})"
        return f"{lead}: {row['answer']} ({'of at least: ' if row['answer'].startswith('below') else ''}{beside})"

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
    small groups are drawn towards the others. An answer needs a probability of at least 0.95, and odds at least ten
    times those before the data, because several criteria are looked at; otherwise it is "too few to tell". Equalised
    odds differ if recall or fpr does.
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
    if not isinstance(cm, ConfusionMatrix):
        raise InputTypeError("cm", f"must be a ConfusionMatrix; it is {type(cm).__name__}.")
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
    now, before = (xr.concat(list(each), pd.Index(RATES, name="rate")) for each in zip(*found, strict=True))
    text = "each rate: mean ~ Beta(1, 1), dispersion between groups ~ Beta(1, 9)"
    return Parity(cm, float(above), float(at_least), now, before, text)


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


def _pooled(cm: ConfusionMatrix, metric: Metric, draws: int, seed: int) -> tuple[xr.DataArray, xr.DataArray]:
    """Return draws (group, draw) of a rate of each group, partially pooled, and the same before the data."""
    dim = str(cm.dims[0])
    trials = np.asarray(metric.trials(cm.counts.values, cm.positive))
    reached = np.nan_to_num(point_value(metric, cm.counts, cm.positive).values) * trials
    dims = {dim: cm.counts[dim].values.tolist()}
    outcomes = Outcomes.from_counts(right=np.rint(reached).astype(int), n=trials.astype(int), dims=dims)
    # Streams are seeded by counts, and two rates may have the same ones.
    own_seed = int(stream(seed, f"parity: {metric.name}", cm.counts.values).integers(2**63))
    with warnings.catch_warnings():
        # What the prior says stands beside each probability.
        warnings.simplefilter("ignore", PriorWarning)
        found = slices(outcomes, draws=draws, random_seed=own_seed)
    now, before = (
        rates.sel(rate="accuracy", drop=True).stack(each=("chain", "draw"), create_index=False)
        for rates in (found.rates, found.prior_rates)
    )
    return now.drop_vars(["chain", "draw"]).rename(each="draw"), before.drop_vars(["chain", "draw"]).rename(each="draw")
