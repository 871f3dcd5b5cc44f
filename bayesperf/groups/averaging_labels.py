"""The average of a metric over the labels of examples with several labels: a joint posterior of all labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, blocks
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.data.axis_names import LABEL, MODEL
from bayesperf.data.cross_tabulation import Indicators, cross_tabulate
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.drawing import LEAST_MASS
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import score
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.paired_systems import process_masses
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
        Arrays or frames of 0 and 1, with a column for each label. A mapping of systems to the `y_pred` of each becomes
        the dim ``model``, with joint draws, so that `bayesperf.compare` compares them on the same examples.
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
    whose margins are the Dirichlet priors of the labels: see `bayesperf.posteriors.paired_systems.joint_posterior`. So
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
    several = isinstance(y_pred, Mapping)
    systems = dict(y_pred) if several else {"": y_pred}
    if not systems:
        raise InputError("y_pred", "name one system or more, with an array each.")
    each = [Indicators.of(y_true, predicted, labels) for predicted in systems.values()]
    matrices = [ConfusionMatrix(cross_tabulate(known.columns({}))) for known in each]
    wanted = applicable(metric, matrices[0].labels, 1, (LABEL,))
    origin = _origin(wanted, each, matrices, prior, checks.seed(random_seed))
    values = origin.sampled(checks.count("draws", draws, least=2), None)
    leading = xr.DataArray(np.zeros(len(systems)), {MODEL: list(systems)}, [MODEL]) if several else NO_DIMS
    observed = np.array([score(cm, wanted).mean(LABEL).item() for cm in matrices])
    name = f"{wanted.name}_macro"
    return Marginal(
        replace(Quantity.of(wanted, Scope("labels", n=len(each[0].labels))), metric=name),
        Draws.of(name, values[:, None], wanted.bounds, True),
        leading,
        origin,
        examples=None if several else matrices[0].counts.sum(LABEL),
        joint=several,
        score=leading.copy(data=observed.reshape(leading.shape)),
    )


def _origin(
    metric: Metric, each: Sequence[Indicators], matrices: Sequence[ConfusionMatrix], prior: Any, seed: int
) -> AverageOfLabels:
    """Return the source of draws: a label after the other, and for each one system after the other."""
    resolved = priors.resolve_dirichlet(prior, 2, "averages over labels")
    for cm in matrices:
        posterior(cm, resolved)[metric]  # refuses an improper posterior of any label
    alpha = np.stack([_pseudo_counts(cm, resolved) for cm in matrices], 1).reshape(-1, 4)
    patterns = np.stack([2 * known.y_true + known.y_pred for known in each], 2).reshape(len(each[0].y_true), -1)
    patterns, counts = np.unique(patterns, axis=0, return_counts=True)
    return AverageOfLabels(metric, alpha, counts, patterns, seed, len(matrices))


def _pseudo_counts(cm: ConfusionMatrix, prior: priors.Prior) -> Array:
    """Return the prior weights of the cells of each label, (L, 4)."""
    alpha = prior.concentration(cm).reshape(-1, 4)
    if not np.allclose(alpha.sum(1), alpha[0].sum(), rtol=1e-9, atol=0):
        raise InputError("prior", "its pseudo-counts must sum to the same for all labels, which share the examples.")
    return alpha


@dataclass(frozen=True, eq=False)
class AverageOfLabels(Origin):
    """Joint draws of the mean of a metric over labels."""

    # The metric of each label.
    metric: Metric
    # Prior weights of the cells, (L, 4).
    alpha: Array
    # How often each pattern of true and predicted labels was seen, (o,), and which it is, (o, L).
    counts: NDArray[np.int64]
    patterns: NDArray[np.intp]
    # Seed of the draws, if none is given.
    random_seed: int
    # How many systems there are, each of which has every label.
    systems: int = 1

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        seed, alpha = self.random_seed if random_seed is None else random_seed, self.alpha
        content = np.column_stack([self.counts, self.patterns])
        (rng,) = streams(seed, "average_labels", NO_DIMS, [content])
        averages = np.empty((self.systems, draws))
        for block in blocks(draws, max(len(self.counts), 8 * len(alpha)), _BLOCK):
            cells = process_masses(rng, block.stop - block.start, alpha, self.counts, self.patterns, self.systems)
            np.maximum(cells, np.where(alpha > 0, LEAST_MASS, 0)[:, None], out=cells)
            cells /= cells.sum(-1, keepdims=True)
            by_label = cells.reshape(-1, self.systems, *cells.shape[1:-1], 2, 2)
            averages[:, block] = self.metric.evaluate(by_label, 1).mean(0)
        return averages
