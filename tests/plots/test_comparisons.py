"""Figures of comparisons: what is written and drawn is what the comparison says."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb

import bayesperf as bp
from bayesperf import plots
from bayesperf.core.words import BEST_OF_MANY
from bayesperf.distributions.draws import Draws
from bayesperf.plots.style import shorten
from bayesperf.posteriors.densities import curves
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity

mpl.use("Agg")


def systems(tp, tn, names, dim="model"):
    """Return the posterior of systems, each judged on its own 40 positives and 40 negatives."""
    tp, tn = (xr.DataArray(np.asarray(values), {dim: names}, dim) for values in (tp, tn))
    return bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=40 - tp, fp=40 - tn, tn=tn))


def texts(axes):
    return [text.get_text() for text in axes.texts]


def ticks(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


TWO = systems([35, 30], [33, 31], ["new", "old"])
FIVE = systems([20, 38, 30, 25, 35], [33, 34, 31, 36, 30], list("vwxyz"))


@pytest.fixture(scope="module")
def places():
    """Three systems in two places."""
    table = np.random.default_rng(2).integers(3, 20, (3, 2, 2, 2))
    dims = {"model": ["p", "q", "r"], "site": ["north", "south"]}
    return bp.posterior(bp.ConfusionMatrix.from_table(table, dims=dims))


# ── The difference ──


def test_a_difference_says_the_three_probabilities_and_which_interval():
    found = bp.compare(TWO, metric="recall", rope=0.05, independent=True)
    figure = found.plot(ci_prob=0.9, ci_kind="eti")
    (axes,) = figure.axes
    below, inside, above = found.prob_rope.values[0, 1]
    assert texts(axes) == [
        f"P(a < b by more than 0.05) = {below:.3f}",
        f"P(a − b within ±0.05) = {inside:.3f}",
        f"P(a > b by more than 0.05) = {above:.3f}",
    ]
    assert axes.get_xlabel() == "recall, a − b\na: new\nb: old"
    assert figure.get_suptitle().endswith("mean and 90 % equal-tailed interval")
    (rope,) = axes.patches
    assert (rope.get_x(), rope.get_width()) == (-0.05, 0.1)
    density, interval, mean, zero = axes.lines
    x, y = density.get_data()
    np.testing.assert_allclose(y[5:-5], found.difference.pdf(x[5:-5])[0], rtol=1e-9)
    np.testing.assert_allclose(interval.get_xdata(), found.difference.eti(0.9)[0])
    np.testing.assert_allclose(mean.get_xdata(), found.difference.mean())
    assert list(zero.get_xdata()) == [0, 0]


def test_the_areas_are_coloured_as_what_is_written_of_them():
    (axes,) = bp.compare(TWO, metric="recall", rope=0.05, independent=True).plot().axes
    areas = [area.get_paths()[0].vertices[:, 0] for area in axes.collections]
    ends = [(round(x.min(), 9), round(x.max(), 9)) for x in areas]
    assert (ends[0][1], ends[1], ends[2][0]) == (-0.05, (-0.05, 0.05), 0.05)
    for area, text in zip(axes.collections, axes.texts, strict=True):
        assert tuple(area.get_facecolor()[0][:3]) == to_rgb(text.get_color())


def test_without_a_rope_there_are_two_sides():
    found = bp.compare(TWO.joint_draws(4001).pipe(_posterior, 0), TWO.joint_draws(4001).pipe(_posterior, 1), "mcc")
    (axes,) = found.plot().axes
    greater = found.prob_greater.item()
    assert texts(axes) == [f"P(a < b) = {1 - greater:.3f}", "", f"P(a > b) = {greater:.3f}"]
    assert axes.get_xlabel() == "Matthews correlation, a − b"


def _posterior(cells, system):
    return bp.Posterior.from_datatree(
        xr.DataTree.from_dict(
            {"posterior": xr.Dataset({"cells": cells.isel(model=system, drop=True).expand_dims("chain")})}
        )
    )


@pytest.mark.parametrize(("rope", "shows_edges"), [(0.5, True), (50.0, False)])
def test_a_rope_that_hides_the_density_leaves_it_visible(rope, shows_edges):
    (axes,) = bp.compare(TWO, metric="recall", rope=rope, independent=True).plot().axes
    assert texts(axes)[1].endswith("> 0.999")
    assert texts(axes)[0].endswith("< 0.001")
    low, high = axes.get_xlim()
    assert (low < -rope) == (rope < high) == shows_edges
    assert np.ptp(axes.lines[0].get_xdata()) > 0.1 * (high - low)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:scores. all .* differences are the same:UserWarning")
@pytest.mark.parametrize(
    ("value", "rope", "inside"), [(0.1, 0.01, "< 0.001"), (0.1, 0.2, "> 0.999"), (0.0, 0.0, "> 0.999")]
)
def test_a_point_mass_is_a_spike(value, rope, inside):
    found = bp.folds.correlated_ttest([0.8 + value] * 5, [0.8] * 5, test_fraction=0.2, rope=rope)
    (axes,) = found.plot().axes
    x, y = axes.lines[0].get_data()
    assert np.isfinite(y).all()
    assert np.count_nonzero(y) == 1
    assert x[y.argmax()] == pytest.approx(value, abs=1e-12)
    assert texts(axes)[1] == (f"P(a − b within ±{rope:g}) {inside}" if rope else f"P(a = b) {inside}")


@pytest.mark.parametrize("sign", [-1, 1])
def test_infinite_draws_end_the_curve_at_a_finite_value(sign):
    values = sign * np.r_[np.linspace(-1, 2, 990), [np.inf] * 10].reshape(1, 1, -1)
    marginal = Marginal(Quantity("x"), Draws(values, (-np.inf, np.inf)), xr.DataArray(0.0))
    x = sign * curves(marginal, 0.9, "hdi").x
    assert -1 <= x.min() < -0.9
    assert 1.9 < x.max() <= 2


def test_over_leading_dims_there_is_a_row_a_place(places):
    post = bp.posterior(places.observed.isel(model=[0, 2]).pipe(bp.ConfusionMatrix))
    found = bp.compare(post, metric="recall", rope=0.02)
    (axes,) = found.plot().axes
    assert ticks(axes) == ["north", "south"]
    assert axes.get_ylabel() == "site"
    assert axes.get_xlabel() == "recall, a − b\na: p\nb: r"
    segments = np.array([segment[:, 0] for segment in axes.collections[0].get_segments()])
    np.testing.assert_allclose(segments, found.difference.hdi()[:, 0])
    greater = found.prob_greater.sel(model="p", model_other="r").values
    assert texts(axes) == ["P(a > b)", *(f"{probability:.3f}" for probability in greater)]


@pytest.mark.slow
def test_the_differences_of_many_systems_are_a_row_a_pair():
    found = bp.compare(FIVE, metric="f1", rope=0.02, independent=True)
    (axes,) = plots.difference(found).axes
    assert ticks(axes)[:5] == ["v − w", "v − x", "v − y", "v − z", "w − x"]
    assert axes.get_xlabel() == "F1, a − b"
    assert axes.get_legend().get_texts()[0].get_text() == "within ±0.02"


# ── Many systems ──


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1", "fpr"])
def test_many_systems_are_shown_best_first(metric):
    found = bp.compare(FIVE, metric=metric, independent=True)
    figure = found.plot()
    matrix, ranks = [axes for axes in figure.axes if axes.get_title()]
    means = FIVE[metric].mean()
    best_first = means["model"].values[np.argsort(means.values if metric == "fpr" else -means.values)]
    assert ticks(matrix) == [f"{name}  {i}" for i, name in enumerate(best_first, 1)]
    assert matrix.get_title() == "P(a > b)"
    shown = matrix.images[0].get_array()
    np.testing.assert_allclose(shown, found.prob_greater.sel(model=best_first, model_other=best_first))
    np.testing.assert_allclose(ranks.images[0].get_array(), found.ranks.sel(model=best_first))
    assert [text.get_text() for text in matrix.texts] == [f"{value:.2f}" for value in shown.ravel()]
    assert matrix.images[0].get_clim() == (0, 1)
    np.testing.assert_allclose(matrix.images[0].cmap(0.5)[:3], 1, atol=0.01)
    assert figure.get_suptitle() == f"Posterior of the system's metric: {metric.upper()}"


@pytest.mark.slow
def test_a_metric_that_has_no_better_direction_has_no_ranks():
    found = bp.compare(FIVE, metric="prevalence", independent=True)
    (axes,) = [axes for axes in found.plot().axes if axes.get_title()]
    assert [label[0] for label in ticks(axes)] == list("vwxyz")
    with pytest.raises(ValueError, match="ranks: neither more nor less prevalence is better"):
        plots.ranks(found)


@pytest.mark.slow
def test_figures_of_very_many_systems_hold_no_text():
    rng = np.random.default_rng(0)
    post = systems(rng.integers(10, 40, 50), rng.integers(10, 40, 50), [f"system {'very ' * 9}{i}" for i in range(50)])
    figure = plots.ranks(bp.compare(post, metric="recall", independent=True))
    axes = figure.axes[0]
    assert len(axes.texts) == 0
    assert len(ticks(axes)) == 50
    assert max(figure.get_size_inches()) < 12
    assert all(label.get_fontsize() >= 5.5 for label in axes.get_yticklabels())


@pytest.mark.slow
def test_the_best_of_many_comes_with_a_remark():
    found = bp.compare(FIVE, metric="f1", independent=True)
    for figure in (plots.ranks(found), found.plot()):
        assert " ".join(figure.get_supxlabel().split()) == BEST_OF_MANY
    assert plots.prob_matrix(found).get_supxlabel() == ""
    assert plots.ranks(bp.compare(TWO, metric="f1", independent=True)).get_supxlabel() == ""


def test_two_given_systems_are_no_matrix():
    found = bp.compare(_posterior(TWO.joint_draws(100), 0), _posterior(TWO.joint_draws(100), 1), "recall")
    with pytest.raises(ValueError, match="two systems are no matrix"):
        plots.prob_matrix(found)
    assert [label.split()[0] for label in ticks(plots.ranks(found).axes[0])] == ["a", "b"]


def test_many_systems_in_several_places_are_a_row_of_panels_each(places):
    found = bp.compare(places, metric="recall", draws=500)
    panels = [axes for axes in plots.prob_matrix(found).axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == ["site north: P(a > b)", "site south: P(a > b)"]
    for axes, site in zip(panels, ["north", "south"], strict=True):
        order = [label.split()[0] for label in ticks(axes)]
        expected = found.prob_greater.sel(site=site, model=order, model_other=order)
        np.testing.assert_allclose(axes.images[0].get_array(), expected)


def test_systems_of_a_second_panel_stand_beside_what_they_are_by_themselves():
    post = systems(np.arange(42) % 37 + 3, [30] * 42, [f"s{i}" for i in range(42)])
    found = bp.compare(post, metric="recall", independent=True, shrink=True, draws=100)
    first, second = plots.standings(found).axes[:2]
    names = ticks(second)
    assert len(ticks(first)) + len(names) == 42
    np.testing.assert_allclose(second.lines[0].get_xdata(), post["recall"].mean().sel(model=names))


@pytest.mark.slow
def test_many_places_fit_the_width_of_a_page():
    table = np.random.default_rng(0).integers(3, 40, (12, 3, 2, 2))
    sites = bp.ConfusionMatrix.from_table(table, dims={"site": list("abcdefghijkl"), "model": ["x", "y", "z"]})
    found = bp.compare(bp.posterior(sites, draws=500), metric="recall", dim="model", independent=True)
    for figure, maps in ((plots.prob_matrix(found), 1), (found.plot(), 2)):
        panels = [axes for axes in figure.axes if axes.get_title()]
        assert [axes.get_title().split(":")[0] for axes in panels[::maps]] == [
            f"site {name}" for name in "abcdefghijkl"
        ]
        assert figure.get_size_inches()[0] <= 15
        assert panels[0].get_gridspec().ncols == 4
        order = [label.split()[0] for label in ticks(panels[7 * maps])]
        expected = found.prob_greater.sel(site="h", model=order, model_other=order)
        np.testing.assert_allclose(panels[7 * maps].images[0].get_array(), expected)


@pytest.mark.slow
def test_many_differences_are_continued_beside():
    table = np.random.default_rng(0).integers(3, 40, (10, 2, 2))
    names = [f"s{i}" for i in range(10)]
    post = bp.posterior(bp.ConfusionMatrix.from_table(table, dims={"model": names}))
    found = bp.compare(post, metric="recall", dim="model", independent=True)
    figure = plots.difference(found)
    assert figure.get_size_inches()[0] < 15
    assert figure.get_size_inches()[1] < 13
    assert [len(ticks(axes)) for axes in figure.axes] == [23, 22]
    assert [name for axes in figure.axes for name in ticks(axes)] == found.difference.leading["pair"].values.tolist()
    # The zero line comes after the means.
    means = np.concatenate([axes.lines[0].get_xdata() for axes in figure.axes])
    np.testing.assert_allclose(means, found.difference.mean())
    beside = [text.get_text() for axes in figure.axes for text in axes.texts if text.get_text() != "P(a > b)"]
    assert len(beside) == 45
    assert len({axes.get_xlim() for axes in figure.axes}) == 1


# ── The simplex ──


def shares(values, rope=("below", "inside", "above")):
    return xr.DataArray(values, {"rope": list(rope)}, ("draw", "rope"))


def test_a_simplex_has_a_point_a_draw():
    values = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.2, 0.6]]
    (axes,) = plots.simplex(shares(values), names=("new", "b"), rope=0.01).axes
    assert texts(axes) == [
        "a < b by more than 0.01\nlargest in 25.0 % of draws",
        "a − b within ±0.01\nlargest in 25.0 % of draws",
        "a > b by more than 0.01\nlargest in 50.0 % of draws",
        "a: new",
    ]
    below, inside, above = [line.get_xydata() for line in axes.lines if line.get_marker() == "."]
    np.testing.assert_allclose(below, [[0, 0]], atol=1e-12)
    np.testing.assert_allclose(inside, [[0.5, np.sqrt(0.75)]])
    np.testing.assert_allclose(above, [[1, 0], [0.7, 0.2 * np.sqrt(0.75)]])


def test_a_simplex_without_a_rope_is_of_ties():
    (axes,) = plots.simplex(shares([[0.3, 0.1, 0.6]]), rope=0.0).axes
    assert [text.partition("\n")[0] for text in texts(axes)] == ["a < b", "a = b", "a > b", ""]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[0.5, 0.2, 0.3]], "must be a DataArray with dims draw and rope"),
        (shares([[0.5, 0.2, 0.3]]).rename(draw="sample"), "must be a DataArray with dims draw and rope"),
        (
            shares([[0.5, 0.2, 0.3]], ["above", "inside", "below"]),
            "rope must be below, inside, above; it is \\['above'",
        ),
        (shares([[0.5, 0.2, 0.5]]), "add up to 1 in each draw"),
        (shares([[0.5, np.nan, 0.5]]), "add up to 1 in each draw"),
    ],
)
def test_shares_are_checked(given, words):
    with pytest.raises(ValueError, match=words):
        plots.simplex(given)


def test_long_names_keep_both_ends():
    assert shorten("short") == "short"
    assert shorten("a" * 40 + "middle" + "z" * 40) == "a" * 21 + "…" + "z" * 21


def test_long_names_are_written_short():
    found = replace(bp.compare(TWO, metric="f1", independent=True), names=("one " * 20, "other"))
    (axes,) = found.plot().axes
    assert max(map(len, axes.get_xlabel().split("\n"))) < 50
