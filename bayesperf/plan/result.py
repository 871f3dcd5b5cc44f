"""A plan: how many examples are needed, and for what."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# How many points a curve has, if none are asked for.
_POINTS = 60


class UnreachableError(ValueError):
    """No number of examples is enough.

    Attributes
    ----------
    limit : float
        The assurance that ever more examples tend to.
    settles : Plan or None
        What settles the question one way or the other, if a million trials can.
    """

    def __init__(self, message: str, limit: float, settles: Plan | None = None):
        super().__init__(message)
        self.limit = limit
        self.settles = settles


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How many new examples are needed. Made by `sample_size`, `comparison` and `precision`.

    Attributes
    ----------
    n : int
        The smallest number of the metric's trials from which on the target is met.
    counts : str
        What `n` counts: "positives" for recall, "examples" for accuracy.
    claim : str
        What is planned for, in words.
    quantity : {"assurance", "width"}
        What `curve` shows: the probability that the claim will be shown, or the expected width of an interval.
    target : float
        The assurance or the width asked for.
    reached : float
        What it is at `n`.
    mcse : float
        The Monte Carlo standard error of `reached`; 0 if it is an exact sum.
    limit : float
        Where it tends to with ever more examples. For a requirement that is to be met, it is the probability that it is
        met as the evidence stands.
    basis : str
        Evidence and prior, in words.
    share : float or None
        Share of examples that are the metric's trials, if known.
    """

    n: int
    counts: str
    claim: str
    quantity: str
    target: float
    reached: float
    mcse: float
    limit: float
    basis: str
    share: float | None
    _values: Callable[[Counts], tuple[Array, Array]]

    @property
    def examples(self) -> int:
        """Examples that hold `n` trials of the metric on average, n divided by their share.

        Chance makes it some more or fewer: to be sure, take examples until n of them are trials. Where the share comes
        from the evidence, it is its posterior mean.

        Raises
        ------
        ValueError
            If it is not known which share of the examples are trials.
        """
        if self.share is None:
            raise ValueError(
                f"examples: n counts {self.counts}, and nothing says which share of the examples they are. Give "
                "prevalence, or evidence that is a ConfusionMatrix of examples as they come."
            )
        return math.ceil(self.n / self.share - 1e-9)

    def curve(self, n: ArrayLike | None = None) -> xr.DataArray:
        """Return the assurance, or the expected width, against the number of trials.

        Parameters
        ----------
        n : int or array-like (m,), optional
            By default from 0 to twice the answer.

        Returns
        -------
        xarray.DataArray
            With dim ``n``; 0-d for one number. Its coordinate ``mcse`` is the Monte Carlo standard error of each.
        """
        most = max(2 * self.n, 20)
        asked = np.unique(np.linspace(0, most, _POINTS).astype(int)) if n is None else np.asarray(n)
        if asked.ndim > 1 or not asked.size:
            raise ValueError(f"n must be a number or a list of numbers of {self.counts}; it is {n!r}.")
        whole = checks.whole_numbers("n", np.atleast_1d(asked)).astype(np.int64)
        values, errors = self._values(whole)
        found = xr.DataArray(values, {"n": whole, "mcse": ("n", errors)}, ["n"], name=self.quantity)
        return found if asked.ndim else found.isel(n=0)

    def plot(self, n: ArrayLike | None = None) -> Figure:
        """Draw the curve with the target, the limit and the answer."""
        from bayesperf import plots

        return plots.plan(self, n)

    def __repr__(self) -> str:
        error = f" ± {self.mcse:.2g}" if self.mcse else ""
        asked = f"{self.quantity} {self.reached:.4g}{error} (wanted {self.target:g})"
        return f"<bayesperf.Plan: {self.n} {self.counts}; {asked} of {self.claim}>"


# ── How one is made ───────────────────────────────────────────────────────────────────────────────────────────────────


class Source(Protocol):
    """What knows how probable it is that new examples show a claim."""

    @property
    def confidence(self) -> float: ...
    @property
    def limit(self) -> float: ...
    def values(self, n: Counts, both: bool) -> tuple[Array, Array]: ...
    def smallest(self, assurance: float, both: bool) -> int | None: ...


class PlanText(NamedTuple):
    """What a plan is of: what is counted, the claim, the evidence, and the share of examples that are counted."""

    counts: str
    claim: str
    basis: str
    share: float | None


def planned(source: Source, assurance: float, question: str, words: PlanText) -> Plan:
    """Find the smallest n; refuse what no n reaches."""
    both = checks.one_of("question", question, ("meet", "settle")) == "settle"
    limit = 1.0 if both else source.limit
    if limit <= assurance:
        raise _unreachable(source, assurance, words)
    n = source.smallest(assurance, both)
    if n is None:
        raise ValueError(
            f"assurance: more than a million {words.counts} are needed for {assurance:g}. Ask for less assurance, less "
            "confidence, or another requirement."
        )
    values, errors = source.values(np.array([n]), both)
    contrary = f" or ≤ {1 - source.confidence:g}" if both else ""
    return Plan(
        n,
        words.counts,
        f"P({words.claim}) ≥ {source.confidence:g}{contrary}",
        "assurance",
        assurance,
        values.item(),
        errors.item(),
        limit,
        words.basis,
        words.share,
        lambda n: source.values(n, both),
    )


def _unreachable(source: Source, assurance: float, words: PlanText) -> UnreachableError:
    try:
        settles = planned(source, assurance, "settle", words)
        takes = f"{settles.n} {words.counts} settle it" if settles.n else "it is settled already"
    except ValueError:
        settles, takes = None, f"it takes more than a million {words.counts} to settle it"
    return UnreachableError(
        f"assurance: {assurance:g} is out of reach. As the evidence stands, P({words.claim}) is {source.limit:.3f}; "
        f"with ever more {words.counts} the assurance tends to that, for they may as well show the contrary. One way "
        f"or the other, with the same assurance, {takes}: question='settle'.",
        source.limit,
        settles,
    )
