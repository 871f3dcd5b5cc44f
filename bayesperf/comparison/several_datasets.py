"""Comparison of two systems on several data sets by a hierarchical model of all their cross-validated scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.comparison.contrast import of_difference
from bayesperf.comparison.result import Comparison
from bayesperf.comparison.score_differences import over_folds
from bayesperf.comparison.sign_and_rank_tests import NextDataset, largest, mean_of_draws, over_regions
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError
from bayesperf.data.fold_scores import fold_scores
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.normal import StudentT
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.tree_attributes import PRIOR


@checked
def datasets(
    scores: xr.DataArray,
    *,
    dim: str = "dataset",
    rope: float = 0.0,
    test_fraction: float,
    greater_is_better: bool | None = True,
    random_seed: Any = 0,
    **fit_options: Any,
) -> Comparison:
    """Compare two systems by their cross-validated scores on several data sets.

    Parameters
    ----------
    scores : xarray.DataArray
        Scores with dims `dim`, ``model`` (two: a and b, in this order) and ``fold``, and ``repeat`` if cross-validation
        was repeated; of any metric, in any unit. The name of the array is the name of the metric.
    dim : str
        The dim of the data sets; there must be at least two.
    rope : float
        Half-width of the region of practical equivalence, in the unit of the scores.
    test_fraction : float
        Fraction of a data set's examples that each fold tests: 1/k for k folds, repeated or not; for random splits, the
        fraction used to make them.
    greater_is_better : bool or None
        Whether greater scores are better.
    random_seed : int or numpy.random.Generator
        Seed of the fit.
    **fit_options
        Arguments of `bayesperf.fit`: ``priors``, ``draws``, ``tune``, ``chains``, ``progressbar`` and options of the
        sampler.

    Returns
    -------
    Comparison
        The average over the population of data sets; `tree` is the fit of `bayesperf.models.datasets`. Its
        `next_dataset` describes a data set not yet seen, which differs from the average.

    Raises
    ------
    TypeError
        If `scores` is not a DataArray of numbers with these dims.
    ValueError
        If the number of models is not two, there are fewer than two data sets or folds, or scores are missing; if all
        folds of a data set have the same difference; if `test_fraction` is not between 0 and 1, or `rope` is negative.

    Warns
    -----
    ConvergenceWarning
        If the draws are unreliable; see `bayesperf.fit`.

    Notes
    -----
    The model is `bayesperf.models.datasets`: differences between folds have the correlation `test_fraction`, and
    differences between data sets have a Student-t distribution. Given its parameters, the probabilities for the next
    data set are exact.

    With two or three data sets, the probabilities of the next data set depend strongly on the priors.

    References
    ----------
    Corani, Benavoli, Demšar, Mangili & Zaffalon (2017), Machine Learning 106; their package prints ``prob_largest``.

    Examples
    --------
    >>> import bayesperf as bp
    >>> comparison = bp.folds.datasets(scores, rope=0.01, test_fraction=1 / 10)  # doctest: +SKIP
    >>> comparison.next_dataset.summary()  # doctest: +SKIP
    """
    # What takes long to load, and other comparisons do without.
    from bayesperf.sampling.fitting import fit

    width, fraction = checks.rope(rope), checks.probability("test_fraction", test_fraction)
    if dim in ("model", "fold"):
        raise InputError(
            "dim",
            f"{dim!r} is not a dim of data sets.",
            "Write dim='dataset'; for one data set, folds.correlated_ttest compares two systems.",
        )
    data = fold_scores(over_folds(scores), "scores", dim)
    if data.sizes["dataset"] < 2:
        raise InputError("scores", f"there is one {dim}; ask correlated_ttest of its folds.")
    tree = fit(data, "datasets", options={"test_fraction": fraction}, random_seed=random_seed, **fit_options)
    return comparison_of_fit(tree, data, width, fraction, greater_is_better)


def comparison_of_fit(
    tree: xr.DataTree, data: xr.DataArray, rope: float, test_fraction: float, greater_is_better: bool | None
) -> Comparison:
    """Return the comparison derived from a fit to scores (dataset, model, fold)."""
    posterior = tree["posterior"].to_dataset()
    average, spread, tail = (
        posterior[name].transpose("chain", "draw").values for name in ("average", "spread_of_datasets", "tail")
    )
    shares = _next_regions(average, spread, 1 + tail, rope)
    metric = "score" if data.name is None else str(data.name)
    distribution = Draws.of(metric, average[None], (-np.inf, np.inf), independent_draws=False)
    basis = f"{posterior.attrs.get(PRIOR, '')}; folds correlated by {test_fraction:.3g}"
    names = tuple(data["model"].values.tolist())
    quantity = Quantity(metric, Scope("datasets"), "difference", greater_is_better)
    comparison = of_difference(quantity, distribution, names, rope, basis, tree)
    next_dataset = NextDataset(
        method="hierarchical model",
        names=comparison.names,
        rope=rope,
        basis=comparison.basis,
        shares=over_regions(shares.reshape(-1, 3), rope),
        prob_rope=mean_of_draws(shares, rope, independent_draws=False),
        prob_largest=mean_of_draws(largest(shares), rope, independent_draws=False),
        prob_rope_average=comparison.prob_rope,
    )
    return replace(comparison, next_dataset=next_dataset)


def _next_regions(average: NDArray[Any], spread: NDArray[Any], df: NDArray[Any], rope: float) -> NDArray[np.float64]:
    """Return the probabilities of the regions for the next data set in each draw, (chain, draw, 3)."""
    population = StudentT.of(average, spread, df)
    below, above = population.cdf(np.array([[-rope]])), population.sf(np.array([[rope]]))
    inside = np.clip(1 - below - above, 0, 1) if rope else np.zeros_like(below)
    return np.concatenate([below, inside, above], -1).reshape(*average.shape, 3)
