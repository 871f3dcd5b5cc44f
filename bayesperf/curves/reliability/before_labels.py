"""Metrics that labels are expected to show, before there are labels: from recalibrated probabilities.

Of examples that the system gives a probability p, a proportion q(p) is positive. The line q is learned from labelled
examples elsewhere, with its uncertainty; labels are then drawn for the new examples. Estimates that take one line as
certain (confidence-based performance estimation) have intervals that are too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import IdentifiabilityWarning, InputTypeError, warn
from bayesperf.core.words import chance
from bayesperf.curves.areas.bootstrapped_areas import twice_below
from bayesperf.curves.reliability.recalibration import Recalibration
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.quantity import Scope
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored

# Groups of neighbouring probabilities on either side of the threshold, whose labels are drawn together.
_GROUPS = 200
_LABELS = ["negative", "positive"]
_SCOPE = Scope("own", detail="the metric that labels of these examples would show")
_REFUSAL = "these figures are of these examples, before they have labels."
# From this proportion of examples beyond the labelled probabilities on, a warning says so.
_BEYOND = 0.05
# Tail probability of the largest difference of two distributions below which they are said to differ.
_DIFFERENT = 0.01


@dataclass(frozen=True, eq=False)
class ExpectedCells(StoredDraws):
    """Draws of the cells that labels of examples would show. Made by `bayesperf.curves.expected_metrics`."""

    independent_draws: bool = True
    refusal: str = _REFUSAL
    # What probabilities mean, and the examples from which it was learned.
    recalibration: Recalibration = field(kw_only=True)
    # The probabilities of the new examples, ascending, (n,).
    probabilities: Array = field(kw_only=True)
    # Examples with at least this probability are called positive.
    threshold: float = field(kw_only=True)

    def drift(self) -> pd.DataFrame:
        """Return how the probabilities differ from those of the labelled examples, in one row.

        Returns
        -------
        pandas.DataFrame
            ``largest_difference`` of the two distribution functions and its ``tail``, the probability of one at least
            as large if both samples came from one distribution (Kolmogorov & Smirnov); ``prob_higher``, how often a new
            probability is higher than a labelled one (½ if they are alike); and ``beyond``, the proportion of new ones
            outside the range of the labelled ones.
        """
        from scipy import stats

        counts, new = self.recalibration.counts, self.probabilities
        labelled = np.repeat(counts.values, counts.examples)
        test = stats.ks_2samp(labelled, new)
        row = {
            "labelled": len(labelled), "new": len(new), "largest_difference": test.statistic, "tail": test.pvalue,
            "prob_higher": twice_below(new, labelled).mean() / (2 * len(labelled)),
            "beyond": _beyond(self.recalibration, new),
        }  # fmt: skip
        return pd.DataFrame([row])

    def preface(self) -> list[str]:
        """Return what the figures rest on, and how the probabilities differ from the labelled ones."""
        row = self.drift().iloc[0]
        rests = (
            f"Nobody has labelled these {row['new']:,.0f} examples. The figures follow from what probabilities meant "
            f"for {row['labelled']:,.0f} labelled examples, and hold only while they mean the same."
        )
        if row["tail"] >= _DIFFERENT:
            return [rests, "The distributions of the probabilities do not differ visibly."]
        higher = row["prob_higher"] > 0.5
        share = chance(row["prob_higher"] if higher else 1 - row["prob_higher"])
        than = f"in {share} of pairs, the new example has the {'higher' if higher else 'lower'} one"
        return [rests, f"The distributions of the probabilities differ: {than}."]


@checked
def expected_metrics(
    y_prob: ArrayLike,
    recalibration: Recalibration,
    *,
    threshold: float = 0.5,
    group: Any = None,
    random_seed: Any = 0,
) -> Posterior:
    """Return the metrics that labels of examples would show, before there are labels.

    Parameters
    ----------
    y_prob : array-like (n,)
        The system's probabilities of the new examples.
    recalibration : Recalibration
        What such probabilities mean, by `recalibrate` of labelled examples that are otherwise like these.
    threshold : float
        Examples with at least this probability are called positive.
    group : label, optional
        The group of these examples, if `recalibration` has groups; by default a new one.
    random_seed : int or numpy.random.Generator
        Seed of the labels drawn.

    Returns
    -------
    Posterior
        With the labels "negative" and "positive", and a draw for each line of `recalibration`. Its source has
        ``drift()``.

    Raises
    ------
    TypeError, ValueError
        If `recalibration` is none, or probabilities are missing, outside [0, 1], or 0 or 1 with a logistic line.

    Warns
    -----
    IdentifiabilityWarning
        If more than 5 % of the probabilities are beyond those of the labelled examples.

    Notes
    -----
    That a probability still means what it meant is an assumption that no unlabelled data can check. If the population
    changes so that a score of 0.8 is now right less often, these figures do not show it. A changed distribution of the
    scores alone is taken into account.

    Examples
    --------
    >>> import bayesperf as bp
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.uniform(size=500)
    >>> line = bp.curves.recalibrate(rng.random(500) < y_prob**2, y_prob)
    >>> bp.curves.expected_metrics(rng.uniform(size=300), line)["precision"].mean().round(2).item()
    0.57
    """
    if not isinstance(recalibration, Recalibration):
        raise InputTypeError(
            "recalibration", f"must come from recalibrate(y_true, y_prob); it is {type(recalibration).__name__}."
        )
    probabilities = np.sort(checks.probabilities("y_prob", checks.vector("y_prob", y_prob)))
    if recalibration.method != "isotonic":
        checks.none_certain("y_prob", int(((probabilities == 0) | (probabilities == 1)).sum()))
    at, seed = checks.probability("threshold", threshold), checks.seed(random_seed)
    if (beyond := _beyond(recalibration, probabilities)) > _BEYOND:
        warn(
            IdentifiabilityWarning,
            "BP407",
            f"y_prob: {beyond:.0%} of the probabilities are beyond those of all labelled examples, so what they mean "
            "is extrapolated. Label some of them.",
        )
    cells = _drawn_cells(probabilities, recalibration, at, group, np.random.default_rng(seed))
    template = xr.DataArray(np.zeros((2, 2)), dict.fromkeys(CELL_DIMS, _LABELS), CELL_DIMS)
    source = ExpectedCells(
        stored(cells, template), recalibration=recalibration, probabilities=probabilities, threshold=at
    )
    return Posterior(source=source, pos_label="positive", prior_text=recalibration.prior, scope=_SCOPE)


def _drawn_cells(
    probabilities: Array, recalibration: Recalibration, threshold: float, group: Any, rng: np.random.Generator
) -> Array:
    """Return proportions of the cells (draws, 2, 2) of drawn labels."""
    sides = []
    for part in np.split(probabilities, [np.searchsorted(probabilities, threshold)]):
        groups = np.array_split(part, min(_GROUPS, max(len(part), 1)))
        sizes = np.array([len(each) for each in groups])
        if not len(part):
            sides.append((np.zeros(recalibration.parameters.sizes["sample"]), 0))
            continue
        line: Any = recalibration.predict(np.array([each.mean() for each in groups]), group).distribution
        sides.append((rng.binomial(sizes[:, None], line.values[:, 0]).sum(0), len(part)))
    (fn, below), (tp, above) = sides
    cells = np.stack([below - fn, above - tp, fn, tp], -1) / len(probabilities)
    return np.asarray(cells.reshape(-1, 2, 2))


def _beyond(recalibration: Recalibration, probabilities: Array) -> float:
    """Return the proportion of probabilities outside the range of the labelled ones."""
    values = recalibration.counts.values
    return float(((probabilities < values[0]) | (probabilities > values[-1])).mean())
