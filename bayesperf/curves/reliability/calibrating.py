"""Is a classifier calibrated? Its measures of calibration, beside those of a perfectly calibrated system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.core.saving import Saved
from bayesperf.core.weights import blocks_of_draws, weight_blocks
from bayesperf.core.words import metric_title
from bayesperf.curves.areas.score_functions import score_function_named
from bayesperf.curves.curve_marginals import marginal_of_draws
from bayesperf.curves.reliability.calibration_words import calibration_in_words
from bayesperf.curves.reliability.frequency_curve import BINS
from bayesperf.curves.reliability.observed_calibration import drawn_labels, point_values
from bayesperf.curves.reliability.probability_counts import ProbabilityCounts
from bayesperf.curves.reliability.recalibration_line import (
    PRIORS_IN_WORDS,
    draws_of_intercept,
    draws_of_line,
)
from bayesperf.data.class_probabilities import ClassProbabilities, has_columns
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.summary_table import Summary, summary_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP_LABEL = "top label"

_BOOTSTRAP, _LINE = "Bayesian bootstrap", "Posterior by a recalibration line"
_NO_ROOM = "any posterior of it is biased upward, for errors of either sign make it greater"
_REFITTED = "the isotonic line is fitted anew to every draw, and fits it too well"
_OF_LABELS = "it is of the labels alone, whatever the system"


class Measure(NamedTuple):
    """A measure of calibration.

    Attributes
    ----------
    bounds : tuple of two float
        Least and greatest possible value.
    posterior : str
        What its posterior is called; if `has_posterior` is false, why it has none that is honest.
    worse : {"above", "both"} or None
        On which side of a calibrated system's value it is worse; None if labels drawn from the probabilities do not
        say what that is.
    calibrated : float
        The value of a calibrated system, where that is known.
    """

    bounds: tuple[float, float]
    posterior: str
    worse: str | None = None
    has_posterior: bool = True
    greater_is_better: bool | None = None
    calibrated: float = np.nan


_DECOMPOSED = {
    score: {
        score: Measure((0, greatest), _BOOTSTRAP, "both", greater_is_better=False),
        f"{score}_miscalibration": Measure((0, greatest), _REFITTED, "above", has_posterior=False),
        f"{score}_discrimination": Measure((0, greatest), _REFITTED, "both", has_posterior=False),
        f"{score}_uncertainty": Measure((0, greatest), _OF_LABELS, has_posterior=False),
    }
    for score, greatest in {"brier": 1.0, "log_loss": np.inf}.items()
}
MEASURES: dict[str, Measure] = {
    "calibration_in_the_large": Measure((-1, 1), _BOOTSTRAP, "both"),
    "calibration_intercept": Measure((-np.inf, np.inf), _LINE, calibrated=0.0),
    "calibration_slope": Measure((-np.inf, np.inf), _LINE, calibrated=1.0),
    "squared_calibration_error": Measure((-1, 1), _NO_ROOM, "above", has_posterior=False),
    **_DECOMPOSED["brier"],
    **_DECOMPOSED["log_loss"],
}


@dataclass(frozen=True, eq=False)
class CalibrationFigures(Held):
    """The measures of calibration of one set of probabilities.

    Attributes
    ----------
    counts : ProbabilityCounts
        What they are of.
    observed : mapping of str to float
        Each measure of the labels; NaN of the line, whose estimate from the labels alone may be infinite.
    posterior : mapping of str to ndarray (draws,)
        Draws of those that have a posterior.
    calibrated : mapping of str to ndarray (draws,)
        The measures of labels drawn from the probabilities.
    left_out : mapping of str to str
        Measures that these probabilities do not have, and why.
    """

    counts: ProbabilityCounts
    observed: Mapping[str, float]
    posterior: Mapping[str, Array]
    calibrated: Mapping[str, Array]
    left_out: Mapping[str, str]

    def tail(self, measure: str) -> float:
        """Return how often calibrated systems show a value at least as far on the worse side, or on either side.

        Of the slope, which has a posterior instead, it is twice the lesser of its probabilities beyond 1 and below.
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
class Calibration(Saved):
    """Whether the probabilities of a classifier are calibrated. Made by `calibration`.

    ``calibration[measure]`` is the `Marginal` of a measure that has a posterior, `summary` has all.

    Attributes
    ----------
    parts : mapping of str to CalibrationFigures
        The measures: of two classes under the name "", of more under "top label" and each label.
    random_seed : int
        Seed of all draws.
    """

    parts: Mapping[Any, CalibrationFigures]
    random_seed: int

    @property
    def labels(self) -> list[Any]:
        """What the probabilities are of, if there are several: "top label", then each label."""
        return [name for name in self.parts if name != ""]

    def __getitem__(self, measure: str) -> Marginal:
        """Return the posterior of a measure, over ``label`` if there are several.

        Raises
        ------
        ValueError
            If there is no such measure, or no honest posterior of it; the message says why.
        """
        checks.one_of("measure", measure, MEASURES)
        facts = MEASURES[measure]
        if not facts.has_posterior:
            raise InputError(
                measure,
                f"has no posterior here: {facts.posterior}. summary() sets it beside what a perfectly "
                "calibrated system would show.",
            )
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
        return marginal_of_draws(quantity, draws, leading, self.random_seed, facts.posterior)

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
        ci_prob : float
            Probability of the intervals, and of the range of calibrated systems.
        ci_kind : {"hdi", "eti"}
            Highest-density or equal-tailed. The range is equal-tailed.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric``, ``label`` (of more than two classes), ``observed``; ``mean, sd, median, ci_lower,
            ci_upper, method, mcse, mcse_interval`` of the posterior, empty where there is none that is honest;
            ``calibrated_lower, calibrated_upper``, between which a perfectly calibrated system with these scores shows
            the measure with probability `ci_prob` (one value where it is known), and ``tail``, how often it would show
            a value at least as far on the worse side (or, of a measure that has none, on either side).
        """
        prob = checks.probability("ci_prob", ci_prob)
        tables = []
        for label, part, measure in self._rows():
            observed = xr.DataArray(part.observed[measure])
            if measure in part.posterior:
                marginal = self._marginal(measure, part.posterior[measure][None], [])
                row = summary_rows([marginal], prob, ci_kind, [observed.values]).drop(columns="undefined")
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
            "prior": f"Dirichlet(1) weights of the examples; {PRIORS_IN_WORDS}",
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
        ci_prob : float
            Probability of the intervals, and of the range of calibrated systems.
        ci_kind : {"hdi", "eti"}
            Kind of interval.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer")
        >>> frame = frame[frame["model"] == "naive_bayes"]
        >>> y_prob = frame["score"].clip(1e-4, 1 - 1e-4)
        >>> print(bp.curves.calibration(frame["actual"], y_prob, pos_label="malignant").in_words())
        On average its probability is 0.352, and it happens in 0.373 of the examples, a difference of 0.020 (95 % HDI \
        0.002–0.041). The calibration slope is 0.366 (95 % HDI 0.313–0.425); 1 is calibrated: its probabilities are \
        almost certainly too extreme. The squared difference of probability and frequency, debiased, is 0.00020, a \
        difference of roughly 0.014; a perfectly calibrated system with these scores shows −0.00003 to 0.00008 in \
        95 % of test sets, and as much or more in <0.1 %. The Brier score is 0.057 (95 % HDI 0.039–0.076): 0.234 of \
        one probability for all, less 0.193 by telling examples apart, plus 0.016 by miscalibration. The mean, the \
        slope, the squared difference and the Brier score speak against calibrated probabilities.
        """
        return calibration_in_words(self.summary(ci_prob, ci_kind), self.parts, self._left_out())

    def plot(self, **options: Any) -> Figure:
        """Draw the measures beside those of perfectly calibrated systems.

        Parameters
        ----------
        **options
            Of `bayesperf.plots.calibration`: ``ci_prob``, ``ci_kind`` and ``ax``.
        """
        from bayesperf import plots

        return plots.calibration(self, **options)

    def _repr_html_(self) -> str:
        table: str = self.summary()._repr_html_()  # type: ignore[operator]
        return f"<p>{escape(self.in_words())}</p>{table}"

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
        Labels. Binned scores within [0, 1] stand in the place of labels and probabilities, each bin for its middle.
    y_prob : array-like (n,) or (n, K)
        Probabilities of the positive class, or of each of K classes (a data frame has them as its columns). Of classes
        the measures are of the top label, whether it is right as often as its probability says, and of each class
        against the others.
    pos_label : label, optional
        The positive class of two; inferred for {0, 1}, {-1, 1} and {False, True}.
    labels : sequence (K,), optional
        The classes in the order of the columns; by default sorted, as scikit-learn has them.
    bins : int
        How many bins of about equally many examples the squared calibration error has.
    draws : int
        How many draws each posterior has, and how many sets of labels are drawn from the probabilities.
    random_seed : int or numpy.random.Generator
        Seed of these.
    progressbar : bool
        Shown on a terminal only, and if it takes long.

    Returns
    -------
    Calibration

    Raises
    ------
    TypeError
        If `y_prob` is missing, or given beside binned scores; if `labels` are given for two classes' probabilities.
    ValueError
        If probabilities are missing or outside [0, 1], or those of all classes do not add up to 1; if `labels` are not
        those of the columns.

    Notes
    -----
    ``calibration_in_the_large`` is the mean of y − p, by the Bayesian bootstrap, as are ``brier``, the mean of
    (p − y)², and ``log_loss``, the mean of −log p of what happened: the posteriors of
    `bayesperf.curves.weighted_score`.

    ``calibration_slope`` is β of the recalibration line, log-odds of the frequency = α + β log-odds of the probability:
    less than 1 is overconfident, its probabilities are too extreme. ``calibration_intercept`` is α where β is 1: above
    0 its probabilities are too low. Both have the posterior of logistic regression with the priors Normal(1, 2.5) and
    Normal(0, 2.5), which exists where the probabilities separate the classes, too. (`bayesperf.curves.weighted_score`
    has "calibration_slope" without a prior, and without the assumption that the line is straight.)

    ``squared_calibration_error`` is the mean over bins of (mean probability − frequency)². With the frequency observed
    it would be biased upward, however good the system; it is estimated by products of different examples, which is
    unbiased, and so may be negative. Where a bin holds one probability only it is the estimator of Kumar, Liang & Ma
    (2019); where it holds several theirs is biased downward by the variance of these over n − 1. Its root is biased,
    and so would be any posterior of it: it is set beside the values of a calibrated system instead.

    ``brier_miscalibration``, ``brier_discrimination`` and ``brier_uncertainty``, and those of the log loss, are the
    decomposition of Dimitriadis, Gneiting & Jordan (2021): miscalibration is by how much the isotonic line would lower
    the score, discrimination by how much that is below the score of one probability for all, which is the uncertainty.
    score = miscalibration − discrimination + uncertainty, exactly. Miscalibration is never negative, and is above 0 in
    any sample of a calibrated system: look where it is among those.

    What a perfectly calibrated system would show is computed from labels drawn from the probabilities, of the same
    examples. The ``tail`` of the Brier score is the test of Spiegelhalter (1986) without its normal approximation.

    References
    ----------
    Kumar, Liang & Ma (2019), Verified uncertainty calibration, NeurIPS. Dimitriadis, Gneiting & Jordan (2021), Stable
    reliability diagrams for probabilistic classifiers, PNAS 118. Spiegelhalter (1986), Probabilistic prediction in
    patient management and clinical trials, Statistics in Medicine 5.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, y_prob = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7]
    >>> calibration = bp.curves.calibration(y_true, y_prob, bins=2)
    >>> table = calibration.summary().set_index("metric")
    >>> table["observed"].filter(like="brier").round(3).to_dict()
    {'brier': 0.183, 'brier_miscalibration': 0.037, 'brier_discrimination': 0.104, 'brier_uncertainty': 0.25}
    >>> calibration["calibration_slope"].prob_below(1).round(1).item()
    0.2
    """
    seed, count = checks.seed(random_seed), checks.count("draws", draws, least=2)
    if has_columns(y_prob):
        if pos_label is not None:
            raise InputTypeError("pos_label", "probabilities of all classes have none; leave it out.")
        by_name = _of_classes(ClassProbabilities.of(y_true, y_prob, labels))
    elif labels is not None:
        raise InputTypeError(
            "labels", "they are of y_prob with a column for each class.", "Name the positive one, in `pos_label`."
        )
    else:
        by_name = {"": ProbabilityCounts.of(y_true, y_prob, pos_label)}
    number = checks.count("bins", bins)
    parts = {
        name: _figures(counts, number, count, np.random.default_rng([seed, place]), progressbar)
        for place, (name, counts) in enumerate(by_name.items())
    }
    return Calibration(parts, seed)


def _of_classes(given: ClassProbabilities) -> dict[Any, ProbabilityCounts]:
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
            "calibration_intercept": draws_of_intercept(counts, draws, rng),
            "calibration_slope": draws_of_line(counts, draws, rng)[:, 1],
        }
    calibrated = _of_calibrated(counts, first, draws, rng, progressbar)
    kept = [name for name in MEASURES if name not in left_out]
    drawn = [name for name in kept if MEASURES[name].worse is not None]
    return CalibrationFigures(
        counts,
        {name: observed.get(name, np.nan) for name in kept},
        posterior,
        {name: calibrated[name] for name in drawn},
        left_out,
    )


# Those that are known to `bayesperf.curves.weighted_score`.
_NAMED = ("calibration_in_the_large", "brier", "log_loss")


def _left_out(counts: ProbabilityCounts, observed: Mapping[str, float]) -> dict[str, str]:
    """Return the measures that are infinite or undefined, and why."""
    left_out: dict[str, str] = {}
    if not np.isfinite(observed["log_loss"]):
        reason = (
            "What happened had a probability of 0 in some examples, so the log loss is infinite. Clip the "
            "probabilities, as np.clip(y_prob, 1e-6, 1 - 1e-6): the loss depends on where."
        )
        left_out |= dict.fromkeys(_DECOMPOSED["log_loss"], reason)
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
    """Return draws of scores by one set of Dirichlet(1) weights of the examples."""
    happened, sizes = np.repeat([1.0, 0.0], len(counts.values)), np.append(counts.positives, counts.negatives)
    values, some = np.tile(counts.values, 2), sizes > 0
    scores = [score_function_named(name, happened[some], values[some]).weighted for name in names]
    drawn = [[score(weights) for score in scores] for weights in weight_blocks(rng, sizes[some], draws, progressbar)]
    return dict(zip(names, np.concatenate(drawn, axis=1), strict=True))


def _of_calibrated(
    counts: ProbabilityCounts, first: Codes, draws: int, rng: np.random.Generator, progressbar: bool
) -> dict[str, Array]:
    """Return the measures of labels drawn from the probabilities, (draws,) each."""
    drawn = [
        point_values(counts, drawn_labels(counts, block, rng), first)
        for block in blocks_of_draws(draws, len(counts.values), progressbar)
    ]
    return {name: np.concatenate([each[name] for each in drawn]) for name in drawn[0]}
