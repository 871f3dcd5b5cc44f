"""Truth that nobody knows: several raters or diagnostic tests, each with errors of its own.

Setting. Nobody knows the actual class of the items: annotators, experts, diagnostic tests and the system itself have
each said one. Where they agree more than by chance, they say something of the truth, and so each says something of the
errors of the others.

Model. The actual class of an item is t; rater j says r, given t independently of the others:

    t        ~ Categorical(π)                      prevalence, of each population its own
    r_j | t  ~ Categorical(φ_j[t, ·])              rates of a rater, the same in all populations
    φ_j[t,·] ~ Dirichlet(8 (.6, .4/(K − 1), …))    eight answers' worth, .6 of them right
    π        ~ Dirichlet(1, …)

The truth is summed out: items with the same answers are counted, and the counts of these patterns are multinomial with

    p(pattern) = Σ_t π_t Π_j φ_j[t, r_j]

so a hundred thousand items cost as much as their distinct patterns. A rater may have skipped an item, or answered it
several times. If an item's actual class is known, the sum has this class alone. The prior expects raters to be right
more often than not, which tells the classes apart: without it, all of them could be exchanged.

With ``pooled=True`` raters are a sample of a population, and those with few answers are drawn towards it:

    φ_j[t,·] = softmax(log m_t + σ_t z_j[t,·]),  z ~ Normal(0, 1),  σ_t ~ HalfNormal(1),  m_t ~ the Dirichlet above

With ``dependent=("a", "b")`` two raters of two classes err together, of which independence would make certainty:

    p(r, s | t) = φ_a[t, r] φ_b[t, s] ± c_t,  plus where r = s
    c_t = u_t (min(φ_a[t, 1], φ_b[t, 1]) − φ_a[t, 1] φ_b[t, 1]),  u_t ~ U(0, 1)

`cells` compare every rater with the truth, or only the system if one of the raters is named as the system to test. With
``cut=True`` its answers say nothing about the other raters: π and φ are estimated without it, and given each draw of
them its own rates, under Dirichlet(1/K, …), from all answers (`recover`). Then a system that errs as some rater does
cannot make that rater look right; the cost is the information in the system's answers.

The data may say less than there are parameters: two tests in one population have five and three degrees of freedom
(`facts`). Then the priors decide, however many items there are.

Source: Dawid & Skene (1979), Applied Statistics 28; Hui & Walter (1980), Biometrics 36, for populations; Joseph,
Gyorkos & Coupal (1995), American Journal of Epidemiology 141, for priors; Dendukuri & Joseph (2001), Biometrics 57, for
dependence; Paun et al. (2018), TACL 6, for raters of a population; Plummer (2015), Statistics and Computing 25, for cut
posteriors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    MOST_VALUES,
    MostlyRight,
    PatternCounts,
    WrongToRight,
    coords,
    dirichlet_draws,
    log_sum,
    per_example,
    prior_variables,
    softmax,
)

DATA = "ratings"
OPTIONS = {"pooled": (False, True), "system": "rater", "cut": (False, True), "dependent": "two raters"}
DIMS = ("rater", "actual", "predicted", "rating", "answer", "pair")
TARGET_ACCEPT = 0.9
REFUSAL = "the actual classes of new examples would be as unknown as those of the rated ones."
POTENTIAL = "items have so many different patterns of answers that predictions of all of them would not fit in memory"
# With more patterns times classes than this (a hundred megabytes for four thousand draws) there are no predictions.
MOST_PATTERNS = 4000
# The logarithm of 0, but that a count of 0 times it is 0.
NEVER = -1e6
# Turns between actual classes and the rates of a system whose answers are cut, for each draw of the others.
CUT_STEPS = 30
# Answers that the prior of a rater's row is worth, and the share of right ones among them.
WEIGHT, RIGHT = 8.0, 0.6


def default_rates(classes: int) -> np.ndarray:
    """Return the weights of the Dirichlet priors of a rater's rates, (actual, rating)."""
    wrong = (1 - RIGHT) / (classes - 1)
    return WEIGHT * (wrong + (RIGHT - wrong) * np.eye(classes))


