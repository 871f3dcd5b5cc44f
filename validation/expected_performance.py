"""How often the bands of expected performance curves cover what thresholds chosen beforehand truly give.

Each simulation draws a development and a test set: scores of negatives are N(0, 1), of positives N(separation, 1).
Bands by "posterior" (with a flat prior), "haldane" (with none) and "bootstrap" should cover the metric that scores of
these distributions have at the thresholds selected on the development set. For the band that resamples the development
set too, "both_another" is about the metric at the thresholds selected on another development set, and "both_mean"
about its mean over development sets.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from bayesperf.core.arrays import Array
from bayesperf.curves.curve import KINDS
from bayesperf.curves.expected_performance.performance_curve import ExpectedPerformanceCurve, epc
from validation.study import Study, interval_figures, means, table

# How the bands are drawn: the arguments of `bayesperf.curves.epc`.
_BANDS: dict[str, dict[str, Any]] = {
    "posterior": {"prior": "flat"},
    "haldane": {"prior": "haldane"},
    "bootstrap": {"method": "bootstrap"},
    "both": {"prior": "flat", "resample": "both"},
}
ANALYSES = ("posterior", "haldane", "bootstrap", "both_another", "both_mean")


def simulate(
    rng: np.random.Generator,
    *,
    n: int,
    separation: float,
    criterion: str,
    metric: str,
    alphas: Sequence[float],
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the bands (band, kind, alpha, 2) of n examples of either class, and the truth (alpha,)."""
    y = np.repeat([0, 1], n)
    dev, test = ((y, rng.normal(separation * y)) for _ in range(2))
    options: dict[str, Any] = {"criterion": criterion, "metric": metric, "alphas": alphas, "draws": draws}
    seed = int(rng.integers(2**63))
    curves = [epc(dev, test, **options, **arguments, random_seed=seed) for arguments in _BANDS.values()]
    bands = [[curve.band(prob, kind)[curve.metric.name].values for kind in KINDS] for curve in curves]
    return {"bands": np.array(bands), "true": true_metric(curves[0], separation)}


def true_metric(curve: ExpectedPerformanceCurve, separation: float) -> Array:
    """Return the metric (a,) of normal scores at the thresholds of a curve, with classes equally frequent."""
    thresholds = curve.dataset["threshold"].values
    negative, positive = ((ndtr(shift - thresholds), ndtr(thresholds - shift)) for shift in (0.0, separation))
    cells = np.stack([np.stack(row[::-1], -1) for row in (negative, positive)], -2)
    return curve.metric.evaluate(cells, 1)


def reduce(results: Mapping[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return coverages and widths of pointwise bands, coverages of whole curves, and the mean truth."""
    bands, true, names = results["bands"], results["true"], list(_BANDS)
    of_both = {"both_another": np.roll(true, 1, axis=0), "both_mean": np.broadcast_to(true.mean(0), true.shape)}
    which = [names.index(name.split("_")[0]) for name in ANALYSES]
    # (simulation, n, analysis, kind, alpha)
    targets = np.stack([of_both.get(name, true) for name in ANALYSES], 2)[:, :, :, None]
    lower, upper = np.moveaxis(bands[:, :, which], -1, 0)
    found = interval_figures(lower, upper, targets)
    pointwise, simultaneous = (KINDS.index(kind) for kind in ("pointwise", "simultaneous"))
    of_points = {name: values[..., pointwise, :] for name, values in found.items()}
    whole = {"whole_coverage": found["coverage"][..., simultaneous, :].min(-1)}
    mean = means({"mean": true}, settings)
    return means(of_points | whole, settings) | {name: (("n", "alpha"), values) for name, values in mean.items()}


STUDY = Study(
    grid={"n": (50, 500)},
    simulate=simulate,
    reduce=reduce,
    rows={"analysis": list(ANALYSES), "alpha": "alphas"},
    settings={
        "separation": 2.0,
        "criterion": "far_frr",
        "metric": "hter",
        "alphas": tuple(np.arange(1, 20) / 20),
        "draws": 1000,
        "prob": 0.95,
    },
)
CASES = [({}, 1000, {})]
COLUMNS = ("coverage", "coverage_mcse", "width", "whole_coverage")
TABLES = {"expected_performance": lambda jobs: table(STUDY, CASES, jobs, name="expected_performance", columns=COLUMNS)}
