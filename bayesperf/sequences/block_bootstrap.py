"""The block bootstrap of samples in the order of time; public in `bayesperf.sequences`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.streams import streams
from bayesperf.intervals.bootstrap import limits_of, warn_of_resamples
from bayesperf.intervals.delta import gradient_of
from bayesperf.intervals.limits import labelled
from bayesperf.intervals.statistic import Statistic
from bayesperf.metrics.metric import Metric
from bayesperf.sequences.chain import Series, metric_of_matrix, read

# Blocks drawn at once.
_BLOCK = 2**20


def block_bootstrap(
    y_true: Any,
    y_pred: Any,
    metric: str | Metric = "recall",
    *,
    by: Any = None,
    block: int | None = None,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    random_seed: Any = None,
    pos_label: Any = None,
    labels: Iterable[Any] | None = None,
) -> xr.DataArray:
    """Return the confidence interval of a metric of dependent samples, by resampling blocks of them.

    A frequentist reference for `posterior`, which supposes a chain; this supposes that samples farther apart than a
    block are independent. Of short sequences its intervals are too narrow: see the notes.

    Parameters
    ----------
    metric : str or Metric
        Any metric of a matrix of two classes.
    block : int, optional
        Samples of a block, at most those of the shortest sequence. By default what is estimated to be best for this
        metric; in ``attrs["block"]``.
    confidence : float
        Nominal coverage, between 0 and 1.
    n_resamples : int
        Resamples.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same figures; by default a new one, in ``attrs["random_seed"]``.
    y_true, y_pred, by, pos_label, labels
        As in `posterior`.

    Returns
    -------
    xarray.DataArray
        With dim ``ci_bound`` = lower, upper: the percentile interval.

    Raises
    ------
    ValueError
        If a block is longer than a sequence: resample whole sequences then, by ``bayesperf.intervals.bootstrap(cm,
        metric, cluster="sequence")``. If the metric is undefined (0/0) in these samples.

    Warns
    -----
    UserWarning
        If the metric is undefined in some resamples (they are left out), or the same in all.

    Notes
    -----
    The circular block bootstrap of Politis & Romano (1992): blocks start at any sample with the same probability, and
    one that reaches the end of its sequence goes on at its beginning. The last block is cut so that a resample has as
    many samples as were observed. Cumulated counts give the counts of any block at once, so no label is moved.

    The block is that of Politis & White (2004), Econometric Reviews 23, as corrected by Patton, Politis & White (2009),
    Econometric Reviews 28: with R(k) the autocovariances of the samples' influence on the metric, its gradient at their
    state, and w a flat-top window over the lags at which they are not yet negligible,

        block = [3n/2 · (Σ w|k|R(k) / Σ w R(k))²]^(1/3), at most 3√n or n/3, rounded up.

    Of 500 samples with recall .75 and persistence .5, .8, .9 and .95, the 95 % intervals cover the long-run recall in
    95, 92, 90 and 86 % of sequences (1,500 simulated of each); those of independent samples in 95, 74, 54 and 39 %.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(500, persistence=0.9, random_seed=1)
    >>> found = bp.sequences.block_bootstrap(frames["actual"], frames["predicted"], random_seed=1)
    >>> found.attrs["block"], found.values.round(2)
    (14, array([0.53, 0.79]))
    """
    tail = (1 - checks.probability("confidence", confidence)) / 2
    n_resamples = checks.count("n_resamples", n_resamples, least=2)
    seed = int(np.random.default_rng().integers(2**31)) if random_seed is None else checks.seed(random_seed)
    series = read(y_true, y_pred, by, labels, pos_label)
    positive = None if series.cm.pos_label is None else series.cm.labels.index(series.cm.pos_label)
    statistic = Statistic.of(series.cm, metric_of_matrix(metric, series.cm.labels, positive))
    observed = statistic.defined()
    shortest = int(np.bincount(series.sequence).min())
    if block is None:
        block = min(best_block(influence(statistic, series), series.sequence), shortest)
    elif checks.count("block", block) > shortest:
        raise ValueError(
            f"block must not be longer than the shortest sequence, of {shortest} samples; it is {block}. Of many short "
            "sequences resample whole ones: bayesperf.intervals.bootstrap(cm, metric, cluster='sequence')."
        )
    (rng,) = streams(seed, "blocks", statistic.of_matrices, [series.states])
    values = statistic(Blocks.of(series, block).resample(n_resamples, rng).reshape(-1, 2, 2))
    found = limits_of(statistic.metric.name, observed[None], values, "percentile", tail)
    warn_of_resamples(statistic.metric.name, [found], found.limits)
    facts = {"confidence": confidence, "method": "circular blocks, percentile", "block": block,
             "n_resamples": n_resamples, "random_seed": seed, "undefined": found.undefined}  # fmt: skip
    return labelled(found.limits[0], statistic.leading, statistic.metric.name, **facts)


@dataclass(frozen=True)
class Blocks:
    """Counts (n, 4) of the blocks from each sample on: whole ones, and what is cut to fill up a resample."""

    whole: Counts
    cut: Counts

    @classmethod
    def of(cls, series: Series, block: int) -> Blocks:
        """Return the blocks of some length, circular within each sequence."""
        n = len(series.states)
        cumulated = np.zeros((n + 1, 4), np.int64)
        np.cumsum(series.states[:, None] == np.arange(4), axis=0, out=cumulated[1:])
        # Where the sequence of each sample begins, and where it ends.
        lengths = np.bincount(series.sequence)
        end = np.cumsum(lengths)[series.sequence]
        begin = end - lengths[series.sequence]

        def counts(length: int) -> Counts:
            stop = np.arange(n) + length
            over = np.maximum(stop - end, 0)
            within = cumulated[np.minimum(stop, end)] - cumulated[:-1]
            return np.asarray(within + cumulated[begin + over] - cumulated[begin])

        return cls(counts(block), counts(n - block * _wholes(n, block)))

    def resample(self, count: int, rng: np.random.Generator) -> Counts:
        """Return the counts (count, 4) of resamples."""
        n = len(self.whole)
        wholes = _wholes(n, int(self.whole[0].sum()))
        step = max(1, _BLOCK // (wholes + 1))
        found = []
        for start in range(0, count, step):
            first = rng.integers(n, size=(min(step, count - start), wholes + 1))
            found.append(self.whole[first[:, 1:]].sum(1) + self.cut[first[:, 0]])
        return np.concatenate(found)


def _wholes(n: int, block: int) -> int:
    """Return how many whole blocks go before the last, which may be cut."""
    return -(-n // block) - 1


def influence(statistic: Statistic, series: Series) -> Array:
    """Return what each sample (n,) adds to a metric, up to a constant: its gradient at the sample's state."""
    counts = statistic.counts.values
    return np.asarray(gradient_of(statistic.metric, statistic.positive, counts / counts.sum()).ravel()[series.states])


