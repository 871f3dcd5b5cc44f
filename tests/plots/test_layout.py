"""Every public figure: no text is cropped, no tick labels run together, axes in hand are taken, legends name bands."""

import inspect
import warnings
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import bayesperf as bp
from bayesperf import plots, studies
from tests.shared.areas import reads
from tests.shared.figures import (
    BINARY,
    FIGURES,
    FOLDS,
    GRID,
    LONG,
    MANY,
    SCORES,
    SMALL,
    SYSTEMS,
    Y,
    autocorrelated,
    calibrated,
    compared,
    covered,
    decisions,
    epc,
    epcs,
    monitored,
    pooled,
    reliable,
    roc,
    splits,
)

mpl.use("Agg")

# A text may reach this far beyond, and tick labels may overlap this much, in pixels: rounding.
ROUNDING = 1.5


@pytest.fixture(scope="module")
def drawn():
    """Figures by name, each made once, with the layout that it is saved with."""
    figures = {}

    def figure(name):
        if name not in figures:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                figures[name] = FIGURES[name]()
            figures[name].draw_without_rendering()
        return figures[name]

    return figure


def is_drawn(text, figure):
    axes = text.axes
    return text.get_visible() and text.get_text().strip() and (axes is None or (axes.get_visible() and axes.axison)
                                                                or text in axes.texts)  # fmt: skip


def tick_labels(axis):
    """Return the labels of the ticks within the limits of an axis that show something."""
    low, high = sorted(axis.get_view_interval())
    span = 1e-9 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    shown = [tick.label1 for tick in ticks if low - span <= tick.get_loc() <= high + span and tick.label1.get_visible()]
    return [label for label in shown if label.get_text().strip()]


def every_tick_label(axes):
    names = ("xaxis", "yaxis", "zaxis")
    return {label for name in names if hasattr(axes, name) for label in all_labels(getattr(axes, name))}


def all_labels(axis):
    return [
        label for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()] for label in (tick.label1, tick.label2)
    ]


def cropped(figure):
    """Return the texts that reach beyond the figure."""
    ticks = {label for axes in figure.axes for label in every_tick_label(axes)}
    shown = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in tick_labels(axis)}
    others = [text for text in figure.findobj(Text) if text not in ticks and is_drawn(text, figure)]
    width, height = figure.bbox.size
    outside = []
    for text in [*others, *shown]:
        box = text.get_window_extent()
        if box.x0 < -ROUNDING or box.y0 < -ROUNDING or box.x1 > width + ROUNDING or box.y1 > height + ROUNDING:
            outside.append((text.get_text(), box.extents.round().tolist()))
    return outside


def tick_labels_that_run_together(figure):
    overlapping = []
    for axes in figure.axes:
        if axes.name == "3d" or not axes.axison:
            continue
        for axis, sides in ((axes.xaxis, ("x0", "x1")), (axes.yaxis, ("y0", "y1"))):
            boxes = sorted(
                ((label.get_window_extent(), label.get_text()) for label in tick_labels(axis)),
                key=lambda each: getattr(each[0], sides[0]),
            )
            overlapping += [
                (one, other)
                for (box, one), (following, other) in pairwise(boxes)
                if getattr(following, sides[0]) < getattr(box, sides[1]) - ROUNDING
            ]
    return overlapping


def titles_that_cross(figure):
    """Return titles, labels and legends that lie over each other."""
    labels = [label for axes in figure.axes if axes.axison and axes.name != "3d"
              for label in (axes.title, axes.xaxis.label, axes.yaxis.label)]  # fmt: skip
    titles = [t for t in [*figure.texts, *labels] if t.get_text().strip() and t.get_visible()]
    boxes = [(text.get_window_extent(), text.get_text()) for text in titles]
    boxes += [(legend.get_window_extent(), "legend") for legend in figure.legends]
    return [
        (one, other)
        for i, (box, one) in enumerate(boxes)
        for following, other in boxes[i + 1 :]
        if min(box.x1, following.x1) - max(box.x0, following.x0) > ROUNDING
        and min(box.y1, following.y1) - max(box.y0, following.y0) > ROUNDING
    ]


# Large ones, of kinds that a smaller one shows.
SLOW = {
    "comparison of folds", "prior_sensitivity of ratios", "density of many ratios", "joint of many", "curves apart",
    "forest of classes and systems", "standings of fifty", "confusion matrix of 40 classes", "reliability apart",
    "pooled systems", "confusion matrix of dogs", "f1_coverage", "panel of ratios",
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in FIGURES]
)
def test_every_text_can_be_read(drawn, name):
    figure = drawn(name)
    found = cropped(figure), tick_labels_that_run_together(figure), titles_that_cross(figure)
    assert found == ([], [], []), figure.bbox.size


