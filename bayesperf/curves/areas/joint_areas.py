"""Areas under the ROC curves of systems judged on the same examples, which are joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans
from bayesperf.core.errors import warn
from bayesperf.core.words import listed
from bayesperf.curves.areas.area_marginals import (
    INFERENCES,
    NAME,
    OF_CLUSTERS,
    area_marginal,
    bootstrapped,
    observed_area,
    own_seed,
)
from bayesperf.curves.areas.delong import Placements
from bayesperf.curves.areas.partial_areas import PARTIAL_NAME, PartOfCurve, partial_area_draws
from bayesperf.curves.clustered_scores import bootstrap_of, clusters_by_class
from bayesperf.curves.curve_marginals import examples_of, marginal_of_draws, over_systems
from bayesperf.curves.roc.curve_draws import Observed
from bayesperf.data.classifier_scores import Scores, positives
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.normal import JointNormal
from bayesperf.posteriors.marginal import Marginal


def areas_of_systems(
    y_true: Any,
    systems: Mapping[Any, Any],
    method: str,
    part: PartOfCurve | None,
    pos_label: Any,
    cluster: Any,
    draws: int,
    seed: int,
    progressbar: bool,
) -> Marginal:
    """Return the joint areas of systems, or parts of them, along ``model``; see `bayesperf.roc_auc`."""
    is_positive = positives(y_true, pos_label)
    positive, negative = _scores_by_class(is_positive, systems)
    codes = clusters_by_class(cluster, is_positive, "y_true")
    contents = np.concatenate([positive, negative], 1)
    seed = own_seed(seed, contents if codes is None else np.vstack([contents, codes]))
    leading, examples = over_systems(systems), examples_of((negative.shape[1], positive.shape[1]))
    score = _observed(positive, negative, part, leading)
    rng = np.random.default_rng(seed)
    if part is not None:
        values = partial_area_draws(positive, negative, part, codes, draws, rng, progressbar)
        inference = bootstrap_of(codes)
        return marginal_of_draws(part.quantity, values, leading, seed, inference, examples, score, joint=True)
    if method == "delong":
        placements = Placements.of(positive, negative, codes)
        _warn_of_separated(list(systems), placements)
        areas: Distribution = JointNormal.of(placements.mean, placements.covariance, (0.0, 1.0))
    else:
        areas = bootstrapped(positive, negative, codes, draws, rng, progressbar)
    inference = (INFERENCES if codes is None else OF_CLUSTERS)[method]
    return area_marginal(areas, seed, inference, leading, examples, score, joint=True)


def _scores_by_class(is_positive: Booleans, systems: Mapping[Any, Any]) -> tuple[Array, Array]:
    """Return the scores of the positive and of the negative examples, (S, n) and (S, m), in one order for all."""
    checked = {f"score of {name!r}": checks.vector(f"score of {name!r}", scores) for name, scores in systems.items()}
    checks.equal_lengths({"y_true": len(is_positive)} | {name: len(scores) for name, scores in checked.items()})
    scores = np.stack(list(checked.values()))
    return scores[:, is_positive], scores[:, ~is_positive]


def _observed(positive: Array, negative: Array, part: PartOfCurve | None, leading: xr.DataArray) -> xr.DataArray:
    """Return the area under the observed curve of each system, or of a part of it."""
    pairs = list(zip(np.sort(positive), np.sort(negative), strict=True))
    if part is None:
        return leading.copy(data=[observed_area(*pair) for pair in pairs]).rename(NAME)
    return leading.copy(data=[Observed(Scores(*pair)).areas(part)[0] for pair in pairs]).rename(PARTIAL_NAME)


def _warn_of_separated(systems: Sequence[Any], placements: Placements) -> None:
    """Warn of systems whose areas DeLong's variance takes for certain."""
    if separating := [name for name, area in zip(systems, placements.mean, strict=True) if area in (0, 1)]:
        warn(
            UserWarning,
            "BP701",
            f"method='delong': scores that separate the classes, of {listed(separating)}, have an area with a variance "
            "of 0. That is no certainty: more examples may overlap. Take method='bayesian_bootstrap'.",
        )
