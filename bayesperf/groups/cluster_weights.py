"""Examples that come in clusters, by the Bayesian bootstrap: any metric, any number of classes, several systems.

Cells are drawn in proportion to Σ_g v_g C_g + ε. The counts C_g of each of the G clusters have a weight v_g ~ Gamma((G
− 2)/G), which gives a mean over clusters the variance S²/G of samples of clusters. The prior's pseudo-examples ε_c ~
Gamma(α_c) leave a width to empty cells. With clusters of unequal sizes the weights vary more: the shape is (G* − 2)/G*
times (1 − h_g)/(1 − 1/G), where h_g is the cluster's proportion of all examples and G* = 1/Σ h_g² the number of
clusters of equal size with the same information; the mean stays. Metrics are averaged over examples: a cluster weighs
by its size. Clusters of one example each have nearly the posterior of independent examples.

In repeated cross-validation of several classifiers the clusters are the examples, drawn whole with their predictions in
every repeat. The prior's pseudo-examples then count once, and an example once for each repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, blocks
from bayesperf.core.errors import DependenceWarning, InputError, PriorWarning, warn
from bayesperf.core.random_streams import stream, streams
from bayesperf.core.weights import about_few, at_random, check_enough, cluster_weights, tallied
from bayesperf.core.words import enumerated, over_places, place_names, places_in_words, plural, sentence
from bayesperf.data.clusters import Clusters, of_dim, within
from bayesperf.data.counted import Counted
from bayesperf.distributions.drawing import gamma_masses
from bayesperf.distributions.draws import Draws
from bayesperf.groups.attempts import Rule, as_parts_of_examples, place_of_right
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sources.source import Task
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored


@dataclass(frozen=True, eq=False)
class ClusterWeights(StoredDraws):
    """Draws of the cells of systems judged in clusters, whose weights they share. Made by `bayesperf.pool`."""

    independent_draws: bool = True
    # The counts, with the clusters as a leading dim, or counted with them.
    cm: Counted = field(kw_only=True)
    dim: str = field(kw_only=True)
    prior: priors.Prior = field(kw_only=True)
    random_seed: int = field(kw_only=True)
    # The prevalence of the cells, as in `Posterior`.
    prevalence: Literal["observed"] | Prevalence | None = field(kw_only=True)

    @classmethod
    def of(
        cls, cm: Counted, clusters: Clusters, prior: priors.Prior, draws: int, random_seed: int, known: bool
    ) -> Self:
        """Return the source of counts in clusters; whether the prevalence is `known` depends on the design."""
        dim, summed = clusters.name, _summed(cm, clusters.name)
        cells = cluster_cells(clusters, _pseudo_examples(prior, summed), draws, random_seed)
        prevalence: Any = "observed" if known else None
        return cls(
            stored(cells, summed.cells), cm=cm, dim=dim, prior=prior, random_seed=random_seed, prevalence=prevalence
        )

    @property
    def posterior(self) -> Posterior:
        """The posterior of metrics over examples, joint for systems that were judged in the same clusters."""
        return Posterior(
            source=self,
            pos_label=self.cm.pos_label,
            prior_text=f"Bayesian bootstrap of {plural(self.dim)}; {self.prior.describe(self.summed)}",
            scope=Scope("examples") if self.dim == "example" else Scope("clusters", self.dim),
            observed=self.summed.cells,
            prevalence=self.prevalence,
        )

    @property
    def units(self) -> int:  # type: ignore[override]
        """The smallest number of clusters in which a system was judged."""
        return int(self.judged.min())

    def joint_over(self, dim: str) -> bool:
        return True

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        predict = (
            "new examples would come in clusters as well, of which these draws are no model. Use fit(cm, "
            "model='groups'), whose new group is one; or posterior(cm) for examples that are independent."
        )
        return super().refused_tasks(post) | {"predict": predict}

    def at_prevalence(self, prevalence: Prevalence) -> Self:
        return replace(super().at_prevalence(prevalence), prevalence=prevalence)

    # ── What the clusters cost ──

    def design_effect(self, metric: str | Metric) -> xr.DataArray:
        """Return the variance of a metric divided by its variance with independent examples.

        Parameters
        ----------
        metric : str or Metric
            A metric; its variance is the posterior variance.

        Returns
        -------
        xarray.DataArray
            An array over the leading dims: about 1 if examples of a cluster are no more alike than others; 2 if twice
            as many examples are needed as with independent ones. If all examples are right, or all wrong, it is the
            prior's alone.

        References
        ----------
        Kish (1965), Survey sampling, section 8.2.

        Examples
        --------
        >>> import bayesperf as bp
        >>> tp = [0, 5] * 15
        >>> cells = {"tp": tp, "fn": [5 - each for each in tp], "fp": 1, "tn": 4}
        >>> cm = bp.ConfusionMatrix.from_counts(**cells, dims=["patient"])
        >>> post = bp.pool(cm, "patient", "clusters", method="bayesian_bootstrap").mean
        >>> 4 < post.source.design_effect("recall").item() < 6
        True
        """
        clustered, independent = self.posterior[metric].sd(), self._independent[metric].sd()
        return ((clustered / independent) ** 2).rename("design_effect")

    def independent_examples(self, metric: str | Metric) -> xr.DataArray:
        """Return the number of independent examples with the same information on a metric: n over the design effect.

        Parameters
        ----------
        metric : str or Metric
            A metric.

        Returns
        -------
        xarray.DataArray
            An array over the leading dims.
        """
        return (self.summed.total / self.design_effect(metric)).rename("independent_examples")

    @cached_property
    def _independent(self) -> Posterior:
        """The posterior of the counts of independent examples."""
        independent = posterior(self.summed, self.prior, random_seed=self.random_seed)
        return replace(independent, prevalence=self.prevalence)

    def modelled(self, post: Posterior) -> str:
        if self.cm.graded:
            of = f"by weights of the {plural(self.dim)} that they come in"
            return f"outcomes were drawn {of} ({post.prior_text}) [rubin1981bayesian]"
        return (
            "cells of the confusion matrix were drawn with weights on the clusters of examples "
            f"({post.prior_text}) [rubin1981bayesian]"
        )

    def preface(self) -> list[str]:
        return [f"The {within(self.dim, self.cm.graded)} are of {self.sizes} {plural(self.dim)}."]

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        few = [sentence(self.few)] if self.few else []
        if metric.average == "per_class":
            return few
        return [*self._costs_in_words(post[metric], metric, places_in_words(post.leading)), *few]

    def _costs_in_words(self, found: Marginal, metric: Metric, names: Sequence[str]) -> list[str]:
        """Return sentences on the design effect, which is the prior's alone where all examples are right, or wrong."""
        observed = np.ravel(found.observed)
        shown = np.isfinite(observed) & ~np.isin(observed, metric.bounds)
        parts = self.design_effect(metric), self.summed.total, self.independent_examples(metric)
        effects, totals, worth = (part.values.ravel()[shown].tolist() for part in parts)
        of_data, alike = ([name for name, is_shown in zip(names, shown, strict=True) if is_shown == wanted]
                          for wanted in (True, False))  # fmt: skip
        said, what = [], within(self.dim, self.cm.graded)
        if of_data:
            each = [f"{effect:.2g} ({total:,} {what} say as much as {independent:,.0f} independent ones)"
                    for effect, total, independent in zip(effects, totals, worth, strict=True)]  # fmt: skip
            said.append(sentence(f"the design effect is {over_places(each, of_data, effects)}"))
        if alike:
            whose = f" for {enumerated(alike)}" if any(alike) else ""
            title = found.quantity.title
            said.append(f"All {plural(self.dim)} have the same {title}{whose}, and show no design effect.")
        return said

    # ── Several attempts ──

    @property
    def attempts(self) -> Self | None:
        return self if self.cm.graded and len(self.cm.labels) == 2 else None

    @property
    def fewest_attempts(self) -> int:
        """The smallest number of attempts of a system at a question that it was asked at all."""
        row, _ = place_of_right(self.cm)
        attempts = self.clusters.table.toarray().reshape(self.clusters.size, *self._alpha.shape)
        of_row = attempts[:, :, row].sum(-1)
        return int(of_row[of_row > 0].min())

    def credit_of_k(self, rule: Rule) -> Marginal:
        """Return what k attempts at a new question count for; see `Pooled.pass_at_k`."""
        row, right = place_of_right(self.cm)
        questions = as_parts_of_examples(self.clusters, self._alpha.shape[1:], (row, right), rule)
        of_row = self._alpha[:, row]
        alpha = np.zeros((len(of_row), 2, 2))
        alpha[:, 1] = np.stack([of_row.sum(-1) - of_row[:, right], of_row[:, right]], -1)
        leading = xr.zeros_like(self.summed.total, dtype=float).rename(None)
        # The same draws serve every k.
        contents = self.summed.cells.values.reshape(-1, self._alpha[0].size)
        own = streams(self.random_seed, f"pseudo-{self.dim}s", leading, contents)
        quantity = rule.quantity(Scope("new_group", self.dim))
        return share_of_questions(quantity, questions, alpha, leading, own, self.cells.sizes["draw"], self.random_seed)

    # ── Counts ──

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters and the cells of their examples."""
        return _clusters(self.cm, self.dim)

    @cached_property
    def summed(self) -> Counted:
        """The counts of all clusters together, without the clusters."""
        return _summed(self.cm, self.dim)

    @cached_property
    def judged(self) -> xr.DataArray:
        """Number of clusters in which each system has examples, over the other leading dims."""
        leading = self.summed.total
        return leading.copy(data=self.in_common.diagonal().reshape(leading.shape)).rename("clusters")

    @cached_property
    def in_common(self) -> NDArray[np.int64]:
        """Number of clusters in which two systems both have examples, (systems, systems)."""
        return _in_common(self.clusters, self.summed.total.size)

    @property
    def _alpha(self) -> Array:
        return _pseudo_examples(self.prior, self.summed)

    def facts(self) -> list[str]:
        """Return a line that describes this."""
        others = [f"{dim}: {size}" for dim, size in self.summed.total.sizes.items()]
        kinds = f"{len(self.cm.labels)} {'outcomes' if self.cm.graded else 'classes'}"
        return [f"{self.sizes} {plural(self.dim)}", *others, kinds, "over examples"]

    @property
    def sizes(self) -> str:
        """The number of clusters in which systems were judged, in words."""
        low, high = int(self.judged.min()), int(self.judged.max())
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    @property
    def few(self) -> str:
        """A sentence on few clusters; empty if there are enough."""
        few = about_few(self.units, f"{self.sizes} {plural(self.dim)}")
        return few and f"{few}. fit(cm, model='groups') has a prior of that"


def share_of_questions(
    quantity: Quantity,
    questions: Clusters,
    alpha: Array,
    leading: xr.DataArray,
    own: Sequence[np.random.Generator],
    draws: int,
    random_seed: int,
) -> Marginal:
    """Return the mean of the scores of questions, as a new one has it, joint for the systems that were asked them.

    The `questions` have parts of an example that are right and wrong (`attempts.in_parts`). `alpha` (S, 2, 2) are
    pseudo-questions, in the second row: failed and solved. `own` are their sources for each system: systems that solve
    the same of these questions may differ on others.
    """
    of_questions = cluster_cells(questions, alpha, draws, random_seed, own)[:, :, 1]
    values = of_questions[..., 1] / of_questions.sum(-1)
    failed, solved = questions.table.sum(0).reshape(-1, 4)[:, 2:].T
    return Marginal(
        quantity,
        Draws.of(quantity.metric, values[:, None], (0.0, 1.0)),
        leading,
        inference="Posterior",
        random_seed=random_seed,
        joint=True,
        score=leading.copy(data=(solved / (solved + failed)).reshape(leading.shape)).rename(quantity.metric),
    )


def _in_common(clusters: Clusters, systems: int) -> NDArray[np.int64]:
    """Return the number of clusters in which two systems both have examples, (systems, systems)."""
    of_entries = clusters.cell // (clusters.cells // systems)
    seen = tallied(clusters.cluster, of_entries, (clusters.size, systems), np.int64).sign()
    return np.asarray((seen.T @ seen).toarray())


def _clusters(cm: Counted, dim: str) -> Clusters:
    return of_dim(cm.cells, dim) if cm.clusters is None else cm.clusters


def _summed(cm: Counted, dim: str) -> Counted:
    return cm.holding(cm.counts.sum(dim, keep_attrs=True) if dim in cm.dims else cm.counts)


def _pseudo_examples(prior: priors.Prior, summed: Counted) -> Array:
    """Return the prior's pseudo-examples, (systems, K, K); of outcomes (systems, 1, K)."""
    return prior.concentration(summed).reshape(-1, *summed.cells.shape[-2:])


