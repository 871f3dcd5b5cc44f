"""Examples that come in clusters, by the Bayesian bootstrap: any metric, any number of classes, several systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import pandas as pd
import xarray as xr
from scipy.sparse import csr_array

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import DependenceWarning, InputError, PriorWarning, warn
from bayesperf.core.random_streams import streams
from bayesperf.core.weights import ENOUGH, LEAST
from bayesperf.core.words import over_places, places_in_words, sentence
from bayesperf.data.clusters import Clusters, of_dim
from bayesperf.data.counted import Counted
from bayesperf.distributions.draws import Draws
from bayesperf.groups.attempts import as_parts_of_examples, place_of_right, quantity_of_k
from bayesperf.groups.cluster_draws import cluster_cells
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.quantity import Scope
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class ClusterWeights(StoredDraws):
    """Draws of the cells of systems judged in clusters, whose weights they share.

    Attributes
    ----------
    clusters : int
        The fewest clusters that a system was judged in.
    """

    clusters: int = field(kw_only=True)

    @property
    def units(self) -> float:  # type: ignore[override]
        """The same, as of variances."""
        return self.clusters

    def joint_over(self, dim: str) -> bool:
        return True

    def refuses(self, post: Posterior, what: str, metric: Metric | None = None) -> str:
        if what == "predict":
            return (
                "new examples would come in clusters as well, of which these draws are no model. Use fit(cm, "
                "model='groups'), whose new group is one; or posterior(cm) for examples that are independent."
            )
        return super().refuses(post, what, metric)


@dataclass(frozen=True, eq=False, repr=False)
class PooledClusters(Answer):
    """Matrices of examples that come in clusters, by ``pool(method="bayesian_bootstrap")``.

    Attributes
    ----------
    cm : ConfusionMatrix or Outcomes
        The counts, with the clusters as a leading dim, or counted with them.
    dim : str
        What a cluster is.
    prior : Prior
        The prior of the cells.
    design : {"joint", "by_actual"}
        How the test set was sampled.
    n_draws, random_seed : int
        Of the posterior.
    """

    cm: Counted
    dim: str
    prior: priors.Prior
    design: Literal["joint", "by_actual"]
    n_draws: int
    random_seed: int

    # ── The answer ──

    @cached_property
    def mean(self) -> Posterior:
        """Posterior of metrics over examples; joint draws of systems that were judged in the same clusters."""
        summed = self.summed
        cells = stored(cluster_cells(self.clusters, self._alpha, self.n_draws, self.random_seed), summed.cells)
        return Posterior(
            source=ClusterWeights(cells, independent=True, clusters=int(self.judged.min())),
            pos_label=self.cm.pos_label,
            prior_text=f"Bayesian bootstrap of {self.dim}s; {self.prior.describe(summed)}",
            scope=Scope("clusters", self.dim),
            observed=summed.cells,
            prevalence="observed" if self.design == "joint" else None,
        )

    @property
    def _alpha(self) -> Array:
        """The prior's pseudo-examples, (systems, K, K); of outcomes (systems, 1, K)."""
        shape = self.summed.cells.shape
        return self.prior.concentration(self.summed).reshape(-1, *shape[-2:])

    @property
    def groups(self) -> NoReturn:
        """Raise: what each cluster is like needs a model."""
        self._refuse("groups", "what each one is like, and how far it is drawn to the others,")

    @property
    def new_group(self) -> NoReturn:
        """Raise: what a new cluster will be like needs a model."""
        self._refuse("new_group", "what a new one will be like")

    @property
    def dispersion(self) -> NoReturn:
        """Raise: the dispersion is a parameter of the model."""
        self._refuse("dispersion", "how much they differ")

    def _refuse(self, what: str, why: str) -> NoReturn:
        raise InputError(
            what,
            f"the Bayesian bootstrap takes {self.dim}s as they are, and has no model of them; "
            f"{why} is a question to one.",
            f"Count two classes with the dim {self.dim!r} and use method='model'; of more "
            "classes, fit(cm, model='groups').",
        )

    # ── What the clusters cost ──

    def design_effect(self, metric: str | Metric) -> xr.DataArray:
        """Return the variance of a metric relative to that of independent examples.

        Parameters
        ----------
        metric : str or Metric
            A metric, whose variance is that of its posterior.

        Returns
        -------
        xarray.DataArray
            Over the leading dims: about 1 where examples of a cluster are no more alike than others; 2 where twice as
            many examples are needed as of independent ones.

        References
        ----------
        Kish (1965), Survey sampling, section 8.2.

        Examples
        --------
        >>> import bayesperf as bp
        >>> tp = [0, 5] * 15
        >>> cells = {"tp": tp, "fn": [5 - each for each in tp], "fp": 1, "tn": 4}
        >>> cm = bp.ConfusionMatrix.from_counts(**cells, dims=["patient"])
        >>> pooled = bp.pool(cm, "patient", "clusters", method="bayesian_bootstrap")
        >>> 4 < pooled.design_effect("recall").item() < 6
        True
        """
        clustered, independent = self.mean[metric].sd(), self._independent[metric].sd()
        return ((clustered / independent) ** 2).rename("design_effect")

    def independent_examples(self, metric: str | Metric) -> xr.DataArray:
        """Return the number of independent examples that would say as much of a metric: theirs over the design effect.

        Parameters
        ----------
        metric : str or Metric
            A metric.

        Returns
        -------
        xarray.DataArray
            Over the leading dims.
        """
        return (self.summed.total / self.design_effect(metric)).rename("independent_examples")

    @cached_property
    def _independent(self) -> Posterior:
        """The posterior of the counts of independent examples."""
        return posterior(self.summed, self.prior, self.design, self.random_seed)

    # ── Several attempts ──

    @checked
    def pass_at_k(self, k: int) -> Marginal:
        """Return the probability that at least one of k attempts passes, where clusters are questions asked repeatedly.

        An attempt that passes is a true positive, one that fails a false negative. Draws of systems that were asked the
        same questions are joint, so that ``bp.compare(pooled.pass_at_k(5))`` compares them in pairs.

        Parameters
        ----------
        k : int
            Number of attempts, at least 1, and at most as many as there are of every question.

        Returns
        -------
        Marginal
            Of a new question of the population, over the leading dims. Its `observed` is the unbiased estimate (Chen et
            al. 2021, Evaluating large language models trained on code, equation 1).

        Raises
        ------
        ValueError
            If a question was asked fewer than k times, or there is no positive class.

        Notes
        -----
        Each question has the score 1 − C(n − c, k)/C(n, k), c of n attempts having passed, whose mean over attempts is
        1 − (1 − p)^k. The mean of the scores over questions is drawn by the Bayesian bootstrap, with weights v_g of
        questions that all systems share: (Σ_g v_g s_g + ε₁)/(Σ_g v_g + ε₁ + ε₀). The prior's pseudo-questions, of which
        ε₁ ~ Gamma(α₁) are solved and ε₀ ~ Gamma(α₀) are not, are its pseudo-examples in the cells of true positives
        and of false negatives; they leave a width where all questions are solved. No model of the questions is needed;
        that of `Pooled.pass_at_k` has an answer on these questions too.

        Examples
        --------
        Forty questions, each asked five times of two systems:

        >>> import bayesperf as bp
        >>> old = [0] * 12 + [1] * 8 + [3] * 10 + [5] * 10
        >>> new = [0] * 10 + [1] * 8 + [3] * 12 + [5] * 10
        >>> passed = [old, new]
        >>> cm = bp.ConfusionMatrix.from_counts(
        ...     tp=passed, fn=[[5 - n for n in row] for row in passed], fp=0, tn=0,
        ...     dims={"model": ["old", "new"], "question": range(40)})
        >>> pooled = bp.pool(cm, "question", "clusters", method="bayesian_bootstrap")
        >>> compared = bp.compare(pooled.pass_at_k(3))
        >>> compared.prob_greater.sel(model="new", model_other="old").round(2).item()
        0.96
        """
        return self._of_k(k, every=False)

    @checked
    def pass_hat_k(self, k: int) -> Marginal:
        """Return the probability that all of k attempts pass (pass^k), where clusters are questions asked repeatedly.

        Each question has the score C(c, k)/C(n, k), c of n attempts having passed, whose mean over attempts is p^k. All
        else is as in `pass_at_k`.

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
        >>> outcomes = bp.Outcomes.from_counts(right=passed, n=4, dims=["question"])
        >>> pooled = bp.pool(outcomes, "question", method="bayesian_bootstrap")
        >>> [pooled.pass_hat_k(k).observed.round(3).item() for k in (1, 4)]
        [0.488, 0.25]
        """
        return self._of_k(k, every=True)

    def _of_k(self, k: int, every: bool) -> Marginal:
        k = checks.count("k", k)
        row, right = place_of_right(self.cm)
        questions = as_parts_of_examples(self.clusters, self._alpha.shape[1:], (row, right), k, every)
        of_row = self._alpha[:, row]
        alpha = np.zeros((len(of_row), 2, 2))
        alpha[:, 1] = np.stack([of_row.sum(-1) - of_row[:, right], of_row[:, right]], -1)
        leading = xr.zeros_like(self.summed.total, dtype=float).rename(None)
        # Systems that solve the same of these questions may differ on others, and k attempts solve no less than one.
        contents = self.summed.cells.values.reshape(-1, self._alpha[0].size)
        own = streams(self.random_seed, f"pseudo-{self.dim}s", leading, contents)
        of_questions = cluster_cells(questions, alpha, self.n_draws, self.random_seed, own)[:, :, 1]
        values = of_questions[..., 1] / of_questions.sum(-1)
        quantity = quantity_of_k(k, every, Scope("new_group", self.dim))
        return Marginal(
            quantity,
            Draws.of(quantity.metric, values[:, None], (0.0, 1.0)),
            leading,
            inference="Posterior",
            random_seed=self.random_seed,
            joint=True,
            score=self._solved(quantity.metric, questions),
        )

    def _solved(self, name: str, questions: Clusters) -> xr.DataArray:
        """Return the mean of the questions' scores, over the leading dims."""
        failed, solved = questions.table.sum(0).reshape(-1, 4)[:, 2:].T
        leading = self.summed.total
        return leading.copy(data=(solved / (solved + failed)).reshape(leading.shape)).rename(name)

    # ── Tables, figures and words ──

    def summary(
        self, metrics: str | Metric | Sequence[str | Metric] | None = None, ci_prob: float = 0.95, ci_kind: Kind = "hdi"
    ) -> pd.DataFrame:
        """Return a tidy table of metrics over examples; the arguments are those of `Posterior.summary`."""
        return self.mean.summary(metrics, ci_prob, ci_kind)

    def plot(self, metric: str | Metric = "accuracy", **options: Any) -> Figure:
        """Draw the density of a metric over examples, as `Posterior.plot` does."""
        return self.mean.plot([metric], **options)

    def in_words(self, metric: str | Metric = "accuracy", *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences on a metric: its value, and the number of independent examples that would say as much.

        Parameters
        ----------
        metric : str or Metric
            One with a single value, not one a class.
        ci_prob : float
            Probability of the interval.
        ci_kind : {"hdi", "eti"}
            Kind of interval.

        Examples
        --------
        >>> import bayesperf as bp
        >>> tp = [0, 5] * 15
        >>> cells = {"tp": tp, "fn": [5 - each for each in tp], "fp": 1, "tn": 4}
        >>> cm = bp.ConfusionMatrix.from_counts(**cells, dims=["patient"])
        >>> print(bp.pool(cm, "patient", "clusters", method="bayesian_bootstrap").in_words("recall"))
        Over the examples of 30 patients, recall is 0.502 (95 % HDI 0.322–0.680; observed 75 of 150). The design \
        effect is 5.2: 300 examples say as much as 58 independent ones.
        """
        ci_prob, marginal = checks.probability("ci_prob", ci_prob), self.mean[metric]
        if marginal.dims != self.mean.dims:
            raise InputError("metric", f"{marginal.name!r} has a value a class; name one that has a single value.")
        effects = self.design_effect(metric).values.ravel().tolist()
        worth = self.independent_examples(metric).values.ravel().tolist()
        totals = self.summed.total.values.ravel().tolist()
        each = [f"{effect:.2g}: {total:,} examples say as much as {independent:,.0f} independent ones"
                for effect, total, independent in zip(effects, totals, worth, strict=True)]  # fmt: skip
        said = [
            f"over the examples of {self._sizes} {self.dim}s, {estimate_in_words(marginal, ci_prob, ci_kind)}",
            f"the design effect is {over_places(each, places_in_words(marginal.leading), effects)}",
            *([self.few] if self.few else []),
        ]
        return " ".join(map(sentence, said))

    def __repr__(self) -> str:
        others = [f"{dim}: {self.summed.counts.sizes[dim]}" for dim in self.summed.dims]
        facts = [f"{self._sizes} {self.dim}s", *others, f"{_kinds(self.cm)}", "over examples"]
        return f"<bayesperf.groups.PooledClusters: {', '.join(facts)}>"

    # ── Counts ──

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters and the cells that their examples are in."""
        return of_dim(self.cm.cells, self.dim) if self.cm.clusters is None else self.cm.clusters

    @cached_property
    def summed(self) -> Counted:
        """The counts of all clusters together, which know of none."""
        summed = self.cm.counts if self.dim not in self.cm.dims else self.cm.counts.sum(self.dim)
        return self.cm.holding(summed)

    @cached_property
    def judged(self) -> xr.DataArray:
        """Number of clusters in which each system has examples, over the other leading dims."""
        leading = self.summed.total
        systems = self.clusters.cell // self._alpha[0].size
        pairs = np.unique(self.clusters.cluster + self.clusters.size * systems)
        counts = np.bincount(pairs // self.clusters.size, minlength=leading.size)
        return leading.copy(data=counts.reshape(leading.shape)).rename("clusters")

    @property
    def _sizes(self) -> str:
        low, high = int(self.judged.min()), int(self.judged.max())
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    @property
    def few(self) -> str:
        """What is said of few clusters; empty if they are enough."""
        if self.judged.min() >= ENOUGH:
            return ""
        return (
            f"{self._sizes} {self.dim}s are few: how much they differ is hardly known, and intervals of fewer than "
            f"{ENOUGH} may be too narrow. fit(cm, model='groups') has a prior of that"
        )


def _kinds(cm: Counted) -> str:
    return f"{len(cm.labels)} {'outcomes' if cm.graded else 'classes'}"


def pool_clusters(
    cm: Counted,
    dim: str,
    prior: str | priors.Prior | None,
    design: Literal["joint", "by_actual"],
    draws: int,
    random_seed: int,
) -> PooledClusters:
    """Return matrices of clusters, and warn of what they say little about; see `bayesperf.pool`."""
    resolved = priors.resolve_dirichlet(prior, len(cm.labels), "clusters")
    pooled = PooledClusters(cm, dim, resolved, design, draws, random_seed)
    if not (resolved.concentration(cm) > 0).all():
        raise InputError(
            "prior", "each cell needs pseudo-examples, or empty ones would be certain.", "Use a proper prior."
        )
    if (least := int(pooled.judged.min())) < LEAST:
        raise InputError(
            "cm",
            f"some matrix has examples in {least} {dim}{'s' * (least != 1)}, which cannot say how much they differ.",
            f"At least {LEAST} are needed, and {ENOUGH} are better.",
        )
    for category, code, text in _doubts(pooled):
        warn(category, code, f"{text}.")
    return pooled


def _doubts(pooled: PooledClusters) -> list[tuple[type[UserWarning], str, str]]:
    """Return what there is to warn of: the class, code and text of each warning."""
    doubts: list[tuple[type[UserWarning], str, str]] = []
    if pooled.few:
        doubts.append((DependenceWarning, "BP105", pooled.few))
    if _is_partly_paired(pooled):
        doubts.append((DependenceWarning, "BP106", (
            f"some systems were judged in some of the same {pooled.dim}s only, and are taken for independent: their "
            f"differences are known better than that. Leave out the {pooled.dim}s that not all were judged in"
        )))  # fmt: skip
    counts = pooled.summed.cells
    # Of two classes, one alone is that of attempts, which nobody asks about the other.
    asked = (counts.sum("predicted") > 0) | (len(pooled.cm.labels) > 2)
    empty = ((counts == 0) & asked).transpose(*counts.dims).values
    if empty.any():
        *_, actual, predicted = (places[0] for places in np.nonzero(empty))
        labels = pooled.cm.labels
        of_actual = "outcome" if pooled.cm.graded else f"actual {labels[actual]!r}, predicted"
        doubts.append((PriorWarning, "BP205", (
            f"{empty.sum()} of {empty.size} cells have no example in any {pooled.dim} (as {of_actual} "
            f"{labels[predicted]!r}): what is said of them is the prior's"
        )))  # fmt: skip
    return doubts


def _is_partly_paired(pooled: PooledClusters) -> bool:
    """Whether some systems have some clusters in common, but not all."""
    systems = pooled.clusters.cell // (pooled.clusters.cells // pooled.judged.size)
    shape = pooled.clusters.size, pooled.judged.size
    seen = csr_array((np.ones(len(systems)), (pooled.clusters.cluster, systems)), shape=shape)
    common = ((seen > 0).astype(int).T @ (seen > 0).astype(int)).toarray()
    alone = common.diagonal()
    return bool(((common > 0) & (common < np.maximum.outer(alone, alone))).any())
