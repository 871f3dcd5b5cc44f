"""`fit`: a PyMC model of confusion matrices, sampled into an ArviZ tree.

A built-in model is compiled once in a process for its shapes, options and priors, and its common parts once on a
machine; a model of the caller's own in every fit, and with ``compile_kwargs`` or ``idata_kwargs`` `pymc.sample`
compiles every fit. The same seed gives the same figures under the same sampler and version; only the first fit of a
model on a machine, which compiles it, may round differently. Exact draws of a system depend on its own counts only. The
attributes of the group ``posterior`` have the method, versions, sampler, seed, priors and a hash of the data.

The unit of ``log_likelihood``, which `arviz.loo` leaves out, is a group for the models of groups, and an example (a
step of a sequence) for the others. The group is missing above 10⁷ values (draws × examples), and predictions are
missing above 5 · 10⁸ (draws × counts). With ``repeats`` > 1 the likelihood is a power, so there are no predictions and
no log-likelihood. ``prior``, ``prior_predictive`` and ``log_prior`` ignore a `pymc.Potential`. The attribute
``left_out`` of the tree says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.random_streams import streams
from bayesperf.labels.identifying import warn_of_what_is_not_settled
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import tree_attributes as attributes
from bayesperf.posteriors.prior import Prior
from bayesperf.sampling import nuts
from bayesperf.sampling.backend import compilation_key, constant_parameters
from bayesperf.sampling.fit_tree import (
    check_cells,
    check_model,
    describe,
    finished,
    observe,
    own_potentials,
    potentials_in_words,
    with_a_dim,
)
from bayesperf.sampling.forward import given_data, log_densities, log_likelihoods, predictions, prior_draws
from bayesperf.sampling.interrupts import interruptible, uncollected
from bayesperf.sampling.model_data import BuiltModel, fingerprint, named, prepared, resolve_model
from bayesperf.sampling.model_options import mapping

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["build", "fit"]

TUNE = 1000
_TOO_MANY = "log_likelihood: draws × examples are more than 10⁷ values; sample fewer draws"
# Predictions are left out if they have more values than this (4 GB).
_MOST_PREDICTED = 500_000_000
_TOO_MANY_PREDICTED = "draws × counts are more than 5 · 10⁸ values; sample fewer draws"
# Methods that need no sampler.
_DIRECT = ("exact", "approximate")


@checked
def fit(
    data: Any,
    model: Any = "multinomial",
    priors: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    pos_label: Any = None,
    method: Literal["auto", "mcmc", "exact", "approximate"] = "auto",
    draws: int = 1000,
    tune: int = TUNE,
    chains: int = 4,
    random_seed: Any = None,
    progressbar: bool = True,
    metrics: Sequence[str | Metric] | None = None,
    **sample_kwargs: Any,
) -> xr.DataTree:
    """Draw from the posterior of a PyMC model of confusion matrices: exactly where that is possible, else by NUTS.

    Parameters
    ----------
    data : ConfusionMatrix, or what the model takes
        `bayesperf.models` says what each kind of data is, and `bayesperf.models.table` which kind a model takes.
    model : str, callable or module
        One of `bayesperf.models.names`; or a function ``(data, priors) -> pymc.Model`` that takes the counts as a
        DataArray (attribute ``pos_label``) and has observed data and a variable ``cells`` (…, actual, predicted); or an
        imported, edited copy of a file of `bayesperf.models`.
    priors : mapping, optional
        By name of the model's ``PRIORS``: unnamed PyMC distributions (``pm.Beta.dist(9, 1)``), PreliZ distributions, or
        objects with ``create_variable(name)``.
    options : mapping, optional
        Options of the model's ``build``, such as ``{"dim": "site"}``; see `bayesperf.models`. Under ``{"design":
        "by_actual"}`` metrics that depend on prevalence need a prior of it, or `Posterior.at_prevalence`.
    pos_label : label, optional
        The positive class of two; by default the one of the data, or the one that the labels imply.
    method : {"auto", "mcmc", "exact", "approximate"}
        "exact" draws independently, in closed form or by quadrature, and compiles nothing. "approximate" does so near
        the posterior of ``items``. "auto" is "exact" if the model has such a form under these priors and options,
        except for a given setting of the sampler (`tune` included) and for a copy of a file, which may be edited.
    draws, tune, chains, progressbar
        As in `pymc.sample`; the progress bar is shown on terminals and in notebooks.
    random_seed : int or numpy.random.Generator, optional
        By default a new seed, which is recorded.
    metrics : sequence of str, optional
        Metrics to add as variables; by default the available ones of a summary. One that is a variable of the model
        already (``recall`` of ``rates``) stays; if another variable has its name, it is refused.
    **sample_kwargs
        Settings of the sampler. ``nuts_sampler`` is "nutpie" (default), "pymc", "numpyro" or "blackjax".
        ``target_accept`` is by default what the model's file declares, else 0.95; chains start near ``initvals``.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` (``cells`` and a variable for each metric; ``recall_group``, ``recall_new`` if a model has
        ``cells_group``, ``cells_new``; attributes that tell how it was drawn), ``prior``, ``posterior_predictive``,
        ``prior_predictive``, ``observed_data``, ``log_likelihood``, ``log_prior`` and ``sample_stats``.

    Raises
    ------
    TypeError, ValueError
        If the data are not what the model takes; if there is no such model, option, prior, setting or exact form; if a
        prior has the wrong support or shape, or no use here; if a metric cannot be computed; if a model of your own
        has no cells or no likelihood, or a density of 0 where sampling starts.

    Warns
    -----
    ConvergenceWarning, IdentifiabilityWarning, UserWarning
        If transitions diverged, R̂ > 1.01 or an effective sample size is below 400; if raters are too few for what is
        asked, or the prior decides; if an installed package has changed, so that the slower `pymc.sample` is called.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> tree = bp.fit(cm, random_seed=1, draws=500)
    >>> tree["posterior"]["recall"].mean().round(2).item(), tree["posterior"].attrs["method"]
    (0.8, 'exact')
    """
    asked = _checked_method(method, tune, sample_kwargs)
    sizes = {name: checks.count(name, value) for name, value in (("draws", draws), ("tune", tune), ("chains", chains))}
    seed = checks.new_seed(random_seed)
    with interruptible(), nuts.quiet():
        definition, model = resolve_model(model), named(model)
        asked = "mcmc" if asked == "auto" and isinstance(model, ModuleType) else asked
        counts, options = prepared(data, model, options, pos_label)
        built = BuiltModel(model, definition, counts, priors, options, built_model(model, counts, priors, options))
        check_model(built, metrics)
        # Fits of other data under the same seed are independent.
        data_hash = fingerprint(counts)
        seeds = np.random.SeedSequence([seed, int(data_hash, 16)]).generate_state(5).tolist()
        finish = partial(finished, built=built, metrics=metrics)
        made_by, drawn = _direct(asked, built, (chains, draws), seed)
        # Metrics that cannot be computed are refused with the draws of the prior, before the sampling.
        prior = _prior(built, draws, seeds[3:])
        tree = {name: finish(with_a_dim(name, group)) for name, group in prior.items()}
        if drawn is None:
            settings = {"target_accept": nuts.target_accept(definition), **sample_kwargs}
            key = compilation_key(model, built.model, counts, options, priors)
            sampler, groups = nuts.sample(built.model, sizes, seeds[0], progressbar, key, **settings)
            nuts.warn_of_convergence(groups, built.model)
        else:
            sampler = {attributes.SAMPLER: made_by, attributes.SAMPLER_VERSION: version("bayesperf")}
            groups = {"posterior": drawn}
        around, left_out = _other_groups(groups["posterior"], built, seeds[1:3])
    tree |= {name: finish(with_a_dim(name, group)) for name, group in {**groups, **around}.items()}
    observe(tree, counts)
    tree["posterior"].attrs = {
        **describe(built, made_by),
        **_origin(made_by, sizes),
        **sampler,
        attributes.RANDOM_SEED: seed,
        attributes.DATA_HASH: data_hash,
    }
    return _finished_tree(tree, left_out)


@checked
def build(
    data: Any,
    model: Any = "multinomial",
    priors: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    pos_label: Any = None,
) -> pm.Model:
    """Return the PyMC model that `bayesperf.fit` samples, to look at, extend or sample yourself.

    Parameters
    ----------
    data, model, priors, options, pos_label
        As in `bayesperf.fit`.

    Returns
    -------
    pymc.Model
        With labelled dims, the data as `pymc.Data` and, of confusion matrices, the variable ``cells``
        (…, actual, predicted). What a model integrates out (``cells_group``) is not in it: `bayesperf.fit` draws that
        afterwards.

    Raises
    ------
    TypeError, ValueError
        As `bayesperf.fit` does.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> model = bp.models.build(cm, "rates")
    >>> [variable.name for variable in model.free_RVs]
    ['prevalence', 'recall', 'specificity']
    """
    counts, options = prepared(data, named(model), options, pos_label)
    return built_model(named(model), counts, priors, options)


def _finished_tree(groups: Mapping[str, xr.Dataset], left_out: str) -> xr.DataTree:
    """Return the tree, with the reason for what is missing; warn if the data do not settle the parameters."""
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {attributes.LEFT_OUT: left_out} if left_out else {}
    if attributes.DEGREES_OF_FREEDOM in tree["posterior"].attrs:
        warn_of_what_is_not_settled(tree)
    return tree


def _origin(method: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return attributes that say how draws were made; only a sampler has tuning."""
    direct = method != "mcmc"
    made = {name: size for name, size in sizes.items() if not (direct and name == "tune")}
    return {attributes.METHOD: method, attributes.INDEPENDENT_DRAWS: int(direct), **made}