def test_every_public_figure_is_among_them():
    made = " ".join(inspect.getsource(make) for make in FIGURES.values())
    by_method = {"attempts", "comparison", "confusion_matrix", "panel", "monitor", "shrinkage"}
    missing = {name for name in plots.__all__ if f"plots.{name}(" not in made}
    assert missing == by_method, "call it as plots.… in FIGURES of tests/shared/figures.py"


def test_every_public_figure_takes_axes_in_hand():
    taking = {name for name in plots.__all__ if "ax" in inspect.signature(getattr(plots, name)).parameters}
    assert taking == set(plots.__all__)


# ── Axes in hand ──

ONE = {
    "curve": lambda ax: roc().plot(ax=ax),
    "decision_curve": lambda ax: decisions(1).plot(ax=ax),
    "recalibration": lambda ax: plots.recalibration(reliable(of=bp.curves.recalibrate, draws=50), ax=ax),
    "score_regions": lambda ax: bp.curves.abstention(Y, SCORES[0], max_abstention=0.2, draws=50).plot(ax=ax),
    "reliability": lambda ax: reliable().plot(ax=ax),
    "epc": lambda ax: epc().plot(ax=ax),
    "plan": lambda ax: bp.plan.sample_size(0.7, metric="recall", evidence=(17, 20)).plot(ax=ax),
    "meta_analysis": lambda ax: plots.meta_analysis(bp.groups.meta_analysis(FOLDS.isel(model=0), draws=100), ax=ax),
    "reader_areas": lambda ax: plots.reader_areas(bp.curves.reader_areas(reads(), draws=50), ax=ax),
    "summary_roc": lambda ax: plots.summary_roc(
        bp.curves.summary_roc(bp.groups.meta_analysis(FOLDS.isel(model=0), draws=100)), ax=ax
    ),
    "pooled": lambda ax: pooled(FOLDS.isel(model=0)).plot(ax=ax),
    "slices": lambda ax: bp.slices(FOLDS.isel(model=0), draws=200).plot(ax=ax),
    "joint": lambda ax: plots.joint(bp.posterior(BINARY, draws=100), "precision", "recall", ax=ax),
    "prior": lambda ax: plots.prior(bp.prior.elicited(recall=(0.7, 0.9, 0.9)), "recall", ax=ax),
    "prior_sensitivity": lambda ax: plots.prior_sensitivity(SMALL, "recall", ax=ax),
    "density": lambda ax: bp.posterior(SMALL)["recall"].plot(ax=ax),
    "confusion matrix": lambda ax: SMALL.plot(ax=ax),
    "prob_matrix": lambda ax: plots.prob_matrix(compared(MANY), ax=ax),
    "difference": lambda ax: plots.difference(compared(SYSTEMS), ax=ax),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE)
def test_one_panel_is_drawn_in_axes_in_hand(name):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ONE[name](right) is figure
    assert not left.has_data()
    assert right.has_data()
    assert right.get_title()
    assert figure.get_suptitle() == ""
    assert plt.fignum_exists(figure.number)
    plt.close(figure)


@pytest.mark.slow
def test_several_panels_are_drawn_in_as_many_axes():
    figure, axes = plt.subplots(2, 2, layout="constrained")
    assert bp.posterior(SMALL).plot(["recall", "f1", "precision", "mcc"], ax=axes) is figure
    assert [each.get_xlabel() for each in axes.flat] == ["recall", "F1", "precision", "Matthews correlation"]
    assert SYSTEMS.plot(ax=list(axes.flat[:3])) is figure
    assert monitored().plot(ax=axes[:, 1]) is figure
    plt.close(figure)


