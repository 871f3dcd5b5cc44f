"""Where does it fail, by slices: the levels of each dim and the worst slices, observed beside estimated."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesperf import metrics
from bayesperf.core.words import enumerated, probability_value, sentence
from bayesperf.groups.slice_rows import rows_of_slices
from bayesperf.groups.slicing import Slices
from bayesperf.posteriors.densities import without_density
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page.blocks import about

# So many of the worst slices are shown.
_WORST = 8


def facts(analysis: Analysis) -> dict[str, Any] | None:
    """Return a block for each metric, and how much the levels of each dim differ; nothing if there are no slices."""
    sliced = analysis.slices
    if sliced is None:
        return None
    found, ci_prob = sliced.found, analysis.settings.ci_prob
    return {
        "about": _about(analysis),
        "dims": enumerated(list(found.dims)),
        "several": len(found.dims) > 1,
        "warnings": sliced.warnings,
        "blocks": [_block(found, metric, ci_prob) for metric in sliced.metrics],
        "which": _which_dim(found, ci_prob) if len(found.dims) > 1 else [],
    }


def in_words(analysis: Analysis) -> list[str]:
    """Return sentences on the slices by the first metric, if there are any."""
    sliced = analysis.slices
    if sliced is None or not sliced.metrics:
        return []
    return sliced.found.sentences(sliced.metrics[0], ci_prob=analysis.settings.ci_prob)


def _about(analysis: Analysis) -> str:
    assert analysis.slices is not None
    found, name = analysis.slices.found, analysis.slices.system
    best = f" of {name}, the best," if name and len(analysis.systems) > 1 else f" of {name}" if name else ""
    sizes = " × ".join(f"{found.cm.counts.sizes[dim]} {dim}" for dim in found.dims)
    return sentence(f"the predictions{best} sliced by {enumerated(list(found.dims))} ({sizes})")


def _block(found: Slices, metric: str, ci_prob: float) -> dict[str, Any]:
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
