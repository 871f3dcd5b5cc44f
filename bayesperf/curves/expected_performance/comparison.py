"""The difference of two systems along their expected performance curves, and where it is significant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.comparison.result import Comparison
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.curves.bands import band_of_marginal
from bayesperf.curves.curve_marginals import marginal_of_draws
from bayesperf.curves.expected_performance.curve import ExpectedPerformanceCurve
from bayesperf.curves.expected_performance.interval_counts import (
    PairedIntervalCounts,
    block_sizes,
    cell_probabilities,
    draw_mass,
)
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ExpectedPerformanceComparison", "epc_compare"]

# What two curves must have in common to be compared.
_SHARED = ("criterion", "metric", "alphas", "method", "prior")


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedPerformanceComparison(Comparison):
    """The difference of two expected performance curves, a − b, along α. Made by `bayesperf.epc_compare`.

    Every figure of a `Comparison` (`prob_greater`, `prob_better`, `prob_rope`, `expected_loss`, `summary`) is over
    ``alpha``.

    Attributes
    ----------
    curves : tuple of two ExpectedPerformanceCurve
        The systems.
    paired : bool
        Whether they were tested on the same examples.
    """

    curves: tuple[ExpectedPerformanceCurve, ExpectedPerformanceCurve] = field(kw_only=True)
    paired: bool = field(kw_only=True)

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The difference of the two curves' points, over ``alpha``."""
        a, b = (curve.dataset[self.metric] for curve in self.curves)
        return xr.Dataset({self.metric: a - b}, attrs=self._facts)

    def band(self, ci_prob: float = 0.95, kind: str = "pointwise") -> xr.Dataset:
        """Return the equal-tailed band of the difference, over ``alpha`` and ``ci_bound``.

        Parameters
        ----------
        ci_prob : float
            Probability inside: at each α by itself, or of the whole curve.
        kind : {"pointwise", "simultaneous"}
            Of a simultaneous band a share `ci_prob` of the drawn curves lie wholly inside.
        """
        band = band_of_marginal(self.difference, ci_prob, kind)
        return xr.Dataset({self.metric: band}, attrs={**self._facts, **band.attrs})

    def significant(self, ci_prob: float = 0.95, kind: str = "pointwise") -> xr.DataArray:
        """Return at which α the band of the difference leaves out 0.

        By default each α is judged by itself: for systems that are alike, 1 − `ci_prob` of all α are significant on
        average. With ``kind="simultaneous"`` any α is, for such systems, in at most 1 − `ci_prob` of cases.
        """
        bounds = self.band(ci_prob, kind)[self.metric]
        lower, upper = bounds.sel(ci_bound="lower", drop=True), bounds.sel(ci_bound="upper", drop=True)
        return ((lower > 0) | (upper < 0)).rename("significant").assign_attrs(bounds.attrs)

    def percentile_test(self, draws: int = 10_000, random_seed: Any = 0) -> xr.Dataset:
        """Return the bootstrap percentile test of the source at each α.

        Test examples are resampled, for both systems alike if paired. The systems differ at level p if 0 is outside the
        interval around the mean of the resampled differences that holds 1 − p of them.

        Parameters
        ----------
        draws : int
            Resamples.
        random_seed : int or numpy.random.Generator
            Their seed.

        Returns
        -------
        xarray.Dataset
            ``difference``, the mean over resamples, and ``p_value``, over ``alpha``. Resamples in which the metric is
            undefined are left out.

        Notes
        -----
        Bengio, Mariéthoz & Keller (2005), section 5; Efron & Tibshirani (1993), An introduction to the bootstrap.
        """
        n, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
        resampled = _drawn(self.curves, self.paired, n, "bootstrap", np.zeros((2, 2)), seed)
        mean = np.nanmean(resampled, 0)
        further = np.where(np.isnan(resampled), np.nan, np.abs(resampled - mean) >= np.abs(mean))
        values = {"difference": mean, "p_value": np.nanmean(further, 0)}
        alphas = self.curves[0].alphas
        return xr.Dataset(
            {name: ("alpha", value) for name, value in values.items()},
            {"alpha": alphas},
            {"metric": self.metric, "paired": self.paired, "draws": n, "random_seed": seed},
        )

    def plot(self, *, ci_prob: float = 0.95, ci_kind: Kind = "eti", kind: str = "pointwise") -> Figure:
        """Draw both curves and their difference with bands, and shade where the difference is significant.

        Bands are equal-tailed: `ci_kind` can be nothing else.
        """
        from bayesperf import plots

        checks.one_of("ci_kind", ci_kind, ("eti",))
        return plots.epc(dict(zip(self.names, self.curves, strict=True)), comparison=self, ci_prob=ci_prob, kind=kind)

    def __repr__(self) -> str:
        difference = f"{self.metric}, {' − '.join(map(str, self.names))}"
        return f"<bayesperf.ExpectedPerformanceComparison: {difference}, alpha: {len(self.curves[0].alphas)}>"

    @property
    def _facts(self) -> dict[str, Any]:
        criterion = {name: self.curves[0].dataset.attrs[name] for name in ("criterion", "formula")}
        return {**criterion, "metric": self.metric, "estimand": self.difference.estimand, "basis": self.basis}