def pool_clusters(
    cm: Counted,
    dim: str,
    prior: str | priors.Prior | None,
    design: Literal["joint", "by_actual"],
    draws: int,
    random_seed: int,
) -> Posterior:
    """Return the posterior of counts in clusters, and warn where they say little; see `bayesperf.pool`."""
    resolved = priors.resolve_dirichlet(prior, len(cm.labels), "clusters")
    if not (resolved.concentration(cm) > 0).all():
        raise InputError(
            "prior", "each cell needs pseudo-examples, or empty ones would be certain.", "Use a proper prior."
        )
    if (empty := _summed(cm, dim).total == 0).any():
        where = place_names(empty)[int(empty.values.argmax())]
        if not where:
            raise InputError("cm", "has no examples.")
        raise InputError("cm", f"has no examples of {where}.", f"Leave {where} out.")
    clusters = _clusters(cm, dim)
    fewest = int(_in_common(clusters, empty.size).diagonal().min())
    check_enough(fewest, f" {plural(dim)} with examples of a system", "cm")
    source = ClusterWeights.of(cm, clusters, resolved, draws, random_seed, known=design == "joint")
    for category, code, text in _doubts(source):
        warn(category, code, f"{text}.")
    return source.posterior


def _doubts(source: ClusterWeights) -> list[tuple[type[UserWarning], str, str]]:
    """Return what there is to warn of: the class, code and text of each warning."""
    doubts: list[tuple[type[UserWarning], str, str]] = []
    if source.few:
        doubts.append((DependenceWarning, "BP105", source.few))
    if _is_partly_paired(source):
        doubts.append((DependenceWarning, "BP106", (
            f"some systems were judged in some of the same {plural(source.dim)} only, and are taken for independent: "
            f"their differences are known better than that. Leave out the {plural(source.dim)} that not "
            "all were judged in"
        )))  # fmt: skip
    counts = source.summed.cells
    # With two classes, a single one belongs to attempts, where nobody asks about the other.
    asked = (counts.sum("predicted") > 0) | (len(source.cm.labels) > 2)
    empty = ((counts == 0) & asked).transpose(*counts.dims).values
    if empty.any():
        *_, actual, predicted = (places[0] for places in np.nonzero(empty))
        labels = source.cm.labels
        of_actual = "outcome" if source.cm.graded else f"actual {labels[actual]!r}, predicted"
        doubts.append((PriorWarning, "BP205", (
            f"{empty.sum()} of {empty.size} cells have no example in any {source.dim} (as {of_actual} "
            f"{labels[predicted]!r}): what is said of them is the prior's"
        )))  # fmt: skip
    return doubts


