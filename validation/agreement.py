"""Whether NUTS and quadrature give the same posterior of groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core import checks
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.pooling.pool import DISPERSION, pool
from bayesperf.sampling import nuts
from bayesperf.sampling.compiled import compilation_key
from bayesperf.sampling.fit import built_model
from bayesperf.studies.run import run

FIGURES = ("mean", "q2.5", "median", "q97.5")
TARGETS = ("mean", "new_group", "dispersion")
_LEVELS = (0.025, 0.5, 0.975)


def agreement(
    n_groups: int = 10,
    group_size: int = 40,
    base_rate: float = 0.8,
    logit_sd: float = 0.5,
    simulations: int = 20,
    *,
    groups: Literal["random", "clusters"] = "clusters",
    draws: int = 2000,
    chains: int = 4,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Compare the posterior of groups by NUTS (``fit(model="groups")``) with that by quadrature (`bayesperf.pool`).

    Data sets are those of `validation.sites`; recall is compared.

    Parameters
    ----------
    n_groups, group_size, base_rate, logit_sd, groups
        As in `validation.sites`.
    simulations : int
        Number of data sets.
    draws, chains : int
        Draws of each chain of NUTS, and number of chains.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``nuts``, ``pool`` and the Monte Carlo standard error ``mcse`` of their difference, over (simulation, target,
        figure): mean and quantiles of the population's mean recall, of a new group's, and of its dispersion.
    """
    centre = special.logit(checks.probability("base_rate", base_rate))
    settings = {
        "n_groups": checks.count("n_groups", n_groups),
        "group_size": checks.count("group_size", group_size),
        "base_rate": base_rate,
        "logit_sd": checks.number("logit_sd", logit_sd),
        "simulations": checks.count("simulations", simulations),
        "groups": checks.one_of("groups", groups, tuple(DISPERSION)),
        "draws": checks.count("draws", draws),
        "chains": checks.count("chains", chains, least=2),
        "random_seed": checks.seed(random_seed),
    }

    def simulate(_: int, rng: np.random.Generator) -> dict[str, Any]:
        rates = special.expit(rng.normal(centre, logit_sd, (2, n_groups)))
        tp, tn = (xr.DataArray(row, dims="site") for row in rng.binomial(group_size, rates))
        cm = ConfusionMatrix.from_counts(tp=tp, fn=group_size - tp, fp=group_size - tn, tn=tn)
        pooled = pool(cm, "site", groups, draws=20_000, random_seed=int(rng.integers(2**31)))
        exact = [pooled.mean["recall"], pooled.new_group["recall"], pooled.dispersion]
        by_pool = [[m.mean(), *m.ppf(_LEVELS)] for m in exact[:2]]
        dispersion = exact[2]
        by_pool.append([dispersion.mean().sel(actual=1), *dispersion.ppf(_LEVELS).sel(actual=1)])
        by_nuts = _by_nuts(cm, groups, draws, chains, rng)
        return {"pool": np.array(by_pool, float), "nuts": by_nuts[0], "mcse": by_nuts[1]}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"simulation": np.arange(simulations), "target": list(TARGETS), "figure": list(FIGURES)}
    return xr.Dataset({name: (tuple(coords), values) for name, values in results.items()}, coords, settings)


def _by_nuts(
    cm: ConfusionMatrix, groups: str, draws: int, chains: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the figures of each target, and their Monte Carlo standard errors."""
    from arviz_stats.base import array_stats

    from bayesperf.models import groups as model

    counts = cm.counts
    options = {"dim": "site", "groups": groups}
    built = built_model("groups", counts, None, options)
    key = compilation_key("groups", built, counts, options, None)
    sizes = {"draws": draws, "tune": 1000, "chains": chains}
    accept = nuts.target_accept(model)
    with nuts.quiet():
        sampled = nuts.sample(built, sizes, int(rng.integers(2**31)), key=key, target_accept=accept)[1]["posterior"]
    new = model.recover(sampled, counts, rng, **options)["cells_new"].sel(actual=1)
    targets = [
        sampled["rates"].sel(actual=1, predicted=1),
        new.sel(predicted=1) / new.sum("predicted"),
        sampled["dispersion"].sel(actual=1),
    ]
    figures, errors = [], []
    for target in targets:
        values = target.transpose("chain", "draw").values
        figures.append([values.mean(), *np.quantile(values, _LEVELS)])
        of_quantiles = [
            float(array_stats.mcse(values, method="quantile", prob=level, chain_axis=0, draw_axis=1))
            for level in _LEVELS
        ]
        errors.append([float(array_stats.mcse(values, chain_axis=0, draw_axis=1)), *of_quantiles])
    return np.array(figures), np.array(errors)
