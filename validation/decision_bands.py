"""How often the bands of decision curves cover the whole curve, and each of its points.

True risks are logit-normal: logits Normal(μ, spread²), μ such that their mean is the prevalence; the system says risks
whose logits are `slope` times the true ones, so that it is calibrated with a slope of 1 and overconfident with more. A
simultaneous band should hold the whole true curve over the thresholds, a pointwise one each of its points. Data sets
of one class are drawn again.

Of 400 data sets each (slope 1, spread 1.5, prevalences .02, .1 and .3; slope 2, spread 1, prevalences .1 and .5) 95 %
simultaneous bands covered, in percent:

====================== ======= ========= ==========
slope, prevalence      n = 100 n = 1,000 n = 10,000
====================== ======= ========= ==========
1, .02                 98.8    96.3      92.0
1, .1                  94.5    94.0      92.7
1, .3                  92.2    93.5      94.5
2, .1                  96.5    93.2      92.0
2, .5                  94.0    95.8      94.3
====================== ======= ========= ==========

with a Monte Carlo error of about 1.3. Where they miss, few examples have probabilities that high.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from bayesperf.core.arrays import Array, Booleans
from bayesperf.curves.curve import KINDS
from bayesperf.curves.decisions.benefit_curve import decision_curve
from bayesperf.curves.decisions.placed_examples import EVEN
from validation.study import Study, interval_figures, means, table

# Points at which the distribution of risks is integrated, in standard deviations.
_NODES = np.linspace(-9, 9, 40_001)
_WEIGHTS = np.diff(ndtr(np.r_[-np.inf, (_NODES[1:] + _NODES[:-1]) / 2, np.inf]))


def simulate(
    rng: np.random.Generator,
    *,
    prevalence: float,
    n: int,
    spread: float,
    slope: float,
    thresholds: Sequence[float],
    prob: float,
    draws: int,
) -> dict[str, Array]:
    """Return whether bands cover whole curves, their width (kind,), and whether they cover points, of n examples."""
    actual, logits = _examples(mean_logit(prevalence, spread), spread, n, rng)
    curve = decision_curve(actual, expit(slope * logits), thresholds=thresholds, draws=draws, random_seed=rng)
    bands = np.array([curve.band(prob, kind)["net_benefit"] for kind in KINDS])
    of_points = interval_figures(
        bands[..., 0], bands[..., 1], net_benefit(prevalence, spread, slope, np.array(thresholds))
    )
    return {
        "coverage": of_points["coverage"].min(-1),
        "width": of_points["width"].mean(-1),
        "coverage_at": of_points["coverage"],
    }


def reduce(results: Mapping[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means, and the true net benefit."""
    spread, slope, thresholds = (settings[name] for name in ("spread", "slope", "thresholds"))
    true = [net_benefit(share, spread, slope, np.array(thresholds)) for share in settings["prevalence"]]
    return means(results, settings) | {"net_benefit": (("prevalence", "threshold"), true)}


@cache
def mean_logit(prevalence: float, spread: float) -> float:
    """Return the mean logit of risks whose mean is the prevalence."""
    return float(brentq(lambda mean: expit(mean + spread * _NODES) @ _WEIGHTS - prevalence, -40, 40))


def _examples(mean: float, spread: float, n: int, rng: np.random.Generator) -> tuple[Booleans, Array]:
    """Return labels of both classes, and the logits of their risks, (n,) each."""
    while True:
        logits = rng.normal(mean, spread, n)
        actual = rng.random(n) < expit(logits)
        if actual.any() and not actual.all():
            return actual, logits


def net_benefit(prevalence: float, spread: float, slope: float, thresholds: Array) -> Array:
    """Return the true net benefit at thresholds."""
    mean = mean_logit(prevalence, spread)
    from_node = np.searchsorted(_NODES, (logit(thresholds) / slope - mean) / spread)
    of_positives = expit(mean + spread * _NODES) * _WEIGHTS
    above = [np.r_[0, weights[::-1].cumsum()][::-1][from_node] for weights in (of_positives, _WEIGHTS - of_positives)]
    return np.asarray(above[0] - above[1] * thresholds / (1 - thresholds))


STUDY = Study(
    grid={"prevalence": (0.05, 0.3), "n": (100, 1000)},
    simulate=simulate,
    reduce=reduce,
    rows={"kind": list(KINDS), "threshold": "thresholds"},
    settings={"spread": 1.5, "slope": 1.0, "thresholds": EVEN.tolist(), "prob": 0.95, "draws": 4000},
)
CASES = [
    ({"slope": slope}, 400, {"slope": slope, "spread": spread, "prevalence": shares, "n": (100, 1000, 10_000)})
    for slope, spread, shares in ((1.0, 1.5, (0.02, 0.1, 0.3)), (2.0, 1.0, (0.1, 0.5)))
]
TABLES = {"decision_bands": lambda jobs: table(STUDY, CASES, jobs, name="decision_bands")}
