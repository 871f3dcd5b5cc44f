"""Words that sentences, tables, reports and figures share: how figures, intervals and probabilities are written."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

# Usual levels of confidence, and what is left of them.
_LEVELS = (0.01, 0.05, 0.1, 0.9, 0.95, 0.99)

# Kinds of intervals, by the values of `ci_kind`.
INTERVAL_KINDS = {"hdi": "highest-density", "eti": "equal-tailed"}

# The smallest probability of each word; below one half the word describes the opposite, with "not". They are the bounds
# of Mastrandrea et al. (2010), Guidance note for lead authors of the IPCC fifth assessment report, table 1.
LIKELIHOODS = {"almost certainly": 0.99, "very probably": 0.9, "probably": 0.66}
OPEN = "as likely as not"

# A bound in the direction that is better, by the sign of this direction.
AT_BEST = {1: "at least", -1: "at most"}

# Parts of metrics' names that are not written as they are.
_NAMES = {
    "ac": "AC", "auc": "AUC", "brennan": "Brennan", "brier": "Brier score", "cohen": "Cohen's",
    "corrcoef": "correlation", "fdr": "FDR", "fleiss": "Fleiss'", "fnr": "FNR", "fpr": "FPR", "gwet": "Gwet's",
    "icc": "ICC", "krippendorff": "Krippendorff's", "mae": "MAE", "matthews": "Matthews", "npv": "NPV",
    "ovo": "one-vs-one", "ovr": "one-vs-rest", "prediger": "Prediger coefficient", "rmse": "RMSE", "roc": "ROC",
}  # fmt: skip
# Names of metrics of several attempts, in part, and what is written for them.
_OF_ATTEMPTS = {
    r"\bmg_pass_at_": "mean G-Pass@", r"\bg_pass_at_(\d+)_(\d+)": r"G-Pass@\1 (at least \2)", "pass_at_": "pass@",
    "pass_hat_": "pass^", "maj_at_": "maj@",
}  # fmt: skip

# What figures do not say by themselves if one looks again and again, or chooses the best.
REPEATED_LOOKS = (
    "If you look after every batch, more systems reach a probability of 0.95 by chance than if you look once. For "
    "example, of systems whose recall is exactly at a requirement of 0.7 (Jeffreys' prior, 20 batches of 10 "
    "positives), 5 % have it at the last look, and 21 % at one look or another."
)
BEST_OF_MANY = (
    "The best of several is partly lucky, and looks better than it is: of 50 systems with accuracy 0.80, each judged "
    "on 200 examples, the best scores 0.86 on average, and its 95 % HDI contains its accuracy in 24 % of studies."
)
LOOKS_BETTER = "The best of several is partly lucky, and looks better than it is."
SHRUNK = "All systems are drawn towards those like them, so that the best owes less to luck."
SHRUNK_IN_FAMILIES = (
    "All systems are drawn towards those like them, first of all in their family, so that the best owes less to luck."
)
CHOSEN_ON_THE_SAME = (
    "A threshold looks better on the examples on which it was chosen than on new ones: choose it on other examples"
)


def percentage(probability: float) -> str:
    """Write a probability as a percentage, such as "95 %"."""
    return f"{100 * probability:g} %"


def likelihood(probability: float) -> str:
    """Return a word for a probability, such as "probably" or "very probably not" (see `LIKELIHOODS`).

    It is based on the whole percentages that `chance` writes.

    Examples
    --------
    >>> likelihood(0.69), likelihood(0.52), likelihood(0.004)
    ('probably', 'as likely as not', 'almost certainly not')
    """
    probability = round(probability, 2)
    if probability < 0.5 and (opposite := likelihood(1 - probability)) != OPEN:
        return f"{opposite} not"
    return next((word for word, least in LIKELIHOODS.items() if probability >= least), OPEN)


def chance(probability: float) -> str:
    """Write a computed probability as a percentage for a sentence; rounding makes none 0 or 100 %.

    Examples
    --------
    >>> chance(0.687), chance(0.9934), chance(0.9999), chance(0.0)
    ('69 %', '99.3 %', '>99.9 %', '<0.1 %')
    """
    if probability > 0.999:
        return ">99.9 %"
    if probability < 0.001:
        return "<0.1 %"
    return f"{100 * probability:.{0 if 0.01 <= probability <= 0.99 else 1}f} %"


def probability_value(probability: float) -> str:
    """Write a computed probability with three decimals for a table; rounding makes none 0 or 1.

    More decimals show on which side of a usual level of confidence it lies.

    Examples
    --------
    >>> probability_value(0.6872), probability_value(0.99999), probability_value(0.0001), probability_value(0.9497)
    ('0.687', '>0.999', '<0.001', '0.9497')
    """
    if math.isnan(probability):
        return "—"
    if not 0.001 <= probability <= 0.999:
        return ">0.999" if probability > 0.5 else "<0.001"
    rounded = [round(probability, digits) for digits in (3, 4, 5)]
    digits = next((3 + place for place, value in enumerate(rounded) if value not in _LEVELS), 6)
    return f"{probability:.{digits if abs(probability - rounded[0]) > 1e-6 else 3}f}"


def format_value(value: float, interval_width: float = 1.0) -> str:
    """Format a value with three decimals, or more if its interval is narrow; a large value with three digits.

    An undefined value is empty. An interval that only rounding gives a width has none.

    Examples
    --------
    >>> format_value(0.12345, 0.01), format_value(0.25, 1e-17)
    ('0.123', '0.250')
    """
    if not math.isfinite(value):
        return "" if math.isnan(value) else "∞"
    is_narrow = 1e-13 * abs(value) < interval_width < 1
    digits = max(3, 1 - math.floor(math.log10(interval_width))) if is_narrow else 3
    return f"{value:.{digits}f}" if abs(value) < 10 or digits > 3 else f"{value:.3g}"


def signed_value(value: float, interval_width: float = 1.0) -> str:
    """Format a value as `format_value` does, with a proper minus sign."""
    return f"{'−' if value < 0 else ''}{format_value(abs(value), interval_width)}"


def estimate(mean: float, lower: float, upper: float, ci_prob: float, ci_kind: str, observed: str = "") -> str:
    """Write a mean with its interval, and the observed value, for a sentence.

    Examples
    --------
    >>> estimate(0.75, 0.436, 0.998, 0.95, "hdi", "4 of 5")
    '0.750 (95 % HDI 0.436–0.998; observed 4 of 5)'
    >>> estimate(0.1, -0.05, 0.25, 0.95, "eti")
    '0.100 (95 % ETI −0.050 to 0.250)'
    """
    interval = bracketed_interval(lower, upper, ci_prob, ci_kind, observed)
    return f"{signed_value(mean, upper - lower)} {interval}"


def bracketed_interval(lower: float, upper: float, ci_prob: float, ci_kind: str, observed: str = "") -> str:
    """Write an interval, and the observed value, to follow a figure."""
    low, high = (signed_value(value, upper - lower) for value in (lower, upper))
    between = f"{low}–{high}" if lower >= 0 else f"{low} to {high}"
    seen = f"; observed {observed}" if observed else ""
    return f"({short_interval_name(ci_prob, ci_kind)} {between}{seen})"


def metric_title(name: str) -> str:
    """Write the name of a metric in words, for use within a sentence or beside a figure.

    Examples
    --------
    >>> metric_title("balanced_accuracy"), metric_title("f1_macro"), metric_title("matthews_corrcoef")
    ('balanced accuracy', 'F1 macro', 'Matthews correlation')
    >>> metric_title("pass_at_4"), metric_title("pass_hat_4"), metric_title("g_pass_at_4_3")
    ('pass@4', 'pass^4', 'G-Pass@4 (at least 3)')
    """
    for written, title in _OF_ATTEMPTS.items():
        name = re.sub(written, title, name)
    parts = [_NAMES.get(part, part) for part in name.split("_")]
    return " ".join(part.upper() if len(part) > 1 and part[1:].isdigit() else part for part in parts)


def sentence(text: str) -> str:
    """Return words as a sentence, with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def plural(noun: str) -> str:
    """Return the plural of a noun that names groups.

    Examples
    --------
    >>> plural("site"), plural("study"), plural("day"), plural("batch"), plural("questions")
    ('sites', 'studies', 'days', 'batches', 'questions')
    """
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    if noun.endswith("s") and not noun.endswith(("ss", "us")):
        return noun
    return f"{noun}es" if noun.endswith(("ch", "sh", "s", "x", "z")) else f"{noun}s"


