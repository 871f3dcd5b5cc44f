"""Checks of arguments: each returns the checked value, or raises an error that names the argument."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesperf.core.arrays import Array, decoded
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import INTERVAL_KINDS

# The most examples of a matrix: of more, figures lose digits, as cells round and intervals are ever narrower.
MOST_EXAMPLES = 10**12
# What is drawn at random, and the most of it that is.
_DRAWN, _MOST_DRAWS = ("draws", "tune", "n_resamples", "simulations"), 10**7
# Numbers that draws may hold in memory, two gigabytes, and the fewest draws worth having.
_MOST_NUMBERS, _ENOUGH_DRAWS = 2**28, 200


def instance[T](name: str, value: Any, *kinds: type[T], advice: str = "") -> T:
    """Return a value that must be of one of several classes."""
    if not isinstance(value, kinds):
        asked = " or ".join(kind.__name__ for kind in kinds)
        # Ratings and Outcomes are plural; a MetaAnalysis is not.
        is_plural = kinds[0].__name__.endswith("s") and not kinds[0].__name__.endswith("sis")
        asked = asked if is_plural else f"a {asked}"
        raise InputTypeError(name, f"must be {asked}; it is {type(value).__name__}.", advice)
    return value


def none_given(problem: str, **values: Any) -> None:
    """Refuse arguments that do not belong here; None is an argument that was not given."""
    for name, value in values.items():
        if value is not None:
            raise InputTypeError(name, problem, f"Call it without `{name}`.")


def leading_dim(name: str, dim: Any, dims: Sequence[Hashable], advice: str = "") -> None:
    """Refuse a name that is no leading dim."""
    if dim not in dims:
        raise InputError(name, f"{dim!r} is not a leading dim; they are {list(dims)}.", advice)


def probability(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    if not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise InputError(name, f"must be a number between 0 and 1, both excluded; it is {value!r}.")
    return float(value)


def number(name: str, value: Any) -> float:
    """Return a number as a float; booleans are refused."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputTypeError(name, f"must be a number; it is {value!r}.")
    return float(value)


def above_zero(name: str, value: Any) -> float:
    """Return a number above 0 as a float."""
    if not number(name, value) > 0:
        raise InputError(name, f"must be above 0; it is {value}.")
    return float(value)


def one_of(name: str, value: Any, options: Collection[str]) -> str:
    """Return a value that must be one of several options."""
    if not isinstance(value, tuple(map(type, options))) or value not in options:
        raise InputError(name, f"must be one of {', '.join(map(repr, options))}; it is {value!r}.")
    return str(value)


