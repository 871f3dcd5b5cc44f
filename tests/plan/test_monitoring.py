"""A system followed batch by batch: each step is the posterior of the sum so far."""

import html

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from scipy import special, stats

import bayesperf as bp
from bayesperf.core.words import REPEATED_LOOKS
from bayesperf.plan.anytime import anytime_of_limits

mpl.use("Agg")

TABLE = np.random.default_rng(3).integers(1, 12, (6, 2, 2, 2))
BATCHES = bp.ConfusionMatrix.from_table(TABLE, dims={"step": np.arange(1, 7), "model": ["old", "new"]})
NEW = BATCHES.sel(model="new")


def test_each_step_is_the_posterior_of_the_sum_so_far():
    data = bp.monitor(BATCHES, 0.5, "f1", prior="jeffreys", ci_prob=0.9, ci_kind="eti").dataset
    assert set(data["prob_met"].dims) == {"step", "model"}
    for step in (1, 3, 6):
        pooled = bp.posterior(BATCHES.sel(step=slice(1, step)).sum("step"), "jeffreys")["f1"]
        at = data.sel(step=step)
        np.testing.assert_allclose(at["mean"], pooled.mean(), rtol=1e-12)
        np.testing.assert_allclose(at["interval"].transpose(..., "ci_bound"), pooled.eti(0.9), rtol=1e-12)
        np.testing.assert_allclose(at["prob_met"], pooled.prob_above(0.5), rtol=1e-12)
        np.testing.assert_array_equal(at["examples"], TABLE[:step].sum((0, 2, 3)))
    assert {"ci_kind": "eti", "ci_prob": 0.9, "metric": "f1", "requirement": 0.5}.items() <= data.attrs.items()


def test_figures_by_hand():
    data = bp.monitor(NEW, 0.4, "recall").dataset
    fn, tp = TABLE[:, 1, 1].cumsum(0).T
    np.testing.assert_allclose(data["prob_met"], stats.beta(tp + 0.5, fn + 0.5).sf(0.4), rtol=1e-12)
    np.testing.assert_allclose(data["mean"], (tp + 0.5) / (tp + fn + 1), rtol=1e-12)
    # Less is better: the requirement is met below the bound.
    missed = bp.monitor(NEW, 0.6, "fnr").dataset
    np.testing.assert_allclose(missed["prob_met"], data["prob_met"], rtol=1e-12)


def test_batches_are_updates():
    post = bp.posterior(NEW.isel(step=0))
    data = bp.monitor(NEW, 0.5).dataset
    for step in range(1, 6):
        post = post.update(bp.ConfusionMatrix(NEW.isel(step=step).counts.assign_coords(step=1)))
        assert data["prob_met"][step].item() == pytest.approx(post["recall"].prob_above(0.5).item(), abs=1e-12)


def test_the_order_of_batches_does_not_change_the_end():
    turned = bp.ConfusionMatrix.from_table(TABLE[::-1, 1], dims={"step": np.arange(6)})
    ends = [bp.monitor(cm, 0.5).dataset["prob_met"][-1].item() for cm in (NEW, turned)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-14)


@pytest.mark.slow
def test_what_stopping_early_does():
    # The figures of the documentation: 20 batches of 10 positives, flat prior, stopped once P(recall > 0.7) ≥ .95.
    runs, rng = 20_000, np.random.default_rng(1)

    def probabilities(recall):
        found = np.cumsum(rng.binomial(10, recall, (20, runs)), 0)
        positives = 10 * np.arange(1, 21)[:, None]
        return special.betaincc(1 + found, 1 + positives - found, 0.7)

    exactly = probabilities(0.7)
    at_the_end, at_any = (exactly[-1] >= 0.95).mean(), (exactly >= 0.95).any(0).mean()
    assert at_the_end == pytest.approx(0.05, abs=0.005 + 4 * np.sqrt(0.05 * 0.95 / runs))
    assert at_any == pytest.approx(0.19, abs=0.005 + 4 * np.sqrt(0.19 * 0.81 / runs))
    # Of systems that the prior describes the share that meets it is what was said, whenever one stops.
    recall = rng.random(runs)
    stopped = (probabilities(recall) >= 0.95).any(0)
    met = (recall[stopped] > 0.7).mean()
    assert met >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / stopped.sum())
    # And what was simulated is what the function computes.
    one = rng.binomial(10, 0.7, 20)
    batches = xr.DataArray(one, {"step": np.arange(20)}, "step")
    counts = bp.ConfusionMatrix.from_counts(tp=batches, fn=10 - batches, fp=0, tn=0)
    data = bp.monitor(counts, 0.7, prior="flat").dataset
    found = one.cumsum()
    np.testing.assert_allclose(data["prob_met"], special.betaincc(1 + found, 1 + data["examples"] - found, 0.7))


