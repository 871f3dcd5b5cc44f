"""Conversion of posteriors to ArviZ trees and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.data.count_arrays import CELL_DIMS, as_outcomes, as_table
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.quantity import Scope
from bayesperf.posteriors.sources.stored_draws import StoredDraws
from bayesperf.posteriors.tree_attributes import (
    GROUPS_DIM,
    INDEPENDENT_DRAWS,
    NO_PREDICTION,
    POSITIVE,
    PREVALENCE,
    PREVALENCE_KNOWN,
    PRIOR,
    REFUSAL,
    REPEATS,
    VERSIONS,
    figures_of,
)

# The variable of each part of a tree of groups, and the kind of its scope; the mean has the scope that the tree states.
PARTS = {
    "mean": ("cells", ""),
    "median_group": ("cells_median", "median_group"),
    "by_group": ("cells_group", "group"),
    "new_group": ("cells_new", "new_group"),
}


def to_tree(
    cells: xr.DataArray,
    metrics: Sequence[tuple[str, Metric]],
    positive: int | None,
    facts: Mapping[str, Any],
    observed: xr.DataArray | None,
) -> xr.DataTree:
    """Return a tree with draws of cells (…, chain, draw, actual, predicted) and the metrics computed from them.

    `metrics` are pairs of a variable's name and its metric; `positive` is the position of the positive class; `facts`
    are attributes of the group ``posterior`` (tree_attributes.py).
    """
    named = dict(metrics)
    if len(named) < len(set(metrics)):
        raise InputError("metrics", "two have the same name; a tree needs a name a variable.")
    dims = [dim for dim in cells.dims if dim not in ("chain", "draw", *CELL_DIMS)]
    if clash := set(named) & set(map(str, dims)):
        raise InputError("metrics", f"{clash.pop()!r} is the name of a dim, too.", "Rename that dim.")
    variables = {"cells": as_outcomes(cells)} | {
        name: evaluate(metric, cells, positive) for name, metric in named.items()
    }
    dataset = xr.Dataset({name: value.transpose("chain", "draw", *dims, ...) for name, value in variables.items()})
    dataset.attrs = {**facts, VERSIONS[0]: version("bayesperf")}
    groups = {"posterior": dataset}
    if observed is not None:
        groups["observed_data"] = as_outcomes(observed).to_dataset(name="counts")
    # ArviZ takes the coordinate of a system or site that was selected for a dim, and stops at it.
    scalars = {name: [at for at, coord in group.coords.items() if not coord.dims] for name, group in groups.items()}
    return xr.DataTree.from_dict({name: group.drop_vars(scalars[name]) for name, group in groups.items()})


def _dim_of_groups(dataset: xr.Dataset) -> str:
    """Return the dim of the groups of a model's cells."""
    (dim,) = set(dataset["cells_group"].dims) - set(dataset["cells"].dims)
    return str(dim)


