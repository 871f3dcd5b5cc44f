"""The NUTS samplers: their settings, their draws, and warnings about draws that did not converge."""

from __future__ import annotations

import inspect
import logging
import sys
import threading
import timeit
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputTypeError
from bayesperf.core.warnings import PACKAGE, ConvergenceWarning
from bayesperf.sampling.compiled import CompiledModel, compiled, is_kept
from bayesperf.sampling.interrupts import load

if TYPE_CHECKING:
    import pymc as pm

SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")
# Densities that take less than this are called by one chain after the other.
LEAST_SECONDS = 1e-4
# Settings of the samplers that a fit makes itself, with what the caller says instead or why there is no choice.
SETTINGS_OF_FIT = {
    "seed": "say random_seed",
    "progress_bar": "say progressbar",
    "quiet": "say progressbar",
    "save_warmup": "the draws of tuning are not kept",
    "discard_tuned_samples": "the draws of tuning are not kept",
    "blocking": "it waits for the draws",
    "return_raw_trace": "it returns a DataTree",
    "return_inferencedata": "it returns a DataTree",
}


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
        raise InputTypeError("", f"{taken[0]!r} is not for the caller of a fit to set: {SETTINGS_OF_FIT[taken[0]]}.")
    if sampler == "pymc":
        import pymc as pm

        functions = [pm.sample, *(kind.__init__ for kind in pm.NUTS.__mro__)]
        parameters = {"nuts", *(name for function in functions for name in inspect.signature(function).parameters)}
        if unknown := [name for name in settings if name not in parameters]:
            raise InputTypeError("", _unknown(unknown[0], sampler))


def _unknown(setting: str, sampler: str) -> str:
    return f"{setting!r} is no argument of bayesperf.fit, nor a setting of its sampler, {sampler}."


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
    if sampler == "nutpie":
        with announced("Compiling (once on this machine)", shown and not is_kept(key)):
            ready = compiled(model, key)
        groups = sample_compiled(ready, settings, seed, shown)
    else:
        import pymc as pm

        settings |= {"random_seed": seed, "progressbar": shown, "nuts_sampler": sampler, "quiet": not shown}
        tree = pm.sample(model=model, **settings)
        groups = {name: tree[name].to_dataset() for name in ("posterior", "sample_stats")}
    labels = {dim: list(values) for dim, values in model.coords.items() if dim in groups["posterior"].dims and values}
    groups["posterior"] = groups["posterior"].assign_coords(labels)
    groups["sample_stats"] = groups["sample_stats"].drop_vars("divergence_message", errors="ignore")
    return {"sampler": sampler, "sampler_version": version(sampler)}, groups


@contextmanager
def announced(work: str, shown: bool) -> Iterator[None]:
    """Say what is being done, for as long as it takes."""
    if not shown:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(work):
        yield


def sample_compiled(
    model: CompiledModel, settings: Mapping[str, Any], seed: int, progressbar: bool = False
) -> dict[str, xr.Dataset]:
    """Sample a compiled model by nutpie; return the groups posterior, without labels, and sample_stats."""
    load("nutpie")
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    data, stopped = tuple(model.data.values()), threading.Event()

    def density(point: Array) -> tuple[float, Array]:
        if stopped.is_set():
            return np.nan, point
        value, slope = model.density(point, *data)
        return float(value), slope

    settings = {"cores": _cores(density, model.start), **settings}
    of_nutpie = from_pyfunc(
        len(model.start),
        make_logp_fn=lambda: density,
        make_expand_fn=lambda *_: lambda point: {"point": point},
        expanded_dtypes=[np.dtype(float)],
        expanded_shapes=[model.start.shape],
        expanded_names=["point"],
        # As PyMC starts: next to the middle of the prior.
        make_initial_point_fn=lambda seed: model.start + np.random.default_rng(seed).uniform(-1, 1, len(model.start)),
    )
    try:
        running = nutpie.sample(
            of_nutpie, **settings, seed=seed, progress_bar=progressbar, save_warmup=False, blocking=False
        )
    except AttributeError as error:
        unknown = str(error).removeprefix("Unknown settings attribute: ")
        if unknown not in settings:
            raise
        raise InputTypeError("", _unknown(unknown, "nutpie")) from None
    try:
        tree = running.wait()
    except BaseException:  # What was drawn until then is no sample of the posterior.
        stopped.set()  # A chain is cancelled when its trajectory has ended: here, at the next point.
        running.cancel()
        raise
    points = tree["posterior"]["point"].values
    values = model.variables(points.reshape(-1, points.shape[-1]), *data)
    each = zip(model.dims.items(), values, strict=True)
    posterior = {
        name: (("chain", "draw", *dims), value.reshape(*points.shape[:2], *value.shape[1:]))
        for (name, dims), value in each
    }
    return {"posterior": xr.Dataset(posterior), "sample_stats": tree["sample_stats"].to_dataset()}


def _cores(density: Callable[[Array], Any], point: Array) -> int | None:
    """Return 1 where chains would wait for each other, to call a density, for longer than it takes; else None, all."""
    return 1 if min(timeit.repeat(lambda: density(point), number=1, repeat=5)) < LEAST_SECONDS else None


def warn(groups: Mapping[str, xr.Dataset], model: pm.Model) -> None:
    """Warn of divergences, chains that disagree and small effective sample sizes, naming the worst variable."""
    import arviz_stats  # noqa: F401  (the accessor)

    advice = "Raise tune and target_accept (0.99), or take a more informative prior"
    diverged = int(groups["sample_stats"]["diverging"].sum())
    if diverged:
        warnings.warn(f"{diverged} transitions diverged: the draws leave out part of the posterior. {advice}.",
                      ConvergenceWarning, skip_file_prefixes=(PACKAGE,))  # fmt: skip
    sampled = groups["posterior"][[rv.name for rv in model.free_RVs]]
    rhat = {name: float(value.max()) for name, value in sampled.azstats.rhat().data_vars.items()}
    worst = max(rhat, key=lambda name: np.nan_to_num(rhat[name], nan=np.inf))
    if np.isnan(rhat[worst]):
        warnings.warn(f"R̂ of {worst} is unknown: it takes two chains, and draws that move.",
                      ConvergenceWarning, skip_file_prefixes=(PACKAGE,))  # fmt: skip
    elif rhat[worst] > 1.01:
        warnings.warn(f"R̂ of {worst} is {rhat[worst]:.3f} (more than 1.01): the chains disagree. {advice}.",
                      ConvergenceWarning, skip_file_prefixes=(PACKAGE,))  # fmt: skip
    for kind in ("bulk", "tail"):
        ess = {name: float(value.min()) for name, value in sampled.azstats.ess(method=kind).data_vars.items()}
        worst = min(ess, key=lambda name: np.nan_to_num(ess[name], nan=0))
        if not ess[worst] >= 400:
            warnings.warn(
                f"The effective sample size ({kind}) of {worst} is {ess[worst]:.0f} (less than 400): its figures are "
                "rough. Raise draws.", ConvergenceWarning, skip_file_prefixes=(PACKAGE,))  # fmt: skip
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
