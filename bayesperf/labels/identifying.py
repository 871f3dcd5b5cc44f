"""What the data of a fit leave to its prior: counts of parameters, overlap, chains, modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import IdentifiabilityWarning, InputTypeError, warn
from bayesperf.core.words import listed
from bayesperf.posteriors.tree_attributes import DEGREES_OF_FREEDOM, LABELS_SWITCHED, NOT_SETTLED, PARAMETERS

# Above this share the prior and the posterior are so alike that the data say little (Garrett & Zeger 2000).
MOST_OVERLAP = 0.35
# A second mode counts if between it and a higher one the density falls by this share of it.
VALLEY = 0.5
BINS = 100
FIGURES = {"mean": float, "overlap": float, "r_hat": float, "modes": int}


@checked
def identifiability(tree: xr.DataTree) -> pd.DataFrame:
    """Return, for each parameter, how far its posterior overlaps its prior, and whether chains and modes agree.

    The table finds what the data leave open. It cannot show that the data determine a parameter: see the notes.

    Parameters
    ----------
    tree : xarray.DataTree
        A fit, with groups ``prior`` and ``posterior``.

    Returns
    -------
    pandas.DataFrame
        One row per parameter: ``variable``, its coordinates, ``mean``, ``overlap`` (1: the posterior is the prior; 0:
        they share no values, which may mean a conflict), ``r_hat`` and ``modes``. For raters, only the rates of right
        answers are shown. ``attrs`` hold the numbers of ``parameters`` and ``degrees_of_freedom``, if the model knows
        them, and whether ``labels_switched`` between chains.

    Raises
    ------
    TypeError
        If `tree` is not a fit.

    Notes
    -----
    With fewer degrees of freedom than parameters, no number of items determines them. An overlap of more than .35
    counts as weak identification (Garrett & Zeger 2000, Biometrics 56). A second mode counts if the density halves
    between it and the first.

    An overlap near 0 does not mean that the data determine the parameter. The posterior also leaves its prior where
    data and prior contradict each other, and then lies at a compromise that neither supports; and where the data fix
    only a combination of parameters, so that the priors of the others decide where it goes. Compare
    ``degrees_of_freedom`` with ``parameters``, and fit again with another prior.

    Examples
    --------
    >>> import bayesperf as bp
    >>> tree = bp.fit(bp.ConfusionMatrix.from_counts(tp=9, fn=1, fp=0, tn=0), "rates", random_seed=1)
    >>> table = bp.labels.identifiability(tree)
    >>> table.loc[table["overlap"].idxmax(), "variable"]
    'specificity'
    """
    if not isinstance(tree, xr.DataTree) or not {"prior", "posterior"} <= set(tree.children):
        raise InputTypeError("tree", "must be a fit, with groups prior and posterior, as bayesperf.fit returns it.")
    prior, posterior = (tree[group].to_dataset() for group in ("prior", "posterior"))
    rows = [
        {"variable": name, **place, **_figures(_flat(prior[name], place), _flat(posterior[name], place))}
        for name in _parameter_names(tree)
        for place in _places(posterior[name])
    ]
    # As objects: labels stay what they are where another variable has none.
    frame = pd.DataFrame(rows, dtype=object)
    frame = frame[[name for name in frame if name not in FIGURES] + list(FIGURES)].astype(FIGURES)
    known = {name: int(tree["posterior"].attrs[name]) for name in (PARAMETERS, DEGREES_OF_FREEDOM)
             if name in tree["posterior"].attrs}  # fmt: skip
    frame.attrs.update(known, labels_switched=labels_switched(posterior))
    return frame


def warn_of_what_is_not_settled(tree: xr.DataTree) -> None:
    """Warn about parameters that the data of a fit do not determine, and note them in the attributes of the tree."""
    frame = identifiability(tree)
    facts = frame.attrs
    said = {}
    if facts[DEGREES_OF_FREEDOM] < facts[PARAMETERS]:
        said["BP401"] = (
            f"{facts[PARAMETERS]} parameters and {facts[DEGREES_OF_FREEDOM]} degrees of freedom: the data cannot "
            "determine the parameters, however many items there are. The priors decide; say where they come from, or "
            "add raters, populations or items of known class"
        )
    if facts[LABELS_SWITCHED]:
        said["BP402"] = (
            "the classes have changed places in some chains: raters are about as often wrong as right. Give priors "
            "that tell the classes apart, or items of known class"
        )
    if (several := frame[frame["modes"] > 1]).shape[0]:
        said["BP403"] = (
            f"the posterior has several modes in {listed(_named(several), 3)}: a mean or one interval hides it"
        )
    if (weak := frame[frame["overlap"] > MOST_OVERLAP].sort_values("overlap", ascending=False)).shape[0]:
        said["BP404"] = (
            f"the posterior is mostly the prior (overlap above {MOST_OVERLAP}) of {listed(_named(weak), 3)}; see "
            "bayesperf.labels.identifiability"
        )
    for code, text in said.items():
        warn(IdentifiabilityWarning, code, f"{text[0].upper()}{text[1:]}.")
    tree["posterior"].attrs |= {
        LABELS_SWITCHED: int(facts[LABELS_SWITCHED]),
        NOT_SETTLED: ". ".join(said.values()),
    }


def labels_switched(posterior: xr.Dataset) -> bool:
    """Return whether, in some chain, raters fit the classes better in another order than in their own."""
    from scipy.optimize import linear_sum_assignment

    if "rates" not in posterior or "rating" not in posterior["rates"].dims:
        return False
    tables = posterior["rates"].mean(["draw", "rater"]).transpose("chain", "actual", "rating").values
    best = [linear_sum_assignment(table, maximize=True)[1] for table in tables]
    return bool((np.array(best) != np.arange(tables.shape[-1])).any())


def _parameter_names(tree: xr.DataTree) -> list[str]:
    """Return the parameters of a fit in both groups: rates and prevalences, or else all that have a prior."""
    names = [str(name) for name in tree["log_prior"].data_vars]
    # For raters from a population, the rates themselves are computed.
    names = ["rates", *[name for name in names if name != "rates"]] if "rater" in tree["posterior"].coords else names
    skipped = ("deviation",)
    return [name for name in names if name in tree["prior"].data_vars and name not in skipped]


def _places(variable: xr.DataArray) -> list[dict[str, Any]]:
    """Return the coordinates of each element; for rates, the coordinates of the right answers."""
    dims = [str(dim) for dim in variable.dims if dim not in ("chain", "draw")]
    shape = [variable.sizes[dim] for dim in dims]
    places = [dict(zip(dims, place, strict=True)) for place in np.ndindex(*shape)]
    if {"actual", "rating"} <= set(dims):
        places = [place for place in places if place["actual"] == place["rating"]]
    labels = {dim: variable[dim].values.tolist() for dim in dims}
    return [{dim: labels[dim][at] for dim, at in place.items()} for place in places]


def _flat(variable: xr.DataArray, place: dict[str, Any]) -> Array:
    """Return the draws of one element, (chain, draw)."""
    values: Array = variable.sel(place).transpose("chain", "draw").values
    return values


def _figures(prior: Array, posterior: Array) -> dict[str, Any]:
    from arviz_stats.base import array_stats

    own, before = _densities(posterior.ravel(), prior.ravel())
    return {
        "mean": float(posterior.mean()),
        "overlap": float(np.minimum(own, before).sum()),
        "r_hat": float(array_stats.rhat(posterior, chain_axis=0, draw_axis=1)) if len(posterior) > 1 else np.nan,
        "modes": _modes(own),
    }


def _densities(*samples: Array) -> list[Array]:
    """Return the proportions of samples in bins of a common grid, smoothed by Silverman's width, with reflection."""
    from scipy.ndimage import gaussian_filter1d

    low, high = min(x.min() for x in samples), max(x.max() for x in samples)
    if low == high:
        return [np.ones(1) for _ in samples]
    edges = np.linspace(low, high, BINS + 1)
    found = []
    for x in samples:
        spread = min(x.std(), np.subtract(*np.percentile(x, [75, 25])) / 1.349) or x.std()
        width = 0.9 * spread * len(x) ** -0.2 / (edges[1] - edges[0])
        found.append(gaussian_filter1d(np.histogram(x, edges)[0] / len(x), max(width, 0.5), mode="reflect"))
    return found


def _modes(density: Array) -> int:
    """Return the number of modes of a density, between which it falls below half of the lower one."""
    from scipy.signal import find_peaks

    _, found = find_peaks(np.pad(density, 1), height=0.1 * density.max(), prominence=0)
    return int((found["prominences"] >= VALLEY * found["peak_heights"]).sum())


def _named(frame: pd.DataFrame) -> list[str]:
    """Return the names of parameters with their coordinates."""
    names = []
    for row in frame.drop(columns=list(FIGURES)).itertuples(index=False):
        variable, *labels = row
        place = ", ".join(str(label) for label in labels if not pd.isna(label))
        names.append(f"{variable}[{place}]" if place else str(variable))
    return names
