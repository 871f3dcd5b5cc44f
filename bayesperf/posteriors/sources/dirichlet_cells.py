"""The Dirichlet source of cells: exact distributions of most metrics, and draws of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array, Codes, blocks
from bayesperf.core.errors import InputError
from bayesperf.core.fields import applied, by_name
from bayesperf.core.words import at_place
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta, TransformedBeta
from bayesperf.distributions.drawing import gamma_masses
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.function_of_rates import RatesAtPrevalence, over_prevalence
from bayesperf.distributions.function_of_two_betas import FunctionOfTwoBetas
from bayesperf.distributions.predicted_proportion import MOST_EXAMPLES, MOST_TRIALS, ProportionWeights
from bayesperf.metrics.arguments import ARGUMENTS, GivenSums, OneVsRest
from bayesperf.metrics.exact_forms import IncreasingFunction, Proportion, ProportionPair, TwoProportions
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.process_rows import class_sums, is_sparse
from bayesperf.posteriors.sources.cells_by_matrix import CellsByMatrix
from bayesperf.posteriors.sources.source import Task

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior

# Draws for the probability of several requirements, which has no closed form: enough for three digits near 0 or 1.
_JOINT_DRAWS = 100_000
# Cells that may be drawn one by one, which takes about twenty seconds.
_MOST_CELLS = 2**30
# Prior weight of a cell below which the distribution of a metric of two classes is not integrated.
_TINY = 0.1
# Relative rounding error of sums of weights.
_ROUNDING = 1e-9
# Proportions of these cells are better when smaller, so a rate prior is mirrored for them.
_ERRORS = {"fn", "fp", "wrong", "beyond_one"}
_ONLY_RATES = "needs a prior of the whole matrix, of which a rate prior says nothing. Use a Dirichlet prior, as 'flat'."


@dataclass(frozen=True, eq=False, kw_only=True)
class Dirichlet(CellsByMatrix):
    """Cells θ ~ Dirichlet(concentration), whose prevalence is independent of the rows.

    If the prevalence of the posterior is not "observed", only the rows of this distribution are used.
    """

    method = "exact"
    # Prior pseudo-counts plus counts, (…, actual, predicted).
    concentration: xr.DataArray
    # Parameters of the Beta prior on each rate, for a rate prior; the concentration then equals the counts.
    rates: tuple[float, float] | None = None

    @property
    def template(self) -> xr.DataArray:
        return self.concentration

    @cached_property
    def flat(self) -> Array:
        """Concentration as (m, K, K)."""
        return self.concentration.values.reshape(-1, *self.concentration.shape[-2:])

    # ── What is available ──

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        if self.rates:
            return {"draws": _ONLY_RATES, "a joint draw": _ONLY_RATES, "predict": _ONLY_RATES}
        refused = super().refused_tasks(post)
        if not refused and not (self.flat > 0).all():
            improper = f"some cell has neither examples nor prior weight ({post.prior_text}). Use a proper prior."
            refused |= {"draws": improper, "predict": improper}
        return refused

    def refuses_metric(self, post: Posterior, metric: Metric) -> str:
        form = metric.exact_form(len(post.labels))
        is_rate = self._is_exact(post, metric) and not (isinstance(form, TwoProportions) and form.pair.split)
        return super().refuses_metric(post, metric) or ("" if is_rate or not self.rates else _ONLY_RATES)

    def _is_exact(self, post: Posterior, metric: Metric) -> bool:
        """Whether the metric has an exact form under a posterior's prevalence."""
        classes = len(post.labels)
        known = post.prevalence == "observed" or not metric.depends_on_prevalence(classes)
        return known and metric.exact_form(classes) is not None

    def _is_integrated(self, post: Posterior, metric: Metric) -> bool:
        """Whether the metric's distribution is an integral over the prevalence and the rates of two classes.

        A tiny cell has a distribution over very many orders of magnitude: only draws describe it.
        """
        if len(post.labels) > 2 or self.rates or metric.function_of_rates() is None:
            return False
        prior = self._prior(post)
        return not bool(((prior > 0) & (prior < _TINY)).any())

    def _counts(self, post: Posterior) -> Array:
        """The observed counts, (m, K, K)."""
        assert post.observed is not None
        return post.observed.values.reshape(self.flat.shape)

    def _prior(self, post: Posterior) -> Array:
        """The prior's weights, (m, K, K)."""
        return np.asarray(self.flat - self._counts(post))

    def refuse_undefined(self, post: Posterior, metric: Metric) -> None:
        """Raise if a metric is undefined because the prior is improper."""
        if self._is_exact(post, metric):
            self._exact_distribution(post, metric)
            return
        argument = self._argument_weights(post, metric.average is not None)
        self._refuse_improper(post, metric, {name: argument(name) for name in metric.arguments})

    # ── Distributions ──

    def distributions(self, post: Posterior, metrics: Sequence[Metric]) -> list[Distribution]:
        known = {metric: self._known(post, metric) for metric in metrics}
        drawn = self.metric_draws(post, [m for m, found in known.items() if found is None], self.n_draws, None)
        return [known[m] or Draws(drawn[m][:, None, :], m.bounds) for m in metrics]

    def _known(self, post: Posterior, metric: Metric) -> Distribution | None:
        """Return the distribution of a metric in closed form, or by quadrature; None if draws are better."""
        if self._is_exact(post, metric):
            return self._exact_distribution(post, metric)
        return self._integrated(post, metric) if self._is_integrated(post, metric) else None

    def _exact_distribution(self, post: Posterior, metric: Metric) -> Distribution:
        form = metric.exact_form(len(post.labels))
        if isinstance(form, Proportion):
            return self._beta(post, form, metric)
        if isinstance(form, IncreasingFunction):
            return TransformedBeta(self._beta(post, form.proportion, metric), form.forward, form.inverse)
        assert form is not None
        pair = form.pair
        return FunctionOfTwoBetas(
            self._beta(post, pair.inner, metric),
            self._beta(post, pair.outer, metric),
            form,
            applied(metric_of_pair, metric, pair),
            metric.bounds,
        )

    def _integrated(self, post: Posterior, metric: Metric) -> Distribution | None:
        """Return the distribution of a metric of two classes by prevalence and rates; None if draws are better."""
        position = post.positive if metric.needs == "binary" and post.positive is not None else 1
        cells = {name: ARGUMENTS[name](self.flat, position).reshape(-1, 1) for name in ("tp", "fn", "fp", "tn")}
        self._refuse_improper(post, metric, cells)
        weights = np.hstack([*cells.values(), self._weights_of_prevalence(post, position)])
        # Small folds often have the same counts.
        distinct, rows = np.unique(weights, axis=0, return_inverse=True)
        if len(distinct) == len(rows):
            return _over_rates(weights, metric)
        found = _over_rates(distinct, metric)
        return None if found is None else found.take(rows)

    def _weights_of_prevalence(self, post: Posterior, position: int) -> Array:
        """Return the weights of the prevalence's Beta, (m, 2); a fixed one itself, (m, 1), or any if none matters."""
        if post.prevalence == "observed":
            shares = self._shares(position)
            return np.hstack([shares.a, shares.b])
        if post.prevalence is None:
            return np.full((len(self.flat), 1), 0.5)
        weights = np.tile(post.prevalence.weights[[position, 1 - position]], (len(self.flat), 1))
        return weights[:, :1] if post.prevalence.fixed else weights

    def _shares(self, position: int) -> Beta:
        """Return the distributions of the prevalence of one of two classes, (m,)."""
        weights = self.flat.sum(-1)
        return Beta(weights[:, [position]], weights[:, [1 - position]])

    def _argument_weights(self, post: Posterior, by_class: bool) -> Callable[[str], Array]:
        return _argument_weights(self.flat, post.positive, by_class)

    def _beta(self, post: Posterior, proportion: Proportion, metric: Metric) -> Beta:
        argument = self._argument_weights(post, metric.average == "per_class")
        sides = proportion.success, proportion.failure
        a, b = (np.sum([argument(name) for name in names], 0) for names in sides)
        if self.rates:
            weights = self.rates[::-1] if set(proportion.success) <= _ERRORS else self.rates
            cells = (len(names) if proportion.by_cell else 1 for names in sides)
            a, b = (side + weight * n for side, weight, n in zip((a, b), weights, cells, strict=True))
        self._refuse_improper(post, metric, {" + ".join(proportion.success): a, " + ".join(proportion.failure): b})
        return Beta(a.reshape(-1, 1), b.reshape(-1, 1))

    def _refuse_improper(self, post: Posterior, metric: Metric, weights: Mapping[str, Array]) -> None:
        """Raise if neither the data nor the prior puts weight on cells that the metric needs."""
        for name, weight in weights.items():
            if weight.min() > 0:
                continue
            leading = post.leading_of(metric)
            empty = np.flatnonzero(weight.reshape(leading.size, -1).min(-1) <= 0)
            if len(empty):
                raise InputError(
                    "metric",
                    f"{metric.name!r}{at_place(leading, empty[0])}: no example has been seen in {name} and "
                    f"the prior ({post.prior_text}) puts no weight there, so the posterior is improper.",
                    "Use a proper prior, as 'flat' or 'jeffreys'.",
                )

    # ── Draws ──

    def draw_blocks(self, post: Posterior, index: int, draws: int, rng: np.random.Generator) -> Iterator[Array]:
        omega = self.flat[index]
        if draws * omega.size > _MOST_CELLS:
            raise InputError(
                "draws",
                f"under the prior {post.prior_text}, {draws:,} draws of all {omega.size:,} cells would take minutes.",
                f"Use prior='shared' or 'perks', which leave empty cells empty, or posterior(..., "
                f"draws={max(_MOST_CELLS // omega.size, 1):,}).",
            )
        for block in blocks(draws, omega.size):
            size = block.stop - block.start
            gamma = gamma_masses(rng, omega, (size, *omega.shape))
            if post.prevalence == "observed":
                gamma /= np.einsum("nij->n", gamma)[:, None, None]
            else:
                assert post.prevalence is not None
                gamma *= (post.prevalence.draw(rng, size) / gamma.sum(-1))[..., None]
            yield gamma

    def metric_blocks(
        self, post: Posterior, metrics: Sequence[Metric], index: int, draws: int, rng: np.random.Generator
    ) -> Iterator[dict[Metric, Array]]:
        counts = self._counts(post)[index]
        alpha = self.flat[index] - counts
        needs_cells = post.prevalence != "observed" or any(metric.needs_cells for metric in metrics)
        if needs_cells or not is_sparse(alpha):
            yield from super().metric_blocks(post, metrics, index, draws, rng)
            return
        actual, predicted = np.nonzero(counts)
        for sums in class_sums(rng, alpha[None], counts[actual, predicted], actual, predicted[:, None], draws):
            yield {metric: metric.of_class_sums(sums)[0] for metric in metrics}

    def drawn_by_matrix(
        self, post: Posterior, metrics: Sequence[Metric], draws: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        for metric in metrics:
            # At another prevalence whole rows are used; otherwise only the cells that the metric's arguments sum.
            reweighted = post.stated_prevalence is not None and metric.depends_on_prevalence(len(post.labels))
            argument = self._argument_weights(post, metric.average is not None)
            needed = {"cells": self.flat} if reweighted else {name: argument(name) for name in metric.arguments}
            self._refuse_improper(post, metric, needed)
        yield from super().drawn_by_matrix(post, metrics, _JOINT_DRAWS if draws is None else draws, random_seed)

    def sampled(self, post: Posterior, metric: Metric, draws: int, random_seed: int | None) -> Array:
        if not self.rates:
            return super().sampled(post, metric, draws, random_seed)
        # From streams specific to the metric, because a rate prior has no joint distribution.
        (distribution,) = self.distributions(post, [metric])
        rngs = self.generators(random_seed, metric.name)
        each = distribution.size // len(rngs)
        return distribution.ppf(np.concatenate([rng.random((each, draws)) for rng in rngs]))

    # ── Other sources ──

    def proportion_weights(self, post: Posterior, n: int | None, metric: Metric) -> ProportionWeights | None:
        """Return what determines the distribution of a proportion in a new test set of n examples, or None.

        The number of its trials is fixed if all examples are trials, or if the design fixes the examples of the one
        actual class it covers.
        """
        form = metric.exact_form(len(post.labels))
        of_these_classes = self._is_exact(post, metric) and post.stated_prevalence is None
        if not of_these_classes or not isinstance(form, Proportion | IncreasingFunction):
            return None
        proportion, counts = form.proportion, self._counts(post)
        argument, of_all = self._argument_weights(post, metric.average == "per_class"), post.leading_of(metric).size
        success, failure = (
            np.sum([argument(name) for name in names], 0).ravel() for names in (proportion.success, proportion.failure)
        )
        classes = of_all // len(self.flat)
        if post.prevalence is None:
            counted = _argument_weights(counts, post.positive, metric.average == "per_class")
            trials = np.sum([counted(name) for name in (*proportion.success, *proportion.failure)], 0).ravel()
            rest = 0 * success
        else:
            trials = np.repeat(counts.sum((1, 2)), classes) if n is None else n * np.ones(of_all)
            rest = np.repeat(self.flat.sum((1, 2)), classes) - success - failure
            rest = np.where(rest > _ROUNDING * success.max(), rest, 0)
        most = MOST_EXAMPLES if rest.any() else MOST_TRIALS
        if min(success.min(), failure.min()) <= 0 or not 0 < trials.min() <= trials.max() <= most:
            return None
        return trials.astype(int), success, failure, rest, form.forward

    def updated(self, counts: xr.DataArray, n_draws: int | None = None) -> Self:
        after = (self.concentration + counts).transpose(..., *CELL_DIMS)
        return replace(self, concentration=after, n_draws=self.n_draws if n_draws is None else n_draws)

    def with_prior_share(self, post: Posterior, share: float) -> Self:
        counts = post.observed
        assert counts is not None
        return replace(
            self,
            concentration=counts + share * (self.concentration - counts),
            rates=self.rates and (share * self.rates[0], share * self.rates[1]),
        )

    def modelled(self, post: Posterior) -> str:
        drawn, prior = "were modelled as multinomial draws, with a Dirichlet prior", post.prior_text
        if post.graded:
            return f"outcomes {drawn} ({prior}) [caelen2017bayesian]"
        return (
            f"counts of the confusion matrix {drawn} on its cells ({prior}) [goutte2005probabilistic, "
            "caelen2017bayesian]"
        )


def _over_rates(weights: Array, metric: Metric) -> Distribution | None:
    """Return the distributions of a metric of two classes; None if draws are better.

    `weights` has columns for the Dirichlet weights of tp, fn, fp and tn, and for the prevalence: its Beta's weights, or
    its value.
    """
    tp, fn, fp, tn, *prevalence = np.hsplit(weights, weights.shape[1])
    rates = metric.function_of_rates()
    assert rates is not None

    def at_prevalence(of_positives: Array, rows: Codes) -> RatesAtPrevalence:
        errors = Beta(fn[rows], tp[rows]), Beta(fp[rows], tn[rows])
        of_cells = applied(metric_of_cells, metric)
        return RatesAtPrevalence.of(errors, of_positives, rates, of_cells, metric.bounds, metric.better)

    if len(prevalence) == 1:
        return at_prevalence(prevalence[0], np.arange(len(weights)))
    of_positive, of_negative = prevalence
    return over_prevalence(Beta(of_positive, of_negative), at_prevalence)


def _argument_weights(weights: Array, positive: int | None, by_class: bool) -> Callable[[str], Array]:
    """Return a function from an argument name of a metric to its sum of weights (m, K, K): (m,), or (m, K) by class."""
    if by_class:
        return OneVsRest(weights).__getitem__
    return lambda name: ARGUMENTS[name](weights, 1 if positive is None else positive)


@by_name
def metric_of_cells(metric: Metric, tp: Array, fn: Array, fp: Array, tn: Array) -> Array:
    """Return a metric of the four cells of two classes."""
    tn, fp, fn, tp = np.broadcast_arrays(tn, fp, fn, tp)
    if metric.needs_cells:
        cells = np.stack([tn, fp, fn, tp], -1)
        return metric.evaluate(cells.reshape(*tn.shape, 2, 2), 1)
    # The hits and misses of each class take less time than a matrix at each node.
    hits, misses = (np.moveaxis(np.stack(both), 0, -1) for both in ((tn, tp), (fp, fn)))
    return metric.of_class_sums(GivenSums(hits, misses, misses[..., ::-1]))


@by_name
def metric_of_pair(metric: Metric, pair: ProportionPair, x: Array, rest_x: Array, w: Array, rest_w: Array) -> Array:
    """Return a metric of the cells that two proportions and their complements make."""
    return metric.of_binary(**pair.cells(*np.broadcast_arrays(x, rest_x, w, rest_w)))


# ── Rates and prevalence with weights of their own ──

# With a smaller weight of a class the prevalence is hardly known.
_FEW = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class IndependentRates(Dirichlet):
    """Cells with rows from a Dirichlet, and with class proportions from another one.

    In a Dirichlet the weight of a row is also the weight of its class. Here the recall may be known as well as from a
    thousand examples, and the prevalence not at all.
    """

    # Weights of the Dirichlet of the class proportions, (…, actual): the prior's weights plus class totals.
    totals: xr.DataArray

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        plan = (
            f"the prior of this posterior is no Dirichlet ({post.prior_text}), which plans need. Plan from a posterior "
            "under elicited() of three guesses and a weight."
        )
        return super().refused_tasks(post) | {"plan": plan}

    def _is_exact(self, post: Posterior, metric: Metric) -> bool:
        of_rows = not metric.depends_on_prevalence(2) or _is_prevalence(metric)
        return super()._is_exact(post, metric) and (of_rows or post.prevalence != "observed")

    def _is_integrated(self, post: Posterior, metric: Metric) -> bool:
        """Whether the integral over the prevalence is smooth and needs few nodes; with few data it is neither."""
        known = bool((self.flat >= 1).all() and (self.totals >= _FEW).all())
        return known and super()._is_integrated(post, metric)

    def _beta(self, post: Posterior, proportion: Proportion, metric: Metric) -> Beta:
        if not _is_prevalence(metric):
            return super()._beta(post, proportion, metric)
        return self._shares(1 if post.positive is None else post.positive)

    def _shares(self, position: int) -> Beta:
        weights = self.totals.values.reshape(-1, 2)
        return Beta(weights[:, [position]], weights[:, [1 - position]])

    def draw_blocks(self, post: Posterior, index: int, draws: int, rng: np.random.Generator) -> Iterator[Array]:
        for block in super().draw_blocks(post, index, draws, rng):
            if post.prevalence == "observed":
                shares = rng.dirichlet(self.totals.values.reshape(-1, 2)[index], len(block))
                block *= (shares / block.sum(-1))[..., None]
            yield block

    def proportion_weights(self, post: Posterior, n: int | None, metric: Metric) -> ProportionWeights | None:
        return None

    def updated(self, counts: xr.DataArray, n_draws: int | None = None) -> Self:
        after = super().updated(counts, n_draws)
        return replace(after, totals=(self.totals + counts.sum("predicted")).transpose(..., "actual"))

    def with_prior_share(self, post: Posterior, share: float) -> Self:
        assert post.observed is not None
        seen = post.observed.sum("predicted")
        return replace(super().with_prior_share(post, share), totals=seen + share * (self.totals - seen))


def _is_prevalence(metric: Metric) -> bool:
    form = metric.exact_form(2)
    return metric.average is None and isinstance(form, Proportion) and set(form.success) == {"tp", "fn"}
