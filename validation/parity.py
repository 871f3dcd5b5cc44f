"""How often the answers on groups treated alike are right, and how often intervals of ratios of small groups cover."""

import numpy as np

from bayesperf.comparison.comparing import compare
from bayesperf.core.arrays import Array
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.parity import CRITERIA, TOO_FEW, parity
from bayesperf.posteriors.posterior_of_counts import posterior
from validation.study import Study, interval_figures, table

# Recall and false positive rate of the first group and of the others; the prevalence is 0.4 in all.
POPULATIONS = {
    "alike": ((0.8, 0.15), (0.8, 0.15)),
    "first worse": ((0.5, 0.15), (0.8, 0.15)),
    "alike, few selected": ((0.02, 0.002), (0.02, 0.002)),
}
PREVALENCE = 0.4
RATIOS = ("selection_rate", "recall")


def simulate(
    rng: np.random.Generator, *, population: str, n: int, groups: int, draws: int, prob: float
) -> dict[str, Array]:
    """Return the answers (criterion), and the outcomes (metric) of the ratio of the first two groups, one by one."""
    first, others = POPULATIONS[population]
    recall, fpr = np.array([first] + [others] * (groups - 1)).T
    positives = rng.binomial(n, PREVALENCE, groups)
    tp, fp = rng.binomial(positives, recall), rng.binomial(n - positives, fpr)
    names = [f"group {i}" for i in range(groups)]
    cm = ConfusionMatrix.from_counts(tp=tp, fn=positives - tp, fp=fp, tn=n - positives - fp, dims={"group": names})
    rows = parity(cm, draws=draws).summary()
    answers, by_ratio = (
        rows[rows["contrast"] == contrast].set_index("criterion").loc[list(CRITERIA), "answer"]
        for contrast in ("largest gap", "smallest ratio")
    )
    post = posterior(cm)
    two = [post[metric].sel(group=names[:2]) for metric in RATIOS]
    ratios = [compare(m.isel(group=0), m.isel(group=1), contrast="ratio", independent=True).ratio for m in two]
    bounds = np.array([ratio.interval(prob, "eti").values for ratio in ratios])
    selected = PREVALENCE * recall + (1 - PREVALENCE) * fpr
    true = np.array([selected[0] / selected[1], recall[0] / recall[1]])
    of_ratio = {
        f"ratio_{name}": values for name, values in interval_figures(bounds[..., 0], bounds[..., 1], true).items()
    }
    told = {
        "differ": np.array([answer.startswith("more") for answer in answers], float),
        "below": np.array([answer.startswith("below") for answer in by_ratio], float),
        "too_few": np.array([answer == TOO_FEW for answer in answers], float),
    }
    padded = {name: np.append(values, [np.nan] * (len(CRITERIA) - len(RATIOS))) for name, values in of_ratio.items()}
    return told | padded


STUDY = Study(
    grid={"population": ("alike", "first worse"), "n": (10, 30, 100), "groups": (2, 4)},
    simulate=simulate,
    rows={"criterion": list(CRITERIA)},
    settings={"draws": 1000, "prob": 0.95},
)
FIGURES = ("differ", "below", "too_few", "ratio_coverage")
COLUMNS = (*(f"{name}{end}" for name in FIGURES for end in ("", "_mcse")), "ratio_width")
RARE = {"population": ["alike, few selected"], "n": (100, 500), "random_seed": 2}
CASES = [({}, 40, {"random_seed": 1}), ({}, 40, RARE)]
# Some eight minutes of one processor.
TABLES = {"parity": lambda jobs: table(STUDY, CASES, jobs, name="parity", columns=COLUMNS)}
