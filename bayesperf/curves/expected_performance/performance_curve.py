"""Expected performance curves: a system's performance on new data at thresholds chosen beforehand on other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf import metrics
from bayesperf.comparison.contrast import Asked, contrasted
from bayesperf.comparison.result import Comparison
from bayesperf.comparison.system_pair import pairs_along
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import CHOSEN_ON_THE_SAME, enumerated, estimate, metric_title, sentence
from bayesperf.curves.curve import KINDS, CurveOfParts, band_of_draws
from bayesperf.curves.expected_performance.criteria import Criterion, CriterionFunction, criterion_of, grid, nearest
from bayesperf.curves.expected_performance.system import (
    System,
    ThresholdRule,
    by_system,
    drawn_cells,
    examples_of,
    systems_from,
)
from bayesperf.curves.scored_systems import draws_along, marginal_of_scores
from bayesperf.data.axis_names import MODEL
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.quantity import Quantity, Scope, described
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored

LABELS = [0, 1]
NAME, QUANTITIES = "expected performance", ["E_V1", "E_V2", "G"]
# The greatest number of thresholds that an expected performance is summed over.
_NODES = 512
METHODS, RESAMPLED = ("bayesian_bootstrap", "bootstrap"), ("test", "both")
# Pseudo-examples of systems on the same examples are of all their joint outcomes, two to the power of the systems.
_MOST_SYSTEMS = 10
# Questions about two systems: the draws and the scope of each answer.
QUESTIONS = {
    "models": ("both", "these two models, thresholds chosen on development sets like these"),
    "thresholds": ("test", "these two thresholds, as they were chosen"),
}


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedPerformanceCurve(CurveOfParts):
    """A metric on a test set along α, at thresholds chosen on a development set. Made by `bayesperf.curves.epc`.

    The curve of `bayesperf.curves.epc_a_posteriori` has its thresholds chosen on the test set itself.

    Attributes
    ----------
    parts : mapping of str to System
        The scores of each system; the name is empty for one without a name.
    criterion : Criterion
        The criterion that chose the thresholds.
    metric : Metric
        The metric along the curve.
    alphas : ndarray (a,)
        Values of α.
    method, prior, prior_text, resample, n_draws, random_seed, progressbar
        Settings of the draws, as in `bayesperf.curves.epc`; the prior as pseudo-counts (actual, predicted), and in
        words.
    paired : bool
        Whether systems were tested on the same examples.

    Notes
    -----
    Bands are equal-tailed, for the metric, fpr and fnr over ``alpha``.
    """

    parts: Mapping[Any, System]
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
    paired: bool = True

    over: ClassVar[str] = "alpha"
    drawn_by = "epc"

    @property
    def system(self) -> System:
        """The only system, or the first of several."""
        return next(iter(self.parts.values()))

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The curve over ``alpha``: ``threshold`` (over ``fold`` as well, if there are folds), the metric, fpr, fnr."""
        thresholds = self._over_systems(self._with_folds(chosen) for chosen in self._thresholds)
        rates = {m.name: evaluate(m, self.cm.counts, 1) for m in self._metrics}
        return xr.Dataset({"threshold": thresholds}).assign(rates).assign_attrs(self._facts)

    @cached_property
    def _thresholds(self) -> list[Array]:
        """The thresholds that each system chose, (fold, a); without folds, (1, a)."""
        return [system.thresholds([self._rule]) for system in self.parts.values()]

    def _with_folds(self, chosen: Array) -> xr.DataArray:
        if folds := self.system.labels:
            return xr.DataArray(chosen, {"fold": folds, "alpha": self.alphas}, ("fold", "alpha"))
        return xr.DataArray(chosen[0], {"alpha": self.alphas}, ("alpha",))

    @cached_property
    def cm(self) -> ConfusionMatrix:
        """The test counts at each α, summed over folds, with labels 0 and 1 (positive)."""
        chosen = zip(self.parts.values(), self._thresholds, strict=True)
        labels = {"alpha": self.alphas, **dict.fromkeys(CELL_DIMS, LABELS)}
        counts = (each.counts(thresholds) for each, thresholds in chosen)
        return ConfusionMatrix(self._over_systems(xr.DataArray(each, labels, ("alpha", *CELL_DIMS)) for each in counts))

    @cached_property
    def posterior(self) -> Posterior:
        """The draws behind the bands, as a posterior over ``alpha`` for any metric."""
        drawn = np.stack([cells.swapaxes(0, 1) for cells in drawn_cells(self, [self._rule])])
        return Posterior(
            source=StoredDraws(stored(drawn, self.cm.counts), independent_draws=True),
            pos_label=1,
            prior_text=self.prior_text,
            scope=self.scope,
            inference=self.distribution,
            observed=self.cm.counts,
        )

    def joint_draws(self) -> xr.Dataset:
        """Return joint draws of the metric, fpr and fnr along α, of all systems, with last dim ``draw``."""
        marginals = {m.name: self.posterior[m] for m in self._metrics}
        return xr.Dataset({
            name: xr.DataArray(draws_along(m).reshape(*m.leading.shape, -1), m.leading.coords, (*m.dims, "draw"))
            for name, m in marginals.items()
        })  # fmt: skip

    @property
    def scope(self) -> Scope:
        """The scope of bands and marginals: the system, at thresholds chosen by a rule."""
        if self.resample == "both":
            return Scope("chosen", detail="thresholds chosen on development sets like this one")
        itself = f" on {self.system.chosen_on}" if self._a_posteriori else ""
        return Scope("chosen", detail=f"thresholds as chosen{itself}")

    @property
    def estimand(self) -> str:
        """The quantity of bands and marginals, in words."""
        return described(self.scope, inference=self.distribution)

    @property
    def distribution(self) -> str:
        """The quantity of the draws, in words."""
        return "Posterior" if self.method == "bayesian_bootstrap" else "Bootstrap distribution"

    @property
    def area(self) -> Marginal:
        """Distribution of the metric's integral over the given values of α (trapezoids)."""
        if len(self.alphas) < 2:
            raise InputError("area", "of one α there is none.", "Give more alphas.")
        drawn = self.joint_draws()[self.metric.name].values
        area = np.asarray(np.trapezoid(drawn, self.alphas, axis=-2))
        over = f"{len(self.alphas)} α from {self.alphas[0]:g} to {self.alphas[-1]:g}"
        words = f"area by {self.criterion.name} over {over}"
        return self._marginal(f"area under {self.metric.name}", words, self.metric.greater_is_better, area)

    @checked
    def expected_performance(self, low: float = 0.0, high: float = 1.0) -> Marginal:
        """Return the distribution of the mean performance over operating points: E_V1, E_V2 and their mean G.

        V1 and V2 are the criterion's two metrics (FAR and FRR, or precision and recall). E_V1 is the mean of (V1 +
        V2)/2 on the test set, with the thresholds that bring V1 to α on the development set, over α from `low` to
        `high`. E_V2 uses the thresholds that bring V2 to α. They are comparable between systems, whatever the curve's
        own metric.

        Parameters
        ----------
        low, high : float
            The range of V1 and V2 that is of interest.

        Returns
        -------
        Marginal
            Over ``quantity``. The ``observed`` means are exact for up to 512 different values of the metric on the
            development set; for more, over an even grid of 512 values of α. Those of several systems are joint, so that
            `bayesperf.compare` of them is the comparison of the systems, or of their choosing thresholds where
            `resample` is "both".

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf.curves import epc
        >>> rng, y = np.random.default_rng(0), np.repeat([0, 1], 200)
        >>> curve = epc(dev=(y, rng.normal(2 * y)), test=(y, rng.normal(2 * y)))
        >>> g = curve.expected_performance().sel(quantity="G")
        >>> g.observed.round(3).item(), g.eti().values.round(3), g.prob_below(0.3).round(1).item()
        (0.286, array([0.268, 0.308]), 0.9)
        """
        over = OperatingRange.of(self.criterion, list(self.parts.values()), low, high)
        observed = self._over_systems(
            xr.DataArray(over.means(each.counts(each.thresholds(over.rules))), {"quantity": QUANTITIES}, ["quantity"])
            for each in self.parts.values()
        )
        drawn = np.stack([over.means(cells) for cells in drawn_cells(self, over.rules)])
        words = f"mean of {self.criterion.first} and {self.criterion.second} over either from {low:g} to {high:g}"
        drawn = drawn if self.names else drawn[0]
        return self._marginal(NAME, words, over.greater_is_better, drawn, observed)

    # ── Two systems ──

    @checked
    def contrast(self, a: Any = None, b: Any = None, *, question: str = "models", rope: float = 0.0) -> Comparison:
        """Compare two systems along α, a − b: these two models, or these two thresholds.

        Parameters
        ----------
        a, b : label, optional
            Names of the systems; by default the two in the curve.
        question : {"models", "thresholds"}
            "models": which model does better, with thresholds chosen on development sets like this one? Every draw
            resamples development and test sets together, and chooses thresholds anew, as with ``resample="both"``; not
            for curves a posteriori. "thresholds": which does better at the very thresholds that were chosen? Only test
            sets are drawn.
        rope : float
            Half-width of the region of practical equivalence, on the metric's scale.

        Returns
        -------
        Comparison
            A comparison over ``alpha``. For systems tested on the same examples, shared errors cancel; pseudo-examples
            of the prior are as in `bayesperf.compare`. docs/coverage.md shows how often systems that are alike seem to
            differ.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf.curves import epc
        >>> rng, y = np.random.default_rng(1), np.repeat([0, 1], 300)
        >>> dev, test = ((y, {"good": rng.normal(y), "better": rng.normal(2 * y)}) for _ in range(2))
        >>> epc(dev, test, alphas=[0.5]).contrast("better", "good").prob_better.round(1).values
        array([1.])
        """
        pair = self._pair(a, b, question)
        drawn = pair.joint_draws()[self.metric.name]
        quantity = Quantity.of(self.metric, Scope("chosen", detail=QUESTIONS[question][1]))
        leading = drawn.isel(draw=0, drop=True)
        marginal = marginal_of_scores(
            quantity, drawn.values, self.random_seed, leading, inference=self.distribution, joint=True
        )
        asked = Asked(MODEL, checks.rope(rope), "difference", self.n_draws, self.random_seed, False)
        related = "the same test examples" if self.paired else "different test examples"
        over_alpha = xr.zeros_like(leading.isel({MODEL: 0}, drop=True))
        systems = pairs_along(marginal, MODEL, False, self.n_draws, self.random_seed, over_alpha)
        return contrasted(systems, asked, systems.names, f"{self.prior_text}; {related}")

    def difference(
        self, a: Any = None, b: Any = None, ci_prob: float = 0.95, kind: str = "pointwise", *, question: str = "models"
    ) -> xr.Dataset:
        """Return the difference of two systems along α, a − b, its band, and where the band excludes 0.

        "models": whether these two models differ, whatever development sets of this size may choose. For models that
        are alike, at each α at most 1 − `ci_prob` of comparisons exclude 0, and with ``kind="simultaneous"`` at any α
        at all. "thresholds": whether these two thresholds differ, which is all but certain with enough test examples:
        for models that are alike, a difference is the luck of their development sets. ``validation/epc_comparison.py``
        counts both.

        Parameters
        ----------
        a, b, question
            As in `contrast`.
        ci_prob, kind
            As in `band`. By default each α is judged by itself.

        Returns
        -------
        xarray.Dataset
            Over ``alpha``: ``difference`` of the points; ``interval`` (last dim ``ci_bound``), its equal-tailed band;
            and ``significant``, whether the band excludes 0.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf.curves import epc
        >>> rng, y = np.random.default_rng(1), np.repeat([0, 1], 300)
        >>> dev, test = ((y, {"good": rng.normal(y), "better": rng.normal(2 * y)}) for _ in range(2))
        >>> epc(dev, test, alphas=[0.5]).difference()["significant"].values
        array([ True])
        """
        pair, prob = self._pair(a, b, question), checks.probability("ci_prob", ci_prob)
        checks.one_of("kind", kind, KINDS)
        points, drawn = (_difference(of[self.metric.name]) for of in (pair.dataset, pair.joint_draws()))
        band = band_of_draws(drawn, prob, kind)
        lower, upper = (band.sel(ci_bound=end, drop=True) for end in ("lower", "upper"))
        found = xr.Dataset({"difference": points, "interval": band, "significant": (lower > 0) | (upper < 0)})
        facts = {"metric": self.metric.name, "question": question, "paired": self.paired, "ci_prob": prob,
                 "ci_kind": "eti", "kind": kind}  # fmt: skip
        return found.drop_attrs().assign_attrs(facts)

    def percentile_test(
        self, a: Any = None, b: Any = None, *, draws: int = 10_000, random_seed: Any = 0, ci_prob: float = 0.95
    ) -> xr.Dataset:
        """Return the source's bootstrap percentile test at each α, which is about the two thresholds.

        Only test examples (or their clusters) are resampled, for both systems alike if paired, and thresholds stay as
        chosen. This is no test of the models: for two that are alike it often finds a difference near the ends
        (docs/coverage.md).

        Parameters
        ----------
        a, b : label, optional
            As in `contrast`.
        draws, random_seed
            Number and seed of resamples.
        ci_prob : float
            Proportion of resamples inside the interval.

        Returns
        -------
        xarray.Dataset
            Over ``alpha``: ``difference``, the mean over resamples; ``interval`` (last dim ``ci_bound``), the interval
            centred there that contains a proportion `ci_prob` of them; and ``p_value``: the systems differ at level p
            if 0 is outside the interval that contains 1 − p. Resamples in which the metric is undefined are omitted.
            (Bengio, Mariéthoz & Keller 2005, section 5; Efron & Tibshirani 1993, An introduction to the bootstrap.)
        """
        prob = checks.probability("ci_prob", ci_prob)
        n, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
        pair = replace(self._pair(a, b, "thresholds"), method="bootstrap", prior=np.zeros((2, 2)), n_draws=n,
                       random_seed=seed, progressbar=False)  # fmt: skip
        resampled = _difference(pair.joint_draws()[self.metric.name]).values.T
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
            {"alpha": self.alphas, "ci_bound": ["lower", "upper"]},
            {"metric": self.metric.name, "question": "thresholds", "paired": self.paired, "ci_prob": prob, "draws": n,
             "random_seed": seed},
        )  # fmt: skip

    def _pair(self, a: Any, b: Any, question: str) -> ExpectedPerformanceCurve:
        """Return the curve of two systems whose draws answer a question."""
        checks.one_of("question", question, QUESTIONS)
        two = self.names if a is None and b is None else [a, b]
        if len(two) != 2 or two[0] == two[1]:
            raise InputError("a and b", f"must name two systems; there are {self.names}.", "Name two of them.")
        if question == "models" and self._a_posteriori:
            raise InputError(
                "question",
                "thresholds were chosen on the test set itself, which says nothing of choosing them beforehand.",
                "Make the curve with bayesperf.curves.epc, or ask of the thresholds: question='thresholds'.",
            )
        return replace(self.sel(model=two), resample=QUESTIONS[question][0])

    def in_words(self, *, ci_prob: float = 0.95) -> str:
        """Return sentences on the curve: its smallest and largest values, how thresholds were chosen, and the mean G.

        Parameters
        ----------
        ci_prob : float
            Probability of the equal-tailed intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesperf.curves import epc
        >>> rng = np.random.default_rng(0)
        >>> y = np.repeat([0, 1], 200)
        >>> curve = epc(dev=(y, rng.normal(2 * y)), test=(y, rng.normal(2 * y)))
        >>> print(curve.in_words())
        Half total error rate on the test set is between 0.167 (95 % ETI 0.136–0.208) at α = 0.61 and 0.485 (95 % ETI \
        0.471–0.496) at α = 0. The thresholds minimise α·FAR + (1 − α)·FRR on the development set. Over all operating \
        points the mean of FPR and FNR, G, is 0.287 (95 % ETI 0.268–0.308).
        """
        prob = checks.probability("ci_prob", ci_prob)
        if self.names:
            return "\n".join(f"{name}: {self._in_words_at({MODEL: name}, prob)}" for name in self.names)
        return self._in_words_at({}, prob)

    def _in_words_at(self, place: Mapping[str, Any], prob: float) -> str:
        """Return the sentences on the system at a place."""
        metric, bounds = self.metric, self.band(prob)[self.metric.name].sel(place).values
        values = self.dataset[metric.name].sel(place).values
        ends = dict.fromkeys([int(np.nanargmin(values)), int(np.nanargmax(values))])
        at = [f"{estimate(values[i], low, high, prob, 'eti')} at α = {self.alphas[i]:.3g}"
              for i in ends for low, high in [bounds[i]]]  # fmt: skip
        between = f"between {enumerated(at)}" if len(at) > 1 else at[0]
        overall = self.expected_performance().sel(quantity="G", **place)
        low, high = overall.eti(prob).values
        g = estimate(overall.mean().item(), low, high, prob, "eti")
        first, second = (metric_title(name) for name in (self.criterion.first, self.criterion.second))
        sentences = [
            f"{metric.title} on the test set is {between}",
            f"the thresholds minimise {self.criterion.formula} on {self.system.chosen_on}",
            f"over all operating points the mean of {first} and {second}, G, is {g}",
            *([CHOSEN_ON_THE_SAME] if self._a_posteriori else []),
        ]
        return " ".join(map(sentence, sentences))

    # ── Helpers ──

    @property
    def _rule(self) -> ThresholdRule:
        return ThresholdRule(self.criterion, self.alphas)

    @property
    def _subject(self) -> str:
        return f"{self.metric.name} by {self.criterion.name}, alpha: {len(self.alphas)}"

    @property
    def _a_posteriori(self) -> bool:
        """Whether thresholds were chosen on the test set itself."""
        return self.system.development is self.system.test

    def _bounds(self, prob: float, kind: str) -> xr.Dataset:
        return super()._bounds(prob, kind).assign_attrs(ci_kind="eti")

    @property
    def _band_names(self) -> list[str]:
        return [metric.name for metric in self._metrics]

    @property
    def _metrics(self) -> list[Metric]:
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
        observed: xr.DataArray | None = None,
    ) -> Marginal:
        """Return the marginal of a figure of the whole curve, which is called so in words."""
        labels = {MODEL: self.names} if self.names else {}
        leading = xr.DataArray(np.zeros(drawn.shape[:-1]), labels, tuple(labels)) if observed is None else observed
        quantity = Quantity(name, self.scope, greater_is_better=greater_is_better, words=words)
        examples = self.cm.counts.isel(alpha=0, drop=True)
        return marginal_of_scores(quantity, drawn, self.random_seed, leading, inference=self.distribution,
                                  examples=examples, score=observed, joint=bool(self.names))  # fmt: skip


