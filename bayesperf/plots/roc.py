"""Figures of ROC, precision–recall and DET curves with their bands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import percentage, short_interval_name
from bayesperf.plots.style import (
    GREY,
    SERIES,
    band_name,
    closed,
    default_interval,
    label_edges,
    shorten,
    small_multiples,
    write_title,
)
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.curves.roc.threshold_curve import ThresholdCurve
    from bayesperf.plots.style import Panels
    from bayesperf.posteriors.marginal import Marginal

    type Thresholds = float | Marginal | Iterable[float | Marginal]

__all__ = ["curve"]

_TITLES = {
    "roc": ("ROC curve", "ROC curves"),
    "precision_recall": ("Precision–recall curve", "Precision–recall curves"),
    "det": ("Detection error tradeoff", "Detection error tradeoffs"),
}
_AXES = {"fpr": "false positive rate", "fnr": "false negative rate", "recall": "recall", "precision": "precision"}
_AREAS = {"roc": "AUC", "precision_recall": "average precision"}
_LEGENDS: dict[str, Literal["lower right", "lower left", "upper right"]] = {
    "roc": "lower right", "precision_recall": "lower left", "det": "upper right"
}  # fmt: skip
_METHODS = {"bayesian_bootstrap": "Bayesian bootstrap", "beta": "each threshold's rates by themselves",
            "binormal": "scores normal in either class", "wilson": "Wilson at each threshold",
            "clopper_pearson": "Clopper–Pearson at each threshold",
            "agresti_coull": "Agresti–Coull at each threshold"}  # fmt: skip
# The line on which both error rates are equal, or precision and recall (false positives equal false negatives).
_BREAK_EVEN = {"roc": ([0, 1], [1, 0]), "det": ([0, 1], [0, 1]), "precision_recall": ([0, 1], [0, 1])}
_BREAK_EVEN_WORDS = {"roc": "fnr = fpr", "det": "fnr = fpr", "precision_recall": "precision = recall"}
_TICKS = np.array([0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999])


@closed
def curve(
    curves: ThresholdCurve | Mapping[str, ThresholdCurve],
    *,
    ci_prob: float | None = None,
    kind: str = "pointwise",
    method: str | None = None,
    thresholds: Thresholds | Mapping[str, Thresholds] = (),
    break_even: bool = False,
    ax: Panels | None = None,
) -> Figure:
    """Plot the curve of a system, or of several, with bands; the areas under the curves are in the legend.

    Parameters
    ----------
    curves : ThresholdCurve or mapping of str to ThresholdCurve
        A curve of one system or several, or several curves by name, of one kind and made by the same method. More than
        six systems have a panel each.
    ci_prob : float, optional
        Probability of the bands, and of the intervals of the areas, as in `bayesperf.plots.density`.
    kind, method
        The kind and method of the bands, as in `bayesperf.curves.ThresholdCurve.band`.
    thresholds : float, Marginal or sequence of them, or a mapping of such by system
        Thresholds to mark on the curves; for the distribution of a threshold (`ThresholdCurve.operating_point`) the
        observed one is marked, on each curve its own.
    break_even : bool
        Whether to draw the line on which both errors are equal: fnr = fpr, or precision = recall.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.roc_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7], draws=100)
    >>> marked = [0.45, curve.operating_point(fpr=0.1)["threshold"]]
    >>> figure = bp.plots.curve(curve, method="wilson", thresholds=marked, break_even=True)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()][1:]
    ['95 % band, pointwise', 'threshold 0.45', 'threshold 0.7', 'fnr = fpr']
    """
    prob, ci_kind = default_interval(ci_prob, None)
    named = dict(curves) if isinstance(curves, Mapping) else curves.each()
    kinds = {(each.name, each.method) for each in named.values()}
    if len(kinds) != 1:
        raise InputError("curves", f"must be of one kind and method; they are {sorted(kinds)}.")
    ((name, own_method),) = kinds
    if isinstance(thresholds, Mapping) and not set(thresholds) <= set(named):
        raise InputError("thresholds", f"are of {_listed(thresholds)}, and the curves of {_listed(named)}.")
    of_system = thresholds if isinstance(thresholds, Mapping) else dict.fromkeys(named, thresholds)
    marked = {system: of_system.get(system, ()) for system in named}
    # More systems than there are colours have a panel each.
    apart = len(named) > len(SERIES)
    figure, panels = (
        small_multiples(len(named), 3.4, 3.5, ax=ax) if apart else small_multiples(1, 5.2, 5.4, margin=(0, 0), ax=ax)
    )
    drawn = [
        _Drawn("" if apart else system, each, band, area, marked[system])
        for (system, each), (band, area) in zip(named.items(), _bands(curves, (prob, kind, method)), strict=True)
    ]
    for axes, group in zip(panels, [[one] for one in drawn] if apart else [drawn], strict=True):
        _draw_curves(axes, group, prob, kind, ci_kind)
        _set_up(axes, name)
        if break_even:
            axes.plot(*_BREAK_EVEN[name], color="black", lw=0.8, ls="--", zorder=1, label=_BREAK_EVEN_WORDS[name])
        if axes.get_legend_handles_labels()[1]:
            title = f"{_AREAS[name]}, {short_interval_name(prob, ci_kind)}" if name in _AREAS else None
            # On white, for the line of break-even runs through its corner.
            axes.legend(facecolor="white", edgecolor="none", framealpha=0.8, fontsize="small", title=title,
                        title_fontsize="small", loc=_LEGENDS[name])  # fmt: skip
    shape = next(iter(named.values())).curve_kind
    label_edges(panels, _AXES[shape.x], _AXES[shape.y], ax)
    one, several = _TITLES[name]
    shown = f"{one} of the system" if len(named) == 1 else f"{several} of {len(named)} systems"
    words = shown, f"{kind} {percentage(prob)} band ({_METHODS[method or own_method]})"
    if not apart:
        panels[0].set_title("\n".join(words), fontsize="medium")
        return figure
    for axes, system in zip(panels, named, strict=True):
        axes.set_title(shorten(system), fontsize="small")
    write_title(figure, *words, ax=ax)
    return figure


class _Drawn(NamedTuple):
    """What a figure shows of a system."""

    # Its name, empty if no legend needs it; its curve, the band, and the area if there is one.
    system: Any
    curve: ThresholdCurve
    band: xr.Dataset
    area: Marginal | None
    thresholds: Thresholds


def _bands(
    curves: ThresholdCurve | Mapping[str, ThresholdCurve], of_band: tuple[float, str, str | None]
) -> Iterator[tuple[xr.Dataset, Marginal | None]]:
    """Yield the band of each system, and its area if there is one: from joint draws if there are such."""
    for curve in curves.values() if isinstance(curves, Mapping) else [curves]:
        band, area = curve.band(*of_band), curve.area if curve.name in _AREAS else None
        for place in [{"model": name} for name in curve.names] or [{}]:
            yield band.sel(place), None if area is None else area.sel(**place)


def _draw_curves(axes: Axes, systems: Sequence[_Drawn], ci_prob: float, kind: str, ci_kind: Kind) -> None:
    """Plot the curves of systems with their bands and thresholds."""
    name_of_band = band_name(ci_prob, kind)
    for colour, (system, curve, band, area, thresholds) in zip(SERIES, systems, strict=False):
        points, x, y = curve.dataset, curve.curve_kind.x, curve.curve_kind.y
        # Between two points precision belongs to the higher recall, as the average precision sums it.
        axes.plot(points[x], points[y], color=colour, lw=1.5, zorder=3, label=_label(system, area, ci_prob, ci_kind),
                  drawstyle="steps-pre" if curve.name == "precision_recall" else "default")  # fmt: skip
        axes.fill(*_outline(band, x, y), color=colour, alpha=0.2, lw=0,
                  label=name_of_band if len(systems) == 1 else None)  # fmt: skip
        _mark(axes, curve, thresholds, colour, system)
    if len(systems) > 1:
        axes.fill([], [], color=GREY, alpha=0.3, lw=0, label=f"{name_of_band}, of each")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _mark(axes: Axes, curve: ThresholdCurve, thresholds: Thresholds, colour: str, system: Any) -> None:
    """Mark thresholds on a curve, each with its own sign."""
    several = thresholds if isinstance(thresholds, Iterable) else [thresholds]
    values = [_observed_threshold(one, system) for one in several]
    x, y = curve.curve_kind.x, curve.curve_kind.y
    for value, sign in zip(values, np.resize(list("osD^vP"), len(values)), strict=True):
        at, name = curve.at(value), f"threshold {value:.4g}"
        axes.plot(at[x], at[y], str(sign), color=colour, mec="white", ms=8, zorder=4, clip_on=False,
                  label=f"{shorten(system)}: {name}" if system != "" else name)  # fmt: skip


def _observed_threshold(threshold: float | Marginal, system: Any) -> float:
    """Return a threshold, or the observed one of a distribution, of the system if there are several."""
    if not hasattr(threshold, "observed"):
        return float(threshold)
    observed = threshold.observed
    return float(observed.sel(model=system) if "model" in observed.dims else observed)


def _label(system: Any, area: Marginal | None, ci_prob: float, ci_kind: Kind) -> str:
    """Return the legend of a curve: the system, and the area under the curve with its interval."""
    if area is None:
        return shorten(system)
    low, high = area.interval(ci_prob, ci_kind).values
    text = f"{area.mean().item():.3f} [{low:.3f}, {high:.3f}]"
    return f"{shorten(system)}: {text}" if system != "" else text


def _outline(band: xr.Dataset, x: str, y: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the polygon around a band; for boxes in both axes, it goes through their outer corners."""
    lower, upper = (band[y].sel(ci_bound=bound).values for bound in ("lower", "upper"))
    if x in band.data_vars:
        # A curve is better with less of an error rate, and with more of a rate of correct calls.
        less, more = (band[x].sel(ci_bound=bound).values for bound in ("lower", "upper"))
        under, over = (more, less) if x == "fpr" and y != "fnr" else (less, more)
    else:
        under = over = band[x].values
    return np.concatenate([under, over[::-1]]), np.concatenate([lower, upper[::-1]])


