"""Results from scores: curves, the areas under them, and the performance at thresholds chosen on other examples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import curves, metrics
from bayesperf.comparison.comparing import compare
from bayesperf.comparison.result import Comparison
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.files.option_table import Settings
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.reports.blocks import number
from bayesperf.reports.comparison_tables import named_baseline

# Readers look at whole curves, so bands are to contain a whole curve.
BAND = "simultaneous"
AREAS = {"roc_auc": "area under the ROC curve", "average_precision": "average precision"}
# The weight at which both kinds of errors count the same.
ALPHA = 0.5
# Error rates at thresholds chosen beforehand: E_V1, E_V2 and G of Bengio, Mariéthoz & Keller (2005).
EXPECTED = {"half_total_error_rate": "HTER at α = ½", "G": "G", "E_V1": "E_V1 (by FAR)", "E_V2": "E_V2 (by FRR)"}
# Metrics shown over the thresholds of a score, and the number of thresholds.
THRESHOLD_METRICS = ("recall", "precision", "specificity")
_N_THRESHOLDS = 61
# So many different probabilities at most are told apart: of more, neighbours stand for their mean.
_MOST_PROBABILITIES = 2_000
# So many standard errors below ½ an area is so beyond doubt; and scores that go from 0 or more to between these may be
# percentages.
_BEYOND_DOUBT, _PERCENT = 3, (10, 100)
# Numbers up to this are rounding errors.
_NEGLIGIBLE = 1e-12


class Split(NamedTuple):
    """A split into test rows, on which systems are tested, and development rows, on which thresholds are chosen."""

    column: str
    test: str
    n_test: int
    dev: str
    n_dev: int


@contextmanager
def _few_positives_are_remarked_on() -> Iterator[None]:
    """Silence the warning of too few positives, which are remarked on where the areas are shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*\(BP703\)$", category=UserWarning)
        yield


class LabelledScores(NamedTuple):
    """Actual labels of examples, and a system's scores of them."""

    y_true: pd.Series[Any]
    y_score: Array


