"""Recalibration: what the probabilities of a system should be, learned from labelled examples, with intervals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import enumerated, estimate, sentence
from bayesperf.curves.reliability.frequencies import (
    ISOTONIC_PRIOR,
    LINE_PRIORS,
    ProbabilityCounts,
    draws_of_isotonic_line,
    draws_of_line,
    interpolated,
)
from bayesperf.curves.scored_systems import marginal_of_scores
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.summary_table import Summary, summary_rows
from bayesperf.posteriors.tree_attributes import PRIORS

METHODS = ("logistic", "isotonic")
# An isotonic line asks for so many examples, and of either class: of fewer its intervals cover too seldom.
FEWEST, FEWEST_OF_A_CLASS = 500, 20
# A prediction has so many values at most (400 MB).
_MOST_VALUES = 5 * 10**7
_CHAINS = 4
_ESTIMANDS = {
    "logistic": "Probability by the recalibration line",
    "isotonic": "Probability by the isotonic recalibration line",
}
_PARAMETERS = "Parameters of the recalibration line"
# Sentences are of the quantiles of the probabilities of this many examples.
_QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class Recalibration(Answer):
    """What the probabilities of a system should be. Made by `recalibrate`.

    ``recalibration[parameter]`` is the `Marginal` of a parameter of a logistic line: ``intercept``, ``slope``; with
    groups also ``intercept_spread``, ``slope_spread``, ``intercept_group``, ``slope_group`` over the groups, and
    ``intercept_new``, ``slope_new`` for a new group. The plot shows the recalibrated probability over the given one,
    with intervals, and the distribution of the given ones (`bayesperf.plots.recalibration`).

    Attributes
    ----------
    counts : ProbabilityCounts
        The examples that the line was learned from.
    method : {"logistic", "isotonic"}
        The kind of line.
    parameters : xarray.Dataset
        Draws of the parameters over ``sample``; for an isotonic line its ``frequency`` over (``sample``,
        ``probability``), at the mean probabilities of bins.
    dim : str
        The name of the groups; empty without groups.
    prior : str
        The priors.
    random_seed : int
        Seed of the draws.

    Examples
    --------
    >>> import bayesperf as bp
    >>> happened, said = [0, 0, 1, 0, 1, 1, 0, 1] * 10, [0.1, 0.2, 0.9, 0.4, 0.7, 0.8, 0.3, 0.6] * 10
    >>> bp.curves.recalibrate(happened, said)["slope"].mean().round(1).item()
    6.6
    """

    counts: ProbabilityCounts
    method: str
    parameters: xr.Dataset
    dim: str
    prior: str
    random_seed: int

    drawn_by = "recalibration"

    @checked
    def predict(self, new_prob: ArrayLike, group: Any = None) -> Marginal:
        """Return the posterior of the probability that an example is positive, given the system's probability.

        Parameters
        ----------
        new_prob : float or array-like (k,)
            Probabilities from the system, for any examples.
        group : label, optional
            The group of these examples; by default, with groups, a new one.

        Returns
        -------
        Marginal
            A marginal over ``probability``, which is `new_prob`, if that is an array. Its mean is the recalibrated
            probability.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
        >>> line = bp.curves.recalibrate(frame["actual"], frame["score"].clip(1e-4, 0.9999), pos_label="malignant")
        >>> line.predict([0.05, 0.5, 0.95]).mean().values.round(2)
        array([0.29, 0.54, 0.77])
        """
        given = np.asarray(new_prob)
        at = checks.probabilities("new_prob", checks.vector("new_prob", np.atleast_1d(given)))
        if at.size * self.parameters.sizes["sample"] > _MOST_VALUES:
            most = _MOST_VALUES // self.parameters.sizes["sample"]
            raise InputError("new_prob", f"{at.size:,} probabilities are too many at once; give {most:,} at most.")
        leading = xr.DataArray(np.zeros(len(at)), {"probability": at}, ["probability"])
        quantity = Quantity("probability", Scope("own", detail=_ESTIMANDS[self.method]), bounds=(0, 1))
        marginal = marginal_of_scores(quantity, self._lines(at, group).T, self.random_seed, leading)
        return marginal.isel(probability=0) if given.ndim == 0 else marginal

    def _lines(self, at: Array, group: Any = None) -> Array:
        """Return drawn lines at probabilities (k,), (draws, k)."""
        if not self.dim:
            checks.none_given("there are no groups: recalibrate with `by`.", group=group)
        if self.method == "isotonic":
            return interpolated(self.parameters["frequency"].values, self.parameters["probability"].values, at)
        checks.none_certain("new_prob", int(((at == 0) | (at == 1)).sum()))
        intercept, slope = (self._parameter(name, group) for name in ("intercept", "slope"))
        return np.asarray(special.expit(intercept[:, None] + np.outer(slope, special.logit(at))))

    def _parameter(self, name: str, group: Any) -> Array:
        """Return draws of a parameter of the line of a group, or of a new one."""
        if not self.dim:
            return self.parameters[name].values
        if group is None:
            return self.parameters[f"{name}_new"].values
        of_group = self.parameters[f"{name}_group"]
        labels = of_group[self.dim].values.tolist()
        checks.one_of("group", group, labels)
        return np.asarray(of_group.isel({self.dim: labels.index(group)}).values)

    def __getitem__(self, parameter: str) -> Marginal:
        """Return the posterior of a parameter of a logistic line; an isotonic one has none."""
        if self.method == "isotonic":
            raise InputError(parameter, "an isotonic line has no parameters.", "Ask predict(probabilities).")
        checks.one_of("parameter", parameter, [str(name) for name in self.parameters.data_vars])
        drawn = self.parameters[parameter].transpose(..., "sample")
        bounds = (0.0 if parameter.endswith("spread") else -np.inf, np.inf)
        quantity = Quantity(parameter, Scope("own", detail=_PARAMETERS), bounds=bounds)
        return marginal_of_scores(quantity, drawn.values, self.random_seed, drawn.isel(sample=0, drop=True))

    def summary(self, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> pd.DataFrame:
        """Return a tidy table: a row for each parameter of a logistic line, and for each bin of an isotonic one.

        Parameters
        ----------
        ci_prob, ci_kind
            As in `Marginal.in_words`.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric``, the dim of the groups or ``probability``, ``mean``, ``sd``, ``median``, ``ci_lower``,
            ``ci_upper``, ``method``, ``mcse`` and ``mcse_interval``.
        """
        prob = checks.probability("ci_prob", ci_prob)
        marginals = (
            [self.predict(self.parameters["probability"].values)]
            if self.method == "isotonic"
            else [self[str(name)] for name in self.parameters.data_vars]
        )
        tables = [summary_rows([marginal], prob, ci_kind) for marginal in marginals]
        widest = max(tables, key=lambda table: table.shape[1])
        table = pd.concat(tables, ignore_index=True)[list(widest.columns)]
        estimand = _PARAMETERS if self.method == "logistic" else _ESTIMANDS["isotonic"]
        return Summary.of(table, prob, ci_kind, estimand=estimand, prior=self.prior)

    def in_words(self, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> str:
        """Return sentences on what the probabilities should be, and on how they differ between groups.

        Parameters
        ----------
        ci_prob, ci_kind
            As in `Marginal.in_words`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> y_prob = rng.uniform(size=500)
        >>> y_true = rng.random(500) < y_prob**2
        >>> print(bp.curves.recalibrate(y_true, y_prob).in_words())
        Recalibrated, 0.11 is 0.024 (95 % HDI 0.010–0.039), 0.558 is 0.299 (95 % HDI 0.246–0.350) and 0.914 is 0.858 \
        (95 % HDI 0.799–0.913).
        """
        at = np.unique(np.quantile(self.counts.values, _QUANTILES, weights=self.counts.examples, method="inverted_cdf"))
        marginal = self.predict(at)
        means, bounds = marginal.mean().values, marginal.interval(ci_prob, ci_kind).values
        said = enumerated([
            f"{given:.3g} is {estimate(mean, low, high, ci_prob, ci_kind)}"
            for given, mean, (low, high) in zip(at, means, bounds, strict=True)
        ])  # fmt: skip
        if not self.dim:
            return sentence(f"recalibrated, {said}")
        return (
            sentence(f"recalibrated, for a {self.dim} that has not been seen, {said}") + " " + self._groups_in_words()
        )

    def _groups_in_words(self) -> str:
        """Return a sentence on the groups in which the median probability is the least and the most."""
        middle = np.quantile(self.counts.values, [0.5], weights=self.counts.examples, method="inverted_cdf")
        means = {label: mean.item() for label, mean in self.means_of_groups(middle).items()}
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        return sentence(
            f"over the {len(means)} groups by {self.dim}, {middle.item():.3g} is between {means[low]:.3f} for {low} "
            f"and {means[high]:.3f} for {high}"
        )

    def means_of_groups(self, at: Array) -> dict[Any, Array]:
        """Return the recalibrated probabilities (k,) of each group at probabilities (k,); nothing without groups."""
        labels = self.parameters[self.dim].values.tolist() if self.dim else []
        return {label: self._lines(at, label).mean(0) for label in labels}

    def __repr__(self) -> str:
        of = f", {self.parameters.sizes[self.dim]} of {self.dim}" if self.dim else ""
        return f"<bayesperf.curves.Recalibration: {self.method}, {self.counts.total} examples{of}>"


@checked
def recalibrate(
    y_true: Any,
    y_prob: ArrayLike | None = None,
    *,
    method: str = "logistic",
    by: Any = None,
    pos_label: Any = None,
    draws: int = 4000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Recalibration:
    """Learn what the probabilities of a system should be, and predict new ones with intervals.

    Parameters
    ----------
    y_true, y_prob
        As in `reliability_curve`, for one system. Use examples that it was not trained on.
    method : {"logistic", "isotonic"}
        "logistic": a line, log-odds of the frequency = α + β log-odds of the probability. It has only two parameters,
        so few examples suffice; its intervals are as good as the assumption that the line is straight. "isotonic": a
        frequency that does not fall as the probability rises, without any further assumption; it needs at least 500
        examples, 20 of each class.
    by : array-like (n,) or mapping of str to such, optional
        Groups of examples, such as ``{"site": ids}``, whose lines differ; for "logistic" only. The lines of the groups
        vary around the population's line, so a group with few examples resembles the others: the model
        ``recalibration`` of `bayesperf.fit`, which is sampled.
    draws : int
        Number of lines drawn from their posterior.
    pos_label, random_seed, progressbar
        As in `bayesperf.roc_curve`.

    Returns
    -------
    Recalibration
        It has a method ``predict(new_prob)``.

    Raises
    ------
    TypeError, ValueError
        If probabilities are 0 or 1 for "logistic" (clip them: the line depends on where); if there are too few examples
        for "isotonic"; if an argument is invalid.

    Warns
    -----
    ConvergenceWarning
        If the sampler for the lines of groups has not converged.

    Notes
    -----
    "logistic" has the priors α ~ Normal(0, 2.5) and β ~ Normal(1, 2.5), and is integrated on a grid (Cox 1958,
    Biometrika 45). For other priors, fit the model ``recalibration`` with them.

    "isotonic" is the projection posterior of Chakraborty & Ghosal (2021, Annals of Statistics 49): with √n bins of
    equally many examples, each with a Beta posterior, draws are replaced by the nearest frequencies that do not fall.
    The Bayesian bootstrap of the isotonic line, which has a bin for each example, covers too seldom.

    Examples
    --------
    >>> import bayesperf as bp
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.uniform(size=500)
    >>> y_true = rng.random(500) < y_prob**2
    >>> bp.curves.recalibrate(y_true, y_prob).predict(0.5).mean().round(2).item()
    0.24
    """
    checks.one_of("method", method, METHODS)
    count, seed = checks.count("draws", draws, least=_CHAINS), checks.seed(random_seed)
    counts = ProbabilityCounts.of(y_true, y_prob, pos_label)
    if by is not None:
        if method == "isotonic":
            raise InputTypeError(
                "by", "applies to method='logistic' only.", "Take that, or recalibrate each group by itself."
            )
        if isinstance(y_true, BinnedScores):
            raise InputTypeError(
                "by", "BinnedScores do not say of which group an example is.", "Give labels and probabilities."
            )
        return _lines_of_groups(counts, (y_true, y_prob), by, pos_label, count, seed, progressbar)
    rng = np.random.default_rng(seed)
    if method == "logistic":
        checks.none_certain("y_prob", counts.certain)
        lines = draws_of_line(counts, count, rng)
        drawn = xr.Dataset({name: ("sample", lines[:, i]) for i, name in enumerate(("intercept", "slope"))})
        return Recalibration(counts, method, drawn, "", LINE_PRIORS, seed)
    if few := too_few(counts):
        raise InputError("", few)
    knots, heights = draws_of_isotonic_line(counts, count, rng)
    drawn = xr.Dataset({"frequency": (("sample", "probability"), heights)}, {"probability": knots})
    return Recalibration(counts, method, drawn, "", ISOTONIC_PRIOR, seed)


def _lines_of_groups(
    counts: ProbabilityCounts, data: Any, by: Any, pos_label: Any, draws: int, seed: int, progressbar: bool
) -> Recalibration:
    """Return the sampled lines of groups."""
    from bayesperf.sampling.fitting import fit

    tree = fit(
        data, "recalibration", options={"by": by}, pos_label=pos_label, draws=-(-draws // _CHAINS), chains=_CHAINS,
        random_seed=seed, progressbar=progressbar,
    )  # fmt: skip
    posterior = tree["posterior"].to_dataset().drop_vars("deviation").drop_dims("parameter", errors="ignore")
    stacked = posterior.stack(sample=("chain", "draw")).drop_vars(["sample", "chain", "draw"])
    (dim,) = stacked["slope_group"].drop_vars("sample", errors="ignore").dims[:1]
    priors = json.loads(tree["posterior"].attrs[PRIORS])
    prior = ", ".join(f"{name} ~ {text}" for name, text in priors.items() if name != "deviation")
    return Recalibration(counts, "logistic", stacked.drop_attrs(), str(dim), prior, seed)


def too_few(counts: ProbabilityCounts) -> str:
    """Return why intervals of an isotonic line would cover too seldom; empty if examples suffice."""
    rarer = min(counts.positives.sum(), counts.negatives.sum())
    if counts.total >= FEWEST and rarer >= FEWEST_OF_A_CLASS:
        return ""
    return (
        f"y_true: there are {counts.total:,} examples, {rarer:,} of the rarer class; the intervals of an isotonic line "
        f"cover as they should of {FEWEST} and more, {FEWEST_OF_A_CLASS} of either class. Take method='logistic'."
    )
