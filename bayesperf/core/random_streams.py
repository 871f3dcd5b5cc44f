"""Random number streams, each seeded by its purpose and its data."""

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
    """Return a random generator for each element of the leading dims, seeded by its coordinates and its contents.

    Adding a system therefore changes no other system's results, and two systems never share random numbers, whether
    they belong to one posterior or to two.
    """
    scalar_coords = [(str(name), c.values.tolist()) for name, c in leading.coords.items() if not c.dims]
    labels = [[(str(dim), label) for label in leading[dim].values.tolist()] for dim in leading.dims]
    generators = []
    for place, content in zip(product(*labels), contents, strict=True):
        name = repr((purpose, sorted([*scalar_coords, *place], key=repr))).encode()
        generators.append(_generator(seed, name + content.tobytes()))
    return generators


def stream(seed: int, purpose: str, content: NDArray[np.generic]) -> np.random.Generator:
    """Return a random generator for a purpose and its data, whatever the leading dims."""
    return _generator(seed, purpose.encode() + content.tobytes())


def _generator(seed: int, key: bytes) -> np.random.Generator:
    digest = hashlib.blake2b(key, digest_size=16).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, np.uint32).tolist()])
