"""The difference of two systems along their expected performance curves, and where it is significant.

Two questions are told apart. "models": would these two models differ, their thresholds chosen on development sets like
these? "thresholds": do these two thresholds, which are fixed, differ?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.comparison.result import Comparison
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.bands import band_of_marginal
from bayesperf.curves.curve_marginals import marginal_of_draws
from bayesperf.curves.expected_performance.cells_by_draw import Resampling, drawn_cells
from bayesperf.curves.expected_performance.operating_range import NAME, QUANTITIES, OperatingRange
from bayesperf.curves.expected_performance.performance_curve import ExpectedPerformanceCurve
from bayesperf.curves.expected_performance.system import ThresholdRule
from bayesperf.posteriors.marginal import Kind
from bayesperf.posteriors.quantity import Quantity, Scope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ExpectedPerformanceComparison", "epc_compare"]

# What two curves must have in common to be compared.
_SHARED = ("criterion", "metric", "alphas", "method", "prior")
# What can be asked, and what is then drawn.
QUESTIONS = {
    "models": "these two models, thresholds chosen on development sets like these",
    "thresholds": "these two thresholds, as they were chosen",
}


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
    question : {"models", "thresholds"}
        What the difference is of.
    resampling : Resampling
        How both were drawn.
    """

    curves: tuple[ExpectedPerformanceCurve, ExpectedPerformanceCurve] = field(kw_only=True)
    paired: bool = field(kw_only=True)
    question: str = field(kw_only=True)
    resampling: Resampling = field(kw_only=True)

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
        """Return at which α the band of the difference leaves out 0: the answer to `question`.

        "models": whether these two models differ, whatever development sets of this size may choose. Of models that are
        alike, at each α at most 1 − `ci_prob` of comparisons do so, and with ``kind="simultaneous"`` at any α at all.
        "thresholds": whether these two thresholds differ, which is all but certain with enough test examples: of models
        that are alike a difference is the luck of their development sets. ``validation/epc_comparison.py`` counts
        both.

        Parameters
        ----------
        ci_prob, kind
            As in `band`. By default each α is judged by itself.

        Returns
        -------
        xarray.DataArray
            Over ``alpha``, its name "models_differ" or "thresholds_differ".
        """
        bounds = self.band(ci_prob, kind)[self.metric]
        lower, upper = bounds.sel(ci_bound="lower", drop=True), bounds.sel(ci_bound="upper", drop=True)
        return ((lower > 0) | (upper < 0)).rename(f"{self.question}_differ").assign_attrs(bounds.attrs)

    def expected_performance(self, low: float = 0.0, high: float = 1.0) -> Comparison:
        """Compare the mean performance over operating points: E_V1, E_V2 and their mean G.

        They are those of `ExpectedPerformanceCurve.expected_performance`, and are drawn for both systems together, as
        the curves are: of systems tested on the same examples by the same weights.

        Parameters
        ----------
        low, high : float
            Between which values V1 and V2 are of interest.

        Returns
        -------
        Comparison
            Of a − b, over ``quantity`` = E_V1, E_V2, G.

        Raises
        ------
        ValueError
            If `low` and `high` are no range within [0, 1].

        Notes
        -----
        Of normal scores, 50 of each class in either set, the scores of one system being those of the other with noise
        added, 95 % intervals of the difference of G between thresholds covered in 99 % of 350 data sets: the
        pseudo-examples of the prior are each system's own. Under ``prior="haldane"`` they did in 94 % of 150.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf.curves import epc, epc_compare
        >>> rng = np.random.default_rng(1)
        >>> y = np.repeat([0, 1], 200)
        >>> shared = rng.normal(size=(2, 400))
        >>> good, better = ([(y, s + rng.normal(size=400) / 3 + shift * y) for s in shared] for shift in (1.5, 1.8))
        >>> epc_compare(epc(*better), epc(*good), draws=500).expected_performance().prob_better.round(1).values
        array([1., 1., 1.])
        """
        a, b = self.curves
        over = OperatingRange.of(a.criterion, [a.system, b.system], low, high)
        means = [over.means(cells) for cells in drawn_cells([a.system, b.system], over.rules, self.resampling)]
        difference = marginal_of_draws(
            Quantity(NAME, a.scope, "difference", over.greater_is_better, "expected performance"),
            means[0] - means[1],
            xr.DataArray(np.zeros(len(QUANTITIES)), {"quantity": QUANTITIES}),
            self.resampling.random_seed,
            a.distribution,
        )
        return Comparison(
            contrast=difference,
            names=self.names,
            rope=self.rope,
            basis=f"{self.basis}; {QUESTIONS[self.question]}",
            dim=self.dim,
        )

    def percentile_test(self, draws: int = 10_000, random_seed: Any = 0, ci_prob: float = 0.95) -> xr.Dataset:
        """Return the bootstrap percentile test of the source at each α, which is of the two thresholds.

        Whatever `question` was, test examples (or their clusters) alone are resampled, for both systems alike if
        paired, and thresholds stay as they were chosen. It is not a test of the models: of two that are alike, with
        thresholds chosen on 100 development examples of each class, it finds a difference near the ends in four of ten
        cases.

        Parameters
        ----------
        draws : int
            Resamples.
        random_seed : int or numpy.random.Generator
            Their seed.
        ci_prob : float
            Share of resamples inside the interval.

        Returns
        -------
        xarray.Dataset
            Over ``alpha``: ``difference``, the mean over resamples; ``interval`` (last dim ``ci_bound``), the one
            centred there that holds a share `ci_prob` of them; and ``p_value``: the systems differ at level p if 0 is
            outside the interval that holds 1 − p. Resamples in which the metric is undefined are left out.

        Notes
        -----
        Bengio, Mariéthoz & Keller (2005), section 5; Efron & Tibshirani (1993), An introduction to the bootstrap.
        """
        prob = checks.probability("ci_prob", ci_prob)
        n, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
        resampled = _drawn(self.curves, Resampling(False, self.paired, n, "bootstrap", np.zeros((2, 2)), seed, False))
        mean = np.nanmean(resampled, 0)
        distance = np.abs(resampled - mean)
        further = np.where(np.isnan(resampled), np.nan, distance >= np.abs(mean))
        half = np.nanquantile(distance, prob, axis=0)
        return xr.Dataset(
            {
                "difference": ("alpha", mean),
                "interval": (("alpha", "ci_bound"), np.stack([mean - half, mean + half], -1)),
                "p_value": ("alpha", np.nanmean(further, 0)),
            },
            {"alpha": self.curves[0].alphas, "ci_bound": ["lower", "upper"]},
            {"metric": self.metric, "question": "thresholds", "paired": self.paired, "ci_prob": prob, "draws": n,
             "random_seed": seed},
        )  # fmt: skip

    def plot(  # type: ignore[override]
        self, *, ci_kind: Kind = "eti", **options: Any
    ) -> Figure:
        """Draw both curves and their difference with bands, and shade where the difference is significant.

        Parameters
        ----------
        ci_kind : {"eti"}
            Bands are equal-tailed.
        **options
            The options ``ci_prob``, ``kind`` and ``ax`` of `bayesperf.plots.epc`; ``ax`` holds two.
        """
        from bayesperf import plots

        checks.one_of("ci_kind", ci_kind, ("eti",))
        return plots.epc(dict(zip(self.names, self.curves, strict=True)), comparison=self, **options)

    def __repr__(self) -> str:
        difference = f"{self.metric}, {' − '.join(map(str, self.names))}"
        return f"<bayesperf.ExpectedPerformanceComparison: {difference}, alpha: {len(self.curves[0].alphas)}>"

    @property
    def _facts(self) -> dict[str, Any]:
        criterion = {name: self.curves[0].dataset.attrs[name] for name in ("criterion", "formula")}
        return {**criterion, "metric": self.metric, "estimand": self.difference.estimand, "basis": self.basis,
                "question": self.question}  # fmt: skip