RATES = studies.rate_coverage(20, ["wald", "wilson"], GRID)
SEVERAL = {
    "rate_coverage": (2, lambda ax: plots.rate_coverage(RATES, ax=ax)),
    "f1_coverage": (1, lambda ax: plots.f1_coverage(studies.f1_coverage(5, ["wilson"], GRID, GRID), ax=ax)),
    "predictive_spread": (
        2,
        lambda ax: plots.predictive_spread(studies.predictive_spread(BINARY, scale=[1, 3], draws=50), ax=ax),
    ),
    "repeated_splits": (2, lambda ax: plots.repeated_splits(splits(), ax=ax)),
    "split_scores": (3, lambda ax: plots.split_scores(splits(), ax=ax)),
    "coverage": (2, lambda ax: plots.coverage(covered(), ax=ax)),
    "simulation_based_calibration": (7, lambda ax: plots.simulation_based_calibration(calibrated(), ax=ax)),
    "autocorrelation": (1, lambda ax: plots.autocorrelation(autocorrelated(), ax=ax)),
    "ranks": (1, lambda ax: plots.ranks(compared(MANY), ax=ax)),
    "comparison": (2, lambda ax: compared(SYSTEMS).plot(ax=ax)),
    "epc comparison": (2, lambda ax: epcs().plot(difference="models", ax=ax)),
    "curves": (7, lambda ax: plots.curve({f"s{i}": roc(i) for i in range(7)}, ax=ax)),
    "decision curves": (7, lambda ax: decisions(7).plot(ax=ax)),
    "reliability of systems": (4, lambda ax: plots.reliability({f"s{i}": reliable(i) for i in range(4)}, ax=ax)),
    "calibration": (5, lambda ax: reliable(of=bp.curves.calibration, draws=50).plot(ax=ax)),
    "epcs": (7, lambda ax: plots.epc({f"s{i}": epc(i) for i in range(7)}, ax=ax)),
    "pooled": (3, lambda ax: pooled(FOLDS).plot("f1", ax=ax)),
    "joint": (3, lambda ax: plots.joint(bp.posterior(SYSTEMS, draws=50), "precision", "recall", ax=ax)),
    "prior_sensitivity": (3, lambda ax: plots.prior_sensitivity(SYSTEMS, "lr+", ax=ax)),
}


@pytest.mark.few
@pytest.mark.parametrize("name", SEVERAL)
def test_all_panels_are_drawn_in_axes_in_hand(name):
    count, draw = SEVERAL[name]
    figure, axes = plt.subplots(count, figsize=(6, 3 * count), squeeze=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert draw(axes) is figure
    assert all(each.has_data() for each in axes.flat)
    assert figure.get_suptitle() == figure.get_supxlabel() == figure.get_supylabel() == ""
    assert not figure.legends
    plt.close(figure)


def test_axes_that_are_too_few_are_refused():
    figure, axes = plt.subplots()
    with pytest.raises(ValueError, match="ax holds 1 axes, and this figure has 3 panels: give as many, or leave ax"):
        SYSTEMS.plot(ax=axes)
    plt.close(figure)


# ── Legends and settings ──


def words_of(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    return [" ".join(text.get_text().split()) for legend in legends for text in legend.get_texts()]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("curve", "95 % band, pointwise"),
        ("curves", "95 % band, simultaneous, of each"),
        ("det", "95 % band, pointwise"),
        ("decision curve", "95 % band, pointwise, equal-tailed"),
        ("decision curves", "95 % band, simultaneous, of each, equal-tailed"),
        ("decision curves apart", "95 % band, pointwise, equal-tailed"),
        ("reliability", "95 % band, simultaneous"),
        ("reliability in bins", "95 % band, pointwise"),
        ("reliability of systems", "95 % band, simultaneous, of each"),
        ("calibration", "range of calibrated systems, 95 %"),
        ("epc", "95 % band, pointwise, equal-tailed"),
        ("epcs", "95 % band, simultaneous, of each, equal-tailed"),
        ("epcs apart", "95 % band, pointwise, equal-tailed"),
        ("monitor", "95 % HDI after each step"),
        ("pooled", "population mean, 95 % HDI"),
        ("pooled", "fold, 95 % HDI"),
        ("density", "95 % HDI"),
        ("differences", "95 % HDI"),
        ("forest of folds", "95 % HDI"),
        ("prior_sensitivity", "95 % HDI"),
        ("autocorrelation", "95 % simultaneous band of the fitted chain"),
        ("simulation_based_calibration", "95 % simultaneous band (Bonferroni over 7 parameters)"),
        ("sequential", "posterior, 50 % ETI"),
    ],
)
def test_legends_say_what_a_band_is(drawn, name, words):
    assert words in words_of(drawn(name))


