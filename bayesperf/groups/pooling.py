"""Folds, sites, days, images: the hierarchical model of binary counts over groups, by quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError, PriorWarning, warn
from bayesperf.core.random_streams import streams
from bayesperf.core.words import enumerated, sentence
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.counted import Counted
from bayesperf.data.cross_validation import (
    FOLD,
    REPEAT,
    folds_of_all_repeats,
    refuse_sum,
    repeated_dim,
    unmark_repeats,
)
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.draws import Draws
from bayesperf.groups.attempts import place_of_right, quantity_of_k, refuse_too_few, score_of_k
from bayesperf.groups.group_draws import PREVALENCE, GroupShares, PooledDraws
from bayesperf.groups.pooled_clusters import PooledClusters, pool_clusters
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind, Marginal, Origin
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored
from bayesperf.posteriors.summary_table import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The Beta prior of the dispersion of rates, by what the groups are.
DISPERSION = {"random": (1.0, 24.0), "clusters": (1.0, 9.0)}
# That of questions asked several times, of which many are nearly always solved or hardly ever.
QUESTIONS = (1.0, 1.0)
# The same of prevalence, in which clusters often differ more; random folds are parts of one population.
PREVALENCE_DISPERSION = {"random": None, "clusters": (1.0, 3.0)}
# Default number of draws of more than two classes.
_DRAWS_OF_CLASSES = 5_000
# Where prior and posterior have this much of their mass in common, the data have said nothing.
_SAME_AS_PRIOR = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Pooled(Answer):
    """Binary matrices pooled over groups, by `pool`.

    Attributes
    ----------
    cm : ConfusionMatrix or Outcomes
        The counts.
    dim : str
        The dim of the groups.
    kind : {"random", "clusters"}
        What the groups are.
    dispersion_weights : tuple of two float
        The Beta prior of the dispersion.
    repeats : int
        By which the likelihood is divided.
    design : {"joint", "by_actual"}
        How the test set was sampled.
    n_draws, random_seed : int
        Of the posteriors.
    dispersion_given : bool
        Whether the caller gave the prior of the dispersion.
    """

    cm: Counted
    dim: str
    kind: Literal["random", "clusters"]
    dispersion_weights: tuple[float, float]
    repeats: int
    design: Literal["joint", "by_actual"]
    n_draws: int
    random_seed: int
    dispersion_given: bool = False

    # ── The three answers ──

    @cached_property
    def mean(self) -> Posterior:
        """Posterior of metrics at the population's mean rates."""
        scope = Scope("mean", self.dim)
        return self._posterior(self._draws.cells("mean"), scope, self._counts.sum(self.dim) / self.repeats)

    @cached_property
    def groups(self) -> Posterior:
        """Posterior of each group's own metrics, with the dim of the groups.

        A group's rate, given p and ρ, is Beta(κp + k, κ(1 − p) + n − k). So is the prevalence of a cluster; random
        folds have the population's.
        """
        return self._posterior(self._draws.cells("groups"), Scope("group", self.dim), self._counts)

    @cached_property
    def new_group(self) -> Posterior:
        """Prediction of the metrics of a group not seen yet.

        Its rates are Beta(κp, κ(1 − p)). So is the prevalence of a cluster; a random fold has the population's.
        """
        learned_from = self._counts.sum(self.dim) / self.repeats
        return self._posterior(self._draws.cells("new_group"), Scope("new_group", self.dim), learned_from=learned_from)

    def _posterior(
        self,
        cells: Array,
        scope: Scope,
        observed: xr.DataArray | None = None,
        learned_from: xr.DataArray | None = None,
    ) -> Posterior:
        template = self._counts.isel({self.dim: 0}, drop=True) if observed is None else observed
        return Posterior(
            source=StoredDraws(stored(cells, template), independent=True),
            pos_label=self.cm.pos_label,
            prior_text=self._prior_text,
            scope=scope,
            observed=observed,
            learned_from=learned_from,
            prevalence="observed" if self.design == "joint" else None,
        )

    # ── The dispersion ──

    @cached_property
    def dispersion(self) -> Marginal:
        """Posterior of the dispersion ρ, over the other leading dims and ``actual``."""
        return Marginal(self._between, self._draws.rates.model.dispersion, self._rows, DispersionOf(self))

    @property
    def dispersion_prior(self) -> Marginal:
        """Prior of the dispersion."""
        origin = BetaDraws(self.dispersion_weights, self.random_seed)
        return Marginal(self._between, _beta(self.dispersion_weights), xr.DataArray(0.0), origin, "Prior")

    @property
    def _between(self) -> Quantity:
        return Quantity("dispersion", Scope("dispersion", self.dim), words="dispersion", bounds=(0.0, 1.0))

    def dispersion_draws(self, n: int, random_seed: int | None) -> Array:
        """Return n draws of the dispersion, (systems × classes, n)."""
        levels = [rng.random((2, checks.count("n", n))) for rng in self._streams("dispersion alone", random_seed)]
        return self._draws.rates.model.dispersion.ppf(np.concatenate(levels))

    @property
    def dispersion_ratio(self) -> xr.DataArray:
        """How much the groups' rates vary, relative to the binomial's variance: Pearson's X²/(groups − 1).

        About 1 where groups differ by chance alone. Coordinate ``defined`` is False, and the ratio 1 by convention,
        where there is nothing to compare: fewer than two groups with examples, or all of them right, or all wrong.
        """
        ratio, defined = (part.reshape(self._rows.shape) for part in self._draws.dispersion_ratio())
        labelled = self._rows.copy(data=ratio).rename("dispersion_ratio")
        return labelled.assign_coords(defined=(labelled.dims, defined))

    @property
    def trials(self) -> xr.DataArray:
        """Number of examples of each actual class in all groups, over the other leading dims and ``actual``."""
        return _without_row(self._counts.sum([self.dim, "predicted"])).rename("trials")

    @cached_property
    def overlap(self) -> xr.DataArray:
        """Mass that prior and posterior of the dispersion have in common; near 1, the data say nothing about it."""
        shared = self._draws.rates.model.dispersion.overlap(_beta(self.dispersion_weights))
        return self._rows.copy(data=shared.reshape(self._rows.shape)).rename("overlap")

    # ── Several attempts ──

    @checked
    def pass_at_k(self, k: int) -> Marginal:
        """Return the probability that at least one of k attempts passes, where groups are questions asked repeatedly.

        An attempt that passes is a true positive, one that fails a false negative.

        Parameters
        ----------
        k : int
            Number of attempts, at least 1, and at most as many as there are of every question.

        Returns
        -------
        Marginal
            With a last leading dim ``of``: a new question of the population, and the mean over these questions. Its
            `observed` is the unbiased estimate (Chen et al. 2021, Evaluating large language models trained on code,
            equation 1).

        Raises
        ------
        ValueError
            If a question was asked fewer than k times, or there is no positive class.

        Notes
        -----
        Questions differ more than sites do: many are nearly always solved, or hardly ever. Their dispersion is Beta(1,
        1) here, whatever it is of the metrics, unless `pool` was given another. ``validation/attempts.py`` has how
        often the intervals cover, of questions of other kinds too.

        A new question passes with probability 1 − E[(1 − x)^k], x ~ Beta(κp, κ(1 − p)), which has a closed form given p
        and ρ; these questions with the mean of 1 − (1 − x_g)^k over the posterior of their rates x_g. With one attempt
        they are the mean over questions, and the share of questions' rates. Systems are independent; of several asked
        the same questions `PooledClusters.pass_at_k` has joint draws.

        Examples
        --------
        Forty questions, each asked five times:

        >>> import bayesperf as bp
        >>> passed = [0] * 10 + [1] * 8 + [3] * 12 + [5] * 10
        >>> cm = bp.ConfusionMatrix.from_counts(
        ...     tp=passed, fn=[5 - n for n in passed], fp=0, tn=0, dims={"question": range(40)})
        >>> at_3 = bp.pool(cm, "question", "clusters").pass_at_k(3)
        >>> at_3.observed.sel(of="these questions").round(3).item()
        0.67
        >>> at_3.hdi().sel(of="a new question").round(2).values
        array([0.54, 0.79])
        """
        return self._of_k(k, every=False)

    @checked
    def pass_hat_k(self, k: int) -> Marginal:
        """Return the probability that all of k attempts pass (pass^k), where groups are questions asked repeatedly.

        A new question passes all of them with probability E[x^k], x ~ Beta(κp, κ(1 − p)), these questions with the mean
        of x_g^k. All else is as in `pass_at_k`.

        Parameters
        ----------
        k : int
            Number of attempts, at least 1, and at most as many as there are of every question.

        References
        ----------
        Yao et al. (2024), τ-bench: a benchmark for tool-agent-user interaction in real-world domains.

        Examples
        --------
        >>> import bayesperf as bp
        >>> passed = [0] * 12 + [1] * 8 + [3] * 10 + [4] * 10
        >>> outcomes = bp.Outcomes.from_counts(right=passed, n=4, dims={"question": range(40)})
        >>> all_of_4 = bp.pool(outcomes, "question", "clusters").pass_hat_k(4)
        >>> all_of_4.observed.sel(of="these questions").item()
        0.25
        >>> all_of_4.hdi().sel(of="a new question").round(2).values
        array([0.15, 0.4 ])
        """
        return self._of_k(k, every=True)

    def _of_k(self, k: int, every: bool) -> Marginal:
        k = checks.count("k", k)
        place, _ = place_of_right(self.cm)
        refuse_too_few(self._draws.trials[:, place].T, k, self.dim)
        rates = self._questions
        alike = rates.all_alike(k, every)[..., place]
        these = rates.groups[..., place, 0 if every else 1].copy()
        values = np.stack([alike, (these**k).mean(1)], 1)
        of = [f"a new {self.dim}", f"these {self.dim}s"]
        quantity = quantity_of_k(k, every, Scope("itself"))
        drawn = (values if every else 1 - values).reshape(-1, 1, self.n_draws)
        return Marginal(
            quantity,
            Draws.of(quantity.metric, drawn, (0.0, 1.0)),
            self._systems.expand_dims(of=of, axis=-1),
            random_seed=self.random_seed,
            score=self._unbiased(k, every, place, of).rename(quantity.metric),
        )

    @cached_property
    def _questions(self) -> GroupShares:
        """Rates of groups that are questions."""
        draws = self._draws if self.dispersion_given else replace(self._draws, dispersion=QUESTIONS)
        return draws.rates

    def _unbiased(self, k: int, every: bool, place: int, of: list[str]) -> xr.DataArray:
        """Return the unbiased estimate of the probability that k attempts pass, beside both questions."""
        scores = score_of_k(self._draws.trials[:, place], self._draws.right[:, place], k, every)
        mean = np.nanmean(scores, 1).reshape(self._systems.shape)
        return self._systems.copy(data=mean).expand_dims(of=of, axis=-1)

    # ── Tables and figures ──

    def summary(
        self, metrics: str | Metric | Sequence[str | Metric] | None = None, ci_prob: float = 0.95, ci_kind: Kind = "hdi"
    ) -> pd.DataFrame:
        """Return a tidy table of the three answers.

        Parameters
        ----------
        metrics, ci_prob, ci_kind
            As in `Posterior.summary`.

        Returns
        -------
        pandas.DataFrame
            As of `Posterior.summary`, with a first column ``answer`` = mean, new group or group, and a column of the
            groups' coordinates, empty for the first two.
        """
        answers = {"mean": self.mean, "new group": self.new_group, "group": self.groups}
        tables = []
        for answer, posterior in answers.items():
            table = posterior.summary(metrics, ci_prob, ci_kind)
            if answer != "group":
                table.insert(1 + len(posterior.dims), self.dim, "")
            table.insert(0, "answer", answer)
            tables.append(table.astype({self.dim: object}))
        joined = pd.concat(tables, ignore_index=True)
        if "undefined" in joined:
            joined = joined.fillna({"undefined": 0.0})
        summary = Summary(joined)
        estimand = f"Metrics at the population mean, of a new {self.dim} and of each {self.dim}"
        summary.attrs = {"ci_prob": ci_prob, "ci_kind": ci_kind, "estimand": estimand, "prior": self._prior_text}
        return summary

    def in_words(self, metric: str | Metric | None = None, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences on a metric: its mean over groups, that of a new group, and the groups at the ends.

        Parameters
        ----------
        metric : str or Metric, optional
            One with a single value, not one a class; by default recall, of outcomes accuracy.
        ci_prob : float
            Probability of the interval.
        ci_kind : {"hdi", "eti"}
            Kind of interval.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cells = {"tp": [8, 19, 30], "fn": [2, 1, 10], "fp": [1, 0, 2], "tn": [9, 20, 28]}
        >>> sites = bp.ConfusionMatrix.from_counts(**cells, dims={"site": ["north", "east", "south"]})
        >>> print(bp.pool(sites, "site", "clusters").in_words("recall"))
        Over 3 sites, the mean of recall is 0.793 (95 % HDI 0.632–0.934; observed 57 of 70). Of a new site recall is \
        0.790 (95 % HDI 0.513–1.000). Of the sites themselves recall is 0.800 (95 % HDI 0.621–0.957; observed 8 of 10) \
        for north, 0.883 (95 % HDI 0.760–0.992; observed 19 of 20) for east and 0.767 (95 % HDI 0.644–0.882; observed \
        30 of 40) for south.
        """
        answers = {
            f"over {self._number}, the mean of": self.mean,
            f"of a new {self.dim}": self.new_group,
            f"of the {self.dim}s themselves": self.groups,
        }
        checks.probability("ci_prob", ci_prob)
        metric = metric or self._usual
        said = [f"{where} {estimate_in_words(post[metric], ci_prob, ci_kind)}" for where, post in answers.items()]
        if self.repeats > 1:
            examples = self._counts.sum([self.dim, *CELL_DIMS]).values.ravel() / self.repeats
            each = enumerated([f"{n:,.0f}" for n in np.unique(examples)])
            said.append(f"{each} examples, each judged once in each of {self.repeats} repeats")
        return " ".join(map(sentence, said))

    def plot(self, metric: str | Metric | None = None, **options: Any) -> Figure:
        """Draw how the groups shrink towards the mean: observed and estimated metrics, the mean, and a new group.

        Parameters
        ----------
        metric : str or Metric, optional
            As of `in_words`.
        **options
            The options ``ci_prob``, ``ci_kind`` and ``ax``, as in `bayesperf.plots.density`.
        """
        from bayesperf import plots

        return plots.shrinkage(self, metric or self._usual, **options)

    def __repr__(self) -> str:
        others = [f"{dim}: {self.cm.counts.sizes[dim]}" for dim in self._systems.dims]
        facts = [
            self._number,
            *others,
            self._prevalence_text,
            f"ρ ~ {self.dispersion_text}",
        ]
        return f"<bayesperf.groups.Pooled: {', '.join(facts)}>"

    # ── Labels and words ──

    @property
    def _counts(self) -> xr.DataArray:
        """The counts, with the dim of the groups as the last leading one."""
        return self.cm.cells.transpose(..., self.dim, *CELL_DIMS)

    @property
    def _systems(self) -> xr.DataArray:
        """Zeros over the leading dims other than that of the groups."""
        return self._rows if self.cm.graded else self._rows.isel(actual=0, drop=True)

    @property
    def _rows(self) -> xr.DataArray:
        """Zeros over the leading dims other than that of the groups, and over the actual classes if there are any."""
        rows = self._counts.isel({self.dim: 0, "predicted": 0}, drop=True)
        return _without_row(xr.zeros_like(rows, dtype=float).rename(None))

    @cached_property
    def _draws(self) -> PooledDraws:
        counts = self._counts.values.reshape(-1, *self._counts.shape[-3:]).astype(float)
        return PooledDraws(
            counts=counts,
            dispersion=self.dispersion_weights,
            prevalence_dispersion=PREVALENCE_DISPERSION[self.kind],
            known_prevalence=self.design == "joint",
            power=1 / self.repeats,
            draws=self.n_draws,
            streams=self._streams,
        )

    def _streams(self, purpose: str, random_seed: Any = None) -> list[np.random.Generator]:
        """Return a random stream for each system."""
        seed = self.random_seed if random_seed is None else checks.seed(random_seed)
        return streams(seed, f"pool: {purpose}", self._systems, self._draws.counts)

    @property
    def _usual(self) -> str:
        return "accuracy" if self.cm.graded else "recall"

    @property
    def _number(self) -> str:
        """How many groups there are, and in how many repeats."""
        groups = f"{self.cm.counts.sizes[self.dim]} {self.dim}s"
        return groups if self.repeats == 1 else f"{groups} of {self.repeats} repeats"

    @property
    def dispersion_text(self) -> str:
        """The prior of the dispersion, in words."""
        return _beta_text(self.dispersion_weights)

    @property
    def _prevalence_text(self) -> str:
        """What prevalence the groups have, in words."""
        if self.cm.graded:
            return "right or wrong"
        if self.design == "by_actual":
            return "prevalence not known"
        return "one prevalence" if self.kind == "random" else "a prevalence each"

    @property
    def _prior_text(self) -> str:
        priors = ["mean rates ~ Beta(1, 1)", f"dispersion ~ {self.dispersion_text}"]
        if self.design == "joint" and not self.cm.graded:
            priors.append(f"prevalence ~ {_beta_text((PREVALENCE, PREVALENCE))}")
            if of_prevalence := PREVALENCE_DISPERSION[self.kind]:
                priors.append(f"dispersion of prevalence ~ {_beta_text(of_prevalence)}")
        weight = f"; examples weigh 1/{self.repeats}" if self.repeats > 1 else ""
        return f"{', '.join(priors)}{weight}"


def _without_row(rows: xr.DataArray) -> xr.DataArray:
    """Return an array over actual classes; of outcomes without their single row."""
    return rows.isel(actual=0, drop=True) if rows.sizes["actual"] == 1 else rows


def _beta_text(weights: tuple[float, float]) -> str:
    a, b = weights
    return f"Beta({a:g}, {b:g})"


def _beta(weights: tuple[float, float]) -> Beta:
    """Return one Beta as a distribution."""
    a, b = (np.array([[weight]]) for weight in weights)
    return Beta(a, b)


@dataclass(frozen=True, eq=False)
class BetaDraws(Origin):
    """Draws of one Beta."""

    weights: tuple[float, float]
    random_seed: int

    def sampled(self, n: int, random_seed: int | None) -> Array:
        rng = np.random.default_rng(self.random_seed if random_seed is None else random_seed)
        return rng.beta(*self.weights, (1, n))


@dataclass(frozen=True, eq=False)
class DispersionOf(Origin):
    """The dispersion of groups."""

    pooled: Pooled

    def sampled(self, n: int, random_seed: int | None) -> Array:
        return self.pooled.dispersion_draws(n, random_seed)


@checked
def pool(
    cm: Counted,
    dim: str | None = None,
    groups: Literal["random", "clusters"] | None = None,
    repeats: int | None = None,
    dispersion: tuple[float, float] | None = None,
    *,
    method: Literal["model", "bayesian_bootstrap"] | None = None,
    prior: str | priors.Prior | None = None,
    design: Literal["joint", "by_actual"] = "joint",
    draws: int | None = None,
    random_seed: Any = 0,
) -> Pooled | PooledClusters:
    """Pool matrices over groups that differ: folds, sites, subjects, days, images.

    Three questions are kept apart: the population's mean, each of these groups, and a new group. With
    ``method="bayesian_bootstrap"`` there is one answer, of any metric of any number of classes: how good a system is on
    examples that come in clusters, and how much better than another on the same ones.

    Parameters
    ----------
    cm : ConfusionMatrix or Outcomes
        With leading dim `dim`, or counted with clusters (``cluster=``); for the model, binary, or right and wrong.
        Other leading dims are as many systems: the model pools each on its own, the bootstrap draws them jointly.
    dim : str, optional
        The leading dim of the groups, by default "fold". Leave it out of counts with clusters.
    groups : {"random", "clusters"}, optional
        What they are; for the bootstrap clusters, else by default "random". "random": random folds of one data set,
        whose rates hardly differ: ρ ~ Beta(1, 24). They are parts of one population and share its prevalence.
        "clusters": sites, subjects, days or images: ρ ~ Beta(1, 9). They have a prevalence each.
    repeats : int, optional
        How often cross-validation was repeated; `dim` then has repeats × k folds. Each example weighs 1/repeats,
        because repeats add no examples. By default as many as `cm` knows of, if it was made by
        `ConfusionMatrix.from_cross_validation`: its dims ``repeat`` and ``fold`` are pooled together. Otherwise once.
    dispersion : tuple of two float, optional
        (a, b) of another Beta prior of ρ, the dispersion of the rates.
    method : {"model", "bayesian_bootstrap"}, optional
        By default the model of two classes below; of counts with clusters, the bootstrap.
    prior : str or Prior, optional
        For the bootstrap, the pseudo-examples in the cells of each system, as in `bayesperf.posterior`; for more than
        two classes the default is Perks'.
    design : {"joint", "by_actual"}
        How the test set was sampled. "joint": a number of examples was drawn regardless of class. "by_actual": a fixed
        number of examples was drawn from each class, so the data contain no information about prevalence, and metrics
        that depend on it raise until `Posterior.at_prevalence` supplies it: ``pool(cm, design="by_actual").mean
        .at_prevalence(0.1)``.
    draws : int, optional
        Draws behind the posteriors' figures; 10,000 by default, and 5,000 of more than two classes.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Pooled or PooledClusters
        The latter by the bootstrap: its ``mean`` is a posterior over examples; `groups`, `new_group` and `dispersion`
        are questions to the model, and raise.

    Raises
    ------
    TypeError
        If `cm` is neither a ConfusionMatrix nor Outcomes.
    ValueError
        If it has no such dim, or an argument is not of its kind or not of the method; for the model, if there are other
        than two classes, or `repeats` does not divide the number of folds or is left out of folds that share examples;
        for the bootstrap, if a system was judged in fewer than three clusters.

    Warns
    -----
    PriorWarning
        If the data say nothing of the dispersion (few, small groups): the interval of a new group is then the prior's.
        By the bootstrap, if a cell has no examples in any cluster.
    DependenceWarning
        By the bootstrap, if there are fewer than 20 clusters, or systems were judged in some of the same clusters only.

    Notes
    -----
    Each actual class has a row of its own, independent of the other: of n examples of the class in a group, k are
    predicted right, k ~ BetaBinomial(n, κp, κ(1 − p)), κ = 1/ρ − 1, p ~ Beta(1, 1). ρ, the dispersion, is the
    correlation of two examples of a group: ρ = 0 is one common rate, ρ = 1 groups that are all right or all wrong.
    Groups' own rates are integrated out, by quadrature over p and ρ, and come back by conjugacy.

    Prevalence goes with the question. Random folds, and a new one, have that of the population, Beta(1, 1) updated by
    the summed counts. Clusters have a prevalence each, by the same beta-binomial model, of the positives among the
    examples of each, with mean Beta(1, 1) and dispersion Beta(1, 3): in prevalence they often differ more than in
    rates. A metric of the mean is that of the mean rates and the mean prevalence.

    The Bayesian bootstrap of clusters draws cells in proportion to Σ_g v_g C_g + ε: the counts C_g of each of the G
    clusters have a weight v_g ~ Gamma((G − 2)/G), by which a mean over clusters has the variance S²/G of samples of
    clusters, and the prior's pseudo-examples ε_c ~ Gamma(α_c) leave a width to empty cells. Of unequal sizes weights
    vary more: the shape is (G* − 2)/G* times (1 − h_g)/(1 − 1/G), h_g being the cluster's share of all examples and
    G* = 1/Σ h_g² the number of clusters of one size that would say as much; the mean stays. Metrics are of examples: a
    cluster weighs by its size. Clusters of one example each have nearly the posterior of independent examples.
    Systems judged in the same clusters have the same weights, so that their comparison is paired. Of repeated
    cross-validation of several classifiers the clusters are the examples, drawn whole with what each repeat said of
    them; the prior's pseudo-examples then count once, and examples as often as there are repeats. In simulations of 400
    data sets of two and five classes (``validation/resampled_clusters.py``: 20 to 500 clusters of very unequal sizes,
    ρ of .01 and .1) 95 % intervals of F1 and of a difference of F1 cover in 92 to 98 %, where those of independent
    examples cover in 73 to 98 %; with a ρ of .3 it is 88 to 96 %, and 53 to 77 %.

    No cross-validation estimates the spread over training sets, or the model refitted on all data: the intervals of
    random folds of up to about 100 examples are somewhat optimistic.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by=["model", "fold"],
    ...                                    pos_label="malignant")
    >>> pooled = bp.pool(cm.sel(model="naive_bayes"))
    >>> pooled
    <bayesperf.groups.Pooled: 10 folds, one prevalence, ρ ~ Beta(1, 24)>
    >>> pooled.summary("recall")[["answer", "fold", "mean", "ci_lower", "ci_upper"]].head(3).round(2)
          answer fold  mean  ci_lower  ci_upper
    0       mean       0.88      0.83      0.94
    1  new group       0.88      0.76      1.00
    2      group    0  0.84      0.73      0.94

    Three classes, and several examples of a patient:

    >>> import numpy as np
    >>> patient, y_true = np.repeat(np.arange(30), 6), np.tile([0, 1, 2], 60)
    >>> y_pred = np.where(patient % 5 == 0, (y_true + 1 + patient % 2) % 3, y_true)
    >>> bp.pool(bp.ConfusionMatrix.from_predictions(y_true, y_pred, cluster={"patient": patient}))
    <bayesperf.groups.PooledClusters: 30 patients, 3 classes, over examples>
    """
    if not isinstance(cm, Counted):
        raise InputTypeError("cm", f"must be a ConfusionMatrix or Outcomes; it is {type(cm).__name__}.")
    if method is None:
        method = "model" if dim is not None or cm.clusters is None else "bayesian_bootstrap"
    checks.one_of("method", method, ("model", "bayesian_bootstrap"))
    checks.one_of("design", design, ("joint", "by_actual"))
    of_classes = DRAWS if len(cm.labels) == 2 else _DRAWS_OF_CLASSES
    draws = of_classes if draws is None else checks.count("draws", draws, least=2)
    seed = checks.seed(random_seed)
    if method == "bayesian_bootstrap":
        _refuse_of_model(groups, repeats, dispersion)
        cm = _with_whole_examples(cm)
        return pool_clusters(cm, _dim_of_clusters(cm, dim), prior, design, draws, seed)
    _refuse_for_model(cm, prior)
    dim, groups = "fold" if dim is None else dim, "random" if groups is None else groups
    _check_dim(cm, dim)
    counts, repeats = folds_of_all_repeats(cm.counts, dim, repeats)
    checks.one_of("groups", groups, tuple(DISPERSION))
    pooled = Pooled(
        cm=cm if counts is cm.counts else cm.holding(counts),
        dim=dim,
        kind=groups,
        dispersion_weights=DISPERSION[groups] if dispersion is None else _checked_weights(dispersion),
        dispersion_given=dispersion is not None,
        repeats=repeats,
        design=design,
        n_draws=draws,
        random_seed=seed,
    )
    _warn_of_prior(pooled)
    return pooled


def _with_whole_examples(cm: Counted) -> Counted:
    """Return the counts of all repeats together, where the clusters are the examples that were judged in each."""
    if cm.clusters is None or repeated_dim(cm.counts) is None:
        return cm
    folds = [dim for dim in (REPEAT, FOLD) if dim in cm.dims]
    return cm.holding(unmark_repeats(cm.counts), cm.outcomes, cm.clusters).sum(folds)


def _refuse_for_model(cm: Counted, prior: str | priors.Prior | None) -> None:
    """Refuse what the model of two classes does not take."""
    if prior is not None:
        raise InputError("prior", "applies to method='bayesian_bootstrap'; the model has its own.", "Remove `prior`.")
    if len(cm.labels) != 2:
        of_classes = "Use fit(cm, model='groups'), or pool each class against the rest: pool(cm.one_vs_rest(), ...); or"
        raise InputError(
            "cm",
            f"the model of pool is for two {'outcomes' if cm.graded else 'classes'}; there are {len(cm.labels)}.",
            f"{'Use' if cm.graded else of_classes}, for examples in clusters, method='bayesian_bootstrap'.",
        )


def _check_dim(cm: Counted, dim: str) -> None:
    if dim not in cm.dims:
        raise InputError("dim", f"{dim!r} is not a leading dim; they are {list(cm.dims)}.")


def _dim_of_clusters(cm: Counted, dim: str | None) -> str:
    """Return what the clusters are: a leading dim, or what the counts were counted with."""
    if cm.clusters is None:
        if dim is None:
            raise InputError("dim", "name the leading dim of the clusters, or count with them: cluster=ids.")
        _check_dim(cm, dim)
        refuse_sum(cm.counts, [dim])
        return dim
    if dim is not None:
        raise InputError("dim", f"the counts have {cm.clusters.name}s as clusters already.", "Pool without `dim`.")
    return cm.clusters.name


def _refuse_of_model(groups: Any, repeats: Any, dispersion: Any) -> None:
    """Refuse arguments that only the model has."""
    if groups not in (None, "clusters"):
        raise InputError(
            "groups", f"method='bayesian_bootstrap' is of clusters, independent of each other; it is {groups!r}."
        )
    given = {"repeats": repeats not in (None, 1), "dispersion": dispersion is not None}
    if used := [name for name, is_given in given.items() if is_given]:
        raise InputError(
            f"{used[0]}", "it is of method='model'; the Bayesian bootstrap has none.", f"Pool without `{used[0]}`."
        )


def _checked_weights(dispersion: Any) -> tuple[float, float]:
    """Return (a, b) of the Beta prior of the dispersion."""
    try:
        a, b = (checks.number("dispersion", value) for value in dispersion)
    except (TypeError, ValueError):
        a = b = np.nan
    if not (0 < a < np.inf and 0 < b < np.inf):
        raise InputError("dispersion", f"must be (a, b) of a Beta, both above 0; it is {dispersion!r}.")
    return a, b


def _warn_of_prior(pooled: Pooled) -> None:
    """Warn if the posterior of the dispersion is its prior; of a class without any example nothing was asked."""
    overlap = pooled.overlap
    where = np.argwhere((overlap.values > _SAME_AS_PRIOR) & (pooled.trials > 0).values)
    if not len(where):
        return
    place = ", ".join(f"{dim}={overlap[dim].values[i]!s}" for dim, i in zip(overlap.dims, where[0], strict=True))
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    warn(
        PriorWarning,
        "BP202",
        f"the data say nothing of the dispersion between {pooled.dim}s (few, small ones) at {place}{more}: the "
        f"interval of a new one is the prior's, ρ ~ {pooled.dispersion_text}. Give more of them, or what is known of "
        "ρ, as dispersion=(a, b).",
    )
