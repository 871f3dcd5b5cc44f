"""The tree of a fit: labelled groups, the metrics of their cells, and attributes that describe the draws."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import plural
from bayesperf.data.count_arrays import CELL_DIMS, SAME_EXAMPLES, marked, same_examples
from bayesperf.metrics.arguments import sums_of_classes
from bayesperf.metrics.formulas import headline
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors import tree_attributes as attributes
from bayesperf.posteriors.prevalence import UNKNOWN_PREVALENCE
from bayesperf.posteriors.quantity import SCOPES, Scope, described
from bayesperf.sampling.backend import constant_parameters, family_in_words
from bayesperf.sampling.model_data import BuiltModel, name_in_words

if TYPE_CHECKING:
    import pymc as pm


# What follows the prior, in words, where the posterior is not drawn from.
_APPROXIMATED = "; the posterior is approximated by normal distributions"


def check_model(built: BuiltModel, metrics: Sequence[str | Metric] | None) -> None:
    """Refuse a model of the caller's own without a likelihood, or of a table without cells; then wrong metrics."""
    model = built.model
    if not model.observed_RVs and not model.potentials:
        raise InputError(
            "model",
            "has no observed variable, so that the data say nothing of its parameters.",
            "Give it its data, as pm.Binomial('hits', n, recall, observed=hits).",
        )
    if "actual" in built.counts.dims and "cells" not in model.named_vars and built.fact("recover") is None:
        raise InputError(
            "model",
            "has no variable 'cells', the probabilities of the cells of the table.",
            "Add it, as pm.Deterministic('cells', …, dims=['actual', 'predicted']).",
        )
    _check_metrics(built, metrics)


def check_cells(prior: xr.Dataset) -> None:
    """Refuse a model of the caller's own whose cells, in draws of its prior, are no probabilities of a table."""
    if "cells" not in prior:
        return
    totals = prior["cells"].sum(CELL_DIMS, skipna=False).fillna(1).values
    if (prior["cells"] < 0).any() or not np.allclose(totals, 1, atol=1e-4):
        raise InputError(
            "model",
            "its variable 'cells' must be the probabilities of a whole table, which sum to 1; in a draw of the prior "
            f"they sum to {totals.flat[abs(totals - 1).argmax()]:.3g}, and the smallest is "
            f"{prior['cells'].min().item():.3g}.",
        )


def own_potentials(built: BuiltModel) -> bool:
    """Whether a model has potentials that its file does not declare to be its likelihood."""
    return bool(built.model.potentials) and (bool(built.model.observed_RVs) or built.fact("POTENTIAL") is None)


def potentials_in_words(model: pm.Model) -> str:
    """Return what the potentials of a model are."""
    names = ", ".join(repr(potential.name) for potential in model.potentials)
    return f"pm.Potential {names}, a term of the log density that cannot be simulated from"


def _check_metrics(built: BuiltModel, metrics: Sequence[str | Metric] | None) -> None:
    """Refuse metrics of a model without cells, and cells whose dims are not those of a table."""
    if isinstance(metrics, str | Metric):
        raise InputTypeError("metrics", f"must be a sequence of names, as ['recall']; it is {metrics!r}.")
    model = built.model
    if "cells" not in model.named_vars:
        recovered = built.fact("recover") is not None and "actual" in model.coords
        if metrics and not recovered:
            raise InputError("metrics", "the model has no variable 'cells' (…, actual, predicted) to compute them of.")
        return
    dims = model.named_vars_to_dims.get("cells") or ()
    if set(CELL_DIMS) - set(dims):
        raise InputError("model", f"its variable 'cells' must have dims (…, 'actual', 'predicted'); it has {dims}.")


def knows_prevalence(built: BuiltModel) -> bool:
    """Whether the data say how common each class is, or the caller's own prior does; a default prior does not."""
    design = built.options.get("design", built.fact("DESIGN", "joint"))
    return callable(built.definition) or design != "by_actual" or "prevalence" in (built.priors or {})


