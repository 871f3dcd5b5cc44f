"""ROC, precision–recall and DET curves, with bands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesperf import prior as priors
from bayesperf.core import checks
from bayesperf.counts.scores import Scores
from bayesperf.curves.roc.curve import METHODS, Curve
from bayesperf.curves.roc.kinds import DET, PRECISION_RECALL, ROC, Shape

__all__ = ["Curve", "det_curve", "precision_recall_curve", "roc_curve"]


def roc_curve(
    y_true: Any,
    y_score: ArrayLike,
    *,
    method: str = "bayesian_bootstrap",
    pos_label: Any = None,
    draws: int = 1000,
    prior: str | priors.Prior | None = None,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Curve:
    """Return the ROC curve: recall over the false positive rate, as the threshold falls.

    Parameters
    ----------
    y_true : array-like (n,)
        Labels of two classes.
    y_score : array-like (n,)
        Scores; what scores at least the threshold is called positive.
    method : {"bayesian_bootstrap", "beta", "binormal"}
        What the band is by. "bayesian_bootstrap" supposes nothing of the scores: Dirichlet(1) weights in each class.
        "beta" takes every threshold by itself: the posterior of each rate from the counts there. "binormal" supposes
        scores that are normal in either class: the model ``binormal_roc`` with its default priors.
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
    draws : int
        How many curves are drawn.
    prior : str or Prior, optional
        Of method "beta", as in `bayesperf.posterior`; by default flat.
    random_seed : int or numpy.random.Generator
        Seed of the draws.
    progressbar : bool
        Shown on a terminal only, and if it takes long.

    Returns
    -------
    Curve
        Its points are those of scikit-learn with ``drop_intermediate=False``: (0, 0) at threshold inf, then one for
        every distinct score.

    Raises
    ------
    ValueError
        If there are not two classes, or scores are missing or inf; if an option is not of its kind.

    References
    ----------
    Gu, Ghosal & Roy (2008), Bayesian bootstrap estimation of ROC curve, Statistics in Medicine 27.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.roc_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
    >>> curve.dataset["recall"].values
    array([0.  , 0.25, 0.5 , 0.5 , 0.75, 0.75, 0.75, 1.  , 1.  ])
    >>> curve.band()["recall"].sel(fpr=0.5).round(2).values
    array([0.26, 0.98])
    """
    return _curve(ROC, y_true, y_score, method, pos_label, draws, prior, random_seed, progressbar)


def precision_recall_curve(
    y_true: Any,
    y_score: ArrayLike,
    *,
    method: str = "bayesian_bootstrap",
    pos_label: Any = None,
    draws: int = 1000,
    prior: str | priors.Prior | None = None,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Curve:
    """Return the precision–recall curve: precision over recall, as the threshold falls.

    Between two points the counts change evenly, and precision not along a straight line: the band does so (Davis &
    Goadrich 2006). The area is the average precision, a sum of steps. In the draws the share of positives varies as the
    examples let it: Beta(positives, negatives).

    Parameters
    ----------
    y_true, y_score, method, pos_label, draws, prior, random_seed, progressbar
        As in `roc_curve`.

    Returns
    -------
    Curve
        Its points are those of scikit-learn, the other way round: (0, 1) at threshold inf, then one for every distinct
        score.

    Raises
    ------
    ValueError
        As `roc_curve`.

    References
    ----------
    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves, ICML.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.precision_recall_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
    >>> curve.dataset["precision"].round(2).values
    array([1.  , 1.  , 1.  , 0.67, 0.75, 0.6 , 0.5 , 0.57, 0.5 ])
    """
    return _curve(PRECISION_RECALL, y_true, y_score, method, pos_label, draws, prior, random_seed, progressbar)


def det_curve(
    y_true: Any,
    y_score: ArrayLike,
    *,
    method: str = "bayesian_bootstrap",
    pos_label: Any = None,
    draws: int = 1000,
    prior: str | priors.Prior | None = None,
    random_seed: Any = 0,
    progressbar: bool = True,
) -> Curve:
    """Return the detection error tradeoff: the false negative rate over the false positive rate.

    It is drawn on axes of normal deviates, on which normal scores give a straight line.

    Parameters
    ----------
    y_true, y_score, method, pos_label, draws, prior, random_seed, progressbar
        As in `roc_curve`.

    Returns
    -------
    Curve
        Its points are those of scikit-learn, the other way round: from the last threshold without a false positive,
        which may be inf, to the first without a false negative.

    Raises
    ------
    ValueError
        As `roc_curve`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.det_curve([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7])
    >>> curve.dataset["fnr"].values
    array([0.5 , 0.5 , 0.25, 0.25, 0.25, 0.  ])
    """
    return _curve(DET, y_true, y_score, method, pos_label, draws, prior, random_seed, progressbar)


def _curve(
    shape: Shape,
    y_true: Any,
    y_score: ArrayLike,
    method: str,
    pos_label: Any,
    draws: int,
    prior: str | priors.Prior | None,
    random_seed: Any,
    progressbar: bool,
) -> Curve:
    checks.one_of("method", method, METHODS)
    if method != "beta" and prior is not None:
        raise ValueError(f"prior is of method='beta'; method={method!r} takes none.")
    priors.resolve(prior, 2)
    scores = Scores.of(y_true, y_score, pos_label)
    if max(scores.positive[-1], scores.negative[-1]) == np.inf:
        raise ValueError(
            "y_score holds inf, which as a threshold means that nothing is called positive: put a number above all "
            "others in its place."
        )
    return Curve(
        shape, scores, method, prior, checks.count("draws", draws, least=2), checks.seed(random_seed), progressbar
    )
