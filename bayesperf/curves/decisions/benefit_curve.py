"""The decision curve: the net benefit of systems over thresholds, with its draws and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Booleans
from bayesperf.core.errors import InputError
from bayesperf.core.weights import UNSEEN
from bayesperf.core.words import (
    chance,
    enumerated,
    estimate,
    listed,
    over_places,
    percentage,
    places_in_words,
    sentence,
)
from bayesperf.curves.curve import Curve
from bayesperf.curves.decisions.placed_examples import (
    SYSTEM,
    TREAT_ALL,
    TREAT_NONE,
    DecisionData,
    called_at,
    decision_data,
    drawn_rates,
)
from bayesperf.curves.scored_systems import bootstrap_of, marginal_of_scores
from bayesperf.data.axis_names import MODEL
from bayesperf.metrics.formulas import NetBenefit
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS
from bayesperf.posteriors.prevalence import Prevalence, parse_prevalence
from bayesperf.posteriors.quantity import Quantity

# Random streams of one seed, besides the stream of the examples.
_PREVALENCE, _EXAMPLES_TO_COME = 1, 2


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Curve):
    """The net benefit of one system or several over thresholds of probability. Made by `bayesperf.decision_curve`.

    Figures are over ``threshold``, over ``model`` if there are several systems, and over the dims of ``by``.

    Attributes
    ----------
    data : DecisionData
        The examples, by the thresholds between which systems place them.
    n_draws, random_seed : int
        Number and seed of the draws.
    elsewhere : Prevalence or None
        The prevalence that replaces the test set's, from `at_prevalence`.

    Notes
    -----
    Bands are widened if necessary to contain the observed curve; docs/coverage.md shows how often they cover.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    >>> curve = bp.decision_curve(frame["actual"], frame["score"], pos_label="malignant")
    >>> curve.band()["net_benefit"].sel(threshold=0.1).round(2).values
    array([0.29, 0.37])
    """

    data: DecisionData
    n_draws: int
    random_seed: int
    elsewhere: Prevalence | None = None

    over: ClassVar[str] = "threshold"
    drawn_by = "decision_curve"

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The observed ``net_benefit``, ``treat_all`` and ``standardised_net_benefit``, over ``threshold``.

        Treating none has a net benefit of 0. The standardised net benefit is divided by the prevalence: its maximum is
        1.
        """
        negatives, positives = (self.data.of_groups(totals) for totals in np.moveaxis(self.data.class_totals, 1, 0))
        prevalence = positives / (positives + negatives)
        if self.elsewhere is not None:
            prevalence = xr.full_like(prevalence, self.elsewhere.mean[1])
        fp, tp = (self.data.over_dims(called) for called in np.moveaxis(self.data.called, 2, 0))
        rates = {"prevalence": prevalence, "fpr": fp / negatives, "recall": tp / positives}
        return with_net_benefit(xr.Dataset(rates)).drop_vars(list(rates))

    def joint_draws(self) -> xr.Dataset:
        """Return joint draws of `dataset`, ``prevalence``, ``fpr`` and ``recall``, with last dim ``draw``."""
        return self._drawn_curves

    @cached_property
    def _drawn_curves(self) -> xr.Dataset:
        streams = self.data.streams(self.random_seed)
        drawn = [drawn_rates(group, self.n_draws, rng) for group, rng in zip(self.data.groups, streams, strict=True)]
        of_groups, fpr, recall = (np.stack(rate) for rate in zip(*drawn, strict=True))
        prevalence = self.data.of_groups(of_groups, "draw")
        if self.elsewhere is not None:
            rng = np.random.default_rng([self.random_seed, _PREVALENCE])
            of_positive = self.elsewhere.draw(rng, self.n_draws)[:, 1]
            prevalence = prevalence.copy(data=np.broadcast_to(of_positive, prevalence.shape))
        rates = {"fpr": self.data.over_dims(fpr, "draw"), "recall": self.data.over_dims(recall, "draw")}
        return with_net_benefit(xr.Dataset(rates | {"prevalence": prevalence})).transpose(*self.data.dims, "draw")

    # ── Distributions ──

    @property
    def net_benefit(self) -> Marginal:
        """Distribution of the net benefit over ``threshold``."""
        return self._marginal("net_benefit", self._drawn_curves["net_benefit"], self.dataset["net_benefit"])

    @property
    def standardised_net_benefit(self) -> Marginal:
        """Distribution of the net benefit divided by the prevalence; its maximum is 1."""
        name = "standardised_net_benefit"
        return self._marginal(name, self._drawn_curves[name], self.dataset[name])

    @checked
    def difference(self, a: Any = SYSTEM, b: Any = TREAT_ALL) -> Marginal:
        """Return the distribution of the net benefit of a minus that of b in the same draws, over ``threshold``.

        Parameters
        ----------
        a, b : label
            Names of systems ("system" for one without a name), "treat_all" or "treat_none".

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
        >>> curve = bp.decision_curve(frame["actual"], frame["score"], pos_label="malignant")
        >>> curve.difference("system", "treat_all").eti().sel(threshold=0.1).round(2).values
        array([0.01, 0.04])
        """
        drawn, observed = self.strategies, strategies_of(self.dataset)
        names = drawn["strategy"].values.tolist()
        for argument, name in {"a": a, "b": b}.items():
            if name not in names:
                raise InputError(argument, f"must be one of {listed(names, most=len(names))}; it is {name!r}.")
        of_both = (each.sel(strategy=a, drop=True) - each.sel(strategy=b, drop=True) for each in (drawn, observed))
        return self._marginal(f"{a} − {b}", *of_both)

    def _marginal(self, name: str, drawn: xr.DataArray, observed: xr.DataArray) -> Marginal:
        leading = xr.zeros_like(drawn.isel(draw=0, drop=True))
        elsewhere = "" if self.elsewhere is None else f" at {self.elsewhere.in_words(1)}"
        quantity = Quantity(name, greater_is_better=True, words=f"net benefit{elsewhere}")
        inference = bootstrap_of(self.data.clustered or None)
        return marginal_of_scores(
            quantity, drawn.values, self.random_seed, leading, inference=inference, score=observed
        )

    @property
    def estimand(self) -> str:
        """The quantity of bands and distributions, in words."""
        return self.net_benefit.estimand

    def _bounds(self, prob: float, kind: str) -> xr.Dataset:
        return self._widened_bounds(super()._bounds(prob, kind))

    @property
    def _facts(self) -> dict[str, Any]:
        return {"ci_kind": "eti", "estimand": self.estimand}

    # ── Decisions ──

    @cached_property
    def strategies(self) -> xr.DataArray:
        """Draws of the net benefit of systems, of treating all and of treating none, over ``strategy`` and ``draw``."""
        return strategies_of(self._drawn_curves).transpose(..., "threshold", "strategy", "draw")

    @property
    def prob_useful(self) -> xr.DataArray:
        """Probability that the system does more good than treating all, and than treating none, at each threshold."""
        others = np.maximum(self._drawn_curves["treat_all"], 0)
        return (self._drawn_curves["net_benefit"] > others).mean("draw").rename("prob_useful")

    @property
    def prob_best(self) -> xr.DataArray:
        """Probability that each ``strategy`` (a system, treating all, treating none) has the largest net benefit."""
        best = self.strategies == self.strategies.max("strategy")
        return (best / best.sum("strategy")).mean("draw").rename("prob_best")

    def useful_ranges(self, probability: float = 0.95) -> pd.DataFrame:
        """Return the ranges of thresholds at which the system is useful with at least a `probability`.

        Parameters
        ----------
        probability : float
            The lowest `prob_useful` allowed, at each threshold by itself.

        Returns
        -------
        pandas.DataFrame
            A row for each range of neighbouring thresholds: ``low`` and ``high``, after ``model`` and the dims of
            ``by``.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
        >>> bp.decision_curve(frame["actual"], frame["score"], pos_label="malignant").useful_ranges()
            low  high
        0  0.09  0.92
        """
        useful, least = self.prob_useful, checks.probability("probability", probability)
        dims, cuts = self.data.dims[:-1], self.data.thresholds
        rows = []
        for place in product(*(useful[dim].values.tolist() for dim in dims)):
            flags = useful.sel(dict(zip(dims, place, strict=True))).values >= least
            rows += [(*place, *ends) for ends in spans(cuts, flags)]
        return pd.DataFrame(rows, columns=[*dims, "low", "high"])

    @property
    def value_of_perfect_information(self) -> xr.DataArray:
        """The value, in net benefit per example, of knowing at each threshold which strategy is the best.

        E[max over strategies] − max over strategies of E (Sadatsafavi et al. 2022, Value of information analysis in
        external validation of risk prediction models, Medical Decision Making): what is lost on average because the
        strategy that seems the best may not be it. More validation data cannot be worth more than that.
        """
        return value_of_the_truth(self.strategies).rename("value_of_perfect_information")

    def value_of_more_examples(self, n: ArrayLike) -> xr.DataArray:
        """Return the value of n more examples at each threshold, in net benefit per example decided upon.

        The expected value of sample information (Sadatsafavi et al. 2023): for each drawn state of the world, draw n
        examples, update the posterior with them, and take the strategy that is then the best on average. The value
        grows with n towards `value_of_perfect_information`. It is for one system, without clusters, at the test set's
        own prevalence.

        Parameters
        ----------
        n : int or array-like of int (k,)
            Number of additional labelled examples.

        Returns
        -------
        xarray.DataArray
            An array over ``threshold`` (and the dims of ``by``), and over ``n`` if there are several.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")[:80]
        >>> curve = bp.decision_curve(frame["actual"], frame["score"], thresholds=[0.05], pos_label="malignant")
        >>> bool(curve.value_of_more_examples(500) < curve.value_of_perfect_information)
        True
        """
        for what, is_so in {
            "several systems": self.data.systems is not None,
            "clusters, of which nobody knows how alike new ones are": self.data.clustered,
            "another prevalence than the test set's, in which new examples would be drawn": self.elsewhere is not None,
        }.items():
            if is_so:
                raise InputError(
                    "value_of_more_examples", f"is not of {what}.", "Make the curve of one system, without."
                )
        sizes = [checks.count("n", size) for size in np.atleast_1d(n).tolist()]
        values = [self._value_of(size) for size in sizes]
        return xr.concat(values, pd.Index(sizes, name="n")) if np.ndim(n) else values[0]

    def _value_of(self, n: int) -> xr.DataArray:
        called = np.concatenate([self.data.class_totals[..., None], self.data.called[:, 0]], axis=-1)
        rng = np.random.default_rng([self.random_seed, _EXAMPLES_TO_COME, n])
        return value_of_examples(called, self._drawn_curves, n, rng).rename("value_of_more_examples")

    @checked
    def at_prevalence(self, p: float | tuple[float, float]) -> DecisionCurve:
        """Return the curve for another proportion of positives, if systems err as often in each class.

        Parameters
        ----------
        p : float or (a, b)
            The proportion of positives, or the parameters of its Beta distribution, as in `Posterior.at_prevalence`.

        Notes
        -----
        Thresholds stay the same: they are probabilities that the systems gave in the test set. If positives are rarer
        and a system does not know it, its probabilities are too high, and fewer thresholds are useful.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
        >>> curve = bp.decision_curve(frame["actual"], frame["score"], pos_label="malignant")
        >>> curve.at_prevalence(0.02).dataset["net_benefit"].sel(threshold=[0.1, 0.5]).round(3).values
        array([ 0.013, -0.015])
        """
        return replace(self, elsewhere=parse_prevalence(p, [0, 1], 1))

    # ── Words and figures ──

    def in_words(self, *, at: float | None = None, ci_prob: float = 0.95) -> str:
        """Return sentences: where the system is useful, and its net benefit at a threshold.

        Parameters
        ----------
        at : float, optional
            One of the thresholds; by default none is named if there are several.
        ci_prob : float
            Probability of the equal-tailed interval, and lowest probability of being useful.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
        >>> print(bp.decision_curve(frame["actual"], frame["score"], pos_label="malignant").in_words(at=0.1))
        Following the system does more good than treating everybody or nobody, with a probability of at least 95 % at \
        each of these thresholds: from 0.09 to 0.92 (tried: 0.01 to 0.99). At 0.1 the net benefit is 0.332 (95 % ETI \
        0.294–0.372): positives found per example, minus the price of false alarms. It is better than both with \
        probability 99.7 %.
        """
        prob = checks.probability("ci_prob", ci_prob)
        return _in_words(self, at, prob)

    @property
    def _subject(self) -> str:
        negatives, positives = self.data.class_totals.sum(0)
        systems = "" if self.data.systems is None else f"{len(self.data.systems)} systems, "
        cuts = self.data.thresholds
        of = f"{len(cuts)} thresholds from {cuts[0]:g} to {cuts[-1]:g}" if len(cuts) > 1 else f"threshold {cuts[0]:g}"
        return f"{systems}{of}, {positives} positives, {negatives} negatives"