def _checked_method(method: str, tune: int, settings: Mapping[str, Any]) -> str:
    """Return the method, which settings of the sampler make "mcmc"; refuse settings that the method does not take."""
    checks.one_of("method", method, ("auto", "mcmc", *_DIRECT))
    if method in _DIRECT and settings:
        raise InputTypeError("method", f"{method!r} samples nothing, so it takes no {', '.join(settings)}.")
    if method not in _DIRECT:
        nuts.check(settings)
    return "mcmc" if method == "auto" and (settings or tune != TUNE) else method


def _direct(method: str, built: BuiltModel, size: tuple[int, int], seed: int) -> tuple[str, xr.Dataset | None]:
    """Return how draws are made, and those that need no sampler; "auto" is "mcmc" if there is no exact form."""
    if method == "mcmc":
        return method, None
    kind = "exact" if method == "auto" else method
    try:
        return kind, direct_draws(built, kind, size, seed)
    except NotImplementedError as reason:
        if method == "auto":
            return "mcmc", None
        raise InputError("", str(reason)) from None


def built_model(
    model: Any, counts: xr.DataArray, priors: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> pm.Model:
    """Return the PyMC model of prepared data."""
    import pymc as pm

    definition = resolve_model(model)
    build = definition if callable(definition) else definition.build
    if isinstance(priors, Prior):
        raise InputTypeError(
            "priors",
            "must be a mapping; it is a prior of the cells, which bayesperf.posterior takes.",
            "Name a distribution for each parameter, as {'recall': pymc.Beta.dist(9, 1)}.",
        )
    priors = mapping("priors", priors, "{'recall': pymc.Beta.dist(9, 1)}")
    try:
        built = build(counts, priors, **options)
    except ValueError as error:
        if taken := [dim for dim in counts.dims if f"name '{dim}' conflicts with an existing dimension" in str(error)]:
            raise InputError("data", f"{taken[0]!r} is a variable of the model; rename that dim.") from None
        raise
    if not isinstance(built, pm.Model):
        raise InputTypeError("model", f"the function must return a pymc.Model; it returned {type(built).__name__}.")
    return built


# ── Other groups of the tree ──


@uncollected()
def _prior(built: BuiltModel, draws: int, seeds: Sequence[int]) -> dict[str, xr.Dataset]:
    """Return the groups prior and prior_predictive, which is empty if the likelihood is a potential."""
    drawn = prior_draws(built.model, draws, seeds[0], not _too_many(built, draws))
    groups = {name: group for name, group in drawn.items() if group.data_vars}
    groups["prior"] = _recovered_draws(groups["prior"], built, xr.zeros_like(built.counts), seeds[1])
    check_cells(groups["prior"])
    # An edited file whose log-likelihood cannot be computed is refused: after sampling it would be too late.
    if built.model.observed_RVs and built.fact("log_likelihood") and not _is_built_in(built.definition):
        _log_likelihood(groups["prior"].isel(draw=slice(2)), built)
    return groups


def _too_many(built: BuiltModel, draws: int) -> bool:
    """Whether predictions of the data would take too much memory."""
    return draws * built.counts.size > _MOST_PREDICTED


def _is_built_in(definition: Any) -> bool:
    return str(definition.__name__).startswith("bayesperf.")


@contextmanager
def _edited_together(definition: Any, function: str) -> Iterator[None]:
    """Explain that a function of an edited file does not fit the edited model."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if _is_built_in(definition):
            raise
        problem = (
            f"its function {function!r} asks for what the model does not have: {error.args[0]}"
            if isinstance(error, KeyError)
            else f"its function {function!r} cannot be computed of draws of the model: {error}."
        )
        raise InputError("model", problem, "Change the function with the model, or delete it.") from error


def _recovered_draws(group: xr.Dataset, built: BuiltModel, counts: xr.DataArray, seed: int) -> xr.Dataset:
    """Add draws of what was integrated out of the model."""
    recover = built.fact("recover")
    if recover is None:
        return group
    with _edited_together(built.definition, "recover"):
        return group.assign(recover(group, counts, np.random.default_rng(seed), **built.options))


@uncollected()
def _other_groups(posterior: xr.Dataset, built: BuiltModel, seeds: Sequence[int]) -> tuple[dict[str, xr.Dataset], str]:
    """Return the complete posterior, predictions, log-likelihood and log-prior, and the reason for omissions."""
    model = built.model
    groups, left_out = given_data(model), ""
    if not model.observed_RVs:
        reason = built.fact("POTENTIAL", f"the likelihood is {potentials_in_words(model)}")
        left_out = f"posterior_predictive, log_likelihood: {reason}"
    else:
        sizes = {
            "prior_predictive": posterior.sizes["draw"],
            "posterior_predictive": posterior.sizes["chain"] * posterior.sizes["draw"],
        }
        absent = ", ".join(name for name, number in sizes.items() if _too_many(built, number))
        if "posterior_predictive" not in absent:
            groups["posterior_predictive"] = predictions(model, posterior, seeds[0])
        groups["log_likelihood"], left_out = _log_likelihood(posterior, built)
        left_out = "; ".join(filter(None, [absent and f"{absent}: {_TOO_MANY_PREDICTED}", left_out]))
    if own_potentials(built):
        without = f"prior, prior_predictive, log_prior: drawn and computed without {potentials_in_words(model)}"
        left_out = "; ".join([*filter(None, [left_out]), without])
    groups["log_prior"] = log_densities(model, model.free_RVs, posterior)
    groups["posterior"] = _recovered_draws(posterior, built, built.counts, seeds[1])
    return {name: group for name, group in groups.items() if group.data_vars}, left_out


def _log_likelihood(posterior: xr.Dataset, built: BuiltModel) -> tuple[xr.Dataset, str]:
    """Return the group log_likelihood, empty if it is omitted, and the reason."""
    log_likelihood = built.fact("log_likelihood")
    if log_likelihood is None:
        densities, too_many = log_likelihoods(built.model, posterior)
        return densities, _TOO_MANY if too_many else ""
    with _edited_together(built.definition, "log_likelihood"):
        of_units = log_likelihood(posterior, built.counts, **built.options)
    if of_units is None or isinstance(of_units, str):
        return xr.Dataset(), _TOO_MANY if of_units is None else f"log_likelihood: {of_units}"
    return of_units.to_dataset(name="counts"), ""


# ── Draws that no sampler makes ──


def direct_draws(built: BuiltModel, method: str, size: tuple[int, int], seed: int) -> xr.Dataset:
    """Return independent draws (chain, draw) by a method, "exact" or "approximate".

    Each system's draws come from its own random stream.

    Raises
    ------
    NotImplementedError
        If the posterior of this model under these priors and options has no such form.
    """
    definition, counts, options = built.definition, built.counts, built.options
    of_cells = built.model.named_vars_to_dims.get("cells", counts.dims)
    systems = [dim for dim in counts.dims[:-2] if dim in of_cells and dim != options.get("dim")]
    rest = [dim for dim in counts.dims if dim not in systems]
    leading = counts.isel(dict.fromkeys(rest, 0), drop=True).transpose(*systems)
    tables = counts.transpose(*systems, *rest).values.reshape(leading.size, -1)
    rngs = streams(seed, method, leading, tables)
    if hasattr(definition, method):
        return xr.Dataset(getattr(definition, method)(counts, built.priors, rngs, size, **options))
    name = getattr(definition, "__name__", str(definition)).rpartition(".")[2]
    place = method.upper()
    if hasattr(definition, place):
        if named(definition) is definition:
            raise NotImplementedError(
                f"method={method!r}: the module {name!r} is a copy, and the function that its {place} names draws from "
                f"the posterior of the original. Use method='mcmc', or define `{method}` in place of {place}."
            )
        module, _, function = getattr(definition, place).partition(":")
        draw = getattr(import_module(f"bayesperf.{module}"), function)
        return xr.Dataset(draw(counts, _parameters(built, method), rngs, size, **options))
    form = {"exact": "closed form", "approximate": "approximation"}[method]
    raise NotImplementedError(
        f"method={method!r}: the posterior of the model {name!r} has no {form}. Use method='mcmc'."
    )


def _parameters(built: BuiltModel, method: str) -> dict[str, Array]:
    """Return the parameters of each prior, along the last axis; refuse families other than the default's."""
    model, defaults, found = built.model, built.definition.PRIORS, {}
    # The options and the data may leave some of them out of the model, or compute them from others.
    there = model.named_vars if built.priors else [variable.name for variable in model.free_RVs]
    for name, default in [(name, prior) for name, prior in defaults.items() if name in there]:
        family = (default(2) if callable(default) else default).owner.op
        parameters = constant_parameters(model[name])
        if type(model[name].owner.op) is not type(family) or parameters is None:
            raise NotImplementedError(
                f"priors: method={method!r} needs a {family.name.capitalize()} prior of {name!r}. Use method='mcmc'."
            )
        found[name] = np.stack(np.broadcast_arrays(*parameters), -1) if family.ndim_supp == 0 else parameters[0]
    return found
