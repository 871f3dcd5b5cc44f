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
from bayesperf.core.errors import InputError
from bayesperf.sampling import backend, nuts
from bayesperf.sampling.fit_tree import priors_in_words
from bayesperf.sampling.fitting import built_model
from bayesperf.sampling.model_data import fingerprint, name_in_words, prepared, resolve_model
from bayesperf.studies.running import run

if TYPE_CHECKING:
    import pymc as pm


def simulation_based_calibration(
    model: Any,
    data: Any,
    priors: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    simulations: int = 200,
    confidence: float = 0.99,
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

    Parameters are drawn from the prior and data from the model, with the totals of `data`. If the sampler's draws are
    from the posterior given those data, every rank of the parameters among the draws is equally likely.

    Parameters
    ----------
    model, data, priors, options
        As in `bayesperf.fit`. Observed data of a user's own model must be `pymc.Data`.
    simulations : int
        Number of simulated data sets.
    confidence : float
        Probability of the bands, for all parameters together (Bonferroni).
    draws, tune, chains, target_accept
        Settings of the sampler for each posterior; `target_accept` is by default the model's, as in a fit.
    thin : int
        Use every `thin`-th draw for the ranks: among correlated draws they are not uniform.
    random_seed, n_jobs, progressbar, folder
        As in every study: see `bayesperf.studies`.

    Returns
    -------
    xarray.Dataset
        ``pit`` (simulation, parameter): the proportion of draws below the truth. ``ecdf`` (level, parameter): the
        empirical distribution function of ``pit``, and ``band`` (level, ci_bound), the simultaneous band that contains
        it if ranks are uniform. ``p_value`` (parameter): how often the distribution function of uniform ranks is at
        least as far from the diagonal somewhere. ``diverging`` (simulation): number of divergent transitions. Attribute
        ``passed`` is 1 if no p-value is below (1 − `confidence`)/parameters: every distribution function is inside its
        band. The other attributes are settings and versions.

    Raises
    ------
    ValueError
        If the model cannot be simulated: it contains a `pymc.Potential` (as with ``repeats`` > 1), or observed data
        that are not `pymc.Data`; or if `thin` leaves fewer than two draws of a chain.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari & Gelman (2018), arXiv:1804.06788. The band: Säilynoja, Bürkner & Vehtari
    (2022), Statistics and Computing 32.
    """
    simulations = checks.count("simulations", simulations, least=2)
    accept = nuts.target_accept(resolve_model(model)) if target_accept is None else target_accept
    sampling = _sampler_settings(draws, tune, chains, accept, thin)
    counts, checked_options = prepared(data, model, options)
    built = built_model(model, counts, priors, checked_options)
    seed = checks.seed(random_seed)
    truth, parameters, observed = _simulated(built, simulations, seed)
    settings = {
        "model": name_in_words(model),
        "data_hash": fingerprint(counts),
        "options": repr(checked_options),
        "priors": json.dumps(priors_in_words(built)),
        "simulations": simulations,
        "prob": checks.probability("confidence", confidence),
        "thin": thin,
        "random_seed": seed,
        **sampling,
    }
    # Under this key each process keeps the model of this call.
    key = uuid.uuid4().hex

    def simulate(index: int, rng: np.random.Generator) -> dict[str, Any]:
        fitted_model, compiled = _worker(key, lambda: built_model(model, counts, priors, checked_options))
        fitted = backend.with_data(compiled, {name: value[index] for name, value in observed.items()})
        with nuts.quiet():
            sampled = backend.sample_compiled(fitted, sampling, int(rng.integers(2**31)))
        ranked = sampled["posterior"].isel(draw=slice(None, None, thin))
        below = _flat(ranked.stack(sample=("chain", "draw")), fitted_model)[0] < truth[index]
        pit = (below.sum(0) + rng.random(below.shape[1])) / (len(below) + 1)
        return {"pit": pit, "diverging": int(sampled["sample_stats"]["diverging"].sum())}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    return _summary(results, parameters, settings)


def _sampler_settings(draws: int, tune: int, chains: int, target_accept: float, thin: int) -> dict[str, Any]:
    settings = {"draws": checks.count("draws", draws), "tune": checks.count("tune", tune),
                "chains": checks.count("chains", chains),
                "target_accept": checks.probability("target_accept", target_accept)}  # fmt: skip
    if checks.count("thin", thin) >= draws:
        raise InputError(
            "thin", f"must be less than draws, {draws}, so that there are draws to rank among; it is {thin}."
        )
    return settings


def _simulated(model: pm.Model, simulations: int, seed: int) -> tuple[Array, list[str], dict[str, Array]]:
    """Draw parameters (simulation, parameter) from the prior, and the observed data of each; name the parameters.

    PyMC draws one simulation after the other, so that the first ones do not depend on how many there are.
    """
    import pymc as pm

    names = _observed(model)
    with nuts.quiet():
        simulated = pm.sample_prior_predictive(
            draws=simulations, model=model, random_seed=seed, compile_kwargs={"mode": backend.INTERPRETED}
        )
    truth, parameters = _flat(simulated["prior"].to_dataset().isel(chain=0), model)
    return truth, parameters, {data: simulated["prior_predictive"][rv].values[0] for rv, data in names.items()}


def _summary(results: Mapping[str, Array], parameters: list[str], settings: Mapping[str, Any]) -> xr.Dataset:
    """Return the ranks with their distribution functions, band and p-values."""
    pit = results["pit"]
    prob_of_each = 1 - (1 - settings["prob"]) / len(parameters)
    p_value = p_values(pit.T)
    passed = (p_value >= (1 - settings["prob"]) / len(parameters)).all()
    versions = {f"{package}_version": version(package) for package in ("bayesperf", "pymc", "nutpie")}
    return xr.Dataset(
        {
            "pit": (("simulation", "parameter"), pit),
            "ecdf": (("level", "parameter"), distribution_functions(pit.T).T),
            "band": (("level", "ci_bound"), band(len(pit), prob_of_each)),
            "p_value": ("parameter", p_value),
            "diverging": ("simulation", results["diverging"]),
        },
        {"parameter": parameters, "simulation": np.arange(len(pit)), "level": levels(len(pit)),
         "ci_bound": ["lower", "upper"]},
        {**settings, "passed": int(passed), "date": date.today().isoformat(), **versions},
    )  # fmt: skip


_workers: dict[str, Any] = {}


def _worker(key: str, build: Any) -> Any:
    """Return a process's own model and its compiled form; neither can be sent to another process."""
    if key not in _workers:
        model = build()
        _workers[key] = model, backend.compiled(model)
    return _workers[key]


def _observed(model: pm.Model) -> dict[str, str]:
    """Return the name of the data of each observed variable."""
    if model.potentials:
        potentials = ", ".join(repr(potential.name) for potential in model.potentials)
        raise InputError("model", f"it contains pm.Potential {potentials}, which cannot be simulated from.")
    names = {}
    for rv in model.observed_RVs:
        sources = backend.data_of(model, rv)
        if len(sources) != 1:
            raise InputError(
                "model", f"the observed data of {rv.name!r} must be pymc.Data, so that they can be changed."
            )
        names[rv.name] = sources.pop().name
    return names


def _flat(draws: xr.Dataset, model: pm.Model) -> tuple[Array, list[str]]:
    """Return draws of every parameter and of the cells, (draw, parameter), and their names."""
    names = [rv.name for rv in model.free_RVs] + ["cells"] * ("cells" in draws)
    values, labels = [], []
    for name in names:
        value = draws[name].transpose("draw" if "draw" in draws[name].dims else "sample", ...)
        rest = value.dims[1:]
        values.append(value.values.reshape(len(value), -1))
        for position in np.ndindex(*value.shape[1:]):
            coordinates = ", ".join(str(value[dim].values[i]) for dim, i in zip(rest, position, strict=True))
            labels.append(f"{name}[{coordinates}]" if coordinates else name)
    return np.concatenate(values, 1), labels


# ── Whether ranks are uniform: a test, and the simultaneous band of their empirical distribution function ──

# Säilynoja, Bürkner & Vehtari (2022), Statistics and Computing 32. The ranks of n simulations are given as proportions
# ("pit", probability integral transforms); their distribution function is evaluated at `levels` 1/n, …, (n − 1)/n.

_NULL_SAMPLES = 20_000


def levels(n: int) -> Array:
    """Return 1/n, …, (n − 1)/n."""
    return np.arange(1, n) / n


def distribution_functions(pit: Array) -> Array:
    """Return the empirical distribution function of each row of proportions (m, n) at the levels, (m, n − 1)."""
    return np.asarray(_below(pit) / pit.shape[1], float)


def band(n: int, prob: float) -> Array:
    """Return the band (n − 1, 2) that contains the whole distribution function of n uniform proportions with `prob`."""
    tail = tail_probability(n, prob)
    return np.stack([stats.binom.ppf(tail, n, levels(n)), stats.binom.isf(tail, n, levels(n))], -1) / n


def p_values(pit: Array) -> Array:
    """Return the p-value of uniformity of each row of proportions (m, n), from the simulated null distribution."""
    null = _null(pit.shape[1])
    return (1 + np.searchsorted(null, smallest_tails(pit), side="right")) / (1 + len(null))


def tail_probability(n: int, prob: float) -> float:
    """Return the pointwise binomial tail probability of the band."""
    return float(np.quantile(_null(n), 1 - prob))


def smallest_tails(pit: Array) -> Array:
    """Return the smallest two-sided binomial tail probability of each row's distribution function over the levels."""
    n = pit.shape[1]
    smallest: Array = _tails(n)[np.arange(n - 1), _below(pit)].min(1)
    return smallest


def _below(pit: Array) -> Array:
    """Return the number of proportions in each row that are at most each level."""
    below: Array = np.apply_along_axis(np.searchsorted, 1, np.sort(pit, 1), levels(pit.shape[1]), side="right")
    return below


@cache
def _null(n: int) -> Array:
    """Return sorted smallest tails of samples of n uniform proportions."""
    return np.sort(smallest_tails(np.random.default_rng(0).random((_NULL_SAMPLES, n))))


@cache
def _tails(n: int) -> Array:
    """Return the smaller tail probability for 0, …, n of n proportions below each level, (n − 1, n + 1)."""
    k, level = np.arange(n + 1), levels(n)[:, None]
    tails: Array = np.minimum(stats.binom.cdf(k, n, level), stats.binom.sf(k - 1, n, level))
    return tails
