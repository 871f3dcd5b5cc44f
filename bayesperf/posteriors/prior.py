"""Priors of a confusion matrix: Dirichlet pseudo-counts in its cells, a Beta on each rate, or one shared by classes.

Functions that take a prior also accept the name of a prior that has no arguments: ``"flat"``, ``"jeffreys"``,
``"perks"``, ``"haldane"`` or ``"shared"``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.checks import number
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Applied, Held, applied, by_name
from bayesperf.data.matrix import ConfusionMatrix

if TYPE_CHECKING:
    from bayesperf.posteriors.sensitivity_to_prior import sensitivity

__all__ = ["Prior", "dirichlet", "elicited", "flat", "haldane", "jeffreys", "perks", "rate", "sensitivity", "shared"]

# Asks posteriors under several priors, so it is lent by a module that imports this one.
__getattr__, *_ = lazy_loader.attach("bayesperf", submod_attrs={"posteriors.sensitivity_to_prior": ["sensitivity"]})


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True)
class Prior(Held):
    """A prior of a confusion matrix, made by the functions of this module.

    Attributes
    ----------
    name : str
        Name of the prior.
    pseudo_counts : callable
        Function of the number of classes and the position of the positive class that returns the weight of each cell.
    rates : tuple of two float, optional
        Parameters (a, b) of the Beta distribution on each rate, for a rate prior (`pseudo_counts` is then zero).
    shared_by_classes : bool
        Whether the classes share what the prior says of them (`shared`); it then has no pseudo-counts.
    """

    name: str
    pseudo_counts: Applied | Callable[[int, int | None], Any]
    rates: tuple[float, float] | None = None
    shared_by_classes: bool = False

    def concentration(self, cm: ConfusionMatrix) -> Array:
        """Return the pseudo-counts for a matrix, a read-only array with the shape of its counts."""
        alpha, shape = self.pseudo_counts(len(cm.labels), cm.positive), cm.counts.shape
        if isinstance(alpha, xr.DataArray):
            alpha = _aligned(alpha, cm)
        elif np.ndim(alpha) and np.shape(alpha) != shape[-2:]:
            raise InputError("prior", f"its pseudo-counts have shape {np.shape(alpha)}; the matrix {shape[-2:]}.")
        return np.broadcast_to(np.asarray(alpha, dtype=float), shape)

    def describe(self, cm: ConfusionMatrix) -> str:
        """Return a description of the prior, with its total weight."""
        if self.rates:
            a, b = self.rates
            return f"Beta({a:g}, {b:g}) on each rate (total weight {a + b:g} a rate)"
        if self.shared_by_classes:
            return _SHARED_TEXT
        alpha = self.concentration(cm)
        totals = alpha.sum((-2, -1))
        low, high = float(totals.min()), float(totals.max())
        total = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        cells = len(cm.labels) ** 2
        same = float(alpha.min()) == float(alpha.max())
        each = f"{float(alpha.min()):.3g} in each of {cells} cells, " if same else ""
        return f"{_POSSESSIVES.get(self.name, self.name)} Dirichlet ({each}total weight {total})"


def flat() -> Prior:
    """Return the flat prior: one pseudo-example in every cell, uniform over matrices of cell probabilities."""
    return Prior("flat", applied(in_every_cell, 1.0))


def jeffreys() -> Prior:
    """Return Jeffreys' prior: half a pseudo-example in every cell.

    This is the default for two classes: recall, precision and specificity have Beta(½, ½), and accuracy Beta(1, 1).
    """
    return Prior("jeffreys", applied(in_every_cell, 0.5))


def perks() -> Prior:
    """Return Perks' prior: one pseudo-example in total, spread evenly over the K² cells.

    This is the default for more than two classes where a Dirichlet prior is needed: for systems evaluated on the same
    examples, and for plans. Elsewhere it is `shared`.
    """
    return Prior("perks", applied(one_in_all))


def haldane() -> Prior:
    """Return Haldane's prior, which has no pseudo-examples.

    The posterior is improper if a cell is empty; metrics that need that cell then raise.
    """
    return Prior("haldane", applied(in_every_cell, 0.0))


def shared() -> Prior:
    """Return the prior that the classes share: how well they are recognised on average, and how much they differ.

    This is the default for more than two classes. No one Dirichlet prior serves many classes: with one pseudo-example
    per cell, K − 1 of the K in each row are errors, which drags good systems down; with one in total, a class that was
    right in 5 of 5 examples is taken to be right nearly always. Here the other classes say what to expect of a class.

    Notes
    -----
    The proportions of the classes have a flat Dirichlet prior. The recall of class i is r_i ~ Beta(κm_i, κ(1 − m_i)),
    logit m_i = logit m + βs_i, where s_i is the log of the number of its examples (and one), less the mean over the
    classes: rare classes may be harder, or easier. A mean m ~ U(0, 1), the slope β ~ N(0, 1), and a dispersion
    ρ = 1/(1 + κ) ~ Beta(1, 3) are informed by the data of all classes. Where classes are equally large the slope drops
    out. The errors of a class are spread over the others by q_i ~ Dirichlet(ηg), with weights (of the other classes,
    rescaled to sum to η) proportional to how popular each class is among errors, g ~ Dirichlet(0.4, …, 0.4). How much
    errors clump, 1/(1 + η) ~ U(0, 1), is estimated as well.

    It is assumed that the logit of the mean recall is a straight line in the log size. Where it is not, as where two
    rare classes do not work at all, the interval of such a class leans to the others (see the page "How often each
    interval covers").

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_table([[5, 0, 0], [2, 7, 1], [0, 2, 18]])
    >>> for prior in "perks", "shared":
    ...     print(bp.posterior(cm, prior)["recall_per_class"].eti().sel(label=0).values.round(2))
    [0.71 1.  ]
    [0.6 1. ]
    """
    return Prior("shared", applied(not_dirichlet), shared_by_classes=True)


@checked
def dirichlet(alpha: ArrayLike | xr.DataArray) -> Prior:
    """Return a Dirichlet prior with the given pseudo-counts.

    Parameters
    ----------
    alpha : float, array-like (K, K) or xarray.DataArray
        Non-negative pseudo-counts, with actual classes in rows and predicted classes in columns, in the order of the
        labels. A DataArray may also have leading dims of the counts (a different prior for each model).

    Raises
    ------
    ValueError
        If a pseudo-count is negative, missing or infinite.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=9)
    >>> bp.posterior(cm, prior=bp.prior.dirichlet([[9, 1], [2, 8]]))["recall"].mean().item()
    0.8
    """
    try:
        values = np.array(alpha, dtype=float)
    except (TypeError, ValueError):
        raise InputError("alpha", f"must be a number or (K, K) numbers; it is {alpha!r}.") from None
    if not (np.isfinite(values) & (values >= 0)).all():
        raise InputError("alpha", "must be finite and not negative in every cell.")
    weights = alpha.copy(data=values) if isinstance(alpha, xr.DataArray) else values
    if not isinstance(alpha, xr.DataArray) and values.ndim not in (0, 2):
        raise InputError(
            "alpha", f"must be a number or (K, K); its shape is {values.shape}.", "Name more dims in a DataArray."
        )
    return Prior("your", applied(in_every_cell, weights))


@checked
def elicited(*, precision: float, recall: float, accuracy: float, weight: float) -> Prior:
    """Return the prior that has the given expected precision, recall and accuracy.

    Parameters
    ----------
    precision, recall, accuracy : float
        Expected values, strictly between 0 and 1.
    weight : float
        Weight of the prior, in numbers of examples.

    Raises
    ------
    ValueError
        If no matrix has these three values, because the proportion of true negatives would be negative.

    Notes
    -----
    Caelen (2017), A Bayesian interpretation of the confusion matrix, eq. 8 (where recall is printed with false
    positives in its denominator; it is TP/(TP + FN)).

    Examples
    --------
    >>> import bayesperf as bp
    >>> belief = bp.prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=1)
    >>> belief.pseudo_counts(2, 1).round(7)
    array([[0.2680851, 0.2212766], [0.1787234, 0.3319149]])
    """
    for name, value in {"precision": precision, "recall": recall, "accuracy": accuracy}.items():
        if not 0 < number(name, value) < 1:
            raise InputError(name, f"must be between 0 and 1, both excluded; it is {value}.")
    if not 0 < number("weight", weight) < np.inf:
        raise InputError("weight", f"must be greater than 0; it is {weight}.")
    errors = weight * (1 - accuracy) / (precision + recall - 2 * recall * precision)
    tp, fp, fn = errors * recall * precision, errors * recall * (1 - precision), errors * (1 - recall) * precision
    tn = accuracy * weight - tp
    if tn <= 0:
        raise InputError(
            "",
            f"no matrix has precision {precision}, recall {recall} and accuracy {accuracy}: the "
            f"true positives alone would be a share of {tp / weight:.3g}.",
            "Raise the accuracy, or lower precision or recall.",
        )
    return Prior("elicited", applied(binary_table, np.array([[tn, fp], [fn, tp]])))


@checked
def rate(a: float, b: float) -> Prior:
    """Return a Beta(a, b) prior on each rate directly, whichever cells the rate is computed from.

    This is the convention of Goutte & Gaussier (2005) and of bob.measure. It agrees with a Dirichlet prior for
    precision, recall and specificity and differs for other rates (accuracy, Jaccard). It is not derived from a prior of
    the whole matrix, so anything that needs the whole matrix (MCC, draws, prediction) raises. Beta(a, b) applies to
    rates of which greater values are better; for their complements, such as fpr, the prior is Beta(b, a).

    Notes
    -----
    F1 and the Jaccard index are functions of each other, F1 = 2J/(1 + J), but not under this prior. Goutte & Gaussier
    derive F1 from precision and recall, whose priors are those of independent gamma variables in tp, fp and fn with
    shapes a, b and b: F1 has the distribution of 2J/(1 + J) with J ~ Beta(tp + a, fp + fn + 2b). The Jaccard index, as
    a rate of its own, has Beta(tp + a, fp + fn + b), as in bob.measure. The two differ by one b among the errors.

    References
    ----------
    Goutte & Gaussier (2005), A probabilistic interpretation of precision, recall and F-score, with implication for
    evaluation, ECIR.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> post = bp.posterior(cm, prior=bp.prior.rate(1, 1))
    >>> post["accuracy"].mean().item() == 86 / 102
    True
    >>> f1, jaccard = post["f1"].median(), post["jaccard"].median()
    >>> f1.item() < (2 * jaccard / (1 + jaccard)).item()
    True
    """
    for name, value in {"a": a, "b": b}.items():
        if not 0 <= number(name, value) < np.inf:
            raise InputError(name, f"must be finite and not negative; it is {value}.")
    return Prior("rate", applied(in_every_cell, 0.0), rates=(float(a), float(b)))


# How a sentence names a prior that is named after a person.
_POSSESSIVES = {"jeffreys": "Jeffreys'", "perks": "Perks'", "haldane": "Haldane's"}
_SHARED_TEXT = (
    "shared by the classes (recalls ~ Beta of mean m ~ U(0, 1) and dispersion ρ ~ Beta(1, 3); the logit of the mean "
    "has a slope ~ N(0, 1) on the log size of a class; errors spread by the popularity of each class among errors "
    "~ Dirichlet(0.4), and clumped ~ U(0, 1); shares of the classes ~ Dirichlet(1))"
)


@by_name
def not_dirichlet(classes: int, positive: int | None) -> Any:
    raise InputError(
        "prior", "'shared' has no pseudo-counts, which are needed here.", "Use a Dirichlet prior, as 'perks'."
    )


@by_name
def in_every_cell(weights: Any, classes: int, positive: int | None) -> Any:
    return weights


@by_name
def one_in_all(classes: int, positive: int | None) -> float:
    return 1 / classes**2


@by_name
def binary_table(table: Array, classes: int, positive: int | None) -> Array:
    if classes != 2 or positive is None:
        raise InputError("prior", "elicited() is for a binary matrix with a pos_label.")
    return table if positive == 1 else table[::-1, ::-1]


PRESETS = {preset.__name__: preset for preset in (flat, jeffreys, perks, haldane, shared)}


def resolve(prior: str | Prior | None, classes: int) -> Prior:
    """Return the prior specified by a `Prior`, a name, or None for the default for a number of classes."""
    if isinstance(prior, Prior):
        return prior
    if prior is None:
        return jeffreys() if classes == 2 else shared()
    if not isinstance(prior, str) or prior not in PRESETS:
        raise InputError("prior", f"must be one of {', '.join(PRESETS)}, or a bayesperf.prior.Prior; it is {prior!r}.")
    return PRESETS[prior]()


def resolve_dirichlet(
    prior: str | Prior | None, classes: int, what: str, *, rates: bool = False, shared: bool = False
) -> Prior:
    """Return the prior as `resolve` does, for what needs one with pseudo-counts: by default Perks' for many classes.

    Raises
    ------
    ValueError
        If the prior is `shared`, or one of rates, where `what` cannot use these.
    """
    resolved = perks() if prior is None and classes > 2 and not shared else resolve(prior, classes)
    if resolved.shared_by_classes and not shared:
        raise InputError("prior", f"'shared' is not available for {what}.", "Use a Dirichlet prior, as 'perks'.")
    if resolved.rates and not rates:
        raise InputError(
            "prior",
            f"a rate prior is none of the whole matrix, which {what} need.",
            "Use a Dirichlet prior, as 'flat'.",
        )
    return resolved


def _aligned(alpha: xr.DataArray, cm: ConfusionMatrix) -> Array:
    """Return pseudo-counts along the axes of counts; those of dims that they lack have length 1."""
    extra = set(alpha.dims) - set(cm.counts.dims)
    if extra or not {"actual", "predicted"} <= set(alpha.dims):
        raise InputError("prior", f"dims {alpha.dims} must be actual, predicted and leading dims of {cm.counts.dims}.")
    for dim in alpha.dims:
        if dim in alpha.coords and not set(cm.counts[dim].values.tolist()) <= set(alpha[dim].values.tolist()):
            raise InputError("prior", f"it has no pseudo-counts for some {dim} of the counts.")
        if dim not in alpha.coords and alpha.sizes[dim] != cm.counts.sizes[dim]:
            raise InputError("prior", f"{alpha.sizes[dim]} along {dim} for {cm.counts.sizes[dim]} of the counts.")
    named = alpha.assign_coords({dim: cm.counts[dim] for dim in alpha.dims if dim not in alpha.coords})
    aligned = named.reindex({dim: cm.counts[dim].values for dim in alpha.dims})
    missing = {dim: 1 for dim in cm.counts.dims if dim not in alpha.dims}
    return np.asarray(aligned.expand_dims(missing).transpose(*cm.counts.dims).values, float)
