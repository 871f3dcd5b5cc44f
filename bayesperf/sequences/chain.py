"""The Markov chain of actual and predicted labels: its transitions counted, its parameters drawn, the chain simulated.

A state is 2·actual + predicted, with labels as 0 and 1 in their order. In every array the axes of parameters come first
and the axes of draws last. `bayesperf.models._stationary` has the model and its letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import held
from bayesperf.core.words import listed
from bayesperf.data.cross_tabulation import cross_tabulate, encode_predictions
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.models._stationary import stationary

# What a prediction depends on beside the actual label: the previous prediction, and the previous actual label. Only
# with both of them can the chain say that errors come in runs while labels change.
CHAIN_KINDS = ("z_prev,g_prev", "z_prev")
# The least that 1 − x can be for a float x below 1.
_LEAST = 2.0**-53


class LabelSequences(NamedTuple):
    """Sequences of labels one after the other, each in order of time."""

    # State of each sample, (n,).
    states: Codes
    # The sequence of each sample, ascending, (n,).
    sequence: Codes
    # Counts of all samples.
    cm: ConfusionMatrix

    @property
    def starts(self) -> Booleans:
        """Whether each sample is the first of its sequence, (n,)."""
        return np.diff(self.sequence, prepend=-1) > 0


def label_sequences(
    y_true: Any, y_pred: Any, by: Any, labels: Iterable[Any] | None, pos_label: Any = None, single_samples: bool = False
) -> LabelSequences:
    """Return the checked sequences of labels with sequence ids; single samples are refused unless they are allowed."""
    if isinstance(y_pred, Mapping):
        raise InputTypeError("y_pred", "holds several systems, and a chain is of one.", "Give the predictions of one.")
    if by is not None and not isinstance(by, Mapping):
        by = {"sequence": by}
    if by is not None and len(by) != 1:
        raise InputError("by", f"give one column of sequence ids, as {{'video': ids}}; it has {len(by)}.")
    coded = encode_predictions(y_true, y_pred, by or {}, labels)
    cm = ConfusionMatrix(cross_tabulate(coded), pos_label)
    if len(cm.labels) != 2:
        raise InputError(
            "y_true and y_pred",
            f"hold {len(cm.labels)} labels, {listed(cm.labels)}: sequences are for two.",
            "Set one class against the rest, as y_true == 'cat'.",
        )
    alone = cm.counts.values.sum((-2, -1)) == 1
    if alone.any() and not single_samples:
        at = "".join(f"by: the {dim} {cm.counts[dim].values[np.argmax(alone)]!s}" for dim in cm.dims)
        raise InputError(
            f"{at or 'y_true'}", "has one sample only, and a chain is about what follows what.", "Drop it."
        )
    states = 2 * coded.cells["actual"] + coded.cells["predicted"]
    if not coded.leading:
        return LabelSequences(states, np.zeros(len(states), np.intp), cm)
    ((name, (codes, *_)),) = coded.leading.items()
    order = np.argsort(codes, kind="stable")
    return LabelSequences(states[order], codes[order], cm.sum(name))


class TransitionCounts(NamedTuple):
    """Numbers of transitions from one sample to the next."""

    # From one actual label to the next.
    actual: Counts
    # By actual label, previous actual label (one axis position if predictions do not depend on it), previous
    # prediction, and prediction.
    predicted: Counts


def transitions_by_sequence(sequences: LabelSequences) -> Counts:
    """Count the transitions of each sequence, (sequence, actual before, predicted before, actual, predicted)."""
    within = ~sequences.starts[1:]
    before, after, sequence = (
        sequences.states[:-1][within],
        sequences.states[1:][within],
        sequences.sequence[1:][within],
    )
    table = np.bincount(16 * sequence + 4 * before + after, minlength=16 * (sequences.sequence[-1] + 1))
    return table.reshape(-1, 2, 2, 2, 2)


def samples_by_sequence(sequences: LabelSequences) -> Counts:
    """Count the samples of each sequence, (sequence, actual, predicted)."""
    number = sequences.sequence[-1] + 1
    return np.bincount(4 * sequences.sequence + sequences.states, minlength=4 * number).reshape(-1, 2, 2)


def count_transitions(sequences: LabelSequences, chain: str) -> TransitionCounts:
    """Count the transitions within all sequences, as a kind of chain needs them."""
    checks.one_of("chain", chain, CHAIN_KINDS)
    table = transitions_by_sequence(sequences).sum(0)
    predicted = table.transpose(2, 0, 1, 3)
    if chain == "z_prev":
        predicted = predicted.sum(1, keepdims=True)
    return TransitionCounts(table.sum((1, 3)), predicted)


@held
class ChainParameters(NamedTuple):
    """A chain's parameters, or draws of them: `stay` (2, …) and `theta` (2, 1 or 2, 2, …)."""

    stay: Array
    theta: Array

    def stationary_cells(self) -> Array:
        """Return the long-run cells (2, 2, …): the stationary distribution."""
        theta = np.broadcast_to(self.theta, (2, 2, *self.theta.shape[2:]))
        return np.reshape(stationary(self.stay, theta), (2, 2, *self.stay.shape[1:]))

    def transition_matrix(self) -> Array:
        """Return the probabilities (4, 4, …) of the next state, given the current one."""
        actual = np.stack([np.stack([self.stay[0], 1 - self.stay[0]]), np.stack([1 - self.stay[1], self.stay[1]])])
        predicted = np.moveaxis(np.stack([1 - self.theta, self.theta], 3), 0, 2)
        return np.reshape(actual[:, None, :, None] * predicted, (4, 4, *self.stay.shape[1:]))

    def take(self, draws: Any) -> ChainParameters:
        """Return some of the draws."""
        return ChainParameters(self.stay[..., draws], self.theta[..., draws])

    def simulate(self, starts: Iterable[bool], rng: np.random.Generator) -> Iterator[Codes]:
        """Yield the states (draws,) of chains simulated with each draw of the parameters, one sample after the other.

        Where a sequence starts, the state is drawn from the stationary distribution.
        """
        draws = self.stay.shape[-1]
        draw = np.arange(draws)
        first = np.cumsum(self.stationary_cells().reshape(4, draws), 0)[:-1]
        following = np.moveaxis(np.cumsum(self.transition_matrix(), 1)[:, :-1], 1, 0).reshape(3, 4 * draws)
        state = np.zeros_like(draw)
        for start in starts:
            bounds = first if start else following.take(state * draws + draw, axis=1)
            state = (rng.random(draws) >= bounds).sum(0)
            yield state


