"""From files of predictions to the analysis that a report shows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesperf import groups, metrics
from bayesperf.core.errors import InputError, LabelWarning
from bayesperf.core.words import listed
from bayesperf.data.axis_names import FOLD, LABEL
from bayesperf.data.count_arrays import SAME_EXAMPLES, as_outcomes, marked
from bayesperf.data.counted import Counted
from bayesperf.data.cross_tabulation import cross_tabulate, encode_predictions
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.data.response_patterns import of_examples
from bayesperf.data.totals import tabulate
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import Predictions
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.requirement import Requirement
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.class_columns import label_of, named_labels, with_classes
from bayesperf.reports.designs import (
    APART,
    about_clusters,
    about_gaps,
    about_questions,
    about_verified,
    clustered_counts,
    judged_sample,
    judged_together,
    verified_rows,
    with_systems_as_model,
)
from bayesperf.reports.many_systems import best_systems, refuse_many
from bayesperf.reports.sliced import refuse_unsliceable


def analyse(predictions: Predictions, settings: Settings) -> Analysis:
    """Count predictions and compute the posteriors that a report shows.

    Raises
    ------
    ValueError
        If a column is missing or has missing values, or a label or metric is unknown.
    """
    requirements = _requirements(settings)
    if not settings.of_outcomes:
        predictions, settings = with_classes(predictions, settings)
    predictions = _with_labels(predictions, settings)
    refuse_missing(predictions, settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # What there is to say of labels was said when their columns were read.
        warnings.simplefilter("ignore", LabelWarning)
        analysis = _analysis(predictions, settings)
    texts = predictions.repeats, *predictions.warnings, *dict.fromkeys(str(each.message) for each in caught)
    return replace(
        analysis,
        requirements=requirements,
        repeats=predictions.repeats,
        notes=(*analysis.notes, *predictions.notes),
        warnings=(*filter(None, texts), *analysis.warnings),
    )


def _with_labels(predictions: Predictions, settings: Settings) -> Predictions:
    """Return predictions whose labels are there: by a threshold, or verified."""
    if settings.calls:
        from bayesperf.reports.split_column import with_calls

        predictions = with_calls(predictions, settings)
    if settings.verified_only:
        predictions = verified_rows(predictions, settings)
    return predictions


def _analysis(predictions: Predictions, settings: Settings) -> Analysis:
    """Return the analysis of predictions, without the requirements and the remarks of the file."""
    if settings.of_outcomes:
        return _outcomes_analysis(predictions, settings)
    if settings.judge is not None:
        return _judged_analysis(predictions, settings)
    if settings.cluster is not None:
        return _clustered_analysis(predictions, settings)
    return _counted_analysis(predictions, settings)


def _counted_analysis(test: Predictions, settings: Settings) -> Analysis:
    """Return the analysis of predicted labels of independent examples, and of their scores."""
    dev, scores, selection = None, None, ""
    if settings.split is not None:
        from bayesperf.reports.split_column import split_rows

        test, dev = split_rows(test, settings)
    counts = _count(test, settings)
    if settings.top is not None:
        counts, selection = best_systems(counts, settings)
        test, dev = (
            _selected_systems(test, counts, settings),
            None if dev is None else _selected_systems(dev, counts, settings),
        )
    pooled = counts.sum(FOLD) if FOLD in counts.dims else counts
    if settings.rope:
        check_systems(counts, settings)
    paired = _paired_counts(test.frame, pooled, settings)
    if settings.score is not None:
        from bayesperf.reports.split_column import scored_systems

        scores = scored_systems(test, dev, counts, settings)
    return Analysis.of_counts(
        counts,
        settings,
        scores=scores,
        paired=paired,
        selection=selection,
        warnings=() if scores is None else tuple(scores.warnings),
        averages=_averages(test.frame, pooled, settings) if paired is not None else (),
        sliced=_sliced_counts(test, counts, settings) if settings.slices else None,
    )


def _judged_analysis(predictions: Predictions, settings: Settings) -> Analysis:
    """Return the analysis of examples of which some are verified, and all have a judge's label."""
    from bayesperf.labels.verifying import verify

    predictions, settings = with_systems_as_model(predictions, settings)
    sample = judged_sample(predictions, settings, named_labels(predictions.frame, settings))
    pooled = verify(sample, **settings.of_posterior)
    notes = (about_verified(int(sample.verified.sum()), int(sample.counts.sum()), settings),)
    return Analysis(sample.verified_only(), settings, pooled, None, notes=notes, own_posterior=True)


