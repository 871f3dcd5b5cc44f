"""The command line: ``bayesperf demo``, ``bayesperf summary FILE``, ``bayesperf report FILE -o report.html``."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from bayesperf.report.analysis import Settings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Posterior distributions of the performance metrics of classifiers.",
)

Files = Annotated[list[Path], typer.Argument(help="CSV or Parquet, a row an example; several become a dim 'file'.")]
Actual = Annotated[str, typer.Option(help="Column of actual labels.")]
Predicted = Annotated[str, typer.Option(help="Column of predicted labels.")]
Score = Annotated[str | None, typer.Option(help="Column of scores, greater for the positive class.")]
By = Annotated[list[str] | None, typer.Option(help="Column to tell systems apart; 'fold' is also pooled. Repeatable.")]
PosLabel = Annotated[str | None, typer.Option(help="The positive class of a binary problem.")]
Prior = Annotated[str | None, typer.Option(help="flat, jeffreys, perks or haldane. [flat for two classes, else perks]")]
CiProb = Annotated[float, typer.Option(help="Probability of the intervals.")]
Metrics = Annotated[list[str] | None, typer.Option(help="Metrics, comma-separated or repeated. [the usual ones]")]
Require = Annotated[list[str] | None, typer.Option(help="A requirement, as 'recall>=0.8'. Repeatable.")]
Seed = Annotated[int, typer.Option(help="Seed of Monte Carlo figures.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")]


@app.command()
def summary(
    files: Files,
    actual: Actual = "actual",
    predicted: Predicted = "predicted",
    by: By = None,
    pos_label: PosLabel = None,
    prior: Prior = None,
    ci_prob: CiProb = 0.95,
    metrics: Metrics = None,
    require: Require = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print each metric's posterior mean and highest-density interval."""
    from bayesperf.report.analysis import analyse, read
    from bayesperf.report.terminal import as_json, print_tables

    settings = _settings(files, actual, predicted, by, pos_label, prior, ci_prob, metrics, require, seed)
    analysis = analyse(read(files), settings)
    if json:
        print(as_json(analysis))
    else:
        print_tables(analysis, Console())


@app.command()
def report(
    files: Files,
    output: Output = Path("report.html"),
    actual: Actual = "actual",
    predicted: Predicted = "predicted",
    score: Score = None,
    by: By = None,
    pos_label: PosLabel = None,
    prior: Prior = None,
    ci_prob: CiProb = 0.95,
    metrics: Metrics = None,
    require: Require = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write a self-contained HTML page with densities, intervals and folds."""
    from bayesperf.report.analysis import analyse, read
    from bayesperf.report.html import render
    from bayesperf.report.terminal import as_json

    settings = _settings(files, actual, predicted, by, pos_label, prior, ci_prob, metrics, require, seed)
    analysis = analyse(read(files), replace(settings, score=score))
    output.write_text(render(analysis, shlex.join(["bayesperf", *sys.argv[1:]])), encoding="utf-8")
    print(as_json(analysis) if json else f"The report is in {output}")


@app.command()
def demo(output: Output = Path("bayesperf-demo.html")) -> None:
    """Show what it does, on shipped predictions of three classifiers of breast cancer."""
    from bayesperf import datasets
    from bayesperf.report.analysis import Settings, analyse
    from bayesperf.report.html import render
    from bayesperf.report.terminal import print_tables

    settings = Settings(by=("model",), pos_label="malignant", require=("recall>=0.9", "precision>=0.9"))
    predictions = datasets.load("breast_cancer")
    print_tables(analyse(predictions, settings), Console())
    folds = analyse(predictions, replace(settings, by=("model", "fold"), score="score"))
    output.write_text(render(folds, "bayesperf demo"), encoding="utf-8")
    print(f"The report, with densities and folds, is in {output.resolve()}")


def _settings(
    files: list[Path],
    actual: str,
    predicted: str,
    by: list[str] | None,
    pos_label: str | None,
    prior: str | None,
    ci_prob: float,
    metrics: list[str] | None,
    require: list[str] | None,
    seed: int,
) -> Settings:
    from bayesperf._checks import probability
    from bayesperf.report.analysis import FILE, Settings

    names = tuple(name.strip() for entry in metrics or () for name in entry.split(","))
    return Settings(
        actual=actual,
        predicted=predicted,
        by=(*(by or ()), *([FILE] if len(files) > 1 and FILE not in (by or ()) else [])),
        pos_label=pos_label,
        prior=prior,
        ci_prob=probability("--ci-prob", ci_prob),
        metrics=names,
        require=tuple(require or ()),
        seed=seed,
    )


def main() -> None:
    """Run the command line; bad input ends with code 2 and one line."""
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"bayesperf: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
