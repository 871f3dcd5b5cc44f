"""The NUTS samplers: their settings, their draws, and warnings about draws that did not converge."""

from __future__ import annotations

import inspect
import logging
import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.errors import ConvergenceWarning, InputError, InputTypeError, warn
from bayesperf.posteriors.tree_attributes import SAMPLER, SAMPLER_VERSION
from bayesperf.sampling import backend
from bayesperf.sampling.interrupts import load

if TYPE_CHECKING:
    import pymc as pm

SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")
# Settings of the samplers that a fit makes itself, with what the caller says instead or why there is no choice.
SETTINGS_OF_FIT = {
    "prior": "say priors",
    "sampler": "say nuts_sampler",
    "seed": "say random_seed",
    "progress_bar": "say progressbar",
    "quiet": "say progressbar",
    "save_warmup": "the draws of tuning are not kept",
    "discard_tuned_samples": "the draws of tuning are not kept",
    "blocking": "it waits for the draws",
    "return_raw_trace": "it returns a DataTree",
    "return_inferencedata": "it returns a DataTree",
}
# Settings that `pymc.sample` alone takes, which then compiles the model for nutpie, too.
OF_PYMC = {"compile_kwargs", "idata_kwargs"}


def target_accept(module: Any) -> float:
    """Return the acceptance rate that a model's file declares, or 0.95.

    The samplers' own default is 0.8. Above it steps are smaller: hierarchical models diverge less, and take little
    longer.
    """
    return float(getattr(module, "TARGET_ACCEPT", 0.95))


def check(settings: Mapping[str, Any]) -> None:
    """Refuse unknown samplers, settings that a fit makes itself, and settings that `pymc.sample` would ignore."""
    sampler = checks.one_of("nuts_sampler", settings.get("nuts_sampler", SAMPLERS[0]), SAMPLERS)
    if taken := [name for name in settings if name in SETTINGS_OF_FIT]:
        raise InputTypeError(taken[0], f"is not for the caller of a fit to set: {SETTINGS_OF_FIT[taken[0]]}.")
    if sampler == "pymc":
        import pymc as pm

        functions = [pm.sample, *(kind.__init__ for kind in pm.NUTS.__mro__)]
        parameters = {"nuts", *(name for function in functions for name in inspect.signature(function).parameters)}
        if unknown := [name for name in settings if name not in parameters]:
            raise InputTypeError(unknown[0], backend.unknown_setting(sampler))


def sample(
    model: pm.Model,
    sizes: Mapping[str, int],
    seed: int,
    progressbar: bool = False,
    key: Hashable | None = None,
    **settings: Any,
) -> tuple[dict[str, str], dict[str, xr.Dataset]]:
    """Return the name and version of the sampler, and the groups posterior and sample_stats.

    Under a key (`compilation_key`) the compiled form of the model is kept.
    """
    sampler = settings.pop("nuts_sampler", SAMPLERS[0])
    settings = {**sizes, **settings}
    shown = progressbar and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    initvals = _checked_initvals(model, settings.get("initvals"), sampler)
    missing = ready = None
    if sampler == "nutpie" and not OF_PYMC & settings.keys():
        with announced("Compiling (once on this machine)", shown and not backend.is_kept(key)):
            missing = backend.unmet()
            ready = None if missing else backend.compiled(model, key)
    if missing:
        _warn_of_missing(missing)
    try:
        if ready is None:
            groups = _sample_by_pymc(model, sampler, settings, seed, shown)
        else:
            own = {name: value for name, value in settings.items() if name != "initvals"}
            groups = backend.sample_compiled(backend.started(ready, model, initvals), own, seed, shown)
    except RuntimeError as error:
        _refuse_start(model, initvals, error)
        raise
    labels = {dim: list(values) for dim, values in model.coords.items() if dim in groups["posterior"].dims and values}
    groups["posterior"] = groups["posterior"].assign_coords(labels)
    groups["sample_stats"] = groups["sample_stats"].drop_vars("divergence_message", errors="ignore")
    return {SAMPLER: sampler, SAMPLER_VERSION: version(sampler)}, groups


