"""Simulation-based calibration: whether a sampler returns the posterior of the model it was given."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy import stats

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.sampling import nuts
from bayesperf.sampling.compiled import compiled, with_data
from bayesperf.sampling.fit import built_model
from bayesperf.sampling.inputs import fingerprint, prepared, resolve_model
from bayesperf.sampling.priors import priors_in_words
from bayesperf.studies.run import run

if TYPE_CHECKING:
    import pymc as pm

_NULL_SAMPLES = 20_000


def calibration(
    model: Any,
    data: Any,
    priors: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    simulations: int = 200,
    prob: float = 0.99,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 2,
    thin: int = 10,
    target_accept: float | None = None,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Check a model's sampler by simulation: over draws from the prior, ranks in the posterior are uniform.

    Parameters are drawn from the prior and data from the model, with the totals of `data`. Among the draws of the
    posterior of those data the parameters then have every rank alike often, if the draws are of that posterior.

    Parameters
    ----------
    model, data, priors, options
        As in `bayesperf.fit`. Observed data of a user's own model must be `pymc.Data`.
    simulations : int
        How many.
    prob : float
        Probability of the band, of all parameters together (Bonferroni).
    draws, tune, chains, target_accept
        Of each posterior; `target_accept` by default the model's, as in a fit.
    thin : int
        Every so-manieth draw is ranked against: ranks of correlated draws are not uniform.
    random_seed, n_jobs, progressbar, folder
        As in every study: the figures depend on the seed only; with `folder` an interrupted study goes on where it
        stopped.

    Returns
    -------
    xarray.Dataset
        ``pit`` (simulation, parameter): the share of draws below the truth. ``p_value`` (parameter): how often
        uniform shares stray as far from the diagonal at some point as these. ``diverging`` (simulation). Attribute
        ``passed`` is 1 if no p-value is below (1 − `prob`)/parameters: every curve is inside its simultaneous band.
        The other attributes are settings and versions.

    Raises
    ------
    ValueError
        If the model cannot be simulated: a power likelihood, or observed data that are no `pymc.Data`; or if `thin`
        leaves one draw of a chain, or none.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari & Gelman (2018), arXiv:1804.06788. The band: Säilynoja, Bürkner & Vehtari
    (2022), Statistics and Computing 32.
    """
    import pymc as pm

    simulations = checks.count("simulations", simulations, least=2)
    accept = nuts.target_accept(resolve_model(model)) if target_accept is None else target_accept
    sampling = {"draws": checks.count("draws", draws), "tune": checks.count("tune", tune),
                "chains": checks.count("chains", chains),
                "target_accept": checks.probability("target_accept", accept)}  # fmt: skip
    if checks.count("thin", thin) >= draws:
        raise ValueError(f"thin must be less than draws, {draws}, so that there are draws to rank among; it is {thin}.")
    counts, chosen = prepared(data, model, options)
    built = built_model(model, counts, priors, chosen)
    names = _observed(built)
    seed = checks.seed(random_seed)
    with nuts.quiet():
        simulated = pm.sample_prior_predictive(draws=simulations, model=built, random_seed=seed)
    truth, labels = _flat(simulated["prior"].to_dataset().isel(chain=0), built)
    new = {data: simulated["prior_predictive"][rv].values[0] for rv, data in names.items()}
    settings = {
        "model": model if isinstance(model, str) else getattr(model, "__name__", repr(model)),
        "data_hash": fingerprint(counts),
        "options": repr(chosen),
        "priors": json.dumps(priors_in_words(built)),
        "simulations": simulations,
        "prob": checks.probability("prob", prob),
        "thin": thin,
        "random_seed": seed,
        **sampling,
    }
    # A process keeps the model of this very call.
    key = uuid.uuid4().hex

    def simulate(index: int, rng: np.random.Generator) -> dict[str, Any]:
        fitted_model, compiled_model = _worker(key, lambda: built_model(model, counts, priors, chosen))
        fitted = with_data(compiled_model, {name: value[index] for name, value in new.items()})
        with nuts.quiet():
            tree = nuts.sample_compiled(fitted, sampling, int(rng.integers(2**31)))
        ranked = tree["posterior"].to_dataset().isel(draw=slice(None, None, thin))
        below = _flat(ranked.stack(sample=("chain", "draw")), fitted_model)[0] < truth[index]
        share = (below.sum(0) + rng.random(below.shape[1])) / (len(below) + 1)
        return {"pit": share, "diverging": int(tree["sample_stats"]["diverging"].sum())}

    found = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    p_value = uniformity(found["pit"].T)
    settings |= {"passed": int((p_value >= (1 - prob) / len(labels)).all()), "date": date.today().isoformat()}
    settings |= {f"{package}_version": version(package) for package in ("bayesperf", "pymc", "nutpie")}
    return xr.Dataset(
        {
            "pit": (("simulation", "parameter"), found["pit"]),
            "p_value": ("parameter", p_value),
            "diverging": ("simulation", found["diverging"]),
        },
        {"parameter": labels, "simulation": np.arange(simulations)},
        settings,
    )


