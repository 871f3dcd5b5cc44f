"""What is gained where systems are judged on the same examples, and lost where that is overlooked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf.comparison.compare import compare
from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

ANALYSES = ("paired", "independent")
# Whether the first and the second system are right, for each outcome.
_RIGHT = np.array([[True, True], [True, False], [False, True], [False, False]])


def pairing(
    correlation: ArrayLike = (0.0, 0.4, 0.8),
    n: int = 200,
    *,
    accuracy: tuple[float, float] = (0.85, 0.80),
    simulations: int = 2_000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals for a difference in accuracy, as the systems' errors correlate.

    Each simulation judges two systems on the same examples of two classes alike. The equal-tailed interval of the
    paired comparison, and that of the comparison of two posteriors, should cover the true difference with frequency
    `prob`.

    Parameters
    ----------
    correlation : array-like (k,)
        Of the two systems' errors: at most √(odds ratio of their accuracies), where one's errors include the other's.
    n : int
        Examples.
    accuracy : tuple of two float
        Of the systems.
    simulations : int
        Number of test sets at each correlation.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the difference lies below and above the interval (``lower_miss``, ``upper_miss``), and
        mean ``width`` over (analysis, correlation), analysis "paired" or "independent", each with its Monte Carlo
        standard error (``coverage_mcse``, …). The settings and the ``true`` difference are in ``attrs``.

    Raises
    ------
    ValueError
        If no two systems have these accuracies and such a correlation.

    Examples
    --------
    >>> from validation.pairing import pairing
    >>> study = pairing([0.8], n=100, simulations=20)
    >>> ratio = study["width"].sel(analysis="independent") / study["width"].sel(analysis="paired")
    >>> ratio.round(1).values
    array([2.1])
    """
    grid = checks.vector("correlation", correlation)
    first, second = (checks.probability("accuracy", value) for value in accuracy)
    probabilities = _outcome_probabilities(grid, first, second)
    settings = {"correlation": grid.tolist(), "n": checks.count("n", n), "accuracy": [first, second],
                "simulations": checks.count("simulations", simulations), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, NDArray[np.float64]]:
        return {"intervals": _intervals(np.array([_outcomes(n, p, rng) for p in probabilities]), prob)}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    lower, upper = np.moveaxis(results["intervals"], -1, 0)
    true = first - second
    means = monte_carlo_means(interval_outcomes(lower, upper, true))
    return xr.Dataset(
        {name: (("analysis", "correlation"), values.T) for name, values in means.items()},
        {"analysis": list(ANALYSES), "correlation": grid},
        {**settings, "true": true, "ci_kind": "eti"},
    )


def _outcome_probabilities(correlation: NDArray[np.float64], first: float, second: float) -> NDArray[np.float64]:
    """Return the probabilities that both systems are right, the first alone, the second alone, and neither."""
    both = first * second + correlation * np.sqrt(first * (1 - first) * second * (1 - second))
    probabilities = np.stack([both, first - both, second - both, 1 - first - second + both], -1)
    if (probabilities < 0).any():
        raise InputError(
            "correlation",
            f"the errors of systems with accuracies {first} and {second} cannot be correlated by "
            f"{correlation[(probabilities < 0).any(-1)][0]}.",
        )
    return probabilities


def _outcomes(n: int, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many of n examples have each outcome, (class, outcome); the classes are equally frequent."""
    total = rng.multinomial(n, probabilities)
    negatives = rng.binomial(total, 0.5)
    return np.stack([negatives, total - negatives])


def _intervals(outcomes: NDArray[np.int64], prob: float) -> NDArray[np.float64]:
    """Return the intervals (test set, analysis, 2) from numbers of examples (test set, class, outcome)."""
    examples = np.arange(outcomes.sum())
    test_set, actual, outcome = np.repeat(np.indices(outcomes.shape).reshape(3, -1), outcomes.ravel(), axis=1)
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
    return np.stack([comparison.difference.eti(prob).values.reshape(-1, 2) for comparison in comparisons], 1)
