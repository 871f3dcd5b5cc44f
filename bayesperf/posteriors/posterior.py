"""The posterior of a confusion matrix's cell probabilities, and every question asked of it.

`Posterior` holds what the two kinds share: `bayesperf._dirichlet.DirichletPosterior` is exact;
`bayesperf._sampled.SampledPosterior` carries draws.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf import prior as priors
from bayesperf.core import checks
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.counts.paired import PairedConfusionMatrix
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.registry import Metric, applicable
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.summary import Summary, summary_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = 10_000


@overload
def posterior(
    cm: ConfusionMatrix,
    prior: str | priors.Prior | None = None,
    design: str = "joint",
    random_seed: Any = 0,
    *,
    draws: int = DRAWS,
) -> Posterior: ...


@overload
def posterior(
    y_true: Any,
    y_pred: Any,
    *,
    prior: str | priors.Prior | None = None,
    design: str = "joint",
    random_seed: Any = 0,
    draws: int = DRAWS,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
) -> Posterior: ...


def posterior(*args: Any, **kwargs: Any) -> Posterior:
    """Return the exact posterior of confusion matrices.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts. Instead of them,
    y_true, y_pred : array-like (n,)
        actual and predicted labels: short for ``posterior(ConfusionMatrix.from_predictions(y_true, y_pred, …))``. What
        follows is then by keyword.
    prior : str or Prior, optional
        By default flat for two classes (one pseudo-example a cell), Perks for more (one in all).
    design : {"joint", "by_actual"}
        How the test set came about. "joint": so many examples were taken as they come. "by_actual": so many of each
        class were chosen, so the data do not speak of prevalence, and metrics that depend on it raise until
        `Posterior.at_prevalence` supplies it.
    random_seed : int or numpy.random.Generator
        Seed of Monte Carlo figures; exact ones need none.
    draws : int
        Draws behind Monte Carlo figures (metrics with `Marginal.method` "draws").
    labels, pos_label, by
        As in `ConfusionMatrix.from_predictions`, when labels are given.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If the prior does not fit the matrix, or an argument is not of its kind.

    Notes
    -----
    Counts C ~ Multinomial(N, θ) with θ ~ Dirichlet(α) give θ | C ~ Dirichlet(α + C).

    Examples
    --------
    >>> import bayesperf as bp
    >>> y_true, y_pred = [1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 1]
    >>> bp.posterior(y_true, y_pred).summary(["recall", "precision"]).round(3)
          metric   mean    sd  median  ci_lower  ci_upper method  mcse
    0     recall  0.714  0.16   0.736     0.409     0.982  exact   0.0
    1  precision  0.714  0.16   0.736     0.409     0.982  exact   0.0
    """
    from bayesperf.posteriors.dirichlet import exact_posterior

    data = args[0] if args else kwargs.get("cm", kwargs.get("y_true"))
    if isinstance(data, PairedConfusionMatrix):
        raise TypeError("a PairedConfusionMatrix holds two systems: take posterior(paired.margins()).")
    if isinstance(data, ConfusionMatrix):
        return exact_posterior(*args, **kwargs)
    if len(args) + ("y_true" in kwargs) + ("y_pred" in kwargs) < 2:
        raise TypeError("posterior takes a ConfusionMatrix, or actual and predicted labels.")
    return _of_labels(*args, **kwargs)


def _of_labels(
    y_true: Any, y_pred: Any, *, labels: Any = None, pos_label: Any = None, by: Any = None, **options: Any
) -> Posterior:
    from bayesperf.posteriors.dirichlet import exact_posterior

    cm = ConfusionMatrix.from_predictions(y_true, y_pred, labels=labels, pos_label=pos_label, by=by)
    return exact_posterior(cm, **options)


def prediction_of(n: int | None) -> str:
    """Return what a prediction is of, in words."""
    size = "as many examples as observed" if n is None else f"{n} examples"
    return f"Prediction of the metric in a new test set of {size}"


class Posterior(ABC):
    """Distribution of cell probabilities over leading dims. Made by `posterior`, or by `Posterior.from_datatree`."""

    pos_label: Any
    prior_text: str
    estimand: str = "Posterior of the system's metric"
    _kind: str = "exact"
    _independent: bool = True
    _observed: xr.DataArray | None = None

    # ── What the two kinds do differently ──

    @property
    @abstractmethod
    def _cells(self) -> xr.DataArray:
        """An array with the dims and coordinates of the cells, draws left out."""

    @abstractmethod
    def _marginals(self, wanted: Sequence[Metric]) -> list[Marginal]: ...

    @abstractmethod
    def _default_metrics(self) -> list[str]: ...

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
        return self._cells.dims[:-2]

    @property
    def labels(self) -> list[Any]:
        """The K class labels."""
        labels: list[Any] = self._cells["actual"].values.tolist()
        return labels

    @property
    def _positive(self) -> int | None:
        return None if self.pos_label is None else self.labels.index(self.pos_label)

    @property
    def leading(self) -> xr.DataArray:
        cells = self._cells.isel(actual=0, predicted=0, drop=True)
        return xr.zeros_like(cells, dtype=float).rename(None)

    def __getitem__(self, metric: str | Metric) -> Marginal:
        """Return the distribution of one metric.

        Raises
        ------
        ValueError
            If there is no such metric (the error offers the nearest), or it cannot be had: a binary metric of many
            classes, a cell that an improper prior leaves empty, an unknown prevalence.
        """
        return self._marginals([self._applicable(metric)])[0]

    def _applicable(self, metric: str | Metric) -> Metric:
        return applicable(metric, self.labels, self._positive, self.dims)

    def _wanted(self, metrics: str | Metric | Sequence[str | Metric] | None) -> list[Metric]:
        names = [metrics] if isinstance(metrics, str | Metric) else metrics or self._default_metrics()
        return [self._applicable(metric) for metric in names]

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
        found = self._marginals(self._wanted(metrics))
        table = pd.concat([summary_rows(m, self.dims, ci_prob, ci_kind) for m in found], ignore_index=True)
        if "label" in table and "label" not in self.dims:
            table.insert(1 + len(self.dims), "label", table.pop("label").fillna(""))
        if not any(isinstance(m.distribution, Draws) and m.undefined().any() for m in found):
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
        wanted = [self._applicable(metric) for metric in requirements]
        if not wanted:
            raise ValueError("requirements: name at least one.")
        for metric in wanted:
            if metric.greater_is_better is None or metric.average == "per_class":
                raise ValueError(f"requirements: {metric.name} has no one direction that is better.")
        bounds = [checks.number("requirements: a bound", bound) for bound in requirements.values()]
        shares, undefined = [], []
        for block in self._blocks(wanted):
            values = [block[metric] for metric in wanted]
            triples = zip(values, wanted, bounds, strict=True)
            met = np.all([v >= least if m.greater_is_better else v <= least for v, m, least in triples], axis=0)
            defined = ~np.isnan(values).any(0)
            undefined.append(1 - float(defined.mean()))
            shares.append(float(met.sum()) / max(int(defined.sum()), 1))
        share = xr.zeros_like(self.leading).copy(data=np.reshape(shares, self.leading.shape)).rename("prob_joint")
        # Where the probability of one is known exactly, all together cannot be more probable.
        for marginal, metric, bound in zip(self._marginals(wanted), wanted, bounds, strict=True):
            if marginal.method != "draws":
                alone = marginal.sf(bound) if metric.greater_is_better else marginal.cdf(bound)
                share = share.clip(max=alone.values)
        mcse = float(np.sqrt(share * (1 - share) / len(defined)).max())
        return share.assign_attrs(mcse=mcse, undefined=float(np.max(undefined)))

    @abstractmethod
    def _blocks(self, wanted: Sequence[Metric]) -> Iterator[dict[Metric, NDArray[np.float64]]]:
        """Yield joint draws of metrics, (n,) each, a matrix at a time."""

    @abstractmethod
    def _chains(self, draws: int | None, chains: int | None, random_seed: Any) -> xr.DataArray:
        """Return cells with dims (…, chain, draw, actual, predicted)."""

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
        from bayesperf.posteriors.trees import to_tree

        return to_tree(self, self._wanted(metrics), self._chains(draws, chains, random_seed))

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
        from bayesperf.posteriors.trees import from_tree

        return from_tree(tree, pos_label)

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

        found = self._marginals(self._wanted(metrics))
        return plots.panel(found, **options)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {self._cells.sizes[dim]}" for dim in self.dims)
        return f"<bayesperf.Posterior: {self._kind}, {len(self.labels)} classes{', ' * bool(sizes)}{sizes}>"

    def _repr_html_(self) -> str:
        html: str = self.summary()._repr_html_()  # type: ignore[operator]
        return html
