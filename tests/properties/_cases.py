"""Cases for the properties that hold of any valid input, and the checks of what a function returns of them."""

import copy
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import bayesperf as bp

# Ours, beside plain `UserWarning`s that name the line of the caller.
OURS = (bp.errors.DependenceWarning, bp.errors.ConvergenceWarning, bp.errors.PriorWarning, bp.errors.LabelWarning)
# Messages that say why a figure cannot be had of a valid input.
REFUSALS = (
    "improper",
    "by_actual",
    "puts no weight",
    "prior of the whole matrix",
    "neither examples nor prior weight",
    "undefined (0/0)",
    "its denominator is 0",
    "is infinite in",
    "in every draw",
    "all right or all wrong",
    "does not vary within either class",
    "million",
    "a variance of 0",
)


def properties(examples):
    """Settings of a property: the same cases in each run, and no search for smaller ones, which takes long."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )


# ── Inputs ──

COUNTS = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5, 10, 50, 1000, 10**6, 10**9]) | st.integers(0, 20)
PROBS = st.sampled_from([0.5, 0.9, 0.95, 0.999])
WEIGHTS = st.sampled_from([1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.25, 0.5, 1.0, 2.5, 50.0, 1e6, 1e12])
SEEDS = st.integers(0, 2**31 - 1)


@st.composite
def matrices(draw, classes=(2, 3, 5), dim="model", leading=(0, 2), some=False):
    """Confusion matrices, alone or along a dim; with `some`, none without examples."""
    size, count = draw(st.sampled_from(classes)), draw(st.sampled_from(leading))
    shape = (count,) * bool(count) + (size, size)
    cells = draw(st.lists(COUNTS, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    table = np.reshape(cells, shape)
    if some:
        table[..., 0, 0] += table.sum((-2, -1)) == 0
    return bp.ConfusionMatrix.from_table(
        table, labels=range(size), pos_label=1 if size == 2 else None, dims=[dim] * bool(count)
    )


def priors(classes, dirichlet=False):
    """Priors by name and by number; with `dirichlet`, those that any function takes."""
    named = st.sampled_from(["flat", "jeffreys", "perks"] if dirichlet else [*bp.prior.PRESETS, None])
    uneven = st.lists(WEIGHTS, min_size=classes**2, max_size=classes**2).map(lambda w: np.reshape(w, (classes,) * 2))
    numbers = (WEIGHTS | uneven).map(bp.prior.dirichlet)
    rates = st.builds(bp.prior.rate, WEIGHTS, WEIGHTS)
    return named | numbers if dirichlet else named | numbers | rates


def prevalences(classes):
    """Prevalences in all their forms, from extreme to ordinary."""
    if classes == 2:
        return (
            st.sampled_from([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9])
            | st.tuples(WEIGHTS, WEIGHTS)
            | st.floats(1e-9, 0.5).map(lambda p: {0: 1 - p, 1: p})
        )
    rare = st.sampled_from([1e-12, 1e-3, 1 / classes])
    return rare.map(lambda p: [p] * (classes - 1) + [1 - (classes - 1) * p])


@st.composite
def labelled_scores(draw, least=1, ends=(), systems=1):
    """Labels of two classes with scores of one or more systems: ties, all alike, separated, tiny, huge, infinite."""
    positives, negatives = draw(st.integers(least, 12)), draw(st.integers(least, 12))
    y = np.repeat([1, 0], [positives, negatives])
    spread = draw(st.sampled_from([0.0, 1e-300, 1e-9, 1.0, 1e6, 1e150]))
    kinds = st.integers(-2, 2).map(float) | st.floats(-3, 3, allow_subnormal=False)
    element = kinds.map(lambda x: x * spread)
    element = element | st.sampled_from(ends) if ends else element
    scores = []
    for _ in range(systems):
        score = np.array(draw(st.lists(element, min_size=len(y), max_size=len(y))))
        separation = draw(st.sampled_from([0.0, 0.0, 2.0, 10.0])) * spread
        scores.append(score + separation * y)
    return (y, *scores)


# ── Checks ──


@contextmanager
def quiet():
    """Make any warning an error, unless it is ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in OURS:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", category=UserWarning, module=r".*\b(test_\w+|_cases)$")
        yield


@contextmanager
def unchanged(*inputs):
    """Check that what happens inside changes none of the inputs, and warns only as we do."""
    before = copy.deepcopy(inputs)
    with quiet():
        yield
    for now, then in zip(inputs, before, strict=True):
        assert same(now, then), (now, then)


