"""Draws of the cells of one system, or of two, at thresholds as chosen or at thresholds chosen anew in every draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.fields import held
from bayesperf.core.weights import blocks_of_draws
from bayesperf.curves.expected_performance.interval_counts import (
    Examples,
    IntervalCounts,
    cell_probabilities,
    cells_at_cuts,
)
from bayesperf.curves.expected_performance.resampled_scores import ResampledTables
from bayesperf.curves.expected_performance.system import System, ThresholdRule, choose_candidates

# How many numbers an array of draws may hold at once.
_AT_ONCE = 2**20


@held
class Resampling(NamedTuple):
    """How cells are drawn.

    Attributes
    ----------
    anew : bool
        Whether development sets are drawn as well, and thresholds chosen on them.
    paired : bool
        Whether systems were tested on the same examples.
    draws, method, prior, random_seed, progressbar
        As in `ExpectedPerformanceCurve`.
    """

    anew: bool
    paired: bool
    draws: int
    method: str
    prior: Array
    random_seed: int
    progressbar: bool


class Members(NamedTuple):
    """The tables of the same examples: by which thresholds are tested, and on which they are chosen."""

    examples: Examples
    tested: list[IntervalCounts]
    choosing: list[IntervalCounts]


def drawn_cells(systems: Sequence[System], rules: Sequence[ThresholdRule], resampling: Resampling) -> list[Array]:
    """Return draws of each system's cell probabilities (n, a, actual, predicted) at thresholds that rules choose."""
    if resampling.anew:
        tests = [IntervalCounts.of(s.test, s.fold, s.drawn_cuts) for s in systems]
        choosing = [s.choosing_counts() for s in systems]
        fixed = None
    else:
        thresholds = [s.thresholds(rules) for s in systems]
        tests = [s.interval_counts(cuts) for s, cuts in zip(systems, thresholds, strict=True)]
        choosing = [[] for _ in systems]
        fixed = [table.positions(cuts) for table, cuts in zip(tests, thresholds, strict=True)]
    samples, places = _samples(systems, tests, choosing, resampling)
    rng = np.random.default_rng(resampling.random_seed)
    wide = sum(len(alphas) for _, alphas in rules)
    width = sum(sample.width for sample in samples) + 4 * len(tests[0].cuts) * wide
    blocks = []
    for n in blocks_of_draws(resampling.draws, width, resampling.progressbar, _AT_ONCE):
        drawn = [mass for sample in samples for mass in sample.draw(rng, n, resampling.method)]
        of_systems = [(drawn[test], [drawn[place] for place in dev]) for test, dev in places]
        positions = fixed or [_chosen(rules, masses) for _, masses in of_systems]
        blocks.append([cell_probabilities(mass, at) for (mass, _), at in zip(of_systems, positions, strict=True)])
    return [np.concatenate(cells) for cells in zip(*blocks, strict=True)]


def _chosen(rules: Sequence[ThresholdRule], masses: Sequence[Array]) -> Codes:
    """Return which candidates (n, fold, a) are chosen on drawn development sets, a table for each fold."""
    cells = (cells_at_cuts(mass, np.arange(mass.shape[-1] - 1)[None, None]) for mass in masses)
    return np.stack([choose_candidates(rules, of_fold) for of_fold in cells], 1)


def _samples(
    systems: Sequence[System],
    tests: Sequence[IntervalCounts],
    choosing: Sequence[Sequence[IntervalCounts]],
    resampling: Resampling,
) -> tuple[list[ResampledTables], list[tuple[int, list[int]]]]:
    """Return the samples of examples that are drawn, and where among all their tables those of each system are.

    Systems tested on the same examples share their sample, and so do those developed on the same. Folds of the test
    set are development sets as well, and so belong to its sample.
    """
    developed = [s.development for s in systems]
    shared = resampling.paired and all(d is not None and d.alike(developed[0]) for d in developed)
    members: dict[tuple[str, int], Members] = {}
    for i, (system, test, dev) in enumerate(zip(systems, tests, choosing, strict=True)):
        judged = "test", 0 if resampling.paired else i
        members.setdefault(judged, Members(system.test, [], [])).tested.append(test)
        if system.development is None:
            members[judged].choosing.extend(dev)
        elif dev:
            own = "dev", 0 if shared else i
            members.setdefault(own, Members(system.development, [], [])).choosing.extend(dev)
    samples = [
        ResampledTables.of(tested, choosing, resampling.prior, examples.cluster)
        for examples, tested, choosing in members.values()
    ]
    place = {table: i for i, table in enumerate(table for sample in samples for table in sample.tables)}
    return samples, [(place[test], [place[table] for table in dev]) for test, dev in zip(tests, choosing, strict=True)]
