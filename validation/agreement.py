"""Whether NUTS and quadrature give the same posterior of groups: ``fit(model="groups")`` against `bayesperf.pool`.

Data sets are those of `validation.sites`; recall is compared: mean and quantiles of the population's mean recall, of a
new group's, and of its dispersion.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.base import array_stats
from scipy import special

from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.pooling import pool
from bayesperf.models import groups as model
from bayesperf.sampling import nuts
from bayesperf.sampling.backend import compilation_key
from bayesperf.sampling.fitting import built_model
from validation.study import Study, run

FIGURES = ("mean", "q2.5", "median", "q97.5")
TARGETS = ("mean", "new_group", "dispersion")
_LEVELS = (0.025, 0.5, 0.975)


def simulate(
    rng: np.random.Generator,
    *,
    n_groups: int,
    group_size: int,
    base_rate: float,
    logit_sd: float,
    groups: str,
    draws: int,
    chains: int,
) -> dict[str, Any]:
    """Return the figures (target, figure) of a data set by either way, and the standard error of their difference."""
    rates = special.expit(rng.normal(special.logit(base_rate), logit_sd, (2, n_groups)))
    tp, tn = (xr.DataArray(row, dims="site") for row in rng.binomial(group_size, rates))
    cm = ConfusionMatrix.from_counts(tp=tp, fn=group_size - tp, fp=group_size - tn, tn=tn)
    pooled = pool(cm, "site", groups, draws=20_000, random_seed=int(rng.integers(2**31)))
    by_pool = [[m.mean(), *m.ppf(_LEVELS)] for m in (pooled.mean["recall"], pooled.new_group["recall"])]
    dispersion = pooled.dispersion
    by_pool.append([dispersion.mean().sel(actual=1), *dispersion.ppf(_LEVELS).sel(actual=1)])
    by_nuts, mcse = _by_nuts(cm, groups, draws, chains, rng)
    return {"pool": np.array(by_pool, float), "nuts": by_nuts, "mcse": mcse}


def reduce(results: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of every simulation."""
    return {name: (("simulation", "target", "figure"), values) for name, values in results.items()}


def _by_nuts(
    cm: ConfusionMatrix, groups: str, draws: int, chains: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the figures of each target, and their Monte Carlo standard errors."""
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


STUDY = Study(
    grid={},
    simulate=simulate,
    reduce=reduce,
    rows={"target": list(TARGETS), "figure": list(FIGURES)},
    settings={
        "n_groups": 10,
        "group_size": 40,
        "base_rate": 0.8,
        "logit_sd": 0.5,
        "groups": "clusters",
        "draws": 2000,
        "chains": 4,
    },
)


def agreement_table(jobs: int) -> pd.DataFrame:
    """Return the figures of eight data sets."""
    return run(STUDY, 8, n_jobs=jobs).to_dataframe().reset_index()


TABLES = {"agreement": agreement_table}
