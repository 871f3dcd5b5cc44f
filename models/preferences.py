"""Preferences: which of two systems gives the better answer, judged pair by pair, with ties.

Setting. A judge sees the answers of two systems to the same prompt, and says which is better, or that neither is. Every
system meets some of the others. How strong is each, and which wins the next time two of them meet?

Model. System i has the strength θ_i = log π_i. The first answer wins, ties or loses with probabilities proportional to

    e^{d/2},  ν,  e^{−d/2}         d = α_j (θ_a − θ_b + u_pa − u_pb) + δ + β (x_a − x_b)

    θ_i ~ Normal(0, σ²)            strengths, of which only differences count: their mean is set to 0
    σ   ~ HalfNormal(1)            `spread` between the systems
    ν   ~ LogNormal(0, 1.5)        `tie`: equal systems tie with probability ν/(2 + ν); 0 if nothing ever ties
    δ   ~ Normal(0, 0.5)           `order`: the advantage of the answer that is shown first
    β   ~ Normal(0, 1)             `coefficient` of what distracts, such as length, in standard deviations

Without ties and order this is Bradley and Terry's model; ν is Davidson's, δ Davidson and Beaver's. The prior of the
strengths keeps a system finite that has won all of its comparisons, and draws systems with few of them to the others.

Judges (`judge`). The answers of judge j weigh α_j: near 0 the judge guesses, above 1 the judge sees more than others.

    log α_j ~ Normal(0, τ²),  τ ~ HalfNormal(1)        `judge_spread`; the mean over these judges is set to 0

Prompts (`prompt`). If prompts are judged several times, a system may be better at one than at another:

    u_pi ~ Normal(0, ω²),     ω ~ HalfNormal(1)        `prompt_spread`

Deviations are sampled in units that lie between ``non-centred'', which suits few comparisons, and ``centred'', which
suits many: with the information I that the comparisons hold about a contrast of strengths, the sampled deviation has
the standard deviation √(1 + I σ²) (`information`).

`recover` adds figures of the next comparison, on a new prompt, by the average judge, in either order, at equal length:
``beats`` (model, model_other), the probability that one system beats another (on the diagonal, an equal one: half of
what ties leave), and ``win_rate`` (model), the mean over the other systems of the probability to win, a tie counting
half.

Source: Bradley & Terry (1952), Biometrika 39; Davidson (1970), JASA 65, for ties; Davidson & Beaver (1977), Biometrics
33, for order; Caron & Doucet (2012), Journal of Computational and Graphical Statistics 21, for Bayesian inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.polynomial.hermite_e import hermegauss
from scipy.linalg import helmert

from bayesperf.models.building import MOST_VALUES, PatternCounts, coords, log_sum, per_example, prior_variables

DATA = "judged pairs"
OPTIONS = {"order": (False, True)}
DIMS = ("model", "contrast", "judge", "judge_contrast", "answer", "covariate")
ESTIMAND = "population"
QUANTITIES = {
    "strength": {"greater_is_better": True},
    "win_rate": {"greater_is_better": True, "bounds": (0.0, 1.0)},
    "beats": {"greater_is_better": True, "bounds": (0.0, 1.0)},
}
PRIORS = {
    "spread": pm.HalfNormal.dist(1),
    "tie": pm.LogNormal.dist(0, 1.5),
    "order": pm.Normal.dist(0, 0.5),
    "coefficient": pm.Normal.dist(0, 1),
    "judge_spread": pm.HalfNormal.dist(1),
    "prompt_spread": pm.HalfNormal.dist(1),
}
# What each variable is of no use without.
NEEDS = {
    "tie": "ties among the winners",
    "order": "options={'order': True}",
    "coefficient": "options={'covariates': ['length']}",
    "judge_spread": "a column 'judge' of several judges",
    "prompt_spread": "a column 'prompt' of prompts that are judged several times",
}
# Where a comparison finds its systems, their answers to its prompt, its judge and what distracts, among the attributes.
PLACES = ("first", "second", "first_answer", "second_answer", "judged_by", "difference")
# Nodes of the integral over the prompts' deviations.
NODES, WEIGHTS = hermegauss(15)


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None, *, order: bool = False) -> pm.Model:
    """Return the model of judged pairs.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (comparison, outcome) of the outcomes ``a``, ``b`` and, if any are tied, ``tie``. Attributes: ``models``,
        the names of the systems; ``first`` and ``second``, their positions in each comparison; if there are several
        judges, ``judges`` and ``judged_by``, their names and positions; if prompts are repeated, ``answers``, the names
        of each system with each prompt, and ``first_answer``, ``second_answer``; with covariates, ``covariates`` and
        ``difference`` (comparison, covariate).
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    order : bool
        Whether the answer that is shown first, ``a``, has an advantage.
    """
    facts = data.attrs
    has = {
        "tie": data.sizes["outcome"] == 3,
        "order": order,
        "coefficient": "covariates" in facts,
        "judge_spread": "judges" in facts,
        "prompt_spread": "answers" in facts,
    }
    variable = prior_variables(PRIORS, priors, unused={name: NEEDS[name] for name in NEEDS if not has[name]})
    with pm.Model(coords=coords(data) | _coords(facts)) as model:
        spread = variable("spread", [])
        width = pm.math.sqrt(1 + pm.Data("information", information(data), dims="contrast") * spread**2)
        deviation = pm.Normal("deviation", 0, width, dims="contrast")
        strength = (contrasts(len(facts["models"])) * (spread / width * deviation)).sum(axis=-1)
        value = {"strength": pm.Deterministic("strength", strength, dims="model")}
        if has["prompt_spread"]:
            value["answer"] = variable("prompt_spread", []) * pm.Normal("prompt_deviation", dims="answer")
        if has["judge_spread"]:
            z = pm.Normal("judge_deviation", dims="judge_contrast")
            weight = pm.math.exp(variable("judge_spread", []) * (contrasts(len(facts["judges"])) * z).sum(axis=-1))
            value["judge_weight"] = pm.Deterministic("judge_weight", weight, dims="judge")
        if order:
            value["order"] = variable("order", [])
        if has["coefficient"]:
            value["coefficient"] = variable("coefficient", ["covariate"])
        places = {
            name: pm.Data(name, facts[name], dims=["comparison", "covariate"][: np.ndim(facts[name])])
            for name in PLACES
            if name in facts
        }
        log_tie = pm.math.log(variable("tie", [])) if has["tie"] else None
        log_p = log_outcomes(log_odds(value, places), log_tie, pm.math, log_sum)
        observed = pm.Data("counts_data", data.values, dims=data.dims)
        PatternCounts("counts", n=observed.sum(-1), log_p=log_p, observed=observed, dims=data.dims)
    return model


def _coords(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the coordinates of the variables."""
    of_dims: dict[str, Any] = {"model": facts["models"], "contrast": np.arange(1, len(facts["models"]))}
    if "judges" in facts:
        of_dims |= {"judge": facts["judges"], "judge_contrast": np.arange(1, len(facts["judges"]))}
    named = {"answer": "answers", "covariate": "covariates"}
    return of_dims | {dim: facts[name] for dim, name in named.items() if name in facts}


