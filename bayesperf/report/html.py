"""The report as one self-contained HTML page."""

from __future__ import annotations

from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from bayesperf import metrics
from bayesperf._display import caption, figure, table_html
from bayesperf.marginals import Marginal
from bayesperf.plots._curves import SERIES, curves, intervals
from bayesperf.report import svg
from bayesperf.report.analysis import FOLD, THRESHOLD_METRICS, Analysis
from bayesperf.report.terminal import systems

_PACKAGES = ("bayesperf", "numpy", "scipy", "xarray")


def render(analysis: Analysis, command: str) -> str:
    """Return the page.

    Parameters
    ----------
    analysis : Analysis
        What to show.
    command : str
        The command that made it, as the reader would type it.
    """
    environment = Environment(
        loader=PackageLoader("bayesperf.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(figure=figure)
    probability = f"{100 * analysis.settings.ci_prob:g} %"
    return environment.get_template("report.html.j2").render(
        title="How good is it?",
        examples=int(analysis.counts.counts.sum()),
        classes=[str(label) for label in analysis.counts.labels],
        pos_label=analysis.counts.pos_label,
        folds=analysis.counts.counts.sizes.get(FOLD),
        dims=[str(dim) for dim in analysis.pooled.dims],
        tables=_tables(analysis),
        blocks=[_block(marginal, analysis.settings.ci_prob) for marginal in analysis.marginals],
        fold_blocks=_fold_blocks(analysis),
        requirements=_requirements(analysis),
        thresholds=_thresholds(analysis),
        probability=probability,
        caption=caption(analysis.summary.attrs),
        prior=analysis.pooled.prior_text,
        command=command,
        versions={"Python": python_version()} | {name: version(name) for name in _PACKAGES},
        seed=analysis.settings.seed,
    )


def _tables(analysis: Analysis) -> list[Markup]:
    """Return the confusion matrix of each system, as HTML that escapes the labels itself."""
    pooled = analysis.counts.sum(FOLD) if FOLD in analysis.counts.dims else analysis.counts
    return [Markup(table_html(pooled.counts[index], ", ".join(names))) for index, names in systems(analysis)]


def _block(marginal: Marginal, ci_prob: float) -> dict[str, Any]:
    """Return a metric's rows, one a system, drawn on one scale."""
    drawn = curves(marginal, ci_prob, "hdi")
    scale = svg.Scale(drawn)
    metric = metrics.get(marginal.name)
    better = {True: "more is better", False: "less is better", None: ""}[metric.greater_is_better]
    rows = [
        {"name": name, "mean": drawn.mean[i], "interval": drawn.interval[i], "picture": svg.density(drawn, i, scale)}
        for i, name in enumerate(drawn.names)
    ]
    return {"title": metric.title, "about": metric.description, "better": better, "method": marginal.method,
            "mcse": float(marginal.mcse().max()), "rows": rows, "axis": svg.axis(scale)}  # fmt: skip


def _fold_blocks(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the first metrics, fold by fold, with the pooled interval beneath."""
    if analysis.folds is None:
        return []
    blocks = []
    for name in analysis.metric_names[:4]:
        each = intervals(analysis.folds[name], analysis.settings.ci_prob, "hdi")
        scale = svg.Scale(each)
        rows = [
            {"name": label, "mean": each.mean[i], "interval": each.interval[i], "picture": svg.strip(each, i, scale)}
            for i, label in enumerate(each.names)
        ]
        blocks.append({"title": metrics.get(name).title, "rows": rows, "axis": svg.axis(scale)})
    return blocks


def _requirements(analysis: Analysis) -> dict[str, Any] | None:
    if not analysis.requirements:
        return None
    columns = {str(r): analysis.met(r).values for r in analysis.requirements}
    if (jointly := analysis.met_jointly()) is not None:
        columns["all at once"] = jointly.values
    rows = [(", ".join(names), [f"{values[index]:.3f}" for values in columns.values()])
            for index, names in systems(analysis)]  # fmt: skip
    return {"columns": list(columns), "rows": rows}


def _thresholds(analysis: Analysis) -> dict[str, Any] | None:
    """Return, for every system, how its metrics move with the threshold."""
    if not analysis.thresholds:
        return None
    pictures = []
    for name, posterior in analysis.thresholds.items():
        found = [posterior[metric] for metric in THRESHOLD_METRICS]
        at = found[0].mean()["threshold"].values
        centre = np.stack([marginal.mean().values for marginal in found])
        interval = np.stack([marginal.hdi(analysis.settings.ci_prob).values for marginal in found])
        pictures.append((name, svg.bands(at, centre, interval)))
    return {"legend": list(zip(THRESHOLD_METRICS, SERIES, strict=False)), "pictures": pictures}
