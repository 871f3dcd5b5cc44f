"""Figures of studies: what is drawn is what the study says."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bayesperf as bp
from bayesperf import plots, studies
from validation import areas
from validation.study import run

mpl.use("Agg")


def test_coverage_of_rates_has_a_panel_a_method():
    study = studies.rate_coverage(20, ["wald", "wilson"], [0.1, 0.5, 0.9], confidence=0.9)
    figure = plots.rate_coverage(study)
    for axes, method in zip(figure.axes, ["wald", "wilson"], strict=True):
        nominal, line = axes.lines
        assert nominal.get_ydata()[0] == 0.9
        np.testing.assert_array_equal(line.get_ydata(), study["coverage"].sel(interval=method))
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 0.5, 0.9])
        assert axes.get_title() == method
        assert axes.get_ylim()[0] == 0.8
    assert figure.get_suptitle() == "Exact coverage of 90 % intervals of a rate, n = 20"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["map", "surface"])
def test_coverage_of_f1_over_precision_and_recall(kind):
    study = studies.f1_coverage(20, ["flat_hdi", "wilson"], [0.2, 0.5, 0.9], [0.3, 0.9], confidence=0.9)
    figure = plots.f1_coverage(study, view=kind)
    *panels, bar = figure.axes
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in panels] == [("precision", "recall")] * 2
    assert bar.get_ylabel() == "coverage"
    assert "90 % intervals of F1, n = 20, prevalence 0.5" in figure.get_suptitle()
    if kind == "map":
        shown = panels[1].collections[0].get_array()
        np.testing.assert_allclose(np.ma.filled(shown, np.nan), study["coverage"].sel(interval="wilson"))
        assert "grey: no such system" in figure.get_suptitle()


@pytest.mark.slow
def test_spread_is_drawn_over_the_number_of_examples():
    cm = bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30)
    study = studies.predictive_spread(cm, scale=[1, 10], draws=500)
    left, right = plots.predictive_spread(study).axes
    for line, name in zip(left.lines, study["distribution"].values, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [145, 1450])
        np.testing.assert_array_equal(line.get_ydata(), study["iqr"].sel(distribution=name))
        assert line.get_label() == name
    np.testing.assert_array_equal(right.lines[1].get_ydata(), study["iqr_ratio"])
    assert " ".join(left.get_ylabel().split()) == "interquartile range of Matthews correlation"


@pytest.mark.slow
def test_repeated_splits_have_a_panel_a_probability():
    X, y = np.random.default_rng(0).normal(size=(60, 1)), np.repeat([0, 1], 30)
    study = studies.repeated_splits(GaussianNB(), X, y, ["accuracy", "f1"], [0.5, 0.9], simulations=5, draws=50)
    figure = plots.repeated_splits(study)
    assert [axes.get_title() for axes in figure.axes] == ["50 % intervals", "90 % intervals"]
    assert "5 splits, ± 2 standard errors" in figure.get_suptitle()
    points = [bar.lines[0].get_xdata() for bar in figure.axes[1].containers]
    np.testing.assert_allclose(points, study["coverage"].sel(prob=0.9))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["accuracy", "F1"]


@pytest.mark.slow
def test_scores_of_splits_are_beside_the_pooled_draws():
    X, y = np.random.default_rng(0).normal(size=(90, 1)), np.repeat([0, 1], 45)
    study = studies.repeated_splits(GaussianNB(), X, y, ["accuracy", "f1"], simulations=12, draws=50, keep_draws=40)
    figure = plots.split_scores(study)
    assert [axes.get_xlabel() for axes in figure.axes] == ["accuracy", "F1"]
    for axes, metric in zip(figure.axes, ("accuracy", "f1"), strict=True):
        scores, *drawn = (patch.get_data() for patch in axes.patches)
        assert [patch.get_label() for patch in axes.patches[1:]] == study["distribution"].values.tolist()
        pooled = study["draws"].sel(metric=metric)
        expected = [
            study["scores"].sel(metric=metric),
            *(pooled.sel(distribution=name) for name in pooled["distribution"]),
        ]
        for (heights, edges, _), values in zip([scores, *drawn], expected, strict=True):
            flat = values.values[np.isfinite(values.values)]
            inside = [((flat >= low) & (flat < high)).mean() for low, high in pairwise(edges)]
            # The last bin holds its end, too.
            inside[-1] += (flat == edges[-1]).mean()
            np.testing.assert_allclose(heights * np.diff(edges), inside, atol=1e-12)
        assert (scores.values * np.diff(scores.edges)).sum() == pytest.approx(1)
    assert figure.legends[0].get_texts()[0].get_text() == "scores of the splits"
    with pytest.raises(ValueError, match=r"study must be of bayesperf.studies.repeated_splits\(keep_draws=…\)"):
        plots.split_scores(study.drop_vars("draws"))


@pytest.mark.slow
def test_a_run_and_the_coverage_of_all_runs():
    study = studies.sequential([1, 4], [0.1, 0.9], estimator=DecisionTreeClassifier(), simulations=3, draws=100)
    left, right = plots.sequential(study).axes
    assert left.lines[0].get_ydata()[0] == study["true"].values[0]
    ends = left.collections[0].get_paths()[0].vertices[:, 1]
    drawn = study["intervals"].sel(simulation=0, distribution="posterior", kind="eti", prob=0.1)
    assert ends.min() == pytest.approx(drawn.min().item())
    assert ends.max() == pytest.approx(drawn.max().item())
    lines = {line.get_label(): line.get_ydata() for line in right.lines}
    shown = study["coverage"].sel(distribution="predictive", kind="eti", prob=0.9)
    np.testing.assert_array_equal(lines["predictive, 90 %"], shown)
    assert left.get_xlabel() == "batches of 100 examples seen"
    assert "highest-density" in plots.sequential(study, ci_kind="hdi").get_suptitle()


@pytest.mark.slow
def test_coverage_has_a_panel_a_size_and_a_colour_a_system():
    cells = studies.binary_cells(
        prevalence=xr.DataArray([0.1, 0.5], {"prevalence": [0.1, 0.5]}, "prevalence"), recall=0.9, specificity=0.9
    )
    study = studies.coverage(cells, "f1", [10, 60], ["flat_hdi", "wald"], simulations=300)
    figure = plots.coverage(study)
    assert [axes.get_title() for axes in figure.axes] == ["n = 10", "n = 60"]
    assert figure.get_suptitle() == "Coverage of 95 % intervals of F1"
    assert figure.legends[0].get_title().get_text() == "prevalence"
    rates = study["coverage"].sel(n=10)
    for i, container in enumerate(figure.axes[0].containers):
        above = rates.isel(prevalence=i)
        np.testing.assert_allclose(container.lines[0].get_xdata(), above[above >= 0.7])
    # What is lower is an arrow at the edge.
    arrows = sum(len(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() == "<")
    assert arrows == (rates < 0.7).sum() > 0
    one = studies.coverage(cells.isel(prevalence=1), "f1", 10, ["wald"], simulations=20)
    assert not plots.coverage(one).legends


@pytest.mark.parametrize(
    "draw",
    [plots.rate_coverage, plots.f1_coverage, plots.predictive_spread, plots.repeated_splits, plots.sequential,
     plots.coverage],
)  # fmt: skip
def test_another_data_set_is_refused(draw):
    with pytest.raises(ValueError, match=f"study must be of bayesperf.studies.{draw.__name__}: "):
        draw(xr.Dataset({"coverage": 1.0}))


def test_bad_arguments():
    study = studies.f1_coverage(5, ["wilson"], [0.5], [0.5])
    with pytest.raises(ValueError, match="view must be one of 'map', 'surface'; it is 'contour'"):
        plots.f1_coverage(study, view="contour")


def test_coverage_of_any_study_over_its_last_dim():
    study = run(areas.STUDY, 20, auc=[0.7, 0.8], n=[20, 50], methods=["delong", "pairs"], prob=0.9)
    figure = plots.coverage_over(study)
    assert [axes.get_title() for axes in figure.axes] == ["0.7", "0.8"]
    assert figure.get_suptitle() == "Coverage of 90 % intervals, by auc"
    assert [axes.get_xlabel() for axes in figure.axes] == ["n", "n"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["delong", "pairs"]
    for axes, auc in zip(figure.axes, [0.7, 0.8], strict=True):
        nominal, *lines = axes.lines
        assert nominal.get_ydata()[0] == 0.9
        for line, method in zip(lines, ["delong", "pairs"], strict=True):
            expected = study["coverage"].sel(interval=method, auc=auc)
            np.testing.assert_array_equal(line.get_ydata(), expected)
            np.testing.assert_array_equal(line.get_xdata(), [20, 50])
        for bars, method in zip(axes.collections, ["delong", "pairs"], strict=True):
            lengths = np.diff(np.array(bars.get_segments())[:, :, 1])[:, 0]
            errors = study["coverage_mcse"].sel(interval=method, auc=auc).values
            np.testing.assert_allclose(lengths, 4 * errors, rtol=1e-12)


@pytest.mark.slow
def test_coverage_of_a_study_with_two_dims_is_one_panel():
    (axes,) = plots.coverage_over(studies.dependence([0.5, 0.9], n=100, simulations=10)).axes
    assert axes.get_title() == ""
    # The level, and three models.
    assert len(axes.lines) == 4


def test_coverage_over_wants_a_study():
    with pytest.raises(ValueError, match="hold coverage and coverage_mcse"):
        plots.coverage_over(xr.Dataset({"coverage": ("n", [0.9])}))


@pytest.mark.slow
def test_many_panels_fit_the_width_of_a_page():
    f1 = studies.f1_coverage(5, None, [0.5, 0.9], [0.3, 0.9])
    sizes = [10, 15, 20, 25, 30, 35]
    f1_of_sizes = studies.coverage([[0.4, 0.1], [0.2, 0.3]], "f1", sizes, ["flat_eti"], simulations=4)
    for figure in (plots.f1_coverage(f1), plots.coverage(f1_of_sizes)):
        assert figure.get_size_inches()[0] < 14
    panels = [axes for axes in plots.coverage(f1_of_sizes).axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == [f"n = {size}" for size in sizes]
    assert panels[0].get_gridspec().ncols == 4
