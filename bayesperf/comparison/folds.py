"""Cross-validated scores: what a set of folds says, and of what.

=======================================  ==============================================================================
answer                                   it is the performance of
=======================================  ==============================================================================
``posterior(cm.sum("fold"))``            pooled: one common rate behind all folds. The folds' models count as one model
`average_folds`                          these folds: the average of the rates that their models have, each known by its
                                         own examples alone
``pool(cm).groups``                      these folds, one by one, each drawn towards the others as far as they agree
``pool(cm).mean``                        the population that the folds are a sample of: models trained on as many
                                         examples, tested on more of the same
``pool(cm).new_group``                   a new fold. Of sites or subjects this is the question; of random folds the
                                         answer is mostly the prior's
`correlated_ttest`                       the population mean of the difference of two systems' scores on one data set;
                                         the training sets overlap, which widens it
`bayesperf.compare_scores`               the difference of two systems on data sets: on average, and on the next one
=======================================  ==============================================================================

None of them is the performance of the final model, refitted on all data. It has more examples to learn from, so it is
usually a little better, and no cross-validation tells how far it is from the folds' models: at up to about 100 examples
every interval here is somewhat optimistic for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.comparison.result import Comparison
from bayesperf.comparison.score_differences import differences
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.warnings import PriorWarning
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.student_t import StudentT
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.dirichlet import DirichletPosterior
from bayesperf.posteriors.marginal import Marginal, Sampler
from bayesperf.posteriors.posterior import DRAWS, Posterior, SampledPosterior

__all__ = ["average_folds", "correlated_ttest"]

# Standard deviations by which a prior may move an average before it is said.
_MOVED = 0.25


def average_folds(
    post: Posterior, metric: str | Metric, dim: str = "fold", draws: int = DRAWS, random_seed: Any = 0
) -> Marginal:
    """Return the posterior of the mean of a metric over the folds.

    Parameters
    ----------
    post : Posterior
        With leading dim `dim`; other leading dims are kept.
    metric : str or Metric
        What is averaged.
    dim : str
        The leading dim of the folds.
    draws : int
        Draws of each fold of an exact posterior. Draws of a sampled one are averaged as they are, one by one.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Marginal
        By draws: `Marginal.mcse` states their error. A draw is undefined (0/0) where some fold's is.

    Raises
    ------
    TypeError
        If `post` is not a Posterior.
    ValueError
        If it has no such dim, or a single fold.

    Warns
    -----
    PriorWarning
        If the prior, spent once a fold, moves the average by more than a quarter of its standard deviation from where
        it is with the prior spent once: a share of it in each fold. With folds of one size, and a rate, that is where
        the pooled counts are.

    Notes
    -----
    M̄ = (M_1 + … + M_F)/F, with the folds' posteriors independent: each fold is judged by its own examples and a whole
    prior. Ten folds of 10 examples under a flat prior have ten times its weight: of a true rate of 0.9 the 95 %
    interval then covers 35 %. `bayesperf.pool` spends the prior once.

    The question is about these folds' models; see the module `bayesperf.comparison.folds` for others.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by=["model", "fold"],
    ...                                    pos_label="malignant")
    >>> accuracy = bp.average_folds(bp.posterior(cm.sel(model="naive_bayes"), "haldane"), "accuracy")
    >>> accuracy.eti(0.95).values.round(2)
    array([0.92, 0.96])
    """
    if not isinstance(post, Posterior):
        raise TypeError(f"post must be a Posterior, as bp.posterior(cm) makes; it is {type(post).__name__}.")
    if dim not in post.dims:
        raise ValueError(f"dim: {dim!r} is not a leading dim; they are {list(post.dims)}.")
    count = post.leading.sizes[dim]
    if count < 2:
        raise ValueError(f"dim: there is one {dim}, and nothing to average over. Ask the posterior itself.")
    draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    folds = post[metric]
    leading = folds.leading.isel({dim: 0}, drop=True)
    axis = folds.dims.index(dim)

    average = partial(_averaged, folds.leading.shape, axis)
    sampler = partial(_sample_average, average, folds.sampler, seed)
    if isinstance(folds.distribution, Draws) and isinstance(post, SampledPosterior):
        values = average(folds.distribution.values)
    else:
        values = sampler(draws, None)[:, None, :]
    if isinstance(post, DirichletPosterior):
        _warn_of_prior(post, folds, metric, dim)
    distribution = Draws.of(folds.name, values, folds.bounds, post.independent)
    estimand = f"{post.estimand}, averaged over these {count} {dim}s"
    return Marginal(folds.name, distribution, leading, sampler, estimand)


def _averaged(shape: tuple[int, ...], axis: int, values: Array) -> Array:
    """Return the averages over one axis of values (m, …), the m places being of a shape."""
    averages = values.reshape(*shape, *values.shape[1:]).mean(axis)
    return averages.reshape(-1, *values.shape[1:])


def _sample_average(
    average: Callable[[Array], Array], folds: Sampler, own_seed: int, n: int, random_seed: int | None
) -> Array:
    return average(folds(n, own_seed if random_seed is None else random_seed))


def _warn_of_prior(post: DirichletPosterior, folds: Marginal, metric: str | Metric, dim: str) -> None:
    """Warn where a whole prior in each fold moves the average."""
    share = 1 / post.leading.sizes[dim]
    once = replace(
        post,
        concentration=post.observed + share * (post.concentration - post.observed),
        rates=post.rates and (share * post.rates[0], share * post.rates[1]),
    )
    average, reference = folds.mean().mean(dim), once[metric].mean().mean(dim)
    sd = share * (folds.sd() ** 2).sum(dim) ** 0.5
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = abs(average - reference) / sd
    if not (moved > _MOVED).any():
        return
    at = moved.fillna(0).argmax(...) if moved.dims else {}
    place = "".join(f" at {name}={moved[name].values[i]!s}" for name, i in at.items())
    warnings.warn(
        f"the prior ({post.prior_text}) is spent once in each {dim} and moves the average {folds.name}{place} from "
        f"{reference.isel(at).item():.3g} to {average.isel(at).item():.3g}, by {moved.isel(at).item():.2g} of its "
        f"standard deviations. Use bp.pool(cm, dim={dim!r}), or the sum of the counts, which spend it once.",
        PriorWarning,
        stacklevel=3,
    )


def correlated_ttest(
    scores_a: Any,
    scores_b: Any,
    *,
    test_fraction: float,
    rope: float = 0.0,
    names: Sequence[Any] = ("a", "b"),
    greater_is_better: bool | None = True,
    metric: str = "score",
) -> Comparison:
    """Compare two systems by their scores in the same splits of one data set.

    Parameters
    ----------
    scores_a, scores_b : array-like (n,)
        A score a split, in the same order; at least two. Of any metric, in any unit.
    test_fraction : float
        Share of the examples that a split tests, f: 1/k for k folds, repeated or not; of random splits, their own.
    rope : float
        Half-width of the region of practical equivalence, in the unit of the scores.
    names : sequence of two
        What the systems are called.
    greater_is_better : bool or None
        Direction of the scores.
    metric : str
        What they are scores of.

    Returns
    -------
    Comparison
        Of a − b, in closed form. Two splits leave one degree of freedom: the mean, the standard deviation and the
        expected loss are then infinite. Differences that are all equal leave no scatter: all probability is on them.

    Raises
    ------
    TypeError
        If scores are not one-dimensional numbers.
    ValueError
        If they are of different lengths, fewer than two, or not finite; if `test_fraction` is not between 0 and 1, or
        `rope` is negative.

    Notes
    -----
    Splits share training examples, so their differences d are correlated; with ρ = f and p(μ, σ²) ∝ 1/σ²,

        μ | d ~ StudentT(n − 1, mean(d), √((1/n + f/(1 − f)) s²)),    s² = Σ(d − mean(d))²/(n − 1)

    f/(1 − f) is the ratio of tested to training examples. Without it (f → 0) this is the ordinary t-test, whose
    interval is too narrow.

    References
    ----------
    Nadeau & Bengio (2003), Machine Learning 52; Corani & Benavoli (2015), Machine Learning 100.

    Examples
    --------
    >>> import bayesperf as bp
    >>> new, old = [0.81, 0.74, 0.75, 0.69, 0.73], [0.79, 0.70, 0.74, 0.66, 0.70]
    >>> comparison = bp.correlated_ttest(new, old, test_fraction=1 / 5, rope=0.01, names=("new", "old"))
    >>> comparison.prob_rope.round(3).to_series().to_dict()
    {'below': 0.005, 'inside': 0.048, 'above': 0.948}
    """
    difference = differences(scores_a, scores_b).values
    fraction, rope = checks.probability("test_fraction", test_fraction), checks.rope(rope)
    n = len(difference)
    # From the first, so that equal differences have a mean of just that, and no scatter.
    deviations = difference - difference[0]
    scale = np.sqrt(1 / n + fraction / (1 - fraction)) * deviations.std(ddof=1)
    location = difference[0] + deviations.mean()
    distribution = StudentT.of(location, scale, n - 1)
    estimand = f"Posterior of the mean difference over splits that test {fraction:.3g} of the examples"

    marginal = Marginal(metric, distribution, xr.DataArray(0.0), estimand=estimand)
    basis = f"flat on the mean and the log of the scatter; splits correlated by {fraction:.3g}"
    return Comparison(
        difference=marginal,
        names=checks.two_names(names),
        rope=rope,
        greater_is_better=greater_is_better,
        basis=basis,
    )
