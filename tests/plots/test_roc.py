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
    bp.det_curve: ("Detection error tradeoff of the system", "false positive rate", "false negative rate"),
}


def texts(axes):
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


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
    if make is not bp.det_curve:
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
    assert [text.partition(":")[0] for text in texts(axes)] == ["up", "down"]
    colours = {line.get_color() for line in axes.get_lines()[:2]}
    assert len(colours) == 2


def test_curves_of_several_kinds_are_refused():
    curves = {"a": bp.roc_curve(Y, SCORES), "b": bp.det_curve(Y, SCORES)}
    with pytest.raises(ValueError, match="curves must be of one kind and method"):
        plots.curve(curves)