# ── However often you look ──


def weeks(found, size=10):
    return bp.ConfusionMatrix.from_table([[[9, 1], [size - tp, tp]] for tp in found], dims=["week"])


def test_the_limits_are_what_all_sequences_so_far_have_in_common():
    data = bp.monitor(BATCHES, 0.5, "precision", ci_prob=0.8).dataset
    tp, fp = TABLE[..., 1, 1].cumsum(0), TABLE[..., 0, 1].cumsum(0)
    each = bp.intervals.confidence_sequence(tp, tp + fp, confidence=0.8)
    for step in range(6):
        np.testing.assert_array_equal(data["anytime_lower"][step], each[: step + 1, :, 0].max(0))
        np.testing.assert_array_equal(data["anytime_upper"][step], each[: step + 1, :, 1].min(0))
    # Neither the prior nor the other dims have a part in it.
    alone = bp.monitor(NEW, 0.5, "precision", prior="flat", ci_prob=0.8).dataset
    np.testing.assert_array_equal(alone["anytime_lower"], data["anytime_lower"].sel(model="new"))


@pytest.mark.parametrize(
    ("better", "requirement", "verdict"),
    [(1, 0.5, "met"), (1, 0.51, "open"), (1, 0.8, "open"), (1, 0.81, "missed"),
     (-1, 0.8, "met"), (-1, 0.79, "open"), (-1, 0.5, "open"), (-1, 0.49, "missed")],
)  # fmt: skip
def test_a_limit_at_the_requirement_meets_it(better, requirement, verdict):
    limits = xr.DataArray([[0.4, 0.8], [0.5, 0.9]], {"ci_bound": ["lower", "upper"]}, ("step", "ci_bound"))
    found = anytime_of_limits(limits, requirement, better, "step")["anytime_verdict"]
    assert found.values[-1] == verdict


@pytest.mark.slow
def test_verdicts():
    good, bad = (bp.monitor(weeks([tp] * 12), 0.7, dim="week") for tp in (9, 4))
    for monitor, verdict, passed in ((good, "met", "anytime_lower"), (bad, "missed", "anytime_upper")):
        verdicts = monitor.dataset["anytime_verdict"].values.tolist()
        first = verdicts.index(verdict)
        assert verdicts == ["open"] * first + [verdict] * (12 - first)
        limit = monitor.dataset[passed].values
        assert ((limit >= 0.7) == (limit[-1] >= 0.7))[first:].all()
    # Of what is better the less of it there is, it is the other way round.
    for monitor, tp in ((good, 9), (bad, 4)):
        mirrored = bp.monitor(weeks([tp] * 12), 1 - 0.7, "fnr", dim="week").dataset
        assert mirrored["anytime_verdict"].values.tolist() == monitor.dataset["anytime_verdict"].values.tolist()
    lower, upper = (good.dataset[f"anytime_{end}"].values[-1] for end in ("lower", "upper"))
    said = "However often you look, with 95 % confidence recall is between"
    assert f"{said} {lower:.3f} and {upper:.3f}, and so at least 0.7." in good.in_words()
    assert ", and so not at least 0.7." in bad.in_words()
    assert good.plot().axes[1].get_legend().get_texts()[0].get_text() == "settled by the confidence sequence"


def test_batches_that_differ_contradict_each_other():
    monitor = bp.monitor(weeks([10] * 10 + [0] * 10), 0.6, dim="week")
    last = monitor.dataset.isel(week=-1)
    assert last["anytime_verdict"] == "contradicted"
    assert np.isnan([last["anytime_lower"], last["anytime_upper"]]).all()
    assert "recall is nowhere: no value is in the intervals of all looks. It has changed" in monitor.in_words()


