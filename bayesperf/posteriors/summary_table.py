"""Tables of posterior summaries: their rows and their presentation."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core.words import interval_name
from bayesperf.posteriors.marginal import Kind, Marginal

_MOST_ROWS = 100


class Summary(pd.DataFrame):
    """A tidy table of posterior summaries whose representation states the kind of interval."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        table = self.to_string(float_format="{:.4f}".format, na_rep="", max_rows=_MOST_ROWS)
        return f"{table}\n{caption(self.attrs)}"

    def _repr_html_(self) -> str:
        table = self.to_html(index=False, border=0, float_format="{:.4f}".format, na_rep="", max_rows=_MOST_ROWS)
        return f"{table}<p><small>{escape(caption(self.attrs))}</small></p>"


def table_of_intervals(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a dataset with a variable ``interval`` as a summary, whose columns have the names of those of others."""
    interval = dataset["interval"].transpose(..., "ci_bound")
    ends = {"ci_lower": interval[..., 0], "ci_upper": interval[..., 1]}
    figures = dataset.drop_dims("ci_bound").assign({name: end.drop_vars("ci_bound") for name, end in ends.items()})
    summary = Summary(figures.to_dataframe(list(dataset["mean"].dims)).reset_index())
    summary.attrs = {name: dataset.attrs[name] for name in ("ci_prob", "ci_kind", "estimand", "prior")}
    return summary


def caption(attrs: Mapping[Any, Any]) -> str:
    """Return a sentence that describes the intervals of a summary, and its note if there is one."""
    interval = interval_name(attrs["ci_prob"], attrs["ci_kind"])
    return f"{attrs['estimand']}, with its {interval}. Prior: {attrs['prior']}. {attrs.get('note', '')}".strip()


def summary_rows(
    marginal: Marginal,
    ci_prob: float,
    ci_kind: Kind,
    observed: xr.DataArray | None = None,
    mode: bool = False,
) -> pd.DataFrame:
    """Return the rows of one metric, one for each element of its leading dims.

    They have the observed values, if given, and the mode, if wanted.
    """
    interval = marginal.interval(ci_prob, ci_kind)
    figures: dict[str, NDArray[Any]] = {} if observed is None else {"observed": observed.values}
    figures |= {
        "mean": marginal.mean().values,
        "sd": marginal.sd().values,
        "median": marginal.median().values,
        **({"mode": marginal.mode().values} if mode else {}),
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
            "mcse_interval": marginal.mcse_interval(ci_prob, ci_kind).values.ravel(),
            "undefined": marginal.undefined().values.ravel(),
        },
        index=range(figures["mean"].size),
    )
    # Keep the type of the labels when they are joined with the empty labels of other metrics.
    return rows.astype({"label": object}) if "label" in rows else rows
