"""Samples in the order of time: frames of a video, days, turns of a conversation, where neighbours are alike.

A dependent sample says less than an independent one, and intervals that overlook it are too narrow. The model is a
chain: the actual label g_t depends on the previous one, and the prediction z_t on g_t and on the previous prediction,

    P(g_t = g | g_{t−1} = g) = a_g,    P(z_t = 1 | g_t = g, z_{t−1} = j) = θ_gj.

Its likelihood separates over the numbers of transitions, so that under Beta priors every parameter has a Beta posterior
of its own. Samples of several sequences, told apart by `by`, add their transitions.

`check_independence` tells whether intervals of independent samples may be used all the same.

Three questions, never to be mixed up:

- the rate of the system **in the long run**: `posterior`;
- the rate **in the next samples** it will see: ``posterior(…).predict(n)``;
- the rate **in this very sequence**: it is known, without an interval; `bayesperf.score`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.posteriors.dirichlet import posterior as independent_posterior
from bayesperf.posteriors.posterior import DRAWS, PREDICTED, Posterior, SampledPosterior, prediction_of
from bayesperf.prior import Prior
from bayesperf.sequences.block_bootstrap import block_bootstrap
from bayesperf.sequences.chain import CHAINS, Betas, Chain, chain_with, check_prior, count, read
from bayesperf.sequences.dependence import autocorrelation, bayes_factor, design_effect
from bayesperf.sequences.independence import check_independence

__all__ = [
    "MarkovPosterior",
    "autocorrelation",
    "bayes_factor",
    "block_bootstrap",
    "check_independence",
    "design_effect",
    "posterior",
    "simulate",
]


ESTIMAND = "Posterior of the system's long-run metric"
# Of draws that came without their chain.
DEPENDENT = "samples of a sequence depend on each other. Ask the posterior of bayesperf.sequences, which has the chain."


@dataclass(frozen=True, eq=False, repr=False)
class MarkovPosterior(SampledPosterior):
    """Independent draws of a chain's long-run cells, with the chain's own parameters. Made by `posterior`.

    Attributes
    ----------
    chain : Chain
        Draws of the parameters as arrays; `parameters` has them labelled.
    starts : array (n,)
        Which of the samples observed, in the order of their sequences, were the first of one.
    entropy : tuple of int
        The seed and what tells this posterior's random numbers from those of others.
    """

    chain: Chain = field(kw_only=True)
    starts: NDArray[np.bool_] = field(kw_only=True)
    entropy: tuple[int, ...] = field(kw_only=True)

    @property
    def parameters(self) -> xr.Dataset:
        """Draws of the transition probabilities.

        ``stay`` (draw, actual) is P(g_t = g | g_{t−1} = g); ``theta`` (draw, actual, [actual_previous,]
        predicted_previous) the probability that the second of the labels is predicted.
        """
        dims = ("actual", "actual_previous", "predicted_previous", "draw")
        theta = xr.DataArray(self.chain.theta, dims=dims)
        if theta.sizes["actual_previous"] == 1:
            theta = theta.isel(actual_previous=0)
        stay = xr.DataArray(self.chain.stay, dims=("actual", "draw"))
        coords = dict.fromkeys(theta.dims[:-1], self.labels)
        return xr.Dataset({"stay": stay, "theta": theta}).assign_coords(coords).transpose("draw", ...)

    def _generator(self, random_seed: Any, purpose: int) -> np.random.Generator:
        seed, *content = self.entropy
        return np.random.default_rng([seed if random_seed is None else checks.seed(random_seed), purpose, *content])

    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        """Return the posterior predictive: what the next samples will show, in shares of them.

        Each draw simulates a new sequence, which starts from the chain's stationary distribution: not where the
        observed one ended. Neighbours being alike, it is wider than a prediction of independent samples.

        Parameters
        ----------
        n : int, optional
            Samples of one new sequence; by default sequences as many and as long as observed.
        draws : int
            Simulations.
        random_seed : int or Generator, optional
            By default the posterior's own.

        Returns
        -------
        Posterior
            `Marginal.undefined` gives the share of simulations in which a metric is undefined (no positives).
        """
        starts = self.starts if n is None else np.arange(checks.count("n", n)) == 0
        draws = checks.count("draws", draws, least=2)
        chosen = self._generator(random_seed, 0).choice(self._available, draws, replace=draws > self._available)
        each = np.arange(draws)
        counts = np.zeros((draws, 4))
        for state in self.chain.take(chosen).walk(starts, self._generator(random_seed, 1)):
            counts[each, state] += 1
        cells = _labelled(counts.reshape(draws, 2, 2) / len(starts), self.template)
        return SampledPosterior(
            cells, self.pos_label, self.prior_text, prediction_of(n), independent=True, refusal=PREDICTED
        )

    def at_prevalence(self, p: Any) -> Posterior:
        """Raise: a chain's recall and specificity change with its prevalence."""
        raise ValueError(
            "at_prevalence: in a chain recall and specificity depend on how long a label stays, as prevalence does, so "
            "prevalence alone does not say what they are elsewhere. Fit the chain to samples from there."
        )


