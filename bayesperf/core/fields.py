"""Objects as plain data: the fields of each object and of the objects in it, which make an equal object again.

A class declares, where it is defined, that files may hold it (`Held`, or `held` for a NamedTuple or a dataclass). A
file can name only registered classes, so that reading one runs nothing else, whatever it contains.
"""

from __future__ import annotations

import datetime
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

# The key that marks what plain JSON has no word for.
KIND = "kind"
TIMES: dict[str, Any] = {
    kind.__name__: kind for kind in (datetime.date, datetime.time, datetime.datetime, pd.Timestamp)
}
# Rooms whose classes files may hold. One is imported where a name in a file is in none before it.
_ROOMS = (
    "data", "metrics", "distributions", "posteriors", "groups", "sequences", "labels", "comparison", "curves", "plan",
)  # fmt: skip
# How many draws, simulations or bins an object may ask for, so that no file is larger than it looks.
_MOST_DRAWS = 10_000_000
_DRAWS = ("draws", "n_draws", "simulations", "bins")


class HeldError(ValueError):
    """A fault in the fields of objects in a file."""


class UnsavableError(TypeError):
    """Something cannot be saved."""


# ── What files may hold ──


class _Form(NamedTuple):
    """A class that files may hold, with the functions that turn its objects into fields and back."""

    kind: type
    fields_of: Callable[[Any], Mapping[str, Any]]
    made: Callable[..., Any]


_FORMS: dict[str, _Form] = {}
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def held[T: type](kind: T) -> T:
    """Decorate a dataclass or NamedTuple of this package whose objects files may hold."""
    held_as(kind, fields_of, kind)
    return kind


def held_as(kind: type, fields_of: Callable[[Any], Mapping[str, Any]], made: Callable[..., Any]) -> None:
    """Register a class with two functions: one returns an object's fields, the other makes an object from fields."""
    _register(_FORMS, kind.__name__, _Form(kind, fields_of, made), kind)


def _register(table: dict[str, Any], name: str, entry: Any, owner: Any) -> None:
    if name in table and getattr(table[name], "kind", table[name]).__module__ != owner.__module__:
        raise RuntimeError(f"files already hold something called {name!r}")
    table[name] = entry


