"""Is a classifier calibrated? Measures for its labels, beside those of labels drawn from the same probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.core.weights import blocks_of_draws, weight_blocks
from bayesperf.core.words import (
    LIKELIHOODS,
    bracketed_interval,
    chance,
    enumerated,
    likelihood,
    metric_title,
    percentage,
    sentence,
    signed_value,
)
from bayesperf.curves.areas.weighted_scores import (
    PROPER_SCORES,
    WITH_UNSEEN,
    score_function_named,
    with_both_labels,
    with_unseen,
)
from bayesperf.curves.reliability.frequencies import INTERCEPT_PRIOR, LINE_PRIORS, ProbabilityCounts, draws_of_line
from bayesperf.curves.reliability.frequency_curve import BINS
from bayesperf.curves.scored_systems import marginal_of_scores
from bayesperf.data.classifier_scores import ClassProbabilities, has_columns
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.summary_table import Summary, summary_rows

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

    ``calibration[measure]`` is the `Marginal` of a measure with a posterior; `summary` has all measures, and the plot
    shows them beside those of perfectly calibrated systems (`bayesperf.plots.calibration`).

    Attributes
    ----------
    parts : mapping of str to CalibrationFigures
        The measures: for two classes under the name "", for more under "top label" and each label.
    random_seed : int
        Seed of all draws.
    """

    parts: Mapping[Any, CalibrationFigures]
    random_seed: int

    drawn_by = "calibration"

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
        leading = xr.DataArray(np.zeros(len(labels)), {"label": labels}, ["label"]) if labels else NO_DIMS
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
        prior = f"Dirichlet(1) weights of the examples and of an unseen one; {LINE_PRIORS}"
        columns = (
            "calibrated_lower to calibrated_upper is the range of a perfectly calibrated system with these scores; "
            "tail, how often it is at least as far off."
        )
        note = " ".join([columns, *self._left_out()])
        return Summary.of(table, prob, ci_kind, estimand="Measures of calibration", prior=prior, note=note)

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
        return "\n".join([*self.sentences(ci_prob, ci_kind), *self._left_out()])

    def sentences(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> list[str]:
        """Return the sentences of `in_words` on each part, one text a part."""
        return _in_words(self.summary(ci_prob, ci_kind), self.parts)

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


def _in_words(summary: pd.DataFrame, parts: Mapping[Any, CalibrationFigures]) -> list[str]:
    """Return sentences on each part of a `Calibration`, given its summary."""
    texts = []
    for label, part in parts.items():
        rows = summary[summary["label"] == label] if "label" in summary else summary
        facts = {name: summary.attrs[name] for name in ("ci_prob", "ci_kind")}
        table = {str(row["metric"]): row | facts for row in rows.to_dict("records")}
        sentences = [describe(table, part) for describe in (_in_the_large, _slope, _squared_error, _brier, _verdict)]
        name = "" if label == "" else f"{label}: "
        texts.append(name + " ".join(text for text in sentences if text))
    return texts


def _interval(row: Mapping[str, Any]) -> str:
    return bracketed_interval(row["ci_lower"], row["ci_upper"], row["ci_prob"], row["ci_kind"])


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


# ── How it is made ──

TOP_LABEL = "top label"
# So many different probabilities are told apart, over all classes together, and for each class at least.
_TOLD_APART, _LEAST_TOLD_APART = 50_000, 1_000
# Those that are known to `bayesperf.curves.weighted_score`.
_NAMED = ("calibration_in_the_large", "brier", "log_loss")


@checked
def calibration(
    y_true: Any,
    y_prob: ArrayLike | pd.DataFrame | None = None,
    *,
    pos_label: Any = None,
    labels: Sequence[Any] | None = None,
    bins: int = BINS,
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Calibration:
    """Return measures of the calibration of probabilities, beside what a perfectly calibrated system would show.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels. Binned scores within [0, 1] replace labels and probabilities, each bin by its middle.
    y_prob : array-like (n,) or (n, K)
        Probabilities of the positive class, or of each of K classes (a data frame has a column for each). With classes,
        the measures are for the top label (whether it is right as often as its probability says) and for each class
        against the others.
    labels : sequence (K,), optional
        The classes in the order of the columns; by default sorted, as in scikit-learn.
    bins : int
        Number of bins, with about equally many examples, for the squared calibration error.
    draws : int
        Number of draws for each posterior, and of sets of labels drawn from the probabilities.
    pos_label, random_seed, progressbar
        As in `bayesperf.roc_curve`.

    Raises
    ------
    TypeError, ValueError
        If probabilities are missing, outside [0, 1] or do not add up to 1, or `labels` do not match the columns.

    Notes
    -----
    ``calibration_in_the_large`` is the mean of y − p, by the Bayesian bootstrap. So are ``brier``, the mean of (p −
    y)², and ``log_loss``, the mean of −log p of the outcome (`bayesperf.curves.weighted_score`). The first two have an
    unseen example, with any of the probabilities and either label. The log loss has none: its interval omits rare,
    large losses that did not occur.

    ``calibration_slope`` is β of the recalibration line, log-odds of the frequency = α + β log-odds of the probability:
    less than 1 is overconfident. ``calibration_intercept`` is α with β = 1: above 0 the probabilities are too low.
    Their priors are Normal(1, 2.5) and Normal(0, 2.5). (`weighted_score` has a "calibration_slope" without a prior.)

    ``squared_calibration_error`` is the mean over bins of (mean probability − frequency)², estimated without bias by
    products of different examples, so it may be negative. If a bin has only one probability, it is the estimator of
    Kumar, Liang & Ma (2019, NeurIPS). Its root is biased, and so would be any posterior of it: instead it stands beside
    the values of a calibrated system.

    ``brier_miscalibration``, ``brier_discrimination`` and ``brier_uncertainty``, and those of the log loss, are the
    decomposition of Dimitriadis, Gneiting & Jordan (2021, PNAS 118): the amount by which the isotonic line would lower
    the score; the distance from there to the score of one probability for all; and that score. Exactly, score =
    miscalibration − discrimination + uncertainty. Miscalibration is above 0 in any sample from a calibrated system:
    compare it with the values of such samples.

    The values for a calibrated system come from labels drawn from the probabilities of the same examples. The ``tail``
    of the Brier score is the test of Spiegelhalter (1986) without its normal approximation.

    Beyond 50,000 different probabilities (of several classes, in all of them together, but at least 1,000 for each)
    neighbouring ones are replaced by their mean.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, y_prob = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7]
    >>> calibration = bp.curves.calibration(y_true, y_prob, bins=2)
    >>> calibration["calibration_slope"].prob_below(1).round(1).item()
    0.2
    """
    seed, count = checks.seed(random_seed), checks.count("draws", draws, least=2)
    if has_columns(y_prob):
        checks.none_given("probabilities of all classes have none.", pos_label=pos_label)
        by_name = _counts_by_class(ClassProbabilities.of(y_true, y_prob, labels))
    elif labels is not None:
        raise InputTypeError(
            "labels", "apply to y_prob with a column for each class.", "Name the positive one, in `pos_label`."
        )
    else:
        by_name = {"": ProbabilityCounts.of(y_true, y_prob, pos_label)}
    number, most = checks.count("bins", bins), max(_TOLD_APART // len(by_name), _LEAST_TOLD_APART)
    parts = {
        name: _figures(counts.at_most(most), number, count, np.random.default_rng([seed, place]), progressbar)
        for place, (name, counts) in enumerate(by_name.items())
    }
    return Calibration(parts, seed)


def _counts_by_class(given: ClassProbabilities) -> dict[Any, ProbabilityCounts]:
    """Return the counts of the top label, and of each class against the others."""
    codes, names, probabilities = given
    top = probabilities.argmax(1)
    counts = {TOP_LABEL: ProbabilityCounts.of_outcomes(top == codes, probabilities[np.arange(len(top)), top])}
    return counts | {
        name: ProbabilityCounts.of_outcomes(codes == i, probabilities[:, i]) for i, name in enumerate(names)
    }


def _figures(
    counts: ProbabilityCounts, bins: int, draws: int, rng: np.random.Generator, progressbar: bool
) -> CalibrationFigures:
    """Return the measures of one set of probabilities."""
    first = counts.grouped(bins)
    observed = {
        name: float(value[0])
        for name, value in point_values(counts, counts.positives[None].astype(float), first).items()
    }
    left_out = _left_out(counts, observed)
    posterior = _bootstrapped([name for name in _NAMED if name not in left_out], counts, draws, rng, progressbar)
    if "calibration_slope" not in left_out:
        posterior |= {
            "calibration_intercept": draws_of_line(counts, draws, rng, INTERCEPT_PRIOR)[:, 0],
            "calibration_slope": draws_of_line(counts, draws, rng)[:, 1],
        }
    calibrated = _calibrated_measures(counts, first, draws, rng, progressbar)
    kept = [name for name in MEASURES if name not in left_out]
    drawn = [name for name in kept if MEASURES[name].worse is not None]
    return CalibrationFigures(
        counts,
        {name: observed.get(name, np.nan) for name in kept},
        posterior,
        {name: calibrated[name] for name in drawn},
        left_out,
    )


def _left_out(counts: ProbabilityCounts, observed: Mapping[str, float]) -> dict[str, str]:
    """Return the measures that are infinite or undefined, and why."""
    left_out: dict[str, str] = {}
    if not np.isfinite(observed["log_loss"]):
        reason = (
            "What happened had a probability of 0 in some examples, so the log loss is infinite. Clip the "
            "probabilities, as np.clip(y_prob, 1e-6, 1 - 1e-6): the loss depends on where."
        )
        left_out |= dict.fromkeys((name for name in MEASURES if name.startswith("log_loss")), reason)
    try:
        checks.none_certain("y_prob", counts.certain)
    except ValueError as error:
        left_out |= dict.fromkeys(("calibration_intercept", "calibration_slope"), str(error))
    if np.isnan(observed["squared_calibration_error"]):
        left_out["squared_calibration_error"] = "Every bin holds one example only, and no pairs. Take fewer bins."
    return left_out


def _bootstrapped(
    names: Sequence[str], counts: ProbabilityCounts, draws: int, rng: np.random.Generator, progressbar: bool
) -> dict[str, Array]:
    """Return draws of scores by one set of Dirichlet(1) weights of the examples, and of an unseen one."""
    happened, sizes = np.repeat([1.0, 0.0], len(counts.values)), np.append(counts.positives, counts.negatives)
    values, some = np.tile(counts.values, 2), sizes > 0
    outcomes, own = (happened[some], values[some]), rng.spawn(1)[0]
    blocks = with_unseen(weight_blocks(rng, sizes[some], draws, progressbar), sizes[some], draws, own)
    either, seen = (with_both_labels(*outcomes), slice(None)), (outcomes, slice(some.sum()))
    each = [(name, *(either if name in WITH_UNSEEN else seen)) for name in names]
    weighted = [(part, score_function_named(name, *of).weighted) for name, of, part in each]
    drawn = [[score(both[:, part]) for part, score in weighted] for both in blocks]
    return dict(zip(names, np.concatenate(drawn, axis=1), strict=True))


def _calibrated_measures(
    counts: ProbabilityCounts, first: Codes, draws: int, rng: np.random.Generator, progressbar: bool
) -> dict[str, Array]:
    """Return the measures of labels drawn from the probabilities, (draws,) each."""
    drawn = [
        point_values(counts, drawn_labels(counts, block, rng), first)
        for block in blocks_of_draws(draws, len(counts.values), progressbar)
    ]
    return {name: np.concatenate([each[name] for each in drawn]) for name in drawn[0]}


# ── The measures of labels ──


def point_values(counts: ProbabilityCounts, positives: Array, first: Codes) -> dict[str, Array]:
    """Return the measures of sets of labels, (m,) each, given how many of each probability are positive (m, V).

    `first` is the first value of each bin of the squared calibration error, (G,).
    """
    from scipy.optimize import isotonic_regression

    examples, probability = counts.examples, counts.values
    frequencies = positives / examples
    lines = [isotonic_regression(row, weights=examples) for row in frequencies]
    base_rate = positives.sum(-1) / examples.sum()
    values = {
        "calibration_in_the_large": base_rate - probability @ examples / examples.sum(),
        "squared_calibration_error": squared_calibration_error(counts, positives, first),
    }
    for name, score in PROPER_SCORES.items():
        total = _sums(positives, examples, score.happened(probability), score.did_not(probability))
        # Of each level of the line, which has the frequency of its examples.
        best = np.array([line.weights @ score.least(line.x[line.blocks[:-1]]) for line in lines])
        mean, calibrated, uncertainty = total / examples.sum(), best / examples.sum(), score.least(base_rate)
        values |= {
            name: mean,
            f"{name}_miscalibration": mean - calibrated,
            f"{name}_discrimination": uncertainty - calibrated,
            f"{name}_uncertainty": uncertainty,
        }
    return values


def _sums(positives: Array, examples: Counts, happened: Array, did_not: Array) -> Array:
    """Return the sums of scores (V,) over sets of labels, (m,): inf if what was impossible happened.

    What was certain, and happened, adds nothing.
    """
    never, always = np.isinf(happened), np.isinf(did_not)
    refuted = (positives[:, never] > 0).any(-1) | (positives[:, always] < examples[always]).any(-1)
    happened, did_not = (np.where(never | always, 0.0, score) for score in (happened, did_not))
    return np.where(refuted, np.inf, positives @ (happened - did_not) + examples @ did_not)


def squared_calibration_error(counts: ProbabilityCounts, positives: Array, first: Codes) -> Array:
    """Return the debiased squared calibration error of `calibration`, (m,).

    With d = p − y the square of a bin is estimated by the mean of d_i d_j over pairs of different examples, ((Σd)² −
    Σd²)/(n(n − 1)). Bins with one example have no pairs and are omitted; NaN if all are such.
    """
    examples, p = counts.examples, counts.values
    sums = np.add.reduceat(examples * p, first) - np.add.reduceat(positives, first, axis=-1)
    squares = np.add.reduceat(examples * p**2, first) + np.add.reduceat(positives * (1 - 2 * p), first, axis=-1)
    sizes = np.add.reduceat(examples, first)
    some = sizes > 1
    if not some.any():
        return np.full(len(positives), np.nan)
    sums, squares, sizes = sums[:, some], squares[:, some], sizes[some]
    return np.asarray(((sums**2 - squares) / (sizes - 1)).sum(-1) / sizes.sum())


def drawn_labels(counts: ProbabilityCounts, sets: int, rng: np.random.Generator) -> Array:
    """Return how many examples of each probability are positive in sets of labels drawn from them, (sets, V)."""
    if (counts.examples == 1).all():
        return (rng.random((sets, len(counts.values))) < counts.values).astype(float)
    return rng.binomial(counts.examples, counts.values, (sets, len(counts.values))).astype(float)