def _difference(values: xr.DataArray) -> xr.DataArray:
    """Return the first of two systems less the second."""
    return values.isel({MODEL: 0}, drop=True) - values.isel({MODEL: 1}, drop=True)


# ── A range of operating points ──


class OperatingRange(NamedTuple):
    """The thresholds at which a mean over operating points is evaluated, and their weights."""

    # Whose two metrics, V1 and V2, are averaged.
    criterion: Criterion
    # The rules that bring V1, and V2, to values of α.
    rules: tuple[ThresholdRule, ThresholdRule]
    # Weights of these values in a mean over α.
    weights: tuple[Array, Array]

    @classmethod
    def of(cls, criterion: Criterion, systems: Sequence[System], low: float, high: float) -> Self:
        """Return the range of α from low to high, at the same values for all systems."""
        if not 0 <= checks.number("low", low) < checks.number("high", high) <= 1:
            raise InputError("low and high", f"must be in [0, 1], low the smaller; they are {low} and {high}.")
        first, second = (_nodes(criterion, systems, which, low, high) for which in (0, 1))
        return cls(criterion, (first[0], second[0]), (first[1], second[1]))

    def means(self, cells: NDArray[Any]) -> Array:
        """Return E_V1, E_V2 and G, (3, …), of cells (…, a, actual, predicted) at the thresholds of both rules."""
        value, split = np.mean(self.criterion.evaluate(cells), 0), len(self.weights[0])
        first, second = value[..., :split] @ self.weights[0], value[..., split:] @ self.weights[1]
        return np.stack([first, second, (first + second) / 2])

    @property
    def greater_is_better(self) -> bool | None:
        """The direction of both metrics; None if they have none in common."""
        directions = {metrics.get(name).greater_is_better for name in (self.criterion.first, self.criterion.second)}
        return directions.pop() if len(directions) == 1 else None


