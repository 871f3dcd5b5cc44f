"""Bins of scores: their edges, and the number of a score's bin as the engine of a data frame finds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import listed

# Numbers of no bin: of scores that are missing, and that are outside the edges.
MISSING, OUTSIDE = -1, -2
# From scores to the number of the bin of each.
BinNumber = Callable[[nw.Expr], nw.Expr]


def checked_edges(name: str, edges: ArrayLike) -> Array:
    """Return edges of one bin or more, ascending."""
    array = checks.vector(name, edges)
    # Infinite edges have no difference.
    if len(array) < 2 or (array[1:] <= array[:-1]).any():
        raise InputError(name, f"must be two numbers or more that ascend; they are {listed(array.tolist())}.")
    return array


def bins_of(bins: int | ArrayLike, limits: Sequence[float] | None) -> tuple[Array, BinNumber]:
    """Return the edges of bins (B + 1,), and a function that numbers scores by bin.

    Parameters
    ----------
    bins : int or array-like (B + 1,)
        How many of equal width, or the edges.
    limits : (low, high), optional
        Outer edges of bins of equal width, 0 and 1 by default.
    """
    if np.ndim(bins):
        if limits is not None:
            raise InputTypeError("limits", "edges have their own.", "Give edges without `limits`.")
        edges = checked_edges("bins", bins)
        return edges, partial(_number, edges, _by_comparison(edges))
    number = checks.count("bins", bins)
    outer = checked_edges("limits", (0.0, 1.0) if limits is None else limits)
    if len(outer) != 2 or not np.isfinite(outer).all():
        raise InputError("limits", f"must be two finite numbers, low and high; they are {listed(outer.tolist())}.")
    low, high = outer.tolist()
    width = (high - low) / number
    # As the engine computes them, so that a score at an edge is in the bin above.
    edges = low + np.arange(number + 1) * width
    edges[-1] = high
    return checked_edges(f"edges of {number} bins", edges), partial(_number, edges, _by_division(low, width, number))


def _number(edges: Array, number_inside: BinNumber, score: nw.Expr) -> nw.Expr:
    """Return the number of each score's bin, MISSING or OUTSIDE."""
    score = score.cast(nw.Float64)
    low, high = edges[[0, -1]].tolist()
    inside = nw.when((score >= low) & (score <= high))
    number = inside.then(number_inside(score)).otherwise(nw.lit(float(OUTSIDE)))
    missing = score.is_null() | score.is_nan()
    return nw.when(missing).then(nw.lit(float(MISSING))).otherwise(number).cast(nw.Int64)


def _by_division(low: float, width: float, number: int) -> BinNumber:
    """Number bins of equal width: rounding may put a score next to an edge one bin off, which its edges mend."""

    def number_of(score: nw.Expr) -> nw.Expr:
        near = ((score - low) / width).floor()
        mended = (
            nw.when(score < low + near * width)
            .then(near - 1)
            .otherwise(nw.when(score >= low + (near + 1) * width).then(near + 1).otherwise(near))
        )
        # The last bin has its upper edge.
        return mended.clip(0, number - 1)

    return number_of


def _by_comparison(edges: Array) -> BinNumber:
    """Number bins by how many of the inner edges a score reaches."""

    def number_of(score: nw.Expr) -> nw.Expr:
        reached = [(score >= edge).cast(nw.Int32) for edge in edges[1:-1].tolist()]
        # In pairs: engines limit how deep an expression may be.
        while len(reached) > 1:
            reached = [sum(reached[i + 1 : i + 2], reached[i]) for i in range(0, len(reached), 2)]
        return reached[0].cast(nw.Float64) if reached else nw.lit(0.0)

    return number_of
