"""Reliability curves: the frequency of an event over the probability that the system gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import CI_BOUND, Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import percentage, sentence
from bayesperf.curves.curve import CurveOfParts, band_of_draws, widened
from bayesperf.curves.reliability.frequencies import ProbabilityCounts, draws_of_line, isotonic_band, isotonic_line
from bayesperf.curves.scored_systems import NAMELESS, systems_of
from bayesperf.intervals.proportions import proportion

METHODS = ("isotonic", "bins", "logistic")
BINS = 10
# A line of recalibration is drawn at so many probabilities.
_POINTS = 201


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityCurve(CurveOfParts):
    """The frequency of the event over the probability that the system gave. Made by `reliability_curve`.

    Attributes
    ----------
    parts : mapping of str to ProbabilityCounts
        The probabilities of each system and the outcomes; the name is empty for one without a name.
    method : {"isotonic", "bins", "logistic"}
        The method that estimates the frequency.
    bins, n_draws, random_seed : int
        Number of bins and of draws, and the seed of the draws.

    Notes
    -----
    The band is simultaneous unless you ask for a pointwise one, which an isotonic curve does not have. It is at the
    points of the curve. By "isotonic" it extends beyond the points: the upper bound of a point back to the one before,
    the lower bound on to the next.

    By "bins" an interval is equal-tailed, from the posterior of the bin's frequency under Jeffreys' prior, at the level
    ci_prob^(1/B) if it is one of B in a simultaneous band; it begins at 0 if a bin has no positives and ends at 1 if it
    has no negatives (Brown, Cai & DasGupta 2001, Statistical Science 16). It is for the mean frequency in the bin,
    which equals the frequency at the mean probability if the curve is straight there.

    By "isotonic" the band is that of Dimitriadis, Dümbgen, Henzi, Puke & Ziegel (2023, Biometrika 110): a confidence
    band, with at least the stated coverage in samples of any size, if the frequency does not fall as the probability
    rises. Every run of neighbouring groups of examples bounds the frequency before it from above and after it from
    below, by Clopper–Pearson limits at the level of all runs together. More than 200 different probabilities are put
    into 200 groups first, without a look at the labels. If the bounds would exclude the isotonic line, which is
    evidence that the frequency falls somewhere, they are widened to contain it.

    By "logistic" it comes from drawn lines, and is as good as the assumption that the line is straight in log-odds.
    docs/coverage.md shows how often bands cover.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.reliability_curve([0, 0, 0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.2, 0.2, 0.7, 0.7, 0.9, 0.9],
    ...                              method="bins", bins=2)
    >>> curve.band()["frequency"].values.round(2)
    array([[0.  , 0.52],
           [0.23, 0.98]])
    """

    parts: Mapping[Any, ProbabilityCounts]
    method: str
    bins: int
    n_draws: int
    random_seed: int

    over: ClassVar[str] = "probability"
    usual_band: ClassVar[str] = "simultaneous"
    drawn_by = "reliability"

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The curve: ``frequency`` over ``probability``; with several systems, NaN at the probabilities of others.

        By "isotonic" there is a point for each probability that occurs, by "bins" one for each bin, at the mean of its
        probabilities. Both have the numbers of ``examples`` and of ``positives`` there, and bins their ``lowest`` and
        ``highest`` probability. By "logistic" there are 201 points from the lowest to the highest probability.
        """
        return self._over_systems(
            self._points_of(name).assign_attrs(self._facts, examples=counts.total)
            for name, counts in self.parts.items()
        )

    def _points_of(self, name: Any) -> xr.Dataset:
        if self.method == "logistic":
            return self._lines[name].mean("draw")
        at = self._grouped(self.parts[name])
        frequency = (
            isotonic_line(at.positives, at.examples) if self.method == "isotonic" else at.positives / at.examples
        )
        variables = {"frequency": frequency, "examples": at.examples, "positives": at.positives}
        if self.method == "bins":
            variables |= {"lowest": at.lowest, "highest": at.highest}
        columns = {name: ("probability", values) for name, values in variables.items()}
        return xr.Dataset(columns, {"probability": at.values})

    def _grouped(self, counts: ProbabilityCounts) -> ProbabilityCounts:
        """Return the counts at the points of the curve."""
        return counts if self.method == "isotonic" else counts.merged(counts.grouped(self.bins))

    def joint_draws(self) -> xr.Dataset:
        """Return draws of the ``frequency`` by "logistic", at the points of the curve, with last dim ``draw``.

        Raises
        ------
        ValueError
            By other methods, whose bands do not come from draws.
        """
        if self.method != "logistic":
            raise InputError("joint_draws", f"method={self.method!r} draws no curves.", "Take method='logistic'.")
        return self._over_systems(self._lines.values())

    @cached_property
    def _lines(self) -> dict[Any, xr.Dataset]:
        """Drawn lines of recalibration, of each system."""
        return {name: self._drawn_curves(counts) for name, counts in self.parts.items()}

    def _drawn_curves(self, counts: ProbabilityCounts) -> xr.Dataset:
        grid = np.unique(np.linspace(counts.values[0], counts.values[-1], _POINTS))
        intercept, slope = draws_of_line(counts, self.n_draws, np.random.default_rng(self.random_seed)).T
        lines = special.expit(intercept[:, None] + np.outer(slope, special.logit(grid)))
        return xr.Dataset({"frequency": (("probability", "draw"), lines.T)}, {"probability": grid})

    @property
    def _band_names(self) -> list[str]:
        return ["frequency"]

    def _bounds(self, prob: float, kind: str) -> xr.Dataset:
        if self.method == "isotonic" and kind == "pointwise":
            raise InputError(
                "kind",
                "an isotonic curve has no pointwise band that covers as often as it says.",
                "Take kind='simultaneous', or method='bins'.",
            )
        return self._over_systems(self._bounds_of(name, prob, kind) for name in self.parts)

    def _bounds_of(self, name: Any, prob: float, kind: str) -> xr.Dataset:
        if self.method == "logistic":
            return xr.Dataset({"frequency": band_of_draws(self._lines[name]["frequency"], prob, kind)})
        at = self._grouped(self.parts[name])
        bounds = isotonic_band(at, prob) if self.method == "isotonic" else binned_band(at, prob, kind)
        coords = {"probability": at.values, "ci_bound": CI_BOUND}
        return xr.Dataset({"frequency": (("probability", "ci_bound"), bounds)}, coords)

    def in_words(self, *, ci_prob: float = 0.95) -> str:
        """Return sentences on where the simultaneous band excludes the diagonal, on which probabilities are right.

        Parameters
        ----------
        ci_prob : float
            Probability of the band.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer")
        >>> tree = frame[frame["model"] == "decision_tree"]
        >>> curve = bp.reliability_curve(tree["actual"], tree["score"], pos_label="malignant", method="bins")
        >>> print(curve.in_words())
        The 95 % band of 569 examples, which holds for the whole curve, excludes the diagonal. At 1.000 its \
        probabilities are too high: where it says 1.000, the outcome happens in 0.964 (0.916–0.989). At 0.000 its \
        probabilities are too low: where it says 0.000, the outcome happens in 0.023 (0.008–0.053).
        """
        if self.names:
            each = self.each().items()
            return "\n".join(f"{name}: {curve.in_words(ci_prob=ci_prob)}" for name, curve in each)
        points, total = self.band(ci_prob)["frequency"], self.parts[NAMELESS].total
        said, (lower, upper) = points["probability"].values, points.values.T
        texts = [
            text
            for off, what in ((said > upper, "high"), (said < lower, "low"))
            for text in _departures(said, self.dataset["frequency"].values, lower, upper, off, what)
        ]
        band = f"{percentage(ci_prob)} band"
        if texts:
            whole = f"The {band} of {total:,} examples, which holds for the whole curve, excludes the diagonal."
            return " ".join([whole, *texts])
        width = np.average(upper - lower)
        return (
            f"The {band} of {total:,} examples holds the diagonal everywhere: they do not "
            f"show that the probabilities are wrong. They may be: the band is {width:.2f} wide on average, "
            f"{np.max(upper - lower):.2f} at most."
        )

    @property
    def _facts(self) -> dict[str, Any]:
        return {"method": self.method}

    @property
    def _subject(self) -> str:
        positives = [int(counts.positives.sum()) for counts in self.parts.values()]
        systems = f"{len(self.names)} systems, " if self.names else ""
        negatives = next(iter(self.parts.values())).total - positives[0]
        return f"{systems}{self.method}, {positives[0]} positives, {negatives} negatives"


