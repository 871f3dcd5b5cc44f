"""A graph of PyTensor's as the source of one function of loops, which Numba compiles in a tenth of the time.

PyTensor's own translation makes functions of each operation, and each function takes seconds to compile. Here all
operations are loops of one function over flat arrays, in the order of C. Sizes, indices and numbers of the graph are
data: graphs of other sizes have the same source, which is compiled once on a machine. Operations are known by the names
of their classes (`OPERATIONS`, `SCALARS`); a graph with any other has no source.

The function is one of C, as nutpie calls it: (n, point, gradient, value, words) -> error, where the words are all that
is the same at every point (`packed`). A sampler that calls it need not call Python, which would take longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array

# What a source calls besides `elementary`, for Numba; tests give it the same functions of NumPy's.
FUNCTIONS = {
    "empty": np.empty, "expm1": math.expm1, "sqrt": math.sqrt, "tanh": math.tanh, "erf": math.erf, "erfc": math.erfc,
    "lgamma": math.lgamma, "inf": math.inf, "nan": math.nan, "boolean": np.bool_, "whole": np.int64, "real": np.float64,
}  # fmt: skip
# Scalar operations as expressions of their arguments, which are names.
SCALARS = {
    "Sub": "{0} - {1}", "TrueDiv": "{0} / {1}", "IntDiv": "{0} // {1}", "Neg": "-{0}", "Reciprocal": "1.0 / {0}",
    "Sqr": "{0} * {0}", "Sqrt": "sqrt({0})", "Exp": "exp({0})", "Log": "log({0})", "Log1p": "log1p({0})",
    "Expm1": "expm1({0})", "Tanh": "tanh({0})", "Erf": "erf({0})", "Erfc": "erfc({0})", "GammaLn": "lgamma({0})",
    "Abs": "abs({0})", "Identity": "{0}", "Second": "{1}", "Sigmoid": "1.0 / (1.0 + exp(-{0}))",
    "Softplus": "({0} if {0} > 0 else 0.0) + log1p(exp(-abs({0})))",
    "Switch": "{1} if {0} else {2}", "GT": "{0} > {1}", "GE": "{0} >= {1}", "LT": "{0} < {1}", "LE": "{0} <= {1}",
    "EQ": "{0} == {1}", "NEQ": "{0} != {1}", "AND": "{0} & {1}", "OR": "{0} | {1}", "Invert": "not {0}",
    # What is no number stays none.
    "Maximum": "{0} if {0} >= {1} or {0} != {0} else {1}", "Minimum": "{0} if {0} <= {1} or {0} != {0} else {1}",
    "IsNan": "{0} != {0}", "IsInf": "abs({0}) == inf",
    "Sign": "({0} > 0) * 1.0 - ({0} < 0) * 1.0", "Pow": "{0} ** {1}",
}  # fmt: skip
SUMS = {"Add": " + ", "Mul": " * "}
# Where a reduction starts.
FIRST = {"Add": "0.0", "Mul": "1.0", "Maximum": "-inf", "Minimum": "inf", "AND": "True", "OR": "False"}
# Numbers that are part of the source; all others are arguments.
LITERALS = {0, 1, -1}
# The length of a dim that has what the others leave.
REST = "(-1)"
# Errors that the function returns: a gradient, or a density, that is not finite. A sampler then goes elsewhere.
NO_GRADIENT, NO_DENSITY = 3, 4
# Words before those of the arrays: whether to stop, and how many words there are.
FIRST_WORDS = 2


class NoSourceError(Exception):
    """A graph has an operation, or a form of one, that is no loop here."""


@dataclass(frozen=True)
class Flat:
    """An array: the name of its elements in the order of C, or of its single one, and the lengths of its dims."""

    name: str
    shape: tuple[str, ...]
    single: bool = False

    @property
    def size(self) -> str:
        """The number of elements."""
        return product(self.shape)

    def at(self, *place: str) -> str:
        """Return an element, at an index of each dim; what it is along dims of length 1 makes no difference."""
        pairs = [(i, n) for i, n in zip(place, self.shape, strict=True) if n != "1"]
        return self.name if self.single else f"{self.name}[{flat_index(pairs)}]"


def product(lengths: Sequence[str]) -> str:
    """Return the product of lengths as an expression."""
    return " * ".join(n for n in lengths if n != "1") or "1"


def flat_index(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the place in the order of C for an index and a length of each dim."""
    place = ""
    for index, length in pairs:
        place = index if not place else f"({place}) * {length} + {index}"
    return place or "0"


