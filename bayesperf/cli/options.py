"""The options that commands share, and the settings that they make."""

from __future__ import annotations

import csv
import glob
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from bayesperf.core.errors import InputError

if TYPE_CHECKING:
    from bayesperf.files.settings import Settings


def existing(named: list[Path] | None) -> list[Path]:
    """Return the files of patterns; refuse one that is not there before anything is imported that takes long."""
    files = [file for path in named or () for file in _expanded(path)]
    for file in files:
        try:
            file.stat()
        except OSError as error:
            raise InputError(str(file), f"cannot be read: {error.strerror}.") from None
    return list(dict.fromkeys(files))


def _expanded(path: Path) -> list[Path]:
    """Return the files that a pattern stands for, in order; a path that is there is none, whatever it is called."""
    if os.path.lexists(path):
        return [path]
    pattern = os.path.expanduser(path)
    if not glob.has_magic(pattern):
        return [Path(pattern)]
    found = [Path(file) for file in sorted(glob.glob(pattern, recursive=True))]
    if not found:
        raise InputError(str(path), "no file has a name of this pattern.")
    return found


class Command(TyperCommand):
    """A command whose options of one value are given once: of two the last would win, in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; refuse an option of one value that comes twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=[*args])
        for option, times in Counter(order).items():
            if times > 1 and option.nargs == 1 and not (option.multiple or getattr(option, "is_flag", False)):
                raise InputError(option.opts[0], f"it takes one value and is given {times} times.")
        return super().parse_args(ctx, args)


Files = Annotated[
    list[Path],
    typer.Argument(
        help="CSV (separated by comma, semicolon or tab), JSON lines, or either packed by gzip, or Parquet, a row an "
        "example; patterns, or folders of such files. Several become a dim 'file'.",
        callback=existing,
    ),
]
File = Annotated[Path, typer.Argument(help="A file, or a folder of files, as for summary.")]
Parts = Annotated[bool, typer.Option("--parts", help="Files are parts of one data set, not told apart.")]
Actual = Annotated[str, typer.Option(help="Column of actual labels.")]
Predicted = Annotated[
    list[str] | None,
    typer.Option(help="Column of predicted labels [predicted]. Repeated: each is a system, paired by row."),
]
Score = Annotated[
    list[str] | None,
    typer.Option(help="Column of scores, greater for the positive class. Repeated: one for each --predicted."),
]
Threshold = Annotated[
    float | None, typer.Option(help="Predictions are positive where --score is at least this, without --predicted.")
]
Labels = Annotated[
    list[str] | None, typer.Option(help="All classes, in order, comma-separated or repeated. [those that occur]")
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with missing values; with --id, such examples.")
]
Judge = Annotated[
    str | None,
    typer.Option(help="Column of what a cheaper judge says of every example; --actual is empty where nobody looked."),
]
VerifiedOnly = Annotated[
    bool, typer.Option("--verified-only", help="Leave out the rows whose --actual is empty, and what a judge says.")
]
Cluster = Annotated[
    list[str] | None,
    typer.Option(help="Column of what several examples are of, as a patient: they are alike. Repeatable, outer first."),
]
Slice = Annotated[
    list[str] | None,
    typer.Option("--slice", help="Column to look for failures by, as a site: one, or with several their combinations."),
]
Title = Annotated[str | None, typer.Option(help="Title of the page.")]
Split = Annotated[str | None, typer.Option(help="Column that says 'test' of what judges, else what sets thresholds.")]
By = Annotated[list[str] | None, typer.Option(help="Column to tell systems apart; 'fold' is also pooled. Repeatable.")]
PosLabel = Annotated[str | None, typer.Option(help="The positive class of a binary problem.")]
Prior = Annotated[
    str | None, typer.Option(help="flat, jeffreys, perks, haldane or shared. [jeffreys; of 3 or more classes shared]")
]
CiProb = Annotated[float, typer.Option(help="Probability of the intervals.")]
Metrics = Annotated[list[str] | None, typer.Option(help="Metrics, comma-separated or repeated. [the usual ones]")]
Metric = Annotated[
    list[str] | None,
    typer.Option("--metric", "--metrics", help="Metrics, comma-separated or repeated. [the usual ones]"),
]
Require = Annotated[list[str] | None, typer.Option(help="A requirement, as 'recall>=0.8'. Repeatable.")]
Seed = Annotated[int, typer.Option(help="Seed of Monte Carlo figures.")]
Id = Annotated[str | None, typer.Option("--id", help="Column that says which rows are the same example.")]
Top = Annotated[int | None, typer.Option(min=1, help="Show the best so many systems alone, by the first metric.")]
All = Annotated[bool, typer.Option("--all", help="Print all pairs of more than eight systems, not the best alone.")]
Rope = Annotated[float, typer.Option(help="Differences up to this, on the metric's scale, do not matter.")]
Models = Annotated[list[str] | None, typer.Argument(help="Names of models. [all]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")]


def settings_of(
    files: list[Path],
    by: list[str] | None,
    parts: bool,
    *,
    ci_prob: float,
    metrics: list[str] | None,
    predicted: list[str] | None,
    score: list[str] | None,
    threshold: float | None,
    labels: list[str] | None,
    require: list[str] | None = None,
    rope: float = 0.0,
    judge: str | None = None,
    verified_only: bool = False,
    cluster: list[str] | None = None,
    slices: list[str] | None = None,
    **others: Any,
) -> Settings:
    """Return the options as settings."""
    from bayesperf.core.checks import probability
    from bayesperf.files.settings import FILE, Settings
    from bayesperf.files.wide import named_systems

    if not 0 <= rope < float("inf"):
        raise InputError("--rope", f"must be at least 0; it is {rope:g}.")
    if parts and len(files) > 1 and FILE in (by or ()):
        raise InputError("--parts", "parts of one data set are not told apart.", f"Leave out --by {FILE}.")
    if verified_only:
        judge = None
    _refuse_what_does_not_go_together(by, score=score, judge=judge, cluster=cluster, slices=slices, others=others)
    apart = len(files) > 1 and not parts and FILE not in (by or ())
    settings = Settings(
        by=(*(by or ()), *([FILE] if apart else [])),
        ci_prob=probability("--ci-prob", ci_prob),
        metrics=_entries(metrics),
        require=tuple(require or ()),
        rope=rope,
        threshold=threshold,
        labels=_entries(labels),
        judge=judge,
        verified_only=verified_only,
        clusters=tuple(cluster or ()),
        slices=tuple(slices or ()),
        **others,
    )
    return named_systems(settings, tuple(predicted or ()), tuple(score or ()))


def _refuse_what_does_not_go_together(
    by: list[str] | None,
    *,
    score: list[str] | None,
    judge: str | None,
    cluster: list[str] | None,
    slices: list[str] | None,
    others: dict[str, Any],
) -> None:
    from bayesperf.reports.designs import refuse_beside_clusters, refuse_beside_judge
    from bayesperf.reports.sliced import refuse_beside_slices

    if judge is not None:
        refuse_beside_judge(score=score, by=by, **others)
    if cluster:
        refuse_beside_clusters(score=score, judge=judge, by=by, **others)
    if slices:
        refuse_beside_slices(slices, by, judge=judge, cluster=cluster)


def _entries(options: list[str] | None) -> tuple[str, ...]:
    """Return what an option names, repeated or separated by commas; a field in quotes can hold them."""
    return tuple(name.strip() for option in options or () for name in next(csv.reader([option], skipinitialspace=True)))