def _is_partly_paired(source: ClusterWeights) -> bool:
    """Whether some systems have some clusters in common, but not all."""
    common = source.in_common
    alone = common.diagonal()
    return bool(((common > 0) & (common < np.maximum.outer(alone, alone))).any())


# ── Draws, as arrays ──

# The most clusters that have weights of their own. More are put together at random.
_MOST = 5_000
# Maximum number of weights at once: they stay in the processor's cache.
_BLOCK = 2**18


def cluster_cells(
    clusters: Clusters, alpha: Array, draws: int, seed: int, of_prior: Sequence[np.random.Generator] | None = None
) -> Array:
    """Return draws of cells (M, n, K, K) of systems, by the Bayesian bootstrap of the clusters that they judged.

    The cells are proportional to Σ_g v_g C_g + ε: C_g are the counts of cluster g, v_g its weight (`cluster_weights`)
    and ε_c ~ Gamma(α_c) the pseudo-examples of the prior. Systems that were judged in the same clusters have the same
    weights; if they have their own examples there, a cluster's size is their total. `of_prior` are sources of the
    pseudo-examples of each system; by default systems with the same counts in every cluster have the same, so that they
    never differ.
    """
    systems, size = len(alpha), alpha[0].size
    what = f"the {alpha.size:,} cells of {systems:,} systems" if systems > 1 else f"{size:,} cells"
    checks.draws_in_memory(draws, 2 * alpha.size, what, "Merge rare classes, or pool fewer systems.")
    cells = np.empty((systems, draws, size))
    columns = clusters.table.tocsc()
    tables = [columns[:, place : place + size].tocsr() for place in range(0, clusters.cells, size)]
    # A cluster without examples of a system is none of its clusters.
    judged = [np.flatnonzero(table.sum(1)) for table in tables]
    flat = alpha.reshape(systems, -1)
    if of_prior is None:
        known = zip(tables, flat, strict=True)
        of_prior = [stream(seed, "pseudo-examples", _contents(table, of_system)) for table, of_system in known]
    for places in {codes.tobytes(): codes for codes in judged}.values():
        members = [system for system, codes in enumerate(judged) if np.array_equal(codes, places)]
        _fill(cells, members, tables, places, flat, stream(seed, clusters.name, places), of_prior)
    return cells.reshape(systems, draws, *alpha.shape[1:])


