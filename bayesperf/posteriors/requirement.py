"""A requirement of a metric, as "recall >= 0.8", and the scorer of scikit-learn that says how probably it is met."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import xarray as xr

from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.registry import get
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior_of_counts import posterior

_REQUIREMENT = re.compile(r"\s*([^<>=\s]+)\s*(>=|<=|>|<)\s*([^<>=\s]+)\s*")


@dataclass(frozen=True)
class Requirement:
    """A bound on a metric, in its better direction."""

    metric: str
    bound: float
    at_least: bool

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Return the requirement written as ``metric>=bound`` or ``metric<=bound``, or with ``>`` or ``<``.

        The two are the same question: of a metric with a density, the bound itself has no probability.
        """
        match = _REQUIREMENT.fullmatch(text)
        if not match:
            raise InputError("requirement", f"{text!r} is not of the form recall>=0.8.")
        metric, at_least = get(match[1]), match[2][0] == ">"
        try:
            bound = float(match[3])
        except ValueError:
            raise InputError("requirement", f"{text!r}: {match[3]!r} is not a number.") from None
        if metric.greater_is_better is None or at_least != metric.greater_is_better:
            better = {True: "greater is better: use >=", False: "smaller is better: use <=", None: "neither is better"}
            raise InputError("requirement", f"{text!r}: of {metric.name}, {better[metric.greater_is_better]}.")
        low, high = metric.bounds
        if not low <= bound <= high:
            raise InputError("requirement", f"{text!r}: {metric.name} lies between {low:g} and {high:g}.")
        if metric.average == "per_class":
            raise InputError(
                "requirement", f"{text!r}: {metric.name} is a value for every class; take _macro or _micro."
            )
        return cls(metric.name, bound, at_least)

    def met(self, marginal: Marginal) -> xr.DataArray:
        """Return the posterior probability that the metric meets the requirement."""
        return marginal.prob_above(self.bound) if self.at_least else marginal.prob_below(self.bound)

    def __str__(self) -> str:
        return f"{get(self.metric).title} {'≥' if self.at_least else '≤'} {self.bound:g}"


@checked
def scorer(
    requirement: str, *, prior: str | priors.Prior | None = None, pos_label: Any = None
) -> Callable[[Any, Any, Any], float]:
    """Return a scorer for scikit-learn: the posterior probability that a fitted classifier meets a requirement.

    It is what ``scoring`` takes in ``cross_validate``, ``cross_val_score``, ``GridSearchCV`` and their kin, and can be
    pickled, so that they may use several processes.

    Parameters
    ----------
    requirement : str
        A bound on a metric in its better direction, as ``"recall >= 0.8"`` or ``"fpr <= 0.05"``.
    prior : str or Prior, optional
        As in `bayesperf.posterior`.
    pos_label : label, optional
        The positive class of a binary problem; inferred for {0, 1}, {-1, 1} and {False, True}.

    Returns
    -------
    callable
        Function ``scorer(estimator, X, y)`` that returns a probability, from the predictions for X alone.

    Raises
    ------
    ValueError
        If the requirement cannot be read, its bound is outside the range of the metric, or there is no such prior.

    Notes
    -----
    Each fold has its own probability, from its own examples. Their mean, by which a search chooses, ranks candidates;
    it is not the probability that all examples together give. For that take the folds of the winner:
    ``bp.posterior(ConfusionMatrix.from_cross_validation(best, X, y).sum("fold"))``. A winner was chosen for its luck,
    too: let other examples judge it.

    Examples
    --------
    >>> import bayesperf as bp
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cross_val_score(GaussianNB(), X, y, cv=3, scoring=bp.metrics.scorer("recall >= 0.95")).round(2)
    array([0.63, 0.99, 0.47])
    """
    if not isinstance(requirement, str):
        raise InputTypeError("requirement", f"must be text, as 'recall >= 0.8'; it is {type(requirement).__name__}.")
    priors.resolve(prior, 2)
    return partial(_probability_met, Requirement.parse(requirement), prior, pos_label)


def _probability_met(
    requirement: Requirement,
    prior: str | priors.Prior | None,
    pos_label: Any,
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
) -> float:
    cm = ConfusionMatrix.from_estimator(estimator, X, y, pos_label=pos_label)
    if cm.dims:
        raise InputError("", "a scorer has one value, and of several labels an example there is one for each.")
    return float(requirement.met(posterior(cm, prior)[requirement.metric]))
