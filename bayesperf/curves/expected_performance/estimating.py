"""Expected performance curves: a system's performance on new data at thresholds chosen beforehand on other data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.expected_performance.criteria import Criterion, CriterionFunction, criterion_of, grid
from bayesperf.curves.expected_performance.performance_curve import LABELS, ExpectedPerformanceCurve
from bayesperf.curves.expected_performance.system import Examples, System, by_system, systems_from
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors import prior as priors

METHODS, RESAMPLED = ("bayesian_bootstrap", "bootstrap"), ("test", "both")
# Pseudo-examples of systems on the same examples are of all their joint outcomes, two to the power of the systems.
_MOST_SYSTEMS = 10


@checked
def epc(
    dev: Any = None,
    test: Any = None,
    *,
    folds: Any = None,
    criterion: str | CriterionFunction = "far_frr",
    criterion_metrics: tuple[str, str] | None = None,
    metric: str | Metric = "hter",
    alphas: ArrayLike | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    dev_cluster: Any = None,
    method: str = "bayesian_bootstrap",
    prior: str | priors.Prior | None = None,
    resample: str = "test",
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ExpectedPerformanceCurve:
    """Return the expected performance curve of a system: a metric on the test set at thresholds chosen beforehand.

    For every α the threshold minimises a criterion on the development set. The metric there, on the test set, is what
    to expect in use. A point of a ROC curve is not: you would have to know its threshold.

    Parameters
    ----------
    dev, test : (y_true, y_score)
        The development and the test set. Examples that score at least the threshold are called positive. Several
        systems are given by name: as (y_true, {name: y_score}) for the same examples, or as {name: (y_true, y_score)}.
    folds : array-like (n,), optional
        Without a development set: the fold of each test example; all other folds choose its threshold.
    criterion : str or callable
        The criterion to minimise, with FAR the false positive and FRR the false negative rate: "far_frr", α·FAR + (1 −
        α)·FRR; "precision_recall", −(α·precision + (1 − α)·recall); "far", "frr", "precision", "recall", the distance
        of that rate from α. Without α, so that ``alphas=[0.5]`` is enough: "f1", −F1; "equal_error", abs(FAR − FRR);
        "break_even", abs(precision − recall). Or a function C(V1, V2, α) of arrays of two metrics, which returns an
        array of their shape; a threshold is not chosen where it is NaN.
    criterion_metrics : (str, str), optional
        The metrics V1 and V2 of a function; by default FAR and FRR.
    metric : str or Metric
        Any metric of a matrix of two classes.
    alphas : array-like (a,), optional
        Ascending, in [0, 1]; by default 0, 0.01, …, 1.
    cluster, dev_cluster : array-like (n,), optional
        The cluster of each test, and development, example; for systems on different examples a mapping of these.
    method : {"bayesian_bootstrap", "bootstrap"}
        Method of the draws for the bands. "bayesian_bootstrap" is the posterior: Dirichlet weights of the test examples
        and of the prior's pseudo-examples. "bootstrap" resamples test examples, as the source does.
    prior : str or Prior, optional
        Prior of the cells, as in `bayesperf.posterior`. Its pseudo-examples score −∞ or ∞, so at every single α the
        draws come from the exact posterior of that matrix. "haldane" uses the test examples alone.
    resample : {"test", "both"}
        What bands describe. "test": the system in use with these thresholds; only the test set is drawn. "both": the
        system and the choice of its thresholds: development sets of the same size are drawn too, from the posterior of
        their population, and thresholds chosen anew. With folds both come from the same drawn examples.
    pos_label, draws, random_seed, progressbar
        As in `bayesperf.roc_curve`.

    Raises
    ------
    TypeError, ValueError
        If a set is no pair, has one class only or other systems than the other, or an option is invalid.

    Notes
    -----
    Thresholds lie in the middle between two neighbouring development scores, or at ∓inf (all, or nothing, is called
    positive). If several are best, the one wins at which V1 and V2 together are best, then the one where they differ
    least, then the lowest. Drawn development sets choose among 512 candidates at most. docs/coverage.md shows how often
    bands cover. See Bengio, Mariéthoz & Keller (2005), The expected performance curve, ICML workshop on ROC analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesperf.curves import epc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> curve = epc(dev=(y, rng.normal(2 * y)), test=(y, rng.normal(2 * y)), alphas=[0.2, 0.5, 0.8])
    >>> curve.band()["half_total_error_rate"].sel(alpha=0.5).round(2).values
    array([0.15, 0.22])
    """
    if test is None:
        raise InputTypeError("test", "give the labels and scores of the test set, (y_true, y_score).")
    checks.one_of("resample", resample, RESAMPLED)
    parts = systems_from(dev, test, folds, pos_label, cluster, dev_cluster)
    chosen = criterion_of(criterion, criterion_metrics)
    return _curve(parts, test, chosen, metric, alphas, method, prior, resample, draws, random_seed, progressbar)


@checked
def epc_a_posteriori(
    test: Any,
    *,
    criterion: str | CriterionFunction = "far_frr",
    criterion_metrics: tuple[str, str] | None = None,
    metric: str | Metric = "hter",
    alphas: ArrayLike | None = None,
    pos_label: Any = None,
    cluster: Any = None,
    method: str = "bayesian_bootstrap",
    prior: str | priors.Prior | None = None,
    draws: int = 1000,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> ExpectedPerformanceCurve:
    """Return the curve for thresholds chosen a posteriori: on the test set itself, which no system in use can do.

    Like a ROC curve, it looks better than the performance to expect. It is a reference for `epc`: the distance between
    the two is the cost of choosing thresholds beforehand. Its bands describe the system with these thresholds, and do
    not allow for the choice on the same examples.

    Parameters
    ----------
    test : (y_true, y_score)
        Labels of two classes and scores; for several systems as in `epc`.
    criterion, criterion_metrics, metric, alphas, pos_label, cluster, method, prior, draws, random_seed, progressbar
        As in `epc`.

    Returns
    -------
    ExpectedPerformanceCurve
        Its `expected_performance` is the source's E[V]_post: G is (A + 1/2)/2, with A the area under FRR against FAR,
        to within 1/4n for n examples in the smaller class.

    Raises
    ------
    TypeError, ValueError
        As in `epc`.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> dev, test = ((y, rng.normal(2 * y)) for _ in range(2))
    >>> curves = bp.curves.epc_a_posteriori(test, alphas=[0.5]), bp.curves.epc(dev, test, alphas=[0.5])
    >>> [curve.dataset["half_total_error_rate"].item() for curve in curves]
    [0.12, 0.21]
    """
    tests = by_system("test", test, cluster)
    tested = {name: Examples.of(pair, "test", pos_label, ids) for name, (pair, ids) in tests.items()}
    parts = {name: System.without_folds(each, each) for name, each in tested.items()}
    chosen = criterion_of(criterion, criterion_metrics)
    return _curve(parts, test, chosen, metric, alphas, method, prior, "test", draws, random_seed, progressbar)


def _curve(
    parts: Mapping[Any, System], test: Any, criterion: Criterion, metric: str | Metric, alphas: ArrayLike | None,
    method: str, prior: str | priors.Prior | None, resample: str, draws: int, random_seed: Any, progressbar: bool,
) -> ExpectedPerformanceCurve:  # fmt: skip
    """Return the curve of systems by options, checked."""
    checks.one_of("method", method, METHODS)
    paired = not isinstance(test, Mapping)
    alpha, prior_text = _pseudo_counts(prior, method)
    if paired and alpha.any() and len(parts) > _MOST_SYSTEMS:
        raise InputError(
            "test",
            f"holds {len(parts)} systems on the same examples; {_MOST_SYSTEMS} at most are drawn together.",
            "Give fewer, or prior='haldane', which has no pseudo-examples.",
        )
    return ExpectedPerformanceCurve(
        parts=parts,
        criterion=criterion,
        metric=single_valued(metric, LABELS, 1),
        alphas=grid(alphas),
        method=method,
        prior=alpha,
        prior_text=prior_text,
        resample=resample,
        n_draws=checks.count("draws", draws, least=2),
        random_seed=checks.seed(random_seed),
        progressbar=progressbar,
        paired=paired,
    )


def _pseudo_counts(prior: str | priors.Prior | None, method: str) -> tuple[Array, str]:
    """Return the prior's pseudo-counts (actual, predicted), and the prior in words; a bootstrap has none."""
    if method == "bootstrap":
        checks.none_given("applies to method='bayesian_bootstrap' only.", prior=prior)
        return np.zeros((2, 2)), "none (examples resampled)"
    dirichlet = priors.resolve_dirichlet(prior, 2, "expected performance curves")
    binary = ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0)
    return dirichlet.concentration(binary), dirichlet.describe(binary)
