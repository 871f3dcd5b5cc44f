"""Point values of metrics of labelled matrices: counts, probabilities or posterior draws."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Numbers
from bayesperf.data.count_arrays import CELL_DIMS, has_uncounted_negatives, refuse_uncounted_cells
from bayesperf.data.counted import Counted, check_counted
from bayesperf.metrics.arguments import ClassSums
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import applicable


def evaluate(
    metric: Metric,
    cells: xr.DataArray,
    positive: int | None,
    skip_undefined: bool = False,
    parts: ClassSums | None = None,
) -> xr.DataArray:
    """Return a metric of labelled cells (…, actual, predicted), with a dim ``label`` if it has one value per class.

    `positive` is the position of the positive class; `Metric.evaluate` explains `skip_undefined` and `parts`.
    """
    cells = cells.transpose(..., *CELL_DIMS)
    per_class = metric.average == "per_class"
    dims = (*cells.dims[:-2], *(["label"] if per_class else []))
    coords = cells.coords.to_dataset().drop_dims(CELL_DIMS).coords
    if per_class:
        coords = coords.assign(label=cells["actual"].values)
    values = metric.evaluate(cells.values, positive, skip_undefined, parts)
    return xr.DataArray(values, coords, dims, name=metric.name)


def point_value(metric: Metric, cells: xr.DataArray, positive: int | None) -> xr.DataArray:
    """Return a metric of labelled cells as `score` does: NaN if undefined; averages omit undefined classes."""
    values = evaluate(metric, cells, positive, skip_undefined=True)
    return values.copy(deep=False, data=_known(metric, values.values))


def point_values(metric: Metric, cells: Numbers, positive: int | None) -> Numbers:
    """Return the same values for plain cells (…, K, K)."""
    return _known(metric, metric.evaluate(cells, positive, skip_undefined=True))


def _known(metric: Metric, values: Numbers) -> Numbers:
    low, high = metric.bounds
    return np.where(np.isfinite(values) | (values == low) | (values == high), values, np.nan)


@checked
def score(cm: Counted, metric: str | Metric) -> xr.DataArray:
    """Return the point value of a metric for every matrix.

    Parameters
    ----------
    cm : ConfusionMatrix or Outcomes
        Counts, with any leading dims.
    metric : str or Metric
        A name listed by `names`, an alias, or a `Metric`.

    Returns
    -------
    xarray.DataArray
        Values over the leading dims (and ``label`` for ``_per_class``). Undefined values (0/0) are NaN; ratios without
        an upper bound (likelihood ratios, the odds ratio) are inf if only the denominator is 0. Macro and weighted
        averages omit the classes for which the metric is undefined.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> bp.score(cm, "recall").item()
    0.8
    """
    check_counted(cm)
    positive = cm.positive
    metric = applicable(metric, cm.labels, positive, cm.dims, cm.graded)
    refuse_uncounted(metric, cm.cells)
    return point_value(metric, cm.cells, positive)


def refuse_uncounted(metric: Metric, counts: xr.DataArray | None) -> None:
    """Refuse a metric that needs true negatives for counts without them."""
    if has_uncounted_negatives(counts) and metric.needs_true_negatives():
        refuse_uncounted_cells(counts, "metric", f"{metric.name!r} needs")