def best_block(values: Array, sequence: NDArray[np.intp]) -> int:
    """Return the length of blocks by which the variance of a mean of dependent values (n,) is estimated best.

    The rule of Politis & White, as corrected, with the constants that its authors use; lags are within sequences.
    """
    n = len(values)
    deviations = values - values.mean()
    near = max(5, int(np.sqrt(np.log10(n))))
    greatest = int(np.ceil(np.sqrt(n))) + near
    covariances = _autocovariances(deviations, sequence, min(greatest + near, n - 1))
    if covariances[0] <= 1e-24 * max(1, float(values.max() ** 2)):
        return 1
    significant = np.abs(covariances[1:] / covariances[0]) >= 2 * np.sqrt(np.log10(n) / n)
    # The first lag after which as many as `near` are negligible; else the last that is not.
    runs = np.convolve(significant.astype(int), np.ones(near, dtype=int))[near - 1 : len(significant)]
    last = int(np.append(np.flatnonzero(runs == 0), 1 + np.append(-1, np.flatnonzero(significant))[-1])[0])
    lags = np.arange(min(2 * last, greatest, len(covariances) - 1) + 1)
    window = np.clip(2 - 2 * lags / max(lags[-1], 1), 0, 1) * np.where(lags > 0, 2, 1)
    used = window * covariances[lags]
    longest = np.ceil(min(3 * np.sqrt(n), n / 3))
    with np.errstate(divide="ignore"):
        found = np.cbrt(1.5 * n * ((lags * used).sum() / used.sum()) ** 2)
    return int(np.clip(np.ceil(found), 1, longest))


def _autocovariances(deviations: Array, sequence: NDArray[np.intp], greatest: int) -> Array:
    """Return the autocovariances at lags 0, 1, …, greatest: sums over the pairs of one sequence, divided by n."""
    n = len(deviations)
    products = [
        (deviations[lag:] * deviations[: n - lag]) @ (sequence[lag:] == sequence[: n - lag])
        for lag in range(greatest + 1)
    ]
    return np.array(products) / n