def finished(group: xr.Dataset, built: BuiltModel, metrics: Sequence[str | Metric] | None) -> xr.Dataset:
    """Label a group with the coordinates of the model and of the data, and add the metrics of its cells."""
    model, counts = built.model, built.counts
    coords = {dim: np.array(values) for dim, values in model.coords.items() if values is not None}
    coords |= {str(dim): counts[dim].values for dim in counts.dims}
    coords |= {dim: np.arange(group.sizes[dim]) for dim in ("chain", "draw") if dim in group.dims}
    own = {dim: values for dim, values in coords.items() if dim in group.dims}
    used = {dim for variable in group.data_vars.values() for dim in variable.dims}
    group = group.assign_coords(own).drop_dims([dim for dim in group.dims if dim not in used])
    for variable in group.data_vars.values():
        variable.attrs = {}
    return group.assign(_metrics(group, metrics, positive(built), knows_prevalence(built)))


def positive(built: BuiltModel) -> int | None:
    """Return the position of the positive class in the model's cells; None without classes or a positive one."""
    if "actual" not in built.model.coords or "pos_label" not in built.counts.attrs:
        return None
    return list(built.model.coords["actual"]).index(built.counts.attrs["pos_label"])


def observe(tree: dict[str, xr.Dataset], counts: xr.DataArray) -> None:
    """Replace flat counts, observed and simulated, by tables; add the table of a model that observes parts of it.

    `observed_data` has the variables of `posterior_predictive` and no other, because ArviZ compares one with the other;
    a table that no variable of the model simulates is in `constant_data`, beside transitions that of the ``samples``.
    """
    if not set(CELL_DIMS) <= set(counts.dims):
        return
    table = marked(counts.drop_attrs(), SAME_EXAMPLES, same_examples(counts))
    observed = tree.get("observed_data", xr.Dataset())
    dims = set(observed["counts"].dims) if "counts" in observed else set()
    if "cell" in dims:
        _unflatten(tree, counts)
        observed = observed.drop_vars("counts").drop_dims("cell", errors="ignore")
    group = "observed_data" if "cell" in dims or dims == set(counts.dims) else "constant_data"
    of_group = {"observed_data": observed, "constant_data": tree.get("constant_data", xr.Dataset())}[group]
    tables = {name: table for name, table in counts.attrs.items() if name == "samples"} | {"counts": table}
    tree[group] = of_group.assign(tables)


def with_a_dim(name: str, group: xr.Dataset) -> xr.Dataset:
    """Give data that are single numbers, such as the rates of one matrix, a dim: ArviZ plots them along one."""
    if name not in ("observed_data", "prior_predictive", "posterior_predictive", "log_likelihood"):
        return group
    single = [variable for variable in group.data_vars.values() if not set(variable.dims) - {"chain", "draw"}]
    return group.assign({value.name: value.expand_dims(f"{value.name}_dim_0", axis=-1) for value in single})


def describe(built: BuiltModel, method: str) -> dict[str, Any]:
    """Return attributes: the model, its priors and options, its file's description of the cells, and versions."""
    position, options, facts = positive(built), built.options, built.fact("facts")
    priors = priors_in_words(built.model)
    plain = json.dumps(options, default=lambda v: v.values.tolist() if isinstance(v, xr.DataArray) else repr(v))
    return {
        attributes.MODEL: name_in_words(built.name),
        attributes.POSITIVE: -1 if position is None else position,
        attributes.PRIOR: ", ".join(f"{name} ~ {prior}" for name, prior in priors.items())
        + _times(built)
        + (_APPROXIMATED if method == "approximate" else ""),
        attributes.PRIORS: json.dumps(priors, ensure_ascii=False),
        attributes.OPTIONS: plain,
        attributes.PREVALENCE_KNOWN: int(knows_prevalence(built)),
        **_scope(built.fact("ESTIMAND", "system"), {"dim": built.fact("DIM", ""), **options}),
        **(_over_a_dim(built.model, built.counts) if callable(built.definition) else {}),
        attributes.REFUSAL: built.fact("REFUSAL", ""),
        attributes.NO_PREDICTION: built.fact("NO_PREDICTION", ""),
        **_groups(built),
        attributes.QUANTITIES: json.dumps(built.fact("QUANTITIES", {})),
        **(facts(built.counts, **options) if facts else {}),
        **{name: version(name.removesuffix("_version")) for name in attributes.VERSIONS},
    }


def _times(built: BuiltModel) -> str:
    """Return what a prior is multiplied by: potentials of the caller's own, which may be of the likelihood as well."""
    if not own_potentials(built):
        return ""
    return "".join(f", times exp({potential.name})" for potential in built.model.potentials)


def priors_in_words(model: pm.Model) -> dict[str, str]:
    """Return each prior in words."""
    return {variable.name: _prior_in_words(variable) for variable in model.free_RVs}


