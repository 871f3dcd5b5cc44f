"""How often intervals for a rate that differs between sites cover.

The logit of a site's recall is normal about that of `base_rate`, which is not the model's own population; each
simulation draws sites and their counts. There are two targets: the mean recall of the population of sites, and the
recall of a new site, of which each simulation contributes the probability that it is inside (below, above). The
intervals are those of `bayesperf.pool` (of its mean and of its new group), from the quadrature behind it and not from
its draws, and those of the Beta posterior of the summed counts under a flat prior, as if all sites had one rate. They
are equal-tailed.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.distributions.beta_binomial import BetaBinomial, posterior
from bayesperf.groups.group_quadrature import DISPERSION
from bayesperf.studies.running import OUTCOMES
from validation.study import Study, interval_figures, table

# Halvings of the interval that brackets a quantile.
_HALVINGS = 24


def simulate(
    rng: np.random.Generator,
    *,
    n_groups: int,
    group_size: int,
    base_rate: float,
    logit_sd: float,
    groups: str,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, target) of so many sites of so many positive examples."""
    centre, levels = special.logit(base_rate), np.array([[(1 - prob) / 2, (1 + prob) / 2]])
    k = rng.binomial(group_size, special.expit(rng.normal(centre, logit_sd, n_groups)))
    lower, upper = np.moveaxis(_intervals(k, group_size, DISPERSION[groups], levels), -1, 0)
    of_mean = interval_figures(lower, upper, true_mean(base_rate, logit_sd))
    of_new_site = _new_site_outcomes(lower, upper, centre, logit_sd)
    return {name: np.stack([of_mean[name][:, 0], of_new_site[name][:, 1]], -1) for name in OUTCOMES}


def true_mean(base_rate: float, logit_sd: float) -> float:
    """Return the mean recall of the population of sites."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    return float((special.expit(special.logit(base_rate) + logit_sd * nodes) * weights).sum() / weights.sum())


def _new_site_outcomes(lower: Array, upper: Array, centre: float, spread: float) -> dict[str, Array]:
    """Return the probabilities of each of `OUTCOMES` for the recall of a new site, and the width."""
    below_lower, below_upper = (special.ndtr((special.logit(bound) - centre) / spread) for bound in (lower, upper))
    probabilities = below_upper - below_lower, below_lower, 1 - below_upper
    return dict(zip(OUTCOMES, (*probabilities, upper - lower), strict=True))


def _intervals(successes: NDArray[np.integer], size: int, dispersion: tuple[float, float], levels: Array) -> Array:
    """Return each interval for each target, (interval, target, 2), from the successes of each site."""
    model = posterior(successes[None].astype(float), np.full((1, len(successes)), float(size)), dispersion)
    right, trials = successes.sum(), size * len(successes)
    pooled = special.betaincinv(1 + right, 1 + trials - right, levels)
    return np.stack([model.mean.ppf(levels), new_group_quantiles(model, levels), pooled, pooled]).reshape(2, 2, 2)


def new_group_quantiles(model: BetaBinomial, levels: Array) -> Array:
    """Return quantiles of a new group's rate by bisection; its cdf is E[I_x(κp, κ(1 − p))] over every second node."""
    _, of_p, of_rho = model.log_density.shape
    logit_p, logit_rho = model.mean_axis.nodes(of_p)[0][:, ::2], model.dispersion_axis.nodes(of_rho)[0][:, ::2]
    kappa = np.exp(-logit_rho)[:, None, :]
    a, b = (kappa * special.expit(sign * logit_p)[:, :, None] for sign in (1, -1))
    weights = model.weights[:, ::2, ::2] / model.weights[:, ::2, ::2].sum((1, 2), keepdims=True)
    low, high = np.zeros((len(weights), levels.size)), np.ones((len(weights), levels.size))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        cdf = [(weights * special.betainc(a, b, x[:, None, None])).sum((1, 2)) for x in middle.T]
        below = np.stack(cdf, 1) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


STUDY = Study(
    grid={"n_groups": (5, 10)},
    simulate=simulate,
    rows={"interval": ["pool", "pooled_beta"], "target": ["mean", "new_site"]},
    settings={"group_size": 40, "base_rate": 0.8, "logit_sd": 0.5, "groups": "clusters", "prob": 0.95},
)
CASES = [({}, 500, {})]
TABLES = {"sites": lambda jobs: table(STUDY, CASES, jobs, name="sites", digits=6)}
