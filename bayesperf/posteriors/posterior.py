"""The posterior of the cell probabilities of a confusion matrix: a frame, and a source of cells.

Posteriors differ in their source (`bayesperf.posteriors.sources`): exact, drawn on demand, or stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arrays import Array, Numbers, labelled, without_dims
from bayesperf.core.errors import DependenceWarning, InputError, warn
from bayesperf.core.words import plural
from bayesperf.data.clusters import within
from bayesperf.data.count_arrays import CELL_DIMS, as_outcomes, has_uncounted_negatives, refuse_uncounted_cells
from bayesperf.data.counted import Counted, check_counted
from bayesperf.data.label_encoding import HasPositive
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.formulas import headline, headline_of_grades
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import point_values, refuse_uncounted
from bayesperf.metrics.registry import applicable, get, single_valued
from bayesperf.posteriors.arviz_trees import in_chains, read_tree, to_tree
from bayesperf.posteriors.marginal import Kind, Marginal, Origin
from bayesperf.posteriors.prevalence import Prevalence, parse_prevalence
from bayesperf.posteriors.quantity import SYSTEM, Quantity, Scope, described
from bayesperf.posteriors.ranks import joint_draws, rank_probabilities
from bayesperf.posteriors.requirement import bounds_of
from bayesperf.posteriors.sentences import default_metrics_in_words, posterior_in_words
from bayesperf.posteriors.sources.source import Source, Task
from bayesperf.posteriors.summary_table import Summary, summary_rows
from bayesperf.posteriors.tree_attributes import (
    ESTIMAND,
    INDEPENDENT_DRAWS,
    NO_PREDICTION,
    POSITIVE,
    PREVALENCE,
    PRIOR,
    REFUSAL,
    SCOPE,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = Source.n_draws


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Answer, HasPositive):
    """Distribution of cell probabilities over leading dims. Made by `posterior`, or by `Posterior.from_datatree`.

    Attributes
    ----------
    source : Source
        Where the cells come from. It has attributes of its own, such as what classes share
        (``post.source.mean_recall``).
    pos_label : label or None
        The positive class.
    prior_text : str
        Description of the prior.
    prevalence : "observed", None or Prevalence
        "observed": estimated from the data. None: unknown, so that only the rows of the cells are used. Or a prevalence
        from another source.
    scope : Scope
        Whose metrics they are.
    inference : str, optional
        The name of the distribution, if it does not follow from the scope.
    observed : xarray.DataArray, optional
        The counts; None for a prediction.
    learned_from : xarray.DataArray, optional
        Counts that identify posteriors, or predictions, of the same test set, if nothing was observed.
    """

    source: Source
    pos_label: Any
    prior_text: str
    prevalence: Literal["observed"] | Prevalence | None = "observed"
    scope: Scope = SYSTEM
    inference: str | None = None
    observed: xr.DataArray | None = None
    learned_from: xr.DataArray | None = None

    @property
    def template(self) -> xr.DataArray:
        """An array with the dims and coordinates of the cells, without the dims of the draws."""
        return self.source.template

    @property
    def n_draws(self) -> int:
        """Number of joint draws from exact marginals."""
        return self.source.n_draws

    @property
    def random_seed(self) -> int:
        """Seed of its draws, unless a call gives one."""
        return self.source.random_seed

    @property
    def examples(self) -> xr.DataArray | None:
        """Counts of examples, which identify posteriors, or predictions, of the same test set; None if unknown."""
        return self.learned_from if self.observed is None else self.observed

    @property
    def estimand(self) -> str:
        """Description of the distributions, such as "Posterior of the system's metric"."""
        return described(self.scope, inference=self.inference)

    @property
    def dims(self) -> tuple[Any, ...]:
        """Names of the leading dims."""
        return self.template.dims[:-2]

    @cached_property
    def labels(self) -> list[Any]:
        """The K class labels, or the grades of outcomes."""
        labels: list[Any] = self.template["predicted"].values.tolist()
        return labels

    @property
    def graded(self) -> bool:
        """Whether it describes `Outcomes`, whose cells are a table of one row."""
        return self.template.sizes["actual"] == 1

    @cached_property
    def leading(self) -> xr.DataArray:
        """An array of zeros with the leading dims and coordinates."""
        return without_dims(self.template, CELL_DIMS)

    def leading_of(self, metric: Metric) -> xr.DataArray:
        """An array of zeros with the dims of a metric's values: leading dims, and ``label`` for one value per class."""
        return leading_of(metric, self.leading, self.labels)

    def __getitem__(self, metric: str | Metric) -> Marginal:
        """Return the distribution of one metric.

        Raises
        ------
        ValueError
            If there is no such metric (the message suggests similar names), or it is not available: a binary metric
            for more than two classes, a cell that an improper prior leaves empty, or an unknown prevalence.
        """
        return self.several([metric])[0]

    def several(self, metrics: Sequence[str | Metric]) -> list[Marginal]:
        """Return the distributions of several metrics, with joint draws.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=1, tn=4))
        >>> [marginal.mean().item() for marginal in post.several(["recall", "precision"])]
        [0.75, 0.75]
        """
        wanted = [self.applicable(metric) for metric in metrics]
        self.refuse_unavailable(wanted)
        known = zip(wanted, self.source.distributions(self, wanted), strict=True)
        return [self._marginal(metric, distribution) for metric, distribution in known]

    def _marginal(self, metric: Metric, distribution: Distribution) -> Marginal:
        """Return the marginal of a metric, with everything that this posterior provides for it."""
        quantity, origin = Quantity.of(metric, self.scope), MetricOf(self, metric)
        leading = self.leading_of(metric)
        return Marginal(quantity, distribution, leading, origin, self.inference, examples=self.examples)

    def observed_trials(self, metric: Metric) -> xr.DataArray | None:
        """Return the observed score; for a proportion also its number of trials. None if there are no counts."""
        if self.observed is None:
            return None
        score = self.observed_score(metric)
        if self.source.weighted or self._other_prevalence(metric) is not None:
            return score
        trials = metric.trials(self._observed_cells, self.positive)
        return score if trials is None else score.assign_coords(trials=(score.dims, trials))

    @property
    def stated_prevalence(self) -> Prevalence | None:
        """The prevalence from another source than the counts; None if it comes from them, or is unknown."""
        return self.prevalence if isinstance(self.prevalence, Prevalence) else None

    def _other_prevalence(self, metric: Metric) -> Prevalence | None:
        """Return the prevalence that a metric is re-weighted to; None if it is not re-weighted."""
        stated = self.stated_prevalence
        return stated if stated is not None and metric.depends_on_prevalence(len(self.labels)) else None

    def applicable(self, metric: str | Metric) -> Metric:
        """Return the metric specified by a `Metric` or a name; raise if it is not available for these cells."""
        return applicable(metric, self.labels, self.positive, self.dims, self.graded)

    def refuse(self, task: Task, argument: str = "") -> None:
        """Raise if the source refuses a task, whatever the argument is called."""
        if task in ("draws", "predict", "at_prevalence"):
            refuse_uncounted_cells(self.examples, argument)
        if reason := self.source.refused_tasks(self).get(task):
            raise InputError(argument or task, reason)

    def refuse_unavailable(self, metrics: Sequence[Metric]) -> None:
        """Raise if one of the metrics is not available for this kind of data and prior."""
        for metric in metrics:
            refuse_uncounted(metric, self.examples)
            if reason := self.source.refuses_metric(self, metric):
                raise InputError("metric", f"{metric.name!r} {reason}")

    def default_metrics(self) -> list[str]:
        """Return the names of the default metrics that are available for this posterior."""
        uncounted = has_uncounted_negatives(self.examples)
        return [
            name
            for name in self._headline()
            if not self.source.refuses_metric(self, get(name)) and not (uncounted and get(name).needs_true_negatives())
        ]

    def _headline(self) -> list[str]:
        if self.graded:
            return headline_of_grades(self.labels)
        return headline(len(self.labels), self.positive is not None)

    def _wanted(self, metrics: str | Metric | Sequence[str | Metric] | None) -> list[Metric]:
        names = [metrics] if isinstance(metrics, str | Metric) else metrics or self.default_metrics()
        if not names:
            self.refuse_unavailable([get(name) for name in self._headline()])
        return [self.applicable(metric) for metric in names]

    def observed_score(self, metric: str | Metric) -> xr.DataArray:
        """Return the value of a metric in the observed counts, as `bayesperf.score` does.

        Returns
        -------
        xarray.DataArray
            Values over the leading dims (and ``label`` for ``_per_class``). After `at_prevalence` they are the values
            of the counts re-weighted to that prevalence (to its expectation, if it has a distribution). NaN if the
            metric is undefined, or if the posterior has no counts, such as a prediction.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=1, tn=4))
        >>> post.observed_score("precision").item(), post.at_prevalence(0.2).observed_score("precision").item()
        (0.8, 0.5)
        """
        metric = self.applicable(metric)
        return labelled(self._observed_values(metric), self.leading_of(metric), name=metric.name)

    def _observed_values(self, metric: Metric) -> Array:
        """Return the observed score as a plain array, with the shape of the metric's values."""
        if self.observed is None:
            return np.full(self.leading_of(metric).shape, np.nan)
        cells = self._observed_cells
        if (prevalence := self._other_prevalence(metric)) is not None:
            with np.errstate(invalid="ignore"):
                cells = cells / cells.sum(-1, keepdims=True) * prevalence.mean[:, None]
        return point_values(metric, cells, self.positive)

    @cached_property
    def _observed_cells(self) -> Numbers:
        """The counts as a plain array, with the axes of the cells."""
        assert self.observed is not None
        return self.observed.variable.transpose(*self.dims, *CELL_DIMS).values

    def summary(
        self,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
        *,
        mode: bool = False,
    ) -> pd.DataFrame:
        """Return a tidy table with one row per metric and leading coordinate.

        Parameters
        ----------
        metrics : sequence of str, optional
            Metrics to show; by default the most common ones that are available.
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.
        mode : bool
            Whether to add the mode (see `Marginal.mode`), in a column after the median.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric``, the leading dims, ``observed, mean, sd, median, ci_lower, ci_upper, method, mcse,
            mcse_interval``; for a prediction also ``undefined``. ``observed`` is the score of the counts (see
            `observed_score`), the others are figures of the posterior; the last two are Monte Carlo standard errors, of
            the mean and of the interval's ends. The ``attrs`` describe the intervals.
        """
        wanted = self._wanted(metrics)
        observed = [self._observed_values(metric) for metric in wanted]
        table = summary_rows(self.several(wanted), ci_prob, ci_kind, observed, mode)
        return Summary.of(table, **self.interval_attrs(ci_prob, ci_kind))

    def interval_attrs(self, ci_prob: float, ci_kind: Kind) -> dict[Any, Any]:
        """Return what describes the intervals of a table: their kind, the estimand, the prior and any note."""
        attrs = {"ci_prob": ci_prob, "ci_kind": ci_kind, "estimand": self.estimand, "prior": self.prior_text}
        note = self.source.note(ci_prob, ci_kind)
        return attrs | {"note": note} if note else attrs

    def ranks(self, metric: str | Metric) -> xr.DataArray:
        """Return the probability of each rank of each class; rank 1 is the best.

        Parameters
        ----------
        metric : str or Metric
            A metric of each class, such as "recall_per_class".

        Returns
        -------
        xarray.DataArray
            Dims (…, ``label``, ``rank``). The probabilities are fractions of the posterior's joint draws, with ties
            broken at random. ``attrs`` hold the largest Monte Carlo error, ``mcse``, and the largest fraction of
            omitted draws, ``undefined``.

        Raises
        ------
        ValueError
            If the metric has no value for each class, or has no better direction.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_table([[18, 1, 1], [6, 12, 2], [2, 1, 17]]))
        >>> post.ranks("recall_per_class").sel(label=1).round(1).values
        array([0. , 0.1, 0.9])
        """
        wanted = self.applicable(metric)
        if wanted.average != "per_class":
            raise InputError(
                "metric", f"{wanted.name!r} has one value for all classes.", "Rank them by one of each class."
            )
        if wanted.greater_is_better is None:
            raise InputError("ranks", f"neither more nor less {wanted.name} is better.")
        values = joint_draws(self[wanted], "label", self.n_draws)
        return rank_probabilities(wanted.better * values, "label")

    def prob_worst(self, metric: str | Metric) -> xr.DataArray:
        """Return the probability that each class is the worst, from its last rank (see `ranks`): dims (…, ``label``).

        How well the worst class does is another question. Its metric is a minimum of several uncertain values, and
        therefore below each of them. If the classes are in truth exactly alike, the posterior of their minimum is too
        low, however many classes there are, and its interval misses their common value more often than stated.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_table([[18, 1, 1], [6, 12, 2], [2, 1, 17]]))
        >>> post.prob_worst("recall_per_class").round(1).values
        array([0. , 0.9, 0.1])
        """
        return self.ranks(metric).isel(rank=-1, drop=True).rename("prob_worst")

    def prob_joint(self, requirements: Sequence[str] | Mapping[str | Metric, float]) -> xr.DataArray:
        """Return the probability that all requirements are met simultaneously.

        Parameters
        ----------
        requirements : mapping of metric to float, or sequence of str
            Bounds such as ``{"recall": 0.8, "fpr": 0.1}``: a lower bound for metrics whose greater values are better,
            an upper bound for the others. Or texts such as ``["recall>=0.8", "fpr<=0.1"]``.

        Returns
        -------
        xarray.DataArray
            Probabilities over the leading dims, computed by Monte Carlo from the draws in which every metric is
            defined; ``attrs["mcse"]`` is the largest standard error, which accounts for the number of these draws and,
            if a sampler made them, their autocorrelation; ``attrs["undefined"]`` is the largest fraction of omitted
            draws. NaN if all draws are omitted.

        Raises
        ------
        ValueError
            If a metric has no direction (prevalence), or one value per class ("per_class").

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=45, fn=5, fp=10, tn=90))
        >>> round(post.prob_joint({"recall": 0.8, "precision": 0.7}).item(), 1)
        0.9
        """
        required = bounds_of(requirements)
        wanted, bounds = [self.applicable(metric) for metric in required], required.values()
        if not wanted:
            raise InputError("requirements", "name at least one.")
        source, probabilities, undefined, errors = self.source, [], [], []
        for block in self.drawn_by_matrix(wanted):
            values = [block[metric] for metric in wanted]
            triples = zip(values, wanted, bounds, strict=True)
            met = np.all([m.better * v >= m.better * bound for v, m, bound in triples], axis=0)
            defined = ~np.isnan(values).any(0)
            undefined.append(1 - float(defined.mean()))
            probabilities.append(float(met.sum()) / int(defined.sum()) if defined.any() else np.nan)
            drawn = Draws(
                np.where(defined, met, np.nan).reshape(1, source.chains, -1), (0.0, 1.0), source.independent_draws
            )
            errors.append(np.nan_to_num(drawn.mcse()[0]))
        joint = self.leading.copy(deep=False, data=np.reshape(probabilities, self.leading.shape)).rename("prob_joint")
        # The joint probability cannot exceed that of a single requirement, which may be known exactly.
        for marginal, bound in zip(self.several(wanted), bounds, strict=True):
            if marginal.method != "draws":
                alone = marginal.prob_meets(bound)
                joint = joint.clip(max=alone.values)
        return joint.assign_attrs(mcse=float(np.max(errors)), undefined=float(np.max(undefined)))

    def correlation(self, first: str | Metric, second: str | Metric) -> xr.DataArray:
        """Return Pearson's correlation of two metrics in their joint posterior.

        Parameters
        ----------
        first, second : str or Metric
            Metrics with a single value.

        Returns
        -------
        xarray.DataArray
            Dims: the leading ones. It is computed from the joint draws in which both metrics are defined;
            ``attrs["undefined"]`` is the largest fraction of omitted draws. With n independent draws its standard error
            is about (1 − r²)/√n. NaN if a metric is the same in all draws, or infinite in one.

        Raises
        ------
        ValueError
            If a metric has one value per class, or is not available.

        References
        ----------
        Caelen (2017), A Bayesian interpretation of the confusion matrix, Fig. 1.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30))
        >>> round(post.correlation("precision", "recall").item(), 1)
        0.3
        """
        frame = self.labels, self.positive, self.dims, self.graded
        metrics = [single_valued(metric, *frame) for metric in (first, second)]
        correlations, undefined = [], []
        for block in self.drawn_by_matrix(metrics):
            pair = np.stack([block[metric] for metric in metrics])
            defined = ~np.isnan(pair).any(0)
            undefined.append(1 - float(defined.mean()))
            with np.errstate(invalid="ignore", divide="ignore"):
                deviations = pair[:, defined] - pair[:, defined].mean(-1, keepdims=True)
                moments = deviations @ deviations.T
                correlations.append(moments[0, 1] / np.sqrt(moments[0, 0] * moments[1, 1]))
        values = np.reshape(correlations, self.leading.shape).clip(-1, 1)
        return self.leading.copy(deep=False, data=values).rename("correlation").assign_attrs(undefined=max(undefined))

    # ── Draws, and other posteriors ──

    def joint_draws(self, draws: int, random_seed: Any = None) -> xr.DataArray:
        """Return n independent draws of the cell probabilities.

        Returns
        -------
        xarray.DataArray
            Cells with dims ``(…, draw, actual, predicted)``, or ``(…, draw, outcome)``. If `random_seed` is None, the
            posterior's own seed is used.
        """
        self.refuse("draws")
        return as_outcomes(self.source.cell_draws(self, checks.count("draws", draws), random_seed))

    def drawn_by_matrix(
        self, metrics: Sequence[Metric], draws: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        """Yield joint draws of the metrics, (n,) or (n, K) each, for one matrix at a time to save memory."""
        self.refuse_unavailable(metrics)
        self.refuse("a joint draw")
        yield from self.source.drawn_by_matrix(self, metrics, draws, random_seed)

    def cells_by_chain(
        self, draws: int | None = None, chains: int | None = None, random_seed: Any = None
    ) -> xr.DataArray:
        """Return draws of the cells with dims (…, chain, draw, actual, predicted)."""
        self.refuse("draws")
        return self.source.cells_by_chain(self, draws, chains, random_seed)

    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        """Return the posterior predictive distribution of a new test set, as proportions of its examples.

        Under a Dirichlet prior the distribution of a rate is exact. It is beta-binomial if the number of trials is
        fixed, as for accuracy, or with ``design="by_actual"`` for the rates of a class. Otherwise it is a mixture over
        that number (for up to 500 examples; for more it consists of draws). `Marginal.pmf` gives the probability of
        each value.

        Parameters
        ----------
        n : int, optional
            Number of examples in the new test set; by default the number observed.
        draws : int
            Number of new test sets drawn.
        random_seed : int or Generator, optional
            Seed of the draws; by default the posterior's own.

        Returns
        -------
        Posterior
            A metric may be undefined in some new test sets (no positives drawn). `Marginal.undefined` gives their
            fraction, which the summary shows; all other results describe the remaining ones.
        """
        return replace(
            self,
            source=self.source.predict(self, n, draws, random_seed),
            prevalence="observed" if self.prevalence is None else self.prevalence,
            scope=Scope("test_set", n=n),
            observed=None,
            learned_from=self.observed,
        )

    def update(self, cm: Counted) -> Posterior:
        """Return the posterior after more counts; updating in batches or at once gives exactly the same result."""
        self.refuse("update")
        counts = self._more_counts(cm)
        warn_of_clusters(cm)
        assert self.observed is not None
        observed = (self.observed + counts).assign_attrs(counts.attrs | self.observed.attrs)
        return replace(self, source=self.source.updated(counts), observed=observed)

    def _more_counts(self, cm: Counted) -> xr.DataArray:
        """Return the counts to update with; raise if labels or leading coordinates differ from the observed ones."""
        check_counted(cm)
        if cm.graded != self.graded or cm.labels != self.labels or cm.pos_label != self.pos_label:
            raise InputError(
                "cm",
                f"labels {cm.labels} (positive {cm.pos_label!r}) are not those of the posterior, "
                f"{self.labels} (positive {self.pos_label!r}).",
            )
        try:
            template, counts = xr.align(self.template, cm.cells, join="exact")
        except ValueError as error:
            raise InputError("cm", f"its leading coordinates are not those of the posterior: {error}") from None
        if set(counts.dims) != set(template.dims):
            raise InputError("cm", f"its leading dims {cm.dims} are not those of the posterior, {self.dims}.")
        return counts

    def at_prevalence(self, p: Any) -> Posterior:
        """Return the posterior for a setting where the classes have another prevalence.

        Recall and specificity do not change; precision, accuracy and all metrics that depend on prevalence do.

        Parameters
        ----------
        p : float, (a, b), mapping or sequence of K floats
            Prevalence of the positive class; or the parameters of a Beta(a, b) distribution for it; or the prevalences
            of all classes, by label or in the order of the labels, which must sum to 1.
        """
        self.refuse("at_prevalence")
        if self.graded:
            raise InputError("at_prevalence", "outcomes have no classes, and no prevalence.")
        prevalence = parse_prevalence(p, self.labels, self.positive)
        text = f"{self.prior_text}; prevalence {p!r}"
        return replace(self, source=self.source.at_prevalence(prevalence), prevalence=prevalence, prior_text=text)

    def to_datatree(
        self,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        *,
        draws: int | None = None,
        chains: int | None = None,
        random_seed: Any = None,
    ) -> xr.DataTree:
        """Return draws as an ArviZ tree whose group ``posterior`` has ``cells`` and one variable per metric.

        Parameters
        ----------
        metrics : sequence of str, optional
            Metrics to include, as variables with the names given here, aliases as well; by default the metrics of
            `summary`.
        draws, chains : int
            For an exact posterior, the number of independent draws per chain (default 1000) and of chains (default 4).
            Other independent draws are dealt to four chains.
        random_seed : int or Generator, optional
            Seed of the draws; by default the posterior's own.

        Returns
        -------
        xarray.DataTree
            `Posterior.from_datatree` makes a posterior of its draws; ``to_netcdf`` writes it. (`save` keeps an exact
            posterior exact.)
        """
        facts = {
            POSITIVE: -1 if self.positive is None else self.positive,
            PRIOR: self.prior_text,
            ESTIMAND: self.estimand,
            SCOPE: self.scope.as_text(),
            REFUSAL: self.source.refusal,
            NO_PREDICTION: self.source.no_prediction,
            INDEPENDENT_DRAWS: int(self.source.independent_draws),
        }
        if self.stated_prevalence is not None:
            facts[PREVALENCE] = self.stated_prevalence.mean
        cells = self.cells_by_chain(draws, chains, random_seed)
        if self.source.independent_draws and cells.sizes["chain"] == 1 and chains is None:
            cells = in_chains(cells)
        asked = [metrics] if isinstance(metrics, str | Metric) else metrics or self.default_metrics()
        named = [metric if isinstance(metric, str) else metric.name for metric in asked]
        wanted = list(zip(named, self._wanted(metrics), strict=True))
        return to_tree(cells, wanted, self.positive, facts, self.observed)

    @staticmethod
    def from_datatree(
        tree: xr.DataTree,
        pos_label: Any = None,
        *,
        part: Literal["mean", "median_group", "by_group", "new_group"] = "mean",
    ) -> Posterior:
        """Return the posterior represented by the draws of the cells in a tree.

        Parameters
        ----------
        tree : xarray.DataTree
            A tree with a variable ``cells`` in the group ``posterior``, whose dims are chain, draw, any others, actual
            and predicted.
        pos_label : label, optional
            The positive class; by default the one recorded in the tree or implied by the labels.
        part : {"mean", "median_group", "by_group", "new_group"}
            For a model of groups: the population's mean (``cells``), each group itself (``cells_group``), or a group
            not seen yet (``cells_new``), as in `bayesperf.pool`. Other models only have the first.

        Raises
        ------
        ValueError
            If the tree has no such cells, or they are not probabilities.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cells = {"tp": [8, 19, 30], "fn": [2, 1, 10], "fp": [1, 0, 2], "tn": [9, 20, 28]}
        >>> sites = bp.ConfusionMatrix.from_counts(**cells, dims={"site": ["north", "east", "south"]})
        >>> tree = bp.fit(sites, "groups", options={"groups": "clusters"}, random_seed=1)
        >>> new = bp.Posterior.from_datatree(tree, part="new_group")
        >>> new.estimand
        'Prediction of the metric of a new site'
        >>> new["recall"].prob_above(0.5).round(1).item()
        1.0
        """
        return Posterior(**read_tree(tree, pos_label, part))

    def plot(self, metrics: str | Metric | Sequence[str | Metric] | None = None, **options: Any) -> Figure:
        """Plot densities of metrics with their intervals, or forest plots over the leading dims.

        Parameters
        ----------
        metrics : sequence of str, optional
            Metrics to plot; by default the metrics of `summary`.
        **options
            The options ``ci_prob``, ``ci_kind`` and ``ax``, as in `bayesperf.plots.density`.
        """
        from bayesperf import plots

        wanted = self._wanted(metrics)
        return plots.panel(self.several(wanted), **options)

    def in_words(
        self,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        *,
        ci_prob: float = 0.95,
        ci_kind: Kind = "hdi",
    ) -> str:
        """Return sentences on metrics, with the figures of `summary`.

        Parameters
        ----------
        metrics : str, Metric or sequence of these, optional
            By default those of accuracy, precision and recall that are available; for several matrices the first of
            them.
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=24, fn=6, fp=5, tn=65))
        >>> print(post.in_words(["recall", "f1"]))
        From 100 examples: recall is 0.790 (95 % HDI 0.648–0.922; observed 24 of 30) and F1 0.801 (95 % HDI \
        0.689–0.904; observed 0.814).
        """
        wanted = self._wanted(metrics or default_metrics_in_words(self))
        said = posterior_in_words(self, [self[m] for m in wanted], checks.probability("ci_prob", ci_prob), ci_kind)
        return " ".join([*self.source.preface(), said, *self.source.remarks(self, wanted[0])])

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {self.template.sizes[dim]}" for dim in self.dims)
        what = "outcomes" if self.graded else "classes"
        return f"<bayesperf.Posterior: {self.source.method}, {len(self.labels)} {what}{', ' * bool(sizes)}{sizes}>"


def leading_of(metric: Metric, leading: xr.DataArray, labels: list[Any]) -> xr.DataArray:
    """Return leading dims with ``label`` as the last one, if a metric has one value per class."""
    return leading.expand_dims(label=labels, axis=-1) if metric.average == "per_class" else leading


@dataclass(frozen=True, eq=False)
class MetricOf(Origin):
    """A metric of a posterior, with draws that are joint with the posterior's other metrics."""

    posterior: Posterior
    metric: Metric

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        return self.posterior.source.sampled(self.posterior, self.metric, draws, random_seed)

    def observed(self) -> xr.DataArray | None:
        """Return the observed score; for a proportion also its number of trials."""
        return self.posterior.observed_trials(self.metric)


def warn_of_clusters(cm: Counted) -> None:
    """Warn if examples that were counted with clusters are treated as independent."""
    if cm.clusters is not None:
        name, what = cm.clusters.name, within(cm.clusters.name, cm.graded)
        warn(
            DependenceWarning,
            "BP101",
            f"the {what} are of {len(np.unique(cm.clusters.cluster)):,} {plural(name)}, and this posterior takes them "
            "for independent: it is too narrow where those of one are alike. Use pool(cm).mean.",
        )
