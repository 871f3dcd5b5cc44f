"""Systems that the tests of several files compare."""

from dataclasses import replace

import numpy as np
import xarray as xr

import bayesperf as bp

CM = bp.ConfusionMatrix
N = 100_000


def counts(tp=0, fn=0, fp=0, tn=0, **coords):
    """Return matrices; a list of cells is along ``model``, a nested list along folds and systems."""
    names = list(coords) or ["model"]

    def labelled(cell):
        dims = names[-np.ndim(cell) :] if np.ndim(cell) else []
        labels = {d: coords.get(d, list("ABCDEFGH")[: np.shape(cell)[i]]) for i, d in enumerate(dims)}
        return xr.DataArray(cell, labels, dims)

    return CM.from_counts(tp=labelled(tp), fn=labelled(fn), fp=labelled(fp), tn=labelled(tn))


def three(classes, rng):
    return CM.from_table(rng.integers(1, 30, (3, classes, classes)), dims={"model": list("ABC")})


A = counts(tp=65, fn=15, fp=35, tn=30)
B = counts(tp=50, fn=30, fp=30, tn=35)
SYSTEMS = counts(tp=[8, 9, 5], fn=[2, 3, 4], fp=[4, 1, 3], tn=[10, 12, 15])


def compared(a, b, metric, prior="flat", **options):
    return bp.compare(bp.posterior(a, prior), bp.posterior(b, prior), metric, **{"independent": True} | options)


def areas_compared(y_true, first, second=None, *, rope=0.0, **options):
    """Compare areas of a mapping of systems or, of two, the first with the second alone."""
    systems = first if second is None else {"a": first, "b": second}
    return alone(bp.compare(bp.roc_auc(y_true, systems, **options), rope=rope), second is not None)


def scores_compared(score, y_true, first, second=None, **options):
    """Compare weighted scores, as `areas_compared` does areas."""
    systems = first if second is None else {"a": first, "b": second}
    return alone(bp.compare(bp.curves.weighted_score(score, y_true, systems, **options)), second is not None)


def alone(comparison, of_two=True):
    """Return the comparison of the first system with the second, without dims of systems."""
    if not of_two:
        return comparison
    over_pairs = comparison.pair.leading.isel(pair=0)
    pair = replace(comparison.pair, over_pairs=over_pairs)
    return replace(comparison, contrast=comparison.contrast.isel(pair=0), pair=pair, many=False, systems=None)
