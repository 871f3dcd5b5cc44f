"""Many systems or groups: the announcement before they are printed, and the choice of the best."""

from __future__ import annotations

import numpy as np

from bayesperf import metrics
from bayesperf.core.errors import InputError
from bayesperf.data.axis_names import FOLD
from bayesperf.data.counted import Counted
from bayesperf.files.option_table import Settings
from bayesperf.metrics.registry import in_field_words
from bayesperf.posteriors.posterior_of_counts import posterior

# More than these are announced.
_MANY_SYSTEMS = 100
_MANY_GROUPS = 10_000
# Beyond these numbers not every one is printed.
_MOST_SHOWN = 20_000
# More systems than this are not compared pair by pair.
_MOST_COMPARED = 1_000


def best_systems[C: Counted](counts: C, settings: Settings) -> tuple[C, str]:
    """Return the systems with the best posterior mean, and a sentence on the choice.

    The systems are those of --system, ranked by the first metric, with all other leading dims pooled.

    Raises
    ------
    ValueError
        If no column tells systems apart, or neither direction of the metric is better.
    """
    system, top = settings.system, settings.top
    if system is None or top is None:
        raise InputError("--top", "name the column that tells systems apart, as --system model.")
    post = posterior(
        counts.sum([str(dim) for dim in counts.dims if dim != system]), settings.prior, random_seed=settings.seed
    )
    first = metrics.get((settings.metrics or post.default_metrics())[0])
    metric = in_field_words(first, counts.graded)
    if metric.greater_is_better is None or metric.average == "per_class":
        raise InputError(
            "--top", f"systems cannot be ordered by {metric.name}.", "Put another first, as --metrics accuracy."
        )
    order = np.argsort(-metric.better * post[metric.name].mean().values, kind="stable")
    if len(order) <= top:
        return counts, ""
    words = "highest" if metric.better > 0 else "lowest"
    said = (
        f"The report shows the {top:,} of {len(order):,} systems ({system!r}) with the {words} mean {metric.title}. "
        "Chosen as the best of many, they look better than they are."
    )
    return counts.sel(**{system: counts.counts[system].values[np.sort(order[:top])].tolist()}), said


def announcement(counts: Counted, settings: Settings) -> str:
    """Return how much will be printed, if it is much, and how to print less; else nothing.

    Raises
    ------
    ValueError
        If there are more than 20,000 systems or groups.
    """
    groups = int(np.prod(counts.counts.shape[:-2]))
    systems = groups // counts.counts.sizes.get(FOLD, 1)
    if groups > _MOST_SHOWN:
        raise InputError(
            f"--by {settings.system or FOLD}",
            f"{groups:,} systems or groups, with a row for each in every metric, are too many to print.",
            "If the column identifies examples, do not name it as --by; if it names systems, "
            "show only the best, as --top 10.",
        )
    if systems <= _MANY_SYSTEMS and groups <= _MANY_GROUPS:
        return ""
    folds = f", {groups:,} with the folds" if groups > systems else ""
    return (
        f"{systems:,} combinations of {', '.join(name for name in settings.by if name != FOLD)}{folds}: every metric "
        "has a row for each. To show only the best: --top 10."
    )


def refuse_many(counts: Counted, settings: Settings) -> None:
    """Refuse to compare systems whose pairs are too many to hold.

    Raises
    ------
    ValueError
        If there are more than 1,000 systems.
    """
    systems = counts.counts.sizes[settings.system] if settings.system else 1
    if systems > _MOST_COMPARED:
        raise InputError(
            f"--system {settings.system}",
            f"{systems:,} systems are {systems * (systems - 1) // 2:,} pairs, too many to compare.",
            "Show only the best, as --top 10.",
        )
