"""Comparisons against published figures and other packages."""

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.distributions.differences import discordant
from tests.shared.counts import pair_of
from tests.shared.golden import golden
from tests.shared.systems import CM, A, B, N, alone, compared, counts

GOLDEN = golden("compared")["cases"]


def hits(tp, fp, fn):
    """Return a posterior of what F1 is of."""
    return counts(tp=tp, fp=fp, fn=fn, tn=9)


# ── Published figures ──


def test_recall_of_the_thesis():
    found = compared(counts(tp=3, fn=3), counts(tp=10, fn=5), "recall")
    assert found.prob_greater.item() == pytest.approx(0.2387939157, abs=1e-10)
    assert found.difference.method == "quadrature"


@pytest.mark.parametrize(
    ("second", "prior", "expected", "digits"),
    [
        ((3, 2, 3), "jeffreys", 0.42631, 5),
        ((3, 2, 3), "flat", 0.42041, 5),
        ((3, 10, 3), "flat", 0.08, 2),
        ((3, 10, 3), "jeffreys", 0.073, 3),
    ],
)
def test_f1_of_the_thesis(second, prior, expected, digits):
    found = compared(hits(*second), hits(10, 10, 5), "f1", prior)
    assert found.prob_greater.item() == pytest.approx(expected, abs=0.5 * 10**-digits)


@pytest.mark.slow
def test_mcc_of_caelen():
    # θ of either system, and what new test sets of the same size show.
    a, b = bp.posterior(A, "haldane", draws=N), bp.posterior(B, "haldane", draws=N)
    error = 4 * 0.5 / np.sqrt(N)
    assert bp.compare(a, b, "mcc", independent=True).prob_greater.item() == pytest.approx(0.875, abs=0.0005 + error)
    assert bp.compare(b, "chance", "mcc", draws=N).prob_greater.item() == pytest.approx(0.976, abs=0.0005 + error)
    predictions = bp.compare(a.predict(draws=N), b.predict(draws=N), "mcc", independent=True)
    assert predictions.prob_greater.item() == pytest.approx(0.79, abs=0.005 + error)
    assert bp.compare(b.predict(draws=N), "chance", "mcc").prob_greater.item() == pytest.approx(0.92, abs=0.005 + error)


# ── Other packages ──


def of_kind(kind):
    chosen = [case for case in GOLDEN if case["kind"] == kind]
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in chosen])


def check_peer(case, ours, own=0.0):
    """Ours may be four standard errors of a peer's mean away, and our own error besides."""
    for name, (mean, s) in case.get("figures", {}).items():
        allowed = 4 * s / np.sqrt(case["n_seeds"]) + (own if np.isscalar(own) else own[name])
        assert ours[name] == pytest.approx(mean, rel=0, abs=allowed), name


def test_the_table_is_whole():
    kinds = pd.Series([case["kind"] for case in GOLDEN]).value_counts()
    assert kinds.to_dict() == {"rates": 7, "paired": 7, "matrices": 4, "f1": 3, "chance": 2}


@of_kind("rates")
def test_rates_of_peers(case):
    k1, l1, k2, l2, weight = case["inputs"].values()
    found = compared(counts(tp=k1, fn=l1), counts(tp=k2, fn=l2), "recall", bp.prior.rate(weight, weight))
    # Their references are good to about 1e-9.
    assert found.prob_greater.item() == pytest.approx(case["prob_greater"], rel=0, abs=1e-9)
    check_peer(case, {"prob_greater": found.prob_greater.item()})


@of_kind("f1")
def test_f1_of_peers(case):
    tp1, fp1, fn1, tp2, fp2, fn2, weight = case["inputs"].values()
    found = compared(hits(tp1, fp1, fn1), hits(tp2, fp2, fn2), "f1", bp.prior.rate(weight, weight))
    assert found.prob_greater.item() == pytest.approx(case["prob_greater"], rel=0, abs=1e-9)
    check_peer(case, {"prob_greater": found.prob_greater.item()})


