"""The figures of other packages, on the same inputs.

The tables in ``golden/`` hold what bob.measure, credible, mvtk and prob-conf-mat (with three smaller ones) return, and
independent references beside them. Where a peer is wrong (``known_defect``) the reference counts, and our figure must
differ from the peer's.

A Monte Carlo figure of a peer is a mean over m seeds with the standard deviation s of one run: its standard error is
s/√m, and ours may be four of them away, and further by our own error where we draw as well.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp

GOLDEN = Path(__file__).parents[1] / "golden"
TABLES = {
    name: json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("bob", "credible", "mvtk", "pcm")
}
DRAWS = 100_000


def cases(table, having="id"):
    """Run a test for every case of a table that has some entry."""
    chosen = [case for case in TABLES[table]["cases"] if having in case]
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in chosen])


def rate_counts(successes, failures):
    """Return a matrix whose recall is a rate of so many successes and failures."""
    return bp.ConfusionMatrix.from_counts(tp=successes, fn=failures, fp=0, tn=0)


# ── bob.measure and credible: Beta(λ, λ) on each rate, equal-tailed intervals ──


def test_the_tables_are_whole():
    sizes = {name: len(table["cases"]) for name, table in TABLES.items()}
    assert sizes == {"bob": 42, "credible": 35, "mvtk": 47, "pcm": 24}


def goutte_gaussier(inputs):
    """Return the matrix and the posterior that a function of bob.measure or credible means."""
    if "tp" in inputs:
        cm = bp.ConfusionMatrix.from_counts(
            **{"tn": 0, **{k: inputs[k] for k in ("tp", "fn", "fp", "tn") if k in inputs}}
        )
    else:
        cm = rate_counts(*list(inputs.values())[:2])
    weight = inputs["lambda_"]
    return cm, bp.posterior(cm, bp.prior.rate(weight, weight))


def check_rates(case):
    inputs, outputs = case["inputs"], case["outputs"]
    cm, post = goutte_gaussier(inputs)
    by_metric = {"recall": outputs} if "lower" in outputs else outputs
    for metric, figures in by_metric.items():
        lower, upper = post[metric].eti(inputs["coverage"]).values
        ours = {
            "point": bp.score(cm, metric).item(),
            "mean": post[metric].mean().item(),
            "mode": post[metric].mode().item(),
            "lower": lower,
            "upper": upper,
        }
        # Of a flat density they call the lower end the mode, and with two equal peaks some version 0, some ½.
        a, b = post[metric].distribution.a.item(), post[metric].distribution.b.item()
        no_single_mode = a == b and a <= 1
        for name in figures.keys() - ({"mode"} if no_single_mode else set()):
            assert ours[name] == pytest.approx(figures[name], rel=1e-9, abs=0), (metric, name)


def check_f1(case):
    inputs, outputs, exact = case["inputs"], case["outputs"], case["exact_reference"]
    cm, post = goutte_gaussier(inputs)
    lower, upper = post["f1"].eti(inputs["coverage"]).values
    ours = {"mean": post["f1"].mean().item(), "lower": lower, "upper": upper}
    reference = {"mean": exact["mean"], **dict(zip(("lower", "upper"), exact["interval"], strict=True))}
    assert ours == pytest.approx(reference, rel=1e-9, abs=0)
    ours["point"] = bp.score(cm, "f1").item()
    for name in outputs.keys() - {"mode"}:
        error = 4 * outputs[name]["sd"] / case["n_seeds"] ** 0.5
        assert ours[name] == pytest.approx(outputs[name]["mean"], rel=1e-12, abs=error), name


def check_far_frr(case):
    inputs = case["inputs"]
    scores = inputs["negatives"] + inputs["positives"]
    actual = np.repeat([0, 1], [len(inputs["negatives"]), len(inputs["positives"])])
    cm = bp.ConfusionMatrix.from_scores(actual, scores, thresholds=inputs["threshold"])
    ours = {name: bp.score(cm, name).item() for name in ("far", "frr")}
    assert ours == pytest.approx(case["outputs"], rel=1e-15, abs=0)


@cases("bob")
def test_bob(case):
    check = check_far_frr if case["function"] == "farfrr" else check_f1 if "f1" in case["function"] else check_rates
    check(case)


@cases("credible")
def test_credible(case):
    (check_f1 if "f1" in case["function"] else check_rates)(case)


# ── mvtk: Beta(a, b) on a rate ──


@cases("mvtk")
def test_mvtk(case):
    inputs = case["inputs"]
    successes, failures, (a, b) = inputs["positive"], inputs["negative"], inputs["prior"]
    rate = bp.posterior(rate_counts(successes, failures), bp.prior.rate(a, b))["recall"]
    if "cutoff" in inputs:
        assert rate.prob_below(inputs["cutoff"]).item() == pytest.approx(case["outputs"]["prob"], rel=1e-12)
        return
    prob, exact = inputs["credibility"], case["exact_reference"]
    hdi, eti = rate.hdi(prob).values, rate.eti(prob).values
    assert eti == pytest.approx(exact["equal_tailed"], rel=1e-9, abs=0)
    if exact["hdi"]:  # Found by minimising the width, which leaves about half the digits.
        assert hdi == pytest.approx(exact["hdi"], rel=0, abs=1e-8)
    else:  # A monotone density: the interval begins at the end where it is highest.
        tail = stats.beta(successes + a, failures + b).ppf([prob, 1 - prob])
        assert hdi == pytest.approx([0, tail[0]] if successes == 0 else [tail[1], 1], rel=1e-9, abs=0)
    if "known_defect" in case:  # Neither interval: it is built around cdf(mean), and runs to 0 or 1.
        theirs = [case["outputs"]["lower"], case["outputs"]["upper"]]
        assert min(np.abs(hdi - theirs).max(), np.abs(eti - theirs).max()) > 0.01


# ── prob-conf-mat, mcmetrics, classifier-uncertainty and the code of Tötsch & Hoffmann ──

NAMES = {
    "ba": "balanced_accuracy",
    "fbeta+beta=2.0": "f2",
    "pwkappa+power=2": "weighted_kappa",
    "adjacc": "off_by_one",
    "f1 score": "f1",
    "jaccard index": "jaccard",
    "cohens kappa": "cohen_kappa",
    "matthews correlation coefficient": "mcc",
    "bookmaker_informedness": "informedness",
    "bm": "informedness",
    "mk": "markedness",
    "mean_expense(1,5)": bp.metrics.cost([[0, 1], [5, 1]]),
    "mse": bp.metrics.cost(np.subtract.outer(np.arange(5), np.arange(5)) ** 2),
}
"""Ours for theirs, where it is no alias."""

REPEATED = {"cohens kappa", "matthews correlation coefficient"}
"""What mcmetrics repeats for each class of two."""

OWN_ERROR = {"draws": [0.015] * 3 + [0.12] * 2 + [0.06] * 2, "exact": [0.003] * 3 + [0.01] * 4}
"""What is allowed beside the peer's error, by column, in standard deviations of the distribution.

