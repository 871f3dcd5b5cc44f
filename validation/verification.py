"""How often intervals cover if only some examples are verified and a judge says something of all.

The intervals are "judge", `bayesperf.labels.verify`; "verified_only", `bayesperf.posterior` of as many
examples verified by chance; and "prediction_powered", of the same ones: normal by the delta method, with the weight of
the judge that leaves the least variance (Angelopoulos, Duchi & Zrnic 2023, PPI++, arXiv:2311.01453).

Of two classes `prevalence` is that of the positive one, and `recall` and `specificity` are the system's. Of more,
prevalence and recall are those of each class, or one number for all; errors fall into all others alike, and
"recall_rarest" is the recall of the last of the rarest classes. The judge names the true class with probability
`judge`, and repeats an error of the system with probability `dependence`, whatever the judge would have said.

`strata` tell examples apart beside judge and system. "score": bins that are equally full, of a score of which the
prediction of two classes is a threshold (two normal distributions), or that is higher where the system is right than
where it errs (by 1.5 standard deviations), if there are more. "differ": whether a second system, with the same
probabilities, says something else. By `allocation` the verified examples are chosen by "chance"; as many of each of
the strata, or without these of each stratum of judge and system ("equal"); or a third by chance and the rest as
`bayesperf.labels.next_labels` advises for F1 ("advised").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from bayesperf.core.arrays import Array, Counts, Numbers
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.intervals.delta_method import gradient_of
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.verifying import Verified
from bayesperf.labels.worth_of_labels import LabelValue, label_value
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.sources.stored_draws import StoredDraws
from bayesperf.studies.running import OUTCOMES, interval_outcomes
from validation.study import Study, table

INTERVALS = ("judge", "verified_only", "prediction_powered")
# Simulations whose posteriors are computed at once; no result depends on it.
_BATCH = 20
# The share of the labels that is spent by chance before advice is asked for.
_FIRST = 1 / 3
_EMPTY = 1e-9


# What tells the true probabilities.
_SYSTEM = ("classes", "judge", "dependence", "prevalence", "recall", "specificity", "strata", "levels")


def simulate(rngs: Mapping[int, np.random.Generator], *, verified: int, **settings: Any) -> list[dict[str, Array]]:
    """Return the outcomes (interval, metric) of several samples of which so many are verified."""
    probabilities = _probabilities_of(settings)
    found = _outcomes(probabilities, verified, _metrics(probabilities), rngs, settings)
    return [{name: found[name][i] for name in OUTCOMES} for i in range(len(rngs))]


def _probabilities_of(settings: Mapping[str, Any]) -> Array:
    """Return the probabilities (L, K, K, K) of level, judge, system and truth."""
    *system, strata, levels = (settings[name] for name in _SYSTEM)
    return _with_levels(_probabilities(*system), strata, levels)


def _names(settings: Mapping[str, Any]) -> list[str]:
    return [metric.name for metric in _metrics(_probabilities_of(settings))]


def _metrics(outcomes: Array) -> list[Metric]:
    """Return the metrics of which intervals are computed, by probabilities (L, K, K, K)."""
    common = outcomes.sum((0, 1, 2))
    if len(common) == 2:
        precision = ("precision",) * (len(outcomes) > 1)
        return [get(name) for name in ("accuracy", "recall", *precision, "f1", "matthews_corrcoef")]
    found = [get(name) for name in ("accuracy", "recall_macro", "f1_macro", "matthews_corrcoef")]
    if np.ptp(common) > 1e-9:
        rarest = int(len(common) - 1 - np.argmin(common[::-1]))
        found.append(Metric("recall_rarest", partial(_recall_of, rarest), bounds=(0.0, 1.0), needs="classes"))
    return found


def _recall_of(label: int, cells: Numbers) -> Numbers:
    of_class = cells[..., label, :]
    return np.asarray(of_class[..., label] / of_class.sum(-1))


def _with_levels(outcomes: Array, strata: str, levels: int) -> Array:
    """Return probabilities (L, K, K, K) of the levels of strata too, from those of judge, system and truth."""
    classes = len(outcomes)
    same = np.eye(classes, dtype=bool)
    system = outcomes.sum(0)
    if strata == "differ":
        # The second system errs independently, with the same probabilities.
        agree = system / system.sum(0)
        return np.stack([outcomes * agree, outcomes * (1 - agree)])
    if strata == "score":
        right = np.diag(system) / system.sum(0)
        if classes == 2:
            # x > 0 is called positive: x ~ N(shift, 1) by the truth.
            shift, split = np.array([stats.norm.isf(right[0]), stats.norm.ppf(right[1])]), True
            scores = np.broadcast_to(shift, (2, 2))
        else:
            scores, split = 1.5 * same, False
        share = _shares_of_bins(system, scores, levels, split)
        return outcomes * share[:, None]
    return outcomes[None]


def _shares_of_bins(system: Array, means: Array, levels: int, split: bool) -> Array:
    """Return the share of each cell of predicted and true class (K, K) in each of equally full bins, (L, K, K).

    Scores are normal about `means`; if they are `split`, the class 1 is predicted where they are above 0.
    """
    at = np.linspace(-8, 12, 4001)
    density = stats.norm.pdf(at[:, None, None] - means)
    if split:
        density = density * np.stack([at <= 0, at > 0], 1)[:, :, None]
    density *= system / density.sum(0)
    below = density.sum((1, 2)).cumsum() - density.sum((1, 2)) / 2
    which = np.minimum((below * levels).astype(int), levels - 1)
    return np.stack([density[which == level].sum(0) for level in range(levels)]) / system


def _probabilities(
    classes: int, judge: float, dependence: float, prevalence: Any, recall: Any, specificity: float
) -> Array:
    """Return the probability of what the judge says, what the system says and the truth, (K, K, K)."""
    same = np.eye(classes, dtype=bool)
    right = np.array([specificity, recall]) if classes == 2 else np.full(classes, recall)
    shares = np.array([1 - prevalence, prevalence]) if classes == 2 else np.asarray(prevalence)
    if not shares.ndim:
        shares = np.full(classes, 1 / classes)
    system = np.where(same, right[:, None], (1 - right[:, None]) / (classes - 1)) * shares[:, None]
    alone = np.where(same, judge, (1 - judge) / (classes - 1))
    # By truth, prediction and judge: an error of the system is repeated, or not.
    said = np.broadcast_to(alone[:, None], (classes,) * 3).copy()
    said[~same] = (1 - dependence) * said[~same] + dependence * np.broadcast_to(same, said.shape)[~same]
    return np.asarray((system[:, :, None] * said).transpose(2, 1, 0))


class _Samples(NamedTuple):
    """Samples by level and what judge and system say, and the truth of those verified, (m, L, K, K) and (…, K)."""

    counts: Counts
    verified: Counts

    def as_verified_sample(self, names: Sequence[int] = (0,)) -> VerifiedSample:
        """Return the samples by their names, by which they are drawn."""
        m, levels, classes = self.counts.shape[:3]
        coords = {"sample": list(names)}
        level, *votes = np.unravel_index(np.arange(levels * classes**2), (levels, classes, classes))
        return VerifiedSample(
            counts=xr.DataArray(self.counts.reshape(m, -1), coords, ("sample", "stratum")),
            verified=xr.DataArray(
                self.verified.reshape(m, -1, classes), coords | {"actual": np.arange(classes)},
                ("sample", "stratum", "actual"),
            ),
            votes=np.stack(votes, 1),
            levels=level,
            systems=(),
            judges=("judge",),
            cuts=((),),
            bins=((),),
            pos_label=1 if classes == 2 else None,
        )  # fmt: skip

    def without_levels(self) -> _Samples:
        """Return the samples by judge and system alone."""
        return _Samples(self.counts.sum(1), self.verified.sum(1))


def _outcomes(
    probabilities: Array, size: int, metrics: list[Metric], by_index: Mapping[int, np.random.Generator], settings: Any
) -> dict[str, Array]:
    """Return each of `OUTCOMES` of samples of which some are verified, (simulation, interval, metric)."""
    classes, rngs, names = probabilities.shape[-1], list(by_index.values()), list(by_index)
    positive = 1 if classes == 2 else None
    truths = [rng.multinomial(settings["examples"], probabilities.ravel()).reshape(probabilities.shape) for rng in rngs]
    counts = np.stack(truths).sum(-1)
    by_chance = _Samples(counts, np.stack([_drawn(t, size, rng) for t, rng in zip(truths, rngs, strict=True)]))
    chosen = by_chance
    if settings["allocation"] != "chance":
        each = zip(truths, rngs, strict=True)
        chosen = _Samples(counts, np.stack([_allocated(t, size, settings, rng) for t, rng in each]))
    source = Verified.of(chosen.as_verified_sample(names), None, settings["draws"], settings["posterior_seed"])
    post = source.posterior
    by_chance = by_chance.without_levels()
    alone = by_chance.verified.sum(1).swapaxes(1, 2)
    cm = ConfusionMatrix.from_table(alone, dims={"sample": names}, pos_label=positive)
    # By draws as well: metrics that are integrated take long for so many samples.
    drawn = posterior(cm, random_seed=settings["posterior_seed"]).cells_by_chain(settings["draws"], 1)
    only = Posterior(source=StoredDraws(drawn, independent_draws=True), pos_label=positive, prior_text="")
    true = probabilities.sum((0, 1)).T
    limits = [[each[metric].eti(settings["prob"]).values for metric in metrics] for each in (post, only)]
    limits.append([_prediction_powered(by_chance, metric, positive, settings["prob"]) for metric in metrics])
    ends = np.moveaxis(np.array(limits), 2, 0)
    target = np.array([float(metric.evaluate(true, positive)) for metric in metrics])
    return interval_outcomes(ends[..., 0], ends[..., 1], target)


def _drawn(truth: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Return so many examples drawn without replacement."""
    return rng.multivariate_hypergeometric(truth.ravel(), size, method="count").reshape(truth.shape)