@of_kind("paired")
def test_shares_of_the_same_examples_of_peers(case):
    (one, other, both), weights = case["inputs"]["n"], case["inputs"]["lambda_"]
    # Each of the eight joint cells has half the pseudo-count of a system's: two of them are right for one system only.
    actual, first = [1] * (one + other + both), [1] * one + [0] * other + [1] * both
    pair = pair_of(actual, first, [0] * one + [1] * (other + both), labels=[0, 1])
    found = alone(bp.compare(pair, metric="accuracy", prior=bp.prior.dirichlet(weights[0])))
    assert found.prob_greater.item() == pytest.approx(case["prob_greater"], rel=1e-9)
    check_peer(case, {"prob_greater": found.prob_greater.item()})
    if "mean" in case:
        assert found.difference.mean().item() == pytest.approx(case["mean"], rel=1e-12)
    # The rest of their weights differs from ours, and does not matter for which is greater.
    apart = discordant(*(np.array([n + w]) for n, w in zip((one, other, both), weights, strict=True)))
    assert apart.sf(np.zeros((1, 1)))[0, 0] == pytest.approx(case["prob_greater"], rel=1e-9)


@pytest.mark.slow
@of_kind("matrices")
def test_matrices_of_peers(case):
    sides = []
    for name in ("confusion_matrix_a", "confusion_matrix_b"):
        cm = CM.from_table(case[name])
        weights = cm.counts.sum("predicted").values + case["prevalence_prior"]
        prior = bp.prior.dirichlet(case["confusion_prior"])
        by_row = bp.posterior(cm, prior, design="by_actual", draws=N)
        # Without a prior their model is a Dirichlet of the whole matrix; balanced accuracy needs no prevalence.
        whole = case["confusion_prior"] == 0
        sides.append(bp.posterior(cm, prior) if whole else by_row.at_prevalence(tuple(weights[::-1].tolist())))
    metric = {"acc": "accuracy", "ba": "balanced_accuracy", "mcc": "mcc"}[case["metric"]]
    found = bp.compare(*sides, metric, rope=case["rope"], draws=N, independent=True)
    sd = case["figures"]["sd"][0]
    if found.difference.method == "draws":
        # Ends of shortest intervals of draws converge with the cube root of their number.
        own = {
            "mean": 4 / np.sqrt(N),
            "sd": 4 / np.sqrt(2 * N),
            "median": 5 / np.sqrt(N),
            "ci_lower": 0.06,
            "ci_upper": 0.06,
        }
        own = {name: sd * error for name, error in own.items()}
        own |= dict.fromkeys(("prob_greater", "below", "inside", "above"), 4 * 0.5 / np.sqrt(N))
    else:
        # Little is left for s, which is itself an estimate; the ends of their intervals are of draws.
        own = dict.fromkeys(case["figures"], 1e-4)
    check_peer(case, found.summary().iloc[0], own)


@of_kind("chance")
def test_informedness_of_a_peer(case):
    post = bp.posterior(counts(**case["counts"]), "flat")
    found = bp.compare(post, "chance", "informedness", rope=case["rope"], draws=N).prob_rope
    ours = {name: found.sel(rope=name).item() for name in ("inside", "above")}
    ours["harmful"] = 1 - bp.compare(post, "chance", "informedness", draws=N).prob_greater.item()
    check_peer(case, ours, {name: 4 * np.sqrt(max(p * (1 - p), 1e-5) / N) for name, (p, _) in case["figures"].items()})


def test_a_system_that_calls_nothing_positive_is_not_better_than_the_majority():
    # prob-conf-mat calls it "certainly better than random" on accuracy, of a random rule with even odds.
    post = bp.posterior(CM.from_table([[950, 0], [50, 0]]))
    assert bp.compare(post, "majority", "accuracy").prob_greater.item() == pytest.approx(0.5, abs=4 * 0.005)
