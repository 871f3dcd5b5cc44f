"""Independent draws of the model `meta_analysis`: studies integrated out by quadrature, parameters by importance.

The five parameters (two means, two spreads, their correlation) are written as quantiles of their priors, and these as
normal deviates, so that the prior is a standard normal in every one of them, and the likelihood is bounded. Points of a
Sobol sequence, spread as a Student t about the posterior's mode and then about its moments, are weighted by the density
(quadrature over each study, `Pairs.log_likelihood`), and a quarter of them is drawn in proportion to the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr
from scipy import special
from scipy.optimize import minimize

from bayesperf.core.arrays import Array
from bayesperf.core.errors import ConvergenceWarning, warn
from bayesperf.models._logit_normal import RATES, Pairs

# Quadrature nodes of a study in each direction; points of the first proposal; points of the second for each draw.
_NODES, _FIRST, _FOR_A_DRAW = 5, 1024, 4
# Degrees of freedom of the proposals, whose tails are heavier than the posterior's; one point in ten is from a wider
# proposal.
_FREEDOM, _WIDE, _SHARE_OF_WIDE = 7.0, 2.5, 0.1
# Rounds in which a proposal is adapted, the effective share of its points with which it is adapted enough, and the
# smallest share with which draws are as good as independent.
_ROUNDS, _ENOUGH, _LEAST_SHARE = 6, 0.15, 0.1
# Step of the differences that approximate a slope.
_STEP = 1e-4
# Studies × points that are computed at once, which a processor's cache holds.
_BLOCK = 16_384
DEFAULTS = {"location": [0.0, 1.0], "spread": [0.0, 1.0], "correlation": [-1.0, 1.0]}
_SHAPES = {"location": (2,), "spread": (2,), "correlation": ()}
Transform = Callable[[Array], dict[str, Array]]


def prior_text() -> str:
    """Return the priors of `DEFAULTS` in words."""
    (middle, scale), (_, half), (low, high) = DEFAULTS.values()
    spread = f"spread ~ HalfNormal({half:g})"
    return f"location ~ Logistic({middle:g}, {scale:g}), {spread}, correlation ~ Uniform({low:g}, {high:g})"


def draws(
    data: xr.DataArray,
    parameters: Mapping[str, Array],
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    dim: str = "study",
    covariates: xr.DataArray | None = None,
    paired: bool = False,
    reference: xr.DataArray | None = None,
) -> dict[str, xr.DataArray]:
    """Return independent draws (chain, draw, …) of the parameters of `meta_analysis`, and the deviation of each study.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (…, study, actual, predicted) of two classes; the attribute ``pos_label`` is the positive one.
    parameters : mapping
        Parameters of the priors by name, along the last axis: mean and scale of the logistic ``location``, 0 and the
        scale of the half-normal ``spread``, the ends of the uniform ``correlation``; see `DEFAULTS`.
    rngs : sequence of numpy.random.Generator
        One for each system.
    size : tuple of two int
        Chains and draws.
    dim, covariates, paired, reference
        The options of the model.

    Raises
    ------
    NotImplementedError
        If there are covariates, tests are paired, or references err.

    Warns
    -----
    ConvergenceWarning
        If few of the points carry the weight.
    """
    inexact = {"paired tests": paired, "covariates of studies": covariates is not None,
               "imperfect references": reference is not None}  # fmt: skip
    for what, is_asked in inexact.items():
        if is_asked:
            raise NotImplementedError(f"method='exact': {what} have no exact form. Use method='mcmc'.")
    successes, trials = (each.transpose(..., dim, "rate") for each in rates_of_studies(data))
    systems, studies = successes.dims[:-2], data[dim].values
    shape = successes.shape[:-2]
    given = {name: np.asarray(parameters.get(name, default), float) for name, default in DEFAULTS.items()}
    priors = {
        name: np.broadcast_to(values, (*shape, *_SHAPES[name], 2)).reshape(-1, *_SHAPES[name], 2)
        for name, values in given.items()
    }
    flat = (each.values.reshape(-1, len(studies), 2).astype(float) for each in (successes, trials))
    each = [
        _system(k, n, {name: prior[i] for name, prior in priors.items()}, rng, int(np.prod(size)))
        for i, (k, n, rng) in enumerate(zip(*flat, rngs, strict=True))
    ]
    dims = {"location": ("rate",), "spread": ("rate",), "correlation": (), "deviation": (dim, "rate")}
    drawn = {}
    for name, own in dims.items():
        values = np.stack([system[name] for system in each])
        shaped = values.reshape(*shape, *size, *values.shape[2:])
        coords = {"rate": RATES, dim: studies}
        labelled = xr.DataArray(shaped, {d: coords[d] for d in own}, (*systems, "chain", "draw", *own))
        drawn[name] = labelled.transpose("chain", "draw", ...)
    return drawn


def rates_of_studies(counts: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the successes and the trials of recall and specificity, along a last dim ``rate``."""
    rows = xr.DataArray(rows_of_rates(counts), {"rate": RATES}, ["rate"])
    totals = counts.sum("predicted").isel(actual=rows)
    return counts.isel(actual=rows, predicted=rows), totals


def rows_of_rates(counts: xr.DataArray) -> list[int]:
    """Return the positions of the positive and of the negative class: their examples are the trials of the rates."""
    positive = counts["actual"].values.tolist().index(counts.attrs["pos_label"])
    return [positive, 1 - positive]


