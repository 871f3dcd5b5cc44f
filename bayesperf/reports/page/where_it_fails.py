"""Where does it fail? The worst class, the pairs most confused, the matrices, and the folds."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from bayesperf import metrics
from bayesperf.core.arrays import Counts
from bayesperf.core.words import chance, estimate, printable, sentence
from bayesperf.data.display import table_html
from bayesperf.posteriors.densities import intervals
from bayesperf.posteriors.posterior import Posterior
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page import sliced
from bayesperf.reports.page.blocks import block_rows
from bayesperf.reports.page.places import place_of

# Matrices of up to so many classes are tables; of more, heat maps.
_MOST_IN_TABLE = 11
# So many pairs of classes are listed, and so many metrics are shown fold by fold.
_PAIRS, _FOLD_METRICS = 8, 4


def facts(analysis: Analysis) -> dict[str, Any]:
    """Return the matrices with their most confused pairs, and the metrics fold by fold."""
    shown = analysis.foremost
    counts = analysis.foremost_counts.transpose(..., "actual", "predicted")
    matrices = [{"name": name, **_matrix(counts[at], name)} for at, name in place_of(shown.leading)]
    return {
        "said": in_words(analysis),
        "matrices": matrices,
        "left_out": len(analysis.systems) - len(matrices),
        "fold_blocks": _fold_blocks(analysis),
        "sliced": sliced.facts(analysis),
    }


def in_words(analysis: Analysis) -> list[str]:
    """Return a sentence for each system: of two classes how many of each are missed, of more the worst class."""
    shown = analysis.foremost
    counts = analysis.foremost_counts.transpose(..., "actual", "predicted")
    places = place_of(shown.leading)
    if len(shown.labels) == 2:
        said = [_misses(shown, counts[at].values) for at, _ in places]
    else:
        said = [_worst_class(analysis, counts[at].values, at) for at, _ in places]
    return [
        sentence(f"of {printable(name)}, {text}" if name else text)
        for (_, name), text in zip(places, said, strict=True)
    ]


def _misses(posterior: Posterior, table: Counts) -> str:
    """Return how many examples of each of two classes are taken for the other."""
    labels = [printable(str(label)) for label in posterior.labels]
    order = [0, 1] if posterior.positive is None else [posterior.positive, 1 - posterior.positive]
    return " and ".join(
        f"{table[i, 1 - i]:,} of {table[i].sum():,} examples of {labels[i]} {'is' if table[i, 1 - i] == 1 else 'are'} "
        f"taken for {labels[1 - i]}"
        for i in order
    )


def _worst_class(analysis: Analysis, table: Counts, at: tuple[int, ...]) -> str:
    """Return the class that is most probably the least recognised, and what it is taken for."""
    probability, prob = analysis.prob_worst.values[at], analysis.settings.ci_prob
    worst, recall = int(np.argmax(probability)), analysis.class_by_class["recall"]
    lower, upper = recall.hdi(prob).values[at][worst]
    seen = f"{table[worst, worst]:,} of {table[worst].sum():,}"
    value = estimate(float(recall.mean().values[at][worst]), lower, upper, prob, "hdi", seen)
    labels = [printable(str(label)) for label in analysis.counts.labels]
    text = f"least recognised is {labels[worst]}, with recall {value}; that it is the worst has probability "
    pairs = _confused(table)
    taken = "" if not pairs else f", and most often {labels[pairs[0][0]]} is taken for {labels[pairs[0][1]]}"
    return f"{text}{chance(float(probability[worst]))}{taken}"


def _matrix(counts: xr.DataArray, name: str) -> dict[str, Any]:
    """Return a matrix as a table or a heat map, and of more than two classes the most confused pairs."""
    table, labels = counts.values, [str(label) for label in counts["actual"].values.tolist()]
    pairs = [
        (labels[i], labels[j], int(table[i, j]), int(table[i].sum()), f"{100 * table[i, j] / table[i].sum():.0f} %")
        for i, j in (_confused(table) if len(labels) > 2 else [])
    ]
    if len(labels) <= _MOST_IN_TABLE:
        return {"table": Markup(table_html(counts, name)), "pairs": pairs}
    # The root of each share, by which rare errors are seen beside the diagonal.
    shares = np.sqrt(table / np.maximum(table.sum(1, keepdims=True), 1))
    of_system = f" of {name}" if name else ""
    label = f"confusion matrix{of_system}: rows actual classes, columns predicted ones"
    return {"picture": svg.heat_map(shares, label, names=labels, written=table), "pairs": pairs}


def _confused(table: Counts) -> list[tuple[int, int]]:
    """Return the pairs of classes (actual, predicted) with the most errors, those with any."""
    errors = table * (1 - np.eye(len(table), dtype=int))
    order = np.argsort(-errors, axis=None, kind="stable")[:_PAIRS]
    places = zip(*np.unravel_index(order, errors.shape), strict=True)
    return [(int(i), int(j)) for i, j in places if errors[i, j]]


def _fold_blocks(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the first few metrics fold by fold, the folds of a system together."""
    if analysis.folds is None:
        return []
    order = [*analysis.pooled.dims, "fold"]
    blocks = []
    for name in [name for name in analysis.metric_names if metrics.get(name).average != "per_class"][:_FOLD_METRICS]:
        marginal = analysis.folds[name]
        drawn = intervals(marginal, analysis.settings.ci_prob, "hdi")
        title = metrics.get(name).title
        block = block_rows(drawn, drawn.observed, title, svg.strip)
        places = [
            {dim: str(marginal.leading[dim].values[i]) for dim, i in zip(marginal.leading.dims, at, strict=True)}
            for at in np.ndindex(marginal.leading.shape)
        ]
        named = [
            (", ".join(place[dim] for dim in order[:-1]), row | {"name": f"fold {place['fold']}"})
            for place, row in zip(places, block["groups"][0][1], strict=True)
        ]
        named.sort(key=lambda pair: pair[0])
        groups = [(system, [row for _, row in rows]) for system, rows in groupby(named, key=lambda pair: pair[0])]
        blocks.append({"title": title, **block, "groups": groups})
    return blocks
