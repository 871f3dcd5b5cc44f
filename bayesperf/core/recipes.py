"""Recipes: what an object was made of and by which function, as plain data from which the same object is made again.

A recipe holds numbers, texts and arrays, and names what makes objects of them. Only what stands in `MAKERS` can be
named, so that reading a recipe runs nothing else, whatever it holds.
"""

from __future__ import annotations

import datetime
import importlib
import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, wraps
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError

# What can be made again, by its name in files: a class from its fields, else a function (or method, or property) from
# its arguments. Names are kept for good, wherever the code moves.
MAKERS = {
    "ConfusionMatrix": "bayesperf.data.matrix:ConfusionMatrix",
    "PairedConfusionMatrix": "bayesperf.data.paired:PairedConfusionMatrix",
    "JointOutcomes": "bayesperf.data.joint_outcomes:JointOutcomes",
    "Ratings": "bayesperf.data.ratings:Ratings",
    "Clusters": "bayesperf.data.clusters:Clusters",
    "BinnedScores": "bayesperf.data.binned_scores:BinnedScores",
    "Scores": "bayesperf.data.classifier_scores:Scores",
    "metric": "bayesperf.metrics.registry:get",
    "metrics.cost": "bayesperf.metrics.formulas:cost",
    "prior.flat": "bayesperf.posteriors.prior:flat",
    "prior.jeffreys": "bayesperf.posteriors.prior:jeffreys",
    "prior.perks": "bayesperf.posteriors.prior:perks",
    "prior.haldane": "bayesperf.posteriors.prior:haldane",
    "prior.shared": "bayesperf.posteriors.prior:shared",
    "prior.dirichlet": "bayesperf.posteriors.prior:dirichlet",
    "prior.elicited": "bayesperf.posteriors.prior:elicited",
    "prior.rate": "bayesperf.posteriors.prior:rate",
    "Posterior": "bayesperf.posteriors.posterior:Posterior",
    "MetricOf": "bayesperf.posteriors.posterior:MetricOf",
    "RowsOf": "bayesperf.posteriors.marginal:RowsOf",
    "Dirichlet": "bayesperf.posteriors.sources.dirichlet_cells:Dirichlet",
    "SharedClasses": "bayesperf.posteriors.sources.shared_cells:SharedClasses",
    "SharedClasses.mean_recall": "bayesperf.posteriors.sources.shared_cells:SharedClasses.mean_recall",
    "SharedClasses.slope": "bayesperf.posteriors.sources.shared_cells:SharedClasses.slope",
    "SharedClasses.dispersion": "bayesperf.posteriors.sources.shared_cells:SharedClasses.dispersion",
    "StoredDraws": "bayesperf.posteriors.sources.stored_draws:StoredDraws",
    "SameExamples": "bayesperf.posteriors.sources.same_examples:SameExamples",
    "Verified": "bayesperf.labels.verifying:Verified",
    "NoisyLabels": "bayesperf.labels.noisy_labels:NoisyLabels",
    "NoisyLabels.label_error": "bayesperf.labels.noisy_labels:NoisyLabels.label_error",
    "MarkovChain": "bayesperf.sequences.markov_posterior:MarkovChain",
    "ChainParameters": "bayesperf.sequences.chain:ChainParameters",
    "ClusterWeights": "bayesperf.groups.pooled_clusters:ClusterWeights",
    "VerifiedSample": "bayesperf.labels.sample:VerifiedSample",
    "verification.posterior": "bayesperf.labels.verifying:posterior",
    "label_noise": "bayesperf.labels.noisy_labels:label_noise",
    "label_noise_sensitivity": "bayesperf.labels.noise_sensitivity:label_noise_sensitivity",
    "Prevalence": "bayesperf.posteriors.prevalence:Prevalence",
    "Scope": "bayesperf.posteriors.quantity:Scope",
    "posterior[metric]": "bayesperf.posteriors.posterior:Posterior.__getitem__",
    "average_labels": "bayesperf.groups.averaging_labels:average_labels",
    "posterior_of_rate": "bayesperf.posteriors.rate:posterior_of_rate",
    "Marginal.sel": "bayesperf.posteriors.marginal:Marginal.sel",
    "Marginal.isel": "bayesperf.posteriors.marginal:Marginal.isel",
    "Pooled": "bayesperf.groups.pooling:Pooled",
    "Pooled.dispersion": "bayesperf.groups.pooling:Pooled.dispersion",
    "Pooled.dispersion_prior": "bayesperf.groups.pooling:Pooled.dispersion_prior",
    "Pooled.pass_at_k": "bayesperf.groups.pooling:Pooled.pass_at_k",
    "PooledClusters": "bayesperf.groups.pooled_clusters:PooledClusters",
    "PooledClusters.pass_at_k": "bayesperf.groups.pooled_clusters:PooledClusters.pass_at_k",
    "Slices": "bayesperf.groups.slicing:Slices",
    "Slices.levels": "bayesperf.groups.slicing:Slices.levels",
    "Slices.largest_gap": "bayesperf.groups.slicing:Slices.largest_gap",
    "slices[metric]": "bayesperf.groups.slicing:Slices.__getitem__",
    "compare": "bayesperf.comparison.comparing:compare",
    "comparison_of_fit": "bayesperf.comparison.several_datasets:comparison_of_fit",
    "average_folds": "bayesperf.comparison.folds:average_folds",
    "correlated_ttest": "bayesperf.comparison.folds:correlated_ttest",
    "sign_test": "bayesperf.comparison.sign_and_rank_tests:sign_test",
    "signed_rank_test": "bayesperf.comparison.sign_and_rank_tests:signed_rank_test",
    "roc_auc": "bayesperf.curves.areas.auc:roc_auc",
    "auc_from_summary": "bayesperf.curves.areas.summarised_areas:auc_from_summary",
    "weighted_score": "bayesperf.curves.areas.weighted_scores:weighted_score",
    "Curve": "bayesperf.curves.roc.threshold_curve:Curve",
    "Curve.kind": "bayesperf.curves.roc.curve_kinds:kind_named",
    "Curve.area": "bayesperf.curves.roc.threshold_curve:Curve.area",
    "Curve.partial_area": "bayesperf.curves.roc.threshold_curve:Curve.partial_area",
    "Curve.operating_point": "bayesperf.curves.roc.threshold_curve:Curve.operating_point",
    "choose_threshold": "bayesperf.curves.chosen_thresholds.threshold:choose_threshold",
    "abstention": "bayesperf.curves.chosen_thresholds.abstaining:abstention",
    "decision_curve": "bayesperf.curves.decisions.benefit_curve:decision_curve",
    "DecisionCurve.net_benefit": "bayesperf.curves.decisions.benefit_curve:DecisionCurve.net_benefit",
    "DecisionCurve.standardised_net_benefit": "bayesperf.curves.decisions.benefit_curve:DecisionCurve.standardised_net_benefit",
    "DecisionCurve.difference": "bayesperf.curves.decisions.benefit_curve:DecisionCurve.difference",
    "DecisionCurve.at_prevalence": "bayesperf.curves.decisions.benefit_curve:DecisionCurve.at_prevalence",
    "ProbabilityCounts": "bayesperf.curves.reliability.probability_counts:ProbabilityCounts",
    "ReliabilityCurve": "bayesperf.curves.reliability.frequency_curve:ReliabilityCurve",
    "ReliabilityCurves": "bayesperf.curves.reliability.frequency_curve:ReliabilityCurves",
    "calibration": "bayesperf.curves.reliability.calibrating:calibration",
    "Calibration.posterior": "bayesperf.curves.reliability.calibrating:Calibration.__getitem__",
    "Recalibration": "bayesperf.curves.reliability.recalibration:Recalibration",
    "Recalibration.predict": "bayesperf.curves.reliability.recalibration:Recalibration.predict",
    "Recalibration.parameter": "bayesperf.curves.reliability.recalibration:Recalibration.__getitem__",
    "epc": "bayesperf.curves.expected_performance.estimating:epc",
    "epc_a_posteriori": "bayesperf.curves.expected_performance.estimating:epc_a_posteriori",
    "epc_compare": "bayesperf.curves.expected_performance.contrast_of_curves:epc_compare",
    "ExpectedPerformanceCurve.area": "bayesperf.curves.expected_performance.performance_curve:ExpectedPerformanceCurve.area",
    "ExpectedPerformanceCurve.expected_performance_marginal": (
        "bayesperf.curves.expected_performance.performance_curve:ExpectedPerformanceCurve.expected_performance_marginal"
    ),
    "plan.sample_size": "bayesperf.plan.sample_sizes:sample_size",
    "plan.comparison": "bayesperf.plan.sample_sizes:comparison",
    "plan.precision": "bayesperf.plan.sample_sizes:precision",
    "plan.decision": "bayesperf.plan.deciding:decision",
    "monitor": "bayesperf.plan.monitoring:monitor",
}
TIMES: dict[str, Any] = {
    kind.__name__: kind for kind in (datetime.date, datetime.time, datetime.datetime, pd.Timestamp)
}
# The key that marks what plain JSON has no word for.
KIND = "kind"
# How many draws, simulations or bins a file may ask for, so that none is larger than it looks.
_MOST_DRAWS = 10_000_000
_DRAWS = ("draws", "n_draws", "simulations", "bins")