def count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`; for draws, no more than could ever finish."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(name, f"must be a whole number of at least {least}; it is {value!r}.")
    if name in _DRAWN and value > _MOST_DRAWS:
        raise InputError(
            name,
            f"must be at most {_MOST_DRAWS:,}; it is {value}.",
            "The Monte Carlo error of so many is 0.0003 standard deviations.",
        )
    return int(value)


def draws_in_memory(draws: int, numbers: int, what: str, instead: str) -> None:
    """Refuse draws of so many numbers each that memory would not hold them; `instead` is for where few do not fit."""
    most = _MOST_NUMBERS // numbers
    if draws > most:
        raise InputError(
            "draws",
            f"{draws:,} draws of {what} would take {8 * draws * numbers / 1e9:,.0f} GB of memory.",
            f"Give at most {most:,} `draws`." if most >= _ENOUGH_DRAWS else instead,
        )


def beta_weight(name: str, value: Any) -> float:
    """Return a weight of a Beta, on one side or on each."""
    if not 0 < number(name, value) < np.inf:
        raise InputError(name, f"must be greater than 0 and finite, as a weight of a Beta is; it is {value:g}.")
    return float(value)


def beta_weights(name: str, value: Any) -> tuple[float, float]:
    """Return the two weights of a Beta."""
    if np.shape(value) != (2,):
        raise InputError(name, f"must be the two weights of a Beta, such as (1, 1); it is {value!r}.")
    a, b = (beta_weight(name, weight) for weight in value)
    return a, b


def interval(ci_prob: Any, ci_kind: Any) -> tuple[float, Literal["hdi", "eti"]]:
    """Return the probability and the kind of an interval."""
    return probability("ci_prob", ci_prob), one_of("ci_kind", ci_kind, INTERVAL_KINDS)  # type: ignore[return-value]


def seed(random_seed: Any) -> int:
    """Return an integer seed; a Generator supplies one by drawing it."""
    if isinstance(random_seed, np.random.Generator):
        return int(random_seed.integers(2**63))
    if isinstance(random_seed, bool) or not isinstance(random_seed, int | np.integer) or random_seed < 0:
        raise InputError("random_seed", f"must be a non-negative integer or a numpy Generator; it is {random_seed!r}.")
    return int(random_seed)


def new_seed(random_seed: Any) -> int:
    """Return an integer seed, by default a new one."""
    return int(np.random.default_rng().integers(2**31)) if random_seed is None else seed(random_seed)


def rope(value: Any) -> float:
    """Return the half-width of a region of practical equivalence: a finite number, at least 0."""
    half_width = number("rope", value)
    if not 0 <= half_width < np.inf:
        raise InputError("rope", f"must be the half-width of a region, at least 0; it is {value}.")
    return half_width


def two_names(names: Sequence[Any]) -> tuple[Any, Any]:
    """Return the two names; refuse anything but two."""
    if isinstance(names, str) or len(names) != 2:
        raise InputError("names", f"must be two, of a and of b; they are {names!r}.")
    return names[0], names[1]


def vector(name: str, values: ArrayLike) -> Array:
    """Return a one-dimensional array of numbers, not empty and none missing; a single number becomes length 1."""
    values = decoded(values)
    array = np.atleast_1d(np.ma.filled(np.ma.asarray(values, float), np.nan) if np.ma.is_masked(values) else values)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(name, f"must be numbers; it holds {array.dtype}.")
    if array.ndim != 1 or array.size == 0:
        raise InputError(name, f"must be one-dimensional and not empty; its shape is {array.shape}.")
    if np.isnan(array).any():
        missing = np.isnan(array).sum()
        raise InputError(name, f"has {missing} missing value{'s' * bool(missing > 1)}.", "Drop those examples.")
    return array.astype(float)


def probabilities(name: str, values: Array) -> Array:
    """Return an array that must hold probabilities, 0 and 1 included."""
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise InputError(name, f"must hold probabilities, in [0, 1]; it holds {values[outside].flat[0]:g}.")
    return values


def none_certain(name: str, certain: int) -> None:
    """Refuse probabilities if any is 0 or 1, and say how many: their log-odds are infinite."""
    if certain:
        raise InputError(
            name,
            f"{certain} probabilit{'ies are' if certain > 1 else 'y is'} 0 or 1, whose log-odds are infinite.",
            f"Clip them, as np.clip({name}, 1e-6, 1 - 1e-6): the result depends on where.",
        )


def whole_numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return an array that must hold numbers of examples: whole, finite and not negative, of any numeric type."""
    if values.dtype.kind not in "iuf":
        raise InputTypeError(name, f"must hold whole numbers; it holds {values.dtype}.")
    whole = values.dtype.kind != "f" or bool((values == np.floor(values)).all())
    if not values.size or (whole and values.min() >= 0 and values.max() <= MOST_EXAMPLES):
        return values
    for problem, where in {
        "missing or infinite": ~np.isfinite(values),
        "negative": values < 0,
        "fractional": values != np.floor(values),
        f"more than {MOST_EXAMPLES:.0e}": values > MOST_EXAMPLES,
    }.items():
        if where.any():
            raise InputError(
                name,
                f"holds {values[where].flat[0]}, which is {problem}: counts are numbers of examples "
                "(0, 1, 2, …), not shares or weights.",
            )
    return values


def equal_lengths(lengths: Mapping[str, int]) -> None:
    """Refuse columns of different lengths, given by name."""
    if len(set(lengths.values())) > 1:
        columns = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError("", f"columns of unequal length: {columns}.")
