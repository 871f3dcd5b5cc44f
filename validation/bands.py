"""How often the bands of ROC curves cover the whole curve, and each of its points.

Scores are as in `validation.areas`. A simultaneous band of `bayesperf.roc_curve` should hold the whole true curve
between the false positive rates `low` and `high`, a pointwise one each of its points. Intervals at thresholds ("beta",
"wilson", "clopper_pearson", "agresti_coull") make a band through the outer corners of their boxes, pointwise only.

Intervals at thresholds ask about both rates there, and as a band about neither one alone. Of 50 and 500 examples of
either class and 1,000 data sets each, 95 % bands held single points of curves of AUC .7 and .8 in 97.5 to 100 % (by
any of the four), of AUC .95 "wilson" in as few as 89.1 %, "beta" in 92.3 %, "clopper_pearson" in 98.0 % and
"agresti_coull" in 98.5 %; whole curves in 75 to 97 %. They are wide for it: of 50 examples 1.4 times (AUC .8) to 1.8
times (.95) as wide as the pointwise "bayesian_bootstrap".
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.curves.curve import KINDS
from bayesperf.curves.roc.curve_draws import EVEN
from bayesperf.curves.roc.threshold_curve import CONFIDENCE_INTERVALS, ThresholdCurve
from bayesperf.curves.scored_systems import NAMELESS, Examples
from bayesperf.data.classifier_scores import Scores
from validation.study import Study, interval_figures, table

# Of those that take each threshold by itself there are no simultaneous bands.
_BY_THRESHOLD = ("beta", *CONFIDENCE_INTERVALS)


def simulate(
    rng: np.random.Generator,
    *,
    auc: float,
    n: int,
    methods: Sequence[str],
    low: float,
    high: float,
    spread: float,
    prob: float,
    draws: int,
) -> dict[str, Array]:
    """Return whether bands cover whole curves, their width (interval, kind), and whether they cover points."""
    mean, fpr = np.hypot(1, spread) * ndtri(auc), _points(low, high)
    scores = Scores(np.sort(rng.normal(mean, spread, n)), np.sort(rng.normal(0, 1, n)))
    bands = np.array([_bands(scores, name, draws, prob, fpr, rng) for name in methods])
    of_points = interval_figures(bands[..., 0], bands[..., 1], ndtr((mean + ndtri(fpr)) / spread))
    return {
        "coverage": of_points["coverage"].min(-1),
        "width": of_points["width"].mean(-1),
        "coverage_at": of_points["coverage"],
    }


def _points(low: float, high: float) -> Array:
    """Return the false positive rates at which bands are compared with the true curve."""
    return EVEN[np.abs(EVEN - (low + high) / 2) <= (high - low) / 2 + 1e-9]


def _bands(scores: Scores, method: str, draws: int, prob: float, fpr: Array, rng: np.random.Generator) -> list[Array]:
    """Return the band of each kind, (false positive rates, 2)."""
    own = None if method in CONFIDENCE_INTERVALS else method
    both = np.concatenate([scores.positive, scores.negative])
    parts = {NAMELESS: Examples(np.arange(len(both)) < len(scores.positive), both)}
    curve = ThresholdCurve("roc", parts, own or "bayesian_bootstrap", None, draws, checks.seed(rng), progressbar=False)
    if method in _BY_THRESHOLD:
        band = curve.band(prob, method=None if own else method)
        # The edges run through the worst limits and through the best; a false positive rate is worst at its upper one.
        x, y = band["fpr"].values[:, ::-1], band["recall"].values
        pointwise = np.stack([np.interp(fpr, x[:, edge], y[:, edge]) for edge in (0, 1)], axis=-1)
        return [pointwise, np.full_like(pointwise, np.nan)]
    return [curve.band(prob, kind)["recall"].sel(fpr=fpr, method="nearest").values for kind in KINDS]


STUDY = Study(
    grid={"auc": (0.7, 0.8, 0.95), "n": (50, 500)},
    simulate=simulate,
    rows={
        "interval": "methods",
        "kind": list(KINDS),
        "fpr": lambda settings: _points(settings["low"], settings["high"]),
    },
    settings={
        "methods": ("bayesian_bootstrap",),
        "low": 0.05,
        "high": 0.95,
        "spread": 1.0,
        "prob": 0.95,
        "draws": 1000,
    },
)
CASES = [({}, 1000, {"methods": ("bayesian_bootstrap", *_BY_THRESHOLD)})]
TABLES = {"bands": lambda jobs: table(STUDY, CASES, jobs, name="bands")}
