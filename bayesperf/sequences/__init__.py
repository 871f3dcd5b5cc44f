"""Samples in order of time: frames of a video, days, turns of a conversation, where neighbours are alike.

A dependent sample carries less information than an independent one, and intervals that ignore this are too narrow. The
model is a chain: the actual label g_t depends on the previous one, and the prediction z_t on g_t and on both previous
labels,

    P(g_t = g | g_{t−1} = g) = a_g,    P(z_t = 1 | g_t = g, g_{t−1} = h, z_{t−1} = j) = θ_ghj.

Errors that come in runs need the previous actual label: without it the chain does not know whether the previous
prediction was right. ``chain="z_prev"`` omits it.

Its likelihood separates over the numbers of transitions, so with Beta priors every parameter has its own Beta
posterior. Several sequences, identified by `by`, add their transitions.

`check_independence` tells whether you may use intervals for independent samples after all.

Three questions must not be confused:

- the rate of the system **in the long run**: `posterior`;
- the rate **in the next samples** it will see: ``posterior(…).predict(n)``;
- the rate **in this very sequence**: known, without an interval; `bayesperf.score`.
"""

from bayesperf.sequences.block_resampling import block_bootstrap
from bayesperf.sequences.dependence_measures import autocorrelation, bayes_factor, check_independence, design_effect
from bayesperf.sequences.markov_posterior import MarkovChain, posterior
from bayesperf.sequences.simulation import simulate

__all__ = [
    "MarkovChain",
    "autocorrelation",
    "bayes_factor",
    "block_bootstrap",
    "check_independence",
    "design_effect",
    "posterior",
    "simulate",
]


def __dir__() -> list[str]:
    return __all__
