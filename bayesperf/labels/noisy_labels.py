"""The posterior of true cells if the labels of the examples are themselves wrong at a known or partly known rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Codes, blocks
from bayesperf.core.errors import InputError, PriorWarning, warn
from bayesperf.core.random_streams import streams
from bayesperf.data.count_arrays import refuse_uncounted_cells
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.drawing import dirichlet_shares
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.tabulated import Axis, Tabulated
from bayesperf.labels.replaced_labels import RecordedCounts, Replacement
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.paired_systems import pseudo_counts
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.posteriors.quantity import Quantity, Scope
from bayesperf.posteriors.sources.stored_draws import StoredDraws, stored

# Nodes at which the likelihood of the error rate is computed, and rates that draws are given.
_NODES, _RATES = 65, 200
# How far below its maximum a log density counts as nothing.
_NOTHING = 45.0
# Distance from singular at which labels say next to nothing of the truth.
_SINGULAR = 1e-3
# Largest number of combinations of predictions of systems tested on the same examples.
_MOST_COLUMNS = 4096


@dataclass(frozen=True, eq=False)
class NoisyLabels(StoredDraws):
    """Draws of true cells given labels that may be wrong. Made by `bayesperf.labels.noise`."""

    # The rate of wrong labels in each draw, (draw,); None if the errors are fixed.
    error_rates: Array | None = field(default=None, kw_only=True)

    @property
    def label_error(self) -> Marginal:
        """Posterior of the rate of wrong labels: its prior, and the information that the counts add.

        If labels and predictions agree too often for many labels to be wrong, it is below the prior.
        """
        if self.error_rates is None:
            raise InputError("label_error", "the errors were given, not a distribution of their rate.")
        drawn = Draws(self.error_rates[None, None, :], (0.0, 1.0))
        return Marginal(
            Quantity("label_error_rate", Scope("itself"), words="rate of wrong labels", bounds=drawn.bounds),
            drawn,
            NO_DIMS,
        )


@checked
def noise(
    cm: ConfusionMatrix,
    error: float | tuple[float, float] | ArrayLike,
    prior: str | priors.Prior | None = None,
    *,
    draws: int = DRAWS,
    random_seed: Any = 0,
) -> Posterior:
    """Return the posterior of the true cells if the labels recorded in `cm` may be wrong.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts by *recorded* label and prediction. All matrices share one source of labels and its error rate; systems
        tested on the same examples have the same labels, and their draws are joint.
    error : float, (a, b) or array-like (K, K)
        The rate ε of wrong labels: a number, or a Beta(a, b) prior, such as (5, 95) if 5 of 100 checked labels were
        wrong. A wrong label is any of the K − 1 others with the same probability. Or P(recorded | true), with a row for
        each true label, in the order of the labels.
    prior : str or Prior, optional
        Prior of the true cells: Jeffreys' for two classes, Perks' for more. The shared prior is not available.
    draws : int
        Number of draws; from a sampler (see Returns) the next multiple of 50, the number of its chains.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Posterior
        The posterior of the true cells; the observed values come from the recorded counts. ``source.label_error`` is
        the posterior of ε, if it had a prior. Draws are independent, except with more than two classes and errors that
        depend on the truth: these draws come from a sampler.

    Raises
    ------
    ValueError
        If labels would be worse than chance (ε above (K − 1)/K), the errors are not probabilities, the prior is not a
        Dirichlet prior of every cell, the true negatives were not counted, or the systems' predictions have too many
        combinations.

    Warns
    -----
    PriorWarning
        If the labels say almost nothing about the truth, so that the posterior is the prior.

    Notes
    -----
    Errors of labels are assumed independent of the prediction, given the truth. If labels were made after a look at the
    predictions, or by a system that errs on the same examples, the system is worse than this says.
    With E[t, r] = P(recorded r | true t), the recorded counts are multinomial with p(r, z) = Σ_t E[t, r] θ_tz. Under a
    Dirichlet prior the columns z are separate problems given E. If a wrong label does not depend on the truth, they are
    drawn exactly (`bayesperf.labels.replaced_labels`); the likelihood of ε is a sum, and its posterior a quadrature. A
    Beta prior ends at (K − 1)/K, where labels are chance.

    The counts say little about ε but an upper bound: if a system agrees with 98 % of the labels, not many more than 2 %
    are wrong. With many classes the prior expects a system to confuse few pairs, so errors spread evenly over all
    classes look like wrong labels, and raise a Beta prior slightly.

    References
    ----------
    Hui & Walter (1980), Estimating the error rates of diagnostic tests, Biometrics 36; here one test's rates are known.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=88, fn=12, fp=10, tn=90)
    >>> [bp.labels.noise(cm, error)["accuracy"].mean().round(2).item() for error in (0, 0.05, (5, 95))]
    [0.89, 0.93, 0.94]
    """
    checks.instance("cm", cm, ConfusionMatrix)
    refuse_uncounted_cells(cm.counts, "cm")
    noise = _parsed(error, len(cm.labels))
    n = checks.count("draws", draws, least=2)
    resolved = priors.resolve_dirichlet(prior, len(cm.labels), "labels that may be wrong")
    columns = _columns(cm, resolved)
    recorded = columns.recorded
    # The draws are put together from parts, so that they are held twice.
    what = f"the cells of {len(cm.labels):,} classes"
    checks.draws_in_memory(n, 2 * columns.template.size, what, "Merge rare classes, or select few of the matrices.")
    _refuse_impossible(recorded, noise, cm.labels)
    content = np.append(recorded.counts, recorded.weights)
    rng = streams(checks.seed(random_seed), "label noise", NO_DIMS, [content])[0]
    chains, rates = 1, None
    shares: Iterator[Array]
    if isinstance(noise, ErrorRate):
        rates = noise.draws(recorded, n)
        runs = zip(*np.unique(rates, return_counts=True), strict=True)
        shares = (recorded.draw_shares(noise.at(rate), size, rng) for rate, size in runs)
    elif isinstance(noise, Replacement):
        parts = blocks(n, recorded.counts.size)
        shares = (recorded.draw_shares(noise, part.stop - part.start, rng) for part in parts)
    else:
        chains = CHAINS
        drawn = draw_shares(recorded.counts, recorded.weights, noise, -(-n // chains), rng)
        shares = iter(drawn)
    cells = np.concatenate([columns.cells(part, rng) for part in shares], axis=2)
    if rates is not None:
        order = rng.permutation(n)
        cells, rates = cells[:, :, order], rates[order]
    source = NoisyLabels(
        stored(cells, columns.template, chains),
        independent_draws=chains == 1,
        systems_dim="" if cm.patterns is None else cm.patterns.dim,
        error_rates=rates,
    )
    prior_text = f"{resolved.describe(cm)}; {_in_words(noise)}"
    return Posterior(source=source, pos_label=cm.pos_label, prior_text=prior_text, observed=cm.counts)


# ── The errors of labels ──


class ErrorRate(NamedTuple):
    """A Beta(a, b) for the rate of wrong labels among K classes, cut off where labels are chance."""

    a: float
    b: float
    classes: int

    @property
    def most(self) -> float:
        """The rate at which labels are no better than chance."""
        return 1 - 1 / self.classes

    def at(self, rate: float) -> Replacement:
        """Return the noise at a rate: a label drawn from all classes is right in 1 of K."""
        others = rate / (self.classes - 1)
        return Replacement(1 - self.classes * others, np.full(self.classes, others))

    def draws(self, recorded: RecordedCounts, n: int) -> Array:
        """Return n increasing values of the rate: a few hundred quantiles, repeated."""
        known = self.posterior(recorded)
        groups = np.array_split(np.arange(n), min(n, _RATES))
        levels = [(group[0] + group[-1] + 1) / (2 * n) for group in groups]
        quantiles = self.most * known.ppf(np.array([levels]))[0]
        return np.repeat(quantiles, [len(group) for group in groups])

    def posterior(self, recorded: RecordedCounts) -> Tabulated:
        """Return the posterior of the rate as a fraction of `most`."""
        centre = special.logit(min(self.a / (self.a + self.b) / self.most, 0.9))
        axis = _axis(centre - _NOTHING / self.a, _NOTHING, centre, 0.5)
        for _ in range(2):
            logits, log_length = axis.nodes(_NODES)
            log_density = self._log_density(logits[0], recorded)[None]
            weight = special.softmax(log_density + log_length)
            middle = float((weight * logits).sum())
            spread = float(np.sqrt((weight * (logits - middle) ** 2).sum()))
            inside = np.flatnonzero(log_density[0] > log_density.max() - _NOTHING)
            first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, _NODES - 1)
            table = Tabulated.of(axis, log_density)
            axis = _axis(logits[0, first], logits[0, last], middle, max(spread, 1e-3))
        return table

    def _log_density(self, logits: Array, recorded: RecordedCounts) -> Array:
        """Return the log density of the logit of rate/most, up to a constant."""
        rate = self.most * special.expit(logits)
        log_prior = self.a * special.log_expit(logits) + special.log_expit(-logits) + (self.b - 1) * np.log1p(-rate)
        return log_prior + [recorded.log_likelihood(self.at(each)) for each in rate]


def _axis(low: float, high: float, centre: float, scale: float) -> Axis:
    low_, high_, centre_, scale_ = (np.array([[value]]) for value in (low, high, centre, scale))
    return Axis.between(low_, high_, centre_, scale_, _NODES)


def _parsed(error: Any, classes: int) -> ErrorRate | Replacement | Array:
    """Return the caller's errors of labels, checked."""
    try:
        values = np.asarray(error, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (2,), (classes, classes)) or not np.isfinite(values).all():
        raise InputError(
            "error", f"must be a rate, the (a, b) of a Beta, or a matrix {classes} × {classes}; it is {error!r}."
        )
    most = 1 - 1 / classes
    if values.shape == (2,):
        a, b = checks.beta_weights("error", values)
        if a / (a + b) >= most:
            raise InputError(
                "error",
                f"Beta({a:g}, {b:g}) expects more than {most:.3g} of the labels to be wrong, which is "
                "worse than chance.",
                f"Its mean is the rate of wrong labels: is it ({b:g}, {a:g})?",
            )
        return ErrorRate(a, b, classes)
    if values.shape == ():
        rate = float(values)
        if not 0 <= rate <= most:
            raise InputError("error", f"a rate of wrong labels is between 0 and chance, {most:.3g}; it is {rate:g}.")
        _warn_if_singular(1 - rate / most)
        return ErrorRate(1, 1, classes).at(rate)
    return _parsed_matrix(values)


