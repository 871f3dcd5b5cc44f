"""Pooling counts over groups (folds, sites, days, images): the answers, and the arguments of `pool`.

The model has a beta-binomial for each actual class. The bootstrap weights whole clusters; systems judged in the same
clusters have the same weights, so their comparison is paired. No cross-validation estimates the spread over training
sets, or describes the model refitted on all data: intervals from random folds with up to about 100 examples are
somewhat optimistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, PriorWarning, warn
from bayesperf.core.words import plural, sentence
from bayesperf.data.axis_names import FOLD, REPEAT
from bayesperf.data.count_arrays import COUNTED_AGAIN, has_uncounted_negatives, marked, repeated_dim
from bayesperf.data.counted import Counted
from bayesperf.data.cross_validation import folds_of_all_repeats, refuse_sum
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.groups.answers_over_groups import AnswersOverGroups, Part
from bayesperf.groups.attempts import Rule
from bayesperf.groups.cluster_weights import pool_clusters
from bayesperf.groups.group_quadrature import DISPERSION, GroupsModel
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import DRAWS, Posterior, warn_of_clusters
from bayesperf.posteriors.posterior_under_prior import check_design

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Default number of draws of more than two classes.
_DRAWS_OF_CLASSES = 5_000
# The most attempts of which some number must pass, between one and all: the numbers of ways overflow beyond.
_MOST_OF_SOME = 500
# If prior and posterior share this much of their mass, the data have said nothing.
_SAME_AS_PRIOR = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Pooled(AnswersOverGroups):
    """Counts pooled over groups, by `pool`.

    Attributes
    ----------
    mean : Posterior
        Posterior of metrics at the population's mean rates; by the Bayesian bootstrap, of metrics over examples, whose
        `source` knows what the clusters cost (``mean.source.design_effect``).
    model : GroupsModel or None
        The model of the groups, with the prior of the dispersion; None by the bootstrap, which has no such model.
    """

    mean: Posterior
    model: GroupsModel | None = None

    @property
    def dim(self) -> str:
        return str(self._knows.dim)

    @property
    def by_group(self) -> Posterior:
        """Posterior of each group's own metrics, with the dim of the groups."""
        return self._model("by_group", "what each one is like, and how far it is drawn to the others").by_group

    @property
    def new_group(self) -> Posterior:
        """Prediction of the metrics of a new group."""
        return self._model("new_group", "what a new one will be like").new_group

    @property
    def dispersion(self) -> Marginal:
        """Posterior of the dispersion ρ, over the other leading dims and ``actual``."""
        return self._model("dispersion", "how much they differ").dispersion

    def _model(self, what: str, why: str) -> GroupsModel:
        """Return the model, or raise if there is none."""
        if self.model is None:
            dim = self.dim
            raise InputError(
                what,
                f"the Bayesian bootstrap takes {plural(dim)} as they are, and has no model of them, which is needed to "
                f"say {why}.",
                f"Count two classes with the dim {dim!r} and use method='model'; of more classes, "
                "fit(cm, model='groups').",
            )
        return self.model

    @property
    def _knows(self) -> Any:
        """What knows the groups: their model, or the source of the bootstrap."""
        return self.mean.source if self.model is None else self.model

    # ── Several attempts ──

    @checked
    def pass_at_k(self, k: int, at_least: int = 1) -> Marginal:
        """Return the probability that at least one of k attempts passes, if groups are questions asked repeatedly.

        An attempt that passes is a true positive, one that fails is a false negative.

        Parameters
        ----------
        k : int
            Number of attempts, from 1 to the smallest number of attempts at a question.
        at_least : int
            How many of the k must pass (G-Pass@k), from 1 to k; k is `pass_hat_k`.

        Returns
        -------
        Marginal
            By the model, with a last leading dim ``of``: a new question from the population, and the mean over these
            questions. By the bootstrap, a new question, joint for systems that were asked the same questions. Its
            `observed` is the unbiased estimate (Chen et al. 2021, Evaluating large language models trained on code,
            equation 1).

        Raises
        ------
        ValueError
            If a question was asked fewer than k times, a system was asked none, no class is positive, or at_least > k.

        Notes
        -----
        Questions differ more than sites: many are nearly always solved, or hardly ever. Their dispersion is Beta(1, 1),
        whatever it is for metrics, unless `pool` was given another. docs/coverage.md shows how often intervals cover.

        Given p and ρ, how many of k attempts at a new question pass is beta-binomial of κp and κ(1 − p); at these
        questions it is binomial, with the posterior of their rates. Systems are independent.

        By the Bayesian bootstrap, the score of a question is the proportion of all choices of k attempts in which
        enough pass (hypergeometric): for pass@k, 1 − C(n − c, k)/C(n, k) if c of n attempts passed. The mean of the
        scores over questions is drawn with weights v_g of questions that all systems share, so `bayesperf.compare`
        compares them in pairs: (Σ_g v_g s_g + ε₁)/(Σ_g v_g + ε₁ + ε₀). The prior's pseudo-questions, of which ε₁ ~
        Gamma(α₁) are solved and ε₀ ~ Gamma(α₀) are not, are its pseudo-examples in the cells of true positives and of
        false negatives.

        Examples
        --------
        >>> import bayesperf as bp
        >>> passed = [0] * 10 + [1] * 8 + [3] * 12 + [5] * 10
        >>> cm = bp.ConfusionMatrix.from_counts(
        ...     tp=passed, fn=[5 - n for n in passed], fp=0, tn=0, dims={"question": range(40)})
        >>> at_3 = bp.pool(cm, "question", "clusters").pass_at_k(3)
        >>> at_3.observed.sel(of="these questions").round(3).item()
        0.67
        >>> at_3.hdi().sel(of="a new question").round(2).values
        array([0.54, 0.79])

        >>> passed = [[0] * 12 + [1] * 8 + [3] * 10 + [5] * 10, passed]
        >>> cm = bp.ConfusionMatrix.from_counts(
        ...     tp=passed, fn=[[5 - n for n in row] for row in passed], fp=0, tn=0,
        ...     dims={"model": ["old", "new"], "question": range(40)})
        >>> pooled = bp.pool(cm, "question", "clusters", method="bayesian_bootstrap")
        >>> compared = bp.compare(pooled.pass_at_k(3))
        >>> compared.prob_greater.sel(model="new", model_other="old").round(2).item()
        0.96
        """
        return self._credit_of_k(k, at_least)

    @checked
    def pass_hat_k(self, k: int) -> Marginal:
        """Return the probability that all of k attempts pass (pass^k), if groups are questions asked repeatedly.

        A new question passes all of them with probability E[x^k], x ~ Beta(κp, κ(1 − p)); for these questions it is the
        mean of x_g^k. All else is as in `pass_at_k`.

        Parameters
        ----------
        k : int
            Number of attempts, from 1 to the smallest number of attempts at a question.

        Returns
        -------
        Marginal
            As in `pass_at_k`.

        Raises
        ------
        ValueError
            As in `pass_at_k`.

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
        return self._credit_of_k(k, k, every=True)

    @checked
    def mg_pass_at_k(self, k: int) -> Marginal:
        """Return the mean probability that at least m of k attempts pass, over m above k/2 (mG-Pass@k).

        It is 2/k times the sum of `pass_at_k(k, at_least=m)` over all m above ⌈k/2⌉, which is their mean if k is even.
        All else is as in `pass_at_k`.

        Parameters
        ----------
        k : int
            Number of attempts, from 2 to the smallest number of attempts at a question.

        Returns
        -------
        Marginal
            As in `pass_at_k`.

        Raises
        ------
        ValueError
            As in `pass_at_k`.

        References
        ----------
        Liu et al. (2024), Are your LLMs capable of stable reasoning?

        Examples
        --------
        >>> import bayesperf as bp
        >>> passed = [0] * 12 + [1] * 8 + [3] * 10 + [4] * 10
        >>> outcomes = bp.Outcomes.from_counts(right=passed, n=4, dims={"question": range(40)})
        >>> bp.pool(outcomes, "question", "clusters").mg_pass_at_k(4).observed.sel(of="these questions").item()
        0.375
        """
        return self._credit_of_k(k, None)

    def _credit_of_k(self, k: int, enough: int | None, every: bool = False) -> Marginal:
        size = checks.count("k", k, least=2 if enough is None else 1)
        if enough is not None and checks.count("at_least", enough) > size:
            raise InputError("at_least", f"it is {enough}, of k={size} attempts.", "Give a number from 1 to k.")
        if enough not in (1, size) and size > _MOST_OF_SOME:
            raise InputError("k", f"it is {size:,}, and at most {_MOST_OF_SOME} unless one attempt must pass, or all.")
        credit: Marginal = self._knows.credit_of_k(Rule(size, enough, every))
        return credit

    # ── Tables and figures ──

    def _parts(self) -> list[Part]:
        if self.model is None:
            return [Part("mean", "", self.mean)]
        dim, number = self.dim, self.model.cm.counts.sizes[self.dim]
        alone = number == 1
        alike, at_these = ("this one", "at this") if alone else (f"these {number}", f"among these {number}")
        return [
            Part("mean", f"over all {plural(dim)} like {alike}, mean", self.mean),
            Part("new group", f"for a new {dim},", self.new_group),
            Part("group", f"{at_these} {dim if alone else plural(dim)},", self.by_group),
        ]

    def _estimand(self) -> str:
        return f"Metrics at the population mean, of a new {self.dim} and of each {self.dim}"

    def in_words(self, metric: str | Metric | None = None, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences on a metric: its mean over groups, a new group, and the groups at the ends.

        Parameters
        ----------
        metric : str or Metric, optional
            A metric with a single value, not one for each class; by default recall for two classes, else accuracy.
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the interval.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cells = {"tp": [8, 19, 30], "fn": [2, 1, 10], "fp": [1, 0, 2], "tn": [9, 20, 28]}
        >>> sites = bp.ConfusionMatrix.from_counts(**cells, dims={"site": ["north", "east", "south"]})
        >>> print(bp.pool(sites, "site", "clusters").in_words("recall"))
        Over all sites like these 3, mean recall is 0.793 (95 % HDI 0.632–0.934; observed 57 of 70). For a new site, \
        recall is 0.790 (95 % HDI 0.513–1.000). Among these 3 sites, recall is 0.800 (95 % HDI 0.621–0.957; \
        observed 8 of 10) for north, 0.883 (95 % HDI 0.760–0.992; observed 19 of 20) for east and 0.767 (95 % HDI \
        0.644–0.882; observed 30 of 40) for south.
        """
        metric = metric or self._usual
        if self.model is None:
            return self.mean.in_words(metric, ci_prob=ci_prob, ci_kind=ci_kind)
        said = self._sentences(ci_prob, ci_kind, [metric])
        return " ".join([*said, *map(sentence, self.model.about_repeats())])

    @property
    def _usual(self) -> str:
        return "recall" if self.mean.positive is not None and self.model is not None else "accuracy"

    def plot(self, metric: str | Metric | None = None, **options: Any) -> Figure:
        """Plot how the groups shrink towards the mean: observed and estimated metrics, the mean, and a new group.

        By the bootstrap, draw the density of the metric over examples.

        Parameters
        ----------
        metric : str or Metric, optional
            As in `in_words`.
        **options
            The options ``ci_prob``, ``ci_kind`` and ``ax``, as in `bayesperf.plots.density`.
        """
        from bayesperf import plots

        if self.model is None:
            return self.mean.plot([metric or self._usual], **options)
        return plots.shrinkage(self, metric or self._usual, **options)

    def __repr__(self) -> str:
        return f"<bayesperf.groups.Pooled: {', '.join(self._knows.facts())}>"


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
) -> Pooled:
    """Pool matrices over groups that differ: folds, sites, subjects, days, images.

    The model (`bayesperf.groups.group_quadrature`) answers for the population's mean, each of these groups, and a new
    group. The bootstrap (`bayesperf.groups.cluster_weights`) says, for any metric and number of classes, how good a
    system is on examples that come in clusters, and how much better than another on the same clusters.

    Parameters
    ----------
    cm : ConfusionMatrix or Outcomes
        Counts with the leading dim `dim`, or with clusters (``cluster=``); for the model, binary, or right and wrong.
        Other leading dims are systems, which the model pools one by one and the bootstrap draws jointly.
    dim : str, optional
        The leading dim of the groups, by default "fold"; none for counts with clusters.
    groups : {"random", "clusters"}, optional
        "random" (the model's default): random folds of one data set, whose rates hardly differ (ρ ~ Beta(1, 24)) and
        which share one prevalence. "clusters": sites, subjects, days or images, each with its own prevalence; ρ ~
        Beta(1, 9).
    repeats : int, optional
        Number of repeats of cross-validation; `dim` then has repeats × k folds, and each example weighs 1/repeats. By
        default 1, or what `ConfusionMatrix.from_cross_validation` knows (``repeat`` and ``fold`` are pooled together).
    dispersion : tuple of two float, optional
        (a, b) of another Beta prior of ρ, the dispersion: the correlation of two examples of a group.
    method : {"model", "bayesian_bootstrap"}, optional
        By default the model, and for counts with clusters the bootstrap.
    prior : str or Prior, optional
        For the bootstrap, as in `bayesperf.posterior`; the default for more than two classes is Perks'.
    design : {"joint", "by_actual"}
        As in `bayesperf.posterior`; under "by_actual", supply the prevalence by `Posterior.at_prevalence`.
    draws, random_seed
        Number of draws (10,000 by default, and 5,000 for more than two classes), and their seed.

    Returns
    -------
    Pooled
        After the bootstrap, its ``mean`` is a posterior over examples; `by_group`, `new_group` and `dispersion` raise.
        docs/coverage.md shows how often the intervals cover.

    Raises
    ------
    TypeError, ValueError
        If `cm` is neither a ConfusionMatrix nor Outcomes, or has no such dim; if an argument is invalid or does not
        belong to the method. For the model, if there are more than two classes or no true negatives, or `repeats` does
        not divide the folds or is missing for folds that share examples; for the bootstrap, below three clusters.

    Warns
    -----
    PriorWarning, DependenceWarning
        If the interval for a new group is the prior's, because the data say nothing about the dispersion. For the
        bootstrap, if a cell has no examples; if there are fewer than 20 clusters, or systems share only some of them.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> cm = bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by=["model", "fold"],
    ...                                    pos_label="malignant")
    >>> bp.pool(cm.sel(model="naive_bayes")).new_group["recall"].hdi().values.round(2)
    array([0.76, 1.  ])
    >>> bp.pool(bp.Outcomes.from_correct([0, 1, 1] * 20, cluster={"patient": [*range(20)] * 3}))
    <bayesperf.groups.Pooled: 20 patients, 2 outcomes, over examples>
    """
    checks.instance("cm", cm, ConfusionMatrix, Outcomes)
    if method is None:
        method = "model" if dim is not None or cm.clusters is None else "bayesian_bootstrap"
    checks.one_of("method", method, ("model", "bayesian_bootstrap"))
    check_design(design, cm)
    of_classes = DRAWS if len(cm.labels) == 2 else _DRAWS_OF_CLASSES
    draws = of_classes if draws is None else checks.count("draws", draws, least=2)
    seed = checks.seed(random_seed)
    if method == "bayesian_bootstrap":
        _refuse_of_model(groups, repeats, dispersion)
        cm = _with_whole_examples(cm)
        return Pooled(pool_clusters(cm, _dim_of_clusters(cm, dim), prior, design, draws, seed))
    _refuse_for_model(cm, prior)
    dim, groups = "fold" if dim is None else dim, "random" if groups is None else groups
    checks.leading_dim("dim", dim, cm.dims)
    counts, repeats = folds_of_all_repeats(cm.counts, dim, repeats)
    if repeats == 1 and cm.clusters is not None and cm.clusters.name != dim:
        warn_of_clusters(cm)
    checks.one_of("groups", groups, tuple(DISPERSION))
    model = GroupsModel(
        cm=cm if counts is cm.counts else cm.holding(counts),
        dim=dim,
        groups=groups,
        dispersion_weights=DISPERSION[groups] if dispersion is None else checks.beta_weights("dispersion", dispersion),
        dispersion_given=dispersion is not None,
        repeats=repeats,
        design=design,
        n_draws=draws,
        random_seed=seed,
    )
    _warn_of_prior(model)
    return Pooled(model.mean, model)


