"""The threshold that a target asks for, in every draw of a curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError

# From the false positive rates and recalls at all thresholds, (draws, T), and the prevalence, (draws, 1), to the number
# of the threshold that meets a target in each draw, (draws,).
Choice = Callable[[Array, Array, Array], Codes]


def threshold_choice(fpr: float | None, recall: float | None, cost: Any) -> tuple[str, Choice]:
    """Return a target in words, and a function that chooses the threshold that meets it."""
    options = {"fpr": fpr, "recall": recall, "cost": cost}
    targets = {name: value for name, value in options.items() if value is not None}
    if len(targets) != 1:
        got = ", ".join(targets) or "none"
        raise InputTypeError("operating_point", f"takes one target: fpr, recall or cost; it got {got}.")
    ((name, value),) = targets.items()
    return {"fpr": _greatest_fpr, "recall": _least_recall, "cost": _least_cost}[name](value)


def _greatest_fpr(target: Any) -> tuple[str, Choice]:
    """Choose the lowest threshold whose false positive rate is at most the target."""
    most = checks.probability("fpr", target)
    return f"lowest threshold with fpr ≤ {most:g}", lambda fpr, *_: (fpr <= most).sum(-1) - 1


def _least_recall(target: Any) -> tuple[str, Choice]:
    """Choose the highest threshold whose recall is at least the target."""
    least = checks.probability("recall", target)
    return f"highest threshold with recall ≥ {least:g}", lambda _, recall, __: (recall < least).sum(-1)


def _least_cost(target: Any) -> tuple[str, Choice]:
    """Choose the threshold of least mean cost, the lowest of several."""
    if not isinstance(target, tuple | list) or len(target) not in (2, 3):
        raise InputTypeError("cost", f"must be (cost_fp, cost_fn) or (cost_fp, cost_fn, prevalence); it is {target!r}.")
    of_fp, of_fn = (checks.number(name, cost) for name, cost in zip(("cost_fp", "cost_fn"), target, strict=False))
    if not (0 < of_fp < np.inf and 0 < of_fn < np.inf):
        raise InputError("cost", f"both costs must be greater than 0 and finite; they are {of_fp:g} and {of_fn:g}.")
    fixed = checks.probability("cost: the prevalence", target[2]) if len(target) == 3 else None

    def choose(fpr: Array, recall: Array, prevalence: Array) -> Codes:
        positives = prevalence if fixed is None else fixed
        mean_cost = of_fp * (1 - positives) * fpr + of_fn * positives * (1 - recall)
        return np.asarray(fpr.shape[-1] - 1 - mean_cost[:, ::-1].argmin(-1))

    at = "the observed prevalence" if fixed is None else f"prevalence {fixed:g}"
    return f"least cost, {of_fp:g} a false positive and {of_fn:g} a false negative, at {at}", choose
