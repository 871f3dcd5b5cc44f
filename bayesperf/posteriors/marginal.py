"""The labelled posterior distribution of one metric, as returned by ``posterior[metric]``."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arrays import CI_BOUND, Array, Codes, coordinate, labelled, positions
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.words import place_names
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.predicted_proportion import PredictedProportion
from bayesperf.metrics.registry import get
from bayesperf.posteriors.densities import MOST_PLACES, marginal_html
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sentences import marginal_in_words
from bayesperf.posteriors.summary_table import Summary, summary_rows
from bayesperf.posteriors.tree_attributes import INDEPENDENT_DRAWS, figures_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels

# With more places the words are left out unless they are asked for.
_MOST_IN_WORDS = 100

Kind = Literal["hdi", "eti"]


class Origin(Held, ABC):
    """The source of a marginal that has its own draws: a frozen dataclass of data."""

    @abstractmethod
    def sampled(self, draws: int, random_seed: int | None) -> Array:
        """Return n independent draws, (m, n)."""

    def observed(self) -> xr.DataArray | None:
        """Return the observed score over the leading dims; None if there is none or the marginal stores it."""
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Marginal(Answer):
    """The distribution of one metric over leading dims.

    ``posterior[metric]`` returns one. Each method returns an `xarray.DataArray` over the leading dims (0-d for one
    matrix); an array argument adds a last dim ``x`` or ``q``.

    Attributes
    ----------
    quantity : Quantity
        The quantity that it describes. Marginals of equal quantities can be compared.
    distribution : Distribution
        The distributions as plain arrays, one for each element of the leading dims.
    leading : xarray.DataArray
        An array with the leading dims and coordinates; its values are not used.
    origin : Origin, optional
        Its source, such as a metric of a posterior, which provides the draws; by default they come from `distribution`.
    inference : str, optional
        The name of the distribution, such as "Bayesian bootstrap"; by default "Posterior", or "Prediction".
    random_seed : int
        Seed of the draws, if there is no `origin`.
    examples : xarray.DataArray or None
        Numbers of examples in the test set, (…, actual) or (…, actual, predicted), which identify two marginals of the
        same test set; None if they are unknown.
    joint : bool
        Whether its draws are joint over the leading dims, such as for systems tested on the same examples.
    score : xarray.DataArray, optional
        The observed score, if `origin` does not provide it.

    Examples
    --------
    >>> import bayesperf as bp
    >>> recall = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5))["recall"]
    >>> round(recall.prob_below(0.7).item(), 6)
    0.337294
    >>> recall.hdi(0.95).values.round(3)
    array([0.436, 0.998])
    """

    quantity: Quantity
    distribution: Distribution
    leading: xr.DataArray
    origin: Origin | None = None
    inference: str | None = None
    random_seed: int = 0
    examples: xr.DataArray | None = None
    joint: bool = False
    score: xr.DataArray | None = None

    @classmethod
    def from_datatree(cls, tree: xr.DataTree, variable: str) -> Marginal:
        """Return the distribution of a variable of a fit, such as the ``win_rate`` of the model ``preferences``.

        Parameters
        ----------
        tree : xarray.DataTree
            A fit: a tree with draws of the variable in the group ``posterior``, over chain, draw and any other dims.
        variable : str
            The name of the variable. Metrics of cells are asked of `Posterior.from_datatree`.

        Returns
        -------
        Marginal
            Its draws are joint over the leading dims, so `bayesperf.compare` takes systems along one of them.

        Raises
        ------
        ValueError
            If the tree has no such variable.

        Examples
        --------
        >>> import bayesperf as bp
        >>> tree = bp.fit(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5), "rates", random_seed=1)
        >>> bp.Marginal.from_datatree(tree, "recall").mean().round(2).item()
        0.75
        """
        dataset = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
        if variable not in dataset or not {"chain", "draw"} <= set(dataset[variable].dims):
            raise InputError("variable", f"there are no draws of {variable!r}; there are {list(dataset.data_vars)}.")
        drawn = dataset[variable].transpose(..., "chain", "draw")
        figures = figures_of(tree)
        facts = figures.get(variable, {})
        bounds = tuple(facts.get("bounds", (-np.inf, np.inf)))
        # A parameter beside figures or cells, such as the advantage of the first answer, describes no system.
        of_itself = (bool(figures) and not facts) or ("cells" in dataset and not _is_metric(variable))
        scope = Scope("itself") if of_itself else Scope.read(dataset.attrs)
        words = variable.replace("_", " ") if of_itself else "metric"
        quantity = Quantity(variable, scope, "", facts.get("greater_is_better"), words, bounds)
        values = drawn.values.reshape(-1, *drawn.shape[-2:])
        independent_draws = bool(dataset.attrs.get(INDEPENDENT_DRAWS, 0))
        leading = xr.zeros_like(drawn.isel(chain=0, draw=0, drop=True), dtype=float)
        return cls(quantity, Draws.of(variable, values, bounds, independent_draws), leading, joint=leading.ndim > 0)

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.quantity.metric

    @property
    def method(self) -> str:
        """How results are computed: "exact", "quadrature", "draws", "normal" or "student_t".

        That is: in closed form; by numerical integration to about 1e-8; by Monte Carlo, whose error `mcse` and
        `mcse_interval` return; or, for areas and scores, from a normal or Student-t distribution.
        """
        return self.distribution.method

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.quantity.bounds

    @property
    def estimand(self) -> str:
        """Description of the distribution and its quantity, such as "Posterior of the system's metric"."""
        return self.quantity.described(self.inference)

    @property
    def observed(self) -> xr.DataArray:
        """The observed score over the leading dims; NaN if nothing was observed.

        For a proportion of examples, the coordinate ``trials`` holds the number of those examples.
        """
        score = self.origin.observed() if self.score is None and self.origin is not None else self.score
        return xr.full_like(self.leading, np.nan).rename(self.name) if score is None else score.transpose(*self.dims)

    @property
    def dims(self) -> tuple[Any, ...]:
        """Names of the leading dims."""
        return self.leading.dims

    def sel(self, **indexers: Any) -> Marginal:
        """Return the distribution at some coordinates of the leading dims, selected as by `xarray.DataArray.sel`.

        The distribution is as exact as before, and its draws are the same.

        Raises
        ------
        KeyError
            If there is no such coordinate.
        ValueError
            If there is no such dim, or nothing is left.

        Examples
        --------
        >>> import bayesperf as bp
        >>> recall = bp.posterior(bp.ConfusionMatrix.from_table([[70, 30], [10, 90]]), "flat")["recall_per_class"]
        >>> recall.sel(label=1)
        <bayesperf.Marginal: recall_per_class (exact)>
        Recall per class is 0.892 (95 % HDI 0.831–0.949; observed 90 of 100).
        >>> recall.sel(label=1).mean().item() == 91 / 102
        True
        """
        return self._selected("sel", indexers)

    def isel(self, **indexers: Any) -> Marginal:
        """Return the distribution at some positions along the leading dims; `sel` takes coordinates.

        Examples
        --------
        >>> import bayesperf as bp
        >>> recall = bp.posterior(bp.ConfusionMatrix.from_table([[7, 3], [1, 9]]), "flat")["recall_per_class"]
        >>> recall.isel(label=[-1, 0]).leading["label"].values
        array([1, 0])
        """
        return self._selected("isel", indexers)

    def _selected(self, how: str, indexers: Mapping[str, Any]) -> Marginal:
        for dim in indexers:
            checks.leading_dim(how, dim, self.dims)
        # Which of the distributions each place of the leading dims has.
        places = getattr(positions(self.leading), how)(indexers)
        if not places.size:
            raise InputError(how, f"nothing is left of {', '.join(map(str, self.dims))}.")
        examples = self.examples
        if examples is not None:
            examples = getattr(examples, how)({dim: at for dim, at in indexers.items() if dim in examples.dims})
        selected = at_rows(self, places.values.ravel(), xr.zeros_like(places, dtype=float))
        return replace(selected, examples=examples, score=getattr(self.observed, how)(indexers))

    def mean(self) -> xr.DataArray:
        """Return the mean, or inf if it diverges (ratios whose denominator has a Beta parameter of at most 1)."""
        return self._label(self._moments[0])

    def sd(self) -> xr.DataArray:
        """Return the standard deviation, or inf if it diverges."""
        return self._label(self._moments[1])

    @cached_property
    def _moments(self) -> Array:
        return self.distribution.each(lambda d: np.stack(d.mean_sd(), -1)).T

    def skewness(self) -> xr.DataArray:
        """Return the skewness, or inf if it diverges; NaN if it is undefined (no spread, or 3 degrees of freedom)."""
        return self._label(self.distribution.each(lambda d: d.skewness()))

    def median(self) -> xr.DataArray:
        """Return the median."""
        return self.ppf(0.5)

    def mode(self) -> xr.DataArray:
        """Return the mode: the value where the density is greatest.

        A density that increases up to a bound, or is infinite there, has its mode at the bound. The mode of a flat
        density is its middle; if several values are equally probable, the mode is the lowest. For draws the mode is the
        peak of the kernel density estimate, which is far less certain than the median.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5), "flat")
        >>> post["recall"].mode().item(), post["precision"].mode().item()
        (0.8, 1.0)
        """
        return self._label(self.distribution.each(lambda d: d.mode()))

    def mcse(self) -> xr.DataArray:
        """Return the Monte Carlo standard error of the mean, which is 0 unless `method` is "draws".

        For draws from a sampler it is ArviZ's estimate, which accounts for their autocorrelation.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_table([[7, 3], [1, 9]]), draws=10_000)
        >>> drawn = post["fowlkes_mallows_macro"]
        >>> drawn.method, (drawn.mcse() / drawn.sd()).round(4).item()
        ('draws', 0.01)
        """
        return self._label(self.distribution.each(lambda d: d.mcse()))

    def mcse_interval(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> xr.DataArray:
        """Return the Monte Carlo standard error of an interval's ends, the larger of the two; see `mcse`.

        An end depends on few draws: its error is usually several times as large as the error of the mean.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.

        Raises
        ------
        ValueError
            If `ci_prob` is not between 0 and 1, or `ci_kind` is something else.
        """
        ci_prob, ci_kind = checks.interval(ci_prob, ci_kind)
        return self._label(self.distribution.each(lambda d: d.mcse_interval(ci_prob, ci_kind)))

    def pdf(self, x: ArrayLike) -> xr.DataArray:
        """Return the density at x (a kernel estimate if `method` is "draws")."""
        return self._at(lambda d, x: d.pdf(x), x, "x")

    def pmf(self, x: ArrayLike) -> xr.DataArray:
        """Return P(metric = x), for the prediction of a rate in a new test set.

        Raises
        ------
        ValueError
            If the metric is continuous, or is represented by draws only.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5))
        >>> post.predict(2, draws=10)["accuracy"].pmf([0, 0.5, 1]).values.round(3)
        array([0.038, 0.256, 0.705])
        """
        if not isinstance(self.distribution, PredictedProportion):
            raise InputError(
                "pmf", f"{self.name} has no exact probabilities of single values here.", "Take pdf, or cdf."
            )
        return self._at(lambda d, x: d.pmf(x) if isinstance(d, PredictedProportion) else x, x, "x")

    def cdf(self, x: ArrayLike) -> xr.DataArray:
        """Return P(metric ≤ x)."""
        return self._at(lambda d, x: d.cdf(x), x, "x")

    def sf(self, x: ArrayLike) -> xr.DataArray:
        """Return P(metric > x)."""
        return self._at(lambda d, x: d.sf(x), x, "x")

    def ppf(self, q: ArrayLike) -> xr.DataArray:
        """Return the quantiles for the probabilities q, each in [0, 1]."""
        levels = np.asarray(q, dtype=float)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise InputError("q", f"must be in [0, 1]; it is {q!r}.")
        return self._at(lambda d, q: d.ppf(q), q, "q")

    def prob_above(self, x: ArrayLike) -> xr.DataArray:
        """Return P(metric ≥ x); in predictions of a new test set, P(metric > x).

        The result is named so: "P(recall ≥ 0.8)". The two differ if x itself has a positive probability, as a median
        grade has.

        Raises
        ------
        ValueError
            If x is outside the range of the metric.

        Examples
        --------
        >>> import bayesperf as bp
        >>> recall = bp.posterior_of_rate(4, 5, metric="recall")
        >>> recall.prob_above(0.8).name, recall.prob_above(0.8).round(3).item()
        ('P(recall ≥ 0.8)', 0.451)
        """
        self._check_bound("prob_above", x)
        above = self.sf(x) if self.quantity.scope.of_new_test_set else self.prob_at_least(x)
        return above.rename(self._question(self.quantity.above, x))

    def prob_below(self, x: ArrayLike) -> xr.DataArray:
        """Return the probability that the metric is less than x, named as a question, such as "P(recall < 0.8)".

        Raises
        ------
        ValueError
            If x is outside the range of the metric.
        """
        self._check_bound("prob_below", x)
        return _of_smaller(self.cdf, x).rename(self._question("<", x))

    def prob_at_least(self, bound: ArrayLike) -> xr.DataArray:
        """Return the probability that the metric is at least a bound, which it may have exactly."""
        return _of_smaller(self.sf, bound)

    def prob_meets(self, bound: ArrayLike) -> xr.DataArray:
        """Return the probability that the metric is at least as good as a bound, which it may have exactly."""
        return self.prob_at_least(bound) if self.quantity.better > 0 else self.cdf(bound)

    def prob_between(self, lo: float, hi: float) -> xr.DataArray:
        """Return the probability that the metric is greater than lo and at most hi, named as a question.

        Raises
        ------
        ValueError
            If an end is outside the range of the metric, or lo exceeds hi.
        """
        self._check_bound("lo", lo)
        self._check_bound("hi", hi)
        if not lo <= hi:
            raise InputError("lo", f"must not exceed hi; they are {lo} and {hi}.")
        return (self.cdf(hi) - self.cdf(lo)).rename(f"P({lo:g} < {self.quantity.title} ≤ {hi:g})")

    def _question(self, relation: str, x: ArrayLike) -> str:
        return self.quantity.question(relation, "x" if np.ndim(x) else f"{np.asarray(x).item():.12g}")

    def _check_bound(self, name: str, x: ArrayLike) -> None:
        """Raise if the metric cannot reach a bound in a question: most likely the bound is in other units."""
        values, (low, high) = np.asarray(x, dtype=float), self.bounds
        outside = values[(values < low) | (values > high)]
        if outside.size:
            bound, title = outside[0], self.quantity.title
            percent = f" Is it {bound:g} %, {bound / 100:g}?" if high == 1 and 1 < bound <= 100 else ""
            raise InputError(name, f"{bound:g} is outside the range of {title}, {low:g} to {high:g}.{percent}")

    def hdi(self, ci_prob: float = 0.95) -> xr.DataArray:
        """Return the highest-density interval: the shortest interval that contains the probability `ci_prob`.

        If the density is highest at a bound, the interval ends there. If it is flat, the interval is central. If it is
        U-shaped, the interval is the shorter of the two that end at a bound, or the lower one if both have the same
        length. For draws it is the smoothed position of the shortest interval that holds the fraction `ci_prob` of
        them.

        Parameters
        ----------
        ci_prob : float
            Probability of the interval, between 0 and 1.

        Returns
        -------
        xarray.DataArray
            Ends of the interval, with a last dim ``ci_bound`` = lower, upper.
        """
        return self.interval(ci_prob, "hdi")

    def eti(self, ci_prob: float = 0.95) -> xr.DataArray:
        """Return the equal-tailed interval of probability `ci_prob`, with a last dim ``ci_bound`` = lower, upper."""
        return self.interval(ci_prob, "eti")

    def interval(self, ci_prob: float, ci_kind: Kind) -> xr.DataArray:
        """Return the interval of the given kind, "hdi" or "eti"."""
        ci_prob, ci_kind = checks.interval(ci_prob, ci_kind)
        values = self.distribution.each(lambda d: d.interval(ci_prob, ci_kind))
        return self._label(values, CI_BOUND, {"ci_kind": ci_kind, "ci_prob": ci_prob})

    def joint_draws(self, draws: int, random_seed: Any = None) -> xr.DataArray:
        """Return n independent draws, with a last dim ``draw``.

        If `random_seed` is None, the posterior's own seed is used, so that draws of two metrics of the same posterior
        are joint.
        """
        seed = None if random_seed is None else checks.seed(random_seed)
        values = self.sampled(checks.count("draws", draws), seed)
        return self._label(values, coordinate("draw", np.arange(values.shape[-1])))

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        """Return n independent draws as a plain array, (m, n)."""
        if self.origin is not None:
            return self.origin.sampled(draws, random_seed)
        seed = self.random_seed if random_seed is None else random_seed
        return self.distribution.resample(draws, np.random.default_rng(seed))

    def undefined(self) -> xr.DataArray:
        """Return the fraction of draws in which the metric is undefined (0/0); other results ignore these draws."""
        return self._label(self.distribution.each(lambda d: d.undefined()))

    def shortfall(self) -> xr.DataArray:
        """Return E[max(−metric, 0)]: for a difference a − b, the expected loss from choosing a if b is greater."""
        return self._label(self.distribution.each(lambda d: d.shortfall()))

    def in_words(
        self,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> str:
        """Return one to three sentences: the value, the probability of a bound, and a caveat if one applies.

        Parameters
        ----------
        at_least, at_most : float, optional
            A bound on the metric; the text gives its probability.
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.

        Returns
        -------
        str
            The text has the figures of the tables, in the same notation. If there are more than four places along the
            leading dims, it names only the smallest and the largest.

        Raises
        ------
        ValueError
            If a bound is outside the range of the metric.

        Examples
        --------
        >>> import bayesperf as bp
        >>> recall = bp.posterior_of_rate(24, 30, metric="recall")
        >>> recall.in_words(at_least=0.8)
        'Recall is 0.790 (95 % HDI 0.648–0.922; observed 24 of 30). With probability 48 % it is at least 0.8.'
        """
        for name, bound in (("at_least", at_least), ("at_most", at_most)):
            if bound is not None:
                self._check_bound(name, bound)
        return marginal_in_words(self, at_least, at_most, checks.probability("ci_prob", ci_prob), ci_kind)

    def summary(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return a tidy table with one row per leading coordinate.

        Parameters
        ----------
        ci_prob, ci_kind
            The interval, as in `Posterior.summary`; the columns are the same, too.
        """
        rows = summary_rows([self], ci_prob, ci_kind, [self.observed.values])
        return Summary.of(rows, ci_prob, ci_kind, estimand=self.estimand)

    def plot(self, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None) -> Figure:
        """Plot the density with its interval shaded, or a forest plot of intervals if there are leading dims.

        Parameters
        ----------
        ci_prob, ci_kind, ax
            The interval, and the axes to draw on, as in `bayesperf.plots.density`.
        """
        from bayesperf import plots

        draw = plots.forest if self.dims else plots.density
        return draw(self, ci_prob=ci_prob, ci_kind=ci_kind, ax=ax)

    def __repr__(self) -> str:
        sentence = self._sentence()
        return f"<bayesperf.Marginal: {self._headline()}>{f'\n{sentence}' if sentence else ''}"

    def _repr_html_(self) -> str:
        names = place_names(self.leading)[:MOST_PLACES]
        leading = xr.DataArray(np.zeros(len(names)), {"place": names}, ["place"]) if self.dims else self.leading
        first = at_rows(self, np.arange(len(names)), leading)
        return marginal_html(first, self._headline(), self._sentence(), self.leading.size - len(names))

    def _repr_markdown_(self) -> str:
        # Intervals of very many places take time.
        return super()._repr_markdown_() if self.leading.size <= _MOST_IN_WORDS else self._headline()

    def _headline(self) -> str:
        sizes = ", ".join(f"{dim}: {self.leading.sizes[dim]}" for dim in self.dims)
        return f"{self.name} ({self.method}){', ' * bool(sizes)}{sizes}"

    def _sentence(self) -> str:
        """Return the sentence shown for it; none for very many places, whose intervals take time."""
        return self.in_words() if self.leading.size <= _MOST_IN_WORDS else ""

    def _at(self, function: Callable[[Distribution, Array], Array], x: ArrayLike, dim: str) -> xr.DataArray:
        if isinstance(x, xr.DataArray) and x.dims:
            raise InputError(dim, f"must be a number or a plain array; it is a DataArray over {x.dims}.")
        points = np.asarray(x, dtype=float)
        if points.ndim > 1 or np.isnan(points).any():
            raise InputError(dim, "must be a number or a one-dimensional array of numbers, none missing.")
        values = self.distribution.each(lambda d: function(d, np.atleast_1d(points)[None, :]))
        return self._label(values, coordinate(dim, points)) if points.ndim else self._label(values[:, 0])

    def _label(
        self, values: Array, last: xr.DataArray | None = None, attrs: Mapping[str, Any] | None = None
    ) -> xr.DataArray:
        """Label values (m, …) with the leading dims and a last coordinate."""
        shaped = values.reshape(self.leading.shape + values.shape[1:])
        return labelled(shaped, self.leading, last, self.name, attrs)