def _nodes(
    criterion: Criterion, systems: Sequence[System], which: int, low: float, high: float
) -> tuple[ThresholdRule, Array]:
    """Return the rule that brings V1 (0) or V2 (1) to values of α, and their weights in a mean over α.

    The chosen threshold of a system changes where α passes the middle between two neighbouring values of the metric.
    """
    changes = []
    for system in systems:
        for cells in system.dev_cells:
            values = np.unique(criterion.evaluate(cells)[which])
            values = values[~np.isnan(values)]
            changes.append((values[:-1] + values[1:]) / 2)
    edges = np.unique(np.clip(np.concatenate([[low, high], *changes]), low, high))
    if len(edges) > _NODES + 1:
        edges = np.linspace(low, high, _NODES + 1)
    rule = ThresholdRule(nearest(criterion)[which], (edges[:-1] + edges[1:]) / 2)
    return rule, np.diff(edges) / (high - low)


# ── How a curve is made ──


@checked
def epc(
    dev: Any = None,
    test: Any = None,
    *,
    folds: Any = None,
    criterion: str | CriterionFunction = "far_frr",
    criterion_metrics: tuple[str, str] | None = None,
    metric: str | Metric = "hter",
    alphas: ArrayLike | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    dev_cluster: Any = None,
    method: str = "bayesian_bootstrap",
    prior: str | priors.Prior | None = None,
    resample: str = "test",
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ExpectedPerformanceCurve:
    """Return the expected performance curve of a system: a metric on the test set at thresholds chosen beforehand.

    For every α the threshold minimises a criterion on the development set. The metric there, on the test set, is what
    to expect in use. A point of a ROC curve is not: you would have to know its threshold.

    Parameters
    ----------
    dev, test : (y_true, y_score)
        The development and the test set. Examples that score at least the threshold are called positive. Several
        systems are given by name: as (y_true, {name: y_score}) for the same examples, or as {name: (y_true, y_score)}.
    folds : array-like (n,), optional
        Without a development set: the fold of each test example; all other folds choose its threshold.
    criterion : str or callable
        The criterion to minimise, with FAR the false positive and FRR the false negative rate: "far_frr", α·FAR + (1 −
        α)·FRR; "precision_recall", −(α·precision + (1 − α)·recall); "far", "frr", "precision", "recall", the distance
        of that rate from α. Without α, so that ``alphas=[0.5]`` is enough: "f1", −F1; "equal_error", abs(FAR − FRR);
        "break_even", abs(precision − recall). Or a function C(V1, V2, α) of arrays of two metrics, which returns an
        array of their shape; a threshold is not chosen where it is NaN.
    criterion_metrics : (str, str), optional
        The metrics V1 and V2 of a function; by default FAR and FRR.
    metric : str or Metric
        Any metric of a matrix of two classes.
    alphas : array-like (a,), optional
        Ascending, in [0, 1]; by default 0, 0.01, …, 1.
    cluster, dev_cluster : array-like (n,), optional
        The cluster of each test, and development, example; for systems on different examples a mapping of these.
    method : {"bayesian_bootstrap", "bootstrap"}
        Method of the draws for the bands. "bayesian_bootstrap" is the posterior: Dirichlet weights of the test examples
        and of the prior's pseudo-examples. "bootstrap" resamples test examples, as the source does.
    prior : str or Prior, optional
        Prior of the cells, as in `bayesperf.posterior`. Its pseudo-examples score −∞ or ∞, so at every single α the
        draws come from the exact posterior of that matrix. "haldane" uses the test examples alone.
    resample : {"test", "both"}
        What bands describe. "test": the system in use with these thresholds; only the test set is drawn. "both": the
        system and the choice of its thresholds: development sets of the same size are drawn too, from the posterior of
        their population, and thresholds chosen anew. With folds both come from the same drawn examples.
    pos_label, draws, random_seed, progressbar
        As in `bayesperf.roc_curve`.

    Raises
    ------
    TypeError, ValueError
        If a set is no pair, has one class only or other systems than the other, or an option is invalid.

    Notes
    -----
    Thresholds lie in the middle between two neighbouring development scores, or at ∓inf (all, or nothing, is called
    positive). If several are best, the one wins at which V1 and V2 together are best, then the one where they differ
    least, then the lowest. Drawn development sets choose among 512 candidates at most. docs/coverage.md shows how often
    bands cover. See Bengio, Mariéthoz & Keller (2005), The expected performance curve, ICML workshop on ROC analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesperf.curves import epc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> curve = epc(dev=(y, rng.normal(2 * y)), test=(y, rng.normal(2 * y)), alphas=[0.2, 0.5, 0.8])
    >>> curve.band()["half_total_error_rate"].sel(alpha=0.5).round(2).values
    array([0.15, 0.22])
    """
    if test is None:
        raise InputTypeError("test", "give the labels and scores of the test set, (y_true, y_score).")
    checks.one_of("resample", resample, RESAMPLED)
    parts = systems_from(dev, test, folds, pos_label, cluster, dev_cluster)
    chosen = criterion_of(criterion, criterion_metrics)
    return _curve(parts, test, chosen, metric, alphas, method, prior, resample, draws, random_seed, progressbar)


@checked
def epc_a_posteriori(
    test: Any,
    *,
    criterion: str | CriterionFunction = "far_frr",
    criterion_metrics: tuple[str, str] | None = None,
    metric: str | Metric = "hter",
    alphas: ArrayLike | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    method: str = "bayesian_bootstrap",
    prior: str | priors.Prior | None = None,
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ExpectedPerformanceCurve:
    """Return the curve for thresholds chosen a posteriori: on the test set itself, which no system in use can do.

    Like a ROC curve, it looks better than the performance to expect. It is a reference for `epc`: the distance between
    the two is the cost of choosing thresholds beforehand. Its bands describe the system with these thresholds, and do
    not allow for the choice on the same examples.

    Parameters
    ----------
    test : (y_true, y_score)
        Labels of two classes and scores; for several systems as in `epc`.
    criterion, criterion_metrics, metric, alphas, pos_label, cluster, method, prior, draws, random_seed, progressbar
        As in `epc`.

    Returns
    -------
    ExpectedPerformanceCurve
        Its `expected_performance` is the source's E[V]_post: G is (A + 1/2)/2, with A the area under FRR against FAR,
        to within 1/4n for n examples in the smaller class.

    Raises
    ------
    TypeError, ValueError
        As in `epc`.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> dev, test = ((y, rng.normal(2 * y)) for _ in range(2))
    >>> curves = bp.curves.epc_a_posteriori(test, alphas=[0.5]), bp.curves.epc(dev, test, alphas=[0.5])
    >>> [curve.dataset["half_total_error_rate"].item() for curve in curves]
    [0.12, 0.21]
    """
    tests = by_system("test", test, cluster)
    tested = {name: examples_of(pair, "test", pos_label, ids) for name, (pair, ids) in tests.items()}
    parts = {name: System.without_folds(each, each) for name, each in tested.items()}
    chosen = criterion_of(criterion, criterion_metrics)
    return _curve(parts, test, chosen, metric, alphas, method, prior, "test", draws, random_seed, progressbar)


def _curve(
    parts: Mapping[Any, System], test: Any, criterion: Criterion, metric: str | Metric, alphas: ArrayLike | None,
    method: str, prior: str | priors.Prior | None, resample: str, draws: int, random_seed: Any, progressbar: bool,
) -> ExpectedPerformanceCurve:  # fmt: skip
    """Return the curve of systems by options, which it checks."""
    checks.one_of("method", method, METHODS)
    paired = not isinstance(test, Mapping)
    alpha, prior_text = _pseudo_counts(prior, method)
    if paired and alpha.any() and len(parts) > _MOST_SYSTEMS:
        raise InputError(
            "test",
            f"holds {len(parts)} systems on the same examples; {_MOST_SYSTEMS} at most are drawn together.",
            "Give fewer, or prior='haldane', which has no pseudo-examples.",
        )
    return ExpectedPerformanceCurve(
        parts=parts,
        criterion=criterion,
        metric=single_valued(metric, LABELS, 1),
        alphas=grid(alphas),
        method=method,
        prior=alpha,
        prior_text=prior_text,
        resample=resample,
        n_draws=checks.count("draws", draws, least=2),
        random_seed=checks.seed(random_seed),
        progressbar=progressbar,
        paired=paired,
    )


def _pseudo_counts(prior: str | priors.Prior | None, method: str) -> tuple[Array, str]:
    """Return the prior's pseudo-counts (actual, predicted), and the prior in words; a bootstrap has none."""
    if method == "bootstrap":
        checks.none_given("applies to method='bayesian_bootstrap' only.", prior=prior)
        return np.zeros((2, 2)), "none (examples resampled)"
    dirichlet = priors.resolve_dirichlet(prior, 2, "expected performance curves")
    binary = ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0)
    return dirichlet.concentration(binary), dirichlet.describe(binary)