def _allocated(truth: Counts, size: int, settings: Any, rng: np.random.Generator) -> Counts:
    """Return the verified examples of a sample by quotas of its strata."""
    classes = truth.shape[-1]
    # Quotas are of the levels, if there are any.
    flat = truth.reshape(len(truth), -1) if len(truth) > 1 else truth.reshape(-1, classes)
    if settings["allocation"] == "equal":
        first, value = np.zeros_like(flat), LabelValue(flat.sum(1), np.ones(len(flat)), np.zeros(len(flat)), 0.0)
    else:
        flat = truth.reshape(-1, classes)
        first = _drawn(flat, max(int(size * _FIRST), 1), rng)
        sample = _Samples(truth.sum(-1)[None], first.reshape(1, *truth.shape)).as_verified_sample()
        whole = VerifiedSample(
            sample.counts[0].drop_vars("sample"), sample.verified[0].drop_vars("sample"), sample.votes, sample.levels,
            (), sample.judges, sample.cuts, sample.bins, sample.pos_label,
        )  # fmt: skip
        source = Verified.of(whole, None, 2, settings["posterior_seed"])
        value = label_value(source, get("f1" if classes == 2 else "f1_macro"))
    quotas = value.allocation(size - int(first.sum()))
    each = zip(flat - first, quotas, strict=True)
    return (first + np.stack([_drawn(left, n, rng) for left, n in each])).reshape(truth.shape)


