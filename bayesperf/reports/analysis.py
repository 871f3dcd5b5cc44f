"""From files of predictions to the posteriors and comparisons that a report shows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import metrics
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError, LabelWarning
from bayesperf.core.words import listed
from bayesperf.data.count_arrays import as_outcomes
from bayesperf.data.counted import Counted
from bayesperf.data.cross_tabulation import LABEL, cross_tabulate, encode_predictions
from bayesperf.data.frames import tabulate
from bayesperf.data.joint_outcomes import of_examples, same_examples
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.files.settings import FOLD, ROW, Settings
from bayesperf.groups.pooling import pool
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.requirement import Requirement
from bayesperf.posteriors.sensitivity_to_prior import posteriors_under
from bayesperf.posteriors.summary_table import Summary, summary_rows
from bayesperf.reports.class_columns import label_of, named_labels, with_classes
from bayesperf.reports.comparison_tables import MetricComparison, compare_areas, compare_systems, named_baseline
from bayesperf.reports.designs import (
    about_clusters,
    about_gaps,
    about_verified,
    clustered_counts,
    judged_sample,
    verified_rows,
)
from bayesperf.reports.many_systems import best_systems, refuse_many
from bayesperf.reports.sliced import SlicedSystem, find_slices, refuse_unsliceable
from bayesperf.reports.svg import colour
from bayesperf.reports.verdicts import Verdict, verdicts_of

if TYPE_CHECKING:
    from bayesperf.reports.scores import ScoredSystems

_OF_EACH_CLASS = {"recall": "recall_per_class", "precision": "precision_per_class", "F1": "f1_per_class"}
# Largest number of systems shown class by class, and of classes for which other priors are tried.
MOST_SHOWN, _MOST_CLASSES = 6, 40
# What stands in the place of a prior where weights of the examples are drawn.
OF_WEIGHTS = "none on the scores, which may have any distribution: weights of the examples are Dirichlet(1)"
# A class with less than this share is rare.
_RARE = 0.1


@dataclass(frozen=True)
class Analysis:
    """Counts of predictions, and the posteriors and comparisons that a report shows.

    Attributes
    ----------
    counts : ConfusionMatrix or Outcomes
        Counts with all requested leading dims.
    pooled : Posterior
        The posterior of each system, folds pooled.
    folds : Posterior or None
        The posterior of each fold by itself, if there are folds.
    requirements : tuple of Requirement
        Bounds that the metrics are required to meet.
    scores : ScoredSystems or None
        Curves and areas of the systems' scores, if there are scores.
    paired : ConfusionMatrix, Outcomes or None
        Counts of the systems matched example by example, if a column identifies the examples.
    selection : str
        How the shown systems were chosen, in words; empty if all are shown.
    repeats : str
        A sentence on rows of one system that repeat an example; empty if none is known to.
    notes : tuple of str
        Sentences on rows left out and columns not used.
    warnings : tuple of str
        Sentences on probable mistakes in the data, including repeats.
    of_file : bool
        Whether it comes from files, read by the command line.
    handed_in : bool
        Whether the caller passed the posterior, so that its prior has no known name.
    sliced : ConfusionMatrix, Outcomes or None
        The counts of each system also by the dims of slices, folds pooled.
    command : str
        The command that makes the report, for the reader to repeat; empty if there is none.
    """

    counts: Counted
    settings: Settings
    pooled: Posterior
    folds: Posterior | None
    requirements: tuple[Requirement, ...] = ()
    scores: ScoredSystems | None = None
    paired: Counted | None = None
    selection: str = ""
    repeats: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    of_file: bool = True
    handed_in: bool = False
    sliced: Counted | None = None
    command: str = ""

    @cached_property
    def pooled_counts(self) -> Counted:
        """The counts of each system, folds pooled."""
        return self.counts.sum(FOLD) if FOLD in self.counts.dims else self.counts

    @cached_property
    def marginals(self) -> dict[str, Marginal]:
        """The metrics shown, by name."""
        of_counts, of_scores = _apart(self.metric_names)
        found = dict(zip(of_counts, self.pooled.several(of_counts), strict=True))
        if self.scores is not None:
            found |= {name: self.scores.marginal(name, self.pooled.leading) for name in of_scores}
        return {name: found[name] for name in self.metric_names}

    @cached_property
    def first_of_foremost(self) -> Marginal:
        """The first metric of the foremost systems."""
        name = self.metric_names[0]
        if self.foremost is self.pooled:
            return self.marginals[name]
        if metrics.get(name).needs != "scores":
            return self.foremost[name]
        return self.marginals[name].sel(**{str(dim): self.foremost.leading[dim].values for dim in self.foremost.dims})

    @cached_property
    def class_by_class(self) -> dict[str, Marginal]:
        """Recall, precision and F1 of every class of the foremost systems, by their titles; nothing for two classes."""
        if len(self.counts.labels) == 2 or self.counts.graded:
            return {}
        return dict(zip(_OF_EACH_CLASS, self.foremost.several(list(_OF_EACH_CLASS.values())), strict=True))

    @cached_property
    def foremost(self) -> Posterior:
        """The posterior of the systems shown class by class: all if they are few, else the best by the first metric."""
        system, size = self.settings.system, self.pooled.leading.size
        if size <= MOST_SHOWN or self.handed_in or system is None:
            return self.pooled
        metric = metrics.get(self.metric_names[0])
        mean = self.marginals[metric.name].mean()
        mean = mean.mean([dim for dim in mean.dims if dim != system])
        order = np.argsort(mean.values * (1 if metric.greater_is_better is False else -1), kind="stable")
        others = size // len(order)
        best = order[: max(1, MOST_SHOWN // others)].tolist()
        counts = self.pooled_counts.isel(**{system: best})
        return posterior(counts, self.settings.prior, random_seed=self.settings.seed)

    @property
    def best(self) -> int:
        """The position among the foremost systems, in one row, of the one with the best mean of the first metric."""
        marginal = self.first_of_foremost
        means = marginal.mean()
        means = means.mean("label") if "label" in marginal.dims and "label" not in self.pooled.dims else means
        return int(np.argmax(means.values.ravel() * (-1 if marginal.greater_is_better is False else 1)))

    @cached_property
    def slices(self) -> SlicedSystem | None:
        """Where the best system fails, by the dims of slices, if any were named."""
        if self.sliced is None:
            return None
        leading = self.foremost.leading
        at = np.unravel_index(self.best, leading.shape)
        place = {str(dim): leading[dim].values[i] for dim, i in zip(leading.dims, at, strict=True)}
        return find_slices(self.sliced, place, self.settings, progressbar=not self.of_file)

    @property
    def foremost_counts(self) -> xr.DataArray:
        """The counts of the foremost systems; if only some examples are verified, the counts of these."""
        observed = self.foremost.observed
        return self.pooled_counts.counts if observed is None else observed

    @cached_property
    def prob_worst(self) -> xr.DataArray:
        """The probability that each class has the lowest recall, for the foremost systems."""
        return self.foremost.prob_worst("recall_per_class")

    @cached_property
    def under_other_priors(self) -> dict[str, Marginal]:
        """The first metric of the foremost systems under the usual priors; nothing for many classes, which take long.

        With more than two classes, flat and Jeffreys' priors are omitted: they put weight on every pair of classes, and
        assume beforehand that a system with many classes is a bad one.
        """
        name, counts, classes = self.metric_names[0], self.foremost.observed, len(self.counts.labels)
        metric = metrics.get(name)
        if counts is None or classes > _MOST_CLASSES or metric.average == "per_class" or metric.needs == "scores":
            return {}
        if self.counts.graded:
            under = posteriors_under(Outcomes(as_outcomes(counts)), ["flat", "jeffreys", "perks"])
        else:
            priors = ["flat", "jeffreys", "perks"] if classes == 2 else ["shared", "perks"]
            under = posteriors_under(ConfusionMatrix(counts, self.counts.pos_label), priors)
        return {prior: post[name] for prior, post in under.items()}

    @cached_property
    def headline(self) -> list[str]:
        """The metrics that answer the question, required, requested or usual; the first decides which is best.

        With a rare positive class, or with more than two classes, accuracy says little.
        """
        if self.requirements:
            return list(dict.fromkeys(requirement.metric for requirement in self.requirements))
        if self.settings.metrics:
            return [metrics.get(self.settings.metrics[0]).name]
        usual, positive = self._usual, self.pooled.positive
        if self.settings.scores_alone or self.counts.graded:
            return usual[:1]
        if len(self.counts.labels) > 2:
            called = ["recall_macro"]
        elif positive is not None and self._shares[..., positive].max() < _RARE:
            called = ["recall", "precision"]
        else:
            called = []
        return [name for name in called if name in usual] or usual[:1]

    @cached_property
    def metric_names(self) -> list[str]:
        """Canonical names of the shown metrics, the headline first, including the required ones."""
        asked = [metrics.get(name).name for name in self.settings.metrics]
        return list(dict.fromkeys([*self.headline, *(asked or self._usual)]))

    @property
    def _usual(self) -> list[str]:
        """The usual metrics; balanced accuracy equals macro recall, and appears under one of these names."""
        if self.settings.scores_alone and self.scores is not None:
            return self.scores.metric_names
        same = "recall_macro" if len(self.counts.labels) == 2 else "balanced_accuracy"
        names = self.pooled.default_metrics()
        return [name for name in names if name != same or len(names) == 1]

    @cached_property
    def _shares(self) -> Array:
        """The proportion of each class (..., class) among the examples of each system."""
        by_class = self.pooled_counts.counts.sum("predicted").transpose(..., "actual").values
        return np.asarray(by_class / np.maximum(by_class.sum(-1, keepdims=True), 1))

    @property
    def majority(self) -> str:
        """The accuracy of always calling the majority class, in words: over the systems, from lowest to highest."""
        shares = self._shares.max(-1)
        low, high = f"{shares.min():.3f}", f"{shares.max():.3f}"
        return low if low == high else f"{low} to {high}"

    @cached_property
    def best_by_metric(self) -> dict[str, list[str]]:
        """The metrics by which each system has the best mean; none if there is one system, or several in places."""
        if len(self.pooled.dims) != 1 or self.settings.system is None or self.of_labels:
            return {}
        found: dict[str, list[str]] = {}
        for name, marginal in self.marginals.items():
            if (
                marginal.greater_is_better is not None
                and marginal.dims == self.pooled.dims
                and marginal.leading.size > 1
            ):
                means = marginal.mean().values * (1 if marginal.greater_is_better else -1)
                best = str(marginal.leading[marginal.dims[0]].values[int(np.argmax(means))])
                found.setdefault(best, []).append(name)
        return found

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdict on each requirement and system."""
        return verdicts_of(self)

    @property
    def prior_text(self) -> str:
        """The prior, in words."""
        return OF_WEIGHTS if self.settings.scores_alone else self.pooled.prior_text

    def colours(self, leading: xr.DataArray) -> list[str]:
        """Return the colour of each place: the colour of its system, which is the same throughout."""
        system = self.settings.system
        if system not in leading.dims:
            return [colour(i) for i in range(leading.size)]
        along = leading[system].broadcast_like(leading).transpose(*leading.dims)
        return [self.colour_of([name]) for name in along.values.ravel().tolist()]

    def colour_of(self, names: Sequence[Any]) -> str:
        """Return the colour of a system, by its name and its places."""
        order = self.pooled_counts.counts[self.settings.system].values.tolist() if self.settings.system else []
        texts = list(map(str, order))
        return colour(texts.index(str(names[0])) if names and str(names[0]) in texts else 0)

    @cached_property
    def systems(self) -> list[tuple[tuple[int, ...], list[str]]]:
        """The position and the coordinates, as text, of every system in the pooled posterior."""
        leading = self.pooled.leading
        return [
            (at, [str(leading[dim].values[i]) for dim, i in zip(leading.dims, at, strict=True)])
            for at in np.ndindex(leading.shape)
        ]

    def indices(self, place: tuple[int, ...]) -> dict[str, int]:
        """Return the position of a system, by its dims."""
        return dict(zip(map(str, self.pooled.dims), place, strict=True))

    def counts_at(self, place: tuple[int, ...]) -> Counted:
        """Return the counts of the system at a position, folds pooled."""
        return self.pooled_counts.isel(**self.indices(place))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The pooled summary; with folds also each fold's summary, in a column ``fold``."""
        prob, (of_counts, of_scores) = self.settings.ci_prob, _apart(self.metric_names)
        if of_scores:
            pooled = _summary_of_scores([self.marginals[name] for name in of_scores], prob)
            if of_counts:
                both = [self.pooled.summary(of_counts, ci_prob=prob), pooled]
                pooled = self._in_order(pd.concat(both, ignore_index=True), both[0].attrs)
        else:
            pooled = self.pooled.summary(self.metric_names, ci_prob=prob)
        if self.folds is None or not of_counts:
            return pooled
        by_fold = self.folds.summary(of_counts, ci_prob=prob)
        at = by_fold.columns.get_loc(FOLD)
        assert isinstance(at, int)
        pooled.insert(at, FOLD, "pooled")
        return self._in_order(pd.concat([pooled, by_fold.astype({FOLD: object})], ignore_index=True), pooled.attrs)

    def _in_order(self, rows: pd.DataFrame, attrs: dict[Any, Any]) -> pd.DataFrame:
        """Return rows in the order of the metrics."""
        rows = rows.sort_values(
            "metric", key=lambda m: m.map(self.metric_names.index), kind="stable", ignore_index=True
        )
        rows.attrs = attrs
        return rows

    @property
    def is_paired(self) -> bool:
        """Whether the systems are compared on the same examples, row by row."""
        if self.settings.cluster is not None:
            return self.settings.id == ROW
        return self.paired is not None or any(map(self.pooled.source.joint_over, self.pooled.dims))

    @property
    def of_labels(self) -> bool:
        """Whether the matrices are the labels of examples with several labels, which are not systems to compare."""
        return same_examples(self.counts.counts) == self.settings.system == LABEL

    @cached_property
    def headline_comparison(self) -> list[MetricComparison]:
        """The comparison of the systems by the first metric; empty if there is only one system."""
        return self._compared(self.metric_names[:1])

    @cached_property
    def comparisons(self) -> list[MetricComparison]:
        """The comparison of the systems by each metric; empty if there is only one system."""
        return self.headline_comparison + self._compared(self.metric_names[1:])

    def _compared(self, names: Sequence[str]) -> list[MetricComparison]:
        """Return the comparison of the systems by some metrics."""
        s, baseline = self.settings, self.baseline
        if s.system is None or self.of_labels or self.counts.counts.sizes[s.system] < 2:
            return []
        options = {"dim": s.system, "rope": s.rope, "random_seed": s.seed, "baseline": baseline}
        of_counts, of_scores = _apart(names)
        found = compare_areas([self.marginals[name] for name in of_scores], **options)
        if self.paired is not None:
            options["prior"] = s.prior
        of_labels = compare_systems(self.pooled, self.paired, of_counts, **options)
        found |= {each.comparison.metric: each for each in of_labels}
        return [found[name] for name in names]

    @property
    def baseline(self) -> Any:
        """The system that the others are compared with, as its dim names it; None if none is."""
        system = self.settings.system
        names = [] if system is None else self.counts.counts[system].values.tolist()
        return named_baseline(self.settings.baseline, names)

    def met(self, requirement: Requirement) -> xr.DataArray:
        """Return the probability that each system meets a requirement."""
        return requirement.met(self.marginals[requirement.metric])

    def met_jointly(self) -> xr.DataArray | None:
        """Return the probability that each system meets all requirements at once, if there are at least two."""
        if len(self.requirements) < 2 or _apart([each.metric for each in self.requirements])[1]:
            return None
        strictest: dict[str | metrics.Metric, float] = {}
        for r in self.requirements:
            strictest[r.metric] = (max if r.at_least else min)(r.bound, strictest.get(r.metric, r.bound))
        return self.pooled.prob_joint(strictest)


