"""`slices`: where a classifier fails, from a fit of the model of slices, or from counts along one dim by quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.random_streams import stream
from bayesperf.core.words import plural
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.counted import Counted
from bayesperf.data.label_encoding import missing_positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes, matrix_of_right
from bayesperf.groups.pooling import pool
from bayesperf.groups.sliced_metrics import DRAWS, TWO_CLASSES, Slices
from bayesperf.posteriors.arviz_trees import observed_table
from bayesperf.posteriors.tree_attributes import POSITIVE, PRIOR, is_fit_of, options_of

# Numbers that are held for a draw of a slice: its cells, its rates before and after the data, and what they come from.
_NUMBERS = 20
# Rates of a prior, away from 0 and 1, where metrics are undefined.
_LEAST_RATE = 1e-12


@checked
def slices(data: xr.DataTree | Counted, *, draws: int = 4000, random_seed: Any = 0) -> Slices:
    """Find where a classifier fails: the metrics of every slice, the worst of them, and the gaps between levels.

    Parameters
    ----------
    data : xarray.DataTree, ConfusionMatrix or Outcomes
        A fit of the model ``slices``, ``bp.fit(cm, "slices")``; or the counts of two classes, or of right and wrong
        `Outcomes`, along a single dim, for which nothing has to be sampled (`bayesperf.pool`).
    draws : int
        Number of draws, for counts.
    random_seed : int or numpy.random.Generator
        Seed, for counts.

    Returns
    -------
    Slices
        It has the methods ``summary``, ``prob_worst``, ``levels``, ``gap``, ``largest_gap``, ``which_dim``,
        ``in_words``, and ``plot``; ``slices[metric]`` is the `Marginal` of a metric over all slices.

    Raises
    ------
    TypeError
        If `data` is neither.
    ValueError
        If the fit is of another model or of several systems, or the counts do not have exactly one leading dim.

    Notes
    -----
    The model pulls each slice towards what its levels say, and more strongly if it has few examples; a slice has its
    own prevalence. With a single dim, rates are beta-binomial (`bayesperf.pool`, clusters) instead of the model's
    logit-normal rates. The two agree to a tenth of the interval's width, unless there are few examples and nearly all
    are right: for five sites with 98 of 100 examples right, the lower limits differ by up to 40 % of it.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=[45, 30], fn=[5, 20], fp=4, tn=46, dims={"site": ["a", "b"]})
    >>> bp.slices(cm).summary("recall")[["site", "observed", "mean"]].round(1).values.tolist()
    [['a', 0.9, 0.9], ['b', 0.6, 0.6]]
    """
    if isinstance(data, Counted):
        return _slices_of_counts(data, checks.count("draws", draws, least=2), checks.seed(random_seed))
    if isinstance(data, xr.DataTree):
        return _slices_of_fit(data)
    raise InputTypeError("data", f"must be a fit of the model 'slices', or counts; it is {type(data).__name__}.")


def _slices_of_fit(tree: xr.DataTree) -> Slices:
    """Read the slices of a fit."""
    counts = observed_table(tree)
    if not is_fit_of(tree, "slices") or counts is None:
        raise InputError("data", "this is no fit of the model 'slices'.", "Fit it: bp.fit(cm, 'slices').")
    posterior, options = tree["posterior"].to_dataset(), options_of(tree)
    dims = options["dims"]
    if others := [str(dim) for dim in counts.dims if dim not in (*dims, *CELL_DIMS)]:
        raise InputError("data", "the fit is of several systems.", f"Select one: tree.sel({others[0]}=…).")
    position = int(posterior.attrs[POSITIVE])
    pos_label = counts["actual"].values.tolist()[position] if position >= 0 else None
    terms = [*((dim,) for dim in dims), *options.get("interactions", ())]
    before = tree["prior"].to_dataset()
    prior = _spread_of_levels(before["rates"], terms).drop_vars(DRAWS)
    prior = prior.rename(chain="prior_chain", draw="prior_draw")
    measure = "standard deviation of the levels of each dim on the logit scale"
    spread = xr.Dataset({"posterior": _spread_of_levels(posterior["rates"], terms), "prior": prior})
    scalars = [name for name in counts.coords if name not in counts.dims]
    return Slices(
        cm=ConfusionMatrix(counts.drop_vars(scalars).transpose(*dims, *CELL_DIMS), pos_label),
        rates=_rates_of(posterior, dims, pos_label),
        prior_rates=_rates_of(before, dims, pos_label),
        spread=spread.assign_attrs(measure=measure),
        prior_text=str(posterior.attrs[PRIOR]),
        independent_draws=False,
    )


def _rates_of(group: xr.Dataset, dims: Sequence[str], pos_label: Any) -> xr.DataArray:
    """Return the draws (…, chain, draw, rate) of a fit's rates, with the prevalence of each slice where it has one."""
    rates = group["rates"].drop_attrs()
    if "recall" in rates["rate"]:
        prevalence = group["cells"].sum("predicted").sel(actual=pos_label, drop=True)
        rates = xr.concat([prevalence.expand_dims(rate=["prevalence"]), rates], "rate")
    return rates.transpose(*dims, *DRAWS, "rate")


