"""The posterior of counts: under a Dirichlet prior, or under a prior that classes share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.counted import Counted
from bayesperf.data.given_tables import matrix_of
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.known_shares import posterior_of_strata
from bayesperf.posteriors.posterior import Posterior, warn_of_clusters
from bayesperf.posteriors.posterior_under_prior import posterior_under_prior


@checked
def posterior(
    cm: Any = None,
    y_pred: Any = None,
    design: str = "joint",
    random_seed: Any = 0,
    *,
    prior: str | priors.Prior | None = None,
    draws: int | None = None,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
    strata: str | Sequence[str] | None = None,
    shares: Any = None,
    shares_of: Literal["population", "sample"] = "population",
    y_true: Any = None,
) -> Posterior:
    """Return the posterior of confusion matrices: exact, or by independent draws if their classes share a prior.

    Parameters
    ----------
    cm : ConfusionMatrix, Outcomes or array-like (n,)
        Counts; or the actual labels, if the next argument is the predicted labels. Instead of counts, it may be a
        cross-tabulation with named axes (`pandas.crosstab`, a DataArray), or scikit-learn's ``classification_report``
        for two classes; with `strata`, also a posterior of the strata, such as ``pool(cm, dim).by_group``.
    y_pred : array-like (n,), str or Prior, optional
        Predicted labels: ``posterior(y_true, y_pred)`` is short for
        ``posterior(ConfusionMatrix.from_predictions(y_true, y_pred))``. After counts, the prior:
        ``posterior(cm, "flat")``.
    design : {"joint", "by_actual"}
        How the test set was sampled. "joint": a number of examples was drawn regardless of class. "by_actual": a
        fixed number of examples was drawn from each class, so the data contain no information about prevalence, and
        metrics that depend on it raise until `Posterior.at_prevalence` supplies it.
    random_seed : int or numpy.random.Generator
        Seed of Monte Carlo results; exact results do not depend on it.
    prior : str or Prior, optional
        By default Jeffreys' for two classes and for right or wrong outcomes (half a pseudo-example per cell),
        `bayesperf.prior.shared` for more classes, and Perks' for grades (one pseudo-example in total). With `strata`, a
        weak prior is spread over them all (`bayesperf.posteriors.known_shares`).
    draws : int, optional
        Number of draws for Monte Carlo results (metrics with `Marginal.method` "draws"). By default 40,000 for up to
        ten classes (limits then have a standard error of half a percent of an interval's width), and fewer for more.
    labels, pos_label, by, y_true
        As in `ConfusionMatrix.from_predictions`, if actual and predicted labels are given.
    strata, shares, shares_of
        Leading dims whose levels occur in other shares than in the test set; their shares or sizes, as a mapping by
        level, a Series or a DataArray; and whether these were counted in the "population" or in a "sample". The result
        describes the population (`bayesperf.posteriors.known_shares`).

    Returns
    -------
    Posterior

    Raises
    ------
    TypeError, ValueError
        If neither a matrix nor both columns of labels are given; if the prior does not fit, or a value is invalid.

    Warns
    -----
    DependenceWarning, PriorWarning
        If the examples were counted with clusters (``cluster=``; see `bayesperf.pool`); if a stratum has no examples.

    Notes
    -----
    With counts C ~ Multinomial(N, θ) and the prior θ ~ Dirichlet(α), the posterior is θ | C ~ Dirichlet(α + C).
    `bayesperf.prior.shared` describes the prior that classes share.

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
    if strata is None and (shares is not None or isinstance(cm, Posterior)):
        raise InputTypeError("strata", "name the dim of the strata, as strata='site'.")
    if strata is None and shares_of != "population":
        raise InputTypeError("shares_of", "says where shares come from, and there are none.", "Give `shares`.")
    if isinstance(cm, Counted) or isinstance(y_pred, str | priors.Prior):
        if y_pred is not None and prior is not None:
            raise InputTypeError("", "posterior() got multiple values for argument 'prior'")
        prior, y_pred = y_pred if prior is None else prior, None
    of_labels = {"labels": labels, "pos_label": pos_label, "by": by}
    if isinstance(cm, Posterior):
        other = None if design == "joint" else design
        own = {"y_pred": y_pred, "prior": prior, "design": other, "draws": draws}
        checks.none_given("the posterior has its own.", **own, **of_labels)
        assert strata is not None
        return posterior_of_strata(cm, strata, shares, shares_of, random_seed=random_seed)
    counts = _counts(cm, y_pred, y_true, **of_labels)
    warn_of_clusters(counts)
    if strata is None:
        return posterior_under_prior(counts, prior, design, random_seed, draws)
    if design != "joint":
        raise InputError("design", "must be 'joint' with strata: each stratum shows its prevalence.")
    return posterior_of_strata(counts, strata, shares, shares_of, prior, random_seed, draws)


def _counts(cm: Any, y_pred: Any, y_true: Any, *, labels: Any, pos_label: Any, by: Any) -> Counted:
    """Return counts as they are given, of a table that names its axes, or of actual and predicted labels."""
    if isinstance(cm, Counted):
        has_own = f"the {type(cm).__name__} has its own."
        checks.none_given(has_own, labels=labels, pos_label=pos_label, by=by, y_true=y_true)
        return cm
    if cm is not None and y_pred is None and y_true is None:
        checks.none_given("the counts have dims of their own.", by=by)
        return matrix_of(cm, labels, pos_label)
    if cm is not None:
        checks.none_given("the first argument holds them already.", y_true=y_true)
    actual = y_true if cm is None else cm
    if actual is None or y_pred is None:
        raise InputTypeError("", "posterior takes a ConfusionMatrix, Outcomes, or actual and predicted labels.")
    return ConfusionMatrix.from_predictions(actual, y_pred, labels=labels, pos_label=pos_label, by=by)
