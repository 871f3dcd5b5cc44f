"""The expected performance curve: its points, its draws, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.recipes import remembered
from bayesperf.core.saving import Saved
from bayesperf.core.words import CHOSEN_ON_THE_SAME, enumerated, estimate, metric_title, sentence
from bayesperf.curves.bands import band_of_marginal
from bayesperf.curves.curve_marginals import draws_along, marginal_of_draws
from bayesperf.curves.expected_performance.cells_by_draw import Resampling, drawn_cells
from bayesperf.curves.expected_performance.criteria import Criterion
from bayesperf.curves.expected_performance.operating_range import NAME, QUANTITIES, OperatingRange
from bayesperf.curves.expected_performance.system import System, ThresholdRule
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.quantity import Quantity, Scope, described
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = [0, 1]


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedPerformanceCurve(Saved):
    """A metric on a test set along α, at thresholds chosen on a development set. Made by `bayesperf.epc`.

    That of `bayesperf.epc_a_posteriori` has its thresholds chosen on the test set itself.

    Attributes
    ----------
    system : System
        The scores.
    criterion : Criterion
        The criterion that chose the thresholds.
    metric : Metric
        The metric along the curve.
    alphas : ndarray (a,)
        Values of α.
    method, prior, prior_text, resample, n_draws, random_seed, progressbar
        Of the draws, as in `bayesperf.epc`; the prior as pseudo-counts (actual, predicted), and in words.
    """

    system: System
    criterion: Criterion
    metric: Metric
    alphas: Array
    method: str
    prior: Array
    prior_text: str
    resample: str
    n_draws: int
    random_seed: int
    progressbar: bool = True

    @cached_property
    def thresholds(self) -> Array:
        """The chosen thresholds, (fold, a); without folds, (1, a)."""
        return self.system.thresholds([self._rule])

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The curve over ``alpha``: ``threshold`` (over ``fold`` as well, if there are folds), the metric, fpr, fnr."""
        dims = ("fold", "alpha") if self.system.labels else ("alpha",)
        thresholds = self.thresholds if self.system.labels else self.thresholds[0]
        coords = {"alpha": self.alphas} | ({"fold": self.system.labels} if self.system.labels else {})
        curve = xr.Dataset({"threshold": (dims, thresholds)}, coords)
        return curve.assign({m.name: evaluate(m, self.cm.counts, 1) for m in self._shown}).assign_attrs(self._facts)

    @cached_property
    def cm(self) -> ConfusionMatrix:
        """The test counts at each α, summed over folds: labels 0 and 1, of which 1 is positive."""
        coords = {"alpha": self.alphas} | dict.fromkeys(CELL_DIMS, LABELS)
        return ConfusionMatrix(xr.DataArray(self.system.counts(self.thresholds), coords, ("alpha", *CELL_DIMS)))

    @cached_property
    def posterior(self) -> Posterior:
        """The draws behind the bands, as a posterior over ``alpha`` of any metric."""
        drawn = self._drawn([self._rule]).swapaxes(0, 1)
        return Posterior(
            source=StoredDraws(stored(drawn, self.cm.counts), independent=True),
            pos_label=1,
            prior_text=self.prior_text,
            scope=self.scope,
            inference=self.distribution,
            observed=self.cm.counts,
        )

    @property
    def scope(self) -> Scope:
        """Whose metric bands and marginals are of: the system's, at thresholds chosen by a rule."""
        if self.resample == "both":
            return Scope("chosen", detail="thresholds chosen on development sets like this one")
        itself = f" on {self.system.chosen_on}" if self.system.development is self.system.test else ""
        return Scope("chosen", detail=f"thresholds as chosen{itself}")

    @property
    def estimand(self) -> str:
        """What bands and marginals are of, in words."""
        return described(self.scope, inference=self.distribution)

    @property
    def distribution(self) -> str:
        """What draws are of, in words."""
        return "Posterior" if self.method == "bayesian_bootstrap" else "Bootstrap distribution"

    def band(self, ci_prob: float = 0.95, kind: str = "pointwise") -> xr.Dataset:
        """Return equal-tailed bands of the metric, fpr and fnr.

        Parameters
        ----------
        ci_prob : float
            Probability inside: at each α by itself, or of the whole curve.
        kind : {"pointwise", "simultaneous"}
            Of a simultaneous band a share `ci_prob` of the drawn curves lie wholly inside.

        Returns
        -------
        xarray.Dataset
            Over ``alpha`` and ``ci_bound`` = lower, upper.
        """
        bands = {m.name: band_of_marginal(self.posterior[m], ci_prob, kind) for m in self._shown}
        return xr.Dataset(bands, attrs={**self._facts, "ci_prob": ci_prob, "ci_kind": "eti", "kind": kind})

    @property
    @remembered("ExpectedPerformanceCurve.area")
    def area(self) -> Marginal:
        """Distribution of the metric's integral over the given values of α (trapezoids)."""
        if len(self.alphas) < 2:
            raise InputError("area", "of one α there is none.", "Give more alphas.")
        drawn = draws_along(self.posterior[self.metric])
        area = np.asarray(np.trapezoid(drawn, self.alphas, axis=0))
        over = f"{len(self.alphas)} α from {self.alphas[0]:g} to {self.alphas[-1]:g}"
        words = f"area by {self.criterion.name} over {over}"
        return self._marginal(f"area under {self.metric.name}", words, self.metric.greater_is_better, area)

    def expected_performance(self, low: float = 0.0, high: float = 1.0, ci_prob: float = 0.95) -> xr.Dataset:
        """Return the mean performance over operating points: E_V1, E_V2 and their mean G.

        V1 and V2 are the criterion's two metrics (FAR and FRR, or precision and recall). E_V1 is the mean of
        (V1 + V2)/2 on the test set where the thresholds bring V1 to α on the development set, over α from `low` to
        `high`; E_V2 where they bring V2 to α. They are comparable between systems, whatever the curve's own metric:
        `ExpectedPerformanceComparison.expected_performance` compares them.

        Parameters
        ----------
        low, high : float
            Between which values V1 and V2 are of interest.
        ci_prob : float
            Probability of the equal-tailed intervals.

        Returns
        -------
        xarray.Dataset
            ``E_V1``, ``E_V2``, ``G``, and their intervals as ``interval`` over (quantity, ci_bound).

        Notes
        -----
        Means are exact for up to 512 different values of the metric on the development set; for more, over an even
        grid of 512 values of α. With thresholds chosen on the test set, G would be (A + 1/2)/2 with A the area under
        FRR against FAR, which is 1 − the area under the ROC curve.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf import epc
        >>> rng = np.random.default_rng(0)
        >>> y = np.repeat([0, 1], 200)
        >>> curve = epc(dev=(y, rng.normal(2 * y)), test=(y, rng.normal(2 * y)))
        >>> means = curve.expected_performance()
        >>> round(means["G"].item(), 3), means["interval"].sel(quantity="G").round(3).values
        (0.286, array([0.268, 0.308]))
        """
        over = OperatingRange.of(self.criterion, [self.system], low, high)
        values = over.means(self.system.counts(self.system.thresholds(over.rules)))
        interval = self.expected_performance_marginal(low, high).eti(ci_prob)
        result = xr.Dataset(dict(zip(QUANTITIES, values, strict=True)) | {"interval": interval})
        return result.assign_attrs(**self._facts, low=low, high=high, ci_prob=ci_prob, ci_kind="eti")

    @remembered("ExpectedPerformanceCurve.expected_performance_marginal")
    def expected_performance_marginal(self, low: float = 0.0, high: float = 1.0) -> Marginal:
        """Return the distribution of E_V1, E_V2 and G (see `expected_performance`), over ``quantity``.

        Those of two systems tested on different examples can be compared by `bayesperf.compare`; on the same, by
        ``epc_compare(a, b).expected_performance()``.

        Parameters
        ----------
        low, high : float
            As in `expected_performance`.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf import epc
        >>> rng = np.random.default_rng(0)
        >>> y = np.repeat([0, 1], 200)
        >>> curve = epc(dev=(y, rng.normal(2 * y)), test=(y, rng.normal(2 * y)))
        >>> curve.expected_performance_marginal().prob_below(0.3).sel(quantity="G").round(1).item()
        0.9
        """
        over = OperatingRange.of(self.criterion, [self.system], low, high)
        drawn = over.means(self._drawn(over.rules))
        words = f"mean of {self.criterion.first} and {self.criterion.second} over either from {low:g} to {high:g}"
        return self._marginal(NAME, words, over.greater_is_better, drawn, {"quantity": QUANTITIES})

    def plot(self, **options: Any) -> Figure:
        """Draw the curve with its band.

        Parameters
        ----------
        **options
            The options ``ci_prob``, ``kind`` and ``ax`` of `bayesperf.plots.epc`.
        """
        from bayesperf import plots

        return plots.epc(self, **options)

    def in_words(self, *, ci_prob: float = 0.95) -> str:
        """Return sentences on the curve: its least and greatest values, how thresholds were chosen, and the mean G.

        Parameters
        ----------
        ci_prob : float
            Probability of the equal-tailed intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf import epc
        >>> rng = np.random.default_rng(0)
        >>> y = np.repeat([0, 1], 200)
        >>> curve = epc(dev=(y, rng.normal(2 * y)), test=(y, rng.normal(2 * y)))
        >>> print(curve.in_words())
        Half total error rate on the test set is between 0.167 (95 % ETI 0.136–0.208) at α = 0.61 and 0.485 (95 % ETI \
        0.471–0.496) at α = 0. The thresholds minimise α·FAR + (1 − α)·FRR on the development set. Over all operating \
        points the mean of FPR and FNR, G, is 0.287 (95 % ETI 0.268–0.308).
        """
        prob, metric = checks.probability("ci_prob", ci_prob), self.metric
        values, bounds = self.dataset[metric.name].values, self.posterior[metric].eti(prob).values
        ends = dict.fromkeys([int(np.nanargmin(values)), int(np.nanargmax(values))])
        at = [f"{estimate(values[i], low, high, prob, 'eti')} at α = {self.alphas[i]:.3g}"
              for i in ends for low, high in [bounds[i]]]  # fmt: skip
        between = f"between {enumerated(at)}" if len(at) > 1 else at[0]
        overall = self.expected_performance_marginal().sel(quantity="G")
        low, high = overall.eti(prob).values
        g = estimate(overall.mean().item(), low, high, prob, "eti")
        first, second = (metric_title(name) for name in (self.criterion.first, self.criterion.second))
        sentences = [
            f"{metric.title} on the test set is {between}",
            f"the thresholds minimise {self.criterion.formula} on {self.system.chosen_on}",
            f"over all operating points the mean of {first} and {second}, G, is {g}",
            *([CHOSEN_ON_THE_SAME] if self.system.development is self.system.test else []),
        ]
        return " ".join(map(sentence, sentences))

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}<br>{escape(self.in_words())}</p>"

    def __repr__(self) -> str:
        what = f"{self.metric.name} by {self.criterion.name}"
        return f"<bayesperf.ExpectedPerformanceCurve: {what}, alpha: {len(self.alphas)}>"

    # ── Helpers ──

    @property
    def _rule(self) -> ThresholdRule:
        return ThresholdRule(self.criterion, self.alphas)

    @property
    def _shown(self) -> list[Metric]:
        """The metric and the two error rates, each once."""
        rates = [single_valued(name, LABELS, 1) for name in ("fpr", "fnr")]
        return [self.metric, *(rate for rate in rates if rate.name != self.metric.name)]

    @property
    def _facts(self) -> dict[str, Any]:
        return {"criterion": self.criterion.name, "formula": self.criterion.formula, "metric": self.metric.name,
                "method": self.method, "resample": self.resample, "prior": self.prior_text, "draws": self.n_draws,
                "random_seed": self.random_seed, "estimand": self.estimand}  # fmt: skip

    def _marginal(
        self,
        name: str,
        words: str,
        greater_is_better: bool | None,
        drawn: Array,
        coords: Mapping[str, Any] | None = None,
    ) -> Marginal:
        """Return the marginal of a figure of the whole curve, which is called so in words."""
        leading = xr.DataArray(np.zeros(drawn.shape[:-1]), coords, tuple(coords or ()))
        quantity = Quantity(name, self.scope, greater_is_better=greater_is_better, words=words)
        examples = self.cm.counts.isel(alpha=0, drop=True)
        return marginal_of_draws(quantity, drawn, leading, self.random_seed, self.distribution, examples)

    def _drawn(self, rules: Sequence[ThresholdRule]) -> Array:
        """Return draws of the cell probabilities (n, a, actual, predicted) at the thresholds that rules choose."""
        resampling = Resampling(
            self.resample == "both", False, self.n_draws, self.method, self.prior, self.random_seed, self.progressbar
        )
        return drawn_cells([self.system], rules, resampling)[0]
