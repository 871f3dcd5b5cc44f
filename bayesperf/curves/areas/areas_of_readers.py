"""Areas of several readers who score the same cases, with one modality or several (MRMC studies).

Readers are a sample of readers, and cases a sample of cases. The crossed bootstrap (Owen 2007, The pigeonhole
bootstrap, Annals of Applied Statistics 1) draws weights of both, independently: A_m = Σ_j v_j AUC_jm(w).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayesperf.comparison.comparing import compare
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Booleans
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import stream
from bayesperf.core.weights import LEAST, cluster_weights
from bayesperf.curves.areas.bootstrapped_areas import class_pair, drawn_figures, units_of
from bayesperf.curves.areas.delong import Placements, unbiased_covariance
from bayesperf.curves.scored_systems import marginal_of_scores, orders_of
from bayesperf.data.reads import Reads
from bayesperf.groups.answers_over_groups import AnswersOverGroups, Part
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity, Scope

_INFERENCE = "Bayesian bootstrap of readers and cases"
# What a study may be a sample of.
RANDOM = ("readers and cases", "cases", "readers")


@dataclass(frozen=True, eq=False, repr=False)
class ReaderAreas(AnswersOverGroups):
    """Areas under ROC curves of readers who scored the same cases, by `reader_areas`.

    The plot shows each reader's areas, and the average reader's and a new reader's with intervals
    (`bayesperf.plots.reader_areas`).

    Attributes
    ----------
    scores : xarray.DataArray
        Scores (modality, reader, case).
    truth : xarray.DataArray
        Whether each case is positive, (case,).
    drawn : xarray.Dataset
        Draws of areas: ``reader_areas`` (modality, reader, draw), ``average_reader`` and ``these_readers`` (modality,
        draw).
    random_seed : int
        The seed of the draws.

    Notes
    -----
    Weights of cases are standard exponentials, in each class. Weights of J readers are Gamma((J − 2)/J), with which the
    mean over readers has the variance of a sample of readers. docs/coverage.md shows how often the intervals cover.
    """

    scores: xr.DataArray
    truth: xr.DataArray
    drawn: xr.Dataset
    random_seed: int

    drawn_by = "reader_areas"
    dim = "reader"

    # ── Answers ──

    @property
    def average_reader(self) -> Marginal:
        """The area of the average of all readers like these, over ``modality``, joint."""
        return self._marginal(Scope("mean", "reader"), self.drawn["average_reader"], self.observed.mean("reader"))

    @property
    def these_readers(self) -> Marginal:
        """The mean area of these readers on new cases, over ``modality``, joint."""
        scope = Scope("average", "reader", detail="the AUC")
        return self._marginal(scope, self.drawn["these_readers"], self.observed.mean("reader"))

    @property
    def by_reader(self) -> Marginal:
        """The area of each reader on new cases, over ``modality`` and ``reader``, joint."""
        return self._marginal(Scope("group", "reader"), self.drawn["reader_areas"], self.observed)

    @cached_property
    def new_reader(self) -> Marginal:
        """Prediction of the area of a new reader, over ``modality``, joint.

        The average reader's area, and a normal deviation on the log-odds scale. Its covariance over modalities is
        drawn: the covariance of the observed areas, from its inverse-Wishart posterior with J − 1 degrees of freedom,
        less what the cases contribute to it.
        """
        average, fit = self.drawn["average_reader"], self._anova
        m, draws = average.shape
        rng = stream(self.random_seed, "new reader", self.scores.values)
        between = fit.between_readers(draws, rng)
        values, vectors = np.linalg.eigh(between)
        deviates = (vectors * np.sqrt(np.maximum(values, 0))[:, None]) @ rng.standard_normal((draws, m, 1))
        inner = np.clip(average.values, 1e-6, 1 - 1e-6)
        moved = special.expit(special.logit(inner) + deviates[..., 0].T / (inner * (1 - inner)))
        return self._marginal(Scope("new_group", "reader"), average.copy(data=moved), None)

    def _marginal(self, scope: Scope, drawn: xr.DataArray, score: xr.DataArray | None) -> Marginal:
        quantity = Quantity("roc_auc", scope, greater_is_better=True, words="AUC", bounds=(0.0, 1.0))
        leading = drawn.isel(draw=0, drop=True)
        inference = _INFERENCE if score is not None else "Prediction"
        return marginal_of_scores(
            quantity, drawn.values, self.random_seed, leading, inference=inference, score=score, joint=True
        )

    @cached_property
    def observed(self) -> xr.DataArray:
        """The observed areas (modality, reader), ties counted half."""
        return xr.zeros_like(self.drawn["reader_areas"].isel(draw=0, drop=True)).copy(data=self._anova.areas)

    # ── The reference: Obuchowski & Rockette ──

    @cached_property
    def _anova(self) -> Anova:
        return self._anova_of("delong")

    def _anova_of(self, covariance: str) -> Anova:
        m, j, n = self.scores.shape
        flat, positive = self.scores.values.reshape(m * j, n), self.truth.values
        placements = Placements.of(flat[:, positive], flat[:, ~positive])
        of_areas: dict[str, Callable[[], Array]] = {
            "delong": lambda: placements.covariance,
            "jackknife": lambda: placements.jackknife,
            "unbiased": lambda: unbiased_covariance(flat[:, positive], flat[:, ~positive]),
        }
        chosen = of_areas[checks.one_of("covariance", covariance, tuple(of_areas))]()
        return Anova.of(placements.mean.reshape(m, j), chosen.reshape(m, j, m, j))

    @checked
    def obuchowski_rockette(
        self, confidence: float = 0.95, *, random: str = "readers and cases", covariance: str = "delong"
    ) -> pd.DataFrame:
        """Return confidence intervals by Obuchowski & Rockette's analysis of variance, for a reviewer.

        Parameters
        ----------
        confidence : float
            Confidence of the intervals, which are not clipped.
        random : {"readers and cases", "cases", "readers"}
            What is a sample. Degrees of freedom are Hillis'; if only cases are a sample, intervals are normal.
        covariance : {"delong", "jackknife", "unbiased"}
            How the errors of areas are estimated: "jackknife" leaves each case out; "unbiased" is the U-statistic of
            Gallas (2006), with which standard errors are those of iMRMC (it rounds degrees of freedom down).

        Returns
        -------
        pandas.DataFrame
            A row for each modality and for each difference, ``modality`` minus ``versus``: ``estimate, se, df,
            ci_lower, ci_upper, p_value``. The ``attrs`` have the components of variance and, of several modalities, the
            F test that all have the same area: mean squares, ``denominator``, ``f``, ``df1``, ``df2``.

        References
        ----------
        Obuchowski & Rockette (1995), Communications in Statistics 24; Hillis (2007), Statistics in Medicine 26; Gallas
        (2006), Academic Radiology 13.
        """
        checks.one_of("random", random, RANDOM)
        anova = self._anova if covariance == "delong" else self._anova_of(covariance)
        names = self.scores["modality"].values.tolist()
        table = pd.DataFrame(anova.rows(names, checks.probability("confidence", confidence), random))
        table.attrs.update(anova.components() | anova.test(random) | {"confidence": confidence})
        return table

    @checked
    def plan(self, difference: float, readers: Sequence[int], cases: Sequence[int]) -> pd.DataFrame:
        """Return what studies of other sizes would show of a difference between two modalities.

        Parameters
        ----------
        difference : float
            A true difference of areas.
        readers, cases : sequence of int
            Numbers of readers, and of cases with these proportions of positives.

        Returns
        -------
        pandas.DataFrame
            For each pair of numbers: ``readers, cases, se, df, half_width`` of the 95 % interval, and ``power``, the
            probability that the interval excludes 0. By the components of variance of this study (Hillis, Obuchowski &
            Berbaum 2011, Academic Radiology 18), taken as known.

        Raises
        ------
        ValueError
            If the study has one modality, or differences of areas have no variance in it.
        """
        if self.scores.sizes["modality"] == 1:
            raise InputError("plan", "differences are of two modalities, and this study has one.", "Read with another.")
        number = self.scores.sizes["case"]
        counts = {"readers": readers, "cases": cases}
        sizes = {name: [checks.count(name, n, least=2) for n in each] for name, each in counts.items()}
        apart = checks.number("difference", difference)
        rows = [self._anova.planned(apart, j, n, n / number) for j in sizes["readers"] for n in sizes["cases"]]
        return pd.DataFrame(rows)

    # ── Words, table and figure ──

    def _parts(self) -> list[Part]:
        among = f"among readers like these {self.scores.sizes['reader']},"
        return [
            Part("average reader", f"for the average reader, {among}", self.average_reader),
            Part("new reader", "for a new reader,", self.new_reader),
            Part("these readers", "for these readers,", self.these_readers),
            Part("reader", "", self.by_reader),
        ]

    def _estimand(self) -> str:
        return f"{_INFERENCE} of areas"

    # The area is the only metric.
    def summary(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:  # type: ignore[override]
        """Return a tidy table of the average reader, a new reader, these readers and each reader.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the intervals.

        Returns
        -------
        pandas.DataFrame
            As from `Posterior.summary`, with a first column ``answer``, and a column ``reader`` that is empty except
            for the readers themselves.
        """
        return self._table(ci_prob, ci_kind)

    def in_words(self, *, rope: float = 0.0, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences: the average reader, a new reader, these readers, and the modalities compared.

        Parameters
        ----------
        rope : float
            Differences of areas that would not matter, as in `bayesperf.compare`.
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the intervals.
        """
        said = self._sentences(ci_prob, ci_kind)
        if self.scores.sizes["modality"] > 1:
            compared = compare(self.average_reader, dim="modality", rope=rope)
            said.append(compared.in_words(ci_prob=ci_prob, ci_kind=ci_kind))
        return " ".join(said)

    def table_below(self, **options: Any) -> pd.DataFrame:
        """Return the table without the readers one by one; see `summary`."""
        table = self.summary(**options)
        return table[table["answer"] != "reader"]

    def __repr__(self) -> str:
        m, j, n = self.scores.shape
        return f"<bayesperf.curves.ReaderAreas: {j} readers, modalities: {m}, {n} cases>"


