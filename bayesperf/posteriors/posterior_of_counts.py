"""The posterior of counts: under a Dirichlet prior, or under a prior that classes share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, overload

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.counted import Counted
from bayesperf.data.given_tables import matrix_of
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior import DRAWS, Posterior, warn_of_clusters
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sources.dirichlet_cells import Dirichlet
from bayesperf.posteriors.sources.independent_rates import IndependentRates
from bayesperf.posteriors.sources.shared_cells import SharedClasses
from bayesperf.posteriors.sources.source import Source

_DESIGNS = ("joint", "by_actual")
# Largest default number of draws; the number of cells in all of them that lowers it to `DRAWS`; the number of classes
# in all of them that lowers it further; and the smallest number.
_MOST_DRAWS, _DRAWN_CELLS, _DRAWN_CLASSES, _LEAST_DRAWS = 40_000, 4_000_000, 5_000_000, 1000


@overload
def posterior(
    cm: Counted,
    prior: str | priors.Prior | None = None,
    design: str = "joint",
    random_seed: Any = 0,
    *,
    draws: int | None = None,
) -> Posterior: ...


@overload
def posterior(
    y_true: Any,
    y_pred: Any,
    *,
    prior: str | priors.Prior | None = None,
    design: str = "joint",
    random_seed: Any = 0,
    draws: int | None = None,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
) -> Posterior: ...


@checked  # type: ignore[misc]  # after a matrix the second argument is the prior
def posterior(
    cm: Any = None,
    y_pred: Any = None,
    prior: Any = None,
    design: Any = "joint",
    random_seed: Any = 0,
    *,
    draws: int | None = None,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
    y_true: Any = None,
) -> Posterior:
    """Return the posterior of confusion matrices: exact, or by independent draws if their classes share a prior.

    Parameters
    ----------
    cm : ConfusionMatrix, Outcomes or array-like (n,)
        Counts; or the actual labels, if the next argument is the predicted labels. Instead of counts, it may be a
        cross-tabulation with named axes (`pandas.crosstab`, a DataArray), or scikit-learn's ``classification_report``
        for two classes.
    y_pred : array-like (n,), optional
        Predicted labels: ``posterior(y_true, y_pred)`` is short for
        ``posterior(ConfusionMatrix.from_predictions(y_true, y_pred))``. If the first argument is a matrix, the second
        is the prior: ``posterior(cm, "flat")``.
    prior : str or Prior, optional
        By default Jeffreys' for two classes and for right or wrong outcomes (half a pseudo-example per cell),
        `bayesperf.prior.shared` for more classes, and Perks' for grades (one pseudo-example in total).
    design : {"joint", "by_actual"}
        How the test set was sampled. "joint": a number of examples was drawn regardless of class. "by_actual": a
        fixed number of examples was drawn from each class, so the data contain no information about prevalence, and
        metrics that depend on it raise until `Posterior.at_prevalence` supplies it.
    random_seed : int or numpy.random.Generator
        Seed of Monte Carlo results; exact results do not depend on it.
    draws : int, optional
        Number of draws for Monte Carlo results (metrics with `Marginal.method` "draws"). By default 40,000 for up to
        ten classes, for which the standard error of an interval's limits is about half a percent of its width; 10,000
        for 20 to 500 classes; and fewer for more (5,000 for a thousand), but at least 1,000.
    labels, pos_label, by
        As in `ConfusionMatrix.from_predictions`, if actual and predicted labels are given.
    y_true : array-like (n,), optional
        The actual labels, if passed by keyword.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If the prior does not fit the matrix, or an argument has an invalid value.
    TypeError
        If neither a matrix nor both actual and predicted labels are given.

    Warns
    -----
    DependenceWarning
        If the examples were counted with clusters (``cluster=``), which `bayesperf.pool` takes into account.

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
    if isinstance(cm, Counted):
        of_labels = {"labels": labels, "pos_label": pos_label, "by": by, "y_true": y_true}
        if unused := [name for name, value in of_labels.items() if value is not None]:
            raise InputTypeError(unused[0], f"the {type(cm).__name__} has its own.", f"Call it without `{unused[0]}`.")
        prior, design, random_seed = _after_matrix(y_pred, prior, design, random_seed)
    elif cm is not None and y_true is None and (y_pred is None or isinstance(y_pred, str | priors.Prior)):
        if by is not None:
            raise InputTypeError("by", "the counts have dims of their own.", "Call it without `by`.")
        cm = matrix_of(cm, labels, pos_label)
        prior, design, random_seed = _after_matrix(y_pred, prior, design, random_seed)
    else:
        if cm is not None and y_true is not None:
            raise InputTypeError("y_true", "the first argument holds them already.", "Call it without `y_true`.")
        actual = y_true if cm is None else cm
        if actual is None or y_pred is None:
            raise InputTypeError("", "posterior takes a ConfusionMatrix, Outcomes, or actual and predicted labels.")
        cm = ConfusionMatrix.from_predictions(actual, y_pred, labels=labels, pos_label=pos_label, by=by)
    warn_of_clusters(cm)
    check_design(design, cm)
    resolved = priors.resolve_for(prior, cm)
    n_draws = _default_draws(len(cm.labels)) if draws is None else checks.count("draws", draws, least=2)
    return Posterior(
        source=_source(cm, resolved, random_seed=checks.seed(random_seed), n_draws=n_draws),
        pos_label=cm.pos_label,
        prior_text=resolved.describe(cm),
        prevalence="observed" if design == "joint" else _prevalence_by_prior(resolved, cm),
        observed=cm.cells,
    )


def check_design(design: str, cm: Counted) -> None:
    """Refuse a design that is unknown, or impossible for these counts."""
    checks.one_of("design", design, _DESIGNS)
    if cm.graded and design != "joint":
        raise InputError("design", "outcomes have no classes to sample by.", "Remove `design`.")


def _prevalence_by_prior(prior: priors.Prior, cm: Counted) -> Prevalence | None:
    """Return the prevalence if the data do not determine it: the prior's own belief about it, if it has one."""
    totals = prior.totals(cm)
    return Prevalence(totals.values, fixed=False) if totals is not None and prior.says_prevalence else None


def _source(cm: Counted, prior: priors.Prior, **of_draws: int) -> Source:
    cells = cm.cells
    if prior.shared_by_classes:
        return SharedClasses(counts=cells, **of_draws)
    concentration = cells.copy(deep=False, data=cells.values + prior.concentration(cm))
    if (totals := prior.totals(cm)) is not None:
        classes = (cells.sum("predicted") + totals).transpose(*concentration.dims[:-1])
        return IndependentRates(concentration=concentration, totals=classes, rates=None, **of_draws)
    return Dirichlet(concentration=concentration, rates=prior.rates, **of_draws)


def _default_draws(classes: int) -> int:
    of_cells = int(np.clip(_DRAWN_CELLS // classes**2, DRAWS, _MOST_DRAWS))
    return min(of_cells, max(_DRAWN_CLASSES // classes, _LEAST_DRAWS))


def _after_matrix(second: Any, prior: Any, design: Any, random_seed: Any) -> tuple[Any, Any, Any]:
    """Return prior, design and seed for a call ``posterior(cm, prior, design, random_seed)`` by position."""
    if second is None and not (isinstance(prior, str) and prior in _DESIGNS):
        return prior, design, random_seed
    if prior is None:
        return second, design, random_seed
    if isinstance(prior, priors.Prior) or (isinstance(prior, str) and prior in priors.PRESETS):
        raise InputTypeError("", "posterior() got multiple values for argument 'prior'")
    return (second, prior, random_seed) if design == "joint" else (second, prior, design)