class Held:
    """Base class of dataclasses that files may hold."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("bayesperf."):
            held(cls)


def fields_of(thing: Any) -> dict[str, Any]:
    """Return the fields of a dataclass or NamedTuple by name."""
    if not is_dataclass(thing):
        return dict(thing._asdict())
    return {each.name: getattr(thing, each.name) for each in fields(thing) if each.init}


def by_name[F: Callable[..., Any]](function: F) -> F:
    """Decorate a function of this package that objects may hold by name, as `Applied`.

    The name is its own, or its class's and its own, in whatever file it stands.
    """
    _register(_FUNCTIONS, function.__qualname__, function, function)
    return function


@held
@dataclass(frozen=True)
class Applied:
    """A function of this package applied to its first arguments: its name and these arguments, which are plain data."""

    name: str
    arguments: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        _named(_FUNCTIONS, self.name)

    def __call__(self, *others: Any) -> Any:
        """Return the value of the function, given its other arguments."""
        return _FUNCTIONS[self.name](*self.arguments, *others)


def applied(function: Callable[..., Any], *arguments: Any) -> Applied:
    """Return a function or method of this package, which objects hold `by_name`, applied to its first arguments."""
    owner = getattr(function, "__self__", None)
    return Applied(function.__qualname__, arguments if owner is None else (owner, *arguments))


def _named[T](table: dict[str, T], name: Any) -> T:
    """Return the class or function registered under a name."""
    for room in _ROOMS:
        if name in table:
            return table[name]
        package = importlib.import_module(f"bayesperf.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    if name not in table:
        raise HeldError(f"it holds a {name!r:.60}, which this version does not know")
    return table[name]


# ── From objects to plain data ──


class Contents(NamedTuple):
    """Plain data (`parts`, ordered so that each needs only earlier ones), and the arrays that they name."""

    parts: list[Any]
    arrays: dict[str, NDArray[Any]]


def contents_of(thing: Any) -> Contents:
    """Return an object as plain data; raise `UnsavableError` or `HeldError` if a file cannot hold all of it."""
    writer = _Writer()
    writer.write(thing, "object")
    return Contents(writer.parts, writer.arrays)


class _Writer:
    """Writes objects into parts and arrays, each once."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.arrays: dict[str, NDArray[Any]] = {}
        # What was written of each object and array, and it itself, so that its id stays its own.
        self.written: dict[int, tuple[Any, Any]] = {}

    def write(self, value: Any, name: str) -> Any:
        """Return a value as JSON; `name` is its name in files and in errors."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        form = _FORMS.get(type(value).__name__)
        if form and form.kind is type(value):
            return self.once(value, name, self.fields)
        if isinstance(value, np.ndarray):
            return self.once(value, name, self.array)
        for kind, write in _WRITERS.items():
            if isinstance(value, kind) and not hasattr(value, "_fields"):
                return write(self, value, name)
        if callable(value):
            raise UnsavableError(
                f"{name}: {value!r} is a function of your own, which a file does not hold. Take one that bayesperf has "
                "a name for, or keep the data that it was applied to and call it again."
            )
        raise UnsavableError(f"{name}: a {type(value).__name__} cannot be saved. Give NumPy arrays, numbers or texts.")

    def once(self, value: Any, name: str, write: Callable[[Any, str], Any]) -> Any:
        if id(value) not in self.written:
            self.written[id(value)] = write(value, name), value
        return self.written[id(value)][0]

    def fields(self, value: Any, _: str) -> Any:
        kind = type(value).__name__
        of = _FORMS[kind].fields_of(value)
        _refuse_much(of)
        self.parts.append({"class": kind, "fields": {key: self.write(each, key) for key, each in of.items()}})
        return {KIND: "object", "part": len(self.parts) - 1}

    def array(self, value: Any, name: str) -> Any:
        """Return an array as JSON: its name in `arrays`, or the values if it holds texts or objects (or nothing)."""
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
            "values": self.write(np.asarray(variable.values), name),
            "attrs": self.mapping(variable.attrs, name),
        }

    def refuse_levels(self, value: xr.DataArray | xr.Dataset, name: str) -> None:
        if any(isinstance(index, pd.MultiIndex) for index in value.indexes.values()):
            raise UnsavableError(f"{name}: a dim has several levels (a MultiIndex), which no file holds: reset_index.")

    def data_array(self, value: xr.DataArray, name: str) -> Any:
        self.refuse_levels(value, name)
        coords = [[self.write(key, name), self.variable(each.variable, str(key))] for key, each in value.coords.items()]
        return {
            KIND: "DataArray",
            "variable": self.variable(value.variable, name),
            "coords": coords,
            "name": self.write(value.name, name),
        }

    def dataset(self, value: xr.Dataset, name: str) -> Any:
        self.refuse_levels(value, name)
        # They are in one order, the order of the dims.
        variables = [[self.write(key, name), self.variable(each, str(key))] for key, each in value.variables.items()]
        coords, attrs = self.sequence(value.coords, name), self.mapping(value.attrs, name)
        return {KIND: "Dataset", "variables": variables, "coords": coords, "attrs": attrs}

    def tree(self, value: xr.DataTree, name: str) -> Any:
        groups = [[node.path, self.dataset(node.to_dataset(inherit=False), name)] for node in value.subtree]
        return {KIND: "DataTree", "groups": groups}


_WRITERS: dict[Any, Callable[[_Writer, Any, str], Any]] = {
    list: _Writer.sequence,
    tuple: _Writer.tuple_of,
    np.generic: _Writer.scalar,
    pd.Categorical: _Writer.categorical,
    datetime.date | datetime.time: _Writer.time,
    slice: _Writer.slice_of,
    xr.DataArray: _Writer.data_array,
    xr.Dataset: _Writer.dataset,
    xr.DataTree: _Writer.tree,
    # They come after xarray's types, which are mappings, too.
    Mapping: _Writer.mapping,
}


def room_for_texts(values: list[Any]) -> int:
    """Return the number of bytes of texts in a NumPy array, where each takes the length of the longest."""
    return 2**26 + 20 * sum(1 + len(text) for text in values if isinstance(text, str))


def _refuse_much(of: Mapping[str, Any]) -> None:
    """Refuse an object that asks for more draws than a file may ask for."""
    for name in _DRAWS:
        asked = of.get(name)
        if isinstance(asked, int | float | np.number) and not asked <= _MOST_DRAWS:
            raise HeldError(f"{name}={asked!r:.30}: a file may ask for {_MOST_DRAWS:,} at most")


# ── From plain data to objects ──


def made_of(contents: Contents) -> Any:
    """Return the object that checked plain data describes."""
    objects: list[Any] = []
    for part in contents.parts:
        of = {name: _read(value, contents.arrays, objects) for name, value in part["fields"].items()}
        _refuse_much(of)
        objects.append(_named(_FORMS, part["class"]).made(**of))
    return objects[-1]


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
            return xr.Dataset(variables(value["variables"]), attrs=read(value["attrs"])).set_coords(
                read(value["coords"])
            )
        case "DataTree":
            return xr.DataTree.from_dict({path: read(group) for path, group in value["groups"]})
        case kind:
            raise HeldError(f"there is no {kind!r:.60} in this format")
