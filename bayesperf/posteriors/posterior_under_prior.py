"""The posterior of counts under one prior: its source of cells, and what the design says about the prevalence."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.data.counted import DESIGNS, Counted
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors import sources
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sources.dirichlet_cells import Dirichlet, IndependentRates
from bayesperf.posteriors.sources.source import Source

# Largest default number of draws; the number of cells in all of them that lowers it to `DRAWS`; the number of classes
# in all of them that lowers it further; and the smallest number.
_MOST_DRAWS, _DRAWN_CELLS, _DRAWN_CLASSES, _LEAST_DRAWS = 40_000, 4_000_000, 5_000_000, 1000


def posterior_under_prior(
    cm: Counted,
    prior: str | priors.Prior | None,
    design: str = "joint",
    random_seed: Any = 0,
    draws: int | None = None,
) -> Posterior:
    """Return the posterior of counts, with the arguments of `bayesperf.posterior`."""
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
    checks.one_of("design", design, DESIGNS)
    if cm.graded and design != "joint":
        raise InputError("design", "outcomes have no classes to sample by.", "Remove `design`.")


def _prevalence_by_prior(prior: priors.Prior, cm: Counted) -> Prevalence | None:
    """Return the prevalence if the data do not determine it: the prior's own belief about it, if it has one."""
    totals = prior.totals(cm)
    return Prevalence(totals.values, fixed=False) if totals is not None and prior.says_prevalence else None


def _source(cm: Counted, prior: priors.Prior, **of_draws: int) -> Source:
    cells = cm.cells
    if prior.shared_by_classes:
        return sources.shared_cells.SharedClasses(counts=cells, **of_draws)
    concentration = cells.copy(deep=False, data=cells.values + prior.concentration(cm))
    if (totals := prior.totals(cm)) is not None:
        classes = (cells.sum("predicted") + totals).transpose(*concentration.dims[:-1])
        return IndependentRates(concentration=concentration, totals=classes, rates=None, **of_draws)
    return Dirichlet(concentration=concentration, rates=prior.rates, **of_draws)


def _default_draws(classes: int) -> int:
    of_cells = int(np.clip(_DRAWN_CELLS // classes**2, DRAWS, _MOST_DRAWS))
    return min(of_cells, max(_DRAWN_CLASSES // classes, _LEAST_DRAWS))
