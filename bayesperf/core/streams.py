"""Streams of random numbers that belong to what they are drawn for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import product

import numpy as np
import xarray as xr
from numpy.typing import NDArray


def streams(
    seed: int, purpose: str, leading: xr.DataArray, contents: Iterable[NDArray[np.generic]]
) -> list[np.random.Generator]:
    """Return a stream for each place of some leading dims, keyed by its coordinates and its content.

    So another system changes no figure, and two systems never share random numbers, be they in one posterior or in two.
    """
    fixed = [(str(name), c.values.tolist()) for name, c in leading.coords.items() if not c.dims]
    labels = [[(str(dim), label) for label in leading[dim].values.tolist()] for dim in leading.dims]
    rngs = []
    for place, content in zip(product(*labels), contents, strict=True):
        name = repr((purpose, sorted([*fixed, *place], key=repr))).encode()
        key = hashlib.blake2b(name + content.tobytes(), digest_size=16).digest()
        rngs.append(np.random.default_rng([seed, *np.frombuffer(key, np.uint32).tolist()]))
    return rngs