def _spread_of_levels(rates: xr.DataArray, terms: Sequence[Sequence[str]]) -> xr.DataArray:
    """Return the standard deviation of the levels of each dim, or of an interaction, on the logit scale."""
    logits = xr.apply_ufunc(special.logit, rates.drop_attrs())
    dims = [dim for dim in rates.dims if dim not in ("rate", *DRAWS)]
    each = []
    for term in terms:
        effect = logits.mean([dim for dim in dims if dim not in term])
        for dim in term:
            effect = effect - effect.mean(dim)
        degrees = prod(effect.sizes[dim] - 1 for dim in term)
        each.append(np.sqrt((effect**2).sum(term) / max(degrees, 1)))
    spread: xr.DataArray = xr.concat(each, pd.Index([":".join(term) for term in terms], name="effect"))
    return spread


# ── Counts along one dim ──


def _slices_of_counts(cm: Counted, draws: int, seed: int) -> Slices:
    """Return the slices of counts along one dim, by quadrature."""
    if len(cm.dims) != 1:
        raise InputError(
            "data",
            f"counts along one dim need no sampler, but these have {list(cm.dims)}.",
            "Fit the model: bp.slices(bp.fit(cm, 'slices')).",
        )
    if not cm.graded and len(cm.labels) != 2:
        raise InputError(
            "data",
            f"the rates of slices are of two classes; there are {len(cm.labels)}.",
            "For the accuracy: bp.slices(bp.fit(cm, 'slices', options={'outcome': 'accuracy'})).",
        )
    number = cm.counts.sizes[cm.dims[0]]
    checks.draws_in_memory(draws, _NUMBERS * number, f"the rates of {number:,} slices", "Take fewer slices.")
    if not cm.graded and cm.pos_label is None:
        raise missing_positive_label(cm.labels)
    dim = str(cm.dims[0])
    counts = cm.counts.transpose(dim, ...)
    matrix = matrix_of_right(cm) if isinstance(cm, Outcomes) else ConfusionMatrix(counts, cm.pos_label)
    pooled: Any = pool(cm, dim, "clusters", draws=draws, random_seed=seed)
    cells, dispersion = pooled.by_group.cells_by_chain(), pooled.dispersion.joint_draws(draws)
    before = pooled.model.dispersion_prior.joint_draws(draws).values.ravel()
    if cm.graded:
        means, of_prevalence = "mean rate", ""
        rates = _by_rate({"accuracy": cells.isel(actual=0, predicted=1, drop=True)}, dim)
    else:
        means, of_prevalence = "mean rates", ", prevalence ~ Beta(1, 1) each"
        rates = _rates_of_two_classes(cells, matrix, stream(seed, "slices: prevalence", counts.values))
        dispersion = dispersion.sel(actual=_positive_first(matrix))
    after = dispersion.values.reshape(-1, draws)
    spread = {"posterior": after, "prior": np.broadcast_to(before, after.shape)}
    return Slices(
        cm=matrix,
        rates=rates,
        prior_rates=_prior_of_groups(rates, before, stream(seed, "slices: before the data", counts.values)),
        spread=xr.Dataset(
            {name: (("effect", "rate", f"{name}_draw"), of[None]) for name, of in spread.items()},
            {"effect": [dim], "rate": rates["rate"].values[-len(after) :]},
            {"measure": f"dispersion ρ between {plural(dim)}"},
        ),
        prior_text=f"{means} ~ Beta(1, 1), dispersion ~ {pooled.model.dispersion_text}{of_prevalence}",
        independent_draws=True,
        graded=cm.graded,
    )


def _rates_of_two_classes(cells: xr.DataArray, cm: ConfusionMatrix, rng: np.random.Generator) -> xr.DataArray:
    """Return the rates of groups, whose prevalence is drawn from their own examples alone."""
    dim, labels = str(cm.dims[0]), _positive_first(cm)
    rows, totals = cells / cells.sum("predicted"), cm.counts.sum("predicted")
    recall, specificity = (rows.sel(actual=label, predicted=label, drop=True) for label in labels)
    a, b = (1 + totals.sel(actual=label).values[:, None, None] for label in labels)
    prevalence = recall.transpose(dim, *DRAWS)
    prevalence = prevalence.copy(data=rng.beta(a, b, prevalence.shape))
    return _by_rate(dict(zip(TWO_CLASSES, (prevalence, recall, specificity), strict=True)), dim)


def _positive_first(cm: ConfusionMatrix) -> list[Any]:
    return sorted(cm.labels, key=lambda label: label != cm.pos_label)


def _by_rate(rates: dict[str, xr.DataArray], dim: str) -> xr.DataArray:
    """Return rates by name as draws (group, chain, draw, rate)."""
    joined: xr.DataArray = xr.concat(list(rates.values()), pd.Index(list(rates), name="rate"))
    return joined.transpose(dim, *DRAWS, "rate")


def _prior_of_groups(rates: xr.DataArray, dispersion: Array, rng: np.random.Generator) -> xr.DataArray:
    """Draw the rates of the groups of `pool` from the prior, in the form of the posterior's rates."""
    names, shape, drawn = rates["rate"].values.tolist(), (rates.shape[0], len(dispersion)), []
    for name in names:
        if name == "prevalence":
            drawn.append(rng.random(shape))
            continue
        mean = rng.random(len(dispersion))
        # Each of several rates has a dispersion of its own.
        kappa = 1 / (dispersion if len(names) == 1 else rng.permutation(dispersion)) - 1
        a, b = (np.maximum(part * kappa, _LEAST_RATE) for part in (mean, 1 - mean))
        drawn.append(np.clip(rng.beta(a, b, shape), _LEAST_RATE, 1 - _LEAST_RATE))
    return rates.copy(data=np.stack(drawn, -1)[:, None])