class Anova(NamedTuple):
    """Obuchowski & Rockette's analysis of areas (modality, reader).

    The errors of two areas have the variance `error` and the covariances `cov1` (the same reader, another modality),
    `cov2` (the same modality, another reader) and `cov3` (both differ); `error_of` and `cov2_of` are those of each
    modality.
    """

    areas: Array
    error: float
    cov1: float
    cov2: float
    cov3: float
    error_of: Array
    cov2_of: Array

    @classmethod
    def of(cls, areas: Array, covariance: Array) -> Anova:
        """Return the analysis from the covariance (modality, reader, modality, reader) of areas."""
        m, j = areas.shape
        same_modality, same_reader = np.eye(m, dtype=bool)[:, None, :, None], np.eye(j, dtype=bool)[None, :, None]

        def mean(chosen: Booleans) -> float:
            where = np.broadcast_to(chosen, covariance.shape)
            return float(covariance[where].mean()) if where.any() else 0.0

        others = ~np.eye(j, dtype=bool)
        return cls(
            areas,
            mean(same_modality & same_reader),
            mean(~same_modality & same_reader),
            mean(same_modality & ~same_reader),
            mean(~same_modality & ~same_reader),
            np.array([covariance[i, :, i][~others].mean() for i in range(m)]),
            np.array([covariance[i, :, i][others].mean() for i in range(m)]),
        )

    @property
    def of_interaction(self) -> float:
        """The mean square of modality × reader."""
        m, j = self.areas.shape
        rest = self.areas - self.areas.mean(1, keepdims=True) - self.areas.mean(0) + self.areas.mean()
        return float((rest**2).sum() / ((m - 1) * (j - 1))) if m > 1 else 0.0

    @property
    def _apart(self) -> float:
        return max(self.cov2 - self.cov3, 0.0)

    def between_readers(self, draws: int, rng: np.random.Generator) -> Array:
        """Return draws of the covariance of readers' true areas, (draws, modality, modality); it may be indefinite."""
        from scipy import stats

        m, j = self.areas.shape
        values, vectors = np.linalg.eigh(np.cov(self.areas).reshape(m, m) * (j - 1))
        root = vectors * np.sqrt(np.maximum(values, 0))
        precision = stats.wishart(j + m - 2, np.eye(m)).rvs(draws, random_state=rng).reshape(draws, m, m)
        of_cases = np.where(np.eye(m, dtype=bool), self.error - self.cov2, self.cov1 - self.cov3)
        return np.asarray(root @ np.linalg.inv(precision) @ root.T - of_cases)

    def components(self) -> dict[str, float]:
        """Return the components of variance by name; with one modality those that it tells."""
        if len(self.areas) == 1:
            of_reader = float(self.areas.var(ddof=1)) - self.error + self.cov2
            return {"reader": of_reader, "error": self.error, "cov2": self.cov2}
        interaction = self.of_interaction - self.error + self.cov1 + self.cov2 - self.cov3
        between = float(np.cov(self.areas.mean(0)))
        of_reader = between - self.of_interaction / len(self.areas) - self.cov1 + self.cov3
        return {"reader": of_reader, "modality_reader": interaction, "error": self.error, "cov1": self.cov1,
                "cov2": self.cov2, "cov3": self.cov3}  # fmt: skip

    def _denominator(self, random: str) -> tuple[float, float]:
        """Return what the mean square of modalities is compared with, and its degrees of freedom."""
        m, j = self.areas.shape
        if random == "cases":
            return self.error - self.cov1 + (j - 1) * self._apart, np.inf
        square = self.of_interaction
        total = square + j * self._apart * (random != "readers")
        return total, total**2 / (square**2 / ((m - 1) * (j - 1))) if square else np.inf

    def test(self, random: str) -> dict[str, float]:
        """Return the F test that modalities have the same area; nothing of one modality."""
        m, j = self.areas.shape
        if m == 1:
            return {}
        denominator, df2 = self._denominator(random)
        square = j * float(self.areas.mean(1).var(ddof=1))
        return {"ms_modality": square, "ms_modality_reader": self.of_interaction, "denominator": denominator,
                "f": square / denominator if denominator else np.nan, "df1": m - 1, "df2": df2}  # fmt: skip

    def rows(self, names: Sequence[Any], confidence: float, random: str) -> list[dict[str, Any]]:
        """Return a row for each modality, and for each pair of them."""
        m, j = self.areas.shape
        means, rows = self.areas.mean(1), []
        for i, name in enumerate(names):
            square = float(self.areas[i].var(ddof=1))
            total = square + j * max(self.cov2_of[i], 0.0) * (random != "readers")
            df = total**2 / (square**2 / (j - 1)) if square else np.inf
            if random == "cases":
                total, df = self.error_of[i] + (j - 1) * self.cov2_of[i], np.inf
            rows.append(_row(name, "", means[i], np.sqrt(max(total, 0.0) / j), df, confidence))
        if m > 1:
            total, df = self._denominator(random)
            se = np.sqrt(2 * max(total, 0.0) / j)
            pairs = [(a, b) for a in range(m) for b in range(a + 1, m)]
            rows += [_row(names[a], names[b], means[a] - means[b], se, df, confidence) for a, b in pairs]
        return rows

    def planned(self, difference: float, readers: int, cases: int, times: float) -> dict[str, Any]:
        """Return the precision and the power of a study with so many readers, and `times` as many cases."""
        interaction = max(self.components()["modality_reader"], 0.0)
        square = max(interaction + (self.error - self.cov1 - self._apart) / times, 0.0)
        total = square + readers * self._apart / times
        if not total > 0:
            problem = "readers are perfect, or score alike with both modalities: nothing is known of other sizes."
            raise InputError("plan", problem, "Read harder cases.")
        df = total**2 / (square**2 / (readers - 1)) if square > 0 else np.inf
        se = np.sqrt(2 * total / readers)
        reach = special.stdtrit(df, 0.975)
        power = special.nctdtr(df, -difference / se, -reach) + special.nctdtr(df, difference / se, -reach)
        return {"readers": readers, "cases": cases, "se": se, "df": df, "half_width": reach * se, "power": power}