def _parsed_matrix(matrix: Array) -> Replacement | Array:
    """Return a matrix P(recorded | true), or its simpler form if the wrong labels do not depend on the truth."""
    if (matrix < 0).any() or not np.allclose(matrix.sum(1), 1, rtol=0, atol=1e-9):
        raise InputError(
            "error",
            "each row of the matrix must be probabilities that sum to 1, of the labels recorded "
            f"for one true label; the rows sum to {matrix.sum(1).round(6).tolist()}.",
        )
    wrong = ~np.eye(len(matrix), dtype=bool)
    replaced = np.array([column[others].mean() for column, others in zip(matrix.T, wrong, strict=True)])
    kept = 1 - replaced.sum()
    if kept < -1e-9 and len(matrix) == 2:
        raise InputError("error", "labels would be wrong more often than chance.", "Has the matrix its rows exchanged?")
    _warn_if_singular(np.linalg.svd(matrix)[1].min())
    if np.allclose(matrix, replaced + kept * ~wrong, rtol=0, atol=1e-9):
        return Replacement(max(kept, 0.0), replaced)
    return matrix


def _warn_if_singular(distance: float) -> None:
    if distance < _SINGULAR:
        warn(
            PriorWarning,
            "BP203",
            "labels with such errors say next to nothing of which class is the true one: the posterior is the prior.",
        )