def same(now, then):
    match now:
        case bp.ConfusionMatrix() | bp.PairedConfusionMatrix():
            return now.counts.identical(then.counts) and now.pos_label == then.pos_label
        case xr.DataArray() | xr.Dataset():
            return now.identical(then)
        case bp.Posterior():
            return now.template.identical(then.template)
        case pd.DataFrame():
            return now.equals(then)
        case dict():
            return now.keys() == then.keys() and all(same(now[key], then[key]) for key in now)
        case bp.prior.Prior():
            return repr(now) == repr(then)
    return np.array_equal(now, then)


@contextmanager
def or_refused():
    """Let a function refuse what the data and the prior leave unknown, with an error that says so."""
    try:
        yield
    except ValueError as error:
        if not any(reason in str(error) for reason in REFUSALS):
            raise


def within(values, bounds, undefined=0.0, infinite=False):
    """Check that figures are inside the bounds and finite, or undefined where all draws are."""
    values = np.asarray(values, float)
    low, high = bounds
    missing = np.isnan(values)
    assert not (missing & (np.asarray(undefined) < 1)).any(), values
    assert (missing | ((values >= low) & (values <= high))).all(), (values, bounds)
    assert infinite or np.isinf(high) or np.isfinite(values[~missing]).all(), values


def ordered(limits, bounds, undefined=0.0):
    """Check that limits (…, 2) are in order and inside the bounds."""
    limits = np.asarray(limits, float)
    within(limits, bounds, np.asarray(undefined)[..., None])
    lower, upper = np.moveaxis(limits, -1, 0)
    assert (np.isnan(lower) | (lower <= upper)).all(), limits


def width(limits):
    """Return the widths of limits (…, 2), 0 if both are infinite."""
    lower, upper = np.moveaxis(np.asarray(limits), -1, 0)
    return np.where(lower == upper, 0, upper - np.where(lower == upper, 0, lower))


def check_marginal(marginal, prob=0.95):
    """Check every verb of a marginal."""
    bounds, undefined = marginal.bounds, marginal.undefined().values
    low, high = bounds
    # The moments of few draws of huge numbers are rounded.
    slack = (low - 1e-9 * abs(low), high + 1e-9 * abs(high)) if np.isfinite([low, high]).all() else bounds
    within(marginal.mean(), slack, undefined, infinite=True)
    within(marginal.median(), bounds, undefined)
    # Of a single defined draw there is no deviation.
    few = marginal.method == "draws" and (~np.isnan(marginal.distribution.values)).sum((1, 2)).min() < 2
    if not few:
        within(marginal.sd(), (0, np.inf), undefined)
    hdi, eti = marginal.hdi(prob).values, marginal.eti(prob).values
    ordered(hdi, bounds, undefined)
    ordered(eti, bounds, undefined)
    assert not (width(hdi) > width(eti) * (1 + 1e-9) + 1e-12).any(), (hdi, eti)
    within(marginal.shortfall(), (0, np.inf), undefined)
    for error in (marginal.mcse(), marginal.mcse_interval(prob)):
        assert few or not np.isnan(error.values[undefined < 1]).any()
    ends = np.clip([low, high], -10, 10)
    x = np.linspace(ends[0] - 0.1, ends[1] + 0.1, 9)
    cdf, sf, pdf = marginal.cdf(x).values, marginal.sf(x).values, marginal.pdf(x).values
    everywhere = undefined[..., None]
    within(cdf, (0, 1), everywhere)
    within(sf, (0, 1), everywhere)
    assert not (np.diff(cdf) < -1e-9).any(), cdf
    np.testing.assert_allclose(cdf + sf, np.where(np.isnan(cdf), np.nan, 1), atol=1e-6)
    within(pdf, (0, np.inf), everywhere)
    quantiles = marginal.ppf([0, 0.001, 0.3, 0.5, 0.7, 0.999, 1]).values
    within(quantiles, bounds, everywhere)
    assert not (quantiles[..., 1:] < quantiles[..., :-1]).any(), quantiles


def check_table(table, bounds=(-np.inf, np.inf)):
    """Check a summary: figures finite or marked as undefined, limits in order."""
    undefined = table["undefined"] if "undefined" in table else np.zeros(len(table))
    ordered(table[["ci_lower", "ci_upper"]].values, bounds, undefined)
    for column in ("mean", "median"):
        within(table[column], bounds, undefined, infinite=True)


def metrics(classes, needs=("binary", "classes", "ordered")):
    """Names of metrics for a number of classes, averages among them."""
    binary = bp.metrics.names("binary")
    averages = [f"{name}_{average}" for name in binary for average in ("macro", "micro", "weighted", "per_class")]
    whole = [name for kind in needs if kind != "binary" for name in bp.metrics.names(kind)]
    names = [*whole, *averages] if classes > 2 else [*binary, *whole, "f2", "f0.5"]
    return st.sampled_from(names) | st.sampled_from([*averages, *names]) if classes == 2 else st.sampled_from(names)