def _prediction_powered(samples: _Samples, metric: Metric, positive: int | None, confidence: float) -> Array:
    """Return normal intervals of the metric of each sample, (m, 2), linearised at the verified cells."""
    counts, verified = samples
    n, total = verified[0].sum(), counts[0].sum()
    cells = verified.sum(1).swapaxes(1, 2) / n
    # Empty cells have no gradient.
    slope = np.moveaxis(gradient_of(metric, positive, np.maximum(cells, _EMPTY)), (0, 1), (1, 2))
    of_all, of_verified = counts / total, verified.sum(-1) / n

    def mean(shares: Array, values: Array) -> Array:
        return np.asarray((shares * values).sum((1, 2)))

    judged = mean(of_all, slope**2) - mean(of_all, slope) ** 2
    both = np.einsum("mrzt,mtz,mrz->m", verified / n, slope, slope)
    covariance = both - mean(cells, slope) * mean(of_verified, slope)
    weight = np.clip(covariance / ((1 + n / total) * judged), 0, 1)
    centre = metric.evaluate(cells, positive) + weight * (mean(of_all, slope) - mean(of_verified, slope))
    seen = mean(of_verified, slope**2) - mean(of_verified, slope) ** 2
    rest = mean(cells, slope**2) - mean(cells, slope) ** 2 - 2 * weight * covariance + weight**2 * seen
    half = stats.norm.isf((1 - confidence) / 2) * np.sqrt(np.maximum(rest, 0) / n + weight**2 * judged / total)
    ends = np.clip(np.stack([centre - half, centre + half], -1), *metric.bounds)
    return np.where(np.isnan(ends), np.array(metric.bounds), ends)


