"""Is a classifier calibrated? Measures for its labels, and for many sets of labels with the same probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import entr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputTypeError
from bayesperf.core.weights import blocks_of_draws, weight_blocks
from bayesperf.curves.areas.weighted_scores import WITH_UNSEEN, score_function_named, with_both_labels, with_unseen
from bayesperf.curves.reliability.frequencies import ProbabilityCounts, draws_of_intercept, draws_of_line
from bayesperf.curves.reliability.frequency_curve import BINS
from bayesperf.curves.reliability.measures import MEASURES, Calibration, CalibrationFigures
from bayesperf.data.classifier_scores import ClassProbabilities, has_columns

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
            "calibration_intercept": draws_of_intercept(counts, draws, rng),
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


class Score(NamedTuple):
    """A proper score: its value for a probability if the event happened and if it did not, and its smallest mean.

    `least` is the mean score of a frequency where that frequency happens: no other probability has less.
    """

    happened: Callable[[Array], Array]
    did_not: Callable[[Array], Array]
    least: Callable[[Array], Array]


def _minus_log(probability: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(probability))


SCORES = {
    "brier": Score(lambda p: (1 - p) ** 2, np.square, lambda q: q * (1 - q)),
    "log_loss": Score(_minus_log, lambda p: _minus_log(1 - p), lambda q: entr(q) + entr(1 - q)),
}


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
    for name, score in SCORES.items():
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
    """Return the debiased squared calibration error, (m,): the mean over bins of (mean probability − frequency)².

    With d = p − y the square of a bin is estimated by the mean of d_i d_j over pairs of different examples, ((Σd)² −
    Σd²)/(n(n − 1)), whose expectation is the square itself. Bins with one example have no pairs and are omitted; NaN if
    all are such.
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
