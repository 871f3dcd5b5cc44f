"""How counts and summaries show themselves in a terminal and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

if TYPE_CHECKING:
    from bayesperf.counts.matrix import ConfusionMatrix

_MOST_TABLES = 6
_MOST_ROWS = 100


def matrix_text(cm: ConfusionMatrix) -> str:
    """Return a matrix as a plain-text table; with leading dims, their sizes."""
    title = f"<bayesperf.ConfusionMatrix: {_headline(cm)}>"
    if cm.dims:
        return title
    frame = cm.counts.to_pandas()
    return f"{title}\n{frame.to_string()}"


def matrix_html(cm: ConfusionMatrix) -> str:
    """Return a matrix, or the first few of those along the leading dims, as HTML tables with totals."""
    places = list(islice(np.ndindex(cm.counts.shape[:-2]), _MOST_TABLES))
    shown = []
    for at in places:
        table = cm.counts[at]
        shown.append(table_html(table, ", ".join(f"{dim} {table[dim].values}" for dim in cm.dims)))
    rest = int(np.prod(cm.counts.shape[:-2])) - len(shown)
    more = f"<p>… and {rest} more</p>" if rest else ""
    return (
        f"<div><p><b>ConfusionMatrix</b>: {escape(_headline(cm))}</p>"
        f"<div style='display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-end'>{''.join(shown)}{more}</div></div>"
    )


def figure(value: float, width: float = 1.0) -> str:
    """Write a figure with three decimals, more if its interval is narrow; a large one with three digits."""
    if math.isinf(value):
        return "∞"
    digits = max(3, 1 - math.floor(math.log10(width))) if 0 < width < 1 else 3
    return f"{value:.{digits}f}" if abs(value) < 10 or digits > 3 else f"{value:.3g}"


def caption(attrs: Mapping[Any, Any]) -> str:
    """Return what the intervals of a summary mean, in one sentence."""
    kind = {"hdi": "highest-density interval", "eti": "equal-tailed interval"}[attrs["ci_kind"]]
    return f"{attrs['estimand']}, with its {100 * attrs['ci_prob']:g} % {kind}. Prior: {attrs['prior']}."


class Summary(pd.DataFrame):
    """A tidy table of posterior summaries that says which interval it shows."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        return f"{self.to_string(float_format='{:.4f}'.format, max_rows=_MOST_ROWS)}\n{caption(self.attrs)}"

    def _repr_html_(self) -> str:
        table = self.to_html(index=False, border=0, float_format="{:.4f}".format, max_rows=_MOST_ROWS)
        return f"{table}<p><small>{escape(caption(self.attrs))}</small></p>"


def _headline(cm: ConfusionMatrix) -> str:
    parts = [f"{int(cm.counts.sum())} examples"]
    if cm.dims:
        parts.append(", ".join(f"{dim}: {cm.counts.sizes[dim]}" for dim in cm.dims))
        parts.append(f"{len(cm.labels)} classes")
    if cm.pos_label is not None:
        parts.append(f"positive {cm.pos_label!r}")
    return ", ".join(parts)


def table_html(counts: xr.DataArray, title: str) -> str:
    """Return one matrix as an HTML table with totals; labels and title are escaped."""
    labels = [escape(str(label)) for label in counts["actual"].values.tolist()]
    head = "".join(f"<th>{label}</th>" for label in labels)
    values = counts.transpose("actual", "predicted").values
    rows = "".join(
        f"<tr><th>{label}</th>{''.join(f'<td>{value}</td>' for value in row)}<td><i>{row.sum()}</i></td></tr>"
        for label, row in zip(labels, values, strict=True)
    )
    foot = "".join(f"<td><i>{total}</i></td>" for total in values.sum(0))
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr><th>actual \\ predicted</th>{head}<th>total</th></tr>"
        f"</thead><tbody>{rows}<tr><th>total</th>{foot}<td><i>{values.sum()}</i></td></tr></tbody></table>"
    )