@dataclass(frozen=True, eq=False)
class ScoredSystem:
    """The scores of one system."""

    # Values of the columns that tell systems apart, that of the system itself first.
    names: tuple[str, ...]
    # Examples on which the system is tested.
    test: LabelledScores
    # Examples on which its thresholds are chosen.
    dev: LabelledScores | None
    pos_label: Any
    prior: str | None
    random_seed: int
    # The test examples, counted by score, or by the bins in which a file was counted.
    by_score: curves.BinnedScores
    # The same in fewer bins, if they are many.
    counted: curves.BinnedScores | None = None

    @cached_property
    def roc(self) -> curves.ThresholdCurve:
        """The ROC curve."""
        return curves.roc_curve(*self._curve_data, **self._curve_options)

    @cached_property
    def precision_recall(self) -> curves.ThresholdCurve:
        """The precision–recall curve."""
        return curves.precision_recall_curve(*self._curve_data, **self._curve_options)

    @cached_property
    def areas(self) -> dict[str, Marginal]:
        """The areas under both curves, by the names of `AREAS`."""
        with _few_positives_are_remarked_on():
            return {
                "roc_auc": curves.roc_auc(*self._curve_data, **self._curve_options),
                "average_precision": self.precision_recall.area,
            }

    def metric(self, name: str) -> Marginal:
        """Return the posterior of a metric of scores."""
        return self.areas[name] if name in AREAS else self.calibration[name]

    def observed(self, name: str) -> float:
        """Return the value of a metric of scores in these examples, or in the bins in which they were counted."""
        metric, by_score = metrics.get(name), self.by_score
        known = {"positives": by_score.positives, "negatives": by_score.negatives, "scores": by_score.values}
        return float(metric.function(**{argument: known[argument] for argument in metric.arguments}))

    @cached_property
    def expected(self) -> curves.ExpectedPerformanceCurve:
        """The half total error rate over α, at thresholds chosen on the development examples."""
        return curves.epc(dev=self.dev, test=self.test, prior=self.prior, **self._options)

    @property
    def threshold(self) -> float:
        """The threshold with the smallest half total error rate on the development examples."""
        return float(self.expected.dataset["threshold"].sel(alpha=ALPHA))

    # ── Of scores that are probabilities ──

    @cached_property
    def probabilities(self) -> curves.BinnedScores | None:
        """The scores counted by probability, neighbours merged if many occur; None if they are not probabilities."""
        from bayesperf.curves.reliability.frequencies import ProbabilityCounts

        values, edges = self.by_score.values, self.by_score.edges
        if values[0] < 0 or values[-1] > 1:
            return None
        within = replace(self.by_score, edges=None if edges is None else np.minimum(edges, 1))
        counts = ProbabilityCounts.of_bins(within).at_most(_MOST_PROBABILITIES)
        return curves.BinnedScores(counts.values, counts.positives, counts.negatives, None)

    @cached_property
    def calibration(self) -> curves.Calibration:
        """Measures of the calibration of the probabilities."""
        return curves.calibration(self.probabilities, random_seed=self.random_seed, progressbar=False)

    @cached_property
    def reliability(self) -> curves.ReliabilityCurve:
        """The isotonic reliability curve of the probabilities."""
        return curves.reliability_curve(self.probabilities)

    @cached_property
    def decisions(self) -> curves.DecisionCurve:
        """The decision curve of the probabilities."""
        return curves.decision_curve(self.probabilities, random_seed=self.random_seed)

    def calibration_in_words(self, ci_prob: float) -> str:
        """Return sentences on the calibration, and why there is no slope or no log loss."""
        said = self.calibration.sentences(ci_prob)[0]
        left_out, certain = self.calibration.parts[""].left_out, self.reliability.parts[""].certain
        if "calibration_slope" in left_out:
            said += (
                f" A calibration slope cannot be computed: {certain:,} probabilities are exactly 0 or 1, and their "
                "log-odds are infinite."
            )
        if "log_loss" in left_out:
            said += " The log loss is infinite, because some outcomes that happened had probability 0."
        return said

    @property
    def _curve_data(self) -> tuple[Any, ...]:
        return self.test if self.counted is None else (self.counted,)

    @property
    def _curve_options(self) -> dict[str, Any]:
        return self._options if self.counted is None else {"random_seed": self.random_seed}

    def at_thresholds(self, thresholds: Array) -> ConfusionMatrix:
        """Return the counts at thresholds, or at the edges of bins next below them."""
        if self.counted is None:
            return ConfusionMatrix.from_scores(*self.test, thresholds=thresholds, pos_label=self.pos_label)
        values = self.counted.values
        edges = np.unique(values[np.searchsorted(values, thresholds, side="right").clip(1) - 1])
        fp, tp = self.counted.called(edges)
        negatives, positives = self.counted.class_totals
        return ConfusionMatrix.from_counts(
            tp=tp, fn=positives - tp, fp=fp, tn=negatives - fp, dims={"threshold": edges.tolist()}
        )

    @property
    def _options(self) -> dict[str, Any]:
        return {"pos_label": self.pos_label, "random_seed": self.random_seed}


