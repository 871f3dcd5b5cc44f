"""What is gained where systems are tested on the same examples, and lost where that is overlooked.

Each simulation judges two systems, whose errors correlate, on the same examples of two classes alike. The equal-tailed
interval of the paired comparison, and that of the comparison of two posteriors, should cover the true difference of
their accuracies.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesperf.comparison.comparing import compare
from bayesperf.core.errors import InputError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.posteriors.posterior_of_counts import posterior
from validation.study import Study, interval_figures, table

# Whether the first and the second system are right, for each outcome.
_RIGHT = np.array([[True, True], [True, False], [False, True], [False, False]])


def simulate(
    rng: np.random.Generator, *, correlation: Sequence[float], n: int, accuracy: tuple[float, float], prob: float
) -> dict[str, NDArray[np.float64]]:
    """Return the outcomes (analysis, correlation) of a test set of n examples at each correlation of the errors."""
    probabilities = outcome_probabilities(np.asarray(correlation), *accuracy)
    found = _intervals(np.array([_outcomes(n, p, rng) for p in probabilities]), prob)
    return interval_figures(found[..., 0], found[..., 1], accuracy[0] - accuracy[1])


def outcome_probabilities(correlation: NDArray[np.float64], first: float, second: float) -> NDArray[np.float64]:
    """Return the probabilities that both systems are right, the first alone, the second alone, and neither."""
    both = first * second + correlation * np.sqrt(first * (1 - first) * second * (1 - second))
    probabilities = np.stack([both, first - both, second - both, 1 - first - second + both], -1)
    if (probabilities < 0).any():
        raise InputError("correlation", f"systems with accuracies {first} and {second} cannot have {correlation}.")
    return probabilities


def _outcomes(n: int, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many of n examples have each outcome, (class, outcome); the classes are equally frequent."""
    total = rng.multinomial(n, probabilities)
    negatives = rng.binomial(total, 0.5)
    return np.stack([negatives, total - negatives])


def _intervals(counts: NDArray[np.int64], prob: float) -> NDArray[np.float64]:
    """Return the intervals (analysis, test set, 2) from numbers of examples (test set, class, outcome)."""
    examples = np.arange(counts.sum())
    test_set, actual, outcome = np.repeat(np.indices(counts.shape).reshape(3, -1), counts.ravel(), axis=1)
    predicted = [np.where(right, actual, 1 - actual) for right in _RIGHT.T[:, outcome]]
    paired = ConfusionMatrix.from_predictions(
        np.tile(actual, 2),
        np.concatenate(predicted),
        by={"test_set": np.tile(test_set, 2), "model": np.repeat(["first", "second"], len(examples))},
        example=np.tile(examples, 2),
        labels=[0, 1],
    )
    # The same counts, without the record that both systems saw the same examples.
    independent = posterior(ConfusionMatrix(paired.counts.drop_attrs()))
    comparisons = (compare(paired, metric="accuracy"), compare(independent, metric="accuracy", independent=True))
    return np.stack([comparison.difference.eti(prob).values.reshape(-1, 2) for comparison in comparisons])


STUDY = Study(
    grid={},
    simulate=simulate,
    rows={"analysis": ["paired", "independent"], "correlation": "correlation"},
    settings={"correlation": (0.0, 0.4, 0.8), "n": 200, "accuracy": (0.85, 0.80), "prob": 0.95},
)
CASES = [({}, 100, {"correlation": (0.0, 0.8)})]
TABLES = {"pairing": lambda jobs: table(STUDY, CASES, jobs, name="pairing")}
