"""The sampler: its settings, its draws, and whether they are to be trusted."""

from __future__ import annotations

import inspect
import logging
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core import checks as _checks
from bayesperf.core.warnings import ConvergenceWarning
from bayesperf.sampling import compiled as _compiled

if TYPE_CHECKING:
    import pymc as pm

SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")
# Settings that are not the caller's, and what says the same.
_OURS = {
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
    """Return how large a model's steps are.

    By default smaller than the samplers' own, 0.8: hierarchical models diverge less, and take little longer.
    """
    return float(getattr(module, "TARGET_ACCEPT", 0.95))


def check(settings: Mapping[str, Any]) -> None:
    """Refuse samplers that there are not, settings that a fit makes itself, and such as `pymc.sample` would ignore."""
    sampler = _checks.one_of("nuts_sampler", settings.get("nuts_sampler", SAMPLERS[0]), SAMPLERS)
    if taken := [name for name in settings if name in _OURS]:
        raise TypeError(f"{taken[0]!r} is not for the caller of a fit to set: {_OURS[taken[0]]}.")
    if sampler == "pymc":
        import pymc as pm

        takers = [pm.sample, *(kind.__init__ for kind in pm.NUTS.__mro__)]
        known = {"nuts", *(name for taker in takers for name in inspect.signature(taker).parameters)}
        if unknown := [name for name in settings if name not in known]:
            raise TypeError(_unknown(unknown[0], sampler))


def _unknown(setting: str, sampler: str) -> str:
    return f"{setting!r} is no argument of bayesperf.fit, nor a setting of its sampler, {sampler}."


def sample(
    model: pm.Model, sizes: Mapping[str, int], seed: int, progressbar: bool = False, **settings: Any
) -> tuple[dict[str, str], dict[str, xr.Dataset]]:
    """Return what sampled, and the groups posterior and sample_stats."""
    sampler = settings.pop("nuts_sampler", SAMPLERS[0])
    settings = {**sizes, **settings}
    shown = progressbar and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if sampler == "nutpie":
        tree = sample_compiled(_compiled.compiled(model), settings, seed, shown)
    else:
        import pymc as pm

        settings |= {"random_seed": seed, "progressbar": shown, "nuts_sampler": sampler, "quiet": not shown}
        tree = pm.sample(model=model, **settings)
    groups = {name: tree[name].to_dataset() for name in ("posterior", "sample_stats")}
    # The labels are those of the model that was compiled first.
    labels = {dim: list(values) for dim, values in model.coords.items() if dim in groups["posterior"].dims and values}
    groups["posterior"] = groups["posterior"].assign_coords(labels)
    groups["sample_stats"] = groups["sample_stats"].drop_vars("divergence_message", errors="ignore")
    return {"sampler": sampler, "sampler_version": version(sampler)}, groups


def sample_compiled(compiled: Any, settings: Mapping[str, Any], seed: int, progressbar: bool = False) -> xr.DataTree:
    """Sample a model that nutpie compiled."""
    import nutpie

    try:
        tree: xr.DataTree = nutpie.sample(compiled, **settings, seed=seed, progress_bar=progressbar, save_warmup=False)
        return tree
    except AttributeError as error:
        unknown = str(error).removeprefix("Unknown settings attribute: ")
        if unknown not in settings:
            raise
        raise TypeError(_unknown(unknown, "nutpie")) from None


def warn(groups: Mapping[str, xr.Dataset], model: pm.Model) -> None:
    """Warn of draws that are not to be trusted, naming the worst variable."""
    import arviz_stats  # noqa: F401  (the accessor)

    advice = "Raise tune and target_accept (0.99), or take a more informative prior"
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