@dataclass(frozen=True, eq=False)
class ScoredSystems:
    """The scores of all systems of a file."""

    systems: list[ScoredSystem]
    # Columns that tell systems apart, that of the systems themselves first.
    dims: list[str]
    # Which rows thresholds are chosen on, if any.
    split: Split | None
    # Whether the systems were tested on the same examples, which are then in the same order.
    paired: bool
    settings: Settings

    @cached_property
    def places(self) -> dict[str, list[ScoredSystem]]:
        """The systems that share a place: their values in all columns but the first."""
        places: dict[str, list[ScoredSystem]] = {}
        for system in self.systems:
            places.setdefault(", ".join(system.names[1:]), []).append(system)
        return places

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether all scores of all systems are between 0 and 1."""
        return all(system.probabilities is not None for system in self.systems)

    @property
    def no_probabilities(self) -> str:
        """A sentence that says why scores are not treated as probabilities; empty if they are."""
        if self.are_probabilities:
            return ""
        ends = np.array([system.by_score.values[[0, -1]] for system in self.systems])
        return (
            f"The scores go from {ends.min():.4g} to {ends.max():.4g}, so they are not probabilities. This report "
            "therefore does not ask whether they can be trusted, or at which thresholds they are useful."
        )

    @cached_property
    def calibration_rows(self) -> list[dict[str, Any]]:
        """A row for each system and measure of calibration, as of `bayesperf.curves.Calibration.summary`."""
        return [
            self._where(system) | {str(key): value for key, value in row.items()}
            for system in self.systems
            for row in system.calibration.summary(self.settings.ci_prob).to_dict("records")
        ]

    @cached_property
    def useful_rows(self) -> list[dict[str, Any]]:
        """A row for each system and range of thresholds in which it is useful, as of `DecisionCurve.useful_ranges`."""
        return [
            self._where(system) | {str(key): value for key, value in row.items()}
            for system in self.systems
            for row in system.decisions.useful_ranges(self.settings.ci_prob).to_dict("records")
        ]

    @cached_property
    def area_rows(self) -> list[dict[str, Any]]:
        """A row for each area and system: its posterior mean and highest-density interval."""
        return [
            {
                "area": name,
                **self._where(system),
                "mean": area.mean().item(),
                "sd": area.sd().item(),
                **self._bounds(area.hdi(self.settings.ci_prob).values),
                "ci_kind": "hdi",
                "estimand": area.estimand,
                "mcse": area.mcse().item(),
                "mcse_interval": area.mcse_interval(self.settings.ci_prob).item(),
            }
            for name in AREAS
            for system in self.systems
            for area in [system.areas[name]]
        ]

    @cached_property
    def compared_areas(self) -> dict[str, Comparison]:
        """The comparison of areas under ROC curves at each place, if systems were tested on the same examples."""
        if not self.paired:
            return {}
        return {
            place: compare(
                curves.roc_auc(
                    systems[0].test.y_true,
                    {system.names[0]: system.test.y_score for system in systems},
                    pos_label=systems[0].pos_label,
                    random_seed=self.settings.seed,
                ),
                rope=self.settings.rope,
                baseline=named_baseline(self.settings.baseline, [system.names[0] for system in systems]),
            )
            for place, systems in self.places.items()
            if len(systems) > 1
        }

    @property
    def warnings(self) -> list[str]:
        """Sentences on scores that are probably not scores of the positive class."""
        return about_scores(self)

    @property
    def metric_names(self) -> list[str]:
        """The metrics of scores: the areas, and the Brier score of probabilities."""
        return [*AREAS, *(["brier"] if self.are_probabilities else [])]

    def marginal(self, name: str, leading: xr.DataArray) -> Marginal:
        """Return a metric of scores over the leading dims of the systems.

        Its draws are joint: systems tested on the same examples share their weights, other systems have weights of
        their own.
        """
        from bayesperf.curves.scored_systems import draws_along, marginal_of_scores

        if name not in self.metric_names:
            raise InputError(f"--metric {name}", "it is of probabilities.", self.no_probabilities)
        places = {str(dim): leading[dim].values for dim in leading.dims}
        order = [
            tuple(str(places[dim][at[leading.dims.index(dim)]]) for dim in self.dims)
            for at in np.ndindex(leading.shape)
        ]
        by_names = {system.names: system for system in self.systems}
        parts = self._joint_metric(name) if self.paired else {names: by_names[names].metric(name) for names in order}
        drawn = np.stack([draws_along(parts[names])[0] for names in order])
        if not self.paired:
            # Systems with the same number of examples would share weights that belong to other examples.
            drawn = np.random.default_rng(self.settings.seed).permuted(drawn, axis=1)
        totals = np.reshape([by_names[names].by_score.class_totals for names in order], (*leading.shape, 2))
        observed = np.reshape([by_names[names].observed(name) for names in order], leading.shape)
        first = parts[order[0]]
        return marginal_of_scores(
            first.quantity,
            drawn,
            first.random_seed,
            leading,
            inference=first.inference,
            examples=xr.DataArray(totals, leading.coords, (*leading.dims, "actual")),
            score=leading.copy(data=observed).rename(name),
            joint=True,
        )

    def _joint_metric(self, name: str) -> dict[tuple[str, ...], Marginal]:
        """Return a metric of each system, by draws that are joint over the systems of a place."""
        found: dict[tuple[str, ...], Marginal] = {}
        for systems in self.places.values():
            y_true, scores = systems[0].test.y_true, {system.names: system.test.y_score for system in systems}
            options: dict[str, Any] = {"pos_label": systems[0].pos_label, "random_seed": self.settings.seed}
            with _few_positives_are_remarked_on():
                by_name = {str(place): score for place, score in enumerate(scores.values())}
                joint = (
                    curves.roc_auc(y_true, by_name, **options)
                    if name == "roc_auc"
                    else curves.weighted_score(name, y_true, by_name, progressbar=False, **options)
                )
            found |= {names: joint.isel(model=place) for place, names in enumerate(scores)}
        return found

    @cached_property
    def over_thresholds(self) -> dict[str, Posterior]:
        """The posterior of each system over thresholds from the 1st to the 99th percentile of all scores.

        Both classes count alike: thresholds reach the scores of positives that are rare.
        """
        counted = [system.by_score for system in self.systems]
        scores = np.concatenate([each.values for each in counted])
        shares = [
            np.stack([each.negatives, each.positives]) / np.reshape(each.class_totals, (2, 1)) for each in counted
        ]
        low, high = np.quantile(scores, [0.01, 0.99], weights=np.hstack(shares).sum(0), method="inverted_cdf")
        if not low < high:
            low, high = scores.min(), scores.max()
        if not low < high:
            return {}
        return {
            ", ".join(system.names): posterior(
                system.at_thresholds(np.linspace(low, high, _N_THRESHOLDS)),
                system.prior,
                random_seed=system.random_seed,
            )
            for system in self.systems
        }

    @cached_property
    def expected_rows(self) -> list[dict[str, Any]]:
        """A row for each quantity and system: error rates at thresholds chosen on the development examples.

        The half total error rate is measured at the threshold for α = ½. All rates are measured on the test examples,
        with equal-tailed intervals.
        """
        if self.split is None:
            return []
        at_half = [self._half_total_error(system) for system in self.systems]
        summed = [system.expected.expected_performance() for system in self.systems]
        rows: list[dict[str, Any]] = [
            self._row("half_total_error_rate", system, **rate)
            for system, rate in zip(self.systems, at_half, strict=True)
        ]
        for name in list(EXPECTED)[1:]:
            for system, rates in zip(self.systems, summed, strict=True):
                rate = rates.sel(quantity=name)
                interval = self._bounds(rate.eti(self.settings.ci_prob).values)
                rows.append(self._row(name, system, observed=rate.observed.item(), **interval))
        return rows

    @cached_property
    def compared_curves(self) -> dict[str, curves.ExpectedPerformanceCurve]:
        """The expected performance curve of both systems together at each place with just two."""
        if self.split is None:
            return {}
        return {
            place: replace(
                systems[0].expected,
                parts={system.names[0]: system.expected.system for system in systems},
                paired=self.paired,
                random_seed=self.settings.seed,
            )
            for place, systems in self.places.items()
            if len(systems) == 2
        }

    def _half_total_error(self, system: ScoredSystem) -> dict[str, float]:
        """Return the threshold chosen for α = ½, and the half total error rate there."""
        curve = system.expected
        rate = posterior(curve.cm.sel(alpha=ALPHA), system.prior, random_seed=system.random_seed)[curve.metric]
        interval = self._bounds(rate.eti(self.settings.ci_prob).values)
        observed = curve.dataset[curve.metric.name].sel(alpha=ALPHA).item()
        return {"alpha": ALPHA, "threshold": system.threshold, "observed": observed, **interval}

    def _row(self, quantity: str, system: ScoredSystem, **figures: float) -> dict[str, Any]:
        where = self._where(system)
        return {"quantity": quantity, **where, "alpha": np.nan, "threshold": np.nan, **figures, "ci_kind": "eti"}

    def _where(self, system: ScoredSystem) -> dict[str, str]:
        return dict(zip(self.dims, system.names, strict=True))

    @staticmethod
    def _bounds(interval: Array) -> dict[str, float]:
        return {"ci_lower": float(interval[0]), "ci_upper": float(interval[1])}


# ── In words ──


def about_scores(scores: ScoredSystems) -> list[str]:
    """Return warnings about scores that are probably the label, reversed, or percentages."""
    said = []
    for system in scores.systems:
        by_score, of = system.by_score, f" of {', '.join(system.names)}" if system.names else ""
        area, few = system.observed("roc_auc"), len(by_score.values) == 2
        negatives, positives = map(int, by_score.class_totals)
        error = np.sqrt((negatives + positives + 1) / (12 * negatives * positives))
        if few and area in (0, 1):
            said.append(f"The score{of} has two values, one for each actual class: it is the label, not a score.")
        elif area < 0.5 - _BEYOND_DOUBT * error:
            said.append(
                f"Scores{of} are reversed: {system.pos_label!r} is the positive class and has the smaller scores "
                f"(area under the ROC curve {area:.3f}). Name the other class as --pos-label, or change their sign."
            )
        elif few:
            said.append(f"The score{of} has only two values, like labels: pass its column as --predicted.")
    least, greatest = (
        end(system.by_score.values[at] for system in scores.systems) for end, at in ((min, 0), (max, -1))
    )
    if least >= 0 and _PERCENT[0] < greatest <= _PERCENT[1]:
        said.append(
            f"The scores go from {least:.4g} to {greatest:.4g}, like percentages. Only their order counts here; to "
            "judge them as probabilities, divide them by 100."
        )
    return said


ABOUT_EXPECTED = (
    "Rates are measured on the test rows; the equal-tailed intervals describe the system with these thresholds. HTER, "
    "the half total error rate, is (FAR + FRR)/2, with FAR the false positive rate and FRR the false negative rate. "
    "The threshold for α = ½ has the smallest HTER on the development rows. E_V1 is the mean HTER over thresholds "
    "chosen there for every FAR from 0 to 1, E_V2 for every FRR, and G is the mean of both."
)


def about_areas(scores: ScoredSystems) -> str:
    """Return how areas were computed, and whether positives are few."""
    from bayesperf.curves.areas.weighted_scores import ENOUGH_POSITIVES

    error = max(row["mcse"] for row in scores.area_rows)
    text = "Areas are estimated by the Bayesian bootstrap"
    text += f"; the Monte Carlo error of their means is at most {error:.1g}." if error > _NEGLIGIBLE else "."
    if (fewest := min(system.roc.class_totals[1] for system in scores.systems)) < ENOUGH_POSITIVES:
        text += f" With so few positives ({fewest}) the average precision is very uncertain."
    return text


def about_split(split: Split) -> str:
    """Return which rows are test rows and which choose thresholds."""
    return (
        f"Systems are tested on the {split.n_test:,} test rows ({split.column} {split.test!r}); thresholds are chosen "
        f"on the {split.n_dev:,} development rows ({split.column} {split.dev!r})."
    )


def of_systems(systems: Sequence[ScoredSystem]) -> str:
    """Return the systems of a picture, in words."""
    names = [", ".join(system.names) for system in systems if system.names]
    return f" of {', '.join(names)}" if names else ""


def with_threshold(name: str, threshold: float) -> str:
    """Return the name of a system, with its threshold if it has one."""
    return "; ".join(filter(None, [name, f"threshold {text}" if (text := number(threshold)) else ""]))
