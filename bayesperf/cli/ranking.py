"""The command ``bayesperf rank``: which of several systems is best, from judgements of pairs of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesperf.cli.options_for_typer import Files
from bayesperf.cli.running_commands import print_blocks_as, say, shown_while
from bayesperf.files.option_table import Settings

if TYPE_CHECKING:
    import xarray as xr

    from bayesperf.comparison.result import Comparison
    from bayesperf.files.pairs import JudgedFile
    from bayesperf.reports.blocks import Block

# With more systems the table of all pairs is left to JSON; so many pairs are advised.
_MOST_IN_PAIRS, _ADVISED = 8, 3


def rank(files: Files, settings: Settings) -> None:
    """Print which system is best, from a file in which each row says which of two systems was preferred.

    Columns are recognised by their names: a, b and winner, model_a and model_b, home and away, and so on; also prompt
    and judge. A winner is the name of a system, a, b or tie. Several files are parts of one data set.
    """
    from bayesperf.data.judged_pairs import judged_pairs
    from bayesperf.files.pairs import read_pairs

    read = read_pairs(files, settings.encoding)
    counts = judged_pairs(read.frame)
    say("systems are ranked by sampling, which takes about ten seconds, and more the first time on a machine.")
    from bayesperf.comparison.comparing import compare
    from bayesperf.sampling.fitting import fit

    with shown_while("Sampling the strengths"):
        tree = fit(
            read.frame, "preferences", options={"order": settings.order}, random_seed=settings.seed, progressbar=False
        )
    compared = compare(tree, metric="win_rate")
    blocks = _blocks(read, counts, tree, compared, settings)
    print_blocks_as(settings.format, {"in_words": compared.in_words(ci_prob=settings.ci_prob)}, blocks)


def _blocks(
    read: JudgedFile, counts: xr.DataArray, tree: xr.DataTree, compared: Comparison, settings: Settings
) -> list[Block]:
    """Return the answer, what was read, the systems in order, who beats whom, judges, order, and what to judge next."""
    from bayesperf.reports.blocks import Note, Sentence

    return [
        Note(compared.in_words(ci_prob=settings.ci_prob), "answer"),
        Sentence(_what_was_read(read, counts)),
        *(Note(note) for note in read.notes),
        _standings(compared, settings.ci_prob),
        Sentence("The win rate is the probability of beating another of these systems; a tie counts half."),
        _pairs(tree, compared),
        *_judges(tree, settings.ci_prob),
        *_order(tree, settings.ci_prob),
        *_advice(tree),
    ]


def _what_was_read(read: JudgedFile, counts: xr.DataArray) -> str:
    """Return the number of judgements and of what they are of, and the columns that they were read from."""
    from bayesperf.core.words import enumerated, printable

    numbers = {role: read.frame[role].nunique() for role in ("prompt", "judge") if role in read.columns}
    of_others = "".join(f", {number:,} {role}{'s' * (number > 1)}" for role, number in numbers.items())
    ties = f", {int(counts.values[:, 2].sum()):,} of them tied" if counts.sizes["outcome"] == 3 else ""
    columns = enumerated([printable(name) for name in read.columns.values()])
    return (
        f"{int(counts.sum()):,} judgements{ties}: {len(counts.attrs['models'])} systems{of_others}. "
        f"Columns read: {columns}."
    )


def _standings(compared: Comparison, ci_prob: float) -> Block:
    from bayesperf.core.words import short_interval_name
    from bayesperf.reports.blocks import Column, rows_table

    records = compared.standings(ci_prob).drop(columns=["metric", "observed"]).to_dict("records")
    columns = [
        Column("system", ("model",)),
        Column(f"win rate\n{short_interval_name(ci_prob, 'hdi')}", ("mean", "ci_lower", "ci_upper"), "estimate"),
        Column("P(best)", ("prob_best",), "probability"),
        Column("expected rank", ("expected_rank",), "number"),
    ]
    return rows_table("Standings", columns, records, name=("standings",))


def _pairs(tree: xr.DataTree, compared: Comparison) -> Block:
    """Return the probabilities that the system of a row beats that of a column next time, best first."""
    import numpy as np

    from bayesperf.models import preferences
    from bayesperf.posteriors.tree_attributes import fit_of
    from bayesperf.reports.blocks import Column, rows_table

    order = [compared.names[place] for place in compared.rank_order.values]
    posterior, options = fit_of(tree, "preferences")
    places = [compared.names.index(name) for name in order]
    wins = np.array(
        [preferences.next_outcomes(posterior, place, **options)[0].mean((0, 1))[places] for place in places]
    )
    np.fill_diagonal(wins, np.nan)
    # A system may itself be called "system".
    keys = [f"beats {name}" for name in order]
    records = [
        {"system": name, **dict(zip(keys, row, strict=True))} for name, row in zip(order, wins.tolist(), strict=True)
    ]
    columns = [
        Column("system", ("system",)),
        *(Column(str(name), (key,), "probability") for name, key in zip(order, keys, strict=True)),
    ]
    shown = columns if len(order) <= _MOST_IN_PAIRS else []
    return rows_table("P(row beats column next time)", shown, records, name=("beats",))


def _judges(tree: xr.DataTree, ci_prob: float) -> list[Block]:
    """Return how much the judgements of each judge weigh."""
    from bayesperf.core.words import short_interval_name
    from bayesperf.posteriors.marginal import Marginal
    from bayesperf.reports.blocks import Column, Sentence, rows_table

    if "judge_weight" not in tree["posterior"]:
        return []
    records = Marginal.from_datatree(tree, "judge_weight").summary(ci_prob).to_dict("records")
    columns = [
        Column("judge", ("judge",)),
        Column(f"weight\n{short_interval_name(ci_prob, 'hdi')}", ("mean", "ci_lower", "ci_upper"), "estimate"),
    ]
    about = "A judge of weight 1 sees as much as these judges on average; a judge of weight 0 guesses."
    return [rows_table("Judges", columns, records, name=("judges",)), Sentence(about)]


def _order(tree: xr.DataTree, ci_prob: float) -> list[Block]:
    """Return a sentence on the advantage of the answer that is shown first."""
    from bayesperf.core.words import estimate
    from bayesperf.posteriors.marginal import Marginal
    from bayesperf.reports.blocks import Sentence

    if "order" not in tree["posterior"]:
        return []
    row = Marginal.from_datatree(tree, "order").summary(ci_prob).iloc[0]
    said = estimate(row["mean"], row["ci_lower"], row["ci_upper"], ci_prob, "hdi")
    return [Sentence(f"Being shown first adds {said} to the log-odds of winning.", name=("order",))]


def _advice(tree: xr.DataTree) -> list[Block]:
    """Return the pairs of systems to judge next."""
    from bayesperf.core.words import enumerated, printable
    from bayesperf.plan.next_outcomes import next_pairs
    from bayesperf.reports.blocks import Sentence, rows_table

    table = next_pairs(tree, _ADVISED)
    pairs = enumerated([printable(f"{row.a} and {row.b}") for row in table.itertuples()])
    return [
        Sentence(f"To learn which is best, judge next: {pairs}."),
        rows_table("", (), table.to_dict("records"), name=("next_pairs",)),
    ]