@pytest.mark.slow
def test_metrics_that_are_no_share_have_no_sequence():
    monitor = bp.monitor(NEW, 0.5, "f1")
    assert not [name for name in monitor.dataset if "anytime" in str(name)]
    assert "As F1 is not a proportion of independent examples, no interval here is valid" in monitor.in_words()
    assert monitor.in_words().startswith("After 6 steps: F1 is ")
    assert "sequence" not in " ".join(text.get_text() for text in monitor.plot().axes[0].get_legend().get_texts())


def test_steps_without_trials_say_nothing():
    none = bp.ConfusionMatrix.from_table([[[9, 1], [0, 0]], [[8, 2], [0, 0]]], dims=["week"])
    empty = bp.monitor(none, 0.5, "recall", dim="week").dataset
    assert empty["anytime_lower"].values.tolist() == [0, 0]
    assert empty["anytime_upper"].values.tolist() == [1, 1]
    assert empty["anytime_verdict"].values.tolist() == ["open", "open"]


def test_several_systems_and_classes_in_words():
    text = bp.monitor(BATCHES, 0.9).in_words()
    assert "recall is for old between " in text
    assert "; for new between " in text
    per_class = bp.monitor(NEW, 0.9, "recall_per_class").dataset
    one = bp.monitor(NEW, 0.9).dataset
    np.testing.assert_array_equal(per_class["anytime_lower"].sel(label=1), one["anytime_lower"])
    many = bp.ConfusionMatrix.from_table(np.tile([[8, 2], [10, 10]], (2, 7, 1, 1)), dims=["step", "model"])
    assert "95 % confidence each, the requirement (recall at least 0.5) is open for 7." in (
        bp.monitor(many, 0.5).in_words()
    )


@pytest.mark.slow
@pytest.mark.parametrize("cm", [NEW, BATCHES], ids=["one", "two systems"])
def test_the_figure_shows_the_dataset(cm):
    monitor = bp.monitor(cm, 0.5, "precision", ci_prob=0.8)
    figure = monitor.plot()
    top, bottom = figure.axes
    expected = monitor.dataset["prob_met"].transpose(..., "step").values.reshape(-1, 6)
    np.testing.assert_array_equal([line.get_ydata() for line in bottom.lines], expected)
    systems = monitor.dataset.transpose(..., "step")
    means, dotted = ([line.get_ydata() for line in top.lines if line.get_linestyle() == style] for style in "-:")
    np.testing.assert_array_equal(means, systems["mean"].values.reshape(-1, 6))
    limits = np.stack([systems[f"anytime_{end}"].values.reshape(-1, 6) for end in ("lower", "upper")], 1)
    # The last is that of the legend.
    np.testing.assert_array_equal(dotted[:-1], limits.reshape(-1, 6))
    assert "mean and 80 % highest-density interval" in figure.get_suptitle()
    assert top.get_ylabel() == "precision"
    assert (bottom.get_xlabel(), bottom.get_ylabel()) == ("examples so far, step by step", "P(precision ≥ 0.5)")
    names = ["old", "new"] if cm is BATCHES else ["posterior mean"]
    labels = [text.get_text() for text in top.get_legend().get_texts()]
    sequence = "80 % confidence sequence: however often you look"
    assert labels == ["required: ≥ 0.5", *names, "80 % HDI after each step", sequence]
    assert "prob_met" in repr(monitor)
    assert "prob_met" in monitor._repr_html_()
    # How often one looked is said beside the figures.
    for text in (repr(monitor), html.unescape(monitor._repr_html_()), " ".join(figure.get_supxlabel().split())):
        assert REPEATED_LOOKS in text


