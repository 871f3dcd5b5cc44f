"""Whether intervals that treat samples as independent are trustworthy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import DependenceWarning, InputError, warn
from bayesperf.core.random_streams import streams
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.sequences.chain import (
    LabelSequences,
    TransitionPosterior,
    count_transitions,
    label_sequences,
)
from bayesperf.sequences.dependence_measures import bayes_factor, design_effect, variance_ratio

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
    (rng,) = streams(seed, "independence", xr.DataArray(0.0), [sequences.states])
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
