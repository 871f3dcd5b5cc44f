"""The circular block bootstrap of samples in order of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, Counts, blocks
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.intervals.bootstrap_intervals import limits_of, warn_of_resamples
from bayesperf.intervals.delta_method import gradient_of
from bayesperf.intervals.limits import limits_over
from bayesperf.intervals.statistic import Statistic
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.sequences.chain import LabelSequences, label_sequences

# How many blocks are drawn at once.
_AT_ONCE = 2**20


@checked
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
    """Return the confidence interval of a metric on dependent samples, by resampling blocks of them.

    A frequentist reference for `posterior`. The posterior assumes a chain; the bootstrap assumes that samples farther
    apart than a block are independent. With short sequences its intervals are too narrow: see the notes.

    Parameters
    ----------
    metric : str or Metric
        Any metric of a matrix of two classes.
    block : int, optional
        Samples in a block, at most the length of the shortest sequence. By default the estimated best length for this
        metric, in ``attrs["block"]``.
    confidence : float
        Nominal coverage, between 0 and 1.
    n_resamples : int
        Number of resamples.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same figures; by default a new seed, in ``attrs["random_seed"]``.
    y_true, y_pred, by, pos_label, labels
        As in `posterior`.

    Returns
    -------
    xarray.DataArray
        The percentile interval, with dim ``ci_bound`` = lower, upper. The coordinate ``standard_error`` is the standard
        deviation of the resampled values.

    Raises
    ------
    ValueError
        If a block is longer than a sequence: then resample whole sequences, by ``bayesperf.intervals.bootstrap(cm,
        metric, cluster="sequence")``. If the metric is undefined (0/0) in these samples.

    Warns
    -----
    UserWarning
        If the metric is undefined in some resamples (they are omitted), or the same in all.

    Notes
    -----
    The circular block bootstrap of Politis & Romano (1992): blocks start at every sample with the same probability, and
    a block that reaches the end of its sequence continues at the beginning. The last block is cut, so that a resample
    has the observed number of samples. Cumulative counts give the counts of any block at once, so no label is moved.

    The block length is that of Politis & White (2004), Econometric Reviews 23, as corrected by Patton, Politis & White
    (2009), Econometric Reviews 28: with R(k) the autocovariances of the samples' influence on the metric (its gradient
    at their state), and w a flat-top window over the lags at which these are not yet negligible,

        block = [3n/2 · (Σ w|k|R(k) / Σ w R(k))²]^(1/3), at most 3√n or n/3, rounded up.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(500, persistence=0.9, random_seed=1)
    >>> interval = bp.sequences.block_bootstrap(frames["actual"], frames["predicted"], random_seed=1)
    >>> interval.attrs["block"], interval.values.round(2)
    (14, array([0.53, 0.79]))
    """
    tail = (1 - checks.probability("confidence", confidence)) / 2
    n_resamples = checks.count("n_resamples", n_resamples, least=2)
    seed = checks.new_seed(random_seed)
    sequences = label_sequences(y_true, y_pred, by, labels, pos_label)
    cm = sequences.cm
    positive = cm.positive
    statistic = Statistic.of(cm, single_valued(metric, cm.labels, positive))
    observed = statistic.defined()
    shortest = int(np.bincount(sequences.sequence).min())
    if block is None:
        block = min(best_block_length(influence(statistic, sequences), sequences.sequence), shortest)
    elif checks.count("block", block) > shortest:
        raise InputError(
            "block",
            f"must not be longer than the shortest sequence, of {shortest} samples; it is {block}.",
            "Of many short sequences resample whole ones: bayesperf.intervals.bootstrap(cm, "
            "metric, cluster='sequence').",
        )
    (rng,) = streams(seed, "blocks", statistic.of_matrices, [sequences.states])
    values = statistic(Blocks.of(sequences, block).resample(n_resamples, rng).reshape(-1, 2, 2))
    interval = limits_of(statistic.metric.name, observed[None], values, "percentile", tail)
    warn_of_resamples(statistic.metric.name, [interval], interval.limits)
    facts = {"confidence": confidence, "method": "circular blocks, percentile", "block": block,
             "n_resamples": n_resamples, "random_seed": seed, "undefined": interval.undefined}  # fmt: skip
    error = interval.standard_error[0]
    return limits_over(interval.limits[0], statistic.leading, statistic.metric.name, error, **facts)


@dataclass(frozen=True)
class Blocks:
    """Counts of states (n, 4) in the block that begins at each sample: whole, and cut to what completes a resample."""

    whole: Counts
    cut: Counts

    @classmethod
    def of(cls, sequences: LabelSequences, block: int) -> Blocks:
        """Return the blocks of a given length, circular within each sequence."""
        n = len(sequences.states)
        cumulated = np.zeros((n + 1, 4), np.int64)
        np.cumsum(sequences.states[:, None] == np.arange(4), axis=0, out=cumulated[1:])
        # Where the sequence of each sample begins, and where it ends.
        lengths = np.bincount(sequences.sequence)
        end = np.cumsum(lengths)[sequences.sequence]
        begin = end - lengths[sequences.sequence]

        def counts(length: int) -> Counts:
            stop = np.arange(n) + length
            over = np.maximum(stop - end, 0)
            within = cumulated[np.minimum(stop, end)] - cumulated[:-1]
            return np.asarray(within + cumulated[begin + over] - cumulated[begin])

        return cls(counts(block), counts(n - block * _whole_blocks(n, block)))

    def resample(self, count: int, rng: np.random.Generator) -> Counts:
        """Return the counts (count, 4) of resamples."""
        n = len(self.whole)
        whole_blocks = _whole_blocks(n, int(self.whole[0].sum()))
        counts = []
        for part in blocks(count, whole_blocks + 1, _AT_ONCE):
            first = rng.integers(n, size=(part.stop - part.start, whole_blocks + 1))
            counts.append(self.whole[first[:, 1:]].sum(1) + self.cut[first[:, 0]])
        return np.concatenate(counts)


def _whole_blocks(n: int, block: int) -> int:
    """Return the number of whole blocks before the last one, which may be cut."""
    return -(-n // block) - 1


def influence(statistic: Statistic, sequences: LabelSequences) -> Array:
    """Return the influence of each sample (n,) on a metric, up to a constant: its gradient at the sample's state."""
    counts = statistic.counts.values
    gradient = gradient_of(statistic.metric, statistic.positive, counts / counts.sum())
    return np.asarray(gradient.ravel()[sequences.states])


