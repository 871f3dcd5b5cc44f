"""The average of a metric over the labels of examples with several labels: a joint posterior of all labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, blocks
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.data.cross_tabulation import LABEL, Indicators, cross_tabulate
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.drawing import LEAST_MASS
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import score
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.joint_systems import process_masses
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.posterior import DRAWS
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.quantity import Quantity, Scope

# Maximum size of temporary arrays.
_BLOCK = 2**21


@checked
def average_labels(
    y_true: Any,
    y_pred: Any,
    metric: str | Metric,
    prior: str | priors.Prior | None = None,
    *,
    labels: Iterable[Any] | None = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Marginal:
    """Return the posterior of the mean of a metric over labels, for examples with several labels or none.

    This is scikit-learn's macro average of multilabel predictions. Labels that are found, or missed, in the same
    examples repeat the same information. So the average is less certain than for independent labels, and this function
    takes that into account.

    Parameters
    ----------
    y_true, y_pred : array-like (n, L)
        Arrays or frames of 0 and 1, with a column for each label.
    metric : str or Metric
        A metric of two classes, such as "f1".
    prior : str or Prior, optional
        Prior of each label's cells, as in `bayesperf.posterior`.
    labels : sequence, optional
        Names of the labels, which errors name.
    draws : int
        Number of joint draws of all labels.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Marginal
        Computed from draws; `Marginal.mcse` gives their Monte Carlo error. For each label by itself, exactly, use
        ``posterior(y_true, y_pred)[metric]``.

    Raises
    ------
    ValueError
        If the arrays are not of 0 and 1 and of the same shape, the metric is not for two classes, or the prior has no
        pseudo-counts, or a different number for some labels.

    Notes
    -----
    The patterns of all labels, (in or not, predicted or not) for each, have a Dirichlet process as their prior,
    whose margins are the Dirichlet priors of the labels: see `bayesperf.posteriors.joint_systems.joint_posterior`. So
    the posterior of each label is the same as if it had been judged alone.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((200, 3)) < 0.4
    >>> y_pred = y_true ^ (rng.random((200, 3)) < 0.1)
    >>> average = bp.groups.average_labels(y_true, y_pred, "f1")
    >>> average.mean().round(2).item(), average.hdi().round(2).values
    (0.87, array([0.84, 0.9 ]))
    """
    known = Indicators.of(y_true, y_pred, labels)
    cm = ConfusionMatrix(cross_tabulate(known.columns({})))
    wanted = applicable(metric, cm.labels, 1, (LABEL,))
    resolved = priors.resolve_dirichlet(prior, 2, "averages over labels")
    posterior(cm, resolved)[wanted]  # refuses an improper posterior of any label
    alpha = _pseudo_counts(cm, resolved)
    patterns, counts = np.unique(2 * known.y_true + known.y_pred, axis=0, return_counts=True)
    origin = AverageOfLabels(wanted, alpha, counts, patterns, checks.seed(random_seed))
    values = origin.sampled(checks.count("draws", draws, least=2), None)
    name = f"{wanted.name}_macro"
    return Marginal(
        replace(Quantity.of(wanted, Scope("labels", n=len(known.labels))), metric=name),
        Draws.of(name, values[:, None], wanted.bounds, True),
        xr.DataArray(0.0),
        origin,
        examples=cm.counts.sum(LABEL),
        score=score(cm, wanted).mean(LABEL),
    )


def _pseudo_counts(cm: ConfusionMatrix, prior: priors.Prior) -> Array:
    """Return the prior weights of the cells of each label, (L, 4)."""
    alpha = prior.concentration(cm).reshape(-1, 4)
    if not np.allclose(alpha.sum(1), alpha[0].sum(), rtol=1e-9, atol=0):
        raise InputError("prior", "its pseudo-counts must sum to the same for all labels, which share the examples.")
    return alpha


@dataclass(frozen=True, eq=False)
class AverageOfLabels(Origin):
    """Joint draws of the mean of a metric over labels.

    Attributes
    ----------
    metric : Metric
        The metric of each label.
    alpha : Array (L, 4)
        Prior weights of the cells.
    counts, patterns : array (o,), (o, L)
        How often each pattern of true and predicted labels was seen, and which it is.
    random_seed : int
        Seed of the draws, if none is given.
    """

    metric: Metric
    alpha: Array
    counts: NDArray[np.int64]
    patterns: NDArray[np.intp]
    random_seed: int

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        seed, alpha = self.random_seed if random_seed is None else random_seed, self.alpha
        content = np.column_stack([self.counts, self.patterns])
        (rng,) = streams(seed, "average_labels", xr.DataArray(0.0), [content])
        averages = np.empty((1, draws))
        for block in blocks(draws, max(len(self.counts), 8 * len(alpha)), _BLOCK):
            cells = process_masses(rng, block.stop - block.start, alpha, self.counts, self.patterns)
            np.maximum(cells, np.where(alpha > 0, LEAST_MASS, 0)[:, None], out=cells)
            cells /= cells.sum(-1, keepdims=True)
            averages[0, block] = self.metric.evaluate(cells.reshape(*cells.shape[:-1], 2, 2), 1).mean(0)
        return averages
