"""What a report shows: counts of predictions with their posteriors and comparisons, computed when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import metrics
from bayesperf.core.arrays import Array
from bayesperf.data.axis_names import FOLD, LABEL
from bayesperf.data.count_arrays import as_outcomes, same_examples
from bayesperf.data.counted import Counted
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.files.option_table import ROW, Settings
from bayesperf.metrics.registry import in_field_words
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.prior import resolve_for
from bayesperf.posteriors.ranks import joint_draws, rank_probabilities
from bayesperf.posteriors.requirement import Requirement
from bayesperf.posteriors.sensitivity_to_prior import posteriors_under
from bayesperf.posteriors.summary_table import Summary, summary_rows
from bayesperf.reports.comparison_tables import MetricComparison, compare_areas, compare_systems, named_baseline
from bayesperf.reports.sliced import SlicedSystem, find_slices
from bayesperf.reports.verdicts import Verdict, verdicts_of

if TYPE_CHECKING:
    from bayesperf.groups.cluster_weights import ClusterWeights
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
    """Counts of predictions, and the posteriors and comparisons that a report shows."""

    # Counts with all requested leading dims.
    counts: Counted
    settings: Settings
    # The posterior of each system, folds pooled.
    pooled: Posterior
    # The posterior of each fold by itself, if there are folds.
    folds: Posterior | None
    # Bounds that the metrics are required to meet.
    requirements: tuple[Requirement, ...] = ()
    # Curves and areas of the systems' scores, if there are scores.
    scores: ScoredSystems | None = None
    # Counts of the systems matched example by example, if a column identifies the examples, or their joint posterior.
    paired: Counted | Posterior | None = None
    # How the shown systems were chosen, in words; empty if all are shown.
    selection: str = ""
    # A sentence on rows of one system that repeat an example; empty if none is known to.
    repeats: str = ""
    # Sentences on rows left out and columns not used.
    notes: tuple[str, ...] = ()
    # Sentences on probable mistakes in the data, including repeats.
    warnings: tuple[str, ...] = ()
    # Whether it comes from files, read by the command line.
    of_file: bool = True
    # Whether the posterior is another than that of the counts under the prior, and cannot be made anew.
    own_posterior: bool = False
    # The counts of each system also by the dims of slices, folds pooled.
    sliced: Counted | None = None
    # Metrics averaged over the labels of rows that have several, of systems on the same rows.
    averages: tuple[Marginal, ...] = ()
    # The probability that the majority of the attempts at a question is right, if their answers are known.
    voted: Marginal | None = None
    # The command that makes the report, for the reader to repeat; empty if there is none.
    command: str = ""

    @classmethod
    def of_counts(cls, counts: Counted, settings: Settings, **more: Any) -> Analysis:
        """Return the analysis of counts under the prior of the settings, of each fold and of all together."""
        in_folds = FOLD in counts.dims
        folds = posterior(counts, **settings.of_posterior) if in_folds and not settings.scores_alone else None
        pooled = posterior(counts.sum(FOLD) if in_folds else counts, **settings.of_posterior)
        return cls(counts, settings, pooled, folds, **more)

    @cached_property
    def pooled_counts(self) -> Counted:
        """The counts of each system, folds pooled."""
        return self.counts.sum(FOLD) if FOLD in self.counts.dims else self.counts

    @cached_property
    def _marginals_of_labels(self) -> dict[str, Marginal]:
        """Metrics of the predicted labels, by name: all at once, because each call draws the cells again."""
        of_labels, _ = _labels_and_scores(self.metric_names)
        of_classes = _OF_EACH_CLASS.values() if self._has_classes and self._shows_all else ()
        names = list(dict.fromkeys([*of_labels, *of_classes]))
        return dict(zip(names, self.pooled.several(names), strict=True))

    @cached_property
    def marginals(self) -> dict[str, Marginal]:
        """The metrics shown, by name."""
        found = dict(self._marginals_of_labels)
        if self.scores is not None:
            _, of_scores = _labels_and_scores(self.metric_names)
            found |= {name: self.scores.marginal(name, self.pooled.leading) for name in of_scores}
        return {name: found[name] for name in self.metric_names}

    def metric(self, name: str) -> metrics.Metric:
        """Return a metric under the name that it has for these data."""
        return in_field_words(metrics.get(name), self.counts.graded)

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
        if not self._has_classes:
            return {}
        names = list(_OF_EACH_CLASS.values())
        known = self._marginals_of_labels
        of_classes = [known[name] for name in names] if self._shows_all else self.foremost.several(names)
        return dict(zip(_OF_EACH_CLASS, of_classes, strict=True))

    @property
    def _has_classes(self) -> bool:
        """Whether there are tables class by class."""
        return len(self.counts.labels) > 2 and not self.counts.graded

    @property
    def _shows_all(self) -> bool:
        """Whether all systems are shown class by class."""
        return self.pooled.leading.size <= MOST_SHOWN or self.own_posterior or self.settings.system is None

    @cached_property
    def foremost(self) -> Posterior:
        """The posterior of the systems shown class by class: all if they are few, else the best by the first metric."""
        system, size = self.settings.system, self.pooled.leading.size
        if self._shows_all or system is None:
            return self.pooled
        metric = metrics.get(self.metric_names[0])
        mean = self.marginals[metric.name].mean()
        mean = mean.mean([dim for dim in mean.dims if dim != system])
        order = np.argsort(-metric.better * mean.values, kind="stable")
        others = size // len(order)
        best = order[: max(1, MOST_SHOWN // others)].tolist()
        counts = self.pooled_counts.isel(**{system: best})
        return posterior(counts, **self.settings.of_posterior)

    @property
    def best(self) -> int:
        """The position among the foremost systems, in one row, of the one with the best mean of the first metric."""
        return int(np.argmax(self._goodness))

    @property
    def weakest(self) -> int:
        """The position of the one with the worst mean."""
        return int(np.argmin(self._goodness))

    @property
    def _goodness(self) -> Array:
        marginal = self.first_of_foremost
        means = marginal.mean()
        means = means.mean("label") if "label" in marginal.dims and "label" not in self.pooled.dims else means
        return np.asarray(marginal.quantity.better * means.values.ravel())

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
        drawn = joint_draws(self.class_by_class["recall"], "label", self.foremost.n_draws)
        return rank_probabilities(drawn, "label").isel(rank=-1, drop=True)

    @cached_property
    def under_other_priors(self) -> dict[str, Marginal]:
        """The first metric of the foremost systems under the usual priors; nothing for many classes, which take long.

        With more than two classes, flat and Jeffreys' priors are omitted: they put weight on every pair of classes, and
        assume beforehand that a system with many classes is a bad one. These priors are for independent examples, which
        others than the system's own metric are not of.
        """
        if self.pooled.scope.kind != "system":
            return {}
        name, counts, classes = self.metric_names[0], self.foremost.observed, len(self.counts.labels)
        metric = metrics.get(name)
        if counts is None or classes > _MOST_CLASSES or metric.average == "per_class" or metric.needs == "scores":
            return {}
        usual = ["flat", "jeffreys", "perks"] if self.counts.graded or classes == 2 else ["shared", "perks"]
        own = "" if self.own_posterior else resolve_for(self.settings.prior, self.counts).name
        data = Outcomes(as_outcomes(counts)) if self.counts.graded else ConfusionMatrix(counts, self.counts.pos_label)
        under = posteriors_under(data, [prior for prior in usual if prior != own])
        return {prior: self.first_of_foremost if prior == own else under[prior][name] for prior in usual}

    @cached_property
    def headline(self) -> list[str]:
        """The metrics that answer the question, required, requested or usual; the first decides which is best.

        With a rare positive class, with more than two classes, or of each of several labels, accuracy says little. With
        a rare positive class, the ROC AUC can be high where most alarms are false; average precision is not.
        """
        if self.requirements:
            return list(dict.fromkeys(requirement.metric for requirement in self.requirements))
        if self.settings.metrics:
            return [metrics.get(self.settings.metrics[0]).name]
        usual, positive = self._usual_metrics, self.pooled.positive
        if self.counts.graded:
            return usual[:1]
        is_rare = positive is not None and self._shares[..., positive].max() < _RARE
        if len(self.counts.labels) > 2:
            called = ["recall_macro"]
        elif self.settings.scores_alone:
            called = ["roc_auc", "average_precision"] if is_rare else ["roc_auc"]
        elif is_rare:
            called = ["recall", "precision"]
        elif positive is not None and LABEL in self.pooled.dims:
            called = ["f1"]
        else:
            called = []
        return [name for name in called if name in usual] or usual[:1]

    @cached_property
    def metric_names(self) -> list[str]:
        """Canonical names of the shown metrics, the headline first, including the required ones."""
        asked = [metrics.get(name).name for name in self.settings.metrics]
        return list(dict.fromkeys([*self.headline, *(asked or self._usual_metrics)]))

    @property
    def _usual_metrics(self) -> list[str]:
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
                marginal.quantity.greater_is_better is not None
                and marginal.dims == self.pooled.dims
                and marginal.leading.size > 1
            ):
                first = int(np.argmax(marginal.quantity.better * marginal.mean().values))
                best = str(marginal.leading[marginal.dims[0]].values[first])
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
        prob, marginals, (of_labels, _) = self.settings.ci_prob, self.marginals, _labels_and_scores(self.metric_names)
        observed = [marginal.observed.values for marginal in marginals.values()]
        facts = self.pooled.interval_attrs(prob, "hdi") if of_labels else self._attrs_of_scores
        pooled = Summary.of(summary_rows(list(marginals.values()), prob, "hdi", observed), **facts)
        if self.folds is None or not of_labels:
            return pooled
        by_fold = self.folds.summary(of_labels, ci_prob=prob)
        at = by_fold.columns.get_loc(FOLD)
        assert isinstance(at, int)
        pooled.insert(at, FOLD, "pooled")
        rows = pd.concat([pooled, by_fold.astype({FOLD: object})], ignore_index=True)
        rows = rows.sort_values(
            "metric", key=lambda m: m.map(self.metric_names.index), kind="stable", ignore_index=True
        )
        rows.attrs = pooled.attrs
        return rows

    @property
    def _attrs_of_scores(self) -> dict[Any, Any]:
        """What describes the intervals of a table of metrics of scores."""
        estimand = f"{self.marginals[self.metric_names[0]].inference} of the system's metric"
        return {"ci_prob": self.settings.ci_prob, "ci_kind": "hdi", "estimand": estimand, "prior": OF_WEIGHTS}

    @property
    def is_observed(self) -> bool:
        """Whether figures have an observed value: of examples of which people verified some they have none."""
        return bool(self.summary["observed"].notna().any())

    @property
    def is_paired(self) -> bool:
        """Whether the systems are compared on the same examples, row by row."""
        if self.settings.cluster is not None and self.settings.judge is None:
            return self.settings.id == ROW
        return self.paired is not None or any(map(self.pooled.source.joint_over, self.pooled.dims))

    @property
    def alike_in(self) -> str:
        """The dim of the groups or clusters whose members may be alike; empty if each example is taken by itself."""
        scope = self.pooled.scope
        return scope.dim if scope.kind in ("mean", "clusters") else ""

    @property
    def attempts(self) -> ClusterWeights | None:
        """Where figures of attempts come from, which pass or fail at questions; None if rows are anything else."""
        attempts: ClusterWeights | None = self.pooled.source.attempts
        return attempts if self.settings.grade is None else None

    @property
    def of_labels(self) -> bool:
        """Whether the matrices are the labels of examples with several labels, which are not systems to compare."""
        return same_examples(self.counts.counts) == self.settings.system == LABEL

    @cached_property
    def headline_comparison(self) -> list[MetricComparison]:
        """The comparison of the systems by the first metric; empty if there is only one system."""
        return self._comparisons_by(self.metric_names[:1])

    @cached_property
    def comparisons(self) -> list[MetricComparison]:
        """The comparison of the systems by each metric; empty if there is only one system."""
        return self.headline_comparison + self._comparisons_by(self.metric_names[1:])

    def _comparisons_by(self, names: Sequence[str]) -> list[MetricComparison]:
        """Return the comparison of the systems by some metrics."""
        s, baseline = self.settings, self.baseline
        if s.system is None or self.of_labels or self.counts.counts.sizes[s.system] < 2:
            return []
        options = {"dim": s.system, "rope": s.rope, "random_seed": s.seed, "baseline": baseline}
        of_counts, of_scores = _labels_and_scores(names)
        found = compare_areas([self.marginals[name] for name in of_scores], **options)
        if isinstance(self.paired, Counted):
            options["prior"] = s.prior
        of_labels = compare_systems(self.pooled, self.paired, of_counts, **options)
        found |= {each.comparison.metric: each for each in of_labels}
        return [found[name] for name in names]

    @cached_property
    def compared_averages(self) -> list[MetricComparison]:
        """The comparison of the systems by metrics averaged over the labels of a row."""
        s = self.settings
        options = {"dim": s.system, "rope": s.rope, "random_seed": s.seed, "baseline": self.baseline}
        return list(compare_areas(self.averages, **options).values())

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
        if len(self.requirements) < 2 or _labels_and_scores([each.metric for each in self.requirements])[1]:
            return None
        strictest: dict[str | metrics.Metric, float] = {}
        for r in self.requirements:
            strictest[r.metric] = (max if r.at_least else min)(r.bound, strictest.get(r.metric, r.bound))
        return self.pooled.prob_joint(strictest)


def _labels_and_scores(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the metrics of predicted labels, and those of scores."""
    of_scores = [name for name in names if metrics.get(name).needs == "scores"]
    return [name for name in names if name not in of_scores], of_scores
