"""ROC, precision–recall and DET curves, with bands, areas and operating points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf import intervals
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.words import metric_title
from bayesperf.curves.areas.auc import INFERENCES, roc_auc
from bayesperf.curves.areas.weighted_scores import weighted_score
from bayesperf.curves.curve import KINDS, CurveOfParts
from bayesperf.curves.roc.called_positive import PartOfCurve, range_of_rates
from bayesperf.curves.roc.curve_draws import (
    CURVE_KINDS,
    Binormal,
    Choice,
    CurveKind,
    RocDraws,
    all_thresholds,
    curves_of_systems,
    integral,
    observed_curve,
    threshold_choice,
)
from bayesperf.curves.scored_systems import (
    Examples,
    bootstrap_of,
    have_names,
    marginal_of_scores,
    name_of_scores,
    over_systems,
    scores_by_class,
    stacked,
    system_scores,
    systems_of,
)
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.classifier_scores import Scores
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.quantity import Quantity, Scope

# Confidence intervals of a rate that have a width at the ends of a curve, too.
CONFIDENCE_INTERVALS = ("wilson", "clopper_pearson", "agresti_coull")
METHODS = ("bayesian_bootstrap", "beta", "binormal")
# The name of the area under a curve, and its value by chance.
_AREAS_IN_WORDS = {
    "roc": "The area is how often a positive scores above a negative; by chance it would be 0.5.",
    "precision_recall": "By chance it would be the share of positives, {:.3f}.",
}


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdCurve(CurveOfParts):
    """A curve of two rates over thresholds. Made by `roc_curve`, `precision_recall_curve` and `det_curve`.

    Attributes
    ----------
    name : {"roc", "precision_recall", "det"}
        The kind of curve.
    parts : mapping of str to Examples or BinnedScores
        The scores of each system; the name is empty for one without a name.
    method : {"bayesian_bootstrap", "beta", "binormal"}
        The method of its band.

    Notes
    -----
    The band is for the second rate over 201 values of the first: for ROC, fpr = 0, 0.005, …, 1; for precision–recall,
    recall = 0.005, …, 1; for DET, fpr evenly spaced in normal deviates, out to 1 in n + 1 with n negatives (1 in 20 at
    least). By "beta", and for confidence intervals, it is for both rates over ``threshold``.

    By "bayesian_bootstrap" the drawn curves have Dirichlet(1) weights on the n + 1 gaps between and beyond the n scores
    of each class. Weights on the scores alone can draw the curve only along the observed one's edges: where it runs at
    1 they leave no width at all, and the whole curve is seldom inside. The pointwise band lies between quantiles of the
    drawn curves; the simultaneous one between the ranks that contain a proportion `ci_prob` of them entirely. Both are
    widened to contain the observed curve, which matters at the edges of the unit square. docs/coverage.md shows how
    often they cover.

    Several systems share the weights of the examples, or of their clusters. Bands cover each system by itself.
    ``sel(model=name)`` is the curve of one system, as if it had been made alone; the figures of all systems together
    differ from it by the Monte Carlo error. Beyond 20,000 examples of a class (or clusters), random groups of them
    share a weight.

    By "beta" the intervals are equal-tailed ones from each rate's posterior given the counts at each threshold, widened
    in the same way. Confidence intervals are not widened: they contain the observed rates. If a threshold is fixed
    beforehand, `bayesperf.studies.rate_coverage` computes how often the intervals for either rate cover it.
    """

    name: str
    parts: Mapping[Any, Examples | BinnedScores]
    method: str
    prior: str | priors.Prior | None
    n_draws: int
    random_seed: int
    progressbar: bool

    over: ClassVar[str] = "threshold"
    drawn_by = "curve"

    @property
    def curve_kind(self) -> CurveKind:
        """What distinguishes curves with this name from others."""
        return CURVE_KINDS[self.name]

    @property
    def class_totals(self) -> tuple[int, int]:
        """Numbers of negatives and of positives."""
        return self._scores[0].class_totals

    @cached_property
    def _scores(self) -> list[Scores | BinnedScores]:
        """The scores of each system by class."""
        return [scores_by_class(part) for part in self.parts.values()]

    @property
    def _cluster(self) -> Codes | None:
        """The cluster of each example, if any."""
        first = next(iter(self.parts.values()))
        return first.cluster if isinstance(first, Examples) else None

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The points of the curve, two rates over ``threshold``, which falls from inf.

        For several systems, the thresholds are those of all, and each system has its rates at every one.
        """
        negatives, positives = self.class_totals
        return self._points(self._counts_of_points).assign_attrs(positives=positives, negatives=negatives)

    @cached_property
    def _counts_of_points(self) -> dict[str, xr.DataArray]:
        """The four cells at the thresholds of the points, of all systems, descending."""
        first, *others = map(self.curve_kind.thresholds, self._scores)
        return self._counts(np.unique(np.concatenate([first, *others]))[::-1] if others else first)

    def _counts(self, thresholds: Array) -> dict[str, xr.DataArray]:
        """The four cells at any thresholds."""
        each = [_cells(scores, thresholds) for scores in self._scores]
        return {name: self._labelled(np.stack([of[name] for of in each]), threshold=thresholds) for name in each[0]}

    def _points(self, counts: Mapping[str, xr.DataArray]) -> xr.Dataset:
        """Both rates of the four cells."""
        rates = self.curve_kind.points(**{name: cell.values for name, cell in counts.items()})
        return xr.Dataset({name: counts["tp"].copy(data=rate) for name, rate in zip(self._axes, rates, strict=True)})

    def _labelled(self, values: Array | Counts, *dims: str, **places: Array) -> xr.DataArray:
        """Label values (S, …) over ``model``, unless the only system has no name, over places, and over more dims."""
        places = {str(dim): each.values for dim, each in over_systems(self.parts).coords.items()} | places
        return xr.DataArray(values if self.names else values[0], places, (*places, *dims))

    def at(self, x: ArrayLike) -> xr.Dataset:
        """Return the observed rates of both axes at one or several thresholds.

        Parameters
        ----------
        x : float or array-like (k,)
            Thresholds. Examples that score at least one are called positive; inf calls none so. With bins only edges
            are known.

        Returns
        -------
        xarray.Dataset
            Both rates, over ``threshold`` if there are several.

        Examples
        --------
        >>> import bayesperf as bp
        >>> curve = bp.roc_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
        >>> curve.at(0.42)["recall"].item(), curve.at(0.42)["fpr"].item()
        (0.75, 0.25)
        """
        points = self._points(self._counts(checks.vector("threshold", np.atleast_1d(x))))
        return points if np.ndim(x) else points.isel(threshold=0)

    # ── Bands ──

    def band(self, ci_prob: float = 0.95, kind: str | None = None, method: str | None = None) -> xr.Dataset:
        """Return the band of the curve, with last dim ``ci_bound``, as in `Curve.band`.

        Parameters
        ----------
        ci_prob, kind
            As in `Curve.band`.
        method : {"wilson", "clopper_pearson", "agresti_coull"}, optional
            Confidence intervals for both rates at each threshold (see `bayesperf.intervals.proportion`), pointwise and
            for independent examples only; by default the method of the curve.

        Examples
        --------
        >>> import bayesperf as bp
        >>> curve = bp.roc_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
        >>> curve.band()["recall"].sel(fpr=0.5).round(2).values
        array([0.26, 0.98])
        >>> curve.band(method="wilson").sel(threshold=0.45)["recall"].round(2).values
        array([0.3 , 0.95])
        """
        if method is None:
            return super().band(ci_prob, kind)
        checks.one_of("method", method, CONFIDENCE_INTERVALS)
        prob, by = checks.probability("ci_prob", ci_prob), "pointwise" if kind is None else kind
        bounds = self._band_at_thresholds(prob, checks.one_of("kind", by, KINDS), method)
        return bounds.assign_attrs(ci_prob=prob, kind=by, method=method)

    def _bounds(self, prob: float, kind: str) -> xr.Dataset:
        if self.method == "beta":
            return self._widened_bounds(self._band_at_thresholds(prob, kind, "beta"))
        bounds = super()._bounds(prob, kind)
        return self._widened_bounds(bounds) if self.method == "bayesian_bootstrap" else bounds

    @property
    def _facts(self) -> dict[str, Any]:
        return {"method": self.method}

    @property
    def _axes(self) -> tuple[str, str]:
        return self.curve_kind.x, self.curve_kind.y

    @property
    def _band_names(self) -> list[str]:
        return [self.curve_kind.y]

    @property
    def _points_of_band(self) -> xr.Dataset:
        if self.method == "beta":
            return self.dataset
        return self._on_grid([self.curve_kind.along(observed_curve(scores), self._grid)[0] for scores in self._scores])

    def joint_draws(self) -> xr.Dataset:
        """Return drawn curves: the second rate along the first, with last dim ``draw``."""
        return self._drawn_on_grid

    @cached_property
    def _drawn_on_grid(self) -> xr.Dataset:
        return self._on_grid([self.curve_kind.along(drawn, self._grid).T for drawn in self._drawn_curves], "draw")

    def _on_grid(self, values: Sequence[Array], *dims: str) -> xr.Dataset:
        x, y = self._axes
        return xr.Dataset({y: self._labelled(np.stack(values), *dims, **{x: self._grid})})

    def _band_at_thresholds(self, prob: float, kind: str, method: str) -> xr.Dataset:
        """Return intervals of both rates at each threshold."""
        if kind == "simultaneous":
            raise InputError(
                "",
                f"kind='simultaneous' is not to be had by method={method!r}, which takes each threshold by itself.",
                "Take the band of a curve made with method='bayesian_bootstrap'.",
            )
        if self._cluster is not None:
            raise InputError(
                "method",
                f"{method!r} takes examples to be independent, and this curve's are drawn by cluster.",
                "Take the band without `method`.",
            )
        counts = self._counts_of_points
        if method == "beta":
            rates = posterior(ConfusionMatrix.from_counts(**counts, dims=None), self.prior)
            return xr.Dataset({name: rates[name].eti(prob) for name in self._axes})
        return _confidence_at_thresholds(counts, self.curve_kind, prob, method)

    @cached_property
    def _grid(self) -> Array:
        return np.asarray(self.curve_kind.grid(self._scores[0]))

    @cached_property
    def _drawn_curves(self) -> Sequence[RocDraws]:
        """Drawn curves of each system."""
        if self.method == "binormal":
            (scores,) = self._scores
            assert isinstance(scores, Scores)
            return [Binormal.fitted(scores, self.n_draws, self.random_seed)]
        return curves_of_systems(list(self.parts.values()), self.n_draws, self.random_seed, self.progressbar)

    # ── Areas ──

    @cached_property
    def area(self) -> Marginal:
        """Distribution of the area under the curve: AUC, or average precision.

        It equals `bayesperf.roc_auc`, or `bayesperf.curves.weighted_score` ("average_precision"), by the Bayesian
        bootstrap, even if the band is by "beta"; or binormal. The area of a DET curve is not in use, and is refused.
        """
        if self.name == "det":
            raise InputError("area", "a DET curve's area is not in use.", "Take that of the roc_curve.")
        options = self._data | {
            "draws": self.n_draws, "random_seed": self.random_seed, "progressbar": self.progressbar
        }  # fmt: skip
        if self.name == "roc":
            method = "binormal" if self.method == "binormal" else "bayesian_bootstrap"
            return roc_auc(**options, method=method)
        if self.method == "binormal":
            name = "average_precision"
            quantity = Quantity(name, greater_is_better=True, words=metric_title(name), bounds=(0.0, 1.0))
            (drawn,) = self._drawn_curves
            return self._marginal(quantity, integral(partial(self.curve_kind.along, drawn), 0, 1)[None])
        return weighted_score("average_precision", **options)

    @property
    def _data(self) -> dict[str, Any]:
        """Labels, scores and clusters as arguments, positives first, or what stands in their place."""
        systems = [part for part in self.parts.values() if isinstance(part, Examples)]
        if not systems:
            return {"y_true": self._scores[0]}
        negatives, positives = self.class_totals
        y_true = np.arange(negatives + positives) < positives
        if self.names:
            by_system = dict(zip(self.names, np.hstack(stacked(systems)), strict=True))
            return {"y_true": y_true, "y_score": by_system, "cluster": systems[0].cluster_by_class}
        (only,) = systems
        cluster = None if only.cluster is None else np.concatenate(only.clusters_by_score)
        y_score = np.concatenate([only.scores.positive, only.scores.negative])
        return {"y_true": y_true, "y_score": y_score, "cluster": cluster}

    @checked
    def partial_area(self, low: float, high: float, *, rate: str = "fpr", standardized: bool = False) -> Marginal:
        """Return the distribution of the area under a ROC curve between two false positive rates, or two recalls.

        Not standardised, the largest possible area is high − low, and chance gives (high² − low²)/2; divided by high −
        low it is the mean recall over that range. From 0 to 1 it is the AUC.

        Parameters
        ----------
        low, high : float
            Rates, 0 ≤ low < high ≤ 1.
        rate : {"fpr", "recall"}
            The kind of rates. Between two recalls it is the area to the right of the curve: the integral of specificity
            over recall.
        standardized : bool
            As in `bayesperf.roc_auc`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> curve = bp.roc_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
        >>> curve.partial_area(0, 0.5, standardized=True).mean().round(2).item()
        0.69
        """
        if self.name != "roc":
            raise InputError("partial_area", "is of ROC curves.", "Take that of the roc_curve.")
        checks.one_of("rate", rate, ("fpr", "recall"))
        part = PartOfCurve(rate, *range_of_rates("low and high", (low, high), rate), standardized)
        if (part.low, part.high) == (0, 1):
            return self.area
        return self._marginal(part.quantity, np.stack([drawn.areas(part) for drawn in self._drawn_curves]))

    # ── Operating points ──

    @checked
    def operating_point(
        self, *, fpr: float | None = None, recall: float | None = None, cost: tuple[float, ...] | None = None
    ) -> dict[str, Marginal]:
        """Return the threshold for a target, and the rates at it, with the uncertainty of all three.

        Give one target. Every drawn curve chooses the threshold anew among the scores, so the result has the
        threshold's full uncertainty. Both rates still come from the examples that choose, and so look better than they
        are; `bayesperf.curves.epc` lets other examples choose, and `bayesperf.choose_threshold` chooses one threshold
        and removes the optimism.

        Parameters
        ----------
        fpr : float, optional
            The lowest threshold whose false positive rate is at most this.
        recall : float, optional
            The highest threshold whose recall is at least this.
        cost : (cost_fp, cost_fn) or (cost_fp, cost_fn, prevalence), optional
            The threshold with the lowest mean cost, the lowest if there are several, with these costs of a false
            positive and a false negative; at the given proportion of positives, else at the observed one, with its
            uncertainty.

        Returns
        -------
        dict of str to Marginal
            ``threshold``, ``fpr`` and ``recall``, from one joint draw; inf if nothing may be called positive.
            ``observed`` of each is the value at the point of the curve that meets the target.

        Examples
        --------
        >>> import numpy as np
        >>> import bayesperf as bp
        >>> y = np.repeat([0, 1], 100)
        >>> point = bp.roc_curve(y, np.random.default_rng(0).normal(2 * y)).operating_point(fpr=0.1)
        >>> point["recall"].eti().round(2).values
        array([0.59, 0.82])
        """
        target, choose = threshold_choice(fpr, recall, cost)
        points, values = (
            _operating_points(curves, choose) for curves in (map(observed_curve, self._scores), self._drawn_curves)
        )
        bounds = {"threshold": (-np.inf, np.inf), "fpr": (0.0, 1.0), "recall": (0.0, 1.0)}
        better = {"threshold": None, "fpr": False, "recall": True}
        scope = Scope("chosen", detail=f"{target}, by the examples that chose it")
        return {
            name: self._marginal(
                Quantity(name, scope, "", better[name], name, bounds[name]),
                values[name],
                self._labelled(point[:, 0]),
            )
            for name, point in points.items()
        }

    @property
    def _inference(self) -> str:
        return INFERENCES["binormal"] if self.method == "binormal" else bootstrap_of(self._cluster)

    def _marginal(self, quantity: Quantity, values: Array, score: xr.DataArray | None = None) -> Marginal:
        return marginal_of_scores(
            quantity,
            values,
            self.random_seed,
            over_systems(self.parts),
            inference=self._inference,
            examples=self.class_totals,
            score=score,
            joint=bool(self.names),
        )

    def in_words(self, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences on the area under the curve; for a DET curve, on the ROC area of the same scores.

        Parameters
        ----------
        ci_prob, ci_kind
            As in `Marginal.in_words`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> curve = bp.roc_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
        >>> print(curve.in_words())
        ROC AUC is 0.688 (95 % HDI 0.401–0.965; observed 0.750). The limits have a Monte Carlo error of up to 0.012. \
        The area is how often a positive scores above a negative; by chance it would be 0.5.
        """
        curve = replace(self, name="roc") if self.name == "det" else self
        negatives, positives = self.class_totals
        meaning = _AREAS_IN_WORDS[curve.name].format(positives / (positives + negatives))
        if not self.names:
            return f"{curve.area.in_words(ci_prob=ci_prob, ci_kind=ci_kind)} {meaning}"
        areas = {name: curve.area.sel(model=name) for name in self.names}
        texts = [f"{name}: {area.in_words(ci_prob=ci_prob, ci_kind=ci_kind)}" for name, area in areas.items()]
        return "\n".join([*texts, meaning])

    @property
    def _subject(self) -> str:
        negatives, positives = self.class_totals
        systems = f"{len(self.names)} systems, " if self.names else ""
        return f"{systems}{self.name} by {self.method}, {positives} positives, {negatives} negatives"


def _cells(scores: Scores | BinnedScores, thresholds: Array) -> dict[str, Counts]:
    """Return the four cells of a system at any thresholds."""
    fp, tp = scores.called(thresholds)
    negatives, positives = scores.class_totals
    return {"tp": tp, "fn": positives - tp, "fp": fp, "tn": negatives - fp}


def _operating_points(curves: Iterable[RocDraws], choose: Choice) -> dict[str, Array]:
    """Return the threshold that each drawn curve of each system chooses, and the rates there, (S, draws)."""
    of_systems = []
    for drawn in curves:
        thresholds, prevalence, start, blocks = all_thresholds(drawn.scores), drawn.prevalence, 0, []
        for fpr, recall in drawn.rates():
            chosen = choose(fpr, recall, prevalence[start : start + len(fpr)])
            at = (np.take_along_axis(rate, chosen[:, None], -1)[:, 0] for rate in (fpr, recall))
            blocks.append([thresholds[chosen], *at])
            start += len(fpr)
        of_systems.append(np.concatenate(blocks, axis=1))
    return dict(zip(("threshold", "fpr", "recall"), np.stack(of_systems, axis=1), strict=True))


# ── Intervals at each threshold by itself ──


def _confidence_at_thresholds(
    counts: Mapping[str, xr.DataArray], curve_kind: CurveKind, prob: float, method: str
) -> xr.Dataset:
    """Return the confidence intervals of both rates over ``threshold``, by `bayesperf.intervals.proportion`.

    Without trials, as of precision where nothing is called positive, an interval is [0, 1].
    """
    limits = {}
    for metric in curve_kind.metrics:
        form = metric.exact_form(2)
        assert isinstance(form, Proportion)
        ((success,), (failure,)) = form.success, form.failure
        trials = counts[success] + counts[failure]
        limits[metric.name] = intervals.proportion(counts[success], trials, confidence=prob, method=method)
    return xr.Dataset(limits)


# ── How a curve is made ──


@checked
def roc_curve(
    y_true: Any,
    y_score: Any = None,
    *,
    method: str = "bayesian_bootstrap",
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = 1000,
    prior: str | priors.Prior | None = None,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ThresholdCurve:
    """Return the ROC curve: recall over the false positive rate, as the threshold falls.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels of two classes. Binned scores replace labels and scores.
    y_score : array-like (n,), mapping or data frame
        Scores; examples that score at least the threshold are called positive. A mapping (or data frame) names systems
        that scored the same examples.
    method : {"bayesian_bootstrap", "beta", "binormal"}
        The method of the band. "bayesian_bootstrap" assumes nothing about the scores: Dirichlet(1) weights in each
        class (Gu, Ghosal & Roy 2008, Statistics in Medicine 27). "beta" treats every threshold by itself: the posterior
        of each rate from the counts there. "binormal" assumes normal scores in each class (the model ``binormal_roc``),
        for a single system.
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    cluster : array-like (n,) or mapping, optional
        The cluster of each example, as in `roc_auc`, for "bayesian_bootstrap": its examples are drawn together, in the
        band, the area and operating points.
    draws : int
        Number of drawn curves.
    prior : str or Prior, optional
        Prior for "beta", as in `bayesperf.posterior`; by default Jeffreys'.
    random_seed : int or numpy.random.Generator
        Seed of the draws.
    progressbar : bool
        Whether to show a progress bar, on a terminal only, and only if it takes long.

    Returns
    -------
    ThresholdCurve
        Its points equal scikit-learn's with ``drop_intermediate=False``: (0, 0) at threshold inf, then one for every
        distinct score. For several systems, a curve over ``model``, whose draws are joint: ``compare(curve.area)``, or
        ``compare(curve.operating_point(fpr=0.1)["recall"])``, the recall at a false positive rate.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or an option needs the scores that bins hide.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.roc_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
    >>> curve.dataset["recall"].values
    array([0.  , 0.25, 0.5 , 0.5 , 0.75, 0.75, 0.75, 1.  , 1.  ])
    """
    checks.one_of("method", method, METHODS)
    if method != "beta":
        checks.none_given("applies to method='beta' only.", prior=prior)
    priors.resolve(prior, 2)
    if have_names(systems_of(y_score)) and method not in METHODS[:2]:
        raise InputError(
            "method",
            f"{method!r} is for one system, and y_score has several.",
            f"Take one of {', '.join(map(repr, METHODS[:2]))}, or draw each system's curve by itself.",
        )
    if method != "bayesian_bootstrap":
        checks.none_given("applies to method='bayesian_bootstrap' only, which draws clusters.", cluster=cluster)
    parts = system_scores(y_true, y_score, pos_label, cluster)
    for system, part in parts.items():
        _check_part(system, scores_by_class(part), method)
    return ThresholdCurve(
        name="roc",
        parts=parts,
        method=method,
        prior=prior,
        n_draws=checks.count("draws", draws, least=2),
        random_seed=checks.seed(random_seed),
        progressbar=progressbar,
    )


@checked
def precision_recall_curve(
    y_true: Any,
    y_score: Any = None,
    *,
    method: str = "bayesian_bootstrap",
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = 1000,
    prior: str | priors.Prior | None = None,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ThresholdCurve:
    """Return the precision–recall curve: precision over recall, as the threshold falls.

    Between two points the counts change evenly, so precision does not follow a straight line, and neither does the band
    (Davis & Goadrich 2006). The area is the average precision, smoothed as in `bayesperf.curves.weighted_score`. In the
    draws the proportion of positives varies as Beta(positives, negatives).

    Parameters
    ----------
    y_true, y_score, method, pos_label, cluster, draws, prior, random_seed, progressbar
        As in `roc_curve`.

    Returns
    -------
    ThresholdCurve
        Its points equal scikit-learn's in reverse order: (0, 1) at threshold inf, then one for every distinct score.

    Raises
    ------
    TypeError, ValueError
        As in `roc_curve`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).dataset["precision"].round(2).values
    array([1.  , 1.  , 0.5 , 0.67, 0.5 ])
    """
    curve = roc_curve(y_true, y_score, method=method, pos_label=pos_label, cluster=cluster, draws=draws, prior=prior,
                      random_seed=random_seed, progressbar=progressbar)  # fmt: skip
    return replace(curve, name="precision_recall")


@checked
def det_curve(
    y_true: Any,
    y_score: Any = None,
    *,
    method: str = "bayesian_bootstrap",
    pos_label: Any = None,
    cluster: Any = None,
    draws: int = 1000,
    prior: str | priors.Prior | None = None,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ThresholdCurve:
    """Return the detection error tradeoff: the false negative rate over the false positive rate.

    It is drawn on axes of normal deviates, on which normal scores give a straight line.

    Parameters
    ----------
    y_true, y_score, method, pos_label, cluster, draws, prior, random_seed, progressbar
        As in `roc_curve`.

    Returns
    -------
    ThresholdCurve
        Its points equal scikit-learn's in reverse order: from the last threshold without a false positive, which may be
        inf, to the first without a false negative.

    Raises
    ------
    TypeError, ValueError
        As in `roc_curve`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.curves.det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).dataset["fnr"].values
    array([0.5, 0.5, 0. ])
    """
    curve = roc_curve(y_true, y_score, method=method, pos_label=pos_label, cluster=cluster, draws=draws, prior=prior,
                      random_seed=random_seed, progressbar=progressbar)  # fmt: skip
    return replace(curve, name="det")


def _check_part(system: Any, scores: Scores | BinnedScores, method: str) -> None:
    """Refuse scores of a system of which there is no curve, or none by a method."""
    if isinstance(scores, BinnedScores):
        if method == "binormal":
            raise InputError(
                "", "method='binormal' needs the scores that bins hide.", "Take method='bayesian_bootstrap'."
            )
    elif max(scores.positive[-1], scores.negative[-1]) == np.inf:
        raise InputError(
            name_of_scores(system),
            "holds inf, which as a threshold means that nothing is called positive: put a number "
            "above all others in its place.",
        )
