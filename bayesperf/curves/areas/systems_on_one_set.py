"""Several systems judged on the same examples: their scores by name, and their comparison by joint draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.comparison.result import Comparison
from bayesperf.comparison.system_pair import pairs_along
from bayesperf.core import checks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.ranks import joint_draws

DIM = "model"
SAME_EXAMPLES = "systems judged on the same examples"


def scores_by_system(
    score_a: Any, score_b: Any, names: Sequence[Any], of_classes: bool = False
) -> tuple[dict[Any, Any], bool]:
    """Return the scores of each system by its name, and whether they were given so, as systems to compare in pairs.

    With `of_classes` two mappings are of the classes of two systems.
    """
    if isinstance(score_a, Mapping | pd.DataFrame) and not (of_classes and score_b is not None):
        if score_b is not None:
            raise InputTypeError("score_b", "a mapping holds all systems; leave it out.")
        keys = list(score_a.keys())
        if len(keys) < 2 or len(set(keys)) < len(keys):
            raise InputError("score_a", f"a mapping of two systems or more, of different names; they are {keys}.")
        return dict(score_a.items()), True
    if score_b is None:
        raise InputTypeError(
            "score_b", "give the scores of the second system, or a mapping of names to scores as score_a."
        )
    first, second = checks.two_names(names)
    if first == second:
        raise InputError("names", f"must be two different ones; they are {names!r}.")
    return {first: score_a, second: score_b}, False


def over_systems(names: Sequence[Any]) -> xr.DataArray:
    """Return an array of zeros along the dim of the systems."""
    return xr.DataArray(np.zeros(len(names)), {DIM: list(names)}, [DIM])


def compared(
    scores: Marginal, many: bool, rope: float, greater_is_better: bool | None, draws: int, basis: str
) -> Comparison:
    """Return the comparison of systems whose draws of a score belong together.

    Parameters
    ----------
    scores : Marginal
        Of each system, along ``model``.
    many : bool
        Whether they are compared in pairs, along ``model`` and ``model_other``.
    rope, greater_is_better, basis
        As in `Comparison`.
    draws : int
        How many there are.
    """
    pairs = pairs_along(scores, DIM, independent=False, many=many)
    return Comparison(
        difference=pairs.difference(),
        names=tuple(scores.leading[DIM].values.tolist()),
        rope=rope,
        greater_is_better=greater_is_better,
        basis=f"{basis}; {SAME_EXAMPLES}",
        dim=DIM,
        many=many,
        make_ratio=pairs.ratio,
        make_draws=partial(joint_draws, scores, DIM, draws) if many else None,
    )
