"""What a user asks a report for: columns and options."""

from __future__ import annotations

from dataclasses import dataclass

# The leading dim that a report pools over, and also shows by itself.
FOLD = "fold"
# The column that tells the rows of several files apart.
FILE = "file"
# The column that tells apart systems whose predictions, or scores, are each a column of a file; those of their labels
# and scores one below the other; and the number of the row.
SYSTEM = "model"
STACKED = {"predicted": "predicted", "score": "score"}
ROW = "row"


@dataclass(frozen=True)
class Settings:
    """The options of the command line, one field each.

    Of a file with a column for each system, `predictions` and `scores` are these columns, in the same order, and
    `predicted` and `score` what they become one below the other. Of `clusters` within clusters the first are the outer.
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
    judge: str | None = None
    verified_only: bool = False
    clusters: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    predictions: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()

    @property
    def system(self) -> str | None:
        """The column that tells systems apart: the first of `by` other than the folds."""
        return next((name for name in self.by if name != FOLD), None)

    @property
    def cluster(self) -> str | None:
        """The column of the clusters that are independent of each other."""
        return self.clusters[0] if self.clusters else None

    @property
    def systems(self) -> tuple[str, ...]:
        """The columns of a file that are a system each."""
        return self.predictions or self.scores