class RecipeError(ValueError):
    """What is wrong with a recipe."""


def maker(name: str) -> Callable[..., Any]:
    """Return what makes objects, by its name in `MAKERS`."""
    module, _, path = MAKERS[name].partition(":")
    owner, found = None, importlib.import_module(module)
    for part in path.split("."):
        owner, found = found, inspect.getattr_static(found, part)
    if isinstance(found, property | cached_property):
        return lambda self: operator.attrgetter(path.rpartition(".")[2])(self)
    return getattr(owner, path.rpartition(".")[2])  # type: ignore[no-any-return]


# ── Calls ──


class Call(NamedTuple):
    """The call that made an object: the name of its function in `MAKERS`, and all arguments.

    If `final`, calls of functions around it do not take its place: it holds draws, which they would make anew.
    """

    name: str
    arguments: dict[str, Any]
    final: bool = False


class OwnFunction(NamedTuple):
    """What a call remembers of a function of the caller's own, which no recipe can hold, nor every pickle."""

    shown: str


class Remembered:
    """Base class of objects that remember the call that made them, if it can be made again."""

    made_by: Call | None = None


def remembered[**P, R](name: str, *, final: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of a function whose results remember their call, under a name in `MAKERS`.

    Arguments are copied, so that arrays that change afterwards change no recipe; a Generator given as `random_seed` is
    asked for the seed here.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature, checking = inspect.signature(function), checked(function)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if isinstance(kwargs.get("random_seed"), np.random.Generator):
                kwargs["random_seed"] = checks.seed(kwargs["random_seed"])
            made = checking(*args, **kwargs)
            earlier = getattr(made, "made_by", None)
            if isinstance(made, Remembered) and not (earlier and earlier.final):
                object.__setattr__(made, "made_by", Call(name, _arguments(signature.bind(*args, **kwargs)), final))
            return made

        return call

    return decorate


def _arguments(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return all arguments of a call by name, those left out with their default."""
    bound.apply_defaults()
    arguments: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        variadic = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        arguments.update(value if variadic else {name: value})
    return {name: _kept(value) for name, value in arguments.items()}


def _kept(value: Any) -> Any:
    """Return an argument as it is now, whatever becomes of the caller's array."""
    if isinstance(value, xr.DataArray | xr.Dataset | xr.DataTree):
        return value.copy(deep=True)
    if isinstance(value, Mapping | pd.DataFrame):
        return {key: _kept(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_kept(each) for each in value] if value and isinstance(value[0], list | np.ndarray) else list(value)
    if type(value) is tuple:
        return tuple(_kept(each) for each in value)
    if isinstance(getattr(value, "dtype", None), pd.CategoricalDtype):
        return pd.Categorical(value)
    if isinstance(value, np.ma.MaskedArray):
        return value.copy()
    if callable(value):
        return OwnFunction(repr(value))
    return np.array(value) if hasattr(value, "__array__") and np.ndim(value) else value


# ── From objects to recipes ──


class Recipe(NamedTuple):
    """Plain data (`parts`, in an order in which each needs earlier ones only), and the arrays that they name."""

    parts: list[Any]
    arrays: dict[str, NDArray[Any]]


class UnsavableError(TypeError):
    """Something cannot be saved."""


def recipe_of(thing: Any) -> Recipe:
    """Return the recipe of an object.

    Raises
    ------
    UnsavableError
        If it, or something that it was made of, is nothing that a recipe can hold; the message says what to do.
    """
    writer = _Writer()
    writer.write(thing, "object")
    return Recipe(writer.parts, writer.arrays)


def call_of(thing: Any) -> Call:
    """Return the call that makes an object again."""
    if call := getattr(thing, "made_by", None):
        return Call(*call)
    if hasattr(thing, "call_to_make"):
        return Call(*thing.call_to_make())
    name = type(thing).__name__
    if name in MAKERS and maker(name) is type(thing):
        names = getattr(thing, "_fields", None) or [each.name for each in fields(thing) if each.init]
        return Call(name, {each: getattr(thing, each) for each in names})
    raise UnsavableError(
        f"this {name} was not made by a public function alone, so a file cannot say how to make it again. Save what "
        "it was taken from."
    )


class _Writer:
    """Writes objects into the parts and arrays of a recipe, each object once."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.arrays: dict[str, NDArray[Any]] = {}
        # The place of each object that is written, and the object itself, so that its id stays its own.
        self.places: dict[int, tuple[int, Any]] = {}

    def write(self, value: Any, name: str) -> Any:
        """Return a value as JSON; `name` is what it is called, in files and in errors."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        for kind, write in _WRITERS.items():
            if isinstance(value, kind) and not hasattr(value, "_fields"):
                return write(self, value, name)
        if callable(value) or isinstance(value, OwnFunction):
            shown = value.shown if isinstance(value, OwnFunction) else repr(value)
            raise UnsavableError(
                f"{name}: {shown} is a function of your own, which a file does not hold. Take one that bayesperf has "
                "a name for, or keep the data that it was applied to and call it again."
            )
        if isinstance(value, Remembered) or is_dataclass(value) or hasattr(value, "_fields"):
            return self._object(value)
        raise UnsavableError(f"{name}: a {type(value).__name__} cannot be saved. Give NumPy arrays, numbers or texts.")

    def _object(self, value: Any) -> Any:
        if id(value) not in self.places:
            name, arguments, _ = call_of(value)
            if name == "metric":
                refuse_own_metric(value)
            elif isinstance(arguments.get("metric"), str):
                refuse_own_metric(arguments["metric"])
            _refuse_much(arguments)
            part = {"call": name, "with": {key: self.write(each, key) for key, each in arguments.items()}}
            self.parts.append(part)
            self.places[id(value)] = len(self.parts) - 1, value
        return {KIND: "object", "part": self.places[id(value)][0]}

    def array(self, value: Any, name: str) -> Any:
        """Return an array as JSON: the name of it in `arrays`, or of texts and objects (and of nothing) its values."""
        array = np.ma.getdata(value)
        shape, dtype = list(array.shape), array.dtype
        if dtype.kind in "OUT" or not array.size:
            values = self.sequence(array.astype(object).ravel().tolist(), name)
            # Texts of which one is far longer than the others take far more memory in an array than in a file.
            is_wide = dtype.kind == "U" and array.nbytes > room_for_texts(values)
            stored_as = "|O" if is_wide else "T" if dtype.kind == "T" else dtype.str
            return {KIND: "values", "values": values, "shape": shape, "dtype": stored_as}
        if dtype.kind not in "biufmM" or dtype.itemsize > 8:
            raise UnsavableError(f"{name}: an array of {dtype} cannot be saved. Convert it to numbers or texts.")
        # In the order in which it lies in memory, on which the rounding of sums depends.
        order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        stored = np.ascontiguousarray(array.transpose(order)).reshape([array.shape[axis] for axis in order])
        stored = stored.astype(dtype.newbyteorder("="))
        if dtype.kind in "bmM" or (dtype.itemsize < 4 and dtype.kind == "f"):
            stored = stored.view(f"u{dtype.itemsize}")
        key = f"{name if name.isidentifier() and name.isascii() else 'array'}_{len(self.arrays)}"
        self.arrays[key] = stored
        return {KIND: "array", "name": key, "order": order, "dtype": dtype.newbyteorder("=").str}

    def sequence(self, values: Any, name: str) -> list[Any]:
        return [self.write(value, name) for value in values]

    def tuple_of(self, value: Any, name: str) -> Any:
        return {KIND: "tuple", "values": self.sequence(value, name)}

    def mapping(self, value: Any, name: str) -> Any:
        pairs = [[self.write(key, name), self.write(each, str(key))] for key, each in value.items()]
        return {KIND: "mapping", "values": pairs}

    def scalar(self, value: Any, name: str) -> Any:
        return {KIND: "scalar", "of": self.array(np.asarray(value), name)}

    def categorical(self, value: Any, name: str) -> Any:
        parts = {"codes": value.codes, "categories": np.asarray(value.categories)}
        return {KIND: "categorical", "ordered": bool(value.ordered)} | {
            key: self.array(each, name) for key, each in parts.items()
        }

    def time(self, value: Any, name: str) -> Any:
        return {KIND: "time", "of": type(value).__name__, "text": value.isoformat()}

    def slice_of(self, value: Any, name: str) -> Any:
        return {KIND: "slice", "values": self.sequence((value.start, value.stop, value.step), name)}

    def variable(self, variable: xr.Variable, name: str) -> Any:
        return {
            "dims": self.sequence(variable.dims, name),
            "values": self.array(variable.values, name),
            "attrs": self.mapping(variable.attrs, name),
        }

    def coords(self, value: Any, name: str) -> Any:
        if any(isinstance(index, pd.MultiIndex) for index in value.indexes.values()):
            raise UnsavableError(f"{name}: a dim has several levels (a MultiIndex), which no file holds: reset_index.")
        return [[self.write(key, name), self.variable(each.variable, str(key))] for key, each in value.coords.items()]

    def data_array(self, value: xr.DataArray, name: str) -> Any:
        return {
            KIND: "DataArray",
            "variable": self.variable(value.variable, name),
            "coords": self.coords(value, name),
            "name": self.write(value.name, name),
        }

    def dataset(self, value: xr.Dataset, name: str) -> Any:
        variables = [[self.write(key, name), self.variable(value[key].variable, str(key))] for key in value.data_vars]
        attrs = self.mapping(value.attrs, name)
        return {KIND: "Dataset", "variables": variables, "coords": self.coords(value, name), "attrs": attrs}

    def tree(self, value: xr.DataTree, name: str) -> Any:
        groups = [[node.path, self.dataset(node.to_dataset(inherit=False), name)] for node in value.subtree]
        return {KIND: "DataTree", "groups": groups}


_WRITERS: dict[Any, Callable[[_Writer, Any, str], Any]] = {
    list: _Writer.sequence,
    tuple: _Writer.tuple_of,
    np.ndarray: _Writer.array,
    np.generic: _Writer.scalar,
    pd.Categorical: _Writer.categorical,
    datetime.date | datetime.time: _Writer.time,
    slice: _Writer.slice_of,
    xr.DataArray: _Writer.data_array,
    xr.Dataset: _Writer.dataset,
    xr.DataTree: _Writer.tree,
    # After those of xarray, which are mappings, too.
    Mapping: _Writer.mapping,
}


def room_for_texts(values: list[Any]) -> int:
    """Return how many bytes texts may take as an array of NumPy, where all are as long as the longest."""
    return 2**26 + 20 * sum(1 + len(text) for text in values if isinstance(text, str))


def _refuse_much(arguments: Mapping[str, Any]) -> None:
    """Refuse a call that asks for more draws than a file may ask for."""
    for name in _DRAWS:
        asked = arguments.get(name)
        if isinstance(asked, int | float | np.number) and not asked <= _MOST_DRAWS:
            raise RecipeError(f"{name}={asked!r:.30}: a file may ask for {_MOST_DRAWS:,} at most")


def refuse_own_metric(metric: Any) -> None:
    """Refuse a metric of the caller's own, whose name alone would not bring it back."""
    importlib.import_module("bayesperf.metrics.registry").refuse_to_save(metric)


# ── From recipes to objects ──


def made_of(recipe: Recipe) -> Any:
    """Return the object that a recipe makes."""
    objects: list[Any] = []
    for part in recipe.parts:
        arguments = {name: _read(value, recipe.arrays, objects) for name, value in part["with"].items()}
        _refuse_much(arguments)
        _refuse_other_self(part["call"], arguments)
        objects.append(maker(part["call"])(**arguments))
    return objects[-1]


def _refuse_other_self(name: str, arguments: Mapping[str, Any]) -> None:
    """Refuse to call a method of one class with an object of another."""
    module, _, path = MAKERS[name].partition(":")
    owner = path.rpartition(".")[0]
    if owner and not isinstance(arguments.get("self"), getattr(importlib.import_module(module), owner)):
        raise RecipeError(f"{name} is of {owner}, and not of {type(arguments.get('self')).__name__}")


def _read(value: Any, arrays: Mapping[str, NDArray[Any]], objects: list[Any]) -> Any:
    """Return a value from JSON."""

    def read(value: Any) -> Any:
        return _read(value, arrays, objects)

    def variable(value: Any) -> xr.Variable:
        return xr.Variable(read(value["dims"]), read(value["values"]), read(value["attrs"]))

    def variables(pairs: Any) -> dict[Any, xr.Variable]:
        return {read(key): variable(each) for key, each in pairs}

    if isinstance(value, list):
        return [read(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value[KIND]:
        case "object":
            return objects[value["part"]]
        case "array":
            dtype, stored = np.dtype(value["dtype"]), arrays[value["name"]]
            if stored.dtype != dtype:
                stored = stored.view(dtype)
            return stored.transpose(np.argsort(value["order"]))
        case "values":
            values = np.fromiter(read(value["values"]), object, len(value["values"]))
            return values.astype(value["dtype"]).reshape(value["shape"])
        case "tuple":
            return tuple(read(value["values"]))
        case "mapping":
            return {read(key): read(each) for key, each in value["values"]}
        case "scalar":
            return read(value["of"])[()]
        case "categorical":
            categories = pd.Index(read(value["categories"]))
            return pd.Categorical.from_codes(read(value["codes"]), categories, ordered=value["ordered"])
        case "time":
            return TIMES[value["of"]].fromisoformat(value["text"])
        case "slice":
            return slice(*read(value["values"]))
        case "DataArray":
            array = variable(value["variable"])
            return xr.DataArray(array, variables(value["coords"]), name=read(value["name"]))
        case "Dataset":
            return xr.Dataset(variables(value["variables"]), variables(value["coords"]), read(value["attrs"]))
        case "DataTree":
            return xr.DataTree.from_dict({path: read(group) for path, group in value["groups"]})
        case kind:
            raise InputError("", f"there is no {kind!r} in this format")