PRIORS = {
    "prevalence": lambda classes: pm.Dirichlet.dist(np.ones(classes)),
    "rates": lambda classes: MostlyRight.dist(default_rates(classes)),
    # Of raters from a population.
    "mean_rates": lambda classes: MostlyRight.dist(default_rates(classes)),
    "spread": pm.HalfNormal.dist(1),
    # Of dependent raters: the share of the greatest possible covariance.
    "dependence": pm.Beta.dist(1, 1),
}


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    pooled: bool = False,
    system: str | None = None,
    cut: bool = False,
    dependent: tuple[str, str] | None = None,
) -> pm.Model:
    """Return the model of the counts of patterns of answers.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (population, pattern), or without populations. Attributes: ``answers`` (pattern, rater, rating), how
        often a rater gave which rating; ``known`` (pattern), the position of the actual class, −1 where it is not
        known; ``raters`` and ``labels``.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name. That of ``rates`` may also be a mapping from raters to their
        Dirichlet weights, an array (actual, rating), or of two classes ``{"recall": (a, b), "specificity": (c, d)}``;
        raters that it does not name keep the default.
    pooled : bool
        Whether raters are from a population of them, which is estimated.
    system : str, optional
        The rater that is the system to be judged: the cells are its own.
    cut : bool
        Whether the answers of the system say nothing of the truth.
    dependent : tuple of two str, optional
        Two raters whose errors depend on each other, of two classes.
    """
    _check(data, system, cut, dependent)
    raters, answers, labels = _raters(data, system, cut), _answers(data, system, cut), data.attrs["labels"]
    populations = [str(dim) for dim in data.dims[:-1]]
    of_dims: dict[str, Any] = coords(data)
    of_dims |= {"rater": raters, "actual": labels, "rating": labels, "predicted": labels}
    of_dims |= {"answer": [f"{rater} {label}" for rater, label in product(raters, labels)]}
    of_dims |= {"pair": [f"{one} {other}" for one, other in product(labels, labels)]} if dependent else {}
    variable = prior_variables(PRIORS, _own_priors(data, priors, raters), len(labels), _unused(pooled, dependent))
    with pm.Model(coords=of_dims) as model:
        prevalence = variable("prevalence", [*populations, "actual"])
        odds = WrongToRight(len(labels))
        own = ["rater", "actual", "rating"]
        rates = _of_population(variable, odds) if pooled else variable("rates", own, default_transform=odds)
        logs = _log_rates(rates, (), pm.math)
        design = pm.Data("answers", answers.reshape(len(answers), -1).astype(float), dims=["pattern", "answer"])
        if dependent:
            dependence = variable("dependence", ["actual"])
            a, b = (raters.index(name) for name in dependent)
            logs = pm.math.concatenate([logs, _log_ratio(rates, dependence, (a, b), (), pm.math)])
            both = pm.Data("answers_of_both", _of_both(answers, a, b), dims=["pattern", "pair"])
            design = pm.math.concatenate([design, both], axis=1)
        possible = pm.Data("possible", _log_possible(data), dims=["pattern", "actual"])
        # Patterns are the last dim: there are many, and neighbours in memory are computed at once.
        joint = pm.math.dot(logs.T, design.T) + possible.T + pm.math.log(prevalence)[..., None]
        log_p = log_sum(joint, axis=-2)
        _observe(data, log_p + pm.Data("design", _log_design(data, answers), dims=data.dims))
    return model


def _observe(data: xr.DataArray, log_p: Any) -> None:
    """Add the likelihood of the counts; of too many patterns as a potential, which is not simulated."""
    observed = pm.Data("counts_data", data.values, dims=data.dims)
    if data.sizes["pattern"] * len(data.attrs["labels"]) > MOST_PATTERNS:
        pm.Potential("counts", (observed * log_p).sum())
    else:
        PatternCounts("counts", n=observed.sum(-1), log_p=log_p, observed=observed, dims=data.dims)


def _of_population(variable: Any, odds: WrongToRight) -> Any:
    """Return the rates of raters that are a sample of a population."""
    mean = variable("mean_rates", ["actual", "rating"], default_transform=odds)
    spread = variable("spread", ["actual"])
    deviation = pm.Normal("deviation", dims=["rater", "actual", "rating"])
    logits = pm.math.log(pm.math.maximum(mean, 1e-300)) + spread[:, None] * deviation
    return pm.Deterministic("rates", softmax(logits), dims=["rater", "actual", "rating"])