Of 100,000 draws, four standard errors are about 0.015 for mean, standard deviation and median, and 0.06 for the ends of
an equal-tailed interval of a skewed distribution; the ends of a shortest one converge with the cube root. Where ours is
exact, little is left for s, which is itself an estimate.
"""


def relative_value(tp, fn, fp, tn):
    """Wilks (2001), at a cost of 0.2 of the loss: the share of the possible saving on always or never acting."""
    ratio, prevalence = 0.2, (tp + fn) / (tp + fn + fp + tn)
    climate, perfect = np.minimum(ratio, prevalence), ratio * prevalence
    expense = (ratio * (tp + fp) + fn) / (tp + fn + fp + tn)
    return (climate - expense) / (climate - perfect)


@pytest.fixture(autouse=True)
def relative_value_metric():
    bp.metrics.register("relative_value(0.2)", relative_value)
    yield
    bp.metrics.unregister("relative_value(0.2)")


def matrices(case):
    """Return the counts of a case as a ConfusionMatrix, with a dim fold if there are several."""
    if "counts" in case:
        return bp.ConfusionMatrix.from_counts(**{cell.lower(): count for cell, count in case["counts"].items()})
    if "folds" in case:
        return bp.ConfusionMatrix.from_table(case["folds"], dims=["fold"])
    return bp.ConfusionMatrix.from_table(case["confusion_matrix"])


def factorised(cm, prior, prevalence):
    """Return the posterior with rows Dirichlet(counts + prior) and, apart from them, a prevalence of its own.

    `prevalence` is the share of class 1, or Dirichlet weights. The posterior is that of a Dirichlet on the whole matrix
    if these are its row sums, and else is not.
    """
    prior = bp.prior.dirichlet(prior)
    if len(cm.labels) == 2:
        weights = prevalence if np.ndim(prevalence) == 0 else tuple(prevalence[::-1])
        return bp.posterior(cm, prior, design="by_actual", draws=DRAWS).at_prevalence(weights)
    # Of more classes at_prevalence takes shares only. The rows of joint draws are those wanted, whatever their sums.
    tree = bp.posterior(cm, prior).to_datatree(["accuracy"], draws=DRAWS, chains=1)
    cells = tree["posterior"]["cells"]
    shares = xr.DataArray(np.random.default_rng(1).dirichlet(prevalence, DRAWS), dims=("draw", "actual"))
    tree["posterior"]["cells"] = cells / cells.sum("predicted") * shares
    return bp.Posterior.from_datatree(tree)


def posterior(case):
    cm = matrices(case)
    total = cm.counts.sum("predicted").values.reshape(-1, len(cm.labels))[0]
    match case:
        case {"prevalence_prior": alpha, "confusion_prior": a}:  # prob-conf-mat
            alpha, a = np.array(alpha), np.array(a)
        case {"prior": {"TPR": [a, _]}} | {"prior": [a, _]}:  # three Betas alike
            alpha = a
        case {"prior": a}:  # mcmetrics: a Dirichlet on the whole matrix
            return bp.posterior(cm, bp.prior.dirichlet(a), draws=DRAWS)
    if case.get("equals_whole_matrix_dirichlet"):
        return bp.posterior(cm, bp.prior.dirichlet(a), draws=DRAWS)
    nothing = bp.ConfusionMatrix(0 * cm.counts)
    if case.get("sampling_method") == "prior":
        return factorised(nothing, a, 0 * total + alpha)
    if case.get("sampling_method") == "random":  # As many examples in each row, spread evenly over it.
        return factorised(nothing, a + np.tile(total[:, None] / len(total), len(total)), total + alpha)
    return factorised(cm, a, case.get("prevalence", total + alpha))


def asked(name):
    """Return our metric for a peer's name, as ``f1|class=1|fold_0``, and where in the leading dims it is."""
    base, *places = name.split("|")
    base = base.removeprefix("log_").lower()
    metric = NAMES.get(base, base.replace("@", "_").replace(" ", "_"))
    if base in REPEATED:
        return metric, ()
    if "class=" in name:
        metric += "_per_class"
    return metric, tuple(int(place[-1]) for place in reversed(places))


