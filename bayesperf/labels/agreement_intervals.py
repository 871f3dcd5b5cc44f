"""Confidence intervals of coefficients of agreement, for a reviewer: by linearisation, and by F tests.

A coefficient is a function of the items' weights w, all of them 1. Its variance is that of the mean over items of the
derivatives n ∂/∂wᵢ (the infinitesimal jackknife; Gwet 2014, Handbook of inter-rater reliability, derives the same for
each coefficient). Intraclass correlations have F tests instead (Shrout & Fleiss 1979, Psychological Bulletin 86).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError, warn
from bayesperf.core.words import enumerated
from bayesperf.labels.agreement_coefficients import WeightedAnswers
from bayesperf.labels.rater_agreement import COEFFICIENTS, Coefficient, values_compared

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