@checked
def epc_compare(
    a: ExpectedPerformanceCurve,
    b: ExpectedPerformanceCurve,
    *,
    names: Sequence[str] = ("a", "b"),
    question: str = "models",
    paired: bool = True,
    rope: float = 0.0,
    draws: int = 1000,
    random_seed: Any = 0,
) -> ExpectedPerformanceComparison:
    """Compare two systems along α: these two models, or these two thresholds.

    Parameters
    ----------
    a, b : ExpectedPerformanceCurve
        What `bayesperf.epc` returns, of one criterion, metric, method and prior and the same α.
    names : sequence of two str
        Names of the systems.
    question : {"models", "thresholds"}
        "models": which model does better, its thresholds chosen on development sets like this one? Development and
        test sets are drawn together, and thresholds chosen anew in every draw. "thresholds": which does better at the
        very thresholds that were chosen? They stay as they are, and test sets alone are drawn.
    paired : bool
        Whether both were tested on the same examples, given in the same order; else on different ones. If so, and the
        labels of their development sets are the same as well, those are the same examples too.
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
        If the curves are of different kinds, or `paired` and the labels (or clusters) of their test sets differ; if
        thresholds were chosen a posteriori, and the question is of models.

    Notes
    -----
    Of systems tested on the same examples, each pair of intervals that the two score an example in gets one weight, so
    errors that they share cancel. Pseudo-examples of the prior are as in `bayesperf.compare`. Thresholds are drawn as
    in `bayesperf.epc` with ``resample="both"``.

    Of two systems that are alike (scores of positives N(1.5, 1), of negatives N(0, 1), 21 values of α), tested on the
    same examples, models were found to differ at single α in 0 to 5.7 % of 300 simulations with 100 examples of each
    class in either set, in 0 to 4 % of 200 with 500; at any α under ``kind="simultaneous"`` in 1.3 and 0 %. Thresholds
    were in 7 to 48 and 4 to 65 %, and at any α in 88 and 99.5 %. ``validation/epc_comparison.py`` repeats this.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesperf.curves import epc, epc_compare
    >>> rng = np.random.default_rng(1)
    >>> y = np.repeat([0, 1], 300)
    >>> good, better = ([(y, rng.normal(y * shift)) for _ in range(2)] for shift in (1, 2))
    >>> curves = epc(*good), epc(*better)
    >>> epc_compare(*curves, names=("good", "better")).significant().sel(alpha=[0, 0.5]).values
    array([ True,  True])
    >>> epc_compare(*curves, names=("good", "better"), question="thresholds").significant().name
    'thresholds_differ'
    """
    checks.one_of("question", question, QUESTIONS)
    _check_comparable(a, b, paired, question)
    names, rope = checks.two_names(names, different=True), checks.rope(rope)
    n, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    low, high = a.metric.bounds
    resampling = Resampling(question == "models", paired, n, a.method, a.prior, seed, a.progressbar)
    quantity = Quantity.of(a.metric, Scope("chosen", detail=QUESTIONS[question]))
    difference = marginal_of_draws(
        quantity.contrasted("difference", (low - high, high - low)),
        _drawn((a, b), resampling).T,
        xr.DataArray(np.zeros(len(a.alphas)), {"alpha": a.alphas}),
        seed,
        a.distribution,
    )
    related = "the same test examples" if paired else "different test examples"
    return ExpectedPerformanceComparison(
        contrast=difference,
        names=names,
        rope=rope,
        basis=f"{a.prior_text}; {related}",
        curves=(a, b),
        paired=paired,
        question=question,
        resampling=resampling,
    )


