"""The figures of studies: how often intervals cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.core.words import INTERVAL_KINDS, metric_title, percentage, place_names, short_interval_name
from bayesperf.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    SERIES,
    closed,
    label_around,
    label_edges,
    log_scale,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels

__all__ = [
    "coverage",
    "coverage_over",
    "f1_coverage",
    "predictive_spread",
    "rate_coverage",
    "repeated_splits",
    "sequential",
    "simulation_based_calibration",
    "split_scores",
]

# Where axes of coverage begin: of a rate, whose lower coverages are cut off, and of any metric, where they are arrows.
_LEAST_OF_RATES, _LEAST = 0.8, 0.7
# Range of the colours of F1's coverage, and of a surface's axis, on either side of the nominal coverage.
_REACH = 0.05


@closed
def rate_coverage(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Plot the coverage of each kind of interval for a rate, over the rate.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.rate_coverage`, for one n.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.
    """
    check_study(study, "rate_coverage", ("interval", "p"))
    intervals, confidence = study["interval"].values.tolist(), study.attrs["confidence"]
    figure, panels = small_multiples(
        len(intervals), 2.5, 2.0, columns=5, margin=(0.5, 0.8), ax=ax, sharex=True, sharey=True
    )
    for axes, interval in zip(panels, intervals, strict=True):
        values = study["coverage"].sel(interval=interval).values
        axes.axhline(confidence, color=GREY, lw=0.8)
        axes.plot(study["p"], values, color=BLUE, lw=0.7)
        axes.set_title(interval, fontsize="small")
        axes.annotate(f"mean {values.mean():.3f}, least {values.min():.3f}", (0.5, 0.06), xycoords="axes fraction",
                      ha="center", fontsize="x-small")  # fmt: skip
        axes.set_ylim(_LEAST_OF_RATES, 1.005)
    label_around(figure, panels, "true rate", "coverage", ax)
    write_title(
        figure, f"Exact coverage of {percentage(confidence)} intervals of a rate, n = {study['n'].item()}", ax=ax
    )
    return figure


@closed
def f1_coverage(study: xr.Dataset, *, view: str = "map", ax: Panels | None = None) -> Figure:
    """Plot the coverage of each kind of interval for F1, over precision and recall.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.f1_coverage`.
    view : {"map", "surface"}
        A map seen from above, or a surface in perspective.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.
    """
    from matplotlib import colors

    checks.one_of("view", view, ("map", "surface"))
    check_study(study, "f1_coverage", ("interval", "precision", "recall"))
    intervals, confidence = study["interval"].values.tolist(), study.attrs["confidence"]
    scale = colors.TwoSlopeNorm(confidence, confidence - _REACH, min(confidence + _REACH, 1.0))
    shades = colors.LinearSegmentedColormap.from_list("", [ORANGE, "#f7f7f7", BLUE])
    figure, panels = small_multiples(len(intervals), 3.1, 3.0, margin=(1, 0.4), boxed=True, ax=ax,
                                     subplot_kw={"projection": "3d"} if view == "surface" else {})  # fmt: skip
    p, r = np.meshgrid(study["precision"], study["recall"], indexing="ij")
    axes: Any  # in two dimensions or three
    for axes, interval in zip(panels, intervals, strict=True):
        values = study["coverage"].sel(interval=interval).transpose("precision", "recall").values
        if view == "map":
            shown = axes.pcolormesh(p, r, values, cmap=shades, norm=scale, shading="nearest")
            axes.set_facecolor("#cccccc")
        else:
            floor = np.where(np.isnan(values), np.nan, np.maximum(values, confidence - _REACH))
            shown = axes.plot_surface(p, r, floor, cmap=shades, norm=scale, rstride=1, cstride=1, lw=0.1,
                                      edgecolor=GREY)  # fmt: skip
            axes.set_zlim(confidence - _REACH, min(confidence + _REACH, 1.0))
            axes.view_init(28, 35)  # good systems in front
            axes.set_box_aspect(None, zoom=0.85)  # room for its labels
            axes.tick_params(labelsize="x-small")
            axes.locator_params(nbins=4)
        axes.set_xlabel("precision")
        axes.set_ylabel("recall")
        axes.set_title(f"{interval}: {np.nanmin(values):.3f} to {np.nanmax(values):.3f}", fontsize="small")
    figure.colorbar(shown, ax=panels, label="coverage", extend="min", shrink=0.85)
    left_out = "; grey: no such system" if np.isnan(study["coverage"]).any() and view == "map" else ""
    of = f"n = {study.attrs['n']}, prevalence {study.attrs['prevalence']:g}{left_out}"
    write_title(figure, f"Exact coverage of {percentage(confidence)} intervals of F1, {of}", ax=ax)
    return figure