def _departures(said: Array, frequency: Array, lower: Array, upper: Array, off: Any, what: str) -> Iterator[str]:
    """Yield a sentence on each run of points at which the probabilities are too high, or too low."""
    edges = np.flatnonzero(np.diff(off.astype(int), prepend=0, append=0))
    for first, end in edges.reshape(-1, 2):
        beyond = np.maximum(said - upper, lower - said)[first:end]
        at = first + int(np.argmax(beyond))
        ends = dict.fromkeys(f"{value:.3f}" for value in said[[first, end - 1]])
        where = f"from {' to '.join(ends)}" if len(ends) > 1 else f"at {next(iter(ends))}"
        yield sentence(
            f"{where} its probabilities are too {what}: where it says {said[at]:.3f}, the outcome "
            f"happens in {frequency[at]:.3f} ({lower[at]:.3f}–{upper[at]:.3f})"
        )


def binned_band(bins: ProbabilityCounts, prob: float, kind: str) -> Array:
    """Return the equal-tailed posterior interval of the frequency in each bin, (B, 2), from Jeffreys' prior.

    The intervals of a simultaneous band have the probability prob^(1/B) each (Šidák 1967), because posteriors of
    different examples are independent.
    """
    each = prob ** (1 / len(bins.values)) if kind == "simultaneous" else prob
    bounds: Array = proportion(bins.positives, bins.examples, confidence=each, method="jeffreys")
    return widened(bounds, bins.positives / bins.examples)