def in_chains(cells: xr.DataArray) -> xr.DataArray:
    """Deal the independent draws of one chain to four, which ArviZ compares, or to as many equal chains as possible."""
    draws = cells.sizes["draw"]
    chains = next(chains for chains in (4, 3, 2, 1) if draws % chains == 0)
    axis = cells.dims.index("chain")
    shape = (*cells.shape[:axis], chains, draws // chains, *cells.shape[axis + 2 :])
    coords = {name: coord for name, coord in cells.coords.items() if not {"chain", "draw"} & {*coord.dims}}
    numbered = {"chain": np.arange(chains), "draw": np.arange(draws // chains)}
    return xr.DataArray(cells.values.reshape(shape), coords | numbered, cells.dims)


def read_tree(tree: xr.DataTree, pos_label: Any, part: str) -> dict[str, Any]:
    """Validate a tree, and return the fields of the posterior that its draws of cells make."""
    checks.instance("tree", tree, xr.DataTree)
    name, kind = PARTS[checks.one_of("part", part, PARTS)]
    if "posterior" not in tree.children or name not in tree["posterior"].data_vars:
        advice = "Its model has no groups, or does not draw them: take the mean." if name != "cells" else ""
        if figures := list(figures_of(tree)):
            advice = f"This fit has other figures: Marginal.from_datatree(tree, {figures[0]!r})."
        raise InputError("tree", f"has no variable {name!r} in a group 'posterior'.", advice)
    dataset = tree["posterior"].to_dataset()
    cells = as_table(dataset[name])
    missing = {"chain", "draw", *CELL_DIMS} - set(cells.dims)
    if missing:
        raise InputError("cells", f"has no dim {', '.join(sorted(missing))}; its dims are {cells.dims}.")
    total = cells.sum(CELL_DIMS)
    if not (np.isfinite(cells).all() and (cells >= 0).all() and np.allclose(total, 1, atol=1e-4)):
        raise InputError("cells", "must be probabilities: none missing or negative, each matrix summing to 1.")
    labels = cells["predicted"].values.tolist()
    positive = int(dataset.attrs.get(POSITIVE, -1))
    if pos_label is None and positive >= 0:
        pos_label = labels[positive]
    template = cells.isel(chain=0, draw=0, drop=True).transpose(..., *CELL_DIMS)
    observed = _observed(tree, template, dataset.attrs)
    if observed is None or set(observed.dims) != set(template.dims):
        observed = None
    else:
        observed = observed.reindex({dim: template[dim].values for dim in template.dims})
        if observed.isnull().any():
            raise InputError("observed_data", "its coordinates are not those of the cells.")
    fields = {
        "source": StoredDraws(
            cells.transpose(*template.dims[:-2], "chain", "draw", *CELL_DIMS),
            independent_draws=bool(dataset.attrs.get(INDEPENDENT_DRAWS, 0)),
            refusal=str(dataset.attrs.get(REFUSAL, "")),
            no_prediction=str(dataset.attrs.get(NO_PREDICTION, "")),
        ),
        "pos_label": _pos_label(template, pos_label),
        "prior_text": str(dataset.attrs.get(PRIOR, "that of the model")),
        "scope": Scope(kind, _dim_of_groups(dataset)) if kind else Scope.read(dataset.attrs),
        "observed": observed,
    }
    # The counts of all groups together, or of labelled examples, are an observation of none of these.
    if fields["scope"].kind in ("new_group", "median_group", "unlabelled"):
        fields |= {"observed": None, "learned_from": observed}
    if PREVALENCE in dataset.attrs:
        fields["prevalence"] = Prevalence(np.atleast_1d(dataset.attrs[PREVALENCE]), fixed=True)
    if not dataset.attrs.get(PREVALENCE_KNOWN, 1):
        fields["prevalence"] = None
    return fields


def _pos_label(template: xr.DataArray, pos_label: Any) -> Any:
    """Return the positive class after a check of the labels; outcomes have none."""
    cells = xr.zeros_like(as_outcomes(template), dtype=int)
    return Outcomes(cells).pos_label if "outcome" in cells.dims else ConfusionMatrix(cells, pos_label).pos_label


def observed_table(tree: xr.DataTree) -> xr.DataArray | None:
    """Return the table of counts of a tree, stored beside the parts that its model observes; None if it has none.

    A tree of sequences has transitions; their table counts all samples.
    """
    groups = [tree[name].to_dataset() for name in ("observed_data", "constant_data") if name in tree]
    known = [as_table(group[name]) for name in ("samples", "counts") for group in groups if name in group]
    return next((table for table in known if set(CELL_DIMS) <= set(table.dims)), None)


def _observed(tree: xr.DataTree, template: xr.DataArray, facts: Mapping[str, Any]) -> xr.DataArray | None:
    """Return the counts, summed over groups if the cells describe their population; None if there are none."""
    counts = observed_table(tree)
    if counts is not None and counts.name == "samples":
        return counts.sum([dim for dim in counts.dims if dim not in template.dims])
    groups = facts.get(GROUPS_DIM)
    if counts is None or groups not in counts.dims or groups in template.dims:
        return counts
    return counts.sum(groups) / int(facts[REPEATS])