_workers: dict[str, Any] = {}


def _worker(key: str, build: Any) -> Any:
    """Return a process's own model and its compiled form: neither can be sent to another process."""
    if key not in _workers:
        model = build()
        _workers[key] = model, compiled(model)
    return _workers[key]


def _observed(model: pm.Model) -> dict[str, str]:
    """Return the name of the data of each observed variable."""
    from pytensor.graph.traversal import ancestors

    if model.potentials:
        raise ValueError("model: a likelihood that is a Potential (repeats > 1) cannot be simulated from.")
    data = set(model.data_vars)
    names = {}
    for rv in model.observed_RVs:
        # PyMC may have cast them.
        behind = data.intersection(ancestors([model.rvs_to_values[rv]]))
        if len(behind) != 1:
            raise ValueError(f"model: the observed data of {rv.name!r} must be pymc.Data, so that they can be changed.")
        names[rv.name] = behind.pop().name
    return names


def _flat(draws: xr.Dataset, model: pm.Model) -> tuple[Array, list[str]]:
    """Return draws of every parameter and of the cells, (draw, parameter), and what they are called."""
    names = [rv.name for rv in model.free_RVs] + ["cells"] * ("cells" in draws)
    values, labels = [], []
    for name in names:
        value = draws[name].transpose("draw" if "draw" in draws[name].dims else "sample", ...)
        rest = value.dims[1:]
        values.append(value.values.reshape(len(value), -1))
        for place in np.ndindex(*value.shape[1:]):
            at = ", ".join(str(value[dim].values[i]) for dim, i in zip(rest, place, strict=True))
            labels.append(f"{name}[{at}]" if at else name)
    return np.concatenate(values, 1), labels


def uniformity(pit: Array) -> Array:
    """Return the p-value of uniformity of each row of shares (m, n).

    The statistic is the smallest of the two-sided binomial probabilities of the empirical distribution function at 1/n,
    …, (n − 1)/n; its distribution is that of as many uniform shares, by simulation.
    """
    null = _null(pit.shape[1])
    return (1 + np.searchsorted(null, straying(pit), side="right")) / (1 + len(null))


def threshold(n: int, prob: float) -> float:
    """Return the binomial tail probability at which n uniform shares stay inside with a probability at every point."""
    return float(np.quantile(_null(n), 1 - prob))


@cache
def _null(n: int) -> Array:
    """Return the sorted statistics of samples of n uniform shares."""
    return np.sort(straying(np.random.default_rng(0).random((_NULL_SAMPLES, n))))


def straying(pit: Array) -> Array:
    """Return, of each row of shares (m, n), the smallest binomial tail probability of its distribution function."""
    n = pit.shape[1]
    points = np.arange(1, n) / n
    below = np.apply_along_axis(np.searchsorted, 1, np.sort(pit, 1), points, side="right")
    return _tails(n)[np.arange(n - 1), below].min(1)


@cache
def _tails(n: int) -> Array:
    """Return the tail probability of 0, …, n of n shares being below each point, (n − 1, n + 1)."""
    k, points = np.arange(n + 1), (np.arange(1, n) / n)[:, None]
    tails: Array = np.minimum(stats.binom.cdf(k, n, points), stats.binom.sf(k - 1, n, points))
    return tails
