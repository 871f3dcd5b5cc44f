"""Which outcomes to observe next: the pairs of systems that tell most about the best, and the items that tell most."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.posteriors.tree_attributes import fit_of


@checked
def next_pairs(tree: xr.DataTree, n: int = 10) -> pd.DataFrame:
    """Return the pairs of systems whose next comparison tells most about which system is best.

    Parameters
    ----------
    tree : xarray.DataTree
        A fit of the model ``preferences``.
    n : int
        Number of pairs to return.

    Returns
    -------
    pandas.DataFrame
        The most informative pair first: ``a``, ``b``, the number of times they were ``judged``, the probabilities that
        ``a_wins`` and that they ``tie`` next time, and the ``information`` in bits.

    Raises
    ------
    TypeError
        If `tree` is not a fit of preferences.

    Notes
    -----
    The information is the mutual information of the outcome of one more comparison and the identity of the best system
    (Lindley 1956, Annals of Mathematical Statistics 27): how many bits of the uncertainty about it the outcome removes
    on average. Fit again after each batch: the advice is for one comparison, and many of one pair tell ever less.

    Examples
    --------
    >>> import bayesperf as bp
    >>> tree = bp.fit(frame, "preferences", random_seed=1)  # doctest: +SKIP
    >>> bp.plan.next_pairs(tree, 3)  # doctest: +SKIP
    """
    from bayesperf.models import preferences

    posterior, options = fit_of(tree, "preferences")
    names = posterior["model"].values
    best = posterior["strength"].transpose("chain", "draw", "model").values.argmax(-1).ravel()
    is_best = (best == np.arange(len(names))[:, None]).astype(float)
    judged = _judged(tree, len(names))
    rows = []
    for system in range(len(names) - 1):
        outcomes = preferences.next_outcomes(posterior, system, **options).reshape(3, best.size, -1)
        told = mutual_information(outcomes, is_best)
        win, _, tie = outcomes.mean(1)
        rows += [
            (names[system], names[other], judged[system, other], win[other], tie[other], told[other])
            for other in range(system + 1, len(names))
        ]
    table = pd.DataFrame(rows, columns=["a", "b", "judged", "a_wins", "tie", "information"])
    ordered = table.sort_values("information", ascending=False, ignore_index=True, kind="stable")
    return ordered.head(checks.count("n", n))


@checked
def next_items(tree: xr.DataTree, n: int = 10) -> pd.DataFrame:
    """Return the items whose attempts tell most about the abilities of systems like these.

    Parameters
    ----------
    tree : xarray.DataTree
        A fit of the model ``items``.
    n : int
        Number of items to return.

    Returns
    -------
    pandas.DataFrame
        The most informative item first: ``item``, its ``difficulty``, the ``pass_rate`` of these systems, the
        ``information`` of an attempt about an ability, and the ``share`` of the information of the whole pool that this
        item and those above it hold.

    Raises
    ------
    TypeError
        If `tree` is not a fit of items.

    Notes
    -----
    The information of an attempt about an ability is p(1 − p), with p the probability to pass (Lord 1980, Applications
    of item response theory, chapter 5). It is averaged over these systems and over the posterior, and adds up over
    items. An item that nobody, or everybody, passes holds next to none.

    Examples
    --------
    >>> import bayesperf as bp
    >>> tree = bp.fit(outcomes, "items", random_seed=1)  # doctest: +SKIP
    >>> bp.plan.next_items(tree, 50)  # doctest: +SKIP
    """
    posterior, _ = fit_of(tree, "items")
    (system,) = set(posterior["ability"].dims) - {"chain", "draw"}
    difficulty = posterior["difficulty"].transpose("chain", "draw", "item").values
    passed = information = 0.0
    for ability in posterior["ability"].transpose(system, "chain", "draw").values:
        p = expit(ability[..., None] - difficulty)
        passed = passed + p.mean((0, 1)) / posterior.sizes[system]
        information = information + (p * (1 - p)).mean((0, 1)) / posterior.sizes[system]
    columns = {"item": posterior["item"], "difficulty": difficulty.mean((0, 1)), "pass_rate": passed}
    table = pd.DataFrame(columns | {"information": information})
    table = table.sort_values("information", ascending=False, ignore_index=True, kind="stable")
    table["share"] = table["information"].cumsum() / table["information"].sum()
    return table.head(checks.count("n", n))


def _judged(tree: xr.DataTree, systems: int) -> Array:
    """Return how often two systems were compared, (system, system)."""
    data = tree["constant_data"].to_dataset()
    numbers = np.zeros((systems, systems), int)
    np.add.at(numbers, (data["first"].values, data["second"].values), data["counts_data"].values.sum(-1))
    return numbers + numbers.T


def mutual_information(outcomes: Array, groups: Array) -> Array:
    """Return the information in bits (k,) of an outcome of probabilities (outcome, draw, k) about the group of a draw.

    `groups` (group, draw) are 1 where a draw belongs to a group, and 0 elsewhere.
    """
    share = groups.mean(1)
    seen = groups[share > 0] / groups[share > 0].sum(1, keepdims=True)
    within = np.einsum("gd,odk->ogk", seen, outcomes)
    return np.asarray(_entropy(outcomes.mean(1)) - share[share > 0] @ _entropy(within))


def _entropy(probabilities: Array) -> Array:
    """Return the entropies in bits over the first axis."""
    positive = np.where(probabilities > 0, probabilities, 1.0)
    return np.asarray(-(positive * np.log2(positive)).sum(0))
