"""How a metric, and the order of systems by it, depend on the assumed rate of wrong labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, estimate, metric_title, printable, sentence
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.labels.noisy_labels import noise
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind
from bayesperf.posteriors.posterior import DRAWS
from bayesperf.posteriors.summary_table import table_of_intervals

_RATES = np.linspace(0, 0.1, 11).round(2)
# With more systems than this, only the best is named.
_MOST_NAMES = 5


@checked
def noise_sensitivity(
    cm: ConfusionMatrix,
    metric: str | Metric,
    rates: Sequence[float] | ArrayLike | None = None,
    *,
    dim: str = "model",
    prior: str | priors.Prior | None = None,
    ci_prob: float = 0.95,
    ci_kind: Kind = "hdi",
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """Return a metric at several rates of wrong labels, and whether systems keep their order by it.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts of one system, or of several along `dim`.
    metric : str or Metric
        A metric with one value per system.
    rates : sequence of float, optional
        Rates of wrong labels, in increasing order; by default 0, 1 %, … 10 %.
    dim : str
        The dim of the systems.
    prior, draws, random_seed
        As in `bayesperf.labels.noise`.
    ci_prob, ci_kind
        The interval.

    Returns
    -------
    pandas.DataFrame
        One row per rate and, for several systems, per system: ``mean``, ``ci_lower`` and ``ci_upper`` of the metric,
        and the ``rank`` of the system by that mean; 1 is the best. ``attrs["note"]``, shown below the table, says in
        words up to which rate the order of the systems holds, or gives the metric at the ends.
        `bayesperf.plots.noise_sensitivity` draws it.

    Raises
    ------
    ValueError
        If rates are not increasing or beyond chance, or there are leading dims besides `dim`.

    Notes
    -----
    The order follows the posterior means, which are means of draws: two systems that hardly differ may change places by
    chance.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=[64, 50], fn=[6, 20], fp=[30, 22], tn=[500, 508],
    ...                                     dims={"model": ["eager", "careful"]})
    >>> print(bp.labels.noise_sensitivity(cm, "f1").attrs["note"])
    The order of 2 systems on F1 (eager and careful) holds up to 4 % wrong labels: at 5 % it is another, and careful \
    is the best.
    """
    grid = _increasing(_RATES if rates is None else rates)
    checks.probability("ci_prob", ci_prob)
    posteriors = [noise(cm, float(rate), prior, draws=draws, random_seed=random_seed) for rate in grid]
    resolved = priors.resolve_dirichlet(prior, len(cm.labels), "labels that may be wrong")
    marginals = [post[metric] for post in posteriors]
    if other := [each for each in marginals[0].dims if each != dim]:
        raise InputError(
            "cm", f"besides that of the systems, {dim!r}, there is the dim {other[0]!r}.", "Select along it."
        )
    means = _stacked_by_rate([marginal.mean() for marginal in marginals], grid)
    variables = {
        "mean": means,
        "interval": _stacked_by_rate(
            [marginal.interval(ci_prob, ci_kind).drop_attrs() for marginal in marginals], grid
        ),
        "rank": _ranks(-marginals[0].quantity.better * means, dim),
    }
    attrs = {"metric": marginals[0].name, "dim": dim, "ci_prob": ci_prob, "ci_kind": ci_kind,
             "prior": resolved.describe(cm), "estimand": posteriors[0].estimand}  # fmt: skip
    dataset = xr.Dataset(variables, attrs=attrs)
    table = table_of_intervals(dataset)
    table.attrs |= {"metric": attrs["metric"], "dim": dim, "note": _in_words(dataset)}
    return table


def _in_words(dataset: xr.Dataset) -> str:
    """Return a sentence: up to which rate the order of the systems holds, or the metric at the ends."""
    facts = dataset.attrs
    title, rates = metric_title(facts["metric"]), [f"{100 * rate:.3g} %" for rate in dataset["rate"].values]
    if facts["dim"] not in dataset.dims:
        first, last = _figures(dataset, 0), _figures(dataset, -1)
        none = "no label is wrong" if rates[0] == "0 %" else f"{rates[0]} of the labels are wrong"
        return sentence(f"{title} is {first} if {none}, and {last} if {rates[-1]} are")
    ranks = dataset["rank"].transpose("rate", facts["dim"])
    same, names = (ranks.values == ranks.values[0]).all(1), _ranked(ranks[0])
    order = enumerated(names) if len(names) <= _MOST_NAMES else f"{names[0]} the best"
    subject = f"the order of {len(names)} systems on {title} ({order})"
    if same.all():
        return sentence(f"{subject} holds up to {rates[-1]} wrong labels, the most that was tried")
    changed = int(np.argmin(same))
    leader = _ranked(ranks[changed])[0]
    best = f"{leader} stays the best" if leader == names[0] else f"{leader} is the best"
    last = rates[changed - 1]
    up_to = "holds if no label is wrong" if last == "0 %" else f"holds up to {last} wrong labels"
    return sentence(f"{subject} {up_to}: at {rates[changed]} it is another, and {best}")


def _figures(dataset: xr.Dataset, position: int) -> str:
    at, facts = dataset.isel(rate=position), dataset.attrs
    lower, upper = at["interval"].values
    return estimate(at["mean"].item(), lower, upper, facts["ci_prob"], facts["ci_kind"])


def _ranked(ranks: xr.DataArray) -> list[str]:
    """Return the names of systems in the order of their ranks, best first."""
    return [printable(str(name)) for name in ranks[ranks.dims[0]].values[np.argsort(ranks.values)]]


def _increasing(rates: Any) -> Array:
    grid = checks.vector("rates", rates)
    if len(grid) < 2 or (np.diff(grid) <= 0).any():
        raise InputError("rates", f"must be two or more, in increasing order; they are {grid.tolist()}.")
    return grid


def _stacked_by_rate(values: Sequence[xr.DataArray], grid: Array) -> xr.DataArray:
    return xr.concat(values, xr.DataArray(grid, dims="rate", name="rate")).rename(None)


def _ranks(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Return ranks along a dim, 1 for the smallest value; 1 if there is no such dim."""
    if dim not in values.dims:
        return xr.ones_like(values, dtype=int)
    at = values.get_axis_num(dim)
    return values.copy(data=np.argsort(np.argsort(values.values, axis=at, kind="stable"), axis=at) + 1)