def best_block_length(values: Array, sequence: Codes) -> int:
    """Return the length of blocks that best estimates the variance of a mean of dependent values (n,).

    This is the rule of Politis & White, as corrected, with the authors' constants; lags are within sequences.
    """
    n = len(values)
    deviations = values - values.mean()
    near = max(5, int(np.sqrt(np.log10(n))))
    greatest = int(np.ceil(np.sqrt(n))) + near
    covariances = _autocovariances(deviations, sequence, min(greatest + near, n - 1))
    if covariances[0] <= 1e-24 * max(1, float(values.max() ** 2)):
        return 1
    significant = np.abs(covariances[1:] / covariances[0]) >= 2 * np.sqrt(np.log10(n) / n)
    # The first lag after which `near` in succession are negligible; else the last lag that is not.
    runs = np.convolve(significant.astype(int), np.ones(near, dtype=int))[near - 1 : len(significant)]
    last = int(np.append(np.flatnonzero(runs == 0), 1 + np.append(-1, np.flatnonzero(significant))[-1])[0])
    lags = np.arange(min(2 * last, greatest, len(covariances) - 1) + 1)
    window = np.clip(2 - 2 * lags / max(lags[-1], 1), 0, 1) * np.where(lags > 0, 2, 1)
    used = window * covariances[lags]
    longest = np.ceil(min(3 * np.sqrt(n), n / 3))
    with np.errstate(divide="ignore"):
        length = np.cbrt(1.5 * n * ((lags * used).sum() / used.sum()) ** 2)
    return int(np.clip(np.ceil(length), 1, longest))


def _autocovariances(deviations: Array, sequence: Codes, greatest: int) -> Array:
    """Return the autocovariances at lags 0, 1, …, greatest: sums over pairs in the same sequence, divided by n."""
    n = len(deviations)
    products = [
        (deviations[lag:] * deviations[: n - lag]) @ (sequence[lag:] == sequence[: n - lag])
        for lag in range(greatest + 1)
    ]
    return np.array(products) / n
