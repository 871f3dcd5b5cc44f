"""The difference of two systems after each batch, and its limits that are valid however often you look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.comparison.comparing import compare
from bayesperf.core.errors import InputError
from bayesperf.data.counted import Counted
from bayesperf.intervals.confidence_sequences import difference_sequence, paired_sequence
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import score
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.paired_systems import discordant_counts, margins
from bayesperf.posteriors.posterior_of_counts import posterior


def two_systems(cm: Counted, dim: str, versus: Any) -> tuple[Counted, str]:
    """Return the counts of two systems, a before b, and their dim."""
    others = [str(each) for each in cm.dims if each != dim]
    if len(others) != 1:
        raise InputError("versus", f"needs one dim of systems beside {dim!r}; there are {others}.")
    known = cm.counts[others[0]].values.tolist()
    if isinstance(versus, str) or not isinstance(versus, Sequence) or len(versus) != 2 or len({*versus}) != 2:
        raise InputError("versus", f"must name two systems, as ('new', 'old'); it is {versus!r}.")
    if unknown := [name for name in versus if name not in known]:
        raise InputError("versus", f"{unknown[0]!r} is no {others[0]}; they are {known}.")
    return cm.sel(**{others[0]: list(versus)}), others[0]


def difference_so_far(
    cm: Counted, metric: Metric, dim: str, versus: Any, prior: str | priors.Prior | None, confidence: float
) -> tuple[Marginal, xr.DataArray | None, xr.DataArray, str]:
    """Return the difference after each batch, its anytime limits (None for no proportion), examples, and the prior.

    If the systems were tested on the same examples, both are by the discordant ones.
    """
    pair, along = two_systems(cm, dim, versus)
    if pair.patterns is not None:
        counts = pair.patterns.counts
        joint = replace(pair.patterns, counts=_cumulated(counts, dim))
        pair, examples = margins(joint), joint.counts.sum("pattern")
        compared = compare(pair, metric=metric, dim=along, prior=prior)
        marginal = compared.difference.isel(pair=0)
    else:
        pair = pair.holding(_cumulated(pair.counts, dim))
        first, second = (pair.sel(**{along: name}) for name in versus)
        compared = compare(posterior(first, prior), posterior(second, prior), metric, independent=True)
        marginal, examples = compared.difference, first.total + second.total
    numbers, limits = _numbers_behind(pair, metric, along), None
    if numbers is not None:
        sequence = paired_sequence if pair.patterns is not None else difference_sequence
        limits = sequence(*numbers, confidence=confidence)
    observed = score(pair, metric)
    gap = observed.sel({along: versus[0]}, drop=True) - observed.sel({along: versus[1]}, drop=True)
    return replace(marginal, score=gap.transpose(*marginal.dims)), limits, examples, compared.basis


def counts_of_difference(pair: Counted, metric: Metric, along: str) -> tuple[int, ...] | None:
    """Return the whole numbers behind the difference of a proportion of two systems; None if it is no such proportion.

    Three on the same examples (only the first succeeds, only the second, trials), as `paired_sequence` takes them, and
    four on others (successes and trials of both), as `difference_sequence` does.
    """
    numbers = _numbers_behind(pair, metric, along)
    return None if numbers is None else tuple(int(each) for each in numbers)


def _numbers_behind(pair: Counted, metric: Metric, along: str) -> Sequence[xr.DataArray] | None:
    """Return what `counts_of_difference` does, over the other leading dims."""
    if pair.patterns is not None:
        return discordant_counts(pair.patterns, metric)
    numbers: list[xr.DataArray] = []
    for place in range(2):
        side = pair.isel(**{along: place})
        trials = metric.trials(side.cells.values, side.positive)
        if trials is None:
            return None
        share = score(side, metric)
        numbers += [(share.fillna(0) * trials).round(), share.copy(data=trials)]
    return [each.drop_attrs() for each in numbers]


def _cumulated(counts: xr.DataArray, dim: str) -> xr.DataArray:
    return counts.copy(data=np.cumsum(counts.values, axis=counts.get_axis_num(dim)))