def _unused(pooled: bool, dependent: Any) -> dict[str, str]:
    """Return the names of variables that the model has not, each with the option that would add it."""
    unused = {} if dependent else {"dependence": "options={'dependent': (…, …)}"}
    if pooled:
        return unused | {"rates": "options={'pooled': False}"}
    return unused | dict.fromkeys(("mean_rates", "spread"), "options={'pooled': True}")


def _check(data: xr.DataArray, system: str | None, cut: bool, dependent: tuple[str, str] | None) -> None:
    if cut and system is None:
        raise ValueError("options: cut=True needs the system, whose answers are to say nothing: system='name'.")
    if cut and len(data.attrs["raters"]) < 2:
        raise ValueError("options: with cut=True the other raters say what is true, and there are none.")
    if not dependent:
        return
    if len(data.attrs["labels"]) > 2:
        raise ValueError(f"options: dependent is for two classes; there are {len(data.attrs['labels'])}.")
    if cut and system in dependent:
        raise ValueError("options: dependent names the system, whose answers are left out by cut=True.")
    places = [data.attrs["raters"].index(name) for name in dependent]
    if (data.attrs["answers"].sum(-1)[:, places] > 1).any():
        raise ValueError("options: dependent is for raters that answer once an item; one of them has repeats.")


def _own_priors(data: xr.DataArray, priors: Mapping[str, Any] | None, raters: list[str]) -> Mapping[str, Any]:
    """Return priors with one distribution for the rates, where they were given by rater."""
    priors = dict(priors or {})
    if not isinstance(priors.get("rates"), Mapping):
        return priors
    weights = dict.fromkeys(raters, default_rates(len(data.attrs["labels"])))
    for rater, given in priors["rates"].items():
        if rater not in weights:
            raise ValueError(f"priors: there is no rater {rater!r}; there are {', '.join(map(repr, raters))}.")
        weights[rater] = _weights(data, rater, given)
    return priors | {"rates": pm.Dirichlet.dist(np.array(list(weights.values())))}


def _weights(data: xr.DataArray, rater: str, given: Any) -> np.ndarray:
    """Return the Dirichlet weights (actual, rating) of a rater's prior."""
    labels = data.attrs["labels"]
    weights: Any = given
    if isinstance(given, Mapping):
        if set(given) != {"recall", "specificity"} or "pos_label" not in data.attrs:
            raise ValueError(
                f"priors: the rates of {rater!r} are {{'recall': (a, b), 'specificity': (c, d)}} of two classes of "
                "which one is positive (pos_label), or an array (actual, rating)."
            )
        (right, missed), (kept, alarm) = given["recall"], given["specificity"]
        weights = [[kept, alarm], [missed, right]]
        if labels.index(data.attrs["pos_label"]) == 0:
            weights = [row[::-1] for row in weights[::-1]]
    weights = np.asarray(weights, float)
    if weights.shape != (len(labels), len(labels)) or not (weights > 0).all():
        raise ValueError(
            f"priors: the rates of {rater!r} need positive weights of shape {(len(labels),) * 2}, actual × rating."
        )
    return np.asarray(weights)


# ── Patterns ──


def _raters(data: xr.DataArray, system: str | None, cut: bool) -> list[str]:
    """Return the raters that say something of the truth."""
    return [rater for rater in data.attrs["raters"] if not (cut and rater == system)]


def _answers(data: xr.DataArray, system: str | None, cut: bool) -> np.ndarray:
    """Return the answers (pattern, rater, rating) of the raters that say something of the truth."""
    kept = [rater in _raters(data, system, cut) for rater in data.attrs["raters"]]
    answers: np.ndarray = data.attrs["answers"][:, kept]
    return answers


def _log_possible(data: xr.DataArray) -> np.ndarray:
    """Return 0 where a pattern may be of an actual class, (pattern, actual); of known ones only their own."""
    known = data.attrs["known"][:, None]
    return np.where((known < 0) | (known == np.arange(len(data.attrs["labels"]))), 0.0, NEVER)


