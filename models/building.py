"""What the model files have in common, for models of your own too: data, priors and distributions of counts.

A model file imports nothing else of bayesperf, so that a copy of it works in any folder. A file starts so:

>>> import pymc as pm
>>> from bayesperf.models.building import coords, prior_variables
>>> PRIORS = {"recall": pm.Beta.dist(1, 1)}
>>> def build(data, priors=None):
...     variable = prior_variables(PRIORS, priors)
...     with pm.Model(coords=coords(data)) as model:
...         recall = variable("recall", [])
...     return model

`coords`, `positive` and `per_example` are of labelled counts, `outcomes_of_rates`, `cells_of_rates`, `rows_of_rates`
and `draws_of_rates` of two classes; `cells_over_groups`, `correlated`, `correlated_second`, `log_likelihood_of_groups`,
`mean_rate`, `tables_of_rates` and `normal_nodes` of rates that are logit-normal over groups; `given_rates`,
`in_rows` and `variables_with_rates` read priors of rates where the parameters are others; `prior_variables` adds
variables whose priors a caller may replace, `conjugate_parameters` reads them for a closed form, and `zero_sum` makes
deviations that sum to 0.
`DirichletMultinomial`, `LogitBinomial`, `OddsBinomial` and `PatternCounts` are likelihoods of counts whose densities
leave out the coefficients, on which no posterior depends: a sampler would compute them again at every step. Where a
sampler takes the variables is `WrongToRight` for rates of raters, and `Softplus` for spreads that may be about 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from pymc.distributions.shape_utils import change_dist_size
from pymc.logprob.transforms import Transform
from pytensor.graph import ancestors
from pytensor.tensor import gammaln
from pytensor.tensor.random.op import RandomVariable
from scipy import special
from scipy.special import expit

# Other rooms use them, too, and do without PyMC.
from bayesperf.models._logit_normal import (
    cells_over_groups,
    correlated,
    correlated_second,
    log_likelihood_of_groups,
    mean_rate,
    normal_nodes,
    tables_of_rates,
)
from bayesperf.models._stationary import stationary

__all__ = [
    "DirichletMultinomial",
    "LogitBinomial",
    "MostlyRight",
    "OddsBinomial",
    "PatternCounts",
    "Softplus",
    "WrongToRight",
    "cells_of_rates",
    "cells_over_groups",
    "concentration",
    "conjugate_parameters",
    "coords",
    "correlated",
    "correlated_second",
    "dirichlet_draws",
    "dirichlet_rows",
    "draws_of_rates",
    "given_rates",
    "in_rows",
    "log_likelihood_of_groups",
    "log_rows",
    "log_sum",
    "mean_rate",
    "normal_nodes",
    "odds_of",
    "outcomes_of_rates",
    "per_example",
    "positive",
    "prior_variables",
    "rows_of_rates",
    "softmax",
    "stationary",
    "tables_of_rates",
    "variables_with_rates",
    "zero_sum",
]

# The log-likelihood of single examples is left out if it has more values than this (80 MB).
MOST_VALUES = 10_000_000
# The observed variable of each rate of two classes.
OUTCOMES = {"prevalence": "positives", "recall": "true_positives", "specificity": "true_negatives"}
# PyTensor's mode that compiles nothing: priors are looked at once.
INTERPRETED = "FAST_COMPILE"
# A prior of each family, as an example in an error.
EXAMPLES = {
    "dirichlet": "pm.Dirichlet.dist(…)",
    "gamma": "pm.Gamma.dist(2, 1)",
    "halfnormal": "pm.HalfNormal.dist(1)",
    "logistic": "pm.Logistic.dist(0, 1)",
    "normal": "pm.Normal.dist(0, 1)",
}
# What fields call the rates; a prior says it as the models do.
SYNONYMS = {"sensitivity": "recall", "tpr": "recall", "tnr": "specificity", "base_rate": "prevalence"}
Prior = Any
AddVariable = Callable[..., Any]
# The share of right answers at which sampling starts. From far above what raters reach, chains fall with such speed
# that some pass on to where the classes have changed places.
START = 0.8


# ── Labelled counts ──


def coords(data: xr.DataArray) -> dict[str, Any]:
    """Return the coordinates of labelled data in the form that `pymc.Model` takes."""
    return {str(dim): data[dim].values for dim in data.dims}


def positive(data: xr.DataArray) -> int:
    """Return the position of the positive class, given by the attribute ``pos_label`` of binary counts."""
    labels = data["actual"].values.tolist()
    if len(labels) != 2:
        raise ValueError(f"data: this model is of two classes; there are {len(labels)}. See the model 'groups'.")
    if "pos_label" not in data.attrs:
        raise ValueError(
            f"data: which of the labels {labels} is the positive class? Name it, as pos_label={labels[-1]!r}."
        )
    return int(labels.index(data.attrs["pos_label"]))


def per_example(probabilities: xr.DataArray, counts: xr.DataArray) -> xr.DataArray | None:
    """Return the log-likelihood of each example, (chain, draw, example), from the probability of each kind of example.

    Examples of the same kind have the same likelihood, which is repeated as often as the kind was observed. The result
    is None if there are more than `MOST_VALUES` values.
    """
    kinds = [dim for dim in probabilities.dims if dim not in ("chain", "draw")]
    seen = counts.transpose(*kinds).values.ravel()
    if seen.sum() * probabilities.sizes["chain"] * probabilities.sizes["draw"] > MOST_VALUES:
        return None
    ordered = probabilities.transpose("chain", "draw", *kinds)
    flat = np.repeat(ordered.values.reshape(*ordered.shape[:2], -1), seen, axis=-1)
    return xr.DataArray(np.log(flat), dims=("chain", "draw", "example"))


def softmax(logits: Any) -> Any:
    """Return the shares, along the last axis, that have these logits.

    PyMC's own is compiled apart, by C, which takes half a minute on a new machine; and PyTensor takes this quotient for
    it if masses could be 0.
    """
    masses = pt.maximum(pt.exp(logits - pt.max(logits, axis=-1, keepdims=True)), 1e-300)
    return masses / masses.sum(axis=-1, keepdims=True)


def log_sum(logs: Any, axis: int = -1) -> Any:
    """Return the logarithm of the sum of exponentials over an axis, as `pm.math.logsumexp`, of finite values.

    PyTensor's is an operation of its own, which C compiles for every draw of the prior.
    """
    # Whatever is taken out, the sum is the same: its slope needs none of it.
    greatest = pytensor.gradient.disconnected_grad(pm.math.max(logs, axis=axis))
    shares = pm.math.exp(logs - pt.expand_dims(greatest, axis))
    # The maximum keeps PyTensor from taking this for that operation.
    return pm.math.log(pm.math.maximum(shares, 1e-300).sum(axis=axis)) + greatest


def zero_sum(values: Any, number: int) -> Any:
    """Return so many numbers that sum to 0 from one fewer, along the last axis, by an orthonormal map.

    Independent normals of one variance become the deviations of such normals from their mean.
    """
    total, root = values.sum(axis=-1, keepdims=True), np.sqrt(number)
    return pm.math.concatenate([values - total / (root * (root + 1)), -total / root], axis=-1)


# ── Two classes by three rates ──


def outcomes_of_rates(counts: xr.DataArray) -> tuple[dict[str, xr.DataArray], dict[str, xr.DataArray]]:
    """Return the successes and the trials of each rate."""
    p = positive(counts)
    tp, tn = (counts.isel(actual=i, predicted=i, drop=True) for i in (p, 1 - p))
    totals = counts.sum("predicted")
    positives, negatives = (totals.isel(actual=i, drop=True) for i in (p, 1 - p))
    successes = {"prevalence": positives, "recall": tp, "specificity": tn}
    return successes, {"prevalence": positives + negatives, "recall": positives, "specificity": negatives}


def cells_of_rates(rates: Mapping[str, Any], positive: int) -> Any:
    """Return the cells for three rates, which are arrays or tensors, as a table in the order of the labels."""
    is_positive, prevalence = np.eye(2)[positive], rates["prevalence"][..., None]
    of_class = prevalence * is_positive + (1 - prevalence) * (1 - is_positive)
    return of_class[..., None] * rows_of_rates(rates, positive)


# ── Priors ──


def prior_variables(
    defaults: Mapping[str, Prior],
    priors: Mapping[str, Prior] | None,
    classes: int = 2,
    unused: Mapping[str, str] | None = None,
) -> AddVariable:
    """Return a function ``variable(name, dims)`` that adds a variable with the prior of that name to a model.

    A ``default_transform``, as of `pymc.Distribution`, is for priors of the default's family: others have PyMC's.

    Parameters
    ----------
    defaults : mapping
        Default priors: unnamed distributions, or functions of the number of classes that return one.
    priors : mapping, optional
        Priors to use instead: unnamed PyMC distributions (``pm.Beta.dist(9, 1)``), PreliZ distributions, or objects
        with ``create_variable(name)``. A prior of fewer dims is repeated, independently, along the first ones.
    classes : int
        Number of classes.
    unused : mapping, optional
        Names of variables that are not in the model, each with the option that would add it.

    Raises
    ------
    ValueError
        If the model has no variable of the name of a prior, or a prior has the wrong shape or support.
    """
    instead, absent = {name: of_pymc(prior) for name, prior in (priors or {}).items()}, dict(unused or {})
    if unknown := [name for name in instead if name not in defaults]:
        alike = [own for own in defaults if SYNONYMS.get(unknown[0], unknown[0]) in own]
        name = next(iter(alike or defaults))
        default = defaults[name]
        family = (default(classes) if callable(default) else default).owner.op
        example = EXAMPLES.get(getattr(family, "name", None) or "", "pm.Beta.dist(9, 1)")
        raise ValueError(
            f"priors: this model has no {unknown[0]!r}; it has {', '.join(map(repr, defaults))}. "
            f"Write {'' if alike else 'for example '}priors={{{name!r}: {example}}}."
        )
    if useless := [name for name in instead if name in absent]:
        raise ValueError(f"priors: {useless[0]!r} is of no use without {absent[useless[0]]}.")

    def variable(name: str, dims: Sequence[str], **transform: Any) -> Any:
        default = defaults[name](classes) if callable(defaults[name]) else defaults[name]
        model = pm.modelcontext(None)
        shape = tuple(len(model.coords[dim]) for dim in dims)
        if name not in instead:
            return model.register_rv(_sized(name, default, shape, dims), name, dims=dims, **transform)
        prior = instead[name]
        if hasattr(prior, "create_variable"):
            created = prior.create_variable(name)
            _check_shape(name, _shape(created), shape, dims)
            _check_support(name, created, default)
            return created
        if getattr(prior, "owner", None) is None or not hasattr(prior.owner.op, "ndim_supp"):
            raise ValueError(
                f"priors: {name!r} must be an unnamed PyMC distribution, as pm.Beta.dist(9, 1), a PreliZ distribution, "
                f"or an object with create_variable(name); it is {prior!r}."
            )
        _check_support(name, prior, default)
        own = transform if type(prior.owner.op) is type(default.owner.op) else {}
        return model.register_rv(_sized(name, prior, shape, dims), name, dims=dims, **own)

    return variable


def of_pymc(prior: Prior) -> Prior:
    """Return a distribution of PreliZ as one of PyMC, anything else as it is; to be called outside of a model.

    Inside of one PreliZ adds a variable to it, for which it wants a name.
    """
    if not getattr(prior, "is_frozen", True):
        family = type(prior).__name__
        raise ValueError(
            f"priors: a {family} of PreliZ has no parameters yet. Give them, as pz.{family}(…), or let pz.maxent find "
            "them."
        )
    return prior.to_pymc() if hasattr(prior, "to_pymc") else prior


def _shape(distribution: Any) -> tuple[int, ...]:
    known = distribution.type.shape
    return tuple(distribution.shape.eval(mode=INTERPRETED).tolist()) if None in known else known


def _sized(name: str, distribution: Any, shape: tuple[int, ...], dims: Sequence[str]) -> Any:
    """Return a distribution in the shape of the dims, repeated along those that it has not, which are the first."""
    core = distribution.owner.op.ndim_supp
    own, batch = _shape(distribution), shape[: len(shape) - core]
    _check_shape(name, (*shape[: max(0, len(shape) - len(own))], *own), shape, dims)
    return change_dist_size(distribution, batch)


def _check_shape(name: str, own: tuple[int, ...], shape: tuple[int, ...], dims: Sequence[str]) -> None:
    if own != shape:
        raise ValueError(f"priors: {name!r} has shape {own}; its dims {tuple(dims)} have {shape}.")


def _check_support(name: str, prior: Any, default: Any) -> None:
    """Raise if a prior has values that are impossible under the default prior."""
    draws = np.asarray(pm.draw(prior, 500, random_seed=0, mode=INTERPRETED))
    core = default.owner.op.ndim_supp
    # A created variable may be a function of others, of which PyMC knows no support: the draws tell.
    if getattr(prior.owner.op, "ndim_supp", core) != core:
        kind = "shares that sum to 1, as of pm.Dirichlet.dist" if core else "single quantities"
        raise ValueError(f"priors: {name!r} has the wrong support: it must be of {kind}.")
    wrong = "it is discrete, and the quantity is continuous."
    if draws.dtype.kind == "f":
        size = draws.shape[: draws.ndim - core]
        if core and draws.shape[draws.ndim - core :] != _shape(default):
            return  # Its length is wrong, which the check of the shape reports.
        possible = np.isfinite(pm.logp(change_dist_size(default, size), draws).eval(mode=INTERPRETED))
        if possible.all():
            return
        impossible = np.array2string(np.asarray(draws[~possible][0]), precision=4)
        wrong = f"it can be {impossible}, which {name} cannot."
    raise ValueError(f"priors: {name!r} has the wrong support: {wrong}")


def _is_random(parameter: Any) -> bool:
    """Whether a parameter depends on a distribution of its own."""
    return any(hasattr(variable.owner.op, "ndim_supp") for variable in ancestors([parameter]) if variable.owner)


def conjugate_parameters(name: str, prior: Any, family: str) -> np.ndarray:
    """Return the parameters of a prior along the last axis; raise NotImplementedError for other families.

    The parameters of a Gamma distribution are its shape and scale.
    """
    prior = of_pymc(prior)
    operation: Any = getattr(getattr(prior, "owner", None), "op", None)
    if getattr(operation, "name", None) != family or any(map(_is_random, operation.dist_params(prior.owner))):
        raise NotImplementedError(
            f"priors: method='exact' needs a {family.capitalize()} prior of {name!r}. Use method='mcmc'."
        )
    parameters = [
        np.asarray(parameter.eval(mode=INTERPRETED), float) for parameter in operation.dist_params(prior.owner)
    ]
    return np.stack(np.broadcast_arrays(*parameters), -1) if family != "dirichlet" else parameters[0]


# ── Priors of rates, in models of two classes that have other parameters ──


def given_rates(
    priors: Mapping[str, Any] | None,
    counts: xr.DataArray,
    own: str,
    example: str,
    rates: Sequence[str] = tuple(OUTCOMES),
) -> dict[str, Any]:
    """Return the priors of rates among those given.

    Parameters
    ----------
    priors : mapping, optional
        Priors by name.
    counts : xarray.DataArray
        Counts (…, actual, predicted).
    own, example : str
        The model's own parameter in place of the rates, and a prior of it.
    rates : sequence of str
        The rates that the model is not written in.

    Raises
    ------
    ValueError
        If there are more than two classes, or a prior of the model's own parameter is given as well.
    """
    given = {name: prior for name, prior in (priors or {}).items() if name in rates}
    for name in given:
        if (classes := counts.sizes["actual"]) != 2:
            raise ValueError(
                f"priors: {name!r} is a rate of two classes, and there are {classes}. Name the parameter of this "
                f"model, as priors={{{own!r}: {example}}}."
            )
        if own in (priors or {}):
            raise ValueError(f"priors: {name!r} and {own!r} are priors of the same quantity. Leave one of them out.")
    return given


def variables_with_rates(
    defaults: Mapping[str, Prior],
    priors: Mapping[str, Prior] | None,
    counts: xr.DataArray,
    rates: Sequence[str],
    unused: Mapping[str, str] | None = None,
) -> AddVariable:
    """Return a function as `prior_variables` does, of a model whose ``location`` has the logits of rates, its last dim.

    If a rate is among the priors, the location is a function of the variables ``typical_recall`` and so on, of which
    those without a prior are uniform: that is what Logistic(0, 1) is of their logits.

    Parameters
    ----------
    defaults, priors, unused
        As in `prior_variables`.
    counts : xarray.DataArray
        Counts (…, actual, predicted).
    rates : sequence of str
        The rates, in the order of the location.
    """
    given = given_rates(priors, counts, "location", EXAMPLES["logistic"], rates)
    own = {f"typical_{name}" if name in given else name: prior for name, prior in (priors or {}).items()}
    typical = {f"typical_{name}": pm.Beta.dist(1, 1) for name in rates} if given else {}
    add = prior_variables({**defaults, **typical}, own, unused=unused)

    def variable(name: str, dims: Sequence[str]) -> Any:
        if not typical or name != "location":
            return add(name, dims)
        logits = [pm.math.logit(add(rate, dims[:-1])) for rate in typical]
        return pm.Deterministic("location", pm.math.stack(logits, axis=-1), dims=dims)

    return variable


def _beta_parameters(prior: Any) -> np.ndarray | None:
    """Return the parameters (…, 2) of a Beta prior; None of a prior of another family."""
    try:
        return conjugate_parameters("", prior, "beta")
    except NotImplementedError:
        return None


def _dirichlet_of_classes(share: np.ndarray, positive: int) -> Any:
    """Return the Dirichlet (…, actual) whose prevalence has a Beta with parameters (…, 2)."""
    return pm.Dirichlet.dist(share if positive == 0 else share[..., ::-1])


def _dirichlet_of_rows(recall: np.ndarray, specificity: np.ndarray, positive: int) -> Any:
    """Return the Dirichlets (…, actual, predicted) in which both rates have Betas of parameters (…, 2)."""
    correct = np.broadcast_arrays(recall, specificity)
    rows = [of_class if label == 0 else of_class[..., ::-1]
            for label, of_class in enumerate(correct if positive == 0 else correct[::-1])]  # fmt: skip
    return pm.Dirichlet.dist(np.stack(rows, -2))


def in_rows(priors: Mapping[str, Any] | None, counts: xr.DataArray) -> dict[str, Any]:
    """Return priors in which Betas of rates are the Dirichlets ``rates`` of the rows and ``prevalence`` of the classes.

    Rates of another family stay what they are. One that is not given is uniform, as it is in the flat Dirichlet.
    """
    example = "pm.Dirichlet.dist([9.0, 1.0, 1.0])"
    given = given_rates(priors, counts, "rates", example, ("recall", "specificity"))
    own = {name: prior for name, prior in (priors or {}).items() if name not in given}
    flat = np.ones(2)
    if counts.sizes["actual"] == 2 and (share := _beta_parameters(own.get("prevalence"))) is not None:
        own["prevalence"] = _dirichlet_of_classes(share, positive(counts))
    recall, specificity = (
        _beta_parameters(given[name]) if name in given else flat for name in ("recall", "specificity")
    )
    if not given or recall is None or specificity is None:
        return own | given
    return own | {"rates": _dirichlet_of_rows(recall, specificity, positive(counts))}


def rows_of_rates(rates: Mapping[str, Any], positive: int) -> Any:
    """Return the rows (…, actual, predicted) for a recall and a specificity, which are arrays or tensors."""
    is_positive, same = np.eye(2)[positive], np.eye(2)
    recall, specificity = (rates[name][..., None] for name in ("recall", "specificity"))
    correct = (recall * is_positive + specificity * (1 - is_positive))[..., None]
    return correct * same + (1 - correct) * (1 - same)


def draws_of_rates(
    priors: Mapping[str, Any],
    successes: Mapping[str, xr.DataArray],
    trials: Mapping[str, xr.DataArray],
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
) -> dict[str, np.ndarray]:
    """Return independent draws (chain, draw, …) of rates from their Beta posteriors, of each matrix from its generator.

    Parameters
    ----------
    priors : mapping
        A Beta of each rate.
    successes, trials : mapping of xarray.DataArray
        What `outcomes_of_rates` returns.
    rngs : sequence of numpy.random.Generator
        One for each matrix.
    size : tuple of two int
        Chains and draws.
    """
    rates = {}
    for name, prior in priors.items():
        a, b = np.moveaxis(conjugate_parameters(name, prior, "beta"), -1, 0)
        hits, misses = successes[name].values, (trials[name] - successes[name]).values
        betas = zip(rngs, np.ravel(a + hits), np.ravel(b + misses), strict=True)
        rates[name] = np.stack([rng.beta(x, y, size) for rng, x, y in betas], -1).reshape(*size, *hits.shape)
    return rates


# ── Distributions ──


class _DirichletMultinomialRV(RandomVariable):  # type: ignore[misc]
    name = "dirichlet_multinomial"
    signature = "(),(),(k)->(k)"
    dtype = "int64"
    _print_name = ("DirichletMultinomial", "\\operatorname{DirichletMultinomial}")

    @classmethod
    def rng_fn(cls, rng: np.random.Generator, n: Any, concentration: Any, mean: Any, size: Any) -> np.ndarray:
        """Draw shares for each row, then its counts."""
        weights = np.asarray(concentration)[..., None] * mean
        leading = np.broadcast_shapes(np.shape(n), weights.shape[:-1]) if size is None else tuple(size)
        shares = dirichlet_draws(rng, np.broadcast_to(weights, (*leading, weights.shape[-1])))
        return np.asarray(rng.multinomial(n, shares))


class DirichletMultinomial(pm.Discrete):  # type: ignore[misc]
    """Counts of a row, of which the shares are Dirichlet(κ · mean): `pymc.DirichletMultinomial` by mean and κ.

    Its density omits the multinomial coefficient, which depends only on the counts, so that no posterior depends on it.
    If the counts are `pymc.Data`, a sampler would compute it again at every step. The sum of the weights is κ, which it
    would otherwise compute as well.
    """

    rv_op = _DirichletMultinomialRV()

    @classmethod
    def dist(cls, n: Any, concentration: Any, mean: Any, **kwargs: Any) -> Any:
        """Return the unnamed distribution of counts that sum to n."""
        parameters = [pt.as_tensor(n, dtype="int64"), pt.as_tensor(concentration), pt.as_tensor(mean)]
        return super().dist(parameters, **kwargs)

    def support_point(rv: Any, size: Any, n: Any, concentration: Any, mean: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return counts in the middle of the distribution."""
        return pm.distributions.distribution.support_point(pm.Multinomial.dist(n=n, p=mean, size=size))

    def logp(value: Any, n: Any, concentration: Any, mean: Any) -> Any:  # noqa: N805  (PyMC registers it by the type)
        """Return the log-density of counts that sum to n, up to the coefficient."""
        weights = concentration[..., None] * mean
        of_cells = (gammaln(weights + value) - gammaln(weights)).sum(axis=-1)
        return of_cells + gammaln(concentration) - gammaln(concentration + n)


