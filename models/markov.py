"""Dependent examples: sequences of (actual, predicted) labels as a Markov chain.

Setting. In frames of a video, days, or turns of a conversation the actual label persists for a while, and a prediction
depends on the previous frame. A hundred such examples are less informative than a hundred independent ones. For actual
label g_t and prediction z_t,

    P(g_t = g | g_{t−1} = g)                       = a_g     `stay`
    P(z_t = 1 | g_t = g, g_{t−1} = h, z_{t−1} = j) = θ_ghj   `predict_second`, label 1 being the second of the two

Errors that come in runs need both previous labels: they say whether the previous prediction was right. With
``chain="z_prev"`` a prediction does not depend on the previous actual label, θ_g0j = θ_g1j.

The likelihood depends only on the counts of transitions. Of n_g· steps from g, n_gg stayed in g; of m_ghj steps to
actual label g from actual label h and prediction j, m_ghj1 predicted the second label; all of these counts are
binomial. `cells` is the stationary distribution of the chain: the long-run proportion of each pair of labels, from
which the metrics of the system are computed.

All sequences have the same parameters by default. With ``sequences="varying"`` each sequence has its own a_g,
Beta-distributed about the population's a_g with dispersion ρ_g (integrated out as in `groups`, and drawn afterwards for
`cells_group`): the persistence of labels differs from video to video, but the behaviour of the classifier does not.
`cells` is then the stationary distribution for the a_g of the population.

With Beta priors and common parameters the posterior is exact; see `exact` and `bayesperf.sequences`.

Source: the likelihood factorises over transition counts as in Anderson & Goodman (1957), Annals of Mathematical
Statistics 28.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.stats import betabinom

from bayesperf.models.building import (
    concentration,
    conjugate_parameters,
    coords,
    per_example,
    prior_variables,
    stationary,
)

DATA = "transitions"
OPTIONS = {"sequences": ("same", "varying"), "chain": ("z_prev,g_prev", "z_prev")}
ESTIMAND = "long_run"
REFUSAL = "samples of a sequence depend on each other. Ask the posterior of bayesperf.sequences, which has the chain."
PRIORS = {
    "stay": pm.Beta.dist(0.5, 0.5),
    "predict_second": pm.Beta.dist(0.5, 0.5),
    "stay_dispersion": pm.Beta.dist(1, 9),
}


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    sequences: str = "same",
    chain: str = "z_prev,g_prev",
) -> pm.Model:
    """Return the model of transition counts.

    Parameters
    ----------
    data : xarray.DataArray
        Counts of the transitions from one pair of labels to the next, with dims (sequence, actual_before,
        predicted_before, actual, predicted), for two labels.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    sequences : {"same", "varying"}
        Whether the actual labels persist equally in all sequences.
    chain : {"z_prev,g_prev", "z_prev"}
        What a prediction depends on beside the actual label: the previous prediction and the previous actual label, or
        the previous prediction alone.
    """
    sequence = str(data.dims[0])
    stays, steps, seconds, predictions = _outcomes(data, chain)
    unused = {"stay_dispersion": "options={'sequences': 'varying'}"} if sequences == "same" else {}
    variable = prior_variables(PRIORS, priors, unused=unused)
    with pm.Model(coords=coords(data)) as model:
        stay = variable("stay", ["actual"])
        predict_second = variable("predict_second", [str(d) for d in seconds.dims])
        if sequences == "varying":
            kappa = concentration(variable("stay_dispersion", ["actual"]))
            _observe("stays", stays, steps, pm.BetaBinomial, alpha=kappa * stay, beta=kappa * (1 - stay))
        else:
            _observe("stays", stays.sum(sequence), steps.sum(sequence), pm.Binomial, p=stay)
        _observe("seconds", seconds, predictions, pm.Binomial, p=predict_second)
        table = pm.math.stack(_cells(stay, predict_second, seconds.ndim == 3)).reshape((2, 2))
        pm.Deterministic("cells", table, dims=["actual", "predicted"])
    return model


def _observe(name: str, successes: xr.DataArray, trials: xr.DataArray, distribution: Any, **parameters: Any) -> None:
    dims = [str(d) for d in successes.dims]
    n = pm.Data(f"{name}_trials", trials.values, dims=dims)
    observed = pm.Data(f"{name}_data", successes.values, dims=dims)
    distribution(name, n=n, **parameters, observed=observed, dims=dims)


def _outcomes(data: xr.DataArray, chain: str) -> tuple[xr.DataArray, ...]:
    """Return the counts of stays and steps per actual label, of predictions of the second label, and of predictions."""
    before = str(data.dims[1])
    moves = data.sum(["predicted_before", "predicted"])
    same = moves[before].values[:, None] == moves["actual"].values
    stays = moves.where(xr.DataArray(same, dims=[before, "actual"]), 0).sum(before)
    steps = moves.sum("actual").rename({before: "actual"})
    given = ["actual", before, "predicted_before"] if chain == "z_prev,g_prev" else ["actual", "predicted_before"]
    predictions = data.sum([dim for dim in data.dims[:2] if dim not in given]).transpose(*given, "predicted")
    return stays, steps, predictions.isel(predicted=1, drop=True), predictions.sum("predicted")


def _cells(stay: Any, predict_second: Any, wide: bool) -> list[Any]:
    """Return the stationary cells, row by row, for arrays or tensors whose last dims are the parameters' dims.

    Predictions depend on the previous actual label if the chain is `wide`.
    """
    pairs = [(g, h) if wide else (g,) for g in (0, 1) for h in (0, 1)]
    theta = [[predict_second[(..., *pair, j)] for j in (0, 1)] for pair in pairs]
    return list(stationary([stay[..., 0], stay[..., 1]], [theta[:2], theta[2:]]))


def _table(stay: xr.DataArray, predict_second: xr.DataArray) -> xr.DataArray:
    """Return the stationary table for labelled parameters; `stay` may vary between sequences."""
    leading = [d for d in stay.dims if d != "actual"]
    stay = stay.transpose(*leading, "actual")
    theta = predict_second.broadcast_like(stay).transpose(*leading, "actual", ..., "predicted_before")
    cells = _cells(stay.values, theta.values, theta.ndim == len(leading) + 3)
    return xr.DataArray(np.stack(cells, -1).reshape(*stay.shape[:-1], 2, 2), dims=(*leading, "actual", "predicted"))


def exact(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None,
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    sequences: str = "same",
    chain: str = "z_prev,g_prev",
) -> dict[str, xr.DataArray]:
    """Return draws (chain, draw) from the Beta posteriors."""
    if sequences != "same":
        raise NotImplementedError("options: method='exact' is for sequences='same'. Use method='mcmc'.")
    stays, steps, seconds, predictions = _outcomes(data, chain)
    sequence = str(data.dims[0])
    observed = {"stay": (stays.sum(sequence), steps.sum(sequence)), "predict_second": (seconds, predictions)}
    draws = {}
    for name, (successes, trials) in observed.items():
        a, b = np.moveaxis(conjugate_parameters(name, (PRIORS | dict(priors or {}))[name], "beta"), -1, 0)
        values = rngs[0].beta(a + successes.values, b + (trials - successes).values, (*size, *successes.shape))
        draws[name] = xr.DataArray(values, dims=("chain", "draw", *successes.dims))
    return draws | {"cells": _table(draws["stay"], draws["predict_second"])}


def recover(
    posterior: xr.Dataset,
    data: xr.DataArray,
    rng: np.random.Generator,
    *,
    sequences: str = "same",
    chain: str = "z_prev,g_prev",
) -> dict[str, xr.DataArray]:
    """Draw the cells that were integrated out if sequences vary.

    These are ``cells_group`` of the observed sequences and ``cells_new`` of a new one.
    """
    if sequences == "same":
        return {}
    stays, steps, *_ = _outcomes(data, chain)
    kappa = concentration(posterior["stay_dispersion"])
    stay, leave = kappa * posterior["stay"], kappa * (1 - posterior["stay"])
    observed = _beta(rng, stay + stays, leave + (steps - stays))
    new = _beta(rng, stay, leave)
    return {
        "cells_group": _table(observed, posterior["predict_second"]),
        "cells_new": _table(new, posterior["predict_second"]),
    }


def _beta(rng: np.random.Generator, a: xr.DataArray, b: xr.DataArray) -> xr.DataArray:
    # If a label persists forever, the stationary distribution of the chain is not unique.
    return a.copy(data=np.clip(rng.beta(a.values, b.transpose(*a.dims).values), 1e-12, 1 - 1e-12))


def log_likelihood(
    posterior: xr.Dataset, data: xr.DataArray, *, sequences: str = "same", chain: str = "z_prev,g_prev"
) -> xr.DataArray | None:
    """Return the log-likelihood of each step given the previous one, or of each sequence if sequences vary."""
    sequence, before, *_ = (str(d) for d in data.dims)
    rates = posterior["predict_second"]
    prediction = xr.concat([1 - rates, rates], "predicted").assign_coords(predicted=data["predicted"].values)
    if sequences == "same":
        same = xr.DataArray(np.eye(2), {before: data[before], "actual": data["actual"]}, (before, "actual"))
        stay = posterior["stay"].rename(actual=before)
        return per_example((stay * same + (1 - stay) * (1 - same)) * prediction, data.sum(sequence))
    stays, steps, *_ = _outcomes(data, chain)
    kappa = concentration(posterior["stay_dispersion"])
    a, b = kappa * posterior["stay"], kappa * (1 - posterior["stay"])
    moves: xr.DataArray = xr.apply_ufunc(betabinom.logpmf, stays, steps, a, b).sum("actual")
    predictions = (data * np.log(prediction)).sum([before, "actual", "predicted_before", "predicted"])
    return (moves + predictions).transpose("chain", "draw", sequence)
