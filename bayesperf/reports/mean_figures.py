"""Means of numbers from a file: of credit, and of the errors of predicted numbers, of systems and of their differences.

They have no classes to count, so that they are no `Analysis`: their figure is `bayesperf.curves.weighted_score`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.comparison.comparing import compare
from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, printable, sentence, short_interval_name
from bayesperf.curves.areas.weighted_scores import weighted_score
from bayesperf.curves.scored_systems import draws_along, marginal_of_scores
from bayesperf.files.option_table import ROW, Settings
from bayesperf.files.reading import Predictions
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.summary_table import caption
from bayesperf.reports.blocks import Block, Note, Sentence, figures, rows_table
from bayesperf.reports.comparison_tables import INDEPENDENT, PAIRING_ADVICE, MetricComparison, named_baseline
from bayesperf.reports.drawing import names_of
from bayesperf.reports.sections.which_is_better import difference_table

_DRAWS = 10_000
_CREDIT = "mean credit"


@dataclass(frozen=True)
class MeanFigures:
    """The mean credit, or error, of the systems of a file."""

    # The mean of each system, by joint draws.
    marginal: Marginal
    settings: Settings
    # What was read, in words.
    read: str
    # Sentences on probable mistakes in the data.
    warnings: tuple[str, ...]

    def blocks(self, command: str) -> list[Block]:
        """Return what was read, and the answer of a command in words and in a table."""
        summary = self.marginal.summary(self.settings.ci_prob)
        interval = short_interval_name(self.settings.ci_prob, "hdi")
        columns = [*names_of(self.marginal.dims), *figures(interval, observed="observed", mean="mean")]
        records = summary.to_dict("records")
        compared = self._compared(command)
        table = rows_table(self.marginal.quantity.words, columns, records, name=("summary",))
        own: list[Block] = [] if command == "compare" else [self._estimate(), table]
        return [
            Note(self.read, "read"),
            *compared,
            *own,
            Note(caption(summary.attrs | ({} if self.settings.bounds else {"note": _NO_BOUNDS}))),
        ]

    def _estimate(self) -> Sentence:
        return Sentence(sentence(estimate_in_words(self.marginal, self.settings.ci_prob, "hdi")), name=("in_words",))

    def _compared(self, command: str) -> list[Block]:
        """Return how the systems differ, in words, and for the command compare in a table."""
        settings, dims = self.settings, self.marginal.dims
        if not dims or self.marginal.leading.size < 2:
            if command == "compare":
                raise InputError("--system", "there is one system.", "Name the column that tells systems apart.")
            return []
        baseline = named_baseline(settings.baseline, self.marginal.leading[dims[0]].values.tolist())
        comparison = compare(self.marginal, dim=str(dims[0]), rope=settings.rope, baseline=baseline)
        found = MetricComparison(comparison, {})
        said = Sentence(found.in_words(settings.ci_prob), name=("comparison_in_words",))
        if command == "summary":
            return [said]
        pairing = (
            [Sentence(_paired(settings))] if settings.id else [Sentence(INDEPENDENT), Note(PAIRING_ADVICE, "advice")]
        )
        records = comparison.summary(settings.ci_prob).to_dict("records")
        return [
            *pairing,
            said,
            difference_table(comparison, records, comparison.title, "", settings.ci_prob, name=("differences",)),
        ]


_NO_BOUNDS = "Without --bounds, numbers that did not occur count as impossible, so that intervals may be too narrow."


def _paired(settings: Settings) -> str:
    by = "every row" if settings.id == ROW else f"every {settings.id!r}"
    return f"Paired: {by} is an example, on which the systems are compared."


def mean_figures(predictions: Predictions, settings: Settings) -> MeanFigures:
    """Return the mean credit, or error, of each system of a file.

    Raises
    ------
    ValueError
        If a column holds no numbers, or systems are not told apart by one column.
    """
    frame = predictions.each
    if len(settings.by) > 1:
        raise InputError(
            "--by", f"of credit and errors one column tells systems apart, not {enumerated(list(settings.by))}."
        )
    for name in dict.fromkeys((settings.actual, settings.predicted)):
        _check_numbers(frame[name], name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        marginal = _over_systems(frame, settings) if settings.by else _of_one(frame, settings)
    said = [predictions.repeats, *predictions.warnings, *(str(each.message) for each in caught)]
    return MeanFigures(
        marginal, settings, _read(frame, predictions, settings), tuple(filter(None, dict.fromkeys(said)))
    )


def _check_numbers(column: pd.Series[Any], name: str) -> None:
    if missing := int(column.isna().sum()):
        raise InputError(
            "column", f"{name!r} has {missing:,} missing values.", "Leave such rows out by --drop-missing."
        )
    if not pd.api.types.is_numeric_dtype(column):
        other = pd.to_numeric(column, errors="coerce").isna()
        raise InputError("column", f"{name!r} must hold numbers; it holds {column[other].iloc[0]!r}.")


def _read(frame: pd.DataFrame, predictions: Predictions, settings: Settings) -> str:
    """Return what was read, in words."""
    n = frame[settings.id].nunique() if settings.id else len(frame)
    systems = frame[settings.by[0]].nunique() if settings.by else 1
    of = f", {systems:,} systems" if systems > 1 else ""
    return " ".join([f"{n:,} {'examples' if settings.id else 'rows'}{of}.", *map(printable, predictions.notes)])


# ── Figures ──


def _options(settings: Settings) -> dict[str, Any]:
    bounds = None
    if settings.bounds:
        try:
            low, high = map(float, settings.bounds)
        except ValueError:
            raise InputError(
                "--bounds", f"must be two numbers, such as 0,1; it is {','.join(settings.bounds)}."
            ) from None
        bounds = low, high
    return {"bounds": bounds, "draws": _DRAWS, "progressbar": False}


def _scored(settings: Settings, actual: Any, predicted: Any, cluster: Any) -> Marginal:
    """Return the mean of numbers, or of the errors of predicted ones."""
    options = {"cluster": cluster, "random_seed": settings.seed} | _options(settings)
    if settings.error is not None:
        return weighted_score(settings.error, actual, predicted, **options)
    try:
        found = weighted_score("mean", predicted, **options)
    except InputError as error:
        # The credit is what Python calls y_true.
        named = error.argument.startswith("y_true")
        raise InputError("--credit" if named else error.argument, error.problem, error.advice) from None
    return replace(found, quantity=replace(found.quantity, word=_CREDIT, words=_CREDIT))


def _of_one(frame: pd.DataFrame, settings: Settings) -> Marginal:
    cluster = None if settings.cluster is None else frame[settings.cluster].to_numpy()
    actual, predicted = (frame[name].to_numpy(float) for name in (settings.actual, settings.predicted))
    return _scored(settings, actual, predicted, cluster)


def _over_systems(frame: pd.DataFrame, settings: Settings) -> Marginal:
    """Return the mean of each system: on the same examples by the same weights, else by weights of its own."""
    dim = settings.by[0]
    names = frame[dim].drop_duplicates().tolist()
    if isinstance(frame[dim].dtype, pd.CategoricalDtype):
        names = [name for name in frame[dim].cat.categories if name in set(names)]
    each = (
        _paired_parts(frame, names, settings)
        if settings.id
        else [_of_one(frame[frame[dim] == name], settings) for name in names]
    )
    drawn = np.stack([draws_along(part)[0] for part in each])
    if not settings.id:
        # Systems with the same number of examples would share weights that belong to other examples.
        drawn = np.random.default_rng(settings.seed).permuted(drawn, axis=1)
    leading = xr.DataArray(np.zeros(len(names)), {dim: names}, [dim])
    observed = leading.copy(data=[part.observed.item() for part in each]).rename(each[0].name)
    return marginal_of_scores(
        each[0].quantity, drawn, settings.seed, leading, inference=each[0].inference, score=observed, joint=True
    )


def _paired_parts(frame: pd.DataFrame, names: list[Any], settings: Settings) -> list[Marginal]:
    """Return the mean of each system by weights of the examples that all share."""
    dim, example = settings.by[0], str(settings.id)
    if frame.duplicated([example, dim]).any():
        raise InputError(f"--id {example}", "a system has an example twice.", "A row must be one example of a system.")
    table = frame.pivot(index=example, columns=dim, values=settings.predicted)[names]
    if table.isna().to_numpy().any():
        raise InputError(f"--id {example}", "systems must be tested on the same examples, and some are missing.")
    facts = frame.drop_duplicates(example).set_index(example).loc[table.index]
    cluster = None if settings.cluster is None else facts[settings.cluster].to_numpy()
    columns = {place: table[name].to_numpy(float) for place, name in enumerate(names)}
    found = _scored(settings, facts[settings.actual].to_numpy(float), columns, cluster)
    return [found.isel(model=place) for place in range(len(names))]
