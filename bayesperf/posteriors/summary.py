"""The rows of a summary: one metric's figures, labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesperf.posteriors.marginal import Kind, Marginal


def summary_rows(marginal: Marginal, ci_prob: float, ci_kind: Kind) -> pd.DataFrame:
    """Return the rows of one metric, one for each place of its leading dims."""
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
