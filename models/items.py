"""Systems and items: who passes which item, or how well, though not all have seen the same ones (Rasch's model).

Setting. Systems answer the items of a pool, such as the questions of a benchmark or an exam, once or several times.
Some have seen only a part of the pool, and the part of one may be easier than the part of another.

Model. System i passes R_ij of its n_ij attempts at item j,

    R_ij ~ Binomial(n_ij, expit(θ_i − b_j))

    θ_i ~ Normal(0, σ_θ²)          `ability`, about the mean of these systems, which is set to 0
    b_j ~ Normal(μ, σ_b²)          `difficulty`, about its mean μ over the pool, `location`
    μ   ~ Logistic(0, 1),  σ_θ, σ_b ~ HalfNormal(1)        `ability_spread`, `difficulty_spread`

μ is the difficulty for the mean system: its pass rate on a typical item is uniform a priori. Both sets of deviations
sum to 0, as deviations of independent normals from their mean do (`zero_sum`).

If some systems have not seen some items, the items that the same systems have seen are a set s, with a mean of its own,

    b_j ~ Normal(μ + c_s, σ_b²),  c_s ~ Normal(0, σ_c²),  σ_c ~ HalfNormal(1)      `set_spread`

Without it the easy half of a pool would be drawn towards the hard half, and systems that saw the latter underrated.

All items tell systems apart equally well. With ``discrimination`` they differ: an item has a slope of its own,

    R_ij ~ Binomial(n_ij, expit(a_j θ_i − b_j))
    log a_j ~ Normal(0, σ_a²),  σ_a ~ HalfNormal(0.5)      `discrimination`, `discrimination_spread`

The logarithms are deviations from their mean as well, so a typical item has the slope 1, and σ_θ is the spread of
systems at that item. b_j is still the mean system's log-odds to fail, whatever the slope; in a_j (θ_i − b_j) it would
not be, and the priors would mean something else. Few systems say little about slopes, and the prior then decides.

Grades. If answers have more than two grades g_1 < g_2 < …, each further grade has a threshold (cumulative logits):

    P(grade of at least g_k) = expit(a_j θ_i − b_j + t_k)      `threshold`, of mean 0, the same for all items
    logit(s_k + s_(k+1) + …) = t_k − μ,  s ~ Dirichlet(1, …, 1)        `shares`

s are the shares of the grades of the mean system at a typical item. With two grades the first line is the model above,
with passing for the second grade, and s says of μ what Logistic(0, 1) does.

The pass rate of a system over the whole pool, seen or not, is the mean of expit(a_j θ_i − b_j) over its items; for a
new item of the kind, the mean over b ~ Normal(μ + c_s, σ_b² (1 + 1/J)), of a set as frequent as in the pool, and over
log a ~ Normal(0, σ_a² (1 + 1/J)). Systems are therefore compared at equal difficulty. Of grades it is the share of at
least each grade (``share_at_least``), and the mean grade.

This is right only if which items a system has seen does not depend on its chances to pass them, given its ability and
their difficulty: a system that skips what it cannot do is rated too high. Passes of one system at different items are
independent given its ability; a family of systems that all fail for the same reason has more in common than the model
knows. A slope is positive: no item is passed less often by abler systems.

Each deviation is sampled with the standard deviation √(1 + I σ²), between "non-centred" and "centred": I is the
information that its attempts hold, as at a pass rate of 0.8.

Source: Rasch (1960), Probabilistic models for some intelligence and attainment tests; Birnbaum (1968), in Lord &
Novick, Statistical theories of mental test scores, for slopes; Samejima (1969), Psychometrika Monograph 17, for grades;
De Boeck & Wilson (2004), Explanatory item response models, for the crossed random effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import expit, log_expit

from bayesperf.models.building import (
    MOST_VALUES,
    LogitBinomial,
    OddsBinomial,
    PatternCounts,
    coords,
    normal_nodes,
    odds_of,
    prior_variables,
    zero_sum,
)

DATA = "attempts at items"
OPTIONS = {"discrimination": (False, True)}
DIMS = ("ability_component", "difficulty_component", "discrimination_component", "set", "set_component", "grade")
ESTIMAND = "population"
APPROXIMATE = "groups.approximate_items:draws"
QUANTITIES = {
    "ability": {"greater_is_better": True},
    "pass_rate": {"greater_is_better": True, "bounds": (0.0, 1.0)},
    "pass_rate_new": {"greater_is_better": True, "bounds": (0.0, 1.0)},
    "share_at_least": {"greater_is_better": True, "bounds": (0.0, 1.0)},
    "share_at_least_new": {"greater_is_better": True, "bounds": (0.0, 1.0)},
    "mean_grade": {"greater_is_better": True},
    "mean_grade_new": {"greater_is_better": True},
}
PRIORS = {
    "location": pm.Logistic.dist(0, 1),
    "shares": lambda grades: pm.Dirichlet.dist(np.ones(grades)),
    "ability_spread": pm.HalfNormal.dist(1),
    "difficulty_spread": pm.HalfNormal.dist(1),
    "set_spread": pm.HalfNormal.dist(1),
    "discrimination_spread": pm.HalfNormal.dist(0.5),
}
# The deviations are nearly independent, so steps may be large; at 0.8 a transition diverges in every other fit. At 0.9
# trajectories are half as long again, and the draws tell the widths of deviations less well.
TARGET_ACCEPT = 0.85
# The information of an attempt, as at a pass rate of 0.8.
INFORMATION = 0.16
# Sets have at least so many items on average.
FEWEST = 1.5
# Nodes of the integrals over the difficulty and over the slope of a new item.
NODES = {"difficulty": 15, "discrimination": 7}


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None, *, discrimination: bool = False) -> pm.Model:
    """Return the model of attempts at items.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (system, ``item``, ``outcome``) of wrong and right attempts, or of attempts by grade; 0 where a system
        has not seen an item.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    discrimination : bool
        Whether items differ in how well they tell systems apart.
    """
    system, item = (str(dim) for dim in data.dims[:2])
    n, grades = data.values.sum(-1), data["outcome"].values
    place = sets(n)
    number = place.max() + 1
    unused = {} if number > 1 else {"set_spread": "items that some systems have not seen"}
    unused |= {} if discrimination else {"discrimination_spread": "options={'discrimination': True}"}
    unused |= {"shares": "more than two grades"} if len(grades) == 2 else {"location": "two grades: give 'shares'"}
    variable = prior_variables(PRIORS, priors, len(grades), unused)
    labels = coords(data) | {"set": np.arange(number), "grade": grades[1:]}
    sizes = {"ability": len(n), "difficulty": n.shape[1], "discrimination": n.shape[1], "set": number}
    labels |= {f"{name}_component": np.arange(1, size) for name, size in sizes.items()}
    with pm.Model(coords=labels) as model:
        location, threshold = thresholds(variable, len(grades))
        of_systems = variable("ability_spread", [])
        ability = pm.Deterministic("ability", deviations("ability", of_systems, n.sum(1)), dims=system)
        shift = deviations("difficulty", variable("difficulty_spread", []), n.sum(0))
        of_set = location
        if number > 1:
            component = variable("set_spread", []) * pm.Normal("set_deviation", dims="set_component")
            of_sets = pm.Deterministic("set_difficulty", location + zero_sum(component, number), dims="set")
            of_set = of_sets[pm.Data("set_of_item", place, dims=item)]
        difficulty = pm.Deterministic("difficulty", of_set + shift, dims=item)
        slope = None
        if discrimination:
            spread = variable("discrimination_spread", [])
            slope = pm.math.exp(deviations("discrimination", spread, n.sum(0), of_systems**2))
            slope = pm.Deterministic("discrimination", slope, dims=item)
        _observe(data, ability[:, None], difficulty, slope, threshold)
    return model


def thresholds(variable: Any, grades: int) -> tuple[Any, Any]:
    """Return the difficulty of the middle of the scale for the mean system, and the threshold of each further grade."""
    if grades == 2:
        return variable("location", []), None
    shares, below = variable("shares", ["outcome"]), np.tri(grades)[:-1]
    logit = pm.math.log(pm.math.dot(1 - below, shares)) - pm.math.log(pm.math.dot(below, shares))
    location = pm.Deterministic("location", -logit.mean())
    return location, pm.Deterministic("threshold", logit + location, dims="grade")


def _observe(data: xr.DataArray, ability: Any, difficulty: Any, slope: Any, threshold: Any) -> None:
    """Add the attempts at each item by grade; of two grades without slopes, by what takes the least time."""
    dims = [str(dim) for dim in data.dims]
    n = pm.Data("attempts", data.values.sum(-1), dims=dims[:2])
    logit = (ability if slope is None else slope * ability) - difficulty
    if threshold is not None:
        observed = pm.Data("graded_data", data.values, dims=dims)
        PatternCounts("graded", n=n, log_p=log_shares(logit, threshold), observed=observed, dims=dims)
        return
    observed = pm.Data("passed_data", data.values[..., 1], dims=dims[:2])
    if slope is None:
        odds = odds_of(ability) * odds_of(-difficulty)
        OddsBinomial("passed", n=n, logit=logit, odds=odds, observed=observed, dims=dims[:2])
    else:
        LogitBinomial("passed", n=n, logit=logit, observed=observed, dims=dims[:2])


def log_shares(logit: Any, threshold: Any) -> Any:
    """Return the logarithm of the share of each grade, (…, outcome): of the difference of two logistic functions."""
    at_least = logit[..., None] + threshold
    certain, zero = pm.math.zeros_like(logit)[..., None], np.zeros(1)
    above = pm.math.concatenate([certain, -pm.math.log1pexp(-at_least)], axis=-1)
    not_above = pm.math.concatenate([-pm.math.log1pexp(at_least), certain], axis=-1)
    between = pm.math.log(1 - pm.math.exp(threshold[1:] - threshold[:-1]))
    return above + not_above + pm.math.concatenate([zero, between, zero])


def deviations(name: str, spread: Any, trials: np.ndarray, variance: Any = 1.0) -> Any:
    """Return deviations that sum to 0; `variance` is that of what a deviation is multiplied by in the logit."""
    known = pm.Data(f"{name}_information", INFORMATION * trials[:-1], dims=f"{name}_component") * variance
    width = pm.math.sqrt(1 + known * spread**2)
    component = pm.Normal(f"{name}_deviation", 0, width, dims=f"{name}_component")
    return zero_sum(spread / width * component, len(trials))


def sets(n: np.ndarray) -> np.ndarray:
    """Return the set of each item, numbered from 0: items that the same systems have seen.

    If nearly every item is a set of its own, as with answers that are missing at random, there is one set.
    """
    place = np.unique(n > 0, axis=1, return_inverse=True)[1].ravel()
    return place if FEWEST * (place.max() + 1) <= len(place) else np.zeros_like(place)


def curves(posterior: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope and the difficulty of each item (chain, draw, item): a logit is slope · ability − difficulty."""
    difficulty = posterior["difficulty"].transpose("chain", "draw", "item").values
    if "discrimination" not in posterior:
        return np.broadcast_to(1.0, difficulty.shape), difficulty
    return posterior["discrimination"].transpose("chain", "draw", "item").values, difficulty


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, **_: Any) -> dict[str, xr.DataArray]:
    """Return each system's pass rate, or shares and mean of grades, over the items of the pool and for a new one."""
    grades = data["outcome"].values
    if len(grades) == 2:
        return dict(zip(("pass_rate", "pass_rate_new"), passing(posterior, data), strict=True))
    shifts = posterior["threshold"].transpose("grade", "chain", "draw").values
    each = [passing(posterior, data, shift) for shift in shifts]
    further = xr.DataArray(np.diff(grades), {"grade": grades[1:]}, ["grade"])
    found = {}
    for suffix, of_grades in zip(("", "_new"), zip(*each, strict=True), strict=True):
        shares = xr.concat(of_grades, further["grade"]).transpose(..., "grade")
        found[f"share_at_least{suffix}"] = shares
        found[f"mean_grade{suffix}"] = grades[0] + (shares * further).sum("grade")
    return found


