"""The command line: ``bayesperf demo``, ``summary``, ``compare`` and ``report`` of files, ``plan`` and ``compile``."""

from __future__ import annotations

import csv
import glob
import os
import re
import shlex
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesperf.reports.plan_command import plan

if TYPE_CHECKING:
    from bayesperf.reports.analysis import Analysis
    from bayesperf.reports.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Posterior distributions of the performance metrics of classifiers.",
)


def _existing(named: list[Path]) -> list[Path]:
    """Return the files of patterns; refuse one that is not there before anything is imported that takes long."""
    files = [file for path in named for file in _expanded(path)]
    for file in files:
        try:
            file.stat()
        except OSError as error:
            raise ValueError(f"{file}: cannot be read: {error.strerror}.") from None
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
        raise ValueError(f"{path}: no file has a name of this pattern.")
    return found


Files = Annotated[
    list[Path],
    typer.Argument(
        help="CSV (separated by comma, semicolon or tab), JSON lines, or either packed by gzip, or Parquet, a row an "
        "example; patterns, or folders of such files. Several become a dim 'file'.",
        callback=_existing,
    ),
]
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


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"bayesperf {version('bayesperf')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version, and stop.")
]


@app.callback()
def _options(shown: Version = False) -> None:
    pass


@app.command()
def summary(
    files: Files,
    parts: Parts = False,
    actual: Actual = "actual",
    predicted: Predicted = None,
    score: Score = None,
    threshold: Threshold = None,
    split: Split = None,
    by: By = None,
    labels: Labels = None,
    pos_label: PosLabel = None,
    drop_missing: DropMissing = False,
    prior: Prior = None,
    ci_prob: CiProb = 0.95,
    metrics: Metrics = None,
    require: Require = None,
    top: Top = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print each metric's posterior mean and highest-density interval; of scores, areas under curves."""
    settings = _settings(
        files, by, parts, actual=actual, predicted=predicted, score=score, threshold=threshold, split=split, labels=labels,
        pos_label=pos_label, drop_missing=drop_missing, prior=prior, ci_prob=ci_prob, metrics=metrics, require=require, top=top, seed=seed,
    )  # fmt: skip
    analysis = _analyse(files, settings)
    from rich.console import Console

    from bayesperf.reports.json_output import report_as_json
    from bayesperf.reports.terminal import print_tables

    if json:
        print(report_as_json(analysis))
    else:
        print_tables(analysis, Console())


@app.command()
def compare(
    files: Files,
    parts: Parts = False,
    actual: Actual = "actual",
    predicted: Predicted = None,
    score: Score = None,
    threshold: Threshold = None,
    by: By = None,
    id_: Id = None,
    rope: Rope = 0.0,
    labels: Labels = None,
    pos_label: PosLabel = None,
    drop_missing: DropMissing = False,
    prior: Prior = None,
    ci_prob: CiProb = 0.95,
    metric: Metric = None,
    top: Top = None,
    all_: All = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print which system is better, and by how much: those of the first --by column, pair by pair."""
    from rich.console import Console

    from bayesperf.reports.analysis import check_systems
    from bayesperf.reports.json_output import comparison_as_json
    from bayesperf.reports.many_systems import refuse_many
    from bayesperf.reports.terminal import print_comparison

    if score and threshold is None:
        raise ValueError("--score: say from which score on a system calls an example positive, as --threshold 0.5.")
    settings = _settings(
        files, by, parts, paired=True, actual=actual, predicted=predicted, score=score, threshold=threshold, id=id_,
        rope=rope, labels=labels, pos_label=pos_label, drop_missing=drop_missing, prior=prior, ci_prob=ci_prob,
        metrics=metric, top=top, all=all_, seed=seed,
    )  # fmt: skip
    analysis = _analyse(files, settings)
    check_systems(analysis.counts, settings)
    refuse_many(analysis.counts, settings)
    if json:
        print(comparison_as_json(analysis))
    else:
        print_comparison(analysis, Console())


@app.command()
def report(
    files: Files,
    output: Output = Path("report.html"),
    title: Title = None,
    parts: Parts = False,
    actual: Actual = "actual",
    predicted: Predicted = None,
    score: Score = None,
    threshold: Threshold = None,
    split: Split = None,
    by: By = None,
    labels: Labels = None,
    pos_label: PosLabel = None,
    drop_missing: DropMissing = False,
    prior: Prior = None,
    ci_prob: CiProb = 0.95,
    metrics: Metrics = None,
    require: Require = None,
    id_: Id = None,
    rope: Rope = 0.0,
    top: Top = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write a self-contained HTML page with densities, intervals, comparisons and folds."""
    from bayesperf.reports.html import render
    from bayesperf.reports.json_output import report_as_json
    from bayesperf.reports.many_systems import refuse_many
    from bayesperf.reports.writing import refuse_input, refuse_unwritable, write_whole

    refuse_input(output, files)
    refuse_unwritable(output)
    settings = _settings(
        files, by, parts, paired=True, title=title, actual=actual, predicted=predicted, score=score, threshold=threshold, split=split, labels=labels,
        pos_label=pos_label, drop_missing=drop_missing, prior=prior, ci_prob=ci_prob, metrics=metrics, require=require, id=id_, rope=rope, top=top, seed=seed,
    )  # fmt: skip
    analysis = _analyse(files, settings)
    refuse_many(analysis.counts, settings)
    write_whole(output, render(analysis, shlex.join(["bayesperf", *sys.argv[1:]])))
    print(report_as_json(analysis, with_comparison=True) if json else f"The report is in {output}")


app.command()(plan)


@app.command("compile")
def compile_(models: Models = None) -> None:
    """Compile models once on this machine, so that their first fit takes seconds."""
    from bayesperf.models import names

    for model in models or ():
        if model not in names():
            raise ValueError(f"there is no model {model}; the models are {', '.join(names())}.")
    from bayesperf.sampling.nuts import announced
    from bayesperf.sampling.precompile import folder, precompile

    for model in models or names():
        start = time.monotonic()
        with announced(f"Compiling {model}", sys.stderr.isatty()):
            precompile(model)
        print(f"{model}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"What was compiled is in {folder()}")


@app.command()
def demo(output: Output = Path("bayesperf-demo.html")) -> None:
    """Show what it does, on shipped predictions of three classifiers of breast cancer."""
    from rich.console import Console

    from bayesperf import datasets
    from bayesperf.reports.analysis import analyse
    from bayesperf.reports.html import render
    from bayesperf.reports.settings import Settings
    from bayesperf.reports.terminal import print_comparison, print_tables
    from bayesperf.reports.writing import refuse_unwritable, write_whole

    refuse_unwritable(output)
    settings = Settings(
        by=("model",), pos_label="malignant", require=("recall>=0.9", "precision>=0.9"), id="example", rope=0.01
    )
    predictions, console = datasets.load("breast_cancer"), Console()
    print_tables(analyse(predictions, settings), console)
    console.print()
    print_comparison(analyse(predictions, replace(settings, metrics=("f1",), require=())), console)
    folds = analyse(predictions, replace(settings, by=("model", "fold"), score="score"))
    write_whole(output, render(folds, "bayesperf demo"))
    print(f"The report, with densities and folds, is in {output.resolve()}")


def _settings(
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
    paired: bool = False,
    require: list[str] | None = None,
    rope: float = 0.0,
    **others: Any,
) -> Settings:
    """Return the options as settings; with a column for each system, rows say what is the same example if `paired`."""
    from bayesperf.core.checks import probability
    from bayesperf.reports.settings import FILE, Settings
    from bayesperf.reports.wide import named_systems

    if not 0 <= rope < float("inf"):
        raise ValueError(f"--rope must be at least 0; it is {rope:g}.")
    if parts and len(files) > 1 and FILE in (by or ()):
        raise ValueError(f"--parts: parts of one data set are not told apart. Leave out --by {FILE}.")
    apart = len(files) > 1 and not parts and FILE not in (by or ())
    settings = Settings(
        by=(*(by or ()), *([FILE] if apart else [])),
        ci_prob=probability("--ci-prob", ci_prob),
        metrics=_entries(metrics),
        require=tuple(require or ()),
        rope=rope,
        threshold=threshold,
        labels=_entries(labels),
        **others,
    )
    return named_systems(settings, tuple(predicted or ()), tuple(score or ()), paired)


def _entries(options: list[str] | None) -> tuple[str, ...]:
    """Return what an option names, repeated or separated by commas; a field in quotes can hold them."""
    return tuple(name.strip() for option in options or () for name in next(csv.reader([option], skipinitialspace=True)))


def _analyse(files: list[Path], settings: Settings) -> Analysis:
    """Read files and analyse them; say first if there is much to print."""
    from bayesperf.reports.analysis import analyse
    from bayesperf.reports.files import read
    from bayesperf.reports.many_systems import announcement

    with _shown_while("Reading"):
        predictions = read(files, settings)
    analysis = analyse(predictions.frame, settings, *predictions[1:])
    for text in analysis.warnings:
        _say(f"warning: {text}")
    if much := announcement(analysis.counts, settings):
        _say(much)
        with _shown_while("Summarising"):
            _ = analysis.summary
    return analysis


def _shown_while(work: str) -> AbstractContextManager[Any]:
    """Show what is being done for as long as it takes, on a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(work)


# What errors advise in Python, and how it is typed in a shell.
_SHELL_WORDS = {
    r"pos_label=('[^']*'|\S+?)([.,;]|$)": r"--pos-label \1\2",
    r"labels=\[\.\.\.\]": "--labels a,b",
    r"add them to labels\b": "add them to --labels",
    r"^labels: ": "--labels: ",
    r"^prior must": "--prior must",
    r"For scores, use ConfusionMatrix\.from_scores": "If they are scores, name them by --score, and a --threshold",
    r"by\['([^']*)'\]": r"--by \1",
    r"^dims: ": "--by: ",
}


def in_shell_words(text: str) -> str:
    """Return an error with the options to type in place of arguments of Python."""
    for pattern, words in _SHELL_WORDS.items():
        text = re.sub(pattern, words, text)
    return text


def _say(text: str) -> None:
    """Print a line to standard error, in which nothing that a user wrote steers the terminal."""
    from bayesperf.core.words import printable

    print(f"bayesperf: {printable(' '.join(text.split()))}", file=sys.stderr)


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Print each warning once, as a line."""
    from bayesperf.core.warnings import LabelWarning

    said = set()

    def say(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := str(message)) not in said:
            said.add(text)
            _say(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", LabelWarning)
        warnings.showwarning = say
        yield


def main() -> None:
    """Run the command line; bad input ends with code 2 and one line."""
    try:
        with _warnings_said():
            app()
    except MemoryError as error:
        _say(f"memory is not enough. {error}")
        sys.exit(2)
    except (ValueError, TypeError, OSError, ImportError) as error:
        _say(in_shell_words(str(error)))
        sys.exit(2)


if __name__ == "__main__":
    main()
