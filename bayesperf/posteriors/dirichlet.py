"""The exact posterior: a Dirichlet over the cells, or over each row with a prevalence of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import xarray as xr

from bayesperf import metrics
from bayesperf import prior as priors
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.streams import streams
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.counts.label_encoding import missing_positive_label
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.distributions import two_betas as distributions
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.two_betas import Beta, Distribution, TransformedBeta
from bayesperf.metrics.exact_forms import IncreasingFunction, Proportion, TwoProportions
from bayesperf.metrics.formulas import headline
from bayesperf.metrics.registry import ARGUMENTS, Metric, one_vs_rest
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS, Posterior, prediction_of
from bayesperf.posteriors.sampled import PREDICTED, SampledPosterior

# Probabilities near 0 or 1 are read to three digits; a probability has no closed form to check it by.
_JOINT_DRAWS = 100_000
# The shares of which less is better: a rate prior stands the other way round on them.
_ERRORS = {"fn", "fp", "wrong", "beyond_one"}
# What drawn masses are at least: their shares are then still normal numbers, and subnormal ones are a hundred times
# slower to reckon with.
LEAST_MASS = 1e-280


def exact_posterior(
    cm: ConfusionMatrix,
    prior: str | priors.Prior | None = None,
    design: str = "joint",
    random_seed: Any = 0,
    *,
    draws: int = DRAWS,
) -> Posterior:
    """Return the posterior of counts; the arguments are those of `bayesperf.posterior`."""
    checks.one_of("design", design, ("joint", "by_actual"))
    chosen = priors.resolve(prior, len(cm.labels))
    return DirichletPosterior(
        concentration=cm.counts + chosen.concentration(cm),
        pos_label=cm.pos_label,
        prior_text=chosen.describe(cm),
        rates=chosen.rates,
        prevalence="observed" if design == "joint" else None,
        random_seed=checks.seed(random_seed),
        n_draws=checks.count("draws", draws, least=2),
        observed=cm.counts,
    )


@dataclass(frozen=True)
class Prevalence:
    """Shares of the classes from elsewhere: fixed ones, or a Dirichlet over them."""

    weights: Array
    fixed: bool

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Return shares (n, K)."""
        return np.tile(self.weights, (n, 1)) if self.fixed else rng.dirichlet(self.weights, n)


