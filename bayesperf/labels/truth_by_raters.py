"""The probabilities of each item's actual classes, from a fit of raters."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError
from bayesperf.labels.ratings import Ratings, model_data
from bayesperf.posteriors.tree_attributes import fit_of


@checked
def truth(tree: xr.DataTree, ratings: Ratings) -> pd.DataFrame:
    """Return the posterior probability of each actual class, one row per item.

    Parameters
    ----------
    tree : xarray.DataTree
        A fit of the model ``raters``.
    ratings : Ratings
        The ratings that it was fitted to, or other ratings by the same raters with the same classes.

    Returns
    -------
    pandas.DataFrame
        One column per class; ``idxmax(axis=1)`` is the most probable one. The index has the ids of the items or, if
        patterns were counted, the patterns, and their populations.

    Raises
    ------
    TypeError
        If `tree` is not a fit of the raters model, or `ratings` is not a Ratings object.
    ValueError
        If raters, classes or populations differ from those of the fit.

    Notes
    -----
    The probabilities follow from Bayes' theorem in every draw, averaged over the draws (Dawid & Skene 1979, eq. 2.5),
    computed once for all items with the same pattern.

    Examples
    --------
    >>> import bayesperf as bp
    >>> ratings = bp.Ratings.from_table([[1, 1, 1], [0, 0, 1], [0, 0, 0], [1, None, 1]])
    >>> tree = bp.fit(ratings, "raters", random_seed=1)  # doctest: +SKIP
    >>> bp.labels.truth(tree, ratings)  # doctest: +SKIP
    """
    from bayesperf.models import raters

    checks.instance("ratings", ratings, Ratings)
    posterior, options = fit_of(tree, "raters")
    _check_same(posterior, ratings, options)
    data = model_data(ratings)
    total: Any = 0
    for part in raters.chunks(posterior, data):
        total = total + raters.truth(raters.log_joint(part, data, **options)).sum(["chain", "draw"])
    number = posterior.sizes["chain"] * posterior.sizes["draw"]
    probabilities = (total / number).transpose(*data.dims, "actual").values
    columns = pd.Index(ratings.labels, name="actual")
    if ratings.items is None:
        index = pd.MultiIndex.from_product([data[dim].values for dim in data.dims], names=data.dims)
        return pd.DataFrame(probabilities.reshape(-1, len(columns)), index, columns)
    places = tuple(ratings.items[str(dim)].values for dim in data.dims)
    return pd.DataFrame(probabilities[places], pd.Index(ratings.items["item"].values, name="item"), columns)


def _check_same(posterior: xr.Dataset, ratings: Ratings, options: dict[str, Any]) -> None:
    """Refuse ratings whose raters, classes or populations differ from the fit's."""
    raters = [rater for rater in ratings.raters if not (options.get("cut") and rater == options.get("system"))]
    same = {
        "raters": (raters, posterior["rater"].values.tolist()),
        "classes": (ratings.labels, posterior["actual"].values.tolist()),
        "populations": tuple(
            each["population"].values.tolist() if "population" in each.dims else []
            for each in (ratings.counts, posterior["prevalence"])
        ),
    }
    for name, (given, fitted) in same.items():
        if given != fitted:
            raise InputError("ratings", f"its {name} are {given}, and those of the fit are {fitted}.")