def _with_whole_examples(cm: Counted) -> Counted:
    """Return the counts of all repeats together, where the clusters are the examples that were judged in each."""
    if cm.clusters is None or repeated_dim(cm.counts) is None:
        return cm
    folds = [dim for dim in (REPEAT, FOLD) if dim in cm.dims]
    return cm.holding(marked(cm.counts, COUNTED_AGAIN), cm.patterns, cm.clusters).sum(folds)


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
    if has_uncounted_negatives(cm.cells):
        raise InputError(
            "cm",
            "the model of pool needs true negatives, and nobody counted them.",
            "Use method='bayesian_bootstrap', or give `tn`.",
        )


def _dim_of_clusters(cm: Counted, dim: str | None) -> str:
    """Return what the clusters are: a leading dim, or what the counts were counted with."""
    if cm.clusters is None:
        if dim is None:
            raise InputError("dim", "name the leading dim of the clusters, or count with them: cluster=ids.")
        checks.leading_dim("dim", dim, cm.dims)
        refuse_sum(cm.counts, [dim])
        return dim
    if dim is not None:
        raise InputError(
            "dim", f"the counts have {plural(cm.clusters.name)} as clusters already.", "Pool without `dim`."
        )
    return cm.clusters.name


def _refuse_of_model(groups: Any, repeats: Any, dispersion: Any) -> None:
    """Refuse arguments that only the model has."""
    if groups not in (None, "clusters"):
        raise InputError(
            "groups", f"method='bayesian_bootstrap' applies to independent clusters only; it is {groups!r}."
        )
    problem = "applies to method='model' only; the Bayesian bootstrap has none."
    checks.none_given(problem, repeats=None if repeats == 1 else repeats, dispersion=dispersion)


def _warn_of_prior(model: GroupsModel) -> None:
    """Warn if the posterior of the dispersion is its prior; of a class without any example nothing was asked."""
    overlap = model.overlap
    where = np.argwhere((overlap.values > _SAME_AS_PRIOR) & (model.trials > 0).values)
    if not len(where):
        return
    places = [f"{dim}={overlap[dim].values[i]!s}" for dim, i in zip(overlap.dims, where[0], strict=True)]
    place = f" at {', '.join(places)}" if places else ""
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    warn(
        PriorWarning,
        "BP202",
        f"the data say nothing of the dispersion between {plural(model.dim)} (few, small ones){place}{more}: the "
        f"interval of a new one is the prior's, ρ ~ {model.dispersion_text}. Give more of them, or what is known of "
        "ρ, as dispersion=(a, b) of bp.pool.",
    )
