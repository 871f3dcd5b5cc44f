"""Cross-validated results: which quantity each analysis of a set of folds estimates.

=======================================  ==============================================================================
analysis                                 what it estimates
=======================================  ==============================================================================
``posterior(cm.sum("fold"))``            the pooled rate: one rate common to all folds, whose models count as one model
`average`                                the average over these folds of the rates of their models, each estimated from
                                         its own examples alone
``pool(cm).by_group``                    the rates of these folds one by one, each shrunk towards the others to the
                                         degree that they agree
``pool(cm).mean``                        the mean of the population that the folds are a sample of: models trained on
                                         as many examples, tested on more examples of the same kind
``pool(cm).new_group``                   the rate of a new fold. For sites or subjects this is the relevant question;
                                         for random folds the answer depends mostly on the prior
`correlated_ttest`                       the population mean of the difference of two systems' scores on one data set;
                                         the overlap of the training sets widens its interval
`sign_test`, `signed_rank_test`          the same over data sets, from their mean scores
`datasets`                               the difference of two systems on data sets: on average, and on the next one
=======================================  ==============================================================================

None of them estimates the performance of the final model, refitted on all data. That model learns from more examples,
so it is usually slightly better, and cross-validation cannot tell how far it is from the models of the folds: with up
to about 100 examples every interval here is somewhat optimistic for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.comparison.contrast import of_difference
from bayesperf.comparison.result import Comparison
from bayesperf.comparison.score_differences import differences, over_folds, system_names
from bayesperf.comparison.several_datasets import datasets
from bayesperf.comparison.sign_and_rank_tests import NextDataset, sign_test, signed_rank_test
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import DependenceWarning, InputError, PriorWarning, warn
from bayesperf.core.words import plural
from bayesperf.data.axis_names import LABEL
from bayesperf.data.count_arrays import CELL_DIMS, repeated_dim, same_examples
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.normal import StudentT
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.quantity import Quantity, Scope

__all__ = [
    "NextDataset",
    "average",
    "correlated_ttest",
    "datasets",
    "sign_test",
    "signed_rank_test",
]


def __dir__() -> list[str]:
    return __all__


# Number of standard deviations by which a prior may move an average before a warning is given.
_MOVED = 0.25
# More folds than this, and than examples in each (but one left out at a time), are likely to be random splits.
_MANY_FOLDS = 20


@checked
def average(
    post: Posterior,
    metric: str | Metric,
    dim: str = "fold",
    draws: int = DRAWS,
    random_seed: Any = 0,
    *,
    repeats: float | None = None,
) -> Marginal:
    """Return the posterior of a metric's mean over the folds of cross-validation, or over random splits.

    In repeated cross-validation, and in random splits (Monte Carlo cross-validation), test parts share examples. Set
    `repeats` to how often each is tested; without it the interval is too narrow.

    Parameters
    ----------
    post : Posterior
        A posterior with the leading dim `dim`; other leading dims are kept.
    metric : str or Metric
        The metric to average.
    dim : str
        The leading dim of the folds.
    draws : int
        Number of draws for each fold of an exact posterior. A sampled posterior's own draws are averaged one by one.
    random_seed : int or numpy.random.Generator
        Seed of the draws.
    repeats : float, optional
        How often each example is tested on average: the number of repeats of k folds, or the number of random splits
        times the fraction that each tests. By default once.

    Returns
    -------
    Marginal
        Computed from draws (`Marginal.mcse` returns their error). A draw is undefined (0/0) if any fold's is.

    Raises
    ------
    TypeError
        If `post` is not a Posterior.
    ValueError
        If `post` has no such dim, or one fold along it; if `repeats` is below 1, above the number of folds, or above 1
        for draws whose folds are not independent.

    Warns
    -----
    DependenceWarning
        If `repeats` is not given and the folds share examples, or may: there are more than 20 folds, and more folds
        than examples in a fold.
    PriorWarning
        If the average moves by more than a quarter of its standard deviation because every fold has the whole prior
        rather than an equal part of it. For a rate and equal folds, equal parts give the value of pooled counts.

    Notes
    -----
    M̄ = (M_1 + … + M_F)/F, where the folds' posteriors are independent: each has its own examples and a whole prior, so
    ten folds count the prior ten times. `bayesperf.pool` uses it once. With r repeats the folds hold as many examples
    as F/r folds without repeats. The folds are then dealt to that many independent groups (rounded down), and all folds
    of a group have the same quantile of their posteriors: the average is as uncertain as an average of that many folds.
    It describes the models of these folds; the module `bayesperf.folds` has other quantities.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by=["model", "fold"],
    ...                                    pos_label="malignant")
    >>> accuracy = bp.folds.average(bp.posterior(cm.sel(model="naive_bayes"), "haldane"), "accuracy")
    >>> accuracy.eti(0.95).values.round(2)
    array([0.92, 0.96])
    """
    checks.instance("post", post, Posterior, advice="Take bp.posterior(cm).")
    checks.leading_dim("dim", dim, post.dims)
    count = post.leading.sizes[dim]
    if count < 2:
        raise InputError("dim", f"there is one {dim}, and nothing to average over.", "Ask the posterior itself.")
    draws, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    if repeats is None:
        _warn_of_shared_examples(post, dim)
    repeats = _checked_repeats(post, repeats, count)
    folds = post[metric]
    leading = folds.leading.isel({dim: 0}, drop=True)
    axis = folds.dims.index(dim)

    origin = AverageOf(folds, axis, int(count / repeats + 1e-9), seed)
    if isinstance(folds.distribution, Draws) and not post.source.by_matrix:
        values = _averaged(folds.leading.shape, axis, folds.distribution.values)
    else:
        values = origin.sampled(draws, None)[:, None, :]
    _warn_of_prior(post, folds, metric, dim, repeats)
    distribution = Draws.of(folds.name, values, folds.bounds, post.source.independent_draws)
    examples = None if post.observed is None else post.observed.sum(dim)
    quantity = replace(folds.quantity, scope=Scope("average", dim, detail=post.scope.of()))
    return Marginal(quantity, distribution, leading, origin, folds.inference, examples=examples)


def _warn_of_shared_examples(post: Posterior, dim: str) -> None:
    """Warn if the folds contain the same examples, or are so many and so small that they may share some."""
    if post.observed is None:
        return
    same, folds = dim in (same_examples(post.observed), repeated_dim(post.observed)), post.leading.sizes[dim]
    size = float(post.observed.sum(CELL_DIMS).mean())
    if not same and (folds <= max(_MANY_FOLDS, size) or size <= 1):
        return
    which = (
        f"the {plural(dim)} are of the same examples"
        if same
        else f"there are {folds} {plural(dim)} of {size:.3g} examples: if they are random splits or repeats, they "
        "share some"
    )
    way_out = (
        "Take average_labels(y_true, y_pred, metric)."
        if same and dim == LABEL
        else "Give repeats=, how often each example is tested (of random splits: their number times the fraction "
        "tested); repeats=1 if it is once."
    )
    warn(
        DependenceWarning,
        "BP104",
        f"{which}, and an average that counts each example several times is too certain. {way_out}",
    )


def _checked_repeats(post: Posterior, repeats: float | None, folds: int) -> float:
    value = checks.number("repeats", 1.0 if repeats is None else repeats)
    if not 1 <= value <= folds:
        raise InputError("repeats", f"must be from 1 to the number of folds, {folds}; it is {value:g}.")
    if value > 1 and not post.source.by_matrix:
        raise InputError(
            "repeats", "the folds of these draws are not independent.", "Take the posterior of their counts."
        )
    return value


def _averaged(shape: tuple[int, ...], axis: int, values: Array, seed: int = 0, groups: int | None = None) -> Array:
    """Return the averages of values (m, …) over one axis; their first axis is the flattened `shape`.

    With fewer `groups` than folds, the folds of a group have the same quantile in each draw.
    """
    folds = np.moveaxis(values.reshape(*shape, *values.shape[1:]), axis, 0)
    if groups is not None and groups < len(folds):
        rng, folds = np.random.default_rng(seed), np.sort(folds, -1)
        orders = [rng.permutation(folds.shape[-1]) for _ in range(groups)]
        folds = np.stack([fold[..., orders[i % groups]] for i, fold in enumerate(folds)])
    return folds.mean(0).reshape(-1, *values.shape[1:])


@dataclass(frozen=True, eq=False)
class AverageOf(Origin):
    """The average over folds in groups; all folds of a group have the same quantile in a draw."""

    folds: Marginal
    axis: int
    groups: int
    random_seed: int

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        seed = self.random_seed if random_seed is None else random_seed
        return _averaged(self.folds.leading.shape, self.axis, self.folds.sampled(draws, seed), seed, self.groups)


def _warn_of_prior(post: Posterior, folds: Marginal, metric: str | Metric, dim: str, repeats: float) -> None:
    """Warn if the average moves because the whole prior is used in each fold, not once per repeat."""
    count = post.leading.sizes[dim]
    share = min(repeats / count, 1.0)
    once = post.source.with_prior_share(post, share)
    if once is None:
        return
    average, reference = folds.mean().mean(dim), replace(post, source=once)[metric].mean().mean(dim)
    sd = repeats**0.5 / count * (folds.sd() ** 2).sum(dim) ** 0.5
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = abs(average - reference) / sd
    if not (moved > _MOVED).any():
        return
    at = moved.fillna(0).argmax(...) if moved.dims else {}
    place = "".join(f" at {name}={moved[name].values[i]!s}" for name, i in at.items())
    warn(
        PriorWarning,
        "BP201",
        f"the prior ({post.prior_text}) is spent once in each {dim} and moves the average {folds.name}{place} from "
        f"{reference.isel(at).item():.3g} to {average.isel(at).item():.3g}, by {moved.isel(at).item():.2g} of its "
        f"standard deviations. Use bp.pool(cm, dim={dim!r}), or the sum of the counts, which spend it once.",
    )


@checked
def correlated_ttest(
    scores_a: Any,
    scores_b: Any,
    *,
    test_fraction: float,
    rope: float = 0.0,
    names: Sequence[Any] | None = None,
    greater_is_better: bool | None = True,
    metric: str | None = None,
) -> Comparison:
    """Compare two systems by their scores in the same splits of one data set.

    Parameters
    ----------
    scores_a, scores_b : array-like (n,)
        One score per split, in the same order, for at least two splits; of any metric, in any unit. You can pass the
        whole DataArray of repeated cross-validation, with dims ``repeat`` and ``fold``, as `bayesperf.score` returns
        it.
    test_fraction : float
        Fraction f of the examples that each split tests: 1/k for k folds, repeated or not; for random splits, the
        fraction used to make them.
    rope : float
        Half-width of the region of practical equivalence, in the unit of the scores.
    names : sequence of two, optional
        Names of the two systems; by default those that they have where they were selected from one DataArray.
    greater_is_better : bool or None
        Whether greater scores are better.
    metric : str, optional
        Name of the metric that the scores measure; by default that of their DataArray, if they have one.

    Returns
    -------
    Comparison
        The difference a − b, in closed form. Two splits leave one degree of freedom: the mean, the standard deviation
        and the expected loss are then infinite. If all differences are equal there is no scatter, and their common
        value has probability 1.

    Raises
    ------
    TypeError
        If the scores are not one-dimensional arrays of numbers.
    ValueError
        If the scores differ in length, are fewer than two or not finite; if `test_fraction` is not between 0 and 1, or
        `rope` is negative.

    Warns
    -----
    UserWarning
        If all differences are equal.

    Notes
    -----
    Splits share training examples, so their differences d are correlated; with ρ = f and p(μ, σ²) ∝ 1/σ²,

        μ | d ~ StudentT(n − 1, mean(d), √((1/n + f/(1 − f)) s²)),    s² = Σ(d − mean(d))²/(n − 1)

    f/(1 − f) is the ratio of test examples to training examples. Without this term (f → 0) this is the ordinary
    t-test, whose interval is too narrow.

    References
    ----------
    Nadeau & Bengio (2003), Machine Learning 52; Corani & Benavoli (2015), Machine Learning 100.

    Examples
    --------
    >>> import bayesperf as bp
    >>> new, old = [0.81, 0.74, 0.75, 0.69, 0.73], [0.79, 0.70, 0.74, 0.66, 0.70]
    >>> comparison = bp.folds.correlated_ttest(new, old, test_fraction=1 / 5, rope=0.01, names=("new", "old"))
    >>> comparison.prob_rope.round(3).to_series().to_dict()
    {'below': 0.005, 'inside': 0.048, 'above': 0.948}
    """
    difference = differences(over_folds(scores_a), over_folds(scores_b)).values
    fraction, rope = checks.probability("test_fraction", test_fraction), checks.rope(rope)
    n = len(difference)
    # Relative to the first difference, so that equal differences have exactly that mean and no scatter.
    deviations = difference - difference[0]
    mean = deviations.mean()
    scale = np.sqrt(1 / n + fraction / (1 - fraction)) * deviations.std(ddof=1, mean=mean)
    if not scale:
        said = f"scores: all {n} differences are the same, so the interval has no width"
        warn(UserWarning, "BP701", f"{said}. That is no certainty: compare the systems on the examples themselves.")
    distribution = StudentT.of(difference[0] + mean, scale, n - 1)
    scope = Scope("splits", detail=f"{fraction:.3g}")
    called = scores_a.name if isinstance(scores_a, xr.DataArray) else None
    metric = str(called or "score") if metric is None else metric
    basis = f"flat on the mean and the log of the scatter; splits correlated by {fraction:.3g}"
    systems = system_names(names, scores_a, scores_b)
    quantity = Quantity(metric, scope, "difference", greater_is_better)
    return of_difference(quantity, distribution, systems, rope, basis)