BAD = {
    "kind": ({"cm": bp.posterior(NEW)}, "cm must be a ConfusionMatrix or Outcomes; it is Posterior"),
    "dim": ({"dim": "day"}, r"dim: 'day' is not a leading dim; they are \['step'\]. Name that of the batches"),
    "requirement": (
        {"requirement": 1.2},
        "requirement must be between 0 and 1, both excluded, as recall is; it is 1.2",
    ),
    "direction": ({"metric": "prevalence"}, "metric 'prevalence' has no one direction that is better"),
    "interval": ({"ci_prob": 95}, "ci_prob must be a number between 0 and 1"),
    "kind of interval": ({"ci_kind": "wald"}, "kind must be one of 'hdi', 'eti'; it is 'wald'"),
}


@pytest.mark.parametrize(("change", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_in_words(change, words):
    with pytest.raises((ValueError, TypeError), match=words):
        bp.monitor(**{"cm": NEW, "requirement": 0.5, **change})


# ── Differences of two systems ──

RNG = np.random.default_rng(6)
TRUTH, WEEK = RNG.integers(0, 2, 400), np.repeat([1, 2, 3, 4], 100)
OLD = np.where(RNG.random(400) < 0.3, 1 - TRUTH, TRUTH)
BETTER = np.where(RNG.random(400) < 0.5, TRUTH, OLD)
PAIRED = bp.ConfusionMatrix.from_predictions(TRUTH, {"new": BETTER, "old": OLD}, by={"week": WEEK})
APART = bp.ConfusionMatrix(PAIRED.counts.drop_attrs(), 1)


def test_a_difference_on_the_same_examples_is_that_of_the_sum_so_far():
    found = bp.monitor(PAIRED, 0, "accuracy", dim="week", versus=("new", "old"))
    data = found.dataset
    gained, lost = ((BETTER == TRUTH) & (OLD != TRUTH)), ((BETTER != TRUTH) & (OLD == TRUTH))
    so_far = [[side[week >= WEEK].sum() for week in range(1, 5)] for side in (gained, lost)]
    limits = bp.intervals.paired_sequence(*so_far, [100, 200, 300, 400])
    np.testing.assert_allclose(data["anytime_lower"], np.maximum.accumulate(limits[:, 0]))
    np.testing.assert_allclose(data["anytime_upper"], np.minimum.accumulate(limits[:, 1]))
    last = bp.compare(PAIRED.sum("week"), metric="accuracy").difference
    assert data["mean"][-1].item() == pytest.approx(last.mean().item())
    assert data["prob_met"][-1].item() == pytest.approx(last.prob_above(0).item())
    assert data["anytime_verdict"].values[-1] == "met"
    assert "the difference of accuracy is between" in found.in_words()
    assert data["examples"].values.tolist() == [100, 200, 300, 400]


def test_a_difference_on_other_examples_and_of_metrics_of_which_less_is_better():
    data = bp.monitor(APART, 0, "accuracy", dim="week", versus=("new", "old")).dataset
    right = APART.counts.values[:, :, [0, 1], [0, 1]].sum(-1).cumsum(0)
    limits = bp.intervals.difference_sequence(right[:, 0], [100, 200, 300, 400], right[:, 1], [100, 200, 300, 400])
    np.testing.assert_allclose(data["anytime_lower"], np.maximum.accumulate(limits[:, 0]))
    errors = bp.monitor(APART, 0, "error_rate", dim="week", versus=("new", "old")).dataset
    np.testing.assert_allclose(errors["anytime_upper"], -data["anytime_lower"])
    np.testing.assert_allclose(errors["prob_met"], data["prob_met"], atol=1e-6)
    assert errors["anytime_verdict"].values.tolist() == data["anytime_verdict"].values.tolist()
    assert "anytime_lower" not in bp.monitor(PAIRED, 0, "f1", dim="week", versus=("new", "old")).dataset


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"versus": ("new", "older")}, "versus: 'older' is no model"),
        ({"versus": "new"}, "versus must name two systems"),
        ({"versus": ("new", "old"), "requirement": 2}, "requirement must be a possible difference"),
        ({"versus": ("new", "old"), "metric": "prevalence"}, "has no one direction that is better"),
    ],
)
def test_refused_differences(arguments, message):
    with pytest.raises(ValueError, match=message):
        bp.monitor(PAIRED, **{"requirement": 0, "metric": "accuracy", "dim": "week"} | arguments)
