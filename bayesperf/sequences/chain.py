"""Sequences of two labels as arrays: transitions counted, the parameters of a chain drawn, chains simulated.

A state is 2·actual + predicted, with labels as 0 and 1 in their order. Parameters come first in every array and draws
last. The model and its letters are in `bayesperf.models._stationary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.words import listed
from bayesperf.counts.cross_tabulation import cross_tabulate, encode_predictions
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import applicable
from bayesperf.models._stationary import stationary

CHAINS = ("z_prev", "z_prev,g_prev")
# The least that 1 − x can be for a float x below 1.
_LEAST = 2.0**-53


class Series(NamedTuple):
    """Sequences one after the other, each in the order of time: states (n,), their sequence (n,), their counts."""

    states: NDArray[np.intp]
    sequence: NDArray[np.intp]
    cm: ConfusionMatrix

    @property
    def starts(self) -> NDArray[np.bool_]:
        """Which samples are the first of their sequence, (n,)."""
        return np.diff(self.sequence, prepend=-1) > 0


def read(
    y_true: Any, y_pred: Any, by: Any, labels: Iterable[Any] | None, pos_label: Any = None, singles: bool = False
) -> Series:
    """Check labels and sequence ids, and put each sequence's samples together; `singles` if one sample is enough."""
    if by is not None and not isinstance(by, Mapping):
        by = {"sequence": by}
    if by is not None and len(by) != 1:
        raise ValueError(f"by: give one column of sequence ids, as {{'video': ids}}; it has {len(by)}.")
    coded = encode_predictions(y_true, y_pred, by or {}, labels)
    cm = ConfusionMatrix(cross_tabulate(coded), pos_label)
    if len(cm.labels) != 2:
        raise ValueError(
            f"y_true and y_pred hold {len(cm.labels)} labels, {listed(cm.labels)}: sequences are for two. Set "
            "one class against the rest, as y_true == 'cat'."
        )
    alone = cm.total.values == 1
    if alone.any() and not singles:
        at = "".join(f"by: the {dim} {cm.counts[dim].values[np.argmax(alone)]!s}" for dim in cm.dims)
        raise ValueError(f"{at or 'y_true'} has one sample only, and a chain is about what follows what. Drop it.")
    states = 2 * coded.cells["actual"] + coded.cells["predicted"]
    if not coded.leading:
        return Series(states, np.zeros(len(states), np.intp), cm)
    ((name, (codes, *_)),) = coded.leading.items()
    order = np.argsort(codes, kind="stable")
    return Series(states[order], codes[order], cm.sum(name))


class Transitions(NamedTuple):
    """How often what followed what.

    `actual` (2, 2): from one actual label to the next. `predicted` (2, 1 or 2, 2, 2): the actual label, the previous
    one (all in one if predictions do not see it), the previous prediction, the prediction.
    """

    actual: Counts
    predicted: Counts


def steps(series: Series) -> Counts:
    """Count what followed what within each sequence, (sequence, actual before, predicted before, actual, predicted)."""
    before, after = (states[~series.starts[1:]] for states in (series.states[:-1], series.states[1:]))
    sequence = series.sequence[1:][~series.starts[1:]]
    table = np.bincount(16 * sequence + 4 * before + after, minlength=16 * (series.sequence[-1] + 1))
    return table.reshape(-1, 2, 2, 2, 2)


def count(series: Series, chain: str) -> Transitions:
    """Count the transitions within sequences."""
    checks.one_of("chain", chain, CHAINS)
    table = steps(series).sum(0)
    predicted = table.transpose(2, 0, 1, 3)
    return Transitions(table.sum((1, 3)), predicted if chain == "z_prev,g_prev" else predicted.sum(1, keepdims=True))


