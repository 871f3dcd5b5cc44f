"""The posterior of a confusion matrix's cell probabilities, and every question asked of it.

`Posterior` holds what the two kinds share: `bayesperf._dirichlet.DirichletPosterior` is exact;
`bayesperf._sampled.SampledPosterior` carries draws.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import _checks
from bayesperf import prior as priors
from bayesperf._display import Summary
from bayesperf._draws import Draws
from bayesperf._labelled import evaluate, summary_rows
from bayesperf._registry import applicable
from bayesperf._tables import CELL_DIMS
from bayesperf.counts import ConfusionMatrix
from bayesperf.marginals import Kind, Marginal
from bayesperf.metrics import Metric
from bayesperf.paired import PairedConfusionMatrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = 10_000


def posterior(
    data: Any,
    y_pred: Any = None,
    /,
    design: str = "joint",
    random_seed: Any = 0,
    *,
    prior: str | priors.Prior | None = None,
    draws: int = DRAWS,
    **labels: Any,
) -> Posterior:
    """Return the exact posterior of confusion matrices.

    Parameters
    ----------
    data : ConfusionMatrix or array-like (n,)
        Counts; or actual labels, with `y_pred` the predicted ones: short for
        ``posterior(ConfusionMatrix.from_predictions(y_true, y_pred, …))``.
    y_pred : array-like (n,), optional
        Predicted labels. After a ConfusionMatrix, the second argument is the prior.
    design : {"joint", "by_actual"}
        How the test set came about. "joint": so many examples were taken as they come. "by_actual": so many of each
        class were chosen, so the data do not speak of prevalence, and metrics that depend on it raise until
        `Posterior.at_prevalence` supplies it.
    random_seed : int or numpy.random.Generator
        Seed of Monte Carlo figures; exact ones need none.
    prior : str or Prior, optional
        By default flat for two classes (one pseudo-example a cell), Perks for more (one in all).
    draws : int
        Draws behind Monte Carlo figures (metrics with `Marginal.method` "draws").
    **labels
        ``labels``, ``pos_label`` and ``by`` of `ConfusionMatrix.from_predictions`, when labels are given.

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
    from bayesperf._dirichlet import DirichletPosterior

    if isinstance(data, PairedConfusionMatrix):
        raise TypeError("a PairedConfusionMatrix holds two systems: take posterior(paired.margins()).")
    if isinstance(data, ConfusionMatrix):
        if labels:
            raise TypeError(f"{next(iter(labels))} belongs to labels; this is a ConfusionMatrix already.")
        if y_pred is not None and prior is not None:
            raise TypeError("prior is given twice.")
        cm, prior = data, prior if y_pred is None else y_pred
    elif y_pred is None:
        raise TypeError("give a ConfusionMatrix, or actual and predicted labels.")
    else:
        cm = ConfusionMatrix.from_predictions(data, y_pred, **labels)
    _checks.one_of("design", design, ("joint", "by_actual"))
    chosen = priors.resolve(prior, len(cm.labels))
    return DirichletPosterior(
        concentration=cm.counts + chosen.concentration(cm),
        pos_label=cm.pos_label,
        prior_text=chosen.describe(cm),
        rates=chosen.rates,
        prevalence="observed" if design == "joint" else None,
        random_seed=_checks.seed(random_seed),
        n_draws=_checks.count("draws", draws),
        observed=cm.counts,
    )


