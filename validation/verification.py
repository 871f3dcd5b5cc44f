"""How often intervals cover if only some examples are verified and a judge says something of all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Counts, Numbers
from bayesperf.core.errors import InputError
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.intervals.delta import gradient_of
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.posteriors.posterior import SampledPosterior
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run_batches
from bayesperf.verification.label_value import LabelValue, label_value
from bayesperf.verification.posterior import VerifiedPosterior
from bayesperf.verification.sample import VerifiedSample

INTERVALS = ("judge", "verified_only", "prediction_powered")
STRATA = ("none", "score", "differ")
ALLOCATIONS = ("chance", "equal", "advised")
# Simulations whose posteriors are computed at once; no result depends on it.
_BATCH = 20
# The share of the labels that is spent by chance before advice is asked for.
_FIRST = 1 / 3
_EMPTY = 1e-9


def verification(
    verified: ArrayLike = (50, 100, 300),
    *,
    judge: float = 0.9,
    dependence: float = 0.0,
    prevalence: float | Sequence[float] = 0.3,
    recall: float | Sequence[float] = 0.85,
    specificity: float = 0.9,
    classes: int = 2,
    strata: str = "none",
    levels: int = 5,
    examples: int = 5000,
    allocation: str = "chance",
    simulations: int = 1000,
    confidence: float = 0.95,
    draws: int = 2000,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return coverage and width of intervals from a verified part of a sample, with a judge of all and without.

    Parameters
    ----------
    verified : int or array-like of int
        Numbers of verified examples.
    judge : float
        Probability that the judge names the true class.
    dependence : float
        Probability that the judge repeats an error of the system, whatever the judge would have said.
    prevalence : float or sequence of float (K,)
        Proportion of the positive class. With more than two classes: the proportion of each; with a number all are
        equally common.
    recall : float or sequence of float (K,)
        Recall of the positive class. With more than two classes: the recall of each, or of all; errors fall into all
        others alike.
    specificity : float
        Recall of the negative one of two classes.
    classes : int
        Number of classes.
    strata : {"none", "score", "differ"}
        What tells examples apart beside judge and system. "score": bins that are equally full, of a score of which the
        prediction of two classes is a threshold (two normal distributions), or that is higher where the system is
        right than where it errs (by 1.5 standard deviations), if there are more. "differ": whether a second system,
        with the same probabilities, says something else.
    levels : int
        Number of bins of the score.
    examples : int
        Number of examples.
    allocation : {"chance", "equal", "advised"}
        How the verified examples are chosen: by chance; as many of each of the `strata`, or without these of each
        stratum of judge and system; or a third by chance and the rest as `bayesperf.verification.next_labels` advises
        for F1.
    simulations : int
        Number of samples.
    confidence : float
        Nominal coverage.
    draws : int
        Draws of a posterior.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`).

    Returns
    -------
    xarray.Dataset
        ``coverage``, ``lower_miss``, ``upper_miss`` and mean ``width`` over (interval, metric, verified), each with its
        Monte Carlo standard error. With classes of unequal sizes, "recall_rarest" is the recall of the last of the
        rarest classes. The intervals are "judge", `bayesperf.verification.posterior`; "verified_only",
        `bayesperf.posterior` of as many examples verified by chance; and "prediction_powered", of the same ones: normal
        by the delta method, with the weight of the judge that leaves the least variance (Angelopoulos, Duchi & Zrnic
        2023, PPI++, arXiv:2311.01453). The settings are in ``attrs``.

    Examples
    --------
    >>> from validation.verification import verification
    >>> study = verification(100, simulations=40, draws=500)
    >>> study["width"].sel(metric="accuracy", verified=100, interval=["judge", "verified_only"]).round(2).values
    array([0.09, 0.13])
    """
    sizes = [checks.count("verified", size) for size in np.atleast_1d(verified).tolist()]
    shares: dict[str, Any] = {"judge": judge, "dependence": dependence, "specificity": specificity,
              "prevalence": np.asarray(prevalence).tolist(), "recall": np.asarray(recall).tolist()}  # fmt: skip
    for name, share in shares.items():
        _refuse_other_shares(name, share, classes)
    settings = {**shares, "verified": sizes, "classes": checks.count("classes", classes, least=2),
                "strata": checks.one_of("strata", strata, STRATA),
                "levels": checks.count("levels", levels), "examples": checks.count("examples", examples),
                "allocation": checks.one_of("allocation", allocation, ALLOCATIONS),
                "simulations": checks.count("simulations", simulations, least=2),
                "confidence": checks.probability("confidence", confidence),
                "draws": checks.count("draws", draws, least=2), "random_seed": checks.seed(random_seed)}  # fmt: skip
    if max(sizes) >= examples:
        raise InputError("verified", f"{max(sizes)} of {examples} examples leave none to the judge alone.")
    outcomes = _with_levels(_probabilities(classes, **shares), strata, levels)
    metrics = _metrics(outcomes)

    def simulate(indices: Sequence[int], rngs: Sequence[np.random.Generator]) -> list[dict[str, Array]]:
        by_size = [_outcomes(outcomes, size, metrics, dict(zip(indices, rngs, strict=True)), settings)
                   for size in sizes]  # fmt: skip
        return [{name: np.stack([of_size[name][i] for of_size in by_size], -1) for name in OUTCOMES}
                for i in range(len(indices))]  # fmt: skip

    results = run_batches(simulate, simulations, settings, _BATCH,
                          n_jobs=n_jobs, progressbar=progressbar, folder=folder)  # fmt: skip
    coords = {"interval": list(INTERVALS), "metric": [metric.name for metric in metrics], "verified": sizes}
    means = monte_carlo_means({name: results[name] for name in OUTCOMES})
    return xr.Dataset({name: (tuple(coords), values) for name, values in means.items()}, coords,
                      {**settings, "ci_kind": "eti"})  # fmt: skip


