"""Matching the rows of systems that belong to the same example, inside the user's own data engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import xarray as xr

from bayesperf.core.arrays import Counts
from bayesperf.core.errors import InputError
from bayesperf.data.count_arrays import check_dims
from bayesperf.data.frames import collect, engine_errors, lazy_frame, select
from bayesperf.data.response_patterns import dim_of_systems


class MatchedColumns(NamedTuple):
    """Columns of examples tested by several systems: facts that must agree, and each system's prediction.

    `rows` is the number of examples behind each entry, `leading` the names of the facts that become leading dims.
    """

    dim: str
    systems: list[Any]
    facts: dict[str, Any]
    predicted: dict[str, Any]
    leading: list[str]
    rows: Counts


def matched_columns(
    frame: Any,
    actual: Sequence[str],
    predicted: str,
    by: Sequence[str],
    example: str,
    counts: xr.DataArray,
    cluster: str | None = None,
) -> MatchedColumns:
    """Match rows, one per system and example, by the ids of their examples.

    `actual` names the columns besides `by` in which systems must agree. `counts` counts the rows without regard to the
    ids; its coordinates name the systems. Missing ids, a system with an example twice or not at all, and rows of an
    example that disagree, also in their `cluster`, are refused.
    """
    dim = dim_of_systems(by)
    check_dims(list(by), ("pattern",))
    of_clusters = [] if cluster is None else [cluster]
    lazy = lazy_frame(frame, [*actual, predicted, *by, example, *of_clusters])
    systems = counts[dim].values.tolist()
    _check_ids(lazy, dim, systems, example)
    leading = [name for name in by if name != dim]
    facts = [*actual, *leading]
    values, rows = _matched(lazy, dim, systems, example, [*facts, *of_clusters, predicted])
    _check_matched(int(rows.sum()), counts.sum([name for name in counts.dims if name != dim]).values, dim, systems)
    for name in (*facts, *of_clusters):
        _check_same(name, [np.asarray(values[name, place]) for place in range(len(systems))], rows, dim, systems)
    said = {f"{predicted} of {place}": values[predicted, place] for place in range(len(systems))}
    return MatchedColumns(dim, systems, {name: values[name, 0] for name in facts}, said, leading, rows)


def _check_ids(lazy: nw.LazyFrame[Any], dim: str, systems: Sequence[Any], example: str) -> None:
    """Refuse missing ids, and an example that a system was tested on twice."""
    without_id = nw.when(nw.col("example").is_null()).then(nw.col("rows")).otherwise(0).alias("missing")
    with engine_errors():
        rows = select(lazy, {"system": dim, "example": example})
        # Twice grouped: Dask's number of different ids counts one again in each partition.
        judged = rows.group_by("system", "example").agg(nw.len().alias("rows")).with_columns(without_id)
        totals = judged.group_by("system").agg(
            nw.col("rows").sum(), nw.len().alias("different"), nw.col("missing").sum()
        )
        found = collect(totals).to_dict(as_series=False)
    totals_of = {system: map(int, numbers) for system, *numbers in zip(*found.values(), strict=True)}
    for system in systems:
        n, different, missing = totals_of.get(system, (0, 0, 0))
        if missing:
            raise InputError(
                "example",
                f"column {example!r} has {missing} missing value{'s' * (missing > 1)} for {dim} {system!r}.",
                "Give every row an id.",
            )
        if different < n:
            raise InputError(
                "example",
                f"{dim} {system!r} has {n} rows of {different} different examples.",
                "A system judges an example once. If it was judged again, in repeats or attempts, "
                f"leave out example and count with cluster={example!r}, for bp.pool.",
            )


def _matched(
    lazy: nw.LazyFrame[Any], dim: str, systems: Sequence[Any], example: str, columns: Sequence[str]
) -> tuple[dict[tuple[str, int], Any], Counts]:
    """Return the combinations of all systems' columns over the common examples, and their counts."""
    roles = {(name, place): f"key_{k}_{place}" for place in range(len(systems)) for k, name in enumerate(columns)}
    with engine_errors():
        joined = _rows_of(lazy, dim, systems[0], example, {roles[name, 0]: name for name in columns})
        for place, system in enumerate(systems[1:], 1):
            rows = _rows_of(lazy, dim, system, example, {roles[name, place]: name for name in columns})
            joined = joined.join(rows, on="example", how="inner")
        counted = collect(joined.group_by(*roles.values()).agg(nw.len().alias("rows")))
    return {key: counted[role].to_native() for key, role in roles.items()}, counted["rows"].to_numpy()


def _rows_of(lazy: nw.LazyFrame[Any], dim: str, system: Any, example: str, roles: dict[str, str]) -> nw.LazyFrame[Any]:
    """Return one system's columns, under their new names, and the ids of its examples."""
    rows = select(lazy, {"system": dim, "example": example, **roles})
    return rows.filter(nw.col("system") == system).drop("system")


def _check_matched(matched: int, judged: Counts, dim: str, systems: Sequence[Any]) -> None:
    """Refuse systems that were not tested on the same examples."""
    if (judged > matched).any():
        most = int(judged.argmax())
        raise InputError(
            "example",
            f"systems must be tested on the same examples; {dim} {systems[most]!r} was tested on "
            f"{judged[most]}, of which all were on {matched}.",
            "Drop the others for all systems, or leave out `example`: the systems then count as "
            "tested on different ones.",
        )


def _check_same(name: str, columns: Sequence[Any], rows: Counts, dim: str, systems: Sequence[Any]) -> None:
    """Refuse examples whose rows differ between systems in a column that they must agree in."""
    for system, column in zip(systems[1:], columns[1:], strict=True):
        differ = rows[column != columns[0]].sum()
        if differ:
            raise InputError(
                "column",
                f"{name!r} differs between {dim} {systems[0]!r} and {system!r} for {differ} "
                f"example{'s' * bool(differ > 1)}.",
                "Rows of one example must agree in all but the system and its prediction.",
            )
