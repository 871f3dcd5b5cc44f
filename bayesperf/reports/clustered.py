"""Files whose examples come in clusters, such as several of each patient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.files.settings import FOLD, Settings

if TYPE_CHECKING:
    import pandas as pd

    from bayesperf.core.arrays import Counts
    from bayesperf.data.matrix import ConfusionMatrix
    from bayesperf.groups.pooled_clusters import PooledClusters


def refuse_beside_clusters(*, score: Any, judge: str | None, by: list[str] | None, **others: Any) -> None:
    """Refuse options of which no figures are had where examples come in clusters."""
    given = {"--judge": judge, "--score": score, "--split": others.get("split"), "--top": others.get("top")}
    if said := [option for option, value in given.items() if value]:
        python = " In Python roc_curve(y_true, y_score, cluster=...) and roc_auc have it." if "--score" in said else ""
        raise InputError(
            f"{said[0]}", "it takes examples to be independent, beside --cluster.", f"Ask without {said[0]}.{python}"
        )
    if FOLD in (by or ()):
        raise InputError(
            "--by fold",
            "folds are pooled as independent ones, beside --cluster.",
            "Ask without it: the clusters are all.",
        )


def clustered_counts(
    frame: pd.DataFrame, settings: Settings, rows: Counts, labels: list[Any] | None
) -> ConfusionMatrix:
    """Count the rows of a frame, each of which stands for several examples, with the clusters that these come in."""
    from bayesperf.data.frames import clusters_of_totals, tabulate
    from bayesperf.data.matrix import ConfusionMatrix

    columns = {str(name): frame[name] for name in frame}
    named = columns, rows, settings.actual, settings.predicted, settings.by, labels
    return ConfusionMatrix(tabulate(*named), clusters=clusters_of_totals(*named, str(settings.cluster)))


def about_clusters(pooled: PooledClusters, within: Sequence[str]) -> str:
    """Return a sentence on how many independent examples the rows are worth; clusters `within` are of the others."""
    worth, total = pooled.independent_examples("accuracy"), pooled.summed.total
    low, high = (f"{value:,.0f}" for value in (float(worth.min()), float(worth.max())))
    inner = f" (and what is within, by {listed(within)})" if within else ""
    return (
        f"Examples come in {pooled.clusters.size:,} clusters, by column {pooled.dim!r}{inner}, and intervals allow for "
        f"it: of accuracy, {int(total.max()):,} examples say as much as {low if low == high else f'{low} to {high}'} "
        "independent ones."
    )