def contrasts(number: int) -> np.ndarray:
    """Return orthonormal contrasts (number, number − 1): of independent normals they make deviations from the mean."""
    return np.asarray(helmert(number).T)


def information(data: xr.DataArray) -> np.ndarray:
    """Return the information of the comparisons about each contrast of strengths, as between equal systems."""
    columns = contrasts(len(data.attrs["models"]))
    apart = columns[data.attrs["first"]] - columns[data.attrs["second"]]
    return np.asarray(0.25 * data.values.sum(-1) @ apart**2)


def log_odds(value: Mapping[str, Any], places: Mapping[str, Any]) -> Any:
    """Return d (…, comparison) of variables with any leading dims and the positions of each comparison in them.

    Both are arrays or tensors.
    """
    apart = value["strength"][..., places["first"]] - value["strength"][..., places["second"]]
    if "answer" in value:
        apart = apart + value["answer"][..., places["first_answer"]] - value["answer"][..., places["second_answer"]]
    if "judge_weight" in value:
        apart = apart * value["judge_weight"][..., places["judged_by"]]
    if "order" in value:
        apart = apart + value["order"][..., None]
    if "coefficient" in value:
        # As a sum: a product of matrices would take PyTensor ten seconds to compile.
        apart = apart + (value["coefficient"][..., None, :] * places["difference"]).sum(axis=-1)
    return apart