class Chain(NamedTuple):
    """A chain's parameters, or draws of them: `stay` (2, …) and `theta` (2, 1 or 2, 2, …)."""

    stay: Array
    theta: Array

    def cells(self) -> Array:
        """Return the long-run cells (2, 2, …)."""
        theta = np.broadcast_to(self.theta, (2, 2, *self.theta.shape[2:]))
        return np.reshape(stationary(self.stay, theta), (2, 2, *self.stay.shape[1:]))

    def transitions(self) -> Array:
        """Return the probabilities (4, 4, …) of the next state, given the last one."""
        actual = np.stack([np.stack([self.stay[0], 1 - self.stay[0]]), np.stack([1 - self.stay[1], self.stay[1]])])
        predicted = np.moveaxis(np.stack([1 - self.theta, self.theta], 3), 0, 2)
        return np.reshape(actual[:, None, :, None] * predicted, (4, 4, *self.stay.shape[1:]))

    def take(self, draws: Any) -> Chain:
        """Return some of the draws."""
        return Chain(self.stay[..., draws], self.theta[..., draws])

    def walk(self, starts: Iterable[bool], rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
        """Yield the states (draws,) of a simulated chain a draw, one sample after the other.

        Where a sequence starts, the state is drawn from the stationary distribution.
        """
        draws = self.stay.shape[-1]
        draw = np.arange(draws)
        first = np.cumsum(self.cells().reshape(4, draws), 0)[:-1]
        following = np.moveaxis(np.cumsum(self.transitions(), 1)[:, :-1], 1, 0).reshape(3, 4 * draws)
        state = np.zeros_like(draw)
        for start in starts:
            bounds = first if start else following.take(state * draws + draw, axis=1)
            state = (rng.random(draws) >= bounds).sum(0)
            yield state


def check_prior(prior: float) -> None:
    """Refuse what is not the weight of a Beta on each side."""
    if not 0 < checks.number("prior", prior) < np.inf:
        raise ValueError(f"prior must be greater than 0 and finite, the weight of a Beta on each side; it is {prior}.")


class Betas(NamedTuple):
    """Independent Betas of a chain's parameters, with (successes, failures) as the last axis of `stay` and `theta`."""

    stay: Array
    theta: Array

    @classmethod
    def posterior(cls, transitions: Transitions, prior: float) -> Betas:
        """Return the posterior under a Beta(prior, prior) on every parameter."""
        (stay_0, to_1), (to_0, stay_1) = transitions.actual
        stay = np.array([[stay_0, to_1], [stay_1, to_0]], dtype=float)
        theta = transitions.predicted[..., ::-1].astype(float)
        return cls(stay + prior, theta + prior)

    def mean(self) -> Chain:
        """Return the chain of mean parameters."""
        return Chain(*(shape[..., 0] / shape.sum(-1) for shape in self))

    def draw(self, draws: int, rng: np.random.Generator) -> Chain:
        """Return draws of the chain's parameters, none so near 0 or 1 that the chain would never leave a state."""
        # One parameter after the other: NumPy takes longer for arrays of them.
        drawn = (
            np.reshape([rng.beta(a, b, draws) for a, b in shape.reshape(-1, 2)], (*shape.shape[:-1], draws))
            for shape in self
        )
        return Chain(*(np.clip(values, _LEAST, 1 - _LEAST) for values in drawn))


def metric_of_matrix(metric: str | Metric, labels: Sequence[Any], positive: int | None) -> Metric:
    """Return a metric that has one value a matrix of two classes."""
    found = applicable(metric, labels, positive)
    if found.average == "per_class":
        raise ValueError(f"metric {found.name!r} has a value a class: name a metric of the whole matrix.")
    return found


def chain_with(
    persistence: float, error_persistence: float, prevalence: float, recall: float, specificity: float
) -> Chain:
    """Return the chain that `bayesperf.sequences.simulate` describes; its arguments are checked here."""
    named = {"persistence": persistence, "error_persistence": error_persistence, "prevalence": prevalence,
             "recall": recall, "specificity": specificity}  # fmt: skip
    for name, value in named.items():
        checks.probability(name, value)
    shares = np.array([1 - prevalence, prevalence])
    stay = shares + (1 - shares) * (2 * persistence - 1)
    if (stay < 0).any():
        raise ValueError(
            f"persistence {persistence}: no chain with prevalence {prevalence} changes label so often. Raise it, or "
            "bring prevalence nearer to 0.5."
        )
    k = 2 * error_persistence - 1
    positive = np.array([1 - specificity, recall])
    c = (positive - k * (stay * positive + (1 - stay) * positive[::-1])) / (1 - k)
    theta = (1 - k) * c[:, None] + k * np.array([0, 1])
    if (theta < 0).any() or (theta > 1).any():
        raise ValueError(
            f"no chain has recall {recall} and specificity {specificity} at prevalence {prevalence}, persistence "
            f"{persistence} and error_persistence {error_persistence}: some prediction would have probability "
            f"{theta.flat[np.abs(theta - 0.5).argmax()]:.3g}. Raise persistence, or bring error_persistence or the two "
            "rates nearer to 0.5."
        )
    return Chain(stay, theta[:, None])
