"""R̂ and effective sample sizes as ArviZ computes them, but of many parameters at once, which takes a fifth of the time.

Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Bayesian Analysis 16.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from bayesperf.core.arrays import Array

# Parameters that are taken together: their arrays fit into the processor's cache.
TOGETHER = 16


def convergence(draws: Array, tail: float) -> Array:
    """Return R̂, and the effective sample size of the bulk and of both tails (3, parameter).

    Parameters
    ----------
    draws : array (parameter, chain, draw)
        Figures of parameters with values that are no numbers are NaN, and so are those of fewer than 4 draws.
    tail : float
        The probability above the quantile that is the end of a tail.

    Returns
    -------
    array (3, parameter)
        R̂ of a single chain is NaN.
    """
    parts = (draws[start : start + TOGETHER] for start in range(0, len(draws), TOGETHER))
    return np.concatenate([_convergence(np.asarray(part, float), tail) for part in parts], axis=1)


def _convergence(draws: Array, tail: float) -> Array:
    unknown = np.full((3, len(draws)), np.nan)
    if draws.shape[-1] < 4:
        return unknown
    flat = draws.reshape(len(draws), -1)
    known = np.isfinite(flat).all(-1)
    halves = _split(draws)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = _normal_scores(halves)
        folded = _normal_scores(abs(halves - np.median(halves, axis=(1, 2), keepdims=True)))
        r_hat = np.fmax(_r_hat(scores), _r_hat(folded)) if draws.shape[1] > 1 else unknown[0]
        ends = np.quantile(flat, [tail, 1 - tail], axis=-1)[..., None, None]
        low, high = (_effective(_split(draws <= end).astype(float)) for end in ends)
        figures = np.stack([r_hat, _effective(scores), np.minimum(low, high)])
    return np.where(known, figures, unknown)


def _split(draws: Array) -> Array:
    """Return the halves of chains as chains of their own, without the middle draw of an odd number."""
    half = draws.shape[-1] // 2
    return np.concatenate([draws[..., :half], draws[..., -half:]], axis=1)


def _normal_scores(draws: Array) -> Array:
    """Return the normal quantiles of ranks; equal values share the mean of their ranks."""
    values = draws.reshape(len(draws), -1)
    n = values.shape[-1]
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    new = np.ones(values.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    first = np.flatnonzero(new)
    equal = np.diff(first, append=new.size)
    twice_the_rank = np.repeat(2 * (first % n) + equal - 1, equal).reshape(values.shape)
    quantiles = ndtri((np.arange(2 * n - 1) / 2 + 1 - 3 / 8) / (n + 1 / 4))
    scores = np.empty(values.shape)
    np.put_along_axis(scores, order, quantiles[twice_the_rank], axis=-1)
    return scores.reshape(draws.shape)


def _r_hat(draws: Array) -> Array:
    """Return the root of the ratio of the variance of all draws to that within chains."""
    n = draws.shape[-1]
    between, within = n * draws.mean(-1).var(-1, ddof=1), draws.var(-1, ddof=1).mean(-1)
    return np.asarray(np.sqrt((between / within + n - 1) / n))


def _effective(draws: Array) -> Array:
    """Return the effective sample size: draws over the sum of their autocorrelations, by Geyer's monotone sequence."""
    chains, n = draws.shape[1:]
    means = draws.mean(-1, keepdims=True)
    spectrum = rfft(draws - means, next_fast_len(2 * n, real=True))
    power = (spectrum.real**2 + spectrum.imag**2).mean(1)
    covariance = irfft(power, next_fast_len(2 * n, real=True))[:, :n] / n
    within = covariance[:, :1] * n / (n - 1)
    correlation = 1 - (within - covariance) / (covariance[:, :1] + means[..., 0].var(-1, ddof=1)[:, None])
    correlation[:, 0] = 1
    # Sums of two, which are positive up to the first one that is noise.
    pairs = max(1, (n - 1) // 2)
    even = correlation[:, : 2 * pairs : 2]
    sums = even + correlation[:, 1 : 2 * pairs : 2]
    stop = np.where((sums > 0).all(-1), pairs - 1, (sums > 0).argmin(-1))[:, None]
    falling = np.minimum.accumulate(sums, axis=-1)
    at_stop, even_there = (np.take_along_axis(array, stop, axis=-1)[:, 0] for array in (sums, even))
    total = np.where(np.arange(pairs) < stop, falling, 0).sum(-1)
    time = 2 * total - 1 + np.where((at_stop >= 0) | (even_there > 0), even_there, 0)
    effective = chains * n / np.maximum(time, 1 / np.log10(chains * n))
    constant = np.ptp(draws, axis=(1, 2)) < np.finfo(float).resolution
    return np.asarray(np.where(constant, chains * n, effective))
