"""The answer of every plan: a number, what it counts, and its curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.words import chance, percentage
from bayesperf.plan.looks import LooksCost

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The columns of a plan's summary.
_SUMMARY = ("n", "counts", "claim", "aim", "target", "reached", "mcse", "limit")
# How many points a curve has, if none are asked for.
_POINTS = 60


class UnreachableError(ValueError):
    """No number of examples is enough, or none of those looked for: a million, as a rule.

    Attributes
    ----------
    limit : float
        The limit of what is planned with ever more examples.
    settles : Plan or None
        The plan that settles the question one way or the other, if a million trials can.
    """

    def __init__(self, message: str, limit: float, settles: Plan | None = None):
        super().__init__(message)
        self.limit = limit
        self.settles = settles

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to make it again: by default exceptions are made from their message alone."""
        return type(self), (str(self), self.limit, self.settles)


class PlanModel(Protocol):
    """The model that computes a plan's curve."""

    def curve(self, n: Counts) -> tuple[Array, Array]:
        """Return what is planned after n more counted trials, and its Monte Carlo standard errors."""

    def in_words(self, plan: Plan) -> str:
        """Return the plan in sentences."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Plan(Answer):
    """How many new examples, or labels, are needed. Made by the functions of `bayesperf.plan`.

    Attributes
    ----------
    n : int
        The smallest number from which on the target is met.
    counts : str
        What `n` counts: "positives" for recall, "examples" for accuracy, "labels".
    claim : str
        What the plan is to show, or to make narrow, in words.
    aim : {"assurance", "width", "value"}
        What `curve` shows: the probability that the claim will be shown, the expected width of an interval, or the
        value of the examples to a decision, in net benefit per example decided upon.
    target : float
        The assurance, width or value asked for.
    reached : float
        Its value at `n`.
    mcse : float
        The Monte Carlo standard error of `reached`; 0 if it is an exact sum, NaN if it is not known.
    limit : float
        Its limit with ever more examples. For a requirement to be shown met, it is the probability that it is met,
        given the evidence; for a decision, the value of perfect information.
    basis : str
        Evidence and prior, in words.
    share : float or None
        Proportion of examples that `n` counts, if known.
    model : PlanModel
        The model that computes the curve.
    looks : LooksCost or None
        The cost of repeated looks, if the plan includes them.
    """

    n: int
    counts: str
    claim: str
    aim: str
    target: float
    reached: float
    mcse: float
    limit: float
    basis: str
    share: float | None
    model: PlanModel
    looks: LooksCost | None = None

    @property
    def examples(self) -> int:
        """Number of examples that contain `n` trials of the metric on average: n divided by their proportion.

        By chance it takes some more or fewer: to be sure, collect examples until n of them are trials. If the
        proportion comes from the evidence, it is the posterior mean.

        Raises
        ------
        ValueError
            If the proportion of examples that are trials is not known.
        """
        if self.share is None:
            raise InputError(
                "examples",
                f"n counts {self.counts}, and nothing says which share of the examples they are.",
                "Give prevalence, or evidence that is a ConfusionMatrix of examples as they come.",
            )
        return math.ceil(self.n / self.share - 1e-9)

    def curve(self, n: ArrayLike | None = None) -> xr.DataArray:
        """Return what is planned by the number that the plan counts.

        Parameters
        ----------
        n : int or array-like (m,), optional
            By default from 0 to twice the answer.

        Returns
        -------
        xarray.DataArray
            An array with dim ``n``; 0-d for one number. Its coordinate ``mcse`` is the Monte Carlo standard error of
            each value.
        """
        asked = self._numbers() if n is None else np.asarray(n)
        if asked.ndim > 1 or not asked.size:
            raise InputError("n", f"must be a number or a list of numbers of {self.counts}; it is {n!r}.")
        whole = checks.whole_numbers("n", np.atleast_1d(asked)).astype(np.int64)
        values, errors = self.model.curve(whole)
        curve = xr.DataArray(values, {"n": whole, "mcse": ("n", errors)}, ["n"], name=self.aim)
        return curve if asked.ndim else curve.isel(n=0)

    def _numbers(self) -> Counts:
        # Each value of a decision's curve is a simulation.
        points = 15 if self.aim == "value" else _POINTS
        return np.unique(np.linspace(0, max(2 * self.n, 20), points).astype(np.int64))

    def summary(self) -> pd.DataFrame:
        """Return a table with one row: what is needed, for what, and how near the target it comes."""
        return pd.DataFrame([{name: getattr(self, name) for name in _SUMMARY}])

    def plot(self, n: ArrayLike | None = None, *, ax: Axes | None = None) -> Figure:
        """Plot the curve with the target, the limit and the answer; see `bayesperf.plots.plan`."""
        from bayesperf import plots

        return plots.plan(self, n, ax=ax)

    def in_words(self) -> str:
        """Return one or two sentences: how many new examples are needed, for what, and on what evidence.

        Examples
        --------
        >>> import bayesperf as bp
        >>> print(bp.plan.sample_size(0.7, metric="recall", evidence=(40, 50), prevalence=0.1).in_words())
        138 new positives, in about 1,380 examples, are enough: with probability 82 % they will show P(recall ≥ 0.7) ≥ \
        0.95 (80 % was asked for).
        """
        return self.model.in_words(self)

    def __repr__(self) -> str:
        error = f" ± {self.mcse:.2g}" if self.mcse > 0 else ""
        asked = f"{self.aim} {self.reached:.4g}{error} (wanted {self.target:g})"
        return f"<bayesperf.Plan: {self.n} {self.counts}; {asked} of {self.claim}>"


def assurance_in_words(plan: Plan) -> str:
    """Return a sentence on a plan that shows a claim with some probability."""
    if not plan.n:
        return f"No new {plan.counts} are needed: those at hand show {plan.claim} already."
    error = f" (Monte Carlo error {plan.mcse:.2g})" if plan.mcse else ""
    shown = f"with probability {chance(plan.reached)}{error} they will show {plan.claim}"
    return f"{_enough(plan)}: {shown} ({percentage(plan.target)} was asked for)."


def width_in_words(plan: Plan) -> str:
    """Return a sentence on a plan for a narrow interval."""
    reached, asked = f"{plan.reached:.3f}", f"({plan.target:g} was asked for)"
    if not plan.n:
        return f"No new {plan.counts} are needed: with those at hand the {plan.claim} is {reached} already {asked}."
    return f"{_enough(plan)}: the {plan.claim} is then {reached} {asked}."


def _enough(plan: Plan) -> str:
    within = "" if plan.share in (None, 1) else f", in about {plan.examples:,} examples,"
    return f"{plan.n:,} new {plan.counts}{within} are enough"
