"""What several studies say of one test: the median study, the mean over studies, each study, and a new one.

The model is `bayesperf.models.meta_analysis`. Its posterior is drawn here by quadrature (`study_integrals`), or comes
from `bayesperf.fit`, which takes priors and covariates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, ndtri

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array
from bayesperf.core.errors import IdentifiabilityWarning, InputError, InputTypeError, warn
from bayesperf.core.random_streams import streams
from bayesperf.core.words import chance, enumerated, estimate, plural, sentence
from bayesperf.data.count_arrays import refuse_uncounted_cells
from bayesperf.data.cross_validation import refuse_sum
from bayesperf.data.label_encoding import missing_positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws, DrawsWithoutMoments
from bayesperf.groups import study_integrals
from bayesperf.groups.answers_over_groups import AnswersOverGroups, Part
from bayesperf.metrics.metric import Metric
from bayesperf.models._logit_normal import cells_over_groups, correlated
from bayesperf.posteriors import tree_attributes as attributes
from bayesperf.posteriors.arviz_trees import observed_table
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sources.stored_draws import StoredDraws

METRICS = (
    "recall",
    "specificity",
    "positive_likelihood_ratio",
    "negative_likelihood_ratio",
    "diagnostic_odds_ratio",
)
# What is at 0 where a ratio is infinite, by the rate: errors on negatives, correct negatives, and both errors.
_AT_ZERO = {"positive_likelihood_ratio": ["fp"], "negative_likelihood_ratio": ["tn"],
            "diagnostic_odds_ratio": ["fn", "fp"]}  # fmt: skip
# The smallest probability with which the sign of the correlation is said.
_SHOWN = 0.95
# Points of the outline of a region.
_OUTLINE = 181


@dataclass(frozen=True, eq=False)
class CellsOfStudies(StoredDraws):
    """Draws of the cells of studies, of which ratios may have no finite moments."""

    # For each ratio, over the leading dims: inf where its mean diverges, NaN where only its variance does, else 0.
    means: xr.Dataset = field(kw_only=True)

    def distributions(self, post: Posterior, metrics: Sequence[Metric]) -> list[Distribution]:
        return [
            DrawsWithoutMoments(
                drawn.values, drawn.bounds, drawn.independent_draws, means=self.means[name].values.ravel()
            )
            if isinstance(drawn, Draws) and (name := metric.name) in self.means
            else drawn
            for metric, drawn in zip(metrics, super().distributions(post, metrics), strict=True)
        ]


def means_of_ratios(counts: xr.DataArray, part: str) -> xr.Dataset:
    """Return which ratios of studies, of counts (study, actual, predicted), have finite moments; see `CellsOfStudies`.

    A rate x of a new study is near 0 where the spread τ is large: a normal logit and the half-normal prior of τ leave
    the density |log x|^(−S/2) of x, where S studies bound the spread because they have both correct and wrong calls. So
    the mean of 1/x diverges if S ≤ 2, and its variance always. With correlated logits the mean of the odds ratio
    diverges always. A study without the calls in question is as uncertain as a new one. Of the median and the mean
    study the density of x is positive at 0 if no study has such calls.
    """
    dim = str(counts.dims[0])
    positive, negative = study_integrals.rows_of_rates(counts)
    cells = {"fn": (positive, negative), "fp": (negative, positive), "tn": (negative, negative)}
    seen = {name: counts.isel(actual=a, predicted=p, drop=True) for name, (a, p) in cells.items()}
    bounding = int(((seen["fp"] > 0) & (seen["tn"] > 0)).sum())
    means = {}
    for ratio, names in _AT_ZERO.items():
        none = xr.concat([seen[name] == 0 for name in names], "cell").any("cell")
        nowhere = any(not seen[name].any() for name in names)
        if part == "new_group":
            means[ratio] = xr.DataArray(np.inf if len(names) == 2 or bounding <= 2 else np.nan)
        elif part == "by_group":
            means[ratio] = none.copy(data=np.where(none, np.inf if bounding <= 2 else np.nan, 0.0))
        else:
            means[ratio] = xr.DataArray(np.inf if nowhere else 0.0)
    return xr.Dataset(means).drop_vars(dim, errors="ignore")


@dataclass(frozen=True, eq=False, repr=False)
class MetaAnalysis(AnswersOverGroups):
    """Recall and specificity of one test over several studies, by `meta_analysis`.

    Attributes
    ----------
    drawn : xarray.Dataset
        Draws (chain, draw, …) of ``location``, ``spread`` and ``correlation`` on the logit scale, and of the cells.
    counts : xarray.DataArray
        Counts (study, actual, predicted).
    own_priors : bool
        Whether the priors are those of `meta_analysis`, not of a fit.

    Notes
    -----
    Four posteriors answer four questions. `median_group` has the rates expit μ, the summary point of the literature;
    `mean` the rates averaged over studies, which are nearer to ½; `new_group` predicts a study not seen yet; `by_group`
    are the studies themselves. Metrics that depend on prevalence need `Posterior.at_prevalence`, because the number of
    positive examples is each study's design. Likelihood ratios and the odds ratio of a new study have a median but no
    mean: it is infinite, or NaN where their variance is infinite and draws cannot tell it. docs/coverage.md shows how
    often the intervals and regions cover. `summary` has by default recall, specificity, the likelihood ratios and the
    diagnostic odds ratio.
    """

    drawn: xr.Dataset
    counts: xr.DataArray
    own_priors: bool = True

    drawn_by = "meta_analysis"
    usual_metrics = METRICS

    # ── The four answers ──

    @cached_property
    def median_group(self) -> Posterior:
        """Posterior of metrics of the median study, the summary point."""
        return self._part("median_group")

    @cached_property
    def mean(self) -> Posterior:
        """Posterior of metrics at the rates averaged over all studies like these."""
        return self._part("mean")

    @cached_property
    def by_group(self) -> Posterior:
        """Posterior of each study's own metrics, with the dim of the studies."""
        return self._part("by_group")

    @cached_property
    def new_group(self) -> Posterior:
        """Prediction of the metrics of a new study."""
        return self._part("new_group")

    def _part(self, part: Literal["mean", "median_group", "by_group", "new_group"]) -> Posterior:
        tree = xr.DataTree.from_dict({"posterior": self.drawn, "constant_data": self.counts.to_dataset(name="counts")})
        post = Posterior.from_datatree(tree, part=part)
        if not self.own_priors:
            return post
        facts = {each.name: getattr(post.source, each.name) for each in fields(StoredDraws)}
        return replace(post, source=CellsOfStudies(**facts, means=means_of_ratios(self.counts, part)))

    @property
    def dim(self) -> str:
        return str(self.counts.dims[0])

    # ── How studies differ ──

    @property
    def spread(self) -> Marginal:
        """Posterior of the standard deviation of studies, on the logit scale, over ``rate``."""
        drawn = self.drawn["spread"].transpose("rate", "chain", "draw")
        return self._parameter("spread", drawn.values, drawn.isel(chain=0, draw=0, drop=True), (0.0, np.inf))

    @property
    def correlation(self) -> Marginal:
        """Posterior of the correlation of the logits of recall and specificity between studies."""
        return self._parameter("correlation", self.drawn["correlation"].values[None], NO_DIMS, (-1.0, 1.0))

    def _parameter(self, name: str, values: Array, leading: xr.DataArray, bounds: tuple[float, float]) -> Marginal:
        quantity = Quantity(name, Scope("dispersion", self.dim), words=name, bounds=bounds)
        independent_draws = bool(self.drawn.attrs[attributes.INDEPENDENT_DRAWS])
        return Marginal(quantity, Draws.of(name, values, bounds, independent_draws), xr.zeros_like(leading, float))

    @checked
    def region(self, of: Literal["median_group", "new_group"] = "median_group", ci_prob: float = 0.95) -> xr.Dataset:
        """Return the outline of a joint region of recall and specificity.

        Parameters
        ----------
        of : {"median_group", "new_group"}
            The median study (the credible region of the summary point), or a new study (the prediction region).
        ci_prob : float
            Probability of the region.

        Returns
        -------
        xarray.Dataset
            ``recall``, ``specificity`` and ``fpr`` over ``point``, which goes once around the region.

        Notes
        -----
        On the logit scale the region is an ellipse about the mean of the draws, with the axes of their covariance, and
        just so large that it contains the proportion `ci_prob` of the draws.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
        >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
        >>> studies.region("median_group")["recall"].max().round(1).item()
        0.9
        """
        checks.one_of("of", of, ("median_group", "new_group"))
        centre, root = ellipse(self.logits(of), checks.probability("ci_prob", ci_prob))
        angle = np.linspace(0, 2 * np.pi, _OUTLINE)
        recall, specificity = expit(centre[:, None] + root @ np.stack([np.cos(angle), np.sin(angle)]))
        outline = {"recall": recall, "specificity": specificity, "fpr": 1 - specificity}
        region = xr.Dataset({name: ("point", values) for name, values in outline.items()})
        return region.assign_attrs(ci_prob=ci_prob, estimand=getattr(self, of).estimand)

    def logits(self, of: str) -> Array:
        """Return draws (n, 2) of the logits of recall and specificity of the median study, or of a new one."""
        location, spread = (self.drawn[name].transpose("chain", "draw", "rate") for name in ("location", "spread"))
        if of == "new_group":
            leading = self.counts.isel({self.dim: 0, "actual": 0, "predicted": 0}, drop=True)
            (rng,) = streams(int(self.drawn.attrs[attributes.RANDOM_SEED]), "region", leading, [self.counts.values])
            z = location.copy(data=rng.standard_normal(location.shape))
            location = location + spread * correlated(z, self.drawn["correlation"]).transpose("chain", "draw", "rate")
        return np.asarray(location.values.reshape(-1, 2))

    @checked
    def without_each(self, ci_prob: float = 0.95, draws: int = 1000) -> pd.DataFrame:
        """Return the median study's recall and specificity as each study is left out.

        Parameters
        ----------
        ci_prob : float
            Probability of the equal-tailed intervals.
        draws : int
            Number of draws of each analysis, which takes a quarter of a second.

        Returns
        -------
        pandas.DataFrame
            Columns: the dim of the studies (the one left out; first a row "none"), ``metric``, ``mean``, ``ci_lower``,
            ``ci_upper``.

        Raises
        ------
        ValueError
            If the analysis comes from a fit, whose priors it would not repeat; there are fewer than three studies, or
            one is called "none".
        """
        if not self.own_priors:
            raise InputError(
                "without_each",
                "this analysis comes from a fit, whose priors and covariates it does not know.",
                "Call meta_analysis(counts), or fit the counts without each study.",
            )
        names = self.counts[self.dim].values.tolist()
        if len(names) < 3:
            raise InputError("without_each", f"there are {len(names)} {plural(self.dim)}.", "Give at least three.")
        if "none" in names:
            raise InputError(
                "without_each", f"a {self.dim} is called 'none', as the row without any left out.", "Rename it."
            )
        seed = int(self.drawn.attrs[attributes.RANDOM_SEED])
        rows = []
        for left_out in ["none", *names]:
            rest = (
                self.counts if left_out == "none" else self.counts.sel({self.dim: [n for n in names if n != left_out]})
            )
            table = analysed(rest, draws, seed).median_group.summary(["recall", "specificity"], ci_prob, "eti")
            rows.append(table[["metric", "mean", "ci_lower", "ci_upper"]].assign(**{self.dim: left_out}))
        joined = pd.concat(rows, ignore_index=True)
        return joined[[self.dim, "metric", "mean", "ci_lower", "ci_upper"]]

    # ── Tables and figures ──

    def _parts(self) -> list[Part]:
        dim, number = self.dim, self.counts.sizes[self.dim]
        # All answers but those of the studies themselves are at covariates 0.
        named = list(self.drawn["covariate"].values) if "covariate" in self.drawn.coords else []
        at = f" with {enumerated([f'{name} 0' for name in named])}" if named else ""
        median = f"in the median {dim}, among {plural(dim)} like these {number}{at},"
        return [
            Part(f"median {dim}", median, self.median_group),
            Part("mean", f"on average over such {plural(dim)},", self.mean),
            Part(f"new {dim}", f"in a new {dim},", self.new_group),
            Part(dim, "", self.by_group),
        ]

    def _estimand(self) -> str:
        return f"Metrics of the median {self.dim}, on average, of a new and of each {self.dim}"

    def in_words(self, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences: the median study, the mean over studies, a new study, and how studies differ.

        Parameters
        ----------
        ci_prob, ci_kind
            Probability and kind ("hdi" or "eti") of the intervals.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
        >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
        >>> print(studies.in_words().split(". ")[0])  # doctest: +ELLIPSIS
        In the median study, among studies like these 4, recall is 0.76... (95 % HDI 0.63...–0.88...) and specificity \
is 0.83...
        """
        said = self._sentences(ci_prob, ci_kind, METRICS[:2])
        return " ".join([*said, *map(sentence, (self._differences(), self._together(ci_prob, ci_kind)))])

    def _differences(self) -> str:
        """Return how much studies differ, as the factor between the odds of two of them in the median."""
        # Larsen & Merlo (2005), American Journal of Epidemiology 161: exp(√2 τ Φ⁻¹(¾)).
        factor = np.exp(np.sqrt(2) * ndtri(0.75) * self.spread.median().values)
        return (
            f"between two such {plural(self.dim)}, the odds of recall differ by a median factor of {factor[0]:.1f}, "
            f"and the odds of specificity by {factor[1]:.1f}"
        )

    def _together(self, ci_prob: float, ci_kind: Kind) -> str:
        """Return whether studies of more recall have less specificity."""
        below = self.correlation.prob_below(0).item()
        low, high = self.correlation.interval(ci_prob, ci_kind).values
        known = estimate(self.correlation.mean().item(), low, high, ci_prob, ci_kind)
        beginning = f"{plural(self.dim)} with a higher recall have a"
        if max(below, 1 - below) < _SHOWN:
            return f"it is open whether {beginning} lower specificity: the correlation of the logits is {known}"
        less, why = ("lower", ", as if thresholds differed") if below > 0.5 else ("higher", "")
        probability = chance(max(below, 1 - below))
        return f"{beginning} {less} specificity (probability {probability}; correlation of the logits {known}){why}"

    def table_below(self, **options: Any) -> pd.DataFrame:
        """Return the table without the studies one by one; see `summary`."""
        table = self.summary(**options)
        return table[table["answer"] != self.dim]

    def __repr__(self) -> str:
        return f"<bayesperf.groups.MetaAnalysis: {self.counts.sizes[self.dim]} {plural(self.dim)}>"


def ellipse(draws: Array, prob: float) -> tuple[Array, Array]:
    """Return the centre of draws (n, 2), and the root that maps the unit circle to the ellipse that holds `prob`."""
    centre, root = draws.mean(0), np.linalg.cholesky(np.cov(draws.T))
    distance = np.linalg.norm(np.linalg.solve(root, (draws - centre).T), axis=0)
    return centre, root * np.quantile(distance, prob)


@checked
def meta_analysis(
    data: ConfusionMatrix | xr.DataTree, dim: str | None = None, *, draws: int | None = None, random_seed: Any = 0
) -> MetaAnalysis:
    """Return what several studies say of the recall and the specificity of one test or classifier.

    The logits of the two rates are a correlated normal pair in each study (Reitsma et al. 2005, with the binomial
    likelihood of Chu & Cole 2006). `bayesperf.models.meta_analysis` has the model and its priors.

    Parameters
    ----------
    data : ConfusionMatrix or xarray.DataTree
        Counts of two classes with the leading dim `dim`, and no other. Or what ``bayesperf.fit(cm, "meta_analysis")``
        returned, for other priors or covariates.
    dim : str, optional
        The dim of the studies; by default the only leading dim.
    draws : int, optional
        Number of draws, for counts; by default 4000. A fit has its own.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    MetaAnalysis
        With `MetaAnalysis.median_group`, ``mean``, ``by_group`` and ``new_group``, which are posteriors.

    Raises
    ------
    TypeError, ValueError
        If `data` are neither counts of two classes nor such a tree; if there are other leading dims, or fewer than two
        studies; if `draws` are given for a fit.

    Warns
    -----
    ConvergenceWarning
        If draws by quadrature are few different ones.
    IdentifiabilityWarning
        If no study has positive examples, or none has negative ones.

    Notes
    -----
    For counts nothing is sampled by Markov chains: studies are integrated out by quadrature, and draws of the five
    parameters are independent, by importance resampling of quasi-random points.

    References
    ----------
    Reitsma et al. (2005), Journal of Clinical Epidemiology 58; Chu & Cole (2006), Journal of Clinical Epidemiology 59.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
    >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
    >>> studies.median_group["recall"].mean().round(2).item()
    0.77
    >>> studies.median_group.at_prevalence(0.1)["precision"].mean().round(1).item()
    0.4
    """
    seed, number = checks.seed(random_seed), checks.count("draws", 4000 if draws is None else draws, least=2)
    if isinstance(data, xr.DataTree):
        if draws is not None:
            raise InputError("draws", "the fit has its own.", "Give the number to bayesperf.fit.")
        return _of_tree(data, seed)
    if not isinstance(data, ConfusionMatrix):
        raise InputTypeError("data", f"must be a ConfusionMatrix or a DataTree; it is {type(data).__name__}.")
    if data.positive is None:
        raise missing_positive_label(data.labels)
    refuse_uncounted_cells(data.counts, "data")
    dim = str(data.dims[0]) if dim is None and data.dims else dim
    _check_dims(data.dims, dim)
    refuse_sum(data.counts, [str(dim)])
    for rate, trials in zip(("recall", "specificity"), _trials(data), strict=True):
        if not trials:
            kind = "positive" if rate == "recall" else "negative"
            text = f"no {dim} has {kind} examples, so {rate} and all that depends on it come from the prior alone."
            warn(IdentifiabilityWarning, "BP404", text)
    return analysed(data.counts.assign_attrs(pos_label=data.pos_label), number, seed)


def _trials(cm: ConfusionMatrix) -> tuple[int, int]:
    """Return the numbers of positive and of negative examples of all studies."""
    of_class = cm.counts.sum([dim for dim in cm.counts.dims if dim != "actual"])
    positives = int(of_class.sel(actual=cm.pos_label))
    return positives, int(of_class.sum()) - positives


def _check_dims(dims: tuple[Any, ...], dim: str | None) -> None:
    """Refuse counts whose only leading dim is not that of the studies."""
    checks.leading_dim("dim", dim, dims, "Count by study: by='study'.")
    if others := [other for other in dims if other != dim]:
        raise InputError(
            "data", f"has the dim {others[0]!r} beside {dim!r}.", f"Select one test: data.sel({others[0]}=…)."
        )


def analysed(counts: xr.DataArray, number: int, seed: int) -> MetaAnalysis:
    """Return the analysis of counts (study, actual, predicted) by quadrature."""
    dim = str(counts.dims[0])
    if counts.sizes[dim] < 2:
        raise InputError("data", f"has one {dim}, which says nothing of others.", "Call bayesperf.posterior.")
    leading = counts.isel({dim: 0, "actual": 0, "predicted": 0}, drop=True)
    (rng,) = streams(seed, "meta_analysis", leading, [counts.values])
    drawn = xr.Dataset(study_integrals.draws(counts, {}, [rng], (1, number), dim=dim))
    labels, (positive, _) = counts["actual"].values.tolist(), study_integrals.rows_of_rates(counts)
    new = drawn["location"].copy(data=rng.standard_normal(drawn["location"].shape))
    cells = cells_over_groups(drawn, labels, positive, new)
    facts = {
        attributes.POSITIVE: positive,
        attributes.INDEPENDENT_DRAWS: 1,
        attributes.PREVALENCE_KNOWN: 0,
        attributes.SCOPE: Scope("mean", dim).as_text(),
        attributes.GROUPS_DIM: dim,
        attributes.REPEATS: 1,
        attributes.RANDOM_SEED: seed,
        attributes.PRIOR: study_integrals.prior_text(),
    }
    return MetaAnalysis(drawn.assign(cells).assign_attrs(facts), counts)


def _of_tree(tree: xr.DataTree, seed: int) -> MetaAnalysis:
    """Return the analysis that a fit of `meta_analysis` holds."""
    drawn = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    names = ("location", "spread", "correlation", "deviation", "cells", "cells_median", "cells_group", "cells_new")
    counts = observed_table(tree)
    if counts is None or not set(names) <= set(drawn.data_vars):
        raise InputError("data", "is no fit of the model 'meta_analysis'.", "Fit it: bp.fit(cm, 'meta_analysis').")
    labels = counts["actual"].values.tolist()
    positive = {"pos_label": labels[int(drawn.attrs[attributes.POSITIVE])]}
    _check_dims(counts.dims[:-2], str(drawn.attrs[attributes.GROUPS_DIM]))
    facts = drawn.attrs | {attributes.RANDOM_SEED: seed}
    kept = [*names, *({"coefficient"} & set(drawn.data_vars))]
    return MetaAnalysis(drawn[kept].assign_attrs(facts), counts.assign_attrs(positive), own_priors=False)
