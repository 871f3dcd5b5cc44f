"""The posterior of the long-run cells of a Markov chain of labels, and its predictions for the next samples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Booleans
from bayesperf.core.errors import InputError
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.posterior_of_counts import posterior as independent_posterior
from bayesperf.posteriors.quantity import Scope
from bayesperf.posteriors.sources.source import Source, Task
from bayesperf.posteriors.sources.stored_draws import PREDICTED, StoredDraws, stored
from bayesperf.sequences.chain import (
    CHAIN_KINDS,
    ChainParameters,
    TransitionPosterior,
    count_transitions,
    label_sequences,
)

LONG_RUN = Scope("long_run")
# The refusal of what needs the chain, by draws that came without it.
DEPENDENT = "samples of a sequence depend on each other. Ask the posterior of bayesperf.sequences, which has the chain."


@dataclass(frozen=True, eq=False)
class MarkovChain(StoredDraws):
    """Independent draws of a chain's long-run cells, with the chain's own parameters.

    A prediction simulates new sequences, which start from the chain's stationary distribution and not at the end of the
    observed one. Neighbours are alike, so it is wider than a prediction for independent samples.

    Attributes
    ----------
    chain : ChainParameters
        Draws of the transition probabilities as arrays; `parameters` has them with labels.
    starts : array (n,)
        Whether each observed sample, sequence after sequence, is the first of its sequence.
    entropy : tuple of int
        The seed, and a key that separates this posterior's random numbers from others.

    Examples
    --------
    >>> import bayesperf as bp
    >>> chain = bp.sequences.posterior([0, 0, 1, 1, 1, 0, 0, 1], [0, 0, 1, 1, 0, 0, 0, 1]).source
    >>> chain.parameters["stay"].dims
    ('draw', 'actual')
    """

    independent_draws: bool = True
    refusal: str = DEPENDENT
    chain: ChainParameters = field(kw_only=True)
    starts: Booleans = field(kw_only=True)
    entropy: tuple[int, ...] = field(kw_only=True)

    # In whole sequences: two chains do not know that both systems found the same samples hard.
    counted_together = (
        "pool(ConfusionMatrix.from_predictions(y_true, {'a': y_pred_a, 'b': y_pred_b}, cluster={'video': ids})).mean"
    )

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
        coords = dict.fromkeys(theta.dims[:-1], self.template["actual"].values.tolist())
        return xr.Dataset({"stay": stay, "theta": theta}).assign_coords(coords).transpose("draw", ...)

    def refused_tasks(self, post: Posterior) -> dict[Task, str]:
        refused = super().refused_tasks(post)
        refused["at_prevalence"] = (
            "in a chain recall and specificity depend on how long a label stays, as prevalence does, so prevalence "
            "alone does not say what they are elsewhere. Fit the chain to samples from there."
        )
        # A chain can be continued, unlike other draws.
        refused.pop("predict", None)
        return refused

    def generator(self, random_seed: Any, purpose: int) -> np.random.Generator:
        seed, *content = self.entropy
        return np.random.default_rng([seed if random_seed is None else checks.seed(random_seed), purpose, *content])

    def predict(self, post: Posterior, n: int | None, draws: int, random_seed: Any) -> Source:
        starts = self.starts if n is None else np.arange(checks.count("n", n)) == 0
        draws = checks.count("draws", draws, least=2)
        available = self.cells.sizes["draw"]
        selected = self.generator(random_seed, 0).choice(available, draws, replace=draws > available)
        each = np.arange(draws)
        counts = np.zeros((draws, 4))
        for states in self.chain.take(selected).simulate(starts, self.generator(random_seed, 1)):
            counts[each, states] += 1
        shares = stored(counts.reshape(draws, 2, 2) / len(starts), self.template)
        return StoredDraws(shares, independent_draws=True, refusal=PREDICTED)


@checked
def posterior(
    y_true: Any,
    y_pred: Any,
    by: Any = None,
    prior: float = 0.5,
    order: int = 1,
    *,
    chain: str = "z_prev,g_prev",
    pos_label: Any = None,
    labels: Iterable[Any] | None = None,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Posterior:
    """Return the posterior of the system's long-run cells, from samples in order of time.

    The estimand is the long-run rate, in the stationary distribution of the chain. ``posterior(…).predict(m)`` predicts
    the next m samples; the rate in this sequence is known.

    Parameters
    ----------
    y_true, y_pred : array-like (n,)
        Labels of two classes; within a sequence, in order of time.
    by : mapping of one name to array-like (n,), or array-like (n,), optional
        The sequence of each sample, such as ``{"video": ids}``; ids may be interleaved. All sequences are assumed to
        come from one chain: if rates differ by sequence, treat the sequences as groups, with ``bayesperf.pool``.
    prior : float
        Beta(prior, prior) on every transition probability; with ``order=0`` the Dirichlet weight of every cell.
    order : {1, 0}
        1: the chain. 0: samples are independent, and `by` and the order of time make no difference.
    chain : {"z_prev,g_prev", "z_prev"}
        What a prediction depends on besides the actual label: the previous prediction and the previous actual label, or
        the previous prediction alone. The second has fewer parameters but cannot express that errors come in runs while
        labels change; its intervals are then too narrow (see the coverage page).
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    labels : sequence of two, optional
        Both labels, if only one occurs.
    draws : int
        Number of draws of the chain's parameters.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Posterior
        Represented by independent draws; for independent samples, exact.

    Raises
    ------
    ValueError
        If there are more than two labels, a sequence of one sample, or a prior that is not above 0.

    Notes
    -----
    With n_ij transitions of the actual label, m_ghjv of the prediction and prior c, a_0 ~ Beta(c + n_00, c + n_01), a_1
    ~ Beta(c + n_11, c + n_10) and θ_ghj ~ Beta(c + m_ghj1, c + m_ghj0), independently. The first sample of a sequence
    is omitted. The long-run cells are a closed form of these (`bayesperf.models._stationary`).

    The coverage page shows how often the intervals cover, for this chain and for sequences from other processes.
    Intervals for accuracy are somewhat too wide if labels and errors persist for long, the prevalence π is ½ and recall
    equals specificity. Accuracy is balanced accuracy, whose intervals are right, plus (π − ½)(recall − specificity),
    which does not change to first order at that point. At the estimates, which are off that point, it does. This
    vanishes with more samples.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frames = bp.sequences.simulate(500, persistence=0.9, random_seed=1)
    >>> for order in 0, 1:
    ...     post = bp.sequences.posterior(frames["actual"], frames["predicted"], order=order)
    ...     print(post["recall"].eti().values.round(2))
    [0.6  0.72]
    [0.59 0.83]
    """
    checks.beta_weight("prior", prior)
    if order not in (0, 1):
        raise InputError("order", f"must be 1 (the chain) or 0 (independent samples); it is {order!r}.")
    checks.one_of("chain", chain, CHAIN_KINDS)
    sequences = label_sequences(y_true, y_pred, by, labels, pos_label, single_samples=order == 0)
    cm = sequences.cm
    if order == 0:
        symmetric = replace(priors.dirichlet(prior), name="symmetric")
        return independent_posterior(cm, symmetric, random_seed=random_seed, draws=draws)
    counts = count_transitions(sequences, chain)
    # The stream is keyed by the counts, so that two systems never share random numbers.
    key = hashlib.blake2b(counts.actual.tobytes() + counts.predicted.tobytes(), digest_size=16).digest()
    entropy = (checks.seed(random_seed), *np.frombuffer(key, np.uint32).tolist())
    transitions = TransitionPosterior.of(counts, prior)
    drawn = transitions.draw(checks.count("draws", draws, least=2), np.random.default_rng(entropy))
    parameters = 2 + transitions.theta[..., 0].size
    cells = stored(np.moveaxis(drawn.stationary_cells(), -1, 0), cm.counts)
    return Posterior(
        source=MarkovChain(cells, chain=drawn, starts=sequences.starts, entropy=entropy),
        pos_label=cm.pos_label,
        prior_text=f"Beta({prior:g}, {prior:g}) on each of {parameters} transition probabilities",
        scope=LONG_RUN,
        observed=cm.counts,
    )
