"""Which outcomes to observe next, and how many: the pairs of systems and the items that tell most about the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd
import xarray as xr
from scipy.linalg import helmert
from scipy.special import expit

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputTypeError
from bayesperf.models._logit_normal import normal_nodes
from bayesperf.posteriors.tree_attributes import fit_of, fit_of_right_and_wrong, is_fit_of

# Draws of the posterior that are taken for the truth in turn, and draws of what is known after more outcomes.
_TRUTHS, _AFTER = 400, 2000
# Nodes of the integrals over the difficulty and over the discrimination of a new item.
_NODES, _NODES_OF_SLOPES = 15, 7
# (16 √3/(15 π))², by which a logistic function is about that of a normal.
_ATTENUATION = 0.346


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
    The information of an attempt about an ability is a² p(1 − p), with p the probability to pass and a the item's
    discrimination, 1 in a fit without it (Lord 1980, Applications of item response theory, chapter 5). It is averaged
    over these systems and over the posterior, and adds up over items. An item that nobody, or everybody, passes holds
    next to none.

    Examples
    --------
    >>> import bayesperf as bp
    >>> tree = bp.fit(outcomes, "items", random_seed=1)  # doctest: +SKIP
    >>> bp.plan.next_items(tree, 50)  # doctest: +SKIP
    """
    from bayesperf.models.items import curves

    posterior = fit_of_right_and_wrong(tree)
    (system,) = set(posterior["ability"].dims) - {"chain", "draw"}
    slope, difficulty = curves(posterior)
    passed = information = 0.0
    for ability in posterior["ability"].transpose(system, "chain", "draw").values:
        p = expit(slope * ability[..., None] - difficulty)
        passed = passed + p.mean((0, 1)) / posterior.sizes[system]
        information = information + (slope**2 * p * (1 - p)).mean((0, 1)) / posterior.sizes[system]
    columns = {"item": posterior["item"], "difficulty": difficulty.mean((0, 1)), "pass_rate": passed}
    table = pd.DataFrame(columns | {"information": information})
    table = table.sort_values("information", ascending=False, ignore_index=True, kind="stable")
    table["share"] = table["information"].cumsum() / table["information"].sum()
    return table.head(checks.count("n", n))


@checked
def best_system(
    tree: xr.DataTree, numbers: Sequence[int], *, confidence: float = 0.95, random_seed: int = 0
) -> pd.DataFrame:
    """Return how probably more votes, or items, will show which system is best.

    Parameters
    ----------
    tree : xarray.DataTree
        A fit of the model ``preferences`` or ``items``.
    numbers : sequence of int
        Numbers of votes on pairs chosen at random; or of new items of the kind, which all systems try once.
    confidence : float
        Probability of being best that shows it.
    random_seed : int
        Seed of the simulation.

    Returns
    -------
    pandas.DataFrame
        For each number: ``number``; ``prob_shown``, the probability that some system will be shown to be the best;
        ``prob_right``, that the system which then looks best is the best; ``half_width``, the mean half-width of the
        95 % interval of the difference between the two best, in log-odds.

    Raises
    ------
    TypeError
        If `tree` is not such a fit.

    Notes
    -----
    Draws of the posterior are the truth in turn. More outcomes add their information to that of the posterior, which is
    taken for normal. So nothing is fitted again, and few outcomes (fewer than some ten a system) are planned roughly.

    Examples
    --------
    >>> import bayesperf as bp
    >>> tree = bp.fit(frame, "preferences", random_seed=1)  # doctest: +SKIP
    >>> bp.plan.best_system(tree, [100, 400])  # doctest: +SKIP
    """
    shown = checks.probability("confidence", confidence)
    asked = [checks.count("numbers", n, least=0) for n in numbers]
    rng = np.random.default_rng(checks.seed(random_seed))
    strength, information = _outcomes_of_votes(tree) if is_fit_of(tree, "preferences") else _outcomes_of_items(tree)
    basis = helmert(strength.shape[-1]).T
    inside = strength @ basis
    middle, covariance = inside.mean(0), np.atleast_2d(np.cov(inside.T))
    chosen = rng.choice(len(strength), min(_TRUTHS, len(strength)), replace=False)
    of_one = np.stack([basis.T @ information(place) @ basis for place in chosen])
    noise = rng.standard_normal((len(chosen), len(middle)))
    rows = []
    for number in asked:
        after = [
            _known_after(middle, covariance, inside[place], number * one, z)
            for place, one, z in zip(chosen, of_one, noise, strict=True)
        ]
        told = [_best_of(basis, *each, rng) for each in after]
        right = [best == strength[place].argmax() for (best, _, _), place in zip(told, chosen, strict=True)]
        probability, width = np.array([each[1:] for each in told]).T
        rows.append((number, (probability >= shown).mean(), np.mean(right), width.mean()))
    return pd.DataFrame(rows, columns=["number", "prob_shown", "prob_right", "half_width"])