STUDY = Study(
    grid={"verified": (50, 100, 300)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "metric": _names},
    settings={
        "judge": 0.9,
        "dependence": 0.0,
        "prevalence": 0.3,
        "recall": 0.85,
        "specificity": 0.9,
        "classes": 2,
        "strata": "none",
        "levels": 5,
        "examples": 5000,
        "allocation": "chance",
        "draws": 2000,
        "posterior_seed": 0,
        "prob": 0.95,
    },
    batch=_BATCH,
)

# ── Two classes: some twenty minutes of one processor ──

VARIED = {"judge": (0.6, 0.9, 0.99), "dependence": (0.0, 0.4, 0.9), "prevalence": (0.02, 0.2, 0.5)}
CASES = [
    (
        {"classes": 2, "judge": judge, "dependence": dependence, "prevalence": prevalence, "allocation": allocation},
        1000,
        {
            "judge": judge,
            "dependence": dependence,
            "prevalence": prevalence,
            "allocation": allocation,
            "verified": (30, 100, 300),
            "draws": 1000,
            "random_seed": 1,
            "posterior_seed": 1,
        },
    )
    for allocation in ("chance", "equal")
    for prevalence in VARIED["prevalence"]
    for dependence in VARIED["dependence"]
    for judge in VARIED["judge"]
]

# ── Unequal classes, and strata: some six minutes ──

FIVE, TEN = [0.6, 0.25, 0.1, 0.04, 0.01], [1 / (2.9289683 * rank) for rank in range(1, 11)]
UNEQUAL: dict[str, Any] = {"classes": 5, "prevalence": FIVE, "verified": 150}
SCORE = {"strata": "score", "verified": 150}
SETTINGS: dict[str, dict[str, Any]] = {
    "3 equal classes": {"classes": 3, "verified": 60},
    "5 equal, errors copied": {"classes": 5, "verified": 150, "dependence": 0.4},
    "90/7/3 %": {"classes": 3, "prevalence": [0.9, 0.07, 0.03], "verified": 100},
    "80/15/5 %": {"classes": 3, "prevalence": [0.8, 0.15, 0.05], "verified": 200},
    "60/25/10/4/1 %": UNEQUAL,
    "the same, errors copied": UNEQUAL | {"dependence": 0.4},
    "the same, quotas": UNEQUAL | {"allocation": "equal"},
    "the same, judge .6": UNEQUAL | {"judge": 0.6},
    "the same, judge .98": UNEQUAL | {"judge": 0.98},
    "the same, recall falls with rarity": UNEQUAL | {"recall": [0.95, 0.85, 0.75, 0.6, 0.45]},
    "the same, bins of a score, quotas": UNEQUAL | SCORE | {"levels": 4, "allocation": "equal"},
    "10 of Zipf's sizes": {"classes": 10, "prevalence": TEN, "verified": 300},
    "two classes, bins of a score, quotas": SCORE | {"allocation": "equal"},
    "two classes, 10 % positive, bins, quotas": SCORE | {"allocation": "equal", "prevalence": 0.1},
    "two classes, deciles, by chance": SCORE | {"levels": 10},
    "two classes, 10 % positive, deciles": SCORE | {"levels": 10, "prevalence": 0.1},
    "two classes, where two systems differ, quotas": {"strata": "differ", "verified": 150, "allocation": "equal"},
}
OF_CLASSES = [
    ({"setting": name}, 150, changes | {"draws": 1000, "random_seed": 2, "posterior_seed": 2})
    for name, changes in SETTINGS.items()
]
TABLES = {
    "verification": lambda jobs: table(STUDY, CASES, jobs, name="verification"),
    "verification_classes": lambda jobs: table(STUDY, OF_CLASSES, jobs, name="verification_classes"),
}
