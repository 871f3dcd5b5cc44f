"""Where a system fails: its predictions sliced by columns of a file, or by dims of a matrix."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesperf import metrics
from bayesperf.core.errors import InputError
from bayesperf.core.words import printable
from bayesperf.files.option_table import Settings

if TYPE_CHECKING:
    from bayesperf.data.counted import Counted
    from bayesperf.groups.sliced_metrics import Slices

# For two classes these are shown, unless others are requested.
_USUAL = ("recall", "specificity", "precision")
# With more slices, sampling takes minutes.
_MOST_SLICES = 500


class SlicedSystem(NamedTuple):
    """The slices of one system."""

    # Its name; empty if it has none.
    system: str
    # By `bayesperf.slices`.
    found: Slices
    # Those to show.
    metrics: list[str]
    # What the sampler warned of.
    warnings: tuple[str, ...]


def refuse_unsliceable(levels: Mapping[str, int], option: str) -> None:
    """Refuse columns with a single level, or with so many that nothing could be said of a slice."""
    for name, count in levels.items():
        if count < 2:
            raise InputError(f"{option}{name}", "it has one value in all examples, so there is nothing to compare.")
    if prod(levels.values()) > _MOST_SLICES:
        sizes = " × ".join(f"{count:,} {name}" for name, count in levels.items())
        raise InputError(
            f"{option}{max(levels, key=lambda name: levels[name])}",
            f"{sizes} are more than {_MOST_SLICES:,} slices.",
            "Slice by what has few values, as bands of age in the place of ages.",
        )


def is_sampled(counts: Counted, settings: Settings) -> bool:
    """Whether slices need the sampler: of several dims, or without a positive class of two."""
    return len(settings.slices) > 1 or (counts.pos_label is None and not counts.graded)


def find_slices(sliced: Counted, place: Mapping[str, Any], settings: Settings, *, progressbar: bool) -> SlicedSystem:
    """Return the slices of the system at a place of the other dims.

    Pairs of dims interact: without that, intervals of slices are too narrow where a device fails at one site only, and
    with it they are little wider where none does.
    """
    from bayesperf.groups.slicing import slices

    counts, rates = sliced.sel(**place), sliced.pos_label is not None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if not is_sampled(counts, settings):
            found = slices(counts, random_seed=settings.seed)
        else:
            from bayesperf.sampling.fitting import fit

            pairs = list(combinations(settings.slices, 2))
            options = {"dims": settings.slices, "interactions": pairs, "outcome": "rates" if rates else "accuracy"}
            tree = fit(
                counts, "slices", options=options, random_seed=settings.seed, progressbar=progressbar, metrics=[]
            )
            found = replace(slices(tree), graded=sliced.graded)
    asked = [metrics.get(name) for name in settings.metrics]
    usable = [m.name for m in asked if m.average != "per_class" and m.greater_is_better is not None]
    shown = list(dict.fromkeys(usable or _USUAL)) if rates else ["accuracy"]
    return SlicedSystem(
        ", ".join(printable(str(value)) for value in place.values()),
        found,
        [name for name in shown if found[name].observed.notnull().any()],
        tuple(dict.fromkeys(str(each.message) for each in caught)),
    )