@dataclass
class Program:
    """The source of a function, as far as it is written, and the arrays that it reads after those of the graph."""

    scalar_function: Callable[[Any], Any]
    # The nodes that read a variable, each with the place of the variable among what it reads.
    clients: Mapping[Any, Sequence[tuple[Any, int]]]
    values: dict[Any, Any] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    depth: int = 0
    names: int = 0
    words: int = FIRST_WORDS
    arrays: list[Array] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    functions: dict[str, Any] = field(default_factory=dict)
    entries: dict[Any, list[str]] = field(default_factory=dict)

    def line(self, text: str) -> None:
        """Write a line within the present loops."""
        self.body.append("    " * (self.depth + 1) + text)

    def read(self, name: str, ndim: int, whole: bool) -> tuple[str, ...]:
        """Write that an array is the next one of the words; return the lengths of its dims."""
        start, *shape = (f"words[{self.words + i}]" for i in range(1 + ndim))
        self.words += 1 + ndim
        of_kind = "words" if whole else "reals"
        self.reads.append(f"    {name} = {of_kind}[{start} : {start} + {product(shape)}]")
        return tuple(self.at_first(length) for length in shape)

    def named(self, expression: str) -> str:
        """Write an assignment to a new name, and return the name."""
        self.names += 1
        self.line(f"v{self.names} = {expression}")
        return f"v{self.names}"

    def at_first(self, expression: str) -> str:
        """Write an assignment before the loops."""
        self.names += 1
        self.head.append(f"    v{self.names} = {expression}")
        return f"v{self.names}"

    @contextmanager
    def loops(self, lengths: Sequence[str]) -> Iterator[list[str]]:
        """Write nested loops, and yield the index of each; there is none over a dim of length 1."""
        indices = []
        depth = self.depth
        for length in lengths:
            indices.append("0" if length == "1" else f"i{self.depth}")
            if length != "1":
                self.line(f"for i{self.depth} in range({length}):")
                self.depth += 1
        yield indices
        self.depth = depth

    def empty(self, shape: Sequence[str], dtype: str) -> Flat:
        """Write a new array."""
        kind = {"f": "", "i": ", whole", "b": ", boolean"}.get(np.dtype(dtype).kind)
        if kind is None:
            raise NoSourceError(dtype)
        return Flat(self.named(f"empty({product(shape)}{kind})"), tuple(shape))

    def value(self, variable: Any) -> Any:
        """Return what stands for a variable: an expression of a single number, or a `Flat`."""
        if variable not in self.values:
            self.values[variable] = self.constant(variable)
        return self.values[variable]

    def flat(self, variable: Any) -> Flat:
        """Return the array of a variable, all of whose elements are there."""
        value: Flat = self.value(variable)
        return self.filled(value, variable.type.dtype) if value.single else value

    def filled(self, value: Flat, dtype: str) -> Flat:
        """Write an array of a single element."""
        array = self.empty(value.shape, dtype)
        self.line(f"{array.name}[0] = {value.name}")
        return array

    def constant(self, variable: Any) -> Any:
        """Return what stands for a constant, which is among the data."""
        values = np.asarray(variable.data)
        if values.ndim == 0:
            return self.number(values.item())
        if values.dtype.kind not in "fiub":
            raise NoSourceError(values.dtype)
        shape = tuple(self.number(n) for n in values.shape)
        if values.ndim == 1 and values.dtype.kind in "iu":
            self.entries[variable] = [self.number(value) for value in values.tolist()]
        if values.size == 1:
            return Flat(self.number(values.item()), shape, single=True)
        kind = {"f": float, "b": bool}.get(values.dtype.kind, np.int64)
        self.arrays.append(np.array(values, kind).ravel())
        return Flat(f"a{len(self.arrays) - 1}", shape)

    def number(self, value: Any) -> str:
        """Return a number, which is read from the data unless it is among `LITERALS`."""
        if isinstance(value, bool) or value in LITERALS or not np.isfinite(value):
            return repr(value) if not value < 0 else f"({value!r})"
        numbers, name = (self.sizes, "sizes") if isinstance(value, int) else (self.numbers, "numbers")
        numbers.append(value)
        return self.at_first(f"{name}[{len(numbers) - 1}]")

    def argument(self, variable: Any, local: Mapping[Any, str]) -> str:
        """Return the name of a number within a scalar operation, or the number that it is."""
        return local[variable] if variable in local else self.number(np.asarray(variable.data).item())

    def scalar(self, node: Any, arguments: Sequence[str]) -> list[str]:
        """Write a scalar operation, and return the names of its results."""
        operation, kind = node.op, type(node.op).__name__
        if kind == "Composite":
            local = dict(zip(operation.fgraph.inputs, arguments, strict=True))
            for inner in operation.fgraph.toposort():
                given = [self.argument(v, local) for v in inner.inputs]
                local |= zip(inner.outputs, self.scalar(inner, given), strict=True)
            return [self.argument(v, local) for v in operation.fgraph.outputs]
        if kind == "Cast":
            to = {"f": "{0} * 1.0", "i": "whole({0})", "b": "{0} != 0"}.get(np.dtype(node.outputs[0].type.dtype).kind)
            if to is None:
                raise NoSourceError(kind)
            return [self.named(to.format(*arguments))]
        if kind in SUMS:
            return [self.named(SUMS[kind].join(arguments))]
        # A bitwise inversion of a whole number is another one.
        if kind in SCALARS and (kind != "Invert" or node.outputs[0].type.dtype == "bool"):
            return [self.named(SCALARS[kind].format(*arguments))]
        name = f"f{len(self.functions)}"
        self.functions[name] = self.scalar_function(node)
        return [self.named(f"{name}({', '.join(arguments)})")]