def passing(posterior: xr.Dataset, data: xr.DataArray, shift: Any = 0.0) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the rate of each system over the pool, and for a new item; `shift` (chain, draw) is added to logits."""
    ability = posterior["ability"].transpose("chain", "draw", str(data.dims[0]))
    slope, difficulty = curves(posterior)
    easier = np.broadcast_to(shift, ability.shape[:2])
    over_pool = np.empty(ability.shape)
    # One draw at a time: all draws of all items together would take too much memory.
    for place in np.ndindex(ability.shape[:2]):
        of_one = ability.values[place][:, None], slope[place], difficulty[place] - easier[place]
        over_pool[place] = _rates(*of_one, "discrimination" in posterior).mean(-1)
    centres = posterior["location"].values[None]
    if "set_difficulty" in posterior:
        centres = posterior["set_difficulty"].transpose("set", "chain", "draw").values
    shares = np.bincount(sets(data.values.sum(-1)), minlength=len(centres)) / difficulty.shape[-1]
    of_sets = list(zip(centres - shift, shares, strict=True))
    new = {name: _deviations_of_new(posterior, name, difficulty.shape[-1]) for name in NODES}
    over_kind: Any = sum(
        share * weight * other * expit(np.exp(steeper)[..., None] * ability.values - (centre + harder)[..., None])
        for (centre, share), (harder, weight), (steeper, other) in product(of_sets, *new.values())
    )
    return ability.copy(data=over_pool), ability.copy(data=over_kind)


def _rates(ability: np.ndarray, slope: np.ndarray, difficulty: np.ndarray, slopes_differ: bool) -> np.ndarray:
    """Return the chance of each system at each item; odds, which are products, take a quarter of the time."""
    if slopes_differ:
        return np.asarray(expit(slope * ability - difficulty))
    against = np.exp(-ability) * np.exp(difficulty)
    against += 1
    return np.reciprocal(against, out=against)


def _deviations_of_new(posterior: xr.Dataset, name: str, items: int) -> list[tuple[np.ndarray, float]]:
    """Return the nodes (chain, draw) of the deviation of a new item from the pool of items, with their weights."""
    if f"{name}_spread" not in posterior:
        return [(np.zeros_like(posterior["location"].values), 1.0)]
    scale = posterior[f"{name}_spread"].values * np.sqrt(1 + 1 / items)
    return [(scale * node, weight) for node, weight in zip(*normal_nodes(NODES[name]), strict=True)]


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, **_: Any) -> xr.DataArray | None:
    """Return the log-likelihood of each attempt; None if there are too many."""
    if data.values.sum() * posterior["location"].size > MOST_VALUES:
        return None
    ability = posterior["ability"].transpose("chain", "draw", str(data.dims[0])).values
    slope, difficulty = curves(posterior)
    threshold = np.zeros((*posterior["location"].shape, 1))
    if "threshold" in posterior:
        threshold = posterior["threshold"].transpose("chain", "draw", "grade").values
    between = np.pad(np.log(-np.expm1(np.diff(threshold, axis=-1))), [(0, 0), (0, 0), (1, 1)])
    # Only of what was answered: with one attempt at an item, of one grade.
    system, item, grade = np.nonzero(data.values)
    log_p = np.empty((*ability.shape[:2], len(grade)))
    for place in range(data.sizes["outcome"]):
        here = grade == place
        logit = slope[..., item[here]] * ability[..., system[here]] - difficulty[..., item[here]]
        above = log_expit(logit + threshold[..., place - 1, None]) if place > 0 else 0.0
        below = log_expit(-(logit + threshold[..., place, None])) if place < threshold.shape[-1] else 0.0
        log_p[..., here] = above + below + between[..., place, None]
    each = np.repeat(log_p, data.values[system, item, grade], axis=-1)
    return xr.DataArray(each, dims=("chain", "draw", "example"))


def facts(data: xr.DataArray, **_: Any) -> dict[str, int]:
    """Return how many items all systems that saw them always passed, and how many none of them ever did."""
    if data.sizes["outcome"] > 2:
        return {}
    wrong, right = np.moveaxis(data.values.sum(0), -1, 0)
    return {
        "passed_by_all": int(((wrong == 0) & (right > 0)).sum()),
        "passed_by_none": int(((right == 0) & (wrong > 0)).sum()),
    }
