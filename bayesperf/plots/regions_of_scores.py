"""Figures of chosen thresholds: the scores of either class, and what is decided where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.plots.style import BLUE, GREY, ORANGE, closed, small_multiples, write_legend, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.curves.chosen_thresholds.candidates import Candidates
    from bayesperf.curves.chosen_thresholds.chosen import ChosenThreshold

_BARS = 40


@closed
def score_regions(chosen: ChosenThreshold, *, ax: Axes | None = None) -> Figure:
    """Draw how many examples of either class have each score, and the thresholds; what is left to people is grey.

    Parameters
    ----------
    chosen : ChosenThreshold
        What `bayesperf.choose_threshold` or `bayesperf.curves.abstention` returns. Drawn are the examples that chose.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    >>> two = bp.curves.abstention(frame["actual"], frame["score"], max_abstention=0.05, pos_label="malignant",
    ...                            draws=100)
    >>> [text.get_text() for text in bp.plots.score_regions(two).legends[0].get_texts()]
    ['negatives', 'positives', 'left to people']
    """
    edges, counts = _bars(chosen.candidates)
    figure, (axes,) = small_multiples(1, 7.2, 3.2, margin=(0, 0), ax=ax)
    for of_class, colour, name, side in zip(counts, (BLUE, ORANGE), ("negatives", "positives"), (-1, 1), strict=True):
        axes.stairs(side * of_class, edges, color=colour, fill=True, alpha=0.6, label=name)
    axes.axhline(0, color="black", lw=0.6)
    ends = [chosen.low, chosen.high]
    for end in {float(np.clip(each, *edges[[0, -1]])) for each in ends}:
        axes.axvline(end, color="black", lw=1.2)
        axes.annotate(f"{end:.3g}", (end, 1), (3, -2), xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                      va="top", fontsize="small")  # fmt: skip
    if ends[0] < ends[-1]:
        axes.axvspan(*np.clip(ends, *edges[[0, -1]]), color=GREY, alpha=0.2, lw=0, label="left to people")
    axes.set_ylim(-1.05 * counts[0].max(), 1.25 * counts[1].max())
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    axes.set(xlabel="score", ylabel="examples: positive above,\nnegative below", xlim=edges[[0, -1]])
    axes.spines[["top", "right"]].set_visible(False)
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, "Scores of the examples that chose", chosen.rule, ax=ax)
    return figure


def _bars(candidates: Candidates) -> tuple[Array, Array]:
    """Return edges of bars (k + 1,), and how many negatives and positives (2, k) are in each."""
    scores = candidates.thresholds[1:]
    edges = np.histogram_bin_edges(scores, _BARS)
    return edges, np.stack([np.histogram(scores, edges, weights=of_class)[0] for of_class in candidates.counts])
