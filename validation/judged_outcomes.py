"""How often intervals of a pass rate cover, of answers that a judge passes or fails, and people only some of them.

The verified answers are chosen at random. A good judge is right about nine answers in ten; a lenient one passes four in
ten of those that fail.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.data.outcomes import Outcomes
from bayesperf.labels.verifying import verify
from bayesperf.posteriors.posterior_of_counts import posterior
from validation.study import Study, interval_figures, table

# The probability that a judge is right about an answer that fails, and about one that passes.
JUDGES: Mapping[str, tuple[float, float]] = {"good": (0.9, 0.9), "lenient": (0.6, 0.95)}
INTERVALS = ("judge and people", "people alone")


def simulate(
    rng: np.random.Generator,
    *,
    verified: int,
    judge: Sequence[str],
    pass_rate: Sequence[float],
    n: int,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, judge, pass rate) of n answers, of which so many are verified."""
    seed, known = int(rng.integers(2**31)), np.arange(n) < verified
    limits = np.empty((len(INTERVALS), len(judge), len(pass_rate), 2))
    for row, name in enumerate(judge):
        for column, rate in enumerate(pass_rate):
            passed = (rng.random(n) < rate).astype(int)
            is_right = rng.random(n) < np.array(JUDGES[name])[passed]
            by_judge = np.where(is_right, passed, 1 - passed)
            post = verify(np.where(known, passed, np.nan), judge=by_judge, draws=draws, random_seed=seed)
            alone = posterior(Outcomes.from_correct(passed[known]))
            limits[:, row, column] = [each["accuracy"].eti(prob).values for each in (post, alone)]
    return interval_figures(limits[..., 0], limits[..., 1], np.array(pass_rate))


STUDY = Study(
    grid={"verified": (50, 100, 200)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "judge": "judge", "pass_rate": "pass_rate"},
    settings={"judge": tuple(JUDGES), "pass_rate": (0.5, 0.8, 0.95), "n": 1000, "draws": 1000, "prob": 0.95},
)
# A minute of one processor.
CASES = [({}, 400, {"random_seed": 1})]
TABLES = {"judged_outcomes": lambda jobs: table(STUDY, CASES, jobs, name="judged_outcomes")}
