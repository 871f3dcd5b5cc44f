"""Labels put on what is computed with arrays: metrics of cells, and the rows of a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.counts.tables import CELL_DIMS
from bayesperf.metrics.registry import Metric
from bayesperf.posteriors.marginal import Kind, Marginal


def evaluate(metric: Metric, cells: xr.DataArray, positive: int | None) -> xr.DataArray:
    """Return a metric of labelled cells (…, actual, predicted), with dim ``label`` if it is one a class."""
    cells = cells.transpose(..., *CELL_DIMS)
    per_class = metric.average == "per_class"
    dims = (*cells.dims[:-2], *(["label"] if per_class else []))
    coords = cells.coords.to_dataset().drop_dims(CELL_DIMS).coords
    if per_class:
        coords = coords.assign(label=cells["actual"].values)
    return xr.DataArray(metric.evaluate(cells.values, positive), coords, dims, name=metric.name)


def summary_rows(marginal: Marginal, dims: Sequence[Any], ci_prob: float, ci_kind: Kind) -> pd.DataFrame:
    """Return one metric's part of a summary."""
    interval = marginal.interval(ci_prob, ci_kind)
    figures: dict[str, NDArray[Any]] = {
        "mean": marginal.mean().values,
        "sd": marginal.sd().values,
        "median": marginal.median().values,
        "ci_lower": interval.values[..., 0],
        "ci_upper": interval.values[..., 1],
    }
    coords = np.meshgrid(*[np.arange(size) for size in interval.shape[:-1]], indexing="ij")
    where = {dim: interval[dim].values[index.ravel()] for dim, index in zip(marginal.dims, coords, strict=True)}
    rows = pd.DataFrame(
        {
            "metric": marginal.name,
            **where,
            **{name: values.ravel() for name, values in figures.items()},
            "method": marginal.method,
            "mcse": marginal.mcse().values.ravel(),
            "undefined": marginal.undefined().values.ravel(),
        },
        index=range(figures["mean"].size),
    )
    # Labels stay what they are beside the empty ones of metrics that have none.
    return rows.astype({"label": object}) if "label" in rows else rows
