"""Checks of arguments, and the words of their errors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np


def probability(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    if not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, both excluded; it is {value!r}.")
    return float(value)


def number(name: str, value: Any) -> float:
    """Return a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a number; it is {value!r}.")
    return float(value)


def one_of(name: str, value: Any, options: Collection[str]) -> str:
    """Return a value that is among the options."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; it is {value!r}.")
    return str(value)


def count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; it is {value!r}.")
    return int(value)


def beta_weight(name: str, value: Any) -> float:
    """Return the weight of a symmetric Beta prior."""
    if not 0 < number(name, value) < np.inf:
        raise ValueError(f"{name} must be greater than 0 and finite, the weight of a Beta on each side; it is {value}.")
    return float(value)


def seed(random_seed: Any) -> int:
    """Return an integer seed; a Generator gives its next one."""
    if isinstance(random_seed, np.random.Generator):
        return int(random_seed.integers(2**63))
    if isinstance(random_seed, bool) or not isinstance(random_seed, int | np.integer) or random_seed < 0:
        raise ValueError(f"random_seed must be a non-negative integer or a numpy Generator; it is {random_seed!r}.")
    return int(random_seed)
