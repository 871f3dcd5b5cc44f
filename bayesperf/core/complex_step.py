"""Derivatives by complex steps, which are exact to the last digits (Squire & Trapp 1998, SIAM Review 40)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array, Numbers


def complex_step(function: Callable[[Numbers], Numbers], x: Array, direction: Any = 1.0, step: float = 1e-30) -> Array:
    """Return the derivative of a function at x along a direction d: Im f(x + ihd)/h, with h the step."""
    return np.asarray(np.imag(function(x + 1j * step * direction)) / step)
