"""Figures: what is drawn is what the marginal says."""

import arviz_base
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import bayesperf as bp
from bayesperf import plots

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


@pytest.mark.slow
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


# ── Many coordinates ──

SYSTEMS = bp.posterior(
    bp.ConfusionMatrix.from_table(
        np.random.default_rng(2).integers(3, 40, (12, 2, 2)), dims={"system": [f"s{i}" for i in range(12)]}
    )
)


@pytest.mark.slow
def test_many_densities_have_a_panel_each():
    recall = SYSTEMS["recall"]
    figure = plots.density(recall, ci_prob=0.9)
    panels = [axes for axes in figure.axes if axes.lines]
    assert [axes.get_title() for axes in panels] == [f"s{i}" for i in range(12)]
    assert figure.get_size_inches()[0] < 13
    assert len({axes.get_xlim() for axes in panels}) == 1
    for i in (0, 7, 11):
        x, y = panels[i].lines[0].get_data()
        np.testing.assert_allclose(y[5:-5], recall.sel(system=f"s{i}").pdf(x[5:-5]), rtol=1e-9)
        assert panels[i].lines[1].get_xdata()[0] == pytest.approx(recall.mean()[i].item())
    two = plots.panel([recall, SYSTEMS["lr+"]], kind="density").axes
    assert [axes.get_xscale() for axes in two] == ["linear"] * 12 + ["log"] * 12
    assert two[0].get_xlim() != two[12].get_xlim()


def test_few_densities_share_a_panel():
    (legend,) = plots.density(FOLDS["recall"].isel(fold=slice(6))).legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == [*(str(i) for i in range(6)), "mean", "95 % HDI", "observed"]


def test_axes_in_hand_are_drawn_in_and_stay_open():
    figure, (left, right) = plt.subplots(1, 2)
    assert ONE["recall"].plot(ax=right) is figure
    assert right.lines
    assert not left.lines
    assert plt.fignum_exists(figure.number)
    plt.close(figure)
    with pytest.raises(ValueError, match="ax holds 1 axes, and this figure has 12"):
        plots.density(SYSTEMS["recall"], ax=right)


@pytest.mark.slow
def test_the_calibration_is_drawn_with_the_interval_that_is_asked_for():
    calibration = bp.curves.calibration([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], bins=2, draws=100)
    axes = plots.calibration(calibration, ci_prob=0.5, ci_kind="eti").axes[0]
    row = calibration.summary(0.5, "eti").set_index("metric").loc["calibration_in_the_large"]
    drawn = [line.get_segments()[0][:, 0].tolist() for line in axes.collections if line.get_label() == "posterior"]
    assert drawn == [row[["ci_lower", "ci_upper"]].tolist()]


def test_a_changed_setting_of_arviz_is_the_default():
    with arviz_base.rc_context({"stats.ci_prob": 0.8, "stats.ci_kind": "hdi"}):
        assert "80 % highest-density interval" in ONE["recall"].plot().get_suptitle()
    assert "95 % highest-density interval" in ONE["recall"].plot().get_suptitle()


def test_classes_stand_from_the_best_to_the_worst():
    post = bp.posterior(bp.ConfusionMatrix.from_table([[5, 5, 0], [1, 9, 0], [1, 2, 7]], labels=["a", "b", "c"]))
    (axes,) = plots.forest(post["recall_per_class"]).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "c", "a"]
    assert (np.diff(axes.lines[0].get_xdata()) < 0).all()


def test_systems_of_a_row_stand_in_their_order_from_above():
    table = np.random.default_rng(3).integers(3, 20, (6, 2, 2, 2))
    cm = bp.ConfusionMatrix.from_table(table, dims={"site": list("abcdef"), "model": ["new", "old"]})
    recall = bp.posterior(cm)["recall"]
    (axes,) = plots.forest(recall).axes
    new, _, old, _ = axes.lines[:4]
    np.testing.assert_allclose(new.get_xdata(), recall.mean().sel(model="new"))
    assert (new.get_ydata() > old.get_ydata()).all()


@pytest.mark.slow
def test_long_forests_are_continued_beside():
    table = np.random.default_rng(3).integers(1, 30, (90, 2, 2))
    recall = bp.posterior(bp.ConfusionMatrix.from_table(table, dims={"image": np.arange(90)}))["recall"]
    figure = recall.plot()
    width, height = figure.get_size_inches()
    assert width < 12
    assert height < 12
    means = [axes.lines[0].get_xdata() for axes in figure.axes]
    assert [len(part) for part in means] == [30, 30, 30]
    np.testing.assert_allclose(np.concatenate(means), recall.mean())
    assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == [str(i) for i in range(30, 60)]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