# ── Net benefit, and what it would be worth to know more ──


def with_net_benefit(rates: xr.Dataset) -> xr.Dataset:
    """Return ``prevalence``, ``fpr`` and ``recall`` over thresholds with the resulting net benefits."""
    positives = rates["prevalence"]
    negatives, threshold = 1 - positives, rates["threshold"]
    formula = NetBenefit(threshold / (1 - threshold))
    tp, fp = positives * rates["recall"], negatives * rates["fpr"]
    net_benefit = formula(tp, positives - tp, fp, negatives - fp)
    treat_all = formula(positives, 0, negatives, 0)
    return rates.assign(
        net_benefit=net_benefit.transpose(*rates["recall"].dims),
        treat_all=treat_all.transpose(..., *(dim for dim in ("threshold", "draw") if dim in treat_all.dims)),
        standardised_net_benefit=(net_benefit / positives).transpose(*rates["recall"].dims),
    )


def strategies_of(net_benefits: xr.Dataset) -> xr.DataArray:
    """Return the net benefit of each system, of treating all and of treating none, along ``strategy``."""
    systems, treat_all = net_benefits["net_benefit"], net_benefits["treat_all"]
    of_systems = (
        systems.rename({MODEL: "strategy"}) if MODEL in systems.dims else systems.expand_dims(strategy=[SYSTEM])
    )
    others = {TREAT_ALL: treat_all, TREAT_NONE: xr.zeros_like(treat_all)}
    return xr.concat([of_systems, *(each.expand_dims(strategy=[name]) for name, each in others.items())], "strategy")


