"""Examples by the thresholds between which systems place them: the data of a decision curve, weighted as units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from bayesperf.core import checks
from bayesperf.core.arrays import NO_DIMS, Array, Booleans, Codes, Counts, Numbers, blocks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held, held_as
from bayesperf.core.random_streams import streams
from bayesperf.core.weights import (
    UNSEEN,
    alike,
    at_random,
    check_enough,
    mean_weight,
    tallied,
    unit_weights,
    weight_shapes,
)
from bayesperf.curves.scored_systems import have_names, systems_of
from bayesperf.data.axis_names import MODEL
from bayesperf.data.binned_scores import BinnedScores, refuse_beside_bins, scores_of
from bayesperf.data.classifier_scores import clusters_of, positives
from bayesperf.data.label_encoding import encode_ids

# Names of strategies: calling every example positive, none, or following the only system.
TREAT_ALL, TREAT_NONE, SYSTEM = "treat_all", "treat_none", "system"
# The most units that have weights of their own. More are put together at random.
MOST_UNITS = 2_000


def _fields_of_csr(table: csr_array) -> dict[str, Any]:
    return {name: getattr(table, name) for name in ("data", "indices", "indptr", "shape")}


def _csr(data: Array, indices: Codes, indptr: Codes, shape: tuple[int, int]) -> csr_array:
    return csr_array((data, indices, indptr), shape)


held_as(csr_array, _fields_of_csr, _csr)


@dataclass(frozen=True, eq=False)
class PlacedExamples(Held):
    """Units of examples with one weight each: examples that no system tells apart, or clusters.

    A place is the number of thresholds that a probability reaches, from 0 to T.
    """

    # Shape of the Gamma distribution of each unit's weight, (U,).
    shapes: Array
    # By how much a unit's weight counts in each place of each system, negatives before positives, (U, S · 2 · (T + 1)).
    table: csr_array
    # How many negatives, and how many positives, each system puts in each place, (S, 2, T + 1).
    counts: Counts

    @property
    def called(self) -> Counts:
        """How many negatives, and how many positives, are called positive at each threshold, (S, 2, T)."""
        return called_at(self.counts)


def called_at(by_place: Numbers) -> Numbers:
    """Return the sums (…, T) over all places above each threshold, from the sums of each place (…, T + 1)."""
    return by_place[..., ::-1].cumsum(-1)[..., -2::-1]


def of_examples(
    places: Codes, is_positive: Booleans, thresholds: int, cluster: Codes | None, rng: np.random.Generator
) -> PlacedExamples:
    """Return examples as units.

    Weights of examples are standard exponentials (the Bayesian bootstrap), so the weights of n alike examples sum to a
    Gamma of shape n. Weights of clusters are as in `weight_shapes`.
    """
    systems, examples = places.shape
    cells = (2 * np.arange(systems)[:, None] + is_positive) * (thresholds + 1) + places
    size = systems * 2 * (thresholds + 1)
    counts = np.bincount(cells.ravel(), minlength=size).reshape(systems, 2, thresholds + 1)
    if cluster is None:
        example, sizes = alike(cells)
        if len(example) <= MOST_UNITS:
            return PlacedExamples(sizes.astype(float), _table(np.arange(len(example)), cells[:, example], size), counts)
    units = np.arange(examples) if cluster is None else cluster
    group = at_random(1 + int(units.max()), MOST_UNITS, rng)[units]
    shapes = weight_shapes(np.bincount(group))
    # All weights have the same mean, whatever their shape.
    table = _table(group, cells, size) * (mean_weight(len(shapes)) / shapes)[:, None]
    return PlacedExamples(shapes, table.tocsr(), counts)


def _table(unit: Codes, cells: Codes, size: int) -> csr_array:
    """Return how many examples of each unit (n,) are in each cell, given their cells (S, n)."""
    return tallied(np.tile(unit, len(cells)), cells.ravel(), (1 + int(unit.max()), size))


# ── Draws ──


def drawn_rates(placed: PlacedExamples, draws: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return joint draws of the prevalence (n,), and of fpr and recall at all thresholds of all systems, (S, T, n).

    Probabilities and classes jointly follow the Dirichlet process of `bayesperf.decision_curve`, in which all systems
    have the examples' weights. For the whole example that is added to a class, each system has its own proportion above
    the thresholds, Beta(½, ½), but systems that place all examples alike share it.
    """
    systems, _, places = placed.counts.shape
    rates = np.empty((2, systems, places - 1, draws))
    prevalence = np.empty(draws)
    _, alike = np.unique(placed.counts.reshape(systems, -1), axis=0, return_inverse=True)
    for part in blocks(draws, max(len(placed.shapes), placed.counts.size)):
        n = part.stop - part.start
        of_places = (unit_weights(rng, placed.shapes, n) @ placed.table).reshape(n, systems, 2, places)
        added = rng.standard_gamma(2 * UNSEEN, (n, 1, 2))
        above = added * rng.beta(UNSEEN, UNSEEN, (n, 1 + alike.max(), 2))[:, alike.ravel()]
        totals = of_places.sum(-1) + added
        called = called_at(of_places) + above[..., None]
        rates[..., part] = np.moveaxis(called / totals[..., None], (2, 1, 3, 0), (0, 1, 2, 3))
        prevalence[part] = totals[:, 0, 1] / totals[:, 0].sum(-1)
    return prevalence, rates[0], rates[1]


