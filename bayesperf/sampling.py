"""`fit`: a PyMC model of confusion matrices, sampled, into an ArviZ tree."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf import _checks, _compiled, _fit_data, sequences
from bayesperf import metrics as table
from bayesperf._labelled import evaluate
from bayesperf._registry import Metric, applicable
from bayesperf._tables import CELL_DIMS
from bayesperf._warnings import ConvergenceWarning
from bayesperf.posterior import Posterior

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["fit"]

_POWER = "a power likelihood (repeats > 1) cannot be simulated from, and its examples are no units to leave out"


def fit(
    data: Any,
    model: Any = "multinomial",
    priors: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    method: str = "mcmc",
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    random_seed: Any = None,
    progressbar: bool = True,
    metrics: Sequence[str | Metric] | None = None,
    **sample_kwargs: Any,
) -> xr.DataTree:
    """Sample a PyMC model of confusion matrices.

    Parameters
    ----------
    data : ConfusionMatrix
        For the model ``"paired"`` a `PairedConfusionMatrix`; for ``"markov"`` a pair ``(y_true, y_pred)`` in the
        order of time, with sequence ids in ``options["by"]``; for ``"datasets"`` a DataArray of scores (dataset,
        model, fold).
    model : str or callable
        One of `bayesperf.models.names`, or a function ``(data, priors) -> pymc.Model`` that receives the counts as a
        DataArray (attribute ``pos_label``) and has a variable ``cells`` (…, actual, predicted).
    priors : mapping, optional
        By name of the model's ``PRIORS``: unnamed PyMC distributions (``pm.Beta.dist(9, 1)``), PreliZ distributions, or
        objects with ``create_variable(name)``.
    options : mapping, optional
        Of the model: what its ``build`` takes, as ``{"groups": "clusters", "dim": "site"}``. The dim of groups is by
        default the only leading dim, else ``fold``.
    method : {"mcmc", "exact"}
        "exact" draws independently from the closed form, where the model and its priors have one.
    draws, tune, chains : int
        As in `pymc.sample`.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same figures under the same sampler and version; both are recorded. By default a new
        one.
    progressbar : bool
        Shown on terminals and in notebooks.
    metrics : sequence of str, optional
        Those to add as variables; by default those of a summary.
    **sample_kwargs
        For the sampler. ``nuts_sampler`` is "nutpie" (default), or another of `pymc.sample`: "pymc", "numpyro".

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` (with ``cells`` and a variable a metric; ``recall_group``, ``recall_new`` where a model
        has ``cells_group``, ``cells_new``), ``prior``, ``posterior_predictive``, ``prior_predictive``,
        ``observed_data``, ``log_likelihood``, ``log_prior`` and ``sample_stats``. Versions, sampler, seed, priors and
        a hash of the data are in the attributes of ``posterior``. `Posterior.from_datatree` takes it.

    Raises
    ------
    TypeError
        If the data are not what the model is of.
    ValueError
        If there is no such model, option or prior, or a prior has the wrong support or shape.

    Warns
    -----
    ConvergenceWarning
        If transitions diverged, R̂ > 1.01 or the effective sample size is below 400; it names the variable.

    Notes
    -----
    The unit of ``log_likelihood``, which `arviz.loo` leaves out, is a group for the models of groups, and
    an example (a step of a sequence) for the others: a whole matrix is too much to leave out. Of more than 10⁷ values
    (draws × examples) it is left out; fewer draws bring it back. With ``repeats`` > 1 the likelihood is a power, so
    there are no predictions and no log-likelihood. What is missing is said in the attribute ``left_out`` of the tree.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> tree = bp.fit(cm, method="exact", random_seed=1, draws=500)
    >>> tree["posterior"]["recall"].mean().round(2).item()
    0.79
    """
    _checks.one_of("method", method, ("mcmc", "exact"))
    sizes = {"draws": _checks.count("draws", draws), "chains": _checks.count("chains", chains)}
    seed = int(np.random.default_rng().integers(2**31)) if random_seed is None else _checks.seed(random_seed)
    module = _fit_data.model_of(model)
    counts, options = _fit_data.prepared(data, model, options)
    built = built_model(model, counts, priors, options)
    # Fits of other data under the same seed are independent.
    streams = np.random.SeedSequence([seed, int(_fit_data.fingerprint(counts), 16)]).generate_state(4).tolist()
    with quiet():
        if method == "exact":
            if sample_kwargs:
                raise TypeError(f"method='exact' samples nothing, so it takes no {', '.join(sample_kwargs)}.")
            sampler = {"sampler": "exact", "sampler_version": version("bayesperf")}
            groups = {"posterior": _exact(module, counts, priors, options, (chains, draws), streams[0])}
        else:
            sizes["tune"] = _checks.count("tune", tune)
            target = getattr(module, "TARGET_ACCEPT", 0.95)
            sampler, groups = _sample(built, sizes, streams[0], _shown(progressbar), sample_kwargs, target)
            _warn(groups, built)
        tree, left_out = _around(groups, built, module, counts, options, streams[1:])
    recorded = {
        "model": model if isinstance(model, str) else getattr(model, "__name__", repr(model)),
        "method": method,
        "random_seed": seed,
        **sizes,
        **sampler,
    }
    recorded |= {"data_hash": _fit_data.fingerprint(counts), "options": json.dumps(options, default=_in_words)}
    recorded |= _estimand(model, options)
    return _finished(tree, built, counts, metrics, recorded, left_out)


def built_model(
    model: Any, counts: xr.DataArray, priors: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> pm.Model:
    """Return the PyMC model of prepared data."""
    module = _fit_data.model_of(model)
    build = module if callable(module) else module.build
    built: pm.Model = build(counts, dict(priors or {}), **options)
    return built


# ── Sampling ──


def _exact(
    module: Any, counts: xr.DataArray, priors: Any, options: Any, size: tuple[int, int], seed: int
) -> xr.Dataset:
    if not hasattr(module, "exact"):
        name = getattr(module, "__name__", str(module)).rpartition(".")[2]
        raise ValueError(f"method='exact': the posterior of the model {name!r} has no closed form. Use method='mcmc'.")
    return xr.Dataset(module.exact(counts, priors, np.random.default_rng(seed), size, **options))


def _sample(
    model: pm.Model,
    sizes: Mapping[str, int],
    seed: int,
    progressbar: bool,
    options: dict[str, Any],
    target_accept: float = 0.95,
) -> tuple[dict[str, str], dict[str, xr.Dataset]]:
    """Return what sampled, and the groups posterior and sample_stats."""
    sampler = options.pop("nuts_sampler", "nutpie")
    # Smaller steps than the samplers' default of 0.8: hierarchical models diverge less, and take little longer.
    options.setdefault("target_accept", target_accept)
    if sampler == "nutpie":
        import nutpie

        options |= {"seed": seed, "progress_bar": progressbar, "save_warmup": False}
        tree = nutpie.sample(_compiled.compiled(model), **sizes, **options)
    else:
        import pymc as pm

        options |= {"random_seed": seed, "progressbar": progressbar, "nuts_sampler": sampler, "quiet": not progressbar}
        tree = pm.sample(model=model, **sizes, **options)
    groups = {name: tree[name].to_dataset() for name in ("posterior", "sample_stats")}
    # The labels are those of the model that was compiled first.
    labels = {dim: list(values) for dim, values in model.coords.items() if dim in groups["posterior"].dims and values}
    groups["posterior"] = groups["posterior"].assign_coords(labels)
    groups["sample_stats"] = groups["sample_stats"].drop_vars("divergence_message", errors="ignore")
    package = {"nutpie": "nutpie", "numpyro": "numpyro", "blackjax": "blackjax"}.get(sampler, "pymc")
    return {"sampler": sampler, "sampler_version": version(package)}, groups


def _warn(groups: Mapping[str, xr.Dataset], model: pm.Model) -> None:
    """Warn of draws that are not to be trusted, naming the worst variable."""
    import arviz_stats  # noqa: F401  (the accessor)

    advice = "Raise tune and target_accept (0.95), or take a more informative prior"
    diverged = int(groups["sample_stats"]["diverging"].sum())
    if diverged:
        warnings.warn(f"{diverged} transitions diverged: the draws leave out part of the posterior. {advice}.",
                      ConvergenceWarning, stacklevel=3)  # fmt: skip
    sampled = groups["posterior"][[rv.name for rv in model.free_RVs]]
    rhat = {name: float(value.max()) for name, value in sampled.azstats.rhat().data_vars.items()}
    worst = max(rhat, key=lambda name: np.nan_to_num(rhat[name], nan=np.inf))
    if np.isnan(rhat[worst]):
        warnings.warn(f"R̂ of {worst} is unknown: it takes two chains, and draws that move.",
                      ConvergenceWarning, stacklevel=3)  # fmt: skip
    elif rhat[worst] > 1.01:
        warnings.warn(f"R̂ of {worst} is {rhat[worst]:.3f} (more than 1.01): the chains disagree. {advice}.",
                      ConvergenceWarning, stacklevel=3)  # fmt: skip
    for kind in ("bulk", "tail"):
        ess = {name: float(value.min()) for name, value in sampled.azstats.ess(method=kind).data_vars.items()}
        worst = min(ess, key=lambda name: np.nan_to_num(ess[name], nan=0))
        if not ess[worst] >= 400:
            warnings.warn(
                f"The effective sample size ({kind}) of {worst} is {ess[worst]:.0f} (less than 400): its figures are "
                "rough. Raise draws.", ConvergenceWarning, stacklevel=3)  # fmt: skip
            break


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PyMC from listing what it simulates, and from saying of the prior what is known of it."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The effect of Potentials", UserWarning)
            warnings.filterwarnings("ignore", "Numba will use object mode", UserWarning)
            yield
    finally:
        logger.setLevel(level)


def _shown(progressbar: bool) -> bool:
    return progressbar and (sys.stderr.isatty() or "ipykernel" in sys.modules)


# ── What comes with the posterior ──


def _around(
    groups: dict[str, xr.Dataset],
    model: pm.Model,
    module: Any,
    counts: xr.DataArray,
    options: Mapping[str, Any],
    seeds: Sequence[int],
) -> tuple[dict[str, xr.Dataset], str]:
    """Add the prior, predictions, observed data and log-likelihood; return why some are left out, too."""
    import pymc as pm

    left_out = ""
    prior = pm.sample_prior_predictive(draws=groups["posterior"].sizes["draw"], model=model, random_seed=seeds[0])
    groups |= {name: group.to_dataset() for name, group in prior.children.items()}
    tree = xr.DataTree.from_dict({"posterior": groups["posterior"]})
    if model.potentials:
        left_out = f"posterior_predictive, log_likelihood: {_POWER}"
        groups.pop("prior_predictive", None)
    else:
        predicted = pm.sample_posterior_predictive(tree, model=model, random_seed=seeds[1], progressbar=False)
        groups["posterior_predictive"] = predicted["posterior_predictive"].to_dataset()
        groups["observed_data"] = predicted["observed_data"].to_dataset()
        groups["log_likelihood"], left_out = _log_likelihood(tree, model, module, counts, options)
    pm.stats.compute_log_prior(tree, model=model, progressbar=False)
    groups["log_prior"] = tree["log_prior"].to_dataset()
    if hasattr(module, "recover"):
        rng = np.random.default_rng(seeds[2])
        for name, observed in {"posterior": counts, "prior": counts * 0}.items():
            drawn = module.recover(groups[name], observed, rng, **options)
            groups[name] = groups[name].assign(drawn)
    return {name: group for name, group in groups.items() if group.data_vars}, left_out


def _log_likelihood(
    tree: xr.DataTree, model: pm.Model, module: Any, counts: xr.DataArray, options: Mapping[str, Any]
) -> tuple[xr.Dataset, str]:
    if not hasattr(module, "log_likelihood"):
        import pymc as pm

        found = pm.compute_log_likelihood(tree, model=model, progressbar=False, extend_inferencedata=False)
        return found if isinstance(found, xr.Dataset) else found["log_likelihood"].to_dataset(), ""
    of_units = module.log_likelihood(tree["posterior"].to_dataset(), counts, **options)
    if of_units is None:
        return xr.Dataset(), "log_likelihood: draws × examples are more than 10⁷ values; sample fewer draws"
    return of_units.to_dataset(name="counts"), ""


# ── The tree ──


def _finished(
    groups: dict[str, xr.Dataset],
    model: pm.Model,
    counts: xr.DataArray,
    metrics: Sequence[str | Metric] | None,
    recorded: Mapping[str, Any],
    left_out: str,
) -> xr.DataTree:
    """Label every group, add the metrics, and record how the draws came about."""
    coords = {dim: np.array(values) for dim, values in model.coords.items() if values is not None}
    coords |= {str(dim): counts[dim].values for dim in counts.dims}
    positive = -1
    if "cells" in groups["posterior"]:
        labels = groups["posterior"].assign_coords(_of(coords, groups["posterior"]))["actual"].values.tolist()
        positive = labels.index(counts.attrs["pos_label"]) if "pos_label" in counts.attrs else -1
    for name, group in groups.items():
        group = group.assign_coords(_of(coords, group)).map(lambda variable: variable.drop_attrs())
        if name in ("posterior", "prior"):
            group = group.assign(_metrics(group, metrics, None if positive < 0 else positive))
        groups[name] = group
    if set(CELL_DIMS) <= set(counts.dims):
        observed = groups.get("observed_data", xr.Dataset()).drop_vars("counts", errors="ignore")
        groups["observed_data"] = observed.drop_dims("cell", errors="ignore").assign(counts=counts.drop_attrs())
        _unflatten(groups, counts)
    priors = priors_in_words(model)
    groups["posterior"].attrs = {
        "positive": positive,
        "prior": ", ".join(f"{name} ~ {words}" for name, words in priors.items()),
        "priors": json.dumps(priors, ensure_ascii=False),
        "independent_draws": int(recorded["method"] == "exact"),
        **recorded,
        **{f"{package}_version": version(package) for package in ("bayesperf", "pymc", "arviz")},
    }
    tree = xr.DataTree.from_dict(groups)
    if left_out:
        tree.attrs["left_out"] = left_out
    return tree


def _estimand(model: Any, options: Mapping[str, Any]) -> dict[str, str]:
    """Return what the cells are of, and why they cannot be predicted from."""
    if model == "markov":
        return {"estimand": sequences.ESTIMAND, "refusal": sequences.DEPENDENT}
    if isinstance(model, str) and "dim" in options:
        return {"estimand": f"Posterior of the metric at the population mean over {options['dim']}s", "refusal": ""}
    return {"estimand": Posterior.estimand, "refusal": ""}


def _of(coords: Mapping[str, Any], group: xr.Dataset) -> dict[str, Any]:
    """Return the coordinates of a group's own dims."""
    numbered = {dim: np.arange(group.sizes[dim]) for dim in ("chain", "draw") if dim in group.dims}
    return numbered | {dim: values for dim, values in coords.items() if dim in group.dims}


def _metrics(
    group: xr.Dataset, metrics: Sequence[str | Metric] | None, positive: int | None
) -> dict[str, xr.DataArray]:
    """Return the metrics of all cells: of the population, of these groups, of a new one."""
    found: dict[str, xr.DataArray] = {}
    for suffix in ("", "_group", "_new"):
        if f"cells{suffix}" not in group:
            continue
        cells = group[f"cells{suffix}"]
        labels = cells["actual"].values.tolist()
        names = table.headline(len(labels), positive is not None) if metrics is None else metrics
        dims = tuple(dim for dim in cells.dims if dim not in ("chain", "draw", *CELL_DIMS))
        wanted = [applicable(name, labels, positive, dims) for name in names]
        found |= {f"{metric.name}{suffix}": evaluate(metric, cells, positive) for metric in wanted}
    return {name: values for name, values in found.items() if name not in group}


def _unflatten(groups: dict[str, xr.Dataset], counts: xr.DataArray) -> None:
    """Give simulated tables, flat along ``cell``, the dims of the observed ones."""
    for name in ("prior_predictive", "posterior_predictive"):
        flat = groups.get(name, xr.Dataset()).get("counts")
        if flat is not None and "cell" in flat.dims:
            leading = [dim for dim in flat.dims if dim != "cell"]
            dims = [*leading, *(dim for dim in counts.dims if dim not in flat.dims)]
            shape = [flat.sizes[dim] if dim in flat.dims else counts.sizes[dim] for dim in dims]
            coords = {dim: (counts if dim in counts.dims else flat)[dim].values for dim in dims}
            groups[name] = xr.Dataset(
                {"counts": (dims, flat.transpose(*leading, "cell").values.reshape(shape))}, coords
            )


def priors_in_words(model: pm.Model) -> dict[str, str]:
    """Return each prior in words."""
    from pymc.printing import str_for_dist
    from pymc.pytensorf import constant_fold

    def in_words(rv: Any) -> str:
        parameters: Any = getattr(rv.owner.op, "dist_params", lambda _: [rv])(rv.owner)
        folded = constant_fold(parameters, raise_not_constant=False)
        if not all(isinstance(value, np.ndarray | np.number) for value in folded):
            return str(str_for_dist(rv)).partition(" ~ ")[2]
        distinct = [np.unique(value) if len(np.unique(value)) == 1 else np.ravel(value) for value in folded]
        named = ", ".join(" ".join(f"{number:g}" for number in value) for value in distinct)
        return f"{rv.owner.op._print_name[0]}({named})"

    return {rv.name: in_words(rv) for rv in model.free_RVs}


def _in_words(value: Any) -> Any:
    return value.values.tolist() if isinstance(value, xr.DataArray) else repr(value)