def spans(thresholds: Array, flags: Booleans) -> list[tuple[float, float]]:
    """Return the first and the last threshold of each run of flagged neighbours."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).reshape(-1, 2)
    return [(float(thresholds[first]), float(thresholds[after - 1])) for first, after in edges]


def value_of_the_truth(strategies: xr.DataArray) -> xr.DataArray:
    """Return E[max] − max E over ``strategy``, from draws of the value of each, over ``strategy`` and ``draw``."""
    return strategies.max("strategy").mean("draw") - strategies.mean("draw").max("strategy")


def value_of_examples(called: Array, draws: xr.Dataset, n: int, rng: np.random.Generator) -> xr.DataArray:
    """Return the expected value of n more examples for one system, over ``threshold``.

    Cells are Dirichlet, so their posterior means after n more examples with counts c are those of counts and
    pseudo-examples together. The best strategy is the one with the largest mean in the drawn examples.
    """
    shape = draws["recall"].shape
    probs = np.stack([draws[name].values.reshape(-1, *shape[-2:]) for name in ("fpr", "recall")], axis=1)
    prevalence = draws["prevalence"].values.reshape(-1, 1, shape[-1])
    of_class = np.concatenate([1 - prevalence, prevalence], axis=1)[:, :, None]
    whole = np.concatenate([np.ones_like(probs[:, :, :1]), probs, np.zeros_like(probs[:, :, :1])], axis=2)
    of_places = of_class * -np.diff(whole, axis=2)
    flat = np.moveaxis(of_places, 3, 1).reshape(len(of_places), shape[-1], -1)
    new = rng.multinomial(n, flat / flat.sum(-1, keepdims=True)).reshape(*flat.shape[:2], 2, -1)
    totals = np.moveaxis(new.sum(-1, keepdims=True), 1, -1)
    together = np.concatenate([totals, np.moveaxis(called_at(new), 1, -1)], axis=2) + called[..., None]
    weights = together + UNSEEN * (1 + (np.arange(together.shape[2]) == 0))[:, None]
    rates = weights[:, :, 1:] / weights[:, :, :1]
    positives = weights[:, 1, 0] / weights[:, :, 0].sum(1)
    means = draws[["fpr", "recall", "prevalence"]].copy(data={
        "fpr": rates[:, 0].reshape(shape),
        "recall": rates[:, 1].reshape(shape),
        "prevalence": positives.reshape(draws["prevalence"].shape),
    })  # fmt: skip
    return value_of_the_truth(strategies_of(with_net_benefit(means)))


# ── In words ──


def _in_words(curve: DecisionCurve, at: float | None, prob: float) -> str:
    """Return sentences on where each system is useful, and on the net benefit at a threshold; of the thresholds."""
    parts = [_useful(curve, prob)]
    if at is not None or len(curve.data.thresholds) == 1:
        parts.append(_at(curve, curve.data.thresholds[0].item() if at is None else at, prob))
    if curve.elsewhere is not None:
        parts.append(f"all of it at {curve.elsewhere.in_words(1)}")
    return " ".join(map(sentence, parts))


def _useful(curve: DecisionCurve, prob: float) -> str:
    """Return in which thresholds the system does more good than treating all or none."""
    cuts, useful = curve.data.thresholds, curve.prob_useful
    names = places_in_words(useful.isel(threshold=0, drop=True))
    within = ranges_in_words(curve, prob)
    tried = f"tried: {cuts[0]:g} to {cuts[-1]:g}" if len(cuts) > 1 else "the only one tried"
    who = "the system" if curve.data.systems is None else "a system"
    return (
        f"following {who} does more good than treating everybody or nobody, with a probability of at "
        f"least {percentage(prob)} at each of these thresholds: "
        f"{'; '.join(f'{name}: {text}' if name else text for name, text in zip(names, within, strict=True))} ({tried})"
    )


def ranges_in_words(curve: DecisionCurve, prob: float) -> list[str]:
    """Return the ranges of thresholds in which each system is useful with a probability of at least `prob`."""
    cuts, useful = curve.data.thresholds, (curve.prob_useful >= prob).values
    ranges = [spans(cuts, flags) for flags in useful.reshape(-1, len(cuts))]
    said = [
        [f"at {low:g}" if low == high else f"from {low:g} to {high:g}" for low, high in of_one] for of_one in ranges
    ]
    return [enumerated(of_one or ["at none"]) for of_one in said]


def _at(curve: DecisionCurve, threshold: float, prob: float) -> str:
    """Return the net benefit at a threshold, what it is in examples, and how probably it is the system's merit."""
    cuts = curve.data.thresholds
    if threshold not in cuts:
        raise InputError("at", f"must be one of the thresholds, {cuts[0]:g} to {cuts[-1]:g}; it is {threshold!r}.")
    marginal = curve.net_benefit.sel(threshold=threshold)
    means, limits = marginal.mean().values.ravel(), marginal.eti(prob).values.reshape(-1, 2)
    values = [estimate(mean, low, high, prob, "eti") for mean, (low, high) in zip(means, limits, strict=True)]
    useful = curve.prob_useful.sel(threshold=threshold).values.ravel().tolist()
    names = places_in_words(marginal.leading)
    return (
        f"at {threshold:g} the net benefit is {over_places(values, names, means.tolist())}: positives found per "
        f"example, minus the price of false alarms. It is better than both with probability "
        f"{over_places([chance(p) for p in useful], names, useful)}"
    )