def _check_comparable(a: Any, b: Any, paired: bool, question: str) -> None:
    """Refuse what are not two curves of one kind or, if paired, not of the same test examples."""
    for side, curve in {"a": a, "b": b}.items():
        if not isinstance(curve, ExpectedPerformanceCurve):
            raise InputTypeError(side, f"must be a curve, as bayesperf.epc returns; it is {type(curve).__name__}.")
        if question == "models" and curve.system.development is curve.system.test:
            raise InputError(
                side,
                "its thresholds were chosen on the test set itself, which says nothing of choosing them beforehand.",
                "Make it with bayesperf.epc, or ask of the thresholds: question='thresholds'.",
            )
    for name in _SHARED:
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise InputError("a and b", f"differ in {name}: only curves of one kind can be compared.")
    if paired and not a.system.test.alike(b.system.test):
        raise InputError(
            "paired",
            "the labels (or clusters) of the two test sets differ, so they are not the same "
            "examples in the same order.",
            "Sort them alike; or give paired=False, of systems tested on different examples.",
        )


def _drawn(curves: Sequence[ExpectedPerformanceCurve], resampling: Resampling) -> Array:
    """Return draws of the difference of two curves, (n, alpha)."""
    rule = ThresholdRule(curves[0].criterion, curves[0].alphas)
    a, b = (
        curves[0].metric.evaluate(cells, 1)
        for cells in drawn_cells([curve.system for curve in curves], [rule], resampling)
    )
    return a - b