def marginal(post, metric, case):
    if metric != "accuracy_per_class":
        return post[metric]
    # Of one class against the rest, the prior of whose cells is the sum over the cells that they stand for.
    rest = len(post.labels) - 1
    prior = bp.prior.dirichlet(case["prior"] * np.array([[rest**2, rest], [rest, 1]]))
    return bp.posterior(matrices(case).one_vs_rest(), prior)["accuracy"]


def seven(marginal):
    """Return mean, sd, median, and the ends of the 95 % highest-density and equal-tailed interval."""
    ends = [kind.sel(ci_bound=end) for kind in (marginal.hdi(0.95), marginal.eti(0.95)) for end in ("lower", "upper")]
    return np.stack([column.values for column in (marginal.mean(), marginal.sd(), marginal.median(), *ends)])


def differences(case, wanted):
    """Return the figures in which we differ from the peer by more than both errors, or from the exact ones at all."""
    post, known, found = posterior(case), {}, []
    for source, name in wanted:
        metric, where = asked(name)
        if str(metric) not in known:
            found_marginal = marginal(post, metric, case)
            known[str(metric)] = seven(found_marginal), found_marginal.method
        values, method = known[str(metric)]
        ours = values[:, *where].copy()
        if name.startswith("log_"):  # Of a logarithm only the quantiles follow.
            ours[[0, 1, 3, 4]] = np.nan
            ours = np.log(ours)
        if source == "figures":
            theirs, spread = np.array(case["figures"][name], dtype=float)
            own = np.array(OWN_ERROR["draws" if method == "draws" else "exact"]) * theirs[1]
            error = np.hypot(4 * spread / np.sqrt(case["n_seeds"]), own)
        else:
            theirs = np.array(case["exact"][name], dtype=float)
            error = np.array(OWN_ERROR["draws"]) * theirs[1] if method == "draws" else 1e-6 * np.abs(theirs)
        compared = np.isfinite(ours) & np.isfinite(theirs)
        assert compared.sum() >= 2, name
        columns = np.array(TABLES["pcm"]["columns"])[compared & ~(np.abs(ours - theirs) <= error)]
        found += [(source, name, str(column)) for column in columns]
    return found


# More of the same kinds as the others: perfect, large, of many classes, unequal folds, of few positives.
MORE = {"S08", "S10", "S14", "S16", "A03", "U03"}


