"""The tree of a fit: its groups labelled, the metrics of its cells, and in words what the draws are of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.metrics.formulas import headline
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import applicable
from bayesperf.metrics.score import evaluate
from bayesperf.posteriors.posterior import Posterior
from bayesperf.sequences.posterior import DEPENDENT, ESTIMAND

if TYPE_CHECKING:
    import pymc as pm


def check_metrics(model: pm.Model, metrics: Sequence[str | Metric] | None) -> None:
    """Refuse metrics of a model without cells, and cells that are no table."""
    if isinstance(metrics, str | Metric):
        raise TypeError(f"metrics must be a sequence of names, as ['recall']; it is {metrics!r}.")
    if "cells" not in model.named_vars:
        if metrics:
            raise ValueError("metrics: the model has no variable 'cells' (…, actual, predicted) to compute them of.")
        return
    dims = model.named_vars_to_dims.get("cells") or ()
    if set(CELL_DIMS) - set(dims):
        raise ValueError(f"model: its variable 'cells' must have dims (…, 'actual', 'predicted'); it has {dims}.")


def finished(
    group: xr.Dataset, model: pm.Model, counts: xr.DataArray, metrics: Sequence[str | Metric] | None
) -> xr.Dataset:
    """Label a group by the model's dims and the data's, and add the metrics of its cells."""
    coords = {dim: np.array(values) for dim, values in model.coords.items() if values is not None}
    coords |= {str(dim): counts[dim].values for dim in counts.dims}
    coords |= {dim: np.arange(group.sizes[dim]) for dim in ("chain", "draw") if dim in group.dims}
    own = {dim: values for dim, values in coords.items() if dim in group.dims}
    group = group.assign_coords(own).map(lambda variable: variable.drop_attrs())
    return group.assign(_metrics(group, metrics, positive(model, counts)))


def positive(model: pm.Model, counts: xr.DataArray) -> int | None:
    """Return the position of the positive class in the model's tables, if there are any."""
    known = "cells" in model.named_vars and "pos_label" in counts.attrs
    return list(model.coords["actual"]).index(counts.attrs["pos_label"]) if known else None


def observe(tree: dict[str, xr.Dataset], counts: xr.DataArray) -> None:
    """Put tables of counts where the model has them flat, or not at all."""
    if set(CELL_DIMS) <= set(counts.dims):
        observed = tree.get("observed_data", xr.Dataset()).drop_vars("counts", errors="ignore")
        tree["observed_data"] = observed.drop_dims("cell", errors="ignore").assign(counts=counts.drop_attrs())
        _unflatten(tree, counts)


def in_words(model: Any, built: pm.Model, options: Mapping[str, Any]) -> dict[str, str]:
    """Return what the draws are of: priors, options, estimand, why the cells cannot be predicted from, versions."""
    priors = priors_in_words(built)
    plain = json.dumps(options, default=lambda v: v.values.tolist() if isinstance(v, xr.DataArray) else repr(v))
    estimand, refusal = Posterior.estimand, ""
    if model == "markov":
        estimand, refusal = ESTIMAND, DEPENDENT
    elif isinstance(model, str) and "dim" in options:
        estimand = f"Posterior of the metric at the population mean over {options['dim']}s"
    return {
        "prior": ", ".join(f"{name} ~ {prior}" for name, prior in priors.items()),
        "priors": json.dumps(priors, ensure_ascii=False),
        "options": plain,
        "estimand": estimand,
        "refusal": refusal,
        **{f"{package}_version": version(package) for package in ("bayesperf", "pymc", "arviz")},
    }


def _metrics(
    group: xr.Dataset, metrics: Sequence[str | Metric] | None, positive: int | None
) -> dict[str, xr.DataArray]:
    """Return the metrics of all cells: of the population, of these groups, of a new one.

    A variable of the model that is the metric stays; another of its name is refused.
    """
    found: dict[str, xr.DataArray] = {}
    for suffix in ("", "_group", "_new"):
        if f"cells{suffix}" not in group:
            continue
        cells = group[f"cells{suffix}"]
        labels = cells["actual"].values.tolist()
        names = headline(len(labels), positive is not None) if metrics is None else metrics
        dims = tuple(dim for dim in cells.dims if dim not in ("chain", "draw", *CELL_DIMS))
        for metric in (applicable(name, labels, positive, dims) for name in names):
            name, values = f"{metric.name}{suffix}", evaluate(metric, cells, positive)
            if name in dims:
                raise ValueError(f"data: {name!r} is a metric; rename that dim, or leave the metric out of metrics.")
            if name in group and not _same(group[name], values):
                raise ValueError(
                    f"metrics: {name!r} is the name of another variable of the model, with dims "
                    f"{group[name].dims[2:]}. Leave it out: bayesperf.Posterior.from_datatree(tree)[{metric.name!r}] "
                    "is the metric."
                )
            found[name] = values
    return {name: values for name, values in found.items() if name not in group}


def _same(variable: xr.DataArray, metric: xr.DataArray) -> bool:
    """Whether two figures agree, but for a few draws at the ends of the range, where digits are lost."""
    return set(variable.dims) == set(metric.dims) and bool(abs(variable - metric).median() < 1e-6)


def _unflatten(groups: dict[str, xr.Dataset], counts: xr.DataArray) -> None:
    """Give simulated tables, flat along ``cell``, the dims of the observed ones."""
    for name in ("prior_predictive", "posterior_predictive"):
        flat = groups.get(name, xr.Dataset()).get("counts")
        if flat is not None and "cell" in flat.dims:
            leading = [dim for dim in flat.dims if dim != "cell"]
            dims = [*leading, *(dim for dim in counts.dims if dim not in flat.dims)]
            shape = [flat.sizes[dim] if dim in flat.dims else counts.sizes[dim] for dim in dims]
            coords = {dim: (counts if dim in counts.dims else flat)[dim].values for dim in dims}
            groups[name] = xr.Dataset(
                {"counts": (dims, flat.transpose(*leading, "cell").values.reshape(shape))}, coords
            )


def priors_in_words(model: pm.Model) -> dict[str, str]:
    """Return each prior in words."""
    from pymc.printing import str_for_dist
    from pymc.pytensorf import constant_fold

    def in_words(rv: Any) -> str:
        parameters: Any = getattr(rv.owner.op, "dist_params", lambda _: [rv])(rv.owner)
        folded = constant_fold(parameters, raise_not_constant=False)
        if not all(isinstance(value, np.ndarray | np.number) for value in folded):
            return str(str_for_dist(rv)).partition(" ~ ")[2]
        distinct = [np.unique(value) if len(np.unique(value)) == 1 else np.ravel(value) for value in folded]
        named = ", ".join(" ".join(f"{number:g}" for number in value) for value in distinct)
        return f"{rv.owner.op._print_name[0]}({named})"

    return {rv.name: in_words(rv) for rv in model.free_RVs}