def _log_design(data: xr.DataArray, answers: np.ndarray) -> np.ndarray:
    """Return the log share of the items of a population that were answered by the same raters as those of a pattern."""
    design = np.column_stack([answers.sum(-1), data.attrs["known"] >= 0])
    _, kind = np.unique(design, axis=0, return_inverse=True)
    same = np.eye(kind.max() + 1)[kind]
    items = data.values @ same @ same.T
    shares = items / np.maximum(data.values.sum(-1, keepdims=True), 1)
    return np.asarray(np.log(shares, where=shares > 0, out=np.full(shares.shape, NEVER)))


def _of_both(answers: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return which pair of ratings two raters gave, (pattern, pair), none where one of them is missing."""
    return np.asarray((answers[:, a, :, None] * answers[:, b, None, :]).reshape(len(answers), -1), float)


def _log_rates(rates: Any, leading: tuple[int, ...], xp: Any) -> Any:
    """Return the logarithms of rates (…, rater, actual, rating) as (…, rater and rating, actual)."""
    raters, classes = rates.shape[-3], rates.shape[-1]
    logs = xp.log(xp.maximum(rates, 1e-300))
    return logs.swapaxes(-1, -2).reshape((*leading, raters * classes, classes))


def _log_ratio(rates: Any, dependence: Any, places: tuple[int, int], leading: tuple[int, ...], xp: Any) -> Any:
    """Return how likelier pairs of ratings of two raters are than under independence: logarithms (…, pair, actual)."""
    a, b = (rates[..., place, :, :] for place in places)
    covariance = dependence * (xp.minimum(a[..., 1], b[..., 1]) - a[..., 1] * b[..., 1])
    independent = a[..., :, None] * b[..., None, :]
    together = independent + covariance[..., None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    ratio = xp.log(xp.maximum(together, 1e-300)) - xp.log(xp.maximum(independent, 1e-300))
    return ratio.reshape((*leading, 2, 4)).swapaxes(-1, -2)


def log_joint(
    posterior: xr.Dataset,
    data: xr.DataArray,
    *,
    pooled: bool = False,
    system: str | None = None,
    cut: bool = False,
    dependent: tuple[str, str] | None = None,
) -> xr.DataArray:
    """Return the log-probability of each actual class with a pattern's answers, (chain, draw, …, pattern, actual)."""
    raters, answers = _raters(data, system, cut), _answers(data, system, cut)
    rates = posterior["rates"].transpose("chain", "draw", "rater", "actual", "rating").values
    leading = rates.shape[:2]
    logs, design = _log_rates(rates, leading, np), answers.reshape(len(answers), -1)
    if dependent:
        dependence = posterior["dependence"].transpose("chain", "draw", "actual").values
        places = raters.index(dependent[0]), raters.index(dependent[1])
        logs = np.concatenate([logs, _log_ratio(rates, dependence, places, leading, np)], axis=-2)
        design = np.concatenate([design, _of_both(answers, *places)], axis=1)
    populations = [str(dim) for dim in data.dims[:-1]]
    joint = xr.DataArray(design.astype(float) @ logs + _log_possible(data), dims=["chain", "draw", "pattern", "actual"])
    prevalence = posterior["prevalence"].drop_vars(["actual"], errors="ignore")
    return (joint + np.log(np.maximum(prevalence, 1e-300))).transpose(
        "chain", "draw", *populations, "pattern", "actual"
    )


def chunks(posterior: xr.Dataset, data: xr.DataArray) -> Iterator[xr.Dataset]:
    """Yield parts of the draws, for each of which the log-probabilities of all patterns fit in memory."""
    size = max(1, MOST_VALUES // (data.size * len(data.attrs["labels"]) * posterior.sizes["chain"]))
    for start in range(0, posterior.sizes["draw"], size):
        yield posterior.isel(draw=slice(start, start + size))


def truth(joint: xr.DataArray) -> xr.DataArray:
    """Return the probabilities of the actual classes given the answers, from the logarithms of the joint ones."""
    return joint.copy(data=_normalised(joint.values))


# ── What a fit adds ──


def recover(
    posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, *, system: str | None = None, **options: Any
) -> dict[str, xr.DataArray]:
    """Return the cells of every rater, or of the system, whose rates are drawn if its answers were cut."""
    populations = [str(dim) for dim in data.dims[:-1]]
    rates = posterior["rates"]
    if options.get("cut"):
        rates = _rates_given_others(posterior, data, rng, system, options)
    elif system is not None:
        rates = rates.isel(rater=data.attrs["raters"].index(system), drop=True)
    cells = posterior["prevalence"] * rates.rename(rating="predicted")
    own = ["rater"] if "rater" in cells.dims else []
    return {"cells": cells.transpose("chain", "draw", *populations, *own, "actual", "predicted")}


def _rates_given_others(
    posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, system: Any, options: Mapping[str, Any]
) -> xr.DataArray:
    """Draw the rates of the system given the others' rates: in turns, actual classes and the rates given these."""
    place, classes = data.attrs["raters"].index(system), len(data.attrs["labels"])
    of_system = data.attrs["answers"][:, place].astype(float)
    answered = np.flatnonzero(of_system.any(-1))
    counts, of_system = np.atleast_2d(data.values)[:, answered], of_system[answered]
    drawn = []
    for part in chunks(posterior, data):
        joint = log_joint(part, data, system=system, **options).values
        of_others = joint.reshape(*joint.shape[:2], -1, *joint.shape[-2:])[:, :, :, answered]
        log_rates = np.zeros((*joint.shape[:2], classes, classes))
        for _ in range(CUT_STEPS if counts.any() else 1):
            own = np.einsum("pr,cdtr->cdpt", of_system, log_rates, optimize=True)
            actual = rng.multinomial(counts, _normalised(of_others + own[:, :, None]))
            seen = np.einsum("cdnpt,pr->cdtr", actual, of_system, optimize=True)
            rates = dirichlet_draws(rng, seen + 1 / classes)
            log_rates = np.log(rates)
        drawn.append(rates)
    of_classes = dict.fromkeys(("actual", "rating"), data.attrs["labels"])
    return xr.DataArray(np.concatenate(drawn, axis=1), of_classes, ("chain", "draw", "actual", "rating"))


def _normalised(log_weights: np.ndarray) -> np.ndarray:
    """Return probabilities along the last axis from logarithms of weights."""
    weights = np.exp(log_weights - log_weights.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, **options: Any) -> xr.DataArray | None:
    """Return the log-likelihood of the answers of each item, without the answers of cut raters."""
    if data.values.sum() * posterior.sizes["chain"] * posterior.sizes["draw"] > MOST_VALUES:
        return None
    joint = log_joint(posterior, data, **options)
    probabilities: xr.DataArray = np.exp(joint).sum("actual")  # type: ignore[call-overload]
    return per_example(probabilities, data)


def facts(
    data: xr.DataArray, *, system: str | None = None, cut: bool = False, dependent: Any = None, **_: Any
) -> dict[str, int]:
    """Return how many parameters there are, and how many the frequencies of the patterns could determine."""
    classes, answers = len(data.attrs["labels"]), _answers(data, system, cut)
    answered = np.column_stack([answers.sum(-1), data.attrs["known"] >= 0])
    counts = np.atleast_2d(data.values)
    designs = [np.unique(answered[row > 0], axis=0).tolist() for row in counts]
    parameters = (len(counts) + classes * answers.shape[1]) * (classes - 1) + 2 * bool(dependent)
    return {
        "parameters": parameters,
        "degrees_of_freedom": sum(_degrees_of_freedom(each, classes, parameters) for each in designs),
    }


def _degrees_of_freedom(designs: list[list[int]], classes: int, enough: int) -> int:
    """Return the number of free joint frequencies of the answers, or at least as many as are enough.

    A design says how often each rater answered an item. m answers of one rater, whose order says nothing, have
    C(m + K − 1, m) outcomes; those of the designs within it are margins of it, which other designs may share.
    """
    full = max((prod(comb(m + classes - 1, m) for m in design) - 1 for design in designs), default=0)
    if full >= enough or len(designs) < 2:
        return full
    seen: set[tuple[int, ...]] = set()
    total = 0
    for design in designs:
        for part in product(*(range(m + 1) for m in design)):
            if part not in seen and any(part):
                seen.add(part)
                total += prod(comb(m + classes - 1, m) - comb(m + classes - 2, m - 1) for m in part if m)
            if total >= enough:
                return total
    return total