def _clustered_analysis(predictions: Predictions, settings: Settings) -> Analysis:
    """Return the analysis of examples in clusters, by cluster weights."""
    counts = clustered_counts(predictions, settings, named_labels(predictions.frame, settings))
    if settings.pos_label is not None:
        counts = replace(counts, pos_label=label_of(counts.labels, settings.pos_label))
    return _weighted_analysis(groups.pool(counts, method="bayesian_bootstrap", **settings.of_posterior).mean, settings)


def _weighted_analysis(pooled: Posterior, settings: Settings) -> Analysis:
    """Return the analysis of a posterior by cluster weights."""
    source: Any = pooled.source
    notes = (about_questions(source) if settings.correct else about_clusters(source, settings.clusters[1:]),)
    return Analysis(source.summed, settings, pooled, None, notes=notes, own_posterior=True)


def _outcomes_analysis(predictions: Predictions, settings: Settings) -> Analysis:
    """Return the analysis of rows that are right or wrong, or graded."""
    if settings.correct is not None:
        _refuse_words(predictions.frame, (settings.correct, *settings.judges))
    if settings.judge is not None:
        return _judged_outcomes(predictions, settings)
    make, selection = Outcomes.from_correct if settings.correct else Outcomes.from_grades, ""
    if settings.top is not None:
        every = predictions.each
        best, selection = best_systems(make(every[settings.actual], by=_columns(every, settings.by)), settings)
        predictions = _selected_systems(predictions, best, settings)
    frame = predictions.each
    outcomes, by = frame[settings.actual], _columns(frame, settings.by)
    if settings.cluster is not None:
        clusters = _columns(frame, settings.clusters)
        clustered = groups.pool(make(outcomes, by=by, cluster=clusters), **settings.of_posterior).mean
        analysis = replace(_weighted_analysis(clustered, settings), voted=_voted(frame, settings, clustered.source))
    else:
        counts, paired = make(outcomes, by=by), None
        if settings.id is not None and settings.system is not None and counts.counts.sizes[settings.system] > 1:
            paired = make(outcomes, by=by, example=frame[settings.id])
        pooled = posterior(counts, **settings.of_posterior)
        analysis = Analysis(counts, settings, pooled, None, paired=paired, selection=selection)
    if not settings.slices:
        return analysis
    refuse_unsliceable({name: frame[name].nunique() for name in settings.slices}, "--slice ")
    return replace(analysis, sliced=make(outcomes, by=by | _columns(frame, settings.slices)))