@dataclass(frozen=True, eq=False, repr=False)
class DirichletPosterior(Posterior):
    """θ ~ Dirichlet(concentration), which is prevalence ⟂ rows; with `prevalence` None or given, only its rows.

    Attributes
    ----------
    concentration : xarray.DataArray
        Prior pseudo-counts plus counts, (…, actual, predicted).
    rates : tuple of two float, optional
        The Beta on each rate, if that is the prior; the concentration is then counts alone.
    prevalence : "observed", None or Prevalence
        As the data have it, unknown, or from elsewhere.
    """

    concentration: xr.DataArray
    pos_label: Any
    prior_text: str
    rates: tuple[float, float] | None
    prevalence: Literal["observed"] | Prevalence | None
    random_seed: int
    n_draws: int
    observed: xr.DataArray

    @property
    def _cells(self) -> xr.DataArray:
        return self.concentration

    @property
    def _observed(self) -> xr.DataArray:  # type: ignore[override]
        return self.observed

    @property
    def _flat(self) -> Array:
        """Concentration as (m, K, K)."""
        return self.concentration.values.reshape(-1, *self.concentration.shape[-2:])

    def _default_metrics(self) -> list[str]:
        names = headline(len(self.labels), self._positive is not None)
        return [name for name in names if not self._refusal(metrics.get(name))]

    def _is_exact(self, metric: Metric) -> bool:
        classes = len(self.labels)
        known = self.prevalence == "observed" or not metric.depends_on_prevalence(classes)
        return known and metric.exact_form(classes) is not None

    def _refusal(self, metric: Metric) -> str:
        """Return why a metric cannot be had from this kind of data and prior; empty if it can."""
        if self.prevalence is None and metric.depends_on_prevalence(len(self.labels)):
            return (
                "depends on prevalence, of which these data (design by_actual: so many of each class were chosen) say "
                "nothing. Give it: posterior.at_prevalence(p)[...]."
            )
        form = metric.exact_form(len(self.labels))
        two_rates_or_one = self._is_exact(metric) and not (isinstance(form, TwoProportions) and form.pair.split)
        if self.rates and not two_rates_or_one:
            return "needs a prior of the whole matrix, and a rate prior is none. Use a Dirichlet prior, as 'flat'."
        return ""

    # ── Marginals ──

    def _marginals(self, wanted: Sequence[Metric]) -> list[Marginal]:
        self._refuse_each(wanted)
        found: dict[Metric, Distribution] = {m: self._exact(m) for m in wanted if self._is_exact(m)}
        drawn = self._metric_draws([m for m in wanted if m not in found], self.n_draws, None)
        found |= {m: Draws.of(m.name, values[:, None, :], m.bounds) for m, values in drawn.items()}
        return [
            Marginal(m.name, found[m], self._leading_of(m), self._sampler(m, found[m]), self.estimand) for m in wanted
        ]

    def _leading_of(self, metric: Metric) -> xr.DataArray:
        leading = self.leading
        return leading.expand_dims(label=self.labels, axis=-1) if metric.average == "per_class" else leading

    def _exact(self, metric: Metric) -> Distribution:
        form = metric.exact_form(len(self.labels))
        if isinstance(form, Proportion):
            return self._beta(form, metric)
        if isinstance(form, IncreasingFunction):
            return TransformedBeta(self._beta(form.share, metric), form.forward, form.inverse)
        assert form is not None
        pair = form.pair
        return distributions.FunctionOfTwoBetas(
            self._beta(pair.inner, metric),
            self._beta(pair.outer, metric),
            form,
            lambda x, rest_x, w, rest_w: metric.of_binary(**pair.cells(x, rest_x, w, rest_w)),
            metric.bounds,
        )

    def _arguments(self, by_class: bool) -> Callable[[str], Array]:
        """Return how to sum the concentration over the cells that an argument of a metric names, (m,) or (m, K)."""
        omega, positive = self._flat, self._positive
        if by_class:
            return one_vs_rest(omega).__getitem__
        return lambda name: ARGUMENTS[name](omega, 1 if positive is None else positive)

    def _beta(self, share: Proportion, metric: Metric) -> Beta:
        argument = self._arguments(metric.average == "per_class")
        a, b = (np.sum([argument(name) for name in names], 0) for names in (share.success, share.failure))
        if self.rates:
            on_success, on_failure = self.rates[::-1] if set(share.success) <= _ERRORS else self.rates
            a, b = a + on_success, b + on_failure
        self._refuse_improper(metric, {" + ".join(share.success): a, " + ".join(share.failure): b})
        return Beta(a.reshape(-1, 1), b.reshape(-1, 1))

    def _refuse_improper(self, metric: Metric, weights: Mapping[str, Array]) -> None:
        """Raise where neither the data nor the prior put weight on something the metric needs."""
        leading = self._leading_of(metric)
        for name, weight in weights.items():
            empty = np.flatnonzero(weight.reshape(leading.size, -1).min(-1) <= 0)
            if len(empty):
                index = np.unravel_index(empty[0], leading.shape)
                at = ", ".join(f"{dim}={leading[dim].values[i]!s}" for dim, i in zip(leading.dims, index, strict=True))
                raise ValueError(
                    f"metric {metric.name!r}{f' at {at}' if at else ''}: no example has been seen in {name} and the "
                    f"prior ({self.prior_text}) puts no weight there, so the posterior is improper. Use a proper "
                    "prior, as 'flat' or 'jeffreys'."
                )

    # ── Draws ──

    def _generators(self, random_seed: Any, purpose: str = "") -> list[np.random.Generator]:
        """Return a stream for each matrix."""
        seed = self.random_seed if random_seed is None else checks.seed(random_seed)
        return streams(seed, purpose, self.leading, self._flat)

    def _draw(self, omega: Array, n: int, rng: np.random.Generator) -> Array:
        """Return n draws (n, K, K) of one matrix's cells."""
        gamma = rng.standard_gamma(omega, (n, *omega.shape))
        # A cell of tiny weight can underflow to 0, and a row or column of such cells to 0/0.
        small = (omega > 0) & (omega < 0.1)
        if small.any():
            np.maximum(gamma, np.where(small, LEAST_MASS, 0), out=gamma)
        if self.prevalence == "observed":
            gamma /= np.einsum("nij->n", gamma)[:, None, None]
            return gamma
        assert self.prevalence is not None
        gamma *= (self.prevalence.draw(rng, n) / gamma.sum(-1))[..., None]
        return gamma

    def _refuse_no_matrix(self, what: str) -> None:
        if self.rates:
            raise ValueError(
                f"{what} needs a prior of the whole matrix, and a rate prior is none. Use a Dirichlet prior."
            )
        if self.prevalence is None:
            raise ValueError(
                f"{what}: the data (design by_actual) do not say how common each class is. Give it: at_prevalence(p)."
            )
        if (self._flat <= 0).any():
            raise ValueError(
                f"{what}: some cell has neither examples nor prior weight ({self.prior_text}). Use a proper prior."
            )

    def _metric_draws(self, wanted: Sequence[Metric], n: int, random_seed: Any) -> dict[Metric, Array]:
        """Return joint draws of metrics, (m, n) or (m·K, n) each."""
        if not wanted:
            return {}
        blocks = list(self._blocks(wanted, n, random_seed))
        return {metric: np.concatenate([np.atleast_2d(block[metric].T) for block in blocks]) for metric in wanted}

    def _blocks(
        self, wanted: Sequence[Metric], n: int = _JOINT_DRAWS, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        """Yield joint draws of metrics, (n,) or (n, K) each, a matrix at a time: cells need little memory then."""
        self._refuse_each(wanted)
        if self.rates:
            self._refuse_no_matrix("a joint draw")
        for metric in wanted:
            # Re-weighted rows enter whole; else the cells that the metric's arguments sum.
            reweighted = isinstance(self.prevalence, Prevalence) and metric.depends_on_prevalence(len(self.labels))
            argument = self._arguments(metric.average is not None)
            needed = {"cells": self._flat} if reweighted else {name: argument(name) for name in metric.arguments}
            self._refuse_improper(metric, needed)
        known = self if self.prevalence is not None else self._with_any_prevalence()
        for omega, rng in zip(known._flat, self._generators(random_seed), strict=True):
            cells = known._draw(omega, n, rng)
            yield {metric: metric.evaluate(cells, self._positive) for metric in wanted}

    def _with_any_prevalence(self) -> DirichletPosterior:
        """Supply equal shares, for metrics that do not depend on them."""
        classes = len(self.labels)
        return replace(self, prevalence=Prevalence(np.full(classes, 1 / classes), fixed=True))

    def _sampler(self, metric: Metric, distribution: Distribution) -> Callable[[int, Any], Array]:
        def sample(n: int, random_seed: Any) -> Array:
            n = checks.count("n", n)
            if not self.rates:
                return self._metric_draws([metric], n, random_seed)[metric]
            # There is no joint draw behind a rate prior: every metric has streams of its own.
            streams = self._generators(random_seed, metric.name)
            each = distribution.size // len(streams)
            return distribution.ppf(np.concatenate([rng.random((each, n)) for rng in streams]))

        return sample

    def _refuse_each(self, wanted: Sequence[Metric]) -> None:
        for metric in wanted:
            if refusal := self._refusal(metric):
                raise ValueError(f"metric {metric.name!r} {refusal}")

    def draws(self, n: int, random_seed: Any = None) -> xr.DataArray:
        self._refuse_no_matrix("draws")
        n = checks.count("n", n)
        values = [
            self._draw(omega, n, rng) for omega, rng in zip(self._flat, self._generators(random_seed), strict=True)
        ]
        cells = self.concentration
        shape = (*cells.shape[:-2], n, *cells.shape[-2:])
        dims = (*self.dims, "draw", *CELL_DIMS)
        return xr.DataArray(
            np.stack(values).reshape(shape), dict(cells.coords) | {"draw": np.arange(n)}, dims, name="cells"
        )

    def _chains(self, draws: int | None, chains: int | None, random_seed: Any) -> xr.DataArray:
        draws = 1000 if draws is None else checks.count("draws", draws)
        chains = 4 if chains is None else checks.count("chains", chains)
        cells = self.draws(draws * chains, random_seed)
        at = cells.get_axis_num("draw")
        shape = (*cells.shape[:at], chains, draws, *cells.shape[at + 1 :])
        coords = {name: value for name, value in cells.coords.items() if name != "draw"}
        coords |= {"chain": np.arange(chains), "draw": np.arange(draws)}
        dims = (*cells.dims[:at], "chain", *cells.dims[at:])
        return xr.DataArray(cells.values.reshape(shape), coords, dims, name="cells")

    # ── Other posteriors ──

    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        by_actual = self.prevalence is None and n is None and not self.rates
        known = self._with_any_prevalence() if by_actual else self
        known._refuse_no_matrix("predict")
        draws = checks.count("draws", draws, least=2)
        observed = self.observed.values.reshape(self._flat.shape).astype(int)
        if n is None and (observed.sum((1, 2)) == 0).any():
            raise ValueError("n: some matrix has no examples; name the size of the new test set.")
        shares = []
        for omega, counts, rng in zip(self._flat, observed, known._generators(random_seed), strict=True):
            cells = known._draw(omega, draws, rng)
            if by_actual:
                rows = np.broadcast_to(counts.sum(-1), cells.shape[:-1])
                new = rng.multinomial(rows, cells / cells.sum(-1, keepdims=True))
            else:
                size = checks.count("n", int(counts.sum()) if n is None else n)
                flat = cells.reshape(draws, -1)
                new = rng.multinomial(size, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
            shares.append(new / new.sum((1, 2), keepdims=True))
        template = self.concentration
        shape = (*template.shape[:-2], 1, draws, *template.shape[-2:])
        coords = dict(template.coords) | {"chain": [0], "draw": np.arange(draws)}
        return SampledPosterior(
            cells=xr.DataArray(np.stack(shares).reshape(shape), coords, (*self.dims, "chain", "draw", *CELL_DIMS)),
            pos_label=self.pos_label,
            prior_text=self.prior_text,
            estimand=prediction_of(n),
            independent=True,
            refusal=PREDICTED,
        )

    def update(self, cm: ConfusionMatrix) -> Posterior:
        if not isinstance(cm, ConfusionMatrix):
            raise TypeError(f"cm must be a ConfusionMatrix; it is {type(cm).__name__}.")
        if cm.labels != self.labels or cm.pos_label != self.pos_label:
            raise ValueError(
                f"cm: labels {cm.labels} (positive {cm.pos_label!r}) are not those of the posterior, {self.labels} "
                f"(positive {self.pos_label!r})."
            )
        try:
            concentration, counts = xr.align(self.concentration, cm.counts, join="exact")
        except ValueError as error:
            raise ValueError(f"cm: its leading coordinates are not those of the posterior: {error}") from None
        if set(counts.dims) != set(concentration.dims):
            raise ValueError(f"cm: its leading dims {cm.dims} are not those of the posterior, {self.dims}.")
        return replace(self, concentration=concentration + counts, observed=self.observed + counts)

    def at_prevalence(self, p: Any) -> Posterior:
        prevalence = parse_prevalence(p, self.labels, self._positive)
        text = f"{self.prior_text}; prevalence {p!r}"
        return replace(self, prevalence=prevalence, prior_text=text)


def parse_prevalence(p: Any, labels: list[Any], positive: int | None) -> Prevalence:
    """Turn what a caller says of prevalence into shares, or Dirichlet weights, in the order of the labels."""
    of_positive = isinstance(p, int | float | np.number)
    of_beta = isinstance(p, tuple) and len(p) == 2
    if len(labels) == 2 and (of_positive or of_beta):
        if positive is None:
            raise missing_positive_label(labels)
        share = _shares(p) if of_beta else np.array([checks.probability("p", p), 1 - p])
        return Prevalence(share if positive == 0 else share[::-1], fixed=of_positive)
    if isinstance(p, Mapping):
        if set(p) != set(labels):
            raise ValueError(f"p: give a share for each of the labels {labels}; it has {list(p)}.")
        p = [p[label] for label in labels]
    shares = _shares(p)
    if shares.shape != (len(labels),) or not np.isclose(shares.sum(), 1, atol=1e-9):
        raise ValueError(f"p: give {len(labels)} shares, one a label, summing to 1; they are {shares.tolist()}.")
    return Prevalence(shares, fixed=True)


def _shares(p: Any) -> Array:
    try:
        shares = np.asarray(p, dtype=float)
    except (TypeError, ValueError):
        shares = np.array(np.nan)
    if not (np.isfinite(shares) & (shares > 0)).all():
        raise ValueError(f"p: give a share of positives, (a, b) of a Beta, or shares above 0; it is {p!r}.")
    return shares
