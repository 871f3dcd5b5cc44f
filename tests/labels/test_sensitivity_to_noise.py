"""What rates of wrong labels do: against the algebra of large counts, and in words."""

import numpy as np
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf import plots
from bayesperf.labels.sensitivity_to_noise import _in_words

# Of which the algebra below has the F1s cross between 4 and 5 %.
TRUE_POSITIVE, FALSE_POSITIVE, POSITIVE, TOTAL = np.array([64, 50]), np.array([30, 22]), 70, 600


def systems(times=1, names=("eager", "careful")):
    tp, fp = times * TRUE_POSITIVE, times * FALSE_POSITIVE
    negatives = times * (TOTAL - POSITIVE)
    return bp.ConfusionMatrix.from_counts(
        tp=tp, fn=times * POSITIVE - tp, fp=fp, tn=negatives - fp, dims={"model": list(names)}
    )


def corrected_f1(rate):
    """Return the F1 of the true cells by solving for them: p = Eᵀθ (Rogan & Gladen, 1978)."""
    error = np.array([[1 - rate, rate], [rate, 1 - rate]])
    recorded = systems().counts.values
    cells = np.linalg.solve(error.T, recorded)
    return 2 * cells[:, 1, 1] / (cells[:, 1].sum(-1) + cells[:, :, 1].sum(-1))


def test_large_counts_have_the_figures_of_the_algebra():
    rates = [0, 0.005, 0.008]
    found = bp.labels.noise_sensitivity(systems(1000), "f1", rates)
    expected = np.array([corrected_f1(rate) for rate in rates])
    np.testing.assert_allclose(found["mean"], expected.ravel(), atol=0.01)
    assert (found["ci_upper"] - found["ci_lower"] < 0.02).all()


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([[1, 2], [1, 2], [1, 2]], "holds up to 6 % wrong labels, the most that was tried."),
        ([[1, 2], [1, 2], [2, 1]], "holds up to 3 % wrong labels: at 6 % it is another, and careful is the best."),
        ([[1, 2], [2, 1], [1, 2]], "holds if no label is wrong: at 3 % it is another, and careful is the best."),
    ],
)
def test_the_sentence_names_the_last_rate_of_the_same_order(ranks, said):
    coords = {"rate": [0, 0.03, 0.06], "model": ["eager", "careful"]}
    found = xr.Dataset({"rank": (tuple(coords), ranks)}, coords, {"metric": "f1", "dim": "model"})
    assert _in_words(found) == f"The order of 2 systems on F1 (eager and careful) {said}"


@pytest.mark.slow
def test_the_order_is_that_of_the_means():
    found = bp.labels.noise_sensitivity(systems(), "f1")
    means = found.pivot(index="rate", columns="model", values="mean")
    eager = (means["eager"] > means["careful"]).values
    assert eager[0]
    assert not eager[-1]
    np.testing.assert_array_equal(found[found["model"] == "eager"]["rank"] == 1, eager)
    last = means.index[np.argmin(eager) - 1]
    assert f"holds up to {100 * last:.0f} % wrong labels" in found.attrs["note"]
    assert found.attrs["note"].endswith("and careful is the best.")
    assert found.attrs["note"] in repr(found)


def test_less_of_an_error_is_better():
    # 36 and 42 errors.
    found = bp.labels.noise_sensitivity(systems(), "error_rate", [0, 0.01])
    assert found[found["model"] == "eager"]["rank"].tolist() == [1, 1]


def test_each_rate_is_the_posterior_at_that_rate():
    cm = systems().sel(model="eager")
    found = bp.labels.noise_sensitivity(cm, "recall", [0, 0.03], ci_prob=0.8, ci_kind="eti", random_seed=3)
    for at, rate in enumerate([0, 0.03]):
        recall = bp.labels.noise(cm, rate, random_seed=3)["recall"]
        assert found["mean"][at] == recall.mean()
        np.testing.assert_array_equal(found.loc[at, ["ci_lower", "ci_upper"]].astype(float), recall.eti(0.8))
    assert "80 % ETI" in found.attrs["note"]


def test_figures_have_a_line_a_system():
    found = bp.labels.noise_sensitivity(systems(), "f1", [0, 0.02, 0.04], draws=200)
    (axes,) = plots.noise_sensitivity(found).axes
    for line, name in zip(axes.lines, ["eager", "careful"], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), found[found["model"] == name]["mean"])


@pytest.mark.parametrize(
    ("rates", "words"),
    [([0.1], "two or more"), ([0.1, 0.1], "in increasing order"), ([0, 0.7], "between 0 and chance")],
)
def test_bad_rates(rates, words):
    with pytest.raises(ValueError, match=words):
        bp.labels.noise_sensitivity(systems(), "f1", rates, draws=10)


def test_other_leading_dims_are_refused():
    with pytest.raises(ValueError, match="besides that of the systems, 'fold', there is the dim 'model'"):
        bp.labels.noise_sensitivity(systems(), "f1", dim="fold", draws=10)