# ── How a curve is made ──


@checked
def decision_curve(
    y_true: Any,
    y_prob: ArrayLike | Mapping[Any, ArrayLike] | pd.DataFrame | None = None,
    *,
    thresholds: ArrayLike | None = None,
    by: Mapping[str, Any] | None = None,
    cluster: Any = None,
    pos_label: Any = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> DecisionCurve:
    """Return the decision curve: the net benefit of acting on a system's probabilities, over thresholds.

    The net benefit at threshold t is TP/n − FP/n · t/(1 − t), if examples with a probability of at least t are called
    positive (Vickers & Elkin 2006, Medical Decision Making 26). To treat from a probability t on means that a treated
    positive is worth (1 − t)/t treated negatives. A system is useful at t if it beats both treating all and treating
    none.

    Parameters
    ----------
    y_true : array-like (n,) or BinnedScores
        Labels of two classes. Binned scores replace labels and probabilities.
    y_prob : array-like (n,), or a mapping of names to them
        Probabilities that the examples are positive, from 0 to 1; or the probabilities of several systems (a data frame
        has a column for each), tested on the same examples.
    thresholds : array-like (T,), optional
        Between 0 and 1; by default 0.01, 0.02, …, 0.99. With bins they must be edges, by default the edges next to
        these.
    by : mapping of str to array-like (n,), optional
        Ids of groups of examples, such as ``{"site": ids}``: a curve for each, along a dim of that name.
    cluster, pos_label, draws, random_seed
        As in `bayesperf.roc_auc`.

    Raises
    ------
    TypeError, ValueError
        If scores are not probabilities; if there are not two classes (in every group); if an argument is invalid.

    Notes
    -----
    Draws come from a Dirichlet process on probabilities and classes: Dirichlet(1) weights of the examples, and of half
    an example of each class at each end of the scale. At each threshold this is the posterior of the confusion matrix
    under Jeffreys' prior, so ``posterior(cm)[metrics.net_benefit(t)]`` has the same distribution. With several systems
    there is a weight for each kind of example that they distinguish; more than 2,000 kinds are put into 2,000 groups at
    random.

    The posterior describes the system as it is. A threshold chosen where the curve is highest looks better than it is.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    >>> curve = bp.decision_curve(frame["actual"], frame["score"], pos_label="malignant")
    >>> curve.dataset[["net_benefit", "treat_all"]].sel(threshold=0.1).round(3).to_array().values
    array([0.333, 0.303])
    """
    drawn, seed = checks.count("draws", draws, least=2), checks.seed(random_seed)
    data = decision_data(y_true, y_prob, thresholds, by, cluster, pos_label, seed)
    return DecisionCurve(data, drawn, seed)
