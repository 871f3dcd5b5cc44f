"""Which system judges prefer: blocks on the order of systems, who beats whom, the judges, and what to judge next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.comparison.comparing import compare
from bayesperf.comparison.result import Comparison
from bayesperf.core.words import enumerated, estimate, printable, short_interval_name
from bayesperf.data.judged_pairs import judged_pairs
from bayesperf.files.option_table import Settings
from bayesperf.files.reading_kinds import FileOfKind
from bayesperf.plan.next_outcomes import best_system, next_pairs
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.tree_attributes import fit_of
from bayesperf.reports.answers import Part
from bayesperf.reports.blocks import Block, Column, Folded, Note, Sentence, rows_table

# With more systems the table of all pairs is left to JSON; so many pairs are advised.
_MOST_IN_PAIRS, _ADVISED = 8, 3
# Of more judges than this only the extreme ones are shown, so many on each side.
_MOST_JUDGES, _EXTREME_JUDGES = 20, 5
# More votes that are planned for, in multiples of those there are.
_TIMES = (1, 3, 10)


@dataclass(frozen=True)
class JudgedSystems:
    """A fit of the model ``preferences`` to a file, and what it says."""

    # What was read, in words.
    read: str
    # Sentences on the columns and the format of the file.
    notes: tuple[str, ...]
    votes: int
    tree: xr.DataTree
    # The win rates compared.
    compared: Comparison
    # Probability of the intervals.
    ci_prob: float

    @property
    def parts(self) -> dict[str, Sequence[Part]]:
        """The questions of a page, and their answers."""
        asked: dict[str, Sequence[Part]] = {
            "Which system do judges prefer?": [self.compared, *self._standings()],
            "Who beats whom?": [self._pairs()],
            "How much does a judge's vote weigh?": self._judges(),
            "Does it help to be shown first?": self._order(),
            "Which two should be judged next?": self._advice(),
            "How many more votes would show the best?": [best_system(self.tree, [n * self.votes for n in _TIMES])],
        }
        return {question: part for question, part in asked.items() if part}

    @property
    def blocks(self) -> list[Block]:
        """What the command ``rank`` prints."""
        answer = Note(self.compared.in_words(ci_prob=self.ci_prob), "answer")
        *others, advice = ([self._pairs()], self._judges(), self._order(), self._advice())
        shown = [answer, Sentence(self.read), *map(Note, self.notes), *self._standings()]
        return [*shown, *(block for blocks in (*others, advice) for block in blocks)]

    def _standings(self) -> list[Block]:
        records = self.compared.standings(self.ci_prob).drop(columns=["metric", "observed"]).to_dict("records")
        columns = [
            Column("system", ("model",)),
            Column(self._heading("win rate"), ("mean", "ci_lower", "ci_upper"), "estimate"),
            Column("P(best)", ("prob_best",), "probability"),
            Column("expected rank", ("expected_rank",), "number"),
        ]
        about = "The win rate is the probability of beating another of these systems; a tie counts half."
        return [rows_table("Standings", columns, records, name=("standings",)), Sentence(about)]

    def _heading(self, of: str) -> str:
        return f"{of}\n{short_interval_name(self.ci_prob, 'hdi')}"

    def _pairs(self) -> Block:
        """Return the probabilities that the system of a row beats that of a column next time, best first."""
        from bayesperf.models import preferences

        names = self.compared.names
        order = [names[place] for place in self.compared.rank_order.values]
        posterior, options = fit_of(self.tree, "preferences")
        places = [names.index(name) for name in order]
        wins = np.array(
            [preferences.next_outcomes(posterior, place, **options)[0].mean((0, 1))[places] for place in places]
        )
        np.fill_diagonal(wins, np.nan)
        # A system may itself be called "system".
        keys = [f"beats {name}" for name in order]
        records = [
            {"system": name, **dict(zip(keys, row, strict=True))}
            for name, row in zip(order, wins.tolist(), strict=True)
        ]
        columns = [
            Column("system", ("system",)),
            *(Column(str(name), (key,), "probability") for name, key in zip(order, keys, strict=True)),
        ]
        shown = columns if len(order) <= _MOST_IN_PAIRS else []
        return rows_table("P(row beats column next time)", shown, records, name=("beats",))

    def _judges(self) -> list[Block]:
        """Return how much the judgements of each judge weigh."""
        if "judge_weight" not in self.tree["posterior"]:
            return []
        records = Marginal.from_datatree(self.tree, "judge_weight").summary(self.ci_prob).to_dict("records")
        columns = [
            Column("judge", ("judge",)),
            Column(self._heading("weight"), ("mean", "ci_lower", "ci_upper"), "estimate"),
        ]
        about = "A judge of weight 1 sees as much as these judges on average; a judge of weight 0 guesses."
        every = rows_table("Judges", columns, records, name=("judges",))
        if len(records) <= _MOST_JUDGES:
            return [every, Sentence(about)]
        by_weight = sorted(records, key=lambda record: record["mean"])
        least, most = by_weight[:_EXTREME_JUDGES], by_weight[-_EXTREME_JUDGES:]
        return [
            rows_table("Weigh most", columns, most[::-1]),
            rows_table("Weigh least", columns, least),
            Sentence(f"{about} {len(records) - 2 * _EXTREME_JUDGES:,} more judges weigh between these."),
            Folded(f"All {len(records):,} judges", [every], is_printed=False),
        ]

    def _order(self) -> list[Block]:
        """Return a sentence on the advantage of the answer that is shown first."""
        if "order" not in self.tree["posterior"]:
            return []
        row = Marginal.from_datatree(self.tree, "order").summary(self.ci_prob).iloc[0]
        said = estimate(row["mean"], row["ci_lower"], row["ci_upper"], self.ci_prob, "hdi")
        return [Sentence(f"Being shown first adds {said} to the log-odds of winning.", name=("order",))]

    def _advice(self) -> list[Block]:
        """Return the pairs of systems to judge next."""
        table = next_pairs(self.tree, _ADVISED)
        pairs = enumerated([printable(f"{row.a} and {row.b}") for row in table.itertuples()])
        return [
            Sentence(f"To learn which is best, judge next: {pairs}."),
            rows_table("", (), table.to_dict("records"), name=("next_pairs",)),
        ]


def judged_systems(read: FileOfKind, settings: Settings) -> JudgedSystems:
    """Return what a file of judged pairs says."""
    from bayesperf.sampling.fitting import fit

    frame = read.frame
    if "count" in frame:
        frame = frame.assign(count=pd.to_numeric(frame["count"], errors="coerce"))
    counts = judged_pairs(frame)
    options = {"order": settings.order}
    tree = fit(frame, "preferences", options=options, random_seed=settings.seed, progressbar=False)
    compared = compare(tree, metric="win_rate")
    notes = (read.columns_read, *read.notes)
    return JudgedSystems(_what_was_read(read, counts), notes, int(counts.sum()), tree, compared, settings.ci_prob)


def _what_was_read(read: FileOfKind, counts: xr.DataArray) -> str:
    """Return the number of judgements, and of systems, prompts and judges."""
    numbers = {role: read.frame[role].nunique() for role in ("prompt", "judge") if role in read.columns}
    of_others = "".join(f", {number:,} {role}{'s' * (number > 1)}" for role, number in numbers.items())
    ties = f", {int(counts.values[:, 2].sum()):,} of them tied" if counts.sizes["outcome"] == 3 else ""
    return f"{int(counts.sum()):,} judgements{ties}: {len(counts.attrs['models'])} systems{of_others}."
