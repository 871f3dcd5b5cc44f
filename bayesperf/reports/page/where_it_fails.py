"""Where does it fail? The worst class, the pairs most confused, the matrices, the folds, and the slices."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from bayesperf import metrics
from bayesperf.core.arrays import Counts
from bayesperf.core.words import chance, enumerated, estimate, printable, probability_value, sentence
from bayesperf.data.display import table_html
from bayesperf.groups.slice_rows import rows_of_slices
from bayesperf.groups.slicing import Slices
from bayesperf.posteriors.densities import intervals, without_density
from bayesperf.posteriors.posterior import Posterior
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page.blocks import about, block_rows, place_of

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
        "sliced": slices(analysis),
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


# ── By slices: the levels of each dim and the worst slices, observed beside estimated ──

# So many of the worst slices are shown.
_WORST = 8


def slices(analysis: Analysis) -> dict[str, Any] | None:
    """Return a block for each metric, and how much the levels of each dim differ; nothing if there are no slices."""
    sliced = analysis.slices
    if sliced is None:
        return None
    found, ci_prob = sliced.found, analysis.settings.ci_prob
    return {
        "about": _about_slices(analysis),
        "dims": enumerated(list(found.dims)),
        "several": len(found.dims) > 1,
        "warnings": sliced.warnings,
        "blocks": [_slices_block(found, metric, ci_prob) for metric in sliced.metrics],
        "which": _which_dim(found, ci_prob) if len(found.dims) > 1 else [],
    }


def slices_in_words(analysis: Analysis) -> list[str]:
    """Return sentences on the slices by the first metric, if there are any."""
    sliced = analysis.slices
    if sliced is None or not sliced.metrics:
        return []
    return sliced.found.sentences(sliced.metrics[0], ci_prob=analysis.settings.ci_prob)


def _about_slices(analysis: Analysis) -> str:
    assert analysis.slices is not None
    found, name = analysis.slices.found, analysis.slices.system
    best = f" of {name}, the best," if name and len(analysis.systems) > 1 else f" of {name}" if name else ""
    sizes = " × ".join(f"{found.cm.counts.sizes[dim]} {dim}" for dim in found.dims)
    return sentence(f"the predictions{best} sliced by {enumerated(list(found.dims))} ({sizes})")


def _slices_block(found: Slices, metric: str, ci_prob: float) -> dict[str, Any]:
    """Return a metric's sentences and rows, all on one scale."""
    blocks = rows_of_slices(found, metric, _WORST, ci_prob, "hdi")
    names = [name for block in blocks for name in block.names]
    means, intervals = (np.concatenate(parts) for parts in zip(*(block[4:] for block in blocks), strict=True))
    drawn = without_density(means, intervals, names)
    trials, observed = (np.concatenate([block[place] for block in blocks]) for place in (2, 3))
    scale = svg.Scale(drawn, observed[np.isfinite(observed)].tolist())
    title = metrics.get(metric).title
    rows = [
        {
            "name": f"{name}{'' if np.isnan(n) else f' (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n:,.0f})'}",
            "observed": seen,
            "mean": means[i],
            "interval": intervals[i],
            "picture": svg.strip(drawn, i, scale, title, svg.observed(seen, scale)),
        }
        for i, (name, n, seen) in enumerate(zip(names, trials, observed, strict=True))
    ]
    ends = np.cumsum([len(block.names) for block in blocks])
    groups = [(block.heading, rows[end - len(block.names) : end]) for block, end in zip(blocks, ends, strict=True)]
    said = found.sentences(metric, ci_prob=ci_prob)
    return {**about(metrics.get(metric)), "said": said, "groups": groups, "counted": True, "axis": svg.axis(scale)}


def _which_dim(found: Slices, ci_prob: float) -> list[dict[Any, Any]]:
    """Return how much the levels of each dim differ, a posteriori and a priori."""
    rows = found.which_dim(ci_prob).to_dict("records")
    return [row | {name: probability_value(row[name]) for name in ("prob_largest", "prior_largest")} for row in rows]