def enumerated(parts: Sequence[str], most: int | None = None) -> str:
    """Join the parts of a sentence, the last by "and"; beyond `most`, name the first and count the others.

    Examples
    --------
    >>> enumerated(["hats", "coats", "shoes"]), enumerated(["hats", "coats", "shoes"], most=1)
    ('hats, coats and shoes', 'hats and 2 more')
    """
    if most is not None and len(parts) > most:
        parts = [*parts[:most], f"{len(parts) - most:,} more"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def at_place(leading: xr.DataArray, index: Any) -> str:
    """Return the coordinates of a flat index of leading dims for an error, as " at site=a"; empty if there are none."""
    places = product(*(map(str, leading[dim].values) for dim in leading.dims))
    place = next(islice(places, int(index), None))
    named = ", ".join(f"{dim}={value}" for dim, value in zip(leading.dims, place, strict=True))
    return f" at {named}" if named else ""


def place_names(leading: xr.DataArray) -> list[str]:
    """Return a name for each place along leading dims: its coordinates, joined."""
    return [", ".join(place) for place in product(*(map(str, leading[dim].values.tolist()) for dim in leading.dims))]


def places_in_words(leading: xr.DataArray) -> list[str]:
    """Return a name for each place along leading dims for a sentence; coordinates that are not text include the dim."""
    each = [[v if isinstance(v, str) else f"{dim} {v}" for v in leading[dim].values.tolist()] for dim in leading.dims]
    return [printable(", ".join(place)) for place in product(*each)]


def over_places(values: Sequence[str], names: Sequence[str], order: Sequence[float]) -> str:
    """Write the values of several places: all of up to four, else the two extremes of an order.

    Examples
    --------
    >>> over_places(["0.9", "0.8"], ["a", "b"], [0.9, 0.8])
    '0.9 for a and 0.8 for b'
    >>> over_places(list("51324"), list("abcde"), [5, 1, 3, 2, 4])
    'between 1 for b and 5 for a'
    """
    if len(values) == 1 and names == [""]:
        return values[0]
    texts = [f"{value} for {name}" for value, name in zip(values, names, strict=True)]
    if len(texts) <= 4:
        return enumerated(texts)
    known = [i for i, value in enumerate(order) if not math.isnan(value)]
    least, greatest = min(known, key=lambda i: order[i]), max(known, key=lambda i: order[i])
    return f"between {texts[least]} and {texts[greatest]}"


def interval_name(ci_prob: float, ci_kind: str) -> str:
    """Name an interval in full, such as "95 % highest-density interval"."""
    return f"{percentage(ci_prob)} {INTERVAL_KINDS[ci_kind]} interval"


def short_interval_name(ci_prob: float, ci_kind: str) -> str:
    """Name an interval by its abbreviation, such as "95 % HDI"."""
    return f"{percentage(ci_prob)} {ci_kind.upper()}"


def listed(values: Sequence[Any], most: int = 5) -> str:
    """Write values as part of a sentence: the first few, and the number of the others."""
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def printable(text: str) -> str:
    r"""Write text for a terminal: characters that steer it, or are invisible, become Python escapes.

    Control characters, marks of text direction, line breaks, and blanks other than the plain one are escaped.

    Examples
    --------
    >>> print(printable("cat \x1b[31m\n"))
    cat \x1b[31m\n
    """
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
