"""The command ``bayesperf rank``: which of several systems is best, from judgements of pairs of them."""

from __future__ import annotations

from pathlib import Path

from bayesperf.cli.options import takes_files
from bayesperf.cli.running_commands import print_blocks_as, say_what_takes_long, shown_while
from bayesperf.files.option_table import Settings


@takes_files(required=True)
def rank(files: list[Path], settings: Settings) -> None:
    """Print which system is best, from a file in which each row says which of two systems was preferred.

    Columns are recognised by their names: a, b and winner, model_a and model_b, home and away, and so on; also prompt
    and judge. A winner is the name of a system, a, b or tie. Several files are parts of one data set.
    """
    from bayesperf.files.reading_kinds import read_kind
    from bayesperf.reports.judged_systems import judged_systems

    read = read_kind(files, "judged pairs", settings.encoding)
    assert read is not None
    say_what_takes_long(read)
    with shown_while("Sampling the strengths"):
        found = judged_systems(read, settings)
    words = found.compared.in_words(ci_prob=settings.ci_prob)
    print_blocks_as(settings.format, {"in_words": words}, found.blocks)
