"""Where to put the threshold? Recall, precision and specificity over the thresholds of a score."""

from __future__ import annotations

from functools import partial

import numpy as np
from markupsafe import Markup

from bayesperf.core.words import CHOSEN_ON_THE_SAME, percentage
from bayesperf.posteriors.posterior import Posterior
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Figure, Note
from bayesperf.reports.scores import THRESHOLD_METRICS, with_threshold
from bayesperf.reports.sections import REPORT, Section

# Colours of metrics differ from the colours of the first systems.
_COLOURS = [svg.colour(3 + i) for i in range(len(THRESHOLD_METRICS))]


def blocks(analysis: Analysis) -> list[Block]:
    """Return pictures of each system's metrics over the threshold, marked where a split chose the threshold."""
    scores = analysis.scores
    if scores is None or not scores.over_thresholds:
        return []
    chosen = {", ".join(system.names): system.threshold for system in (scores.systems if scores.split else [])}
    dashed = "Dashed: the threshold with the smallest sum of both error rates on the development rows."
    reading = (
        "An example is called positive if its score is at least the threshold. Line: posterior mean at that threshold; "
        f"band: its {percentage(analysis.settings.ci_prob)} highest-density interval, threshold by threshold."
    )
    figure = Figure(
        partial(_pictures, analysis, scores.over_thresholds, chosen),
        legend=list(zip(THRESHOLD_METRICS, _COLOURS, strict=True)),
        reading=f"{reading} {dashed}" if chosen else reading,
    )
    return [figure, *([] if chosen else [Note(f"{CHOSEN_ON_THE_SAME}.")])]


def _pictures(analysis: Analysis, over: dict[str, Posterior], chosen: dict[str, float]) -> list[tuple[str, Markup]]:
    shown = []
    for name, posterior in over.items():
        marginals = [posterior[metric] for metric in THRESHOLD_METRICS]
        at = marginals[0].mean()["threshold"].values
        centre = np.stack([marginal.mean().values for marginal in marginals])
        interval = np.stack([marginal.hdi(analysis.settings.ci_prob).values for marginal in marginals])
        threshold = chosen.get(name, np.nan)
        label = f"{', '.join(THRESHOLD_METRICS)}{f' of {name}' if name else ''} over the threshold, with their bands"
        shown.append((with_threshold(name, threshold), svg.bands(at, centre, interval, label, _COLOURS, threshold)))
    return shown


SECTION = Section(50, "thresholds", "Where to put the threshold?", blocks, (REPORT,))