def _refuse_impossible(recorded: RecordedCounts, noise: ErrorRate | Replacement | Array, labels: list[Any]) -> None:
    """Raise if the posterior is improper, or an impossible label has been recorded."""
    if (recorded.weights <= 0).any():
        raise InputError("prior", "labels that may be wrong need weight in every cell.", "Take another, as 'jeffreys'.")
    if isinstance(noise, ErrorRate):
        return
    if isinstance(noise, Replacement):
        noise = noise.replaced + noise.kept * np.eye(len(labels))
    for label, never, seen in zip(labels, (noise == 0).all(0), recorded.counts.sum(1), strict=True):
        if never and seen:
            raise InputError("error", f"by this matrix no label is ever recorded as {label!r}, and {seen:g} are.")


def _in_words(noise: ErrorRate | Replacement | Array) -> str:
    if isinstance(noise, ErrorRate):
        return f"recorded labels wrong at a rate ~ Beta({noise.a:g}, {noise.b:g})"
    if isinstance(noise, Replacement) and np.ptp(noise.replaced) == 0:
        return f"recorded labels wrong at a rate of {noise.replaced[1:].sum():g}"
    return "recorded labels wrong as a matrix has it"


# ── Columns: one of each prediction, or of each combination of predictions ──


class Columns(NamedTuple):
    """Recorded counts of p matrices, or of systems on p sets of examples."""

    # Examples, and Dirichlet weights, by label and column, (p, K, Z).
    counts: Array
    weights: Array
    # Each system's prediction for the examples of a column, (Z, M).
    predicted: Codes
    # An array with the dims of the counts of all matrices.
    template: xr.DataArray

    @property
    def recorded(self) -> RecordedCounts:
        """All columns in a row."""
        counts, weights = (np.moveaxis(part, 1, 0).reshape(part.shape[1], -1) for part in (self.counts, self.weights))
        return RecordedCounts(counts, weights)

    def cells(self, shares: Array, rng: np.random.Generator) -> Array:
        """Return draws of the cells of every system (p, M, n, K, K), from draws of the shares (n, K, p·Z)."""
        places, classes, columns = self.counts.shape
        sizes = dirichlet_shares(rng, (self.counts + self.weights).sum(1), (len(shares), places, columns))
        cells = np.moveaxis(shares.reshape(len(shares), classes, places, columns) * sizes[:, None], 2, 0)
        if self.predicted.shape[1] == 1:
            return cells[:, None]
        chosen = (self.predicted.T[..., None] == np.arange(classes)).astype(float)
        return np.stack([cells @ of_system for of_system in chosen], axis=1)