@pytest.mark.few
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"], marks=[pytest.mark.slow] * (case["id"] in MORE))
        for case in TABLES["pcm"]["cases"]
    ],
)
def test_pcm(case):
    wanted = [(source, name) for source in ("figures", "exact") for name in case.get(source, {})]
    defects = {("figures", name) for name in case.get("defect_fields", [])}
    assert not differences(case, [item for item in wanted if item not in defects])


@cases("pcm", "defect_fields")
def test_pcm_defects(case):
    # mcmetrics takes TP + FP for the positives. The exact recall is in the table, and ours equals it.
    assert {name for _, name, _ in differences(case, [("figures", name) for name in case["defect_fields"]])} == {
        *case["defect_fields"]
    }


@pytest.mark.few
@cases("pcm", "observed")
def test_pcm_value_of_the_counts(case):
    cm = matrices(case)
    for name, observed in case["observed"].items():
        metric, where = asked(name)
        ours = bp.score(cm, metric).values[where]
        if name.startswith("log_"):
            with np.errstate(divide="ignore"):
                ours = np.log(ours)
        # Infinite where they divide by zero, or take the logarithm of it.
        assert ours == pytest.approx(float(observed), rel=1e-6, abs=1e-7), name


@pytest.mark.slow
@cases("pcm", "predictive")
def test_pcm_predictive(case):
    prediction = posterior(case).predict(draws=DRAWS)
    for name, (theirs, spread) in case["predictive"].items():
        if name == "F1":
            continue
        found = prediction[asked(name)[0]]
        ours = np.array([found.undefined(), found.mean(), found.sd()])
        share, _, sd, *quantiles = theirs
        own = 4 / np.sqrt(DRAWS) * np.array([np.sqrt(share * (1 - share)), sd, sd])
        error = np.hypot(4 * np.array(spread[:3]) / np.sqrt(case["n_seeds"]), own)
        assert (np.abs(ours - theirs[:3]) <= error + 1e-7).all(), name
        # Quantiles of few possible values jump: where all their seeds agree, ours must have the level between the
        # probabilities below that value and up to it.
        for level, quantile, s in zip((0.5, 0.025, 0.975), quantiles, spread[3:], strict=True):
            noise = 4 * np.sqrt(level * (1 - level) / DRAWS)
            if s < 1e-12:
                assert found.cdf(quantile - 1e-6).item() <= level + noise, name
                assert found.cdf(quantile + 1e-6).item() >= level - noise, name


@cases("pcm", "predictive")
def test_pcm_predictive_f1(case):
    # Theirs is 2PR/(P + R), undefined without true positives, where ours, 2TP/(2TP + FP + FN), is 0.
    (nan_share, mean, sd, *_), (nan_spread, spread, *_) = case["predictive"]["F1"]
    f1 = posterior(case).predict(draws=DRAWS)["f1"]
    defined = 1 - f1.undefined().item()
    positive = defined * f1.prob_above(0).item()
    seeds = np.sqrt(case["n_seeds"])
    error = np.hypot(nan_spread / seeds, np.sqrt(nan_share * (1 - nan_share) / DRAWS))
    assert 1 - positive == pytest.approx(nan_share, abs=4 * error + 1e-12)
    error = np.hypot(spread / seeds, sd / np.sqrt(DRAWS))
    assert f1.mean().item() * defined / positive == pytest.approx(mean, abs=4 * error)


@cases("pcm", "probabilities")
def test_pcm_probabilities(case):
    post = posterior(case)
    informedness, seen = post["informedness"], post.predict(draws=DRAWS)["informedness"]
    ours = {
        "chance_to_be_harmful(rope=0)": informedness.prob_below(0),
        "chance_to_be_random_process(rope=.05)": informedness.prob_between(-0.05, 0.05),
        "chance_to_be_informative(rope=.05)": informedness.prob_above(0.05),
        "chance_to_appear_random_process(rope=.05)": (1 - seen.undefined()) * seen.prob_between(-0.05, 0.05),
    }
    for name, (share, spread) in case["probabilities"].items():
        own = np.sqrt(share * (1 - share) / DRAWS) if "appear" in name else 0
        error = 4 * np.hypot(spread / np.sqrt(case["n_seeds"]), own)
        assert ours[name].item() == pytest.approx(share, rel=0, abs=error), name


@cases("pcm", "prob_joint")
def test_pcm_prob_joint(case):
    share, spread = case["prob_joint"]
    ours = posterior(case).prob_joint({"recall": 0.8, "precision": 0.8})
    error = 4 * np.hypot(spread / np.sqrt(case["n_seeds"]), ours.attrs["mcse"])
    assert ours.item() == pytest.approx(share, rel=0, abs=error)
