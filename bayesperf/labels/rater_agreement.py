"""How far raters agree: the Bayesian bootstrap of items, of any coefficient of agreement, and confidence intervals.

A coefficient is a function of the items' weights w, all of them 1. The variance behind a confidence interval is that of
the mean over items of the derivatives n ∂/∂wᵢ (the infinitesimal jackknife; Gwet 2014, Handbook of inter-rater
reliability, derives the same for each coefficient). Intraclass correlations have F tests instead (Shrout & Fleiss 1979,
Psychological Bulletin 86).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts, blocks
from bayesperf.core.errors import InputError, InputTypeError, warn
from bayesperf.core.random_streams import stream
from bayesperf.core.weights import UNSEEN, check_number, cluster_weights, mean_weight, unit_weights
from bayesperf.core.words import enumerated, listed, metric_title
from bayesperf.distributions.draws import Draws
from bayesperf.labels import agreement_coefficients as coefficients
from bayesperf.labels.agreement_coefficients import WeightedAnswers, alike_by_level
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity, Scope

if TYPE_CHECKING:
    from bayesperf.labels.ratings import Ratings

LEVELS = ("nominal", "ordinal", "interval", "ratio")
# Draws that differ by less, differ by rounding.
_NO_WIDTH = 1e-9


class Coefficient(NamedTuple):
    """A coefficient of agreement: its function, its bounds, and whether it is of numbers whatever the level."""

    function: Callable[[WeightedAnswers, Any], Array]
    bounds: tuple[float, float] = (-1.0, 1.0)
    of_numbers: bool = False


COEFFICIENTS = {
    "krippendorff_alpha": Coefficient(coefficients.krippendorff_alpha),
    "percent_agreement": Coefficient(coefficients.percent_agreement, (0.0, 1.0)),
    "cohen_kappa": Coefficient(coefficients.cohen_kappa),
    "fleiss_kappa": Coefficient(coefficients.fleiss_kappa),
    "gwet_ac": Coefficient(coefficients.gwet_ac),
    "brennan_prediger": Coefficient(coefficients.brennan_prediger),
    "icc_one_way": Coefficient(coefficients.icc_one_way, of_numbers=True),
    "icc_agreement": Coefficient(coefficients.icc_agreement, of_numbers=True),
    "icc_consistency": Coefficient(coefficients.icc_consistency, of_numbers=True),
}
ALIASES = {"scott_pi": "fleiss_kappa", "conger_kappa": "cohen_kappa", "gwet_ac1": "gwet_ac", "gwet_ac2": "gwet_ac"}


def posterior_of_agreement(
    ratings: Ratings,
    coefficient: str,
    level: str,
    groups: Mapping[Any, Sequence[Any]] | None,
    new_raters: bool,
    draws: int,
    random_seed: int,
) -> Marginal:
    """Return the posterior of a coefficient of agreement; see `Ratings.agreement`."""
    checks.one_of("level", level, LEVELS)
    name = ALIASES.get(coefficient, coefficient)
    if name not in COEFFICIENTS:
        raise InputError("coefficient", f"must be one of {listed(list(COEFFICIENTS), 12)}; it is {coefficient!r}.")
    measure, compared = COEFFICIENTS[name], values_compared(name, level, ratings.labels)
    answers = ratings.patterns["answers"].values
    if answers.max() > 1:
        raise InputError(
            "ratings",
            "a rater answered an item twice, and agrees with itself.",
            "Give each round of answers a rater's name of its own.",
        )
    members = [_members(ratings.raters, each) for each in ([ratings.raters] if groups is None else groups.values())]
    if new_raters and min(map(len, members)) < 3:
        raise InputError("new_raters", "two raters say nothing of others.", "Give three or more.")
    counts = ratings.counts.transpose(..., "pattern")
    populations = counts.values.reshape(-1, counts.sizes["pattern"])
    names = counts["population"].values.tolist() if counts.ndim > 1 else [None]
    observed = np.empty((len(members), len(populations)))
    drawn = np.empty((*observed.shape, draws))
    for place, (of_patterns, population) in enumerate(zip(populations, names, strict=True)):
        where = "" if population is None else f" of population {population!r}"
        # Groups of raters answer about the same items, which have one weight in all groups; weights of patterns vary as
        # those of as many clusters of one item.
        means = (of_patterns * mean_weight(int(of_patterns.sum()))).astype(float)
        items = unit_weights(stream(random_seed, f"items {population!r}", of_patterns), means, draws)
        for group, of_group in enumerate(members):
            given = answers[:, of_group]
            some = (given.sum((1, 2)) > 0) & (of_patterns > 0)
            part, sizes = given[some], of_patterns[some]
            check_number(int(sizes[part.sum((1, 2)) > 1].sum()), f" items{where} with two answers", "ratings")
            observed[group, place] = measure.function(_as_observed(part, sizes), compared).item()
            rng = stream(random_seed, f"raters {population!r}", np.append(of_group, of_patterns))
            drawn[group, place] = _coefficient_draws(measure, compared, part, sizes, items[:, some], new_raters, rng)
    if (np.ptp(drawn, axis=-1) < _NO_WIDTH).any():
        said = "raters agree about every item, or about none, so the interval has no width"
        warn(UserWarning, "BP701", f"ratings: {said}. That is no certainty: other items may differ.")
    score, joint = _labelled(observed, counts, groups), groups is not None
    distribution = Draws.of(name, drawn.reshape(-1, 1, draws), measure.bounds)
    facts: dict[str, Any] = {"inference": "Bayesian bootstrap", "random_seed": random_seed}
    return Marginal(_quantity(name, level, new_raters), distribution, score * 0, joint=joint, score=score, **facts)


def values_compared(name: str, level: str, labels: Sequence[Any]) -> Array | None:
    """Return what a coefficient compares: how far answers agree (K, K), or None, or the values of the answers (K,)."""
    numeric = not isinstance(labels[0], str | bool)
    values = np.asarray(labels, float) if numeric else np.arange(len(labels), dtype=float)
    if (COEFFICIENTS[name].of_numbers or level in ("interval", "ratio")) and not numeric:
        what = name if COEFFICIENTS[name].of_numbers else f"level={level!r}"
        raise InputError("level", f"{what} needs answers that are numbers; they are {listed(list(labels))}.")
    if COEFFICIENTS[name].of_numbers:
        return values
    if level == "ratio" and values.min() < 0:
        raise InputError("level", f"level='ratio' needs answers of 0 or more; one is {values.min():g}.")
    return None if (name, level) == ("krippendorff_alpha", "ordinal") else alike_by_level(level, values)


def _members(raters: list[Any], group: Sequence[Any]) -> Codes:
    """Return the positions of the raters of a group."""
    if isinstance(group, str):
        raise InputTypeError("groups", f"must map names to lists of raters; {group!r} is text.")
    if unknown := [rater for rater in group if rater not in raters]:
        raise InputError("groups", f"{listed(unknown)} are not among the raters {listed(raters)}.")
    if len(set(group)) < 2:
        raise InputError("groups", "each needs two raters or more.")
    return np.array([raters.index(rater) for rater in dict.fromkeys(group)])


def _as_observed(given: NDArray[np.int64], sizes: Counts) -> WeightedAnswers:
    raters = np.ones((1, given.shape[1]))
    return WeightedAnswers(given, sizes[None].astype(float), raters, np.zeros(1), sizes)


def _coefficient_draws(
    measure: Coefficient,
    compared: Array | None,
    given: NDArray[np.int64],
    sizes: Counts,
    items: Array,
    new_raters: bool,
    rng: np.random.Generator,
) -> Array:
    """Return draws of a coefficient, (draws,)."""
    draws, raters = len(items), given.shape[1]
    weights = cluster_weights(rng, np.ones(raters), draws).astype(float) if new_raters else np.ones((1, raters))
    # An unseen item about which raters disagree: without it, raters who agree about all have no width.
    unseen = np.zeros(draws) if measure.of_numbers else rng.standard_gamma(UNSEEN, draws)
    parts = [
        measure.function(
            WeightedAnswers(given, items[part], weights[part] if new_raters else weights, unseen[part], sizes), compared
        )
        for part in blocks(draws, given.size)
    ]
    return np.concatenate(parts)


def _labelled(values: Array, counts: xr.DataArray, groups: Mapping[Any, Any] | None) -> xr.DataArray:
    """Return values over groups of raters and populations, where there are several."""
    leading = counts.isel(pattern=0, drop=True).astype(float)
    if groups is not None:
        leading = leading.expand_dims(raters=list(groups))
    return leading.copy(data=values.reshape(leading.shape))


def _quantity(name: str, level: str, new_raters: bool) -> Quantity:
    """Return what a coefficient describes: these raters or others like them, and items like these."""
    measure = COEFFICIENTS[name]
    whose = "these and other raters" if new_raters else "these raters"
    of_level = "" if level == "nominal" or measure.of_numbers else f", answers taken as {level}"
    scope = Scope("own", detail=f"the agreement of {whose} about items like these{of_level}")
    return Quantity(name, scope, greater_is_better=True, words=metric_title(name), bounds=measure.bounds)


# ── Confidence intervals, for a reviewer ──

# The step of complex differences.
_STEP = 1e-20
# A share of the variance of scores that rounding may leave.
_NOTHING = 1e-12
# Coefficients that ignore items with a single answer.
_OF_PAIRS = ("krippendorff_alpha", "percent_agreement")


def linearised(
    given: NDArray[np.int64], sizes: Counts, labels: Sequence[Any], level: str, confidence: float
) -> list[dict[str, Any]]:
    """Return a row for each coefficient, of patterns (P, G, K) of so many items (P,) each."""
    rows = []
    for name, measure in COEFFICIENTS.items():
        if measure.of_numbers:
            continue
        kept = (given.sum((1, 2)) > (name in _OF_PAIRS)) & (sizes > 0)
        if sizes[kept].sum() < 2:
            raise InputError("ratings", f"the standard error of {name} needs at least two items with several answers.")
        estimate, se = _estimate(measure, values_compared(name, level, labels), given[kept], sizes[kept])
        if not np.isfinite(estimate):
            raise InputError("ratings", f"{name} is undefined (0/0): all answers are the same.")
        df = int(sizes[kept].sum()) - 1
        reach = special.stdtrit(df, (1 + confidence) / 2) * se
        low, high = np.clip([estimate - reach, estimate + reach], *measure.bounds)
        rows.append({"coefficient": name, "estimate": estimate, "se": se, "df": df, "ci_lower": low, "ci_upper": high})
    if flat := [row["coefficient"] for row in rows if row["se"] == 0]:
        said = f"ratings: the intervals of {enumerated(flat)} have no width, as all items say the same"
        warn(UserWarning, "BP701", f"{said}. That is no certainty: take agreement, which leaves a width.")
    return rows


def _estimate(measure: Coefficient, compared: Array | None, given: NDArray[np.int64], sizes: Counts) -> tuple[Any, Any]:
    """Return a coefficient and its standard error."""
    number, n = len(sizes), sizes.sum()
    items = sizes + 1j * _STEP * np.eye(number)
    answers = WeightedAnswers(given, items, np.ones((1, given.shape[1])), np.zeros(number), sizes)
    values = measure.function(answers, compared)
    return values.real[0].item(), np.sqrt(sizes @ (n * values.imag / _STEP) ** 2 / (n * (n - 1))).item()


def intraclass(given: NDArray[np.int64], sizes: Counts, values: Array, confidence: float) -> list[dict[str, Any]]:
    """Return a row for each of Shrout & Fleiss' six intraclass correlations, of complete answers."""
    if (given.sum(-1) != 1).any():
        raise InputError(
            "ratings",
            "F tests need one answer of each rater to each item.",
            "Take agreement('icc_agreement'), which allows missing answers.",
        )
    scores = np.repeat(given @ values, sizes, axis=0)
    n, k = scores.shape
    by_item, by_rater, mean = scores.mean(1), scores.mean(0), scores.mean()
    between = k * ((by_item - mean) ** 2).sum() / max(n - 1, 1)
    raters = n * ((by_rater - mean) ** 2).sum() / (k - 1)
    within = ((scores - by_item[:, None]) ** 2).sum() / (n * (k - 1))
    error = (n * within - raters) / max(n - 1, 1)
    if n < 2 or min(between, error) <= _NOTHING * scores.var():
        raise InputError(
            "ratings",
            "F tests need items that differ on average, and raters who do not all see the same differences.",
            "Take agreement('icc_agreement').",
        )
    f_within, f_error = between / within, between / error
    rest, interaction, tail = n * (k - 1), (n - 1) * (k - 1), (1 - confidence) / 2
    agreement = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)

    def by_f(f: Any, df: float) -> tuple[Any, Any, Any]:
        """Return (F − 1)/(F + k − 1) at F, and at the ends of the interval of the ratio of variances."""
        ends = f * special.fdtri(df, n - 1, tail), f * special.fdtri(df, n - 1, 1 - tail)
        return tuple((each - 1) / (each + k - 1) for each in (f, *ends))

    # Satterthwaite's degrees of freedom of what stands beside the mean square between items.
    a = k * agreement / (n * (1 - agreement))
    b = 1 + (n - 1) * a
    df = (a * raters + b * error) ** 2 / ((a * raters) ** 2 / (k - 1) + (b * error) ** 2 / interaction)
    ends = [(special.fdtri(df, n - 1, each), k * raters + (k * n - k - n) * error) for each in (tail, 1 - tail)]
    limits = [n * (between * f - error) / (other + n * between * f) for f, other in ends]
    single = {
        "icc_one_way": (*by_f(f_within, rest), f_within, rest),
        "icc_agreement": (agreement, *limits, f_error, interaction),
        "icc_consistency": (*by_f(f_error, interaction), f_error, interaction),
    }
    rows = []
    for number in (1, k):
        for name, (*figures, f, df2) in single.items():
            estimate, low, high = (number * each / (1 + (number - 1) * each) for each in figures)
            rows.append({"coefficient": name, "raters": number, "estimate": estimate, "ci_lower": low, "ci_upper": high,
                         "f": f, "df1": n - 1, "df2": df2, "p_value": special.fdtrc(n - 1, df2, f)})  # fmt: skip
    return rows
