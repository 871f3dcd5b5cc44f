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
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.studies.run import run

ANALYSES = ("paired", "independent")
# Whether the systems are right, by outcome.
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
        How many.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study: the figures depend on the seed only; with `folder` an interrupted study goes on where it
        stopped.

    Returns
    -------
    xarray.Dataset
        ``coverage`` and mean ``width`` over (analysis, correlation), analysis "paired" or "independent", with their
        standard errors ``coverage_mcse`` and ``width_mcse``. The settings and the ``true`` difference are in ``attrs``.

    Raises
    ------
    ValueError
        If no two systems have these accuracies and such a correlation.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.pairing([0.8], n=100, simulations=20)
    >>> ratio = study["width"].sel(analysis="independent") / study["width"].sel(analysis="paired")
    >>> ratio.round(1).values
    array([2.])
    """
    grid = checks.vector("correlation", correlation)
    first, second = (checks.probability("accuracy", value) for value in accuracy)
    shares = _joint_shares(grid, first, second)
    settings = {"correlation": grid.tolist(), "n": checks.count("n", n), "accuracy": [first, second],
                "simulations": checks.count("simulations", simulations), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, NDArray[np.float64]]:
        return {"intervals": _intervals(np.array([_outcomes(n, share, rng) for share in shares]), prob)}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    lower, upper = np.moveaxis(results["intervals"], -1, 0)
    true = first - second
    covered, width = (lower <= true) & (true <= upper), upper - lower
    variables = {
        "coverage": covered.mean(0),
        "coverage_mcse": covered.std(0) / np.sqrt(simulations),
        "width": width.mean(0),
        "width_mcse": width.std(0) / np.sqrt(simulations),
    }
    return xr.Dataset(
        {name: (("analysis", "correlation"), values.T) for name, values in variables.items()},
        {"analysis": list(ANALYSES), "correlation": grid},
        {**settings, "true": true, "ci_kind": "eti"},
    )


def _joint_shares(correlation: NDArray[np.float64], first: float, second: float) -> NDArray[np.float64]:
    """Return the shares of examples that both systems get right, the first alone, the second alone, and neither."""
    both = first * second + correlation * np.sqrt(first * (1 - first) * second * (1 - second))
    shares = np.stack([both, first - both, second - both, 1 - first - second + both], -1)
    if (shares < 0).any():
        raise ValueError(
            f"correlation: the errors of systems with accuracies {first} and {second} cannot be correlated by "
            f"{correlation[(shares < 0).any(-1)][0]}."
        )
    return shares


def _outcomes(n: int, share: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many of n examples of either class have each outcome, (class, outcome)."""
    of_both = rng.multinomial(n, share)
    of_first = rng.binomial(of_both, 0.5)
    return np.stack([of_first, of_both - of_first])


def _intervals(outcomes: NDArray[np.int64], prob: float) -> NDArray[np.float64]:
    """Return the intervals (test set, analysis, 2) of so many examples (test set, class, outcome)."""
    examples = np.arange(outcomes.sum())
    test_set, actual, outcome = np.repeat(np.indices(outcomes.shape).reshape(3, -1), outcomes.ravel(), axis=1)
    predicted = [np.where(right, actual, 1 - actual) for right in _RIGHT.T[:, outcome]]
    same = ConfusionMatrix.from_predictions(
        np.tile(actual, 2),
        np.concatenate(predicted),
        by={"test_set": np.tile(test_set, 2), "model": np.repeat(["first", "second"], len(examples))},
        example=np.tile(examples, 2),
        labels=[0, 1],
    )
    # The same counts, without their mark of being of the same examples.
    apart = posterior(ConfusionMatrix(same.counts.drop_attrs()))
    comparisons = (compare(same, metric="accuracy"), compare(apart, metric="accuracy"))
    return np.stack([each.difference.eti(prob).values.reshape(-1, 2) for each in comparisons], 1)
