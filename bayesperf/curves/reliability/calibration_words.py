"""Measures of calibration in sentences for readers who have not met them before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesperf.core.words import chance, enumerated, estimate, likelihood, percentage, sentence, signed_value

if TYPE_CHECKING:
    from bayesperf.curves.reliability.calibrating import CalibrationFigures

# The rows of a summary, by measure.
type Table = Mapping[str, Any]

# What speaks against calibration where a calibrated system would seldom be as far off.
_EVIDENCE = {
    "calibration_in_the_large": "the mean",
    "calibration_slope": "the slope",
    "squared_calibration_error": "the squared difference",
    "brier": "the Brier score",
}


def calibration_in_words(
    summary: pd.DataFrame, parts: Mapping[Any, CalibrationFigures], left_out: Sequence[str]
) -> str:
    """Return sentences on each part of a `Calibration`, given its summary, and on what is left out."""
    texts = []
    for label, part in parts.items():
        rows = summary[summary["label"] == label] if "label" in summary else summary
        facts = {name: summary.attrs[name] for name in ("ci_prob", "ci_kind")}
        table = {str(row["metric"]): row | facts for row in rows.to_dict("records")}
        sentences = [describe(table, part) for describe in (_in_the_large, _slope, _squared_error, _brier, _verdict)]
        name = "" if label == "" else f"{label}: "
        texts.append(name + " ".join(text for text in sentences if text))
    return "\n".join([*texts, *left_out])


def _interval(row: Mapping[str, Any]) -> str:
    return estimate(row["mean"], row["ci_lower"], row["ci_upper"], row["ci_prob"], row["ci_kind"]).partition(" ")[2]


def _in_the_large(table: Table, part: CalibrationFigures) -> str:
    row, counts = table["calibration_in_the_large"], part.counts
    said, happened = counts.values @ counts.examples / counts.total, counts.positives.sum() / counts.total
    return sentence(
        f"on average its probability is {said:.3f}, and it happens in {happened:.3f} of the examples, a difference of "
        f"{signed_value(row['observed'])} {_interval(row)}"
    )


def _slope(table: Table, part: CalibrationFigures) -> str:
    if "calibration_slope" not in table:
        return ""
    row = table["calibration_slope"]
    extreme = float((part.posterior["calibration_slope"] < 1).mean())
    what = (
        f"its probabilities are {likelihood(max(extreme, 1 - extreme))} too {'extreme' if extreme > 0.5 else 'timid'}"
        if not 0.1 < extreme < 0.9
        else "whether its probabilities are too extreme or too timid these labels do not tell"
    )
    return sentence(f"the calibration slope is {signed_value(row['mean'])} {_interval(row)}; 1 is calibrated: {what}")


def _squared_error(table: Table, _: CalibrationFigures) -> str:
    if "squared_calibration_error" not in table:
        return ""
    row = table["squared_calibration_error"]
    width = row["calibrated_upper"] - row["calibrated_lower"]
    value, low, high = (signed_value(row[name], width) for name in ("observed", "calibrated_lower", "calibrated_upper"))
    size = f", a difference of roughly {np.sqrt(row['observed']):.3f}" if row["observed"] > 0 else ""
    return sentence(
        f"the squared difference of probability and frequency, debiased, is {value}{size}; a perfectly calibrated "
        f"system with these scores shows {low} to {high} in {percentage(row['ci_prob'])} of test sets, and as much or "
        f"more in {chance(row['tail'])}"
    )


def _brier(table: Table, _: CalibrationFigures) -> str:
    row = table["brier"]
    parts = ("miscalibration", "discrimination", "uncertainty")
    lost, gained, base = (table[f"brier_{part}"]["observed"] for part in parts)
    return sentence(
        f"the Brier score is {row['observed']:.3f} {_interval(row)}: {base:.3f} of one probability for all, less "
        f"{gained:.3f} by telling examples apart, plus {lost:.3f} by miscalibration"
    )


def _verdict(table: Table, part: CalibrationFigures) -> str:
    """Say which measures a calibrated system seldom shows: with a false alarm in at most 1 − ci_prob of test sets."""
    names = {name: title for name, title in _EVIDENCE.items() if name in table}
    seldom = (1 - table["brier"]["ci_prob"]) / len(names)
    against = [title for name, title in names.items() if part.tail(name) < seldom]
    if not against:
        return "None of this speaks against calibrated probabilities, which does not prove them."
    return sentence(f"{enumerated(against)} speak{'s' * (len(against) == 1)} against calibrated probabilities")
