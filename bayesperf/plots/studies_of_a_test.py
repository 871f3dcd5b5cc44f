"""Figures of several studies of one test, in the plane of the two rates, and of several readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.words import interval_name, percentage, plural
from bayesperf.plots.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    band_name,
    closed,
    default_interval,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.curves.areas.areas_of_readers import ReaderAreas
    from bayesperf.curves.roc.summary_curve import SummaryCurve
    from bayesperf.groups.accuracy_over_studies import MetaAnalysis
    from bayesperf.plots.style import Panels
    from bayesperf.posteriors.marginal import Kind

__all__ = ["meta_analysis", "reader_areas", "summary_roc"]

# Diameter of the largest study's circle, in points.
_LARGEST = 22.0


@closed
def meta_analysis(studies: MetaAnalysis, *, ci_prob: float | None = None, ax: Panels | None = None) -> Figure:
    """Plot studies, the median study with its credible region, and the region of a new study.

    The area of a study's circle is proportional to its number of examples.

    Parameters
    ----------
    studies : MetaAnalysis
        Of `bayesperf.groups.meta_analysis`.
    ci_prob, ax
        Probability of the regions, and the axes, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
    >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
    >>> figure = bp.plots.meta_analysis(studies)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['4 studies, observed', 'median study, 95 % region', 'new study, 95 % region']
    """
    prob, _ = default_interval(ci_prob, "eti")
    figure, (axes,) = small_multiples(1, 5.2, 5.4, margin=(0, 0), ax=ax)
    _draw(axes, studies, prob)
    write_title(figure, f"Regions of recall and false positive rate over {plural(studies.dim)}", ax=ax)
    return figure


@closed
def summary_roc(
    curve: SummaryCurve, *, ci_prob: float | None = None, kind: str = "pointwise", ax: Panels | None = None
) -> Figure:
    """Plot the summary ROC curve with its band, and what `meta_analysis` plots; it is dashed where no study was.

    Parameters
    ----------
    curve : SummaryCurve
        Of `bayesperf.curves.summary_roc`.
    ci_prob, ax
        Probability of the regions and of the band, and the axes, as in `bayesperf.plots.density`.
    kind : {"pointwise", "simultaneous"}
        The kind of the band.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
    >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
    >>> figure = bp.plots.summary_roc(bp.curves.summary_roc(studies))
    >>> figure.axes[0].get_xlabel()
    'false positive rate'
    """
    prob, _ = default_interval(ci_prob, "eti")
    figure, (axes,) = small_multiples(1, 5.2, 5.4, margin=(0, 0), ax=ax)
    band, points = curve.band(prob, kind)["recall"], curve.dataset["recall"]
    axes.fill_between(
        band["fpr"], *band.transpose("ci_bound", "fpr"), color=BLUE, alpha=0.15, lw=0, label=band_name(prob, kind)
    )
    axes.plot(points["fpr"], points, color=BLUE, lw=1.2, ls=(0, (4, 3)))
    axes.plot(points["fpr"], points.where(points["observed"]), color=BLUE, lw=2, label="summary ROC curve")
    _draw(axes, curve.studies, prob)
    write_title(figure, f"Summary ROC curve of {plural(curve.studies.dim)}", ax=ax)
    return figure


def _draw(axes: Axes, studies: MetaAnalysis, prob: float) -> None:
    """Draw a circle for each study, the median study, and the regions of the median and of a new study."""
    recall, specificity = (studies.by_group.observed_score(name).values for name in ("recall", "specificity"))
    examples = studies.counts.sum(["actual", "predicted"]).values
    area = _LARGEST**2 * examples / examples.max()
    label = f"{len(recall)} {plural(studies.dim)}, observed"
    axes.scatter(1 - specificity, recall, s=area, facecolor="none", edgecolor=GREY, lw=1, clip_on=False, label=label)
    for of, name, colour, style in (
        ("median_group", "median", ORANGE, "-"),
        ("new_group", "new", GREEN, "--"),
    ):
        region = studies.region(of, prob)  # type: ignore[arg-type]
        label = f"{name} {studies.dim}, {percentage(prob)} region"
        axes.plot(region["fpr"], region["recall"], color=colour, ls=style, lw=1.5, label=label)
    median = [studies.median_group[name].median().item() for name in ("fpr", "recall")]
    axes.plot(*median, "D", color=ORANGE, ms=6, mec="white", zorder=4)
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
    axes.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal", xlabel="false positive rate", ylabel="recall")
    axes.legend(facecolor="white", edgecolor="none", framealpha=0.8, fontsize="small", loc="lower right")


# ── Several readers ──

# How far the average and a new reader stand from the readers, in the distance of two modalities.
_ASIDE = 0.14


@closed
def reader_areas(
    study: ReaderAreas, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Plot the observed areas of each reader with each modality, and intervals of the average and of a new reader.

    Parameters
    ----------
    study : ReaderAreas
        Of `bayesperf.curves.reader_areas`.
    ci_prob, ci_kind, ax
        The intervals, and the axes, as in `bayesperf.plots.density`.
    """
    of_interval = default_interval(ci_prob, ci_kind)
    observed, names = study.observed, [shorten(name) for name in study.observed["modality"].values.tolist()]
    figure, (axes,) = small_multiples(1, 2.4 + 1.2 * len(names), 4.2, margin=(0.4, 0.8), ax=ax)
    places = np.arange(len(names))
    lines = axes.plot(places, observed.values, "o-", color=GREY, lw=0.8, ms=4, alpha=0.7)
    lines[0].set_label(f"{len(lines)} readers, observed")
    for marginal, at, colour, style, name in (
        (study.average_reader, -_ASIDE, BLUE, "-", "average reader"),
        (study.new_reader, _ASIDE, ORANGE, "--", "new reader"),
    ):
        axes.vlines(places + at, *marginal.interval(*of_interval).values.T, color=colour, ls=style, lw=2)
        axes.plot(places + at, marginal.mean(), "D", color=colour, ms=5, label=name)
    axes.set_xticks(places, names)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylabel="area under the ROC curve", xlabel="modality")
    axes.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, f"Means and {interval_name(*of_interval)}s", ax=ax)
    return figure
