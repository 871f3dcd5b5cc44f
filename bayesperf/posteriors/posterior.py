"""The posterior of a confusion matrix's cell probabilities, and every question asked of it.

`Posterior` holds what its two kinds share: `SampledPosterior` carries draws, and is what a prediction, a sampler or an
ArviZ tree gives; `bayesperf.posteriors.dirichlet.DirichletPosterior` is exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.formulas import headline
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors.arviz_trees import read_tree, to_tree
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.prevalence import parse_prevalence
from bayesperf.posteriors.summary import Summary, summary_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = 10_000
# Why a prediction cannot be predicted from, or moved to another prevalence.
PREDICTED = "this is a prediction already. Take the prevalence, or the size of the new test set, of the posterior."


def prediction_of(n: int | None) -> str:
    """Return what a prediction is of, in words."""
    size = "as many examples as observed" if n is None else f"{n} examples"
    return f"Prediction of the metric in a new test set of {size}"


class Posterior(ABC):
    """Distribution of cell probabilities over leading dims. Made by `posterior`, or by `Posterior.from_datatree`."""

    pos_label: Any
    prior_text: str
    estimand: str = "Posterior of the system's metric"
    # Whether it is carried by draws.
    kind: ClassVar[Literal["exact", "draws"]] = "exact"
    independent: bool = True
    observed: xr.DataArray | None = None
    # Why `predict` and `at_prevalence` make no sense; empty if they do.
    refusal: str = ""

    # ── What the two kinds do differently ──

    @property
    @abstractmethod
    def template(self) -> xr.DataArray:
        """An array with the dims and coordinates of the cells, without those of draws."""

    @abstractmethod
    def marginals(self, metrics: Sequence[Metric]) -> list[Marginal]:
        """Return the distributions of several metrics, whose draws belong together."""

    @abstractmethod
    def default_metrics(self) -> list[str]:
        """Return the names of the usual metrics that can be had."""

    @abstractmethod
    def draws(self, n: int, random_seed: Any = None) -> xr.DataArray:
        """Return n independent draws of the cell probabilities.

        Returns
        -------
        xarray.DataArray
            With dims ``(…, draw, actual, predicted)``. With `random_seed` None they are the posterior's own.
        """

    @abstractmethod
    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        """Return the posterior predictive: what a new test set will show, in shares of its examples.

        Parameters
        ----------
        n : int, optional
            Examples in the new test set; by default as many as observed.
        draws : int
            New test sets drawn.
        random_seed : int or Generator, optional
            By default the posterior's own.

        Returns
        -------
        Posterior
            A metric may be undefined in some new test sets (no positives drawn): `Marginal.undefined` gives the share,
            the summary shows it, and all other figures describe the rest.
        """

    @abstractmethod
    def update(self, cm: ConfusionMatrix) -> Posterior:
        """Return the posterior after more counts; in batches or at once comes to the same, exactly."""

    @abstractmethod
    def at_prevalence(self, p: Any) -> Posterior:
        """Return the posterior for a place where the classes occur in other shares.

        Recall and specificity stay; precision, accuracy and all that depends on prevalence change.

        Parameters
        ----------
        p : float, (a, b), mapping or sequence of K floats
            Share of positives; or a Beta(a, b) for it; or the share of every class, by label or in the order of the
            labels, summing to 1.
        """

    # ── What they share ──

    @property
    def dims(self) -> tuple[Any, ...]:
        """Names of the leading dims."""
        return self.template.dims[:-2]

    @property
    def labels(self) -> list[Any]:
        """The K class labels."""
        labels: list[Any] = self.template["actual"].values.tolist()
        return labels

    @property
    def positive(self) -> int | None:
        """Position of the positive class among the labels."""
        return None if self.pos_label is None else self.labels.index(self.pos_label)

    @property
    def leading(self) -> xr.DataArray:
        """An array of zeros with the leading dims and coordinates."""
        cells = self.template.isel(actual=0, predicted=0, drop=True)
        return xr.zeros_like(cells, dtype=float).rename(None)

    def __getitem__(self, metric: str | Metric) -> Marginal:
        """Return the distribution of one metric.

        Raises
        ------
        ValueError
            If there is no such metric (the error offers the nearest), or it cannot be had: a binary metric of many
            classes, a cell that an improper prior leaves empty, an unknown prevalence.
        """
        return self.marginals([self.applicable(metric)])[0]

    def applicable(self, metric: str | Metric) -> Metric:
        """Return a metric, given itself or its name, if it can be computed of these cells; else raise."""
        return applicable(metric, self.labels, self.positive, self.dims)

    def _wanted(self, metrics: str | Metric | Sequence[str | Metric] | None) -> list[Metric]:
        names = [metrics] if isinstance(metrics, str | Metric) else metrics or self.default_metrics()
        return [self.applicable(metric) for metric in names]

    def summary(
        self, metrics: str | Metric | Sequence[str | Metric] | None = None, ci_prob: float = 0.95, ci_kind: Kind = "hdi"
    ) -> pd.DataFrame:
        """Return a tidy table, a row a metric and leading coordinate.

        Parameters
        ----------
        metrics : sequence of str, optional
            By default the usual ones that can be had.
        ci_prob : float
            Probability of the interval.
        ci_kind : {"hdi", "eti"}
            Highest-density or equal-tailed.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric``, the leading dims, ``mean, sd, median, ci_lower, ci_upper, method, mcse``; for a
            prediction also ``undefined``. Its ``attrs`` say what the intervals are.
        """
        marginals = self.marginals(self._wanted(metrics))
        table = pd.concat([summary_rows(m, ci_prob, ci_kind) for m in marginals], ignore_index=True)
        if "label" in table and "label" not in self.dims:
            table.insert(1 + len(self.dims), "label", table.pop("label").fillna(""))
        if not table["undefined"].any():
            table = table.drop(columns="undefined")
        summary = Summary(table)
        summary.attrs = {"ci_prob": ci_prob, "ci_kind": ci_kind, "estimand": self.estimand, "prior": self.prior_text}
        return summary

    def prob_joint(self, requirements: Mapping[str | Metric, float]) -> xr.DataArray:
        """Return the probability that every requirement is met at once.

        Parameters
        ----------
        requirements : mapping of metric to float
            ``{"recall": 0.8, "fpr": 0.1}``: at least that where greater is better, at most where smaller is.

        Returns
        -------
        xarray.DataArray
            Over the leading dims, by Monte Carlo; ``attrs["mcse"]`` is the largest standard error. It is of the draws
            in which every metric is defined; ``attrs["undefined"]`` is the largest share of others.

        Raises
        ------
        ValueError
            If a metric has no better direction (prevalence), or averages "per_class".

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=45, fn=5, fp=10, tn=90))
        >>> round(post.prob_joint({"recall": 0.8, "precision": 0.7}).item(), 1)
        0.9
        """
        wanted = [self.applicable(metric) for metric in requirements]
        if not wanted:
            raise ValueError("requirements: name at least one.")
        for metric in wanted:
            if metric.greater_is_better is None or metric.average == "per_class":
                raise ValueError(f"requirements: {metric.name} has no one direction that is better.")
        bounds = [checks.number("requirements: a bound", bound) for bound in requirements.values()]
        probabilities, undefined = [], []
        for block in self.joint_draws(wanted):
            values = [block[metric] for metric in wanted]
            triples = zip(values, wanted, bounds, strict=True)
            met = np.all([v >= least if m.greater_is_better else v <= least for v, m, least in triples], axis=0)
            defined = ~np.isnan(values).any(0)
            undefined.append(1 - float(defined.mean()))
            probabilities.append(float(met.sum()) / max(int(defined.sum()), 1))
        joint = self.leading.copy(data=np.reshape(probabilities, self.leading.shape)).rename("prob_joint")
        # All requirements together cannot be more probable than one whose probability is known exactly.
        for marginal, metric, bound in zip(self.marginals(wanted), wanted, bounds, strict=True):
            if marginal.method != "draws":
                alone = marginal.sf(bound) if metric.greater_is_better else marginal.cdf(bound)
                joint = joint.clip(max=alone.values)
        mcse = float(np.sqrt(joint * (1 - joint) / len(defined)).max())
        return joint.assign_attrs(mcse=mcse, undefined=float(np.max(undefined)))

    @abstractmethod
    def joint_draws(self, metrics: Sequence[Metric]) -> Iterator[dict[Metric, Array]]:
        """Yield joint draws of metrics, (n,) each, one matrix at a time."""

    @abstractmethod
    def cells_by_chain(
        self, draws: int | None = None, chains: int | None = None, random_seed: Any = None
    ) -> xr.DataArray:
        """Return draws of the cells with dims (…, chain, draw, actual, predicted)."""

    def to_datatree(
        self,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        *,
        draws: int | None = None,
        chains: int | None = None,
        random_seed: Any = None,
    ) -> xr.DataTree:
        """Return draws as an ArviZ tree: group ``posterior`` with ``cells`` and a variable a metric.

        Parameters
        ----------
        metrics : sequence of str, optional
            By default those of `summary`.
        draws, chains : int
            Of an exact posterior: so many independent draws a chain (1000) and chains (4).
        random_seed : int or Generator, optional
            By default the posterior's own.

        Returns
        -------
        xarray.DataTree
            `Posterior.from_datatree` turns it back; ``to_netcdf`` saves it.
        """
        facts = {
            "positive": -1 if self.positive is None else self.positive,
            "prior": self.prior_text,
            "estimand": self.estimand,
            "refusal": self.refusal,
            "independent_draws": int(self.independent),
        }
        cells = self.cells_by_chain(draws, chains, random_seed)
        return to_tree(cells, self._wanted(metrics), self.positive, facts, self.observed)

    @staticmethod
    def from_datatree(tree: xr.DataTree, pos_label: Any = None) -> Posterior:
        """Return the posterior that a tree's draws of cells stand for.

        Parameters
        ----------
        tree : xarray.DataTree
            With a variable ``cells`` in group ``posterior``, dims chain, draw, any others, actual, predicted.
        pos_label : label, optional
            The positive class; by default what the tree says, or the labels imply.
        """
        return SampledPosterior(**read_tree(tree, pos_label))

    def plot(self, metrics: str | Metric | Sequence[str | Metric] | None = None, **options: Any) -> Figure:
        """Draw densities of metrics with their intervals, or forests over the leading dims.

        Parameters
        ----------
        metrics : sequence of str, optional
            By default those of `summary`.
        **options
            ``ci_prob`` and ``ci_kind``.
        """
        from bayesperf import plots

        return plots.panel(self.marginals(self._wanted(metrics)), **options)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {self.template.sizes[dim]}" for dim in self.dims)
        return f"<bayesperf.Posterior: {self.kind}, {len(self.labels)} classes{', ' * bool(sizes)}{sizes}>"

    def _repr_html_(self) -> str:
        html: str = self.summary()._repr_html_()  # type: ignore[operator]
        return html


@dataclass(frozen=True, eq=False, repr=False)
class SampledPosterior(Posterior):
    """Draws of cells, dims (…, chain, draw, actual, predicted).

    Attributes
    ----------
    independent : bool
        Whether draws are independent of each other; else Monte Carlo errors allow for their autocorrelation.
    refusal : str
        Why `predict` and `at_prevalence` make no sense; empty if they do.
    """

    cells: xr.DataArray
    pos_label: Any
    prior_text: str
    estimand: str = Posterior.estimand
    independent: bool = False
    observed: xr.DataArray | None = None
    refusal: str = ""
    kind = "draws"

    @cached_property
    def template(self) -> xr.DataArray:
        """One draw of the cells, without the dims of draws."""
        return self.cells.isel(chain=0, draw=0, drop=True)

    def default_metrics(self) -> list[str]:
        return headline(len(self.labels), self.positive is not None)

    def joint_draws(self, metrics: Sequence[Metric]) -> Iterator[dict[Metric, Array]]:
        cells = self.cells.values.reshape(-1, self._available, *self.cells.shape[-2:])
        for matrix in cells:
            yield {metric: metric.evaluate(matrix, self.positive) for metric in metrics}

    @property
    def _available(self) -> int:
        return self.cells.sizes["chain"] * self.cells.sizes["draw"]

    def marginals(self, metrics: Sequence[Metric]) -> list[Marginal]:
        return [self._marginal(metric) for metric in metrics]

    def _marginal(self, metric: Metric) -> Marginal:
        values = evaluate(metric, self.cells, self.positive).transpose(..., "chain", "draw")
        flat = values.values.reshape(-1, *values.shape[-2:])
        distribution = Draws.of(metric.name, flat, metric.bounds, self.independent)
        leading = xr.zeros_like(values.isel(chain=0, draw=0, drop=True))
        return Marginal(metric.name, distribution, leading, partial(self._sample, metric), self.estimand)

    def _sample(self, metric: Metric, n: int, random_seed: int | None) -> Array:
        values = evaluate(metric, self.draws(n, random_seed), self.positive).transpose(..., "draw").values
        return values.reshape(-1, n)

    def draws(self, n: int, random_seed: Any = None) -> xr.DataArray:
        n = checks.count("n", n)
        if n > self._available:
            raise ValueError(f"n: {n} draws asked for and {self._available} there. Sample more of them.")
        return self._subset(n, self._generator(random_seed, 0))

    def _generator(self, random_seed: Any, purpose: int) -> np.random.Generator:
        """Return a stream for a purpose: choosing draws, new test sets, prevalence."""
        return np.random.default_rng([0 if random_seed is None else checks.seed(random_seed), purpose])

    def _subset(self, n: int, rng: np.random.Generator) -> xr.DataArray:
        """Return n of the draws in their order, dims (…, draw, actual, predicted)."""
        index = np.sort(rng.choice(self._available, n, replace=n > self._available))
        flat = self.cells.stack(sample=("chain", "draw"), create_index=False).isel(sample=index)
        flat = flat.drop_vars(["chain", "draw"]).rename(sample="draw").assign_coords(draw=np.arange(n))
        return flat.transpose(*self.dims, "draw", *CELL_DIMS)

    def cells_by_chain(
        self, draws: int | None = None, chains: int | None = None, random_seed: Any = None
    ) -> xr.DataArray:
        if not draws == chains == random_seed is None:
            raise ValueError("draws, chains and random_seed are for exact posteriors; these draws are what they are.")
        return self.cells

    def _refuse(self, what: str) -> None:
        if self.refusal:
            raise ValueError(f"{what}: {self.refusal}")

    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        self._refuse("predict")
        size = self._size(n)
        cells = self._subset(checks.count("draws", draws, least=2), self._generator(random_seed, 0))
        flat = cells.values.reshape(*cells.shape[:-2], -1)
        rng = self._generator(random_seed, 1)
        new = rng.multinomial(size, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
        shares = cells.copy(data=new / new.sum((-2, -1), keepdims=True)).expand_dims(chain=[0])
        shares = shares.transpose(*self.dims, "chain", "draw", *CELL_DIMS)
        return replace(self, cells=shares, estimand=prediction_of(n), observed=None, refusal=PREDICTED)

    def _size(self, n: int | None) -> Any:
        if n is not None:
            return checks.count("n", n)
        if self.observed is None:
            raise ValueError("n: name the size of the new test set; these draws do not say how many were observed.")
        totals = self.observed.sum(CELL_DIMS).transpose(*self.dims).values[..., None].astype(int)
        if (totals == 0).any():
            raise ValueError("n: some matrix has no examples; name the size of the new test set.")
        return totals

    def update(self, cm: ConfusionMatrix) -> Posterior:
        raise ValueError("update: draws cannot be updated exactly; fit the model to all counts together.")

    def at_prevalence(self, p: Any) -> Posterior:
        self._refuse("at_prevalence")
        prevalence = parse_prevalence(p, self.labels, self.positive)
        shape = self.cells.shape[:-1]
        shares = prevalence.draw(self._generator(None, 2), int(np.prod(shape[:-1]))).reshape(shape)
        target = xr.DataArray(shares, dims=self.cells.dims[:-1])
        cells = self.cells / self.cells.sum("predicted") * target
        return replace(self, cells=cells.transpose(*self.cells.dims), prior_text=f"{self.prior_text}; prevalence {p!r}")
