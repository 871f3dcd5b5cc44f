"""Posteriors as ArviZ trees, and back."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.registry import Metric
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.sampled import SampledPosterior
from bayesperf.posteriors.summary import evaluate


def to_tree(posterior: Posterior, wanted: Sequence[Metric], cells: xr.DataArray) -> xr.DataTree:
    """Return draws of cells and the metrics of them, with what else a posterior is made of."""
    if len({m.name for m in wanted}) < len(set(wanted)):
        raise ValueError("metrics: two have the same name; a tree needs a name a variable.")
    if clash := {m.name for m in wanted} & set(map(str, posterior.dims)):
        raise ValueError(f"metrics: {clash.pop()!r} is the name of a dim, too. Rename that dim.")
    variables = {"cells": cells} | {m.name: evaluate(m, cells, posterior._positive) for m in wanted}
    leading = ("chain", "draw", *posterior.dims)
    dataset = xr.Dataset({name: value.transpose(*leading, ...) for name, value in variables.items()})
    dataset.attrs = {
        "positive": -1 if posterior._positive is None else posterior._positive,
        "prior": posterior.prior_text,
        "estimand": posterior.estimand,
        "refusal": getattr(posterior, "refusal", ""),
        "independent_draws": int(posterior._independent),
        "bayesperf_version": version("bayesperf"),
    }
    groups = {"posterior": dataset}
    if posterior._observed is not None:
        groups["observed_data"] = posterior._observed.to_dataset(name="counts")
    return xr.DataTree.from_dict(groups)


def from_tree(tree: xr.DataTree, pos_label: Any) -> Posterior:
    """Return the posterior that a tree's draws of cells stand for; the tree is checked here."""
    if not isinstance(tree, xr.DataTree):
        raise TypeError(f"tree must be an xarray.DataTree; it is {type(tree).__name__}.")
    if "posterior" not in tree.children or "cells" not in tree["posterior"].data_vars:
        raise ValueError("tree has no variable 'cells' in a group 'posterior'.")
    dataset = tree["posterior"].to_dataset()
    cells = dataset["cells"]
    missing = {"chain", "draw", *CELL_DIMS} - set(cells.dims)
    if missing:
        raise ValueError(f"cells has no dim {', '.join(sorted(missing))}; its dims are {cells.dims}.")
    total = cells.sum(CELL_DIMS)
    if not (np.isfinite(cells).all() and (cells >= 0).all() and np.allclose(total, 1, atol=1e-4)):
        raise ValueError("cells must be probabilities: none missing or negative, each matrix summing to 1.")
    labels = cells["actual"].values.tolist()
    positive = int(dataset.attrs.get("positive", -1))
    if pos_label is None and positive >= 0:
        pos_label = labels[positive]
    template = cells.isel(chain=0, draw=0, drop=True).transpose(..., *CELL_DIMS)
    observed = tree["observed_data"].to_dataset().get("counts") if "observed_data" in tree.children else None
    if observed is None or set(observed.dims) != set(template.dims):
        observed = None
    else:
        observed = observed.reindex({dim: template[dim].values for dim in template.dims})
        if observed.isnull().any():
            raise ValueError("observed_data: its coordinates are not those of the cells.")
    return SampledPosterior(
        cells=cells.transpose(*template.dims[:-2], "chain", "draw", *CELL_DIMS),
        pos_label=ConfusionMatrix(xr.zeros_like(template, dtype=int), pos_label).pos_label,
        prior_text=str(dataset.attrs.get("prior", "that of the model")),
        estimand=str(dataset.attrs.get("estimand", Posterior.estimand)),
        independent=bool(dataset.attrs.get("independent_draws", 0)),
        refusal=str(dataset.attrs.get("refusal", "")),
        observed=observed,
    )