def concentration(dispersion: Any) -> Any:
    """Return the concentration κ = 1/ρ − 1 for a dispersion ρ, a variable of a model or its draws.

    A dispersion below 1e-8 is replaced by 1e-8, at which groups are practically identical. For κ > 1e8 differences of
    log-gamma functions lose their significant digits, and a sampler that moves there would find densities that are
    spuriously high and get stuck.
    """
    least = dispersion.clip(min=1e-8) if isinstance(dispersion, xr.DataArray) else pm.math.maximum(dispersion, 1e-8)
    return 1 / least - 1


def dirichlet_draws(rng: np.random.Generator, concentration: np.ndarray) -> np.ndarray:
    """Return draws from Dirichlet distributions along the last axis, one for each row of concentrations.

    Gamma draws of tiny concentrations underflow to 0. They are raised to 1e-280, so that a row of them is never 0/0 and
    its shares are still normal floating-point numbers.
    """
    gamma = np.maximum(rng.standard_gamma(concentration), 1e-280)
    return np.asarray(gamma / gamma.sum(-1, keepdims=True))


def dirichlet_rows(rng: np.random.Generator, concentration: xr.DataArray, dim: str) -> xr.DataArray:
    """Return draws from Dirichlet distributions along a dim, which becomes the last."""
    ordered = concentration.transpose(..., dim)
    return ordered.copy(data=dirichlet_draws(rng, ordered.values))


