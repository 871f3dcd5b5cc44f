"""The prevalence in data that nobody labelled, from calls of a classifier, judge or test whose errors are known.

Of n examples y are called positive: y ~ Binomial(n, π·recall + (1 − π)(1 − specificity)). Recall and specificity are
known from elsewhere, and integrated out (Rogan & Gladen 1978, American Journal of Epidemiology 107; Gelman & Carpenter
2020, Applied Statistics 69).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import optimize, special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import IdentifiabilityWarning, InputError, InputTypeError, SelectionWarning, warn
from bayesperf.data.count_arrays import labelled_arrays
from bayesperf.data.cross_tabulation import count_combinations
from bayesperf.data.label_encoding import encode, encode_levels, missing_positive_label, positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.quadrature import beta_nodes, gauss_legendre, tanh_sinh
from bayesperf.distributions.tabulated import Axis, Tabulated
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.posterior_of_rates import weights_of_rate
from bayesperf.posteriors.quantity import Quantity, Scope

# Nodes of the prevalence, and of a rate: within the range that matters, and over all of it.
_NODES, _PANEL, _ALL = 129, 81, 41
# The former where a thousandth of a width does not matter.
_ROUGH, _ROUGH_PANEL = 49, 49
# Distance of logits by which the curvature at the mode is measured.
_APART = 1e-3
# Mass beyond the range over which a rate is integrated.
_TAIL = 1e-13
# The log density falls by this much from node to node at most: a spline would overshoot where it falls to nothing.
_STEEPEST = 8.0
# Calls say little of the prevalence if recall + specificity may be below this with more than the probability.
_LITTLE, _DOUBT = 1.1, 0.05
# Calls contradict the errors if so few or so many have less than this probability at any prevalence.
_CONTRADICTION = 0.001
_RATES = ("recall", "specificity")


class Calls(NamedTuple):
    """Calls of examples as they were given: labels, by other columns, or how many of `n` are positive."""

    values: Any
    n: Any
    by: Mapping[str, Any] | None
    pos_label: Any


class KnownRate(NamedTuple):
    """A rate that is known from elsewhere: a number, or a distribution with its range but for a negligible mass."""

    # The number, or the mean.
    value: float
    # Its distribution, of size 1.
    distribution: Distribution | None = None
    # Standard deviation.
    sd: float = 0.0
    # The range, and 1 − high.
    low: float = 0.0
    high: float = 1.0
    rest: float = 0.0
    # The draws that the distribution consists of.
    draws: Array | None = None
    # Number of nodes of an integral over a part of the range.
    panel: int = _PANEL

    @classmethod
    def of(cls, distribution: Distribution) -> KnownRate:
        """Return the rate with a distribution."""
        (mean,), (sd,) = distribution.mean_sd()
        if isinstance(distribution, Draws):
            return cls(mean, distribution, sd, draws=distribution.values.ravel())
        low, high = distribution.ppf(np.array([[_TAIL, 1 - _TAIL]]))[0]
        if not isinstance(distribution, Beta):
            return cls(mean, distribution, sd, low, high, 1 - high)
        rest = float(special.betaincinv(distribution.b, distribution.a, _TAIL).item())
        # A Beta whose density is infinite at an end is integrated up to it.
        low = 0.0 if distribution.a.item() < 1 else low
        rest = 0.0 if distribution.b.item() < 1 else rest
        return cls(mean, distribution, sd, low, 1 - rest, rest)

    @property
    def smoothness(self) -> float:
        """The smaller weight of a Beta, by which its density is smooth at its ends; the least of all of a number."""
        if self.distribution is None:
            return -1.0
        if isinstance(self.distribution, Beta):
            return min(self.distribution.a.item(), self.distribution.b.item())
        return 1.0

    def nodes(self) -> tuple[Array, Array]:
        """Return values and weights (nodes,) for the integral of a smooth function."""
        if self.distribution is None:
            return np.array([self.value]), np.ones(1)
        if isinstance(self.distribution, Beta):
            x, _, weights = beta_nodes(self.distribution.a, self.distribution.b, _ALL)
            return x[0], weights[0]
        levels, _, weights = gauss_legendre(_ALL)
        return self.distribution.ppf(levels[None, :])[0], weights

    def log_density(self, x: Array, rest: Array) -> Array:
        """Return the log density at x (…), given 1 − x."""
        assert self.distribution is not None
        if isinstance(self.distribution, Beta):
            a, b = self.distribution.a.item(), self.distribution.b.item()
            return np.asarray(special.xlogy(a - 1, x) + special.xlogy(b - 1, rest) - special.betaln(a, b))
        return self.distribution.logpdf(x.reshape(1, -1)).reshape(x.shape)


@checked
def prevalence(
    calls: Any,
    errors: Any,
    *,
    n: ArrayLike | None = None,
    prior: Any = "jeffreys",
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
    pooled: bool = False,
    random_seed: Any = 0,
) -> Marginal:
    """Return the posterior of the prevalence in data that nobody labelled, from calls whose errors are known.

    Parameters
    ----------
    calls : array-like (n,), or int, array-like or xarray.DataArray with `n`
        Predicted labels; or the number of examples that were called positive.
    errors : ConfusionMatrix, Posterior or mapping
        How often calls are right: counts from elsewhere, under Jeffreys' prior; of two classes also a posterior, such
        as ``bp.pool(studies, dim="study", groups="clusters").new_group`` of several studies that differ; or
        ``{"recall": …, "specificity": …}``, each a number, the weights (a, b) of a Beta distribution, or a marginal.
    n : int or array-like, optional
        Number of examples, if `calls` is a number.
    prior : str or Prior
        Prior of the prevalence: "jeffreys" (Beta(½, ½)), "flat", or `bayesperf.prior.rate`.
    pos_label : label, optional
        The positive class of predicted labels; by default that of `errors`.
    by : mapping of str to array-like (n,), optional
        Columns that become leading dims, such as ``{"month": months}``.
    pooled : bool
        Whether the months or sites of `by` share a population: their prevalences are then drawn towards each other.
    random_seed : int or numpy.random.Generator
        Seed of the draws of several classes, or of parts that are pooled.

    Returns
    -------
    Marginal
        Of two classes by quadrature. Its observed score is Rogan & Gladen's ratio, (called + specificity − 1)/(recall +
        specificity − 1), between 0 and 1, at the rates counted or the means given. Places along leading dims are
        independent, although they share the errors: intervals of differences are too wide, not too narrow. Of more
        classes, over ``label``, and of pooled parts it has joint draws of `bayesperf.fit`'s model ``prevalence``.

    Raises
    ------
    ValueError
        If there are more positive calls than examples, rates outside 0 to 1, or calls no better than chance; or if
        errors of more than two classes, or of pooled parts, are no counts, or have a prior here.

    Warns
    -----
    IdentifiabilityWarning
        If calls hardly depend on the class: recall + specificity may well be below 1.1, or an eigenvalue of the rates
        of more classes below 0.1.
    SelectionWarning
        If calls are fewer than without a positive example, or more than with positives alone.

    Notes
    -----
    That errors are the same here as elsewhere is an assumption, which data at hand can hardly check. Recall and
    specificity are independent, unless they are joint draws, whose number limits accuracy.

    References
    ----------
    Rogan & Gladen (1978), American Journal of Epidemiology 107; Gelman & Carpenter (2020), Applied Statistics 69.

    Examples
    --------
    >>> import bayesperf as bp
    >>> validated = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399)
    >>> bp.labels.prevalence(50, validated, n=3330, prior="flat").hdi().round(3).values
    array([0.002, 0.02 ])
    """
    given = Calls(calls, n, by, pos_label)
    if pooled or (isinstance(errors, ConfusionMatrix) and len(errors.labels) > 2):
        return _by_sampling(given, errors, prior, pooled, random_seed)
    known = of_two_classes(given, errors, prior)
    recall, specificity, positive, total = known.recall, known.specificity, known.positive, known.total
    y, of = (np.asarray(part, float).ravel() for part in (positive, total))
    tables = [_tabulated(k, of_k, known) for k, of_k in zip(y, of, strict=True)]
    right, wrong = _observed_rates(errors, recall, specificity, known.labels)
    score = np.clip((y / of - wrong) / (right - wrong), 0, 1)
    return Marginal(
        Quantity(
            "prevalence",
            Scope("own", detail="the prevalence in the unlabelled examples, if predictions err there as elsewhere"),
            bounds=(0.0, 1.0),
        ),
        stacked(tables),
        positive * 0.0,
        inference="Posterior",
        score=positive.copy(data=score.reshape(positive.shape)),
    )


class TwoClasses(NamedTuple):
    """Calls of two classes, and what is known about their errors."""

    # Numbers of positive calls, and of all calls, over the leading dims.
    positive: xr.DataArray
    total: xr.DataArray
    recall: KnownRate
    specificity: KnownRate
    # The classes, the positive one last, if they are known.
    labels: list[Any] | None
    # Weights of the Beta distribution of the prevalence.
    prior: tuple[float, float]


def of_two_classes(given: Calls, errors: Any, prior: Any) -> TwoClasses:
    """Return calls of two classes, checked; refuse calls that do not depend on the class."""
    recall, specificity, labels = _rates(errors, given.pos_label)
    positive, total = _counts(given, labels)
    weights = weights_of_rate(prior)
    if not min(weights) > 0:
        raise InputError(
            "prior", "'haldane' leaves no posterior if all or no examples may be positive.", "Take 'jeffreys'."
        )
    _refuse_useless(recall, specificity)
    _warn_of_contradiction(positive.values.ravel(), total.values.ravel(), recall, specificity)
    return TwoClasses(positive, total, recall, specificity, labels, weights)


def _rates(errors: Any, pos_label: Any) -> tuple[KnownRate, KnownRate, list[Any] | None]:
    """Return recall and specificity of a positive class, and the labels, the positive one last, if they are known."""
    if isinstance(errors, Mapping):
        if set(errors) != set(_RATES):
            raise InputError("errors", f"must have recall and specificity; it has {', '.join(map(str, errors))}.")
        recall, specificity = (_rate(name, errors[name]) for name in _RATES)
        return recall, specificity, None
    post = posterior(errors) if isinstance(errors, ConfusionMatrix) else errors
    if not isinstance(post, Posterior):
        raise InputTypeError(
            "errors", f"must be a ConfusionMatrix, a Posterior or a mapping; it is {type(errors).__name__}."
        )
    if post.dims:
        raise InputError(
            "errors",
            f"has the leading dims {', '.join(map(str, post.dims))}.",
            "Sum them, or pool them and take .new_group.",
        )
    recall, specificity = (KnownRate.of(post[name].distribution) for name in _RATES)
    labels = sorted(post.labels, key=lambda label: label == post.pos_label)
    if pos_label is None or pos_label == labels[-1]:
        return recall, specificity, labels
    if pos_label not in labels:
        raise InputError("pos_label", f"{pos_label!r} is none of the classes of `errors`, {labels}.")
    return specificity, recall, labels[::-1]


def _observed_rates(
    errors: Any, recall: KnownRate, specificity: KnownRate, labels: list[Any] | None
) -> tuple[float, float]:
    """Return how often positives, and negatives, are called positive: of counts as counted, NaN without examples."""
    if not isinstance(errors, ConfusionMatrix) or labels is None:
        return recall.value, 1 - specificity.value
    table = errors.counts.sel(actual=labels, predicted=labels).values.astype(float)
    with np.errstate(invalid="ignore"):
        negatives, positives = table[:, 1] / table.sum(1)
    # Calls that were no better than chance where they were counted have no ratio.
    return (positives, negatives) if positives > negatives else (np.nan, np.nan)


def _rate(name: str, known: Any) -> KnownRate:
    """Return a rate given as a number or as the weights of a Beta distribution."""
    argument = f"errors[{name!r}]"
    if isinstance(known, Marginal):
        if known.leading.size != 1:
            raise InputError(argument, f"must be of one system; its dims are {known.dims}.", "Select a coordinate.")
        if known.bounds != (0.0, 1.0):
            raise InputError(argument, f"must be a rate, from 0 to 1; it is {known.quantity.title}.")
        return KnownRate.of(known.distribution)
    if isinstance(known, tuple):
        a, b = checks.beta_weights(argument, known)
        return KnownRate.of(Beta(np.array([[a]]), np.array([[b]])))
    value = checks.number(argument, known)
    if not 0 <= value <= 1:
        raise InputError(argument, f"must be between 0 and 1; it is {value:g}.")
    return KnownRate(value)


def _counts(given: Calls, known: list[Any] | None) -> tuple[xr.DataArray, xr.DataArray]:
    """Return how many examples were called positive, and how many there are; `known` are labels, the positive last."""
    if given.n is not None:
        if given.by is not None:
            raise InputError("by", "is for predicted labels; numbers have dims of their own.", "Give DataArrays.")
        positive, total = labelled_arrays({"calls": given.values, "n": given.n}, None)
        for name, values in (("calls", positive.values), ("n", total.values)):
            checks.whole_numbers(name, np.asarray(values))
        if (positive > total).any() or (total < 1).any():
            raise InputError("calls", "more are called positive than there are examples, or there is none.")
        return positive.astype(float), total.astype(float)
    counts, pos_label = _predicted(given), given.pos_label
    labels = counts["predicted"].values.tolist()
    if known is not None:
        counts, labels, pos_label = _of_known_classes(counts, known), known, known[-1]
    elif pos_label is None:
        pos_label = positive_label(labels, None)
    if pos_label is None:
        raise missing_positive_label(labels)
    if len(labels) > 2 or (len(labels) == 2 and pos_label not in labels):
        raise InputError("calls", f"must have two classes, {pos_label!r} and another; they are {labels}.")
    called = counts.isel(predicted=[i for i, label in enumerate(labels) if label == pos_label])
    return called.sum("predicted").astype(float), counts.sum("predicted").astype(float)


def _predicted(given: Calls) -> xr.DataArray:
    """Return the counts (…, predicted) of predicted labels; refuse combinations of `by` without an example."""
    columns = {name: encode_levels(values, f"by[{name!r}]") for name, values in (given.by or {}).items()}
    columns |= {"predicted": encode(given.values, "calls")}
    names = {name: "calls" if name == "predicted" else name for name in columns}
    checks.equal_lengths({names[name]: len(each.codes) for name, each in columns.items()})
    coords = {name: each.labels for name, each in columns.items()}
    counted = count_combinations([each.codes for each in columns.values()], tuple(map(len, coords.values())))
    counts = xr.DataArray(counted, coords, list(coords))
    if not counts.sum("predicted").all():
        raise InputError("by", "some combinations have no example.", "Join the columns into one.")
    return counts


# ── More than two classes, or parts that share a population ──


def _by_sampling(given: Calls, errors: Any, prior: Any, pooled: bool, random_seed: Any) -> Marginal:
    """Return the posterior by the model ``prevalence``."""
    from bayesperf.sampling.fitting import fit

    if not isinstance(errors, ConfusionMatrix) or errors.dims:
        raise InputError(
            "errors",
            "must be one ConfusionMatrix, of more than two classes or of parts that are pooled.",
            "Sum its leading dims.",
        )
    if prior != "jeffreys":
        raise InputError(
            "prior",
            "is for two classes, each part by itself.",
            "Sample with your own prior: bp.fit(errors, 'prevalence', priors={'prevalence': …}, options={'calls': …}).",
        )
    seen = _calls_of_classes(given, errors)
    if pooled and seen.ndim == 1:
        raise InputError("pooled", "there is one part, and nothing that parts could have in common.", "Name `by`.")
    # The prevalence of a rare class moves slowly: a thousand draws of a chain are often too few.
    options = {"calls": seen, "pooled": pooled}
    tree = fit(errors, "prevalence", options=options, draws=2000, random_seed=random_seed)
    rates = tree["posterior"]["rates"].transpose("chain", "draw", "actual", "predicted").values
    _warn_of_confusion(float((np.abs(np.linalg.eigvals(rates)).min(-1) < _LITTLE - 1).mean()))
    post = Posterior.from_datatree(tree, pos_label=errors.pos_label)
    return post["prevalence" if len(errors.labels) == 2 else "prevalence_per_class"]


def _calls_of_classes(given: Calls, errors: ConfusionMatrix) -> xr.DataArray:
    """Return the counts (…, predicted) of calls in the order of the classes; a class that was never called has none."""
    labels = list(errors.labels)
    if isinstance(given.values, xr.DataArray) and "predicted" in given.values.dims:
        return given.values
    if given.n is not None:
        if len(labels) > 2:
            raise InputError(
                "n", f"a number of positive calls is of two classes, and there are {len(labels)}.", "Give labels."
            )
        positive, total = _counts(given, None)
        called = {errors.pos_label if given.pos_label is None else given.pos_label: positive}
        of_class = [called.get(label, total - positive) for label in labels]
        return xr.concat(of_class, xr.DataArray(labels, dims="predicted", name="predicted"))
    return _of_known_classes(_predicted(given), labels)


def _of_known_classes(counts: xr.DataArray, labels: list[Any]) -> xr.DataArray:
    """Return counts (…, predicted) of all classes in their order; refuse another one."""
    if unknown := [label for label in counts["predicted"].values.tolist() if label not in labels]:
        raise InputError("calls", f"{unknown[0]!r} is none of the classes of `errors`, {labels}.")
    return counts.reindex(predicted=labels, fill_value=0)


def _refuse_useless(recall: KnownRate, specificity: KnownRate) -> None:
    """Refuse calls that do not depend on the class, or the wrong way round; warn if they may hardly depend on it."""
    if (total := recall.value + specificity.value) <= 1:
        raise InputError(
            "errors",
            f"recall and specificity add up to {total:.3g}, and calls by chance add up to 1.",
            "Check which class is the positive one.",
        )
    (x, of_x), (y, of_y) = recall.nodes(), specificity.nodes()
    _warn_of_confusion(float(of_x @ (x[:, None] + y < _LITTLE) @ of_y))


def _warn_of_contradiction(y: Array, n: Array, recall: KnownRate, specificity: KnownRate) -> None:
    """Warn if fewer of n are called positive than negatives alone would be, or more than positives alone."""
    for said, wrong, rate in (("fewer", y, specificity), ("more", n - y, recall)):
        x, weights = rate.nodes()
        # P(at most so many wrong calls), if all examples are of the class.
        probability = special.betainc(np.maximum(n - wrong, _TAIL)[:, None], wrong[:, None] + 1, x) @ weights
        if (parts := int((probability < _CONTRADICTION).sum())) > 0:
            which = "" if len(y) == 1 else f"in {parts} of {len(y)} parts "
            warn(
                SelectionWarning,
                "BP602",
                f"calls: {which}{said} are positive than these errors make at any prevalence (probability below "
                f"{_CONTRADICTION:g}), so calls err otherwise here than elsewhere, and the interval is wrong.",
            )


def _warn_of_confusion(doubt: float) -> None:
    """Warn if calls may hardly depend on the class, with a probability."""
    if doubt > _DOUBT:
        warn(
            IdentifiabilityWarning,
            "BP405",
            f"errors: with probability {doubt:.0%} calls hardly depend on the class (of two classes: recall and "
            f"specificity add up to less than {_LITTLE}), and the prior decides. Validate the calls on more examples.",
        )


def _tabulated(y: float, n: float, known: TwoClasses) -> Tabulated:
    """Return the posterior of the prevalence by y positive calls of n.

    The nodes are about the mode, as dense as the curvature there demands: data and prior may be of any strength.
    """

    def log_density(logit: Array) -> Array:
        return _log_density(logit, y, n, known)

    mode = optimize.minimize_scalar(lambda logit: -log_density(np.array([logit]))[0], bounds=(-40, 40)).x
    left, middle, right = log_density(mode + _APART * np.arange(-1, 2))
    curvature = max((2 * middle - left - right) / _APART**2, 1.0)
    return _about(mode, curvature**-0.5, _NODES, y, n, known)


def tabulated_roughly(y: float, n: float, known: TwoClasses) -> Tabulated:
    """Return the posterior with intervals accurate to a thousandth of their width, in a tenth of the time.

    The nodes are about Rogan & Gladen's estimate and the prior's mean, weighted by their precision, or half a standard
    error from an end that this is nearer to.
    """
    recall, specificity = (rate._replace(panel=_ROUGH_PANEL) for rate in (known.recall, known.specificity))
    called, informed = y / n, recall.value + specificity.value - 1
    estimate = np.clip((called + specificity.value - 1) / informed, 0, 1)
    variance = called * (1 - called) / n + (estimate * recall.sd) ** 2 + ((1 - estimate) * specificity.sd) ** 2
    a, b = (np.array([[part]]) for part in known.prior)
    (mean,), (sd,) = Beta(a, b).mean_sd()
    precision = np.array([1 / max(variance / informed**2, n**-2), sd**-2])
    error = min(precision.sum() ** -0.5, 0.5)
    middle = np.clip(precision @ [estimate, mean] / precision.sum(), error / 2, 1 - error / 2)
    scale = min(error / (middle * (1 - middle)), 1.0)
    rough = known._replace(recall=recall, specificity=specificity)
    return _about(special.logit(middle), scale, _ROUGH, y, n, rough)


def _about(centre: float, scale: float, nodes: int, y: float, n: float, known: TwoClasses) -> Tabulated:
    """Return the posterior at so many nodes, which are densest at a logit."""
    a, b, middle, width = (np.array([[part]]) for part in (*known.prior, centre, scale))
    axis = Axis.of_beta(a, b, nodes, middle, width)
    return Tabulated.of(axis, _without_cliffs(_log_density(axis.nodes(nodes)[0][0], y, n, known))[None, :])


def _log_density(logit: Array, y: float, n: float, known: TwoClasses) -> Array:
    """Return the log density of the logit of the prevalence, up to a constant."""
    a, b = known.prior
    prior = a * special.log_expit(logit) + b * special.log_expit(-logit)
    return np.asarray(prior + _log_likelihood(logit, y, n, known.recall, known.specificity))


def _without_cliffs(log_density: Array) -> Array:
    """Return a log density at nodes that falls from any node to the next by `_STEEPEST` at most.

    With very many calls it falls to nothing where a rate leaves the range over which it is integrated.
    """
    for _ in range(2):
        ramp = _STEEPEST * np.arange(len(log_density))
        log_density = (np.maximum.accumulate(log_density + ramp) - ramp)[::-1]
    return log_density


def _log_likelihood(logit: Array, y: float, n: float, recall: KnownRate, specificity: KnownRate) -> Array:
    """Return the log probability of y positive calls of n at logits (m,) of the prevalence, up to a constant.

    Within the integral over one rate is that over the other, of which the density is smoother.
    """
    p, rest = special.expit(logit), special.expit(-logit)
    if recall.draws is not None or specificity.draws is not None:
        return _mean_over_draws(p, rest, y, n, recall, specificity)
    rates, shares, counts = (recall, specificity), (p, rest), (y, n - y)
    if recall.smoothness < specificity.smoothness:
        # Wrong calls of the inner class count as positive if that is the negative one.
        rates, shares, counts = rates[::-1], shares[::-1], counts[::-1]
    return _over_both(*counts, *shares, *rates)


def _mean_over_draws(p: Array, rest: Array, y: float, n: float, recall: KnownRate, specificity: KnownRate) -> Array:
    """Return the same where a rate is known by draws; two that have as many draws were drawn jointly."""
    if recall.draws is not None and specificity.draws is not None and len(recall.draws) == len(specificity.draws):
        pairs = recall.draws, specificity.draws
        weights = np.full(len(recall.draws), 1 / len(recall.draws))
    else:
        (x, of_x), (z, of_z) = recall.nodes(), specificity.nodes()
        pairs, weights = (np.repeat(x, len(z)), np.tile(z, len(x))), np.outer(of_x, of_z).ravel()
    called = p[:, None] * pairs[0] + rest[:, None] * (1 - pairs[1])
    other = p[:, None] * (1 - pairs[0]) + rest[:, None] * pairs[1]
    return np.asarray(special.logsumexp(special.xlogy(y, called) + special.xlogy(n - y, other), b=weights, axis=-1))


def _over_both(right: float, other: float, share: Array, rest: Array, inner: KnownRate, outer: KnownRate) -> Array:
    """Return the log of E[q^right (1 − q)^other], q = share·inner + rest·(1 − outer), over both rates, (m,)."""
    # The part of the outer rate's range in which an inner rate makes the counts possible: beyond, the integrand is 0.
    low_q, high_q = _possible(right, other)
    least, most = share * inner.low, share * inner.high
    if outer.distribution is None:
        x, x_rest, log_weight = np.array([outer.value]), np.array([1 - outer.value]), np.zeros(1)
    else:
        with np.errstate(divide="ignore", over="ignore"):
            bounds = 1 - (high_q - least) / rest, 1 - (low_q - most) / rest
        x, x_rest, log_weight = _panel(outer, *bounds)
    outer_class = rest[:, None] * x_rest, rest[:, None] * x
    log = _inner(right, other, share[:, None], *outer_class, inner)
    return np.asarray(special.logsumexp(log + log_weight, axis=-1))


def _inner(right: float, other: float, share: Array, wrong: Array, left: Array, rate: KnownRate) -> Array:
    """Return the log of E[q^right (1 − q)^other], q = share·rate + wrong, over a rate (arrays broadcast).

    1 − q is share·(1 − rate) + left, without a loss of digits.
    """
    share, wrong, left = np.broadcast_arrays(share, wrong, left)

    def log_likelihood(x: Array, rest: Array, share: Array, wrong: Array, left: Array) -> Array:
        return np.asarray(special.xlogy(right, share * x + wrong) + special.xlogy(other, share * rest + left))

    if rate.distribution is None:
        known = np.array(rate.value), np.array(1 - rate.value)
        return log_likelihood(*known, share, wrong, left)
    low_q, high_q = _possible(right, other)
    with np.errstate(divide="ignore", over="ignore"):
        x, rest, log_weight = _panel(rate, (low_q - wrong) / share, (high_q - wrong) / share)
    parts = (each[..., None] for each in (share, wrong, left))
    return np.asarray(special.logsumexp(log_likelihood(x, rest, *parts) + log_weight, axis=-1))


def _possible(right: float, other: float) -> tuple[float, float]:
    """Return the range of a probability in which counts are not impossible."""
    low = special.betaincinv(right + 1, other + 1, _TAIL)
    return float(low), float(1 - special.betaincinv(other + 1, right + 1, _TAIL))


def _panel(rate: KnownRate, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return values of a rate between bounds (…), 1 − values, and log weights with its density, (…, nodes)."""
    low, high = (np.clip(bound, rate.low, rate.high) for bound in (low, high))
    apart = high - low <= 0
    # Where bounds leave nothing of the range, all of it: the likelihood is negligible there.
    low, high = np.where(apart, rate.low, low), np.where(apart, rate.high, high)
    node, rest_node, weight = tanh_sinh(rate.panel, 3.0)
    length = (high - low)[..., None]
    x = low[..., None] + length * node
    rest_high = np.where(high >= rate.high, rate.rest, 1 - high)[..., None]
    rest = rest_high + length * rest_node
    return x, rest, np.log(weight * length) + rate.log_density(x, rest)


def stacked(tables: list[Tabulated]) -> Tabulated:
    """Return distributions one beneath the other."""
    axis = Axis(*(np.vstack(parts) for parts in zip(*(table.axis for table in tables), strict=True)))
    fields = ("log_density", "slope", "cumulative", "moments")
    log_density, slope, cumulative, moments = (np.vstack([getattr(table, f) for table in tables]) for f in fields)
    return Tabulated(axis, log_density, slope, cumulative, moments)
