"""The measures of calibration of a classifier, beside those of a perfectly calibrated system, and their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.words import (
    LIKELIHOODS,
    chance,
    enumerated,
    estimate,
    likelihood,
    metric_title,
    percentage,
    sentence,
    signed_value,
)
from bayesperf.curves.reliability.frequencies import LINE_PRIORS, ProbabilityCounts
from bayesperf.curves.scored_systems import marginal_of_scores
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.summary_table import Summary, summary_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BOOTSTRAP, _LINE = "Bayesian bootstrap", "Posterior by a recalibration line"
_NO_ROOM = "any posterior of it is biased upward, for errors of either sign make it greater"
_REFITTED = "the isotonic line is fitted anew to every draw, and fits it too well"
_OF_LABELS = "it is of the labels alone, whatever the system"
# Measures that speak against calibration if a calibrated system would seldom be as far off.
_EVIDENCE = {
    "calibration_in_the_large": "the mean",
    "calibration_slope": "the slope",
    "squared_calibration_error": "the squared difference",
    "brier": "the Brier score",
}


class Measure(NamedTuple):
    """A measure of calibration."""

    # Least and greatest possible value.
    bounds: tuple[float, float]
    # What its posterior is called; empty if it has none that is honest.
    inference: str
    # On which side of a calibrated system's value it is worse; None if labels drawn from the probabilities do not say
    # what that is.
    worse: str | None = None
    no_posterior_because: str = ""
    greater_is_better: bool | None = None
    # The value of a calibrated system, where that is known.
    calibrated: float = np.nan


_DECOMPOSED = {
    score: {
        score: Measure((0, greatest), _BOOTSTRAP, "both", greater_is_better=False),
        f"{score}_miscalibration": Measure((0, greatest), "", "above", _REFITTED),
        f"{score}_discrimination": Measure((0, greatest), "", "both", _REFITTED),
        f"{score}_uncertainty": Measure((0, greatest), "", None, _OF_LABELS),
    }
    for score, greatest in {"brier": 1.0, "log_loss": np.inf}.items()
}
MEASURES: dict[str, Measure] = {
    "calibration_in_the_large": Measure((-1, 1), _BOOTSTRAP, "both"),
    "calibration_intercept": Measure((-np.inf, np.inf), _LINE, calibrated=0.0),
    "calibration_slope": Measure((-np.inf, np.inf), _LINE, calibrated=1.0),
    "squared_calibration_error": Measure((-1, 1), "", "above", _NO_ROOM),
    **_DECOMPOSED["brier"],
    **_DECOMPOSED["log_loss"],
}


@dataclass(frozen=True, eq=False)
class CalibrationFigures(Held):
    """The measures of calibration of one set of probabilities."""

    # The subjects of the measures.
    counts: ProbabilityCounts
    # Each measure of the labels; NaN of the line, whose estimate from the labels alone may be infinite.
    observed: Mapping[str, float]
    # Draws of those that have a posterior, (draws,).
    posterior: Mapping[str, Array]
    # The measures of labels drawn from the probabilities, (draws,).
    calibrated: Mapping[str, Array]
    # Measures that these probabilities do not have, and why.
    left_out: Mapping[str, str]

    def tail(self, measure: str) -> float:
        """Return how often calibrated systems show a value at least as far on the worse side, or on either side.

        For the slope, which has a posterior instead, it is twice the smaller of its probabilities beyond 1 and below.
        """
        facts = MEASURES[measure]
        drawn, value = (
            (self.calibrated[measure], self.observed[measure])
            if measure in self.calibrated
            else (self.posterior[measure], facts.calibrated)
        )
        above, below = ((1 + (side).sum()) / (1 + len(drawn)) for side in (drawn >= value, drawn <= value))
        return float(above if facts.worse == "above" else min(1.0, 2 * min(above, below)))


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Answer):
    """Whether the probabilities of a classifier are calibrated. Made by `calibration`.

    ``calibration[measure]`` is the `Marginal` of a measure with a posterior; `summary` has all measures.

    Attributes
    ----------
    parts : mapping of str to CalibrationFigures
        The measures: for two classes under the name "", for more under "top label" and each label.
    random_seed : int
        Seed of all draws.
    """

    parts: Mapping[Any, CalibrationFigures]
    random_seed: int

    @property
    def labels(self) -> list[Any]:
        """The names of several sets of probabilities: "top label", then each label."""
        return [name for name in self.parts if name != ""]

    def __getitem__(self, measure: str) -> Marginal:
        """Return the posterior of a measure, over ``label`` if there are several; an error says why one has none."""
        checks.one_of("measure", measure, MEASURES)
        if why := MEASURES[measure].no_posterior_because:
            beside = "summary() sets it beside what a perfectly calibrated system would show."
            raise InputError(measure, f"has no posterior here: {why}. {beside}")
        for part in self.parts.values():
            if measure in part.left_out:
                raise InputError("", part.left_out[measure])
        draws = np.stack([part.posterior[measure] for part in self.parts.values()])
        return self._marginal(measure, draws, self.labels)

    def _marginal(self, measure: str, draws: Array, labels: Sequence[Any]) -> Marginal:
        """Return the marginal of draws (L, draws) of a measure; without labels there is one row and no dim."""
        leading = xr.DataArray(np.zeros(len(labels)), {"label": labels}, ["label"]) if labels else xr.DataArray(0.0)
        facts = MEASURES[measure]
        words = metric_title(measure)
        quantity = Quantity(measure, greater_is_better=facts.greater_is_better, words=words, bounds=facts.bounds)
        return marginal_of_scores(quantity, draws, self.random_seed, leading, inference=facts.inference)

    def _rows(self) -> Iterator[tuple[Any, CalibrationFigures, str]]:
        """Yield the label, its figures and the measure of each row of the summary."""
        for label, part in self.parts.items():
            for measure in MEASURES:
                if measure not in part.left_out:
                    yield label, part, measure

    def summary(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return a tidy table, a row for each measure.

        Parameters
        ----------
        ci_prob, ci_kind
            As in `Marginal.in_words`; the range of calibrated systems is equal-tailed, of that probability.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric``, ``label`` (for more than two classes), ``observed``; ``mean, sd, median, ci_lower,
            ci_upper, method, mcse, mcse_interval`` of the posterior, empty if there is no valid one;
            ``calibrated_lower, calibrated_upper``, the range in which a perfectly calibrated system with these scores
            shows the measure with probability `ci_prob` (one value if it is known); and ``tail``, how often it would
            show a value at least as far on the worse side (or on either side, for a measure without a worse side).
        """
        prob = checks.probability("ci_prob", ci_prob)
        tables = []
        for label, part, measure in self._rows():
            observed = xr.DataArray(part.observed[measure])
            if measure in part.posterior:
                marginal = self._marginal(measure, part.posterior[measure][None], [])
                row = summary_rows([marginal], prob, ci_kind, [observed.values])
            else:
                row = pd.DataFrame({"metric": [measure], "observed": [observed.item()], "method": ["none"]})
            if self.labels:
                row.insert(1, "label", pd.Series([label], dtype=object))
            tables.append(row.assign(**_calibrated(part, measure, prob)))
        first = next(i for i, table in enumerate(tables) if "mean" in table)
        table = pd.concat(tables, ignore_index=True)[list(tables[first].columns)]
        summary = Summary(table)
        summary.attrs = {
            "ci_prob": prob,
            "ci_kind": ci_kind,
            "estimand": "Measures of calibration",
            "prior": f"Dirichlet(1) weights of the examples and of an unseen one; {LINE_PRIORS}",
            "note": " ".join(
                [
                    "calibrated_lower to calibrated_upper is the range of a perfectly calibrated system with these "
                    "scores; tail, how often it is at least as far off.",
                    *self._left_out(),
                ]
            ),
        }
        return summary

    def _left_out(self) -> list[str]:
        """Return sentences on the measures that are left out."""
        reasons: dict[str, list[str]] = {}
        for label, part in self.parts.items():
            for measure, reason in part.left_out.items():
                reasons.setdefault(reason, []).append(f"{measure} of {label}" if label != "" else measure)
        return [f"Left out: {', '.join(measures)}. {reason}" for reason, measures in reasons.items()]

    def in_words(self, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences on whether the probabilities can be trusted.

        Parameters
        ----------
        ci_prob, ci_kind
            As in `Marginal.in_words`; the range of calibrated systems is equal-tailed, of that probability.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer")
        >>> frame = frame[frame["model"] == "naive_bayes"]
        >>> y_prob = frame["score"].clip(1e-4, 1 - 1e-4)
        >>> print(bp.curves.calibration(frame["actual"], y_prob, pos_label="malignant").in_words())
        Its mean probability is 0.352, and the outcome happens in 0.373 of the examples: a difference of 0.020 (95 % \
        HDI 0.002–0.040). The calibration slope is 0.366 (95 % HDI 0.313–0.425); 1 is calibrated: its probabilities \
        are almost certainly too extreme. The mean squared difference between probability and frequency, after \
        subtracting what chance adds, is 0.00020, a difference of roughly 0.014; a perfectly calibrated system with \
        these scores shows −0.00003 to 0.00008 in 95 % of test sets, and 0.00020 or more in <0.1 %. The Brier score is \
        0.057 (95 % HDI 0.041–0.078); 0 is best. One constant probability would score 0.234. Telling outcomes apart \
        lowers it by 0.193, and miscalibration raises it by 0.016. The mean, the slope, the squared difference and the \
        Brier score speak against calibrated probabilities.
        """
        return _in_words(self.summary(ci_prob, ci_kind), self.parts, self._left_out())

    def plot(self, **options: Any) -> Figure:
        """Plot the measures beside those of perfectly calibrated systems.

        Parameters
        ----------
        **options
            Options of `bayesperf.plots.calibration`: ``ci_prob``, ``ci_kind`` and ``ax``.
        """
        from bayesperf import plots

        return plots.calibration(self, **options)

    def __repr__(self) -> str:
        total = next(iter(self.parts.values())).counts.total
        of = f", top label and {len(self.labels) - 1} labels" if self.labels else ""
        return f"<bayesperf.curves.Calibration of {total} examples{of}>"


def _calibrated(part: CalibrationFigures, measure: str, prob: float) -> dict[str, float]:
    """Return what a calibrated system shows of a measure."""
    if measure in part.calibrated:
        lower, upper = np.quantile(part.calibrated[measure], [(1 - prob) / 2, (1 + prob) / 2])
        return {"calibrated_lower": lower, "calibrated_upper": upper, "tail": part.tail(measure)}
    value = MEASURES[measure].calibrated
    return {"calibrated_lower": value, "calibrated_upper": value, "tail": np.nan}


# ── In words ──


def _in_words(summary: pd.DataFrame, parts: Mapping[Any, CalibrationFigures], left_out: Sequence[str]) -> str:
    """Return sentences on each part of a `Calibration` and on the omitted measures, given its summary."""
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


def _in_the_large(table: Mapping[str, Any], part: CalibrationFigures) -> str:
    row, counts = table["calibration_in_the_large"], part.counts
    said, happened = counts.values @ counts.examples / counts.total, counts.positives.sum() / counts.total
    return sentence(
        f"its mean probability is {said:.3f}, and the outcome happens in {happened:.3f} of the examples: a difference "
        f"of {signed_value(row['observed'])} {_interval(row)}"
    )


def _slope(table: Mapping[str, Any], part: CalibrationFigures) -> str:
    if "calibration_slope" not in table:
        return ""
    row = table["calibration_slope"]
    extreme = float((part.posterior["calibration_slope"] < 1).mean())
    what = (
        f"its probabilities are {likelihood(_beyond_one(part))} too {'extreme' if extreme > 0.5 else 'timid'}"
        if not 0.1 < extreme < 0.9
        else "these labels do not tell whether its probabilities are too extreme or too timid"
    )
    return sentence(f"the calibration slope is {signed_value(row['mean'])} {_interval(row)}; 1 is calibrated: {what}")


def _beyond_one(part: CalibrationFigures) -> float:
    """Return how probably the slope is on the side of 1 that is more probable; ½ without a slope."""
    below = float((part.posterior["calibration_slope"] < 1).mean()) if "calibration_slope" in part.posterior else 0.5
    return max(below, 1 - below)


def _squared_error(table: Mapping[str, Any], _: CalibrationFigures) -> str:
    if "squared_calibration_error" not in table:
        return ""
    row = table["squared_calibration_error"]
    width = row["calibrated_upper"] - row["calibrated_lower"]
    value, low, high = (signed_value(row[name], width) for name in ("observed", "calibrated_lower", "calibrated_upper"))
    size = f", a difference of roughly {np.sqrt(row['observed']):.3f}" if row["observed"] > 0 else ""
    return sentence(
        "the mean squared difference between probability and frequency, after subtracting what chance adds, is "
        f"{value}{size}; a perfectly calibrated system with these scores shows {low} to {high} in "
        f"{percentage(row['ci_prob'])} of test sets, and {value} or more in {chance(row['tail'])}"
    )


def _brier(table: Mapping[str, Any], _: CalibrationFigures) -> str:
    row = table["brier"]
    parts = ("miscalibration", "discrimination", "uncertainty")
    lost, gained, base = (table[f"brier_{part}"]["observed"] for part in parts)
    return sentence(
        f"the Brier score is {row['observed']:.3f} {_interval(row)}; 0 is best. One constant probability would score "
        f"{base:.3f}. Telling outcomes apart lowers it by {gained:.3f}, and miscalibration raises it by {lost:.3f}"
    )


def _verdict(table: Mapping[str, Any], part: CalibrationFigures) -> str:
    """Say which measures a calibrated system seldom shows: with a false alarm in at most 1 − ci_prob of test sets."""
    names = {name: title for name, title in _EVIDENCE.items() if name in table}
    seldom = (1 - table["brier"]["ci_prob"]) / len(names)
    against = [title for name, title in names.items() if part.tail(name) < seldom]
    if not against and _beyond_one(part) >= LIKELIHOODS["very probably"]:
        # The slope's sentence says that it is off.
        return (
            f"One of {len(names)} measures may look like this by chance: they neither refute calibration nor prove it."
        )
    if not against:
        return "None of this speaks against calibration, nor does it prove it."
    return sentence(f"{enumerated(against)} speak{'s' * (len(against) == 1)} against calibrated probabilities")
