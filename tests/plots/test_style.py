"""What all figures share."""

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

from bayesperf.core.words import place_names
from bayesperf.plots import style
from bayesperf.plots.style import closed

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


@pytest.mark.parametrize(
    ("count", "shape", "lowest"), [(1, (1, 1), [0]), (4, (1, 4), [0, 1, 2, 3]), (6, (2, 4), [2, 3, 4, 5])]
)
def test_small_multiples_are_labelled_at_their_edges(count, shape, lowest):
    figure, panels = style.small_multiples(count, 2, 1, sharex=True)
    grid = panels[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == shape
    assert tuple(figure.get_size_inches()) == pytest.approx((2 * shape[1] + 0.6, shape[0] + 0.6))
    assert [axes.axison for axes in figure.axes] == [True] * count + [False] * (shape[0] * shape[1] - count)
    style.label_edges(panels, "x", "y")
    assert [i for i, axes in enumerate(panels) if axes.get_xlabel() == "x"] == lowest
    assert [i for i, axes in enumerate(panels) if axes.xaxis.get_tick_params()["labelbottom"]] == lowest
    assert [i for i, axes in enumerate(panels) if axes.get_ylabel() == "y"] == list(range(0, count, 4))
    plt.close(figure)


@pytest.mark.parametrize(("count", "lengths"), [(1, [1]), (40, [40]), (41, [21, 20]), (100, [34, 34, 32])])
def test_parts_are_about_equal(count, lengths):
    parts = style.parts_of(count, 40)
    assert [part.stop - part.start for part in parts] == lengths
    assert np.concatenate([np.arange(count)[part] for part in parts]).tolist() == list(range(count))


def test_titles_fit_the_width():
    @closed
    def draw():
        figure = plt.figure(figsize=(4, 2))
        style.write_title(figure, "a" * 30 + " " + "b" * 30, "c")
        return figure

    figure = draw()
    assert figure.get_suptitle() == "a" * 30 + "\n" + "b" * 30 + "\nc"
