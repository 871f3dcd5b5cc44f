"""How often intervals of a mean grade cover, by prior, of populations with and without rare grades."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.data.outcomes import Outcomes
from bayesperf.posteriors.posterior_of_counts import posterior
from validation.study import Study, interval_figures, table

# How often each of the grades 1 to 5 is given.
POPULATIONS: Mapping[str, Sequence[float]] = {
    "even": (0.2, 0.2, 0.2, 0.2, 0.2),
    "skewed": (0.02, 0.03, 0.1, 0.25, 0.6),
    "nearly all top": (0.0, 0.0, 0.0, 0.05, 0.95),
    "two ends": (0.5, 0.0, 0.0, 0.0, 0.5),
    "rare low end": (0.03, 0.0, 0.0, 0.0, 0.97),
}
PRIORS = ("perks", "jeffreys", "flat")
INTERVALS = ("hdi", "eti")
GRADES = np.arange(1, 6)


def simulate(
    rng: np.random.Generator, *, n: int, population: Sequence[str], draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes (interval, prior, population) of n grades of each population."""
    shares = np.array([POPULATIONS[name] for name in population])
    counts = xr.DataArray(rng.multinomial(n, shares), {"outcome": GRADES}, ("population", "outcome"))
    seed = int(rng.integers(2**31))
    means = [posterior(Outcomes(counts), prior, random_seed=seed, draws=draws)["mean_grade"] for prior in PRIORS]
    bounds = np.array([[mean.interval(prob, kind).values for mean in means] for kind in INTERVALS])
    return interval_figures(bounds[..., 0], bounds[..., 1], shares @ GRADES)


STUDY = Study(
    grid={"n": (10, 30, 100)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "prior": list(PRIORS), "population": "population"},
    settings={"population": tuple(POPULATIONS), "draws": 2000, "prob": 0.95},
)
# Some two minutes of one processor.
CASES = [({}, 400, {"random_seed": 1})]
TABLES = {"grades": lambda jobs: table(STUDY, CASES, jobs, name="grades")}