def _refuse_other_shares(name: str, share: Any, classes: int) -> None:
    if np.ndim(share) and (classes == 2 or np.shape(share) != (classes,)):
        raise InputError(name, f"give one number, or one for each of {classes} classes if they are more than two.")
    if not all(0 <= checks.number(name, each) <= 1 for each in np.ravel(share).tolist()):
        raise InputError(name, f"must be a proportion; it is {share}.")
    if name == "prevalence" and np.ndim(share) and not np.isclose(np.sum(share), 1):
        raise InputError("prevalence", f"the proportions of the classes must sum to 1; they sum to {np.sum(share)}.")


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
            has_judge=True,
            pos_label=1 if classes == 2 else None,
        )  # fmt: skip

    def without_levels(self) -> _Samples:
        """Return the samples by judge and system alone."""
        return _Samples(self.counts.sum(1), self.verified.sum(1))


def _outcomes(
    probabilities: Array, size: int, metrics: list[Metric], by_index: dict[int, np.random.Generator], settings: Any
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
    post = VerifiedPosterior.of(chosen.as_verified_sample(names), None, settings["draws"], settings["random_seed"])
    by_chance = by_chance.without_levels()
    alone = by_chance.verified.sum(1).swapaxes(1, 2)
    cm = ConfusionMatrix.from_table(alone, dims={"sample": names}, pos_label=positive)
    # By draws as well: metrics that are integrated take long for so many samples.
    drawn = posterior(cm, random_seed=settings["random_seed"]).cells_by_chain(settings["draws"], 1)
    only = SampledPosterior(drawn, positive, "", independent=True)
    true = probabilities.sum((0, 1)).T
    limits = [[source[metric].eti(settings["confidence"]).values for metric in metrics] for source in (post, only)]
    limits.append([_prediction_powered(by_chance, metric, positive, settings["confidence"]) for metric in metrics])
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
            (), True, sample.pos_label,
        )  # fmt: skip
        post = VerifiedPosterior.of(whole, None, 2, settings["random_seed"])
        value = label_value(post, get("f1" if classes == 2 else "f1_macro"))
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
