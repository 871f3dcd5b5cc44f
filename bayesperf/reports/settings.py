"""What a user asks a report for: columns, options and requirements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesperf import metrics

if TYPE_CHECKING:
    import xarray as xr

    from bayesperf.posteriors.marginal import Marginal

# The leading dim that a report pools over, and also shows by itself.
FOLD = "fold"
# The column that tells the rows of several files apart.
FILE = "file"
# The column that tells apart systems whose predictions, or scores, are each a column of a file; those of their labels
# and scores one below the other; and the number of the row.
SYSTEM = "model"
STACKED = {"predicted": "predicted", "score": "score"}
ROW = "row"
_REQUIREMENT = re.compile(r"\s*([^<>=\s]+)\s*(>=?|<=?)\s*([^<>=\s]+)\s*")


@dataclass(frozen=True)
class Settings:
    """The options of the command line, one field each.

    Of a file with a column for each system, `predictions` and `scores` are these columns, in the same order, and
    `predicted` and `score` what they become one below the other.
    """

    actual: str = "actual"
    predicted: str = "predicted"
    by: tuple[str, ...] = ()
    pos_label: str | None = None
    score: str | None = None
    split: str | None = None
    prior: str | None = None
    ci_prob: float = 0.95
    metrics: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    seed: int = 0
    id: str | None = None
    rope: float = 0.0
    top: int | None = None
    all: bool = False
    labels: tuple[str, ...] = ()
    threshold: float | None = None
    drop_missing: bool = False
    predictions: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()

    @property
    def system(self) -> str | None:
        """The column that tells systems apart: the first of `by` other than the folds."""
        return next((name for name in self.by if name != FOLD), None)

    @property
    def systems(self) -> tuple[str, ...]:
        """The columns of a file that are a system each."""
        return self.predictions or self.scores


@dataclass(frozen=True)
class Requirement:
    """A bound on a metric, in its better direction."""

    metric: str
    bound: float
    at_least: bool

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Return the requirement written as ``metric>=bound`` or ``metric<=bound``; ``>`` and ``<`` mean the same."""
        match = _REQUIREMENT.fullmatch(text)
        if not match:
            raise ValueError(f"requirement {text!r} is not of the form recall>=0.8.")
        metric = metrics.get(match[1])
        try:
            bound = float(match[3])
        except ValueError:
            raise ValueError(f"requirement {text!r}: {match[3]!r} is not a number.") from None
        if metric.greater_is_better is None or (match[2][0] == ">") != metric.greater_is_better:
            better = {True: "greater is better: use >=", False: "smaller is better: use <=", None: "neither is better"}
            raise ValueError(f"requirement {text!r}: of {metric.name}, {better[metric.greater_is_better]}.")
        low, high = metric.bounds
        if not low <= bound <= high:
            raise ValueError(f"requirement {text!r}: {metric.name} lies between {low:g} and {high:g}.")
        if metric.average == "per_class":
            raise ValueError(f"requirement {text!r}: {metric.name} is a value for every class; take _macro or _micro.")
        return cls(metric.name, bound, match[2][0] == ">")

    def met(self, marginal: Marginal) -> xr.DataArray:
        """Return the posterior probability that the metric meets the requirement."""
        return marginal.prob_above(self.bound) if self.at_least else marginal.prob_below(self.bound)

    def __str__(self) -> str:
        return f"{metrics.get(self.metric).title} {'≥' if self.at_least else '≤'} {self.bound:g}"