type _Outcomes = tuple[Array, Callable[[int], Array]]


def _outcomes_of_votes(tree: xr.DataTree) -> _Outcomes:
    """Return draws of the strengths (draw, system), and a function of a draw: the information of a vote about them."""
    from bayesperf.models import preferences

    posterior, options = fit_of(tree, "preferences")
    strength = posterior["strength"].transpose("chain", "draw", "model").values
    systems = strength.shape[-1]
    # The score of a win is (1 − d)/2, of a defeat −(1 + d)/2, of a tie −d/2, with d = P(win) − P(defeat).
    each = [preferences.next_outcomes(posterior, system, **options) for system in range(systems)]
    win, loss = np.moveaxis(np.array(each)[:, :2], 1, 0).reshape(2, systems, -1, systems)
    about = (win + loss - (win - loss) ** 2) / 4
    if "prompt_spread" in posterior:
        variance = 2 * posterior["prompt_spread"].transpose("chain", "draw").values.ravel() ** 2
        about = about / (1 + _ATTENUATION * variance)[:, None]

    def information(draw: int) -> Array:
        pairs = about[:, draw] * (1 - np.eye(systems))
        each_pair: Array = (np.diag(pairs.sum(1)) - pairs) / (systems * (systems - 1) / 2)
        return each_pair

    return strength.reshape(-1, systems), information


def _outcomes_of_items(tree: xr.DataTree) -> _Outcomes:
    """Return draws of the abilities (draw, system), and a function of a draw: the information of an item about them.

    The item's own difficulty and discrimination are estimated from the same attempts, with their population as the
    prior.
    """
    from bayesperf.models.items import curves

    if not is_fit_of(tree, "items"):
        raise InputTypeError("tree", "must be a fit of the model 'preferences' or 'items'.")
    posterior = fit_of_right_and_wrong(tree)
    (system,) = set(posterior["ability"].dims) - {"chain", "draw"}
    ability = posterior["ability"].transpose("chain", "draw", system).values.reshape(-1, posterior.sizes[system])
    slope, difficulty = (each.reshape(len(ability), -1) for each in curves(posterior))
    sizes = (_NODES, _NODES_OF_SLOPES if "discrimination" in posterior else 1)
    nodes, weights = (np.array(list(product(*each))) for each in zip(*map(normal_nodes, sizes), strict=True))

    def information(draw: int) -> Array:
        spreads = np.array([difficulty[draw].std(), np.log(slope[draw]).std()])
        harder, steeper = (spreads * nodes).T[..., None]
        a = np.exp(steeper)
        p = expit(a * ability[draw] - difficulty[draw].mean() - harder)
        of_attempt = p * (1 - p)
        # How the logits move with the standardised difficulty and discrimination of the item.
        own = spreads * np.stack([-np.ones_like(p), a * ability[draw]], -1)
        weighted = of_attempt[..., None] * own
        lost = weighted @ np.linalg.solve(np.eye(2) + own.mT @ weighted, weighted.mT)
        each = a[..., None] ** 2 * (of_attempt[:, :, None] * np.eye(p.shape[1]) - lost)
        return np.asarray(np.tensordot(weights.prod(1), each, 1))

    return ability, information


def _known_after(
    middle: Array, covariance: Array, truth: Array, information: Array, noise: Array
) -> tuple[Array, Array]:
    """Return the mean and the covariance of what is known after an estimate of the truth with that information."""
    before = np.linalg.inv(covariance)
    after = np.linalg.inv(before + information)
    root = np.linalg.cholesky(information) if information.any() else information
    return after @ (before @ middle + information @ truth + root @ noise), after


def _best_of(basis: Array, mean: Array, covariance: Array, rng: np.random.Generator) -> tuple[int, float, float]:
    """Return the system that looks best, the probability that it is, and how well the two best are told apart."""
    drawn = (mean + rng.standard_normal((_AFTER, len(mean))) @ np.linalg.cholesky(covariance).T) @ basis.T
    share = np.bincount(drawn.argmax(1), minlength=len(basis)) / _AFTER
    second, best = (basis @ mean).argsort()[-2:]
    apart = basis[best] - basis[second]
    most = int(share.argmax())
    return most, float(share[most]), float(1.96 * np.sqrt(apart @ covariance @ apart))


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