def log_outcomes(log_odds: Any, log_tie: Any, xp: Any, log_sum: Any) -> Any:
    """Return the log-probabilities (…, outcome) that the first wins, the second wins and, if that can be, they tie."""
    terms = [log_odds / 2, -log_odds / 2] + ([] if log_tie is None else [log_tie + 0 * log_odds])
    logs = xp.stack(terms, axis=-1)
    return logs - log_sum(logs)[..., None]


# ── What a fit adds ──


def recover(
    posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, *, order: bool = False
) -> dict[str, xr.DataArray]:
    """Return the probabilities of the next comparison: ``win_rate`` and, unless they are too many, ``beats``."""
    models = data.attrs["models"]
    dims, labels = ("chain", "draw", "model", "model_other"), {"model": models, "model_other": models}
    keep = posterior["spread"].size * len(models) ** 2 <= MOST_VALUES
    beats, rates = [], []
    for system in range(len(models)):
        wins, _, ties = next_outcomes(posterior, system, order=order)
        others = np.arange(len(models)) != system
        rates.append((wins + ties / 2)[..., others].mean(-1))
        beats += [wins] if keep else []
    found = {"win_rate": xr.DataArray(np.stack(rates, -1), {"model": models}, dims[:3])}
    return found | ({"beats": xr.DataArray(np.stack(beats, -2), labels, dims)} if keep else {})


def next_outcomes(posterior: xr.Dataset, system: int, *, order: bool = False) -> np.ndarray:
    """Return the probabilities (outcome, chain, draw, model) that a system wins, loses and ties against each system.

    The next comparison is on a new prompt, by the average judge, and in either order.
    """
    strength = posterior["strength"].transpose("chain", "draw", "model").values
    single = posterior["spread"].transpose("chain", "draw")
    value = {name: posterior[name].values[..., None] for name in ("tie", "order", "prompt_spread") if name in posterior}
    log_tie = np.log(value["tie"]) if "tie" in value else None
    apart = strength[..., [system]] - strength
    nodes = NODES if "prompt_spread" in value else np.zeros(1)
    weights = WEIGHTS / WEIGHTS.sum() if "prompt_spread" in value else np.ones(1)
    total = np.zeros((3, *single.shape, strength.shape[-1]))
    for node, weight in zip(nodes, weights, strict=True):
        for sign in (1, -1) if order else (0,):
            shift = np.sqrt(2) * value.get("prompt_spread", 0.0) * node + sign * value.get("order", 0.0)
            outcomes = np.exp(log_outcomes(apart + shift, log_tie, np, _log_sum))
            total[: outcomes.shape[-1]] += weight / (1 + order) * np.moveaxis(outcomes, -1, 0)
    return total


def _log_sum(logs: np.ndarray) -> np.ndarray:
    return np.asarray(np.logaddexp.reduce(logs, axis=-1))


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, *, order: bool = False) -> xr.DataArray | None:
    """Return the log-likelihood of each judgement; None if there are too many."""
    if data.values.sum() * posterior["spread"].size > MOST_VALUES:
        return None
    value = {str(name): drawn.transpose("chain", "draw", ...).values for name, drawn in posterior.items()}
    if "prompt_deviation" in value:
        value["answer"] = value["prompt_spread"][..., None] * value["prompt_deviation"]
    log_tie = np.log(value["tie"])[..., None] if "tie" in value else None
    outcomes = np.exp(log_outcomes(log_odds(value, data.attrs), log_tie, np, _log_sum))
    return per_example(xr.DataArray(outcomes, dims=("chain", "draw", *data.dims)), data)