def _fill(
    cells: Array,
    members: list[int],
    tables: list[csr_array],
    places: Codes,
    alpha: Array,
    rng: np.random.Generator,
    of_prior: Sequence[np.random.Generator],
) -> None:
    """Fill the draws of the systems that were judged in the same clusters."""
    groups = min(len(places), _MOST)
    group = at_random(len(places), _MOST, rng)
    into = tallied(group, places, (groups, tables[0].shape[0]))
    sizes = into @ np.sum([tables[system].sum(1) for system in members], axis=0)
    dense = [_of_cells_seen(into @ tables[system]) for system in members]
    for system in members:
        cells[system] = gamma_masses(of_prior[system], alpha[system], cells.shape[1:])
    for block in blocks(cells.shape[1], groups, _BLOCK):
        weights = cluster_weights(rng, sizes, block.stop - block.start)
        # A product for each system: in one product for all, rounding would depend on the systems beside it.
        for system, (seen, table) in zip(members, dense, strict=True):
            cells[system][block, seen] += weights @ table
    for system in members:
        cells[system] /= cells[system].sum(1, keepdims=True)


def _of_cells_seen(table: csr_array) -> tuple[Codes | slice, NDArray[np.float32]]:
    """Return the cells that have examples in some cluster, and the counts of them."""
    seen = np.flatnonzero(table.sum(0))
    counts = table[:, seen].toarray().astype(np.float32)
    return (slice(None) if len(seen) == table.shape[1] else seen), counts


def _contents(table: csr_array, alpha: Array) -> Array:
    """Return all that determines the posterior of a system, as one array."""
    entries = table.tocoo()
    return np.concatenate([*entries.coords, entries.data, alpha]).astype(float)
