"""What all figures share."""

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

from bayesperf.plots.style import closed, place_names

mpl.use("Agg")


def test_a_drawn_figure_is_closed_and_can_still_be_saved(tmp_path):
    figure = closed(plt.figure)(figsize=(1, 1))
    assert not plt.fignum_exists(figure.number)
    figure.savefig(tmp_path / "figure.png")


@pytest.mark.parametrize(
    ("coords", "names"),
    [({}, [""]), ({"model": ["a", "b"]}, ["a", "b"]), ({"site": [1, 2], "model": ["a"]}, ["1, a", "2, a"])],
)
def test_places_are_named_by_their_coordinates(coords, names):
    leading = xr.DataArray(np.zeros([len(labels) for labels in coords.values()]), coords, list(coords))
    assert place_names(leading) == names
