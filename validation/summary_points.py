"""How often intervals and regions of a meta-analysis of diagnostic accuracy cover.

The logits of recall and specificity of each study are drawn about those of the median study, with the standard
deviation `spread` for both and the correlation −0.6: from a normal distribution, or from a Student t with three degrees
of freedom of the same standard deviation (`population` "heavy"), which the model cannot express. Studies have 40
positive examples in the median, and twice as many negative ones; both are log-normal.
"""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from bayesperf.core.arrays import Array
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.accuracy_over_studies import ellipse, meta_analysis
from validation.study import Study, interval_figures, table

TARGETS = (
    "recall of the median study",
    "specificity of the median study",
    "mean recall",
    "recall of a new study",
    "region of the median study",
    "region of a new study",
)
_MEDIAN = special.logit([0.85, 0.75])
_CORRELATION, _FREEDOM = -0.6, 3
_LEVELS = (np.arange(4000) + 0.5) / 4000


def simulate(
    rng: np.random.Generator, *, n_studies: int, spread: float, population: str, draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes of each target for one meta-analysis."""
    logits = _MEDIAN + spread * _deviations(rng, n_studies + 1, population)
    rates = special.expit(logits)
    sizes = np.maximum(np.exp(rng.normal(np.log([40, 80]), 0.8, (n_studies, 2))), 3).astype(int)
    tp, tn = rng.binomial(sizes, rates[:-1]).T
    positives, negatives = sizes.T
    cm = ConfusionMatrix.from_counts(
        tp=tp, fn=positives - tp, fp=negatives - tn, tn=tn, dims={"study": list(range(n_studies))}
    )
    found = meta_analysis(cm, draws=draws, random_seed=rng)
    marginals = [
        *found.median_group.several(["recall", "specificity"]),
        found.mean["recall"],
        found.new_group["recall"],
    ]
    bounds = [marginal.hdi(prob).values for marginal in marginals]
    deviates = stats.norm.ppf(_LEVELS) if population == "normal" else stats.t.ppf(_LEVELS, _FREEDOM) / np.sqrt(_FREEDOM)
    true = [*special.expit(_MEDIAN), special.expit(_MEDIAN[0] + spread * deviates).mean(), rates[-1, 0]]
    for of, point in (("median_group", _MEDIAN), ("new_group", logits[-1])):
        centre, root = ellipse(found.logits(of), prob)
        bounds.append(np.array([0.0, 1.0]))
        true.append(float(np.linalg.norm(np.linalg.solve(root, point - centre))))
    return interval_figures(*np.array(bounds).T, np.array(true))


def _deviations(rng: np.random.Generator, n: int, population: str) -> Array:
    """Return standardised deviations (n, rate) of studies."""
    root = np.linalg.cholesky([[1, _CORRELATION], [_CORRELATION, 1]])
    deviations = rng.standard_normal((n, 2)) @ root.T
    if population == "heavy":
        deviations /= np.sqrt(rng.chisquare(_FREEDOM, (n, 1)))
    return deviations


STUDY = Study(
    grid={"n_studies": (5, 10, 20), "spread": (0.3, 1.0)},
    simulate=simulate,
    rows={"target": list(TARGETS)},
    settings={"population": "normal", "draws": 500, "prob": 0.95},
)
# Some twenty minutes of one processor.
CASES = [({"population": name}, 200, {"population": name, "random_seed": 1}) for name in ("normal", "heavy")]
TABLES = {"summary_points": lambda jobs: table(STUDY, CASES, jobs, name="summary_points")}