class TransitionPosterior(NamedTuple):
    """The posterior of a chain's parameters: independent Betas, whose two weights are the last axis of both arrays."""

    stay: Array
    theta: Array

    @classmethod
    def of(cls, counts: TransitionCounts, prior: float) -> TransitionPosterior:
        """Return the posterior under a Beta(prior, prior) on every parameter."""
        (stay_0, to_1), (to_0, stay_1) = counts.actual
        stay = np.array([[stay_0, to_1], [stay_1, to_0]], dtype=float)
        theta = counts.predicted[..., ::-1].astype(float)
        return cls(stay + prior, theta + prior)

    def mean(self) -> ChainParameters:
        """Return the chain with the mean parameters."""
        return ChainParameters(*(weights[..., 0] / weights.sum(-1) for weights in self))

    def draw(self, draws: int, rng: np.random.Generator) -> ChainParameters:
        """Return draws of the chain's parameters, none so near 0 or 1 that the chain would never leave a state."""
        # One parameter after the other, as NumPy takes longer for arrays of them.
        drawn = (
            np.stack([rng.beta(a, b, draws) for a, b in weights.reshape(-1, 2)]).reshape(*weights.shape[:-1], draws)
            for weights in self
        )
        return ChainParameters(*(np.clip(values, _LEAST, 1 - _LEAST, out=values) for values in drawn))
