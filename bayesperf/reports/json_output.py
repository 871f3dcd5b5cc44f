"""The figures of a report as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from bayesperf.reports.analysis import Analysis
from bayesperf.reports.answers_in_words import comparisons_in_words, in_short, what_was_read
from bayesperf.reports.scores import ScoredSystems
from bayesperf.reports.sliced import SlicedSystem


def report_as_json(analysis: Analysis, with_comparison: bool = False) -> str:
    """Return all figures of an analysis as JSON, infinite ones as strings, undefined ones as null."""
    requirements = [
        {"requirement": str(r), "metric": r.metric, "bound": r.bound, "probability": analysis.met(r).values.tolist()}
        for r in analysis.requirements
    ]
    jointly = analysis.met_jointly()
    document = {
        **_settings_and_counts(analysis),
        "in_words": in_short(analysis),
        "interpretation": analysis.summary.attrs,
        "summary": _records(analysis.summary.to_dict("records")),
        "systems": [names for _, names in analysis.systems],
        "requirements": requirements,
        "all_requirements": None if jointly is None else jointly.values.tolist(),
        **(_comparison(analysis) if with_comparison and analysis.comparisons else {}),
        **({} if analysis.scores is None else _scores(analysis.scores, with_comparison)),
        **({} if analysis.slices is None else {"slices": _slices(analysis.slices, analysis.settings.ci_prob)}),
    }
    return json.dumps(document, indent=2, allow_nan=False, default=str)


def comparison_as_json(analysis: Analysis) -> str:
    """Return all figures of a comparison as JSON, with a record for each pair and for each system."""
    return json.dumps(
        {
            **_settings_and_counts(analysis),
            "in_words": comparisons_in_words(analysis),
            **_comparison(analysis),
        },
        indent=2,
        allow_nan=False,
        default=str,
    )


def _comparison(analysis: Analysis) -> dict[str, Any]:
    """Return the differences of all pairs and the standing of every system, for every metric."""
    summaries = [each.comparison.summary(analysis.settings.ci_prob) for each in analysis.comparisons]
    return {
        "comparison": summaries[0].attrs,
        "paired": analysis.is_paired,
        "differences": _records(row for summary in summaries for row in summary.to_dict("records")),
        "standing": _records(row for each in analysis.comparisons for row in each.standing),
    }


def _scores(scores: ScoredSystems, with_comparison: bool) -> dict[str, Any]:
    """Return areas and, with a split, expected performance; for a report also the comparison of areas."""
    document: dict[str, Any] = {"areas": _records(scores.area_rows)}
    if with_comparison and scores.compared_areas:
        document["area_differences"] = [
            {**({"place": place} if place else {}), **row}
            for place, compared in scores.compared_areas.items()
            for row in _records(compared.summary(scores.settings.ci_prob).to_dict("records"))
        ]
    if scores.are_probabilities:
        document["probabilities"] = {
            "calibration": _records(scores.calibration_rows),
            "useful": _records(scores.useful_rows),
            "in_words": scores.probabilities_in_words,
        }
    if scores.split is not None:
        document |= {"split": scores.split._asdict(), "expected": _records(scores.expected_rows)}
    return document


def _slices(sliced: SlicedSystem, ci_prob: float) -> dict[str, Any]:
    """Return by metric every slice, and the gaps of all pairs of levels; and which dim matters."""
    found = sliced.found
    of_metrics = {
        metric: {
            "in_words": found.sentences(metric, ci_prob=ci_prob),
            "slices": _records(found.summary(metric, ci_prob).to_dict("records")),
            "gaps": {dim: _records(found.gap(dim, metric, ci_prob=ci_prob).to_dict("records")) for dim in found.dims},
        }
        for metric in sliced.metrics
    }
    which = found.which_dim(ci_prob)
    return {
        "system": sliced.system,
        "prior": found.prior_text,
        "warnings": list(sliced.warnings),
        "metrics": of_metrics,
        "which_dim": {"measure": which.attrs["estimand"], "rows": _records(which.to_dict("records"))},
    }


def _settings_and_counts(analysis: Analysis) -> dict[str, Any]:
    """Return the settings, the labels and the counts."""
    counts = analysis.counts.counts
    return {
        "read": what_was_read(analysis),
        "warnings": list(analysis.warnings),
        "settings": asdict(analysis.settings),
        "labels": [str(label) for label in analysis.counts.labels],
        **({"selection": analysis.selection} if analysis.selection else {}),
        "counts": {"dims": [str(dim) for dim in counts.dims], "values": counts.values.tolist()},
    }


def _records(rows: Iterable[Mapping[Any, Any]]) -> list[dict[str, Any]]:
    """Return rows as records with text keys and JSON values."""
    return [{str(key): _json_value(value) for key, value in row.items()} for row in rows]


def _json_value(value: Any) -> Any:
    """Return infinite numbers as text, and NaN as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