def _prior_in_words(variable: Any) -> str:
    parameters = constant_parameters(variable)
    if parameters is None:
        return family_in_words(variable, with_parameters=True)
    distinct = [np.unique(value) if len(np.unique(value)) == 1 else np.ravel(value) for value in parameters]
    numbers = ", ".join(" ".join(f"{number:g}" for number in value) for value in distinct)
    return f"{family_in_words(variable, with_parameters=False)}({numbers})"


def _scope(estimand: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return attributes that describe the cells: the kind of scope that a model states, or a sentence of its own."""
    if estimand not in SCOPES:
        return {attributes.ESTIMAND: estimand.format_map(options)}
    scope = Scope(estimand, str(options.get("dim", "")) if "{dim" in SCOPES[estimand][1] else "")
    return {attributes.SCOPE: scope.as_text(), attributes.ESTIMAND: described(scope)}


def _groups(built: BuiltModel) -> dict[str, Any]:
    """Return the dim of the groups that the cells are over, and how often each example was counted along it."""
    if "dim of groups" not in built.fact("OPTIONS", {}).values():
        return {}
    return {attributes.GROUPS_DIM: built.options["dim"], attributes.REPEATS: built.options.get("repeats", 1)}


def _over_a_dim(model: pm.Model, counts: xr.DataArray) -> dict[str, Any]:
    """Return the scope of a function's cells that are over a dim of the counts, and that dim: they have it not."""
    cells = model.named_vars_to_dims.get("cells") or counts.dims
    over = [str(dim) for dim in counts.dims if dim not in (*cells, *CELL_DIMS)]
    if len(over) != 1:
        return {}
    scope = Scope("own", detail=f"Posterior of the metric over {plural(over[0])}, as the model defines it")
    described_by = {attributes.SCOPE: scope.as_text(), attributes.ESTIMAND: scope.detail}
    return described_by | {attributes.GROUPS_DIM: over[0], attributes.REPEATS: 1}


def _metrics(
    group: xr.Dataset, metrics: Sequence[str | Metric] | None, positive: int | None, prevalence_known: bool
) -> dict[str, xr.DataArray]:
    """Return the metrics of all cells: of the population, the median group, the observed groups and a new one.

    A variable of the model that is the metric stays as it is; another variable of its name is refused. Without a known
    prevalence, metrics that depend on it are refused, and those by default are the others.
    """
    computed: dict[str, xr.DataArray] = {}
    for suffix in ("", "_median", "_group", "_new"):
        if f"cells{suffix}" not in group:
            continue
        cells = group[f"cells{suffix}"].transpose(..., *CELL_DIMS)
        parts = sums_of_classes(cells.values)
        labels = cells["actual"].values.tolist()
        names = headline(len(labels), positive is not None) if metrics is None else metrics
        dims = tuple(dim for dim in cells.dims if dim not in ("chain", "draw", *CELL_DIMS))
        for metric in (applicable(name, labels, positive, dims) for name in names):
            if not prevalence_known and metric.depends_on_prevalence(len(labels)):
                if metrics is None:
                    continue
                raise InputError(
                    "metric",
                    f"{metric.name!r} {UNKNOWN_PREVALENCE} Or give it to the model: priors={{'prevalence': …}}.",
                )
            name, values = f"{metric.name}{suffix}", evaluate(metric, cells, positive, parts=parts)
            if name in dims:
                raise InputError("data", f"{name!r} is a metric; rename that dim, or leave the metric out of metrics.")
            if name in group and not _same(group[name], values):
                raise InputError(
                    "metrics",
                    f"{name!r} is the name of another variable of the model, with dims {group[name].dims[2:]}.",
                    f"Take it from metrics: bayesperf.Posterior.from_datatree(tree)[{metric.name!r}] is the metric.",
                )
            computed[name] = values
    return {name: values for name, values in computed.items() if name not in group}


def _same(variable: xr.DataArray, metric: xr.DataArray) -> bool:
    """Return whether a variable is the metric, up to a few draws at the ends of the range, which lose digits."""
    return set(variable.dims) == set(metric.dims) and bool(abs(variable - metric).median() < 1e-6)


def _unflatten(groups: dict[str, xr.Dataset], counts: xr.DataArray) -> None:
    """Reshape simulated counts, flat along ``cell``, to the dims of the observed ones."""
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
