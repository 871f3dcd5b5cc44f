"""Systems tested on the same examples."""

import numpy as np
import pandas as pd

import bayesperf as bp

CM = bp.ConfusionMatrix


def judged(actual, predicted, *, seed=None, labels=None, **others):
    """Count systems on the same examples: predicted is {name: labels}, others are {dim: a value an example}."""
    n, systems = len(actual), list(predicted)
    rows = pd.DataFrame(
        {
            "actual": np.tile(actual, len(systems)),
            "predicted": np.concatenate([predicted[name] for name in systems]),
            "model": np.repeat(systems, n),
            "example": np.tile(np.arange(n), len(systems)),
            **{dim: np.tile(values, len(systems)) for dim, values in others.items()},
        }
    )
    if seed is not None:
        rows = rows.sample(frac=1, random_state=seed)
    by = {dim: rows[dim] for dim in (*others, "model")}
    return CM.from_predictions(rows["actual"], rows["predicted"], by=by, example=rows["example"], labels=labels)


def systems_like(rng, n, classes, systems, right=0.7):
    """Return actual classes, and what systems that err together call them."""
    actual = rng.integers(classes, size=n)
    hard = rng.random(n) < 0.4
    calls = rng.integers(classes, size=(systems, n))
    found = np.where((rng.random((systems, n)) < right) | ~hard, actual, calls)
    return actual, {f"s{i}": row for i, row in enumerate(found)}


ACTUAL, OLD, NEW = [1, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 0]


FOLDS_ACTUAL, FOLDS_PREDICTED = systems_like(np.random.default_rng(2), 90, 3, 4)
FOLDS = judged(FOLDS_ACTUAL, FOLDS_PREDICTED, fold=np.arange(90) % 3, site=np.arange(90) % 2)


TWO = ["old"] * 4 + ["new"] * 4


def rows(example, y_true=(*ACTUAL, *ACTUAL), **by):
    by = by or {"model": TWO}
    return lambda: CM.from_predictions(list(y_true), OLD + NEW, by=by, example=example)
