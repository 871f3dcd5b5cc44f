"""How often intervals cover what labels then show, with the doubt about the line and with one line taken as certain."""

import warnings
from dataclasses import replace

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.core.errors import IdentifiabilityWarning
from bayesperf.curves.reliability.before_labels import expected_metrics
from bayesperf.curves.reliability.recalibration import recalibrate
from validation.study import Study, interval_figures, table

METRICS = ("accuracy", "recall", "precision", "f1")
# Frequency of positives by probability.
TRUTHS = {
    "as said": lambda p: p,
    "overconfident": lambda p: special.expit(-0.3 + 0.6 * special.logit(p)),
    "bent": lambda p: 0.1 + 0.8 * p**2,
}
ANALYSES = ("line with its doubt", "line taken as certain")


def simulate(
    rng: np.random.Generator, *, truth: str, labelled: int, n: int, draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes (analysis, metric) of n new examples, whose labels are then drawn."""
    known, new = rng.beta(1.5, 2, labelled), rng.beta(1.5, 2, n)
    frequency = TRUTHS[truth]
    line = recalibrate(rng.random(labelled) < frequency(known), known, draws=draws)
    certain = replace(line, parameters=0 * line.parameters + line.parameters.mean("sample"))
    y, called = rng.random(n) < frequency(new), new >= 0.5
    tp, fp, fn = (y & called).sum(), (~y & called).sum(), (y & ~called).sum()
    true = np.array([(y == called).mean(), tp / (tp + fn), tp / (tp + fp), 2 * tp / (2 * tp + fp + fn)])
    with warnings.catch_warnings():
        # With few labels some probabilities are beyond the labelled ones.
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        posts = [expected_metrics(new, each) for each in (line, certain)]
    bounds = np.array([[post[metric].eti(prob).values for metric in METRICS] for post in posts])
    return interval_figures(bounds[..., 0], bounds[..., 1], true)


STUDY = Study(
    grid={"truth": tuple(TRUTHS), "labelled": (100, 400), "n": (100, 1000)},
    simulate=simulate,
    rows={"analysis": list(ANALYSES), "metric": list(METRICS)},
    settings={"draws": 1000, "prob": 0.95},
)
TABLES = {"before_labels": lambda jobs: table(STUDY, [({}, 80, {"random_seed": 1})], jobs, name="before_labels")}