# 0.01, 0.02, …, 0.99.
EVEN = np.arange(1, 100) / 100
# Edges of bins are sums, which differ in their last digits from the numbers that they stand for.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class DecisionData(Held):
    """Examples of each group, placed between thresholds by each system."""

    # Ascending, (T,).
    thresholds: Array
    # The examples of each element of `leading`.
    groups: list[PlacedExamples]
    # An array with the dims of the groups.
    leading: xr.DataArray
    # Names of the systems; None of one that has no name.
    systems: list[Any] | None = None
    # Whether examples are weighted by cluster.
    clustered: bool = False

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of curves."""
        of_systems = () if self.systems is None else (MODEL,)
        return *map(str, self.leading.dims), *of_systems, "threshold"

    @property
    def called(self) -> Counts:
        """How many negatives and positives are called positive, (groups, S, 2, T)."""
        return np.stack([group.called for group in self.groups])

    @property
    def class_totals(self) -> Counts:
        """How many negatives and positives there are, (groups, 2)."""
        return np.stack([group.counts[0].sum(-1) for group in self.groups])

    def streams(self, seed: int) -> list[np.random.Generator]:
        """Return the random stream of each group."""
        return streams(seed, "decision curve", self.leading, (group.counts for group in self.groups))

    def over_dims(self, values: ArrayLike, *more: str) -> xr.DataArray:
        """Return values (groups, S, T, …) over all dims, and `more` of them."""
        coords = dict(self.leading.coords) | {"threshold": self.thresholds}
        shape = list(self.leading.shape)
        if self.systems is not None:
            coords[MODEL], shape = self.systems, [*shape, len(self.systems)]
        array = np.asarray(values)
        return xr.DataArray(array.reshape((*shape, *array.shape[2:])), coords, (*self.dims, *more))

    def of_groups(self, values: ArrayLike, *more: str) -> xr.DataArray:
        """Return values (groups, …) over the dims of the groups, and `more`."""
        array = np.asarray(values)
        dims = (*map(str, self.leading.dims), *more)
        return xr.DataArray(array.reshape((*self.leading.shape, *array.shape[1:])), self.leading.coords, dims)


def decision_data(
    y_true: Any,
    y_prob: Any,
    thresholds: ArrayLike | None,
    by: Mapping[str, Any] | None,
    cluster: Any,
    pos_label: Any,
    seed: int,
) -> DecisionData:
    """Return checked data; takes the arguments of `bayesperf.decision_curve`."""
    if isinstance(y_true, BinnedScores):
        refuse_beside_bins(y_prob=y_prob, by=by, cluster=cluster, pos_label=pos_label)
        return _of_bins(y_true, thresholds)
    if y_prob is None:
        raise InputTypeError("y_prob", "give a probability for each label, or BinnedScores alone in the place of both.")
    is_positive = positives(y_true, pos_label)
    systems = systems_of(y_prob, "y_prob")
    if taken := {TREAT_ALL, TREAT_NONE} & set(systems):
        raise InputError(
            "y_prob", f"{min(taken)!r} is the name of a strategy, no system's.", "Name the system otherwise."
        )
    probs = np.stack([
        _probabilities(f"y_prob[{name!r}]" if have_names(systems) else "y_prob", prob, len(is_positive))
        for name, prob in systems.items()
    ])  # fmt: skip
    cuts = EVEN if thresholds is None else checked_thresholds(thresholds)
    codes = None if cluster is None else clusters_of(cluster, len(is_positive), "y_true")
    places = np.searchsorted(cuts, probs, side="right")
    leading, rows = _groups(by, len(is_positive))
    rngs = streams(seed, "groups of examples", leading, (places[:, of_group] for of_group in rows))
    groups = [
        _of_rows(places[:, of_group], is_positive[of_group], len(cuts), None if codes is None else codes[of_group],
                 name, rng)
        for of_group, name, rng in zip(rows, _names(leading), rngs, strict=True)
    ]  # fmt: skip
    return DecisionData(cuts, groups, leading, list(systems) if have_names(systems) else None, cluster is not None)


def checked_thresholds(thresholds: ArrayLike) -> Array:
    """Return thresholds of probability, ascending."""
    cuts = checks.vector("thresholds", thresholds)
    if not ((cuts > 0) & (cuts < 1)).all():
        raise InputError(
            "thresholds",
            "must be between 0 and 1, both excluded, where one error weighs infinitely much; "
            f"they hold {cuts[(cuts <= 0) | (cuts >= 1)][0]:g}.",
        )
    if len(np.unique(cuts)) != len(cuts):
        raise InputError("thresholds", "must all be different.")
    return np.sort(cuts)


def _probabilities(name: str, values: ArrayLike, examples: int) -> Array:
    probs = checks.vector(name, values)
    checks.equal_lengths({"y_true": examples, name: len(probs)})
    _refuse_scores(name, float(probs.min()), float(probs.max()))
    return probs


def _refuse_scores(name: str, least: float, greatest: float) -> None:
    if least < 0 or greatest > 1:
        raise InputError(
            name,
            f"must be probabilities, from 0 to 1; they are from {least:g} to {greatest:g}.",
            "A threshold of a decision curve is the probability at which a positive is worth the "
            "false alarms, and scores that are no probabilities cannot be set against it. "
            "Calibrate them on other examples (sklearn.calibration.CalibratedClassifierCV), or "
            "compare matrices at thresholds of your own: "
            "posterior(ConfusionMatrix.from_scores(…))[metrics.net_benefit(t)].",
        )


def _groups(by: Mapping[str, Any] | None, examples: int) -> tuple[xr.DataArray, list[Codes]]:
    """Return an array with the dims of groups, and the rows of each."""
    if by is None:
        return NO_DIMS, [np.arange(examples)]
    if not isinstance(by, Mapping) or not by:
        raise InputTypeError("by", "must be a mapping of a name to the ids of examples, as {'site': ids}.")
    if reserved := {MODEL, "threshold", "draw", "strategy"} & set(by):
        raise InputError("by", f"{min(reserved)!r} is the name of another dim.", "Name it otherwise.")
    columns = {str(name): encode_ids(ids, f"by[{name!r}]") for name, ids in by.items()}
    checks.equal_lengths({"y_true": examples} | {f"by[{name!r}]": len(c.codes) for name, c in columns.items()})
    shape = [len(column.labels) for column in columns.values()]
    place = np.ravel_multi_index([column.codes for column in columns.values()], shape)
    coords = {name: column.labels.tolist() for name, column in columns.items()}
    leading = xr.DataArray(np.zeros(shape), coords, list(columns))
    return leading, [np.flatnonzero(place == i) for i in range(leading.size)]


def _names(leading: xr.DataArray) -> list[str]:
    """Return what each group is, for errors."""
    labels = [[f"{dim} {label!r}" for label in leading[dim].values.tolist()] for dim in leading.dims]
    return [", ".join(place) for place in product(*labels)]


def _of_rows(
    places: Codes, is_positive: Booleans, thresholds: int, cluster: Codes | None, name: str, rng: np.random.Generator
) -> PlacedExamples:
    """Return the examples of a group, which must have both classes."""
    if not is_positive.any() or is_positive.all():
        raise InputError(
            "by",
            f"{name} has {len(is_positive)} examples, not of both classes.",
            "Merge it with another group, or draw the curve of the others alone.",
        )
    if cluster is not None:
        cluster = np.unique(cluster, return_inverse=True)[1]
        check_enough(1 + int(cluster.max()), f" in {name}" if name else "")
    return of_examples(places, is_positive, thresholds, cluster, rng)


# ── Bins ──


def _of_bins(binned: BinnedScores, thresholds: ArrayLike | None) -> DecisionData:
    """Return the data of binned scores, which know no more than their counts."""
    scores_of(binned, None, None)
    ends = binned.values if binned.edges is None else binned.edges
    _refuse_scores("y_true: scores of the bins", float(ends[0]), float(ends[-1]))
    labels, cuts = _of_edges(binned, thresholds)
    called = np.stack(binned.called(cuts))
    totals = np.array(binned.class_totals)[:, None]
    counts = -np.diff(np.concatenate([totals, called, np.zeros_like(totals)], axis=1))
    seen = np.flatnonzero(counts)
    table = tallied(np.arange(len(seen)), seen, (len(seen), counts.size))
    placed = PlacedExamples(counts.ravel()[seen].astype(float), table, counts[None])
    return DecisionData(labels, [placed], NO_DIMS)


def _of_edges(binned: BinnedScores, thresholds: ArrayLike | None) -> tuple[Array, Array]:
    """Return thresholds, and the edges of bins that they stand for; by default the edges next to 0.01, …, 0.99."""
    if binned.edges is None:
        cuts = EVEN if thresholds is None else checked_thresholds(thresholds)
        return cuts, cuts
    inner = binned.edges[1:-1]
    if not len(inner):
        raise InputError("y_true", "one bin alone has no threshold in it.", "Count in more bins.")
    asked = EVEN if thresholds is None else checked_thresholds(thresholds)
    nearest = inner[np.abs(inner - asked[:, None]).argmin(1)]
    if thresholds is None:
        cuts = np.unique(nearest)
        return cuts.round(12), cuts
    return asked, np.where(np.abs(nearest - asked) < _ROUNDING, nearest, asked)
