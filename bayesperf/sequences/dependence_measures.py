"""How much samples in order of time depend on each other: design effects, Bayes factors, autocorrelations; a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import betaln, ndtr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Booleans, Codes, Counts, Numbers, complex_step
from bayesperf.core.errors import DependenceWarning, InputError, warn
from bayesperf.core.random_streams import streams
from bayesperf.distributions.draws import rank_envelope
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.sequences.chain import (
    ChainParameters,
    LabelSequences,
    TransitionPosterior,
    count_transitions,
    label_sequences,
)

# Probability of the band of autocorrelations.
_BAND = 0.95
# Lags of autocorrelations, as far as sequences are long enough for them.
_LAGS = (1, 2, 5, 10, 25)


@checked
def design_effect(
    y_true: Any,
    y_pred: Any,
    metric: str | Metric = "recall",
    by: Any = None,
    prior: float = 0.5,
    *,
    chain: str = "z_prev,g_prev",
    pos_label: Any = None,
    labels: Iterable[Any] | None = None,
) -> xr.DataArray:
    """Return how many of these samples carry as much information as one independent sample, for a metric.

    Parameters
    ----------
    metric : str or Metric
        Any metric of a matrix of two classes.
    y_true, y_pred, by, prior, chain, pos_label, labels
        As in `posterior`; the effect is for the chain with the mean parameters.

    Returns
    -------
    xarray.DataArray
        0-d: D, the variance of the metric in a long sequence divided by its variance in the same number of independent
        samples. Its ``attrs``: ``effective_size``, n/D (the trials of recall are only the positives, so positives/D are
        effective), and ``independent_coverage``, how often the 95 % interval of order 0 then covers the long-run
        metric, about 2Φ(1.96/√D) − 1.

    Notes
    -----
    D = ∇hᵀ S ∇h / ∇hᵀ (W − wwᵀ) ∇h with S = WZ + ZᵀW − W − wwᵀ and Z = (I − T + 1w)⁻¹, the fundamental matrix of Kemeny
    & Snell (1960), Finite Markov Chains; w the long-run cells, W = diag(w), T the transition matrix, h the metric. A
    two-state chain with λ = a_0 + a_1 − 1 has D = (1 + λ)/(1 − λ).

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(500, persistence=0.9, random_seed=1)
    >>> effect = bp.sequences.design_effect(frames["actual"], frames["predicted"])
    >>> effect.round(1).item(), round(effect.attrs["effective_size"]), round(effect.attrs["independent_coverage"], 2)
    (5.7, 87, 0.59)
    """
    checks.beta_weight("prior", prior)
    sequences = label_sequences(y_true, y_pred, by, labels, pos_label)
    cm = sequences.cm
    positive = cm.positive
    measure = single_valued(metric, cm.labels, positive)
    mean = TransitionPosterior.of(count_transitions(sequences, chain), prior).mean()
    value = float(variance_ratio(mean, partial(measure.evaluate, positive=positive)))
    facts = {
        "metric": measure.name,
        "effective_size": len(sequences.states) / value,
        "independent_coverage": float(2 * ndtr(1.96 / np.sqrt(value)) - 1),
    }
    return xr.DataArray(value, name="design_effect", attrs=facts)


def variance_ratio(chain: ChainParameters, metric: Callable[[Any], Any]) -> Array:
    """Return the variance of a metric in a long chain divided by that in independent samples, for each draw.

    The letters are the same as in `design_effect`.
    """
    w = np.moveaxis(chain.stationary_cells().reshape(4, *chain.stay.shape[1:]), 0, -1)
    t = np.moveaxis(chain.transition_matrix(), (0, 1), (-2, -1))
    diagonal, outer = w[..., None] * np.eye(4), w[..., :, None] * w[..., None, :]
    wz = w[..., None] * np.linalg.inv(np.eye(4) - t + w[..., None, :])
    s = wz + np.swapaxes(wz, -1, -2) - diagonal - outer

    def value(cells: Numbers) -> Any:
        return metric(cells.reshape(*w.shape, 2, 2))

    gradient = complex_step(value, w[..., None, :], np.eye(4), step=1e-20)
    dependent, independent = (np.einsum("...i,...ij,...j", gradient, m, gradient) for m in (s, diagonal - outer))
    # A variance is not negative; rounding makes it so of chains that hardly ever leave a state.
    return np.asarray(np.maximum(dependent / independent, 0))


@checked
def bayes_factor(
    y_true: Any,
    y_pred: Any,
    by: Any = None,
    prior: float = 0.5,
    *,
    chain: str = "z_prev,g_prev",
    labels: Iterable[Any] | None = None,
) -> xr.DataArray:
    """Return the log Bayes factors of dependence over independence.

    Parameters
    ----------
    y_true, y_pred, by, prior, chain, labels
        As in `posterior`.

    Returns
    -------
    xarray.DataArray
        ``log_bayes_factor``, natural logarithms, over dim ``of``: "actual", whether the actual label depends on the
        previous one; "predicted", whether a prediction, given the actual label, depends on previous labels. Above 0 the
        samples support dependence, below 0 independence; 3 means odds of twenty to one.

    Notes
    -----
    With b(u, v) = log B(u + c, v + c) − log B(c, c) and prior c: for actual labels b(n_01, n_00) + b(n_11, n_10) −
    b(sums); for predictions Σ_g [Σ_hj b(m_ghj1, m_ghj0) − b(sums)].

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(500, persistence=0.8, error_persistence=0.5, random_seed=1)
    >>> bp.sequences.bayes_factor(frames["actual"], frames["predicted"]).values.round(1)
    array([92.9, -9.1])
    """
    checks.beta_weight("prior", prior)
    counts = count_transitions(label_sequences(y_true, y_pred, by, labels), chain)
    tables = {"actual": counts.actual, "predicted": counts.predicted.reshape(2, -1, 2)}
    values = [log_evidence_ratio(table, prior) for table in tables.values()]
    return xr.DataArray(values, {"of": list(tables)}, "of", name="log_bayes_factor")


def log_evidence_ratio(counts: Counts, prior: float) -> float:
    """Return the log Bayes factor of a rate for each condition over one rate for all, of counts (…, conditions, 2)."""

    def log_evidence(outcomes: Counts) -> Any:
        return betaln(*np.moveaxis(outcomes + prior, -1, 0)) - betaln(prior, prior)

    return float(log_evidence(counts).sum() - log_evidence(counts.sum(-2)).sum())


@checked
def autocorrelation(
    y_true: Any,
    y_pred: Any,
    by: Any = None,
    lags: Sequence[int] | None = None,
    prior: float = 0.5,
    *,
    chain: str = "z_prev,g_prev",
    labels: Iterable[Any] | None = None,
    draws: int = 2_000,
    random_seed: Any = 0,
) -> xr.Dataset:
    """Check the chain: compare the autocorrelation of correctness with what the chain predicts.

    A chain forgets. If errors persist through a scene that it does not see, correctness stays correlated at long lags,
    and the chain's intervals are too narrow as well.

    Parameters
    ----------
    lags : sequence of int, optional
        Distances between samples; each shorter than the longest sequence. By default 1, 2, 5, 10 and 25, without those
        too long for the sequences: at least half of the samples must have a sample this much later in their sequence.
        Sequences of ten samples keep 1, 2 and 5.
    y_true, y_pred, by, prior, chain, labels
        As in `posterior`.
    draws : int
        Number of simulations for the band.
    random_seed : int or numpy.random.Generator
        Seed of the simulations.

    Returns
    -------
    xarray.Dataset
        Over dim ``lag``: ``observed``, the autocorrelation of being right, within sequences; ``lower`` and ``upper``,
        the 95 % band of the chain's posterior predictive, for sequences of the same number and lengths; ``outside``.
        The band is simultaneous: at least 95 % of the simulations are inside it at all lags at once. Its ``attrs`` name
        the default lags that were too long, ``lags_left_out``.

    Warns
    -----
    DependenceWarning
        If the observed value at some lag is outside.

    Raises
    ------
    ValueError
        If a lag is not shorter than the longest sequence, or every prediction is right, or wrong.

    Notes
    -----
    The band is a rank envelope: at every lag it excludes the same number of simulations at either end. Simulations
    whose predictions are all right or all wrong have no autocorrelation; ``attrs["undefined"]`` is their proportion.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(500, persistence=0.9, random_seed=1)
    >>> check = bp.sequences.autocorrelation(frames["actual"], frames["predicted"])
    >>> check["outside"].values
    array([False, False, False, False, False])
    """
    checks.beta_weight("prior", prior)
    draws, seed = checks.count("draws", draws, least=100), checks.seed(random_seed)
    sequences = label_sequences(y_true, y_pred, by, labels)
    transitions = TransitionPosterior.of(count_transitions(sequences, chain), prior)
    used = usual_lags(sequences) if lags is None else _checked_lags(lags, sequences)
    observed = autocorrelations(_correct(sequences.states)[:, None], sequences.sequence, used)[:, 0]
    if np.isnan(observed).any():
        raise InputError("y_pred", "its predictions are all right or all wrong, which leaves nothing to correlate.")
    rng = np.random.default_rng(seed)
    drawn = transitions.draw(draws, rng)
    simulated = np.stack([_correct(states) for states in drawn.simulate(sequences.starts, rng)])
    values = autocorrelations(simulated, sequences.sequence, used)
    defined = np.isfinite(values).all(0)
    lower, upper = autocorrelation_band(values[:, defined])
    outside = (observed < lower) | (observed > upper)
    if outside.any():
        where = ", ".join(str(lag) for lag, out in zip(used, outside, strict=True) if out)
        warn(
            DependenceWarning,
            "BP108",
            f"the autocorrelation of correctness at lag {where} is not what the chain predicts: errors persist in a "
            "way it does not see, and its intervals are not to be trusted. Count by scene, video or subject and pool "
            "those: bayesperf.pool(cm, dim='scene', groups='clusters').",
        )
    variables = {"observed": observed, "lower": lower, "upper": upper, "outside": outside}
    facts = {"ci_prob": _BAND, "ci_kind": "simultaneous", "draws": draws, "undefined": float(1 - defined.mean()),
             "lags_left_out": [lag for lag in _LAGS if lags is None and lag not in used]}  # fmt: skip
    return xr.Dataset({name: ("lag", value) for name, value in variables.items()}, {"lag": used}, facts)


def usual_lags(sequences: LabelSequences) -> list[int]:
    """Return the default lags at which at least half of the samples have a later sample of their sequence."""
    lengths = np.bincount(sequences.sequence)
    return [lag for lag in _LAGS if 2 * np.maximum(lengths - lag, 0).sum() >= lengths.sum()]


def _checked_lags(lags: Sequence[int], sequences: LabelSequences) -> list[int]:
    lags = [checks.count("lags: each", lag) for lag in lags]
    longest = int(np.bincount(sequences.sequence).max())
    if not lags or max(lags) >= longest:
        raise InputError(
            "lags", f"must be some, each shorter than the longest sequence, of {longest} samples; they are {lags}."
        )
    return lags


def _correct(states: Codes) -> Booleans:
    """Return whether the prediction is right in each state."""
    return np.isin(states, (0, 3))


def autocorrelations(correct: Booleans, sequence: Codes, lags: Sequence[int]) -> Array:
    """Return the autocorrelations (lags, m) within sequences of m series (n, m); NaN where a series is constant.

    At each lag, this is the mean over pairs at that distance in one sequence, of deviations from the mean of all
    samples.
    """
    mean = correct.mean(0)
    values = []
    for lag in lags:
        pairs = sequence[lag:] == sequence[:-lag]
        past, present = correct[:-lag][pairs], correct[lag:][pairs]
        values.append((past & present).mean(0) - mean * (past.mean(0) + present.mean(0)) + mean**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack(values) / (mean * (1 - mean))


def autocorrelation_band(values: Array) -> tuple[Array, Array]:
    """Return the bounds (lags,) that contain at least 95 % of the simulated autocorrelations (lags, m) at all lags."""
    outside = int(np.floor((1 - _BAND) * (values.shape[1] - 1)))
    lower, upper = rank_envelope(values.T, outside, ties="ordered").T
    return lower, upper


# ── Whether intervals that treat samples as independent are trustworthy ──

# Probability of the interval of the design effect.
_PROB = 0.95


@checked
def check_independence(
    y_true: Any,
    y_pred: Any,
    by: Any = None,
    metric: str | Metric = "recall",
    prior: float = 0.5,
    *,
    factor: float = 1.1,
    chain: str = "z_prev,g_prev",
    pos_label: Any = None,
    labels: Iterable[Any] | None = None,
    draws: int = 4_000,
    random_seed: Any = 0,
) -> xr.Dataset:
    """Check whether intervals for independent samples may be used for samples in order of time.

    Parameters
    ----------
    metric : str or Metric
        Any metric of a matrix of two classes. If labels persist and errors are nevertheless independent of each other,
        intervals for recall are right, and intervals for accuracy, which mixes both classes, are not.
    factor : float
        The factor by which an interval may be too narrow, above 1. A 95 % interval that is too narrow by 1.1 covers
        92.5 %.
    draws : int
        Number of draws for the interval of the design effect.
    random_seed : int or numpy.random.Generator
        Seed of the draws.
    y_true, y_pred, by, prior, chain, pos_label, labels
        As in `posterior`.

    Returns
    -------
    xarray.Dataset
        ``log_bayes_factor`` (of), as in `bayes_factor`; ``design_effect`` D, as in `design_effect`, with its 95 %
        equal-tailed posterior interval ``design_effect_interval`` (ci_bound); ``effective_size``, n/D; ``narrowness``,
        √D, the factor by which intervals for independent samples are too narrow; ``independent_coverage``, how often a
        95 % one then covers. Its ``attrs`` have the ``verdict``, "dependent", "independent" or "undecided", and its
        meaning in words, ``advice``.

    Raises
    ------
    ValueError
        If `factor` is not above 1; if the metric's variance is 0 in the long run.

    Warns
    -----
    DependenceWarning
        If the verdict is "dependent": intervals are too narrow by more than `factor`, and the interval of D is above 1.

    Notes
    -----
    The verdict is "independent" if even the upper end of the interval for √D is at most `factor`; otherwise, if not
    "dependent", it is "undecided": the samples do not tell, and the posterior of the chain allows for it. This is about
    the chain alone: `autocorrelation` shows whether errors persist in other ways, such as through hard scenes.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(4_000, persistence=0.9, error_persistence=0.5, recall=0.9, random_seed=1)
    >>> check = bp.sequences.check_independence(frames["actual"], frames["predicted"], metric="recall")
    >>> check.attrs["verdict"], check["design_effect_interval"].values.round(2)
    ('independent', array([0.89, 1.03]))
    """
    if not 1 < checks.number("factor", factor) < np.inf:
        raise InputError("factor", f"must be above 1, by how much an interval may be too narrow; it is {factor}.")
    draws, seed = checks.count("draws", draws, least=100), checks.seed(random_seed)
    factors = bayes_factor(y_true, y_pred, by, prior, chain=chain, labels=labels)
    effect = design_effect(y_true, y_pred, metric, by, prior, chain=chain, pos_label=pos_label, labels=labels)
    sequences = label_sequences(y_true, y_pred, by, labels, pos_label)
    drawn = _drawn_effects(sequences, effect.attrs["metric"], prior, chain, draws, seed)
    lower, upper = np.quantile(drawn, [(1 - _PROB) / 2, (1 + _PROB) / 2])
    too_narrow = effect.item() > factor**2 and lower > 1
    verdict = "dependent" if too_narrow else "independent" if upper <= factor**2 else "undecided"
    advice = _advice(verdict, effect, (float(lower), float(upper)), len(sequences.states), factor)
    if too_narrow:
        warn(DependenceWarning, "BP109", advice)
    variables = {
        "log_bayes_factor": factors,
        "design_effect": effect.drop_attrs(),
        "design_effect_interval": ("ci_bound", [lower, upper]),
        "effective_size": effect.attrs["effective_size"],
        "narrowness": np.sqrt(effect.item()),
        "independent_coverage": effect.attrs["independent_coverage"],
    }
    facts = {"verdict": verdict, "advice": advice, "metric": effect.attrs["metric"], "factor": factor, "ci_prob": _PROB,
             "ci_kind": "eti", "draws": draws}  # fmt: skip
    return xr.Dataset(variables, {"ci_bound": ["lower", "upper"]}, facts)


def _drawn_effects(sequences: LabelSequences, name: str, prior: float, chain: str, draws: int, seed: int) -> Array:
    """Return posterior draws of the design effect of a metric."""
    cm = sequences.cm
    positive = cm.positive
    metric = single_valued(name, cm.labels, positive)
    (rng,) = streams(seed, "independence", NO_DIMS, [sequences.states])
    drawn = TransitionPosterior.of(count_transitions(sequences, chain), prior).draw(draws, rng)
    return variance_ratio(drawn, partial(metric.evaluate, positive=positive))


def _advice(verdict: str, effect: xr.DataArray, interval: tuple[float, float], n: int, factor: float) -> str:
    """Return in words what a verdict means, and what to do."""
    name, worth = effect.attrs["metric"], effect.attrs["effective_size"]
    narrow, (low, high) = np.sqrt(effect.item()), np.sqrt(interval)
    measured = f"they should be {narrow:.2f} times as wide ({100 * _PROB:g} % interval {low:.2f} to {high:.2f})"
    coverage = 100 * effect.attrs["independent_coverage"]
    match verdict:
        case "dependent":
            return (
                f"intervals of {name} for independent examples are too narrow: {measured}. The {n} examples are worth "
                f"{worth:.0f}, and such a 95 % interval contains the truth with probability {coverage:.0f} %. Use "
                "bayesperf.sequences.posterior, or block_bootstrap."
            )
        case "independent":
            return f"intervals of {name} for independent examples may be used: {measured}."
    return (
        f"these examples do not show whether intervals of {name} for independent examples may be used: {measured}, "
        f"and {factor:g} is allowed. bayesperf.sequences.posterior is right in either case."
    )