def _probit(p: ArrayLike) -> Array:
    """Return normal deviates of probabilities; they are finite also at 0 and 1."""
    return np.asarray(ndtri(np.clip(p, 1e-6, 1 - 1e-6)))


def _set_up(axes: Axes, name: str) -> None:
    """Set the scales for a kind of curve, and draw its reference lines."""
    if name == "det":
        for axis, set_limits in ((axes.set_xscale, axes.set_xlim), (axes.set_yscale, axes.set_ylim)):
            axis("function", functions=(_probit, ndtr))
            set_limits(5e-4, 0.9)
        for set_ticks in (axes.set_xticks, axes.set_yticks):
            set_ticks(_TICKS[:-2], [f"{100 * tick:g} %" for tick in _TICKS[:-2]])
        axes.grid(color=GREY, alpha=0.2, lw=0.6)
        return
    axes.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    if name == "roc":
        axes.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":", label="_chance")
        return
    for f1 in np.arange(0.2, 1, 0.2):
        recall = np.linspace(f1 / (2 - f1) + 1e-9, 1, 200)
        axes.plot(recall, f1 * recall / (2 * recall - f1), color=GREY, lw=0.6, ls=":", label="_f1")
        axes.annotate(f"F1 {f1:.1f}", (1.01, f1 / (2 - f1)), fontsize="x-small", color=GREY, va="center",
                      annotation_clip=False)  # fmt: skip