def analyse(
    frame: pd.DataFrame,
    settings: Settings,
    rows: Counts | None = None,
    repeats: str = "",
    edges: Array | None = None,
    notes: tuple[str, ...] = (),
    warned: tuple[str, ...] = (),
) -> Analysis:
    """Count predictions and compute the posteriors that a report shows.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per example, or per combination that occurs.
    settings : Settings
        The user's options.
    rows : numpy.ndarray, optional
        Number of examples behind each row.
    repeats : str
        A sentence on rows that repeat an example, to show with the results.
    edges : numpy.ndarray, optional
        Edges of the bins whose lower edges stand for the scores in them.
    notes, warned : tuple of str
        Sentences on omitted data and on probable mistakes, to show with the results.

    Raises
    ------
    ValueError
        If a column is missing or has missing values, or a label or metric is unknown.
    """
    requirements = _requirements(settings)
    if settings.of_outcomes:
        refuse_missing(frame, settings, rows)
        return _of_outcomes(frame, settings, rows, requirements, repeats, notes, warned)
    frame, settings, rows, notes, spelt = _with_labels(frame, settings, rows, notes)
    warned = (*warned, *spelt)
    if settings.judge is not None:
        return _judged(frame, settings, rows, requirements, notes, warned)
    if settings.cluster is not None:
        return _clustered(frame, settings, rows, requirements, repeats, notes, warned)
    every, dev, scores = frame.index, None, None
    if settings.split is not None:
        from bayesperf.reports.split_column import split_rows

        frame, dev = split_rows(frame, settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", LabelWarning)
        counts, selection = _count(frame, settings, rows), ""
    warned = (*warned, *dict.fromkeys(str(each.message) for each in caught))
    if settings.top is not None:
        counts, selection = best_systems(counts, settings)
        frame, dev = _selected(frame, counts, settings), None if dev is None else _selected(dev, counts, settings)
    pooled = counts.sum(FOLD) if FOLD in counts.dims else counts
    options: dict[str, Any] = {"prior": settings.prior, "random_seed": settings.seed}
    folds = posterior(counts, **options) if FOLD in counts.dims and not settings.scores_alone else None
    if settings.rope:
        check_systems(counts, settings)
    paired = _paired(frame, pooled, settings)
    stand_for = None if rows is None else pd.Series(rows, every)
    if settings.score is not None:
        from bayesperf.reports.split_column import scored_systems

        scores = scored_systems(frame, dev, counts, settings, stand_for, edges)
        warned = (*warned, *scores.warnings)
    sliced = _sliced(frame, counts, settings, stand_for) if settings.slices else None
    return Analysis(
        counts, settings, posterior(pooled, **options), folds, requirements, scores, paired, selection, repeats, notes,
        tuple(filter(None, (repeats, *warned))), sliced=sliced,
    )  # fmt: skip


def _with_labels(
    frame: pd.DataFrame, settings: Settings, rows: Counts | None, notes: tuple[str, ...]
) -> tuple[pd.DataFrame, Settings, Counts | None, tuple[str, ...], Sequence[str]]:
    """Return rows whose labels are there: by their spelling, by a threshold, verified; with notes and warnings."""
    frame, settings, held, spelt = with_classes(frame, settings, rows)
    notes = (*held, *notes)
    if settings.calls:
        from bayesperf.reports.split_column import with_calls

        frame, notes = with_calls(frame, settings, rows, notes)
    if settings.verified_only:
        frame, rows, left_out = verified_rows(frame, settings, rows)
        notes = (left_out, *notes)
    refuse_missing(frame, settings, rows)
    return frame, settings, rows, notes, spelt


def _apart(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the metrics of predicted labels, and those of scores."""
    of_scores = [name for name in names if metrics.get(name).needs == "scores"]
    return [name for name in names if name not in of_scores], of_scores


def _summary_of_scores(marginals: Sequence[Marginal], ci_prob: float) -> pd.DataFrame:
    """Return a table of metrics of scores, as `Posterior.summary` does of metrics of counts."""
    table = Summary(summary_rows(marginals, ci_prob, "hdi", [each.observed.values for each in marginals]))
    estimand = f"{marginals[0].inference} of the system's metric"
    table.attrs = {"ci_prob": ci_prob, "ci_kind": "hdi", "estimand": estimand, "prior": OF_WEIGHTS}
    return table


def _requirements(settings: Settings) -> tuple[Requirement, ...]:
    """Return the requirements; refuse metrics of missing scores or labels, and slices with scores only."""
    requirements = tuple(Requirement.parse(text) for text in settings.require)
    asked = [("--require", each.metric) for each in requirements] + [("--metric", name) for name in settings.metrics]
    for option, name in asked:
        is_of_scores = metrics.get(name).needs == "scores"
        if is_of_scores and settings.score is None:
            raise InputError(f"{option} {name}", "it is a metric of scores.", "Name their column, as --score score.")
        if settings.scores_alone and not is_of_scores:
            raise InputError(
                f"{option} {name}",
                "it is a metric of predicted labels, and there are scores alone.",
                "Name the labels, by --predicted, or the --threshold that makes them.",
            )
        if is_of_scores and settings.top is not None:
            raise InputError("--top", f"systems cannot be ordered by {name} before they are read.", "Remove --top.")
    if settings.scores_alone and (settings.slices or settings.top is not None):
        option = "--slice" if settings.slices else "--top"
        raise InputError(option, "it needs predicted labels, and there are scores alone.", "Add --threshold.")
    return requirements


def _judged(
    frame: pd.DataFrame,
    settings: Settings,
    rows: Counts | None,
    requirements: tuple[Requirement, ...],
    notes: tuple[str, ...],
    warned: tuple[str, ...],
) -> Analysis:
    """Return the analysis of examples of which some are verified, and all have a judge's label."""
    from bayesperf.labels.verifying import verify

    labels = named_labels(frame, settings) if settings.labels else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", LabelWarning)
        sample = judged_sample(frame, settings, rows, labels)
        if settings.pos_label is not None:
            sample = replace(sample, pos_label=label_of(sample.labels, settings.pos_label))
        pooled = verify(sample, prior=settings.prior, random_seed=settings.seed)
    warned = (*warned, *dict.fromkeys(str(each.message) for each in caught))
    notes = (about_verified(sample, settings), *notes)
    return Analysis(
        sample.verified_only(), settings, pooled, None, requirements, notes=notes, warnings=warned, handed_in=True
    )


def _clustered(
    frame: pd.DataFrame,
    settings: Settings,
    rows: Counts | None,
    requirements: tuple[Requirement, ...],
    repeats: str,
    notes: tuple[str, ...],
    warned: tuple[str, ...],
) -> Analysis:
    """Return the analysis of examples in clusters, by cluster weights."""
    labels = named_labels(frame, settings) if settings.labels else None
    each = np.ones(len(frame), np.int64) if rows is None else rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", LabelWarning)
        counts = clustered_counts(frame, settings, each, labels)
        if settings.pos_label is not None:
            counts = replace(counts, pos_label=label_of(counts.labels, settings.pos_label))
        options: dict[str, Any] = {"prior": settings.prior, "random_seed": settings.seed}
        clustered = pool(counts, method="bayesian_bootstrap", **options).mean
    source: Any = clustered.source
    warned = (*warned, *dict.fromkeys(str(each.message) for each in caught))
    notes = (about_clusters(source, settings.clusters[1:]), *notes)
    return Analysis(
        source.summed, settings, clustered, None, requirements, repeats=repeats, notes=notes,
        warnings=tuple(filter(None, (repeats, *warned))), handed_in=True,
    )  # fmt: skip


def _of_outcomes(
    frame: pd.DataFrame,
    settings: Settings,
    rows: Counts | None,
    requirements: tuple[Requirement, ...],
    repeats: str,
    notes: tuple[str, ...],
    warned: tuple[str, ...],
) -> Analysis:
    """Return the analysis of rows that are right or wrong, or graded."""
    frame = frame if rows is None else frame.loc[frame.index.repeat(rows)]
    column, made = (
        (settings.correct, Outcomes.from_correct) if settings.correct else (settings.grade, Outcomes.from_grades)
    )
    by = {name: frame[name] for name in settings.by}
    options: dict[str, Any] = {"prior": settings.prior, "random_seed": settings.seed}
    found: dict[str, Any] = {"repeats": repeats, "notes": notes}
    paired, sliced = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if settings.cluster is not None:
            clusters = {name: frame[name] for name in settings.clusters}
            clustered = pool(made(frame[column], by=by, cluster=clusters), **options).mean
            source: Any = clustered.source
            counts, pooled = source.summed, clustered
            found |= {"notes": (about_clusters(source, settings.clusters[1:]), *notes), "handed_in": True}
        else:
            counts = made(frame[column], by=by)
            pooled = posterior(counts, **options)
            several = settings.system is not None and counts.counts.sizes[settings.system] > 1
            if settings.id is not None and several:
                paired = made(frame[column], by=by, example=frame[settings.id])
        if settings.slices:
            refuse_unsliceable({name: frame[name].nunique() for name in settings.slices}, "--slice ")
            sliced = made(frame[column], by=by | {name: frame[name] for name in settings.slices})
    warned = tuple(filter(None, (repeats, *warned, *dict.fromkeys(str(each.message) for each in caught))))
    return Analysis(
        counts, settings, pooled, None, requirements, paired=paired, warnings=warned, sliced=sliced, **found
    )


def _count(frame: pd.DataFrame, settings: Settings, rows: Counts | None) -> ConfusionMatrix:
    """Return the counts of predictions, with the positive class that was named."""
    actual, predicted, by = settings.actual, settings.predicted, settings.by
    values = {name: frame[name] for name in (actual, predicted, *by)}
    labels = named_labels(frame, settings) if settings.labels else None
    if rows is None:
        counts = ConfusionMatrix.from_frame(frame, actual=actual, predicted=predicted, by=by, labels=labels)
    else:
        counts = ConfusionMatrix(tabulate(values, rows, actual, predicted, by, labels))
    if settings.actuals or settings.joined:
        counts = _of_labels(counts)
    if settings.pos_label is None:
        return counts
    return ConfusionMatrix(counts.counts, label_of(counts.labels, settings.pos_label))


def _of_labels(counts: ConfusionMatrix) -> ConfusionMatrix:
    """Return the counts of several labels per row; each label is present or not."""
    if len(counts.labels) > 2:
        raise InputError(
            "--actual", f"each is a label that a row has or not; they hold {listed(counts.labels)}.", "Write 1 and 0."
        )
    return ConfusionMatrix(counts.counts.assign_attrs(same_examples=LABEL))


def _sliced(
    frame: pd.DataFrame, counts: ConfusionMatrix, settings: Settings, rows: pd.Series[Any] | None
) -> ConfusionMatrix:
    """Return the counts also by the columns of slices, with the classes of the whole, folds pooled."""
    by = [name for name in settings.by if name != FOLD] + list(settings.slices)
    refuse_unsliceable({name: frame[name].nunique() for name in settings.slices}, "--slice ")
    each = np.ones(len(frame), np.int64) if rows is None else rows.loc[frame.index].to_numpy()
    values = {name: frame[name] for name in (settings.actual, settings.predicted, *by)}
    tables = tabulate(values, each, settings.actual, settings.predicted, by, counts.labels)
    return ConfusionMatrix(tables, counts.pos_label)


def refuse_missing(frame: pd.DataFrame, settings: Settings, rows: Counts | None) -> None:
    """Refuse missing labels, names of systems and ids, in the words of the shell."""
    for name in (settings.actual, settings.predicted, *settings.by, *settings.slices, settings.id,
                 settings.judge, settings.cluster):  # fmt: skip
        if name not in frame or (name == settings.actual and settings.judge is not None):
            continue
        empty = frame[name].isna().to_numpy()
        if missing := int(empty.sum() if rows is None else rows[empty].sum()):
            total = len(frame) if rows is None else int(rows.sum())
            what = "such rows, and their examples in all systems," if settings.id else "such rows"
            raise InputError(
                "column",
                f"{name!r} has {missing:,} missing value{'s' * (missing > 1)} in {total:,} rows.",
                f"Leave {what} out by --drop-missing, or give them a name of their own.{about_gaps(name, settings)}",
            )


def _selected(frame: pd.DataFrame, counts: ConfusionMatrix, settings: Settings) -> pd.DataFrame:
    """Return the rows of the systems that were counted."""
    name = str(settings.system)
    kept = frame[frame[name].isin(names := counts.counts[name].values.tolist())]
    return kept.assign(**{name: pd.Categorical(kept[name].astype(object), names)})


def check_systems(counts: Counted, settings: Settings) -> None:
    """Refuse predictions that do not hold two systems to compare.

    Raises
    ------
    ValueError
        If no column tells systems apart, or it holds one system.
    """
    if settings.system is None:
        raise InputError(
            "--system",
            "to compare systems, name the column that tells them apart.",
            "Or their columns of predictions, as --predicted model_a --predicted model_b.",
        )
    systems = counts.counts[settings.system].values.tolist()
    if len(systems) < 2:
        raise InputError(
            f"--system {settings.system}", f"there is one system, {systems[0]}, and nothing to compare it with."
        )


def _paired(frame: pd.DataFrame, pooled: ConfusionMatrix, settings: Settings) -> ConfusionMatrix | None:
    """Return the counts of the systems matched example by example, if there are several and ids."""
    if settings.id is None or settings.system is None or pooled.counts.sizes[settings.system] < 2:
        return None
    refuse_many(pooled, settings)
    if settings.id not in frame:
        raise InputError(f"--id {settings.id}", "no such column in the file.")
    try:
        with warnings.catch_warnings():
            # What there is to say of labels was said when they were counted.
            warnings.simplefilter("ignore", LabelWarning)
            by = {name: frame[name] for name in settings.by if name != FOLD}
            columns = encode_predictions(frame[settings.actual], frame[settings.predicted], by, pooled.labels)
            # An example has each of several labels or has it not: of each it is one of its own.
            of_label = settings.actuals or settings.joined
            example = list(zip(frame[settings.id], frame[LABEL], strict=True)) if of_label else frame[settings.id]
            outcomes = of_examples(columns, example, pooled.pos_label, settings.system)
            return ConfusionMatrix(cross_tabulate(columns), pooled.pos_label, outcomes)
    except InputError as error:
        if error.argument != "example":
            raise
        again = frame.duplicated([settings.id, *(name for name in settings.by if name != FOLD)]).any()
        clusters = f"If examples of one {settings.id} are alike, type --cluster in place of --id."
        raise InputError(f"--id {settings.id}", error.problem, clusters if again else error.advice) from None