@checked
def reliability_curve(
    y_true: Any,
    y_prob: ArrayLike | Mapping[Any, ArrayLike] | pd.DataFrame | None = None,
    *,
    method: str = "isotonic",
    pos_label: Any = None,
    bins: int | None = None,
    draws: int = 4000,
    random_seed: Any = 0,
) -> ReliabilityCurve:
    """Return the reliability curve: the frequency of an event over the probability that the system gives it.

    For calibrated probabilities it is the diagonal: an event with probability 0.8 happens in 80 %.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels of two classes. Binned scores with edges or values within [0, 1] replace labels and probabilities; each
        bin then counts by its middle.
    y_prob : array-like (n,), or mapping or data frame of such
        Probabilities of the positive class; or the probabilities of several systems for the same examples, by name.
    method : {"isotonic", "bins", "logistic"}
        "isotonic": the frequency that does not fall as the probability rises and is nearest to the labels, without any
        further assumption or choice. "bins": the proportion of positives in bins with about equally many examples.
        "logistic": the line of `recalibrate`; it has only two parameters, so it says most with few examples.
    bins : int, optional
        Number of bins, by default 10; for "bins" only. Equal probabilities stay in one bin, so there may be fewer.
    draws : int
        Number of lines drawn from their posterior; for "logistic" only.
    pos_label, random_seed
        As in `roc_curve`.

    Returns
    -------
    ReliabilityCurve
        For several systems, a curve over ``model``.

    Notes
    -----
    The points of "bins" equal those of `sklearn.calibration.calibration_curve` with ``strategy="quantile"``; the
    isotonic line equals that of `sklearn.isotonic.IsotonicRegression`. It follows every wiggle of the labels and so is
    never quite the diagonal, even for calibrated probabilities (Dimitriadis, Gneiting & Jordan 2021): look at the band.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.reliability_curve([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> curve.dataset["frequency"].values
    array([0. , 0. , 0.5, 0.5, 1. , 1. ])
    """
    checks.one_of("method", method, METHODS)
    if method != "bins":
        checks.none_given("applies to method='bins' only.", bins=bins)
    systems = systems_of(y_prob, "y_prob").items()
    parts = {name: ProbabilityCounts.of(y_true, of_system, pos_label) for name, of_system in systems}
    if method == "logistic":
        for counts in parts.values():
            checks.none_certain("y_prob", counts.certain)
    return ReliabilityCurve(
        parts=parts,
        method=method,
        bins=checks.count("bins", BINS if bins is None else bins),
        n_draws=checks.count("draws", draws, least=2),
        random_seed=checks.seed(random_seed),
    )
