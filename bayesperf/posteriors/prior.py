"""Priors of a confusion matrix: Dirichlet pseudo-counts in its cells, a Beta on each rate, or one shared by classes.

Functions that take a prior also accept the name of a prior that has no arguments: ``"flat"``, ``"jeffreys"``,
``"perks"``, ``"haldane"`` or ``"shared"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.checks import number, probability
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Applied, applied, by_name
from bayesperf.core.saving import Saved
from bayesperf.core.words import enumerated, estimate
from bayesperf.data.count_arrays import ALL, CELL_DIMS
from bayesperf.data.counted import Counted
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.beta import Beta, beta_of_interval
from bayesperf.metrics.metric import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.posteriors.sensitivity_to_prior import sensitivity

__all__ = ["Prior", "dirichlet", "elicited", "flat", "haldane", "jeffreys", "perks", "rate", "sensitivity", "shared"]

# Pseudo-examples in every cell; of a rate alone, on either side.
IN_EVERY_CELL = {"jeffreys": 0.5, "flat": 1.0, "haldane": 0.0}

# Asks posteriors under several priors, so it is lent by a module that imports this one.
__getattr__, *_ = lazy_loader.attach("bayesperf", submod_attrs={"posteriors.sensitivity_to_prior": ["sensitivity"]})


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, repr=False)
class Prior(Saved):
    """A prior of a confusion matrix, made by the functions of this module.

    Attributes
    ----------
    name : str
        Name of the prior.
    pseudo_counts : callable
        Function of the number of classes and the position of the positive class that returns the weight of each cell;
        for outcomes it is given a number of rows, 1, as well.
    rates : tuple of two float, optional
        Parameters (a, b) of the Beta distribution on each rate, for a rate prior (`pseudo_counts` is then zero).
    shared_by_classes : bool
        Whether the classes share a prior (`shared`); it then has no pseudo-counts.
    prevalence : tuple of two float, optional
        Parameters (a, b) of the Beta of the prevalence, if it is independent of recall and specificity (`elicited`);
        the pseudo-counts then describe the rows only.
    """

    name: str
    pseudo_counts: Applied | Callable[..., Any]
    rates: tuple[float, float] | None = None
    shared_by_classes: bool = False
    prevalence: tuple[float, float] | None = None

    def concentration(self, cm: Counted) -> Array:
        """Return the pseudo-counts for a matrix or outcomes, a read-only array with the shape of their cells."""
        shape = cm.cells.shape
        alpha = self.pseudo_counts(len(cm.labels), cm.positive, *([1] if cm.graded else []))
        if cm.graded and np.shape(alpha) == shape[-1:]:
            alpha = np.asarray(alpha)[None]
        if isinstance(alpha, xr.DataArray):
            alpha = _aligned(alpha, cm)
        elif np.ndim(alpha) and np.shape(alpha) != shape[-2:]:
            raise InputError("prior", f"its pseudo-counts have shape {np.shape(alpha)}; the matrix {shape[-2:]}.")
        return np.broadcast_to(np.asarray(alpha, dtype=float), shape)

    def describe(self, cm: Counted) -> str:
        """Return a description of the prior, with its total weight."""
        if self.rates:
            a, b = self.rates
            return f"Beta({a:g}, {b:g}) on each rate (total weight {a + b:g} a rate)"
        if self.shared_by_classes:
            return _SHARED_TEXT
        if self.prevalence:
            return self._by_rate()
        alpha = self.concentration(cm)
        totals = alpha.sum((-2, -1))
        low, high, least = float(totals.min()), float(totals.max()), float(alpha.min())
        total = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        cells = alpha.shape[-2] * alpha.shape[-1]
        what = "outcomes" if cm.graded else "cells"
        each = f"{least:.3g} in each of {cells} {what}, " if least == float(alpha.max()) else ""
        return f"{_POSSESSIVES.get(self.name, self.name)} Dirichlet ({each}total weight {total})"

    def totals(self, cm: Counted) -> xr.DataArray | None:
        """Return the weights (actual) of the class proportions, if they differ from the weights of the rows."""
        if self.prevalence is None:
            return None
        share = self.prevalence if cm.positive == 0 else self.prevalence[::-1]
        return xr.DataArray(np.array(share), {"actual": cm.labels}, ("actual",))

    @property
    def says_prevalence(self) -> bool:
        """Whether it has a belief about the prevalence, apart from recall and specificity."""
        return self.prevalence not in (None, _BY_RATE["prevalence"])

    def betas(self) -> dict[str, tuple[float, float]]:
        """Return the parameters of the prior's Beta for each proportion of two classes.

        For more classes only the accuracy is returned, for grades nothing. Proportions of cells without weight are
        omitted.

        Raises
        ------
        ValueError
            If the prior has no pseudo-counts in cells (`rate`, `shared`), or differs between leading dims.
        """
        if self.rates or self.shared_by_classes:
            raise InputError(
                "prior", f"{self!r} has no Betas of single shares.", "Plot it, or describe it by its repr."
            )
        alpha = self._weights()
        if alpha.ndim == 1:
            return {}
        if alpha.ndim > 2:
            raise InputError("prior", "it differs between leading dims.", "Ask of the prior of one of them.")
        table = np.broadcast_to(alpha, (2, 2)) if alpha.ndim == 0 else alpha
        if len(table) > 2:
            return {"accuracy": (float(np.trace(table)), float(table.sum() - np.trace(table)))}
        cells = dict(zip(("tn", "fp", "fn", "tp"), table.ravel().tolist(), strict=True))
        betas = {name: tuple(sum(cells[cell] for cell in side) for side in sides) for name, sides in _SHARES.items()}
        if self.prevalence:
            betas = {name: betas[name] for name in ("recall", "specificity")} | {"prevalence": self.prevalence}
        return {name: (a, b) for name, (a, b) in betas.items() if a > 0 and b > 0}

    def _weights(self) -> Array:
        """Return the pseudo-counts of classes in the order of their labels, also if a DataArray has another order."""
        alpha = self.pseudo_counts(2, 1)
        if isinstance(alpha, xr.DataArray) and set(alpha.dims) == set(CELL_DIMS):
            alpha = alpha.transpose(*CELL_DIMS).sortby(list(CELL_DIMS))
        return np.asarray(alpha, float)

    def _by_rate(self) -> str:
        each = ", ".join(f"{name} ~ Beta({a:.3g}, {b:.3g})" for name, (a, b) in self.betas().items())
        return f"{each}, independent of each other"

    def in_words(self, ci_prob: float = 0.95) -> str:
        """Return a sentence on what the prior says before any example.

        Parameters
        ----------
        ci_prob : float
            Probability of the highest-density intervals.

        Examples
        --------
        >>> import bayesperf as bp
        >>> prior = bp.prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=50)
        >>> print(prior.in_words())
        Before any example: recall 0.650 (95 % HDI 0.468–0.826), specificity 0.548 (95 % HDI 0.355–0.738), prevalence \
        0.511 (95 % HDI 0.374–0.647), precision 0.600 (95 % HDI 0.421–0.776) and accuracy 0.600 (95 % HDI \
        0.465–0.733). Prior: elicited Dirichlet (tp 16.6, fn 8.94, fp 11.1, tn 13.4; total weight 50).
        """
        probability("ci_prob", ci_prob)
        betas = {} if self.rates or self.shared_by_classes else self.betas()
        said = [_estimate(name, Beta(*np.reshape(beta, (2, 1, 1))), ci_prob) for name, beta in betas.items()]
        return f"{f'Before any example: {enumerated(said)}. ' if said else ''}Prior: {self._text()}."

    def plot(
        self, metrics: str | Metric | Sequence[str | Metric] | None = None, cm: ConfusionMatrix | None = None,
        **options: Any,
    ) -> Figure:  # fmt: skip
        """Plot the density of each metric before any example.

        Parameters
        ----------
        metrics : str, Metric or sequence of these, optional
            By default recall, specificity, precision and prevalence for two classes, else the metrics of a summary.
        cm : ConfusionMatrix, optional
            The matrix whose classes the prior is for; by default two classes, or the number of classes for which the
            prior has weights.
        **options
            The options ``ci_prob``, ``ci_kind`` and ``ax``, as in `bayesperf.plots.density`.
        """
        from bayesperf import plots

        return plots.prior(self, metrics, cm, **options)

    def __repr__(self) -> str:
        return f"<bayesperf.prior.Prior: {self._text()}>"

    def _text(self) -> str:
        """Return the prior with its numbers, for any number of classes."""
        if self.rates or self.shared_by_classes or self.prevalence:
            return self.describe(_no_counts())
        named = f"{_POSSESSIVES.get(self.name, self.name)} Dirichlet"
        if self.name == "perks":
            return f"{named} (1 in all cells together)"
        alpha = self._weights()
        if alpha.ndim == 0:
            return f"{named} ({alpha:g} in each cell)"
        if self.name == "elicited":
            cells = ", ".join(
                f"{cell} {alpha[place]:.3g}" for cell, place in zip(("tp", "fn", "fp", "tn"), _PLACES, strict=True)
            )
            return f"{named} ({cells}; total weight {alpha.sum():g})"
        return f"{named} (pseudo-counts {np.round(alpha, 3).tolist()})"


def flat() -> Prior:
    """Return the flat prior: one pseudo-example in every cell, uniform over matrices of cell probabilities."""
    return Prior("flat", applied(in_every_cell, IN_EVERY_CELL["flat"]))


def jeffreys() -> Prior:
    """Return Jeffreys' prior: half a pseudo-example in every cell.

    This is the default for two classes: recall, precision and specificity have Beta(½, ½), and accuracy Beta(1, 1).
    """
    return Prior("jeffreys", applied(in_every_cell, IN_EVERY_CELL["jeffreys"]))


def perks() -> Prior:
    """Return Perks' prior: one pseudo-example in total, spread evenly over the K² cells.

    This is the default for more than two classes if a Dirichlet prior is needed: for systems evaluated on the same
    examples, and for plans. Otherwise the default is `shared`.

    References
    ----------
    Perks (1947), Some observations on inverse probability including a new indifference rule, Journal of the Institute
    of Actuaries 73, 285–334.

    Examples
    --------
    >>> from bayesperf import prior
    >>> prior.perks()
    <bayesperf.prior.Prior: Perks' Dirichlet (1 in all cells together)>
    """
    return Prior("perks", applied(one_in_all))


def haldane() -> Prior:
    """Return Haldane's prior, which has no pseudo-examples.

    The posterior is improper if a cell is empty; metrics that need that cell then raise.
    """
    return Prior("haldane", applied(in_every_cell, IN_EVERY_CELL["haldane"]))


def shared() -> Prior:
    """Return the prior that the classes share: how well they are recognised on average, and how much they differ.

    This is the default for more than two classes. No single Dirichlet prior suits many classes: with one pseudo-example
    per cell, K − 1 of the K in each row are errors, which drags good systems down; with one in total, a class with 5 of
    5 examples right is believed to be right nearly always. Under this prior each class borrows information from the
    others.

    Notes
    -----
    The proportions of the classes have a flat Dirichlet prior. The recall of class i is r_i ~ Beta(κm_i, κ(1 − m_i)),
    logit m_i = logit m + βs_i, where s_i is the log of the number of its examples (plus one), minus its mean over the
    classes: rare classes may be harder, or easier. The data of all classes inform a mean m ~ U(0, 1), the slope β ~
    N(0, 1), and a dispersion ρ = 1/(1 + κ) ~ Beta(1, 3). If the classes are equally large, the slope drops out. The
    errors of a class are spread over the others by q_i ~ Dirichlet(ηg). The weights (over the other classes, rescaled
    to sum to η) are proportional to how popular each class is among errors, g ~ Dirichlet(0.4, …, 0.4). How much errors
    clump, 1/(1 + η) ~ U(0, 1), is estimated as well.

    The model assumes that the logit of the mean recall is linear in the log size. If it is not, for example if two rare
    classes do not work at all, the interval of such a class leans towards the others (see the page "How often each
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
    alpha : float, array-like (K, K), array-like (G,) or xarray.DataArray
        Non-negative pseudo-counts, with actual classes in rows and predicted classes in columns, in the order of the
        labels; or one for each of G grades. A DataArray may also have leading dims of the counts (a different prior for
        each model).

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
    if not isinstance(alpha, xr.DataArray) and values.ndim > 2:
        raise InputError(
            "alpha", f"must be a number or (K, K); its shape is {values.shape}.", "Name more dims in a DataArray."
        )
    return Prior("your", applied(in_every_cell, weights))


# What is known of a quantity: what is expected of it, or an interval and its probability.
type Belief = float | tuple[float, float, float]


@checked
def elicited(
    *,
    recall: Belief | None = None,
    specificity: Belief | None = None,
    prevalence: Belief | None = None,
    precision: Belief | None = None,
    accuracy: Belief | None = None,
    weight: float | None = None,
) -> Prior:
    """Return a prior for two classes that expresses what you know about their rates.

    Parameters
    ----------
    recall, specificity, prevalence, precision, accuracy : float or tuple of three float, optional
        Values strictly between 0 and 1: a guess, which needs a `weight`, or an interval ``(lower, upper, prob)``. For
        example, ``(0.75, 0.95, 0.9)`` says that the recall is between 0.75 and 0.95 with 90 % probability, and as
        likely below as above.
    weight : float, optional
        The number of examples that the guesses are worth. Three guesses describe a whole test set of that size. One or
        two of recall, specificity and prevalence have that weight each, in examples of their denominator (for recall,
        positive examples).

    Returns
    -------
    Prior
        With three guesses it is a Dirichlet prior. Otherwise recall, specificity and prevalence have independent Betas,
        which do not form a Dirichlet unless the weights happen to fit: in a Dirichlet the examples behind recall and
        specificity would also determine the prevalence. `bayesperf.posterior` treats this prior exactly; functions that
        need a Dirichlet refuse it.

    Raises
    ------
    ValueError
        If a value is not between 0 and 1, no matrix has the three values, or precision or accuracy come with intervals
        or with fewer than three guesses. (They are functions of recall, specificity and prevalence, and do not say how
        well each of these is known.)

    Notes
    -----
    Three guesses and the sum 1 are four linear equations in the proportions of the four cells. For precision, recall
    and accuracy see Caelen (2017), A Bayesian interpretation of the confusion matrix, eq. 8 (where recall is printed
    with false positives in its denominator; it is TP/(TP + FN)).

    The Beta for an interval has probability (1 − prob)/2 below it and the same above it. The Beta for a guess g has the
    parameters gw and (1 − g)w. Recall and specificity have Jeffreys' prior Beta(½, ½) if they are not given, and the
    prevalence has Beta(1, 1).

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.prior.elicited(recall=(0.75, 0.95, 0.9), prevalence=(0.05, 0.2, 0.95))
    <bayesperf.prior.Prior: recall ~ Beta(25.8, 4.05), specificity ~ Beta(0.5, 0.5), prevalence ~ Beta(7.59, 59), \
    independent of each other>
    >>> belief = bp.prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=1)
    >>> belief.pseudo_counts(2, 1).round(7)
    array([[0.2680851, 0.2212766], [0.1787234, 0.3319149]])
    """
    every = {"recall": recall, "specificity": specificity, "prevalence": prevalence, "precision": precision,
             "accuracy": accuracy}  # fmt: skip
    known = {name: _belief(name, value) for name, value in every.items() if value is not None}
    guesses = {name: value for name, value in known.items() if isinstance(value, float)}
    if not known:
        raise InputError("", "elicited() was told nothing.", "Say what is known, as recall=(0.75, 0.95, 0.9).")
    _check_weight(weight, needed=bool(guesses))
    if len(guesses) == len(known) >= 3:
        return _of_guesses(guesses, float(weight or 0))
    if beyond := [name for name in known if name not in _BY_RATE]:
        raise InputError(
            beyond[0],
            "is a function of recall, specificity and prevalence; an interval of it, or fewer than three guesses, "
            "leave open what each of these is.",
            "Give three guesses and a weight; or intervals of recall, specificity and prevalence, and see in "
            f"prior.plot({beyond[0]!r}) what they say of it.",
        )
    betas = {name: _beta_of(name, known[name], weight) if name in known else beta for name, beta in _BY_RATE.items()}
    (a, b), (c, d) = betas["recall"], betas["specificity"]
    return Prior("elicited", applied(binary_table, np.array([[c, d], [b, a]])), prevalence=betas["prevalence"])


def _belief(name: str, value: Any) -> float | tuple[float, float, float]:
    """Return a guess, or the ends and the probability of an interval."""
    parts = value if isinstance(value, tuple) else (value,)
    if len(parts) not in (1, 3):
        raise InputError(name, f"must be a guess or (lower, upper, prob); it is {value!r}.")
    for part in parts:
        if not 0 < number(name, part) < 1:
            raise InputError(
                name,
                f"must be between 0 and 1, both excluded; it is {value!r}.",
                *(["Of a bound give a guess and a weight."] if len(parts) == 3 else []),
            )
    if len(parts) == 1:
        return float(value)
    lower, upper, prob = map(float, parts)
    if lower >= upper:
        raise InputError(name, f"the interval must be (lower, upper, prob); it is {value!r}.")
    return lower, upper, prob


def _check_weight(weight: float | None, needed: bool) -> None:
    if needed and weight is None:
        raise InputError("weight", "a guess needs one.", "Say how many examples it is worth, as weight=50.")
    if weight is not None and not needed:
        raise InputError("weight", "an interval says itself how sure it is.", "Leave `weight` out.")
    if weight is not None and not 0 < number("weight", weight) < np.inf:
        raise InputError("weight", f"must be greater than 0; it is {weight}.")


def _beta_of(name: str, belief: Any, weight: float | None) -> tuple[float, float]:
    """Return a and b of the belief about a quantity."""
    if isinstance(belief, tuple):
        return beta_of_interval(name, *belief)
    assert weight is not None
    return weight * belief, weight - weight * belief


def _of_guesses(guesses: Mapping[str, float], weight: float) -> Prior:
    """Return the Dirichlet worth n examples that has the three values."""
    said = " and ".join(", ".join(f"{name} {value}" for name, value in guesses.items()).rsplit(", ", 1))
    if len(guesses) > 3:
        raise InputError("", f"three values make the matrix, and these are {len(guesses)}: {said}.", "Leave one out.")
    cells = ("tp", "fn", "fp", "tn")
    equations = [
        [(1 - value) * (cell in success) - value * (cell in failure) for cell in cells]
        for (success, failure), value in ((_SHARES[name], value) for name, value in guesses.items())
    ]
    matrix = np.array([*equations, [1.0] * 4])
    if np.linalg.cond(matrix) > 1e12:
        raise InputError("", f"{said} leave the matrix open.", "Give another of the values in place of one.")
    shares = dict(zip(cells, np.linalg.solve(matrix, [0, 0, 0, 1]).tolist(), strict=True))
    if (least := min(shares, key=shares.__getitem__)) and shares[least] <= 0:
        raise InputError(
            "", f"no matrix has {said}: {least} would be a share of {shares[least]:.3g}.", "Change one of them."
        )
    tp, fn, fp, tn = (weight * share for share in shares.values())
    return Prior("elicited", applied(binary_table, np.array([[tn, fp], [fn, tp]])))


@checked
def rate(a: float, b: float) -> Prior:
    """Return a Beta(a, b) prior on each rate directly, whichever cells it is computed from.

    This is the convention of Goutte & Gaussier (2005) and of bob.measure. It agrees with a Dirichlet prior for
    precision, recall and specificity and differs for other rates (accuracy, Jaccard). It is not derived from a prior of
    the whole matrix, so anything that needs the whole matrix (MCC, draws, prediction) raises. Beta(a, b) applies to
    rates whose greater values are better; for their complements, such as fpr, the prior is Beta(b, a).

    Notes
    -----
    F1 and the Jaccard index are functions of each other, F1 = 2J/(1 + J), but not under this prior. Goutte & Gaussier
    derive F1 from precision and recall, with priors that follow from independent gamma variables in tp, fp and fn with
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


# The Betas of rates of two classes of which nothing is known: what Jeffreys' prior says of them.
_BY_RATE = {"recall": (0.5, 0.5), "specificity": (0.5, 0.5), "prevalence": (1.0, 1.0)}
# The cells of each share: its successes and its failures.
_SHARES = {
    "recall": (("tp",), ("fn",)),
    "specificity": (("tn",), ("fp",)),
    "prevalence": (("tp", "fn"), ("fp", "tn")),
    "precision": (("tp",), ("fp",)),
    "accuracy": (("tp", "tn"), ("fn", "fp")),
}
_PLACES = ((1, 1), (1, 0), (0, 1), (0, 0))
# How a sentence names a prior that is named after a person.
_POSSESSIVES = {"jeffreys": "Jeffreys'", "perks": "Perks'", "haldane": "Haldane's"}
_SHARED_TEXT = (
    "shared by the classes (recalls ~ Beta of mean m ~ U(0, 1) and dispersion ρ ~ Beta(1, 3); the logit of the mean "
    "has a slope ~ N(0, 1) on the log size of a class; errors spread by the popularity of each class among errors "
    "~ Dirichlet(0.4), and clumped ~ U(0, 1); shares of the classes ~ Dirichlet(1))"
)


def _no_counts() -> ConfusionMatrix:
    """Return counts of two classes without examples, for which a prior of any number of classes can be described."""
    return ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0)


def _estimate(name: str, beta: Beta, ci_prob: float) -> str:
    """Return a proportion and its expected value, such as "recall 0.65 (95 % HDI 0.47–0.83)"."""
    mean, ((low, high),) = beta.mean_sd()[0].item(), beta.hdi(ci_prob)
    return f"{name} {estimate(mean, low, high, ci_prob, 'hdi', '')}"


@by_name
def not_dirichlet(classes: int, positive: int | None, rows: int | None = None) -> Any:
    raise InputError(
        "prior", "'shared' has no pseudo-counts, which are needed here.", "Use a Dirichlet prior, as 'perks'."
    )


@by_name
def in_every_cell(weights: Any, classes: int, positive: int | None, rows: int | None = None) -> Any:
    return weights


@by_name
def one_in_all(classes: int, positive: int | None, rows: int | None = None) -> float:
    return 1 / (classes * (rows or classes))


@by_name
def binary_table(table: Array, classes: int, positive: int | None, rows: int | None = None) -> Array:
    if classes != 2 or positive is None:
        raise InputError("prior", "elicited() is for a binary matrix with a pos_label.")
    return table if positive == 1 else table[::-1, ::-1]


PRESETS = {preset.__name__: preset for preset in (flat, jeffreys, perks, haldane, shared)}


# What a distribution of PyMC or PreliZ is for, and how its Beta is said here.
OF_A_FIT = (
    "Distributions of PyMC and PreliZ are priors of bayesperf.fit, as fit(cm, 'rates', priors={'recall': "
    "pm.Beta.dist(9, 1)}). Here, write prior.elicited(recall=0.9, weight=10) for Beta(9, 1), or "
    "prior.elicited(recall=(0.75, 0.95, 0.9)) for 90 % between 0.75 and 0.95."
)


def _of_a_fit(prior: Any) -> bool:
    """Whether a prior is a distribution of PyMC or PreliZ, or a mapping of them."""
    each = prior.values() if isinstance(prior, Mapping) else [prior]
    return any(hasattr(one, "owner") or hasattr(one, "to_pymc") for one in each)


def resolve(prior: str | Prior | None, classes: int) -> Prior:
    """Return the prior specified by a `Prior`, a name, or None for the default for a number of classes."""
    if isinstance(prior, Prior):
        return prior
    if prior is None:
        return jeffreys() if classes == 2 else shared()
    if not isinstance(prior, str) or prior not in PRESETS:
        raise InputError(
            "prior",
            f"must be one of {', '.join(PRESETS)}, or a bayesperf.prior.Prior; it is {prior!r}.",
            OF_A_FIT if _of_a_fit(prior) else "",
        )
    return PRESETS[prior]()


def resolve_for(prior: str | Prior | None, cm: Counted) -> Prior:
    """Return the prior as `resolve` does, for counts; outcomes have a Dirichlet prior, by default Perks' for grades."""
    return (
        resolve_dirichlet(prior, len(cm.labels), "outcomes", rates=True)
        if cm.graded
        else resolve(prior, len(cm.labels))
    )


def resolve_dirichlet(
    prior: str | Prior | None, classes: int, what: str, *, rates: bool = False, shared: bool = False
) -> Prior:
    """Return the prior as `resolve` does, if pseudo-counts are needed: by default Perks' for many classes.

    Raises
    ------
    ValueError
        If the prior is `shared`, or a prior of rates, and `what` cannot use it.
    """
    resolved = perks() if prior is None and classes > 2 and not shared else resolve(prior, classes)
    if resolved.shared_by_classes and not shared:
        raise InputError("prior", f"'shared' is not available for {what}.", "Use a Dirichlet prior, as 'perks'.")
    if resolved.prevalence:
        raise InputError(
            "prior",
            f"one of rates that are independent of each other ({resolved.describe(_no_counts())}) is no Dirichlet, "
            f"which {what} need.",
            "Use a Dirichlet prior: elicited() of three guesses and a weight, or 'flat'.",
        )
    if resolved.rates and not rates:
        raise InputError(
            "prior",
            f"a rate prior says nothing of the whole matrix, which {what} need.",
            "Use a Dirichlet prior, as 'flat'.",
        )
    return resolved


def _aligned(alpha: xr.DataArray, cm: Counted) -> Array:
    """Return pseudo-counts along the axes of counts, with length 1 along the dims that they lack."""
    if cm.graded and "outcome" in alpha.dims:
        alpha = alpha.rename(outcome="predicted").expand_dims(actual=[ALL])
    counts = cm.cells
    extra = set(alpha.dims) - set(counts.dims)
    if extra or not {"actual", "predicted"} <= set(alpha.dims):
        raise InputError("prior", f"dims {alpha.dims} must be actual, predicted and leading dims of {counts.dims}.")
    for dim in alpha.dims:
        if dim in alpha.coords and not set(counts[dim].values.tolist()) <= set(alpha[dim].values.tolist()):
            raise InputError("prior", f"it has no pseudo-counts for some {dim} of the counts.")
        if dim not in alpha.coords and alpha.sizes[dim] != counts.sizes[dim]:
            raise InputError("prior", f"{alpha.sizes[dim]} along {dim} for {counts.sizes[dim]} of the counts.")
    named = alpha.assign_coords({dim: counts[dim] for dim in alpha.dims if dim not in alpha.coords})
    aligned = named.reindex({dim: counts[dim].values for dim in alpha.dims})
    missing = {dim: 1 for dim in counts.dims if dim not in alpha.dims}
    return np.asarray(aligned.expand_dims(missing).transpose(*counts.dims).values, float)
