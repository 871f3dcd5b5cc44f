"""Simulated sequences of two labels, with given rates and persistence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError
from bayesperf.sequences.chain import ChainParameters


@checked
def simulate(
    n: int,
    *,
    persistence: float = 0.8,
    error_persistence: float | None = None,
    prevalence: float = 0.5,
    recall: float = 0.75,
    specificity: float = 0.75,
    sequences: int = 1,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """Return simulated sequences of a chain with given rates, started from its stationary distribution.

    Parameters
    ----------
    n : int
        Number of samples in each sequence.
    persistence : float
        Persistence of the actual label: (1 + λ)/2 with λ its autocorrelation at lag 1, so 0.5 is independence. At
        prevalence 0.5 it is the probability that the label stays.
    error_persistence : float, optional
        The same for the prediction, given the actual label; by default equal to `persistence`.
    prevalence, recall, specificity : float
        Long-run rates.
    sequences : int
        Number of sequences.
    random_seed : int or numpy.random.Generator
        Seed.

    Returns
    -------
    pandas.DataFrame
        Columns ``sequence`` (0, 1, …), ``actual`` and ``predicted`` (0 or 1), with a row for each sample.

    Raises
    ------
    ValueError
        If no chain has these rates: predictions cannot persist this long if recall and 1 − specificity are far apart
        and the actual label changes often.

    Notes
    -----
    a_1 = π + (1 − π)λ and a_0 = 1 − π + πλ with π the prevalence and λ = 2·persistence − 1; θ_gj = kj + (1 − k)c_g with
    k = 2·error_persistence − 1. With x_1 the recall and x_0 = 1 − specificity, these rates are the long-run ones if

        c_g = {x_g − k[a_g x_g + (1 − a_g) x_{1−g}]}/(1 − k).

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.sequences.simulate(3, sequences=2, random_seed=2)
       sequence  actual  predicted
    0         0       0          0
    1         0       1          0
    2         0       1          0
    3         1       0          0
    4         1       0          0
    5         1       0          0
    """
    n, sequences = checks.count("n", n), checks.count("sequences", sequences)
    error_persistence = persistence if error_persistence is None else error_persistence
    chain = chain_with_rates(persistence, error_persistence, prevalence, recall, specificity)
    copies = ChainParameters(*(np.repeat(values[..., None], sequences, -1) for values in chain))
    rng = np.random.default_rng(checks.seed(random_seed))
    states = np.stack(list(copies.simulate(np.arange(n) == 0, rng)), 1).ravel()
    sequence = np.repeat(np.arange(sequences), n)
    return pd.DataFrame({"sequence": sequence, "actual": states // 2, "predicted": states % 2})


def chain_with_rates(
    persistence: float, error_persistence: float, prevalence: float, recall: float, specificity: float
) -> ChainParameters:
    """Return the chain with given long-run rates and persistences, as `simulate` describes them."""
    arguments = {"persistence": persistence, "error_persistence": error_persistence, "prevalence": prevalence,
                 "recall": recall, "specificity": specificity}  # fmt: skip
    for name, value in arguments.items():
        checks.probability(name, value)
    long_run = np.array([1 - prevalence, prevalence])
    stay = long_run + (1 - long_run) * (2 * persistence - 1)
    if (stay < 0).any():
        raise InputError(
            "persistence",
            f"is {persistence}: no chain with prevalence {prevalence} changes label so often.",
            "Raise it, or bring prevalence nearer to 0.5.",
        )
    k = 2 * error_persistence - 1
    positive = np.array([1 - specificity, recall])
    c = (positive - k * (stay * positive + (1 - stay) * positive[::-1])) / (1 - k)
    theta = (1 - k) * c[:, None] + k * np.array([0, 1])
    if (theta < 0).any() or (theta > 1).any():
        raise InputError(
            "",
            f"no chain has recall {recall} and specificity {specificity} at prevalence "
            f"{prevalence}, persistence {persistence} and error_persistence {error_persistence}: "
            "some prediction would have probability "
            f"{theta.flat[np.abs(theta - 0.5).argmax()]:.3g}.",
            "Raise persistence, or bring error_persistence or the two rates nearer to 0.5.",
        )
    return ChainParameters(stay, theta[:, None])