class Posterior(ABC):
    """Distribution of cell probabilities over leading dims. Made by `posterior`, or by `Posterior.from_datatree`."""

    pos_label: Any
    prior_text: str
    estimand: str = "Posterior of the system's metric"

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
    def _leading(self) -> xr.DataArray:
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
        wanted = [metrics] if isinstance(metrics, str | Metric) else metrics or self._default_metrics()
        found = self._marginals([self._applicable(metric) for metric in wanted])
        table = pd.concat([summary_rows(m, self.dims, ci_prob, ci_kind) for m in found], ignore_index=True)
        if "label" in table and "label" not in self.dims:
            table.insert(1 + len(self.dims), "label", table.pop("label").fillna(""))
        if not any(isinstance(m._distribution, Draws) and m.undefined().any() for m in found):
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
            Over the leading dims, by Monte Carlo; ``attrs["mcse"]`` is the largest standard error.

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
        values = self._metric_values(wanted)
        met = xr.ones_like(next(iter(values.values())), dtype=bool)
        for metric, least in zip(wanted, requirements.values(), strict=True):
            value = values[metric]
            met &= value >= least if metric.greater_is_better else value <= least
        share = met.mean(("chain", "draw")).rename("prob_joint")
        # Where the probability of one is known exactly, all together cannot be more probable.
        for marginal, metric, least in zip(self._marginals(wanted), wanted, requirements.values(), strict=True):
            if marginal.method != "draws":
                alone = marginal.sf(least) if metric.greater_is_better else marginal.cdf(least)
                share = share.clip(max=alone.values)
        trials = met.sizes["chain"] * met.sizes["draw"]
        return share.assign_attrs(mcse=float(np.sqrt(share * (1 - share) / trials).max()))

    @abstractmethod
    def _metric_values(self, wanted: Sequence[Metric]) -> dict[Metric, xr.DataArray]:
        """Return joint draws of metrics, dims (…, chain, draw)."""

    @abstractmethod
    def _chains(self, draws: int, chains: int, random_seed: Any) -> xr.DataArray:
        """Return cells with dims (…, chain, draw, actual, predicted)."""

    def to_datatree(
        self,
        metrics: Sequence[str | Metric] | None = None,
        *,
        draws: int = 1000,
        chains: int = 4,
        random_seed: Any = None,
    ) -> xr.DataTree:
        """Return draws as an ArviZ tree: group ``posterior`` with ``cells`` and a variable a metric.

        Parameters
        ----------
        metrics : sequence of str, optional
            By default those of `summary`.
        draws, chains : int
            Independent draws, arranged in chains as ArviZ expects them.
        random_seed : int or Generator, optional
            By default the posterior's own.

        Returns
        -------
        xarray.DataTree
            `Posterior.from_datatree` turns it back; ``to_netcdf`` saves it.
        """
        from importlib.metadata import version

        wanted = [self._applicable(metric) for metric in metrics or self._default_metrics()]
        cells = self._chains(_checks.count("draws", draws), _checks.count("chains", chains), random_seed)
        if len({m.name for m in wanted}) < len(set(wanted)):
            raise ValueError("metrics: two have the same name; a tree needs a name a variable.")
        variables = {"cells": cells} | {m.name: evaluate(m, cells, self._positive) for m in wanted}
        leading = ("chain", "draw", *self.dims)
        dataset = xr.Dataset({name: value.transpose(*leading, ...) for name, value in variables.items()})
        dataset.attrs = {
            "positive": -1 if self._positive is None else self._positive,
            "prior": self.prior_text,
            "estimand": self.estimand,
            "independent_draws": int(self._independent),
            "bayesperf_version": version("bayesperf"),
        }
        groups = {"posterior": dataset}
        if self._observed is not None:
            groups["observed_data"] = self._observed.to_dataset(name="counts")
        return xr.DataTree.from_dict(groups)

    _independent: bool = True
    _observed: xr.DataArray | None = None

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
        from bayesperf._sampled import SampledPosterior

        if "posterior" not in tree.children or "cells" not in tree["posterior"].data_vars:
            raise ValueError("tree has no variable 'cells' in a group 'posterior'.")
        dataset = tree["posterior"].to_dataset()
        cells = dataset["cells"]
        missing = {"chain", "draw", *CELL_DIMS} - set(cells.dims)
        if missing:
            raise ValueError(f"cells has no dim {', '.join(sorted(missing))}; its dims are {cells.dims}.")
        labels = cells["actual"].values.tolist()
        positive = int(dataset.attrs.get("positive", -1))
        if pos_label is None and positive >= 0:
            pos_label = labels[positive]
        template = cells.isel(chain=0, draw=0, drop=True).transpose(..., *CELL_DIMS)
        observed = tree["observed_data"].to_dataset().get("counts") if "observed_data" in tree.children else None
        return SampledPosterior(
            cells=cells.transpose(*template.dims[:-2], "chain", "draw", *CELL_DIMS),
            pos_label=ConfusionMatrix(xr.zeros_like(template, dtype=int), pos_label).pos_label,
            prior_text=str(dataset.attrs.get("prior", "that of the model")),
            estimand=str(dataset.attrs.get("estimand", Posterior.estimand)),
            independent=bool(dataset.attrs.get("independent_draws", 0)),
            observed=observed,
        )

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

        wanted = [metrics] if isinstance(metrics, str | Metric) else metrics or self._default_metrics()
        found = self._marginals([self._applicable(metric) for metric in wanted])
        return plots.panel(found, estimand=self.estimand, **options)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {self._cells.sizes[dim]}" for dim in self.dims)
        kind = "draws" if type(self).__name__.startswith("Sampled") else "exact"
        return f"<bayesperf.Posterior: {kind}, {len(self.labels)} classes{', ' * bool(sizes)}{sizes}>"

    def _repr_html_(self) -> str:
        html: str = self.summary()._repr_html_()  # type: ignore[operator]
        return html