def written(graph: Any, scalar_function: Callable[[Any], Any]) -> tuple[str, list[Array], dict[str, Any]]:
    """Return the source of a function ``density``, the arrays that it reads after the graph's, and what it calls.

    Parameters
    ----------
    graph : pytensor.graph.FunctionGraph
        The graph, in which no operation overwrites its arguments, from a point (n,) and data to a number and a vector.
    scalar_function : callable
        Returns a function for a node of a scalar operation that is not among `SCALARS`.

    Raises
    ------
    NoSourceError
        If an operation of the graph has no loop here.
    """
    source = Program(scalar_function, graph.clients)
    point, *data = graph.inputs
    source.values[point] = Flat("x0", ("1",) if point.type.broadcastable[0] else (source.at_first("x0.size"),))
    for i, variable in enumerate(data, 1):
        source.values[variable] = _of_data(source, f"x{i}", variable)
    for node in graph.toposort():
        kind = type(node.op).__name__
        if kind not in OPERATIONS:
            raise NoSourceError(kind)
        if node.outputs[0] not in source.values:
            results = OPERATIONS[kind](source, node)
            source.values.update(zip(node.outputs, results, strict=True))
    value, gradient = graph.outputs
    _return(source, source.value(value), source.flat(gradient))
    further = [*source.arrays, np.array(source.sizes, np.int64), np.array(source.numbers, float)]
    names = [*(f"a{i}" for i in range(len(source.arrays))), "sizes", "numbers"]
    for name, array in zip(names, further, strict=True):
        source.read(name, 1, array.dtype.kind != "f")
    start = [
        "def density(n, point, gradient, value, data):",
        f"    words = carray(data, {FIRST_WORDS}, whole)",
        f"    if words[0] != 0:\n        return {NO_DENSITY}",
        "    words = carray(data, words[1], whole)",
        "    reals = carray(data, words.size, real)",
        "    x0, slopes, values = carray(point, n, real), carray(gradient, n, real), carray(value, 1, real)",
    ]
    lines = [*start, *source.reads, *source.head, *source.body]
    return "\n".join(lines) + "\n", further, source.functions


def _of_data(source: Program, name: str, variable: Any) -> Any:
    """Return what stands for data of the graph."""
    kind = np.dtype(variable.type.dtype).kind
    if kind not in "fib":
        raise NoSourceError(variable.type.dtype)
    lengths = source.read(name, variable.ndim, kind != "f")
    if variable.ndim == 0:
        return source.at_first(f"{name}[0]")
    shape = zip(lengths, variable.type.broadcastable, strict=True)
    return Flat(name, tuple("1" if one else length for length, one in shape))


