"""What figures of curves show."""

import matplotlib
import numpy as np
import pytest

import bayesperf as bp
from bayesperf import plots

matplotlib.use("Agg")

Y = np.repeat([0, 1], 40)
SCORES = np.random.default_rng(0).normal(1.5 * Y)
KINDS = {
    bp.roc_curve: ("ROC curve of the system", "false positive rate", "recall"),
    bp.precision_recall_curve: ("Precision–recall curve of the system", "recall", "precision"),
    bp.curves.det_curve: ("Detection error tradeoff of the system", "false positive rate", "false negative rate"),
}


def texts(axes):
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bayesian_bootstrap", "beta"])
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_a_figure_says_what_it_shows(make, method):
    curve = make(Y, SCORES, method=method, draws=200)
    (axes,) = curve.plot(ci_prob=0.9).axes
    title, x, y = KINDS[make]
    assert axes.get_title().startswith(f"{title}\npointwise 90 % band (")
    assert (axes.get_xlabel(), axes.get_ylabel()) == (x, y)
    line = axes.get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), curve.dataset[curve.curve_kind.x])
    np.testing.assert_array_equal(line.get_ydata(), curve.dataset[curve.curve_kind.y])
    if make is not bp.curves.det_curve:
        low, high = curve.area.hdi(0.9).values
        assert texts(axes)[0].endswith(f"{curve.area.mean().item():.3f} [{low:.3f}, {high:.3f}]")
        assert axes.get_legend().get_title().get_text().endswith(", 90 % HDI")


def test_the_band_is_filled():
    curve = bp.roc_curve(Y, SCORES, draws=200)
    (axes,) = curve.plot(kind="simultaneous").axes
    corners = axes.patches[0].get_xy()
    band = curve.band(kind="simultaneous")
    np.testing.assert_array_equal(corners[: band.sizes["fpr"], 1], band["recall"].sel(ci_bound="lower"))
    assert "simultaneous 95 % band" in axes.get_title()


def test_several_systems_have_a_colour_and_a_name_each():
    curves = {name: bp.roc_curve(Y, sign * SCORES, draws=100) for name, sign in (("up", 1), ("down", -1))}
    (axes,) = plots.curve(curves).axes
    assert [text.partition(":")[0] for text in texts(axes)] == ["up", "down", "95 % band, pointwise, of each"]
    assert axes.get_title().startswith("ROC curves of 2 systems\n")
    colours = {line.get_color() for line in axes.get_lines()[:2]}
    assert len(colours) == 2


def test_curves_of_several_kinds_are_refused():
    curves = {"a": bp.roc_curve(Y, SCORES), "b": bp.curves.det_curve(Y, SCORES)}
    with pytest.raises(ValueError, match="curves must be of one kind and method"):
        plots.curve(curves)


def lines(axes, label):
    """Return the points of the only line with a label."""
    (line,) = (line for line in axes.get_lines() if line.get_label() == label)
    return line.get_xydata()


@pytest.mark.slow
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_thresholds_are_marked_where_their_counts_are(make):
    curve = make(Y, SCORES, draws=50)
    point = curve.operating_point(fpr=0.2)["threshold"]
    (axes,) = curve.plot(thresholds=[0.6, point]).axes
    chosen = point.observed.item()
    for threshold, label in ((0.6, "threshold 0.6"), (chosen, f"threshold {chosen:.4g}")):
        called = threshold <= SCORES
        tp, fp = (called & (Y == 1)).sum(), (called & (Y == 0)).sum()
        rates = {"recall": tp / 40, "fpr": fp / 40, "fnr": 1 - tp / 40, "precision": tp / (tp + fp)}
        expected = [rates[curve.curve_kind.x], rates[curve.curve_kind.y]]
        np.testing.assert_allclose(lines(axes, label), [expected])
        at = curve.at(threshold)
        np.testing.assert_allclose([at[curve.curve_kind.x], at[curve.curve_kind.y]], expected)
    np.testing.assert_allclose(lines(axes, f"threshold {chosen:.4g}")[0, 0], at[curve.curve_kind.x])


@pytest.mark.slow
def test_each_system_has_thresholds_of_its_own():
    curves = {name: bp.roc_curve(Y, sign * SCORES, draws=50) for name, sign in (("up", 1), ("down", -1))}
    (axes,) = plots.curve(curves, thresholds={"up": 0.5}).axes
    assert [text for text in texts(axes) if "threshold" in text] == ["up: threshold 0.5"]
    (axes,) = plots.curve(curves, thresholds=0.5).axes
    assert [text for text in texts(axes) if "threshold" in text] == ["up: threshold 0.5", "down: threshold 0.5"]
    with pytest.raises(ValueError, match="thresholds are of 'side', and the curves of 'up', 'down'"):
        plots.curve(curves, thresholds={"side": 0.5})


