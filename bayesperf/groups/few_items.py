"""The pass rate of a new system over a whole pool of items, from its attempts at a few of them."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.special import expit, log_expit, logsumexp

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.outcomes import Outcomes
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.tree_attributes import fit_of_right_and_wrong

# The places of the ability of the new system, in standard deviations of its prior.
PLACES = np.linspace(-6, 6, 241)
_DETAIL = "the new system's pass rate over all {n:,} items of the pool"


@checked
def pass_rate_of_new(tree: xr.DataTree, outcomes: Outcomes, random_seed: int = 0) -> Marginal:
    """Return the pass rate of a new system over all items of a pool, from its attempts at some of them.

    Parameters
    ----------
    tree : xarray.DataTree
        A fit of the model ``items`` to other systems.
    outcomes : Outcomes
        The new system's right and wrong attempts, over the dim ``item``.
    random_seed : int
        Seed of the draws.

    Returns
    -------
    Marginal
        Its observed score is the pass rate on the items that the system has seen.

    Raises
    ------
    TypeError, ValueError
        If `tree` is not a fit of items, or the outcomes are of other items.

    Notes
    -----
    The new system is one more of the same population. In each draw of the difficulties its ability is drawn from its
    posterior on a grid, and draws are resampled by how likely they make its outcomes, which are therefore used for the
    difficulties, too. The result is the posterior of all data together, within Monte Carlo error.

    Examples
    --------
    >>> import bayesperf as bp
    >>> tree = bp.fit(outcomes, "items", random_seed=1)  # doctest: +SKIP
    >>> ten = bp.Outcomes.from_frame(frame, correct="passed", by="item")  # doctest: +SKIP
    >>> bp.groups.pass_rate_of_new(tree, ten).in_words()  # doctest: +SKIP
    """
    from bayesperf.models.items import curves

    posterior = fit_of_right_and_wrong(tree)
    if not isinstance(outcomes, Outcomes) or outcomes.dims != ("item",) or len(outcomes.labels) > 2:
        raise InputTypeError("outcomes", "must be Outcomes of right and wrong over the dim 'item'.")
    rng = np.random.default_rng(checks.seed(random_seed))
    pool, seen = posterior["item"].values.tolist(), outcomes.counts["item"].values.tolist()
    if other := [item for item in seen if item not in pool]:
        raise InputError("outcomes", f"{other[0]!r} is no item of the pool.", "Fit the pool with it.")
    places = [pool.index(item) for item in seen]
    slope, difficulty = (each.reshape(-1, len(pool)) for each in curves(posterior))
    systems = posterior["ability"].size // len(difficulty)
    spread = posterior["ability_spread"].values.ravel() * np.sqrt(1 + 1 / systems)
    wrong, right = outcomes.counts.values.T
    ability = spread[:, None] * PLACES
    log_weight = np.broadcast_to(-(PLACES**2) / 2, ability.shape).copy()
    for place, failed, passed in zip(places, wrong, right, strict=True):
        logit = slope[:, [place]] * ability - difficulty[:, [place]]
        log_weight += passed * log_expit(logit) + failed * log_expit(-logit)
    total = logsumexp(log_weight, axis=1)
    chosen = rng.choice(len(total), len(total), p=np.exp(total - logsumexp(total)))
    cumulative = np.cumsum(np.exp(log_weight[chosen] - total[chosen, None]), axis=1)
    place = (cumulative < rng.random((len(chosen), 1))).sum(1).clip(max=len(PLACES) - 1)
    # Uniform around its place: the grid is finer than any ability is known.
    step = (PLACES[1] - PLACES[0]) * spread[chosen] * (rng.random(len(chosen)) - 0.5)
    drawn = ability[chosen, place] + step
    rate = expit(slope[chosen] * drawn[:, None] - difficulty[chosen]).mean(1)
    quantity = Quantity("pass_rate", Scope("own", detail=_DETAIL.format(n=len(pool))), "", True, bounds=(0.0, 1.0))
    tried = (right + wrong).sum()
    score = xr.DataArray(right.sum() / tried if tried else np.nan)
    return Marginal(quantity, Draws.of("pass_rate", rate[None, None], (0.0, 1.0)), NO_DIMS, score=score)