def epc_compare(
    a: ExpectedPerformanceCurve,
    b: ExpectedPerformanceCurve,
    *,
    names: Sequence[str] = ("a", "b"),
    paired: bool = True,
    rope: float = 0.0,
    draws: int = 1000,
    random_seed: Any = 0,
) -> ExpectedPerformanceComparison:
    """Compare two systems along α, each at the thresholds that its own development set chose.

    Parameters
    ----------
    a, b : ExpectedPerformanceCurve
        What `bayesperf.epc` returns, of one criterion, metric, method and prior and the same α. Thresholds stay as they
        are: only test sets are drawn anew.
    names : sequence of two str
        Names of the systems.
    paired : bool
        Whether both were tested on the same examples, given in the same order; else on different ones.
    rope : float
        Half-width of the region of practical equivalence, on the metric's scale.
    draws : int
        How many.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    ExpectedPerformanceComparison
        The difference is a − b, on the metric's own scale.

    Raises
    ------
    TypeError
        If a side is no such curve.
    ValueError
        If the curves are of different kinds, or `paired` and the labels of their test sets differ.

    Notes
    -----
    Of systems tested on the same examples, each pair of intervals that the two score an example in gets one weight, so
    errors that they share cancel. Pseudo-examples of the prior are as in `bayesperf.compare`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesperf.curves import epc, epc_compare
    >>> rng = np.random.default_rng(1)
    >>> y = np.repeat([0, 1], 300)
    >>> good, better = ([(y, rng.normal(y * shift)) for _ in range(2)] for shift in (1, 2))
    >>> comparison = epc_compare(epc(*good), epc(*better), names=("good", "better"))
    >>> comparison.significant().sel(alpha=[0, 0.5]).values
    array([False,  True])
    """
    _check_comparable(a, b, paired)
    names, rope = checks.two_names(names, different=True), checks.rope(rope)
    n, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    low, high = a.metric.bounds
    difference = marginal_of_draws(
        name=a.metric.name,
        values=_drawn((a, b), paired, n, a.method, a.prior, seed).T,
        leading=xr.DataArray(np.zeros(len(a.alphas)), {"alpha": a.alphas}),
        bounds=(low - high, high - low),
        estimand=f"{a.estimand}: difference of two systems",
        random_seed=seed,
    )
    related = "the same test examples" if paired else "different test examples"
    return ExpectedPerformanceComparison(
        difference=difference,
        names=names,
        rope=rope,
        greater_is_better=a.metric.greater_is_better,
        basis=f"{a.prior_text}; {related}",
        curves=(a, b),
        paired=paired,
    )


def _check_comparable(a: Any, b: Any, paired: bool) -> None:
    """Refuse what are not two curves of one kind or, if paired, not of the same test examples."""
    for side, curve in {"a": a, "b": b}.items():
        if not isinstance(curve, ExpectedPerformanceCurve):
            raise TypeError(f"{side} must be a curve, as bayesperf.epc returns; it is {type(curve).__name__}.")
        if curve.resample == "both":
            raise ValueError(
                f"{side}: its thresholds are drawn anew; systems are compared with thresholds as chosen. Make it with "
                "resample='test'."
            )
    for name in _SHARED:
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise ValueError(f"a and b differ in {name}: only curves of one kind can be compared.")
    if paired and not np.array_equal(a.system.test.positive, b.system.test.positive):
        raise ValueError(
            "paired: the labels of the two test sets differ, so they are not the same examples in the same order. Sort "
            "them alike; or give paired=False, of systems tested on different examples."
        )


def _drawn(
    curves: Sequence[ExpectedPerformanceCurve], paired: bool, draws: int, method: str, prior: Array, seed: int
) -> Array:
    """Return draws of the difference of two curves, (n, alpha)."""
    rng = np.random.default_rng(seed)
    counts = [curve.system.interval_counts(curve.thresholds) for curve in curves]
    positions = [of_curve.positions(curve.thresholds) for of_curve, curve in zip(counts, curves, strict=True)]
    weights = [of_curve.weights(prior) for of_curve in counts]
    pairs = PairedIntervalCounts.of(counts[0], counts[1], prior) if paired else None
    width = max(weights[0].size, weights[1].size, 0 if pairs is None else len(pairs.weights))
    metric, differences = curves[0].metric, []
    for n in block_sizes(draws, width):
        masses = [draw_mass(rng, w, n, method) for w in weights] if pairs is None else pairs.draw(rng, n, method)
        a, b = (metric.evaluate(cell_probabilities(*side), 1) for side in zip(masses, positions, strict=True))
        differences.append(a - b)
    return np.concatenate(differences)