def _refuse_words(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuse columns of right and wrong that hold words of which nobody knows which is right."""
    for option, name in zip(("--correct", *["--judge"] * len(names)), names, strict=False):
        words = sorted({value for value in frame[name].dropna().unique().tolist() if isinstance(value, str)})
        if words:
            raise InputError(
                f"{option} {name}",
                f"must say what is right by true and false, pass and fail, yes and no, or 1 and 0; it holds "
                f"{listed(words)}.",
                "Write it so in the file.",
            )


def _judged_outcomes(predictions: Predictions, settings: Settings) -> Analysis:
    """Return the analysis of outcomes by a judge, of which people verified some."""
    from bayesperf.labels.verifying import verify

    frame = predictions.each
    paired = None if settings.id is None else judged_together(frame, settings)
    by = _columns(frame, settings.by)
    judge = _columns(frame, settings.judges) if len(settings.judges) > 1 else frame[str(settings.judge)]
    cluster = _columns(frame, settings.clusters) or None
    pooled = verify(frame[settings.actual], judge=judge, by=by, cluster=cluster, **settings.of_posterior)
    known = pooled.source.known_counts() or Outcomes(as_outcomes(pooled.examples))  # type: ignore[arg-type]
    notes = (
        about_verified(int(known.total.sum()), len(frame), settings),
        *([APART] if settings.id is not None and paired is None else []),
    )
    return Analysis(known, settings, pooled, None, paired=paired, notes=notes, own_posterior=True)


def _columns(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    return {name: frame[name] for name in names}


def _voted(frame: pd.DataFrame, settings: Settings, source: Any) -> Marginal | None:
    """Return how probably the majority of the attempts at a question is right, if a column holds their answers.

    All answers to a question that pass are one answer.
    """
    if settings.answer is None:
        return None
    passed, answers = frame[settings.correct] == 1, frame[settings.answer].astype(str)
    question = frame[source.dim]
    both = pd.crosstab([question, answers], passed)
    if len(both.columns) > 1 and (contradicted := both.index[(both > 0).all(axis=1)]).size:
        asked, given = contradicted[0]
        raise InputError(
            "--answer", f"{given!r} to {source.dim} {asked!r} passes in one attempt, and fails in another.",
            f"Judge equal answers alike, or remove --answer {settings.answer}.",
        )  # fmt: skip
    codes = np.where(passed, 0, 1 + pd.factorize(answers)[0])
    return groups.majority_vote(
        codes, np.zeros_like(codes), source.fewest_attempts, cluster={source.dim: question},
        by={name: frame[name] for name in settings.by} or None, random_seed=settings.seed,
    )  # fmt: skip


def _count(predictions: Predictions, settings: Settings) -> ConfusionMatrix:
    """Return the counts of predictions, with the positive class that was named."""
    actual, predicted, by, frame = settings.actual, settings.predicted, settings.by, predictions.frame
    values = {name: frame[name] for name in (actual, predicted, *by)}
    labels = named_labels(frame, settings)
    if predictions.rows is None:
        counts = ConfusionMatrix.from_frame(frame, actual=actual, predicted=predicted, by=by, labels=labels)
    else:
        counts = ConfusionMatrix(tabulate(values, predictions.rows, actual, predicted, by, labels))
    if settings.actuals or settings.joined:
        counts = _label_by_label(counts)
    if settings.pos_label is None:
        return counts
    return ConfusionMatrix(counts.counts, label_of(counts.labels, settings.pos_label))


def _requirements(settings: Settings) -> tuple[Requirement, ...]:
    """Return the requirements; refuse metrics of missing scores or labels, and slices with scores only."""
    requirements = tuple(Requirement.parse(text, settings.of_outcomes) for text in settings.require)
    asked = [("--require", each.metric) for each in requirements] + [("--metric", name) for name in settings.metrics]
    for option, name in asked:
        is_of_scores = metrics.get(name).needs == "scores"
        if is_of_scores and settings.score is None:
            raise InputError(f"{option} {name}", "it is a metric of scores.", "Name their column, as --score score.")
        if settings.scores_alone and not is_of_scores:
            raise InputError(
                f"{option} {name}",
                "it is a metric of predicted labels, and there are scores alone.",
                "Name the labels, by --predicted, or the --threshold that makes them.",
            )
        if is_of_scores and settings.top is not None:
            raise InputError("--top", f"systems cannot be ordered by {name} before they are read.", "Remove --top.")
    if settings.scores_alone and (settings.slices or settings.top is not None):
        option = "--slice" if settings.slices else "--top"
        raise InputError(option, "it needs predicted labels, and there are scores alone.", "Add --threshold.")
    return requirements


def _label_by_label(counts: ConfusionMatrix) -> ConfusionMatrix:
    """Return the counts of several labels per row; each label is present or not."""
    if len(counts.labels) > 2:
        raise InputError(
            "--actual", f"each is a label that a row has or not; they hold {listed(counts.labels)}.", "Write 1 and 0."
        )
    return ConfusionMatrix(marked(counts.counts, SAME_EXAMPLES, LABEL))


def _sliced_counts(predictions: Predictions, counts: ConfusionMatrix, settings: Settings) -> ConfusionMatrix:
    """Return the counts also by the columns of slices, with the classes of the whole, folds pooled."""
    frame, by = predictions.frame, [name for name in settings.by if name != FOLD] + list(settings.slices)
    refuse_unsliceable({name: frame[name].nunique() for name in settings.slices}, "--slice ")
    values = {name: frame[name] for name in (settings.actual, settings.predicted, *by)}
    tables = tabulate(values, predictions.sizes, settings.actual, settings.predicted, by, counts.labels)
    return ConfusionMatrix(tables, counts.pos_label)


def refuse_missing(predictions: Predictions, settings: Settings) -> None:
    """Refuse missing labels, names of systems and ids, in the words of the shell."""
    frame, rows = predictions.frame, predictions.sizes
    for name in (settings.actual, settings.predicted, *settings.by, *settings.slices, settings.id,
                 *settings.judges, settings.cluster, settings.answer):  # fmt: skip
        if name not in frame or (name == settings.actual and settings.judge is not None):
            continue
        if missing := int(rows[frame[name].isna().to_numpy()].sum()):
            what = "such rows, and their examples in all systems," if settings.id else "such rows"
            raise InputError(
                "column",
                f"{name!r} has {missing:,} missing value{'s' * (missing > 1)} in {int(rows.sum()):,} rows.",
                f"Leave {what} out by --drop-missing, or give them a name of their own.{about_gaps(name, settings)}",
            )


def _averages(frame: pd.DataFrame, pooled: ConfusionMatrix, settings: Settings) -> tuple[Marginal, ...]:
    """Return metrics averaged over the labels of rows that have several, of systems on the same rows; by default F1."""
    if not (settings.actuals or settings.joined) or [*settings.by] != [settings.system, LABEL]:
        return ()
    asked = [metrics.get(name) for name in settings.metrics] or [metrics.get("f1")]
    wide = frame.pivot(index=settings.id, columns=[str(settings.system), LABEL])
    actual, called = (wide[name] == pooled.pos_label for name in (settings.actual, settings.predicted))
    systems = pooled.counts[settings.system].values.tolist()
    predicted = {system: called[system].to_numpy(int) for system in systems}
    truth = actual[systems[0]].to_numpy(int)
    found = [
        groups.average_labels(truth, predicted, metric, settings.prior, random_seed=settings.seed)
        for metric in asked
        if metric.average is None
    ]
    return tuple(replace(each, leading=each.leading.rename(model=settings.system)) for each in found)


def _selected_systems(predictions: Predictions, counts: Counted, settings: Settings) -> Predictions:
    """Return the rows of the systems that were counted."""
    name = str(settings.system)
    names = counts.counts[name].values.tolist()
    kept = predictions.where(predictions.frame[name].isin(names).to_numpy(bool))
    column = pd.Categorical(kept.frame[name].astype(object), names)
    return replace(kept, frame=kept.frame.assign(**{name: column}))


def check_systems(counts: Counted, settings: Settings) -> None:
    """Refuse predictions that do not hold two systems to compare.

    Raises
    ------
    ValueError
        If no column tells systems apart, or it holds one system.
    """
    if settings.system is None:
        raise InputError(
            "--system",
            "to compare systems, name the column that tells them apart.",
            "Or their columns of predictions, as --predicted model_a --predicted model_b.",
        )
    systems = counts.counts[settings.system].values.tolist()
    if len(systems) < 2:
        raise InputError(
            f"--system {settings.system}", f"there is one system, {systems[0]}, and nothing to compare it with."
        )


def _paired_counts(frame: pd.DataFrame, pooled: ConfusionMatrix, settings: Settings) -> ConfusionMatrix | None:
    """Return the counts of the systems matched example by example, if there are several and ids."""
    if settings.id is None or settings.system is None or pooled.counts.sizes[settings.system] < 2:
        return None
    refuse_many(pooled, settings)
    if settings.id not in frame:
        raise InputError(f"--id {settings.id}", "no such column in the file.")
    try:
        by = {name: frame[name] for name in settings.by if name != FOLD}
        columns = encode_predictions(frame[settings.actual], frame[settings.predicted], by, pooled.labels)
        # An example has each of several labels or has it not: of each it is one of its own.
        of_label = settings.actuals or settings.joined
        example = list(zip(frame[settings.id], frame[LABEL], strict=True)) if of_label else frame[settings.id]
        outcomes = of_examples(columns, example, pooled.pos_label, settings.system)
        return ConfusionMatrix(cross_tabulate(columns), pooled.pos_label, outcomes)
    except InputError as error:
        if error.argument != "example":
            raise
        again = frame.duplicated([settings.id, *(name for name in settings.by if name != FOLD)]).any()
        clusters = f"If examples of one {settings.id} are alike, type --cluster in place of --id."
        raise InputError(f"--id {settings.id}", error.problem, clusters if again else error.advice) from None