def _columns(cm: ConfusionMatrix, prior: priors.Prior) -> Columns:
    """Return the columns of matrices: each alone, or systems tested on the same examples together."""
    classes, patterns = len(cm.labels), cm.patterns
    if patterns is None:
        counts = cm.counts.values.reshape(-1, classes, classes).astype(float)
        return Columns(counts, prior.concentration(cm).reshape(counts.shape), np.arange(classes)[:, None], cm.counts)
    systems = len(patterns.names)
    if classes**systems > _MOST_COLUMNS:
        raise InputError(
            "cm",
            f"{systems} systems of {classes} classes on the same examples have "
            f"{classes**systems:,} combinations of predictions, more than {_MOST_COLUMNS:,}.",
            f"Select fewer systems: cm.sel({patterns.dim}=[...]).",
        )
    margins = ConfusionMatrix(patterns.margins(), patterns.pos_label, patterns)
    alpha = pseudo_counts(margins, prior)
    predicted = np.indices((classes,) * systems).reshape(systems, -1).T
    of_class = alpha[:, 0].sum(-1)
    # (Z, M, p, K)
    each = alpha[:, np.arange(systems), :, predicted] / of_class
    weights = np.moveaxis(each.prod(1), 0, -1) * of_class[..., None]
    counts = np.zeros(weights.shape)
    at = np.ravel_multi_index(tuple(patterns.predicted.T), (classes,) * systems)
    counts[:, patterns.actual, at] = patterns.counts.values.reshape(len(counts), -1)
    return Columns(counts, weights, predicted, margins.counts)


# ── Labels that are wrong in any known way: the truth of every label is drawn in turn ──
#
# Of the examples recorded as r in a column, the numbers that are truly t are multinomial with probabilities
# proportional to E[t, r]·s_t; given those numbers, the proportions s of the true classes are Dirichlet. The two are
# drawn alternately (data augmentation, Tanner & Wong 1987).

CHAINS = 50
# Steps before the first draw, and between two draws.
_WARMUP, _THIN = 300, 5


def draw_shares(counts: Array, weights: Array, error: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n draws per chain of the proportions of the true labels in each column, (CHAINS, n, K, Z).

    `counts` (recorded labels) and Dirichlet `weights` (true labels) are (K, Z); `error` is P(recorded | true), (K, K),
    with rows of true labels.
    """
    column, recorded = np.nonzero(counts.T)
    seen = counts[recorded, column].astype(int)
    columns, begins = np.unique(column, return_index=True)
    shares = dirichlet_shares(rng, weights, (CHAINS, *weights.shape), axis=1)
    kept = np.empty((n, *shares.shape))
    for step in range(_WARMUP + _THIN * n):
        probability = error.T[recorded] * np.moveaxis(shares, 1, 2)[:, column]
        probability /= probability.sum(-1, keepdims=True)
        truth = np.zeros(shares.shape)
        if len(seen):
            drawn = rng.multinomial(seen, probability)
            truth[:, :, columns] = np.moveaxis(np.add.reduceat(drawn, begins, axis=1), 1, 2)
        shares = dirichlet_shares(rng, weights + truth, truth.shape, axis=1)
        if step >= _WARMUP and (step - _WARMUP) % _THIN == _THIN - 1:
            kept[(step - _WARMUP) // _THIN] = shares
    return np.moveaxis(kept, 0, 1)