def _return(source: Program, value: str, gradient: Flat) -> None:
    """Write where the results go, and whether they are finite."""
    source.line(f"values[0] = {value}")
    source.line("finite = True")
    with source.loops([gradient.size]) as (i,):
        source.line(f"slopes[{i}] = {gradient.name}[{i}]")
        source.line(f"finite = finite and abs({gradient.name}[{i}]) < inf")
    source.line(f"return {NO_GRADIENT} if not finite else 0 if abs({value}) < inf else {NO_DENSITY}")


def packed(arrays: Sequence[Array]) -> Array:
    """Return the words of arrays that a function reads: where each starts, its lengths, and at last all elements.

    The first word is 0; the function stops once it is not.
    """
    starts = FIRST_WORDS + sum(1 + array.ndim for array in arrays) + np.cumsum([0, *(array.size for array in arrays)])
    words = np.empty(starts[-1], np.int64)
    words[:FIRST_WORDS] = 0, words.size
    at = FIRST_WORDS
    for array, start in zip(arrays, starts[:-1], strict=True):
        words[at : at + 1 + array.ndim] = start, *array.shape
        at += 1 + array.ndim
        elements = words[start : start + array.size]
        (elements.view(float) if array.dtype.kind == "f" else elements)[:] = array.ravel()
    return words


# ── Operations: each writes its loops, and returns what stands for its results ──


def _lengths(source: Program, variables: Sequence[Any]) -> list[str]:
    """Return the lengths of the dims of variables that are repeated along each other's."""
    shapes = [source.value(variable).shape for variable in variables]
    return [next((n for n in of_dim if n != "1"), "1") for of_dim in zip(*shapes, strict=True)]