def _checked_initvals(model: pm.Model, initvals: Any, sampler: str) -> Mapping[str, Any]:
    """Return where a chain starts, the first one if each has its own; refuse variables that the model has not."""
    each = [{}] if initvals is None else [initvals] if isinstance(initvals, Mapping) else list(initvals)
    if len(each) > 1 and sampler == "nutpie":
        raise InputTypeError(
            "initvals", "must be one mapping for all chains of nutpie.", "Say nuts_sampler='pymc', which takes several."
        )
    free = [variable.name for variable in model.free_RVs]
    if unknown := [name for start in each for name in start or {} if name not in free]:
        raise InputError(
            "initvals", f"the model has no free variable {unknown[0]!r}; it has {', '.join(map(repr, free))}."
        )
    return each[0] or {}


def _refuse_start(model: pm.Model, initvals: Mapping[str, Any], cause: Exception) -> None:
    """Refuse a model whose density is 0 or unknown where sampling starts, naming the variables by which it is."""
    if impossible := backend.impossible_at_start(model, initvals):
        variables = ", ".join(f"{name!r} is {value:g}" for name, value in impossible.items())
        raise InputError(
            "model",
            f"its density is 0 or unknown where sampling starts: the log density of {variables}.",
            "See whether its data are possible under its priors, or start elsewhere by initvals={'name': value}.",
        ) from cause


def _sample_by_pymc(
    model: pm.Model, sampler: str, settings: Mapping[str, Any], seed: int, shown: bool
) -> dict[str, xr.Dataset]:
    """Return the groups posterior and sample_stats of `pymc.sample`."""
    import pymc as pm

    own = inspect.signature(pm.sample).parameters
    if sampler == "nutpie":  # Settings of its own are given apart.
        of_nutpie = {name: value for name, value in settings.items() if name not in own}
        settings = {name: value for name, value in settings.items() if name in own} | {"nuts": of_nutpie}
    given = {**settings, "random_seed": seed, "progressbar": shown, "nuts_sampler": sampler, "quiet": not shown}
    tree = pm.sample(model=model, **given)
    return {name: tree[name].to_dataset() for name in ("posterior", "sample_stats")}


def _warn_of_missing(row: str) -> None:
    warn(
        UserWarning,
        "BP707",
        "This fit is sampled by pymc.sample(nuts_sampler='nutpie'), which compiles every time and is slower; its "
        f"figures are the same within Monte Carlo error. {backend.missing_in_words(row)}",
    )


@contextmanager
def announced(work: str, shown: bool) -> Iterator[None]:
    """Say what is being done, on a terminal for as long as it takes."""
    if not shown:
        yield
    elif sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(work):
            yield
    else:  # In a notebook without ipywidgets, rich would warn of them at every turn.
        print(f"{work} …", flush=True)
        yield


def warn_of_convergence(groups: Mapping[str, xr.Dataset], model: pm.Model) -> None:
    """Warn of divergences, chains that disagree and small effective sample sizes, naming the worst variable."""
    import arviz_stats  # noqa: F401  (the accessor)

    advice = "Raise tune and target_accept (0.99), or take a more informative prior"
    diverged = int(groups["sample_stats"]["diverging"].sum())
    if diverged:
        transitions = f"{diverged} transition{'s' * (diverged > 1)} diverged"
        warn(ConvergenceWarning, "BP301", f"{transitions}: the draws leave out part of the posterior. {advice}.")
    sampled = groups["posterior"][[rv.name for rv in model.free_RVs]]
    rhat = {name: float(value.max()) for name, value in sampled.azstats.rhat().data_vars.items()}
    worst = max(rhat, key=lambda name: np.nan_to_num(rhat[name], nan=np.inf))
    if np.isnan(rhat[worst]):
        warn(ConvergenceWarning, "BP302", f"R̂ of {worst} is unknown: it takes two chains, and draws that move.")
    elif rhat[worst] > 1.01:
        warn(
            ConvergenceWarning,
            "BP302",
            f"R̂ of {worst} is {rhat[worst]:.4f} (more than 1.01): the chains disagree. {advice}.",
        )
    for kind in ("bulk", "tail"):
        ess = {name: float(value.min()) for name, value in sampled.azstats.ess(method=kind).data_vars.items()}
        worst = min(ess, key=lambda name: np.nan_to_num(ess[name], nan=0))
        if not ess[worst] >= 400:
            warn(
                ConvergenceWarning,
                "BP303",
                f"The effective sample size ({kind}) of {worst} is {ess[worst]:.0f} (less than 400): its figures are "
                "rough. Raise draws.",
            )
            break


@contextmanager
def quiet() -> Iterator[None]:
    """Silence PyMC's list of simulated variables, and its warnings about potentials and object mode."""
    load("pytensor", "arviz_stats", "pymc")  # PyMC sets the level when it is loaded.

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
