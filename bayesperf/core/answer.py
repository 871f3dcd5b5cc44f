"""Common parts of all answers: sentences and a table, which a notebook shows together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from bayesperf.core.saving import Saved

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The characters that Markdown, and HTML in it, may take for markup.
_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#$~"})


class Answer(Saved, ABC):
    """Base class of results that can be saved, and that describe their findings in words and in a table.

    A class of answers has the methods `in_words` and `summary`. The function of `bayesperf.plots` that draws it is
    called `drawn_by`; a class whose `plot` has arguments of its own defines it.
    """

    drawn_by: ClassVar[str] = ""

    @abstractmethod
    def in_words(self) -> str:
        """Return the answer in sentences."""

    @abstractmethod
    def summary(self) -> pd.DataFrame:
        """Return the answer as a tidy table."""

    def table_below(self, **options: Any) -> pd.DataFrame:
        """Return the table that a notebook, or a page, shows below the sentences; an empty one is omitted.

        Parameters
        ----------
        **options
            The options of `summary`.
        """
        return self.summary(**options)

    def plot(self, *args: Any, **options: Any) -> Figure:
        """Plot the answer, by the function of `bayesperf.plots` that is called ``drawn_by``.

        Parameters
        ----------
        *args, **options
            Its other arguments: of a curve ``ci_prob`` and ``kind`` of its band, of others ``ci_prob`` and ``ci_kind``
            of intervals if it has some; ``ax`` of all.
        """
        from bayesperf import plots

        figure: Figure = getattr(plots, self.drawn_by)(self, *args, **options)
        return figure

    def _repr_html_(self) -> str:
        words, table = "<br>".join(map(escape, self.in_words().splitlines())), self.table_below()
        return f"<p>{words}</p>{'' if table.empty else table._repr_html_()}"  # type: ignore[operator]

    def _repr_markdown_(self) -> str:
        words, table = self.in_words().translate(_MARKUP), self.table_below()
        return words if table.empty else f"{words}\n\n{_markdown(table)}"


def _markdown(table: pd.DataFrame) -> str:
    """Return a table in Markdown."""
    rows: list[Iterable[Any]] = [table.columns, ["---"] * table.shape[1], *table.itertuples(index=False)]
    return "\n".join(_row(row) for row in rows)


def _row(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4f}"
    return value if value == "---" else " ".join(str(value).translate(_MARKUP).split())
