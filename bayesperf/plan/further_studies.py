"""How many more studies of a test do we need? Simulated from what the studies so far say of such studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.groups.accuracy_over_studies import METRICS, MetaAnalysis, analysed
from bayesperf.groups.study_integrals import rows_of_rates

RATES = METRICS[:2]


@checked
def more_studies(
    studies: MetaAnalysis,
    numbers: Sequence[int],
    *,
    simulations: int = 20,
    draws: int = 500,
    ci_prob: float = 0.95,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """Return how narrow the intervals of a meta-analysis will be after more studies.

    Parameters
    ----------
    studies : MetaAnalysis
        The studies so far, by `bayesperf.groups.meta_analysis` of counts.
    numbers : sequence of int
        Numbers of further studies, each of the size of one of the studies so far.
    simulations : int
        Simulations for each number.
    draws : int
        Draws of each analysis, which takes a quarter of a second.
    ci_prob : float
        Probability of the highest-density intervals.
    random_seed : int or numpy.random.Generator
        Seed of the simulation.

    Returns
    -------
    pandas.DataFrame
        For each number and rate: ``number``, ``metric``, and the mean half-widths of the intervals of the
        ``median_study`` and of a ``new_study``, with the standard error ``mcse`` of the former.

    Raises
    ------
    TypeError, ValueError
        If `studies` is not a meta-analysis, or comes from `fit`, whose priors it does not know.

    Notes
    -----
    In each simulation a draw of the posterior is the truth, and further studies are analysed together with those there
    are. The interval of a new study does not shrink to nothing: studies differ.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
    >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
    >>> table = bp.plan.more_studies(studies, [10], simulations=2)
    >>> table["metric"].tolist()
    ['recall', 'specificity']
    """
    checks.instance("studies", studies, MetaAnalysis)
    if not studies.own_priors:
        raise InputError("studies", "come from `fit`, whose priors they do not know.", "Call meta_analysis(counts).")
    asked = [checks.count("numbers", n, least=0) for n in numbers]
    prob, rng = checks.probability("ci_prob", ci_prob), np.random.default_rng(checks.seed(random_seed))
    rows = []
    for number in asked:
        found = np.array([
            _half_widths(_with_more(studies, number, rng), draws, prob, int(rng.integers(2**31)))
            for _ in range(checks.count("simulations", simulations, least=2))
        ])  # fmt: skip
        errors = found[:, 0].std(0, ddof=1) / np.sqrt(len(found))
        rows += [(number, rate, *found.mean(0)[:, i], errors[i]) for i, rate in enumerate(RATES)]
    return pd.DataFrame(rows, columns=["number", "metric", "median_study", "new_study", "mcse"])


def _with_more(studies: MetaAnalysis, number: int, rng: np.random.Generator) -> xr.DataArray:
    """Return the counts of the studies and of simulated ones, in all (study, actual, predicted)."""
    counts, dim = studies.counts.transpose(studies.dim, "actual", "predicted"), studies.dim
    if not number:
        return counts
    place = tuple(int(rng.integers(studies.drawn.sizes[each])) for each in ("chain", "draw"))
    location, spread, correlation = (
        studies.drawn[name].transpose("chain", "draw", ...).values[place]
        for name in ("location", "spread", "correlation")
    )
    z = rng.standard_normal((number, 2)) @ np.linalg.cholesky([[1, correlation], [correlation, 1]]).T
    labels, rows = counts["actual"].values.tolist(), rows_of_rates(counts)
    sizes = counts.values.sum(-1)[rng.integers(len(counts), size=number)]
    right = rng.binomial(sizes[:, rows], expit(location + spread * z))
    added = np.zeros((number, 2, 2), int)
    for place_of_rate, row in enumerate(rows):
        added[:, row, row] = right[:, place_of_rate]
        added[:, row, 1 - row] = sizes[:, row] - right[:, place_of_rate]
    names = [f"further study {i + 1}" for i in range(number)]
    more = xr.DataArray(added, {dim: names, "actual": labels, "predicted": labels}, counts.dims)
    named = counts.assign_coords({dim: list(map(str, counts[dim].values))})
    return xr.concat([named, more], dim).assign_attrs(counts.attrs)


def _half_widths(counts: xr.DataArray, draws: int, prob: float, seed: int) -> Array:
    """Return half the widths (answer, rate) of the intervals of the median study and of a new one."""
    found = analysed(counts, draws, seed)
    intervals = [[post[rate].hdi(prob).values for rate in RATES] for post in (found.median_group, found.new_group)]
    return np.ptp(np.array(intervals), -1) / 2
