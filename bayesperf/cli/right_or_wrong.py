"""``summary`` and ``compare`` of outcomes: rows that are right or wrong (``--correct``), or graded (``--grade``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesperf.cli.options import refuse_together
from bayesperf.cli.running_commands import say_warnings, shown_while
from bayesperf.core.errors import InputError
from bayesperf.files.opening import opened
from bayesperf.files.roles import with_roles
from bayesperf.files.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from bayesperf.data.outcomes import Outcomes
    from bayesperf.groups.pooling import Pooled
    from bayesperf.posteriors.posterior import Posterior


def are_outcomes(settings: Settings) -> bool:
    """Whether rows are right or wrong, or graded."""
    return settings.correct is not None or settings.grade is not None


def print_summary(files: list[Path], settings: Settings) -> None:
    """Print how good each system is, and of several attempts at a question what they and more of them say."""
    settings, outcomes, notes = _read(files, settings, compared=False)
    post = _posterior(outcomes, settings)
    table = post.summary(list(settings.metrics) or None, settings.ci_prob)
    said = post.in_words(list(settings.metrics) or None, ci_prob=settings.ci_prob)
    _print([*notes, said, *_about_attempts(outcomes, settings)], table, settings)


def print_comparison(files: list[Path], settings: Settings) -> None:
    """Print which system is better: those with rows for the same examples, or clusters, are compared on these."""
    from bayesperf.comparison.comparing import compare
    from bayesperf.reports.comparison_tables import INDEPENDENT, PAIRING_ADVICE, named_baseline

    settings, outcomes, notes = _read(files, settings, compared=True)
    if settings.system is None:
        raise InputError("--system", "name the column that tells the systems apart.")
    side: dict[str, Any]
    if outcomes.outcomes is not None and settings.cluster is None:
        side = {"a": outcomes, "prior": settings.prior}
    else:
        side = {"a": _posterior(outcomes, settings), "independent": True}
        notes += () if settings.cluster else (INDEPENDENT, PAIRING_ADVICE)
    baseline = named_baseline(settings.baseline, outcomes.counts[settings.system].values.tolist())
    default = "accuracy" if len(outcomes.labels) == 2 else "mean_grade"
    compared = [
        compare(
            **side,
            metric=metric,
            dim=settings.system,
            rope=settings.rope,
            random_seed=settings.seed,
            baseline=baseline,
        )
        for metric in settings.metrics or (default,)
    ]
    import pandas as pd

    table = pd.concat([each.summary(ci_prob=settings.ci_prob) for each in compared], ignore_index=True)
    _print([*notes, *(each.in_words(ci_prob=settings.ci_prob) for each in compared)], table, settings)


def _read(files: list[Path], settings: Settings, compared: bool) -> tuple[Settings, Outcomes, tuple[str, ...]]:
    """Return the settings with the roles of columns, the outcomes that files hold, and notes; say warnings."""
    settings = with_roles(settings, len(files), compared)
    refuse_together(settings)
    column = settings.correct or settings.grade
    assert column is not None
    # Outcomes are read as labels are, which there is a column of each of two kinds of.
    as_labels = replace(settings, actual=column, predicted=column)
    with opened(files, as_labels) as opened_files:
        from bayesperf.files.reading import read_opened

        with shown_while("Reading"):
            found = read_opened(opened_files, as_labels)
    from bayesperf.data.outcomes import Outcomes
    from bayesperf.reports.analysis import refuse_missing

    refuse_missing(found.frame, as_labels, found.rows)
    say_warnings([text for text in (found.repeats, *found.warnings) if text])
    frame = found.frame if found.rows is None else found.frame.loc[found.frame.index.repeat(found.rows)]
    cluster = settings.cluster
    columns: dict[str, Any] = {
        "by": {name: frame[name] for name in settings.by},
        "example": None if settings.id is None else frame[settings.id],
        "cluster": None if cluster is None else {cluster: frame[cluster]},
    }
    made = Outcomes.from_grades if settings.correct is None else Outcomes.from_correct
    return settings, made(frame[column], **columns), found.notes


def _posterior(outcomes: Outcomes, settings: Settings) -> Posterior:
    if outcomes.clusters is not None:
        return _pooled(outcomes, settings).mean
    from bayesperf.posteriors.posterior_of_counts import posterior

    return posterior(outcomes, settings.prior, random_seed=settings.seed)


def _pooled(outcomes: Outcomes, settings: Settings) -> Pooled:
    from bayesperf.groups.pooling import pool

    return pool(outcomes, prior=settings.prior, random_seed=settings.seed)


def _about_attempts(outcomes: Outcomes, settings: Settings) -> Iterator[str]:
    """Yield sentences on attempts at the same questions, the clusters, if each has been asked more than once."""
    if outcomes.clusters is None or len(outcomes.labels) > 2:
        return
    from bayesperf.plan.reruns import attempts

    counts = outcomes.clusters.table.toarray().reshape(outcomes.clusters.size, -1, 2).sum(-1)
    fewest = int(counts[counts > 0].min())
    if fewest < 2:
        return
    pooled = _pooled(outcomes, settings)
    for passing in (pooled.pass_at_k, pooled.pass_hat_k):
        yield passing(fewest).in_words(ci_prob=settings.ci_prob)
    yield attempts(outcomes, random_seed=settings.seed).in_words()


def _print(said: list[str], table: pd.DataFrame, settings: Settings) -> None:
    if settings.json:
        print(table.to_json(orient="records"))
        return
    print("\n".join(said))
    print()
    print(table.round(4).to_string(index=False))