@pytest.mark.slow
def test_a_panel_a_density_has_no_name_in_the_legend(drawn):
    assert words_of(drawn("density of many")) == ["mean", "95 % HDI", "observed"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: roc().plot(), "80 % band, pointwise"),
        (lambda: reliable().plot(), "80 % band, simultaneous"),
        (lambda: epc().plot(), "80 % band, pointwise, equal-tailed"),
        (lambda: pooled(FOLDS.isel(model=0)).plot(), "population mean, 80 % ETI"),
        (lambda: bp.posterior(SMALL)["recall"].plot(), "80 % ETI"),
        (lambda: plots.difference(compared(FOLDS)), "80 % ETI"),
        (lambda: plots.prior_sensitivity(SMALL, "recall"), "80 % ETI"),
    ],
)
def test_settings_of_arviz_are_followed(make, words, monkeypatch):
    import arviz_base

    changed = {"stats.ci_prob": 0.8, "stats.ci_kind": "eti"}
    # ArviZ's own kind is equal-tailed: as long as it is not changed, ours is not.
    monkeypatch.setitem(arviz_base.rcparams.defaultParams, "stats.ci_kind", ("hdi", str))
    with arviz_base.rc_context(changed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = make()
    assert words in words_of(figure)


def test_the_area_follows_the_kind_of_interval(monkeypatch):
    import arviz_base

    monkeypatch.setitem(arviz_base.rcparams.defaultParams, "stats.ci_kind", ("hdi", str))
    with arviz_base.rc_context({"stats.ci_kind": "eti"}):
        (axes,) = roc().plot().axes
    low, high = roc().area.eti().values
    assert axes.get_legend().get_title().get_text() == "AUC, 95 % ETI"
    assert axes.get_legend().get_texts()[0].get_text().endswith(f"[{low:.3f}, {high:.3f}]")


@pytest.mark.slow
def test_posteriors_are_drawn_with_their_observed_scores(drawn):
    assert "observed" in words_of(drawn("panel"))
    assert "observed" in words_of(drawn("panel of folds"))


# ── Logarithmic axes ──


@pytest.mark.few
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1.1, 2.2, {1.5, 2.0}), (1.2, 90, {2, 5, 10, 20, 50}), (0.02, 5e4, {0.1, 1, 10, 100, 1000}), (3, 8, {4, 6, 8})],
)
def test_logarithmic_axes_have_few_round_numbers(low, high, expected):
    figure, axes = plt.subplots(figsize=(3, 2))
    axes.set_xlim(low, high)
    plots.style.log_scale(axes)
    figure.draw_without_rendering()
    written = {float(label.get_text()) for label in tick_labels(axes.xaxis)}
    assert written >= expected
    assert len(written) <= 7
    assert not [label for label in axes.xaxis.get_minorticklabels() if label.get_text()]
    plt.close(figure)


# ── Confusion matrices ──


@pytest.mark.slow
def test_counts_and_shares_are_in_the_cells():
    cm = bp.ConfusionMatrix.from_table([[18, 2, 0], [5, 14, 1], [0, 0, 0]], labels=["cat", "dog", "eel"])
    figure = cm.plot()
    assert isinstance(figure, Figure)
    axes, bar = figure.axes
    assert [text.get_text() for text in axes.texts] == [
        "18\n90 %",
        "2\n10 %",
        "0",
        "5\n25 %",
        "14\n70 %",
        "1\n5 %",
        *"000",
    ]
    image = axes.images[0].get_array()
    np.testing.assert_allclose(image[:2], cm.counts[:2] / 20)
    assert np.ma.getmaskarray(image)[2].all()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["cat (n = 20)", "dog (n = 20)", "eel (n = 0)"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["cat", "dog", "eel"]
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == (
        "predicted",
        "actual",
        "share of the actual class",
    )
    assert figure.get_suptitle() == "40 examples"


def test_rows_are_actual_from_the_top():
    (axes, _) = bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=9).plot().axes
    assert [text.get_text().split("\n")[0] for text in axes.texts] == ["9", "1", "2", "8"]
    low, high = axes.get_ylim()
    assert low > high


@pytest.mark.slow
def test_many_classes_are_legible(drawn):
    labels = tick_labels(drawn("confusion matrix of 100 classes").axes[0].yaxis)
    assert len(labels) == 100
    assert all(label.get_fontsize() >= 4.5 for label in labels)
    assert max(drawn("confusion matrix of 100 classes").get_size_inches()) < 14


@pytest.mark.slow
def test_matrices_along_leading_dims_have_a_panel_each(drawn):
    panels = [axes for axes in drawn("confusion matrices").axes if axes.get_title()]
    assert [axes.get_title().replace("\n", " ")[-12:] for axes in panels] == [name[-12:] for name in LONG]
