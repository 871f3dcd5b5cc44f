"""The command line: ``bayesperf demo``, ``summary``, ``compare`` and ``report`` of files, ``plan`` and ``compile``."""

from __future__ import annotations

import os
import shlex
import sys
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from bayesperf.cli.checking import check
from bayesperf.cli.options import (
    Actual,
    All,
    By,
    CiProb,
    Cluster,
    Command,
    DropMissing,
    File,
    Files,
    Id,
    Json,
    Judge,
    Labels,
    Metric,
    Metrics,
    Models,
    Output,
    Parts,
    PosLabel,
    Predicted,
    Prior,
    Require,
    Rope,
    Score,
    Seed,
    Slice,
    Split,
    Threshold,
    Title,
    Top,
    VerifiedOnly,
    settings_of,
)
from bayesperf.cli.planning import plan
from bayesperf.cli.running_commands import (
    OPTIONS,
    analysed,
    answer,
    prepare_streams,
    refuse_input,
    refuse_unwritable,
    say,
    say_warnings,
    warnings_said,
)
from bayesperf.core.errors import InputError

# May stand anywhere on the line: it is asked for when a command has failed.
_DEBUG = "--debug"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Posterior distributions of the performance metrics of classifiers.",
)


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"bayesperf {version('bayesperf')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version, and stop.")
]


Debug = Annotated[bool, typer.Option(_DEBUG, help="Print the traceback of a fault of bayesperf's own.")]


@app.callback()
def _options(shown: Version = False, debug: Debug = False) -> None:
    pass


@app.command(cls=Command)
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
    judge: Judge = None,
    verified_only: VerifiedOnly = False,
    cluster: Cluster = None,
    slice_: Slice = None,
    prior: Prior = None,
    ci_prob: CiProb = 0.95,
    metrics: Metrics = None,
    require: Require = None,
    top: Top = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print each metric's posterior mean and highest-density interval; of scores, areas under curves."""
    settings = settings_of(
        files, by, parts, actual=actual, predicted=predicted, score=score, threshold=threshold, split=split,
        labels=labels, pos_label=pos_label, drop_missing=drop_missing, judge=judge, verified_only=verified_only,
        cluster=cluster, slices=slice_, prior=prior, ci_prob=ci_prob, metrics=metrics, require=require, top=top,
        seed=seed,
    )  # fmt: skip
    analysis = analysed(files, settings)
    say_warnings(analysis)
    answer(analysis, "summary", json)


