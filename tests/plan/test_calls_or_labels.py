"""More calls or more labels for a prevalence: against simulations from a finite mixture, and limits from draws."""

import numpy as np
import pytest
from scipy import special, stats

import bayesperf as bp
from bayesperf.core.errors import InputError

VALIDATED = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399)


def mixture(y, n, recall, specificity):
    """Return how many positives are called right, and negatives wrong, and the log weights of each pair."""
    found, missed = np.ogrid[: y + 1, : n - y + 1]
    false, right = y - found, n - y - missed
    log = (
        np.log(special.binom(y, found)) + np.log(special.binom(n - y, missed))
        + special.betaln(found + recall[0], missed + recall[1])
        + special.betaln(right + specificity[0], false + specificity[1])
        + special.betaln(found + missed + 0.5, false + right + 0.5)
    )  # fmt: skip
    return found, missed, np.exp(log - special.logsumexp(log))


def hdi_width(x, density):
    """Return the length of the highest-density region of a density on a grid of equal steps."""
    order = np.argsort(-density)
    inside = np.searchsorted(np.cumsum(density[order]) / density.sum(), 0.95)
    return (inside + 1) * (x[1] - x[0])


@pytest.mark.slow
@pytest.mark.parametrize("more", ["calls", "labels"])
def test_expected_widths_are_those_of_simulated_data(more):
    """Truths from the exact posterior, a mixture of Betas; four times the calls, or labels, and a new posterior."""
    y, n, recall, specificity, rng = 12, 60, (17.5, 3.5), (40.5, 2.5), np.random.default_rng(0)
    _, _, weights = mixture(y, n, recall, specificity)
    widths = []
    for place in rng.choice(weights.size, 100, p=weights.ravel()):
        i, j = np.unravel_index(place, weights.shape)
        positives, false, right = i + j, y - i, n - y - j
        share = rng.beta(positives + 0.5, n - positives + 0.5)
        true = rng.beta(i + recall[0], j + recall[1]), rng.beta(right + specificity[0], false + specificity[1])
        if more == "calls":
            added = rng.binomial(180, share * true[0] + (1 - share) * (1 - true[1]))
            after = bp.labels.prevalence(y + added, {"recall": recall, "specificity": specificity}, n=240)
        else:
            a, b = rng.binomial(60, true[0]), rng.binomial(126, true[1])
            rates = (recall[0] + a, recall[1] + 60 - a), (specificity[0] + b, specificity[1] + 126 - b)
            after = bp.labels.prevalence(y, dict(zip(("recall", "specificity"), rates, strict=True)), n=n)
        widths.append(np.diff(after.hdi().values).item())
    plan = bp.plan.prevalence(y, {"recall": recall, "specificity": specificity}, n=n)
    error = np.std(widths) / np.sqrt(len(widths))
    assert plan.dataset["width"].sel(more=more, times=4).item() == pytest.approx(np.mean(widths), abs=3 * error)


def test_calls_without_end_leave_the_validation():
    """The proportion of positive calls is then known, and the prevalence is (p − fp)/(tp − fp)."""
    tp, fp, called = (103.5, 19.5), (8.5, 393.5), 0.1
    plan = bp.plan.prevalence(10**5, {"recall": tp, "specificity": fp[::-1]}, n=10**6)
    x, wrong = np.linspace(0, 0.2, 4001)[1:], np.linspace(0, 0.1, 4001)[None, 1:]
    right = (called - (1 - x[:, None]) * wrong) / x[:, None]
    of_errors = (stats.beta(*tp).pdf(right) / x[:, None] * stats.beta(*fp).pdf(wrong)).sum(1)
    expected = hdi_width(x, of_errors * stats.beta(0.5, 0.5).pdf(x))
    assert plan.dataset["width"].sel(more="calls", times=[1, np.inf]).values == pytest.approx(expected, rel=3e-3)
    said = (
        r"0\.01 cannot be reached with this validation: with endless calls the width is still .* more labels are enough"
    )
    with pytest.raises(bp.plan.UnreachableError, match=said) as unreachable:
        plan.calls_for(0.01)
    assert unreachable.value.limit == pytest.approx(expected, rel=3e-3)
    assert "More calls hardly help: add labels." in plan.in_words()


def test_labels_without_end_leave_the_calls():
    known = {"recall": (0.85e6, 0.15e6), "specificity": (0.98e6, 0.02e6)}
    plan = bp.plan.prevalence(120, known, n=1000)
    limit = np.diff(bp.labels.prevalence(120, {"recall": 0.85, "specificity": 0.98}, n=1000).hdi().values).item()
    assert plan.dataset["width"].sel(more="labels").values == pytest.approx(limit, rel=3e-3)
    # A fourth of the width takes sixteen times the calls.
    assert plan.calls_for(limit / 4) == pytest.approx(15_000, rel=0.05)
    assert plan.calls_for(1.1 * limit) == 0
    said = "with these calls: with endless labels the width is still .* more calls are enough"
    with pytest.raises(bp.plan.UnreachableError, match=said):
        plan.labels_for(limit / 2)


def test_numbers_and_words():
    plan = bp.plan.prevalence(50, VALIDATED, n=3330)
    assert (plan.calls, plan.labels) == (3330, 523)
    now = np.diff(bp.labels.prevalence(50, VALIDATED, n=3330).hdi().values).item()
    assert plan.dataset["width"].sel(times=1).values == pytest.approx(now, rel=3e-3)
    at_4 = plan.dataset["width"].sel(times=4)
    assert plan.labels_for(at_4.sel(more="labels").item()) == pytest.approx(3 * 523, abs=1)
    assert plan.calls_for(at_4.sel(more="calls").item()) == pytest.approx(3 * 3330, abs=1)
    assert plan.summary().set_index("plan")["labels"]["2 × labels"] == 1046
    for least, number in (("calls", plan.calls_for), ("labels", plan.labels_for)):
        with pytest.raises(bp.plan.UnreachableError, match=f"with endless {least} .* add both, about 13 times"):
            number(0.005)
    with pytest.raises(InputError, match="width must be above 0"):
        plan.calls_for(0)


@pytest.mark.parametrize(
    ("calls", "errors", "options", "message"),
    [
        ([5, 6], VALIDATED, {"n": 40}, "calls are of one population; these have the leading dims"),
        (
            ["a"],
            bp.ConfusionMatrix.from_predictions(list("abc"), list("abb")),
            {},
            "errors must be of two classes; they",
        ),
        (5, {"recall": 0.9, "specificity": (40, 1)}, {"n": 40}, "errors must be counts, or weights of Betas"),
        (5, {"recall": (0.9, 0.1), "specificity": (0.9, 0.1)}, {"n": 40}, "errors must come from at least one label"),
        (
            0,
            {"recall": (900, 100), "specificity": (5000, 5000)},
            {"n": 1000},
            "errors, prior: leave too few prevalences",
        ),
    ],
)
@pytest.mark.filterwarnings(
    "ignore:errors. with probability:UserWarning", "ignore:calls. fewer are positive:UserWarning"
)
def test_what_is_refused(calls, errors, options, message):
    with pytest.raises(InputError, match=message):
        bp.plan.prevalence(calls, errors, **options)