def _system(
    successes: Array, trials: Array, priors: Mapping[str, Array], rng: np.random.Generator, n: int
) -> dict[str, Array]:
    """Return n draws of one system, from its counts (study, rate)."""
    point = sampled(successes, trials, priors, rng, n)
    pairs = Pairs(
        successes, trials, point["location"][:, None], point["spread"][:, None], point["correlation"][:, None]
    )
    return point | {"deviation": pairs.draw(rng)}


def sampled(
    successes: Array, trials: Array, priors: Mapping[str, Array], rng: np.random.Generator, n: int
) -> dict[str, Array]:
    """Return n draws of the parameters of one system."""

    def log_density(u: Array) -> Array:
        return np.asarray(log_likelihood(successes, trials, from_normal(u, priors)) - (u**2).sum(-1) / 2)

    def value_and_slope(u: Array) -> tuple[float, Array]:
        # All differences at once: for one point alone the loops of NumPy take most of the time.
        values = -log_density(u + _STEP * np.eye(6, 5, -1))
        return float(values[0]), (values[1:] - values[0]) / _STEP

    centre = minimize(value_and_slope, np.zeros(5), method="BFGS", jac=True, options={"gtol": 1e-3})
    middle, root = _adapted(log_density, centre.x, np.linalg.cholesky(np.asarray(centre.hess_inv)), rng)
    number = 2 ** int(np.ceil(np.log2(_FOR_A_DRAW * n)))
    points, log_weights = _weighted(log_density, middle, root, rng, number)
    share = special.softmax(log_weights)
    if (effective := _effective(share)) < _LEAST_SHARE:
        warn(
            ConvergenceWarning,
            "BP304",
            f"an effective share of only {effective:.1%} of the points carries the weight of the posterior, so the "
            "draws are few different ones. Sample the model: bp.fit(cm, 'meta_analysis', method='mcmc').",
        )
    levels = (np.arange(n) + rng.random(n)) / n
    chosen = rng.permutation(np.minimum(np.searchsorted(np.cumsum(share), levels), number - 1))
    return from_normal(points[chosen], priors)


def _adapted(
    log_density: Callable[[Array], Array], middle: Array, root: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the moments of the density (the mean, and a root of the covariance) by rounds of weighted points.

    While few points carry the weight, the weights are flattened, so that the next proposal is wide.
    """
    for _ in range(_ROUNDS):
        points, log_weights = _weighted(log_density, middle, root, rng, _FIRST)
        share, power = special.softmax(log_weights), 1.0
        while _effective(share) < _ENOUGH:
            power *= 0.7
            share = special.softmax(power * log_weights)
        middle = share @ points
        root = np.linalg.cholesky((points - middle).T @ ((points - middle) * share[:, None]))
        if power == 1:
            break
    return middle, root


def _effective(share: Array) -> float:
    """Return the effective share of weighted points."""
    return float(1 / (share**2).sum() / len(share))


def _weighted(
    log_density: Callable[[Array], Array], centre: Array, root: Array, rng: np.random.Generator, number: int
) -> tuple[Array, Array]:
    """Return points (number, 5) of two Student t about the centre, one of them wide, and the logs of their weights."""
    from scipy.stats import qmc

    levels = qmc.Sobol(7, rng=rng).random(number)
    normal = special.ndtri(np.clip(levels[:, :5], 1e-12, 1 - 1e-12))
    scale = np.sqrt(_FREEDOM / special.chdtri(_FREEDOM, np.clip(levels[:, 5], 1e-12, 1)))
    width, share = np.array([1.0, _WIDE]), np.array([1 - _SHARE_OF_WIDE, _SHARE_OF_WIDE])
    deviates = normal * (scale * width[(levels[:, 6] < _SHARE_OF_WIDE).astype(int)])[:, None]
    square = (deviates**2).sum(-1, keepdims=True) / (_FREEDOM * width**2)
    log_proposal = special.logsumexp(-(_FREEDOM + 5) / 2 * np.log1p(square), b=share / width**5, axis=-1)
    points = centre + deviates @ root.T
    return points, log_density(points) - log_proposal


def from_normal(u: Array, priors: Mapping[str, Array]) -> dict[str, Array]:
    """Return parameters whose quantiles under their priors are those of normal deviates (…, 5)."""
    (middle, scale), (_, half), (low, high) = (np.moveaxis(priors[name], -1, 0) for name in _SHAPES)
    return {
        "location": middle + scale * (special.log_ndtr(u[..., :2]) - special.log_ndtr(-u[..., :2])),
        "spread": -half * special.ndtri(special.ndtr(-u[..., 2:4]) / 2),
        "correlation": low + (high - low) * special.ndtr(u[..., 4]),
    }


def log_likelihood(successes: Array, trials: Array, point: Mapping[str, Array]) -> Array:
    """Return the log-likelihood (…,) of the counts (study, rate) at parameters (…,), with studies integrated out."""
    of_study = {name: np.expand_dims(point[name], -1 if name == "correlation" else -2) for name in _SHAPES}
    blocks = range(0, len(point["correlation"]), max(_BLOCK // len(trials), 1))
    parts = [{name: values[start : start + blocks.step] for name, values in of_study.items()} for start in blocks]
    return np.concatenate([Pairs(successes, trials, **part).log_likelihood(_NODES).sum(-1) for part in parts])