@app.command(cls=Command)
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
    judge: Judge = None,
    verified_only: VerifiedOnly = False,
    cluster: Cluster = None,
    prior: Prior = None,
    ci_prob: CiProb = 0.95,
    metric: Metric = None,
    top: Top = None,
    all_: All = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print which system is better, and by how much: those of the first --by column, pair by pair."""
    from bayesperf.reports.analysis import check_systems

    if score and threshold is None:
        raise InputError("--score", "say from which score on a system calls an example positive, as --threshold 0.5.")
    settings = settings_of(
        files, by, parts, actual=actual, predicted=predicted, score=score, threshold=threshold,
        id=id_, rope=rope, labels=labels, pos_label=pos_label, drop_missing=drop_missing, judge=judge,
        verified_only=verified_only, cluster=cluster, prior=prior, ci_prob=ci_prob, metrics=metric, top=top,
        all=all_, seed=seed,
    )  # fmt: skip
    analysis = analysed(files, settings, compared=True)
    check_systems(analysis.counts, settings)
    say_warnings(analysis)
    answer(analysis, "compare", json)


@app.command(cls=Command)
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
    judge: Judge = None,
    verified_only: VerifiedOnly = False,
    cluster: Cluster = None,
    slice_: Slice = None,
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
    """Write a self-contained HTML page with densities, intervals, comparisons and folds; of -o NAME.md, Markdown."""
    from bayesperf.core.saving import write_whole
    from bayesperf.reports.documents import as_html, as_json, as_markdown

    refuse_input(output, files)
    refuse_unwritable(output)
    settings = settings_of(
        files, by, parts, actual=actual, predicted=predicted, score=score,
        threshold=threshold, split=split, labels=labels, pos_label=pos_label, drop_missing=drop_missing,
        judge=judge, verified_only=verified_only, cluster=cluster, slices=slice_, prior=prior, ci_prob=ci_prob,
        metrics=metrics, require=require, id=id_, rope=rope, top=top, seed=seed,
    )  # fmt: skip
    analysis = analysed(files, settings, compared=True)
    say_warnings(analysis)
    analysis = replace(analysis, command=shlex.join(["bayesperf", *sys.argv[1:]]))
    written = as_markdown if output.suffix == ".md" else as_html
    write_whole(output, written(analysis, title, [*map(str, files)]))
    print(as_json(analysis, "report") if json else f"The report is in {output}")


app.command(cls=Command)(plan)
app.command(cls=Command)(check)


@app.command("compile", cls=Command)
def compile_(models: Models = None) -> None:
    """Compile models once on this machine, so that their first fit takes seconds."""
    from bayesperf.models import names

    for model in models or ():
        if model not in names():
            raise InputError("models", f"there is no model {model}; they are {', '.join(names())}.")
    from bayesperf.sampling.nuts import announced
    from bayesperf.sampling.precompiling import folder, precompile

    for model in models or names():
        start = time.monotonic()
        with announced(f"Compiling {model}", sys.stderr.isatty()):
            precompile(model)
        print(f"{model}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"What was compiled is in {folder()}")


@app.command(cls=Command)
def look(file: File) -> None:
    """Print what a file holds, what each column probably is, and what to type next. FILE alone does the same."""
    from bayesperf.cli.first_look import print_look

    print_look(file)


@app.command(cls=Command)
def demo(output: Output = Path("bayesperf-demo.html")) -> None:
    """Show what it does, on shipped predictions of three classifiers of breast cancer."""
    from rich.console import Console

    from bayesperf import datasets
    from bayesperf.core.saving import write_whole
    from bayesperf.files.settings import Settings
    from bayesperf.reports.analysis import analyse
    from bayesperf.reports.documents import as_html, print_answer

    refuse_unwritable(output)
    settings = Settings(
        by=("model",), pos_label="malignant", require=("recall>=0.9", "precision>=0.9"), id="example", rope=0.01
    )
    predictions, console = datasets.load("breast_cancer"), Console()
    print_answer(analyse(predictions, settings), "summary", console)
    console.print()
    print_answer(analyse(predictions, replace(settings, metrics=("f1",), require=())), "compare", console)
    folds = analyse(predictions, replace(settings, by=("model", "fold"), score="score"))
    write_whole(output, as_html(replace(folds, command="bayesperf demo"), "Three classifiers of breast cancer"))
    print(f"The report, with densities and folds, is in {output.resolve()}")


def _with_command(arguments: list[str]) -> list[str]:
    """Return the arguments; a file alone, without a command, is looked at."""
    commands = {str(info.name or info.callback.__name__) for info in app.registered_commands if info.callback}
    first = arguments[0] if arguments else ""
    # A misspelt command has no suffix; a misspelt file has.
    is_file = (
        first not in commands and not first.startswith("-") and (os.path.exists(first) or bool(Path(first).suffix))
    )
    return ["look", *arguments] if is_file else arguments


def main() -> None:
    """Run the command line.

    Bad input ends with code 2 and one line; a fault of bayesperf's own with code 70 and one line, or its traceback;
    Ctrl-C with 130.
    """
    arguments = sys.argv[1:]
    prepare_streams()
    try:
        with warnings_said():
            app(_with_command([argument for argument in arguments if argument != _DEBUG]))
    except MemoryError as error:
        say(f"memory is not enough. {error}")
        sys.exit(2)
    except InputError as error:
        say(error.phrased(OPTIONS))
        sys.exit(2)
    except OSError as error:
        say(str(error))
        sys.exit(2)
    except Exception as error:
        if _DEBUG in arguments:
            raise
        say(
            f"this is a fault of bayesperf, not of your data: {type(error).__name__}: {error}. Please report it to its "
            f"maintainers, with the traceback that {_DEBUG} prints."
        )
        sys.exit(70)


if __name__ == "__main__":
    main()