def _of_smaller(function: Callable[[ArrayLike], xr.DataArray], x: ArrayLike) -> xr.DataArray:
    """Return a function at the numbers just below x, which the result names."""
    given = np.asarray(x, dtype=float)
    # The number next to 0 is so small that products with it are 0.
    values = function(np.minimum(np.nextafter(given, -np.inf), given - 1e-300))
    return values.assign_coords(x=np.asarray(x)) if np.ndim(x) else values


@dataclass(frozen=True, eq=False)
class RowsOf(Origin):
    """Some of the distributions of a marginal, with its draws."""

    marginal: Marginal
    rows: Codes

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        return self.marginal.sampled(draws, random_seed)[self.rows]


def at_rows(marginal: Marginal, rows: Codes, leading: xr.DataArray) -> Marginal:
    """Return some of the distributions of a marginal, in the given order, with their draws and the given labels."""
    taken, origin = marginal.distribution.take(rows), RowsOf(marginal, rows)
    return replace(marginal, distribution=taken, leading=leading, origin=origin, examples=None, score=None)


def _is_metric(variable: str) -> bool:
    """Whether a variable of a tree is a metric of its cells, of the groups' or a new group's among them."""
    try:
        get(re.sub("_(median|group|new)$", "", variable))
    except InputError:
        return False
    return True
