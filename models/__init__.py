"""PyMC models of confusion matrices, one file a model, to read, copy and change.

=============  ====================================================================================================
`groups`       folds, sites, images, … that share a population: row-wise Dirichlet–multinomial, group rates integrated
               out; any number of classes
`groups_logit` the same for two classes with logit-normal rates: covariates, correlation of recall and specificity
`multinomial`  every matrix by itself: multinomial counts, Dirichlet prior
`rates`        two classes: prevalence, recall and specificity with a prior each
`markov`       dependent examples: sequences of (actual, predicted) as a Markov chain
`paired`       two systems on the same examples: their joint cells
`datasets`     two systems' fold scores on several data sets: hierarchical, correlated folds, Student-t population
`binormal_roc` scores that are normal in either class: the ROC curve and its area
=============  ====================================================================================================

Every file has ``PRIORS``, the default priors by name, and ``build(data, priors, **options)``, which returns a
`pymc.Model` with labelled dims. What was integrated out of a model its ``recover`` draws back; ``log_likelihood``
gives the units of cross-validation; ``exact``, where the posterior has a closed form, draws from it, each matrix by a
generator of its own.
"""

from importlib import import_module
from types import ModuleType

_NAMES = ["groups", "groups_logit", "multinomial", "rates", "markov", "paired", "datasets", "binormal_roc"]


def names() -> list[str]:
    """Return the names of the models.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.models.names()
    ['groups', 'groups_logit', 'multinomial', 'rates', 'markov', 'paired', 'datasets', 'binormal_roc']
    """
    return list(_NAMES)


def __getattr__(name: str) -> ModuleType:
    """Import a model file on first use: PyMC comes with it."""
    if name in _NAMES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*_NAMES, "names"]