def _merged(lengths: Sequence[str], shapes: Sequence[Sequence[str]]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Join neighbouring dims that arrays of these shapes all have, or all lack; return the lengths and the shapes."""
    kept = [axis for axis, n in enumerate(lengths) if n != "1"]
    groups: list[list[int]] = []
    for axis in kept:
        same = groups and all((s[groups[-1][-1]] == "1") == (s[axis] == "1") for s in shapes)
        groups[-1].append(axis) if same else groups.append([axis])
    joined = [product([lengths[axis] for axis in group]) for group in groups]
    joined = [f"({n})" if " " in n else n for n in joined]
    return joined, [tuple("1" if s[g[0]] == "1" else n for g, n in zip(groups, joined, strict=True)) for s in shapes]


def _elementwise(source: Program, node: Any) -> list[Any]:
    """Write the loops of scalar operations, and in the same loops the reductions of what nothing else reads."""
    scalar = node.op.make_scalar_node(*node.inputs)
    if node.outputs[0].ndim == 0:
        return source.scalar(scalar, [source.value(v) for v in node.inputs])
    lengths = _lengths(source, node.inputs)
    values = [source.value(v) for v in node.inputs]
    made = [_Reduced.alone(source, v, lengths) or source.empty(lengths, v.type.dtype) for v in node.outputs]
    loops, shapes = _merged(lengths, [*(v.shape for v in values), *(m.shape for m in made)])
    given, own = shapes[: len(values)], shapes[len(values) :]
    of_loop = [Flat(value.name, shape, value.single) for value, shape in zip(values, given, strict=True)]
    of_made = [
        one.within(shape) if isinstance(one, _Reduced) else Flat(one.name, shape)
        for one, shape in zip(made, own, strict=True)
    ]
    with _loops_of(source, loops, [m for m in of_made if isinstance(m, _Reduced)]) as indices:
        computed = source.scalar(scalar, [source.named(value.at(*indices)) for value in of_loop])
        for one, name in zip(of_made, computed, strict=True):
            one.add(source, indices, name) if isinstance(one, _Reduced) else source.line(f"{one.at(*indices)} = {name}")
    return [None if isinstance(one, _Reduced) else one for one in made]


@dataclass
class _Reduced:
    """A reduction: its result, a name or an array, its shape where the dims that it lacks are 1, and each step."""

    result: Any
    shape: tuple[str, ...]
    step: str

    @classmethod
    def begun(cls, source: Program, node: Any, lengths: Sequence[str]) -> _Reduced:
        """Write what a reduction starts with, of an array of these lengths."""
        kind, output = type(node.op.scalar_op).__name__, node.outputs[0]
        whole = np.dtype(output.type.dtype).kind == "i"
        if kind not in FIRST or (whole and kind not in SUMS):
            raise NoSourceError(kind)
        first = FIRST[kind].replace(".0", "") if whole else FIRST[kind]
        axes = range(len(lengths)) if node.op.axis is None else node.op.axis
        kept = tuple("1" if axis in axes else n for axis, n in enumerate(lengths))
        step = SUMS[kind].join(["{0}", "{1}"]) if kind in SUMS else SCALARS[kind]
        if output.ndim == 0:
            return cls(source.named(first), kept, step)
        result = source.empty([n for axis, n in enumerate(lengths) if axis not in axes], output.type.dtype)
        source.line(f"{result.name}[:] = {first}")
        return cls(result, kept, step)

    @classmethod
    def alone(cls, source: Program, variable: Any, lengths: Sequence[str]) -> _Reduced | None:
        """Return the reduction that alone reads a variable, which is then written here; None if there is none."""
        clients = [node for node, _ in source.clients[variable]]
        if len(clients) != 1 or OPERATIONS.get(type(clients[0].op).__name__) is not _reduction:
            return None
        reduced = cls.begun(source, clients[0], lengths)
        source.values[clients[0].outputs[0]] = reduced.result
        return reduced

    def within(self, shape: tuple[str, ...]) -> _Reduced:
        """Return the reduction within loops over dims in which its result has this shape."""
        result = Flat(self.result.name, shape) if isinstance(self.result, Flat) else self.result
        return _Reduced(result, shape, self.step)

    def add(self, source: Program, indices: Sequence[str], element: str) -> None:
        """Write a step."""
        if isinstance(self.result, Flat):
            at = self.result.at(*indices)
            source.line(f"{at} = {self.step.format(source.named(at), element)}")
        else:
            source.line(f"{self.result} = {self.step.format(self.result, element)}")


@contextmanager
def _loops_of(source: Program, loops: Sequence[str], reduced: Sequence[_Reduced]) -> Iterator[list[str]]:
    """Write nested loops; what the innermost one adds to one element is a number within it, which is quicker."""
    arrays = [one for one in reduced if loops and isinstance(one.result, Flat) and one.shape[-1] == "1"]
    with source.loops(loops[:-1]) as outer:
        places = [one.result.at(*outer, "0") for one in arrays]
        for one, place in zip(arrays, places, strict=True):
            one.result = source.named(place)
        with source.loops(loops[-1:]) as inner:
            yield [*outer, *inner]
        for one, place in zip(arrays, places, strict=True):
            source.line(f"{place} = {one.result}")


def _reduction(source: Program, node: Any) -> list[Any]:
    value = source.value(node.inputs[0])
    begun = _Reduced.begun(source, node, value.shape)
    loops, (of_value, of_result) = _merged(value.shape, [value.shape, begun.shape])
    reduced = begun.within(of_result)
    with _loops_of(source, loops, [reduced]) as indices:
        reduced.add(source, indices, source.named(Flat(value.name, of_value, value.single).at(*indices)))
    return [begun.result]


def _dims_shuffled(source: Program, node: Any) -> list[Any]:
    value, order = source.value(node.inputs[0]), node.op.new_order
    if node.inputs[0].ndim == 0:
        return [Flat(value, ("1",) * len(order), single=True)]
    if not order:
        return [source.named(value.at(*["0"] * len(value.shape)))]
    shape = tuple("1" if axis == "x" else value.shape[axis] for axis in order)
    kept = [axis for axis in order if axis != "x" and value.shape[axis] != "1"]
    if kept == sorted(kept):
        return [Flat(value.name, shape, value.single)]
    result = source.empty(shape, node.outputs[0].type.dtype)
    with source.loops(shape) as indices:
        place = dict(zip(order, indices, strict=True))
        source.line(f"{result.at(*indices)} = {value.at(*(place.get(axis, '0') for axis in range(len(value.shape))))}")
    return [result]


def _reshaped(source: Program, node: Any) -> list[Any]:
    array, vector = source.flat(node.inputs[0]), node.inputs[1]
    given = source.value(vector)
    entries = source.entries.get(vector)
    if entries is None:
        entries = [source.named(given.at(str(i))) for i in range(node.outputs[0].ndim)]
        # One of them may be −1, and then their product is less than none.
        rest = source.named(f"{array.size} // max(abs({product(entries)}), 1)")
        shape = [source.named(f"{entry} if {entry} >= 0 else {rest}") for entry in entries]
    else:
        known = product(["1" if entry == REST else entry for entry in entries])
        shape = [source.named(f"{array.size} // ({known})") if entry == REST else entry for entry in entries]
    return [Flat(array.name, _with_ones(shape, node.outputs[0]))] if shape else [source.named(f"{array.name}[0]")]


def _with_ones(shape: Sequence[str], variable: Any) -> tuple[str, ...]:
    """Return a shape in which what is known to be 1 is so written."""
    return tuple("1" if one else n for n, one in zip(shape, variable.type.broadcastable, strict=True))


def _allocated(source: Program, node: Any) -> list[Any]:
    value, *sizes = (source.value(v) for v in node.inputs)
    shape = _with_ones(sizes, node.outputs[0])
    value = value if isinstance(value, Flat) else Flat(value, (), single=True)
    result = source.empty(shape, node.outputs[0].type.dtype)
    given = ("1",) * (len(shape) - len(value.shape)) + value.shape
    loops, (of_value,) = _merged(shape, [given])
    with source.loops(loops) as indices:
        source.line(
            f"{Flat(result.name, tuple(loops)).at(*indices)} = {Flat(value.name, of_value, value.single).at(*indices)}"
        )
    return [result]


def _joined(source: Program, node: Any) -> list[Any]:
    axis, arrays = node.op.axis, [source.value(v) for v in node.inputs]
    shape = [next((a.shape[d] for a in arrays if a.shape[d] != "1"), "1") for d in range(node.outputs[0].ndim)]
    shape[axis] = source.named(" + ".join(array.shape[axis] for array in arrays))
    result, start = source.empty(shape, node.outputs[0].type.dtype), "0"
    for array in arrays:
        with source.loops(array.shape) as indices:
            place = [f"{start} + {i}" if d == axis else i for d, i in enumerate(indices)]
            source.line(f"{result.at(*place)} = {array.at(*indices)}")
        start = source.named(f"{start} + {array.shape[axis]}")
    return [result]


def _vector(source: Program, node: Any) -> list[Any]:
    entries = [source.value(v) for v in node.inputs]
    return [_vector_of(source, node.outputs[0], entries)]


def _vector_of(source: Program, variable: Any, entries: list[str]) -> Flat:
    source.entries[variable] = entries
    array = source.empty(["1" if len(entries) == 1 else str(len(entries))], variable.type.dtype)
    for i, entry in enumerate(entries):
        source.line(f"{array.name}[{i}] = {entry}")
    return array


def _length(source: Program, node: Any) -> list[Any]:
    return [source.value(node.inputs[0]).shape[node.op.i]]


def _shape(source: Program, node: Any) -> list[Any]:
    return [_vector_of(source, node.outputs[0], list(source.value(node.inputs[0]).shape))]


def _same(source: Program, node: Any) -> list[Any]:
    return [source.value(node.inputs[0])]


def _matrix_product(source: Program, node: Any) -> list[Any]:
    """Write the product of vectors or matrices, or of as many pairs of them as leading dims say."""
    a, b = (source.flat(v) for v in node.inputs)
    batch = node.outputs[0].ndim - 2 if type(node.op).__name__ == "BatchedDot" else 0
    rows, columns = (1 if a_or_b.ndim - batch == 2 else 0 for a_or_b in node.inputs)
    lead = _lengths_of_batch(a, b, batch)
    left, inner = list(a.shape[batch : batch + rows]), a.shape[-1]
    right = list(b.shape[len(b.shape) - columns :])
    inner = inner if inner != "1" else b.shape[batch]
    shape = [*lead, *left, *right]
    if not shape:
        total = source.named("0.0")
        with source.loops([inner]) as (k,):
            source.line(f"{total} += {a.at(k)} * {b.at(k)}")
        return [total]
    result = source.empty(shape, node.outputs[0].type.dtype)
    source.line(f"{result.name}[:] = 0.0")
    # The last dim is the innermost loop: neighbours in memory are computed at once.
    with source.loops([*lead, *left, inner, *right]) as indices:
        first, last = len(lead), len(lead) + len(left)
        of_lead, i, k, j = indices[:first], indices[first:last], indices[last], indices[last + 1 :]
        place = result.at(*of_lead, *i, *j)
        source.line(f"{place} += {a.at(*of_lead, *i, k)} * {b.at(*of_lead, k, *j)}")
    return [result]


def _lengths_of_batch(a: Flat, b: Flat, batch: int) -> list[str]:
    return [m if m != "1" else n for m, n in zip(a.shape[:batch], b.shape[:batch], strict=True)]


# ── Parts of arrays ──


def _bound(source: Program, index: Any, length: str, default: str) -> str:
    """Return where a slice starts or stops."""
    if index is None:
        return default
    value = source.value(index)
    if hasattr(index, "data"):
        known = int(np.asarray(index.data))
        if known >= 0:
            return "0" if known == 0 else source.named(f"min({value}, {length})")
        return source.named(f"max({length} + {value}, 0)")
    return source.named(f"min({value} if {value} >= 0 else max({value} + {length}, 0), {length})")


def _axis_part(source: Program, entry: Any, length: str) -> tuple[str, int, str]:
    """Return the start, the step and the length of the part of a dim that a slice is."""
    step = 1 if entry.step is None else int(np.asarray(entry.step.data)) if hasattr(entry.step, "data") else 0
    if step == -1 and entry.start is None and entry.stop is None:
        return source.named(f"{length} - 1"), -1, length
    if step < 1:
        raise NoSourceError("a slice of another step")
    if entry.start is None and entry.stop is None and step == 1:
        return "0", 1, length
    start, stop = _bound(source, entry.start, length, "0"), _bound(source, entry.stop, length, length)
    return start, step, source.named(f"max(({stop} - {start} + {step - 1}) // {step}, 0)")


def _entries(node: Any, indices: Sequence[Any], ndim: int) -> list[Any]:
    """Return for each dim a slice, whose parts are variables or None, or a variable."""
    given = [
        slice(*(None if p is None else indices[p] for p in (e.start, e.stop, e.step)))
        if isinstance(e, slice)
        else indices[e]
        for e in node.op.idx_list
    ]
    return given + [slice(None)] * (ndim - len(given))


@dataclass
class _Part:
    """A part of an array: the lengths of its own dims, and where its elements stand in the array."""

    lengths: list[str]
    place: Callable[[Sequence[str]], list[str]]


def _part(source: Program, value: Flat, entries: Sequence[Any]) -> _Part:
    """Return the part that slices and whole numbers, single ones or neighbouring arrays of them, select."""
    arrays = [axis for axis, e in enumerate(entries) if not isinstance(e, slice) and e.ndim > 0]
    numbers = [axis for axis, e in enumerate(entries) if not isinstance(e, slice) and e.ndim == 0]
    if arrays and (numbers or arrays != list(range(arrays[0], arrays[-1] + 1))):
        raise NoSourceError("indices that are apart")
    if any(entries[axis].type.dtype == "bool" for axis in arrays) or len({entries[axis].ndim for axis in arrays}) > 1:
        raise NoSourceError("indices of another form")
    picked = _lengths(source, [entries[axis] for axis in arrays]) if arrays else []
    lengths: list[str] = []
    places: list[Callable[[Sequence[str]], str]] = []
    for axis, entry in enumerate(entries):
        length, at = value.shape[axis], len(lengths)
        if isinstance(entry, slice):
            start, step, own = _axis_part(source, entry, length)
            lengths.append(own)
            places.append(partial(_at_step, at, start, step))
        elif entry.ndim == 0:
            index = _wrapped_index(source, entry, source.value(entry), length)
            places.append(partial(_at_number, index))
        else:
            if axis == arrays[0]:
                lengths.extend(picked)
            first = at if axis == arrays[0] else at - len(picked)
            places.append(partial(_at_picked, source, entry, slice(first, first + len(picked)), length))
    return _Part(lengths, lambda i: [place(i) for place in places])


def _at_step(axis: int, start: str, step: int, indices: Sequence[str]) -> str:
    scaled = indices[axis] if step == 1 else f"{indices[axis]} * {step}"
    return scaled if start == "0" else f"{start} + {scaled}"


def _at_number(index: str, _: Sequence[str]) -> str:
    return index


def _at_picked(source: Program, variable: Any, axes: slice, length: str, indices: Sequence[str]) -> str:
    return _wrapped_index(source, variable, source.named(source.value(variable).at(*indices[axes])), length)


def _wrapped_index(source: Program, variable: Any, index: str, length: str) -> str:
    """Return an index from the start of a dim; negative ones are from its end."""
    if hasattr(variable, "data") and (np.asarray(variable.data) >= 0).all():
        return index
    return source.named(f"{index} if {index} >= 0 else {index} + {length}")


def _selected(source: Program, node: Any) -> list[Any]:
    value, indices = source.value(node.inputs[0]), node.inputs[1:]
    entries = _entries(node, indices, node.inputs[0].ndim)
    part = _part(source, value, entries)
    if node.outputs[0].ndim == 0:
        return [source.named(value.at(*part.place(())))]
    shape = _with_ones(part.lengths, node.outputs[0])
    first = entries[0]
    if isinstance(first, slice) and first.step is None and entries[1:] == [slice(None)] * (len(entries) - 1):
        if value.single:
            return [Flat(value.name, shape, single=True)]
        (start, *_), inner = part.place(["0"] * len(shape)), product(value.shape[1:])
        begin, end = (source.named(f"({n}) * ({inner})") for n in (start, f"{start} + {part.lengths[0]}"))
        return [Flat(source.named(f"{value.name}[{begin}:{end}]"), shape)]
    result = source.empty(shape, node.outputs[0].type.dtype)
    with source.loops(shape) as at:
        source.line(f"{result.at(*at)} = {value.at(*part.place(at))}")
    return [result]


def _changed(source: Program, node: Any) -> list[Any]:
    """Write a copy of an array in which a part is replaced or added to."""
    value, given = source.flat(node.inputs[0]), source.value(node.inputs[1])
    result = Flat(source.named(f"{value.name}.copy()"), value.shape)
    part = _part(source, value, _entries(node, node.inputs[2:], node.inputs[0].ndim))
    given = given if isinstance(given, Flat) else Flat(given, (), single=True)
    sign = "=" if node.op.set_instead_of_inc else "+="
    with source.loops(part.lengths) as at:
        own = at[len(at) - len(given.shape) :]
        source.line(f"{result.at(*part.place(at))} {sign} {given.at(*own)}")
    return [result]


# ── The simplex ──


def _shares(source: Program, node: Any) -> list[Any]:
    return _written_call(source, "shares", node, [1])


def _slope(source: Program, node: Any) -> list[Any]:
    return _written_call(source, "slope", node, [1, 1, 0])


def _written_call(source: Program, name: str, node: Any, core: Sequence[int]) -> list[Any]:
    """Write the call of a function of rows, and return its results with the leading dims of the first argument."""
    arrays = [
        source.flat(v) if v.ndim else source.filled(Flat(source.value(v), (), single=True), v.type.dtype)
        for v in node.inputs
    ]
    leading, length = arrays[0].shape[:-1], arrays[0].shape[-1]
    rows = product(leading)
    given = [
        f"{array.name}.reshape(({rows}, {array.shape[-1]}))" if own else array.name
        for array, own in zip(arrays, core, strict=True)
    ]
    results = [source.named(f"{name}({', '.join(given)})")]
    if len(node.outputs) > 1:
        results = [source.named(f"{results[0]}[{i}]") for i in range(len(node.outputs))]
    last = source.named(f"{length} + 1" if name == "shares" else f"{length} - 1")
    made: list[Any] = []
    for variable, result in zip(node.outputs, results, strict=True):
        if variable.ndim == len(leading) + 1:
            flat = source.named(f"{result}.reshape({result}.size)")
            made.append(Flat(flat, _with_ones([*leading, last], variable)))
        else:
            made.append(Flat(result, tuple(leading)) if variable.ndim else source.named(f"{result}[0]"))
    return made


OPERATIONS: dict[str, Callable[[Program, Any], list[Any]]] = {
    "Elemwise": _elementwise,
    **dict.fromkeys(["Sum", "Prod", "Max", "Min", "All", "Any", "CAReduce"], _reduction),
    **dict.fromkeys(["DimShuffle", "ExpandDims", "Squeeze"], _dims_shuffled),
    "Reshape": _reshaped,
    "Alloc": _allocated,
    "Join": _joined,
    "MakeVector": _vector,
    "Shape_i": _length,
    "Shape": _shape,
    **dict.fromkeys(["TensorFromScalar", "ScalarFromTensor", "SpecifyShape", "Assert", "CheckAndRaise"], _same),
    **dict.fromkeys(["Dot", "BatchedDot"], _matrix_product),
    **dict.fromkeys(["Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1"], _selected),
    **dict.fromkeys(["IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1"], _changed),
    "_Shares": _shares,
    "_Slope": _slope,
}
