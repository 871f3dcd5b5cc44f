"""Figures: what is drawn is what the marginal says."""

import matplotlib as mpl
import numpy as np
import pytest

import bayesperf as bp

mpl.use("Agg")

ONE = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45))
FOLDS = bp.posterior(
    bp.ConfusionMatrix.from_table(np.random.default_rng(1).integers(1, 20, (10, 2, 2)), dims={"fold": np.arange(10)})
)


def test_a_density_shades_its_interval():
    figure = ONE["recall"].plot(ci_prob=0.9)
    (axes,) = figure.axes
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(y[5:-5], ONE["recall"].pdf(x[5:-5]), rtol=1e-9)
    shaded = axes.collections[0].get_paths()[0].vertices[:, 0]
    np.testing.assert_allclose([shaded.min(), shaded.max()], ONE["recall"].hdi(0.9), atol=np.diff(x).max())
    assert axes.get_xlabel() == "recall"
    assert "90 % highest-density interval" in figure.get_suptitle()


def test_a_forest_has_a_row_a_coordinate():
    figure = FOLDS["f1"].plot(ci_kind="eti")
    (axes,) = figure.axes
    segments = np.array([segment[:, 0] for segment in axes.collections[0].get_segments()])
    np.testing.assert_allclose(segments, FOLDS["f1"].eti(), atol=1e-12)
    np.testing.assert_allclose(axes.lines[0].get_xdata(), FOLDS["f1"].mean())
    assert [label.get_text() for label in axes.get_yticklabels()] == [str(i) for i in range(10)]
    assert "equal-tailed" in figure.get_suptitle()


@pytest.mark.parametrize(("post", "label"), [(ONE, "density"), (FOLDS, "fold")])
def test_a_panel_has_axes_for_every_metric(post, label):
    figure = post.plot(["recall", "f2", "mcc", "lr+"])
    named = [axes for axes in figure.axes if axes.get_xlabel()]
    assert len(named) == 4
    assert named[0].get_ylabel() == label
    assert [axes.get_xscale() for axes in named] == ["linear"] * 3 + ["log"]


def test_a_prediction_says_so():
    title = ONE.predict(n=50, draws=500).plot("recall").get_suptitle()
    assert title.startswith("Prediction of the metric in a new test set of 50 examples")


def test_infinite_draws_end_the_curve_at_a_finite_value():
    predicted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=20, fn=2, fp=0, tn=20)).predict(40, draws=2000)
    (axes,) = predicted["positive_likelihood_ratio"].plot().axes
    x, y = axes.lines[0].get_data()
    assert np.isfinite(x).all()
    assert np.isfinite(y).all()
    assert np.ptp(x) > 0


def test_infinite_densities_leave_the_curve_visible():
    perfect = bp.posterior(bp.ConfusionMatrix.from_counts(tp=10, fn=0, fp=0, tn=10), "jeffreys")
    (axes,) = perfect["recall"].plot().axes
    y = axes.lines[0].get_ydata()
    assert np.isfinite(y).all()
    assert np.mean(y > 0.1 * y.max()) > 0.1
