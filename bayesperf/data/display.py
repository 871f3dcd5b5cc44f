"""Tables of counts as plain text and as HTML."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.words import plural, printable
from bayesperf.data.axis_names import REPEAT
from bayesperf.data.count_arrays import CELL_DIMS, has_uncounted_negatives, repeated_dim, same_examples

_MOST_TABLES = 6


def matrix_text(counts: xr.DataArray, pos_label: Any) -> str:
    """Return a matrix as a plain-text table; with leading dims, their sizes."""
    title = f"<bayesperf.ConfusionMatrix: {_headline(counts, pos_label)}>"
    if counts.ndim > 2:
        return title
    labels = [printable(str(label)) for label in counts["actual"].values.tolist()]
    return f"{title}\n{counts.assign_coords(dict.fromkeys(CELL_DIMS, labels)).to_pandas().to_string()}"


def matrix_html(counts: xr.DataArray, pos_label: Any) -> str:
    """Return a matrix, or the first few matrices along the leading dims, as HTML tables with totals."""
    leading = counts.shape[:-2]
    tables = []
    for place in islice(np.ndindex(leading), _MOST_TABLES):
        table = counts[place]
        tables.append(table_html(table, ", ".join(f"{dim} {table[dim].values}" for dim in counts.dims[:-2])))
    rest = int(np.prod(leading)) - len(tables)
    more = f"<p>… and {rest} more</p>" if rest else ""
    return (
        f"<div><p><b>ConfusionMatrix</b>: {escape(_headline(counts, pos_label))}</p>"
        f"<div style='display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-end'>{''.join(tables)}{more}</div></div>"
    )


def _examples(counts: xr.DataArray) -> int:
    """Return the number of examples, which systems tested on the same ones share."""
    return int(counts.sum()) // counts.sizes.get(same_examples(counts), 1)


def _headline(counts: xr.DataArray, pos_label: Any) -> str:
    """Return the number of examples, the sizes of the leading dims and the positive class."""
    again, total = repeated_dim(counts), _examples(counts)
    parts = [f"{total} examples"]
    if again == REPEAT:
        repeats = counts.sizes[REPEAT]
        parts = [f"{total // repeats} examples", f"each once in each of {repeats} repeats"]
    elif again is not None:
        parts = [f"{total} tests of examples", f"shared by {plural(str(again))}"]
    if counts.ndim > 2:
        parts.append(", ".join(f"{printable(str(dim))}: {counts.sizes[dim]}" for dim in counts.dims[:-2]))
        parts.append(f"{counts.sizes['actual']} classes")
    if pos_label is not None:
        parts.append(f"positive {pos_label!r}")
    if has_uncounted_negatives(counts):
        parts.append("true negatives not counted")
    return ", ".join(parts)


def table_html(counts: xr.DataArray, title: str) -> str:
    """Return one matrix as an HTML table with totals; labels and title are escaped."""
    labels = [escape(str(label)) for label in counts["actual"].values.tolist()]
    head = "".join(f"<th scope='col'>{label}</th>" for label in labels)
    values = counts.transpose("actual", "predicted").values
    rows = "".join(
        f"<tr><th scope='row'>{label}</th>{''.join(f'<td>{n}</td>' for n in row)}<td><i>{row.sum()}</i></td></tr>"
        for label, row in zip(labels, values, strict=True)
    )
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    foot = "".join(f"<td><i>{total}</i></td>" for total in values.sum(0))
    return (
        f"<table>{caption}<thead><tr>"
        f"<th scope='col'>actual \\ predicted</th>{head}<th scope='col'>total</th></tr>"
        f"</thead><tbody>{rows}<tr><th scope='row'>total</th>{foot}<td><i>{values.sum()}</i></td></tr></tbody></table>"
    )


def outcomes_text(counts: xr.DataArray) -> str:
    """Return counts of outcomes as a plain-text table; with leading dims, their sizes."""
    title = f"<bayesperf.Outcomes: {_outcomes_headline(counts)}>"
    if counts.ndim > 1:
        return title
    grades = pd.Index(counts["outcome"].values, name="outcome")
    return f"{title}\n{pd.DataFrame([counts.values], ['counts'], grades).to_string()}"


def outcomes_html(counts: xr.DataArray) -> str:
    """Return counts of outcomes, or the first few along the leading dims, as an HTML table."""
    head = "".join(f"<th scope='col'>{grade}</th>" for grade in counts["outcome"].values.tolist())
    rows = []
    for place in islice(np.ndindex(counts.shape[:-1]), _MOST_TABLES):
        name = ", ".join(f"{dim} {counts[place][dim].values}" for dim in counts.dims[:-1])
        cells = "".join(f"<td>{n}</td>" for n in counts[place].values.tolist())
        rows.append(f"<tr><th scope='row'>{escape(name)}</th>{cells}</tr>")
    return (
        f"<div><p><b>Outcomes</b>: {escape(_outcomes_headline(counts))}</p>"
        f"<table><thead><tr><th scope='col'>outcome</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _outcomes_headline(counts: xr.DataArray) -> str:
    sizes = [f"{printable(str(dim))}: {counts.sizes[dim]}" for dim in counts.dims[:-1]]
    return ", ".join([f"{_examples(counts):,} examples", *sizes])
