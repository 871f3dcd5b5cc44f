"""Tables of posterior summaries: their rows and their presentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.words import interval_name
from bayesperf.data.count_arrays import SUMMARY_COLUMNS
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta

if TYPE_CHECKING:
    from bayesperf.posteriors.marginal import Kind, Marginal

_MOST_ROWS = 100
_HALF = np.array([[0.5]])
# What `_figures` returns.
_FIGURES = ("mean", "sd", "median", "ci_lower", "ci_upper", "mcse", "mcse_interval", "undefined")


class Summary(pd.DataFrame):
    """A tidy table of posterior summaries whose representation states the kind of interval."""

    @classmethod
    def of(cls, table: pd.DataFrame, ci_prob: float, ci_kind: str, **facts: Any) -> Summary:
        """Return a table with what describes its intervals: their kind, the estimand, the prior and any note."""
        summary = cls(table)
        described: dict[Any, Any] = {"ci_prob": ci_prob, "ci_kind": ci_kind, **facts}
        summary.attrs = described
        return summary

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
    """Return a dataset with a variable ``interval`` as a summary, with the column names of other summaries."""
    interval = dataset["interval"].transpose(..., "ci_bound")
    ends = {"ci_lower": interval[..., 0], "ci_upper": interval[..., 1]}
    figures = dataset.drop_dims("ci_bound").assign({name: end.drop_vars("ci_bound") for name, end in ends.items()})
    table = figures.to_dataframe(list(dataset["mean"].dims)).reset_index()
    return Summary.of(table, **{name: dataset.attrs[name] for name in ("ci_prob", "ci_kind", "estimand", "prior")})


def caption(attrs: Mapping[Any, Any]) -> str:
    """Return a sentence that describes the intervals of a summary, followed by its note if it has one."""
    interval = interval_name(attrs["ci_prob"], attrs["ci_kind"])
    prior = f"Prior: {attrs['prior']}. " if "prior" in attrs else ""
    return f"{attrs['estimand']}, with its {interval}. {prior}{attrs.get('note', '')}".strip()


def summary_rows(
    marginals: Sequence[Marginal],
    ci_prob: float,
    ci_kind: Kind,
    observed: Sequence[Array] | None = None,
    mode: bool = False,
) -> pd.DataFrame:
    """Return the rows of metrics, one for each element of the leading dims of each.

    They have the observed values of each metric, if given, the mode, if requested, and the fraction ``undefined``, if
    any draw is undefined. In the column ``label``, a metric without classes has "".
    """
    prob, kind = checks.interval(ci_prob, ci_kind)
    sizes = [marginal.leading.size for marginal in marginals]
    dims = dict.fromkeys(str(dim) for marginal in marginals for dim in marginal.dims)
    figures = _of_each([m.distribution for m in marginals], lambda d: _figures(d, prob, kind))
    columns: dict[str, NDArray[Any]] = {
        "metric": np.repeat([marginal.name for marginal in marginals], sizes),
        "method": np.repeat([marginal.method for marginal in marginals], sizes),
        **dict(zip(_FIGURES, figures.T, strict=True)),
    }
    if observed is not None:
        columns["observed"] = np.concatenate([values.ravel() for values in observed])
    if mode:
        columns["mode"] = _of_each([m.distribution for m in marginals], lambda d: d.mode())
    places = {
        dim: np.concatenate([_coordinates_along(marginal.leading, dim) for marginal in marginals]) for dim in dims
    }
    if not columns["undefined"].any():
        del columns["undefined"]
    order = ("metric", *dims, *SUMMARY_COLUMNS[1:5], "mode", *SUMMARY_COLUMNS[5:])
    return pd.DataFrame({name: (columns | places)[name] for name in order if name in columns | places})


def _figures(distribution: Distribution, prob: float, kind: Kind) -> Array:
    """Return the figures that every distribution has, (m, figures)."""
    d = distribution
    median, ends, error = d.ppf(_HALF)[:, 0], d.interval(prob, kind), d.mcse_interval(prob, kind)
    return np.stack([*d.mean_sd(), median, *ends.T, d.mcse(), error, d.undefined()], -1)


def _of_each(distributions: Sequence[Distribution], function: Callable[[Distribution], Array]) -> Array:
    """Return a function of several arrays of distributions, (m, …); all Betas are computed at once."""
    betas = [each for each in distributions if type(each) is Beta]
    ends = np.cumsum([each.size for each in betas])
    together = Beta(np.vstack([d.a for d in betas]), np.vstack([d.b for d in betas])) if betas else None
    parts = iter([] if together is None else np.split(together.each(function), ends[:-1]))
    return np.concatenate([next(parts) if type(each) is Beta else each.each(function) for each in distributions])


def _coordinates_along(leading: xr.DataArray, dim: str) -> NDArray[Any]:
    """Return the coordinate of each element of the leading dims along one of them."""
    if dim not in leading.dims:
        return np.full(leading.size, "", object)
    axis = leading.dims.index(dim)
    along = leading[dim].values.reshape(-1, *[1] * (leading.ndim - 1 - axis))
    values = np.broadcast_to(along, leading.shape).ravel()
    # Labels keep their type beside the empty ones of other metrics.
    return values.astype(object) if dim == "label" else values