@closed
def predictive_spread(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Plot the interquartile ranges of the predictive distribution, the posterior and the bootstrap, and their ratio.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.predictive_spread`.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.
    """
    check_study(study, "predictive_spread", ("distribution", "scale"), "iqr")
    figure, panels = small_multiples(2, 4.3, 3.4, margin=(0, 0), ax=ax)
    left, right = panels
    # The lines of the posterior and of the bootstrap nearly coincide.
    styles = zip(study["distribution"].values.tolist(), SERIES, ("-", "-", "--"), (1.6, 4, 1.4), strict=False)
    for name, colour, style, width in styles:
        left.plot(study["n"], study["iqr"].sel(distribution=name), color=colour, ls=style, lw=width, label=name)
    log_scale(left, y=True)
    left.set_ylabel(f"interquartile range of {metric_title(study.attrs['metric'])}")
    left.legend(frameon=False, fontsize="small")
    right.axhline(np.sqrt(2), color=GREY, lw=0.8)
    right.annotate("√2", (study["n"].values[-1], np.sqrt(2)), (-12, 4), textcoords="offset points", color=GREY)
    right.plot(study["n"], study["iqr_ratio"], "o-", color=BLUE, ms=4, lw=1.2)
    low, high = (float(end) for end in (study["iqr_ratio"].min(), study["iqr_ratio"].max()))
    right.set_ylim(min(low, 1.3) - 0.05, max(high, 1.5) + 0.05)
    right.set_ylabel("interquartile range,\npredictive / bootstrap")
    for axes in panels:
        log_scale(axes)
        axes.set_xlabel("examples")
    write_title(figure, "Spread as the same matrix is seen on more examples", f"prior: {study.attrs['prior']}", ax=ax)
    return figure


@closed
def repeated_splits(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Plot how often intervals from one test set contained the score on a second one.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.repeated_splits`.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.
    """
    check_study(study, "repeated_splits", ("distribution", "metric", "prob"))
    levels, metrics = study["prob"].values, study["metric"].values.tolist()
    figure, panels = small_multiples(len(levels), 2.9, 0.8 + 0.55 * len(metrics), margin=(1.4, 0.6), ax=ax, sharey=True)
    for axes, level in zip(panels, levels, strict=True):
        axes.axvline(level, color=GREY, lw=0.8)
        for i, name in enumerate(study["distribution"].values.tolist()):
            of_distribution = study.sel(distribution=name, prob=level)
            _points(axes, of_distribution["coverage"].values, of_distribution["coverage_mcse"].values,
                    np.arange(len(metrics))[::-1] + 0.2 * (1 - i), i, name)  # fmt: skip
        axes.set_title(f"{100 * level:g} % intervals", fontsize="medium")
    label_edges(panels, "proportion of second scores inside", "", ax)
    panels[0].set_yticks(np.arange(len(metrics))[::-1], [metric_title(metric) for metric in metrics])
    write_legend(figure, *panels[0].get_legend_handles_labels(), ax=ax)
    kind = INTERVAL_KINDS[study.attrs["ci_kind"]].capitalize()
    of = f"{study.attrs['simulations']} splits, ± 2 standard errors"
    write_title(figure, f"{kind} intervals from one test set, scores on another; {of}", ax=ax)
    return figure


@closed
def split_scores(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Plot the scores of repeated splits beside the pooled draws of the distributions that predict them.

    Pooled draws spread more than the scores even if every interval is right: the draws of a split lie around the score
    of its own test set, and the luck of that test set is added to the uncertainty about the next one. The figure shows
    whether they agree in place and shape, and where scores take few values; `repeated_splits` shows the coverage.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.repeated_splits` with ``keep_draws``; each metric has a panel.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.

    References
    ----------
    Caelen (2017), A Bayesian interpretation of the confusion matrix, Fig. 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from bayesperf import plots, studies
    >>> X, y = load_iris(return_X_y=True)
    >>> study = studies.repeated_splits(GaussianNB(), X, y == 1, ["f1"], simulations=20, keep_draws=100)
    >>> figure = plots.split_scores(study)
    """
    check_study(study, "repeated_splits(keep_draws=…)", ("simulation", "distribution", "metric", "draw"), "draws")
    metrics = study["metric"].values.tolist()
    several = len(metrics) > 1
    figure, panels = small_multiples(len(metrics), 3.4 if several else 4.8, 2.6, margin=(0.6, 1.0), columns=3, ax=ax)
    for axes, metric in zip(panels, metrics, strict=True):
        scores, draws = study["scores"].sel(metric=metric).values, study["draws"].sel(metric=metric)
        edges = _bins(scores, draws.values)
        axes.stairs(_densities(scores, edges), edges, fill=True, color=GREY, alpha=0.3, label="scores of the splits")
        styles = zip(study["distribution"].values.tolist(), SERIES, ("-", "-", "--"), (1.6, 2.6, 1.4), strict=False)
        for name, colour, style, width in styles:
            drawn = _densities(draws.sel(distribution=name).values, edges)
            axes.stairs(drawn, edges, color=colour, ls=style, lw=width, label=name)
        axes.set_yticks([])
        axes.set_xlabel(metric_title(metric))
    panels[0].set_ylabel("density")
    write_legend(figure, *panels[0].get_legend_handles_labels(), ax=ax)
    write_title(figure, f"Scores of {study.attrs['simulations']} splits, and draws of all of them pooled", ax=ax)
    return figure


def _bins(scores: Any, draws: Any) -> Any:
    """Return the edges of bins with the width of Sturges' rule for the scores, out to nearly all draws."""
    scores = scores[np.isfinite(scores)]
    edges = np.histogram_bin_edges(scores, "sturges")
    width = edges[1] - edges[0]
    low, high = np.nanquantile(draws, [0.001, 0.999])
    below, above = (max(int(np.ceil(gap / width)), 0) for gap in (edges[0] - low, high - edges[-1]))
    return edges[0] + width * np.arange(-below, len(edges) + above)


def _densities(values: Any, edges: Any) -> Any:
    """Return the density of values in bins; no bin has the values beyond them, or undefined ones."""
    defined = np.isfinite(values).sum()
    return np.histogram(values[np.isfinite(values)], edges)[0] / (defined * np.diff(edges))


@closed
def sequential(study: xr.Dataset, *, ci_kind: Kind = "eti", ax: Panels | None = None) -> Figure:
    """Plot the first simulation of a sequential study, and how often the intervals of all simulations cover.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.sequential`.
    ci_kind : {"eti", "hdi"}
        Kind of the intervals.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.
    """
    check_study(study, "sequential", ("distribution", "kind", "prob", "step"))
    checks.one_of("ci_kind", ci_kind, tuple(INTERVAL_KINDS))
    figure, panels = small_multiples(2, 4.7, 3.6, margin=(0, 0), ax=ax)
    left, right = panels
    step, levels = study["step"].values, study["prob"].values
    of_kind = study.sel(kind=ci_kind)
    run = of_kind["intervals"].isel(simulation=0, prob=0)
    for name, colour in zip(study["distribution"].values.tolist(), (BLUE, ORANGE), strict=True):
        lower, upper = run.sel(distribution=name).values.T
        left.fill_between(step, lower, upper, color=colour, alpha=0.35, lw=0.8,
                          label=f"{name}, {short_interval_name(levels[0], ci_kind)}")  # fmt: skip
        for level, style, marker in zip(levels, ("-", "--", ":"), "os^", strict=False):
            values = of_kind["coverage"].sel(distribution=name, prob=level)
            label = f"{name}, {100 * level:g} %"
            right.plot(step, values, style, marker=marker, ms=4, color=colour, lw=1.2, label=label)
    left.axhline(study["true"].values[0], color="black", lw=1, label="true")
    left.set_ylabel(metric_title(study.attrs["metric"]))
    left.set_title(f"one run: {100 * levels[0]:g} % intervals", fontsize="medium")
    for level in levels:
        right.axhline(level, color=GREY, lw=0.6)
    right.set_ylim(-0.02, 1.02)
    right.set_ylabel("proportion that hold the true metric")
    right.set_title(f"{study.attrs['simulations']} runs", fontsize="medium")
    for axes in panels:
        log_scale(axes)
        axes.set_xlabel(f"batches of {study.attrs['batch']} examples seen")
        axes.legend(frameon=False, fontsize="x-small")
    write_title(figure, f"A system tested batch after batch: {INTERVAL_KINDS[ci_kind]} intervals", ax=ax)
    return figure


@closed
def coverage(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Plot the coverage of every kind of interval, with a panel for each number of examples.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.coverage`; each coordinate of the leading dims has a colour.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.
    """
    check_study(study, "coverage", ("interval", "n"))
    values, errors = (study[name].transpose("n", "interval", ...) for name in ("coverage", "coverage_mcse"))
    systems = place_names(values.isel(n=0, interval=0, drop=True))
    intervals, sizes = study["interval"].values.tolist(), study["n"].values.tolist()
    figure, panels = small_multiples(
        len(sizes), 2.6, 0.5 + 0.3 * len(intervals), margin=(1.8, 1.2), ax=ax, sharex=True, sharey=True
    )
    y = np.arange(len(intervals))[::-1]
    for k, (axes, size) in enumerate(zip(panels, sizes, strict=True)):
        axes.axvline(study.attrs["confidence"], color=GREY, lw=0.8)
        rate, error = (part.values[k].reshape(len(intervals), -1).T for part in (values, errors))
        for i, name in enumerate(systems):
            offset = 0.6 * ((i + 0.5) / len(systems) - 0.5)
            _points(axes, rate[i], error[i], y - offset, i, name or None, _LEAST)
        axes.set_title(f"n = {size}", fontsize="medium")
        axes.set_xlim(_LEAST - 0.01, 1.005)
        axes.grid(axis="y", color=GREY, alpha=0.2, lw=0.6)
    label_edges(panels, "coverage, ± 2 standard errors", "", ax)
    panels[0].set_yticks(y, intervals)
    handles, labels = panels[0].get_legend_handles_labels()
    write_legend(figure, handles, labels, ", ".join(str(dim) for dim in values.dims[2:]), ax)
    of = f"{percentage(study.attrs['confidence'])} intervals of {metric_title(study.attrs['metric'])}"
    write_title(figure, f"Coverage of {of}", ax=ax)
    return figure


@closed
def coverage_over(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Plot the coverage of any study of coverage over its last dim, with a line for each coordinate of the first.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.dependence`, or any dataset with coverage over two dims or more, such as the
        tables in the repository's folder ``validation``; each coordinate of the dims between the first and the last has
        a panel.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.
    """
    if not isinstance(study, xr.Dataset) or "coverage_mcse" not in study or study["coverage"].ndim < 2:
        raise InputError("study", "must be a study and hold coverage and coverage_mcse, over two dims or more.")
    series, *between, along = map(str, study["coverage"].dims)
    stacked = study[["coverage", "coverage_mcse"]].transpose(*between, series, along)
    places = place_names(stacked["coverage"].isel({series: 0, along: 0}, drop=True))
    rate, error = (stacked[name].values.reshape(len(places), *stacked["coverage"].shape[-2:]) for name in stacked)
    width = 2.8 if len(places) > 1 else 4.2
    figure, panels = small_multiples(len(places), width, 2.4, margin=(0.4, 1.2), ax=ax, sharex=True, sharey=True)
    x = study[along].values
    for axes, title, *of_panel in zip(panels, places, rate, error, strict=True):
        axes.axhline(study.attrs["prob"], color=GREY, lw=0.8)
        for i, (name, values, errors) in enumerate(zip(study[series].values.tolist(), *of_panel, strict=True)):
            axes.errorbar(x, values, yerr=2 * errors, fmt="osD^vP"[i % 6] + "-", color=SERIES[i % len(SERIES)], ms=4,
                          lw=1, label=name)  # fmt: skip
        axes.set_title(title, fontsize="small")
        axes.set_ylim(top=1.01)
    label_around(figure, panels, along.replace("_", " "), "coverage, ± 2 standard errors", ax)
    write_legend(figure, *panels[0].get_legend_handles_labels(), series, ax)
    of = f", by {' and '.join(between)}" if between else ""
    write_title(figure, f"Coverage of {percentage(study.attrs['prob'])} intervals{of}", ax=ax)
    return figure


def _points(
    axes: Axes, rate: Any, error: Any, y: Any, series: int, label: str | None, lowest: float | None = None
) -> None:
    """Plot rates with twice their errors; rates below the lowest become arrows there."""
    colour = SERIES[series % len(SERIES)]
    shown = np.isfinite(rate) if lowest is None else rate >= lowest
    axes.errorbar(rate[shown], y[shown], xerr=2 * error[shown], fmt="osD^vP"[series % 6], color=colour, ms=4, lw=1,
                  label=label)  # fmt: skip
    if lowest is not None:
        low = rate < lowest
        axes.plot(np.full(low.sum(), lowest), y[low], "<", color=colour, ms=5, mfc="none")


def check_study(study: xr.Dataset, name: str, dims: Sequence[str], variable: str = "coverage") -> None:
    """Refuse a dataset of another study."""
    if not isinstance(study, xr.Dataset) or variable not in study or not set(dims) <= set(study[variable].dims):
        raise InputError("study", f"must be of bayesperf.studies.{name}: {variable} over {', '.join(dims)}.")


# ── Ranks ──


@closed
def simulation_based_calibration(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Draw, for every parameter, the deviation of the ranks' distribution function from uniform, and its band.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `bayesperf.studies.simulation_based_calibration`.
    ax
        Axes to draw in, one per parameter, as in `bayesperf.plots.density`.
    """
    check_study(study, "simulation_based_calibration", ("level", "parameter"), "ecdf")
    levels, parameters = study["level"].values, study["parameter"].values
    deviation = (study["ecdf"] - study["level"]).transpose("parameter", "level").values
    lower, upper = (study["band"] - study["level"]).transpose("ci_bound", "level").values
    figure, panels = small_multiples(
        len(parameters), 2.1, 1.7, columns=6, margin=(0.4, 1.3), ax=ax, sharex=True, sharey=True
    )
    band = f"{percentage(study.attrs['prob'])} simultaneous band (Bonferroni over {len(parameters)} parameters)"
    for axes, parameter, curve in zip(panels, parameters, deviation, strict=True):
        axes.fill_between(levels, lower, upper, color=GREY, alpha=0.25, lw=0, step="mid", label=band)
        axes.plot(levels, curve, color=BLUE, lw=1.2)
        axes.axhline(0, color=GREY, lw=0.6)
        axes.set_title(shorten(parameter, 28), fontsize="x-small")
        axes.xaxis.label.set_fontsize("x-small")
        axes.tick_params(labelsize="x-small")
    label_around(figure, panels, "share of draws below the truth", "distribution function minus uniform", ax)
    write_legend(figure, *panels[0].get_legend_handles_labels(), ax=ax)
    write_title(figure, f"{study.attrs['model']}: ranks of {study.sizes['simulation']} simulations", ax=ax)
    return figure