def log_rows(weights: xr.DataArray, counts: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the log-probability of Dirichlet–multinomial counts given their sum; a weight of 0 has no count."""
    weights, counts = xr.broadcast(weights, counts)
    seen = weights.where(counts > 0, 1.0)
    cells = _log_gamma(seen + counts) - _log_gamma(seen) - _log_gamma(counts + 1.0)
    kappa, total = weights.sum(dim), counts.sum(dim)
    row: xr.DataArray = cells.sum(dim) + _log_gamma(kappa) + _log_gamma(total + 1.0) - _log_gamma(kappa + total)
    return row


def _log_gamma(values: xr.DataArray) -> xr.DataArray:
    return values.copy(data=special.gammaln(values.values))


class _LogitBinomialRV(RandomVariable):  # type: ignore[misc]
    name = "logit_binomial"
    signature = "(),()->()"
    dtype = "int64"
    _print_name = ("LogitBinomial", "\\operatorname{LogitBinomial}")

    @classmethod
    def rng_fn(cls, rng: np.random.Generator, n: Any, logit: Any, size: Any) -> np.ndarray:
        """Draw counts."""
        return np.asarray(rng.binomial(n, expit(logit), size))


class LogitBinomial(pm.Discrete):  # type: ignore[misc]
    """Successes in n trials, of the rate expit(logit): `pymc.Binomial` without the binomial coefficient.

    The coefficient depends only on the counts, so that no posterior depends on it. If the counts are `pymc.Data`, a
    sampler would compute its gamma functions again at every step, which take longer than all else.
    """

    rv_op = _LogitBinomialRV()

    @classmethod
    def dist(cls, n: Any, logit: Any, **kwargs: Any) -> Any:
        """Return the unnamed distribution of successes in n trials."""
        return super().dist([pt.as_tensor(n, dtype="int64"), pt.as_tensor(logit)], **kwargs)

    def support_point(rv: Any, size: Any, n: Any, logit: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return counts in the middle of the distribution."""
        return pm.distributions.distribution.support_point(pm.Binomial.dist(n=n, logit_p=logit, size=size))

    def logp(value: Any, n: Any, logit: Any) -> Any:  # noqa: N805  (PyMC registers it by the type)
        """Return the log-density of successes, up to the coefficient."""
        # One exponential serves the density and its slope: the maxima keep PyTensor from taking log1p and a sigmoid.
        # Above the cap, which keeps it finite, the logarithm is the logit itself.
        capped = pt.minimum(logit, 700.0)
        odds = pt.maximum(pt.exp(capped), 1e-300)
        return value * logit - n * (pt.log(pt.maximum(1 + odds, 1.0)) + logit - capped)


class _OddsBinomialRV(RandomVariable):  # type: ignore[misc]
    name = "odds_binomial"
    signature = "(),(),()->()"
    dtype = "int64"
    _print_name = ("OddsBinomial", "\\operatorname{OddsBinomial}")

    @classmethod
    def rng_fn(cls, rng: np.random.Generator, n: Any, logit: Any, odds: Any, size: Any) -> np.ndarray:
        """Draw counts."""
        return np.asarray(rng.binomial(n, expit(logit), size))


class OddsBinomial(pm.Discrete):  # type: ignore[misc]
    """Successes in n trials, of the rate expit(logit), where a model has the odds at less than an exponential each.

    Its density is that of `LogitBinomial` and takes a third of the time if a logit is a sum of what rows and columns
    have: the odds are a product, of `odds_of` each, and no cell needs an exponential of its own.
    """

    rv_op = _OddsBinomialRV()

    @classmethod
    def dist(cls, n: Any, logit: Any, odds: Any, **kwargs: Any) -> Any:
        """Return the unnamed distribution of successes."""
        return super().dist([pt.as_tensor(n, dtype="int64"), pt.as_tensor(logit), pt.as_tensor(odds)], **kwargs)

    def support_point(rv: Any, size: Any, n: Any, logit: Any, odds: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return counts in the middle of the distribution."""
        return pm.distributions.distribution.support_point(pm.Binomial.dist(n=n, logit_p=logit, size=size))

    def logp(value: Any, n: Any, logit: Any, odds: Any) -> Any:  # noqa: N805  (PyMC registers it by the type)
        """Return the log-density of successes, up to the coefficient."""
        # Counts become real numbers once, not at every step. The maximum keeps PyTensor from taking log1p.
        value, n = (pt.cast(counts, "float64") for counts in (value, n))
        return value * logit - n * pt.log(pt.maximum(1 + odds, 1.0))


def odds_of(logit: Any) -> Any:
    """Return odds, exp(logit). They are above 0, so that PyTensor takes no product of odds for one exponential."""
    return pt.maximum(pt.exp(logit), 1e-300)


class _MostlyRightRV(type(pm.Dirichlet.rv_op)):  # type: ignore[misc]
    pass


class MostlyRight(pm.Dirichlet):  # type: ignore[misc]
    """Dirichlet rates (…, actual, rating) whose chains start with raters that are mostly right.

    From the middle of a weak prior some chains set out to where the classes have changed places: a mode of next to no
    mass, which they do not find out of. See `START`.
    """

    rv_op = _MostlyRightRV()

    def support_point(rv: Any, size: Any, a: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return rates where nearly all answers are right."""
        wrong = (1 - START) / (a.shape[-1] - 1)
        return pt.zeros_like(rv) + wrong + (START - wrong) * pt.eye(a.shape[-1])


class Softplus(Transform):  # type: ignore[misc]
    """The inverse of s = unit · log(1 + exp(x)), of a spread s ≥ 0 that may be near 0.

    Logarithms of a spread have a long tail to the left, and at its right end bend so much that steps must be small.
    Above the unit this one is straight.
    """

    name = "softplus"

    def __init__(self, unit: Any) -> None:
        self.unit = unit

    def forward(self, value: Any, *_: Any) -> Any:
        """Return x."""
        units = value / self.unit
        return units + pt.log(-pt.expm1(-units))

    def backward(self, value: Any, *_: Any) -> Any:
        """Return the spread."""
        return self.unit * pt.softplus(value)

    def log_jac_det(self, value: Any, *_: Any) -> Any:
        """Return the logarithm of the slope of `backward`."""
        return np.log(self.unit) - pt.softplus(-value)


class WrongToRight(Transform):  # type: ignore[misc]
    """The log odds of each wrong answer to the right one, (…, actual, wrong), of rates (…, actual, rating).

    A posterior of raters who are mostly right has them nearly independent, so that steps are large; logarithms of rates
    less their mean, PyMC's choice, are not.
    """

    name = "wrong_to_right"

    def __init__(self, classes: int) -> None:
        # 1 where a rating is that wrong answer, (actual, rating, wrong).
        self.places = np.stack([np.delete(np.eye(classes), right, axis=1) for right in range(classes)])

    def forward(self, value: Any, *_: Any) -> Any:
        """Return the log odds."""
        logs = pt.log(value)
        right = (logs * np.eye(len(self.places))).sum(-1, keepdims=True)
        return (logs[..., None] * self.places).sum(-2) - right

    def backward(self, value: Any, *_: Any) -> Any:
        """Return the rates."""
        return softmax(self.logits(value))

    def log_jac_det(self, value: Any, *_: Any) -> Any:
        """Return the log determinant of the Jacobian of `backward`: the product of all rates."""
        logits = self.logits(value)
        return (logits - log_sum(logits)[..., None]).sum(-1)

    def logits(self, value: Any) -> Any:
        """Return logits of all answers, of which that of the right one is 0."""
        return (value[..., None, :] * self.places).sum(-1)


class _PatternCountsRV(RandomVariable):  # type: ignore[misc]
    name = "pattern_counts"
    signature = "(),(k)->(k)"
    dtype = "int64"
    _print_name = ("PatternCounts", "\\operatorname{PatternCounts}")

    @classmethod
    def rng_fn(cls, rng: np.random.Generator, n: Any, log_p: Any, size: Any) -> np.ndarray:
        """Draw the patterns of n items; the last outcome, which is not stored, is any other pattern."""
        shares = np.exp(log_p)
        rest = np.maximum(1 - shares.sum(-1, keepdims=True), 0)
        shares = np.concatenate([shares, rest], axis=-1)
        shares /= shares.sum(-1, keepdims=True)
        leading = np.broadcast_shapes(np.shape(n), shares.shape[:-1]) if size is None else tuple(size)
        return np.asarray(
            rng.multinomial(np.broadcast_to(n, leading), np.broadcast_to(shares, (*leading, shares.shape[-1])))
        )[..., :-1]


class PatternCounts(pm.Discrete):  # type: ignore[misc]
    """Multinomial counts of n items over patterns, given as logarithms, some of which may be missing from the list.

    Those that are missing have not been observed, so the density does not need them. It omits the multinomial
    coefficient, which depends only on the counts.
    """

    rv_op = _PatternCountsRV()

    @classmethod
    def dist(cls, n: Any, log_p: Any, **kwargs: Any) -> Any:
        """Return the unnamed distribution of the counts of n items."""
        return super().dist([pt.as_tensor(n, dtype="int64"), pt.as_tensor(log_p)], **kwargs)

    def support_point(rv: Any, size: Any, n: Any, log_p: Any) -> Any:  # noqa: N805  (PyMC's way)
        """Return counts in the middle of the distribution."""
        return pt.cast(pt.round(n[..., None] * pt.exp(log_p)), "int64")

    def logp(value: Any, n: Any, log_p: Any) -> Any:  # noqa: N805  (PyMC registers it by the type)
        """Return the log-density of the counts, up to the coefficient."""
        # Counts become real numbers once, not at every step.
        return (pt.cast(value, "float64") * log_p).sum(axis=-1)
