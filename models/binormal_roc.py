"""The binormal ROC curve: scores that are normally distributed in each class.

    score | negative ~ Normal(μ_0, σ_0)
    score | positive ~ Normal(μ_1, σ_1)

An example is predicted positive if its score is at least a threshold. As the threshold varies, recall and false
positive rate trace the curve

    recall = Φ(a + b Φ⁻¹(fpr)),    a = (μ_1 − μ_0)/σ_1,    b = σ_0/σ_1,    AUC = Φ(a/√(1 + b²))

which is invariant under increasing transformations of the scores. It is therefore sufficient that some increasing
function makes the scores of both classes normal, but this function must be applied first: probabilities, which
concentrate near 0 and 1, should be given as their log-odds. If the assumption is violated, the curve is wrong however
many scores there are; compare its area with the empirical one.

The scores are measured in units of the standard deviation within a class (the root of the mean of both variances),
relative to the midpoint between the class means. In these units, for each class,

    precision = 1/σ² ~ Gamma(1, 1)
    offset    = μ/σ  ~ Normal(0, 1)

The prior has the weight of one example of each class for the means and of two for the variances, and it makes the AUC
uniform: given both σ, μ_1 − μ_0 ~ Normal(0, √(σ_0² + σ_1²)), so a/√(1 + b²) ~ Normal(0, 1). The posterior is
normal-gamma (`exact`).

The mean and the scatter of each class are sufficient statistics of its scores:

    score_mean    ~ Normal(μ, σ/√n)
    score_scatter ~ σ² χ²_{n−1}

The model has the variables `mean` and `spread` (μ and σ in the units of the scores), `a`, `b` and `auc`. It has no
cells, because there is no threshold.

Source: Dorfman & Alf (1969), Journal of Mathematical Psychology 6; for the posterior, Gelman et al. (2013), Bayesian
Data Analysis, section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import ndtr
from scipy.stats import norm

from bayesperf.models.building import MOST_VALUES, conjugate_parameters, prior_variables

DATA = "scores of two classes"
CLASSES = ["negative", "positive"]
PRIORS = {"precision": pm.Gamma.dist(1, 1), "offset": pm.Normal.dist(0, 1)}


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None) -> pm.Model:
    """Return the model of scores.

    Parameters
    ----------
    data : xarray.DataArray
        Scores along a dim ``positive``, labelled True for examples of the positive class; at least two of each class.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    """
    scores = _sufficient(data)
    variable = prior_variables(PRIORS, priors)
    with pm.Model(coords={"actual": CLASSES}) as model:
        precision, offset = (variable(name, ["actual"]) for name in PRIORS)
        spread = 1 / pm.math.sqrt(precision)
        mean = offset * spread

        n = pm.Data("examples", scores.examples, dims="actual")
        means = pm.Data("score_mean_data", scores.mean, dims="actual")
        pm.Normal("score_mean", mu=mean, sigma=spread / pm.math.sqrt(n), observed=means, dims="actual")
        scatter = pm.Data("score_scatter_data", scores.scatter, dims="actual")
        pm.Gamma("score_scatter", alpha=(n - 1) / 2, beta=precision / 2, observed=scatter, dims="actual")

        middle, unit = pm.Data("middle", scores.middle), pm.Data("unit", scores.unit)
        pm.Deterministic("mean", middle + unit * mean, dims="actual")
        pm.Deterministic("spread", unit * spread, dims="actual")
        a, b = _curve(mean, spread)
        pm.Deterministic("a", a)
        pm.Deterministic("b", b)
        pm.Deterministic("auc", pm.math.invprobit(a / pm.math.sqrt(1 + b**2)))
    return model


class _Sufficient(NamedTuple):
    """Number, mean and scatter of the scores of each class, (2,), in units of `unit` relative to `middle`."""

    examples: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    middle: float
    unit: float


def _sufficient(data: xr.DataArray) -> _Sufficient:
    # A power of two changes no digit, and squares of tiny or huge scores neither vanish nor overflow.
    scale = 2.0 ** np.frexp(np.abs(data.values).max())[1]
    of_class = [data.values[data["positive"].values == label] / scale for label in (False, True)]
    examples = np.array([float(len(scores)) for scores in of_class])
    mean = np.array([scores.mean() for scores in of_class])
    scatter = np.array([((scores - scores.mean()) ** 2).sum() for scores in of_class])
    middle, unit = mean.mean(), np.sqrt((scatter / (examples - 1)).mean())
    return _Sufficient(examples, (mean - middle) / unit, scatter / unit**2, float(middle * scale), float(unit * scale))


def _curve(mean: Any, spread: Any) -> tuple[Any, Any]:
    """Return a and b for means and standard deviations (…, class), which are arrays or tensors."""
    return (mean[..., 1] - mean[..., 0]) / spread[..., 1], spread[..., 0] / spread[..., 1]


def exact(
    data: xr.DataArray, priors: Mapping[str, Any] | None, rngs: Sequence[np.random.Generator], size: tuple[int, int]
) -> dict[str, xr.DataArray]:
    """Return draws (chain, draw) from the normal-gamma posteriors."""
    prior = PRIORS | dict(priors or {})
    shape, scale = np.moveaxis(conjugate_parameters("precision", prior["precision"], "gamma"), -1, 0)
    center, sd = np.moveaxis(conjugate_parameters("offset", prior["offset"], "normal"), -1, 0)
    if np.any(center != 0):
        raise NotImplementedError("priors: method='exact' needs a prior of 'offset' with mean 0. Use method='mcmc'.")
    weight = 1 / sd**2
    n, mean, scatter, middle, unit = _sufficient(data)
    rate = 1 / scale + scatter / 2 + n * weight / (n + weight) * mean**2 / 2
    precision = rngs[0].gamma(shape + n / 2, 1 / rate, (*size, 2))
    spread = 1 / np.sqrt(precision)
    location = rngs[0].normal(n * mean / (n + weight), spread / np.sqrt(n + weight))
    a, b = _curve(location, spread)
    of_class = {"precision": precision, "offset": location / spread, "mean": middle + unit * location,
                "spread": unit * spread}  # fmt: skip
    of_curve = {"a": a, "b": b, "auc": ndtr(a / np.sqrt(1 + b**2))}
    return {
        **{name: xr.DataArray(values, dims=("chain", "draw", "actual")) for name, values in of_class.items()},
        **{name: xr.DataArray(values, dims=("chain", "draw")) for name, values in of_curve.items()},
    }


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray | None:
    """Return the log-likelihood of each score; None if there are too many."""
    mean, spread = (posterior[name].transpose("chain", "draw", "actual").values for name in ("mean", "spread"))
    if mean[..., 0].size * data.size > MOST_VALUES:
        return None
    label = data["positive"].values.astype(int)
    values = norm.logpdf(data.values, mean[..., label], spread[..., label])
    return xr.DataArray(values, dims=("chain", "draw", "example"))
