"""The report as one self-contained HTML page."""

from __future__ import annotations

from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from numpy.typing import NDArray

from bayesperf import metrics
from bayesperf._display import caption, table_html
from bayesperf.marginals import Marginal
from bayesperf.plots._curves import SERIES, Curves, curves, intervals
from bayesperf.report.analysis import FOLD, Analysis
from bayesperf.report.terminal import figure, systems

WIDTH, HEIGHT, FLAT = 320, 46, 18
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
    scale = Scale(drawn)
    metric = metrics.get(marginal.name)
    better = {True: "more is better", False: "less is better", None: ""}[metric.greater_is_better]
    rows = [
        {"name": name, "mean": drawn.mean[i], "interval": drawn.interval[i], "picture": _density(drawn, i, scale)}
        for i, name in enumerate(drawn.names)
    ]
    return {"title": metric.title, "about": metric.description, "better": better, "method": marginal.method,
            "mcse": float(marginal.mcse().max()), "rows": rows, "axis": _axis(scale)}  # fmt: skip


def _fold_blocks(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the first metrics, fold by fold, with the pooled interval beneath."""
    if analysis.folds is None:
        return []
    blocks = []
    for name in analysis.metric_names[:4]:
        each = intervals(analysis.folds[name], analysis.settings.ci_prob, "hdi")
        scale = Scale(each)
        rows = [{"name": label, "mean": each.mean[i], "interval": each.interval[i], "picture": _strip(each, i, scale)}
                for i, label in enumerate(each.names)]  # fmt: skip
        blocks.append({"title": metrics.get(name).title, "rows": rows, "axis": _axis(scale)})
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


class Scale:
    """From values to pixels: linear, or logarithmic for ratios without an upper bound."""

    def __init__(self, drawn: Curves):
        self.logarithmic = drawn.logarithmic
        low, high = self._of(drawn.x.min()), self._of(drawn.x.max())
        margin = 0.02 * (high - low) or 0.5
        self.low, self.high = low - margin, high + margin

    def _of(self, value: Any) -> Any:
        return np.log10(np.maximum(value, 1e-12)) if self.logarithmic else value

    def __call__(self, value: Any) -> NDArray[np.float64]:
        """Return horizontal positions."""
        share = (self._of(np.asarray(value)) - self.low) / (self.high - self.low)
        return np.asarray(WIDTH * np.clip(share, 0, 1))

    def ticks(self) -> list[float]:
        """Return three to six round values."""
        if self.logarithmic:
            return [10.0**k for k in range(int(np.ceil(self.low)), int(np.floor(self.high)) + 1)][
                :: max(1, int((self.high - self.low) / 5))
            ]
        rough = (self.high - self.low) / 5
        power = 10.0 ** np.floor(np.log10(rough))
        step = power * min((1, 2, 5, 10), key=lambda factor: abs(factor * power - rough))
        return [round(k * step, 12) for k in range(int(np.ceil(self.low / step)), int(np.floor(self.high / step)) + 1)]


def _svg(height: int, label: str, *parts: str) -> Markup:
    body = "".join(parts)
    return Markup(f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{body}</svg>')


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    return " L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _density(drawn: Curves, i: int, scale: Scale) -> Markup:
    """Return a density with its interval shaded and its mean marked."""
    colour = SERIES[i % len(SERIES)]
    low, high = drawn.interval[i]
    grid = np.unique(np.concatenate([drawn.x[i], np.clip([low, high], drawn.x[i].min(), drawn.x[i].max())]))
    heights = np.interp(grid, drawn.x[i], drawn.density[i])
    x, y = scale(grid), HEIGHT - 1 - (HEIGHT - 6) * heights / drawn.density[i].max()
    inside = (grid >= low) & (grid <= high)
    area = f"M{x[inside][0]:.1f},{HEIGHT - 1} L{_path(x[inside], y[inside])} L{x[inside][-1]:.1f},{HEIGHT - 1} Z"
    at = float(scale(drawn.mean[i]))
    mean = f'<path d="M{at:.1f},4 V{HEIGHT - 1}" stroke="{colour}" stroke-dasharray="3 2"/>'
    return _svg(
        HEIGHT,
        f"density, interval {figure(low)} to {figure(high)}",
        f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT - 0.5}" y2="{HEIGHT - 0.5}" stroke="#bbb"/>',
        f'<path d="{area}" fill="{colour}" fill-opacity=".28"/>',
        f'<path d="M{_path(x, y)}" fill="none" stroke="{colour}" stroke-width="1.6"/>',
        mean if np.isfinite(drawn.mean[i]) else "",
    )


def _strip(drawn: Curves, i: int, scale: Scale) -> Markup:
    """Return an interval as a line with its mean as a dot."""
    low, high = scale(drawn.interval[i])
    middle = FLAT / 2
    return _svg(
        FLAT,
        f"interval {figure(drawn.interval[i, 0])} to {figure(drawn.interval[i, 1])}",
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="{SERIES[0]}" stroke-width="2"/>',
        f'<circle cx="{scale(drawn.mean[i]):.1f}" cy="{middle}" r="3.5" fill="{SERIES[0]}"/>',
    )


def _axis(scale: Scale) -> Markup:
    """Return the axis beneath a block's pictures."""
    marks = []
    for tick in scale.ticks():
        at = float(scale(tick))
        anchor = "start" if at < 14 else "end" if at > WIDTH - 14 else "middle"
        marks.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="4" stroke="#666"/>'
            f'<text x="{at:.1f}" y="15" text-anchor="{anchor}" font-size="11" fill="#444">{tick:g}</text>'
        )
    return _svg(18, "scale", *marks)
