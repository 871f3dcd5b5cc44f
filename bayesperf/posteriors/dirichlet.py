"""The exact posterior: a Dirichlet over the cells, or one over each row with a separate prevalence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, overload

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, blocks
from bayesperf.core.errors import DependenceWarning, InputError, InputTypeError, warn
from bayesperf.core.fields import applied, by_name
from bayesperf.data.given_tables import matrix_of
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta, TransformedBeta
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.function_of_rates import RatesAtPrevalence, over_prevalence
from bayesperf.distributions.function_of_two_betas import FunctionOfTwoBetas
from bayesperf.distributions.gamma import gamma_masses
from bayesperf.distributions.predicted_proportion import MOST_EXAMPLES, MOST_TRIALS
from bayesperf.metrics.exact_forms import IncreasingFunction, Proportion, ProportionPair, TwoProportions
from bayesperf.metrics.metric import ARGUMENTS, Metric, OneVsRest
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.counted import CountedPosterior
from bayesperf.posteriors.marginal import Marginal, Sampler
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.predicted import PredictedPosterior, ProportionWeights
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.process_rows import class_sums, is_sparse
from bayesperf.posteriors.shared import SharedPosterior

_DESIGNS = ("joint", "by_actual")
# Draws for the probability of several requirements, which has no closed form: enough for three digits near 0 or 1.
_JOINT_DRAWS = 100_000
# Prior weight of a cell below which the distribution of a metric of two classes is not integrated.
_TINY = 0.1
# Greatest default number of draws, and the number of cells in all of them that lowers it to `DRAWS`; the number of
# classes in all of them that lowers it further, and the least.
_MOST_DRAWS, _DRAWN_CELLS, _DRAWN_CLASSES, _LEAST_DRAWS = 40_000, 4_000_000, 5_000_000, 1000
# Relative rounding error of sums of weights.
_ROUNDING = 1e-9
# Proportions of these cells are better when smaller, so a rate prior is mirrored for them.
_ERRORS = {"fn", "fp", "wrong", "beyond_one"}


@overload
def posterior(
    cm: ConfusionMatrix,
    prior: str | priors.Prior | None = None,
    design: str = "joint",
    random_seed: Any = 0,
    *,
    draws: int | None = None,
) -> Posterior: ...


@overload
def posterior(
    y_true: Any,
    y_pred: Any,
    *,
    prior: str | priors.Prior | None = None,
    design: str = "joint",
    random_seed: Any = 0,
    draws: int | None = None,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
) -> Posterior: ...


@checked  # type: ignore[misc]  # after a matrix the second argument is the prior
def posterior(
    cm: Any = None,
    y_pred: Any = None,
    prior: Any = None,
    design: Any = "joint",
    random_seed: Any = 0,
    *,
    draws: int | None = None,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
    y_true: Any = None,
) -> Posterior:
    """Return the posterior of confusion matrices: exact, or by independent draws if their classes share a prior.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like (n,)
        Counts; or the actual labels, in which case the next argument must be the predicted labels. A cross-tabulation
        whose axes are called by what they are (`pandas.crosstab`, a DataArray), or scikit-learn's
        ``classification_report`` of two classes, is taken in place of counts.
    y_pred : array-like (n,), optional
        Predicted labels: ``posterior(y_true, y_pred)`` is short for
        ``posterior(ConfusionMatrix.from_predictions(y_true, y_pred))``. If the first argument is a matrix, the second
        is the prior: ``posterior(cm, "flat")``.
    prior : str or Prior, optional
        By default Jeffreys' for two classes (half a pseudo-example per cell), and `bayesperf.prior.shared` for more.
    design : {"joint", "by_actual"}
        How the test set was sampled. "joint": a number of examples was drawn regardless of class. "by_actual": a
        fixed number of examples was drawn from each class, so the data contain no information about prevalence, and
        metrics that depend on it raise until `Posterior.at_prevalence` supplies it.
    random_seed : int or numpy.random.Generator
        Seed of Monte Carlo results; exact results do not depend on it.
    draws : int, optional
        Number of draws for Monte Carlo results (metrics with `Marginal.method` "draws"). By default 40,000 for up to
        ten classes, for which the standard error of an interval's limits is about half a percent of its width; 10,000
        for 20 to 500 classes; and fewer for more (5,000 for a thousand), but at least 1,000.
    labels, pos_label, by
        As in `ConfusionMatrix.from_predictions`, if actual and predicted labels are given.
    y_true : array-like (n,), optional
        The actual labels, if passed by keyword.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If the prior does not fit the matrix, or an argument has an invalid value.
    TypeError
        If neither a matrix nor both actual and predicted labels are given.

    Warns
    -----
    DependenceWarning
        If the examples were counted with clusters (``cluster=``), of which `bayesperf.pool` takes notice.

    Notes
    -----
    With counts C ~ Multinomial(N, θ) and the prior θ ~ Dirichlet(α), the posterior is θ | C ~ Dirichlet(α + C). For the
    prior that classes share see `bayesperf.prior.shared`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, y_pred = [1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 1]
    >>> table = bp.posterior(y_true, y_pred).summary(["recall", "precision"])
    >>> table[["metric", "observed", "mean", "sd", "ci_lower", "ci_upper", "method"]].round(3)
          metric  observed  mean     sd  ci_lower  ci_upper method
    0     recall       0.8  0.75  0.164     0.436     0.998  exact
    1  precision       0.8  0.75  0.164     0.436     0.998  exact
    """
    if isinstance(cm, ConfusionMatrix):
        if unused := [name for name, value in {"labels": labels, "pos_label": pos_label, "by": by}.items()
                      if value is not None]:  # fmt: skip
            raise InputTypeError(f"{unused[0]}", "the ConfusionMatrix has its own; leave it out.")
        prior, design, random_seed = _after_matrix(y_pred, prior, design, random_seed)
    elif cm is not None and y_true is None and (y_pred is None or isinstance(y_pred, str | priors.Prior)):
        if by is not None:
            raise InputTypeError("by", "the counts have dims of their own; leave it out.")
        cm = matrix_of(cm, labels, pos_label)
        prior, design, random_seed = _after_matrix(y_pred, prior, design, random_seed)
    else:
        actual = y_true if cm is None else cm
        if actual is None or y_pred is None:
            raise InputTypeError("", "posterior takes a ConfusionMatrix, or actual and predicted labels.")
        cm = ConfusionMatrix.from_predictions(actual, y_pred, labels=labels, pos_label=pos_label, by=by)
    _warn_of_clusters(cm)
    checks.one_of("design", design, _DESIGNS)
    resolved = priors.resolve(prior, len(cm.labels))
    common: dict[str, Any] = {
        "pos_label": cm.pos_label,
        "prior_text": resolved.describe(cm),
        "prevalence": "observed" if design == "joint" else None,
        "random_seed": checks.seed(random_seed),
        "n_draws": _default_draws(len(cm.labels)) if draws is None else checks.count("draws", draws, least=2),
        "observed": cm.counts,
    }
    if resolved.shared_by_classes:
        return SharedPosterior(**common)
    concentration = cm.counts + resolved.concentration(cm)
    return DirichletPosterior(concentration=concentration, rates=resolved.rates, **common)


def _warn_of_clusters(cm: ConfusionMatrix) -> None:
    if cm.clusters is not None:
        warn(
            DependenceWarning,
            "BP101",
            f"the examples come in {cm.clusters.size:,} {cm.clusters.name}s, and this posterior takes them for "
            "independent: it is too narrow where those of one are alike. Use pool(cm).mean.",
        )


def _default_draws(classes: int) -> int:
    of_cells = int(np.clip(_DRAWN_CELLS // classes**2, DRAWS, _MOST_DRAWS))
    return min(of_cells, max(_DRAWN_CLASSES // classes, _LEAST_DRAWS))


def _after_matrix(second: Any, prior: Any, design: Any, random_seed: Any) -> tuple[Any, Any, Any]:
    """Return prior, design and seed for a call ``posterior(cm, prior, design, random_seed)`` by position."""
    if second is None and not (isinstance(prior, str) and prior in _DESIGNS):
        return prior, design, random_seed
    if prior is None:
        return second, design, random_seed
    if isinstance(prior, priors.Prior) or (isinstance(prior, str) and prior in priors.PRESETS):
        raise InputTypeError("", "posterior() got multiple values for argument 'prior'")
    return (second, prior, random_seed) if design == "joint" else (second, prior, design)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DirichletPosterior(CountedPosterior):
    """The posterior θ ~ Dirichlet(concentration), in which the prevalence is independent of the rows.

    If `prevalence` is not "observed", only the rows of this distribution are used.

    Attributes
    ----------
    concentration : xarray.DataArray
        Prior pseudo-counts plus counts, (…, actual, predicted).
    rates : tuple of two float, optional
        Parameters of the Beta prior on each rate, for a rate prior; the concentration then equals the counts.
    """

    concentration: xr.DataArray
    rates: tuple[float, float] | None

    @property
    def template(self) -> xr.DataArray:
        return self.concentration

    @property
    def flat(self) -> Array:
        """Concentration as (m, K, K)."""
        return self.concentration.values.reshape(-1, *self.concentration.shape[-2:])

    def is_exact(self, metric: Metric) -> bool:
        """Whether the metric has an exact form under this prevalence."""
        classes = len(self.labels)
        known = self.prevalence == "observed" or not metric.depends_on_prevalence(classes)
        return known and metric.exact_form(classes) is not None

    def is_integrated(self, metric: Metric) -> bool:
        """Whether the distribution of the metric is an integral over the prevalence and the rates of two classes.

        The distribution of a tiny cell spreads over so many orders of magnitude that only draws describe it.
        """
        if len(self.labels) > 2 or self.rates or metric.function_of_rates() is None:
            return False
        prior = self.concentration - self.observed
        return not bool(((prior > 0) & (prior < _TINY)).any())

    def unavailable(self, metric: Metric) -> str:
        if reason := super().unavailable(metric):
            return reason
        form = metric.exact_form(len(self.labels))
        two_rates_or_one = self.is_exact(metric) and not (isinstance(form, TwoProportions) and form.pair.split)
        if self.rates and not two_rates_or_one:
            return "needs a prior of the whole matrix, and a rate prior is none. Use a Dirichlet prior, as 'flat'."
        return ""

    # ── Marginals ──

    def marginals(self, metrics: Sequence[Metric]) -> list[Marginal]:
        self.refuse_unavailable(metrics)
        distributions: dict[Metric, Distribution] = {m: self.exact_distribution(m) for m in metrics if self.is_exact(m)}
        integrated = {m: self._integrated(m) for m in metrics if m not in distributions and self.is_integrated(m)}
        distributions |= {m: found for m, found in integrated.items() if found is not None}
        drawn = self._metric_draws([m for m in metrics if m not in distributions], self.n_draws, None)
        distributions |= {m: Draws(values[:, None, :], m.bounds) for m, values in drawn.items()}
        return [
            self.marginal_of(m, distributions[m], self.leading_of(m), self._sampler(m, distributions[m]))
            for m in metrics
        ]

    def exact_distribution(self, metric: Metric) -> Distribution:
        form = metric.exact_form(len(self.labels))
        if isinstance(form, Proportion):
            return self._beta(form, metric)
        if isinstance(form, IncreasingFunction):
            return TransformedBeta(self._beta(form.proportion, metric), form.forward, form.inverse)
        assert form is not None
        pair = form.pair
        return FunctionOfTwoBetas(
            self._beta(pair.inner, metric),
            self._beta(pair.outer, metric),
            form,
            applied(_value_of_pair, metric, pair),
            metric.bounds,
        )

    def _integrated(self, metric: Metric) -> Distribution | None:
        """Return the distribution of a metric of two classes by prevalence and rates; None where draws are better."""
        position = self.positive if metric.needs == "binary" and self.positive is not None else 1
        tp, fn, fp, tn = (ARGUMENTS[name](self.flat, position).reshape(-1, 1) for name in ("tp", "fn", "fp", "tn"))
        self.refuse_improper(metric, {"tp": tp, "fn": fn, "fp": fp, "tn": tn})
        rates, greater = metric.function_of_rates(), bool(metric.greater_is_better)
        assert rates is not None

        def at_prevalence(prevalence: Array, rows: Codes) -> RatesAtPrevalence:
            errors = Beta(fn[rows], tp[rows]), Beta(fp[rows], tn[rows])
            return RatesAtPrevalence.of(errors, prevalence, rates, applied(_of_cells, metric), metric.bounds, greater)

        every = np.arange(len(tp))
        if self.prevalence == "observed":
            return over_prevalence(Beta(tp + fn, fp + tn), at_prevalence)
        if self.prevalence is None:
            return at_prevalence(np.full(tp.shape, 0.5), every)
        shares = np.tile(self.prevalence.weights[[position, 1 - position]], (len(tp), 1))
        if self.prevalence.fixed:
            return at_prevalence(shares[:, :1], every)
        return over_prevalence(Beta(shares[:, :1], shares[:, 1:]), at_prevalence)

    def argument_weights(self, by_class: bool) -> Callable[[str], Array]:
        """Return a function from an argument name of a metric to its summed concentration, (m,) or (m, K)."""
        omega, positive = self.flat, self.positive
        if by_class:
            return OneVsRest(omega).__getitem__
        return lambda name: ARGUMENTS[name](omega, 1 if positive is None else positive)

    def _beta(self, proportion: Proportion, metric: Metric) -> Beta:
        argument = self.argument_weights(metric.average == "per_class")
        sides = proportion.success, proportion.failure
        a, b = (np.sum([argument(name) for name in names], 0) for names in sides)
        if self.rates:
            weights = self.rates[::-1] if set(proportion.success) <= _ERRORS else self.rates
            cells = (len(names) if proportion.by_cell else 1 for names in sides)
            a, b = (side + weight * n for side, weight, n in zip((a, b), weights, cells, strict=True))
        self.refuse_improper(metric, {" + ".join(proportion.success): a, " + ".join(proportion.failure): b})
        return Beta(a.reshape(-1, 1), b.reshape(-1, 1))

    def refuse_improper(self, metric: Metric, weights: Mapping[str, Array]) -> None:
        """Raise if neither the data nor the prior puts weight on cells that the metric needs."""
        leading = self.leading_of(metric)
        for name, weight in weights.items():
            empty = np.flatnonzero(weight.reshape(leading.size, -1).min(-1) <= 0)
            if len(empty):
                index = np.unravel_index(empty[0], leading.shape)
                at = ", ".join(f"{dim}={leading[dim].values[i]!s}" for dim, i in zip(leading.dims, index, strict=True))
                raise InputError(
                    "metric",
                    f"{metric.name!r}{f' at {at}' if at else ''}: no example has been seen in {name} and "
                    f"the prior ({self.prior_text}) puts no weight there, so the posterior is improper.",
                    "Use a proper prior, as 'flat' or 'jeffreys'.",
                )

    # ── Draws ──

    def draw_blocks(self, index: int, n: int, rng: np.random.Generator) -> Iterator[Array]:
        omega = self.flat[index]
        for block in blocks(n, omega.size):
            size = block.stop - block.start
            gamma = gamma_masses(rng, omega, (size, *omega.shape))
            if self.prevalence == "observed":
                gamma /= np.einsum("nij->n", gamma)[:, None, None]
            else:
                assert self.prevalence is not None
                gamma *= (self.prevalence.draw(rng, size) / gamma.sum(-1))[..., None]
            yield gamma

    def metric_blocks(
        self, metrics: Sequence[Metric], index: int, n: int, rng: np.random.Generator
    ) -> Iterator[dict[Metric, Array]]:
        counts = self.observed.values.reshape(self.flat.shape)[index]
        alpha = self.flat[index] - counts
        needs_cells = self.prevalence != "observed" or any(metric.needs_cells for metric in metrics)
        if needs_cells or not is_sparse(alpha):
            yield from super().metric_blocks(metrics, index, n, rng)
            return
        actual, predicted = np.nonzero(counts)
        for sums in class_sums(rng, alpha[None], counts[actual, predicted], actual, predicted[:, None], n):
            yield {metric: metric.of_class_sums(sums)[0] for metric in metrics}

    def refuse_without_matrix(self, what: str) -> None:
        if self.rates:
            raise InputError(
                what, "needs a prior of the whole matrix, and a rate prior is none.", "Use a Dirichlet prior."
            )
        super().refuse_without_matrix(what)
        if (self.flat <= 0).any():
            raise InputError(
                what, f"some cell has neither examples nor prior weight ({self.prior_text}).", "Use a proper prior."
            )

    def joint_draws(
        self, metrics: Sequence[Metric], n: int | None = _JOINT_DRAWS, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        self.refuse_unavailable(metrics)
        if self.rates:
            self.refuse_without_matrix("a joint draw")
        for metric in metrics:
            # At another prevalence whole rows are used; otherwise only the cells that the metric's arguments sum.
            reweighted = isinstance(self.prevalence, Prevalence) and metric.depends_on_prevalence(len(self.labels))
            argument = self.argument_weights(metric.average is not None)
            needed = {"cells": self.flat} if reweighted else {name: argument(name) for name in metric.arguments}
            self.refuse_improper(metric, needed)
        yield from super().joint_draws(metrics, n, random_seed)

    def _sampler(self, metric: Metric, distribution: Distribution) -> Sampler:
        return applied(self._sample_by_rate, metric, distribution) if self.rates else applied(self._sample, metric)

    @by_name
    def _sample_by_rate(self, metric: Metric, distribution: Distribution, n: int, random_seed: int | None) -> Array:
        """Draw from streams specific to the metric, because a rate prior has no joint distribution."""
        rngs = self.generators(random_seed, metric.name)
        each = distribution.size // len(rngs)
        return distribution.ppf(np.concatenate([rng.random((each, n)) for rng in rngs]))

    @checked
    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        if self.rates:
            self.refuse_without_matrix("predict")
        drawn = super().predict(n, draws, random_seed)
        facts = {each.name: getattr(drawn, each.name) for each in fields(drawn)}  # type: ignore[arg-type]
        return PredictedPosterior(**facts, proportion=applied(self._predicted_proportion, n))

    @by_name
    def _predicted_proportion(self, n: int | None, metric: Metric) -> ProportionWeights | None:
        """Return what determines the distribution of a proportion in a new test set of n examples, or None.

        The number of its trials is fixed if they are all examples, or, by design, those of one actual class.
        """
        form = metric.exact_form(len(self.labels))
        of_these_classes = self.is_exact(metric) and not isinstance(self.prevalence, Prevalence)
        if not of_these_classes or not isinstance(form, Proportion | IncreasingFunction):
            return None
        proportion = form if isinstance(form, Proportion) else form.proportion
        by_class = metric.average == "per_class"
        counted = replace(self, concentration=self.observed).argument_weights(by_class)
        argument, of_all = self.argument_weights(by_class), np.ones(self.leading_of(metric).size)
        success, failure = (
            np.sum([argument(name) for name in names], 0).ravel() for names in (proportion.success, proportion.failure)
        )
        classes = len(of_all) // len(self.flat)
        if self.prevalence is None:
            trials = np.sum([counted(name) for name in (*proportion.success, *proportion.failure)], 0).ravel()
            rest = 0 * success
        else:
            observed = self.observed.values.reshape(self.flat.shape).sum((1, 2))
            trials = np.repeat(observed, classes) if n is None else n * of_all
            rest = np.repeat(self.flat.sum((1, 2)), classes) - success - failure
            rest = np.where(rest > _ROUNDING * success.max(), rest, 0)
        most = MOST_EXAMPLES if rest.any() else MOST_TRIALS
        if min(success.min(), failure.min()) <= 0 or not 0 < trials.min() <= trials.max() <= most:
            return None
        forward = applied(Beta.forward) if isinstance(form, Proportion) else form.forward
        return trials.astype(int), success, failure, rest, forward

    def update(self, cm: ConfusionMatrix) -> Posterior:
        counts = self.more_counts(cm)
        return replace(self, concentration=self.concentration + counts, observed=self.observed + counts)


@by_name
def _of_cells(metric: Metric, tp: Array, fn: Array, fp: Array, tn: Array) -> Array:
    cells = np.stack(np.broadcast_arrays(tn, fp, fn, tp), -1)
    return metric.evaluate(cells.reshape(*cells.shape[:-1], 2, 2), 1)


@by_name
def _value_of_pair(metric: Metric, pair: ProportionPair, x: Array, rest_x: Array, w: Array, rest_w: Array) -> Array:
    return metric.of_binary(**pair.cells(x, rest_x, w, rest_w))
