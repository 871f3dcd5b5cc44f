"""Files whose examples come in clusters, such as several per patient, or of which only some are verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesperf.core.errors import InputError
from bayesperf.core.words import listed, plural
from bayesperf.data.axis_names import MODEL
from bayesperf.files.option_table import Settings
from bayesperf.reports.class_columns import label_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesperf.data.matrix import ConfusionMatrix
    from bayesperf.files.reading import Predictions
    from bayesperf.groups.cluster_weights import ClusterWeights
    from bayesperf.labels.sample import VerifiedSample
    from bayesperf.posteriors.posterior import Posterior


def clustered_counts(predictions: Predictions, settings: Settings, labels: list[Any] | None) -> ConfusionMatrix:
    """Count the rows of a frame, each of which stands for several examples, with their clusters."""
    from bayesperf.data.cross_tabulation import cross_tabulate
    from bayesperf.data.matrix import ConfusionMatrix
    from bayesperf.data.totals import clusters_of_totals, encode_totals

    values, rows = {str(name): column for name, column in predictions.frame.items()}, predictions.sizes
    columns = encode_totals(values, rows, [settings.actual, settings.predicted], settings.by, labels)
    clusters = clusters_of_totals(values, rows, str(settings.cluster), columns)
    return ConfusionMatrix(cross_tabulate(columns, rows), clusters=clusters)


def about_clusters(source: ClusterWeights, within: Sequence[str]) -> str:
    """Return a sentence on the clusters of examples; clusters `within` lie inside the others."""
    inner = f", and clusters within them by {listed(within)}" if within else ""
    by = f"by column {source.dim!r}{inner}"
    return f"Examples come in {source.clusters.size:,} clusters ({by}); intervals allow for this."


def about_questions(source: ClusterWeights) -> str:
    """Return a sentence on the questions that rows are attempts at."""
    return f"Attempts are at {source.clusters.size:,} {plural(source.dim)}; intervals allow for this."


def about_gaps(column: str | None, settings: Settings) -> str:
    """Return advice if actual labels are missing."""
    if column != settings.actual:
        return ""
    return (
        " If nobody checked these rows, use --verified-only, or --judge COLUMN with a cheaper judge's labels for all."
    )


def verified_rows(predictions: Predictions, settings: Settings) -> Predictions:
    """Return the rows with an actual label, and a note on the others."""
    known = predictions.frame[settings.actual].notna().to_numpy()
    total, left = int(predictions.sizes.sum()), int(predictions.sizes[known].sum())
    if not left:
        raise InputError("--verified-only", f"column {settings.actual!r} is empty in every row; none is left.")
    note = f"{total - left:,} of {total:,} rows are not verified and are left out."
    return replace(predictions.where(known), notes=(note, *predictions.notes))


def judged_sample(predictions: Predictions, settings: Settings, labels: list[Any] | None) -> VerifiedSample:
    """Count the rows of a frame; the id identifies the examples that systems share, one row per example."""
    from bayesperf.labels.sample import VerifiedSample

    frame = predictions.frame
    options: dict[str, Any] = {"labels": labels, "pos_label": None}
    if settings.pos_label is not None:
        called = [each for name in (settings.actual, settings.predicted) for each in frame[name].dropna().unique()]
        options["pos_label"] = label_of(labels or called, settings.pos_label)
    if settings.id is not None:
        return _sample_of_pairs(frame, settings, options)
    if MODEL in settings.by:
        raise InputError(
            f"--by {MODEL}",
            "with --judge, this column means systems tested on the same examples.",
            "Name the column that says which rows are the same one, as --id example; or rename the column.",
        )
    return VerifiedSample.from_totals(
        {str(name): column for name, column in frame.items()},
        predictions.sizes,
        actual=settings.actual,
        predicted=settings.predicted,
        judge=settings.judge if len(settings.judges) == 1 else settings.judges,
        cluster=settings.cluster,
        by=settings.by,
        **options,
    )


def with_systems_as_model(predictions: Predictions, settings: Settings) -> tuple[Predictions, Settings]:
    """Return rows and settings in which the column of the systems is called as their dim is on the same examples."""
    system = settings.system
    if settings.id is None or system in (None, MODEL):
        return predictions, settings
    by = tuple(MODEL if name == system else name for name in settings.by)
    if by.count(MODEL) > 1:
        raise InputError(f"--by {MODEL}", f"beside --judge and --id it is what {system!r} is called.", "Rename it.")
    frame = predictions.frame.rename(columns={system: MODEL})
    return replace(predictions, frame=frame), replace(settings, by=by, system_column=MODEL)


def _by_system(frame: pd.DataFrame, settings: Settings, column: str) -> pd.DataFrame:
    """Return a column with a row for each example, as the id says, and a column for each system."""
    system = settings.system
    if system is None:
        raise InputError(f"--id {settings.id}", "name the column that tells the systems apart, as --system model.")
    if frame.duplicated([settings.id, system]).any():
        raise InputError(
            f"--id {settings.id}",
            "a system has an example twice.",
            "A row must be one prediction.",
        )
    found = frame.pivot(index=settings.id, columns=system, values=column)
    if found.isna().to_numpy().any():
        raise InputError(f"--id {settings.id}", "systems must be tested on the same examples, and some are missing.")
    return found[[*frame[system].unique()]]


# As many systems have outcomes together: of more, combinations of right and wrong are too many. People must know this
# share of what they know of a system of all systems.
_MOST_TOGETHER, _KNOWN_TOGETHER = 4, 0.5
APART = "Few examples are verified for every system, so systems are compared as if each had examples of its own."


def judged_together(frame: pd.DataFrame, settings: Settings) -> Posterior | None:
    """Return the joint posterior of systems whose answers a judge called right or wrong, and people some of them.

    None if people looked at other examples of each system.
    """
    from bayesperf.labels.verified_outcomes import systems_together

    judged = _by_system(frame, settings, str(settings.judge))
    reason = {
        "grades are compared as if each system had examples of its own": settings.correct is None,
        "of several judges, or clusters, systems are compared as if each had examples of its own": (
            len(settings.judges) > 1 or settings.cluster is not None
        ),
        "it compares systems in one place": len(settings.by) > 1,
        f"it compares up to {_MOST_TOGETHER} systems": judged.shape[1] > _MOST_TOGETHER,
        "a judge's scores are compared as if each system had examples of its own": not judged.isin([0, 1]).all(
            axis=None
        ),
    }
    if refused := next((why for why, is_so in reason.items() if is_so), None):
        advice = "Remove --id; or compare the verified rows alone: --verified-only in place of --judge."
        raise InputError(f"--id {settings.id}", f"beside --judge {refused}.", advice)
    known = frame.pivot(index=settings.id, columns=settings.system, values=settings.actual)[judged.columns]
    if known.notna().all(axis=1).sum() < max(1, _KNOWN_TOGETHER * known.notna().sum().min()):
        return None
    return systems_together(
        known.astype(float).to_numpy(), judged.astype(int).to_numpy(), judged.columns.tolist(), str(settings.system),
        settings.prior, settings.seed,
    )  # fmt: skip


def _sample_of_pairs(frame: pd.DataFrame, settings: Settings, options: dict[str, Any]) -> VerifiedSample:
    """Count rows of which the id says which are the same example."""
    from bayesperf.labels.sample import VerifiedSample

    system, by_system = settings.system, _by_system(frame, settings, settings.predicted)
    facts = frame.drop(columns=[system, settings.predicted]).drop_duplicates()
    if facts[settings.id].duplicated().any():
        raise InputError(
            f"--id {settings.id}",
            "rows of one example must agree in all but the system and its prediction.",
            "Write the same label and the same judge's label in each, or remove --id: then systems are compared as if "
            "each had examples of its own.",
        )
    of_example = facts.set_index(settings.id).loc[by_system.index]
    several = len(settings.judges) > 1
    return VerifiedSample.from_predictions(
        of_example[settings.actual],
        {name: by_system[name] for name in by_system},
        judge={name: of_example[name] for name in settings.judges} if several else of_example[settings.judge],
        cluster=None if settings.cluster is None else {settings.cluster: of_example[settings.cluster]},
        by={name: of_example[name] for name in settings.by if name != system},
        **options,
    )


def about_verified(verified: int, n: int, settings: Settings) -> str:
    """Return a sentence on how many examples are verified."""
    by = f"column {settings.judge!r} holds the judge's label of all {n:,}"
    if len(settings.judges) > 1:
        by = f"columns {listed(settings.judges)} hold what judges say of all {n:,}"
    of_clusters = f" Examples come in clusters (by column {settings.cluster!r}); intervals allow for this."
    return f"{verified:,} of {n:,} examples are verified; {by}.{of_clusters if settings.cluster else ''}"