def _labelled(cells: NDArray[np.float64], table: xr.DataArray) -> xr.DataArray:
    """Label draws (n, 2, 2) of cells as those of a table."""
    coords = {"chain": [0], "draw": np.arange(len(cells)), **{dim: table[dim] for dim in CELL_DIMS}}
    return xr.DataArray(cells[None], coords, ("chain", "draw", *CELL_DIMS), name="cells")


def posterior(
    y_true: Any,
    y_pred: Any,
    by: Any = None,
    prior: float = 0.5,
    order: int = 1,
    *,
    chain: str = "z_prev",
    pos_label: Any = None,
    labels: Iterable[Any] | None = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Posterior:
    """Return the posterior of the system's long-run cells, from samples in the order of time.

    The estimand is the long-run rate: in the stationary distribution of the chain. What the next m samples will show is
    ``posterior(…).predict(m)``; what this sequence shows is known.

    Parameters
    ----------
    y_true, y_pred : array-like (n,)
        Labels of two classes; those of one sequence in the order of time.
    by : mapping of one name to array-like (n,), or array-like (n,), optional
        Which sequence each sample is of, as ``{"video": ids}``; ids may be interleaved. All sequences are taken to be
        of one chain: rates that differ by sequence make them groups, for ``bayesperf.pool``.
    prior : float
        Beta(prior, prior) on every transition probability; with ``order=0`` the Dirichlet weight of every cell.
    order : {1, 0}
        1: the chain. 0: samples are independent, and `by` and the order of time make no difference.
    chain : {"z_prev", "z_prev,g_prev"}
        What a prediction depends on beside the actual label: the previous prediction; the previous actual label, too.
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    labels : sequence of two, optional
        Both labels, if only one occurs.
    draws : int
        Draws of the chain's parameters.
    random_seed : int or numpy.random.Generator
        Their seed.

    Returns
    -------
    Posterior
        Carried by independent draws; of independent samples, exact.

    Raises
    ------
    ValueError
        If there are more than two labels, a sequence of one sample, or a prior that is not above 0.

    Notes
    -----
    With n_ij transitions of the actual label, m_gjv of the prediction and c the prior, a_0 ~ Beta(c + n_00, c + n_01),
    a_1 ~ Beta(c + n_11, c + n_10) and θ_gj ~ Beta(c + m_gj1, c + m_gj0), independently. The first sample of a sequence
    is left out. The long-run cells are a closed form of them (`bayesperf.models._stationary`).

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(500, persistence=0.9, random_seed=1)
    >>> for order in 0, 1:
    ...     post = bp.sequences.posterior(frames["actual"], frames["predicted"], order=order)
    ...     print(post["recall"].eti().values.round(2))
    [0.6  0.72]
    [0.59 0.84]
    """
    check_prior(prior)
    if order not in (0, 1):
        raise ValueError(f"order must be 1 (the chain) or 0 (independent samples); it is {order!r}.")
    checks.one_of("chain", chain, CHAINS)
    series = read(y_true, y_pred, by, labels, pos_label, singles=order == 0)
    cm = series.cm
    if order == 0:
        symmetric = Prior("symmetric", lambda classes, _: prior)
        return independent_posterior(cm, symmetric, random_seed=random_seed, draws=draws)
    transitions = count(series, chain)
    # Two systems never share random numbers: the stream is keyed by what was counted.
    key = hashlib.blake2b(transitions.actual.tobytes() + transitions.predicted.tobytes(), digest_size=16).digest()
    entropy = (checks.seed(random_seed), *np.frombuffer(key, np.uint32).tolist())
    betas = Betas.posterior(transitions, prior)
    parameters = betas.draw(checks.count("draws", draws, least=2), np.random.default_rng(entropy))
    cells = _labelled(np.moveaxis(parameters.cells(), -1, 0), cm.counts)
    return MarkovPosterior(
        cells,
        cm.pos_label,
        prior_text=f"Beta({prior:g}, {prior:g}) on each of {2 + betas.theta[..., 0].size} transition probabilities",
        estimand=ESTIMAND,
        refusal=DEPENDENT,
        independent=True,
        observed=cm.counts,
        chain=parameters,
        starts=series.starts,
        entropy=entropy,
    )


def simulate(
    n: int,
    *,
    persistence: float = 0.8,
    error_persistence: float | None = None,
    prevalence: float = 0.5,
    recall: float = 0.75,
    specificity: float = 0.75,
    sequences: int = 1,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """Return simulated sequences of a chain with given rates, started from its stationary distribution.

    Parameters
    ----------
    n : int
        Samples in each sequence.
    persistence : float
        Of the actual label: (1 + λ)/2 with λ its autocorrelation at lag 1, so that 0.5 is independence. At prevalence
        0.5 it is the probability that the label stays.
    error_persistence : float, optional
        Likewise of the prediction, given the actual label; by default as `persistence`.
    prevalence, recall, specificity : float
        Long-run rates.
    sequences : int
        How many sequences.
    random_seed : int or numpy.random.Generator
        Seed.

    Returns
    -------
    pandas.DataFrame
        Columns ``sequence`` (0, 1, …), ``actual`` and ``predicted`` (0 or 1), a row a sample.

    Raises
    ------
    ValueError
        If no chain has these rates: predictions cannot be that persistent where recall and 1 − specificity are far
        apart and the actual label changes often.

    Notes
    -----
    a_1 = π + (1 − π)λ and a_0 = 1 − π + πλ with π the prevalence and λ = 2·persistence − 1; θ_gj = kj + (1 − k)c_g with
    k = 2·error_persistence − 1. With x_1 the recall and x_0 = 1 − specificity, these rates are the long-run ones if

        c_g = {x_g − k[a_g x_g + (1 − a_g) x_{1−g}]}/(1 − k).

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.sequences.simulate(3, sequences=2, random_seed=2)
       sequence  actual  predicted
    0         0       0          0
    1         0       1          0
    2         0       1          0
    3         1       0          0
    4         1       0          0
    5         1       0          0
    """
    n, sequences = checks.count("n", n), checks.count("sequences", sequences)
    error_persistence = persistence if error_persistence is None else error_persistence
    chain = chain_with(persistence, error_persistence, prevalence, recall, specificity)
    each = Chain(*(np.repeat(values[..., None], sequences, -1) for values in chain))
    walk = each.walk(np.arange(n) == 0, np.random.default_rng(checks.seed(random_seed)))
    states = np.stack(list(walk), 1).ravel()
    sequence = np.repeat(np.arange(sequences), n)
    return pd.DataFrame({"sequence": sequence, "actual": states // 2, "predicted": states % 2})