@pytest.mark.slow
def test_both_errors_are_alike_on_the_break_even_line():
    equal = {
        bp.roc_curve: lambda x, y: x - (1 - y),
        bp.curves.det_curve: np.subtract,
        bp.precision_recall_curve: np.subtract,
    }
    for make, difference in equal.items():
        (axes,) = make(Y, SCORES, draws=50).plot(break_even=True).axes
        x, y = lines(axes, "precision = recall" if make is bp.precision_recall_curve else "fnr = fpr").T
        np.testing.assert_array_equal(difference(x, y), 0)
        assert x[0] != x[1]


def test_the_band_may_be_of_confidence_intervals():
    curve = bp.roc_curve(Y, SCORES, draws=50)
    (axes,) = curve.plot(ci_prob=0.9, method="agresti_coull").axes
    band = curve.band(0.9, method="agresti_coull")
    corners = axes.patches[0].get_xy()
    np.testing.assert_array_equal(corners[: band.sizes["threshold"], 0], band["fpr"].sel(ci_bound="upper"))
    np.testing.assert_array_equal(corners[: band.sizes["threshold"], 1], band["recall"].sel(ci_bound="lower"))
    assert axes.get_title().endswith("pointwise 90 % band (Agresti–Coull at each threshold)")


def test_a_threshold_may_be_any():
    curve = bp.roc_curve(Y, SCORES)
    points = curve.dataset
    found = curve.at(points["threshold"].values)
    for name in ("fpr", "recall"):
        np.testing.assert_array_equal(found[name], points[name])
    assert curve.at(np.inf)["recall"].item() == 0
    assert curve.at(-np.inf)["fpr"].item() == 1
    assert curve.at(0.1).sizes == {}
    with pytest.raises(ValueError, match="threshold has 1 missing value"):
        curve.at([0.1, np.nan])
    with pytest.raises(TypeError, match="threshold must be numbers"):
        curve.at("a")


@pytest.mark.slow
def test_more_systems_than_colours_have_a_panel_each():
    rng = np.random.default_rng(1)
    curves = {f"s{i}": bp.roc_curve(Y, rng.normal(Y), draws=20) for i in range(9)}
    figure = plots.curve(curves, thresholds={"s4": 0.5}, break_even=True)
    panels = [axes for axes in figure.axes if axes.lines]
    assert [axes.get_title() for axes in panels] == list(curves)
    assert figure.get_size_inches()[0] < 15
    assert figure.get_suptitle() == "ROC curves of 9 systems\npointwise 95 % band (Bayesian bootstrap)"
    for axes, (name, each) in zip(panels, curves.items(), strict=True):
        np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), each.dataset["recall"])
        assert ("threshold 0.5" in texts(axes)) == (name == "s4")
        assert texts(axes)[-1] == "fnr = fpr"


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_a_curve_of_systems_shows_its_own_bands_and_areas(make):
    curves = make(Y, {"up": SCORES, "down": -SCORES}, draws=100)
    marked = curves.operating_point(fpr=0.3)["threshold"]
    (axes,) = curves.plot(ci_prob=0.9, kind="simultaneous", thresholds=marked).axes
    names = [text for text in texts(axes) if "threshold" not in text]
    assert [name.partition(":")[0] for name in names] == ["up", "down", "90 % band, simultaneous, of each"]
    band, y = curves.band(0.9, "simultaneous"), curves.curve_kind.y
    drawn = {patch.get_facecolor(): patch.get_xy() for patch in axes.patches}
    assert len(drawn) >= 2
    for corners, system in zip(drawn.values(), curves.names, strict=False):
        lower = band[y].sel(model=system, ci_bound="lower")
        np.testing.assert_array_equal(corners[: len(lower), 1], lower)
        threshold = f"{system}: threshold {marked.observed.sel(model=system).item():.4g}"
        at = curves.at(marked.observed.sel(model=system).item()).sel(model=system)
        np.testing.assert_allclose(lines(axes, threshold), [[at[curves.curve_kind.x], at[y]]])
        if make is not bp.curves.det_curve:
            assert f"{curves.area.mean().sel(model=system).item():.3f} [" in names[curves.names.index(system)]
