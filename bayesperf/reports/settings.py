"""What a user asks a report for: columns and options."""

from __future__ import annotations

from dataclasses import dataclass

# The leading dim that a report pools over, and also shows by itself.
FOLD = "fold"
# The column that tells the rows of several files apart.
FILE = "file"


@dataclass(frozen=True)
class Settings:
    """The options of the command line, one field each."""

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

    @property
    def system(self) -> str | None:
        """The column that tells systems apart: the first of `by` other than the folds."""
        return next((name for name in self.by if name != FOLD), None)
