"""Figures of posteriors under several priors."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf import plots

mpl.use("Agg")

CM = bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=9)
SYSTEMS = bp.ConfusionMatrix.from_table(
    np.random.default_rng(0).integers(3, 40, (9, 2, 2)), dims={"system": [f"s{i}" for i in range(9)]}
)


def test_a_density_a_prior():
    figure = plots.prior_sensitivity(CM, "recall", ci_prob=0.8)
    (axes,) = figure.axes
    for line, (name, weight) in zip(axes.lines[:9:3], {"flat": 1, "jeffreys": 0.5, "perks": 0.25}.items(), strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y[3:-3], stats.beta(8 + weight, 2 + weight).pdf(x[3:-3]), rtol=1e-9)
        assert line.get_label() == name
    for line, weight in zip(axes.lines[1:9:3], (1, 0.5, 0.25), strict=True):
        np.testing.assert_allclose(line.get_xdata(), (8 + weight) / (10 + 2 * weight))
    assert [text.get_text() for text in figure.legends[0].get_texts()][:3] == ["flat", "jeffreys", "perks"]
    assert "80 % highest-density interval" in figure.get_suptitle()


def test_priors_of_ones_own_have_their_names():
    mine = {"none": "haldane", "expert": bp.prior.dirichlet([[9, 1], [2, 8]])}
    (axes,) = plots.prior_sensitivity(CM, "f1", mine).axes
    assert axes.get_legend_handles_labels()[1] == ["none", "expert"]
    x, y = axes.lines[3].get_data()
    # tn, fp and fn of the matrix and the prior: J ~ Beta(16, 6), F1 = 2J/(1 + J).
    np.testing.assert_allclose(y[3:-3], stats.beta(16, 6).pdf(x / (2 - x))[3:-3] * 2 / (2 - x[3:-3]) ** 2, rtol=1e-7)


@pytest.mark.slow
def test_systems_have_a_panel_each():
    figure = plots.prior_sensitivity(SYSTEMS, "recall", ["flat", "perks"])
    panels = [axes for axes in figure.axes if axes.lines]
    assert [axes.get_title() for axes in panels] == [f"s{i}" for i in range(9)]
    assert figure.get_size_inches()[0] < 15
    recall = bp.posterior(SYSTEMS, "perks")["recall"]
    x, y = panels[5].lines[3].get_data()
    np.testing.assert_allclose(y[3:-3], recall.sel(system="s5").pdf(x[3:-3]), rtol=1e-9)


def test_a_ratio_is_on_a_logarithmic_axis():
    figure = plots.prior_sensitivity(CM, "lr+", ["flat"])
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].get_ylabel() == "density of the logarithm"


def test_priors_are_drawn_beneath_their_posteriors():
    mine = {"none": "haldane", "mine": bp.prior.elicited(recall=(0.75, 0.95, 0.9)), "flat": "flat"}
    figure = plots.prior_sensitivity(CM, "recall", mine)
    (axes,) = figure.axes
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    expected = [stats.beta(*mine["mine"].betas()["recall"]), stats.beta(1, 1)]  # Haldane's has no density
    colours = {line.get_label(): line.get_color() for line in axes.lines}
    for line, beta, name in zip(dashed, expected, ["mine", "flat"], strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y[3:-3], beta.pdf(x[3:-3]), rtol=1e-9)
        assert line.get_color() == colours[name]
    assert figure.legends[0].get_texts()[-1].get_text() == "before the data"


@pytest.mark.slow
def test_a_prior_by_itself():
    known = bp.prior.elicited(recall=(0.75, 0.95, 0.9), specificity=0.9, weight=40)
    figure = known.plot()
    assert [axes.get_xlabel() for axes in figure.axes[:4]] == ["recall", "specificity", "precision", "prevalence"]
    assert figure.get_suptitle().startswith("Prior of the system's metric")
    x, y = figure.axes[1].lines[0].get_data()
    np.testing.assert_allclose(y[3:-3], stats.beta(36, 4).pdf(x[3:-3]), rtol=1e-9)
