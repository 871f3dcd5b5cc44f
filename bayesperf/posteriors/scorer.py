"""A scorer for scikit-learn: how probably a requirement is met."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.requirement import Requirement


@checked
def scorer(
    requirement: str, *, prior: str | priors.Prior | None = None, pos_label: Any = None
) -> Callable[[Any, Any, Any], float]:
    """Return a scorer for scikit-learn: the posterior probability that a fitted classifier meets a requirement.

    Pass it as ``scoring`` to ``cross_validate``, ``cross_val_score``, ``GridSearchCV`` and similar functions. It can be
    pickled, so that they may use several processes.

    Parameters
    ----------
    requirement : str
        A bound on a metric in its better direction, such as ``"recall >= 0.8"`` or ``"fpr <= 0.05"``.
    prior : str or Prior, optional
        As in `bayesperf.posterior`.
    pos_label : label, optional
        The positive class of a binary problem; inferred for {0, 1}, {-1, 1} and {False, True}.

    Returns
    -------
    callable
        Function ``scorer(estimator, X, y)`` that returns a probability, computed from the predictions for X only.

    Raises
    ------
    ValueError
        If the requirement cannot be read, its bound is outside the range of the metric, or there is no such prior.

    Notes
    -----
    Each fold has its own probability, from its own examples. A search ranks candidates by the mean of these; this mean
    is not the probability given all examples together. For that, take the folds of the winner:
    ``bp.posterior(ConfusionMatrix.from_cross_validation(best, X, y).sum("fold"))``. The winner was partly lucky: test
    it on other examples.

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
