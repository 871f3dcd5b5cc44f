"""Figures of two metrics together: what is drawn are joint draws of the posterior."""

import matplotlib as mpl
import numpy as np
import pytest

import bayesperf as bp
from bayesperf import plots

mpl.use("Agg")

CAELEN = bp.ConfusionMatrix.from_counts(tp=65, tn=30, fp=35, fn=15)
SYSTEMS = bp.ConfusionMatrix.from_table(
    np.random.default_rng(0).integers(3, 40, (10, 2, 2)), dims={"system": [f"s{i}" for i in range(10)]}
)


def test_points_are_joint_draws_and_the_title_has_their_correlation():
    post = bp.posterior(CAELEN, "haldane")
    (axes,) = plots.joint(post, "precision", "recall", draws=500).axes
    precision, recall = next(
        iter(post.drawn_by_matrix([bp.metrics.get("precision"), bp.metrics.get("recall")]))
    ).values()
    x, y = axes.lines[0].get_data()
    which = np.searchsorted(np.sort(precision), x)
    np.testing.assert_array_equal(recall[np.argsort(precision)][which], y)
    assert len(x) == 500
    assert axes.get_title() == f"correlation {np.corrcoef(precision, recall)[0, 1]:.2f}"
    np.testing.assert_allclose(axes.lines[1].get_xydata(), [[65 / 100, 65 / 80]])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("precision", "recall")
    assert axes.figure.get_suptitle().replace("\n", " ").endswith(f", 500 of {len(precision):,} joint draws")


def test_the_correlation_shown_is_that_of_all_points_if_all_are_shown():
    predicted = bp.posterior(CAELEN, "haldane").predict(draws=1000)
    (axes,) = plots.joint(predicted, "precision", "recall", draws=10**6).axes
    drawn = axes.lines[0].get_data()
    assert axes.get_title() == f"correlation {np.corrcoef(drawn)[0, 1]:.2f}"
    # Caelen (2017), section 4: of 1,000 points between .21 and .32 with 95 %.
    assert 0.21 < np.corrcoef(drawn)[0, 1] < 0.32
    # A new test set has no observed point.
    assert len(axes.lines) == 1
    assert "Prediction" in axes.figure.get_suptitle()


@pytest.mark.slow
def test_there_is_a_panel_a_system_and_no_more_than_four_beside_each_other():
    figure = plots.joint(bp.posterior(SYSTEMS, draws=100), "precision", "mcc", draws=50)
    panels = [axes for axes in figure.axes if axes.lines]
    assert [axes.get_title().partition(":")[0] for axes in panels] == [f"s{i}" for i in range(10)]
    assert figure.get_size_inches()[0] < 13
    assert panels[0].get_gridspec().ncols == 4
    for i, axes in enumerate(panels):
        np.testing.assert_allclose(axes.lines[1].get_xdata(), bp.score(SYSTEMS, "precision")[i])
        assert axes.get_xlabel() == ("precision" if i >= 6 else "")
        assert axes.get_ylabel() == ("" if i % 4 else "Matthews correlation")


def test_what_has_no_joint_draws_is_refused():
    with pytest.raises(ValueError, match="'recall_per_class' has a value a class"):
        plots.joint(bp.posterior(CAELEN), "precision", "recall_per_class")
    with pytest.raises(ValueError, match="rate prior"):
        plots.joint(bp.posterior(CAELEN, bp.prior.rate(1, 1)), "precision", "recall")
    with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
        plots.joint(bp.posterior(CAELEN), "precision", "recall", draws=0)


def test_a_correlation_that_is_undefined_says_so():
    # Without false positives a new test set's likelihood ratio is infinite.
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=9, fn=1, fp=0, tn=9)).predict(9, draws=200)
    (axes,) = plots.joint(post, "lr+", "recall").axes
    assert axes.get_title() == "correlation undefined"