def _row(name: Any, versus: Any, estimate: float, se: float, df: float, confidence: float) -> dict[str, Any]:
    reach = special.stdtrit(df, (1 + confidence) / 2) * se
    p = 2 * special.stdtr(df, -abs(estimate) / se) if versus != "" and se else np.nan
    return {"modality": name, "versus": versus, "estimate": estimate, "se": se, "df": df, "ci_lower": estimate - reach,
            "ci_upper": estimate + reach, "p_value": p}  # fmt: skip


@checked
def reader_areas(
    frame: Any,
    *,
    reader: str = "reader",
    case: str = "case",
    modality: str = "modality",
    truth: str = "truth",
    score: str = "score",
    pos_label: Any = None,
    draws: int = 4000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ReaderAreas:
    """Return the areas under the ROC curves of several readers who scored the same cases.

    A reader is a person, or anything that scores cases. A modality is a way of reading: film or screen, alone or with a
    system.

    Parameters
    ----------
    frame : frame
        A row for each read: every reader read every case once with every modality.
    reader, case, modality, truth, score : str
        The columns. ``truth`` has two labels, one for each case; ``score`` is higher for positive. There is one
        modality if no column is called so.
    pos_label : label, optional
        The positive class, if the labels do not imply it.
    draws, random_seed, progressbar
        Of the Bayesian bootstrap.

    Returns
    -------
    ReaderAreas
        The average reader, a new reader, these readers, each reader, and the modalities compared.

    Raises
    ------
    TypeError, ValueError
        If columns are absent or have missing values, a read is missing or occurs twice, a case has two truths, or there
        are fewer than three readers, or two cases of a class.

    Notes
    -----
    Compare modalities by ``bayesperf.compare(study.average_reader, dim="modality", rope=0.05)``, or those of
    ``new_reader`` and ``these_readers``. As for `bayesperf.roc_auc`, each class has half an unseen case more. It is
    each modality's own: a few cases that are read perfectly with both do not show that these are equally good.

    References
    ----------
    Owen (2007), Annals of Applied Statistics 1; Obuchowski & Rockette (1995), Communications in Statistics 24.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bayesperf as bp
    >>> rng = np.random.default_rng(1)
    >>> reads = pd.DataFrame([(r, c, m) for r in "abcd" for c in range(60) for m in ["film", "screen"]],
    ...                      columns=["reader", "case", "modality"])
    >>> reads["truth"] = (reads["case"] < 25).astype(int)
    >>> reads["score"] = rng.normal(reads["truth"] * np.where(reads["modality"] == "film", 1, 1.6))
    >>> study = bp.curves.reader_areas(reads)
    >>> study.average_reader.mean().round(2).values
    array([0.76, 0.89])
    """
    seed, number = checks.seed(random_seed), checks.count("draws", draws, least=2)
    names = {"reader": reader, "case": case, "modality": modality, "truth": truth, "score": score}
    reads = Reads.of(frame, names, pos_label)
    advice = (
        "Leave that case out for all. If readers or modalities have cases of their own, call roc_auc for each. Binary "
        "reads may be missing: fit(frame, 'readers')."
    )
    reads.refuse_repeated(True, advice)
    scores, positive = reads.placed(checks.vector(f"column {score!r}", reads.said), np.nan), reads.is_positive
    j = scores.sizes["reader"]
    if j < LEAST:
        raise InputError(
            "frame", f"has {j} readers, which say nothing of others.", "Call bayesperf.roc_auc for each of them."
        )
    if min(positive.sum(), (~positive).sum()) < 2:
        raise InputError("frame", "needs two cases of each class.")
    rng = stream(seed, "readers and cases", scores.values)
    units = units_of(np.where(positive, 0, 1), None, rng)
    # The unseen case is each modality's own, or modalities that are both read perfectly could not differ. Readers who
    # order cases alike are one in it.
    figures = [
        class_pair(of_modality, positive, ~positive, units, averaged)
        for of_modality in scores.values
        for averaged in (1, len(np.unique(orders_of(of_modality))))
    ]
    drawn_areas = drawn_figures(figures, units, number, rng, progressbar)
    each, shared = np.stack(drawn_areas[::2]), np.stack(drawn_areas[1::2])
    weights = cluster_weights(rng, np.ones(j), number).T.astype(float)
    drawn = {
        "reader_areas": (("modality", "reader", "draw"), each),
        "average_reader": (("modality", "draw"), (shared * weights / weights.sum(0)).sum(1)),
        "these_readers": (("modality", "draw"), shared.mean(1)),
    }
    coords = {name: scores[name].values for name in ("modality", "reader")}
    truth_of = xr.DataArray(positive, {"case": scores["case"].values}, ["case"])
    return ReaderAreas(scores, truth_of, xr.Dataset(drawn, coords), seed)
